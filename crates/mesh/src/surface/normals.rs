//! Smooth vertex normals of a moving mesh.
//!
//! The normal of a vertex is the normalized sum of the unit normals of its triangles, each weighted by its
//! angle there. So the result does not depend on the diagonal along which a flat quad was split. With area
//! weights, normals of triangulated quads would tilt toward the side with two triangles, and folds of skin
//! would show streaks. Slivers, whose normals are mostly rounding error, are down-weighted. Connectivity is
//! prepared once; a pose then takes one pass over triangles and one over vertices. Each vertex sums its
//! triangles in a fixed order, so the result does not depend on the number of threads. In: n positions. Out:
//! n unit vectors; a vertex without area gets +Y, never NaN. Triangles that are not finite are ignored.

use glam::{Vec3A, Vec4};
use rayon::prelude::*;

/// Vertices per parallel task.
const CHUNK: usize = 2048;
/// Twice the area over the squared longest side below which a triangle is down-weighted.
const SLIVER: f32 = 1e-3;

/// Connectivity for computing vertex normals, prepared once for a mesh.
#[derive(Debug, Clone)]
pub struct VertexNormals {
    triangles: Vec<[u32; 3]>,
    /// Corners at vertex v: `around[first[v]..first[v + 1]]`, each 4 times its triangle plus its index there.
    first: Vec<u32>,
    around: Vec<u32>,
}

impl VertexNormals {
    /// Prepares for `n_vertices` vertices joined by `triangles` (all indices below `n_vertices`).
    pub fn prepare(n_vertices: usize, triangles: &[[u32; 3]]) -> Self {
        let mut first = vec![0u32; n_vertices + 1];
        for &v in triangles.as_flattened() {
            first[v as usize + 1] += 1;
        }
        for v in 0..n_vertices {
            first[v + 1] += first[v];
        }
        let mut next = first.clone();
        let mut around = vec![0u32; 3 * triangles.len()];
        for (corner, &v) in triangles.as_flattened().iter().enumerate() {
            around[next[v as usize] as usize] = (corner / 3 * 4 + corner % 3) as u32;
            next[v as usize] += 1;
        }
        Self { triangles: triangles.to_vec(), first, around }
    }

    /// Normals of the mesh at `positions`.
    pub fn compute(&self, positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let mut normals = vec![[0.0; 3]; positions.len()];
        self.compute_into(positions, &mut normals);
        normals
    }

    /// As [`Self::compute`], into a buffer of the same length as `positions`.
    pub fn compute_into(&self, positions: &[[f32; 3]], normals: &mut [[f32; 3]]) {
        assert_eq!(positions.len() + 1, self.first.len());
        assert_eq!(positions.len(), normals.len());
        let facets: Vec<Facet> = self
            .triangles
            .par_iter()
            .with_min_len(CHUNK)
            .map(|t| Facet::of(t.map(|v| Vec3A::from(positions[v as usize]))))
            .collect();
        normals.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            for (i, normal) in out.iter_mut().enumerate() {
                let v = chunk * CHUNK + i;
                let sum: Vec3A = self.around[self.first[v] as usize..self.first[v + 1] as usize]
                    .iter()
                    .map(|&corner| {
                        let facet = &facets[corner as usize / 4];
                        facet.normal * facet.angles[corner as usize % 4]
                    })
                    .sum();
                // Scale first: the squares of a sum of sliver normals could underflow.
                let largest = sum.abs().max_element();
                let unit = if largest > 0.0 { (sum / largest).normalize_or_zero() } else { Vec3A::ZERO };
                *normal = if unit != Vec3A::ZERO { unit.into() } else { [0.0, 1.0, 0.0] };
            }
        });
    }
}

/// Contribution of a triangle to its corners.
struct Facet {
    /// Of unit length, shorter for slivers, zero where there is no area.
    normal: Vec3A,
    /// At the three corners; the fourth fills the register.
    angles: [f32; 4],
}

impl Facet {
    fn of([a, b, c]: [Vec3A; 3]) -> Self {
        let sides = [b - a, c - b, a - c];
        let largest = sides[0].abs().max(sides[1].abs()).max(sides[2].abs()).max_element();
        // Products of very small or very large sides would leave the range of f32. `max` ignores NaN; the
        // sum does not.
        if !(largest >= f32::MIN_POSITIVE && (sides[0] + sides[1] + largest).is_finite()) {
            return Self { normal: Vec3A::ZERO, angles: [0.0; 4] };
        }
        let [ab, bc, ca] = sides.map(|s| s * largest.recip());
        let cross = ca.cross(ab);
        let area = cross.length();
        let cosines = -Vec4::new(ab.dot(ca), bc.dot(ab), ca.dot(bc), 0.0);
        Self { normal: cross * area.max(SLIVER).recip(), angles: angles(area, cosines).to_array() }
    }
}

/// The angles (0 to pi) whose sines and cosines are proportional to `sine` (not negative) and `cosines`,
/// within 2e-5.
///
/// A polynomial (Abramowitz and Stegun 4.4.49) instead of the library function: several times as fast, and
/// the same on every machine.
fn angles(sine: f32, cosines: Vec4) -> Vec4 {
    let size = cosines.abs();
    let r = (size - sine) / (size + sine).max(Vec4::splat(f32::MIN_POSITIVE));
    let s = r * r;
    let turn = r * (0.999_866 + s * (-0.330_299_5 + s * (0.180_141 + s * (-0.085_133 + s * 0.020_835_1))));
    let acute = std::f32::consts::FRAC_PI_4 - turn;
    Vec4::select(cosines.cmplt(Vec4::ZERO), std::f32::consts::PI - acute, acute)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    #[test]
    fn octahedron_normals_point_outward_and_rotate_with_it() {
        let p = [[1.0f32, 0., 0.], [-1., 0., 0.], [0., 1., 0.], [0., -1., 0.], [0., 0., 1.], [0., 0., -1.]];
        let t = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
        let normals = VertexNormals::prepare(6, &t);
        for (n, v) in normals.compute(&p).iter().zip(&p) {
            assert!(Vec3::from(*n).distance(Vec3::from(*v)) < 1e-6);
        }
        let tiny = p.map(|v| v.map(|x| x * 1e-18));
        assert!(normals.compute(&tiny).iter().all(|n| (Vec3::from(*n).length() - 1.0).abs() < 1e-5));
    }

    #[test]
    fn lonely_and_degenerate_vertices_get_a_unit_normal() {
        let normals = VertexNormals::prepare(4, &[[0, 0, 1], [0, 1, 2]]);
        let out = normals.compute(&[[0.0; 3], [0.0; 3], [0.0; 3], [1.0; 3]]);
        assert!(out.iter().all(|n| n == &[0.0, 1.0, 0.0]));
    }

    #[test]
    fn angles_are_right_to_five_digits() {
        for i in 0..=1000 {
            let wanted = i as f32 / 1000.0 * std::f32::consts::PI;
            let found = angles(wanted.sin().max(0.0) * 7.0, Vec4::splat(wanted.cos() * 7.0)).x;
            assert!((found - wanted).abs() < 2e-5, "{found} {wanted}");
        }
    }

    #[test]
    fn the_diagonals_of_quads_do_not_matter() {
        // A bent strip of squares, its quads split along either diagonal.
        let n = 6;
        let p: Vec<[f32; 3]> = (0..n)
            .flat_map(|i| [0.0f32, 1.0, 2.0].map(|x| [x, (0.4 * i as f32).sin(), (0.4 * i as f32).cos()]))
            .collect();
        let cut = |other: fn(u32) -> bool| {
            let quads = (0..n - 1).flat_map(|i| (0..2).map(move |j| 3 * i + j));
            let triangles: Vec<[u32; 3]> = quads
                .flat_map(|q| {
                    let [a, b, c, d] = [q, q + 3, q + 4, q + 1];
                    if other(q) { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
                })
                .collect();
            VertexNormals::prepare(p.len(), &triangles).compute(&p)
        };
        let (one, other, mixed) = (cut(|_| true), cut(|_| false), cut(|q| q % 2 == 0));
        for ((a, b), c) in one.iter().zip(&other).zip(&mixed) {
            assert!(
                Vec3::from(*a).distance(Vec3::from(*b)) < 1e-4
                    && Vec3::from(*a).distance(Vec3::from(*c)) < 1e-4
            );
        }
    }

    #[test]
    fn slivers_and_broken_triangles_do_not_count() {
        // A square, a sliver perpendicular to it at one side, and a triangle with a corner that is not
        // finite.
        let p = [[0.0f32, 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.], [0.5, 0., 1e-6], [f32::NAN; 3]];
        let normals = VertexNormals::prepare(6, &[[0, 1, 2], [0, 2, 3], [0, 4, 1], [0, 1, 5]]);
        let out = normals.compute(&p);
        assert!(out[..4].iter().all(|n| Vec3::from(*n).distance(Vec3::Z) < 1e-2), "{out:?}");
        assert_eq!(out[5], [0.0, 1.0, 0.0]);
        let far = p.map(|v| v.map(|x| x * 1e25));
        assert!(normals.compute(&far)[..4].iter().all(|n| Vec3::from(*n).distance(Vec3::Z) < 1e-2));
    }
}
