//! Expressions of a person whose neutral is known: weights, rigid stabilization, and a registered surface for
//! each scan [Ichim16, sec. 3.2].
//!
//! The person's first blendshapes are the template's, carried to the person's neutral. With them as modes,
//! [`crate::subspace`] finds weights, pose and scale of a scan together: what the shapes explain is not taken
//! for head motion. The pose is then settled by skin that lies close to the skull and that the active shapes
//! leave still, which is what the paper's thickness energy asks for: the skull keeps its distance from the
//! skin there. At last the surface bends from the blended shapes to the scan.

use crate::FitError;
use crate::deform::Sheet;
use crate::lids;
use crate::neutral::{bend_stages, place};
use crate::register::Registration;
use crate::solids::Solids;
use crate::subspace::{Explained, Mark, Model, Round, vertex_normals};
use crate::target::{Acceptance, Target};
use crate::template::Template;
use glam::{DMat3, DVec3};
use risorius_base::Progress;
use risorius_mesh::surface::walk::EdgeGraph;
use risorius_mesh::{Similarity, TriMesh};
use risorius_rig::classify::names::{find, key};

/// Deviation of a given weight from the true one.
const GIVEN: f64 = 0.15;

/// Deviation of weights of sliders that given weights leave out.
const LEFT_OUT: f64 = 0.05;

/// Deviation of weights when none are given.
const UNKNOWN: f64 = 0.4;

/// Shapes that move visible skin less than this are left out, meters.
const VISIBLE: f64 = 5e-4;

/// Given weights differ between left and right where exchanging them moves skin by this, meters.
const APART: f64 = 1e-3;

/// Weights are exchanged if that brings the skin to this part of its distance,
const EXCHANGED: f64 = 0.6;

/// which is at least this, meters.
const LEAST_WRONG: f64 = 6e-4;

/// Values of blinks below this are those of open eyes.
const HALF_CLOSED: f64 = 0.6;

/// Rounds in which local frames are averaged over neighbors.
const FRAME_ROUNDS: usize = 6;

/// A person: the neutral skin and the shapes on it.
#[derive(Debug, Clone)]
pub struct Person {
    /// The neutral skin in the template's space.
    pub neutral: TriMesh,
    /// Displacements of the skin by each slider at 1.
    pub shapes: Vec<Vec<DVec3>>,
    /// Sliders of the gaze, which scans of skin do not show: lids alone would decide.
    pub gaze: Vec<bool>,
    /// Range of each slider.
    pub ranges: Vec<[f64; 2]>,
    /// Rotation and scale from the template to the person at each skin vertex.
    pub frames: Vec<DMat3>,
    /// Visible area of each vertex.
    pub weights: Vec<f64>,
    /// How still each vertex is over the skull, 0 to 1.
    pub over_bone: Vec<f64>,
    /// The slider of the other side for each slider; itself in the middle.
    pub partner: Vec<usize>,
    /// Sliders that close the eyes.
    pub blinks: Vec<usize>,
    /// Eyeballs and teeth in the neutral; none until they are placed.
    pub solids: Solids,
}

/// Weights and pose of an expression.
struct Explanation {
    pose: Similarity,
    weights: Vec<f64>,
    over_bone: f64,
}

/// A registered expression.
#[derive(Debug, Clone)]
pub struct ExpressionFit {
    /// From the person's space to the scan, stabilized.
    pub scan_from_template: Similarity,
    /// Value of each slider.
    pub weights: Vec<f64>,
    /// The skin as the weights pose it.
    pub modeled: Vec<DVec3>,
    /// The skin laid onto the scan.
    pub skin: Vec<DVec3>,
    /// Mean distance of the scan from the still skin over the skull, meters: another person has another
    /// skull, in any pose and unit.
    pub over_bone: f64,
    /// The scan is explained far better with left and right of the given weights exchanged.
    pub is_exchanged: bool,
}

impl Person {
    /// The person with this neutral skin and the template's shapes; `over_bone` as in [`Self::over_bone`].
    pub fn new(template: &Template, skin: &[DVec3], over_bone: Vec<f64>) -> Result<Self, FitError> {
        let frames = frames(template, skin)?;
        let carry =
            |mode: Vec<DVec3>| -> Vec<DVec3> { mode.iter().zip(&frames).map(|(d, f)| *f * *d).collect() };
        let slider = |name: &str| find(name, template.rig.sliders.iter().map(|s| s.name.as_str()));
        Ok(Self {
            neutral: TriMesh { positions: skin.to_vec(), triangles: template.mesh.triangles.clone() },
            shapes: template.slider_modes().into_iter().map(carry).collect(),
            ranges: template.rig.sliders.iter().map(|s| s.range.map(f64::from)).collect(),
            gaze: template.rig.sliders.iter().map(|s| key(&s.name).base.starts_with("eyelook")).collect(),
            frames,
            weights: template.area_weights(),
            over_bone,
            partner: partners(template),
            blinks: lids::BLINKS.into_iter().filter_map(slider).collect(),
            solids: Solids::default(),
        })
    }

    /// The skin at slider values.
    pub fn posed(&self, weights: &[f64]) -> Vec<DVec3> {
        let mut p = self.neutral.positions.clone();
        for (shape, &w) in self.shapes.iter().zip(weights).filter(|(_, w)| **w != 0.0) {
            p.iter_mut().zip(shape).for_each(|(p, d)| *p += *d * w);
        }
        p
    }

    /// Fits an expression. `given` are slider values that are about right; without any they are found.
    pub fn fit(
        &self,
        template: &Template,
        target: &Target,
        marks: &[Mark],
        given: Option<&[f64]>,
        name: &str,
        progress: &Progress,
    ) -> Result<ExpressionFit, FitError> {
        let mut explanation = self.explain(template, target, marks, given, &[])?;
        if given.is_none() && self.has_closed_eyes(template, target, &explanation) {
            let known: Vec<(usize, f64)> = self.blinks.iter().map(|&s| (s, lids::CLOSED)).collect();
            explanation = self.explain(template, target, marks, given, &known)?;
        }
        let Explanation { pose, weights, over_bone } = explanation;
        let surface = TriMesh { positions: self.posed(&weights), triangles: self.neutral.triangles.clone() };
        let solids = self.solids.posed(&weights);
        let registration = Registration {
            surface: &surface,
            weights: &template.weights_of(&surface, &solids),
            marks,
            scan_from_template: pose,
            solids: &solids,
            solids_follow: false,
        };
        let skin = registration.run(target, &bend_stages()[1..], name, progress)?.skin;
        let is_exchanged = self.is_exchanged(template, target, marks, given, &weights, &pose)?;
        let modeled = surface.positions;
        Ok(ExpressionFit { scan_from_template: pose, weights, modeled, skin, over_bone, is_exchanged })
    }

    /// Whether the eyes of a scan are closed, which closest points take for open lids on an eyeball.
    fn has_closed_eyes(&self, template: &Template, target: &Target, found: &Explanation) -> bool {
        let skin = self.posed(&found.weights);
        let is_closed = || lids::closed(template, &skin, target, &found.pose) == Some(true);
        self.blinks.iter().any(|&s| found.weights[s] < HALF_CLOSED) && is_closed()
    }

    /// Weights and stabilized pose. `known` are values of sliders that are nearly certain.
    fn explain(
        &self,
        template: &Template,
        target: &Target,
        marks: &[Mark],
        given: Option<&[f64]>,
        known: &[(usize, f64)],
    ) -> Result<Explanation, FitError> {
        let chosen = self.choose(given);
        let (modes, expected, bounds) = self.modes(&chosen, given, known);
        let mut model = Model {
            base: &self.neutral.positions,
            modes: &modes,
            expected: &expected,
            bounds: &bounds,
            triangles: &self.neutral.triangles,
            weights: &self.weights,
            steady: &[],
            marks,
        };
        let coefficients: Vec<f64> = expected.iter().map(|e| e[0]).collect();
        let start = place(&model.positions(&coefficients), marks);
        let start = Explained { scan_from_template: start, coefficients };
        let mut found = model.explain(target, start, &rounds())?;
        let steady = self.steady(&modes, &found.coefficients);
        model.steady = &steady;
        found.scan_from_template = model.settle(target, &found, &settling())?;
        let narrow = steady.iter().zip(&template.narrow).map(|(w, n)| if *n { *w } else { 0.0 });
        let positions = model.positions(&found.coefficients);
        let pose = found.scan_from_template;
        let over_bone = self.distance(target, &positions, &narrow.collect::<Vec<_>>(), &pose);
        let mut weights = vec![0.0; self.shapes.len()];
        chosen.iter().zip(&found.coefficients).for_each(|(&s, &c)| weights[s] = c);
        Ok(Explanation { pose, weights, over_bone })
    }

    /// Mean distance of a state of the skin from the scan, by vertices weighted with `weights`.
    fn distance(&self, target: &Target, positions: &[DVec3], weights: &[f64], pose: &Similarity) -> f64 {
        let normals = vertex_normals(positions, &self.neutral.triangles);
        let accepted = Acceptance { reach: 0.01, least_cos: 0.5 };
        let matches = target.matches(positions, &normals, weights, pose, accepted);
        let (mut sum, mut total) = (0.0, 0.0);
        for (m, w) in matches.iter().zip(weights) {
            if let Some(m) = m {
                (sum, total) = (sum + w * m.distance, total + w);
            }
        }
        if total > 0.0 { sum / total } else { f64::INFINITY }
    }

    /// Whether the scan is explained far better with left and right of the given weights exchanged; only
    /// asked where these differ. `found` and `pose` are what was found with them as they are.
    fn is_exchanged(
        &self,
        template: &Template,
        target: &Target,
        marks: &[Mark],
        given: Option<&[f64]>,
        found: &[f64],
        pose: &Similarity,
    ) -> Result<bool, FitError> {
        let Some(given) = given else { return Ok(false) };
        let exchanged: Vec<f64> = self.partner.iter().map(|&p| given[p]).collect();
        let (as_given, other) = (self.posed(given), self.posed(&exchanged));
        let apart = |v: usize| as_given[v].distance(other[v]);
        let weight = |v: usize| if apart(v) > APART { self.weights[v] } else { 0.0 };
        let weights: Vec<f64> = (0..self.weights.len()).map(weight).collect();
        if weights.iter().all(|w| *w == 0.0) {
            return Ok(false);
        }
        let here = self.distance(target, &self.posed(found), &weights, pose);
        let other = self.explain(template, target, marks, Some(&exchanged), &[])?;
        let there = self.distance(target, &self.posed(&other.weights), &weights, &other.pose);
        Ok(there < EXCHANGED * here && here > LEAST_WRONG)
    }

    /// Sliders that move visible skin; those of the gaze only if they are given.
    fn choose(&self, given: Option<&[f64]>) -> Vec<usize> {
        let moves = |s: &usize| {
            if self.gaze[*s] && given.is_none_or(|g| g[*s] == 0.0) {
                return false;
            }
            let visible = self.shapes[*s].iter().zip(&self.weights).filter(|(_, w)| **w > 0.0);
            visible.map(|(d, _)| d.length()).fold(0.0, f64::max) > VISIBLE
        };
        (0..self.shapes.len()).filter(moves).collect()
    }

    /// The chosen sliders as modes.
    fn modes(&self, chosen: &[usize], given: Option<&[f64]>, known: &[(usize, f64)]) -> Modes {
        let certain = |s: usize| known.iter().find(|(k, _)| *k == s).map(|(_, w)| [*w, lids::DEVIATION]);
        let expect = |&s: &usize| match given {
            _ if certain(s).is_some() => certain(s).unwrap_or_default(),
            Some(given) if given[s] != 0.0 => [given[s], GIVEN],
            Some(_) => [0.0, LEFT_OUT],
            None => [0.0, UNKNOWN],
        };
        let modes = chosen.iter().map(|&s| self.shapes[s].clone()).collect();
        (modes, chosen.iter().map(expect).collect(), chosen.iter().map(|&s| self.ranges[s]).collect())
    }

    /// Weights of the vertices for the pose: over bone, and left still by the active shapes.
    fn steady(&self, modes: &[Vec<DVec3>], coefficients: &[f64]) -> Vec<f64> {
        let moved =
            |v: usize| -> f64 { modes.iter().zip(coefficients).map(|(m, c)| (m[v] * *c).length()).sum() };
        let weight = |v: usize| {
            let t = moved(v) / 1e-3;
            self.weights[v] * self.over_bone[v] / (1.0 + t * t)
        };
        (0..self.weights.len()).map(weight).collect()
    }
}

/// Modes, expected values with deviations, and bounds.
type Modes = (Vec<Vec<DVec3>>, Vec<[f64; 2]>, Vec<[f64; 2]>);

/// Rounds of the search for weights and pose.
fn rounds() -> Vec<Round> {
    let mut rounds = vec![Round::new(0.025, 0.3, 4.0, 4.0); 4];
    rounds.extend([Round::new(0.015, 0.5, 2.0, 6.0); 6]);
    rounds.extend([Round::new(0.008, 0.7, 1.0, 20.0); 10]);
    rounds
}

/// Rounds of the pose alone.
fn settling() -> Vec<Round> {
    vec![Round::new(0.005, 0.8, 0.5, f64::INFINITY); 4]
}

/// The slider of the other side for each slider of the template.
fn partners(template: &Template) -> Vec<usize> {
    let keys: Vec<_> = template.rig.sliders.iter().map(|s| key(&s.name)).collect();
    let other = |k: usize| {
        let is_other = |c: &usize| {
            keys[*c].base == keys[k].base && keys[*c].side.is_some() && keys[*c].side != keys[k].side
        };
        keys[k].side.and_then(|_| (0..keys.len()).find(is_other)).unwrap_or(k)
    };
    (0..keys.len()).map(other).collect()
}

/// Rotation and scale from the template's skin to the person's at each vertex, averaged over neighbors.
fn frames(template: &Template, skin: &[DVec3]) -> Result<Vec<DMat3>, FitError> {
    let mesh = &template.mesh;
    let sheet = Sheet::prepare(mesh, &[], &[])?;
    let graph = EdgeGraph::prepare(mesh.n_vertices(), &mesh.triangles, |_, _| 1.0);
    let length = |p: &[DVec3], v: usize| -> f64 {
        graph.around(v as u32).iter().map(|w| p[w.0 as usize].distance(p[v])).sum()
    };
    let scale = |v: usize| {
        let ratio = length(skin, v) / length(&mesh.positions, v);
        if ratio.is_finite() { ratio.clamp(0.5, 2.0) } else { 1.0 }
    };
    let turns = sheet.rotations(skin);
    let mut frames: Vec<DMat3> = turns.iter().enumerate().map(|(v, r)| *r * scale(v)).collect();
    for _ in 0..FRAME_ROUNDS {
        let mean = |v: usize| {
            let around = graph.around(v as u32);
            let sum = around.iter().fold(frames[v], |sum, w| sum + frames[w.0 as usize]);
            sum * (1.0 / (around.len() + 1) as f64)
        };
        frames = (0..frames.len()).map(mean).collect();
    }
    Ok(frames)
}
