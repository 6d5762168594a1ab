//! Colors of `render`: a value per vertex, on one scale for all pictures.

use crate::pictures::distances_mm;
use crate::session::Failure;
use risorius_io::open::read_file;
use risorius_rig::Rig;
use risorius_rig::lookup::{find_shape, region_vertices};
use risorius_view::{Colormap, ScalarField};
use std::path::Path;

/// Where the values come from.
pub enum Colors {
    /// The face as it is.
    Skin,
    /// The same values in every picture.
    Same(ScalarField),
    /// Distance from the neutral, at most this many mm.
    Motion(f32),
    /// Distance from the first performance, at most this many mm.
    Difference(f32),
}

impl Colors {
    /// What `--color` or `--difference` ask for; scales grow as positions are [`Colors::seen`].
    pub fn new(rig: &Rig, color: Option<&str>, difference: bool) -> Result<Self, Failure> {
        Ok(match color {
            _ if difference => Self::Difference(0.0),
            None => Self::Skin,
            Some("motion") => Self::Motion(0.0),
            Some(what) => Self::Same(field(rig, what)?),
        })
    }

    /// Whether all pictures have to be looked at first, for a scale that holds for all.
    pub fn needs_scale(&self) -> bool {
        matches!(self, Self::Motion(_) | Self::Difference(_))
    }

    /// Widens the scale for `positions`, which are compared with `first`.
    pub fn seen(&mut self, rig: &Rig, positions: &[[f32; 3]], first: &[[f32; 3]]) {
        let (most, other) = match self {
            Self::Motion(most) => (most, rig.neutral.as_slice()),
            Self::Difference(most) => (most, first),
            Self::Skin | Self::Same(_) => return,
        };
        *most =
            distances_mm(rig, positions, other).into_iter().filter(|d| d.is_finite()).fold(*most, f32::max);
    }

    /// The values for `positions`, which are compared with `first`, or are the first themselves.
    pub fn field(
        &self,
        rig: &Rig,
        positions: &[[f32; 3]],
        first: Option<&[[f32; 3]]>,
    ) -> Option<ScalarField> {
        let scaled = |values: Vec<f32>, most: f32| ScalarField {
            values,
            range: [0.0, most],
            unit: "mm".into(),
            colormap: Colormap::Sequential,
        };
        match self {
            Self::Skin => None,
            Self::Same(field) => Some(field.clone()),
            Self::Motion(most) => Some(scaled(distances_mm(rig, positions, &rig.neutral), *most)),
            // Without a value it is gray, and framed like the others.
            Self::Difference(most) => Some(match first {
                Some(first) => scaled(distances_mm(rig, positions, first), *most),
                None => scaled(vec![f32::NAN; positions.len()], *most),
            }),
        }
    }
}

/// A value per rig vertex for `what`.
fn field(rig: &Rig, what: &str) -> Result<ScalarField, Failure> {
    let mut values = vec![0.0; rig.n_vertices()];
    if let Some(name) = what.strip_prefix("shape:") {
        let shape = &rig.shapes[find_shape(rig, name).map_err(Failure::could_not)?];
        let to_mm = rig.space.millimeters(1.0) as f32;
        for (&v, o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            values[v as usize] = to_mm * o.iter().map(|x| x * x).sum::<f32>().sqrt();
        }
        return Ok(ScalarField::spanning(values, "mm"));
    }
    if let Some(name) = what.strip_prefix("region:") {
        let vertices = region_vertices(rig, name).map_err(Failure::could_not)?;
        vertices.iter().for_each(|&v| values[v as usize] = 1.0);
        return Ok(ScalarField::spanning(values, name));
    }
    if !Path::new(what).exists() {
        let message = format!(
            "'{what}' is not a color; give motion, shape:NAME, region:NAME or a JSON file of numbers"
        );
        return Err(Failure::could_not(message));
    }
    let numbers: Vec<f32> = serde_json::from_slice(&read_file(Path::new(what))?)
        .map_err(|e| Failure::could_not(format!("{what}: a list of numbers is expected: {e}")))?;
    let of_file: Vec<u32> = rig.parts.iter().flat_map(|p| p.rig_vertex.iter().copied()).collect();
    if numbers.len() != of_file.len() {
        let message = format!("{what} has {} numbers for {} file vertices", numbers.len(), of_file.len());
        return Err(Failure::could_not(message));
    }
    numbers.iter().zip(&of_file).for_each(|(x, &v)| values[v as usize] = *x);
    Ok(ScalarField::spanning(values, ""))
}
