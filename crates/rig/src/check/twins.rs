//! Finds shapes that equal another shape or are a positive multiple of one.
//!
//! Each shape is condensed to a few sums of its displacements with pseudo-random signs, divided by its size:
//! multiples have equal sums, and different shapes almost surely do not. Only shapes with equal sums are
//! compared in full, each with the first of its kind, so that a thousand shapes cost one pass over their
//! displacements. Negative multiples (jawLeft and jawRight) are ordinary and not reported.

use crate::model::{Deltas, Rig};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Sums per shape. Eight of about unit size agree to 1e-4 by chance once in 1e32.
const N_SUMS: usize = 8;
/// Differences below this fraction of a shape's size or largest displacement are rounding.
const TOLERANCE: f64 = 1e-4;

/// A shape that repeats an earlier one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Twin {
    pub shape: usize,
    /// The first shape of the kind.
    pub of: usize,
    /// `shape` is this times `of`.
    pub scale: f64,
}

/// Every shape that repeats an earlier one, ascending.
pub(crate) fn twins(rig: &Rig) -> Vec<Twin> {
    let sums: Vec<Option<[f64; N_SUMS]>> = rig.shapes.par_iter().map(|s| condensed(&s.deltas)).collect();
    let mut firsts: Vec<(usize, [f64; N_SUMS])> = Vec::new();
    let mut found = Vec::new();
    for (shape, sums) in sums.iter().enumerate() {
        let Some(sums) = sums else { continue };
        let twin = firsts
            .iter()
            .filter(|(_, other)| sums.iter().zip(other).all(|(a, b)| (a - b).abs() < TOLERANCE))
            .find_map(|&(of, _)| {
                let scale = multiple(&rig.shapes[shape].deltas, &rig.shapes[of].deltas)?;
                Some(Twin { shape, of, scale })
            });
        match twin {
            Some(twin) => found.push(twin),
            None => firsts.push((shape, *sums)),
        }
    }
    found
}

/// The sums of a shape; `None` when nothing moves.
fn condensed(deltas: &Deltas) -> Option<[f64; N_SUMS]> {
    let (mut sums, mut size_sq) = ([0.0; N_SUMS], 0.0);
    for (v, d) in finite(deltas) {
        let bits = scrambled(v);
        for (k, sum) in sums.iter_mut().enumerate() {
            let sign = |axis: usize| if bits >> (3 * k + axis) & 1 == 1 { 1.0 } else { -1.0 };
            *sum += sign(0) * d.x + sign(1) * d.y + sign(2) * d.z;
        }
        size_sq += d.length_squared();
    }
    (size_sq > 0.0).then(|| sums.map(|s| s / size_sq.sqrt()))
}

/// The positive factor that makes `of` into `shape`, if there is one.
fn multiple(shape: &Deltas, of: &Deltas) -> Option<f64> {
    let (mut dot, mut of_sq, mut largest) = (0.0, 0.0, 0.0f64);
    for (a, b) in together(shape, of) {
        dot += a.dot(b);
        of_sq += b.length_squared();
        largest = largest.max(a.length());
    }
    let scale = dot / of_sq;
    let same = scale > 0.0 && together(shape, of).all(|(a, b)| a.distance(b * scale) <= TOLERANCE * largest);
    same.then_some(scale)
}

/// Both displacements of every vertex that either moves.
fn together<'a>(a: &'a Deltas, b: &'a Deltas) -> impl Iterator<Item = (DVec3, DVec3)> + 'a {
    let (mut a, mut b) = (finite(a).peekable(), finite(b).peekable());
    std::iter::from_fn(move || {
        let next = match (a.peek(), b.peek()) {
            (Some((v, _)), Some((w, _))) => *v.min(w),
            (Some((v, _)), None) | (None, Some((v, _))) => *v,
            (None, None) => return None,
        };
        let moved = |side: Option<(u32, DVec3)>| side.map_or(DVec3::ZERO, |(_, d)| d);
        Some((moved(a.next_if(|(v, _)| *v == next)), moved(b.next_if(|(v, _)| *v == next))))
    })
}

fn finite(deltas: &Deltas) -> impl Iterator<Item = (u32, DVec3)> + '_ {
    let all = deltas.vertices.iter().zip(&deltas.offsets).map(|(&v, &d)| (v, Vec3::from(d).as_dvec3()));
    all.filter(|(_, d)| d.is_finite())
}

/// Well-mixed bits of a vertex number (the finalizer of splitmix64).
fn scrambled(v: u32) -> u64 {
    let mut x = (u64::from(v) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
