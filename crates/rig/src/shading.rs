//! Shading normals of a rig in any pose: smooth where the artist's are, with the artist's hard edges.
//!
//! Corners of the faces around a rig vertex form groups. Corners whose own normals are within [`HARD`] of
//! each other are one group, so a texture seam does not split it and a hard edge does. Corners without own
//! normals are one group. The geometric normal of a group is the angle-weighted mean over its faces. An
//! artist's normal turns in a pose as the geometric normal of its group does, by the smallest rotation; a
//! group without own normals has the geometric one. In the neutral the artist's normals keep their bits.
//!
//! In: a pose of n rig vertices. Out: one unit vector per group. Groups 0 to n - 1 belong to the rig vertices
//! of the same numbers, further groups of hard edges follow.

use crate::model::{Part, Rig};
use glam::{Quat, Vec3};
use risorius_mesh::VertexNormals;
use std::collections::HashMap;

/// Cosine of the largest angle between normals of one group: 10 degrees. Quantized normals along a texture
/// seam differ by less than 2, hard edges by 30 or more.
const HARD: f32 = 0.984_807_7;

/// Groups of corners and their connectivity, prepared once for a rig.
#[derive(Debug, Clone)]
pub struct ShadingNormals {
    normals: VertexNormals,
    /// The rig vertex of each group.
    rig_vertex: Vec<u32>,
    /// For each part, the group of each corner of its faces.
    corner_groups: Vec<Vec<u32>>,
    /// Geometric normals of the groups in the neutral.
    rest: Vec<[f32; 3]>,
}

impl ShadingNormals {
    /// Finds the groups of a rig.
    pub fn prepare(rig: &Rig) -> Self {
        let mut groups = Groups {
            rig_vertex: (0..rig.n_vertices() as u32).collect(),
            first: vec![Group::Free; rig.n_vertices()],
            further: HashMap::new(),
        };
        let mut corner_groups = Vec::new();
        let mut triangles = Vec::new();
        for part in &rig.parts {
            let of_part: Vec<u32> = (0..part.faces.corners().len())
                .map(|c| groups.find(part.rig_vertex[part.faces.corners()[c] as usize], own_normal(part, c)))
                .collect();
            let corners = part.faces.triangulated_corners();
            triangles.extend(corners.into_iter().map(|t| t.map(|c| of_part[c as usize])));
            corner_groups.push(of_part);
        }
        let rig_vertex = groups.rig_vertex;
        let normals = VertexNormals::prepare(rig_vertex.len(), &triangles);
        let mut prepared = Self { normals, rig_vertex, corner_groups, rest: Vec::new() };
        prepared.rest = prepared.at(&rig.neutral);
        prepared
    }

    /// Geometric normals of all groups in the neutral.
    pub fn rest(&self) -> &[[f32; 3]] {
        &self.rest
    }

    /// For each corner of the faces of a part, its group.
    pub fn corner_groups(&self, part: usize) -> &[u32] {
        &self.corner_groups[part]
    }

    /// Geometric normals of all groups in a pose.
    pub fn at(&self, positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let gathered: Vec<[f32; 3]> = self.rig_vertex.iter().map(|&v| positions[v as usize]).collect();
        self.normals.compute(&gathered)
    }

    /// The artist's normals per corner in a pose, for parts that have some.
    pub fn corner_normals(&self, rig: &Rig, positions: &[[f32; 3]]) -> Vec<Option<Vec<[f32; 3]>>> {
        let now = self.at(positions);
        let of_part = |(part, groups): (&Part, &Vec<u32>)| {
            part.corner_normals.as_ref().map(|_| {
                let one = |(c, &g): (usize, &u32)| {
                    let (rest, now) = (self.rest[g as usize], now[g as usize]);
                    own_normal(part, c).map_or(now, |own| turned(own, rest, now))
                };
                groups.iter().enumerate().map(one).collect()
            })
        };
        rig.parts.iter().zip(&self.corner_groups).map(of_part).collect()
    }
}

/// A normal `own` of a group whose geometric normal turns from `rest` to `now`.
pub fn turned(own: [f32; 3], rest: [f32; 3], now: [f32; 3]) -> [f32; 3] {
    if rest == now {
        return own;
    }
    if own == rest {
        return now;
    }
    (Quat::from_rotation_arc(rest.into(), now.into()) * Vec3::from(own)).normalize_or(now.into()).into()
}

/// The artist's normal at a corner, of unit length; `None` if it has no direction. Nearly unit ones keep
/// their bits.
pub fn own_normal(part: &Part, corner: usize) -> Option<[f32; 3]> {
    let normal = *part.corner_normals.as_ref()?.get(corner)?;
    let v = Vec3::from(normal);
    let length = v.length();
    if (length - 1.0).abs() < 5e-4 {
        return Some(normal);
    }
    let unit = v / length;
    (length > 0.0 && length.is_finite() && unit.is_normalized()).then(|| unit.into())
}

/// What the corners of a group have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Group {
    /// No corner is in it yet.
    Free,
    /// No normals of their own.
    Plain,
    /// Normals close to this one.
    Near([f32; 3]),
}

impl Group {
    fn holds(&self, own: Option<[f32; 3]>) -> bool {
        match (self, own) {
            (Self::Free, _) | (Self::Plain, None) => true,
            (Self::Near(first), Some(own)) => Vec3::from(*first).dot(own.into()) >= HARD,
            _ => false,
        }
    }
}

struct Groups {
    rig_vertex: Vec<u32>,
    /// The first group of each rig vertex.
    first: Vec<Group>,
    /// Further groups of rig vertices on hard edges.
    further: HashMap<u32, Vec<(Group, u32)>>,
}

impl Groups {
    fn find(&mut self, vertex: u32, own: Option<[f32; 3]>) -> u32 {
        let kind = own.map_or(Group::Plain, Group::Near);
        let first = &mut self.first[vertex as usize];
        if first.holds(own) {
            if *first == Group::Free {
                *first = kind;
            }
            return vertex;
        }
        let further = self.further.entry(vertex).or_default();
        if let Some((_, group)) = further.iter().find(|(group, _)| group.holds(own)) {
            return *group;
        }
        let group = self.rig_vertex.len() as u32;
        further.push((kind, group));
        self.rig_vertex.push(vertex);
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_mesh::Polygons;

    /// Two squares at a right angle along the edge of vertices 1 and 4, with normals of their own per corner.
    fn folded(normals: Option<[[f32; 3]; 2]>) -> Rig {
        let neutral = vec![
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [1.0, 0.0, -1.0],
            [0.0, 1.0, 0.0],
            [1.0, 1.0, 0.0],
            [1.0, 1.0, -1.0],
        ];
        let mut faces = Polygons::default();
        faces.push(&[0, 1, 4, 3]);
        faces.push(&[1, 2, 5, 4]);
        let corner_normals = normals.map(|[a, b]| [[a; 4], [b; 4]].concat());
        let rig_vertex = (0..6).collect();
        let part = Part { vertices: 0..6, rig_vertex, faces, corner_normals, ..Part::default() };
        Rig { neutral, parts: vec![part], ..Rig::default() }
    }

    fn close(a: [f32; 3], b: [f32; 3]) -> bool {
        Vec3::from(a).distance(b.into()) < 1e-5
    }

    #[test]
    fn hard_edges_stay_hard_and_turn_with_their_faces() {
        let rig = folded(Some([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]));
        let shading = ShadingNormals::prepare(&rig);
        // Two more groups, for the two vertices of the edge.
        assert_eq!(shading.rest().len(), 8);
        assert_eq!(shading.corner_normals(&rig, &rig.neutral)[0], rig.parts[0].corner_normals);
        // The second square folds back until both are in one plane: its normal turns, the first one's stays.
        let mut flat = rig.neutral.clone();
        (flat[2], flat[5]) = ([2.0, 0.0, 0.0], [2.0, 1.0, 0.0]);
        let turned = shading.corner_normals(&rig, &flat)[0].clone().unwrap();
        assert!(turned.iter().all(|&n| close(n, [0.0, 0.0, 1.0])), "{turned:?}");
    }

    #[test]
    fn seams_and_parts_without_normals_are_smooth() {
        let h = std::f32::consts::FRAC_1_SQRT_2;
        // The same normal up to the rounding of a byte.
        let rig = folded(Some([[h, 0.0, h], [h + 0.01, 0.0, h - 0.01]]));
        let shading = ShadingNormals::prepare(&rig);
        assert_eq!(shading.rest().len(), 6);
        let plain = ShadingNormals::prepare(&folded(None));
        assert_eq!(plain.rest(), shading.rest());
        assert!(close(plain.rest()[1], [h, 0.0, h]));
        // A turn of everything turns every normal, also those that are not geometric.
        let turn = |p: &[f32; 3]| [p[1], -p[0], p[2]];
        let moved: Vec<[f32; 3]> = rig.neutral.iter().map(turn).collect();
        let normals = shading.corner_normals(&rig, &moved)[0].clone().unwrap();
        let own = rig.parts[0].corner_normals.as_ref().unwrap();
        for c in [1, 2] {
            assert!(close(normals[c], turn(&own[c])), "{:?} {:?}", normals[c], own[c]);
        }
    }
}
