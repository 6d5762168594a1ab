//! From a face and a clip to a take: physics on top of the artist's animation.
//!
//! [`run()`] plays a clip frame by frame, in time steps, with any method. Methods are [`Driver`]s: [`enrich`]
//! [Kozlov17, sec. 5] and [`volumetric`] [Ichim16, sec. 3.4]. [`HeadPath`] interpolates the motion of the
//! head between samples. A [`Scene`] holds everything else that acts on the face. A [`Checkpoint`] is a state
//! from which a run can be resumed. Without forces, the result is the artist's animation, to the bit.
//! [`fit_shapes()`] puts the difference that physics makes into a few more shapes; [`bake`] makes corrective
//! shapes from poses at rest ([`settle()`]).

pub mod bake;
pub mod checkpoint;
pub mod collision_pairs;
pub mod curve;
pub mod drivers;
pub mod error;
pub mod fit_shapes;
pub mod head_path;
pub mod run;
pub mod scene;
pub mod settle;
pub mod skin_out;

pub use bake::{BakeError, BakePlan};
pub use checkpoint::{Checkpoint, FrameKey, frame_keys};
pub use collision_pairs::ContactMode;
pub use drivers::enrich::{EnrichOptions, enrich};
pub use drivers::muscles::inverse::InverseOptions;
pub use drivers::muscles::play::{MusclesOptions, muscles};
pub use drivers::muscles::target::TargetOptions;
pub use drivers::muscles::{Controls, JawPose, MuscleModel, MuscleOptions, MusclePose};
pub use drivers::volumetric::{VolumetricFace, VolumetricOptions, volumetric};
pub use drivers::{MethodOptions, perform};
pub use error::PerformError;
pub use fit_shapes::{FitError, FittedShapes, fit_shapes};
pub use head_path::HeadPath;
pub use risorius_solve::Stepping;
pub use run::{Driver, Frame, FrameReport, FrameSink, Performance, RestReport, SteppedBody, run};
pub use scene::model::Scene;
pub use settle::{Settled, SettledSkin, settle};
pub use skin_out::SkinOut;
