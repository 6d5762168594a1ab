//! Hold a brow while other sliders move: selected motion attenuation, as an animation tool would call it.
//!
//!     cargo run --release --example hold_brow [RIG]

#![allow(clippy::print_stdout)] // An example prints.

use risorius::prelude::*;

/// Runs the example.
pub fn main() -> Result<(), Error> {
    let rig = match std::env::args().nth(1).filter(|path| std::path::Path::new(path).exists()) {
        Some(path) => RigSource::from(path).open_with_sliders(&no_progress)?.rig,
        None => risorius::head::build(&Identity::default()).rig,
    };
    // Once per rig.
    let gram = RigGram::prepare(&rig, &no_progress)?;
    // Once per selection: every vertex that browDownLeft moves noticeably.
    let brow = PinSpec { region: Some("shape:browDownLeft".into()), ..PinSpec::default() };
    let selection = Selection::prepare(&gram, PinSet::resolve(&rig, &[brow])?, &[]);
    let options = AttenuateOptions { bounds: true, ..AttenuateOptions::default() };
    let attenuation = PoseAttenuation::prepare(&rig, &selection, &options)?;
    // At every slider event.
    let values = |pairs: &[(&str, f32)]| {
        let pairs: Vec<(String, f32)> =
            pairs.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        risorius::source::weights_by_name(&rig, &pairs)
    };
    let when_pinned = values(&[("browDownLeft", 0.5)])?;
    let now = values(&[("browDownLeft", 0.5), ("noseSneerLeft", 0.9), ("eyeSquintLeft", 0.8)])?;
    let held = attenuation.solve(&now, &when_pinned)?;
    let mm = |motion: f64| rig.space.millimeters(motion);
    let [before, after] = [held.pinned_before.max, held.pinned_after.max].map(mm);
    println!("the brow moves {before:.2} mm without pins, {after:.2} mm with them");
    for (slider, (asked, got)) in rig.sliders.iter().zip(now.iter().zip(&held.weights)) {
        if (asked - got).abs() > 0.01 {
            println!("  {} {asked:.2} -> {got:.2}", slider.name);
        }
    }
    Ok(())
}
