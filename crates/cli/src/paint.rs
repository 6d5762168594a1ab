//! Stiffness that the user painted: vertex colors of a copy of the rig, or a mask over its texture
//! coordinates.

use crate::files::{extension, in_file};
use crate::session::{Failure, Session};
use risorius_flesh::SkinPainting;
use risorius_io::formats::mask::{self, Mask, brightness};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_rig::lookup::find_shape;
use risorius_rig::{Part, Rig};
use std::path::Path;

/// mu of black and of white in Pa: from fat to a muscle at full contraction.
const RANGE: [f32; 2] = [3000.0, 20_000.0];

/// The paintings given as `[SHAPE=]FILE`.
pub fn paintings(given: &[String], rig: &Rig, session: &Session) -> Result<Vec<SkinPainting>, Failure> {
    let calls: Vec<(Option<usize>, &Path)> =
        given.iter().map(|text| parse(text, rig)).collect::<Result<_, _>>()?;
    for (i, (shape, _)) in calls.iter().enumerate() {
        if calls[..i].iter().any(|c| c.0 == *shape) {
            let what = shape.map_or("the neutral", |s| rig.shapes[s].name.as_str());
            return Err(Failure::wrong_call(format!(
                "--paint {}: {what} is painted twice; keep one",
                given[i]
            )));
        }
    }
    calls.into_iter().map(|(shape, path)| painting(shape, path, rig, session)).collect()
}

/// The shape and the file of `[SHAPE=]FILE`.
fn parse<'a>(text: &'a str, rig: &Rig) -> Result<(Option<usize>, &'a Path), Failure> {
    // A file may have = in its name.
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if !Path::new(text).exists() => (Some(name), Path::new(path)),
        _ => (None, Path::new(text)),
    };
    if !["png", "glb", "gltf", "ply"].contains(&extension(path).as_str()) {
        let message =
            format!("'{}': a painting is a .glb or .ply with vertex colors, or a .png", path.display());
        return Err(Failure::wrong_call(message));
    }
    let shape = name.map(|n| find_shape(rig, n).map_err(Failure::could_not)).transpose()?;
    Ok((shape, path))
}

fn painting(
    shape: Option<usize>,
    path: &Path,
    rig: &Rig,
    session: &Session,
) -> Result<SkinPainting, Failure> {
    let values = match extension(path).as_str() {
        "png" => through_uvs(&mask::read(&read_file(path)?).map_err(in_file(path))?, rig, path)?,
        _ => from_colors(path, rig, session)?,
    };
    let mu: Vec<f32> = values.into_iter().map(|v| RANGE[0] + (RANGE[1] - RANGE[0]) * v).collect();
    if mu.iter().all(|m| m.is_nan()) {
        return Err(Failure::could_not(format!(
            "{}: nothing is painted, all is transparent",
            path.display()
        )));
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

/// A value per rig vertex, read off a mask.
fn through_uvs(mask: &Mask, rig: &Rig, path: &Path) -> Result<Vec<f32>, Failure> {
    if rig.parts.iter().all(|p| p.corner_uvs.is_none()) {
        let advice = "export it with its UVs, or paint vertex colors (.glb, .ply)";
        let message =
            format!("{}: the rig has no texture coordinates to lay a picture on; {advice}", path.display());
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

/// A value per rig vertex from the vertex colors of a file with the same vertices as the rig, or as one part
/// of it.
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
