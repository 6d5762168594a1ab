//! The triangles around each point of a surface, and smooth normals from them.

use glam::DVec3;
use rayon::prelude::*;

/// The weighted sum of the values at three corners.
pub(super) fn blended(values: &[DVec3], corners: [u32; 3], barycentric: [f64; 3]) -> DVec3 {
    corners.iter().zip(barycentric).map(|(&v, b)| values[v as usize] * b).sum()
}

/// The triangles around each point.
#[derive(Debug, Clone, Default)]
pub(super) struct Fans {
    triangles: Vec<[u32; 3]>,
    first: Vec<u32>,
    around: Vec<u32>,
}

impl Fans {
    pub(super) fn prepare(n_points: usize, triangles: Vec<[u32; 3]>) -> Self {
        let mut first = vec![0u32; n_points + 1];
        triangles.iter().flatten().for_each(|&p| first[p as usize + 1] += 1);
        (0..n_points).for_each(|p| first[p + 1] += first[p]);
        let mut next = first.clone();
        let mut around = vec![0; 3 * triangles.len()];
        for (t, corners) in triangles.iter().enumerate() {
            for &p in corners {
                around[next[p as usize] as usize] = t as u32;
                next[p as usize] += 1;
            }
        }
        Self { triangles, first, around }
    }

    /// The area vector of each triangle, twice its area long.
    pub(super) fn across(&self, positions: &[DVec3]) -> Vec<DVec3> {
        self.triangles.par_iter().with_min_len(1024).map(|&corners| across(positions, corners)).collect()
    }

    fn around(&self, point: u32) -> &[u32] {
        &self.around[self.first[point as usize] as usize..self.first[point as usize + 1] as usize]
    }

    /// The unit normal at a point from the area vectors of all triangles; zero without triangles.
    pub(super) fn normal(&self, across: &[DVec3], point: u32) -> DVec3 {
        self.around(point).iter().map(|&t| across[t as usize]).sum::<DVec3>().normalize_or_zero()
    }

    /// The same from the positions of points, for few of them.
    pub(super) fn normal_of(&self, positions: &[DVec3], point: u32) -> DVec3 {
        let of_triangle = |&t: &u32| across(positions, self.triangles[t as usize]);
        self.around(point).iter().map(of_triangle).sum::<DVec3>().normalize_or_zero()
    }

    /// The interpolated unit normal on a triangle.
    pub(super) fn normal_at(&self, positions: &[DVec3], corners: [u32; 3], barycentric: [f64; 3]) -> DVec3 {
        let at = |(v, b): (u32, f64)| self.normal_of(positions, v) * b;
        corners.into_iter().zip(barycentric).map(at).sum::<DVec3>().normalize_or_zero()
    }
}

/// The area vector of a triangle, twice its area long.
pub(super) fn across(positions: &[DVec3], corners: [u32; 3]) -> DVec3 {
    let [a, b, c] = corners.map(|v| positions[v as usize]);
    (b - a).cross(c - a)
}
