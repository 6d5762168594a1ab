//! The shell where no handle is near: extra handles whose motion follows from that of the real ones.
//!
//! A shell through few markers extrapolates its bending where there are none: linings of mouth and sockets
//! pass through the skin, and the scalp swings. So such places get extra handles:
//!
//! - on the far side of thin flesh, an extra handle moves like the shell on the near side;
//! - elsewhere beyond the reach of handles, it moves by the mean of nearby handles, weighted by distance. It
//!   fades to rest far from all handles.
//!
//! All of it is linear in the handles, so it is folded into the basis of the shell. Where handles cover the
//! mesh, the shell is that of [`Shell::prepare`] to the bit. This is for markers and transferred faces only.
//! Details are learned with the plain shell: where extra handles are at rest, the shell bends sharply beside
//! them, and detail that has to undo it tears in poses that were not learned.

use crate::frames::Fans;
use crate::shell::MAX_HANDLES;
use crate::{DetailError, Shell, ShellOptions};
use glam::{Vec3, Vec3A};
use rayon::prelude::*;
use risorius_base::ease::smoothstep;
use risorius_base::progress::Progress;
use risorius_mesh::{Bvh, EdgeGraph, FileMesh, Nearest};

/// Flesh is thin below this fraction of the distance between handles.
const THIN: f64 = 0.5;

/// The far side of thin flesh gets extra handles beyond this distance from all handles, along the surface, in
/// distances between them.
const APART: f64 = 0.7;

/// Largest number of extra handles on far sides, and elsewhere.
const FOLLOWERS: usize = 80;
const FILLED: usize = 160;

/// Skin farther than this from all handles, along the surface, gets extra handles; in distances between them.
const REACH: f64 = 1.0;

/// Extra handles fade to rest between these distances from the nearest handle, in distances between them.
const FADE: [f64; 2] = [1.0, 2.0];

/// Number of handles that an extra one may follow.
const NEAR: usize = 16;

/// What an extra handle follows.
enum Lead {
    /// The shell at this vertex.
    Vertex(u32),
    /// Handles, by their shares.
    Handles(Vec<(usize, f32)>),
}

/// The shell through `handles`, with extra handles where there are none.
pub(crate) fn shell(
    mesh: &FileMesh,
    handles: &[u32],
    spacing: f64,
    options: &ShellOptions,
    progress: &Progress,
) -> Result<Shell, DetailError> {
    crate::check_rest(mesh)?;
    crate::shell::check_handles(mesh, handles)?;
    let extra = extras(mesh, handles, spacing);
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
fn extras(mesh: &FileMesh, handles: &[u32], spacing: f64) -> Vec<(u32, Lead)> {
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
    let lead = |&v: &u32| (v, Lead::Handles(shares(mesh, handles, v, spacing)));
    extra.extend(places.par_iter().map(lead).collect::<Vec<_>>());
    extra.truncate(room);
    extra
}

/// The shares of the handles in the motion of a vertex.
fn shares(mesh: &FileMesh, handles: &[u32], vertex: u32, spacing: f64) -> Vec<(usize, f32)> {
    let far = |h: &usize| mesh.at(handles[*h]).distance(mesh.at(vertex)) / spacing.max(f64::MIN_POSITIVE);
    let mut near: Vec<usize> = (0..handles.len()).collect();
    near.sort_by(|a, b| far(a).total_cmp(&far(b)));
    near.truncate(NEAR);
    let nearest = near.first().map_or(f64::INFINITY, far);
    let fade = 1.0 - smoothstep(((nearest - FADE[0]) / (FADE[1] - FADE[0])).clamp(0.0, 1.0));
    if fade <= 0.0 {
        return Vec::new();
    }
    let raw: Vec<f64> = near.iter().map(|h| (-2.0 * (far(h).powi(2) - nearest.powi(2))).exp()).collect();
    let sum: f64 = raw.iter().sum();
    let share = |(&h, w): (&usize, &f64)| (h, (w / sum * fade) as f32);
    near.iter().zip(&raw).map(share).filter(|(_, s)| *s > 0.0).collect()
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
