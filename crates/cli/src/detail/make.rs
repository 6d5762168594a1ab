//! `detail make`: makes wrinkles for a rig without examples.

use crate::arguments::AboutRig;
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::Args;
use risorius::detail::MakeOptions;
use risorius::jobs::detail::make::{LineReport, MakeJob};
use risorius::rig::refine::MAX_STEPS;
use std::path::PathBuf;

/// See [`super`].
#[derive(Args)]
pub struct Arguments {
    /// The rig; its shapes decide where skin folds.
    rig: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Age in years, 18 to 90: more and deeper lines, and lines that remain at rest.
    #[arg(long, value_name = "YEARS", default_value_t = 45.0, allow_negative_numbers = true)]
    age: f64,
    /// Factor of all depths, 0 to 5.
    #[arg(long, value_name = "F", default_value_t = 1.0, allow_negative_numbers = true)]
    depth: f64,
    /// Another number gives other irregularities.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of handles to choose, 1 to 2000.
    #[arg(long, value_name = "N", default_value_t = 90)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=2000))]
    count: u32,
    /// Subdivide the mesh N times. Default: until edges near lines are about a millimeter long, up to about
    /// 400,000 vertices.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MAX_STEPS as i64))]
    subdivide: Option<u32>,
    /// Output: the detail (.detail), for `detail apply` and `perform --detail`.
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = MakeJob {
        rig: arguments.about.source(&arguments.rig),
        options: MakeOptions {
            age: arguments.age,
            depth: arguments.depth,
            seed: arguments.seed,
            count: arguments.count as usize,
            subdivide: arguments.subdivide.map(|n| n as usize),
        },
        output: arguments.output.clone(),
    };
    let report = job.run(&session.progress())?;
    let mut text = format!(
        "{}: {} vertices, {} lines on the face, {} poses, in {:.1} s\n",
        report.output,
        report.vertices,
        report.lines.len(),
        report.poses.len(),
        report.seconds,
    );
    for family in families(&report.lines) {
        text += &format!(
            "  {:<20} {:.2} mm deep at most, in {}\n",
            family.0, family.1.deepest_mm, family.1.expression
        );
    }
    text += &notes_text(&report.notes);
    Ok(Printed::new(report, text))
}

/// The deepest line of each family that folds in some expression; a family is a name without its number.
fn families(lines: &[LineReport]) -> Vec<(String, &LineReport)> {
    let mut families: Vec<(String, &LineReport)> = Vec::new();
    for line in lines.iter().filter(|l| !l.expression.is_empty()) {
        let name =
            line.name.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().trim().to_string();
        match families.iter_mut().find(|f| f.0 == name) {
            Some(family) if family.1.deepest_mm < line.deepest_mm => family.1 = line,
            Some(_) => {}
            None => families.push((name, line)),
        }
    }
    families
}
