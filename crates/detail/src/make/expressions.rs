//! Expressions of a rig and how deep they fold each line.
//!
//! Every slider is tried at its full value, left and right together. Those that strain the skin under lines
//! most are kept: they show the model what folds, and what does not. For those that fold most, the opposite
//! motion is added as a pose without folds, because strain gauges measure distances, which have no sign.

use super::lines::{Line, Sample};
use crate::strain::SkinStrain;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use risorius_anatomy::carry::Anatomy;
use risorius_base::ease::ramp;
use risorius_rig::classify::names::{Side, key};
use risorius_rig::{Evaluator, Rig};

/// Largest number of expressions, and of those that get an opposite.
const MOST: usize = 34;
const OPPOSITES: usize = 9;

/// Share of an expression in its opposite.
const BACK: f32 = 0.6;

/// Compression is averaged over this many samples of a line.
const ALONG: f64 = 5.0;

/// The part of a fold's compression that becomes depth; the rest thickens the skin.
const FOLDED: f64 = 0.8;

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
    /// Whether it deepens any line.
    pub(super) fn is_folded(&self) -> bool {
        self.beyond_rest.iter().flatten().any(|d| *d > 0.0)
    }
}

/// The strain of a skin, averaged over the distances that lines want.
struct Averaged<'a>(Vec<(f64, SkinStrain<'a>)>);

impl<'a> Averaged<'a> {
    fn prepare(anatomy: &'a Anatomy, lines: &[Line]) -> Self {
        let mut spreads: Vec<f64> = lines.iter().map(|line| line.family.spread).collect();
        spreads.sort_by(f64::total_cmp);
        spreads.dedup();
        let (x, skin) = (&anatomy.pieces.positions, &anatomy.pieces.skin);
        let meters = |spread: f64| spread * 1e-3 * anatomy.warp.similarity.scale;
        Self(spreads.into_iter().map(|s| (s, SkinStrain::prepare(x, skin, meters(s)))).collect())
    }

    /// Compression across each line in a pose.
    fn pressed(&self, lines: &[Line], posed: &[DVec3]) -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); lines.len()];
        for (spread, strain) in &self.0 {
            let tensors = strain.of(posed);
            for (line, out) in lines.iter().zip(&mut all).filter(|(l, _)| l.family.spread == *spread) {
                *out = pressed(line, &tensors);
            }
        }
        all
    }
}

/// The expressions of a rig that matter for lines.
pub(super) fn of(rig: &Rig, anatomy: &Anatomy, lines: &[Line]) -> Vec<Expression> {
    let skin = Averaged::prepare(anatomy, lines);
    let evaluator = Evaluator::prepare(rig);
    let expression = |(name, positions): (String, Vec<[f32; 3]>)| {
        let pressed = skin.pressed(lines, &super::in_si(rig, &positions));
        let both = lines.iter().zip(&pressed);
        let depths: Vec<Vec<f64>> = both
            .map(|(line, e)| line.samples.iter().zip(e).map(|(s, &e)| depth(line, s, e)).collect())
            .collect();
        let rest =
            |line: &Line, d: &Vec<f64>| line.samples.iter().zip(d).map(|(s, d)| d - s.at_rest).collect();
        let beyond_rest = lines.iter().zip(&depths).map(|(line, d)| rest(line, d)).collect();
        let strained: f64 = pressed.iter().flatten().map(|e| e.abs()).sum();
        (strained, Expression { name, positions, depths, beyond_rest })
    };
    let at = |(name, weights): (String, Vec<f32>)| expression((name, evaluator.positions(&weights)));
    let mut all: Vec<(f64, Expression)> = groups(rig).into_par_iter().map(at).collect();
    all.retain(|(strained, _)| *strained > 0.0 && strained.is_finite());
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.name.cmp(&b.1.name)));
    all.truncate(MOST);
    let mut kept: Vec<Expression> = all.into_iter().map(|(_, e)| e).collect();
    let opposites: Vec<Expression> = most_folded(&kept)
        .into_iter()
        .map(|k| {
            let away = |(p, r): (&[f32; 3], &[f32; 3])| std::array::from_fn(|i| r[i] - BACK * (p[i] - r[i]));
            let positions = kept[k].positions.iter().zip(&rig.neutral).map(away).collect();
            expression((format!("opposite of {}", kept[k].name), positions)).1
        })
        .collect();
    kept.extend(opposites);
    kept
}

/// The expressions that together fold lines most, in order: each adds the most to those before it.
fn most_folded(all: &[Expression]) -> Vec<usize> {
    let n = all.first().map_or(0, |e| e.depths.iter().flatten().count());
    let mut reached = vec![0.0; n];
    let mut chosen = Vec::new();
    let mut first_gain = 0.0;
    while chosen.len() < OPPOSITES {
        let gain = |e: &Expression| -> f64 {
            e.beyond_rest.iter().flatten().zip(&reached).map(|(d, r)| (d - r).max(0.0)).sum()
        };
        let gains: Vec<f64> = all.iter().map(gain).collect();
        let best = (0..all.len()).reduce(|best, k| if gains[k] > gains[best] { k } else { best });
        let Some(best) = best.filter(|&k| gains[k] > 0.02 * first_gain && gains[k] > 0.0) else { break };
        first_gain = gains[best].max(first_gain);
        for (r, d) in reached.iter_mut().zip(all[best].beyond_rest.iter().flatten()) {
            *r = r.max(*d);
        }
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

/// Depth of a sample for a compression: that of a sine that is shortened by as much, limited, and at least
/// what remains at rest. Stretch smooths that out.
fn depth(line: &Line, sample: &Sample, pressed: f64) -> f64 {
    if sample.deepest <= 0.0 {
        return 0.0;
    }
    let beyond = (pressed - line.family.onset).max(0.0);
    let sine = FOLDED * 2.0 * line.breadth * beyond.sqrt() / std::f64::consts::PI * ramp(beyond, -0.01, 0.05);
    let limit = sample.deepest;
    let folded = sine * sample.strength / (1.0 + (sine * sample.strength / limit).powi(2)).sqrt();
    let left = sample.at_rest * (1.0 - 0.7 * ramp(-pressed, 0.0, 0.15));
    DVec3::new(folded, left, 0.0).length()
}
