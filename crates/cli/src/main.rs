//! The `risorius` command line: arguments, progress and printing over the jobs of the library.
//!
//! Every verb prints a short report as text, or with `--json` one JSON object and nothing else, on standard
//! output. Progress goes to standard error: a bar on a terminal, lines otherwise. Exit codes: 0 success,
//! 1 failure, 2 wrong call.

mod arguments;
mod attenuate;
mod bake;
mod batch;
mod build;
mod convert;
mod demo;
mod detail;
mod fit;
mod inspect;
mod inspect_face;
mod interference;
mod muscle;
mod outcome;
mod perform;
mod perform_scene;
mod plot;
mod pose;
mod progress;
mod render;
mod sample;
mod session;
mod transfer;

use clap::{Parser, Subcommand};
use outcome::{Failure, Print, Printed};
use session::Session;
use std::io::Write;
use std::process::ExitCode;

/// Physics for face rigs: an artist's blendshape face gets flesh, bones and muscles.
#[derive(Parser)]
#[command(name = "risorius", version)]
struct Cli {
    /// Print the report as one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// Number of threads, 1 to 1024; default all cores. Results are the same for any number.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[arg(allow_negative_numbers = true)]
    threads: Option<u16>,
    /// Show no progress on standard error.
    #[arg(long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show what Risorius does on the built-in head: simulate a clip, write a movie, pictures and files.
    Demo(demo::Arguments),
    /// Write sample clips and head motions, to try a rig with.
    Sample(sample::Arguments),
    /// Report the contents of a file and every problem found.
    Inspect(inspect::Arguments),
    /// Add bones, muscles and flesh to a rig: makes a face (.face) that can be simulated.
    Build(build::Arguments),
    /// Lay a template onto scans of a person: makes the person's face (.face) and rig.
    Fit(fit::Arguments),
    /// Convert between formats: rigs, clips, head motion, takes.
    Convert(convert::Arguments),
    /// Evaluate a rig at slider values, or over a clip.
    Pose(pose::Arguments),
    /// Simulate a clip on the flesh of a face: secondary motion on top of the animation.
    Perform(perform::Arguments),
    /// Put what flesh adds to pairs of shapes into corrective shapes that engines play.
    Bake(bake::Arguments),
    /// Pose a face by its muscles.
    Muscle(muscle::Arguments),
    /// Learn wrinkles from examples and apply them to an animation.
    Detail(detail::Arguments),
    /// Carry all shapes of a rig to another mesh.
    Transfer(transfer::Arguments),
    /// Hold pinned points still while sliders move.
    Attenuate(attenuate::Arguments),
    /// Measure which slider disturbs which.
    Interference(interference::Arguments),
    /// Draw a face: pictures, sheets, movies, performances side by side.
    Render(render::Arguments),
    /// Plot values that `perform` reported over time, several runs in one figure.
    Plot(plot::Arguments),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors; everything else is a wrong call.
            let is_wrong = error.use_stderr();
            if is_wrong && std::env::args_os().any(|a| a == "--json") {
                // The message also goes to standard error, and the call has failed already.
                let _ = print_json(&serde_json::json!({ "error": error.to_string().trim_end() }));
            }
            // A closed pipe is not a failure here either.
            let _ = error.print();
            return ExitCode::from(if is_wrong { 2 } else { 0 });
        }
    };
    // This thread is one of the pool's, so that parallel loops start without a switch between threads.
    let n_threads = cli.threads.map_or(0, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).use_current_thread().build_global();
    if let Err(error) = pool {
        eprintln!("risorius: {error}");
        return ExitCode::FAILURE;
    }
    let session = Session::start(cli.quiet);
    let result = match &cli.verb {
        Verb::Demo(a) => demo::run(a, &session),
        Verb::Sample(a) => sample::run(a),
        Verb::Inspect(a) => inspect::run(a, &session),
        Verb::Build(a) => build::run(a, &session),
        Verb::Fit(a) => fit::run(a, &session),
        Verb::Convert(a) => convert::run(a, &session),
        Verb::Pose(a) => pose::run(a, &session),
        Verb::Perform(a) => perform::run(a, &session),
        Verb::Bake(a) => bake::run(a, &session),
        Verb::Muscle(a) => muscle::run(a, &session),
        Verb::Detail(a) => detail::run(a, &session),
        Verb::Transfer(a) => transfer::run(a, &session),
        Verb::Attenuate(a) => attenuate::run(a, &session),
        Verb::Interference(a) => interference::run(a, &session),
        Verb::Render(a) => render::run(a, &session),
        Verb::Plot(a) => plot::run(a),
    };
    session.clear_progress();
    finish(result, cli.json)
}

fn finish(result: Result<Printed, Failure>, json: bool) -> ExitCode {
    let printed = match result {
        Ok(printed) => printed,
        Err(failure) => {
            if json {
                let _ = print_json(&serde_json::json!({ "error": failure.message }));
            }
            eprintln!("risorius: {}", failure.message);
            return ExitCode::from(failure.code);
        }
    };
    let written = if json { print_with(&printed.json) } else { print(&printed.text) };
    if let Err(error) = written {
        eprintln!("risorius: done, but the report could not be written: {error}");
        return ExitCode::FAILURE;
    }
    match printed.failure {
        Some(failure) => {
            eprintln!("risorius: {failure}");
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

fn print_json(value: &serde_json::Value) -> std::io::Result<()> {
    print(&format!("{value}\n"))
}

fn print(text: &str) -> std::io::Result<()> {
    unless_closed(&mut |out| out.write_all(text.as_bytes()))
}

/// Prints what `write` writes, and a newline.
fn print_with(write: &Print) -> std::io::Result<()> {
    unless_closed(&mut |out| write(out).and_then(|()| out.write_all(b"\n")))
}

/// Writes to standard output. A closed pipe (`| head`) is not a failure.
fn unless_closed(write: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
