//! Triangles that intersect, in the neutral and at each slider's full shape.
//!
//! A crossing within one connected surface is a fault. A crossing between two surfaces (a tooth in its gum,
//! an eyeball behind a lid) is usual in face rigs and is reported separately.

use super::{CheckOptions, Kind, List, Places, Severity};
use crate::model::{Part, Rig};
use risorius_base::progress::tick;
use risorius_base::{Cancelled, Progress};
use risorius_mesh::surface::components::components;
use risorius_mesh::{Edges, IntersectOptions, self_intersections};

const SELF_INTERSECTION: Kind = Kind {
    severity: Severity::Warning,
    code: "self-intersection",
    one: "a face crosses another of the same surface",
    many: "pairs of triangles of one surface cross",
    advice: "separate the surface there; contact cannot resolve crossings that exist at rest",
};
const PIECES_INTERSECT: Kind = Kind {
    severity: Severity::Note,
    code: "pieces-intersect",
    one: "two surfaces cross",
    many: "pairs of triangles of two surfaces cross",
    advice: "no action needed for teeth in gums and eyes behind lids; elsewhere, move the surfaces apart",
};
const SHAPE_SELF_INTERSECTION: Kind = Kind {
    severity: Severity::Note,
    code: "self-intersection-in-shape",
    one: "a shape makes its surface cross itself more than the neutral does",
    many: "shapes make their surface cross itself more than the neutral does",
    advice: "correct the shape, or let contact resolve it",
};

/// All triangles of a rig, with the part and face of each.
struct Surfaces {
    triangles: Vec<[u32; 3]>,
    /// Part and face of each triangle.
    faces: Vec<(u32, u32)>,
    /// Connected surface of each triangle.
    surface: Vec<u32>,
}

/// Crossings counted in one pose.
struct Count {
    within: Vec<u32>,
    between: Vec<u32>,
    complete: bool,
}

/// Adds crossings to `list`.
pub fn check(
    rig: &Rig,
    options: &CheckOptions,
    list: &mut List,
    progress: &Progress,
) -> Result<(), Cancelled> {
    let surfaces = Surfaces::of(rig);
    let neutral = surfaces.count(&rig.neutral, &options.intersect, progress)?;
    let unfinished = |complete: bool| if complete { "" } else { " (counting stopped early; there are more)" };
    if options.self_intersections {
        let place = |list: &List, t: u32| {
            let (part, face) = surfaces.faces[t as usize];
            list.face(part as usize, face)
        };
        for (kind, found) in [(&SELF_INTERSECTION, &neutral.within), (&PIECES_INTERSECT, &neutral.between)] {
            let mut places = Places::default();
            found.iter().for_each(|&t| places.add(|| place(list, t)));
            list.push(kind, places, unfinished(neutral.complete).into());
        }
    }
    // If counting stopped early on the neutral, sliders cannot be compared with it, and each would take as
    // long.
    if options.self_intersections_of_shapes && neutral.complete {
        check_sliders(rig, &surfaces, neutral.within.len(), options, list, progress)?;
    }
    Ok(())
}

/// Adds the sliders whose full shape has more crossings than the `n_neutral` of the neutral.
fn check_sliders(
    rig: &Rig,
    surfaces: &Surfaces,
    n_neutral: usize,
    options: &CheckOptions,
    list: &mut List,
    progress: &Progress,
) -> Result<(), Cancelled> {
    let (mut places, mut worst) = (Places::default(), (0, String::new()));
    for (i, slider) in rig.sliders.iter().enumerate() {
        tick(progress, "self-intersections of shapes", i as f32 / rig.sliders.len() as f32)?;
        let Some(shape) = rig.shapes.get(slider.shape) else { continue };
        let mut pose = rig.neutral.clone();
        for (&v, d) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            (0..3).for_each(|k| pose[v as usize][k] += d[k]);
        }
        let n_found = surfaces.count(&pose, &options.intersect, progress)?.within.len();
        if n_found > n_neutral {
            places.add(|| list.shape(slider.shape));
            if n_found > worst.0 {
                worst = (
                    n_found,
                    format!(" (most: '{}' with {n_found} pairs, neutral {n_neutral})", slider.name),
                );
            }
        }
    }
    list.push(&SHAPE_SELF_INTERSECTION, places, worst.1);
    Ok(())
}

impl Surfaces {
    fn of(rig: &Rig) -> Self {
        let mut all = Self { triangles: Vec::new(), faces: Vec::new(), surface: Vec::new() };
        let mut n_surfaces = 0;
        for (p, part) in rig.parts.iter().enumerate() {
            all.triangles.extend(part.rig_triangles());
            let (surface_of_vertex, n) = surfaces(part);
            for (f, face) in part.faces.iter().enumerate() {
                for _ in 2..face.len() {
                    all.faces.push((p as u32, f as u32));
                    all.surface.push(n_surfaces + surface_of_vertex[face[0] as usize]);
                }
            }
            n_surfaces += n;
        }
        all
    }

    fn count(
        &self,
        pose: &[[f32; 3]],
        options: &IntersectOptions,
        progress: &Progress,
    ) -> Result<Count, Cancelled> {
        // Every counted pair must be listed, to separate pairs within a surface from pairs between surfaces.
        let options = IntersectOptions { max_listed: usize::MAX, ..*options };
        let found = self_intersections(pose, &self.triangles, &options, progress)?;
        let surface = |t: u32| self.surface[t as usize];
        let (within, between): (Vec<_>, Vec<_>) =
            found.pairs.iter().partition(|[a, b]| surface(*a) == surface(*b));
        let first = |pairs: Vec<[u32; 2]>| pairs.iter().map(|p| p[0]).collect();
        Ok(Count { within: first(within), between: first(between), complete: found.complete })
    }
}

/// The connected surface of each file vertex of `part`, and how many there are.
///
/// Faces that share a file vertex are connected. Across a texture seam, where the file has two vertices for
/// one, two faces are connected if they alone share an edge after welding; a lash that merely touches a lid
/// is not connected to it.
fn surfaces(part: &Part) -> (Vec<u32>, u32) {
    let welded = Edges::of(&part.faces.map_vertices(|v| part.rig_vertex[v as usize]));
    let mut links = part.faces.clone();
    for e in 0..welded.len() {
        if let [a, b] = welded.uses(e)
            && a.forward != b.forward
        {
            links.push(&[a, b].map(|side| part.faces.face(side.face as usize)[0]));
        }
    }
    let pieces = components(part.n_file_vertices(), &links);
    (pieces.of_vertex, pieces.sizes.len() as u32)
}
