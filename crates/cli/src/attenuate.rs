//! `attenuate`: pinned points stay while sliders move, for a pose or for a whole clip.

use crate::files::{expect_ending, extension};
use crate::pictures::{distances_mm, pin_markers};
use crate::pose::WeightsOrClip;
use crate::rig_args::{
    RigArgs, mapping_to_json, mapping_to_text, pins, slider_names, sliders, weights, weights_to_json,
};
use crate::session::{Failure, Report, Session};
use crate::takes::{Frames, write_frames};
use clap::Args;
use risorius_attenuate::clip::{ClipOptions, FrameReport, attenuate_clip};
use risorius_attenuate::gram::RigGram;
use risorius_attenuate::pins::PinSet;
use risorius_attenuate::pose::{AttenuateOptions, Attenuated, Motion, PoseAttenuation};
use risorius_attenuate::selection::Selection;
use risorius_io::formats::{clip_csv, clip_json};
use risorius_io::output::write_whole;
use risorius_io::specs::weights;
use risorius_rig::{Clip, Evaluator, Rig};
use risorius_view::{Colormap, DrawOptions, FaceLook, ScalarField, Series, draw, lines, sheet};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    /// Pins: a JSON file such as [{"vertex": 12, "axes": "xyz"}], or that JSON itself.
    #[arg(long, value_name = "P")]
    pins: String,
    #[command(flatten)]
    what: WeightsOrClip,
    /// Slider values when the pins were set; the neutral when left out.
    #[arg(long, value_name = "W0")]
    from: Option<String>,
    /// Weight of pins against the rest, 0 or more, or inf; untagged over tagged coordinates when left out.
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    alpha: Option<f64>,
    /// Keep sliders within their ranges.
    #[arg(long)]
    bounds: bool,
    /// Sliders that may not change, separated by commas.
    #[arg(long, value_name = "NAMES")]
    lock: Option<String>,
    /// Seconds over which pins with times fade in and out.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2, allow_negative_numbers = true)]
    fade: f64,
    /// Seconds of smoothing of the change of weights over a clip; 0 for none.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, allow_negative_numbers = true)]
    smooth: f64,
    /// New weights (.json), or the new clip (.csv, .json, .glb, .gltf, .mdd, .pc2, .npz).
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// A picture (.png): before and after, and how far each vertex is from where it was asked to go.
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    check_call(arguments)?;
    let file = arguments.rig.open_with_sliders(session)?;
    let rig = &file.rig;
    let set = pins(rig, &arguments.pins)?;
    let locked = arguments.lock.as_deref().map_or(Ok(Vec::new()), |names| sliders(rig, names))?;
    let options = AttenuateOptions { alpha: arguments.alpha, bounds: arguments.bounds };
    let start = Instant::now();
    let gram = RigGram::prepare(rig, &session.progress())?;
    let gram_secs = start.elapsed().as_secs_f64();
    let selection = Selection::prepare(&gram, set, &locked);
    let select_secs = start.elapsed().as_secs_f64() - gram_secs;
    match &arguments.what.clip {
        Some(path) => run_clip(arguments, path, rig, &selection, options, session),
        None => {
            let mut report = run_pose(arguments, rig, &selection, &options)?;
            report.json["seconds"]["inner_products"] = gram_secs.into();
            report.json["seconds"]["selection"] = select_secs.into();
            Ok(report)
        }
    }
}

/// Everything that can be wrong with the call itself, before any work is done.
fn check_call(arguments: &Arguments) -> Result<(), Failure> {
    if !(arguments.fade >= 0.0 && arguments.smooth >= 0.0) {
        return Err(Failure::wrong_call("--fade and --smooth are 0 or more seconds"));
    }
    if arguments.alpha.is_some_and(|a| a.is_nan() || a < 0.0) {
        return Err(Failure::wrong_call("--alpha is 0 or more, or inf"));
    }
    match (&arguments.output, &arguments.what.clip) {
        (Some(output), None) => expect_ending(output, &["json"], "a set of weights")?,
        (Some(output), Some(_)) => {
            expect_ending(output, &["csv", "json", "glb", "gltf", "mdd", "pc2", "npz"], "an attenuated clip")?
        }
        (None, _) => String::new(),
    };
    if let Some(picture) = &arguments.picture {
        expect_ending(picture, &["png"], "a picture")?;
    }
    Ok(())
}

/// A word to people who gave a list of pins without entries.
fn no_pins_warning(set: &PinSet) -> Option<String> {
    let is_empty = set.pins.is_empty() && set.limits.is_empty();
    is_empty.then(|| "there are no pins, so nothing is held".to_string())
}

fn run_pose(
    arguments: &Arguments,
    rig: &Rig,
    selection: &Selection,
    options: &AttenuateOptions,
) -> Result<Report, Failure> {
    let set = selection.set();
    let w1 = weights(rig, arguments.what.weights.as_deref().unwrap_or_default())?;
    let w0 = arguments.from.as_deref().map_or(Ok(vec![0.0; w1.len()]), |w| weights(rig, w))?;
    let start = Instant::now();
    let pose = PoseAttenuation::prepare(rig, selection, options)?;
    let prepared = start.elapsed().as_secs_f64();
    let mut result = pose.solve(&w1, &w0)?;
    result.warnings.extend(no_pins_warning(set));
    let solved = start.elapsed().as_secs_f64() - prepared;
    // The picture is drawn before anything is written: a run that fails writes nothing.
    let picture = match &arguments.picture {
        Some(path) => Some((path, pose_picture(rig, set, [&w0, &w1], &result)?)),
        None => None,
    };
    if let Some(path) = &arguments.output {
        let named: Vec<(String, f32)> =
            slider_names(rig).into_iter().zip(result.weights.iter().copied()).collect();
        write_whole(path, &weights::write(&named))?;
    }
    if let Some((path, png)) = picture {
        write_whole(path, &png)?;
    }
    let mut json = pose_json(rig, set, &result);
    json["seconds"] = json!({ "factor": prepared, "solve": solved });
    Ok(Report { text: pose_text(rig, set, &w1, &result), json })
}

fn motion_json(rig: &Rig, motion: Motion) -> Value {
    json!({
        "max": motion.max, "rms": motion.rms,
        "max_mm": rig.space.millimeters(motion.max), "rms_mm": rig.space.millimeters(motion.rms),
    })
}

/// A motion in millimeters, for people.
fn motion_text(rig: &Rig, m: Motion) -> String {
    format!("max {:.3} mm, rms {:.3} mm", rig.space.millimeters(m.max), rig.space.millimeters(m.rms))
}

fn pose_json(rig: &Rig, set: &PinSet, result: &Attenuated) -> Value {
    json!({
        "weights": rig.sliders.iter().zip(&result.weights)
            .map(|(s, &w)| (s.name.clone(), f64::from(w).into())).collect::<serde_json::Map<_, _>>(),
        "alpha": result.alpha,
        "pinned_coordinates": set.pins.len(),
        "limited_coordinates": set.limits.len(),
        "pinned_before": motion_json(rig, result.pinned_before),
        "pinned_after": motion_json(rig, result.pinned_after),
        "others_deviation": motion_json(rig, result.others_deviation),
        "at_bound": result.at_bound.iter().map(|&s| &rig.sliders[s].name).collect::<Vec<_>>(),
        "steps": result.steps,
        "kkt_residual": result.kkt_residual,
        "condition": result.condition,
        "warnings": result.warnings,
    })
}

/// Four digits after the point, or powers of ten for the stand-in of infinity.
fn alpha_text(alpha: f64) -> String {
    match alpha {
        1e9.. => format!("{alpha:e}"),
        10.0..1e9 => format!("{alpha:.1}"),
        _ => format!("{alpha:.4}"),
    }
}

fn pose_text(rig: &Rig, set: &PinSet, w1: &[f32], result: &Attenuated) -> String {
    let mut text = format!(
        "{} pinned coordinates, alpha {}\n  pinned before: {}\n  pinned after:  {}\n  others deviate: {}\n",
        set.pins.len(),
        alpha_text(result.alpha),
        motion_text(rig, result.pinned_before),
        motion_text(rig, result.pinned_after),
        motion_text(rig, result.others_deviation)
    );
    let mut changed: Vec<usize> =
        (0..w1.len()).filter(|&s| (result.weights[s] - w1[s]).abs() > 5e-4).collect();
    changed.sort_by(|&a, &b| (result.weights[b] - w1[b]).abs().total_cmp(&(result.weights[a] - w1[a]).abs()));
    for &s in changed.iter().take(12) {
        text += &format!("  {} {:.3} -> {:.3}\n", rig.sliders[s].name, w1[s], result.weights[s]);
    }
    if changed.len() > 12 {
        text += &format!("  and {} more sliders\n", changed.len() - 12);
    }
    result.warnings.iter().for_each(|w| text += &format!("  warning: {w}\n"));
    text
}

/// The pose asked for and the attenuated one, and how far each has moved since the pins were set, pins
/// marked.
fn pose_picture(
    rig: &Rig,
    set: &PinSet,
    [w0, w1]: [&[f32]; 2],
    result: &Attenuated,
) -> Result<Vec<u8>, Failure> {
    let look = FaceLook::prepare(rig);
    let evaluator = Evaluator::prepare(rig);
    let base = evaluator.positions(w0);
    let (asked, held) = (evaluator.positions(w1), evaluator.positions(&result.weights));
    let markers = pin_markers(set);
    let (far, near) = (distances_mm(rig, &asked, &base), distances_mm(rig, &held, &base));
    let most = far.iter().chain(&near).copied().fold(1e-3, f32::max);
    let colored = |values: Vec<f32>| ScalarField {
        values,
        range: [0.0, most],
        unit: "mm moved".into(),
        colormap: Colormap::Sequential,
    };
    let mut cells = Vec::new();
    for (positions, values, name) in [(&asked, far, "without pins"), (&held, near, "with pins")] {
        let plain =
            DrawOptions { width: 560, height: 560, markers: markers.clone(), ..DrawOptions::default() };
        let color = DrawOptions { field: Some(colored(values)), ..plain.clone() };
        cells.push((draw(&look, positions, &plain)?, name.to_string()));
        cells.push((draw(&look, positions, &color)?, format!("{name}: motion")));
    }
    Ok(sheet(&cells, 2, &format!("{} pinned points, alpha {}", markers.len(), alpha_text(result.alpha)))?
        .encode_png())
}

fn run_clip(
    arguments: &Arguments,
    path: &Path,
    rig: &Rig,
    selection: &Selection,
    pose: AttenuateOptions,
    session: &Session,
) -> Result<Report, Failure> {
    let set = selection.set();
    let content = arguments.what.clip_args.open(path, session)?;
    let clip = &content.clip;
    let (weights_in, map) = clip.bind(rig)?;
    let options = ClipOptions {
        pose,
        from: arguments.from.as_deref().map(|w| weights(rig, w)).transpose()?,
        fade_secs: arguments.fade,
        smooth_secs: arguments.smooth,
    };
    let start = Instant::now();
    let result =
        attenuate_clip(rig, selection, &clip.times_secs, &weights_in, &options, &session.progress())?;
    let seconds = start.elapsed().as_secs_f64();
    let picture = match &arguments.picture {
        Some(path) => Some((path, clip_picture(rig, clip, &result.frames)?)),
        None => None,
    };
    if let Some(output) = &arguments.output {
        write_clip(rig, clip, &result.weights, output, session)?;
    }
    if let Some((path, png)) = picture {
        write_whole(path, &png)?;
    }
    let others =
        (result.frames.iter().map(|f| f.others_rms.powi(2)).sum::<f64>() / clip.n_frames() as f64).sqrt();
    let n_held = result.frames.iter().filter(|f| f.n_held > 0).count();
    let at_bound = result.frames.iter().map(|f| f.n_at_bound).max().unwrap_or(0);
    let warnings: Vec<String> = no_pins_warning(set).into_iter().chain(result.warnings).collect();
    let text = format!(
        "{} frames, pins on in {n_held}, {} pinned coordinates, alpha {}\n  pinned before: {}\n  pinned after:  {}\n  \
         others deviate: rms {:.3} mm\n{}{}",
        clip.n_frames(),
        set.pins.len(),
        alpha_text(result.alpha),
        motion_text(rig, result.pinned_before),
        motion_text(rig, result.pinned_after),
        rig.space.millimeters(others),
        mapping_to_text(&map, &clip.names, rig),
        warnings.iter().map(|w| format!("  warning: {w}\n")).collect::<String>()
    );
    let json = json!({
        "frames": clip.n_frames(), "alpha": result.alpha, "pinned_coordinates": set.pins.len(),
        "pinned_before": motion_json(rig, result.pinned_before), "pinned_after": motion_json(rig, result.pinned_after),
        "others_deviation": { "rms": others, "rms_mm": rig.space.millimeters(others) },
        "frames_with_pins": n_held, "most_sliders_at_bound": at_bound, "notes": content.notes,
        "mapping": mapping_to_json(&map, &clip.names, rig), "first_weights": first_weights(rig, &result.weights),
        "warnings": warnings, "seconds": seconds,
    });
    Ok(Report { json, text })
}

/// Distance of pins over time, without and with attenuation.
fn clip_picture(rig: &Rig, clip: &Clip, frames: &[FrameReport]) -> Result<Vec<u8>, Failure> {
    // Lines are broken where no pin is on.
    let shown =
        |f: &FrameReport, m: Motion| if f.n_held > 0 { rig.space.millimeters(m.rms) } else { f64::NAN };
    let line = |name: &str, of: &dyn Fn(&FrameReport) -> Motion| Series {
        name: name.into(),
        points: clip.times_secs.iter().zip(frames).map(|(&t, f)| [t, shown(f, of(f))]).collect(),
    };
    let series = [line("without attenuation", &|f| f.before), line("with attenuation", &|f| f.after)];
    Ok(lines(&series, "time (s)", "rms distance of pins (mm)", "Pinned points over the clip")?.encode_png())
}

fn first_weights(rig: &Rig, weights: &[f32]) -> Value {
    weights_to_json(rig, weights.get(..rig.sliders.len()).unwrap_or_default())
}

/// Writes weights per frame as a clip, or evaluated as a take.
fn write_clip(
    rig: &Rig,
    clip: &Clip,
    weights: &[f32],
    output: &Path,
    session: &Session,
) -> Result<(), Failure> {
    let new = Clip { names: slider_names(rig), values: weights.to_vec(), ..clip.clone() };
    match extension(output).as_str() {
        "csv" => Ok(write_whole(output, &clip_csv::write_csv(&new))?),
        "json" => Ok(write_whole(output, &clip_json::write(&new))?),
        _ => {
            let frames = Frames { times_secs: &clip.times_secs, weights, head: clip.head.as_ref() };
            write_frames(rig, &frames, output, false, session)
        }
    }
}
