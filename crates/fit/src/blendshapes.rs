//! Personal blendshapes from registered expressions [Ichim16, eq. 8; Li10].
//!
//! ```text
//! min_V  sum_l | sum_m a_lm V_m - u_l |^2 + sum_m kappa_m | V_m - V*_m |^2
//! ```
//!
//! `u_l` is the displacement of expression l from the neutral, `a` the weights, `V*` the template's shapes
//! carried to the person. The paper writes it for deformation gradients. All expressions are in the frame of
//! the skull here, and gradients are linear in displacements, so the same minimum is found on displacements,
//! vertex by vertex, and needs no integration. Where a shape of the template moves nothing, its kappa is
//! larger [Li10, sec. 4]: a smile takes no part in explaining noise on the forehead.
//!
//! The minimum is `V_m = V*_m + a_m y / kappa_m` with `(A K^-1 A^T + 1) y = u - A V*`, a system with as many
//! unknowns as there are expressions.

use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{Cholesky, Matrix};

/// Trust in the template's shapes [Ichim16, sec. 3.3].
pub const KAPPA: f64 = 1e-4;

/// Motion of a shape at which it takes half of its part in explaining expressions, meters.
const HALF: f64 = 1e-3;

/// Part that shapes take where they move nothing.
const TRACE: f64 = 0.003;

/// An expression: the value of every slider, and the displacement of every vertex.
#[derive(Debug, Clone)]
pub struct Example {
    /// Slider values.
    pub weights: Vec<f64>,
    /// Displacements from the neutral.
    pub moved: Vec<DVec3>,
    /// How much each vertex of the expression is known, 0 to 1.
    pub known: Vec<f64>,
}

/// The shapes that explain the examples; `shapes` are the template's.
pub fn personal_shapes(shapes: &[Vec<DVec3>], examples: &[Example]) -> Vec<Vec<DVec3>> {
    let active: Vec<usize> =
        (0..shapes.len()).filter(|&m| examples.iter().any(|e| e.weights[m] != 0.0)).collect();
    let n_vertices = shapes.first().map_or(0, Vec::len);
    let changes: Vec<Vec<DVec3>> =
        (0..n_vertices).into_par_iter().map(|v| change_at(v, shapes, &active, examples)).collect();
    let mut personal = shapes.to_vec();
    for (v, change) in changes.iter().enumerate() {
        active.iter().zip(change).for_each(|(&m, by)| personal[m][v] += *by);
    }
    personal
}

/// The change of each active shape at a vertex.
fn change_at(v: usize, shapes: &[Vec<DVec3>], active: &[usize], examples: &[Example]) -> Vec<DVec3> {
    let trust: Vec<f64> = active
        .iter()
        .map(|&m| {
            let moved = shapes[m][v].length();
            (moved / (moved + HALF)).max(TRACE).powi(2) / KAPPA
        })
        .collect();
    let n = examples.len();
    let known = |l: usize| examples[l].known[v].sqrt();
    let at = |l: usize, k: usize| examples[l].weights[active[k]] * known(l);
    let system = Matrix::symmetric(n, |i, j| {
        let sum: f64 = (0..active.len()).map(|k| at(i, k) * at(j, k) * trust[k]).sum();
        sum + if i == j { 1.0 } else { 0.0 }
    });
    let Ok(factor) = Cholesky::factor(system) else { return vec![DVec3::ZERO; active.len()] };
    let left = |l: usize| {
        let explained: DVec3 = active.iter().map(|&m| shapes[m][v] * examples[l].weights[m]).sum();
        (examples[l].moved[v] - explained) * known(l)
    };
    let left: Vec<DVec3> = (0..n).map(left).collect();
    let mut y = [0, 1, 2].map(|c| left.iter().map(|d| d[c]).collect::<Vec<f64>>());
    y.iter_mut().for_each(|column| factor.solve_in_place(column));
    let change = |k: usize| -> DVec3 {
        let sum = |c: usize| (0..n).map(|l| at(l, k) * y[c][l]).sum::<f64>();
        DVec3::new(sum(0), sum(1), sum(2)) * trust[k]
    };
    (0..active.len()).map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_explain_the_examples_and_others_stay() {
        let shapes = vec![vec![DVec3::X * 0.01], vec![DVec3::Y * 0.01], vec![DVec3::Z * 0.01]];
        let truth = [DVec3::new(0.012, 0.001, 0.0), DVec3::new(0.0, 0.008, 0.002)];
        let example = |a: f64, b: f64| Example {
            weights: vec![a, b, 0.0],
            moved: vec![truth[0] * a + truth[1] * b],
            known: vec![1.0],
        };
        let found = personal_shapes(&shapes, &[example(0.9, 0.0), example(0.3, 0.8)]);
        assert!(found[0][0].distance(truth[0]) < 1e-5, "{}", found[0][0]);
        assert!(found[1][0].distance(truth[1]) < 1e-5, "{}", found[1][0]);
        assert_eq!(found[2], shapes[2]);
    }

    #[test]
    fn a_shape_that_moves_nothing_here_stays_small() {
        let shapes = vec![vec![DVec3::ZERO], vec![DVec3::X * 0.01]];
        let noise = Example { weights: vec![1.0, 0.0], moved: vec![DVec3::Z * 1e-3], known: vec![1.0] };
        let found = personal_shapes(&shapes, &[noise]);
        assert!(found[0][0].length() < 2e-4, "{}", found[0][0]);
    }

    #[test]
    fn what_is_unknown_stays_as_the_template_has_it() {
        let shapes = vec![vec![DVec3::X * 0.01]];
        let far = Example { weights: vec![1.0], moved: vec![DVec3::Z * 0.1], known: vec![0.0] };
        assert_eq!(personal_shapes(&shapes, &[far]), shapes);
    }
}
