//! The meaning of the columns of a clip table, from its header.

use super::{ClipOptions, FORMAT, finite};
use crate::IoError;
use crate::formats::text::text;
use std::borrow::Cow;
use std::collections::HashMap;

/// Head motion as we write it.
pub(super) const HEAD_MOVE: [&str; 7] =
    ["head_tx", "head_ty", "head_tz", "head_qx", "head_qy", "head_qz", "head_qw"];
/// Head motion in meters, as head files have it.
pub(super) const HEAD_METERS: [&str; 7] = ["px_m", "py_m", "pz_m", "qx", "qy", "qz", "qw"];
const HEAD_ANGLES: [&str; 3] = ["HeadYaw", "HeadPitch", "HeadRoll"];
/// Eye angles, left then right.
pub(super) const EYES: [&str; 6] =
    ["LeftEyeYaw", "LeftEyePitch", "LeftEyeRoll", "RightEyeYaw", "RightEyePitch", "RightEyeRoll"];

/// What a column gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Use {
    /// The next slider.
    Shape,
    /// Component 0-2 of the position or 3-6 of the quaternion, and its factor to meters.
    HeadMove(usize, f64),
    /// Yaw, pitch or roll.
    HeadAngle(usize),
    /// Left or right, and yaw, pitch or roll.
    Eye(usize, usize),
    /// Time, count, or a column that another one replaces.
    Nothing,
}

/// The parsed header.
#[derive(Debug)]
pub(super) struct Columns {
    header: Vec<String>,
    pub uses: Vec<Use>,
    /// Names of the sliders.
    pub names: Vec<String>,
    pub time: usize,
    pub is_timecode: bool,
    pub is_frame: bool,
    pub count: Option<usize>,
    pub has_head_move: bool,
    pub has_head_angles: bool,
    pub has_eyes: bool,
    pub notes: Vec<String>,
}

impl Columns {
    /// The finite number in `cell` of column `column`.
    pub fn value<T: std::str::FromStr + Into<f64> + Copy>(
        &self,
        line: usize,
        column: usize,
        cell: &[u8],
    ) -> Result<T, IoError> {
        finite(cell).map_err(|problem| self.malformed(line, column, &problem))
    }

    /// An error at a cell.
    pub fn malformed(&self, line: usize, column: usize, problem: &str) -> IoError {
        let name = self.header.get(column).map_or("", String::as_str);
        IoError::malformed(FORMAT, format!("line {line}, column '{name}'"), problem)
    }
}

/// Reads the header on `line`.
pub(super) fn classify(line: usize, cells: &[Cow<[u8]>], options: &ClipOptions) -> Result<Columns, IoError> {
    let malformed = |problem: String| IoError::malformed(FORMAT, format!("line {line}"), problem);
    let header = unique_names(cells).map_err(malformed)?;
    let find = |name: &str| header.iter().position(|h| h.eq_ignore_ascii_case(name));
    let time = ["timecode", "time_s", "time", "t", "frame"].iter().find_map(|name| find(name));
    let Some(time) = time else {
        let shown: Vec<&str> = header.iter().take(3).map(String::as_str).collect();
        let start = crate::formats::text::excerpt(shown.join(", ").as_bytes());
        return Err(malformed(format!(
            "no column of the header ('{start}') is a time; give one of Timecode, time_s, time, t or frame"
        )));
    };
    let is_frame = header[time].eq_ignore_ascii_case("frame");
    check_options(line, is_frame, options)?;
    let mut columns = Columns {
        uses: vec![Use::Shape; header.len()],
        names: Vec::new(),
        time,
        is_timecode: header[time].eq_ignore_ascii_case("timecode"),
        is_frame,
        count: find("BlendShapeCount"),
        has_head_move: false,
        has_head_angles: false,
        has_eyes: false,
        notes: Vec::new(),
        header,
    };
    columns.uses[time] = Use::Nothing;
    // A table may give time in several ways; unused time columns are not sliders either.
    for name in ["timecode", "time_s", "time", "frame", "BlendShapeCount"] {
        if let Some(i) = columns.header.iter().position(|h| h.eq_ignore_ascii_case(name)) {
            columns.uses[i] = Use::Nothing;
        }
    }
    mark_head(&mut columns, options).map_err(malformed)?;
    columns.has_eyes = columns.mark(&EYES, |i| Use::Eye(i / 3, i % 3)).map_err(malformed)?;
    columns.names = (columns.header.iter().zip(&columns.uses))
        .filter(|(_, column)| **column == Use::Shape)
        .map(|(name, _)| name.clone())
        .collect();
    if columns.names.is_empty() {
        columns.notes.push("the table has no slider columns".into());
    }
    Ok(columns)
}

/// The header's names, each once. Empty columns at its end (a trailing separator) are not columns.
fn unique_names(cells: &[Cow<[u8]>]) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = cells.iter().map(|c| text(c).into_owned()).collect();
    while names.last().is_some_and(String::is_empty) {
        names.pop();
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("column {} of the header has no name", i + 1));
        }
        if let Some(first) = seen.insert(name, i) {
            return Err(format!("columns {} and {} are both called '{name}'; rename one", first + 1, i + 1));
        }
    }
    Ok(names)
}

fn check_options(line: usize, is_frame: bool, options: &ClipOptions) -> Result<(), IoError> {
    let place = format!("line {line}");
    if is_frame && options.fps.is_none() {
        let problem = "time is given as frame numbers; give the frame rate";
        return Err(IoError::malformed(FORMAT, place, problem));
    }
    if let Some(fps) = options.fps.filter(|fps| !(*fps > 0.0 && *fps <= 100_000.0)) {
        return Err(risorius_rig::clip::ClipError::BadRate { fps }.into());
    }
    if !(options.head_meters_per_unit > 0.0 && options.head_meters_per_unit.is_finite()) {
        let problem = format!("a head unit of {} meters is not possible", options.head_meters_per_unit);
        return Err(IoError::malformed(FORMAT, place, problem));
    }
    Ok(())
}

/// Finds the head in one of its three forms; the form with positions and a quaternion takes precedence.
fn mark_head(columns: &mut Columns, options: &ClipOptions) -> Result<(), String> {
    let scale = options.head_meters_per_unit;
    let in_units = columns.mark(&HEAD_MOVE, |i| Use::HeadMove(i, if i < 3 { scale } else { 1.0 }))?;
    let in_meters = !in_units && columns.mark(&HEAD_METERS, |i| Use::HeadMove(i, 1.0))?;
    columns.has_head_move = in_units || in_meters;
    if columns.mark(&HEAD_ANGLES, Use::HeadAngle)? {
        if columns.has_head_move {
            columns.notes.push("the head is also given as angles, which are not used".into());
        } else {
            columns.has_head_angles = true;
        }
    }
    Ok(())
}

impl Columns {
    /// Assigns the columns `names` their use; false when none is present, an error when only some are.
    fn mark(&mut self, names: &[&str], column_use: impl Fn(usize) -> Use) -> Result<bool, String> {
        let found: Vec<Option<usize>> =
            names.iter().map(|n| self.header.iter().position(|h| h.eq_ignore_ascii_case(n))).collect();
        // The position may be left out as a whole if the head only rotates, but not a single component.
        let position_free = names.len() == 7 && found[..3].iter().all(Option::is_none);
        let needed = if position_free { &found[3..] } else { &found[..] };
        if found.iter().all(Option::is_none) {
            return Ok(false);
        }
        if let Some(missing) = needed.iter().position(Option::is_none) {
            let missing = names[names.len() - needed.len() + missing];
            let present = found.iter().flatten().next().map_or("", |&i| self.header[i].as_str());
            return Err(format!("there is a column '{present}' but none called '{missing}'; add it"));
        }
        for (i, at) in found.iter().enumerate() {
            if let Some(at) = *at {
                self.uses[at] = column_use(i);
            }
        }
        Ok(true)
    }
}
