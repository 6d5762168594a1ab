//! A face with fewer nodes, made from a finished one without static solves, for previews.
//!
//! The volume is meshed again with few nodes, in the pose that parts lips and lids. The domain is the fine
//! volume itself, a little thicker, because that is much faster to evaluate than skin and bones and has its
//! slits open already. There, every coarse node is attached to the element of the fine volume that contains
//! it, or to the nearest. The neutral, the volumes of all shapes and the correctives of pairs are sampled at
//! these places; materials are those of the fine element at the center of each coarse one. Where coarse
//! elements come out squashed or inverted, which happens where flesh is thinner than they are, nodes are
//! moved as for blends ([`crate::rest`]).
//!
//! In: a face of n nodes. Out: a face of about the requested number, with the same rig, anatomy and sliders.
//! The fit to shapes is that of the fine volume, smoothed over coarse elements.

use crate::build::{BuildError, back_of, eyes_of, features_of, outer_of, skin_of};
use crate::domain::{AT_BONE, Bound, Sizes};
use crate::embed::embed;
use crate::face::{BuildReport, Face};
use crate::flesh::{Corrective, Flesh, MaterialShape, Materials, VolumeShape};
use crate::fused::{cut, spanning};
use crate::rest::RestVolumes;
use crate::slits::Slits;
use crate::volume::{Parts, Volume, drop_bone};
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_base::progress::Progress;
use risorius_base::{Array, Rigid};
use risorius_mesh::tet::domain::Domain;
use risorius_mesh::tet::embed::{EmbedOptions, Embedding, TetTree};
use risorius_mesh::tet::solid::Shell;
use risorius_mesh::tet::stuffing::{TetError, TetOptions, tetrahedralize};
use risorius_mesh::{Bvh, TetMesh, TriMesh};
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
    let slits = Slits::find(rig, &evaluator, &skin);
    let parted = parts.pose(&fine.parting_weights);
    let fine_parted = RestVolumes::prepare(fine)?.at(&parted.strengths)?.positions;
    let lips: Vec<DVec3> = features
        .iter()
        .filter_map(|v| skin.rig_vertices.binary_search(v).ok())
        .map(|i| parted.skin[i])
        .collect();
    let jaw = shell(&anatomy.bones.mandible, &parted.jaw);
    let domain = FineVolume::prepare(fine, &fine_parted, &lips, jaw, nodes);
    let mut volume = domain.mesh_again(nodes, progress)?;
    let across = spanning(&parts, &slits, &volume.mesh, &parted).0;
    cut(&mut volume, &across);

    let places = Places::find(&domain.mesh, &volume.mesh);
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
    // Tracks are those of control points, which the flesh does not know.
    let muscle_shapes = face.muscle_shapes.clone();
    Ok(Face { rig: rig.clone(), anatomy: anatomy.clone(), flesh, report, muscle_shapes })
}

/// A fine volume as a domain to mesh.
struct FineVolume {
    mesh: TetMesh,
    bounds: Vec<Bound>,
    tree: TetTree,
    /// Its boundary.
    surface: Bvh,
    triangles: Vec<[u32; 3]>,
    /// Points along lips and lids.
    features: Bvh,
    jaw: Option<Shell>,
    /// How much thicker the domain is than the volume, in edge lengths.
    thicker: f64,
}

impl FineVolume {
    /// The domain of `fine`, which has these node positions, for a volume of `nodes` nodes.
    fn prepare(
        fine: &Flesh,
        positions: &[DVec3],
        features: &[DVec3],
        jaw: Option<Shell>,
        nodes: usize,
    ) -> Self {
        let single = |points: &[DVec3]| points.iter().map(|p| p.as_vec3().to_array()).collect::<Vec<_>>();
        let mesh = TetMesh { nodes: positions.to_vec(), tets: fine.tets.to_vec() };
        let triangles: Vec<[u32; 3]> = mesh.boundary().iter().map(|b| b.nodes).collect();
        // Thin flesh is as thick as elements need; larger elements need more.
        let more = (edge_scale(nodes) - edge_scale(fine.n_nodes())).max(0.0);
        Self {
            tree: TetTree::prepare(&mesh),
            surface: Bvh::build(&single(positions), &triangles),
            bounds: (0..fine.n_nodes()).map(|n| fine.bound(n)).collect(),
            features: Bvh::of_points(&single(features)),
            jaw,
            thicker: 0.5 * Sizes::default().least_thickness * more,
            mesh,
            triangles,
        }
    }

    fn contains(&self, p: DVec3) -> bool {
        let margin = self.thicker * self.size(p);
        self.tree.locate(&self.mesh, p, |_| true).is_some() || self.surface.closest_point(p, margin).is_some()
    }

    /// Fills the domain with about `nodes` nodes.
    fn mesh_again(&self, nodes: usize, progress: &Progress) -> Result<Volume, TetError> {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (low, high) = self.mesh.nodes.iter().fold(start, |(lo, hi), p| (lo.min(*p), hi.max(*p)));
        let rim = DVec3::splat(0.005);
        let first_scale = Some(1.04 * edge_scale(nodes));
        let options =
            TetOptions { target_nodes: Some(nodes * 11 / 10), first_scale, ..TetOptions::default() };
        let mut meshed = tetrahedralize(self, [low - rim, high + rim], &options, progress)?;
        let of = |(&p, &on): (&DVec3, &bool)| match on {
            _ if self.is_on_jaw(p) => Bound::Mandible,
            true => self.bound_outside(p),
            false => self.bound_inside(p),
        };
        let mut bounds: Vec<Bound> = meshed.mesh.nodes.iter().zip(&meshed.on_boundary).map(of).collect();
        drop_bone(&mut meshed.mesh, &mut bounds);
        Ok(Volume { skin_points: vec![None; bounds.len()], mesh: meshed.mesh, bounds })
    }

    /// Whether the jaw contains or touches `p`. The jaw has few nodes, which sampling would miss.
    fn is_on_jaw(&self, p: DVec3) -> bool {
        let holds = |jaw: &Shell| jaw.value(p) > 0.0 || jaw.distance(p, AT_BONE) < AT_BONE;
        self.jaw.as_ref().is_some_and(holds)
    }

    /// The bound of a node on the boundary: that of the nearest boundary of the volume.
    fn bound_outside(&self, p: DVec3) -> Bound {
        let found = self.surface.closest_point(p, f64::INFINITY);
        found.map_or(Bound::Border, |c| {
            self.most(self.triangles[c.triangle as usize].into_iter().zip(c.barycentric))
        })
    }

    /// The bound of a node inside: held as the nodes around it, or free.
    fn bound_inside(&self, p: DVec3) -> Bound {
        let Some((tet, weights)) = self.tree.locate(&self.mesh, p, |_| true) else {
            return self.bound_outside(p);
        };
        let around = self.mesh.tets[tet as usize].into_iter().zip(weights);
        let is_held = |n: u32| !matches!(self.bounds[n as usize], Bound::Skin | Bound::Eye | Bound::Inside);
        let held: Vec<(u32, f64)> = around.filter(|(n, _)| is_held(*n)).collect();
        let share: f64 = held.iter().map(|(_, weight)| weight).sum();
        if share >= 0.5 { self.most(held.into_iter()) } else { Bound::Inside }
    }

    /// The bound with the largest sum of weights.
    fn most(&self, nodes: impl Iterator<Item = (u32, f64)>) -> Bound {
        let mut sums: Vec<(Bound, f64)> = Vec::new();
        for (n, weight) in nodes {
            let bound = self.bounds[n as usize];
            match sums.iter_mut().find(|(b, _)| *b == bound) {
                Some((_, sum)) => *sum += weight,
                None => sums.push((bound, weight)),
            }
        }
        sums.into_iter().fold((Bound::Inside, 0.0), |best, next| if next.1 > best.1 { next } else { best }).0
    }
}

impl Domain for FineVolume {
    fn value(&self, p: DVec3) -> f64 {
        if self.contains(p) { 1.0 } else { -1.0 }
    }

    fn size(&self, p: DVec3) -> f64 {
        Sizes::default().edge_length(&self.features, p)
    }

    fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        // Sizes grow by less than the distance.
        let margin = self.thicker * (self.size(center) + radius);
        let is_clear = self.surface.closest_point(center, radius + margin).is_none();
        is_clear.then(|| self.tree.locate(&self.mesh, center, |_| true).is_some())
    }
}

/// A bone after a motion; `None` if there is none.
fn shell(bone: &TriMesh, motion: &Rigid) -> Option<Shell> {
    let positions = bone.positions.iter().map(|&p| motion.apply(p)).collect();
    let moved = TriMesh { positions, triangles: bone.triangles.clone() };
    (!moved.triangles.is_empty()).then(|| Shell::prepare(&moved))
}

/// Edge lengths of a volume with this many nodes, relative to the default.
fn edge_scale(nodes: usize) -> f64 {
    (9000.0 / nodes.max(1) as f64).cbrt()
}

/// Places of a coarse volume in a fine one.
struct Places {
    /// For each coarse node, four nodes of the fine volume and their weights.
    nodes: Vec<([u32; 4], [f64; 4])>,
    /// For each coarse tet, the fine tet at its center.
    tets: Vec<u32>,
}

impl Places {
    /// The places of `coarse` in `fine`, in the same pose.
    fn find(fine: &TetMesh, coarse: &TetMesh) -> Self {
        let center = |t: &[u32; 4]| t.iter().map(|&n| coarse.nodes[n as usize]).sum::<DVec3>() / 4.0;
        let bind = |points: &[DVec3]| Embedding::prepare(fine, points, &EmbedOptions::default(), |_, _| true);
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
