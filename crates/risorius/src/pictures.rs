//! Pictures that several jobs draw.

use crate::error::Result;
use risorius_attenuate::PinSet;
use risorius_attenuate::interference::Interference;
use risorius_rig::Rig;
use risorius_view::{Canvas, Colormap, Marker, MatrixOptions, ScalarField, matrix};

/// A red dot on every pinned vertex.
pub fn pin_markers(set: &PinSet) -> Vec<Marker> {
    let mut vertices: Vec<u32> = set.pins.iter().map(|p| p.vertex).collect();
    vertices.dedup();
    vertices.into_iter().map(|v| Marker::new(v, [230, 40, 40, 255])).collect()
}

/// Distance between two poses at every vertex, in millimeters.
pub fn distances_mm(rig: &Rig, a: &[[f32; 3]], b: &[[f32; 3]]) -> Vec<f32> {
    let to_mm = rig.space.millimeters(1.0) as f32;
    a.iter().zip(b).map(|(p, q)| to_mm * (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f32>().sqrt()).collect()
}

/// Values from 0 to `most` as colors.
pub(crate) fn field_up_to(values: Vec<f32>, most: f32, unit: &str) -> ScalarField {
    ScalarField { values, range: [0.0, most], unit: unit.into(), colormap: Colormap::Sequential }
}

/// The matrix of which slider disturbs which, for the `most` sliders of largest effect.
pub fn interference_matrix(rig: &Rig, report: &Interference, most: usize) -> Result<Canvas> {
    let shown: Vec<usize> = report.order.iter().copied().take(most.max(1)).collect();
    let names: Vec<String> = shown.iter().map(|&s| rig.sliders[s].name.clone()).collect();
    // The diagonal is 1 by definition.
    let values: Vec<f64> = shown
        .iter()
        .flat_map(|&i| shown.iter().map(move |&j| if i == j { f64::NAN } else { report.disturbs[(i, j)] }))
        .collect();
    let options = MatrixOptions {
        title: "How far a column's slider moves what a row's slider moves".into(),
        unit: "of own motion".into(),
        range: Some([0.0, 1.0]),
        ..MatrixOptions::default()
    };
    Ok(matrix(&names, &names, &values, &options)?)
}
