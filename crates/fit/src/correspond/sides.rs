//! On which lip or lid a vertex is: the one that is nearest along the surface.
//!
//! Seeds are the landmarks on the outer lines of lips and lids; corners are seeds that belong to no side. The
//! way along the surface from the upper to the lower lip leads around the corner or through the mouth, even
//! where the lips touch, so that vertices of touching lips get different sides.

use glam::DVec3;
use risorius_head::landmarks::index;
use risorius_mesh::{EdgeGraph, TriMesh};

/// The side of a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    /// At a corner, or far from mouth and eyes.
    #[default]
    None,
    /// Upper lip.
    LipUpper,
    /// Lower lip.
    LipLower,
    /// Upper lid of either eye.
    LidUpper,
    /// Lower lid of either eye.
    LidLower,
}

/// The sides of a mesh.
#[derive(Debug, Clone)]
pub struct Sides {
    /// Of each vertex.
    pub of_vertex: Vec<Side>,
    /// Way along the surface between the middles of the lips over their distance.
    pub way: Option<f64>,
}

/// Whether vertices of these sides may correspond.
pub fn matches(a: Side, b: Side) -> bool {
    a == b || a == Side::None || b == Side::None
}

/// Sides end this far along the surface from their landmarks, meters.
const REACH_LIPS: f64 = 0.022;
const REACH_LIDS: f64 = 0.012;

const LIPS: [(Side, &[&str]); 3] = [
    (Side::None, &["mouth_left", "mouth_right"]),
    (
        Side::LipUpper,
        &[
            "lip_upper_right_2",
            "lip_upper_right_peak",
            "lip_upper_middle",
            "lip_upper_left_peak",
            "lip_upper_left_2",
            "mid_philtrum",
        ],
    ),
    (
        Side::LipLower,
        &[
            "lip_lower_right_2",
            "lip_lower_right_1",
            "lip_lower_middle",
            "lip_lower_left_1",
            "lip_lower_left_2",
            "supramentale",
        ],
    ),
];

const LIDS: [(Side, &[&str]); 3] = [
    (Side::None, &["eye_left_outer", "eye_left_inner", "eye_right_outer", "eye_right_inner"]),
    (
        Side::LidUpper,
        &["lid_upper_right_outer", "lid_upper_right_inner", "lid_upper_left_inner", "lid_upper_left_outer"],
    ),
    (
        Side::LidLower,
        &["lid_lower_right_outer", "lid_lower_right_inner", "lid_lower_left_inner", "lid_lower_left_outer"],
    ),
];

/// The sides of the vertices of `mesh`, from its landmarks.
pub fn sides(mesh: &TriMesh, marks: &[Option<DVec3>]) -> Sides {
    let length = |a: u32, b: u32| mesh.positions[a as usize].distance(mesh.positions[b as usize]).max(1e-9);
    let graph = EdgeGraph::prepare(mesh.n_vertices(), &mesh.triangles, length);
    let tree = crate::find::tree_of(mesh);
    let vertex = |name: &&str| {
        let p = marks.get(index(name)?).copied().flatten()?;
        tree.closest_vertex(p, 0.01).map(|(v, _)| v)
    };
    let mut of_vertex = vec![Side::None; mesh.n_vertices()];
    for (groups, reach) in [(LIPS, REACH_LIPS), (LIDS, REACH_LIDS)] {
        let seeds: Vec<(u32, u32)> = groups
            .iter()
            .enumerate()
            .flat_map(|(k, (_, names))| names.iter().filter_map(vertex).map(move |v| (v, k as u32)))
            .collect();
        let mut nearest = risorius_mesh::Nearest::nothing(mesh.n_vertices());
        nearest.add(&graph, seeds.into_iter(), reach);
        for (side, &place) in of_vertex.iter_mut().zip(&nearest.place) {
            if let Some((found, _)) = groups.get(place as usize).filter(|_| *side == Side::None) {
                *side = *found;
            }
        }
    }
    let ends = ["lip_upper_middle", "lip_lower_middle"].map(|n| vertex(&n));
    let way = match ends {
        [Some(a), Some(b)] if a != b => {
            let walked = risorius_mesh::within(a, 0.2, |v| graph.around(v).iter().copied());
            walked.get(&b).map(|w| w / length(a, b)).or(Some(f64::INFINITY))
        }
        _ => None,
    };
    Sides { of_vertex, way }
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_head::landmarks::N_LANDMARKS;

    /// A sheet of 80 x 60 mm with a slit of 50 mm in the middle that is closed: its two sides coincide.
    fn sheet(slit: bool) -> TriMesh {
        let (across, up) = (41u32, 31u32);
        let mut mesh = TriMesh::default();
        for j in 0..up {
            for i in 0..across {
                mesh.positions.push(DVec3::new(f64::from(i) - 20.0, f64::from(j) - 15.0, 0.0) * 0.002);
            }
        }
        let row = mesh.n_vertices() as u32;
        let middle = 15 * across;
        let is_slit = |v: u32| slit && v / across == 15 && (8..=32).contains(&(v % across));
        mesh.positions.extend_from_within(middle as usize..(middle + across) as usize);
        for j in 0..up - 1 {
            for i in 0..across - 1 {
                let at = |i: u32, j: u32| {
                    let v = j * across + i;
                    // Faces above the slit have its second side.
                    if is_slit(v) && v % across != 8 && v % across != 32 {
                        (v, row + v - middle)
                    } else {
                        (v, v)
                    }
                };
                let side = |p: (u32, u32)| if j >= 15 { p.1 } else { p.0 };
                let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)].map(side);
                mesh.triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        mesh
    }

    fn marks() -> Vec<Option<DVec3>> {
        let mut marks = vec![None; N_LANDMARKS];
        for (name, x, y) in [
            ("mouth_left", 25.0, 0.0),
            ("mouth_right", -25.0, 0.0),
            ("lip_upper_middle", 0.0, 8.0),
            ("lip_upper_left_peak", 10.0, 8.0),
            ("lip_upper_right_peak", -10.0, 8.0),
            ("lip_lower_middle", 0.0, -8.0),
            ("lip_lower_left_1", 10.0, -8.0),
            ("lip_lower_right_1", -10.0, -8.0),
        ] {
            marks[index(name).unwrap()] = Some(DVec3::new(x, y, 0.0) * 0.001);
        }
        marks
    }

    #[test]
    fn closed_lips_are_told_apart_and_fused_ones_are_recognized() {
        let open = sheet(true);
        let found = sides(&open, &marks());
        assert!(found.way.unwrap() > 2.5, "{:?}", found.way);
        let at_slit = |v: &usize| open.positions[*v].y.abs() < 1e-9 && open.positions[*v].x.abs() < 0.012;
        let at: Vec<usize> = (0..open.n_vertices()).filter(at_slit).collect();
        let count = |side: Side| at.iter().filter(|&&v| found.of_vertex[v] == side).count();
        assert_eq!((count(Side::LipUpper), count(Side::LipLower)), (at.len() / 2, at.len() / 2));
        let fused = sides(&sheet(false), &marks());
        assert!(fused.way.unwrap() < 1.5, "{:?}", fused.way);
        assert!(matches(Side::None, Side::LipUpper) && !matches(Side::LipLower, Side::LipUpper));
    }
}
