//! Jobs, one module each, with options, implementation and report.
//!
//! A job checks its request before it computes anything, writes files completely or not at all, and reports
//! problems with the file, shape or vertex at fault. Reports serialize to what `risorius VERB --json` prints.

pub mod attenuate;
pub mod bake;
pub mod batch;
pub mod build;
pub mod convert;
pub mod demo;
pub mod detail;
pub mod fit;
pub mod inspect;
pub mod interference;
pub mod muscle;
pub mod perform;
mod plans;
pub mod plot;
pub mod pose;
pub mod render;
pub mod sample;
pub mod transfer;

use crate::error::Result;
use crate::files::extension;
use risorius_io::IoError;
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_io::output::{WholeFile, write_whole};
use risorius_io::specs::sidecar;
use risorius_rig::Rig;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// A path as it appears in reports.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Writes a report as JSON.
pub(crate) fn write_report(report: &impl Serialize, path: &Path) -> Result<()> {
    let os = |source| IoError::Os { path: path.to_path_buf(), source };
    let mut file = WholeFile::create(path)?;
    serde_json::to_writer(&mut file, report).map_err(|e| os(e.into()))?;
    file.write_all(b"\n").map_err(os)?;
    Ok(file.finish()?)
}

/// Writes a rig as glTF, and its sidecar if names do not say everything; all written files.
pub(crate) fn write_rig(rig: &Rig, output: &Path, normals: bool) -> Result<Vec<String>> {
    let as_text = extension(output) == "gltf";
    let options = GlbOptions { target_normals: normals, as_text, ..GlbOptions::default() };
    write_whole(output, &write_glb(rig, &options)?)?;
    let mut files = vec![shown(output)];
    if let Some(bytes) = sidecar::write(rig, false) {
        let path = output.with_extension("rig.json");
        write_whole(&path, &bytes)?;
        files.push(shown(&path));
    }
    Ok(files)
}

/// Peak memory of this process so far, MB; 0 if the system does not report it.
pub(crate) fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map_or(0.0, |k| k * 1024.0 / 1e6)
}
