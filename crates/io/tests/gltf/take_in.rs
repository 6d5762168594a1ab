//! Takes that were written as glTF, read as takes of their rig: frames, times and the motion of the head.

use super::synthetic::rig;
use glam::{DQuat, DVec3};
use risorius_base::progress::no_progress;
use risorius_base::{Axis, Space};
use risorius_io::formats::gltf::{GlbOptions, TakeOptions, WeightTrack, write_glb, write_take_glb};
use risorius_io::open::{OpenOptions, open_rig};
use risorius_io::take_in::{RigTake, open_take_of};
use risorius_rig::FrameSource;
use risorius_rig::{HeadMotion, Rig, Take};

fn take_of(rig: &Rig) -> Take {
    let frame = |f: usize| rig.neutral.iter().map(move |p| [p[0] - 0.1, p[1] + 0.25 * f as f32, p[2] * 1.5]);
    let positions = (0..4).flat_map(frame).collect();
    Take { times_secs: vec![0.5, 0.6, 0.7, 0.9], n_vertices: rig.n_vertices(), positions }
}

fn head() -> HeadMotion {
    HeadMotion {
        times_secs: vec![0.0, 1.0],
        positions_m: vec![[0.0; 3], [0.02, 0.3, 0.01]],
        rotations_xyzw: vec![
            [0.0, 0.0, 0.0, 1.0],
            (DQuat::from_rotation_y(0.4) * DQuat::from_rotation_x(0.2)).to_array(),
        ],
    }
}

fn opened(bytes: &[u8], ending: &str, rig: &Rig) -> Result<RigTake, String> {
    let file = tempfile::Builder::new().suffix(ending).tempfile().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    open_take_of(file.path(), rig, 30.0, &no_progress).map_err(|e| e.to_string())
}

#[test]
fn a_take_comes_back_on_the_vertices_of_its_rig() {
    let rig = rig();
    let take = take_of(&rig);
    for (ending, as_text) in [(".glb", false), (".gltf", true)] {
        let glb = write_take_glb(&rig, &take, &TakeOptions { as_text, ..TakeOptions::default() }).unwrap();
        let back = opened(&glb, ending, &rig).unwrap();
        assert!(back.head().is_none() && back.times_secs().len() == 4);
        for f in 0..4 {
            assert!((back.times_secs()[f] - take.times_secs[f]).abs() < 1e-6);
            let frame = back.frame(f);
            assert_eq!(frame.len(), rig.n_vertices());
            let off = frame.iter().flatten().zip(take.frame(f).iter().flatten()).map(|(a, b)| (a - b).abs());
            let most = off.fold(0.0, f32::max);
            assert!(most < 2e-6, "frame {f} is {most} off");
        }
    }
}

#[test]
fn shapes_with_a_weight_animation_are_a_take_too() {
    let rig = rig();
    let track = WeightTrack { times_secs: vec![0.0, 0.5], coefficients: vec![0.0, 0.5, 1.0, 0.25] };
    let glb = write_glb(&rig, &GlbOptions { animation: Some(&track), ..GlbOptions::default() }).unwrap();
    let back = opened(&glb, ".glb", &rig).unwrap();
    for f in 0..2 {
        let mut expected = rig.neutral.clone();
        for (shape, w) in rig.shapes.iter().zip(&track.coefficients[2 * f..]) {
            for (&v, o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
                (0..3).for_each(|k| expected[v as usize][k] += w * o[k]);
            }
        }
        assert_eq!(back.frame(f), expected, "frame {f}");
    }
}

#[test]
fn the_head_moves_alike_in_every_unit_and_axes() {
    let axis = |index, negative| Axis { index, negative };
    for (up, front) in
        [(axis(1, false), axis(2, false)), (axis(2, false), axis(1, true)), (axis(0, true), axis(2, true))]
    {
        let rig = Rig { space: Space { meters_per_unit: 0.01, up, front }, ..rig() };
        let motion = head();
        let options = TakeOptions { head: Some(&motion), ..TakeOptions::default() };
        let glb = write_take_glb(&rig, &take_of(&rig), &options).unwrap();
        let check = |back: &HeadMotion| {
            for t in [0.0, 0.25, 1.0] {
                let ((p, q), (p0, q0)) = (back.sample(t), motion.sample(t));
                assert!(p.distance(p0) < 1e-6, "up {up}, front {front}: {p} for {p0}");
                let moved = (q * DVec3::ONE).distance(q0 * DVec3::ONE);
                assert!(moved < 1e-5, "up {up}, front {front}: turned {moved} off");
            }
        };
        check(opened(&glb, ".glb", &rig).unwrap().head().expect("no head motion"));
        let file = tempfile::Builder::new().suffix(".glb").tempfile().unwrap();
        std::fs::write(file.path(), &glb).unwrap();
        let opened = open_rig(file.path(), &OpenOptions::default(), &no_progress).unwrap();
        check(opened.clips[0].clip.head.as_ref().expect("no head motion of the clip"));
    }
}

#[test]
fn takes_of_other_rigs_are_refused() {
    let rig = rig();
    let glb = write_take_glb(&rig, &take_of(&rig), &TakeOptions::default()).unwrap();
    let still = write_glb(&rig, &GlbOptions::default()).unwrap();
    assert!(opened(&still, ".glb", &rig).unwrap_err().contains("no animation"));
    let mut fewer = rig.clone();
    fewer.parts.pop();
    let error = opened(&glb, ".glb", &fewer).unwrap_err();
    assert!(error.contains("2 parts, the rig 1") && error.contains("take of this rig"), "{error}");
    // Vertices that were split are at the end of their part: a rig that rests elsewhere may have as many.
    let mut elsewhere = rig.clone();
    elsewhere.neutral.iter_mut().for_each(|p| p[0] += 3.0);
    let error = opened(&glb, ".glb", &elsewhere).unwrap_err();
    assert!(error.contains("part 'strip'"), "{error}");
    let mut larger = rig.clone();
    larger.parts[1].rig_vertex.push(0);
    assert!(
        opened(&glb, ".glb", &larger).unwrap_err().contains("'still' has 3 vertices, 'still' of the rig 4")
    );
}
