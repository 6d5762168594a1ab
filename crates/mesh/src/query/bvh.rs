//! A bounding volume hierarchy (tree of axis-aligned boxes) over triangles, for all proximity queries.
//!
//! Built top down by median splits along the longest axis of the triangles' centers. The depth is at most
//! log2 of the number of triangles for any input, so construction and traversal have no bad cases. Corners
//! are copied in leaf order. Boxes are f32 and exact, since they only compare corners; distances and
//! crossings are computed in f64 (see [`crate::query::closest`] and [`crate::surface::intersect`]). In: n
//! positions, m triangles. Out: about m/2 nodes of 32 bytes. Time m log m, on all threads; the tree is the
//! same for any number of threads. Triangles with a corner that is not finite are left out and never found.

use glam::{DVec3, Vec3};
use std::ops::ControlFlow;

/// Largest number of triangles per leaf.
const LEAF: usize = 4;
/// Subtrees with fewer triangles are built on one thread.
const PARALLEL: usize = 4096;

/// The tree; see the module. Prepared for one pose.
#[derive(Debug, Clone, Default)]
pub struct Bvh {
    pub(crate) nodes: Vec<Node>,
    /// Corner positions in the order of the leaves.
    pub(crate) corners: Vec<[Vec3; 3]>,
    /// For each of `corners`, index and vertices of its triangle.
    pub(crate) triangles: Vec<(u32, [u32; 3])>,
}

/// A box, and either a range of triangles or two children: the next node and `first`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Node {
    pub bounds: Aabb,
    pub first: u32,
    pub count: u32,
}

/// An axis-aligned bounding box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aabb {
    /// Lowest coordinates.
    pub min: Vec3,
    /// Highest coordinates.
    pub max: Vec3,
}

impl Default for Aabb {
    /// The empty box.
    fn default() -> Self {
        Self { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY }
    }
}

impl Aabb {
    /// The bounding box of points.
    pub fn of(points: impl IntoIterator<Item = Vec3>) -> Self {
        points.into_iter().fold(Self::default(), |b, p| Self { min: b.min.min(p), max: b.max.max(p) })
    }

    /// The bounding box of both.
    pub(crate) fn union(&self, other: &Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Whether the boxes have a point in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }

    /// Squared distance from `p` to the box, 0 inside.
    pub fn distance_sq(&self, p: DVec3) -> f64 {
        (self.min.as_dvec3() - p).max(p - self.max.as_dvec3()).max(DVec3::ZERO).length_squared()
    }
}

/// Bounding box of the finite positions; `None` if there are none.
pub fn bounds(positions: &[[f32; 3]]) -> Option<Aabb> {
    let found = Aabb::of(positions.iter().map(|&p| Vec3::from(p)).filter(|p| p.is_finite()));
    (found.min.x <= found.max.x).then_some(found)
}

/// A triangle during construction.
#[derive(Clone, Copy)]
struct Item {
    center: Vec3,
    id: u32,
}

impl Bvh {
    /// The tree over `triangles` (vertex numbers below `positions.len()`).
    pub fn build(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Self {
        let corners_of = |id: u32| triangles[id as usize].map(|v| Vec3::from(positions[v as usize]));
        let mut items: Vec<Item> = (0..triangles.len() as u32)
            .filter_map(|id| {
                let c = corners_of(id);
                // Divided before summing: the sum of three huge coordinates could overflow.
                let center = c.iter().map(|&p| p / 3.0).sum();
                c.iter().all(|p| p.is_finite()).then_some(Item { center, id })
            })
            .collect();
        if items.is_empty() {
            return Self::default();
        }
        let mut nodes = vec![Node::default(); n_nodes(items.len())];
        split(&mut items, &mut nodes, 0, 0, &|id| Aabb::of(corners_of(id)));
        Self {
            nodes,
            corners: items.iter().map(|item| corners_of(item.id)).collect(),
            triangles: items.iter().map(|item| (item.id, triangles[item.id as usize])).collect(),
        }
    }

    /// Updates the boxes for new positions of the same vertices. Faster than building a new tree, and about
    /// as good while the surface roughly keeps its shape. Triangles with positions that are not finite are
    /// never found.
    pub fn refit(&mut self, positions: &[[f32; 3]]) {
        self.refit_by(|v| Vec3::from(positions[v as usize]));
    }

    /// The same, with the position of each vertex from a function.
    pub fn refit_by(&mut self, position: impl Fn(u32) -> Vec3) {
        for (corners, (_, triangle)) in self.corners.iter_mut().zip(&self.triangles) {
            *corners = triangle.map(&position);
        }
        // Children come after their parents.
        for n in (0..self.nodes.len()).rev() {
            let Node { first, count, .. } = self.nodes[n];
            let first = first as usize;
            self.nodes[n].bounds = if count > 0 {
                Aabb::of(self.corners[first..first + count as usize].iter().flatten().copied())
            } else {
                self.nodes[n + 1].bounds.union(&self.nodes[first].bounds)
            };
        }
    }

    /// The triangles in groups of up to `size` that lie close together, as their indices.
    pub fn groups(&self, size: usize) -> Vec<Vec<u32>> {
        let group = |slots: &[(u32, [u32; 3])]| slots.iter().map(|(triangle, _)| *triangle).collect();
        self.triangles.chunks(size.max(1)).map(group).collect()
    }

    /// The tree over points: "triangle" i is `positions[i]` three times.
    pub fn of_points(positions: &[[f32; 3]]) -> Self {
        let points: Vec<[u32; 3]> = (0..positions.len() as u32).map(|v| [v; 3]).collect();
        Self::build(positions, &points)
    }

    /// Number of triangles in the tree.
    pub fn len(&self) -> usize {
        self.triangles.len()
    }

    /// Whether there are no triangles.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// Calls `visit` with the index of every triangle whose box overlaps `region`, until it breaks.
    pub fn overlapping(
        &self,
        region: &Aabb,
        mut visit: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.slots_overlapping(region, |step| match step {
            Step::Look => ControlFlow::Continue(()),
            Step::Overlap(slot) => visit(self.triangles[slot].0),
        })
    }

    /// Calls `visit` with every pair of triangles of this mesh and `other` whose boxes overlap, until it
    /// breaks.
    pub fn overlapping_pairs(
        &self,
        other: &Self,
        mut visit: impl FnMut(u32, u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut own = self.corners.iter().zip(&self.triangles);
        own.try_for_each(|(&corners, &(t, _))| other.overlapping(&Aabb::of(corners), |u| visit(t, u)))
    }

    /// As [`Self::overlapping`], with leaf positions; also reports every visited node.
    pub(crate) fn slots_overlapping(
        &self,
        region: &Aabb,
        mut visit: impl FnMut(Step) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut stack = Stack::new(self.nodes.len());
        while let Some(n) = stack.pop() {
            visit(Step::Look)?;
            let node = &self.nodes[n];
            if !node.bounds.overlaps(region) {
                continue;
            }
            if node.count == 0 {
                stack.push(node.first as usize);
                stack.push(n + 1);
                continue;
            }
            for slot in node.first as usize..(node.first + node.count) as usize {
                if Aabb::of(self.corners[slot]).overlaps(region) {
                    visit(Step::Overlap(slot))?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// What a traversal of overlapping boxes reports.
pub(crate) enum Step {
    /// A node was visited.
    Look,
    /// A triangle, by its position in the leaves, whose box overlaps.
    Overlap(usize),
}

/// Nodes still to visit. The median split keeps the depth below 32, so that a traversal never allocates.
pub(crate) struct Stack {
    nodes: [u32; 64],
    len: usize,
}

impl Stack {
    /// A stack that holds the root of a tree of `n_nodes` nodes.
    pub fn new(n_nodes: usize) -> Self {
        Self { nodes: [0; 64], len: usize::from(n_nodes > 0) }
    }

    pub fn push(&mut self, node: usize) {
        self.nodes[self.len] = node as u32;
        self.len += 1;
    }

    pub fn pop(&mut self) -> Option<usize> {
        self.len = self.len.checked_sub(1)?;
        Some(self.nodes[self.len] as usize)
    }
}

/// Number of nodes of the tree over `n` triangles; known in advance because every split is in the middle.
fn n_nodes(n: usize) -> usize {
    if n <= LEAF { 1 } else { 1 + n_nodes(n / 2) + n_nodes(n - n / 2) }
}

/// Orders `items` into leaves and fills `nodes`. The first node has index `node_idx`, the first item has leaf
/// position `first`.
fn split(
    items: &mut [Item],
    nodes: &mut [Node],
    node_idx: usize,
    first: usize,
    bounds_of: &(impl Fn(u32) -> Aabb + Sync),
) {
    if items.len() <= LEAF {
        let bounds = items.iter().map(|i| bounds_of(i.id)).fold(Aabb::default(), |a, b| a.union(&b));
        nodes[0] = Node { bounds, first: first as u32, count: items.len() as u32 };
        return;
    }
    let extent = Aabb::of(items.iter().map(|i| i.center));
    let axis = (extent.max - extent.min).max_position();
    let half = items.len() / 2;
    // Equal centers are ordered by index, so that the tree is the same on every run.
    items
        .select_nth_unstable_by(half, |a, b| a.center[axis].total_cmp(&b.center[axis]).then(a.id.cmp(&b.id)));
    let parallel = items.len() >= PARALLEL;
    let (low, high) = items.split_at_mut(half);
    let n_left = n_nodes(half);
    let (node, children) = nodes.split_at_mut(1);
    let (left, right) = children.split_at_mut(n_left);
    let right_idx = node_idx + 1 + n_left;
    let mut build_left = |left: &mut [Node]| split(low, left, node_idx + 1, first, bounds_of);
    let mut build_right = |right: &mut [Node]| split(high, right, right_idx, first + half, bounds_of);
    if parallel {
        rayon::join(|| build_left(left), || build_right(right));
    } else {
        build_left(left);
        build_right(right);
    }
    node[0] = Node { bounds: left[0].bounds.union(&right[0].bounds), first: right_idx as u32, count: 0 };
}
