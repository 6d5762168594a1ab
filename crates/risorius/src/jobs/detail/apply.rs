//! Applies learned wrinkles to an animation: a take, a rig with a clip, or recorded markers.

use super::maps::{MapOptions, Maps, MapsReport};
use super::points::named_points;
use super::poses::open_frames;
use crate::error::{Error, Result, in_file};
use crate::files::{FRAMES, TakeFiles, expect_ending, expect_native, expect_not_input, is_cache};
use crate::jobs::plans;
use crate::source::{BoundContent, ClipReading, Mapping};
use crate::takes::{Frames, expect_room, head_of_span};
use glam::{DVec3, Vec3};
use risorius_base::progress::{Plan, Progress, tick};
use risorius_detail::attach::Attached;
use risorius_detail::{AppliedDetail, Detail, Drive, FaceDetail, Rest};
use risorius_io::formats::markers_csv::{self, MarkerContent};
use risorius_io::native::detail;
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_rig::frames::{PosedClip, RefinedFrames};
use risorius_rig::{Evaluator, FrameSource, HeadMotion, Rig, RigidTrack};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Frames per second of a PC2 take without a given rate.
const USUAL_FPS: f64 = 30.0;

/// Applies a detail.
#[derive(Debug, Clone, Default)]
pub struct ApplyJob {
    /// The detail (`.detail`).
    pub detail: PathBuf,
    /// The animation that it is applied to.
    pub animation: Animation,
    /// How clips are read.
    pub reading: ClipReading,
    /// Omit detail coarser than this length, millimeters, because the animation already shows it. By default
    /// nothing is omitted if the detail was learned with plain poses; otherwise three quarters of the
    /// distance between handles where they are dense.
    pub finer_than: Option<f64>,
    /// Also write displacement and normal maps of every frame.
    pub maps: Option<MapOptions>,
    /// `.glb`, `.gltf`, `.mdd`, `.pc2` or `.npz`; optional with maps.
    pub output: Option<PathBuf>,
    /// How files with frames are written.
    pub files: TakeFiles,
}

/// The animation that a detail is applied to.
#[derive(Debug, Clone)]
pub enum Animation {
    /// Frames with the vertices of the rest mesh.
    Take(PathBuf),
    /// A rig with the vertices of the rest mesh, and a clip.
    RigClip {
        /// The rig.
        rig: PathBuf,
        /// Slider values over time.
        clip: PathBuf,
    },
    /// A marker take: CSV with a time column and `NAME_X`, `NAME_Y`, `NAME_Z`.
    Markers {
        /// The recording.
        file: PathBuf,
        /// Positions of some markers on the face, as pins by marker name: JSON or the name of a JSON file. By
        /// default the handles that have the names of markers.
        points: Option<String>,
        /// A time at which the actor's face is at rest, seconds; by default the first frame with the most
        /// markers visible.
        neutral: Option<f64>,
    },
}

impl Animation {
    /// Its files.
    fn files(&self) -> Vec<&Path> {
        match self {
            Self::Take(file) | Self::Markers { file, .. } => vec![file],
            Self::RigClip { rig, clip } => vec![rig, clip],
        }
    }
}

impl Default for Animation {
    fn default() -> Self {
        Self::Take(PathBuf::new())
    }
}

/// The report of an application.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApplyReport {
    /// The output that was asked for.
    pub output: Option<PathBuf>,
    /// All files with frames.
    pub files: Vec<String>,
    /// Description of the maps.
    pub maps: Option<MapsReport>,
    /// Number of frames.
    pub frames: usize,
    /// Number of vertices of each frame, as the file has them.
    pub vertices: usize,
    /// Coarser detail was omitted.
    pub finer_than_mm: Option<f64>,
    /// Largest displacement by detail; 0 for markers.
    pub largest_displacement_mm: f64,
    /// Computation time of a frame, milliseconds.
    pub ms_per_frame: f64,
    /// Of a clip: which columns drive which sliders.
    pub mapping: Option<Mapping>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
    /// Whether the animation has frames of a mesh.
    #[serde(skip)]
    pub is_on_mesh: bool,
    /// Folder of the maps.
    #[serde(skip)]
    pub maps_folder: Option<PathBuf>,
}

/// An animation that was opened.
struct Opened {
    frames: Driving,
    /// Parts that move relative to the head.
    moving: Vec<(usize, RigidTrack)>,
    notes: Vec<String>,
    mapping: Option<Mapping>,
}

/// The input of each frame.
enum Driving {
    /// Positions of all vertices without detail.
    Mesh(Box<dyn FrameSource>),
    /// Positions of the handles.
    Handles { times_secs: Vec<f64>, head: HeadMotion, at: Box<dyn Fn(usize) -> Vec<DVec3>> },
}

impl Driving {
    fn times_secs(&self) -> &[f64] {
        match self {
            Self::Mesh(source) => source.times_secs(),
            Self::Handles { times_secs, .. } => times_secs,
        }
    }

    fn head(&self) -> Option<&HeadMotion> {
        match self {
            Self::Mesh(source) => source.head(),
            Self::Handles { head, .. } => Some(head),
        }
    }
}

impl ApplyJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<ApplyReport> {
        let plan = Plan::new(progress, &plans::APPLY);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        self.output.as_ref().map(|output| expect_ending(output, &FRAMES, "a take")).transpose()?;
        let drive = match &self.animation {
            Animation::Markers { .. } => Drive::Handles,
            _ => Drive::Mesh,
        };
        expect_native(&self.detail, "detail")?;
        let content = detail::open(&self.detail).map_err(in_file(&self.detail))?;
        let AppliedDetail { content, player, coarsest_kept, mut played } =
            AppliedDetail::prepare(content, self.finer_than, drive, progress)?;
        let FaceDetail { rest, detail } = &content;
        let (rig, mm_per_unit) = (&rest.fine, rest.mm_per_unit());
        let Opened { frames, moving, mut notes, mapping } = self.open(rest, detail, progress)?;
        let times_secs = frames.times_secs();
        let take = Frames {
            rig,
            times_secs,
            head: frames.head(),
            moving: &moving,
            in_world: false,
            is_preview: false,
        };
        let mut maps = self.maps.as_ref().map(|options| Maps::open(options, rest, detail)).transpose()?;
        if let Some(output) = &self.output {
            expect_not_input(output, self.animation.files())?;
            expect_room(rig, times_secs, &[output], &self.files)?;
            notes.extend(take.notes(&[output], &self.files));
            if frames.head().is_some() && is_cache(output) {
                notes.push("the frames are expressed in the head frame; .glb also moves the head".into());
            }
        }
        let (mut playing_secs, mut largest) = (0.0, 0.0f32);
        let mut play = |frame: usize| -> Result<Vec<[f32; 3]>> {
            tick(progress, "frames", frame as f32 / times_secs.len() as f32)?;
            let mut positions = Vec::new();
            match &frames {
                Driving::Mesh(source) => {
                    let moved = source.frame(frame);
                    player.on(&moved, &mut played)?;
                    player.in_mesh_order(&played.positions, &mut positions);
                    let offsets =
                        positions.iter().zip(&moved).map(|(a, b)| Vec3::from(*a).distance(Vec3::from(*b)));
                    largest = offsets.fold(largest, f32::max);
                    maps.as_mut().map(|maps| maps.write(frame, &moved, &positions)).transpose()?;
                }
                Driving::Handles { at, .. } => {
                    player.frame(&at(frame), &mut played)?;
                    player.in_mesh_order(&played.positions, &mut positions);
                }
            }
            playing_secs += played.seconds.iter().sum::<f64>();
            Ok(positions)
        };
        let mut files = Vec::new();
        match &self.output {
            Some(output) => files = take.write(&[output], &self.files, play)?,
            None => (0..times_secs.len()).try_for_each(|frame| play(frame).map(drop))?,
        }
        let mut about_maps = None;
        if let Some(maps) = maps {
            let (about, found) = maps.finish(times_secs)?;
            about_maps = Some(about);
            notes.extend(found);
        }
        Ok(ApplyReport {
            output: self.output.clone(),
            files,
            maps: about_maps,
            frames: times_secs.len(),
            vertices: rig.n_file_vertices(),
            finer_than_mm: coarsest_kept.map(|length| length * mm_per_unit),
            largest_displacement_mm: f64::from(largest) * mm_per_unit,
            ms_per_frame: 1000.0 * playing_secs / times_secs.len().max(1) as f64,
            mapping,
            notes,
            seconds: start.elapsed().as_secs_f64(),
            is_on_mesh: drive == Drive::Mesh,
            maps_folder: self.maps.as_ref().map(|options| options.folder.clone()),
        })
    }

    /// The frames of the animation on the vertices of the detail. Files have the vertices of the artist's rig
    /// or of the detail.
    fn open(&self, rest: &Rest, detail: &Detail, progress: &Progress) -> Result<Opened> {
        match &self.animation {
            Animation::Take(path) => {
                let fps = self.reading.fps.unwrap_or(USUAL_FPS);
                let frames = self.reading.cut(open_frames(path, rest, fps, progress)?)?;
                let frames = Driving::Mesh(frames);
                Ok(Opened { frames, moving: Vec::new(), notes: Vec::new(), mapping: None })
            }
            Animation::RigClip { rig: path, clip } => {
                let rig = open_rig(path, &OpenOptions::default(), progress).map_err(in_file(path))?.rig;
                rest.check_fits(&rig).map_err(|e| Error::from(e).in_file(path))?;
                let BoundContent { mut clip, mapping, moving, notes, .. } =
                    self.reading.open_for(clip, &rig, progress)?;
                clip.head = head_of_span(&self.reading.span, &clip.times_secs, clip.head.as_ref());
                let coarse = Box::new(PosedClip::new(Evaluator::prepare(&rig), clip));
                let frames = Box::new(RefinedFrames { coarse, refinement: rest.refinement.clone() });
                Ok(Opened { frames: Driving::Mesh(frames), moving, notes, mapping: Some(mapping) })
            }
            Animation::Markers { file, points, neutral } => {
                open_markers(file, (points.as_deref(), *neutral), &rest.fine, detail, progress)
            }
        }
    }
}

/// Reads markers and attaches them to the face, to drive the handles of a detail.
fn open_markers(
    path: &Path,
    (points, neutral_secs): (Option<&str>, Option<f64>),
    rest: &Rig,
    detail: &Detail,
    progress: &Progress,
) -> Result<Opened> {
    let MarkerContent { take, mut notes } = markers_csv::read(&read_file(path)?).map_err(in_file(path))?;
    let reference = neutral_secs.map(|time| frame_at(&take.times_secs, time)).transpose()?;
    let settled = take.settled(reference)?;
    notes.push(format!(
        "the face is assumed to be at rest at {:.2} s (frame {}); `neutral` sets another time",
        take.times_secs[settled.reference], settled.reference
    ));
    let named = match points {
        Some(given) => named_points(given, rest)?,
        None => {
            let both = detail.handle_names.iter().cloned().zip(detail.shell.handles.iter().copied());
            both.filter(|(name, _)| take.names.contains(name)).collect()
        }
    };
    let mut pairs = Vec::new();
    for (name, vertex) in named {
        let Some(marker) = take.names.iter().position(|n| *n == name) else {
            let message = format!("no marker '{name}'; there are {}", take.names.join(", "));
            return Err(Error::failed(message).at(points.unwrap_or_default()));
        };
        pairs.push((marker, vertex));
    }
    let attached = Attached::prepare(&detail.mesh, &settled, &pairs, &detail.shell.options, progress)?;
    let mm_per_unit = 1000.0 * rest.space.meters_per_unit;
    let farther = |w: (usize, f64), (k, &d): (usize, &f64)| if d > w.1 { (k, d) } else { w };
    let far = attached.distances.iter().enumerate().fold((0, 0.0), farther);
    notes.push(format!(
        "{} markers attached, '{}' is farthest from its vertex, {:.1} mm; a marker unit is {:.3} mm",
        take.names.len(),
        take.names[far.0],
        far.1 * mm_per_unit,
        attached.similarity.scale * mm_per_unit,
    ));
    if settled.n_filled > 0 {
        notes.push(format!("{} positions of lost markers were filled in", settled.n_filled));
    }
    let times_secs = take.times_secs.clone();
    let heads = attached.heads(&settled).into_iter();
    let head = HeadMotion::from_file(times_secs.clone(), heads, &rest.space);
    let handles = detail.shell.handles.clone();
    let at = Box::new(move |frame| attached.moved(&settled, frame, &handles));
    let frames = Driving::Handles { times_secs, head, at };
    Ok(Opened { frames, moving: Vec::new(), notes, mapping: None })
}

/// The frame nearest to a time.
fn frame_at(times_secs: &[f64], time: f64) -> Result<usize> {
    let [first, last] = [times_secs.first(), times_secs.last()].map(|t| t.copied().unwrap_or(0.0));
    if !(first..=last).contains(&time) {
        let message = format!("{time} s is outside the take, which runs from {first} to {last} s");
        return Err(Error::failed(message).with_options(&["neutral"]));
    }
    let far = |f: &usize| (times_secs[*f] - time).abs();
    Ok((0..times_secs.len()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0))
}
