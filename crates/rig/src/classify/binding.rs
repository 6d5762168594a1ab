//! Which columns of a clip, or names given by hand, drive which sliders of a rig.
//!
//! A name drives, in this order: the slider of exactly this name and no other; the slider with the same
//! letters and digits; the slider with the same [`Key`] (see [`super::names`]). A name without a side drives
//! the two halves where there is no whole: `browInnerUp` drives `browInnerUp_L` and `browInnerUp_R`; the mean
//! of the two halves drives a whole that has none of its own.
//!
//! Several sliders with one key are either pieces of one motion, each on its own vertices (`head.jawOpen` and
//! `teeth.jawOpen`), and all of them are driven; or they move the same vertices: twins. Driving twins
//! together would open the jaw twice. Twins of different sets (see [`super::sets`]) make their sets rivals.
//! Of rival sets one is bound: the one that is asked for, or the one in which most columns find a slider.
//! Sliders of the others stay at rest unless a name says their set. Of twins in one set the first is driven.

use super::correctives::is_corrective_word;
use super::names::{Key, plain_key};
use super::sets::{Marked, letters, split_name, split_names};
use crate::Rig;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// Sets that are compared for one key; with more, all are taken for rivals.
const MAX_COMPARED: usize = 32;

/// How names are bound to sliders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The set of sliders to drive, by its mark (`AK` for `AK_25_JawOpen`); by default the one that covers
    /// most of the names.
    pub set: Option<&'a str>,
    /// Names are given by hand: the full name of a slider means it, also if its set is not the one bound.
    pub by_hand: bool,
}

/// How the columns of a clip drive the sliders of a rig.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NameMap {
    /// Column, slider, factor; ascending by slider.
    pub links: Vec<(usize, usize, f32)>,
    /// Columns that drive nothing.
    pub unmatched_columns: Vec<usize>,
    /// Sliders that nothing drives.
    pub unmatched_sliders: Vec<usize>,
    /// The bound set, where there was a choice; empty for that of names without a mark.
    pub set: Option<String>,
    /// Its rivals, and how many of their sliders are left at rest.
    pub other_sets: Vec<(String, usize)>,
    /// Sliders that are left at rest because they move what another slider of the bound set moves, which is
    /// driven.
    pub twins: Vec<(usize, usize)>,
}

/// A set that the rig does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rig has no set of shapes called '{name}'; {}", self.known())]
pub struct UnknownSet {
    /// The given name.
    pub name: String,
    /// The sets of the rig, with their numbers of sliders.
    pub sets: Vec<(String, usize)>,
}

impl risorius_base::Advise for UnknownSet {
    fn options(&self) -> &'static [&'static str] {
        &["set"]
    }
}

impl UnknownSet {
    fn known(&self) -> String {
        let named: Vec<String> = (self.sets.iter().take(12))
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, n)| format!("{name} ({n} sliders)"))
            .collect();
        match named.is_empty() {
            true => "its names have no marks of sets".into(),
            false => format!("there are {}", named.join(", ")),
        }
    }
}

/// Binds `columns` to the sliders of `rig`.
pub fn bind_names(columns: &[String], rig: &Rig, binding: &Binding) -> Result<NameMap, UnknownSet> {
    let sliders: Vec<&str> = rig.sliders.iter().map(|s| s.name.as_str()).collect();
    let overlap = |a: usize, b: usize| overlap(rig, a, b);
    Ok(Binder::new(columns, &sliders, binding, &overlap)?.bind())
}

/// Whether two sliders move the same vertices: those that either moves visibly, a tenth of the fewer.
fn overlap(rig: &Rig, a: usize, b: usize) -> bool {
    const VISIBLE: f32 = 0.05;
    let moved = |slider: usize| -> Vec<u32> {
        let deltas = &rig.shapes[rig.sliders[slider].shape].deltas;
        let least = VISIBLE * deltas.max_length();
        let long = deltas.vertices.iter().zip(&deltas.offsets);
        long.filter(|(_, o)| glam::Vec3::from(**o).length() > least).map(|(&v, _)| v).collect()
    };
    let (a, b) = (moved(a), moved(b));
    let shared = a.iter().filter(|v| b.binary_search(v).is_ok()).count();
    shared > 0 && 10 * shared >= a.len().min(b.len())
}

/// A set of sliders.
struct Set {
    mark: String,
    shown: String,
    sliders: Vec<usize>,
}

/// Names and sliders, taken apart.
struct Binder<'a> {
    names: &'a [String],
    by_hand: bool,
    overlap: &'a dyn Fn(usize, usize) -> bool,
    columns: Vec<Marked>,
    sliders: Vec<Marked>,
    /// Names of sliders without case and separators.
    plain: Vec<Key>,
    /// The column of exactly this name, for each slider.
    exact: Vec<Option<usize>>,
    /// The slider of exactly this name, for each column.
    namesake: Vec<Option<usize>>,
    /// The set that the mark of each column says.
    said: Vec<Option<usize>>,
    by_base: HashMap<String, Vec<usize>>,
    sets: Vec<Set>,
    set_of: Vec<usize>,
    /// The set that was asked for.
    asked: Option<usize>,
}

/// What is bound so far.
struct Bound {
    /// Whether the sliders of each set are driven by names without a mark.
    open: Vec<bool>,
    map: NameMap,
    driven: Vec<bool>,
    used: Vec<bool>,
}

impl<'a> Binder<'a> {
    fn new(
        names: &'a [String],
        sliders: &[&str],
        binding: &Binding,
        overlap: &'a dyn Fn(usize, usize) -> bool,
    ) -> Result<Self, UnknownSet> {
        let marked = split_names(sliders.iter().copied());
        let mut sets: Vec<Set> = Vec::new();
        let mut of_mark: HashMap<&str, usize> = HashMap::new();
        let mut by_base: HashMap<String, Vec<usize>> = HashMap::new();
        let mut set_of = Vec::with_capacity(marked.len());
        for (s, name) in marked.iter().enumerate() {
            let set = *of_mark.entry(&name.mark).or_insert_with(|| {
                sets.push(Set { mark: name.mark.clone(), shown: name.shown.clone(), sliders: Vec::new() });
                sets.len() - 1
            });
            sets[set].sliders.push(s);
            set_of.push(set);
            for base in [Some(&name.key), name.inner.as_ref()].into_iter().flatten().map(|k| &k.base) {
                by_base.entry(base.clone()).or_default().push(s);
            }
        }
        let column_of: HashMap<&str, usize> =
            names.iter().enumerate().rev().map(|(c, name)| (name.as_str(), c)).collect();
        let slider_of: HashMap<&str, usize> =
            sliders.iter().enumerate().rev().map(|(s, name)| (*name, s)).collect();
        let columns: Vec<Marked> =
            names.iter().map(|name| split_name(name, |m| of_mark.contains_key(m))).collect();
        let said = |c: &Marked| of_mark.get(c.mark.as_str()).copied().filter(|_| !c.mark.is_empty());
        Ok(Self {
            by_hand: binding.by_hand,
            overlap,
            namesake: names.iter().map(|name| slider_of.get(name.as_str()).copied()).collect(),
            said: columns.iter().map(said).collect(),
            columns,
            plain: sliders.iter().map(|s| plain_key(s)).collect(),
            exact: sliders.iter().map(|s| column_of.get(s).copied()).collect(),
            asked: binding.set.map(|name| asked_set(&sets, name)).transpose()?,
            names,
            by_base,
            sets,
            set_of,
            sliders: marked,
        })
    }

    fn bind(&self) -> NameMap {
        let (open, map) = self.choose_sets();
        let (driven, used) = (vec![false; self.sliders.len()], vec![false; self.names.len()]);
        let mut bound = Bound { open, map, driven, used };
        // Names without a mark come first where several could drive one slider.
        let (bare, prefixed): (Vec<usize>, Vec<usize>) =
            (0..self.names.len()).partition(|&c| self.columns[c].mark.is_empty());
        let order: Vec<usize> = bare.into_iter().chain(prefixed).collect();
        for &c in &order {
            let found = self.same_key(c, &bound);
            self.drive(c, &found, &mut bound);
        }
        for &c in order.iter().filter(|&&c| self.columns[c].key.side.is_none()) {
            if !bound.used[c] {
                let found = self.fitting(c, &bound, |column, slider| column.side != slider.side);
                self.drive(c, &found, &mut bound);
            }
        }
        self.drive_wholes(&order, &mut bound);
        let Bound { mut map, driven, used, .. } = bound;
        map.links.sort_by_key(|l| (l.1, l.0));
        map.unmatched_columns = (0..used.len()).filter(|&c| !used[c]).collect();
        map.unmatched_sliders = (0..driven.len()).filter(|&s| !driven[s]).collect();
        map.twins.retain(|&(twin, _)| !driven[twin]);
        map
    }

    /// Sliders that column `c` may drive and whose keys `fit`, those of the same spelling first.
    fn fitting(&self, c: usize, bound: &Bound, fit: impl Fn(&Key, &Key) -> bool) -> Vec<usize> {
        let said = self.said[c];
        let may = |s: usize| match said {
            Some(set) => self.set_of[s] == set,
            None => bound.open[self.set_of[s]],
        };
        let column = &self.columns[c];
        let fits = |s: usize| {
            let slider = &self.sliders[s];
            let whole = column.key.base == slider.key.base && fit(&column.key, &slider.key);
            // What follows a mark in front of a name that is not ARKit's counts only if the set was said.
            let inner =
                slider.inner.as_ref().filter(|_| said.is_some() || self.asked == Some(self.set_of[s]));
            let part = column.inner.as_ref().unwrap_or(&column.key);
            whole || inner.is_some_and(|inner| part.base == inner.base && fit(part, inner))
        };
        let bases = [Some(&column.key), column.inner.as_ref()].into_iter().flatten();
        let near = bases.filter_map(|key| self.by_base.get(&key.base)).flatten().copied();
        let mut found: Vec<usize> = near.filter(|&s| may(s) && fits(s)).collect();
        let plain = plain_key(&self.names[c]);
        let rank =
            |s: usize| if self.exact[s] == Some(c) { 0 } else { 1 + usize::from(self.plain[s] != plain) };
        found.sort_by_key(|&s| (rank(s), s));
        found.dedup();
        found
    }

    /// Sliders that mean the same as column `c`.
    fn same_key(&self, c: usize, bound: &Bound) -> Vec<usize> {
        let found = self.fitting(c, bound, |column, slider| column == slider);
        match self.namesake[c] {
            // The full name means that slider alone.
            Some(s) if self.by_hand || !self.columns[c].mark.is_empty() || found.is_empty() => vec![s],
            None if self.by_hand => {
                let plain = plain_key(&self.names[c]);
                let same = (0..self.plain.len()).find(|&s| self.plain[s] == plain);
                same.map_or(found, |s| vec![s])
            }
            _ => found,
        }
    }

    /// Lets column `c` drive the sliders `found` that are free, except twins of each other.
    fn drive(&self, c: usize, found: &[usize], bound: &mut Bound) {
        let mut kept: Vec<usize> = Vec::new();
        for &s in found {
            let taken = bound.driven[s] || self.exact[s].is_some_and(|e| e != c);
            if taken {
                continue;
            }
            let side = self.sliders[s].key.side;
            match kept.iter().find(|&&k| self.sliders[k].key.side == side && (self.overlap)(k, s)) {
                Some(&twin) => bound.map.twins.push((s, twin)),
                None => kept.push(s),
            }
        }
        for s in kept {
            bound.map.links.push((c, s, 1.0));
            (bound.driven[s], bound.used[c]) = (true, true);
        }
    }

    /// Wholes that no column drives follow the mean of their halves.
    fn drive_wholes(&self, order: &[usize], bound: &mut Bound) {
        let mut halves: Vec<(usize, usize)> = Vec::new();
        for &c in order.iter().filter(|&&c| !bound.used[c] && self.columns[c].key.side.is_some()) {
            let fit = |column: &Key, slider: &Key| slider.side.is_none() && !is_direction(&column.base);
            let found = self.fitting(c, bound, fit).into_iter().find(|&s| !bound.driven[s]);
            let side = self.columns[c].key.side;
            let is_new =
                |s: &usize| !halves.iter().any(|&(d, t)| t == *s && self.columns[d].key.side == side);
            halves.extend(found.filter(is_new).map(|s| (c, s)));
        }
        for (c, s) in halves {
            bound.map.links.push((c, s, 0.5));
            (bound.driven[s], bound.used[c]) = (true, true);
        }
    }

    /// Whether names without a mark may drive each set, and what the map says about sets.
    fn choose_sets(&self) -> (Vec<bool>, NameMap) {
        let mut bases: Vec<&str> = self.columns.iter().map(|c| c.key.base.as_str()).collect();
        bases.sort_unstable();
        bases.dedup();
        let (rivals, covered) = (self.rivals(&bases), self.coverage());
        let is_driven = |set: usize| is_corrective_word(&self.sets[set].mark);
        let mut order: Vec<usize> = (0..self.sets.len()).filter(|&set| !is_driven(set)).collect();
        order.sort_by_key(|&set| (Reverse(covered[set]), Reverse(self.sets[set].sliders.len()), set));
        let mut open = vec![false; self.sets.len()];
        match self.asked {
            Some(asked) => open[asked] = true,
            None => order.iter().for_each(|&set| open[set] = !rivals[set].iter().any(|&r| open[r])),
        }
        let clashes = |set: usize| rivals[set].iter().any(|&r| open[r]);
        // Correctives are no set to choose.
        let is_closed = |&set: &usize| {
            let could = !open[set] && covered[set] > 0 && !is_driven(set);
            could && (self.asked.is_some() || clashes(set))
        };
        let closed: Vec<usize> = (0..self.sets.len()).filter(is_closed).collect();
        let has_rival = |&&set: &&usize| open[set] && rivals[set].iter().any(|r| closed.contains(r));
        let bound = self.asked.or_else(|| order.iter().find(has_rival).copied());
        let at_rest = |set: usize| {
            let near = |&&s: &&usize| bases.binary_search(&self.sliders[s].key.base.as_str()).is_ok();
            self.sets[set].sliders.iter().filter(near).count()
        };
        let map = NameMap {
            set: bound.map(|set| self.sets[set].shown.clone()),
            other_sets: closed.iter().map(|&set| (self.sets[set].shown.clone(), at_rest(set))).collect(),
            ..NameMap::default()
        };
        (open, map)
    }

    /// How many columns find a slider in each set.
    fn coverage(&self) -> Vec<usize> {
        let mut covered = vec![0; self.sets.len()];
        for (c, column) in self.columns.iter().enumerate() {
            let said = self.said[c];
            let near = self.by_base.get(&column.key.base).into_iter().flatten();
            let fits = near.filter(|&&s| compatible(&column.key, &self.sliders[s].key));
            let sets: BTreeSet<usize> = fits.map(|&s| self.set_of[s]).collect();
            sets.iter()
                .filter(|&&set| said.is_none_or(|said| said == set))
                .for_each(|&set| covered[set] += 1);
        }
        covered
    }

    /// For each set, the others that have sliders for the same motion of the same vertices.
    fn rivals(&self, bases: &[&str]) -> Vec<BTreeSet<usize>> {
        let mut rivals = vec![BTreeSet::new(); self.sets.len()];
        for base in bases {
            let sliders = self.by_base.get(*base).map_or(&[][..], Vec::as_slice);
            let n_sets = sliders.iter().map(|&s| self.set_of[s]).collect::<BTreeSet<_>>().len();
            for (i, &a) in sliders.iter().enumerate() {
                for &b in sliders[i + 1..].iter().take(4 * MAX_COMPARED) {
                    let (here, there) = (self.set_of[a], self.set_of[b]);
                    let keys = compatible(&self.sliders[a].key, &self.sliders[b].key);
                    let met = here == there || !keys || rivals[here].contains(&there);
                    if !met && (n_sets > MAX_COMPARED || (self.overlap)(a, b)) {
                        rivals[here].insert(there);
                        rivals[there].insert(here);
                    }
                }
            }
        }
        rivals
    }
}

/// Whether two keys are the same motion, of the same side or of the whole.
fn compatible(a: &Key, b: &Key) -> bool {
    let sides = a.side == b.side || (!is_direction(&a.base) && (a.side.is_none() || b.side.is_none()));
    a.base == b.base && sides
}

/// jawLeft and mouthRight are directions, not halves of a whole.
fn is_direction(base: &str) -> bool {
    base == "jaw" || base == "mouth"
}

/// The set called `name`: by its whole mark or by the beginning of one.
fn asked_set(sets: &[Set], name: &str) -> Result<usize, UnknownSet> {
    let wanted = letters(name);
    let begins: Vec<usize> = (0..sets.len()).filter(|&s| sets[s].mark.starts_with(&wanted)).collect();
    let exact = sets.iter().position(|set| set.mark == wanted);
    match (exact, &begins[..]) {
        (Some(set), _) => Ok(set),
        (None, &[only]) => Ok(only),
        _ => {
            let sets = sets.iter().map(|set| (set.shown.clone(), set.sliders.len())).collect();
            Err(UnknownSet { name: name.into(), sets })
        }
    }
}

#[cfg(test)]
mod tests;
