//! Checks of positions and faces, part by part: numbers that are not finite, strays, degenerate or repeated
//! faces, edges that are not manifold or not consistently wound, and open borders.

use super::{Kind, List, Places, Severity};
use crate::model::Rig;
use glam::Vec3;
use risorius_mesh::Polygons;
use risorius_mesh::surface::components::unreferenced;
use risorius_mesh::surface::defects::{degenerate_faces, duplicate_vertices, repeated_faces};
use risorius_mesh::surface::topology::{BoundaryLoop, Edges, boundary_loops};

const NO_VERTICES: Kind = Kind {
    severity: Severity::Error,
    code: "no-vertices",
    one: "the rig has no vertices",
    many: "",
    advice: "check that the file holds a mesh and that it is exported",
};
const NAN_POSITION: Kind = Kind {
    severity: Severity::Error,
    code: "nan-position",
    one: "a position is not a finite number",
    many: "positions are not finite numbers",
    advice: "repair or delete the vertices in the modeling tool and export again",
};
const HUGE_POSITION: Kind = Kind {
    severity: Severity::Warning,
    code: "huge-position",
    one: "a vertex is very far from the rest",
    many: "vertices are very far from the rest or from the origin",
    advice: "delete strays and move the head near the origin: far from it, f32 positions are coarse",
};
const PART_WITHOUT_FACES: Kind = Kind {
    severity: Severity::Warning,
    code: "part-without-faces",
    one: "a part has no faces",
    many: "parts have no faces",
    advice: "delete the part, or export its faces",
};
const UNREFERENCED_VERTEX: Kind = Kind {
    severity: Severity::Warning,
    code: "unreferenced-vertex",
    one: "a vertex belongs to no face",
    many: "vertices belong to no face",
    advice: "delete loose vertices; they belong to no surface",
};
const DUPLICATE_VERTEX: Kind = Kind {
    severity: Severity::Note,
    code: "duplicate-vertex",
    one: "a vertex coincides with another of its part but moves differently",
    many: "vertices coincide with another of their part but move differently",
    advice: "fine for lips and lids that open; merge them where the surface should be connected",
};
const DEGENERATE_FACE: Kind = Kind {
    severity: Severity::Warning,
    code: "degenerate-face",
    one: "a face has no area",
    many: "faces have no area",
    advice: "delete or merge them; they have no normal",
};
const REPEATED_FACE: Kind = Kind {
    severity: Severity::Warning,
    code: "repeated-face",
    one: "a face has the same vertices as another",
    many: "faces have the same vertices as another",
    advice: "delete the copies",
};
const NON_MANIFOLD_EDGE: Kind = Kind {
    severity: Severity::Warning,
    code: "non-manifold-edge",
    one: "an edge has more than two faces",
    many: "edges have more than two faces",
    advice: "split the surface there or delete inner faces",
};
const INCONSISTENT_WINDING: Kind = Kind {
    severity: Severity::Warning,
    code: "inconsistent-winding",
    one: "the two faces at an edge are wound in opposite directions",
    many: "edges have two faces that are wound in opposite directions",
    advice: "recalculate normals so that all faces point outward",
};
const OPEN_BOUNDARY: Kind = Kind {
    severity: Severity::Note,
    code: "open-boundary",
    one: "the surface has an open border",
    many: "open borders",
    advice: "fine at the neck, eyes and mouth; elsewhere, merge the vertices of the seam",
};

/// A coordinate larger than this leaves f32 a resolution of a sixteenth of a unit.
pub const HUGE: f64 = 1e6;
/// A vertex is a stray if it is farther from the middle than this many times the median distance.
const STRAY: f64 = 100.0;

/// Problems found so far; each part adds to them.
#[derive(Default)]
struct Found {
    without_faces: Places,
    loose: Places,
    duplicate: Places,
    degenerate: Places,
    repeated: Places,
    non_manifold: Places,
    winding: Places,
    borders: Vec<(f64, u32)>,
}

/// Adds every problem of positions and faces to `list`.
pub fn check(rig: &Rig, list: &mut List) {
    if rig.neutral.is_empty() {
        list.push(&NO_VERTICES, Places::of_rig(), String::new());
        return;
    }
    check_positions(rig, list);
    let mut found = Found::default();
    for part in 0..rig.parts.len() {
        check_part(rig, part, list, &mut found);
    }
    let mut borders = Places::default();
    // Longest first; equal ones by vertex.
    found.borders.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.borders.iter().for_each(|&(_, v)| borders.add(|| list.vertex(v)));
    let lengths: Vec<String> = found.borders.iter().take(3).map(|(l, _)| format!("{l:.4}")).collect();
    let lengths = format!(" (longest: {} units)", lengths.join(", "));
    for (kind, places, detail) in [
        (&PART_WITHOUT_FACES, found.without_faces, String::new()),
        (&UNREFERENCED_VERTEX, found.loose, String::new()),
        (&DUPLICATE_VERTEX, found.duplicate, String::new()),
        (&DEGENERATE_FACE, found.degenerate, String::new()),
        (&REPEATED_FACE, found.repeated, String::new()),
        (&NON_MANIFOLD_EDGE, found.non_manifold, String::new()),
        (&INCONSISTENT_WINDING, found.winding, String::new()),
        (&OPEN_BOUNDARY, borders, lengths),
    ] {
        list.push(kind, places, detail);
    }
}

fn check_positions(rig: &Rig, list: &mut List) {
    let (mut nan, mut huge) = (Places::default(), Places::default());
    let extent = Extent::of(rig);
    for (v, &p) in rig.neutral.iter().enumerate() {
        if !Vec3::from(p).is_finite() {
            nan.add(|| list.vertex(v as u32));
        } else if extent.is_far(p) {
            huge.add(|| list.vertex(v as u32));
        }
    }
    list.push(&NAN_POSITION, nan, String::new());
    list.push(&HUGE_POSITION, huge, String::new());
}

/// Where most of the vertices are; robust against a few strays.
pub struct Extent {
    middle: glam::DVec3,
    /// Half of the vertices are within this distance from the middle.
    radius: f64,
    /// Longest side of the bounding box of all vertices that are not strays.
    pub size: f64,
}

impl Extent {
    pub fn of(rig: &Rig) -> Self {
        let points: Vec<glam::DVec3> =
            rig.neutral.iter().map(|&p| Vec3::from(p).as_dvec3()).filter(|p| p.is_finite()).collect();
        let middle = glam::DVec3::from([0, 1, 2].map(|k| median(points.iter().map(|p| p[k]).collect())));
        let radius = median(points.iter().map(|p| p.distance(middle)).collect());
        let mut extent = Self { middle, radius, size: 0.0 };
        let near: Vec<[f32; 3]> = rig
            .neutral
            .iter()
            .filter(|p| Vec3::from(**p).is_finite() && !extent.is_far(**p))
            .copied()
            .collect();
        extent.size = risorius_mesh::query::bvh::bounds(&near)
            .map_or(0.0, |b| f64::from((b.max - b.min).max_element()));
        extent
    }

    fn is_far(&self, p: [f32; 3]) -> bool {
        let p = Vec3::from(p).as_dvec3();
        p.abs().max_element() > HUGE || (self.radius > 0.0 && p.distance(self.middle) > STRAY * self.radius)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    let half = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(half, f64::total_cmp).1 }
}

fn check_part(rig: &Rig, part_idx: usize, list: &List, found: &mut Found) {
    let part = &rig.parts[part_idx];
    if part.faces.is_empty() {
        found.without_faces.add(|| list.part(part_idx));
        return;
    }
    let first = part.vertices.start as u32;
    let positions = &rig.neutral[part.vertices.clone()];
    let faces: Polygons = part.faces.map_vertices(|v| part.rig_vertex[v as usize] - first);
    for v in unreferenced(positions.len(), &faces) {
        found.loose.add(|| list.vertex(first + v));
    }
    for [v, _] in duplicate_vertices(positions) {
        found.duplicate.add(|| list.vertex(first + v));
    }
    for (f, _) in degenerate_faces(positions, &faces) {
        found.degenerate.add(|| list.face(part_idx, f));
    }
    for [f, _] in repeated_faces(&faces) {
        found.repeated.add(|| list.face(part_idx, f));
    }
    let edges = Edges::of(&faces);
    let at_edge = |e: usize| list.vertex(first + edges.vertices(e)[0]);
    edges.non_manifold().into_iter().for_each(|e| found.non_manifold.add(|| at_edge(e)));
    edges.inconsistent().into_iter().for_each(|e| found.winding.add(|| at_edge(e)));
    let lowest = |border: &BoundaryLoop| border.vertices.iter().copied().min().unwrap_or(0);
    let borders = boundary_loops(&edges);
    found.borders.extend(borders.iter().map(|b| (b.length(positions), first + lowest(b))));
}
