//! The parameters of points in a B-spline solid, for many points of one solid.
//!
//! Samples of the solid, taken once, tell which points can be inside and where to start: damped Gauss-Newton
//! runs from the nearest samples, with steps that are limited in length and clamped to the solid. A point
//! farther from every sample than the samples are apart is outside. Requires that the solid is not folded
//! (positive Jacobian). At the seam of a ring, either end may be returned.

use super::SplineSolid;
use glam::{DMat3, DVec3};

/// Nearest samples from which a point is searched.
const STARTS: usize = 4;

/// Iterations from one start; those that hardly approach the point end after [`PATIENT`].
const ITERATIONS: usize = 30;
const PATIENT: usize = 10;

/// A solid with samples.
#[derive(Debug, Clone)]
pub struct Locator<'a> {
    solid: &'a SplineSolid,
    samples: Vec<(DVec3, [f64; 3])>,
    low: DVec3,
    high: DVec3,
    /// Diagonal of the box of the control points.
    size: f64,
    /// Points of the solid are nearer than this to a sample.
    reach: f64,
}

impl<'a> Locator<'a> {
    /// Takes samples of a solid.
    pub fn prepare(solid: &'a SplineSolid) -> Self {
        let low = solid.control.iter().fold(DVec3::INFINITY, |a, &b| a.min(b));
        let high = solid.control.iter().fold(DVec3::NEG_INFINITY, |a, &b| a.max(b));
        let counts = [2 * solid.counts[0], solid.counts[1].max(3), 2];
        let place = |i: usize, n: usize| (i as f64 + 0.5) / n as f64;
        let mut samples = Vec::with_capacity(counts.iter().product());
        let mut reach: f64 = 0.0;
        for i in 0..counts[0] {
            for j in 0..counts[1] {
                for k in 0..counts[2] {
                    let at = [place(i, counts[0]), place(j, counts[1]), place(k, counts[2])];
                    let (point, by) = solid.evaluate(at);
                    samples.push((point, at));
                    // Half a cell along each direction, and as much again because the solid bends.
                    let half: f64 = (0..3).map(|d| by.col(d).length() / counts[d] as f64).sum();
                    reach = reach.max(half);
                }
            }
        }
        Self { solid, samples, low, high, size: (high - low).length(), reach }
    }

    /// The box of the control points, which contains the solid.
    pub fn bounds(&self) -> [DVec3; 2] {
        [self.low, self.high]
    }

    /// The parameters of a point, `None` outside.
    pub fn find(&self, p: DVec3) -> Option<[f64; 3]> {
        let margin = DVec3::splat(1e-9 * self.size);
        if !(p.cmpge(self.low - margin).all() && p.cmple(self.high + margin).all()) {
            return None;
        }
        let mut nearest = [(f64::INFINITY, 0); STARTS];
        for (i, (point, _)) in self.samples.iter().enumerate() {
            let distance = point.distance_squared(p);
            if distance < nearest[STARTS - 1].0 {
                nearest[STARTS - 1] = (distance, i);
                nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
        }
        let near = nearest.iter().filter(|(distance, _)| *distance <= self.reach * self.reach);
        near.into_iter().find_map(|&(_, i)| self.refine(p, self.samples[i].1))
    }

    /// Gauss-Newton from `at`.
    fn refine(&self, p: DVec3, mut at: [f64; 3]) -> Option<[f64; 3]> {
        let mut before = f64::INFINITY;
        for iteration in 0..ITERATIONS {
            let (point, by) = self.solid.evaluate(at);
            let off = p - point;
            let distance = off.length();
            if distance < 1e-10 * self.size {
                return Some(at);
            }
            if iteration >= PATIENT && distance > 0.9 * before {
                break;
            }
            before = distance;
            let step = solve_damped(by, off)?;
            let longest = step.abs().max_element();
            let step = step * (0.3 / longest.max(0.3));
            let next: [f64; 3] = std::array::from_fn(|k| (at[k] + step[k]).clamp(0.0, 1.0));
            let moved = (0..3).map(|k| (next[k] - at[k]).abs()).fold(0.0, f64::max);
            at = next;
            if moved < 1e-14 {
                break;
            }
        }
        // Boundary points may stop a rounding error outside.
        (self.solid.evaluate(at).0.distance(p) < 1e-7 * self.size).then_some(at)
    }
}

/// `by^-1 off`, or a regularized least-squares step where the Jacobian is singular.
fn solve_damped(by: DMat3, off: DVec3) -> Option<DVec3> {
    let scale = by.x_axis.length() * by.y_axis.length() * by.z_axis.length();
    if by.determinant().abs() > 1e-6 * scale {
        return Some(by.inverse() * off);
    }
    let normal = by.transpose() * by;
    let ridge = 1e-6 * (normal.x_axis.x + normal.y_axis.y + normal.z_axis.z);
    let step = (normal + DMat3::from_diagonal(DVec3::splat(ridge))).inverse() * (by.transpose() * off);
    step.is_finite().then_some(step)
}
