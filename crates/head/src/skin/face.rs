//! The face of the half cage: nose, lips, lids, and the loops around all of them.
//!
//! Names used in the tables. Nose: columns c0 (middle) to c5 (crease beside the wing) and rows r0 (root) to
//! r7 (base); the nostril takes the place of c2 r6. Mouth: rings around the lips, each from the middle of the
//! upper lip (k0) over the corner (k5) to the middle of the lower lip (k10). Eye: rings of 12 from the inner
//! corner (k0) over the upper lid to the outer corner (k6) and back below. Contours: loops Q around the whole
//! face; c5 and the outermost mouth ring are the first, and each later one starts further out around the eye,
//! so that forehead, temple, cheek and jaw are one grid. Millimeters.

use super::cage::{Cage, Label};
use super::eyes::{self, Orbit};
use super::mouth;
use super::table::rows;

/// Columns c0..c3, rows r0..r7 (one line per row). c3 of the first three rows is the eye's ring.
const NOSE: &str = "
    0 33 90,      4.5 33.5 88.8,   7.5 34 87.7
    0 23.5 95.5,  4.6 23.5 92.5,   7.2 23.5 88.8
    0 14 102.5,   5 13.5 99,       8.5 13 93
    0 1 110.5,    5.6 1 107.7,     9.8 0.5 101,    13.2 -0.5 93.2
    0 -10 117,    5.8 -9.5 114.5,  10.3 -8.5 109.5,  13 -8 102
    0 -17.2 112.5,  4.5 -17.9 109.9,   7.7 -17.4 109.2,  11.2 -18.5 106
    0 -21 106.3,  3.6 -20.9 105,   8 -19 103,      14 -19.4 101
    0 -22.5 100,    5 -22.6 98.8,      8.7 -22.7 97, 12.4 -22 95.8";

/// Columns c4 and c5, rows r3..r7.
const WING: &str = "
    16.6 -4.5 90,   22.5 -4.5 85.8
    17 -8.3 95.8,   21 -9.5 88.4
    17.5 -13.3 100,  21.3 -14 88.2
    18.3 -17 96,  20.9 -18.5 88.6
    17 -20.3 92.6,  19.8 -23 89.2";

/// The lining of a nostril, a ring of eight like its rim and the point at its end.
const NOSTRIL: &str = "
    5.2 -14.5 108.8, 7.8 -14.3 107.8, 10.2 -15.3 105.3, 12 -16.8 101, 11 -18.2 97, 8.3 -18.3 96.6,
        5.7 -18.4 98.2, 4.6 -17.3 104.3
    8 -7 99";

/// Rings around the mouth beyond the nose's base, k3/k4..k10: the base's own ring (from k4), then two more.
const AROUND_MOUTH: &str = "
    24.3 -35 87.6,  33 -46.5 80.2,  30 -57 82,      23.5 -62.5 86.5,  16 -64.5 89.8,  8 -63.5 92,     0 -62.5 92.8
    28 -32.3 84.6, 38.8 -45 74.3, 34.5 -61.5 76.5, 26.5 -71 82, 17.8 -75.5 88.3, 9.5 -76.5 93.5, 0 -77.5 95
    32 -29.3 81.3, 44.5 -43 67.5, 40.5 -65 66.5, 30.5 -79.5 72, 21 -86 80, 11 -89.8 84.2, 0 -91 84.5";

/// Contours Q1..Q3 below the eye: r3..r7, k4..k10.
const CHEEK: &str = "
    36 -2.5 78.3, 34.8 -8 78.8, 34.6 -12.5 78.5, 35.4 -16.5 77.5, 37.2 -21 75.8, 42 -29.5 71.3,
        49.7 -43.5 60, 46.8 -62.5 55.5, 38.5 -76 57.5, 27.5 -86.8 63.5, 15 -92 69.5, 0 -93.5 71
    49.3 3 69.3, 48.7 -5 69.3, 48.8 -12 67.5, 50 -18 65.2, 51.8 -24 62.3, 53.8 -32.5 56.5, 56 -43.5 47.5,
        53.2 -59 40.5, 46 -71.8 42, 34.3 -84.5 48, 18.3 -94.5 56, 0 -96.5 58
    60.3 12 58, 61.3 2 56.8, 61.2 -7 54.2, 60.7 -15 51, 60.2 -23 47, 59.8 -32.5 41.3, 59.3 -43.5 34,
        57 -56 26.5, 51.5 -67.2 27.5, 41 -82.3 33, 21.5 -98 43, 0 -100 46";

/// Contours Q4..Q6 all the way, from the middle of the forehead to the middle of the throat.
const CONTOURS: [&str; 3] = [
    "0 48 95, 6 48.5 94.3, 11.5 48.5 93, 17.5 49.5 91.3, 24 52 89, 33 53.5 85.5, 42 53 80, 51.5 50 70.5, 60.5 36 56,
     67 17 47, 68 7 45, 67.5 -3 42.5, 66.8 -12 39.5, 65.8 -21.5 35.5, 64 -32 30.5, 61.5 -43 23.5,
         58.5 -53 15, 53.8 -63.5 13.5, 46.5 -82 17.5, 25.5 -104 31.5, 0 -107.5 37",
    "0 66 94.5, 7 66 93.8, 14 66.5 92, 21.5 67 89, 29.5 67.5 85, 38.5 68 79, 49.8 66 68.3, 62.3 57 53.5, 69.8 35 38.5,
     70 20 32, 70.5 9 29, 70 -2 27, 69 -12.5 24.5, 67.3 -23 21, 64.7 -34 16, 59.8 -46 6, 56.5 -57 1,
         53 -70 1, 49.5 -87 6, 29.5 -111 22, 0 -122 32.5",
    "0 87 88.5, 8.5 87 88, 17.5 87 86, 26.5 87 82, 35.5 86.5 76.5, 47 84.5 66.5, 60.5 78 50.5, 73 57 26, 72.8 23 -3,
     72.2 15 -2.5, 72 5 -3, 71.2 -4 -4.5, 69.8 -14 -6, 66.8 -24 -8.5, 61 -38 -9, 57.5 -54 -10.5,
         55.5 -71 -10, 53 -89 -6.5, 45.5 -109 4.5, 29 -130 19, 0 -143 30.5",
];

/// The contours by number, Q0 to Q6. Q3 and later start in the middle of the forehead (21 vertices); the
/// earlier ones start at the ring of the eye (13 vertices).
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
        cage.strip(&inner, &outer, |i| [Label::Cheek, Label::Jaw, Label::UnderChin][(i / 8).min(1) + i / 9]);
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
        (4, 16) => Label::Jaw,
        (4, _) => Label::UnderChin,
        _ => Label::Neck,
    }
}

/// Columns c0..c5 (c4 and c5 from row 2), and the upper part of contour 0, which is column c5.
fn nose(cage: &mut Cage, orbit: &Orbit) -> (Vec<Vec<u32>>, Vec<u32>) {
    let mut columns = vec![Vec::new(); 6];
    for (r, line) in rows(NOSE).into_iter().enumerate() {
        for (c, p) in line.into_iter().enumerate() {
            // The center of the nostril is a hole; its index is never used.
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
            cage.quad(
                [columns[c][r], columns[c + 1][r], columns[c + 1][r + 1], columns[c][r + 1]],
                Label::Nose,
            );
        }
    }
    let side = columns[3][2..].to_vec();
    cage.strip(&side, &columns[4].clone(), |_| Label::Nose);
    cage.strip(&columns[4].clone(), &columns[5].clone(), |i| {
        if i == 0 { Label::Cheek } else { Label::NoseCrease }
    });
    nostril(cage, &columns);
    let top = columns[5].clone();
    (columns, top)
}

fn nostril(cage: &mut Cage, columns: &[Vec<u32>]) {
    let around = [(1, 5), (2, 5), (3, 5), (3, 6), (3, 7), (2, 7), (1, 7), (1, 6)];
    let rim: Vec<u32> = around.iter().map(|&(c, r)| columns[c][r]).collect();
    let lines = rows(NOSTRIL);
    let inner = cage.add(&lines[0]);
    cage.ring(&rim, &inner, |_| Label::NostrilRim);
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
