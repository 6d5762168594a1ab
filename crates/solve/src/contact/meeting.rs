//! Which places of one surface can touch each other.
//!
//! On one surface, neighbors are close without being in contact, and so are the two sides of a lip or a lid.
//! Two points can touch if both hold:
//!
//! - the body can move them apart: the nodes that carry them differ enough (`LEVERAGE`). Points in one
//!   element, or in two that share most of their nodes, move together. They can hardly approach each other,
//!   and a push between them would crush the element instead.
//! - they belong to different sides of a slit. Either they *see* each other in one of the given poses: each
//!   lies in front of the other, along its normal, with air between them. Two sides of a lip never do, since
//!   each is behind the other; this holds up to the corner of a mouth, where both lips are close through the
//!   flesh. Or the path between them through the body is longer than [`TouchOptions::own_flesh`] and some
//!   pose separates them by more than [`TouchOptions::parted`]: parts of the lips that never face each other
//!   in these poses, such as rolled ones.
//!
//! Points that are not attached to the body cannot touch, because nothing could be moved.

use crate::contact::detect::{CollisionPair, TouchOptions};
use crate::contact::fans::Fans;
use crate::contact::planes::TetAttachment;
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{NO_NODE, Stencil};
use risorius_mesh::query::closest::closest_on_triangle;
use risorius_mesh::{TetMesh, within};

/// Least share of two points' weights that does not cancel in the difference of their displacements.
const LEVERAGE: f64 = 0.5;

/// Two points see each other if the cosines between both normals and the line of sight are above this.
const IN_SIGHT: f64 = 0.3;

/// Corners of a triangle that must be able to touch a point, so that the triangle can.
const MOST_CORNERS: usize = 2;

/// A point is behind a triangle if it is so by more than this, meters.
const BEHIND: f64 = 3e-4;

/// And straight behind if the cosine between the normal and the way to the point is below minus this. Points
/// beside a convex surface are behind the planes of its triangles too.
const STRAIGHT_BEHIND: f64 = 0.5;

/// Lips, lids and teeth are thinner than this, meters.
const MOST_BEHIND: f64 = 9e-3;

/// A surface in a pose that separates what can touch.
#[derive(Debug, Clone, Default)]
struct OpenPose {
    points: Vec<DVec3>,
    normals: Vec<DVec3>,
}

/// Decides which points of one surface can touch each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Meeting {
    poses: Vec<OpenPose>,
    through: ThroughBody,
    /// Of each surface point, the nodes of its tet and their weights.
    nodes: Vec<(Stencil, [f64; 4])>,
}

impl Meeting {
    /// `body`: tets, nodes in the neutral, surface points in several poses.
    pub(super) fn prepare(
        attachments: &[TetAttachment],
        rules: &[CollisionPair],
        fans: &Fans,
        (tets, rest, apart): (&[Stencil], &[DVec3], Vec<Vec<DVec3>>),
        options: &TouchOptions,
    ) -> Self {
        let open = |points: Vec<DVec3>| {
            let across = fans.across(&points);
            let normals = (0..points.len() as u32).map(|p| fans.normal(&across, p)).collect();
            OpenPose { points, normals }
        };
        let carried = |a: &TetAttachment| {
            tets.get(a.tet as usize).map_or(([NO_NODE; 4], [0.0; 4]), |tet| (*tet, a.weights))
        };
        Self {
            poses: apart.into_iter().map(open).collect(),
            through: ThroughBody::prepare(attachments, rules, tets, rest, options.own_flesh),
            nodes: attachments.iter().map(carried).collect(),
        }
    }

    /// Whether a point can touch a triangle of the same surface. The triangle is judged by most of its
    /// corners: one alone may be the corner of the mouth, which belongs to both sides.
    pub(super) fn meets(&self, point: u32, corners: [u32; 3], parted: f64) -> bool {
        if corners.contains(&point) {
            return false;
        }
        let meets = |&&other: &&u32| {
            let apart = self.sees(point, other)
                || !self.through.is_near(point, other) && self.parts(point, other, parted);
            apart && self.leverage(point, other) > LEVERAGE
        };
        corners.iter().filter(meets).take(MOST_CORNERS).count() == MOST_CORNERS
    }

    /// Whether a point is straight behind a triangle in the pose that parts most: the triangle is then the
    /// other side of the point's own lip, or the back of a tooth. Only needed where the overlap that poses
    /// have is not allowed: nothing else tells such a place from one that the point has passed. The place of
    /// the triangle that is closest in that pose decides, because triangles may be longer than lips are
    /// thick.
    pub(super) fn is_behind(&self, point: u32, corners: [u32; 3]) -> bool {
        let Some(OpenPose { points, .. }) = self.poses.last() else { return false };
        let [a, b, c] = corners.map(|v| points[v as usize]);
        let p = points[point as usize];
        let offset = p - closest_on_triangle(p, [a, b, c]).0;
        let (gap, distance) = ((b - a).cross(c - a).normalize_or_zero().dot(offset), offset.length());
        gap < -BEHIND && gap < -STRAIGHT_BEHIND * distance && distance < MOST_BEHIND
    }

    /// The share of the weights of two points that remains in the difference of their displacements, 0 to 1;
    /// 0 if one is not attached.
    fn leverage(&self, a: u32, b: u32) -> f64 {
        let [(mine, weights), (other, others)] = [a, b].map(|p| &self.nodes[p as usize]);
        if mine[0] == NO_NODE || other[0] == NO_NODE {
            return 0.0;
        }
        let (mut left, mut all) = (0.0, 0.0);
        for (node, &w) in mine.iter().zip(weights) {
            let same = other.iter().position(|n| n == node).map_or(0.0, |i| others[i]);
            left += (w - same).abs();
            all += w.abs() + same.abs();
        }
        for (_, w) in other.iter().zip(others).filter(|(node, _)| !mine.contains(node)) {
            left += w.abs();
            all += w.abs();
        }
        if all > 0.0 { left / all } else { 0.0 }
    }

    fn sees(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        self.poses.iter().any(|OpenPose { points, normals }| {
            let line = points[b] - points[a];
            let least = IN_SIGHT * line.length();
            normals[a].dot(line) > least && -normals[b].dot(line) > least
        })
    }

    fn parts(&self, a: u32, b: u32, distance: f64) -> bool {
        let far = |pose: &OpenPose| pose.points[a as usize].distance(pose.points[b as usize]) > distance;
        self.poses.iter().any(far)
    }
}

/// Which surface points are near each other along paths through the body.
#[derive(Debug, Clone, Default)]
struct ThroughBody {
    /// Of each surface point, the row of its node with the largest weight; `u32::MAX` for points that no pair
    /// needs.
    rows: Vec<u32>,
    n_rows: usize,
    /// A bit matrix, row by row.
    near: Vec<u64>,
}

impl ThroughBody {
    fn prepare(
        attachments: &[TetAttachment],
        rules: &[CollisionPair],
        tets: &[Stencil],
        rest: &[DVec3],
        reach: f64,
    ) -> Self {
        let heaviest = |point: u32| {
            let attachment = &attachments[point as usize];
            let tet = tets.get(attachment.tet as usize)?;
            let corner = (0..4).max_by(|&a, &b| attachment.weights[a].total_cmp(&attachment.weights[b]))?;
            Some(tet[corner])
        };
        let asked = rules.iter().filter(|rule| rule.same_surface);
        let mut points: Vec<u32> = asked
            .flat_map(|rule| rule.points.iter().chain(rule.triangles.iter().flatten()))
            .copied()
            .collect();
        points.sort_unstable();
        points.dedup();
        let mut nodes: Vec<u32> = points.iter().filter_map(|&p| heaviest(p)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let row_of = |node: u32| nodes.binary_search(&node).ok();
        let mut rows = vec![u32::MAX; attachments.len()];
        for &p in &points {
            rows[p as usize] = heaviest(p).and_then(row_of).map_or(u32::MAX, |row| row as u32);
        }
        let mesh = TetMesh { nodes: rest.to_vec(), tets: tets.to_vec() };
        let neighbors = mesh.neighbors();
        let words = nodes.len().div_ceil(64);
        let walk = |&start: &u32| {
            let mut bits = vec![0u64; words];
            let ways = |n: u32| {
                neighbors
                    .of(n as usize)
                    .iter()
                    .map(move |&m| (m, rest[n as usize].distance(rest[m as usize])))
            };
            for row in within(start, reach, ways).into_keys().filter_map(row_of) {
                bits[row / 64] |= 1 << (row % 64);
            }
            bits
        };
        let near: Vec<Vec<u64>> = nodes.par_iter().map(walk).collect();
        Self { rows, n_rows: nodes.len(), near: near.concat() }
    }

    /// Points that are not attached to the body count as near everything, because no path is known.
    fn is_near(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.rows[a as usize] as usize, self.rows[b as usize] as usize);
        a >= self.n_rows
            || b >= self.n_rows
            || self.near[a * self.n_rows.div_ceil(64) + b / 64] >> (b % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lip 3 mm thick whose front, seen from +z, is one long triangle.
    #[test]
    fn points_straight_behind_a_triangle_are_on_the_other_side_of_its_flesh() {
        let mm = |x: f64, y: f64, z: f64| 1e-3 * DVec3::new(x, y, z);
        let front = [mm(0.0, 0.0, 0.0), mm(20.0, 0.0, 0.0), mm(0.0, 6.0, 0.0)];
        let others = [
            (mm(1.0, 1.0, -3.0), true, "the back of the lip"),
            (mm(1.0, 1.0, -0.2), false, "a point that is a little deep"),
            (mm(1.0, 1.0, 3.0), false, "the other lip, in front"),
            (mm(-6.0, 1.0, -2.0), false, "beside the lip"),
            (mm(1.0, 1.0, -15.0), false, "farther behind than lips are thick"),
        ];
        for (point, is_behind, what) in others {
            let points = front.iter().copied().chain([point]).collect();
            let poses = vec![OpenPose::default(), OpenPose { points, normals: Vec::new() }];
            let meeting = Meeting { poses, ..Meeting::default() };
            assert_eq!(meeting.is_behind(3, [0, 1, 2]), is_behind, "{what}");
        }
    }
}
