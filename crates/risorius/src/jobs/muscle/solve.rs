//! Finds the activations and the jaw that make shapes of a rig, or come nearest to a mesh.

use super::{MuscleMaterial, leading, open_face, problem_notes, row_of_pictures};
use crate::error::{Error, Result, in_file};
use crate::files::{SURFACES, expect_ending, expect_not_input};
use crate::jobs::{plans, shown};
use crate::source::sliders_by_pattern;
use crate::takes::write_surface;
use rayon::prelude::*;
use risorius_base::Progress;
use risorius_base::progress::{Plan, tick};
use risorius_flesh::Face;
use risorius_io::native::face;
use risorius_io::output::write_whole;
use risorius_io::take_in::open_pose_of;
use risorius_muscle::MuscleShape;
use risorius_perform::drivers::muscles::inverse::{Inverse, InverseOptions, Solved};
use risorius_perform::drivers::muscles::{JawPose, MuscleModel};
use risorius_rig::Evaluator;
use risorius_view::sheet;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Finds the activations of shapes.
#[derive(Debug, Clone)]
pub struct SolveMusclesJob {
    /// The face.
    pub face: PathBuf,
    /// Sliders whose shapes are solved for, by names or patterns with `*` and `?`; all by default.
    pub shapes: Vec<String>,
    /// Instead of shapes: a mesh with the face's vertices.
    pub target: Option<PathBuf>,
    /// Options of the search.
    pub options: InverseOptions,
    /// How flesh and muscles respond.
    pub material: MuscleMaterial,
    /// The face with what was found (`.face`); with `target`, the pose (`.glb`, `.gltf`, `.obj` or `.ply`).
    pub output: PathBuf,
    /// A picture of the first shapes by the artist and by muscles: `.png`.
    pub picture: Option<PathBuf>,
}

/// What was found for a shape.
#[derive(Debug, Clone, Serialize)]
pub struct SolvedShape {
    /// Its name; empty for a mesh.
    pub shape: String,
    /// Distance of landmarks from the shape: root mean square and largest, mm.
    pub residual_mm: [f64; 2],
    /// The same for the neutral.
    pub before_mm: [f64; 2],
    /// Muscles that are active by 0.02 or more, the most active first.
    pub muscles: Vec<(String, f64)>,
    /// The jaw.
    pub jaw: JawPose,
    /// Gauss-Newton steps.
    pub steps: usize,
    /// Equilibria that were found.
    pub equilibria: usize,
    /// Newton steps in all of them.
    pub newton_steps: usize,
    /// The part of the linear systems that had exact second derivatives.
    pub exact_share: f64,
    /// Whether the last equilibrium met its tolerance.
    pub converged: bool,
    /// Smallest volume of an element relative to rest.
    pub least_j: f64,
    /// Time on one thread among others, seconds.
    pub seconds: f64,
}

/// The report of a search.
#[derive(Debug, Clone, Serialize)]
pub struct SolveMusclesReport {
    /// The output that was asked for.
    pub output: String,
    /// All written files.
    pub files: Vec<String>,
    /// Number of landmarks.
    pub landmarks: usize,
    /// What was found.
    pub shapes: Vec<SolvedShape>,
    /// What was assumed and what is doubtful.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
}

impl SolvedShape {
    fn new(shape: &str, model: &MuscleModel, solved: &Solved, start: Instant) -> Self {
        let pose = &solved.pose;
        Self {
            shape: shape.into(),
            residual_mm: solved.residual_mm,
            before_mm: solved.before_mm,
            muscles: leading(model, &pose.controls.activations),
            jaw: pose.controls.jaw,
            steps: solved.steps,
            equilibria: solved.equilibria,
            newton_steps: solved.newton_steps,
            exact_share: solved.exact[0] as f64 / solved.exact[1].max(1) as f64,
            converged: pose.report.converged,
            least_j: pose.report.smallest_det,
            seconds: start.elapsed().as_secs_f64(),
        }
    }
}

impl SolveMusclesJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<SolveMusclesReport> {
        let plan = Plan::new(progress, &plans::SOLVE_MUSCLES);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        self.check()?;
        tick(progress, "reading", 0.0)?;
        let mut face = open_face(&self.face)?;
        let sliders = self.sliders(&face)?;
        tick(progress, "muscles", 0.0)?;
        let model = MuscleModel::prepare(&face, &self.material.options())?;
        let inverse = Inverse::prepare(&model, &self.options)?;
        let mut report = SolveMusclesReport {
            output: shown(&self.output),
            files: vec![shown(&self.output)],
            landmarks: inverse.marks.vertices.len(),
            shapes: Vec::new(),
            notes: problem_notes(&model),
            seconds: 0.0,
        };
        if self.target.is_some() {
            self.approach_mesh(&inverse, &mut report, progress)?;
        } else {
            let made = solve_shapes(&inverse, &sliders, progress)?;
            if let Some(picture) = &self.picture {
                tick(progress, "drawing", 0.0)?;
                self.draw(&model, &made, picture)?;
                report.files.push(shown(picture));
            }
            let (shapes, solved): (Vec<_>, Vec<_>) = made.into_iter().unzip();
            report.shapes = solved;
            tick(progress, "writing", 0.0)?;
            drop(inverse);
            put(&mut face.muscle_shapes, shapes);
            face::write(&face, &self.output)?;
        }
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    fn check(&self) -> Result<()> {
        match &self.target {
            Some(mesh) => {
                expect_ending(&self.output, &SURFACES, "a pose")?;
                expect_not_input(&self.output, [self.face.as_path(), mesh.as_path()])?;
                if !self.shapes.is_empty() {
                    let problem = "give shapes of the rig, or a mesh, not both";
                    return Err(Error::request(problem).with_options(&["shapes", "target"]));
                }
            }
            None => {
                expect_ending(&self.output, &["face"], "the face with its muscle shapes")?;
                expect_not_input(&self.output, [self.face.as_path()])?;
            }
        }
        if let Some(picture) = &self.picture {
            expect_ending(picture, &["png"], "a picture")?;
        }
        Ok(())
    }

    fn sliders(&self, face: &Face) -> Result<Vec<usize>> {
        if self.target.is_some() {
            return Ok(Vec::new());
        }
        match self.shapes.is_empty() {
            true if face.rig.sliders.is_empty() => {
                let problem = "the face has no shapes; give a mesh as target";
                Err(Error::failed(problem).in_file(&self.face).with_options(&["target"]))
            }
            true => Ok((0..face.rig.sliders.len()).collect()),
            false => sliders_by_pattern(&face.rig, &self.shapes),
        }
    }

    fn approach_mesh(
        &self,
        inverse: &Inverse,
        report: &mut SolveMusclesReport,
        progress: &Progress,
    ) -> Result<()> {
        let Some(path) = &self.target else { return Ok(()) };
        let begun = Instant::now();
        let (model, rig) = (inverse.model(), &inverse.model().face().rig);
        let goal = open_pose_of(path, rig, progress).map_err(in_file(path))?;
        let solved = inverse.solve_mesh(&goal, progress)?;
        report.shapes.push(SolvedShape::new("", model, &solved, begun));
        let vertices = model.skin(&solved.pose);
        if let Some(picture) = &self.picture {
            tick(progress, "drawing", 0.0)?;
            let skins = [("target", goal.as_slice()), ("by muscles", vertices.as_slice())];
            let cells = row_of_pictures(model, &skins, &solved.pose)?;
            write_whole(picture, &sheet(&cells, 3, "")?.encode_png())?;
            report.files.push(shown(picture));
        }
        tick(progress, "writing", 0.0)?;
        write_surface(rig, &vertices, &self.output)
    }

    fn draw(
        &self,
        model: &MuscleModel,
        made: &[(MuscleShape, SolvedShape)],
        picture: &std::path::Path,
    ) -> Result<()> {
        let evaluator = Evaluator::prepare(&model.face().rig);
        let mut cells = Vec::new();
        for (shape, solved) in made.iter().take(DRAWN) {
            let (artist, motion) = model.artist_shape(&evaluator, shape.shape as usize);
            let pose =
                model.pose(&model.controls_of(shape, 1.0), None, &risorius_base::progress::no_progress)?;
            let skin = model.skin_among(&pose, &artist, &motion);
            let by = format!("by muscles, {:.2} mm", solved.residual_mm[0]);
            let skins = [(solved.shape.as_str(), artist.as_slice()), (by.as_str(), skin.as_slice())];
            cells.extend(row_of_pictures(model, &skins, &pose)?);
        }
        write_whole(picture, &sheet(&cells, 3, "")?.encode_png())?;
        Ok(())
    }
}

/// Most shapes in a picture.
const DRAWN: usize = 8;

/// Solves for the shapes of some sliders, side by side.
pub(crate) fn solve_shapes(
    inverse: &Inverse,
    sliders: &[usize],
    progress: &Progress,
) -> Result<Vec<(MuscleShape, SolvedShape)>> {
    let rig = &inverse.model().face().rig;
    let evaluator = Evaluator::prepare(rig);
    let done = AtomicUsize::new(0);
    let one = |&slider: &usize| -> Result<(MuscleShape, SolvedShape)> {
        let begun = Instant::now();
        let share = || done.load(Ordering::Relaxed) as f32 / sliders.len() as f32;
        let quiet: &Progress = &|_, _| progress("activations", share());
        let shape = rig.sliders[slider].shape;
        let (made, solved) = inverse.solve_shape(&evaluator, shape, quiet)?;
        done.fetch_add(1, Ordering::Relaxed);
        Ok((made, SolvedShape::new(&rig.sliders[slider].name, inverse.model(), &solved, begun)))
    };
    sliders.par_iter().with_max_len(1).map(one).collect()
}

/// Replaces shapes of a face, or adds them; ascending by shape.
pub(crate) fn put(all: &mut Vec<MuscleShape>, shapes: Vec<MuscleShape>) {
    all.retain(|old| shapes.iter().all(|new| new.shape != old.shape));
    all.extend(shapes);
    all.sort_by_key(|s| s.shape);
}
