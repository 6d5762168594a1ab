//! Adds bones, muscles and flesh to a rig and writes a `.face` file.
//!
//! Finished shapes are kept in `HEAD.face.partial/` beside the output until the file is complete, so that an
//! interrupted build resumes where it stopped.

mod paint;

pub use paint::{Painting, property_name, usual_range};
pub use risorius_flesh::Property;

use super::batch::{BatchItem, is_folder, with_name};
use super::plans;
use super::{peak_mb, shown};
use crate::error::{Error, Result, in_file};
use crate::files::{expect_ending, expect_folder};
use crate::source::RigSource;
use risorius_anatomy::Note;
use risorius_anatomy::carry::Supplied;
use risorius_anatomy::find::{FoundLandmark, Given};
use risorius_base::Advise;
use risorius_base::progress::{Plan, Progress, tick};
use risorius_flesh::{BuildError, BuildOptions, BuildReport, Face, Surroundings};
use risorius_head::{Head, Identity};
use risorius_io::native::face::{self, ShapeCache};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_io::output::write_whole;
use risorius_io::specs::landmarks;
use risorius_mesh::TriMesh;
use risorius_rig::Rig;
use risorius_view::face_pictures;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Builds a face.
///
/// ```no_run
/// use risorius::prelude::*;
///
/// let job = BuildJob {
///     rig: "face.glb".into(),
///     nodes: 12_000,
///     paint: vec![Painting {
///         property: Property::Stiffness,
///         range: None,
///         shape: None,
///         file: "stiffness.png".into(),
///     }],
///     output: "head.face".into(),
///     ..BuildJob::default()
/// };
/// let built = job.run(&no_progress)?;
/// println!("{} nodes in {} bytes", built.report.n_nodes, built.bytes);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BuildJob {
    /// The rig.
    pub rig: RigSource,
    /// Skull without the jaw: a closed surface in the rig's unit and axes. By default the built-in skull is
    /// fitted.
    pub skull: Option<PathBuf>,
    /// Lower jaw: a closed surface in the rig's unit and axes. By default the built-in jaw is fitted.
    pub jaw: Option<PathBuf>,
    /// Upper teeth, in the rig's unit and axes; the rig's own by default.
    pub teeth_upper: Option<PathBuf>,
    /// Lower teeth, in the rig's unit and axes; the rig's own by default.
    pub teeth_lower: Option<PathBuf>,
    /// Landmarks that override the detected ones: a JSON file.
    pub landmarks: Option<PathBuf>,
    /// Number of flesh nodes, 500 to 200000; more nodes follow the skin more closely and take longer. Default
    /// 9000.
    pub nodes: usize,
    /// Painted materials.
    pub paint: Vec<Painting>,
    /// Folder for pictures of landmarks, bones, muscles and a cut through the flesh.
    pub pictures: Option<PathBuf>,
    /// The face to write, `.face`.
    pub output: PathBuf,
}

impl Default for BuildJob {
    fn default() -> Self {
        Self {
            rig: RigSource::default(),
            skull: None,
            jaw: None,
            teeth_upper: None,
            teeth_lower: None,
            landmarks: None,
            nodes: 9000,
            paint: Vec::new(),
            pictures: None,
            output: PathBuf::new(),
        }
    }
}

/// The report of a build.
#[derive(Debug, Clone, Serialize)]
pub struct BuildJobReport {
    /// The written file.
    pub output: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Measurements of the build.
    pub report: BuildReport,
    /// Positions of landmarks, in meters.
    pub landmarks: Vec<LandmarkReport>,
    /// Observations, with advice.
    pub notes: Vec<Note>,
    /// Pictures that were written.
    pub pictures: Vec<String>,
}

/// A landmark of a face.
#[derive(Debug, Clone, Serialize)]
pub struct LandmarkReport {
    /// Its name.
    pub name: String,
    /// Position in meters, +Y up, +Z front.
    pub position: [f64; 3],
    /// The nearest rig vertex.
    pub vertex: u32,
    /// From 0, a guess, to 1, certain.
    pub confidence: f64,
    /// How it was found.
    pub source: String,
}

impl BuildJobReport {
    pub(crate) fn new(built: &Face, output: &Path, bytes: u64, pictures: Vec<String>) -> Self {
        Self {
            output: shown(output),
            bytes,
            landmarks: LandmarkReport::of(&built.anatomy.landmarks),
            notes: built.anatomy.notes.clone(),
            pictures,
            report: built.report.clone(),
        }
    }
}

impl LandmarkReport {
    /// Reports of all landmarks.
    pub fn of(landmarks: &[FoundLandmark]) -> Vec<Self> {
        let one = |l: &FoundLandmark| Self {
            name: l.name.to_string(),
            position: l.position.to_array(),
            vertex: l.vertex,
            confidence: l.confidence,
            source: l.source.clone(),
        };
        landmarks.iter().map(one).collect()
    }
}

/// In the name of a file: the name of the rig without folder and ending.
pub const RIG_MARK: &str = "{rig}";

impl BuildJob {
    /// This job for each of several rigs. In the names of all files besides the rig, [`RIG_MARK`] becomes the
    /// rig's name. An output that is a folder gets a `.face` for each rig.
    pub fn for_rigs(&self, rigs: &[PathBuf]) -> Vec<Self> {
        let pattern = match is_folder(&self.output, rigs.len() > 1) {
            true => self.output.join(format!("{RIG_MARK}.face")),
            false => self.output.clone(),
        };
        let one = |rig: &PathBuf| {
            let named = |path: &PathBuf| with_name(path, RIG_MARK, rig);
            let OpenOptions { sidecar, regions, .. } = &self.rig.options;
            let (sidecar, regions) = (sidecar.as_ref().map(named), regions.as_ref().map(named));
            let options = OpenOptions { sidecar, regions, ..self.rig.options.clone() };
            let paint = |paint: &Painting| Painting { file: named(&paint.file), ..paint.clone() };
            Self {
                rig: RigSource { path: rig.clone(), options },
                skull: self.skull.as_ref().map(named),
                jaw: self.jaw.as_ref().map(named),
                teeth_upper: self.teeth_upper.as_ref().map(named),
                teeth_lower: self.teeth_lower.as_ref().map(named),
                landmarks: self.landmarks.as_ref().map(named),
                nodes: self.nodes,
                paint: self.paint.iter().map(paint).collect(),
                pictures: self.pictures.as_ref().map(named),
                output: named(&pattern),
            }
        };
        rigs.iter().map(one).collect()
    }

    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<BuildJobReport> {
        let plan = Plan::new(progress, &plans::BUILD);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        self.check()?;
        let file = self.rig.open_with_sliders(progress)?;
        let mut options = self.options(&file.rig, progress)?;
        options.carry.jaw_motion = file.jaw_motion;
        options.responses = file.responses;
        tick(progress, "built-in head", 0.0)?;
        let head = risorius_head::build(&Identity::default());
        let built = build_resumable(&file.rig, &head, &options, &self.output, progress)?;
        let pictures = match &self.pictures {
            Some(folder) => draw_face(&built, folder, progress)?,
            None => Vec::new(),
        };
        let bytes = write_face(&built, &self.output)?;
        for (path, png) in &pictures {
            write_whole(path, png)?;
        }
        let pictures = pictures.iter().map(|(path, _)| shown(path)).collect();
        Ok(BuildJobReport::new(&built, &self.output, bytes, pictures))
    }

    /// Checks the request before anything is read.
    fn check(&self) -> Result<()> {
        expect_ending(&self.output, &["face"], "a face")?;
        self.pictures.as_deref().map_or(Ok(()), expect_folder)
    }

    /// Reads and checks the user's files.
    fn options(&self, rig: &Rig, progress: &Progress) -> Result<BuildOptions> {
        let mut options = BuildOptions::default();
        options.volume.nodes = self.nodes;
        let bone = |path: &Option<PathBuf>| path.as_deref().map(|p| bone(p, rig, progress)).transpose();
        options.carry.supplied = Supplied {
            cranium: bone(&self.skull)?,
            mandible: bone(&self.jaw)?,
            teeth_upper: bone(&self.teeth_upper)?,
            teeth_lower: bone(&self.teeth_lower)?,
        };
        options.given = match &self.landmarks {
            Some(path) => landmarks::read(&read_file(path)?, rig).map_err(in_file(path))?,
            None => Given::default(),
        };
        options.paintings = paint::paintings(&self.paint, rig, progress)?;
        Ok(options)
    }
}

impl BatchItem for BuildJob {
    const MARK: &'static str = RIG_MARK;
    type Report = BuildJobReport;

    fn input(&self) -> &Path {
        &self.rig.path
    }

    fn inputs(&self) -> Vec<&Path> {
        vec![&self.rig.path]
    }

    fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let pictures = self.pictures.iter().map(|folder| ("pictures", folder.as_path()));
        std::iter::once(("output", self.output.as_path())).chain(pictures).collect()
    }

    fn check(&self) -> Result<()> {
        BuildJob::check(self)
    }

    fn run(&self, progress: &Progress) -> Result<BuildJobReport> {
        BuildJob::run(self, progress)
    }
}

/// Reads a surface given in the rig's unit and axes, and converts it to meters.
fn bone(path: &Path, rig: &Rig, progress: &Progress) -> Result<TriMesh> {
    let given = open_rig(path, &OpenOptions::default(), progress).map_err(in_file(path))?.rig;
    let positions = given.neutral.iter().map(|&p| rig.space.to_si(p)).collect();
    Ok(TriMesh { positions, triangles: given.triangles() })
}

/// Builds a face, with finished shapes kept beside `output`.
pub(crate) fn build_resumable(
    rig: &Rig,
    head: &Head,
    options: &BuildOptions,
    output: &Path,
    progress: &Progress,
) -> Result<Face> {
    let cache = ShapeCache::beside(output);
    let around = Surroundings { progress, store: &cache, peak_mb: &peak_mb };
    risorius_flesh::build(rig, head, options, &around).map_err(|error| stopped(error, &cache))
}

/// The error of a build; after a cancellation it says that finished shapes are kept.
fn stopped(error: BuildError, cache: &ShapeCache) -> Error {
    let keeps = error.is_cancelled() && cache.folder().is_dir();
    let error = Error::from(error);
    if !keeps {
        return error;
    }
    let kept = cache.folder().display();
    error.followed_by(&format!("finished shapes are kept in {kept}; repeat the call to resume from them"))
}

/// Writes the face and removes the kept shapes; returns the size of the file.
pub(crate) fn write_face(built: &Face, output: &Path) -> Result<u64> {
    face::write(built, output).map_err(in_file(output))?;
    ShapeCache::beside(output).remove_all()?;
    let n_bytes = std::fs::metadata(output).map(|m| m.len());
    n_bytes.map_err(|e| Error::failed(e.to_string()).in_file(output))
}

/// Pictures of a face, with the files to write them to.
pub(crate) fn draw_face(built: &Face, folder: &Path, progress: &Progress) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut drawn = Vec::new();
    for (i, (name, picture)) in face_pictures::ALL.iter().enumerate() {
        tick(progress, "drawing", i as f32 / face_pictures::ALL.len() as f32)?;
        drawn.push((folder.join(name), picture(built)?.encode_png()));
    }
    Ok(drawn)
}
