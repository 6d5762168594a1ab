//! Winding numbers at many points near a surface: from one value in each cell of an octree.
//!
//! Along a segment from c to p, the winding number w changes by one at every triangle that the segment
//! crosses, and otherwise only because the surface is open. The gradient of w is that of a current around the
//! boundary of the surface,
//!
//! ```text
//! w(p) = w(c) + signed crossings +- slope |p - c|,    slope = 1/(4 pi) sum over boundary edges of length / distance^2
//! ```
//!
//! so that a closed surface has slope 0. A boundary edge is one that triangles do not use equally often in
//! both directions; vertices are the same if their positions are. Cells are split until few triangles meet
//! them. A query finds its cell and counts crossings with these triangles. Crossings are counted without
//! error: the side of an edge on which the segment passes has exactly the opposite sign for the other
//! triangle at the edge. Where a sign is zero, or an end of the segment is on a triangle, there is no answer,
//! and the caller evaluates the winding number itself.
//!
//! In: the triangles of a [`WindingNumbers`]. Out: a tree of cells. Values of cells are evaluated when they
//! are first needed; they depend on the cell alone.

use crate::{Bvh, WindingNumbers};
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::f64::consts::PI;
use std::sync::OnceLock;

/// Cells with more triangles are split.
const FEW: usize = 6;
/// Most levels of cells.
const LEVELS: usize = 9;
/// Boundary edges farther than this many radii of a cell count with their distance from the cell, not from
/// its descendants.
const FAR: f64 = 4.0;
/// Error of [`WindingNumbers::at_roughly`].
const ERROR: f64 = 1e-2;
/// Points nearer to a triangle than this fraction of a cell are on it.
const ON: f64 = 1e-9;
/// Distances to the surface are not searched beyond this fraction of the root.
const CLEAR: f64 = 0.125;

/// The cells of a surface in one pose; see the module.
#[derive(Debug)]
pub(crate) struct Sides {
    /// Lowest corner and side of the root.
    min: DVec3,
    side: f64,
    cells: Vec<Cell>,
    /// Triangles of all leaves.
    corners: Vec<[Vec3; 3]>,
}

#[derive(Debug, Default)]
struct Cell {
    center: DVec3,
    /// The first of eight children, or 0 for a leaf.
    children: u32,
    /// Triangles of a leaf.
    first: u32,
    count: u32,
    slope: f64,
    /// Winding number at the center, and distance of the surface from it; evaluated when needed.
    at_center: OnceLock<[f64; 2]>,
}

/// What is known of the winding number near a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct About {
    /// The winding number.
    pub w: f64,
    /// Largest error of it, that of [`WindingNumbers::at_roughly`] included.
    pub error: f64,
    /// The surface is at least this far away.
    pub clear: f64,
}

/// A cell in construction.
struct Growing {
    center: DVec3,
    /// Triangles and boundary edges that may concern it.
    triangles: Vec<u32>,
    edges: Vec<u32>,
    /// Slope from the other edges.
    slope: f64,
}

/// An edge of the boundary: its ends, and how many times it is there.
type Edge = ([DVec3; 2], f64);

impl Sides {
    /// Prepares the cells of a surface; `None` if it has no triangles.
    pub(crate) fn prepare(winding: &WindingNumbers) -> Option<Self> {
        let corners = &winding.corners;
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let all = corners.iter().flatten().map(|p| p.as_dvec3());
        let (low, high) = all.fold(start, |(lo, hi), p| (lo.min(p), hi.max(p)));
        let side = (high - low).max_element() * 1.001;
        if !(side > 0.0 && side < 1e15) {
            return None;
        }
        let center = low.midpoint(high);
        let edges = boundary(corners);
        let root = Growing {
            center,
            triangles: (0..corners.len() as u32).collect(),
            edges: (0..edges.len() as u32).collect(),
            slope: 0.0,
        };
        let mut sides = Self { min: center - 0.5 * side, side, cells: Vec::new(), corners: Vec::new() };
        sides.cells.push(Cell::default());
        let (mut growing, mut first, mut half) = (vec![root], 0, 0.5 * side);
        for level in 0..=LEVELS {
            let is_last = level == LEVELS;
            growing.par_iter_mut().for_each(|cell| cell.keep_near(half, corners, &edges));
            let mut next = Vec::new();
            for (at, cell) in (first..).zip(growing) {
                let splits = cell.triangles.len() > FEW && !is_last;
                let children = if splits { (sides.cells.len() + next.len()) as u32 } else { 0 };
                sides.cells[at].center = cell.center;
                sides.cells[at].children = children;
                if splits {
                    next.extend((0..8).map(|i| cell.child(i, 0.5 * half)));
                } else {
                    sides.finish(at, &cell, half, corners, &edges);
                }
            }
            first = sides.cells.len();
            sides.cells.resize_with(first + next.len(), Cell::default);
            (growing, half) = (next, 0.5 * half);
        }
        Some(sides)
    }

    /// Completes a leaf.
    fn finish(&mut self, at: usize, cell: &Growing, half: f64, corners: &[[Vec3; 3]], edges: &[Edge]) {
        let near: f64 = cell.edges.iter().map(|&e| slope(&edges[e as usize], cell.center, half)).sum();
        let leaf = &mut self.cells[at];
        leaf.slope = cell.slope + near;
        leaf.first = self.corners.len() as u32;
        leaf.count = cell.triangles.len() as u32;
        self.corners.extend(cell.triangles.iter().map(|&t| corners[t as usize]));
    }

    /// The winding number about `p`, if it can be told; `winding` and `tree` are of the same surface.
    pub(crate) fn about(&self, p: DVec3, winding: &WindingNumbers, tree: &Bvh) -> Option<About> {
        let within = p.cmpge(self.min).all() && p.cmple(self.min + self.side).all();
        if !within {
            return None;
        }
        let (mut cell, mut side) = (&self.cells[0], self.side);
        while cell.children != 0 {
            let above = p.cmpge(cell.center);
            let child = usize::from(above.x) + 2 * usize::from(above.y) + 4 * usize::from(above.z);
            cell = &self.cells[cell.children as usize + child];
            side *= 0.5;
        }
        let away = p.distance(cell.center);
        let wander = cell.slope * away;
        if wander > 0.5 {
            return None;
        }
        let triangles = &self.corners[cell.first as usize..(cell.first + cell.count) as usize];
        let mut crossings = 0;
        for triangle in triangles {
            crossings += crossing(cell.center, p, triangle, ON * side)?;
        }
        let [w, clear] = *cell.at_center.get_or_init(|| {
            let far = CLEAR * self.side;
            let nearest = tree.closest_point(cell.center, far).map_or(far, |c| c.distance_sq.sqrt());
            [winding.at_roughly(cell.center), nearest]
        });
        Some(About { w: w + f64::from(crossings), error: wander + ERROR, clear: clear - away })
    }
}

impl Growing {
    /// Drops triangles that do not meet the cell of this half side, and far edges, whose slope is added.
    fn keep_near(&mut self, half: f64, corners: &[[Vec3; 3]], edges: &[Edge]) {
        let (center, reach) = (self.center, half * (1.0 + 1e-6));
        self.triangles.retain(|&t| meets(center, reach, &corners[t as usize]));
        let far = FAR * 3f64.sqrt() * half;
        let mut added = 0.0;
        self.edges.retain(|&e| {
            let edge = &edges[e as usize];
            let is_near = distance(edge, center) < far;
            added += if is_near { 0.0 } else { slope(edge, center, half) };
            is_near
        });
        self.slope += added;
    }

    /// The `i`-th child, with all that concerns its parent.
    fn child(&self, i: u32, half: f64) -> Self {
        let sign = |k: u32| if i >> k & 1 == 1 { half } else { -half };
        Self {
            center: self.center + DVec3::new(sign(0), sign(1), sign(2)),
            triangles: self.triangles.clone(),
            edges: self.edges.clone(),
            slope: self.slope,
        }
    }
}

/// Whether a triangle may meet the cube: its box does, and its plane.
fn meets(center: DVec3, half: f64, corners: &[Vec3; 3]) -> bool {
    let [a, b, c] = corners.map(|p| p.as_dvec3() - center);
    let (low, high) = (a.min(b).min(c), a.max(b).max(c));
    if low.max_element() > half || high.min_element() < -half {
        return false;
    }
    let normal = (b - a).cross(c - a);
    normal.dot(a).abs() <= half * normal.abs().element_sum() * (1.0 + 1e-6)
}

fn distance(&([a, b], _): &Edge, p: DVec3) -> f64 {
    let along = b - a;
    let t = ((p - a).dot(along) / along.length_squared()).clamp(0.0, 1.0);
    p.distance(a + along * t)
}

/// Largest contribution of a boundary edge to the gradient of the winding number in a cube.
fn slope(edge: &Edge, center: DVec3, half: f64) -> f64 {
    let nearest = distance(edge, center) - 3f64.sqrt() * half;
    let [a, b] = edge.0;
    if nearest > 0.0 { edge.1 * a.distance(b) / (4.0 * PI * nearest * nearest) } else { f64::INFINITY }
}

/// The edges that are not used equally often in both directions.
fn boundary(triangles: &[[Vec3; 3]]) -> Vec<Edge> {
    // Zero has two signs, and adding zero leaves one.
    let key = |p: Vec3| (p + 0.0).to_array().map(f32::to_bits);
    let mut sides: Vec<([[u32; 3]; 2], i32)> = triangles
        .par_iter()
        .flat_map_iter(|&[a, b, c]| {
            [[a, b], [b, c], [c, a]].map(|[p, q]| {
                let (p, q) = (key(p), key(q));
                if p < q { ([p, q], 1) } else { ([q, p], -1) }
            })
        })
        .collect();
    sides.par_sort_unstable();
    let position = |key: [u32; 3]| Vec3::from_array(key.map(f32::from_bits)).as_dvec3();
    let net = |same: &[([[u32; 3]; 2], i32)]| {
        let n: i32 = same.iter().map(|s| s.1).sum();
        (n != 0).then(|| (same[0].0.map(position), f64::from(n.abs())))
    };
    sides.chunk_by(|a, b| a.0 == b.0).filter_map(net).collect()
}

/// How the winding number changes from `c` to `p` because of a triangle: 1 where the segment enters from the
/// front, -1 where it leaves, 0 elsewhere. `None` if rounding decides.
fn crossing(c: DVec3, p: DVec3, triangle: &[Vec3; 3], on: f64) -> Option<i32> {
    let [a, b, d] = triangle.map(|q| q.as_dvec3() - c);
    let along = p - c;
    let passes = [along.dot(a.cross(b)), along.dot(b.cross(d)), along.dot(d.cross(a))];
    if passes.iter().any(|&s| s > 0.0) && passes.iter().any(|&s| s < 0.0) {
        return Some(0);
    }
    let normal = (b - a).cross(d - a);
    let (from, to) = (-a.dot(normal), (along - a).dot(normal));
    let least = on * normal.length();
    if from.abs() <= least || to.abs() <= least || !(from.is_finite() && to.is_finite()) {
        return None;
    }
    if (from > 0.0) == (to > 0.0) {
        return Some(0);
    }
    let is_clean = passes.iter().all(|&s| s != 0.0);
    is_clean.then_some(if from > 0.0 { 1 } else { -1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TriMesh;

    /// Random numbers from -1/2 to 1/2.
    struct Random(u64);

    impl Random {
        fn number(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        }

        fn vector(&mut self) -> DVec3 {
            DVec3::new(self.number(), self.number(), self.number())
        }
    }

    /// A sphere around `center` made of rings of quads, or its part below the share `cut` of its rings.
    fn ball(center: DVec3, radius: f64, n: u32, cut: f64) -> TriMesh {
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for (i, j) in (0..=n).flat_map(|i| (0..2 * n).map(move |j| (i, j))) {
            let (theta, phi) = (f64::from(i) / f64::from(n) * PI, f64::from(j) / f64::from(n) * PI);
            let out = DVec3::new(theta.sin() * phi.cos(), theta.sin() * phi.sin(), -theta.cos());
            positions.push(center + radius * out);
        }
        for (i, j) in (0..(f64::from(n) * cut) as u32).flat_map(|i| (0..2 * n).map(move |j| (i, j))) {
            let (a, b) = (i * 2 * n + j, i * 2 * n + (j + 1) % (2 * n));
            triangles.extend([[a, b, b + 2 * n], [a, b + 2 * n, a + 2 * n]]);
        }
        TriMesh { positions, triangles }
    }

    /// Points all over the surface's box and near its vertices.
    fn points(surface: &TriMesh, random: &mut Random) -> Vec<DVec3> {
        let mut points: Vec<DVec3> = (0..3000).map(|_| 2.5 * random.vector()).collect();
        for (i, &p) in surface.positions.iter().enumerate().step_by(3) {
            points.push(p + [0.1, 0.01, 1e-4, 1e-7][i % 4] * random.vector());
        }
        points
    }

    /// The share of points in the box of the surface with a sure answer. All answers are within their error
    /// of the definition.
    fn share_told(surface: &TriMesh) -> f64 {
        let winding = WindingNumbers::of(surface);
        let tree = Bvh::build(&surface.positions_f32(), &surface.triangles);
        let sides = Sides::prepare(&winding).unwrap();
        let mut points = points(surface, &mut Random(1));
        let bounds = tree.nodes[0].bounds;
        points.retain(|&p| bounds.distance_sq(p) == 0.0);
        let n_told: usize = points
            .par_iter()
            .map(|&p| {
                let Some(about) = sides.about(p, &winding, &tree) else { return 0 };
                let (w, nearest) = (winding.at_by_definition(p), tree.closest_point(p, f64::INFINITY));
                assert!((about.w - w).abs() <= about.error, "{p}: {about:?}, not {w}");
                assert!(nearest.is_none_or(|c| c.distance_sq.sqrt() >= about.clear - 1e-9));
                usize::from((about.w - 0.5).abs() > about.error)
            })
            .sum();
        n_told as f64 / points.len() as f64
    }

    #[test]
    fn closed_surfaces_are_told_nearly_everywhere_within_them() {
        let mut two = ball(DVec3::ZERO, 0.8, 40, 1.0);
        assert!(share_told(&two) > 0.9, "{}", share_told(&two));
        two.append(&ball(DVec3::new(0.5, 0.1, 0.0), 0.4, 25, 1.0));
        assert!(share_told(&two) > 0.9, "overlapping: {}", share_told(&two));
    }

    #[test]
    fn open_surfaces_keep_to_their_errors() {
        let mut open = ball(DVec3::ZERO, 0.8, 40, 0.7);
        assert!(share_told(&open) > 0.6, "{}", share_told(&open));
        open.append(&ball(DVec3::new(0.2, 0.1, 0.3), 0.5, 25, 0.4));
        // Inside out, with holes, and with a part that is there twice.
        open.triangles.iter_mut().skip(300).take(400).for_each(|t| t.swap(0, 1));
        let twice = open.triangles[..200].to_vec();
        open.triangles.extend(twice);
        open.triangles.retain(|t| t[0] % 97 != 0);
        assert!(share_told(&open) < 0.9);
    }

    #[test]
    fn surfaces_without_extent_have_no_cells() {
        assert!(Sides::prepare(&WindingNumbers::default()).is_none());
        let point = TriMesh { positions: vec![DVec3::ONE; 3], triangles: vec![[0, 1, 2]] };
        assert!(Sides::prepare(&WindingNumbers::of(&point)).is_none());
    }
}
