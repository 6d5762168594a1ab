//! Single-precision triangular solves with a scalar factor for x, y and z at once, used as preconditioners.
//!
//! With `A = L L^T`, forward substitution solves `L y = b` and backward substitution solves `L^T x = y`, one
//! unknown after the other. Each unknown subtracts the product of its row of L (its column in backward
//! substitution) with the known values. L is stored both by rows and by columns, so that each unknown is
//! written once. Everything is in f32, which halves the memory traffic. The right-hand side is first scaled
//! to be near one, so that its magnitude costs no precision.
//!
//! In the elimination tree, forward substitution of an unknown needs only its descendants, backward
//! substitution only its ancestors. Subtrees are grouped into branches, which run in parallel; the unknowns
//! above all branches form the trunk. The partition depends on the factor alone, and so do the bits of the
//! solution.
//!
//! The two substitutions can be called separately. Between them the state is `y = L^-1 b`. The half columns
//! `L^-1 e` of selected nodes give the change of `y`, and with it of the solution, with loads at those nodes.

use crate::sparse_cholesky::SparseCholesky;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Largest number of branches; more threads bring no gain.
const BRANCHES: usize = 4;

/// Subtrees that are split without improvement before the search for a better partition ends.
const PATIENCE: usize = 200;

/// A list of entries for each unknown.
#[derive(Debug, Clone, Default)]
struct Lists {
    start: Vec<u32>,
    other: Vec<u32>,
    value: Vec<f32>,
}

impl Lists {
    /// From `(unknown, other, value)`; the entries of an unknown keep their order.
    fn prepare(n: usize, entries: &[(u32, u32, f32)]) -> Self {
        let mut start = vec![0u32; n + 1];
        entries.iter().for_each(|(at, _, _)| start[*at as usize + 1] += 1);
        (0..n).for_each(|i| start[i + 1] += start[i]);
        let mut next = start.clone();
        let (mut others, mut values) = (vec![0; start[n] as usize], vec![0.0; start[n] as usize]);
        for &(at, other, value) in entries {
            let place = next[at as usize] as usize;
            (others[place], values[place]) = (other, value);
            next[at as usize] += 1;
        }
        Self { start, other: others, value: values }
    }

    /// The sum of the entries of `i` times `x`.
    #[inline(always)]
    fn sum(&self, i: usize, x: &[[f32; 4]]) -> [f32; 4] {
        let mine = self.start[i] as usize..self.start[i + 1] as usize;
        let (others, values) = (&self.other[mine.clone()], &self.value[mine]);
        let mut sums = [[0.0; 4]; 4];
        let ((four_others, rest_others), (four_values, rest_values)) =
            (others.as_chunks::<4>(), values.as_chunks::<4>());
        for (others, values) in four_others.iter().zip(four_values) {
            for j in 0..4 {
                sums[j] = add(sums[j], values[j], x[others[j] as usize]);
            }
        }
        for ((sum, &other), &value) in sums.iter_mut().zip(rest_others).zip(rest_values) {
            *sum = add(*sum, value, x[other as usize]);
        }
        std::array::from_fn(|k| (sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k]))
    }

    /// `(x[i] - sum of entries times x) * scale`.
    #[inline(always)]
    fn remain(&self, i: usize, x: &[[f32; 4]], scale: f32) -> [f32; 4] {
        let sum = self.sum(i, x);
        std::array::from_fn(|k| (x[i][k] - sum[k]) * scale)
    }
}

#[inline(always)]
fn add(sum: [f32; 4], value: f32, known: [f32; 4]) -> [f32; 4] {
    std::array::from_fn(|k| sum[k] + value * known[k])
}

/// Unknowns that do not depend on other branches.
#[derive(Debug, Clone, Default)]
struct Branch {
    /// Node of each unknown.
    nodes: Vec<u32>,
    inverse_diagonal: Vec<f32>,
    /// Rows of L.
    rows: Lists,
    /// Rows of L of the trunk, restricted to the columns of this branch.
    upward: Lists,
    /// Columns of L; unknowns of the trunk are numbered after those of the branch.
    columns: Lists,
}

impl Branch {
    /// Forward substitution. `x` holds a value for each unknown of the branch, then one for each of the
    /// trunk; the latter are overwritten with the amounts that the trunk has to subtract.
    fn there(&self, x: &mut [[f32; 4]]) {
        for (i, &scale) in self.inverse_diagonal.iter().enumerate() {
            x[i] = self.rows.remain(i, x, scale);
        }
        let (own, trunk) = x.split_at_mut(self.nodes.len());
        trunk.iter_mut().enumerate().for_each(|(i, value)| *value = self.upward.sum(i, own));
    }

    /// Backward substitution. `x` holds the result of `there`, then the solution on the trunk.
    fn back(&self, x: &mut [[f32; 4]]) {
        for (i, &scale) in self.inverse_diagonal.iter().enumerate().rev() {
            x[i] = self.columns.remain(i, x, scale);
        }
    }
}

/// `L` by rows and by columns, without its diagonal, cut into branches and a trunk.
#[derive(Debug, Clone)]
pub struct Sweep {
    branches: Vec<Branch>,
    /// Its `upward` is empty, since nothing is above it.
    trunk: Branch,
    /// Branch (or [`TRUNK`]) and unknown of each node; `None` for held nodes.
    places: Vec<Option<(u32, u32)>>,
}

/// Index of the trunk where a branch index is expected.
const TRUNK: u32 = u32::MAX;

/// Workspace of the solves, kept by the caller. Between the two substitutions it holds `L^-1 b`.
#[derive(Debug, Clone, Default)]
pub struct SweepSpace {
    /// Unknowns of the branch, then those of the trunk.
    branches: Vec<Vec<[f32; 4]>>,
    trunk: Vec<[f32; 4]>,
    scale: f64,
}

/// `L^-1 e` of a node; nonzero only at the node and its ancestors in the elimination tree.
#[derive(Debug, Clone)]
pub struct HalfColumn {
    branch: u32,
    own: Vec<(u32, f32)>,
    /// First nonzero unknown of the trunk.
    first: usize,
    trunk: Box<[f32]>,
}

impl HalfColumn {
    /// Number of stored values.
    pub fn n_values(&self) -> usize {
        2 * self.own.len() + self.trunk.len()
    }
}

/// A column of `A^-1`, and its half column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Values at the requested nodes.
    pub at: Box<[f32]>,
    /// Result of the forward substitution.
    pub half: HalfColumn,
}

impl Sweep {
    /// Copies and partitions a factor.
    pub fn prepare(factor: &SparseCholesky<1>) -> Self {
        let nodes = factor.nodes();
        let n = nodes.len();
        let mut inverse_diagonal = vec![1.0; n];
        let mut below: Vec<(u32, u32, f32)> = Vec::new();
        let mut tree = Tree { parent: vec![NONE; n], work: vec![1; n] };
        factor.for_entries(|row, column, value| {
            if row == column {
                inverse_diagonal[row] = (1.0 / value) as f32;
                return;
            }
            if tree.parent[column] == NONE {
                tree.parent[column] = row as u32;
            }
            if value != 0.0 {
                tree.work[column] += 1;
                below.push((row as u32, column as u32, value as f32));
            }
        });
        let branch_of = tree.cut();
        let n_branches = branch_of.iter().filter(|b| **b != TRUNK).max().map_or(0, |b| *b as usize + 1);
        let mut parts = vec![Branch::default(); n_branches + 1];
        let part = |i: u32| (branch_of[i as usize] as usize).min(n_branches);
        let mut local = vec![0u32; n];
        for i in 0..n {
            let part = &mut parts[part(i as u32)];
            local[i] = part.nodes.len() as u32;
            part.nodes.push(nodes[i]);
            part.inverse_diagonal.push(inverse_diagonal[i]);
        }
        let n_trunk = parts[n_branches].nodes.len();
        for (k, branch) in parts.iter_mut().enumerate() {
            let n_own = branch.nodes.len();
            let [mut rows, mut upward, mut columns] = [const { Vec::<(u32, u32, f32)>::new() }; 3];
            for &(row, column, value) in below.iter().filter(|(_, column, _)| part(*column) == k) {
                let (r, c) = (local[row as usize], local[column as usize]);
                match part(row) == k {
                    true => (rows.push((r, c, value)), columns.push((c, r, value))),
                    false => (upward.push((r, c, value)), columns.push((c, n_own as u32 + r, value))),
                };
            }
            branch.rows = Lists::prepare(n_own, &rows);
            branch.upward = Lists::prepare(n_trunk, &upward);
            branch.columns = Lists::prepare(n_own, &columns);
        }
        let trunk = parts.pop().unwrap_or_default();
        let n_nodes = nodes.iter().map(|&node| node as usize + 1).max().unwrap_or(0);
        let mut places = vec![None; n_nodes];
        for (i, &node) in nodes.iter().enumerate() {
            places[node as usize] = Some((branch_of[i], local[i]));
        }
        Self { branches: parts, trunk, places }
    }

    /// Number of branches, which run in parallel.
    #[cfg(test)]
    pub(crate) fn n_branches(&self) -> usize {
        self.branches.len()
    }

    /// Bytes of the factor that a solve reads.
    pub fn n_bytes(&self) -> usize {
        let entries = |b: &Branch| b.rows.other.len() + b.upward.other.len() + b.columns.other.len();
        let n: usize = self.branches.iter().chain([&self.trunk]).map(entries).sum();
        n * (size_of::<u32>() + size_of::<f32>())
    }

    /// Columns of `A^-1` of the nodes `wanted`, restricted to the nodes `at`; zero for held ones.
    pub fn columns(&self, wanted: &[u32], at: &[u32]) -> Vec<Column> {
        let four = |wanted: &[u32]| {
            let place = |node: u32| self.places.get(node as usize).copied().flatten();
            let mut space = self.space();
            for (k, &node) in wanted.iter().enumerate() {
                match place(node) {
                    Some((TRUNK, i)) => space.trunk[i as usize][k] = 1.0,
                    Some((branch, i)) => space.branches[branch as usize][i as usize][k] = 1.0,
                    None => (),
                }
            }
            self.there(&mut space);
            let halves = wanted.iter().enumerate().map(|(k, &node)| self.half(&space, k, place(node)));
            let halves: Vec<HalfColumn> = halves.collect();
            self.back(&mut space);
            let value = |k: usize, node: u32| match place(node) {
                Some((TRUNK, i)) => space.trunk[i as usize][k],
                Some((branch, i)) => space.branches[branch as usize][i as usize][k],
                None => 0.0,
            };
            let whole = |k: usize| at.iter().map(|&node| value(k, node)).collect();
            halves
                .into_iter()
                .enumerate()
                .map(|(k, half)| Column { at: whole(k), half })
                .collect::<Vec<Column>>()
        };
        wanted.par_chunks(4).flat_map_iter(four).collect()
    }

    /// Lane `k` of the result of the forward substitution.
    fn half(&self, space: &SweepSpace, k: usize, place: Option<(u32, u32)>) -> HalfColumn {
        let branch = place.map_or(TRUNK, |(branch, _)| branch);
        let own =
            self.branches.get(branch as usize).map(|b| &space.branches[branch as usize][..b.nodes.len()]);
        let own = own.unwrap_or_default().iter().enumerate().filter(|(_, v)| v[k] != 0.0);
        let first = space.trunk.iter().position(|v| v[k] != 0.0).unwrap_or(space.trunk.len());
        HalfColumn {
            branch,
            own: own.map(|(i, v)| (i as u32, v[k])).collect(),
            first,
            trunk: space.trunk[first..].iter().map(|v| v[k]).collect(),
        }
    }

    /// `x = A^-1 b` for values at all nodes; held nodes get zero.
    pub fn solve(&self, b: &[DVec3], x: &mut [DVec3], space: &mut SweepSpace) {
        self.halfway(b, space);
        self.finish(space, x);
    }

    /// Forward substitution.
    pub fn halfway(&self, b: &[DVec3], space: &mut SweepSpace) {
        let largest = b.iter().fold(0.0f64, |most, v| most.max(v.abs().max_element()));
        space.scale = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let inverse = 1.0 / space.scale;
        let load = |&node: &u32| {
            let b = (b[node as usize] * inverse).as_vec3();
            [b.x, b.y, b.z, 0.0]
        };
        space.branches.resize_with(self.branches.len(), Vec::new);
        for (values, branch) in space.branches.iter_mut().zip(&self.branches) {
            values.clear();
            values.extend(branch.nodes.iter().map(load));
            values.resize(branch.nodes.len() + self.trunk.nodes.len(), [0.0; 4]);
        }
        space.trunk.clear();
        space.trunk.extend(self.trunk.nodes.iter().map(load));
        self.there(space);
    }

    /// Backward substitution, to values at all nodes; held nodes get zero.
    pub fn finish(&self, space: &mut SweepSpace, x: &mut [DVec3]) {
        self.back(space);
        x.fill(DVec3::ZERO);
        let parts = self.branches.iter().zip(&space.branches).chain([(&self.trunk, &space.trunk)]);
        for (branch, values) in parts {
            for (value, &node) in values.iter().zip(&branch.nodes) {
                x[node as usize] = Vec3::new(value[0], value[1], value[2]).as_dvec3() * space.scale;
            }
        }
    }

    fn space(&self) -> SweepSpace {
        let n_trunk = self.trunk.nodes.len();
        let zeros = |b: &Branch| vec![[0.0; 4]; b.nodes.len() + n_trunk];
        SweepSpace {
            branches: self.branches.iter().map(zeros).collect(),
            trunk: vec![[0.0; 4]; n_trunk],
            scale: 1.0,
        }
    }

    fn there(&self, space: &mut SweepSpace) {
        self.branches.par_iter().zip(&mut space.branches).for_each(|(branch, x)| branch.there(x));
        for (branch, x) in self.branches.iter().zip(&space.branches) {
            for (value, less) in space.trunk.iter_mut().zip(&x[branch.nodes.len()..]) {
                *value = std::array::from_fn(|k| value[k] - less[k]);
            }
        }
        self.trunk.there(&mut space.trunk);
    }

    fn back(&self, space: &mut SweepSpace) {
        self.trunk.back(&mut space.trunk);
        let trunk = &space.trunk;
        self.branches.par_iter().zip(&mut space.branches).for_each(|(branch, x)| {
            x[branch.nodes.len()..].copy_from_slice(trunk);
            branch.back(x);
        });
    }
}

impl SweepSpace {
    /// Dot product of the state `L^-1 b` with a half column: the solution at its node.
    pub fn along(&self, half: &HalfColumn) -> DVec3 {
        let mut sums = [[0.0; 4]; 4];
        let (fours, rest) = half.trunk.as_chunks::<4>();
        let (four_values, rest_values) = self.trunk[half.first..].as_chunks::<4>();
        for (values, halves) in four_values.iter().zip(fours) {
            (0..4).for_each(|j| sums[j] = add(sums[j], halves[j], values[j]));
        }
        rest_values.iter().zip(rest).for_each(|(&value, &half)| sums[0] = add(sums[0], half, value));
        if let Some(own) = self.branches.get(half.branch as usize) {
            half.own.iter().for_each(|&(i, half)| sums[1] = add(sums[1], half, own[i as usize]));
        }
        let sum = |k: usize| f64::from((sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k])) * self.scale;
        DVec3::new(sum(0), sum(1), sum(2))
    }

    /// Adds a load at the node of a half column.
    pub fn load(&mut self, half: &HalfColumn, load: DVec3) {
        let load = (load / self.scale).as_vec3();
        let load = [load.x, load.y, load.z, 0.0];
        for (value, &half) in self.trunk[half.first..].iter_mut().zip(&half.trunk) {
            *value = add(*value, half, load);
        }
        if let Some(own) = self.branches.get_mut(half.branch as usize) {
            half.own.iter().for_each(|&(i, half)| own[i as usize] = add(own[i as usize], half, load));
        }
    }
}

/// No parent.
const NONE: u32 = u32::MAX;

/// The elimination tree: parents come after their children.
struct Tree {
    parent: Vec<u32>,
    work: Vec<usize>,
}

impl Tree {
    /// The branch of each unknown, or [`TRUNK`]. Repeatedly moves the root of the largest subtree to the
    /// trunk as long as this reduces the work of the trunk plus the heaviest branch.
    fn cut(&self) -> Vec<u32> {
        let n = self.parent.len();
        let mut below = self.work.clone();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut roots = std::collections::BTreeSet::new();
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
fn spread(roots: &std::collections::BTreeSet<(usize, u32)>) -> (Vec<(u32, u32)>, usize) {
    let mut loads = [0; BRANCHES];
    let mut branch = Vec::with_capacity(roots.len());
    for &(work, root) in roots.iter().rev() {
        let lightest = (0..BRANCHES).min_by_key(|&k| loads[k]).unwrap_or(0);
        loads[lightest] += work;
        branch.push((root, lightest as u32));
    }
    (branch, loads.into_iter().max().unwrap_or(0))
}
