//! Simplification of a half surface: edge collapses by quadric error, then relaxation on the sculpt.
//!
//! Edges are collapsed by increasing cost until a number of vertices is reached. The cost of an edge is the
//! area-weighted squared distance of its new vertex from the planes around it, plus a small multiple of the
//! fourth power of its length, so that flat regions get even triangles. Collapses are rejected if they would
//! change the topology (link condition), flip a triangle, create a sliver, or create an edge longer than
//! allowed. Border vertices (x = 0) move only along the border. Relaxation moves every vertex toward the mean
//! of its neighbors within the surface, projects it back onto the sculpt, and flips edges to the shorter
//! diagonal. Collapses are ordered by cost, then index, so the result is deterministic.

use super::implicit::Sculpt;
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::TriMesh;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Goals of [`simplify`].
pub(crate) struct Goal {
    /// Vertices of the half surface to reach.
    pub n_vertices: usize,
    /// Longest edge that a collapse may create (mm).
    pub longest: f64,
}

/// A quadric: squared distance from planes as a symmetric 4 x 4 form.
#[derive(Clone, Copy, Default)]
struct Quadric([f64; 10]);

impl Quadric {
    fn plane(n: DVec3, d: f64, weight: f64) -> Self {
        let v = [n.x, n.y, n.z, d];
        let mut q = [0.0; 10];
        let mut k = 0;
        for i in 0..4 {
            for j in i..4 {
                q[k] = weight * v[i] * v[j];
                k += 1;
            }
        }
        Self(q)
    }

    fn plus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }

    fn at(&self, p: DVec3) -> f64 {
        let [xx, xy, xz, xw, yy, yz, yw, zz, zw, ww] = self.0;
        p.x * (xx * p.x + 2.0 * (xy * p.y + xz * p.z + xw))
            + p.y * (yy * p.y + 2.0 * (yz * p.z + yw))
            + p.z * (zz * p.z + 2.0 * zw)
            + ww
    }
}

/// A surface under reduction.
struct Mesh {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    alive: Vec<bool>,
    /// Triangles around each vertex; dead ones are removed.
    around: Vec<Vec<u32>>,
    quadrics: Vec<Quadric>,
    /// Counts changes of a vertex, so that outdated costs are recognized.
    stamp: Vec<u32>,
}

/// Cost as sortable bits, the two vertices, and their stamps when it was computed.
type Offer = Reverse<(u64, u32, u32, u32, u32)>;

/// Reduces a half surface to the goal; see the module.
pub(crate) fn simplify(surface: &TriMesh, goal: &Goal) -> TriMesh {
    let mut mesh = Mesh::of(surface);
    let mut offers: BinaryHeap<Offer> = BinaryHeap::new();
    for (t, corners) in surface.triangles.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            if a < b || mesh.around[b as usize].iter().all(|&u| u as usize == t || !mesh.has(u, a)) {
                offers.extend(mesh.offer(a.min(b), a.max(b)));
            }
        }
    }
    let mut n_left = mesh.positions.len();
    while n_left > goal.n_vertices {
        let Some(Reverse((_, a, b, stamp_a, stamp_b))) = offers.pop() else { break };
        if mesh.stamp[a as usize] != stamp_a || mesh.stamp[b as usize] != stamp_b {
            continue;
        }
        let Some((place, _)) = mesh.place(a, b) else { continue };
        if !mesh.may_collapse(a, b, place, goal.longest) {
            continue;
        }
        mesh.collapse(a, b, place);
        n_left -= 1;
        for n in mesh.neighbors(a) {
            offers.extend(mesh.offer(a.min(n), a.max(n)));
        }
    }
    mesh.compact()
}

impl Mesh {
    fn of(surface: &TriMesh) -> Self {
        let n = surface.positions.len();
        let mut mesh = Self {
            positions: surface.positions.clone(),
            triangles: surface.triangles.clone(),
            alive: vec![true; surface.triangles.len()],
            around: vec![Vec::new(); n],
            quadrics: vec![Quadric::default(); n],
            stamp: vec![0; n],
        };
        for (t, corners) in surface.triangles.iter().enumerate() {
            let [a, b, c] = corners.map(|v| surface.positions[v as usize]);
            let normal = (b - a).cross(c - a);
            let unit = normal.normalize_or_zero();
            let q = Quadric::plane(unit, -unit.dot(a), 0.5 * normal.length());
            for &v in corners {
                mesh.around[v as usize].push(t as u32);
                mesh.quadrics[v as usize] = mesh.quadrics[v as usize].plus(&q);
            }
        }
        mesh
    }

    fn has(&self, t: u32, v: u32) -> bool {
        self.triangles[t as usize].contains(&v)
    }

    fn on_border(&self, v: u32) -> bool {
        self.positions[v as usize].x == 0.0
    }

    /// Vertices that share a triangle with `v`, ascending.
    fn neighbors(&self, v: u32) -> Vec<u32> {
        let mut n: Vec<u32> = self.around[v as usize]
            .iter()
            .flat_map(|&t| self.triangles[t as usize])
            .filter(|&u| u != v)
            .collect();
        n.sort_unstable();
        n.dedup();
        n
    }

    /// The position to which the edge would collapse, and the cost.
    fn place(&self, a: u32, b: u32) -> Option<(DVec3, f64)> {
        let (p, q) = (self.positions[a as usize], self.positions[b as usize]);
        let sum = self.quadrics[a as usize].plus(&self.quadrics[b as usize]);
        let candidates: &[DVec3] = match (self.on_border(a), self.on_border(b)) {
            (false, false) | (true, true) => &[0.5 * (p + q), p, q],
            (true, false) => &[p],
            (false, true) => &[q],
        };
        let best =
            candidates.iter().copied().map(|c| (c, sum.at(c).max(0.0))).min_by(|x, y| x.1.total_cmp(&y.1))?;
        let length_sq = p.distance_squared(q);
        Some((best.0, best.1 + 1e-3 * length_sq * length_sq))
    }

    fn offer(&self, a: u32, b: u32) -> Option<Offer> {
        let (_, price) = self.place(a, b)?;
        Some(Reverse((price.to_bits(), a, b, self.stamp[a as usize], self.stamp[b as usize])))
    }

    fn may_collapse(&self, a: u32, b: u32, place: DVec3, longest: f64) -> bool {
        let (na, nb) = (self.neighbors(a), self.neighbors(b));
        let n_shared = na.iter().filter(|v| nb.contains(v)).count();
        let n_triangles = self.around[a as usize].iter().filter(|&&t| self.has(t, b)).count();
        let on_border = [self.on_border(a), self.on_border(b)];
        let both_on_border = on_border == [true, true];
        // An inner edge between two border vertices would be duplicated by mirroring.
        let new_border_neighbors = |n: &[u32], of: &[u32], but: u32| {
            n.iter().any(|&v| v != but && self.on_border(v) && !of.contains(&v))
        };
        if on_border == [true, false] && new_border_neighbors(&nb, &na, a)
            || on_border == [false, true] && new_border_neighbors(&na, &nb, b)
        {
            return false;
        }
        if n_shared != n_triangles || n_triangles != if both_on_border { 1 } else { 2 } {
            return false;
        }
        if na.iter().chain(&nb).any(|&v| self.positions[v as usize].distance(place) > longest) {
            return false;
        }
        [(a, b), (b, a)].iter().all(|&(v, other)| {
            self.around[v as usize]
                .iter()
                .filter(|&&t| !self.has(t, other))
                .all(|&t| self.stays_sound(t, v, place))
        })
    }

    /// Whether triangle `t` keeps its orientation and a good shape when its corner `v` moves to `place`.
    fn stays_sound(&self, t: u32, v: u32, place: DVec3) -> bool {
        let corners = self.triangles[t as usize];
        let before = corners.map(|u| self.positions[u as usize]);
        let after: [DVec3; 3] = std::array::from_fn(|k| if corners[k] == v { place } else { before[k] });
        let [n, m] = [before, after].map(|[p, q, r]| (q - p).cross(r - p));
        let fairness = |[p, q, r]: [DVec3; 3], area: f64| {
            area / (p.distance_squared(q) + q.distance_squared(r) + r.distance_squared(p))
        };
        // The contour has many slivers, whose normals are unreliable: they are only kept from getting much
        // worse.
        let was = fairness(before, n.length());
        let turned = n.dot(m) < if was > 0.05 { 0.3 } else { -0.2 } * n.length() * m.length();
        !turned && fairness(after, m.length()) > (0.7 * was).min(0.08)
    }

    /// Merges `b` into `a` at `place`.
    fn collapse(&mut self, a: u32, b: u32, place: DVec3) {
        self.positions[a as usize] = place;
        self.quadrics[a as usize] = self.quadrics[a as usize].plus(&self.quadrics[b as usize]);
        for t in std::mem::take(&mut self.around[b as usize]) {
            if self.has(t, a) {
                self.alive[t as usize] = false;
                for v in self.triangles[t as usize] {
                    self.around[v as usize].retain(|&u| u != t);
                }
            } else {
                self.triangles[t as usize] = self.triangles[t as usize].map(|v| if v == b { a } else { v });
                self.around[a as usize].push(t);
            }
        }
        self.stamp[b as usize] += 1;
        self.stamp[a as usize] += 1;
        // Other edges of the neighbors keep their cost; only edges at `a` changed.
    }

    fn compact(&self) -> TriMesh {
        let mut number = vec![u32::MAX; self.positions.len()];
        let mut out = TriMesh::default();
        for (t, corners) in self.triangles.iter().enumerate().filter(|(t, _)| self.alive[*t]) {
            debug_assert!(self.alive[t]);
            out.triangles.push(corners.map(|v| {
                if number[v as usize] == u32::MAX {
                    number[v as usize] = out.positions.len() as u32;
                    out.positions.push(self.positions[v as usize]);
                }
                number[v as usize]
            }));
        }
        out
    }
}

/// Relaxes the triangles of a half surface on its sculpt, `n_rounds` times.
pub(crate) fn relax(surface: &mut TriMesh, sculpt: &Sculpt, n_rounds: usize) {
    for _ in 0..n_rounds {
        flip_edges(surface);
        let goals = middles(surface);
        let moved: Vec<DVec3> = (surface.positions.par_iter().zip(goals))
            .map(|(&p, goal)| {
                let normal = sculpt.gradient(p).normalize_or_zero();
                let step = goal - p;
                let mut q = sculpt.project(p + 0.6 * (step - normal * normal.dot(step)));
                q.x = if p.x == 0.0 { 0.0 } else { q.x.max(0.05) };
                q
            })
            .collect();
        let before = std::mem::replace(&mut surface.positions, moved);
        keep_sides(surface, &before);
    }
}

/// Resets the vertices of triangles that flipped, or folded back onto a neighbor, to their position `before`.
fn keep_sides(surface: &mut TriMesh, before: &[DVec3]) {
    let normal = |positions: &[DVec3], t: [u32; 3]| {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        (b - a).cross(c - a)
    };
    // Orientation is taken from vertex normals, since a sliver's own normal is unreliable.
    let mut sides = vec![DVec3::ZERO; before.len()];
    for &t in &surface.triangles {
        t.iter().for_each(|&v| sides[v as usize] += normal(before, t));
    }
    let side = |t: [u32; 3]| {
        t.iter().map(|&v| sides[v as usize].normalize_or_zero()).sum::<DVec3>().normalize_or_zero()
    };
    // Resetting a vertex may fold its neighbors, so a few passes are needed.
    for _ in 0..4 {
        let turned = |t: &&[u32; 3]| normal(&surface.positions, **t).normalize_or_zero().dot(side(**t)) < 0.3;
        let bad: Vec<u32> = surface.triangles.iter().filter(turned).flatten().copied().collect();
        for &v in &bad {
            surface.positions[v as usize] = before[v as usize];
        }
        if bad.is_empty() {
            break;
        }
    }
}

/// Mean of each vertex's neighbors; for border vertices, of those on the border only.
fn middles(surface: &TriMesh) -> Vec<DVec3> {
    let mut sums = vec![(DVec3::ZERO, 0.0); surface.positions.len()];
    for t in &surface.triangles {
        for k in 0..3 {
            for (v, u) in [(t[k], t[(k + 1) % 3]), (t[(k + 1) % 3], t[k])] {
                let (p, q) = (surface.positions[v as usize], surface.positions[u as usize]);
                if p.x != 0.0 || q.x == 0.0 {
                    sums[v as usize].0 += q;
                    sums[v as usize].1 += 1.0;
                }
            }
        }
    }
    sums.iter().zip(&surface.positions).map(|((s, n), p)| if *n > 0.0 { *s / *n } else { *p }).collect()
}

/// Flips every edge whose other diagonal is clearly shorter, where that changes neither topology nor shape.
fn flip_edges(surface: &mut TriMesh) {
    let mut sides: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * surface.triangles.len());
    for (t, c) in surface.triangles.iter().enumerate() {
        sides.extend((0..3).map(|k| ([c[k].min(c[(k + 1) % 3]), c[k].max(c[(k + 1) % 3])], t as u32)));
    }
    sides.sort_unstable();
    let mut edges: Vec<[u32; 2]> = sides.iter().map(|s| s.0).collect();
    edges.dedup();
    let mut touched = vec![false; surface.triangles.len()];
    for pair in sides.windows(2).filter(|w| w[0].0 == w[1].0) {
        let ([a, b], [s, t]) = (pair[0].0, [pair[0].1 as usize, pair[1].1 as usize]);
        let apex = |t: usize| surface.triangles[t].iter().copied().find(|v| *v != a && *v != b);
        let (Some(c), Some(d)) = (apex(s), apex(t)) else { continue };
        let [p, q, r, u] = [a, b, c, d].map(|v| surface.positions[v as usize]);
        if touched[s] || touched[t] || r.distance(u) > 0.9 * p.distance(q) {
            continue;
        }
        if edges.binary_search(&[c.min(d), c.max(d)]).is_ok() || (r.x == 0.0 && u.x == 0.0) {
            continue;
        }
        // `s` is wound a, b, c or b, a, c.
        let k = surface.triangles[s].iter().position(|&v| v == a).unwrap_or(0);
        let forward = surface.triangles[s][(k + 1) % 3] == b;
        let (first, second) = if forward { ([c, a, d], [d, b, c]) } else { ([c, d, a], [d, c, b]) };
        let normal = |t: [u32; 3]| {
            let [x, y, z] = t.map(|v| surface.positions[v as usize]);
            (y - x).cross(z - x).normalize_or_zero()
        };
        let old = normal(surface.triangles[s]) + normal(surface.triangles[t]);
        let old_bend = normal(surface.triangles[s]).dot(normal(surface.triangles[t]));
        let new_bend = normal(first).dot(normal(second));
        if normal(first).dot(old) < 0.5 || normal(second).dot(old) < 0.5 || new_bend < old_bend.min(0.9) {
            continue;
        }
        (touched[s], touched[t]) = (true, true);
        (surface.triangles[s], surface.triangles[t]) = (first, second);
    }
}
