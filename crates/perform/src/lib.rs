//! A face and a clip to a take: physics on top of the artist's animation.
//!
//! [`enrich`] plays a clip through the flesh of a face [Kozlov17, sec. 5]; [`HeadPath`] is the motion of the head between
//! its samples. Where nothing pushes, what comes out is the artist's animation, to the bit.

pub mod enrich;
pub mod head_path;
pub mod skin_out;
pub mod touching;

pub use enrich::{EnrichOptions, FrameReport, PerformError, Performance, enrich};
pub use head_path::HeadPath;
pub use skin_out::SkinOut;
pub use touching::ContactMode;
