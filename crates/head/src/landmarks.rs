//! Landmarks of a face: the 68 of common face trackers (iBUG order) and 26 of anthropometry.
//!
//! "Left" is the character's left, +X. The first 68 are in tracker order: jaw line from the right ear over
//! the chin to the left ear (0-16), right and left brow (17-26), nose bridge and base (27-35), right and left
//! eye (36-47), outer lip line from the right corner over the top (48-59), inner lip line in the same
//! direction (60-67).

/// Number of tracker landmarks.
pub const N_TRACKER: usize = 68;

/// Number of all landmarks.
pub const N_LANDMARKS: usize = 94;

/// All landmarks, in the order in which positions are stored.
pub const NAMES: [&str; N_LANDMARKS] = [
    "jaw_right_0",
    "jaw_right_1",
    "jaw_right_2",
    "jaw_right_3",
    "jaw_right_4",
    "jaw_right_5",
    "jaw_right_6",
    "jaw_right_7",
    "chin_middle",
    "jaw_left_7",
    "jaw_left_6",
    "jaw_left_5",
    "jaw_left_4",
    "jaw_left_3",
    "jaw_left_2",
    "jaw_left_1",
    "jaw_left_0",
    "brow_right_outer",
    "brow_right_4",
    "brow_right_middle",
    "brow_right_2",
    "brow_right_inner",
    "brow_left_inner",
    "brow_left_2",
    "brow_left_middle",
    "brow_left_4",
    "brow_left_outer",
    "nose_bridge_top",
    "nose_bridge_2",
    "nose_bridge_3",
    "nose_tip",
    "nose_base_right",
    "nostril_right",
    "subnasale",
    "nostril_left",
    "nose_base_left",
    "eye_right_outer",
    "lid_upper_right_outer",
    "lid_upper_right_inner",
    "eye_right_inner",
    "lid_lower_right_inner",
    "lid_lower_right_outer",
    "eye_left_inner",
    "lid_upper_left_inner",
    "lid_upper_left_outer",
    "eye_left_outer",
    "lid_lower_left_outer",
    "lid_lower_left_inner",
    "mouth_right",
    "lip_upper_right_2",
    "lip_upper_right_peak",
    "lip_upper_middle",
    "lip_upper_left_peak",
    "lip_upper_left_2",
    "mouth_left",
    "lip_lower_left_2",
    "lip_lower_left_1",
    "lip_lower_middle",
    "lip_lower_right_1",
    "lip_lower_right_2",
    "mouth_right_inner",
    "lip_upper_right_inner",
    "lip_upper_middle_inner",
    "lip_upper_left_inner",
    "mouth_left_inner",
    "lip_lower_left_inner",
    "lip_lower_middle_inner",
    "lip_lower_right_inner",
    // Anthropometry: midline from top to bottom ...
    "vertex",
    "trichion",
    "glabella",
    "nasion",
    "rhinion",
    "mid_philtrum",
    "supramentale",
    "pogonion",
    "gnathion",
    "neck_pit",
    // ... and pairs.
    "tragion_left",
    "tragion_right",
    "gonion_left",
    "gonion_right",
    "zygion_left",
    "zygion_right",
    "orbitale_left",
    "orbitale_right",
    "supraorbitale_left",
    "supraorbitale_right",
    "mid_cheek_left",
    "mid_cheek_right",
    "frontotemporale_left",
    "frontotemporale_right",
    "alare_left",
    "alare_right",
];

/// The landmark called `name`.
pub fn index(name: &str) -> Option<usize> {
    NAMES.iter().position(|n| *n == name)
}

/// The same landmark on the other side; the landmark itself on the midline.
pub fn mirrored(index: usize) -> usize {
    let name = NAMES[index];
    let other =
        if name.contains("left") { name.replace("left", "right") } else { name.replace("right", "left") };
    self::index(&other).unwrap_or(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_landmark_has_its_mirror_image() {
        for (i, name) in NAMES.iter().enumerate() {
            assert_eq!(mirrored(mirrored(i)), i, "{name}");
            assert_eq!(index(name), Some(i), "{name} is there twice");
            let sided = name.contains("left") || name.contains("right");
            assert_eq!(mirrored(i) != i, sided, "{name}");
        }
    }
}
