//! `inspect`: what a file holds, and every problem found, each with its place and advice.

use crate::files::{extension, in_file};
use crate::inspect_face;
use crate::rig_args::{AboutRig, mapping_to_json, mapping_to_text};
use crate::session::{Failure, Report, Session};
use clap::Args;
use risorius_io::formats::clip_csv::{ClipContent, ClipOptions};
use risorius_io::open::{self, RigFile};
use risorius_io::specs::{sidecar, weights};
use risorius_rig::check::{CheckOptions, RigReport, Severity, check_rig};
use risorius_rig::classify::names::arkit_index;
use risorius_rig::{Clip, HeadMotion, Rig, Role, Take};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// A rig, face, clip, head motion or take.
    file: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Also tell how this clip's columns map to the rig's sliders.
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    /// Also count self-intersections of every shape (slow).
    #[arg(long)]
    all_shapes: bool,
    /// Joint that is the head, in a BVH.
    #[arg(long)]
    joint: Option<String>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let path = &arguments.file;
    match extension(path).as_str() {
        "csv" | "tsv" | "txt" | "json" => inspect_recording(path, session),
        "bvh" => {
            let options = ClipOptions::default();
            let head = open::open_head(path, arguments.joint.as_deref(), 1.0, &options, &session.progress())
                .map_err(in_file(path))?;
            Ok(head_report(path, "BVH head motion (in the file's unit)", &head))
        }
        "mdd" | "pc2" | "npz" => Ok(take_report(path, &open::open_take(path, 30.0).map_err(in_file(path))?)),
        _ => inspect_rig(arguments, session),
    }
}

fn inspect_recording(path: &Path, session: &Session) -> Result<Report, Failure> {
    let options = ClipOptions::default();
    match open::open_clip(path, &options, &session.progress()) {
        Ok(content) if content.clip.names.is_empty() && content.clip.head.is_some() => {
            let head = content.clip.head.unwrap_or_default();
            Ok(head_report(path, "head motion", &head))
        }
        Ok(content) => Ok(clip_report(path, &content)),
        Err(clip_error) => match open::open_head(path, None, 1.0, &options, &session.progress()) {
            Ok(head) => Ok(head_report(path, "head motion", &head)),
            Err(_) => settings_report(path).ok_or_else(|| in_file(path)(clip_error)),
        },
    }
}

/// Small JSON files that are no recording: weights, pins, a rig's sidecar.
fn settings_report(path: &Path) -> Option<Report> {
    let bytes = open::read_file(path).ok().filter(|_| extension(path) == "json")?;
    let (kind, what, count) = if let Ok(weights) = weights::read(&bytes) {
        ("weights", "sliders", weights.len())
    } else if let Ok(pins) = open::read_pins(&bytes) {
        ("pins", "entries", pins.len())
    } else {
        ("sidecar", "regions", sidecar::read(&bytes).ok()?.regions.len())
    };
    let json = json!({ "file": path.display().to_string(), "kind": kind, what: count });
    Some(Report { json, text: format!("{}: {kind}, {count} {what}\n", path.display()) })
}

fn inspect_rig(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let start = Instant::now();
    let file = arguments.about.open(&arguments.file, session)?;
    let read_secs = start.elapsed().as_secs_f64();
    let options =
        CheckOptions { self_intersections_of_shapes: arguments.all_shapes, ..CheckOptions::default() };
    let report = check_rig(&file.rig, &options, &session.progress())?;
    let mut json = rig_json(&arguments.file, &file, &report);
    let mut text = rig_text(&arguments.file, &file, &report);
    json["seconds"] = json!({ "read": read_secs, "check": start.elapsed().as_secs_f64() - read_secs });
    if let Some(clip) = &arguments.clip {
        let content =
            open::open_clip(clip, &ClipOptions::default(), &session.progress()).map_err(in_file(clip))?;
        let clip = content.clip;
        let (_, map) = clip.bind(&file.rig)?;
        json["mapping"] = mapping_to_json(&map, &clip.names, &file.rig);
        text += &mapping_to_text(&map, &clip.names, &file.rig);
    }
    if file.format == "face" {
        let face = inspect_face::inspect(&arguments.file)?;
        json["kind"] = "face".into();
        json["face"] = face.json;
        text += &face.text;
    }
    Ok(Report { json, text })
}

fn rig_json(path: &Path, file: &RigFile, report: &RigReport) -> Value {
    let rig = &file.rig;
    let role = |role: &Role| match role {
        Role::Slider(_) => json!({ "kind": "slider" }),
        Role::Inbetween { slider, at } => {
            json!({ "kind": "inbetween", "slider": rig.sliders[*slider].name, "at": at })
        }
        Role::Combination { drivers, rule } => json!({
            "kind": "combination",
            "rule": rule,
            "sliders": drivers.iter().map(|d| &rig.sliders[d.slider].name).collect::<Vec<_>>(),
        }),
    };
    json!({
        "file": path.display().to_string(),
        "kind": "rig",
        "format": file.format,
        "name": rig.name,
        "vertices": rig.n_vertices(),
        "welded": file.assembled.n_welded,
        "parts": rig.parts.iter().map(|p| json!({
            "name": p.name,
            "file_vertices": p.n_file_vertices(),
            "vertices": p.vertices.len(),
            "faces": p.faces.len(),
            "quads": p.faces.iter().filter(|f| f.len() == 4).count(),
            "uvs": p.corner_uvs.is_some(),
        })).collect::<Vec<_>>(),
        "sliders": rig.sliders.len(),
        "shapes": rig.shapes.iter().map(|s| json!({
            "name": s.name,
            "role": role(&s.role),
            "moved_vertices": s.deltas.vertices.len(),
            "max_motion_mm": rig.space.millimeters(s.deltas.max_length().into()),
            "arkit": arkit_index(&s.name).map(|i| risorius_rig::classify::names::ARKIT[i]),
        })).collect::<Vec<_>>(),
        "arkit_matched": n_arkit(rig),
        "regions": rig.regions.iter().map(|(n, v)| (n.clone(), v.len().into())).collect::<serde_json::Map<_, _>>(),
        "space": {
            "meters_per_unit": rig.space.meters_per_unit,
            "up": rig.space.up.to_string(),
            "front": rig.space.front.to_string(),
        },
        "guess": report.space,
        "clips": file.clips.iter().map(|c| clip_json(&c.clip)).collect::<Vec<_>>(),
        "problems": report.problems,
        "role_problems": file.assembled.roles.problems,
        "notes": file.notes,
    })
}

fn n_arkit(rig: &Rig) -> usize {
    let mut found: Vec<usize> = rig.sliders.iter().filter_map(|s| arkit_index(&s.name)).collect();
    found.sort_unstable();
    found.dedup();
    found.len()
}

fn rig_text(path: &Path, file: &RigFile, report: &RigReport) -> String {
    let rig = &file.rig;
    let mut text = format!("{}: {} rig '{}'\n", path.display(), file.format, rig.name);
    text += &format!(
        "  {} vertices ({} welded), {} sliders, {} shapes, {} of 52 ARKit names\n",
        rig.n_vertices(),
        file.assembled.n_welded,
        rig.sliders.len(),
        rig.shapes.len(),
        n_arkit(rig)
    );
    for part in &rig.parts {
        let quads = part.faces.iter().filter(|f| f.len() == 4).count();
        text += &format!(
            "  part '{}': {} vertices, {} faces ({quads} quads)\n",
            part.name,
            part.vertices.len(),
            part.faces.len()
        );
    }
    for (name, slider, at) in &file.assembled.roles.inbetweens {
        text += &format!("  in-between '{name}' of '{slider}' at {at}\n");
    }
    for (name, sliders, rule) in &file.assembled.roles.combinations {
        text += &format!("  combination '{name}' of {} ({rule:?})\n", sliders.join(" and "));
    }
    text += &format!(
        "  unit {} m, up {}, front {} (guess: {}, {:.0} %; {}, {:.0} %)\n",
        rig.space.meters_per_unit,
        rig.space.up,
        rig.space.front,
        report.space.unit_reason,
        100.0 * report.space.unit_confidence,
        report.space.axes_reason,
        100.0 * report.space.axes_confidence
    );
    for clip in &file.clips {
        text += &format!("  clip '{}': {}\n", clip.name, clip_line(&clip.clip));
    }
    for note in file.notes.iter().chain(&file.assembled.roles.problems) {
        text += &format!("  note: {note}\n");
    }
    for problem in &report.problems {
        let severity = match problem.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        text += &format!("  {severity} [{}] {} -> {}\n", problem.code, problem.message, problem.advice);
    }
    text + &format!(
        "  {} errors, {} warnings, {} notes\n",
        report.count(Severity::Error),
        report.count(Severity::Warning),
        report.count(Severity::Note)
    )
}

fn clip_json(clip: &Clip) -> Value {
    json!({
        "frames": clip.n_frames(),
        "fps": clip.fps(),
        "first_secs": clip.times_secs.first(),
        "last_secs": clip.times_secs.last(),
        "columns": clip.names,
        "head": clip.head.as_ref().map(HeadMotion::n_frames),
        "eyes": clip.eye_angles.is_some(),
    })
}

fn clip_line(clip: &Clip) -> String {
    let head = if clip.head.is_some() { ", with head motion" } else { "" };
    format!(
        "{} frames, {:.2} s, {:.2} fps, {} columns{head}",
        clip.n_frames(),
        clip.times_secs.last().unwrap_or(&0.0) - clip.times_secs.first().unwrap_or(&0.0),
        clip.fps(),
        clip.names.len()
    )
}

fn clip_report(path: &Path, content: &ClipContent) -> Report {
    let clip = &content.clip;
    let mut json = clip_json(clip);
    json["file"] = path.display().to_string().into();
    json["kind"] = "clip".into();
    json["steady_fps"] = content.fps.into();
    json["timecode_start"] = content.timecode_start.clone().into();
    json["notes"] = content.notes.clone().into();
    json["arkit_matched"] = clip.names.iter().filter_map(|n| arkit_index(n)).count().into();
    let mut text = format!("{}: clip, {}\n", path.display(), clip_line(clip));
    content.notes.iter().for_each(|n| text += &format!("  note: {n}\n"));
    Report { json, text }
}

fn head_report(path: &Path, what: &str, head: &HeadMotion) -> Report {
    let span = head.times_secs.last().unwrap_or(&0.0) - head.times_secs.first().unwrap_or(&0.0);
    let json = json!({
        "file": path.display().to_string(), "kind": "head motion", "frames": head.n_frames(), "seconds": span,
        "fps": risorius_rig::clip::mean_fps(&head.times_secs),
    });
    Report { json, text: format!("{}: {what}, {} frames, {span:.2} s\n", path.display(), head.n_frames()) }
}

fn take_report(path: &Path, take: &Take) -> Report {
    let json = json!({
        "file": path.display().to_string(), "kind": "take", "frames": take.n_frames(), "vertices": take.n_vertices,
        "fps": take.fps(),
    });
    let text = format!(
        "{}: take, {} frames of {} vertices, {:.2} fps\n",
        path.display(),
        take.n_frames(),
        take.n_vertices,
        take.fps()
    );
    Report { json, text }
}
