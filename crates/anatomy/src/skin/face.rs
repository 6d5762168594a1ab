//! The face of the half cage: nose, lips, lids, and the loops that run around all of them.
//!
//! Names used in the tables. Nose: columns c0 (middle) to c5 (crease beside the wing) and rows r0 (root) to r7 (base);
//! the nostril takes the place of c2 r6. Mouth: rings around the lips, each from the middle of the upper lip (k0) over
//! the corner (k5) to the middle of the lower lip (k10). Eye: rings of 12 from the inner corner (k0) over the upper lid
//! to the outer corner (k6) and back below. Contours: loops Q around the whole face; c5 and the outermost mouth ring
//! are the first, and each later one starts further out around the eye, so that forehead, temple, cheek and jaw
//! are one grid. Millimeters.

use super::cage::{Cage, Label};
use super::eyes::{self, Orbit};
use super::mouth;
use super::table::rows;

/// Columns c0..c3, rows r0..r7 (one line per row). c3 of the first three rows is the eye's ring.
const NOSE: &str = "
    0 33 90,      4.5 33.5 88.8,   7.5 34 87.7
    0 23.5 95.5,  4.6 23.5 92.5,   7.2 23.5 88.8
    0 14 102.5,   5 13.5 99,       8.5 13 93
    0 1 110.5,    5.6 1 107.5,     9.6 0.5 101,    13.3 -0.5 93.5
    0 -10 117,    5.8 -9.5 114.5,  10 -8.5 109.5,  13.3 -8.5 103
    0 -16.5 112.5,  4.6 -16 110.5,   8 -15.8 109.5,  11 -16.5 106.5
    0 -19.5 106.5,  3.6 -19.3 105,   8 -19 103,      12.9 -18.8 101.5
    0 -22 100,    5 -22 98.8,      8.6 -22.3 97.3, 12.2 -21.6 96.3";

/// Columns c4 and c5, rows r3..r7.
const WING: &str = "
    17 -3.5 91,     22.5 -4.5 86
    16.3 -8 97.5,   20.5 -9 89.5
    16.4 -13 101,   20.3 -13 89.8
    17.5 -15.5 97,  20.2 -17 89.8
    15.8 -20.5 93,  19.3 -22 89.8";

/// The lining of a nostril, a ring of eight like its rim and the point at its end.
const NOSTRIL: &str = "
    5 -11.5 108, 7.5 -11 107, 9.8 -11.8 105, 11 -13 101.5, 10.2 -14.5 97.5, 7.8 -15.5 96.5, 5.5 -15.5 98, 4.4 -13.5 103
    7.5 -6.5 100";

/// Rings around the mouth beyond the nose's base, k3/k4..k10: the base's own ring (from k4), then two more.
const AROUND_MOUTH: &str = "
    23.5 -31.5 87.6,  33 -46.5 80.2,  30 -57 82,      23.5 -62.5 86.5,  16 -64.5 89.8,  8 -63.5 92,     0 -62.5 92.8
    28.5 -27.5 84,    39.5 -45 74,    36.5 -61 76,    28.5 -70 82,      19 -74 88.5,    9.5 -76.5 93.5, 0 -77.5 95
    33 -24 80,        46 -42 67,      43.5 -63.5 66,  34 -77.5 73.5,    23.5 -85 80.5,  12 -89.5 84.5,  0 -91 84.5";

/// Contours Q1..Q3 below the eye: r3..r7, k4..k10.
const CHEEK: &str = "
    36 -3 78,  34.5 -9 78.8,  34.5 -14 78.3,  36 -18.5 76.5,  38 -23 74.5,  43 -29 70,  51.5 -42 58,  51 -62 51,  41.5 -78 58,  29 -88 66,  15 -93.5 71,  0 -95.5 72
    49 3 68.5,  48 -5 69,  48 -12 67.5,  49 -18 65.5,  50.5 -24 63,  53.5 -32 57.5,  56.5 -43 46,  55.5 -61 36,  47 -78 42,  34 -90 52,  17.5 -98 58,  0 -100.5 59
    60 12 57.5,  60.5 2 56.5,  60.5 -7 54.5,  60.5 -15 52,  60.5 -23 48.5,  60.5 -32.5 42.5,  59.5 -44.5 33,  57 -60.5 22,  50.5 -77 27,  38 -91.5 38,  20 -103 46,  0 -106.5 47.5";

/// Contours Q4..Q6 all the way, from the middle of the forehead to the middle of the throat.
const CONTOURS: [&str; 3] = [
    "0 48 95, 6 48.5 94.3, 11.5 48.5 93, 17.5 49.5 91.3, 24 52 89, 33 53.5 85.5, 42 53 80, 51.5 50 70.5, 60.5 36 56,
     67 17 47, 68 7 45, 67.3 -3 42.5, 66.3 -12 39.5, 65 -21.5 36, 63 -32.5 30.5, 60.5 -46 22, 55 -62 13, 49 -79 14, 40 -95 24, 22.5 -111 36, 0 -116 40",
    "0 66 94.5, 7 66 93.8, 14 66.5 92, 21.5 67 89, 29.5 67.5 85, 38.5 68 79, 48 67 70, 58 61 57, 67 37 40,
     70 20 32, 70.5 9 29, 69.5 -2 27, 68 -12.5 25, 66 -23 22.5, 63 -34.5 18, 59 -48.5 10, 55 -64 3, 53 -82 1, 47 -102 10, 27 -121 26, 0 -127 36",
    "0 87 88.5, 8.5 87 88, 17.5 87 86, 26.5 87 82, 35.5 86.5 76.5, 45 85 68.5, 55 81 57, 66 66 36, 72.5 27 6,
     72.5 15 0.5, 72 5 -3, 71.2 -4 -4.5, 70 -14 -6, 67.5 -24 -8.5, 61.5 -40 -4, 58 -57 -8, 57 -78 -10, 56 -98 -8, 49 -118 0, 30 -138 20, 0 -145 33",
];

/// The contours by number, Q0 to Q6. Q3 and later start in the middle of the forehead (21 vertices); the earlier ones
/// start at the ring of the eye (13 vertices).
pub struct Face {
    /// Rows of vertices.
    pub contours: Vec<Vec<u32>>,
}

/// Builds the face into `cage`.
pub fn build(cage: &mut Cage) -> Face {
    let orbit = eyes::build(cage);
    let (columns, contour0_top) = nose(cage, &orbit);
    let base: Vec<u32> = (0..4).map(|c| columns[c][7]).collect();
    let rings = around_mouth(cage, &base, columns[4][5], columns[5][5]);
    mouth::build(cage, &rings[0]);
    let mut contours = vec![[contour0_top.as_slice(), &rings[2][1..]].concat()];
    for (start, line) in [8, 7, 6].into_iter().zip(rows(CHEEK)) {
        let below = cage.add(&line);
        contours.push([&[orbit.rim[start]], below.as_slice()].concat());
    }
    for q in 1..4 {
        let (inner, outer) = (contours[q - 1].clone(), contours[q].clone());
        cage.strip(&inner, &outer, |i| if i < 9 { Label::Cheek } else { Label::Neck });
    }
    // Contour 3 continues along the brow to the root of the nose.
    let brow = [&columns[0..3].iter().map(|c| c[0]).collect::<Vec<_>>(), &orbit.rim[1..6]].concat();
    contours[3] = [brow.as_slice(), &contours[3]].concat();
    for (q, line) in (4..).zip(CONTOURS) {
        let points = super::table::row(line);
        contours.push(cage.add(&points));
        let (inner, outer) = (contours[q - 1].clone(), contours[q].clone());
        cage.strip(&inner, &outer, |i| contour_label(q, i));
    }
    Face { contours }
}

/// What lies between contours q - 1 and q at segment i.
fn contour_label(q: usize, i: usize) -> Label {
    match (q, i) {
        (4, 0..2) => Label::Forehead,
        (4, 2..7) => Label::Brow,
        (_, 0..8) => Label::Forehead,
        (4, 8..16) | (_, 8..15) => Label::Cheek,
        _ => Label::Neck,
    }
}

/// Columns c0..c5 (c4 and c5 from row 2), and the upper part of contour 0, which is column c5.
fn nose(cage: &mut Cage, orbit: &Orbit) -> (Vec<Vec<u32>>, Vec<u32>) {
    let mut columns = vec![Vec::new(); 6];
    for (r, line) in rows(NOSE).into_iter().enumerate() {
        for (c, p) in line.into_iter().enumerate() {
            // The middle of the nostril is a hole; its number is never used.
            let hole = (c, r) == (2, 6);
            columns[c].push(if hole { u32::MAX } else { cage.add(&[p])[0] });
        }
        if r < 3 {
            columns[3].push(orbit.rim[[1, 0, 11][r]]);
        }
    }
    columns[4].push(orbit.rim[10]);
    columns[5].push(orbit.rim[9]);
    for line in rows(WING) {
        let pair = cage.add(&line);
        columns[4].push(pair[0]);
        columns[5].push(pair[1]);
    }
    for c in 0..3 {
        for r in (0..7).filter(|&r| c == 0 || r < 5) {
            cage.quad([columns[c][r], columns[c + 1][r], columns[c + 1][r + 1], columns[c][r + 1]], Label::Nose);
        }
    }
    let side = columns[3][2..].to_vec();
    cage.strip(&side, &columns[4].clone(), |_| Label::Nose);
    cage.strip(&columns[4].clone(), &columns[5].clone(), |i| if i == 0 { Label::Cheek } else { Label::Nose });
    nostril(cage, &columns);
    let top = columns[5].clone();
    (columns, top)
}

fn nostril(cage: &mut Cage, columns: &[Vec<u32>]) {
    let around = [(1, 5), (2, 5), (3, 5), (3, 6), (3, 7), (2, 7), (1, 7), (1, 6)];
    let rim: Vec<u32> = around.iter().map(|&(c, r)| columns[c][r]).collect();
    let lines = rows(NOSTRIL);
    let inner = cage.add(&lines[0]);
    cage.ring(&rim, &inner, |_| Label::Nostril);
    cage.cap(&inner, 2, &lines[1], Label::Nostril);
    cage.name("nostril_left", &rim, true);
}

/// The ring at the nose's base (k0..k10) and the two around it (k3..k10), which end at the wing.
fn around_mouth(cage: &mut Cage, base: &[u32], wing: u32, crease: u32) -> [Vec<u32>; 3] {
    let lines: Vec<Vec<u32>> = rows(AROUND_MOUTH).iter().map(|line| cage.add(line)).collect();
    let first = [base, &lines[0]].concat();
    let second = [&[wing], lines[1].as_slice()].concat();
    let third = [&[crease], lines[2].as_slice()].concat();
    let label = |i: usize| if i < 4 { Label::Cheek } else { Label::Chin };
    cage.strip(&first[3..], &second, |i| if i < 2 { Label::AroundMouth } else { label(i) });
    cage.strip(&second, &third, label);
    cage.name("nasolabial_left", &second[..4], false);
    [first, second, third]
}
