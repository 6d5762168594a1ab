//! Clips as CSV: Live Link Face recordings and tables of time and slider values.
//!
//! **Live Link Face**: columns `Timecode`, `BlendShapeCount`, sliders, and optionally
//! `HeadYaw HeadPitch HeadRoll`, `LeftEye...`, `RightEye...` in radians. Times are relative to the first
//! frame; the [`timecode`] module describes timecodes. A row of lost tracking (count 0) repeats the frame
//! before it; a row that repeats a timecode is dropped. Both are noted. **Other tables**: `time_s`, `time`,
//! `t` (seconds) or frame numbers (`frame`, `frame_number`, `#` ...; with [`ClipOptions::fps`],
//! [`ClipOptions::frame_fps`], or a line such as `# fps: 30` above the header), then sliders; the head in
//! columns that [`head_columns`] describes.
//!
//! Head angles become the rotation `Ry(-yaw) Rx(pitch) Rz(roll)` about axes with +Y up and +Z front: positive
//! yaw turns the face to the character's right, positive pitch lowers the nose, with the same signs as the
//! eye columns of that recorder; positive roll lowers the right ear, which is not confirmed by a recording.
//! [`ClipOptions::head_angle_signs`] reverses angles of recorders with other signs. Eye angles are kept as
//! recorded. Separators are comma, semicolon or tab; cells may be quoted; every cell must be a finite number.

mod columns;
pub mod head_columns;
pub mod timecode;

use crate::IoError;
use crate::formats::text::{
    csv_cells, csv_separator, excerpt, lines, number, push_csv_cell, push_f32, push_f64,
};
use columns::{Columns, Use};
use glam::DQuat;
use head_columns::HeadUnit;
use risorius_rig::{Clip, HeadMotion, PartMotion};
use std::borrow::Cow;
use timecode::Timecode;

const FORMAT: &str = "clip CSV";

/// What the file itself does not specify.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClipOptions {
    /// Frames per second of a `frame` column or of timecodes. By default it is derived from the timecodes,
    /// and a `frame` column is refused.
    pub fps: Option<f64>,
    /// Frames per second of a column of frame numbers, where `fps` is not given. It does not concern
    /// timecodes.
    pub frame_fps: Option<f64>,
    /// Length in meters, above 0, of one unit of head positions whose columns do not state it. By default
    /// such positions are refused, except `head_tx ..`, which are meters, as our own files have it.
    pub head_meters_per_unit: Option<f64>,
    /// Factors, 1 or -1, on yaw, pitch and roll of the head about +Y, +X and +Z; -1, 1, 1 by default.
    pub head_angle_signs: [f64; 3],
}

impl Default for ClipOptions {
    fn default() -> Self {
        let head_angle_signs = [-1.0, 1.0, 1.0];
        Self { fps: None, frame_fps: None, head_meters_per_unit: None, head_angle_signs }
    }
}

/// A clip and what is known about its recording.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClipContent {
    /// The clip; it passes [`Clip::check`].
    pub clip: Clip,
    /// The frame rate of most frames; `None` when they have no common rate.
    pub fps: Option<f64>,
    /// Timecode of the first frame, as written in the file.
    pub timecode_start: Option<String>,
    /// Where the unit of the head positions comes from.
    pub head_unit: HeadUnit,
    /// Motion of single parts relative to the head, which nodes of a glTF have.
    pub part_motions: Vec<PartMotion>,
    /// What was changed, left out or assumed, as sentences.
    pub notes: Vec<String>,
}

/// The note about a table without sliders.
pub const NO_SLIDERS: &str = "the table has no slider columns";

/// The note about a recording whose head angles are all 0. It does not matter where the head motion is
/// replaced.
pub const NO_HEAD_ROTATION: &str =
    "the head angles are 0 in every frame: the recorder did not store head rotation";

/// Reads a clip.
pub fn read(bytes: &[u8], options: &ClipOptions) -> Result<ClipContent, IoError> {
    let mut rows = lines(bytes).filter(|(_, row)| !row.is_empty());
    let mut stated_fps = None;
    let header = rows.by_ref().find(|(_, row)| {
        let is_comment = is_comment(row);
        stated_fps = stated_fps.or_else(|| if is_comment { comment_fps(row) } else { None });
        !is_comment
    });
    let Some((header_line, header)) = header else {
        return Err(IoError::malformed(FORMAT, "line 1", "the file is empty"));
    };
    let separator = csv_separator(header);
    let cells = split(header_line, header, separator)?;
    let mut columns = columns::classify(header_line, &cells, options, stated_fps)?;
    let mut recording = Recording::default();
    for (line, row) in rows {
        let cells = split(line, row, separator)?;
        recording.add(&columns, line, &cells)?;
    }
    let mut content = ClipContent { notes: std::mem::take(&mut columns.notes), ..ClipContent::default() };
    let times_secs = recording.times(options, &mut content)?;
    recording.note(&mut content.notes);
    content.fps = detect_fps(&times_secs);
    content.head_unit = columns.head_unit;
    content.clip = recording.into_clip(columns, times_secs, options, &mut content.notes);
    content.clip.check()?;
    Ok(content)
}

pub(crate) fn split<'a>(line: usize, row: &'a [u8], separator: u8) -> Result<Vec<Cow<'a, [u8]>>, IoError> {
    csv_cells(row, separator)
        .ok_or_else(|| IoError::malformed(FORMAT, format!("line {line}"), "a quote is opened and not closed"))
}

/// Whether a line above the header is a comment. `#` alone in the first of several cells is the name of a
/// column of frame numbers.
fn is_comment(row: &[u8]) -> bool {
    let rest = row.strip_prefix(b"#");
    rest.is_some_and(|rest| !matches!(rest.trim_ascii_start().first(), Some(b',' | b';' | b'\t')))
}

/// The frame rate in a comment such as `# fps: 30` or `# frame rate = 24`.
fn comment_fps(row: &[u8]) -> Option<f64> {
    let text = crate::formats::text::text(row).to_lowercase();
    let after =
        ["fps", "frame rate", "framerate", "frame_rate"].iter().find_map(|name| text.split_once(name))?.1;
    let digits = after.trim_start_matches([' ', ':', '=', ',', ';', '\t']);
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|fps: &f64| fps.is_finite() && *fps > 0.0)
}

/// The frames read so far.
#[derive(Default)]
struct Recording {
    /// Seconds or frame numbers, and lines; empty when timecodes are used.
    stamps: Vec<(f64, usize)>,
    timecodes: Vec<(Timecode, usize)>,
    first_timecode: String,
    values: Vec<f32>,
    head_moves: Vec<[f64; 7]>,
    head_angles: Vec<[f64; 3]>,
    eyes: Vec<[[f32; 3]; 2]>,
    lost_lines: Vec<usize>,
    n_leading_lost: usize,
    repeated_lines: Vec<usize>,
}

impl Recording {
    fn add(&mut self, columns: &Columns, line: usize, cells: &[Cow<[u8]>]) -> Result<(), IoError> {
        let n_columns = columns.uses.len();
        if cells.iter().skip(n_columns).any(|c| !c.is_empty()) {
            let problem = format!("the row has {} cells, the header has {n_columns} columns", cells.len());
            return Err(IoError::malformed(FORMAT, format!("line {line}"), problem));
        }
        let cell = |i: usize| cells.get(i).map_or(&b""[..], |c| c);
        if columns.is_timecode {
            let timecode =
                timecode::parse(cell(columns.time)).map_err(|p| columns.malformed(line, columns.time, &p))?;
            if self.timecodes.last().is_some_and(|last| last.0 == timecode) {
                self.repeated_lines.push(line);
                return Ok(());
            }
            let count = columns.count.map(|i| columns.value::<f64>(line, i, cell(i))).transpose()?;
            if count == Some(0.0) {
                return self.hold(columns, timecode, line);
            }
            if cells.len() < n_columns {
                let problem = format!(
                    "the row ends after {} of {n_columns} columns; the recording is cut off there",
                    cells.len()
                );
                return Err(IoError::malformed(FORMAT, format!("line {line}"), problem));
            }
            self.start(timecode, line, cell(columns.time));
        } else {
            let stamp = columns.value::<f64>(line, columns.time, cell(columns.time))?;
            self.stamps.push((if columns.is_frame { stamp / columns.frame_rate } else { stamp }, line));
        }
        let (mut head_move, mut head_angle, mut eyes) = ([0.0; 7], [0.0; 3], [[0.0; 3]; 2]);
        for (i, column) in columns.uses.iter().enumerate() {
            match *column {
                Use::Shape => self.values.push(columns.value(line, i, cell(i))?),
                Use::HeadMove(k, scale) => head_move[k] = scale * columns.value::<f64>(line, i, cell(i))?,
                Use::HeadAngle(k) => head_angle[k] = columns.value(line, i, cell(i))?,
                Use::Eye(eye, k) => eyes[eye][k] = columns.value(line, i, cell(i))?,
                Use::Nothing => {}
            }
        }
        self.head_moves.push(head_move);
        self.head_angles.push(head_angle);
        self.eyes.push(eyes);
        Ok(())
    }

    fn start(&mut self, timecode: Timecode, line: usize, text: &[u8]) {
        if self.timecodes.is_empty() {
            self.first_timecode = crate::formats::text::text(text).into_owned();
        }
        self.timecodes.push((timecode, line));
    }

    /// A frame without tracking repeats the one before it. Before the first tracked frame there is none to
    /// repeat.
    fn hold(&mut self, columns: &Columns, timecode: Timecode, line: usize) -> Result<(), IoError> {
        let Some(last) = self.head_moves.len().checked_sub(1) else {
            self.n_leading_lost += 1;
            return Ok(());
        };
        self.lost_lines.push(line);
        self.timecodes.push((timecode, line));
        self.values.extend_from_within(self.values.len() - columns.names.len()..);
        self.head_moves.push(self.head_moves[last]);
        self.head_angles.push(self.head_angles[last]);
        self.eyes.push(self.eyes[last]);
        Ok(())
    }

    /// Seconds of each frame, strictly ascending.
    fn times(&mut self, options: &ClipOptions, content: &mut ClipContent) -> Result<Vec<f64>, IoError> {
        let stamps = if self.timecodes.is_empty() {
            std::mem::take(&mut self.stamps)
        } else {
            content.timecode_start = Some(std::mem::take(&mut self.first_timecode));
            timecode::seconds(&self.timecodes, options.fps, &mut content.notes)
        };
        if stamps.is_empty() {
            return Err(IoError::malformed(FORMAT, "end of file", "there are no frames below the header"));
        }
        if let Some(pair) = stamps.windows(2).find(|w| w[1].0 <= w[0].0) {
            let problem = format!(
                "time does not advance ({} s, then {} s); sort the rows or cut the recording there",
                pair[0].0, pair[1].0
            );
            return Err(IoError::malformed(FORMAT, format!("line {}", pair[1].1), problem));
        }
        Ok(stamps.into_iter().map(|s| s.0).collect())
    }

    fn note(&self, notes: &mut Vec<String>) {
        if let [first, ..] = self.lost_lines[..] {
            let n = self.lost_lines.len();
            notes.push(format!(
                "{n} frames without tracking hold the frame before them (the first on line {first})"
            ));
        }
        if self.n_leading_lost > 0 {
            notes.push(format!("{} frames before the first tracked one are left out", self.n_leading_lost));
        }
        if let [first, ..] = self.repeated_lines[..] {
            let n = self.repeated_lines.len();
            notes.push(format!("{n} rows that repeat a timecode are left out (the first on line {first})"));
        }
    }

    fn into_clip(
        self,
        columns: Columns,
        times: Vec<f64>,
        options: &ClipOptions,
        notes: &mut Vec<String>,
    ) -> Clip {
        let turn = |frame: usize| match columns.has_head_turns {
            true => std::array::from_fn(|k| self.head_moves[frame][3 + k]),
            false => head_rotation(self.head_angles[frame], options.head_angle_signs).to_array(),
        };
        let head = (columns.has_head_turns || columns.has_head_angles).then(|| HeadMotion {
            times_secs: times.clone(),
            positions_m: self.head_moves.iter().map(|m| [m[0], m[1], m[2]]).collect(),
            rotations_xyzw: (0..times.len()).map(turn).collect(),
        });
        let no_angles = columns.has_head_angles && self.head_angles.iter().all(|a| *a == [0.0; 3]);
        if no_angles && !columns.has_head_positions {
            notes.push(NO_HEAD_ROTATION.into());
        }
        let eye_angles = columns.has_eyes.then_some(self.eyes);
        Clip { names: columns.names, times_secs: times, values: self.values, head, eye_angles }
    }
}

/// `Ry(yaw) Rx(pitch) Rz(roll)` of yaw, pitch and roll in radians, each times its sign.
fn head_rotation(angles: [f64; 3], signs: [f64; 3]) -> DQuat {
    let [yaw, pitch, roll]: [f64; 3] = std::array::from_fn(|k| angles[k] * signs[k]);
    DQuat::from_rotation_y(yaw) * DQuat::from_rotation_x(pitch) * DQuat::from_rotation_z(roll)
}

/// The rate of most steps between ascending `times`; `None` when they have no common rate.
///
/// Clocks of recorders are slightly off, so a rate within 0.1 % of a usual one is taken as that one.
/// Television rates, which are 0.1 % below whole numbers, are recognized only within 0.002 %.
pub fn detect_fps(times_secs: &[f64]) -> Option<f64> {
    const TELEVISION: [f64; 3] = [24_000.0 / 1001.0, 30_000.0 / 1001.0, 60_000.0 / 1001.0];
    const USUAL: [f64; 9] = [24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 100.0, 120.0, 240.0];
    let mut steps: Vec<f64> = times_secs.windows(2).map(|w| w[1] - w[0]).collect();
    steps.sort_by(f64::total_cmp);
    let median = *steps.get(steps.len() / 2)?;
    let n_steps = steps.len();
    steps.retain(|s| (s - median).abs() <= 0.1 * median);
    if steps.len() * 2 < n_steps || median <= 0.0 {
        return None;
    }
    let rate = steps.len() as f64 / steps.iter().sum::<f64>();
    let near =
        |rates: &[f64], tolerance: f64| rates.iter().copied().find(|r| (r / rate - 1.0).abs() < tolerance);
    Some(near(&TELEVISION, 2e-5).or_else(|| near(&USUAL, 1e-3)).unwrap_or(rate))
}

/// The clip as a table that [`read`] restores exactly: `time_s`, the sliders, and the head and eyes if there
/// are any.
///
/// A head motion with its own times is sampled at those of the clip.
pub fn write_csv(clip: &Clip) -> Vec<u8> {
    let mut out = b"time_s".to_vec();
    let head_names: &[&str] = if clip.head.is_some() { &columns::HEAD_MOVE } else { &[] };
    let eye_names: &[&str] = if clip.eye_angles.is_some() { &columns::EYES } else { &[] };
    for name in clip.names.iter().map(String::as_str).chain(head_names.iter().chain(eye_names).copied()) {
        out.push(b',');
        push_csv_cell(&mut out, name);
    }
    out.push(b'\n');
    for (frame, &time) in clip.times_secs.iter().enumerate() {
        push_f64(&mut out, time);
        for &value in clip.frame(frame) {
            out.push(b',');
            push_f32(&mut out, value);
        }
        if let Some(head) = &clip.head {
            for value in head_at(head, clip, frame) {
                out.push(b',');
                push_f64(&mut out, value);
            }
        }
        for &angle in clip.eye_angles.iter().flat_map(|eyes| eyes.get(frame)).flatten().flatten() {
            out.push(b',');
            push_f32(&mut out, angle);
        }
        out.push(b'\n');
    }
    out
}

fn head_at(head: &HeadMotion, clip: &Clip, frame: usize) -> [f64; 7] {
    let (p, q) = match (
        head.times_secs == clip.times_secs,
        head.positions_m.get(frame),
        head.rotations_xyzw.get(frame),
    ) {
        // Written as recorded, since sampling would normalize the rotation.
        (true, Some(p), Some(q)) => (*p, *q),
        _ => {
            let (p, q) = head.sample(clip.times_secs[frame]);
            (p.to_array(), q.to_array())
        }
    };
    [p[0], p[1], p[2], q[0], q[1], q[2], q[3]]
}

/// A finite number of a cell, or what is wrong with it.
fn finite<T: std::str::FromStr + Into<f64> + Copy>(cell: &[u8]) -> Result<T, String> {
    if cell.is_empty() {
        return Err("the cell is missing; fill it or remove the row".into());
    }
    let value: T =
        number(cell).ok_or_else(|| format!("'{}' is not a number (with a decimal point)", excerpt(cell)))?;
    if !value.into().is_finite() {
        return Err(format!("the value is {}; give a finite number", value.into()));
    }
    Ok(value)
}
