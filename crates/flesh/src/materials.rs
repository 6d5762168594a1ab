//! Blendmaterials: stiffness of every element, and how it changes with each shape [Kozlov17, sec. 6.2].
//!
//! Values, painted or not, are set on nodes and diffused through the volume with the heat equation, so that
//! stiffness has no seams; an element has the mean of its nodes. Without painting, flesh is soft (mu 3,000
//! Pa) and stiffer beside bone. Each shape stiffens muscle that it shortens along its fibers, up to 20,000 Pa
//! when shortened by a quarter of its length. lambda is 2,500 Pa throughout. These are the paper's ranges.

use crate::domain::Bound;
use crate::flesh::{MaterialShape, Materials, VolumeShape};
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::tet::tet_mesh::edge_matrix;
use risorius_mesh::{Bvh, TetMesh};
use risorius_muscle::Muscle;
use risorius_solve::SolveError;
use risorius_solve::diffuse::Diffusion;

/// Shear stiffness of soft flesh and of a contracted muscle, Pa.
pub const MU: [f32; 2] = [3000.0, 20000.0];

/// Resistance to volume change, Pa.
pub const LAMBDA: f32 = 2500.0;

/// Shear stiffness at bone, Pa, and the distance over which it decays, m.
const BESIDE_BONE: (f64, f64) = (9000.0, 0.003);

/// Relative shortening at which a muscle reaches its largest stiffness.
const FULL_CONTRACTION: f64 = 0.25;

/// Diffusion of values, in m^2; the square root of twice this is a distance of 2 mm.
const SPREAD: f64 = 2.0e-6;

/// Changes below this are dropped, Pa.
const LEAST_CHANGE: f64 = 20.0;

/// Stiffness painted on the skin: for the neutral or for one shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Painting {
    /// Index of the shape; `None` for the neutral.
    pub shape: Option<usize>,
    /// mu in Pa per node of the volume; `None` where nothing is painted.
    pub mu: Vec<Option<f64>>,
}

/// The fiber direction at each element's center; `None` outside muscles.
fn fibers(mesh: &TetMesh, muscles: &[Muscle]) -> Vec<Option<DVec3>> {
    let fiber = |tet: &[u32; 4]| {
        let center = tet.iter().map(|&n| mesh.nodes[n as usize]).sum::<DVec3>() / 4.0;
        muscles.iter().find_map(|muscle| {
            let [u, v, w] = muscle.solid.inverse(center)?;
            Some(muscle.solid.fiber(u, v, w))
        })
    };
    mesh.tets.par_iter().with_min_len(64).map(fiber).collect()
}

/// Materials of the volume `mesh` for the shapes `volumes`, with the user's paintings.
pub fn materials(
    mesh: &TetMesh,
    bounds: &[Bound],
    muscles: &[Muscle],
    volumes: &[VolumeShape],
    paintings: &[Painting],
) -> Result<Materials, SolveError> {
    let held = vec![false; mesh.nodes.len()];
    let diffusion = Diffusion::prepare(mesh, &held, SPREAD, 2)?;
    let spread = |values: &[[f64; 1]]| diffusion.run(values);
    let painted = |shape: Option<usize>| paintings.iter().find(|p| p.shape == shape);
    let mut at_rest = beside_bone(mesh, bounds);
    if let Some(painting) = painted(None) {
        apply(painting, &mut at_rest)?;
    }
    let at_rest = spread(&at_rest)?;
    let per_tet = |values: &[[f64; 1]]| -> Vec<f64> {
        mesh.tets.iter().map(|t| t.iter().map(|&n| values[n as usize][0]).sum::<f64>() / 4.0).collect()
    };
    let mu: Vec<f64> = per_tet(&at_rest);
    let fibers = fibers(mesh, muscles);
    let shapes: Result<Vec<MaterialShape>, SolveError> = (0..volumes.len())
        .into_par_iter()
        .map(|i| {
            let mut target = contracted(mesh, &fibers, &mu, &volumes[i]);
            if let Some(painting) = painted(Some(i)) {
                apply(painting, &mut target)?;
                for (value, rest) in target.iter_mut().zip(&at_rest).filter(|(v, _)| v[0] > 0.0) {
                    value[0] -= rest[0];
                }
            }
            if target.iter().all(|v| v[0] == 0.0) {
                return Ok(MaterialShape::default());
            }
            let change = per_tet(&spread(&target)?);
            let tets: Vec<u32> =
                (0..change.len() as u32).filter(|&t| change[t as usize].abs() > LEAST_CHANGE).collect();
            Ok(MaterialShape {
                mu: tets.iter().map(|&t| change[t as usize] as f32).collect(),
                lambda: tets.iter().map(|_| 0.0).collect(),
                tets: tets.into(),
            })
        })
        .collect();
    Ok(Materials {
        mu: mu.iter().map(|&m| m as f32).collect(),
        lambda: mu.iter().map(|_| LAMBDA).collect(),
        shapes: shapes?,
    })
}

fn apply(painting: &Painting, values: &mut [[f64; 1]]) -> Result<(), SolveError> {
    if painting.mu.len() != values.len() {
        let (got, wanted) = (painting.mu.len(), values.len());
        return Err(SolveError::Length { what: "painted values", got, wanted });
    }
    for (value, mu) in values.iter_mut().zip(&painting.mu) {
        if let Some(mu) = mu {
            value[0] = *mu;
        }
    }
    Ok(())
}

fn beside_bone(mesh: &TetMesh, bounds: &[Bound]) -> Vec<[f64; 1]> {
    let bony = |b: &Bound| matches!(b, Bound::Cranium | Bound::Mandible);
    let points: Vec<[f32; 3]> = (mesh.nodes.iter().zip(bounds))
        .filter(|(_, b)| bony(b))
        .map(|(p, _)| p.as_vec3().to_array())
        .collect();
    let tree = Bvh::of_points(&points);
    let (stiff, fade) = BESIDE_BONE;
    let soft = f64::from(MU[0]);
    let value = |p: &DVec3| {
        let distance = tree.closest_vertex(*p, 8.0 * fade).map_or(8.0 * fade, |c| c.1.sqrt());
        [soft + (stiff - soft) * (-distance / fade).exp()]
    };
    mesh.nodes.iter().map(value).collect()
}

/// Extra stiffness at the nodes of elements whose fibers the shape shortens.
fn contracted(mesh: &TetMesh, fibers: &[Option<DVec3>], mu: &[f64], shape: &VolumeShape) -> Vec<[f64; 1]> {
    let mut moved = mesh.nodes.clone();
    let mut moves = vec![false; moved.len()];
    for (&node, &offset) in shape.nodes.iter().zip(shape.offsets.iter()) {
        moved[node as usize] += glam::Vec3::from(offset).as_dvec3();
        moves[node as usize] = true;
    }
    let mut extra = vec![[0.0f64]; moved.len()];
    for (t, tet) in mesh.tets.iter().enumerate() {
        let Some(fiber) = fibers[t] else { continue };
        if !tet.iter().any(|&n| moves[n as usize]) {
            continue;
        }
        let gradient = edge_matrix(&moved, *tet) * mesh.edges_of(t).inverse();
        let contraction = ((1.0 - (gradient * fiber).length()) / FULL_CONTRACTION).clamp(0.0, 1.0);
        let more = contraction * (f64::from(MU[1]) - mu[t]).max(0.0);
        for &n in tet {
            extra[n as usize][0] = extra[n as usize][0].max(more);
        }
    }
    extra
}
