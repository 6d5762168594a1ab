//! Matches shape names across spelling conventions.
//!
//! A name is parsed into a base and a side: `eyeBlinkLeft`, `eyeBlink_L`, `EyeBlinkLeft`,
//! `ARKit_eyeBlinkLeft` and `blendShape1.eyeBlink_L` are all `(eyeblink, left)`. Prefixes are dropped only in
//! front of a known ARKit or ICT base; other names (visemes, studio names) are compared whole, ignoring case
//! and separators, and never changed. A shape without sides matches its two halves: `browInnerUp` drives
//! `browInnerUp_L` and `browInnerUp_R`, and the mean of the two halves drives the whole.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

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
    let starts = std::iter::once(0)
        .chain(name.char_indices().filter(|(_, c)| is_separator(*c)).map(|(i, c)| i + c.len_utf8()));
    for start in starts.filter(|&s| !name[s..].starts_with(is_separator)) {
        let candidate = plain_key(&name[start..]);
        // After two underscores or another known name it is a combination, not a prefix: smile_L__jawOpen.
        let before = &name[..start];
        let combines = before.ends_with("__") || known(&plain_key(before.trim_end_matches(is_separator)));
        if known(&candidate) && !combines {
            return candidate;
        }
    }
    plain_key(name)
}

/// Which of `candidates` is `name`: the one with the same spelling, or else the first with the same key.
pub fn find<'a>(name: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<usize> {
    let wanted = key(name);
    candidates.clone().position(|c| c == name).or_else(|| candidates.clone().position(|c| key(c) == wanted))
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

/// Whether a name has no prefix in front of a known base.
fn is_bare(name: &str) -> bool {
    key(name) == plain_key(name)
}

fn is_separator(c: char) -> bool {
    matches!(c, '_' | '.' | ':' | '|' | '-' | ' ' | '/')
}

fn known(k: &Key) -> bool {
    // The side is required when the bare base is not a shape of its own ("jaw", "mouth").
    KNOWN.get(&k.base).is_some_and(|sides| k.side.is_some() || sides.iter().any(|(side, _)| side.is_none()))
}

fn plain_key(name: &str) -> Key {
    let (base, side) = strip_side(name);
    let base = base.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    Key { base, side }
}

/// Removes a trailing side from a name: `Left`, `_L`, `.r`, `L` after a lower-case letter ...
fn strip_side(name: &str) -> (&str, Option<Side>) {
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

/// How the columns of a clip drive the sliders of a rig.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NameMap {
    /// Column, slider, factor.
    pub links: Vec<(usize, usize, f32)>,
    /// Columns that drive nothing.
    pub unmatched_columns: Vec<usize>,
    /// Sliders that nothing drives.
    pub unmatched_sliders: Vec<usize>,
}

/// Matches `columns` (a clip's names) to `sliders` (a rig's).
pub fn match_names(columns: &[String], sliders: &[String]) -> NameMap {
    let exact: HashMap<&str, usize> =
        columns.iter().enumerate().rev().map(|(i, n)| (n.as_str(), i)).collect();
    let mut by_key: HashMap<Key, usize> = HashMap::new();
    let (bare, prefixed): (Vec<usize>, Vec<usize>) = (0..columns.len()).partition(|&c| is_bare(&columns[c]));
    for c in bare.into_iter().chain(prefixed) {
        by_key.entry(key(&columns[c])).or_insert(c);
    }
    let bare_sliders: HashSet<Key> = sliders.iter().filter(|s| is_bare(s)).map(|s| key(s)).collect();
    let mut map = NameMap::default();
    let mut column_used = vec![false; columns.len()];
    for (s, slider) in sliders.iter().enumerate() {
        // Beside jawOpen, fix_jawOpen is a slider of its own and not jawOpen with a prefix.
        let is_other = !is_bare(slider) && bare_sliders.contains(&key(slider));
        let k = if is_other { plain_key(slider) } else { key(slider) };
        let find = |side| by_key.get(&Key { base: k.base.clone(), side }).copied();
        let found: Vec<(usize, f32)> = if let Some(&c) = exact.get(slider.as_str()) {
            vec![(c, 1.0)]
        } else if let Some(c) = find(k.side).or_else(|| k.side.and_then(|_| find(None))) {
            vec![(c, 1.0)]
        } else if k.side.is_none() {
            // The halves drive the whole; "jaw" and "mouth" have no whole.
            [Side::Left, Side::Right].iter().filter_map(|&side| find(Some(side))).map(|c| (c, 0.5)).collect()
        } else {
            Vec::new()
        };
        if found.is_empty() {
            map.unmatched_sliders.push(s);
        }
        for (c, factor) in found {
            column_used[c] = true;
            map.links.push((c, s, factor));
        }
    }
    map.unmatched_columns = (0..columns.len()).filter(|&c| !column_used[c]).collect();
    map
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

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_string()).collect()
    }

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
    fn wholes_meet_halves() {
        let map = match_names(
            &owned(&["BrowInnerUp", "JawOpen", "Nothing"]),
            &owned(&["browInnerUp_L", "browInnerUp_R", "jawOpen", "extra"]),
        );
        assert_eq!(map.links, [(0, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0)]);
        assert_eq!((map.unmatched_columns, map.unmatched_sliders), (vec![2], vec![3]));
        let map = match_names(&owned(&["cheekPuff_L", "cheekPuff_R"]), &owned(&["cheekPuff"]));
        assert_eq!(map.links, [(0, 0, 0.5), (1, 0, 0.5)]);
        let map = match_names(&owned(&["JawOpen"]), &owned(&["jawOpen", "fix_jawOpen", "smile_jawOpen"]));
        assert_eq!((map.links, map.unmatched_sliders), (vec![(0, 0, 1.0)], vec![1, 2]));
        let map = match_names(&owned(&["JawOpen"]), &owned(&["head.jawOpen", "teeth.jawOpen"]));
        assert_eq!(map.links.len(), 2, "parts of one rig with their own prefixes");
        let map = match_names(&owned(&["jawLeft", "mouthLeft"]), &owned(&["jaw", "mouthLeft"]));
        assert_eq!(map.links.last(), Some(&(1, 1, 1.0)));
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
}
