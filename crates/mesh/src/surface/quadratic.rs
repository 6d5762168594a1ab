//! Subdivision by local quadratics: moving least squares.
//!
//! Around each vertex and each edge, the vertices of two rings are fitted by a quadratic over the tangent
//! plane, weighted by distance. Its value there is a weighted sum of the vertices, with weights that depend
//! on the given positions only, so it applies to any field, such as another pose. Quadratics are reproduced
//! whatever the triangles are: unlike schemes whose weights are fixed by valence, it neither shrinks what is
//! convex nor leaves ripples where the diagonals of quads alternate. A fit through fewer coefficients than
//! vertices also smooths the facets of coarse meshes.
//!
//! Held vertices stay where they are, and edges between them get the quadratic through their ends. Vertices
//! that face elsewhere (the other side of a lip, a sharp edge) are left out; where too few remain, a vertex
//! stays and an edge gets its midpoint. On a border, and on edges of more than two triangles, vertices stay
//! and the curve through the border's own vertices counts (four points: -1/16, 9/16, 9/16, -1/16); it ends at
//! corners, so that cards keep their outline.

use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Least cosine between the normals of a vertex and of the place that it shapes.
const FACING: f64 = 0.4;

/// Number of vertices that a quadratic needs: more than its six coefficients.
const ENOUGH: usize = 7;

/// The square of the distance at which weights fall to 1/e, in edges: of two rings, and of one ring if the
/// ends of an edge are held; and the weight of those ends.
const WIDE: f64 = 2.0;
const NEAR: f64 = 1.2;
const ENDS: f64 = 30.0;

/// Curvature is damped by this, so that long thin triangles do not overshoot.
const DAMPED: f64 = 1e-3;

/// Fits whose absolute weights sum to more are extrapolations.
const STEEPEST: f64 = 2.5;

/// Least cosine between two border edges that form a smooth curve.
const STRAIGHT: f64 = 0.64;

/// Vertices and weights.
type Parts = Vec<(u32, f32)>;

/// A mesh to be subdivided.
struct Mesh<'a> {
    positions: &'a [Vec3],
    normals: Vec<DVec3>,
    around: Vec<Vec<u32>>,
    border: Vec<Vec<u32>>,
    held: &'a [f32],
}

/// What every old vertex becomes, and for each edge, in order, its ends and its middle. Corners are below the
/// number of positions; `held` is 1 where vertices stay, 0 where they are smoothed.
pub(crate) fn parts(
    positions: &[Vec3],
    triangles: &[[u32; 3]],
    held: &[f32],
) -> (Vec<Parts>, Vec<([u32; 2], Parts)>) {
    let mut counts: BTreeMap<[u32; 2], u32> = BTreeMap::new();
    let mut normals = vec![DVec3::ZERO; positions.len()];
    let at = |v: u32| positions[v as usize].as_dvec3();
    for &[a, b, c] in triangles {
        let normal = (at(b) - at(a)).cross(at(c) - at(a));
        for (p, q) in [(a, b), (b, c), (c, a)] {
            *counts.entry([p.min(q), p.max(q)]).or_default() += 1;
            normals[p as usize] += normal;
        }
    }
    normals.iter_mut().for_each(|n| *n = n.normalize_or_zero());
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); positions.len()];
    let mut border: Vec<Vec<u32>> = vec![Vec::new(); positions.len()];
    for (&[a, b], &count) in &counts {
        for (v, w) in [(a, b), (b, a)] {
            around[v as usize].push(w);
            if count != 2 {
                border[v as usize].push(w);
            }
        }
    }
    let mesh = Mesh { positions, normals, around, border, held };
    let old = (0..positions.len() as u32).into_par_iter().with_min_len(512).map(|v| mesh.vertex(v));
    let edges: Vec<([u32; 2], u32)> = counts.into_iter().collect();
    let middle = |&(edge, count): &([u32; 2], u32)| match count {
        2 => (edge, mesh.middle(edge)),
        _ => (edge, mesh.on_border(edge)),
    };
    (old.collect(), edges.par_iter().with_min_len(512).map(middle).collect())
}

impl Mesh<'_> {
    fn at(&self, v: u32) -> DVec3 {
        self.positions[v as usize].as_dvec3()
    }

    fn held(&self, v: u32) -> f32 {
        self.held.get(v as usize).copied().unwrap_or(0.0).clamp(0.0, 1.0)
    }

    /// Mean length of the edges of a vertex.
    fn edge(&self, v: u32) -> f64 {
        let around = &self.around[v as usize];
        around.iter().map(|&w| self.at(w).distance(self.at(v))).sum::<f64>() / around.len().max(1) as f64
    }

    /// Vertices within two rings of some, ascending.
    fn two_rings(&self, of: &[u32]) -> Vec<u32> {
        let mut all: Vec<u32> = of.to_vec();
        for &v in of {
            for &w in &self.around[v as usize] {
                all.push(w);
                all.extend(&self.around[w as usize]);
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What a vertex becomes.
    fn vertex(&self, v: u32) -> Parts {
        let (held, stays) = (self.held(v), vec![(v, 1.0)]);
        if held == 1.0 || !self.border[v as usize].is_empty() {
            return stays;
        }
        let normal = self.normals[v as usize];
        match self.fit(self.at(v), normal, self.edge(v), &self.two_rings(&[v]), None) {
            Some(smooth) => mixed(smooth, &stays, held),
            None => stays,
        }
    }

    /// The middle of an inner edge.
    fn middle(&self, [a, b]: [u32; 2]) -> Parts {
        let plain = vec![(a, 0.5), (b, 0.5)];
        let middle = 0.5 * (self.at(a) + self.at(b));
        let normal = (self.normals[a as usize] + self.normals[b as usize]).normalize_or_zero();
        let held = 0.5 * (self.held(a) + self.held(b));
        let through = |held: f32| {
            let mut ring: Vec<u32> = self.around[a as usize].clone();
            ring.extend(self.around[b as usize].iter().filter(|w| !self.around[a as usize].contains(w)));
            let length = self.at(a).distance(self.at(b));
            let found = (held > 0.0).then(|| self.fit(middle, normal, length, &ring, Some([a, b])));
            found.flatten().unwrap_or_else(|| plain.clone())
        };
        let length = 0.5 * (self.edge(a) + self.edge(b));
        match self.fit(middle, normal, length, &self.two_rings(&[a, b]), None) {
            Some(smooth) => mixed(smooth, &through(held), held),
            None => through(1.0),
        }
    }

    /// The middle of a border edge, on the curve through the border.
    fn on_border(&self, [a, b]: [u32; 2]) -> Parts {
        let mut parts = vec![(a, 0.5), (b, 0.5)];
        for (k, (p, q)) in [(a, b), (b, a)].into_iter().enumerate() {
            let [one, two] = self.border[p as usize][..] else { continue };
            let before = if one == q { two } else { one };
            let (from, to) = (self.at(p) - self.at(before), self.at(q) - self.at(p));
            if before != q && from.dot(to) > STRAIGHT * from.length() * to.length() {
                parts[k].1 += 1.0 / 16.0;
                parts.push((before, -1.0 / 16.0));
            }
        }
        parts
    }

    /// The value at a place of the quadratic fitted to some vertices; `None` where there is none.
    fn fit(
        &self,
        place: DVec3,
        normal: DVec3,
        length: f64,
        vertices: &[u32],
        ends: Option<[u32; 2]>,
    ) -> Option<Parts> {
        let is_end = |v: u32| ends.is_some_and(|ends| ends.contains(&v));
        let faces = |v: &u32| is_end(*v) || self.normals[*v as usize].dot(normal) > FACING;
        let vertices: Vec<u32> = vertices.iter().copied().filter(faces).collect();
        if vertices.len() < ENOUGH || normal == DVec3::ZERO {
            return None;
        }
        let (u, v) = normal.any_orthonormal_pair();
        let wide = if ends.is_some() { NEAR } else { WIDE };
        let row = |&w: &u32| {
            let off = (self.at(w) - place) / length;
            let (x, y) = (off.dot(u), off.dot(v));
            let weight = (-(x * x + y * y) / wide).exp() * if is_end(w) { ENDS } else { 1.0 };
            ([1.0, x, y, x * x, x * y, y * y], weight)
        };
        let rows: Vec<([f64; 6], f64)> = vertices.iter().map(row).collect();
        let z = at_origin(&rows)?;
        let value = |(row, weight): &([f64; 6], f64)| {
            (row.iter().zip(&z).map(|(r, z)| r * z).sum::<f64>() * weight) as f32
        };
        let parts: Parts = vertices.iter().copied().zip(rows.iter().map(value)).collect();
        let steep: f32 = parts.iter().map(|(_, w)| w.abs()).sum();
        if steep.is_nan() || f64::from(steep) >= STEEPEST {
            return None;
        }
        // Weights sum to one up to rounding; constants must be kept.
        let sum: f32 = parts.iter().map(|(_, w)| w).sum();
        Some(parts.into_iter().map(|(v, w)| (v, w / sum)).collect())
    }
}

/// `(1 - share) a + share b`.
fn mixed(a: Parts, b: &[(u32, f32)], share: f32) -> Parts {
    if share == 0.0 {
        return a;
    }
    let mut all: BTreeMap<u32, f32> = BTreeMap::new();
    a.iter().for_each(|(v, w)| *all.entry(*v).or_default() += w * (1.0 - share));
    b.iter().for_each(|(v, w)| *all.entry(*v).or_default() += w * share);
    all.into_iter().collect()
}

/// The first column of the inverse of the normal matrix of a weighted quadratic fit, by blocks of three.
fn at_origin(rows: &[([f64; 6], f64)]) -> Option<[f64; 6]> {
    let mut g = [[0.0; 6]; 6];
    for (row, weight) in rows {
        for (i, line) in g.iter_mut().enumerate() {
            line.iter_mut().zip(row).for_each(|(g, r)| *g += row[i] * r * weight);
        }
    }
    let trace: f64 = (0..6).map(|i| g[i][i]).sum();
    (3..6).for_each(|i| g[i][i] += DAMPED * trace / 6.0);
    let block = |r: usize, c: usize| {
        DMat3::from_cols_array_2d(&[0, 1, 2].map(|j| [0, 1, 2].map(|i| g[3 * r + i][3 * c + j])))
    };
    // [A B; B^T D]: the Schur complement of D.
    let (a, b, d) = (block(0, 0), block(0, 1), block(1, 1));
    let d = d.inverse();
    let schur = a - b * d * b.transpose();
    let top = schur.inverse() * DVec3::X;
    let bottom = -(d * (b.transpose() * top));
    let z = [top.x, top.y, top.z, bottom.x, bottom.y, bottom.z];
    z.iter().all(|x| x.is_finite()).then_some(z)
}

#[cfg(test)]
mod tests {
    use super::super::subdivide::Subdivision;
    use super::*;

    /// A bowl over a grid whose diagonals alternate, which makes every other vertex have eight neighbors.
    fn bowl(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let at = |k: u32| {
            let (x, y) = ((k % n) as f32 / (n - 1) as f32 - 0.5, (k / n) as f32 / (n - 1) as f32 - 0.5);
            Vec3::new(x, y, 0.8 * (x * x + y * y))
        };
        let cell = |k: u32| {
            let (x, y) = (k % (n - 1), k / (n - 1));
            let [a, b, c, d] = [y * n + x, y * n + x + 1, (y + 1) * n + x + 1, (y + 1) * n + x];
            if (x + y) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
        };
        ((0..n * n).map(at).collect(), (0..(n - 1) * (n - 1)).flat_map(cell).collect())
    }

    /// Loop's scheme leaves ripples on the bowl; this one does not. Held vertices stay to the bit.
    #[test]
    fn alternating_diagonals_leave_no_ripples() {
        let (x, triangles) = bowl(17);
        let ripple = |step: fn(&[Vec3], &[[u32; 3]]) -> Subdivision| {
            let (mut y, mut t) = (x.clone(), triangles.clone());
            for _ in 0..2 {
                let step = step(&y, &t);
                (y, t) = (step.apply(&y), step.triangles);
            }
            let inside = y.iter().filter(|p| p.x.abs() < 0.3 && p.y.abs() < 0.3);
            let off: Vec<f32> = inside.map(|p| p.z - 0.8 * (p.x * p.x + p.y * p.y)).collect();
            let mean = off.iter().sum::<f32>() / off.len() as f32;
            (off.iter().map(|o| (o - mean).powi(2)).sum::<f32>() / off.len() as f32).sqrt()
        };
        let before = ripple(|x, t| Subdivision::prepare(x.len(), t));
        let after = ripple(|x, t| Subdivision::fitted(x, t, &[]));
        assert!(after < 0.1 * before, "{after} against {before}");
        let step = Subdivision::fitted(&x, &triangles, &vec![1.0; x.len()]);
        assert_eq!(&step.apply(&x)[..x.len()], x.as_slice());
        assert_eq!(step.apply(&vec![1.0f32; x.len()]).iter().filter(|w| (**w - 1.0).abs() > 1e-5).count(), 0);
    }

    /// Two lips that touch keep touching, and a card keeps its corners and its area.
    #[test]
    fn closed_slits_stay_closed_and_cards_keep_their_outline() {
        // Two rows of quads that meet at z = 0 and curve away from each other.
        let lip = |sign: f32, first: u32| {
            let at = move |k: u32| {
                let (x, y) = ((k % 9) as f32, (k / 9) as f32);
                Vec3::new(x, 0.3 * (x - 4.0).powi(2) * 0.1, sign * y * y * 0.5)
            };
            let cell = move |k: u32| {
                let a = first + (k / 8) * 9 + k % 8;
                [[a, a + 1, a + 10], [a, a + 10, a + 9]]
            };
            ((0..27).map(at).collect::<Vec<_>>(), (0..16).flat_map(cell).collect::<Vec<_>>())
        };
        let ((upper, t), (lower, u)) = (lip(1.0, 0), lip(-1.0, 27));
        let (x, t) = ([upper, lower].concat(), [t, u].concat());
        let step = Subdivision::fitted(&x, &t, &vec![1.0; x.len()]);
        let fine = step.apply(&x);
        let on_seam = |p: &&Vec3| p.z.abs() < 1e-6;
        let seam: Vec<&Vec3> = fine.iter().filter(on_seam).collect();
        assert_eq!(seam.len(), 2 * 17, "both lips have 17 points on the line where they meet");
        let card = [Vec3::ZERO, Vec3::X, Vec3::new(1.0, 2.0, 0.0), Vec3::new(0.0, 2.0, 0.0)];
        let mut step = Subdivision::fitted(&card, &[[0, 1, 2], [0, 2, 3]], &[]);
        let mut y = step.apply(&card);
        step = Subdivision::fitted(&y, &step.triangles, &[]);
        y = step.apply(&y);
        let area = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| y[v as usize]);
            0.5 * (b - a).cross(c - a).length()
        };
        let sum: f32 = step.triangles.iter().map(area).sum();
        assert!((sum - 2.0).abs() < 1e-5 && y[..4] == card, "{sum}");
    }

    #[test]
    fn degenerate_meshes_get_plain_midpoints() {
        let x = [Vec3::ZERO, Vec3::ZERO, Vec3::X, Vec3::splat(f32::NAN)];
        let step = Subdivision::fitted(&x, &[[0, 1, 2], [0, 1, 3], [2, 2, 1]], &[]);
        let y = step.apply(&[0.0, 1.0, 2.0, 3.0f32]);
        assert!(y.iter().all(|v| v.is_finite() && (0.0..=3.0).contains(v)), "{y:?}");
    }
}
