//! `interference`: which slider disturbs which, as a matrix, a list, and for two sliders on the face.

use crate::files::expect_ending;
use crate::pictures::interference_matrix;
use crate::rig_args::{RigArgs, slider_names, sliders};
use crate::session::{Failure, Report, Session};
use clap::Args;
use risorius_attenuate::interference::{Interference, pair_field, region_motion};
use risorius_io::output::write_whole;
use risorius_rig::{Evaluator, Rig};
use risorius_view::{DrawOptions, FaceLook, ScalarField, draw, sheet};
use serde_json::{Value, json};
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    /// Two sliders, A,B: a heat map on the face of where they meet, instead of the matrix.
    #[arg(long, value_name = "A,B")]
    sliders: Option<String>,
    /// Most sliders in the picture of the matrix, those of largest effect.
    #[arg(long, default_value_t = 60)]
    most: usize,
    /// The report: .png or .json.
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let extension = expect_ending(&arguments.output, &["png", "json"], "the report")?;
    let file = arguments.rig.open_with_sliders(session)?;
    let rig = &file.rig;
    let pair = arguments.sliders.as_deref().map(|names| two_sliders(rig, names)).transpose()?;
    let report = Interference::measure(rig, &session.progress())?;
    let json = to_json(rig, &report, pair);
    let bytes = match (extension.as_str(), pair) {
        ("json", _) => serde_json::to_vec_pretty(&json)?,
        (_, Some((a, b))) => pair_picture(rig, a, b)?,
        (_, None) => interference_matrix(rig, &report, arguments.most)?.encode_png(),
    };
    write_whole(&arguments.output, &bytes)?;
    let mut text = format!("{}: {} sliders; strongest:\n", arguments.output.display(), rig.sliders.len());
    for (disturbed, by, value) in report.strongest(10) {
        let (disturbed, by) = (&rig.sliders[disturbed].name, &rig.sliders[by].name);
        text += &format!("  {by} moves what {disturbed} moves by {value:.2} of its own motion\n");
    }
    Ok(Report { json, text })
}

fn two_sliders(rig: &Rig, names: &str) -> Result<(usize, usize), Failure> {
    match sliders(rig, names)?[..] {
        [a, b] if a != b => Ok((a, b)),
        _ => Err(Failure::wrong_call(format!("'{names}' is not two different sliders; give --sliders A,B"))),
    }
}

fn to_json(rig: &Rig, report: &Interference, pair: Option<(usize, usize)>) -> Value {
    let names = slider_names(rig);
    let order = &report.order;
    let rows = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        order.iter().map(|&i| order.iter().map(|&j| value(i, j)).collect()).collect()
    };
    let mm = |v: &[f64]| order.iter().map(|&s| rig.space.millimeters(v[s])).collect::<Vec<_>>();
    let mut json = json!({
        "sliders": order.iter().map(|&s| &names[s]).collect::<Vec<_>>(),
        "effect": order.iter().map(|&s| report.effect[s]).collect::<Vec<_>>(),
        "disturbs": rows(&|i, j| report.disturbs[(i, j)]),
        "cosine": rows(&|i, j| report.cosine[(i, j)]),
        "strongest": report.strongest(50).iter().map(|&(i, j, value)| json!({
            "disturbed": names[i], "by": names[j], "value": value, "cosine": report.cosine[(i, j)],
        })).collect::<Vec<_>>(),
        "regions": region_motion(rig).iter().map(|r| json!({
            "region": r.region, "rms_mm": mm(&r.rms), "max_mm": mm(&r.max),
        })).collect::<Vec<_>>(),
    });
    if let Some((a, b)) = pair {
        let field = pair_field(rig, a, b);
        let most = field.iter().copied().fold(0.0, f32::max);
        json["pair"] = json!({
            "sliders": [names[a], names[b]],
            "disturbs": [report.disturbs[(a, b)], report.disturbs[(b, a)]],
            "cosine": report.cosine[(a, b)],
            "largest_common_motion_mm": rig.space.millimeters(most.into()),
        });
    }
    json
}

fn pair_picture(rig: &Rig, a: usize, b: usize) -> Result<Vec<u8>, Failure> {
    let look = FaceLook::prepare(rig);
    let evaluator = Evaluator::prepare(rig);
    let to_mm = rig.space.millimeters(1.0) as f32;
    let field: Vec<f32> = pair_field(rig, a, b).iter().map(|x| x * to_mm).collect();
    let mut cells = Vec::new();
    for slider in [a, b] {
        let mut weights = vec![0.0; rig.sliders.len()];
        weights[slider] = 1.0;
        let canvas = draw(&look, &evaluator.positions(&weights), &DrawOptions::default())?;
        cells.push((canvas, format!("{} at 1", rig.sliders[slider].name)));
    }
    let options = DrawOptions { field: Some(ScalarField::spanning(field, "mm")), ..DrawOptions::default() };
    cells.push((draw(&look, &rig.neutral, &options)?, "where both move".into()));
    let title = format!("{} and {}", rig.sliders[a].name, rig.sliders[b].name);
    Ok(sheet(&cells, 3, &title)?.encode_png())
}
