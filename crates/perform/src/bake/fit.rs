//! Fits the correctives of a plan to its samples.
//!
//! A sample is the difference d between the simulated skin and the artist's rig at the same weights. With
//! [`Keep::Shapes`] the difference is taken apart in order: that of sliders alone first, then what is left
//! for pairs, each a least squares problem with one unknown vector per vertex:
//!
//! ```text
//! q_i  = sum_a t(a) d_i(a) / sum_a t(a)^2,                                d_i(a) = d(a e_i) - d(0)
//! v_ij = sum_ab a b (d(a e_i + b e_j) - d(a e_i) - d(b e_j) + d(0)) / sum_ab (a b)^2
//! ```
//!
//! Where the in-between at 0.5 leaves a visible difference at 0.25 or 0.75, the slider gets in-betweens there
//! too, and q is the difference at 0.5 itself; then its samples are met. With a budget it stays at one.
//!
//! So a pair gets only what its sliders do together. In a least squares fit over everything at once the pairs
//! also take over what sliders do alone and nothing else can express; where ten sliders are on, that is added
//! once for each of their pairs. With [`Keep::Neutral`] and [`Keep::Nothing`], u, or m and u, are unknowns
//! too, and everything is one least squares problem, as in the paper ([`super::joint`]).
//!
//! Vertices are independent of each other, and every sum runs in the order of samples, so results do not
//! depend on threads or on how samples were computed. Samples are read where they are; memory holds the
//! results.

use super::BakeError;
use super::choose::{Budget, Candidate, choose};
use super::joint::{self, Base};
use super::plan::{BakePlan, LEVELS, PER_PAIR, Sample};
use super::rig::QUARTERS;
use rayon::prelude::*;
use risorius_base::progress::{Progress, tick};
use risorius_rig::Deltas;

/// Correctives are cut off where they are below this share of what is visible.
const TRIM: f64 = 0.1;

/// `sum_ab (a b)^2` over the samples of a pair, and `sum_a t(a)^2` over those of a slider.
const PAIR_NORM: f64 = 1.875 * 1.875;
const HALF_NORM: f64 = 1.5;

/// In-betweens at 0.25 and 0.75 are added if they correct by more than this share of the one at 0.5.
const WORTH: f64 = 0.01;

/// A corrective is fitted if at least this share of its norm is in samples that can be used.
const ENOUGH: f64 = 0.5;

/// The displacements of some vertices; the others do not move.
#[derive(Debug, Clone, Copy, Default)]
pub struct Field<'a> {
    /// Vertices, ascending.
    pub vertices: &'a [u32],
    /// Their displacements, in the unit of the rig.
    pub offsets: &'a [[f32; 3]],
}

impl<'a> From<&'a Deltas> for Field<'a> {
    fn from(deltas: &'a Deltas) -> Self {
        Self { vertices: &deltas.vertices, offsets: &deltas.offsets }
    }
}

/// All samples of a plan.
pub struct Samples<'a> {
    /// The plan.
    pub plan: &'a BakePlan,
    /// Number of vertices of the rig.
    pub n_vertices: usize,
    /// The difference from the rig in a sample.
    pub field: &'a (dyn Fn(usize) -> Field<'a> + Sync),
    /// Whether a sample was simulated; others are no part of the fit.
    pub usable: &'a (dyn Fn(usize) -> bool + Sync),
}

impl Samples<'_> {
    /// Whether each level of a slider alone can be used.
    fn singles(&self, slider: usize) -> [bool; LEVELS.len()] {
        std::array::from_fn(|level| (self.usable)(self.plan.single(slider, level)))
    }

    /// Whether each sample of a pair can be used; where it is measured from those of single sliders, they
    /// too.
    pub(super) fn of_pair(&self, pair: usize, from_singles: bool) -> [bool; PER_PAIR] {
        let first = self.plan.first_of_pair(pair);
        let mut usable: [bool; PER_PAIR] = std::array::from_fn(|k| (self.usable)(first + k));
        if from_singles {
            let [a, b] = self.plan.pairs[pair].map(|s| self.singles(s as usize));
            let both = |k: usize| a[k / LEVELS.len()] && b[k % LEVELS.len()];
            usable.iter_mut().enumerate().for_each(|(k, usable)| *usable &= both(k));
        }
        usable
    }
}

/// What of the artist's rig stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The neutral and all shapes: correctives of pairs and in-betweens are added.
    #[default]
    Shapes,
    /// The neutral: shapes of sliders may change.
    Neutral,
    /// Neither, as in the paper.
    Nothing,
}

/// Options of [`fit()`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FitOptions {
    /// What stays. Default: the shapes.
    pub keep: Keep,
    /// Sliders that may get an in-between at 0.5, as indices into those of the plan; only with
    /// [`Keep::Shapes`]. Default: none.
    pub halves: Vec<usize>,
    /// Correctives that move no vertex farther than this are left out, in the unit of the rig, 0 or more.
    pub visible: f64,
    /// How many are kept. Default: all.
    pub budget: Budget,
}

/// The correctives of a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fitted {
    /// m; nothing where the neutral is kept.
    pub neutral: Deltas,
    /// u of each slider of the plan; nothing where shapes are kept.
    pub linear: Vec<Deltas>,
    /// Sliders, as indices into those of the plan, and their q; ascending.
    pub halves: Vec<(usize, Deltas)>,
    /// Sliders with in-betweens at 0.25 and 0.75, and what these add to the straight segments to that at 0.5;
    /// ascending, each is one of `halves`.
    pub quarters: Vec<(usize, [Deltas; 2])>,
    /// Pairs of the plan and their v; ascending.
    pub pairs: Vec<(usize, Deltas)>,
    /// In-betweens and pairs that would not be visible.
    pub invisible: usize,
    /// In-betweens and pairs beyond the budget.
    pub over_budget: usize,
    /// In-betweens and pairs without enough samples.
    pub unsampled: usize,
    /// Distances from the samples.
    pub errors: BakeErrors,
}

/// Distances between simulated samples and a rig, over all samples and the vertices that move in any.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BakeErrors {
    /// Number of these vertices.
    pub vertices: usize,
    /// Of the artist's rig: mean and largest.
    pub before: [f64; 2],
    /// Of the baked rig.
    pub after: [f64; 2],
    /// The sample where the artist's rig is farthest.
    pub worst_before: usize,
    /// The sample where the baked rig is farthest.
    pub worst_after: usize,
}

/// A displacement for every vertex, with a list of those that are not zero.
#[derive(Default)]
pub(super) struct Sum {
    offsets: Vec<[f64; 3]>,
    touched: Vec<u32>,
    is_touched: Vec<bool>,
}

impl Sum {
    pub fn new(n_vertices: usize) -> Self {
        Self { offsets: vec![[0.0; 3]; n_vertices], touched: Vec::new(), is_touched: vec![false; n_vertices] }
    }

    /// Adds a field, `factor` times.
    pub fn add(&mut self, field: Field, factor: f64) {
        if factor == 0.0 {
            return;
        }
        for (&v, offset) in field.vertices.iter().zip(field.offsets) {
            let i = v as usize;
            if !std::mem::replace(&mut self.is_touched[i], true) {
                self.touched.push(v);
            }
            (0..3).for_each(|k| self.offsets[i][k] += factor * f64::from(offset[k]));
        }
    }

    /// Adds dense displacements of the vertices touched so far, `factor` times.
    pub fn add_dense(&mut self, dense: &[[f64; 3]], factor: f64) {
        for (i, offset) in dense.iter().enumerate().filter(|(_, o)| **o != [0.0; 3]) {
            if !std::mem::replace(&mut self.is_touched[i], true) {
                self.touched.push(i as u32);
            }
            (0..3).for_each(|k| self.offsets[i][k] += factor * offset[k]);
        }
    }

    /// The displacements longer than `least`, and a clean slate.
    pub fn take(&mut self, least: f64) -> Deltas {
        self.touched.sort_unstable();
        let mut deltas = Deltas::default();
        for &v in &self.touched {
            let offset = std::mem::take(&mut self.offsets[v as usize]);
            self.is_touched[v as usize] = false;
            if length(offset) > least {
                deltas.vertices.push(v);
                deltas.offsets.push(offset.map(|x| x as f32));
            }
        }
        self.touched.clear();
        deltas
    }
}

pub(super) fn length(offset: [f64; 3]) -> f64 {
    offset.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The strength of an in-between at 0.5.
pub(super) fn tent(w: f32) -> f64 {
    1.0 - (2.0 * f64::from(w) - 1.0).abs()
}

/// Fits the correctives.
pub fn fit(samples: &Samples, options: &FitOptions, progress: &Progress) -> Result<Fitted, BakeError> {
    let plan = samples.plan;
    let trim = TRIM * options.visible;
    tick(progress, "fitting", 0.0)?;
    let from_singles = options.keep == Keep::Shapes;
    let enough = |pair: &usize| pair_norm(&samples.of_pair(*pair, from_singles)) >= ENOUGH * PAIR_NORM;
    let all: Vec<usize> = (0..plan.pairs.len()).filter(enough).collect();
    let mut unsampled = plan.pairs.len() - all.len();
    let mut base = match options.keep {
        Keep::Shapes => Base::Samples,
        keep => joint::base(samples, &all, keep == Keep::Nothing)?,
    };
    let halves = match &base {
        Base::Samples => {
            let enough = |s: &usize| half_norm(&samples.singles(*s)) >= ENOUGH * HALF_NORM;
            let which: Vec<usize> = options.halves.iter().copied().filter(enough).collect();
            unsampled += options.halves.len() - which.len();
            halves(samples, &which, trim)
        }
        Base::Fitted { .. } => Vec::new(),
    };
    tick(progress, "fitting", 0.2)?;
    let mut pairs = pairs(samples, &all, &base, trim);
    tick(progress, "fitting", 0.6)?;
    let partners = |s: usize| plan.pairs.iter().flatten().filter(|&&x| x as usize == s).count();
    let of_half = |(s, deltas): &(usize, Deltas)| {
        Candidate::new(deltas, HALF_NORM * (1 + LEVELS.len() * partners(*s)) as f64)
    };
    let candidates: Vec<Candidate> = halves
        .iter()
        .map(of_half)
        .chain(pairs.iter().map(|(_, deltas)| Candidate::new(deltas, PAIR_NORM)))
        .collect();
    let chosen = choose(&candidates, options.visible, options.budget);
    let kept = |list: Vec<(usize, Deltas)>, chosen: &[bool]| -> Vec<(usize, Deltas)> {
        list.into_iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|(one, _)| one).collect()
    };
    let n_halves = halves.len();
    let mut halves = kept(halves, &chosen.kept[..n_halves]);
    let quarters = match options.budget {
        Budget::All => quarters(samples, &mut halves, options.visible, trim),
        _ => Vec::new(),
    };
    pairs = kept(pairs, &chosen.kept[n_halves..]);
    if !matches!(base, Base::Samples) && pairs.len() < all.len() {
        // Shapes of sliders are fitted again beside the pairs that are left.
        let left: Vec<usize> = pairs.iter().map(|(pair, _)| *pair).collect();
        base = joint::base(samples, &left, options.keep == Keep::Nothing)?;
        pairs = self::pairs(samples, &left, &base, trim);
    }
    tick(progress, "fitting", 0.8)?;
    let (neutral, linear) = base.deltas(samples, trim);
    let (invisible, over_budget) = (chosen.invisible, chosen.over_budget);
    let errors = BakeErrors::default();
    let mut fitted =
        Fitted { neutral, linear, halves, quarters, pairs, invisible, over_budget, unsampled, errors };
    fitted.errors = self::errors(samples, &fitted);
    tick(progress, "fitting", 1.0)?;
    Ok(fitted)
}

/// `sum_a t(a)^2` over samples that can be used.
fn half_norm(usable: &[bool; LEVELS.len()]) -> f64 {
    LEVELS.iter().zip(usable).filter(|(_, usable)| **usable).map(|(&w, _)| tent(w).powi(2)).sum()
}

/// `sum_ab (a b)^2` over samples that can be used.
pub(super) fn pair_norm(usable: &[bool; PER_PAIR]) -> f64 {
    products().iter().zip(usable).filter(|(_, usable)| **usable).map(|(p, _)| p * p).sum()
}

/// `a b` of the samples of a pair.
pub(super) fn products() -> [f64; PER_PAIR] {
    let level = |k: usize| f64::from(LEVELS[k]);
    std::array::from_fn(|k| level(k / LEVELS.len()) * level(k % LEVELS.len()))
}

/// q of some sliders.
fn halves(samples: &Samples, which: &[usize], trim: f64) -> Vec<(usize, Deltas)> {
    let one = |sum: &mut Sum, &slider: &usize| {
        let usable = samples.singles(slider);
        let norm = half_norm(&usable);
        for (level, &value) in LEVELS.iter().enumerate().filter(|(level, _)| usable[*level]) {
            let factor = tent(value) / norm;
            sum.add((samples.field)(samples.plan.single(slider, level)), factor);
            sum.add((samples.field)(0), -factor);
        }
        (slider, sum.take(trim))
    };
    which.par_iter().map_init(|| Sum::new(samples.n_vertices), one).collect()
}

/// What is left at 0.25 and 0.75 of sliders where it is visible; their q becomes that of the sample at 0.5.
fn quarters(
    samples: &Samples,
    halves: &mut [(usize, Deltas)],
    visible: f64,
    trim: f64,
) -> Vec<(usize, [Deltas; 2])> {
    let one = |sum: &mut Sum, (slider, half): &mut (usize, Deltas)| {
        if samples.singles(*slider)[..3] != [true; 3] {
            return None;
        }
        let field = |level: usize| (samples.field)(samples.plan.single(*slider, level));
        let mut left = |half: &Deltas, level: usize| {
            sum.add(field(level), 1.0);
            sum.add((samples.field)(0), -1.0);
            sum.add(half.into(), -tent(LEVELS[level]));
            sum.take(trim)
        };
        let longest = |deltas: &Deltas| f64::from(deltas.max_length());
        let most = longest(&left(half, 0)).max(longest(&left(half, 2)));
        if most <= visible || most <= WORTH * longest(half) {
            return None;
        }
        *half = left(&Deltas::default(), 1);
        Some((*slider, [left(half, 0), left(half, 2)]))
    };
    let found = halves.par_iter_mut().map_init(|| Sum::new(samples.n_vertices), one);
    found.collect::<Vec<_>>().into_iter().flatten().collect()
}

/// v of some pairs.
fn pairs(samples: &Samples, which: &[usize], base: &Base, trim: f64) -> Vec<(usize, Deltas)> {
    let plan = samples.plan;
    let one = |sum: &mut Sum, &pair: &usize| {
        let sliders = plan.pairs[pair].map(|s| s as usize);
        let first = plan.first_of_pair(pair);
        let (mut alone, mut of_neutral) = ([[0.0; LEVELS.len()]; 2], 0.0);
        let usable = samples.of_pair(pair, matches!(base, Base::Samples));
        let norm = pair_norm(&usable);
        for (k, product) in products().into_iter().enumerate().filter(|(k, _)| usable[*k]) {
            let factor = product / norm;
            sum.add((samples.field)(first + k), factor);
            alone[0][k / LEVELS.len()] += factor;
            alone[1][k % LEVELS.len()] += factor;
            of_neutral += factor;
        }
        match base {
            Base::Samples => {
                for (slider, factors) in sliders.into_iter().zip(alone) {
                    for (level, factor) in factors.into_iter().enumerate() {
                        sum.add((samples.field)(plan.single(slider, level)), -factor);
                    }
                }
                sum.add((samples.field)(0), of_neutral);
            }
            Base::Fitted { neutral, linear } => {
                sum.add_dense(neutral, -of_neutral);
                for (slider, factors) in sliders.into_iter().zip(alone) {
                    let factor: f64 = factors.iter().zip(LEVELS).map(|(f, x)| f * f64::from(x)).sum();
                    sum.add_dense(&linear[slider], -factor);
                }
            }
        }
        (pair, sum.take(trim))
    };
    which.par_iter().map_init(|| Sum::new(samples.n_vertices), one).collect()
}

/// Distances of both rigs from every sample.
fn errors(samples: &Samples, fitted: &Fitted) -> BakeErrors {
    let plan = samples.plan;
    let numbers: Vec<usize> = (0..plan.n_samples()).filter(|&n| (samples.usable)(n)).collect();
    let mut moves = vec![false; samples.n_vertices];
    for &number in &numbers {
        (samples.field)(number).vertices.iter().for_each(|&v| moves[v as usize] = true);
    }
    let n_moving = moves.iter().filter(|m| **m).count();
    let find = |list: &[(usize, Deltas)], key: usize| list.binary_search_by_key(&key, |(k, _)| *k).ok();
    let one = |sum: &mut Sum, &number: &usize| {
        let field = (samples.field)(number);
        sum.add(field, 1.0);
        let before = sum.lengths();
        sum.add((&fitted.neutral).into(), -1.0);
        for (slider, value) in plan.values(number) {
            if let Some(u) = fitted.linear.get(slider) {
                sum.add(u.into(), -f64::from(value));
            }
            if let Some(i) = find(&fitted.halves, slider) {
                sum.add((&fitted.halves[i].1).into(), -tent(value));
            }
            let quarter = fitted.quarters.iter().find(|(s, _)| *s == slider);
            for (deltas, at) in quarter.iter().flat_map(|(_, both)| both.iter().zip(QUARTERS)) {
                sum.add(deltas.into(), -f64::from(u8::from(value == at)));
            }
        }
        if let Sample::Pair { pair, levels: [a, b] } = plan.sample(number)
            && let Some(i) = find(&fitted.pairs, pair)
        {
            let factor = f64::from(LEVELS[a]) * f64::from(LEVELS[b]);
            sum.add((&fitted.pairs[i].1).into(), -factor);
        }
        let after = sum.lengths();
        sum.take(f64::INFINITY);
        [before, after]
    };
    let all: Vec<[[f64; 2]; 2]> = numbers.par_iter().map_init(|| Sum::new(samples.n_vertices), one).collect();
    let worst = |which: usize| {
        let most = |&a: &usize, &b: &usize| all[a][which][1].total_cmp(&all[b][which][1]).then(b.cmp(&a));
        (0..numbers.len()).max_by(most)
    };
    let figures = |which: usize| {
        let total: f64 = all.iter().map(|s| s[which][0]).sum();
        let most = worst(which).map_or(0.0, |i| all[i][which][1]);
        [total / (numbers.len() * n_moving).max(1) as f64, most]
    };
    let worst = |which: usize| worst(which).map_or(0, |i| numbers[i]);
    BakeErrors {
        vertices: n_moving,
        before: figures(0),
        after: figures(1),
        worst_before: worst(0),
        worst_after: worst(1),
    }
}

impl Sum {
    /// The sum of all lengths, and the largest.
    fn lengths(&self) -> [f64; 2] {
        let lengths = self.touched.iter().map(|&v| length(self.offsets[v as usize]));
        lengths.fold([0.0, 0.0], |[sum, most], l| [sum + l, most.max(l)])
    }
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
