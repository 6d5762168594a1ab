//! Tables of the mouth shapes: motion of the lips, and additional pulls on the skin around them.
//!
//! All entries are symmetric; one-sided shapes are halves of them. Pulls follow the muscles:
//! zygomaticus draws the corner out, up and back along the arch of the teeth, depressor anguli oris down,
//! risorius out and back, mentalis raises chin and lower lip, orbicularis closes the ring.

use super::lips::{Lip, LipPose};
use super::pulls::{Pull, pull};

/// One entry of the table.
pub(crate) struct MouthShape {
    /// Name without side.
    pub name: &'static str,
    /// The lips.
    pub lips: LipPose,
    /// Skin around.
    pub pulls: &'static [Pull],
    /// How far from the lips skin follows them, mm.
    pub reach: f64,
}

/// Depth of the nasolabial fold and height of the cheek beside it, mm, by shape.
pub(crate) const FOLDS: [(&str, [f64; 2]); 5] = [
    ("mouthSmile", [0.0, 0.6]),
    ("mouthDimple", [0.2, 0.4]),
    ("mouthStretch", [0.25, 0.3]),
    ("mouthUpperUp", [0.25, 1.0]),
    ("noseSneer", [0.35, 1.0]),
];

const fn lip(middle: [f64; 2], side: [f64; 3], roll: f64, thin: f64) -> Lip {
    Lip { middle, side, roll, thin }
}

const fn shape(
    name: &'static str,
    corner: [f64; 3],
    upper: Lip,
    lower: Lip,
    reach: f64,
    pulls: &'static [Pull],
) -> MouthShape {
    MouthShape { name, lips: LipPose { upper, lower, corner }, pulls, reach }
}

/// All shapes of the lips that are not made by the jaw.
pub const MOUTH: [MouthShape; 17] = [
    shape(
        "mouthSmile",
        [7.0, 8.0, -6.0],
        lip([0.8, -1.2], [3.6, 3.0, -2.6], 0.0, 0.12),
        lip([0.5, -1.4], [3.8, 2.8, -2.8], 0.0, 0.1),
        45.0,
        &[
            pull("mid_cheek_left", [2.6, 4.4, 2.6], 40.0),
            pull("orbitale_left", [0.3, 1.8, 1.0], 26.0),
            pull("alare_left", [1.2, 0.8, -0.3], 14.0),
        ],
    ),
    shape(
        "mouthFrown",
        [1.0, -7.5, -1.5],
        lip([-0.3, 0.0], [0.8, -2.2, -0.3], 0.0, 0.0),
        lip([0.2, 0.4], [0.8, -2.2, -0.2], 0.0, 0.0),
        38.0,
        &[pull("mid_cheek_left", [-0.4, -2.2, -0.5], 32.0), pull("pogonion", [0.0, 1.6, 0.6], 22.0)],
    ),
    shape(
        "mouthDimple",
        [4.6, 0.6, -5.0],
        lip([0.0, -0.8], [2.2, 0.3, -1.8], 0.0, 0.08),
        lip([0.0, -0.8], [2.2, 0.3, -1.8], 0.0, 0.08),
        32.0,
        &[pull("mid_cheek_left", [0.8, 0.3, 0.4], 26.0)],
    ),
    shape(
        "mouthStretch",
        [7.5, -3.5, -6.0],
        lip([-0.3, -1.2], [3.6, -1.0, -2.6], 0.0, 0.12),
        lip([-1.0, -1.6], [3.8, -2.4, -3.0], 0.0, 0.1),
        45.0,
        &[pull("mid_cheek_left", [2.0, -2.5, -0.5], 32.0), pull("jaw_left_6", [1.0, -2.0, -1.0], 30.0)],
    ),
    shape(
        "mouthPress",
        [-0.4, 0.4, -0.8],
        lip([-0.6, -1.4], [-0.2, -0.6, -1.4], 12.0, 0.36),
        lip([-0.6, -1.4], [-0.2, -0.6, -1.4], 12.0, 0.36),
        26.0,
        &[pull("pogonion", [0.0, 1.5, 0.6], 22.0)],
    ),
    shape(
        "mouthRollLower",
        [0.0, 0.2, -0.6],
        lip([-0.3, -0.3], [0.0, -0.2, -0.3], 0.0, 0.05),
        lip([0.5, -2.2], [0.0, 0.4, -2.0], 26.0, 0.5),
        26.0,
        &[pull("supramentale", [0.0, 1.0, -0.6], 18.0)],
    ),
    shape(
        "mouthRollUpper",
        [0.0, -0.2, -0.6],
        lip([-0.5, -2.2], [0.0, -0.4, -2.0], 9.0, 0.5),
        lip([0.3, -0.3], [0.0, 0.2, -0.3], 0.0, 0.05),
        26.0,
        &[pull("mid_philtrum", [0.0, -1.0, -0.8], 16.0)],
    ),
    shape(
        "mouthShrugLower",
        [0.3, -1.2, 0.0],
        lip([2.6, 1.6], [0.0, 1.4, 1.0], -6.0, 0.05),
        lip([2.6, 3.2], [0.0, 1.4, 2.2], -14.0, -0.12),
        34.0,
        &[pull("pogonion", [0.0, 4.5, 1.6], 30.0)],
    ),
    shape(
        "mouthShrugUpper",
        [0.2, -0.6, 0.0],
        lip([2.6, 2.8], [0.0, 1.8, 2.0], -14.0, -0.05),
        lip([2.2, 1.0], [0.0, 1.4, 0.8], 0.0, 0.0),
        28.0,
        &[pull("mid_philtrum", [0.0, 1.2, 0.8], 16.0)],
    ),
    shape(
        "mouthFunnel",
        [-6.5, 0.0, 3.5],
        lip([3.4, 6.6], [-2.6, 3.2, 6.2], -22.0, -0.05),
        lip([-4.6, 6.2], [-2.8, -4.4, 5.8], -22.0, -0.05),
        38.0,
        &[],
    ),
    shape(
        "mouthPucker",
        [-10.6, 0.2, 5.6],
        lip([0.2, 6.4], [-5.6, 0.2, 6.8], -8.0, -0.3),
        lip([0.2, 5.8], [-5.6, 0.2, 6.4], -8.0, -0.25),
        45.0,
        &[pull("mid_cheek_left", [-2.0, -0.6, 0.6], 30.0)],
    ),
    shape(
        "mouthUpperUp",
        [1.0, 2.2, -0.8],
        lip([4.6, 0.4], [0.8, 6.2, 0.2], -8.0, 0.1),
        lip([0.0, 0.0], [0.2, 0.3, -0.1], 0.0, 0.0),
        30.0,
        &[pull("alare_left", [0.6, 2.2, 0.0], 16.0), pull("mid_cheek_left", [0.6, 2.4, 1.2], 26.0)],
    ),
    shape(
        "mouthLowerDown",
        [0.8, -2.0, -0.8],
        lip([0.0, 0.0], [0.1, -0.2, -0.1], 0.0, 0.0),
        lip([-5.2, 0.3], [0.9, -6.2, -0.2], -8.0, 0.08),
        30.0,
        &[pull("pogonion", [0.0, -1.4, 0.2], 24.0)],
    ),
    // Parts of visemes, not shapes of their own.
    shape(
        "lowerLipToTeeth",
        [0.3, 0.0, -0.8],
        lip([1.2, 0.6], [0.2, 1.2, 0.3], -6.0, 0.0),
        lip([2.0, -2.6], [0.0, 1.2, -2.2], 10.0, 0.3),
        28.0,
        &[],
    ),
    shape(
        "sealed",
        [0.0, 0.0, -0.4],
        lip([-0.3, -0.5], [0.0, -0.3, -0.5], 6.0, 0.16),
        lip([-0.3, -0.5], [0.0, -0.3, -0.5], 6.0, 0.16),
        24.0,
        &[],
    ),
    shape(
        "parted",
        [0.0, 0.0, -0.2],
        lip([1.0, 0.0], [0.0, 1.2, 0.0], 0.0, 0.0),
        lip([-1.6, 0.0], [0.0, -1.8, 0.0], 0.0, 0.0),
        26.0,
        &[],
    ),
    shape(
        "aroundTongue",
        [0.0, -0.4, 0.0],
        lip([1.2, 0.6], [0.0, 1.0, 0.3], 0.0, 0.0),
        lip([-2.0, 1.0], [0.0, -1.6, 0.4], -8.0, 0.0),
        26.0,
        &[],
    ),
];
