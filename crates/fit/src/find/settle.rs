//! Alignment of the model with a cloud: iterated closest points over pose, scale and the values of modes.
//!
//! Each round matches the model's points with the nearest points of the cloud that face the same way, and
//! minimizes the sum of `w ((n . r)^2 + b |r|^2) / s^2 + sum_j (m_j / deviation_j)^2` over a small rotation,
//! translation, change of scale and change of the values m by one Gauss-Newton step. Weights w fall with the
//! distance, and matches that are far along the surface (beyond a border) are dropped.

use super::bend::alike;
use super::cloud::Cloud;
use super::model::Model;
use glam::{DQuat, DVec3};
use risorius_linalg::dense::{Cholesky, Matrix};
use risorius_mesh::{Bvh, Similarity, TriMesh};

/// A pose of the model in the space of a cloud.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// From the model to the cloud.
    pub pose: Similarity,
    /// Values of the first modes.
    pub values: Vec<f64>,
    /// Mean mismatch of position and direction over the core, meters of the model; see [`mismatch`].
    pub miss: f64,
}

/// How to align.
#[derive(Debug, Clone, Copy)]
pub struct SettleOptions {
    /// Rounds.
    pub rounds: usize,
    /// Number of modes to vary.
    pub n_modes: usize,
    /// Matches farther than this are dropped, meters of the model.
    pub reach: f64,
    /// Distance at which a match counts half, meters of the model.
    pub soft: f64,
    /// Match by place and direction instead of the nearest place: directions say how far to slide.
    pub alike: bool,
}

/// Standard deviation of a match, meters of the model.
const SIGMA: f64 = 0.0018;
/// Matches that count as independent.
const INDEPENDENT: f64 = 150.0;
/// Weight of the distance along the surface, to the nearest point and to the one most alike.
const SLIDE: f64 = 0.08;
const SLIDE_ALIKE: f64 = 0.3;
/// Length by which opposite normals count as apart: a difference of 1 radian is about this distance.
pub const TURN: f64 = 0.012;
/// No mismatch counts more than this.
const WORST: f64 = 0.025;

/// A cloud with its tree, searched for the nearest point that faces a direction.
pub struct Ground<'a> {
    /// The points.
    pub cloud: &'a Cloud,
    tree: Bvh,
}

impl<'a> Ground<'a> {
    /// Prepares the search.
    pub fn new(cloud: &'a Cloud) -> Self {
        Self { cloud, tree: cloud.tree() }
    }

    /// The nearest point within `reach` whose normal has a cosine above 0.2 with `normal`.
    pub fn facing(&self, p: DVec3, normal: DVec3, reach: f64) -> Option<usize> {
        let faces = |i: u32| self.cloud.normals[i as usize].dot(normal) > 0.2;
        let found = self.tree.closest_within(p, reach, |_, [i, _, _]| faces(i))?;
        Some(found.triangle as usize)
    }

    /// Mismatch of a point with a normal: distance to the nearest point, and difference of the normals there;
    /// `scale` is that of the model in the cloud. At most [`WORST`].
    pub fn miss(&self, p: DVec3, normal: DVec3, scale: f64) -> f64 {
        let Some((i, d2)) = self.tree.closest_vertex(p, WORST * scale) else { return WORST };
        let turned = self.cloud.normals[i as usize].distance_squared(normal) * TURN * TURN;
        (d2 / (scale * scale) + turned).sqrt().min(WORST)
    }
}

/// Mean mismatch of the core of the model.
pub fn mismatch(ground: &Ground, model: &Model, placed: &Placed, every: usize) -> f64 {
    let posed = model.pose(&placed.values);
    let normals = TriMesh { positions: posed.clone(), triangles: model.rest.triangles.clone() }.vertex_normals();
    let chosen = model.core.iter().step_by(every);
    let turn = placed.pose.rigid.rotation;
    let one = |&v: &u32| {
        ground.miss(placed.pose.apply(posed[v as usize]), turn * normals[v as usize], placed.pose.scale)
    };
    let n = chosen.len().max(1) as f64;
    chosen.map(one).sum::<f64>() / n
}

/// Improves `placed`.
pub fn settle(ground: &Ground, model: &Model, mut placed: Placed, options: &SettleOptions) -> Placed {
    placed.values.resize(options.n_modes.max(placed.values.len()), 0.0);
    let first_scale = placed.pose.scale;
    for _ in 0..options.rounds {
        let Some(step) = step(ground, model, &placed, options) else { break };
        let k = placed.pose.scale;
        let center = placed.pose.apply(model.nose_tip);
        let turn = DQuat::from_scaled_axis(step.turn);
        let grow = step.grow.clamp(-0.1, 0.1).exp();
        let scale = (k * grow).clamp(0.7 * first_scale, 1.4 * first_scale);
        let grow = scale / k;
        let rotation = (turn * placed.pose.rigid.rotation).normalize();
        let old = placed.pose.rigid.translation;
        placed.pose.rigid.translation = center + step.shift + turn * (old - center) * grow;
        placed.pose.rigid.rotation = rotation;
        placed.pose.scale = scale;
        for (j, change) in step.values.iter().enumerate() {
            let [low, high] = model.modes[j].range;
            placed.values[j] = (placed.values[j] + change).clamp(low, high);
        }
        if step.turn.length() < 2e-4 && step.shift.length() < 5e-5 * k && (grow - 1.0).abs() < 2e-4 {
            break;
        }
    }
    placed.miss = mismatch(ground, model, &placed, 1);
    placed
}

struct Step {
    turn: DVec3,
    shift: DVec3,
    grow: f64,
    values: Vec<f64>,
}

fn step(ground: &Ground, model: &Model, placed: &Placed, options: &SettleOptions) -> Option<Step> {
    let posed = model.pose(&placed.values);
    let normals = TriMesh { positions: posed.clone(), triangles: model.rest.triangles.clone() }.vertex_normals();
    let (pose, k) = (&placed.pose, placed.pose.scale);
    let turn = pose.rigid.rotation;
    let center = pose.apply(model.nose_tip);
    let n = 7 + options.n_modes;
    let mut a = Matrix::zeros(n, n);
    let mut b = vec![0.0; n];
    let (mut total, mut count) = (0.0, 0usize);
    let mut rows: Vec<[DVec3; 1]> = Vec::with_capacity(n);
    for &v in &model.core {
        let x = pose.apply(posed[v as usize]);
        let normal = turn * normals[v as usize];
        let found = if options.alike {
            alike(ground.cloud, x, normal, options.reach * k, &|_| true).map(|a| a.0)
        } else {
            ground.facing(x, normal, options.reach * k)
        };
        let Some(i) = found else { continue };
        let (q, m) = (ground.cloud.points[i], ground.cloud.normals[i]);
        let r = (q - x) / k;
        let along = m.dot(r);
        let beside = (r - m * along).length();
        if !options.alike && beside > 1.8 * ground.cloud.cell / k + 0.5 * along.abs() {
            continue;
        }
        let w = 1.0 / (1.0 + (r.length() / options.soft).powi(2));
        let arm = (x - center) / k;
        rows.clear();
        rows.extend([DVec3::X, DVec3::Y, DVec3::Z].map(|e| [e.cross(arm)]));
        rows.extend([[DVec3::X], [DVec3::Y], [DVec3::Z], [arm]]);
        rows.extend(model.modes[..options.n_modes].iter().map(|mode| [turn * mode.offsets[v as usize]]));
        let slide = if options.alike { SLIDE_ALIKE } else { SLIDE };
        let metric = |d: DVec3| m * m.dot(d) + d * slide;
        for (c, [column]) in rows.iter().enumerate() {
            let weighted = metric(*column) * w;
            b[c] += weighted.dot(r);
            for (row, [other]) in rows.iter().enumerate().skip(c) {
                a[(row, c)] += weighted.dot(*other);
            }
        }
        total += w;
        count += 1;
    }
    if count < 40 || total < 5.0 {
        return None;
    }
    let scale = INDEPENDENT / (total * SIGMA * SIGMA);
    a.scale(scale);
    b.iter_mut().for_each(|x| *x *= scale);
    for i in 0..7 {
        a[(i, i)] += 1e-3;
    }
    for (j, mode) in model.modes[..options.n_modes].iter().enumerate() {
        let stiff = 1.0 / (mode.deviation * mode.deviation);
        a[(7 + j, 7 + j)] += stiff;
        b[7 + j] -= stiff * placed.values[j];
    }
    Cholesky::factor(a).ok()?.solve_in_place(&mut b);
    if b.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let turn = DVec3::new(b[0], b[1], b[2]).clamp_length_max(0.3);
    let shift = DVec3::new(b[3], b[4], b[5]).clamp_length_max(0.03) * k;
    Some(Step { turn, shift, grow: b[6], values: b[7..].to_vec() })
}
