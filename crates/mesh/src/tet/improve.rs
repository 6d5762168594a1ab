//! Smoothing of tet meshes: each node is moved to improve the worst of its tets.
//!
//! The quality of a tet is the least sine of its dihedral angles, with the sign of its volume: 0.94 for a
//! regular tet, 0 for a flat one, whether by a small or by a large angle. The quality at a node is the least
//! of its tets. This function is not smooth, so the search follows the gradients of the few worst tets and
//! the direction to the center of the neighbors, with decreasing steps, and accepts only improvements
//! [Klingner07, smoothing]. No move makes the worst tet at a node worse; therefore none is ever inverted.
//! Boundary nodes move along the boundary and are projected back onto it by the caller's function. In: a mesh
//! without inverted tets. Out: the same tets with moved nodes. Nodes that share no tet move in parallel, in
//! an order that depends on the mesh alone.

use crate::TetMesh;
use crate::tet::crossings::{Signs, bisect};
use crate::tet::domain::{Domain, Hits};
use crate::tet::quality::volume_6;
use crate::tet::tet_mesh::{Lists, edges_of, tets_of_nodes};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::{Cancelled, Progress, tick};

/// Projects a point near boundary node `v` onto the boundary, given the outward normal there; `None` leaves
/// the node where it is.
pub(crate) type Project<'a> = dyn Fn(u32, DVec3, DVec3) -> Option<DVec3> + Sync + 'a;

/// How to improve a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct ImproveOptions {
    /// Nodes whose tets have all dihedral angles between this and 180 minus this are not moved, degrees.
    pub enough_deg: f64,
    /// The same for nodes of the boundary, which cost more to move.
    pub enough_on_boundary_deg: f64,
    /// Largest number of rounds over the nodes; smoothing ends earlier when few nodes still improve.
    pub rounds: usize,
}

impl Default for ImproveOptions {
    fn default() -> Self {
        Self { enough_deg: 30.0, enough_on_boundary_deg: 22.0, rounds: 12 }
    }
}

/// Moves nodes of `mesh`. Those `on_boundary` are moved only with `project`. Returns how many moves were
/// made.
pub fn smooth(
    mesh: &mut TetMesh,
    on_boundary: &[bool],
    project: Option<&Project>,
    options: &ImproveOptions,
    progress: &Progress,
) -> Result<usize, Cancelled> {
    let around = tets_of_nodes(mesh.nodes.len(), &mesh.tets);
    let normals = outward_normals(mesh);
    let (mut n_moves, mut most) = (0, 0);
    let mut active = vec![true; mesh.nodes.len()];
    for round in 0..options.rounds {
        tick(progress, "improve", round as f32 / options.rounds as f32)?;
        let enough =
            |v: usize| if on_boundary[v] { options.enough_on_boundary_deg } else { options.enough_deg };
        let qualities: Vec<f64> =
            mesh.tets.par_iter().map(|&t| min_sine(t.map(|v| mesh.nodes[v as usize]))).collect();
        let worst =
            |v: usize| around.of(v).iter().map(|&t| qualities[t as usize]).fold(f64::INFINITY, f64::min);
        let movable = |v: &u32| {
            let v = *v as usize;
            active[v] && (!on_boundary[v] || project.is_some()) && worst(v) < enough(v).to_radians().sin()
        };
        let todo: Vec<u32> = (0..mesh.nodes.len() as u32).filter(movable).collect();
        let mut moved: Vec<u32> = Vec::new();
        for group in independent(&todo, &mesh.tets, &around) {
            let to = |&v: &u32| {
                let star = Star { v, nodes: &mesh.nodes, tets: &mesh.tets, around: around.of(v as usize) };
                let on = on_boundary[v as usize].then(|| normals[v as usize]);
                star.best_place(on, project).map(|p| (v, p))
            };
            let places: Vec<(u32, DVec3)> = group.par_iter().with_min_len(8).filter_map(to).collect();
            for (v, p) in places {
                mesh.nodes[v as usize] = p;
                moved.push(v);
            }
        }
        n_moves += moved.len();
        // Only nodes around moved ones can find a new improvement.
        active.fill(false);
        for &v in &moved {
            around
                .of(v as usize)
                .iter()
                .flat_map(|&t| mesh.tets[t as usize])
                .for_each(|u| active[u as usize] = true);
        }
        most = most.max(moved.len());
        if moved.len() * 50 <= most {
            break;
        }
    }
    Ok(n_moves)
}

/// The point of the boundary of `domain` on the line through `p` along `normal` (outwards), within `reach` to
/// either side; `None` if there is none.
pub fn onto_boundary(domain: &dyn Domain, p: DVec3, normal: DVec3, reach: f64) -> Option<DVec3> {
    onto_zero(&Signs { domain, min: DVec3::NEG_INFINITY, max: DVec3::INFINITY }, p, normal, reach)
}

pub(crate) fn onto_zero(signs: &Signs, p: DVec3, normal: DVec3, reach: f64) -> Option<DVec3> {
    // Within a quarter of the reach first: across a gap or a thin sheet there is another boundary.
    let (inner, outer) = (p - 0.25 * reach * normal, p + 0.25 * reach * normal);
    if let Hits::Once(t) = signs.hits(inner, outer) {
        return Some(inner.lerp(outer, t));
    }
    let at_p = signs.inside(p);
    let toward = if at_p { normal } else { -normal };
    [0.25, 1.0].into_iter().map(|share| p + toward * (share * reach)).find_map(|q| {
        let differs = signs.inside(q) != at_p;
        differs.then(|| p.lerp(q, bisect(signs, p, q, at_p)))
    })
}

/// Removes flat tets that have two or three faces on the boundary and dihedral angles below `below_deg`. The
/// boundary barely moves, and smoothing along the boundary could never improve such a tet. Returns how many
/// were removed.
pub fn peel(mesh: &mut TetMesh, below_deg: f64) -> usize {
    let mut n_taken = 0;
    loop {
        let boundary = mesh.boundary();
        let mut edges: Vec<[u32; 2]> = boundary.iter().flat_map(|b| sides(b.nodes)).collect();
        edges.sort_unstable();
        let flat = |t: u32| {
            min_sine(mesh.tets[t as usize].map(|v| mesh.nodes[v as usize])) < below_deg.to_radians().sin()
        };
        let mut taken = vec![false; mesh.tets.len()];
        let mut touched = vec![false; mesh.nodes.len()];
        for faces in
            boundary.chunk_by(|a, b| a.tet == b.tet).filter(|f| (2..4).contains(&f.len()) && flat(f[0].tet))
        {
            let tet = mesh.tets[faces[0].tet as usize];
            let outer: Vec<[u32; 2]> = faces.iter().flat_map(|f| sides(f.nodes)).collect();
            // The exposed edges must not be on the boundary already, or it would touch itself there.
            let fresh = edges_of(tet).into_iter().filter(|e| !outer.contains(e));
            let safe = fresh.into_iter().all(|e| edges.binary_search(&e).is_err());
            if safe && !tet.iter().any(|&v| touched[v as usize]) {
                taken[faces[0].tet as usize] = true;
                tet.iter().for_each(|&v| touched[v as usize] = true);
            }
        }
        let n = taken.iter().filter(|&&t| t).count();
        n_taken += n;
        let mut is_taken = taken.into_iter();
        mesh.tets.retain(|_| !is_taken.next().unwrap_or(false));
        if n == 0 {
            return n_taken;
        }
    }
}

/// The edges of a triangle, lower node first.
fn sides([a, b, c]: [u32; 3]) -> [[u32; 2]; 3] {
    [[a, b], [b, c], [c, a]].map(|[i, j]| [i.min(j), i.max(j)])
}

/// Partitions `nodes` into groups in which no two share a tet.
fn independent(nodes: &[u32], tets: &[[u32; 4]], around: &Lists) -> Vec<Vec<u32>> {
    let mut color = vec![u32::MAX; around.len()];
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for &v in nodes {
        let mut taken = vec![false; groups.len()];
        for u in around.of(v as usize).iter().flat_map(|&t| tets[t as usize]) {
            if let Some(t) = taken.get_mut(color[u as usize] as usize) {
                *t = true;
            }
        }
        let free = taken.iter().position(|t| !t).unwrap_or(groups.len());
        if free == groups.len() {
            groups.push(Vec::new());
        }
        color[v as usize] = free as u32;
        groups[free].push(v);
    }
    groups
}

/// Area-weighted normals of the boundary, zero inside.
pub fn outward_normals(mesh: &TetMesh) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; mesh.nodes.len()];
    for b in mesh.boundary() {
        let [p, q, r] = b.nodes.map(|v| mesh.nodes[v as usize]);
        let n = (q - p).cross(r - p);
        b.nodes.iter().for_each(|&v| normals[v as usize] += n);
    }
    normals.iter().map(|n| n.normalize_or_zero()).collect()
}

/// The least sine of the dihedral angles, with the sign of the volume.
pub(crate) fn min_sine(corners: [DVec3; 4]) -> f64 {
    let [a, b, c, d] = corners;
    let (ab, ac, ad, bc, bd, cd) = (b - a, c - a, d - a, c - b, d - b, d - c);
    // Twice the area of the face opposite each corner.
    let [fa, fb, fc, fd] = [bc.cross(bd), ac.cross(ad), ab.cross(ad), ab.cross(ac)].map(|n| n.length());
    let volume = volume_6(corners);
    // sin = 3/2 volume * length of the edge / product of the areas of its two faces.
    let edges = [(ab, fc * fd), (ac, fb * fd), (ad, fb * fc), (bc, fa * fd), (bd, fa * fc), (cd, fa * fb)];
    let least =
        edges.iter().map(|(e, areas)| e.length_squared() / (areas * areas)).fold(f64::INFINITY, f64::min);
    if least.is_finite() { volume * least.sqrt() } else { f64::MIN_POSITIVE.min(volume) }
}

/// The tets around a node.
struct Star<'a> {
    v: u32,
    nodes: &'a [DVec3],
    tets: &'a [[u32; 4]],
    around: &'a [u32],
}

impl Star<'_> {
    fn quality_of(&self, t: u32, p: DVec3) -> f64 {
        min_sine(self.tets[t as usize].map(|u| if u == self.v { p } else { self.nodes[u as usize] }))
    }

    /// The least quality with the node at `p`; if it is not above `floor`, any value not above `floor`.
    fn worst_above(&self, p: DVec3, floor: f64) -> f64 {
        let mut worst = f64::INFINITY;
        for &t in self.around {
            worst = worst.min(self.quality_of(t, p));
            if worst <= floor {
                break;
            }
        }
        worst
    }

    /// A better position for the node, if one is found.
    fn best_place(&self, normal: Option<DVec3>, project: Option<&Project>) -> Option<DVec3> {
        let start = self.nodes[self.v as usize];
        let (mut place, mut worst) = (start, self.worst_above(start, f64::NEG_INFINITY));
        let mut ring: Vec<u32> = self.around.iter().flat_map(|&t| self.tets[t as usize]).collect();
        ring.retain(|&u| u != self.v);
        let middle = ring.iter().map(|&u| self.nodes[u as usize]).sum::<DVec3>() / ring.len().max(1) as f64;
        let reach =
            ring.iter().map(|&u| self.nodes[u as usize].distance(start)).fold(f64::INFINITY, f64::min);
        let mut step = 0.5 * reach.max(0.2 * middle.distance(start));
        for _ in 0..6 {
            let mut better = None;
            for direction in self.directions(place, worst, middle) {
                let candidate = match (normal, project) {
                    (None, _) => Some(place + step * direction),
                    (Some(n), Some(project)) => {
                        let along = direction - n * n.dot(direction);
                        // Directions across the boundary are skipped.
                        if along.length() < 0.3 {
                            None
                        } else {
                            project(self.v, place + step * along.normalize(), n)
                        }
                    }
                    (Some(_), None) => None,
                };
                let Some(candidate) = candidate else { continue };
                let now = self.worst_above(candidate, worst);
                if now > worst {
                    (better, worst) = (Some(candidate), now);
                }
            }
            match better {
                Some(p) => place = p,
                None => step *= 0.4,
            }
        }
        (place != start).then_some(place)
    }

    /// Unit vectors along which the worst tets at `p` may improve.
    fn directions(&self, p: DVec3, worst: f64, middle: DVec3) -> impl Iterator<Item = DVec3> {
        let mut poor: Vec<(f64, u32)> = self.around.iter().map(|&t| (self.quality_of(t, p), t)).collect();
        poor.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        poor.truncate(4);
        poor.retain(|&(q, _)| q < worst + 0.15);
        let gradients: Vec<DVec3> =
            poor.iter().map(|&(_, t)| self.gradient(t, p).normalize_or_zero()).collect();
        let both = gradients.iter().take(2).sum::<DVec3>();
        let all = gradients.iter().sum::<DVec3>();
        let first = gradients.first().copied().unwrap_or_default();
        [first, both, all, middle - p].into_iter().map(DVec3::normalize_or_zero).filter(|d| *d != DVec3::ZERO)
    }

    fn gradient(&self, t: u32, p: DVec3) -> DVec3 {
        let corners = self.tets[t as usize].map(|u| self.nodes[u as usize]);
        let h = 1e-4 * corners.iter().map(|c| c.distance(p)).fold(0.0, f64::max);
        let along = |d: DVec3| self.quality_of(t, p + d) - self.quality_of(t, p - d);
        DVec3::new(along(h * DVec3::X), along(h * DVec3::Y), along(h * DVec3::Z))
    }
}
