//! Interference: which slider disturbs which, and where.
//!
//! For sliders i and j with displacements `d_i(v)`, `d_j(v)` at full strength,
//!
//! ```text
//! disturbs(i, j) = sqrt( sum_v |d_i|^2 |d_j|^2 / sum_v |d_i|^4 )
//! ```
//!
//! measures how far j moves the vertices that i moves, weighted by i's motion, in units of i's own motion: 0
//! if they do not overlap, 1 if j moves them as far as i does. Rows are disturbed sliders, columns disturbing
//! ones. Lengths count, not directions: movements at right angles disturb each other as well [Lewis05,
//! section 3]. The signed `cosine` of the two displacement fields, the paper's orthogonality, is given in
//! addition. Sliders are ordered by their effect on all others.

use crate::gram::{GramError, check_finite, gram_of};
use risorius_base::Progress;
use risorius_linalg::Matrix;
use risorius_rig::model::{Deltas, Rig};

/// Pairwise effects of sliders; indices are slider numbers.
#[derive(Debug, Clone)]
pub struct Interference {
    /// See the module header; row i is the disturbed slider, column j the disturbing one.
    pub disturbs: Matrix,
    /// Cosine of the angle between displacement fields, -1 to 1.
    pub cosine: Matrix,
    /// Root of the summed squared effect of each slider on all others.
    pub effect: Vec<f64>,
    /// Sliders by decreasing effect.
    pub order: Vec<usize>,
}

/// Motion of a region under a slider at full strength, in the file's unit.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionMotion {
    /// Name of the region.
    pub region: String,
    /// Root mean square over the region's vertices, per slider.
    pub rms: Vec<f64>,
    /// Largest, per slider.
    pub max: Vec<f64>,
}

impl Interference {
    /// Compares all pairs of sliders by their full shapes.
    pub fn measure(rig: &Rig, progress: &Progress) -> Result<Self, GramError> {
        let n = rig.sliders.len();
        if n > crate::gram::MAX_SHAPES {
            return Err(GramError::TooManyShapes { n_shapes: n });
        }
        check_finite(rig)?;
        let shapes: Vec<Deltas> = rig.sliders.iter().map(|s| rig.shapes[s.shape].deltas.clone()).collect();
        let squared: Vec<Deltas> = shapes.iter().map(squared_lengths).collect();
        let inner = gram_of(&shapes, &rig.neutral, progress)?;
        let meet = gram_of(&squared, &rig.neutral, progress)?;
        let mut disturbs = Matrix::zeros(n, n);
        let mut cosine = Matrix::zeros(n, n);
        for j in 0..n {
            for i in 0..n {
                disturbs[(i, j)] = ratio(meet[(i, j)], meet[(i, i)]).sqrt();
                cosine[(i, j)] = ratio(inner[(i, j)], (inner[(i, i)] * inner[(j, j)]).sqrt());
            }
        }
        let effect: Vec<f64> = (0..n)
            .map(|j| (0..n).filter(|&i| i != j).map(|i| disturbs[(i, j)].powi(2)).sum::<f64>().sqrt())
            .collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| effect[b].total_cmp(&effect[a]).then(a.cmp(&b)));
        Ok(Self { disturbs, cosine, effect, order })
    }

    /// The `count` strongest pairs (disturbed, disturbing, value), in decreasing order.
    pub fn strongest(&self, count: usize) -> Vec<(usize, usize, f64)> {
        let n = self.effect.len();
        let mut pairs: Vec<(usize, usize, f64)> = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .filter(|(i, j)| i != j)
            .map(|(i, j)| (i, j, self.disturbs[(i, j)]))
            .filter(|p| p.2 > 0.0)
            .collect();
        pairs.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        pairs.truncate(count);
        pairs
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// A field with `|d|^2` in place of `d`.
fn squared_lengths(deltas: &Deltas) -> Deltas {
    let offsets = deltas.offsets.iter().map(|&o| [glam::Vec3::from(o).length_squared(), 0.0, 0.0]).collect();
    Deltas { vertices: deltas.vertices.clone(), offsets }
}

/// Where two sliders overlap: at each vertex the shorter of their two displacements, in the file's unit.
pub fn pair_field(rig: &Rig, slider_a: usize, slider_b: usize) -> Vec<f32> {
    let lengths = |slider: usize| {
        let mut out = vec![0.0f32; rig.n_vertices()];
        let deltas = &rig.shapes[rig.sliders[slider].shape].deltas;
        for (&v, &o) in deltas.vertices.iter().zip(&deltas.offsets) {
            out[v as usize] = glam::Vec3::from(o).length();
        }
        out
    };
    lengths(slider_a).iter().zip(lengths(slider_b)).map(|(a, b)| a.min(b)).collect()
}

/// How far every slider moves every named region.
pub fn region_motion(rig: &Rig) -> Vec<RegionMotion> {
    rig.regions
        .iter()
        .map(|(name, vertices)| {
            let (mut rms, mut max) = (Vec::new(), Vec::new());
            for slider in &rig.sliders {
                let deltas = &rig.shapes[slider.shape].deltas;
                let squares = vertices
                    .iter()
                    .filter_map(|v| deltas.vertices.binary_search(v).ok())
                    .map(|i| deltas.offsets[i].iter().map(|&x| f64::from(x).powi(2)).sum::<f64>());
                let (sum, largest) = squares.fold((0.0, 0.0f64), |(s, m), x| (s + x, m.max(x)));
                rms.push((sum / vertices.len().max(1) as f64).sqrt());
                max.push(largest.sqrt());
            }
            RegionMotion { region: name.clone(), rms, max }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_base::progress::no_progress;
    use risorius_rig::synthetic::random_rig;

    fn two_sliders(a: [f32; 3], b: [f32; 3], b_vertex: u32) -> Rig {
        let mut rig = random_rig(9, 2, 1.0, 1);
        rig.shapes[0].deltas = Deltas { vertices: vec![0, 1], offsets: vec![a, a] };
        rig.shapes[1].deltas = Deltas { vertices: vec![b_vertex], offsets: vec![b] };
        rig
    }

    #[test]
    fn orthogonal_movements_still_disturb() {
        let rig = two_sliders([1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], 1);
        let report = Interference::measure(&rig, &no_progress).unwrap();
        assert!(report.cosine[(0, 1)].abs() < 1e-12);
        assert!((report.disturbs[(0, 1)] - 0.5f64.sqrt()).abs() < 1e-6);
        assert!((report.disturbs[(1, 0)] - 1.0).abs() < 1e-6);
        assert_eq!(report.order, [0, 1]);
        assert_eq!(report.strongest(1)[0].0, 1);
    }

    #[test]
    fn shapes_that_never_meet_and_empty_ones_do_nothing() {
        let rig = two_sliders([1.0, 0.0, 0.0], [5.0, 0.0, 0.0], 7);
        let report = Interference::measure(&rig, &no_progress).unwrap();
        assert_eq!(report.disturbs[(0, 1)], 0.0);
        assert!(report.strongest(9).is_empty());
        let mut empty = rig;
        empty.shapes[1].deltas = Deltas::default();
        let report = Interference::measure(&empty, &no_progress).unwrap();
        assert!(report.disturbs.as_slice().iter().all(|x| x.is_finite()));
    }

    #[test]
    fn fields_and_regions_measure_lengths() {
        let mut rig = two_sliders([3.0, 4.0, 0.0], [0.0, 2.0, 0.0], 1);
        assert_eq!(pair_field(&rig, 0, 1)[..3], [0.0, 2.0, 0.0]);
        rig.regions.insert("lip".into(), vec![1, 4]);
        let motion = region_motion(&rig);
        assert_eq!((motion[0].max[0], motion[0].max[1]), (5.0, 2.0));
        assert!((motion[0].rms[0] - (12.5f64).sqrt()).abs() < 1e-12);
    }
}
