//! All shapes of a rig onto another mesh: landmarks, correspondence, deformation transfer, and what hangs on
//! the skin.
//!
//! The target keeps its vertices, topology, texture coordinates and parts; names, in-betweens and
//! combinations are those of the source. A target without shapes is searched for its face on the geometry
//! alone ([`mod@crate::find`]); one with shapes is searched with their help. Skin is carried by
//! [`Deformation`]; eyes, teeth and gums move rigidly, as the same piece of the source does; the tongue
//! copies the source's; lashes and the rest follow the nearest skin (`attachments`).
//!
//! Combinations are carried like shapes, as deformations of the neutral. Limits: two heads, a fused mouth and
//! missing pieces are reported, not repaired.

mod attachments;

use crate::FitError;
use crate::correspond::{Skin, correspond};
use crate::deformation::{Deformation, DeformationOptions};
use crate::find::{FindOptions, Finder, Given};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use risorius_anatomy::find as anatomy;
use risorius_anatomy::pieces::{PieceKind, Pieces, pieces};
use risorius_base::Space;
use risorius_base::progress::{Progress, tick};
use risorius_head::landmarks::{NAMES, mirrored};
use risorius_head::{Head, Identity};
use risorius_mesh::surface::components;
use risorius_mesh::{FileMesh, TriMesh};
use risorius_rig::{Deltas, Rig, Role, Shape, Slider, meters};

/// What is known, and what is wanted.
#[derive(Debug, Clone, Default)]
pub struct CarryOptions {
    /// Sliders to carry, with their in-betweens and combinations; all by default.
    pub shapes: Option<Vec<String>>,
    /// Keep the target's own shapes. Of equal names, the target's own shape stays.
    pub keep: bool,
    /// Known landmarks of the source, in meters as in [`anatomy::Given`].
    pub source_landmarks: anatomy::Given,
    /// Known landmarks of the target, in the coordinates of its file.
    pub landmarks: Vec<Given>,
    /// More corresponding vertices, of the source and of the target.
    pub pins: Vec<[u32; 2]>,
    /// Options of the transfer.
    pub deformation: DeformationOptions,
}

/// A target with the shapes of a source.
pub struct Carried {
    /// The target with its new shapes.
    pub rig: Rig,
    /// Number of carried shapes.
    pub n_carried: usize,
    /// Landmarks of the target in the coordinates of its file, with confidence.
    pub landmarks: Vec<(&'static str, DVec3, f64)>,
    /// Meters per unit of the target's file.
    pub meters_per_unit: f64,
    /// Size of the target relative to the source.
    pub scale: f64,
    /// Distances of the target's face from the bent source, millimeters: mean and 95th percentile.
    pub distance_mm: [f64; 2],
    /// Vertices of the target's skin that correspond to nothing and follow their neighbors.
    pub n_free: usize,
    /// What was assumed or is doubtful.
    pub notes: Vec<String>,
}

/// Displacements shorter than this are left out, meters.
const LEAST: f64 = 2e-6;

/// Carries the shapes of `source` to `target`.
pub fn carry_shapes(
    source: &Rig,
    target: &Rig,
    options: &CarryOptions,
    progress: &Progress,
) -> Result<Carried, FitError> {
    let chosen = chosen(source, options)?;
    for (mesh, rig) in [("source", source), ("target", target)] {
        if let Some(vertex) = rig.neutral.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(FitError::NotFinite { mesh, vertex });
        }
    }
    tick(progress, "built-in head", 0.0)?;
    let head = risorius_head::build(&Identity::default());
    tick(progress, "landmarks", 0.0)?;
    let from = Placed::of_rig(source, &head, &options.source_landmarks)?;
    let to = Placed::of_target(target, &head, options, progress)?;
    let (source_skin, target_skin) = (from.skin(&options.pins, 0), to.skin(&options.pins, 1));
    let found = correspond(&source_skin, &target_skin, progress)?;
    let n_free = found.link.vertices.iter().filter(|l| **l == crate::Link::Free).count();
    tick(progress, "factor", 0.0)?;
    let deformation =
        Deformation::prepare(&source_skin.mesh, &target_skin.mesh, found.link, &options.deformation)?;
    let fields: Vec<Vec<DVec3>> =
        chosen.shapes.par_iter().map(|&s| meters::displacements(source, s)).collect();
    let on_skin: Vec<Vec<DVec3>> =
        fields.par_iter().map(|f| from.skin_vertices.iter().map(|&v| f[v as usize]).collect()).collect();
    let moved = deformation.transfer(&on_skin, progress)?;
    let hung = attachments::Attachments::prepare(&from, &to, &deformation.similarity);
    tick(progress, "shapes", 0.0)?;
    let deltas: Vec<Deltas> = (0..fields.len())
        .into_par_iter()
        .map(|k| {
            let name = &source.shapes[chosen.shapes[k]].name;
            let mut all = vec![DVec3::ZERO; target.n_vertices()];
            to.skin_vertices.iter().zip(&moved[k]).for_each(|(&v, d)| all[v as usize] = *d);
            hung.apply(name, &fields[k], &moved[k], &mut all);
            sparse(&all, &to.file_from_si)
        })
        .collect();
    let mut notes = [from.notes.clone(), to.notes.clone()].concat();
    doubts(&to, &found.way_between_lips, &found.distance, &mut notes);
    let rig = assembled(source, target, &chosen, deltas, options.keep, &mut notes);
    let landmarks = to.landmarks_in_file();
    Ok(Carried {
        rig,
        n_carried: chosen.shapes.len(),
        landmarks,
        meters_per_unit: to.meters_per_unit,
        scale: deformation.similarity.scale,
        distance_mm: found.distance.map(|d| 1000.0 * d),
        n_free,
        notes,
    })
}

/// A rig in meters, with landmarks.
struct Placed {
    pieces: Pieces,
    landmarks: Vec<Option<(DVec3, f64)>>,
    /// Rig vertices of the skin, ascending.
    skin_vertices: Vec<u32>,
    file_from_si: DMat3,
    /// From the file to meters, for points.
    si_from_file: risorius_mesh::Similarity,
    meters_per_unit: f64,
    notes: Vec<String>,
}

impl Placed {
    fn new(pieces: Pieces, landmarks: Vec<Option<(DVec3, f64)>>, space: &Space, notes: Vec<String>) -> Self {
        let mut skin_vertices: Vec<u32> = pieces.skin.iter().flatten().copied().collect();
        skin_vertices.sort_unstable();
        skin_vertices.dedup();
        let turn = glam::DQuat::from_mat3(&space.si_axes_from_file());
        let rigid = risorius_base::Rigid { rotation: turn, translation: DVec3::ZERO };
        let si_from_file = risorius_mesh::Similarity { rigid, scale: space.meters_per_unit };
        let file_from_si = space.file_from_si();
        let meters_per_unit = space.meters_per_unit;
        Self { pieces, landmarks, skin_vertices, file_from_si, si_from_file, meters_per_unit, notes }
    }

    /// A rig whose shapes tell where its features are.
    fn of_rig(rig: &Rig, head: &Head, given: &anatomy::Given) -> Result<Self, FitError> {
        let found = pieces(rig);
        let marks = anatomy::find(rig, &found, head, given)?;
        let notes =
            found.notes.iter().chain(&marks.notes).map(|n| format!("{}; {}", n.what, n.advice)).collect();
        let landmarks = marks.all.iter().map(|l| Some((l.position, l.confidence))).collect();
        Ok(Self::new(found, landmarks, &rig.space, notes))
    }

    /// The target: by its shapes if it has any that tell, else by its geometry.
    fn of_target(
        rig: &Rig,
        head: &Head,
        options: &CarryOptions,
        progress: &Progress,
    ) -> Result<Self, FitError> {
        let mesh = FileMesh { positions: rig.neutral.clone(), triangles: rig.triangles() };
        if rig.sliders.len() >= ENOUGH_SHAPES {
            let points = options.landmarks.iter().map(|g| (g.index, rig.space.si_from_file() * g.position));
            let given = anatomy::Given { points: points.collect() };
            let placed = Self::of_rig(rig, head, &given)?;
            if placed.landmarks.iter().flatten().filter(|l| l.1 > 0.45).count() >= 20 {
                return Ok(placed);
            }
        }
        let find = FindOptions { landmarks: options.landmarks.clone(), ..FindOptions::default() };
        let found = Finder::prepare(head).find(&mesh, &find, progress)?;
        let place =
            |p: &[f32; 3]| found.similarity.apply(glam::Vec3::from(*p).as_dvec3()).as_vec3().to_array();
        let upright = Rig {
            neutral: rig.neutral.iter().map(place).collect(),
            space: Space::default(),
            shapes: Vec::new(),
            sliders: Vec::new(),
            ..rig.clone()
        };
        let marks = found
            .landmarks
            .iter()
            .map(|l| Some((found.similarity.apply(l.position), l.confidence)))
            .collect();
        let mut parts = pieces(&upright);
        whole_teeth(&mut parts);
        let mut placed = Self::new(parts, marks, &Space::default(), found.notes.clone());
        placed.notes.extend(
            placed.pieces.notes.iter().map(|n| format!("{}; {}", n.what, n.advice)).collect::<Vec<_>>(),
        );
        let back = DMat3::from_quat(found.similarity.rigid.rotation.inverse());
        placed.file_from_si = back * (1.0 / found.similarity.scale);
        placed.si_from_file = found.similarity;
        placed.meters_per_unit = found.similarity.scale;
        Ok(placed)
    }

    fn skin(&self, pins: &[[u32; 2]], side: usize) -> Skin {
        let number = |v: u32| self.skin_vertices.binary_search(&v).unwrap_or(0) as u32;
        let triangles = self.pieces.skin.iter().map(|t| t.map(number)).collect();
        let positions = self.skin_vertices.iter().map(|&v| self.pieces.positions[v as usize]).collect();
        let pins = pins.iter().map(|p| self.pieces.positions[p[side] as usize]).collect();
        Skin { mesh: TriMesh { positions, triangles }, landmarks: self.landmarks.clone(), pins }
    }

    fn landmarks_in_file(&self) -> Vec<(&'static str, DVec3, f64)> {
        let back = self.si_from_file.inverse();
        let one = |(i, l): (usize, &Option<(DVec3, f64)>)| l.map(|(p, c)| (NAMES[i], back.apply(p), c));
        self.landmarks.iter().enumerate().filter_map(one).collect()
    }
}

/// Gives every connected piece of teeth or gums to one jaw, that of most of its vertices: without shapes they
/// were divided by height, vertex by vertex.
fn whole_teeth(parts: &mut Pieces) {
    use PieceKind::{GumsLower, GumsUpper, TeethLower, TeethUpper};
    let joined = components::of_triangles(parts.kinds.len(), &parts.others);
    for (upper, lower) in [(TeethUpper, TeethLower), (GumsUpper, GumsLower)] {
        let mut votes = vec![[0usize; 2]; joined.sizes.len()];
        for (kind, &c) in parts.kinds.iter().zip(&joined.of_vertex) {
            votes[c as usize][0] += usize::from(*kind == upper);
            votes[c as usize][1] += usize::from(*kind == lower);
        }
        for (kind, &c) in parts.kinds.iter_mut().zip(&joined.of_vertex) {
            if *kind == upper || *kind == lower {
                let [up, low] = votes[c as usize];
                *kind = if low > up { lower } else { upper };
            }
        }
    }
}

/// A target with fewer sliders is treated as a bare mesh.
const ENOUGH_SHAPES: usize = 8;

/// The shapes to carry.
struct Chosen {
    /// Their numbers in the source.
    shapes: Vec<usize>,
    /// Their names and roles, and the sliders.
    rig: Rig,
}

fn chosen(source: &Rig, options: &CarryOptions) -> Result<Chosen, FitError> {
    if source.sliders.is_empty() {
        return Err(FitError::NoShapes);
    }
    let Some(wanted) = &options.shapes else {
        return Ok(Chosen { shapes: (0..source.shapes.len()).collect(), rig: bare(source) });
    };
    let names: Vec<&str> = wanted.iter().map(String::as_str).collect();
    if let Some(name) = names.iter().find(|n| source.slider_index(n).is_none()) {
        return Err(FitError::UnknownShape { name: name.to_string() });
    }
    let part = source.with_sliders(&names);
    let of_name = |n: &str| source.shapes.iter().position(|s| s.name == n);
    let shapes = part.shapes.iter().filter_map(|s| of_name(&s.name)).collect();
    Ok(Chosen { shapes, rig: bare(&part) })
}

/// The sliders and roles of a rig, without its surface.
fn bare(rig: &Rig) -> Rig {
    let shape = |s: &Shape| Shape { deltas: Deltas::default(), ..s.clone() };
    Rig { shapes: rig.shapes.iter().map(shape).collect(), sliders: rig.sliders.clone(), ..Rig::default() }
}

fn sparse(all: &[DVec3], file_from_si: &DMat3) -> Deltas {
    let mut deltas = Deltas::default();
    for (v, d) in all.iter().enumerate().filter(|(_, d)| d.length() > LEAST) {
        deltas.vertices.push(v as u32);
        deltas.offsets.push((*file_from_si * *d).as_vec3().to_array());
    }
    deltas
}

/// The target with new shapes, and its own ones if they are kept.
fn assembled(
    source: &Rig,
    target: &Rig,
    chosen: &Chosen,
    deltas: Vec<Deltas>,
    keep: bool,
    notes: &mut Vec<String>,
) -> Rig {
    let mut rig = target.clone();
    if !keep {
        (rig.shapes, rig.sliders) = (Vec::new(), Vec::new());
    }
    let taken: Vec<String> = rig.shapes.iter().map(|s| s.name.clone()).collect();
    let n_own = rig.sliders.len();
    // New numbers of the source's sliders; those of equal name are the target's own.
    let mut slider_of: Vec<usize> = Vec::new();
    let mut n_new = n_own;
    for slider in &chosen.rig.sliders {
        slider_of.push(match rig.slider_index(&slider.name) {
            Some(own) => own,
            None => {
                n_new += 1;
                n_new - 1
            }
        });
    }
    let mut shape_of_slider = vec![usize::MAX; n_new];
    let mut kept = Vec::new();
    for (shape, deltas) in chosen.rig.shapes.iter().zip(deltas) {
        if taken.contains(&shape.name) {
            kept.push(shape.name.clone());
            continue;
        }
        let role = match &shape.role {
            Role::Slider(s) => {
                shape_of_slider[slider_of[*s]] = rig.shapes.len();
                Role::Slider(slider_of[*s])
            }
            Role::Inbetween { slider, at } => Role::Inbetween { slider: slider_of[*slider], at: *at },
            Role::Combination { drivers, rule } => {
                let driver =
                    |d: &risorius_rig::Driver| risorius_rig::Driver { slider: slider_of[d.slider], at: d.at };
                Role::Combination { drivers: drivers.iter().map(driver).collect(), rule: *rule }
            }
        };
        rig.shapes.push(Shape { name: shape.name.clone(), role, deltas });
    }
    for (k, slider) in chosen.rig.sliders.iter().enumerate().filter(|(k, _)| slider_of[*k] >= n_own) {
        rig.sliders.push(Slider { shape: shape_of_slider[slider_of[k]], ..slider.clone() });
    }
    if !kept.is_empty() {
        notes.push(format!(
            "{} shapes of {} have names of the target's own, which stay",
            kept.len(),
            source.name
        ));
    }
    rig
}

/// Adds what looks doubtful about the target.
fn doubts(to: &Placed, way: &Option<f64>, distance: &[f64; 2], notes: &mut Vec<String>) {
    if way.is_some_and(|w| w < 1.8) {
        notes.push(
            "the lips of the target are one surface: its mouth cannot open, and shapes that open it stretch \
             the skin between the lips; cut the mouth open in the modeling tool"
                .into(),
        );
    }
    if distance[0] > 0.0025 {
        notes.push(format!(
            "the bent source is {:.1} mm from the target on average; check the landmarks, or give some",
            1000.0 * distance[0]
        ));
    }
    let mut crooked: Vec<(f64, &str)> = Vec::new();
    for (i, (landmark, name)) in to.landmarks.iter().zip(NAMES).enumerate() {
        if let (Some((p, _)), Some((q, _))) = (landmark, to.landmarks[mirrored(i)])
            && mirrored(i) > i
        {
            let off = DVec3::new(p.x + q.x, p.y - q.y, p.z - q.z).length();
            crooked.push((off, name));
        }
    }
    crooked.sort_by(|a, b| b.0.total_cmp(&a.0));
    if let Some((off, name)) = crooked.first().filter(|c| c.0 > 0.012) {
        notes.push(format!(
            "the landmarks are not symmetric: '{name}' and its mirror image differ by {:.0} mm; check them",
            1000.0 * off
        ));
    }
    let unsure = to.landmarks[17..68].iter().flatten().filter(|l| l.1 < 0.3).count();
    if unsure > 15 {
        notes.push(format!(
            "{unsure} of 51 landmarks of the target's face are uncertain; look at them and give better ones"
        ));
    }
}
