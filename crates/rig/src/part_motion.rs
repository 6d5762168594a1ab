//! Rigid motion of single parts over time, as nodes of a file move them: eyeballs that look around.
//!
//! A motion is expressed in the rig's coordinates and unit, relative to the rest: a point `x` of the posed
//! part moves to `rotation * x + translation`. The motion of the head is not part of it. Between samples
//! positions are interpolated linearly and rotations spherically; outside the samples the first or last one
//! holds. Parts are found by their names, because a clip and a rig may come from different files.

use crate::clip::bracket;
use crate::model::Rig;
use glam::{DQuat, DVec3};
use risorius_base::Rigid;

/// Rigid motion over time, in the rig's coordinates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RigidTrack {
    /// Time of each sample in seconds, strictly ascending; at least one.
    pub times_secs: Vec<f64>,
    /// The motion at each time.
    pub motions: Vec<Rigid>,
}

impl RigidTrack {
    /// The motion at a time.
    pub fn at(&self, t_secs: f64) -> Rigid {
        let (a, b, share) = bracket(&self.times_secs, t_secs);
        let [a, b] = [self.motions[a], self.motions[b]];
        let translation = a.translation.lerp(b.translation, share);
        Rigid { rotation: a.rotation.slerp(b.rotation, share), translation }
    }

    /// `self` after `inner`, at the times of both.
    pub fn after(&self, inner: &Self) -> Self {
        let mut times_secs: Vec<f64> = [&*self.times_secs, &inner.times_secs].concat();
        times_secs.sort_by(f64::total_cmp);
        times_secs.dedup();
        let motions = times_secs.iter().map(|&t| self.at(t).after(&inner.at(t))).collect();
        Self { times_secs, motions }
    }

    /// Whether it ever moves anything, beyond rounding.
    pub fn moves(&self) -> bool {
        let still = |m: &Rigid| {
            m.rotation.angle_between(DQuat::IDENTITY) < 1e-7 && m.translation.abs_diff_eq(DVec3::ZERO, 1e-9)
        };
        !self.motions.iter().all(still)
    }
}

/// The motion of a part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartMotion {
    /// Name of the part.
    pub part: String,
    /// Its motion.
    pub track: RigidTrack,
}

/// Motions that belong to parts of `rig`, with the index of each part, and the names of parts that it does
/// not have.
pub fn of_rig<'m>(rig: &Rig, motions: &'m [PartMotion]) -> (Vec<(usize, &'m RigidTrack)>, Vec<&'m str>) {
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for motion in motions {
        match rig.parts.iter().position(|p| p.name == motion.part) {
            Some(part) => found.push((part, &motion.track)),
            None => unknown.push(motion.part.as_str()),
        }
    }
    (found, unknown)
}

/// Moves the parts of a pose as they are at a time.
pub fn move_parts(rig: &Rig, motions: &[(usize, &RigidTrack)], t_secs: f64, positions: &mut [[f32; 3]]) {
    for (part, track) in motions {
        track.at(t_secs).apply_to(&mut positions[rig.parts[*part].vertices.clone()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Part;
    use std::f64::consts::FRAC_PI_2;

    fn track(times: &[f64], angles: &[f64]) -> RigidTrack {
        let motions = angles.iter().map(|&a| Rigid::about(DVec3::X, DQuat::from_rotation_z(a))).collect();
        RigidTrack { times_secs: times.to_vec(), motions }
    }

    #[test]
    fn only_the_part_moves_and_motions_of_a_chain_multiply() {
        let part = |name: &str, vertices| Part { name: name.into(), vertices, ..Part::default() };
        let parts = vec![part("skin", 0..1), part("eye", 1..2)];
        let rig = Rig { parts, neutral: vec![[0.0; 3], [2.0, 0.0, 0.0]], ..Rig::default() };
        let (outer, inner) = (track(&[0.0, 2.0], &[0.0, FRAC_PI_2]), track(&[1.0], &[FRAC_PI_2]));
        let chain = outer.after(&inner);
        assert_eq!(chain.times_secs, [0.0, 1.0, 2.0]);
        let motions = [
            PartMotion { part: "eye".into(), track: chain },
            PartMotion { part: "tail".into(), track: RigidTrack::default() },
        ];
        let (found, unknown) = of_rig(&rig, &motions);
        assert_eq!(unknown, ["tail"]);
        let mut positions = rig.neutral.clone();
        move_parts(&rig, &found, 2.0, &mut positions);
        // A quarter turn and another one about (1, 0, 0).
        assert_eq!(positions[0], [0.0; 3]);
        assert!(positions[1].iter().all(|x| x.abs() < 1e-6), "{positions:?}");
        assert!(inner.moves() && !track(&[0.0], &[0.0]).moves());
    }
}
