//! Pictures of a bake: the strongest correctives as the artist's rig, the baked rig and the simulation show
//! them [Ichim16, fig. 13], and the errors over a clip [fig. 12].

use super::on_clip::{ClipErrors, FrameErrors, WorstFrame};
use super::report::{BakedRig, Fits};
use super::samples::AllSamples;
use crate::error::Result;
use crate::jobs::shown;
use crate::pictures::{distances_mm, field_up_to};
use risorius_io::output::write_whole;
use risorius_perform::bake::BakedShape;
use risorius_perform::bake::plan::PER_PAIR;
use risorius_rig::Evaluator;
use risorius_view::{Canvas, DrawOptions, FaceLook, Series, draw, lines, sheet};
use std::path::Path;

/// Pairs that are drawn.
const PAIRS: usize = 4;

/// A pose and its simulation.
struct Row {
    name: String,
    weights: Vec<f32>,
    simulated: Vec<[f32; 3]>,
}

/// Draws into a folder; the names of the files.
pub(super) fn write(
    folder: &Path,
    fits: &Fits,
    all: &AllSamples,
    report: &BakedRig,
    worst: Option<&WorstFrame>,
) -> Result<Vec<String>> {
    let mut rows: Vec<Row> = Vec::new();
    let artist = Evaluator::prepare(fits.rig);
    let mut pairs: Vec<&BakedShape> = fits.added.iter().filter(|a| a.sliders.len() == 2).collect();
    pairs.sort_by(|a, b| b.most.total_cmp(&a.most).then(a.shape.cmp(&b.shape)));
    for added in pairs.into_iter().take(PAIRS) {
        let Some(sample) = last_sample(fits, added).filter(|&s| all.is_usable(s)) else { continue };
        let weights = fits.plan.weights(sample, fits.rig.sliders.len());
        let mut simulated = artist.positions(&weights);
        let field = all.field(sample);
        for (&v, offset) in field.vertices.iter().zip(field.offsets) {
            (0..3).for_each(|k| simulated[v as usize][k] += offset[k]);
        }
        let names: Vec<&str> = added.sliders.iter().map(|&s| fits.rig.sliders[s].name.as_str()).collect();
        rows.push(Row { name: names.join(" + "), weights, simulated });
    }
    if let Some(worst) = worst {
        let (weights, simulated) = (worst.weights.clone(), worst.simulated.clone());
        rows.push(Row { name: format!("frame {}", worst.frame), weights, simulated });
    }
    let mut files = Vec::new();
    let mut put = |name: &str, canvas: &Canvas| -> Result<()> {
        let path = folder.join(name);
        write_whole(&path, &canvas.encode_png())?;
        files.push(shown(&path));
        Ok(())
    };
    if !rows.is_empty() {
        put("correctives.png", &side_by_side(fits, &artist, &rows)?)?;
    }
    if let Some(clip) = &report.clip {
        put("clip.png", &plot(clip)?)?;
    }
    Ok(files)
}

/// The sample with both sliders of a corrective at 1.
fn last_sample(fits: &Fits, added: &BakedShape) -> Option<usize> {
    let own = |&[a, b]: &[u32; 2]| {
        added.sliders.iter().all(|&s| [a, b].iter().any(|&i| fits.plan.sliders[i as usize] as usize == s))
    };
    let pair = fits.plan.pairs.iter().position(own)?;
    Some(fits.plan.first_of_pair(pair) + PER_PAIR - 1)
}

/// Largest distance in the scale of colors, mm.
const SCALE_MM: f32 = 3.0;

/// The artist's rig, the baked rig, the simulation, and the distances of both rigs from it; a row for each
/// pose.
fn side_by_side(fits: &Fits, artist: &Evaluator, rows: &[Row]) -> Result<Canvas> {
    let (look, baked) = (FaceLook::prepare(fits.rig), Evaluator::prepare(fits.baked));
    let mut cells = Vec::new();
    for Row { name, weights, simulated } in rows {
        let (own, new) = (artist.positions(weights), baked.positions(weights));
        let far =
            |rig: &[[f32; 3]]| Some(field_up_to(distances_mm(fits.rig, rig, simulated), SCALE_MM, "mm"));
        for (who, vertices, field) in [
            ("artist's rig", &own, None),
            ("baked rig", &new, None),
            ("simulation", simulated, None),
            ("artist's distance", simulated, far(&own)),
            ("baked distance", simulated, far(&new)),
        ] {
            let size = DrawOptions { width: 440, height: 440, yaw_degrees: 22.0, ..DrawOptions::default() };
            let options = DrawOptions { zoom: 1.25, field, ..size };
            cells.push((draw(&look, vertices, &options)?, format!("{name}: {who}")));
        }
    }
    Ok(sheet(&cells, 5, "")?)
}

/// Errors over time.
fn plot(clip: &ClipErrors) -> Result<Canvas> {
    let series = |name: &str, frames: &[FrameErrors], value: &dyn Fn(&FrameErrors) -> f64| Series {
        name: name.into(),
        points: clip.times_secs.iter().zip(frames).map(|(t, f)| [*t, value(f)]).collect(),
    };
    let series = [
        series("artist's rig, 95 %", &clip.linear, &|f| f.p95_mm),
        series("artist's rig, mean", &clip.linear, &|f| f.mean_mm),
        series("baked rig, 95 %", &clip.baked, &|f| f.p95_mm),
        series("baked rig, mean", &clip.baked, &|f| f.mean_mm),
    ];
    let title = "Distance from the simulation at weights that were not sampled";
    Ok(lines(&series, "time (s)", "distance (mm)", title)?)
}
