//! `interference`: which slider disturbs which, as a matrix, a list, and for two sliders on the face.

use crate::rig_args::{RigArgs, slider, slider_names};
use crate::session::{Failure, Report, Session};
use clap::Args;
use risorius_io::output::write_whole;
use risorius_rig::interference::{Interference, pair_field, region_motion};
use risorius_rig::{Evaluator, Rig};
use risorius_view::{DrawOptions, FaceLook, MatrixOptions, ScalarField, draw, matrix, sheet};
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
    let file = arguments.rig.open(session)?;
    let rig = &file.rig;
    let report = Interference::measure(rig, &session.progress())?;
    let pair = arguments.sliders.as_deref().map(|names| two_sliders(rig, names)).transpose()?;
    let json = to_json(rig, &report, pair);
    let extension = arguments.output.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let bytes = match (extension.as_str(), pair) {
        ("json", _) => serde_json::to_vec_pretty(&json)?,
        ("png", Some((a, b))) => pair_picture(rig, a, b)?,
        ("png", None) => matrix_picture(rig, &report, arguments.most)?,
        (other, _) => return Err(Failure::wrong_call(format!("'.{other}': the report is a .png or .json"))),
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
    let two = names.split_once(',').ok_or_else(|| Failure::wrong_call("give two sliders: --sliders A,B"))?;
    Ok((slider(rig, two.0.trim())?, slider(rig, two.1.trim())?))
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

fn matrix_picture(rig: &Rig, report: &Interference, most: usize) -> Result<Vec<u8>, Failure> {
    let shown: Vec<usize> = report.order.iter().copied().take(most.max(1)).collect();
    let names: Vec<String> = shown.iter().map(|&s| rig.sliders[s].name.clone()).collect();
    // A slider on itself is 1 by definition and would only fix the scale.
    let values: Vec<f64> = shown
        .iter()
        .flat_map(|&i| shown.iter().map(move |&j| if i == j { f64::NAN } else { report.disturbs[(i, j)] }))
        .collect();
    let options = MatrixOptions {
        title: "How far a column's slider moves what a row's slider moves".into(),
        unit: "of own motion".into(),
        range: Some([0.0, 1.0]),
        ..MatrixOptions::default()
    };
    Ok(matrix(&names, &names, &values, &options)?.encode_png())
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
