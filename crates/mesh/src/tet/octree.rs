//! A grid of cubes, each refined as an octree, balanced two to one across faces and edges.
//!
//! [`crate::tet::lattice`] fills the cubes with tetrahedra. Cubes are split by the caller's decision, level
//! by level; then any cube that shares a face or an edge with one more than a level finer is split too.
//! Balancing goes from fine to coarse and creates only cubes coarser than the one it visits, so it
//! terminates. Memory: 24 bytes for each cube. A place is an integer position in units of half the finest
//! cube that [`MAX_LEVEL`] allows, so that equal points are exactly equal.

use glam::{DVec3, UVec3};
use rayon::prelude::*;

/// Largest number of refinement levels below the grid.
pub(crate) const MAX_LEVEL: u32 = 8;
/// Largest number of grid cubes along an axis, so that places fit in 21 bits.
pub(crate) const MAX_CUBES: u32 = 1 << (21 - MAX_LEVEL - 2);

/// Largest number of cubes of all levels; their lattice takes about 300 bytes for each.
pub(crate) const MAX_TOTAL: usize = 1 << 22;

/// A cube of some level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cube {
    /// Position in units of cubes of its own level.
    pub at: UVec3,
    /// 0 for the grid.
    pub level: u32,
    /// The first of eight children, or 0 for a leaf.
    pub children: u32,
    /// Contains no part of the domain.
    pub outside: bool,
    /// How many more times [`Octree::split_marked`] may split it and its descendants.
    pub budget: u8,
}

/// What to do with a cube.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Too coarse.
    Split,
    /// Fine enough.
    Keep,
    /// Contains no part of the domain.
    Outside,
}

/// The refined grid.
#[derive(Debug, Clone)]
pub struct Octree {
    /// Lowest corner of the grid.
    pub origin: DVec3,
    /// Side of the grid's cubes.
    pub side: f64,
    /// Cubes of the grid along each axis.
    pub n: UVec3,
    /// All cubes, parents before children.
    pub cubes: Vec<Cube>,
}

impl Octree {
    /// Grows the tree over `n` cubes (at most [`MAX_CUBES`] an axis). `decide` is called with a cube's
    /// center and side. `None` if the tree would exceed [`MAX_TOTAL`].
    pub fn grow(
        origin: DVec3,
        side: f64,
        n: UVec3,
        budget: u8,
        decide: &(impl Fn(DVec3, f64) -> Decision + Sync),
    ) -> Option<Self> {
        let mut tree = Self { origin, side, n, cubes: Vec::new() };
        for (z, y, x) in (0..n.z).flat_map(|z| (0..n.y).flat_map(move |y| (0..n.x).map(move |x| (z, y, x)))) {
            tree.cubes.push(Cube { at: UVec3::new(x, y, z), level: 0, children: 0, outside: false, budget });
        }
        let mut level = 0..tree.cubes.len();
        while !level.is_empty() {
            let decisions: Vec<Decision> = tree.cubes[level.clone()]
                .par_iter()
                .map(|cube| {
                    decide(tree.position(tree.center(cube)), tree.side / f64::from(1u32 << cube.level))
                })
                .collect();
            let next = tree.cubes.len();
            if next + 8 * decisions.iter().filter(|&&d| d == Decision::Split).count() > MAX_TOTAL {
                return None;
            }
            for (c, decision) in level.zip(decisions) {
                match decision {
                    Decision::Split if tree.cubes[c].level < MAX_LEVEL => tree.split(c),
                    Decision::Outside => tree.cubes[c].outside = true,
                    _ => {}
                }
            }
            level = next..tree.cubes.len();
        }
        tree.balance();
        Some(tree)
    }

    /// Splits the marked leaves that still have a budget, and balances. Returns how many were split.
    pub(crate) fn split_marked(&mut self, marked: &[u32]) -> usize {
        let mut n_split = 0;
        for &c in marked {
            let cube = &mut self.cubes[c as usize];
            if cube.children == 0 && cube.budget > 0 && cube.level < MAX_LEVEL {
                cube.budget -= 1;
                self.split(c as usize);
                n_split += 1;
            }
        }
        self.balance();
        n_split
    }

    fn split(&mut self, c: usize) {
        let parent = self.cubes[c];
        self.cubes[c].children = self.cubes.len() as u32;
        for i in 0..8 {
            let corner = UVec3::new(i & 1, i >> 1 & 1, i >> 2);
            self.cubes.push(Cube {
                at: parent.at * 2 + corner,
                level: parent.level + 1,
                children: 0,
                ..parent
            });
        }
    }

    fn balance(&mut self) {
        let mut of_level: Vec<Vec<u32>> = vec![Vec::new(); MAX_LEVEL as usize + 1];
        for (c, cube) in self.cubes.iter().enumerate() {
            of_level[cube.level as usize].push(c as u32);
        }
        for level in (2..=MAX_LEVEL as usize).rev() {
            for c in std::mem::take(&mut of_level[level]) {
                for step in neighbors_by_face_or_edge() {
                    let cube = self.cubes[c as usize];
                    while let Some(found) = self.neighbor(&cube, step) {
                        if self.cubes[found].level as usize + 1 >= level {
                            break;
                        }
                        let first = self.cubes.len() as u32;
                        self.split(found);
                        of_level[self.cubes[found].level as usize + 1].extend(first..first + 8);
                    }
                }
            }
        }
    }

    /// The cube of the same level next to `cube`, or the larger leaf there; `None` outside the grid.
    pub fn neighbor(&self, cube: &Cube, step: [i32; 3]) -> Option<usize> {
        let mut at = [0u32; 3];
        for k in 0..3 {
            at[k] = cube.at[k].checked_add_signed(step[k]).filter(|&a| a < self.n[k] << cube.level)?;
        }
        let root = at.map(|a| a >> cube.level);
        let mut c = ((root[2] * self.n.y + root[1]) * self.n.x + root[0]) as usize;
        for level in (0..cube.level).rev() {
            let Cube { children, .. } = self.cubes[c];
            if children == 0 {
                break;
            }
            let [x, y, z] = at.map(|a| a >> level & 1);
            c = (children + x + 2 * y + 4 * z) as usize;
        }
        Some(c)
    }

    /// Side of a cube in place units.
    pub fn units(&self, cube: &Cube) -> u32 {
        2 << (MAX_LEVEL - cube.level)
    }

    /// Place of a cube's lowest corner.
    pub fn corner(&self, cube: &Cube) -> UVec3 {
        cube.at * self.units(cube)
    }

    /// Place of a cube's center.
    pub fn center(&self, cube: &Cube) -> UVec3 {
        self.corner(cube) + self.units(cube) / 2
    }

    /// Position of a place, in meters.
    pub fn position(&self, place: UVec3) -> DVec3 {
        self.origin + place.as_dvec3() * (self.side / f64::from(2u32 << MAX_LEVEL))
    }
}

/// The 18 steps to cubes that share a face or an edge.
fn neighbors_by_face_or_edge() -> impl Iterator<Item = [i32; 3]> {
    let steps = (0..27).map(|i| [i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1]);
    steps.filter(|s: &[i32; 3]| matches!(s.iter().map(|k| k.abs()).sum(), 1 | 2))
}
