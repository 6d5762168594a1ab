//! `render`: pictures of a face, one, many on a sheet, or a movie; performances side by side.

use crate::files::expect_ending;
use crate::pictures::pin_markers;
use crate::pose::ClipArgs;
use crate::render_colors::Colors;
use crate::render_strips::{self, Strip, Timeline, longest};
use crate::rig_args::{RigArgs, pins, weights};
use crate::session::{Failure, Report, Session};
use clap::{ArgGroup, Args};
use rayon::prelude::*;
use risorius_base::progress::tick;
use risorius_io::output::{WholeFile, write_whole};
use risorius_rig::lookup::region_vertices;
use risorius_rig::{Evaluator, Rig};
use risorius_view::{Canvas, DrawOptions, FaceLook, Framing, Movie, ScalarField, draw, sheet};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// See [`crate`].
#[derive(Args)]
#[command(group(ArgGroup::new("over_time").multiple(true).args(["clip", "take"])))]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    /// Slider values: a JSON file, inline JSON, or jawOpen=0.6,smile=1. Several times for several poses on a
    /// sheet.
    #[arg(long, short, value_name = "W")]
    weights: Vec<String>,
    /// One picture of every slider at 1, on a sheet.
    #[arg(long, conflicts_with_all = ["weights", "clip", "take"])]
    shapes: bool,
    /// Frames of a clip, on a sheet or as a movie.
    #[arg(long, value_name = "FILE", conflicts_with = "weights")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// Frames of a take (.glb, .gltf, .mdd, .pc2, .npz) of this rig. Several times, also with a clip, to
    /// compare.
    #[arg(long, value_name = "FILE", conflicts_with = "weights")]
    take: Vec<PathBuf>,
    /// Names of what is compared, separated by commas: the clip, then the takes; those of the files when left
    /// out.
    #[arg(long, value_name = "LIST", requires = "over_time")]
    label: Option<String>,
    /// Color by the distance from the first that is compared.
    #[arg(long, conflicts_with = "color", requires = "over_time")]
    difference: bool,
    /// Move the head as the take, the clip or --head says, from where it is at first; the camera stays.
    #[arg(long, requires = "over_time")]
    with_head: bool,
    /// Which frames go on a sheet, separated by commas; 12 spread over the whole when left out, 6 to compare.
    #[arg(long, value_name = "LIST")]
    frames: Option<String>,
    /// front, left, right, three-quarter, below, or YAW,PITCH in degrees. Several times for several views on
    /// a sheet.
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    view: Vec<String>,
    /// Colors: motion (distance from the neutral), shape:NAME, region:NAME, or a JSON list of numbers per
    /// file vertex.
    #[arg(long, value_name = "WHAT")]
    color: Option<String>,
    /// Draw the edges of the artist's polygons.
    #[arg(long)]
    wireframe: bool,
    /// Mark these pinned points: a JSON file, or the JSON itself.
    #[arg(long, value_name = "P")]
    pins: Option<String>,
    /// Pixels of one picture: WIDTH or WIDTHxHEIGHT; 900, 560 side by side in a movie, 400 where there are
    /// many.
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// Above 1 comes closer.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    zoom: f32,
    /// Frame everything in the rig rather than the face.
    #[arg(long, conflicts_with = "frame")]
    whole: bool,
    /// Frame this region, part, or shape:NAME.
    #[arg(long, value_name = "REGION")]
    frame: Option<String>,
    /// Columns of the sheet, or of pictures side by side in a movie.
    #[arg(long)]
    columns: Option<usize>,
    /// The picture, .png, or the movie, .mp4.
    #[arg(long, short)]
    output: PathBuf,
}

/// Most pictures on one sheet: beyond it nobody sees anything.
const MAX_PICTURES: usize = 400;

/// Frames of a movie that are drawn at once.
const BATCH: usize = 16;

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let is_movie = expect_ending(&arguments.output, &["png", "mp4"], "a picture or a movie")? == "mp4";
    let over_time = arguments.clip.is_some() || !arguments.take.is_empty();
    if is_movie && (!over_time || arguments.frames.is_some()) {
        let problem =
            if over_time { "shows all frames: leave out --frames" } else { "needs --clip or --take" };
        return Err(Failure::wrong_call(format!("'{}': a movie {problem}", arguments.output.display())));
    }
    let views = if arguments.view.is_empty() {
        vec![(0.0, 0.0, "front".to_string())]
    } else {
        arguments.view.iter().map(|v| parse_view(v)).collect::<Result<_, _>>()?
    };
    let file = if arguments.shapes {
        arguments.rig.open_with_sliders(session)
    } else {
        arguments.rig.open(session)
    }?;
    let rig = &file.rig;
    let (clip, labels) = (arguments.clip.as_deref(), arguments.label.as_deref());
    let strips = render_strips::open(rig, clip, &arguments.take, labels, &arguments.clip_args, session)?;
    if arguments.difference && strips.len() < 2 {
        let problem = "--difference compares with the first: give --clip and --take, or two takes";
        return Err(Failure::wrong_call(problem));
    }
    if arguments.with_head && strips.iter().all(|s| s.head.is_none()) {
        let problem = "there is no head motion to show: give --head, or a .glb that `perform` wrote with it";
        return Err(Failure::could_not(problem));
    }
    let colors = Colors::new(rig, arguments.color.as_deref(), arguments.difference)?;
    let evaluator = Evaluator::prepare(rig);
    let show = Show { arguments, rig, evaluator, strips, views, colors, session };
    match (over_time, is_movie) {
        (false, _) => show.poses(),
        (true, false) => show.sheet(),
        (true, true) => show.movie(),
    }
}

/// All that is drawn.
struct Show<'a> {
    arguments: &'a Arguments,
    rig: &'a Rig,
    evaluator: Evaluator,
    strips: Vec<Strip>,
    /// Yaw, pitch, name.
    views: Vec<(f32, f32, String)>,
    colors: Colors,
    session: &'a Session,
}

impl Show<'_> {
    /// Poses by slider values, or all sliders.
    fn poses(mut self) -> Result<Report, Failure> {
        let poses = poses(self.arguments, self.rig, &self.evaluator)?;
        poses.iter().for_each(|p| self.colors.seen(self.rig, &p.0, &[]));
        let n_cells = self.views.len() * poses.len();
        let (look, options) = self.prepared(n_cells, if n_cells > 4 { "400" } else { "900" })?;
        let mut cells = Vec::new();
        for (p, (positions, label)) in poses.iter().enumerate() {
            tick(&self.session.progress(), "drawing", p as f32 / poses.len() as f32)?;
            let field = self.colors.field(self.rig, positions, None);
            cells.extend(self.drawn(&look, positions, field, &options, label)?);
        }
        self.write_sheet(cells, n_cells, Vec::new())
    }

    /// Frames on a sheet; of several performances, one row for each and its views.
    fn sheet(mut self) -> Result<Report, Failure> {
        let compares = self.strips.len() > 1;
        let n_frames = longest(&self.strips).times_secs().len();
        let frames = frame_list(self.arguments.frames.as_deref(), n_frames, if compares { 6 } else { 12 })?;
        let timeline = Timeline::frames(&self.strips, &frames);
        self.scale(&timeline)?;
        let n_cells = self.views.len() * self.strips.len() * frames.len();
        check_pictures(n_cells)?;
        let (look, options) = self.prepared(n_cells, if n_cells > 4 { "400" } else { "900" })?;
        let mut rows = vec![Vec::new(); self.strips.len() * self.views.len()];
        let mut cells = Vec::new();
        for (i, (&t, frame)) in timeline.times_secs.iter().zip(&frames).enumerate() {
            tick(&self.session.progress(), "drawing", i as f32 / frames.len() as f32)?;
            for (s, drawn) in self.at(&look, t, &options)?.into_iter().enumerate() {
                let row = (s / self.views.len(), s % self.views.len());
                let time = format!("frame {frame}, {t:.2} s");
                let label = if compares { format!("{}, {t:.2} s", self.strips[row.0].label) } else { time };
                let label =
                    if self.views.len() > 1 { format!("{label} {}", self.views[row.1].2) } else { label };
                if compares { rows[s].push((drawn.0, label)) } else { cells.push((drawn.0, label)) }
            }
        }
        let columns = if compares && frames.len() > 1 { frames.len() } else { n_cells };
        cells.extend(rows.into_iter().flatten());
        self.write_sheet(cells, columns, timeline.notes)
    }

    /// All frames at an even rate.
    fn movie(mut self) -> Result<Report, Failure> {
        let start = Instant::now();
        let (timeline, fps) = Timeline::even(&self.strips, self.arguments.clip_args.fps)?;
        self.scale(&timeline)?;
        let n_cells = self.views.len() * self.strips.len();
        let size = match n_cells {
            1 => "900",
            2..=4 => "560",
            _ => "400",
        };
        let (look, options) = self.prepared(n_cells, size)?;
        // Drawn once for its size, before anything is written.
        let Canvas { width, height, .. } = self.movie_frame(&look, timeline.times_secs[0], &options)?;
        let mut file = WholeFile::create(&self.arguments.output)?;
        let mut movie = Movie::new(&mut file, width, height, fps)?;
        let n_frames = timeline.times_secs.len();
        for (batch, times) in timeline.times_secs.chunks(BATCH).enumerate() {
            let draw = |(i, &t): (usize, &f64)| {
                tick(&self.session.progress(), "drawing", (BATCH * batch + i) as f32 / n_frames as f32)?;
                self.movie_frame(&look, t, &options)
            };
            let pictures: Vec<Canvas> =
                times.par_iter().enumerate().map(draw).collect::<Result<_, Failure>>()?;
            pictures.iter().try_for_each(|p| movie.add(p))?;
        }
        movie.finish()?;
        file.finish()?;
        let output = self.arguments.output.display().to_string();
        let seconds = start.elapsed().as_secs_f64();
        let mut text =
            format!("{output}: {n_frames} frames of {width} x {height} pixels, {fps:.3} a second\n");
        timeline.notes.iter().for_each(|n| text += &format!("  note: {n}\n"));
        let json = json!({
            "output": output, "width": width, "height": height, "frames": n_frames, "fps": fps,
            "pictures": n_cells, "notes": timeline.notes, "seconds": seconds,
        });
        Ok(Report { json, text })
    }

    /// One picture of a movie: the only one plain, several with their labels and the time.
    fn movie_frame(&self, look: &FaceLook, t_secs: f64, options: &DrawOptions) -> Result<Canvas, Failure> {
        let mut cells = self.at(look, t_secs, options)?;
        if cells.len() == 1 && self.arguments.label.is_none() {
            return Ok(cells.swap_remove(0).0);
        }
        // A title of one width, or the picture would grow with the time.
        let time = format!("{:<10}", format!("{t_secs:.2} s"));
        Ok(sheet(&cells, self.arguments.columns.unwrap_or(cells.len()), &time)?)
    }

    /// Brings the scale of colors over all that will be shown.
    fn scale(&mut self, timeline: &Timeline) -> Result<(), Failure> {
        if !self.colors.needs_scale() {
            return Ok(());
        }
        for (i, &t) in timeline.times_secs.iter().enumerate() {
            tick(&self.session.progress(), "measuring", i as f32 / timeline.times_secs.len() as f32)?;
            let first = self.strips[0].positions(&self.evaluator, t);
            for strip in &self.strips {
                self.colors.seen(self.rig, &strip.positions(&self.evaluator, t), &first);
            }
        }
        Ok(())
    }

    /// Every performance in every view at a time, with its label.
    fn at(
        &self,
        look: &FaceLook,
        t_secs: f64,
        options: &DrawOptions,
    ) -> Result<Vec<(Canvas, String)>, Failure> {
        let mut cells = Vec::new();
        let mut first: Option<Vec<[f32; 3]>> = None;
        for strip in &self.strips {
            let mut positions = strip.positions(&self.evaluator, t_secs);
            let field = self.colors.field(self.rig, &positions, first.as_deref());
            first.get_or_insert_with(|| positions.clone());
            if self.arguments.with_head {
                strip.move_head(self.rig, t_secs, &mut positions);
            }
            cells.extend(self.drawn(look, &positions, field, options, &strip.label)?);
        }
        Ok(cells)
    }

    /// A pose in every view.
    fn drawn(
        &self,
        look: &FaceLook,
        positions: &[[f32; 3]],
        field: Option<ScalarField>,
        options: &DrawOptions,
        label: &str,
    ) -> Result<Vec<(Canvas, String)>, Failure> {
        let one = |(yaw_degrees, pitch_degrees, view): &(f32, f32, String)| {
            let (yaw_degrees, pitch_degrees, field) = (*yaw_degrees, *pitch_degrees, field.clone());
            let options = DrawOptions { yaw_degrees, pitch_degrees, field, ..options.clone() };
            let label = if self.views.len() > 1 { format!("{label} {view}") } else { label.to_string() };
            Ok((draw(look, positions, &options)?, label.trim().to_string()))
        };
        self.views.iter().map(one).collect()
    }

    /// What all pictures have in common, `size` being that of one of `n_cells` where none is given.
    fn prepared(&self, n_cells: usize, size: &str) -> Result<(FaceLook, DrawOptions), Failure> {
        check_pictures(n_cells)?;
        Ok((FaceLook::prepare(self.rig), base_options(self.arguments, self.rig, size)?))
    }

    /// Writes the only picture, or all on a sheet of `columns`, at most six where they are not rows.
    fn write_sheet(
        &self,
        mut cells: Vec<(Canvas, String)>,
        columns: usize,
        notes: Vec<String>,
    ) -> Result<Report, Failure> {
        let n_cells = cells.len();
        let canvas: Canvas = if n_cells == 1 {
            cells.swap_remove(0).0
        } else {
            let usual = match self.views.len() {
                _ if columns < n_cells => columns,
                1 => n_cells.min(6),
                n => n,
            };
            sheet(&cells, self.arguments.columns.unwrap_or(usual).max(1), &self.rig.name)?
        };
        write_whole(&self.arguments.output, &canvas.encode_png())?;
        let (output, width, height) =
            (self.arguments.output.display().to_string(), canvas.width, canvas.height);
        let mut text = format!("{output}: {width} x {height} pixels\n");
        notes.iter().for_each(|n| text += &format!("  note: {n}\n"));
        let json = json!({
            "output": output, "width": width, "height": height, "pictures": n_cells, "notes": notes,
        });
        Ok(Report { json, text })
    }
}

/// A pose to draw and its label.
type Pose = (Vec<[f32; 3]>, String);

fn poses(arguments: &Arguments, rig: &Rig, evaluator: &Evaluator) -> Result<Vec<Pose>, Failure> {
    if arguments.shapes {
        check_pictures(rig.sliders.len())?;
        let one = |s: usize| {
            let mut w = vec![0.0; rig.sliders.len()];
            w[s] = 1.0;
            (evaluator.positions(&w), rig.sliders[s].name.clone())
        };
        return Ok((0..rig.sliders.len()).map(one).collect());
    }
    if arguments.weights.is_empty() {
        return Ok(vec![(rig.neutral.clone(), String::new())]);
    }
    let label =
        |w: &str| if w.contains('=') && !Path::new(w).is_file() { w.to_string() } else { short_name(w) };
    arguments.weights.iter().map(|w| Ok((evaluator.positions(&weights(rig, w)?), label(w)))).collect()
}

fn check_pictures(n: usize) -> Result<(), Failure> {
    if n > MAX_PICTURES {
        let message = format!(
            "{n} pictures are too many for a sheet, which holds {MAX_PICTURES}; draw some by --weights"
        );
        return Err(Failure::could_not(message));
    }
    Ok(())
}

/// The frames asked for, or `usual` of them from the first to the last.
fn frame_list(list: Option<&str>, n_frames: usize, usual: usize) -> Result<Vec<usize>, Failure> {
    let Some(list) = list else {
        let n = n_frames.min(usual);
        return Ok((0..n).map(|i| i * (n_frames - 1) / (n - 1).max(1)).collect());
    };
    check_pictures(list.split(',').count())?;
    list.split(',')
        .map(|piece| match piece.trim().parse::<usize>() {
            Ok(f) if f < n_frames => Ok(f),
            Ok(f) => {
                Err(Failure::could_not(format!("frame {f} is out of range: there are {n_frames}, from 0")))
            }
            Err(_) => Err(Failure::wrong_call(format!("'{piece}' is not a frame number"))),
        })
        .collect()
}

fn short_name(given: &str) -> String {
    let stem = Path::new(given).file_stem().map(|s| s.to_string_lossy().into_owned());
    if given.trim_start().starts_with('{') { String::new() } else { stem.unwrap_or_default() }
}

fn base_options(arguments: &Arguments, rig: &Rig, size: &str) -> Result<DrawOptions, Failure> {
    let (width, height) = parse_size(arguments.size.as_deref().unwrap_or(size))?;
    let framing = match (&arguments.frame, arguments.whole) {
        (Some(region), _) => Framing::Vertices(region_vertices(rig, region).map_err(Failure::could_not)?),
        (None, true) => Framing::Whole,
        (None, false) => Framing::Face,
    };
    let markers = match &arguments.pins {
        Some(given) => pin_markers(&pins(rig, given)?),
        None => Vec::new(),
    };
    Ok(DrawOptions {
        width,
        height,
        zoom: arguments.zoom,
        framing,
        wireframe: arguments.wireframe,
        markers,
        ..DrawOptions::default()
    })
}

fn parse_size(text: &str) -> Result<(usize, usize), Failure> {
    let side = |s: &str| s.trim().parse::<usize>().ok().filter(|&n| n > 0);
    let size = match text.split_once(['x', 'X']) {
        Some((w, h)) => side(w).zip(side(h)),
        None => side(text).map(|n| (n, n)),
    };
    size.ok_or_else(|| Failure::wrong_call(format!("'{text}' is not a size; give 900 or 1280x720")))
}

fn parse_view(text: &str) -> Result<(f32, f32, String), Failure> {
    let named = match text {
        "front" => Some((0.0, 0.0)),
        "left" => Some((90.0, 0.0)),
        "right" => Some((-90.0, 0.0)),
        "three-quarter" => Some((35.0, 5.0)),
        "below" => Some((0.0, -35.0)),
        _ => None,
    };
    let number = |s: &str| s.trim().parse::<f32>().ok().filter(|x| x.is_finite());
    let given = || match text.split_once(',') {
        Some((yaw, pitch)) => number(yaw).zip(number(pitch)),
        None => number(text).map(|yaw| (yaw, 0.0)),
    };
    named.or_else(given).map(|(yaw, pitch)| (yaw, pitch, text.to_string())).ok_or_else(|| {
        Failure::wrong_call(format!(
            "'{text}' is not a view; give front, left, right, three-quarter, below or YAW,PITCH"
        ))
    })
}
