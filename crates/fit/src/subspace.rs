//! Pose and coefficients of a linear face model that explain a scan.
//!
//! The model is `p = base + sum_k c_k mode_k` in the template's space; a similarity leads to the scan. In
//! every round closest points are found, and one Gauss-Newton step minimizes
//!
//! ```text
//! sum_v w_v (n_v . (T p_v - q_v))^2 / noise^2 + sum_l w_l |T p_l - s_l|^2 / mark^2 + sum_k (c_k - mean_k)^2 / dev_k^2
//! ```
//!
//! over the change of the similarity (seven unknowns) and the coefficients, which stay within bounds. With
//! identities as modes this is a registration within E_faceLike of [Ichim16, sec. 3.1]; with expressions as
//! modes it finds weights and rigid stabilization of a scan at once [Ichim16, sec. 3.2]. The plane terms
//! count as [`EVIDENCE`] independent measurements, however many vertices there are: errors of neighbors are
//! not independent. Matches farther away than usual count less (Geman-McClure weights).

use crate::FitError;
use crate::target::{Acceptance, Match, Target};
use glam::{DQuat, DVec3};
use rayon::prelude::*;
use risorius_base::Rigid;
use risorius_linalg::{Matrix, solve_bounded};
use risorius_mesh::Similarity;

/// Independent measurements that all plane terms together count as.
const EVIDENCE: f64 = 1000.0;

/// Unknowns of a change of the similarity: rotation, translation, scale.
const N_POSE: usize = 7;

/// Vertices whose contributions are added up together.
const GROUP: usize = 512;

/// A landmark of the model with its place on the scan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The corners of its triangle.
    pub corners: [u32; 3],
    /// Their weights.
    pub barycentric: [f64; 3],
    /// The place in the scan's coordinates.
    pub place: DVec3,
    /// Relative weight.
    pub weight: f64,
}

/// A linear model; see the module.
pub struct Model<'a> {
    /// Positions without modes, in meters.
    pub base: &'a [DVec3],
    /// Displacements of each mode.
    pub modes: &'a [Vec<DVec3>],
    /// Expected value and deviation of each coefficient.
    pub expected: &'a [[f64; 2]],
    /// Least and largest value of each coefficient.
    pub bounds: &'a [[f64; 2]],
    /// Triangles, for normals.
    pub triangles: &'a [[u32; 3]],
    /// Weights of vertices, areas included; 0 where nothing is matched.
    pub weights: &'a [f64],
    /// How much each vertex tells about the pose: the change of the similarity is found with these in a last
    /// step of each round. Empty: found together with the coefficients only.
    pub steady: &'a [f64],
    /// Landmarks.
    pub marks: &'a [Mark],
}

/// A round of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Which matches are accepted.
    pub accepted: Acceptance,
    /// Deviation of the distances to planes, meters.
    pub noise: f64,
    /// Deviation of landmarks, meters; infinite to ignore them.
    pub mark: f64,
}

impl Round {
    /// Reach in meters and least cosine of matches; deviations of planes and of landmarks in millimeters.
    pub const fn new(reach: f64, least_cos: f64, noise_mm: f64, mark_mm: f64) -> Self {
        Self { accepted: Acceptance { reach, least_cos }, noise: noise_mm * 1e-3, mark: mark_mm * 1e-3 }
    }
}

/// The similarity and the coefficients.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// From the template to the scan.
    pub scan_from_template: Similarity,
    /// One for each mode.
    pub coefficients: Vec<f64>,
}

impl Model<'_> {
    /// Positions for coefficients.
    pub fn positions(&self, coefficients: &[f64]) -> Vec<DVec3> {
        let mut p = self.base.to_vec();
        for (mode, &c) in self.modes.iter().zip(coefficients) {
            if c != 0.0 {
                p.par_iter_mut().zip(mode).for_each(|(p, d)| *p += *d * c);
            }
        }
        p
    }

    /// Runs the rounds from `start`.
    pub fn explain(
        &self,
        target: &Target,
        start: Explained,
        rounds: &[Round],
    ) -> Result<Explained, FitError> {
        let mut now = start;
        for round in rounds {
            let p = self.positions(&now.coefficients);
            let normals = vertex_normals(&p, self.triangles);
            let pose = &now.scan_from_template;
            let matches = target.matches(&p, &normals, self.weights, pose, round.accepted);
            let (h, g) = self.normal_equations(&p, &matches, &now, round);
            let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; N_POSE], vec![f64::INFINITY; N_POSE]);
            lower.extend(self.bounds.iter().map(|b| b[0]));
            upper.extend(self.bounds.iter().map(|b| b[1]));
            let found = solve_bounded(&h, &g, &lower, &upper)?.x;
            now.coefficients.copy_from_slice(&found[N_POSE..]);
            now.scan_from_template = now.scan_from_template.after(&change(&found));
        }
        Ok(now)
    }

    /// The similarity alone, by the vertices weighted as `steady`.
    pub fn settle(
        &self,
        target: &Target,
        start: &Explained,
        rounds: &[Round],
    ) -> Result<Similarity, FitError> {
        let fixed = Model {
            base: &self.positions(&start.coefficients),
            modes: &[],
            expected: &[],
            bounds: &[],
            weights: self.steady,
            marks: &[],
            ..*self
        };
        let start = Explained { scan_from_template: start.scan_from_template, coefficients: Vec::new() };
        Ok(fixed.explain(target, start, rounds)?.scan_from_template)
    }

    /// `1/2 u H u + g u` over the pose's change and the coefficients.
    fn normal_equations(
        &self,
        p: &[DVec3],
        matches: &[Option<Match>],
        now: &Explained,
        round: &Round,
    ) -> (Matrix, Vec<f64>) {
        let n = N_POSE + self.modes.len();
        let usual = usual_distance(matches);
        let weight = |v: usize, m: &Match| {
            let t = m.distance / (3.0 * usual);
            self.weights[v] / (1.0 + t * t).powi(2)
        };
        let matched = |v: usize| matches[v].as_ref().map(|m| weight(v, m));
        let total: f64 = (0..p.len()).filter_map(matched).sum();
        let scale = EVIDENCE / (total.max(1e-300) * round.noise * round.noise);
        let groups: Vec<usize> = (0..p.len()).step_by(GROUP).collect();
        let sums: Vec<Normal> = groups
            .into_par_iter()
            .map(|first| {
                let mut sum = Normal::new(n);
                for v in first..(first + GROUP).min(p.len()) {
                    let Some(m) = &matches[v] else { continue };
                    self.row(v, p[v], m.normal, &mut sum.row);
                    // The coefficients are unknowns themselves, so their part is added back.
                    let along: f64 =
                        now.coefficients.iter().zip(&sum.row[N_POSE..]).map(|(c, r)| c * r).sum();
                    sum.add(m.normal.dot(m.point - p[v]) + along, weight(v, m) * scale);
                }
                sum
            })
            .collect();
        let mut all = Normal::new(n);
        sums.iter().for_each(|s| all.join(s));
        self.add_marks(p, now, round, &mut all);
        for (k, [mean, deviation]) in self.expected.iter().enumerate() {
            let w = 1.0 / (deviation * deviation);
            all.h[(N_POSE + k) * n + N_POSE + k] += w;
            all.g[N_POSE + k] -= w * mean;
        }
        // Without any evidence the pose stays.
        (0..N_POSE).for_each(|k| all.h[k * n + k] += 1e-3);
        (Matrix::symmetric(n, |i, j| all.h[i.max(j) * n + i.min(j)]), all.g)
    }

    /// The derivative of `normal . p_v` by all unknowns.
    fn row(&self, v: usize, p: DVec3, normal: DVec3, row: &mut [f64]) {
        row[..3].copy_from_slice(&p.cross(normal).to_array());
        row[3..6].copy_from_slice(&normal.to_array());
        row[6] = normal.dot(p);
        row[N_POSE..].iter_mut().zip(self.modes).for_each(|(r, mode)| *r = normal.dot(mode[v]));
    }

    fn add_marks(&self, p: &[DVec3], now: &Explained, round: &Round, all: &mut Normal) {
        if round.mark.is_infinite() {
            return;
        }
        let back = now.scan_from_template.inverse();
        for mark in self.marks {
            let weighted = || mark.corners.iter().zip(mark.barycentric);
            let here: DVec3 = weighted().map(|(&v, w)| p[v as usize] * w).sum();
            let off = back.apply(mark.place) - here;
            // Wrong landmarks count less, as wrong matches do.
            let t = off.length() / (3.0 * round.mark);
            let weight = mark.weight / (round.mark * round.mark * (1.0 + t * t).powi(2));
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                all.row[..3].copy_from_slice(&here.cross(axis).to_array());
                all.row[3..6].copy_from_slice(&axis.to_array());
                all.row[6] = axis.dot(here);
                for (r, mode) in all.row[N_POSE..].iter_mut().zip(self.modes) {
                    *r = weighted().map(|(&v, w)| axis.dot(mode[v as usize]) * w).sum();
                }
                let along: f64 = now.coefficients.iter().zip(&all.row[N_POSE..]).map(|(c, r)| c * r).sum();
                all.add(axis.dot(off) + along, weight);
            }
        }
    }
}

/// Sums of normal equations, lower triangle by rows.
struct Normal {
    h: Vec<f64>,
    g: Vec<f64>,
    row: Vec<f64>,
}

impl Normal {
    fn new(n: usize) -> Self {
        Self { h: vec![0.0; n * n], g: vec![0.0; n], row: vec![0.0; n] }
    }

    /// Adds `weight (row . u - wanted)^2 / 2`.
    fn add(&mut self, wanted: f64, weight: f64) {
        let n = self.g.len();
        for i in 0..n {
            let w = self.row[i] * weight;
            if w != 0.0 {
                let row = &self.row[..=i];
                self.h[i * n..=i * n + i].iter_mut().zip(row).for_each(|(h, r)| *h += w * r);
                self.g[i] -= w * wanted;
            }
        }
    }

    fn join(&mut self, other: &Self) {
        self.h.iter_mut().zip(&other.h).for_each(|(a, b)| *a += b);
        self.g.iter_mut().zip(&other.g).for_each(|(a, b)| *a += b);
    }
}

/// The small similarity of the pose's unknowns.
fn change(u: &[f64]) -> Similarity {
    let turn = DVec3::new(u[0], u[1], u[2]);
    let turn = turn.clamp_length_max(0.5);
    let translation = DVec3::new(u[3], u[4], u[5]);
    let scale = u[6].clamp(-0.5, 0.5).exp();
    Similarity { rigid: Rigid { rotation: DQuat::from_scaled_axis(turn), translation }, scale }
}

/// The median distance of matches, at least a tenth of a millimeter.
pub(crate) fn usual_distance(matches: &[Option<Match>]) -> f64 {
    let mut distances: Vec<f64> = matches.iter().flatten().map(|m| m.distance).collect();
    distances.sort_unstable_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied().unwrap_or(0.0).max(1e-4)
}

/// Unit normals of vertices, weighted by area.
pub(crate) fn vertex_normals(p: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; p.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| p[v as usize]);
        let n = (b - a).cross(c - a);
        t.iter().for_each(|&v| normals[v as usize] += n);
    }
    normals.into_iter().map(DVec3::normalize_or_zero).collect()
}
