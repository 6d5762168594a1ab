//! Colors of pictures: a value per vertex, on one scale for all pictures.

use super::Coloring;
use crate::error::{Error, Result};
use crate::pictures::{distances_mm, field_up_to};
use risorius_io::open::read_file;
use risorius_rig::Rig;
use risorius_rig::lookup::{find_shape, region_vertices};
use risorius_view::ScalarField;
use std::path::Path;

/// The source of the values.
pub(super) enum Colors {
    /// No values: the skin.
    Skin,
    /// The same values in every picture.
    Same(ScalarField),
    /// Distance from the neutral, at most this many mm.
    Motion(f32),
    /// Distance from the first performance, at most this many mm.
    Difference(f32),
}

impl Colors {
    /// The requested colors; scales grow with each call of [`Colors::seen`].
    pub(super) fn new(rig: &Rig, color: &Coloring, difference: bool) -> Result<Self> {
        Ok(match color {
            _ if difference => Self::Difference(0.0),
            Coloring::Skin => Self::Skin,
            Coloring::Motion => Self::Motion(0.0),
            Coloring::Shape(name) => Self::Same(shape_field(rig, name)?),
            Coloring::Region(name) => {
                let mut values = vec![0.0; rig.n_vertices()];
                region_vertices(rig, name)?.iter().for_each(|&v| values[v as usize] = 1.0);
                Self::Same(ScalarField::spanning(values, name))
            }
            Coloring::File(path) => Self::Same(file_field(rig, path)?),
        })
    }

    /// Whether all positions must be [`Colors::seen`] first, for one scale over all pictures.
    pub(super) fn needs_scale(&self) -> bool {
        matches!(self, Self::Motion(_) | Self::Difference(_))
    }

    /// Extends the scale to `positions`, which are compared with `first`.
    pub(super) fn seen(&mut self, rig: &Rig, positions: &[[f32; 3]], first: &[[f32; 3]]) {
        let (most, other) = match self {
            Self::Motion(most) => (most, rig.neutral.as_slice()),
            Self::Difference(most) => (most, first),
            Self::Skin | Self::Same(_) => return,
        };
        let distances = distances_mm(rig, positions, other);
        *most = distances.into_iter().filter(|d| d.is_finite()).fold(*most, f32::max);
    }

    /// The values for `positions`, compared with `first`; `None` if they are the first.
    pub(super) fn field(
        &self,
        rig: &Rig,
        positions: &[[f32; 3]],
        first: Option<&[[f32; 3]]>,
    ) -> Option<ScalarField> {
        match self {
            Self::Skin => None,
            Self::Same(field) => Some(field.clone()),
            Self::Motion(most) => Some(field_up_to(distances_mm(rig, positions, &rig.neutral), *most, "mm")),
            // NaN is drawn gray, with the same layout as the others.
            Self::Difference(most) => {
                let values = match first {
                    Some(first) => distances_mm(rig, positions, first),
                    None => vec![f32::NAN; positions.len()],
                };
                Some(field_up_to(values, *most, "mm"))
            }
        }
    }
}

/// How far a shape moves each vertex.
fn shape_field(rig: &Rig, name: &str) -> Result<ScalarField> {
    let mut values = vec![0.0; rig.n_vertices()];
    let shape = &rig.shapes[find_shape(rig, name)?];
    let to_mm = rig.space.millimeters(1.0) as f32;
    for (&v, o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
        values[v as usize] = to_mm * o.iter().map(|x| x * x).sum::<f32>().sqrt();
    }
    Ok(ScalarField::spanning(values, "mm"))
}

/// Numbers from a file, one per file vertex.
fn file_field(rig: &Rig, path: &Path) -> Result<ScalarField> {
    let shown = path.display();
    if !path.exists() {
        let advice = "give motion, shape:NAME, region:NAME or a JSON file of numbers";
        return Err(Error::failed(format!("'{shown}' is not a color; {advice}")));
    }
    let numbers: Vec<f32> = serde_json::from_slice(&read_file(path)?)
        .map_err(|e| Error::failed(format!("expected a list of numbers: {e}")).in_file(path))?;
    let of_file: Vec<u32> = rig.parts.iter().flat_map(|p| p.rig_vertex.iter().copied()).collect();
    if numbers.len() != of_file.len() {
        let message = format!("{shown} has {} numbers for {} file vertices", numbers.len(), of_file.len());
        return Err(Error::failed(message));
    }
    let mut values = vec![0.0; rig.n_vertices()];
    numbers.iter().zip(&of_file).for_each(|(x, &v)| values[v as usize] = *x);
    Ok(ScalarField::spanning(values, ""))
}
