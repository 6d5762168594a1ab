//! Blendmaterials: the material of every element, and how it changes with each shape [Kozlov17, sec. 6.2].
//!
//! Without painting, the neutral has the tissue of its anatomy ([`crate::tissue`]), and each shape stiffens
//! muscle that it shortens along its fibers: up to 20,000 Pa when shortened by a quarter of its length. These
//! increments are diffused over 2 mm, so that they have no seams. An element has the mean of its nodes.
//!
//! Painted values belong to nodes on the skin. They are carried into the volume as the steady state of the
//! heat equation, with the other ends at bone, at the cut to the rest of the head, and at skin that is not
//! painted:
//!
//! ```text
//! L s = 0,  s = 1 at painted nodes, 0 at the other ends      how much painting counts
//! L p = 0,  p = painted value at painted nodes               what is painted
//! neutral   v = (1 - s) tissue + s p
//! shape     change = (1 - s) contraction + s (p - neutral)
//! ```
//!
//! Every value lies between what is painted and what was there before: painting stiff never softens.

use crate::domain::Bound;
use crate::flesh::{MaterialShape, Materials, VolumeShape};
use crate::tissue::{MUSCLE_AT_REST, Tissue};
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::TetMesh;
use risorius_mesh::tet::tet_mesh::edge_matrix;
use risorius_muscle::Muscle;
use risorius_solve::diffuse::{Diffusion, Harmonic};
use risorius_solve::{SolveError, check_length};

/// Shear modulus of a fully contracted muscle, Pa.
const CONTRACTED: f64 = 20_000.0;

/// Relative shortening at which a muscle reaches its largest stiffness.
const FULL_CONTRACTION: f64 = 0.25;

/// Diffusion of contraction, in m^2; the square root of twice this is a distance of 2 mm.
const SPREAD: f64 = 2.0e-6;

/// Changes below this share of the neutral value are dropped.
const LEAST_CHANGE: f64 = 0.005;

/// A property that can be painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// Shear modulus mu, Pa.
    Stiffness,
    /// Resistance to volume change lambda, Pa.
    VolumeStiffness,
    /// Mass, kg/m^3; of the neutral only.
    Density,
    /// Time of viscosity, seconds; of the neutral only.
    Damping,
}

/// A property painted on the skin: for the neutral or for one shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Painting {
    /// Index of the shape; `None` for the neutral.
    pub shape: Option<usize>,
    /// What is painted.
    pub property: Property,
    /// Its value per node of the volume, in SI units; `None` where nothing is painted.
    pub values: Vec<Option<f64>>,
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

/// Materials of the volume `mesh` for the shapes `volumes`, with the user's paintings over the `tissue` at
/// its nodes.
pub fn materials(
    mesh: &TetMesh,
    bounds: &[Bound],
    tissue: &[Tissue],
    muscles: &[Muscle],
    volumes: &[VolumeShape],
    paintings: &[Painting],
) -> Result<Materials, SolveError> {
    check_length("tissue at nodes", tissue.len(), mesh.nodes.len())?;
    let spread_paint: Result<Vec<Painted>, SolveError> =
        paintings.par_iter().with_max_len(1).map(|p| Painted::prepare(mesh, bounds, p)).collect();
    let painted = Paintings { paintings, spread: spread_paint? };
    let fibers = fibers(mesh, muscles);
    let muscle = muscle_at_nodes(mesh, &fibers);
    let stiffness =
        |(tissue, share): (&Tissue, &f64)| tissue.mu + share * (MUSCLE_AT_REST - tissue.mu).max(0.0);
    let stiffness = tissue.iter().zip(&muscle).map(stiffness).collect();
    let neutral = |property: Property, at_nodes: Vec<f64>| {
        let at_nodes = painted.over(None, property, at_nodes);
        (per_tet(mesh, &at_nodes), at_nodes)
    };
    let of_tissue = |of: fn(&Tissue) -> f64| tissue.iter().map(of).collect::<Vec<f64>>();
    let (mu, mu_at_nodes) = neutral(Property::Stiffness, stiffness);
    let (lambda, lambda_at_nodes) = neutral(Property::VolumeStiffness, of_tissue(|t| t.lambda));
    let (density, _) = neutral(Property::Density, of_tissue(|t| t.density));
    let (damping, _) = neutral(Property::Damping, of_tissue(|t| t.damping));
    let diffusion = Diffusion::prepare(mesh, &vec![false; mesh.nodes.len()], SPREAD, 2)?;
    let shape = |i: usize| -> Result<MaterialShape, SolveError> {
        let mut more = contracted(mesh, &fibers, &mu, &volumes[i]);
        if more.iter().any(|v| v[0] != 0.0) {
            more = diffusion.run(&more)?;
        }
        let more: Vec<f64> = more.into_iter().map(|[v]| v).collect();
        let mu_change = painted.change(Some(i), Property::Stiffness, &mu_at_nodes, more);
        let still = vec![0.0; mesh.nodes.len()];
        let lambda_change = painted.change(Some(i), Property::VolumeStiffness, &lambda_at_nodes, still);
        let [mu_change, lambda_change] = [mu_change, lambda_change].map(|change| per_tet(mesh, &change));
        let changes = |t: &usize| {
            mu_change[*t].abs() > LEAST_CHANGE * mu[*t] || lambda_change[*t].abs() > LEAST_CHANGE * lambda[*t]
        };
        let tets: Vec<usize> = (0..mesh.tets.len()).filter(changes).collect();
        Ok(MaterialShape {
            mu: tets.iter().map(|&t| mu_change[t] as f32).collect(),
            lambda: tets.iter().map(|&t| lambda_change[t] as f32).collect(),
            tets: tets.iter().map(|&t| t as u32).collect(),
        })
    };
    let shapes: Result<Vec<MaterialShape>, SolveError> =
        (0..volumes.len()).into_par_iter().with_max_len(1).map(shape).collect();
    let stored = |values: Vec<f64>| values.into_iter().map(|v| v as f32).collect();
    Ok(Materials {
        mu: stored(mu),
        lambda: stored(lambda),
        density: stored(density),
        damping: stored(damping),
        shapes: shapes?,
        responses: Vec::new(),
    })
}

/// The mean over the nodes of each element.
fn per_tet(mesh: &TetMesh, values: &[f64]) -> Vec<f64> {
    mesh.tets.iter().map(|t| t.iter().map(|&n| values[n as usize]).sum::<f64>() / 4.0).collect()
}

/// A painting, carried into the volume.
struct Painted {
    /// How much it counts at each node, 0 to 1.
    share: Vec<f64>,
    /// Its value at each node.
    value: Vec<f64>,
}

impl Painted {
    fn prepare(mesh: &TetMesh, bounds: &[Bound], painting: &Painting) -> Result<Self, SolveError> {
        check_length("painted values", painting.values.len(), mesh.nodes.len())?;
        let is_painted: Vec<bool> = painting.values.iter().map(Option::is_some).collect();
        let ends =
            |bound: &Bound| matches!(bound, Bound::Skin | Bound::Cranium | Bound::Mandible | Bound::Border);
        let held: Vec<bool> = is_painted.iter().zip(bounds).map(|(p, b)| *p || ends(b)).collect();
        let given: Vec<[f64; 1]> = painting.values.iter().map(|v| [v.unwrap_or(0.0)]).collect();
        let ones: Vec<[f64; 1]> = is_painted.iter().map(|p| [f64::from(u8::from(*p))]).collect();
        let painted = || painting.values.iter().flatten().copied();
        let (low, high) = (painted().fold(f64::INFINITY, f64::min), painted().fold(0.0, f64::max));
        let extend = |held: &[bool], values: &[[f64; 1]], low: f64, high: f64| {
            let found = Harmonic::prepare(mesh, held)?.extend(values)?;
            Ok::<Vec<f64>, SolveError>(found.into_iter().map(|[v]| v.max(low).min(high)).collect())
        };
        Ok(Self { share: extend(&held, &ones, 0.0, 1.0)?, value: extend(&is_painted, &given, low, high)? })
    }
}

/// All paintings, carried into the volume.
struct Paintings<'a> {
    paintings: &'a [Painting],
    spread: Vec<Painted>,
}

impl Paintings<'_> {
    fn find(&self, shape: Option<usize>, property: Property) -> Option<&Painted> {
        let place = self.paintings.iter().position(|p| p.shape == shape && p.property == property)?;
        self.spread.get(place)
    }

    /// The values at nodes with the painting, if there is one, over them.
    fn over(&self, shape: Option<usize>, property: Property, mut values: Vec<f64>) -> Vec<f64> {
        if let Some(painted) = self.find(shape, property) {
            for (i, v) in values.iter_mut().enumerate() {
                *v += painted.share[i] * (painted.value[i] - *v);
            }
        }
        values
    }

    /// The change of a shape: what is painted minus the neutral, over the change `otherwise`.
    fn change(
        &self,
        shape: Option<usize>,
        property: Property,
        neutral: &[f64],
        mut otherwise: Vec<f64>,
    ) -> Vec<f64> {
        if let Some(painted) = self.find(shape, property) {
            for (i, v) in otherwise.iter_mut().enumerate() {
                *v += painted.share[i] * ((painted.value[i] - neutral[i]) - *v);
            }
        }
        otherwise
    }
}

/// The share of the elements around each node that are muscle.
fn muscle_at_nodes(mesh: &TetMesh, fibers: &[Option<DVec3>]) -> Vec<f64> {
    let mut counts = vec![[0.0; 2]; mesh.nodes.len()];
    for (tet, fiber) in mesh.tets.iter().zip(fibers) {
        for &n in tet {
            counts[n as usize][0] += f64::from(u8::from(fiber.is_some()));
            counts[n as usize][1] += 1.0;
        }
    }
    counts.into_iter().map(|[muscle, all]| muscle / f64::max(all, 1.0)).collect()
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
        let more = contraction * (CONTRACTED - mu[t]).max(0.0);
        for &n in tet {
            extra[n as usize][0] = extra[n as usize][0].max(more);
        }
    }
    extra
}
