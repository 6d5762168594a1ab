//! Checks of the source tree: ARCHITECTURE.md against the crates, citations, dependencies between layers,
//! marks of unfinished work, paths of a particular machine, long lines and long files.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Crates from the bottom up: each may depend on those before it.
const LAYERS: [&str; 17] = [
    "base",
    "linalg",
    "mesh",
    "rig",
    "attenuate",
    "solve",
    "muscle",
    "head",
    "anatomy",
    "flesh",
    "fit",
    "perform",
    "detail",
    "io",
    "view",
    "risorius",
    "cli",
];

/// Crates that may use the others only through the facade.
const OVER_FACADE: [&str; 1] = ["risorius-cli"];

/// Folders beside `crates/` that ARCHITECTURE.md must name.
const FOLDERS: [&str; 4] = ["benches", "docs", "tests", "xtask"];

/// Longest line; strings, tables of numbers and tables in pages may be longer.
const MAX_COLUMNS: usize = 110;

/// Longest source file.
const MAX_LINES: usize = 600;

/// Largest tracked file: real data never belongs here.
const MAX_BYTES: u64 = 2 << 20;

/// Checks everything and reports all findings.
pub fn check(root: &Path) -> Result<(), String> {
    let files = tracked_files(root)?;
    let mut findings = Vec::new();
    check_architecture(root, &mut findings);
    check_layers(root, &mut findings)?;
    let keys = bibliography(root);
    for name in &files {
        let path = root.join(name);
        if std::fs::metadata(&path).is_ok_and(|m| m.len() > MAX_BYTES) {
            findings.push(format!("{name}: larger than {MAX_BYTES} bytes"));
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if name.ends_with(".rs") || name.ends_with(".md") {
            check_citations(name, &text, &keys, &mut findings);
        }
        check_marks(name, &text, &mut findings);
        check_columns(name, &text, &mut findings);
        if name.ends_with(".rs") {
            check_source(name, &text, &mut findings);
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(format!("tidy found:\n  {}", findings.join("\n  "))) }
}

fn tracked_files(root: &Path) -> Result<Vec<String>, String> {
    let listing = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let output =
        Command::new("git").args(listing).current_dir(root).output().map_err(|e| format!("git: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter(|l| root.join(l).is_file()).map(String::from).collect())
}

fn check_architecture(root: &Path, findings: &mut Vec<String>) {
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let crates: BTreeSet<String> = std::fs::read_dir(root.join("crates"))
        .map(|dir| dir.filter_map(Result::ok).map(|e| e.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    for name in crates.iter().map(|c| format!("crates/{c}")).chain(FOLDERS.map(|f| format!("`{f}/`"))) {
        if !text.contains(&name) {
            findings.push(format!("ARCHITECTURE.md does not name {name}"));
        }
    }
    for piece in text.split("crates/").skip(1) {
        let name: String = piece.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        if !name.is_empty() && !crates.contains(&name) {
            findings.push(format!("ARCHITECTURE.md names crates/{name}, which is gone"));
        }
    }
    // A line that names a crate may also name files in it.
    for line in text.lines().filter(|l| l.contains("`crates/")) {
        let home = line.split("`crates/").nth(1).and_then(|l| l.split('`').next()).unwrap_or_default();
        for file in line.split('`').filter(|w| w.ends_with(".rs")) {
            if !root.join("crates").join(home).join("src").join(file).is_file() {
                findings.push(format!("ARCHITECTURE.md names {file} in crates/{home}, which is gone"));
            }
        }
    }
    for name in &crates {
        if !LAYERS.contains(&name.as_str()) {
            findings.push(format!("crates/{name} has no place in the layers of xtask/src/tidy.rs"));
        }
    }
}

/// No crate may depend on a crate of a higher layer.
fn check_layers(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let layer = |name: &str| {
        LAYERS.iter().position(|l| name == format!("risorius-{l}") || (name == *l && name == "risorius"))
    };
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(own) = layer(name) else { continue };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let other = dependency["name"].as_str().unwrap_or_default();
            if layer(other).is_some_and(|l| l >= own) {
                findings.push(format!("{name} depends on {other}, which is above it"));
            }
            let is_for_tests = dependency["kind"].as_str() == Some("dev");
            let is_ours = layer(other).is_some() && other != "risorius";
            if OVER_FACADE.contains(&name) && is_ours && !is_for_tests {
                findings.push(format!("{name} depends on {other}; it may only depend on the facade"));
            }
        }
    }
    Ok(())
}

fn bibliography(root: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root.join("docs/papers.bib")).unwrap_or_default();
    text.lines()
        .filter(|l| l.starts_with('@'))
        .filter_map(|l| l.split_once('{'))
        .map(|(_, rest)| rest.trim_end_matches(',').trim().to_string())
        .collect()
}

/// Citations look like `[Lewis05, eq. 3]`: a name, two digits, then a comma or the closing bracket.
fn check_citations(name: &str, text: &str, keys: &BTreeSet<String>, findings: &mut Vec<String>) {
    for piece in text.split('[').skip(1) {
        let key: String = piece.chars().take_while(char::is_ascii_alphanumeric).collect();
        let ends = piece[key.len()..].starts_with([',', ']']);
        let author = key.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_citation = ends
            && key.len() == author.len() + 2
            && author.len() >= 3
            && author.starts_with(|c: char| c.is_ascii_uppercase())
            && author[1..].chars().all(|c| c.is_ascii_lowercase());
        if is_citation && !keys.contains(&key) {
            findings.push(format!("{name}: [{key}] is not in docs/papers.bib"));
        }
    }
}

fn check_marks(name: &str, text: &str, findings: &mut Vec<String>) {
    // Assembled from pieces, so that this file does not match itself.
    let marks = [
        ["to", "do!("].concat(),
        ["unimple", "mented!("].concat(),
        ["db", "g!("].concat(),
        ["FIX", "ME"].concat(),
        ["X", "XX"].concat(),
        ["TO", "DO"].concat(),
        ["#[ig", "nore"].concat(),
    ];
    let places = ["work", "farm", "root", "tmp", "home"].map(|p| format!("/{p}/"));
    for (number, line) in text.lines().enumerate() {
        if let Some(mark) = marks.iter().find(|m| line.contains(m.as_str())) {
            findings.push(format!("{name}:{}: unfinished mark {mark}", number + 1));
        }
        if let Some(place) = places.iter().find(|p| line.contains(p.as_str())) {
            findings.push(format!("{name}:{}: a path of one machine ({place}...)", number + 1));
        }
    }
}

/// Finds lines that are too long: code and comments of sources, prose of pages.
fn check_columns(name: &str, text: &str, findings: &mut Vec<String>) {
    let is_page = name.ends_with(".md");
    if !is_page && !name.ends_with(".rs") {
        return;
    }
    let mut is_code_block = false;
    for (number, line) in text.lines().enumerate() {
        is_code_block ^= line.trim_start_matches([' ', '/', '!']).starts_with("```");
        let is_exempt = match is_page {
            _ if is_code_block => true,
            true => line.starts_with(['|', ' ', '!']),
            false => {
                line.contains(['"', '\\'])
                    || !line.contains(char::is_alphabetic)
                    || line.trim_start().starts_with("//! |")
            }
        };
        if line.chars().count() > MAX_COLUMNS && !is_exempt {
            findings.push(format!("{name}:{}: more than {MAX_COLUMNS} columns", number + 1));
        }
    }
}

/// Flags belong to the command line: library messages name options.
fn check_flags(name: &str, text: &str, findings: &mut Vec<String>) {
    let is_library =
        name.starts_with("crates/") && name.contains("/src/") && !name.starts_with("crates/cli/");
    for (number, line) in text.lines().enumerate().filter(|_| is_library) {
        let is_comment = line.trim_start().starts_with("//");
        let is_flag = |piece: &str| piece.starts_with(|c: char| c.is_ascii_lowercase());
        if !is_comment && line.contains('"') && line.split("--").skip(1).any(is_flag) {
            findings.push(format!("{name}:{}: a flag in a library message", number + 1));
        }
    }
}

fn check_source(name: &str, text: &str, findings: &mut Vec<String>) {
    check_flags(name, text, findings);
    if !text.starts_with("//!") {
        findings.push(format!("{name}: no module header"));
    }
    let n_lines = text.lines().count();
    if n_lines > MAX_LINES {
        findings.push(format!("{name}: {n_lines} lines, more than {MAX_LINES}"));
    }
}
