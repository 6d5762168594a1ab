//! `inspect`: reports the contents of a file and every problem found, each with its place and advice.

use crate::arguments::{AboutRig, mapping_text};
use crate::inspect_face::face_text;
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::Args;
use risorius::jobs::inspect::{
    ClipInspection, ClipSummary, HeadInspection, InspectJob, Inspection, RigInspection, RoleInspection,
    SettingsInspection, TakeInspection,
};
use risorius::rig::check::Severity;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// A rig, face, clip, head motion, take, or a JSON file of weights, pins or a sidecar.
    file: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Also report how this clip's columns map to the rig's sliders.
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    /// The set of shapes that the clip drives, by the mark of its names; default the one with the most of its
    /// columns.
    #[arg(long, value_name = "MARK", requires = "clip")]
    set: Option<String>,
    /// Also count self-intersections of every shape (slow).
    #[arg(long)]
    all_shapes: bool,
    /// Name of the head joint in a BVH; default Head, or the first joint with "head" in its name.
    #[arg(long)]
    joint: Option<String>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = InspectJob {
        file: arguments.about.source(&arguments.file),
        clip: arguments.clip.clone(),
        set: arguments.set.clone(),
        all_shapes: arguments.all_shapes,
        joint: arguments.joint.clone(),
    };
    let found = job.run(&session.progress())?;
    let text = match &found {
        Inspection::Rig(rig) => rig_text(rig),
        Inspection::Clip(clip) => clip_text(clip),
        Inspection::Head(head) => head_text(head),
        Inspection::Take(take) => take_text(take),
        Inspection::Settings(settings) => settings_text(settings),
    };
    Ok(Printed::new(found, text))
}

fn rig_text(rig: &RigInspection) -> String {
    let mut text = format!("{}: {} rig '{}'\n", rig.file, rig.format, rig.name);
    text += &format!(
        "  {} vertices ({} welded), {} sliders, {} shapes, {} of 52 ARKit names\n",
        rig.vertices,
        rig.welded,
        rig.sliders,
        rig.shapes.len(),
        rig.arkit_matched
    );
    for part in &rig.parts {
        let (name, vertices, faces, quads) = (&part.name, part.vertices, part.faces, part.quads);
        text += &format!("  part '{name}': {vertices} vertices, {faces} faces ({quads} quads)\n");
    }
    let named = rig.shapes.iter().map(|shape| (&shape.name, &shape.role));
    for (name, role) in named.clone() {
        if let RoleInspection::Inbetween { slider, at } = role {
            text += &format!("  in-between '{name}' of '{slider}' at {at}\n");
        }
    }
    for (name, role) in named {
        if let RoleInspection::Combination { rule, sliders } = role {
            text += &format!("  combination '{name}' of {} ({rule:?})\n", sliders.join(" and "));
        }
    }
    text += &format!(
        "  unit {} m, up {}, front {} (guess: {}, {:.0} %; {}, {:.0} %)\n",
        rig.space.meters_per_unit,
        rig.space.up,
        rig.space.front,
        rig.guess.unit_reason,
        100.0 * rig.guess.unit_confidence,
        rig.guess.axes_reason,
        100.0 * rig.guess.axes_confidence
    );
    for (name, clip) in rig.clip_names.iter().zip(&rig.clips) {
        text += &format!("  clip '{name}': {}\n", clip_line(clip));
    }
    text += &notes_text(&rig.notes);
    text += &notes_text(&rig.role_problems);
    text += &problems_text(rig);
    text += &rig.mapping.as_ref().map(mapping_text).unwrap_or_default();
    text + &rig.face.as_ref().map(face_text).unwrap_or_default()
}

fn problems_text(rig: &RigInspection) -> String {
    let mut text = String::new();
    for problem in &rig.problems {
        let severity = match problem.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        text += &format!("  {severity} [{}] {} -> {}\n", problem.code, problem.message, problem.advice);
    }
    let [errors, warnings, notes] =
        [Severity::Error, Severity::Warning, Severity::Note].map(|severity| rig.count(severity));
    text + &format!("  {errors} errors, {warnings} warnings, {notes} notes\n")
}

fn clip_line(clip: &ClipSummary) -> String {
    let head = if clip.head.is_some() { ", with head motion" } else { "" };
    let span = clip.last_secs.unwrap_or(0.0) - clip.first_secs.unwrap_or(0.0);
    let (frames, fps, columns) = (clip.frames, clip.fps, clip.columns.len());
    format!("{frames} frames, {span:.2} s, {fps:.2} fps, {columns} columns{head}")
}

fn clip_text(clip: &ClipInspection) -> String {
    format!("{}: clip, {}\n{}", clip.file, clip_line(&clip.summary), notes_text(&clip.notes))
}

fn head_text(head: &HeadInspection) -> String {
    let what = if head.is_bvh { "BVH head motion (in the file's unit)" } else { "head motion" };
    format!("{}: {what}, {} frames, {:.2} s\n", head.file, head.frames, head.seconds)
}

fn take_text(take: &TakeInspection) -> String {
    let (file, frames, vertices, fps) = (&take.file, take.frames, take.vertices, take.fps);
    format!("{file}: take, {frames} frames of {vertices} vertices, {fps:.2} fps\n")
}

fn settings_text(settings: &SettingsInspection) -> String {
    let counts =
        [(settings.sliders, "sliders"), (settings.entries, "entries"), (settings.regions, "regions")];
    let counted = counts.into_iter().find_map(|(n, what)| Some(format!("{} {what}", n?)));
    format!("{}: {}, {}\n", settings.file, settings.kind, counted.unwrap_or_default())
}
