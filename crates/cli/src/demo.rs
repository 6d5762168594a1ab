//! `demo`: the journey so far on a face made in code, ending in pictures and files that can be opened.

use crate::mask::mask;
use crate::pictures::{distances_mm, interference_matrix, pin_markers};
use crate::session::{Failure, Report, Session};
use clap::Args;
use risorius_io::gltf::{GlbOptions, write_glb};
use risorius_io::output::write_whole;
use risorius_io::sidecar;
use risorius_mesh::progress::tick;
use risorius_rig::attenuate::{AttenuateOptions, Attenuated, PoseAttenuation};
use risorius_rig::gram::RigGram;
use risorius_rig::interference::Interference;
use risorius_rig::pins::{PinSet, PinSpec};
use risorius_rig::selection::Selection;
use risorius_rig::{Evaluator, Rig};
use risorius_view::{Canvas, DrawOptions, FaceLook, ScalarField, draw, sheet};
use serde_json::json;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// Folder for the pictures and files.
    #[arg(long, default_value = "demo-out")]
    out: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    if arguments.out.exists() && !arguments.out.is_dir() {
        return Err(Failure::could_not(format!("{}: this is a file; give a folder", arguments.out.display())));
    }
    let rig = mask();
    let gram = RigGram::prepare(&rig, &session.progress())?;
    let mut text = format!("A mask with {} vertices and {} sliders.\n", rig.n_vertices(), rig.sliders.len());
    tick(&session.progress(), "attenuating", 0.2)?;
    let story = brow_story(&rig, &gram)?;
    let mm = |x: f64| rig.space.millimeters(x);
    text += &format!(
        "Furrow the brow, pin it, then smile and sneer: without pins the brow moves {:.1} mm, with pins {:.1} mm.\n",
        mm(story.result.pinned_before.max),
        mm(story.result.pinned_after.max)
    );
    tick(&session.progress(), "drawing", 0.4)?;
    let interference = Interference::measure(&rig, &session.progress())?;
    let mut outputs = vec![
        ("shapes.png", shape_sheet(&rig)?.encode_png()),
        ("attenuation.png", story.picture(&rig)?.encode_png()),
        ("interference.png", interference_matrix(&rig, &interference, usize::MAX)?.encode_png()),
        ("mask.glb", write_glb(&rig, &GlbOptions::default())?),
    ];
    // Regions have no place in a GLB.
    outputs.extend(sidecar::write(&rig, false).map(|bytes| ("mask.rig.json", bytes)));
    let mut files = Vec::new();
    for (name, bytes) in &outputs {
        tick(&session.progress(), "writing", 0.9)?;
        let path = arguments.out.join(name);
        write_whole(&path, bytes)?;
        files.push(path.display().to_string());
    }
    text += &format!("Look at:\n  {}\n", files.join("\n  "));
    let json = json!({
        "files": files,
        "alpha": story.result.alpha,
        "pinned_before_mm": mm(story.result.pinned_before.max),
        "pinned_after_mm": mm(story.result.pinned_after.max),
    });
    Ok(Report { json, text })
}

/// The story of the paper's figures 2 and 3 [Lewis05, section 5].
struct BrowStory {
    set: PinSet,
    w0: Vec<f32>,
    w1: Vec<f32>,
    result: Attenuated,
}

fn brow_story(rig: &Rig, gram: &RigGram) -> Result<BrowStory, Failure> {
    let values = |pairs: &[(&str, f32)]| {
        let mut w = vec![0.0; rig.sliders.len()];
        pairs.iter().for_each(|(name, value)| w[rig.slider_index(name).unwrap_or(0)] = *value);
        w
    };
    let w0 = values(&[("browFurrow", 0.6)]);
    let w1 = values(&[("browFurrow", 0.6), ("sneer", 0.9), ("wince", 0.5), ("smileLeft", 0.8), ("jawOpen", 0.4)]);
    let pin = |x: f32| PinSpec { near: Some([x, 4.3, 8.0]), ..PinSpec::default() };
    let set = PinSet::resolve(rig, &[pin(-1.4), pin(1.4), pin(0.0)])
        .map_err(|p| Failure::could_not(p.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
    let selection = Selection::prepare(gram, set.clone(), &[]);
    let options = AttenuateOptions { bounds: true, alpha: None };
    let result = PoseAttenuation::prepare(rig, &selection, &options)?.solve(&w1, &w0)?;
    Ok(BrowStory { w0, w1, result, set })
}

impl BrowStory {
    fn picture(&self, rig: &Rig) -> Result<Canvas, Failure> {
        let look = FaceLook::prepare(rig);
        let evaluator = Evaluator::prepare(rig);
        let base = evaluator.positions(&self.w0);
        let markers = pin_markers(&self.set);
        let mut cells = vec![(
            draw(&look, &base, &DrawOptions { markers: markers.clone(), ..DrawOptions::default() })?,
            "the brow is placed and pinned".to_string(),
        )];
        let mut maps = Vec::new();
        for (weights, name) in [(&self.w1, "more sliders, no pins"), (&self.result.weights, "more sliders, with pins")]
        {
            let positions = evaluator.positions(weights);
            cells.push((
                draw(&look, &positions, &DrawOptions { markers: markers.clone(), ..DrawOptions::default() })?,
                name.into(),
            ));
            let mut field = ScalarField::spanning(distances_mm(rig, &positions, &base), "mm moved");
            field.range = [0.0, 12.0];
            maps.push((
                draw(
                    &look,
                    &positions,
                    &DrawOptions { field: Some(field), markers: markers.clone(), ..DrawOptions::default() },
                )?,
                format!("{name}: motion"),
            ));
        }
        let furrowed = draw(&look, &rig.neutral, &DrawOptions::default())?;
        cells.push((furrowed, "neutral".into()));
        cells.extend(maps);
        Ok(sheet(&cells, 3, "Selected motion attenuation")?)
    }
}

fn shape_sheet(rig: &Rig) -> Result<Canvas, Failure> {
    let look = FaceLook::prepare(rig);
    let evaluator = Evaluator::prepare(rig);
    let options = DrawOptions { width: 360, height: 420, yaw_degrees: 20.0, ..DrawOptions::default() };
    let mut cells = vec![(draw(&look, &rig.neutral, &options)?, "neutral".to_string())];
    for (s, slider) in rig.sliders.iter().enumerate() {
        let mut w = vec![0.0; rig.sliders.len()];
        w[s] = 1.0;
        cells.push((draw(&look, &evaluator.positions(&w), &options)?, slider.name.clone()));
    }
    Ok(sheet(&cells, 4, "Sliders of the mask")?)
}
