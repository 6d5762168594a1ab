//! Fits of simulated scans, measured against their truth.

mod actor;
mod expressions;
mod synthetic;

use actor::{Actor, mm};
use risorius_base::progress::no_progress;
use risorius_fit::measure::{Others, Spread, distances};
use risorius_fit::neutral::Neutral;
use risorius_fit::prior::Prior;
use risorius_fit::template::Template;
use risorius_head::Identity;
use std::time::Instant;

#[test]
fn the_neutral_is_found_within_the_prior_and_beyond() {
    let Some(actor) = Actor::open("neutral fit") else { return };
    let template = actor.template();
    let prior = Prior::of_rig(&actor.identities(), &template.rig).unwrap();
    let scan = actor.scan("neutral");
    let start = Instant::now();
    let marks = template.marks(&scan.marks);
    let neutral = Neutral { template: &template, prior: &prior, target: &scan.target, marks: &marks };
    let fit = neutral.fit(true, &no_progress).unwrap();
    let secs = start.elapsed().as_secs_f64();
    let others = Others::new(&template, &fit.modeled);
    let truth = actor.truth_neutral(&template, &fit.scan_from_template, "neutral");
    for (what, skin) in [("model", &fit.surface), ("bent", &fit.skin)] {
        let off = mm(skin, &truth, &template.narrow);
        let far = distances(&template, skin, &others, &scan.target.mesh, &fit.scan_from_template, &|_| true);
        let far = Spread::of(far.into_iter());
        println!("{what}: to truth {off:?}, scan to surface {far:?}; {secs:.1} s");
        assert!(far.mean_mm < 0.3 && far.p95_mm < 0.8, "{what}: {far:?}");
        assert!(off[0] < 0.5, "{what}: {off:?}");
    }
    assert!(fit.expression.is_empty(), "{:?}", fit.expression);
}

#[test]
fn the_built_in_head_fits_too() {
    let Some(actor) = Actor::open("neutral fit of the built-in head") else { return };
    let head = risorius_head::build(&Identity::default());
    let template = Template::prepare(&head.rig, &head, &Default::default()).unwrap();
    let scan = actor.scan("neutral");
    let start = Instant::now();
    let marks = template.marks(&scan.marks);
    let prior = Prior::built_in();
    let neutral = Neutral { template: &template, prior: &prior, target: &scan.target, marks: &marks };
    let fit = neutral.fit(true, &no_progress).unwrap();
    let secs = start.elapsed().as_secs_f64();
    let others = Others::new(&template, &fit.modeled);
    let far = distances(&template, &fit.skin, &others, &scan.target.mesh, &fit.scan_from_template, &|_| true);
    let far = Spread::of(far.into_iter());
    println!("built-in: scan to surface {far:?}; {:?}; {secs:.1} s", fit.expression);
    assert!(far.mean_mm < 0.4, "{far:?}");
}
