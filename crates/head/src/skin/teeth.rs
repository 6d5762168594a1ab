//! Fourteen teeth and the gums of each jaw, along half an ellipse.
//!
//! A tooth is a small cage in its own frame (t along the arch away from the midline, n outward, y up),
//! subdivided once: from below the gum over its widest ring to the edge or the cusps. Gums are a tube along
//! the arch whose margin is scalloped from tooth to tooth. Millimeters; tables by tooth from the midline
//! backward.

use super::cage::{Cage, Label};
use super::{METERS, PartMesh, subdivide};
use glam::DVec3;

/// Which row of teeth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jaw {
    /// Fixed to the skull.
    Upper,
    /// Moves with the mandible.
    Lower,
}

/// A kind of tooth.
struct Tooth {
    /// Along the arch.
    width: f64,
    /// From the gum to the edge.
    height: f64,
    /// Across the arch at the gum and at the edge.
    depth: [f64; 2],
    /// y of the edge, and the relief: positive, the height of the corners over the middle (cusps); negative,
    /// that of the middle over the corners (a single point).
    edge: f64,
    cusp: f64,
}

const fn tooth(width: f64, height: f64, depth: [f64; 2], edge: f64, cusp: f64) -> Tooth {
    Tooth { width, height, depth, edge, cusp }
}

const UPPER: [Tooth; 7] = [
    tooth(8.6, 10.0, [6.4, 1.6], -47.0, 0.0),
    tooth(6.6, 9.2, [5.8, 1.6], -46.6, 0.0),
    tooth(7.6, 9.6, [6.4, 2.0], -46.8, -1.0),
    tooth(7.0, 8.4, [8.2, 6.4], -46.0, 1.5),
    tooth(6.8, 7.8, [8.2, 6.6], -45.9, 1.4),
    tooth(10.0, 7.2, [10.0, 8.6], -45.8, 1.3),
    tooth(9.4, 6.8, [9.8, 8.2], -45.7, 1.2),
];

const LOWER: [Tooth; 7] = [
    tooth(5.3, 8.6, [5.4, 1.5], -45.2, 0.0),
    tooth(5.9, 8.8, [5.4, 1.5], -45.4, 0.0),
    tooth(6.9, 9.0, [6.4, 2.0], -45.9, -0.9),
    tooth(7.0, 8.2, [7.0, 5.4], -46.3, 1.2),
    tooth(7.2, 7.6, [7.6, 5.8], -46.3, 1.2),
    tooth(10.6, 7.2, [9.6, 8.4], -46.2, 1.2),
    tooth(10.2, 6.8, [9.4, 8.2], -46.1, 1.1),
];

/// Modeled length of a tooth below the margin of the gum.
const ROOT: f64 = 4.0;

impl Jaw {
    fn table(self) -> &'static [Tooth; 7] {
        match self {
            Self::Upper => &UPPER,
            Self::Lower => &LOWER,
        }
    }

    /// 1 for the upper jaw, whose edges face down; -1 for the lower.
    fn up(self) -> f64 {
        if self == Self::Upper { 1.0 } else { -1.0 }
    }

    fn name(self) -> &'static str {
        if self == Self::Upper { "upper" } else { "lower" }
    }

    /// Half the breadth of the outer arch, its length, and z where it is widest.
    fn ellipse(self) -> [f64; 3] {
        if self == Self::Upper { [31.0, 58.0, 32.0] } else { [27.2, 53.4, 31.5] }
    }

    /// The point of the outer arch at arc length `length` from the midline, and the tangent and outward
    /// normal.
    fn arch(self, length: f64) -> (DVec3, DVec3, DVec3) {
        let [a, b, z] = self.ellipse();
        let at = |angle: f64| DVec3::new(a * angle.sin(), 0.0, z + b * angle.cos());
        // Stepping is accurate enough: 1/4000 of the quarter turn is less than 0.1 mm.
        let (mut gone, mut angle, step) = (0.0, 0.0, std::f64::consts::FRAC_PI_2 / 4000.0);
        while gone < length.abs() {
            gone += at(angle).distance(at(angle + step));
            angle += step;
        }
        let along = DVec3::new(a * angle.cos(), 0.0, -b * angle.sin()).normalize();
        let out = DVec3::new(-along.z, 0.0, along.x);
        let side = |p: DVec3| if length < 0.0 { DVec3::new(-p.x, p.y, p.z) } else { p };
        (side(at(angle)), side(along), side(out))
    }

    /// Arc length of the center of tooth `i`.
    fn middle(self, i: usize) -> f64 {
        let before: f64 = self.table()[..i].iter().map(|t| t.width).sum();
        before + 0.5 * self.table()[i].width
    }
}

/// The teeth of a jaw, each a closed surface of its own: left ones from the midline backward, then right
/// ones.
pub fn teeth(jaw: Jaw) -> PartMesh {
    let mut part =
        PartMesh { name: format!("teeth_{}", jaw.name()), groups: vec![("teeth", 0)], ..PartMesh::default() };
    for side in [1.0, -1.0] {
        for i in 0..jaw.table().len() {
            append(&mut part, &crown(jaw, i), side);
        }
    }
    part
}

/// Appends a surface of the left side, or its mirror image.
fn append(part: &mut PartMesh, cage: &Cage, side: f64) {
    let first = part.positions.len() as u32;
    part.positions.extend(cage.points.iter().map(|p| DVec3::new(side * p.x, p.y, p.z) * METERS));
    for face in &cage.faces {
        let mut corners = face.map(|v| v + first);
        if side < 0.0 {
            corners.reverse();
        }
        part.faces.push(&corners);
    }
}

/// Tooth `i` of the left side.
fn crown(jaw: Jaw, i: usize) -> Cage {
    let tooth = &jaw.table()[i];
    let (place, along, out) = jaw.arch(jaw.middle(i));
    // Teeth have a small gap between them, and their outer surface lies on the arch at the edge.
    let width = 0.5 * (tooth.width - if i < 3 { 0.5 } else { 0.9 });
    // (height above the edge, half width, outer and inner face relative to the arch)
    let full = 0.5 * tooth.height;
    let levels = [
        (tooth.height + ROOT, 0.62 * width, -1.2, 0.6 - tooth.depth[0]),
        (tooth.height, 0.8 * width, 0.1, -tooth.depth[0]),
        (full, width, 0.7, 0.2 - 0.75 * tooth.depth[0] - 0.25 * tooth.depth[1]),
        (0.0, 0.94 * width, 0.0, -tooth.depth[1]),
    ];
    let at = |t: f64, n: f64, up: f64| place + along * t + out * n + DVec3::Y * (tooth.edge + jaw.up() * up);
    let mut cage = Cage::default();
    let mut rings: Vec<Vec<u32>> = Vec::new();
    for (l, (up, w, outer, inner)) in levels.into_iter().enumerate() {
        let middle = 0.5 * (outer + inner);
        let around = [
            (-w, outer),
            (0.0, outer + 0.25),
            (w, outer),
            (0.9 * w, middle),
            (0.68 * w, inner),
            (0.0, inner),
            (-0.68 * w, inner),
            (-0.9 * w, middle),
        ];
        let raise = |k: usize| if l < 3 { 0.0 } else { relief(tooth.cusp, k) };
        let points: Vec<DVec3> =
            around.iter().enumerate().map(|(k, &(t, n))| at(t, n, up + raise(k))).collect();
        rings.push(cage.add(&points));
    }
    for pair in rings.windows(2) {
        cage.ring(&pair[0], &pair[1], |_| Label::MouthBag);
    }
    let (_, _, outer, inner) = levels[3];
    let dip = if tooth.cusp > 0.0 { 1.2 * tooth.cusp } else { relief(tooth.cusp, 1) };
    cage.cap(&rings[3], 2, &[at(0.0, 0.5 * (outer + inner), dip)], Label::MouthBag);
    let (up, _, outer, inner) = levels[0];
    cage.cap(&rings[0], 2, &[at(0.0, 0.5 * (outer + inner), up)], Label::MouthBag);
    refined(cage, 1)
}

/// Depth of ring vertex `k` of an edge below its highest points.
fn relief(cusp: f64, k: usize) -> f64 {
    match (cusp > 0.0, k.is_multiple_of(2), k) {
        // Corners are cusps; the vertices between them lie lower.
        (true, true, _) => 0.0,
        (true, false, _) => 0.7 * cusp,
        // The middle of the edge is a point; its ends lie lower.
        (false, _, 1 | 5) => cusp,
        _ => 0.0,
    }
}

/// The cage oriented outwards and subdivided.
pub fn refined(mut cage: Cage, rounds: usize) -> Cage {
    cage.mirror = (0..cage.points.len() as u32).collect();
    super::cage::turn_outwards(&mut cage);
    cage.points = subdivide::fit(&cage.points, &cage.faces, 2);
    let mut fine = (0..rounds).fold(cage, |cage, _| subdivide::subdivide(&cage));
    fine.points = subdivide::limit(&fine.points, &fine.faces);
    fine
}

/// Cross-section of the gum: offset outward from the arch, and height from the margin as a fraction of the
/// distance to its base.
const GUM: [(f64, f64); 8] =
    [(0.5, 0.0), (1.1, 0.25), (1.0, 0.75), (-1.0, 1.0), (-5.5, 1.0), (-9.0, 0.75), (-8.8, 0.25), (-6.6, 0.0)];

/// The gums of a jaw: one closed tube, from the last tooth on the right to the last on the left.
pub fn gums(jaw: Jaw) -> PartMesh {
    let table = jaw.table();
    // Along each tooth: its two ends, where the gum reaches between teeth, and three points in between.
    let mut stations: Vec<(f64, f64)> = Vec::new();
    for (i, t) in table.iter().enumerate() {
        let margin = |share: f64| t.edge + jaw.up() * (t.height - 0.4) * share;
        let at = |x: f64| jaw.middle(i) + x * t.width;
        stations.extend([
            (at(-0.5), margin(0.72)),
            (at(-0.27), margin(0.95)),
            (at(0.0), margin(1.0)),
            (at(0.27), margin(0.95)),
        ]);
    }
    let last = &table[6];
    stations.push((jaw.middle(6) + 0.5 * last.width, last.edge + jaw.up() * last.height * 0.8));
    stations.push((jaw.middle(6) + 0.5 * last.width + 3.0, last.edge + jaw.up() * last.height));
    let mirrored: Vec<(f64, f64)> = stations[1..].iter().rev().map(|&(s, y)| (-s, y)).collect();
    let mut cage = Cage::default();
    let mut rings: Vec<Vec<u32>> = Vec::new();
    for (length, margin) in mirrored.into_iter().chain(stations) {
        let (place, _, out) = jaw.arch(length);
        let base = if jaw == Jaw::Upper { -31.0 } else { -60.5 };
        // Thinner in front, as teeth are.
        let thick = 0.72 + 0.28 * (length.abs() / 30.0).min(1.0);
        let point = |&(n, up): &(f64, f64)| {
            let n = if n < 0.0 { n * thick } else { n };
            DVec3::new(place.x + out.x * n, margin + (base - margin) * up, place.z + out.z * n)
        };
        rings.push(cage.add(&GUM.iter().map(point).collect::<Vec<_>>()));
    }
    for pair in rings.windows(2) {
        cage.ring(&pair[0], &pair[1], |_| Label::MouthBag);
    }
    for ring in [&rings[0], &rings[rings.len() - 1]] {
        let middle = ring.iter().map(|&v| cage.points[v as usize]).sum::<DVec3>() / ring.len() as f64;
        cage.cap(ring, 2, &[middle], Label::MouthBag);
    }
    let mut part =
        PartMesh { name: format!("gums_{}", jaw.name()), groups: vec![("gums", 0)], ..PartMesh::default() };
    append(&mut part, &refined(cage, 1), 1.0);
    part
}
