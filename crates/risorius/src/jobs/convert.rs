//! Converts between formats: rigs to rigs, clips to clips, head motion to CSV, takes to takes.

mod take;

use super::{plans, shown};
use crate::error::{Error, Result, in_file};
use crate::files::{CACHES, SURFACES, TakeFiles, expect_ending, expect_not_input, extension};
use crate::source::{ClipReading, RigSource, moving_parts};
use crate::takes::{head_from_zero, head_of_span, motions_at, weight_track, write_surface};
use risorius_base::Progress;
use risorius_base::progress::Plan;
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_io::formats::head_csv::HeadContent;
use risorius_io::formats::{clip_csv, clip_json, head_csv, obj_folder};
use risorius_io::open::open_clip;
use risorius_io::output::write_whole;
use risorius_io::specs::sidecar;
use risorius_rig::classify::names::{Spelling, spell};
use risorius_rig::{Evaluator, Rig};
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Converts a file.
#[derive(Debug, Clone, Default)]
pub struct ConvertJob {
    /// A rig, clip, head motion or take.
    pub input: RigSource,
    /// `.glb`, `.gltf`, `.obj`, `.ply` or a folder (with a `/` at its end) for rigs; `.csv` or `.json` for
    /// clips; `.csv` for head motion; `.glb`, `.gltf`, `.mdd`, `.pc2` or `.npz` for takes.
    pub output: PathBuf,
    /// The rig of a take. Point caches have no topology, so a glTF of one needs it.
    pub rig: Option<RigSource>,
    /// Replace the input if the output is the same file.
    pub force: bool,
    /// Spelling of ARKit and ICT names; other names are kept.
    pub names: Option<Spelling>,
    /// Animate the rig with this clip.
    pub clip: Option<PathBuf>,
    /// How clips and head motion are read.
    pub reading: ClipReading,
    /// How files with frames or shapes are written.
    pub files: TakeFiles,
}

/// The report of a conversion.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ConvertReport {
    /// The output that was asked for.
    pub output: String,
    /// All written files; a folder as a whole.
    pub files: Vec<String>,
    /// Number of frames of a clip, head motion or take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<usize>,
    /// Number of vertices of a rig or take, as its file has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertices: Option<usize>,
    /// Number of shapes of a rig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shapes: Option<usize>,
    /// Number of parts of a rig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
    /// Names that changed, old and new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed: Option<Vec<(String, String)>>,
    /// What was assumed or left out.
    pub notes: Vec<String>,
}

impl ConvertJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<ConvertReport> {
        if !self.force {
            let inputs = [Some(&self.input.path), self.clip.as_ref(), self.rig.as_ref().map(|r| &r.path)];
            let inputs = inputs.into_iter().flatten().map(PathBuf::as_path);
            expect_not_input(&self.output, inputs).map_err(|e| e.with_options(&["force"]))?;
        }
        let plan = Plan::new(progress, &plans::CONVERT);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let is_to_clip = matches!(extension(&self.output).as_str(), "csv" | "json") && !self.output.is_dir();
        let mut report = match extension(&self.input.path).as_str() {
            "bvh" => self.head_motion(progress)?,
            "csv" | "tsv" | "txt" | "json" => self.to_clip(progress)?,
            "mdd" | "pc2" | "npz" => self.take(progress)?,
            "glb" | "gltf" if self.is_take(progress)? => self.take(progress)?,
            // The animation inside a rig's file.
            "glb" | "gltf" | "fbx" if is_to_clip => self.to_clip(progress)?,
            _ => self.to_rig(progress)?,
        };
        report.output = shown(&self.output);
        if report.files.is_empty() {
            report.files.push(report.output.clone());
        }
        Ok(report)
    }

    fn head_motion(&self, progress: &Progress) -> Result<ConvertReport> {
        expect_ending(&self.output, &["csv"], "head motion")?;
        let HeadContent { motion: mut head, notes, .. } =
            self.reading.open_head(&self.input.path, progress)?;
        if let Some(fps) = self.reading.fps {
            head = head.resample(fps)?;
        }
        if !self.reading.span.is_whole() {
            let frames = self.reading.span.frames(&head.times_secs)?;
            head = head.within(head.times_secs[frames.start], head.times_secs[frames.end - 1]);
        }
        write_whole(&self.output, &head_csv::write(&head))?;
        Ok(ConvertReport { frames: Some(head.n_frames()), notes, ..ConvertReport::default() })
    }

    fn to_clip(&self, progress: &Progress) -> Result<ConvertReport> {
        let to = expect_ending(&self.output, &["csv", "json"], "a clip")?;
        let input = &self.input.path;
        let mut content = open_clip(input, &self.reading.options(), progress).map_err(in_file(input))?;
        if let Some(fps) = self.reading.fps {
            content.clip = content.clip.resample(fps)?;
        }
        if !self.reading.span.is_whole() {
            let (span, times_secs) = (&self.reading.span, &content.clip.times_secs);
            let mut cut = content.clip.frames(span.frames(times_secs)?);
            cut.head = head_of_span(span, &cut.times_secs, cut.head.as_ref());
            content.clip = cut;
        }
        if !content.part_motions.is_empty() {
            let parts: Vec<&str> = content.part_motions.iter().map(|m| m.part.as_str()).collect();
            let parts = parts.join(", ");
            content
                .notes
                .push(format!("the motion of {parts} is left out: a clip holds sliders and the head"));
        }
        let renamed = rename(content.clip.names.iter_mut().collect(), self.names, &mut content.notes);
        let bytes = match to.as_str() {
            "csv" => clip_csv::write_csv(&content.clip),
            _ => clip_json::write(&content.clip),
        };
        write_whole(&self.output, &bytes)?;
        let (frames, renamed) = (Some(content.clip.n_frames()), Some(renamed));
        Ok(ConvertReport { frames, renamed, notes: content.notes, ..ConvertReport::default() })
    }

    fn to_rig(&self, progress: &Progress) -> Result<ConvertReport> {
        let output = &self.output;
        check_rig_output(output)?;
        let mut file = self.input.open(progress)?;
        let mut notes = std::mem::take(&mut file.notes);
        let (clip, part_motions) = match &self.clip {
            Some(path) => {
                let content = self.reading.open(path, progress)?;
                (Some(content.clip), content.part_motions)
            }
            None => {
                if file.clips.len() > 1 {
                    notes.push(format!("of {} animations only the first is kept", file.clips.len()));
                }
                let own = (!file.clips.is_empty()).then(|| file.clips.swap_remove(0).clip);
                let span = &self.reading.span;
                let cut = own.map(|clip| Ok::<_, Error>(clip.frames(span.frames(&clip.times_secs)?)));
                (cut.transpose()?, std::mem::take(&mut file.part_motions))
            }
        };
        let set = self.reading.set.as_deref();
        let bound = clip.as_ref().map(|c| c.bind_set(&file.rig, set)).transpose()?.map(|(bound, _)| bound);
        let renamed = rename_rig(&mut file.rig, self.names, &mut notes);
        let rig = &file.rig;
        let sidecar = self.new_sidecar(rig, !renamed.is_empty())?;
        if is_folder(output) {
            obj_folder::write(rig, output, progress)?;
        } else if is_gltf(output) {
            let track = bound.as_ref().map(|clip| weight_track(&Evaluator::prepare(rig), clip));
            let times_secs = bound.as_ref().map(|clip| clip.times_secs.as_slice()).unwrap_or_default();
            let head = bound.as_ref().and_then(|clip| clip.head.as_ref());
            let head = head_of_span(&self.reading.span, times_secs, head);
            let head = head_from_zero(times_secs, head.as_ref());
            let moving = moving_parts(rig, &part_motions, &mut notes);
            let part_motions = if bound.is_some() { motions_at(&moving, times_secs) } else { Vec::new() };
            let options = GlbOptions {
                target_normals: self.files.normals,
                part_motions: &part_motions,
                as_text: extension(output) == "gltf",
                animation: track.as_ref(),
                head: head.as_ref(),
                ..GlbOptions::default()
            };
            write_whole(output, &write_glb(rig, &options)?)?;
        } else {
            if !part_motions.is_empty() {
                let parts: Vec<&str> = part_motions.iter().map(|m| m.part.as_str()).collect();
                notes
                    .push(format!("the motion of {} is left out: write a .glb to keep it", parts.join(", ")));
            }
            if !rig.shapes.is_empty() {
                let n = rig.shapes.len();
                notes.push(format!("the {n} shapes are not written: write a .glb or a folder to keep them"));
            }
            write_surface(rig, &rig.neutral, output)?;
        }
        if let Some((path, bytes)) = sidecar {
            write_whole(&path, &bytes)?;
            notes.push(format!("data that the format cannot hold is in {}", path.display()));
        } else if let Some(old) = Some(sidecar_path(output)).filter(|p| p.is_file()) {
            let old = old.display();
            notes.push(format!("{old} exists and will be read with the new rig; remove it if unwanted"));
        }
        Ok(ConvertReport {
            vertices: Some(rig.n_file_vertices()),
            shapes: Some(rig.shapes.len()),
            parts: Some(rig.parts.len()),
            renamed: Some(renamed),
            notes,
            ..ConvertReport::default()
        })
    }

    /// The sidecar to write with the output, if one is needed. It never overwrites the input's sidecar.
    fn new_sidecar(&self, rig: &Rig, renamed: bool) -> Result<Option<(PathBuf, Vec<u8>)>> {
        let output = &self.output;
        let is_surface = !is_folder(output) && !is_gltf(output);
        // A surface has no shapes, so it has no roles.
        let bare;
        let rig = if is_surface {
            bare = Rig { shapes: Vec::new(), sliders: Vec::new(), ..rig.clone() };
            &bare
        } else {
            rig
        };
        let Some(bytes) = sidecar::write(rig, is_folder(output)) else { return Ok(None) };
        let path = sidecar_path(output);
        let is_inputs = path == sidecar_path(&self.input.path) && path.exists();
        let replaces = self.input.options.sidecar.is_some() || self.input.options.regions.is_some();
        if is_inputs && (renamed || replaces) {
            let message = "this is the input's sidecar and would change; give the output another name";
            return Err(Error::failed(message).in_file(&path));
        }
        Ok((!is_inputs).then_some((path, bytes)))
    }
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

/// Rejects outputs that cannot hold a rig, before any work is done.
fn check_rig_output(output: &Path) -> Result<()> {
    let shown = output.display();
    if is_folder(output) {
        return Ok(());
    }
    let ending = extension(output);
    if ending.is_empty() {
        return Err(Error::request(format!("'{shown}' has no ending; give '{shown}/' for a folder of OBJs")));
    }
    if CACHES.contains(&ending.as_str()) {
        let advice = "pose the rig over a clip to make them";
        return Err(Error::request(format!("'{shown}' holds frames, and the input has none; {advice}")));
    }
    expect_ending(output, &SURFACES, "a rig").map(drop)
}

/// Respells names and returns those that changed, old and new. A name that would collide with another is
/// kept, with a note.
fn rename(names: Vec<&mut String>, to: Option<Spelling>, notes: &mut Vec<String>) -> Vec<(String, String)> {
    let Some(to) = to else { return Vec::new() };
    let mut taken: HashSet<String> = names.iter().map(|n| n.to_string()).collect();
    let mut changed = Vec::new();
    for name in names {
        let Some(new) = spell_whole(name, to).filter(|n| n != name) else { continue };
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

fn rename_rig(rig: &mut Rig, to: Option<Spelling>, notes: &mut Vec<String>) -> Vec<(String, String)> {
    let renamed = rename(rig.shapes.iter_mut().map(|s| &mut s.name).collect(), to, notes);
    for slider in &mut rig.sliders {
        slider.name.clone_from(&rig.shapes[slider.shape].name);
    }
    renamed
}
