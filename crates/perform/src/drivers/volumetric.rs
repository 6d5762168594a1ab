//! Simulation of a clip on the flesh of a face by volumetric blendshapes [Ichim16, sec. 3.4].
//!
//! Every shape gives each tet a target gradient. Those of the active shapes are blended, rotations
//! non-linearly and stretches linearly ([`risorius_flesh::gradients`]). Flesh is drawn to the blend, resists
//! deformation from it and change of its volume, has mass and viscosity, and does not pass itself, teeth or
//! obstacles ([`risorius_solve::project`]):
//!
//! ```text
//! E = sum over tets V (share mu |F - T|^2 + (1 - share) mu min_R |F - R T|^2
//!                      + 3/2 lambda min_{det P = J} |F - P|^2) + inertia + viscosity - forces
//! ```
//!
//! For small strain the last two terms are those of tissue with the same mu and lambda as in
//! [`crate::enrich`]. Both are measured from the blend, not from the neutral as in the paper: so one shape at
//! full strength is in equilibrium, as the artist made it. Stiffness is constant in time, because the system
//! is factored once: what shapes add to the stiffness has no effect.
//!
//! Nodes on the skull and at the border are held; those on the lower jaw follow its blended rigid motion.
//! What is shown is the artist's skin plus the displacement of the flesh from the linear blend of the
//! volumes. Without forces this is the artist's skin where one shape is active; where several are, or at half
//! strength, it is what the flesh makes of the blend. With `exact`, displacement is measured from the
//! equilibrium without forces and contact instead, which makes every pose without forces the artist's.
//!
//! Lips and lids may overlap only as far as the artist made them: what the neutral has, and what a single
//! slider has at its present value (`overlap`). Against teeth and eyes, which the artist places, they may be
//! as deep as in the artist's pose.

mod overlap;

use crate::checkpoint::Checkpoint;
use crate::collision_pairs::{ContactMode, ContactSurface, touch_options};
use crate::drivers::{expect_weights, mixed};
use crate::error::PerformError;
use crate::run::{Driver, FrameSink, Performance, RestReport, run};
use crate::scene::factors::Factors;
use crate::scene::forces::{Acting, Moment};
use crate::scene::loads::Loads;
use crate::scene::model::Scene;
use crate::skin_out::{Moved, SkinOut};
use glam::DVec3;
use overlap::AllowedOverlap;
use rayon::prelude::*;
use risorius_base::progress::no_progress;
use risorius_base::{Progress, Rigid};
use risorius_flesh::Face;
use risorius_flesh::gradients::{JawShift, ShapeGradients};
use risorius_flesh::region_shares::RegionShares;
use risorius_rig::Evaluator;
use risorius_solve::energy::springs::lumped_masses;
use risorius_solve::project::{
    Iterations, ProjectBody, ProjectOptions, ProjectParts, ProjectReport, Projective, TetWeights,
};
use risorius_solve::{Around, Configuration, Overlap, SolveError, Stepping, TouchOptions};
use std::ops::Range;
use std::sync::Arc;

/// Options of [`volumetric`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VolumetricOptions {
    /// Longest time step, seconds, positive. Default 1/60.
    pub dt_secs: f64,
    /// The formula of the time steps. Default BDF2.
    pub stepping: Stepping,
    /// Share of the shear stiffness that draws flesh to the blend with its orientation, 0 to 1; the rest
    /// resists deformation in any orientation. Default 0.5. At 0, flesh that nothing holds may turn freely.
    pub active: f64,
    /// Share of the animation's own motion that inertia does not see, 0 to 1. Default 1: changing sliders
    /// does not shake the flesh. At 0 it does, as in the paper.
    pub rebalance: f64,
    /// Decay rate of motion relative to the head, 1/s. Default 0.
    pub damping: f64,
    /// Factor on all stiffness, positive. Default 1.
    pub stiffness: f64,
    /// Factor on the resistance to changes of volume, 0 or more. Default 1.
    pub volume: f64,
    /// Factor on the viscosity of the flesh, 0 or more. Default 1.
    pub viscosity: f64,
    /// Factor on what the motion of the head does to the flesh, 0 or more. Default 1.
    pub gain: f64,
    /// Factor on all masses, positive. Default 1.
    pub mass: f64,
    /// Gravity, m/s^2, downwards in the world. Default 9.81.
    pub gravity: f64,
    /// Whether contacts push; [`ContactMode::Penalty`] is not one of this method.
    pub contact: ContactMode,
    /// Most iterations of a step, at least 1. Default 40.
    pub iterations: usize,
    /// A step ends when no node of an iteration moves farther than this, meters. Default 2e-6.
    pub tolerance: f64,
    /// Add what makes every pose without forces the artist's. Default false.
    pub exact: bool,
}

impl Default for VolumetricOptions {
    fn default() -> Self {
        Self {
            dt_secs: 1.0 / 60.0,
            stepping: Stepping::Bdf2,
            active: 0.5,
            rebalance: 1.0,
            damping: 0.0,
            stiffness: 1.0,
            volume: 1.0,
            viscosity: 1.0,
            gain: 1.0,
            mass: 1.0,
            gravity: 9.81,
            contact: ContactMode::default(),
            iterations: 40,
            tolerance: 2e-6,
            exact: false,
        }
    }
}

/// Iterations of equilibria.
const AT_REST: Iterations =
    Iterations { most: 400, tolerance: 2e-7, memory: 8, detect_every: 25, detections: 20 };

/// How often a step finds contacts, at most.
const DETECTIONS: usize = 4;

/// Iterations of equilibria that nothing starts from: accurate to some hundredths of a millimeter.
const QUICK: Iterations =
    Iterations { most: 300, tolerance: 1e-6, memory: 8, detect_every: 15, detections: 10 };

/// Iterations of those that were not found so.
const PATIENT: Iterations = Iterations { most: 800, ..AT_REST };

/// Speed at which overlap is pushed out that did not arise in the same step, m/s.
const OUT_SPEED: f64 = 0.02;

/// In equilibria, surfaces that overlap are parted as in steps of this length, seconds.
const PART_SECS: f64 = 1.0 / 60.0;

impl VolumetricOptions {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), PerformError> {
        let (positive, unit, nonnegative) = ("positive", "from 0 to 1", "0 or more");
        let in_unit = |x: f64| (0.0..=1.0).contains(&x);
        let checks: [(&'static [&'static str], _, f64, bool, _); 11] = [
            (&["dt"], "the time step", self.dt_secs, self.dt_secs > 0.0, positive),
            (&["active"], "the active share", self.active, in_unit(self.active), unit),
            (&["rebalance"], "rebalancing", self.rebalance, in_unit(self.rebalance), unit),
            (&["damping"], "damping", self.damping, self.damping >= 0.0, "0 or more per second"),
            (&["stiffness"], "the factor on stiffness", self.stiffness, self.stiffness > 0.0, positive),
            (&["volume"], "the factor on volume", self.volume, self.volume >= 0.0, nonnegative),
            (&["viscosity"], "the factor on viscosity", self.viscosity, self.viscosity >= 0.0, nonnegative),
            (&["gain"], "the gain", self.gain, self.gain >= 0.0, nonnegative),
            (&["mass"], "the factor on mass", self.mass, self.mass > 0.0, positive),
            (&["gravity"], "gravity", self.gravity, true, "a number"),
            (&["tolerance"], "the tolerance", self.tolerance, self.tolerance >= 0.0, nonnegative),
        ];
        for (option, what, value, fine, wanted) in checks {
            if !(fine && value.is_finite()) {
                return Err(PerformError::Option { what, option, value, wanted });
            }
        }
        let (what, value, wanted) = ("the number of iterations", self.iterations as f64, "1 or more");
        if self.iterations == 0 {
            return Err(PerformError::Option { what, option: &["iterations"], value, wanted });
        }
        Ok(())
    }

    fn steps(&self) -> ProjectOptions {
        ProjectOptions {
            stepping: self.stepping,
            rebalance: self.rebalance,
            damping: self.damping,
            step: Iterations {
                most: self.iterations,
                tolerance: self.tolerance,
                detections: DETECTIONS,
                // Twice at least.
                detect_every: Iterations::default().detect_every.min(self.iterations.div_ceil(2)),
                ..Iterations::default()
            },
            rest: AT_REST,
            part_secs: PART_SECS,
        }
    }
}

/// Simulates `performance` on the flesh of `face` and passes every frame to `sink`. Starts after a checkpoint
/// of the same performance, or from the first frame.
pub fn volumetric(
    face: &Face,
    performance: &Performance,
    options: &VolumetricOptions,
    checkpoint: Option<Checkpoint>,
    sink: &mut FrameSink,
    progress: &Progress,
) -> Result<(), PerformError> {
    expect_weights(face, performance)?;
    let prepared = VolumetricFace::prepare(face, &performance.scene, options)?;
    let driver = Volumetric::new(&prepared, performance);
    run(&driver, performance, options.dt_secs, checkpoint, sink, progress)
}

/// A face prepared for the method; threads can share it.
pub struct VolumetricFace<'a> {
    face: &'a Face,
    options: VolumetricOptions,
    evaluator: Evaluator,
    gradients: ShapeGradients,
    jaw: JawShift<'a>,
    skin: SkinOut<'a>,
    contacts: ContactSurface,
    overlap: AllowedOverlap,
    /// Nodes that the scene holds in their place in the neutral.
    pinned: Vec<u32>,
    loads: Loads<'a>,
    parts: Arc<ProjectParts>,
}

/// An equilibrium.
#[derive(Debug, Clone)]
pub struct Equilibrium {
    /// The rig's vertices in file units.
    pub vertices: Vec<[f32; 3]>,
    /// How far the flesh moved them from the artist's pose.
    pub moved: Moved,
    /// What the solve did.
    pub report: ProjectReport,
}

impl<'a> VolumetricFace<'a> {
    /// Prepares a face and a scene.
    pub fn prepare(
        face: &'a Face,
        scene: &'a Scene,
        options: &VolumetricOptions,
    ) -> Result<Self, PerformError> {
        options.check()?;
        let evaluator = Evaluator::prepare(&face.rig);
        let skin = SkinOut::prepare(face);
        let acting = Acting::prepare(face, scene, &skin)?;
        let failed = |source| PerformError::Rest { frame: 0, source };
        let factors = Factors::prepare(face, scene).map_err(failed)?;
        let pushed = !scene.colliders.is_empty();
        let usual = touch_options(options.contact, 0.0);
        let touch = TouchOptions { overlap: Overlap::None, out_speed: OUT_SPEED, ..usual };
        let contacts = ContactSurface::prepare(face, &evaluator, &skin, (touch, 0.0), &scene.touch, pushed);
        let contacts = contacts.map_err(failed)?;
        let density = &face.flesh.materials.density;
        let mut masses = lumped_masses(&face.flesh.mesh(), |t| f64::from(density[t]) * options.mass);
        masses.iter_mut().zip(&factors.mass).for_each(|(m, factor)| *m *= factor);
        let pinned = pinned(face, scene)?;
        let mut held = face.flesh.kinematic_nodes();
        pinned.iter().for_each(|&n| held[n as usize] = true);
        let system = Projective::prepare(
            &face.flesh.tets,
            &face.flesh.rest(),
            &weights(face, options, &factors),
            &masses,
            &held,
            Vec::new(),
            contacts.touch.carriers().stencils(),
        );
        let parts = ProjectParts {
            system: system.map_err(failed)?,
            touch: contacts.touch.clone(),
            pushes: options.contact != ContactMode::Off,
        };
        Ok(Self {
            overlap: AllowedOverlap::prepare(face, &evaluator, &contacts),
            gradients: ShapeGradients::of_volumes(&face.flesh).map_err(failed)?,
            jaw: JawShift::prepare(face),
            loads: Loads { masses, gravity: options.gravity, gain: options.gain, acting },
            parts: Arc::new(parts),
            pinned,
            face,
            options: *options,
            evaluator,
            skin,
            contacts,
        })
    }

    /// The pose at some slider values.
    pub fn pose(&self, weights: &[f32]) -> Result<Pose, SolveError> {
        let strengths: Vec<f64> = self.evaluator.strengths(weights).iter().map(|&c| c.into()).collect();
        let vertices = self.evaluator.positions(weights);
        let points = self.contacts.surface(&vertices, &self.face.anatomy.jaw(&strengths));
        let mut parameters = self.gradients.blend(&strengths);
        parameters.push(self.overlap.at(weights));
        let rest = self.linear(&strengths);
        let mut shift = self.jaw.at(&strengths);
        for &n in &self.pinned {
            let back = DVec3::from(self.face.flesh.nodes[n as usize]) - rest[n as usize];
            (0..3).for_each(|axis| shift[axis][n as usize] = back[axis]);
        }
        parameters.extend(shift);
        let configuration = Configuration { rest, parameters, surface: self.contacts.touch.posed(points) };
        let facing = self.loads.acting.facing(&vertices);
        let still = match self.options.exact {
            true => {
                let (nothing, steps) = (Around::default(), self.options.steps());
                self.parts.equilibrium(&configuration, &nothing, false, &steps, &no_progress)?.0
            }
            false => configuration.rest.clone(),
        };
        Ok(Pose { configuration, facing, vertices, still })
    }

    /// The skin at rest at some slider values, with contact and the gravity of an upright head; a function of
    /// these values alone.
    pub fn statics(&self, weights: &[f32], progress: &Progress) -> Result<Equilibrium, SolveError> {
        let pose = self.pose(weights)?;
        let (around, steps) = (Around::default(), self.options.steps());
        let (x, report) = self.parts.equilibrium(&pose.configuration, &around, true, &steps, progress)?;
        let (vertices, moved) = self.shown(&x, &pose);
        Ok(Equilibrium { vertices, moved, report })
    }

    /// Bytes of the factor of a usual step, which each substitution reads.
    pub fn factor_bytes(&self) -> Result<usize, SolveError> {
        self.parts.system.factor_bytes(self.options.dt_secs)
    }

    /// `X0 + B_X c`.
    fn linear(&self, strengths: &[f64]) -> Vec<DVec3> {
        let mut nodes = self.face.flesh.rest();
        for (volume, &c) in self.face.flesh.volumes.iter().zip(strengths).filter(|(_, c)| **c != 0.0) {
            volume.add_to(&mut nodes, c);
        }
        nodes
    }

    /// The rig's vertices when the flesh is at `x`.
    fn shown(&self, x: &[DVec3], pose: &Pose) -> (Vec<[f32; 3]>, Moved) {
        let offsets: Vec<DVec3> = x.iter().zip(&pose.still).map(|(x, still)| *x - *still).collect();
        let mut vertices = pose.vertices.clone();
        let moved = self.skin.add(&offsets, &mut vertices);
        (vertices, moved)
    }
}

/// A node is held if it belongs to a held region by at least this share.
const HELD: f64 = 0.7;

/// Distance along the skin over which the share of a held region falls to zero, meters.
const HELD_FALLOFF: f64 = 0.003;

/// The nodes under the regions that a scene holds, ascending.
fn pinned(face: &Face, scene: &Scene) -> Result<Vec<u32>, PerformError> {
    let mut nodes = Vec::new();
    if scene.held.is_empty() {
        return Ok(nodes);
    }
    let failed = |source| PerformError::Rest { frame: 0, source };
    let spread = RegionShares::prepare(&face.anatomy.pieces, &face.flesh).map_err(failed)?;
    for (i, region) in scene.held.iter().enumerate() {
        let shares = spread.of(region, HELD_FALLOFF).map_err(failed)?;
        let before = nodes.len();
        nodes.extend((0..shares.len() as u32).filter(|&n| shares[n as usize] >= HELD));
        if nodes.len() == before {
            let what = format!("held region {i} has no flesh under it; choose simulated skin");
            return Err(PerformError::Scene { what });
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes)
}

/// The weights of each tet [module].
fn weights(face: &Face, options: &VolumetricOptions, factors: &Factors) -> TetWeights {
    let materials = &face.flesh.materials;
    let factor = |t: usize| options.stiffness * factors.stiffness.get(t).copied().unwrap_or(1.0);
    let n = face.flesh.tets.len();
    let mu = |t: usize| f64::from(materials.mu[t]) * factor(t);
    let lambda = |t: usize| f64::from(materials.lambda[t]) * factor(t);
    let list = |of: &dyn Fn(usize) -> f64| (0..n).map(of).collect::<Vec<f64>>();
    TetWeights {
        target: list(&|t| 2.0 * options.active * mu(t)),
        rigid: list(&|t| 2.0 * (1.0 - options.active) * mu(t)),
        volume: list(&|t| 3.0 * options.volume * lambda(t)),
        viscosity: list(&|t| mu(t) * f64::from(materials.damping[t]) * options.viscosity),
    }
}

/// A performance on a prepared face.
pub struct Volumetric<'a> {
    prepared: &'a VolumetricFace<'a>,
    performance: &'a Performance<'a>,
    /// Iterations of equilibria.
    rest: Iterations,
}

impl<'a> Volumetric<'a> {
    /// Plays `performance` on a face that was prepared with its scene.
    pub(crate) fn new(prepared: &'a VolumetricFace<'a>, performance: &'a Performance<'a>) -> Self {
        Self { prepared, performance, rest: AT_REST }
    }

    /// For frames at rest that nothing starts from.
    pub(crate) fn at_rest(prepared: &'a VolumetricFace<'a>, performance: &'a Performance<'a>) -> Self {
        Self { prepared, performance, rest: QUICK }
    }
}

impl Driver for Volumetric<'_> {
    type Pose = Pose;
    type Body = ProjectBody;

    fn patient(&self) -> Option<Self> {
        Some(Self { rest: PATIENT, ..*self })
    }

    fn poses(&self, frames: Range<usize>) -> Result<Vec<Pose>, PerformError> {
        let one = |frame: usize| {
            let pose = self.prepared.pose(self.performance.clip.frame(frame));
            pose.map_err(|source| PerformError::Rest { frame, source })
        };
        frames.into_par_iter().with_max_len(1).map(one).collect()
    }

    fn rest_report(&self, _pose: &Pose) -> RestReport {
        RestReport { rest_least_j: 1.0, rest_share: 1.0, ..RestReport::default() }
    }

    fn configuration<'p>(&self, pose: &'p Pose) -> &'p Configuration {
        &pose.configuration
    }

    fn between(&self, ends: [&Pose; 2], share: f64) -> Result<Configuration, SolveError> {
        let [a, b] = ends.map(|end| &end.configuration);
        if share == 1.0 || a == b {
            return Ok(b.clone());
        }
        // Several parallel loops in one call of the thread pool.
        Ok(rayon::scope(|_| mixed([a, b], share)))
    }

    fn body(
        &self,
        first: Configuration,
        frame: Rigid,
        velocities: Vec<DVec3>,
    ) -> Result<ProjectBody, SolveError> {
        let prepared = self.prepared;
        let steps = ProjectOptions { rest: self.rest, ..prepared.options.steps() };
        ProjectBody::prepare(prepared.parts.clone(), first, frame, velocities, steps)
    }

    fn resting_forces(&self, head: &Rigid) -> Vec<DVec3> {
        self.prepared.loads.resting(head)
    }

    fn apparent_forces(&self, moment: &Moment, pose: &Pose, times: f64) -> Vec<DVec3> {
        self.prepared.loads.apparent(moment, &pose.configuration.rest, times)
    }

    fn forces(&self, moment: &Moment, [a, b]: [&Pose; 2], share: f64) -> Vec<DVec3> {
        self.prepared.loads.all(moment, &b.configuration.rest, [&a.facing, &b.facing], share)
    }

    fn skin(&self, body: &ProjectBody, pose: &Pose) -> (Vec<[f32; 3]>, Moved) {
        self.prepared.shown(body.positions(), pose)
    }

    fn vertex_of_point(&self, point: u32) -> Option<u32> {
        self.prepared.contacts.vertices.get(point as usize).copied()
    }
}

/// The face at a frame, before forces act.
#[derive(Default)]
pub struct Pose {
    configuration: Configuration,
    /// Area vectors of the skin exposed to wind.
    facing: Vec<DVec3>,
    /// The artist's vertices.
    vertices: Vec<[f32; 3]>,
    /// The flesh at which the skin is the artist's.
    still: Vec<DVec3>,
}
