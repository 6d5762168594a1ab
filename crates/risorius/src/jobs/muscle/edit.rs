//! Edits the tracks of muscles in a shape: moved, scaled, on one side or both.

use super::{MuscleMaterial, open_face, problem_notes, row_of_pictures};
use crate::error::{Error, Result};
use crate::files::{expect_ending, expect_not_input};
use crate::jobs::{plans, shown};
use crate::source::sliders_by_name;
use glam::DVec3;
use risorius_base::Progress;
use risorius_base::progress::{Plan, tick};
use risorius_io::native::face;
use risorius_io::output::write_whole;
use risorius_muscle::Snap;
use risorius_perform::drivers::muscles::edit::Edit;
use risorius_perform::drivers::muscles::{MuscleModel, find_muscle};
use risorius_rig::Evaluator;
use risorius_view::sheet;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Edits tracks.
#[derive(Debug, Clone, Default)]
pub struct EditMusclesJob {
    /// A face with muscle shapes.
    pub face: PathBuf,
    /// The slider whose muscle shape is edited.
    pub shape: String,
    /// Muscles whose ends are moved, as text: `orbicularis_oris:0,0,3mm`, in millimeters or with `m`.
    pub moves: Vec<String>,
    /// Muscles whose ends are scaled around their middle, as text: `orbicularis_oris:0.7` or one factor for
    /// each of x, y, z: `orbicularis_oris:0.7,1,1`.
    pub scales: Vec<String>,
    /// Do the same on the other side.
    pub mirror: bool,
    /// How flesh and muscles respond.
    pub material: MuscleMaterial,
    /// The face with the edited shape (`.face`).
    pub output: PathBuf,
    /// A picture of the shape by muscles before and after: `.png`.
    pub picture: Option<PathBuf>,
}

/// What became of a muscle.
#[derive(Debug, Clone, Serialize)]
pub struct EditedMuscle {
    /// Its name.
    pub name: String,
    /// Activation before and after.
    pub activation: [f64; 2],
    /// Length of its center line at the end of the path before and after, mm.
    pub length_mm: [f64; 2],
    /// Length over activation, from relaxed to full, mm.
    pub curve_mm: Vec<f64>,
}

/// The report of an edit.
#[derive(Debug, Clone, Serialize)]
pub struct EditMusclesReport {
    /// The output that was asked for.
    pub output: String,
    /// All written files.
    pub files: Vec<String>,
    /// What became of each muscle.
    pub muscles: Vec<EditedMuscle>,
    /// How far the skin that follows the flesh is from the neutral before and after: mean and largest, mm.
    pub skin_moved_mm: [[f64; 2]; 2],
    /// Smallest volume of an element relative to rest.
    pub least_j: f64,
    /// What was assumed and what is doubtful.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
}

impl EditMusclesJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<EditMusclesReport> {
        let plan = Plan::new(progress, &plans::EDIT_MUSCLES);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        expect_ending(&self.output, &["face"], "the face with the edited shape")?;
        expect_not_input(&self.output, [self.face.as_path()])?;
        if let Some(picture) = &self.picture {
            expect_ending(picture, &["png"], "a picture")?;
        }
        tick(progress, "reading", 0.0)?;
        let mut face = open_face(&self.face)?;
        let slider = sliders_by_name(&face.rig, std::slice::from_ref(&self.shape))?[0];
        let number = face.rig.sliders[slider].shape;
        let Some(at) = face.muscle_shapes.iter().position(|s| s.shape as usize == number) else {
            let problem = format!("'{}' has no muscle shape; solve for it first", self.shape);
            return Err(Error::failed(problem).in_file(&self.face));
        };
        let model = MuscleModel::prepare(&face, &self.material.options())?;
        let edits = self.edits(&model)?;
        let mut shape = face.muscle_shapes[at].clone();
        let before = model.pose(&model.controls_of(&shape, 1.0), None, progress)?;
        let mut muscles = Vec::new();
        for (muscle, edit) in edits {
            let curve = model.length_curve(muscle, progress)?;
            let [activation, length] = [shape.activations[muscle], model.end_of(&shape, muscle).length()];
            model.edit(&mut shape, muscle, edit, &curve)?;
            muscles.push(EditedMuscle {
                name: model.names[muscle].clone(),
                activation: [activation, shape.activations[muscle]],
                length_mm: [length, model.end_of(&shape, muscle).length()].map(|l| 1000.0 * l),
                curve_mm: curve.lengths.iter().map(|l| 1000.0 * l).collect(),
            });
        }
        let after = model.pose(&model.controls_of(&shape, 1.0), None, progress)?;
        // It would undo the edit.
        shape.snap = Snap::default();
        let mut files = vec![shown(&self.output)];
        if let Some(picture) = &self.picture {
            tick(progress, "drawing", 0.0)?;
            let (artist, motion) = model.artist_shape(&Evaluator::prepare(&face.rig), number);
            let [a, b] = [&before, &after].map(|pose| model.skin_among(pose, &artist, &motion));
            let skins = [("before", a.as_slice()), ("after", b.as_slice())];
            let cells = row_of_pictures(&model, &skins, &after)?;
            write_whole(picture, &sheet(&cells, 3, "")?.encode_png())?;
            files.push(shown(picture));
        }
        let skin_moved_mm = [model.moved_mm(&before), model.moved_mm(&after)];
        let mut notes = problem_notes(&model);
        notes.push("the final snap of the shape is removed: it would undo the edit".into());
        tick(progress, "writing", 0.0)?;
        drop(model);
        face.muscle_shapes[at] = shape;
        face::write(&face, &self.output)?;
        Ok(EditMusclesReport {
            output: shown(&self.output),
            files,
            muscles,
            skin_moved_mm,
            least_j: after.report.smallest_det,
            notes,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// The muscles to edit and how.
    fn edits(&self, model: &MuscleModel) -> Result<Vec<(usize, Edit)>> {
        let mut all = Vec::new();
        let moves = self.moves.iter().map(|text| (text, Kind::Move));
        for (text, kind) in moves.chain(self.scales.iter().map(|text| (text, Kind::Scale))) {
            let wrong = |what: &str| Error::request(format!("'{text}': {what}")).with_options(&OPTIONS);
            let (name, numbers) = text.split_once(':').ok_or_else(|| wrong("it is not MUSCLE:NUMBERS"))?;
            let numbers = parse(numbers).ok_or_else(|| wrong("give finite numbers, as 0,0,3mm or 0.7"))?;
            let edit = match (kind, numbers.as_slice()) {
                (Kind::Move, &[x, y, z]) => Edit::Move(DVec3::new(x, y, z) / 1000.0),
                (Kind::Scale, &[x, y, z]) => Edit::Scale(DVec3::new(x, y, z)),
                (Kind::Scale, &[all]) => Edit::Scale(DVec3::splat(all)),
                _ => return Err(wrong("give three numbers: to the character's left, up, to the front")),
            };
            let found = find_muscle(&model.names, name)
                .map_err(|e| Error::request(e.to_string()).with_options(&OPTIONS))?;
            all.extend(self.on_sides(&model.names, &found, edit));
        }
        match all.is_empty() {
            true => Err(Error::request("give muscles to move or to scale").with_options(&OPTIONS)),
            false => Ok(all),
        }
    }

    /// An edit of the muscles that a name means. Mirrored, the right one of a pair gets the mirror image of
    /// the edit, or the other side of a single one.
    fn on_sides(&self, names: &[String], found: &[usize], edit: Edit) -> Vec<(usize, Edit)> {
        match *found {
            [left, right] if self.mirror => vec![(left, edit), (right, edit.mirrored())],
            [one] => {
                let other = other_side(names, one).filter(|_| self.mirror);
                std::iter::once((one, edit)).chain(other.map(|m| (m, edit.mirrored()))).collect()
            }
            _ => found.iter().map(|&m| (m, edit)).collect(),
        }
    }
}

/// Names of the options with edits.
const OPTIONS: [&str; 2] = ["move", "scale"];

#[derive(Clone, Copy)]
enum Kind {
    Move,
    Scale,
}

/// Numbers separated by commas; millimeters, or meters with `m`.
fn parse(text: &str) -> Option<Vec<f64>> {
    let text = text.trim();
    let (text, scale) = match (text.strip_suffix("mm"), text.strip_suffix('m')) {
        (Some(rest), _) => (rest, 1.0),
        (None, Some(rest)) => (rest, 1000.0),
        (None, None) => (text, 1.0),
    };
    let number = |piece: &str| piece.trim().parse::<f64>().ok().filter(|x| x.is_finite()).map(|x| scale * x);
    text.split(',').map(number).collect()
}

/// The muscle of the other side, of a pair.
fn other_side(names: &[String], muscle: usize) -> Option<usize> {
    let name = &names[muscle];
    let other = match (name.strip_suffix("_L"), name.strip_suffix("_R")) {
        (Some(stem), _) => format!("{stem}_R"),
        (_, Some(stem)) => format!("{stem}_L"),
        _ => return None,
    };
    names.iter().position(|n| *n == other)
}
