//! Corrective volumes for pairs of shapes whose sum inverts elements.
//!
//! Every pair of sliders is blended at weight 1. Where an element falls below [`LEAST_J`] of its neutral
//! volume, squashed elements are opened ([`risorius_solve::lift`]), and the difference is stored.
//! [`RestVolumes`] adds it in proportion to both shapes. Only the volume changes, never the artist's skin.
//! Pairs that move the skin in opposite directions (jaw left and jaw right) are left out: nobody uses them
//! together. If there are too many pairs, those with the most squashed elements are kept; the others are
//! repaired when they are evaluated.

use crate::blendvolumes::sparse;
use crate::face::PairReport;
use crate::flesh::{Corrective, Flesh, VolumeShape};
use crate::rest::{LEAST_J, RestVolumes, add};
use crate::volume::Parts;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_base::progress::{Progress, tick};
use risorius_rig::Shape;
use risorius_solve::SolveError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most correctives of a face; each takes some kilobytes and a few hundredths of a second.
const MOST: usize = 512;

/// Displacements below this are not stored, in meters.
const LEAST_OFFSET: f64 = 2e-5;

/// Shapes are opposite if the cosine of the angle between their displacements of the skin is below this.
pub const OPPOSITE: f64 = -0.7;

/// A pair of sliders whose sum squashes elements.
struct Pair {
    sliders: [usize; 2],
    /// Smallest relative volume.
    worst: f64,
    /// By how much elements are below half of their neutral volume, summed.
    lack: f64,
}

/// The correctives of all pairs that need one, and figures.
pub fn correctives(
    flesh: &Flesh,
    parts: &Parts,
    progress: &Progress,
) -> Result<(Vec<Corrective>, PairReport), SolveError> {
    let rest = RestVolumes::prepare(flesh)?;
    let n = parts.rig.sliders.len();
    let all: Vec<[usize; 2]> = (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b])).collect();
    let full = |sliders: [usize; 2]| sliders.map(|s| parts.rig.sliders[s].shape);
    let strengths = |sliders: [usize; 2]| -> Vec<f64> {
        let mut weights = vec![0.0; n];
        sliders.iter().for_each(|&s| weights[s] = 1.0);
        parts.evaluator.strengths(&weights).iter().map(|&c| c.into()).collect()
    };
    let squashed = Squashed::prepare(&rest, flesh);
    let done = AtomicUsize::new(0);
    let advance = || {
        let count = done.fetch_add(1, Ordering::Relaxed);
        let share = count as f32 / (all.len() + MOST) as f32;
        if count.is_multiple_of(16) { tick(progress, "pairs", share) } else { Ok(()) }
    };
    let measured: Result<Vec<Pair>, SolveError> = all
        .par_iter()
        .map_init(Space::default, |space, &sliders| {
            advance()?;
            let moves = full(sliders).iter().all(|&s| !flesh.volumes[s].nodes.is_empty());
            let (worst, lack) =
                if moves { squashed.at(&strengths(sliders), space) } else { (f64::INFINITY, 0.0) };
            Ok(Pair { sliders, worst, lack })
        })
        .collect();
    let mut bad = measured?;
    // A shape that is squashed alone, because it is made for others, is no matter of pairs.
    let alone = |space: &mut Space, s: usize| squashed.at(&strengths([s, s]), space).0 >= LEAST_J;
    let fine: Vec<bool> = (0..n).into_par_iter().map_init(Space::default, alone).collect();
    let names = |sliders: [usize; 2]| sliders.map(|s| parts.rig.sliders[s].name.clone());
    let mut report = PairReport { n_pairs: all.len(), ..PairReport::default() };
    let worst = bad.iter().min_by(|a, b| a.worst.total_cmp(&b.worst)).filter(|p| p.worst.is_finite());
    report.worst = worst.map(|p| (names(p.sliders), p.worst));
    bad.retain(|pair| pair.worst < LEAST_J && pair.sliders.iter().all(|&s| fine[s]));
    report.n_inverting = bad.len();
    bad.retain(|pair| !are_opposite(full(pair.sliders).map(|s| &parts.rig.shapes[s])));
    report.n_opposite = report.n_inverting - bad.len();
    bad.sort_by(|a, b| b.lack.total_cmp(&a.lack).then(a.sliders.cmp(&b.sliders)));
    bad.truncate(MOST);
    let solved: Result<Vec<Option<Corrective>>, SolveError> = bad
        .par_iter()
        .with_max_len(1)
        .map(|pair| {
            advance()?;
            corrective(&rest, full(pair.sliders), &strengths(pair.sliders))
        })
        .collect();
    let mut found = Vec::new();
    for (pair, corrective) in bad.iter().zip(solved?) {
        match corrective {
            Some(corrective) => found.push(corrective),
            None => report.unrepaired.push(names(pair.sliders)),
        }
    }
    report.n_corrected = found.len();
    found.sort_by_key(|c| c.shapes);
    Ok((found, report))
}

/// Volumes of elements in blends of few shapes.
struct Squashed<'a> {
    rest: &'a RestVolumes<'a>,
    flesh: &'a Flesh,
    nodes: Vec<DVec3>,
    /// Elements that each shape moves, ascending.
    moved: Vec<Vec<u32>>,
}

/// Workspace of [`Squashed::at`]: the neutral, but for what it changes and restores.
#[derive(Default)]
struct Space {
    positions: Vec<DVec3>,
}

impl<'a> Squashed<'a> {
    fn prepare(rest: &'a RestVolumes<'a>, flesh: &'a Flesh) -> Self {
        let moved = |shape: &VolumeShape| {
            let mut moves = vec![false; flesh.n_nodes()];
            shape.nodes.iter().for_each(|&n| moves[n as usize] = true);
            let is_moved = |t: &u32| flesh.tets[*t as usize].iter().any(|&n| moves[n as usize]);
            (0..flesh.tets.len() as u32).filter(is_moved).collect()
        };
        Self { rest, flesh, nodes: flesh.rest(), moved: flesh.volumes.par_iter().map(moved).collect() }
    }

    /// The smallest relative volume of an element that moves, at most 1, and how far elements are below half
    /// of it in total. The others have their neutral volume.
    fn at(&self, strengths: &[f64], space: &mut Space) -> (f64, f64) {
        let active: Vec<usize> = (0..strengths.len()).filter(|&s| strengths[s] != 0.0).collect();
        space.positions.resize(self.nodes.len(), DVec3::NAN);
        if space.positions.first().is_some_and(|p| p.is_nan()) {
            space.positions.copy_from_slice(&self.nodes);
        }
        let positions = &mut space.positions;
        active.iter().for_each(|&s| add(positions, &self.flesh.volumes[s], strengths[s]));
        let mut tets: Vec<u32> = active.iter().flat_map(|&s| &self.moved[s]).copied().collect();
        tets.sort_unstable();
        tets.dedup();
        let js = tets.iter().map(|&t| self.rest.j(positions, t as usize));
        let found = js.fold((1.0, 0.0), |(worst, lack), j| (j.min(worst), lack + (0.5 - j).max(0.0)));
        for &n in active.iter().flat_map(|&s| self.flesh.volumes[s].nodes.iter()) {
            positions[n as usize] = self.nodes[n as usize];
        }
        found
    }
}

/// What opens the squashed elements of a pair, if that is enough.
fn corrective(
    rest: &RestVolumes,
    shapes: [usize; 2],
    strengths: &[f64],
) -> Result<Option<Corrective>, SolveError> {
    let (linear, lifted) = (rest.linear(strengths), rest.lifted(strengths)?);
    let offsets: Vec<DVec3> = lifted.iter().zip(&linear).map(|(x, l)| *x - *l).collect();
    if rest.worst(&lifted).0 < LEAST_J {
        return Ok(None);
    }
    let mut shapes = shapes.map(|s| s as u32);
    shapes.sort_unstable();
    Ok(Some(Corrective { shapes, volume: sparse(&offsets, LEAST_OFFSET) }))
}

/// Whether two shapes move the skin in opposite directions.
fn are_opposite(pair: [&Shape; 2]) -> bool {
    alignment(pair) < OPPOSITE
}

/// The cosine of the angle between the displacements of the skin in two shapes: 1 for multiples of one
/// another, -1 for opposite ones, 0 where one does not move the skin.
pub fn alignment([a, b]: [&Shape; 2]) -> f64 {
    let squared =
        |s: &Shape| s.deltas.offsets.iter().map(|&o| Vec3::from(o).as_dvec3().length_squared()).sum::<f64>();
    let mut product = 0.0;
    for (vertex, &offset) in a.deltas.vertices.iter().zip(&a.deltas.offsets) {
        if let Ok(at) = b.deltas.vertices.binary_search(vertex) {
            product += Vec3::from(offset).as_dvec3().dot(Vec3::from(b.deltas.offsets[at]).as_dvec3());
        }
    }
    if product == 0.0 { 0.0 } else { product / (squared(a) * squared(b)).sqrt() }
}
