//! The surface of a mesh that may be a head: finite, connected, seen from outside.
//!
//! Coincident vertices count as one, so that soups of triangles are connected. Pieces are ordered by area;
//! floating shells and specks are dropped. Positions are centered and scaled so that the robust diagonal of
//! the largest piece is [`SIZE`], which makes every tolerance independent of the file's unit.

use crate::FitError;
use crate::find::cloud::Cloud;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_mesh::surface::components;
use risorius_mesh::{Bvh, FileMesh, TriMesh};
use std::collections::HashMap;

/// Diagonal of the largest piece after scaling.
pub const SIZE: f64 = 0.4;

/// Pieces hide what is behind them if they have this fraction of the area of the largest.
const HIDES: f64 = 0.003;

/// A connected piece of a mesh, centered and scaled.
#[derive(Debug, Clone)]
pub struct Surface {
    /// Positions are `(p - center) * factor`.
    pub mesh: TriMesh,
    /// Unit normals of the vertices.
    pub normals: Vec<DVec3>,
    /// Center in the coordinates of the file.
    pub center: DVec3,
    /// Scale from the file.
    pub factor: f64,
    /// All that can hide the surface, in the same coordinates: eyeballs and teeth are pieces of their own.
    hiding: Bvh,
}

/// What was left out of a mesh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Triangles with corners that are not finite.
    pub n_not_finite: usize,
    /// Triangles without area.
    pub n_degenerate: usize,
    /// Connected pieces that are too small to matter.
    pub n_pieces: usize,
}

/// The connected pieces with at least `least` of the area of the largest, largest first.
pub fn pieces(mesh: &FileMesh, least: f64) -> Result<(Vec<Surface>, LeftOut), FitError> {
    let mut left = LeftOut::default();
    let n = mesh.positions.len();
    let mut of_key: HashMap<[u32; 3], u32> = HashMap::with_capacity(n);
    let same: Vec<u32> = (0..n as u32)
        .map(|v| *of_key.entry(mesh.positions[v as usize].map(|x| (x + 0.0).to_bits())).or_insert(v))
        .collect();
    drop(of_key);
    let mut good: Vec<[u32; 3]> = Vec::with_capacity(mesh.triangles.len());
    for t in &mesh.triangles {
        if t.iter().any(|&v| v as usize >= n || !Vec3::from(mesh.positions[v as usize]).is_finite()) {
            left.n_not_finite += 1;
            continue;
        }
        let t = t.map(|v| same[v as usize]);
        if area(mesh, t) > 0.0 { good.push(t) } else { left.n_degenerate += 1 }
    }
    if good.is_empty() {
        return Err(FitError::NoSurface { n_vertices: n, n_triangles: mesh.triangles.len() });
    }
    let parts = components::of_triangles(n, &good);
    let mut areas = vec![0.0; parts.sizes.len()];
    good.iter().for_each(|t| areas[parts.of_vertex[t[0] as usize] as usize] += area(mesh, *t));
    let mut order: Vec<usize> = (0..areas.len()).filter(|&p| areas[p] > 0.0).collect();
    order.sort_by(|a, b| areas[*b].total_cmp(&areas[*a]).then(a.cmp(b)));
    let largest = areas[order[0]];
    left.n_pieces = order.iter().filter(|&&p| areas[p] < least * largest).count();
    let solid: Vec<[u32; 3]> = good
        .iter()
        .filter(|t| areas[parts.of_vertex[t[0] as usize] as usize] >= HIDES * largest)
        .copied()
        .collect();
    order.retain(|&p| areas[p] >= least * largest);
    order.truncate(8);
    let found = order.iter().map(|&p| {
        let own: Vec<[u32; 3]> =
            good.iter().filter(|t| parts.of_vertex[t[0] as usize] as usize == p).copied().collect();
        surface(mesh, own, &solid)
    });
    Ok((found.collect(), left))
}

fn area(mesh: &FileMesh, t: [u32; 3]) -> f64 {
    let [a, b, c] = t.map(|v| mesh.at(v));
    0.5 * (b - a).cross(c - a).length()
}

/// One piece, centered and scaled by its box without the outermost hundredth of vertices on each side.
fn surface(all: &FileMesh, mut triangles: Vec<[u32; 3]>, solid: &[[u32; 3]]) -> Surface {
    let mut used: Vec<u32> = triangles.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let mut new_of_old: HashMap<u32, u32> = HashMap::with_capacity(used.len());
    new_of_old.extend(used.iter().enumerate().map(|(new, &old)| (old, new as u32)));
    triangles.iter_mut().for_each(|t| *t = t.map(|v| new_of_old[&v]));
    let places: Vec<DVec3> = used.iter().map(|&v| all.at(v)).collect();
    let mut ends = [DVec3::ZERO; 2];
    for axis in 0..3 {
        let mut values: Vec<f64> = places.iter().map(|p| p[axis]).collect();
        values.sort_by(f64::total_cmp);
        let trim = values.len() / 100;
        (ends[0][axis], ends[1][axis]) = (values[trim], values[values.len() - 1 - trim]);
    }
    let center = (ends[0] + ends[1]) / 2.0;
    let factor = SIZE / ends[0].distance(ends[1]).max(f64::MIN_POSITIVE);
    let positions = places.iter().map(|p| (*p - center) * factor).collect();
    let mesh = TriMesh { positions, triangles };
    let normals = mesh.vertex_normals();
    let place = |v: usize| ((all.at(v as u32) - center) * factor).as_vec3().to_array();
    let hiding = Bvh::build(&(0..all.positions.len()).map(place).collect::<Vec<_>>(), solid);
    Surface { mesh, normals, center, factor, hiding }
}

impl Surface {
    /// The cloud of what can be seen from outside, for cells of a size: three of five rays from a point,
    /// about its normal, leave the surface without meeting it again. Also for the other side, if triangles are
    /// wound inward.
    pub fn seen(&self, cell: f64) -> [Cloud; 2] {
        let cloud = Cloud::of(&self.mesh, &self.normals, cell, |_| true);
        [cloud.clone(), cloud.flipped()].map(|cloud| self.visible(cloud))
    }

    /// The points of a cloud that can be seen from outside.
    pub fn visible(&self, cloud: Cloud) -> Cloud {
        let lift = (0.3 * cloud.cell).max(0.001 * SIZE);
        let open: Vec<bool> = (0..cloud.len())
            .into_par_iter()
            .map(|i| is_open(&self.hiding, cloud.points[i], cloud.normals[i], lift))
            .collect();
        cloud.filtered(|i| open[i])
    }
}

fn is_open(tree: &Bvh, p: DVec3, normal: DVec3, lift: f64) -> bool {
    let (u, v) = normal.any_orthonormal_pair();
    let tilted = [DVec3::ZERO, u, -u, v, -v].map(|t| (normal + 0.7 * t).normalize());
    let start = p + normal * lift;
    tilted.iter().filter(|d| tree.ray(start, **d, 10.0 * SIZE).is_none()).count() >= 3
}
