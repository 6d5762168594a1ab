//! A face ready to simulate (rig, anatomy, flesh), and the report of its build.

use crate::flesh::Flesh;
use risorius_anatomy::carry::Anatomy;
use risorius_muscle::MuscleShape;
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
    /// Figures of the build.
    pub report: BuildReport,
    /// How muscles make shapes of the rig, ascending by shape; empty until they are solved for.
    pub muscle_shapes: Vec<MuscleShape>,
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
    /// Distance from the volume of visible skin vertices that shapes move, in the pose in which the volume
    /// was meshed; mean and largest, mm.
    #[serde(deserialize_with = "numbers")]
    pub embedding_mm: [f64; 2],
    /// Pairs of skin vertices across closed lips and lids.
    pub n_slit_pairs: usize,
    /// Those that an element joins: both vertices are attached to it, or it contains their midpoint although
    /// that is outside the skin. Should be 0.
    pub n_fused_pairs: usize,
    /// Sliders that part the slits, and their values.
    pub parting_pose: Vec<(String, f32)>,
    /// One entry per shape of the rig.
    pub shapes: Vec<ShapeReport>,
    /// Inversions when blending pairs of shapes.
    pub pairs: PairReport,
    /// Time and memory of each stage; not saved in files.
    pub stages: Vec<StageReport>,
}

/// Shape of the elements.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct QualityReport {
    /// Smallest dihedral angle, degrees.
    #[serde(deserialize_with = "number")]
    pub min_dihedral_deg: f64,
    /// Mean over elements of their smallest dihedral angle, degrees.
    #[serde(deserialize_with = "number")]
    pub mean_min_dihedral_deg: f64,
    /// Smallest ratio of volume to edge length, 1 for a regular element.
    #[serde(deserialize_with = "number")]
    pub min_volume_ratio: f64,
    /// Its mean.
    #[serde(deserialize_with = "number")]
    pub mean_volume_ratio: f64,
}

/// How well the volume follows one shape.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ShapeReport {
    /// Name of the shape.
    pub name: String,
    /// Distance between the shape and the skin as moved by the volume, mean and largest over the skin that it
    /// moves, mm.
    #[serde(deserialize_with = "numbers")]
    pub fit_mm: [f64; 2],
    /// Smallest volume of an element relative to the neutral.
    #[serde(deserialize_with = "number")]
    pub least_j: f64,
    /// Nodes that had to be untangled.
    pub n_untangled: usize,
    /// Solver iterations.
    pub iterations: usize,
}

/// Inverted elements when two shapes are at weight 1.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct PairReport {
    /// Pairs tested.
    pub n_pairs: usize,
    /// Pairs that invert an element, or nearly, when blended.
    pub n_inverting: usize,
    /// Of these, pairs that move the skin in opposite directions and are not used together.
    pub n_opposite: usize,
    /// Pairs with a stored corrective.
    pub n_corrected: usize,
    /// Pairs whose elements could not be opened, by name.
    pub unrepaired: Vec<[String; 2]>,
    /// The worst pair and its smallest relative volume without corrective.
    #[serde(deserialize_with = "named_number")]
    pub worst: Option<([String; 2], f64)>,
}

/// One stage of a build.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct StageReport {
    /// What was done.
    pub name: String,
    /// How long it took.
    #[serde(deserialize_with = "number")]
    pub seconds: f64,
    /// Peak memory of the process so far, MB; 0 if the system does not report it.
    #[serde(deserialize_with = "number")]
    pub peak_mb: f64,
}

/// JSON has no numbers that are not finite and writes null for them; null is read back as NaN.
fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    <Option<f64> as serde::Deserialize>::deserialize(from).map(|x| x.unwrap_or(f64::NAN))
}

fn numbers<'de, D: serde::Deserializer<'de>>(from: D) -> Result<[f64; 2], D::Error> {
    <[Option<f64>; 2] as serde::Deserialize>::deserialize(from).map(|all| all.map(|x| x.unwrap_or(f64::NAN)))
}

fn named_number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<([String; 2], f64)>, D::Error> {
    type Named = Option<([String; 2], Option<f64>)>;
    let read = <Named as serde::Deserialize>::deserialize(from)?;
    Ok(read.map(|(names, x)| (names, x.unwrap_or(f64::NAN))))
}

impl PairReport {
    /// The figures in one sentence, for the user.
    pub fn summary(&self) -> String {
        format!(
            "{} tested, {} invert an element when blended; of these, {} have a corrective volume, {} move in \
             opposite directions, the others are repaired when evaluated",
            self.n_pairs, self.n_inverting, self.n_corrected, self.n_opposite
        )
    }
}
