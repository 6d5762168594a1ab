//! Lids and eyes, for the left side; the right is the mirror image.
//!
//! Lids turn about a line through the middle of the eyeball from side to side: every lid vertex has an angle, given at
//! the margins and the crease, 0 at the rim of the orbit, a plate between. The margins are radial bands, so lids that
//! close meet flush. A straight path from open to closed cuts the sphere (by `r (1 - cos(angle / 2))` halfway), so
//! closed lids stand out a little. At last everything is kept off the eyeball with its cornea.

use super::fill::{Fill, Sheet};
use super::ground::{Field, Ground};
use glam::{DQuat, DVec3};

/// Half of the gap between closed margins, mm.
const HALF_GAP: f64 = 0.14;
/// Least distance of lids from the eyeball, mm.
const CLEARANCE: f64 = 0.12;
/// Part of the way between the margins at which they meet, from the lower.
const MEET: f64 = 0.15;
/// Part of the margin's angle that the crease takes.
const CREASE: f64 = 0.42;
/// How far a lid stands out per degree of turn, mm.
const BULGE: f64 = 0.02;

/// Turns of the margins, degrees, up positive.
#[derive(Debug, Clone, Copy, Default)]
pub struct LidPose {
    /// Part of the way to closed, 0..1.
    pub close: f64,
    /// Further turn of the upper lid.
    pub upper: f64,
    /// Further turn of the lower lid.
    pub lower: f64,
    /// Turn of the eyeball about the vertical, to the left positive.
    pub yaw: f64,
    /// Turn of the eyeball, up positive.
    pub pitch: f64,
}

/// The lids of the left eye.
pub struct Lids<'g, 'h> {
    ground: &'g Ground<'h>,
    fill: Fill<'g, 'h>,
    center: DVec3,
    /// Cosine from the gaze and distance of the eyeball's surface from its middle, by ascending cosine.
    profile: Vec<[f64; 2]>,
    near: Vec<u32>,
}

impl<'g, 'h> Lids<'g, 'h> {
    /// Prepares.
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
        Self { ground, fill: Fill::prepare(ground, given, Sheet::Plate), center, profile, near }
    }

    /// Distance of the eyeball's surface from its middle in a direction, for an eye that looks along `gaze`.
    pub fn surface(&self, direction: DVec3, gaze: DVec3) -> f64 {
        let cosine = direction.dot(gaze);
        let i = self.profile.partition_point(|p| p[0] < cosine).clamp(1, self.profile.len() - 1);
        let ([a, ra], [b, rb]) = (self.profile[i - 1], self.profile[i]);
        let t = if b > a { ((cosine - a) / (b - a)).clamp(0.0, 1.0) } else { 0.0 };
        // A little above the chord between two rings of the mesh.
        ra + (rb - ra) * t
    }

    /// Lids and eye in a pose.
    pub fn posed(&self, pose: &LidPose) -> Field {
        let ground = self.ground;
        let angle = self.fill.numbers(&self.margin_angles(pose));
        let eye_turn = DQuat::from_rotation_y(pose.yaw.to_radians()) * DQuat::from_rotation_x(-pose.pitch.to_radians());
        let gaze = eye_turn * DVec3::Z;
        let mut field = ground.still();
        for &v in &self.near {
            let (p, a) = (ground.points[v as usize], angle[v as usize]);
            let turned = DQuat::from_rotation_x(-a.to_radians()) * (p - self.center);
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
        let elevation = |v: u32| {
            let d = ground.points[v as usize] - self.center;
            d.y.atan2(d.z).to_degrees()
        };
        let line = |lid: &str, ring: &str| ground.line(&format!("lid_{lid}_left_{ring}"));
        let (upper, lower) = (line("upper", "edge"), line("lower", "edge"));
        let last = upper.len() - 1;
        let mut angle = vec![0.0; ground.n_skin];
        for k in 1..last {
            let (up, low) = (elevation(upper[k]), elevation(lower[k]));
            let meet = low + MEET * (up - low);
            // The corners keep still; the lids' own turns fade towards them.
            let t = k as f64 / last as f64;
            let free = (4.0 * t * (1.0 - t)).sqrt();
            let radius = ground.points[upper[k] as usize] - self.center;
            let gap = (HALF_GAP / (radius.y * radius.y + radius.z * radius.z).sqrt()).to_degrees();
            let turns = [
                ("upper", pose.close * (meet + gap - up) + pose.upper * free),
                ("lower", pose.close * (meet - gap - low) + pose.lower * free),
            ];
            for (lid, turn) in turns {
                for ring in ["edge", "edge_inner"] {
                    angle[line(lid, ring)[k] as usize] = turn;
                }
                angle[line(lid, "crease")[k] as usize] = CREASE * turn;
            }
        }
        angle
    }
}
