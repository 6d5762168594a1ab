//! Poses of a face by its muscles: activations and the jaw to an equilibrium of the flesh [Cong16, sec. 3].
//!
//! [`MuscleModel::prepare`] finds the part of every tet that each muscle fills and makes the flesh of
//! [`risorius_solve::energy::muscle`] with the stiffness that the face has. Nodes on the skull and at the
//! border of the flesh stay, nodes on the jaw move with it ([`jaw`]); everything else is free. The skin is
//! the artist's neutral plus the displacement of the flesh: without activation and with a closed jaw it is
//! the neutral, to the bit. The scalp slides on the skull. Lower teeth, their gums and the tongue follow the
//! jaw. Lips, lids and teeth collide as in the other methods ([`crate::collision_pairs`]), with the overlap
//! that the neutral has.
//!
//! Muscles can also lead: springs drag their flesh along tracks ([`lead`]; [Cong16, sec. 4]). From far away
//! the springs are stiffened in stages, because flesh that keeps its volume cannot follow at once.
//!
//! Muscles are named as in Terminologia Anatomica, with `_L` and `_R` for the character's left and right.
//!
//! Limits: the jaw is moved by its joint, not by the muscles of mastication; their activation tenses them
//! only. Muscles outside the flesh pull nothing ([`MuscleModel::problems`] tells them).

pub mod edit;
pub mod inverse;
pub mod jaw;
pub mod landmarks;
pub mod lead;
mod names;
pub mod play;
pub mod shapes;
pub mod target;

pub use jaw::JawPose;
pub use lead::Lead;
pub use names::{find_muscle, short_name};

use crate::collision_pairs::{ContactMode, ContactSurface, touch_options};
use crate::error::PerformError;
use crate::skin_out::SkinOut;
use glam::DVec3;
use lead::LeadSprings;
use risorius_anatomy::PieceKind;
use risorius_base::{Progress, Rigid};
use risorius_flesh::{Bound, Face};
use risorius_mesh::query::winding::WindingNumbers;
use risorius_mesh::tet::embed::{EmbedOptions, Embedding};
use risorius_mesh::{TetMesh, TriMesh};
use risorius_muscle::{MuscleProblem, Overlap, check, overlap};
use risorius_rig::Evaluator;
use risorius_solve::statics::ROUNDS;
use risorius_solve::{
    Acting, Energy, Fiber, Fibers, MuscleTissue, SolveError, SolveOptions, Springs, Statics, StaticsReport,
};
use std::sync::Arc;

/// Shares of their stiffness that springs to tracks have in the stages of a solve from the neutral.
const STIFFENING: [f64; 3] = [0.01, 0.1, 1.0];

/// Options of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MuscleOptions {
    /// Factor on the stiffness of the flesh, positive. Default 1.
    pub stiffness: f64,
    /// Greatest isometric stress of muscles, Pa, positive. Default 3e5 [Blemker05, table 1].
    pub strength: f64,
    /// Bulk modulus in multiples of the shear modulus, at least 1. Default 10, a Poisson's ratio of 0.45:
    /// elements of four nodes lock if they are less compressible. Muscle adds its strength to it.
    pub bulk: f64,
    /// How contacts of lips, lids and teeth are enforced.
    pub contact: ContactMode,
    /// When a solve stops.
    pub solve: SolveOptions,
}

impl Default for MuscleOptions {
    fn default() -> Self {
        Self {
            stiffness: 1.0,
            strength: 3e5,
            bulk: 10.0,
            contact: ContactMode::default(),
            solve: SolveOptions {
                force_tolerance: 2e-5,
                step_tolerance: 2e-6,
                max_iterations: 40,
                ..SolveOptions::default()
            },
        }
    }
}

impl MuscleOptions {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), PerformError> {
        let checks: [(&'static [&'static str], _, _, _, _); 3] = [
            (&["stiffness"], "the factor on stiffness", self.stiffness, self.stiffness > 0.0, "positive"),
            (&["strength"], "the strength of muscles", self.strength, self.strength > 0.0, "positive, in Pa"),
            (&["bulk"], "the bulk modulus over the shear modulus", self.bulk, self.bulk >= 1.0, "1 or more"),
        ];
        for (option, what, value, fine, wanted) in checks {
            if !(fine && value.is_finite()) {
                return Err(PerformError::Option { what, option, value, wanted });
            }
        }
        Ok(())
    }
}

/// The parameters of a pose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Controls {
    /// Activation of each muscle, 0 to 1.
    pub activations: Vec<f64>,
    /// The jaw.
    pub jaw: JawPose,
    /// Where muscles lead; nowhere by default.
    pub lead: Lead,
}

/// A pose of the flesh.
#[derive(Debug, Clone, PartialEq)]
pub struct MusclePose {
    /// What made it.
    pub controls: Controls,
    /// Positions of the nodes, meters.
    pub nodes: Vec<DVec3>,
    /// The solve.
    pub report: StaticsReport,
}

/// Where the search for a pose starts.
#[derive(Debug, Clone, Copy)]
pub struct Start<'n> {
    /// Positions of the nodes, meters.
    pub nodes: &'n [DVec3],
    /// The jaw there.
    pub jaw: JawPose,
}

impl MusclePose {
    /// As the start of a search.
    pub fn as_start(&self) -> Start<'_> {
        Start { nodes: &self.nodes, jaw: self.controls.jaw }
    }
}

/// A face whose muscles can act.
pub struct MuscleModel<'a> {
    face: &'a Face,
    /// Names of the muscles, with `_L` and `_R`.
    pub names: Vec<String>,
    /// Muscles that cannot pull as they should, and why.
    pub problems: Vec<(usize, MuscleProblem)>,
    /// The parts of tets that muscles fill.
    pub overlap: Overlap,
    options: MuscleOptions,
    /// Without activation.
    tissue: MuscleTissue,
    statics: Statics,
    springs: LeadSprings,
    contacts: ContactSurface,
    skin: SkinOut<'a>,
    /// The neutral, in file units.
    neutral: Vec<[f32; 3]>,
    /// Rig vertices that follow the jaw.
    with_jaw: Vec<u32>,
    /// Control points of all muscles in the flesh.
    control: Embedding,
}

impl<'a> MuscleModel<'a> {
    /// Prepares a face.
    pub fn prepare(face: &'a Face, options: &MuscleOptions) -> Result<Self, PerformError> {
        options.check()?;
        let muscles = &face.anatomy.muscles;
        if muscles.is_empty() {
            return Err(PerformError::NoMuscles);
        }
        let mesh = face.flesh.mesh();
        let overlap = overlap(&mesh, muscles);
        let bones = [&face.anatomy.bones.cranium, &face.anatomy.bones.mandible].map(WindingNumbers::of);
        let problems = check::check(muscles, &overlap, |p| bones.iter().any(|bone| bone.at(p) > 0.5));
        let sliding = lead::sliding_nodes(face);
        let held = held_nodes(face, &sliding);
        let springs = LeadSprings::prepare(face, &mesh, &sliding);
        let tissue = tissue(face, options, &overlap, &held).map_err(failed)?;
        let evaluator = Evaluator::prepare(&face.rig);
        let neutral = evaluator.positions(&vec![0.0; face.rig.sliders.len()]);
        let skin = SkinOut::prepare(face);
        let touch = (touch_options(options.contact, 0.0), 0.0);
        let contacts = ContactSurface::prepare(face, &evaluator, &skin, touch, &[], false).map_err(failed)?;
        let surface = contacts.surface(&neutral, &Rigid::IDENTITY);
        let elements = tissue.stencils();
        let statics = Statics::prepare(&mesh, elements, &springs.stencils(), &held, &contacts.touch, surface)
            .map_err(failed)?;
        let control: Vec<DVec3> = muscles.iter().flat_map(|m| m.solid.control.iter().copied()).collect();
        Ok(Self {
            control: Embedding::prepare(&mesh, &control, &EmbedOptions::default(), |_, _| true),
            names: muscles.iter().map(|m| short_name(&m.name)).collect(),
            springs,
            with_jaw: with_jaw(face),
            options: *options,
            face,
            problems,
            overlap,
            tissue,
            statics,
            contacts,
            skin,
            neutral,
        })
    }

    /// The face.
    pub fn face(&self) -> &'a Face {
        self.face
    }

    /// Nothing active, the jaw closed.
    pub fn relaxed(&self) -> Controls {
        Controls { activations: vec![0.0; self.names.len()], ..Controls::default() }
    }

    /// The equilibrium for some controls, searched from `start`, or from the neutral. The jaw gets there in
    /// strides, so that lips and teeth stay on their sides; then springs to tracks are stiffened in stages.
    pub fn pose(
        &self,
        controls: &Controls,
        start: Option<Start>,
        progress: &Progress,
    ) -> Result<MusclePose, PerformError> {
        self.pose_in(controls, start, None, ROUNDS, progress)
    }

    /// As [`Self::pose`], with at most `rounds` rounds of contact detection, and with inertia: for each node
    /// where it would fly in a time step, and mass over its square.
    fn pose_in(
        &self,
        controls: &Controls,
        start: Option<Start>,
        flights: Option<&[(DVec3, f64)]>,
        rounds: usize,
        progress: &Progress,
    ) -> Result<MusclePose, PerformError> {
        self.check(controls)?;
        let far = start.is_none();
        let Start { nodes, jaw: from } =
            start.unwrap_or_else(|| Start { nodes: self.statics.rest(), jaw: JawPose::default() });
        let mut nodes = nodes.to_vec();
        let mut report = StaticsReport::default();
        let strides = from.strides_to(&controls.jaw);
        for jaw in strides.iter().take(strides.len() - 1) {
            let between = Controls { jaw: *jaw, ..controls.clone() };
            let springs =
                self.springs.at(&between.lead, STIFFENING[0], &self.jaw(&between), None).map_err(failed)?;
            report = after(report, self.solve(&between, &springs, 1, &mut nodes, progress)?);
        }
        let motion = self.jaw(controls);
        let stages: &[f64] = match controls.lead.is_active() && far {
            true => &STIFFENING,
            false => &[1.0],
        };
        for (k, &strength) in stages.iter().enumerate() {
            let springs = self.springs.at(&controls.lead, strength, &motion, flights).map_err(failed)?;
            let rounds = if k + 1 == stages.len() { rounds } else { 1 };
            report = after(report, self.solve(controls, &springs, rounds, &mut nodes, progress)?);
        }
        Ok(MusclePose { controls: controls.clone(), nodes, report })
    }

    /// Moves `nodes` to the equilibrium with some springs, in at most `rounds` rounds of contact detection.
    fn solve(
        &self,
        controls: &Controls,
        springs: &Springs,
        rounds: usize,
        nodes: &mut Vec<DVec3>,
        progress: &Progress,
    ) -> Result<StaticsReport, PerformError> {
        let tissue = self.tissue_at(controls)?;
        let surface = self.surface(controls);
        let acting = Acting { energy: &tissue, springs, surface: &surface };
        let (places, options) = (self.places(controls), &self.options.solve);
        let solved = self.statics.solve_in(&acting, &places, nodes, (options, rounds), progress);
        solved.map_err(|source| match source {
            SolveError::Cancelled(cancelled) => PerformError::Cancelled(cancelled),
            SolveError::BonesFold => PerformError::JawFolds { open_deg: controls.jaw.open_deg },
            source => failed(source),
        })
    }

    /// Refuses controls out of range.
    fn check(&self, controls: &Controls) -> Result<(), PerformError> {
        if controls.activations.len() != self.names.len() {
            let (got, wanted) = (controls.activations.len(), self.names.len());
            return Err(failed(SolveError::Length { what: "activations", got, wanted }));
        }
        let bad = |(_, a): &(usize, &f64)| !(0.0..=1.0).contains(*a);
        if let Some((muscle, &value)) = controls.activations.iter().enumerate().find(bad) {
            return Err(PerformError::Activation { muscle: self.names[muscle].clone(), value });
        }
        if controls.lead.is_active() {
            let lead = &controls.lead;
            let n_points = self.control.len();
            for (what, got, wanted) in [
                ("control points of tracks", lead.to.len(), n_points),
                ("shares of tracks", lead.shares.len(), self.names.len()),
            ] {
                if got != wanted {
                    return Err(failed(SolveError::Length { what, got, wanted }));
                }
            }
        }
        controls.jaw.check()
    }

    fn tissue_at(&self, controls: &Controls) -> Result<MuscleTissue, PerformError> {
        let activated = self.tissue.clone().activated(&controls.activations);
        activated.map_err(failed)
    }

    /// Energy of the flesh, joules.
    fn elastic(&self, controls: &Controls, nodes: &[DVec3]) -> f64 {
        let Ok(tissue) = self.tissue_at(controls) else { return 0.0 };
        let n = tissue.stencils().len();
        let mut values = vec![0.0; n];
        tissue.values(nodes, 0..n, &mut values);
        values.iter().sum()
    }

    /// The motion of the jaw.
    pub fn jaw(&self, controls: &Controls) -> Rigid {
        controls.jaw.motion(&self.face.anatomy.bones.joint)
    }

    /// Where held nodes are; the others at rest.
    fn places(&self, controls: &Controls) -> Vec<DVec3> {
        let (jaw, flesh) = (self.jaw(controls), &self.face.flesh);
        let place = |(n, &p): (usize, &DVec3)| match flesh.bound(n) {
            Bound::Mandible => jaw.apply(p),
            _ => p,
        };
        self.statics.rest().iter().enumerate().map(place).collect()
    }

    /// The rig in its neutral with everything in place that follows the jaw rigidly, in file units.
    fn rigid_pose(&self, controls: &Controls) -> Vec<[f32; 3]> {
        let mut pose = self.neutral.clone();
        let jaw = self.jaw(controls);
        if jaw != Rigid::IDENTITY {
            let space = &self.face.rig.space;
            let (si, file) = (space.si_from_file(), space.file_from_si());
            for &v in &self.with_jaw {
                let p = si * glam::Vec3::from(pose[v as usize]).as_dvec3();
                pose[v as usize] = (file * jaw.apply(p)).as_vec3().to_array();
            }
        }
        pose
    }

    /// The points that can touch, without displacement by the flesh.
    fn surface(&self, controls: &Controls) -> Vec<DVec3> {
        self.contacts.surface(&self.rigid_pose(controls), &self.jaw(controls))
    }

    /// The artist's vertices in a pose, in file units.
    pub fn skin(&self, pose: &MusclePose) -> Vec<[f32; 3]> {
        let mut vertices = self.rigid_pose(&pose.controls);
        self.skin.add(&self.offsets(pose), &mut vertices);
        vertices
    }

    fn offsets(&self, pose: &MusclePose) -> Vec<DVec3> {
        pose.nodes.iter().zip(self.statics.rest()).map(|(x, rest)| *x - *rest).collect()
    }

    /// How far the skin that follows the flesh moved, mean and largest, mm.
    pub fn moved_mm(&self, pose: &MusclePose) -> [f64; 2] {
        let moved = self.skin.add(&self.offsets(pose), &mut self.neutral.clone());
        [moved.mean_mm, moved.max_mm]
    }

    /// Stress (Pa) and mean stretch along the fibers of each muscle in a pose.
    pub fn tensions(&self, pose: &MusclePose) -> Result<Vec<[f64; 2]>, PerformError> {
        Ok(self.tissue_at(&pose.controls)?.tensions(&pose.nodes))
    }

    /// Volume of the flesh in a pose over that at rest.
    pub fn volume_ratio(&self, pose: &MusclePose) -> f64 {
        let mut mesh = self.face.flesh.mesh();
        let rest: f64 = mesh.volumes().iter().sum();
        mesh.nodes.clone_from(&pose.nodes);
        mesh.volumes().iter().sum::<f64>() / rest
    }

    /// The displacements of the control points of all muscles for those of the nodes, meters.
    fn control_offsets(&self, node_offsets: &[DVec3]) -> Vec<DVec3> {
        self.control.apply(node_offsets)
    }

    /// The control points of all muscles in a pose, muscle by muscle, meters.
    pub fn control_points(&self, pose: &MusclePose) -> Vec<Vec<DVec3>> {
        let mut moved = self.control_offsets(&self.offsets(pose)).into_iter();
        let muscle = |m: &risorius_muscle::Muscle| {
            m.solid.control.iter().zip(&mut moved).map(|(p, d)| *p + d).collect()
        };
        self.face.anatomy.muscles.iter().map(muscle).collect()
    }

    /// The jaw bone in a pose, meters.
    pub fn mandible(&self, pose: &MusclePose) -> TriMesh {
        let jaw = self.jaw(&pose.controls);
        let bone = &self.face.anatomy.bones.mandible;
        TriMesh {
            positions: bone.positions.iter().map(|&p| jaw.apply(p)).collect(),
            triangles: bone.triangles.clone(),
        }
    }
}

/// A solve after another: counts are added.
fn after(earlier: StaticsReport, solved: StaticsReport) -> StaticsReport {
    StaticsReport {
        iterations: earlier.iterations + solved.iterations,
        rounds: earlier.rounds + solved.rounds,
        stages: earlier.stages + solved.stages,
        ..solved
    }
}

fn failed(source: SolveError) -> PerformError {
    PerformError::Muscles { source }
}

/// Nodes on skull, jaw and border but those that slide, and components of the flesh that none of them holds.
fn held_nodes(face: &Face, sliding: &[bool]) -> Vec<bool> {
    let flesh = &face.flesh;
    let fixed: Vec<bool> = (0..flesh.n_nodes()).map(|n| flesh.is_held(n) && !sliding[n]).collect();
    let (mut supported, neighbors) = (fixed.clone(), flesh.mesh().neighbors());
    let mut work: Vec<u32> = (0..fixed.len() as u32).filter(|&n| fixed[n as usize]).collect();
    while let Some(n) = work.pop() {
        for &m in neighbors.of(n as usize) {
            if !std::mem::replace(&mut supported[m as usize], true) {
                work.push(m);
            }
        }
    }
    fixed.iter().zip(supported).map(|(fixed, supported)| *fixed || !supported).collect()
}

/// The flesh with its muscles, over the tets that have a free node: others cannot deform, and between bones
/// that pass each other they may even fold.
fn tissue(
    face: &Face,
    options: &MuscleOptions,
    overlap: &Overlap,
    held: &[bool],
) -> Result<MuscleTissue, SolveError> {
    let mesh: TetMesh = face.flesh.mesh();
    let mut fibers = Fibers {
        first: vec![0],
        all: Vec::new(),
        strength: vec![options.strength; face.anatomy.muscles.len()],
    };
    let (mut tets, mut mu, mut kappa) = (Vec::new(), Vec::new(), Vec::new());
    for (t, tet) in mesh.tets.iter().enumerate().filter(|(_, tet)| tet.iter().any(|&n| !held[n as usize])) {
        let stiffness = f64::from(face.flesh.materials.mu[t]) * options.stiffness;
        tets.push(*tet);
        mu.push(stiffness);
        let of_tet = overlap.first[t] as usize..overlap.first[t + 1] as usize;
        // Muscle that squeezes itself keeps its volume only if it resists that as strongly as it pulls.
        let filled: f64 = overlap.fibers[of_tet.clone()].iter().map(|f| f.share).sum();
        kappa.push(options.bulk * stiffness + filled * options.strength);
        let fiber = |f: &risorius_muscle::TetFiber| Fiber {
            muscle: f.muscle,
            direction: f.direction,
            share: f.share,
        };
        fibers.all.extend(overlap.fibers[of_tet].iter().map(fiber));
        fibers.first.push(fibers.all.len() as u32);
    }
    let none = vec![0.0; fibers.strength.len()];
    MuscleTissue::prepare(Arc::new(tets), Arc::new(fibers), &mesh.nodes, &mu, &kappa, &none)
}

/// Rig vertices that follow the jaw rigidly.
fn with_jaw(face: &Face) -> Vec<u32> {
    let embedded = &face.flesh.embedding.vertices;
    let kinds = [PieceKind::TeethLower, PieceKind::GumsLower, PieceKind::Tongue, PieceKind::Mandible];
    let mut all: Vec<u32> = kinds.iter().flat_map(|&kind| face.anatomy.pieces.vertices(kind)).collect();
    all.retain(|v| embedded.binary_search(v).is_err());
    all.sort_unstable();
    all
}
