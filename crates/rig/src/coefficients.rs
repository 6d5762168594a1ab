//! From slider values to shape strengths: `x = f0 + D c(w)`.
//!
//! A slider without in-betweens has `c = w`. With in-betweens at `v1 < v2 < ... < 1` the face passes through
//! each of them in turn: between two neighbors, one fades out as the other fades in; below `v1` the first one
//! scales with `w / v1`; above 1 the last segment is extrapolated, so over-driven sliders keep moving. A
//! combination has the product or the least of its sliders, with negative values counted as 0. `c` is
//! piecewise polynomial, continuous, and exactly `w` for a rig without in-betweens and combinations.

use crate::model::{CombinationRule, Driver, Rig, Role};

/// The map from weights to shape strengths, prepared for a rig.
#[derive(Debug, Clone)]
pub struct Activation {
    n_shapes: usize,
    /// Per slider: in-betweens and the full shape at 1, ascending by slider value.
    knots: Vec<Vec<(f64, usize)>>,
    combinations: Vec<(usize, Vec<Driver>, CombinationRule)>,
}

/// One entry of the derivative of strengths by weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Row.
    pub shape: usize,
    /// Column.
    pub slider: usize,
    /// `d c_shape / d w_slider`.
    pub value: f64,
}

impl Activation {
    /// Reads the roles of a rig's shapes.
    pub fn prepare(rig: &Rig) -> Self {
        let mut knots: Vec<Vec<(f64, usize)>> = rig.sliders.iter().map(|s| vec![(1.0, s.shape)]).collect();
        let mut combinations = Vec::new();
        for (idx, shape) in rig.shapes.iter().enumerate() {
            match &shape.role {
                Role::Slider(_) => {}
                Role::Inbetween { slider, at } => knots[*slider].push((f64::from(*at), idx)),
                Role::Combination { drivers, rule } => combinations.push((idx, drivers.clone(), *rule)),
            }
        }
        knots.iter_mut().for_each(|k| k.sort_by(|a, b| a.0.total_cmp(&b.0)));
        Self { n_shapes: rig.shapes.len(), knots, combinations }
    }

    /// Number of shapes.
    pub fn n_shapes(&self) -> usize {
        self.n_shapes
    }

    /// Number of sliders.
    pub fn n_sliders(&self) -> usize {
        self.knots.len()
    }

    /// Strength of every shape at slider values `w`.
    pub fn coefficients(&self, w: &[f64]) -> Vec<f64> {
        assert_eq!(w.len(), self.knots.len());
        let mut c = vec![0.0; self.n_shapes];
        for (knots, &w) in self.knots.iter().zip(w) {
            let Stretch { from, to } = stretch(knots, w, false);
            let t = (w - from.0) / (to.0 - from.0);
            if let Some(shape) = from.1 {
                c[shape] = 1.0 - t;
            }
            c[to.1] = t;
        }
        for (shape, drivers, rule) in &self.combinations {
            let values = drivers.iter().map(|d| self.driver(d, w, false).0);
            c[*shape] = match rule {
                CombinationRule::Multiply => values.product(),
                CombinationRule::Lowest => values.fold(f64::INFINITY, f64::min),
            };
        }
        c
    }

    /// Nonzero derivatives of the strengths at `w`; at a kink, the right-hand derivative, or the left-hand
    /// one for sliders that are `falling`.
    pub fn slopes(&self, w: &[f64], falling: &[bool]) -> Vec<Slope> {
        let mut slopes = Vec::new();
        for (slider, (knots, &w)) in self.knots.iter().zip(w).enumerate() {
            let Stretch { from, to } = stretch(knots, w, falling[slider]);
            let value = 1.0 / (to.0 - from.0);
            if let Some(shape) = from.1 {
                slopes.push(Slope { shape, slider, value: -value });
            }
            slopes.push(Slope { shape: to.1, slider, value });
        }
        for (shape, drivers, rule) in &self.combinations {
            let values: Vec<(f64, f64)> =
                drivers.iter().map(|d| self.driver(d, w, falling[d.slider])).collect();
            let least =
                (0..values.len()).fold(0, |best, i| if values[i].0 < values[best].0 { i } else { best });
            for (i, driver) in drivers.iter().enumerate() {
                let value = match rule {
                    CombinationRule::Multiply => {
                        let others: f64 =
                            (0..values.len()).filter(|&j| j != i).map(|j| values[j].0).product();
                        others * values[i].1
                    }
                    CombinationRule::Lowest if i == least => values[i].1,
                    CombinationRule::Lowest => 0.0,
                };
                if value != 0.0 {
                    slopes.push(Slope { shape: *shape, slider: driver.slider, value });
                }
            }
        }
        slopes
    }

    /// Whether the slope of `slider` jumps at the value `w`: at an in-between, or at 0 where a combination
    /// starts.
    pub fn is_kink(&self, slider: usize, w: f64) -> bool {
        let knots = &self.knots[slider];
        let drives =
            || self.combinations.iter().any(|(_, drivers, _)| drivers.iter().any(|d| d.slider == slider));
        knots[..knots.len() - 1].iter().any(|k| k.0 == w) || ((w == 0.0 || w == 1.0) && drives())
    }

    /// Value and slope of one slider of a combination.
    fn driver(&self, driver: &Driver, w: &[f64], falling: bool) -> (f64, f64) {
        let w = w[driver.slider];
        // Whether `w` is above `x`; at equality, decided by the requested side.
        let beyond = |x: f64| if falling { w > x } else { w >= x };
        let Some(at) = driver.at.map(f64::from) else {
            return if beyond(0.0) { (w, 1.0) } else { (0.0, 0.0) };
        };
        let knots = &self.knots[driver.slider];
        let below = knots.iter().rev().map(|k| k.0).find(|&v| v < at).unwrap_or(0.0);
        let above = knots.iter().map(|k| k.0).find(|&v| v > at).unwrap_or(1.0);
        if beyond(below) && !beyond(at) {
            ((w - below) / (at - below), 1.0 / (at - below))
        } else if beyond(at) && !beyond(above) {
            ((above - w) / (above - at), -1.0 / (above - at))
        } else {
            (0.0, 0.0)
        }
    }
}

/// The segment of a slider that contains a value: from one knot (the neutral has no shape) to the next.
struct Stretch {
    from: (f64, Option<usize>),
    to: (f64, usize),
}

fn stretch(knots: &[(f64, usize)], w: f64, falling: bool) -> Stretch {
    // The last knot is the full shape; its segment extends beyond 1, and the first segment extends below 0.
    let to = knots.iter().position(|k| w < k.0 || (falling && w == k.0)).unwrap_or(knots.len() - 1);
    let from = if to == 0 { (0.0, None) } else { (knots[to - 1].0, Some(knots[to - 1].1)) };
    Stretch { from, to: knots[to] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Deltas, Shape, Slider};

    fn rig(shapes: &[(&str, Role)], n_sliders: usize) -> Rig {
        Rig {
            shapes: shapes
                .iter()
                .map(|(name, role)| Shape {
                    name: (*name).into(),
                    role: role.clone(),
                    deltas: Deltas::default(),
                })
                .collect(),
            sliders: (0..n_sliders)
                .map(|shape| Slider { name: shapes[shape].0.into(), shape, range: [0.0, 1.0] })
                .collect(),
            ..Rig::default()
        }
    }

    fn full_rig() -> Rig {
        let driver = |slider, at| Driver { slider, at };
        rig(
            &[
                ("jaw", Role::Slider(0)),
                ("smile", Role::Slider(1)),
                ("jaw50", Role::Inbetween { slider: 0, at: 0.5 }),
                ("jaw25", Role::Inbetween { slider: 0, at: 0.25 }),
                (
                    "both",
                    Role::Combination {
                        drivers: vec![driver(0, None), driver(1, None)],
                        rule: CombinationRule::Multiply,
                    },
                ),
                (
                    "low",
                    Role::Combination {
                        drivers: vec![driver(0, None), driver(1, None)],
                        rule: CombinationRule::Lowest,
                    },
                ),
                (
                    "half",
                    Role::Combination {
                        drivers: vec![driver(0, Some(0.5)), driver(1, None)],
                        rule: CombinationRule::Multiply,
                    },
                ),
            ],
            2,
        )
    }

    #[test]
    fn sliders_pass_through_their_inbetweens() {
        let a = Activation::prepare(&full_rig());
        assert_eq!(a.coefficients(&[0.25, 0.0])[..4], [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(a.coefficients(&[0.5, 0.0])[..4], [0.0, 0.0, 1.0, 0.0]);
        assert_eq!(a.coefficients(&[0.75, 0.0])[..4], [0.5, 0.0, 0.5, 0.0]);
        assert_eq!(a.coefficients(&[1.0, 0.3])[..4], [1.0, 0.3, 0.0, 0.0]);
        assert_eq!(a.coefficients(&[1.5, 0.0])[..4], [2.0, 0.0, -1.0, 0.0]);
        assert_eq!(a.coefficients(&[-0.25, 0.0])[..4], [0.0, 0.0, 0.0, -1.0]);
    }

    #[test]
    fn combinations_multiply_or_take_the_lowest() {
        let a = Activation::prepare(&full_rig());
        assert_eq!(a.coefficients(&[0.5, 0.8])[4..], [0.4, 0.5, 0.8]);
        assert_eq!(a.coefficients(&[0.75, 0.8])[6], 0.4);
        assert_eq!(a.coefficients(&[-0.5, -0.5])[4..], [0.0, 0.0, 0.0]);
    }

    #[test]
    fn slopes_at_kinks_have_two_sides() {
        let a = Activation::prepare(&full_rig());
        let h = 1e-6;
        for w in [[0.5, 0.8], [0.25, 0.3], [0.0, 0.4]] {
            assert!(a.is_kink(0, w[0]) && !a.is_kink(1, w[1]));
            for (falling, step) in [(false, h), (true, -h)] {
                let mut dense = vec![0.0; a.n_shapes()];
                let slopes = a.slopes(&w, &[falling, false]);
                slopes.iter().filter(|s| s.slider == 0).for_each(|s| dense[s.shape] += s.value);
                let (here, there) = (a.coefficients(&w), a.coefficients(&[w[0] + step, w[1]]));
                for shape in 0..a.n_shapes() {
                    let difference = (there[shape] - here[shape]) / step;
                    assert!(
                        (difference - dense[shape]).abs() < 1e-6,
                        "{w:?} falling {falling} shape {shape}"
                    );
                }
            }
        }
        assert!(!a.is_kink(0, 0.6));
    }

    #[test]
    fn slopes_agree_with_differences() {
        let a = Activation::prepare(&full_rig());
        let h = 1e-6;
        for w in [[0.1, 0.2], [0.3, 0.9], [0.6, 0.4], [0.9, 0.95], [1.2, 0.7], [-0.3, 0.5]] {
            let mut dense = vec![[0.0; 2]; a.n_shapes()];
            a.slopes(&w, &[false; 2]).iter().for_each(|s| dense[s.shape][s.slider] += s.value);
            for slider in 0..2 {
                let (mut up, mut down) = (w, w);
                up[slider] += h;
                down[slider] -= h;
                let (cu, cd) = (a.coefficients(&up), a.coefficients(&down));
                for shape in 0..a.n_shapes() {
                    let difference = (cu[shape] - cd[shape]) / (2.0 * h);
                    assert!(
                        (difference - dense[shape][slider]).abs() < 1e-6,
                        "{w:?} shape {shape} slider {slider}"
                    );
                }
            }
        }
    }
}
