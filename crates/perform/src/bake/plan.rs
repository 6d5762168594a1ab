//! Which sliders and pairs are sampled, and the samples in their order.
//!
//! Samples are the neutral, every slider alone at [`LEVELS`], and every pair of sliders at all pairs of these
//! levels: together the grid `{0, .25, .5, .75, 1}^2` of each pair. The paper's list has 20 samples for each
//! pair, those of the first slider alone again for every partner, and the last slider never alone; here each
//! vector of weights is simulated once: `1 + 4 b + 16 p` samples for b sliders and p pairs, 6,613 for the 406
//! pairs of 29 sliders, which the paper samples 8,120 times.
//!
//! [`PairChoice::Auto`] leaves out pairs that have nothing to correct: shapes that move nothing in common (no
//! cell of [`CELL`] contains or touches flesh or skin that both move), shapes that are multiples of one
//! another, and opposite shapes, which nobody uses together.

use super::BakeError;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_base::Fingerprint;
use risorius_flesh::Face;
use risorius_flesh::correctives::{OPPOSITE, alignment};
use risorius_rig::classify::correctives::correctives;
use std::collections::{BTreeMap, BTreeSet};

/// Slider values of the samples.
pub const LEVELS: [f32; 4] = [0.25, 0.5, 0.75, 1.0];

/// Samples of a pair.
pub const PER_PAIR: usize = LEVELS.len() * LEVELS.len();

/// Edge of the cells in which two shapes meet, meters.
const CELL: f64 = 0.004;

/// A shape moves flesh where its displacement is above this share of its largest, and this many meters.
const SHARE: f64 = 0.05;
const LEAST: f64 = 1e-4;

/// Shapes are multiples of one another if the cosine of the angle between their displacements is above this.
const TWINS: f64 = 0.98;

/// Most samples of a plan.
pub const MOST_SAMPLES: usize = 2_000_000;

/// Which pairs are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PairChoice {
    /// Those that can need a correction.
    #[default]
    Auto,
    /// All of them.
    All,
}

/// The sliders and pairs that are sampled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BakePlan {
    /// Sliders of the rig, ascending.
    pub sliders: Vec<u32>,
    /// Pairs of indices into `sliders`, each ascending, in ascending order.
    pub pairs: Vec<[u32; 2]>,
}

/// Pairs that were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Their shapes move nothing in common.
    pub apart: usize,
    /// One shape is a multiple of the other.
    pub twins: usize,
    /// Their shapes move the skin in opposite directions.
    pub opposite: usize,
}

/// A sample of a plan; sliders and pairs are indices into the lists of the plan, levels into [`LEVELS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// All sliders at 0.
    Neutral,
    /// One slider alone.
    Single {
        /// The slider.
        slider: usize,
        /// Its value.
        level: usize,
    },
    /// Both sliders of a pair.
    Pair {
        /// The pair.
        pair: usize,
        /// Their values.
        levels: [usize; 2],
    },
}

impl BakePlan {
    /// A plan for sliders of the rig of `face`; by default for all that move flesh and are no correctives.
    pub fn new(
        face: &Face,
        sliders: Option<&[usize]>,
        choice: PairChoice,
    ) -> Result<(Self, Skipped), BakeError> {
        let sliders = match sliders {
            Some(sliders) => checked(face, sliders)?,
            None => {
                let driven = correctives(&face.rig);
                let own = |s: &usize| driven.binary_search(s).is_err() && moves_flesh(face, *s);
                (0..face.rig.sliders.len()).filter(own).collect()
            }
        };
        if sliders.len() < 2 {
            return Err(BakeError::TooFewSliders { found: sliders.len() });
        }
        let all = (0..sliders.len()).flat_map(|a| (a + 1..sliders.len()).map(move |b| [a, b]));
        let all: Vec<[usize; 2]> = all.collect();
        let mut skipped = Skipped::default();
        let pairs = match choice {
            PairChoice::All => all,
            PairChoice::Auto => useful(face, &sliders, &all, &mut skipped),
        };
        if pairs.is_empty() {
            return Err(BakeError::NoPairs { sliders: sliders.len(), skipped });
        }
        let plan = Self {
            sliders: sliders.iter().map(|&s| s as u32).collect(),
            pairs: pairs.iter().map(|pair| pair.map(|s| s as u32)).collect(),
        };
        match plan.n_samples() {
            n if n > MOST_SAMPLES => Err(BakeError::TooManySamples { n, pairs: plan.pairs.len() }),
            _ => Ok((plan, skipped)),
        }
    }

    /// Whether it is a plan for a rig of this many sliders.
    pub fn is_valid(&self, n_sliders: usize) -> bool {
        let n = self.sliders.len() as u32;
        self.sliders.is_sorted_by(|a, b| a < b)
            && self.sliders.last().is_none_or(|&s| (s as usize) < n_sliders)
            && self.pairs.is_sorted_by(|a, b| a < b)
            && self.pairs.iter().all(|[a, b]| a < b && *b < n)
            && self.n_samples() <= MOST_SAMPLES
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        1 + LEVELS.len() * self.sliders.len() + PER_PAIR.saturating_mul(self.pairs.len())
    }

    /// A sample by its number.
    pub fn sample(&self, number: usize) -> Sample {
        let n = LEVELS.len();
        let Some(i) = number.checked_sub(1) else { return Sample::Neutral };
        match i.checked_sub(n * self.sliders.len()) {
            None => Sample::Single { slider: i / n, level: i % n },
            Some(i) => {
                let (pair, within) = (i / PER_PAIR, i % PER_PAIR);
                Sample::Pair { pair, levels: [within / n, within % n] }
            }
        }
    }

    /// The number of a slider alone.
    pub fn single(&self, slider: usize, level: usize) -> usize {
        1 + LEVELS.len() * slider + level
    }

    /// The number of the first sample of a pair; the others follow.
    pub fn first_of_pair(&self, pair: usize) -> usize {
        1 + LEVELS.len() * self.sliders.len() + PER_PAIR * pair
    }

    /// The sliders of a sample that are not 0, as indices into those of the plan, and their values.
    pub fn values(&self, number: usize) -> Vec<(usize, f32)> {
        match self.sample(number) {
            Sample::Neutral => Vec::new(),
            Sample::Single { slider, level } => vec![(slider, LEVELS[level])],
            Sample::Pair { pair, levels } => {
                let both = self.pairs[pair].iter().zip(levels);
                both.map(|(&slider, level)| (slider as usize, LEVELS[level])).collect()
            }
        }
    }

    /// The weights of a sample, for a rig of this many sliders.
    pub fn weights(&self, number: usize, n_sliders: usize) -> Vec<f32> {
        let mut weights = vec![0.0; n_sliders];
        self.values(number).iter().for_each(|&(s, value)| weights[self.sliders[s] as usize] = value);
        weights
    }

    /// What identifies the plan.
    pub fn fingerprint(&self) -> Fingerprint {
        let numbers = [self.sliders.len() as u32, self.pairs.len() as u32];
        let all = numbers.iter().chain(&self.sliders).chain(self.pairs.iter().flatten());
        let print = Fingerprint::default().numbers(LEVELS.iter().map(|&l| l.into()));
        all.fold(print, |print, n| print.bytes(&n.to_le_bytes()))
    }
}

/// Given sliders, ascending and each once.
fn checked(face: &Face, sliders: &[usize]) -> Result<Vec<usize>, BakeError> {
    let mut sliders = sliders.to_vec();
    sliders.sort_unstable();
    sliders.dedup();
    match sliders.iter().find(|&&s| !moves_flesh(face, s)) {
        Some(&s) => Err(BakeError::NoFlesh { slider: face.rig.sliders[s].name.clone() }),
        None => Ok(sliders),
    }
}

/// Whether the full shape of a slider moves flesh.
fn moves_flesh(face: &Face, slider: usize) -> bool {
    let volume = &face.flesh.volumes[face.rig.sliders[slider].shape];
    volume.offsets.iter().any(|&o| f64::from(Vec3::from(o).length()) > LEAST)
}

/// The pairs that can need a correction.
fn useful(face: &Face, sliders: &[usize], all: &[[usize; 2]], skipped: &mut Skipped) -> Vec<[usize; 2]> {
    let places: Vec<BTreeMap<[i32; 3], bool>> = sliders.par_iter().map(|&s| cells(face, s)).collect();
    let shape = |s: usize| &face.rig.shapes[face.rig.sliders[sliders[s]].shape];
    let one = |&[a, b]: &[usize; 2]| -> Option<&'static str> {
        // A cell that one shape moves, and the other moves or borders on.
        let meet =
            places[a].iter().any(|(cell, own)| places[b].get(cell).is_some_and(|other| *own || *other));
        if !meet {
            return Some("apart");
        }
        match alignment([shape(a), shape(b)]) {
            cosine if cosine > TWINS => Some("twins"),
            cosine if cosine < OPPOSITE => Some("opposite"),
            _ => None,
        }
    };
    let reasons: Vec<Option<&str>> = all.par_iter().map(one).collect();
    let count = |wanted: &str| reasons.iter().filter(|r| **r == Some(wanted)).count();
    *skipped = Skipped { apart: count("apart"), twins: count("twins"), opposite: count("opposite") };
    all.iter().zip(&reasons).filter(|(_, reason)| reason.is_none()).map(|(pair, _)| *pair).collect()
}

/// The cells that a slider's shape moves (true) or borders on (false), in the neutral.
fn cells(face: &Face, slider: usize) -> BTreeMap<[i32; 3], bool> {
    let shape = face.rig.sliders[slider].shape;
    let (volume, deltas) = (&face.flesh.volumes[shape], &face.rig.shapes[shape].deltas);
    let (place, scale) = (face.rig.space.si_from_file(), face.rig.space.meters_per_unit);
    let node = |(&n, &o): (&u32, &[f32; 3])| {
        (DVec3::from(face.flesh.nodes[n as usize]), f64::from(Vec3::from(o).length()))
    };
    let vertex = |(&v, &o): (&u32, &[f32; 3])| {
        let p = Vec3::from(face.rig.neutral[v as usize]).as_dvec3();
        (place * p, scale * f64::from(Vec3::from(o).length()))
    };
    let embedded = &face.flesh.embedding.vertices;
    let skin = deltas.vertices.iter().zip(&deltas.offsets).filter(|(v, _)| embedded.binary_search(v).is_ok());
    let moved: Vec<(DVec3, f64)> =
        volume.nodes.iter().zip(volume.offsets.iter()).map(node).chain(skin.map(vertex)).collect();
    let most = moved.iter().map(|m| m.1).fold(0.0, f64::max);
    let least = LEAST.max(SHARE * most);
    let own: BTreeSet<[i32; 3]> = moved
        .iter()
        .filter(|(p, length)| *length > least && p.is_finite())
        .map(|(p, _)| (*p / CELL).floor().as_ivec3().to_array())
        .collect();
    let around = |[x, y, z]: &[i32; 3]| {
        let (x, y, z) = (*x, *y, *z);
        (-1..=1).flat_map(move |i| (-1..=1).flat_map(move |j| (-1..=1).map(move |k| [x + i, y + j, z + k])))
    };
    let mut cells: BTreeMap<[i32; 3], bool> = own.iter().flat_map(around).map(|cell| (cell, false)).collect();
    cells.extend(own.iter().map(|&cell| (cell, true)));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vector_of_weights_is_sampled_once() {
        let plan = BakePlan { sliders: vec![1, 4, 5], pairs: vec![[0, 1], [1, 2]] };
        assert!(plan.is_valid(6) && !plan.is_valid(5));
        assert_eq!(plan.n_samples(), 1 + 12 + 32);
        let mut seen = BTreeSet::new();
        for number in 0..plan.n_samples() {
            let weights = plan.weights(number, 6);
            assert!(seen.insert(weights.iter().map(|w| w.to_bits()).collect::<Vec<_>>()), "{weights:?}");
            match plan.sample(number) {
                Sample::Neutral => assert_eq!(number, 0),
                Sample::Single { slider, level } => assert_eq!(plan.single(slider, level), number),
                Sample::Pair { pair, levels: [a, b] } => {
                    assert_eq!(plan.first_of_pair(pair) + 4 * a + b, number);
                }
            }
        }
        assert_eq!(plan.weights(1 + 12 + 16 + 7, 6), [0.0, 0.0, 0.0, 0.0, 0.5, 1.0]);
        let other = BakePlan { sliders: vec![1, 4, 5], pairs: vec![[0, 1], [0, 2]] };
        assert_ne!(plan.fingerprint(), other.fingerprint());
        assert!(!BakePlan { pairs: vec![[1, 1]], ..plan.clone() }.is_valid(6));
        assert!(!BakePlan { pairs: vec![[1, 3]], ..plan.clone() }.is_valid(6));
        assert!(!BakePlan { pairs: vec![[1, 2], [0, 1]], ..plan }.is_valid(6));
    }
}
