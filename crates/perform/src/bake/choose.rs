//! Which correctives are kept: visible ones, and of those the best for a number of shapes or of bytes.
//!
//! A corrective v whose column in the least squares problem has the squared norm s removes `s |v|^2` of the
//! squared error over the samples. Columns of different pairs are orthogonal, so the best n are the n that
//! remove most. For bytes, the most error removed per byte goes first, until nothing more fits.

use super::fit::length;
use risorius_rig::Deltas;
use std::cmp::Ordering;

/// How many correctives are kept.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Budget {
    /// All that are visible.
    #[default]
    All,
    /// At most this many.
    Shapes(usize),
    /// At most so many that their positions take this many bytes as sparse morph targets.
    Bytes(usize),
}

/// A corrective to choose.
pub(super) struct Candidate {
    /// Its largest displacement.
    most: f64,
    /// The squared error that it removes.
    removes: f64,
    n_bytes: usize,
}

impl Candidate {
    pub fn new(deltas: &Deltas, squared_norm: f64) -> Self {
        let lengths = || deltas.offsets.iter().map(|o| length(o.map(f64::from)));
        Self {
            most: lengths().fold(0.0, f64::max),
            removes: squared_norm * lengths().map(|l| l * l).sum::<f64>(),
            n_bytes: target_bytes(deltas.vertices.len()),
        }
    }
}

/// Bytes of a sparse morph target's positions: for each vertex an index and three floats, and its
/// description.
pub fn target_bytes(n_vertices: usize) -> usize {
    const DESCRIPTION: usize = 400;
    (4 + 12) * n_vertices + DESCRIPTION
}

/// The choice.
pub(super) struct Chosen {
    /// Of each candidate.
    pub kept: Vec<bool>,
    pub invisible: usize,
    pub over_budget: usize,
}

/// Keeps candidates that move some vertex farther than `visible`, within the budget.
pub(super) fn choose(candidates: &[Candidate], visible: f64, budget: Budget) -> Chosen {
    let mut order: Vec<usize> = (0..candidates.len()).filter(|&i| candidates[i].most > visible).collect();
    let invisible = candidates.len() - order.len();
    let by_worth = |worth: &dyn Fn(&Candidate) -> f64, a: &usize, b: &usize| -> Ordering {
        worth(&candidates[*b]).total_cmp(&worth(&candidates[*a])).then(a.cmp(b))
    };
    let mut kept = vec![false; candidates.len()];
    match budget {
        Budget::All => order.iter().for_each(|&i| kept[i] = true),
        Budget::Shapes(n) => {
            order.sort_by(|a, b| by_worth(&|c| c.removes, a, b));
            order.iter().take(n).for_each(|&i| kept[i] = true);
        }
        Budget::Bytes(n) => {
            order.sort_by(|a, b| by_worth(&|c| c.removes / c.n_bytes as f64, a, b));
            let mut left = n;
            for &i in &order {
                if candidates[i].n_bytes <= left {
                    left -= candidates[i].n_bytes;
                    kept[i] = true;
                }
            }
        }
    }
    let n_kept = kept.iter().filter(|k| **k).count();
    Chosen { over_budget: order.len() - n_kept, invisible, kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(n: usize, size: f32) -> Candidate {
        let deltas = Deltas { vertices: (0..n as u32).collect(), offsets: vec![[size, 0.0, 0.0]; n] };
        Candidate::new(&deltas, 2.0)
    }

    #[test]
    fn the_best_are_kept() {
        let candidates = [candidate(10, 1.0), candidate(1000, 0.05), candidate(500, 0.5), candidate(90, 0.9)];
        let kept = |budget| choose(&candidates, 0.1, budget).kept;
        assert_eq!(kept(Budget::All), [true, false, true, true]);
        // Removed: 20, -, 250, 146.
        assert_eq!(kept(Budget::Shapes(1)), [false, false, true, false]);
        assert_eq!(kept(Budget::Shapes(2)), [false, false, true, true]);
        // Per byte: 20 / 560, 250 / 8400, 146 / 1840.
        assert_eq!(kept(Budget::Bytes(1900)), [false, false, false, true]);
        assert_eq!(kept(Budget::Bytes(2400)), [true, false, false, true]);
        assert_eq!(kept(Budget::Bytes(0)), [false; 4]);
        let chosen = choose(&candidates, 0.1, Budget::Shapes(2));
        assert_eq!((chosen.invisible, chosen.over_budget), (1, 1));
        assert_eq!(choose(&candidates, 0.0, Budget::All).kept, [true; 4]);
    }
}
