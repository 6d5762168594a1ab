//! Risorius puts physics into face rigs: an artist's blendshape face gets flesh, bones and muscles, its
//! animation is simulated on them, and the result is exported as frames and wrinkles.
//!
//! This crate is the interface for programs. A *job* is a plain struct with defaults for all optional fields;
//! `run` executes it and returns a serializable report. The program `risorius` is a thin layer over the jobs.
//!
//! ```
//! use risorius::prelude::*;
//!
//! # fn main() -> Result<(), risorius::Error> {
//! let folder = std::env::temp_dir().join("risorius-doc");
//! std::fs::create_dir_all(&folder).unwrap();
//! // The built-in head as an artist's file.
//! let head = risorius::head::build(&Identity::default());
//! let glb = risorius::io::formats::gltf::write_glb(&head.rig, &Default::default())?;
//! std::fs::write(folder.join("face.glb"), glb).unwrap();
//!
//! let report = PoseJob {
//!     rig: folder.join("face.glb").into(),
//!     what: Posed::Weights(vec![("jawOpen".into(), 0.6)]),
//!     output: folder.join("open.obj"),
//!     ..PoseJob::default()
//! }
//! .run(&no_progress)?;
//! assert_eq!(report.vertices, head.rig.n_vertices());
//! # Ok(())
//! # }
//! ```
//!
//! | job | purpose |
//! | --- | --- |
//! | [`InspectJob`](jobs::inspect::InspectJob) | report the contents of a file and every problem found |
//! | [`ConvertJob`](jobs::convert::ConvertJob) | convert between formats |
//! | [`PoseJob`](jobs::pose::PoseJob) | evaluate a rig at slider values, or over a clip |
//! | [`AttenuateJob`](jobs::attenuate::AttenuateJob) | hold pinned points still while sliders move |
//! | [`InterferenceJob`](jobs::interference::InterferenceJob) | measure which slider disturbs which |
//! | [`BuildJob`](jobs::build::BuildJob) | add bones, muscles and flesh to a rig |
//! | [`FitJob`](jobs::fit::FitJob) | lay a template onto scans of a person |
//! | [`PerformJob`](jobs::perform::PerformJob) | simulate a clip on the flesh |
//! | [`BakeJob`](jobs::bake::BakeJob) | put what flesh adds to pairs of shapes into corrective shapes |
//! | [`Batch`](jobs::batch::Batch) | build or perform many in one call |
//! | [`TransferShapesJob`](jobs::transfer::TransferShapesJob) | carry all shapes of a rig to another mesh |
//! | [`LearnJob`](jobs::detail::learn::LearnJob), [`ApplyJob`](jobs::detail::apply::ApplyJob), [`TransferJob`](jobs::detail::transfer::TransferJob), [`EditJob`](jobs::detail::edit::EditJob), [`MakeJob`](jobs::detail::make::MakeJob) | learn, apply, transfer and edit wrinkles, or make them without examples |
//! | [`RenderJob`](jobs::render::RenderJob), [`PlotJob`](jobs::plot::PlotJob) | draw pictures and movies |
//!
//! The underlying crates are re-exported as modules ([`rig`], [`attenuate`], [`flesh`], [`perform`] ...) for
//! programs that need the single steps of a job.

pub mod error;
pub mod files;
pub mod jobs;
pub mod pictures;
pub mod prelude;
pub mod source;
mod takes;

pub use error::{Error, ErrorKind, Result};

pub use risorius_anatomy as anatomy;
pub use risorius_attenuate as attenuate;
pub use risorius_base as base;
pub use risorius_detail as detail;
pub use risorius_fit as fit;
pub use risorius_flesh as flesh;
pub use risorius_head as head;
pub use risorius_io as io;
pub use risorius_mesh as mesh;
pub use risorius_muscle as muscle;
pub use risorius_perform as perform;
pub use risorius_rig as rig;
pub use risorius_solve as solve;
pub use risorius_view as view;

/// Every code block of the README and of the pages compiles.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/anatomy.md")]
    struct Anatomy;
    #[doc = include_str!("../../../docs/attenuation.md")]
    struct Attenuation;
    #[doc = include_str!("../../../docs/baking.md")]
    struct Baking;
    #[doc = include_str!("../../../docs/detail.md")]
    struct Detail;
    #[doc = include_str!("../../../docs/evaluation.md")]
    struct Evaluation;
    #[doc = include_str!("../../../docs/face-file.md")]
    struct FaceFile;
    #[doc = include_str!("../../../docs/flesh.md")]
    struct Flesh;
    #[doc = include_str!("../../../docs/performing.md")]
    struct Performing;
    #[doc = include_str!("../../../docs/rigs.md")]
    struct Rigs;
    #[doc = include_str!("../../../docs/scans.md")]
    struct Scans;
    #[doc = include_str!("../../../docs/transfer.md")]
    struct Transfer;
    #[doc = include_str!("../../../docs/muscles.md")]
    struct Muscles;
    #[doc = include_str!("../../../docs/volumetric.md")]
    struct Volumetric;
}
