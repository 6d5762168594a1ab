//! Transfers learned wrinkles to another face.

use crate::error::{Error, Result, in_file};
use crate::files::{expect_ending, expect_native};
use crate::jobs::{plans, shown};
use crate::source::{RigSource, vertex_of};
use risorius_attenuate::PinSpec;
use risorius_base::progress::{Plan, Progress, tick};
use risorius_detail::correspond::{LandmarkFace, VertexPair, landmark_pairs};
use risorius_detail::transfer::steps_for;
use risorius_detail::{FaceDetail, Rest};
use risorius_io::native::detail;
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_rig::Rig;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Transfers a detail.
#[derive(Debug, Clone, Default)]
pub struct TransferJob {
    /// The detail (`.detail`).
    pub detail: PathBuf,
    /// The other face at rest: a rig or a mesh.
    pub to: RigSource,
    /// Corresponding points, about 40 spread over the face: a JSON file,
    /// `[{"from": {"vertex": 12}, "to": {"near": [0, 1, 2]}}]`. By default landmarks are detected on both
    /// faces.
    pub points: Option<PathBuf>,
    /// A rig of the detail's own face, in the same place as its rest mesh. Its shapes make landmark detection
    /// more reliable.
    pub from: Option<PathBuf>,
    /// Number of subdivisions of the other face; by default as many as give it edges as short as those of the
    /// detail's face, at most three.
    pub subdivide: Option<usize>,
    /// The transferred detail (`.detail`).
    pub output: PathBuf,
}

/// The report of a transfer.
#[derive(Debug, Clone, Serialize)]
pub struct TransferReport {
    /// The written file.
    pub output: String,
    /// Number of vertices of the other face.
    pub vertices: usize,
    /// Number of its vertices that got detail.
    pub covered: usize,
    /// Corresponding points.
    pub pairs: Vec<PairReport>,
    /// Size of the other face relative to the detail's face.
    pub scale: f64,
    /// Mean distance between the faces after bending.
    pub mean_distance_mm: f64,
    /// Steps of subdivision of the other face.
    pub subdivided: usize,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
}

/// A pair of corresponding points.
#[derive(Debug, Clone, Serialize)]
pub struct PairReport {
    /// Name of the point.
    pub name: String,
    /// Point on the detail's face.
    pub from: NearReport,
    /// Point on the other face.
    pub to: NearReport,
    /// Distance of the two points before bending.
    pub off_mm: f64,
}

/// A point in the format of pins.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct NearReport {
    /// Position in the unit of the file.
    pub near: [f32; 3],
}

/// A point on both faces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairSpec {
    #[serde(default)]
    name: String,
    from: PinSpec,
    to: PinSpec,
}

impl TransferJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<TransferReport> {
        let plan = Plan::new(progress, &plans::TRANSFER);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        expect_ending(&self.output, &["detail"], "a detail")?;
        expect_native(&self.detail, "detail")?;
        let source = detail::open(&self.detail).map_err(in_file(&self.detail))?;
        let (target, pairs) = self.target(&source, progress)?;
        let vertices: Vec<[u32; 2]> = pairs.iter().map(|p| p.vertices).collect();
        let options = &source.detail.shell.options;
        let moved = source.detail.transferred(target.mesh(), &vertices, options, progress)?;
        let mm_per_unit = target.mm_per_unit();
        let notes = moved.smoothed_to.map(|edge| {
            let edge = edge * mm_per_unit;
            format!("edges of {edge:.1} mm are too long for the finest detail; `subdivide` more to keep it")
        });
        let place = |rig: &Rig, v: u32| NearReport { near: rig.neutral[v as usize] };
        let reported = pairs.into_iter().zip(&moved.off).map(|(pair, off)| PairReport {
            from: place(&source.rest.fine, pair.vertices[0]),
            to: place(&target.fine, pair.vertices[1]),
            name: pair.name,
            off_mm: off * mm_per_unit,
        });
        let report = TransferReport {
            output: shown(&self.output),
            vertices: target.fine.n_vertices(),
            covered: moved.n_covered,
            pairs: reported.collect(),
            scale: moved.similarity.scale,
            mean_distance_mm: moved.mean_distance * mm_per_unit,
            subdivided: target.n_steps,
            notes: notes.into_iter().collect(),
            seconds: 0.0,
        };
        detail::write(&FaceDetail { rest: target, detail: moved.detail }, &self.output)?;
        Ok(TransferReport { seconds: start.elapsed().as_secs_f64(), ..report })
    }

    /// The other face, subdivided, and corresponding points.
    fn target(&self, source: &FaceDetail, progress: &Progress) -> Result<(Rest, Vec<VertexPair>)> {
        let rig = self.to.open(progress)?.rig;
        let first = Rest::checked(rig, self.subdivide.unwrap_or(0))?;
        let mut pairs = self.pairs(&source.rest, &first, progress)?;
        if self.subdivide.is_some() || pairs.len() < 4 {
            return Ok((first, pairs));
        }
        let vertices: Vec<[u32; 2]> = pairs.iter().map(|p| p.vertices).collect();
        let n_steps = steps_for(&source.detail.mesh, &first.mesh(), &vertices);
        if n_steps == 0 {
            return Ok((first, pairs));
        }
        let target = Rest::checked(first.rig, n_steps)?;
        for pair in &mut pairs {
            pair.vertices[1] = target.fine_vertex(pair.vertices[1]);
        }
        Ok((target, pairs))
    }

    fn pairs(&self, source: &Rest, target: &Rest, progress: &Progress) -> Result<Vec<VertexPair>> {
        if let Some(path) = &self.points {
            return given_pairs(path, &source.fine, &target.fine);
        }
        tick(progress, "landmarks", 0.0)?;
        let open = |path: &PathBuf| open_rig(path, &OpenOptions::default(), progress).map_err(in_file(path));
        let shaped = self.from.as_ref().map(open).transpose()?.map(|file| file.rig);
        let from = LandmarkFace { shaped: shaped.as_ref().unwrap_or(&source.fine), fine: &source.fine };
        Ok(landmark_pairs(from, LandmarkFace { shaped: &target.rig, fine: &target.fine })?)
    }
}

/// Corresponding vertices from a JSON file.
pub(crate) fn given_pairs(path: &Path, source: &Rig, target: &Rig) -> Result<Vec<VertexPair>> {
    let specs: Vec<PairSpec> =
        serde_json::from_slice(&read_file(path)?).map_err(|e| Error::failed(e.to_string()).in_file(path))?;
    let mut pairs = Vec::new();
    for (k, spec) in specs.into_iter().enumerate() {
        let name = if spec.name.is_empty() { format!("pair {k}") } else { spec.name };
        let place = |side: &str| format!("{}: '{name}', {side}", path.display());
        let vertices =
            [vertex_of(spec.from, source, &place("from"))?, vertex_of(spec.to, target, &place("to"))?];
        pairs.push(VertexPair { name, vertices });
    }
    Ok(pairs)
}
