//! `attenuate`: holds pinned points still while sliders move, for a pose or for a whole clip.

use crate::arguments::{RigArgs, WeightsOrClip, mapping_text, names};
use crate::outcome::{Failure, Printed, notes_text, with_flags};
use crate::session::Session;
use clap::Args;
use risorius::jobs::attenuate::{
    AttenuateJob, Attenuation, ClipAttenuationReport, MotionReport, Pins, PoseAttenuationReport, alpha_text,
};
use risorius::jobs::pose::Posed;
use std::path::PathBuf;

/// Most sliders listed in the text report.
const SHOWN: usize = 12;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    /// Points to hold: a JSON file or inline JSON, e.g. [{"vertex": 12, "axes": "xyz"}]. See
    /// docs/attenuation.md.
    #[arg(long, value_name = "P")]
    pins: String,
    #[command(flatten)]
    what: WeightsOrClip,
    /// Slider values at which the pins were set, as for --weights; default the neutral.
    #[arg(long, value_name = "W0")]
    from: Option<String>,
    /// Weight of pinned against other coordinates, 0 or more, or inf; default the number of vertices without
    /// a pin divided by the number of vertices with one.
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    alpha: Option<f64>,
    /// Keep sliders within their ranges.
    #[arg(long)]
    bounds: bool,
    /// Without --bounds: how far sliders may go beyond either end of their ranges, in lengths of the range, 0
    /// or more, or inf.
    #[arg(long, value_name = "RANGES", default_value_t = 0.5, allow_negative_numbers = true)]
    overshoot: f64,
    /// Sliders that must not change, separated by commas: names, or patterns such as 'jaw*'. Correctives are
    /// locked by default.
    #[arg(long, value_name = "NAMES")]
    lock: Option<String>,
    /// Sliders that may change although they are locked, likewise; '*' for all.
    #[arg(long, value_name = "NAMES")]
    free: Option<String>,
    /// Time over which pins with times fade in and out, seconds, 0 or more.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2, allow_negative_numbers = true)]
    fade: f64,
    /// Width of the smoothing (standard deviation) of weight changes over a clip, seconds; 0 for none.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, allow_negative_numbers = true)]
    smooth: f64,
    /// Output: new weights (.json), or the new clip (.csv, .json, .glb, .gltf, .mdd, .pc2, .npz).
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Also draw a picture (.png). Of a pose: without and with pins, and how far each vertex moved since the
    /// pins were set. Of a clip: the distance of pins over time.
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = AttenuateJob {
        rig: arguments.rig.source(),
        pins: Pins::Text(arguments.pins.clone()),
        what: arguments.what.posed(),
        clip: arguments.what.clip_args.reading(),
        from: arguments.from.clone().map_or_else(Posed::default, Posed::Text),
        alpha: arguments.alpha,
        bounds: arguments.bounds,
        overshoot: arguments.overshoot,
        lock: names(arguments.lock.as_deref()),
        free: names(arguments.free.as_deref()),
        fade: arguments.fade,
        smooth: arguments.smooth,
        output: arguments.output.clone(),
        picture: arguments.picture.clone(),
    };
    let report = job.run(&session.progress())?;
    let text = match &report {
        Attenuation::Pose(pose) => pose_text(pose),
        Attenuation::Clip(clip) => clip_text(clip),
    };
    Ok(Printed::new(report, text))
}

fn motion_text(motion: &MotionReport) -> String {
    format!("max {:.3} mm, rms {:.3} mm", motion.max_mm, motion.rms_mm)
}

fn warnings_text(warnings: &[String]) -> String {
    warnings.iter().map(|w| format!("  warning: {}\n", with_flags(w))).collect()
}

fn pose_text(report: &PoseAttenuationReport) -> String {
    let mut text = format!(
        "{} pinned coordinates, alpha {}\n  pinned before: {}\n  pinned after:  {}\n  others deviate: {}\n",
        report.pinned_coordinates,
        alpha_text(report.alpha),
        motion_text(&report.pinned_before),
        motion_text(&report.pinned_after),
        motion_text(&report.others_deviation)
    );
    for (name, [asked, held]) in report.changed.iter().take(SHOWN) {
        text += &format!("  {name} {asked:.3} -> {held:.3}\n");
    }
    if report.changed.len() > SHOWN {
        text += &format!("  and {} more sliders\n", report.changed.len() - SHOWN);
    }
    text + &notes_text(&report.notes) + &warnings_text(&report.warnings)
}

fn clip_text(report: &ClipAttenuationReport) -> String {
    format!(
        "{} frames, {} with active pins, {} pinned coordinates, alpha {}\n  \
         pinned before: {}\n  pinned after:  {}\n  \
         others deviate: rms {:.3} mm\n{}{}{}",
        report.frames,
        report.frames_with_pins,
        report.pinned_coordinates,
        alpha_text(report.alpha),
        motion_text(&report.pinned_before),
        motion_text(&report.pinned_after),
        report.others_deviation.rms_mm,
        notes_text(&report.notes),
        mapping_text(&report.mapping),
        warnings_text(&report.warnings)
    )
}
