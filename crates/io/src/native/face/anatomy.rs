//! The anatomy in a `.face` file: bones, muscles, landmarks, pieces, eyes, motions and the warp, in meters.
//!
//! The warp is kept although a performance does not need it: it is small, and other parts of the built-in
//! head can later be transferred to a rig with it. The metadata names the kinds of vertices in the order of
//! their numbers.

use crate::IoError;
use crate::native::container::{Archive, Writer, damaged};
use glam::{DQuat, DVec3};
use risorius_anatomy::carry::Anatomy;
use risorius_anatomy::eyes::Eye;
use risorius_anatomy::find::FoundLandmark;
use risorius_anatomy::warp::{Field, Similarity, Warp};
use risorius_anatomy::{Note, PieceKind, Pieces};
use risorius_base::Rigid;
use risorius_head::landmarks::NAMES;
use risorius_head::{Bones, JawJoint};
use risorius_mesh::TriMesh;
use risorius_muscle::{Muscle, MuscleEnd, SplineSolid};
use serde::{Deserialize, Serialize};

/// Kinds of vertices in the order of their numbers, with their names.
pub const PIECE_KINDS: [(PieceKind, &str); 12] = [
    (PieceKind::Skin, "skin"),
    (PieceKind::EyeLeft, "eye_left"),
    (PieceKind::EyeRight, "eye_right"),
    (PieceKind::TeethUpper, "teeth_upper"),
    (PieceKind::TeethLower, "teeth_lower"),
    (PieceKind::GumsUpper, "gums_upper"),
    (PieceKind::GumsLower, "gums_lower"),
    (PieceKind::Tongue, "tongue"),
    (PieceKind::Lash, "lash"),
    (PieceKind::Other, "other"),
    (PieceKind::Cranium, "cranium"),
    (PieceKind::Mandible, "mandible"),
];

/// Marks vertices that are not attached to a skin vertex.
const NO_CARRIER: u32 = u32::MAX;

const SURFACES: [&str; 4] = ["cranium", "mandible", "teeth_upper", "teeth_lower"];
const MOTIONS: [&str; 3] = ["jaw_motion", "eye_left_motion", "eye_right_motion"];

/// The part of the anatomy that is stored as JSON.
#[derive(Serialize, Deserialize)]
struct AnatomyText {
    joint: JointText,
    /// Left, right.
    eyes: [Option<EyeText>; 2],
    landmarks: Vec<LandmarkText>,
    muscles: Vec<MuscleText>,
    /// Meaning of the numbers in `anatomy.pieces.kinds`.
    piece_kinds: Vec<String>,
    piece_notes: Vec<Note>,
    warp: WarpText,
    notes: Vec<Note>,
}

#[derive(Serialize, Deserialize)]
struct JointText {
    condyles: [[f64; 3]; 2],
    track: [f64; 3],
    track_length: f64,
}

#[derive(Serialize, Deserialize)]
struct EyeText {
    center: [f64; 3],
    radius: f64,
    residual: f64,
}

#[derive(Serialize, Deserialize)]
struct LandmarkText {
    name: String,
    source: String,
}

#[derive(Serialize, Deserialize)]
struct MuscleText {
    name: String,
    origin: AttachmentText,
    insertion: AttachmentText,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AttachmentText {
    Cranium,
    Mandible,
    Soft,
}

/// The similarity `scale`, `rotation` (x, y, z, w), `translation`, and the constant of the field applied
/// after it.
#[derive(Serialize, Deserialize)]
struct WarpText {
    scale: f64,
    rotation: [f64; 4],
    translation: [f64; 3],
    constant: [f64; 3],
}

/// Adds an anatomy to a file.
pub fn save<'a>(anatomy: &'a Anatomy, file: &mut Writer<'a>) -> Result<(), IoError> {
    let field = anatomy.warp.field();
    file.json("anatomy", &text(anatomy, &field))?;
    let bones = &anatomy.bones;
    let surfaces = [&bones.cranium, &bones.mandible, &anatomy.teeth[0], &anatomy.teeth[1]];
    for (name, surface) in SURFACES.iter().zip(surfaces) {
        file.array(format!("anatomy.{name}.positions"), rows(&surface.positions));
        file.array(format!("anatomy.{name}.triangles"), &surface.triangles);
    }
    let marks = &anatomy.landmarks;
    file.made("anatomy.landmarks.positions", marks.iter().map(|l| l.position.to_array()).collect());
    file.made("anatomy.landmarks.vertices", marks.iter().map(|l| l.vertex).collect());
    file.made("anatomy.landmarks.triangles", marks.iter().map(|l| l.triangle).collect());
    file.made("anatomy.landmarks.barycentric", marks.iter().map(|l| l.barycentric).collect());
    file.made("anatomy.landmarks.confidence", marks.iter().map(|l| l.confidence).collect());
    let muscles = &anatomy.muscles;
    file.made("anatomy.muscles.counts", muscles.iter().map(|m| m.solid.counts.map(|n| n as u32)).collect());
    file.first("anatomy.muscles.first", muscles.iter().map(|m| m.solid.control.len()));
    file.lists("anatomy.muscles.control", muscles.iter().map(|m| rows(&m.solid.control)));
    let pieces = &anatomy.pieces;
    let number =
        |k: &PieceKind| PIECE_KINDS.iter().position(|(kind, _)| kind == k).unwrap_or(usize::MAX) as u8;
    file.made("anatomy.pieces.kinds", pieces.kinds.iter().map(number).collect());
    file.array("anatomy.pieces.positions", rows(&pieces.positions));
    file.array("anatomy.pieces.skin", &pieces.skin);
    file.array("anatomy.pieces.others", &pieces.others);
    file.made("anatomy.pieces.carriers", pieces.carriers.iter().map(|c| c.unwrap_or(NO_CARRIER)).collect());
    file.array("anatomy.pieces.face", &pieces.face);
    let [left, right] = &anatomy.eye_motion;
    for (name, motions) in MOTIONS.iter().zip([&anatomy.jaw_motion, left, right]) {
        file.made(
            format!("anatomy.{name}.rotations"),
            motions.iter().map(|m| m.rotation.to_array()).collect(),
        );
        file.made(
            format!("anatomy.{name}.translations"),
            motions.iter().map(|m| m.translation.to_array()).collect(),
        );
    }
    file.made("anatomy.warp.centers", rows(&field.centers).to_vec());
    file.made("anatomy.warp.weights", rows(&field.weights).to_vec());
    Ok(())
}

fn rows(points: &[DVec3]) -> &[[f64; 3]] {
    bytemuck::cast_slice(points)
}

fn text(anatomy: &Anatomy, field: &Field) -> AnatomyText {
    let joint = &anatomy.bones.joint;
    let eye = |e: Eye| EyeText { center: e.center.to_array(), radius: e.radius, residual: e.residual };
    let end = |a: MuscleEnd| match a {
        MuscleEnd::Cranium => AttachmentText::Cranium,
        MuscleEnd::Mandible => AttachmentText::Mandible,
        MuscleEnd::Soft => AttachmentText::Soft,
    };
    let muscle =
        |m: &Muscle| MuscleText { name: m.name.clone(), origin: end(m.origin), insertion: end(m.insertion) };
    let landmark = |l: &FoundLandmark| LandmarkText { name: l.name.into(), source: l.source.clone() };
    let similarity = &anatomy.warp.similarity;
    AnatomyText {
        joint: JointText {
            condyles: joint.condyles.map(|c| c.to_array()),
            track: joint.track.to_array(),
            track_length: joint.track_length,
        },
        eyes: anatomy.eyes.map(|e| e.map(eye)),
        landmarks: anatomy.landmarks.iter().map(landmark).collect(),
        muscles: anatomy.muscles.iter().map(muscle).collect(),
        piece_kinds: PIECE_KINDS.iter().map(|(_, name)| (*name).into()).collect(),
        piece_notes: anatomy.pieces.notes.clone(),
        warp: WarpText {
            scale: similarity.scale,
            rotation: similarity.rigid.rotation.to_array(),
            translation: similarity.rigid.translation.to_array(),
            constant: field.constant.to_array(),
        },
        notes: anatomy.notes.clone(),
    }
}

/// Reads the anatomy of a file. Indices are not checked here.
pub fn load(file: &Archive, n_vertices: usize, n_shapes: usize) -> Result<Anatomy, IoError> {
    let text: AnatomyText = file.json("anatomy")?;
    let [cranium, mandible, upper, lower] = each(SURFACES, |name| {
        let positions = points(file, &format!("anatomy.{name}.positions"))?;
        Ok(TriMesh { positions, triangles: file.array(&format!("anatomy.{name}.triangles"))?.to_vec() })
    })?;
    let [jaw_motion, left, right] = each(MOTIONS, |name| load_motions(file, name, n_shapes))?;
    let joint = JawJoint {
        condyles: text.joint.condyles.map(DVec3::from),
        track: text.joint.track.into(),
        track_length: text.joint.track_length,
    };
    let eye = |e: EyeText| Eye { center: e.center.into(), radius: e.radius, residual: e.residual };
    Ok(Anatomy {
        bones: Bones { cranium, mandible, joint },
        teeth: [upper, lower],
        muscles: load_muscles(file, text.muscles)?,
        landmarks: load_landmarks(file, text.landmarks)?,
        pieces: load_pieces(file, &text.piece_kinds, text.piece_notes, n_vertices)?,
        eyes: text.eyes.map(|e| e.map(eye)),
        jaw_motion,
        eye_motion: [left, right],
        warp: load_warp(file, &text.warp)?,
        notes: text.notes,
    })
}

fn each<T, const N: usize>(
    names: [&str; N],
    load: impl Fn(&str) -> Result<T, IoError>,
) -> Result<[T; N], IoError> {
    let all = names.iter().map(|name| load(name)).collect::<Result<Vec<T>, IoError>>()?;
    all.try_into().map_err(|_| damaged("header", "an array is missing"))
}

fn points(file: &Archive, name: &str) -> Result<Vec<DVec3>, IoError> {
    Ok(file.array::<[f64; 3]>(name)?.iter().map(|&p| p.into()).collect())
}

fn load_motions(file: &Archive, name: &str, n_shapes: usize) -> Result<Vec<Rigid>, IoError> {
    let what = "shapes of the rig";
    let rotations = file.rows::<[f64; 4]>(&format!("anatomy.{name}.rotations"), n_shapes, what)?;
    let translations = file.rows::<[f64; 3]>(&format!("anatomy.{name}.translations"), n_shapes, what)?;
    let both = rotations.iter().zip(translations.iter());
    Ok(both.map(|(&r, &t)| Rigid { rotation: DQuat::from_array(r), translation: t.into() }).collect())
}

fn load_muscles(file: &Archive, text: Vec<MuscleText>) -> Result<Vec<Muscle>, IoError> {
    let counts = file.rows::<[u32; 3]>("anatomy.muscles.counts", text.len(), "muscles")?;
    let first = file.first("anatomy.muscles.first", text.len(), "muscles")?;
    let control = file.lists::<[f64; 3]>("anatomy.muscles.control", &first)?;
    let end = |a: AttachmentText| match a {
        AttachmentText::Cranium => MuscleEnd::Cranium,
        AttachmentText::Mandible => MuscleEnd::Mandible,
        AttachmentText::Soft => MuscleEnd::Soft,
    };
    let muscle =
        |(m, (counts, control)): (MuscleText, (&[u32; 3], &risorius_base::Array<[f64; 3]>))| Muscle {
            name: m.name,
            origin: end(m.origin),
            insertion: end(m.insertion),
            solid: SplineSolid {
                counts: counts.map(|n| n as usize),
                control: control.iter().map(|&p| p.into()).collect(),
            },
        };
    Ok(text.into_iter().zip(counts.iter().zip(&control)).map(muscle).collect())
}

fn load_landmarks(file: &Archive, text: Vec<LandmarkText>) -> Result<Vec<FoundLandmark>, IoError> {
    let n = text.len();
    let positions = file.rows::<[f64; 3]>("anatomy.landmarks.positions", n, "landmarks")?;
    let vertices = file.rows::<u32>("anatomy.landmarks.vertices", n, "landmarks")?;
    let triangles = file.rows::<[u32; 3]>("anatomy.landmarks.triangles", n, "landmarks")?;
    let barycentric = file.rows::<[f64; 3]>("anatomy.landmarks.barycentric", n, "landmarks")?;
    let confidence = file.rows::<f64>("anatomy.landmarks.confidence", n, "landmarks")?;
    let landmark = |(i, l): (usize, LandmarkText)| {
        let name = NAMES.get(i).filter(|name| **name == l.name).ok_or_else(|| {
            let name: String = l.name.chars().take(40).collect();
            damaged("metadata 'anatomy'", format!("landmark {i} is not called '{name}'"))
        })?;
        Ok(FoundLandmark {
            name,
            position: positions[i].into(),
            vertex: vertices[i],
            triangle: triangles[i],
            barycentric: barycentric[i],
            confidence: confidence[i],
            source: l.source,
        })
    };
    text.into_iter().enumerate().map(landmark).collect()
}

fn load_pieces(
    file: &Archive,
    names: &[String],
    notes: Vec<Note>,
    n_vertices: usize,
) -> Result<Pieces, IoError> {
    let named = |name: &String| PIECE_KINDS.iter().find(|(_, n)| n == name).map(|(kind, _)| *kind);
    let meaning: Vec<Option<PieceKind>> = names.iter().map(named).collect();
    let what = "vertices of the rig";
    let numbers = file.rows::<u8>("anatomy.pieces.kinds", n_vertices, what)?;
    let kind = |(v, &k): (usize, &u8)| {
        let unknown =
            || damaged("array 'anatomy.pieces.kinds'", format!("vertex {v} is of the unknown kind {k}"));
        meaning.get(usize::from(k)).copied().flatten().ok_or_else(unknown)
    };
    let carriers = file.rows::<u32>("anatomy.pieces.carriers", n_vertices, what)?;
    let positions = file.rows::<[f64; 3]>("anatomy.pieces.positions", n_vertices, what)?;
    Ok(Pieces {
        kinds: numbers.iter().enumerate().map(kind).collect::<Result<_, _>>()?,
        positions: positions.iter().map(|&p| p.into()).collect(),
        skin: file.array("anatomy.pieces.skin")?.to_vec(),
        others: file.array("anatomy.pieces.others")?.to_vec(),
        carriers: carriers.iter().map(|&c| (c != NO_CARRIER).then_some(c)).collect(),
        face: file.array("anatomy.pieces.face")?.to_vec(),
        notes,
    })
}

fn load_warp(file: &Archive, text: &WarpText) -> Result<Warp, IoError> {
    let rotation = DQuat::from_array(text.rotation);
    let rigid = Rigid { rotation, translation: text.translation.into() };
    let field = Field {
        centers: points(file, "anatomy.warp.centers")?,
        weights: points(file, "anatomy.warp.weights")?,
        constant: text.constant.into(),
    };
    let lengths = || damaged("array 'anatomy.warp.weights'", "it is not as long as 'anatomy.warp.centers'");
    Warp::from_field(Similarity { rigid, scale: text.scale }, field).ok_or_else(lengths)
}
