//! Incomplete and unusual rigs: a face, or an error that says what to do; never a panic.

use risorius_base::Axis;
use risorius_flesh::{BuildError, Face};
use risorius_rig::{Deltas, Rig};
use risorius_tests::anatomy::open;
use risorius_tests::data;
use risorius_tests::flesh::{HEADS, build_small, slider};
use risorius_tests::strange::{cube, cut, inside_out, mapped, without_shapes};

const NODES: usize = 1000;

/// facecap with a few of its shapes.
fn small_rig(data: &std::path::Path) -> Rig {
    let mut rig = open(data, HEADS[0].1);
    let names =
        ["jawOpen", "mouthSmileLeft", "mouthSmileRight", "eyeBlinkLeft", "eyeBlinkRight", "browInnerUp"];
    let keep = names.map(|n| rig.sliders[slider(&rig, n).unwrap()].shape);
    (0..rig.shapes.len())
        .filter(|s| !keep.contains(s))
        .for_each(|s| rig.shapes[s].deltas = Deltas::default());
    rig
}

/// Checks what must hold for any face.
fn check(what: &str, face: &Face) {
    let volumes = face.flesh.mesh().volumes();
    let fused = face.report.n_fused_pairs;
    println!(
        "{what}: {} nodes, {} tets, {} slit pairs, {fused} fused, skin {:.2?} mm from the volume",
        face.flesh.n_nodes(),
        volumes.len(),
        face.report.n_slit_pairs,
        face.report.embedding_mm
    );
    face.anatomy.notes.iter().for_each(|n| println!("  {}", n.what));
    assert!(volumes.iter().all(|v| *v > 0.0), "{what}");
    assert!(face.flesh.nodes.iter().flatten().all(|x| x.is_finite()), "{what}");
    // Fused pairs are not silent.
    assert!(fused == 0 || face.anatomy.notes.iter().any(|n| n.what.contains("fused")), "{what}");
    assert!(!face.flesh.embedding.vertices.is_empty(), "{what}: no skin is attached to the flesh");
}

/// Checks that the result is a valid face or an error with advice.
fn face_or_advice(what: &str, result: Result<Face, BuildError>) {
    match result {
        Ok(face) => check(what, &face),
        Err(e) => {
            println!("{what}: {e}");
            assert!(e.to_string().contains(';'), "{what}: no advice in '{e}'");
            // Advice must be about the user's rig: an infinite box would be a bug.
            assert!(!e.to_string().contains("inf,"), "{what}: '{e}'");
        }
    }
}

#[test]
fn no_face_and_no_shapes() {
    let Err(e) = build_small(&cube(), NODES) else { panic!("a cube is no face") };
    println!("{e}");
    assert!(e.to_string().contains("landmark file"), "{e}");
    let mut statue = cube();
    statue.shapes.clear();
    statue.sliders.clear();
    assert!(matches!(build_small(&statue, NODES), Err(BuildError::NoShapes)));
    assert!(build_small(&Rig::default(), NODES).is_err());
}

#[test]
fn unit_axes_and_winding() {
    let Some(data) = data("unit_axes_and_winding") else { return };
    let rig = small_rig(&data);
    let whole = build_small(&rig, NODES).unwrap();
    check("as it is", &whole);
    let volume = |f: &Face| f.flesh.mesh().volumes().iter().sum::<f64>();
    let to_mm = (1000.0 * rig.space.meters_per_unit) as f32;
    let mut millimeters = mapped(&rig, |p| p.map(|c| c * to_mm));
    millimeters.space.meters_per_unit = 0.001;
    let mut z_up = mapped(&rig, |[x, y, z]| [x, -z, y]);
    z_up.space.up = Axis { index: 2, negative: false };
    z_up.space.front = Axis { index: 1, negative: true };
    for (what, other) in [("millimeters", millimeters), ("Z up", z_up), ("inside out", inside_out(&rig))] {
        let face = build_small(&other, NODES).unwrap_or_else(|e| panic!("{what}: {e}"));
        check(what, &face);
        let ratio = volume(&face) / volume(&whole);
        println!("  volume {ratio:.3} of what it is");
        assert!((ratio - 1.0).abs() < 0.05, "{what}: {ratio}");
    }
}

#[test]
fn faces_that_lack_something() {
    let Some(data) = data("faces_that_lack_something") else { return };
    let rig = small_rig(&data);
    let x = |v: usize| rig.neutral[v][0];
    face_or_advice("half a face", build_small(&cut(&rig, |v| x(v) > -1e-4), NODES));
    let no_jaw = without_shapes(&rig, |n| n.to_lowercase().contains("jaw"));
    face_or_advice("no jaw shape", build_small(&no_jaw, NODES));
    let no_mouth = without_shapes(&rig, |n| ["jaw", "mouth"].iter().any(|w| n.to_lowercase().contains(w)));
    face_or_advice("no mouth opening", build_small(&no_mouth, NODES));
    let nothing_moves = without_shapes(&rig, |_| true);
    face_or_advice("shapes that do nothing", build_small(&nothing_moves, NODES));
    let mut giant = rig.clone();
    giant.space.meters_per_unit *= 1000.0;
    face_or_advice("meters that are millimeters", build_small(&giant, NODES));
    let mut dwarf = rig.clone();
    dwarf.space.meters_per_unit *= 0.001;
    face_or_advice("millimeters that are meters", build_small(&dwarf, NODES));
}
