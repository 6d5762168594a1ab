//! Closest points and rays against a [`Bvh`].
//!
//! Boxes nearer than the best result so far are visited, nearest first; distances to triangles are computed
//! in f64. Rays are watertight: edge tests are antisymmetric in floating point, so a ray through a shared
//! edge hits at least one of its triangles. Ties are broken by the lower triangle or vertex index, not by the
//! tree. Query points that are not finite find nothing.

use crate::query::bvh::{Bvh, Stack};
use glam::{DVec3, Vec3};

/// A point of a mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closest {
    /// Index of the triangle.
    pub triangle: u32,
    /// Barycentric weights of the point: not negative, sum 1.
    pub barycentric: [f64; 3],
    /// The point.
    pub point: DVec3,
    /// Squared distance to the query.
    pub distance_sq: f64,
}

/// A hit of a ray on a mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RayHit {
    /// Index of the triangle.
    pub triangle: u32,
    /// Barycentric weights of the point.
    pub barycentric: [f64; 3],
    /// Distance along the ray, in lengths of its direction vector.
    pub distance: f64,
    /// The ray hits the back side of the triangle (it leaves a closed surface there).
    pub from_behind: bool,
}

impl Bvh {
    /// The point of the mesh closest to `p`, if one is within `max_distance` (infinity for any).
    pub fn closest_point(&self, p: DVec3, max_distance: f64) -> Option<Closest> {
        self.closest_of(p, max_distance, |_| true, |_| true)
    }

    /// The point closest to `p` within `max_distance` on the triangles that `accept` takes, given by index
    /// and vertices.
    pub fn closest_within(
        &self,
        p: DVec3,
        max_distance: f64,
        accept: impl Fn(u32, [u32; 3]) -> bool,
    ) -> Option<Closest> {
        self.closest_tested(p, max_distance, accept, |_, _| true)
    }

    /// The point closest to `p` within `max_distance` on the triangles that both tests take, given by index
    /// and vertices. `costly` is asked only about triangles nearer than the best so far.
    pub fn closest_tested(
        &self,
        p: DVec3,
        max_distance: f64,
        quick: impl Fn(u32, [u32; 3]) -> bool,
        costly: impl Fn(u32, [u32; 3]) -> bool,
    ) -> Option<Closest> {
        let of = |slot: usize| self.triangles[slot];
        self.closest_of(
            p,
            max_distance,
            |slot| quick(of(slot).0, of(slot).1),
            |slot| costly(of(slot).0, of(slot).1),
        )
    }

    /// The point closest to `p` on the triangles that `accept` takes.
    pub(crate) fn closest_where(&self, p: DVec3, accept: impl Fn(u32) -> bool) -> Option<Closest> {
        self.closest_of(p, f64::INFINITY, |slot| accept(self.triangles[slot].0), |_| true)
    }

    /// The tests take leaf positions.
    fn closest_of(
        &self,
        p: DVec3,
        max_distance: f64,
        quick: impl Fn(usize) -> bool,
        costly: impl Fn(usize) -> bool,
    ) -> Option<Closest> {
        let mut best: Option<Closest> = None;
        self.nearest_first(p, max_distance, |slot, limit_sq| {
            if !quick(slot) {
                return limit_sq;
            }
            let (point, barycentric) = closest_on_triangle(p, self.corners[slot].map(|c| c.as_dvec3()));
            let (triangle, distance_sq) = (self.triangles[slot].0, point.distance_squared(p));
            let better = match &best {
                None => distance_sq <= limit_sq,
                Some(b) => {
                    distance_sq < b.distance_sq || (distance_sq == b.distance_sq && triangle < b.triangle)
                }
            };
            if better && costly(slot) {
                best = Some(Closest { triangle, barycentric, point, distance_sq });
            }
            best.map_or(limit_sq, |b| b.distance_sq)
        });
        best
    }

    /// The corner of the mesh closest to `p`, as vertex and squared distance, if one is within
    /// `max_distance`.
    pub fn closest_vertex(&self, p: DVec3, max_distance: f64) -> Option<(u32, f64)> {
        let mut best: Option<(u32, f64)> = None;
        self.nearest_first(p, max_distance, |slot, limit_sq| {
            for (&v, corner) in self.triangles[slot].1.iter().zip(self.corners[slot]) {
                let distance_sq = corner.as_dvec3().distance_squared(p);
                let better = match best {
                    None => distance_sq <= limit_sq,
                    Some((u, d)) => distance_sq < d || (distance_sq == d && v < u),
                };
                if better {
                    best = Some((v, distance_sq));
                }
            }
            best.map_or(limit_sq, |b| b.1)
        });
        best
    }

    /// Whether the mesh comes within `distance` of `p`: [`Self::closest_point`] that ends with the first hit.
    pub fn comes_within(&self, p: DVec3, distance: f64) -> bool {
        self.any_within(p, distance, |slot| {
            closest_on_triangle(p, self.corners[slot].map(|c| c.as_dvec3())).0.distance_squared(p)
        })
    }

    /// Whether a corner of the mesh is within `distance` of `p`: [`Self::closest_vertex`] that ends with the
    /// first hit.
    pub fn has_vertex_within(&self, p: DVec3, distance: f64) -> bool {
        let nearest = |corners: [Vec3; 3]| {
            corners.iter().map(|c| c.as_dvec3().distance_squared(p)).fold(f64::INFINITY, f64::min)
        };
        self.any_within(p, distance, |slot| nearest(self.corners[slot]))
    }

    /// Whether the squared distance of a leaf position is within `distance`.
    fn any_within(&self, p: DVec3, distance: f64, distance_sq: impl Fn(usize) -> f64) -> bool {
        let mut found = false;
        self.nearest_first(p, distance, |slot, limit_sq| {
            found = found || distance_sq(slot) <= limit_sq;
            // No box is nearer than this, so the search ends.
            if found { -1.0 } else { limit_sq }
        });
        found
    }

    /// Visits leaves, nearer boxes first, while their box is within the squared distance that `visit`
    /// returns.
    fn nearest_first(&self, p: DVec3, max_distance: f64, mut visit: impl FnMut(usize, f64) -> f64) {
        let mut limit_sq = max_distance * max_distance;
        if !p.is_finite() || limit_sq.is_nan() {
            return;
        }
        let away = |n: usize| self.nodes[n].bounds.distance_sq(p);
        // 64 levels are enough for any number of triangles.
        let mut stack = [(0, 0.0); 64];
        let mut len = 0;
        let mut next = (!self.nodes.is_empty()).then(|| (0, away(0)));
        while let Some((n, distance_sq)) = next {
            let node = &self.nodes[n];
            let mut nearer = None;
            if distance_sq > limit_sq {
                // A nearer triangle was found since this box was pushed.
            } else if node.count > 0 {
                for slot in node.first as usize..(node.first + node.count) as usize {
                    limit_sq = visit(slot, limit_sq);
                }
            } else {
                let (left, right) = (n + 1, node.first as usize);
                let [left, right] = [(left, away(left)), (right, away(right))];
                let (near, far) = if left.1 <= right.1 { (left, right) } else { (right, left) };
                if far.1 <= limit_sq {
                    stack[len] = far;
                    len += 1;
                }
                nearer = Some(near);
            }
            next = nearer.or_else(|| {
                len = len.checked_sub(1)?;
                Some(stack[len])
            });
        }
    }

    /// The first triangle that the ray hits at a distance from 0 to `max_distance` lengths of `direction`.
    pub fn ray(&self, origin: DVec3, direction: DVec3, max_distance: f64) -> Option<RayHit> {
        let ray = Ray::new(origin, direction)?;
        let mut limit = max_distance;
        let mut best: Option<RayHit> = None;
        let mut stack = Stack::new(self.nodes.len());
        while let Some(n) = stack.pop() {
            let node = &self.nodes[n];
            if !ray.meets_box(node.bounds.min, node.bounds.max, limit) {
                continue;
            }
            if node.count == 0 {
                // Nearer child first, along the ray's direction.
                let (left, right) = (n + 1, node.first as usize);
                let middle = |i: usize| {
                    (self.nodes[i].bounds.min.as_dvec3() + self.nodes[i].bounds.max.as_dvec3()).dot(direction)
                };
                let left_first = middle(left) <= middle(right);
                stack.push(if left_first { right } else { left });
                stack.push(if left_first { left } else { right });
                continue;
            }
            for slot in node.first as usize..(node.first + node.count) as usize {
                let triangle = self.triangles[slot].0;
                let Some(hit) = ray.meets(self.corners[slot], triangle) else { continue };
                let nearer = hit.distance < limit
                    || (hit.distance == limit && best.is_none_or(|b| triangle < b.triangle));
                if nearer {
                    limit = hit.distance;
                    best = Some(hit);
                }
            }
        }
        best
    }
}

/// The point of triangle `abc` closest to `p`, and its barycentric weights. A triangle without area is
/// treated as a segment or a point.
pub fn closest_on_triangle(p: DVec3, [a, b, c]: [DVec3; 3]) -> (DVec3, [f64; 3]) {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let normal = ab.cross(ac);
    let area_sq = normal.length_squared();
    if area_sq > 0.0 {
        let v = ap.cross(ac).dot(normal) / area_sq;
        let w = ab.cross(ap).dot(normal) / area_sq;
        if v >= 0.0 && w >= 0.0 && v + w <= 1.0 {
            return (a + ab * v + ac * w, [1.0 - v - w, v, w]);
        }
    }
    // Outside, the closest point lies on an edge.
    let on_edge = |from: DVec3, to: DVec3| {
        let along = to - from;
        let t = (p - from).dot(along) / along.length_squared();
        let t = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) };
        (from + along * t, t)
    };
    let ((x, t), (y, u), (z, v)) = (on_edge(a, b), on_edge(b, c), on_edge(c, a));
    let candidates = [(x, [1.0 - t, t, 0.0]), (y, [0.0, 1.0 - u, u]), (z, [v, 0.0, 1.0 - v])];
    let nearer = |i: usize, j: usize| {
        if candidates[j].0.distance_squared(p) < candidates[i].0.distance_squared(p) { j } else { i }
    };
    candidates[nearer(nearer(0, 1), 2)]
}

/// A ray, with the shear that maps its direction to its largest axis.
struct Ray {
    origin: DVec3,
    inverse: DVec3,
    axes: [usize; 3],
    shear: DVec3,
}

impl Ray {
    fn new(origin: DVec3, direction: DVec3) -> Option<Self> {
        let z = direction.abs().max_position();
        if !(origin.is_finite() && direction.is_finite() && direction[z] != 0.0) {
            return None;
        }
        // Swapping two axes keeps the winding when the ray runs in the negative direction.
        let (mut x, mut y) = ((z + 1) % 3, (z + 2) % 3);
        if direction[z] < 0.0 {
            std::mem::swap(&mut x, &mut y);
        }
        let shear = DVec3::new(direction[x] / direction[z], direction[y] / direction[z], 1.0 / direction[z]);
        Some(Self { origin, inverse: direction.recip(), axes: [x, y, z], shear })
    }

    fn meets_box(&self, min: Vec3, max: Vec3, limit: f64) -> bool {
        let (mut near, mut far) = (0.0f64, limit);
        for k in 0..3 {
            let (low, high) = (f64::from(min[k]) - self.origin[k], f64::from(max[k]) - self.origin[k]);
            if !self.inverse[k].is_finite() {
                // Parallel to these sides of the box; 0 times infinity would be NaN.
                if low > 0.0 || high < 0.0 {
                    return false;
                }
                continue;
            }
            let (a, b) = (low * self.inverse[k], high * self.inverse[k]);
            // The widening covers rounding.
            near = near.max(a.min(b) * (1.0 - 1e-15));
            far = far.min(a.max(b) * (1.0 + 1e-15));
        }
        near <= far
    }

    fn meets(&self, corners: [Vec3; 3], triangle: u32) -> Option<RayHit> {
        let [x, y, z] = self.axes;
        let [a, b, c] = corners.map(|p| {
            let p = p.as_dvec3() - self.origin;
            [p[x] - self.shear.x * p[z], p[y] - self.shear.y * p[z], self.shear.z * p[z]]
        });
        let side = |p: [f64; 3], q: [f64; 3]| p[0] * q[1] - p[1] * q[0];
        let weights = [side(b, c), side(c, a), side(a, b)];
        if weights.iter().any(|&w| w < 0.0) && weights.iter().any(|&w| w > 0.0) {
            return None;
        }
        let sum: f64 = weights.iter().sum();
        let distance = (weights[0] * a[2] + weights[1] * b[2] + weights[2] * c[2]) / sum;
        // A ray in the plane of the triangle has sum 0 and does not hit it.
        (sum != 0.0 && distance >= 0.0).then(|| RayHit {
            triangle,
            barycentric: weights.map(|w| w / sum),
            distance,
            from_behind: sum > 0.0,
        })
    }
}
