//! Performances of the built-in head: properties that hold for every face, checked without external data.

use glam::DVec3;
use risorius_base::progress::no_progress;
use risorius_flesh::materials::{Painting, materials};
use risorius_flesh::tissue::tissue;
use risorius_flesh::{Bound, BuildOptions, Face, Property, Surroundings, build};
use risorius_head::Identity;
use risorius_perform::scene::model::{Collider, ExpressedIn, Form};
use risorius_perform::{
    Checkpoint, EnrichOptions, Frame, FrameReport, HeadPath, PerformError, Performance, Scene, enrich,
};
use risorius_rig::{BoundClip, Evaluator, HeadMotion};
use std::ops::ControlFlow;
use std::sync::LazyLock;

static FACE: LazyLock<Face> = LazyLock::new(|| {
    let head = risorius_head::build(&Identity::default());
    let mut options = BuildOptions::default();
    options.volume.nodes = 700;
    let around = Surroundings { progress: &no_progress, store: &(), peak_mb: &|| 0.0 };
    build(&head.rig.with_sliders(&["jawOpen", "mouthSmileLeft"]), &head, &options, &around).unwrap()
});

/// Frames of a mouth that opens and smiles.
fn clip(n: usize) -> BoundClip {
    let times_secs: Vec<f64> = (0..n).map(|i| i as f64 / 60.0).collect();
    let weights = times_secs.iter().flat_map(|t| [(6.0 * t).sin().abs() as f32, (2.0 * t).min(1.0) as f32]);
    BoundClip { weights: weights.collect(), times_secs, n_sliders: 2, head: None }
}

fn shake() -> HeadPath {
    let times_secs: Vec<f64> = (0..60).map(|i| f64::from(i) / 120.0).collect();
    HeadPath::prepare(
        &HeadMotion {
            positions_m: times_secs.iter().map(|t| [0.02 * (25.0 * t).sin(), 0.0, 0.0]).collect(),
            rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; times_secs.len()],
            times_secs,
        },
        0.0,
    )
}

type Played = (Vec<Vec<[f32; 3]>>, Vec<FrameReport>, Vec<Checkpoint>);

fn play(
    performance: &Performance,
    options: &EnrichOptions,
    from: Option<Checkpoint>,
) -> Result<Played, PerformError> {
    let mut played = Played::default();
    let mut sink = |frame: &Frame| {
        played.0.push(frame.vertices.to_vec());
        played.1.push(*frame.report);
        played.2.push(Checkpoint { frame: frame.index, state: frame.body.state() });
        ControlFlow::Continue(())
    };
    enrich(&FACE, performance, options, from, &mut sink, &no_progress)?;
    Ok(played)
}

#[test]
fn without_head_motion_the_take_is_the_animation_to_the_bit() {
    let clip = clip(12);
    let still = Performance { clip: &clip, head: HeadPath::default(), scene: Scene::default() };
    let (frames, _, _) = play(&still, &EnrichOptions::default(), None).unwrap();
    let evaluator = Evaluator::prepare(&FACE.rig);
    for (i, frame) in frames.iter().enumerate() {
        assert!(*frame == evaluator.positions(clip.frame(i)), "frame {i} is not the artist's");
    }
    // A conventional simulation moves the skin by itself.
    let naive = EnrichOptions { rebalance: 0.0, ..EnrichOptions::default() };
    let (_, reports, _) = play(&still, &naive, None).unwrap();
    assert!(reports.iter().any(|r| r.max_mm > 0.05));
}

#[test]
fn a_shaken_head_moves_its_skin_and_a_run_resumes_to_the_same_bits() {
    let clip = clip(12);
    let shaken = Performance { clip: &clip, head: shake(), scene: Scene::default() };
    let (frames, reports, states) = play(&shaken, &EnrichOptions::default(), None).unwrap();
    let most = reports.iter().map(|r| r.max_mm).fold(0.0, f64::max);
    assert!((0.2..15.0).contains(&most), "skin moved by {most} mm at most");
    assert!(reports.iter().all(|r| r.smallest_det > 0.1 && r.unconverged == 0), "{reports:?}");
    let resumed = play(&shaken, &EnrichOptions::default(), Some(states[5].clone())).unwrap();
    assert!(resumed.0 == frames[6..], "resumed after frame 5");
    let [one, two] = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| play(&shaken, &EnrichOptions::default(), None).unwrap().0)
    });
    assert!(one == two && one == frames, "any number of threads");
}

#[test]
fn flesh_painted_stiff_moves_less() {
    let nodes = FACE.flesh.rest();
    let at = |n: usize| (FACE.flesh.bound(n) == Bound::Skin).then_some(60e3);
    let values = (0..nodes.len()).map(at).collect();
    let white = Painting { shape: None, property: Property::Stiffness, values };
    let bounds: Vec<Bound> = (0..nodes.len()).map(|n| FACE.flesh.bound(n)).collect();
    let at_nodes = tissue(&FACE.rig, &FACE.anatomy, &FACE.flesh).unwrap();
    let muscles = &FACE.anatomy.muscles;
    let mesh = FACE.flesh.mesh();
    let mut stiff = FACE.clone();
    stiff.flesh.materials =
        materials(&mesh, &bounds, &at_nodes, muscles, &FACE.flesh.volumes, &[white]).unwrap();
    let clip = clip(12);
    let shaken = Performance { clip: &clip, head: shake(), scene: Scene::default() };
    let moved = |face: &Face| {
        let mut most: f64 = 0.0;
        let mut sink = |frame: &Frame| {
            most = most.max(frame.report.mean_mm);
            ControlFlow::Continue(())
        };
        enrich(face, &shaken, &EnrichOptions::default(), None, &mut sink, &no_progress).unwrap();
        most
    };
    let (soft, stiff) = (moved(&FACE), moved(&stiff));
    assert!(stiff < 0.5 * soft, "{soft} mm, painted stiff {stiff} mm");
}

#[test]
fn a_ball_dents_the_cheek() {
    let clip =
        BoundClip { times_secs: vec![0.0, 0.02, 0.04], weights: vec![0.0; 6], n_sliders: 2, head: None };
    let cheek = FACE.anatomy.landmarks.iter().find(|l| l.name == "mid_cheek_left").map(|l| l.position);
    // 4 mm into the skin, from the side and the front.
    let center = cheek.expect("a cheek") + DVec3::new(0.011, 0.0, 0.011);
    let place = HeadMotion {
        times_secs: vec![0.0],
        positions_m: vec![center.to_array()],
        rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]],
    };
    let form = Form::Sphere { radius: 0.02 };
    let ball = Collider { form, path: HeadPath::keyed(&place), expressed_in: ExpressedIn::Head };
    let scene = Scene { colliders: vec![ball], ..Scene::default() };
    let (_, reports, _) =
        play(&Performance { clip: &clip, head: HeadPath::default(), scene }, &EnrichOptions::default(), None)
            .unwrap();
    assert!(reports[2].max_mm > 0.5 && reports[2].contacts > 0, "{:?}", reports[2]);
}

#[test]
fn wrong_input_is_refused() {
    let short = BoundClip { weights: vec![0.0; 3], ..clip(2) };
    let performance = Performance { clip: &short, head: HeadPath::default(), scene: Scene::default() };
    let error = play(&performance, &EnrichOptions::default(), None).err();
    assert!(matches!(error, Some(PerformError::Weights { got: 3, frames: 2, sliders: 2 })), "{error:?}");
    let good = clip(2);
    let performance = Performance { clip: &good, head: HeadPath::default(), scene: Scene::default() };
    let negative = EnrichOptions { dt_secs: -1.0, ..EnrichOptions::default() };
    assert!(matches!(play(&performance, &negative, None), Err(PerformError::Option { .. })));
}
