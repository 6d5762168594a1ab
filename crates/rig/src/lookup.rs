//! Finds shapes and regions of a rig by the names that users type, in any spelling, with suggestions for
//! unknown names.

use crate::Rig;
use crate::classify::names::{find, nearest};

/// The shape called `name`, in any spelling.
pub fn find_shape(rig: &Rig, name: &str) -> Result<usize, UnknownName> {
    let names = rig.shapes.iter().map(|s| s.name.as_str());
    find(name, names.clone()).ok_or_else(|| unknown("shape", name, names))
}

/// The sliders whose names match `pattern`, in which `*` stands for any text and `?` for one character; case
/// does not count. At least one.
pub fn sliders_matching(rig: &Rig, pattern: &str) -> Result<Vec<usize>, UnknownName> {
    let names = rig.sliders.iter().map(|s| s.name.as_str());
    let wanted: Vec<char> = pattern.to_lowercase().chars().collect();
    let matches = |name: &str| glob(&wanted, &name.to_lowercase().chars().collect::<Vec<_>>());
    let found: Vec<usize> = names.clone().enumerate().filter(|(_, n)| matches(n)).map(|(i, _)| i).collect();
    if found.is_empty() { Err(unknown("slider that matches", pattern, names)) } else { Ok(found) }
}

/// Whether all of `text` matches `pattern`: after each `*`, the shortest text that lets the rest match.
fn glob(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*' {
            (p, t) = (p + 1, t + 1);
        } else if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (p, t) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// A name that the rig does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} '{name}'; {}", self.suggestion())]
pub struct UnknownName {
    /// What was searched for: a shape, a region ...
    pub what: String,
    /// The given name.
    pub name: String,
    /// Known names with similar spelling.
    pub near: Vec<String>,
    /// Some of the known names.
    pub known: Vec<String>,
    /// Number of known names.
    pub n_known: usize,
}

impl risorius_base::Advise for UnknownName {}

impl UnknownName {
    fn suggestion(&self) -> String {
        let some = self.known.join(", ");
        match (self.n_known, self.near.is_empty()) {
            (0, _) => "the rig has none".into(),
            (_, false) => format!("did you mean {}?", self.near.join(", ")),
            (n, true) if n <= self.known.len() => format!("there are {some}"),
            (n, true) => format!("there are {some} and {} more", n - self.known.len()),
        }
    }
}

/// The error for `name`, with the most similar known names, or else with some of the known names.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> UnknownName {
    const SHOWN: usize = 8;
    let known: Vec<&str> = known.into_iter().collect();
    let owned = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
    UnknownName {
        what: what.into(),
        name: name.into(),
        near: nearest(name, known.iter().copied()),
        known: owned(&known[..known.len().min(SHOWN)]),
        n_known: known.len(),
    }
}

/// The vertices of a region, a part, or of what a shape moves (`shape:NAME`).
pub fn region_vertices(rig: &Rig, name: &str) -> Result<Vec<u32>, UnknownName> {
    if let Some(region) = rig.regions.get(name) {
        return Ok(region.clone());
    }
    if let Some(part) = rig.parts.iter().find(|p| p.name == name) {
        return Ok(part.vertices.clone().map(|v| v as u32).collect());
    }
    if let Some(shape_name) = name.strip_prefix("shape:") {
        let shape = &rig.shapes[find_shape(rig, shape_name)?];
        let least = 0.1 * shape.deltas.max_length();
        return Ok(shape
            .deltas
            .vertices
            .iter()
            .zip(&shape.deltas.offsets)
            .filter(|(_, o)| glam::Vec3::from(**o).length() >= least)
            .map(|(&v, _)| v)
            .collect());
    }
    let known = rig.regions.keys().map(String::as_str).chain(rig.parts.iter().map(|p| p.name.as_str()));
    Err(unknown("region or part", name, known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slider;

    #[test]
    fn patterns_find_sliders() {
        let names = ["jawOpen", "jaw_L", "browDown_L", "browDown_R", "CORR_jawOpen", "a*b"];
        let slider = |name: &&str| Slider { name: (*name).into(), shape: 0, range: [0.0, 1.0] };
        let rig = Rig { sliders: names.iter().map(slider).collect(), ..Rig::default() };
        let found = |pattern: &str| sliders_matching(&rig, pattern).unwrap();
        assert_eq!(found("jaw*"), [0, 1]);
        assert_eq!(found("*JAW*"), [0, 1, 4]);
        assert_eq!(found("brow*_?"), [2, 3]);
        assert_eq!(found("*"), [0, 1, 2, 3, 4, 5]);
        assert_eq!(found("a*b"), [5]);
        assert_eq!(found("corr_*"), [4]);
        assert!(sliders_matching(&rig, "jaw?").unwrap_err().to_string().contains("'jaw?'"));
        let long: Vec<char> = "a".repeat(5000).chars().collect();
        assert!(!glob(&"*a*a*a*a*b".chars().collect::<Vec<_>>(), &long));
    }
}
