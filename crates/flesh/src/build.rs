//! Builds a [`Face`] from a rig: transfers anatomy, meshes the volume, computes blendvolumes and
//! blendmaterials.
//!
//! [`build`] runs the stages in order. Each stage is timed and reported to the progress callback, which can
//! cancel any of them.

use crate::blendvolumes::blendvolumes;
use crate::correctives::correctives;
use crate::domain::{Back, Bound};
use crate::embed::embed;
use crate::face::{BuildReport, Face, QualityReport, StageReport};
use crate::flesh::{Flesh, Response};
use crate::follow::{FollowOptions, Follower};
use crate::fused::{cut, mesh_parted, n_fused_pairs};
use crate::materials::{Painting, Property, materials};
use crate::neutral::carry_to_neutral;
use crate::skin::Skin;
use crate::slits::Slits;
use crate::store::ShapeStore;
use crate::tissue::tissue;
use crate::volume::{Parts, Pose, Volume, VolumeOptions};
use glam::DVec3;
use risorius_anatomy::carry::{Anatomy, CarryOptions, carry};
use risorius_anatomy::find::{self, given::Given};
use risorius_anatomy::note::Note;
use risorius_anatomy::outer::OuterSkin;
use risorius_anatomy::pieces::pieces;
use risorius_anatomy::{AnatomyError, PieceKind};
use risorius_base::Advise;
use risorius_base::progress::{Cancelled, Progress, tick};
use risorius_head::{Head, landmarks};
use risorius_mesh::tet::quality::Quality;
use risorius_mesh::tet::stuffing::TetError;
use risorius_rig::{Evaluator, Rig};
use risorius_solve::SolveError;
use std::time::Instant;

/// How to build a face.
#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// Size and reach of the volume.
    pub volume: VolumeOptions,
    /// How the volume follows shapes.
    pub follow: FollowOptions,
    /// Bones supplied by the user, and how built-in ones are transferred.
    pub carry: CarryOptions,
    /// Landmarks given by the user.
    pub given: Given,
    /// Properties painted by the user.
    pub paintings: Vec<SkinPainting>,
    /// Materials that follow a slider by a curve.
    pub responses: Vec<Response>,
}

/// A property painted on the rig's vertices.
#[derive(Debug, Clone, PartialEq)]
pub struct SkinPainting {
    /// Index of the shape; `None` for the neutral.
    pub shape: Option<usize>,
    /// What is painted.
    pub property: Property,
    /// Its value per rig vertex, in SI units; NaN where nothing is painted.
    pub values: Vec<f32>,
}

/// Callbacks and storage of a build.
pub struct Surroundings<'a> {
    /// Called in every stage; can cancel.
    pub progress: &'a Progress<'a>,
    /// Stores finished shapes.
    pub store: &'a dyn ShapeStore,
    /// Peak memory of the process so far in MB, or 0 if unknown.
    pub peak_mb: &'a dyn Fn() -> f64,
}

/// Why there is no face.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The anatomy could not be transferred.
    #[error(transparent)]
    Anatomy(#[from] AnatomyError),
    /// The volume could not be meshed.
    #[error("the flesh could not be meshed: {0}; give a skull and a jaw if the built-in ones do not fit")]
    Tets(#[source] TetError),
    /// A solve failed.
    #[error("a rest volume could not be solved: {0}")]
    Solve(#[source] SolveError),
    /// The rig has no shapes.
    #[error("the rig has no shapes; physics needs a blendshape rig: export the face with its morph targets")]
    NoShapes,
    /// No shape moves the visible skin noticeably.
    #[error(
        "no shape moves the visible skin by 3 mm or more, so flesh would have no effect; check the unit of \
         the rig's file"
    )]
    NothingMoves,
    /// The progress callback asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Advise for BuildError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Tets(_) => &["skull", "jaw"],
            Self::NothingMoves => &["unit"],
            Self::Anatomy(error) => error.options(),
            _ => &[],
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_) | Self::Anatomy(AnatomyError::Cancelled(_)))
    }
}

// Stopping in the middle of a stage is no fault of the stage.
impl From<TetError> for BuildError {
    fn from(error: TetError) -> Self {
        match error {
            TetError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Tets(other),
        }
    }
}

impl From<SolveError> for BuildError {
    fn from(error: SolveError) -> Self {
        match error {
            SolveError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Solve(other),
        }
    }
}

/// Times stages.
struct Clock<'a> {
    start: Instant,
    stages: Vec<StageReport>,
    peak_mb: &'a dyn Fn() -> f64,
}

impl Clock<'_> {
    fn stage(&mut self, name: &str) {
        let seconds = self.start.elapsed().as_secs_f64();
        self.stages.push(StageReport { name: name.into(), seconds, peak_mb: (self.peak_mb)() });
        self.start = Instant::now();
    }
}

/// Builds a face from `rig` with the anatomy of `head`.
pub fn build(
    rig: &Rig,
    head: &Head,
    options: &BuildOptions,
    around: &Surroundings,
) -> Result<Face, BuildError> {
    if rig.shapes.is_empty() {
        return Err(BuildError::NoShapes);
    }
    let progress = around.progress;
    let mut clock = Clock { start: Instant::now(), stages: Vec::new(), peak_mb: around.peak_mb };
    tick(progress, "landmarks", 0.0)?;
    let rig_pieces = pieces(rig);
    let found = find::find(rig, &rig_pieces, head, &options.given)?;
    clock.stage("landmarks");
    let mut anatomy = carry(rig, rig_pieces, &found, head, &options.carry, progress)?;
    clock.stage("anatomy");

    let evaluator = Evaluator::prepare(rig);
    let skin = skin_of(rig, &anatomy);
    let outer = outer_of(&skin, &anatomy);
    let (eyes, features) = (eyes_of(&anatomy), features_of(&anatomy));
    let parts = Parts {
        rig,
        evaluator: &evaluator,
        skin: &skin,
        bones: &anatomy.bones,
        jaw_motion: &anatomy.jaw_motion,
        eyes: &eyes,
        features: &features,
        outer: &outer,
        back: back_of(&anatomy),
    };
    if parts.moving_vertices().is_empty() {
        return Err(BuildError::NothingMoves);
    }
    let mut slits = Slits::find(rig, &evaluator, &skin);
    clock.stage("slits");
    let (mut volume, parted) = mesh_parted(&parts, &mut slits, &options.volume, progress)?;
    clock.stage("tets");
    let mut report = BuildReport { n_slit_pairs: slits.pairs.len(), ..BuildReport::default() };
    report.parting_pose = parting_pose(rig, &slits);
    let (mut flesh, neutral) =
        neutral_flesh(&parts, &mut volume, &parted, &slits, options, &mut report, progress)?;
    clock.stage("neutral");

    let rest = flesh.rest();
    let follower = Follower::prepare(&parts, &volume, &flesh.embedding, &rest, &neutral, options.follow)?;
    let solved = blendvolumes(&parts, &follower, &flesh.embedding, &slits, around.store, progress)?;
    (flesh.volumes, report.shapes) = solved.into_iter().unzip();
    clock.stage("blendvolumes");
    let painted: Vec<Painting> = options.paintings.iter().map(|p| on_nodes(p, &skin, &volume)).collect();
    let tissue = tissue(rig, &anatomy, &flesh)?;
    flesh.materials =
        materials(&flesh.mesh(), &volume.bounds, &tissue, &anatomy.muscles, &flesh.volumes, &painted)?;
    flesh.materials.responses = options.responses.clone();
    clock.stage("blendmaterials");
    (flesh.correctives, report.pairs) = correctives(&flesh, &parts, progress)?;
    clock.stage("pairs");
    report.stages = clock.stages;
    note_fused(&report, &mut anatomy.notes);
    Ok(Face { rig: rig.clone(), anatomy, flesh, report, muscle_shapes: Vec::new() })
}

pub(crate) fn skin_of(rig: &Rig, anatomy: &Anatomy) -> Skin {
    let at = |name: &str| landmarks::index(name).map(|i| anatomy.landmarks[i].position);
    let mouth = at("mouth_left").zip(at("mouth_right")).map(|(a, b)| (a.midpoint(b), a.distance(b)));
    Skin::prepare(rig, &anatomy.pieces.vertices(PieceKind::Skin), mouth)
}

pub(crate) fn outer_of(skin: &Skin, anatomy: &Anatomy) -> Vec<bool> {
    let visible = OuterSkin::new(&anatomy.pieces.positions, &anatomy.pieces.skin);
    let mut seen = vec![false; anatomy.pieces.positions.len()];
    visible.triangles.iter().flatten().for_each(|&v| seen[v as usize] = true);
    skin.rig_vertices.iter().map(|&v| seen[v as usize]).collect()
}

/// Eyeballs: center and radius.
pub(crate) fn eyes_of(anatomy: &Anatomy) -> Vec<(DVec3, f64)> {
    anatomy.eyes.iter().flatten().map(|e| (e.center, e.radius)).collect()
}

/// Rig vertices along lips and lids.
pub(crate) fn features_of(anatomy: &Anatomy) -> Vec<u32> {
    (36..landmarks::N_TRACKER).map(|i| anatomy.landmarks[i].vertex).collect()
}

pub(crate) fn back_of(anatomy: &Anatomy) -> Back {
    let ears =
        ["tragion_left", "tragion_right"].map(|n| landmarks::index(n).map(|i| anatomy.landmarks[i].position));
    let front = |a: DVec3, b: DVec3| if b.z > a.z { b } else { a };
    Back { ear: ears.into_iter().flatten().fold(DVec3::NEG_INFINITY, front) }
}

fn parting_pose(rig: &Rig, slits: &Slits) -> Vec<(String, f32)> {
    let on = rig.sliders.iter().zip(&slits.parting_weights).filter(|(_, w)| **w != 0.0);
    on.map(|(slider, &w)| (slider.name.clone(), w)).collect()
}

/// Moves the volume to the neutral and embeds the skin in it.
fn neutral_flesh(
    parts: &Parts,
    volume: &mut Volume,
    parted: &Pose,
    slits: &Slits,
    options: &BuildOptions,
    report: &mut BuildReport,
    progress: &Progress,
) -> Result<(Flesh, Pose), BuildError> {
    let neutral = parts.pose(&vec![0.0; parts.rig.sliders.len()]);
    let (mut embedding, mut distances) = embed(parts, volume, slits, parted);
    let follower = Follower::prepare(parts, volume, &embedding, &volume.mesh.nodes, parted, options.follow)?;
    let mut carried = carry_to_neutral(&follower, parts, slits, &neutral, progress)?;
    if !carried.fused.is_empty() {
        let left = cut(volume, &carried.fused);
        carried.nodes = left.iter().map(|&n| carried.nodes[n as usize]).collect();
        (embedding, distances) = embed(parts, volume, slits, parted);
    }
    let flesh = Flesh {
        nodes: carried.nodes.iter().map(|p| p.to_array()).collect(),
        tets: volume.mesh.tets.clone().into(),
        bounds: volume.bounds.iter().map(|b| *b as u8).collect(),
        embedding,
        parting_weights: slits.parting_weights.clone(),
        ..Flesh::default()
    };
    let quality = Quality::of(&flesh.mesh());
    report.n_nodes = flesh.n_nodes();
    report.n_tets = flesh.tets.len();
    report.n_fused_pairs = n_fused_pairs(parts, slits, &flesh, &neutral);
    report.embedding_mm = distances;
    report.quality = QualityReport {
        min_dihedral_deg: quality.min_dihedral_deg,
        mean_min_dihedral_deg: quality.mean_min_dihedral_deg,
        min_volume_ratio: quality.min_volume_length,
        mean_volume_ratio: quality.mean_volume_length,
    };
    Ok((flesh, neutral))
}

/// Warns of lips and lids that stick together.
fn note_fused(report: &BuildReport, notes: &mut Vec<Note>) {
    let BuildReport { n_slit_pairs, n_fused_pairs, .. } = report;
    if *n_fused_pairs > 0 {
        let what = format!(
            "{n_fused_pairs} of {n_slit_pairs} pairs of vertices across closed lips or lids are fused"
        );
        let advice = "lips or lids stick together there: build with more nodes, or give the rig a shape that \
                      opens them wider";
        notes.push(Note::new(what, advice));
    }
}

/// A painting of the rig's vertices, interpolated at the volume's nodes on the skin.
fn on_nodes(painting: &SkinPainting, skin: &Skin, volume: &Volume) -> Painting {
    let value = |v: u32| skin.rig_vertices.get(v as usize).map(|&r| f64::from(painting.values[r as usize]));
    let at = |i: usize| {
        let point = volume.skin_points[i].as_ref().filter(|_| volume.bounds[i] == Bound::Skin)?;
        let corners = skin.triangles[point.triangle as usize];
        let mut sum = 0.0;
        for (&v, w) in corners.iter().zip(point.weights) {
            sum += value(v)? * w;
        }
        sum.is_finite().then_some(sum)
    };
    let (shape, property) = (painting.shape, painting.property);
    Painting { shape, property, values: (0..volume.bounds.len()).map(at).collect() }
}
