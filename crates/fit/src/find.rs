//! Finds the face of a bare mesh, and its landmarks, on the geometry alone.
//!
//! A scan has no shapes to learn from, an unknown unit and pose, noise and holes. `surface` drops what is not
//! finite or not connected and scales the rest; `cloud` averages it to oriented points; `start` tries the
//! built-in head wherever something protrudes like a nose, at all scales; `settle` aligns it together with
//! identity and expression (`model`); `bend` pulls it smoothly onto the surface. The landmarks of the
//! built-in head are then read off, each with a confidence.
//!
//! Limits: the face must be between a sixth of the mesh's diagonal and all of it, so a whole body is not
//! searched. Left and right of a mirrored mesh cannot be told apart unless landmarks are given.

pub(crate) mod bend;
pub(crate) mod cloud;
pub mod ibug;
mod judge;
mod model;
mod nudge;
mod settle;
pub(crate) mod spread;
mod start;
mod surface;

use crate::FitError;
use bend::bend;
use cloud::Cloud;
use glam::DVec3;
use judge::Judged;
use model::Model;
use risorius_base::Rigid;
use risorius_base::progress::{Progress, tick};
use risorius_head::landmarks::{N_LANDMARKS, NAMES};
use risorius_head::{Head, Identity};
use risorius_mesh::{Bvh, FileMesh, Similarity, TriMesh};
use settle::{Ground, Placed, SettleOptions, settle};
use surface::{SIZE, Surface};

/// A landmark whose position is known, in the coordinates of the mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Given {
    /// Index in [`NAMES`].
    pub index: usize,
    /// Position.
    pub position: DVec3,
    /// 1 for a point that must be met. Less where definitions differ (jaw lines and brows of face trackers):
    /// the point is reported, but only helps to align.
    pub confidence: f64,
}

/// What is known of the mesh.
#[derive(Debug, Clone, Default)]
pub struct FindOptions {
    /// Known landmarks; they replace those that are found. Four or more also tell where the face is.
    pub landmarks: Vec<Given>,
    /// Length of one unit of the mesh in meters; without it every size is tried.
    pub meters_per_unit: Option<f64>,
    /// Use the largest face where there are several, instead of refusing the mesh.
    pub largest_face: bool,
}

/// A landmark on the mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshLandmark {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// In the coordinates of the mesh.
    pub position: DVec3,
    /// 1 where given; else 0 for a guess to about 0.9.
    pub confidence: f64,
}

/// The face of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// From the mesh to the built-in head: meters, +Y up, +Z front, +X the character's left. Its scale is the
    /// length of one unit of the mesh in meters, if the head is of average size.
    pub similarity: Similarity,
    /// One for each of [`NAMES`], in that order.
    pub landmarks: Vec<MeshLandmark>,
    /// Mean mismatch of the aligned model with the surface, meters of the head: position, and direction
    /// counted as 12 mm for a radian. Faces have 2 to 4 mm.
    pub score: f64,
    /// The triangles are wound inward.
    pub inside_out: bool,
    /// What was assumed and what is doubtful, as sentences.
    pub notes: Vec<String>,
}

impl Found {
    /// The position of a landmark on the mesh.
    pub fn position(&self, name: &str) -> Option<DVec3> {
        self.landmarks.iter().find(|l| l.name == name).map(|l| l.position)
    }
}

/// Cells of the first cloud, as a fraction of the mesh.
const COARSE: f64 = SIZE / 80.0;
/// Cells of the second cloud, meters.
const CELL: f64 = 0.0022;
/// Diagonals of a mesh that has a face, meters: from a mask to a bust.
const DIAGONALS: [f64; 8] = [0.17, 0.21, 0.26, 0.32, 0.40, 0.50, 0.62, 0.78];

/// Finds the face of `mesh` and its landmarks. Builds the built-in head; for many meshes, see [`Finder`].
pub fn find(mesh: &FileMesh, options: &FindOptions, progress: &Progress) -> Result<Found, FitError> {
    tick(progress, "built-in head", 0.0)?;
    Finder::prepare(&risorius_head::build(&Identity::default())).find(mesh, options, progress)
}

/// The built-in head, prepared for finding it on many meshes.
#[derive(Debug, Clone)]
pub struct Finder {
    model: Model,
}

impl Finder {
    /// Prepares `head`, which must be the average person.
    pub fn prepare(head: &Head) -> Self {
        Self { model: Model::prepare(head) }
    }

    /// See [`find`].
    pub fn find(
        &self,
        mesh: &FileMesh,
        options: &FindOptions,
        progress: &Progress,
    ) -> Result<Found, FitError> {
        tick(progress, "surface", 0.0)?;
        let (pieces, left_out) = surface::pieces(mesh, 0.3)?;
        let mut faces: Vec<(usize, Candidate)> = Vec::new();
        let mut refused = None;
        for (i, piece) in pieces.iter().enumerate() {
            tick(progress, "places of a face", i as f32 / pieces.len() as f32)?;
            match self.locate(piece, options) {
                Ok(found) => faces.push((i, found)),
                Err(e) if refused.is_none() => refused = Some(e),
                Err(_) => {}
            }
        }
        if faces.is_empty() {
            return Err(refused.unwrap_or(FitError::NoSurface { n_vertices: 0, n_triangles: 0 }));
        }
        if faces.len() > 1 && !options.largest_face && options.landmarks.len() < 4 {
            return Err(FitError::SeveralFaces { n: faces.len() });
        }
        faces.sort_by(|a, b| a.1.placed.miss.total_cmp(&b.1.placed.miss));
        if options.largest_face {
            faces.sort_by_key(|f| f.0);
        }
        let (i, candidate) = faces.swap_remove(0);
        tick(progress, "landmarks", 0.0)?;
        let mut found = self.read(&pieces[i], candidate, options);
        judge::notes(&mut found, &left_out, options, &self.model);
        tick(progress, "landmarks", 1.0)?;
        Ok(found)
    }

    /// Where the face is on a piece.
    fn locate(&self, piece: &Surface, options: &FindOptions) -> Result<Candidate, FitError> {
        let clouds = piece.seen(COARSE);
        let scales: Vec<f64> = match options.meters_per_unit {
            Some(unit) => [0.85, 1.0, 1.18].map(|k| k * piece.factor / unit).to_vec(),
            None => DIAGONALS.map(|d| SIZE / d).to_vec(),
        };
        // Wound outward, more of the surface is seen from its front than from its back.
        let likely = usize::from(clouds[1].len() > clouds[0].len());
        let mut best: Option<Candidate> = None;
        for side in [likely, 1 - likely] {
            if best.as_ref().is_some_and(|b| b.placed.miss < judge::CLEAR) {
                break;
            }
            let given = self.placed_by_given(piece, &clouds[side], options)?;
            let tried = given.map_or_else(|| start::starts(&clouds[side], &self.model, &scales), |g| vec![g]);
            let better = |p: &Placed| best.as_ref().is_none_or(|b| p.miss < b.placed.miss);
            if let Some(placed) = tried.into_iter().next().filter(better) {
                best = Some(Candidate { placed, inside_out: side == 1 });
            }
        }
        let best = best.ok_or(FitError::NoFace { miss_mm: None })?;
        judge::check(&best.placed)?;
        Ok(best)
    }

    /// The placement by given landmarks, aligned; `None` with fewer than four.
    fn placed_by_given(
        &self,
        piece: &Surface,
        cloud: &Cloud,
        options: &FindOptions,
    ) -> Result<Option<Placed>, FitError> {
        let given = &options.landmarks;
        if given.len() < 4 {
            return Ok(None);
        }
        let from: Vec<DVec3> =
            given.iter().map(|g| self.model.rest.positions[self.model.landmarks[g.index] as usize]).collect();
        let to: Vec<DVec3> = given.iter().map(|g| (g.position - piece.center) * piece.factor).collect();
        let weights: Vec<f64> = given.iter().map(|g| g.confidence).collect();
        judge::check_sides(&from, &to, &weights)?;
        let pose = judge::robust_similarity(&from, &to, &weights);
        let ground = Ground::new(cloud);
        let options =
            SettleOptions { rounds: 20, n_modes: self.model.modes.len(), reach: 0.025, soft: 0.006 };
        let placed = Placed { pose, values: Vec::new(), miss: 0.0 };
        Ok(Some(settle(&ground, &self.model, placed, &options)))
    }

    /// Bends the model onto the piece and reads its landmarks.
    fn read(&self, piece: &Surface, candidate: Candidate, options: &FindOptions) -> Found {
        let Candidate { placed, inside_out } = candidate;
        let model = &self.model;
        let back = placed.pose.inverse();
        let sign = if inside_out { -1.0 } else { 1.0 };
        let outward: Vec<DVec3> = piece.normals.iter().map(|n| *n * sign).collect();
        let posed = model.pose(&placed.values);
        let (low, high) = bounds(model.wide.iter().map(|&v| posed[v as usize]));
        let inside = |p: DVec3| {
            let p = back.apply(p);
            p.cmpge(low - 0.02).all() && p.cmple(high + 0.02).all()
        };
        let seen = piece.visible(Cloud::of(&piece.mesh, &outward, CELL * placed.pose.scale, inside));
        let cloud = moved_cloud(&seen, &back);
        let local = moved(&piece.mesh, &back);
        let normals = turned(&outward, &back);
        let ground = Ground::new(&cloud);
        let local_start = Placed { pose: Similarity::default(), ..placed };
        let close = SettleOptions { rounds: 20, n_modes: model.modes.len(), reach: 0.015, soft: 0.004 };
        let fine = settle(&ground, model, local_start, &close);
        let to_fine = fine.pose.inverse();
        let (cloud, local) = (moved_cloud(&cloud, &to_fine), moved(&local, &to_fine));
        let to_head = to_fine.after(&back.after(&file_to_piece(piece)));
        let held: Vec<(u32, DVec3)> = options
            .landmarks
            .iter()
            .filter(|g| g.confidence >= 1.0)
            .map(|g| (model.landmarks[g.index], to_head.apply(g.position)))
            .collect();
        let start = nudge::nudged(&Ground::new(&cloud), model, &model.pose(&fine.values));
        let bent = bend(model, &fine.values, start, &cloud, &held);
        let mut skin = local;
        skin.triangles.truncate(piece.n_skin);
        let judged = judge::landmarks(model, &bent, &skin, &turned(&normals, &to_fine));
        self.found(to_head, judged, fine.miss, inside_out, options)
    }

    fn found(
        &self,
        to_head: Similarity,
        judged: Vec<Judged>,
        score: f64,
        inside_out: bool,
        options: &FindOptions,
    ) -> Found {
        let from_head = to_head.inverse();
        let mut landmarks: Vec<MeshLandmark> = (0..N_LANDMARKS)
            .map(|i| MeshLandmark {
                name: NAMES[i],
                position: from_head.apply(judged[i].position),
                confidence: judged[i].confidence,
            })
            .collect();
        for g in &options.landmarks {
            (landmarks[g.index].position, landmarks[g.index].confidence) = (g.position, g.confidence);
        }
        Found { similarity: to_head, landmarks, score, inside_out, notes: Vec::new() }
    }
}

/// A placement on one side of a piece.
struct Candidate {
    placed: Placed,
    inside_out: bool,
}

fn bounds(points: impl Iterator<Item = DVec3>) -> (DVec3, DVec3) {
    points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(a, b), p| (a.min(p), b.max(p)))
}

fn file_to_piece(piece: &Surface) -> Similarity {
    let rigid = Rigid { translation: -piece.center * piece.factor, ..Rigid::IDENTITY };
    Similarity { rigid, scale: piece.factor }
}

fn moved(mesh: &TriMesh, by: &Similarity) -> TriMesh {
    TriMesh { positions: mesh.positions.iter().map(|&p| by.apply(p)).collect(), ..mesh.clone() }
}

fn turned(normals: &[DVec3], by: &Similarity) -> Vec<DVec3> {
    normals.iter().map(|n| by.rigid.rotation * *n).collect()
}

fn moved_cloud(cloud: &Cloud, by: &Similarity) -> Cloud {
    let points = cloud.points.iter().map(|&p| by.apply(p)).collect();
    Cloud::from_points(points, turned(&cloud.normals, by), cloud.cell * by.scale)
}

/// A tree over a mesh in meters.
pub(crate) fn tree_of(mesh: &TriMesh) -> Bvh {
    Bvh::build(&mesh.positions_f32(), &mesh.triangles)
}
