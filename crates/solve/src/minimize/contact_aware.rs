//! A contact-aware preconditioner: the factored Laplacian plus the curvature of the contacts that press.
//!
//! The Laplacian L does not contain the contact planes, which are stiffer than flesh. With a row c of C for
//! each pressing contact and its curvature k on the diagonal of K, the Woodbury identity solves with both:
//!
//! ```text
//! (L + C^T K C)^-1 g = L^-1 (g - C^T S^-1 C L^-1 g),   S = K^-1 + C L^-1 C^T
//! ```
//!
//! One solve covers both occurrences of `L^-1`: between its two sweeps, the solution at the nodes that carry
//! contacts is found along their paths in the elimination tree, and the loads `C^T S^-1 C L^-1 g` are added
//! along the same paths ([`risorius_linalg::sweep`]). S needs columns of `L^-1` for these nodes. They are
//! cached as long as the factor exists, because contacts change little from step to step. If very many
//! contacts press, those on the same node are replaced by their weighted mean. Its curvature is at most that
//! of their sum in every direction, which is safe for a preconditioner.

use crate::contact::planes::Contacts;
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{Cholesky, Matrix, QuickSpace, Reach, Real, Sweep, SweepSpace};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// With more rows than this, contacts on the same node are merged.
const MOST: usize = 500;

/// Largest number of values in cached columns.
const KEPT: usize = 16 << 20;

/// Workspace of solves: for the whole system, and along paths.
#[derive(Default)]
pub(crate) struct Space {
    pub(crate) whole: SweepSpace,
    along: SweepSpace,
    /// That of factors with three unknowns per node.
    pub(crate) quick: QuickSpace,
}

/// A factored Laplacian with cached columns of its inverse.
pub(crate) struct Laplacian<T = f32> {
    pub(crate) sweep: Sweep<T>,
    kept: Mutex<Kept<T>>,
}

struct Kept<T> {
    /// Nodes at which the columns have values.
    at: Vec<u32>,
    reach: Reach,
    columns: BTreeMap<u32, Arc<[T]>>,
}

/// The contribution of a pressing contact to the Hessian: `stiffness` times the square of `row . x`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ContactRow {
    pub(crate) row: Vec<(u32, DVec3)>,
    pub(crate) stiffness: f64,
}

/// A Laplacian with pressing contacts.
pub(crate) struct ContactAware {
    base: Arc<Laplacian>,
    /// Nodes that carry pressing contacts, ascending, and their paths in the elimination tree.
    nodes: Vec<u32>,
    reach: Reach,
    /// The nodes of each contact, as indices into `nodes`, with coefficients.
    rows: Vec<Vec<(usize, DVec3)>>,
    factor: Cholesky,
}

impl<T: Real> Laplacian<T> {
    pub(crate) fn new(sweep: Sweep<T>) -> Self {
        let kept = Kept { at: Vec::new(), reach: Reach::default(), columns: BTreeMap::new() };
        Self { sweep, kept: Mutex::new(kept) }
    }

    /// Columns of the inverse for some nodes. `at`: nodes that contacts can act on, ascending.
    pub(crate) fn columns(&self, nodes: &[u32], at: &[u32]) -> Vec<Arc<[T]>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.at != at {
            *kept = Kept { at: at.to_vec(), reach: self.sweep.reach(at), columns: BTreeMap::new() };
        }
        if (kept.columns.len() + nodes.len()) * at.len() > KEPT {
            kept.columns.retain(|node, _| nodes.binary_search(node).is_ok());
        }
        let missing: Vec<u32> =
            nodes.iter().copied().filter(|node| !kept.columns.contains_key(node)).collect();
        for (&node, column) in missing.iter().zip(self.sweep.columns(&missing, at, &kept.reach)) {
            kept.columns.insert(node, column.into());
        }
        nodes.iter().map(|node| kept.columns[node].clone()).collect()
    }
}

impl ContactAware {
    /// With the contacts that press at `x`; `None` if none do.
    pub(crate) fn prepare(
        base: &Arc<Laplacian>,
        contacts: &Contacts,
        held: &[bool],
        x: &[DVec3],
    ) -> Option<Self> {
        let mut pressing = contacts.pressing_rows(x, held);
        if pressing.len() > MOST {
            pressing = merged(pressing);
        }
        if pressing.is_empty() {
            return None;
        }
        let mut nodes: Vec<u32> =
            pressing.iter().flat_map(|row| row.row.iter().map(|(node, _)| *node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let n = nodes.len();
        let at = contacts.nodes();
        let columns = base.columns(&nodes, at);
        let places: Vec<usize> = nodes.iter().map(|node| at.binary_search(node).unwrap_or(0)).collect();
        let between = |column: &Arc<[f32]>| places.iter().map(|&k| f64::from(column[k])).collect();
        let inverse: Vec<Vec<f64>> = columns.iter().map(between).collect();
        let local = |contact: &ContactRow| -> Vec<(usize, DVec3)> {
            contact.row.iter().map(|(node, v)| (nodes.binary_search(node).unwrap_or(0), *v)).collect()
        };
        let rows: Vec<Vec<(usize, DVec3)>> = pressing.iter().map(local).collect();
        let mut s = Matrix::zeros(rows.len(), rows.len());
        let mut of_s: Vec<&mut [f64]> = s.columns_mut().collect();
        of_s.par_iter_mut().enumerate().for_each(|(j, column)| {
            let mut solved = vec![DVec3::ZERO; n];
            for &(node, v) in &rows[j] {
                solved.iter_mut().zip(&inverse[node]).for_each(|(sum, g)| *sum += v * *g);
            }
            for (value, row) in column[j..].iter_mut().zip(&rows[j..]) {
                *value = row.iter().map(|&(node, v)| v.dot(solved[node])).sum();
            }
            column[j] += 1.0 / pressing[j].stiffness;
        });
        drop(of_s);
        s.mirror_lower();
        // Positive definite except for rounding; if this fails, the Laplacian alone still converges.
        let factor = Cholesky::factor(s).ok()?;
        Some(Self { base: base.clone(), reach: base.sweep.reach(&nodes), nodes, rows, factor })
    }

    /// Applies the inverse to `g`.
    pub(crate) fn apply(&self, g: &[DVec3], solved: &mut [DVec3], space: &mut Space) {
        let sweep = &self.base.sweep;
        sweep.halfway(g, &mut space.whole);
        let of_nodes = sweep.values_at(&space.whole, &self.reach, &self.nodes, &mut space.along);
        let along = |row: &Vec<(usize, DVec3)>| row.iter().map(|(node, v)| v.dot(of_nodes[*node])).sum();
        let mut forces: Vec<f64> = self.rows.iter().map(along).collect();
        self.factor.solve_in_place(&mut forces);
        let mut loads = vec![DVec3::ZERO; self.nodes.len()];
        for (row, force) in self.rows.iter().zip(forces) {
            row.iter().for_each(|(node, v)| loads[*node] -= *v * force);
        }
        let loads = self.nodes.iter().copied().zip(loads);
        sweep.load(&mut space.whole, &self.reach, loads, &mut space.along);
        sweep.finish(&mut space.whole, solved);
    }
}

/// Merges contacts with the same heaviest node into one row, their mean weighted by stiffness.
fn merged(pressing: Vec<ContactRow>) -> Vec<ContactRow> {
    let mut by_node: BTreeMap<u32, (f64, BTreeMap<u32, DVec3>)> = BTreeMap::new();
    for ContactRow { row, stiffness } in pressing {
        let heaviest = row.iter().max_by(|a, b| a.1.length_squared().total_cmp(&b.1.length_squared()));
        let Some(&(heaviest, _)) = heaviest else { continue };
        let (total, sum) = by_node.entry(heaviest).or_default();
        *total += stiffness;
        row.into_iter().for_each(|(node, v)| *sum.entry(node).or_default() += v * stiffness);
    }
    let mean = |(stiffness, sum): (f64, BTreeMap<u32, DVec3>)| ContactRow {
        row: sum.into_iter().map(|(node, v)| (node, v / stiffness)).collect(),
        stiffness,
    };
    by_node.into_values().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::planes::{Carriers, Contact, TetAttachment};
    use crate::fixtures::Random;
    use crate::minimize::quasi::Preconditioner;
    use crate::{Energy, Problem, Spring, Springs, Stencil, System};

    /// `(L + C^T K C) p = g` is `p + L^-1 C^T K C p = L^-1 g`; checked with a row per contact, and merged.
    #[test]
    fn the_preconditioner_solves_with_contacts() {
        let mut random = Random(3);
        let tets: Vec<Stencil> = (0..40u32).map(|i| [i, i + 1, i + 2, i + 3]).collect();
        let mut springs: Vec<Spring> =
            (0..43).map(|i| Spring::at_node(i, DVec3::ZERO, 1.0 + f64::from(i % 5))).collect();
        let along = |&nodes: &Stencil| Spring {
            nodes,
            weights: [0.6, -0.2, 0.9, -1.1],
            stiffness: 9.0,
            ..springs[0]
        };
        springs.extend(tets.iter().map(along).collect::<Vec<_>>());
        let springs = Springs::prepare(&springs).unwrap();
        let attachments: Vec<TetAttachment> =
            (0..40).map(|t| TetAttachment { tet: t, weights: [0.1, 0.2, 0.3, 0.4] }).collect();
        let carriers = Carriers::prepare(&attachments, &tets);
        let held: Vec<bool> = (0..43).map(|i| i == 7).collect();
        let contact = |i: u32| Contact {
            points: [i, (i + 20) % 40, (i + 21) % 40, (i + 22) % 40],
            coefficients: [1.0, -0.5, -0.25, -0.25],
            normal: random.vector().normalize(),
            room: -0.1,
            stiffness: 30.0,
            wall: 0.4,
            film: false,
        };
        let contacts: Vec<Contact> = (0..40).map(contact).collect();
        let x: Vec<DVec3> = (0..43).map(|_| random.vector()).collect();
        let g: Vec<DVec3> = (0..43).map(|i| if held[i] { DVec3::ZERO } else { random.vector() }).collect();
        let contacts = Contacts::prepare(&carriers, &attachments, &contacts, &x);
        let system = System::prepare(&held, &[springs.stencils(), carriers.stencils()]).unwrap();
        let energies: [&dyn Energy; 2] = [&springs, &contacts];
        let problem = Problem { system: &system, energies: &energies, loads: &[] };
        let plain = Preconditioner::laplacian(&problem).unwrap();
        let aware = plain.with_contacts(&contacts, &held, &x).unwrap();
        let pressing = contacts.pressing_rows(&x, &held);
        assert_eq!(pressing.len(), 40);
        let p = aware.solve(&g);
        let mut pushed = vec![DVec3::ZERO; 43];
        for ContactRow { row, stiffness } in &pressing {
            let along: f64 = row.iter().map(|(node, v)| v.dot(p[*node as usize])).sum();
            row.iter().for_each(|(node, v)| pushed[*node as usize] += *v * (along * stiffness));
        }
        let (left, right) = (plain.solve(&pushed), plain.solve(&g));
        let scale = right.iter().map(|v| v.length()).fold(0.0, f64::max);
        for node in 0..43 {
            assert!((p[node] + left[node] - right[node]).length() < 1e-4 * scale, "node {node}");
        }
        // Merged curvature is at most the full curvature in any direction, and equal to it where rows agree.
        let curvature = |pressing: &[ContactRow], d: &[DVec3]| -> f64 {
            let along = |b: &ContactRow| b.row.iter().map(|(node, v)| v.dot(d[*node as usize])).sum::<f64>();
            pressing.iter().map(|b| b.stiffness * along(b).powi(2)).sum()
        };
        let means = merged(pressing.clone());
        assert!(means.len() < pressing.len());
        assert!(curvature(&means, &p) <= curvature(&pressing, &p) && curvature(&means, &p) > 0.0);
        let twice = [&pressing[..1], &pressing[..1]].concat();
        let once = merged(twice.clone());
        assert!(once.len() == 1 && (curvature(&once, &p) / curvature(&twice, &p) - 1.0).abs() < 1e-9);
    }
}
