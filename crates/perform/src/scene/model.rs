//! What acts on a face besides the motion of its head: things that push it, wind, forces; and what of it is
//! stiffer or heavier.
//!
//! *Colliders* are rigid and follow keyframes. Skin stays out of them; flesh gives way, they do not.
//!
//! *Wind* is a velocity w of the air in the world. A piece of visible skin with the area vector A (outward
//! normal times area) that the head moves at the velocity u meets the air at `v = w - u` and bears its
//! dynamic pressure on the area that faces it:
//!
//! ```text
//! f = 1/2 rho |v|^2 max(0, -A . v/|v|) v/|v|,    rho = 1.2 kg/m^3
//! ```
//!
//! so a face bears the pressure times its frontal area. 10 m/s press with 60 Pa, as a layer of 5 mm of flesh
//! weighs. Air does not flow around anything: no lift, no gusts, no shelter behind a nose. Flesh does not
//! slow down in it by its own motion. Wind acts on top of what the artist made.
//!
//! *Forces* are newtons on a region, spread over it by area.
//!
//! *Factors* make regions stiffer or heavier ([`crate::scene::factors`]). *Touch* names regions that are kept
//! apart ([`crate::collision_pairs`]).
//!
//! All is in meters, seconds and newtons, +Y up, +Z the way the face looks, +X the character's left.

use crate::curve::Curve;
use crate::error::PerformError;
use crate::head_path::HeadPath;
use glam::DVec3;
use risorius_base::{Fingerprint, Rigid};
use risorius_solve::{Obstacle, ObstacleShape};
use std::sync::Arc;

/// Density of air, kg/m^3.
pub const AIR: f64 = 1.2;

/// Which axes positions and directions are along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpressedIn {
    /// Those of the world, in which the head moves.
    #[default]
    World,
    /// Those of the head, which move with it.
    Head,
}

/// The form of a collider, about its own origin.
#[derive(Debug, Clone)]
pub enum Form {
    /// A ball around the origin.
    Sphere {
        /// Meters.
        radius: f64,
    },
    /// All points within a radius of a segment.
    Capsule {
        /// Ends of the segment, meters.
        ends: [DVec3; 2],
        /// Meters.
        radius: f64,
    },
    /// A closed mesh in meters.
    Mesh(Arc<ObstacleShape>),
}

/// A rigid thing that skin stays out of.
#[derive(Debug, Clone)]
pub struct Collider {
    /// What it looks like.
    pub form: Form,
    /// Where it goes.
    pub path: HeadPath,
    /// What its path is told in.
    pub expressed_in: ExpressedIn,
}

/// A force on a region.
#[derive(Debug, Clone, PartialEq)]
pub struct Force {
    /// Rig vertices, ascending.
    pub vertices: Vec<u32>,
    /// Newtons over the whole region.
    pub newtons: Curve<DVec3>,
    /// What its direction is told in.
    pub expressed_in: ExpressedIn,
}

/// A region that is stiffer or heavier than the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Rig vertices, ascending.
    pub vertices: Vec<u32>,
    /// Of all within; positive.
    pub factor: f64,
}

/// All that acts; nothing by default.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Things that push.
    pub colliders: Vec<Collider>,
    /// Velocity of the air in the world, m/s. Empty: no air. Zero: a moving head feels the air that stands
    /// still.
    pub wind: Curve<DVec3>,
    /// Forces on regions.
    pub forces: Vec<Force>,
    /// On mu and lambda, besides the factor for all flesh.
    pub stiffness: Vec<Factor>,
    /// On masses.
    pub mass: Vec<Factor>,
    /// Pairs of regions, rig vertices in ascending order, that are kept apart besides lips and lids.
    pub touch: Vec<[Vec<u32>; 2]>,
}

impl Scene {
    /// What of the scene cannot be on a rig of so many vertices.
    pub fn check(&self, n_vertices: usize) -> Result<(), PerformError> {
        let wrong = |what: String| Err(PerformError::Scene { what });
        let positive = |x: f64| x > 0.0 && x.is_finite();
        for (i, collider) in self.colliders.iter().enumerate() {
            match &collider.form {
                Form::Sphere { radius } | Form::Capsule { radius, .. } if !positive(*radius) => {
                    return wrong(format!("collider {i}: its radius is {radius} m; it must be positive"));
                }
                Form::Mesh(solid) if solid.surface().triangles.is_empty() => {
                    return wrong(format!("collider {i}: its mesh has no faces"));
                }
                _ => (),
            }
        }
        for (what, factors) in [("stiffness", &self.stiffness), ("mass", &self.mass)] {
            if let Some(bad) = factors.iter().find(|f| !positive(f.factor)) {
                return wrong(format!(
                    "the factor on the {what} of a region is {}; it must be positive",
                    bad.factor
                ));
            }
        }
        let factors = self.stiffness.iter().chain(&self.mass).map(|f| &f.vertices);
        let regions =
            factors.chain(self.forces.iter().map(|f| &f.vertices)).chain(self.touch.iter().flatten());
        for region in regions {
            let ascending = region.is_sorted_by(|a, b| a < b);
            if region.is_empty() || !ascending || region.last().is_some_and(|&v| v as usize >= n_vertices) {
                return wrong(format!("a region of {} vertices does not fit the rig", region.len()));
            }
        }
        Ok(())
    }

    /// Colliders at a time, told in the head, which is at `head` then.
    pub fn obstacles(&self, head: &Rigid, time_secs: f64) -> Vec<Obstacle> {
        let one = |collider: &Collider| {
            let place = match collider.expressed_in {
                ExpressedIn::Head => collider.path.at(time_secs),
                ExpressedIn::World => head.inverse().after(&collider.path.at(time_secs)),
            };
            match &collider.form {
                Form::Sphere { radius } => Obstacle::Sphere { center: place.translation, radius: *radius },
                Form::Capsule { ends, radius } => {
                    Obstacle::Capsule { ends: ends.map(|p| place.apply(p)), radius: *radius }
                }
                Form::Mesh(solid) => Obstacle::Mesh { solid: solid.clone(), place },
            }
        };
        self.colliders.iter().map(one).collect()
    }

    /// Of what does not change with time and counts from the first frame on.
    pub fn lasting_fingerprint(&self) -> Fingerprint {
        // Whoever adds to the scene has to say here or in `fingerprint_between` how it counts.
        let Self { colliders, wind, forces: _, stiffness, mass, touch } = self;
        let mut print = Fingerprint::default().bytes(&[u8::from(wind.is_empty())]);
        for Collider { form, path: _, expressed_in } in colliders {
            print = print.bytes(&[*expressed_in as u8]);
            print = match form {
                Form::Sphere { radius } => print.bytes(b"s").numbers([*radius]),
                Form::Capsule { ends: [a, b], radius } => {
                    print.bytes(b"c").numbers(a.to_array()).numbers(b.to_array()).numbers([*radius])
                }
                Form::Mesh(solid) => {
                    let surface = solid.surface();
                    let numbers = surface.positions.iter().flat_map(DVec3::to_array);
                    with_vertices(print.bytes(b"m").numbers(numbers), surface.triangles.as_flattened())
                }
            };
        }
        for factors in [stiffness, mass] {
            print = print.bytes(b"f");
            for Factor { vertices, factor } in factors {
                print = with_vertices(print.numbers([*factor]), vertices);
            }
        }
        touch.iter().flatten().fold(print.bytes(b"t"), |print, region| with_vertices(print, region))
    }

    /// Of what acts between two times.
    pub fn fingerprint_between(&self, span_secs: [f64; 2]) -> Fingerprint {
        let mut print = Fingerprint::default().numbers(self.wind.knots(span_secs));
        for collider in &self.colliders {
            print = print.bytes(b"c").numbers(collider.path.knots(span_secs));
        }
        // Forces that are nothing do nothing.
        for Force { vertices, newtons, expressed_in } in
            self.forces.iter().filter(|f| !f.newtons.is_zero(span_secs))
        {
            print = with_vertices(print.bytes(&[*expressed_in as u8]), vertices)
                .numbers(newtons.knots(span_secs));
        }
        print
    }
}

fn with_vertices(print: Fingerprint, vertices: &[u32]) -> Fingerprint {
    let print = print.bytes(&(vertices.len() as u64).to_le_bytes());
    vertices.iter().fold(print, |print, v| print.bytes(&v.to_le_bytes()))
}
