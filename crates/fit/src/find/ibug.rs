//! Landmarks in the order of the 68 points of common face trackers (iBUG, 300-W).
//!
//! The first 68 names of [`risorius_head::landmarks`] are in that order; a set of 51 points leaves out the
//! jaw line.

use super::Given;
use crate::FitError;
use glam::DVec3;
use risorius_head::landmarks::{N_TRACKER, index};

/// Number of points on the jaw line, which come first.
const JAW_LINE: usize = 17;

/// The landmarks that a list of tracked points gives; right and left are the character's.
pub fn from_points(points: &[DVec3]) -> Result<Vec<Given>, FitError> {
    let given = |(k, &position): (usize, &DVec3)| Given { index: k, position, confidence: sure(k) };
    let list: Vec<Given> = match points.len() {
        N_TRACKER => points.iter().enumerate().map(given).collect(),
        51 => points.iter().enumerate().map(|(k, p)| given((k + JAW_LINE, p))).collect(),
        n => return Err(FitError::LandmarkCount { found: n }),
    };
    Ok(list.into_iter().filter(|g| g.position.is_finite()).collect())
}

/// Trackers follow the outline of the picture along the jaw, and hair at the brows.
fn sure(index: usize) -> f64 {
    match index {
        8 => 0.5,
        0..JAW_LINE => 0.1,
        JAW_LINE..27 => 0.3,
        _ => 1.0,
    }
}

/// A landmark by name.
pub fn named(name: &str, position: DVec3) -> Result<Given, FitError> {
    let index = index(name).ok_or_else(|| FitError::UnknownLandmark { name: name.into() })?;
    Ok(Given { index, position, confidence: 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_head::landmarks::NAMES;

    #[test]
    fn tracker_points_have_the_names_of_their_places() {
        let points: Vec<DVec3> = (0..68).map(|k| DVec3::splat(f64::from(k))).collect();
        let all = from_points(&points).unwrap();
        for (k, name) in [
            (8, "chin_middle"),
            (17, "brow_right_outer"),
            (30, "nose_tip"),
            (36, "eye_right_outer"),
            (45, "eye_left_outer"),
            (48, "mouth_right"),
            (54, "mouth_left"),
            (57, "lip_lower_middle"),
            (62, "lip_upper_middle_inner"),
        ] {
            assert_eq!((NAMES[all[k].index], all[k].position.x), (name, k as f64));
        }
        assert_eq!(NAMES[from_points(&points[..51]).unwrap()[0].index], "brow_right_outer");
        assert_eq!(from_points(&points[..5]), Err(FitError::LandmarkCount { found: 5 }));
        assert_eq!(named("nose", DVec3::ZERO), Err(FitError::UnknownLandmark { name: "nose".into() }));
    }
}
