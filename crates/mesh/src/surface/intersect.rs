//! Self-intersections of a triangle mesh.
//!
//! Two triangles cross when each has corners strictly on both sides of the other's plane and they share more
//! than a point of the line between the planes. That is decided by signs of tetrahedron volumes alone
//! (Devillers and Guigue, "Faster triangle-triangle intersection tests", 2002): f64 volumes of f32 corners,
//! with a bound on the rounding error below which a volume counts as zero. Intended consequences:
//! - touching is not crossing: a shared corner or edge, two coincident vertices, a corner on a face.
//!   Neighbors at a common vertex are reported when they pass through one another beyond it;
//! - coplanar triangles never cross, even if they overlap; nor do triangles without area;
//! - a sheet that meets another exactly along its edges is found at the adjacent triangles or not at all.
//!
//! In: n positions, m triangles. Out: pairs ascending, the same for any number of threads. Candidates come
//! from overlapping boxes. When there are too many (a mesh collapsed to a small region has m^2 of them) the
//! search stops at [`IntersectOptions::max_steps`] or [`IntersectOptions::max_pairs`], and the result is
//! marked as incomplete.

use crate::query::bvh::{Aabb, Bvh, Step};
use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;
use risorius_base::progress::{Cancelled, Progress, tick};
use std::ops::ControlFlow;

/// Triangles between two reports of progress.
const CHUNK: usize = 64;
/// A chunk may use 1 / this of the remaining steps, so that cancelling never waits for all of them.
const STEPS_SHARE: usize = 4;
/// Additional steps per triangle, so that large valid meshes do not reach the limit.
const STEPS_PER_TRIANGLE: usize = 200;
/// One triangle may find 1 / this of all pairs, which bounds the memory of a chunk.
const PAIRS_SHARE: usize = 64;

/// Limits of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntersectOptions {
    /// Pairs that are listed; more are only counted. Default 10,000: enough for any report.
    pub max_listed: usize,
    /// Pairs after which counting stops, at the end of a batch of triangles. Default 1,000,000.
    pub max_pairs: usize,
    /// Boxes and triangle pairs after which the search stops, in addition to 200 for each triangle. Default
    /// 50 million: about a second. The ICT head takes 100 for each of its 52 thousand triangles.
    pub max_steps: usize,
}

impl Default for IntersectOptions {
    fn default() -> Self {
        Self { max_listed: 10_000, max_pairs: 1_000_000, max_steps: 50_000_000 }
    }
}

/// The crossings found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfIntersections {
    /// Crossing triangles, lower index first, ascending; at most [`IntersectOptions::max_listed`].
    pub pairs: Vec<[u32; 2]>,
    /// Number of crossing pairs.
    pub n_pairs: usize,
    /// Number of triangles that cross some other.
    pub n_triangles: usize,
    /// Every pair was tested; otherwise the counts are lower bounds.
    pub complete: bool,
}

/// Finds the triangles of a mesh that cross one another.
pub fn self_intersections(
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    options: &IntersectOptions,
    progress: &Progress,
) -> Result<SelfIntersections, Cancelled> {
    const STAGE: &str = "self-intersections";
    tick(progress, STAGE, 0.0)?;
    let bvh = Bvh::build(positions, triangles);
    let mut found = SelfIntersections { complete: true, ..SelfIntersections::default() };
    let mut crosses = vec![false; triangles.len()];
    let mut steps_left = options.max_steps.saturating_add(STEPS_PER_TRIANGLE * bvh.len());
    let mut pairs = Vec::new();
    let mut done = 0;
    while done < bvh.len() {
        let end = (done + CHUNK).min(bvh.len());
        // Shares fixed in advance bound the work for any mesh, independently of the order of threads.
        let share = steps_left / (CHUNK * STEPS_SHARE);
        let results: Vec<Crossings> = (done..end)
            .into_par_iter()
            .map(|slot| crossings(&bvh, slot, share, options.max_pairs / PAIRS_SHARE))
            .collect();
        for result in results {
            steps_left -= result.steps;
            found.complete &= result.complete;
            for pair in result.pairs {
                found.n_pairs += 1;
                pair.iter().for_each(|&t| crosses[t as usize] = true);
                pairs.push(pair);
            }
        }
        done = end;
        if (found.n_pairs >= options.max_pairs || share == 0) && done < bvh.len() {
            found.complete = false;
            break;
        }
        tick(progress, STAGE, done as f32 / bvh.len() as f32)?;
    }
    pairs.sort_unstable();
    pairs.truncate(options.max_listed);
    found.pairs = pairs;
    found.n_triangles = crosses.iter().filter(|&&c| c).count();
    Ok(found)
}

/// The crossings of one triangle.
struct Crossings {
    pairs: Vec<[u32; 2]>,
    steps: usize,
    complete: bool,
}

/// Tests the triangle at `slot` against those after it, for at most `max_steps` steps.
fn crossings(bvh: &Bvh, slot: usize, max_steps: usize, max_pairs: usize) -> Crossings {
    let corners = bvh.corners[slot];
    let (id, _) = bvh.triangles[slot];
    let mut out = Crossings { pairs: Vec::new(), steps: 0, complete: true };
    let flow = bvh.slots_overlapping(&Aabb::of(corners), |step| {
        if out.steps >= max_steps || out.pairs.len() > max_pairs {
            return ControlFlow::Break(());
        }
        out.steps += 1;
        if let Step::Overlap(other) = step
            && other > slot
            && triangles_cross(corners, bvh.corners[other])
        {
            let other_id = bvh.triangles[other].0;
            out.pairs.push([id.min(other_id), id.max(other_id)]);
        }
        ControlFlow::Continue(())
    });
    out.complete = flow.is_continue();
    out
}

/// Whether two triangles pass through one another; touching is not crossing, see the module.
pub fn triangles_cross(first: [Vec3; 3], second: [Vec3; 3]) -> bool {
    let (a, b) = (first.map(|p| p.as_dvec3()), second.map(|p| p.as_dvec3()));
    let Some(([p1, mut q1, mut r1], first_above)) = lone_corner(a, b) else { return false };
    let Some(([p2, mut q2, mut r2], second_above)) = lone_corner(b, a) else { return false };
    // The interval test needs each lone corner above the other's plane: flip the plane where it is below.
    if !first_above {
        std::mem::swap(&mut q2, &mut r2);
    }
    if !second_above {
        std::mem::swap(&mut q1, &mut r1);
    }
    // Each triangle covers an interval of the line between the planes; they overlap when each begins before
    // the other ends.
    volume_sign(p1, q1, p2, q2) < 0 && volume_sign(p1, r1, r2, p2) < 0
}

/// The corners of `t`, rotated so that the first is alone on its side of the plane of `plane`, and whether
/// that side is the positive one; `None` when `t` does not have corners on both sides.
fn lone_corner(t: [DVec3; 3], plane: [DVec3; 3]) -> Option<([DVec3; 3], bool)> {
    let side = t.map(|p| volume_sign(plane[0], plane[1], plane[2], p));
    if !side.contains(&1) || !side.contains(&-1) {
        return None;
    }
    let above = side.iter().filter(|&&s| s > 0).count() == 1;
    let i = side.iter().position(|&s| s == if above { 1 } else { -1 })?;
    Some(([t[i], t[(i + 1) % 3], t[(i + 2) % 3]], above))
}

/// Sign of the volume of the tetrahedron `abcd`: 1 when `d` is on the side from which `abc` is clockwise, 0
/// when the volume is within its rounding error.
fn volume_sign(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> i32 {
    let (u, v, w) = (a - d, b - d, c - d);
    let volume = DMat3::from_cols(u, v, w).determinant();
    let (u, v, w) = (u.abs(), v.abs(), w.abs());
    let size = u.x * (v.y * w.z + v.z * w.y) + u.y * (v.z * w.x + v.x * w.z) + u.z * (v.x * w.y + v.y * w.x);
    // Shewchuk's bound for this expression is (7 + 56 eps) eps with eps = 2^-53.
    let bound = 8e-16 * size;
    i32::from(volume > bound) - i32::from(volume < -bound)
}
