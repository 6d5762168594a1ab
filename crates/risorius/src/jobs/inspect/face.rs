//! The contents of a `.face` file beyond its rig: flesh, bones, muscles, quality of the build, arrays.

use crate::error::{Result, in_file};
use crate::jobs::build::LandmarkReport;
use risorius_anatomy::Note;
use risorius_base::Rigid;
use risorius_flesh::face::{PairReport, ShapeReport};
use risorius_flesh::{BuildReport, Face, Flesh};
use risorius_io::native::container::Dtype;
use risorius_io::native::face::{self, BOUND_NAMES, FaceFile, PIECE_KINDS};
use risorius_mesh::tet::quality::Quality;
use risorius_mesh::{Edges, Polygons, TriMesh};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A face beyond its rig.
#[derive(Debug, Clone, Serialize)]
pub struct FaceInspection {
    /// The flesh volume.
    pub volume: VolumeReport,
    /// Stiffness of the flesh.
    pub materials: MaterialsReport,
    /// Skull, jaw, teeth, eyes.
    pub bones: BonesReport,
    /// Muscles by name.
    pub muscles: Vec<MuscleReport>,
    /// Positions of landmarks, in meters.
    pub landmarks: Vec<LandmarkReport>,
    /// Shapes that move the jaw, widest opening first.
    pub jaw: Vec<JawReport>,
    /// How closely volumes follow the shapes.
    pub fit: FitReport,
    /// Pairs of shapes, and closed lips and lids.
    pub pairs: PairsReport,
    /// Observations of the build.
    pub build_notes: Vec<Note>,
    /// The file itself.
    pub contents: ContentsReport,
    /// Number of shapes of the rig.
    #[serde(skip)]
    pub n_shapes: usize,
}

/// The flesh volume of a face.
#[derive(Debug, Clone, Serialize)]
pub struct VolumeReport {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of tets.
    pub tets: usize,
    /// Volume in liters.
    pub liters: f64,
    /// Number of nodes on each kind of boundary.
    pub bounds: serde_json::Map<String, Value>,
    /// Number of rig vertices that are attached to it.
    pub embedded_vertices: usize,
    /// Number of nodes that each shape moves.
    pub moved_nodes: Vec<usize>,
    /// Quality of its tets.
    pub quality: TetQuality,
    /// Kinds of boundary with their number of nodes, in the order of the file.
    #[serde(skip)]
    pub bounds_in_order: Vec<(&'static str, usize)>,
}

/// Shape quality of tets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TetQuality {
    /// Smallest dihedral angle.
    pub min_dihedral_deg: f64,
    /// Mean over tets of their smallest dihedral angle.
    pub mean_min_dihedral_deg: f64,
    /// Largest dihedral angle.
    pub max_dihedral_deg: f64,
    /// Smallest volume-length ratio.
    pub min_volume_length: f64,
    /// Mean volume-length ratio.
    pub mean_volume_length: f64,
}

/// Stiffness of a face.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MaterialsReport {
    /// Smallest and largest shear stiffness mu.
    pub mu_pa: [f32; 2],
    /// Smallest and largest resistance to volume change lambda.
    pub lambda_pa: [f32; 2],
    /// Number of shapes that change the stiffness.
    pub shapes_that_change: usize,
    /// Smallest and largest change of mu by a shape.
    pub mu_change_pa: [f32; 2],
}

/// Rigid parts of a face.
#[derive(Debug, Clone, Serialize)]
pub struct BonesReport {
    /// Skull without the jaw.
    pub cranium: BoneReport,
    /// Lower jaw.
    pub mandible: BoneReport,
    /// Upper teeth.
    pub teeth_upper: BoneReport,
    /// Lower teeth.
    pub teeth_lower: BoneReport,
    /// The jaw joint.
    pub joint: JointReport,
    /// Left and right eyeball.
    pub eyes: Vec<Option<EyeReport>>,
    /// Number of rig vertices of each kind of surface.
    pub vertices_of_rig: BTreeMap<&'static str, usize>,
    /// The same, in the order of kinds.
    #[serde(skip)]
    pub kinds_in_order: Vec<(&'static str, usize)>,
}

/// A bone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BoneReport {
    /// Number of vertices.
    pub vertices: usize,
    /// Number of triangles.
    pub triangles: usize,
    /// Whether the surface is closed.
    pub closed: bool,
    /// Volume in cubic centimeters.
    pub cm3: f64,
}

/// The jaw joint.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct JointReport {
    /// Positions of left and right condyle, meters.
    pub condyles: [[f64; 3]; 2],
    /// Direction in which the condyles slide.
    pub track: [f64; 3],
    /// Length of their track, meters.
    pub track_length: f64,
    /// Distance between the condyles.
    #[serde(skip)]
    pub apart_mm: f64,
}

/// An eyeball.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EyeReport {
    /// Center, meters.
    pub center: [f64; 3],
    /// Radius, meters.
    pub radius: f64,
    /// Residual of the fitted sphere.
    pub residual: f64,
}

/// A muscle.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MuscleReport {
    /// Anatomical name with side.
    pub name: String,
    /// Where its fibers originate.
    pub origin: String,
    /// Where its fibers insert.
    pub insertion: String,
    /// Number of control points along each axis.
    pub counts: [usize; 3],
}

/// The jaw motion of a shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JawReport {
    /// The shape.
    pub shape: String,
    /// Angle by which it opens the jaw.
    pub degrees: f64,
    /// Distance that the midpoint between the condyles slides.
    pub slide_mm: f64,
}

/// How closely volumes follow the shapes.
#[derive(Debug, Clone, Serialize)]
pub struct FitReport {
    /// Mean and largest distance of the skin from the volume in the neutral.
    pub embedding_mm: [f64; 2],
    /// The fit of each shape, the worst first.
    pub shapes: Vec<ShapeReport>,
}

/// Pairs of shapes, and closed lips and lids.
#[derive(Debug, Clone, Serialize)]
pub struct PairsReport {
    /// Pairs of shapes that invert elements together.
    pub pairs: PairReport,
    /// Number of vertex pairs that touch in the neutral.
    pub slit_pairs: usize,
    /// Number of elements that span a slit; 0 in a good face.
    pub fused_pairs: usize,
    /// Slider values that separate lips and lids.
    pub parting_pose: Vec<(String, f32)>,
}

/// The contents of the file itself.
#[derive(Debug, Clone, Serialize)]
pub struct ContentsReport {
    /// Size of the file in bytes.
    pub bytes: usize,
    /// The program that wrote it.
    pub software: String,
    /// Version of the format.
    pub version: u32,
    /// All arrays.
    pub arrays: Vec<ArrayReport>,
}

/// An array of a file.
#[derive(Debug, Clone, Serialize)]
pub struct ArrayReport {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
    /// Length along each axis.
    pub shape: Vec<usize>,
    /// Size in bytes.
    pub bytes: u64,
}

/// Opens a face and inspects it.
pub(super) fn inspect(path: &Path) -> Result<FaceInspection> {
    let file = face::open_file(path).map_err(in_file(path))?;
    let face = &file.face;
    Ok(FaceInspection {
        volume: volume(&face.flesh),
        materials: materials(&face.flesh),
        bones: bones(face),
        muscles: muscles(face),
        landmarks: LandmarkReport::of(&face.anatomy.landmarks),
        jaw: jaw(face),
        fit: fit(&face.report),
        pairs: PairsReport {
            pairs: face.report.pairs.clone(),
            slit_pairs: face.report.n_slit_pairs,
            fused_pairs: face.report.n_fused_pairs,
            parting_pose: face.report.parting_pose.clone(),
        },
        build_notes: face.anatomy.notes.clone(),
        contents: contents(&file),
        n_shapes: face.rig.shapes.len(),
    })
}

fn volume(flesh: &Flesh) -> VolumeReport {
    let mesh = flesh.mesh();
    let quality = Quality::of(&mesh);
    let count = |number: usize| flesh.bounds.iter().filter(|&&b| usize::from(b) == number).count();
    let bounds_in_order: Vec<(&'static str, usize)> =
        BOUND_NAMES.iter().enumerate().map(|(i, name)| (*name, count(i))).collect();
    VolumeReport {
        nodes: flesh.n_nodes(),
        tets: flesh.tets.len(),
        liters: 1000.0 * mesh.volumes().iter().sum::<f64>(),
        bounds: bounds_in_order.iter().map(|(name, n)| (name.to_string(), (*n).into())).collect(),
        bounds_in_order,
        embedded_vertices: flesh.embedding.vertices.len(),
        moved_nodes: flesh.volumes.iter().map(|v| v.nodes.len()).collect(),
        quality: TetQuality {
            min_dihedral_deg: quality.min_dihedral_deg,
            mean_min_dihedral_deg: quality.mean_min_dihedral_deg,
            max_dihedral_deg: quality.max_dihedral_deg,
            min_volume_length: quality.min_volume_length,
            mean_volume_length: quality.mean_volume_length,
        },
    }
}

fn materials(flesh: &Flesh) -> MaterialsReport {
    let range = |values: &[f32]| {
        values.iter().fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], &x| [low.min(x), high.max(x)])
    };
    let materials = &flesh.materials;
    let changes = materials.shapes.iter().map(|s| range(&s.mu));
    MaterialsReport {
        mu_pa: range(&materials.mu),
        lambda_pa: range(&materials.lambda),
        shapes_that_change: materials.shapes.iter().filter(|s| !s.tets.is_empty()).count(),
        mu_change_pa: changes.fold([0.0f32, 0.0], |[low, high], [a, b]| [low.min(a), high.max(b)]),
    }
}

fn bones(face: &Face) -> BonesReport {
    let anatomy = &face.anatomy;
    let bone = |surface: &TriMesh| {
        let edges = Edges::of(&Polygons::from_triangles(&surface.triangles));
        let closed =
            !surface.triangles.is_empty() && edges.boundary().is_empty() && edges.non_manifold().is_empty();
        BoneReport {
            vertices: surface.positions.len(),
            triangles: surface.triangles.len(),
            closed,
            cm3: surface.volume() * 1e6,
        }
    };
    let joint = &anatomy.bones.joint;
    let kinds = PIECE_KINDS.map(|(kind, name)| (name, anatomy.pieces.vertices(kind).len()));
    let eye = |e: &risorius_anatomy::eyes::Eye| EyeReport {
        center: e.center.to_array(),
        radius: e.radius,
        residual: e.residual,
    };
    BonesReport {
        cranium: bone(&anatomy.bones.cranium),
        mandible: bone(&anatomy.bones.mandible),
        teeth_upper: bone(&anatomy.teeth[0]),
        teeth_lower: bone(&anatomy.teeth[1]),
        joint: JointReport {
            condyles: joint.condyles.map(|c| c.to_array()),
            track: joint.track.to_array(),
            track_length: joint.track_length,
            apart_mm: 1000.0 * joint.condyles[0].distance(joint.condyles[1]),
        },
        eyes: anatomy.eyes.iter().map(|e| e.as_ref().map(eye)).collect(),
        vertices_of_rig: kinds.iter().copied().collect(),
        kinds_in_order: kinds.to_vec(),
    }
}

fn muscles(face: &Face) -> Vec<MuscleReport> {
    let end = |a| format!("{a:?}").to_lowercase();
    let one = |m: &risorius_muscle::Muscle| MuscleReport {
        name: m.name.clone(),
        origin: end(m.origin),
        insertion: end(m.insertion),
        counts: m.solid.counts,
    };
    face.anatomy.muscles.iter().map(one).collect()
}

fn jaw(face: &Face) -> Vec<JawReport> {
    let center = face.anatomy.bones.joint.center();
    let moving = face.rig.shapes.iter().zip(&face.anatomy.jaw_motion).filter(|(_, m)| **m != Rigid::IDENTITY);
    let mut moving: Vec<JawReport> = moving
        .map(|(shape, motion)| JawReport {
            shape: shape.name.clone(),
            degrees: motion.rotation_vector().length().to_degrees(),
            slide_mm: 1000.0 * motion.apply(center).distance(center),
        })
        .collect();
    moving.sort_by(|a, b| b.degrees.total_cmp(&a.degrees));
    moving
}

fn fit(report: &BuildReport) -> FitReport {
    let mut shapes = report.shapes.clone();
    shapes.sort_by(|a, b| b.fit_mm[1].total_cmp(&a.fit_mm[1]));
    FitReport { embedding_mm: report.embedding_mm, shapes }
}

fn contents(file: &FaceFile) -> ContentsReport {
    let arrays = file.arrays.iter().map(|(name, info)| ArrayReport {
        name: name.clone(),
        dtype: info.dtype,
        shape: info.shape.clone(),
        bytes: info.n_bytes(),
    });
    ContentsReport {
        bytes: file.n_bytes,
        software: file.software.clone(),
        version: face::VERSION,
        arrays: arrays.collect(),
    }
}
