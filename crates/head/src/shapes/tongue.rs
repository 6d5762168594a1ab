//! Motion of the tongue relative to the jaw: the root is fixed, the tip is displaced.

use super::ground::{Field, Ground, bell};
use risorius_base::ease::ramp;

/// Weight of the tip's motion at a vertex: 0 at the root, 1 at the tip.
fn tip_share(ground: &Ground, v: usize, from: f64, to: f64) -> f64 {
    ramp(ground.points[v].z, from, to)
}

/// z of the root and of the tip.
fn ends(ground: &Ground) -> [f64; 2] {
    let depths = ground.part("tongue").map(|v| ground.points[v].z);
    depths.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], z| [a.min(z), b.max(z)])
}

/// Adds a rise and advance of the tip and a rise of the back, mm.
pub fn bend(ground: &Ground, field: &mut Field, [rise, advance, back]: [f64; 3]) {
    let [root, tip] = ends(ground);
    let length = tip - root;
    for v in ground.part("tongue") {
        let share = tip_share(ground, v, root + 0.25 * length, tip);
        let hump = bell((ground.points[v].z - root - 0.38 * length).abs(), 0.45 * length);
        field[v].y += rise * share + back * hump;
        field[v].z += advance * share;
    }
}

/// Adds protrusion of the tongue: forward over the lower teeth, flattened, and down in front of the lip.
pub fn put_out(ground: &Ground, field: &mut Field) {
    let [root, tip] = ends(ground);
    let length = tip - root;
    let middle = ground.part("tongue").map(|v| ground.points[v].y).sum::<f64>()
        / ground.part("tongue").len().max(1) as f64;
    for v in ground.part("tongue") {
        let p = ground.points[v];
        let t = ((p.z - root) / length).clamp(0.0, 1.0);
        let share = ramp(t, 0.05, 1.0);
        field[v].z += 46.0 * share;
        field[v].y += 9.0 * bell((t - 0.62).abs(), 0.5) - 5.0 * ramp(t, 0.6, 1.0)
            + (0.35 * (middle - 2.0 - p.y)) * ramp(t, 0.2, 0.7);
        field[v].x += 0.25 * p.x * share;
    }
}
