//! What [`crate::tetrahedralize`] fills: a region of space, known by its sign, and the sizes wanted in it.

use glam::DVec3;

/// What to fill with tets. Functions are called from many threads.
pub trait Domain: Sync {
    /// Positive inside. Only the sign counts.
    fn value(&self, p: DVec3) -> f64;

    /// The longest edge wanted near `p`, in meters; positive. Edges come out between half of it and all of
    /// it, and up to 1.5 times where sizes change. It should not fall faster than about 1 m per meter, or
    /// small sizes are found late; sizes below 1/256 of the largest are not met.
    fn size(&self, p: DVec3) -> f64;

    /// Whether the whole ball is inside (`true`) or outside, if that is certain. `None` is always right, but
    /// then all of the box is refined and looked at; see [`crate::SolidDomain`] for a good answer.
    fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        let _ = (center, radius);
        None
    }

    /// Where the segment meets the boundary, if that is known more quickly than by asking for values.
    fn hits(&self, from: DVec3, to: DVec3) -> Hits {
        let _ = (from, to);
        Hits::Unknown
    }
}

/// Where a segment meets the boundary of a domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hits {
    /// Not told.
    Unknown,
    /// At most once, and nowhere if its ends are on the same side.
    Smooth,
    /// Probably at this fraction and nowhere else.
    Once(f64),
}
