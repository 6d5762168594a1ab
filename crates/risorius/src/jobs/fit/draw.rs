//! Pictures of a fit: the scan, the surface laid onto it, and the distance between them.

use crate::error::Result;
use risorius_fit::actor::FittedScan;
use risorius_fit::template::Template;
use risorius_mesh::TriMesh;
use risorius_view::{
    AnatomyModel, Bounds, Canvas, Coloring, Colormap, DrawOptions, Finish, Piece, ScalarField, draw_model,
    sheet,
};

/// Distance at the end of the colors, mm.
const FARTHEST_MM: f32 = 2.0;

/// The sheet of a scan as PNG.
pub(super) fn picture(template: &Template, scan: &FittedScan) -> Result<Vec<u8>> {
    let back = scan.scan_from_template.inverse();
    let scanned = TriMesh {
        positions: scan.mesh.positions.iter().map(|p| back.apply(*p)).collect(),
        triangles: scan.mesh.triangles.clone(),
    };
    let fitted = TriMesh { positions: scan.skin.clone(), triangles: template.mesh.triangles.clone() };
    let far = |t: &[u32; 3]| {
        let mean = t.iter().map(|&v| scan.distances[v as usize]).sum::<f64>() / 3.0;
        (mean * 1e3) as f32
    };
    let field = ScalarField {
        values: scanned.triangles.iter().map(far).collect(),
        range: [0.0, FARTHEST_MM],
        unit: "mm".into(),
        colormap: Colormap::Sequential,
    };
    let mut distance = Piece::new("distance", scanned.clone(), Finish::Flat);
    distance.coloring = Coloring::Values(field);
    let pieces = [
        (Piece::new("scan", scanned, Finish::Matte), "scan".to_string()),
        (Piece::new("fit", fitted, Finish::Skin), "fit".to_string()),
        (distance, "distance".to_string()),
    ];
    let seen = scan.skin.iter().zip(&template.weights).filter(|(_, w)| **w > 0.5).map(|(p, _)| *p);
    let frame = Bounds::of(seen);
    let mut cells = Vec::new();
    for yaw in [0.0, 35.0] {
        for (piece, label) in &pieces {
            let mut model = AnatomyModel::framed(frame);
            model.push(piece.clone());
            cells.push((view(&model, yaw)?, label.clone()));
        }
    }
    let report = &scan.report;
    let title = format!(
        "{}: {:.2} mm on average, {:.2} mm at 95 %",
        report.name, report.distance.mean_mm, report.distance.p95_mm
    );
    Ok(sheet(&cells, pieces.len(), &title)?.encode_png())
}

fn view(model: &AnatomyModel, yaw: f32) -> Result<Canvas> {
    let options = DrawOptions { width: 560, height: 640, yaw_degrees: yaw, ..DrawOptions::default() };
    Ok(draw_model(model, &options)?)
}
