//! Quick triangular solves with a scalar factor for x, y and z at once, whole or along paths of the
//! elimination tree.
//!
//! With `A = L L^T`, forward substitution solves `L y = b` and backward substitution solves `L^T x = y`. L is
//! stored once, as dense blocks without an index for every entry (`dense`), and each substitution reads it
//! once. In single precision, which preconditioners and projective dynamics use, that is four bytes an entry.
//! The right-hand side is first scaled to be near one, so that its magnitude costs no precision.
//!
//! In the elimination tree, forward substitution of an unknown needs only its descendants, backward
//! substitution only its ancestors. Subtrees are grouped into branches, which run in parallel; the panels
//! above all branches form the trunk (`panels`). The partition depends on the factor alone, and so do the
//! bits of the solution.
//!
//! The two substitutions can be called separately. Between them the state is `y = L^-1 b`. A [`Reach`] is the
//! union of the paths from some nodes to the roots. Along it, the solution at these nodes is found without
//! the rest of the solution ([`Sweep::values_at`]), loads at these nodes are added to the state
//! ([`Sweep::load`]), and columns of the inverse are restricted to them ([`Sweep::columns`]).

mod dense;
mod panels;
mod width;

use crate::sparse_cholesky::SparseCholesky;
pub use dense::Real;
use dense::{Blocks, Four};
use glam::DVec3;
use panels::{Columns, NONE, TRUNK, Tree, panels};
use pulp::Arch;
use rayon::prelude::*;

/// Nodes per parallel task.
const NODES: usize = 8192;

/// A part of the elimination tree. Its vectors hold a value for each of its own unknowns, then for each of
/// the trunk, then a zero.
#[derive(Debug, Clone)]
struct Part<T> {
    /// Node of each unknown.
    nodes: Vec<u32>,
    blocks: Blocks<T>,
}

/// A factor for quick solves.
#[derive(Debug, Clone)]
pub struct Sweep<T = f32> {
    branches: Vec<Part<T>>,
    trunk: Part<T>,
    /// Branch (or [`TRUNK`]) and unknown of each node; `None` for held nodes.
    places: Vec<Option<(u32, u32)>>,
    /// Branch (or [`TRUNK`]) and number there of each panel, in elimination order.
    panels: Vec<(u32, u32)>,
    parent: Vec<u32>,
    /// Panel of each unknown, for branches and then for the trunk.
    panel_of: Vec<Vec<u32>>,
    arch: Arch,
}

/// Workspace of the solves, kept by the caller. Between the two substitutions it holds `L^-1 b`.
#[derive(Debug, Clone)]
pub struct SweepSpace<T = f32> {
    branches: Vec<Vec<Four<T>>>,
    trunk: Vec<Four<T>>,
    scale: f64,
}

impl<T> Default for SweepSpace<T> {
    fn default() -> Self {
        Self { branches: Vec::new(), trunk: Vec::new(), scale: 1.0 }
    }
}

/// The panels on the paths from some nodes to the roots of the elimination tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reach {
    branches: Vec<Vec<u32>>,
    trunk: Vec<u32>,
}

impl<T: Real> Sweep<T> {
    /// Copies and partitions a factor.
    pub fn prepare(factor: &SparseCholesky<1>) -> Self {
        let nodes = factor.nodes();
        let n = nodes.len();
        let mut l = Columns { diagonal: vec![1.0; n], ..Columns::default() };
        factor.for_entries(|row, column, value| {
            if row == column {
                l.start.push(l.row.len());
                l.diagonal[row] = value;
            } else {
                l.row.push(row as u32);
                l.value.push(value);
            }
        });
        l.start.push(l.row.len());
        let all = panels(&l);
        let mut panel_of = vec![0u32; n];
        for (k, panel) in all.iter().enumerate() {
            panel_of[panel.columns.clone()].fill(k as u32);
        }
        let tree = Tree::prepare(&all, &panel_of);
        let branch_of = tree.cut();
        let n_branches = branch_of.iter().filter(|b| **b != TRUNK).max().map_or(0, |b| *b as usize + 1);
        let part = |branch: u32| (branch as usize).min(n_branches);
        let mut own: Vec<Vec<u32>> = vec![Vec::new(); n_branches + 1];
        let mut unknown = vec![0u32; n];
        for (panel, &branch) in all.iter().zip(&branch_of) {
            for column in panel.columns.clone() {
                unknown[column] = own[part(branch)].len() as u32;
                own[part(branch)].push(nodes[column]);
            }
        }
        let n_trunk = own[n_branches].len();
        let mut parts: Vec<Part<T>> =
            own.into_iter().map(|nodes| Part { nodes, blocks: Blocks::default() }).collect();
        let mut places_of_panels = Vec::with_capacity(all.len());
        let mut of_unknowns: Vec<Vec<u32>> = parts.iter().map(|part| vec![0; part.nodes.len()]).collect();
        for (k, (panel, &branch)) in all.iter().zip(&branch_of).enumerate() {
            let here = &mut parts[part(branch)];
            let n_own = here.nodes.len() as u32;
            let local = |row: u32| {
                let above = branch != TRUNK && branch_of[panel_of[row as usize] as usize] == TRUNK;
                unknown[row as usize] + if above { n_own } else { 0 }
            };
            let zero = n_own + if branch == TRUNK { 0 } else { n_trunk as u32 };
            here.blocks.push(&l, panel, local, zero);
            let number = here.blocks.n_panels() as u32 - 1;
            of_unknowns[part(branch)][here.blocks.own(number)].fill(k as u32);
            places_of_panels.push((branch, number));
        }
        let trunk = parts.pop().unwrap_or(Part { nodes: Vec::new(), blocks: Blocks::default() });
        let n_nodes = nodes.iter().map(|&node| node as usize + 1).max().unwrap_or(0);
        let mut places = vec![None; n_nodes];
        for (i, &node) in nodes.iter().enumerate() {
            places[node as usize] = Some((branch_of[panel_of[i] as usize], unknown[i]));
        }
        Self {
            branches: parts,
            trunk,
            places,
            panels: places_of_panels,
            parent: tree.parent,
            panel_of: of_unknowns,
            arch: Arch::new(),
        }
    }

    /// Number of branches, which run in parallel.
    #[cfg(test)]
    pub(crate) fn n_branches(&self) -> usize {
        self.branches.len()
    }

    /// Bytes of the factor that each of the two substitutions reads.
    pub fn n_bytes(&self) -> usize {
        self.branches.iter().chain([&self.trunk]).map(|part| part.blocks.n_bytes()).sum()
    }

    fn place(&self, node: u32) -> Option<(u32, u32)> {
        self.places.get(node as usize).copied().flatten()
    }

    /// The paths from some nodes to the roots. Held nodes have none.
    pub fn reach(&self, nodes: &[u32]) -> Reach {
        let mut marked = vec![false; self.panels.len()];
        for (branch, unknown) in nodes.iter().filter_map(|&node| self.place(node)) {
            let list = self.panel_of.get(branch as usize).or(self.panel_of.last());
            let mut panel = list.map_or(NONE, |list| list[unknown as usize]);
            while panel != NONE && !std::mem::replace(&mut marked[panel as usize], true) {
                panel = self.parent[panel as usize];
            }
        }
        let mut reach = Reach { branches: vec![Vec::new(); self.branches.len()], trunk: Vec::new() };
        for (&(branch, number), _) in self.panels.iter().zip(marked).filter(|(_, marked)| *marked) {
            reach.branches.get_mut(branch as usize).unwrap_or(&mut reach.trunk).push(number);
        }
        reach
    }

    /// `x = A^-1 b` for values at all nodes; held nodes get zero.
    pub fn solve(&self, b: &[DVec3], x: &mut [DVec3], space: &mut SweepSpace<T>) {
        self.halfway(b, space);
        self.finish(space, x);
    }

    /// `x = A^-1 b` in place for each of many right-hand sides, which run in parallel. The bits are those of
    /// [`Sweep::solve`].
    pub fn solve_many(&self, many: &mut [Vec<DVec3>]) {
        let with_space = |(space, x): &mut (SweepSpace<T>, Vec<DVec3>), b: &mut Vec<DVec3>| {
            x.resize(b.len(), DVec3::ZERO);
            self.solve(b, x, space);
            std::mem::swap(b, x);
        };
        many.par_iter_mut().with_max_len(1).for_each_init(Default::default, with_space);
    }

    /// Forward substitution.
    pub fn halfway(&self, b: &[DVec3], space: &mut SweepSpace<T>) {
        let largest_of = |b: &[DVec3]| b.iter().fold(0.0f64, |most, v| most.max(v.abs().max_element()));
        let largest = b.par_chunks(NODES).map(largest_of).reduce(|| 0.0, f64::max);
        space.scale = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let inverse = 1.0 / space.scale;
        let n_trunk = self.trunk.nodes.len();
        let load = |values: &mut Vec<Four<T>>, part: &Part<T>, n_more: usize| {
            values.clear();
            values.extend(part.nodes.iter().map(|&node| four(b[node as usize] * inverse)));
            values.resize(part.nodes.len() + n_more, [T::default(); 4]);
        };
        space.branches.resize_with(self.branches.len(), Vec::new);
        self.branches.par_iter().zip(&mut space.branches).for_each(|(branch, x)| {
            load(x, branch, n_trunk + 1);
            branch.blocks.forward(self.arch, x);
        });
        load(&mut space.trunk, &self.trunk, 1);
        self.gather(space);
        self.trunk.blocks.forward(self.arch, &mut space.trunk);
    }

    /// Backward substitution, to values at all nodes; held nodes get zero.
    pub fn finish(&self, space: &mut SweepSpace<T>, x: &mut [DVec3]) {
        self.trunk.blocks.backward(self.arch, &mut space.trunk);
        let trunk = &space.trunk;
        self.branches.par_iter().zip(&mut space.branches).for_each(|(branch, x)| {
            x[branch.nodes.len()..].copy_from_slice(trunk);
            branch.blocks.backward(self.arch, x);
        });
        // Nodes after the last free one have no place.
        let (x, held) = x.split_at_mut(self.places.len());
        held.fill(DVec3::ZERO);
        let space = &*space;
        x.par_chunks_mut(NODES).zip(self.places.par_chunks(NODES)).for_each(|(x, places)| {
            for (x, place) in x.iter_mut().zip(places) {
                *x = place.map_or(DVec3::ZERO, |place| vector(space.at(place)) * space.scale);
            }
        });
    }

    /// Adds to the trunk what the branches leave for it.
    fn gather(&self, space: &mut SweepSpace<T>) {
        for (branch, x) in self.branches.iter().zip(&space.branches) {
            for (value, more) in space.trunk.iter_mut().zip(&x[branch.nodes.len()..]) {
                *value = std::array::from_fn(|k| value[k] + more[k]);
            }
        }
    }

    /// Between the substitutions: the solution at nodes that `reach` was made for. `scratch` is any space.
    pub fn values_at(
        &self,
        space: &SweepSpace<T>,
        reach: &Reach,
        nodes: &[u32],
        scratch: &mut SweepSpace<T>,
    ) -> Vec<DVec3> {
        self.fit(scratch);
        let copied = |part: &Part<T>, panels: &[u32], from: &[Four<T>], to: &mut [Four<T>]| {
            for own in panels.iter().map(|&panel| part.blocks.own(panel)) {
                to[own.clone()].copy_from_slice(&from[own]);
            }
        };
        copied(&self.trunk, &reach.trunk, &space.trunk, &mut scratch.trunk);
        for ((part, panels), (from, to)) in
            self.branches.iter().zip(&reach.branches).zip(space.branches.iter().zip(&mut scratch.branches))
        {
            copied(part, panels, from, to);
        }
        self.backward_along(reach, scratch);
        let at = |&node: &u32| self.place(node).map_or(DVec3::ZERO, |place| vector(scratch.at(place)));
        nodes.iter().map(|node| at(node) * space.scale).collect()
    }

    /// Between the substitutions: adds loads at nodes that `reach` was made for. `scratch` is any space.
    pub fn load(
        &self,
        space: &mut SweepSpace<T>,
        reach: &Reach,
        loads: impl Iterator<Item = (u32, DVec3)>,
        scratch: &mut SweepSpace<T>,
    ) {
        self.clear_along(reach, scratch);
        let inverse = 1.0 / space.scale;
        for (node, load) in loads {
            if let Some(place) = self.place(node) {
                let value = scratch.at_mut(place);
                let more = four::<T>(load * inverse);
                *value = std::array::from_fn(|k| value[k] + more[k]);
            }
        }
        self.forward_along(reach, scratch);
        let added = |part: &Part<T>, panels: &[u32], from: &[Four<T>], to: &mut [Four<T>]| {
            for i in panels.iter().flat_map(|&panel| part.blocks.own(panel)) {
                to[i] = std::array::from_fn(|k| to[i][k] + from[i][k]);
            }
        };
        added(&self.trunk, &reach.trunk, &scratch.trunk, &mut space.trunk);
        for ((part, panels), (from, to)) in
            self.branches.iter().zip(&reach.branches).zip(scratch.branches.iter().zip(&mut space.branches))
        {
            added(part, panels, from, to);
        }
    }

    /// Columns of `A^-1` of the nodes `wanted`, restricted to the nodes `at`, for which `reach` was made;
    /// zero for held ones.
    pub fn columns(&self, wanted: &[u32], at: &[u32], reach: &Reach) -> Vec<Box<[T]>> {
        let four = |wanted: &[u32]| {
            let mut space = SweepSpace::default();
            self.fit(&mut space);
            space.trunk.fill([T::default(); 4]);
            space.branches.iter_mut().for_each(|x| x.fill([T::default(); 4]));
            for (k, &node) in wanted.iter().enumerate() {
                if let Some(place) = self.place(node) {
                    space.at_mut(place)[k] = T::of(1.0);
                }
            }
            self.forward_along(&self.reach(wanted), &mut space);
            self.backward_along(reach, &mut space);
            let value =
                |k: usize, &node: &u32| self.place(node).map_or(T::default(), |place| space.at(place)[k]);
            (0..wanted.len()).map(|k| at.iter().map(|node| value(k, node)).collect()).collect::<Vec<_>>()
        };
        wanted.par_chunks(4).flat_map_iter(four).collect()
    }

    fn forward_along(&self, reach: &Reach, space: &mut SweepSpace<T>) {
        let branches = self.branches.par_iter().zip(&reach.branches).zip(&mut space.branches);
        branches.filter(|((_, panels), _)| !panels.is_empty()).for_each(|((branch, panels), x)| {
            x[branch.nodes.len()..].fill([T::default(); 4]);
            branch.blocks.forward_some(self.arch, panels, x);
        });
        for ((branch, panels), x) in self.branches.iter().zip(&reach.branches).zip(&space.branches) {
            if !panels.is_empty() {
                for (value, more) in space.trunk.iter_mut().zip(&x[branch.nodes.len()..]) {
                    *value = std::array::from_fn(|k| value[k] + more[k]);
                }
            }
        }
        self.trunk.blocks.forward_some(self.arch, &reach.trunk, &mut space.trunk);
    }

    fn backward_along(&self, reach: &Reach, space: &mut SweepSpace<T>) {
        self.trunk.blocks.backward_some(self.arch, &reach.trunk, &mut space.trunk);
        let trunk = &space.trunk;
        let branches = self.branches.par_iter().zip(&reach.branches).zip(&mut space.branches);
        branches.filter(|((_, panels), _)| !panels.is_empty()).for_each(|((branch, panels), x)| {
            x[branch.nodes.len()..].copy_from_slice(trunk);
            branch.blocks.backward_some(self.arch, panels, x);
        });
    }

    /// Gives a space the right lengths; new values are zero.
    fn fit(&self, space: &mut SweepSpace<T>) {
        let n_trunk = self.trunk.nodes.len();
        space.branches.resize_with(self.branches.len(), Vec::new);
        for (x, branch) in space.branches.iter_mut().zip(&self.branches) {
            x.resize(branch.nodes.len() + n_trunk + 1, [T::default(); 4]);
        }
        space.trunk.resize(n_trunk + 1, [T::default(); 4]);
        // The padding is read as zero.
        space
            .branches
            .iter_mut()
            .chain([&mut space.trunk])
            .filter_map(|x| x.last_mut())
            .for_each(|zero| *zero = [T::default(); 4]);
    }

    /// Sets the unknowns of a reach to zero.
    fn clear_along(&self, reach: &Reach, space: &mut SweepSpace<T>) {
        self.fit(space);
        for i in reach.trunk.iter().flat_map(|&panel| self.trunk.blocks.own(panel)) {
            space.trunk[i] = [T::default(); 4];
        }
        for ((part, panels), x) in self.branches.iter().zip(&reach.branches).zip(&mut space.branches) {
            for i in panels.iter().flat_map(|&panel| part.blocks.own(panel)) {
                x[i] = [T::default(); 4];
            }
        }
    }
}

impl<T> SweepSpace<T> {
    fn at(&self, (branch, unknown): (u32, u32)) -> &Four<T> {
        &self.branches.get(branch as usize).unwrap_or(&self.trunk)[unknown as usize]
    }

    fn at_mut(&mut self, (branch, unknown): (u32, u32)) -> &mut Four<T> {
        &mut self.branches.get_mut(branch as usize).unwrap_or(&mut self.trunk)[unknown as usize]
    }
}

#[inline(always)]
fn four<T: Real>(v: DVec3) -> Four<T> {
    [T::of(v.x), T::of(v.y), T::of(v.z), T::default()]
}

#[inline(always)]
fn vector<T: Real>(v: &Four<T>) -> DVec3 {
    DVec3::new(v[0].wide(), v[1].wide(), v[2].wide())
}
