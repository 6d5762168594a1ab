//! Wrinkles on real heads: generated over a real performance, learned from some frames and tested on others;
//! transferred to other heads; the same for any number of threads.

use glam::Vec3;
use risorius_base::progress::no_progress;
use risorius_detail::Rest;
use risorius_detail::player::PlayedFrame;
use risorius_detail::{DetailPlayer, Fit, PoseModel, ShellOptions};
use risorius_io::open::{OpenOptions, open_rig};
use risorius_mesh::FileMesh;
use risorius_rig::Evaluator;
use risorius_tests::data;
use risorius_tests::wrinkled::{WrinkledHead, at, examples, landmarks, nearest};
use risorius_view::{Series, lines};

const ICT: &str = "ict_facekit/ict_expressions.glb";
const ROM: &str = "performances/livelink_rom.csv";

/// [Bickel08, fig. 4]: the error on frames that were not learned, for four models and several basis sizes. A
/// hundred frames of a range-of-motion clip are learned, a hundred of another performance are tested. If
/// RISORIUS_FIGURES is set, the figure is written to that folder.
#[test]
fn strain_learns_wrinkles_better_than_blending() {
    let Some(mut head) = WrinkledHead::open("figure 4", ICT, 15_000) else { return };
    head.add_pores();
    let is_full = std::env::var_os("RISORIUS_FULL").is_some();
    let all = examples(head.wrinkled(&head.weights(ROM, (0..100).map(|k| 40 * k))));
    let step = if is_full { 1 } else { 5 };
    let tried = head.weights("performances/livelink_short_60fps.csv", (0..100).step_by(step).map(|k| 3 * k));
    let truth = head.wrinkled(&tried);
    let chosen = head.handles(&all.positions, 90);
    let models = [
        ("WPSD", PoseModel::Wpsd),
        ("PSD", PoseModel::Psd),
        ("local blend shapes", PoseModel::LocalBlendshapes),
        ("global blend shapes", PoseModel::GlobalBlendshapes),
    ];
    let sizes: &[usize] = if is_full { &[2, 3, 4, 6, 8, 12, 16] } else { &[4, 8] };
    let mut series = models.map(|(name, _)| Series { name: name.into(), points: Vec::new() });
    println!("basis: error of WPSD, PSD, local and global blend shapes, mm");
    for &size in sizes {
        let errors = models.map(|(_, model)| {
            let detail = head.learn(&all, &chosen, model, Fit::Basis(size));
            let one = |t: &Vec<[f32; 3]>| head.off(&detail.by_definition(&at(t, &chosen)), t).powi(2);
            (truth.iter().map(one).sum::<f64>() / truth.len() as f64).sqrt()
        });
        println!("{size:3}: {:.4} {:.4} {:.4} {:.4}", errors[0], errors[1], errors[2], errors[3]);
        series.iter_mut().zip(errors).for_each(|(line, error)| line.points.push([size as f64, error]));
    }
    if let Some(folder) = std::env::var_os("RISORIUS_FIGURES") {
        let title = "100 frames learned, 100 of another performance tried (ICT head)";
        let figure = lines(&series, "poses in the basis", "error (mm)", title).unwrap();
        std::fs::write(std::path::Path::new(&folder).join("detail_errors.png"), figure.encode_png()).unwrap();
    }
    for (k, size) in sizes.iter().enumerate() {
        let errors = [0, 1, 2, 3].map(|model| series[model].points[k][1]);
        assert!(errors.is_sorted(), "basis of {size}: {errors:?}");
    }
    let wpsd = &series[0].points;
    assert!(wpsd.windows(2).all(|w| w[1][1] < 1.05 * w[0][1]), "more poses are worse: {wpsd:?}");
}

/// Examples are reproduced, frames between them are better with detail than without, and the player agrees
/// with the definition.
#[test]
fn heads_of_different_make_wrinkle_as_learned() {
    for (name, file) in [
        ("MakeHuman", "makehuman_male/makehuman_head_male.glb"),
        ("facecap", "facecap/facecap.glb"),
        ("ICT", ICT),
    ] {
        let Some(head) = WrinkledHead::open(name, file, 20_000) else { return };
        let poses = head.wrinkled(&head.weights(ROM, (0..24).map(|k| 160 * k)));
        let chosen = head.handles(&poses, 90);
        let detail = head.learn(&examples(poses.clone()), &chosen, PoseModel::Wpsd, Fit::All);
        for pose in &poses {
            let off = head.off(&detail.by_definition(&at(pose, &chosen)), pose);
            assert!(off < 0.01, "{name}: an example is {off} mm off");
        }
        let bare = head.learn(&examples(Vec::new()), &chosen, PoseModel::Wpsd, Fit::All);
        let player = DetailPlayer::prepare(&detail).unwrap();
        let mut stage = PlayedFrame::default();
        let (mut sums, mut positions) = ([0.0; 2], Vec::new());
        for truth in head.wrinkled(&head.weights(ROM, [80, 1520, 2960, 3760].into_iter())) {
            let handles = at(&truth, &chosen);
            let made = detail.by_definition(&handles);
            player.frame(&handles, &mut stage).unwrap();
            player.in_mesh_order(&stage.positions, &mut positions);
            let packed = head.off(&made, &positions);
            assert!(packed < 0.01, "{name}: packing is {packed} mm off");
            sums = [
                sums[0] + head.off(&made, &truth),
                sums[1] + head.off(&bare.by_definition(&handles), &truth),
            ];
            // To the bit on any number of threads.
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let mut other = PlayedFrame::default();
            alone.install(|| player.frame(&handles, &mut other)).unwrap();
            assert!(other.positions == stage.positions && other.normals == stage.normals, "{name}");
        }
        let [with, without] = sums.map(|sum| sum / 4.0);
        println!("{name}: {with:.3} mm with detail, {without:.3} without");
        assert!(with < 0.7 * without, "{name}: {with} with detail, {without} without");
    }
}

/// [Bickel08, fig. 5]: both brows were learned together. With WPSD, one brow raised alone wrinkles alone; PSD
/// only represents whole faces.
#[test]
fn one_brow_wrinkles_alone() {
    let Some(head) = WrinkledHead::open("one brow", ICT, 15_000) else { return };
    let both = ["browInnerUp_L", "browInnerUp_R", "browOuterUp_L", "browOuterUp_R"];
    let learned =
        [head.sliders(&both), head.sliders(&["mouthSmile_L", "mouthSmile_R"]), head.sliders(&["jawOpen"])];
    let tried = head.sliders(&["browInnerUp_L", "browOuterUp_L"]);
    let mut examples = examples(head.wrinkled(&learned));
    examples.plain = head.plain(&learned);
    let chosen = head.handles(&examples.positions, 90);
    let tried = std::slice::from_ref(&tried);
    let (plain, truth) = (head.plain(tried).remove(0), head.wrinkled(tried).remove(0));
    let errors = [PoseModel::Wpsd, PoseModel::Psd].map(|model| {
        let detail = head.learn(&examples, &chosen, model, Fit::All);
        head.off(&detail.on_by_definition(&plain), &truth)
    });
    let as_vectors = |x: &[[f32; 3]]| x.iter().map(|p| Vec3::from(*p).as_dvec3()).collect::<Vec<_>>();
    let nothing = head.off(&as_vectors(&plain), &truth);
    println!("one brow: WPSD {:.4} mm off, PSD {:.4}, no wrinkles {nothing:.4}", errors[0], errors[1]);
    assert!(errors[0] < 0.4 * nothing && errors[0] < 0.6 * errors[1], "{errors:?}, {nothing} without");
}

/// Transfer from the ICT head to two others by landmarks: wrinkles appear in the same places, with the same
/// height, and nowhere else.
#[test]
fn wrinkles_go_to_other_heads() {
    let Some(head) = WrinkledHead::open("transfer", ICT, 40_000) else { return };
    let Some(data) = data("transfer") else { return };
    let both = ["browInnerUp_L", "browInnerUp_R", "browOuterUp_L", "browOuterUp_R"];
    let learned = [head.sliders(&both), head.sliders(&["mouthSmile_L", "mouthSmile_R"])];
    let mut examples = examples(head.wrinkled(&learned));
    examples.plain = head.plain(&learned);
    let chosen = head.handles(&examples.positions, 90);
    let detail = head.learn(&examples, &chosen, PoseModel::Wpsd, Fit::All);
    let on_source = nearest(&head.mesh);
    // Brows, nose, eyes, mouth and chin: the usual tracker landmarks without the jaw line.
    let source: Vec<_> =
        landmarks(&head.rig).into_iter().skip(17).take(43).chain([landmarks(&head.rig)[8]]).collect();
    for (name, file, steps) in
        [("MakeHuman", "makehuman_male/makehuman_head_male.glb", 2), ("facecap", "facecap/facecap.glb", 3)]
    {
        let rig = open_rig(&data.join(file), &OpenOptions::default(), &no_progress).unwrap().rig;
        let found = landmarks(&rig);
        let rest = Rest::new(rig, steps);
        let mesh: FileMesh = rest.mesh();
        let on_target = nearest(&mesh);
        let target = |name: &str| found.iter().find(|l| l.0 == name).unwrap().1;
        let pairs: Vec<[u32; 2]> =
            source.iter().map(|(n, p)| [on_source(*p), on_target(target(n))]).collect();
        let moved = detail.transferred(mesh, &pairs, &ShellOptions::default(), &no_progress).unwrap();
        let mm = rest.mm_per_unit();
        let apart = moved.mean_distance * mm;
        assert!(apart < 4.0, "{name}: the faces are {apart} mm apart");
        let player = DetailPlayer::prepare(&moved.detail).unwrap();
        let evaluator = Evaluator::prepare(&rest.rig);
        let mut stage = PlayedFrame::default();
        // A pose with and without its wrinkles.
        let mut posed = |sliders: &[&str]| {
            let on = |name: &str| f32::from(u8::from(sliders.iter().any(|s| name.ends_with(s))));
            let weights: Vec<f32> = rest.rig.sliders.iter().map(|s| on(&s.name)).collect();
            assert!(weights.iter().sum::<f32>() >= 1.0, "{name}: {sliders:?}");
            let plain = rest.refinement.apply(&evaluator.positions(&weights));
            player.on(&plain, &mut stage).unwrap();
            let mut positions = Vec::new();
            player.in_mesh_order(&stage.positions, &mut positions);
            [plain, positions]
        };
        let sides = if name == "facecap" { ["_L", "_R"] } else { ["Left", "Right"] };
        let both = |what: &str| sides.map(|side| format!("{what}{side}"));
        let brows = [both("browOuterUp").to_vec(), vec!["browInnerUp".to_string()]].concat();
        let [plain, positions] = posed(&brows.iter().map(String::as_str).collect::<Vec<_>>());
        let moved =
            positions.iter().zip(&plain).map(|(a, b)| f64::from(Vec3::from(*a).distance(Vec3::from(*b))));
        let brows: Vec<f64> = moved.map(|d| d * mm).collect();
        let most = brows.iter().copied().fold(0.0, f64::max);
        assert!((0.1..2.5).contains(&most), "{name}: brows wrinkle by {most} mm");
        // Brows wrinkle above the eyes.
        let eye = target("eye_left_outer");
        let up = rest.rig.space.up.direction().as_vec3();
        let height = |v: usize| Vec3::from(rest.fine.neutral[v]).dot(up) - Vec3::from(eye).dot(up);
        let below: f64 = (0..brows.len()).filter(|&v| height(v) < 0.0).map(|v| brows[v] * brows[v]).sum();
        let all: f64 = brows.iter().map(|d| d * d).sum();
        println!(
            "{name}: {apart:.2} mm apart, brows wrinkle by {most:.2} mm, {:.2} of it below the eyes",
            below / all
        );
        assert!(below < 0.3 * all, "{name}: {below} of {all} is below the eyes");
    }
}
