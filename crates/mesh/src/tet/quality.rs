//! Shape quality of the tets of a mesh.
//!
//! Two measures [Klingner07, quality measures]. Dihedral angles determine how much too stiff a flat element
//! is; [`crate::tet::improve`] optimizes their sines. The ratio of volume to cubed root mean square edge,
//! scaled to 1 for the regular tet, is 0 for a flat one and negative for an inverted one. It also detects
//! needles with good angles.

use crate::TetMesh;
use glam::DVec3;
use rayon::prelude::*;

/// Shape statistics of a mesh's tets; all zero for a mesh without tets.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quality {
    /// Smallest dihedral angle of all, degrees.
    pub min_dihedral_deg: f64,
    /// Mean over tets of their smallest dihedral angle, degrees.
    pub mean_min_dihedral_deg: f64,
    /// Largest dihedral angle of all, degrees.
    pub max_dihedral_deg: f64,
    /// Least of [`volume_length`].
    pub min_volume_length: f64,
    /// Mean of [`volume_length`].
    pub mean_volume_length: f64,
    /// The tet with the smallest dihedral angle.
    pub worst_tet: u32,
    /// Tets without positive volume.
    pub n_inverted: usize,
    /// Largest volume over smallest; infinite with inverted tets.
    pub volume_spread: f64,
}

impl Quality {
    /// Measures a mesh.
    pub fn of(mesh: &TetMesh) -> Self {
        let of_tet = |&tet: &[u32; 4]| {
            let corners = tet.map(|v| mesh.nodes[v as usize]);
            (min_max_dihedral(corners), volume_length(corners), volume_6(corners))
        };
        let all: Vec<((f64, f64), f64, f64)> = mesh.tets.par_iter().map(of_tet).collect();
        let n = all.len().max(1) as f64;
        let mut q = Self { min_dihedral_deg: 180.0, min_volume_length: 1.0, ..Self::default() };
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for (t, &((low, high), ratio, volume)) in all.iter().enumerate() {
            if low < q.min_dihedral_deg {
                (q.min_dihedral_deg, q.worst_tet) = (low, t as u32);
            }
            q.max_dihedral_deg = q.max_dihedral_deg.max(high);
            q.min_volume_length = q.min_volume_length.min(ratio);
            q.mean_min_dihedral_deg += low / n;
            q.mean_volume_length += ratio / n;
            q.n_inverted += usize::from(volume <= 0.0);
            (least, most) = (least.min(volume), most.max(volume));
        }
        q.volume_spread = if least > 0.0 { most / least } else { f64::INFINITY };
        if all.is_empty() { Self::default() } else { q }
    }
}

/// Six times the signed volume.
pub(crate) fn volume_6([a, b, c, d]: [DVec3; 4]) -> f64 {
    (b - a).dot((c - a).cross(d - a))
}

/// Signed volume over cubed root mean square edge, 1 for a regular tet.
pub(crate) fn volume_length(corners: [DVec3; 4]) -> f64 {
    let [a, b, c, d] = corners;
    let mean_sq =
        [b - a, c - a, d - a, c - b, d - b, d - c].iter().map(|e| e.length_squared()).sum::<f64>() / 6.0;
    if mean_sq > 0.0 {
        std::f64::consts::SQRT_2 * volume_6(corners) / (mean_sq * mean_sq.sqrt())
    } else {
        0.0
    }
}

/// Smallest and largest dihedral angle in degrees; 0 and 180 for an inverted or flat tet.
pub(crate) fn min_max_dihedral(corners: [DVec3; 4]) -> (f64, f64) {
    if volume_6(corners) <= 0.0 {
        return (0.0, 180.0);
    }
    let [a, b, c, d] = corners;
    let normals = [(d - b).cross(c - b), (c - a).cross(d - a), (d - a).cross(b - a), (b - a).cross(c - a)];
    let (mut low, mut high) = (-1.0f64, 1.0f64);
    for i in 0..4 {
        for j in i + 1..4 {
            // Outward normals of two faces make 180 degrees minus the angle between the faces.
            let cosine = -normals[i].dot(normals[j]) / (normals[i].length() * normals[j].length());
            (low, high) = (low.max(cosine), high.min(cosine));
        }
    }
    (low.clamp(-1.0, 1.0).acos().to_degrees(), high.clamp(-1.0, 1.0).acos().to_degrees())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_tets() {
        let regular =
            [[1.0, 1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]].map(DVec3::from);
        let (low, high) = min_max_dihedral(regular);
        assert!((low - 70.5288).abs() < 1e-3 && (high - 70.5288).abs() < 1e-3);
        assert!((volume_length(regular) - 1.0).abs() < 1e-12);
        let [a, b, c, d] = regular;
        assert!((volume_length([a, c, b, d]) + 1.0).abs() < 1e-12);
        let corner = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let (low, high) = min_max_dihedral(corner);
        assert!((low - 54.7356).abs() < 1e-3 && (high - 90.0).abs() < 1e-9);
        assert_eq!(min_max_dihedral([DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::ONE - DVec3::Z]), (0.0, 180.0));
    }
}
