//! Matches shape names across spelling conventions.
//!
//! A name is parsed into a base and a side: `eyeBlinkLeft`, `eyeBlink_L`, `EyeBlinkLeft`,
//! `ARKit_eyeBlinkLeft` and `blendShape1.eyeBlink_L` are all `(eyeblink, left)`. Prefixes are dropped only in
//! front of a known ARKit or ICT base; other names (visemes, studio names) are compared whole, ignoring case
//! and separators, and never changed. How the columns of a clip find their sliders is in
//! [`super::binding`].

use super::sets::{split_name, split_names};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Most words of a known name, each between separators.
const MAX_WORDS: usize = 6;

/// The 52 shapes of ARKit in Apple's spelling.
pub const ARKIT: [&str; 52] = [
    "browDownLeft",
    "browDownRight",
    "browInnerUp",
    "browOuterUpLeft",
    "browOuterUpRight",
    "cheekPuff",
    "cheekSquintLeft",
    "cheekSquintRight",
    "eyeBlinkLeft",
    "eyeBlinkRight",
    "eyeLookDownLeft",
    "eyeLookDownRight",
    "eyeLookInLeft",
    "eyeLookInRight",
    "eyeLookOutLeft",
    "eyeLookOutRight",
    "eyeLookUpLeft",
    "eyeLookUpRight",
    "eyeSquintLeft",
    "eyeSquintRight",
    "eyeWideLeft",
    "eyeWideRight",
    "jawForward",
    "jawLeft",
    "jawOpen",
    "jawRight",
    "mouthClose",
    "mouthDimpleLeft",
    "mouthDimpleRight",
    "mouthFrownLeft",
    "mouthFrownRight",
    "mouthFunnel",
    "mouthLeft",
    "mouthLowerDownLeft",
    "mouthLowerDownRight",
    "mouthPressLeft",
    "mouthPressRight",
    "mouthPucker",
    "mouthRight",
    "mouthRollLower",
    "mouthRollUpper",
    "mouthShrugLower",
    "mouthShrugUpper",
    "mouthSmileLeft",
    "mouthSmileRight",
    "mouthStretchLeft",
    "mouthStretchRight",
    "mouthUpperUpLeft",
    "mouthUpperUpRight",
    "noseSneerLeft",
    "noseSneerRight",
    "tongueOut",
];

/// Bases that the ICT face has in addition to ARKit's.
const ICT_EXTRA: [&str; 2] = ["cheekRaiser", "PupilDilate"];

/// Which half of the face a shape moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The character's left.
    Left,
    /// The character's right.
    Right,
}

impl Side {
    /// `l` or `r`.
    pub(crate) const fn letter(self) -> &'static str {
        match self {
            Self::Left => "l",
            Self::Right => "r",
        }
    }
}

/// A name without its spelling convention.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// Lower case, letters and digits only.
    pub base: String,
    /// The side that the name ends in.
    pub side: Option<Side>,
}

/// How [`spell`] writes ARKit names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `eyeBlinkLeft`
    Arkit,
    /// `eyeBlink_L`, as the ICT face and many game rigs.
    Short,
    /// `EyeBlinkLeft`, as Live Link Face.
    LiveLink,
}

/// Reads a name as base and side, dropping a prefix in front of a known base.
pub fn key(name: &str) -> Key {
    key_after(name).1
}

/// As [`key`], and where in the name it starts.
pub(crate) fn key_after(name: &str) -> (usize, Key) {
    let starts = std::iter::once(0)
        .chain(name.char_indices().filter(|(_, c)| is_separator(*c)).map(|(i, c)| i + c.len_utf8()));
    for start in starts.filter(|&s| !name[s..].starts_with(is_separator)) {
        let candidate = plain_key(&name[start..]);
        // After two underscores or another known name it is a combination, not a prefix: smile_L__jawOpen.
        let before = &name[..start];
        if known(&candidate) && !before.ends_with("__") && !holds_known(before) {
            return (start, candidate);
        }
    }
    (0, plain_key(name))
}

/// Whether some run of words between separators is a known name.
fn holds_known(text: &str) -> bool {
    let text = text.trim_end_matches(is_separator);
    let starts = std::iter::once(0).chain(text.match_indices(is_separator).map(|(i, s)| i + s.len()));
    starts.clone().filter(|&start| start < text.len()).any(|start| {
        let ends = text[start..].match_indices(is_separator).map(|(i, _)| start + i);
        // Known names have few words.
        ends.take(MAX_WORDS)
            .chain([text.len()])
            .any(|end| end > start && known(&plain_key(&text[start..end])))
    })
}

/// Which of `candidates` is `name`: the one with the same spelling; or else with the same letters and digits;
/// or else with the same key, of the set that `name` belongs to, or of the largest.
pub fn find<'a>(name: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<usize> {
    let plain = plain_key(name);
    let same = candidates
        .clone()
        .position(|c| c == name)
        .or_else(|| candidates.clone().position(|c| plain_key(c) == plain));
    same.or_else(|| {
        let all = split_names(candidates);
        let wanted = split_name(name, |mark| all.iter().any(|m| m.mark == mark));
        let fits: Vec<usize> = (0..all.len()).filter(|&c| all[c].key == wanted.key).collect();
        let own = fits.iter().copied().find(|&c| !wanted.mark.is_empty() && all[c].mark == wanted.mark);
        let size = |c: usize| all.iter().filter(|m| known(&m.key) && m.mark == all[c].mark).count();
        own.or_else(|| fits.into_iter().rev().max_by_key(|&c| size(c)))
    })
}

/// The ARKit name behind any spelling of it, as an index into [`ARKIT`].
pub fn arkit_index(name: &str) -> Option<usize> {
    let wanted = key(name);
    KNOWN
        .get(&wanted.base)?
        .iter()
        .find(|(side, _)| *side == wanted.side)
        .map(|k| k.1)
        .filter(|&i| i < ARKIT.len())
}

/// The known names that share a base.
type Sides = Vec<(Option<Side>, usize)>;

/// Known names by base: side, and index into [`ARKIT`] followed by [`ICT_EXTRA`]. A map, because rigs with
/// very many shapes look up each of them.
static KNOWN: LazyLock<HashMap<String, Sides>> = LazyLock::new(|| {
    let mut by_base: HashMap<String, Sides> = HashMap::new();
    for (i, name) in ARKIT.iter().chain(&ICT_EXTRA).enumerate() {
        let k = plain_key(name);
        by_base.entry(k.base).or_default().push((k.side, i));
    }
    by_base
});

/// An ARKit or ICT name in another spelling; `None` for names that are neither.
pub fn spell(name: &str, spelling: Spelling) -> Option<String> {
    let k = key(name);
    let &(_, first) = KNOWN.get(&k.base)?.first()?;
    let base = strip_side(ARKIT.iter().chain(&ICT_EXTRA).nth(first)?).0;
    let side = |left, right| match k.side {
        None => "",
        Some(Side::Left) => left,
        Some(Side::Right) => right,
    };
    // The side is part of the word in jawLeft and mouthRight.
    let is_direction = base == "jaw" || base == "mouth";
    Some(match spelling {
        Spelling::Short if !is_direction => format!("{base}{}", side("_L", "_R")),
        Spelling::Short | Spelling::Arkit => format!("{base}{}", side("Left", "Right")),
        Spelling::LiveLink => format!("{}{}{}", base[..1].to_uppercase(), &base[1..], side("Left", "Right")),
    })
}

pub(crate) fn is_separator(c: char) -> bool {
    matches!(c, '_' | '.' | ':' | '|' | '-' | ' ' | '/')
}

pub(crate) fn known(k: &Key) -> bool {
    // The side is required when the bare base is not a shape of its own ("jaw", "mouth").
    KNOWN.get(&k.base).is_some_and(|sides| k.side.is_some() || sides.iter().any(|(side, _)| side.is_none()))
}

pub(crate) fn plain_key(name: &str) -> Key {
    let (base, side) = strip_side(name);
    let base = base.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    Key { base, side }
}

/// Removes a trailing side from a name: `Left`, `_L`, `.r`, `L` after a lower-case letter ...
pub(crate) fn strip_side(name: &str) -> (&str, Option<Side>) {
    for (suffix, side) in [("left", Side::Left), ("right", Side::Right)] {
        let cut = name.len().saturating_sub(suffix.len());
        if cut > 0 && name.is_char_boundary(cut) && name[cut..].eq_ignore_ascii_case(suffix) {
            return (name[..cut].trim_end_matches(is_separator), Some(side));
        }
    }
    let mut from_end = name.char_indices().rev();
    if let (Some((cut, last)), Some((_, before))) = (from_end.next(), from_end.next()) {
        let side = match last {
            'L' | 'l' => Some(Side::Left),
            'R' | 'r' => Some(Side::Right),
            _ => None,
        };
        let split = is_separator(before) || (last.is_uppercase() && before.is_lowercase());
        if side.is_some() && split {
            return (name[..cut].trim_end_matches(is_separator), side);
        }
    }
    (name, None)
}

/// Up to three of `candidates` that are most similar to `name`, best first; for "did you mean".
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let likeness = |c: &str| strsim::jaro_winkler(&wanted, &c.to_lowercase());
    // Users seldom type prefixes such as ARKit_.
    let likeness =
        |c: &str| c.split_once(is_separator).map_or(0.0, |(_, rest)| likeness(rest)).max(likeness(c));
    let mut scored: Vec<(f64, &str)> =
        candidates.into_iter().map(|c| (likeness(c), c)).filter(|(score, _)| *score > 0.6).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, c)| c.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_agree() {
        for name in [
            "eyeBlinkLeft",
            "eyeBlink_L",
            "EyeBlinkLeft",
            "ARKit_eyeBlinkLeft",
            "blendShape1.eyeBlink_L",
            "eyeBlinkL",
            "eye_blink_left",
            "head|eyeBlink.l",
        ] {
            assert_eq!(arkit_index(name).map(|i| ARKIT[i]), Some("eyeBlinkLeft"), "{name}");
        }
        assert_eq!(arkit_index("jawLeft").map(|i| ARKIT[i]), Some("jawLeft"));
        assert_eq!(arkit_index("jaw_L").map(|i| ARKIT[i]), Some("jawLeft"));
        assert_eq!(arkit_index("viseme_aa"), None);
        assert_eq!(arkit_index("smile_L__jawOpen"), None);
        assert_eq!(arkit_index("mouth"), None);
        assert_eq!(arkit_index("MH_mouth-open"), None);
        assert_eq!(arkit_index("mouthSmileLeft__jawOpen"), None);
    }

    #[test]
    fn every_arkit_name_survives_every_spelling() {
        for name in ARKIT {
            for spelling in [Spelling::Arkit, Spelling::Short, Spelling::LiveLink] {
                let spelled = spell(name, spelling).unwrap();
                assert_eq!(arkit_index(&spelled).map(|i| ARKIT[i]), Some(name), "{spelled}");
            }
            assert_eq!(spell(name, Spelling::Arkit).unwrap(), name);
        }
        assert_eq!(spell("EyeBlinkLeft", Spelling::Short).unwrap(), "eyeBlink_L");
        assert_eq!(spell("viseme_PP", Spelling::Short), None);
    }

    #[test]
    fn typing_errors_find_their_name() {
        assert_eq!(nearest("jawOpne", ARKIT)[0], "jawOpen");
        assert!(nearest("zzzz", ARKIT).is_empty());
        assert_eq!(nearest("jawOpne", ["ARKit_browDownLeft", "ARKit_jawOpen"])[0], "ARKit_jawOpen");
        assert_eq!(find("jawOpen", ["ARKit_jawOpen", "jawOpen"].into_iter()), Some(1));
        assert_eq!(find("EyeBlinkLeft", ["jawOpen", "ARKit_eyeBlink_L"].into_iter()), Some(1));
        assert_eq!(find("jawOpne", ["jawOpen"].into_iter()), None);
    }

    #[test]
    fn a_name_means_the_shape_of_its_own_set() {
        let all =
            ["SR_21_Jaw_Open", "AK_25_JawOpen", "AK_26_CheekPuff", "AK_27_TongueOut", "SR_30_CheekPuff"];
        let found = |name: &str| find(name, all.into_iter()).map(|i| all[i]);
        assert_eq!(found("SR_21_Jaw_Open"), Some("SR_21_Jaw_Open"));
        assert_eq!(found("sr_21_JawOpen"), Some("SR_21_Jaw_Open"), "another spelling of the full name");
        assert_eq!(found("SR_JawOpen"), Some("SR_21_Jaw_Open"), "its set, without the number");
        assert_eq!(found("jawOpen"), Some("AK_25_JawOpen"), "the largest set");
    }
}
