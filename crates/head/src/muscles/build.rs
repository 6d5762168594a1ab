//! Muscle solids from the middle surfaces of the table, fitted to the bones.
//!
//! First the middle surface is fitted to the bones. Samples of the spline should lie at a given height over
//! bone, or clear it by at least half the thickness; in a few rounds they pull their control points there,
//! each by its basis weight. Then each control point gets a normal (perpendicular to its neighbors, away from
//! the inside of the head) and becomes a pair, half the thickness below and above. Teeth and eyeballs count
//! as bone. Left muscles only; right ones are their mirror images.

use crate::bones;
use glam::DVec3;
use rayon::prelude::*;
use risorius_muscle::spline::basis;
use risorius_muscle::{Muscle, MuscleEnd, SplineSolid};

/// Clearance between a muscle and bone (mm): the distance by which the triangles of the bones may exceed
/// their sculpt.
const CLEARANCE: f64 = 0.4;

/// A left (or single) muscle as given in its table, in millimeters.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub name: &'static str,
    pub origin: MuscleEnd,
    pub insertion: MuscleEnd,
    /// The muscle has a mirror image of its own.
    pub paired: bool,
    /// Rows of the middle surface along u, each across v.
    pub rows: Vec<Row>,
}

/// One row of control points.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub points: Vec<DVec3>,
    pub half_thickness: f64,
    /// Height of the middle surface over bone, where it follows the bone.
    pub height: Option<f64>,
}

/// Solids of all drafts, each pair as left and right.
pub(super) fn all(drafts: &[Draft], obstacles: &bones::Obstacles) -> Vec<Muscle> {
    let fitted: Vec<SplineSolid> = drafts.par_iter().map(|d| fitted(d, obstacles)).collect();
    let mut out = Vec::new();
    for (draft, solid) in drafts.iter().zip(fitted) {
        let muscle =
            |name: String, solid| Muscle { name, origin: draft.origin, insertion: draft.insertion, solid };
        if draft.paired {
            let right = mirrored(&solid);
            out.push(muscle(format!("{}_left", draft.name), solid));
            out.push(muscle(format!("{}_right", draft.name), right));
        } else {
            out.push(muscle(draft.name.into(), solid));
        }
    }
    out
}

fn mirrored(solid: &SplineSolid) -> SplineSolid {
    let [nu, nv, nw] = solid.counts;
    let place = |i: usize, j: usize, k: usize| {
        solid.control[solid.index(i, nv - 1 - j, k)] * DVec3::new(-1.0, 1.0, 1.0)
    };
    let control = (0..nu * nv * nw).map(|c| place(c / (nv * nw), c / nw % nv, c % nw)).collect();
    SplineSolid { counts: solid.counts, control }
}

/// Approximate outward direction of the head at `p`.
pub(super) fn outward(p: DVec3) -> DVec3 {
    DVec3::new(p.x, 0.0, p.z - 20.0).normalize_or(DVec3::Z)
}

fn fitted(draft: &Draft, obstacles: &bones::Obstacles) -> SplineSolid {
    let mut rows = draft.rows.clone();
    for _ in 0..12 {
        pull(&mut rows, obstacles);
        if is_ring(&rows) {
            // The ends stay joined, with a common tangent.
            let last = rows.len() - 1;
            let n = rows[0].points.len();
            for j in 0..n {
                let seam = 0.5 * (rows[0].points[j] + rows[last].points[j]);
                let tangent = 0.5 * (rows[1].points[j] - rows[last - 1].points[j]);
                let middle = 0.5 * (rows[1].points[j] + rows[last - 1].points[j]);
                rows[0].points[j] = seam;
                rows[last].points[j] = seam;
                let lift = seam - middle;
                rows[1].points[j] = middle + lift + tangent;
                rows[last - 1].points[j] = middle + lift - tangent;
            }
        }
    }
    if !draft.paired {
        symmetrize(&mut rows);
    }
    solid(&rows)
}

fn is_ring(rows: &[Row]) -> bool {
    let (first, last) = (&rows[0].points, &rows[rows.len() - 1].points);
    rows.len() > 4 && first.iter().zip(last).all(|(a, b)| a.distance(*b) < 1.0)
}

/// Makes a single muscle symmetric: row i is the mirror image of row n - 1 - i.
fn symmetrize(rows: &mut [Row]) {
    let n = rows.len();
    let old: Vec<Vec<DVec3>> = rows.iter().map(|r| r.points.clone()).collect();
    for (i, row) in rows.iter_mut().enumerate() {
        for (p, image) in row.points.iter_mut().zip(&old[n - 1 - i]) {
            *p = 0.5 * (*p + *image * DVec3::new(-1.0, 1.0, 1.0));
        }
    }
}

/// One round: moves control points by the weighted errors of the samples near them.
fn pull(rows: &mut [Row], obstacles: &bones::Obstacles) {
    let (nu, nv) = (rows.len(), rows[0].points.len());
    let mut sums = vec![(DVec3::ZERO, 0.0); nu * nv];
    let (su, sv) = (4 * nu, 3 * nv);
    for i in 0..=su {
        for j in 0..=sv {
            let [bu, bv] = [basis(nu, i as f64 / su as f64), basis(nv, j as f64 / sv as f64)];
            let mut p = DVec3::ZERO;
            let (mut thick, mut height) = (0.0, Some(0.0));
            for a in 0..bu.count {
                let row = &rows[bu.first + a];
                thick += bu.weights[a] * row.half_thickness;
                height = if bu.weights[a] == 0.0 {
                    height
                } else {
                    height.zip(row.height).map(|(h, r)| h + bu.weights[a] * r)
                };
                for b in 0..bv.count {
                    p += row.points[bv.first + b] * (bu.weights[a] * bv.weights[b]);
                }
            }
            let distance = obstacles.distance(p);
            let lack = height.map_or((thick + CLEARANCE - distance).max(0.0), |h| h - distance);
            let shift =
                if lack == 0.0 { DVec3::ZERO } else { obstacles.gradient(p).normalize_or_zero() * lack };
            for a in 0..bu.count {
                for b in 0..bv.count {
                    let weight = bu.weights[a] * bv.weights[b];
                    let sum = &mut sums[(bu.first + a) * nv + bv.first + b];
                    // Samples that are clear count as well, so that a single bad one does not move a whole
                    // row by its full error.
                    sum.0 += shift * weight;
                    sum.1 += if lack == 0.0 { 0.3 * weight } else { weight };
                }
            }
        }
    }
    for (i, row) in rows.iter_mut().enumerate() {
        for (j, p) in row.points.iter_mut().enumerate() {
            let (sum, total) = sums[i * nv + j];
            *p += (sum / total.max(1e-9)).clamp_length_max(3.0);
        }
    }
}

/// Half the thickness below and above the middle surface, in meters.
fn solid(rows: &[Row]) -> SplineSolid {
    let (nu, nv) = (rows.len(), rows[0].points.len());
    let ring = is_ring(rows);
    let at = |i: usize, j: usize| rows[i].points[j];
    let mut control = Vec::with_capacity(2 * nu * nv);
    for (i, row) in rows.iter().enumerate() {
        for j in 0..nv {
            let (before, after) = match (i, ring) {
                (0, true) => (nu - 2, 1),
                (i, true) if i == nu - 1 => (nu - 2, 1),
                _ => (i.saturating_sub(1), (i + 1).min(nu - 1)),
            };
            let along = at(after, j) - at(before, j);
            let across = at(i, (j + 1).min(nv - 1)) - at(i, j.saturating_sub(1));
            let normal = along.cross(across).normalize_or_zero();
            for side in [-1.0, 1.0] {
                control.push((at(i, j) + normal * (side * row.half_thickness)) * 1e-3);
            }
        }
    }
    SplineSolid { counts: [nu, nv, 2], control }
}
