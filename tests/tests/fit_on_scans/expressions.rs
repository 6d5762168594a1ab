//! Expressions against the truth.

use crate::actor::{Actor, mm};
use glam::DVec3;
use risorius_base::progress::no_progress;
use risorius_fit::expressions::Person;
use risorius_fit::measure::{Others, Spread, distances};
use risorius_fit::neutral::Neutral;
use risorius_fit::prior::Prior;
use risorius_tests::flesh::is_full;
use std::time::Instant;

const NAMES: [&str; 11] = [
    "jaw_open",
    "smile",
    "smile_open",
    "frown",
    "kiss",
    "funnel",
    "sneer",
    "surprise",
    "blink",
    "puff",
    "smirk_left",
];

#[test]
fn expressions_and_their_poses_are_found() {
    let Some(actor) = Actor::open("expressions") else { return };
    let template = actor.template();
    let prior = Prior::of_rig(&actor.identities(), &template.rig).unwrap();
    let scan = actor.scan("neutral");
    let marks = template.marks(&scan.marks);
    let neutral = Neutral { template: &template, prior: &prior, target: &scan.target, marks: &marks };
    let neutral = neutral.fit(true, &no_progress).unwrap();
    // The truth's frame in that of the fit.
    let truth_to_fit = neutral.scan_from_template.inverse().after(&actor.true_pose("neutral"));
    let others = Others::new(&template, &neutral.modeled);
    let over_bone = vec![1.0; template.skin.len()];
    let person = Person::new(&template, &neutral.rest, over_bone).unwrap();
    for given in [true, false] {
        let mut all = 0.0;
        // A few of them in short runs.
        let names = if is_full() { &NAMES[..] } else { &NAMES[..3] };
        for &name in names {
            let scan = actor.scan(name);
            let truth = actor.weights(&template, name);
            let mut weights = vec![0.0; template.rig.sliders.len()];
            truth.iter().for_each(|&(s, w)| weights[s] = w);
            let start = Instant::now();
            let marks = template.marks(&scan.marks);
            let known = given.then_some(&weights[..]);
            let fit = person.fit(&template, &scan.target, &marks, known, name, &no_progress).unwrap();
            let secs = start.elapsed().as_secs_f64();
            let far = |skin: &[DVec3]| {
                let mesh = &scan.target.mesh;
                Spread::of(
                    distances(&template, skin, &others, mesh, &fit.scan_from_template, &|_| true).into_iter(),
                )
            };
            let (far, model) = (far(&fit.skin), far(&fit.modeled));
            // How the fitted pose maps the truth's frame, against how the neutral does.
            let by =
                fit.scan_from_template.inverse().after(&actor.true_pose(name)).after(&truth_to_fit.inverse());
            let turn = by.rigid.rotation.to_scaled_axis().length().to_degrees();
            let middle = template.landmark("nasion");
            let shift = by.apply(middle).distance(middle) * 1e3;
            let off = fit.weights.iter().zip(&weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let back = fit.scan_from_template.inverse();
            let there = actor.true_pose(name);
            let true_skin: Vec<_> = actor
                .true_skin(&template, &truth)
                .iter()
                .map(|p| back.apply(there.apply(*p / 0.01)))
                .collect();
            let vertex = mm(&fit.skin, &true_skin, &template.narrow);
            all += far.mean_mm / names.len() as f64;
            assert!(turn < 0.3 && shift < 0.3 && (by.scale - 1.0).abs() < 0.003, "{name}: {by:?}");
            assert!(vertex[0] < 1.5, "{name}: {vertex:?}");
            println!(
                "{name}: {:.3}/{:.3} mm, model {:.3}; true vertex {:.3}; pose {turn:.3} deg {shift:.3} mm {:.3} %; weights {off:.3}; {secs:.1} s",
                far.mean_mm,
                far.p95_mm,
                model.mean_mm,
                vertex[0],
                100.0 * (by.scale - 1.0)
            );
        }
        println!("given {given}: mean {all:.3} mm");
        assert!(all < 0.4, "mean {all:.3} mm");
    }
}
