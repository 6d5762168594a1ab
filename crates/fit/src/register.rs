//! Bending a template's surface onto a scan: closest points and solves in turn, from stiff to soft
//! [Ichim16, sec. 3.1 and 3.2].
//!
//! The surface starts as the prior (the model of [`crate::subspace`]), which is also its rest state. Each
//! stage matches both ways and solves [`crate::deform`] a few times:
//!
//! - vertices with the points of the scan that are alike in place and direction, the least `|dp|^2 + (T
//!   |dn|)^2`: directions say how far a surface has to slide, where distances alone do not (wings of the
//!   nose, corners, lids). T falls to zero, which is the closest point;
//! - points of the scan with the closest points of the surface, so that no part of the scan is left out.
//!
//! Matches farther away than a stage's doubt count less. Eyeballs and teeth take the points of the scan that
//! show them ([`crate::solids`]); sides of slits that touch at rest are held together ([`crate::slits`]).

use crate::FitError;
use crate::deform::{Anchor, Plane, Sheet, Stiffness};
use crate::find::bend::alike_within;
use crate::find::cloud::Cloud;
use crate::slits::slits;
use crate::solids::{N_EYES, Solids};
use crate::subspace::{Mark, vertex_normals};
use crate::target::{Acceptance, Target};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::{Progress, tick};
use risorius_mesh::query::bvh::bounds;
use risorius_mesh::{Bvh, Similarity, TriMesh};

/// Distance at which a landmark loses most of its weight, meters.
const DOUBTFUL: f64 = 0.008;

/// Distance between the points that stand for the scan, meters.
const CELL: f64 = 1.5e-3;

/// Points of the scan are taken this far around the surface, meters.
const MARGIN: f64 = 0.02;

/// Share of the matches from the surface to the scan, and back.
const SHARES: [f64; 2] = [0.6, 0.6];

/// Eyeballs and teeth take points of the scan no farther than this, meters.
const SOLID: f64 = 3e-3;

/// A stage of a registration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Rounds of matching and solving.
    pub rounds: usize,
    /// Resistance of the surface.
    pub stiffness: Stiffness,
    /// Which matches are accepted.
    pub accepted: Acceptance,
    /// Distance that a difference of directions by one counts as, meters; 0 for closest points.
    pub turn: f64,
    /// Part of a match's weight that also holds along the surface.
    pub along: f64,
    /// Distance at which a match counts a quarter, meters.
    pub doubt: f64,
    /// Weight of the prior's positions relative to that of a match.
    pub prior: f64,
    /// Weight of a landmark, in square meters of matched skin.
    pub mark: f64,
}

/// A surface to be laid onto a scan.
pub struct Registration<'a> {
    /// The prior: where the surface starts, and its rest state.
    pub surface: &'a TriMesh,
    /// How much each vertex is matched, 0 to 1.
    pub weights: &'a [f64],
    /// Landmarks.
    pub marks: &'a [Mark],
    /// From the template to the scan.
    pub scan_from_template: Similarity,
    /// Eyeballs and teeth of the surface.
    pub solids: &'a Solids,
    /// Whether these move with the skin and eyes shift to where the scan shows them.
    pub solids_follow: bool,
}

/// A surface laid onto a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct Registered {
    /// Positions of the skin.
    pub skin: Vec<DVec3>,
    /// Shifts of the eyes beyond the motion of the skin around them.
    pub eye_shifts: [DVec3; N_EYES],
}

/// The state of a registration.
struct State {
    x: Vec<DVec3>,
    normals: Vec<DVec3>,
    solids: Vec<DVec3>,
    solid_tree: Bvh,
}

impl Registration<'_> {
    /// Runs the stages; returns the positions in the template's space.
    pub fn run(
        &self,
        target: &Target,
        stages: &[Stage],
        name: &str,
        progress: &Progress,
    ) -> Result<Registered, FitError> {
        let anchored: Vec<[u32; 3]> = self.marks.iter().map(|m| m.corners).collect();
        let mut sheet = Sheet::prepare(self.surface, &anchored, &slits(self.surface))?;
        let cloud = points(target, &self.scan_from_template, &self.surface.positions);
        let mut x = self.surface.positions.clone();
        let mut eye_shifts = [DVec3::ZERO; N_EYES];
        let n_rounds: usize = stages.iter().map(|s| s.rounds).sum();
        let mut done = 0;
        for stage in stages {
            let prior: Vec<(f64, DVec3)> = self.surface.positions.iter().map(|p| (stage.prior, *p)).collect();
            for _ in 0..stage.rounds {
                tick(progress, name, done as f32 / n_rounds.max(1) as f32)?;
                let anchors = self.anchors(&x, stage.mark);
                let state = self.state(x.clone(), &eye_shifts);
                let (mut planes, shown) = self.pulls(&state, &sheet.areas, &cloud, stage);
                planes.extend(self.planes(&state, &sheet.areas, &cloud, target, stage));
                if self.solids_follow {
                    let shown = shown.iter().map(|&i| cloud.points[i as usize]);
                    eye_shifts = self.solids.shifted(&state.solids, &state.solid_tree, shown, &eye_shifts);
                }
                sheet.solve(&mut x, &planes, &anchors, &prior, stage.stiffness)?;
                done += 1;
            }
        }
        Ok(Registered { skin: x, eye_shifts })
    }

    fn state(&self, x: Vec<DVec3>, eye_shifts: &[DVec3; N_EYES]) -> State {
        let normals = vertex_normals(&x, &self.surface.triangles);
        let solids = match self.solids_follow {
            true => self.solids.carried(&self.surface.positions, &x, self.weights, eye_shifts),
            false => self.solids.positions.clone(),
        };
        let solid_tree = self.solids.tree(&solids);
        State { x, normals, solids, solid_tree }
    }

    /// Pulls of the landmarks; those far from where the surface is now count less.
    fn anchors(&self, x: &[DVec3], weight: f64) -> Vec<Anchor> {
        let back = self.scan_from_template.inverse();
        let one = |m: &Mark| {
            let here: DVec3 = m.corners.iter().zip(m.barycentric).map(|(&v, w)| x[v as usize] * w).sum();
            let place = back.apply(m.place);
            let t = here.distance(place) / DOUBTFUL;
            let weight = weight * m.weight / (1.0 + t * t).powi(2);
            Anchor { corners: m.corners, barycentric: m.barycentric, place, weight }
        };
        self.marks.iter().map(one).collect()
    }

    /// From the surface to the scan.
    fn planes(
        &self,
        state: &State,
        areas: &[f64],
        cloud: &Cloud,
        target: &Target,
        stage: &Stage,
    ) -> Vec<Plane> {
        let State { x, normals, solid_tree, .. } = state;
        let Acceptance { reach, least_cos } = stage.accepted;
        let one = |v: usize| {
            if self.weights[v] == 0.0 {
                return None;
            }
            let (point, normal, along) = if stage.turn > 0.0 {
                let i = alike_within(cloud, x[v], normals[v], reach, stage.turn, least_cos)?;
                (cloud.points[i], cloud.normals[i], stage.along)
            } else {
                let m = target.closest(x[v], normals[v], &self.scan_from_template, stage.accepted)?;
                (m.point, m.normal, stage.along)
            };
            let far = point.distance(x[v]);
            if solid_tree.comes_within(point, far.min(SOLID)) {
                return None;
            }
            let weight = SHARES[0] * areas[v] * self.weights[v] * trust(far, stage.doubt);
            Some(Plane { vertex: v as u32, point, normal, weight, along })
        };
        (0..x.len()).into_par_iter().filter_map(one).collect()
    }

    /// From the scan to the surface; the points that show eyeballs and teeth besides.
    fn pulls(&self, state: &State, areas: &[f64], cloud: &Cloud, stage: &Stage) -> (Vec<Plane>, Vec<u32>) {
        let State { x, normals, solid_tree, .. } = state;
        let flat: Vec<[f32; 3]> = x.iter().map(|p| p.as_vec3().to_array()).collect();
        let triangles = &self.surface.triangles;
        let tree = Bvh::build(&flat, triangles);
        let seen = |t: [u32; 3]| t.iter().all(|&v| self.weights[v as usize] > 0.0);
        let one = |i: usize| {
            let (q, n) = (cloud.points[i], cloud.normals[i]);
            let faces = |_, t: [u32; 3]| {
                let m = t.iter().map(|&v| normals[v as usize]).sum::<DVec3>().normalize_or_zero();
                m.dot(n) >= stage.accepted.least_cos
            };
            let hit = tree.closest_tested(q, stage.accepted.reach, |_, t| seen(t), faces);
            let far = hit.map_or(SOLID, |h| h.distance_sq.sqrt());
            if solid_tree.comes_within(q, far.min(SOLID)) {
                return (None, true);
            }
            (hit, false)
        };
        let hits: Vec<_> = (0..cloud.len()).into_par_iter().map(one).collect();
        let shown = (0..hits.len() as u32).filter(|&i| hits[i as usize].1).collect();
        let mut planes = Vec::new();
        for (i, (hit, _)) in hits.iter().enumerate() {
            let Some(hit) = hit else { continue };
            let off = cloud.points[i] - hit.point;
            let area = CELL * CELL * SHARES[1] * trust(off.length(), stage.doubt);
            for (v, w) in triangles[hit.triangle as usize].into_iter().zip(hit.barycentric) {
                let (at, own) = (x[v as usize], self.weights[v as usize]);
                // A vertex far from its share of the scan cannot take more than its own area stands for.
                let weight = (area * w * own).min(areas[v as usize]);
                if weight > 0.0 {
                    let (point, normal) = (at + off, cloud.normals[i]);
                    planes.push(Plane { vertex: v, point, normal, weight, along: stage.along });
                }
            }
        }
        (planes, shown)
    }
}

/// Weight of a match at a distance.
fn trust(distance: f64, doubt: f64) -> f64 {
    let t = distance / doubt;
    1.0 / (1.0 + t * t).powi(2)
}

/// Points of a scan around a surface that can be seen, in the space of the surface.
pub(crate) fn points(target: &Target, scan_from_template: &Similarity, around: &[DVec3]) -> Cloud {
    let back = scan_from_template.inverse();
    let flat: Vec<[f32; 3]> = around.iter().map(|p| p.as_vec3().to_array()).collect();
    let Some(bounds) = bounds(&flat) else { return Cloud::default() };
    let (low, high) = (bounds.min.as_dvec3() - MARGIN, bounds.max.as_dvec3() + MARGIN);
    let positions: Vec<DVec3> = target.mesh.positions.par_iter().map(|p| back.apply(*p)).collect();
    let normals: Vec<DVec3> = target.normals.par_iter().map(|n| back.rigid.rotation * *n).collect();
    let mesh = TriMesh { positions, triangles: target.mesh.triangles.clone() };
    let all = Cloud::of(&mesh, &normals, CELL, |p| p.cmpge(low).all() && p.cmple(high).all());
    let seen: Vec<bool> = (0..all.len())
        .into_par_iter()
        .map(|i| target.is_seen(all.points[i], all.normals[i], scan_from_template))
        .collect();
    all.filtered(|i| seen[i])
}
