//! The meaning of the columns of a clip table, from its header.

use super::head_columns::{self, HeadProblem, HeadUnit};
use super::{ClipOptions, FORMAT, NO_SLIDERS, finite};
use crate::IoError;
use crate::formats::text::text;
use std::borrow::Cow;
use std::collections::HashMap;

/// Head motion as we write it.
pub(super) const HEAD_MOVE: [&str; 7] =
    ["head_tx", "head_ty", "head_tz", "head_qx", "head_qy", "head_qz", "head_qw"];
/// Names of the column of seconds or timecodes.
const TIMES: [&str; 4] = ["timecode", "time_s", "time", "t"];
/// Names of a column of frame numbers, without case and separators; besides `#`.
const FRAMES: [&str; 8] =
    ["frame", "frames", "framenumber", "framenum", "frameno", "frameindex", "frameidx", "frameid"];
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
    pub header: Vec<String>,
    pub uses: Vec<Use>,
    /// Names of the sliders.
    pub names: Vec<String>,
    pub time: usize,
    pub is_timecode: bool,
    pub is_frame: bool,
    pub count: Option<usize>,
    /// Frames per second of a column of frame numbers.
    pub frame_rate: f64,
    pub has_head_positions: bool,
    pub has_head_turns: bool,
    pub has_head_angles: bool,
    pub head_unit: HeadUnit,
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

/// Reads the header on `line`; `stated_fps` is a frame rate that the file states above it.
pub(super) fn classify(
    line: usize,
    cells: &[Cow<[u8]>],
    options: &ClipOptions,
    stated_fps: Option<f64>,
) -> Result<Columns, IoError> {
    let malformed = |problem: String| IoError::malformed(FORMAT, format!("line {line}"), problem);
    let header = unique_names(cells).map_err(malformed)?;
    let find = |name: &str| header.iter().position(|h| h.eq_ignore_ascii_case(name));
    let time =
        TIMES.iter().find_map(|name| find(name)).or_else(|| header.iter().position(|h| is_frame_number(h)));
    let Some(time) = time else {
        let shown: Vec<&str> = header.iter().take(3).map(String::as_str).collect();
        let start = crate::formats::text::excerpt(shown.join(", ").as_bytes());
        return Err(malformed(format!(
            "no column of the header ('{start}') is a time; give one of Timecode, time_s, time, t or frame"
        )));
    };
    let is_frame = is_frame_number(&header[time]);
    let frame_rate = check_options(line, &header[time], options, stated_fps)?;
    let mut columns = Columns {
        uses: vec![Use::Shape; header.len()],
        names: Vec::new(),
        time,
        is_timecode: header[time].eq_ignore_ascii_case("timecode"),
        is_frame,
        count: find("BlendShapeCount"),
        frame_rate,
        has_head_positions: false,
        has_head_turns: false,
        has_head_angles: false,
        head_unit: HeadUnit::default(),
        has_eyes: false,
        notes: Vec::new(),
        header,
    };
    columns.uses[time] = Use::Nothing;
    // A table may give time in several ways; unused time columns are not sliders either.
    for (i, name) in columns.header.iter().enumerate() {
        let is_time =
            ["timecode", "time_s", "time", "BlendShapeCount"].iter().any(|t| name.eq_ignore_ascii_case(t));
        if is_time || is_frame_number(name) {
            columns.uses[i] = Use::Nothing;
        }
    }
    head_columns::mark(&mut columns, options.head_meters_per_unit).map_err(|problem| match problem {
        HeadProblem::Missing(problem) => malformed(problem),
        HeadProblem::NoUnit(name) => {
            let problem = format!(
                "head positions have no unit: give it, or name the column after it ('{name}_m' for meters)"
            );
            IoError::asks(FORMAT, format!("column '{name}'"), problem, &["head_unit"])
        }
    })?;
    columns.has_eyes = columns.mark(&EYES, |i| Use::Eye(i / 3, i % 3)).map_err(malformed)?;
    columns.names = (columns.header.iter().zip(&columns.uses))
        .filter(|(_, column)| **column == Use::Shape)
        .map(|(name, _)| name.clone())
        .collect();
    if columns.names.is_empty() {
        columns.notes.push(NO_SLIDERS.into());
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

/// Whether a name is that of a column of frame numbers.
fn is_frame_number(name: &str) -> bool {
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    name == "#" || FRAMES.contains(&letters.as_str())
}

/// Checks the options, and returns the frames per second of a column of frame numbers.
fn check_options(
    line: usize,
    time: &str,
    options: &ClipOptions,
    stated_fps: Option<f64>,
) -> Result<f64, IoError> {
    let place = format!("line {line}");
    let fps = options.fps.or(options.frame_fps).or(stated_fps);
    if is_frame_number(time) && fps.is_none() {
        let problem = format!("column '{time}' gives time as frame numbers; give the frame rate");
        return Err(IoError::asks(FORMAT, place, problem, &["fps"]));
    }
    if let Some(fps) = fps.filter(|fps| !(*fps > 0.0 && *fps <= 100_000.0)) {
        return Err(risorius_rig::clip::ClipError::BadRate { fps }.into());
    }
    if let Some(unit) = options.head_meters_per_unit.filter(|unit| !(*unit > 0.0 && unit.is_finite())) {
        let problem = format!("a head unit of {unit} meters is not possible");
        return Err(IoError::malformed(FORMAT, place, problem));
    }
    Ok(fps.unwrap_or(1.0))
}

impl Columns {
    /// Assigns the columns `names` their use; false when none is present, an error when only some are.
    fn mark(&mut self, names: &[&str], column_use: impl Fn(usize) -> Use) -> Result<bool, String> {
        let found: Vec<Option<usize>> =
            names.iter().map(|n| self.header.iter().position(|h| h.eq_ignore_ascii_case(n))).collect();
        if found.iter().all(Option::is_none) {
            return Ok(false);
        }
        if let Some(missing) = found.iter().position(Option::is_none) {
            let missing = names[missing];
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
