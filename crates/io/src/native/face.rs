//! The `.face` file: rig, anatomy, flesh and report in one safetensors file that Python can open directly.
//!
//! [`crate::native::container`] is the container format; `rig`, `anatomy`, `flesh` and `muscles` define the
//! arrays and metadata (docs/face-file.md has the table); `check` validates them; [`cache`] keeps shapes of
//! an interrupted build. Everything is restored to the bit.
//!
//! Opening maps the file, so flesh is read from disk on first access, and several processes share it. A file
//! must not be modified while it is mapped: numbers would change after they were checked, and truncating the
//! file would end the process. [`write`](fn@write) is safe: it replaces files as a whole, and processes that
//! have the old one open keep it.
//!
//! A file of another version is refused: a face is made from a rig by `risorius build` and can be made again.

mod anatomy;
pub mod cache;
mod check;
mod flesh;
mod muscles;
pub(crate) mod rig;

pub use crate::native::container::{ArrayInfo, Dtype};
pub use anatomy::PIECE_KINDS;
pub use cache::ShapeCache;
pub use flesh::BOUND_NAMES;

use crate::IoError;
use crate::native::container::{self, Archive, Writer, damaged, header_of};
use crate::output::WholeFile;
use risorius_base::Fingerprint;
use risorius_base::array::SharedBytes;
use risorius_flesh::{BuildReport, Face};
use risorius_rig::Rig;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const FORMAT: &str = ".face";

/// What `format` says in the metadata.
const NAME: &str = "risorius-face";

/// Version of the arrays and metadata; files of another version must be built again.
pub const VERSION: u32 = 2;

/// Units and axes of the groups of arrays.
const UNITS: &str = r#"{"rig":"unit and axes of the artist's file, see rig.space","anatomy":"meters, +Y up, +Z front, +X the character's left","flesh":"meters, +Y up, +Z front, +X the character's left; stiffness in Pa"}"#;

const OF_WRITER: &str = "the face cannot be written; this is a fault of the build, not of the rig";
const OF_FILE: &str = "the file is damaged, build it again with `risorius build`";

/// A face and the file that it came from.
#[derive(Debug, Clone)]
pub struct FaceFile {
    /// The content of the file.
    pub face: Face,
    /// The software that wrote it.
    pub software: String,
    /// Size of the file in bytes.
    pub n_bytes: usize,
    /// Arrays by name.
    pub arrays: BTreeMap<String, ArrayInfo>,
}

/// Writes a face atomically; the same face always gives the same bytes.
pub fn write(face: &Face, path: &Path) -> Result<(), IoError> {
    let os = |source| IoError::Os { path: path.to_path_buf(), source };
    let contents = contents(face)?;
    let mut file = WholeFile::create(path)?;
    contents.write(&mut file, os)?;
    file.finish()
}

/// The bytes of the file.
pub fn to_bytes(face: &Face) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    contents(face)?.write(&mut bytes, |e| IoError::malformed(FORMAT, "memory", e.to_string()))?;
    Ok(bytes)
}

fn contents(face: &Face) -> Result<Writer<'_>, IoError> {
    check::check(face, OF_WRITER)?;
    let mut file = Writer::default();
    file.text("format", NAME);
    file.text("version", VERSION.to_string());
    file.text("software", concat!("risorius ", env!("CARGO_PKG_VERSION")));
    file.text("units", UNITS);
    rig::save(&face.rig, &mut file)?;
    anatomy::save(&face.anatomy, &mut file)?;
    flesh::save(&face.flesh, &mut file)?;
    muscles::save(&face.muscle_shapes, &mut file)?;
    // Build times are left out, so that the same face gives the same bytes.
    file.json("report", &BuildReport { stages: Vec::new(), ..face.report.clone() })?;
    Ok(file)
}

/// Opens a face; its flesh is a view into the mapped file.
pub fn open(path: &Path) -> Result<Face, IoError> {
    open_file(path).map(|f| f.face)
}

/// Opens a face, with the fingerprint of its file's bytes.
pub fn open_with_fingerprint(path: &Path) -> Result<(Face, Fingerprint), IoError> {
    let bytes = map(path)?;
    let fingerprint = Fingerprint::default().bytes((*bytes).as_ref());
    Ok((read(bytes)?.face, fingerprint))
}

/// Opens a face with information about its file.
pub fn open_file(path: &Path) -> Result<FaceFile, IoError> {
    read(map(path)?)
}

/// Opens only the rig of a face.
pub fn open_rig(path: &Path) -> Result<Rig, IoError> {
    read_rig(map(path)?)
}

/// Reads a face from the bytes of a file.
pub fn read(bytes: SharedBytes) -> Result<FaceFile, IoError> {
    let n_bytes = (*bytes).as_ref().len();
    let file = archive(bytes)?;
    let rig = rig::load(&file)?;
    let anatomy = anatomy::load(&file, rig.n_vertices(), rig.shapes.len())?;
    let flesh = flesh::load(&file, rig.shapes.len())?;
    let report: BuildReport = file.json("report")?;
    let mut flesh = flesh;
    flesh.parting_weights = parting_weights(&rig, &report);
    let muscle_shapes = muscles::load(&file, &anatomy.muscles)?;
    let face = Face { rig, anatomy, flesh, report, muscle_shapes };
    check::check(&face, OF_FILE)?;
    let software = file.text("software")?.chars().take(100).collect();
    Ok(FaceFile { face, software, n_bytes, arrays: file.arrays().clone() })
}

/// Checks a rig that was read.
pub(crate) fn check_rig(rig: &Rig) -> Result<(), IoError> {
    check::check_rig(rig, OF_FILE)
}

/// Reads only the rig from the bytes of a file.
pub fn read_rig(bytes: SharedBytes) -> Result<Rig, IoError> {
    let rig = rig::load(&archive(bytes)?)?;
    check::check_rig(&rig, OF_FILE)?;
    Ok(rig)
}

/// Whether a file is a face, by its first bytes; `false` if it cannot be read.
pub fn is_face(path: &Path) -> bool {
    let Ok(mut file) = std::fs::File::open(path) else { return false };
    if !file.metadata().is_ok_and(|m| m.is_file()) {
        return false;
    }
    let mut start = Vec::new();
    let read = file.by_ref().take(9).read_to_end(&mut start);
    // The whole header is read only if it looks like one; other software may have put the format anywhere in
    // it.
    let length = start.first_chunk().map_or(0, |n| u64::from_le_bytes(*n));
    let plausible =
        read.is_ok() && start.get(8) == Some(&b'{') && file.metadata().is_ok_and(|m| length < m.len());
    if !plausible
        || file.take(length.saturating_sub(1).min(container::MAX_HEADER)).read_to_end(&mut start).is_err()
    {
        return false;
    }
    header_of(&start).is_some_and(|json| json.windows(NAME.len()).any(|w| w == NAME.as_bytes()))
}

fn archive(bytes: SharedBytes) -> Result<Archive, IoError> {
    let file = Archive::read(bytes)?;
    if file.text("format")? != NAME {
        return Err(damaged("metadata 'format'", format!("it is not '{NAME}'")));
    }
    let version: u32 =
        file.text("version")?.parse().map_err(|_| damaged("metadata 'version'", "it is not a number"))?;
    let advice = match version.cmp(&VERSION) {
        std::cmp::Ordering::Equal => return Ok(file),
        std::cmp::Ordering::Less => "build it again with `risorius build`",
        std::cmp::Ordering::Greater => "open it with a newer Risorius, or build it again with this one",
    };
    let feature = format!("version {version} of the file (this program has version {VERSION})");
    Err(IoError::Unsupported { format: FORMAT, feature, advice: advice.into() })
}

/// The file's bytes, mapped.
pub(crate) fn map(path: &Path) -> Result<SharedBytes, IoError> {
    let os = |source| IoError::Os { path: path.to_path_buf(), source };
    let file = std::fs::File::open(path).map_err(os)?;
    if !file.metadata().map_err(os)?.is_file() {
        return Err(IoError::malformed("file", path.display().to_string(), "it is not a file"));
    }
    // SAFETY: the bytes are only read, as types for which every bit pattern is valid, and every use of them
    // as an index is bounds-checked. A map cannot guarantee that no other process changes or truncates the
    // file meanwhile; the module header says so, and this program replaces files instead of changing them.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(os)?;
    Ok(Arc::new(map))
}

/// Slider values of the parting pose, which the file stores by name.
fn parting_weights(rig: &Rig, report: &BuildReport) -> Vec<f32> {
    let mut weights = vec![0.0; rig.sliders.len()];
    for (name, value) in &report.parting_pose {
        if let Some(slider) = rig.slider_index(name) {
            weights[slider] = *value;
        }
    }
    weights
}
