//! Rigid parts: cranium, mandible, and the joint between them.
//!
//! The built-in bones are modeled as signed distance functions (`implicit`) from tables of a few dozen
//! primitives. One half is triangulated (`contour`), simplified (`simplify`) and mirrored. The results are
//! closed manifolds, symmetric to the bit.

mod contour;
mod cranium;
mod implicit;
mod mandible;
mod simplify;

use glam::{DQuat, DVec3};
use implicit::Sculpt;
use risorius_base::Rigid;
use risorius_mesh::TriMesh;
use simplify::Goal;

/// Cranium and mandible as closed surfaces, in meters, +Y up, +Z front, +X the character's left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bones {
    /// Skull without the jaw, solid: the brain case is filled. Includes the upper jaw, not the teeth.
    pub cranium: TriMesh,
    /// Lower jaw in the neutral pose (teeth closed or nearly).
    pub mandible: TriMesh,
    /// How the mandible moves.
    pub joint: JawJoint,
}

/// The jaw joint: two condyles that rotate about the line between them and slide along their tracks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JawJoint {
    /// Centers of the left and right condyle, jaw closed.
    pub condyles: [DVec3; 2],
    /// Unit direction in which a condyle slides when the jaw opens or protrudes: forward and down.
    pub track: DVec3,
    /// Largest slide along the track, in meters (about 0.012).
    pub track_length: f64,
}

impl JawJoint {
    /// Point between the condyles.
    pub fn center(&self) -> DVec3 {
        (self.condyles[0] + self.condyles[1]) / 2.0
    }

    /// Motion of the jaw: the left and right condyle slide by `slides` (fractions of the track; may be
    /// slightly negative), then the jaw opens by `angle` (radians) about the condyle axis.
    pub fn motion(&self, angle: f64, slides: [f64; 2]) -> Rigid {
        let moved = [0, 1].map(|side| self.condyles[side] + self.track * (self.track_length * slides[side]));
        let axis_before = (self.condyles[0] - self.condyles[1]).normalize_or(DVec3::X);
        let axis = (moved[0] - moved[1]).normalize_or(DVec3::X);
        let turn = DQuat::from_rotation_arc(axis_before, axis);
        let center = (moved[0] + moved[1]) / 2.0;
        let rotation = DQuat::from_axis_angle(axis, angle) * turn;
        Rigid { rotation, translation: center - rotation * self.center() }
    }
}

/// Skull, jaw and joint of the built-in head. Takes a fraction of a second; cache the result.
pub fn built_in_bones() -> Bones {
    let (cranium, mandible) = rayon::join(
        || meshed(&cranium::sculpt(), 2.5, &Goal { n_vertices: 2700, longest: 12.0 }),
        || meshed(&mandible::sculpt(), 2.0, &Goal { n_vertices: 1100, longest: 8.0 }),
    );
    Bones { cranium, mandible, joint: built_in_joint() }
}

/// The joint of the built-in head: condyles 100 mm apart, tracks of 12 mm that slope down by 30 degrees.
pub(crate) fn built_in_joint() -> JawJoint {
    JawJoint {
        condyles: [DVec3::new(0.05, 0.0, 0.0), DVec3::new(-0.05, 0.0, 0.0)],
        track: DVec3::new(0.0, -0.5, 0.75f64.sqrt()),
        track_length: 0.012,
    }
}

/// The surface of a sculpt, in meters.
fn meshed(sculpt: &Sculpt, step: f64, goal: &Goal) -> TriMesh {
    let fine =
        contour::half_surface(sculpt, DVec3::new(0.0, -100.0, -110.0), DVec3::new(84.0, 150.0, 120.0), step);
    let mut half = simplify::simplify(&fine, goal);
    simplify::relax(&mut half, sculpt, 4);
    let mut whole = contour::mirrored(&half);
    whole.positions.iter_mut().for_each(|p| *p *= 1e-3);
    whole
}

/// Obstacles that muscles must not enter, in millimeters: the sculpts of the bones, teeth and eyeballs.
pub(crate) struct Obstacles {
    parts: [Sculpt; 3],
}

impl Obstacles {
    /// The obstacles of the built-in head.
    pub(crate) fn new() -> Self {
        let mut soft_parts = Sculpt::default();
        soft_parts.add(0.0, implicit::ellipsoid([31.5, 24.0, 64.0], [12.2; 3]));
        // Both rows of teeth.
        soft_parts.add(
            0.0,
            implicit::ribbon(&[
                [0.0, -47.5, 86.5, 10.0, 3.5, 0.0],
                [9.0, -47.5, 84.0, 10.0, 3.5, 0.0],
                [17.0, -47.5, 76.0, 10.0, 3.8, 0.0],
                [23.0, -47.5, 65.0, 9.0, 4.5, 0.0],
                [27.5, -47.5, 52.0, 8.5, 5.0, 0.0],
                [29.5, -47.5, 42.0, 8.0, 5.0, 0.0],
            ]),
        );
        Self { parts: [cranium::sculpt(), mandible::sculpt(), soft_parts] }
    }

    /// Signed distance from the nearest of them.
    pub(crate) fn distance(&self, p: DVec3) -> f64 {
        self.parts.iter().map(|s| s.distance(p)).fold(f64::INFINITY, f64::min)
    }

    /// Direction away from the nearest of them.
    pub(crate) fn gradient(&self, p: DVec3) -> DVec3 {
        let nearest = self.parts.iter().min_by(|a, b| a.distance(p).total_cmp(&b.distance(p)));
        nearest.map_or(DVec3::ZERO, |s| s.gradient(p))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::depths::built_in_depths;
    use risorius_mesh::{Bvh, Edges, Polygons};

    /// Target positions of the built-in skin at the landmarks of [`crate::depths`], in millimeters.
    const SKIN: [(&str, [f64; 3]); 16] = [
        ("glabella", [0.0, 48.0, 95.0]),
        ("nasion", [0.0, 33.0, 90.0]),
        ("rhinion", [0.0, 14.0, 103.0]),
        ("subnasale", [0.0, -22.0, 100.0]),
        ("mid_philtrum", [0.0, -30.0, 100.0]),
        ("lip_upper_middle", [0.0, -37.0, 102.0]),
        ("supramentale", [0.0, -62.0, 93.0]),
        ("pogonion", [0.0, -78.0, 95.0]),
        ("gnathion", [0.0, -91.0, 84.0]),
        ("gonion", [54.0, -62.0, 14.0]),
        ("zygion", [68.0, 8.0, 45.0]),
        ("orbitale", [31.0, 8.0, 76.0]),
        ("supraorbitale", [33.0, 42.0, 84.0]),
        ("frontotemporale", [56.0, 55.0, 62.0]),
        ("vertex", [0.0, 135.0, -12.0]),
        ("trichion", [0.0, 100.0, 80.0]),
    ];

    /// Made once for all tests of the crate.
    pub(crate) fn bones() -> &'static Bones {
        static BONES: std::sync::OnceLock<Bones> = std::sync::OnceLock::new();
        BONES.get_or_init(built_in_bones)
    }

    fn tree(s: &TriMesh) -> Bvh {
        Bvh::build(&s.positions_f32(), &s.triangles)
    }

    /// Distance from a closed surface, negative inside, by the nearest triangle's side.
    fn signed_distance(s: &TriMesh, bvh: &Bvh, p: DVec3) -> f64 {
        let near = bvh.closest_point(p, f64::INFINITY).expect("a surface");
        let inside = bvh.ray(p, DVec3::new(0.31, 0.87, 0.38), 1.0).is_some_and(|h| h.from_behind);
        assert!((near.triangle as usize) < s.triangles.len());
        near.distance_sq.sqrt() * if inside { -1.0 } else { 1.0 }
    }

    #[test]
    fn bones_are_closed_manifolds_and_symmetric() {
        let bones = bones();
        for (s, n, liters) in
            [(&bones.cranium, 3000..6000, 1.6..2.5), (&bones.mandible, 1500..3000, 0.05..0.1)]
        {
            let edges = Edges::of(&Polygons::from_triangles(&s.triangles));
            assert!(
                edges.boundary().is_empty()
                    && edges.non_manifold().is_empty()
                    && edges.inconsistent().is_empty()
            );
            assert!(n.contains(&s.positions.len()), "{} vertices", s.positions.len());
            assert!(liters.contains(&(s.volume() * 1e3)), "{} liters", s.volume() * 1e3);
            let mut keys: Vec<[u64; 3]> =
                s.positions.iter().map(|p| p.to_array().map(f64::to_bits)).collect();
            keys.sort_unstable();
            let image = |p: &DVec3| [if p.x == 0.0 { p.x } else { -p.x }, p.y, p.z].map(f64::to_bits);
            assert!(s.positions.iter().all(|p| keys.binary_search(&image(p)).is_ok()));
        }
        assert_eq!(bones, &built_in_bones());
    }

    #[test]
    fn vertices_lie_on_the_sculpts() {
        for (s, sculpt) in [(&bones().cranium, cranium::sculpt()), (&bones().mandible, mandible::sculpt())] {
            let mut off: Vec<(f64, DVec3)> =
                s.positions.iter().map(|p| (sculpt.distance(*p * 1e3).abs(), *p * 1e3)).collect();
            off.sort_by(|a, b| b.0.total_cmp(&a.0));
            let mean = off.iter().map(|o| o.0).sum::<f64>() / off.len() as f64;
            assert!(off[0].0 < 0.5 && mean < 0.01, "{} mm at {}, mean {mean}", off[0].0, off[0].1);
        }
    }

    #[test]
    fn no_triangle_of_the_bones_crosses_another() {
        let bones = bones();
        for s in [&bones.cranium, &bones.mandible] {
            let options = risorius_mesh::IntersectOptions::default();
            let found =
                risorius_mesh::self_intersections(&s.positions_f32(), &s.triangles, &options, &|_, _| {
                    std::ops::ControlFlow::Continue(())
                });
            assert_eq!(found.map(|f| f.n_pairs), Ok(0));
        }
    }

    #[test]
    fn bone_lies_under_the_skin_by_the_depth_of_the_table() {
        let bones = bones();
        let [cranium, mandible] = [&bones.cranium, &bones.mandible].map(tree);
        for (name, at) in SKIN {
            let p = DVec3::from(at) * 1e-3;
            let gap = signed_distance(&bones.cranium, &cranium, p).min(signed_distance(
                &bones.mandible,
                &mandible,
                p,
            ));
            let want = built_in_depths().iter().find(|d| d.name == name).expect("a landmark").mean;
            assert!((gap - want).abs() < 0.003, "{name}: {:.1} mm, tabled {:.1} mm", gap * 1e3, want * 1e3);
        }
        // The cheek has more than a centimeter of soft tissue.
        assert!(signed_distance(&bones.cranium, &cranium, DVec3::new(0.042, -0.025, 0.072)) > 0.012);
        // Room for an eyeball of 12 mm.
        assert!(signed_distance(&bones.cranium, &cranium, DVec3::new(0.0315, 0.024, 0.064)) > 0.0145);
    }

    #[test]
    fn jaw_and_skull_keep_apart_wherever_the_jaw_goes() {
        let bones = bones();
        let bvh = tree(&bones.cranium);
        let least_gap = |angle: f64, slides: [f64; 2]| {
            let motion = bones.joint.motion(angle.to_radians(), slides);
            let gap = |&p: &DVec3| signed_distance(&bones.cranium, &bvh, motion.apply(p));
            bones.mandible.positions.iter().map(gap).fold(f64::INFINITY, f64::min)
        };
        let rest = least_gap(0.0, [0.0; 2]);
        assert!(rest > 0.001 && rest < 0.0025, "{rest}");
        for step in 1..=6 {
            let part = f64::from(step) / 6.0;
            for slides in [[part; 2], [0.5 * part; 2], [0.8 * part, 0.4 * part]] {
                let gap = least_gap(30.0 * part, slides);
                assert!(gap > 0.0005, "open {} degrees, slides {slides:?}: {gap}", 30.0 * part);
            }
        }
        assert!(least_gap(1.0, [1.0; 2]) > 0.0005 && least_gap(3.0, [0.7, 0.0]) > 0.0005);
    }

    #[test]
    fn the_joint_keeps_condyles_on_their_tracks() {
        let joint = built_in_joint();
        for (angle, slides) in [(0.0, [0.3, 0.0]), (0.4, [1.0, 1.0]), (0.2, [0.2, 0.9])] {
            let motion = joint.motion(angle, slides);
            for side in 0..2 {
                let went = motion.apply(joint.condyles[side]) - joint.condyles[side];
                let off_track = went - joint.track * went.dot(joint.track);
                // Tracks are parallel and the jaw is rigid, so with unequal slides the condyles leave their
                // tracks slightly.
                let allowed = if slides[0] == slides[1] { 1e-12 } else { 5e-4 };
                assert!(off_track.length() < allowed, "{off_track}");
                assert!((went.dot(joint.track) - slides[side] * joint.track_length).abs() < 1e-4);
            }
        }
        let chin = DVec3::new(0.0, -0.080, 0.080);
        let opened = joint.motion(0.3, [0.0; 2]).apply(chin) - chin;
        assert!(opened.y < -0.01 && opened.z < -0.01, "{opened}");
        let left_slid = joint.motion(0.0, [1.0, 0.0]).apply(chin) - chin;
        assert!(left_slid.x < -0.005, "{left_slid}");
    }
}
