//! Folds that deepen when skin is compressed: the nasolabial fold of a smile or a sneer.
//!
//! Along a named line the skin sinks, and beside it, on the side of the cheek, it swells. Both displacements
//! are along the normal and are bell functions of the distance along the skin. The other side of the line has
//! the furrow only.

use super::ground::{Field, Ground, bell};
use glam::DVec3;
use risorius_base::ease::ramp;
use risorius_mesh::VertexNormals;

/// Half the breadth of the furrow and of the swelling, and the distance between their centers, mm.
const FURROW: f64 = 7.5;
const SWELL: f64 = 13.0;
const APART: f64 = 10.0;

/// The nasolabial fold on both sides, `depth` and `height` in mm.
pub(crate) fn nasolabial(ground: &Ground, depth: f64, height: f64) -> Field {
    let flat: Vec<[f32; 3]> = ground.points[..ground.n_skin].iter().map(|p| p.as_vec3().to_array()).collect();
    let normals = VertexNormals::prepare(ground.n_skin, &ground.triangles).compute(&flat);
    let mut field = ground.still();
    for side in ["left", "right"] {
        let line = ground.line(&format!("nasolabial_{side}"));
        // The fold ends at the corner of the mouth; the line continues to the chin.
        let corner = ground.points[ground.mark(&format!("mouth_{side}")) as usize].y;
        let upper: Vec<u32> =
            line.iter().copied().filter(|&v| ground.points[v as usize].y > corner - 3.0).collect();
        let distance = ground.distances(&upper, APART + SWELL);
        for v in (0..ground.n_skin).filter(|&v| distance[v].is_finite()) {
            let p = ground.points[v];
            let nearest = upper.iter().map(|&w| ground.points[w as usize]);
            let nearest = nearest.min_by(|a, b| a.distance_squared(p).total_cmp(&b.distance_squared(p)));
            let beyond = nearest.map_or(0.0, |q| p.x.abs() - q.x.abs());
            let cheek = ramp(beyond, -5.0, 9.0);
            // Soft ends: nothing at the wing of the nose, nothing below the corner.
            let ends = ramp(p.y, corner - 6.0, corner + 8.0);
            let swell = height * cheek * bell((distance[v] - APART).abs(), SWELL);
            let normal = glam::Vec3::from(normals[v]).as_dvec3();
            field[v] += normal * (ends * (swell - depth * bell(distance[v], FURROW)));
        }
    }
    field.iter_mut().for_each(|d| *d = if d.is_finite() { *d } else { DVec3::ZERO });
    field
}
