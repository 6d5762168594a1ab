//! Decides which shapes are sliders, in-betweens or combinations, from a table or from their names.
//!
//! Names that are recognized, if every slider that they refer to exists:
//! - `jawOpen50`, `jawOpen_50`, `jawOpen@0.5`: what `jawOpen` looks like at 0.5. Percent has two digits; a
//!   base with a one-digit sibling (`smile1`, `smile10`) is a numbered series, not in-betweens.
//! - `smile_L__jawOpen`, `smile_L+jawOpen`, of any number of sliders: a correction for both at once, by the
//!   product. A part may itself be an in-between (`smile_L50__jawOpen`).
//!
//! A table (from a sidecar file) takes precedence. It may also select the `lowest` rule, set slider limits,
//! or declare that a shape is a plain slider in spite of its name.

use crate::model::{CombinationRule, Driver, Role};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Roles given explicitly, by shape name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleTable {
    /// In-betweens: shape, slider, slider value.
    pub inbetweens: Vec<(String, String, f32)>,
    /// Combinations: shape, sliders (names, in-between names allowed), rule.
    pub combinations: Vec<(String, Vec<String>, CombinationRule)>,
    /// Shapes that are sliders regardless of their names.
    pub sliders: HashSet<String>,
    /// Lowest and highest value of sliders; 0 to 1 where not given.
    pub limits: BTreeMap<String, [f32; 2]>,
    /// Do not derive roles from names.
    pub ignore_names: bool,
}

/// What became of names and table entries, for the report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleNotes {
    /// Shapes taken for in-betweens, with slider and value.
    pub inbetweens: Vec<(String, String, f32)>,
    /// Shapes taken for combinations, with their sliders.
    pub combinations: Vec<(String, Vec<String>, CombinationRule)>,
    /// Entries that could not be used, and why.
    pub problems: Vec<String>,
}

/// Gives each shape its role. Also returns, per slider, its full shape.
pub fn resolve(names: &[&str], table: &RoleTable) -> (Vec<Role>, Vec<usize>, RoleNotes) {
    let mut notes = RoleNotes::default();
    let index: HashMap<&str, usize> = names.iter().enumerate().map(|(i, &n)| (n, i)).collect();
    let mut plans: Vec<Plan> = vec![Plan::Slider; names.len()];
    if !table.ignore_names {
        plan_by_names(names, &index, table, &mut plans);
    }
    plan_by_table(&index, table, &mut plans, &mut notes);
    demote_unusable(names, &mut plans, &mut notes);

    let slider_shapes: Vec<usize> = (0..names.len()).filter(|&s| plans[s] == Plan::Slider).collect();
    let mut slider_of_shape = vec![usize::MAX; names.len()];
    for (slider, &shape) in slider_shapes.iter().enumerate() {
        slider_of_shape[shape] = slider;
    }
    let roles = (0..names.len())
        .map(|s| match &plans[s] {
            Plan::Slider => Role::Slider(slider_of_shape[s]),
            Plan::Inbetween { of, at } => {
                notes.inbetweens.push((names[s].into(), names[*of].into(), *at));
                Role::Inbetween { slider: slider_of_shape[*of], at: *at }
            }
            Plan::Combination { of, rule } => {
                let drivers: Vec<Driver> = of
                    .iter()
                    .map(|&d| match &plans[d] {
                        Plan::Inbetween { of, at } => Driver { slider: slider_of_shape[*of], at: Some(*at) },
                        _ => Driver { slider: slider_of_shape[d], at: None },
                    })
                    .collect();
                notes.combinations.push((
                    names[s].into(),
                    of.iter().map(|&d| names[d].into()).collect(),
                    *rule,
                ));
                Role::Combination { drivers, rule: *rule }
            }
        })
        .collect();
    (roles, slider_shapes, notes)
}

/// A role in terms of shapes, before sliders are numbered.
#[derive(Debug, Clone, PartialEq)]
enum Plan {
    Slider,
    Inbetween { of: usize, at: f32 },
    Combination { of: Vec<usize>, rule: CombinationRule },
}

fn plan_by_names(names: &[&str], index: &HashMap<&str, usize>, table: &RoleTable, plans: &mut [Plan]) {
    let numbered_series: HashSet<&str> = names.iter().filter_map(|n| one_digit_base(n)).collect();
    for (s, name) in names.iter().enumerate() {
        if table.sliders.contains(*name) {
            continue;
        }
        // Combinations first: `smile__jawOpen50` combines with an in-between; it is not an in-between of a
        // combination.
        let combination = ["__", "+"].iter().find_map(|separator| {
            let pieces: Vec<&str> = name.split(separator).collect();
            let of: Option<Vec<usize>> = pieces.iter().map(|p| index.get(p).copied()).collect();
            of.filter(|of| of.len() >= 2)
        });
        if let Some(of) = combination {
            plans[s] = Plan::Combination { of, rule: CombinationRule::Multiply };
        } else if let Some((base, at)) = inbetween_name(name)
            && let Some(&of) = index.get(base)
            && !numbered_series.contains(base)
        {
            plans[s] = Plan::Inbetween { of, at };
        }
    }
}

/// `jawOpen50`, `jawOpen_50`, `jawOpen@0.5` as base and value.
fn inbetween_name(name: &str) -> Option<(&str, f32)> {
    if let Some((base, value)) = name.split_once('@') {
        let at: f32 = value.parse().ok()?;
        return (at > 0.0 && at < 1.0 && !base.is_empty()).then_some((base, at));
    }
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[base.len()..];
    let percent: u32 = digits.parse().ok()?;
    let base = base.strip_suffix('_').unwrap_or(base);
    (digits.len() == 2 && percent > 0 && !base.is_empty()).then_some((base, percent as f32 / 100.0))
}

/// The base of `smile1`, where the number has one digit.
fn one_digit_base(name: &str) -> Option<&str> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (name.len() - base.len() == 1).then(|| base.strip_suffix('_').unwrap_or(base))
}

fn plan_by_table(index: &HashMap<&str, usize>, table: &RoleTable, plans: &mut [Plan], notes: &mut RoleNotes) {
    let mut find = |name: &str, what: &str| {
        let found = index.get(name).copied();
        if found.is_none() {
            notes.problems.push(format!("{what}: the rig has no shape '{name}'; the entry is left out"));
        }
        found
    };
    for (shape, slider, at) in &table.inbetweens {
        if let (Some(s), Some(of)) = (find(shape, "in-between"), find(slider, "in-between")) {
            plans[s] = Plan::Inbetween { of, at: *at };
        }
    }
    for (shape, drivers, rule) in &table.combinations {
        let of: Option<Vec<usize>> = drivers.iter().map(|d| find(d, "combination")).collect();
        if let (Some(s), Some(of)) = (find(shape, "combination"), of) {
            plans[s] = Plan::Combination { of, rule: *rule };
        }
    }
    for name in table.limits.keys() {
        find(name, "limits");
    }
}

/// Turns plans that refer to themselves, to combinations or to too few sliders back into sliders, and adds a
/// note.
fn demote_unusable(names: &[&str], plans: &mut [Plan], notes: &mut RoleNotes) {
    let mut taken: HashSet<(usize, u32)> = HashSet::new();
    for s in 0..plans.len() {
        let usable = match &plans[s] {
            Plan::Slider => true,
            Plan::Inbetween { of, at } => {
                let between = *at > 0.0 && *at < 1.0;
                between && *of != s && plans[*of] == Plan::Slider && taken.insert((*of, at.to_bits()))
            }
            Plan::Combination { of, .. } => {
                let mut bases: Vec<usize> = of
                    .iter()
                    .map(|&d| match plans[d] {
                        Plan::Inbetween { of, .. } => of,
                        _ => d,
                    })
                    .collect();
                bases.sort_unstable();
                bases.dedup();
                bases.len() >= 2
                    && bases.len() == of.len()
                    && bases.iter().all(|&b| b != s && plans[b] == Plan::Slider)
            }
        };
        if !usable {
            notes.problems.push(format!(
                "'{}' is not a usable in-between or combination (an in-between needs a slider and a value of its own between 0 and 1; \
                 a combination needs two or more different sliders); it is kept as a slider",
                names[s]
            ));
            plans[s] = Plan::Slider;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_inbetweens_and_combinations() {
        let names =
            ["jawOpen", "smile_L", "jawOpen50", "smile_L__jawOpen", "jawOpen@0.25", "smile_L__jawOpen50"];
        let (roles, sliders, notes) = resolve(&names, &RoleTable::default());
        assert_eq!(sliders, [0, 1]);
        assert_eq!(roles[2], Role::Inbetween { slider: 0, at: 0.5 });
        assert_eq!(roles[4], Role::Inbetween { slider: 0, at: 0.25 });
        assert_eq!(
            roles[5],
            Role::Combination {
                drivers: vec![Driver { slider: 1, at: None }, Driver { slider: 0, at: Some(0.5) }],
                rule: CombinationRule::Multiply
            }
        );
        assert!(notes.problems.is_empty());
    }

    #[test]
    fn numbered_series_and_unknown_bases_stay_sliders() {
        let names = ["smile", "smile1", "smile2", "smile10", "identity000", "identity012", "a__b"];
        let (_, sliders, _) = resolve(&names, &RoleTable::default());
        assert_eq!(sliders.len(), names.len());
    }

    #[test]
    fn table_overrides_and_reports() {
        let names = ["a", "b", "fix", "a50"];
        let table = RoleTable {
            combinations: vec![
                ("fix".into(), vec!["a".into(), "b".into()], CombinationRule::Lowest),
                ("gone".into(), vec!["a".into(), "b".into()], CombinationRule::Lowest),
            ],
            sliders: ["a50".to_string()].into(),
            ..RoleTable::default()
        };
        let (roles, sliders, notes) = resolve(&names, &table);
        assert_eq!(sliders, [0, 1, 3]);
        assert!(matches!(&roles[2], Role::Combination { rule: CombinationRule::Lowest, .. }));
        assert_eq!(notes.problems.len(), 1);
        let circular = RoleTable { inbetweens: vec![("a".into(), "a".into(), 0.5)], ..RoleTable::default() };
        let (_, sliders, notes) = resolve(&names, &circular);
        assert!(sliders.contains(&0) && !notes.problems.is_empty());
    }
}
