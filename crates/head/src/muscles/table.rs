//! Tables of the muscles of the built-in head: origin, path, insertion, breadth and thickness. Left side,
//! millimeters.
//!
//! Placed by the descriptions in anatomy atlases, between the skin's key points and the bones. A band is
//! given by its center line; its breadth is perpendicular to the path and along the surface of the head. A
//! sheet is given by its middle surface. A ring is given by an inner and an outer ellipse around the mouth or
//! an eye.

use super::build::{Draft, Row, outward};
use crate::bones::Obstacles;
use glam::DVec3;
use risorius_muscle::MuscleEnd::{self, Cranium, Mandible, Soft};
use std::f64::consts::TAU;

/// All left and single muscles.
pub(super) fn drafts(obstacles: &Obstacles) -> Vec<Draft> {
    let mut all = vec![mouth_ring(), eye_ring(true), eye_ring(false)];
    all.extend(BANDS.iter().map(|b| band(b, obstacles)));
    all.extend(SHEETS.iter().map(sheet));
    all
}

/// Name, origin, insertion, rows of x, y, z, half breadth, half thickness, height over bone (negative: free).
type Band = (&'static str, MuscleEnd, MuscleEnd, &'static [[f64; 6]]);

const FREE: f64 = -1.0;

const BANDS: [Band; 15] = [
    (
        "zygomaticus_major",
        Cranium,
        Soft,
        &[
            [50.5, -5.0, 61.0, 3.4, 1.0, 1.5],
            [45.0, -16.0, 64.0, 3.2, 1.6, FREE],
            [38.5, -29.0, 69.5, 2.8, 1.7, FREE],
            [30.0, -42.5, 79.0, 2.5, 1.4, FREE],
        ],
    ),
    (
        "zygomaticus_minor",
        Cranium,
        Soft,
        &[
            [42.5, -3.0, 66.0, 2.6, 1.0, 1.7],
            [35.5, -13.0, 72.5, 2.6, 1.3, FREE],
            [26.5, -23.0, 79.5, 2.6, 1.3, FREE],
            [18.5, -32.5, 89.5, 2.4, 1.1, FREE],
        ],
    ),
    (
        "levator_labii_superioris",
        Cranium,
        Soft,
        &[
            [27.5, 1.0, 73.5, 7.0, 1.0, 1.6],
            [23.5, -10.0, 77.0, 5.5, 1.2, FREE],
            [18.5, -22.0, 85.0, 4.5, 1.2, FREE],
            [14.0, -32.5, 93.2, 3.2, 1.0, FREE],
        ],
    ),
    (
        "levator_labii_superioris_alaeque_nasi",
        Cranium,
        Soft,
        &[
            [8.5, 20.0, 83.0, 1.6, 0.5, 0.9],
            [12.5, 6.0, 83.0, 2.4, 0.8, 1.4],
            [15.3, -12.0, 88.5, 2.8, 0.9, FREE],
            [11.0, -28.5, 94.5, 3.0, 1.0, FREE],
        ],
    ),
    (
        "levator_anguli_oris",
        Cranium,
        Soft,
        &[
            [24.0, -10.0, 72.5, 4.5, 1.2, 1.8],
            [25.5, -21.0, 74.0, 4.0, 1.4, FREE],
            [28.2, -32.0, 77.8, 3.0, 1.3, FREE],
            [28.5, -42.5, 80.5, 2.2, 1.2, FREE],
        ],
    ),
    (
        "risorius",
        Soft,
        Soft,
        &[
            [54.0, -38.0, 42.0, 5.0, 0.9, FREE],
            [47.0, -42.0, 57.0, 4.0, 1.0, FREE],
            [39.0, -44.0, 69.5, 3.2, 1.1, FREE],
            [31.0, -45.0, 78.5, 2.5, 1.1, FREE],
        ],
    ),
    (
        "depressor_anguli_oris",
        Mandible,
        Soft,
        &[
            [26.0, -76.0, 66.5, 8.0, 1.0, 1.7],
            [28.5, -66.0, 72.5, 6.0, 1.2, FREE],
            [29.5, -56.0, 78.0, 4.0, 1.3, FREE],
            [29.0, -47.5, 80.5, 2.2, 1.2, FREE],
        ],
    ),
    (
        "depressor_labii_inferioris",
        Mandible,
        Soft,
        &[
            [19.0, -78.0, 74.5, 6.0, 1.0, 1.7],
            [15.0, -70.0, 80.0, 6.0, 1.2, FREE],
            [11.5, -62.0, 88.6, 5.2, 0.9, FREE],
            [9.5, -55.0, 94.2, 4.8, 0.8, FREE],
        ],
    ),
    (
        "mentalis",
        Mandible,
        Soft,
        &[
            [4.5, -67.0, 83.5, 2.5, 1.4, 2.0],
            [5.5, -73.0, 87.5, 3.2, 1.8, FREE],
            [6.5, -81.0, 87.5, 3.8, 1.6, FREE],
        ],
    ),
    (
        "nasalis",
        Cranium,
        Soft,
        &[
            [13.0, -20.0, 84.0, 3.0, 0.9, 1.6],
            [14.5, -10.0, 88.0, 3.2, 0.8, FREE],
            [9.5, 0.0, 95.5, 3.6, 0.6, FREE],
            [3.5, 3.0, 103.5, 3.4, 0.5, FREE],
        ],
    ),
    (
        "depressor_septi_nasi",
        Cranium,
        Soft,
        &[
            [3.6, -24.5, 89.0, 1.8, 0.8, 1.4],
            [3.0, -21.0, 94.0, 1.6, 0.8, FREE],
            [2.2, -17.0, 101.0, 1.4, 0.7, FREE],
        ],
    ),
    (
        "procerus",
        Cranium,
        Soft,
        &[
            [2.4, 19.0, 94.5, 1.6, 0.4, 0.9],
            [2.8, 31.0, 88.0, 2.2, 0.6, 1.4],
            [4.0, 46.0, 91.0, 2.8, 0.6, 2.0],
        ],
    ),
    (
        "corrugator_supercilii",
        Cranium,
        Soft,
        &[
            [8.5, 43.5, 87.5, 2.2, 0.7, 1.2],
            [18.0, 47.0, 85.5, 2.5, 0.8, 1.4],
            [29.0, 49.5, 82.5, 2.6, 0.7, 2.4],
        ],
    ),
    (
        "medial_pterygoid",
        Cranium,
        Mandible,
        &[
            [22.0, -20.0, 32.0, 5.0, 2.0, FREE],
            [30.0, -34.0, 28.0, 6.5, 3.2, FREE],
            [36.8, -52.0, 20.0, 7.0, 2.0, FREE],
        ],
    ),
    (
        "lateral_pterygoid_lower",
        Cranium,
        Mandible,
        &[
            [23.0, -15.0, 31.0, 5.0, 2.0, FREE],
            [35.0, -13.0, 18.0, 5.0, 3.0, FREE],
            [45.0, -10.0, 5.0, 3.0, 1.8, FREE],
        ],
    ),
];

/// Name, origin, insertion, half thickness and height over bone of each row, points of each row.
type Sheet = (&'static str, MuscleEnd, MuscleEnd, &'static [([f64; 2], &'static [[f64; 3]])]);

const SHEETS: [Sheet; 7] = [
    (
        "frontalis",
        Cranium,
        Soft,
        &[
            ([0.6, 1.2], &[[4.0, 104.0, 73.0], [17.0, 106.0, 68.0], [31.0, 102.0, 62.0], [43.0, 90.0, 58.0]]),
            ([0.9, 1.6], &[[3.0, 86.0, 84.0], [17.0, 88.0, 80.0], [33.0, 84.0, 71.0], [47.0, 74.0, 60.0]]),
            ([0.9, 1.8], &[[3.0, 68.0, 89.0], [17.0, 69.0, 86.0], [33.0, 67.0, 77.0], [47.0, 61.0, 64.0]]),
            ([0.8, 3.2], &[[5.0, 48.0, 91.0], [17.0, 51.0, 87.0], [32.0, 51.0, 81.0], [45.0, 48.0, 68.0]]),
        ],
    ),
    (
        "occipitalis",
        Cranium,
        Soft,
        &[
            (
                [0.9, 1.5],
                &[[8.0, 20.0, -90.0], [21.0, 21.0, -87.0], [34.0, 22.0, -80.0], [46.0, 23.0, -68.0]],
            ),
            (
                [1.1, 1.8],
                &[[8.0, 38.0, -95.0], [22.0, 39.0, -91.0], [36.0, 39.0, -83.0], [48.0, 38.0, -72.0]],
            ),
            (
                [0.6, 1.6],
                &[[9.0, 58.0, -93.0], [22.0, 59.0, -90.0], [36.0, 58.0, -82.0], [48.0, 56.0, -72.0]],
            ),
        ],
    ),
    (
        "temporalis",
        Cranium,
        Mandible,
        &[
            ([0.8, 1.4], &[[50.0, 62.0, 50.0], [60.0, 82.0, 26.0], [66.0, 84.0, -2.0], [66.0, 60.0, -26.0]]),
            ([1.4, 2.4], &[[52.0, 46.0, 46.0], [58.0, 60.0, 26.0], [64.0, 60.0, 2.0], [66.0, 42.0, -14.0]]),
            ([2.4, FREE], &[[50.0, 28.0, 41.0], [54.0, 34.0, 31.0], [57.0, 33.0, 18.0], [59.0, 27.0, 8.0]]),
            ([2.2, FREE], &[[50.0, 14.0, 37.0], [51.0, 16.0, 33.0], [52.0, 16.0, 27.0], [53.0, 14.0, 22.0]]),
            ([1.2, FREE], &[[47.0, 1.0, 34.5], [47.0, 2.0, 33.0], [47.0, 2.0, 31.0], [47.0, 1.0, 29.5]]),
        ],
    ),
    (
        "masseter_superficial",
        Cranium,
        Mandible,
        &[
            ([2.2, FREE], &[[49.0, -10.0, 58.0], [56.0, -5.5, 51.0], [60.5, -2.0, 41.0]]),
            ([3.2, FREE], &[[50.5, -23.0, 49.0], [55.5, -22.0, 41.0], [57.5, -21.0, 30.0]]),
            ([3.0, FREE], &[[48.5, -42.0, 38.0], [51.5, -42.0, 28.0], [52.0, -42.0, 17.0]]),
            ([1.6, FREE], &[[42.5, -57.0, 33.0], [45.0, -59.0, 23.0], [46.0, -58.0, 13.0]]),
        ],
    ),
    (
        "masseter_deep",
        Cranium,
        Mandible,
        &[
            ([1.4, FREE], &[[57.5, 0.0, 36.0], [58.0, 1.0, 27.0], [58.0, 2.0, 18.0]]),
            ([2.0, FREE], &[[53.5, -10.0, 33.0], [54.5, -10.0, 24.0], [55.0, -10.0, 14.0]]),
            ([1.6, FREE], &[[48.0, -24.0, 31.0], [49.5, -25.0, 21.0], [50.5, -25.0, 9.0]]),
        ],
    ),
    (
        "lateral_pterygoid_upper",
        Cranium,
        Mandible,
        &[
            ([1.4, FREE], &[[32.0, 3.0, 32.0], [33.0, -3.0, 33.0]]),
            ([1.8, FREE], &[[41.0, -3.0, 23.0], [41.0, -9.0, 23.0]]),
            ([1.2, FREE], &[[46.5, -2.0, 7.5], [46.5, -6.0, 6.5]]),
        ],
    ),
    (
        "buccinator",
        Cranium,
        Soft,
        &[
            ([1.0, FREE], &[[34.5, -33.0, 43.0], [37.0, -46.0, 42.0], [35.0, -58.0, 44.0]]),
            ([1.4, FREE], &[[37.0, -33.0, 55.0], [40.5, -46.0, 54.0], [37.0, -59.0, 55.0]]),
            ([1.5, FREE], &[[34.0, -37.0, 68.0], [36.0, -46.0, 68.0], [34.0, -55.0, 68.0]]),
            ([1.4, FREE], &[[28.2, -41.5, 79.2], [28.8, -45.0, 79.6], [28.2, -48.5, 79.2]]),
        ],
    ),
];

fn height(given: f64) -> Option<f64> {
    (given >= 0.0).then_some(given)
}

fn band(&(name, origin, insertion, rows): &Band, obstacles: &Obstacles) -> Draft {
    let center = |i: usize| DVec3::new(rows[i][0], rows[i][1], rows[i][2]);
    let row = |(i, r): (usize, &[f64; 6])| {
        let along = center((i + 1).min(rows.len() - 1)) - center(i.saturating_sub(1));
        // On bone the band lies flat on the bone; elsewhere, along the head.
        let up = if r[5] >= 0.0 { obstacles.gradient(center(i)) } else { outward(center(i)) };
        let across = up.cross(along).normalize_or_zero() * r[3];
        Row {
            points: vec![center(i) - across, center(i) + across],
            half_thickness: r[4],
            height: height(r[5]),
        }
    };
    Draft { name, origin, insertion, paired: true, rows: rows.iter().enumerate().map(row).collect() }
}

fn sheet(&(name, origin, insertion, rows): &Sheet) -> Draft {
    let mut rows: Vec<Row> = rows
        .iter()
        .map(|(row, points)| Row {
            points: points.iter().map(|&p| p.into()).collect(),
            half_thickness: row[0],
            height: height(row[1]),
        })
        .collect();
    // Rows are written for readability; v must be directed so that w points out of the head.
    let n = rows[0].points.len();
    let (along, across) = (rows[1].points[0] - rows[0].points[0], rows[0].points[n - 1] - rows[0].points[0]);
    if along.cross(across).dot(outward(rows[0].points[0])) < 0.0 {
        rows.iter_mut().for_each(|r| r.points.reverse());
    }
    Draft { name, origin, insertion, paired: true, rows }
}

/// Angles around a ring of `n` rows: the Greville abscissae, for which the ends join smoothly.
fn ring_angles(n: usize) -> Vec<f64> {
    let n_spans = n - 3;
    let knot = |i: usize| i.saturating_sub(3).min(n_spans) as f64 / n_spans as f64;
    (0..n).map(|i| TAU * (knot(i + 1) + knot(i + 2) + knot(i + 3)) / 3.0).collect()
}

/// Factor by which control points lie outside an evenly spaced closed spline of `n_spans` spans.
fn overshoot(n_spans: usize) -> f64 {
    3.0 / (2.0 + (TAU / n_spans as f64).cos())
}

/// Orbicularis oris, from the middle of the upper lip over the left corner and the lower lip and back. It
/// runs through the middle of the lips, which curve around the teeth.
fn mouth_ring() -> Draft {
    let n = 19;
    let over = overshoot(n - 3);
    let row = |angle: f64| {
        let (sin, cos) = angle.sin_cos();
        // Inner to outer edge: half width, height above and below the middle line of the mouth.
        let edges = [(28.5, 3.4, 4.0), (31.8, 9.5, 8.5), (35.2, 16.5, 11.8)];
        let points = edges.map(|(wide, up, down)| {
            let (x, y) = (over * wide * sin, -44.5 + over * cos * if cos > 0.0 { up } else { down });
            let forward =
                if cos > 0.0 { 99.9 - 0.6 * (y + 34.0).max(0.0) } else { 98.6 - 0.34 * (-48.0 - y).max(0.0) };
            DVec3::new(x, y, forward - 0.0225 * x * x)
        });
        Row { points: points.to_vec(), half_thickness: 1.25 + 0.2 * cos, height: None }
    };
    let rows = ring_angles(n).into_iter().map(row).collect();
    outwards(Draft { name: "orbicularis_oris", origin: Soft, insertion: Soft, paired: false, rows })
}

/// An edge of a ring around the left eye: distances from the eye's center inward, upward, outward, downward,
/// and z at those four points.
type EyeEdge = ([f64; 4], [f64; 4]);

const ORBITAL: [EyeEdge; 3] = [
    ([16.5, 16.0, 18.5, 17.5], [75.0, 79.0, 60.0, 74.0]),
    ([18.5, 20.0, 22.5, 21.5], [77.0, 83.0, 59.0, 74.0]),
    ([21.0, 24.0, 26.5, 25.5], [82.0, 84.0, 56.0, 74.0]),
];

const PALPEBRAL: [EyeEdge; 3] = [
    ([11.0, 5.8, 13.6, 5.5], [68.2, 75.6, 66.5, 75.8]),
    ([12.6, 8.8, 15.2, 8.2], [69.0, 74.9, 65.2, 74.5]),
    ([14.0, 11.6, 17.0, 10.6], [69.8, 75.0, 64.0, 73.6]),
];

/// Orbicularis oculi around the orbit, or its part in the lids; from the inner corner of the eye over the
/// upper lid.
fn eye_ring(orbital: bool) -> Draft {
    let n = 15;
    let over = overshoot(n - 3);
    let row = |angle: f64| {
        let (sin, cos) = angle.sin_cos();
        let edges = if orbital { &ORBITAL } else { &PALPEBRAL };
        let points = edges.iter().map(|([inner, up, outer, down], [z_inner, z_up, z_outer, z_down])| {
            let (wide, z_wide) = if cos > 0.0 { (inner, z_inner) } else { (outer, z_outer) };
            let (tall, z_tall) = if sin > 0.0 { (up, z_up) } else { (down, z_down) };
            let (x, y) = (31.5 - over * cos * wide, 24.0 + over * sin * tall);
            DVec3::new(x, y, cos * cos * z_wide + sin * sin * z_tall)
        });
        let (half_thickness, height) = if orbital { (0.55, Some(1.4)) } else { (0.5, None) };
        Row { points: points.collect(), half_thickness, height }
    };
    let rows = ring_angles(n).into_iter().map(row).collect();
    let name = if orbital { "orbicularis_oculi_orbital" } else { "orbicularis_oculi_palpebral" };
    outwards(Draft { name, origin: Cranium, insertion: Cranium, paired: true, rows })
}

/// Reverses v where needed, so that w points out of the head.
fn outwards(mut draft: Draft) -> Draft {
    let n = draft.rows[0].points.len();
    let (a, b) = (&draft.rows[0].points, &draft.rows[1].points);
    if (b[0] - a[0]).cross(a[n - 1] - a[0]).dot(outward(a[0])) < 0.0 {
        draft.rows.iter_mut().for_each(|r| r.points.reverse());
    }
    draft
}
