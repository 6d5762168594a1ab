//! Clips: slider values and head motion over time, as recorded, before they are bound to a rig.
//!
//! Times are in seconds and strictly ascending, values are finite. [`Clip::check`] reports violations, and
//! importers reject such clips. Between frames, weights and head positions are interpolated linearly, head
//! rotations spherically; outside the recorded span the first or last frame holds.

use crate::classify::binding::{Binding, NameMap, UnknownSet, bind_names};
use crate::frames::BoundClip;
use glam::{DQuat, DVec3};
use risorius_base::{Rigid, Space};

/// Named slider values over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Clip {
    /// Columns, named as in the recording.
    pub names: Vec<String>,
    /// Time of each frame in seconds, strictly ascending.
    pub times_secs: Vec<f64>,
    /// Values, frame after frame, `names.len()` each.
    pub values: Vec<f32>,
    /// Head motion that came with the recording.
    pub head: Option<HeadMotion>,
    /// Left and right eye rotations that came with the recording (yaw, pitch, roll in radians, per frame).
    pub eye_angles: Option<Vec<[[f32; 3]; 2]>>,
}

/// Rigid motion of the head over time: `world_from_head`, in meters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeadMotion {
    /// Time of each sample in seconds, strictly ascending.
    pub times_secs: Vec<f64>,
    /// Position in meters.
    pub positions_m: Vec<[f64; 3]>,
    /// Unit quaternion, x y z w.
    pub rotations_xyzw: Vec<[f64; 4]>,
}

/// What is wrong with a clip or head motion.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ClipError {
    /// No frames.
    #[error("{what} has no frames")]
    Empty {
        /// Clip or head motion.
        what: &'static str,
    },
    /// Time does not advance.
    #[error(
        "{what}: time does not advance at frame {frame} ({before} s, then {after} s); sort or cut the recording there"
    )]
    TimeBackwards {
        /// Clip or head motion.
        what: &'static str,
        /// 0-based frame.
        frame: usize,
        /// Time of the frame before.
        before: f64,
        /// Time of this frame.
        after: f64,
    },
    /// A value is NaN or infinite.
    #[error("{what}: '{column}' is {value} at frame {frame}; give a finite number")]
    NotFinite {
        /// Clip or head motion.
        what: &'static str,
        /// Name of the column.
        column: String,
        /// 0-based frame.
        frame: usize,
        /// The value.
        value: f64,
    },
    /// A frame rate out of range.
    #[error("a frame rate of {fps} is not possible; give frames per second above 0 and at most 100000")]
    BadRate {
        /// The rate asked for.
        fps: f64,
    },
    /// A long clip on a rig of very many sliders.
    #[error(
        "{n_frames} frames of {n_sliders} sliders are too many values to hold; cut the clip or split the rig"
    )]
    TooManyValues {
        /// Frames of the clip.
        n_frames: usize,
        /// Sliders of the rig.
        n_sliders: usize,
    },
    /// The set of sliders to bind does not exist.
    #[error(transparent)]
    Set(#[from] UnknownSet),
    /// Resampling would give too many frames.
    #[error("{n_frames:.0} frames are too many (at most {MAX_FRAMES}); cut the clip or lower the frame rate")]
    TooLong {
        /// Frames that the request would give.
        n_frames: f64,
    },
}

impl risorius_base::Advise for ClipError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Set(error) => error.options(),
            Self::BadRate { .. } => &["fps"],
            _ => &[],
        }
    }
}

/// Largest number of values that binding a clip to a rig may give (2 GB).
const MAX_BOUND_VALUES: usize = 1 << 29;

/// Largest number of frames that resampling may give (a day at 100 fps).
pub const MAX_FRAMES: usize = 8_640_000;

/// Frames per second of ascending `times`, from the first and last; 30 for fewer than two frames.
pub fn mean_fps(times_secs: &[f64]) -> f64 {
    match times_secs {
        [first, .., last] if last > first => (times_secs.len() - 1) as f64 / (last - first),
        _ => 30.0,
    }
}

fn check_times(what: &'static str, times: &[f64]) -> Result<(), ClipError> {
    if times.is_empty() {
        return Err(ClipError::Empty { what });
    }
    if let Some(frame) = times.iter().position(|t| !t.is_finite()) {
        return Err(ClipError::NotFinite { what, column: "time".into(), frame, value: times[frame] });
    }
    match times.windows(2).position(|w| w[1] <= w[0]) {
        Some(i) => {
            Err(ClipError::TimeBackwards { what, frame: i + 1, before: times[i], after: times[i + 1] })
        }
        None => Ok(()),
    }
}

/// The samples around `t` and the fraction between them; clamped at both ends.
pub(crate) fn bracket(times: &[f64], t: f64) -> (usize, usize, f64) {
    let after = times.partition_point(|&x| x <= t);
    if after == 0 {
        return (0, 0, 0.0);
    }
    if after == times.len() {
        return (after - 1, after - 1, 0.0);
    }
    let (a, b) = (times[after - 1], times[after]);
    (after - 1, after, (t - a) / (b - a))
}

/// Evenly spaced times from `first` to `last` inclusive at `fps`.
fn even_times(first: f64, last: f64, fps: f64) -> Result<Vec<f64>, ClipError> {
    if !(fps > 0.0 && fps <= 100_000.0) {
        return Err(ClipError::BadRate { fps });
    }
    // A little slack, so that a clip of exactly n frames keeps its last one in spite of rounding.
    let n_frames = ((last - first) * fps + 1e-6).floor() + 1.0;
    if n_frames > MAX_FRAMES as f64 {
        return Err(ClipError::TooLong { n_frames });
    }
    Ok((0..n_frames as usize).map(|i| first + i as f64 / fps).collect())
}

impl Clip {
    /// Number of frames.
    pub fn n_frames(&self) -> usize {
        self.times_secs.len()
    }

    /// The values of one frame, in the order of `names`.
    pub fn frame(&self, frame_idx: usize) -> &[f32] {
        &self.values[frame_idx * self.names.len()..(frame_idx + 1) * self.names.len()]
    }

    /// Mean frames per second.
    pub fn fps(&self) -> f64 {
        mean_fps(&self.times_secs)
    }

    /// Reports the first problem that makes the clip unusable.
    pub fn check(&self) -> Result<(), ClipError> {
        check_times("the clip", &self.times_secs)?;
        if let Some(i) = self.values.iter().position(|v| !v.is_finite()) {
            return Err(ClipError::NotFinite {
                what: "the clip",
                column: self.names[i % self.names.len()].clone(),
                frame: i / self.names.len(),
                value: self.values[i].into(),
            });
        }
        self.head.as_ref().map_or(Ok(()), HeadMotion::check)
    }

    /// The clip as weights of `rig`, and which column drives which slider.
    pub fn bind(&self, rig: &crate::Rig) -> Result<(BoundClip, NameMap), ClipError> {
        self.bind_set(rig, None)
    }

    /// As [`Self::bind`]; `set` names the set of sliders to bind, if the rig has several (see [`Binding`]).
    pub fn bind_set(&self, rig: &crate::Rig, set: Option<&str>) -> Result<(BoundClip, NameMap), ClipError> {
        let (n_frames, n_sliders) = (self.n_frames(), rig.sliders.len());
        if n_frames.saturating_mul(n_sliders) > MAX_BOUND_VALUES {
            return Err(ClipError::TooManyValues { n_frames, n_sliders });
        }
        let map = bind_names(&self.names, rig, &Binding { set, by_hand: false })?;
        let mut weights = vec![0.0; n_frames * n_sliders];
        if n_sliders > 0 {
            for (frame, row) in weights.chunks_mut(n_sliders).enumerate() {
                let values = self.frame(frame);
                map.links.iter().for_each(|&(column, slider, factor)| row[slider] += factor * values[column]);
            }
        }
        let (times_secs, head) = (self.times_secs.clone(), self.head.clone());
        Ok((BoundClip { times_secs, n_sliders, weights, head }, map))
    }

    /// Values at time `t`.
    pub fn sample(&self, t_secs: f64) -> Vec<f32> {
        let (a, b, f) = bracket(&self.times_secs, t_secs);
        self.frame(a).iter().zip(self.frame(b)).map(|(&x, &y)| lerp(x, y, f)).collect()
    }

    /// The clip with only the given frames. Their times stay, and head motion stays whole.
    pub fn frames(&self, frames: std::ops::Range<usize>) -> Clip {
        let n = self.names.len();
        Clip {
            names: self.names.clone(),
            times_secs: self.times_secs[frames.clone()].to_vec(),
            values: self.values[frames.start * n..frames.end * n].to_vec(),
            head: self.head.clone(),
            eye_angles: self.eye_angles.as_ref().map(|eyes| eyes[frames].to_vec()),
        }
    }

    /// The same clip at an even frame rate, from its first to its last time.
    pub fn resample(&self, fps: f64) -> Result<Clip, ClipError> {
        self.check()?;
        let times = even_times(self.times_secs[0], self.times_secs[self.n_frames() - 1], fps)?;
        let eye_angles = self.eye_angles.as_ref().map(|eyes| {
            times
                .iter()
                .map(|&t| {
                    let (a, b, f) = bracket(&self.times_secs, t);
                    std::array::from_fn(|e| std::array::from_fn(|k| lerp(eyes[a][e][k], eyes[b][e][k], f)))
                })
                .collect()
        });
        Ok(Clip {
            names: self.names.clone(),
            values: times.iter().flat_map(|&t| self.sample(t)).collect(),
            head: self.head.clone(),
            eye_angles,
            times_secs: times,
        })
    }
}

impl HeadMotion {
    /// Head motion in meters from rigid motions in file coordinates.
    pub fn from_file(times_secs: Vec<f64>, motions: impl Iterator<Item = Rigid>, space: &Space) -> Self {
        let motions = motions.map(|motion| space.motion_to_si(&motion));
        let (positions_m, rotations_xyzw) =
            motions.map(|m| (m.translation.to_array(), m.rotation.to_array())).unzip();
        Self { times_secs, positions_m, rotations_xyzw }
    }

    /// The head pose at time `t`: `world_from_head`, in meters.
    pub fn at(&self, t_secs: f64) -> Rigid {
        let (translation, rotation) = self.sample(t_secs);
        Rigid { rotation, translation }
    }

    /// Number of samples.
    pub fn n_frames(&self) -> usize {
        self.times_secs.len()
    }

    /// Reports the first problem that makes the motion unusable.
    pub fn check(&self) -> Result<(), ClipError> {
        const WHAT: &str = "the head motion";
        check_times(WHAT, &self.times_secs)?;
        for frame in 0..self.n_frames() {
            let (p, q) = (self.positions_m[frame], self.rotations_xyzw[frame]);
            for (column, value) in ["px", "py", "pz", "qx", "qy", "qz", "qw"].iter().zip(p.iter().chain(&q)) {
                if !value.is_finite() {
                    return Err(ClipError::NotFinite {
                        what: WHAT,
                        column: (*column).into(),
                        frame,
                        value: *value,
                    });
                }
            }
            let norm = DQuat::from_array(q).length();
            if !(0.5..=2.0).contains(&norm) {
                return Err(ClipError::NotFinite { what: WHAT, column: "|q|".into(), frame, value: norm });
            }
        }
        Ok(())
    }

    /// Position in meters and rotation at time `t`.
    pub fn sample(&self, t_secs: f64) -> (DVec3, DQuat) {
        let (a, b, f) = bracket(&self.times_secs, t_secs);
        let position = DVec3::from(self.positions_m[a]).lerp(self.positions_m[b].into(), f);
        let qa = DQuat::from_array(self.rotations_xyzw[a]).normalize();
        let qb = DQuat::from_array(self.rotations_xyzw[b]).normalize();
        (position, qa.slerp(qb, f))
    }

    /// The motion from one time to another, with a sample at both ends.
    pub fn within(&self, first_secs: f64, last_secs: f64) -> HeadMotion {
        let inside = self.times_secs.iter().copied().filter(|&t| t > first_secs && t < last_secs);
        let mut times_secs = vec![first_secs];
        times_secs.extend(inside);
        if last_secs > first_secs {
            times_secs.push(last_secs);
        }
        let samples: Vec<(DVec3, DQuat)> = times_secs.iter().map(|&t| self.sample(t)).collect();
        HeadMotion {
            positions_m: samples.iter().map(|s| s.0.to_array()).collect(),
            rotations_xyzw: samples.iter().map(|s| s.1.to_array()).collect(),
            times_secs,
        }
    }

    /// The 90th percentile of the acceleration of positions, by differences over 1/30 s, in m/s^2. Spikes of
    /// a capture are too short to affect it; a runner's head has 15.
    pub fn usual_acceleration(&self) -> f64 {
        const OVER_SECS: f64 = 1.0 / 30.0;
        const MAX_SAMPLES: usize = 10_000;
        let (Some(&first), Some(&last)) = (self.times_secs.first(), self.times_secs.last()) else {
            return 0.0;
        };
        let span = last - first - 2.0 * OVER_SECS;
        if span.is_nan() || span <= 0.0 {
            return 0.0;
        }
        let samples = ((span / OVER_SECS) as usize).clamp(1, MAX_SAMPLES);
        let acceleration = |k: usize| {
            let t = first + OVER_SECS + span * k as f64 / samples as f64;
            let [before, here, after] = [t - OVER_SECS, t, t + OVER_SECS].map(|t| self.sample(t).0);
            (before - 2.0 * here + after).length() / (OVER_SECS * OVER_SECS)
        };
        let mut all: Vec<f64> = (0..=samples).map(acceleration).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() * 9 / 10]
    }

    /// The same motion at an even rate.
    pub fn resample(&self, fps: f64) -> Result<HeadMotion, ClipError> {
        self.check()?;
        let times_secs = even_times(self.times_secs[0], self.times_secs[self.n_frames() - 1], fps)?;
        let samples: Vec<(DVec3, DQuat)> = times_secs.iter().map(|&t| self.sample(t)).collect();
        Ok(HeadMotion {
            times_secs,
            positions_m: samples.iter().map(|s| s.0.to_array()).collect(),
            rotations_xyzw: samples.iter().map(|s| s.1.to_array()).collect(),
        })
    }
}

fn lerp(a: f32, b: f32, f: f64) -> f32 {
    // Exact at both ends, so that resampling at the recorded times gives the recorded values.
    if f == 0.0 { a } else { (f64::from(a) + (f64::from(b) - f64::from(a)) * f) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Clip {
        Clip {
            names: vec!["a".into(), "b".into()],
            times_secs: vec![0.0, 0.5, 1.0],
            values: vec![0.0, 1.0, 0.5, 1.0, 1.0, 0.0],
            ..Clip::default()
        }
    }

    #[test]
    fn resampling_keeps_recorded_frames_and_ends() {
        let clip = ramp().resample(4.0).unwrap();
        assert_eq!(clip.n_frames(), 5);
        assert_eq!(clip.frame(2), [0.5, 1.0]);
        assert_eq!(clip.frame(1), [0.25, 1.0]);
        assert_eq!(clip.frame(4), [1.0, 0.0]);
        assert_eq!(ramp().sample(-3.0), [0.0, 1.0]);
        assert_eq!(ramp().sample(9.0), [1.0, 0.0]);
    }

    #[test]
    fn bad_clips_are_named() {
        let mut clip = ramp();
        clip.times_secs[2] = 0.25;
        assert!(matches!(clip.check(), Err(ClipError::TimeBackwards { frame: 2, .. })));
        let mut clip = ramp();
        clip.values[3] = f32::NAN;
        assert!(matches!(clip.check(), Err(ClipError::NotFinite { frame: 1, .. })));
        assert!(matches!(Clip::default().check(), Err(ClipError::Empty { .. })));
        assert!(matches!(ramp().resample(0.0), Err(ClipError::BadRate { .. })));
        assert!(matches!(ramp().resample(f64::NAN), Err(ClipError::BadRate { .. })));
    }

    #[test]
    fn a_plausible_head_differs_from_one_in_other_units() {
        let times_secs: Vec<f64> = (0..400).map(|i| f64::from(i) / 120.0).collect();
        // A nod of 10 cm, twice a second, with a marker lost for a sample; then in centimeters.
        let nod = |t: f64| 0.05 * (4.0 * std::f64::consts::PI * t).sin();
        let mut positions_m: Vec<[f64; 3]> = times_secs.iter().map(|&t| [9.0 * t, nod(t), 0.0]).collect();
        positions_m[77][2] = 1.0;
        let rotations_xyzw = vec![[0.0, 0.0, 0.0, 1.0]; 400];
        let mut head = HeadMotion { times_secs, positions_m, rotations_xyzw };
        let usual = head.usual_acceleration();
        assert!((6.0..10.0).contains(&usual), "{usual}");
        head.positions_m.iter_mut().flatten().for_each(|p| *p *= 100.0);
        assert!((head.usual_acceleration() - 100.0 * usual).abs() < 1e-6 * usual);
        head.times_secs.truncate(1);
        assert_eq!(head.usual_acceleration(), 0.0);
    }

    #[test]
    fn head_rotation_takes_the_short_way() {
        let head = HeadMotion {
            times_secs: vec![0.0, 1.0],
            positions_m: vec![[0.0; 3], [1.0, 0.0, 0.0]],
            rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0], (-DQuat::from_rotation_y(1.0)).to_array()],
        };
        let (p, q) = head.sample(0.5);
        assert!((p.x - 0.5).abs() < 1e-12);
        assert!(q.angle_between(DQuat::from_rotation_y(0.5)) < 1e-9);
    }
}
