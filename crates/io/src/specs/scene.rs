//! Scenes as JSON: colliders, wind and forces ([`risorius_perform::Scene`]), in meters, seconds and newtons,
//! +Y up, +Z front.
//!
//! ```json
//! {
//!   "colliders": [
//!     {"sphere": {"radius": 0.03}, "space": "head", "keys": [
//!       {"time": 0.0, "position": [0.11, -0.03, 0.06]},
//!       {"time": 0.2, "position": [0.08, -0.03, 0.06]}]},
//!     {"capsule": {"ends": [[0, 0, 0], [0, 0.1, 0]], "radius": 0.01}, "keys": [{"position": [0, 0, 0.2]}]},
//!     {"mesh": {"file": "hand.obj", "unit": "cm"},
//!      "keys": [{"position": [0, 0, 0], "rotation": [0, 0, 0, 1]}]}
//!   ],
//!   "wind": [{"time": 0, "velocity": [0, 0, -20]}],
//!   "forces": [{"region": "cheeks", "space": "head", "keys": [{"newtons": [0, 0, 0.5]}]}],
//!   "held": [{"region": "lips_lower"}]
//! }
//! ```
//!
//! Defaults: `space` is `world`, `time` is 0, `position` is the origin, `rotation` (x, y, z, w) is the
//! identity. All problems are reported, each with its entry.

use crate::IoError;
use crate::open::{OpenOptions, extension, open_rig};
use crate::specs::weights::json_error;
use glam::DVec3;
use risorius_base::Axis;
use risorius_base::Progress;
use risorius_base::space::parse_unit;
use risorius_mesh::{Edges, Polygons, TriMesh};
use risorius_perform::HeadPath;
use risorius_perform::curve::Curve;
use risorius_perform::scene::model::{Collider, ExpressedIn, Force, Form, Scene};
use risorius_rig::HeadMotion;
use risorius_rig::meters;
use risorius_solve::ObstacleShape;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

const FORMAT: &str = "scene JSON";

/// A scene as written in the file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SceneSpec {
    /// Objects that push the skin.
    pub colliders: Vec<ColliderSpec>,
    /// Velocity of the air.
    pub wind: Vec<WindKey>,
    /// Forces on regions.
    pub forces: Vec<ForceSpec>,
    /// Regions that stay in their place.
    pub held: Vec<HeldSpec>,
}

/// A region that stays where it is in the neutral.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldSpec {
    /// Name of the region.
    pub region: String,
}

/// One collider: exactly one of `sphere`, `capsule` and `mesh`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColliderSpec {
    /// A ball.
    pub sphere: Option<SphereSpec>,
    /// Points near a segment.
    pub capsule: Option<CapsuleSpec>,
    /// A closed mesh of a file.
    pub mesh: Option<MeshSpec>,
    /// `head` or `world`.
    pub space: SpaceSpec,
    /// Its motion.
    pub keys: Vec<PlaceKey>,
}

/// A ball around its own origin.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SphereSpec {
    /// Meters.
    pub radius: f64,
}

/// All points within a radius of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapsuleSpec {
    /// Ends of the segment, in meters.
    pub ends: [[f64; 3]; 2],
    /// Meters.
    pub radius: f64,
}

/// A mesh, from any file format that has a surface.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshSpec {
    /// Relative to the scene's own folder.
    pub file: String,
    /// m, cm, mm ...; when left out: meters, or the unit of an FBX file.
    pub unit: Option<String>,
}

/// The frame that positions and directions are expressed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpaceSpec {
    /// The world, in which the head moves.
    #[default]
    World,
    /// The head itself.
    Head,
}

/// A rigid transform at a time.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlaceKey {
    /// Seconds.
    pub time: f64,
    /// Meters.
    pub position: [f64; 3],
    /// A quaternion, x y z w.
    pub rotation: [f64; 4],
}

impl Default for PlaceKey {
    fn default() -> Self {
        Self { time: 0.0, position: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] }
    }
}

/// The velocity of the air at a time.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindKey {
    /// Seconds.
    #[serde(default)]
    pub time: f64,
    /// Meters per second, in the world.
    pub velocity: [f64; 3],
}

/// A force on a region.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForceSpec {
    /// Name of the region.
    pub region: String,
    /// `head` or `world`.
    #[serde(default)]
    pub space: SpaceSpec,
    /// The force over time.
    pub keys: Vec<ForceKey>,
}

/// A force at a time.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForceKey {
    /// Seconds.
    #[serde(default)]
    pub time: f64,
    /// Total force on the region.
    pub newtons: [f64; 3],
}

/// Parses a scene file.
pub fn read(bytes: &[u8]) -> Result<SceneSpec, IoError> {
    serde_json::from_slice(crate::formats::text::without_bom(bytes)).map_err(|e| json_error(FORMAT, &e))
}

impl SceneSpec {
    /// Builds the scene. `folder` contains its meshes, `region` finds a region's vertices. Notes for the user
    /// are added to `notes`.
    pub fn resolve(
        &self,
        folder: &Path,
        region: &dyn Fn(&str) -> Result<Vec<u32>, String>,
        notes: &mut Vec<String>,
        progress: &Progress,
    ) -> Result<Scene, IoError> {
        let mut problems = Vec::new();
        let mut scene = Scene::default();
        for (i, spec) in self.colliders.iter().enumerate() {
            let place = format!("colliders[{i}]");
            match spec.resolve(folder, &place, notes, progress) {
                Ok(collider) => scene.colliders.push(collider),
                Err(problem) => problems.push(format!("{place}: {problem}")),
            }
        }
        let wind: Vec<(f64, [f64; 3])> = self.wind.iter().map(|key| (key.time, key.velocity)).collect();
        match curve(&wind) {
            Ok(wind) => scene.wind = wind,
            Err(problem) => problems.push(format!("wind: {problem}")),
        }
        for (i, spec) in self.forces.iter().enumerate() {
            let keys: Vec<(f64, [f64; 3])> = spec.keys.iter().map(|key| (key.time, key.newtons)).collect();
            match region(&spec.region).and_then(|vertices| Ok((vertices, some_keys(&keys)?))) {
                Ok((vertices, newtons)) => {
                    scene.forces.push(Force { vertices, newtons, expressed_in: spec.space.into() });
                }
                Err(problem) => problems.push(format!("forces[{i}]: {problem}")),
            }
        }
        for (i, spec) in self.held.iter().enumerate() {
            match region(&spec.region) {
                Ok(vertices) => scene.held.push(vertices),
                Err(problem) => problems.push(format!("held[{i}]: {problem}")),
            }
        }
        match problems.is_empty() {
            true => Ok(scene),
            false => Err(IoError::malformed(FORMAT, "entries", problems.join("; "))),
        }
    }
}

impl From<SpaceSpec> for ExpressedIn {
    fn from(space: SpaceSpec) -> Self {
        match space {
            SpaceSpec::World => Self::World,
            SpaceSpec::Head => Self::Head,
        }
    }
}

impl ColliderSpec {
    fn resolve(
        &self,
        folder: &Path,
        place: &str,
        notes: &mut Vec<String>,
        progress: &Progress,
    ) -> Result<Collider, String> {
        let form = match (&self.sphere, &self.capsule, &self.mesh) {
            (Some(SphereSpec { radius }), None, None) => {
                Form::Sphere { radius: positive("radius", *radius)? }
            }
            (None, Some(CapsuleSpec { ends, radius }), None) => {
                if !ends.iter().flatten().all(|x| x.is_finite()) {
                    return Err(format!("`ends` are {ends:?}; all must be finite numbers"));
                }
                Form::Capsule { ends: ends.map(DVec3::from), radius: positive("radius", *radius)? }
            }
            (None, None, Some(mesh)) => Form::Mesh(Arc::new(mesh.open(folder, place, notes, progress)?)),
            _ => return Err("give exactly one of `sphere`, `capsule` and `mesh`".into()),
        };
        if self.keys.is_empty() {
            return Err("`keys` is empty; give one key for an object at rest".into());
        }
        let keys = HeadMotion {
            times_secs: self.keys.iter().map(|key| key.time).collect(),
            positions_m: self.keys.iter().map(|key| key.position).collect(),
            rotations_xyzw: self.keys.iter().map(|key| key.rotation).collect(),
        };
        ascending(&keys.times_secs)?;
        for (i, (p, q)) in keys.positions_m.iter().zip(&keys.rotations_xyzw).enumerate() {
            let size = q.iter().map(|x| x * x).sum::<f64>().sqrt();
            if !p.iter().all(|x| x.is_finite()) || !(0.5..2.0).contains(&size) {
                return Err(format!(
                    "keys[{i}]: `rotation` must be a unit quaternion x, y, z, w, and `position` finite"
                ));
            }
        }
        Ok(Collider { form, path: HeadPath::keyed(&keys), expressed_in: self.space.into() })
    }
}

impl MeshSpec {
    fn open(
        &self,
        folder: &Path,
        place: &str,
        notes: &mut Vec<String>,
        progress: &Progress,
    ) -> Result<ObstacleShape, String> {
        let path = folder.join(&self.file);
        let unit = self.unit.as_deref().map(parse_unit).transpose().map_err(|e| e.to_string())?;
        let axis = |index: usize| Some(Axis { index, negative: false });
        let options = match extension(&path).as_str() {
            "fbx" => OpenOptions { meters_per_unit: unit, ..OpenOptions::default() },
            _ => OpenOptions {
                meters_per_unit: unit.or(Some(1.0)),
                up: axis(1),
                front: axis(2),
                ..OpenOptions::default()
            },
        };
        let rig =
            open_rig(&path, &options, progress).map_err(|error| format!("{}: {error}", path.display()))?.rig;
        let surface = TriMesh { positions: meters::neutral(&rig), triangles: rig.triangles() };
        let shown = path.display();
        if surface.triangles.is_empty() || !surface.positions.iter().all(|p| p.is_finite()) {
            return Err(format!("{shown} has no faces, or vertices that are not finite"));
        }
        let n_open = Edges::of(&Polygons::from_triangles(&surface.triangles)).boundary().len();
        if n_open > 0 {
            notes.push(format!(
                "{place}: {shown} is open at {n_open} edges; close it, or skin may get behind it there"
            ));
        }
        let corners = surface.triangles.iter().flatten().map(|&v| surface.positions[v as usize]);
        let (low, high) =
            corners.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)));
        let size = (high - low).length();
        if !(0.001..10.0).contains(&size) {
            notes.push(format!("{place}: {shown} is {size:.3} m in size; is its `unit` right?"));
        }
        Ok(ObstacleShape::prepare(surface))
    }
}

fn positive(what: &str, value: f64) -> Result<f64, String> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(format!("`{what}` is {value}; it must be positive"))
    }
}

fn ascending(times: &[f64]) -> Result<(), String> {
    if let Some(time) = times.iter().find(|t| !t.is_finite()) {
        return Err(format!("a `time` is {time}; it must be a number of seconds"));
    }
    match times.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(i) => Err(format!("keys[{}]: `time` {} does not come after {}", i + 1, times[i + 1], times[i])),
        None => Ok(()),
    }
}

fn curve(keys: &[(f64, [f64; 3])]) -> Result<Curve<DVec3>, String> {
    let times: Vec<f64> = keys.iter().map(|key| key.0).collect();
    ascending(&times)?;
    if let Some(i) = keys.iter().position(|key| !key.1.iter().all(|x| x.is_finite())) {
        return Err(format!("keys[{i}]: the values are {:?}; all must be finite numbers", keys[i].1));
    }
    let values: Vec<DVec3> = keys.iter().map(|key| key.1.into()).collect();
    Ok(Curve::keyed(&times, &values))
}

fn some_keys(keys: &[(f64, [f64; 3])]) -> Result<Curve<DVec3>, String> {
    if keys.is_empty() { Err("`keys` is empty; give at least one".into()) } else { curve(keys) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_base::progress::no_progress;

    fn resolve(text: &str) -> Result<Scene, String> {
        let folder = tempfile::tempdir().unwrap();
        let tetrahedron = "v 0 0 0\nv 10 0 0\nv 0 10 0\nv 0 0 10\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
        std::fs::write(folder.path().join("t.obj"), tetrahedron).unwrap();
        let region =
            |name: &str| if name == "lips" { Ok(vec![1, 2]) } else { Err(format!("there is no {name}")) };
        let spec = read(text.as_bytes()).map_err(|e| e.to_string())?;
        spec.resolve(folder.path(), &region, &mut Vec::new(), &no_progress).map_err(|e| e.to_string())
    }

    #[test]
    fn everything_a_scene_can_hold_is_read() {
        let scene = resolve(
            r#"{"colliders": [
                {"sphere": {"radius": 0.03}, "space": "head", "keys": [{"time": 0, "position": [1, 2, 3]}, {"time": 2}]},
                {"capsule": {"ends": [[0, 0, 0], [0, 1, 0]], "radius": 0.5}, "keys": [{"rotation": [0, 0, 1, 0]}]},
                {"mesh": {"file": "t.obj", "unit": "cm"}, "keys": [{}]}],
              "wind": [{"velocity": [0, 0, -5]}],
              "forces": [{"region": "lips", "keys": [{"time": 0.5, "newtons": [1, 0, 0]}]}],
              "held": [{"region": "lips"}]}"#,
        )
        .unwrap();
        assert_eq!(scene.held, [vec![1, 2]]);
        assert_eq!(
            scene.colliders.iter().map(|c| c.expressed_in == ExpressedIn::Head).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert_eq!(scene.colliders[0].path.at(1.0).translation, DVec3::new(0.5, 1.0, 1.5));
        let Form::Mesh(solid) = &scene.colliders[2].form else { panic!("no mesh") };
        assert!((solid.surface().volume() - 1e-3 / 6.0).abs() < 1e-9, "10 cm: {}", solid.surface().volume());
        assert_eq!(scene.wind.at(9.0), Some(DVec3::new(0.0, 0.0, -5.0)));
        assert_eq!(
            (&scene.forces[0].vertices[..], scene.forces[0].newtons.at(0.0)),
            (&[1, 2][..], Some(DVec3::X))
        );
    }

    #[test]
    fn every_problem_is_reported_with_its_place() {
        for (text, words) in [
            ("{\n  \"windy\": []}", "line 2"),
            (r#"{"wind": [{"velocity": [1, 2]}]}"#, "line 1"),
            (r#"{"colliders": [{"keys": [{}]}]}"#, "colliders[0]: give exactly one of `sphere`"),
            (r#"{"colliders": [{"sphere": {"radius": -1}, "keys": [{}]}]}"#, "`radius` is -1"),
            (r#"{"colliders": [{"sphere": {"radius": 1}}]}"#, "`keys` is empty"),
            (
                r#"{"colliders": [{"sphere": {"radius": 1}, "keys": [{"time": 1}, {"time": 1}]}]}"#,
                "keys[1]: `time` 1",
            ),
            (
                r#"{"colliders": [{"sphere": {"radius": 1}, "keys": [{"rotation": [0, 0, 0, 0]}]}]}"#,
                "unit quaternion",
            ),
            (r#"{"colliders": [{"mesh": {"file": "no.obj"}, "keys": [{}]}]}"#, "no.obj"),
            (
                r#"{"colliders": [{"mesh": {"file": "t.obj", "unit": "yd"}, "keys": [{}]}]}"#,
                "'yd' is not a unit",
            ),
            (
                r#"{"colliders": [{"sphere": {"radius": 1}, "space": "here", "keys": [{}]}]}"#,
                "`world` or `head`",
            ),
            (
                r#"{"forces": [{"region": "lip", "keys": [{"newtons": [1, 0, 0]}]}]}"#,
                "forces[0]: there is no lip",
            ),
            (r#"{"forces": [{"region": "lips", "keys": []}]}"#, "forces[0]: `keys` is empty"),
            (r#"{"held": [{"region": "lip"}]}"#, "held[0]: there is no lip"),
        ] {
            let problem = resolve(text).unwrap_err();
            assert!(problem.contains(words), "no '{words}' in: {problem}");
        }
        let two = resolve(r#"{"colliders": [{"keys": [{}]}, {"sphere": {"radius": 0}, "keys": [{}]}]}"#)
            .unwrap_err();
        assert!(two.contains("colliders[0]") && two.contains("colliders[1]"), "{two}");
    }
}
