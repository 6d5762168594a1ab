//! `demo`: a tour on the built-in head that simulates a clip, and writes a movie, pictures and files.

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
    /// Number of flesh nodes, 500 to 200000. The default is coarse, so that the demo does not take long.
    #[arg(long, value_name = "N", default_value_t = 1200, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(500..=200_000))]
    nodes: u32,
    /// How much of the clip is simulated, seconds, above 0; at most 4, which is all.
    #[arg(long, default_value_t = 4.0, allow_negative_numbers = true)]
    seconds: f64,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    if arguments.seconds.is_nan() || arguments.seconds <= 0.0 {
        return Err(Failure::wrong_call(format!(
            "--seconds is {}; give a number above 0",
            arguments.seconds
        )));
    }
    let (out, nodes) = (arguments.out.clone(), arguments.nodes as usize);
    let job = DemoJob { out, nodes, seconds: arguments.seconds };
    let report = job.run(&session.progress())?;
    let [most, mean] = report.moved_mm;
    let text = format!(
        "The built-in head: {} vertices, {} sliders, {} muscles.\n\
         Lower the brow, pin it, then sneer, squint and smile: without pins the brow moves {:.1} mm, with pins \
         {:.1} mm.\n\
         Bones, muscles and flesh beneath the skin:\n{}\
         It talks, nods, shakes its head, hops and stamps a foot, {} frames: physics moves the skin by up to \
         {most:.1} mm, {mean:.1} mm on average, where it moves most.\n\
         Two noisy scans of another person become a rig that lies {fit:.2} mm from them.\n\
         Look at {} first.\nAll files:\n  {}\n{}",
        report.n_vertices,
        report.n_sliders,
        report.n_muscles,
        report.pinned_before_mm,
        report.pinned_after_mm,
        summary(&report.build),
        report.frames,
        report.movie,
        report.files.join("\n  "),
        next_steps(&arguments.out),
        fit = report.fit_mm
    );
    Ok(Printed::new(report, text))
}

fn next_steps(out: &Path) -> String {
    let file = |name: &str| quoted(&out.join(name));
    format!(
        "Try next:\n  \
         risorius perform {face} --clip {clip} --head {head} --look cartoon -o cartoon.glb\n  \
         risorius render {face} --take {take} --take cartoon.glb --label natural,cartoon --with-head -o looks.mp4\n  \
         risorius sample shake run -o {out}\n  \
         risorius perform {face} --clip {clip} --head {run} -o running.glb\n  \
         risorius render {face} --take running.glb --with-head -o running.mp4\n  \
         risorius inspect {face}\n  \
         risorius render {glb} --weights jawOpen=0.6,mouthSmileLeft=1 -o smile.png\n  \
         risorius attenuate {glb} --pins '[{{\"region\": \"shape:mouthFunnel\"}}]' --weights noseSneerLeft=1 --bounds\n  \
         risorius build YOUR_RIG.glb --pictures pictures -o your.face\n",
        out = quoted(out),
        face = file("head.face"),
        take = file("take.glb"),
        glb = file("head.glb"),
        clip = file("talk.csv"),
        head = file("lively.csv"),
        run = file("run.csv"),
    )
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
