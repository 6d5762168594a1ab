//! Raw scans made fit for registration: without vertices that are not numbers, spikes and floating shells,
//! wound outward.
//!
//! Nothing is moved or filled: a hole is better than an invented surface. Spikes are vertices that stand far
//! from the mean of their neighbors, measured by the usual edge; shells are pieces with few triangles. What
//! was left out is counted, for the report.

use crate::FitError;
use glam::DVec3;
use risorius_mesh::TriMesh;
use risorius_mesh::surface::components;
use risorius_mesh::surface::walk::EdgeGraph;
use serde::Serialize;

/// Pieces with less than this part of the triangles of the largest are dropped.
const SHELL: f64 = 0.05;

/// Distance from the mean of the neighbors, in usual edges, that makes a spike.
const SPIKE: f64 = 4.0;

/// Edges longer than this many usual edges join what does not belong together.
const LONG: f64 = 20.0;

/// Least number of triangles of a usable scan.
const FEWEST: usize = 500;

/// What was left out of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// Vertices that are not finite numbers.
    pub not_finite: usize,
    /// Vertices of spikes.
    pub spikes: usize,
    /// Vertices of floating pieces.
    pub floating: usize,
    /// Whether the scan was inside out and has been turned.
    pub turned: bool,
}

/// The usable part of a scan called `name`.
pub fn clean(mesh: TriMesh, name: &str) -> Result<(TriMesh, Cleaned), FitError> {
    let mut cleaned = Cleaned::default();
    if mesh.triangles.is_empty() {
        let problem = "it has no faces; give a surface, or a point cloud as .ply file";
        return Err(unusable(name, problem.into(), &[]));
    }
    cleaned.not_finite = mesh.positions.iter().filter(|p| !p.is_finite()).count();
    let mut mesh = joined(mesh);
    let finite = |t: &[u32; 3]| t.iter().all(|&v| mesh.positions[v as usize].is_finite());
    mesh.triangles = mesh.triangles.iter().copied().filter(|t| finite(t) && is_proper(t)).collect();
    cleaned.spikes = without_spikes(&mut mesh);
    cleaned.floating = without_shells(&mut mesh);
    mesh = packed(mesh);
    if mesh.triangles.len() < FEWEST {
        let problem = format!(
            "{} usable triangles; a face needs thousands: give the scan at full resolution",
            mesh.triangles.len()
        );
        return Err(unusable(name, problem, &[]));
    }
    cleaned.turned = turn_outward(&mut mesh);
    Ok((mesh, cleaned))
}

pub(crate) fn unusable(scan: &str, problem: String, options: &'static [&'static str]) -> FitError {
    FitError::Scan { scan: scan.into(), problem, options }
}

fn is_proper(t: &[u32; 3]) -> bool {
    t[0] != t[1] && t[1] != t[2] && t[2] != t[0]
}

/// Joins vertices at the same place: STL files, and others that split vertices, have no connections.
fn joined(mesh: TriMesh) -> TriMesh {
    let bits = |p: DVec3| p.to_array().map(|x| (x + 0.0).to_bits());
    let mut order: Vec<u32> = (0..mesh.n_vertices() as u32).collect();
    order.sort_by_cached_key(|&v| (bits(mesh.positions[v as usize]), v));
    let mut first = vec![0u32; order.len()];
    for (k, &v) in order.iter().enumerate() {
        let before = k.checked_sub(1).map(|k| order[k]);
        let same = before.filter(|&u| bits(mesh.positions[u as usize]) == bits(mesh.positions[v as usize]));
        first[v as usize] = same.map_or(v, |u| first[u as usize]);
    }
    let triangles = mesh.triangles.iter().map(|t| t.map(|v| first[v as usize])).collect();
    TriMesh { positions: mesh.positions, triangles }
}

/// Removes the triangles of spikes; returns how many vertices stand out.
fn without_spikes(mesh: &mut TriMesh) -> usize {
    let graph = EdgeGraph::prepare(mesh.n_vertices(), &mesh.triangles, |a, b| {
        mesh.positions[a as usize].distance(mesh.positions[b as usize])
    });
    let mut lengths: Vec<f64> =
        (0..mesh.n_vertices() as u32).flat_map(|v| graph.around(v).iter().map(|w| w.1)).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    let usual = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    let stands_out = |v: u32| {
        let around = graph.around(v);
        let mean =
            around.iter().map(|w| mesh.positions[w.0 as usize]).sum::<DVec3>() / around.len().max(1) as f64;
        !around.is_empty() && mesh.positions[v as usize].distance(mean) > SPIKE * usual
    };
    let spike: Vec<bool> = (0..mesh.n_vertices() as u32).map(stands_out).collect();
    // A long edge at a hole's rim is no spike, so only a vertex that all its edges make stand out is one.
    let is_spike = |v: u32| {
        let around = graph.around(v);
        spike[v as usize] && around.iter().all(|w| w.1 > 0.5 * SPIKE * usual)
    };
    let spike: Vec<bool> = (0..mesh.n_vertices() as u32).map(is_spike).collect();
    let kept = |t: &&[u32; 3]| {
        let p = t.map(|v| mesh.positions[v as usize]);
        let longest = p[0].distance(p[1]).max(p[1].distance(p[2])).max(p[2].distance(p[0]));
        t.iter().all(|&v| !spike[v as usize]) && longest < LONG * usual
    };
    let triangles = mesh.triangles.iter().filter(kept).copied().collect();
    mesh.triangles = triangles;
    spike.iter().filter(|s| **s).count()
}

/// Removes small pieces; returns how many vertices they have.
fn without_shells(mesh: &mut TriMesh) -> usize {
    let pieces = components::of_triangles(mesh.n_vertices(), &mesh.triangles);
    let mut sizes = vec![0usize; pieces.sizes.len()];
    let piece = |t: &[u32; 3]| pieces.of_vertex[t[0] as usize] as usize;
    mesh.triangles.iter().for_each(|t| sizes[piece(t)] += 1);
    let largest = sizes.iter().copied().max().unwrap_or(0) as f64;
    let is_small = |p: usize| (sizes[p] as f64) < SHELL * largest;
    let mut used = vec![false; mesh.n_vertices()];
    mesh.triangles.iter().flatten().for_each(|&v| used[v as usize] = true);
    let n = (0..used.len()).filter(|&v| used[v] && is_small(pieces.of_vertex[v] as usize)).count();
    mesh.triangles = mesh.triangles.iter().copied().filter(|t| !is_small(piece(t))).collect();
    n
}

/// Only the vertices that triangles use.
fn packed(mesh: TriMesh) -> TriMesh {
    let mut number = vec![u32::MAX; mesh.n_vertices()];
    mesh.triangles.iter().flatten().for_each(|&v| number[v as usize] = 0);
    let mut positions = Vec::new();
    for (slot, p) in number.iter_mut().zip(&mesh.positions).filter(|(slot, _)| **slot == 0) {
        *slot = positions.len() as u32;
        positions.push(*p);
    }
    let triangles = mesh.triangles.iter().map(|t| t.map(|v| number[v as usize])).collect();
    TriMesh { positions, triangles }
}

/// Turns a scan that is inside out: most of a head's surface faces away from its middle.
fn turn_outward(mesh: &mut TriMesh) -> bool {
    let middle = mesh.positions.iter().sum::<DVec3>() / mesh.n_vertices().max(1) as f64;
    let (mut outward, mut all) = (0.0, 0.0);
    for [a, b, c] in mesh.corners() {
        let normal = (b - a).cross(c - a);
        let away = ((a + b + c) / 3.0 - middle).normalize_or_zero().dot(normal);
        outward += away;
        all += away.abs();
    }
    let is_inside_out = outward < -0.3 * all;
    if is_inside_out {
        mesh.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    }
    is_inside_out
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_head::skin;

    fn head() -> TriMesh {
        let neutral = skin::neutral();
        let part = &neutral.parts[0];
        TriMesh { positions: part.positions.clone(), triangles: part.faces.triangulated() }
    }

    #[test]
    fn a_good_scan_stays_as_it_is() {
        let (mesh, cleaned) = clean(head(), "good").unwrap();
        assert_eq!(cleaned, Cleaned::default());
        assert_eq!(mesh.n_vertices(), head().n_vertices());
    }

    #[test]
    fn faults_are_removed_and_counted() {
        let mut bad = head();
        let n = bad.n_vertices();
        bad.positions[100] = DVec3::NAN;
        let spiked = 200usize;
        bad.positions[spiked] += DVec3::Z * 0.2;
        let first = n as u32;
        bad.positions.extend([DVec3::X, DVec3::X + DVec3::Y * 0.01, DVec3::X + DVec3::Z * 0.01]);
        bad.triangles.push([first, first + 1, first + 2]);
        bad.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        let (mesh, cleaned) = clean(bad, "bad").unwrap();
        assert_eq!((cleaned.not_finite, cleaned.spikes, cleaned.floating, cleaned.turned), (1, 1, 3, true));
        assert_eq!(mesh.n_vertices(), n - 2);
        assert!(mesh.positions.iter().all(|p| p.is_finite() && p.length() < 0.5));
    }

    #[test]
    fn what_is_no_scan_is_refused() {
        let points = TriMesh { triangles: Vec::new(), ..head() };
        assert!(clean(points, "cloud").unwrap_err().to_string().contains("no faces"));
        let few = TriMesh { triangles: head().triangles[..50].to_vec(), ..head() };
        assert!(clean(few, "few").unwrap_err().to_string().contains("usable triangles"));
    }
}
