//! Small tables of points written as text: one row per line, points separated by commas, coordinates by blanks.
//!
//! Text keeps a ring of the cage on one line, where its neighbors above and below can be compared by eye. The tables
//! are part of the program, so a malformed one is a programming error and panics.

use glam::DVec3;

/// The rows of a table.
pub fn rows(text: &str) -> Vec<Vec<DVec3>> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(row).collect()
}

/// One row of points.
pub fn row(text: &str) -> Vec<DVec3> {
    text.split(',').map(point).collect()
}

fn point(text: &str) -> DVec3 {
    let mut numbers = text.split_whitespace().map(|n| n.parse::<f64>().ok());
    let (x, y, z) = (numbers.next(), numbers.next(), numbers.next());
    match (x.flatten(), y.flatten(), z.flatten(), numbers.next()) {
        (Some(x), Some(y), Some(z), None) => DVec3::new(x, y, z),
        _ => panic!("'{text}' in a built-in table is not a point; write three numbers"),
    }
}
