//! Moves the volume from the pose in which it was meshed to the neutral, where lips and lids touch.
//!
//! The volume follows skin and jaw to the neutral ([`crate::follow`]). Its surface is coarser than the skin,
//! so the surface of the upper lip may now protrude into the gap, or into the lower lip. This is detected by
//! pairs of skin vertices across the slits: where the midpoint of a pair is outside the skin but in an
//! element, the element's nodes on the skin are moved inward, until no such midpoint is left.

use crate::domain::Bound;
use crate::follow::{Followed, Follower};
use crate::fused::{fused, middles};
use crate::slits::Slits;
use crate::volume::{Parts, Pose};
use glam::DVec3;
use risorius_base::progress::Progress;
use risorius_mesh::tet::improve::{ImproveOptions, outward_normals, smooth};
use risorius_mesh::tet::solid::Shell;
use risorius_mesh::tet::tet_mesh::edge_matrix;
use risorius_mesh::{TetMesh, TriMesh};
use risorius_solve::SolveError;

/// Distance by which nodes are moved inward in each round, in meters.
const INSET: f64 = 0.0002;

/// Largest number of rounds of moving nodes inward.
const ROUNDS: usize = 40;

/// The volume in the neutral.
#[derive(Debug, Clone)]
pub struct Neutral {
    /// Node positions.
    pub nodes: Vec<DVec3>,
    /// Result of the solves.
    pub followed: Followed,
    /// Elements that still contain the midpoint of a slit pair that is in the air, ascending; none unless
    /// nodes could not be moved inward far enough.
    pub fused: Vec<u32>,
}

/// Moves the volume of `follower`, whose rest pose parts the slits, to `neutral`.
pub fn carry_to_neutral(
    follower: &Follower,
    parts: &Parts,
    slits: &Slits,
    neutral: &Pose,
    progress: &Progress,
) -> Result<Neutral, SolveError> {
    let followed = follower.follow(neutral, progress)?;
    let mut mesh = TetMesh { nodes: followed.positions.clone(), tets: follower.tets().to_vec() };
    let skin =
        Shell::prepare(&TriMesh { positions: neutral.skin.clone(), triangles: parts.skin.triangles.clone() });
    let middles = middles(&slits.pairs, &neutral.skin, &skin);
    // Elements are sheared in the neutral; nodes without a target are smoothed.
    let led: Vec<bool> =
        follower.bounds().iter().map(|b| !matches!(b, Bound::Inside | Bound::Joint | Bound::Eye)).collect();
    smooth(&mut mesh, &led, None, &ImproveOptions::default(), progress)?;
    let volumes: Vec<f64> =
        mesh.tets.iter().map(|&t| edge_matrix(follower.rest(), t).determinant()).collect();
    let mut glued = fused(&mesh, &middles).0;
    for _ in 0..ROUNDS {
        if glued.is_empty() {
            break;
        }
        draw_inwards(&mut mesh, follower.bounds(), &glued, &volumes);
        glued = fused(&mesh, &middles).0;
    }
    Ok(Neutral { nodes: mesh.nodes, followed, fused: glued })
}

/// Moves the skin nodes of `tets` against their outward normals, unless an element would become thin.
fn draw_inwards(mesh: &mut TetMesh, bounds: &[Bound], tets: &[u32], volumes: &[f64]) {
    let normals = outward_normals(mesh);
    let mut nodes: Vec<u32> = tets.iter().flat_map(|&t| mesh.tets[t as usize]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.retain(|&v| bounds[v as usize] == Bound::Skin);
    let around = risorius_mesh::tet::tet_mesh::tets_of_nodes(mesh.nodes.len(), &mesh.tets);
    for v in nodes {
        let before = mesh.nodes[v as usize];
        mesh.nodes[v as usize] = before - normals[v as usize] * INSET;
        let thin = |&t: &u32| {
            edge_matrix(&mesh.nodes, mesh.tets[t as usize]).determinant() < 0.1 * volumes[t as usize]
        };
        if around.of(v as usize).iter().any(thin) {
            mesh.nodes[v as usize] = before;
        }
    }
}
