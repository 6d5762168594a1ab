//! A face ready to simulate: the artist's rig, what lies beneath it, and the flesh between.

use crate::flesh::Flesh;
use risorius_anatomy::carry::Anatomy;
use risorius_rig::Rig;

/// Rig, anatomy and flesh; saved as a `.face` file.
#[derive(Debug, Clone)]
pub struct Face {
    /// The artist's rig, to the bit.
    pub rig: Rig,
    /// Bones, muscles, landmarks, motions, in meters.
    pub anatomy: Anatomy,
    /// The volume and how it follows the rig.
    pub flesh: Flesh,
    /// How it was made.
    pub report: BuildReport,
}

/// Figures of a build.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct BuildReport {
    /// Nodes of the volume.
    pub n_nodes: usize,
    /// Elements of the volume.
    pub n_tets: usize,
    /// Quality of the volume in the neutral.
    pub quality: QualityReport,
    /// Distance from skin vertices to the volume's surface in the neutral, mean and largest, mm.
    pub embedding_mm: [f64; 2],
    /// Pairs of skin vertices across closed lips and lids, and those whose middle is in an element though outside the skin.
    pub n_slit_pairs: usize,
    /// Must be 0.
    pub n_fused_pairs: usize,
    /// Sliders that part the slits, and their values.
    pub parting_pose: Vec<(String, f32)>,
    /// One entry per shape of the rig.
    pub shapes: Vec<ShapeReport>,
    /// What blending pairs of shapes does.
    pub pairs: PairReport,
    /// Time and memory of each stage.
    pub stages: Vec<StageReport>,
}

/// Shape of the elements.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct QualityReport {
    /// Smallest dihedral angle, degrees.
    pub min_dihedral_deg: f64,
    /// Mean over elements of their smallest dihedral angle, degrees.
    pub mean_min_dihedral_deg: f64,
    /// Smallest ratio of volume to edge length, 1 for a regular element.
    pub min_volume_ratio: f64,
    /// Its mean.
    pub mean_volume_ratio: f64,
}

/// How well the volume follows one shape.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ShapeReport {
    /// Name of the shape.
    pub name: String,
    /// Distance between the shape and what the volume does to the skin, mean and largest over the skin it moves, mm.
    pub fit_mm: [f64; 2],
    /// Smallest volume of an element relative to the neutral.
    pub least_j: f64,
    /// Nodes that had to be untangled.
    pub n_untangled: usize,
    /// Solver iterations.
    pub iterations: usize,
}

/// What happens when two shapes are fully on.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct PairReport {
    /// Pairs tried.
    pub n_pairs: usize,
    /// Pairs that invert an element when blended as they are, and are repaired when evaluated.
    pub n_repaired: usize,
    /// Pairs that could not be repaired, by name.
    pub unrepaired: Vec<[String; 2]>,
    /// The worst pair and its smallest relative volume before repair.
    pub worst: Option<([String; 2], f64)>,
}

/// One stage of a build.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct StageReport {
    /// What was done.
    pub name: String,
    /// How long it took.
    pub seconds: f64,
    /// Largest memory of the process so far, MB; 0 where the system does not tell.
    pub peak_mb: f64,
}
