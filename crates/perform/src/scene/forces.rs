//! Forces of a [`Scene`] at the nodes of a face's flesh.
//!
//! A force f at a skin vertex that is attached to its tet by weights w_j acts on the tet's nodes as `w_j f`,
//! because the vertex moves by `sum w_j u_j`. Where the skin has no flesh, or takes only a share of the
//! displacement ([`crate::skin_out`]), the bone bears the rest of the force. Wind needs area vectors of the
//! skin. They are those of the pose, interpolated linearly between frames; displacement by physics does not
//! change them.

use crate::error::PerformError;
use crate::head_path::Acceleration;
use crate::scene::model::{AIR, ExpressedIn, Scene};
use crate::skin_out::SkinOut;
use glam::{DMat3, DVec3, Vec3};
use risorius_anatomy::outer::OuterSkin;
use risorius_base::Rigid;
use risorius_flesh::Face;
use risorius_flesh::along_skin::areas;
use risorius_solve::TetAttachment;

/// The end of a step: its time, and the head at the start and the end of the step.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Time at the end of the step.
    pub time_secs: f64,
    /// `world_from_head` at the start and the end of the step.
    pub heads: [Rigid; 2],
    /// Length of the step, seconds.
    pub span_secs: f64,
    /// The frame in which forces are expressed: the head at the end of the step.
    pub head: Rigid,
    /// How the head accelerates over the step, as the flesh feels it.
    pub acceleration: Acceleration,
}

/// The forces of a scene, prepared for a face.
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
    /// Checks the scene and finds the nodes on which forces act.
    pub fn prepare(face: &'a Face, scene: &'a Scene, skin: &SkinOut) -> Result<Self, PerformError> {
        scene.check(face.rig.n_vertices())?;
        let fleshless =
            |region: &[u32]| region.iter().all(|&v| skin.attachment(v).tet == TetAttachment::NONE);
        for (what, factors) in [("stiffness", &scene.stiffness), ("mass", &scene.mass)] {
            if factors.iter().any(|factor| fleshless(&factor.vertices)) {
                let what = format!(
                    "a region with a factor on its {what} has no flesh under it; choose simulated skin"
                );
                return Err(PerformError::Scene { what });
            }
        }
        let shares = scene.forces.iter().enumerate().map(|(i, force)| {
            let shares = shares(face, skin, &force.vertices);
            if shares.is_empty() {
                let what = format!("force {i}: its region has no flesh under it; choose simulated skin");
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

    /// Area vectors of the skin exposed to wind, in m^2, in a pose of the rig given in file units.
    pub fn facing(&self, pose: &[[f32; 3]]) -> Vec<DVec3> {
        let area = |triangle: &Windward| {
            let [a, b, c] =
                triangle.corners.map(|v| self.si_from_file * Vec3::from(pose[v as usize]).as_dvec3());
            0.5 * (b - a).cross(c - a)
        };
        self.windward.iter().map(area).collect()
    }

    /// Adds wind and forces at a moment, expressed in the head frame, to the forces at the nodes. An empty
    /// list means no forces, and stays empty if none act.
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

/// The visible skin triangles that flesh moves.
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

/// The distribution of a force on a region over nodes, by the area around each vertex of the region.
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
