//! Where a body's surface touches itself, things that its pose carries (teeth, eyes), and obstacles.
//!
//! The surface is what the artist sees: points that the pose puts somewhere and the body displaces. Each point of a rule is
//! compared with the closest place of the rule's triangles: beyond it by the smooth normal there, or in front of it. What
//! overlaps in the pose as it was made is the zero: a contact allows as much overlap as its point, or the place that it
//! touches, has without any displacement. So a pose that is left alone is never pushed, whatever it looks like.
//!
//! On one surface, neighbors are close without touching, and so are both faces of a lip or a lid. A place counts only
//! if it faces the point and if some pose holds the two apart: lips part when the jaw opens, faces of a lip never do.
//!
//! Limits: vertices against triangles, no edges against edges; overlaps deeper than [`TouchOptions::rest_reach`] in the
//! pose are taken for none.

use crate::contact::{Attachment, Carriers, Contact};
use crate::dynamics::Configuration;
use crate::obstacle::Obstacle;
use crate::{SolveError, check_length, check_values};
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::Stencil;
use risorius_mesh::Bvh;

/// What must stay out of what.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rule {
    /// Surface points that must not pass.
    pub points: Vec<u32>,
    /// Over surface points, outwards.
    pub triangles: Vec<[u32; 3]>,
    /// Points and triangles belong to one surface: neighbors do not count.
    pub same_surface: bool,
}

/// How to look, and how hard to push.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TouchOptions {
    /// Pressure over depth, Pa/m.
    pub stiffness: f64,
    /// No deeper than this beyond the pose's own overlap, meters; infinite for a mere penalty.
    pub wall: f64,
    /// Places farther than this are not watched in a solve, meters.
    pub reach: f64,
    /// How deep a pose's own overlap is looked for, meters.
    pub rest_reach: f64,
    /// On one surface, places count that some pose holds farther apart than this, meters.
    pub parted: f64,
}

impl Default for TouchOptions {
    fn default() -> Self {
        Self { stiffness: 1e7, wall: 1e-4, reach: 1e-3, rest_reach: 4e-3, parted: 5e-3 }
    }
}

/// Rounding must not push a pose that is left alone, meters.
const SLACK: f64 = 1e-6;

/// A wall stands at least this much behind where a point is already.
const BEHIND: f64 = 1.25;

/// A surface and its rules, prepared for a body.
#[derive(Debug, Clone, Default)]
pub struct Touch {
    attachments: Vec<Attachment>,
    areas: Vec<f64>,
    rules: Vec<Watched>,
    apart: Vec<Vec<DVec3>>,
    /// Points that obstacles push.
    open: Vec<u32>,
    options: TouchOptions,
    carriers: Carriers,
}

#[derive(Debug, Clone)]
struct Watched {
    rule: Rule,
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
}

impl Touch {
    /// `apart`: positions of all points in poses that part what can touch; `areas`: surface around each point.
    /// `obstacles_push`: whether obstacles will be given; it costs a little everywhere.
    pub fn prepare(
        attachments: Vec<Attachment>,
        areas: Vec<f64>,
        rules: Vec<Rule>,
        apart: Vec<Vec<DVec3>>,
        obstacles_push: bool,
        options: TouchOptions,
        tets: &[Stencil],
    ) -> Result<Self, SolveError> {
        let n = attachments.len();
        check_length("areas of surface points", areas.len(), n)?;
        check_values("area of a surface point", areas.iter().copied())?;
        for pose in &apart {
            check_length("surface points in a pose", pose.len(), n)?;
        }
        let named = |rule: &Rule| rule.points.iter().chain(rule.triangles.iter().flatten()).all(|&p| (p as usize) < n);
        check_length("rules that name surface points", rules.iter().filter(|rule| named(rule)).count(), rules.len())?;
        let flat = apart.first().map_or_else(Vec::new, |pose| flattened(pose));
        let watch = |rule: Rule| Watched { tree: Bvh::build(&flat, &rule.triangles), rule };
        let attached = |p: &u32| attachments[*p as usize].tet != Attachment::NONE;
        let open = if obstacles_push { (0..n as u32).filter(attached).collect() } else { Vec::new() };
        // Only where something can happen.
        let mut acting = vec![obstacles_push; n];
        rules
            .iter()
            .flat_map(|r| r.points.iter().chain(r.triangles.iter().flatten()))
            .for_each(|&p| acting[p as usize] = true);
        let used: Vec<Attachment> =
            attachments.iter().zip(&acting).map(|(a, &used)| if used { *a } else { Attachment::FIXED }).collect();
        Ok(Self {
            carriers: Carriers::prepare(&used, tets),
            rules: if flat.is_empty() { Vec::new() } else { rules.into_iter().map(watch).collect() },
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
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// Where contacts can act.
    pub fn carriers(&self) -> &Carriers {
        &self.carriers
    }

    /// The options.
    pub fn options(&self) -> &TouchOptions {
        &self.options
    }

    /// Where the points are when the body is at `x`.
    pub fn positions(&self, tets: &[Stencil], at: &Configuration, x: &[DVec3]) -> Vec<DVec3> {
        let one = |(base, attachment): (&DVec3, &Attachment)| *base + attachment.displacement(tets, x, &at.rest);
        at.surface.par_iter().zip(&self.attachments).with_min_len(2048).map(one).collect()
    }

    /// How deep each point lies beyond another surface where the pose puts it, meters.
    pub fn overlaps(&self, at: &Configuration) -> Vec<f64> {
        let mut overlaps = vec![0.0; self.n_points()];
        for place in self.places(&at.surface, self.options.rest_reach) {
            let overlap = &mut overlaps[place.point as usize];
            *overlap = f64::max(*overlap, -place.gap);
        }
        overlaps
    }

    /// Contacts to watch when the points are at `positions`; `overlaps` are those of the pose.
    pub fn find(&self, positions: &[DVec3], overlaps: &[f64], obstacles: &[Obstacle]) -> Vec<Contact> {
        let mut contacts: Vec<Contact> = Vec::new();
        for place in self.places(positions, self.options.reach) {
            let there: f64 = place.corners.iter().zip(place.barycentric).map(|(&v, b)| overlaps[v as usize] * b).sum();
            let room = place.gap + overlaps[place.point as usize].max(there) + SLACK;
            let [a, b, c] = place.corners;
            let [u, v, w] = place.barycentric;
            contacts.push(self.contact([place.point, a, b, c], [1.0, -u, -v, -w], place.normal, room));
        }
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

    /// For every point of every rule, the closest place within `reach`, if it counts.
    fn places(&self, positions: &[DVec3], reach: f64) -> Vec<Place> {
        let flat = flattened(positions);
        let mut found = Vec::new();
        for Watched { rule, tree } in &self.rules {
            let mut tree = tree.clone();
            tree.refit(&flat);
            let normals = normals(positions, &rule.triangles);
            let nearest = |&point: &u32| self.nearest(point, rule, &tree, positions, &normals, reach);
            found.par_extend(rule.points.par_iter().with_min_len(64).filter_map(nearest));
        }
        found
    }

    fn nearest(
        &self,
        point: u32,
        rule: &Rule,
        tree: &Bvh,
        positions: &[DVec3],
        normals: &[DVec3],
        reach: f64,
    ) -> Option<Place> {
        let p = positions[point as usize];
        let own = normals[point as usize];
        let parts = |other: u32| {
            let distance = |pose: &Vec<DVec3>| pose[point as usize].distance(pose[other as usize]);
            self.apart.iter().any(|pose| distance(pose) > self.options.parted)
        };
        let accept = |_: u32, corners: [u32; 3]| {
            if !rule.same_surface {
                return true;
            }
            let [a, b, c] = corners.map(|v| positions[v as usize]);
            !corners.contains(&point) && own.dot((b - a).cross(c - a)) < 0.0 && parts(corners[0])
        };
        let nearest = tree.closest_within(p, reach, accept)?;
        let corners = rule.triangles[nearest.triangle as usize];
        let barycentric = nearest.barycentric;
        let at = corners.iter().zip(barycentric);
        let smooth: DVec3 = at.clone().map(|(&v, b)| normals[v as usize] * b).sum();
        let normal = smooth.try_normalize()?;
        let q: DVec3 = at.map(|(&v, b)| positions[v as usize] * b).sum();
        Some(Place { point, corners, barycentric, normal, gap: normal.dot(p - q) })
    }
}

fn flattened(positions: &[DVec3]) -> Vec<[f32; 3]> {
    positions.iter().map(|p| p.as_vec3().to_array()).collect()
}

/// Unit normals at the corners of `triangles`, weighted by area; zero elsewhere.
fn normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut sums = vec![DVec3::ZERO; positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        let weighted = (b - a).cross(c - a);
        t.iter().for_each(|&v| sums[v as usize] += weighted);
    }
    sums.iter_mut().for_each(|n| *n = n.normalize_or_zero());
    sums
}
