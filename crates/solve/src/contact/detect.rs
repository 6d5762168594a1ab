//! Contact detection: a body's surface against itself, against parts that only the pose moves (teeth, eyes),
//! and against obstacles.
//!
//! The surface is the skin that the artist sees. The pose gives each point a position, and the body displaces
//! it from there. For each point of a collision pair, the closest place on the pair's triangles is found. The
//! gap is measured along the smooth normal at that place and is negative behind the surface. Overlap that the
//! pose itself has is allowed: a contact permits the penetration depth that its point, or the place it
//! touches, has without displacement. A pose without displacement is therefore never pushed.
//!
//! A place counts only if it faces the point: the lining of the mouth is not in contact with the gum that it
//! is attached to from behind. Within one surface, neighbors are close without being in contact, and so are
//! the two sides of a lip or a lid. There, a place counts only if the path to it through the body is longer
//! than [`TouchOptions::own_flesh`] and some pose separates it from the point.
//!
//! A point cannot be deeper than it and the place have moved towards each other. A deeper result is another
//! side of the same flesh, found around an edge, and is ignored. Other deep points are pushed out at
//! [`TouchOptions::out_speed`].
//!
//! Limits: points against triangles only, no edge-edge tests. Overlaps of the pose deeper than
//! [`TouchOptions::rest_reach`] are not found.

use crate::contact::obstacle::Obstacle;
use crate::contact::planes::{Carriers, Contact, TetAttachment};
use crate::step::body::Configuration;
use crate::{SolveError, check_length, check_values};
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{NO_NODE, Stencil};
use risorius_mesh::{Bvh, TetMesh, within};

/// Points that must not pass through triangles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CollisionPair {
    /// Surface points that must not pass.
    pub points: Vec<u32>,
    /// Corners are surface points; normals point outwards.
    pub triangles: Vec<[u32; 3]>,
    /// Points and triangles belong to one surface, so neighbors are not in contact.
    pub same_surface: bool,
}

/// The penetration depth up to which points are not pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// The depth that the pose itself has: a pose without displacement is never pushed.
    #[default]
    OfPose,
    /// Zero: overlaps of the pose are pushed out too.
    None,
}

/// Options of contact detection and response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TouchOptions {
    /// Pressure per penetration depth, Pa/m.
    pub stiffness: f64,
    /// Depth beyond the pose's own overlap that is never reached, meters; infinite for a pure penalty.
    pub wall: f64,
    /// Speed at which a point that is too deep is pushed out, m/s. Without this limit, a point that suddenly
    /// finds itself deep, as at the edge of a tooth, would be flung out.
    pub out_speed: f64,
    /// Largest penetration depth that is detected, meters.
    pub reach: f64,
    /// Search distance for overlaps and clearances of a pose, meters.
    pub rest_reach: f64,
    /// Within one surface, only places farther away than this through the body count, meters.
    pub own_flesh: f64,
    /// Within one surface, only places that some pose separates by more than this count, meters.
    pub parted: f64,
    /// The overlap that is allowed.
    pub overlap: Overlap,
}

impl Default for TouchOptions {
    fn default() -> Self {
        Self {
            stiffness: 3e7,
            wall: 1e-4,
            out_speed: 0.09,
            reach: 3e-3,
            rest_reach: 4e-3,
            own_flesh: 9e-3,
            parted: 5e-3,
            overlap: Overlap::OfPose,
        }
    }
}

/// Tolerance so that rounding does not push a pose without displacement, meters.
const SLACK: f64 = 1e-6;

/// Places farther away than this get no contact in a solve, meters. Within a step, points approach by a few
/// tenths of this.
const WATCHED: f64 = 6e-4;

/// A place faces a point if the cosine between their normals is below minus this.
const FACING: f64 = 0.2;

/// Error bound for the depths and clearances that [`Posed::between`] interpolates, meters.
const SLIP: f64 = 1e-4;

/// A wall is at least this factor times the depth that a point already has.
const BEHIND: f64 = 1.4;

/// A surface and its collision pairs, prepared for a body.
#[derive(Debug, Clone, Default)]
pub struct Touch {
    attachments: Vec<TetAttachment>,
    areas: Vec<f64>,
    rules: Vec<Watched>,
    fans: Fans,
    through: ThroughBody,
    apart: Vec<Vec<DVec3>>,
    /// Points that obstacles can push.
    open: Vec<u32>,
    options: TouchOptions,
    carriers: Carriers,
}

#[derive(Debug, Clone)]
struct Watched {
    rule: CollisionPair,
    tree: Bvh,
}

/// The place on a pair's triangles that is closest to a point.
#[derive(Debug, Clone, Copy)]
struct ClosestPlace {
    point: u32,
    corners: [u32; 3],
    barycentric: [f64; 3],
    normal: DVec3,
    gap: f64,
    distance: f64,
}

impl Touch {
    /// `areas`: surface area around each point, m^2. `body`: tets, nodes in the neutral, points in the
    /// neutral and in other poses that separate what can touch. `obstacles_push`: whether steps will have
    /// obstacles, which costs a little time at every point.
    pub fn prepare(
        attachments: Vec<TetAttachment>,
        areas: Vec<f64>,
        rules: Vec<CollisionPair>,
        body: (&[Stencil], &[DVec3], Vec<Vec<DVec3>>),
        obstacles_push: bool,
        options: TouchOptions,
    ) -> Result<Self, SolveError> {
        let (tets, rest, apart) = body;
        let n = attachments.len();
        check_length("areas of surface points", areas.len(), n)?;
        check_values("area of a surface point", areas.iter().copied())?;
        for pose in &apart {
            check_length("surface points in a pose", pose.len(), n)?;
        }
        let named = |rule: &CollisionPair| {
            rule.points.iter().chain(rule.triangles.iter().flatten()).all(|&p| (p as usize) < n)
        };
        check_length(
            "collision pairs with valid point indices",
            rules.iter().filter(|rule| named(rule)).count(),
            rules.len(),
        )?;
        let neutral = apart.first().cloned().unwrap_or_else(|| vec![DVec3::ZERO; n]);
        let flat = flattened(&neutral);
        let watch = |rule: CollisionPair| Watched { tree: Bvh::build(&flat, &rule.triangles), rule };
        let attached = |p: &u32| attachments[*p as usize].tet != TetAttachment::NONE;
        let open = if obstacles_push { (0..n as u32).filter(attached).collect() } else { Vec::new() };
        // Only points that can be in contact.
        let mut acting = vec![obstacles_push; n];
        rules
            .iter()
            .flat_map(|r| r.points.iter().chain(r.triangles.iter().flatten()))
            .for_each(|&p| acting[p as usize] = true);
        let used: Vec<TetAttachment> = attachments
            .iter()
            .zip(&acting)
            .map(|(a, &used)| if used { *a } else { TetAttachment::FIXED })
            .collect();
        Ok(Self {
            carriers: Carriers::prepare(&used, tets),
            fans: Fans::prepare(n, rules.iter().flat_map(|rule| rule.triangles.iter().copied()).collect()),
            through: ThroughBody::prepare(&attachments, &rules, tets, rest, options.own_flesh),
            rules: rules.into_iter().map(watch).collect(),
            attachments,
            areas,
            apart,
            open,
            options,
        })
    }

    /// Number of surface points.
    pub(crate) fn n_points(&self) -> usize {
        self.attachments.len()
    }

    /// How the points follow the body.
    pub fn attachments(&self) -> &[TetAttachment] {
        &self.attachments
    }

    /// Where contacts can act.
    pub fn carriers(&self) -> &Carriers {
        &self.carriers
    }

    /// The same surface with other options. Search structures are kept, so a new [`TouchOptions::own_flesh`]
    /// has no effect.
    pub fn with_options(&self, options: TouchOptions) -> Self {
        Self { options, ..self.clone() }
    }

    /// The options.
    pub fn options(&self) -> &TouchOptions {
        &self.options
    }

    /// Positions of the points when the body's nodes are at `x`.
    pub fn positions(&self, tets: &[Stencil], at: &Configuration, x: &[DVec3]) -> Vec<DVec3> {
        let one =
            |(base, attachment): (&DVec3, &TetAttachment)| *base + attachment.displacement(tets, x, &at.rest);
        at.surface.points.par_iter().zip(&self.attachments).with_min_len(2048).map(one).collect()
    }

    /// The pose with these point positions: finds its own overlaps and clearances.
    pub fn posed(&self, points: Vec<DVec3>) -> Posed {
        let mut depths = vec![0.0; points.len()];
        let mut clearances = vec![self.options.rest_reach; points.len()];
        for place in self.places(&points, |_| |_| Some(self.options.rest_reach)) {
            let point = place.point as usize;
            depths[point] = f64::max(depths[point], -place.gap);
            clearances[point] =
                f64::min(clearances[point], if place.gap < 0.0 { 0.0 } else { place.distance });
        }
        Posed { points, depths, clearances }
    }

    /// Contacts of the surface's collision pairs when the points are at `positions`, displaced from `pose`.
    pub fn find(&self, positions: &[DVec3], pose: &Posed) -> Vec<Contact> {
        let moved = |p: u32| positions[p as usize] - pose.points[p as usize];
        // Since the pose, a point and the pair's surface have approached each other by at most the largest
        // difference of their motions. The clearance has shrunk, and the overlap has grown, by no more than
        // that.
        let reach = |rule: &CollisionPair| {
            let all = || rule.triangles.iter().flatten().map(|&p| moved(p));
            let (low, high) =
                (all().fold(DVec3::INFINITY, DVec3::min), all().fold(DVec3::NEG_INFINITY, DVec3::max));
            move |point: u32| {
                let (own, p) = (moved(point), point as usize);
                let (clear, closer) =
                    (pose.clearances[p], (own - low).abs().max((own - high).abs()).length());
                let overlap = pose.depths[p] + closer - clear;
                // Without allowed overlap, a pose that is left alone is looked at too, at its own depth.
                let looks_at_pose = self.options.overlap == Overlap::None;
                let overlap = if looks_at_pose { overlap + SLIP } else { overlap };
                let can_touch = (closer > 0.0 || looks_at_pose) && clear - closer < WATCHED;
                can_touch.then(|| overlap.clamp(WATCHED, self.options.reach.max(WATCHED)))
            }
        };
        let watched = |place: ClosestPlace| {
            let room = place.gap + self.allowed(pose, place.point, place.corners, place.barycentric) + SLACK;
            let [a, b, c] = place.corners;
            let [u, v, w] = place.barycentric;
            // A depth larger than the approach means another side of the same flesh, found around an edge.
            let closer = (moved(place.point) - (moved(a) * u + moved(b) * v + moved(c) * w)).length();
            let p = place.point as usize;
            let own = if self.options.overlap == Overlap::None { pose.depths[p] } else { 0.0 };
            let possible = closer - pose.clearances[p] + own + SLIP;
            (room < WATCHED && room > -possible.max(0.0))
                .then(|| self.contact([place.point, a, b, c], [1.0, -u, -v, -w], place.normal, room))
        };
        self.places(positions, reach).into_iter().filter_map(watched).collect()
    }

    /// The allowed overlap of a point and a place: the largest that the pose has between the two, or of
    /// either with anything else.
    fn allowed(&self, pose: &Posed, point: u32, corners: [u32; 3], barycentric: [f64; 3]) -> f64 {
        if self.options.overlap == Overlap::None {
            return 0.0;
        }
        let there: f64 = corners.iter().zip(barycentric).map(|(&v, b)| pose.depths[v as usize] * b).sum();
        let normal = self.fans.normal_on(&pose.points, corners, barycentric);
        let between = -normal.dot(pose.points[point as usize] - blended(&pose.points, corners, barycentric));
        pose.depths[point as usize].max(there).max(between)
    }

    /// A contact that was found at `positions[0]` and `poses[0]`, updated to `positions[1]` and `poses[1]`.
    pub(crate) fn carried(&self, contact: &Contact, positions: [&[DVec3]; 2], poses: [&Posed; 2]) -> Contact {
        let along = |positions: &[DVec3]| -> f64 {
            let sides = contact.points.iter().zip(contact.coefficients);
            sides
                .map(|(&p, c)| if c == 0.0 { 0.0 } else { contact.normal.dot(positions[p as usize]) * c })
                .sum()
        };
        let mut room = contact.room + along(positions[1]) - along(positions[0]);
        if !contact.is_with_obstacle() {
            let ([point, corners @ ..], [_, weights @ ..]) = (contact.points, contact.coefficients);
            let [before, after] = poses.map(|pose| self.allowed(pose, point, corners, weights.map(|w| -w)));
            room += after - before;
        }
        Contact { room, wall: contact.wall.max(-BEHIND * room), ..*contact }
    }

    /// Contacts between the points at `positions` and obstacles.
    pub(crate) fn find_obstacles(&self, positions: &[DVec3], obstacles: &[Obstacle]) -> Vec<Contact> {
        let mut contacts: Vec<Contact> = Vec::new();
        for obstacle in obstacles {
            let near = |&p: &u32| {
                let (gap, normal) = obstacle.gap(positions[p as usize], self.options.reach)?;
                Some(self.contact([p; 4], [1.0, 0.0, 0.0, 0.0], normal, gap))
            };
            contacts.par_extend(self.open.par_iter().with_min_len(512).filter_map(near));
        }
        contacts
    }

    fn contact(&self, points: [u32; 4], coefficients: [f64; 4], normal: DVec3, room: f64) -> Contact {
        let stiffness = self.options.stiffness * self.areas[points[0] as usize];
        Contact { points, coefficients, normal, room, stiffness, wall: self.options.wall.max(-BEHIND * room) }
    }

    /// The contact as a step's solve uses it. The depth is clamped to what [`TouchOptions::out_speed`]
    /// removes in `dt_secs`, except for obstacles.
    pub(crate) fn pushed_out(&self, contact: &Contact, dt_secs: f64) -> Contact {
        let most = if contact.is_with_obstacle() { f64::INFINITY } else { self.options.out_speed * dt_secs };
        let room = contact.room.max(-most);
        Contact { room, wall: self.options.wall.max(-BEHIND * room), ..*contact }
    }

    /// For every point of every pair for which `reach` gives a search distance, the closest place that
    /// counts.
    fn places<F: Fn(u32) -> Option<f64> + Sync>(
        &self,
        positions: &[DVec3],
        reach: impl Fn(&CollisionPair) -> F + Sync,
    ) -> Vec<ClosestPlace> {
        let flat = flattened(positions);
        let by_rule = |Watched { rule, tree }: &Watched| {
            let reach = reach(rule);
            let asked: Vec<(u32, f64)> = rule.points.iter().filter_map(|&p| Some((p, reach(p)?))).collect();
            if asked.is_empty() {
                return Vec::new();
            }
            let mut tree = tree.clone();
            tree.refit(&flat);
            let nearest = |&(point, reach): &(u32, f64)| self.nearest(point, rule, &tree, positions, reach);
            asked.par_iter().with_min_len(64).filter_map(nearest).collect::<Vec<_>>()
        };
        self.rules.par_iter().flat_map(by_rule).collect()
    }

    fn nearest(
        &self,
        point: u32,
        rule: &CollisionPair,
        tree: &Bvh,
        positions: &[DVec3],
        reach: f64,
    ) -> Option<ClosestPlace> {
        let p = positions[point as usize];
        let own = self.fans.normal(positions, point);
        let parts = |other: u32| {
            let distance = |pose: &Vec<DVec3>| pose[point as usize].distance(pose[other as usize]);
            self.apart.iter().any(|pose| distance(pose) > self.options.parted)
        };
        let meets = |other: u32| !self.through.is_near(point, other) && parts(other);
        let accept = |_: u32, corners: [u32; 3]| {
            let [a, b, c] = corners.map(|v| positions[v as usize]);
            let across = (b - a).cross(c - a);
            let faces = own.dot(across) < -FACING * across.length();
            faces && (!rule.same_surface || !corners.contains(&point) && meets(corners[0]))
        };
        let nearest = tree.closest_within(p, reach, accept)?;
        let corners = rule.triangles[nearest.triangle as usize];
        let barycentric = nearest.barycentric;
        let normal = self.fans.normal_on(positions, corners, barycentric);
        let offset = p - blended(positions, corners, barycentric);
        Some(ClosestPlace {
            point,
            corners,
            barycentric,
            normal,
            gap: normal.dot(offset),
            distance: offset.length(),
        })
    }
}

/// The surface points in a pose, with the overlaps and clearances of the pose itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Posed {
    /// The points, meters.
    pub points: Vec<DVec3>,
    /// Penetration depth of each in another surface, meters.
    pub depths: Vec<f64>,
    /// Distance of each from the closest place that it can touch, meters; at most
    /// [`TouchOptions::rest_reach`].
    pub clearances: Vec<f64>,
}

impl Posed {
    /// Linear interpolation between two poses: approximates [`Touch::posed`] without a search.
    pub fn between(a: &Self, b: &Self, share: f64) -> Self {
        let mix = |(a, b): (&f64, &f64)| a + (b - a) * share;
        Self {
            points: a.points.iter().zip(&b.points).map(|(a, b)| a.lerp(*b, share)).collect(),
            depths: a.depths.iter().zip(&b.depths).map(mix).collect(),
            clearances: a.clearances.iter().zip(&b.clearances).map(|(a, b)| a.min(*b)).collect(),
        }
    }
}

/// The weighted sum of the values at three corners.
fn blended(values: &[DVec3], corners: [u32; 3], barycentric: [f64; 3]) -> DVec3 {
    corners.iter().zip(barycentric).map(|(&v, b)| values[v as usize] * b).sum()
}

/// The triangles around each point.
#[derive(Debug, Clone, Default)]
struct Fans {
    triangles: Vec<[u32; 3]>,
    first: Vec<u32>,
    around: Vec<u32>,
}

impl Fans {
    fn prepare(n_points: usize, triangles: Vec<[u32; 3]>) -> Self {
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

    /// The unit normal at a point, triangles weighted by area; zero without triangles.
    fn normal(&self, positions: &[DVec3], point: u32) -> DVec3 {
        let around =
            &self.around[self.first[point as usize] as usize..self.first[point as usize + 1] as usize];
        let across = |&t: &u32| {
            let [a, b, c] = self.triangles[t as usize].map(|v| positions[v as usize]);
            (b - a).cross(c - a)
        };
        around.iter().map(across).sum::<DVec3>().normalize_or_zero()
    }

    /// The interpolated unit normal on a triangle.
    fn normal_on(&self, positions: &[DVec3], corners: [u32; 3], barycentric: [f64; 3]) -> DVec3 {
        let at = |(v, b): (u32, f64)| self.normal(positions, v) * b;
        corners.into_iter().zip(barycentric).map(at).sum::<DVec3>().normalize_or_zero()
    }
}

/// Which surface points are near each other along paths through the body.
#[derive(Debug, Clone, Default)]
struct ThroughBody {
    /// Of each surface point, the nodes of its tet.
    nodes: Vec<Stencil>,
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
        let none = [NO_NODE; 4];
        let of_point = |a: &TetAttachment| tets.get(a.tet as usize).copied().unwrap_or(none);
        Self {
            nodes: attachments.iter().map(of_point).collect(),
            rows,
            n_rows: nodes.len(),
            near: near.concat(),
        }
    }

    /// Points that are not attached to the body count as near everything, because no path is known. Points
    /// whose tets share a node are near each other, however long the edges: separating them would mean
    /// tearing at that node.
    fn is_near(&self, a: u32, b: u32) -> bool {
        let [mine, other] = [a, b].map(|p| self.nodes[p as usize]);
        if mine.iter().any(|node| other.contains(node)) {
            return true;
        }
        let (a, b) = (self.rows[a as usize] as usize, self.rows[b as usize] as usize);
        a >= self.n_rows
            || b >= self.n_rows
            || self.near[a * self.n_rows.div_ceil(64) + b / 64] >> (b % 64) & 1 == 1
    }
}

fn flattened(positions: &[DVec3]) -> Vec<[f32; 3]> {
    positions.iter().map(|p| p.as_vec3().to_array()).collect()
}
