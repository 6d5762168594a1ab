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
//! is attached to from behind. Within one surface, `meeting` decides which places a point can touch.
//!
//! A point cannot be deeper than it and the place have moved towards each other. A deeper result is another
//! side of the same flesh, found around an edge, and is ignored. Other deep points are pushed out at
//! [`TouchOptions::out_speed`].
//!
//! Most searches are skipped (`search`); the result is the same as with all of them.
//!
//! Limits: points against triangles only, no edge-edge tests. Overlaps of the pose deeper than
//! [`TouchOptions::rest_reach`] are not found.

use crate::contact::fans::{Fans, blended};
use crate::contact::film::{self, Film};
use crate::contact::meeting::Meeting;
use crate::contact::near::NearLog;
use crate::contact::obstacle::Obstacle;
use crate::contact::planes::{Carriers, Contact, TetAttachment};
use crate::contact::search::{ClosestPlace, Moved, NO_HINT, Since, Watched, flattened};
use crate::step::body::Configuration;
use crate::{SolveError, check_length, check_values};
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::Stencil;

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
    /// Within one surface, places that never see the point count only if they are farther away than this
    /// through the body, meters.
    pub own_flesh: f64,
    /// And if some pose separates them by more than this, meters.
    pub parted: f64,
    /// The overlap that is allowed.
    pub overlap: Overlap,
    /// Largest traction of the film between places that touch in the neutral, Pa; 0 for none.
    pub film: f64,
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
            film: 0.0,
        }
    }
}

/// Tolerance so that rounding does not push a pose without displacement, meters.
const SLACK: f64 = 1e-6;

/// Places farther away than this get no contact in a solve, meters. Within a step, points approach by a few
/// tenths of this.
const WATCHED: f64 = 6e-4;

/// Error bound for the depths and clearances that [`Posed::between`] interpolates, meters.
const SLIP: f64 = 1e-4;

/// A point that is deeper than this is judged by the direction of the place, meters.
const BESIDE: f64 = 2e-4;

/// Its depth is at least this share of its distance from the place.
const STEEPEST: f64 = 0.9;

/// A wall is at least this factor times the depth that a point already has.
const BEHIND: f64 = 1.4;

/// A surface and its collision pairs, prepared for a body.
#[derive(Debug, Clone, Default)]
pub struct Touch {
    pub(super) attachments: Vec<TetAttachment>,
    pub(super) areas: Vec<f64>,
    pub(super) rules: Vec<Watched>,
    pub(super) fans: Fans,
    pub(super) meeting: Meeting,
    pub(super) films: Vec<Film>,
    /// Points that obstacles can push.
    pub(super) open: Vec<u32>,
    pub(super) options: TouchOptions,
    pub(super) carriers: Carriers,
    pub(super) log: NearLog,
    /// The points in the neutral.
    pub(super) neutral: Vec<DVec3>,
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
        let fans = Fans::prepare(n, rules.iter().flat_map(|rule| rule.triangles.iter().copied()).collect());
        let mut touch = Self {
            films: Vec::new(),
            carriers: Carriers::prepare(&used, tets),
            meeting: Meeting::prepare(&attachments, &rules, &fans, (tets, rest, apart), &options),
            fans,
            rules: rules.into_iter().map(|rule| Watched::prepare(rule, &flat)).collect(),
            attachments,
            areas,
            open,
            options,
            log: NearLog::default(),
            neutral: Vec::new(),
        };
        let everywhere = |_: &Watched, _: usize, _: &[&Moved]| Some(options.rest_reach);
        let found = touch.searched(&neutral, None, &everywhere);
        let clear = touch.clear_in(&neutral);
        for ((watched, found), clear) in touch.rules.iter_mut().zip(found).zip(clear) {
            for (i, place) in found {
                watched.hints[i] = place.map_or(NO_HINT, |place| place.triangle);
            }
            watched.clear = clear;
        }
        Ok(Self { films: touch.films_in(&neutral), neutral, ..touch })
    }

    /// The films between places that touch in a pose.
    fn films_in(&self, neutral: &[DVec3]) -> Vec<Film> {
        let attached = |p: u32| self.attachments[p as usize].tet != TetAttachment::NONE;
        let wet = |place: ClosestPlace| {
            let ClosestPlace { point, corners, barycentric, .. } = place;
            // Points of both sides have films, so each counts half of its area.
            let area = 0.5 * self.areas[point as usize];
            let carried = attached(point) && corners.into_iter().all(attached);
            carried.then_some(Film { point, corners, barycentric, area })
        };
        let touching = self.places(neutral, None, &|_, _, _| Some(film::TOUCHING));
        let mut films: Vec<Film> = touching.into_iter().filter_map(wet).collect();
        films.sort_by_key(|film| film.point);
        films.dedup_by_key(|film| film.point);
        film::gathered(films, &self.attachments, neutral)
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

    /// The same surface without knowledge of the neutral, which searches everywhere.
    #[cfg(test)]
    pub(crate) fn without_neutral(&self) -> Self {
        let mut touch = self.clone();
        for watched in &mut touch.rules {
            watched.clear.fill(0.0);
            watched.hints.fill(NO_HINT);
        }
        touch
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
        let rest_reach = self.options.rest_reach;
        // Only where the motion since the neutral may have brought something within reach.
        let reach = |watched: &Watched, i: usize, patches: &[&Moved]| {
            let point = watched.rule.points[i] as usize;
            let (from, clear) = (self.neutral[point], watched.clear[i]);
            let own = points[point] - from;
            let near =
                |patch: &&Moved| clear.max(patch.distance(from)) - patch.closer(own) <= rest_reach + SLACK;
            patches.iter().any(near).then_some(rest_reach)
        };
        let clear = |watched: &Watched, i: usize| watched.clear[i];
        let since = Since { pose: &self.neutral, clear: &clear, limit: rest_reach + SLACK };
        for place in self.places(&points, Some(&since), &reach) {
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
        // Without allowed overlap, a pose that is left alone is looked at too, at its own depth.
        let looks_at_pose = self.options.overlap == Overlap::None;
        if !looks_at_pose && positions == pose.points {
            return self.pulling(positions, pose);
        }
        // Since the pose, a point and a patch have approached each other by at most the largest difference of
        // their motions. Their distance has shrunk, and their overlap has grown, by no more than that.
        let reach = |watched: &Watched, i: usize, patches: &[&Moved]| {
            let point = watched.rule.points[i];
            let (own, p) = (moved(point), point as usize);
            let clear = pose.clearances[p];
            let mut excess = f64::NEG_INFINITY;
            for patch in patches {
                let closer = patch.closer(own);
                // The patch is at least `clear` away.
                if closer - clear <= excess.max(-WATCHED) {
                    continue;
                }
                let away = clear.max(patch.distance(pose.points[p]));
                if (closer > 0.0 || looks_at_pose) && away - closer < WATCHED {
                    excess = excess.max(closer - away);
                }
            }
            let overlap = pose.depths[p] + excess;
            let overlap = if looks_at_pose { overlap + SLIP } else { overlap };
            let reach = || overlap.clamp(WATCHED, self.options.reach.max(WATCHED));
            (excess > f64::NEG_INFINITY).then(reach)
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
            // And at the border of an open surface, a point far beside it would seem to be behind.
            let is_beside = self.options.overlap == Overlap::None
                && place.gap < -BESIDE
                && -place.gap < STEEPEST * place.distance;
            (room < WATCHED && room > -possible.max(0.0) && !is_beside)
                .then(|| self.contact([place.point, a, b, c], [1.0, -u, -v, -w], place.normal, room))
        };
        let clear = |watched: &Watched, i: usize| pose.clearances[watched.rule.points[i] as usize];
        let since = Since { pose: &pose.points, clear: &clear, limit: WATCHED };
        let places = self.places_near(positions, &since, &reach);
        let mut found: Vec<Contact> = places.into_par_iter().with_min_len(32).filter_map(watched).collect();
        found.extend(self.pulling(positions, pose));
        found
    }

    /// The contacts of films.
    fn pulling(&self, positions: &[DVec3], pose: &Posed) -> Vec<Contact> {
        let films = if self.options.film > 0.0 { self.films.as_slice() } else { &[] };
        let pulls = |film: &Film| film.contact(positions, pose, &self.fans, self.options.film);
        films.iter().filter_map(pulls).collect()
    }

    /// The allowed overlap of a point and a place: the largest that the pose has between the two, or of
    /// either with anything else.
    fn allowed(&self, pose: &Posed, point: u32, corners: [u32; 3], barycentric: [f64; 3]) -> f64 {
        if self.options.overlap == Overlap::None {
            return 0.0;
        }
        let there: f64 = corners.iter().zip(barycentric).map(|(&v, b)| pose.depths[v as usize] * b).sum();
        let normal = self.fans.normal_at(&pose.points, corners, barycentric);
        let between = -normal.dot(pose.points[point as usize] - blended(&pose.points, corners, barycentric));
        pose.depths[point as usize].max(there).max(between)
    }

    /// A contact that was found at `positions[0]` and `poses[0]`, updated to `positions[1]` and `poses[1]`.
    pub(crate) fn carried(&self, contact: &Contact, positions: [&[DVec3]; 2], poses: [&Posed; 2]) -> Contact {
        if contact.film {
            return Contact { room: film::room(contact, positions[1], poses[1]), ..*contact };
        }
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
        let wall = self.options.wall.max(-BEHIND * room);
        Contact { points, coefficients, normal, room, stiffness, wall, film: false }
    }

    /// The distance of a contact's point from its place, along the normal there, at other positions.
    pub(crate) fn gap(&self, contact: &Contact, positions: &[DVec3]) -> f64 {
        let ([point, corners @ ..], [_, weights @ ..]) = (contact.points, contact.coefficients);
        let barycentric = weights.map(|w| -w);
        let normal = self.fans.normal_at(positions, corners, barycentric);
        normal.dot(positions[point as usize] - blended(positions, corners, barycentric))
    }

    /// The contact as a step's solve uses it. The depth is clamped to what [`TouchOptions::out_speed`]
    /// removes in `dt_secs`, except for obstacles.
    pub(crate) fn pushed_out(&self, contact: &Contact, dt_secs: f64) -> Contact {
        if contact.film {
            return *contact;
        }
        let most = if contact.is_with_obstacle() { f64::INFINITY } else { self.options.out_speed * dt_secs };
        let room = contact.room.max(-most);
        Contact { room, wall: self.options.wall.max(-BEHIND * room), ..*contact }
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
