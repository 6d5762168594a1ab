//! Where a body's surface touches itself, things that its pose carries (teeth, eyes), and obstacles.
//!
//! The surface is what the artist sees: points that the pose puts somewhere and the body displaces. Each
//! point of a rule is compared with the closest place of the rule's triangles: beyond it by the smooth normal
//! there, or in front of it. What overlaps in the pose as it was made is the zero: a contact allows as much
//! overlap as its point, or the place that it touches, has without any displacement. So a pose that is left
//! alone is never pushed, whatever it looks like.
//!
//! A place counts only if it faces the point: a lining is not in contact with the gum whose back it hangs on.
//! On one surface, neighbors are close without touching, and so are both faces of a lip or a lid; there a
//! place counts only if the way to it through the body is longer than [`TouchOptions::own_flesh`] and if some
//! pose holds it apart from the point.
//!
//! A point cannot be deeper than it and the place have moved towards each other; what is, is another side of
//! the same flesh met around an edge, and does not count. What is deep all the same comes out at
//! [`TouchOptions::out_speed`].
//!
//! Limits: vertices against triangles, no edges against edges; overlaps deeper than
//! [`TouchOptions::rest_reach`] in the pose are taken for none.

use crate::contact::obstacle::Obstacle;
use crate::contact::planes::{Carriers, Contact, TetAttachment};
use crate::step::body::Configuration;
use crate::{SolveError, check_length, check_values};
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{NO_NODE, Stencil};
use risorius_mesh::{Bvh, TetMesh, within};

/// What must stay out of what.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CollisionPair {
    /// Surface points that must not pass.
    pub points: Vec<u32>,
    /// Over surface points, outwards.
    pub triangles: Vec<[u32; 3]>,
    /// Points and triangles belong to one surface: neighbors do not count.
    pub same_surface: bool,
}

/// How deep points may be before they are pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// As deep as the pose has them: a pose that is left alone is never pushed.
    #[default]
    OfPose,
    /// Not at all: overlaps that the pose has are pushed out too.
    None,
}

/// How to look, and how hard to push.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TouchOptions {
    /// Pressure over depth, Pa/m.
    pub stiffness: f64,
    /// No deeper than this beyond the pose's own overlap, meters; infinite for a mere penalty.
    pub wall: f64,
    /// How fast a point that is too deep is pushed out, m/s: a place that the point has come to all at once,
    /// around the edge of a tooth, would fling it out otherwise.
    pub out_speed: f64,
    /// How deep a point may have passed a place and still be found, meters.
    pub reach: f64,
    /// How deep a pose's own overlap is looked for, and how far what it keeps apart, meters.
    pub rest_reach: f64,
    /// On one surface, places count that are farther than this through the body, meters.
    pub own_flesh: f64,
    /// And that a pose holds farther apart than this, meters.
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

/// Rounding must not push a pose that is left alone, meters.
const SLACK: f64 = 1e-6;

/// Places farther than this are not watched in a solve, meters: in a step, points come closer by some tenths
/// of that.
const WATCHED: f64 = 6e-4;

/// A place faces a point when the cosine between their normals is below minus this.
const FACING: f64 = 0.2;

/// What is told of a pose between two may be off by this, meters.
const SLIP: f64 = 1e-4;

/// A wall stands at least this much behind where a point is already.
const BEHIND: f64 = 1.4;

/// A surface and its rules, prepared for a body.
#[derive(Debug, Clone, Default)]
pub struct Touch {
    attachments: Vec<TetAttachment>,
    areas: Vec<f64>,
    rules: Vec<Watched>,
    fans: Fans,
    through: ThroughBody,
    apart: Vec<Vec<DVec3>>,
    /// Points that obstacles push.
    open: Vec<u32>,
    options: TouchOptions,
    carriers: Carriers,
}

#[derive(Debug, Clone)]
struct Watched {
    rule: CollisionPair,
    tree: Bvh,
}

/// The closest place of a rule's triangles.
#[derive(Debug, Clone, Copy)]
struct Place {
    point: u32,
    corners: [u32; 3],
    barycentric: [f64; 3],
    normal: DVec3,
    gap: f64,
    distance: f64,
}

impl Touch {
    /// `areas`: surface around each point. `body`: tets, nodes in the neutral, points in the neutral and in
    /// other poses that part what can touch. `obstacles_push`: whether obstacles will be given; it costs a
    /// little everywhere.
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
            "rules that name surface points",
            rules.iter().filter(|rule| named(rule)).count(),
            rules.len(),
        )?;
        let neutral = apart.first().cloned().unwrap_or_else(|| vec![DVec3::ZERO; n]);
        let flat = flattened(&neutral);
        let watch = |rule: CollisionPair| Watched { tree: Bvh::build(&flat, &rule.triangles), rule };
        let attached = |p: &u32| attachments[*p as usize].tet != TetAttachment::NONE;
        let open = if obstacles_push { (0..n as u32).filter(attached).collect() } else { Vec::new() };
        // Only where something can happen.
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
    pub fn n_points(&self) -> usize {
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

    /// The same surface with other options about pushing; how surfaces were searched stays.
    pub fn with_options(&self, options: TouchOptions) -> Self {
        Self { options, ..self.clone() }
    }

    /// The options.
    pub fn options(&self) -> &TouchOptions {
        &self.options
    }

    /// Where the points are when the body is at `x`.
    pub fn positions(&self, tets: &[Stencil], at: &Configuration, x: &[DVec3]) -> Vec<DVec3> {
        let one =
            |(base, attachment): (&DVec3, &TetAttachment)| *base + attachment.displacement(tets, x, &at.rest);
        at.surface.points.par_iter().zip(&self.attachments).with_min_len(2048).map(one).collect()
    }

    /// A pose that puts the points here.
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

    /// Contacts to watch on the surface itself when the points are at `positions`, displaced from `pose`.
    pub fn find(&self, positions: &[DVec3], pose: &Posed) -> Vec<Contact> {
        let moved = |p: u32| positions[p as usize] - pose.points[p as usize];
        // A place that was clear of a point is clear of it by as much less as they have moved towards each
        // other, at most as far as motions of this rule's surface differ from the point's; and overlaps by no
        // more.
        let reach = |rule: &CollisionPair| {
            let all = || rule.triangles.iter().flatten().map(|&p| moved(p));
            let (low, high) =
                (all().fold(DVec3::INFINITY, DVec3::min), all().fold(DVec3::NEG_INFINITY, DVec3::max));
            move |point: u32| {
                let (own, p) = (moved(point), point as usize);
                let (clear, closer) =
                    (pose.clearances[p], (own - low).abs().max((own - high).abs()).length());
                let overlap = pose.depths[p] + closer - clear;
                let may_rest = self.options.overlap == Overlap::OfPose;
                let can_touch = (closer > 0.0 || !may_rest) && clear - closer < WATCHED;
                can_touch.then(|| overlap.clamp(WATCHED, self.options.reach.max(WATCHED)))
            }
        };
        let watched = |place: Place| {
            let room = place.gap + self.allowed(pose, place.point, place.corners, place.barycentric) + SLACK;
            let [a, b, c] = place.corners;
            let [u, v, w] = place.barycentric;
            // Deeper than they have moved towards each other: another side of the same flesh, met around an
            // edge.
            let closer = (moved(place.point) - (moved(a) * u + moved(b) * v + moved(c) * w)).length();
            let p = place.point as usize;
            let own = if self.options.overlap == Overlap::None { pose.depths[p] } else { 0.0 };
            let possible = closer - pose.clearances[p] + own + SLIP;
            (room < WATCHED && room > -possible.max(0.0))
                .then(|| self.contact([place.point, a, b, c], [1.0, -u, -v, -w], place.normal, room))
        };
        self.places(positions, reach).into_iter().filter_map(watched).collect()
    }

    /// Overlap of a point and a place that the pose itself has, or each of them with something else.
    fn allowed(&self, pose: &Posed, point: u32, corners: [u32; 3], barycentric: [f64; 3]) -> f64 {
        if self.options.overlap == Overlap::None {
            return 0.0;
        }
        let there: f64 = corners.iter().zip(barycentric).map(|(&v, b)| pose.depths[v as usize] * b).sum();
        let normal = self.fans.normal_on(&pose.points, corners, barycentric);
        let between = -normal.dot(pose.points[point as usize] - blended(&pose.points, corners, barycentric));
        pose.depths[point as usize].max(there).max(between)
    }

    /// A contact that was found at `positions[0]`, displaced from `poses[0]`, when they are the others.
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

    /// Contacts to watch between the points at `positions` and obstacles.
    pub fn find_obstacles(&self, positions: &[DVec3], obstacles: &[Obstacle]) -> Vec<Contact> {
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

    /// A contact as the solve of a step sees it: of what is deep in its own body no more than comes out at
    /// [`TouchOptions::out_speed`].
    pub(crate) fn pushed_out(&self, contact: &Contact, dt_secs: f64) -> Contact {
        let most = if contact.is_with_obstacle() { f64::INFINITY } else { self.options.out_speed * dt_secs };
        let room = contact.room.max(-most);
        Contact { room, wall: self.options.wall.max(-BEHIND * room), ..*contact }
    }

    /// For every point of every rule that `reach` tells how far to look from, the closest place that counts.
    fn places<F: Fn(u32) -> Option<f64> + Sync>(
        &self,
        positions: &[DVec3],
        reach: impl Fn(&CollisionPair) -> F + Sync,
    ) -> Vec<Place> {
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
    ) -> Option<Place> {
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
        Some(Place {
            point,
            corners,
            barycentric,
            normal,
            gap: normal.dot(offset),
            distance: offset.length(),
        })
    }
}

/// Where a pose puts the points of a surface, and what it overlaps there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Posed {
    /// The points, meters.
    pub points: Vec<DVec3>,
    /// How deep each lies in another surface, meters.
    pub depths: Vec<f64>,
    /// How far the closest place is that each can touch, meters, as far as it was looked for.
    pub clearances: Vec<f64>,
}

impl Posed {
    /// On the straight way between two poses: about what [`Touch::posed`] would say, without looking.
    pub fn between(a: &Self, b: &Self, share: f64) -> Self {
        let mix = |(a, b): (&f64, &f64)| a + (b - a) * share;
        Self {
            points: a.points.iter().zip(&b.points).map(|(a, b)| a.lerp(*b, share)).collect(),
            depths: a.depths.iter().zip(&b.depths).map(mix).collect(),
            clearances: a.clearances.iter().zip(&b.clearances).map(|(a, b)| a.min(*b)).collect(),
        }
    }
}

/// The sum of the values at three corners by their weights.
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

    /// The unit normal at a point, triangles weighted by area; zero without any.
    fn normal(&self, positions: &[DVec3], point: u32) -> DVec3 {
        let around =
            &self.around[self.first[point as usize] as usize..self.first[point as usize + 1] as usize];
        let across = |&t: &u32| {
            let [a, b, c] = self.triangles[t as usize].map(|v| positions[v as usize]);
            (b - a).cross(c - a)
        };
        around.iter().map(across).sum::<DVec3>().normalize_or_zero()
    }

    /// The smooth unit normal on a triangle.
    fn normal_on(&self, positions: &[DVec3], corners: [u32; 3], barycentric: [f64; 3]) -> DVec3 {
        let at = |(v, b): (u32, f64)| self.normal(positions, v) * b;
        corners.into_iter().zip(barycentric).map(at).sum::<DVec3>().normalize_or_zero()
    }
}

/// Which surface points are near each other through the body.
#[derive(Debug, Clone, Default)]
struct ThroughBody {
    /// Of each surface point, the nodes of its tet.
    nodes: Vec<Stencil>,
    /// Of each surface point, the row of its heaviest node; `u32::MAX` for points that none of the rules asks
    /// about.
    rows: Vec<u32>,
    n_rows: usize,
    /// Row by row, a bit for every row.
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

    /// Points that are not in the body are near everything: nothing is known of them. Points whose tets have
    /// a node in common are near each other, however long its edges are: nothing could part them without
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
