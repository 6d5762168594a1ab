//! Which sliders are correctives: shapes that a rig drives and no person moves.
//!
//! Rich rigs carry hundreds of them beside their controls. Where a file keeps them as plain shapes, only
//! their names tell. A slider counts as a corrective
//! - if a word of its name says so (`CORR_`, `fix`, `combo`, `driven` ...);
//! - if its name, at its separators, is made of the names of two or more other sliders: `jawOpen_smile_L`,
//!   `Smile_JawOpen_L`, `AU12_25`, also with a mark in front. Sides and marks of the parts may be left out.
//!
//! Shapes that are combinations or in-betweens by their role are no sliders and not listed.

use super::kinds::words;
use super::names::{is_separator, strip_side};
use crate::Rig;
use std::collections::HashSet;

/// Words that mark a shape as driven by others.
const WORDS: [&str; 20] = [
    "corr",
    "corrective",
    "correctives",
    "correction",
    "corrections",
    "fix",
    "fixes",
    "fixer",
    "combo",
    "combos",
    "combination",
    "combinations",
    "driven",
    "psd",
    "rbf",
    "posedriven",
    "inbetween",
    "inbetweens",
    "tween",
    "tweens",
];

/// Words that join two names, and mean nothing by themselves.
const JOINTS: [&str; 5] = ["x", "and", "with", "plus", "n"];

/// Most pieces between separators of a name that is tried as a combination.
const MAX_PIECES: usize = 16;

/// Whether a word, in lower case, says that a shape is a corrective.
pub(crate) fn is_corrective_word(word: &str) -> bool {
    WORDS.contains(&word)
}

/// Sliders that are correctives, ascending.
pub fn correctives(rig: &Rig) -> Vec<usize> {
    let names: Vec<&str> = rig.sliders.iter().map(|s| s.name.as_str()).collect();
    let index = Index::of(&names);
    (0..names.len()).filter(|&s| says_so(names[s]) || index.is_combination(names[s])).collect()
}

fn says_so(name: &str) -> bool {
    words(name).iter().any(|word| is_corrective_word(word))
}

/// The names of sliders, to look pieces of names up in.
struct Index {
    /// Names in lower case without separators, as they are and without a leading mark.
    whole: HashSet<String>,
}

impl Index {
    fn of(names: &[&str]) -> Self {
        let mut whole = HashSet::new();
        for name in names.iter().filter(|name| !says_so(name)) {
            let pieces = pieces(name);
            whole.insert(pieces.concat());
            // Without a mark and a number in front: AK_25_JawOpen.
            let rest = &pieces[marks(&pieces)..];
            if !rest.is_empty() {
                whole.insert(rest.concat());
            }
        }
        Self { whole }
    }

    /// Whether `name` is made of the names of at least two other sliders.
    fn is_combination(&self, name: &str) -> bool {
        let (bare, side) = strip_side(name);
        let (with_side, without) = (pieces(name), pieces(bare));
        if with_side.len() > MAX_PIECES {
            return false;
        }
        let side = side.map_or("", |side| side.letter());
        let skipped = marks(&with_side);
        [0, skipped].iter().any(|&skip| {
            let of =
                |all: &[String], side: &str| all.len() > skip && self.splits(&all[skip..], side, 0, None);
            of(&with_side, "") || (!side.is_empty() && of(&without, side))
        })
    }

    /// Whether `pieces` are names of sliders one after the other, `found` of which were found before; `first`
    /// is the first of them.
    fn splits(&self, pieces: &[String], side: &str, found: usize, first: Option<&str>) -> bool {
        if pieces.is_empty() {
            return found >= 2;
        }
        if found > 0 && JOINTS.contains(&pieces[0].as_str()) && pieces.len() > 1 {
            return self.splits(&pieces[1..], side, found, first);
        }
        // The whole of a name is itself, not a combination.
        let longest = if found == 0 { pieces.len() - 1 } else { pieces.len() };
        (1..=longest).any(|n| {
            let piece = pieces[..n].concat();
            self.has(&piece, side, first)
                && self.splits(&pieces[n..], side, found + 1, first.or(Some(piece.as_str())))
        })
    }

    fn has(&self, piece: &str, side: &str, first: Option<&str>) -> bool {
        // AU12_25: a number continues the letters of the first name.
        let letters = first.map_or("", |f| f.trim_end_matches(|c: char| c.is_ascii_digit()));
        let is_number = piece.chars().all(|c| c.is_ascii_digit());
        let numbered = is_number && !letters.is_empty() && self.whole.contains(&format!("{letters}{piece}"));
        let named =
            !is_number && (self.whole.contains(piece) || self.whole.contains(&format!("{piece}{side}")));
        numbered || named
    }
}

/// The pieces of a name between separators, in lower case; sides as one letter.
fn pieces(name: &str) -> Vec<String> {
    let all = name.split(|c: char| is_separator(c) || c == '+').filter(|piece| !piece.is_empty());
    all.flat_map(|piece| {
        let (bare, side) = strip_side(piece);
        let lower = |text: &str| text.to_lowercase();
        match (piece.to_lowercase().as_str(), side) {
            ("left", _) => vec!["l".to_string()],
            ("right", _) => vec!["r".to_string()],
            (_, Some(side)) => vec![lower(bare), side.letter().to_string()],
            _ => vec![lower(piece)],
        }
    })
    .collect()
}

/// How many leading pieces are a mark with its number: `AK_25_` is two; none without a number.
fn marks(pieces: &[String]) -> usize {
    match pieces {
        [mark, number, ..] if is_letters(mark) && number.chars().all(|c| c.is_ascii_digit()) => 2,
        [word, ..] if is_corrective_word(word) => 1,
        _ => 0,
    }
}

fn is_letters(text: &str) -> bool {
    text.chars().all(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slider;

    fn found(names: &[&str]) -> Vec<String> {
        let slider = |name: &&str| Slider { name: (*name).into(), shape: 0, range: [0.0, 1.0] };
        let rig = Rig { sliders: names.iter().map(slider).collect(), ..Rig::default() };
        correctives(&rig).into_iter().map(|s| names[s].to_string()).collect()
    }

    #[test]
    fn combinations_and_correctives_are_told_from_controls() {
        let controls = [
            "jawOpen",
            "smile_L",
            "smile_R",
            "browDown",
            "Mouth_Wide",
            "AU12",
            "AU25",
            "AK_25_JawOpen",
            "AK_31_MouthPucker",
            "mouthSmileLeft",
            "eyeBlinkLeft",
            "MH_mouth-retraction",
            "MH_mouth-depression",
            "MH_mouth-depression-retraction",
            "fixture",
            "jaw_L",
            "corner_up",
        ];
        let driven = [
            "jawOpen_smile_L",
            "smile_jawOpen_L",
            "jawOpen_smileL",
            "CORR_jawOpen_smile",
            "browDown_fix",
            "combo.12",
            "AU12_25",
            "AU12_AU25",
            "Mouth_Wide_JawOpen",
            "jawOpen_x_browDown",
            "AK_25_JawOpen_AK_31_MouthPucker",
            "jawOpen_mouthSmileLeft_eyeBlinkLeft",
            "C_12_JawOpen_MouthPucker",
        ];
        assert_eq!(found(&controls), Vec::<String>::new());
        assert_eq!(found(&[&controls[..], &driven].concat()), driven);
    }

    #[test]
    fn long_names_do_not_take_forever() {
        let long = vec!["a"; 4000].join("_");
        assert_eq!(found(&["a", "aa", &long]), Vec::<String>::new());
    }
}
