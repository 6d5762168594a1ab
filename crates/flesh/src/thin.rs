//! Thin skin: lids, nostrils and the rims of lips, where skin lies close behind skin and no element would fit
//! between.
//!
//! The volume need not end at the skin, because the result is the artist's skin displaced by the volume
//! around it. So where skin is thin, the volume extends beyond it on both sides by the missing thickness. It
//! takes at most a fraction of the air gap in front of the skin, in the neutral and in the meshed pose, so
//! that separate parts stay separate.

use glam::DVec3;
use risorius_mesh::tet::solid::Shell;
use risorius_mesh::{Bvh, TriMesh};

/// Largest extension of the volume beyond the skin, in meters.
const FARTHEST: f64 = 0.0025;

/// Fraction of the missing thickness that is added on each side.
const EACH_SIDE: f64 = 0.6;

/// Largest fraction of the air gap in front of the skin that is used.
const OF_AIR: f64 = 0.25;

/// Rays start this far from the vertex, in meters.
const CLEAR: f64 = 1e-5;

/// Smaller extensions are ignored, in meters.
const NOTICED: f64 = 1e-4;

/// The triangles of thin skin.
pub struct ThinSkin {
    tree: Bvh,
    /// Extension of the volume beyond the corners of each of the tree's triangles.
    reaches: Vec<[f64; 3]>,
}

impl ThinSkin {
    /// Finds where `skin` is thinner than `wanted` at a vertex; `shell` is the same skin prepared for
    /// queries. The air gap is measured in each of `poses` of the same skin.
    pub fn find(skin: &TriMesh, shell: &Shell, poses: [&TriMesh; 2], wanted: impl Fn(DVec3) -> f64) -> Self {
        let normals = skin.vertex_normals();
        let lacks: Vec<f64> = (skin.positions.iter().zip(&normals))
            .map(|(&p, &n)| {
                let wanted = wanted(p);
                let behind = shell.tree.ray(p - n * CLEAR, -n, wanted);
                let leaves = behind.filter(|hit| skin.normal(hit.triangle).dot(n) < 0.0);
                EACH_SIDE * leaves.map_or(0.0, |hit| wanted - hit.distance)
            })
            .collect();
        let mut reach: Vec<f64> = lacks.iter().map(|lack| lack.min(FARTHEST)).collect();
        for pose in poses {
            let shell = Shell::prepare(pose);
            for ((reach, &p), n) in reach.iter_mut().zip(&pose.positions).zip(pose.vertex_normals()) {
                if *reach > 0.0 {
                    let air = shell
                        .tree
                        .ray(p + n * CLEAR, n, FARTHEST / OF_AIR)
                        .map_or(FARTHEST / OF_AIR, |h| h.distance);
                    *reach = reach.min(OF_AIR * air);
                }
            }
        }
        let is_thin = |t: &&[u32; 3]| t.iter().any(|&v| reach[v as usize] > NOTICED);
        let triangles: Vec<[u32; 3]> = skin.triangles.iter().filter(is_thin).copied().collect();
        let reaches = triangles.iter().map(|t| t.map(|v| reach[v as usize])).collect();
        Self { tree: Bvh::build(&skin.positions_f32(), &triangles), reaches }
    }

    /// Whether the extended volume contains `p`, given that `p` is outside the skin.
    pub fn reaches(&self, p: DVec3) -> bool {
        let Some(closest) = self.tree.closest_point(p, FARTHEST) else { return false };
        let reaches = self.reaches[closest.triangle as usize];
        let reach: f64 = reaches.iter().zip(closest.barycentric).map(|(r, w)| r * w).sum();
        closest.distance_sq < reach * reach
    }

    /// Whether the volume might extend beyond the skin somewhere in the ball.
    pub fn is_near(&self, center: DVec3, radius: f64) -> bool {
        self.tree.comes_within(center, radius + FARTHEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flat box: `thickness` high, its top at y = `top`.
    fn slab(thickness: f64, top: f64) -> TriMesh {
        let mut positions = Vec::new();
        for y in [top - thickness, top] {
            positions.extend(
                [(0.0, 0.0), (0.02, 0.0), (0.02, 0.02), (0.0, 0.02)].map(|(x, z)| DVec3::new(x, y, z)),
            );
        }
        let quads = [[0, 1, 2, 3], [7, 6, 5, 4], [0, 4, 5, 1], [1, 5, 6, 2], [2, 6, 7, 3], [3, 7, 4, 0]];
        let triangles = quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
        TriMesh { positions, triangles }
    }

    fn thin(skin: &TriMesh) -> ThinSkin {
        ThinSkin::find(skin, &Shell::prepare(skin), [skin, skin], |_| 0.003)
    }

    /// Normals at the corners of a box are tilted, so points within the faces are added to cast rays from.
    fn refined(mut surface: TriMesh) -> TriMesh {
        for _ in 0..3 {
            let old = std::mem::take(&mut surface.triangles);
            for [a, b, c] in old {
                let m = surface.positions.len() as u32;
                let middle = [a, b, c].map(|v| surface.positions[v as usize]).iter().sum::<DVec3>() / 3.0;
                surface.positions.push(middle);
                surface.triangles.extend([[a, b, m], [b, c, m], [c, a, m]]);
            }
        }
        surface
    }

    #[test]
    fn flesh_reaches_beyond_a_thin_sheet_and_not_beyond_a_thick_one() {
        let sheet = refined(slab(0.001, 0.0));
        assert!(sheet.volume() > 0.0, "the box faces outwards");
        let above = |y: f64| DVec3::new(0.009, y, 0.004);
        assert!(thin(&sheet).reaches(above(0.0008)) && thin(&sheet).reaches(above(-0.0018)));
        assert!(!thin(&sheet).reaches(above(0.003)));
        assert!(!thin(&refined(slab(0.01, 0.0))).reaches(above(0.0001)));
    }

    #[test]
    fn flesh_leaves_three_quarters_of_the_air_before_other_skin() {
        let mut two = refined(slab(0.001, 0.0));
        two.append(&refined(slab(0.001, 0.003)));
        let above = |y: f64| DVec3::new(0.009, y, 0.004);
        let found = thin(&two);
        assert!(
            found.reaches(above(0.0003)) && !found.reaches(above(0.0006)) && !found.reaches(above(0.001))
        );
    }
}
