//! `detail transfer`: transfers learned wrinkles to another face.

use crate::arguments::AboutRig;
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::Args;
use risorius::jobs::detail::transfer::TransferJob;
use risorius::rig::refine::MAX_STEPS;
use std::path::PathBuf;

/// See [`super`].
#[derive(Args)]
pub struct Arguments {
    /// The detail (.detail), made by `detail learn`.
    detail: PathBuf,
    /// The other face at rest: a rig or a mesh.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// JSON file with corresponding points, about 40 spread over the face: [{"from": {"vertex": 12}, "to":
    /// {"near": [0, 1, 2]}}]. By default landmarks are detected on both faces.
    #[arg(long, value_name = "PAIRS")]
    points: Option<PathBuf>,
    /// A rig of the detail's own face, in the same place as its rest mesh. Its shapes make landmark detection
    /// more reliable.
    #[arg(long, value_name = "RIG", conflicts_with = "points")]
    from: Option<PathBuf>,
    /// Subdivide the other face N times. Default: until its edges are as short as those of the detail's face,
    /// at most three times. `detail apply` then subdivides animations of the original face.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MAX_STEPS as i64))]
    subdivide: Option<u32>,
    /// Output: the transferred detail (.detail).
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = TransferJob {
        detail: arguments.detail.clone(),
        to: arguments.about.source(&arguments.to),
        points: arguments.points.clone(),
        from: arguments.from.clone(),
        subdivide: arguments.subdivide.map(|n| n as usize),
        output: arguments.output.clone(),
    };
    let report = job.run(&session.progress())?;
    let worst =
        report.pairs.iter().reduce(|worst, pair| if pair.off_mm > worst.off_mm { pair } else { worst });
    let (name, off) = worst.map_or(("", 0.0), |pair| (pair.name.as_str(), pair.off_mm));
    let mut text = format!(
        "{}: {} of {} vertices got detail, in {:.1} s\n  \
         {} pairs; '{name}' had the largest distance before bending, {off:.1} mm; \
         after it the faces are {:.2} mm apart on average\n",
        report.output,
        report.covered,
        report.vertices,
        report.seconds,
        report.pairs.len(),
        report.mean_distance_mm,
    );
    if arguments.subdivide.is_none() && report.subdivided > 0 {
        text += &format!("  the other face is subdivided {} times\n", report.subdivided);
    }
    text += &notes_text(&report.notes);
    Ok(Printed::new(report, text))
}
