//! Rigid motions of the jaw and of each eye in every shape of a rig, at weight 1.
//!
//! Lower teeth, or a lower jaw in the rig, determine the jaw's motion exactly, as the best-fit rigid motion
//! of their vertices (Procrustes). Without them it is estimated from the skin of the chin: the angle and
//! slides of the jaw joint that fit the chin in least squares (Gauss-Newton over three parameters). The chin
//! is soft, so this is done only for shapes named after the jaw, and for others whose chin moves far and
//! nearly as the joint would. The angle is never negative. Shapes that do not move the jaw give exactly the
//! identity.

use crate::find::FoundLandmark;
use crate::motions;
use crate::note::Note;
use crate::pieces::{PieceKind, Pieces};
use glam::{DMat3, DVec3};
use risorius_base::Rigid;
use risorius_head::bones::JawJoint;
use risorius_mesh::query::fit::fit_rigid;
use risorius_rig::Rig;
use risorius_rig::classify::names;
use risorius_rig::meters;

/// Displacements below this are rounding, not motion (meters).
const STILL: f64 = 2e-5;
/// Teeth that deform by more than this are reported (meters).
const BENT: f64 = 5e-4;
/// Radius around the chin's landmarks of the skin that is used (meters).
const CHIN: f64 = 0.022;

/// Motions of a rigid part, one per shape of the rig, with residuals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Motions {
    /// At weight 1; exactly the identity for shapes that do not move the part.
    pub motions: Vec<Rigid>,
    /// Root mean square distance of the moved vertices from the rigid motion, in meters.
    pub residuals: Vec<f64>,
}

/// The jaw's motion in each shape.
pub fn jaw(
    rig: &Rig,
    pieces: &Pieces,
    marks: &[FoundLandmark],
    joint: &JawJoint,
    notes: &mut Vec<Note>,
) -> Motions {
    let mut rigid = pieces.vertices(PieceKind::TeethLower);
    rigid.extend(pieces.vertices(PieceKind::Mandible));
    if rigid.len() >= 4 && (0..rig.shapes.len()).any(|s| moves(rig, s, &rigid)) {
        let found = of_vertices(rig, pieces, &rigid);
        for (shape, residual) in rig.shapes.iter().zip(&found.residuals).filter(|(_, r)| **r > BENT) {
            let what = format!("'{}' deforms the lower teeth by {:.1} mm", shape.name, 1000.0 * residual);
            notes.push(Note::new(what, "the best-fit rigid motion is used; sculpt teeth as rigid bodies"));
        }
        return found;
    }
    let what = if rigid.is_empty() { "the rig has no lower teeth" } else { "no shape moves the lower teeth" };
    let advice =
        "the jaw follows the chin's skin, which is less accurate; add lower teeth that move with the jaw";
    notes.push(Note::new(what, advice));
    let found = by_chin(rig, pieces, marks, joint);
    if found.motions.iter().all(|m| *m == Rigid::IDENTITY) {
        let what = "no shape moves the jaw";
        notes.push(Note::new(
            what,
            "name the shape that opens the mouth jawOpen, or add one; until then the jaw stays closed",
        ));
    }
    found
}

/// The jaw's motion at these strengths of the rig's shapes.
pub fn blend(motions: &[Rigid], strengths: &[f64], joint: &JawJoint) -> Rigid {
    let active = motions.iter().zip(strengths).filter(|(_, c)| **c != 0.0);
    Rigid::blend(active.map(|(motion, &c)| (*motion, c)), joint.center())
}

/// The motion of each eyeball in each shape; identities without eyeballs.
pub fn eyes(rig: &Rig, pieces: &Pieces) -> [Motions; 2] {
    [PieceKind::EyeLeft, PieceKind::EyeRight].map(|kind| of_vertices(rig, pieces, &pieces.vertices(kind)))
}

fn moves(rig: &Rig, shape: usize, vertices: &[u32]) -> bool {
    let moved = meters::displacements(rig, shape);
    vertices.iter().any(|&v| moved[v as usize].length() > STILL)
}

/// The best-fit rigid motion of `vertices` in each shape.
fn of_vertices(rig: &Rig, pieces: &Pieces, vertices: &[u32]) -> Motions {
    let rest: Vec<DVec3> = vertices.iter().map(|&v| pieces.positions[v as usize]).collect();
    let mut found = Motions::default();
    for s in 0..rig.shapes.len() {
        let moved = meters::displacements(rig, s);
        let still = vertices.iter().all(|&v| moved[v as usize].length() <= STILL);
        if still || rest.len() < 3 {
            found.motions.push(Rigid::IDENTITY);
            found.residuals.push(0.0);
            continue;
        }
        let posed: Vec<DVec3> = rest.iter().zip(vertices).map(|(p, &v)| *p + moved[v as usize]).collect();
        let motion = fit_rigid(&rest, &posed, &[]);
        found.residuals.push(miss(&motion, &rest, &posed));
        found.motions.push(motion);
    }
    found
}

/// Root mean square distance.
fn miss(motion: &Rigid, from: &[DVec3], to: &[DVec3]) -> f64 {
    let sum: f64 = from.iter().zip(to).map(|(&p, &q)| motion.apply(p).distance_squared(q)).sum();
    (sum / from.len().max(1) as f64).sqrt()
}

fn by_chin(rig: &Rig, pieces: &Pieces, marks: &[FoundLandmark], joint: &JawJoint) -> Motions {
    let named = |name: &str| marks.iter().find(|m| m.name == name).map(|m| m.position);
    let middle: Vec<DVec3> =
        ["pogonion", "gnathion", "chin_middle"].iter().filter_map(|n| named(n)).collect();
    let near = |p: DVec3| middle.iter().any(|m| m.distance(p) < CHIN);
    let in_chin =
        |v: &u32| pieces.kinds[*v as usize] == PieceKind::Skin && near(pieces.positions[*v as usize]);
    let mut chin: Vec<u32> = pieces.skin.iter().flatten().copied().filter(in_chin).collect();
    chin.sort_unstable();
    chin.dedup();
    let mut found = Motions::default();
    for s in 0..rig.shapes.len() {
        let (motion, residual) = chin_motion(rig, pieces, &chin, joint, s);
        found.motions.push(motion);
        found.residuals.push(residual);
    }
    found
}

/// The joint's motion that fits the chin in a shape; identity when the fit is poor.
fn chin_motion(rig: &Rig, pieces: &Pieces, chin: &[u32], joint: &JawJoint, shape: usize) -> (Rigid, f64) {
    let moved = meters::displacements(rig, shape);
    let from: Vec<DVec3> = chin.iter().map(|&v| pieces.positions[v as usize]).collect();
    let to: Vec<DVec3> = chin.iter().zip(&from).map(|(&v, p)| *p + moved[v as usize]).collect();
    let length = miss(&Rigid::IDENTITY, &from, &to);
    let key = names::key(&rig.shapes[shape].name);
    let of_jaw = key.base.starts_with("jaw") || motions::is_synonym("jawopen", &key.base);
    let (least, most_part) = if of_jaw { (0.0005, 0.6) } else { (0.003, 0.3) };
    if from.len() < 3 || length < least {
        return (Rigid::IDENTITY, 0.0);
    }
    let motion = fit_joint(joint, &from, &to);
    let residual = miss(&motion, &from, &to);
    if residual > most_part * length { (Rigid::IDENTITY, 0.0) } else { (motion, residual) }
}

/// The least-squares angle and slides of the joint; the angle is not negative.
fn fit_joint(joint: &JawJoint, from: &[DVec3], to: &[DVec3]) -> Rigid {
    let motion = |p: DVec3| joint.motion(p.x, [p.y, p.z]);
    let steps = DVec3::new(1e-4, 1e-3, 1e-3);
    let mut params = DVec3::ZERO;
    for _ in 0..12 {
        let here = motion(params);
        let ahead = [0, 1, 2].map(|k| {
            let mut p = params;
            p[k] += steps[k];
            motion(p)
        });
        let (mut normal, mut right) = (DMat3::ZERO, DVec3::ZERO);
        for (&p, &q) in from.iter().zip(to) {
            let at = here.apply(p);
            let columns = [0, 1, 2].map(|k| (ahead[k].apply(p) - at) / steps[k]);
            for a in 0..3 {
                right[a] += columns[a].dot(q - at);
                for b in 0..3 {
                    normal.col_mut(b)[a] += columns[a].dot(columns[b]);
                }
            }
        }
        // The chin hardly determines the difference of the two slides; regularization keeps them small and
        // similar.
        let ridge = 1e-3 * (normal.col(1)[1] + normal.col(2)[2]);
        normal.col_mut(1)[1] += ridge;
        normal.col_mut(2)[2] += ridge;
        right.y -= ridge * params.y;
        right.z -= ridge * params.z;
        let step = normal.inverse() * right;
        if !step.is_finite() {
            break;
        }
        params += step;
        params.x = params.x.clamp(0.0, 0.8);
        params.y = params.y.clamp(-0.3, 1.5);
        params.z = params.z.clamp(-0.3, 1.5);
    }
    motion(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;
    use risorius_rig::{Deltas, Role, Shape};

    fn joint() -> JawJoint {
        let condyles = [1.0, -1.0].map(|s| DVec3::new(s * 0.05, 0.0, 0.0));
        JawJoint { condyles, track: DVec3::new(0.0, -0.6, 0.8), track_length: 0.012 }
    }

    /// A rig of points with one moving shape, and its pieces.
    fn moved(points: &[DVec3], kind: PieceKind, name: &str, motion: &Rigid) -> (Rig, Pieces) {
        let offsets = points.iter().map(|&p| (motion.apply(p) - p).as_vec3().to_array()).collect();
        let deltas = Deltas { vertices: (0..points.len() as u32).collect(), offsets };
        let still = Shape { name: "still".into(), role: Role::Slider(1), deltas: Deltas::default() };
        let rig = Rig {
            neutral: points.iter().map(|p| p.as_vec3().to_array()).collect(),
            shapes: vec![Shape { name: name.into(), role: Role::Slider(0), deltas }, still],
            ..Rig::default()
        };
        let triangles = (2..points.len() as u32).map(|v| [v - 2, v - 1, v]).collect();
        let pieces = Pieces {
            kinds: vec![kind; points.len()],
            positions: points.to_vec(),
            skin: triangles,
            ..Pieces::default()
        };
        (rig, pieces)
    }

    fn chin() -> Vec<DVec3> {
        let at = |i: usize, k: f64| 0.012 * (i as f64 * k).sin();
        (0..30).map(|i| DVec3::new(at(i, 1.7), -0.08 + at(i, 2.3), 0.09 + 0.3 * at(i, 3.1))).collect()
    }

    fn marks() -> Vec<FoundLandmark> {
        let mark = |name| FoundLandmark {
            name,
            position: DVec3::new(0.0, -0.08, 0.09),
            vertex: 0,
            triangle: [0, 1, 2],
            barycentric: [1.0, 0.0, 0.0],
            confidence: 0.9,
            source: "test".into(),
        };
        vec![mark("pogonion"), mark("gnathion")]
    }

    #[test]
    fn teeth_give_the_motion_exactly_and_still_shapes_are_identity() {
        let truth = Rigid::about(DVec3::new(0.0, 0.01, -0.02), DQuat::from_rotation_x(0.3));
        let (rig, pieces) = moved(&chin(), PieceKind::TeethLower, "anything", &truth);
        let mut notes = Vec::new();
        let found = jaw(&rig, &pieces, &marks(), &joint(), &mut notes);
        for p in chin() {
            assert!(found.motions[0].apply(p).distance(truth.apply(p)) < 1e-7);
        }
        assert_eq!(found.motions[1], Rigid::IDENTITY);
        assert!(found.residuals[0] < 1e-7 && notes.is_empty());
    }

    #[test]
    fn the_chin_gives_angle_and_slide_of_shapes_named_after_the_jaw() {
        let truth = joint().motion(0.35, [0.6, 0.6]);
        let (rig, pieces) = moved(&chin(), PieceKind::Skin, "jawOpen", &truth);
        let found = jaw(&rig, &pieces, &marks(), &joint(), &mut Vec::new());
        for p in chin() {
            assert!(found.motions[0].apply(p).distance(truth.apply(p)) < 1e-3);
        }
        // Raising the chin's skin cannot close a closed jaw, and small motion in a smile does not open it.
        let up = Rigid { translation: DVec3::new(0.0, 0.006, 0.001), ..Rigid::IDENTITY };
        let aside = Rigid { translation: DVec3::new(0.002, -0.001, 0.0), ..Rigid::IDENTITY };
        for (name, motion) in [("mouthShrugLower", up), ("mouthSmileLeft", aside)] {
            let (rig, pieces) = moved(&chin(), PieceKind::Skin, name, &motion);
            assert_eq!(
                jaw(&rig, &pieces, &marks(), &joint(), &mut Vec::new()).motions[0],
                Rigid::IDENTITY,
                "{name}"
            );
        }
    }
}
