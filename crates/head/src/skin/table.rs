//! Small tables of points written as text: points separated by commas, coordinates by spaces, one row per
//! line; a line that ends in a comma continues on the next.
//!
//! Text keeps a ring of the cage on one line, so that neighboring rings can be compared by eye. The tables
//! are part of the program, so a malformed one is a programming error and panics.

use glam::DVec3;

/// The rows of a table.
pub fn rows(text: &str) -> Vec<Vec<DVec3>> {
    let mut rows: Vec<Vec<DVec3>> = Vec::new();
    let mut goes_on = false;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let points = line.trim_end_matches(',').split(',').map(point);
        match rows.last_mut() {
            Some(row) if goes_on => row.extend(points),
            _ => rows.push(points.collect()),
        }
        goes_on = line.ends_with(',');
    }
    rows
}

/// A table of one row.
pub fn row(text: &str) -> Vec<DVec3> {
    rows(text).into_iter().flatten().collect()
}

fn point(text: &str) -> DVec3 {
    let mut numbers = text.split_whitespace().map(|n| n.parse::<f64>().ok());
    let (x, y, z) = (numbers.next(), numbers.next(), numbers.next());
    match (x.flatten(), y.flatten(), z.flatten(), numbers.next()) {
        (Some(x), Some(y), Some(z), None) => DVec3::new(x, y, z),
        _ => panic!("'{text}' in a built-in table is not a point; write three numbers"),
    }
}
