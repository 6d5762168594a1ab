//! Lips and teeth that are not part of the rig: the built-in ones, carried into a rig without teeth.

use glam::{DVec3, Vec3};
use risorius_anatomy::PieceKind;
use risorius_base::progress::no_progress;
use risorius_flesh::{BuildOptions, Face, Surroundings, build};
use risorius_head::{Identity, landmarks};
use risorius_mesh::TriMesh;
use risorius_mesh::tet::solid::Shell;
use risorius_perform::curve::Curve;
use risorius_perform::scene::model::{ExpressedIn, Force};
use risorius_perform::{ContactMode, EnrichOptions, Frame, HeadPath, Performance, Scene, enrich};
use risorius_rig::{BoundClip, Evaluator, Rig};
use std::ops::ControlFlow;
use std::sync::LazyLock;

static FACE: LazyLock<Face> = LazyLock::new(|| {
    let head = risorius_head::build(&Identity::default());
    let rig = without_teeth(&head.rig.with_sliders(&["jawOpen", "mouthSmileLeft"]));
    let mut options = BuildOptions::default();
    options.volume.nodes = 1500;
    let around = Surroundings { progress: &no_progress, store: &(), peak_mb: &|| 0.0 };
    build(&rig, &head, &options, &around).unwrap()
});

/// The rig without the faces of teeth, gums and tongue.
fn without_teeth(rig: &Rig) -> Rig {
    let mut rig = rig.clone();
    for part in &mut rig.parts {
        let name = part.name.to_lowercase();
        if ["teeth", "gum", "tongue"].iter().any(|word| name.contains(word)) {
            part.faces = Default::default();
            part.groups.clear();
        }
    }
    rig
}

/// Skin around the mouth that flesh carries.
fn lips(face: &Face) -> Vec<u32> {
    let at = |name| face.anatomy.landmarks[landmarks::index(name).unwrap()].position;
    let (left, right) = (at("mouth_left"), at("mouth_right"));
    let near = |v: &u32| {
        face.anatomy.pieces.positions[*v as usize].distance(left.midpoint(right)) < 0.5 * left.distance(right)
    };
    face.flesh.embedding.vertices.iter().copied().filter(near).collect()
}

/// The deepest that a vertex of the lips which is outside the teeth in the artist's pose gets into them, mm;
/// and how far the lips move.
fn depth_in_teeth(weights: [f32; 2], contact: ContactMode) -> (f64, f64) {
    let face = &*FACE;
    let lips = lips(face);
    let evaluator = Evaluator::prepare(&face.rig);
    let strengths: Vec<f64> = evaluator.strengths(&weights).iter().map(|&c| c.into()).collect();
    let jaw = face.anatomy.jaw(&strengths);
    let [upper, lower] = &face.anatomy.teeth;
    let moved = TriMesh {
        positions: lower.positions.iter().map(|&p| jaw.apply(p)).collect(),
        triangles: lower.triangles.clone(),
    };
    let rows = [upper, &moved].map(Shell::prepare);
    let depth = |p: DVec3| {
        let of = |row: &Shell| if row.value(p) > 0.0 { row.distance(p, 0.01) } else { 0.0 };
        1000.0 * of(&rows[0]).max(of(&rows[1]))
    };
    let artist = evaluator.positions(&weights);
    let meters = |p: [f32; 3]| face.rig.space.si_from_file() * Vec3::from(p).as_dvec3();
    let newtons = Curve::constant(DVec3::new(0.0, 0.0, -1.5));
    let force = Force { vertices: lips.clone(), newtons, expressed_in: ExpressedIn::Head };
    let clip = BoundClip {
        times_secs: (0..6).map(|i| f64::from(i) / 60.0).collect(),
        weights: weights.repeat(6),
        n_sliders: 2,
        head: None,
    };
    let scene = Scene { forces: vec![force], ..Scene::default() };
    let performance = Performance { clip: &clip, head: HeadPath::default(), scene };
    let (mut deepest, mut most): (f64, f64) = (0.0, 0.0);
    let mut sink = |frame: &Frame| {
        for &v in &lips {
            let [before, now] = [&artist[..], frame.vertices].map(|pose| meters(pose[v as usize]));
            most = most.max(1000.0 * before.distance(now));
            if depth(before) == 0.0 {
                deepest = deepest.max(depth(now));
            }
        }
        ControlFlow::Continue(())
    };
    let options = EnrichOptions { contact, ..EnrichOptions::default() };
    enrich(face, &performance, &options, None, &mut sink, &no_progress).unwrap();
    (deepest, most)
}

#[test]
fn lips_that_are_pressed_inward_stop_at_carried_teeth() {
    let pieces = &FACE.anatomy.pieces;
    assert!(pieces.triangles_of(&[PieceKind::TeethUpper, PieceKind::TeethLower]).is_empty());
    assert!(FACE.anatomy.added_teeth().iter().all(Option::is_some));
    // Closed, and with the jaw and its teeth half open.
    for weights in [[0.0, 0.0], [0.5, 0.0]] {
        let (through, _) = depth_in_teeth(weights, ContactMode::Off);
        let (deepest, most) = depth_in_teeth(weights, ContactMode::Wall);
        assert!(through > 1.0, "{weights:?}: {through} mm without contact");
        assert!(deepest < 0.3 && most > 0.5, "{weights:?}: {deepest} mm deep in the teeth, {most} mm moved");
    }
}

#[test]
fn carried_teeth_leave_the_animation_alone() {
    let clip = BoundClip {
        times_secs: vec![0.0, 0.02, 0.04],
        weights: vec![0.0, 0.0, 0.5, 0.3, 1.0, 0.6],
        n_sliders: 2,
        head: None,
    };
    let evaluator = Evaluator::prepare(&FACE.rig);
    let still = Performance { clip: &clip, head: HeadPath::default(), scene: Scene::default() };
    let mut sink = |frame: &Frame| {
        assert!(*frame.vertices == evaluator.positions(clip.frame(frame.index)), "frame {}", frame.index);
        ControlFlow::Continue(())
    };
    enrich(&FACE, &still, &EnrichOptions::default(), None, &mut sink, &no_progress).unwrap();
}
