//! A graded lattice of well-shaped tetrahedra: the background mesh of [`crate::tet::stuffing`].
//!
//! Body-centered cubic: every leaf of a balanced [`Octree`] has a node at its center and at its corners. For
//! two leaves of the same size, both centers and each edge of their common face form a tet, with all dihedral
//! angles 60 or 90 degrees. An edge with a midpoint, because a finer cube touches it, halves its tet. Where
//! sizes change, the coarse cube connects its center to the eight triangles of the divided face, and each
//! fine cube splits its pyramid in two along the same diagonals, so that faces always match [Labelle07,
//! graded grids]. Departure from bisecting tets: sizes are powers of two apart, but uniform regions have the
//! best-shaped tets. In: an octree. Out: nodes ascending by place, tets in the order of cubes; the same for
//! any number of threads.

use crate::tet::octree::{Cube, Octree};
use glam::{DVec3, UVec3};
use rayon::prelude::*;

/// Nodes and tets of an octree, without the tets between outside cubes.
#[derive(Debug, Clone, Default)]
pub struct Lattice {
    /// The place of each node packed into a sortable number; see [`place_of`].
    pub keys: Vec<u64>,
    /// Node positions.
    pub nodes: Vec<DVec3>,
    /// Four nodes each, positively oriented.
    pub tets: Vec<[u32; 4]>,
    /// The one or two leaves that each tet lies in.
    pub cubes: Vec<[u32; 2]>,
}

/// Unpacks a key to the place, in the octree's integer units.
pub(crate) fn place_of(key: u64) -> UVec3 {
    let part = |shift: u32| (key >> shift & 0x1f_ffff) as u32;
    UVec3::new(part(0), part(21), part(42))
}

fn key_of(place: UVec3) -> u64 {
    u64::from(place.x) | u64::from(place.y) << 21 | u64::from(place.z) << 42
}

impl Lattice {
    /// The lattice of a balanced octree.
    pub fn of(tree: &Octree) -> Self {
        let found: Vec<Vec<([u64; 4], [u32; 2])>> = tree
            .cubes
            .par_iter()
            .enumerate()
            .with_min_len(256)
            .filter(|(_, cube)| cube.children == 0)
            .map(|(c, cube)| tets_of_cube(tree, c as u32, cube))
            .collect();
        let mut keys: Vec<u64> = found.iter().flatten().flat_map(|(tet, _)| *tet).collect();
        keys.par_sort_unstable();
        keys.dedup();
        let number = |key: u64| keys.partition_point(|&k| k < key) as u32;
        let flat: Vec<&([u64; 4], [u32; 2])> = found.iter().flatten().collect();
        let tets = flat.par_iter().map(|(tet, _)| tet.map(number)).collect();
        let nodes = keys.iter().map(|&key| tree.position(place_of(key))).collect();
        let cubes = flat.iter().map(|(_, cubes)| *cubes).collect();
        Self { keys, nodes, tets, cubes }
    }
}

/// The tets that cube `c` generates: those toward finer and coarser neighbors, and toward equal ones in the
/// positive directions.
fn tets_of_cube(tree: &Octree, c: u32, cube: &Cube) -> Vec<([u64; 4], [u32; 2])> {
    let mut tets = Vec::new();
    let center = tree.center(cube);
    let mut emit = |tet: [UVec3; 4], cubes: [u32; 2]| tets.push((oriented(tet).map(key_of), cubes));
    for axis in 0..3 {
        for sign in [-1i32, 1] {
            let mut step = [0; 3];
            step[axis] = sign;
            let Some(other) = tree.neighbor(cube, step) else { continue };
            let (o, neighbor) = (other as u32, &tree.cubes[other]);
            if cube.outside && (neighbor.outside || neighbor.level < cube.level || neighbor.children != 0) {
                continue;
            }
            let face = face_corners(tree, cube, axis, sign);
            let middle = (face[0] + face[2]) / 2;
            if neighbor.level < cube.level {
                let far_center = tree.center(neighbor);
                let hub = |p: &UVec3| (0..3).all(|k| k == axis || p[k] == far_center[k]);
                // Always found: the large face's center is a corner of each of its quarters.
                let k = face.iter().position(hub).unwrap_or(0);
                let at = |i: usize| face[(k + i) % 4];
                emit([center, at(0), at(1), at(2)], [c, c]);
                emit([center, at(0), at(2), at(3)], [c, c]);
            } else if neighbor.children != 0 {
                for i in 0..4 {
                    let (p, q) = (face[i], face[(i + 1) % 4]);
                    emit([center, middle, p, (p + q) / 2], [c, c]);
                    emit([center, middle, (p + q) / 2, q], [c, c]);
                }
            } else if sign > 0 {
                let far_center = tree.center(neighbor);
                for i in 0..4 {
                    let (p, q) = (face[i], face[(i + 1) % 4]);
                    if edge_is_halved(tree, cube, step, p, q, middle) {
                        emit([center, far_center, p, (p + q) / 2], [c, o]);
                        emit([center, far_center, (p + q) / 2, q], [c, o]);
                    } else {
                        emit([center, far_center, p, q], [c, o]);
                    }
                }
            }
        }
    }
    tets
}

/// The corners of a face in order around it.
fn face_corners(tree: &Octree, cube: &Cube, axis: usize, sign: i32) -> [UVec3; 4] {
    let (low, side) = (tree.corner(cube), tree.units(cube));
    [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[u, v]| {
        let mut p = low;
        p[axis] += if sign > 0 { side } else { 0 };
        p[(axis + 1) % 3] += u * side;
        p[(axis + 2) % 3] += v * side;
        p
    })
}

/// Whether a finer cube touches the edge `pq` of the face around `middle` that `cube` shares with its equal
/// at `step`.
fn edge_is_halved(tree: &Octree, cube: &Cube, step: [i32; 3], p: UVec3, q: UVec3, middle: UVec3) -> bool {
    let mut aside = [0; 3];
    for k in 0..3 {
        // The edge is offset from the center of the face in one direction only.
        aside[k] = (i64::from(p[k]) + i64::from(q[k]) - 2 * i64::from(middle[k])).signum() as i32;
    }
    let both = [0, 1, 2].map(|k| aside[k] + step[k]);
    let is_finer = |s: [i32; 3]| {
        tree.neighbor(cube, s)
            .is_some_and(|n| tree.cubes[n].level == cube.level && tree.cubes[n].children != 0)
    };
    is_finer(aside) || is_finer(both)
}

/// The same corners with positive volume.
fn oriented([a, b, c, d]: [UVec3; 4]) -> [UVec3; 4] {
    let from_a = |p: UVec3| p.as_dvec3() - a.as_dvec3();
    if from_a(b).dot(from_a(c).cross(from_a(d))) < 0.0 { [a, c, b, d] } else { [a, b, c, d] }
}
