//! The panels of a factor, and which of them run in parallel.
//!
//! A *panel* is a run of columns of L with nearly the same rows (a supernode), stored as a dense block.
//! Columns with exactly the same rows form a panel first. A panel then joins its parent in the elimination
//! tree if the zeros that fill the common block cost less than the overhead of a panel of its own. Panels are
//! at most [`WIDEST`] columns wide, so wide separators are chains of panels.

use std::collections::BTreeSet;
use std::ops::Range;

/// Rows of L that are processed together.
pub(super) const ROWS: usize = 8;

/// Most columns of a panel.
pub(super) const WIDEST: usize = 32;

/// Largest number of branches; more threads bring no gain.
const BRANCHES: usize = 4;

/// Subtrees that are split without improvement before the search for a better partition ends.
const PATIENCE: usize = 200;

/// Costs in units of [`ROWS`] entries of L: of a panel, and of gathering and scattering [`ROWS`] rows.
const PANEL_COST: usize = 12;
const ROWS_COST: usize = 4;

/// Index of the trunk where a branch index is expected.
pub(super) const TRUNK: u32 = u32::MAX;

/// No parent.
pub(super) const NONE: u32 = u32::MAX;

/// L by columns, without its diagonal.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) start: Vec<usize>,
    /// Ascending in each column.
    pub(super) row: Vec<u32>,
    pub(super) value: Vec<f64>,
    pub(super) diagonal: Vec<f64>,
}

impl Columns {
    pub(super) fn of(&self, column: usize) -> Range<usize> {
        self.start[column]..self.start[column + 1]
    }
}

/// Columns with a common list of rows.
#[derive(Debug, Clone)]
pub(super) struct Panel {
    pub(super) columns: Range<usize>,
    /// Rows below the last column, ascending.
    pub(super) below: Vec<u32>,
}

impl Panel {
    fn cost(n_columns: usize, n_below: usize) -> usize {
        PANEL_COST + (n_columns + n_below).div_ceil(ROWS) * (ROWS_COST + n_columns)
    }

    fn own_cost(&self) -> usize {
        Self::cost(self.columns.len(), self.below.len())
    }
}

/// The panels of a factor in elimination order.
pub(super) fn panels(l: &Columns) -> Vec<Panel> {
    let n = l.diagonal.len();
    let mut done: Vec<Panel> = Vec::new();
    let mut first = 0;
    while first < n {
        let mut end = first + 1;
        let continues = |end: usize| {
            let (rows, next) = (&l.row[l.of(end - 1)], l.of(end).len());
            rows.first() == Some(&(end as u32)) && rows.len() == next + 1
        };
        while end < n && continues(end) {
            end += 1;
        }
        let below = l.row[l.of(end - 1)].to_vec();
        let n_parts = (end - first).div_ceil(WIDEST);
        let n_columns = (end - first).div_ceil(n_parts);
        for start in (first..end).step_by(n_columns) {
            let columns = start..(start + n_columns).min(end);
            let rest = columns.end as u32..end as u32;
            let panel = Panel { columns, below: rest.chain(below.iter().copied()).collect() };
            let panel = with_children(&mut done, panel);
            done.push(panel);
        }
        first = end;
    }
    done
}

/// Joins a panel with children that end where it begins. Their other rows are among its own.
fn with_children(done: &mut Vec<Panel>, mut panel: Panel) -> Panel {
    while let Some(child) = done.last() {
        let is_child = child.below.first().is_some_and(|&row| panel.columns.contains(&(row as usize)));
        let n_columns = panel.columns.len() + child.columns.len();
        let joined = Panel::cost(n_columns, panel.below.len());
        let pays = joined <= panel.own_cost() + child.own_cost();
        if !is_child || child.columns.end != panel.columns.start || n_columns > WIDEST || !pays {
            break;
        }
        panel.columns.start = child.columns.start;
        done.pop();
    }
    panel
}

/// The elimination tree of panels: parents come after their children.
pub(super) struct Tree {
    pub(super) parent: Vec<u32>,
    work: Vec<usize>,
}

impl Tree {
    pub(super) fn prepare(panels: &[Panel], panel_of: &[u32]) -> Self {
        let parent = |panel: &Panel| panel.below.first().map_or(NONE, |&row| panel_of[row as usize]);
        Self {
            parent: panels.iter().map(parent).collect(),
            work: panels.iter().map(Panel::own_cost).collect(),
        }
    }

    /// The branch of each panel, or [`TRUNK`]. Repeatedly moves the root of the largest subtree to the trunk
    /// as long as this reduces the work of the trunk plus the heaviest branch.
    pub(super) fn cut(&self) -> Vec<u32> {
        let n = self.parent.len();
        let mut below = self.work.clone();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut roots = BTreeSet::new();
        for i in 0..n {
            match self.parent[i] {
                NONE => _ = roots.insert((below[i], i as u32)),
                parent => {
                    below[parent as usize] += below[i];
                    children[parent as usize].push(i as u32);
                }
            }
        }
        let mut trunk = 0;
        let mut best = (usize::MAX, roots.clone());
        let mut in_vain = 0;
        while in_vain < PATIENCE {
            let heaviest = spread(&roots).1;
            in_vain += 1;
            if trunk + heaviest < best.0 {
                best = (trunk + heaviest, roots.clone());
                in_vain = 0;
            }
            let Some((_, root)) = roots.pop_last() else { break };
            trunk += self.work[root as usize];
            if trunk >= best.0 {
                break;
            }
            roots.extend(children[root as usize].iter().map(|&c| (below[c as usize], c)));
        }
        let mut branch = vec![TRUNK; n];
        for (root, of) in spread(&best.1).0 {
            branch[root as usize] = of;
        }
        for i in (0..n).rev() {
            if let (TRUNK, Some(&above)) = (branch[i], branch.get(self.parent[i] as usize)) {
                branch[i] = above;
            }
        }
        branch
    }
}

/// Assigns each subtree, heaviest first, to the lightest branch. Also returns the work of the heaviest.
fn spread(roots: &BTreeSet<(usize, u32)>) -> (Vec<(u32, u32)>, usize) {
    let mut loads = [0; BRANCHES];
    let mut branch = Vec::with_capacity(roots.len());
    for &(work, root) in roots.iter().rev() {
        let lightest = (0..BRANCHES).min_by_key(|&k| loads[k]).unwrap_or(0);
        loads[lightest] += work;
        branch.push((root, lightest as u32));
    }
    (branch, loads.into_iter().max().unwrap_or(0))
}
