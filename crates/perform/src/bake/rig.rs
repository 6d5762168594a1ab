//! The artist's rig with correctives.
//!
//! Names follow the rule that readers know (docs/rigs.md): `jawOpen_50` is the in-between of `jawOpen` at
//! 0.5, `jawOpen__mouthSmile_L` the combination of both. A name that the rig has already gets `_baked` at its
//! end; what it means is then in the sidecar.

use super::fit::Fitted;
use super::plan::BakePlan;
use risorius_rig::{CombinationRule, Deltas, Driver, Rig, Role, Shape};
use std::collections::HashSet;

/// Slider value of in-betweens.
pub const HALF: f32 = 0.5;

/// Slider values of two more where one is not enough.
pub const QUARTERS: [f32; 2] = [0.25, 0.75];

/// A shape that was added.
#[derive(Debug, Clone, PartialEq)]
pub struct BakedShape {
    /// Its index among the shapes of the rig.
    pub shape: usize,
    /// Its sliders: one for an in-between, two for a combination.
    pub sliders: Vec<usize>,
    /// The largest displacement that it corrects by, in the unit of the rig.
    pub most: f64,
}

/// Which sliders of a plan can get an in-between, as indices into those of the plan: sliders that have none,
/// because one more knot would change what their combinations with in-betweens mean.
pub fn without_inbetweens(rig: &Rig, plan: &BakePlan) -> Vec<usize> {
    let has = |slider: usize| {
        rig.shapes.iter().any(|shape| match &shape.role {
            Role::Inbetween { slider: s, .. } => *s == slider,
            Role::Combination { drivers, .. } => drivers.iter().any(|d| d.slider == slider && d.at.is_some()),
            Role::Slider(_) => false,
        })
    };
    (0..plan.sliders.len()).filter(|&s| !has(plan.sliders[s] as usize)).collect()
}

/// Adds the correctives of a plan to a rig.
pub fn baked_rig(rig: &Rig, plan: &BakePlan, fitted: &Fitted) -> (Rig, Vec<BakedShape>) {
    let mut out = rig.clone();
    add_to(&mut out.neutral, &fitted.neutral);
    for (&slider, linear) in plan.sliders.iter().zip(&fitted.linear) {
        let slider = slider as usize;
        for shape in &mut out.shapes {
            match shape.role {
                Role::Slider(s) if s == slider => shape.deltas = plus(&shape.deltas, 1.0, linear),
                Role::Inbetween { slider: s, at } if s == slider => {
                    shape.deltas = plus(&shape.deltas, f64::from(at), linear);
                }
                _ => {}
            }
        }
    }
    let mut taken: HashSet<String> = rig.shapes.iter().map(|s| s.name.clone()).collect();
    let mut baked = Vec::new();
    let slider = |s: usize| plan.sliders[s] as usize;
    for (s, deltas) in &fitted.halves {
        let slider = slider(*s);
        let full = &rig.sliders[slider];
        let quarters = fitted.quarters.iter().find(|(q, _)| q == s);
        let more = quarters.iter().flat_map(|(_, both)| both.iter().zip(QUARTERS));
        let more = more.map(|(left, at)| (at, plus(left, f64::from(HALF), deltas)));
        for (at, correction) in std::iter::once((HALF, deltas.clone())).chain(more) {
            let straight = plus(&Deltas::default(), f64::from(at), &rig.shapes[full.shape].deltas);
            let name = unique(format!("{}_{:.0}", full.name, 100.0 * at), &mut taken);
            let most = most(&correction);
            baked.push(BakedShape { shape: out.shapes.len(), sliders: vec![slider], most });
            let role = Role::Inbetween { slider, at };
            out.shapes.push(Shape { name, role, deltas: plus(&straight, 1.0, &correction) });
        }
    }
    for (pair, deltas) in &fitted.pairs {
        let sliders = plan.pairs[*pair].map(|s| slider(s as usize));
        let [a, b] = sliders.map(|s| rig.sliders[s].name.as_str());
        let name = unique(format!("{a}__{b}"), &mut taken);
        let drivers = sliders.iter().map(|&slider| Driver { slider, at: None }).collect();
        let role = Role::Combination { drivers, rule: CombinationRule::Multiply };
        baked.push(BakedShape { shape: out.shapes.len(), sliders: sliders.to_vec(), most: most(deltas) });
        out.shapes.push(Shape { name, role, deltas: deltas.clone() });
    }
    (out, baked)
}

fn most(deltas: &Deltas) -> f64 {
    deltas.max_length().into()
}

/// A name that no shape has.
fn unique(name: String, taken: &mut HashSet<String>) -> String {
    let numbered = |i: usize| match i {
        0 => name.clone(),
        1 => format!("{name}_baked"),
        _ => format!("{name}_baked{i}"),
    };
    let free = (0..).map(numbered).find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

fn add_to(positions: &mut [[f32; 3]], deltas: &Deltas) {
    for (&v, offset) in deltas.vertices.iter().zip(&deltas.offsets) {
        let p = &mut positions[v as usize];
        *p = std::array::from_fn(|k| (f64::from(p[k]) + f64::from(offset[k])) as f32);
    }
}

/// `a + factor b`.
fn plus(a: &Deltas, factor: f64, b: &Deltas) -> Deltas {
    let mut out = Deltas::default();
    let (mut i, mut j) = (0, 0);
    while i < a.vertices.len() || j < b.vertices.len() {
        let of = |list: &Deltas, at: usize| list.vertices.get(at).copied().unwrap_or(u32::MAX);
        let v = of(a, i).min(of(b, j));
        let mut sum = [0.0; 3];
        let mut take = |list: &Deltas, at: &mut usize, factor: f64| {
            if of(list, *at) == v {
                (0..3).for_each(|k| sum[k] += factor * f64::from(list.offsets[*at][k]));
                *at += 1;
            }
        };
        take(a, &mut i, 1.0);
        take(b, &mut j, factor);
        out.vertices.push(v);
        out.offsets.push(sum.map(|x| x as f32));
    }
    out
}
