//! Lips and lids that touch: pairs of vertices on both sides of a slit.
//!
//! Closest points say nothing about surfaces that meet: seen from outside, closed lips are one surface with a
//! groove. Pairs that face each other at a small distance in the rest state are held together while a surface
//! bends ([`crate::deform`]), so that a mouth that is closed stays closed, and none side passes the other.

use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::{Bvh, TriMesh};

/// Widest slit, meters.
const WIDEST: f64 = 1.5e-3;

/// Pairs of vertices that face each other across a slit, the lower number first.
pub fn slits(mesh: &TriMesh) -> Vec<[u32; 2]> {
    let normals = mesh.vertex_normals();
    let flat = mesh.positions_f32();
    let tree = Bvh::of_points(&flat);
    let opposite = |v: usize| {
        let (p, n) = (mesh.positions[v], normals[v]);
        let faces = |u: u32| {
            let (off, m) = (mesh.positions[u as usize] - p, normals[u as usize]);
            // Outside of each other, not the two sides of a thin sheet.
            n.dot(m) < -0.5 && off.dot(n) >= 0.5 * off.length() && -off.dot(m) >= 0.5 * off.length()
        };
        let found = tree.closest_within(p, WIDEST, |_, [u, _, _]| u as usize != v && faces(u))?;
        Some([(v as u32).min(found.triangle), (v as u32).max(found.triangle)])
    };
    let mut pairs: Vec<[u32; 2]> = (0..mesh.n_vertices()).into_par_iter().filter_map(opposite).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// How far pairs that touched have passed each other, in meters: the deepest, and the number of pairs deeper
/// than a tenth of a millimeter. `rest` is the state in which they touched.
pub fn passed(mesh: &TriMesh, rest: &[DVec3], pairs: &[[u32; 2]]) -> (f64, usize) {
    let (now, before) = (mesh.vertex_normals(), normals_of(mesh, rest));
    let gap = |p: &[DVec3], normals: &[DVec3], [a, b]: [u32; 2]| {
        let (a, b) = (a as usize, b as usize);
        (p[b] - p[a]).dot((normals[a] - normals[b]).normalize_or_zero())
    };
    let deep = |pair: &[u32; 2]| {
        // What overlapped at rest may overlap.
        (gap(rest, &before, *pair).min(0.0) - gap(&mesh.positions, &now, *pair)).max(0.0)
    };
    let all: Vec<f64> = pairs.iter().map(deep).collect();
    (all.iter().copied().fold(0.0, f64::max), all.iter().filter(|d| **d > 1e-4).count())
}

fn normals_of(mesh: &TriMesh, positions: &[DVec3]) -> Vec<DVec3> {
    TriMesh { positions: positions.to_vec(), triangles: mesh.triangles.clone() }.vertex_normals()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two square sheets, facing each other across a gap.
    fn sheets(gap: f64) -> TriMesh {
        let mut mesh = TriMesh::default();
        for (side, z) in [0.0, gap].into_iter().enumerate() {
            let first = mesh.n_vertices() as u32;
            for k in 0..25u32 {
                mesh.positions
                    .push(DVec3::new(f64::from(k % 5), f64::from(k / 5), 0.0) * 1e-3 + DVec3::Z * z);
            }
            for k in 0..16u32 {
                let v = first + k / 4 * 5 + k % 4;
                let mut two = [[v, v + 1, v + 6], [v, v + 6, v + 5]];
                if side == 1 {
                    two.iter_mut().for_each(|t| t.swap(1, 2));
                }
                mesh.triangles.extend(two);
            }
        }
        mesh
    }

    #[test]
    fn sheets_that_face_each_other_are_paired() {
        assert_eq!(slits(&sheets(1e-3)).len(), 25);
        assert!(slits(&sheets(3e-3)).is_empty());
        // Behind each other: a thin sheet with two sides.
        let mut thin = sheets(1e-3);
        thin.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        assert!(slits(&thin).is_empty());
    }

    #[test]
    fn passing_is_measured() {
        let rest = sheets(1e-3);
        let pairs = slits(&rest);
        let mut now = rest.clone();
        now.positions[25..].iter_mut().for_each(|p| p.z = -5e-4);
        let (deep, n) = passed(&now, &rest.positions, &pairs);
        assert!((deep - 5e-4).abs() < 1e-9 && n == 25, "{deep} {n}");
        assert_eq!(passed(&rest, &rest.positions, &pairs), (0.0, 0));
    }
}
