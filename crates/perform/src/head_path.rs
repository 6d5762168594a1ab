//! The motion of the head between its samples: smooth, so that its acceleration is a head's and not the sampling's.
//!
//! Straight lines between samples of 120 Hz turn the velocity in jumps, and flesh rings at every one of them. Positions
//! are cubic Hermite curves with the slopes of parabolas through three neighbors; rotations are the same curves over
//! quaternions of one sign, made unit length. Before the first sample and after the last the head stands still.
//!
//! Captured motion jumps: a marker seen anew is a few millimeters off, which over 1/120 s is an acceleration of 20 g. A
//! Gaussian over time takes such noise away before the path is laid; with none, the path is exact at the samples. A
//! head at rest is at rest exactly either way.

use glam::{DQuat, DVec3, DVec4};
use risorius_mesh::Rigid;
use risorius_rig::HeadMotion;

/// A head's way: `world_from_head` at any time.
#[derive(Debug, Clone, Default)]
pub struct HeadPath {
    times: Vec<f64>,
    positions: Vec<[DVec3; 2]>,
    rotations: Vec<[DVec4; 2]>,
}

impl HeadPath {
    /// Through the samples of a checked motion, smoothed by a Gaussian of this deviation; 0 for none.
    pub fn prepare(motion: &HeadMotion, smooth_secs: f64) -> Self {
        let times = motion.times_secs.clone();
        let positions: Vec<DVec3> = motion.positions_m.iter().map(|&p| p.into()).collect();
        let mut rotations: Vec<DVec4> = Vec::with_capacity(times.len());
        for &q in &motion.rotations_xyzw {
            let q = DVec4::from(q).normalize();
            // Both signs are the same rotation; neighbors take the same one.
            let turn = rotations.last().is_some_and(|last| last.dot(q) < 0.0);
            rotations.push(if turn { -q } else { q });
        }
        let positions = smoothed(&times, &positions, smooth_secs);
        let rotations = smoothed(&times, &rotations, smooth_secs);
        Self { positions: with_slopes(&times, &positions), rotations: with_slopes(&times, &rotations), times }
    }

    /// Where the head is at time `t`.
    pub fn at(&self, t_secs: f64) -> Rigid {
        let Some(&last) = self.times.last() else { return Rigid::IDENTITY };
        let t = t_secs.clamp(self.times[0], last);
        let b = self.end_of_piece(self.times.partition_point(|&s| s <= t));
        if self.times.len() == 1 {
            return rigid(self.rotations[0][0], self.positions[0][0]);
        }
        let a = b - 1;
        let span = self.times[b] - self.times[a];
        let f = (t - self.times[a]) / span;
        rigid(
            hermite(self.rotations[a], self.rotations[b], span, f),
            hermite(self.positions[a], self.positions[b], span, f),
        )
    }

    /// All numbers that decide where the head is between two times, and no others.
    pub fn knots(&self, [from_secs, to_secs]: [f64; 2]) -> impl Iterator<Item = f64> {
        let first = self.end_of_piece(self.times.partition_point(|&s| s <= from_secs)) - 1;
        let last = self.end_of_piece(self.times.partition_point(|&s| s < to_secs)).max(first);
        let knots = first..(last + 1).min(self.times.len());
        knots.flat_map(|k| {
            let positions = self.positions[k].iter().flat_map(|v| v.to_array());
            let rotations = self.rotations[k].iter().flat_map(|v| v.to_array());
            std::iter::once(self.times[k]).chain(positions).chain(rotations)
        })
    }

    /// The sample at the end of the cubic piece before the sample `after`; pieces at the ends go on beyond them.
    fn end_of_piece(&self, after: usize) -> usize {
        after.clamp(1, self.times.len().max(2) - 1)
    }
}

fn rigid(q: DVec4, translation: DVec3) -> Rigid {
    Rigid { rotation: DQuat::from_vec4(q.normalize()), translation }
}

/// The mean of the values around each, weighted by a Gaussian over time. Differences are averaged, so that what is constant
/// stays so to the bit.
fn smoothed<V>(times: &[f64], values: &[V], deviation: f64) -> Vec<V>
where
    V: Copy + Default + std::ops::Sub<Output = V> + std::ops::Add<Output = V> + std::ops::Mul<f64, Output = V>,
{
    if !(deviation > 0.0 && deviation.is_finite()) {
        return values.to_vec();
    }
    let around = |i: usize| {
        let first = times.partition_point(|&t| t < times[i] - 3.0 * deviation);
        let last = times.partition_point(|&t| t <= times[i] + 3.0 * deviation);
        let mut sum = (V::default(), 0.0);
        for j in first..last {
            let weight = (-0.5 * ((times[j] - times[i]) / deviation).powi(2)).exp();
            sum = (sum.0 + (values[j] - values[i]) * weight, sum.1 + weight);
        }
        values[i] + sum.0 * (1.0 / sum.1)
    };
    (0..values.len()).map(around).collect()
}

/// Values with their slopes: of the parabola through a sample and its neighbors, zero at the ends.
fn with_slopes<V>(times: &[f64], values: &[V]) -> Vec<[V; 2]>
where
    V: Copy + Default + std::ops::Sub<Output = V> + std::ops::Add<Output = V> + std::ops::Mul<f64, Output = V>,
{
    let slope = |i: usize| {
        if i == 0 || i + 1 >= values.len() {
            return V::default();
        }
        let (before, after) = (times[i] - times[i - 1], times[i + 1] - times[i]);
        let (a, b) = ((values[i] - values[i - 1]) * (1.0 / before), (values[i + 1] - values[i]) * (1.0 / after));
        a * (after / (before + after)) + b * (before / (before + after))
    };
    (0..values.len()).map(|i| [values[i], slope(i)]).collect()
}

/// The cubic from `a` to `b` over `span`, at the fraction `f`.
fn hermite<V>(a: [V; 2], b: [V; 2], span: f64, f: f64) -> V
where
    V: Copy + std::ops::Sub<Output = V> + std::ops::Add<Output = V> + std::ops::Mul<f64, Output = V>,
{
    let rise = f * f * (3.0 - 2.0 * f);
    a[0] + (b[0] - a[0]) * rise + a[1] * (span * f * (1.0 - f) * (1.0 - f)) + b[1] * (span * f * f * (f - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(n: usize) -> HeadMotion {
        let times_secs: Vec<f64> = (0..n).map(|i| i as f64 / 120.0).collect();
        let q = |t: f64| DQuat::from_rotation_y(8.0 * t);
        HeadMotion {
            positions_m: times_secs.iter().map(|t| [(5.0 * t).sin(), 1.0, (5.0 * t).cos()]).collect(),
            // Signs as some recorders write them.
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
        // Accelerations, by differences over 1/300 s, stay near the true 25 m/s^2; straight lines give peaks of 300.
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
    fn a_head_at_rest_stands_still_to_the_bit() {
        let mut motion = circle(10);
        motion.positions_m.fill([0.0, 0.0, 0.0]);
        motion.rotations_xyzw.fill([0.0, 0.0, 0.0, 1.0]);
        let path = HeadPath::prepare(&motion, 0.01);
        assert!((-5..100).all(|k| path.at(f64::from(k) * 0.0013) == Rigid::IDENTITY));
        assert_eq!(HeadPath::default().at(3.0), Rigid::IDENTITY);
    }
}
