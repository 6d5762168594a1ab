//! Evaluation of B-spline solids: points, fibers, volume, surface, and the parameters of a point.
//!
//! In each direction the spline is clamped and uniform. Its degree is 3, or one less than the number of
//! control points if that is smaller. The parameters u, v, w run from 0 to 1; values outside are clamped. The
//! inverse ([`crate::locate`]) requires that the solid is not folded (positive Jacobian), which holds for the
//! built-in muscles of the head crate.

use super::SplineSolid;
use crate::locate::Locator;
use glam::{DMat3, DVec3};
use risorius_mesh::TriMesh;

/// Weights of up to four control points and their derivatives.
#[derive(Debug, Clone, Copy)]
pub struct Basis {
    /// First control point with a weight.
    pub first: usize,
    /// Number of weights in use.
    pub count: usize,
    /// Of each control point.
    pub weights: [f64; 4],
    /// Derivatives of the weights.
    pub slopes: [f64; 4],
}

/// Clamped uniform basis of `n` control points (2 or more) at `t`.
pub fn basis(n: usize, t: f64) -> Basis {
    let degree = 3.min(n - 1);
    let n_spans = n - degree;
    let x = t.clamp(0.0, 1.0) * n_spans as f64;
    let span = (x as usize).min(n_spans - 1);
    let knot = |i: usize| i.saturating_sub(degree).min(n_spans) as f64;
    let at = span + degree;
    let mut weights = [1.0, 0.0, 0.0, 0.0];
    let mut lower = weights;
    for d in 1..=degree {
        lower = weights;
        let mut carried = 0.0;
        for i in 0..d {
            let (left, right) = (knot(at + 1 + i - d), knot(at + 1 + i));
            let part = lower[i] / (right - left);
            weights[i] = carried + (right - x) * part;
            carried = (x - left) * part;
        }
        weights[d] = carried;
    }
    let mut slopes = [0.0; 4];
    for i in 0..degree {
        let (left, right) = (knot(at + 1 + i - degree), knot(at + 1 + i));
        let slope = degree as f64 * n_spans as f64 * lower[i] / (right - left);
        slopes[i] -= slope;
        slopes[i + 1] += slope;
    }
    Basis { first: span, count: degree + 1, weights, slopes }
}

impl SplineSolid {
    /// The point at the parameters.
    pub fn point(&self, u: f64, v: f64, w: f64) -> DVec3 {
        self.evaluate([u, v, w]).0
    }

    /// Unit direction of the fiber through the point at the parameters: along u. Zero where the solid has no
    /// length.
    pub fn fiber(&self, u: f64, v: f64, w: f64) -> DVec3 {
        self.evaluate([u, v, w]).1.x_axis.normalize_or_zero()
    }

    /// The point and its derivatives by u, v, w as columns.
    pub fn evaluate(&self, at: [f64; 3]) -> (DVec3, DMat3) {
        let [bu, bv, bw] = std::array::from_fn(|k| basis(self.counts[k], at[k]));
        let (mut point, mut by) = (DVec3::ZERO, DMat3::ZERO);
        for i in 0..bu.count {
            for j in 0..bv.count {
                for k in 0..bw.count {
                    let c = self.control[self.index(bu.first + i, bv.first + j, bw.first + k)];
                    point += c * (bu.weights[i] * bv.weights[j] * bw.weights[k]);
                    by.x_axis += c * (bu.slopes[i] * bv.weights[j] * bw.weights[k]);
                    by.y_axis += c * (bu.weights[i] * bv.slopes[j] * bw.weights[k]);
                    by.z_axis += c * (bu.weights[i] * bv.weights[j] * bw.slopes[k]);
                }
            }
        }
        (point, by)
    }

    /// Index of the control point (i, j, k) along u, v, w.
    pub fn index(&self, i: usize, j: usize, k: usize) -> usize {
        (i * self.counts[1] + j) * self.counts[2] + k
    }

    /// Length of the center line, in meters.
    pub fn length(&self) -> f64 {
        let n = 16 * self.counts[0];
        let at = |i: usize| self.point(i as f64 / n as f64, 0.5, 0.5);
        (0..n).map(|i| at(i).distance(at(i + 1))).sum()
    }

    /// Volume, by Gauss quadrature with four points per span and direction; exact for cubic splines.
    pub fn volume(&self) -> f64 {
        const GAUSS: [(f64, f64); 4] = [
            (0.069_431_844_202_973_71, 0.173_927_422_568_726_9),
            (0.330_009_478_207_571_9, 0.326_072_577_431_273_1),
            (0.669_990_521_792_428_1, 0.326_072_577_431_273_1),
            (0.930_568_155_797_026_3, 0.173_927_422_568_726_9),
        ];
        let [us, vs, ws] = self.counts.map(|n| {
            let n_spans = n - 3.min(n - 1);
            let rule =
                move |s: usize| GAUSS.map(|(x, h)| ((s as f64 + x) / n_spans as f64, h / n_spans as f64));
            (0..n_spans).flat_map(rule).collect::<Vec<_>>()
        });
        let mut sum = 0.0;
        for &(u, a) in &us {
            for &(v, b) in &vs {
                for &(w, c) in &ws {
                    sum += a * b * c * self.evaluate([u, v, w]).1.determinant();
                }
            }
        }
        sum
    }

    /// The boundary as a closed surface with `n` cells along v and w each, and `4 * n` along u. The two end
    /// faces of a ring coincide.
    pub fn surface(&self, n: usize) -> TriMesh {
        let n = n.max(1);
        let cells = [4 * n, n, n];
        let mut number = vec![u32::MAX; cells.iter().map(|c| c + 1).product()];
        let mut out = TriMesh::default();
        // Each face: its fixed direction, which end, and the two other directions in outward winding order.
        for (fixed, end, a, b) in
            [(0, 0, 2, 1), (0, 1, 1, 2), (1, 0, 0, 2), (1, 1, 2, 0), (2, 0, 1, 0), (2, 1, 0, 1)]
        {
            for i in 0..cells[a] {
                for j in 0..cells[b] {
                    let corner = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| {
                        let mut at = [0; 3];
                        (at[fixed], at[a], at[b]) = (end * cells[fixed], i, j);
                        let slot = &mut number[(at[0] * (cells[1] + 1) + at[1]) * (cells[2] + 1) + at[2]];
                        if *slot == u32::MAX {
                            *slot = out.positions.len() as u32;
                            let t: [f64; 3] = std::array::from_fn(|k| at[k] as f64 / cells[k] as f64);
                            out.positions.push(self.point(t[0], t[1], t[2]));
                        }
                        *slot
                    });
                    out.triangles.push([corner[0], corner[1], corner[2]]);
                    out.triangles.push([corner[0], corner[2], corner[3]]);
                }
            }
        }
        out
    }

    /// Whether the point lies in the solid.
    pub fn contains(&self, p: DVec3) -> bool {
        self.inverse(p).is_some()
    }

    /// The parameters of a point, `None` outside. For many points prepare a [`Locator`] once.
    pub fn inverse(&self, p: DVec3) -> Option<[f64; 3]> {
        Locator::prepare(self).find(p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_mesh::{Edges, Polygons};

    /// A bent bar, 5 x 3 x 2 control points.
    fn bar() -> SplineSolid {
        let mut control = Vec::new();
        for i in 0..5 {
            for j in 0..3 {
                for k in 0..2 {
                    let (x, y, z) = (f64::from(i), f64::from(j), f64::from(k));
                    control.push(DVec3::new(x, 0.8 * y + 0.2 * (x * 1.3).sin(), 0.5 * z + 0.05 * x * x));
                }
            }
        }
        SplineSolid { counts: [5, 3, 2], control }
    }

    #[test]
    fn weights_sum_to_one_and_slopes_are_derivatives() {
        for n in 2..9 {
            for i in 0..=40 {
                let t = f64::from(i) / 40.0;
                let b = basis(n, t);
                assert!((b.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert!(b.slopes.iter().sum::<f64>().abs() < 1e-9 && b.first + b.count <= n);
            }
            // Control points at their Greville abscissae reproduce the identity.
            let degree = 3.min(n - 1);
            let knot = |i: usize| i.saturating_sub(degree).min(n - degree) as f64 / (n - degree) as f64;
            let greville = |i: usize| (1..=degree).map(|k| knot(i + k)).sum::<f64>() / degree as f64;
            let b = basis(n, 0.37);
            let sum = |of: &[f64; 4]| (0..b.count).map(|i| of[i] * greville(b.first + i)).sum::<f64>();
            assert!((sum(&b.weights) - 0.37).abs() < 1e-12 && (sum(&b.slopes) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn derivatives_match_differences() {
        let solid = bar();
        let at = [0.3, 0.6, 0.2];
        let (_, by) = solid.evaluate(at);
        for k in 0..3 {
            let shifted = |h: f64| {
                let mut t = at;
                t[k] += h;
                solid.evaluate(t).0
            };
            let slope = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
            assert!((slope - by.col(k)).length() < 1e-7);
        }
        assert!((solid.fiber(0.3, 0.6, 0.2).length() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn surface_is_closed_and_encloses_the_volume() {
        let surface = bar().surface(8);
        let edges = Edges::of(&Polygons::from_triangles(&surface.triangles));
        assert!(
            edges.boundary().is_empty() && edges.non_manifold().is_empty() && edges.inconsistent().is_empty()
        );
        assert!((surface.volume() / bar().volume() - 1.0).abs() < 0.01);
        assert!((bar().volume() - 4.0 * 1.6 * 0.5).abs() < 1e-9, "shear keeps volume");
    }

    #[test]
    fn parameters_are_found_again() {
        let solid = bar();
        for i in 0..=6 {
            let at = [f64::from(i) / 6.0, f64::from(i * 5 % 7) / 6.0, f64::from(i * 3 % 7) / 6.0];
            let found = solid.inverse(solid.point(at[0], at[1], at[2])).expect("inside");
            assert!((0..3).all(|k| (found[k] - at[k]).abs() < 1e-6), "{at:?} {found:?}");
        }
        assert!(!solid.contains(solid.point(0.5, 0.5, 1.0) + DVec3::Z * 0.05));
        assert!(!solid.contains(DVec3::splat(100.0)) && !solid.contains(DVec3::NAN));
    }
}
