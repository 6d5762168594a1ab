//! The columns of a table that give the motion of the head.
//!
//! Positions: `px py pz`, `tx ..`, `pos_x ..`, `head_tx ..` and the like, with their unit behind them
//! (`px_m`, `head_tx_cm`), or without; rotations: `qx qy qz qw`, `head_qx ..`, `quat_x ..`. Without a unit,
//! positions need that of the options; only `head_tx ..`, as we write it, is in meters then. Names that other
//! tables use for sliders (`x`, `tx`) count only beside a rotation.

use super::columns::{Columns, Use};

const ANGLES: [&str; 3] = ["HeadYaw", "HeadPitch", "HeadRoll"];

/// Where the unit of head positions comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeadUnit {
    /// There are no positions, or the file states their unit.
    #[default]
    Stated,
    /// The caller gave it.
    Given,
    /// Nobody gave it; meters are assumed.
    Assumed,
}

/// What is wrong with the columns of a head.
pub(super) enum HeadProblem {
    /// A column is missing.
    Missing(String),
    /// Positions have no unit.
    NoUnit(String),
}

/// A column that gives one coordinate of the position.
struct Position {
    column: usize,
    meters: Option<f64>,
    /// Its name says that it belongs to the head.
    is_certain: bool,
    /// Its name is the one that we write.
    is_ours: bool,
}

/// Finds the head, and assigns its columns their use. A quaternion takes precedence over angles.
pub(super) fn mark(columns: &mut Columns, given: Option<f64>) -> Result<(), HeadProblem> {
    let free: Vec<bool> = columns.uses.iter().map(|u| *u == Use::Shape).collect();
    let header = columns.header.clone();
    let names = || header.iter().enumerate().filter(|(i, _)| free[*i]);
    let first =
        |axis: usize| names().find_map(|(i, name)| position(name, i).filter(|p| p.0 == axis)).map(|p| p.1);
    let positions: [Option<Position>; 3] = [first(0), first(1), first(2)];
    let turn = |axis: usize| names().find(|(_, name)| quaternion(name) == Some(axis)).map(|(i, _)| i);
    let turns: [Option<usize>; 4] = [turn(0), turn(1), turn(2), turn(3)];
    let angles = ANGLES.map(|name| names().find(|(_, h)| h.eq_ignore_ascii_case(name)).map(|(i, _)| i));
    let has_turns = complete(&turns, &header, &["qx", "qy", "qz", "qw"])?;
    let has_angles = complete(&angles, &header, &ANGLES)?;
    let certain = positions.iter().flatten().any(|p| p.is_certain);
    if has_turns || has_angles || certain {
        let columns_of = [0, 1, 2].map(|k| positions[k].as_ref().map(|p| p.column));
        if complete(&columns_of, &header, &["px_m", "py_m", "pz_m"])? {
            if !has_turns && !has_angles {
                let first = &header[columns_of[0].unwrap_or_default()];
                return Err(missing(first, "qx"));
            }
            mark_positions(columns, &positions, given)?;
        }
    }
    if has_turns {
        turns.iter().flatten().enumerate().for_each(|(k, &i)| columns.uses[i] = Use::HeadMove(3 + k, 1.0));
        columns.has_head_turns = true;
    }
    if has_angles {
        angles.iter().flatten().enumerate().for_each(|(k, &i)| columns.uses[i] = Use::HeadAngle(k));
        columns.has_head_angles = !has_turns;
        if has_turns {
            columns.notes.push("the head is also given as angles, which are not used".into());
        }
    }
    Ok(())
}

fn mark_positions(
    columns: &mut Columns,
    positions: &[Option<Position>; 3],
    given: Option<f64>,
) -> Result<(), HeadProblem> {
    for (k, position) in positions.iter().flatten().enumerate() {
        let name = &columns.header[position.column];
        let meters = match (position.meters, given) {
            (Some(stated), _) => stated,
            (None, Some(given)) => {
                columns.head_unit = HeadUnit::Given;
                given
            }
            (None, None) if position.is_ours => {
                columns.head_unit = HeadUnit::Assumed;
                1.0
            }
            (None, None) => return Err(HeadProblem::NoUnit(name.clone())),
        };
        if position.meters.is_some() && given.is_some() && k == 0 {
            let note = format!("column '{name}' states its unit, so `head_unit` is not used");
            columns.notes.push(note);
        }
        columns.uses[position.column] = Use::HeadMove(k, meters);
    }
    columns.has_head_positions = true;
    Ok(())
}

/// Whether all of `found` are there; an error if only some are. `names` are for the message.
fn complete(found: &[Option<usize>], header: &[String], names: &[&str]) -> Result<bool, HeadProblem> {
    let Some(present) = found.iter().flatten().next() else { return Ok(false) };
    match found.iter().position(Option::is_none) {
        None => Ok(true),
        Some(at) => Err(missing(&header[*present], &like(&header[*present], names[at]))),
    }
}

/// `name` with the prefix of `present`: head_qx misses head_qw.
fn like(present: &str, name: &str) -> String {
    match present.to_lowercase().strip_prefix("head_") {
        Some(_) if !name.to_lowercase().starts_with("head") => format!("head_{name}"),
        _ => name.into(),
    }
}

fn missing(present: &str, name: &str) -> HeadProblem {
    HeadProblem::Missing(format!("there is a column '{present}' but none called '{name}'; add it"))
}

/// The axis and unit of a column of positions.
fn position(name: &str, column: usize) -> Option<(usize, Position)> {
    const STEMS: [&str; 9] =
        ["", "p", "t", "pos", "position", "trans", "translate", "translation", "location"];
    let (name, unit) = split_unit(name);
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let of_head = letters.strip_prefix("head");
    let rest = of_head.unwrap_or(&letters);
    let axis = "xyz".find(rest.chars().next_back()?)?;
    let stem = &rest[..rest.len() - 1];
    let is_known = STEMS.contains(&stem);
    let is_ours = of_head.is_some() && stem == "t";
    let is_certain = of_head.is_some() || unit.is_some();
    is_known.then_some((axis, Position { column, meters: unit, is_certain, is_ours }))
}

/// `px_cm`, `px (cm)`, `px[cm]`: the name and the unit in meters.
fn split_unit(name: &str) -> (&str, Option<f64>) {
    let trimmed = name.trim_end_matches([')', ']']);
    let Some(at) = trimmed.rfind(['_', '(', '[', ' ', '.']) else { return (name, None) };
    let unit = trimmed[at + 1..].to_lowercase();
    let is_number = unit.parse::<f64>().is_ok();
    match risorius_base::space::parse_unit(&unit) {
        Ok(meters) if !is_number => (&name[..at], Some(meters)),
        _ => (name, None),
    }
}

/// Which component of a quaternion a column is.
fn quaternion(name: &str) -> Option<usize> {
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let rest = letters.strip_prefix("head").unwrap_or(&letters);
    let axis = "xyzw".find(rest.chars().next_back()?)?;
    ["q", "quat", "quaternion"].contains(&&rest[..rest.len() - 1]).then_some(axis)
}
