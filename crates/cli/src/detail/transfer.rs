//! `detail transfer`: learned wrinkles on another face.

use crate::arguments::AboutRig;
use crate::outcome::{Failure, Printed};
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
    /// Points that correspond, about 40 all over the face: a JSON file, [{"from": {"vertex": 12}, "to":
    /// {"near": [0, 1, 2]}}]. When left out, landmarks are looked for on both faces.
    #[arg(long, value_name = "PAIRS")]
    points: Option<PathBuf>,
    /// A rig of the detail's own face, at the same place as its rest, whose shapes make landmarks surer than
    /// a mesh alone.
    #[arg(long, value_name = "RIG", conflicts_with = "points")]
    from: Option<PathBuf>,
    /// Subdivide the other face N times: wrinkles need vertices a millimeter apart. `apply` then takes
    /// animations of the face as it is and subdivides them.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MAX_STEPS as i64))]
    subdivide: u32,
    /// Output: .detail.
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
        subdivide: arguments.subdivide as usize,
        output: arguments.output.clone(),
    };
    let report = job.run(&session.progress())?;
    let worst =
        report.pairs.iter().reduce(|worst, pair| if pair.off_mm > worst.off_mm { pair } else { worst });
    let (name, off) = worst.map_or(("", 0.0), |pair| (pair.name.as_str(), pair.off_mm));
    let text = format!(
        "{}: {} of {} vertices got detail, in {:.1} s\n  {} pairs; '{name}' was off most before bending, {off:.1} mm; \
         after it the faces are {:.2} mm apart on average\n",
        report.output,
        report.covered,
        report.vertices,
        report.seconds,
        report.pairs.len(),
        report.mean_distance_mm,
    );
    Printed::new(&report, text)
}
