//! The largest step before a tet becomes flat. Upright means not inverted: the determinant is positive.
//!
//! Along a straight motion the determinant of a tet's edges is a cubic in the step length. Its smallest root
//! in (0, 1] is bracketed between the roots of its derivative and found by bisection, which is slower than a
//! closed formula but robust. A bound on the coefficients rules out a root for nearly all tets, without a
//! search.

use glam::DMat3;

/// The largest `t <= 1` such that `det(edges + s motion) > 0` for all `s < t`; infinite if that holds up to
/// 1, and infinite for tets that are flat or inverted at 0.
#[inline]
pub(crate) fn largest_upright_step(edges: DMat3, motion: DMat3) -> f64 {
    let (a, b) = ([edges.x_axis, edges.y_axis, edges.z_axis], [motion.x_axis, motion.y_axis, motion.z_axis]);
    let (ab, bb) = (a[1].cross(a[2]), b[1].cross(b[2]));
    let mixed = a[1].cross(b[2]) + b[1].cross(a[2]);
    let c = [a[0].dot(ab), b[0].dot(ab) + a[0].dot(mixed), a[0].dot(bb) + b[0].dot(mixed), b[0].dot(bb)];
    if c[0] <= 0.0 || c[0] > (-c[1]).max(0.0) + (-c[2]).max(0.0) + (-c[3]).max(0.0) {
        return f64::INFINITY;
    }
    smallest_root(c)
}

/// The smallest root in (0, 1] of a cubic that is positive at 0, or infinity.
fn smallest_root(c: [f64; 4]) -> f64 {
    let at = |t: f64| c[0] + t * (c[1] + t * (c[2] + t * c[3]));
    let mut stops = [1.0; 3];
    // Roots of c1 + 2 c2 t + 3 c3 t^2, in the form without cancellation.
    let (p, q, r) = (3.0 * c[3], c[2], c[1]);
    let square = q * q - p * r;
    if square > 0.0 {
        let w = -(q + q.signum() * square.sqrt());
        for (stop, root) in stops.iter_mut().zip([w / p, r / w]) {
            if root > 0.0 && root < 1.0 {
                *stop = root;
            }
        }
    }
    stops.sort_by(f64::total_cmp);
    let mut low = 0.0;
    for high in stops {
        if at(high) <= 0.0 {
            return bisect(at, low, high);
        }
        low = high;
    }
    f64::INFINITY
}

/// Bisects towards the sign change and returns the largest argument known to give a positive value.
fn bisect(at: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if at(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Random;

    #[test]
    fn the_step_is_the_first_zero_of_the_determinant() {
        let mut random = Random(1);
        let mut found = 0;
        for _ in 0..3000 {
            let edges = random.matrix() + DMat3::IDENTITY;
            let motion = random.matrix() * 2.0;
            let step = largest_upright_step(edges, motion);
            let det = |t: f64| (edges + motion * t).determinant();
            if det(0.0) <= 0.0 {
                assert_eq!(step, f64::INFINITY);
                continue;
            }
            let sampled = (1..=2000).map(|k| f64::from(k) / 2000.0).find(|&t| det(t) <= 0.0);
            match sampled {
                Some(t) => assert!(step <= t && det(step * (1.0 - 1e-9)) > 0.0, "{step} {t}"),
                None => assert!(step > 1.0 || det(step).abs() < 1e-3, "{step}"),
            }
            found += usize::from(sampled.is_some());
        }
        assert!(found > 300);
    }

    #[test]
    fn degenerate_polynomials() {
        let flat = DMat3::from_diagonal(glam::DVec3::new(-2.0, 0.0, 0.0));
        assert!((largest_upright_step(DMat3::IDENTITY, flat) - 0.5).abs() < 1e-12);
        assert_eq!(largest_upright_step(DMat3::IDENTITY, DMat3::ZERO), f64::INFINITY);
        assert!((largest_upright_step(DMat3::IDENTITY, DMat3::IDENTITY * -1.25) - 0.8).abs() < 1e-4);
        assert_eq!(largest_upright_step(-DMat3::IDENTITY, flat), f64::INFINITY);
    }
}
