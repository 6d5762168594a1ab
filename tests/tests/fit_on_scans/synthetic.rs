//! Fits of simulated scans of the built-in head, and of scans that are wrong.

use glam::DVec3;
use risorius_base::progress::no_progress;
use risorius_fit::FitError;
use risorius_fit::actor::{Actor, FitActor, Scan};
use risorius_fit::prior::Prior;
use risorius_fit::synthetic::{Capture, Captured, capture};
use risorius_fit::template::Template;
use risorius_head::{Head, Identity};
use std::sync::OnceLock;

/// The average head, the template made of it, and another person.
fn people() -> &'static (Head, Template, Prior, Head) {
    static PEOPLE: OnceLock<(Head, Template, Prior, Head)> = OnceLock::new();
    PEOPLE.get_or_init(|| {
        let head = risorius_head::build(&Identity::default());
        let template = Template::prepare(&head.rig, &head, &Default::default()).unwrap();
        let other = Identity { width: 0.7, length: -0.5, nose: 0.8, jaw: 0.6, brow: -0.4, fat: 0.5 };
        (head, template, Prior::built_in(), risorius_head::build(&other))
    })
}

fn fit(scans: Vec<Scan>) -> Result<Actor, FitError> {
    let (head, template, prior, _) = people();
    let over_bone = vec![1.0; template.skin.len()];
    let fit = FitActor { template, prior, over_bone: &over_bone, head, name: "actor" };
    fit.run(scans, 0, &no_progress)
}

fn neutral() -> Captured {
    capture(&people().3, "neutral", &[], &Capture::default())
}

fn scaled(scan: &Scan, by: DVec3) -> Scan {
    let mut scan = scan.clone();
    scan.mesh.positions.iter_mut().for_each(|p| *p *= by);
    scan.landmarks.iter_mut().flatten().for_each(|p| *p *= by);
    scan
}

#[test]
fn another_person_is_found_with_expressions_and_personal_shapes() {
    let template = &people().1;
    let first = neutral();
    let smile = [("mouthSmileLeft", 0.9), ("mouthSmileRight", 0.7)];
    let open = [("jawOpen", 0.6)];
    let shown = [("smile", &smile[..]), ("open", &open[..])];
    let expressions: Vec<Captured> = (shown.iter().zip(2..))
        .map(|((name, weights), seed)| {
            capture(&people().3, name, weights, &Capture { seed, ..Capture::default() })
        })
        .collect();
    let mut scans = vec![first.scan.clone()];
    scans.extend(expressions.iter().map(|e| e.scan.clone()));
    let actor = fit(scans).unwrap();
    // A vertex of the fit, in the person's own space, against the same vertex of the person.
    for (scan, captured) in actor.scans.iter().zip(std::iter::once(&first).chain(&expressions)) {
        let back = captured.scan_from_person.inverse();
        let far = template.skin.iter().zip(&scan.skin).zip(&template.narrow).filter(|(_, n)| **n).map(
            |((&v, p), _)| back.apply(scan.scan_from_template.apply(*p)).distance(captured.truth[v as usize]),
        );
        let far: Vec<f64> = far.collect();
        let mean = 1e3 * far.iter().sum::<f64>() / far.len() as f64;
        println!(
            "{}: {:?}, to truth {mean:.2} mm, {:?}",
            scan.report.name, scan.report.distance, scan.report.weights
        );
        assert!(scan.report.distance.mean_mm < 0.35, "{}: {:?}", scan.report.name, scan.report.distance);
        assert!(scan.report.rig.mean_mm < 0.5, "{}: {:?}", scan.report.name, scan.report.rig);
        assert!(mean < 1.5, "{}: {mean:.2} mm from the truth", scan.report.name);
    }
    // Shapes overlap, so weights are not unique: 0.6 and 0.42 were seen for 0.9 and 0.7, the rest in the
    // cheeks.
    let smile = &actor.scans[1].report.weights;
    let least = smile["mouthSmileLeft"].min(smile["mouthSmileRight"]);
    let others = smile.iter().filter(|(name, _)| !name.starts_with("mouthSmile"));
    assert!(least > 0.3 && others.map(|(_, w)| *w).fold(0.0, f64::max) < least, "{smile:?}");
    assert!((actor.scans[2].report.weights["jawOpen"] - 0.6).abs() < 0.15);
    assert_eq!(actor.rig.sliders.len(), template.rig.sliders.len());
    // Pose and scale relative to the neutral, as they were made.
    let pose =
        |k: usize, c: &Captured| c.scan_from_person.inverse().after(&actor.scans[k].scan_from_template);
    let neutral = pose(0, &first).inverse();
    for (k, captured) in expressions.iter().enumerate() {
        let by = pose(k + 1, captured).after(&neutral);
        let degrees = by.rigid.rotation.to_scaled_axis().length().to_degrees();
        println!("pose {degrees:.3} degrees, scale {:.4}", by.scale);
        assert!(degrees < 0.3 && (by.scale - 1.0).abs() < 0.003, "{degrees:.3} degrees, scale {}", by.scale);
    }
}

#[test]
fn an_open_mouth_is_not_taken_for_a_feature_of_the_person() {
    let open = capture(&people().3, "neutral", &[("jawOpen", 0.5)], &Capture::default());
    let actor = fit(vec![open.scan]).unwrap();
    assert!(actor.notes.iter().any(|n| n.what.contains("jawOpen")), "{:?}", actor.notes);
    assert!((actor.scans[0].report.weights["jawOpen"] - 0.5).abs() < 0.15);
    assert!(actor.scans[0].report.distance.mean_mm < 0.5);
}

#[test]
fn an_open_mouth_is_seen_without_landmarks() {
    let shown = [("jawOpen", 0.6)];
    let captured = capture(&people().3, "neutral", &shown, &Capture::default());
    let scan = Scan { landmarks: Vec::new(), ..captured.scan };
    let actor = fit(vec![scan]).unwrap();
    let found = &actor.scans[0].report;
    println!("{:?} {:?}", found.distance, found.weights);
    for (name, value) in shown {
        let weight = found.weights.get(name).copied().unwrap_or(0.0);
        assert!((weight - f64::from(value)).abs() < 0.2, "{name}: {weight:.2}");
    }
    assert!(found.distance.mean_mm < 0.4 && actor.notes.iter().any(|n| n.what.contains("not neutral")));
    // And nothing is seen in a neutral.
    let plain = fit(vec![Scan { landmarks: Vec::new(), ..neutral().scan }]).unwrap();
    assert!(plain.scans[0].report.weights.is_empty(), "{:?}", plain.scans[0].report.weights);
}

#[test]
fn units_turns_and_winding_do_not_matter() {
    let plain = neutral().scan;
    let inches = scaled(&plain, DVec3::splat(1.0 / 25.4));
    let upside_down = scaled(&plain, DVec3::new(-1.0, -1.0, 1.0));
    let mut inside_out = plain.clone();
    inside_out.mesh.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    for scan in [inches, upside_down, inside_out] {
        let actor = fit(vec![scan]).unwrap();
        assert!(actor.scans[0].report.distance.mean_mm < 0.35, "{:?}", actor.scans[0].report.distance);
    }
}

#[test]
fn wrong_scans_are_refused_or_noted() {
    let plain = neutral().scan;
    let mut mirrored = scaled(&plain, DVec3::new(-1.0, 1.0, 1.0));
    mirrored.mesh.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    let problem = fit(vec![mirrored]).unwrap_err().to_string();
    assert!(problem.contains("mirrored"), "{problem}");
    // Landmarks that are moved by 3 cm each, in all directions.
    let mut lost = plain.clone();
    let scale = neutral().scan_from_person.scale;
    for (k, p) in lost.landmarks.iter_mut().flatten().enumerate() {
        let k = k as f64;
        *p += DVec3::new(k.sin(), (1.7 * k).cos(), (2.3 * k).sin()).normalize() * (0.03 * scale);
    }
    let actor = fit(vec![lost]).unwrap();
    let found = &actor.scans[0].report;
    let noted = actor.notes.iter().any(|n| n.what.contains("landmarks"));
    assert!(noted || found.distance.mean_mm < 0.5, "{:?} {:?}", found.distance, actor.notes);
    // A sphere, without landmarks.
    let mut sphere = plain.clone();
    let middle = sphere.mesh.positions.iter().sum::<DVec3>() / sphere.mesh.n_vertices() as f64;
    sphere.mesh.positions.iter_mut().for_each(|p| *p = (*p - middle).normalize_or(DVec3::X));
    sphere.landmarks.clear();
    let problem = fit(vec![sphere]).unwrap_err().to_string();
    assert!(problem.contains("neutral"), "{problem}");
}
