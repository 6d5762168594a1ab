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
        &[
            "lid_upper_right_outer",
            "lid_upper_right_inner",
            "lid_upper_left_inner",
            "lid_upper_left_outer",
        ],
    ),
    (
        Side::LidLower,
        &[
            "lid_lower_right_outer",
            "lid_lower_right_inner",
            "lid_lower_left_inner",
            "lid_lower_left_outer",
        ],
    ),
];

/// The sides of the vertices of `mesh`, from its landmarks.
pub fn sides(mesh: &TriMesh, marks: &[Option<DVec3>]) -> Sides {
    let length =
        |a: u32, b: u32| mesh.positions[a as usize].distance(mesh.positions[b as usize]).max(1e-9);
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
