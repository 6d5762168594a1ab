//! The facial muscles of the built-in head as B-spline solids: shape, fibers, and attachments.
//!
//! There are 49 as in [Cong16, sec. 3]: orbicularis oris and 24 pairs. These are the muscles of facial
//! expression and of mastication, without platysma and neck; masseter, lateral pterygoid and orbicularis
//! oculi have two parts each. They are built from tables of their middle surfaces (`table`) and then fitted
//! to the bones (`build`). Sphincters are rings: the first and last rows of control points coincide and have
//! equal tangents, so that a fiber runs once around and closes. The seam of orbicularis oris is in the middle
//! of the upper lip, that of orbicularis oculi at the inner corner of the eye, where the muscle is attached
//! to bone.

mod build;
mod table;

use risorius_muscle::Muscle;

/// The muscles of the built-in head, in meters.
pub fn built_in_muscles() -> Vec<Muscle> {
    let obstacles = crate::bones::Obstacles::new();
    build::all(&table::drafts(&obstacles), &obstacles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bones::tests::bones;
    use glam::DVec3;
    use risorius_mesh::{Bvh, TriMesh};
    use risorius_muscle::MuscleEnd;

    fn muscles() -> &'static [Muscle] {
        static MUSCLES: std::sync::OnceLock<Vec<Muscle>> = std::sync::OnceLock::new();
        MUSCLES.get_or_init(built_in_muscles)
    }

    /// A grid of parameters over a solid.
    fn samples() -> impl Iterator<Item = [f64; 3]> {
        (0..=12).flat_map(|i| {
            (0..=4).flat_map(move |j| (0..=2).map(move |k| [i as f64 / 12.0, j as f64 / 4.0, k as f64 / 2.0]))
        })
    }

    fn distance(bvh: &Bvh, p: DVec3) -> f64 {
        let near = bvh.closest_point(p, f64::INFINITY).expect("a surface");
        // By the majority of three rays to the front, away from the neck, where the skin is open.
        let rays = [DVec3::new(0.1, 0.05, 1.0), DVec3::new(-0.2, 0.1, 1.0), DVec3::new(0.3, -0.2, 1.0)];
        let n_inside = rays.iter().filter(|d| bvh.ray(p, **d, 1.0).is_some_and(|h| h.from_behind)).count();
        near.distance_sq.sqrt() * if n_inside > 1 { -1.0 } else { 1.0 }
    }

    #[test]
    fn there_are_49_and_pairs_mirror_each_other() {
        assert_eq!(muscles().len(), 49);
        let mut names: Vec<&str> = muscles().iter().map(|m| m.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 49);
        let mirror = DVec3::new(-1.0, 1.0, 1.0);
        for left in muscles().iter().filter(|m| m.name.ends_with("_left")) {
            let name = left.name.replace("_left", "_right");
            let right = muscles().iter().find(|m| m.name == name).expect("a right one");
            assert_eq!((left.origin, left.insertion), (right.origin, right.insertion));
            for [u, v, w] in samples() {
                let gap = right.solid.point(u, 1.0 - v, w) - left.solid.point(u, v, w) * mirror;
                assert!(gap.length() < 1e-12, "{name}");
            }
        }
        let ring = &muscles()[0];
        for [u, v, w] in samples() {
            let gap = ring.solid.point(1.0 - u, v, w) - ring.solid.point(u, v, w) * mirror;
            assert!(gap.length() < 1e-5, "{}: {gap}", ring.name);
        }
    }

    #[test]
    fn solids_are_not_folded_and_fibers_are_unit() {
        for m in muscles() {
            for [u, v, w] in samples() {
                let (_, by) = m.solid.evaluate([u, v, w]);
                let scale = by.x_axis.length() * by.y_axis.length() * by.z_axis.length();
                assert!(by.determinant() > 0.3 * scale, "{} at {u} {v} {w}", m.name);
                assert!((m.solid.fiber(u, v, w).length() - 1.0).abs() < 1e-12);
            }
            assert!(m.solid.volume() > 5e-8 && m.solid.volume() < 15e-6, "{}: {}", m.name, m.solid.volume());
            let coarse = m.solid.surface(6).volume();
            assert!((coarse / m.solid.volume() - 1.0).abs() < 0.05, "{}", m.name);
        }
    }

    #[test]
    fn points_are_found_inside_and_not_beside() {
        for m in muscles() {
            for at in [[0.05, 0.5, 0.5], [0.5, 0.1, 0.9], [0.8, 0.7, 0.3], [0.33, 0.95, 0.05]] {
                let found = m.solid.inverse(m.solid.point(at[0], at[1], at[2])).expect("inside");
                assert!((0..3).all(|k| (found[k] - at[k]).abs() < 1e-5), "{}: {at:?} {found:?}", m.name);
                let (top, by) = m.solid.evaluate([at[0], at[1], 1.0]);
                assert!(!m.solid.contains(top + by.x_axis.cross(by.y_axis).normalize() * 3e-4), "{}", m.name);
            }
        }
    }

    #[test]
    fn muscles_lie_between_bone_and_skin_and_hold_on_to_their_bone() {
        let bones = bones();
        let [cranium, mandible] =
            [&bones.cranium, &bones.mandible].map(|s| Bvh::build(&s.positions_f32(), &s.triangles));
        let head = crate::skin::neutral();
        let mut skin = TriMesh { positions: head.parts[0].positions.clone(), ..TriMesh::default() };
        for f in head.parts[0].faces.iter() {
            skin.triangles.extend((2..f.len()).map(|k| [f[0], f[k - 1], f[k]]));
        }
        let around = Bvh::build(&skin.positions_f32(), &skin.triangles);
        for m in muscles().iter().filter(|m| !m.name.ends_with("_right")) {
            for [u, v, w] in samples() {
                let p = m.solid.point(u, v, w);
                let bone = distance(&cranium, p).min(distance(&mandible, p));
                assert!(bone > -3e-4, "{} at {u} {v} {w} is {bone} in bone", m.name);
                // Skin is thin over the lids and the bridge of the nose; smoothing may remove this much.
                let out = distance(&around, p);
                assert!(out < 1e-3, "{} at {u} {v} {w} is {out} out of the skin", m.name);
            }
            for (u, end) in [(0.0, m.origin), (1.0, m.insertion)] {
                let nearest = |bvh: &Bvh| {
                    // Muscles inside the jaw have their bone on the outer side.
                    let at =
                        |j: i32| distance(bvh, m.solid.point(u, f64::from(j / 2) / 4.0, f64::from(j % 2)));
                    (0..=9).map(at).fold(f64::INFINITY, f64::min)
                };
                let gap = match end {
                    MuscleEnd::Cranium => nearest(&cranium),
                    MuscleEnd::Mandible => nearest(&mandible),
                    MuscleEnd::Soft => 0.0,
                };
                assert!(gap < 0.004, "{} at u = {u} is {gap} off its bone", m.name);
            }
        }
    }
}
