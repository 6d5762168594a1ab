//! Which skin can be seen from outside, in a state of the face.
//!
//! From each vertex rays leave over the half space in front of it. Skin is seen as far as they get away from
//! the head: wings of the nose, folded lids and lip lines are seen by few, the lining of mouth and sockets by
//! none. A state counts, because closed lids show skin that open ones hide.

use crate::solids::Solids;
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::{Bvh, TriMesh};

/// Rays from a vertex.
const N_RAYS: usize = 24;

/// Rays start this far from the skin, meters.
const LIFT: f64 = 3e-4;

/// Rays that get this far have left the head, meters.
const FAR: f64 = 0.15;

/// Parts of the rays that leave, at which skin begins to count and counts fully.
const SEEN: [f64; 2] = [0.08, 0.3];

/// How much each vertex of `skin` can be seen, 0 to 1; `solids` hide it as well.
pub fn visible(skin: &TriMesh, solids: &Solids) -> Vec<f64> {
    let first = skin.n_vertices() as u32;
    let mut all = skin.clone();
    all.positions.extend(&solids.positions);
    all.triangles.extend(solids.triangles.iter().map(|t| t.map(|v| v + first)));
    let tree = Bvh::build(&all.positions_f32(), &all.triangles);
    let normals = skin.vertex_normals();
    let directions = directions();
    let one = |v: usize| {
        let n = normals[v];
        if n == DVec3::ZERO {
            return 0.0;
        }
        let (a, b) = n.any_orthonormal_pair();
        let start = skin.positions[v] + n * LIFT;
        let leaves = |d: &&DVec3| tree.ray(start, a * d.x + b * d.y + n * d.z, FAR).is_none();
        let part = directions.iter().filter(leaves).count() as f64 / N_RAYS as f64;
        ((part - SEEN[0]) / (SEEN[1] - SEEN[0])).clamp(0.0, 1.0)
    };
    (0..skin.n_vertices()).into_par_iter().map(one).collect()
}

/// Rays of a point of a scan that must leave the head for the point to be seen.
const FEW: usize = 2;

/// Whether a point with a unit normal on the surface of `tree` can be seen at all; `unit` is the length of a
/// meter there. Mouth bags and the inner sides of lids that some scans have are seen by no camera.
pub fn is_seen(tree: &Bvh, p: DVec3, normal: DVec3, unit: f64) -> bool {
    let (a, b) = normal.any_orthonormal_pair();
    let start = p + normal * (LIFT * unit);
    let leaves = |d: &DVec3| tree.ray(start, a * d.x + b * d.y + normal * d.z, FAR * unit).is_none();
    directions().into_iter().filter(leaves).take(FEW).count() == FEW
}

/// Directions about +z, even in the cosine from 1 down to a fifth.
fn directions() -> Vec<DVec3> {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let one = |k: usize| {
        let z = 1.0 - 0.8 * (k as f64 + 0.5) / N_RAYS as f64;
        let (r, angle) = ((1.0 - z * z).sqrt(), golden * k as f64);
        DVec3::new(r * angle.cos(), r * angle.sin(), z)
    };
    (0..N_RAYS).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_box_is_seen_from_its_opening() {
        // A floor between four walls: seen if the walls are low.
        let pit = |height: f64| {
            let at = |x: f64, y: f64, z: f64| DVec3::new(x, y, z) * 0.01;
            let mut mesh = TriMesh::default();
            for z in [0.0, height] {
                mesh.positions.extend([at(-1., -1., z), at(1., -1., z), at(1., 1., z), at(-1., 1., z)]);
            }
            mesh.positions.push(DVec3::ZERO);
            mesh.triangles.extend((0..4u32).map(|k| [k, (k + 1) % 4, 8]));
            for k in 0..4u32 {
                let l = (k + 1) % 4;
                mesh.triangles.extend([[k, l + 4, l], [k, k + 4, l + 4]]);
            }
            visible(&mesh, &Solids::default())[8]
        };
        assert_eq!(pit(0.2), 1.0);
        assert_eq!(pit(20.0), 0.0);
    }
}
