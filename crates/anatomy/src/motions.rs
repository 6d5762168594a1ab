//! Lookup of the shapes that landmark detection uses, under any common name.
//!
//! Shapes are requested by their ARKit name. Spellings are normalized by [`risorius_rig::classify::names`].
//! If a rig has no such shape, other common names are tried (`mouthOpen` for `jawOpen`, `blink` for both
//! eyes). A shape without sides is used for each side, and the sum of two halves for a whole. In-betweens and
//! combinations are ignored.

use glam::DVec3;
use risorius_rig::classify::names::{self, Key, Side};
use risorius_rig::meters;
use risorius_rig::{Rig, Role};

/// Other names for ARKit shapes, without sides; compared by base, so that case and separators do not matter.
const SYNONYMS: [(&str, &[&str]); 8] = [
    (
        "jawopen",
        &[
            "mouthopen",
            "openmouth",
            "jawdrop",
            "jawdown",
            "openjaw",
            "ahh",
            "visemeaa",
            "aa",
            "a",
            "vaa",
            "mha",
            "open",
        ],
    ),
    (
        "eyeblink",
        &["blink", "eyeclose", "eyesclosed", "eyeclosed", "closeeye", "eyesclose", "eyesblink", "lidclose"],
    ),
    (
        "mouthsmile",
        &["smile", "lipcornerpuller", "happy", "mouthsmileopen", "cornerpull", "mouthcornerup", "smileopen"],
    ),
    ("mouthstretch", &["lipstretch", "lipstretcher", "stretch", "wide", "mouthwide"]),
    ("mouthdimple", &["dimple", "dimpler"]),
    (
        "browinnerup",
        &["innerbrowraiser", "browraisein", "browinnerraise", "browsinnerup", "browup", "browsup"],
    ),
    ("browouterup", &["outerbrowraiser", "browraiseout", "browouterraise", "browsup", "browup", "browraise"]),
    ("browdown", &["browlowerer", "browlower", "browsdown", "frown"]),
];

/// Displacements of a shape.
#[derive(Debug, Clone)]
pub struct Motion {
    /// Its name in the rig.
    pub name: String,
    /// Displacement of every rig vertex in meters.
    pub moved: Vec<DVec3>,
    /// Length of the largest displacement.
    pub most: f64,
}

impl Motion {
    /// The motion of shape `shape`.
    pub fn of(rig: &Rig, shape: usize) -> Self {
        Self::new(rig.shapes[shape].name.clone(), meters::displacements(rig, shape))
    }

    fn new(name: String, moved: Vec<DVec3>) -> Self {
        let most = moved.iter().map(|d| d.length()).fold(0.0, f64::max);
        Self { name, moved, most }
    }

    fn plus(self, other: Self) -> Self {
        let moved = self.moved.iter().zip(&other.moved).map(|(a, b)| *a + *b).collect();
        Self::new(format!("{} + {}", self.name, other.name), moved)
    }
}

/// The full shapes of sliders, each with its key and index.
fn sliders(rig: &Rig) -> Vec<(Key, usize)> {
    let full = rig.shapes.iter().enumerate().filter(|(_, s)| matches!(s.role, Role::Slider(_)));
    full.map(|(i, s)| (names::key(&s.name), i)).collect()
}

/// The motion of the ARKit shape `arkit` in `rig`, if there is one and it moves anything.
pub fn motion(rig: &Rig, arkit: &str) -> Option<Motion> {
    let wanted = names::key(arkit);
    let sliders = sliders(rig);
    let exact =
        rig.shapes.iter().position(|s| s.name == arkit).filter(|&i| sliders.iter().any(|(_, s)| *s == i));
    let found = exact.map(|i| Motion::of(rig, i)).or_else(|| by_key(rig, &sliders, &wanted)).or_else(|| {
        let others = SYNONYMS.iter().find(|(base, _)| *base == wanted.base)?.1;
        others.iter().find_map(|o| by_key(rig, &sliders, &Key { base: (*o).into(), side: wanted.side }))
    });
    found.filter(|m| m.most > 0.0)
}

/// A shape of that base and side, of that base without a side, or the sum of its two halves.
fn by_key(rig: &Rig, sliders: &[(Key, usize)], wanted: &Key) -> Option<Motion> {
    let of = |side: Option<Side>| {
        sliders
            .iter()
            .find(|(k, _)| k.base == wanted.base && k.side == side)
            .map(|&(_, i)| Motion::of(rig, i))
    };
    of(wanted.side).or_else(|| match wanted.side {
        Some(_) => of(None),
        None => Some(of(Some(Side::Left))?.plus(of(Some(Side::Right))?)),
    })
}

/// Whether `base` is another name for the ARKit base `arkit` (both without case and separators).
pub(crate) fn is_synonym(arkit: &str, base: &str) -> bool {
    SYNONYMS.iter().any(|(a, others)| *a == arkit && others.contains(&base))
}

/// The shapes of `arkit` that the rig has.
pub fn motions(rig: &Rig, arkit: &[&str]) -> Vec<Motion> {
    arkit.iter().filter_map(|n| motion(rig, n)).collect()
}
