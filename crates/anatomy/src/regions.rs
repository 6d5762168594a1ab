//! Named regions of a face on any rig: the rig's own regions, and lips, lids, cheeks ... of the built-in
//! head.
//!
//! A name is looked up as a region of the rig, as a part, as `shape:NAME` (the vertices that a shape moves),
//! and then among the regions of the built-in head. Those are transferred to the rig by the warp of the
//! bones: a skin vertex belongs to the regions of the closest point of the warped skin with a similar normal.
//! Closed lips touch, so the normal distinguishes them. Skin farther than [`REACH`] from the warped skin,
//! such as shoulders, belongs to no region.

use crate::carry::Anatomy;
use crate::pieces::Pieces;
use crate::warp::Warp;
use rayon::prelude::*;
use risorius_head::skin;
use risorius_mesh::{Bvh, TriMesh};
use risorius_rig::Rig;
use risorius_rig::lookup::region_vertices;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Skin farther than this from the warped built-in skin belongs to no region, meters.
pub const REACH: f64 = 0.02;

/// Names for groups of regions, and the prefixes of their members.
const GROUPS: [(&str, &[&str]); 11] = [
    ("lips", &["lips_"]),
    ("lids", &["lids_"]),
    ("lids_left", &["lids_upper_left", "lids_lower_left"]),
    ("lids_right", &["lids_upper_right", "lids_lower_right"]),
    ("lids_upper", &["lids_upper_"]),
    ("lids_lower", &["lids_lower_"]),
    ("cheeks", &["cheek_"]),
    ("jowls", &["jowl_"]),
    ("brows", &["brow_"]),
    ("ears", &["ear_"]),
    ("eye_sockets", &["eye_socket_"]),
];

/// Why a region cannot be looked up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    /// Neither the rig nor the built-in head has the region.
    #[error("there is no region '{name}'; use one of {}, or shape:NAME for a shape", known.join(", "))]
    Unknown {
        /// As given.
        name: String,
        /// All known names.
        known: Vec<String>,
    },
    /// The region is empty.
    #[error("the region '{name}' has no vertices")]
    Empty {
        /// As given.
        name: String,
    },
    /// No such shape.
    #[error(transparent)]
    Shape(#[from] risorius_rig::lookup::UnknownName),
}

impl risorius_base::Advise for RegionError {}

/// The regions of one rig; those of the built-in head are transferred when first needed.
pub struct Regions<'a> {
    rig: &'a Rig,
    anatomy: &'a Anatomy,
    carried: OnceLock<BTreeMap<String, Vec<u32>>>,
}

impl<'a> Regions<'a> {
    /// The regions of a rig with its anatomy.
    pub fn new(rig: &'a Rig, anatomy: &'a Anatomy) -> Self {
        Self { rig, anatomy, carried: OnceLock::new() }
    }

    /// The rig vertices of a region, ascending; the error lists the known names.
    pub fn vertices(&self, name: &str) -> Result<Vec<u32>, RegionError> {
        let found = match region_vertices(self.rig, name) {
            Err(problem) if name.starts_with("shape:") => return Err(problem.into()),
            Err(_) => self.carried().get(name).cloned(),
            Ok(vertices) => Some(vertices),
        };
        let mut vertices = found.ok_or_else(|| RegionError::Unknown {
            name: name.into(),
            known: self.names().iter().map(|n| n.to_string()).collect(),
        })?;
        vertices.sort_unstable();
        vertices.dedup();
        if vertices.is_empty() { Err(RegionError::Empty { name: name.into() }) } else { Ok(vertices) }
    }

    /// The rig vertices of a region of the built-in head, ascending, also if the rig has a region of that
    /// name; `None` if it covers no skin of the rig.
    pub fn of_face(&self, name: &str) -> Option<Vec<u32>> {
        self.carried().get(name).filter(|vertices| !vertices.is_empty()).cloned()
    }

    /// Names of regions: the rig's own, its parts, and those of faces.
    pub fn names(&self) -> Vec<&str> {
        let own = self.rig.regions.keys().map(String::as_str);
        let parts = self.rig.parts.iter().map(|part| part.name.as_str());
        let mut names: Vec<&str> = Vec::new();
        for name in own.chain(parts).chain(self.carried().keys().map(String::as_str)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn carried(&self) -> &BTreeMap<String, Vec<u32>> {
        self.carried.get_or_init(|| carried(&self.anatomy.pieces, &self.anatomy.warp))
    }
}

/// The built-in head's regions and groups, as vertices of the rig that `warp` maps to.
fn carried(pieces: &Pieces, warp: &Warp) -> BTreeMap<String, Vec<u32>> {
    let head = skin::neutral();
    let Some(part) = head.parts.first() else { return BTreeMap::new() };
    let warped = TriMesh { positions: warp.apply_all(&part.positions), triangles: part.faces.triangulated() };
    let tree = Bvh::build(&warped.positions_f32(), &warped.triangles);
    let own = TriMesh { positions: pieces.positions.clone(), triangles: pieces.skin.clone() };
    let normals = own.vertex_normals();
    let mut skin_vertices: Vec<u32> = pieces.skin.iter().flatten().copied().collect();
    skin_vertices.sort_unstable();
    skin_vertices.dedup();
    let nearest = |&v: &u32| {
        let (p, normal) = (pieces.positions[v as usize], normals[v as usize]);
        let alike = |triangle: u32, _: [u32; 3]| warped.normal(triangle).dot(normal) > 0.0;
        let found = tree.closest_within(p, REACH, alike).or_else(|| tree.closest_point(p, REACH))?;
        let distance = |corner: &&u32| warped.positions[**corner as usize].distance_squared(found.point);
        let corners = &warped.triangles[found.triangle as usize];
        corners.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|&corner| (v, corner))
    };
    let pairs: Vec<(u32, u32)> = skin_vertices.par_iter().filter_map(nearest).collect();
    let mut regions: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (name, vertices) in &head.regions {
        let within = pairs.iter().filter(|(_, corner)| vertices.binary_search(corner).is_ok());
        regions.insert(name.clone(), within.map(|&(v, _)| v).collect());
    }
    for (group, begins) in GROUPS {
        let members = regions.iter().filter(|(name, _)| begins.iter().any(|b| name.starts_with(b)));
        let mut all: Vec<u32> = members.flat_map(|(_, vertices)| vertices.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        regions.insert(group.into(), all);
    }
    regions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::pieces;
    use glam::DVec3;

    fn middle(pieces: &Pieces, vertices: &[u32]) -> DVec3 {
        vertices.iter().map(|&v| pieces.positions[v as usize]).sum::<DVec3>() / vertices.len() as f64
    }

    /// With the identity warp, the built-in head gets its own regions back.
    #[test]
    fn the_built_in_head_finds_its_own_regions() {
        let head = skin::neutral();
        let rig = skin::to_rig(&head);
        let found = pieces(&rig);
        let carried = carried(&found, &Warp::default());
        for (name, wanted) in &head.regions {
            let got = &carried[name];
            let same = wanted.iter().filter(|v| got.binary_search(v).is_ok()).count();
            let share = same as f64 / wanted.len() as f64;
            assert!(
                share > 0.9 && got.len() < wanted.len() * 11 / 10,
                "{name}: {same} of {}, {} found",
                wanted.len(),
                got.len()
            );
        }
        let lips = [&carried["lips_upper"], &carried["lips_lower"]].map(|l| middle(&found, l).y);
        assert!(lips[0] > lips[1], "{lips:?}");
        let [left, right] = ["cheek_left", "cheek_right"].map(|name| middle(&found, &carried[name]).x);
        assert!(left > 0.02 && right < -0.02, "{left} {right}");
        let lids = ["lids_left", "lids_right"].map(|name| carried[name].len());
        assert!(lids[0] > 50 && lids[0] + lids[1] == carried["lids"].len(), "{lids:?}");
    }
}
