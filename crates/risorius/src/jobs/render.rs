//! Draws a face: one picture, many on a sheet, or a movie; performances side by side.

mod colors;
mod film;
mod follow;
mod strips;

pub use follow::CameraMotion;

use super::{plans, shown};
use crate::error::{Error, Result};
use crate::files::{expect_ending, extension};
use crate::jobs::attenuate::Pins;
use crate::pictures::pin_markers;
use crate::source::{ClipReading, RigSource, named_from_text};
use colors::Colors;
use film::Film;
use follow::CameraPath;
use rayon::prelude::*;
use risorius_base::progress::{Plan, Progress, tick};
use risorius_io::output::{WholeFile, write_whole};
use risorius_rig::frames::positions_at;
use risorius_rig::lookup::region_vertices;
use risorius_rig::{Evaluator, Rig};
use risorius_view::{Canvas, DrawOptions, FaceLook, Framing, ScalarField, draw, share_in_view, sheet};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;
use strips::{Strip, Timeline, camera_path, longest};

/// Draws a face.
#[derive(Debug, Clone)]
pub struct RenderJob {
    /// The rig.
    pub rig: RigSource,
    /// Slider values as text, one entry per pose: the name of a JSON file, JSON, or `jawOpen=0.6,smile=1`.
    pub weights: Vec<String>,
    /// Draw every slider at 1, on a sheet.
    pub shapes: bool,
    /// Draw the frames of a clip, on a sheet or as a movie.
    pub clip: Option<PathBuf>,
    /// How clips and head motion are read.
    pub reading: ClipReading,
    /// Draw the frames of takes of this rig, alone or side by side.
    pub takes: Vec<PathBuf>,
    /// Names of the compared performances: the clip, then the takes; the file names by default.
    pub labels: Option<Vec<String>>,
    /// Color by the distance from the first compared performance.
    pub difference: bool,
    /// Show the head motion of the take, the clip or the head file, relative to its first frame.
    pub with_head: bool,
    /// How the camera moves when head motion is shown. Default: it follows the head.
    pub camera: CameraMotion,
    /// Speed of a movie, 0.01 to 10: 0.5 is slow motion. Default 1.
    pub speed: f64,
    /// Frames to put on a sheet; by default 12 spread over the whole, or 6 when comparing.
    pub frames: Option<Vec<usize>>,
    /// Camera views; the front by default.
    pub views: Vec<View>,
    /// The meaning of colors.
    pub color: Coloring,
    /// Draw the edges of the artist's polygons.
    pub wireframe: bool,
    /// Mark these pinned points.
    pub pins: Option<Pins>,
    /// Width and height of one picture in pixels. Default 900, or 400 on sheets of more than 4. In movies 560
    /// for 2 to 4 side by side, 400 for more.
    pub size: Option<[usize; 2]>,
    /// Zoom factor; above 1 is closer. Default 1.
    pub zoom: f32,
    /// Frame the whole rig rather than the face.
    pub whole: bool,
    /// Frame this region, part, or `shape:NAME`.
    pub frame: Option<String>,
    /// Columns of the sheet, or of pictures side by side in a movie.
    pub columns: Option<usize>,
    /// The picture, `.png`, or the movie: `.mp4`, or `.webp` for a picture that web pages play.
    pub output: PathBuf,
}

impl Default for RenderJob {
    fn default() -> Self {
        Self {
            rig: RigSource::default(),
            weights: Vec::new(),
            shapes: false,
            clip: None,
            reading: ClipReading::default(),
            takes: Vec::new(),
            labels: None,
            difference: false,
            with_head: false,
            camera: CameraMotion::Follow,
            speed: 1.0,
            frames: None,
            views: Vec::new(),
            color: Coloring::Skin,
            wireframe: false,
            pins: None,
            size: None,
            zoom: 1.0,
            whole: false,
            frame: None,
            columns: None,
            output: PathBuf::new(),
        }
    }
}

/// A camera view.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Degrees to the character's left.
    pub yaw_degrees: f32,
    /// Degrees upwards.
    pub pitch_degrees: f32,
    /// Name for labels.
    pub name: String,
}

impl View {
    /// Names of views.
    pub const NAMED: [(&'static str, f32, f32); 5] = [
        ("front", 0.0, 0.0),
        ("left", 90.0, 0.0),
        ("right", -90.0, 0.0),
        ("three-quarter", 35.0, 5.0),
        ("below", 0.0, -35.0),
    ];

    /// A view by its name.
    pub fn named(name: &str) -> Option<Self> {
        let &(name, yaw_degrees, pitch_degrees) = Self::NAMED.iter().find(|(n, ..)| *n == name)?;
        Some(Self { yaw_degrees, pitch_degrees, name: name.into() })
    }
}

/// The meaning of colors.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Coloring {
    /// Skin, without values.
    #[default]
    Skin,
    /// Distance from the neutral, mm.
    Motion,
    /// How far a shape moves each vertex, mm.
    Shape(String),
    /// The vertices of a region.
    Region(String),
    /// A JSON list of numbers, one per file vertex.
    File(PathBuf),
}

/// The report of a drawing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RenderReport {
    /// The written file.
    pub output: String,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Number of pictures on the sheet, or side by side.
    pub pictures: usize,
    /// Of a movie: number of frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<usize>,
    /// Of a movie: frames per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fps: Option<f64>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Of a movie: computation time, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// Most pictures on one sheet; more would be too small to see.
const MAX_PICTURES: usize = 400;

/// Frames of a movie that are drawn in parallel.
const BATCH: usize = 16;

impl RenderJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<RenderReport> {
        let plan = Plan::new(progress, &plans::RENDER);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let endings = ["png", "mp4", "webp"];
        let is_movie = expect_ending(&self.output, &endings, "a picture or a movie")? != "png";
        let over_time = self.clip.is_some() || !self.takes.is_empty();
        if is_movie && (!over_time || self.frames.is_some()) {
            let (problem, options): (_, &[_]) = match over_time {
                true => ("shows all frames: leave out a list of frames", &["frames"]),
                false => ("needs a clip or a take", &["clip", "take"]),
            };
            let message = format!("'{}': a movie {problem}", self.output.display());
            return Err(Error::request(message).with_options(options));
        }
        if !(0.01..=10.0).contains(&self.speed) || (self.speed != 1.0 && !is_movie) {
            let message = format!("the speed is {}; give a movie 0.01 to 10, a picture none", self.speed);
            return Err(Error::request(message).with_options(&["speed"]));
        }
        let views =
            if self.views.is_empty() { Vec::from_iter(View::named("front")) } else { self.views.clone() };
        let file = if self.shapes { self.rig.open_with_sliders(progress) } else { self.rig.open(progress) }?;
        let rig = &file.rig;
        let strips = strips::open(self, rig, progress)?;
        if self.difference && strips.len() < 2 {
            let problem = "a difference needs two performances: give a clip and a take, or two takes";
            return Err(Error::request(problem).with_options(&["difference"]));
        }
        if self.with_head && strips.iter().all(|s| s.head().is_none()) {
            let problem = "there is no head motion to show: give it, or a .glb that `perform` wrote with it";
            return Err(Error::failed(problem).with_options(&["head"]));
        }
        let colors = Colors::new(rig, &self.color, self.difference)?;
        let outside = Mutex::new(Vec::new());
        let show = Show { job: self, rig, strips, views, colors, progress, outside };
        match (over_time, is_movie) {
            (false, _) => show.poses(),
            (true, false) => show.sheet(),
            (true, true) => show.movie(),
        }
    }

    /// The poses to draw, with labels.
    fn poses(&self, rig: &Rig) -> Result<Vec<(Vec<[f32; 3]>, String)>> {
        let evaluator = Evaluator::prepare(rig);
        if self.shapes {
            check_pictures(rig.sliders.len())?;
            let one = |s: usize| {
                let mut w = vec![0.0; rig.sliders.len()];
                w[s] = 1.0;
                (evaluator.positions(&w), rig.sliders[s].name.clone())
            };
            return Ok((0..rig.sliders.len()).map(one).collect());
        }
        if self.weights.is_empty() {
            return Ok(vec![(rig.neutral.clone(), String::new())]);
        }
        let set = self.reading.set.as_deref();
        let one = |w: &String| {
            let weights = named_from_text(rig, w, set)?.weights;
            Ok((evaluator.positions(&weights), pose_label(w)))
        };
        self.weights.iter().map(one).collect()
    }

    fn draw_options(&self, rig: &Rig, usual_size: usize) -> Result<DrawOptions> {
        let [width, height] = self.size.unwrap_or([usual_size; 2]);
        let framing = match (&self.frame, self.whole) {
            (Some(region), _) => Framing::Vertices(region_vertices(rig, region)?),
            (None, true) => Framing::Whole,
            (None, false) => Framing::Face,
        };
        let markers = match &self.pins {
            Some(pins) => pin_markers(&pins.resolve(rig)?),
            None => Vec::new(),
        };
        let (zoom, wireframe) = (self.zoom, self.wireframe);
        Ok(DrawOptions { width, height, zoom, framing, wireframe, markers, ..DrawOptions::default() })
    }

    /// The requested frames, or `usual` of them from the first to the last.
    fn frame_list(&self, n_frames: usize, usual: usize) -> Result<Vec<usize>> {
        let Some(list) = &self.frames else {
            let n = n_frames.min(usual);
            return Ok((0..n).map(|i| i * (n_frames - 1) / (n - 1).max(1)).collect());
        };
        check_pictures(list.len())?;
        if let Some(frame) = list.iter().find(|f| **f >= n_frames) {
            let message = format!("frame {frame} is out of range: there are {n_frames} frames, from 0");
            return Err(Error::failed(message));
        }
        Ok(list.clone())
    }
}

/// The values as given, or the name of their file.
fn pose_label(weights: &str) -> String {
    let stem = Path::new(weights).file_stem().map(|s| s.to_string_lossy().into_owned());
    match () {
        _ if weights.contains('=') && !Path::new(weights).is_file() => weights.to_string(),
        _ if weights.trim_start().starts_with('{') => String::new(),
        _ => stem.unwrap_or_default(),
    }
}

fn check_pictures(n: usize) -> Result<()> {
    if n > MAX_PICTURES {
        let message = format!("{n} pictures, but a sheet holds at most {MAX_PICTURES}; draw fewer poses");
        return Err(Error::failed(message).with_options(&["weights"]));
    }
    Ok(())
}

/// Everything that is drawn.
struct Show<'a> {
    job: &'a RenderJob,
    rig: &'a Rig,
    strips: Vec<Strip>,
    views: Vec<View>,
    colors: Colors,
    progress: &'a Progress<'a>,
    /// Times at which the face is out of the picture, wholly or mostly, in no order.
    outside: Mutex<Vec<f64>>,
}

/// The data shared by all pictures.
struct Prepared {
    look: FaceLook,
    options: DrawOptions,
    camera: Option<CameraPath>,
}

/// A face of which less than this share is in the picture gets a note.
const SHARE_IN_VIEW: f64 = 0.5;

impl Show<'_> {
    /// Poses by slider values, or all sliders.
    fn poses(mut self) -> Result<RenderReport> {
        let poses = self.job.poses(self.rig)?;
        poses.iter().for_each(|p| self.colors.seen(self.rig, &p.0, &[]));
        let n_cells = self.views.len() * poses.len();
        let prepared = self.prepare(n_cells, if n_cells > 4 { 400 } else { 900 })?;
        let mut cells = Vec::new();
        for (p, (positions, label)) in poses.iter().enumerate() {
            tick(self.progress, "drawing", p as f32 / poses.len() as f32)?;
            let field = self.colors.field(self.rig, positions, None);
            cells.extend(self.draw_views(&prepared, positions, field, label, 0.0)?);
        }
        self.write_sheet(cells, n_cells, Vec::new())
    }

    /// Frames on a sheet; several performances get one row per performance and view.
    fn sheet(mut self) -> Result<RenderReport> {
        let compares = self.strips.len() > 1;
        let n_frames = longest(&self.strips).times_secs().len();
        let frames = self.job.frame_list(n_frames, if compares { 6 } else { 12 })?;
        let timeline = Timeline::frames(&self.strips, &frames);
        self.find_scale(&timeline)?;
        let n_cells = self.views.len() * self.strips.len() * frames.len();
        let prepared = self.prepare(n_cells, if n_cells > 4 { 400 } else { 900 })?;
        let mut rows = vec![Vec::new(); self.strips.len() * self.views.len()];
        let mut cells = Vec::new();
        for (i, (&t, frame)) in timeline.times_secs.iter().zip(&frames).enumerate() {
            tick(self.progress, "drawing", i as f32 / frames.len() as f32)?;
            for (s, drawn) in self.draw_strips(&prepared, t)?.into_iter().enumerate() {
                let (strip, view) = (s / self.views.len(), s % self.views.len());
                let label = match compares {
                    true => format!("{}, {t:.2} s", self.strips[strip].label),
                    false => format!("frame {frame}, {t:.2} s"),
                };
                let several = self.views.len() > 1;
                let label = if several { format!("{label} {}", self.views[view].name) } else { label };
                if compares { rows[s].push((drawn.0, label)) } else { cells.push((drawn.0, label)) }
            }
        }
        let columns = if compares && frames.len() > 1 { frames.len() } else { n_cells };
        cells.extend(rows.into_iter().flatten());
        self.write_sheet(cells, columns, timeline.notes)
    }

    /// All frames at a constant rate.
    fn movie(mut self) -> Result<RenderReport> {
        let start = Instant::now();
        let (timeline, fps) = Timeline::even(&self.strips, self.job.reading.fps, self.job.speed)?;
        self.find_scale(&timeline)?;
        let n_cells = self.views.len() * self.strips.len();
        let size = match n_cells {
            1 => 900,
            2..=4 => 560,
            _ => 400,
        };
        let prepared = self.prepare(n_cells, size)?;
        // Drawn once to get its size, before anything is written.
        let Canvas { width, height, .. } = self.movie_frame(&prepared, timeline.times_secs[0])?;
        let mut file = WholeFile::create(&self.job.output)?;
        let mut movie = Film::new(&mut file, &extension(&self.job.output), [width, height], fps)?;
        let n_frames = timeline.times_secs.len();
        for (batch, times) in timeline.times_secs.chunks(BATCH).enumerate() {
            let draw = |(i, &t): (usize, &f64)| {
                tick(self.progress, "drawing", (BATCH * batch + i) as f32 / n_frames as f32)?;
                self.movie_frame(&prepared, t)
            };
            let pictures: Vec<Canvas> = times.par_iter().enumerate().map(draw).collect::<Result<_>>()?;
            pictures.iter().try_for_each(|p| movie.add(p))?;
        }
        movie.finish()?;
        file.finish()?;
        Ok(RenderReport {
            output: shown(&self.job.output),
            width,
            height,
            pictures: n_cells,
            frames: Some(n_frames),
            fps: Some(fps),
            notes: self.with_outside(timeline.notes),
            seconds: Some(start.elapsed().as_secs_f64()),
        })
    }

    /// One frame of a movie: a single picture as it is, several with labels and the time.
    fn movie_frame(&self, prepared: &Prepared, t_secs: f64) -> Result<Canvas> {
        let mut cells = self.draw_strips(prepared, t_secs)?;
        if cells.len() == 1 && self.job.labels.is_none() {
            return Ok(cells.swap_remove(0).0);
        }
        // A title of constant width, so that the size of the frame does not change.
        let time = format!("{:<10}", format!("{t_secs:.2} s"));
        Ok(sheet(&cells, self.job.columns.unwrap_or(cells.len()), &time)?)
    }

    /// Extends the color scale to everything that will be shown.
    fn find_scale(&mut self, timeline: &Timeline) -> Result<()> {
        if !self.colors.needs_scale() {
            return Ok(());
        }
        for (i, &t) in timeline.times_secs.iter().enumerate() {
            tick(self.progress, "measuring", i as f32 / timeline.times_secs.len() as f32)?;
            let first = positions_at(&*self.strips[0].frames, t);
            for strip in &self.strips {
                self.colors.seen(self.rig, &positions_at(&*strip.frames, t), &first);
            }
        }
        Ok(())
    }

    /// Every performance in every view at a time, with its label.
    fn draw_strips(&self, prepared: &Prepared, t_secs: f64) -> Result<Vec<(Canvas, String)>> {
        let mut cells = Vec::new();
        let mut first: Option<Vec<[f32; 3]>> = None;
        for strip in &self.strips {
            let mut positions = positions_at(&*strip.frames, t_secs);
            let field = self.colors.field(self.rig, &positions, first.as_deref());
            first.get_or_insert_with(|| positions.clone());
            if let Some(camera) = &prepared.camera {
                strip.move_head(camera, self.rig, t_secs, &mut positions);
            }
            cells.extend(self.draw_views(prepared, &positions, field, &strip.label, t_secs)?);
        }
        Ok(cells)
    }

    /// A pose in every view, at a time.
    fn draw_views(
        &self,
        prepared: &Prepared,
        positions: &[[f32; 3]],
        field: Option<ScalarField>,
        label: &str,
        t_secs: f64,
    ) -> Result<Vec<(Canvas, String)>> {
        let one = |view: &View| {
            let options = DrawOptions {
                yaw_degrees: view.yaw_degrees,
                pitch_degrees: view.pitch_degrees,
                field: field.clone(),
                ..prepared.options.clone()
            };
            if share_in_view(&prepared.look, positions, &options)? < SHARE_IN_VIEW
                && let Ok(mut outside) = self.outside.lock()
            {
                outside.push(t_secs);
            }
            let label =
                if self.views.len() > 1 { format!("{label} {}", view.name) } else { label.to_string() };
            Ok((draw(&prepared.look, positions, &options)?, label.trim().to_string()))
        };
        self.views.iter().map(one).collect()
    }

    /// The data shared by all pictures; `size` is the default size of one of `n_cells` pictures.
    fn prepare(&self, n_cells: usize, size: usize) -> Result<Prepared> {
        check_pictures(n_cells)?;
        let look = FaceLook::prepare(self.rig);
        let options = self.job.draw_options(self.rig, size)?;
        let camera = || camera_path(&self.strips, self.rig, look.face_center(), self.job.camera);
        let camera = if self.job.with_head { camera() } else { None };
        Ok(Prepared { look, options, camera })
    }

    /// `notes`, and one about pictures that do not show the face.
    fn with_outside(&self, mut notes: Vec<String>) -> Vec<String> {
        let mut times = self.outside.lock().map(|t| t.clone()).unwrap_or_default();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let Some((first, last)) = times.first().zip(times.last()) else { return notes };
        let when = if first < last {
            format!("from {first:.2} s to {last:.2} s")
        } else {
            format!("at {first:.2} s")
        };
        let frames = if times.len() == 1 { "1 frame".into() } else { format!("{} frames", times.len()) };
        let advice = "frame more of the rig (`whole`), or let the camera follow the head (`camera`)";
        notes.push(format!("less than half of the face is in the picture in {frames}, {when}: {advice}"));
        notes
    }

    /// Writes a single picture, or all on a sheet with `columns` columns, at most six unless they form rows.
    fn write_sheet(
        &self,
        mut cells: Vec<(Canvas, String)>,
        columns: usize,
        notes: Vec<String>,
    ) -> Result<RenderReport> {
        let n_cells = cells.len();
        let canvas: Canvas = if n_cells == 1 {
            cells.swap_remove(0).0
        } else {
            let usual = match self.views.len() {
                _ if columns < n_cells => columns,
                1 => n_cells.min(6),
                n => n,
            };
            sheet(&cells, self.job.columns.unwrap_or(usual).max(1), &self.rig.name)?
        };
        write_whole(&self.job.output, &canvas.encode_png())?;
        Ok(RenderReport {
            output: shown(&self.job.output),
            width: canvas.width,
            height: canvas.height,
            pictures: n_cells,
            frames: None,
            fps: None,
            notes: self.with_outside(notes),
            seconds: None,
        })
    }
}
