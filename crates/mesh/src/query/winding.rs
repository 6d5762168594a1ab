//! Generalized winding numbers: how many times a triangle soup winds around a point.
//!
//! `w(q) = 1/(4 pi) * integral over the surface of (x - q).n / |x - q|^3`: 1 inside a closed surface, 0
//! outside, and a smooth value in between where the surface is open, doubled or self-intersecting. Near
//! triangles add their exact solid angle. Groups of triangles that are far away relative to their radius add
//! a Taylor expansion about their center [Barill18, Taylor expansions]. With `r = center - q` and the
//! harmonic parts M, Q of the surface's moments
//!     4 pi w ~ N.r / r^3  -  3 r.Mr / r^5  +  15 Q(r, r, r) / r^7
//! where N sums area normals, `M = integral of sym(d n)` and `Q = 1/2 integral of d d n`, d measured from the
//! center. Traces drop out of a harmonic function, so M and Q are made traceless, which leaves 6 and 10
//! numbers. In: n positions, m triangles. Out: about 230 bytes for each node of a tree of m/2 nodes. A query
//! in a head of 30k triangles takes 5 to 10 microseconds, 2 to 4 with `at_roughly`. A third order was tried:
//! it halves the error at the same distance, but its cost offsets the gain. Error below 1e-3 (see the tests).
//! Triangles without area or with corners that are not finite are ignored.

use crate::{Bvh, TriMesh};
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::f64::consts::PI;

/// Groups farther than this many of their radii are expanded: for errors below 1e-3, and below 1e-2.
const FAR: f64 = 3.4;
const FAR_ROUGHLY: f64 = 2.0;
/// Triangles thinner than this fraction of their longest side are ignored: their solid angle is rounding
/// noise.
const THIN: f64 = 1e-10;

/// The prepared surface of one pose; see the module.
#[derive(Debug, Clone, Default)]
pub struct WindingNumbers {
    groups: Vec<Group>,
    /// Triangles in the order of the groups.
    pub(crate) corners: Vec<[Vec3; 3]>,
}

/// A node of the tree with the moments of its triangles.
#[derive(Debug, Clone, Default)]
struct Group {
    center: DVec3,
    /// Squared distance of the farthest corner.
    radius_sq: f64,
    /// Sum of area normals.
    normal: DVec3,
    /// Traceless second-order form: xx, yy, zz, xy, xz, yz (off-diagonals doubled).
    square: [f64; 6],
    /// Traceless cubic form: xxx, yyy, zzz, xxy, xxz, yyx, yyz, zzx, zzy, xyz.
    cubic: [f64; 10],
    /// The triangles, and the next group when this one's subtree is skipped.
    first: u32,
    count: u32,
    skip: u32,
    is_leaf: bool,
}

impl WindingNumbers {
    /// Prepares `triangles` (vertex numbers below `positions.len()`).
    pub fn prepare(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Self {
        let has_area = |t: &&[u32; 3]| {
            let [a, b, c] = t.map(|v| Vec3::from(positions[v as usize]).as_dvec3());
            let longest_sq =
                (b - a).length_squared().max((c - a).length_squared()).max((c - b).length_squared());
            (b - a).cross(c - a).length() > THIN * longest_sq
        };
        let triangles: Vec<[u32; 3]> = triangles.iter().filter(has_area).copied().collect();
        let tree = Bvh::build(positions, &triangles);
        let mut groups = vec![Group::default(); tree.nodes.len()];
        // Children follow their parent, so that in reverse order both are known.
        for n in (0..groups.len()).rev() {
            let node = &tree.nodes[n];
            let is_leaf = node.count > 0;
            let (first, count, skip) = if is_leaf {
                (node.first, node.count, n as u32 + 1)
            } else {
                let (left, right) = (&groups[n + 1], &groups[node.first as usize]);
                (left.first, left.count + right.count, right.skip)
            };
            groups[n] = Group { first, count, skip, is_leaf, ..Group::default() };
        }
        groups.par_iter_mut().for_each(|group| {
            let range = group.first as usize..(group.first + group.count) as usize;
            group.sum_moments(&tree.corners[range]);
        });
        Self { groups, corners: tree.corners }
    }

    /// Prepares a surface in meters; its positions are rounded to f32.
    pub fn of(surface: &TriMesh) -> Self {
        Self::prepare(&surface.positions_f32(), &surface.triangles)
    }

    /// The winding number at `q`; 0 if `q` is not finite or so far away that its powers overflow.
    pub fn at(&self, q: DVec3) -> f64 {
        self.expanded_beyond(FAR, q)
    }

    /// As [`Self::at`] in about half the time, with errors below 1e-2: enough to distinguish inside from
    /// outside.
    pub(crate) fn at_roughly(&self, q: DVec3) -> f64 {
        self.expanded_beyond(FAR_ROUGHLY, q)
    }

    fn expanded_beyond(&self, radii: f64, q: DVec3) -> f64 {
        if !q.is_finite() || q.abs().max_element() > 1e60 {
            return 0.0;
        }
        let (mut near, mut far, mut n) = (HalfAngles::default(), 0.0, 0);
        while let Some(group) = self.groups.get(n) {
            let r = group.center - q;
            if r.length_squared() > group.radius_sq * (radii * radii) {
                far += group.expansion(r);
            } else if group.is_leaf {
                let range = group.first as usize..(group.first + group.count) as usize;
                self.corners[range].iter().for_each(|c| near.add(q, c));
            } else {
                n += 1;
                continue;
            }
            n = group.skip as usize;
        }
        (2.0 * near.sum() + far) / (4.0 * PI)
    }

    /// [`Self::at`] for many points, on all threads.
    pub fn at_all(&self, points: &[DVec3]) -> Vec<f64> {
        points.par_iter().with_min_len(64).map(|&q| self.at(q)).collect()
    }

    /// [`Self::at`] by the definition, without the tree; the reference for tests.
    pub fn at_by_definition(&self, q: DVec3) -> f64 {
        self.corners.iter().map(|c| half_solid_angle(q, c)).sum::<f64>() / (2.0 * PI)
    }
}

/// Volume (six times, signed) and denominator whose quotient is the tangent of half the solid angle of a
/// triangle seen from `q`, positive from behind.
fn tangent(q: DVec3, corners: &[Vec3; 3]) -> (f64, f64) {
    let [a, b, c] = corners.map(|p| p.as_dvec3() - q);
    // From edge vectors, not corners: no cancellation where the triangle is small or near.
    let volume = a.dot((b - a).cross(c - a));
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    (volume, la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb)
}

/// Half the signed solid angle; 0 in the triangle's own plane.
fn half_solid_angle(q: DVec3, corners: &[Vec3; 3]) -> f64 {
    let (volume, denominator) = tangent(q, corners);
    if volume == 0.0 { 0.0 } else { volume.atan2(denominator) }
}

/// A sum of half solid angles. Small ones are accumulated as a product of complex numbers `1 + i tan`, since
/// an arc tangent costs more than the rest of a triangle.
struct HalfAngles {
    sum: f64,
    re: f64,
    im: f64,
}

impl Default for HalfAngles {
    fn default() -> Self {
        Self { sum: 0.0, re: 1.0, im: 0.0 }
    }
}

impl HalfAngles {
    fn add(&mut self, q: DVec3, corners: &[Vec3; 3]) {
        let (volume, denominator) = tangent(q, corners);
        if denominator > 0.0 && volume.abs() <= denominator {
            // Both angles are at most 45 degrees, so their sum is unambiguous.
            let t = volume / denominator;
            (self.re, self.im) = (self.re - self.im * t, self.im + self.re * t);
            // Also keeps the product from overflowing.
            if self.im.abs() > self.re || self.re > 1e100 {
                self.sum = self.sum();
                (self.re, self.im) = (1.0, 0.0);
            }
        } else if volume != 0.0 {
            self.sum += volume.atan2(denominator);
        }
    }

    fn sum(&self) -> f64 {
        self.sum + self.im.atan2(self.re)
    }
}

impl Group {
    fn sum_moments(&mut self, triangles: &[[Vec3; 3]]) {
        let area_normal = |[a, b, c]: [DVec3; 3]| (b - a).cross(c - a) * 0.5;
        let (mut weighted, mut total) = (DVec3::ZERO, 0.0);
        for t in triangles {
            let t = t.map(|p| p.as_dvec3());
            let area = area_normal(t).length();
            weighted += (t[0] + t[1] + t[2]) * (area / 3.0);
            total += area;
        }
        self.center = if total > 0.0 { weighted / total } else { triangles[0][0].as_dvec3() };
        let mut radius_sq: f64 = 0.0;
        let mut v = DVec3::ZERO;
        for t in triangles {
            let d = t.map(|p| p.as_dvec3() - self.center);
            radius_sq = d.iter().fold(radius_sq, |r, d| r.max(d.length_squared()));
            let n = area_normal(d);
            let middle = (d[0] + d[1] + d[2]) / 3.0;
            self.normal += n;
            add_square(&mut self.square, middle, n);
            // The mean of d d^T over the triangle: (sum over the corners + 9 times that of the center) / 12.
            let mean = |i: usize, j: usize| {
                (d.iter().map(|d| d[i] * d[j]).sum::<f64>() + 9.0 * middle[i] * middle[j]) / 12.0
            };
            let s = [mean(0, 0), mean(1, 1), mean(2, 2), mean(0, 1), mean(0, 2), mean(1, 2)].map(|m| 0.5 * m);
            add_cubic(&mut self.cubic, &s, n);
            let s_n = DVec3::new(
                s[0] * n.x + s[3] * n.y + s[4] * n.z,
                s[3] * n.x + s[1] * n.y + s[5] * n.z,
                s[4] * n.x + s[5] * n.y + s[2] * n.z,
            );
            v += 2.0 * s_n + (s[0] + s[1] + s[2]) * n;
        }
        self.radius_sq = radius_sq;
        let third = (self.square[0] + self.square[1] + self.square[2]) / 3.0;
        self.square[..3].iter_mut().for_each(|m| *m -= third);
        // Subtracts (v.r) r^2 / 5 from the cubic form.
        let v = v / 5.0;
        let traces = [v.x, v.y, v.z, v.y, v.z, v.x, v.z, v.x, v.y, 0.0];
        self.cubic.iter_mut().zip(traces).for_each(|(q, t)| *q -= t);
    }

    /// 4 pi times the winding number of the group at the point `center - r`.
    fn expansion(&self, r: DVec3) -> f64 {
        let (x, y, z) = (r.x, r.y, r.z);
        let (xx, yy, zz) = (x * x, y * y, z * z);
        let m = &self.square;
        let square = m[0] * xx + m[1] * yy + m[2] * zz + m[3] * x * y + m[4] * x * z + m[5] * y * z;
        let q = &self.cubic;
        let cubic = xx * (q[0] * x + q[3] * y + q[4] * z)
            + yy * (q[1] * y + q[5] * x + q[6] * z)
            + zz * (q[2] * z + q[7] * x + q[8] * y)
            + q[9] * x * y * z;
        let inverse_sq = 1.0 / (xx + yy + zz);
        let inverse_cube = inverse_sq * inverse_sq.sqrt();
        inverse_cube * (self.normal.dot(r) + inverse_sq * (15.0 * inverse_sq * cubic - 3.0 * square))
    }
}

fn add_square(m: &mut [f64; 6], d: DVec3, n: DVec3) {
    let form = [
        d.x * n.x,
        d.y * n.y,
        d.z * n.z,
        d.x * n.y + d.y * n.x,
        d.x * n.z + d.z * n.x,
        d.y * n.z + d.z * n.y,
    ];
    m.iter_mut().zip(form).for_each(|(m, f)| *m += f);
}

/// Adds the product of the forms `r.s r` (xx, yy, zz, xy, xz, yz) and `n.r`.
fn add_cubic(q: &mut [f64; 10], s: &[f64; 6], n: DVec3) {
    let [xx, yy, zz, xy, xz, yz] = *s;
    let form = [
        xx * n.x,
        yy * n.y,
        zz * n.z,
        xx * n.y + 2.0 * xy * n.x,
        xx * n.z + 2.0 * xz * n.x,
        yy * n.x + 2.0 * xy * n.y,
        yy * n.z + 2.0 * yz * n.y,
        zz * n.x + 2.0 * xz * n.z,
        zz * n.y + 2.0 * yz * n.z,
        2.0 * (xy * n.z + xz * n.y + yz * n.x),
    ];
    q.iter_mut().zip(form).for_each(|(q, f)| *q += f);
}
