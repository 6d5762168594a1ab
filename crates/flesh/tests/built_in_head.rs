//! Flesh of the built-in head: properties that hold for every face, checked without external data.

use glam::{DVec3, Vec3};
use risorius_anatomy::PieceKind;
use risorius_base::progress::no_progress;
use risorius_flesh::rest::{LEAST_J, RestVolumes};
use risorius_flesh::{Bound, BuildError, BuildOptions, Face, Skin, Slits, Surroundings, build};
use risorius_head::{Head, Identity};
use risorius_rig::{Evaluator, Rig};
use std::ops::ControlFlow;
use std::sync::LazyLock;

const SLIDERS: [&str; 3] = ["jawOpen", "mouthSmileLeft", "eyeBlinkLeft"];

static HEAD: LazyLock<Head> = LazyLock::new(|| risorius_head::build(&Identity::default()));
static FACE: LazyLock<Face> = LazyLock::new(|| built(&HEAD.rig.with_sliders(&SLIDERS), 900).unwrap());

fn built(rig: &Rig, nodes: usize) -> Result<Face, BuildError> {
    let mut options = BuildOptions::default();
    options.volume.nodes = nodes;
    build(rig, &HEAD, &options, &Surroundings { progress: &no_progress, store: &(), peak_mb: &|| 0.0 })
}

fn volumes(face: &Face, nodes: &[DVec3]) -> Vec<f64> {
    let volume = |tet: &[u32; 4]| {
        let [a, b, c, d] = tet.map(|n| nodes[n as usize]);
        (b - a).cross(c - a).dot(d - a) / 6.0
    };
    face.flesh.tets.iter().map(volume).collect()
}

#[test]
fn no_tet_is_inverted_in_any_pose_and_the_neutral_is_itself() {
    let face = &*FACE;
    let rest = RestVolumes::prepare(&face.flesh).unwrap();
    let neutral = face.flesh.rest();
    assert_eq!(rest.at(&[0.0; 3]).unwrap().positions, neutral, "to the bit");
    let at_rest = volumes(face, &neutral);
    assert!(at_rest.iter().all(|v| *v > 0.0));
    for strengths in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.5, 0.5, 1.2]] {
        let posed = volumes(face, &rest.at(&strengths).unwrap().positions);
        let least = posed.iter().zip(&at_rest).map(|(v, v0)| v / v0).fold(f64::INFINITY, f64::min);
        assert!(least > 0.5 * LEAST_J, "{strengths:?}: an element keeps {least} of its volume");
    }
}

/// A mouth that opens less than the size of an element: no element joins the lips, and they part as the
/// artist wants.
#[test]
fn lips_that_open_little_are_not_fused() {
    let mut rig = HEAD.rig.with_sliders(&SLIDERS);
    let jaw = rig.sliders[0].shape;
    rig.shapes[jaw].deltas.offsets.iter_mut().for_each(|o| *o = o.map(|x| 0.4 * x));
    let face = built(&rig, 900).unwrap();
    let report = &face.report;
    assert!(report.n_slit_pairs > 20 && report.n_fused_pairs == 0, "{} fused pairs", report.n_fused_pairs);
    let rest = RestVolumes::prepare(&face.flesh).unwrap();
    let open = rest.at(&[1.0, 0.0, 0.0]).unwrap().positions;
    let moved: Vec<DVec3> = open.iter().zip(face.flesh.rest()).map(|(x, x0)| *x - x0).collect();
    let carried = face.flesh.embedding.apply(&face.flesh.tets, &moved);
    let wanted = &rig.shapes[jaw].deltas;
    let offset = |v: u32| wanted.vertices.binary_search(&v).map_or([0.0; 3], |i| wanted.offsets[i]);
    let row = |v: u32| face.flesh.embedding.vertices.binary_search(&v).ok();
    let evaluator = Evaluator::prepare(&rig);
    let skin = Skin::prepare(&rig, &face.anatomy.pieces.vertices(PieceKind::Skin), None);
    let slits = Slits::find(&rig, &evaluator, &skin);
    let share = |pair: &[u32; 2]| {
        let [a, b] = pair.map(|v| skin.rig_vertices[v as usize]);
        let wanted = skin.displacement(offset(b)) - skin.displacement(offset(a));
        Some((carried[row(b)?] - carried[row(a)?]).dot(wanted) / wanted.length_squared())
    };
    let shares: Vec<f64> = slits.pairs.iter().filter_map(share).collect();
    let stuck = shares.iter().filter(|&&share| share < 0.5).count();
    assert!(
        shares.len() > 20 && 200 * stuck < shares.len(),
        "{stuck} of {} pairs stick together",
        shares.len()
    );
}

#[test]
fn lips_are_not_fused_and_the_skin_follows_its_flesh() {
    let face = &*FACE;
    assert!(
        face.report.n_slit_pairs > 20 && face.report.n_fused_pairs == 0,
        "{:?}",
        face.report.n_slit_pairs
    );
    assert!(face.flesh.parting_weights.iter().any(|w| *w > 0.0), "some slider parts the lips");
    let evaluator = Evaluator::prepare(&face.rig);
    let rest = RestVolumes::prepare(&face.flesh).unwrap();
    let neutral = face.flesh.rest();
    for slider in 0..SLIDERS.len() {
        let mut weights = [0.0f32; 3];
        weights[slider] = 1.0;
        let strengths: Vec<f64> = evaluator.strengths(&weights).iter().map(|&c| c.into()).collect();
        let posed = rest.at(&strengths).unwrap().positions;
        let offsets: Vec<DVec3> = posed.iter().zip(&neutral).map(|(x, x0)| *x - *x0).collect();
        let carried = face.flesh.embedding.apply(&face.flesh.tets, &offsets);
        let pose = evaluator.positions(&weights);
        let mut errors: Vec<f64> = Vec::new();
        for (&v, moved) in face.flesh.embedding.vertices.iter().zip(carried) {
            let [a, b] = [pose[v as usize], face.rig.neutral[v as usize]].map(|p| Vec3::from(p).as_dvec3());
            errors.push((a - b).distance(moved));
        }
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean < 8e-4, "{}: the skin is {mean} m from its flesh on average", SLIDERS[slider]);
    }
}

#[test]
fn flesh_hangs_on_bones_and_is_as_stiff_as_flesh() {
    let face = &*FACE;
    let count = |bound: Bound| (0..face.flesh.n_nodes()).filter(|&n| face.flesh.bound(n) == bound).count();
    let (cranium, mandible) = (count(Bound::Cranium), count(Bound::Mandible));
    assert!(cranium > 50 && mandible > 10, "{cranium} nodes on the skull, {mandible} on the jaw");
    let held = face.flesh.kinematic_nodes();
    assert!((0..held.len()).all(|n| held[n] || !face.flesh.is_held(n)));
    let free = held.iter().filter(|h| !**h).count();
    assert!(free > held.len() / 4, "{free} of {} nodes are free", held.len());
    assert!(face.flesh.materials.mu.iter().all(|mu| (1e3..1e5).contains(mu)));
    assert_eq!(face.flesh.materials.shapes.len(), face.rig.shapes.len());
}

#[test]
fn any_number_of_threads_builds_the_same() {
    let rig = HEAD.rig.with_sliders(&SLIDERS[..1]);
    let [one, two] = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| built(&rig, 600).unwrap().flesh)
    });
    assert!(one == two);
}

#[test]
fn what_cannot_be_built_is_refused() {
    let still = HEAD.rig.with_sliders(&[]);
    assert!(matches!(built(&still, 600), Err(BuildError::NoShapes)));
    let stop = |_: &str, _: f32| ControlFlow::Break(());
    let around = Surroundings { progress: &stop, store: &(), peak_mb: &|| 0.0 };
    let stopped = build(&HEAD.rig, &HEAD, &BuildOptions::default(), &around);
    assert!(stopped.is_err_and(|error| error.is_cancelled()));
}
