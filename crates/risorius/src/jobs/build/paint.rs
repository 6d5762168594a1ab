//! Painted materials: vertex colors of a copy of the rig, or a mask over its texture coordinates.

use crate::error::{Error, Result, in_file};
use crate::files::extension;
use risorius_base::Progress;
use risorius_flesh::{Property, SkinPainting};
use risorius_io::formats::mask::{self, Mask, brightness};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_rig::lookup::find_shape;
use risorius_rig::{Part, Rig};
use std::path::{Path, PathBuf};

/// The values of black and of white, if the user does not say: for stiffness from fat to a fully contracted
/// muscle [Kozlov17, sec. 7].
pub const fn usual_range(property: Property) -> [f32; 2] {
    match property {
        Property::Stiffness => [3000.0, 20_000.0],
        Property::VolumeStiffness => [2500.0, 80_000.0],
        Property::Density => [500.0, 2000.0],
        Property::Damping => [0.0, 0.05],
    }
}

/// The name of a property in messages and options.
pub const fn property_name(property: Property) -> &'static str {
    match property {
        Property::Stiffness => "stiffness",
        Property::VolumeStiffness => "lambda",
        Property::Density => "mass",
        Property::Damping => "damping",
    }
}

/// A painted property of the neutral, or of a shape. Transparent is not painted.
#[derive(Debug, Clone, PartialEq)]
pub struct Painting {
    /// What is painted: stiffness (mu, Pa), volume stiffness (lambda, Pa), and, for the neutral only, density
    /// (kg/m^3) and damping (seconds).
    pub property: Property,
    /// The values of black and of white; [`usual_range`] if `None`.
    pub range: Option<[f32; 2]>,
    /// Name of the shape; `None` for the neutral.
    pub shape: Option<String>,
    /// Vertex colors (`.glb`, `.gltf`, `.ply`), or a mask over the UVs (`.png`).
    pub file: PathBuf,
}

/// The paintings on the skin of `rig`.
pub(super) fn paintings(given: &[Painting], rig: &Rig, progress: &Progress) -> Result<Vec<SkinPainting>> {
    let mut shapes: Vec<(Property, Option<usize>)> = Vec::new();
    for painting in given {
        let path = &painting.file;
        if !["png", "glb", "gltf", "ply"].contains(&extension(path).as_str()) {
            let message = "a painting must be a .glb, .gltf or .ply with vertex colors, or a .png";
            return Err(Error::request(message).at(&format!("'{}'", path.display())));
        }
        let shape = painting.shape.as_deref().map(|name| find_shape(rig, name)).transpose()?;
        let (property, name) = (painting.property, property_name(painting.property));
        let wrong = |message: String| Error::request(message).in_file(path).with_options(&["paint"]);
        if shapes.contains(&(property, shape)) {
            let what = shape.map_or("the neutral", |s| rig.shapes[s].name.as_str());
            return Err(wrong(format!("the {name} of {what} is painted twice; keep one")));
        }
        if shape.is_some() && matches!(property, Property::Density | Property::Damping) {
            return Err(wrong(format!("{name} can be painted for the neutral only, without a shape")));
        }
        let [low, high] = painting.range.unwrap_or(usual_range(property));
        let least = if property == Property::Damping { 0.0 } else { f32::MIN_POSITIVE };
        if !(low >= least && high >= least && low.is_finite() && high.is_finite()) {
            let message = format!("the range of painted {name} is {low} to {high}; both must be positive");
            return Err(wrong(message).with_options(&["paint_range"]));
        }
        shapes.push((property, shape));
    }
    let one = |(painting, (_, shape)): (&Painting, _)| on_skin(shape, painting, rig, progress);
    given.iter().zip(shapes).map(one).collect()
}

fn on_skin(
    shape: Option<usize>,
    painting: &Painting,
    rig: &Rig,
    progress: &Progress,
) -> Result<SkinPainting> {
    let (path, property) = (painting.file.as_path(), painting.property);
    let values = match extension(path).as_str() {
        "png" => through_uvs(&mask::read(&read_file(path)?).map_err(in_file(path))?, rig, path)?,
        _ => from_colors(path, rig, progress)?,
    };
    let [black, white] = painting.range.unwrap_or(usual_range(property));
    let values: Vec<f32> = values.into_iter().map(|v| black + (white - black) * v).collect();
    if values.iter().all(|v| v.is_nan()) {
        return Err(Error::failed("nothing is painted: everything is transparent").in_file(path));
    }
    Ok(SkinPainting { shape, property, values })
}

/// Means per rig vertex; NaN where nothing was added.
struct Means {
    sums: Vec<(f32, f32)>,
}

impl Means {
    fn new(n: usize) -> Self {
        Self { sums: vec![(0.0, 0.0); n] }
    }

    fn add(&mut self, vertex: u32, value: f32) {
        let (sum, n) = &mut self.sums[vertex as usize];
        (*sum, *n) = (*sum + value, *n + 1.0);
    }

    fn values(self) -> Vec<f32> {
        self.sums.into_iter().map(|(sum, n)| sum / n).collect()
    }
}

/// A value per rig vertex, sampled from a mask.
fn through_uvs(mask: &Mask, rig: &Rig, path: &Path) -> Result<Vec<f32>> {
    if rig.parts.iter().all(|p| p.corner_uvs.is_none()) {
        let advice = "export it with its UVs, or paint vertex colors (.glb, .ply)";
        let message = format!("the rig has no texture coordinates for a mask; {advice}");
        return Err(Error::failed(message).in_file(path));
    }
    let mut means = Means::new(rig.n_vertices());
    for part in &rig.parts {
        let corners = part.faces.iter().flatten().zip(part.corner_uvs.iter().flatten());
        for (&vertex, &uv) in corners {
            if let Some(value) = mask.at(uv) {
                means.add(part.rig_vertex[vertex as usize], value);
            }
        }
    }
    Ok(means.values())
}

/// A value per rig vertex from the vertex colors of a file with the same vertices as the rig, or as one part
/// of it.
fn from_colors(path: &Path, rig: &Rig, progress: &Progress) -> Result<Vec<f32>> {
    let painted = open_rig(path, &OpenOptions::default(), progress).map_err(in_file(path))?.rig;
    if painted.parts.iter().all(|p| p.colors.is_none()) {
        let advice = "paint a color attribute and export it with the mesh";
        return Err(Error::failed(format!("it has no vertex colors; {advice}")).in_file(path));
    }
    let count = |parts: &[Part]| parts.iter().map(Part::n_file_vertices).sum::<usize>();
    let (n, n_rig) = (count(&painted.parts), count(&rig.parts));
    let targets: Vec<u32> = if n == n_rig {
        rig.parts.iter().flat_map(|p| p.rig_vertex.iter().copied()).collect()
    } else if let Some(part) = rig.parts.iter().find(|p| p.n_file_vertices() == n) {
        part.rig_vertex.clone()
    } else {
        let part = |p: &Part| format!("'{}' {}", p.name, p.n_file_vertices());
        let parts: Vec<String> = rig.parts.iter().take(8).map(part).collect();
        let advice = "paint a copy of the rig's own file, or of one part";
        let message = format!("{n} vertices, but the rig has {n_rig} ({}); {advice}", parts.join(", "));
        return Err(Error::failed(message).in_file(path));
    };
    let unpainted = |part: &Part| vec![[0.0; 4]; part.n_file_vertices()];
    let colors = painted.parts.iter().flat_map(|p| p.colors.clone().unwrap_or_else(|| unpainted(p)));
    let mut means = Means::new(rig.n_vertices());
    for (&vertex, [r, g, b, a]) in targets.iter().zip(colors) {
        if a > 0.0 {
            means.add(vertex, brightness([r, g, b]));
        }
    }
    Ok(means.values())
}
