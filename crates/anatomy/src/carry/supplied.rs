//! Bones supplied by the user: checked against the head, then used unchanged.

use crate::error::AnatomyError;
use crate::note::Note;
use crate::outer::OuterSkin;
use glam::DVec3;
use risorius_head::bones::Bones;
use risorius_mesh::TriMesh;

/// Surfaces in meters, +Y up, +Z front, at their final position.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Supplied {
    /// Skull without the jaw.
    pub cranium: Option<TriMesh>,
    /// Lower jaw.
    pub mandible: Option<TriMesh>,
    /// Upper teeth.
    pub teeth_upper: Option<TriMesh>,
    /// Lower teeth.
    pub teeth_lower: Option<TriMesh>,
}

/// Scale factors that indicate a wrong unit, and the advice for each.
const MIXED: [(f64, &str); 7] = [
    (0.001, "it seems to be in mm: set its unit when it is read"),
    (0.01, "it seems to be in cm: set its unit when it is read"),
    (0.0254, "it seems to be in inches: set its unit when it is read"),
    (0.1, "its mm were read as cm, or its cm as dm: set its unit when it is read"),
    (10.0, "its cm were read as mm: set its unit when it is read"),
    (2.54, "its inches were read as cm: set its unit when it is read"),
    (1.0 / 2.54, "its cm were read as inches: set its unit when it is read"),
];

/// Replaces transferred bones and teeth by supplied ones.
pub fn place(
    supplied: &Supplied,
    bones: &mut Bones,
    teeth: &mut [TriMesh; 2],
    skin: &OuterSkin,
    notes: &mut Vec<Note>,
) -> Result<(), AnatomyError> {
    let [upper, lower] = teeth;
    for (name, given, place) in [
        ("cranium", &supplied.cranium, &mut bones.cranium),
        ("mandible", &supplied.mandible, &mut bones.mandible),
        ("upper teeth", &supplied.teeth_upper, upper),
        ("lower teeth", &supplied.teeth_lower, lower),
    ] {
        let Some(given) = given else { continue };
        check(name, given, place, skin, notes)?;
        *place = given.clone();
    }
    Ok(())
}

/// Checks size, position and the share outside the skin against the transferred bone.
fn check(
    bone: &'static str,
    given: &TriMesh,
    carried: &TriMesh,
    skin: &OuterSkin,
    notes: &mut Vec<Note>,
) -> Result<(), AnatomyError> {
    let fail = |reason: String, advice: &str| {
        Err(AnatomyError::SuppliedBone { bone, reason, advice: advice.into() })
    };
    let n = given.positions.len() as u32;
    if given.triangles.is_empty() || given.triangles.iter().flatten().any(|&v| v >= n) {
        return fail("it has no triangles, or triangles without vertices".into(), "give a triangle mesh");
    }
    if given.positions.iter().any(|p| !p.is_finite()) {
        return fail("it has vertices that are not finite".into(), "repair the file");
    }
    let (center, size) = extent(given);
    let (expected, expected_size) =
        if carried.positions.is_empty() { (center, size) } else { extent(carried) };
    let ratio = size / expected_size;
    if !(0.4..2.5).contains(&ratio) {
        let mixed = MIXED.iter().find(|(factor, _)| (ratio * factor).ln().abs() < 0.25);
        let advice = mixed.map_or(format!("scale it by about {:.2}", 1.0 / ratio), |m| m.1.to_string());
        let reason = format!("its size is {size:.2} m, but {expected_size:.2} m is expected");
        return Err(AnatomyError::SuppliedBone { bone, reason, advice });
    }
    let away = center.distance(expected);
    if away > 0.5 * expected_size {
        let reason = format!("its center is {:.0} mm from the expected position", 1000.0 * away);
        return fail(reason, "move it to its position in the rig's head, with the same axes");
    }
    let outside = given.positions.iter().filter(|p| skin.depth(**p, 0.05).is_some_and(|d| d.0 < 0.0)).count();
    let part = outside as f64 / given.positions.len() as f64;
    if part > 0.25 {
        let reason = format!("{:.0} % of its vertices lie outside the skin", 100.0 * part);
        return fail(reason, "scale and move it inside the skin, or leave it out to use the built-in one");
    }
    if outside > 0 {
        let what = format!(
            "{outside} of {} vertices of the given {bone} lie outside the skin",
            given.positions.len()
        );
        notes.push(Note::new(what, "no flesh can be built there; scale or move the bone a little"));
    }
    Ok(())
}

/// Center and diagonal of the bounding box of a surface.
fn extent(surface: &TriMesh) -> (DVec3, f64) {
    let fold = |(lo, hi): (DVec3, DVec3), p: &DVec3| (lo.min(*p), hi.max(*p));
    let (lo, hi) = surface.positions.iter().fold((DVec3::MAX, DVec3::MIN), fold);
    ((lo + hi) / 2.0, (hi - lo).length())
}
