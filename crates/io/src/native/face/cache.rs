//! Keeps finished shapes of a build that may be interrupted: one small file each, in a folder beside the
//! output.
//!
//! `head.face` has `head.face.partial/`, with a safetensors file per key. Each file is written under a
//! temporary name and renamed, and has a checksum; files that are damaged, truncated or of another version
//! are ignored. The folder is removed when the build is done.

use crate::IoError;
use crate::native::container::{Archive, Writer};
use crate::output::WholeFile;
use risorius_base::Fingerprint;
use risorius_base::array::SharedBytes;
use risorius_flesh::face::ShapeReport;
use risorius_flesh::{ShapeStore, VolumeShape};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NAME: &str = "risorius-shape";

/// Keeps shapes in a folder.
#[derive(Debug, Clone)]
pub struct ShapeCache {
    folder: PathBuf,
}

impl ShapeCache {
    /// The cache of a build with the given output file. The folder is created when the first shape is put.
    pub fn beside(output: &Path) -> Self {
        let mut name = output.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        Self { folder: output.with_file_name(name) }
    }

    /// Where shapes are kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The shape that was put under `key`; `None` if there is none or its file is damaged.
    pub fn get(&self, key: u128) -> Option<(VolumeShape, ShapeReport)> {
        let bytes: SharedBytes = Arc::new(std::fs::read(self.path(key)).ok()?);
        let file = Archive::read(bytes).ok()?;
        if file.text("format").ok()? != NAME || file.text("key").ok()? != format!("{key:032x}") {
            return None;
        }
        let report: ShapeReport = file.json("report").ok()?;
        // Copied, since a shape must not refer to a file that may be removed before the build ends.
        let nodes = file.array::<u32>("nodes").ok()?.to_vec();
        let offsets = file.array::<[f32; 3]>("offsets").ok()?.to_vec();
        let whole = nodes.len() == offsets.len() && nodes.windows(2).all(|w| w[0] < w[1]);
        let sum = checksum(&nodes, &offsets, file.text("report").ok()?);
        (whole && file.text("checksum").ok()? == sum)
            .then(|| (VolumeShape { nodes: nodes.into(), offsets: offsets.into() }, report))
    }

    /// Keeps a shape under `key`.
    pub fn put(&self, key: u128, shape: &VolumeShape, report: &ShapeReport) -> Result<(), IoError> {
        let path = self.path(key);
        let report = serde_json::to_string(report)
            .map_err(|e| IoError::malformed("shape", "report", e.to_string()))?;
        let mut file = Writer::default();
        file.text("format", NAME);
        file.text("key", format!("{key:032x}"));
        file.text("checksum", checksum(&shape.nodes, &shape.offsets, &report));
        file.text("report", report);
        file.array("nodes", &shape.nodes);
        file.array("offsets", &shape.offsets);
        let mut out = WholeFile::create(&path)?;
        file.write(&mut out, |source| IoError::Os { path: path.clone(), source })?;
        out.finish()
    }

    /// Removes the shapes, and the folder unless it contains other files.
    pub fn remove_all(&self) -> Result<(), IoError> {
        let os = |source| IoError::Os { path: self.folder.clone(), source };
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(os(e)),
        };
        let mut is_empty = true;
        for entry in entries {
            let path = entry.map_err(os)?.path();
            if path.extension().is_some_and(|e| e == "shape") {
                std::fs::remove_file(&path).map_err(|source| IoError::Os { path, source })?;
            } else {
                is_empty = false;
            }
        }
        if is_empty { std::fs::remove_dir(&self.folder).map_err(os) } else { Ok(()) }
    }

    fn path(&self, key: u128) -> PathBuf {
        self.folder.join(format!("{key:032x}.shape"))
    }
}

impl ShapeStore for ShapeCache {
    fn load(&self, key: u128) -> Option<(VolumeShape, ShapeReport)> {
        self.get(key)
    }

    fn save(&self, key: u128, shape: &VolumeShape, report: &ShapeReport) {
        // Errors are ignored: a full disk must not stop a build that does not need the cache.
        let _ = self.put(key, shape, report);
    }
}

/// Checksum of the whole content; it detects damage, not manipulation.
fn checksum(nodes: &[u32], offsets: &[[f32; 3]], report: &str) -> String {
    let arrays =
        Fingerprint::default().bytes(bytemuck::cast_slice(nodes)).bytes(bytemuck::cast_slice(offsets));
    arrays.bytes(report.as_bytes()).to_string()
}
