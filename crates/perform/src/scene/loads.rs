//! Forces at the nodes of flesh whose head moves: gravity, inertia beyond what stepping adds, and the scene.
//!
//! The sculpted shape of an upright head already includes gravity, so only the *change* of gravity relative
//! to the head acts, `m (R^-1 g - g)`. The gain scales that change and the inertial force of the head's
//! motion. Everything is expressed in the head frame.

use crate::scene::forces::{Acting, Moment};
use glam::{DQuat, DVec3};
use risorius_base::Rigid;

/// Loads on the nodes, prepared.
pub(crate) struct Loads<'a> {
    /// Of each node, kilograms.
    pub masses: Vec<f64>,
    /// Downwards in the world, m/s^2.
    pub gravity: f64,
    /// Factor on what the motion of the head does.
    pub gain: f64,
    /// Of the scene.
    pub acting: Acting<'a>,
}

impl Loads<'_> {
    /// The change of gravity relative to the head; none for an upright head.
    pub fn resting(&self, head: &Rigid) -> Vec<DVec3> {
        let down = DVec3::NEG_Y * self.gravity;
        if head.rotation == DQuat::IDENTITY || self.gravity == 0.0 {
            return Vec::new();
        }
        let pull = (head.rotation.inverse() * down - down) * self.gain;
        self.masses.iter().map(|&m| pull * m).collect()
    }

    /// The inertia of flesh at `rest` that moves rigidly with the head, `times` over.
    pub fn apparent(&self, moment: &Moment, rest: &[DVec3], times: f64) -> Vec<DVec3> {
        if times == 0.0 || moment.acceleration.is_zero() {
            return Vec::new();
        }
        let back = moment.head.rotation.inverse();
        let one = |(p, m): (&DVec3, &f64)| back * moment.acceleration.at(*p) * (-m * times);
        rest.iter().zip(&self.masses).map(one).collect()
    }

    /// All forces. `rest`: the flesh in its pose; `facing`: area vectors of the skin at the ends of the
    /// step's segment, and `share` of the way between them.
    pub fn all(&self, moment: &Moment, rest: &[DVec3], [a, b]: [&[DVec3]; 2], share: f64) -> Vec<DVec3> {
        let mut forces = self.resting(&moment.head);
        add(&mut forces, self.apparent(moment, rest, self.gain - 1.0));
        let facing: Vec<DVec3> = a.iter().zip(b).map(|(a, b)| a.lerp(*b, share)).collect();
        self.acting.add_forces(moment, &facing, &mut forces);
        forces
    }
}

/// Adds forces at the nodes; an empty list means none.
pub(crate) fn add(forces: &mut Vec<DVec3>, more: Vec<DVec3>) {
    if forces.is_empty() {
        *forces = more;
    } else {
        forces.iter_mut().zip(more).for_each(|(f, m)| *f += m);
    }
}
