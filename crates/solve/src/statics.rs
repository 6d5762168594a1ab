//! Equilibria of flesh whose held nodes are moved: quasi-static solves with contact \[Teran05b\].
//!
//! A body at rest positions X is in equilibrium where the forces of its energy, its contacts and the springs
//! that drag it balance, with held nodes (on bones) where they are put. From any start:
//!
//! 1. a start with flat, inverted or infinite elements is replaced by the rest shape;
//! 2. held nodes are moved to their places in stages: a harmonic field takes the flesh along, each stage goes
//!    at most half as far as the first element would become flat, and a few Newton steps follow it;
//! 3. Newton's method with projected second derivatives, in rounds of contact detection. Contacts are planes
//!    that are found anew in each round; a round follows while a point is deeper than a wall, or while nodes
//!    still move.
//!
//! Contacts here have no pose of an artist to start from: what overlaps at rest may overlap as far in every
//! state, and nothing more. Points that only the pose moves (teeth, eyes) are put where bones take them.

use crate::contact::detect::{Overlap, Posed, Touch, TouchOptions};
use crate::contact::planes::{Contact, Contacts, TetAttachment};
use crate::diffuse::Harmonic;
use crate::energy::Energy;
use crate::energy::springs::Springs;
use crate::minimize::descent::longest;
use crate::minimize::newton::{SolveOptions, SolveReport, minimize};
use crate::minimize::system::{Problem, System};
use crate::{SolveError, check_length};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::{Progress, tick};
use risorius_linalg::{BlockMatrix, SparseCholesky, SparseError, Stencil};
use risorius_mesh::TetMesh;

/// No element of a start may have a smaller `det F`.
const UPRIGHT: f64 = 0.02;

/// Most stages in which held nodes are moved.
const STAGES: usize = 60;

/// Newton steps after a stage.
const RELAXING: usize = 4;

/// Rounds of contact detection that bring nearly every state to rest.
pub const ROUNDS: usize = 6;

/// The first rounds take few Newton steps: planes that were found far from the result are soon out of date.
const FIRST_ROUNDS: usize = 2;
const FIRST_STEPS: usize = 10;

/// In the first rounds after those, the stiffness of contacts that are too deep grows by this factor; not
/// beyond the last power of it, or Newton steps get short.
const HARDER: f64 = 3.0;
const HARDEST: i32 = 2;

/// Contacts deeper than this many walls are too deep.
const TOO_DEEP: f64 = 2.0;

/// Rounds end when nodes move by less than this, meters, and no point is too deep.
const SETTLED: f64 = 2e-5;

/// What never changes about a body: its topology, its held nodes, its surface.
pub struct Statics {
    tets: Vec<Stencil>,
    rest: Vec<DVec3>,
    system: System,
    harmonic: Harmonic,
    touch: Touch,
    /// The surface at rest, with its own overlaps.
    neutral: Posed,
}

/// What a solve did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StaticsReport {
    /// Newton steps, over all stages and rounds.
    pub iterations: usize,
    /// Rounds of contact detection.
    pub rounds: usize,
    /// Stages in which held nodes were moved.
    pub stages: usize,
    /// Largest force left at a free node, newtons.
    pub residual: f64,
    /// Whether the last solve met its tolerance.
    pub converged: bool,
    /// Smallest `det F`.
    pub smallest_det: f64,
    /// Pressing contacts.
    pub contacts: usize,
    /// Deepest penetration beyond that of the rest shape, meters.
    pub depth: f64,
    /// Its surface point.
    pub deepest: u32,
}

/// The energies at an equilibrium, for derivatives of it.
pub struct Sensitivity {
    factor: SparseCholesky<3>,
    /// Whether the second derivatives are the exact ones; if those are not positive definite, the projected
    /// ones are used.
    pub is_exact: bool,
}

/// What acts on a body.
#[derive(Clone, Copy)]
pub struct Acting<'a> {
    /// The energy of the flesh.
    pub energy: &'a dyn Energy,
    /// Springs with the stencils that the statics were prepared with; slack ones for none.
    pub springs: &'a Springs,
    /// Surface points without displacement, with teeth and eyes where bones put them.
    pub surface: &'a [DVec3],
}

impl Statics {
    /// For an energy over `elements`, and springs with the stencils of `springs`. `tets` carry the surface
    /// `touch`; `surface`: its points at rest.
    pub fn prepare(
        mesh: &TetMesh,
        elements: &[Stencil],
        springs: &[Stencil],
        held: &[bool],
        touch: &Touch,
        surface: Vec<DVec3>,
    ) -> Result<Self, SolveError> {
        check_length("held nodes", held.len(), mesh.nodes.len())?;
        check_length("surface points at rest", surface.len(), touch.n_points())?;
        let neutral = touch.posed(surface);
        let touch = touch.with_options(TouchOptions { overlap: Overlap::None, ..*touch.options() });
        Ok(Self {
            system: System::prepare(held, &[elements, springs, touch.carriers().stencils()])?,
            harmonic: Harmonic::prepare(mesh, held)?,
            tets: mesh.tets.clone(),
            rest: mesh.nodes.clone(),
            touch,
            neutral,
        })
    }

    /// Rest positions of the nodes.
    pub fn rest(&self) -> &[DVec3] {
        &self.rest
    }

    /// The surface points at rest.
    pub fn surface(&self) -> &[DVec3] {
        &self.neutral.points
    }

    /// Which nodes are held.
    pub fn held(&self) -> &[bool] {
        self.system.held()
    }

    /// Moves `x` to an equilibrium with held nodes at `places` (one for each node; only those of held nodes
    /// count).
    pub fn solve(
        &self,
        acting: &Acting,
        places: &[DVec3],
        x: &mut Vec<DVec3>,
        options: &SolveOptions,
        progress: &Progress,
    ) -> Result<StaticsReport, SolveError> {
        self.solve_in(acting, places, x, (options, ROUNDS), progress)
    }

    /// As [`Self::solve`], with at most `rounds` rounds of contact detection. One or two short ones lead near
    /// to the equilibrium: enough for a stop on the way, or from a start that is nearly there.
    pub fn solve_in(
        &self,
        acting: &Acting,
        places: &[DVec3],
        x: &mut Vec<DVec3>,
        (options, rounds): (&SolveOptions, usize),
        progress: &Progress,
    ) -> Result<StaticsReport, SolveError> {
        check_length("places of nodes", places.len(), self.rest.len())?;
        check_length("surface points", acting.surface.len(), self.neutral.points.len())?;
        let mut report = StaticsReport::default();
        if !self.is_upright(acting, x) {
            x.clone_from(&self.rest);
        }
        self.move_held(acting, places, x, options, &mut report, progress)?;
        self.settle(acting, x, (options, rounds), &mut report, progress)?;
        Ok(report)
    }

    fn is_upright(&self, acting: &Acting, x: &[DVec3]) -> bool {
        let n = acting.energy.stencils().len();
        x.len() == self.rest.len()
            && x.iter().all(|p| p.is_finite())
            && acting.energy.smallest_det(x, 0..n) > UPRIGHT
    }

    /// Moves held nodes to their places, and the others along.
    fn move_held(
        &self,
        acting: &Acting,
        places: &[DVec3],
        x: &mut [DVec3],
        options: &SolveOptions,
        report: &mut StaticsReport,
        progress: &Progress,
    ) -> Result<(), SolveError> {
        let held = self.system.held();
        let n = acting.energy.stencils().len();
        for stage in 0..STAGES {
            let way: Vec<[f64; 3]> = (0..x.len())
                .map(|i| if held[i] { (places[i] - x[i]).to_array() } else { [0.0; 3] })
                .collect();
            if way.iter().all(|d| *d == [0.0; 3]) {
                return Ok(());
            }
            tick(progress, "moving bones", stage as f32 / STAGES as f32)?;
            let d: Vec<DVec3> = self.harmonic.extend(&way)?.into_iter().map(DVec3::from_array).collect();
            let most = acting.energy.largest_step(x, &d, 0..n);
            let share = if most >= 2.0 { 1.0 } else { 0.5 * most };
            for i in 0..x.len() {
                x[i] = match held[i] && share == 1.0 {
                    true => places[i],
                    false => x[i] + d[i] * share,
                };
            }
            report.stages += 1;
            if share == 1.0 {
                return Ok(());
            }
            let few = SolveOptions { max_iterations: RELAXING, ..*options };
            // On the way to places that fold flesh its energy has no bound.
            let solved = self.minimize(acting, &[], x, &few, progress).map_err(|error| match error {
                SolveError::BadStart => SolveError::BonesFold,
                other => other,
            })?;
            report.iterations += solved.iterations;
        }
        Err(SolveError::BonesFold)
    }

    /// Newton's method in rounds of contact detection.
    fn settle(
        &self,
        acting: &Acting,
        x: &mut Vec<DVec3>,
        (options, rounds): (&SolveOptions, usize),
        report: &mut StaticsReport,
        progress: &Progress,
    ) -> Result<(), SolveError> {
        let wall = self.touch.options().wall;
        let deep = |contact: &Contact| -contact.room > TOO_DEEP * wall;
        let mut found = self.contacts(acting, x);
        for round in 0..rounds {
            let before = x.clone();
            let is_first = round < FIRST_ROUNDS && !found.is_empty();
            let few = SolveOptions { max_iterations: FIRST_STEPS.min(options.max_iterations), ..*options };
            let solved = self.minimize(acting, &found, x, if is_first { &few } else { options }, progress)?;
            report.rounds += 1;
            report.iterations += solved.iterations;
            (report.residual, report.smallest_det) = (solved.residual, solved.smallest_det);
            report.converged = solved.converged();
            let had = !found.is_empty();
            found = self.contacts(acting, x);
            let pressing = || found.iter().filter(|contact| contact.room < 0.0);
            report.contacts = pressing().count();
            (report.depth, report.deepest) = pressing().fold((0.0, 0), |deepest, contact| {
                if -contact.room > deepest.0 { (-contact.room, contact.points[0]) } else { deepest }
            });
            let moved = before.iter().zip(&*x).map(|(a, b)| *b - *a).collect::<Vec<_>>();
            let still = !had || longest(&moved) < SETTLED;
            if found.is_empty() && !is_first || (still && report.converged && !found.iter().any(deep)) {
                break;
            }
            let harder = HARDER.powi((round as i32 + 1).min(HARDEST));
            found.iter_mut().filter(|contact| deep(contact)).for_each(|contact| contact.stiffness *= harder);
        }
        Ok(())
    }

    fn minimize(
        &self,
        acting: &Acting,
        contacts: &[Contact],
        x: &mut [DVec3],
        options: &SolveOptions,
        progress: &Progress,
    ) -> Result<SolveReport, SolveError> {
        let contacts = self.pressed(contacts, x);
        let energies: [&dyn Energy; 3] = [acting.energy, acting.springs, &contacts];
        minimize(&Problem { system: &self.system, energies: &energies, loads: &[] }, x, options, progress)
    }

    fn pressed(&self, contacts: &[Contact], x: &[DVec3]) -> Contacts<'_> {
        Contacts::prepare(self.touch.carriers(), self.touch.attachments(), contacts, x)
    }

    /// The surface points at a state.
    pub fn surface_at(&self, acting: &Acting, x: &[DVec3]) -> Vec<DVec3> {
        let one = |(base, attachment): (&DVec3, &TetAttachment)| {
            *base + attachment.displacement(&self.tets, x, &self.rest)
        };
        acting.surface.par_iter().zip(self.touch.attachments()).with_min_len(2048).map(one).collect()
    }

    /// The contacts at a state, with the overlap that the surface has at rest.
    fn contacts(&self, acting: &Acting, x: &[DVec3]) -> Vec<Contact> {
        if self.touch.options().stiffness == 0.0 {
            return Vec::new();
        }
        let mut found = self.touch.find(&self.surface_at(acting, x), &self.neutral);
        let depth = |point: u32| self.neutral.depths[point as usize];
        for contact in &mut found {
            let [point, corners @ ..] = contact.points;
            let weights = &contact.coefficients[1..];
            let there: f64 = corners.iter().zip(weights).map(|(&corner, w)| -w * depth(corner)).sum();
            contact.room += depth(point).max(there);
            contact.wall = self.touch.options().wall.max(-1.4 * contact.room);
        }
        found
    }

    /// The second derivatives at an equilibrium, factored.
    pub fn sensitivity(&self, acting: &Acting, x: &[DVec3]) -> Result<Sensitivity, SolveError> {
        let contacts = self.pressed(&self.contacts(acting, x), x);
        let energies: [&dyn Energy; 3] = [acting.energy, acting.springs, &contacts];
        let problem = Problem { system: &self.system, energies: &energies, loads: &[] };
        problem.check(x)?;
        let layout = self.system.vector()?;
        let mut matrix = BlockMatrix::zeros(&layout.pattern);
        problem.assemble(layout, x, true, &mut matrix);
        match SparseCholesky::new(&layout.pattern, &matrix) {
            Ok(factor) => Ok(Sensitivity { factor, is_exact: true }),
            Err(SparseError::NotPositiveDefinite { .. }) => {
                Ok(Sensitivity { factor: problem.stiffness_factor(x)?, is_exact: false })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The change of the forces on free nodes, energy's gradient, for a motion `d` of the held nodes.
    pub fn forces_of_motion(&self, acting: &Acting, x: &[DVec3], d: &[DVec3]) -> Vec<DVec3> {
        let contacts = self.pressed(&self.contacts(acting, x), x);
        let energies: [&dyn Energy; 3] = [acting.energy, acting.springs, &contacts];
        let problem = Problem { system: &self.system, energies: &energies, loads: &[] };
        let size = longest(d);
        if size == 0.0 {
            return vec![DVec3::ZERO; x.len()];
        }
        // A micrometer: rounding and curvature of the energy are both below 1e-6 of the result.
        let h = 1e-6 / size;
        let mut at = problem.new_evaluation();
        let mut forces = |h: f64| {
            let moved: Vec<DVec3> = x.iter().zip(d).map(|(p, d)| *p + *d * h).collect();
            problem.evaluate(&moved, &mut at);
            at.gradient.clone()
        };
        let (plus, minus) = (forces(h), forces(-h));
        plus.iter().zip(&minus).map(|(a, b)| (*a - *b) / (2.0 * h)).collect()
    }
}

impl Sensitivity {
    /// The motions of the nodes that balance changes of forces: `-H^-1 dg` for each.
    pub fn responses(&self, changes: &[Vec<DVec3>]) -> Vec<Vec<DVec3>> {
        let mut many: Vec<Vec<[f64; 3]>> =
            changes.iter().map(|change| change.iter().map(|g| (-*g).to_array()).collect()).collect();
        self.factor.solve_many(&mut many);
        many.into_iter().map(|d| d.into_iter().map(DVec3::from_array).collect()).collect()
    }
}

#[cfg(test)]
mod tests;
