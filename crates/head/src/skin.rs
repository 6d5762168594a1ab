//! The neutral surface of the built-in head: skin, eyeballs, teeth, gums and tongue, built from small tables.
//!
//! The skin is a control cage of quads for one half (`face`, `eyes`, `mouth`, `cranium`, `ears`), whose
//! tables give points of the limit surface. The mirrored cage is smoothed in broad regions, fitted so that
//! its limit surface passes through the points, subdivided twice (`subdivide`) and finished where surfaces
//! nearly touch (`finish`, `mouth`). The dimensions follow averages of adult anthropometry; no scan was used.
//! A vertex of the cage keeps its index, the result is the same to the bit on every run, and its halves are
//! exact mirror images. Limits: no hair, no lashes, no texture coordinates; the gums have no palate.

mod cage;
mod cranium;
mod ears;
mod eyeball;
mod eyes;
mod face;
mod finish;
mod marks;
mod mouth;
mod subdivide;
mod table;
mod teeth;
#[cfg(test)]
mod tests;
mod tongue;

pub use cage::Chain;

use cage::{Cage, Label, Side};
use glam::DVec3;
use risorius_mesh::Polygons;
use risorius_rig::assemble::{RawPart, RawRig, assemble};
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{FaceGroup, Material, Rig};
use std::collections::BTreeMap;

const METERS: f64 = 1e-3;

/// The neutral head in meters, +Y up, +Z front, +X the character's left, origin midway between the jaw's
/// condyles.
#[derive(Debug, Clone, Default)]
pub struct NeutralHead {
    /// `skin` first, then `eye_left`, `eye_right`, `teeth_upper`, `teeth_lower`, `gums_upper`, `gums_lower`,
    /// `tongue`.
    pub parts: Vec<PartMesh>,
    /// For each vertex of the skin, the one at its mirror image.
    pub mirror: Vec<u32>,
    /// Named lines of skin vertices in order. Lids, each from the inner corner to the outer:
    /// `lid_upper_left_edge` (where lashes grow), `..._edge_inner` (on the eyeball), `..._crease`,
    /// `..._orbit`, the same with `lower` and `right`. Lips, from the right corner to the left:
    /// `lip_upper_border` (of the red), `lip_upper_outer` and `lip_upper_inner` (front and back of the
    /// contact), the same with `lower`. `nasolabial_left`, `nostril_left`, their right siblings, and
    /// `neck_border`.
    pub loops: BTreeMap<String, Chain>,
    /// Named sets of skin vertices, ascending: `lips_upper`, `lids_upper_left`, `cheek_left`, `mouth_bag` ...
    pub regions: BTreeMap<String, Vec<u32>>,
    /// The skin vertex of each of [`crate::landmarks::NAMES`].
    pub landmarks: Vec<u32>,
    /// The left and the right eyeball.
    pub eyes: [Eyeball; 2],
}

/// One surface of the head.
#[derive(Debug, Clone, Default)]
pub struct PartMesh {
    /// Name, as in [`crate::Head`].
    pub name: String,
    /// Meters.
    pub positions: Vec<DVec3>,
    /// Mostly quads, counter-clockwise from outside.
    pub faces: Polygons,
    /// Ranges of faces with the same material: name and first face.
    pub groups: Vec<(&'static str, usize)>,
}

/// Center and radius of an eyeball.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Eyeball {
    /// Center of the sphere, meters.
    pub center: DVec3,
    /// Radius of the sclera, meters; the cornea protrudes by 1 mm in front.
    pub radius: f64,
}

/// Builds the neutral head.
pub fn neutral() -> NeutralHead {
    let fine = skin();
    let mut head =
        NeutralHead { mirror: fine.mirror.clone(), loops: fine.loops.clone(), ..NeutralHead::default() };
    head.regions = regions(&fine);
    head.landmarks = marks::find(&fine);
    head.parts.push(skin_part(&fine));
    head.parts.push(eyeball::build("eye_left", false));
    head.parts.push(eyeball::build("eye_right", true));
    for jaw in [teeth::Jaw::Upper, teeth::Jaw::Lower] {
        head.parts.push(teeth::teeth(jaw));
    }
    for jaw in [teeth::Jaw::Upper, teeth::Jaw::Lower] {
        head.parts.push(teeth::gums(jaw));
    }
    head.parts.push(tongue::build());
    let mirrored = |p: DVec3| DVec3::new(-p.x, p.y, p.z);
    head.eyes = [eyes::CENTER, mirrored(eyes::CENTER)]
        .map(|c| Eyeball { center: c * METERS, radius: eyes::RADIUS * METERS });
    head
}

/// The skin in millimeters.
fn skin() -> Cage {
    let mut half = Cage::default();
    let face = face::build(&mut half);
    cranium::build(&mut half, &face);
    let mut cage = cage::whole(&half);
    cage::smooth(&mut cage, 6);
    cage.points = subdivide::fit(&cage.points, &cage.faces, 14);
    let mut fine = subdivide::subdivide(&subdivide::subdivide(&cage));
    fine.points = subdivide::limit(&fine.points, &fine.faces);
    cage::smooth(&mut fine, 80);
    finish::finish(&mut fine);
    finish::symmetrize(&mut fine);
    fine
}

fn skin_part(fine: &Cage) -> PartMesh {
    let look = |label: Label| match label {
        Label::LipUpper | Label::LipLower | Label::ContactUpper | Label::ContactLower => 1,
        Label::MouthBag => 2,
        Label::EyeSocket => 3,
        Label::Nostril => 4,
        _ => 0,
    };
    let mut part = PartMesh { name: "skin".into(), ..PartMesh::default() };
    part.positions = fine.points.iter().map(|p| *p * METERS).collect();
    for (wanted, name) in ["skin", "lips", "mouth_bag", "eye_socket", "nostril"].into_iter().enumerate() {
        part.groups.push((name, part.faces.len()));
        let chosen = fine.faces.iter().zip(&fine.labels).filter(|(_, l)| look(l.0) == wanted);
        chosen.for_each(|(f, _)| part.faces.push(f));
    }
    part
}

/// Every region with the labels of its faces.
const REGIONS: [(&str, &[Label]); 17] = [
    ("lips_upper", &[Label::LipUpper, Label::ContactUpper]),
    ("lips_lower", &[Label::LipLower, Label::ContactLower]),
    ("lids_upper_left", &[Label::LidUpper]),
    ("lids_lower_left", &[Label::LidLower]),
    ("eye_socket_left", &[Label::EyeSocket]),
    ("cheek_left", &[Label::Cheek, Label::Jaw, Label::OrbitLower]),
    ("jowl_left", &[Label::Jaw]),
    ("brow_left", &[Label::Brow, Label::OrbitUpper]),
    ("ear_left", &[Label::Ear]),
    ("nose", &[Label::Nose, Label::NoseCrease, Label::NostrilRim, Label::Nostril]),
    ("forehead", &[Label::Forehead]),
    ("chin", &[Label::Chin]),
    ("under_chin", &[Label::UnderChin]),
    ("around_mouth", &[Label::AroundMouth]),
    ("neck", &[Label::Neck, Label::UnderChin]),
    ("scalp", &[Label::Scalp]),
    ("mouth_bag", &[Label::MouthBag]),
];

fn regions(fine: &Cage) -> BTreeMap<String, Vec<u32>> {
    let mut regions: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (name, labels) in REGIONS {
        for (face, (label, side)) in fine.faces.iter().zip(&fine.labels) {
            if labels.contains(label) {
                let name = if *side == Side::Right { name.replace("left", "right") } else { name.into() };
                regions.entry(name).or_default().extend(face);
            }
        }
    }
    for vertices in regions.values_mut() {
        vertices.sort_unstable();
        vertices.dedup();
    }
    regions
}

/// Materials: name and linear color.
const LOOKS: [(&str, [f32; 3]); 11] = [
    ("skin", [0.62, 0.38, 0.27]),
    ("lips", [0.52, 0.22, 0.18]),
    ("mouth_bag", [0.42, 0.13, 0.11]),
    ("eye_socket", [0.55, 0.27, 0.22]),
    ("sclera", [0.8, 0.77, 0.74]),
    ("iris", [0.16, 0.09, 0.05]),
    ("pupil", [0.01, 0.01, 0.01]),
    ("teeth", [0.78, 0.72, 0.6]),
    ("gums", [0.45, 0.15, 0.13]),
    ("tongue", [0.5, 0.17, 0.15]),
    ("nostril", [0.4, 0.17, 0.12]),
];

/// The head as a rig without shapes, in meters. Vertices of the skin come first and keep their indices.
pub fn to_rig(head: &NeutralHead) -> Rig {
    let materials = LOOKS.map(|(name, [r, g, b])| Material {
        name: name.into(),
        base_color: [r, g, b, 1.0],
        metallic: 0.0,
        roughness: if name == "skin" { 0.6 } else { 0.35 },
        double_sided: false,
        image: None,
    });
    let material = |name: &str| LOOKS.iter().position(|l| l.0 == name);
    let mut raw = RawRig { name: "head".into(), materials: materials.to_vec(), ..RawRig::default() };
    for part in &head.parts {
        let group = |g: &(&'static str, usize)| FaceGroup {
            name: g.0.into(),
            first_face: g.1,
            material: material(g.0),
        };
        raw.parts.push(RawPart {
            name: part.name.clone(),
            positions: part.positions.iter().map(|p| p.as_vec3().to_array()).collect(),
            faces: part.faces.clone(),
            groups: part.groups.iter().map(group).collect(),
            ..RawPart::default()
        });
    }
    raw.parts[0].regions = head.regions.clone();
    for part in raw.parts.iter_mut().filter(|p| p.name.starts_with("teeth")) {
        part.regions.insert(part.name.clone(), (0..part.positions.len() as u32).collect());
    }
    assemble(raw, &RoleTable::default()).0
}
