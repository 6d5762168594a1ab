//! The shell where no handle is near: extra handles whose motion follows from that of the real ones.
//!
//! A shell through few handles extrapolates its bending where there are none: linings of mouth and sockets
//! pass through the skin, and the scalp swings. Detail would have to cancel that, by centimeters, and would
//! do so only in the poses that were learned. So such places get extra handles:
//!
//! - on the far side of thin flesh, an extra handle moves like the shell on the near side;
//! - elsewhere beyond the reach of handles, it moves by a convex combination of nearby handles and of rest,
//!   the one that explains the examples best; without examples, by their mean weighted by distance. It fades
//!   to rest far from all handles;
//! - a piece without handles (an eye, a row of teeth) gets one extra handle if there are examples. Otherwise
//!   it follows the skin around it, as [`Shell::prepare`] says.
//!
//! All of it is linear in the handles, so it is folded into the basis of the shell and costs nothing when
//! frames are played. Poses are aligned with the rest before the shell sees them; rest means rest in that
//! frame. Where handles cover the mesh, the shell is that of [`Shell::prepare`] to the bit.

use crate::frames::Fans;
use crate::pose_space::convex;
use crate::shell::MAX_HANDLES;
use crate::{DetailError, Shell, ShellOptions};
use glam::{Vec3, Vec3A};
use rayon::prelude::*;
use risorius_base::ease::smoothstep;
use risorius_base::progress::Progress;
use risorius_mesh::surface::components;
use risorius_mesh::{Bvh, EdgeGraph, FileMesh, Nearest};

/// Flesh is thin below this fraction of the distance between handles.
const THIN: f64 = 0.5;

/// The far side of thin flesh gets extra handles beyond this distance from all handles, along the surface, in
/// distances between them.
const APART: f64 = 0.7;

/// Largest number of extra handles on far sides, elsewhere, and on pieces without handles.
const FOLLOWERS: usize = 80;
const FILLED: usize = 160;
const PIECES: usize = 64;

/// Skin farther than this from all handles, along the surface, gets extra handles; in distances between them.
const REACH: f64 = 1.0;

/// Extra handles fade to rest between these distances from the nearest handle, in distances between them.
const FADE: [f64; 2] = [1.0, 2.0];

/// Number of handles that an extra one may follow, and how much a far one costs relative to a misfit.
const NEAR: usize = 16;
const FAR_COST: f32 = 0.05;

/// What an extra handle follows.
enum Lead {
    /// The shell at this vertex.
    Vertex(u32),
    /// Handles, by their shares.
    Handles(Vec<(usize, f32)>),
}

/// The shell through `handles`, with extra handles where there are none. `motions`: for each example the
/// motion of every vertex from the rest, aligned with it.
pub(crate) fn shell(
    mesh: &FileMesh,
    handles: &[u32],
    spacing: f64,
    motions: &[Vec<Vec3>],
    options: &ShellOptions,
    progress: &Progress,
) -> Result<Shell, DetailError> {
    crate::check_rest(mesh)?;
    crate::shell::check_handles(mesh, handles)?;
    let extra = extras(mesh, handles, spacing, motions);
    if extra.is_empty() {
        return Shell::prepare(mesh, handles, spacing, options, progress);
    }
    let all: Vec<u32> = handles.iter().copied().chain(extra.iter().map(|(v, _)| *v)).collect();
    let both = Shell::prepare(mesh, &all, spacing, options, progress)?;
    let (own, others) = both.basis.split_at(handles.len());
    let shares: Vec<Vec<(usize, f32)>> = extra
        .iter()
        .map(|(_, lead)| match lead {
            Lead::Handles(shares) => shares.clone(),
            Lead::Vertex(v) => {
                let row = own.iter().map(|column| column[*v as usize]);
                let sum: f32 = row.clone().sum();
                let scale = if sum > 0.5 { 1.0 / sum } else { 1.0 };
                row.map(|b| b * scale).enumerate().filter(|(_, b)| *b != 0.0).collect()
            }
        })
        .collect();
    let folded = |handle: usize| {
        let mut sum = own[handle].to_vec();
        for (other, shares) in others.iter().zip(&shares) {
            let share: f32 = shares.iter().filter(|(h, _)| *h == handle).map(|(_, s)| s).sum();
            if share != 0.0 {
                sum.iter_mut().zip(other.iter()).for_each(|(s, o)| *s += o * share);
            }
        }
        sum.into()
    };
    let basis = (0..handles.len()).into_par_iter().map(folded).collect();
    Ok(Shell { handles: handles.to_vec(), basis, options: both.options })
}

/// Vertices of extra handles, and what they follow.
fn extras(mesh: &FileMesh, handles: &[u32], spacing: f64, motions: &[Vec<Vec3>]) -> Vec<(u32, Lead)> {
    let room = MAX_HANDLES.saturating_sub(handles.len());
    let graph =
        EdgeGraph::prepare(mesh.n_vertices(), &mesh.triangles, |a, b| mesh.at(a).distance(mesh.at(b)));
    let mut along = Nearest::nothing(mesh.n_vertices());
    along.add(&graph, handles.iter().zip(0..).map(|(&v, m)| (v, m)), f64::INFINITY);
    let mut extra: Vec<(u32, Lead)> =
        followers(mesh, &along, spacing).into_iter().map(|[v, leader]| (v, Lead::Vertex(leader))).collect();
    let sources = extra.iter().zip(handles.len() as u32..).map(|((v, _), m)| (*v, m)).collect::<Vec<_>>();
    along.add(&graph, sources.into_iter(), f64::INFINITY);
    let mut places = Vec::new();
    while places.len() < FILLED {
        let reached = |v: &u32| along.distance[*v as usize];
        let candidates = (0..mesh.n_vertices() as u32).filter(|v| reached(v).is_finite());
        let next = candidates.reduce(|best, v| if reached(&v) > reached(&best) { v } else { best });
        let Some(next) = next.filter(|v| reached(v) > REACH * spacing) else { break };
        along.add(&graph, [(next, u32::MAX - 1)].into_iter(), f64::INFINITY);
        places.push(next);
    }
    if !motions.is_empty() {
        places.extend(middles(mesh, handles));
    }
    let lead = |&v: &u32| (v, Lead::Handles(shares(mesh, handles, v, spacing, motions)));
    extra.extend(places.par_iter().map(lead).collect::<Vec<_>>());
    extra.truncate(room);
    extra
}

/// The vertex nearest to the middle of each of the largest pieces without handles.
fn middles(mesh: &FileMesh, handles: &[u32]) -> Vec<u32> {
    let connected = components::of_triangles(mesh.n_vertices(), &mesh.triangles);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); connected.sizes.len()];
    (0..mesh.n_vertices() as u32).for_each(|v| members[connected.of_vertex[v as usize] as usize].push(v));
    handles.iter().for_each(|&v| members[connected.of_vertex[v as usize] as usize].clear());
    let mut pieces: Vec<Vec<u32>> = members.into_iter().filter(|m| m.len() >= 3).collect();
    pieces.sort_by(|a, b| b.len().cmp(&a.len()).then(a[0].cmp(&b[0])));
    let middle = |piece: &Vec<u32>| {
        let mean = piece.iter().map(|&v| mesh.at(v)).sum::<glam::DVec3>() / piece.len() as f64;
        let far = |v: &u32| mesh.at(*v).distance_squared(mean);
        piece.iter().copied().reduce(|best, v| if far(&v) < far(&best) { v } else { best })
    };
    pieces.iter().take(PIECES).filter_map(middle).collect()
}

/// The shares of the handles in the motion of a vertex.
fn shares(
    mesh: &FileMesh,
    handles: &[u32],
    vertex: u32,
    spacing: f64,
    motions: &[Vec<Vec3>],
) -> Vec<(usize, f32)> {
    let far = |h: &usize| mesh.at(handles[*h]).distance(mesh.at(vertex)) / spacing.max(f64::MIN_POSITIVE);
    let mut near: Vec<usize> = (0..handles.len()).collect();
    near.sort_by(|a, b| far(a).total_cmp(&far(b)));
    near.truncate(NEAR);
    let nearest = near.first().map_or(f64::INFINITY, far);
    let fade = 1.0 - smoothstep(((nearest - FADE[0]) / (FADE[1] - FADE[0])).clamp(0.0, 1.0));
    if fade <= 0.0 {
        return Vec::new();
    }
    let by_distance = || {
        let raw: Vec<f64> = near.iter().map(|h| (-2.0 * (far(h).powi(2) - nearest.powi(2))).exp()).collect();
        let sum: f64 = raw.iter().sum();
        raw.into_iter().map(|w| (w / sum) as f32).collect::<Vec<f32>>()
    };
    let shares = match motions.is_empty() {
        true => by_distance(),
        false => by_examples(&near, handles, vertex, far, motions),
    };
    near.iter().zip(shares).filter(|(_, s)| *s > 0.0).map(|(&h, s)| (h, s * fade as f32)).collect()
}

/// The convex combination of some handles and of rest that moves most like a vertex in the examples.
fn by_examples(
    near: &[usize],
    handles: &[u32],
    vertex: u32,
    far: impl Fn(&usize) -> f64,
    motions: &[Vec<Vec3>],
) -> Vec<f32> {
    let moved = |v: u32| motions.iter().flat_map(move |m| m[v as usize].to_array());
    let square = |v: u32| moved(v).map(|x| x * x).sum::<f32>();
    let scale = near.iter().map(|&h| square(handles[h])).fold(0.0, f32::max).sqrt();
    // One more number for each handle makes far ones cost something.
    let vector = |v: u32, own: Option<usize>| -> Vec<f32> {
        let cost = |k: usize| if own == Some(k) { FAR_COST * scale * far(&near[k]) as f32 } else { 0.0 };
        moved(v).chain((0..near.len()).map(cost)).collect()
    };
    let mut poses: Vec<Vec<f32>> =
        near.iter().enumerate().map(|(k, &h)| vector(handles[h], Some(k))).collect();
    let wanted = vector(vertex, None);
    poses.push(vec![0.0; wanted.len()]);
    let poses: Vec<&[f32]> = poses.iter().map(Vec::as_slice).collect();
    let mut found = convex(&wanted, &poses, (0..wanted.len()).map(|i| (i, 1.0)));
    found.truncate(near.len());
    found
}

/// Vertices on far sides of thin flesh, well spread, each with the vertex on the near side that it follows.
/// `along`: distances from the handles along the surface.
fn followers(mesh: &FileMesh, along: &Nearest, spacing: f64) -> Vec<[u32; 2]> {
    let x: Vec<Vec3A> = mesh.positions.iter().map(|&p| p.into()).collect();
    let fans = Fans::prepare(x.len(), &mesh.triangles);
    let tree = Bvh::build(&mesh.positions, &mesh.triangles);
    let one = |v: u32| {
        let inward = -Vec3::from(fans.normal(v as usize, &x)).as_dvec3();
        let hit = tree.ray(mesh.at(v) + inward * (1e-3 * spacing), inward, THIN * spacing)?;
        let corners = mesh.triangles[hit.triangle as usize];
        let most =
            (0..3).fold(0, |best, k| if hit.barycentric[k] > hit.barycentric[best] { k } else { best });
        let leader = corners[most];
        let farther = along.distance[v as usize] - along.distance[leader as usize];
        let is_behind = hit.from_behind && farther.is_finite() && farther > THIN * spacing;
        (is_behind && along.distance[v as usize] > APART * spacing).then_some([v, leader])
    };
    let all: Vec<[u32; 2]> = (0..x.len() as u32).into_par_iter().filter_map(one).collect();
    // Farthest-point sampling.
    let Some(&first) = all.first() else { return all };
    let mut chosen = vec![first];
    let mut far: Vec<f32> =
        all.iter().map(|[v, _]| x[*v as usize].distance_squared(x[first[0] as usize])).collect();
    while chosen.len() < FOLLOWERS {
        let next = (0..all.len()).fold(0, |best, k| if far[k] > far[best] { k } else { best });
        if f64::from(far[next]) < (0.1 * spacing).powi(2) {
            break;
        }
        chosen.push(all[next]);
        let here = x[all[next][0] as usize];
        far.iter_mut().zip(&all).for_each(|(d, [v, _])| *d = d.min(x[*v as usize].distance_squared(here)));
    }
    chosen
}
