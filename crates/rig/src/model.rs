//! Data types of a rig: parts, shapes, sliders, and the unit and axes of its coordinates.

use glam::DAffine3;
use risorius_base::Space;
use risorius_mesh::Polygons;
use std::collections::BTreeMap;

/// A blendshape face: a neutral, named shapes as sparse differences from it, and the sliders that drive them.
///
/// All parts share one list of vertices (`neutral`), welded: vertices that a file splits for texture seams or
/// hard edges are one here. [`Part::rig_vertex`] maps the file's numbering to this one.
#[derive(Debug, Clone, Default)]
pub struct Rig {
    /// Name of the asset, for display.
    pub name: String,
    /// Unit and axes of every coordinate in the rig.
    pub space: Space,
    /// Skin, eyes, teeth ...; each owns a range of the vertices.
    pub parts: Vec<Part>,
    /// Surface materials, referred to by [`FaceGroup::material`].
    pub materials: Vec<Material>,
    /// Rest position of every vertex, in the file's unit.
    pub neutral: Vec<[f32; 3]>,
    /// Every sculpted difference: those of sliders, in-betweens and combinations.
    pub shapes: Vec<Shape>,
    /// The sliders, in the order of weights.
    pub sliders: Vec<Slider>,
    /// Named sets of vertices (ascending), from the file's groups or a sidecar.
    pub regions: BTreeMap<String, Vec<u32>>,
}

/// One object of the artist's file.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Name of the mesh or node in the file.
    pub name: String,
    /// The rig vertices that belong to this part.
    pub vertices: std::ops::Range<usize>,
    /// For each vertex of the file, its rig vertex (global number). Several may share one.
    pub rig_vertex: Vec<u32>,
    /// Faces over file vertices (0-based, local to the part).
    pub faces: Polygons,
    /// Texture coordinates per corner of `faces`, origin at the top left as in glTF.
    pub corner_uvs: Option<Vec<[f32; 2]>>,
    /// The artist's shading normals per corner of `faces`.
    pub corner_normals: Option<Vec<[f32; 3]>>,
    /// Color per file vertex, linear RGBA.
    pub colors: Option<Vec<[f32; 4]>>,
    /// Runs of faces with one material, ascending by first face; empty when there are none.
    pub groups: Vec<FaceGroup>,
    /// From the object's own coordinates in the file to those of the rig, if they differ. It can be inverted.
    pub placement: Option<DAffine3>,
}

/// A vertex as the artist's file numbers it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FileVertex {
    /// Name of the part.
    pub part: String,
    /// Number of the vertex within the part, from 0.
    pub vertex: usize,
}

impl std::fmt::Display for FileVertex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "vertex {} of part '{}'", self.vertex, self.part)
    }
}

/// The faces from `first_face` to the next group's first face (or the end).
#[derive(Debug, Clone, PartialEq)]
pub struct FaceGroup {
    /// Name of the group or material in the file; may be empty.
    pub name: String,
    /// Number of the first face.
    pub first_face: usize,
    /// Index into [`Rig::materials`].
    pub material: Option<usize>,
}

/// The material of a surface, as far as it is kept from file to file.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Name in the file.
    pub name: String,
    /// Linear RGBA.
    pub base_color: [f32; 4],
    /// 0 dielectric, 1 metal.
    pub metallic: f32,
    /// 0 mirror, 1 matte.
    pub roughness: f32,
    /// Drawn from both sides.
    pub double_sided: bool,
    /// Base color texture, in the file's own encoding.
    pub image: Option<Image>,
}

/// An encoded picture (PNG or JPEG), kept without being decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// `image/png` or `image/jpeg`.
    pub mime: String,
    /// The encoded file.
    pub bytes: std::sync::Arc<[u8]>,
}

/// One sculpted difference from the neutral.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Name in the file.
    pub name: String,
    /// What drives it.
    pub role: Role,
    /// The difference at full strength.
    pub deltas: Deltas,
}

/// A sparse field of displacements: only the vertices that move.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deltas {
    /// Rig vertices, ascending, each once.
    pub vertices: Vec<u32>,
    /// Their displacements, in the file's unit.
    pub offsets: Vec<[f32; 3]>,
}

/// What drives a shape.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    /// The full shape of a slider.
    Slider(usize),
    /// The slider's shape at the value `at`, between 0 and 1; it fades to the full shape towards 1.
    Inbetween {
        /// Index into [`Rig::sliders`].
        slider: usize,
        /// Slider value at which this shape acts alone.
        at: f32,
    },
    /// A correction added when several sliders are active together.
    Combination {
        /// The sliders, at least two.
        drivers: Vec<Driver>,
        /// How their values determine the strength of the correction.
        rule: CombinationRule,
    },
}

/// One slider of a combination.
#[derive(Debug, Clone, PartialEq)]
pub struct Driver {
    /// Index into [`Rig::sliders`].
    pub slider: usize,
    /// With a value: the slider's contribution peaks there and falls to zero at 0 and 1 (a combination with
    /// an in-between).
    pub at: Option<f32>,
}

/// How a combination's strength follows from its sliders. Values below 0 count as 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CombinationRule {
    /// The product of the sliders.
    #[default]
    Multiply,
    /// The least of the sliders.
    Lowest,
}

/// A control that an animator moves; one entry of the weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Slider {
    /// Name, equal to that of its full shape.
    pub name: String,
    /// Its full shape in [`Rig::shapes`].
    pub shape: usize,
    /// Lowest and highest value that the artist intends.
    pub range: [f32; 2],
}

impl Rig {
    /// Number of (welded) vertices over all parts.
    pub fn n_vertices(&self) -> usize {
        self.neutral.len()
    }

    /// The slider called `name`, exactly.
    pub fn slider_index(&self, name: &str) -> Option<usize> {
        self.sliders.iter().position(|s| s.name == name)
    }

    /// A vertex as its file numbers it. Of several welded ones, the first.
    pub fn file_vertex(&self, rig_vertex: u32) -> Option<FileVertex> {
        let part = self.parts.iter().find(|p| p.vertices.contains(&(rig_vertex as usize)))?;
        let vertex = part.rig_vertex.iter().position(|&v| v == rig_vertex)?;
        Some(FileVertex { part: part.name.clone(), vertex })
    }

    /// A vertex as its file numbers it, for messages: "vertex 12 of part 'skin'".
    pub fn vertex_name(&self, rig_vertex: u32) -> String {
        self.file_vertex(rig_vertex).map_or_else(|| format!("vertex {rig_vertex}"), |v| v.to_string())
    }

    /// Number of vertices that the files of all parts have.
    pub fn n_file_vertices(&self) -> usize {
        self.parts.iter().map(Part::n_file_vertices).sum()
    }

    /// All faces as triangles over rig vertices.
    pub fn triangles(&self) -> Vec<[u32; 3]> {
        self.parts.iter().flat_map(Part::rig_triangles).collect()
    }

    /// The rig with some of its sliders only, in the order of the rig, and with the shapes that they alone
    /// drive.
    pub fn with_sliders(&self, names: &[&str]) -> Self {
        let kept: Vec<usize> =
            (0..self.sliders.len()).filter(|&s| names.contains(&self.sliders[s].name.as_str())).collect();
        let renumbered = |slider: usize| kept.iter().position(|&k| k == slider);
        let role = |role: &Role| match role {
            Role::Slider(slider) => renumbered(*slider).map(Role::Slider),
            Role::Inbetween { slider, at } => {
                renumbered(*slider).map(|slider| Role::Inbetween { slider, at: *at })
            }
            Role::Combination { drivers, rule } => {
                let driver = |d: &Driver| renumbered(d.slider).map(|slider| Driver { slider, at: d.at });
                let drivers: Option<Vec<Driver>> = drivers.iter().map(driver).collect();
                drivers.map(|drivers| Role::Combination { drivers, rule: *rule })
            }
        };
        let mut shapes: Vec<Shape> = Vec::new();
        let mut shape_of_old = vec![usize::MAX; self.shapes.len()];
        for (old, shape) in self.shapes.iter().enumerate() {
            if let Some(role) = role(&shape.role) {
                shape_of_old[old] = shapes.len();
                shapes.push(Shape { role, ..shape.clone() });
            }
        }
        let slider =
            |&s: &usize| Slider { shape: shape_of_old[self.sliders[s].shape], ..self.sliders[s].clone() };
        Self { shapes, sliders: kept.iter().map(slider).collect(), ..self.clone() }
    }

    /// Whether every shape is driven by its own slider, so that the face is `f0 + D w`.
    pub fn is_linear(&self) -> bool {
        self.shapes.iter().all(|s| matches!(s.role, Role::Slider(_)))
    }
}

impl Part {
    /// Faces as triangles over rig vertices.
    pub fn rig_triangles(&self) -> Vec<[u32; 3]> {
        self.faces.triangulated().into_iter().map(|t| t.map(|v| self.rig_vertex[v as usize])).collect()
    }

    /// Texture coordinates of the corners of [`Self::rig_triangles`].
    pub fn triangle_uvs(&self) -> Option<Vec<[[f32; 2]; 3]>> {
        let uvs = self.corner_uvs.as_ref()?;
        Some(self.faces.triangulated_corners().iter().map(|t| t.map(|c| uvs[c as usize])).collect())
    }

    /// Number of vertices that the file has for this part.
    pub fn n_file_vertices(&self) -> usize {
        self.rig_vertex.len()
    }

    /// A per-rig-vertex quantity in the file's vertex order.
    pub fn to_file_order<T: Copy>(&self, per_rig_vertex: &[T]) -> Vec<T> {
        self.rig_vertex.iter().map(|&v| per_rig_vertex[v as usize]).collect()
    }
}

impl Deltas {
    /// Length of the largest displacement, in the file's unit.
    pub fn max_length(&self) -> f32 {
        self.offsets.iter().map(|&o| glam::Vec3::from(o).length()).fold(0.0, f32::max)
    }
}
