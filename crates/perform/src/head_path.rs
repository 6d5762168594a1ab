//! The motion of the head between its samples: smooth, so that its acceleration is not an artifact of
//! sampling.
//!
//! With linear interpolation between samples at 120 Hz, the velocity jumps at every sample and makes the
//! flesh ring. Positions are cubic instead ([`crate::curve`]). Rotations are the same curves over quaternions
//! of consistent sign, normalized. Before the first sample and after the last the head comes to rest.
//!
//! Captured motion has jumps: a marker that becomes visible again is a few millimeters off, which over 1/120
//! s is an acceleration of 20 g. A Gaussian filter over time removes such noise before interpolation. Without
//! the filter, the path is exact at the samples. A head at rest stays exactly at rest either way.

use crate::curve::{Curve, Value};
use glam::{DMat3, DQuat, DVec3, DVec4};
use risorius_base::Rigid;
use risorius_rig::HeadMotion;

/// The path of a head or another rigid body: `world_from_head` at any time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeadPath {
    positions: Curve<DVec3>,
    rotations: Curve<DVec4>,
}

impl HeadPath {
    /// Through the samples of a checked motion, smoothed by a Gaussian of this standard deviation; 0 for
    /// none.
    pub fn prepare(motion: &HeadMotion, smooth_secs: f64) -> Self {
        let times = &motion.times_secs;
        let positions: Vec<DVec3> = motion.positions_m.iter().map(|&p| p.into()).collect();
        let positions = smoothed(times, &positions, smooth_secs);
        let rotations = smoothed(times, &of_one_sign(motion), smooth_secs);
        Self { positions: Curve::recorded(times, &positions), rotations: Curve::recorded(times, &rotations) }
    }

    /// Through keyframes: constant between equal keys, without overshoot.
    pub fn keyed(keys: &HeadMotion) -> Self {
        let positions: Vec<DVec3> = keys.positions_m.iter().map(|&p| p.into()).collect();
        let times = &keys.times_secs;
        Self {
            positions: Curve::keyed(times, &positions),
            rotations: Curve::keyed(times, &of_one_sign(keys)),
        }
    }

    /// `world_from_head` at time `t`.
    pub fn at(&self, t_secs: f64) -> Rigid {
        let both = self.rotations.at(t_secs).zip(self.positions.at(t_secs));
        both.map_or(Rigid::IDENTITY, |(q, translation)| Rigid {
            rotation: DQuat::from_vec4(q.normalize()),
            translation,
        })
    }

    /// Exactly the numbers that determine the path between two times.
    pub fn knots(&self, span_secs: [f64; 2]) -> impl Iterator<Item = f64> {
        self.positions.knots(span_secs).chain(self.rotations.knots(span_secs))
    }
}

/// The acceleration of points that move rigidly with a head, m/s^2 in the world.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Acceleration {
    turning: DMat3,
    shifting: DVec3,
}

impl Acceleration {
    /// From three places of the head, `span_secs` apart.
    pub fn between([a, b, c]: [Rigid; 3], span_secs: f64) -> Self {
        if a == b && b == c {
            return Self::default();
        }
        let rate = 1.0 / (span_secs * span_secs);
        let [ra, rb, rc] = [a, b, c].map(|place| DMat3::from_quat(place.rotation));
        Self {
            turning: (ra + rc - rb * 2.0) * rate,
            shifting: (a.translation + c.translation - b.translation * 2.0) * rate,
        }
    }

    /// Of a point given in the frame of the head.
    pub fn at(&self, point: DVec3) -> DVec3 {
        self.turning * point + self.shifting
    }

    /// Whether nothing accelerates.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// Rotations as quaternions of consistent sign: q and -q are the same rotation, and each takes the sign
/// closer to its predecessor.
fn of_one_sign(motion: &HeadMotion) -> Vec<DVec4> {
    let mut rotations: Vec<DVec4> = Vec::with_capacity(motion.rotations_xyzw.len());
    for &q in &motion.rotations_xyzw {
        let q = DVec4::from(q).normalize();
        let turn = rotations.last().is_some_and(|last| last.dot(q) < 0.0);
        rotations.push(if turn { -q } else { q });
    }
    rotations
}

/// The mean of the values around each sample, weighted by a Gaussian over time. Differences are averaged, so
/// that constant values stay the same to the bit. Beyond its ends the motion is continued by its point
/// reflection, so that a constant velocity stays constant there too.
fn smoothed<V: Value>(times: &[f64], values: &[V], deviation: f64) -> Vec<V> {
    if !(deviation > 0.0 && deviation.is_finite()) {
        return values.to_vec();
    }
    let around = |i: usize| {
        let first = times.partition_point(|&t| t < times[i] - 3.0 * deviation);
        let last = times.partition_point(|&t| t <= times[i] + 3.0 * deviation);
        let mut sum = (V::default(), 0.0);
        let mut add = |time: f64, difference: V| {
            let weight = (-0.5 * ((time - times[i]) / deviation).powi(2)).exp();
            sum = (sum.0 + difference * weight, sum.1 + weight);
        };
        let ends = [0, times.len() - 1];
        for j in first..last {
            add(times[j], values[j] - values[i]);
            for end in ends.into_iter().filter(|&end| end != j) {
                let mirrored = 2.0 * times[end] - times[j];
                if (mirrored - times[i]).abs() <= 3.0 * deviation {
                    add(mirrored, (values[end] - values[i]) + (values[end] - values[j]));
                }
            }
        }
        values[i] + sum.0 * (1.0 / sum.1)
    };
    (0..values.len()).map(around).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(n: usize) -> HeadMotion {
        let times_secs: Vec<f64> = (0..n).map(|i| i as f64 / 120.0).collect();
        let q = |t: f64| DQuat::from_rotation_y(8.0 * t);
        HeadMotion {
            positions_m: times_secs.iter().map(|t| [(5.0 * t).sin(), 1.0, (5.0 * t).cos()]).collect(),
            // Signs flip, as in the output of some recorders.
            rotations_xyzw: times_secs
                .iter()
                .enumerate()
                .map(|(i, &t)| if i % 2 == 0 { q(t) } else { -q(t) })
                .map(|q| q.to_array())
                .collect(),
            times_secs,
        }
    }

    #[test]
    fn the_path_is_exact_at_samples_and_smooth_between() {
        let motion = circle(60);
        let path = HeadPath::prepare(&motion, 0.0);
        for i in 0..60 {
            let here = path.at(motion.times_secs[i]);
            assert!(here.translation.distance(motion.positions_m[i].into()) < 1e-15);
        }
        let mut worst = [0.0f64; 2];
        for k in 20..200 {
            let t = k as f64 / 450.0;
            let truth = DVec3::new((5.0 * t).sin(), 1.0, (5.0 * t).cos());
            worst[0] = worst[0].max(path.at(t).translation.distance(truth));
            worst[1] = worst[1].max(path.at(t).rotation.angle_between(DQuat::from_rotation_y(8.0 * t)));
        }
        assert!(worst[0] < 2e-5 && worst[1] < 2e-4, "{worst:?}");
        // Accelerations, by differences over 1/300 s, stay near the true 25 m/s^2; straight lines give peaks
        // of 300.
        let h = 1.0 / 300.0;
        let jerkiest = (30..120).map(|k| {
            let at = |k: i32| path.at(f64::from(k) * h).translation;
            (at(k + 1) - 2.0 * at(k) + at(k - 1)).length() / (h * h)
        });
        let most = jerkiest.fold(0.0, f64::max);
        assert!(most < 32.0, "{most}");
    }

    #[test]
    fn a_jump_of_a_marker_is_smoothed() {
        let mut motion = circle(60);
        motion.positions_m[30][0] += 0.005;
        let h = 1.0 / 300.0;
        let most = |path: &HeadPath| {
            let at = |k: i32| path.at(f64::from(k) * h).translation;
            (50..100).map(|k| (at(k + 1) - 2.0 * at(k) + at(k - 1)).length() / (h * h)).fold(0.0, f64::max)
        };
        let [sharp, smooth] = [0.0, 0.01].map(|s| most(&HeadPath::prepare(&motion, s)));
        assert!(sharp > 150.0 && smooth < 50.0, "{sharp} and {smooth} m/s^2");
    }

    #[test]
    fn a_constant_velocity_stays_constant_to_the_ends() {
        let times_secs: Vec<f64> = (0..40).map(|i| f64::from(i) / 120.0).collect();
        let motion = HeadMotion {
            positions_m: times_secs.iter().map(|t| [0.5 * t, 1.0, 0.0]).collect(),
            rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; 40],
            times_secs: times_secs.clone(),
        };
        let path = HeadPath::prepare(&motion, 0.01);
        for t in (0..=97).map(|k| f64::from(k) / 300.0) {
            let x = path.at(t).translation.x;
            assert!((x - 0.5 * t).abs() < 1e-12, "{x} at {t} s");
        }
    }

    #[test]
    fn a_head_at_rest_stands_still_to_the_bit() {
        let mut motion = circle(10);
        motion.positions_m.fill([0.0, 0.0, 0.0]);
        motion.rotations_xyzw.fill([0.0, 0.0, 0.0, 1.0]);
        let path = HeadPath::prepare(&motion, 0.01);
        assert!((-5..100).all(|k| path.at(f64::from(k) * 0.0013) == Rigid::IDENTITY));
        assert_eq!(HeadPath::default().at(3.0), Rigid::IDENTITY);
    }
}
