//! Sets of shapes in a rig, and which of its names belongs to which.
//!
//! Rigs of games carry several sets side by side (ARKit, FACS units, visemes), each with a mark of its own in
//! front of or behind its names: `AK_25_JawOpen`, `SR_21_Jaw_Open`, `jawOpen_FACS`. A name is split into what
//! is left without the mark, as a [`Key`], and the mark. A mark is read
//! - in front of a name of ARKit or ICT, whatever it is (numbers and separators do not count);
//! - behind such a name, if at least four names of the rig have it, so that `jawOpen_wide` stays a shape of
//!   its own;
//! - in front of other names (`VIS_aa`), if at least four names of the rig begin with it. What follows it is
//!   compared only where a set is asked for by name, since `brow_up` and `mouth_up` are no twins.
//!
//! Names of one set share their mark; names without a mark are a set too.

use super::correctives::is_corrective_word;
use super::names::{Key, is_separator, key_after, known, plain_key, strip_side};
use std::collections::HashMap;

/// Names that must share a mark before it is read as one, where it could be part of the name.
const SHARED: usize = 4;

/// A name, split.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Marked {
    /// The name without its mark if it is one of ARKit or ICT, else all of it.
    pub key: Key,
    /// Of other names: what follows the mark.
    pub inner: Option<Key>,
    /// The mark: letters in lower case, nothing else; empty if there is none.
    pub mark: String,
    /// The mark as the name spells it, without numbers.
    pub shown: String,
}

/// Splits the names of one rig.
pub(crate) fn split_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<Marked> {
    let mut behind: HashMap<String, usize> = HashMap::new();
    let mut before: HashMap<String, usize> = HashMap::new();
    for name in names.clone() {
        if let Some((_, mark)) = known_with_suffix(name) {
            *behind.entry(letters(mark)).or_insert(0) += 1;
        }
        if let Some((mark, _)) = first_token(name) {
            *before.entry(letters(mark)).or_insert(0) += 1;
        }
    }
    let shared = |counts: &HashMap<String, usize>, mark: &str| {
        let mark = letters(mark);
        counts.get(&mark).is_some_and(|&n| n >= SHARED) && !is_corrective_word(&mark)
    };
    names
        .map(|name| {
            let (start, key) = key_after(name);
            if known(&key) {
                return marked(key, None, &name[..start]);
            }
            if let Some((key, mark)) = known_with_suffix(name).filter(|(_, mark)| shared(&behind, mark)) {
                return marked(key, None, mark);
            }
            match first_token(name).filter(|(mark, _)| shared(&before, mark)) {
                Some((mark, rest)) => marked(key, Some(plain_key(rest)), mark),
                None => marked(key, None, ""),
            }
        })
        .collect()
}

/// Splits a name that is to find its like in a rig; `is_mark` says which marks, as [`letters`], the rig has.
pub(crate) fn split_name(name: &str, is_mark: impl Fn(&str) -> bool) -> Marked {
    let (start, key) = key_after(name);
    if known(&key) {
        return marked(key, None, &name[..start]);
    }
    if let Some((key, mark)) = known_with_suffix(name).filter(|(_, mark)| is_mark(&letters(mark))) {
        return marked(key, None, mark);
    }
    match first_token(name).filter(|(mark, _)| is_mark(&letters(mark))) {
        Some((mark, rest)) => marked(key, Some(plain_key(rest)), mark),
        None => marked(key, None, ""),
    }
}

fn marked(key: Key, inner: Option<Key>, mark: &str) -> Marked {
    let words = mark.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty());
    Marked { key, inner, mark: letters(mark), shown: words.collect::<Vec<_>>().join("_") }
}

/// The letters of a mark, in lower case.
pub(crate) fn letters(mark: &str) -> String {
    mark.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect()
}

/// `jawOpen_FACS` or `eyeBlink_FACS_L` as the known name and what is behind it.
fn known_with_suffix(name: &str) -> Option<(Key, &str)> {
    let cut = |name: &str| name.char_indices().rev().find(|(_, c)| is_separator(*c)).map(|(at, _)| at);
    let at = cut(name)?;
    let (head, tail) = (&name[..at], &name[at..]);
    let key = key_after(head).1;
    if known(&key) && !letters(tail).is_empty() && strip_side(name).1.is_none() {
        return Some((key, tail));
    }
    let (whole, side) = strip_side(name);
    let side = side?;
    let at = cut(whole)?;
    let mut key = key_after(&whole[..at]).1;
    let free = key.side.is_none() && !letters(&whole[at..]).is_empty();
    key.side = Some(side);
    (free && known(&key)).then(|| (key, &whole[at..]))
}

/// The first word of a name and what follows it, without numbers in between: `VIS_05_aa` is `VIS`, `aa`.
fn first_token(name: &str) -> Option<(&str, &str)> {
    let end = name.find(|c: char| !c.is_alphabetic())?;
    let rest = name[end..].trim_start_matches(|c: char| is_separator(c) || c.is_ascii_digit());
    (end > 0 && rest.contains(char::is_alphabetic)).then(|| (&name[..end], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(names: &[&str]) -> Vec<(String, String)> {
        let all = split_names(names.iter().copied());
        all.into_iter().map(|m| (m.key.base, m.shown)).collect()
    }

    #[test]
    fn marks_are_in_front_or_behind() {
        let found =
            split(&["AK_25_JawOpen", "SR_21_Jaw_Open", "jawOpen", "jawOpen_wide", "head|BS1.eyeBlink_L"]);
        let expected = [
            ("jawopen", "AK"),
            ("jawopen", "SR"),
            ("jawopen", ""),
            ("jawopenwide", ""),
            ("eyeblink", "head_BS"),
        ];
        assert_eq!(found, expected.map(|(key, mark)| (key.to_string(), mark.to_string())));
        let behind = ["jawOpen_FACS", "mouthSmileLeft_FACS", "eyeBlink_FACS_L", "cheekPuff_FACS"];
        assert!(split(&behind).iter().all(|(_, mark)| mark == "FACS"), "{:?}", split(&behind));
        let corrections = ["jawOpen_fix", "mouthSmileLeft_fix", "eyeBlinkLeft_fix", "cheekPuff_fix"];
        assert!(split(&corrections).iter().all(|(_, mark)| mark.is_empty()), "{:?}", split(&corrections));
    }

    #[test]
    fn a_combination_of_known_names_has_no_mark() {
        for name in ["AK_25_JawOpen_AK_30_MouthSmile_L", "mouthSmileLeft_jawOpen", "CORR_jawOpen_mouthPucker"]
        {
            assert_eq!(split_name(name, |_| false).mark, "", "{name}");
        }
    }
}
