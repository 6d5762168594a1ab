//! `pose`: a rig at slider values as a surface, or over a clip as frames.

use crate::files::{expect_ending, extension, in_file};
use crate::rig_args::{RigArgs, mapping_to_json, mapping_to_text, weights, weights_to_json};
use crate::session::{Failure, Report, Session};
use crate::takes::{CACHES, FRAMES, Frames, write_frames};
use clap::{ArgGroup, Args};
use risorius_io::formats::clip_csv::ClipOptions;
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_io::formats::{obj, ply};
use risorius_io::open::{open_clip, open_head};
use risorius_io::output::write_whole;
use risorius_rig::{Evaluator, HeadMotion, Rig, Shape};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Endings of files that hold a pose.
pub const SURFACES: [&str; 4] = ["glb", "gltf", "obj", "ply"];

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    #[command(flatten)]
    what: WeightsOrClip,
    /// Write the vertices of every frame into a GLB, instead of shapes with a weight animation.
    #[arg(long, conflicts_with = "weights")]
    bake: bool,
    /// Output: .glb, .gltf, .obj or .ply for a pose; .glb, .gltf, .mdd, .pc2 or .npz for a clip.
    #[arg(long, short)]
    output: PathBuf,
}

/// One pose or a whole clip.
#[derive(Args, Debug, Clone)]
#[command(group(ArgGroup::new("what").required(true).args(["weights", "clip"])))]
pub struct WeightsOrClip {
    /// Slider values: a JSON file, inline JSON, or jawOpen=0.6,smile=1.
    #[arg(long, short, value_name = "W")]
    pub weights: Option<String>,
    /// Slider values over time: Live Link Face CSV, CSV, JSON, or a glTF animation.
    #[arg(long, value_name = "FILE")]
    pub clip: Option<PathBuf>,
    #[command(flatten)]
    pub clip_args: ClipArgs,
}

/// How to read a clip.
#[derive(Args, Debug, Clone)]
pub struct ClipArgs {
    /// Frames per second of the output; the clip's own frames when left out.
    #[arg(long, allow_negative_numbers = true)]
    pub fps: Option<f64>,
    /// Head motion: CSV, BVH, or a clip that has it.
    #[arg(long, value_name = "FILE")]
    pub head: Option<PathBuf>,
    /// Joint that is the head, in a BVH.
    #[arg(long)]
    pub joint: Option<String>,
    /// Unit of head positions in a BVH or in head_tx.. columns: m, cm, ... or a number of meters.
    #[arg(long, value_parser = risorius_base::space::parse_unit, allow_negative_numbers = true)]
    pub head_unit: Option<f64>,
}

impl ClipArgs {
    /// Options for the readers.
    pub fn options(&self) -> ClipOptions {
        ClipOptions { head_meters_per_unit: self.head_unit.unwrap_or(1.0), ..ClipOptions::default() }
    }

    /// Reads a clip, with head motion from its own file if given, at the frame rate asked for.
    pub fn open(
        &self,
        path: &Path,
        session: &Session,
    ) -> Result<risorius_io::formats::clip_csv::ClipContent, Failure> {
        let mut content = open_clip(path, &self.options(), &session.progress()).map_err(in_file(path))?;
        if let Some(head) = &self.head {
            content.clip.head = Some(self.open_head(head, session)?);
        }
        content.clip.check()?;
        if let Some(fps) = self.fps {
            content.clip = content.clip.resample(fps)?;
        }
        Ok(content)
    }

    /// Reads head motion as it is in the file.
    pub fn open_head(&self, path: &Path, session: &Session) -> Result<HeadMotion, Failure> {
        let unit = self.head_unit.unwrap_or(1.0);
        open_head(path, self.joint.as_deref(), unit, &self.options(), &session.progress())
            .map_err(in_file(path))
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let start = Instant::now();
    let output = &arguments.output;
    match arguments.what.clip {
        Some(_) => expect_ending(output, &FRAMES, "a clip on a rig")?,
        None => expect_ending(output, &SURFACES, "a pose")?,
    };
    let file = arguments.rig.open(session)?;
    let rig = &file.rig;
    if let Some(path) = &arguments.what.clip {
        let mut content = arguments.what.clip_args.open(path, session)?;
        if content.clip.head.is_some() && CACHES.contains(&extension(output).as_str()) {
            let note =
                "head motion is left out: a point cache holds the face as it is without it; .glb keeps it";
            content.notes.push(note.into());
        }
        let clip = &content.clip;
        let (weights, map) = clip.bind(rig)?;
        let frames = Frames { times_secs: &clip.times_secs, weights: &weights, head: clip.head.as_ref() };
        write_frames(rig, &frames, output, arguments.bake, session)?;
        let json = json!({
            "output": output.display().to_string(), "frames": clip.n_frames(), "vertices": rig.n_vertices(),
            "mapping": mapping_to_json(&map, &clip.names, rig), "notes": content.notes,
            "seconds": start.elapsed().as_secs_f64(),
        });
        let mut text = format!("{}: {} frames\n", output.display(), clip.n_frames());
        content.notes.iter().for_each(|n| text += &format!("  note: {n}\n"));
        return Ok(Report { json, text: text + &mapping_to_text(&map, &clip.names, rig) });
    }
    let weights = weights(rig, arguments.what.weights.as_deref().unwrap_or_default())?;
    let positions = Evaluator::prepare(rig).positions(&weights);
    if let Some(v) = positions.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
        let advice = "are weights or shapes beyond all measure? see `inspect`";
        return Err(Failure::could_not(format!("vertex {v} would be at {:?}; {advice}", positions[v])));
    }
    write_surface(rig, &positions, output)?;
    let json = json!({
        "output": output.display().to_string(), "vertices": rig.n_vertices(),
        "weights": weights_to_json(rig, &weights), "seconds": start.elapsed().as_secs_f64(),
    });
    Ok(Report { json, text: format!("{}: {} vertices\n", output.display(), rig.n_vertices()) })
}

/// Writes a pose as a surface without shapes.
pub fn write_surface(rig: &Rig, positions: &[[f32; 3]], output: &Path) -> Result<(), Failure> {
    let extension = extension(output);
    let bytes = match extension.as_str() {
        "obj" => obj::write(rig, positions),
        "ply" => {
            let (faces, colors) = joined(rig);
            ply::write(&crate::takes::in_file_order(rig, positions), &faces, colors.as_deref(), false)
        }
        // The ending was checked: what is left is .glb and .gltf.
        _ => {
            let mut still = Rig { neutral: positions.to_vec(), shapes: Vec::<Shape>::new(), ..rig.clone() };
            still.sliders.clear();
            // The artist's normals belong to the neutral.
            still.parts.iter_mut().for_each(|p| p.corner_normals = None);
            write_glb(&still, &GlbOptions { as_text: extension == "gltf", ..GlbOptions::default() })?
        }
    };
    Ok(write_whole(output, &bytes)?)
}

/// Faces and colors of all parts over their file vertices, one part after another.
fn joined(rig: &Rig) -> (risorius_mesh::Polygons, Option<Vec<[f32; 4]>>) {
    let mut faces = risorius_mesh::Polygons::default();
    let mut colors = Vec::new();
    let mut first = 0;
    for part in &rig.parts {
        for face in part.faces.iter() {
            faces.push(&face.iter().map(|v| v + first).collect::<Vec<_>>());
        }
        first += part.n_file_vertices() as u32;
        colors.extend(part.colors.clone().unwrap_or_else(|| vec![[1.0; 4]; part.n_file_vertices()]));
    }
    let has_colors = rig.parts.iter().any(|p| p.colors.is_some());
    (faces, has_colors.then_some(colors))
}
