//! Leads muscles so that the simulated skin comes to shapes of the rig, or to a mesh.

use super::solve::{put, solve_shapes};
use super::{MuscleMaterial, leading, open_face, problem_notes, row_of_pictures};
use crate::error::{Error, Result, in_file};
use crate::files::{expect_ending, expect_not_input, is_rig};
use crate::jobs::{plans, shown};
use crate::source::{sliders_by_name, sliders_by_pattern};
use rayon::prelude::*;
use risorius_base::Progress;
use risorius_base::progress::{Plan, tick};
use risorius_flesh::Face;
use risorius_io::native::face;
use risorius_io::output::write_whole;
use risorius_io::take_in::open_pose_of;
use risorius_muscle::{MuscleShape, Snap};
use risorius_perform::drivers::muscles::inverse::{Inverse, InverseOptions};
use risorius_perform::drivers::muscles::target::{TargetOptions, Targeted, Targeting};
use risorius_perform::drivers::muscles::{MuscleModel, MusclePose};
use risorius_rig::Evaluator;
use risorius_view::{Series, lines, sheet};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Leads muscles to shapes.
#[derive(Debug, Clone)]
pub struct TargetMusclesJob {
    /// The face. Shapes that were not solved for yet are solved for first.
    pub face: PathBuf,
    /// Sliders, by names or patterns with `*` and `?`; or one mesh with the face's vertices.
    pub to: Vec<String>,
    /// The slider that a mesh is to replace in performances by muscles.
    pub shape: Option<String>,
    /// Options of the iteration.
    pub options: TargetOptions,
    /// How flesh and muscles respond.
    pub material: MuscleMaterial,
    /// The face with the tracks and snaps (`.face`).
    pub output: PathBuf,
    /// A picture of the first shapes by the artist, by muscles, and the muscles: `.png`.
    pub picture: Option<PathBuf>,
    /// A plot of the snap over the iterations: `.png`.
    pub plot: Option<PathBuf>,
}

/// What came of a target.
#[derive(Debug, Clone, Serialize)]
pub struct TargetedShape {
    /// The slider.
    pub shape: String,
    /// Snap of the outer skin after the raw activations and after each iteration: root mean square and
    /// largest, mm.
    pub snaps_mm: Vec<[f64; 2]>,
    /// The last over the first, 1 if there was none.
    pub ratio: f64,
    /// Farthest distance of a vertex of the rig from the target at the end of the path, with the final snap,
    /// meters.
    pub end_error_m: f64,
    /// Muscles that lead.
    pub leading: usize,
    /// Muscles that are active by 0.02 or more, the most active first.
    pub muscles: Vec<(String, f64)>,
    /// Smallest volume of an element relative to rest.
    pub least_j: f64,
    /// Volume of the flesh relative to rest.
    pub volume_ratio: f64,
    /// Deepest penetration beyond that of the neutral, mm.
    pub depth_mm: f64,
    /// Time on one thread among others, seconds.
    pub seconds: f64,
}

/// The report of targeting.
#[derive(Debug, Clone, Serialize)]
pub struct TargetMusclesReport {
    /// The output that was asked for.
    pub output: String,
    /// All written files.
    pub files: Vec<String>,
    /// What came of each.
    pub shapes: Vec<TargetedShape>,
    /// Shapes whose activations were found first.
    pub solved: usize,
    /// What was assumed and what is doubtful.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
}

/// A slider and the skin that it is to have.
struct Goal {
    slider: usize,
    /// A mesh; the artist's shape if there is none.
    mesh: Option<Vec<[f32; 3]>>,
}

impl TargetMusclesJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<TargetMusclesReport> {
        let plan = Plan::new(progress, &plans::TARGET_MUSCLES);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        expect_ending(&self.output, &["face"], "the face with its tracks")?;
        expect_not_input(&self.output, [self.face.as_path()])?;
        for picture in [&self.picture, &self.plot].into_iter().flatten() {
            expect_ending(picture, &["png"], "a picture")?;
        }
        if self.options.iterations == 0 {
            return Err(Error::request("give at least one iteration").with_options(&["iterations"]));
        }
        tick(progress, "reading", 0.0)?;
        let mut face = open_face(&self.face)?;
        let goals = self.goals(&face, progress)?;
        tick(progress, "muscles", 0.0)?;
        let model = MuscleModel::prepare(&face, &self.material.options())?;
        let (raw, solved) = self.raw_shapes(&model, &goals, progress)?;
        let found = self.approach_all(&model, &goals, &raw, progress)?;
        let mut files = vec![shown(&self.output)];
        if let Some(picture) = &self.picture {
            tick(progress, "drawing", 0.0)?;
            draw(&model, &goals, &found, picture)?;
            files.push(shown(picture));
        }
        if let Some(path) = &self.plot {
            plot(&found, path)?;
            files.push(shown(path));
        }
        let notes = problem_notes(&model);
        let (made, shapes): (Vec<_>, Vec<_>) = found.into_iter().map(|(t, report)| (t.shape, report)).unzip();
        tick(progress, "writing", 0.0)?;
        drop(model);
        put(&mut face.muscle_shapes, made);
        face::write(&face, &self.output)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(TargetMusclesReport { output: shown(&self.output), files, shapes, solved, notes, seconds })
    }

    fn goals(&self, face: &Face, progress: &Progress) -> Result<Vec<Goal>> {
        match (self.to.as_slice(), &self.shape) {
            ([], _) => Err(Error::request("give shapes or a mesh as targets").with_options(&["to"])),
            ([mesh], Some(name)) if is_rig(Path::new(mesh)) => {
                let path = Path::new(mesh);
                let sliders = sliders_by_name(&face.rig, std::slice::from_ref(name))?;
                let mesh = open_pose_of(path, &face.rig, progress).map_err(in_file(path))?;
                Ok(vec![Goal { slider: sliders[0], mesh: Some(mesh) }])
            }
            ([mesh], None) if is_rig(Path::new(mesh)) => {
                let problem = "name the slider that the mesh is to replace";
                Err(Error::request(problem).with_options(&["shape"]))
            }
            (_, Some(_)) => {
                let problem = "a slider is named for a mesh, but the targets are shapes";
                Err(Error::request(problem).with_options(&["shape", "to"]))
            }
            (names, None) => {
                let sliders = sliders_by_pattern(&face.rig, names)?;
                Ok(sliders.into_iter().map(|slider| Goal { slider, mesh: None }).collect())
            }
        }
    }

    /// The shapes of the face as they were solved for, and how many had to be solved for now.
    fn raw_shapes(
        &self,
        model: &MuscleModel,
        goals: &[Goal],
        progress: &Progress,
    ) -> Result<(Vec<MuscleShape>, usize)> {
        let face = model.face();
        let known = |goal: &Goal| {
            let shape = face.rig.sliders[goal.slider].shape;
            face.muscle_shapes.iter().find(|s| s.shape as usize == shape).filter(|_| goal.mesh.is_none())
        };
        let inverse = Inverse::prepare(model, &InverseOptions::default())?;
        let missing: Vec<usize> =
            goals.iter().filter(|g| known(g).is_none() && g.mesh.is_none()).map(|g| g.slider).collect();
        let mut solved = solve_shapes(&inverse, &missing, progress)?.into_iter().map(|(shape, _)| shape);
        let n_solved = goals.iter().filter(|g| known(g).is_none()).count();
        let mut all = Vec::new();
        for goal in goals {
            let raw = match (known(goal), &goal.mesh) {
                (Some(shape), _) => Some(shape.clone()),
                (None, None) => solved.next(),
                (None, Some(mesh)) => {
                    let found = inverse.solve_mesh(mesh, progress)?;
                    Some(inverse.as_shape(face.rig.sliders[goal.slider].shape, &found, progress)?)
                }
            };
            all.extend(raw);
        }
        Ok((all, n_solved))
    }

    fn approach_all(
        &self,
        model: &MuscleModel,
        goals: &[Goal],
        raw: &[MuscleShape],
        progress: &Progress,
    ) -> Result<Vec<(Targeted, TargetedShape)>> {
        let (targeting, evaluator) = (Targeting::prepare(model), Evaluator::prepare(&model.face().rig));
        let done = AtomicUsize::new(0);
        let one = |(goal, raw): (&Goal, &MuscleShape)| -> Result<(Targeted, TargetedShape)> {
            let begun = Instant::now();
            let share = || done.load(Ordering::Relaxed) as f32 / goals.len() as f32;
            let quiet: &Progress = &|_, _| progress("targeting", share());
            let (artist, motion) = model.artist_shape(&evaluator, raw.shape as usize);
            let show = |pose: &MusclePose| model.skin_among(pose, &artist, &motion);
            let wanted = goal.mesh.as_ref().unwrap_or(&artist);
            let mut found = targeting.approach(raw, wanted, &show, &self.options, quiet)?;
            let skin = show(&found.pose);
            found.shape.snap = Snap::between(&skin, wanted);
            done.fetch_add(1, Ordering::Relaxed);
            let report = TargetedShape {
                shape: model.face().rig.sliders[goal.slider].name.clone(),
                ratio: ratio(&found.snaps_mm),
                snaps_mm: found.snaps_mm.clone(),
                end_error_m: end_error(model, &found.shape, skin, wanted),
                leading: found.shape.leads.iter().filter(|l| **l).count(),
                muscles: leading(model, &found.shape.activations),
                least_j: found.pose.report.smallest_det,
                volume_ratio: model.volume_ratio(&found.pose),
                depth_mm: 1000.0 * found.pose.report.depth,
                seconds: begun.elapsed().as_secs_f64(),
            };
            Ok((found, report))
        };
        goals.par_iter().zip(raw).with_max_len(1).map(one).collect()
    }
}

fn ratio(snaps_mm: &[[f64; 2]]) -> f64 {
    match (snaps_mm.first(), snaps_mm.last()) {
        (Some([first, _]), Some([last, _])) if *first > 0.0 => last / first,
        _ => 1.0,
    }
}

/// Farthest distance from the target with the final snap, meters.
fn end_error(model: &MuscleModel, shape: &MuscleShape, mut skin: Vec<[f32; 3]>, goal: &[[f32; 3]]) -> f64 {
    shape.snap.add_to(&mut skin, 1.0);
    let distance = |(a, b): (&[f32; 3], &[f32; 3])| f64::from(glam::Vec3::from(*a).distance((*b).into()));
    model.face().rig.space.meters_per_unit * skin.iter().zip(goal).map(distance).fold(0.0, f64::max)
}

/// Most shapes in a picture.
const DRAWN: usize = 8;

fn draw(
    model: &MuscleModel,
    goals: &[Goal],
    found: &[(Targeted, TargetedShape)],
    picture: &Path,
) -> Result<()> {
    let evaluator = Evaluator::prepare(&model.face().rig);
    let mut cells = Vec::new();
    for (goal, (targeted, report)) in goals.iter().zip(found).take(DRAWN) {
        let (artist, motion) = model.artist_shape(&evaluator, targeted.shape.shape as usize);
        let skin = model.skin_among(&targeted.pose, &artist, &motion);
        let wanted = goal.mesh.as_ref().unwrap_or(&artist);
        let last = report.snaps_mm.last().map_or(0.0, |s| s[0]);
        let by = format!("by muscles, {last:.2} mm");
        let skins = [(report.shape.as_str(), wanted.as_slice()), (by.as_str(), skin.as_slice())];
        cells.extend(row_of_pictures(model, &skins, &targeted.pose)?);
    }
    write_whole(picture, &sheet(&cells, 3, "")?.encode_png())?;
    Ok(())
}

fn plot(found: &[(Targeted, TargetedShape)], path: &Path) -> Result<()> {
    let series = |(_, report): &(Targeted, TargetedShape)| Series {
        name: if found.len() <= 8 { report.shape.clone() } else { String::new() },
        points: report.snaps_mm.iter().enumerate().map(|(i, s)| [i as f64, s[0]]).collect(),
    };
    let all: Vec<Series> = found.iter().map(series).collect();
    let canvas = lines(&all, "iteration", "snap, root mean square, mm", "Snap of the outer skin")?;
    write_whole(path, &canvas.encode_png())?;
    Ok(())
}
