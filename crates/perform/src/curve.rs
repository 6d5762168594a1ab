//! Smooth curves through samples over time: cubic Hermite interpolation.
//!
//! Between samples `a` and `b`, `span` seconds apart, with slopes a' and b', at the fraction f:
//!
//! ```text
//! a + (b - a) f^2 (3 - 2 f) + a' span f (1 - f)^2 + b' span f^2 (f - 1)
//! ```
//!
//! [`Curve::recorded`] is for recorded samples: slopes are those of parabolas through three neighbors; at the
//! ends, of the parabola through the first or last three. A recording that begins in the middle of a motion
//! therefore begins with its velocity. [`Curve::keyed`] is for keyframes, where a value that is equal at two
//! keys must stay constant between them, and no value may overshoot its keys. Its slope in each component is
//! the harmonic mean of the slopes to both neighbors, weighted by their distances in time, and zero if they
//! differ in sign and at the ends.
//!
//! Beyond its ends a curve comes to rest: its slope falls linearly to zero within [`COAST`]. A stop within
//! one step would be a blow. Keyframes end with slope zero, so they hold their value.

use glam::{DVec3, DVec4};
use risorius_base::ease::smoothstep;
use std::ops::{Add, Mul, Sub};

/// A value that can be interpolated.
pub trait Value:
    Copy + Default + PartialEq + Add<Output = Self> + Sub<Output = Self> + Mul<f64, Output = Self>
{
    /// Component by component.
    fn combine(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self;

    /// The components.
    fn numbers(self) -> impl Iterator<Item = f64>;
}

impl Value for DVec3 {
    fn combine(self, o: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self::new(f(self.x, o.x), f(self.y, o.y), f(self.z, o.z))
    }

    fn numbers(self) -> impl Iterator<Item = f64> {
        self.to_array().into_iter()
    }
}

impl Value for DVec4 {
    fn combine(self, o: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self::new(f(self.x, o.x), f(self.y, o.y), f(self.z, o.z), f(self.w, o.w))
    }

    fn numbers(self) -> impl Iterator<Item = f64> {
        self.to_array().into_iter()
    }
}

/// A value over time; empty by default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve<V> {
    times: Vec<f64>,
    /// Value and slope at each time.
    knots: Vec<[V; 2]>,
}

impl<V: Value> Curve<V> {
    /// Through recorded samples, at strictly ascending times.
    pub fn recorded(times: &[f64], values: &[V]) -> Self {
        let mut curve = Self::with_slopes(times, values, |[a, b], [before, after]| {
            a * (after / (before + after)) + b * (before / (before + after))
        });
        let n = curve.times.len();
        if n > 1 {
            curve.knots[0][1] = curve.slope_at_end(|k| k);
            curve.knots[n - 1][1] = curve.slope_at_end(|k| n - 1 - k);
        }
        curve
    }

    /// The slope of the parabola through the three knots at an end, of which `knot(0)` is the last; through
    /// two knots, of the line.
    fn slope_at_end(&self, knot: impl Fn(usize) -> usize) -> V {
        let slope = |k: usize| {
            let [a, b] = [knot(k), knot(k + 1)];
            let span = self.times[b] - self.times[a];
            ((self.knots[b][0] - self.knots[a][0]) * (1.0 / span), span)
        };
        let (near, span) = slope(0);
        if self.times.len() == 2 {
            return near;
        }
        let (far, beyond) = slope(1);
        near + (near - far) * (span / (span + beyond))
    }

    /// Through keyframes, at strictly ascending times, without overshoot.
    pub fn keyed(times: &[f64], values: &[V]) -> Self {
        Self::with_slopes(times, values, |[a, b], [before, after]| {
            let (u, v) = (2.0 * after + before, after + 2.0 * before);
            a.combine(b, |a, b| if a * b > 0.0 { (u + v) / (u / a + v / b) } else { 0.0 })
        })
    }

    /// The same value at all times.
    pub fn constant(value: V) -> Self {
        Self::keyed(&[0.0], &[value])
    }

    /// `slope` gets the slopes to both neighbors and their distances in time.
    fn with_slopes(times: &[f64], values: &[V], slope: impl Fn([V; 2], [f64; 2]) -> V) -> Self {
        let n = times.len().min(values.len());
        let at = |i: usize| {
            if i == 0 || i + 1 >= n {
                return V::default();
            }
            let (before, after) = (times[i] - times[i - 1], times[i + 1] - times[i]);
            let (a, b) =
                ((values[i] - values[i - 1]) * (1.0 / before), (values[i + 1] - values[i]) * (1.0 / after));
            slope([a, b], [before, after])
        };
        Self { times: times[..n].to_vec(), knots: (0..n).map(|i| [values[i], at(i)]).collect() }
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The value at time `t`; `None` if there are no samples.
    pub fn at(&self, t_secs: f64) -> Option<V> {
        let (first, last) = (*self.times.first()?, *self.times.last()?);
        if t_secs < first {
            return Some(coasted(self.knots[0], t_secs - first));
        }
        if t_secs >= last {
            return Some(coasted(self.knots[self.knots.len() - 1], t_secs - last));
        }
        let t = t_secs;
        let b = self.end_of_piece(self.times.partition_point(|&s| s <= t));
        let a = b - 1;
        let span = self.times[b] - self.times[a];
        Some(hermite(self.knots[a], self.knots[b], span, (t - self.times[a]) / span))
    }

    /// Exactly the numbers that determine the curve between two times: times, values, slopes.
    pub fn knots(&self, [from_secs, to_secs]: [f64; 2]) -> impl Iterator<Item = f64> {
        let first = self.end_of_piece(self.times.partition_point(|&s| s <= from_secs)) - 1;
        let last = self.end_of_piece(self.times.partition_point(|&s| s < to_secs)).max(first);
        let knots = first..(last + 1).min(self.times.len());
        knots.flat_map(|k| {
            let values = self.knots[k].into_iter().flat_map(V::numbers);
            std::iter::once(self.times[k]).chain(values)
        })
    }

    /// Whether the value is zero everywhere between two times.
    pub fn is_zero(&self, [from_secs, to_secs]: [f64; 2]) -> bool {
        let first = self.end_of_piece(self.times.partition_point(|&s| s <= from_secs)) - 1;
        let last = self.end_of_piece(self.times.partition_point(|&s| s < to_secs)).max(first);
        (first..(last + 1).min(self.times.len())).all(|k| self.knots[k] == [V::default(); 2])
    }

    /// The index of the sample that ends the cubic piece before sample `after`; the first and last pieces
    /// extend beyond the ends.
    fn end_of_piece(&self, after: usize) -> usize {
        after.clamp(1, self.times.len().max(2) - 1)
    }
}

/// Time in which a recorded motion comes to rest beyond its ends, seconds.
pub const COAST: f64 = 0.25;

/// The value at `t` seconds from an end: the slope of its knot falls linearly to zero.
fn coasted<V: Value>([value, slope]: [V; 2], t: f64) -> V {
    let gone = t.abs().min(COAST);
    value + slope * ((gone - gone * gone / (2.0 * COAST)) * t.signum())
}

/// The cubic from `a` to `b` over `span`, at the fraction `f`.
fn hermite<V: Value>(a: [V; 2], b: [V; 2], span: f64, f: f64) -> V {
    a[0] + (b[0] - a[0]) * smoothstep(f)
        + a[1] * (span * f * (1.0 - f) * (1.0 - f))
        + b[1] * (span * f * f * (f - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyframes_hold_and_are_never_left() {
        let times = [0.0, 0.1, 0.5, 0.6, 1.0];
        let values = [0.0, 5.0, 5.0, 1.0, 0.5].map(|x| DVec3::new(x, -x, 0.0));
        let keyed = Curve::keyed(&times, &values);
        let x = |curve: &Curve<DVec3>, t: f64| curve.at(t).unwrap().x;
        for (k, t) in times.iter().enumerate() {
            assert!((x(&keyed, *t) - values[k].x).abs() < 1e-12);
        }
        for k in 0..=400 {
            let t = 0.1 + 0.4 * f64::from(k) / 400.0;
            assert_eq!(keyed.at(t), Some(values[1]), "held from 0.1 to 0.5 s, at {t}");
        }
        let falls = (0..500).all(|k| {
            let t = 0.5 + f64::from(k) / 1000.0;
            x(&keyed, t + 0.001) <= x(&keyed, t) && x(&keyed, t) <= 5.0 && x(&keyed, t) >= 0.5
        });
        assert!(falls, "the curve from 5 through 1 to 0.5 is not monotonic");
        // A recorded curve overshoots its samples at extrema.
        assert!(x(&Curve::recorded(&times, &values), 0.3) > 5.5);
        assert_eq!((keyed.at(-1.0), keyed.at(7.0)), (Some(values[0]), Some(values[4])));
        assert_eq!(Curve::constant(DVec3::X).at(3.0), Some(DVec3::X));
        assert_eq!(Curve::<DVec3>::default().at(3.0), None);
    }

    #[test]
    fn a_recording_begins_and_ends_in_motion_and_comes_to_rest() {
        let times: Vec<f64> = (0..20).map(|i| f64::from(i) / 120.0).collect();
        let motion = |t: f64| DVec3::new(0.5 * t, 1.0 + 2.0 * t * t, 0.0);
        let curve = Curve::recorded(&times, &times.iter().map(|&t| motion(t)).collect::<Vec<_>>());
        for k in 0..=300 {
            let t = times[19] * f64::from(k) / 300.0;
            assert!(curve.at(t).unwrap().distance(motion(t)) < 1e-12, "at {t} s");
        }
        // Beyond the ends, no acceleration is larger than the end velocity over the coasting time.
        let h = 1.0 / 300.0;
        for k in -120..=120 {
            let [a, b, c] = [-1.0, 0.0, 1.0].map(|s| curve.at(f64::from(k) * h + s * h).unwrap());
            let acceleration = (a - 2.0 * b + c).length() / (h * h);
            assert!(acceleration < 8.0, "{acceleration} m/s^2 at {} s", f64::from(k) * h);
        }
        assert_eq!(curve.at(times[19] + COAST), curve.at(9.0), "at rest");
        assert_eq!(curve.at(-COAST), curve.at(-9.0), "at rest");
    }

    #[test]
    fn spans_in_which_nothing_acts_are_known() {
        let curve = Curve::keyed(&[0.0, 1.0, 2.0, 3.0], &[DVec3::ZERO, DVec3::ZERO, DVec3::X, DVec3::ZERO]);
        assert!(curve.is_zero([-1.0, 0.5]) && curve.is_zero([0.2, 1.0]));
        assert!(!curve.is_zero([0.2, 1.1]) && !curve.is_zero([2.5, 2.6]));
        assert!(Curve::<DVec3>::default().is_zero([0.0, 1.0]));
    }
}
