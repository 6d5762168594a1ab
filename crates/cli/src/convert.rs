//! `convert`: rigs to rigs, clips to clips, head motion to CSV, takes to takes.

use crate::files::{expect_ending, extension, in_file};
use crate::pose::{ClipArgs, SURFACES, write_surface};
use crate::rig_args::AboutRig;
use crate::session::{Failure, Report, Session};
use crate::takes::{CACHES, Frames, shifted_head, take_writer, weight_track};
use clap::{Args, ValueEnum};
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_io::formats::{clip_csv, clip_json, head_csv, obj_folder};
use risorius_io::open::{open_clip, open_take};
use risorius_io::output::write_whole;
use risorius_io::specs::sidecar;
use risorius_io::take_out::TakeHeader;
use risorius_rig::classify::names::{Spelling, spell};
use risorius_rig::{Evaluator, Rig};
use serde_json::json;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// A rig, clip, head motion or take.
    input: PathBuf,
    /// .glb, .gltf, .obj, .ply or a folder (with a / at its end) for rigs; .csv or .json for clips; .csv for
    /// head motion; .mdd, .pc2 or .npz for takes.
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
    let is_to_clip =
        matches!(extension(&arguments.output).as_str(), "csv" | "json") && !arguments.output.is_dir();
    match extension(&arguments.input).as_str() {
        "bvh" => {
            expect_ending(&arguments.output, &["csv"], "head motion")?;
            let mut head = arguments.clip_args.open_head(&arguments.input, session)?;
            if let Some(fps) = arguments.clip_args.fps {
                head = head.resample(fps)?;
            }
            write_whole(&arguments.output, &head_csv::write(&head))?;
            Ok(report(&arguments.output, json!({ "frames": head.n_frames() }), Vec::new()))
        }
        "csv" | "tsv" | "txt" | "json" => convert_clip(arguments, session),
        "mdd" | "pc2" | "npz" => convert_take(arguments),
        // The animation inside a rig's file.
        "glb" | "gltf" | "fbx" if is_to_clip => convert_clip(arguments, session),
        _ => convert_rig(arguments, session),
    }
}

fn convert_clip(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let to = expect_ending(&arguments.output, &["csv", "json"], "a clip")?;
    let input = &arguments.input;
    let mut content =
        open_clip(input, &arguments.clip_args.options(), &session.progress()).map_err(in_file(input))?;
    if let Some(fps) = arguments.clip_args.fps {
        content.clip = content.clip.resample(fps)?;
    }
    let renamed = rename(content.clip.names.iter_mut().collect(), arguments.names, &mut content.notes);
    let bytes = match to.as_str() {
        "csv" => clip_csv::write_csv(&content.clip),
        _ => clip_json::write(&content.clip),
    };
    write_whole(&arguments.output, &bytes)?;
    Ok(report(
        &arguments.output,
        json!({ "frames": content.clip.n_frames(), "renamed": renamed }),
        content.notes,
    ))
}

fn convert_take(arguments: &Arguments) -> Result<Report, Failure> {
    expect_ending(&arguments.output, &CACHES, "a take")?;
    let (input, fps) = (&arguments.input, arguments.clip_args.fps);
    let mut notes = Vec::new();
    match (extension(input) == "pc2", fps) {
        (true, None) => {
            notes.push("PC2 counts frames and knows no seconds: 30 fps are taken, or give --fps".to_string())
        }
        (false, Some(_)) => {
            return Err(Failure::wrong_call(
                "--fps tells the rate of .pc2 takes; others have their own times",
            ));
        }
        _ => {}
    }
    let take = open_take(input, fps.unwrap_or(30.0)).map_err(in_file(input))?;
    let header = TakeHeader {
        path: arguments.output.clone(),
        times_secs: take.times_secs.clone(),
        n_vertices: take.n_vertices,
        triangles: Vec::new(),
    };
    let mut writer = take_writer(&arguments.output, header)?;
    (0..take.n_frames()).try_for_each(|f| writer.frame(take.frame(f)))?;
    writer.finish()?.finish()?;
    Ok(report(&arguments.output, json!({ "frames": take.n_frames() }), notes))
}

/// The sidecar to write with the output, if there is something to say; never over the one that the input
/// reads.
fn new_sidecar(
    arguments: &Arguments,
    rig: &Rig,
    renamed: bool,
) -> Result<Option<(PathBuf, Vec<u8>)>, Failure> {
    let output = &arguments.output;
    let is_surface = !is_folder(output) && !is_gltf(output);
    // A surface has no shapes that roles could be about.
    let bare;
    let rig = if is_surface {
        bare = Rig { shapes: Vec::new(), sliders: Vec::new(), ..rig.clone() };
        &bare
    } else {
        rig
    };
    let Some(bytes) = sidecar::write(rig, is_folder(output)) else { return Ok(None) };
    let path = sidecar_path(output);
    let is_inputs = path == sidecar_path(&arguments.input) && path.exists();
    if is_inputs && (renamed || arguments.about.replaces_sidecar()) {
        let message = format!(
            "{}: this is the input's sidecar and would change; give the output another name",
            path.display()
        );
        return Err(Failure::could_not(message));
    }
    Ok((!is_inputs).then_some((path, bytes)))
}

fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(['/', '\\'])
}

fn is_gltf(path: &Path) -> bool {
    matches!(extension(path).as_str(), "glb" | "gltf")
}

fn sidecar_path(rig: &Path) -> PathBuf {
    if is_folder(rig) { rig.join("rig.json") } else { rig.with_extension("rig.json") }
}

/// Refuses outputs that cannot hold a rig, before any work is done.
fn check_rig_output(output: &Path) -> Result<(), Failure> {
    let shown = output.display();
    if is_folder(output) {
        return Ok(());
    }
    let ending = extension(output);
    if ending.is_empty() {
        return Err(Failure::wrong_call(format!(
            "'{shown}' has no ending; a new folder of OBJs is '{shown}/'"
        )));
    }
    if CACHES.contains(&ending.as_str()) {
        let advice = format!("`risorius pose RIG --clip C -o {shown}` makes them");
        return Err(Failure::wrong_call(format!("'{shown}' holds frames; {advice}")));
    }
    expect_ending(output, &SURFACES, "a rig").map(drop)
}

fn convert_rig(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let output = &arguments.output;
    check_rig_output(output)?;
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
    let bound = clip.as_ref().map(|c| Ok::<_, Failure>((c, c.bind(&file.rig)?.0))).transpose()?;
    let renamed = rename_rig(&mut file.rig, arguments.names, &mut notes);
    let rig = &file.rig;
    let sidecar = new_sidecar(arguments, rig, !renamed.is_empty())?;
    if is_folder(output) {
        obj_folder::write(rig, output, &session.progress())?;
    } else if is_gltf(output) {
        let frames = bound.as_ref().map(|(clip, weights)| Frames {
            times_secs: &clip.times_secs,
            weights,
            head: clip.head.as_ref(),
        });
        let track = frames.as_ref().map(|f| weight_track(&Evaluator::prepare(rig), f));
        let head = frames.as_ref().and_then(shifted_head);
        let options = GlbOptions {
            target_normals: !arguments.no_target_normals,
            as_text: extension(output) == "gltf",
            animation: track.as_ref(),
            head: head.as_ref(),
            ..GlbOptions::default()
        };
        write_whole(output, &write_glb(rig, &options)?)?;
    } else {
        if !rig.shapes.is_empty() {
            notes.push(format!(
                "the {} shapes stay behind: write a .glb or a folder to keep them",
                rig.shapes.len()
            ));
        }
        write_surface(rig, &rig.neutral, output)?;
    }
    if let Some((path, bytes)) = sidecar {
        write_whole(&path, &bytes)?;
        notes.push(format!("what the format cannot hold is in {}", path.display()));
    } else if let Some(old) = Some(sidecar_path(output)).filter(|p| p.is_file()) {
        notes.push(format!(
            "{} was there before and is read with the new rig; remove it if not meant",
            old.display()
        ));
    }
    let figures = json!({
        "vertices": rig.n_vertices(), "shapes": rig.shapes.len(), "parts": rig.parts.len(), "renamed": renamed,
    });
    Ok(report(output, figures, notes))
}

/// Spells names as asked and says which changed, old to new. A name that would meet another is kept and
/// noted.
fn rename(names: Vec<&mut String>, to: Option<Names>, notes: &mut Vec<String>) -> Vec<(String, String)> {
    let Some(to) = to else { return Vec::new() };
    let mut taken: HashSet<String> = names.iter().map(|n| n.to_string()).collect();
    let mut changed = Vec::new();
    for name in names {
        let Some(new) = spell_whole(name, to.spelling()).filter(|n| n != name) else { continue };
        if taken.insert(new.clone()) {
            changed.push((std::mem::replace(name, new.clone()), new));
        } else {
            notes.push(format!("'{name}' keeps its name: there is another '{new}'"));
        }
    }
    changed
}

/// A name in another spelling, also inside the names of combinations (`a__b`, `a+b`) and in-betweens (`a50`,
/// `a@0.5`).
fn spell_whole(name: &str, spelling: Spelling) -> Option<String> {
    if let Some(new) = spell(name, spelling) {
        return Some(new);
    }
    if let Some(separator) = ["__", "+"].into_iter().find(|s| name.contains(s)) {
        let piece = |p: &str| spell_whole(p, spelling).unwrap_or_else(|| p.to_string());
        return Some(name.split(separator).map(piece).collect::<Vec<_>>().join(separator));
    }
    let base = name.split('@').next()?.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    Some(spell(base, spelling)? + &name[base.len()..])
}

fn rename_rig(rig: &mut Rig, to: Option<Names>, notes: &mut Vec<String>) -> Vec<(String, String)> {
    let renamed = rename(rig.shapes.iter_mut().map(|s| &mut s.name).collect(), to, notes);
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
