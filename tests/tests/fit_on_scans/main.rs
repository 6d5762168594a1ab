//! Fits of simulated scans, measured against their truth.

mod actor;
mod expressions;

use actor::{Actor, mm};
use risorius_base::progress::no_progress;
use risorius_fit::neutral::fit_neutral;
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
    let fit = fit_neutral(&template, &prior, &scan.target, &marks, &no_progress).unwrap();
    let secs = start.elapsed().as_secs_f64();
    let truth = actor.truth_neutral(&template, &fit.scan_from_template, "neutral");
    for (what, skin) in [("model", template.skin_part(&fit.modeled)), ("bent", fit.skin.clone())] {
        let off = mm(&skin, &truth, &template.narrow);
        let far = actor.scan_to_surface(&template, &skin, &scan, &fit.scan_from_template);
        println!("{what}: to truth {off:?}, scan to surface {far:?}; {secs:.1} s");
    }
}

#[test]
fn the_built_in_head_fits_too() {
    let Some(actor) = Actor::open("neutral fit of the built-in head") else { return };
    let head = risorius_head::build(&Identity::default());
    let template = Template::prepare(&head.rig, &head, &Default::default()).unwrap();
    let scan = actor.scan("neutral");
    let start = Instant::now();
    let marks = template.marks(&scan.marks);
    let fit = fit_neutral(&template, &Prior::built_in(), &scan.target, &marks, &no_progress).unwrap();
    let secs = start.elapsed().as_secs_f64();
    println!("{:?}", fit.coefficients);
    for (what, skin) in [("model", template.skin_part(&fit.modeled)), ("bent", fit.skin.clone())] {
        let far = actor.scan_to_surface(&template, &skin, &scan, &fit.scan_from_template);
        println!("built-in {what}: scan to surface {far:?}; {secs:.1} s");
    }
}
