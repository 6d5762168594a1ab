//! Clips simulated on flesh: exact without forces, moving and bounded where the head moves.

use crate::depth::Rims;
use glam::{DVec3, Vec3};
use risorius_base::progress::no_progress;
use risorius_flesh::Face;
use risorius_head::landmarks;
use risorius_io::formats::clip_csv::ClipOptions;
use risorius_io::open::{open_clip, open_head};
use risorius_perform::scene::model::{Collider, ExpressedIn, Form};
use risorius_perform::{
    ContactMode, EnrichOptions, Frame, FrameReport, HeadPath, Performance, Scene, enrich,
};
use risorius_rig::{BoundClip, Evaluator, HeadMotion};
use risorius_tests::data;
use risorius_tests::flesh::{faces, is_full, slider};
use std::ops::ControlFlow;
use std::path::Path;

/// Vertices of all frames, and their reports.
pub(crate) type Played = (Vec<Vec<[f32; 3]>>, Vec<FrameReport>);

pub(crate) fn play(
    face: &Face,
    times_secs: &[f64],
    weights: &[f32],
    head: HeadPath,
    options: &EnrichOptions,
) -> Played {
    perform(
        face,
        &Performance { clip: &bound(face, times_secs, weights), head, scene: Scene::default() },
        options,
    )
}

fn perform(face: &Face, performance: &Performance, options: &EnrichOptions) -> Played {
    let mut played: Played = Default::default();
    let mut sink = |frame: &Frame| {
        played.0.push(frame.vertices.to_vec());
        played.1.push(*frame.report);
        ControlFlow::Continue(())
    };
    enrich(face, performance, options, None, &mut sink, &no_progress).unwrap();
    played
}

pub(crate) fn bound(face: &Face, times_secs: &[f64], weights: &[f32]) -> BoundClip {
    let (times_secs, weights) = (times_secs.to_vec(), weights.to_vec());
    BoundClip { times_secs, weights, n_sliders: face.rig.sliders.len(), head: None }
}

/// `n` frames of the range of motion from `first` on, on the sliders of `face`.
pub(crate) fn talk(data: &Path, face: &Face, first: usize, n: usize) -> (Vec<f64>, Vec<f32>) {
    let clip = open_clip(&data.join("performances/livelink_rom.csv"), &ClipOptions::default(), &no_progress)
        .unwrap()
        .clip;
    let (clip, _) = clip.bind(&face.rig).unwrap();
    let part = clip.frames(first..first + n);
    (part.times_secs, part.weights)
}

pub(crate) fn motion(data: &Path, name: &str) -> HeadMotion {
    let path = data.join(format!("head_motion/{name}_head.csv"));
    open_head(&path, None, &ClipOptions::default(), &no_progress).unwrap().motion
}

/// The path from `start` seconds on, shifted to start at time 0 and smoothed over some seconds.
pub(crate) fn path_from(motion: &HeadMotion, start: f64, smoothing: f64) -> HeadPath {
    let mut later = motion.clone();
    later.times_secs.iter_mut().for_each(|t| *t -= start);
    HeadPath::prepare(&later, smoothing)
}

pub(crate) fn constant(face: &Face, sliders: &[&str], fps: f64, n: usize) -> (Vec<f64>, Vec<f32>) {
    let mut row = vec![0.0; face.rig.sliders.len()];
    sliders.iter().for_each(|name| row[slider(&face.rig, name).unwrap()] = 1.0);
    ((0..n).map(|i| i as f64 / fps).collect(), row.repeat(n))
}

#[test]
fn without_head_motion_the_take_is_the_animation_to_the_bit() {
    let Some(data) = data("without_head_motion_the_take_is_the_animation_to_the_bit") else { return };
    for (name, face) in faces() {
        let (times, weights) = talk(&data, face, 2380, if is_full() { 300 } else { 10 });
        let evaluator = Evaluator::prepare(&face.rig);
        let (frames, _) = play(face, &times, &weights, HeadPath::default(), &EnrichOptions::default());
        for (i, (frame, row)) in frames.iter().zip(weights.chunks(face.rig.sliders.len())).enumerate() {
            assert!(*frame == evaluator.positions(row), "{name}: frame {i} differs from the artist's");
        }
        let naive = EnrichOptions { rebalance: 0.0, ..EnrichOptions::default() };
        let (_, reports) = play(face, &times, &weights, HeadPath::default(), &naive);
        let most = reports.iter().map(|r| r.max_mm).fold(0.0, f64::max);
        println!(
            "{name}: {} frames to the bit; a conventional simulation is up to {most:.2} mm off",
            frames.len()
        );
        assert!(most > 0.5, "{name}: {most} mm");
    }
}

#[test]
fn a_moving_head_moves_flesh_and_not_the_skull() {
    let Some(data) = data("a_moving_head_moves_flesh_and_not_the_skull") else { return };
    // The fastest turns of the first recording, a stride of the run, take-off and landing of the jump.
    let motions = [("42_01", 1.0), ("02_03", 0.4), ("16_03", 1.3), ("42_01", 4.0)];
    for ((i, (name, face)), k) in faces().enumerate().flat_map(|f| (0..4).map(move |k| (f, k))) {
        if k != i && !is_full() {
            continue;
        }
        let (file, start) = motions[k];
        let (times, weights) = talk(&data, face, 1200, 20);
        let times: Vec<f64> = times.iter().map(|t| t - times[0]).collect();
        let head = path_from(&motion(&data, file), start, 0.01);
        let (frames, reports) = play(face, &times, &weights, head, &EnrichOptions::default());
        let evaluator = Evaluator::prepare(&face.rig);
        let embedded = &face.flesh.embedding.vertices;
        for (frame, row) in frames.iter().zip(weights.chunks(face.rig.sliders.len())) {
            assert!(frame.iter().flatten().all(|x| x.is_finite()));
            let artist = evaluator.positions(row);
            let still = |v: &usize| {
                face.anatomy.pieces.carriers[*v].is_none() && embedded.binary_search(&(*v as u32)).is_err()
            };
            assert!(
                (0..artist.len()).filter(still).all(|v| frame[v] == artist[v]),
                "{name}: bone or teeth moved"
            );
        }
        let most = reports.iter().map(|r| r.max_mm).fold(0.0, f64::max);
        let mean = reports.iter().map(|r| r.mean_mm).sum::<f64>() / reports.len() as f64;
        let least = reports.iter().map(|r| r.smallest_det).fold(f64::INFINITY, f64::min);
        let unconverged: usize = reports.iter().map(|r| r.unconverged).sum();
        let steps: usize = reports.iter().map(|r| r.steps).sum();
        let depth = reports.iter().map(|r| r.depth_mm).fold(0.0, f64::max);
        let free = EnrichOptions { contact: ContactMode::Off, ..EnrichOptions::default() };
        let (passed, passing) =
            play(face, &times, &weights, path_from(&motion(&data, file), start, 0.01), &free);
        let through = passing.iter().map(|r| r.depth_mm).fold(0.0, f64::max);
        // The same by a measure that is independent of the contact code.
        let rims = [Rims::lips(face), Rims::lids(face)];
        let by_rays = |frames: &[Vec<[f32; 3]>]| {
            let rows = weights.chunks(face.rig.sliders.len()).map(|row| evaluator.positions(row));
            let mut most = [(0.0, String::new()), (0.0, String::new())];
            for (artist, frame) in rows.zip(frames) {
                for (most, rims) in most.iter_mut().zip(&rims) {
                    let deeper = rims.deeper_mm(&artist, frame);
                    if deeper.0 > most.0 {
                        *most = deeper;
                    }
                }
            }
            most
        };
        let [[lips, lids], [lips_through, lids_through]] = [&frames, &passed].map(|frames| by_rays(frames));
        println!(
            "{name} with {file}: mean {mean:.2} mm, {most:.1} mm at most, least det F {least:.2}, {unconverged} of {steps} steps not converged; {depth:.3} mm deeper than the artist's own, {through:.2} without contact; by rays lips {:.3} and {:.2}, lids {:.3} and {:.2}",
            lips.0, lips_through.0, lids.0, lids_through.0
        );
        assert!(depth <= 0.15, "{name}: {depth} mm deeper than the artist's own");
        // Up to the corners of mouth and eyes.
        assert!(lips.0 <= 0.1, "{name}: lips {lips:?} by rays, {lips_through:?} without contact");
        // The built-in head's lids pass each other by 0.25 mm beside the corner of an eye.
        assert!(lids.0 <= 0.3, "{name}: lids {lids:?} by rays, {lids_through:?} without contact");
        assert!(mean > 0.02 && most < 12.0, "{name}: {mean} and {most} mm");
        assert!(least > 0.2 && unconverged * 100 <= steps, "{name}");
    }
}

/// [Kozlov17, fig. 1]: the same shaking moves a tightened smile less than the neutral.
#[test]
fn a_tightened_smile_moves_less() {
    for (name, face) in faces().take(2) {
        let times: Vec<f64> = (0..25).map(|i| f64::from(i) / 60.0).collect();
        let shake = HeadMotion {
            times_secs: (0..60).map(|i| f64::from(i) / 120.0).collect(),
            positions_m: (0..60).map(|i| [0.0, 0.02 * (f64::from(i) / 120.0 * 25.0).sin(), 0.0]).collect(),
            rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; 60],
        };
        let smiling = &["mouthSmileLeft", "mouthSmileRight"][..];
        let [neutral, smile, loose] =
            [(&[][..], 1.0), (smiling, 1.0), (smiling, 0.0)].map(|(on, tightening)| {
                let (_, weights) = constant(face, on, 60.0, times.len());
                let options = EnrichOptions { tightening, ..EnrichOptions::default() };
                let (_, reports) = play(face, &times, &weights, HeadPath::prepare(&shake, 0.0), &options);
                reports.iter().map(|r| r.mean_mm).sum::<f64>() / reports.len() as f64
            });
        println!("{name}: neutral {neutral:.3} mm, smile {smile:.3} mm, {loose:.3} mm without tightening");
        assert!(smile < 0.85 * neutral, "{name}: {smile} of {neutral} mm");
        assert!(smile < 0.9 * loose, "{name}: {smile} mm, {loose} mm without tightening");
    }
}

/// [Kozlov17, fig. 8]: a squint that moves from left to right tightens one side after the other. With a
/// constant material, the tightened side swings like the other.
#[test]
fn a_squint_stills_its_side() {
    for (name, face) in faces().take(2) {
        let n = 30;
        let [left, right] = ["eyeSquintLeft", "eyeSquintRight"].map(|s| slider(&face.rig, s).unwrap());
        let mut weights = vec![0.0; n * face.rig.sliders.len()];
        for (i, row) in weights.chunks_mut(face.rig.sliders.len()).enumerate() {
            let share = (i as f32 / (n - 1) as f32 * 3.0 - 1.0).clamp(0.0, 1.0);
            (row[left], row[right]) = (1.0 - share, share);
        }
        let times: Vec<f64> = (0..n).map(|i| i as f64 / 60.0).collect();
        let shake = HeadMotion {
            times_secs: (0..100).map(|i| f64::from(i) / 120.0).collect(),
            positions_m: (0..100).map(|i| [0.0, 0.02 * (f64::from(i) / 120.0 * 25.0).sin(), 0.0]).collect(),
            rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; 100],
        };
        let evaluator = Evaluator::prepare(&face.rig);
        let middle =
            face.anatomy.pieces.positions.iter().map(|p| p.x).sum::<f64>() / face.rig.n_vertices() as f64;
        // Skin that the squint moves, on the character's left (+X) and right.
        let sides = [(left, 1.0), (right, -1.0)].map(|(s, sign)| {
            let mut row = vec![0.0; face.rig.sliders.len()];
            row[s] = 1.0;
            let (posed, neutral) = (evaluator.positions(&row), &face.rig.neutral);
            let far = |v: &u32| (0..3).any(|k| (posed[*v as usize][k] - neutral[*v as usize][k]).abs() > 0.0);
            let here = |v: &u32| sign * (face.anatomy.pieces.positions[*v as usize].x - middle) > 0.0;
            let embedded = face.flesh.embedding.vertices.iter().copied();
            embedded.filter(far).filter(here).collect::<Vec<u32>>()
        });
        let [varying, constant] = [1.0, 0.0].map(|tightening| {
            let options = EnrichOptions { tightening, ..EnrichOptions::default() };
            let (frames, _) = play(face, &times, &weights, HeadPath::prepare(&shake, 0.0), &options);
            // Mean motion by physics of each side while the squint is left, and while it is right.
            [0..n / 3, 2 * n / 3..n].map(|span| {
                sides.each_ref().map(|side| {
                    let mut sum = 0.0;
                    for frame in span.clone() {
                        let artist = evaluator
                            .positions(&weights[frame * face.rig.sliders.len()..][..face.rig.sliders.len()]);
                        let moved = |&v: &u32| {
                            let (a, b) = (artist[v as usize], frames[frame][v as usize]);
                            (0..3).map(|k| f64::from(a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
                        };
                        sum += side.iter().map(moved).sum::<f64>();
                    }
                    1000.0 * face.rig.space.meters_per_unit * sum / (side.len() * span.len()) as f64
                })
            })
        });
        // How much more the loose side moves than the tight one, while left is tight and while right is.
        let contrast = |[l, r]: [[f64; 2]; 2]| [l[1] / l[0], r[0] / r[1]];
        let (with, without) = (contrast(varying), contrast(constant));
        println!(
            "{name}: loose over tight {with:.2?} with a material that varies, {without:.2?} without; mm {varying:.3?} {constant:.3?}"
        );
        for k in 0..2 {
            assert!(with[k] > 1.05 * without[k], "{name}: {with:?} and {without:?}");
        }
    }
}

/// Shaken once and then left alone, flesh comes to rest: energy decreases to zero.
#[test]
fn motion_dies_out() {
    for (name, face) in faces().take(if is_full() { 4 } else { 2 }) {
        let (times, weights) = constant(face, &[], 20.0, 20);
        let knock = HeadMotion {
            times_secs: vec![0.0, 0.1, 0.15, 0.2, 0.3, 3.0],
            positions_m: [0.0, 0.0, 0.03, 0.0, 0.0, 0.0].map(|y| [0.0, y, 0.0]).to_vec(),
            rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; 6],
        };
        let (_, reports) =
            play(face, &times, &weights, HeadPath::prepare(&knock, 0.0), &EnrichOptions::default());
        let energy = |r: &FrameReport| r.kinetic + r.elastic;
        let peak = reports.iter().map(energy).fold(0.0, f64::max);
        let last = reports.last().map(energy).unwrap();
        let most = reports.iter().map(|r| r.max_mm).fold(0.0, f64::max);
        println!("{name}: {peak:.2e} J at most, {last:.2e} J in the end; {most:.1} mm at most");
        assert!(peak > 1e-7 && last < 0.01 * peak, "{name}: {last} of {peak} J");
    }
}

/// Sliders that jump beyond their range, unusual frame rates and stiffness: frames are finite and no element
/// is inverted.
#[test]
fn hard_treatment_is_survived() {
    let Some((name, face)) = faces().next() else { return };
    let n = face.rig.sliders.len();
    let wild: Vec<f32> =
        (0..4 * n).map(|i| [0.0, 1.8, -0.7, 1.2][(i * 7 + i / n) % 4] * f32::from(i % 5 == 0)).collect();
    let (_, still) = constant(face, &["jawOpen"], 1.0, 4);
    let at = |fps: f64| (0..4).map(|i| f64::from(i) / fps).collect::<Vec<_>>();
    let shake = HeadMotion {
        times_secs: (0..20).map(|i| f64::from(i) / 60.0).collect(),
        positions_m: (0..20).map(|i| [0.0, if i == 5 { 0.3 } else { 0.0 }, 0.0]).collect(),
        rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; 20],
    };
    let normal = EnrichOptions::default();
    let cases: [(&str, Vec<f64>, &[f32], EnrichOptions); 5] = [
        ("sliders that jump", at(30.0), &wild, normal),
        ("1000 frames a second", at(1000.0), &still, normal),
        ("one frame a second", at(1.0), &still, EnrichOptions { dt_secs: 0.05, ..normal }),
        ("a hundred times as stiff", at(30.0), &still, EnrichOptions { stiffness: 100.0, ..normal }),
        ("a hundredth as stiff", at(30.0), &still, EnrichOptions { stiffness: 0.01, ..normal }),
    ];
    for (what, times, weights, options) in cases {
        // A jump of 30 cm and back, as in capture data.
        let (frames, reports) = play(face, &times, weights, HeadPath::prepare(&shake, 0.01), &options);
        let most = reports.iter().map(|r| r.max_mm).fold(0.0, f64::max);
        let least = reports.iter().map(|r| r.smallest_det).fold(f64::INFINITY, f64::min);
        let depth = reports.iter().map(|r| r.depth_mm).fold(0.0, f64::max);
        let slowest = reports.iter().map(|r| r.slowest_step_secs).fold(0.0, f64::max);
        println!(
            "{name}, {what}: {most:.1} mm at most, least det F {least:.3}, {depth:.2} mm deep, slowest step {slowest:.2} s"
        );
        assert!(frames.iter().flatten().flatten().all(|x| x.is_finite()) && least > 0.0, "{what}");
    }
}

/// A ball of 2 cm presses 5 mm into the cheek and leaves: the skin stays outside, yields, and returns.
#[test]
fn a_ball_dents_the_cheek() {
    for (name, face) in faces().take(2) {
        let at = |name: &str| face.anatomy.landmarks[landmarks::index(name).unwrap()].position;
        let middle = 0.5 * at("mouth_left") + 0.3 * at("mid_cheek_left") + 0.2 * at("gonion_left");
        let pieces = &face.anatomy.pieces;
        let fleshy = &face.flesh.embedding.vertices;
        // The outermost skin there.
        let out = DVec3::new(0.75, -0.05, 0.66).normalize();
        let offset = |v: &u32| pieces.positions[*v as usize] - middle;
        let near = |v: &&u32| offset(v).reject_from(out).length() < 0.004;
        let outer =
            fleshy.iter().filter(near).max_by(|a, b| offset(a).dot(out).total_cmp(&offset(b).dot(out)));
        let skin = pieces.positions[*outer.unwrap() as usize];
        let keys = [(0.0, 0.03), (0.1, 0.015), (0.15, 0.015), (0.25, 0.03)];
        let motion = HeadMotion {
            times_secs: keys.map(|k| k.0).to_vec(),
            positions_m: keys.map(|k| (skin + out * k.1).to_array()).to_vec(),
            rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; 4],
        };
        let path = HeadPath::keyed(&motion);
        let ball = Collider {
            form: Form::Sphere { radius: 0.02 },
            path: path.clone(),
            expressed_in: ExpressedIn::Head,
        };
        let (times, weights) = constant(face, &[], 50.0, 25);
        let scene = Scene { colliders: vec![ball], ..Scene::default() };
        let clip = bound(face, &times, &weights);
        let performance = Performance { clip: &clip, head: HeadPath::default(), scene };
        let (mut deepest, mut dent, mut left): (f64, f64, f64) = (0.0, 0.0, 0.0);
        let (frames, reports) = perform(face, &performance, &EnrichOptions::default());
        for ((time, vertices), report) in times.iter().zip(&frames).zip(&reports) {
            let center = path.at(*time).translation;
            let meters = face.rig.space.si_from_file();
            let depth =
                |&v: &u32| 0.02 - center.distance(meters * Vec3::from(vertices[v as usize]).as_dvec3());
            deepest = fleshy.iter().map(depth).fold(deepest, f64::max);
            (dent, left) = (dent.max(report.max_mm), report.max_mm);
        }
        let deepest = 1000.0 * deepest;
        println!(
            "{name}: dented by {dent:.1} mm, {deepest:.2} mm deep in the ball; {left:.3} mm left afterwards"
        );
        assert!(dent > 4.0 && dent < 8.0 && deepest < 0.3 && left < 0.3, "{name}: {dent} {deepest} {left}");
    }
}

#[test]
fn any_number_of_threads_performs_the_same() {
    let Some((_, face)) = faces().next() else { return };
    let (times, weights) = constant(face, &["mouthSmileLeft"], 60.0, 4);
    let shake = HeadMotion {
        times_secs: vec![0.0, 0.03, 0.06],
        positions_m: vec![[0.0; 3], [0.01, 0.0, 0.0], [0.0; 3]],
        rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0], [0.0, 0.1, 0.0, 0.995], [0.0, 0.0, 0.0, 1.0]],
    };
    let [one, two] = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            play(face, &times, &weights, HeadPath::prepare(&shake, 0.0), &EnrichOptions::default())
        })
        .0
    });
    assert!(one == two);
}
