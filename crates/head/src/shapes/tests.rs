//! Properties of every shape: names, symmetry, rigid bones and eyes, closed lids, lips off teeth.

use super::*;
use crate::bones::built_in_joint;
use crate::skin::neutral;
use risorius_base::{Rigid, progress};
use risorius_mesh::query::fit::fit_rigid;
use risorius_mesh::{IntersectOptions, self_intersections};
use std::sync::LazyLock;

static HEAD: LazyLock<NeutralHead> = LazyLock::new(neutral);
static GROUND: LazyLock<Ground<'static>> = LazyLock::new(|| Ground::prepare(&HEAD));
static SHAPES: LazyLock<Vec<Deltas>> = LazyLock::new(|| make(&HEAD, &built_in_joint()));

fn deltas(name: &str) -> &'static Deltas {
    &SHAPES[names().iter().position(|n| *n == name).unwrap()]
}

/// Displacements of all vertices in mm.
fn field(name: &str) -> Field {
    let mut field = GROUND.still();
    let shape = deltas(name);
    for (&v, o) in shape.vertices.iter().zip(&shape.offsets) {
        field[v as usize] = glam::Vec3::from(*o).as_dvec3() * MM;
    }
    field
}

fn posed(field: &Field, weight: f64) -> Vec<DVec3> {
    GROUND.points.iter().zip(field).map(|(p, d)| *p + weight * *d).collect()
}

/// The motion that fits a part best, and the largest distance from it, mm.
fn fitted(field: &Field, part: &str) -> (Rigid, f64) {
    let range = GROUND.part(part);
    assert!(!range.is_empty(), "{part}");
    let (from, to) = (&GROUND.points[range.clone()], &posed(field, 1.0)[range]);
    let motion = fit_rigid(from, to, &[]);
    let worst = from.iter().zip(to).map(|(a, b)| motion.apply(*a).distance(*b)).fold(0.0, f64::max);
    (motion, worst)
}

/// Pairs of skin triangles that cross.
fn crossings(field: &Field, weight: f64) -> usize {
    let at: Vec<[f32; 3]> =
        posed(field, weight)[..GROUND.n_skin].iter().map(|p| p.as_vec3().to_array()).collect();
    self_intersections(&at, &GROUND.triangles, &IntersectOptions::default(), &progress::no_progress)
        .unwrap()
        .n_pairs
}

#[test]
fn every_shape_exists_and_is_sparse() {
    assert_eq!(SHAPES.len(), 67);
    for (name, shape) in names().iter().zip(SHAPES.iter()) {
        let n = shape.vertices.len();
        assert!(
            n > 0 && n < GROUND.points.len() * 6 / 10,
            "{name} moves {n} of {} vertices",
            GROUND.points.len()
        );
        assert!(shape.vertices.windows(2).all(|w| w[0] < w[1]), "{name} is not ascending");
        assert!(shape.offsets.iter().flatten().all(|x| x.is_finite()), "{name} is not finite");
        let most = f64::from(shape.max_length()) * MM;
        let range = if *name == "viseme_sil" { 0.5..4.0 } else { 2.0..60.0 };
        assert!(range.contains(&most), "{name} moves by up to {most} mm");
    }
}

#[test]
fn sides_are_mirror_images_to_the_bit() {
    for name in names() {
        let image = GROUND.mirrored(&field(name));
        let other = match name {
            n if n.ends_with("Left") => n.replace("Left", "Right"),
            n if n.ends_with("Right") => n.replace("Right", "Left"),
            n => n.into(),
        };
        assert!(image == field(&other), "{name} is not the mirror image of {other}");
    }
}

#[test]
fn the_jaw_is_rigid_and_turns_about_the_condyles() {
    for name in ["jawOpen", "jawForward", "jawLeft", "jawRight"] {
        let field = field(name);
        let (motion, worst) = fitted(&field, "teeth_lower");
        assert!(worst < 1e-3, "{name}: {} um", worst * 1e3);
        assert!(fitted(&field, "gums_lower").1 < 1e-3 && fitted(&field, "tongue").1 < 1e-3);
        // Both condyles stay on their tracks.
        let joint = built_in_joint();
        for condyle in joint.condyles {
            let slide = motion.apply(condyle * MM) - condyle * MM;
            let off = slide - joint.track * slide.dot(joint.track);
            assert!(off.length() < 0.6, "{name}: a condyle leaves its track by {off}");
        }
        assert!(GROUND.part("teeth_upper").all(|v| field[v] == DVec3::ZERO));
    }
    let open = field("jawOpen");
    let incisor = GROUND.part("teeth_lower").filter(|&v| GROUND.points[v].x.abs() < 3.0);
    let highest = incisor.max_by(|&a, &b| GROUND.points[a].y.total_cmp(&GROUND.points[b].y)).unwrap();
    assert!((40.0..46.0).contains(&open[highest].length()), "{}", open[highest].length());
}

#[test]
fn the_jaw_opens_without_folds() {
    let open = field("jawOpen");
    for weight in [0.5, 1.0] {
        let n = crossings(&open, weight);
        assert!(n <= 4, "{n} crossings at {weight}");
    }
}

#[test]
fn lids_close_outside_of_the_eyeball() {
    let lids = Lids::prepare(&GROUND);
    let center = GROUND.eye().center;
    for name in [
        "eyeBlinkLeft",
        "eyeSquintLeft",
        "eyeWideLeft",
        "eyeLookUpLeft",
        "eyeLookDownLeft",
        "eyeLookInLeft",
        "eyeLookOutLeft",
    ] {
        let field = field(name);
        let gaze = fitted(&field, "eye_left").0.rotation * DVec3::Z;
        let now = posed(&field, 1.0);
        for region in ["lids_upper_left", "lids_lower_left", "eye_socket_left"] {
            for &v in GROUND.region(region) {
                let d = now[v as usize] - center;
                let off = d.length() - lids.surface(d.normalize(), gaze);
                assert!(off > -0.05, "{name}: {region} {off} mm");
            }
        }
    }
    let closed = posed(&field("eyeBlinkLeft"), 1.0);
    let near = |lid: &str, around: DVec3| -> Vec<DVec3> {
        let region = GROUND.region(&format!("lids_{lid}_left")).iter().map(|&v| v as usize);
        region.filter(|&v| closed[v].distance(around) < 4.0).map(|v| closed[v]).collect()
    };
    for &v in GROUND.line("lid_upper_left_edge") {
        // Margins are rounded; the test is how near they come beside each vertex of the edge.
        let (upper, lower) = (near("upper", closed[v as usize]), near("lower", closed[v as usize]));
        let gaps = upper.iter().flat_map(|u| lower.iter().map(|l| u.distance(*l)));
        let gap = gaps.fold(f64::INFINITY, f64::min);
        assert!(gap < 1.0, "gap of {gap} mm");
    }
    assert!(crossings(&field("eyeBlinkLeft"), 1.0) <= 30, "lids pass each other");
}

#[test]
fn eyes_are_rigid() {
    for name in ["eyeLookUpLeft", "eyeLookDownLeft", "eyeLookInLeft", "eyeLookOutLeft"] {
        let (motion, worst) = fitted(&field(name), "eye_left");
        assert!(worst < 1e-3, "{name}: {} um", worst * 1e3);
        let center = GROUND.eye().center;
        assert!(motion.apply(center).distance(center) < 1e-2, "{name}");
    }
    let blink = field("eyeBlinkLeft");
    assert!(GROUND.part("eye_left").all(|v| blink[v] == DVec3::ZERO));
}

#[test]
fn lips_stay_off_teeth_and_gums() {
    let contact = Contact::prepare(&GROUND);
    let neutral = contact.least_distance(&GROUND.still());
    for name in names() {
        let mut field = field(name);
        if name == "mouthClose" {
            add(&mut field, 1.0, &self::field("jawOpen"));
        }
        let least = contact.least_distance(&field);
        assert!(least > neutral.min(0.3) - 0.02, "{name}: {least} mm, neutral {neutral} mm");
    }
}

#[test]
fn an_open_jaw_with_closed_lips_has_closed_lips() {
    let mut sum = field("jawOpen");
    add(&mut sum, 1.0, &field("mouthClose"));
    let now = posed(&sum, 1.0);
    let (upper, lower) = (GROUND.line("lip_upper_outer"), GROUND.line("lip_lower_outer"));
    for (&u, &l) in upper.iter().zip(lower) {
        let gap = now[u as usize].distance(now[l as usize]);
        assert!(gap < 1.0, "gap of {gap} mm");
    }
}
