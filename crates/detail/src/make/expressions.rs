//! Expressions of a rig and how deep they fold each line.
//!
//! Every slider is tried at its full value, left and right together. At each sample of a line the skin is
//! compressed across it by some strain e. Loose skin over bone slides, so the lines of a family share a part
//! of their compression. Rigs differ: a raised brow shortens the forehead of one much more than that of
//! another. So depth follows the compression relative to the strongest that the rig's own expressions show in
//! that family, `e_full`, with the square root of a sine that takes up the strain:
//!
//! ```text
//! x = 1.15 sqrt(t) ease(t),  t = (e - onset) / (e_full - onset),  depth = deepest x / (1 + x^3)^(1/3)
//! ```
//!
//! Where the rig compresses skin by less than [`LEAST_FULL`], lines stay shallower. The expressions that fold
//! most and those that stretch most are kept: they show the model what folds, and what does not. For those
//! that fold most, the opposite motion is added as a pose without folds, because distances of strains have no
//! sign.

use super::lines::{Line, Sample};
use crate::strain::SkinStrain;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use risorius_anatomy::carry::Anatomy;
use risorius_base::ease::ramp;
use risorius_head::creases::Family;
use risorius_rig::classify::names::{Side, key};
use risorius_rig::{Evaluator, Rig};

/// Largest number of expressions that fold, of those that get an opposite, and of those that stretch.
const FOLDING: usize = 11;
const OPPOSITES: usize = 5;
const STRETCHING: usize = 4;

/// Share of an expression in its opposite.
const BACK: f32 = 0.6;

/// Compression is averaged over this many samples of a line.
const ALONG: f64 = 5.0;

/// Bounds of the compression at which lines have their full depth.
const LEAST_FULL: f64 = 0.04;
const MOST_FULL: f64 = 0.3;

/// The part of a family's samples that may exceed it.
const ABOVE_FULL: f64 = 0.15;

/// Lines share compression with others of their family up to this distance, meters, and with those much
/// nearer than [`NEARLY`] most.
const SHARING: f64 = 0.045;
const NEARLY: f64 = 0.016;

/// An expression of the rig.
pub(super) struct Expression {
    pub name: String,
    /// The artist's vertices.
    pub positions: Vec<[f32; 3]>,
    /// Depth of every sample of every line, meters.
    pub depths: Vec<Vec<f64>>,
    /// The same beyond what remains at rest; below zero where stretched skin smooths out.
    pub beyond_rest: Vec<Vec<f64>>,
}

impl Expression {
    fn new(
        name: String,
        positions: Vec<[f32; 3]>,
        pressed: &[Vec<f64>],
        lines: &[Line],
        full: &[f64],
    ) -> Self {
        let depths: Vec<Vec<f64>> = (0..lines.len())
            .map(|k| {
                let line = &lines[k];
                line.samples
                    .iter()
                    .zip(&pressed[k])
                    .map(|(s, &e)| depth(&line.family, s, e, full[k]))
                    .collect()
            })
            .collect();
        let rest =
            |line: &Line, d: &Vec<f64>| line.samples.iter().zip(d).map(|(s, d)| d - s.at_rest).collect();
        let beyond_rest = lines.iter().zip(&depths).map(|(line, d)| rest(line, d)).collect();
        Self { name, positions, depths, beyond_rest }
    }

    /// Whether it deepens any line.
    pub(super) fn is_folded(&self) -> bool {
        self.beyond_rest.iter().flatten().any(|d| *d > 0.0)
    }
}

/// A pose of the rig, and the compression of every sample of every line.
struct Tried {
    name: String,
    positions: Vec<[f32; 3]>,
    pressed: Vec<Vec<f64>>,
}

/// The compression of a skin across lines.
struct Pressing<'a> {
    lines: &'a [Line],
    /// Strain, averaged over the distances that lines want.
    strains: Vec<(f64, SkinStrain<'a>)>,
    /// For each sample of each line that shares: nearby samples of its family, as line, sample and weight.
    shared: Vec<Vec<Vec<(usize, usize, f64)>>>,
}

impl<'a> Pressing<'a> {
    fn prepare(anatomy: &'a Anatomy, lines: &'a [Line]) -> Self {
        let mut spreads: Vec<f64> = lines.iter().map(|line| line.family.spread).collect();
        spreads.sort_by(f64::total_cmp);
        spreads.dedup();
        let (x, skin) = (&anatomy.pieces.positions, &anatomy.pieces.skin);
        let meters = |spread: f64| spread * 1e-3 * anatomy.warp.similarity.scale;
        let strains = spreads.into_iter().map(|s| (s, SkinStrain::prepare(x, skin, meters(s)))).collect();
        let shared = lines.par_iter().map(|line| neighbors(line, lines)).collect();
        Self { lines, strains, shared }
    }

    /// Compression across each line in a pose.
    fn of(&self, posed: &[DVec3]) -> Vec<Vec<f64>> {
        let mut own: Vec<Vec<f64>> = vec![Vec::new(); self.lines.len()];
        for (spread, strain) in &self.strains {
            let tensors = strain.of(posed);
            for (line, out) in self.lines.iter().zip(&mut own).filter(|(l, _)| l.family.spread == *spread) {
                *out = pressed(line, &tensors);
            }
        }
        let mixed = |k: usize, i: usize| {
            let near = &self.shared[k][i];
            let sum: f64 = near.iter().map(|&(line, sample, w)| w * own[line][sample].max(0.0)).sum();
            let share = if near.is_empty() { 0.0 } else { self.lines[k].family.shared };
            own[k][i] * (1.0 - share) + share * sum
        };
        (0..own.len()).map(|k| (0..own[k].len()).map(|i| mixed(k, i)).collect()).collect()
    }
}

/// For each sample of a line the nearest samples of all lines of its family, and weights that sum to one.
fn neighbors(line: &Line, lines: &[Line]) -> Vec<Vec<(usize, usize, f64)>> {
    let one = |sample: &Sample| {
        let family = lines.iter().enumerate().filter(|(_, l)| l.family.name == line.family.name);
        let nearest = |(k, other): (usize, &Line)| {
            let far = |i: usize| other.samples[i].point.distance(sample.point);
            let best = (0..other.samples.len()).reduce(|a, b| if far(b) < far(a) { b } else { a })?;
            (far(best) < SHARING).then(|| (k, best, (-(far(best) / NEARLY).powi(2)).exp()))
        };
        if line.family.shared == 0.0 {
            return Vec::new();
        }
        let near: Vec<(usize, usize, f64)> = family.filter_map(nearest).collect();
        let sum: f64 = near.iter().map(|n| n.2).sum();
        near.into_iter().map(|(line, i, w)| (line, i, w / sum)).collect()
    };
    line.samples.iter().map(one).collect()
}

/// The expressions of a rig that matter for lines.
pub(super) fn of(rig: &Rig, anatomy: &Anatomy, lines: &[Line]) -> Vec<Expression> {
    let pressing = Pressing::prepare(anatomy, lines);
    let evaluator = Evaluator::prepare(rig);
    let tried = |name: String, positions: Vec<[f32; 3]>| {
        let pressed = pressing.of(&super::in_si(rig, &positions));
        Tried { name, positions, pressed }
    };
    let at = |(name, weights): (String, Vec<f32>)| tried(name, evaluator.positions(&weights));
    let mut all: Vec<Tried> = groups(rig).into_par_iter().map(at).collect();
    all.retain(|t| t.pressed.iter().flatten().all(|e| e.is_finite()));
    let full: Vec<f64> = lines.iter().map(|line| full(line, lines, &all)).collect();
    let made = |t: Tried| (Expression::new(t.name, t.positions, &t.pressed, lines, &full), t.pressed);
    let all: Vec<(Expression, Vec<Vec<f64>>)> = all.into_iter().map(made).collect();
    let folded = |k: usize| all[k].0.beyond_rest.iter().flatten().map(|d| d.max(0.0)).collect();
    let folding = covering(all.len(), FOLDING, folded);
    let stretched = |k: usize| all[k].1.iter().flatten().map(|e| (-e).max(0.0)).collect();
    let stretching = covering(all.len(), STRETCHING + FOLDING, stretched);
    let others = stretching.into_iter().filter(|k| !folding.contains(k)).take(STRETCHING);
    let kept: Vec<usize> = folding.iter().copied().chain(others).collect();
    let opposite = |k: usize| {
        let away = |(p, r): (&[f32; 3], &[f32; 3])| std::array::from_fn(|i| r[i] - BACK * (p[i] - r[i]));
        let positions = all[k].0.positions.iter().zip(&rig.neutral).map(away).collect();
        let t = tried(format!("opposite of {}", all[k].0.name), positions);
        Expression::new(t.name, t.positions, &t.pressed, lines, &full)
    };
    let opposites: Vec<Expression> = folding.par_iter().take(OPPOSITES).map(|&k| opposite(k)).collect();
    let mut all: Vec<Option<Expression>> = all.into_iter().map(|(e, _)| Some(e)).collect();
    kept.into_iter().filter_map(|k| all[k].take()).chain(opposites).collect()
}

/// The compression at which the lines of a family have their full depth: that of the expression that
/// compresses the family most.
fn full(line: &Line, lines: &[Line], all: &[Tried]) -> f64 {
    let family: Vec<usize> = (0..lines.len()).filter(|&k| lines[k].family.name == line.family.name).collect();
    let strongest = all.iter().map(|t| {
        let mut e: Vec<f64> = family.iter().flat_map(|&k| t.pressed[k].iter().copied()).collect();
        e.sort_by(|a, b| b.total_cmp(a));
        e.get((ABOVE_FULL * e.len() as f64) as usize).copied().unwrap_or(0.0)
    });
    strongest.fold(0.0, f64::max).clamp(LEAST_FULL, MOST_FULL).max(line.family.onset + 0.5 * LEAST_FULL)
}

/// Expressions that together reach the largest values, in order: each adds the most to those before it.
fn covering(n: usize, most: usize, values: impl Fn(usize) -> Vec<f64>) -> Vec<usize> {
    let values: Vec<Vec<f64>> = (0..n).map(values).collect();
    let mut reached = vec![0.0; values.first().map_or(0, Vec::len)];
    let (mut chosen, mut first_gain) = (Vec::new(), 0.0f64);
    while chosen.len() < most {
        let gain = |v: &Vec<f64>| v.iter().zip(&reached).map(|(d, r)| (d - r).max(0.0)).sum::<f64>();
        let gains: Vec<f64> = values.iter().map(gain).collect();
        let best = (0..n).reduce(|best, k| if gains[k] > gains[best] { k } else { best });
        let Some(best) = best.filter(|&k| gains[k] > 0.01 * first_gain && gains[k] > 0.0) else { break };
        first_gain = first_gain.max(gains[best]);
        reached.iter_mut().zip(&values[best]).for_each(|(r, d)| *r = r.max(*d));
        chosen.push(best);
    }
    chosen
}

/// Weights of each slider alone, or of a left and a right one together.
fn groups(rig: &Rig) -> Vec<(String, Vec<f32>)> {
    struct Group {
        base: String,
        sides: Vec<Option<Side>>,
        name: String,
        weights: Vec<f32>,
    }
    let mut groups: Vec<Group> = Vec::new();
    for (k, slider) in rig.sliders.iter().enumerate() {
        let key = key(&slider.name);
        let value = slider.range[1].clamp(0.0, 1.0);
        let other = |g: &&mut Group| {
            g.base == key.base
                && key.side.is_some()
                && !g.sides.contains(&key.side)
                && !g.sides.contains(&None)
        };
        match groups.iter_mut().find(other) {
            Some(group) => {
                group.sides.push(key.side);
                group.weights[k] = value;
                group.name = format!("{} + {}", group.name, slider.name);
            }
            None => {
                let mut weights = vec![0.0; rig.sliders.len()];
                weights[k] = value;
                let (base, sides, name) = (key.base, vec![key.side], slider.name.clone());
                groups.push(Group { base, sides, name, weights });
            }
        }
    }
    groups.into_iter().map(|g| (g.name, g.weights)).collect()
}

/// Compression across a line at its samples, averaged along it.
fn pressed(line: &Line, tensors: &[DMat3]) -> Vec<f64> {
    let one = |s: &Sample| {
        let tensor =
            (0..3).fold(DMat3::ZERO, |sum, k| sum + tensors[s.corners[k] as usize] * s.barycentric[k]);
        -s.across.dot(tensor * s.across)
    };
    let raw: Vec<f64> = line.samples.iter().map(one).collect();
    let mean = |k: usize| {
        let weight = |i: usize| (-((i as f64 - k as f64) / ALONG).powi(2)).exp();
        let sum: f64 = (0..raw.len()).map(weight).sum();
        (0..raw.len()).map(|i| raw[i] * weight(i)).sum::<f64>() / sum
    };
    (0..raw.len()).map(mean).collect()
}

/// Depth of a sample for a compression, at least what remains at rest. Stretch smooths that out.
fn depth(family: &Family, sample: &Sample, pressed: f64, full: f64) -> f64 {
    if sample.deepest <= 0.0 {
        return 0.0;
    }
    let t = (pressed - family.onset).max(0.0) / (full - family.onset);
    let x = 1.15 * t.sqrt() * ramp(t, 0.0, 0.3);
    let folded = sample.deepest * x / (1.0 + x.powi(3)).cbrt();
    let left = sample.at_rest * (1.0 - 0.8 * ramp(-pressed / full, 0.0, 0.6));
    DVec3::new(folded, left, 0.0).length()
}
