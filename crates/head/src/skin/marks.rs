//! The skin vertices of the landmarks: for each, the vertex nearest to its tabled position, on its named line
//! if it has one.

use super::cage::Cage;
use crate::landmarks::NAMES;
use glam::DVec3;

/// Name, the loop that it lies on (or empty), and its position, in mm; left side and midline.
const MARKS: [(&str, &str, [f64; 3]); 57] = [
    ("jaw_left_0", "", [70.5, 9.0, 29.0]),
    ("jaw_left_1", "", [68.5, -9.0, 26.0]),
    ("jaw_left_2", "", [66.0, -23.0, 22.5]),
    ("jaw_left_3", "", [61.5, -42.0, 18.0]),
    ("jaw_left_4", "", [54.0, -62.0, 14.0]),
    ("jaw_left_5", "", [52.0, -69.5, 34.0]),
    ("jaw_left_6", "", [41.5, -78.0, 58.0]),
    ("jaw_left_7", "", [23.5, -85.0, 80.5]),
    ("chin_middle", "", [0.0, -91.0, 84.0]),
    ("brow_left_inner", "", [13.0, 43.0, 89.5]),
    ("brow_left_2", "", [21.0, 46.0, 88.5]),
    ("brow_left_middle", "", [31.0, 47.5, 86.0]),
    ("brow_left_4", "", [41.0, 46.5, 81.0]),
    ("brow_left_outer", "", [50.0, 42.0, 72.5]),
    ("nose_bridge_top", "", [0.0, 28.0, 92.5]),
    ("nose_bridge_2", "", [0.0, 19.0, 99.0]),
    ("nose_bridge_3", "", [0.0, 5.0, 108.0]),
    ("nose_tip", "", [0.0, -10.0, 117.0]),
    ("nose_base_left", "", [15.8, -20.5, 93.0]),
    ("nostril_left", "nostril_left", [8.6, -22.3, 97.3]),
    ("subnasale", "", [0.0, -22.0, 100.0]),
    ("eye_left_inner", "lid_upper_left_edge", [16.0, 23.0, 75.0]),
    ("lid_upper_left_inner", "lid_upper_left_edge", [26.0, 28.8, 76.0]),
    ("lid_upper_left_outer", "lid_upper_left_edge", [36.5, 28.7, 76.0]),
    ("eye_left_outer", "lid_upper_left_edge", [45.0, 25.0, 67.0]),
    ("lid_lower_left_outer", "lid_lower_left_edge", [36.5, 19.2, 75.0]),
    ("lid_lower_left_inner", "lid_lower_left_edge", [26.0, 18.9, 75.0]),
    ("lip_upper_left_peak", "lip_upper_border", [5.5, -35.2, 102.6]),
    ("lip_upper_middle", "lip_upper_border", [0.0, -37.0, 102.0]),
    ("lip_upper_left_2", "lip_upper_border", [15.0, -39.0, 98.5]),
    ("mouth_left", "lip_upper_border", [25.5, -45.0, 87.0]),
    ("lip_lower_left_2", "lip_lower_border", [16.3, -51.2, 96.2]),
    ("lip_lower_left_1", "lip_lower_border", [6.5, -53.5, 99.8]),
    ("lip_lower_middle", "lip_lower_border", [0.0, -53.0, 100.0]),
    ("mouth_left_inner", "lip_upper_outer", [25.0, -45.0, 86.6]),
    ("lip_upper_left_inner", "lip_upper_outer", [8.0, -43.8, 98.7]),
    ("lip_upper_middle_inner", "lip_upper_outer", [0.0, -44.0, 99.5]),
    ("lip_lower_left_inner", "lip_lower_outer", [8.0, -44.2, 98.7]),
    ("lip_lower_middle_inner", "lip_lower_outer", [0.0, -44.5, 99.5]),
    ("vertex", "", [0.0, 135.0, -12.0]),
    ("trichion", "", [0.0, 100.0, 80.0]),
    ("glabella", "", [0.0, 48.0, 95.0]),
    ("nasion", "", [0.0, 33.0, 90.0]),
    ("rhinion", "", [0.0, 14.0, 103.0]),
    ("mid_philtrum", "", [0.0, -30.0, 100.0]),
    ("supramentale", "", [0.0, -62.0, 93.0]),
    ("pogonion", "", [0.0, -78.0, 95.0]),
    ("gnathion", "", [0.0, -91.0, 84.0]),
    ("neck_pit", "neck_border", [0.0, -165.0, 30.0]),
    ("tragion_left", "", [72.0, 2.0, -8.0]),
    ("gonion_left", "", [54.0, -62.0, 14.0]),
    ("zygion_left", "", [68.0, 8.0, 45.0]),
    ("orbitale_left", "", [31.0, 8.0, 76.0]),
    ("supraorbitale_left", "", [33.0, 42.0, 84.0]),
    ("mid_cheek_left", "", [42.0, -25.0, 72.0]),
    ("frontotemporale_left", "", [56.0, 55.0, 62.0]),
    ("alare_left", "", [17.5, -14.0, 98.0]),
];

/// The vertex of each landmark, in the order of [`NAMES`].
pub fn find(fine: &Cage) -> Vec<u32> {
    NAMES.iter().map(|name| find_one(fine, name)).collect()
}

/// The tabled position of the landmark called `name` (left or midline), and the loop that it lies on.
fn place(name: &str) -> (&'static str, DVec3) {
    let found = MARKS.iter().find(|m| m.0 == name);
    let (_, on, p) = found.unwrap_or_else(|| panic!("no place for the landmark '{name}'"));
    (on, DVec3::from(*p))
}

fn find_one(fine: &Cage, name: &str) -> u32 {
    let left = name.replace("right", "left");
    let (on, place) = place(&left);
    let all: Vec<u32>;
    let candidates = match fine.loops.get(on) {
        Some(chain) => &chain.vertices,
        None => {
            all = (0..fine.points.len() as u32).collect();
            &all
        }
    };
    let middle = !name.contains("left") && !name.contains("right");
    let distance = |v: u32| fine.points[v as usize].distance_squared(place);
    let fits = |v: &&u32| !middle || fine.mirror[**v as usize] == **v;
    let best = candidates.iter().filter(fits).min_by(|a, b| distance(**a).total_cmp(&distance(**b)));
    let best = best.copied().unwrap_or_default();
    if name.contains("right") { fine.mirror[best as usize] } else { best }
}
