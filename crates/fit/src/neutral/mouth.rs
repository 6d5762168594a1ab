//! The opening of a mouth, from the relief of a scan.
//!
//! Closest points bend closed lips over an open mouth without much distance. But an open mouth is a pit, or a
//! hole, with a rim above and below: depths of the scan are sampled in columns from the base of the nose to
//! below the chin, and the longest run that lies [`PIT`] behind both rims is the opening. The groove over the
//! chin is about 5 mm deep at most.
//!
//! Limits: lips that are apart by less than [`LEAST`], and mouths without a rim below (scans that end there),
//! are not seen.

use crate::target::Target;
use crate::template::Template;
use glam::DVec3;
use risorius_head::landmarks::index;
use risorius_mesh::Similarity;

/// Depth of the pit behind both lips, meters.
const PIT: f64 = 7e-3;

/// Least height of an opening, meters.
const LEAST: f64 = 5e-3;

/// Distance between samples along a column, meters.
const STEP: f64 = 0.5e-3;

/// Columns beside the middle, meters.
const COLUMNS: [f64; 5] = [-6e-3, -3e-3, 0.0, 3e-3, 6e-3];

/// Columns begin this far below the base of the nose, and end this far below the chin, meters.
const MARGINS: [f64; 2] = [3e-3, 15e-3];

/// An open mouth: the edges of the lips in the middle, in the template's space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Opening {
    /// Lower edge of the upper lip.
    pub upper: DVec3,
    /// Upper edge of the lower lip.
    pub lower: DVec3,
}

/// The opening of the mouth of a scan, if it is open. `skin` is about where the skin is.
pub(super) fn opening(
    template: &Template,
    skin: &[DVec3],
    target: &Target,
    scan_from_template: &Similarity,
) -> Option<Opening> {
    let at = |name: &str| template.on_skin(index(name)?, skin);
    let (nose, chin) = (at("subnasale")?, at("gnathion")?);
    let n = ((nose.y - MARGINS[0] - chin.y + MARGINS[1]) / STEP).max(0.0) as usize;
    let places =
        |x: f64| (0..n).map(move |k| DVec3::new(nose.x + x, nose.y - MARGINS[0] - STEP * k as f64, nose.z));
    let column = |x: f64| -> Vec<f64> {
        places(x).map(|p| target.depth(p, scan_from_template).unwrap_or(f64::NEG_INFINITY)).collect()
    };
    let found = COLUMNS.iter().filter_map(|&x| {
        let depths = column(x);
        let [first, last] = longest_pit(&depths)?;
        let edge = |k: usize| DVec3::new(nose.x + x, nose.y - MARGINS[0] - STEP * k as f64, depths[k]);
        Some([edge(first - 1), edge(last + 1)])
    });
    let mut edges: Vec<[DVec3; 2]> = found.collect();
    edges.retain(|[a, b]| a.y - b.y > LEAST);
    if 2 * edges.len() <= COLUMNS.len() {
        return None;
    }
    edges.sort_by(|a, b| (a[0].y - a[1].y).total_cmp(&(b[0].y - b[1].y)));
    let [upper, lower] = edges[edges.len() / 2];
    Some(Opening { upper, lower })
}

/// First and last sample of the longest run behind both rims. Neither is at an end of the column.
fn longest_pit(depths: &[f64]) -> Option<[usize; 2]> {
    let running = |rim: &mut f64, z: &f64| {
        *rim = rim.max(*z);
        Some(*rim)
    };
    let above: Vec<f64> = depths.iter().scan(f64::NEG_INFINITY, running).collect();
    let mut below: Vec<f64> = depths.iter().rev().scan(f64::NEG_INFINITY, running).collect();
    below.reverse();
    let is_pit = |k: usize| above[k].min(below[k]).is_finite() && depths[k] < above[k].min(below[k]) - PIT;
    let (mut best, mut first) = (None::<[usize; 2]>, None);
    for k in 0..=depths.len() {
        match (k < depths.len() && is_pit(k), first) {
            (true, None) => first = Some(k),
            (false, Some(start)) => {
                let longer = best.is_none_or(|[a, b]| b - a < k - 1 - start);
                best = if longer { Some([start, k - 1]) } else { best };
                first = None;
            }
            _ => {}
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pit_needs_two_rims() {
        let hole = f64::NEG_INFINITY;
        let mm = |list: &[f64]| list.iter().map(|z| z * 1e-3).collect::<Vec<f64>>();
        assert_eq!(longest_pit(&mm(&[80., 82., 70., hole, 71., 81., 78., 60.])), Some([2, 4]));
        // The groove over the chin, and what is below the chin.
        assert_eq!(longest_pit(&mm(&[80., 82., 77., 80., 78., 60., 40.])), None);
        assert_eq!(longest_pit(&mm(&[hole, hole, 80., 81.])), None);
        assert_eq!(longest_pit(&[]), None);
    }
}
