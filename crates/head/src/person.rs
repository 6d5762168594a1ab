//! Assembly of the built-in head: a complete procedural person, and variations of it.
//!
//! Skin, bones and muscles are warped by the [`Identity`]; the shapes are then built on the warped skin.
//! Around each eye the warp blends into a translation, so that eyeballs stay round.

use crate::bones::{Bones, built_in_bones};
use crate::muscles::built_in_muscles;
use crate::shapes;
use crate::skin::{self, NeutralHead, PartMesh};
use glam::DVec3;
use risorius_base::ease::smoothstep;
use risorius_mesh::VertexNormals;
use risorius_muscle::Muscle;
use risorius_rig::Rig;

/// How a person differs from the average; 0 is average, -1 and 1 are the extremes of common faces.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Identity {
    /// Breadth of head and face.
    pub width: f64,
    /// Height of the face from brow to chin.
    pub length: f64,
    /// Size of the nose.
    pub nose: f64,
    /// Breadth and strength of jaw and chin.
    pub jaw: f64,
    /// Protrusion of the brow.
    pub brow: f64,
    /// Thickness of the soft tissue, mostly in cheeks, chin and neck.
    pub fat: f64,
}

/// A person: skin with shapes, bones and muscles, all in meters, +Y up, +Z front, +X the character's
/// left, origin midway between the condyles.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// Parts `skin`, `eye_left`, `eye_right`, `teeth_upper`, `teeth_lower`, `gums_upper`, `gums_lower`,
    /// `tongue`; 52 ARKit shapes and visemes; regions `lips_upper`, `lips_lower`, `lids_left` ...
    pub rig: Rig,
    /// Skull and jaw.
    pub bones: Bones,
    /// The facial muscles.
    pub muscles: Vec<Muscle>,
    /// Positions in the order of [`crate::landmarks::NAMES`]; all lie on the skin.
    pub landmarks: Vec<DVec3>,
}

/// A person with shapes, skull, jaw and muscles: the average for `Identity::default()`. Takes a second or
/// two.
///
/// Shapes are rebuilt on each person's skin, so lids close and teeth stay rigid for every identity.
pub fn build(identity: &Identity) -> Head {
    let neutral = related(skin::neutral(), identity);
    let mut bones = built_in_bones();
    let warp = |p: &mut DVec3| *p = identity.warp(*p);
    bones.cranium.positions.iter_mut().for_each(warp);
    bones.mandible.positions.iter_mut().for_each(warp);
    bones.joint.condyles.iter_mut().for_each(warp);
    let mut muscles = built_in_muscles();
    muscles.iter_mut().for_each(|m| m.solid.control.iter_mut().for_each(warp));
    let mut rig = skin::to_rig(&neutral);
    shapes::add_to(&mut rig, &neutral, &bones.joint);
    let landmarks = neutral.landmarks.iter().map(|&v| neutral.parts[0].positions[v as usize]).collect();
    Head { rig, bones, muscles, landmarks }
}

/// The neutral of a person alone, in the vertex order of the rig; much faster than [`build`].
pub fn neutral_positions(identity: &Identity) -> Vec<DVec3> {
    related(skin::neutral(), identity).parts.into_iter().flat_map(|part| part.positions).collect()
}

/// Distances from each eye's center, in meters, between which the translation near the eye blends into the
/// warp. Eyeballs stay round and lids keep resting on them.
const EYE: [f64; 2] = [0.016, 0.032];

/// The neutral head with another identity.
fn related(mut head: NeutralHead, identity: &Identity) -> NeutralHead {
    if *identity == Identity::default() {
        return head;
    }
    let moves = head.eyes.map(|eye| identity.warp(eye.center) - eye.center);
    let eyes = head.eyes;
    let place = |p: DVec3, warped: DVec3| {
        let side = usize::from(p.x < 0.0);
        let t = ((p.distance(eyes[side].center) - EYE[0]) / (EYE[1] - EYE[0])).clamp(0.0, 1.0);
        (p + moves[side]).lerp(warped, smoothstep(t))
    };
    for part in &mut head.parts {
        let normals = part_normals(part);
        let thick = part.name == "skin";
        for (p, normal) in part.positions.iter_mut().zip(normals) {
            let grown = if thick { identity.thicken(*p, normal) } else { *p };
            *p = place(*p, identity.warp(grown));
        }
    }
    // Normals are symmetric up to rounding; the skin must be symmetric to the bit.
    let (skin, mirror) = (&mut head.parts[0].positions, &head.mirror);
    let flip = |p: DVec3| DVec3::new(-p.x, p.y, p.z);
    for v in 0..skin.len() {
        let m = mirror[v] as usize;
        if m >= v {
            skin[v] = 0.5 * (skin[v] + flip(skin[m]));
            skin[m] = if m == v { DVec3::new(0.0, skin[v].y, skin[v].z) } else { flip(skin[v]) };
        }
    }
    head.eyes.iter_mut().zip(moves).for_each(|(eye, by)| eye.center += by);
    head
}

fn part_normals(part: &PartMesh) -> Vec<DVec3> {
    let flat: Vec<[f32; 3]> = part.positions.iter().map(|p| p.as_vec3().to_array()).collect();
    let normals = VertexNormals::prepare(flat.len(), &part.faces.triangulated()).compute(&flat);
    normals.into_iter().map(|n| glam::Vec3::from(n).as_dvec3()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_rig::classify::names::ARKIT;

    #[test]
    fn a_relative_has_all_shapes_and_round_eyes() {
        let identity = Identity { width: 1.0, length: -1.0, jaw: 0.7, nose: 1.0, brow: 1.0, fat: 1.0 };
        let head = build(&identity);
        assert!(ARKIT.iter().all(|name| head.rig.slider_index(name).is_some()));
        assert!(head.rig.neutral.iter().flatten().all(|x| x.is_finite()));
        let neutral = related(skin::neutral(), &identity);
        for (eye, part) in neutral.eyes.iter().zip(&neutral.parts[1..3]) {
            let radii = part.positions.iter().map(|p| p.distance(eye.center));
            assert!(radii.clone().fold(f64::INFINITY, f64::min) > eye.radius - 1e-6);
            assert!(radii.fold(0.0, f64::max) < eye.radius + 1.1e-3);
        }
        let symmetric = neutral.parts[0].positions.iter().zip(&neutral.mirror).all(|(p, &m)| {
            let q = neutral.parts[0].positions[m as usize];
            *p == DVec3::new(-q.x, q.y, q.z)
        });
        assert!(symmetric, "a relative is as symmetric as the average");
    }
}
