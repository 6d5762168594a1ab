//! A face and a clip to a take: physics on top of the artist's animation.
//!
//! [`run()`] plays a clip frame by frame and step by step, whatever the method; methods are [`Driver`]s, of
//! which [`enrich`] is the first [Kozlov17, sec. 5]. [`HeadPath`] is the motion of the head between its
//! samples; a [`Scene`] is what else acts; a [`Checkpoint`] is where a run can be resumed. Where nothing
//! pushes, the result is the artist's animation, to the bit.

pub mod checkpoint;
pub mod collision_pairs;
pub mod curve;
pub mod drivers;
pub mod error;
pub mod head_path;
pub mod run;
pub mod scene;
pub mod skin_out;

pub use checkpoint::{Checkpoint, FrameKey, frame_keys};
pub use collision_pairs::ContactMode;
pub use drivers::enrich::{EnrichOptions, enrich};
pub use error::PerformError;
pub use head_path::HeadPath;
pub use run::{Driver, Frame, FrameReport, FrameSink, Performance, run};
pub use scene::model::Scene;
pub use skin_out::SkinOut;
