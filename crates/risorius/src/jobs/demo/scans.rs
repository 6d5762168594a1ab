//! The last part of the demo: simulated scans of another person become a rig.
//!
//! The scans have noise, holes, a floating piece, and a unit and a pose of their own; nothing else is given.

use crate::error::Result;
use crate::jobs::fit::{FitJob, FitReport};
use risorius_base::Progress;
use risorius_fit::synthetic::{Capture, capture};
use risorius_head::Identity;
use risorius_io::formats::ply;
use risorius_io::output::write_whole;
use risorius_mesh::Polygons;
use std::path::{Path, PathBuf};

/// The person.
const PERSON: Identity = Identity { width: 0.7, length: -0.5, nose: 0.8, jaw: 0.6, brow: -0.4, fat: 0.5 };

/// Scans: name, sliders and their values.
const SCANS: [(&str, &[(&str, f32)]); 2] =
    [("neutral", &[]), ("smile", &[("mouthSmileLeft", 0.9), ("mouthSmileRight", 0.7)])];

/// Makes the scans in `out/scans` and fits them; returns all files and the report.
pub(super) fn fit(out: &Path, progress: &Progress) -> Result<(Vec<PathBuf>, FitReport)> {
    let person = risorius_head::build(&PERSON);
    let folder = out.join("scans");
    let mut files = Vec::new();
    for ((name, weights), seed) in SCANS.into_iter().zip(1..) {
        let scan = capture(&person, name, weights, &Capture { seed, ..Capture::default() }).scan;
        let path = folder.join(format!("{name}.ply"));
        let faces = Polygons::from_triangles(&scan.mesh.triangles);
        write_whole(&path, &ply::write(&scan.mesh.positions_f32(), &faces, None, false))?;
        files.push(path);
    }
    let job = FitJob {
        scans: folder,
        rig: Some(out.join("fitted.glb")),
        pictures: Some(out.join("fit")),
        ..FitJob::default()
    };
    let report = job.run(progress)?;
    files.push(out.join("fitted.glb"));
    files.extend(SCANS.iter().map(|(name, _)| out.join("fit").join(format!("{name}.png"))));
    Ok((files, report))
}
