//! Tables of the brow, cheek and nose shapes as symmetric pulls.

use super::pulls::{Pull, pull};

/// One entry of the table: pulls, the accompanying rotations of the lids, and the sliding of the skin.
pub(crate) struct UpperShape {
    /// Name without side.
    pub name: &'static str,
    /// Skin.
    pub pulls: &'static [Pull],
    /// Rotation of the upper and of the lower lid, degrees, up positive.
    pub lids: [f64; 2],
    /// How far the skin of brow and forehead slides over the bone instead of moving rigidly, 0 to 1.
    pub slide: f64,
    /// Distance from the lips at which pulls reach full strength, mm; the lips have their own motion.
    pub off_lips: f64,
}

/// All entries.
pub(crate) const UPPER: [UpperShape; 6] = [
    UpperShape {
        name: "browDown",
        pulls: &[
            pull("brow_left_inner", [-3.0, -6.8, 0.9], 26.0),
            pull("brow_left_2", [-2.0, -6.2, 0.7], 26.0),
            pull("brow_left_middle", [-1.2, -5.0, 0.5], 26.0),
            pull("brow_left_4", [-0.4, -3.0, 0.2], 22.0),
            pull("brow_left_outer", [0.0, -1.6, 0.0], 20.0),
            pull("glabella", [0.0, -3.6, 0.9], 20.0),
        ],
        lids: [-2.0, 0.0],
        slide: 0.35,
        off_lips: 12.0,
    },
    UpperShape {
        name: "browInnerUp",
        pulls: &[
            pull("brow_left_inner", [-0.6, 10.5, -0.8], 34.0),
            pull("brow_left_2", [-0.3, 8.6, -0.9], 32.0),
            pull("brow_left_middle", [0.0, 4.2, -0.6], 26.0),
            pull("glabella", [0.0, 7.5, -0.4], 30.0),
        ],
        lids: [1.0, 0.0],
        slide: 0.7,
        off_lips: 12.0,
    },
    UpperShape {
        name: "browOuterUp",
        pulls: &[
            pull("brow_left_2", [0.3, 2.6, -0.3], 20.0),
            pull("brow_left_middle", [0.2, 6.4, -1.0], 28.0),
            pull("brow_left_4", [0.3, 8.4, -2.4], 28.0),
            pull("brow_left_outer", [0.2, 6.6, -2.6], 26.0),
        ],
        lids: [1.0, 0.0],
        slide: 0.7,
        off_lips: 12.0,
    },
    UpperShape {
        name: "cheekSquint",
        pulls: &[
            pull("orbitale_left", [0.3, 3.6, 1.8], 32.0),
            pull("mid_cheek_left", [0.8, 3.0, 1.8], 38.0),
            pull("zygion_left", [0.6, 1.4, 0.6], 28.0),
        ],
        lids: [-1.0, 6.0],
        slide: 0.0,
        off_lips: 12.0,
    },
    UpperShape {
        name: "cheekPuff",
        pulls: &[
            pull("mid_cheek_left", [9.5, -2.0, 6.0], 42.0),
            pull("mouth_left", [7.5, -1.0, 3.5], 42.0),
            pull("jaw_left_6", [2.0, 0.5, 1.0], 28.0),
            pull("mid_philtrum", [0.0, 0.0, 2.6], 18.0),
            pull("supramentale", [0.0, 0.0, 1.6], 16.0),
        ],
        lids: [0.0, 0.0],
        slide: 0.0,
        off_lips: 30.0,
    },
    UpperShape {
        name: "noseSneer",
        pulls: &[
            pull("alare_left", [0.8, 6.5, -0.4], 22.0),
            pull("nose_base_left", [0.6, 5.0, 0.0], 18.0),
            pull("nose_bridge_3", [0.0, 1.2, 0.3], 16.0),
            pull("orbitale_left", [-0.6, 2.0, 0.8], 20.0),
            pull("brow_left_inner", [-1.0, -1.8, 0.4], 18.0),
        ],
        lids: [0.0, 2.0],
        slide: 0.0,
        off_lips: 12.0,
    },
];
