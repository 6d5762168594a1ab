//! Cutting a lattice along the boundary of a domain: snapping, then stencils.
//!
//! A node with a near crossing on one of its edges is snapped to it and from then on is a boundary node, so
//! that no tiny pieces are cut off [Labelle07, warping]. Tets that are still cut yield one tet, a pyramid or
//! a prism, according to the signs of their four nodes (inside, outside, boundary). The quadrilateral sides
//! of these lie in faces of the lattice. They are split along the shorter diagonal, or from the lower node if
//! both are equal, so that neighbors agree. A prism whose three diagonals form a cycle gets a node at its
//! center. Departures: a node is not snapped where a tet would lose nearly all of its volume, which only
//! happens between levels, or where the boundary passes on two sides of it, since a sheet would be pinched or
//! a gap bridged there. A tet with all nodes on the boundary is kept if its center is inside, since thin
//! sheets consist of such tets.

use crate::TetMesh;
use crate::tet::crossings::Crossing;
use crate::tet::lattice::Lattice;
use crate::tet::tet_mesh::{edge_matrix, edges_of, tets_of_nodes};
use glam::DVec3;

/// A node snaps to crossings nearer than this fraction of a long or a short edge [Labelle07, alpha long and
/// short].
const SNAP_LONG: f64 = 0.24999;
const SNAP_SHORT: f64 = 0.41189;
/// A node is snapped only if its tets keep this share of their volume.
const KEEP_VOLUME: f64 = 0.04;

/// The side of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Inside,
    Outside,
    Boundary,
}

/// Result of [`cut`].
pub(crate) struct Cut {
    pub mesh: TetMesh,
    /// Nodes that lie on the boundary of the domain.
    pub on_boundary: Vec<bool>,
    /// Crossings close to a node that could not be snapped.
    pub n_unsnapped: usize,
}

/// Keeps the part of `lattice` that is inside. `middle_inside` decides for tets with all nodes on the
/// boundary.
pub(crate) fn cut(
    lattice: &Lattice,
    inside: &[bool],
    crossings: &[Crossing],
    middle_inside: impl Fn(DVec3) -> bool,
) -> Cut {
    let mut cutter = Cutter {
        nodes: lattice.nodes.clone(),
        sides: inside.iter().map(|&i| if i { Side::Inside } else { Side::Outside }).collect(),
        crossings: Vec::new(),
        tets: Vec::new(),
    };
    let n_unsnapped = cutter.snap(lattice, inside, crossings);
    cutter.add_crossings(crossings);
    for &tet in &lattice.tets {
        cutter.cut_tet(tet, &middle_inside);
    }
    cutter.compact(n_unsnapped)
}

struct Cutter {
    nodes: Vec<DVec3>,
    sides: Vec<Side>,
    /// Edges that are still cut, ascending, with the node at their crossing.
    crossings: Vec<([u32; 2], u32)>,
    tets: Vec<[u32; 4]>,
}

impl Cutter {
    /// Snaps nodes to close crossings, closest first. Returns how many close ones remain.
    fn snap(&mut self, lattice: &Lattice, inside: &[bool], crossings: &[Crossing]) -> usize {
        let mut wishes: Vec<(f64, u32, u32, DVec3)> = Vec::new();
        for crossing in crossings {
            let [i, j] = crossing.edge;
            let (a, b) = (lattice.nodes[i as usize], lattice.nodes[j as usize]);
            let off_axis = (b - a).abs().min_element() > 1e-9 * a.distance(b);
            let limit = if off_axis { SNAP_SHORT } else { SNAP_LONG };
            for (near, far, share) in [(i, j, crossing.at), (j, i, 1.0 - crossing.at)] {
                if share < limit {
                    wishes.push((share * a.distance(b), near, far, a.lerp(b, crossing.at)));
                }
            }
        }
        wishes.sort_by(|x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        let tets_at = tets_of_nodes(self.nodes.len(), &lattice.tets);
        let volume = |nodes: &[DVec3], t: u32| edge_matrix(nodes, lattice.tets[t as usize]).determinant();
        let mut n_unsnapped = 0;
        for (_, near, far, to) in wishes {
            let (v, w) = (near as usize, far as usize);
            if self.sides[v] == Side::Boundary || self.sides[w] == Side::Boundary {
                continue;
            }
            if !is_simple(lattice, inside, near, tets_at.of(v)) {
                n_unsnapped += 1;
                continue;
            }
            let before = std::mem::replace(&mut self.nodes[v], to);
            let enough = |&t: &u32| volume(&self.nodes, t) > KEEP_VOLUME * volume(&lattice.nodes, t);
            if tets_at.of(v).iter().all(enough) {
                self.sides[v] = Side::Boundary;
            } else {
                self.nodes[v] = before;
                n_unsnapped += 1;
            }
        }
        n_unsnapped
    }

    fn add_crossings(&mut self, crossings: &[Crossing]) {
        for crossing in crossings {
            let [i, j] = crossing.edge.map(|v| v as usize);
            if self.sides[i] != Side::Boundary && self.sides[j] != Side::Boundary {
                self.crossings.push((crossing.edge, self.nodes.len() as u32));
                self.nodes.push(self.nodes[i].lerp(self.nodes[j], crossing.at));
                self.sides.push(Side::Boundary);
            }
        }
    }

    /// The node on an edge with one end inside and one outside.
    fn crossing(&self, a: u32, b: u32) -> u32 {
        let edge = [a.min(b), a.max(b)];
        self.crossings[self.crossings.partition_point(|c| c.0 < edge)].1
    }

    fn cut_tet(&mut self, tet: [u32; 4], middle_inside: &impl Fn(DVec3) -> bool) {
        let (mut ins, mut outs, mut ons) = (Vec::new(), Vec::new(), Vec::new());
        for v in tet {
            match self.sides[v as usize] {
                Side::Inside => ins.push(v),
                Side::Outside => outs.push(v),
                Side::Boundary => ons.push(v),
            }
        }
        let x = |a: u32, b: u32| self.crossing(a, b);
        match (&ins[..], &outs[..], &ons[..]) {
            ([], [], _) => {
                let middle = tet.iter().map(|&v| self.nodes[v as usize] * 0.25).sum();
                if middle_inside(middle) {
                    self.push(tet);
                }
            }
            ([], _, _) => {}
            (_, [], _) => self.push(tet),
            (&[a], &[b], &[y, z]) => self.push([a, x(a, b), y, z]),
            (&[a], &[b, c], &[z]) => self.push([a, x(a, b), x(a, c), z]),
            (&[a], &[b, c, d], _) => self.push([a, x(a, b), x(a, c), x(a, d)]),
            (&[a, b], &[c], &[z]) => self.push_pyramid([a, b, x(b, c), x(a, c)], z),
            (&[a, b], &[c, d], _) => self.push_prism([a, x(a, c), x(a, d)], [b, x(b, c), x(b, d)], true),
            (&[a, b, c], &[d], _) => self.push_prism([a, b, c], [x(a, d), x(b, d), x(c, d)], false),
            // Four nodes have no other combination of signs.
            _ => {}
        }
    }

    fn push(&mut self, [a, b, c, d]: [u32; 4]) {
        let positive = edge_matrix(&self.nodes, [a, b, c, d]).determinant() >= 0.0;
        self.tets.push(if positive { [a, b, c, d] } else { [a, c, b, d] });
    }

    /// Whether the quadrilateral `a b c d` is split from `a` to `c`, rather than from `b` to `d`.
    fn splits_at_first(&self, [a, b, c, d]: [u32; 4]) -> bool {
        let length_sq = |i: u32, j: u32| self.nodes[i as usize].distance_squared(self.nodes[j as usize]);
        let (ac, bd) = (length_sq(a, c), length_sq(b, d));
        // Equal up to rounding is common in the lattice, and neighbors see the corners in another order.
        if (ac - bd).abs() <= 1e-9 * (ac + bd) { a.min(c) < b.min(d) } else { ac < bd }
    }

    fn push_pyramid(&mut self, [a, b, c, d]: [u32; 4], top: u32) {
        if self.splits_at_first([a, b, c, d]) {
            self.push([a, b, c, top]);
            self.push([a, c, d, top]);
        } else {
            self.push([b, c, d, top]);
            self.push([b, d, a, top]);
        }
    }

    /// The prism between triangles `p` and `q`. With `free`, the side between corners 1 and 2 lies in no face
    /// of the lattice, and its diagonal is chosen for the better tets.
    fn push_prism(&mut self, p: [u32; 3], q: [u32; 3], free: bool) {
        let from_p = |i: usize, j: usize| self.splits_at_first([p[i], p[j], q[j], q[i]]);
        let sides = [from_p(0, 1), from_p(1, 2), from_p(2, 0)];
        let other = [sides[0], !sides[1], sides[2]];
        let choices = [split_prism(p, q, sides), if free { split_prism(p, q, other) } else { None }];
        let best = choices.into_iter().flatten().max_by(|x, y| self.worst_of(x).total_cmp(&self.worst_of(y)));
        match best {
            Some(tets) => tets.into_iter().for_each(|t| self.push(t)),
            None => self.push_fan(p, q, sides),
        }
    }

    /// The least ratio of volume to cubed longest edge of the tets.
    fn worst_of(&self, tets: &[[u32; 4]; 3]) -> f64 {
        let ratio = |&tet: &[u32; 4]| {
            let m = edge_matrix(&self.nodes, tet);
            let [a, b, c] = [m.x_axis, m.y_axis, m.z_axis];
            let longest_sq = [a, b, c, a - b, b - c, c - a]
                .iter()
                .map(|e| e.length_squared())
                .fold(f64::MIN_POSITIVE, f64::max);
            m.determinant().abs() / (longest_sq * longest_sq.sqrt())
        };
        tets.iter().map(ratio).fold(f64::INFINITY, f64::min)
    }

    /// The prism as eight tets around its center.
    fn push_fan(&mut self, p: [u32; 3], q: [u32; 3], sides: [bool; 3]) {
        let middle = p.iter().chain(&q).map(|&v| self.nodes[v as usize] / 6.0).sum();
        let m = self.nodes.len() as u32;
        self.nodes.push(middle);
        self.sides.push(Side::Inside);
        self.push([p[0], p[1], p[2], m]);
        self.push([q[0], q[1], q[2], m]);
        for (i, from_p) in sides.into_iter().enumerate() {
            let j = (i + 1) % 3;
            let (a, b) = if from_p {
                ([p[i], p[j], q[j]], [p[i], q[j], q[i]])
            } else {
                ([p[j], q[j], q[i]], [p[j], q[i], p[i]])
            };
            self.push([a[0], a[1], a[2], m]);
            self.push([b[0], b[1], b[2], m]);
        }
    }

    fn compact(self, n_unsnapped: usize) -> Cut {
        let mut mesh = TetMesh { nodes: self.nodes, tets: self.tets };
        let former = mesh.drop_unused_nodes();
        let on_boundary = former.iter().map(|&v| self.sides[v as usize] == Side::Boundary).collect();
        Cut { mesh, on_boundary, n_unsnapped }
    }
}

/// Whether the inside neighbors of node `v` are connected, and the outside neighbors too.
fn is_simple(lattice: &Lattice, inside: &[bool], v: u32, tets: &[u32]) -> bool {
    let mut ring: Vec<u32> =
        tets.iter().flat_map(|&t| lattice.tets[t as usize]).filter(|&u| u != v).collect();
    ring.sort_unstable();
    ring.dedup();
    let mut group: Vec<usize> = (0..ring.len()).collect();
    let mut n_groups = ring.len();
    let root = |group: &[usize], mut i: usize| {
        while group[i] != i {
            i = group[i];
        }
        i
    };
    for &t in tets {
        for [a, b] in edges_of(lattice.tets[t as usize]) {
            if a != v && b != v && inside[a as usize] == inside[b as usize] {
                let place = |u: u32| ring.partition_point(|&r| r < u);
                let (i, j) = (root(&group, place(a)), root(&group, place(b)));
                n_groups -= usize::from(i != j);
                group[i.max(j)] = i.min(j);
            }
        }
    }
    // At most one group inside and one outside.
    n_groups <= 2
}

/// Three tets of a prism whose side i, between corners i and i + 1, is split from `p[i]` if `sides[i]`, else
/// from `p[i + 1]`; `None` when the diagonals form a cycle.
fn split_prism(p: [u32; 3], q: [u32; 3], sides: [bool; 3]) -> Option<[[u32; 4]; 3]> {
    // Number of diagonals that start at each corner of p: 2, 1 and 0 unless they form a cycle.
    let mut starts = [0usize; 3];
    for (i, from_first) in sides.into_iter().enumerate() {
        starts[if from_first { i } else { (i + 1) % 3 }] += 1;
    }
    let with = |n: usize| starts.iter().position(|&s| s == n);
    let (i, j, k) = (with(2)?, with(1)?, with(0)?);
    Some([[p[i], p[j], p[k], q[k]], [p[i], p[j], q[j], q[k]], [p[i], q[i], q[j], q[k]]])
}
