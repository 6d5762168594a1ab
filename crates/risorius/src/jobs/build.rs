//! A rig gets bones, muscles and flesh, and becomes a `.face` file.
//!
//! Finished shapes wait in `HEAD.face.partial/` beside the output until the file is whole, so that a build
//! that was stopped resumes where it was.

mod paint;

pub use paint::Painting;

use super::{peak_mb, shown};
use crate::error::{Error, Result, in_file};
use crate::files::{expect_ending, expect_folder};
use crate::source::RigSource;
use risorius_anatomy::Note;
use risorius_anatomy::carry::Supplied;
use risorius_anatomy::find::{FoundLandmark, Given};
use risorius_base::progress::{Progress, tick};
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
#[derive(Debug, Clone)]
pub struct BuildJob {
    /// The rig.
    pub rig: RigSource,
    /// Skull without the jaw, a closed surface in the rig's own unit and axes; the built-in one is fitted by
    /// default.
    pub skull: Option<PathBuf>,
    /// Lower jaw, likewise.
    pub jaw: Option<PathBuf>,
    /// Upper teeth, likewise; the rig's own by default.
    pub teeth_upper: Option<PathBuf>,
    /// Lower teeth, likewise.
    pub teeth_lower: Option<PathBuf>,
    /// Landmarks that the user knows better, a JSON file.
    pub landmarks: Option<PathBuf>,
    /// Nodes of the flesh, 500 to 200000: more follow the skin closer and take longer.
    pub nodes: usize,
    /// Painted stiffness.
    pub paint: Vec<Painting>,
    /// Folder for pictures of landmarks, bones, muscles, and the flesh cut open.
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

/// What was built.
#[derive(Debug, Clone, Serialize)]
pub struct BuildJobReport {
    /// The file.
    pub output: String,
    /// Its size.
    pub bytes: u64,
    /// What the build measured.
    pub report: BuildReport,
    /// Where landmarks are, in meters.
    pub landmarks: Vec<LandmarkReport>,
    /// What was noticed, with advice.
    pub notes: Vec<Note>,
    /// Pictures that were drawn.
    pub pictures: Vec<String>,
}

/// A landmark of a face.
#[derive(Debug, Clone, Serialize)]
pub struct LandmarkReport {
    /// Its name.
    pub name: String,
    /// In meters, +Y up, +Z front.
    pub position: [f64; 3],
    /// The nearest rig vertex.
    pub vertex: u32,
    /// 0 a guess, 1 certain.
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
    /// Of all landmarks.
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

impl BuildJob {
    /// Does it.
    pub fn run(&self, progress: &Progress) -> Result<BuildJobReport> {
        expect_ending(&self.output, &["face"], "a face")?;
        self.pictures.as_deref().map_or(Ok(()), expect_folder)?;
        let file = self.rig.open_with_sliders(progress)?;
        let options = self.options(&file.rig, progress)?;
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

    /// Everything that the user brings, read and checked.
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

/// A surface in the rig's own unit and axes, in meters.
fn bone(path: &Path, rig: &Rig, progress: &Progress) -> Result<TriMesh> {
    let given = open_rig(path, &OpenOptions::default(), progress).map_err(in_file(path))?.rig;
    let positions = given.neutral.iter().map(|&p| rig.space.to_si(p)).collect();
    Ok(TriMesh { positions, triangles: given.triangles() })
}

/// Builds, with finished shapes kept beside `output`.
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

/// The error of a build; whoever stopped it is told that nothing is lost.
fn stopped(error: BuildError, cache: &ShapeCache) -> Error {
    let keeps = error.is_cancelled() && cache.folder().is_dir();
    let error = Error::from(error);
    if !keeps {
        return error;
    }
    let kept = cache.folder().display();
    error.followed_by(&format!("finished shapes are kept in {kept}: the same call again resumes from them"))
}

/// Writes the face and removes the shapes that waited for it; the size of the file.
pub(crate) fn write_face(built: &Face, output: &Path) -> Result<u64> {
    face::write(built, output).map_err(in_file(output))?;
    ShapeCache::beside(output).remove_all()?;
    let n_bytes = std::fs::metadata(output).map(|m| m.len());
    n_bytes.map_err(|e| Error::failed(e.to_string()).in_file(output))
}

/// Pictures of a face with the files that they go to.
pub(crate) fn draw_face(built: &Face, folder: &Path, progress: &Progress) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut drawn = Vec::new();
    for (i, (name, picture)) in face_pictures::ALL.iter().enumerate() {
        tick(progress, "drawing", i as f32 / face_pictures::ALL.len() as f32)?;
        drawn.push((folder.join(name), picture(built)?.encode_png()));
    }
    Ok(drawn)
}
