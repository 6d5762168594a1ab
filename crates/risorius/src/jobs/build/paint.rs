//! Painted stiffness: vertex colors of a copy of the rig, or a mask over its texture coordinates.

use crate::error::{Error, Result, in_file};
use crate::files::extension;
use risorius_base::Progress;
use risorius_flesh::SkinPainting;
use risorius_io::formats::mask::{self, Mask, brightness};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_rig::lookup::find_shape;
use risorius_rig::{Part, Rig};
use std::path::{Path, PathBuf};

/// Shear stiffness mu of black and of white, Pa: from fat to a fully contracted muscle.
const RANGE: [f32; 2] = [3000.0, 20_000.0];

/// Painted stiffness of the neutral, or of a shape. Black is 3000 Pa, white 20000 Pa, transparent is not
/// painted.
#[derive(Debug, Clone, PartialEq)]
pub struct Painting {
    /// Name of the shape; `None` for the neutral.
    pub shape: Option<String>,
    /// Vertex colors (`.glb`, `.gltf`, `.ply`), or a mask over the UVs (`.png`).
    pub file: PathBuf,
}

/// The paintings on the skin of `rig`.
pub(super) fn paintings(given: &[Painting], rig: &Rig, progress: &Progress) -> Result<Vec<SkinPainting>> {
    let mut shapes: Vec<Option<usize>> = Vec::new();
    for painting in given {
        let path = &painting.file;
        if !["png", "glb", "gltf", "ply"].contains(&extension(path).as_str()) {
            let message = "a painting must be a .glb, .gltf or .ply with vertex colors, or a .png";
            return Err(Error::request(message).at(&format!("'{}'", path.display())));
        }
        let shape = painting.shape.as_deref().map(|name| find_shape(rig, name)).transpose()?;
        if shapes.contains(&shape) {
            let what = shape.map_or("the neutral", |s| rig.shapes[s].name.as_str());
            let message = format!("{what} is painted twice; keep one");
            return Err(Error::request(message).in_file(path).with_options(&["paint"]));
        }
        shapes.push(shape);
    }
    let one = |(painting, shape): (&Painting, Option<usize>)| on_skin(shape, &painting.file, rig, progress);
    given.iter().zip(shapes).map(one).collect()
}

fn on_skin(shape: Option<usize>, path: &Path, rig: &Rig, progress: &Progress) -> Result<SkinPainting> {
    let values = match extension(path).as_str() {
        "png" => through_uvs(&mask::read(&read_file(path)?).map_err(in_file(path))?, rig, path)?,
        _ => from_colors(path, rig, progress)?,
    };
    let mu: Vec<f32> = values.into_iter().map(|v| RANGE[0] + (RANGE[1] - RANGE[0]) * v).collect();
    if mu.iter().all(|m| m.is_nan()) {
        return Err(Error::failed("nothing is painted: everything is transparent").in_file(path));
    }
    Ok(SkinPainting { shape, mu })
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
