//! Lids and eyes, for the left side; the right is the mirror image.
//!
//! Lids rotate about a horizontal axis through the center of the eyeball. Every lid vertex has an angle,
//! given at the margins and the crease, 0 at the rim of the orbit, and interpolated by a plate in between.
//! The margins are radial bands, so closed lids meet flush. A straight path from open to closed cuts the
//! sphere (by `r (1 - cos(angle / 2))` halfway), so closed lids bulge a little. Finally all vertices are
//! pushed off the eyeball with its cornea.

use super::fill::{Fill, Sheet};
use super::ground::{Field, Ground};
use glam::{DQuat, DVec3};

/// Half of the gap between closed margins, mm.
const HALF_GAP: f64 = 0.07;
/// Least distance of lids from the eyeball, mm.
const CLEARANCE: f64 = 0.12;
/// Where the margins meet, as a fraction of the distance from the lower to the upper margin.
const MEET: f64 = 0.25;
/// Fraction of the eyeball's yaw that the margins follow.
const FOLLOW: f64 = 0.09;
/// Fraction of the margin's angle that the crease takes.
const CREASE: f64 = 0.42;
/// Largest angle by which a margin may protrude beyond its edge, degrees.
const MOST_ROUNDED: f64 = 9.0;
/// Bulge of a lid per degree of rotation, mm.
const BULGE: f64 = 0.02;

/// Rotations of the margins, degrees, up positive.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LidPose {
    /// Amount of closing, 0..1.
    pub close: f64,
    /// Additional rotation of the upper lid.
    pub upper: f64,
    /// Additional rotation of the lower lid.
    pub lower: f64,
    /// Yaw of the eyeball, left positive.
    pub yaw: f64,
    /// Pitch of the eyeball, up positive.
    pub pitch: f64,
}

/// The lids of the left eye.
pub struct Lids<'g, 'h> {
    ground: &'g Ground<'h>,
    fill: Fill<'g, 'h>,
    center: DVec3,
    /// Cosine of the angle from the gaze, and radius of the eyeball's surface there, by ascending cosine.
    profile: Vec<[f64; 2]>,
    near: Vec<u32>,
    /// Protrusion of the margins of the upper and the lower lid beyond their edges, per edge vertex, degrees.
    rounded: [Vec<f64>; 2],
    /// Where the outer and the inner edges meet.
    closed: [Closed; 2],
}

/// The line in which closed lids meet: a parabola between the corners, relative to the center of the eye.
struct Closed {
    corners: [DVec3; 2],
    sag: f64,
}

impl Closed {
    fn place(&self, x: f64) -> f64 {
        let [inner, outer] = self.corners;
        ((x - inner.x) / (outer.x - inner.x)).clamp(0.0, 1.0)
    }

    /// 0 at the corners, 1 in the middle.
    fn arch(&self, x: f64) -> f64 {
        let t = self.place(x);
        4.0 * t * (1.0 - t)
    }

    /// Height of the upper (side 1) or lower (-1) lid's edge.
    fn height(&self, x: f64, side: f64) -> f64 {
        let [inner, outer] = self.corners;
        inner.y + self.place(x) * (outer.y - inner.y) - self.sag * self.arch(x)
            + side * HALF_GAP * (self.arch(x) / 0.2).min(1.0)
    }
}

impl<'g, 'h> Lids<'g, 'h> {
    /// Prepares the lids of a head.
    pub fn prepare(ground: &'g Ground<'h>) -> Self {
        let regions = ["lids_upper_left", "lids_lower_left", "eye_socket_left"];
        let mut near: Vec<u32> = regions.iter().flat_map(|r| ground.region(r)).copied().collect();
        near.sort_unstable();
        near.dedup();
        let center = ground.eye().center;
        let mut given = vec![true; ground.n_skin];
        near.iter().for_each(|&v| given[v as usize] = false);
        for &v in ground.region("eye_socket_left") {
            // The back of the socket does not move.
            given[v as usize] = ground.points[v as usize].z < center.z - 1.0;
        }
        let lines = ["edge", "edge_inner", "crease", "orbit"];
        let names = lines.iter().flat_map(|l| [format!("lid_upper_left_{l}"), format!("lid_lower_left_{l}")]);
        names.for_each(|name| ground.line(&name).iter().for_each(|&v| given[v as usize] = true));
        let mut profile: Vec<[f64; 2]> = ground.points[ground.part("eye_left")]
            .iter()
            .map(|p| *p - center)
            .map(|d| [d.z / d.length(), d.length()])
            .collect();
        profile.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let at = |name: &str, k: usize| ground.points[ground.line(name)[k] as usize] - center;
        let last = ground.line("lid_upper_left_edge").len() - 1;
        let (top, bottom) = (at("lid_upper_left_edge", last / 2).y, at("lid_lower_left_edge", last / 2).y);
        let closed = ["lid_upper_left_edge", "lid_upper_left_edge_inner"].map(|name| {
            let corners = [at(name, 0), at(name, last)];
            Closed { corners, sag: 0.5 * (corners[0].y + corners[1].y) - (bottom + MEET * (top - bottom)) }
        });
        let rounded = [vec![0.0; last + 1], vec![0.0; last + 1]];
        let fill = Fill::prepare(ground, given, Sheet::Plate);
        let mut lids = Self { ground, fill, center, profile, near, rounded, closed };
        (0..8).for_each(|_| lids.fit_margins());
        lids
    }

    /// Radius of the eyeball's surface in a direction, for an eye that looks along `gaze`.
    pub fn surface(&self, direction: DVec3, gaze: DVec3) -> f64 {
        let cosine = direction.dot(gaze);
        let i = self.profile.partition_point(|p| p[0] < cosine).clamp(1, self.profile.len() - 1);
        let ([a, ra], [b, rb]) = (self.profile[i - 1], self.profile[i]);
        let t = if b > a { ((cosine - a) / (b - a)).clamp(0.0, 1.0) } else { 0.0 };
        // Interpolated radii lie slightly above the chord between two rings of the mesh.
        ra + (rb - ra) * t
    }

    /// Lids and eye in a pose.
    pub fn posed(&self, pose: &LidPose) -> Field {
        let ground = self.ground;
        let angle = self.fill.numbers(&self.margin_angles(pose));
        let drift = if pose.yaw == 0.0 { vec![0.0; ground.n_skin] } else { self.drift() };
        let eye_turn =
            DQuat::from_rotation_y(pose.yaw.to_radians()) * DQuat::from_rotation_x(-pose.pitch.to_radians());
        let gaze = eye_turn * DVec3::Z;
        let mut field = ground.still();
        for &v in &self.near {
            let (p, a) = (ground.points[v as usize], angle[v as usize]);
            let aside = DQuat::from_rotation_y((FOLLOW * pose.yaw * drift[v as usize]).to_radians());
            let turned = aside * (DQuat::from_rotation_x(-a.to_radians()) * (p - self.center));
            let out = BULGE * (-a).max(0.0) * (1.0 - (turned.length() - 14.0).max(0.0) / 6.0).clamp(0.0, 1.0);
            let direction = turned.normalize();
            let moved_far = a.abs() > 1e-3 || gaze.z < 1.0;
            let floor = if moved_far { self.surface(direction, gaze) + CLEARANCE } else { 0.0 };
            field[v as usize] = self.center + direction * (turned.length() + out).max(floor) - p;
        }
        for v in ground.part("eye_left") {
            let d = ground.points[v] - self.center;
            field[v] = eye_turn * d - d;
        }
        field
    }

    /// Angles of the named lines; 0 elsewhere.
    fn margin_angles(&self, pose: &LidPose) -> Vec<f64> {
        let ground = self.ground;
        let line = |lid: &str, ring: &str| ground.line(&format!("lid_{lid}_left_{ring}"));
        let mut angle = vec![0.0; ground.n_skin];
        let lids = [("upper", 1.0, pose.upper), ("lower", -1.0, pose.lower)];
        for ((lid, side, more), rounded) in lids.into_iter().zip(&self.rounded) {
            for (ring, closed) in ["edge", "edge_inner"].into_iter().zip(&self.closed) {
                let line = line(lid, ring);
                for (k, &v) in line.iter().enumerate().take(line.len() - 1).skip(1) {
                    let d = ground.points[v as usize] - self.center;
                    let shut = (closed.height(d.x, side) / d.y.hypot(d.z)).clamp(-0.99, 0.99).asin()
                        - d.y.atan2(d.z);
                    let shut = shut.to_degrees() + side * rounded[k];
                    angle[v as usize] = pose.close * shut + more * closed.arch(d.x).powf(0.7);
                }
            }
            for (&crease, &edge) in line(lid, "crease").iter().zip(line(lid, "edge")) {
                angle[crease as usize] = CREASE * angle[edge as usize];
            }
        }
        angle
    }

    /// Corrects [`Self::rounded`] so that the most protruding points of closed lids meet.
    fn fit_margins(&mut self) {
        let shut = self.posed(&LidPose { close: 1.0, ..LidPose::default() });
        let ground = self.ground;
        for (lid, (name, side)) in [("upper", 1.0), ("lower", -1.0)].into_iter().enumerate() {
            let edge = ground.line(&format!("lid_{name}_left_edge"));
            let distance = ground.distances(edge, 3.0);
            let last = edge.len() - 1;
            let mut gap = vec![0.0; last + 1];
            // Near the corners margins are thin and rotate little.
            let middle = last / 6..=last - last / 6;
            for k in middle.clone() {
                let around = ground.points[edge[k] as usize];
                let step = around.distance(ground.points[edge[k - 1] as usize]).max(0.7);
                let margin = ground.region(&format!("lids_{name}_left")).iter().map(|&v| v as usize);
                let beside = margin.filter(|&v| distance[v] < 3.0 && ground.points[v].distance(around) < 3.5);
                let room = beside.map(|v| ground.points[v] + shut[v] - self.center).filter_map(|d| {
                    let at = around.x - self.center.x;
                    ((d.x - at).abs() < step).then(|| side * (d.y - self.closed[0].height(d.x, 0.0)))
                });
                let wanted = HALF_GAP * (self.closed[0].arch(around.x - self.center.x) / 0.2).min(1.0);
                gap[k] = room.fold(f64::INFINITY, f64::min) - wanted;
            }
            for k in middle.clone().filter(|&k| gap[k].is_finite()) {
                let d = ground.points[edge[k] as usize] - self.center;
                let more = (gap[k] / d.y.hypot(d.z)).to_degrees();
                self.rounded[lid][k] = (self.rounded[lid][k] - 0.7 * more).clamp(0.0, MOST_ROUNDED);
            }
            let rounded = &mut self.rounded[lid];
            for k in 1..*middle.start() {
                let t = k as f64 / *middle.start() as f64;
                (rounded[k], rounded[last - k]) = (t * rounded[*middle.start()], t * rounded[*middle.end()]);
            }
            let old = rounded.clone();
            (1..last).for_each(|k| rounded[k] = 0.25 * old[k - 1] + 0.5 * old[k] + 0.25 * old[k + 1]);
        }
    }

    /// How far each vertex follows the margins, for motions common to both lids.
    fn drift(&self) -> Vec<f64> {
        let mut share = vec![0.0; self.ground.n_skin];
        for lid in ["upper", "lower"] {
            for (ring, amount) in [("edge", 1.0), ("edge_inner", 1.0), ("crease", 0.5)] {
                let line = self.ground.line(&format!("lid_{lid}_left_{ring}"));
                let last = line.len() as f64 - 1.0;
                for (k, &v) in line.iter().enumerate() {
                    let t = k as f64 / last;
                    share[v as usize] = amount * 4.0 * t * (1.0 - t);
                }
            }
        }
        self.fill.numbers(&share)
    }
}
