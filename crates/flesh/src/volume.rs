//! Meshing of the volume, in a pose where lips and lids are apart.
//!
//! A lattice cell that spans both lips would join them, so the volume is meshed in the pose that parts the
//! slits ([`crate::slits`]), with the jaw moved accordingly [Cong16, sec. 3]. Each boundary node on the skin
//! stores its point of the skin; [`crate::follow`] moves the volume from there to the neutral and to every
//! shape.

use crate::domain::{Back, Bound, FleshDomain, Sizes};
use crate::skin::Skin;
use crate::thin::ThinSkin;
use glam::DVec3;
use risorius_base::Rigid;
use risorius_base::progress::Progress;
use risorius_head::Bones;
use risorius_mesh::tet::solid::Shell;
use risorius_mesh::tet::stuffing::{Meshed, TetError, TetOptions, tetrahedralize};
use risorius_mesh::{Bvh, TetMesh, TriMesh};
use risorius_rig::{Evaluator, Rig};

/// Skin that no shape moves farther than this gets no flesh of its own, in meters.
const MOVES: f64 = 0.003;

/// Everything that bounds or moves flesh, in meters.
pub struct Parts<'a> {
    /// The artist's rig.
    pub rig: &'a Rig,
    /// Its evaluator.
    pub evaluator: &'a Evaluator,
    /// Its skin.
    pub skin: &'a Skin,
    /// Skull and jaw in the neutral.
    pub bones: &'a Bones,
    /// The jaw's motion with each shape of the rig.
    pub jaw_motion: &'a [Rigid],
    /// Eyeballs: center and radius.
    pub eyes: &'a [(DVec3, f64)],
    /// Rig vertices along lips and lids, where elements are finest.
    pub features: &'a [u32],
    /// Which skin vertices are visible from outside: not the lining of mouth and sockets.
    pub outer: &'a [bool],
    /// Where flesh ends toward the back.
    pub back: Back,
}

/// Skin and jaw in one pose.
pub struct Pose {
    /// Strength of each shape of the rig.
    pub strengths: Vec<f64>,
    /// Skin vertices, tunnels included.
    pub skin: Vec<DVec3>,
    /// The jaw's motion from the neutral.
    pub jaw: Rigid,
}

impl Parts<'_> {
    /// The pose at these weights.
    pub fn pose(&self, weights: &[f32]) -> Pose {
        let strengths: Vec<f64> = self.evaluator.strengths(weights).iter().map(|&c| c.into()).collect();
        Pose {
            skin: self.skin.positions(&self.evaluator.positions(weights)),
            jaw: self.jaw(&strengths),
            strengths,
        }
    }

    /// The pose at these strengths of the rig's shapes, even if no weights produce them.
    pub(crate) fn pose_of(&self, strengths: Vec<f64>) -> Pose {
        let mut positions = self.rig.neutral.clone();
        for (shape, &c) in self.rig.shapes.iter().zip(&strengths).filter(|(_, c)| **c != 0.0) {
            for (&v, offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
                let p = &mut positions[v as usize];
                *p = std::array::from_fn(|k| p[k] + c as f32 * offset[k]);
            }
        }
        Pose { skin: self.skin.positions(&positions), jaw: self.jaw(&strengths), strengths }
    }

    /// The jaw's motion for these strengths.
    pub fn jaw(&self, strengths: &[f64]) -> Rigid {
        risorius_anatomy::jaw_motion::blend(self.jaw_motion, strengths, &self.bones.joint)
    }

    /// Outer skin vertices that some shape moves noticeably; all of them for a rig without shapes.
    pub(crate) fn moving_vertices(&self) -> Vec<u32> {
        let mut local = vec![u32::MAX; self.rig.n_vertices()];
        for (i, &v) in self.skin.rig_vertices.iter().enumerate() {
            local[v as usize] = i as u32;
        }
        let mut moves = vec![self.rig.shapes.is_empty(); self.skin.rig_vertices.len()];
        for shape in &self.rig.shapes {
            for (&v, &offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
                let i = local[v as usize];
                if i != u32::MAX && self.skin.displacement(offset).length() > MOVES {
                    moves[i as usize] = true;
                }
            }
        }
        (0..moves.len() as u32).filter(|&i| moves[i as usize] && self.outer[i as usize]).collect()
    }

    fn skin_surface(&self, pose: &Pose) -> TriMesh {
        TriMesh { positions: pose.skin.clone(), triangles: self.skin.triangles.clone() }
    }

    /// The inside of the skin in `pose`.
    pub fn shell(&self, pose: &Pose) -> Shell {
        Shell::prepare(&self.skin_surface(pose))
    }

    /// The domain of flesh in `pose`.
    pub fn domain(&self, pose: &Pose, reach: f64, sizes: Sizes) -> FleshDomain {
        let points = |vertices: &mut dyn Iterator<Item = u32>| {
            let positions: Vec<[f32; 3]> =
                vertices.map(|v| pose.skin[v as usize].as_vec3().to_array()).collect();
            Bvh::of_points(&positions)
        };
        let moved = |surface: &TriMesh, motion: &Rigid| {
            let positions = surface.positions.iter().map(|&p| motion.apply(p)).collect();
            let posed = TriMesh { positions, triangles: surface.triangles.clone() };
            (!posed.triangles.is_empty()).then(|| Shell::for_many(&posed))
        };
        let skin = self.skin_surface(pose);
        let shell = Shell::for_many(&skin);
        let mut joint = self.bones.joint;
        joint.condyles = joint.condyles.map(|c| pose.jaw.apply(c));
        let local = |v: &u32| self.skin.rig_vertices.binary_search(v).ok().map(|i| i as u32);
        let features = points(&mut self.features.iter().filter_map(local));
        let thickness = |p: DVec3| sizes.least_thickness(sizes.edge_length(&features, p));
        let neutral = self.skin_surface(&self.pose(&vec![0.0; self.rig.sliders.len()]));
        FleshDomain {
            thin: ThinSkin::find(&skin, &shell, [&skin, &neutral], thickness),
            skin: shell,
            cranium: moved(&self.bones.cranium, &Rigid::IDENTITY),
            mandible: moved(&self.bones.mandible, &pose.jaw),
            eyes: self.eyes.to_vec(),
            joint,
            moving: points(&mut self.moving_vertices().into_iter()),
            reach,
            back: self.back,
            features,
            sizes,
        }
    }
}

/// Options of [`mesh_volume`].
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeOptions {
    /// Target number of nodes, 500 to 200,000. 9,000 as in [Kozlov17, sec. 7].
    pub nodes: usize,
    /// Extent of flesh around skin that shapes move, in meters: enough for cheeks and throat to swing.
    pub reach: f64,
    /// Sizes of elements relative to one another.
    pub sizes: Sizes,
}

impl Default for VolumeOptions {
    fn default() -> Self {
        Self { nodes: 9000, reach: 0.025, sizes: Sizes::default() }
    }
}

/// A point of the skin: a triangle and weights of its corners.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkinPoint {
    /// Triangle of the [`Skin`].
    pub triangle: u32,
    /// Weights of its corners.
    pub weights: [f64; 3],
}

impl SkinPoint {
    /// Its position in a pose of the skin.
    pub fn at(&self, triangles: &[[u32; 3]], skin: &[DVec3]) -> DVec3 {
        let corners = triangles[self.triangle as usize];
        corners.iter().zip(self.weights).map(|(&v, w)| skin[v as usize] * w).sum()
    }
}

/// The volume in the pose that parts the slits.
#[derive(Debug, Clone)]
pub struct Volume {
    /// Nodes in that pose, and tets.
    pub mesh: TetMesh,
    /// The surface that each node lies on.
    pub bounds: Vec<Bound>,
    /// The point of the skin at each node that lies on it.
    pub skin_points: Vec<Option<SkinPoint>>,
}

/// Meshes the flesh of `parts` in `pose`, which should part the slits.
pub fn mesh_volume(
    parts: &Parts,
    pose: &Pose,
    options: &VolumeOptions,
    progress: &Progress,
) -> Result<(Volume, Meshed), TetError> {
    // The default sizes give about 9,000 nodes; for another number, thicknesses are scaled accordingly.
    let scale = (9000.0 / options.nodes as f64).cbrt();
    let sizes = Sizes { least_thickness: options.sizes.least_thickness * scale, ..options.sizes };
    let domain = parts.domain(pose, options.reach, sizes);
    let bounds = box_around(parts, pose, options.reach);
    // About a tenth of the nodes lie deep in bone and are dropped.
    let target_nodes = Some(options.nodes * 11 / 10);
    let tets = TetOptions { target_nodes, first_scale: Some(1.04 * scale), ..TetOptions::default() };
    let mut meshed = tetrahedralize(&domain, bounds, &tets, progress)?;
    let mut bounds: Vec<Bound> =
        (meshed.mesh.nodes.iter().zip(&meshed.on_boundary)).map(|(&p, &on)| domain.bound(p, on)).collect();
    free_between_bones(&meshed.mesh.tets, &mut bounds);
    drop_bone(&mut meshed.mesh, &mut bounds);
    let skin_points = (meshed.mesh.nodes.iter().zip(&bounds))
        .map(|(&p, &bound)| {
            let closest =
                (bound == Bound::Skin).then(|| domain.skin.tree.closest_point(p, f64::INFINITY)).flatten()?;
            Some(SkinPoint { triangle: closest.triangle, weights: closest.barycentric })
        })
        .collect();
    let volume = Volume { mesh: std::mem::take(&mut meshed.mesh), bounds, skin_points };
    Ok((volume, meshed))
}

/// Drops elements whose nodes are all attached to the same bone, since they never deform.
pub(crate) fn drop_bone(mesh: &mut TetMesh, bounds: &mut Vec<Bound>) {
    let held = |t: &[u32; 4], bone: Bound| t.iter().all(|&n| bounds[n as usize] == bone);
    mesh.tets.retain(|t| !held(t, Bound::Cranium) && !held(t, Bound::Mandible));
    *bounds = mesh.drop_unused_nodes().iter().map(|&n| bounds[n as usize]).collect();
}

/// Elements between the jaw and the fixed parts (skull, border) would be torn, so their nodes are released
/// from both. Border nodes within three rings of the jaw are released too.
fn free_between_bones(tets: &[[u32; 4]], bounds: &mut [Bound]) {
    let fixed = |b: Bound| matches!(b, Bound::Cranium | Bound::Border);
    let mut near_jaw: Vec<bool> = bounds.iter().map(|b| *b == Bound::Mandible).collect();
    let mut torn = vec![false; bounds.len()];
    for ring in 0..3 {
        let before = near_jaw.clone();
        for tet in tets.iter().filter(|t| t.iter().any(|&n| before[n as usize])) {
            let is_torn = ring == 0 && tet.iter().any(|&n| fixed(bounds[n as usize]));
            for &n in tet {
                near_jaw[n as usize] = true;
                torn[n as usize] |= is_torn || bounds[n as usize] == Bound::Border;
            }
        }
    }
    for (bound, _) in bounds.iter_mut().zip(&torn).filter(|(_, torn)| **torn) {
        if *bound == Bound::Mandible || fixed(*bound) {
            *bound = Bound::Joint;
        }
    }
}

fn box_around(parts: &Parts, pose: &Pose, reach: f64) -> [DVec3; 2] {
    let moving = parts.moving_vertices();
    let points = moving.iter().map(|&v| pose.skin[v as usize]);
    let (min, max) =
        points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(lo, hi), p| (lo.min(p), hi.max(p)));
    let skin =
        pose.skin.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(lo, hi), p| (lo.min(*p), hi.max(*p)));
    let rim = DVec3::splat(0.002);
    [(min - reach).max(skin.0) - rim, (max + reach).min(skin.1) + rim]
}
