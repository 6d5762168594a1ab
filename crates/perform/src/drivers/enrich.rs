//! Simulation of a clip on the flesh of a face by dynamic rebalancing [Kozlov17, alg. 1].
//!
//! Each frame of the clip has a rest volume `X(w)` and a stiffness `P(w)`; both are interpolated linearly
//! between frames. Steps of at most `dt_secs` lead from frame to frame ([`risorius_solve::Dynamics`]). Nodes
//! on skull, jaw and border, and those around the jaw joint, are held at their rest positions. All of this is
//! expressed in the head frame, which moves with the head. The sculpted shape of an upright head already
//! includes gravity, so only the *change* of gravity relative to the head acts, `m (R^-1 g - g)`. The
//! gain scales that change and the inertial force of the head's motion. All other forces are in the
//! [`crate::Scene`].
//!
//! Input: a face, weights over time, the path of the head. Output: the rig's vertices at every frame, in the
//! head frame, and a report. Without head motion and scene the vertices are the artist's, to the bit.

use crate::checkpoint::Checkpoint;
use crate::collision_pairs::{ContactMode, ContactSurface, touch_options};
use crate::drivers::{expect_weights, mixed};
use crate::error::PerformError;
use crate::run::{Driver, FrameSink, Performance, RestReport, run};
use crate::scene::factors::Factors;
use crate::scene::forces::{Acting, Moment};
use crate::scene::loads::Loads;
use crate::skin_out::{Moved, SkinOut};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::{Progress, Rigid};
use risorius_flesh::Face;
use risorius_flesh::rest::{LEAST_J, RestVolumes};
use risorius_rig::Evaluator;
use risorius_solve::energy::springs::lumped_masses;
use risorius_solve::{
    Body, BodyEnergy, Configuration, Dynamics, ElasticTets, SolveError, SolveOptions, StepOptions, Stepping,
};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Options of [`enrich`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnrichOptions {
    /// Longest time step, seconds, positive. Default 1/200, with second-order stepping, instead of the 1/300
    /// of [Kozlov17, sec. 7] with backward Euler. In steps of 1/150 s, lips of ICT meet 0.3 mm deep.
    pub dt_secs: f64,
    /// The formula of the time steps. Default BDF2.
    pub stepping: Stepping,
    /// Share of dynamic rebalancing, 0 to 1. At 1, shape and stiffness changes alone excite no motion; at 0,
    /// the simulation is conventional. Default 1.
    pub rebalance: f64,
    /// Decay rate of motion relative to the head, 1/s, in addition to the damping of the time stepping.
    /// Default 0.
    pub damping: f64,
    /// Factor on all stiffness, positive. Default 1.
    pub stiffness: f64,
    /// Factor on the viscosity of the flesh, 0 or more. Default 1.
    pub viscosity: f64,
    /// Factor on what the motion of the head does to the flesh, 0 or more. Default 1.
    pub gain: f64,
    /// Factor on the stiffness that shapes add, 0 or more; 0 keeps the material constant. Default 1.
    pub tightening: f64,
    /// Factor on all masses, positive. Default 1.
    pub mass: f64,
    /// Gravity, m/s^2, downwards in the world. Default 9.81.
    pub gravity: f64,
    /// How contacts of lips, lids and teeth are enforced.
    pub contact: ContactMode,
    /// Least distance between vertices that are kept out of other surfaces, meters, 0 or more. Default 0, all
    /// of them; previews leave some out, because coarse flesh cannot bend between them.
    pub contact_spacing: f64,
    /// Largest traction of the film between lips that touch in the neutral, Pa; default 0, no film. 500 is
    /// the capillary pressure of a film of saliva of 0.2 mm.
    pub adhesion: f64,
    /// When a solve stops.
    pub solve: SolveOptions,
    /// Use Newton's method only: slow, for comparison.
    pub reference: bool,
}

impl Default for EnrichOptions {
    fn default() -> Self {
        Self {
            dt_secs: 1.0 / 200.0,
            stepping: Stepping::Bdf2,
            rebalance: 1.0,
            damping: 0.0,
            stiffness: 1.0,
            viscosity: 1.0,
            gain: 1.0,
            tightening: 1.0,
            mass: 1.0,
            gravity: 9.81,
            contact: ContactMode::default(),
            contact_spacing: 0.0,
            adhesion: 0.0,
            solve: StepOptions::default().solve,
            reference: false,
        }
    }
}

/// Stiffness never falls below this share of the neutral stiffness, whatever the slider values.
const LEAST_STIFFNESS: f64 = 0.1;

/// Interpolated rest volumes are repaired if their smallest `det F` is below this share of [`LEAST_J`].
const SQUASHED: f64 = 0.2;

/// Simulates `performance` on the flesh of `face` and passes every frame to `sink`. Starts after a checkpoint
/// of the same performance, or from the first frame.
pub fn enrich(
    face: &Face,
    performance: &Performance,
    options: &EnrichOptions,
    checkpoint: Option<Checkpoint>,
    sink: &mut FrameSink,
    progress: &Progress,
) -> Result<(), PerformError> {
    let driver = Enrich::prepare(face, performance, options)?;
    run(&driver, performance, options.dt_secs, checkpoint, sink, progress)
}

impl EnrichOptions {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), PerformError> {
        let positive = "positive";
        let spacing = self.contact_spacing;
        let checks: [(&'static [&'static str], _, _, _, _); 11] = [
            (&["dt"], "the time step", self.dt_secs, self.dt_secs > 0.0, positive),
            (
                &["rebalance"],
                "rebalancing",
                self.rebalance,
                (0.0..=1.0).contains(&self.rebalance),
                "from 0 to 1",
            ),
            (&["damping"], "damping", self.damping, self.damping >= 0.0, "0 or more per second"),
            (&["stiffness"], "the factor on stiffness", self.stiffness, self.stiffness > 0.0, positive),
            (
                &["tightening"],
                "the factor on tightening",
                self.tightening,
                self.tightening >= 0.0,
                "0 or more",
            ),
            (&["viscosity"], "the factor on viscosity", self.viscosity, self.viscosity >= 0.0, "0 or more"),
            (&["gain"], "the gain", self.gain, self.gain >= 0.0, "0 or more"),
            (&["mass"], "the factor on mass", self.mass, self.mass > 0.0, positive),
            (&["adhesion"], "the adhesion of lips", self.adhesion, self.adhesion >= 0.0, "0 or more Pa"),
            (&[], "the distance between contacts", spacing, spacing >= 0.0, "0 m or more"),
            (&["gravity"], "gravity", self.gravity, true, "a number"),
        ];
        for (option, what, value, fine, wanted) in checks {
            if !(fine && value.is_finite()) {
                return Err(PerformError::Option { what, option, value, wanted });
            }
        }
        Ok(())
    }
}

/// Dynamic rebalancing, prepared for a performance.
pub struct Enrich<'a> {
    face: &'a Face,
    performance: &'a Performance<'a>,
    options: &'a EnrichOptions,
    evaluator: Evaluator,
    rest: RestVolumes<'a>,
    skin: SkinOut<'a>,
    contacts: ContactSurface,
    loads: Loads<'a>,
    factors: Factors,
    /// Rest shapes of the last two frames that were posed, for accelerations.
    last: Mutex<Vec<(usize, Vec<DVec3>)>>,
}

impl<'a> Enrich<'a> {
    /// Checks that the clip fits the face, and prepares what is constant over a performance.
    pub fn prepare(
        face: &'a Face,
        performance: &'a Performance<'a>,
        options: &'a EnrichOptions,
    ) -> Result<Self, PerformError> {
        options.check()?;
        expect_weights(face, performance)?;
        let evaluator = Evaluator::prepare(&face.rig);
        let skin = SkinOut::prepare(face);
        let scene = &performance.scene;
        if !scene.held.is_empty() {
            let what = "held regions need the method volumetric; remove them, or change the method".into();
            return Err(PerformError::Scene { what });
        }
        let acting = Acting::prepare(face, scene, &skin)?;
        let failed = |source| PerformError::Rest { frame: 0, source };
        let factors = Factors::prepare(face, scene).map_err(failed)?;
        let pushed = !scene.colliders.is_empty();
        let contacts = {
            let options = (touch_options(options.contact, options.adhesion), options.contact_spacing);
            ContactSurface::prepare(face, &evaluator, &skin, options, &scene.touch, pushed)
        };
        let density = &face.flesh.materials.density;
        let mut masses = lumped_masses(&face.flesh.mesh(), |t| f64::from(density[t]) * options.mass);
        masses.iter_mut().zip(&factors.mass).for_each(|(m, factor)| *m *= factor);
        Ok(Self {
            face,
            performance,
            options,
            evaluator,
            rest: RestVolumes::prepare(&face.flesh).map_err(failed)?,
            skin,
            contacts: contacts.map_err(failed)?,
            loads: Loads { masses, gravity: options.gravity, gain: options.gain, acting },
            factors,
            last: Mutex::default(),
        })
    }

    /// `P(w) = P0 + B_P c(w)` [Kozlov17, eq. 3], as mu, lambda and viscosity of each tet.
    fn parameters(&self, strengths: &[f64], weights: &[f32]) -> Vec<Vec<f64>> {
        let materials = &self.face.flesh.materials;
        let mut strengths = strengths.to_vec();
        for response in &materials.responses {
            strengths[response.shape] = response.at(weights[response.slider].into());
        }
        let neutral = [&materials.mu, &materials.lambda]
            .map(|all| all.iter().map(|&k| f64::from(k)).collect::<Vec<_>>());
        let mut now = neutral.clone();
        for (shape, &c) in materials.shapes.iter().zip(&strengths).filter(|(_, c)| **c != 0.0) {
            let c = c * self.options.tightening;
            for ((&tet, &mu), &lambda) in shape.tets.iter().zip(shape.mu.iter()).zip(shape.lambda.iter()) {
                now[0][tet as usize] += f64::from(mu) * c;
                now[1][tet as usize] += f64::from(lambda) * c;
            }
        }
        for (all, neutral) in now.iter_mut().zip(&neutral) {
            all.iter_mut()
                .zip(neutral)
                .for_each(|(k, k0)| *k = k.max(LEAST_STIFFNESS * k0) * self.options.stiffness);
            all.iter_mut().zip(&self.factors.stiffness).for_each(|(k, factor)| *k *= factor);
        }
        let damping =
            self.face.flesh.materials.damping.iter().map(|&b| f64::from(b) * self.options.viscosity);
        let viscosity = now[0].iter().zip(damping).map(|(mu, damping)| mu * damping).collect();
        let [mu, lambda] = now;
        vec![mu, lambda, viscosity]
    }

    /// The pose of a frame, without the acceleration of its rest shape.
    fn pose(&self, frame: usize) -> Result<Pose, PerformError> {
        let weights = self.performance.clip.frame(frame);
        let strengths: Vec<f64> = self.evaluator.strengths(weights).iter().map(|&c| c.into()).collect();
        let rest = self.rest.at(&strengths).map_err(|source| PerformError::Rest { frame, source })?;
        let parameters = self.parameters(&strengths, weights);
        let pose = self.evaluator.positions(weights);
        let points = self.contacts.surface(&pose, &self.face.anatomy.jaw(&strengths));
        let surface = self.contacts.touch.posed(points);
        let report = RestReport {
            rest_nodes: rest.moved.len(),
            rest_moved_mm: 1000.0 * rest.longest_motion,
            rest_least_j: rest.worst_before.0,
            rest_jumps: !rest.is_smooth,
            rest_share: rest.share,
            rest_acceleration_mm: 0.0,
        };
        let configuration = Configuration { rest: rest.positions, parameters, surface };
        let facing = self.loads.acting.facing(&pose);
        Ok(Pose { configuration, report, facing, vertices: pose })
    }

    /// The configuration at `share` of the way between two.
    fn between_poses(&self, ends: [&Configuration; 2], share: f64) -> Result<Configuration, SolveError> {
        let mut between = mixed(ends, share);
        if self.rest.worst(&between.rest).0 < SQUASHED * LEAST_J {
            between.rest = self.rest.untangled(between.rest)?.0;
        }
        Ok(between)
    }
}

impl Driver for Enrich<'_> {
    type Pose = Pose;
    type Body = Dynamics;

    fn poses(&self, frames: Range<usize>) -> Result<Vec<Pose>, PerformError> {
        let one = |frame: usize| self.pose(frame);
        let poses = frames.clone().into_par_iter().with_max_len(1).map(one);
        let mut poses: Vec<Pose> = poses.collect::<Result<_, PerformError>>()?;
        let mut last = std::mem::take(&mut *self.last.lock().unwrap_or_else(PoisonError::into_inner));
        let earlier = frames.start.saturating_sub(2)..frames.start;
        if !last.iter().map(|(frame, _)| *frame).eq(earlier.clone()) {
            let rest = |frame: usize| one(frame).map(|pose| (frame, pose.configuration.rest));
            last = earlier.into_par_iter().map(rest).collect::<Result<_, _>>()?;
        }
        let mut rests: Vec<Vec<DVec3>> = last.into_iter().map(|(_, rest)| rest).collect();
        for pose in &mut poses {
            if let [x, y] = rests.as_slice() {
                let z = &pose.configuration.rest;
                let second = (0..x.len()).map(|n| (x[n] - 2.0 * y[n] + z[n]).length());
                pose.report.rest_acceleration_mm = 1000.0 * second.fold(0.0, f64::max);
            }
            rests.push(pose.configuration.rest.clone());
            rests.drain(..rests.len().saturating_sub(2));
        }
        let first = frames.end - rests.len().min(frames.end);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = (first..).zip(rests).collect();
        Ok(poses)
    }

    fn lone_pose(&self, frame: usize) -> Result<Pose, PerformError> {
        self.pose(frame)
    }

    fn rest_report(&self, pose: &Pose) -> RestReport {
        pose.report
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
        rayon::scope(|_| self.between_poses([a, b], share))
    }

    fn body(
        &self,
        first: Configuration,
        frame: Rigid,
        velocities: Vec<DVec3>,
    ) -> Result<Dynamics, SolveError> {
        let options = self.options;
        let held = self.face.flesh.kinematic_nodes();
        let step = StepOptions {
            dt_secs: options.dt_secs,
            stepping: options.stepping,
            rebalance: options.rebalance,
            damping: options.damping,
            solve: options.solve,
            reference: options.reference,
        };
        let tets = &self.face.flesh.tets;
        let energies: Vec<Arc<dyn BodyEnergy>> = vec![Arc::new(ElasticTets::viscous(tets))];
        let made_of = Body {
            energies,
            tets,
            masses: &self.loads.masses,
            held: &held,
            touch: self.contacts.touch.clone(),
        };
        Dynamics::prepare(made_of, first, frame, velocities, step)
    }

    fn resting_forces(&self, head: &Rigid) -> Vec<DVec3> {
        self.loads.resting(head)
    }

    fn apparent_forces(&self, moment: &Moment, pose: &Pose, times: f64) -> Vec<DVec3> {
        self.loads.apparent(moment, &pose.configuration.rest, times)
    }

    fn forces(&self, moment: &Moment, [a, b]: [&Pose; 2], share: f64) -> Vec<DVec3> {
        self.loads.all(moment, &b.configuration.rest, [&a.facing, &b.facing], share)
    }

    fn skin(&self, body: &Dynamics, pose: &Pose) -> (Vec<[f32; 3]>, Moved) {
        let rest = &pose.configuration.rest;
        let offsets: Vec<DVec3> = body.positions().iter().zip(rest).map(|(x, rest)| *x - *rest).collect();
        let mut vertices = pose.vertices.clone();
        let moved = self.skin.add(&offsets, &mut vertices);
        (vertices, moved)
    }

    fn vertex_of_point(&self, point: u32) -> Option<u32> {
        self.contacts.vertices.get(point as usize).copied()
    }
}

/// The face at a frame, before forces act.
#[derive(Default)]
pub struct Pose {
    configuration: Configuration,
    report: RestReport,
    /// Area vectors of the skin exposed to wind.
    facing: Vec<DVec3>,
    /// The artist's vertices.
    vertices: Vec<[f32; 3]>,
}
