//! Rasterizer: finds the nearest triangle at each sample of the screen.
//!
//! Corners are snapped to 1/256 of a pixel. Edge functions are f64 products of such numbers, which are exact
//! for the screen sizes allowed here. With the top-left fill rule, triangles that share a side leave neither
//! gap nor overlap. The screen is split into independent tiles, so any number of threads gives the same
//! bytes. Triangles that face the viewer are drawn first, each kind in order, and the first of equally near
//! ones wins. `nearness` must be linear over the screen (1/w for a perspective camera, the coordinate for a
//! parallel light).
//!
//! Lining (the inner side of lids, lips and nostrils) often runs a little through the skin that covers it,
//! where artists modeled both as one thin fold. It is drawn last, and only wins over outer skin if it is
//! nearer by a margin, so that such overlaps do not show as dark spots.

use glam::Vec2;
use rayon::prelude::*;

/// Pixels on a side of a tile.
pub(crate) const TILE: usize = 32;
/// No triangle.
pub(crate) const NONE: u32 = u32::MAX;
/// Edge functions are exact only up to this distance in pixels; triangles with corners further out are not
/// drawn.
const FAR_OUT: f32 = 100_000.0;
/// A triangle over more tiles than this is kept in one list for all tiles instead of in each tile's own.
const MANY_TILES: usize = 256;

/// A corner on the screen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Corner {
    x: f64,
    y: f64,
    /// 0 if it cannot be drawn.
    pub nearness: f32,
}

impl Corner {
    pub fn new(pixel: Vec2, nearness: f32) -> Self {
        let usable =
            pixel.x.abs() < FAR_OUT && pixel.y.abs() < FAR_OUT && nearness > 0.0 && nearness.is_finite();
        let snap = |x: f32| (x as f64 * 256.0).round() / 256.0;
        Self { x: snap(pixel.x), y: snap(pixel.y), nearness: if usable { nearness } else { 0.0 } }
    }
}

/// Triangles sorted into the tiles of a screen.
pub(crate) struct Screen<'a> {
    pub width: usize,
    pub height: usize,
    corners: &'a [Corner],
    triangles: &'a [[u32; 3]],
    rules: Rules<'a>,
    columns: usize,
    /// Triangles of each tile: those that face the viewer, then those that do not, then lining.
    bins: [Vec<Vec<u32>>; 3],
    everywhere: [Vec<u32>; 3],
}

/// What decides, besides depth, whether a triangle is drawn at a sample.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rules<'a> {
    /// Triangles with holes, and which of their points (barycentric coordinates) are solid.
    pub cutout: Option<Cutout<'a>>,
    /// Where each triangle lies, and by how much lining must be nearer than outer skin, as a distance from
    /// the camera plane (`nearness` is one over it).
    pub places: Option<(&'a [Place], f32)>,
}

/// Where a triangle lies on the skin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Skin that is seen in the neutral.
    Outer,
    /// Skin that is hidden in the neutral.
    Lining,
    /// Between the two, or no skin.
    Other,
}

/// A triangle that is not solid everywhere.
#[derive(Clone, Copy)]
pub(crate) struct Cutout<'a> {
    pub has_holes: &'a [bool],
    pub solid: &'a (dyn Fn(u32, [f32; 3]) -> bool + Sync),
}

/// The nearest triangle at each sample of a tile; sample `s` of pixel (x, y) is at `(y * TILE + x) * S + s`.
pub(crate) struct Tile<const S: usize> {
    pub x: usize,
    pub y: usize,
    pub nearness: Vec<f32>,
    pub triangle: Vec<u32>,
    /// Every sample is at least this near.
    farthest: f32,
}

/// Sample positions inside of a pixel, in units of a pixel.
pub(crate) fn sample_positions<const S: usize>() -> [[f64; 2]; S] {
    // A rotated grid for four samples: each has its own row and column, which smooths nearly horizontal and
    // vertical edges best.
    const FOUR: [[f64; 2]; 4] = [[0.375, 0.125], [0.875, 0.375], [0.125, 0.625], [0.625, 0.875]];
    std::array::from_fn(|s| if S == 4 { FOUR[s % 4] } else { [0.5, 0.5] })
}

impl<'a> Screen<'a> {
    /// A screen of all `triangles`.
    pub fn new(width: usize, height: usize, corners: &'a [Corner], triangles: &'a [[u32; 3]]) -> Self {
        Self::of(width, height, corners, triangles, 0..triangles.len() as u32, Rules::default())
    }

    /// A screen of those of `triangles` that are `chosen`.
    pub fn of(
        width: usize,
        height: usize,
        corners: &'a [Corner],
        triangles: &'a [[u32; 3]],
        chosen: impl Iterator<Item = u32>,
        rules: Rules<'a>,
    ) -> Self {
        let (columns, rows) = (width.div_ceil(TILE), height.div_ceil(TILE));
        let mut screen = Self {
            width,
            height,
            corners,
            triangles,
            rules,
            columns,
            bins: [0, 1, 2].map(|_| vec![Vec::new(); columns * rows]),
            everywhere: [0, 1, 2].map(|_| Vec::new()),
        };
        for t in chosen {
            let Some([x0, y0, x1, y1]) = screen.pixel_bounds(t) else { continue };
            let side = match screen.rules.margin(t) {
                Some(_) => 2,
                None if screen.faces_viewer(t) => 0,
                None => 1,
            };
            let (tx, ty) = (x0 / TILE..x1 / TILE + 1, y0 / TILE..y1 / TILE + 1);
            if tx.len() * ty.len() > MANY_TILES {
                screen.everywhere[side].push(t);
                continue;
            }
            for bin in ty.flat_map(|y| tx.clone().map(move |x| y * columns + x)) {
                screen.bins[side][bin].push(t);
            }
        }
        screen
    }

    /// Pixels that triangle `t` may touch (first and last of both axes), if it can be seen at all.
    fn pixel_bounds(&self, t: u32) -> Option<[usize; 4]> {
        let c = self.triangles[t as usize].map(|v| self.corners[v as usize]);
        if c.iter().any(|c| c.nearness == 0.0) {
            return None;
        }
        let lo = [c[0].x.min(c[1].x).min(c[2].x), c[0].y.min(c[1].y).min(c[2].y)];
        let hi = [c[0].x.max(c[1].x).max(c[2].x), c[0].y.max(c[1].y).max(c[2].y)];
        if hi[0] < 0.0 || hi[1] < 0.0 || lo[0] >= self.width as f64 || lo[1] >= self.height as f64 {
            return None;
        }
        let last = |x: f64, n: usize| (x as usize).min(n - 1);
        Some([
            lo[0].max(0.0) as usize,
            lo[1].max(0.0) as usize,
            last(hi[0], self.width),
            last(hi[1], self.height),
        ])
    }

    /// Draws every tile and passes it to `f`; results are in the order of tiles, rows from the top.
    pub(crate) fn map_tiles<const S: usize, R: Send>(&self, f: impl Fn(&Tile<S>) -> R + Sync) -> Vec<R> {
        (0..self.bins[0].len())
            .into_par_iter()
            .map_init(
                || Tile::<S> { x: 0, y: 0, nearness: Vec::new(), triangle: Vec::new(), farthest: 0.0 },
                |tile, idx| {
                    tile.clear((idx % self.columns) * TILE, (idx / self.columns) * TILE);
                    self.draw_tile(tile);
                    f(tile)
                },
            )
            .collect()
    }

    /// A tile with the part of this screen that is in front of `behind`, a tile of another screen of equal
    /// size.
    pub(crate) fn tile_before<const S: usize>(&self, behind: &Tile<S>) -> Tile<S> {
        let nearness = behind.nearness.clone();
        let triangle = vec![NONE; nearness.len()];
        let mut tile = Tile { x: behind.x, y: behind.y, nearness, triangle, farthest: behind.farthest };
        self.draw_tile(&mut tile);
        tile
    }

    fn draw_tile<const S: usize>(&self, tile: &mut Tile<S>) {
        let idx = tile.y / TILE * self.columns + tile.x / TILE;
        // Front faces first: where they fill the tile, triangles hidden by them are skipped.
        for (everywhere, bins) in self.everywhere.iter().zip(&self.bins) {
            for &t in everywhere.iter().chain(&bins[idx]) {
                self.draw_triangle(tile, t);
            }
            tile.find_farthest();
        }
    }

    fn draw_triangle<const S: usize>(&self, tile: &mut Tile<S>, t: u32) {
        let c = self.triangles[t as usize].map(|v| self.corners[v as usize]);
        if c.iter().all(|c| c.nearness <= tile.farthest) {
            return;
        }
        let Some([x0, y0, x1, y1]) = self.pixel_bounds(t) else { return };
        let (x0, y0) = (x0.max(tile.x), y0.max(tile.y));
        let (x1, y1) = (x1.min(tile.x + TILE - 1), y1.min(tile.y + TILE - 1));
        if x0 > x1 || y0 > y1 {
            return;
        }
        let Some(sides) = Sides::new(&c) else { return };
        let whole_tile = x1 - x0 == TILE - 1 && y1 - y0 == TILE - 1;
        if whole_tile && sides.misses(tile) {
            return;
        }
        let cutout = self.rules.cutout.filter(|c| c.has_holes[t as usize]);
        let margin = self.rules.margin(t);
        let positions = sample_positions::<S>();
        for y in y0..=y1 {
            for (s, position) in positions.iter().enumerate() {
                let mut side = sides.at(x0 as f64 + position[0], y as f64 + position[1]);
                let first = ((y - tile.y) * TILE + (x0 - tile.x)) * S + s;
                for i in 0..=x1 - x0 {
                    if side[0] >= sides.least[0] && side[1] >= sides.least[1] && side[2] >= sides.least[2] {
                        let at = first + i * S;
                        let nearness = sides.nearness(&side);
                        let solid = || cutout.is_none_or(|c| (c.solid)(t, sides.shares(&side)));
                        let before = |now: f32| match margin {
                            Some(margin) if self.rules.is_outer(tile.triangle[at]) => {
                                nearness - now > margin * now * nearness
                            }
                            _ => nearness > now,
                        };
                        if before(tile.nearness[at]) && solid() {
                            tile.nearness[at] = nearness;
                            tile.triangle[at] = t;
                        }
                    }
                    side.iter_mut().zip(sides.step).for_each(|(side, step)| *side += step);
                }
            }
        }
        if whole_tile {
            tile.find_farthest();
        }
    }

    /// Barycentric coordinates in triangle `t` of a point of the screen: linear on the screen, summing to 1.
    pub fn shares(&self, t: u32, x: f64, y: f64) -> [f32; 3] {
        let c = self.triangles[t as usize].map(|v| self.corners[v as usize]);
        Sides::new(&c).map_or([1.0, 0.0, 0.0], |sides| sides.shares(&sides.at(x, y)))
    }

    /// Nearness of vertex `v`.
    pub(crate) fn nearness(&self, v: u32) -> f32 {
        self.corners[v as usize].nearness
    }

    /// Height of triangle `t` over each of its sides, in pixels.
    pub fn heights(&self, t: u32) -> [f32; 3] {
        let c = self.triangles[t as usize].map(|v| self.corners[v as usize]);
        let area = (c[1].x - c[0].x) * (c[2].y - c[0].y) - (c[2].x - c[0].x) * (c[1].y - c[0].y);
        std::array::from_fn(|k| {
            let (a, b) = (c[(k + 1) % 3], c[(k + 2) % 3]);
            (area.abs() / (b.x - a.x).hypot(b.y - a.y).max(1e-9)) as f32
        })
    }

    /// Whether triangle `t` turns its front (counter-clockwise side) to the viewer.
    pub(crate) fn faces_viewer(&self, t: u32) -> bool {
        let c = self.triangles[t as usize].map(|v| self.corners[v as usize]);
        // The y axis of the screen points down, which reverses the orientation.
        (c[1].x - c[0].x) * (c[2].y - c[0].y) - (c[2].x - c[0].x) * (c[1].y - c[0].y) < 0.0
    }
}

impl Rules<'_> {
    /// By how much triangle `t` must be nearer than outer skin, if it is lining.
    fn margin(&self, t: u32) -> Option<f32> {
        self.places.and_then(|(places, margin)| (places[t as usize] == Place::Lining).then_some(margin))
    }

    fn is_outer(&self, t: u32) -> bool {
        self.places.is_some_and(|(places, _)| places.get(t as usize) == Some(&Place::Outer))
    }
}

impl<const S: usize> Tile<S> {
    fn clear(&mut self, x: usize, y: usize) {
        (self.x, self.y, self.farthest) = (x, y, 0.0);
        self.nearness.clear();
        self.nearness.resize(TILE * TILE * S, 0.0);
        self.triangle.clear();
        self.triangle.resize(TILE * TILE * S, NONE);
    }

    fn find_farthest(&mut self) {
        // Sixteen independent minima, so that comparisons do not depend on the previous one.
        let mut least = [f32::MAX; 16];
        for chunk in self.nearness.chunks_exact(16) {
            for (l, &n) in least.iter_mut().zip(chunk) {
                *l = if n < *l { n } else { *l };
            }
        }
        self.farthest = least.into_iter().fold(f32::MAX, f32::min);
    }
}

/// The three edge functions of a triangle, positive inside: twice the area of the part opposite each corner.
struct Sides {
    origin: [[f64; 2]; 3],
    step: [f64; 3],
    down: [f64; 3],
    /// Smallest value that counts as inside: 0 for top-left sides, slightly more for others.
    least: [f64; 3],
    per_area: f64,
    near: [f64; 3],
}

impl Sides {
    fn new(c: &[Corner; 3]) -> Option<Self> {
        let area = (c[1].x - c[0].x) * (c[2].y - c[0].y) - (c[2].x - c[0].x) * (c[1].y - c[0].y);
        if area == 0.0 {
            return None;
        }
        let sign = area.signum();
        let mut sides = Self {
            origin: [[0.0; 2]; 3],
            step: [0.0; 3],
            down: [0.0; 3],
            least: [0.0; 3],
            per_area: 1.0 / area.abs(),
            near: c.map(|c| c.nearness as f64 / area.abs()),
        };
        for k in 0..3 {
            let (a, b) = (c[(k + 1) % 3], c[(k + 2) % 3]);
            sides.origin[k] = [a.x, a.y];
            sides.step[k] = -sign * (b.y - a.y);
            sides.down[k] = sign * (b.x - a.x);
            let owns = sides.step[k] > 0.0 || (sides.step[k] == 0.0 && sides.down[k] > 0.0);
            sides.least[k] = if owns { 0.0 } else { f64::MIN_POSITIVE };
        }
        Some(sides)
    }

    fn at(&self, x: f64, y: f64) -> [f64; 3] {
        std::array::from_fn(|k| {
            (x - self.origin[k][0]) * self.step[k] + (y - self.origin[k][1]) * self.down[k]
        })
    }

    /// Whether the triangle lies outside the tile, or behind all of its samples.
    fn misses<const S: usize>(&self, tile: &Tile<S>) -> bool {
        let (x, y, size) = (tile.x as f64, tile.y as f64, TILE as f64);
        let corners =
            [(x, y), (x + size, y), (x, y + size), (x + size, y + size)].map(|(x, y)| self.at(x, y));
        let beside = (0..3).any(|k| corners.iter().all(|side| side[k] < 0.0));
        beside || corners.iter().all(|side| self.nearness(side) <= tile.farthest)
    }

    fn shares(&self, side: &[f64; 3]) -> [f32; 3] {
        side.map(|s| (s * self.per_area) as f32)
    }

    fn nearness(&self, side: &[f64; 3]) -> f32 {
        (side[0] * self.near[0] + side[1] * self.near[1] + side[2] * self.near[2]) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The triangle that is seen, of two that fill the picture at these distances from the camera plane.
    fn seen(distances: [f32; 2], places: Option<[Place; 2]>) -> u32 {
        let corner = |x, y, distance: f32| Corner::new(Vec2::new(x, y), 1.0 / distance);
        let corners: Vec<Corner> = distances
            .iter()
            .flat_map(|&d| [corner(0.0, 0.0, d), corner(0.0, 64.0, d), corner(64.0, 0.0, d)])
            .collect();
        let triangles = [[0, 1, 2], [3, 4, 5]];
        let rules = Rules { cutout: None, places: places.as_ref().map(|p| (&p[..], 0.04)) };
        let screen = Screen::of(16, 16, &corners, &triangles, 0..2, rules);
        screen.map_tiles::<1, _>(|tile| tile.triangle[8 * TILE + 8])[0]
    }

    #[test]
    fn lining_that_runs_a_little_through_the_skin_is_not_seen() {
        use Place::{Lining, Other, Outer};
        assert_eq!(seen([5.0, 4.98], None), 1, "the nearer one");
        for order in [[0, 1], [1, 0]] {
            let view = |distances: [f32; 2], places: [Place; 2]| {
                let shown = seen(order.map(|k| distances[k]), Some(order.map(|k| places[k])));
                order[shown as usize]
            };
            assert_eq!(view([5.0, 4.98], [Outer, Lining]), 0, "lining 0.02 before the skin");
            assert_eq!(view([5.0, 4.9], [Outer, Lining]), 1, "lining clearly before the skin");
            assert_eq!(view([5.0, 4.98], [Other, Lining]), 1, "lining before something else");
            assert_eq!(
                view([5.0, 4.98], [Outer, Other]),
                1,
                "an eye that pokes through a lid is an error to see"
            );
        }
    }
}
