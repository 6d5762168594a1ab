//! Lips, the slit between them, and the mouth cavity behind: rings from the skin around the lips inward.

use super::cage::{Cage, Label};
use super::table::rows;
use glam::DVec3;

/// Half the opening between the lips, in mm.
pub(crate) const HALF_GAP: f64 = 0.12;

/// Slope by which the contact surface of the lips rises to the back, so that the slit is not see-through.
const SLOPE: f64 = 0.11;

/// From the outside in: skin next to the red of the lips, border of the red, its fullest line; k0..k10.
const LIPS: &str = "
    0 -33.5 100.3, 6.2 -32.2 101.6, 12.5 -33.8 99.3, 18.2 -36.8 95, 23.8 -40.6 90, 28.5 -45.8 84.6,
        24.6 -51.6 88.6, 18.8 -56 92, 12.4 -58 94, 6 -58.3 95.2, 0 -58 95.4
    0 -36.6 102.4, 5.5 -35.2 102.6, 11 -37.2 100.8, 16.5 -40 97.4, 21.3 -42.8 92.8, 26 -45 86.6,
        21.3 -48.6 92.3, 16.3 -51.2 96.2, 11 -52.8 98.8, 5.5 -53.6 100, 0 -53.6 100.2
    0 -40.8 103.1, 5.2 -40.2 102.9, 10.5 -41.1 101.5, 15.8 -42.4 98.4, 20.6 -43.7 93.8, 25.2 -44.8 87,
        20.6 -46.4 93.3, 15.8 -47.8 97.7, 10.5 -48.4 100.5, 5.2 -48.6 101.7, 0 -48.5 101.9";

/// The contact of the lips, k0..k5: its front line and its back line. Both lips keep [`HALF_GAP`] from it.
const CONTACT: &str = "
    0 -44.3 101, 5 -43.9 100.8, 10 -43.9 99.3, 15 -44.2 96.3, 20 -44.5 92, 24.6 -44.7 86.6
    0 -43.4 92.8, 4.8 -43 92.4, 9.6 -43 90.7, 14.4 -43.3 87.8, 19 -43.8 84.6, 23.8 -44.3 82";

/// The mouth cavity: the furrow between lips and gums, and the ring at the molars; k0..k10.
const BAG: &str = "
    0 -28.5 91.8, 6 -28.5 91.3, 12.5 -29 88.8, 19 -31 84.3, 25 -36 79, 28.5 -45 75.5, 25.5 -56 77,
        19.5 -61.5 81, 13 -63.5 84.5, 6 -64 86.8, 0 -64 87.3
    0 -25 48, 9 -25 48, 18 -25.5 48, 28 -28 48, 34 -35 48, 36 -45 48, 34 -56 48, 28 -66 47, 18 -69 46,
        9 -69.5 46, 0 -69.5 46";

/// The back of the mouth cavity, within its ring: three rows of three.
const THROAT: &str = "
    0 -32 35, 9 -32 35, 19 -33 37
    0 -46 32, 9 -46 32, 20 -46 34
    0 -60 34, 9 -60 34, 19 -60 36";

/// The line in which the lips meet, at `x` mm from the middle: y and z of its front, on a cubic through the
/// points of the table.
fn lip_line(front: &[DVec3], x: f64) -> DVec3 {
    let last = front.len() - 1;
    let i = front.iter().skip(1).position(|p| p.x >= x).unwrap_or(last - 1);
    let (a, b) = (front[i], front[i + 1]);
    let slope = |j: usize| match j {
        0 => DVec3::ZERO,
        j if j == last => (front[j] - front[j - 1]) / (front[j].x - front[j - 1].x),
        j => (front[j + 1] - front[j - 1]) / (front[j + 1].x - front[j - 1].x),
    };
    let (width, s) = (b.x - a.x, ((x - a.x) / (b.x - a.x)).clamp(0.0, 1.0));
    let (t, s2) = (1.0 - s, s * s);
    t * t * (1.0 + 2.0 * s) * a + s2 * (3.0 - 2.0 * s) * b + width * s * t * (t * slope(i) - s * slope(i + 1))
}

/// Places the contact surfaces of the lips along the lip line, at [`HALF_GAP`] from it and converging at the
/// corners, and keeps the rest of each lip on its own side.
pub(crate) fn part_lips(fine: &mut Cage) {
    let tables = rows(CONTACT);
    let (front, back) = (tables[0][5], tables[1][5]);
    let places = lip_places(fine);
    for (p, place) in fine.points.iter_mut().zip(places).filter(|(_, place)| place.upper || place.lower) {
        let corner = back.x + (front.x - back.x) * ((p.z - back.z) / (front.z - back.z)).clamp(0.0, 1.0);
        let line = lip_line(&tables[0], p.x.abs());
        let line = line.y + SLOPE * (line.z - p.z).max(0.0);
        let gap = HALF_GAP * ((corner - p.x.abs()) / 2.5).clamp(0.0, 1.0);
        let up = f64::from(i8::from(place.upper) - i8::from(place.lower));
        // The corners belong to both lips; in the contact they lie on the line.
        if place.contact || up != 0.0 && (p.y - line) * up < gap {
            p.y = line + up * gap;
        }
    }
}

/// Which lips a vertex belongs to, and whether it lies in their contact.
#[derive(Debug, Clone, Copy, Default)]
struct LipPlace {
    upper: bool,
    lower: bool,
    contact: bool,
}

fn lip_places(fine: &Cage) -> Vec<LipPlace> {
    let mut places = vec![LipPlace::default(); fine.points.len()];
    for (face, (label, _)) in fine.faces.iter().zip(&fine.labels) {
        for &v in face {
            let place = &mut places[v as usize];
            place.upper |= matches!(label, Label::LipUpper | Label::ContactUpper);
            place.lower |= matches!(label, Label::LipLower | Label::ContactLower);
            place.contact |= matches!(label, Label::ContactUpper | Label::ContactLower);
        }
    }
    places
}

/// Builds everything within `around`, the ring (k0..k10) at the base of the nose.
pub fn build(cage: &mut Cage, around: &[u32]) {
    let lines = rows(LIPS);
    let red: Vec<Vec<u32>> = lines.iter().map(|line| cage.add(line)).collect();
    let meet: Vec<Vec<u32>> = rows(CONTACT).iter().map(|line| cage.add(&parted(line))).collect();
    let bag: Vec<Vec<u32>> = rows(BAG).iter().map(|line| cage.add(line)).collect();
    let lip = |i: usize| if i < 5 { Label::LipUpper } else { Label::LipLower };
    let outside = |i: usize| if i < 7 { Label::AroundMouth } else { Label::Chin };
    cage.strip(around, &red[0], outside);
    cage.strip(&red[0], &red[1], |_| Label::AroundMouth);
    cage.strip(&red[1], &red[2], lip);
    cage.strip(&red[2], &meet[0], lip);
    cage.strip(&meet[0], &meet[1], |i| if i < 5 { Label::ContactUpper } else { Label::ContactLower });
    cage.strip(&meet[1], &bag[0], |_| Label::MouthBag);
    cage.strip(&bag[0], &bag[1], |_| Label::MouthBag);
    half_cap(cage, &bag[1]);
    for (name, ring) in [("border", &red[1]), ("outer", &meet[0]), ("inner", &meet[1])] {
        cage.name(&format!("lip_upper_{name}"), &ring[..6], false);
        let lower: Vec<u32> = ring[5..].iter().rev().copied().collect();
        cage.name(&format!("lip_lower_{name}"), &lower, false);
    }
}

/// A contact line as a ring of two lips that share the corner.
fn parted(line: &[DVec3]) -> Vec<DVec3> {
    let (corner, open) = (line[line.len() - 1], &line[..line.len() - 1]);
    let upper = open.iter().map(|p| *p + HALF_GAP * DVec3::Y);
    let lower = open.iter().rev().map(|p| *p - HALF_GAP * DVec3::Y);
    upper.chain([corner]).chain(lower).collect()
}

/// Closes the mouth cavity: ring vertices 0..3 are the upper row of a grid of 3 x 4, 3..7 its side and 7..10
/// the lower row.
fn half_cap(cage: &mut Cage, ring: &[u32]) {
    let middle: Vec<Vec<u32>> = rows(THROAT).iter().map(|line| cage.add(line)).collect();
    let mut grid = vec![ring[..4].to_vec()];
    grid.extend(middle.iter().zip(&ring[4..7]).map(|(m, &side)| [m.as_slice(), &[side]].concat()));
    grid.push(ring[7..].iter().rev().copied().collect());
    for pair in grid.windows(2) {
        cage.strip(&pair[0], &pair[1], |_| Label::MouthBag);
    }
}
