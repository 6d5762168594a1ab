//! A rig on a finer mesh: subdivision of every part, its shapes and its texture coordinates. Vertices that
//! nearly touch another surface which faces them (lips, lids on eyes, both sides of a card) stay where they
//! are, so that what is closed stays closed.
//!
//! Subdivision is linear, so posing the fine rig gives the subdivided pose of the coarse rig. Texture
//! coordinates are interpolated at the midpoints of triangle edges, so seams stay where they are.

use crate::model::{Deltas, FaceGroup, Part, Rig, Shape};
use glam::{Vec2, Vec3};
use rayon::prelude::*;
use risorius_mesh::{Bvh, EdgeGraph, Polygons, Subdivision};

/// Largest number of subdivision steps; each splits a triangle into four.
pub const MAX_STEPS: usize = 4;

/// A surface nearly touches another at this fraction of its edges, and faces it below this cosine.
const CLOSE: f64 = 0.6;
const OPPOSITE: f64 = -0.3;

/// How a rig's vertices become those of a finer one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Refinement {
    /// For each part its vertices and the steps.
    parts: Vec<(std::ops::Range<usize>, Vec<Subdivision>)>,
}

impl Refinement {
    /// Prepares `n_steps` subdivision steps for all parts.
    pub fn prepare(rig: &Rig, n_steps: usize) -> Self {
        let held = if n_steps > 0 { held(rig) } else { Vec::new() };
        let one = |part: &Part| {
            let first = part.vertices.start as u32;
            let mut triangles: Vec<[u32; 3]> =
                part.rig_triangles().iter().map(|t| t.map(|v| v - first)).collect();
            let mut x: Vec<Vec3> = rig.neutral[part.vertices.clone()].iter().map(|&p| p.into()).collect();
            let mut held = held.get(part.vertices.clone()).unwrap_or_default().to_vec();
            let step = |_| {
                let step = Subdivision::fitted(&x, &triangles, &held);
                (x, held) = (step.apply(&x), step.apply(&held));
                triangles.clone_from(&step.triangles);
                step
            };
            (part.vertices.clone(), (0..n_steps).map(step).collect())
        };
        Self { parts: rig.parts.iter().map(one).collect() }
    }

    /// A pose, or any other field, on the fine vertices.
    pub fn apply(&self, coarse: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let mut fine = Vec::new();
        for (vertices, steps) in &self.parts {
            let mut x: Vec<Vec3> = coarse[vertices.clone()].iter().map(|&p| p.into()).collect();
            steps.iter().for_each(|step| x = step.apply(&x));
            fine.extend(x.into_iter().map(|p| p.to_array()));
        }
        fine
    }

    /// The rig on the fine vertices.
    pub fn rig(&self, rig: &Rig) -> Rig {
        let mut parts = Vec::new();
        let mut first = 0;
        for (part, (_, steps)) in rig.parts.iter().zip(&self.parts) {
            let n = steps.last().map_or(part.vertices.len(), Subdivision::n_vertices);
            parts.push(fine_part(part, steps, first..first + n));
            first += n;
        }
        let shapes =
            rig.shapes.iter().map(|shape| Shape { deltas: self.deltas(rig, &shape.deltas), ..shape.clone() });
        let inside = |vertices: &Vec<u32>| {
            let mut field = vec![[0.0; 3]; rig.n_vertices()];
            vertices.iter().for_each(|&v| field[v as usize][0] = 1.0);
            self.apply(&field).iter().zip(0..).filter(|(x, _)| x[0] > 0.5).map(|(_, v)| v).collect()
        };
        Rig {
            neutral: self.apply(&rig.neutral),
            shapes: shapes.collect(),
            regions: rig.regions.iter().map(|(name, vertices)| (name.clone(), inside(vertices))).collect(),
            parts,
            name: rig.name.clone(),
            space: rig.space,
            materials: rig.materials.clone(),
            sliders: rig.sliders.clone(),
        }
    }

    fn deltas(&self, rig: &Rig, deltas: &Deltas) -> Deltas {
        let mut field = vec![[0.0; 3]; rig.n_vertices()];
        deltas.vertices.iter().zip(&deltas.offsets).for_each(|(&v, &d)| field[v as usize] = d);
        let (vertices, offsets) = (0..).zip(self.apply(&field)).filter(|(_, d)| *d != [0.0; 3]).unzip();
        Deltas { vertices, offsets }
    }
}

/// 1 for vertices that nearly touch a surface which faces them, falling to 0 over three rings around them.
fn held(rig: &Rig) -> Vec<f32> {
    let at = |v: u32| Vec3::from(rig.neutral[v as usize]).as_dvec3();
    let triangles = rig.triangles();
    let normal = |[a, b, c]: [u32; 3]| (at(b) - at(a)).cross(at(c) - at(a)).normalize_or_zero();
    let mut normals = vec![glam::DVec3::ZERO; rig.n_vertices()];
    triangles.iter().for_each(|&t| t.iter().for_each(|&v| normals[v as usize] += normal(t)));
    let graph = EdgeGraph::prepare(rig.n_vertices(), &triangles, |a, b| at(a).distance(at(b)));
    let tree = Bvh::build(&rig.neutral, &triangles);
    let touches = |v: u32| {
        let around = graph.around(v);
        let edge = around.iter().map(|(_, l)| l).sum::<f64>() / around.len().max(1) as f64;
        let near = |w: &u32| *w == v || around.iter().any(|(u, _)| u == w);
        let is_other = |_, t: [u32; 3]| {
            !t.iter().any(near) && normal(t).dot(normals[v as usize].normalize_or_zero()) < OPPOSITE
        };
        let found = edge > 0.0 && tree.closest_within(at(v), CLOSE * edge, is_other).is_some();
        f32::from(u8::from(found))
    };
    let mut held: Vec<f32> = (0..rig.n_vertices() as u32).into_par_iter().map(touches).collect();
    for _ in 0..2 {
        let spread =
            |v: u32| graph.around(v).iter().map(|(w, _)| held[*w as usize] - 0.34).fold(0.0, f32::max);
        held = (0..held.len() as u32).map(|v| held[v as usize].max(spread(v))).collect();
    }
    held
}

fn fine_part(part: &Part, steps: &[Subdivision], vertices: std::ops::Range<usize>) -> Part {
    if steps.is_empty() {
        return Part { vertices, ..part.clone() };
    }
    let first = vertices.start as u32;
    let children = 4usize.pow(steps.len() as u32);
    // The first triangle of every face, and their total number.
    let mut first_triangle = vec![0];
    for face in 0..part.faces.len() {
        first_triangle.push(first_triangle[face] + part.faces.face(face).len().saturating_sub(2));
    }
    let group = |g: &FaceGroup| FaceGroup {
        first_face: children * first_triangle.get(g.first_face).or(first_triangle.last()).unwrap_or(&0),
        ..g.clone()
    };
    let corner_uvs = part.triangle_uvs().map(|uvs| {
        let mut triangles: Vec<[Vec2; 3]> = uvs.iter().map(|t| t.map(Vec2::from)).collect();
        for _ in steps {
            triangles = triangles.iter().flat_map(|&t| quartered(t)).collect();
        }
        triangles.into_iter().flatten().map(|uv| uv.to_array()).collect()
    });
    Part {
        name: part.name.clone(),
        rig_vertex: (first..vertices.end as u32).collect(),
        faces: Polygons::from_triangles(steps.last().map_or(&[][..], |step| &step.triangles)),
        corner_uvs,
        corner_normals: None,
        colors: None,
        groups: part.groups.iter().map(group).collect(),
        placement: part.placement,
        vertices,
    }
}

/// As [`Subdivision`] orders triangles.
fn quartered([a, b, c]: [Vec2; 3]) -> [[Vec2; 3]; 4] {
    let [ab, bc, ca] = [a.midpoint(b), b.midpoint(c), c.midpoint(a)];
    [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Role;

    #[test]
    fn parts_shapes_and_texture_coordinates_are_subdivided() {
        // Two squares of one quad each, side by side, the second with texture coordinates and a material from
        // its only face on.
        let square = |x: f32| [[x, 0.0, 0.0], [x + 1.0, 0.0, 0.0], [x + 1.0, 1.0, 0.0], [x, 1.0, 0.0]];
        let part = |first: usize, uvs: Option<Vec<[f32; 2]>>| {
            let mut faces = Polygons::default();
            faces.push(&[0, 1, 2, 3]);
            Part {
                vertices: first..first + 4,
                rig_vertex: (first as u32..first as u32 + 4).collect(),
                faces,
                corner_uvs: uvs,
                groups: vec![FaceGroup { name: "skin".into(), first_face: 0, material: None }],
                ..Part::default()
            }
        };
        let uvs = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let rig = Rig {
            parts: vec![part(0, None), part(4, Some(uvs))],
            neutral: [square(0.0), square(2.0)].concat(),
            shapes: vec![Shape {
                name: "up".into(),
                role: Role::Slider(0),
                deltas: Deltas { vertices: vec![4, 5, 6, 7], offsets: vec![[0.0, 0.0, 2.0]; 4] },
            }],
            regions: [("left".to_string(), vec![4, 5, 6, 7])].into(),
            ..Rig::default()
        };
        let refinement = Refinement::prepare(&rig, 2);
        let fine = refinement.rig(&rig);
        // 5 x 5 vertices a square.
        assert_eq!((fine.n_vertices(), fine.parts[1].vertices.clone()), (50, 25..50));
        assert_eq!(fine.triangles().len(), 64);
        assert_eq!(fine.shapes[0].deltas.vertices, (25..50).collect::<Vec<u32>>());
        assert!(fine.shapes[0].deltas.offsets.iter().all(|d| (d[2] - 2.0).abs() < 1e-6));
        assert_eq!(fine.regions["left"], (25..50).collect::<Vec<u32>>());
        assert_eq!(refinement.apply(&rig.neutral), fine.neutral);
        // On the diagonal, which is no border, texture coordinates and positions agree.
        let corner_uvs = fine.parts[1].corner_uvs.as_ref().unwrap();
        assert_eq!(corner_uvs.len(), 96);
        for (t, corner) in fine.parts[1].faces.corners().iter().zip(corner_uvs) {
            let p = fine.neutral[25 + *t as usize];
            let inside = (p[0] - 2.0 - p[1]).abs() < 1e-6 && p[1] > 0.2 && p[1] < 0.8;
            assert!(!inside || (corner[0] - p[1]).abs() < 0.05, "{p:?} {corner:?}");
        }
        assert_eq!(Refinement::prepare(&rig, 0).rig(&rig).neutral, rig.neutral);
    }
}
