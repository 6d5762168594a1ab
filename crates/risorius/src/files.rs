//! File name endings, and which of them a job can write.

use crate::error::{Error, Result};
use std::path::Path;

/// Endings of files that hold per-frame vertices only.
pub const CACHES: [&str; 3] = ["mdd", "pc2", "npz"];

/// Endings of files that hold frames of a rig.
pub const FRAMES: [&str; 5] = ["glb", "gltf", "mdd", "pc2", "npz"];

/// Endings of rigs and surfaces of other programs.
const RIGS: [&str; 6] = ["glb", "gltf", "fbx", "obj", "ply", "stl"];

/// Endings of files that hold a pose.
pub const SURFACES: [&str; 4] = ["glb", "gltf", "obj", "ply"];

/// How files with frames are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakeFiles {
    /// Write normals for every frame, or every shape, of a glTF. Without them a player shades every frame
    /// like the neutral, and folds do not show; the file has about half the size. Default true.
    pub normals: bool,
    /// Write a point cache (`.mdd`, `.pc2`) for each mesh object, in the object's own coordinates, as other
    /// programs expect; or one for the whole rig, in its coordinates. Default: for each if there are several.
    pub per_part: Option<bool>,
}

impl Default for TakeFiles {
    fn default() -> Self {
        Self { normals: true, per_part: None }
    }
}

/// Fails if an output would replace an input.
pub(crate) fn expect_not_input<'p>(output: &Path, inputs: impl IntoIterator<Item = &'p Path>) -> Result<()> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let Some(found) = real(output) else { return Ok(()) };
    if inputs.into_iter().any(|input| real(input).as_ref() == Some(&found)) {
        let problem = "the output is also an input, which would be lost; give it another name";
        return Err(Error::request(problem).in_file(output));
    }
    Ok(())
}

/// The ending of a file's name in lower case, without the dot; empty if there is none.
pub fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Whether a file is a rig or a surface of another program, by its ending.
pub fn is_rig(path: &Path) -> bool {
    RIGS.contains(&extension(path).as_str())
}

/// The file's name without folder and ending.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The ending of an output, which must be one of `known`; checked before any work is done.
pub(crate) fn expect_ending(output: &Path, known: &[&str], what: &str) -> Result<String> {
    let found = extension(output);
    if known.contains(&found.as_str()) {
        return Ok(found);
    }
    let endings = known.join(", .");
    Err(Error::request(format!("'{}': {what} must go to a file ending in .{endings}", output.display())))
}

/// Whether a path is written as a point cache.
pub(crate) fn is_cache(path: &Path) -> bool {
    CACHES.contains(&extension(path).as_str())
}

/// Fails if the path of a folder is a file.
pub(crate) fn expect_folder(path: &Path) -> Result<()> {
    if path.exists() && !path.is_dir() {
        return Err(Error::failed("this is a file; give a folder").in_file(path));
    }
    Ok(())
}

/// Refuses a file that by its ending is not one of ours, before it is read as a damaged one.
pub(crate) fn expect_native(path: &Path, ending: &str) -> Result<()> {
    let found = extension(path);
    let is_other = is_rig(path) || (found != ending && ["face", "detail"].contains(&found.as_str()));
    if !is_other {
        return Ok(());
    }
    let (article, made) = match ending {
        "face" => ("a face", "build one from the rig first"),
        _ => ("a detail", "learn one from examples first"),
    };
    Err(Error::failed(format!("this is a .{found} file, not {article} (.{ending}); {made}")).in_file(path))
}
