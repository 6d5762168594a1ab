//! Muscles in a tet mesh: the part of every tet that each muscle fills, and the mean fiber direction there.
//!
//! As in [Cong16, sec. 3]: sample points are spread evenly over each tet; those inside a muscle's solid have
//! its fiber direction at their parameters; the fraction of points inside is the overlap, and the normalized
//! mean of the directions is the fiber of the muscle in the tet. A tet has one entry for each muscle that it
//! meets. The points are fixed, so results are the same every time and on any number of threads. In: n tets,
//! m muscles; time grows with the tets whose boxes meet. Limits: a muscle thinner than the distance of sample
//! points, about a quarter of an edge, can be missed in single tets, though not on average.

use crate::Muscle;
use crate::locate::Locator;
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::TetMesh;

/// Sample points are where five planes parallel to each side cross: 35 of them.
const PLANES: usize = 4;

/// One muscle in one tet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TetFiber {
    /// Index of the muscle.
    pub muscle: u32,
    /// Unit mean direction of its fibers.
    pub direction: DVec3,
    /// The part of the tet that it fills, 0 to 1.
    pub share: f64,
}

/// Muscles in a tet mesh.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlap {
    /// Index of the first fiber of each tet, and the end.
    pub first: Vec<u32>,
    /// The fibers, tet by tet, in the order of the muscles.
    pub fibers: Vec<TetFiber>,
    /// Of each muscle, the volume that lies in tets, cubic meters.
    pub volumes: Vec<f64>,
}

/// Barycentric weights of the sample points: evenly spread, each for the same volume.
fn samples() -> Vec<[f64; 4]> {
    let mut all = Vec::new();
    for i in 0..=PLANES {
        for j in 0..=PLANES - i {
            for k in 0..=PLANES - i - j {
                let counts = [i, j, k, PLANES - i - j - k];
                all.push(counts.map(|n| (n as f64 + 0.25) / (PLANES + 1) as f64));
            }
        }
    }
    all
}

/// The overlap of muscles with a mesh.
pub fn overlap(mesh: &TetMesh, muscles: &[Muscle]) -> Overlap {
    let samples = samples();
    let locators: Vec<Locator> = muscles.iter().map(|m| Locator::prepare(&m.solid)).collect();
    let of_tet = |tet: &[u32; 4]| -> Vec<TetFiber> {
        let nodes = tet.map(|v| mesh.nodes[v as usize]);
        let low = nodes.into_iter().fold(DVec3::INFINITY, DVec3::min);
        let high = nodes.into_iter().fold(DVec3::NEG_INFINITY, DVec3::max);
        let meets = |locator: &Locator| {
            let [from, to] = locator.bounds();
            low.cmple(to).all() && high.cmpge(from).all()
        };
        let near = locators.iter().enumerate().filter(|(_, locator)| meets(locator));
        near.filter_map(|(muscle, locator)| {
            let (mut count, mut sum) = (0usize, DVec3::ZERO);
            for weights in &samples {
                let p = nodes.iter().zip(weights).map(|(node, w)| *node * *w).sum();
                if let Some([u, v, w]) = locator.find(p) {
                    count += 1;
                    sum += muscles[muscle].solid.fiber(u, v, w);
                }
            }
            let direction = sum.normalize_or_zero();
            let share = count as f64 / samples.len() as f64;
            (direction != DVec3::ZERO).then_some(TetFiber { muscle: muscle as u32, direction, share })
        })
        .collect()
    };
    let per_tet: Vec<Vec<TetFiber>> = mesh.tets.par_iter().with_min_len(32).map(of_tet).collect();
    let mut result = Overlap { first: vec![0], volumes: vec![0.0; muscles.len()], ..Overlap::default() };
    for (fibers, volume) in per_tet.into_iter().zip(mesh.volumes()) {
        fibers.iter().for_each(|f| result.volumes[f.muscle as usize] += f.share * volume);
        result.fibers.extend(fibers);
        result.first.push(result.fibers.len() as u32);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MuscleEnd, SplineSolid};

    /// A box of cells of five tets each.
    fn block(n: usize, size: f64) -> TetMesh {
        let node = |i: usize, j: usize, k: usize| ((i * (n + 1) + j) * (n + 1) + k) as u32;
        let mut mesh = TetMesh::default();
        for i in 0..=n {
            for j in 0..=n {
                for k in 0..=n {
                    mesh.nodes.push(DVec3::new(i as f64, j as f64, k as f64) * (size / n as f64));
                }
            }
        }
        for i in 0..n {
            for j in 0..n {
                for k in 0..n {
                    for path in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]] {
                        let mut at = [i, j, k];
                        let mut tet = [node(i, j, k); 4];
                        for (corner, axis) in path.into_iter().enumerate() {
                            at[axis] += 1;
                            tet[corner + 1] = node(at[0], at[1], at[2]);
                        }
                        if matches!(path, [0, 2, 1] | [2, 1, 0] | [1, 0, 2]) {
                            tet.swap(2, 3);
                        }
                        mesh.tets.push(tet);
                    }
                }
            }
        }
        mesh
    }

    /// A straight bar from `from` along x.
    fn bar(from: DVec3, size: DVec3) -> Muscle {
        let mut control = Vec::new();
        for i in 0..4 {
            for j in 0..3 {
                for k in 0..2 {
                    let at = DVec3::new(f64::from(i) / 3.0, f64::from(j) / 2.0, f64::from(k));
                    control.push(from + at * size);
                }
            }
        }
        let solid = SplineSolid { counts: [4, 3, 2], control };
        Muscle { name: "bar".into(), origin: MuscleEnd::Soft, insertion: MuscleEnd::Soft, solid }
    }

    #[test]
    fn shares_add_up_to_the_volume_and_several_muscles_count() {
        let mesh = block(8, 0.04);
        let muscles = [
            bar(DVec3::new(0.005, 0.011, 0.013), DVec3::new(0.03, 0.009, 0.004)),
            bar(DVec3::new(0.005, 0.011, 0.016), DVec3::new(0.03, 0.009, 0.004)),
            bar(DVec3::new(0.03, 0.01, 0.03), DVec3::new(0.03, 0.01, 0.005)),
            bar(DVec3::splat(0.06), DVec3::splat(0.01)),
        ];
        let found = overlap(&mesh, &muscles);
        assert_eq!(found.first.len(), mesh.tets.len() + 1);
        let inside = [30.0 * 9.0 * 4.0, 30.0 * 9.0 * 4.0, 10.0 * 10.0 * 5.0, 0.0].map(|v| v * 1e-9);
        for (volume, expected) in found.volumes.iter().zip(inside) {
            assert!((volume - expected).abs() <= 0.03 * expected, "{volume} {expected}");
        }
        assert!(found.fibers.iter().all(|f| f.direction.distance(DVec3::X) < 1e-9 && f.share <= 1.0));
        let both = found.first.windows(2).filter(|w| w[1] - w[0] == 2).count();
        assert!(both > 20, "{both} tets have two muscles");
    }

    #[test]
    fn samples_are_spread_evenly() {
        let samples = samples();
        assert_eq!(samples.len(), 35);
        for k in 0..4 {
            let mean = samples.iter().map(|w| w[k]).sum::<f64>() / 35.0;
            assert!((mean - 0.25).abs() < 1e-12);
        }
        assert!(samples.iter().all(|w| (w.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    }
}
