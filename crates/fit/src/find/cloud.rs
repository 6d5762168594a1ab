//! Oriented points of a mesh: one for each small cell of space and direction, as many as a search can afford.
//!
//! Triangles are sampled at most a cell apart. All samples of a cell whose normals lie in the same octant are
//! averaged, weighted by area, so that a noisy scan of millions of triangles and a coarse rig give clouds of
//! the same density, and the two sides of a thin sheet stay apart. Normals are then averaged over neighbors.
//! The result does not depend on the number of threads.

use glam::{DVec3, IVec3};
use risorius_mesh::{Bvh, TriMesh};
use std::collections::HashMap;

/// Most samples along a side of a triangle.
const MOST: usize = 64;

/// Oriented points, and a grid to find neighbors.
#[derive(Debug, Clone, Default)]
pub struct Cloud {
    /// Positions.
    pub points: Vec<DVec3>,
    /// Unit normals.
    pub normals: Vec<DVec3>,
    /// Size of the cells, about the distance between neighbors.
    pub cell: f64,
    grid: HashMap<IVec3, Vec<u32>>,
}

impl Cloud {
    /// The cloud of the triangles of `mesh` that have a corner for which `inside` holds. `normals` are those
    /// of the vertices.
    pub fn of(mesh: &TriMesh, normals: &[DVec3], cell: f64, inside: impl Fn(DVec3) -> bool) -> Self {
        let mut slots: HashMap<(IVec3, u8), usize> = HashMap::new();
        let mut sums: Vec<(DVec3, DVec3, f64)> = Vec::new();
        for t in &mesh.triangles {
            let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
            if ![a, b, c].into_iter().any(&inside) {
                continue;
            }
            let area = 0.5 * (b - a).cross(c - a).length();
            let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
            let n = ((longest / cell).ceil() as usize).clamp(1, MOST);
            let share = area / (n * n) as f64;
            for [u, v] in barycenters(n) {
                let w = 1.0 - u - v;
                let p = a * w + b * u + c * v;
                let [na, nb, nc] = t.map(|k| normals[k as usize]);
                let normal = na * w + nb * u + nc * v;
                let key = (cell_of(p, cell), octant(normal));
                let slot = *slots.entry(key).or_insert_with(|| {
                    sums.push((DVec3::ZERO, DVec3::ZERO, 0.0));
                    sums.len() - 1
                });
                let sum = &mut sums[slot];
                *sum = (sum.0 + p * share, sum.1 + normal * share, sum.2 + share);
            }
        }
        sums.retain(|s| s.2 > 0.0 && s.1 != DVec3::ZERO && s.0.is_finite() && s.1.is_finite());
        let points = sums.iter().map(|s| s.0 / s.2).collect();
        let normals = sums.iter().map(|s| s.1.normalize_or_zero()).collect();
        let mut cloud = Self::from_points(points, normals, cell);
        cloud.smooth();
        cloud
    }

    /// A cloud of given points; `cell` is about the distance between neighbors.
    pub fn from_points(points: Vec<DVec3>, normals: Vec<DVec3>, cell: f64) -> Self {
        let mut cloud = Self { points, normals, cell, grid: HashMap::new() };
        cloud.index();
        cloud
    }

    /// The points for which `keep` holds.
    pub fn filtered(&self, keep: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.points.len()).filter(|&i| keep(i)).collect();
        let take = |of: &[DVec3]| kept.iter().map(|&i| of[i]).collect();
        Self::from_points(take(&self.points), take(&self.normals), self.cell)
    }

    /// The same points with opposite normals.
    pub fn flipped(&self) -> Self {
        Self { normals: self.normals.iter().map(|n| -*n).collect(), ..self.clone() }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// A tree over the points; vertex i of it is point i.
    pub fn tree(&self) -> Bvh {
        let flat: Vec<[f32; 3]> = self.points.iter().map(|p| p.as_vec3().to_array()).collect();
        Bvh::of_points(&flat)
    }

    /// Calls `visit` with the points within `radius` of `p`.
    pub fn near(&self, p: DVec3, radius: f64, mut visit: impl FnMut(usize, f64)) {
        let size = GRID * self.cell;
        let [low, high] = [p - radius, p + radius].map(|q| cell_of(q, size));
        for x in low.x..=high.x {
            for y in low.y..=high.y {
                for z in low.z..=high.z {
                    for &i in self.grid.get(&IVec3::new(x, y, z)).into_iter().flatten() {
                        let distance = self.points[i as usize].distance(p);
                        if distance <= radius {
                            visit(i as usize, distance);
                        }
                    }
                }
            }
        }
    }

    fn index(&mut self) {
        self.grid.clear();
        for (i, &p) in self.points.iter().enumerate() {
            self.grid.entry(cell_of(p, GRID * self.cell)).or_default().push(i as u32);
        }
    }

    /// Averages normals over the neighbors that face the same way.
    fn smooth(&mut self) {
        let smoothed = (0..self.len()).map(|i| {
            let own = self.normals[i];
            let mut sum = own;
            self.near(self.points[i], 1.6 * self.cell, |j, _| {
                let other = self.normals[j];
                if other.dot(own) > 0.3 {
                    sum += other;
                }
            });
            sum.normalize_or_zero()
        });
        self.normals = smoothed.collect();
    }
}

/// Edge of the cells of the search grid, in cells of the cloud.
const GRID: f64 = 2.0;

fn cell_of(p: DVec3, size: f64) -> IVec3 {
    (p / size).floor().as_ivec3()
}

fn octant(n: DVec3) -> u8 {
    u8::from(n.x > 0.0) | u8::from(n.y > 0.0) << 1 | u8::from(n.z > 0.0) << 2
}

/// Centers of the n^2 equal triangles that divide a triangle, as weights of its second and third corner.
fn barycenters(n: usize) -> impl Iterator<Item = [f64; 2]> {
    let step = 1.0 / n as f64;
    (0..n).flat_map(move |i| {
        (0..2 * (n - i) - 1).map(move |k| {
            let (j, third) = ((k / 2) as f64, if k % 2 == 0 { 1.0 / 3.0 } else { 2.0 / 3.0 });
            [(i as f64 + third) * step, (j + third) * step]
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barycenters_divide_a_triangle_evenly() {
        for n in [1, 2, 5] {
            let all: Vec<[f64; 2]> = barycenters(n).collect();
            assert_eq!(all.len(), n * n);
            let mean = |k: usize| all.iter().map(|b| b[k]).sum::<f64>() / all.len() as f64;
            assert!((mean(0) - 1.0 / 3.0).abs() < 1e-12 && (mean(1) - 1.0 / 3.0).abs() < 1e-12);
            assert!(all.iter().all(|b| b[0] > 0.0 && b[1] > 0.0 && b[0] + b[1] < 1.0));
        }
    }

    #[test]
    fn both_sides_of_a_sheet_stay_apart_and_neighbors_are_found() {
        let positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(1.0, 1.0, 0.0)];
        let mut mesh = TriMesh { positions, triangles: vec![[0, 1, 2], [1, 3, 2]] };
        mesh.positions.extend(mesh.positions.clone());
        mesh.triangles.extend([[4, 6, 5], [5, 6, 7]]);
        let cloud = Cloud::of(&mesh, &mesh.vertex_normals(), 0.1, |_| true);
        assert!(cloud.len() > 150 && cloud.len() < 260, "{}", cloud.len());
        assert!(cloud.normals.iter().all(|n| n.z.abs() > 0.999));
        let mut near = 0;
        cloud.near(DVec3::new(0.5, 0.5, 0.0), 0.15, |_, d| near += usize::from(d <= 0.15));
        let all = cloud.points.iter().filter(|p| p.distance(DVec3::new(0.5, 0.5, 0.0)) <= 0.15).count();
        assert_eq!(near, all);
    }
}
