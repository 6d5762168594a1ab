//! `sample`: writes clips and head motions that were made in code.

use crate::outcome::{Failure, Printed};
use clap::Args;
use risorius::jobs::sample::{Sample, SampleJob};
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// Names of samples, see --list; default talk and lively.
    names: Vec<String>,
    /// List all samples and write nothing.
    #[arg(long, conflicts_with = "names")]
    list: bool,
    /// Folder for the files, NAME.csv each; it is made if there is none.
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Printed, Failure> {
    if arguments.list {
        let all = Sample::ALL.map(|s| serde_json::json!({ "name": s.name, "about": s.about }));
        let text = Sample::ALL.map(|s| format!("{:<12} {}\n", s.name, s.about)).concat();
        return Ok(Printed::new(serde_json::json!({ "samples": all }), text));
    }
    let job = SampleJob { names: arguments.names.clone(), out: arguments.output.clone() };
    let report = job.run()?;
    let line = |f: &risorius::jobs::sample::WrittenSample| {
        format!("{}: {}; {} frames at {:.0} fps\n", f.output, f.about, f.frames, f.fps)
    };
    let text = report.files.iter().map(line).collect();
    Ok(Printed::new(report, text))
}
