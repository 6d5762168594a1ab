//! Force of muscle fibers over their stretch: active and passive.
//!
//! With `l` the stretch relative to the length at which a fiber is strongest, in multiples of the greatest
//! isometric stress [Blemker05, eqs. 8 and 9], the curves that \[Teran05\] and \[Sifakis05\] use:
//!
//! ```text
//! active   9 (l - 0.4)^2    for 0.4 < l <= 0.6        passive   0                        for l <= 1
//!          1 - 4 (1 - l)^2  for 0.6 < l <= 1.4                  P1 (exp(P2 (l - 1)) - 1) for 1 < l <= 1.4
//!          9 (l - 1.6)^2    for 1.4 < l <= 1.6                  its tangent              beyond
//!          0                otherwise
//! ```
//!
//! with P1 = 0.05 and P2 = 6.6. Each function returns the integral of the force from the stretch at which it
//! begins, the force, and its slope. Fibers of a face at rest are taken to be at their best length (l = 1);
//! \[Blemker05\] gives skeletal muscle with its tendon 1.4.

/// Value, force and slope.
pub type Curve = [f64; 3];

/// Passive force: scale and growth [Blemker05, table 1].
const PASSIVE: [f64; 2] = [0.05, 6.6];

/// Beyond this stretch the passive force grows linearly.
const STRAIGHT: f64 = 1.4;

/// The active force at full activation.
pub fn active(l: f64) -> Curve {
    let cube = |x: f64| x * x * x;
    let rising = |l: f64| 3.0 * cube(l - 0.4);
    let middle = |l: f64| rising(0.6) + (l - 0.6) - 4.0 / 3.0 * (cube(l - 1.0) + 0.064);
    let falling = |l: f64| middle(1.4) + 3.0 * (cube(l - 1.6) + 0.008);
    match l {
        l if l <= 0.4 => [0.0; 3],
        l if l <= 0.6 => [rising(l), 9.0 * (l - 0.4) * (l - 0.4), 18.0 * (l - 0.4)],
        l if l <= 1.4 => [middle(l), 1.0 - 4.0 * (1.0 - l) * (1.0 - l), 8.0 * (1.0 - l)],
        l if l <= 1.6 => [falling(l), 9.0 * (l - 1.6) * (l - 1.6), 18.0 * (l - 1.6)],
        _ => [falling(1.6), 0.0, 0.0],
    }
}

/// The passive force.
pub fn passive(l: f64) -> Curve {
    let [scale, growth] = PASSIVE;
    let curved = |l: f64| {
        let e = (growth * (l - 1.0)).exp();
        [scale * ((e - 1.0) / growth - (l - 1.0)), scale * (e - 1.0), scale * growth * e]
    };
    match l {
        l if l <= 1.0 => [0.0; 3],
        l if l <= STRAIGHT => curved(l),
        _ => {
            let ([value, force, slope], d) = (curved(STRAIGHT), l - STRAIGHT);
            [value + d * (force + 0.5 * d * slope), force + d * slope, slope]
        }
    }
}

/// Active force at an activation, and passive force.
pub fn total(l: f64, activation: f64) -> Curve {
    let (active, passive) = (active(l), passive(l));
    std::array::from_fn(|k| activation * active[k] + passive[k])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_are_derivatives_and_known_points_are_met() {
        for curve in [active, passive] {
            for k in 0..400 {
                let l = 0.003 + 0.005 * f64::from(k);
                let h = 1e-6;
                let [_, force, slope] = curve(l);
                let by = |of: usize| (curve(l + h)[of] - curve(l - h)[of]) / (2.0 * h);
                assert!((by(0) - force).abs() < 1e-5, "at {l}: {} {force}", by(0));
                assert!((by(1) - slope).abs() < 1e-3, "at {l}: {} {slope}", by(1));
                assert!(force >= 0.0, "fibers do not push");
            }
        }
        assert_eq!((active(1.0)[1], active(0.3)[1], active(1.7)[1]), (1.0, 0.0, 0.0));
        assert!((active(0.6)[1] - 0.36).abs() < 1e-12 && (active(1.4)[1] - 0.36).abs() < 1e-12);
        assert!((passive(1.4)[1] - 0.05 * (2.64f64.exp() - 1.0)).abs() < 1e-12);
        assert_eq!(total(1.2, 0.5)[1], 0.5 * active(1.2)[1] + passive(1.2)[1]);
    }
}
