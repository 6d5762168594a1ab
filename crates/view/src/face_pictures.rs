//! Pictures for judging a built face: landmarks, bones, muscles, the flesh cut open, its stiffness, and its
//! deformation by shapes.
//!
//! All are sheets of a few views of one head in meters, +Y up, +Z front. The volume is cut beside the middle
//! plane (x = 4 mm), where the seam between the lips is visible. Shapes are found by their ARKit names in any
//! spelling; for a rig without them, the shapes that move farthest are shown.

use crate::{
    AnatomyModel, Bounds, Canvas, Colormap, CutPlane, CutStyle, DrawOptions, Finish, Framing, LabeledPoint,
    Piece, Rgb, ScalarField, TetColors, ViewError, clip_piece, cut_tets, draw_model, sheet,
};
use glam::DVec3;
use risorius_anatomy::PieceKind;
use risorius_flesh::{Bound, Face};
use risorius_head::landmarks;
use risorius_mesh::{TetMesh, TriMesh};
use risorius_muscle::MuscleEnd;
use risorius_rig::classify::names;

/// A picture of a face.
pub type Picture = fn(&Face) -> Result<Canvas, ViewError>;

/// All pictures with the names of their files.
pub const ALL: [(&str, Picture); 6] = [
    ("landmarks.png", landmark_picture),
    ("bones.png", bone_picture),
    ("muscles.png", muscle_picture),
    ("cutaway.png", cutaway_picture),
    ("stiffness.png", stiffness_picture),
    ("shapes.png", shape_picture),
];

/// Where the volume is cut, in meters to the character's left of the middle.
const BESIDE_MIDDLE: f64 = 0.004;

/// The yellow of fat under the skin.
const FAT: Rgb = [0.80, 0.60, 0.30];

/// The skin with landmarks, from red (uncertain) to blue (certain), from the front and from the left.
pub(crate) fn landmark_picture(face: &Face) -> Result<Canvas, ViewError> {
    let mut model = AnatomyModel::framed(Bounds::of(face.anatomy.landmarks.iter().map(|l| l.position)));
    model.push(skin(face));
    let dot = |(i, l): (usize, &risorius_anatomy::find::FoundLandmark)| LabeledPoint {
        position: l.position,
        // The first landmarks have the numbers of face trackers; the others are labeled by name.
        label: if i < landmarks::N_TRACKER { i.to_string() } else { l.name.to_string() },
        confidence: Some(l.confidence as f32),
    };
    let labels: Vec<LabeledPoint> = face.anatomy.landmarks.iter().enumerate().map(dot).collect();
    let view = |yaw: f32| {
        let options = DrawOptions { width: 1000, height: 1200, yaw_degrees: yaw, ..DrawOptions::default() };
        draw_model(&model, &DrawOptions { labels: labels.clone(), ..options })
    };
    let cells = [(view(0.0)?, "front".to_string()), (view(70.0)?, "left".to_string())];
    sheet(&cells, 2, "Landmarks: red a guess, yellow likely, blue sure")
}

/// Skull and jaw inside translucent skin.
pub(crate) fn bone_picture(face: &Face) -> Result<Canvas, ViewError> {
    let mut model = AnatomyModel::framed(frame(face));
    bones(face).into_iter().for_each(|p| model.push(p));
    model.push(skin(face).translucent(0.3));
    sheet(&turned(&model)?, 3, "Skull, jaw and teeth in the skin")
}

/// Muscles on the bones.
pub(crate) fn muscle_picture(face: &Face) -> Result<Canvas, ViewError> {
    let mut model = AnatomyModel::framed(frame(face));
    bones(face).into_iter().for_each(|p| model.push(p));
    for muscle in &face.anatomy.muscles {
        let piece = Piece::new(&muscle.name, muscle.solid.surface(6), Finish::Muscle);
        // Chewing muscles connect bone to bone and lie below the others.
        let chews = muscle.origin != MuscleEnd::Soft && muscle.insertion == MuscleEnd::Mandible;
        model.push(if chews { piece.colored([0.30, 0.10, 0.12]) } else { piece });
    }
    sheet(&turned(&model)?, 3, &format!("{} muscles", face.anatomy.muscles.len()))
}

/// The volume cut beside the middle, with its elements: all of it, and the mouth.
pub(crate) fn cutaway_picture(face: &Face) -> Result<Canvas, ViewError> {
    let model = cut_model(face, &face.flesh.mesh(), TetColors::One(FAT), &CutPlane::sagittal(BESIDE_MIDDLE))?;
    let whole = draw_model(&model, &from_left(1000, Framing::Face))?;
    let close = draw_model(&model, &from_left(1000, Framing::Box(mouth(face))))?;
    let turned = DrawOptions { yaw_degrees: 50.0, ..from_left(1000, Framing::Face) };
    let open = draw_model(&model, &turned)?;
    let cells = [
        (whole, "cut beside the middle".to_string()),
        (close, "the mouth".to_string()),
        (
            open,
            "nodes on: skin pink, skull ivory, jaw blue, eyes white, border gray, joint green".to_string(),
        ),
    ];
    sheet(&cells, 3, "Flesh, cut open")
}

/// Stiffness of the neutral in two sections.
pub(crate) fn stiffness_picture(face: &Face) -> Result<Canvas, ViewError> {
    let values = face.flesh.materials.mu.iter().map(|mu| mu / 1000.0).collect();
    let field = ScalarField { colormap: Colormap::Sequential, ..ScalarField::spanning(values, "mu, kPa") };
    let mesh = face.flesh.mesh();
    let at = mouth(face);
    let middle = at.lo.midpoint(at.hi);
    let cut = |plane: &CutPlane, options: DrawOptions| {
        draw_model(&cut_model(face, &mesh, TetColors::Values(&field), plane)?, &options)
    };
    let above = DrawOptions { pitch_degrees: 75.0, yaw_degrees: 0.0, ..from_left(900, Framing::Face) };
    let front = DrawOptions { yaw_degrees: 0.0, ..from_left(900, Framing::Face) };
    let cells = [
        (
            cut(&CutPlane::sagittal(BESIDE_MIDDLE), from_left(900, Framing::Face))?,
            "beside the middle".to_string(),
        ),
        (cut(&CutPlane::frontal(middle.z - 0.012), front)?, "behind the corners of the mouth".to_string()),
        (cut(&CutPlane::transverse(middle.y + 0.008), above)?, "above the upper lip".to_string()),
    ];
    sheet(&cells, 3, "Stiffness of the flesh")
}

/// The outside of the volume in the neutral and in a few shapes, and the same cut beside the middle.
pub(crate) fn shape_picture(face: &Face) -> Result<Canvas, ViewError> {
    let mut poses = vec![("neutral".to_string(), Vec::new())];
    poses.extend(known_poses(face));
    let (mut outsides, mut cuts) = (Vec::new(), Vec::new());
    for (name, shapes) in &poses {
        let mesh = posed(face, shapes);
        let mut model = AnatomyModel::framed(frame(face));
        let away = CutPlane { point: DVec3::X * 10.0, normal: DVec3::X };
        let mut outside =
            cut_tets(&mesh, &away, CutStyle::Flat, TetColors::One(FAT), |t| Some(color_of(face, t)))?
                .boundary;
        outside.outlined = true;
        model.push(outside);
        let options = DrawOptions { width: 560, height: 640, yaw_degrees: 25.0, ..DrawOptions::default() };
        outsides.push((draw_model(&model, &options)?, name.clone()));
        let plane = CutPlane::sagittal(BESIDE_MIDDLE);
        let model = volume_model(face, &mesh, TetColors::One(FAT), &plane)?;
        let options = DrawOptions { width: 560, ..from_left(640, Framing::Box(grown(mouth(face), 0.02))) };
        cuts.push((draw_model(&model, &options)?, format!("{name}, cut")));
    }
    outsides.extend(cuts);
    sheet(&outsides, poses.len(), "The volume in shapes")
}

/// A name and the shapes that make it.
type NamedPose = (String, Vec<usize>);

/// Familiar poses, of shapes that the rig has; or the three shapes that move farthest.
fn known_poses(face: &Face) -> Vec<NamedPose> {
    const KNOWN: [(&str, &[&str]); 4] = [
        ("jaw open", &["jawOpen"]),
        ("smile", &["mouthSmileLeft", "mouthSmileRight"]),
        ("blink", &["eyeBlinkLeft", "eyeBlinkRight"]),
        ("pucker", &["mouthPucker"]),
    ];
    let all = || face.rig.shapes.iter().map(|s| s.name.as_str());
    let found = |names: &[&str]| names.iter().map(|n| names::find(n, all())).collect::<Option<Vec<usize>>>();
    let poses: Vec<NamedPose> =
        KNOWN.iter().filter_map(|(name, of)| Some((name.to_string(), found(of)?))).collect();
    if !poses.is_empty() {
        return poses;
    }
    let mut far: Vec<usize> = (0..face.rig.shapes.len()).collect();
    let length = |s: usize| face.rig.shapes[s].deltas.max_length();
    far.sort_by(|&a, &b| length(b).total_cmp(&length(a)));
    far.into_iter().take(3).map(|s| (face.rig.shapes[s].name.clone(), vec![s])).collect()
}

/// The volume with these shapes at full strength.
fn posed(face: &Face, shapes: &[usize]) -> TetMesh {
    let mut mesh = face.flesh.mesh();
    for volume in shapes.iter().filter_map(|&s| face.flesh.volumes.get(s)) {
        for (&node, &offset) in volume.nodes.iter().zip(volume.offsets.iter()) {
            mesh.nodes[node as usize] += DVec3::from(offset.map(f64::from));
        }
    }
    mesh
}

/// A box around the bones and the nose, with room for an open jaw.
pub(crate) fn frame(face: &Face) -> Bounds {
    let bones = &face.anatomy.bones;
    let points = bones.cranium.positions.iter().chain(&bones.mandible.positions).copied();
    grown(Bounds::of(points.chain(landmark(face, "nose_tip")).chain(landmark(face, "gnathion"))), 0.015)
}

fn landmark(face: &Face, name: &str) -> Option<DVec3> {
    landmarks::index(name).and_then(|i| face.anatomy.landmarks.get(i)).map(|l| l.position)
}

/// A box around the mouth.
fn mouth(face: &Face) -> Bounds {
    let sides = landmark(face, "mouth_left").zip(landmark(face, "mouth_right"));
    sides.map_or_else(|| frame(face), |(a, b)| Bounds::around(a.midpoint(b), 0.6 * a.distance(b)))
}

fn grown(bounds: Bounds, by: f64) -> Bounds {
    Bounds { lo: bounds.lo - by, hi: bounds.hi + by }
}

fn from_left(size: usize, framing: Framing) -> DrawOptions {
    DrawOptions { width: size, height: size, yaw_degrees: 90.0, framing, ..DrawOptions::default() }
}

/// Front, three quarters and left.
pub(crate) fn turned(model: &AnatomyModel) -> Result<Vec<(Canvas, String)>, ViewError> {
    let views = [(0.0, "front"), (40.0, "three quarters"), (90.0, "left")];
    let draw = |&(yaw, name): &(f32, &str)| {
        let options = DrawOptions { width: 700, height: 860, yaw_degrees: yaw, ..DrawOptions::default() };
        Ok((draw_model(model, &options)?, name.to_string()))
    };
    views.iter().map(draw).collect()
}

fn skin(face: &Face) -> Piece {
    let pieces = &face.anatomy.pieces;
    Piece::new("skin", compact(&pieces.positions, &pieces.skin), Finish::Skin)
}

/// Skull, jaw, teeth and eyeballs.
pub(crate) fn bones(face: &Face) -> Vec<Piece> {
    let anatomy = &face.anatomy;
    let bone = |name: &str, surface: &TriMesh| Piece::new(name, surface.clone(), Finish::Bone);
    let eyes = compact(
        &anatomy.pieces.positions,
        &anatomy.pieces.triangles_of(&[PieceKind::EyeLeft, PieceKind::EyeRight]),
    );
    vec![
        bone("cranium", &anatomy.bones.cranium),
        bone("mandible", &anatomy.bones.mandible).colored([0.62, 0.60, 0.56]),
        bone("upper teeth", &anatomy.teeth[0]).colored([0.85, 0.83, 0.78]),
        bone("lower teeth", &anatomy.teeth[1]).colored([0.85, 0.83, 0.78]),
        Piece::new("eyes", eyes, Finish::Matte).colored([0.75, 0.75, 0.75]),
    ]
}

/// Only the vertices that triangles use.
fn compact(positions: &[DVec3], triangles: &[[u32; 3]]) -> TriMesh {
    let mut number = vec![u32::MAX; positions.len()];
    let mut out = TriMesh::default();
    for corners in triangles {
        out.triangles.push(corners.map(|v| {
            let slot = &mut number[v as usize];
            if *slot == u32::MAX {
                *slot = out.positions.len() as u32;
                out.positions.push(positions[v as usize]);
            }
            *slot
        }));
    }
    out
}

/// The color of a triangle of the volume's outside, by the bound of most of its nodes.
fn color_of(face: &Face, nodes: [u32; 3]) -> Rgb {
    let mut bounds = nodes.map(|n| face.flesh.bound(n as usize));
    bounds.sort();
    match bounds[1] {
        Bound::Skin => [0.66, 0.36, 0.28],
        Bound::Cranium => [0.78, 0.70, 0.50],
        Bound::Mandible => [0.20, 0.36, 0.62],
        Bound::Eye => [0.85, 0.85, 0.85],
        Bound::Border => [0.30, 0.30, 0.30],
        Bound::Joint => [0.16, 0.50, 0.22],
        Bound::Inside => [0.60, 0.05, 0.60],
    }
}

/// The volume, cut.
fn volume_model(
    face: &Face,
    mesh: &TetMesh,
    tets: TetColors,
    plane: &CutPlane,
) -> Result<AnatomyModel, ViewError> {
    let mut model = AnatomyModel::framed(frame(face));
    let cut = cut_tets(mesh, plane, CutStyle::Flat, tets, |t| Some(color_of(face, t)))?;
    model.push(cut.section);
    model.push(cut.boundary);
    Ok(model)
}

/// The volume and the bones, cut.
fn cut_model(
    face: &Face,
    mesh: &TetMesh,
    tets: TetColors,
    plane: &CutPlane,
) -> Result<AnatomyModel, ViewError> {
    let mut model = volume_model(face, mesh, tets, plane)?;
    bones(face).iter().for_each(|piece| model.push(clip_piece(piece, plane)));
    Ok(model)
}
