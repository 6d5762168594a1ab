//! Whether the eyes of a scan are closed, from its relief.
//!
//! The edge of an open upper lid stands about a millimeter in front of the eyeball below it: a step, some
//! millimeters above the line between the corners of the eye. Closed lids bulge there, and their only groove
//! is at or below that line. Heights z of the surface are sampled in columns between the corners. Their
//! second difference over 1.5 mm, averaged over the columns, tells grooves from bulges. Distances of a
//! surface from closed and from open lids do not tell: an eyeball moved forward by the thickness of a lid
//! looks like one.
//!
//! Limits: where the scan has holes in more than half of the columns, the answer is none. Lashes or glasses
//! look like steps. Closed lids of the built-in head itself are not recognized.

use crate::target::Target;
use crate::template::Template;
use glam::DVec3;
use risorius_head::landmarks::index;
use risorius_mesh::Similarity;

/// Sliders that close the eyes.
pub const BLINKS: [&str; 2] = ["eyeBlinkLeft", "eyeBlinkRight"];

/// Their value in closed eyes.
pub const CLOSED: f64 = 0.95;

/// Deviation of that value.
pub const DEVIATION: f64 = 0.05;

/// Distance between samples along a column, meters.
const STEP: f64 = 0.5e-3;

/// Samples between a place and those that it is compared with.
const APART: usize = 3;

/// First and last height of a column over the line between the corners, meters.
const COLUMN: [f64; 2] = [-0.010, 0.012];

/// Columns, as parts of the way from the inner to the outer corner.
const COLUMNS: [f64; 7] = [0.32, 0.38, 0.44, 0.5, 0.56, 0.62, 0.68];

/// Heights at which the edge of an open upper lid is looked for, meters.
const UPPER: [f64; 2] = [2e-3, 8e-3];

/// Heights at which the groove of closed lids, or that of an open lower lid, is looked for, meters.
const LOWER: [f64; 2] = [-6e-3, 2.5e-3];

/// Samples from the groove within which its ridges are.
const RIDGE: usize = 7;

/// One ridge is clearly higher than the other by this, meters.
const CLEARLY: f64 = 0.15e-3;

/// Depth of the groove below the edge of an open lid, at least, meters.
const EDGE: f64 = 0.4e-3;

/// Whether the eyes are closed; `None` where the scan does not tell. `skin` is about where the skin is.
pub fn closed(
    template: &Template,
    skin: &[DVec3],
    target: &Target,
    scan_from_template: &Similarity,
) -> Option<bool> {
    let open = |side: &str| {
        let at = |end: &str| template.on_skin(index(&format!("eye_{side}_{end}"))?, skin);
        Some(is_open(&profile(at("inner")?, at("outer")?, target, scan_from_template)?))
    };
    let told: Vec<bool> = ["left", "right"].into_iter().filter_map(open).collect();
    (!told.is_empty()).then(|| !told.contains(&true))
}

/// Whether a profile over an eye, from below to above, is that of an open one: there is an edge above the
/// line of the corners, or the deepest groove about that line has its ridge below (the edge of the lower lid)
/// and not above (the edge of a closed upper lid).
fn is_open(profile: &[f64]) -> bool {
    let groove = |k: usize| profile[k + APART] + profile[k - APART] - 2.0 * profile[k];
    let all = || APART..profile.len() - APART;
    let within = |range: [f64; 2]| {
        all().filter(move |&k| (range[0]..=range[1]).contains(&(COLUMN[0] + STEP * k as f64)))
    };
    if within(UPPER).any(|k| groove(k) > EDGE) {
        return true;
    }
    let Some(deepest) = within(LOWER).max_by(|&i, &j| groove(i).total_cmp(&groove(j))) else { return false };
    let ridge = |near: std::ops::RangeInclusive<usize>| {
        all().filter(|k| near.contains(k)).map(|k| -groove(k)).fold(0.0, f64::max)
    };
    let below = ridge(deepest.saturating_sub(RIDGE)..=deepest);
    below > ridge(deepest..=deepest + RIDGE) + CLEARLY
}

/// Depths of the scan over the line between the corners of an eye, from below to above, the mean of the
/// columns; `None` if more than half of these have holes.
fn profile(inner: DVec3, outer: DVec3, target: &Target, scan_from_template: &Similarity) -> Option<Vec<f64>> {
    let n = ((COLUMN[1] - COLUMN[0]) / STEP) as usize + 1;
    let column = |along: f64| -> Option<Vec<f64>> {
        let foot = inner.lerp(outer, along);
        let height = |k: usize| DVec3::Y * (COLUMN[0] + STEP * k as f64);
        (0..n).map(|k| target.depth(foot + height(k), scan_from_template)).collect()
    };
    let columns: Vec<Vec<f64>> = COLUMNS.iter().filter_map(|&c| column(c)).collect();
    if 2 * columns.len() <= COLUMNS.len() {
        return None;
    }
    let mean = |k: usize| columns.iter().map(|c| c[k]).sum::<f64>() / columns.len() as f64;
    Some((0..n).map(mean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile over an eyeball of 12 mm, with lids of 1.5 mm in front of it above and below some heights
    /// (mm).
    fn lids(below: f64, above: f64) -> Vec<f64> {
        let n = ((COLUMN[1] - COLUMN[0]) / STEP) as usize + 1;
        let depth = |k: usize| {
            let height = COLUMN[0] + STEP * k as f64;
            let ball = (0.012f64.powi(2) - (height - 1e-3).powi(2)).max(0.0).sqrt();
            // Edges are round: a lid gets its thickness over a millimeter.
            let lid = |past: f64| (past / 1e-3).clamp(0.0, 1.0) * 1.5e-3;
            ball + lid(height - above * 1e-3).max(lid(below * 1e-3 - height))
        };
        (0..n).map(depth).collect()
    }

    #[test]
    fn edges_of_lids_tell_whether_they_are_open() {
        assert!(is_open(&lids(-3.0, 6.0)));
        assert!(is_open(&lids(-2.0, 9.5)), "corners too low");
        // The edge of the upper lid stands over the lower lid.
        assert!(!is_open(&lids(-10.0, -3.0)));
        assert!(!is_open(&lids(-10.0, -1.0)));
    }
}
