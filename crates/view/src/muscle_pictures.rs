//! Pictures of muscles at work: their solids on the bones, colored by tension.

use crate::face_pictures::{bones, frame, turned};
use crate::{AnatomyModel, Canvas, Coloring, Colormap, Finish, Piece, ScalarField, ViewError};
use risorius_flesh::Face;
use risorius_mesh::TriMesh;

/// A muscle in a pose.
#[derive(Debug, Clone)]
pub struct TenseMuscle {
    /// Its surface, meters.
    pub surface: TriMesh,
    /// Its stress, kPa.
    pub tension_kpa: f64,
}

/// The muscles of a face in a pose from the front, from three quarters and from the left, each view with its
/// label. `mandible`: the jaw in the pose. Colors end at `most_kpa`.
pub fn muscles_at_work(
    face: &Face,
    mandible: &TriMesh,
    muscles: &[TenseMuscle],
    most_kpa: f32,
) -> Result<Vec<(Canvas, String)>, ViewError> {
    let mut model = AnatomyModel::framed(frame(face));
    for mut piece in bones(face) {
        match piece.name.as_str() {
            "mandible" => piece.surface.clone_from(mandible),
            // They stay in the jaw's first position; muscles are what the picture is about.
            "lower teeth" => continue,
            _ => {}
        }
        model.push(piece);
    }
    for (i, muscle) in muscles.iter().enumerate() {
        let values = vec![muscle.tension_kpa as f32; muscle.surface.triangles.len()];
        let field = ScalarField {
            values,
            range: [0.0, most_kpa],
            unit: "tension, kPa".into(),
            colormap: Colormap::Sequential,
        };
        let piece = Piece::new(&format!("muscle {i}"), muscle.surface.clone(), Finish::Flat);
        model.push(Piece { coloring: Coloring::Values(field), ..piece });
    }
    turned(&model)
}
