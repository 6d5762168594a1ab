//! Catmull-Clark subdivision of quads, its limit positions, and control points for given limit positions.
//!
//! One step adds a point to each face and each edge and moves the old points [Catmull78, pp. 350-355]; the
//! border is a cubic B-spline. New order: old vertices, then edges (ascending by their ends), then faces, so
//! a vertex of the cage always keeps its index. Limit of an inner vertex with n faces: (n^2 v + 4 sum
//! of neighbors + sum of opposite corners) / (n (n + 5)) [Halstead93, pp. 35-44]; of a border vertex: (a + 4
//! v + b) / 6.

use super::cage::{Cage, Chain};
use glam::DVec3;
use risorius_mesh::{Edges, Polygons};
use std::collections::BTreeMap;

/// Quads as faces of any number of corners.
pub fn polygons(quads: &[[u32; 4]]) -> Polygons {
    let mut faces = Polygons::default();
    quads.iter().for_each(|q| faces.push(q));
    faces
}

/// Adjacency for the subdivision rules.
struct Rings {
    edges: Edges,
    border: Vec<bool>,
    /// Neighbors along edges; on the border only those along the border.
    neighbors: Vec<Vec<u32>>,
    /// Corners across each face.
    opposite: Vec<Vec<u32>>,
    valence: Vec<usize>,
}

fn rings(n: usize, faces: &[[u32; 4]]) -> Rings {
    let edges = Edges::of(&polygons(faces));
    let mut border = vec![false; n];
    for e in edges.boundary() {
        edges.vertices(e).iter().for_each(|&v| border[v as usize] = true);
    }
    let (mut neighbors, mut opposite) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for e in 0..edges.len() {
        let [a, b] = edges.vertices(e);
        let on_border = edges.uses(e).len() == 1;
        for (v, w) in [(a, b), (b, a)] {
            if on_border || !border[v as usize] {
                neighbors[v as usize].push(w);
            }
        }
    }
    let mut valence = vec![0; n];
    for f in faces {
        for i in 0..4 {
            opposite[f[i] as usize].push(f[(i + 2) % 4]);
            valence[f[i] as usize] += 1;
        }
    }
    Rings { edges, border, neighbors, opposite, valence }
}

fn sum(points: &[DVec3], of: &[u32]) -> DVec3 {
    of.iter().map(|&v| points[v as usize]).sum()
}

/// The points of the limit surface for control points `points`.
pub fn limit(points: &[DVec3], faces: &[[u32; 4]]) -> Vec<DVec3> {
    limit_of(points, &rings(points.len(), faces))
}

fn limit_of(points: &[DVec3], rings: &Rings) -> Vec<DVec3> {
    let at = |v: usize| {
        let (p, along) = (points[v], sum(points, &rings.neighbors[v]));
        if rings.border[v] {
            return (4.0 * p + along) / 6.0;
        }
        let n = rings.valence[v] as f64;
        (n * n * p + 4.0 * along + sum(points, &rings.opposite[v])) / (n * (n + 5.0))
    };
    (0..points.len()).map(at).collect()
}

/// Control points whose limit interpolates `targets`, by `rounds` of adding the residual.
pub fn fit(targets: &[DVec3], faces: &[[u32; 4]], rounds: usize) -> Vec<DVec3> {
    let rings = rings(targets.len(), faces);
    let mut points = targets.to_vec();
    for _ in 0..rounds {
        let limit = limit_of(&points, &rings);
        points.iter_mut().zip(targets.iter().zip(&limit)).for_each(|(p, (t, l))| *p += *t - *l);
    }
    points
}

/// One step: four quads for each quad; chains and mirror images are updated.
pub fn subdivide(cage: &Cage) -> Cage {
    let (n, n_faces) = (cage.points.len(), cage.faces.len());
    let rings = rings(n, &cage.faces);
    let face_point: Vec<DVec3> = cage.faces.iter().map(|f| 0.25 * sum(&cage.points, f)).collect();
    let edge_number = |a: u32, b: u32| find(&rings.edges, a, b);
    let mut points = Vec::with_capacity(n + rings.edges.len() + n_faces);
    for v in 0..n {
        let (p, k) = (cage.points[v], rings.valence[v] as f64);
        let along = sum(&cage.points, &rings.neighbors[v]);
        points.push(if rings.border[v] {
            (6.0 * p + along) / 8.0
        } else {
            // F / n + 2 R / n + (n - 3) v / n, with the face points written out.
            let faces = 0.25 * (k * p + 2.0 * along + sum(&cage.points, &rings.opposite[v]));
            (faces / k + (k * p + along) / k + (k - 3.0) * p) / k
        });
    }
    for e in 0..rings.edges.len() {
        let ends = sum(&cage.points, &rings.edges.vertices(e));
        points.push(match rings.edges.uses(e) {
            [a, b] => 0.25 * (ends + face_point[a.face as usize] + face_point[b.face as usize]),
            _ => 0.5 * ends,
        });
    }
    points.extend_from_slice(&face_point);
    let first_face = (n + rings.edges.len()) as u32;
    let mut next = Cage { points, ..Cage::default() };
    for (f, face) in cage.faces.iter().enumerate() {
        for i in 0..4 {
            let (before, v, after) = (face[(i + 3) % 4], face[i], face[(i + 1) % 4]);
            let (out, back) = (n as u32 + edge_number(v, after), n as u32 + edge_number(before, v));
            next.faces.push([v, out, first_face + f as u32, back]);
            next.labels.push(cage.labels[f]);
        }
    }
    next.loops =
        cage.loops.iter().map(|(name, c)| (name.clone(), refine(c, n as u32, edge_number))).collect();
    next.mirror = mirror(cage, &rings.edges, edge_number);
    next
}

fn find(edges: &Edges, a: u32, b: u32) -> u32 {
    let wanted = [a.min(b), a.max(b)];
    let (mut low, mut high) = (0, edges.len());
    while low < high {
        let middle = (low + high) / 2;
        if edges.vertices(middle) < wanted { low = middle + 1 } else { high = middle }
    }
    low as u32
}

fn refine(chain: &Chain, n: u32, edge_number: impl Fn(u32, u32) -> u32) -> Chain {
    let count = chain.vertices.len();
    let mut vertices = Vec::with_capacity(2 * count);
    for i in 0..count {
        vertices.push(chain.vertices[i]);
        if i + 1 < count || chain.closed {
            vertices.push(n + edge_number(chain.vertices[i], chain.vertices[(i + 1) % count]));
        }
    }
    Chain { vertices, closed: chain.closed }
}

fn mirror(cage: &Cage, edges: &Edges, edge_number: impl Fn(u32, u32) -> u32) -> Vec<u32> {
    let n = cage.points.len() as u32;
    let mut mirror = cage.mirror.clone();
    for e in 0..edges.len() {
        let [a, b] = edges.vertices(e).map(|v| cage.mirror[v as usize]);
        mirror.push(n + edge_number(a, b));
    }
    let sorted = |mut f: [u32; 4]| {
        f.sort_unstable();
        f
    };
    let number: BTreeMap<[u32; 4], u32> = (0..).zip(&cage.faces).map(|(i, f)| (sorted(*f), i)).collect();
    let first = mirror.len() as u32;
    mirror.extend(cage.faces.iter().map(|f| first + number[&sorted(f.map(|v| cage.mirror[v as usize]))]));
    mirror
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_control_points_pass_their_targets() {
        let corner = |i: u32| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2));
        let cube: Vec<DVec3> = (0..8).map(corner).collect();
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let control = fit(&cube, &faces, 60);
        for (p, t) in limit(&control, &faces).iter().zip(&cube) {
            assert!(p.distance(*t) < 1e-9);
        }
        // Subdividing does not move the limit.
        let cage = Cage {
            points: control,
            faces: faces.to_vec(),
            labels: vec![(super::super::cage::Label::Nose, super::super::cage::Side::Left); 6],
            mirror: (0..8).collect(),
            ..Cage::default()
        };
        let finer = subdivide(&cage);
        assert_eq!(finer.points.len(), 8 + 12 + 6);
        for (p, t) in limit(&finer.points, &finer.faces).iter().zip(&cube) {
            assert!(p.distance(*t) < 1e-9);
        }
    }
}
