//! The inside of a surface that may be open, doubled or cross itself, minus other surfaces: a [`Domain`] for flesh.
//!
//! Inside is where the winding number of the skin is above one half and that of no hole is. Values are winding numbers, so
//! only their sign means something. A ball is clear of the boundary when no triangle is near; but the zero set also
//! spans the openings of the skin, far from any triangle. There the winding number is harmonic, and by Harnack's
//! inequality it stays on its side of one half within a ball of radius r if no triangle is within 2r and it is within 1/12
//! of 0 or 1 at the center (as long as it is between 0 and 1; where skins overlap it exceeds that, which does no harm).

use crate::stuffing::Domain;
use crate::{Bvh, Surface, WindingNumbers};
use glam::DVec3;

/// A skin and what is not flesh inside it, prepared for one pose.
pub struct Solid<'a> {
    skin: (WindingNumbers, Bvh),
    holes: Vec<(WindingNumbers, Bvh)>,
    size: Box<dyn Fn(DVec3) -> f64 + Sync + 'a>,
}

impl<'a> Solid<'a> {
    /// The inside of `skin` minus the inside of each of `holes`, with edges of `size`.
    pub fn prepare(skin: &Surface, holes: &[&Surface], size: impl Fn(DVec3) -> f64 + Sync + 'a) -> Self {
        let both = |s: &Surface| (WindingNumbers::of(s), Bvh::build(&s.positions_f32(), &s.triangles));
        Self { skin: both(skin), holes: holes.iter().map(|s| both(s)).collect(), size: Box::new(size) }
    }
}

impl Domain for Solid<'_> {
    fn value(&self, p: DVec3) -> f64 {
        let inside = self.skin.0.at(p) - 0.5;
        if inside <= 0.0 {
            return inside;
        }
        // A hole far away needs no winding number, but boxes are cheap to ask only through the tree itself.
        self.holes.iter().fold(inside, |least, hole| least.min(0.5 - hole.0.at(p)))
    }

    fn size(&self, p: DVec3) -> f64 {
        (self.size)(p)
    }

    fn is_clear(&self, center: DVec3, radius: f64) -> bool {
        [&self.skin].into_iter().chain(&self.holes).all(|(winding, tree)| {
            tree.closest_point(center, 2.0 * radius).is_none() && {
                let w = winding.at(center);
                !(1.0 / 12.0..=11.0 / 12.0).contains(&w)
            }
        })
    }
}
