//! Development tasks: `cargo xtask test [--full]`, `tidy`, `bench [NAME]`, `pictures [physics]`,
//! `every-verb PROGRAM FOLDER`.
//!
//! `test` is what newcomers and continuous integration run: format check, clippy with warnings as errors, all
//! tests, tidy, documentation. It installs missing programs.

mod every_verb;
mod pictures;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str =
    "usage: cargo xtask test [--full] | tidy | bench [evaluate|attenuate|face|rest|perform|volumetric|muscles|bake|detail] [ARGUMENT...] | pictures [physics] |
    every-verb PROGRAM FOLDER | every-verb-list FOLDER";

const BENCHES: [&str; 9] =
    ["evaluate", "attenuate", "face", "rest", "perform", "volumetric", "muscles", "bake", "detail"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["test"] => test(false),
        ["test", "--full"] => test(true),
        ["tidy"] => tidy::check(&root()),
        ["pictures"] => pictures::draw(false),
        ["pictures", "physics"] => pictures::draw(true),
        ["every-verb-list", folder] => every_verb::list(Path::new(folder)),
        ["every-verb", program, folder] => every_verb::run(Path::new(program), Path::new(folder)),
        ["bench"] => BENCHES.iter().try_for_each(|name| bench(name, &[])),
        ["bench", name, ref arguments @ ..] => bench(name, arguments),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

fn test(full: bool) -> Result<(), String> {
    need("c++", &["g++"])?;
    // Without npm, the checks by the glTF validator are skipped.
    if let Err(error) = need("npm", &["nodejs", "npm"]) {
        eprintln!("xtask: {error}");
    }
    let skips = root().join("target/skipped-tests.txt");
    std::fs::remove_file(&skips).ok();
    cargo(&["fmt", "--all", "--", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    // Without the features that bring C and C++ libraries.
    cargo(&["clippy", "--package", "risorius-cli", "--no-default-features", "--", "-D", "warnings"])?;
    tidy::check(&root())?;
    let mut run = Command::new(env!("CARGO"));
    run.args(["test", "--workspace", "--no-fail-fast"]);
    run.env("RISORIUS_SKIPS", &skips);
    if full {
        run.env("RISORIUS_FULL", "1");
    }
    status(run.current_dir(root()))?;
    count_skips(&skips);
    let mut document = Command::new(env!("CARGO"));
    document.args(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings");
    status(document.current_dir(root()))?;
    if full {
        BENCHES.iter().try_for_each(|name| bench(name, &[]))?;
    }
    Ok(())
}

/// Prints how many checks were skipped, and why.
fn count_skips(list: &Path) {
    let text = std::fs::read_to_string(list).unwrap_or_default();
    let mut skipped: Vec<&str> = text.lines().collect();
    skipped.sort_unstable();
    skipped.dedup();
    eprintln!("xtask: {} checks were skipped", skipped.len());
    skipped.iter().for_each(|line| eprintln!("  {line}"));
}

/// Runs a benchmark, which prints our time beside a peer's. The peers need numpy, installed in an environment
/// under `target`.
fn bench(name: &str, arguments: &[&str]) -> Result<(), String> {
    let python = root().join("target/bench-python");
    if !python.join("bin/python").exists() {
        need("python3", &["python3", "python3-venv"])?;
        status(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
        status(Command::new(python.join("bin/pip")).args(["install", "--quiet", "numpy", "scipy"]))?;
    }
    let mut run = Command::new(env!("CARGO"));
    run.args(["run", "--release", "--quiet", "--package", "risorius-benches", "--bin", name, "--"]);
    run.args(arguments);
    run.env("RISORIUS_BENCH_PYTHON", python.join("bin/python"));
    status(run.current_dir(root()))
}

/// Checks that a program is available, and installs it from Debian packages if not.
fn need(program: &str, packages: &[&str]) -> Result<(), String> {
    if Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success()) {
        return Ok(());
    }
    eprintln!("xtask: {program} is missing, installing {}", packages.join(" "));
    status(Command::new("apt-get").args(["-qq", "update"]))?;
    status(Command::new("apt-get").args(["-qq", "--yes", "install"]).args(packages))
        .map_err(|e| format!("{e}; install {program} by hand"))
}

fn cargo(arguments: &[&str]) -> Result<(), String> {
    status(Command::new(env!("CARGO")).args(arguments).current_dir(root()))
}

fn status(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    eprintln!("xtask: {shown}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}: {status}")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}
