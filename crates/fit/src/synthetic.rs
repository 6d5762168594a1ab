//! Simulated scans of the built-in head, for tests and demonstrations: another person, some expression, an
//! unknown unit and pose, noise, holes, and a floating shell.
//!
//! Only what a camera sees is scanned: the visible skin and the eyes. The same seed gives the same scan.

use crate::actor::Scan;
use glam::{DQuat, DVec3};
use risorius_anatomy::PieceKind;
use risorius_anatomy::outer::OuterSkin;
use risorius_anatomy::pieces::pieces;
use risorius_base::Rigid;
use risorius_head::Head;
use risorius_mesh::{Bvh, Similarity, TriMesh};
use risorius_rig::classify::names::find;
use risorius_rig::synthetic::Random;
use risorius_rig::{Evaluator, Rig};

/// How a scan is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capture {
    /// Largest error of a vertex along its normal, meters.
    pub noise: f64,
    /// Number of holes.
    pub holes: usize,
    /// Radius of a hole, meters.
    pub hole_radius: f64,
    /// Seed of noise, holes, unit and pose.
    pub seed: u64,
}

impl Default for Capture {
    /// Noise of 0.3 mm and eight holes of 4 mm.
    fn default() -> Self {
        Self { noise: 3e-4, holes: 8, hole_radius: 4e-3, seed: 1 }
    }
}

/// A simulated scan with its truth.
#[derive(Debug, Clone)]
pub struct Captured {
    /// The scan, with the landmarks of the head.
    pub scan: Scan,
    /// From the person to the scan.
    pub scan_from_person: Similarity,
    /// All rig vertices of the person in the expression, meters.
    pub truth: Vec<DVec3>,
}

/// Scans `person` in an expression; `name` names it.
pub fn capture(person: &Head, name: &str, weights: &[(&str, f32)], how: &Capture) -> Captured {
    let rig = &person.rig;
    let truth = posed(rig, weights);
    let mut random = Random(how.seed.wrapping_mul(0x9e37_79b9).wrapping_add(7));
    let mut signed = || f64::from(random.signed());
    let found = pieces(rig);
    let mut mesh = TriMesh { positions: truth.clone(), triangles: Vec::new() };
    mesh.triangles = OuterSkin::new(&truth, &found.skin).triangles;
    mesh.triangles.extend(found.triangles_of(&[PieceKind::EyeLeft, PieceKind::EyeRight]));
    let normals = mesh.vertex_normals();
    let centers: Vec<DVec3> = (0..how.holes)
        .map(|_| truth[((signed().abs() * found.face.len() as f64) as usize).min(found.face.len() - 1)])
        .collect();
    let is_whole = |t: &[u32; 3]| {
        t.iter().all(|&v| centers.iter().all(|c| c.distance(truth[v as usize]) > how.hole_radius))
    };
    mesh.triangles.retain(is_whole);
    for (p, n) in mesh.positions.iter_mut().zip(&normals) {
        *p += *n * (how.noise * signed());
    }
    let first = mesh.n_vertices() as u32;
    let shell = DVec3::new(0.15, 0.05, 0.1);
    mesh.positions.extend([shell, shell + DVec3::X * 0.01, shell + DVec3::Y * 0.01]);
    mesh.triangles.push([first, first + 1, first + 2]);
    let turn = DVec3::new(signed(), signed(), signed()) * 0.4;
    let scan_from_person = Similarity {
        rigid: Rigid {
            rotation: DQuat::from_scaled_axis(turn),
            translation: DVec3::new(signed(), signed(), signed()) * 3.0,
        },
        scale: 10.0 * (1.0 + 0.3 * signed()),
    };
    mesh.positions.iter_mut().for_each(|p| *p = scan_from_person.apply(*p));
    let landmarks = landmarks(person, &truth).iter().map(|p| Some(scan_from_person.apply(*p))).collect();
    Captured { scan: Scan { name: name.into(), mesh, landmarks, weights: None }, scan_from_person, truth }
}

/// All vertices at slider values, meters.
fn posed(rig: &Rig, weights: &[(&str, f32)]) -> Vec<DVec3> {
    let mut values = vec![0.0; rig.sliders.len()];
    for (name, value) in weights {
        if let Some(s) = find(name, rig.sliders.iter().map(|s| s.name.as_str())) {
            values[s] = *value;
        }
    }
    Evaluator::prepare(rig).positions(&values).iter().map(|&p| rig.space.to_si(p)).collect()
}

/// The landmarks of the head where the expression moves them.
fn landmarks(person: &Head, truth: &[DVec3]) -> Vec<DVec3> {
    let skin = person.rig.parts.first().map_or(0..0, |p| p.vertices.clone());
    let tree = Bvh::of_points(&person.rig.neutral[skin]);
    let file = person.rig.space.file_from_si();
    let at = |p: &DVec3| tree.closest_vertex(file * *p, f64::INFINITY).map_or(*p, |(v, _)| truth[v as usize]);
    person.landmarks.iter().map(at).collect()
}
