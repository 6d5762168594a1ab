//! A face with fewer nodes, made from a finished one without static solves, for previews.
//!
//! The volume is meshed again with few nodes, in the pose that parts lips and lids. There, every coarse node
//! is attached to the element of the fine volume that contains it, or to the nearest. The neutral, the
//! volumes of all shapes and the correctives of pairs are sampled at these places; materials are those of the
//! fine element at the center of each coarse one. Where coarse elements come out squashed or inverted, which
//! happens where flesh is thinner than they are, nodes are moved as for blends ([`crate::rest`]).
//!
//! In: a face of n nodes. Out: a face of about the requested number, with the same rig, anatomy and sliders.
//! The fit to shapes is that of the fine volume, smoothed over coarse elements.

use crate::build::{BuildError, back_of, eyes_of, features_of, outer_of, skin_of};
use crate::embed::embed;
use crate::face::{BuildReport, Face};
use crate::flesh::{Corrective, Flesh, MaterialShape, Materials, VolumeShape};
use crate::fused::mesh_parted;
use crate::rest::RestVolumes;
use crate::slits::Slits;
use crate::volume::{Parts, VolumeOptions};
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_base::Array;
use risorius_base::progress::Progress;
use risorius_mesh::TetMesh;
use risorius_mesh::tet::embed::{EmbedOptions, Embedding};
use risorius_rig::Evaluator;
use risorius_solve::SolveError;

/// Offsets shorter than this are left out, in meters.
const NEGLIGIBLE: f32 = 1e-6;

/// A face with about `nodes` nodes that moves as `face` does.
pub fn coarsen(face: &Face, nodes: usize, progress: &Progress) -> Result<Face, BuildError> {
    let (rig, anatomy, fine) = (&face.rig, &face.anatomy, &face.flesh);
    let evaluator = Evaluator::prepare(rig);
    let skin = skin_of(rig, anatomy);
    let (outer, eyes, features) = (outer_of(&skin, anatomy), eyes_of(anatomy), features_of(anatomy));
    let parts = Parts {
        rig,
        evaluator: &evaluator,
        skin: &skin,
        bones: &anatomy.bones,
        jaw_motion: &anatomy.jaw_motion,
        eyes: &eyes,
        features: &features,
        outer: &outer,
        back: back_of(anatomy),
    };
    let mut slits = Slits::find(rig, &evaluator, &skin);
    // The fine volume was meshed in this pose, and no other is tried.
    slits.parting_weights = fine.parting_weights.clone();
    slits.wider.clear();
    let options = VolumeOptions { nodes, ..VolumeOptions::default() };
    let (volume, parted) = mesh_parted(&parts, &mut slits, &options, progress)?;

    let fine_parted = RestVolumes::prepare(fine)?.at(&parted.strengths)?.positions;
    let places = Places::find(fine, &fine_parted, &volume.mesh);
    let (embedding, embedding_mm) = embed(&parts, &volume, &slits, &parted);
    let mut flesh = Flesh {
        nodes: volume.mesh.nodes.iter().map(|p| p.to_array()).collect(),
        tets: volume.mesh.tets.clone().into(),
        bounds: volume.bounds.iter().map(|b| *b as u8).collect(),
        embedding,
        parting_weights: fine.parting_weights.clone(),
        ..Flesh::default()
    };
    let to_neutral: Vec<DVec3> = fine.rest().iter().zip(&fine_parted).map(|(x0, x)| *x0 - *x).collect();
    flesh.nodes = neutral(&flesh, &places, &to_neutral)?;
    flesh.volumes = fine.volumes.iter().map(|shape| places.shape(shape, fine.n_nodes())).collect();
    flesh.volumes = opened(&flesh)?;
    let corrective =
        |c: &Corrective| Corrective { shapes: c.shapes, volume: places.shape(&c.volume, fine.n_nodes()) };
    flesh.correctives = fine.correctives.iter().map(corrective).collect();
    flesh.materials = places.materials(&fine.materials);
    let (n_nodes, n_tets) = (flesh.n_nodes(), flesh.tets.len());
    let report = BuildReport { n_nodes, n_tets, embedding_mm, ..BuildReport::default() };
    Ok(Face { rig: rig.clone(), anatomy: anatomy.clone(), flesh, report })
}

/// Places of a coarse volume in a fine one.
struct Places {
    /// For each coarse node, four nodes of the fine volume and their weights.
    nodes: Vec<([u32; 4], [f64; 4])>,
    /// For each coarse tet, the fine tet at its center.
    tets: Vec<u32>,
}

impl Places {
    /// The places of `coarse` in `fine`, which has these node positions in the same pose.
    fn find(fine: &Flesh, positions: &[DVec3], coarse: &TetMesh) -> Self {
        let mesh = TetMesh { nodes: positions.to_vec(), tets: fine.tets.to_vec() };
        let center = |t: &[u32; 4]| t.iter().map(|&n| coarse.nodes[n as usize]).sum::<DVec3>() / 4.0;
        let bind =
            |points: &[DVec3]| Embedding::prepare(&mesh, points, &EmbedOptions::default(), |_, _| true);
        let nodes = bind(&coarse.nodes);
        let centers: Vec<DVec3> = coarse.tets.iter().map(center).collect();
        Self { nodes: nodes.nodes.into_iter().zip(nodes.weights).collect(), tets: bind(&centers).tets }
    }

    /// A field on the fine nodes, at the coarse ones.
    fn sample(&self, field: &[DVec3]) -> Vec<DVec3> {
        let at = |(nodes, weights): &([u32; 4], [f64; 4])| {
            nodes.iter().zip(weights).map(|(&n, &w)| field[n as usize] * w).sum()
        };
        self.nodes.iter().map(at).collect()
    }

    fn shape(&self, fine: &VolumeShape, n_fine: usize) -> VolumeShape {
        let mut field = vec![DVec3::ZERO; n_fine];
        for (&n, &offset) in fine.nodes.iter().zip(fine.offsets.iter()) {
            field[n as usize] = Vec3::from(offset).as_dvec3();
        }
        sparse(&self.sample(&field))
    }

    fn materials(&self, fine: &Materials) -> Materials {
        let all =
            |values: &Array<f32>| -> Array<f32> { self.tets.iter().map(|&t| values[t as usize]).collect() };
        let shape = |shape: &MaterialShape| {
            let row = |&t: &u32| shape.tets.binary_search(&t).ok();
            let found = self.tets.iter().enumerate().filter_map(|(i, t)| Some((i as u32, row(t)?)));
            let (tets, rows): (Vec<u32>, Vec<usize>) = found.unzip();
            let of = |values: &Array<f32>| -> Array<f32> { rows.iter().map(|&r| values[r]).collect() };
            MaterialShape { tets: tets.into(), mu: of(&shape.mu), lambda: of(&shape.lambda) }
        };
        Materials {
            mu: all(&fine.mu),
            lambda: all(&fine.lambda),
            density: all(&fine.density),
            damping: all(&fine.damping),
            shapes: fine.shapes.iter().map(shape).collect(),
            responses: fine.responses.clone(),
        }
    }
}

/// The nodes of `parted`, a volume in the pose in which it was meshed, in the neutral. `to_neutral` are the
/// displacements of the fine nodes.
fn neutral(parted: &Flesh, places: &Places, to_neutral: &[DVec3]) -> Result<Array<[f64; 3]>, SolveError> {
    let volumes = vec![sparse(&places.sample(to_neutral))];
    let closing = Flesh { volumes, ..parted.clone() };
    let closed = RestVolumes::prepare(&closing)?.at(&[1.0])?;
    Ok(closed.positions.iter().map(|p| p.to_array()).collect())
}

/// The volumes of all shapes, with squashed elements opened.
fn opened(flesh: &Flesh) -> Result<Vec<VolumeShape>, SolveError> {
    let (rest, x0) = (RestVolumes::prepare(flesh)?, flesh.rest());
    let one = |shape: usize| {
        let mut strengths = vec![0.0; flesh.volumes.len()];
        strengths[shape] = 1.0;
        let lifted = rest.lifted(&strengths)?;
        let offsets: Vec<DVec3> = lifted.iter().zip(&x0).map(|(x, x0)| *x - *x0).collect();
        Ok(sparse(&offsets))
    };
    (0..flesh.volumes.len()).into_par_iter().map(one).collect()
}

/// The offsets that are not negligible.
fn sparse(offsets: &[DVec3]) -> VolumeShape {
    let moved = (0u32..).zip(offsets.iter().map(|o| o.as_vec3()));
    let (nodes, offsets): (Vec<u32>, Vec<[f32; 3]>) =
        moved.filter(|(_, o)| o.length() > NEGLIGIBLE).map(|(n, o)| (n, o.to_array())).unzip();
    VolumeShape { nodes: nodes.into(), offsets: offsets.into() }
}
