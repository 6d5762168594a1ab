//! `attenuate`: pinned points stay while sliders move, for a pose or for a whole clip.

use crate::pose::ClipArgs;
use crate::rig_args::{RigArgs, mapping_to_json, mapping_to_text, slider_names, sliders, weights, weights_to_json};
use crate::session::{Failure, Report, Session};
use crate::takes::{Frames, write_frames};
use clap::Args;
use risorius_io::open::{read_file, read_pins};
use risorius_io::output::write_whole;
use risorius_io::{clip_csv, clip_json, weights_json};
use risorius_rig::attenuate::{AttenuateOptions, Attenuated, Motion, PoseAttenuation, select};
use risorius_rig::attenuate_clip::{ClipOptions, attenuate_clip};
use risorius_rig::gram::RigGram;
use risorius_rig::pins::PinSet;
use risorius_rig::{Clip, Evaluator, Rig};
use risorius_view::{Colormap, DrawOptions, FaceLook, Marker, ScalarField, Series, draw, lines, sheet};
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
    /// Slider values now: a JSON file, inline JSON, or jawOpen=0.6,smile=1.
    #[arg(long, short, value_name = "W", required_unless_present = "clip", conflicts_with = "clip")]
    weights: Option<String>,
    /// A whole clip instead of one pose.
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
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
    #[arg(long, default_value_t = 0.2)]
    fade: f64,
    /// Seconds of smoothing of the change of weights over a clip; 0 for none.
    #[arg(long, default_value_t = 0.0)]
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
    let file = arguments.rig.open(session)?;
    let rig = &file.rig;
    let pins = if arguments.pins.trim_start().starts_with(['[', '{']) {
        read_pins(arguments.pins.as_bytes())?
    } else {
        read_pins(&read_file(Path::new(&arguments.pins))?)?
    };
    let set = PinSet::resolve(rig, &pins).map_err(|problems| {
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::could_not(all.join("\n"))
    })?;
    if !(arguments.fade >= 0.0 && arguments.smooth >= 0.0) {
        return Err(Failure::wrong_call("--fade and --smooth are 0 or more seconds"));
    }
    let options = AttenuateOptions {
        alpha: arguments.alpha,
        bounds: arguments.bounds,
        locked: arguments.lock.as_deref().map_or(Ok(Vec::new()), |names| sliders(rig, names))?,
    };
    let start = Instant::now();
    let gram = RigGram::prepare(rig, &session.progress())?;
    let gram_secs = start.elapsed().as_secs_f64();
    match &arguments.clip {
        Some(path) => run_clip(arguments, path, rig, &gram, &set, options, session),
        None => run_pose(arguments, rig, &gram, &set, &options, gram_secs),
    }
}

fn run_pose(
    arguments: &Arguments,
    rig: &Rig,
    gram: &RigGram,
    set: &PinSet,
    options: &AttenuateOptions,
    gram_secs: f64,
) -> Result<Report, Failure> {
    let w1 = weights(rig, arguments.weights.as_deref().unwrap_or_default())?;
    let w0 = arguments.from.as_deref().map_or(Ok(vec![0.0; w1.len()]), |w| weights(rig, w))?;
    let start = Instant::now();
    let selection = select(gram, set, &options.locked);
    let pose = PoseAttenuation::prepare(rig, &selection, set, options)?;
    let prepared = start.elapsed().as_secs_f64();
    let result = pose.solve(&w1, &w0)?;
    let solved = start.elapsed().as_secs_f64() - prepared;
    if let Some(path) = &arguments.output {
        let named: Vec<(String, f32)> = slider_names(rig).into_iter().zip(result.weights.iter().copied()).collect();
        write_whole(path, &weights_json::write(&named))?;
    }
    if let Some(path) = &arguments.picture {
        write_whole(path, &pose_picture(rig, set, [&w0, &w1], &result)?)?;
    }
    let mut json = pose_json(rig, set, &result);
    json["seconds"] = json!({ "inner_products": gram_secs, "selection": prepared, "solve": solved });
    Ok(Report { text: pose_text(rig, set, &w1, &result), json })
}

fn motion_json(rig: &Rig, motion: Motion) -> Value {
    json!({
        "max": motion.max, "rms": motion.rms,
        "max_mm": rig.space.millimeters(motion.max), "rms_mm": rig.space.millimeters(motion.rms),
    })
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
        "warnings": result.warnings,
    })
}

fn pose_text(rig: &Rig, set: &PinSet, w1: &[f32], result: &Attenuated) -> String {
    let mm =
        |m: Motion| format!("max {:.3} mm, rms {:.3} mm", rig.space.millimeters(m.max), rig.space.millimeters(m.rms));
    let mut text = format!(
        "{} pinned coordinates, alpha {:.4}\n  pinned before: {}\n  pinned after:  {}\n  others deviate: {}\n",
        set.pins.len(),
        result.alpha,
        mm(result.pinned_before),
        mm(result.pinned_after),
        mm(result.others_deviation)
    );
    let mut changed: Vec<usize> = (0..w1.len()).filter(|&s| (result.weights[s] - w1[s]).abs() > 5e-4).collect();
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

/// The pose asked for and the attenuated one, and how far each has moved since the pins were set, pins marked.
fn pose_picture(rig: &Rig, set: &PinSet, [w0, w1]: [&[f32]; 2], result: &Attenuated) -> Result<Vec<u8>, Failure> {
    let look = FaceLook::prepare(rig);
    let evaluator = Evaluator::prepare(rig);
    let base = evaluator.positions(w0);
    let (asked, held) = (evaluator.positions(w1), evaluator.positions(&result.weights));
    let mut pinned: Vec<u32> = set.pins.iter().map(|p| p.vertex).collect();
    pinned.dedup();
    let markers: Vec<Marker> = pinned.iter().map(|&v| Marker::new(v, [230, 40, 40, 255])).collect();
    let to_mm = rig.space.millimeters(1.0) as f32;
    let distance = |p: &[[f32; 3]]| -> Vec<f32> {
        p.iter()
            .zip(&base)
            .map(|(a, b)| to_mm * ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2) + (a[2] - b[2]).powi(2)).sqrt())
            .collect()
    };
    let (far, near) = (distance(&asked), distance(&held));
    let most = far.iter().chain(&near).copied().fold(1e-3, f32::max);
    let colored = |values: Vec<f32>| ScalarField {
        values,
        range: [0.0, most],
        unit: "mm moved".into(),
        colormap: Colormap::Sequential,
    };
    let mut cells = Vec::new();
    for (positions, values, name) in [(&asked, far, "without pins"), (&held, near, "with pins")] {
        let plain = DrawOptions { width: 560, height: 560, markers: markers.clone(), ..DrawOptions::default() };
        let color = DrawOptions { field: Some(colored(values)), ..plain.clone() };
        cells.push((draw(&look, positions, &plain)?, name.to_string()));
        cells.push((draw(&look, positions, &color)?, format!("{name}: motion")));
    }
    Ok(sheet(&cells, 2, &format!("{} pinned points, alpha {:.1}", pinned.len(), result.alpha))?.encode_png())
}

fn run_clip(
    arguments: &Arguments,
    path: &Path,
    rig: &Rig,
    gram: &RigGram,
    set: &PinSet,
    pose: AttenuateOptions,
    session: &Session,
) -> Result<Report, Failure> {
    let content = arguments.clip_args.open(path, session)?;
    let clip = &content.clip;
    let (weights_in, map) = clip.bind(rig);
    let options = ClipOptions {
        pose,
        from: arguments.from.as_deref().map(|w| weights(rig, w)).transpose()?,
        fade_secs: arguments.fade,
        smooth_secs: arguments.smooth,
    };
    let start = Instant::now();
    let result = attenuate_clip(rig, gram, set, &clip.times_secs, &weights_in, &options, &session.progress())?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(output) = &arguments.output {
        write_clip(rig, clip, &result.weights, output, session)?;
    }
    if let Some(picture) = &arguments.picture {
        let line = |name: &str, which: usize| Series {
            name: name.into(),
            points: clip
                .times_secs
                .iter()
                .zip(&result.pinned_rms)
                .map(|(&t, rms)| [t, rig.space.millimeters(rms[which])])
                .collect(),
        };
        let series = [line("without attenuation", 0), line("with attenuation", 1)];
        let canvas = lines(&series, "time (s)", "rms distance of pins (mm)", "Pinned points over the clip")?;
        write_whole(picture, &canvas.encode_png())?;
    }
    let rms = |which: usize| {
        let on: Vec<f64> = result.pinned_rms.iter().map(|r| r[which]).collect();
        let mean = (on.iter().map(|x| x * x).sum::<f64>() / on.len().max(1) as f64).sqrt();
        json!({
            "rms_mm": rig.space.millimeters(mean),
            "max_mm": rig.space.millimeters(on.iter().copied().fold(0.0, f64::max)),
        })
    };
    let (before, after) = (rms(0), rms(1));
    let text = format!(
        "{} frames, {} pinned coordinates, alpha {:.4}\n  pinned before: rms {:.3} mm, after: rms {:.3} mm\n{}",
        clip.n_frames(),
        set.pins.len(),
        result.alpha,
        before["rms_mm"].as_f64().unwrap_or(0.0),
        after["rms_mm"].as_f64().unwrap_or(0.0),
        mapping_to_text(&map, &clip.names, rig)
    );
    let json = json!({
        "frames": clip.n_frames(), "alpha": result.alpha, "pinned_coordinates": set.pins.len(),
        "pinned_before": before, "pinned_after": after, "notes": content.notes,
        "mapping": mapping_to_json(&map, &clip.names, rig), "first_weights": first_weights(rig, &result.weights),
        "seconds": seconds,
    });
    Ok(Report { json, text })
}

fn first_weights(rig: &Rig, weights: &[f32]) -> Value {
    weights_to_json(rig, weights.get(..rig.sliders.len()).unwrap_or_default())
}

/// Writes weights per frame as a clip, or evaluated as a take.
fn write_clip(rig: &Rig, clip: &Clip, weights: &[f32], output: &Path, session: &Session) -> Result<(), Failure> {
    let new = Clip { names: slider_names(rig), values: weights.to_vec(), ..clip.clone() };
    let extension = output.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "csv" => Ok(write_whole(output, &clip_csv::write_csv(&new))?),
        "json" => Ok(write_whole(output, &clip_json::write(&new))?),
        _ => {
            let frames = Frames { times_secs: &clip.times_secs, weights, head: clip.head.as_ref() };
            write_frames(rig, &frames, output, false, session)
        }
    }
}
