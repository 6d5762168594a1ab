//! `demo`: a tour on the built-in head that writes pictures, a rig, a face and a clip.

use crate::build::summary;
use crate::outcome::{Failure, Printed};
use crate::session::Session;
use clap::Args;
use risorius::jobs::demo::DemoJob;
use std::path::{Path, PathBuf};

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// Folder for the pictures and files.
    #[arg(long, default_value = "demo-out")]
    out: PathBuf,
    /// Number of flesh nodes, 500 to 200000.
    #[arg(long, value_name = "N", default_value_t = 4000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(500..=200_000))]
    nodes: u32,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = DemoJob { out: arguments.out.clone(), nodes: arguments.nodes as usize };
    let report = job.run(&session.progress())?;
    let text = format!(
        "The built-in head: {} vertices, {} sliders, {} muscles.\n\
         Lower the brow, pin it, then sneer, squint and smile: without pins the brow moves {:.1} mm, with pins \
         {:.1} mm.\n\
         Bones, muscles and flesh beneath the skin:\n{}Look at:\n  {}\n{}",
        report.n_vertices,
        report.n_sliders,
        report.n_muscles,
        report.pinned_before_mm,
        report.pinned_after_mm,
        summary(&report.build),
        report.files.join("\n  "),
        next_steps(&arguments.out)
    );
    Printed::new(&report, text)
}

fn next_steps(out: &Path) -> String {
    let file = |name: &str| out.join(name).display().to_string();
    format!(
        "Try next:\n  risorius inspect {face}\n  \
         risorius render {glb} --weights jawOpen=0.6,mouthSmileLeft=1 -o smile.png\n  \
         risorius attenuate {glb} --pins '[{{\"region\": \"lips_upper\"}}]' --weights noseSneerLeft=1 --bounds --json\n  \
         risorius perform {face} --clip {clip} --head {head} -o take.glb\n  \
         risorius render {face} --take take.glb --with-head -o take.mp4\n  \
         risorius build YOUR_RIG.glb --pictures pictures -o your.face\n",
        face = file("head.face"),
        glb = file("head.glb"),
        clip = file("talk.csv"),
        head = file("shake.csv")
    )
}
