//! A face made in code for the demo: a mask of smooth bumps with ten sliders, no third-party data.
//!
//! The mask is a bent sheet of quads over an oval; brow, nose, lips and lids are bumps on it. Sliders overlap as sculpted
//! ones do: a furrow moves the brow, a sneer moves the nose and the brow with it, smiles pull the cheeks up to the lids.

use risorius_mesh::Polygons;
use risorius_rig::roles::RoleTable;
use risorius_rig::{Deltas, RawPart, RawRig, RawShape, Rig, Space, assemble};

/// Rows and columns of quads.
const ROWS: usize = 96;
const COLUMNS: usize = 72;

/// A soft spot of radius `radius` at `(x, y)`, from 0 to 1.
#[derive(Clone, Copy)]
struct Spot {
    x: f32,
    y: f32,
    radius: [f32; 2],
}

impl Spot {
    fn at(self, x: f32, y: f32) -> f32 {
        let (dx, dy) = ((x - self.x) / self.radius[0], (y - self.y) / self.radius[1]);
        (-(dx * dx + dy * dy)).exp()
    }
}

const fn spot(x: f32, y: f32, rx: f32, ry: f32) -> Spot {
    Spot { x, y, radius: [rx, ry] }
}

/// One slider: spots with the motion at their middle, in centimeters.
type Motion = &'static [(Spot, [f32; 3])];

const SLIDERS: [(&str, Motion); 10] = [
    ("browFurrow", &[(spot(1.6, 4.4, 1.6, 1.0), [-0.7, -0.5, 0.25]), (spot(-1.6, 4.4, 1.6, 1.0), [0.7, -0.5, 0.25])]),
    ("browRaiseLeft", &[(spot(3.0, 4.6, 2.2, 1.3), [0.1, 0.9, 0.1])]),
    ("browRaiseRight", &[(spot(-3.0, 4.6, 2.2, 1.3), [-0.1, 0.9, 0.1])]),
    (
        "wince",
        &[
            (spot(2.9, 2.2, 1.6, 0.8), [0.0, 0.5, 0.2]),
            (spot(-2.9, 2.2, 1.6, 0.8), [0.0, 0.5, 0.2]),
            (spot(0.0, 4.3, 2.8, 0.9), [0.0, -0.4, 0.1]),
        ],
    ),
    ("smileLeft", &[(spot(2.4, -3.2, 1.5, 1.2), [0.9, 0.8, -0.2]), (spot(3.6, 0.2, 1.8, 1.8), [0.2, 0.4, 0.4])]),
    ("smileRight", &[(spot(-2.4, -3.2, 1.5, 1.2), [-0.9, 0.8, -0.2]), (spot(-3.6, 0.2, 1.8, 1.8), [-0.2, 0.4, 0.4])]),
    (
        "sneer",
        &[
            (spot(1.3, -0.4, 1.0, 1.2), [0.2, 0.6, 0.2]),
            (spot(-1.3, -0.4, 1.0, 1.2), [-0.2, 0.6, 0.2]),
            (spot(0.0, -2.2, 2.0, 0.8), [0.0, 0.5, 0.1]),
            (spot(0.0, 4.2, 2.4, 1.1), [0.0, -0.45, 0.15]),
        ],
    ),
    ("jawOpen", &[(spot(0.0, -6.6, 4.5, 2.9), [0.0, -1.7, -0.5])]),
    (
        "pucker",
        &[
            (spot(1.9, -3.4, 1.2, 1.1), [-0.9, 0.0, 0.5]),
            (spot(-1.9, -3.4, 1.2, 1.1), [0.9, 0.0, 0.5]),
            (spot(0.0, -3.4, 1.2, 1.2), [0.0, 0.0, 0.6]),
        ],
    ),
    ("cheekPuff", &[(spot(3.9, -2.6, 1.9, 1.9), [0.5, 0.0, 0.7]), (spot(-3.9, -2.6, 1.9, 1.9), [-0.5, 0.0, 0.7])]),
];

/// Depth of the mask at `(x, y)`, in centimeters.
fn depth(x: f32, y: f32) -> f32 {
    let oval = 1.0 - (x / 8.4).powi(2) - (y / 11.6).powi(2) * 0.82;
    let base = 7.6 * oval.max(0.02).powf(0.55);
    let both = |s: Spot| s.at(x, y) + s.at(-x, y);
    let nose = 1.9 * spot(0.0, -0.2, 0.75, 1.1).at(x, y) + 1.0 * spot(0.0, 1.7, 0.6, 1.7).at(x, y);
    let wings = 0.75 * both(spot(1.0, -0.75, 0.5, 0.5));
    let brow = 0.75 * both(spot(2.6, 4.1, 2.0, 0.65)) + 0.25 * spot(0.0, 4.1, 1.4, 0.8).at(x, y);
    let sockets = -1.35 * both(spot(2.9, 2.5, 1.5, 0.95));
    let eyes = 1.15 * both(spot(2.9, 2.5, 1.0, 0.62));
    let lid = -0.35 * both(spot(2.9, 2.25, 1.15, 0.09));
    let lips = 0.62 * spot(0.0, -2.95, 1.7, 0.38).at(x, y) + 0.7 * spot(0.0, -3.95, 1.5, 0.42).at(x, y);
    let seam = -0.5 * spot(0.0, -3.42, 2.0, 0.13).at(x, y);
    let cheeks = 0.45 * both(spot(3.9, 0.3, 1.7, 1.5));
    let folds = -0.3 * both(spot(2.4, -1.7, 0.5, 1.4));
    let chin = 0.95 * spot(0.0, -6.9, 1.6, 1.2).at(x, y) - 0.4 * spot(0.0, -5.2, 1.5, 0.5).at(x, y);
    base + nose + wings + brow + sockets + eyes + lid + lips + seam + cheeks + folds + chin
}

/// The mask as a rig in centimeters.
pub fn mask() -> Rig {
    let mut part = RawPart { name: "mask".into(), ..RawPart::default() };
    for row in 0..=ROWS {
        for column in 0..=COLUMNS {
            // An oval outline: rows get narrower towards forehead and chin.
            let y = -10.0 + 19.5 * row as f32 / ROWS as f32;
            let half = 7.7 * (1.0 - ((y + 0.2) / 11.2).abs().powf(2.6)).max(0.04).sqrt();
            let x = half * (2.0 * column as f32 / COLUMNS as f32 - 1.0);
            part.positions.push([x, y, depth(x, y)]);
        }
    }
    let mut faces = Polygons::default();
    let stride = COLUMNS as u32 + 1;
    for row in 0..ROWS as u32 {
        for column in 0..COLUMNS as u32 {
            let v = row * stride + column;
            faces.push(&[v, v + 1, v + stride + 1, v + stride]);
        }
    }
    part.faces = faces;
    part.shapes = SLIDERS
        .iter()
        .map(|(name, motion)| RawShape { name: (*name).into(), deltas: deltas(&part.positions, motion) })
        .collect();
    let inside = |s: Spot| {
        (0..part.positions.len() as u32)
            .filter(|&v| s.at(part.positions[v as usize][0], part.positions[v as usize][1]) > 0.6)
            .collect::<Vec<u32>>()
    };
    part.regions.insert("brow".into(), inside(spot(0.0, 4.3, 3.2, 0.9)));
    part.regions.insert("mouth".into(), inside(spot(0.0, -3.4, 2.6, 1.2)));
    let space = Space { meters_per_unit: 0.01, ..Space::default() };
    assemble(RawRig { name: "mask".into(), space, parts: vec![part], ..RawRig::default() }, &RoleTable::default()).0
}

fn deltas(positions: &[[f32; 3]], motion: Motion) -> Deltas {
    let mut out = Deltas::default();
    for (v, p) in positions.iter().enumerate() {
        let mut sum = [0.0f32; 3];
        for (spot, full) in motion {
            let strength = spot.at(p[0], p[1]);
            (0..3).for_each(|k| sum[k] += strength * full[k]);
        }
        // Sculpted shapes end somewhere; a hundredth of a millimeter cannot be seen.
        if sum.iter().any(|x| x.abs() > 1e-3) {
            out.vertices.push(v as u32);
            out.offsets.push(sum);
        }
    }
    out
}
