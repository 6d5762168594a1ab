//! A control cage of labeled quads: one half is built from strips and rings, then mirrored.
//!
//! Positions are points of the *limit surface*, in millimeters; `fit` in [`super::subdivide`] finds the
//! control points for them.

use glam::DVec3;
use std::collections::BTreeMap;

/// The anatomical part that a face of the skin belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// Hairy part of the head.
    Scalp,
    /// Between hairline and brows.
    Forehead,
    /// Where the eyebrow sits.
    Brow,
    /// Outer nose.
    Nose,
    /// From the wing of the nose to the cheek.
    NoseCrease,
    /// Transition from the skin into a nostril.
    NostrilRim,
    /// Lining of a nostril.
    Nostril,
    /// Side of the face.
    Cheek,
    /// Chin with the groove under the lower lip.
    Chin,
    /// Skin around the red of the lips.
    AroundMouth,
    /// Lower border of the jaw.
    Jaw,
    /// Between the jaw's two sides.
    UnderChin,
    /// Below jaw and chin.
    Neck,
    /// Auricle.
    Ear,
    /// Upper lid up to its fold.
    LidUpper,
    /// Lower lid.
    LidLower,
    /// From the fold of the upper lid to the brow.
    OrbitUpper,
    /// From the lower lid to the cheek.
    OrbitLower,
    /// Behind the lids, around the eyeball.
    EyeSocket,
    /// Red of the upper lip.
    LipUpper,
    /// Red of the lower lip.
    LipLower,
    /// Where the upper lip lies on the lower.
    ContactUpper,
    /// Where the lower lip lies on the upper.
    ContactLower,
    /// Lining of the mouth.
    MouthBag,
}

/// Side of the body that a face lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The character's left, +X.
    Left,
    /// The character's right.
    Right,
}

/// Labeled quads over points of the limit surface.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cage {
    /// Points of the limit surface.
    pub points: Vec<DVec3>,
    /// Quads.
    pub faces: Vec<[u32; 4]>,
    /// Per face.
    pub labels: Vec<(Label, Side)>,
    /// Chains of neighbors, in order. Closed ones do not repeat their first vertex.
    pub loops: BTreeMap<String, Chain>,
    /// Per vertex, its mirror image.
    pub mirror: Vec<u32>,
}

/// Vertices that are consecutive along edges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    /// In order.
    pub vertices: Vec<u32>,
    /// The last is joined to the first.
    pub closed: bool,
}

impl Cage {
    /// Adds points and returns their indices.
    pub fn add(&mut self, points: &[DVec3]) -> Vec<u32> {
        let first = self.points.len() as u32;
        self.points.extend_from_slice(points);
        (first..self.points.len() as u32).collect()
    }

    /// Adds one quad.
    pub fn quad(&mut self, corners: [u32; 4], label: Label) {
        self.faces.push(corners);
        self.labels.push((label, Side::Left));
    }

    /// Quads between two rows with the same number of vertices.
    pub fn strip(&mut self, a: &[u32], b: &[u32], label: impl Fn(usize) -> Label) {
        assert_eq!(a.len(), b.len(), "rows of a strip");
        for i in 1..a.len() {
            self.quad([a[i - 1], a[i], b[i], b[i - 1]], label(i - 1));
        }
    }

    /// Quads between two closed rings.
    pub fn ring(&mut self, a: &[u32], b: &[u32], label: impl Fn(usize) -> Label) {
        let close = |r: &[u32]| r.iter().chain(&r[..1]).copied().collect::<Vec<_>>();
        self.strip(&close(a), &close(b), label);
    }

    /// Fills a ring of `2 * (columns + rows)` vertices with a grid that starts at ring vertex 0; `inner` are
    /// the interior points, row by row. Ring vertices run along the first row, down the last column, back
    /// along the last row and up the first column.
    pub fn cap(&mut self, ring: &[u32], columns: usize, inner: &[DVec3], label: Label) {
        let rows = ring.len() / 2 - columns;
        let inner = self.add(inner);
        let at = |row: usize, column: usize| match (row, column) {
            (0, c) => ring[c],
            (r, c) if c == columns => ring[columns + r],
            (r, c) if r == rows => ring[2 * columns + rows - c],
            (r, 0) => ring[ring.len() - r],
            (r, c) => inner[(r - 1) * (columns - 1) + c - 1],
        };
        for r in 0..rows {
            for c in 0..columns {
                self.quad([at(r, c), at(r, c + 1), at(r + 1, c + 1), at(r + 1, c)], label);
            }
        }
    }

    /// Stores a named chain of vertices.
    pub fn name(&mut self, name: &str, vertices: &[u32], closed: bool) {
        self.loops.insert(name.into(), Chain { vertices: vertices.to_vec(), closed });
    }
}

/// The half cage (x >= 0) and its mirror image, joined at x = 0, with outward winding.
///
/// Chains called `..._left` get a right counterpart; other chains, which end on the midline, continue on the
/// other side.
pub fn whole(half: &Cage) -> Cage {
    let mut cage = half.clone();
    cage.mirror = Vec::with_capacity(2 * half.points.len());
    for (v, p) in half.points.iter().enumerate() {
        if p.x == 0.0 {
            cage.mirror.push(v as u32);
        } else {
            cage.mirror.push(cage.points.len() as u32);
            cage.points.push(DVec3::new(-p.x, p.y, p.z));
        }
    }
    let mut back: Vec<u32> = (0..cage.points.len() as u32).collect();
    for v in 0..half.points.len() {
        back[cage.mirror[v] as usize] = v as u32;
    }
    cage.mirror.extend_from_slice(&back[half.points.len()..]);
    orient(&mut cage.faces, half.points.len());
    for f in 0..half.faces.len() {
        let [a, b, c, d] = cage.faces[f].map(|v| cage.mirror[v as usize]);
        cage.faces.push([d, c, b, a]);
        cage.labels.push((half.labels[f].0, Side::Right));
    }
    if volume(&cage) < 0.0 {
        cage.faces.iter_mut().for_each(|f| f.reverse());
    }
    cage.loops = mirrored_loops(&cage);
    cage
}

/// Orients all faces of a closed surface outward.
pub fn turn_outwards(cage: &mut Cage) {
    orient(&mut cage.faces, cage.points.len());
    if volume(cage) < 0.0 {
        cage.faces.iter_mut().for_each(|f| f.reverse());
    }
}

/// Smooths broad regions (cheeks, forehead, cranium, neck) and keeps features and the border. Each of
/// `rounds` steps combines a bi-Laplacian step, which removes unevenness and keeps curvature, with a
/// tangential Laplacian step, which evens out the quads.
pub fn smooth(cage: &mut Cage, rounds: usize) {
    let n = cage.points.len();
    let mut neighbors = vec![Vec::new(); n];
    for face in &cage.faces {
        (0..4).for_each(|i| neighbors[face[i] as usize].push(face[(i + 1) % 4]));
    }
    let loose = looseness(cage);
    let umbrella = |x: &[DVec3]| -> Vec<DVec3> {
        let mean =
            |v: usize| neighbors[v].iter().map(|&w| x[w as usize]).sum::<DVec3>() / neighbors[v].len() as f64;
        (0..n).map(|v| mean(v) - x[v]).collect()
    };
    for _ in 0..rounds {
        let first = umbrella(&cage.points);
        let second = umbrella(&first);
        let normals = normals(cage);
        for v in 0..n {
            let within = first[v] - normals[v] * first[v].dot(normals[v]);
            cage.points[v] += loose[v] * (0.15 * within - 0.35 * second[v]);
        }
    }
}

/// Unit normals of the vertices, faces weighted by area.
pub fn normals(cage: &Cage) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; cage.points.len()];
    for face in &cage.faces {
        let [a, b, c, d] = face.map(|v| cage.points[v as usize]);
        let area = (c - a).cross(d - b);
        face.iter().for_each(|&v| normals[v as usize] += area);
    }
    normals.into_iter().map(|n| n.normalize_or_zero()).collect()
}

/// How freely smoothing moves each vertex, 0 to 1.
fn looseness(cage: &Cage) -> Vec<f64> {
    let mut loose = vec![1.0f64; cage.points.len()];
    let mut at_ear = vec![[false; 2]; cage.points.len()];
    for (face, (label, _)) in cage.faces.iter().zip(&cage.labels) {
        for &v in face {
            loose[v as usize] = loose[v as usize].min(label_looseness(*label));
            at_ear[v as usize][usize::from(*label == Label::Ear)] = true;
        }
    }
    // The ear keeps its shape, but its base on the head is smoothed with the head.
    (0..loose.len()).filter(|&v| at_ear[v] == [true; 2]).for_each(|v| loose[v] = 0.6);
    let fixed = |name: &str| name == "neck_border" || name.contains("_edge");
    for v in cage.loops.iter().filter(|(name, _)| fixed(name)).flat_map(|(_, c)| &c.vertices) {
        loose[*v as usize] = 0.0;
    }
    loose
}

/// How freely smoothing moves the vertices of a label's faces.
fn label_looseness(label: Label) -> f64 {
    match label {
        Label::Scalp | Label::Neck => 1.0,
        Label::Cheek | Label::Forehead => 0.8,
        Label::Brow | Label::Chin | Label::Jaw => 0.3,
        Label::UnderChin => 0.45,
        Label::AroundMouth | Label::NoseCrease => 0.25,
        Label::LidLower | Label::OrbitLower => 0.5,
        Label::LidUpper | Label::OrbitUpper => 0.1,
        _ => 0.0,
    }
}

/// Orients faces consistently with their neighbors.
fn orient(faces: &mut [[u32; 4]], n_vertices: usize) {
    let mut of_vertex = vec![Vec::new(); n_vertices];
    for (f, face) in faces.iter().enumerate() {
        face.iter().for_each(|&v| of_vertex[v as usize].push(f));
    }
    let mut done = vec![false; faces.len()];
    let mut queue = vec![0];
    done[0] = true;
    while let Some(f) = queue.pop() {
        for i in 0..4 {
            let (a, b) = (faces[f][i], faces[f][(i + 1) % 4]);
            for &g in &of_vertex[a as usize] {
                if done[g] || !faces[g].contains(&b) {
                    continue;
                }
                if (0..4).any(|j| faces[g][j] == a && faces[g][(j + 1) % 4] == b) {
                    faces[g].reverse();
                }
                done[g] = true;
                queue.push(g);
            }
        }
    }
}

fn volume(cage: &Cage) -> f64 {
    let sixfold = |f: &[u32; 4]| {
        let [a, b, c, d] = f.map(|v| cage.points[v as usize]);
        a.dot(b.cross(c)) + a.dot(c.cross(d))
    };
    cage.faces.iter().map(sixfold).sum::<f64>() / 6.0
}

fn mirrored_loops(cage: &Cage) -> BTreeMap<String, Chain> {
    let mut loops = BTreeMap::new();
    for (name, chain) in &cage.loops {
        let other: Vec<u32> = chain.vertices.iter().map(|&v| cage.mirror[v as usize]).collect();
        if name.contains("left") {
            loops.insert(name.replace("left", "right"), Chain { vertices: other, closed: chain.closed });
            loops.insert(name.clone(), chain.clone());
        } else {
            // From the right over the midline to the left; a loop that crosses the midline twice is closed.
            let on_axis = |v: Option<&u32>| v.is_some_and(|&v| cage.mirror[v as usize] == v);
            let closed = on_axis(chain.vertices.last());
            let last = other.len() - usize::from(closed);
            let mut vertices: Vec<u32> = other[1..last].iter().rev().copied().collect();
            vertices.extend_from_slice(&chain.vertices);
            loops.insert(name.clone(), Chain { vertices, closed });
        }
    }
    loops
}
