//! A face and a clip to a take: physics on top of the artist's animation.
//!
//! [`enrich`] plays a clip through the flesh of a face [Kozlov17, sec. 5]; [`HeadPath`] is the motion of the
//! head between its samples; a [`Scene`] is what else acts; a [`Checkpoint`] is where a run can go on. Where
//! nothing pushes, what comes out is the artist's animation, to the bit.

pub mod checkpoint;
pub mod collision_pairs;
pub mod curve;
pub mod drivers;
pub mod head_path;
pub mod scene;
pub mod skin_out;

pub use checkpoint::{Checkpoint, FrameKey, frame_keys};
pub use collision_pairs::ContactMode;
pub use drivers::enrich::{
    EnrichOptions, Frame, FrameReport, PerformError, Performance, enrich, enrich_from,
};
pub use head_path::HeadPath;
pub use scene::model::Scene;
pub use skin_out::SkinOut;
