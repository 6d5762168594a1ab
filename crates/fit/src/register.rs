//! Bending a template's surface onto a scan: closest points and solves in turn, from stiff to soft
//! [Ichim16, sec. 3.1 and 3.2].
//!
//! The surface starts as the prior (the model of [`crate::subspace`]), which is also its rest state. Each
//! stage finds closest points and solves [`crate::deform`] a few times. Matches farther away than usual count
//! less, and from the middle stages on those far beyond the usual distance not at all.

use crate::FitError;
use crate::deform::{Anchor, Plane, Sheet, Stiffness};
use crate::subspace::{Mark, usual_distance, vertex_normals};
use crate::target::{Acceptance, Match, Target};
use glam::DVec3;
use risorius_base::progress::{Progress, tick};
use risorius_mesh::{Similarity, TriMesh};

/// Distance at which a landmark loses most of its weight, meters.
const DOUBTFUL: f64 = 0.008;

/// A stage of a registration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Rounds of matching and solving.
    pub rounds: usize,
    /// Resistance of the surface.
    pub stiffness: Stiffness,
    /// Which matches are accepted.
    pub accepted: Acceptance,
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
}

impl Registration<'_> {
    /// Runs the stages; returns the positions in the template's space.
    pub fn run(
        &self,
        target: &Target,
        stages: &[Stage],
        name: &str,
        progress: &Progress,
    ) -> Result<Vec<DVec3>, FitError> {
        let anchored: Vec<[u32; 3]> = self.marks.iter().map(|m| m.corners).collect();
        let mut sheet = Sheet::prepare(self.surface, &anchored)?;
        let mut x = self.surface.positions.clone();
        let n_rounds: usize = stages.iter().map(|s| s.rounds).sum();
        let mut done = 0;
        for stage in stages {
            let prior: Vec<(f64, DVec3)> = self.surface.positions.iter().map(|p| (stage.prior, *p)).collect();
            for _ in 0..stage.rounds {
                tick(progress, name, done as f32 / n_rounds.max(1) as f32)?;
                let anchors = self.anchors(&x, stage.mark);
                let planes = self.planes(&x, target, stage.accepted);
                sheet.solve(&mut x, &planes, &anchors, &prior, stage.stiffness)?;
                done += 1;
            }
        }
        Ok(x)
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

    fn planes(&self, x: &[DVec3], target: &Target, accepted: Acceptance) -> Vec<Plane> {
        let normals = vertex_normals(x, &self.surface.triangles);
        let matches = target.matches(x, &normals, self.weights, &self.scan_from_template, accepted);
        let usual = usual_distance(&matches).max(3e-4);
        let plane = |(v, m): (usize, &Option<Match>)| {
            let m = m.as_ref()?;
            let t = m.distance / (4.0 * usual);
            let weight = self.weights[v] / (1.0 + t * t).powi(2);
            Some(Plane { vertex: v as u32, point: m.point, normal: m.normal, weight })
        };
        matches.iter().enumerate().filter_map(plane).collect()
    }
}
