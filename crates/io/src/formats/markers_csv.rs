//! Marker takes as CSV: a time column and three columns for each marker, `NAME_X`, `NAME_Y`, `NAME_Z`.
//!
//! The axis letter may also follow a point, a colon or a space, and may be lower case. Where a marker was
//! lost, its cells are empty, are not numbers, or are all exactly zero, depending on the recorder. Columns
//! that belong to no marker are left out and listed in the notes.

use crate::IoError;
use crate::formats::clip_csv::split;
use crate::formats::text::{csv_separator, lines};
use glam::DVec3;
use risorius_detail::markers::MarkerTake;
use std::collections::BTreeMap;

const FORMAT: &str = "marker CSV";

/// Markers, and notes from reading them.
#[derive(Debug, Clone, Default)]
pub struct MarkerContent {
    /// The take.
    pub take: MarkerTake,
    /// What was left out, as sentences.
    pub notes: Vec<String>,
}

/// Reads a marker take.
pub fn read(bytes: &[u8]) -> Result<MarkerContent, IoError> {
    let mut rows =
        lines(bytes).filter(|(_, row)| !row.is_empty()).skip_while(|(_, row)| row.starts_with(b"#"));
    let (first, header) =
        rows.next().ok_or_else(|| IoError::malformed(FORMAT, "line 1", "the file is empty"))?;
    let separator = csv_separator(header);
    let names: Vec<String> = split(first, header, separator)?
        .iter()
        .map(|cell| String::from_utf8_lossy(cell).trim().to_owned())
        .collect();
    let time = names
        .iter()
        .position(|name| ["time_s", "time", "seconds", "t"].contains(&name.to_lowercase().as_str()));
    let Some(time) = time else {
        let problem = "there is no time column; call it time_s";
        return Err(IoError::malformed(FORMAT, format!("line {first}"), problem));
    };
    let mut columns: BTreeMap<&str, [Option<usize>; 3]> = BTreeMap::new();
    let mut others = Vec::new();
    for (column, name) in names.iter().enumerate().filter(|(column, _)| *column != time) {
        match axis_of(name) {
            Some((marker, axis)) => columns.entry(marker).or_default()[axis] = Some(column),
            None => others.push(name.as_str()),
        }
    }
    let (whole, parts): (Vec<_>, Vec<_>) =
        columns.iter().partition(|(_, axes)| axes.iter().all(Option::is_some));
    others.extend(parts.iter().map(|(name, _)| **name));
    if whole.is_empty() {
        let problem = "there are no markers; give columns NAME_X, NAME_Y, NAME_Z";
        return Err(IoError::malformed(FORMAT, format!("line {first}"), problem));
    }
    let mut take = MarkerTake {
        names: whole.iter().map(|(name, _)| name.to_string()).collect(),
        ..MarkerTake::default()
    };
    for (line, row) in rows {
        let cells = split(line, row, separator)?;
        let number = |column: usize| -> Option<f64> {
            let text = std::str::from_utf8(cells.get(column)?.trim_ascii()).ok()?;
            text.parse().ok().filter(|x: &f64| x.is_finite())
        };
        let Some(t) = number(time) else {
            return Err(IoError::malformed(FORMAT, format!("line {line}"), "the time is not a number"));
        };
        if take.times_secs.last().is_some_and(|&last| t <= last) {
            return Err(IoError::malformed(
                FORMAT,
                format!("line {line}"),
                format!("time {t} does not come after that of the frame before; sort the rows"),
            ));
        }
        let place = |axes: &[Option<usize>; 3]| {
            let [x, y, z] = axes.map(|column| column.and_then(number));
            Some(DVec3::new(x?, y?, z?)).filter(|p| *p != DVec3::ZERO)
        };
        take.times_secs.push(t);
        take.frames.push(whole.iter().map(|(_, axes)| place(axes)).collect());
    }
    if take.frames.is_empty() {
        return Err(IoError::malformed(FORMAT, "rows", "there are no frames below the header"));
    }
    let mut notes = Vec::new();
    if !others.is_empty() {
        notes.push(format!("columns that do not belong to a marker were left out: {}", others.join(", ")));
    }
    Ok(MarkerContent { take, notes })
}

/// The marker and the axis that a column belongs to.
fn axis_of(name: &str) -> Option<(&str, usize)> {
    let axis = "xyz".find(name.chars().last()?.to_ascii_lowercase())?;
    let marker = name[..name.len() - 1].strip_suffix(['_', '.', ':', ' ', '-'])?;
    (!marker.is_empty()).then_some((marker, axis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_gaps_and_other_columns() {
        let text = "time_s,Chin_X,Chin_Y,Chin_Z,Nose.x,Nose.y,Nose.z,half_X,note\n0,1,2,3,4,5,6,7,a\n0.1,,2,3,0,0,0,7,b\n0.3,1,nan,3,4,5,6,7,c\n";
        let content = read(text.as_bytes()).unwrap();
        assert_eq!(content.take.names, ["Chin", "Nose"]);
        assert_eq!(content.take.times_secs, [0.0, 0.1, 0.3]);
        assert_eq!(
            content.take.frames[0],
            [Some(DVec3::new(1.0, 2.0, 3.0)), Some(DVec3::new(4.0, 5.0, 6.0))]
        );
        assert_eq!(content.take.frames[1], [None, None]);
        assert_eq!(content.take.frames[2][0], None);
        assert!(content.notes[0].contains("half") && content.notes[0].contains("note"));
        for (bad, words) in [
            ("", "empty"),
            ("a,b\n1,2\n", "time"),
            ("time,b\n1,2\n", "NAME_X"),
            ("time,a_x,a_y,a_z\n", "no frames"),
            ("time,a_x,a_y,a_z\n1,1,1,1\n1,1,1,1\n", "line 3"),
            ("time,a_x,a_y,a_z\nx,1,1,1\n", "line 2"),
        ] {
            let error = read(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
