//! Dense correspondence of two faces of different topology.
//!
//! The source is aligned by landmarks, bent through them, and pulled onto the target's visible surface
//! (`find/bend.rs`): matches by place and direction, smoothed by a biharmonic field that gets softer. Then
//! every triangle and vertex of the target takes the nearest point of the bent source that faces the same way.
//!
//! Near mouth and eyes nearness is not enough: closed lips touch. Vertices within reach of a lip or lid get
//! the side that is nearest along the surface (`sides`), and only equal sides match. Parts of the target that
//! nothing corresponds to (a mouth bag that the source models differently) follow their neighbors; what lies
//! far beyond the source (shoulders) stays.
//!
//! In: skins in meters, +Y up, +Z front, each with landmarks. Limits: a lip that is sculpted open on one face
//! and closed on the other is matched by its outer side; hair and clothes must not be part of the skins.

pub mod sides;

use crate::FitError;
use crate::deformation::{Correspondence, Link, SourcePoint};
use crate::find::bend::{Round, pull};
use crate::find::cloud::Cloud;
use crate::find::spread::spread;
use crate::find::tree_of;
use glam::DVec3;
use rayon::prelude::*;
use risorius_anatomy::outer::OuterSkin;
use risorius_anatomy::warp::Warp;
use risorius_base::progress::{Progress, tick};
use risorius_head::landmarks::N_LANDMARKS;
use risorius_mesh::{Bvh, Similarity, TriMesh};
use sides::{Side, matches, sides};

/// A skin with landmarks.
#[derive(Debug, Clone)]
pub struct Skin {
    /// Meters, +Y up, +Z front, wound outward.
    pub mesh: TriMesh,
    /// Position and confidence of each landmark, in the order of [`risorius_head::landmarks::NAMES`].
    pub landmarks: Vec<Option<(DVec3, f64)>>,
    /// More points, which correspond one to one on the two skins.
    pub pins: Vec<DVec3>,
}

/// A correspondence, and how well the source lies on the target.
pub struct Corresponded {
    /// For the triangles and vertices of the target's skin.
    pub link: Correspondence,
    /// The source's vertices, bent onto the target.
    pub bent: Vec<DVec3>,
    /// From the source to the target, before bending.
    pub similarity: Similarity,
    /// Distances of the target's visible face from the bent source, meters: mean and 95th percentile.
    pub distance: [f64; 2],
    /// Length of the way along the target's surface between the middles of its lips, relative to their
    /// distance in space. A mouth that can open has a long way around; a fused one does not.
    pub way_between_lips: Option<f64>,
}

/// Least confidence of landmarks that align.
const USED: f64 = 0.2;
/// Distance within which surfaces correspond, meters; gradients count half at a third of it.
const REACH: f64 = 0.015;
/// Beyond this from the source, the target stays still.
const FAR: f64 = 0.03;
/// Size of the cells of the target's cloud, meters.
const CELL: f64 = 0.002;
/// Most samples of the source.
const SAMPLES: usize = 1100;

const fn round(softness: f64, radius: f64, soft: f64) -> Round {
    Round { softness, radius, soft }
}

const ROUNDS: [Round; 9] = [
    round(0.20, 0.014, 0.008),
    round(0.15, 0.012, 0.007),
    round(0.10, 0.010, 0.006),
    round(0.06, 0.010, 0.006),
    round(0.04, 0.008, 0.005),
    round(0.025, 0.008, 0.005),
    round(0.015, 0.006, 0.004),
    round(0.010, 0.006, 0.004),
    round(0.008, 0.005, 0.004),
];

/// The correspondence of `target` with `source`.
pub fn correspond(source: &Skin, target: &Skin, progress: &Progress) -> Result<Corresponded, FitError> {
    tick(progress, "correspondence", 0.0)?;
    let (similarity, start) = by_landmarks(source, target)?;
    let place = |p: &DVec3| similarity.apply(*p);
    let base = TriMesh {
        positions: source.mesh.positions.iter().map(place).collect(),
        triangles: source.mesh.triangles.clone(),
    };
    let outer = [&base, &target.mesh].map(|m| OuterSkin::new(&m.positions, &m.triangles));
    if outer.iter().any(OuterSkin::is_empty) {
        return Err(FitError::NoSurface {
            n_vertices: target.mesh.n_vertices(),
            n_triangles: target.mesh.triangles.len(),
        });
    }
    let target_normals = target.mesh.vertex_normals();
    let marks = |s: &Skin| -> Vec<Option<DVec3>> { s.landmarks.iter().map(|l| l.map(|l| l.0)).collect() };
    let bent_marks: Vec<Option<DVec3>> = marks(source).into_iter().map(|m| m.map(|p| similarity.apply(p))).collect();
    let own = sides(&base, &bent_marks);
    let theirs = sides(&target.mesh, &marks(target));
    let visible = TriMesh { positions: target.mesh.positions.clone(), triangles: outer[1].triangles.clone() };
    let low = base.positions.iter().fold(DVec3::INFINITY, |a, &p| a.min(p)) - FAR;
    let high = base.positions.iter().fold(DVec3::NEG_INFINITY, |a, &p| a.max(p)) + FAR;
    let inside = |p: DVec3| p.cmpge(low).all() && p.cmple(high).all();
    let cloud = Cloud::of(&visible, &target_normals, CELL, inside);
    let cloud_sides = sides_of_cloud(&cloud, &visible, &target_normals, &theirs.of_vertex);
    let fine: Vec<DVec3> = bent_marks[27..68].iter().flatten().copied().collect();
    let samples = spread(&base.positions, &outer[0].vertices, &fine, SAMPLES);
    let allowed = |k: usize, i: usize| matches(own.of_vertex[samples[k] as usize], cloud_sides[i]);
    tick(progress, "correspondence", 0.2)?;
    let held = held(source, target);
    let bent = pull(&base, start, &samples, &cloud, &allowed, &held, &ROUNDS);
    tick(progress, "correspondence", 0.7)?;
    let bent_mesh = TriMesh { positions: bent.positions, triangles: base.triangles };
    let finder = Nearest::new(&bent_mesh, &own.of_vertex);
    let mut shown = vec![false; target.mesh.n_vertices()];
    outer[1].vertices.iter().for_each(|&v| shown[v as usize] = true);
    let link = Correspondence {
        similarity: Some(similarity),
        ..link(&finder, &target.mesh, &target_normals, &theirs.of_vertex, &shown)
    };
    let distance = distance(&finder, &target.mesh, &outer[1].vertices, target);
    Ok(Corresponded { link, bent: bent_mesh.positions, similarity, distance, way_between_lips: theirs.way })
}

/// Similarity by landmarks, and the source's vertices bent through them.
fn by_landmarks(source: &Skin, target: &Skin) -> Result<(Similarity, Vec<DVec3>), FitError> {
    let (mut from, mut to, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..N_LANDMARKS {
        if let (Some((p, a)), Some((q, b))) = (source.landmarks[i], target.landmarks[i])
            && a >= USED
            && b >= USED
        {
            from.push(p);
            to.push(q);
            weights.push(a * b);
        }
    }
    from.extend(&source.pins);
    to.extend(&target.pins);
    weights.resize(from.len().min(to.len()), 1.0);
    if from.len() != to.len() {
        return Err(FitError::Correspondence);
    }
    if from.len() < 12 {
        return Err(FitError::FewLandmarks { found: from.len(), wanted: 12 });
    }
    let similarity = Similarity::fit(&from, &to, &weights);
    let softness: Vec<f64> = weights.iter().map(|w| 0.02 / w.max(0.01)).collect();
    let warp = Warp::fit(similarity, &from, &to, &softness);
    Ok((similarity, source.mesh.positions.par_iter().map(|&p| warp.apply(p)).collect()))
}

/// Landmarks that the user has given on both, or on the target: vertices of the source and their places.
fn held(source: &Skin, target: &Skin) -> Vec<(u32, DVec3)> {
    let tree = tree_of(&source.mesh);
    let both = source.landmarks.iter().zip(&target.landmarks);
    let marks = both.filter_map(|(a, b)| (*a).zip(*b)).filter(|(_, (_, sure))| *sure >= 1.0);
    let pairs = marks.map(|((p, _), (q, _))| (p, q));
    let pins = source.pins.iter().copied().zip(target.pins.iter().copied());
    let held = |(p, q): (DVec3, DVec3)| tree.closest_vertex(p, 0.005).map(|(v, _)| (v, q));
    pairs.chain(pins).filter_map(held).collect()
}

/// The side of each point of a cloud: that of the nearest vertex that faces the same way.
fn sides_of_cloud(cloud: &Cloud, mesh: &TriMesh, normals: &[DVec3], sides: &[Side]) -> Vec<Side> {
    let tree = tree_of(mesh);
    (0..cloud.len())
        .into_par_iter()
        .map(|i| {
            let faces = |_: u32, t: [u32; 3]| {
                t.iter().map(|&v| normals[v as usize]).sum::<DVec3>().dot(cloud.normals[i]) > 0.0
            };
            let hit = tree.closest_within(cloud.points[i], 3.0 * CELL, faces);
            hit.map_or(Side::None, |h| {
                let heaviest = (0..3).fold(0, |b, k| if h.barycentric[k] > h.barycentric[b] { k } else { b });
                sides[mesh.triangles[h.triangle as usize][heaviest] as usize]
            })
        })
        .collect()
}

/// The bent source, searched for the nearest point on the right side.
struct Nearest<'a> {
    mesh: &'a TriMesh,
    normals: Vec<DVec3>,
    sides: &'a [Side],
    tree: Bvh,
}

/// A point of the bent source.
struct Hit {
    triangle: u32,
    barycentric: [f64; 3],
    distance: f64,
}

impl<'a> Nearest<'a> {
    fn new(mesh: &'a TriMesh, sides: &'a [Side]) -> Self {
        Self { mesh, normals: mesh.vertex_normals(), sides, tree: tree_of(mesh) }
    }

    /// The nearest point within `reach` whose normal has a cosine above `least` with `normal`.
    fn at(&self, p: DVec3, normal: DVec3, side: Side, reach: f64, least: f64) -> Option<Hit> {
        let right = |_: u32, t: [u32; 3]| t.iter().all(|&v| matches(self.sides[v as usize], side));
        let faces = |_: u32, t: [u32; 3]| {
            let n = t.iter().map(|&v| self.normals[v as usize]).sum::<DVec3>().normalize_or_zero();
            n.dot(normal) > least
        };
        let c = self.tree.closest_tested(p, reach, right, faces)?;
        Some(Hit { triangle: c.triangle, barycentric: c.barycentric, distance: c.distance_sq.sqrt() })
    }

    fn point(&self, hit: &Hit) -> SourcePoint {
        SourcePoint { corners: self.mesh.triangles[hit.triangle as usize], weights: hit.barycentric }
    }
}

/// How far a surface that cannot be seen may be from its match, meters: linings of mouths differ.
const HIDDEN: f64 = 0.004;

fn link(near: &Nearest, target: &TriMesh, normals: &[DVec3], sides: &[Side], shown: &[bool]) -> Correspondence {
    let vertices = (0..target.n_vertices()).into_par_iter().map(|v| {
        let (p, n) = (target.positions[v], normals[v]);
        if !shown[v] {
            let hit = near.at(p, n, sides[v], HIDDEN, 0.5);
            return hit.map_or(Link::Free, |h| Link::Point(near.point(&h)));
        }
        match near.at(p, n, sides[v], FAR, 0.2) {
            Some(hit) => Link::Point(near.point(&hit)),
            None if near.tree.closest_point(p, FAR).is_none() => Link::Still,
            None => Link::Free,
        }
    });
    let triangles = target.triangles.par_iter().map(|t| {
        let [a, b, c] = t.map(|v| target.positions[v as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let visible = t.iter().all(|&v| shown[v as usize]);
        let (reach, least) = if visible { (REACH, 0.2) } else { (HIDDEN, 0.5) };
        let side = t.iter().map(|&v| sides[v as usize]).find(|s| *s != Side::None).unwrap_or_default();
        let mut list: Vec<u32> = Vec::new();
        let mut sum = 0.0;
        for [u, v, w] in SPOTS {
            if let Some(hit) = near.at(a * u + b * v + c * w, normal, side, reach, least) {
                list.push(hit.triangle);
                sum += 1.0 / (1.0 + (3.0 * hit.distance / REACH).powi(2));
            }
        }
        (list, sum / SPOTS.len() as f64)
    });
    Correspondence { vertices: vertices.collect(), triangles: triangles.collect(), similarity: None }
}

/// Where triangles of the target look for theirs.
const SPOTS: [[f64; 3]; 4] =
    [[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0], [0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]];

/// Mean and 95th percentile of the distances of the target's visible face from the bent source.
fn distance(near: &Nearest, target: &TriMesh, outer: &[u32], skin: &Skin) -> [f64; 2] {
    let marks: Vec<DVec3> = skin.landmarks[17..68].iter().flatten().map(|l| l.0).collect();
    let (low, high) =
        marks.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(a, b), &p| (a.min(p), b.max(p)));
    let (low, high) = (low - 0.02, high + 0.02);
    let at = |&&v: &&u32| {
        let p = target.positions[v as usize];
        p.cmpge(low).all() && p.cmple(high).all()
    };
    let face: Vec<u32> = outer.iter().filter(at).copied().collect();
    let far = |v: &u32| {
        let p = target.positions[*v as usize];
        near.tree.closest_point(p, FAR).map_or(FAR, |c| c.distance_sq.sqrt())
    };
    let mut all: Vec<f64> = face.par_iter().map(far).collect();
    if all.is_empty() {
        return [FAR; 2];
    }
    all.sort_by(f64::total_cmp);
    [all.iter().sum::<f64>() / all.len() as f64, all[(all.len() * 95 / 100).min(all.len() - 1)]]
}
