//! Jobs with the muscles of a face. Shared: which model of a face, what of a pose is reported and drawn.

pub mod activate;
pub mod edit;
pub mod solve;
pub mod target;

use crate::error::{Error, Result};
use risorius_flesh::Face;
use risorius_io::native::face;
use risorius_perform::ContactMode;
use risorius_perform::drivers::muscles::{MuscleModel, MuscleOptions, MusclePose};
use risorius_solve::StaticsReport;
use risorius_view::muscle_pictures::{TenseMuscle, muscles_at_work};
use risorius_view::{Canvas, DrawOptions, FaceLook, draw};
use serde::Serialize;
use std::path::Path;

/// How the flesh and its muscles respond.
#[derive(Debug, Clone, Default)]
pub struct MuscleMaterial {
    /// Greatest isometric stress of muscles, kPa; 300 by default.
    pub strength_kpa: Option<f64>,
    /// Factor on the stiffness of the flesh; 1 by default.
    pub stiffness: Option<f64>,
    /// How contacts of lips, lids and teeth are enforced.
    pub contact: ContactMode,
}

impl MuscleMaterial {
    /// As options of the model.
    pub(crate) fn options(&self) -> MuscleOptions {
        let usual = MuscleOptions::default();
        MuscleOptions {
            strength: self.strength_kpa.map_or(usual.strength, |kpa| 1000.0 * kpa),
            stiffness: self.stiffness.unwrap_or(usual.stiffness),
            contact: self.contact,
            ..usual
        }
    }
}

/// A muscle in a pose.
#[derive(Debug, Clone, Serialize)]
pub struct MuscleState {
    /// Its name.
    pub name: String,
    /// 0 to 1.
    pub activation: f64,
    /// Active and passive stress, kPa.
    pub tension_kpa: f64,
    /// Mean stretch along its fibers.
    pub stretch: f64,
}

/// How an equilibrium was found.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SolveFigures {
    /// Newton steps.
    pub iterations: usize,
    /// Rounds of contact detection.
    pub rounds: usize,
    /// Whether forces met the tolerance.
    pub converged: bool,
    /// Largest force left at a node, newtons.
    pub residual_newtons: f64,
    /// Smallest volume of an element relative to rest.
    pub least_j: f64,
    /// Pressing contacts.
    pub contacts: usize,
    /// Deepest penetration beyond that of the neutral, mm.
    pub depth_mm: f64,
}

impl From<StaticsReport> for SolveFigures {
    fn from(report: StaticsReport) -> Self {
        Self {
            iterations: report.iterations,
            rounds: report.rounds,
            converged: report.converged,
            residual_newtons: report.residual,
            least_j: report.smallest_det,
            contacts: report.contacts,
            depth_mm: 1000.0 * report.depth,
        }
    }
}

/// Opens a face.
pub(crate) fn open_face(path: &Path) -> Result<Face> {
    if path.exists() && !face::is_face(path) {
        let problem = "muscles need a face with flesh; make one with `build`";
        return Err(Error::failed(problem).in_file(path));
    }
    face::open(path).map_err(crate::error::in_file(path))
}

/// What is wrong with muscles, for people.
pub(crate) fn problem_notes(model: &MuscleModel) -> Vec<String> {
    model.problems.iter().map(|(muscle, problem)| format!("{}: {problem}", model.names[*muscle])).collect()
}

/// All muscles in a pose.
pub(crate) fn states(model: &MuscleModel, pose: &MusclePose) -> Result<Vec<MuscleState>> {
    let tensions = model.tensions(pose)?;
    let all = model.names.iter().zip(&pose.controls.activations).zip(tensions);
    Ok(all
        .map(|((name, &activation), [stress, stretch])| MuscleState {
            name: name.clone(),
            activation,
            tension_kpa: 1e-3 * stress,
            stretch,
        })
        .collect())
}

/// Muscles that are active by 0.02 or more, the most active first.
pub(crate) fn leading(model: &MuscleModel, activations: &[f64]) -> Vec<(String, f64)> {
    let named = model.names.iter().cloned().zip(activations.iter().copied());
    let mut all: Vec<(String, f64)> = named.filter(|(_, a)| *a >= 0.02).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// Some skins from the front, and the muscles of a pose.
pub(crate) fn row_of_pictures(
    model: &MuscleModel,
    skins: &[(&str, &[[f32; 3]])],
    pose: &MusclePose,
) -> Result<Vec<(Canvas, String)>> {
    let look = FaceLook::prepare(&model.face().rig);
    let options = DrawOptions { width: 700, height: 860, yaw_degrees: 15.0, ..DrawOptions::default() };
    let mut cells = Vec::new();
    for (name, vertices) in skins {
        cells.push((draw(&look, vertices, &options)?, name.to_string()));
    }
    cells.extend(muscle_views(model, pose)?.into_iter().take(1));
    Ok(cells)
}

/// The skin and the muscles of a pose.
pub(crate) fn pictures(model: &MuscleModel, pose: &MusclePose) -> Result<Vec<(Canvas, String)>> {
    let face = model.face();
    let look = FaceLook::prepare(&face.rig);
    let vertices = model.skin(pose);
    let mut cells = Vec::new();
    for (yaw, name) in [(0.0, "skin, front"), (40.0, "skin, three quarters"), (90.0, "skin, left")] {
        let options = DrawOptions { width: 700, height: 860, yaw_degrees: yaw, ..DrawOptions::default() };
        cells.push((draw(&look, &vertices, &options)?, name.to_string()));
    }
    cells.extend(muscle_views(model, pose)?);
    Ok(cells)
}

/// The muscles of a pose from three sides, colored by tension.
fn muscle_views(model: &MuscleModel, pose: &MusclePose) -> Result<Vec<(Canvas, String)>> {
    let face = model.face();
    let tensions = model.tensions(pose)?;
    let tense = |((muscle, control), [stress, _]): ((&risorius_muscle::Muscle, Vec<_>), [f64; 2])| {
        let solid = risorius_muscle::SplineSolid { control, ..muscle.solid.clone() };
        TenseMuscle { surface: solid.surface(6), tension_kpa: 1e-3 * stress }
    };
    let muscles: Vec<TenseMuscle> =
        face.anatomy.muscles.iter().zip(model.control_points(pose)).zip(tensions).map(tense).collect();
    let most = muscles.iter().map(|m| m.tension_kpa).fold(1.0, f64::max);
    Ok(muscles_at_work(face, &model.mandible(pose), &muscles, most as f32)?)
}
