//! Stiffness that the user painted: vertex colors of a copy of the rig, or a mask over its texture coordinates.

use crate::files::{extension, in_file};
use crate::session::{Failure, Session};
use risorius_flesh::SkinPainting;
use risorius_io::mask::{self, Mask, brightness};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_rig::pins::find_shape;
use risorius_rig::{Part, Rig};
use std::path::Path;

/// mu of black and of white in Pa: from fat to a muscle at full contraction.
const RANGE: [f32; 2] = [3000.0, 20_000.0];

/// The paintings given as `[SHAPE=]FILE`.
pub fn paintings(given: &[String], rig: &Rig, session: &Session) -> Result<Vec<SkinPainting>, Failure> {
    let mut all: Vec<SkinPainting> = Vec::new();
    for text in given {
        // A file may have = in its name.
        let (name, path) = match text.split_once('=') {
            Some((name, path)) if !Path::new(text).exists() => (Some(name), Path::new(path)),
            _ => (None, Path::new(text.as_str())),
        };
        let shape = name.map(|n| find_shape(rig, n).map_err(Failure::could_not)).transpose()?;
        if all.iter().any(|p| p.shape == shape) {
            let what = name.unwrap_or("the neutral");
            return Err(Failure::wrong_call(format!("--paint {text}: {what} is painted twice; keep one")));
        }
        let values = match extension(path).as_str() {
            "png" => through_uvs(&mask::read(&read_file(path)?).map_err(in_file(path))?, rig, path)?,
            "glb" | "gltf" | "ply" => from_colors(path, rig, session)?,
            _ => {
                let message =
                    format!("'{}': a painting is a .glb or .ply with vertex colors, or a .png", path.display());
                return Err(Failure::wrong_call(message));
            }
        };
        let mu: Vec<f32> = values.into_iter().map(|v| RANGE[0] + (RANGE[1] - RANGE[0]) * v).collect();
        if mu.iter().all(|m| m.is_nan()) {
            return Err(Failure::could_not(format!("{}: nothing is painted, all is transparent", path.display())));
        }
        all.push(SkinPainting { shape, mu });
    }
    Ok(all)
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

/// A value per rig vertex, read off a mask.
fn through_uvs(mask: &Mask, rig: &Rig, path: &Path) -> Result<Vec<f32>, Failure> {
    if rig.parts.iter().all(|p| p.corner_uvs.is_none()) {
        let advice = "export it with its UVs, or paint vertex colors (.glb, .ply)";
        let message = format!("{}: the rig has no texture coordinates to lay a picture on; {advice}", path.display());
        return Err(Failure::could_not(message));
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

/// A value per rig vertex from the vertex colors of a file with the same vertices as the rig, or as one part of it.
fn from_colors(path: &Path, rig: &Rig, session: &Session) -> Result<Vec<f32>, Failure> {
    let painted = open_rig(path, &OpenOptions::default(), &session.progress()).map_err(in_file(path))?.rig;
    if painted.parts.iter().all(|p| p.colors.is_none()) {
        let advice = "paint a color attribute and export it with the mesh";
        return Err(Failure::could_not(format!("{}: it has no vertex colors; {advice}", path.display())));
    }
    let count = |parts: &[Part]| parts.iter().map(Part::n_file_vertices).sum::<usize>();
    let (n, n_rig) = (count(&painted.parts), count(&rig.parts));
    let targets: Vec<u32> = if n == n_rig {
        rig.parts.iter().flat_map(|p| p.rig_vertex.iter().copied()).collect()
    } else if let Some(part) = rig.parts.iter().find(|p| p.n_file_vertices() == n) {
        part.rig_vertex.clone()
    } else {
        let parts: Vec<String> =
            rig.parts.iter().take(8).map(|p| format!("'{}' {}", p.name, p.n_file_vertices())).collect();
        let message = format!(
            "{}: {n} vertices, the rig has {n_rig} ({}); paint a copy of the rig's own file, or of one part",
            path.display(),
            parts.join(", ")
        );
        return Err(Failure::could_not(message));
    };
    let colors = painted.parts.iter().flat_map(|part| {
        let none = if part.colors.is_none() { vec![[0.0; 4]; part.n_file_vertices()] } else { Vec::new() };
        part.colors.iter().flatten().copied().chain(none).collect::<Vec<[f32; 4]>>()
    });
    let mut means = Means::new(rig.n_vertices());
    for (&vertex, [r, g, b, a]) in targets.iter().zip(colors) {
        if a > 0.0 {
            means.add(vertex, brightness([r, g, b]));
        }
    }
    Ok(means.values())
}
