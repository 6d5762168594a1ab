//! What acts on the face besides the motion of its head: the options of a performance, and their scene on a
//! face.

use crate::error::{Error, Result, in_file};
use glam::DVec3;
use risorius_anatomy::Regions;
use risorius_base::Progress;
use risorius_flesh::Face;
use risorius_io::open::read_file;
use risorius_io::specs::scene;
use risorius_perform::Scene;
use risorius_perform::curve::Curve;
use risorius_perform::scene::model::Factor;
use std::path::{Path, PathBuf};

/// What acts on the face.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SceneSource {
    /// Colliders, wind and forces, as a JSON file; meters, seconds, newtons, +Y up, +Z front.
    pub scene: Option<PathBuf>,
    /// Wind in the world, m/s.
    pub wind: Option<[f64; 3]>,
    /// Factors on stiffness; the factors of overlapping regions multiply.
    pub stiffness: Vec<RegionFactor>,
    /// Factors on mass; the factors of overlapping regions multiply.
    pub mass: Vec<RegionFactor>,
    /// Further collision pairs of regions, by name.
    pub touch: Vec<[String; 2]>,
}

/// A factor on a region.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionFactor {
    /// Name of the region; `None` for all flesh.
    pub region: Option<String>,
    /// The factor, positive.
    pub factor: f64,
}

impl SceneSource {
    /// The scene on a face, and the factors on the stiffness and mass of all flesh.
    pub(in crate::jobs) fn resolve(
        &self,
        face: &Face,
        notes: &mut Vec<String>,
        progress: &Progress,
    ) -> Result<(Scene, [f64; 2])> {
        let regions = Regions::new(&face.rig, &face.anatomy);
        let region = |name: &str| regions.vertices(name).map_err(|e| e.to_string());
        let mut scene = match &self.scene {
            Some(path) => {
                let spec = scene::read(&read_file(path)?).map_err(in_file(path))?;
                let folder = path.parent().unwrap_or(Path::new(""));
                spec.resolve(folder, &region, notes, progress).map_err(in_file(path))?
            }
            None => Scene::default(),
        };
        if let Some(wind) = self.wind {
            if !scene.wind.is_empty() {
                let message = "the scene already has wind; give only one";
                return Err(Error::request(message).with_options(&["wind"]));
            }
            scene.wind = Curve::constant(DVec3::from(wind));
        }
        let find =
            |option: &'static str, name: &str| regions.vertices(name).map_err(|e| Error::from(e).at(option));
        let mut global = [1.0; 2];
        let lists =
            [(&mut scene.stiffness, &self.stiffness, "stiffness"), (&mut scene.mass, &self.mass, "mass")];
        for ((list, factors, option), global) in lists.into_iter().zip(&mut global) {
            for RegionFactor { region, factor } in factors {
                match region {
                    None => *global *= factor,
                    Some(name) => list.push(Factor { vertices: find(option, name)?, factor: *factor }),
                }
            }
        }
        for [a, b] in &self.touch {
            scene.touch.push([find("touch", a)?, find("touch", b)?]);
        }
        Ok((scene, global))
    }
}
