//! A camera that follows the head, so that a head which walks or turns stays in the picture.
//!
//! What is shown is the motion of the head relative to the camera. The camera moves along a smoothed path of
//! the middle of the face, so that hops and nods are seen and a walk is not; the rest of the displacement is
//! limited to a part of the face's size. The camera turns only as far as the head turns beyond a limit, as on
//! a leash: shakes and nods are seen, and somebody who walks around the camera does not show the back of the
//! head. In the first frame nothing is displaced. In: head motion in meters, relative to its first frame.
//! Out: rigid motions in the rig's own coordinates.

use glam::{DQuat, DVec3};
use risorius_base::Rigid;
use risorius_rig::{HeadMotion, Rig};

/// Standard deviation of the smoothing of the camera's path, seconds.
const SMOOTH_SECS: f64 = 0.4;
/// Samples of the Gaussian on each side, over three standard deviations.
const SAMPLES: i32 = 18;
/// Largest displacement of the face in the picture, in halves of a face.
const MAX_SHIFT: f64 = 0.18;
/// Largest rotation of the head against the camera, radians: 50 degrees.
const MAX_TURN: f64 = 50.0 * std::f64::consts::PI / 180.0;
/// Time between the states of the leash, seconds.
const LEASH_STEP_SECS: f64 = 1.0 / 120.0;
/// Most states of the leash; longer motions have a coarser one.
const MAX_STATES: f64 = 200_000.0;

/// How the camera moves when the motion of the head is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CameraMotion {
    /// With the head, so that it stays in the picture.
    #[default]
    Follow,
    /// Not at all: a head that moves away leaves the picture.
    Still,
}

/// The camera over time.
pub(super) struct CameraPath {
    first: Rigid,
    start_secs: f64,
    end_secs: f64,
    /// Middle of the face and half its size, meters.
    center: DVec3,
    half: f64,
    /// Rotation of the camera from the first frame on, and the time between two.
    turns: Vec<DQuat>,
    step_secs: f64,
    motion: CameraMotion,
}

impl CameraPath {
    /// A camera for `head` from `start_secs` to `end_secs`, for a face with its middle at `center` (meters)
    /// and of half a size of `half` meters.
    pub(super) fn new(
        head: &HeadMotion,
        [start_secs, end_secs]: [f64; 2],
        (center, half): (DVec3, f64),
        motion: CameraMotion,
    ) -> Self {
        let first = head.at(start_secs);
        let step_secs = LEASH_STEP_SECS.max((end_secs - start_secs) / MAX_STATES);
        let n = ((end_secs - start_secs) / step_secs).ceil() as usize + 1;
        let mut turns = vec![DQuat::IDENTITY];
        for i in 1..n {
            let turned = relative(&first, head, start_secs + i as f64 * step_secs).rotation;
            let before = turns[i - 1];
            let between = before.inverse() * turned;
            let between = if between.w < 0.0 { -between } else { between };
            let (axis, angle) = between.to_axis_angle();
            turns.push(before * DQuat::from_axis_angle(axis, (angle - MAX_TURN).max(0.0)));
        }
        Self { first, start_secs, end_secs, center, half, turns, step_secs, motion }
    }

    /// The motion of `head` at `t_secs` as the camera sees it, in the coordinates of `rig`.
    pub(super) fn seen(&self, rig: &Rig, head: &HeadMotion, t_secs: f64) -> Rigid {
        let moved = relative(&self.first, head, t_secs);
        let seen = match self.motion {
            CameraMotion::Still => moved,
            CameraMotion::Follow => self.followed(head, t_secs, &moved),
        };
        rig.space.motion_to_file(&seen)
    }

    fn followed(&self, head: &HeadMotion, t_secs: f64, moved: &Rigid) -> Rigid {
        let back = self.turn(t_secs).inverse();
        let shift = back * (moved.apply(self.center) - self.smooth_center(head, t_secs));
        let most = MAX_SHIFT * self.half;
        let length = shift.length();
        let shift =
            if length > 1e-12 { shift * (most * (length / most).tanh() / length) } else { DVec3::ZERO };
        let rotation = back * moved.rotation;
        Rigid { rotation, translation: self.center + shift - rotation * self.center }
    }

    /// Smoothed path of the middle of the face. Beyond its ends the path continues as its mirror image
    /// through the end, which keeps the ends where they are.
    fn smooth_center(&self, head: &HeadMotion, t_secs: f64) -> DVec3 {
        let at = |t: f64| relative(&self.first, head, t).apply(self.center);
        let mirrored = |t: f64| match t.clamp(self.start_secs, self.end_secs) {
            end if end != t => 2.0 * at(end) - at((2.0 * end - t).clamp(self.start_secs, self.end_secs)),
            _ => at(t),
        };
        let (mut sum, mut total) = (DVec3::ZERO, 0.0);
        for i in -SAMPLES..=SAMPLES {
            let deviations = 3.0 * f64::from(i) / f64::from(SAMPLES);
            let weight = (-0.5 * deviations * deviations).exp();
            sum += weight * mirrored(t_secs + deviations * SMOOTH_SECS);
            total += weight;
        }
        sum / total
    }

    fn turn(&self, t_secs: f64) -> DQuat {
        let place = ((t_secs - self.start_secs) / self.step_secs).clamp(0.0, (self.turns.len() - 1) as f64);
        let before = place as usize;
        let after = (before + 1).min(self.turns.len() - 1);
        self.turns[before].slerp(self.turns[after], place - before as f64)
    }
}

/// The head at `t_secs` relative to its pose `first`.
fn relative(first: &Rigid, head: &HeadMotion, t_secs: f64) -> Rigid {
    first.inverse().after(&head.at(t_secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(turns: f64, meters: f64) -> HeadMotion {
        let times_secs: Vec<f64> = (0..=240).map(|i| f64::from(i) / 60.0).collect();
        HeadMotion {
            positions_m: times_secs
                .iter()
                .map(|t| [meters * t / 4.0, 1.5 + 0.03 * (12.0 * t).sin(), 0.2 * meters * t])
                .collect(),
            rotations_xyzw: times_secs
                .iter()
                .map(|t| DQuat::from_rotation_y(turns * std::f64::consts::TAU * t / 4.0).to_array())
                .collect(),
            times_secs,
        }
    }

    fn face() -> (DVec3, f64) {
        (DVec3::new(0.0, 0.02, 0.08), 0.1)
    }

    #[test]
    fn a_head_that_walks_away_and_turns_around_stays_in_the_picture() {
        let rig = Rig::default();
        for (turns, meters) in [(0.0, 4.0), (1.7, 0.0), (-0.9, 30.0)] {
            let head = walk(turns, meters);
            let path = CameraPath::new(&head, [0.0, 4.0], face(), CameraMotion::Follow);
            let mut before = path.seen(&rig, &head, 0.0);
            assert!(before.apply(face().0).distance(face().0) < 1e-12, "the first frame is as it was");
            for i in 1..=400 {
                let now = path.seen(&rig, &head, f64::from(i) / 100.0);
                let shift = now.apply(face().0).distance(face().0);
                assert!(shift <= MAX_SHIFT * 0.1 + 1e-9, "{turns} {meters}: {shift} m at {i}");
                let angle = now.rotation.angle_between(DQuat::IDENTITY);
                assert!(angle < MAX_TURN + 0.05, "{turns} {meters}: {angle} rad at {i}");
                let jump = now.apply(face().0).distance(before.apply(face().0));
                assert!(jump < 0.006, "{turns} {meters}: the face jumps by {jump} m at {i}");
                before = now;
            }
        }
    }

    #[test]
    fn small_quick_motion_is_seen_and_a_still_camera_sees_all() {
        let rig = Rig::default();
        let head = walk(0.1, 0.0);
        let path = CameraPath::new(&head, [0.0, 4.0], face(), CameraMotion::Follow);
        let heights: Vec<f64> =
            (0..400).map(|i| path.seen(&rig, &head, f64::from(i) / 100.0).apply(face().0).y).collect();
        let (lo, hi) = heights.iter().fold((f64::MAX, f64::MIN), |(lo, hi), &y| (lo.min(y), hi.max(y)));
        assert!(hi - lo > 0.02, "hops of 6 cm are shown as {} m", hi - lo);
        let turned = path.seen(&rig, &head, 4.0).rotation.angle_between(DQuat::IDENTITY);
        assert!(
            (turned - 0.1 * std::f64::consts::TAU).abs() < 1e-6,
            "a turn below the limit is shown: {turned}"
        );
        let still = CameraPath::new(&walk(0.0, 4.0), [0.0, 4.0], face(), CameraMotion::Still);
        let away = still.seen(&rig, &walk(0.0, 4.0), 4.0).apply(face().0) - face().0;
        assert!((away.x - 4.0).abs() < 1e-9, "{away}");
    }
}
