//! Lines along which the skin of a face folds, on the built-in head.
//!
//! Names and places follow [Lemperle01, classification]: transverse lines of the forehead, glabellar lines,
//! periorbital lines (crow's feet and below the eye), lines of the nose, nasolabial folds, cheeks,
//! radial lines of the lips, marionette lines, the labiomental crease, the chin and the neck. A line is a few
//! points in mm near the skin, on the left side or across the middle; [`all`] mirrors the left ones and puts
//! the points onto the skin. Lines cross the direction in which muscles shorten the skin, so they are
//! roughly perpendicular to the fibers below.

use crate::person::Head;
use glam::DVec3;
use risorius_mesh::Bvh;

/// A group of lines that fold alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Family {
    /// For reports.
    pub name: &'static str,
    /// Breadth of skin that one fold takes up, mm: about the distance between neighboring lines.
    pub breadth: f64,
    /// Compression at which folding begins.
    pub onset: f64,
    /// The largest depth from ridge to valley, mm, at the age of 50.
    pub deepest: f64,
    /// Part of the depth that remains at rest in old age.
    pub at_rest: f64,
    /// How much more the skin swells on one side, 0 to 1. The side is the left one in the direction of the
    /// points.
    pub lean: f64,
    /// Compression is averaged over this distance, mm.
    pub spread: f64,
    /// Part of the compression that lines of the family share, 0 to 1: loose skin slides over bone.
    pub shared: f64,
}

/// A line on the skin.
#[derive(Debug, Clone, PartialEq)]
pub struct Crease {
    /// Name with its number in the family and its side, such as `forehead 2` or `crow's feet 1 left`.
    pub name: String,
    /// How it folds.
    pub family: Family,
    /// The age at which it begins to show, years.
    pub from_age: f64,
    /// Points on the skin of the built-in head, meters.
    pub points: Vec<DVec3>,
}

const fn family(name: &'static str, numbers: [f64; 7]) -> Family {
    let [breadth, onset, deepest, at_rest, lean, spread, shared] = numbers;
    Family { name, breadth, onset, deepest, at_rest, lean, spread, shared }
}

/// Families: breadth, onset, deepest, at rest, lean, spread, shared.
const FOREHEAD: Family = family("forehead", [9.0, 0.005, 1.5, 0.3, 0.15, 9.0, 0.65]);
const GLABELLA: Family = family("glabella", [8.0, 0.02, 1.7, 0.3, 0.0, 8.0, 0.2]);
const NASAL_ROOT: Family = family("root of the nose", [6.0, 0.02, 0.8, 0.2, 0.2, 8.0, 0.3]);
const CROWS_FEET: Family = family("crow's feet", [7.5, 0.005, 1.3, 0.35, 0.1, 10.0, 0.5]);
const BELOW_EYE: Family = family("below the eye", [5.0, 0.02, 0.6, 0.4, 0.2, 8.0, 0.3]);
const NOSE: Family = family("side of the nose", [6.0, 0.02, 0.8, 0.1, 0.0, 9.0, 0.3]);
const NASOLABIAL: Family = family("nasolabial fold", [15.0, 0.015, 2.2, 0.45, 0.7, 7.0, 0.0]);
const CHEEK: Family = family("cheek", [11.0, 0.02, 1.2, 0.2, 0.3, 12.0, 0.0]);
const MARIONETTE: Family = family("marionette line", [10.0, 0.02, 1.5, 0.4, 0.4, 9.0, 0.0]);
const UPPER_LIP: Family = family("upper lip", [4.0, 0.03, 0.6, 0.3, 0.0, 7.0, 0.4]);
const LOWER_LIP: Family = family("lower lip", [4.5, 0.03, 0.5, 0.2, 0.0, 7.0, 0.4]);
const LABIOMENTAL: Family = family("labiomental crease", [13.0, 0.02, 1.6, 0.25, 0.3, 9.0, 0.0]);
const CHIN: Family = family("chin", [6.0, 0.02, 0.55, 0.05, 0.0, 9.0, 0.4]);
const NECK: Family = family("neck", [16.0, 0.02, 1.6, 0.5, 0.3, 12.0, 0.0]);

/// Across the middle, or the left one of a pair.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Middle,
    Left,
}
use Place::{Left, Middle};

/// Family, place, first age, points in mm.
type Row = (Family, Place, f64, &'static [[f64; 3]]);

const ROWS: [Row; 43] = [
    (
        FOREHEAD,
        Middle,
        18.0,
        &[
            [-43.0, 66.0, 74.0],
            [-31.0, 69.0, 82.0],
            [-16.0, 66.5, 88.0],
            [0.0, 64.5, 91.0],
            [16.0, 66.5, 88.0],
            [31.0, 69.0, 82.0],
            [43.0, 66.0, 74.0],
        ],
    ),
    (
        FOREHEAD,
        Middle,
        18.0,
        &[
            [-46.0, 75.0, 68.0],
            [-32.0, 78.0, 80.0],
            [-16.0, 75.5, 86.0],
            [0.0, 73.5, 89.0],
            [16.0, 75.5, 86.0],
            [32.0, 78.0, 80.0],
            [46.0, 75.0, 68.0],
        ],
    ),
    (
        FOREHEAD,
        Middle,
        28.0,
        &[
            [-42.0, 85.0, 67.0],
            [-28.0, 87.0, 78.0],
            [-13.0, 84.5, 84.0],
            [0.0, 83.0, 86.0],
            [13.0, 84.5, 84.0],
            [28.0, 87.0, 78.0],
            [42.0, 85.0, 67.0],
        ],
    ),
    (
        FOREHEAD,
        Middle,
        42.0,
        &[
            [-33.0, 95.0, 70.0],
            [-18.0, 94.0, 79.0],
            [0.0, 92.0, 83.0],
            [18.0, 94.0, 79.0],
            [33.0, 95.0, 70.0],
        ],
    ),
    (FOREHEAD, Left, 34.0, &[[17.0, 58.5, 89.0], [27.0, 60.5, 86.0], [38.0, 60.0, 80.0], [46.0, 57.5, 73.0]]),
    (GLABELLA, Left, 18.0, &[[6.0, 37.0, 92.0], [7.0, 44.0, 94.0], [8.5, 51.0, 94.0], [11.0, 58.0, 92.0]]),
    (GLABELLA, Left, 45.0, &[[13.5, 47.0, 91.0], [15.5, 53.0, 91.0], [18.5, 59.0, 89.5]]),
    (GLABELLA, Middle, 50.0, &[[0.5, 41.0, 93.0], [-0.5, 47.0, 95.0], [0.5, 53.0, 94.0]]),
    (
        NASAL_ROOT,
        Middle,
        22.0,
        &[[-9.5, 34.0, 88.0], [-4.5, 32.5, 90.0], [0.0, 32.0, 91.0], [4.5, 32.5, 90.0], [9.5, 34.0, 88.0]],
    ),
    (
        NASAL_ROOT,
        Middle,
        38.0,
        &[[-7.0, 27.5, 89.0], [-3.0, 26.5, 93.0], [0.0, 26.0, 94.0], [3.0, 26.5, 93.0], [7.0, 27.5, 89.0]],
    ),
    (CROWS_FEET, Left, 22.0, &[[51.5, 30.0, 63.0], [56.5, 33.5, 58.0], [61.5, 38.0, 52.0]]),
    (CROWS_FEET, Left, 18.0, &[[52.0, 25.5, 62.0], [58.0, 26.5, 56.0], [64.5, 28.5, 48.0]]),
    (CROWS_FEET, Left, 20.0, &[[51.5, 20.5, 63.0], [57.5, 17.5, 58.0], [64.0, 14.0, 50.0]]),
    (CROWS_FEET, Left, 30.0, &[[49.0, 15.5, 65.0], [54.0, 10.0, 62.0], [59.5, 4.5, 56.0]]),
    (CROWS_FEET, Left, 46.0, &[[55.0, 23.0, 59.0], [60.5, 22.5, 54.0], [66.5, 21.5, 46.0]]),
    (CROWS_FEET, Left, 52.0, &[[45.5, 11.5, 69.0], [49.5, 4.5, 67.5], [54.0, -3.0, 62.0]]),
    (
        BELOW_EYE,
        Left,
        18.0,
        &[[18.5, 15.5, 78.0], [25.0, 12.5, 79.0], [33.0, 11.5, 78.0], [42.0, 14.0, 72.0]],
    ),
    (BELOW_EYE, Left, 30.0, &[[20.0, 11.0, 78.0], [27.0, 8.0, 78.0], [35.0, 7.5, 76.0], [43.0, 9.5, 71.0]]),
    (BELOW_EYE, Left, 48.0, &[[23.0, 5.5, 78.0], [29.0, 3.5, 78.0], [37.0, 3.5, 76.0]]),
    (NOSE, Left, 18.0, &[[3.5, 22.0, 97.0], [7.5, 17.5, 95.0], [11.5, 11.0, 92.0]]),
    (NOSE, Left, 26.0, &[[5.5, 27.0, 90.0], [9.5, 22.5, 88.0], [13.5, 17.0, 85.0]]),
    (NOSE, Left, 40.0, &[[5.0, 15.0, 99.0], [9.0, 10.0, 96.0], [13.0, 4.0, 93.0]]),
    (
        NASOLABIAL,
        Left,
        16.0,
        &[
            [18.5, -6.0, 92.0],
            [23.0, -14.0, 90.0],
            [28.0, -24.0, 88.0],
            [32.5, -35.0, 84.0],
            [35.5, -45.0, 80.0],
            [36.0, -52.0, 78.0],
        ],
    ),
    (CHEEK, Left, 44.0, &[[43.0, -8.0, 78.0], [46.5, -20.0, 74.0], [47.0, -33.0, 71.0], [45.0, -44.0, 70.0]]),
    (CHEEK, Left, 56.0, &[[52.0, -6.0, 70.0], [55.5, -20.0, 64.0], [55.0, -34.0, 60.0]]),
    (
        MARIONETTE,
        Left,
        32.0,
        &[[28.5, -48.0, 86.0], [31.0, -55.0, 83.0], [32.0, -63.0, 80.0], [31.0, -72.0, 77.0]],
    ),
    (UPPER_LIP, Left, 30.0, &[[7.5, -34.5, 101.0], [8.0, -30.0, 100.0], [8.8, -25.0, 97.0]]),
    (UPPER_LIP, Left, 26.0, &[[11.5, -36.5, 99.5], [12.6, -31.5, 98.0], [14.0, -26.5, 95.0]]),
    (UPPER_LIP, Left, 36.0, &[[15.0, -38.0, 97.5], [16.8, -33.0, 95.5], [19.0, -28.5, 92.5]]),
    (UPPER_LIP, Left, 28.0, &[[18.5, -40.0, 94.5], [21.0, -35.5, 92.0], [23.5, -31.5, 89.5]]),
    (UPPER_LIP, Left, 44.0, &[[22.0, -42.0, 91.0], [24.8, -38.5, 89.0], [27.5, -35.5, 86.5]]),
    (UPPER_LIP, Left, 50.0, &[[4.0, -34.5, 102.0], [4.0, -30.5, 101.0], [4.0, -26.0, 100.0]]),
    (LOWER_LIP, Left, 38.0, &[[5.5, -55.0, 98.0], [6.0, -58.0, 95.5], [6.3, -61.5, 93.5]]),
    (LOWER_LIP, Left, 34.0, &[[11.0, -54.0, 97.0], [12.3, -57.5, 94.0], [13.2, -61.0, 92.0]]),
    (LOWER_LIP, Left, 46.0, &[[16.5, -52.5, 94.5], [18.5, -56.0, 91.0], [20.0, -60.0, 88.5]]),
    (LOWER_LIP, Middle, 54.0, &[[0.3, -55.0, 98.5], [0.0, -58.0, 96.0], [-0.3, -61.0, 94.0]]),
    (
        LABIOMENTAL,
        Middle,
        18.0,
        &[
            [-19.0, -60.0, 88.0],
            [-10.0, -63.5, 91.5],
            [0.0, -65.0, 93.0],
            [10.0, -63.5, 91.5],
            [19.0, -60.0, 88.0],
        ],
    ),
    (CHIN, Left, 20.0, &[[2.5, -71.0, 95.0], [6.0, -73.5, 95.0], [9.5, -74.0, 94.0]]),
    (CHIN, Left, 20.0, &[[6.0, -79.5, 95.0], [10.0, -80.0, 93.0], [13.5, -78.0, 91.0]]),
    (CHIN, Middle, 20.0, &[[-5.0, -77.5, 95.5], [0.0, -76.5, 96.0], [4.5, -78.0, 95.5]]),
    (
        NECK,
        Middle,
        24.0,
        &[
            [-31.0, -98.0, 28.0],
            [-17.0, -99.0, 42.0],
            [0.0, -100.0, 49.0],
            [17.0, -99.0, 42.0],
            [31.0, -98.0, 28.0],
        ],
    ),
    (
        NECK,
        Middle,
        34.0,
        &[
            [-37.0, -122.0, 13.0],
            [-18.0, -127.0, 24.0],
            [0.0, -129.0, 27.0],
            [18.0, -127.0, 24.0],
            [37.0, -122.0, 13.0],
        ],
    ),
    (
        NECK,
        Middle,
        52.0,
        &[
            [-36.0, -142.0, 15.0],
            [-17.0, -149.0, 26.0],
            [0.0, -151.0, 27.0],
            [17.0, -149.0, 26.0],
            [36.0, -142.0, 15.0],
        ],
    ),
];

/// All lines on the skin of a built-in head.
pub fn all(head: &Head) -> Vec<Crease> {
    let skin = head.rig.parts.first().map(|part| part.rig_triangles()).unwrap_or_default();
    let tree = Bvh::build(&head.rig.neutral, &skin);
    let on_skin = |p: [f64; 3]| {
        let p = DVec3::from(p) * 1e-3;
        tree.closest_point(p, f64::INFINITY).map_or(p, |found| found.point)
    };
    let mut creases: Vec<Crease> = Vec::new();
    for (family, place, from_age, points) in ROWS {
        let number = 1 + creases.iter().filter(|c| c.family.name == family.name).count();
        let mut add = |name: String, points: Vec<[f64; 3]>| {
            let points = points.into_iter().map(on_skin).collect();
            creases.push(Crease { name, family, from_age, points });
        };
        match place {
            Middle => add(format!("{} {number}", family.name), points.to_vec()),
            Left => {
                add(format!("{} {number} left", family.name), points.to_vec());
                // Reversed, so that the left side of the line is the mirror image too.
                let mirrored = points.iter().rev().map(|[x, y, z]| [-x, *y, *z]);
                add(format!("{} {number} right", family.name), mirrored.collect());
            }
        }
    }
    creases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::person::{Identity, build};

    #[test]
    fn lines_lie_near_the_skin_and_mirror_each_other() {
        let head = build(&Identity::default());
        let creases = all(&head);
        assert!(creases.len() > 60);
        for (family, _, _, points) in ROWS {
            for p in points {
                let tree = Bvh::build(&head.rig.neutral, &head.rig.parts[0].rig_triangles());
                let off = tree.closest_point(DVec3::from(*p) * 1e-3, 1.0).unwrap().distance_sq.sqrt();
                assert!(off < 0.008, "{}: {p:?} is {off} m from the skin", family.name);
            }
        }
        for c in creases.iter().filter(|c| c.name.ends_with("left")) {
            let other = creases.iter().find(|o| o.name == c.name.replace("left", "right")).unwrap();
            for (p, q) in c.points.iter().zip(other.points.iter().rev()) {
                assert!((*p * DVec3::new(-1.0, 1.0, 1.0)).distance(*q) < 2e-4, "{}: {p} {q}", c.name);
            }
        }
    }
}
