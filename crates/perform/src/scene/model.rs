//! What acts on a face besides the motion of its head: colliders, wind, forces, and regions that are stiffer
//! or heavier.
//!
//! *Colliders* are rigid and follow keyframes. Skin does not penetrate them, and the flesh yields.
//!
//! *Wind* is a velocity w of the air in the world. A piece of visible skin with the area vector A (outward
//! normal times area), moved by the head at velocity u, meets the air at `v = w - u` and bears its dynamic
//! pressure on the projected area:
//!
//! ```text
//! f = 1/2 rho |v|^2 max(0, -A . v/|v|) v/|v|,    rho = 1.2 kg/m^3
//! ```
//!
//! so a face bears the pressure times its frontal area. At 10 m/s that is 60 Pa, about the weight of a 5 mm
//! layer of flesh. There is no flow model: no lift, no gusts, no lee behind the nose, no damping of the
//! flesh's own motion. Wind acts in addition to the artist's animation.
//!
//! *Forces* are newtons on a region, spread over it by area.
//!
//! *Factors* make regions stiffer or heavier ([`crate::scene::factors`]). *Touch* lists further collision
//! pairs of regions ([`crate::collision_pairs`]). *Held* regions keep their place in the head frame, as if a
//! finger pinned them to the neutral; only methods that draw flesh to targets can hold skin.
//!
//! Units are meters, seconds and newtons; +Y is up, +Z the way the face looks, +X the character's left.

use crate::curve::Curve;
use crate::error::PerformError;
use crate::head_path::HeadPath;
use glam::DVec3;
use risorius_base::{Fingerprint, Rigid};
use risorius_solve::{Obstacle, ObstacleShape};
use std::sync::Arc;

/// Density of air, kg/m^3.
pub const AIR: f64 = 1.2;

/// The frame in which positions and directions are expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpressedIn {
    /// The world, in which the head moves.
    #[default]
    World,
    /// The head frame, which moves with the head.
    Head,
}

/// The shape of a collider, in its own coordinates.
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

/// A rigid body that skin does not penetrate.
#[derive(Debug, Clone)]
pub struct Collider {
    /// Its shape.
    pub form: Form,
    /// Its path.
    pub path: HeadPath,
    /// The frame in which its path is expressed.
    pub expressed_in: ExpressedIn,
}

/// A force on a region.
#[derive(Debug, Clone, PartialEq)]
pub struct Force {
    /// Rig vertices, ascending.
    pub vertices: Vec<u32>,
    /// Newtons over the whole region.
    pub newtons: Curve<DVec3>,
    /// The frame in which its direction is expressed.
    pub expressed_in: ExpressedIn,
}

/// A region that is stiffer or heavier than the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Rig vertices, ascending.
    pub vertices: Vec<u32>,
    /// The factor within the region; positive.
    pub factor: f64,
}

/// Everything that acts on a face; nothing by default.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Rigid bodies that push the skin.
    pub colliders: Vec<Collider>,
    /// Velocity of the air in the world, m/s. Empty: no air. Zero: still air, which a moving head meets.
    pub wind: Curve<DVec3>,
    /// Forces on regions.
    pub forces: Vec<Force>,
    /// Factors on mu and lambda, in addition to the factor for all flesh.
    pub stiffness: Vec<Factor>,
    /// Factors on masses.
    pub mass: Vec<Factor>,
    /// Collision pairs besides lips and lids: pairs of regions, rig vertices in ascending order.
    pub touch: Vec<[Vec<u32>; 2]>,
    /// Regions that stay where they are in the neutral, rig vertices in ascending order.
    pub held: Vec<Vec<u32>>,
}

impl Scene {
    /// Fails if the scene is invalid for a rig with `n_vertices` vertices.
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
        let regions = factors
            .chain(self.forces.iter().map(|f| &f.vertices))
            .chain(self.touch.iter().flatten())
            .chain(&self.held);
        for region in regions {
            let ascending = region.is_sorted_by(|a, b| a < b);
            if region.is_empty() || !ascending || region.last().is_some_and(|&v| v as usize >= n_vertices) {
                return wrong(format!(
                    "a region of {} vertices is empty, not ascending or beyond the rig's vertices",
                    region.len()
                ));
            }
        }
        Ok(())
    }

    /// Colliders at a time, expressed in the head frame; `head` is `world_from_head` at that time.
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

    /// Fingerprint of what does not change with time and counts from the first frame on.
    pub(crate) fn lasting_fingerprint(&self) -> Fingerprint {
        // Destructured without `..`: a new field must be hashed here or in `fingerprint_between`.
        let Self { colliders, wind, forces: _, stiffness, mass, touch, held } = self;
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
        let print =
            touch.iter().flatten().fold(print.bytes(b"t"), |print, region| with_vertices(print, region));
        held.iter().fold(print.bytes(b"h"), |print, region| with_vertices(print, region))
    }

    /// Fingerprint of what acts between two times.
    pub(crate) fn fingerprint_between(&self, span_secs: [f64; 2]) -> Fingerprint {
        let mut print = Fingerprint::default().numbers(self.wind.knots(span_secs));
        for collider in &self.colliders {
            print = print.bytes(b"c").numbers(collider.path.knots(span_secs));
        }
        // Forces that are zero have no effect.
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
