//! The report of a performance. Vertices are those of the artist's file: a part and a number within it.

use super::{FitReport, MethodReport, PreviewReport, Resumed};
use crate::source::Mapping;
use risorius_perform::FrameReport;
use risorius_rig::{BoundClip, FileVertex, Rig};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::json;

/// The report of a performance.
#[derive(Debug, Clone, Serialize)]
pub struct PerformReport {
    /// The output that was asked for.
    pub output: String,
    /// All written files.
    pub files: Vec<String>,
    /// The method, and what it did.
    pub method: MethodReport,
    /// Time of each frame.
    pub times_secs: Vec<f64>,
    /// Report of each frame.
    pub frames: FrameReports,
    /// Number of written vertices, as the rig's file has them.
    pub vertices: usize,
    /// Which columns drive which sliders.
    pub mapping: Mapping,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
    /// Peak memory of the process so far, MB; 0 if the system does not report it.
    pub peak_mb: f64,
    /// If this is a preview: how it differs from the final take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<PreviewReport>,
    /// Where a resumed run started.
    pub resumed: Option<Resumed>,
    /// Where physics moved the skin most.
    pub moved_most: Option<MovedMost>,
    /// Contacts over all frames.
    pub contact: ContactReport,
    /// Rest shapes over all frames.
    pub rest: RestSummary,
    /// Fitted shapes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<FitReport>,
}

/// The largest displacement of the skin by physics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedMost {
    /// Its length, mm.
    pub mm: f64,
    /// Its frame.
    pub frame: usize,
    /// Its vertex.
    pub vertex: Option<FileVertex>,
}

impl MovedMost {
    pub(super) fn of(rig: &Rig, frames: &[FrameReport]) -> Option<Self> {
        let farther = |best: Option<(usize, f64)>, (i, f): (usize, &FrameReport)| match best {
            Some((_, mm)) if f.max_mm <= mm => best,
            _ if f.max_mm > 0.0 => Some((i, f.max_mm)),
            _ => best,
        };
        let (frame, mm) = frames.iter().enumerate().fold(None, farther)?;
        Some(Self { mm, frame, vertex: rig.file_vertex(frames[frame].vertex) })
    }
}

/// Repairs of rest shapes over all frames.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RestSummary {
    /// Frames whose rest shape had elements that were squashed or inverted, so that nodes were moved.
    pub repaired: usize,
    /// Of these, frames with an inverted element.
    pub inverted: usize,
    /// Of these, frames whose repair may jump.
    pub jumping: usize,
    /// Frames whose whole rest shape was blended toward the neutral.
    pub withdrawn: Vec<usize>,
    /// The longest motion of a node, mm.
    pub moved_mm: f64,
    /// Its frame.
    pub frame: Option<usize>,
}

impl RestSummary {
    pub(super) fn of(frames: &[FrameReport]) -> Self {
        let mut all = Self::default();
        for (i, rest) in frames.iter().map(|f| f.rest).enumerate() {
            all.repaired += usize::from(rest.rest_nodes > 0);
            all.inverted += usize::from(rest.rest_least_j < 0.0);
            all.jumping += usize::from(rest.rest_jumps);
            if rest.rest_share < 1.0 {
                all.withdrawn.push(i);
            }
            if rest.rest_moved_mm > all.moved_mm {
                (all.moved_mm, all.frame) = (rest.rest_moved_mm, Some(i));
            }
        }
        all
    }

    /// Which sliders are on in the frames that were blended toward the neutral.
    pub(super) fn note(&self, rig: &Rig, clip: &BoundClip) -> Option<String> {
        let first = *self.withdrawn.first()?;
        let mut on: Vec<(f32, &str)> =
            clip.frame(first).iter().zip(&rig.sliders).map(|(w, s)| (w.abs(), s.name.as_str())).collect();
        on.sort_by(|a, b| b.0.total_cmp(&a.0));
        let names: Vec<String> =
            on.iter().take(4).filter(|s| s.0 > 0.0).map(|(w, name)| format!("{name} {w:.2}")).collect();
        Some(format!(
            "in {} frames, the first is {first}, the flesh cannot follow the shapes without turning inside \
             out, and follows them in part; the strongest sliders there are {}",
            self.withdrawn.len(),
            names.join(", ")
        ))
    }
}

/// Contacts over all frames.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ContactReport {
    /// Largest number of pressing contacts at the end of a step.
    pub most: usize,
    /// Largest penetration depth of a vertex beyond the artist's overlap, mm.
    pub deepest_mm: f64,
    /// The frame of the largest depth.
    pub frame: Option<usize>,
    /// The vertex of the largest depth.
    pub vertex: Option<FileVertex>,
}

impl ContactReport {
    pub(super) fn of(rig: &Rig, frames: &[FrameReport]) -> Self {
        let mut all = Self::default();
        for (i, frame) in frames.iter().enumerate() {
            all.most = all.most.max(frame.contacts);
            if frame.depth_mm > all.deepest_mm {
                let vertex = frame.deepest.and_then(|v| rig.file_vertex(v));
                (all.deepest_mm, all.frame, all.vertex) = (frame.depth_mm, Some(i), vertex);
            }
        }
        all
    }
}

/// Reports of all frames. In memory they have the rig's vertices; serialized, those of the file.
#[derive(Debug, Clone)]
pub struct FrameReports {
    reports: Vec<FrameReport>,
    /// For each frame the file's vertex of the largest displacement, and the deepest one.
    places: Vec<[Option<FileVertex>; 2]>,
}

impl FrameReports {
    pub(super) fn new(rig: &Rig, reports: Vec<FrameReport>) -> Self {
        let place = |f: &FrameReport| {
            let moved = (f.max_mm > 0.0).then(|| rig.file_vertex(f.vertex)).flatten();
            [moved, f.deepest.and_then(|v| rig.file_vertex(v))]
        };
        Self { places: reports.iter().map(place).collect(), reports }
    }
}

impl std::ops::Deref for FrameReports {
    type Target = [FrameReport];

    fn deref(&self) -> &[FrameReport] {
        &self.reports
    }
}

impl Serialize for FrameReports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.reports.len()))?;
        for (report, [moved, deepest]) in self.reports.iter().zip(&self.places) {
            let mut value = serde_json::to_value(report).map_err(serde::ser::Error::custom)?;
            (value["vertex"], value["deepest"]) = (json!(moved), json!(deepest));
            list.serialize_element(&value)?;
        }
        list.end()
    }
}
