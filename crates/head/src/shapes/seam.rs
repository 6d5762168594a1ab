//! Keeps the lips apart: each stays on its side of the seam.
//!
//! The seam of a pose is the surface midway between the lines in which the lips meet, front and back, as a
//! height over x and z. Upper-lip vertices below it and lower-lip vertices above it are moved to their side,
//! and the displacements are spread to neighbors. Where a shape opens the mouth, the seam lies in the gap
//! between the lips and has no effect.

use super::contact::spread;
use super::ground::{Field, Ground};
use super::lips::Lips;
use glam::DVec3;

/// Clearance from the seam, mm; less where the neutral has less.
const KEEP: f64 = 0.12;
/// Extent of the lining that is included, mm from the red of the lips.
const LINING: f64 = 10.0;
/// |s| beyond which the lips are treated as joined.
const NEAR_CORNER: f64 = 0.93;
const ROUNDS: usize = 12;

/// A vertex of a lip: +1 above the seam or -1 below, and its clearance.
struct Member {
    vertex: usize,
    side: f64,
    keep: f64,
}

/// The seam of a head.
pub(crate) struct Seam<'g, 'h> {
    ground: &'g Ground<'h>,
    members: Vec<Member>,
}

/// The seam in some pose: front and back, each by ascending x.
struct SeamSurface([Vec<DVec3>; 2]);

impl SeamSurface {
    /// Height at the x and z of `p`, if within the mouth.
    fn height(&self, p: DVec3) -> Option<f64> {
        let at = |line: &[DVec3]| {
            let i = line.windows(2).position(|w| w[0].x <= p.x && p.x <= w[1].x)?;
            let (a, b) = (line[i], line[i + 1]);
            Some(a.lerp(b, (p.x - a.x) / (b.x - a.x).max(1e-9)))
        };
        match (at(&self.0[0]), at(&self.0[1])) {
            (Some(front), Some(back)) => {
                let t = ((p.z - back.z) / (front.z - back.z).max(1e-6)).clamp(0.0, 1.0);
                Some(back.y + t * (front.y - back.y))
            }
            (front, back) => front.or(back).map(|p| p.y),
        }
    }
}

impl<'g, 'h> Seam<'g, 'h> {
    /// Assigns vertices to the upper and the lower side.
    pub fn prepare(ground: &'g Ground<'h>, lips: &Lips) -> Self {
        let bag = ground.marked(&["mouth_bag"]);
        let mut seam = Self { ground, members: Vec::new() };
        let surface = seam.surface(&ground.still());
        for vertex in (0..ground.n_skin)
            .filter(|&v| lips.s[v].abs() < NEAR_CORNER)
            .filter(|&v| lips.is_lip(v) || (bag[v] && lips.distance[v] < LINING))
        {
            let Some(height) = surface.height(ground.points[vertex]) else { continue };
            let above = ground.points[vertex].y - height;
            // Corners belong to both lips.
            let side = match [lips.of[0][vertex], lips.of[1][vertex]] {
                [true, true] => continue,
                [true, false] => 1.0,
                [false, true] => -1.0,
                _ => above.signum(),
            };
            seam.members.push(Member { vertex, side, keep: (side * above).min(KEEP) });
        }
        seam
    }

    fn surface(&self, field: &Field) -> SeamSurface {
        let line = |name: &str| {
            let lines = ["upper", "lower"].map(|lip| self.ground.line(&format!("lip_{lip}_{name}")));
            let at = |v: u32| self.ground.points[v as usize] + field[v as usize];
            lines[0].iter().zip(lines[1]).map(|(&u, &l)| 0.5 * (at(u) + at(l))).collect()
        };
        SeamSurface([line("outer"), line("inner")])
    }

    /// Moves every lip vertex to its side.
    pub fn part(&self, field: &mut Field) {
        let surface = self.surface(field);
        for _ in 0..ROUNDS {
            let mut pushes = vec![None; self.ground.n_skin];
            for member in &self.members {
                let v = member.vertex;
                let p = self.ground.points[v] + field[v];
                let Some(height) = surface.height(p) else { continue };
                let missing = member.keep - member.side * (p.y - height);
                if missing > 1e-3 {
                    pushes[v] = Some(missing * member.side * DVec3::Y);
                }
            }
            if pushes.iter().all(Option::is_none) {
                return;
            }
            spread(self.ground, field, &pushes);
        }
    }
}
