//! What is not skin: eyes, teeth and gums move rigidly, tongues copy, lashes and the rest follow the skin.
//!
//! The rigid motion of a piece is the best fit to the source's piece of the same kind. It is applied about
//! the same place on the target: the center of the eyeball, or of the piece. Without such a piece, lower teeth
//! follow the chin in shapes of the jaw, and other pieces stay.

use super::Placed;
use glam::DVec3;
use rayon::prelude::*;
use risorius_anatomy::eyes::fit_eye;
use risorius_anatomy::pieces::PieceKind;
use risorius_base::Rigid;
use risorius_head::landmarks::index;
use risorius_mesh::query::fit::fit_rigid;
use risorius_mesh::{Bvh, Similarity, TriMesh};

const RIGID: [PieceKind; 6] = [
    PieceKind::EyeLeft,
    PieceKind::EyeRight,
    PieceKind::TeethUpper,
    PieceKind::TeethLower,
    PieceKind::GumsUpper,
    PieceKind::GumsLower,
];

/// A piece that moves rigidly.
struct RigidPiece {
    /// Rig vertices of the target.
    target: Vec<u32>,
    pivot: DVec3,
    motion: Motion,
}

/// Where a rigid motion comes from.
enum Motion {
    /// Vertices of the source's piece, and its pivot.
    Piece(Vec<u32>, DVec3),
    /// The target's chin, as numbers within its skin.
    Chin(Vec<usize>),
    /// It stays.
    None,
}

/// A vertex that follows three others with weights: of the source (tongue), or of the target's skin.
type Follower = (u32, [u32; 3], [f64; 3]);

/// Everything that is not skin.
pub struct Attachments<'a> {
    from: &'a Placed,
    to: &'a Placed,
    similarity: Similarity,
    rigid: Vec<RigidPiece>,
    tongue: Vec<Follower>,
    followers: Vec<Follower>,
}

impl<'a> Attachments<'a> {
    pub fn prepare(from: &'a Placed, to: &'a Placed, similarity: &Similarity) -> Self {
        let chin = chin(to);
        let one = |kind: PieceKind| {
            let target = to.pieces.vertices(kind);
            let source = partner(from, kind);
            let motion = match (source.is_empty(), kind) {
                (false, _) => Motion::Piece(source.clone(), pivot(from, kind, &source)),
                (true, PieceKind::TeethLower | PieceKind::GumsLower) => Motion::Chin(chin.clone()),
                (true, _) => Motion::None,
            };
            (!target.is_empty()).then(|| RigidPiece { pivot: pivot(to, kind, &target), target, motion })
        };
        let rigid = RIGID.into_iter().filter_map(one).collect();
        Self { from, to, similarity: *similarity, rigid, tongue: tongue(from, to), followers: followers(to) }
    }

    /// Adds the displacements of the pieces for one shape: `field` over the source's vertices, `skin` over
    /// the target's skin, `all` over the target's vertices.
    pub fn apply(&self, name: &str, field: &[DVec3], skin: &[DVec3], all: &mut [DVec3]) {
        let (turn, size) = (self.similarity.rigid.rotation, self.similarity.scale);
        for piece in &self.rigid {
            let place = |v: u32| self.to.pieces.positions[v as usize];
            let about = match &piece.motion {
                Motion::Piece(source, pivot) => {
                    if source.iter().all(|&v| field[v as usize] == DVec3::ZERO) {
                        continue;
                    }
                    let rest: Vec<DVec3> =
                        source.iter().map(|&v| self.from.pieces.positions[v as usize]).collect();
                    let moved: Vec<DVec3> =
                        rest.iter().zip(source).map(|(p, &v)| *p + field[v as usize]).collect();
                    let motion = fit_rigid(&rest, &moved, &[]);
                    let shift = turn * (motion.apply(*pivot) - *pivot) * size;
                    Rigid { rotation: turn * motion.rotation * turn.inverse(), translation: shift }
                }
                Motion::Chin(chin) if is_of_jaw(name) => {
                    let at = |k: usize| self.to.pieces.positions[self.to.skin_vertices[k] as usize];
                    let rest: Vec<DVec3> = chin.iter().map(|&k| at(k)).collect();
                    let moved: Vec<DVec3> = chin.iter().map(|&k| at(k) + skin[k]).collect();
                    let motion = fit_rigid(&rest, &moved, &[]);
                    Rigid { rotation: motion.rotation, translation: motion.apply(piece.pivot) - piece.pivot }
                }
                Motion::Chin(_) | Motion::None => continue,
            };
            for &v in &piece.target {
                let arm = place(v) - piece.pivot;
                all[v as usize] = about.rotation * arm - arm + about.translation;
            }
        }
        for (v, corners, weights) in &self.tongue {
            let d: DVec3 = corners.iter().zip(weights).map(|(&c, w)| field[c as usize] * *w).sum();
            all[*v as usize] = turn * d * size;
        }
        for (v, corners, weights) in &self.followers {
            all[*v as usize] = corners.iter().zip(weights).map(|(&c, w)| all[c as usize] * *w).sum();
        }
    }
}

/// The source's piece that moves like one of a kind: teeth and gums of a jaw stand in for each other.
fn partner(from: &Placed, kind: PieceKind) -> Vec<u32> {
    let own = from.pieces.vertices(kind);
    let other = match kind {
        PieceKind::TeethUpper => PieceKind::GumsUpper,
        PieceKind::TeethLower => PieceKind::GumsLower,
        PieceKind::GumsUpper => PieceKind::TeethUpper,
        PieceKind::GumsLower => PieceKind::TeethLower,
        _ => return own,
    };
    if own.is_empty() { from.pieces.vertices(other) } else { own }
}

fn pivot(of: &Placed, kind: PieceKind, vertices: &[u32]) -> DVec3 {
    let points: Vec<DVec3> = vertices.iter().map(|&v| of.pieces.positions[v as usize]).collect();
    let center = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
    match kind {
        PieceKind::EyeLeft | PieceKind::EyeRight => {
            fit_eye(&points).filter(|e| e.center.distance(center) < e.radius).map_or(center, |e| e.center)
        }
        _ => center,
    }
}

/// Whether a shape moves the jaw, by its name.
fn is_of_jaw(name: &str) -> bool {
    let low = name.to_ascii_lowercase();
    low.contains("jaw") || low.contains("mouthopen") || low.contains("mouth_open")
}

/// Skin within 15 mm of the chin, as numbers within the skin.
fn chin(to: &Placed) -> Vec<usize> {
    let marks: Vec<DVec3> = ["pogonion", "gnathion"]
        .iter()
        .filter_map(|n| to.landmarks[index(n)?].map(|l| l.0))
        .collect();
    let near = |&k: &usize| {
        let p = to.pieces.positions[to.skin_vertices[k] as usize];
        marks.iter().any(|m| m.distance(p) < 0.015)
    };
    (0..to.skin_vertices.len()).filter(near).collect()
}

/// For each vertex of the target's tongue, the nearest point of the source's when their boxes are aligned.
fn tongue(from: &Placed, to: &Placed) -> Vec<Follower> {
    let (source, target) = (from.pieces.vertices(PieceKind::Tongue), to.pieces.vertices(PieceKind::Tongue));
    if source.is_empty() || target.is_empty() {
        return Vec::new();
    }
    let boxed = |of: &Placed, list: &[u32]| {
        list.iter().map(|&v| of.pieces.positions[v as usize]).fold(
            (DVec3::INFINITY, DVec3::NEG_INFINITY),
            |(a, b), p| (a.min(p), b.max(p)),
        )
    };
    let ((a, b), (c, d)) = (boxed(from, &source), boxed(to, &target));
    let triangles = from.pieces.triangles_of(&[PieceKind::Tongue]);
    let flat: Vec<[f32; 3]> = from.pieces.positions.iter().map(|p| p.as_vec3().to_array()).collect();
    let tree = Bvh::build(&flat, &triangles);
    let follow = |&v: &u32| {
        let share = (to.pieces.positions[v as usize] - c) / (d - c).max(DVec3::splat(1e-9));
        let hit = tree.closest_point(a + share * (b - a), f64::INFINITY)?;
        Some((v, triangles[hit.triangle as usize], hit.barycentric))
    };
    target.par_iter().filter_map(follow).collect()
}

/// Lashes and the rest follow the nearest point of the skin.
fn followers(to: &Placed) -> Vec<Follower> {
    let skin = TriMesh { positions: to.pieces.positions.clone(), triangles: to.pieces.skin.clone() };
    let tree = crate::find::tree_of(&skin);
    let hangs = |v: &u32| {
        matches!(to.pieces.kinds[*v as usize], PieceKind::Lash | PieceKind::Other)
            && to.pieces.positions[*v as usize].is_finite()
    };
    let follow = |v: u32| {
        let hit = tree.closest_point(to.pieces.positions[v as usize], 0.03)?;
        Some((v, skin.triangles[hit.triangle as usize], hit.barycentric))
    };
    (0..to.pieces.kinds.len() as u32).into_par_iter().filter(hangs).filter_map(follow).collect()
}
