//! Flesh of the built-in head: properties that hold for every face, checked without external data.

use glam::{DVec3, Vec3};
use risorius_anatomy::PieceKind;
use risorius_base::Advise;
use risorius_base::progress::no_progress;
use risorius_flesh::materials::{Painting, materials};
use risorius_flesh::rest::{LEAST_J, RestVolumes};
use risorius_flesh::tissue::tissue;
use risorius_flesh::{
    Bound, BuildError, BuildOptions, Face, Materials, Property, Skin, Slits, Surroundings, build, coarsen,
};
use risorius_head::{Head, Identity};
use risorius_rig::{Evaluator, Rig};
use std::collections::BTreeMap;
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
    assert!(face.flesh.materials.mu.iter().all(|mu| (500.0..1e6).contains(mu)));
    assert_eq!(face.flesh.materials.shapes.len(), face.rig.shapes.len());
}

/// Materials of the face with these paintings.
fn painted(paintings: &[Painting]) -> Materials {
    let flesh = &FACE.flesh;
    let bounds: Vec<Bound> = (0..flesh.n_nodes()).map(|n| flesh.bound(n)).collect();
    let at_nodes = tissue(&FACE.rig, &FACE.anatomy, flesh).unwrap();
    let muscles = &FACE.anatomy.muscles;
    materials(&flesh.mesh(), &bounds, &at_nodes, muscles, &flesh.volumes, paintings).unwrap()
}

/// A value on the skin where `chosen` is true of the position.
fn on_skin(shape: Option<usize>, property: Property, value: f64, chosen: impl Fn(DVec3) -> bool) -> Painting {
    let nodes = FACE.flesh.rest();
    let at = |n: usize| (FACE.flesh.bound(n) == Bound::Skin && chosen(nodes[n])).then_some(value);
    Painting { shape, property, values: (0..nodes.len()).map(at).collect() }
}

/// Stiffness of each tet with one shape on.
fn with_shape(materials: &Materials, shape: usize) -> Vec<f64> {
    let mut mu: Vec<f64> = materials.mu.iter().map(|&m| m.into()).collect();
    let change = &materials.shapes[shape];
    change.tets.iter().zip(change.mu.iter()).for_each(|(&t, &m)| mu[t as usize] += f64::from(m));
    mu
}

#[test]
fn painting_stiff_never_softens() {
    let smile = FACE.rig.slider_index("mouthSmileLeft").map(|s| FACE.rig.sliders[s].shape).unwrap();
    let plain = painted(&[]);
    let stiff = painted(&[on_skin(Some(smile), Property::Stiffness, 1e6, |p| p.x > 0.0)]);
    assert_eq!(plain.mu, stiff.mu, "the neutral is not painted");
    let (before, after) = (with_shape(&plain, smile), with_shape(&stiff, smile));
    // Changes below half a percent are not stored.
    let softened = before.iter().zip(&after).filter(|(b, a)| **a < 0.99 * **b).count();
    assert_eq!(softened, 0, "of {} tets", before.len());
    let stiffened = before.iter().zip(&after).filter(|(b, a)| **a > 2.0 * **b).count();
    assert!(stiffened > before.len() / 4, "{stiffened} of {} tets are stiffer", before.len());
    // Painting a shape of the artist's own softness is as possible.
    let soft = painted(&[on_skin(Some(smile), Property::Stiffness, 600.0, |p| p.x > 0.0)]);
    let after = with_shape(&soft, smile);
    assert!(before.iter().zip(&after).all(|(b, a)| *a < 1.01 * *b), "nothing gets stiffer");
}

#[test]
fn paint_reaches_the_bone() {
    let (plain, white) = (painted(&[]), painted(&[on_skin(None, Property::Stiffness, 20e3, |_| true)]));
    let flesh = &FACE.flesh;
    let deep = |t: &usize| {
        let bounds = flesh.tets[*t].map(|n| flesh.bound(n as usize));
        bounds.iter().all(|b| *b != Bound::Skin)
    };
    let deep: Vec<usize> = (0..flesh.tets.len()).filter(deep).collect();
    assert!(deep.len() > 20, "{} tets without skin", deep.len());
    let mean = |m: &Materials| deep.iter().map(|&t| f64::from(m.mu[t])).sum::<f64>() / deep.len() as f64;
    let (before, after) = (mean(&plain), mean(&white));
    assert!(after > before + 0.25 * (20e3 - before), "{before} Pa before, {after} Pa painted 20000 Pa");
    let softest = |m: &Materials| m.mu.iter().copied().fold(f32::INFINITY, f32::min);
    let stiffest = |m: &Materials| m.mu.iter().copied().fold(0.0, f32::max);
    assert!(softest(&white) >= softest(&plain) && stiffest(&white) <= stiffest(&plain), "nothing overshoots");
}

#[test]
fn mass_lambda_and_damping_can_be_painted() {
    let everywhere = |property, value| on_skin(None, property, value, |_| true);
    let found = painted(&[
        everywhere(Property::Density, 500.0),
        everywhere(Property::VolumeStiffness, 1e6),
        everywhere(Property::Damping, 0.04),
    ]);
    let plain = painted(&[]);
    assert_eq!(plain.mu, found.mu, "stiffness is not painted");
    let tets = 0..plain.mu.len();
    let changed =
        |a: &[f32], b: &[f32]| tets.clone().filter(|&t| (a[t] - b[t]).abs() > 0.2 * a[t]).count() * 2;
    let lists = [
        (&plain.density, &found.density, "mass"),
        (&plain.lambda, &found.lambda, "lambda"),
        (&plain.damping, &found.damping, "damping"),
    ];
    for (before, after, name) in lists {
        assert!(changed(before, after) > tets.len(), "{name} changes in most tets");
    }
    assert!(found.density.iter().all(|d| (499.0..1101.0).contains(d)));
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
    // Stopping while tets are made blames neither the skull nor the jaw.
    let stop = |stage: &str, _: f32| match stage {
        "crossings" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let around = Surroundings { progress: &stop, store: &(), peak_mb: &|| 0.0 };
    let mut options = BuildOptions::default();
    options.volume.nodes = 600;
    let error = build(&HEAD.rig, &HEAD, &options, &around).unwrap_err();
    assert!(error.is_cancelled() && error.options().is_empty(), "{error}");
    assert_eq!(error.to_string(), risorius_base::Cancelled.to_string());
}

/// The skin of the rig as the flesh carries it at these strengths, relative to the neutral; by rig vertex.
fn carried(face: &Face, strengths: &[f64]) -> BTreeMap<u32, DVec3> {
    let flesh = &face.flesh;
    let posed = RestVolumes::prepare(flesh).unwrap().at(strengths).unwrap().positions;
    let offsets: Vec<DVec3> = posed.iter().zip(flesh.rest()).map(|(x, x0)| *x - x0).collect();
    flesh.embedding.vertices.iter().copied().zip(flesh.embedding.apply(&flesh.tets, &offsets)).collect()
}

#[test]
fn a_coarse_face_moves_as_the_fine_one_and_no_tet_is_inverted() {
    let fine = &*FACE;
    let coarse = coarsen(fine, 600, &no_progress).unwrap();
    let n = coarse.flesh.n_nodes();
    assert!((400..800).contains(&n), "{n} nodes of {}", fine.flesh.n_nodes());
    assert!(volumes(&coarse, &coarse.flesh.rest()).iter().all(|v| *v > 0.0));
    assert_eq!(coarse.flesh.volumes.len(), fine.flesh.volumes.len());
    assert_eq!(coarse.flesh.materials.mu.len(), coarse.flesh.tets.len());
    let range = |mu: &[f32]| mu.iter().fold([f32::MAX, 0.0], |[lo, hi], &m| [lo.min(m), hi.max(m)]);
    let [range_of_fine, range_of_coarse] = [fine, &coarse].map(|f| range(&f.flesh.materials.mu));
    assert!(range_of_coarse[0] >= range_of_fine[0] && range_of_coarse[1] <= range_of_fine[1]);
    for strengths in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
        let (of_fine, of_coarse) = (carried(fine, &strengths), carried(&coarse, &strengths));
        let both: Vec<[DVec3; 2]> =
            of_fine.iter().filter_map(|(v, a)| Some([*a, *of_coarse.get(v)?])).collect();
        assert!(10 * both.len() > 9 * of_fine.len(), "{} of {} vertices", both.len(), of_fine.len());
        let mean = |f: &dyn Fn(&[DVec3; 2]) -> f64| both.iter().map(f).sum::<f64>() / both.len() as f64;
        let (apart, moved) = (mean(&|[a, b]| a.distance(*b)), mean(&|[a, _]| a.length()));
        // A lid is thinner than such elements.
        assert!(
            apart < 0.2 * moved + 1e-4,
            "{strengths:?}: {apart} m apart where the skin moves by {moved} m"
        );
    }
    // Nodes around the joint are held, too; which of the two a coarse node becomes does not matter.
    let held = |face: &Face| face.flesh.kinematic_nodes().iter().filter(|&&held| held).count();
    let [of_fine, of_coarse] = [fine, &coarse].map(|f| held(f) as f64 / f.flesh.n_nodes() as f64);
    assert!((0.6..1.6).contains(&(of_coarse / of_fine)), "held: {of_fine} of the fine nodes, {of_coarse}");
    let jaw = (0..n).filter(|&i| coarse.flesh.bound(i) == Bound::Mandible).count();
    assert!(jaw > 10, "{jaw} nodes on the jaw; held: {of_fine} of the fine nodes, {of_coarse}");
}
