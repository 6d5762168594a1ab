//! Lip motion: the lips as two flexible rods, and the skin around them as a sheet that follows.
//!
//! Every lip vertex has a coordinate s along the mouth (-1 right corner, 0 middle, 1 left corner), and its
//! lip. A [`LipPose`] gives, in mm and degrees, how the middle, the side (|s| = 0.55) and the corner move,
//! how far each lip rolls about its own axis (inward positive) and how much it thins toward the seam.
//! Vertices that meet in the seam move alike when both lips have the same parameters, so a closed mouth stays
//! closed.

use super::fill::{Fill, Sheet};
use super::ground::{Field, Ground};
use glam::{DQuat, DVec3};
use risorius_base::ease::ramp;

/// |s| of the entry `side`.
const SIDE: f64 = 0.55;

/// How one lip moves; x away from the middle, y up, z forward.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lip {
    /// y and z of the middle, mm.
    pub middle: [f64; 2],
    /// Halfway to the corner, mm.
    pub side: [f64; 3],
    /// Rotation about the axis of the lip, degrees; positive hides the red.
    pub roll: f64,
    /// Fraction of the height above the seam that is lost; negative thickens.
    pub thin: f64,
}

/// Symmetric motion of the mouth.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LipPose {
    /// Upper lip.
    pub upper: Lip,
    /// Lower lip.
    pub lower: Lip,
    /// The corner of the mouth, mm.
    pub corner: [f64; 3],
}

/// Points along the mouth by s.
struct Curve(Vec<DVec3>);

impl Curve {
    fn at(&self, s: f64) -> DVec3 {
        let last = self.0.len() - 1;
        let x = (0.5 * (s + 1.0) * last as f64).clamp(0.0, last as f64);
        let i = (x as usize).min(last - 1);
        self.0[i].lerp(self.0[i + 1], x - i as f64)
    }

    fn direction(&self, s: f64) -> DVec3 {
        (self.at((s + 0.08).min(1.0)) - self.at((s - 0.08).max(-1.0))).normalize_or(DVec3::X)
    }
}

/// The lips of a head, and sheets around them of several sizes.
pub struct Lips<'g, 'h> {
    ground: &'g Ground<'h>,
    /// Coordinate along the mouth; meaningful for lip vertices only.
    pub s: Vec<f64>,
    /// Vertices of the red of the upper and the lower lip, up to where the mouth's lining begins.
    pub of: [Vec<bool>; 2],
    /// Distance along the skin from the lips, mm; infinite beyond 90.
    pub distance: Vec<f64>,
    seam: Curve,
    axis: [Curve; 2],
    sheets: Vec<(f64, Fill<'g, 'h>)>,
}

impl<'g, 'h> Lips<'g, 'h> {
    /// Finds the lips; `reaches` are the sizes of the sheets, in mm.
    pub fn prepare(ground: &'g Ground<'h>, reaches: &[f64]) -> Self {
        let of = [ground.marked(&["lips_upper"]), ground.marked(&["lips_lower"])];
        let lip: Vec<u32> =
            (0..ground.n_skin as u32).filter(|&v| of[0][v as usize] || of[1][v as usize]).collect();
        let distance = ground.distances(&lip, 90.0);
        let line = |name: &str| Curve(ground.line(name).iter().map(|&v| ground.points[v as usize]).collect());
        let mean = |names: &[&str]| {
            let curves: Vec<Curve> = names.iter().map(|n| line(n)).collect();
            let n = curves[0].0.len();
            Curve((0..n).map(|i| curves.iter().map(|c| c.0[i]).sum::<DVec3>() / names.len() as f64).collect())
        };
        let axis = ["upper", "lower"].map(|l| {
            mean(&["border", "outer", "inner"].map(|r| format!("lip_{l}_{r}")).each_ref().map(String::as_str))
        });
        let seam = mean(&["lip_upper_outer", "lip_lower_outer"]);
        let mut lips = Self { ground, s: Vec::new(), of, distance, seam, axis, sheets: Vec::new() };
        lips.s = lips.places();
        lips.sheets = reaches.iter().map(|&reach| (reach, lips.sheet(reach))).collect();
        lips
    }

    /// s near the lips: by arc length on the named lines, interpolated by a membrane in between.
    fn places(&self) -> Vec<f64> {
        let ground = self.ground;
        let mut given: Vec<bool> = self.distance.iter().map(|d| *d > 14.0).collect();
        let corner = ground.points[ground.mark("mouth_left") as usize].x;
        let mut s: Vec<f64> =
            ground.points[..ground.n_skin].iter().map(|p| (p.x / corner).clamp(-1.0, 1.0)).collect();
        for name in [
            "lip_upper_border",
            "lip_upper_outer",
            "lip_upper_inner",
            "lip_lower_border",
            "lip_lower_outer",
            "lip_lower_inner",
        ] {
            let line = ground.line(name);
            let mut along = vec![0.0];
            for pair in line.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|v| ground.points[v as usize]);
                along.push(along[along.len() - 1] + a.distance(b));
            }
            let total = along[along.len() - 1];
            for (&v, a) in line.iter().zip(&along) {
                given[v as usize] = true;
                s[v as usize] = 2.0 * a / total - 1.0;
            }
        }
        Fill::prepare(ground, given, Sheet::Membrane).numbers(&s)
    }

    /// The sheet in which skin within `reach` of the lips follows them; nose, lids and ears stay.
    fn sheet(&self, reach: f64) -> Fill<'g, 'h> {
        let ground = self.ground;
        let (nose, lining) = (ground.marked(&["nose"]), ground.marked(&["mouth_bag"]));
        let given = (0..ground.n_skin).map(|v| {
            let d = self.distance[v];
            // The lining is fixed at the furrows between lips and gums.
            self.is_lip(v) || d > reach || (nose[v] && d > 15.0) || (lining[v] && d > 16.0)
        });
        Fill::prepare(ground, given.collect(), Sheet::Plate)
    }

    /// Whether vertex `v` is part of a lip.
    pub(crate) fn is_lip(&self, v: usize) -> bool {
        self.of[0][v] || self.of[1][v]
    }

    /// Displacements of all lip vertices in a pose; zero elsewhere.
    pub fn moves(&self, pose: &LipPose) -> Vec<DVec3> {
        let at =
            |v: usize| if self.is_lip(v) { self.moved(v, pose) - self.ground.points[v] } else { DVec3::ZERO };
        (0..self.ground.n_skin).map(at).collect()
    }

    /// Extends the displacements of the lips to the skin within `reach`.
    pub fn follow(&self, lip_moves: &[DVec3], reach: f64) -> Field {
        let nearest = |s: &&(f64, Fill)| (s.0 - reach).abs();
        let sheet = self.sheets.iter().min_by(|a, b| nearest(a).total_cmp(&nearest(b)));
        let mut field = sheet.map_or_else(|| lip_moves.to_vec(), |s| s.1.vectors(lip_moves));
        field.resize(self.ground.points.len(), DVec3::ZERO);
        field
    }

    /// A pose of the lips with the skin around.
    pub fn posed(&self, pose: &LipPose, reach: f64) -> Field {
        self.follow(&self.moves(pose), reach)
    }

    fn moved(&self, v: usize, pose: &LipPose) -> DVec3 {
        let (p, s) = (self.ground.points[v], self.s[v].clamp(-1.0, 1.0));
        let is_lower = usize::from(self.of[1][v]);
        let lip = [&pose.upper, &pose.lower][is_lower];
        let free = ramp(1.0 - s.abs(), 0.0, 0.55);
        let (seam, axis) = (self.seam.at(s), &self.axis[is_lower]);
        let q = DVec3::new(p.x, seam.y + (p.y - seam.y) * (1.0 - lip.thin * free), p.z);
        let turn = if is_lower == 1 { -lip.roll } else { lip.roll };
        let center = axis.at(s);
        let turn = DQuat::from_axis_angle(axis.direction(s), (turn * free).to_radians());
        center + turn * (q - center) + along(lip, pose.corner, s)
    }
}

/// The displacement at s: a cubic through middle, side and corner, with zero slope of y and z in the middle.
fn along(lip: &Lip, corner: [f64; 3], s: f64) -> DVec3 {
    let [y, z] = lip.middle;
    let (a, b, c) = (DVec3::new(0.0, y, z), DVec3::from(lip.side), DVec3::from(corner));
    let x = s.abs();
    let through = c - a;
    let hermite = |p: DVec3, m: DVec3, q: DVec3, n: DVec3, width: f64, t: f64| {
        let (t2, t3) = (t * t, t * t * t);
        p * (2.0 * t3 - 3.0 * t2 + 1.0)
            + q * (3.0 * t2 - 2.0 * t3)
            + width * (m * (t3 - 2.0 * t2 + t) + n * (t3 - t2))
    };
    let d = if x < SIDE {
        let start = DVec3::new(b.x / SIDE, 0.0, 0.0);
        hermite(a, start, b, through, SIDE, x / SIDE)
    } else {
        let end = (c - b) / (1.0 - SIDE);
        hermite(b, through, c, end, 1.0 - SIDE, (x - SIDE) / (1.0 - SIDE))
    };
    DVec3::new(d.x * s.signum(), d.y, d.z)
}
