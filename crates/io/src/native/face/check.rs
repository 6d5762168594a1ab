//! Validates a face: counts agree, indices are in range, volumes are positive, weights sum to 1.
//!
//! Run before a face is written and after one is read, so that every written file can be opened and no index
//! of an opened file is out of range. Problems are collected, each with the name of its array. A rig's own
//! coordinates may be anything, as in the artist's file; everything that was computed must be finite.

use super::FORMAT;
use crate::IoError;
use crate::formats::text::excerpt;
use glam::DVec3;
use risorius_anatomy::carry::Anatomy;
use risorius_base::Rigid;
use risorius_flesh::{Bound, Corrective, Face, Flesh, VolumeShape};
use risorius_head::landmarks::N_LANDMARKS;
use risorius_mesh::TriMesh;
use risorius_mesh::tet::tet_mesh::edge_matrix;
use risorius_rig::{Part, Rig, Role};

/// Number of problems that are listed; the others are counted.
const MOST_REPORTED: usize = 4;

/// How far weights may be from summing to 1, relative to the largest.
const SUM_TOLERANCE: f32 = 1e-4;

/// Problems found so far.
#[derive(Default)]
struct Problems {
    reported: Vec<String>,
    n: usize,
}

impl Problems {
    fn add(&mut self, array: &str, problem: impl FnOnce() -> String) {
        self.n += 1;
        if self.reported.len() < MOST_REPORTED {
            self.reported.push(format!("{array}: {}", problem()));
        }
    }

    fn expect(&mut self, holds: bool, array: &str, problem: impl FnOnce() -> String) {
        if !holds {
            self.add(array, problem);
        }
    }

    fn count(&mut self, array: &str, found: usize, wanted: usize, of: &str) {
        self.expect(found == wanted, array, || format!("{found} rows for {wanted} {of}"));
    }

    /// Every number of `rows` is below `n`.
    fn below<const N: usize>(&mut self, array: &str, rows: &[[u32; N]], n: usize, of: &str) -> bool {
        let bad = rows.iter().position(|row| row.iter().any(|&v| v as usize >= n));
        self.expect(bad.is_none(), array, || {
            let row = bad.unwrap_or(0);
            format!("row {row} is {:?}, but there are {n} {of}", rows[row])
        });
        bad.is_none()
    }

    /// `list` ascends, each number once, and stays below `n`.
    fn ascending(&mut self, array: &str, list: &[u32], n: usize, of: &str) {
        if let Some(row) = list.windows(2).position(|w| w[0] >= w[1]) {
            self.add(array, || format!("rows {row} and {} do not ascend", row + 1));
        } else if let Some(&last) = list.last().filter(|&&last| last as usize >= n) {
            self.add(array, || format!("it refers to {last}, but there are {n} {of}"));
        }
    }

    fn finite<T: num::Number, const N: usize>(&mut self, array: &str, rows: &[[T; N]]) {
        let bad = rows.iter().position(|row| !row.iter().all(|x| x.is_fine()));
        self.expect(bad.is_none(), array, || format!("row {} is not finite", bad.unwrap_or(0)));
    }

    fn finish(self, advice: &str) -> Result<(), IoError> {
        if self.n == 0 {
            return Ok(());
        }
        let more = if self.n > self.reported.len() {
            format!("; and {} more", self.n - self.reported.len())
        } else {
            String::new()
        };
        Err(IoError::malformed(FORMAT, "arrays", format!("{}{more}; {advice}", self.reported.join("; "))))
    }
}

/// Floats of either size.
mod num {
    pub trait Number: Copy {
        fn is_fine(&self) -> bool;
    }

    impl Number for f32 {
        fn is_fine(&self) -> bool {
            self.is_finite()
        }
    }

    impl Number for f64 {
        fn is_fine(&self) -> bool {
            self.is_finite()
        }
    }
}

/// Checks everything.
pub fn check(face: &Face, advice: &str) -> Result<(), IoError> {
    let mut problems = Problems::default();
    check_rig_parts(&face.rig, &mut problems);
    check_anatomy(&face.anatomy, &face.rig, &mut problems);
    check_flesh(&face.flesh, &face.rig, &mut problems);
    check_muscle_shapes(face, &mut problems);
    problems.finish(advice)
}

/// Checks only the rig.
pub fn check_rig(rig: &Rig, advice: &str) -> Result<(), IoError> {
    let mut problems = Problems::default();
    check_rig_parts(rig, &mut problems);
    problems.finish(advice)
}

fn check_rig_parts(rig: &Rig, problems: &mut Problems) {
    let n = rig.n_vertices();
    let space = &rig.space;
    let unit = space.meters_per_unit;
    problems.expect(unit.is_finite() && unit > 0.0, "rig.space", || format!("its unit is {unit} m"));
    problems.expect(space.up.index != space.front.index, "rig.space", || "up and front are one axis".into());
    for (i, part) in rig.parts.iter().enumerate() {
        check_part(part, &format!("rig.parts.{i}"), n, rig.materials.len(), problems);
    }
    for (i, shape) in rig.shapes.iter().enumerate() {
        let name = || format!("shape {i} '{}'", excerpt(shape.name.as_bytes()));
        let deltas = &shape.deltas;
        problems.ascending(&format!("rig.shapes.vertices, {}", name()), &deltas.vertices, n, "vertices");
        problems.count(&name(), deltas.offsets.len(), deltas.vertices.len(), "vertices");
        problems.expect(role_is_good(rig, i), &name(), || "its role does not fit the sliders".into());
    }
    for (i, slider) in rig.sliders.iter().enumerate() {
        let is_own = rig.shapes.get(slider.shape).is_some_and(|s| s.role == Role::Slider(i));
        problems.expect(is_own, "rig.sliders", || format!("slider {i} has no shape of its own"));
    }
    for (name, vertices) in &rig.regions {
        let name = format!("rig.regions '{}'", excerpt(name.as_bytes()));
        problems.ascending(&name, vertices, n, "vertices");
    }
}

fn check_part(part: &Part, name: &str, n_vertices: usize, n_materials: usize, problems: &mut Problems) {
    let range = &part.vertices;
    problems.expect(range.start <= range.end && range.end <= n_vertices, name, || {
        format!("its vertices are {} to {} of {n_vertices}", range.start, range.end)
    });
    let stray = part.rig_vertex.iter().position(|&v| !range.contains(&(v as usize)));
    problems.expect(stray.is_none(), &format!("{name}.rig_vertex"), || {
        format!("row {} is a vertex of another part", stray.unwrap_or(0))
    });
    let corners: &[[u32; 1]] = bytemuck::cast_slice(part.faces.corners());
    problems.below(&format!("{name}.corners"), corners, part.rig_vertex.len(), "vertices of the part");
    let per_corner = [part.corner_uvs.as_ref().map(Vec::len), part.corner_normals.as_ref().map(Vec::len)];
    for found in per_corner.into_iter().flatten() {
        problems.count(&format!("{name}.corner_uvs or corner_normals"), found, corners.len(), "corners");
    }
    if let Some(colors) = &part.colors {
        problems.count(
            &format!("{name}.colors"),
            colors.len(),
            part.rig_vertex.len(),
            "vertices of the part",
        );
    }
    let ascend = part.groups.windows(2).all(|w| w[0].first_face <= w[1].first_face);
    let there = part
        .groups
        .iter()
        .all(|g| g.first_face <= part.faces.len() && g.material.is_none_or(|m| m < n_materials));
    problems.expect(ascend && there, name, || "its groups do not fit its faces and the materials".into());
}

fn role_is_good(rig: &Rig, shape: usize) -> bool {
    let is_slider = |s: usize| s < rig.sliders.len();
    let between = |at: f32| at > 0.0 && at < 1.0;
    match &rig.shapes[shape].role {
        Role::Slider(s) => is_slider(*s) && rig.sliders[*s].shape == shape,
        Role::Inbetween { slider, at } => is_slider(*slider) && between(*at),
        Role::Combination { drivers, .. } => {
            let mut sliders: Vec<usize> = drivers.iter().map(|d| d.slider).collect();
            sliders.sort_unstable();
            sliders.dedup();
            sliders.len() == drivers.len()
                && sliders.len() >= 2
                && drivers.iter().all(|d| is_slider(d.slider) && d.at.is_none_or(between))
        }
    }
}

fn check_anatomy(anatomy: &Anatomy, rig: &Rig, problems: &mut Problems) {
    let (n, n_shapes) = (rig.n_vertices(), rig.shapes.len());
    let bones = &anatomy.bones;
    check_surface(&bones.cranium, "anatomy.cranium", problems);
    check_surface(&bones.mandible, "anatomy.mandible", problems);
    check_surface(&anatomy.teeth[0], "anatomy.teeth_upper", problems);
    check_surface(&anatomy.teeth[1], "anatomy.teeth_lower", problems);
    let joint = &bones.joint;
    let fine = joint.condyles.iter().all(|c| c.is_finite())
        && joint.track.is_finite()
        && joint.track_length.is_finite();
    problems.expect(fine, "anatomy.joint", || "it is not finite".into());
    for (eye, side) in anatomy.eyes.iter().zip(["left", "right"]) {
        let fine = eye.is_none_or(|e| {
            e.center.is_finite() && e.radius.is_finite() && e.radius > 0.0 && e.residual.is_finite()
        });
        problems.expect(fine, "anatomy.eyes", || format!("the {side} one is not a sphere"));
    }
    check_landmarks(anatomy, n, problems);
    for (i, muscle) in anatomy.muscles.iter().enumerate() {
        let name = format!("anatomy.muscles, muscle {i} '{}'", excerpt(muscle.name.as_bytes()));
        let counts = muscle.solid.counts;
        let product = counts.iter().try_fold(1usize, |n, &k| n.checked_mul(k));
        let n_control = muscle.solid.control.len();
        let fits = product == Some(n_control) && counts.iter().all(|&k| k >= 2);
        problems.expect(fits, &name, || format!("{n_control} control points for counts {counts:?}"));
        problems.finite(&name, bytemuck::cast_slice::<DVec3, [f64; 3]>(&muscle.solid.control));
    }
    let pieces = &anatomy.pieces;
    problems.count("anatomy.pieces.kinds", pieces.kinds.len(), n, "vertices");
    problems.count("anatomy.pieces.positions", pieces.positions.len(), n, "vertices");
    problems.count("anatomy.pieces.carriers", pieces.carriers.len(), n, "vertices");
    problems.below("anatomy.pieces.skin", &pieces.skin, n, "vertices");
    problems.below("anatomy.pieces.others", &pieces.others, n, "vertices");
    let carriers: Vec<[u32; 1]> = pieces.carriers.iter().flatten().map(|&c| [c]).collect();
    problems.below("anatomy.pieces.carriers", &carriers, n, "vertices");
    problems.ascending("anatomy.pieces.face", &pieces.face, n, "vertices");
    let [left, right] = &anatomy.eye_motion;
    for (name, motions) in
        [("jaw_motion", &anatomy.jaw_motion), ("eye_left_motion", left), ("eye_right_motion", right)]
    {
        problems.count(&format!("anatomy.{name}"), motions.len(), n_shapes, "shapes");
        let bad = motions.iter().position(|m| !is_rigid(m));
        problems.expect(bad.is_none(), &format!("anatomy.{name}"), || {
            format!("row {} is not a rigid motion", bad.unwrap_or(0))
        });
    }
    let (similarity, field) = (&anatomy.warp.similarity, anatomy.warp.field());
    let fine = is_rigid(&similarity.rigid) && similarity.scale.is_finite() && field.constant.is_finite();
    problems.expect(fine, "anatomy.warp", || "it is not finite".into());
    problems.finite("anatomy.warp.centers", bytemuck::cast_slice::<DVec3, [f64; 3]>(&field.centers));
    problems.finite("anatomy.warp.weights", bytemuck::cast_slice::<DVec3, [f64; 3]>(&field.weights));
}

fn is_rigid(motion: &Rigid) -> bool {
    motion.translation.is_finite() && (motion.rotation.length_squared() - 1.0).abs() < 1e-6
}

fn check_surface(surface: &TriMesh, name: &str, problems: &mut Problems) {
    problems
        .finite(&format!("{name}.positions"), bytemuck::cast_slice::<DVec3, [f64; 3]>(&surface.positions));
    problems.below(&format!("{name}.triangles"), &surface.triangles, surface.positions.len(), "positions");
}

fn check_landmarks(anatomy: &Anatomy, n_vertices: usize, problems: &mut Problems) {
    let all = &anatomy.landmarks;
    problems.count("anatomy.landmarks.positions", all.len(), N_LANDMARKS, "names of landmarks");
    let is_good = |l: &risorius_anatomy::find::FoundLandmark| {
        let there = l.triangle.iter().chain([&l.vertex]).all(|&v| (v as usize) < n_vertices);
        let finite = l.position.is_finite() && l.barycentric.iter().all(|x| x.is_finite());
        there && finite && (0.0..=1.0).contains(&l.confidence)
    };
    let bad = all.iter().position(|l| !is_good(l));
    problems.expect(bad.is_none(), "anatomy.landmarks", || {
        format!("row {} has no valid position or confidence", bad.unwrap_or(0))
    });
}

fn check_flesh(flesh: &Flesh, rig: &Rig, problems: &mut Problems) {
    let (n_nodes, n_tets) = (flesh.nodes.len(), flesh.tets.len());
    problems.finite("flesh.nodes", &flesh.nodes);
    if problems.below("flesh.tets", &flesh.tets, n_nodes, "nodes") {
        let nodes = flesh.rest();
        let flat = flesh.tets.iter().position(|&t| edge_matrix(&nodes, t).determinant() <= 0.0);
        problems.expect(flat.is_none(), "flesh.tets", || {
            format!("row {} has no positive volume", flat.unwrap_or(0))
        });
    }
    problems.count("flesh.bounds", flesh.bounds.len(), n_nodes, "nodes");
    let most = Bound::Inside as u8;
    let bad = flesh.bounds.iter().position(|&b| b > most);
    problems.expect(bad.is_none(), "flesh.bounds", || format!("row {} is above {most}", bad.unwrap_or(0)));
    check_embedding(flesh, rig.n_vertices(), problems);
    problems.count("flesh.volumes.first", flesh.volumes.len(), rig.shapes.len(), "shapes");
    for (i, volume) in flesh.volumes.iter().enumerate() {
        check_volume(volume, "volumes", &format!("shape {i}"), n_nodes, problems);
    }
    for (i, Corrective { shapes: [a, b], volume }) in flesh.correctives.iter().enumerate() {
        check_volume(volume, "correctives", &format!("pair {i}"), n_nodes, problems);
        problems.expect(a < b && (*b as usize) < rig.shapes.len(), "flesh.correctives.shapes", || {
            format!("row {i} is not a pair of two shapes in ascending order")
        });
    }
    check_materials(flesh, n_tets, rig.shapes.len(), problems);
}

fn check_volume(volume: &VolumeShape, of: &str, which: &str, n_nodes: usize, problems: &mut Problems) {
    problems.ascending(&format!("flesh.{of}.nodes, {which}"), &volume.nodes, n_nodes, "nodes");
    let offsets = format!("flesh.{of}.offsets, {which}");
    problems.count(&offsets, volume.offsets.len(), volume.nodes.len(), "nodes");
    problems.finite(&offsets, &volume.offsets);
}

fn check_embedding(flesh: &Flesh, n_vertices: usize, problems: &mut Problems) {
    let embedding = &flesh.embedding;
    let n = embedding.vertices.len();
    problems.ascending("flesh.embedding.vertices", &embedding.vertices, n_vertices, "vertices");
    problems.count("flesh.embedding.tets", embedding.tets.len(), n, "embedded vertices");
    problems.count("flesh.embedding.weights", embedding.weights.len(), n, "embedded vertices");
    let tets: &[[u32; 1]] = bytemuck::cast_slice(&embedding.tets);
    problems.below("flesh.embedding.tets", tets, flesh.tets.len(), "tets");
    // This comparison also fails for NaN.
    let sums_to_1 = |w: &[f32; 4]| {
        let largest = w.iter().fold(1.0f32, |most, x| most.max(x.abs()));
        (w.iter().sum::<f32>() - 1.0).abs() <= SUM_TOLERANCE * largest
    };
    let bad = embedding.weights.iter().position(|w| !sums_to_1(w));
    problems.expect(bad.is_none(), "flesh.embedding.weights", || {
        format!("row {} does not sum to 1", bad.unwrap_or(0))
    });
}

fn check_materials(flesh: &Flesh, n_tets: usize, n_shapes: usize, problems: &mut Problems) {
    let materials = &flesh.materials;
    for (name, values) in [
        ("mu", &materials.mu),
        ("lambda", &materials.lambda),
        ("density", &materials.density),
        ("damping", &materials.damping),
    ] {
        let name = format!("flesh.materials.{name}");
        problems.count(&name, values.len(), n_tets, "tets");
        let bad = values.iter().position(|&x| !(x >= 0.0 && x.is_finite()));
        problems
            .expect(bad.is_none(), &name, || format!("row {} is negative or not finite", bad.unwrap_or(0)));
    }
    problems.count("flesh.materials.shapes.first", materials.shapes.len(), n_shapes, "shapes");
    for (i, shape) in materials.shapes.iter().enumerate() {
        let name = |what: &str| format!("flesh.materials.shapes.{what}, shape {i}");
        problems.ascending(&name("tets"), &shape.tets, n_tets, "tets");
        for (what, values) in [("mu", &shape.mu), ("lambda", &shape.lambda)] {
            problems.count(&name(what), values.len(), shape.tets.len(), "tets");
            problems.finite(&name(what), bytemuck::cast_slice::<f32, [f32; 1]>(values));
        }
    }
    for (i, response) in materials.responses.iter().enumerate() {
        let rises = response.curve.windows(2).all(|w| w[0][0] < w[1][0]);
        let fine = response.shape < n_shapes
            && response.slider < flesh.parting_weights.len()
            && !response.curve.is_empty()
            && rises
            && response.curve.iter().flatten().all(|x| x.is_finite());
        problems.expect(fine, "flesh.materials.responses", || {
            format!("entry {i} names no shape or slider of the rig, or its curve does not rise")
        });
    }
}

fn check_muscle_shapes(face: &Face, problems: &mut Problems) {
    let (n_shapes, n_vertices) = (face.rig.shapes.len(), face.rig.n_vertices());
    let (muscles, shapes) = (&face.anatomy.muscles, &face.muscle_shapes);
    let numbers: Vec<u32> = shapes.iter().map(|s| s.shape).collect();
    problems.ascending("muscle_shapes.shapes", &numbers, n_shapes, "shapes of the rig");
    let n_points: usize = muscles.iter().map(|m| m.solid.control.len()).sum();
    for (i, shape) in shapes.iter().enumerate() {
        let of = |array: &str| format!("muscle_shapes.{array}, shape {i}");
        problems.count(&of("activations"), shape.activations.len(), muscles.len(), "muscles");
        problems.count(&of("leads"), shape.leads.len(), muscles.len(), "muscles");
        let bad = shape.activations.iter().position(|a| !(0.0..=1.0).contains(a));
        problems.expect(bad.is_none(), &of("activations"), || {
            format!("that of muscle {} is not from 0 to 1", bad.unwrap_or(0))
        });
        problems.finite(&of("jaw"), &[shape.jaw]);
        problems.finite(&of("miss_mm"), &[shape.miss_mm]);
        for key in &shape.tracks.keys {
            problems.count(&of("tracks"), key.len(), n_points, "control points");
            problems.finite(&of("tracks"), key);
        }
        problems.ascending(&of("snap.vertices"), &shape.snap.vertices, n_vertices, "vertices");
        let n = shape.snap.vertices.len();
        problems.count(&of("snap.offsets"), shape.snap.offsets.len(), n, "vertices");
        problems.finite(&of("snap.offsets"), &shape.snap.offsets);
    }
}
