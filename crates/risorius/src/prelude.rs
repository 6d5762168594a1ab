//! What most programs use: `use risorius::prelude::*;`.

pub use crate::error::{Error, ErrorKind};
pub use crate::files::TakeFiles;
pub use crate::jobs::attenuate::{AttenuateJob, Attenuation};
pub use crate::jobs::batch::Batch;
pub use crate::jobs::build::{BuildJob, Painting, Property};
pub use crate::jobs::convert::ConvertJob;
pub use crate::jobs::detail::apply::{Animation, ApplyJob};
pub use crate::jobs::detail::edit::EditJob;
pub use crate::jobs::detail::learn::LearnJob;
pub use crate::jobs::detail::make::MakeJob;
pub use crate::jobs::detail::transfer::TransferJob;
pub use crate::jobs::inspect::InspectJob;
pub use crate::jobs::interference::InterferenceJob;
pub use crate::jobs::perform::PerformJob;
pub use crate::jobs::plot::PlotJob;
pub use crate::jobs::pose::{PoseJob, Posed};
pub use crate::jobs::render::RenderJob;
pub use crate::source::{ClipReading, RigSource};
pub use risorius_attenuate::{AttenuateOptions, PinSet, PinSpec, PoseAttenuation, RigGram, Selection};
pub use risorius_base::progress::no_progress;
pub use risorius_base::{Axis, Progress, Rigid, Space};
pub use risorius_detail::{Detail, DetailPlayer, FaceDetail};
pub use risorius_flesh::{Face, Flesh};
pub use risorius_head::{Head, Identity};
pub use risorius_perform::{EnrichOptions, Frame, FrameReport, HeadPath, Performance, Scene, enrich};
pub use risorius_rig::{BoundClip, Clip, Evaluator, FrameSource, HeadMotion, Rig, Take};
pub use risorius_view::{Canvas, DrawOptions, FaceLook, draw};
