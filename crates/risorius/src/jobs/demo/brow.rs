//! The first figure of the demo: a brow is placed and pinned, and further sliders leave it alone.

use super::values;
use crate::error::Result;
use crate::pictures::{distances_mm, pin_markers};
use risorius_attenuate::pose::{AttenuateOptions, Attenuated, PoseAttenuation};
use risorius_attenuate::{PinSet, PinSpec, RigGram, Selection};
use risorius_head::{Head, landmarks};
use risorius_rig::{Evaluator, Rig};
use risorius_view::{Canvas, DrawOptions, FaceLook, ScalarField, draw, sheet};

/// The sequence of figures 2 and 3 in [Lewis05, section 5].
pub(super) struct BrowStory {
    set: PinSet,
    w0: Vec<f32>,
    w1: Vec<f32>,
    /// The attenuated pose.
    pub(super) result: Attenuated,
}

/// Solves it.
pub(super) fn brow_story(head: &Head, gram: &RigGram) -> Result<BrowStory> {
    const PLACED: [(&str, f32); 2] = [("browDownLeft", 0.5), ("browDownRight", 0.5)];
    const MORE: [(&str, f32); 7] = [
        ("noseSneerLeft", 0.9),
        ("noseSneerRight", 0.9),
        ("eyeSquintLeft", 0.8),
        ("eyeSquintRight", 0.8),
        ("browInnerUp", 0.3),
        ("mouthSmileLeft", 0.8),
        ("jawOpen", 0.3),
    ];
    let rig = &head.rig;
    let (w0, w1) = (values(rig, &PLACED), values(rig, &[&PLACED[..], &MORE].concat()));
    let at = |name: &str| landmarks::index(name).map(|i| head.landmarks[i].as_vec3().to_array());
    let names = ["brow_left_inner", "brow_left_middle", "brow_right_inner", "brow_right_middle"];
    let pins: Vec<PinSpec> =
        names.into_iter().filter_map(at).map(|p| PinSpec { near: Some(p), ..PinSpec::default() }).collect();
    let set = PinSet::resolve(rig, &pins)?;
    let selection = Selection::prepare(gram, set.clone(), &[]);
    let options = AttenuateOptions { bounds: true, ..AttenuateOptions::default() };
    let result = PoseAttenuation::prepare(rig, &selection, &options)?.solve(&w1, &w0)?;
    Ok(BrowStory { w0, w1, result, set })
}

impl BrowStory {
    /// Poses above, motion below.
    pub(super) fn picture(&self, rig: &Rig) -> Result<Canvas> {
        let look = FaceLook::prepare(rig);
        let evaluator = Evaluator::prepare(rig);
        let base = evaluator.positions(&self.w0);
        let options = DrawOptions {
            width: 620,
            height: 680,
            markers: pin_markers(&self.set),
            ..DrawOptions::default()
        };
        let mut cells = vec![(draw(&look, &base, &options)?, "the brow is placed and pinned".to_string())];
        let mut maps = Vec::new();
        for (weights, name) in
            [(&self.w1, "more sliders, no pins"), (&self.result.weights, "more sliders, with pins")]
        {
            let positions = evaluator.positions(weights);
            cells.push((draw(&look, &positions, &options)?, name.into()));
            let mut field = ScalarField::spanning(distances_mm(rig, &positions, &base), "mm moved");
            field.range = [0.0, 12.0];
            let colored = DrawOptions { field: Some(field), ..options.clone() };
            maps.push((draw(&look, &positions, &colored)?, format!("{name}: motion")));
        }
        let plain = DrawOptions { markers: Vec::new(), ..options };
        cells.push((draw(&look, &rig.neutral, &plain)?, "neutral".into()));
        cells.extend(maps);
        Ok(sheet(&cells, 3, "Selected motion attenuation")?)
    }
}
