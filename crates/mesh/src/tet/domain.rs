//! Input of [`crate::tetrahedralize`]: a region of space, given by the sign of a function, and a size field.

use glam::DVec3;

/// A region to fill with tets. The functions are called from many threads.
pub trait Domain: Sync {
    /// Positive inside. Only the sign counts.
    fn value(&self, p: DVec3) -> f64;

    /// The longest edge wanted near `p`, in meters; positive. Edges are between half of it and all of it, and
    /// up to 1.5 times as long where sizes change. It should not decrease faster than about 1 m per meter, or
    /// small sizes may be missed. Sizes below 1/256 of the largest are not reached.
    fn size(&self, p: DVec3) -> f64;

    /// Whether the whole ball is inside (`true`) or outside (`false`), if that is certain. `None` is always
    /// valid, but makes the whole box be refined and sampled; [`crate::SolidDomain`] has a better answer.
    fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        let _ = (center, radius);
        None
    }

    /// Where the segment meets the boundary, if that is faster to compute than by sampling values.
    fn hits(&self, from: DVec3, to: DVec3) -> Hits {
        let _ = (from, to);
        Hits::Unknown
    }
}

/// Where a segment meets the boundary of a domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hits {
    /// Not known.
    Unknown,
    /// At most once, and not at all if its ends are on the same side.
    Smooth,
    /// Probably at this fraction and nowhere else.
    Once(f64),
}
