//! The neutral head prepared for shape generation: millimeters, all parts in one list, adjacency, distances
//! along the skin.
//!
//! Distances are measured along edges and diagonals of the quads (Dijkstra), so that the upper lip is far
//! from the lower lip and the lids are far from each other although they nearly touch in space.

use crate::landmarks::NAMES;
use crate::skin::{Eyeball, NeutralHead};
use glam::DVec3;
use risorius_mesh::Bvh;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Millimeters in a meter.
pub const MM: f64 = 1e3;

/// A displacement for every vertex of every part, in mm.
pub type Field = Vec<DVec3>;

/// The prepared head.
pub struct Ground<'a> {
    head: &'a NeutralHead,
    /// All parts one after another, in mm.
    pub points: Vec<DVec3>,
    /// Range of each part in `points`.
    pub parts: Vec<Range<usize>>,
    /// Number of vertices of the skin, which comes first.
    pub n_skin: usize,
    /// Triangles of the skin.
    pub triangles: Vec<[u32; 3]>,
    /// Neighbors of skin vertices along edges, with the weights of a length-aware Laplacian.
    pub edges: Vec<Vec<(u32, f64)>>,
    /// Area around each skin vertex, mm^2.
    pub area: Vec<f64>,
    /// Neighbors along edges and diagonals with their distance.
    near: Vec<Vec<(u32, f64)>>,
    /// Mirror image of every vertex.
    pub mirror: Vec<u32>,
}

impl<'a> Ground<'a> {
    /// Prepares `head`.
    pub fn prepare(head: &'a NeutralHead) -> Self {
        let mut points = Vec::new();
        let mut parts = Vec::new();
        for part in &head.parts {
            parts.push(points.len()..points.len() + part.positions.len());
            points.extend(part.positions.iter().map(|p| *p * MM));
        }
        let skin = &head.parts[0];
        let n_skin = skin.positions.len();
        let triangles = skin.faces.triangulated();
        let mirror = mirror(head, &points, &parts);
        let (area, edges, near) = neighbors(&points[..n_skin], &skin.faces);
        Self { head, points, parts, n_skin, triangles, edges, area, near, mirror }
    }

    /// The zero displacement field.
    pub fn still(&self) -> Field {
        vec![DVec3::ZERO; self.points.len()]
    }

    /// The vertices of the part called `name`; none when the head has no such part.
    pub fn part(&self, name: &str) -> Range<usize> {
        let found = self.head.parts.iter().position(|p| p.name == name);
        found.map_or(0..0, |i| self.parts[i].clone())
    }

    /// Triangles of the part called `name`, local to it.
    pub(crate) fn part_triangles(&self, name: &str) -> Vec<[u32; 3]> {
        self.head.parts.iter().find(|p| p.name == name).map_or_else(Vec::new, |p| p.faces.triangulated())
    }

    /// Skin vertices of a named region, ascending.
    pub fn region(&self, name: &str) -> &[u32] {
        self.head.regions.get(name).map_or(&[], Vec::as_slice)
    }

    /// Skin vertices of a named line, in order.
    pub fn line(&self, name: &str) -> &[u32] {
        self.head.loops.get(name).map_or(&[], |c| c.vertices.as_slice())
    }

    /// The skin vertex of a landmark.
    pub fn mark(&self, name: &str) -> u32 {
        let found = NAMES.iter().position(|n| *n == name);
        self.head.landmarks[found.unwrap_or_else(|| panic!("no landmark is called '{name}'"))]
    }

    /// The eyeball of the left side, in mm.
    pub fn eye(&self) -> Eyeball {
        let eye = self.head.eyes[0];
        Eyeball { center: eye.center * MM, radius: eye.radius * MM }
    }

    /// Marks the skin vertices of some regions.
    pub fn marked(&self, regions: &[&str]) -> Vec<bool> {
        let mut marked = vec![false; self.n_skin];
        regions.iter().flat_map(|r| self.region(r)).for_each(|&v| marked[v as usize] = true);
        marked
    }

    /// Distance along the skin from the nearest of `sources`; infinite beyond `reach`.
    pub fn distances(&self, sources: &[u32], reach: f64) -> Vec<f64> {
        let mut distance = vec![f64::INFINITY; self.n_skin];
        let mut queue = BinaryHeap::new();
        for &v in sources {
            distance[v as usize] = 0.0;
            queue.push(Reverse((0u64, v)));
        }
        while let Some(Reverse((bits, v))) = queue.pop() {
            // The bits of non-negative floats sort like the floats.
            let d = f64::from_bits(bits);
            if d > distance[v as usize] {
                continue;
            }
            for &(w, length) in &self.near[v as usize] {
                let there = d + length;
                if there <= reach && there < distance[w as usize] {
                    distance[w as usize] = there;
                    queue.push(Reverse((there.to_bits(), w)));
                }
            }
        }
        distance
    }

    /// The mirror image of a field.
    pub fn mirrored(&self, field: &Field) -> Field {
        let mut out = self.still();
        for (v, d) in field.iter().enumerate() {
            out[self.mirror[v] as usize] = DVec3::new(-d.x, d.y, d.z);
        }
        out
    }

    /// Makes a field equal on both sides, to the bit.
    pub(crate) fn symmetrize(&self, field: &mut Field) {
        let other = self.mirrored(field);
        field.iter_mut().zip(&other).for_each(|(a, b)| *a = 0.5 * (*a + *b));
    }
}

/// Bell function: 1 at distance 0, 0 from `reach` on, C2.
pub(crate) fn bell(distance: f64, reach: f64) -> f64 {
    let t = (distance / reach).min(1.0);
    (1.0 - t * t).powi(3)
}

fn mirror(head: &NeutralHead, points: &[DVec3], parts: &[Range<usize>]) -> Vec<u32> {
    let mut mirror = head.mirror.clone();
    let (left, right) = (parts[1].start as u32, parts[2].start as u32);
    mirror.extend(parts[1].clone().map(|v| v as u32 - left + right));
    mirror.extend(parts[2].clone().map(|v| v as u32 - right + left));
    for range in &parts[3..] {
        let flat: Vec<[f32; 3]> = points[range.clone()].iter().map(|p| p.as_vec3().to_array()).collect();
        let tree = Bvh::of_points(&flat);
        for p in &points[range.clone()] {
            let found = tree.closest_vertex(DVec3::new(-p.x, p.y, p.z), f64::INFINITY);
            mirror.push(range.start as u32 + found.map_or(0, |f| f.0));
        }
    }
    mirror
}

type Links = Vec<Vec<(u32, f64)>>;

/// Areas, edges with Laplacian weights, and edges and diagonals with lengths.
///
/// The weight of an edge is the mean area of its ends over its squared length. On a grid of a x b cells this
/// is b/a and a/b, as in finite differences.
fn neighbors(points: &[DVec3], faces: &risorius_mesh::Polygons) -> (Vec<f64>, Links, Links) {
    let n = points.len();
    let mut area = vec![0.0; n];
    let mut pairs: Vec<[u32; 2]> = Vec::new();
    let mut all: Vec<[u32; 2]> = Vec::new();
    for face in faces.iter() {
        let at = |i: usize| points[face[i % face.len()] as usize];
        let double: DVec3 = (2..face.len()).map(|i| (at(i - 1) - at(0)).cross(at(i) - at(0))).sum();
        for i in 0..face.len() {
            area[face[i] as usize] += 0.5 * double.length() / face.len() as f64;
            let j = face[(i + 1) % face.len()];
            pairs.push([face[i].min(j), face[i].max(j)]);
            all.extend(face[i + 1..].iter().map(|&w| [face[i].min(w), face[i].max(w)]));
        }
    }
    let links = |mut pairs: Vec<[u32; 2]>, value: &dyn Fn(usize, usize) -> f64| {
        pairs.sort_unstable();
        pairs.dedup();
        let mut links: Links = vec![Vec::new(); n];
        for [a, b] in pairs {
            let w = value(a as usize, b as usize);
            links[a as usize].push((b, w));
            links[b as usize].push((a, w));
        }
        links
    };
    let length = |a: usize, b: usize| points[a].distance(points[b]);
    let weight = |a: usize, b: usize| 0.5 * (area[a] + area[b]) / length(a, b).max(0.05).powi(2);
    let edges = links(pairs, &weight);
    let near = links(all, &length);
    (area, edges, near)
}
