//! Removal of tets that are tiny compared with their neighbors, by collapsing short edges.
//!
//! Where a node could not be snapped, the cut leaves edges of any length. Their tets may be well shaped and
//! still have a millionth of the volume of the others, which makes systems on the mesh ill-conditioned. One
//! end of such an edge is moved to the other if three conditions hold. The topology must not change: the
//! neighbors shared by both ends must be exactly those around the edge (the link condition, with the outside
//! as one more node). No remaining tet may be worse than both the previous worst and 15 degrees. A boundary
//! node may only move along boundary edges. In: a mesh without inverted tets. Out: the same mesh without the
//! short edges that could be collapsed.

use crate::TetMesh;
use crate::tet::improve::min_sine;
use crate::tet::tet_mesh::{Lists, edges, edges_of, faces_of, tets_of_nodes};

/// Collapsing may leave tets down to this dihedral angle, in degrees, or down to the previous worst.
const GOOD_DEG: f64 = 15.0;
/// Largest number of rounds; the collapses of a round share no tets.
const ROUNDS: usize = 8;

/// Collapses edges shorter than `share` of the mean edge length around their ends. Nodes left without tets
/// stay until [`TetMesh::drop_unused_nodes`]. Returns how many edges were collapsed.
pub fn collapse_short(mesh: &mut TetMesh, on_boundary: &[bool], share: f64) -> usize {
    let mut n_collapsed = 0;
    for _ in 0..ROUNDS {
        let n = collapse_round(mesh, on_boundary, share);
        n_collapsed += n;
        if n == 0 {
            break;
        }
    }
    n_collapsed
}

fn collapse_round(mesh: &mut TetMesh, on_boundary: &[bool], share: f64) -> usize {
    let short = short_edges(mesh, share);
    let link = Links::of(mesh);
    let mut touched = vec![false; mesh.nodes.len()];
    let mut dropped = vec![false; mesh.tets.len()];
    let mut n = 0;
    for [a, b] in short {
        for (gone, kept) in [(a, b), (b, a)] {
            let free = |v: u32| {
                link.around
                    .of(v as usize)
                    .iter()
                    .flat_map(|&t| mesh.tets[t as usize])
                    .all(|u| !touched[u as usize])
            };
            let may_move = !on_boundary[gone as usize] || on_boundary[kept as usize];
            if !(may_move && free(gone) && free(kept)) {
                continue;
            }
            let both = on_boundary[gone as usize] && on_boundary[kept as usize];
            if !(link.allows(mesh, gone, kept, both) && stays_good(mesh, &link.around, gone, kept)) {
                continue;
            }
            for &t in link.around.of(gone as usize) {
                let tet = &mut mesh.tets[t as usize];
                dropped[t as usize] = tet.contains(&kept);
                tet.iter().for_each(|&v| touched[v as usize] = true);
                tet.iter_mut().filter(|v| **v == gone).for_each(|v| *v = kept);
            }
            link.around
                .of(kept as usize)
                .iter()
                .flat_map(|&t| mesh.tets[t as usize])
                .for_each(|v| touched[v as usize] = true);
            n += 1;
            break;
        }
    }
    let mut is_dropped = dropped.into_iter();
    mesh.tets.retain(|_| !is_dropped.next().unwrap_or(false));
    n
}

/// Edges shorter than `share` of the mean around their ends, ascending by this ratio.
fn short_edges(mesh: &TetMesh, share: f64) -> Vec<[u32; 2]> {
    let edges = edges(&mesh.tets);
    let mut sums = vec![(0.0, 0.0); mesh.nodes.len()];
    let length = |&[a, b]: &[u32; 2]| mesh.nodes[a as usize].distance(mesh.nodes[b as usize]);
    for edge in &edges {
        for v in edge {
            sums[*v as usize].0 += length(edge);
            sums[*v as usize].1 += 1.0;
        }
    }
    let mean = |v: u32| sums[v as usize].0 / sums[v as usize].1;
    let mut short: Vec<(f64, [u32; 2])> = edges
        .into_iter()
        .map(|e| (length(&e) / mean(e[0]).max(mean(e[1])), e))
        .filter(|(l, _)| *l < share)
        .collect();
    short.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
    short.into_iter().map(|(_, e)| e).collect()
}

/// Whether the remaining tets are good enough with `gone` at `kept`.
fn stays_good(mesh: &TetMesh, around: &Lists, gone: u32, kept: u32) -> bool {
    let quality = |t: u32, to: u32| {
        min_sine(mesh.tets[t as usize].map(|v| mesh.nodes[if v == gone { to } else { v } as usize]))
    };
    let before = around.of(gone as usize).iter().map(|&t| quality(t, gone)).fold(f64::INFINITY, f64::min);
    let least = before.min(GOOD_DEG.to_radians().sin());
    let stays = |t: &&u32| !mesh.tets[**t as usize].contains(&kept);
    around.of(gone as usize).iter().filter(stays).all(|&t| quality(t, kept) > least)
}

/// Connectivity for the link condition.
struct Links {
    around: Lists,
    /// Edges and faces of the boundary, nodes ascending, sorted.
    edges: Vec<[u32; 2]>,
    faces: Vec<[u32; 3]>,
}

impl Links {
    fn of(mesh: &TetMesh) -> Self {
        let sorted = |mut face: [u32; 3]| {
            face.sort_unstable();
            face
        };
        let mut faces: Vec<[u32; 3]> = mesh.boundary().iter().map(|b| sorted(b.nodes)).collect();
        faces.sort_unstable();
        let mut edges: Vec<[u32; 2]> = faces.iter().flat_map(|&[a, b, c]| [[a, b], [a, c], [b, c]]).collect();
        edges.sort_unstable();
        Self { around: tets_of_nodes(mesh.nodes.len(), &mesh.tets), edges, faces }
    }

    fn has_edge(&self, a: u32, b: u32) -> bool {
        self.edges.binary_search(&[a.min(b), a.max(b)]).is_ok()
    }

    fn has_face(&self, mut face: [u32; 3]) -> bool {
        face.sort_unstable();
        self.faces.binary_search(&face).is_ok()
    }

    /// The link condition for collapsing the edge `ab`; `both` says that both nodes are on the boundary.
    fn allows(&self, mesh: &TetMesh, a: u32, b: u32, both: bool) -> bool {
        let (at_a, at_b) = (Ring::of(mesh, &self.around, a), Ring::of(mesh, &self.around, b));
        let around_edge: Vec<[u32; 4]> = at_a.tets.iter().filter(|t| t.contains(&b)).copied().collect();
        let is_around = |nodes: &[u32]| around_edge.iter().any(|t| nodes.iter().all(|u| t.contains(u)));
        let nodes = at_a.nodes.iter().filter(|u| at_b.nodes.binary_search(u).is_ok());
        let edges = at_a.edges.iter().filter(|e| at_b.edges.binary_search(e).is_ok());
        let mut faces = at_a.faces.iter().filter(|f| at_b.faces.binary_search(f).is_ok());
        if !(nodes.clone().all(|u| is_around(&[*u]))
            && edges.clone().all(|e| is_around(e))
            && faces.next().is_none())
        {
            return false;
        }
        if !both {
            return true;
        }
        // The outside as one more node: it is in the link of the edge, and in the link of another node only
        // across a face.
        self.has_edge(a, b)
            && nodes
                .clone()
                .all(|&u| !(self.has_edge(a, u) && self.has_edge(b, u)) || self.has_face([a, b, u]))
            && edges.clone().all(|&[u, w]| !(self.has_face([a, u, w]) && self.has_face([b, u, w])))
    }
}

/// The link of a node: the opposite nodes, edges and faces in its tets, sorted.
struct Ring {
    tets: Vec<[u32; 4]>,
    nodes: Vec<u32>,
    edges: Vec<[u32; 2]>,
    faces: Vec<[u32; 3]>,
}

impl Ring {
    fn of(mesh: &TetMesh, around: &Lists, v: u32) -> Self {
        let tets: Vec<[u32; 4]> = around.of(v as usize).iter().map(|&t| mesh.tets[t as usize]).collect();
        let mut nodes: Vec<u32> = tets.iter().flatten().copied().filter(|&u| u != v).collect();
        let mut edges: Vec<[u32; 2]> =
            tets.iter().flat_map(|&t| edges_of(t)).filter(|e| !e.contains(&v)).collect();
        let opposite = |&t: &[u32; 4]| {
            let mut face = faces_of(t).into_iter().find(|f| !f.contains(&v)).unwrap_or_default();
            face.sort_unstable();
            face
        };
        let mut faces: Vec<[u32; 3]> = tets.iter().map(opposite).collect();
        nodes.sort_unstable();
        nodes.dedup();
        edges.sort_unstable();
        edges.dedup();
        faces.sort_unstable();
        Self { tets, nodes, edges, faces }
    }
}
