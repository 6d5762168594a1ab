//! Topological improvement of tet meshes: face and edge swaps around the worst tets.
//!
//! Two operations fill the same space with other tets [Klingner07, topological improvement]. A face between
//! two tets is replaced by the edge between their opposite nodes: two tets become three. An interior edge is
//! replaced by triangles over the ring of nodes around it: n tets become 2n - 4. The triangles fan out from
//! one node of the ring, which covers all triangulations for rings of up to five. A swap is made if the worst
//! new tet is better than the worst old one, so none is ever inverted. The worst tet comes first, with its
//! best swap. The boundary does not change. In: a mesh without inverted tets. Time: about a hundred quality
//! evaluations per poor tet.

use crate::TetMesh;
use crate::tet::improve::min_sine;
use crate::tet::tet_mesh::{edges_of, faces_of, tets_of_nodes};

/// Longest ring whose edge is removed.
const MAX_RING: usize = 7;
/// Rounds over the poor tets.
const ROUNDS: usize = 4;
/// A swap must improve the sine by this much, so that none is undone later.
const GAIN: f64 = 1e-3;

/// Swaps faces and edges of tets with dihedral angles below `below_deg` or above 180 minus that. Returns the
/// number of swaps.
pub fn swap_poor(mesh: &mut TetMesh, below_deg: f64) -> usize {
    let lists = tets_of_nodes(mesh.nodes.len(), &mesh.tets);
    let around = (0..mesh.nodes.len()).map(|v| lists.of(v).to_vec()).collect();
    let mut swapper = Swapper { alive: vec![true; mesh.tets.len()], around, mesh };
    let limit = below_deg.to_radians().sin();
    let mut n_swaps = 0;
    for _ in 0..ROUNDS {
        let mut poor: Vec<(f64, u32)> = Vec::new();
        for t in 0..swapper.mesh.tets.len() as u32 {
            let quality = swapper.quality(swapper.mesh.tets[t as usize]);
            if swapper.alive[t as usize] && quality < limit {
                poor.push((quality, t));
            }
        }
        poor.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        let n = poor.iter().filter(|&&(_, t)| swapper.alive[t as usize] && swapper.swap_best(t)).count();
        n_swaps += n;
        if n == 0 {
            break;
        }
    }
    let mut alive = swapper.alive.into_iter();
    mesh.tets.retain(|_| alive.next().unwrap_or(false));
    n_swaps
}

struct Swapper<'a> {
    mesh: &'a mut TetMesh,
    alive: Vec<bool>,
    around: Vec<Vec<u32>>,
}

/// Tets to remove and tets that replace them.
struct Swap {
    old: Vec<u32>,
    new: Vec<[u32; 4]>,
}

impl Swapper<'_> {
    fn quality(&self, tet: [u32; 4]) -> f64 {
        min_sine(tet.map(|v| self.mesh.nodes[v as usize]))
    }

    /// Makes the best swap at tet `t`, if any improves it.
    fn swap_best(&mut self, t: u32) -> bool {
        let tet = self.mesh.tets[t as usize];
        let faces = (0..4).filter_map(|i| self.without_face(t, tet, i));
        let edges = edges_of(tet).into_iter().flat_map(|edge| self.without_edge(edge));
        let mut best: Option<(f64, Swap)> = None;
        for swap in faces.chain(edges) {
            let before = swap
                .old
                .iter()
                .map(|&t| self.quality(self.mesh.tets[t as usize]))
                .fold(f64::INFINITY, f64::min);
            let after = swap.new.iter().map(|&tet| self.quality(tet)).fold(f64::INFINITY, f64::min);
            if after > before + GAIN && best.as_ref().is_none_or(|(gain, _)| after - before > *gain) {
                best = Some((after - before, swap));
            }
        }
        let Some((_, swap)) = best else { return false };
        for t in swap.old {
            self.alive[t as usize] = false;
            for v in self.mesh.tets[t as usize] {
                self.around[v as usize].retain(|&u| u != t);
            }
        }
        for tet in swap.new {
            let t = self.mesh.tets.len() as u32;
            self.mesh.tets.push(tet);
            self.alive.push(true);
            tet.iter().for_each(|&v| self.around[v as usize].push(t));
        }
        true
    }

    /// Three tets instead of tet `t` and its neighbor across face `i`.
    fn without_face(&self, t: u32, tet: [u32; 4], i: usize) -> Option<Swap> {
        let [x, y, z] = faces_of(tet)[i];
        let shares = |u: &&u32| **u != t && [y, z].iter().all(|v| self.mesh.tets[**u as usize].contains(v));
        let other = *self.around[x as usize].iter().find(shares)?;
        let tip = self.mesh.tets[other as usize].into_iter().find(|v| ![x, y, z].contains(v))?;
        // The face is wound around the direction from this tet's opposite node to the other's.
        let new = [[x, y], [y, z], [z, x]].map(|[a, b]| [tet[i], tip, a, b]).to_vec();
        Some(Swap { old: vec![t, other], new })
    }

    /// Every fan of tets instead of those around an edge.
    fn without_edge(&self, [a, b]: [u32; 2]) -> Vec<Swap> {
        let old: Vec<u32> = self.around[a as usize]
            .iter()
            .copied()
            .filter(|&t| self.mesh.tets[t as usize].contains(&b))
            .collect();
        let Some(ring) = self.ring(a, b, &old) else { return Vec::new() };
        let fan = |hub: usize| {
            let at = |k: usize| ring[(hub + k) % ring.len()];
            let triangles = (1..ring.len() - 1).map(|k| [at(0), at(k), at(k + 1)]);
            let new = triangles.flat_map(|[x, y, z]| [[a, x, y, z], [b, x, z, y]]).collect();
            Swap { old: old.clone(), new }
        };
        // A ring of three has one triangle, whatever the hub.
        (0..if ring.len() == 3 { 1 } else { ring.len() }).map(fan).collect()
    }

    /// The nodes around edge `ab`, ordered by rotation about the direction from `a` to `b`; `None` on the
    /// boundary.
    fn ring(&self, a: u32, b: u32, tets: &[u32]) -> Option<Vec<u32>> {
        if !(3..=MAX_RING).contains(&tets.len()) {
            return None;
        }
        let steps: Vec<(u32, u32)> =
            tets.iter().map(|&t| turn(self.mesh.tets[t as usize], a, b)).collect::<Option<_>>()?;
        let mut ring = vec![steps[0].0];
        while ring.len() < steps.len() {
            let last = *ring.last()?;
            ring.push(steps.iter().find(|s| s.0 == last)?.1);
        }
        let closes = steps.iter().any(|s| s.0 == ring[ring.len() - 1] && s.1 == ring[0]);
        let different = (0..ring.len()).all(|i| !ring[i + 1..].contains(&ring[i]));
        (closes && different).then_some(ring)
    }
}

/// The other two nodes of a positive tet with edge `ab`, ordered so that `[a, b, first, second]` is positive
/// too.
fn turn(tet: [u32; 4], a: u32, b: u32) -> Option<(u32, u32)> {
    let (i, j) = (tet.iter().position(|&v| v == a)?, tet.iter().position(|&v| v == b)?);
    let rest: Vec<usize> = (0..4).filter(|&k| k != i && k != j).collect();
    let order = [i, j, rest[0], rest[1]];
    let n_inversions = (0..4).map(|p| (p + 1..4).filter(|&q| order[p] > order[q]).count()).sum::<usize>();
    let (x, y) = (tet[rest[0]], tet[rest[1]]);
    Some(if n_inversions % 2 == 0 { (x, y) } else { (y, x) })
}
