//! Forces of a [`Scene`] at the nodes of a face's flesh.
//!
//! A force f at a skin vertex that hangs on its tet by weights w_j acts on the tet's nodes by `w_j f`,
//! because the vertex moves by `sum w_j u_j`. Where the skin has no flesh, or only a share of its motion is
//! shown ([`crate::skin_out`]), the rest of the force is borne by bone. Wind asks for area vectors of the
//! skin, which are those of the pose and go straight between frames; what physics adds does not turn them.

use crate::error::PerformError;
use crate::scene::along_skin::areas;
use crate::scene::model::{AIR, ExpressedIn, Scene};
use crate::skin_out::SkinOut;
use glam::{DMat3, DVec3, Vec3};
use risorius_anatomy::outer::OuterSkin;
use risorius_base::Rigid;
use risorius_flesh::Face;
use risorius_solve::TetAttachment;

/// A step's end: when it is, and the head before and then.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The end of the step.
    pub time_secs: f64,
    /// `world_from_head` at its begin and end.
    pub heads: [Rigid; 2],
    /// How long it is.
    pub span_secs: f64,
    /// The head at the end is where forces are told in.
    pub head: Rigid,
}

/// A scene on a face.
pub struct Acting<'a> {
    scene: &'a Scene,
    face: &'a Face,
    si_from_file: DMat3,
    windward: Vec<Windward>,
    /// For each force of the scene, nodes and their shares of it.
    shares: Vec<Vec<(u32, f64)>>,
}

/// A visible triangle of skin.
struct Windward {
    corners: [u32; 3],
    attachments: [TetAttachment; 3],
    /// In the neutral.
    middle: DVec3,
}

impl<'a> Acting<'a> {
    /// Finds where forces act.
    pub fn prepare(face: &'a Face, scene: &'a Scene, skin: &SkinOut) -> Result<Self, PerformError> {
        scene.check(face.rig.n_vertices())?;
        let fleshless =
            |region: &[u32]| region.iter().all(|&v| skin.attachment(v).tet == TetAttachment::NONE);
        for (what, factors) in [("stiffness", &scene.stiffness), ("mass", &scene.mass)] {
            if factors.iter().any(|factor| fleshless(&factor.vertices)) {
                let what = format!("there is no flesh under a region that has a factor on its {what}");
                return Err(PerformError::Scene { what });
            }
        }
        let shares = scene.forces.iter().enumerate().map(|(i, force)| {
            let shares = shares(face, skin, &force.vertices);
            if shares.is_empty() {
                let what = format!("force {i}: there is no flesh under its region, so nothing would move");
                return Err(PerformError::Scene { what });
            }
            Ok(shares)
        });
        Ok(Self {
            si_from_file: face.rig.space.si_from_file(),
            windward: if scene.wind.is_empty() { Vec::new() } else { windward(face, skin) },
            shares: shares.collect::<Result<_, _>>()?,
            scene,
            face,
        })
    }

    /// Area vectors of the skin that wind can meet, in a pose of the rig in file units.
    pub fn facing(&self, pose: &[[f32; 3]]) -> Vec<DVec3> {
        let area = |triangle: &Windward| {
            let [a, b, c] =
                triangle.corners.map(|v| self.si_from_file * Vec3::from(pose[v as usize]).as_dvec3());
            0.5 * (b - a).cross(c - a)
        };
        self.windward.iter().map(area).collect()
    }

    /// Adds wind and forces at a moment, told in the head, to those at the nodes; empty forces are none, and
    /// stay so if none act.
    pub fn add_forces(&self, moment: &Moment, facing: &[DVec3], forces: &mut Vec<DVec3>) {
        let back = moment.head.rotation.inverse();
        let mut push = |node: u32, force: DVec3| {
            if forces.is_empty() {
                forces.resize(self.face.flesh.n_nodes(), DVec3::ZERO);
            }
            forces[node as usize] += force;
        };
        for (force, shares) in self.scene.forces.iter().zip(&self.shares) {
            let newtons = force.newtons.at(moment.time_secs).unwrap_or_default();
            let newtons = if force.expressed_in == ExpressedIn::World { back * newtons } else { newtons };
            if newtons != DVec3::ZERO {
                shares.iter().for_each(|&(node, share)| push(node, newtons * share));
            }
        }
        let Some(wind) = self.scene.wind.at(moment.time_secs) else { return };
        for (triangle, &area) in self.windward.iter().zip(facing) {
            let [before, after] = moment.heads.map(|head| head.apply(triangle.middle));
            let air = back * (wind - (after - before) / moment.span_secs);
            let Some(along) = air.try_normalize() else { continue };
            let facing = -area.dot(along);
            if facing <= 0.0 {
                continue;
            }
            let at_corner = along * (0.5 * AIR * air.length_squared() * facing / 3.0);
            for attachment in &triangle.attachments {
                let Some(tet) = self.face.flesh.tets.get(attachment.tet as usize) else { continue };
                tet.iter().zip(attachment.weights).for_each(|(&node, w)| push(node, at_corner * w));
            }
        }
    }
}

/// The visible skin that flesh moves.
fn windward(face: &Face, skin: &SkinOut) -> Vec<Windward> {
    let pieces = &face.anatomy.pieces;
    let one = |&corners: &[u32; 3]| {
        let attachments = corners.map(|v| skin.attachment(v));
        let middle = corners.iter().map(|&v| pieces.positions[v as usize]).sum::<DVec3>() / 3.0;
        let moves = attachments.iter().any(|a| a.tet != TetAttachment::NONE);
        moves.then_some(Windward { corners, attachments, middle })
    };
    OuterSkin::new(&pieces.positions, &pieces.skin).triangles.iter().filter_map(one).collect()
}

/// How a force on a region spreads over nodes: by the area around each of its vertices.
fn shares(face: &Face, skin: &SkinOut, region: &[u32]) -> Vec<(u32, f64)> {
    let areas = areas(&face.anatomy.pieces);
    let whole: f64 = region.iter().map(|&v| areas[v as usize]).sum();
    let mut nodes = vec![0.0; face.flesh.n_nodes()];
    for &v in region {
        let attachment = skin.attachment(v);
        let Some(tet) = face.flesh.tets.get(attachment.tet as usize) else { continue };
        let share = areas[v as usize] / whole;
        tet.iter().zip(attachment.weights).for_each(|(&node, w)| nodes[node as usize] += share * w);
    }
    (0..).zip(nodes).filter(|(_, share)| *share != 0.0).collect()
}
