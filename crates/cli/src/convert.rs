//! `convert`: rigs to rigs, clips to clips, head motion to CSV, takes to takes.

use crate::pose::{ClipArgs, write_surface};
use crate::rig_args::AboutRig;
use crate::session::{Failure, Report, Session};
use crate::takes::{Frames, take_writer, weight_track};
use clap::{Args, ValueEnum};
use risorius_io::gltf::{GlbOptions, write_glb};
use risorius_io::open::{open_clip, open_head, open_take};
use risorius_io::output::{WholeFile, write_whole};
use risorius_io::take_out::TakeHeader;
use risorius_io::{clip_csv, clip_json, head_csv, obj_folder, sidecar};
use risorius_rig::names::{Spelling, spell};
use risorius_rig::{Evaluator, Rig};
use serde_json::json;
use std::path::{Path, PathBuf};

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// A rig, clip, head motion or take.
    input: PathBuf,
    /// .glb, .gltf, .obj, .ply or a folder (with a / at its end) for rigs; .csv or .json for clips; .csv for head motion;
    /// .mdd, .pc2 or .npz for takes.
    output: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Spell ARKit and ICT names this way; others are kept.
    #[arg(long, value_enum)]
    names: Option<Names>,
    /// Animate the rig with this clip.
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// Leave the normals of shapes out of a GLB: half the size, shading computed by the player.
    #[arg(long)]
    no_target_normals: bool,
}

/// How names are spelled.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum Names {
    /// eyeBlinkLeft
    Arkit,
    /// eyeBlink_L
    Ict,
    /// EyeBlinkLeft
    Livelink,
}

impl Names {
    fn spelling(self) -> Spelling {
        match self {
            Self::Arkit => Spelling::Arkit,
            Self::Ict => Spelling::Short,
            Self::Livelink => Spelling::LiveLink,
        }
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let from = extension(&arguments.input);
    match from.as_str() {
        "bvh" => {
            let args = &arguments.clip_args;
            let unit = args.head_unit.unwrap_or(1.0);
            let head = open_head(&arguments.input, args.joint.as_deref(), unit, &args.options(), &session.progress())?;
            let head = args.fps.map_or(Ok(head.clone()), |fps| head.resample(fps))?;
            expect(&arguments.output, &["csv"], "head motion")?;
            write_whole(&arguments.output, &head_csv::write(&head))?;
            Ok(report(&arguments.output, json!({ "frames": head.n_frames() }), Vec::new()))
        }
        "csv" | "tsv" | "txt" | "json" => convert_clip(arguments, session),
        "mdd" | "pc2" | "npz" => convert_take(arguments),
        _ => convert_rig(arguments, session),
    }
}

fn convert_clip(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let mut content = open_clip(&arguments.input, &arguments.clip_args.options(), &session.progress())?;
    if let Some(fps) = arguments.clip_args.fps {
        content.clip = content.clip.resample(fps)?;
    }
    let renamed = rename(content.clip.names.iter_mut(), arguments.names);
    let bytes = match expect(&arguments.output, &["csv", "json"], "a clip")?.as_str() {
        "csv" => clip_csv::write_csv(&content.clip),
        _ => clip_json::write(&content.clip),
    };
    write_whole(&arguments.output, &bytes)?;
    Ok(report(&arguments.output, json!({ "frames": content.clip.n_frames(), "renamed": renamed }), content.notes))
}

fn convert_take(arguments: &Arguments) -> Result<Report, Failure> {
    let take = open_take(&arguments.input, arguments.clip_args.fps.unwrap_or(30.0))?;
    let format = expect(&arguments.output, &["mdd", "pc2", "npz"], "a take")?;
    let header = TakeHeader {
        path: arguments.output.clone(),
        times_secs: take.times_secs.clone(),
        n_vertices: take.n_vertices,
        triangles: Vec::new(),
    };
    let mut writer = take_writer(WholeFile::create(&arguments.output)?, header, &format)?;
    (0..take.n_frames()).try_for_each(|f| writer.frame(take.frame(f)))?;
    writer.finish()?.finish()?;
    Ok(report(&arguments.output, json!({ "frames": take.n_frames() }), Vec::new()))
}

fn convert_rig(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let mut file = arguments.about.open(&arguments.input, session)?;
    let mut notes = std::mem::take(&mut file.notes);
    let clip = match &arguments.clip {
        Some(path) => Some(arguments.clip_args.open(path, session)?.clip),
        None => {
            if file.clips.len() > 1 {
                notes.push(format!("of {} animations the first is kept", file.clips.len()));
            }
            (!file.clips.is_empty()).then(|| file.clips.swap_remove(0).clip)
        }
    };
    let bound = clip.as_ref().map(|c| (c, c.bind(&file.rig).0));
    let renamed = rename_rig(&mut file.rig, arguments.names);
    let rig = &file.rig;
    let output = &arguments.output;
    let is_folder = output.is_dir() || output.to_string_lossy().ends_with(['/', '\\']);
    if is_folder {
        obj_folder::write(rig, output, &session.progress())?;
    } else if matches!(extension(output).as_str(), "glb" | "gltf") {
        let track = bound.as_ref().map(|(clip, weights)| {
            let frames = Frames { times_secs: &clip.times_secs, weights, head: None };
            weight_track(&Evaluator::prepare(rig), &frames)
        });
        let options = GlbOptions {
            target_normals: !arguments.no_target_normals,
            as_text: extension(output) == "gltf",
            animation: track.as_ref(),
            head: bound.as_ref().and_then(|(clip, _)| clip.head.as_ref()),
            ..GlbOptions::default()
        };
        write_whole(output, &write_glb(rig, &options)?)?;
    } else {
        if !rig.shapes.is_empty() {
            notes.push(format!("the {} shapes stay behind: write a .glb or a folder to keep them", rig.shapes.len()));
        }
        write_surface(rig, &rig.neutral, output)?;
    }
    if let Some(bytes) = sidecar::write(rig) {
        let path = if is_folder { output.join("rig.json") } else { output.with_extension("rig.json") };
        write_whole(&path, &bytes)?;
        notes.push(format!("roles, limits and regions are in {}", path.display()));
    }
    let figures = json!({
        "vertices": rig.n_vertices(), "shapes": rig.shapes.len(), "parts": rig.parts.len(), "renamed": renamed,
    });
    Ok(report(output, figures, notes))
}

/// Spells names as asked and says which changed, old to new.
fn rename<'a>(names: impl Iterator<Item = &'a mut String>, to: Option<Names>) -> Vec<(String, String)> {
    let Some(to) = to else { return Vec::new() };
    let mut changed = Vec::new();
    for name in names {
        if let Some(new) = spell(name, to.spelling()).filter(|n| n != name) {
            changed.push((std::mem::replace(name, new.clone()), new));
        }
    }
    changed
}

fn rename_rig(rig: &mut Rig, to: Option<Names>) -> Vec<(String, String)> {
    let renamed = rename(rig.shapes.iter_mut().map(|s| &mut s.name), to);
    for slider in &mut rig.sliders {
        slider.name.clone_from(&rig.shapes[slider.shape].name);
    }
    renamed
}

fn report(output: &Path, figures: serde_json::Value, notes: Vec<String>) -> Report {
    let mut json = figures;
    json["output"] = output.display().to_string().into();
    let mut text = format!("{}\n", output.display());
    notes.iter().for_each(|n| text += &format!("  note: {n}\n"));
    if let Some(renamed) = json["renamed"].as_array().filter(|r| !r.is_empty()) {
        text += &format!("  {} names spelled anew\n", renamed.len());
    }
    json["notes"] = notes.into();
    Report { json, text }
}

fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

fn expect(output: &Path, known: &[&str], what: &str) -> Result<String, Failure> {
    let found = extension(output);
    if known.contains(&found.as_str()) {
        return Ok(found);
    }
    Err(Failure::wrong_call(format!("'{}': {what} goes to .{}", output.display(), known.join(", ."))))
}
