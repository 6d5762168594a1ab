//! Visemes: the mouth shapes of speech sounds, each a combined pose of jaw, lips and tongue.

/// One viseme.
pub(crate) struct Viseme {
    /// Name.
    pub name: &'static str,
    /// Jaw opening, degrees.
    pub jaw: f64,
    /// Names of mouth shapes (without side) and their amounts.
    pub lips: &'static [(&'static str, f64)],
    /// Amount of closing of the lips, 0..1, for sounds with the jaw open and the lips together.
    pub close: f64,
    /// Rise and advance of the tongue's tip, and rise of its back; mm.
    pub tongue: [f64; 3],
}

const fn viseme(
    name: &'static str,
    jaw: f64,
    close: f64,
    tongue: [f64; 3],
    lips: &'static [(&'static str, f64)],
) -> Viseme {
    Viseme { name, jaw, lips, close, tongue }
}

/// The fifteen of common lip-sync tools.
pub(crate) const VISEMES: [Viseme; 15] = [
    // Silence: teeth slightly apart, lips closed.
    viseme("viseme_sil", 0.8, 1.0, [0.0, 0.0, 0.0], &[]),
    viseme("viseme_PP", 1.6, 1.0, [0.0, 0.0, 0.0], &[("sealed", 1.0), ("mouthPress", 0.45)]),
    viseme("viseme_FF", 2.6, 0.55, [0.0, 0.0, 0.0], &[("lowerLipToTeeth", 1.0), ("mouthUpperUp", 0.35)]),
    viseme("viseme_TH", 5.5, 0.0, [7.0, 20.0, 1.0], &[("parted", 0.8)]),
    viseme("viseme_DD", 4.5, 0.0, [8.0, 6.0, 2.0], &[("parted", 0.8), ("mouthStretch", 0.12)]),
    viseme("viseme_kk", 6.0, 0.0, [-1.0, -3.0, 6.0], &[("parted", 0.6), ("mouthStretch", 0.15)]),
    viseme("viseme_CH", 3.2, 0.0, [5.0, 3.0, 2.0], &[("mouthFunnel", 0.7), ("mouthPucker", 0.2)]),
    viseme(
        "viseme_SS",
        1.8,
        0.0,
        [3.0, 5.0, 1.0],
        &[("parted", 1.0), ("mouthStretch", 0.3), ("mouthLowerDown", 0.25)],
    ),
    viseme("viseme_nn", 3.6, 0.0, [9.0, 6.0, 2.0], &[("parted", 0.7)]),
    viseme("viseme_RR", 4.2, 0.0, [6.0, -2.0, 3.0], &[("mouthFunnel", 0.4), ("mouthPucker", 0.35)]),
    viseme("viseme_aa", 16.0, 0.0, [0.0, -1.0, -1.0], &[("mouthUpperUp", 0.15)]),
    viseme("viseme_E", 8.0, 0.0, [1.0, 2.0, 2.0], &[("mouthStretch", 0.3), ("mouthUpperUp", 0.2)]),
    viseme(
        "viseme_I",
        5.0,
        0.0,
        [1.0, 2.0, 4.0],
        &[("mouthSmile", 0.3), ("mouthStretch", 0.25), ("parted", 0.5)],
    ),
    viseme("viseme_O", 10.0, 0.0, [-1.0, -3.0, 2.0], &[("mouthFunnel", 0.45), ("mouthPucker", 0.5)]),
    viseme("viseme_U", 4.5, 0.0, [0.0, -3.0, 4.0], &[("mouthPucker", 0.8), ("mouthFunnel", 0.3)]),
];
