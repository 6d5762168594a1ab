//! Smooth transitions from 0 to 1 between flat ends.

use std::ops::{Mul, Sub};

/// `t^2 (3 - 2 t)`: slope 0 at 0 and 1. `t` must be from 0 to 1.
pub fn smoothstep<T: Copy + From<f32> + Mul<Output = T> + Sub<Output = T>>(t: T) -> T {
    t * t * (T::from(3.0) - T::from(2.0) * t)
}

/// `t^3 (6 t^2 - 15 t + 10)`: slope and curvature 0 at 0 and 1. `t` must be from 0 to 1.
pub(crate) fn smootherstep(t: f64) -> f64 {
    t * t * t * (t * (6.0 * t - 15.0) + 10.0)
}

/// 0 below `from`, 1 above `to`, [`smootherstep`] between.
pub fn ramp(x: f64, from: f64, to: f64) -> f64 {
    smootherstep(((x - from) / (to - from)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions_rise_from_0_to_1_and_are_flat_at_both_ends() {
        for f in [smoothstep::<f64>, smootherstep] {
            assert_eq!((f(0.0), f(0.5), f(1.0)), (0.0, 0.5, 1.0));
            assert!(f(1e-4) < 1e-7 && 1.0 - f(1.0 - 1e-4) < 1e-7);
            assert!((0..100).all(|k| f(f64::from(k) / 100.0) < f(f64::from(k + 1) / 100.0)));
        }
        assert_eq!(smoothstep(0.25f32), 0.15625);
        assert_eq!((ramp(1.0, 2.0, 4.0), ramp(3.0, 2.0, 4.0), ramp(9.0, 2.0, 4.0)), (0.0, 0.5, 1.0));
    }
}
