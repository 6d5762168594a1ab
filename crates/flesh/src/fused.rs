//! Elements that join the two sides of a slit, and their removal.
//!
//! A pair of skin vertices across a slit ([`crate::slits`]) is fused if both are attached to one element, or
//! if the point halfway between them is in the air, outside the skin, and nevertheless in an element. There
//! are two causes:
//!
//! - in the pose in which the volume is meshed, the slit is narrower than an element, as near the corner of a
//!   mouth: the lattice has no point in the gap, and an element spans it;
//! - in the neutral, the surface of the volume, which is coarser than the skin, protrudes into the gap.
//!
//! Against the first, the volume is meshed in a wider pose; against the second, nodes are moved
//! ([`crate::neutral`]). Elements that join a pair even then are removed, and the skin around them is
//! attached to the elements beside them.

use crate::flesh::Flesh;
use crate::slits::Slits;
use crate::volume::{Parts, Pose, Volume, VolumeOptions, mesh_volume};
use glam::DVec3;
use risorius_base::progress::Progress;
use risorius_mesh::TetMesh;
use risorius_mesh::tet::embed::TetTree;
use risorius_mesh::tet::solid::Shell;
use risorius_mesh::tet::stuffing::TetError;

/// In the pose in which the volume is meshed, pairs closer than this are not expected to be apart, in meters.
const GAP: f64 = 0.001;

/// If fewer than one in this many pairs is joined, the elements are removed without trying a wider pose.
const FEW: usize = 50;

/// A volume in the pose in which it was meshed.
struct Parted {
    weights: Vec<f32>,
    pose: Pose,
    volume: Volume,
    /// Elements that span a slit, and how many pairs they join.
    spanning: (Vec<u32>, usize),
}

/// Meshes the volume in the pose that parts `slits`. If elements join many pairs, the pose is opened wider;
/// elements that join a pair even then are removed. Returns the volume and the pose, which is also set in
/// `slits`.
pub fn mesh_parted(
    parts: &Parts,
    slits: &mut Slits,
    options: &VolumeOptions,
    progress: &Progress,
) -> Result<(Volume, Pose), TetError> {
    let meshed = |weights: &[f32]| -> Result<Parted, TetError> {
        let pose = parts.pose(weights);
        let (volume, _) = mesh_volume(parts, &pose, options, progress)?;
        let spanning = spanning(parts, slits, &volume.mesh, &pose);
        Ok(Parted { weights: weights.to_vec(), pose, volume, spanning })
    };
    let mut best = meshed(&slits.parting_weights)?;
    for wider in &slits.wider {
        if best.spanning.1 * FEW <= slits.pairs.len() {
            break;
        }
        match meshed(wider) {
            Ok(next) if next.spanning.1 < best.spanning.1 => best = next,
            Err(cancelled @ TetError::Cancelled(_)) => return Err(cancelled),
            _ => (),
        }
    }
    let Parted { weights, pose, mut volume, spanning } = best;
    cut(&mut volume, &spanning.0);
    slits.parting_weights = weights;
    Ok((volume, pose))
}

/// The elements that span a slit in the pose in which they were made, and how many pairs they join.
pub(crate) fn spanning(parts: &Parts, slits: &Slits, mesh: &TetMesh, pose: &Pose) -> (Vec<u32>, usize) {
    let apart = |p: &&[u32; 2]| pose.skin[p[0] as usize].distance(pose.skin[p[1] as usize]) > GAP;
    let pairs: Vec<[u32; 2]> = slits.pairs.iter().filter(apart).copied().collect();
    fused(mesh, &middles(&pairs, &pose.skin, &parts.shell(pose)))
}

/// The points halfway between the vertices of `pairs` that lie in the air in a pose of the skin.
pub fn middles(pairs: &[[u32; 2]], skin: &[DVec3], shell: &Shell) -> Vec<DVec3> {
    let ends = pairs.iter().map(|p| p.map(|v| skin[v as usize]));
    ends.map(|[a, b]| a.midpoint(b)).filter(|&p| shell.value(p) < 0.0).collect()
}

/// The elements that contain one of `middles`, ascending, and how many of `middles` are in an element.
pub fn fused(mesh: &TetMesh, middles: &[DVec3]) -> (Vec<u32>, usize) {
    let tree = TetTree::prepare(mesh);
    let mut found: Vec<u32> = Vec::new();
    let mut n_pairs = 0;
    for &p in middles {
        n_pairs += usize::from(tree.locate(mesh, p, |_| true).is_some());
        // All elements at the point, not only the first, because lips overlap.
        while let Some((t, _)) = tree.locate(mesh, p, |t| found.binary_search(&t).is_err()) {
            let at = found.binary_search(&t).unwrap_or_else(|at| at);
            found.insert(at, t);
        }
    }
    (found, n_pairs)
}

/// The number of pairs of `slits` that an element joins in the neutral: both vertices are attached to it, or
/// the point halfway between them is in the air and in it.
pub fn n_fused_pairs(parts: &Parts, slits: &Slits, flesh: &Flesh, neutral: &Pose) -> usize {
    let (mesh, shell, embedding) = (flesh.mesh(), parts.shell(neutral), &flesh.embedding);
    let tree = TetTree::prepare(&mesh);
    let tet_of = |v: u32| {
        let row = embedding.vertices.binary_search(parts.skin.rig_vertices.get(v as usize)?).ok()?;
        Some(embedding.tets[row])
    };
    let joined = |pair: &&[u32; 2]| {
        let [a, b] = pair.map(tet_of);
        a.is_some() && a == b
            || middles(&[**pair], &neutral.skin, &shell)
                .iter()
                .any(|&p| tree.locate(&mesh, p, |_| true).is_some())
    };
    slits.pairs.iter().filter(joined).count()
}

/// Removes elements (`tets`, ascending) from the volume. Returns the nodes that are left, as their former
/// numbers.
pub fn cut(volume: &mut Volume, tets: &[u32]) -> Vec<u32> {
    let mut t = 0;
    volume.mesh.tets.retain(|_| {
        t += 1;
        tets.binary_search(&(t - 1)).is_err()
    });
    let left = volume.mesh.drop_unused_nodes();
    volume.bounds = left.iter().map(|&n| volume.bounds[n as usize]).collect();
    volume.skin_points = left.iter().map(|&n| volume.skin_points[n as usize]).collect();
    left
}
