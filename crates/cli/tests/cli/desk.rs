//! A temporary folder for each test, in which the program runs.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary folder in which the program runs, so that calls use plain relative names.
pub struct Desk {
    folder: tempfile::TempDir,
}

/// What a run printed, and its exit code.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Desk {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn read_json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// Runs the program, which must never panic.
    pub fn run(&self, args: &[&str]) -> Run {
        let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_risorius"))
            .args(args)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        let run = Run {
            code: status.code().expect("ended by a signal"),
            out: String::from_utf8(stdout).unwrap(),
            err: without_progress(&String::from_utf8(stderr).unwrap()),
        };
        assert!(!run.err.contains("panicked"), "{args:?}: {}", run.err);
        run
    }

    /// Runs a call that must succeed; returns its text output.
    pub fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {}", run.err);
        assert!(run.out.ends_with('\n') && run.err.is_empty(), "{args:?}: {} {}", run.out, run.err);
        run.out
    }

    /// Runs a call that must succeed with `--json`: one object on one line and nothing else.
    pub fn json(&self, args: &[&str]) -> Value {
        let out = self.ok(&[args, &["--json"]].concat());
        one_object(&out)
    }

    /// Runs a call that must fail with `code` and leave every file unchanged; returns its message.
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let before = self.files();
        let run = self.run(args);
        assert_eq!(run.code, code, "{args:?}: {}{}", run.out, run.err);
        assert!(run.out.is_empty() && !run.err.is_empty(), "{args:?}: {}", run.out);
        let with_json = self.run(&[args, &["--json"]].concat());
        assert_eq!(with_json.code, code, "{args:?} with --json");
        let error = one_object(&with_json.out)["error"].as_str().unwrap().to_string();
        assert!(with_json.err.contains(&error), "{args:?}: {error} / {}", with_json.err);
        assert!(self.files() == before, "{args:?} changed files: {:?}", self.files().keys());
        run.err
    }

    /// [`Desk::fails`], and the message contains all of `words`.
    pub fn fails_with(&self, code: i32, args: &[&str], words: &[&str]) {
        let message = self.fails(code, args);
        for word in words {
            assert!(message.contains(word), "{args:?}: no '{word}' in: {message}");
        }
    }

    /// Every file below the folder with its bytes, by relative name.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(self.folder.path(), self.folder.path(), &mut found);
        found
    }
}

/// Standard error without the lines of progress that long runs print.
pub fn without_progress(text: &str) -> String {
    let is_progress = |line: &&str| {
        let percent = line.strip_prefix("risorius: ").and_then(|l| l.split_once(" %, "));
        percent.is_some_and(|(n, _)| n.parse::<u32>().is_ok())
    };
    text.split_inclusive('\n').filter(|line| !is_progress(line)).collect()
}

fn collect(top: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(top, &path, found);
        } else {
            found.insert(path.strip_prefix(top).unwrap().to_path_buf(), std::fs::read(&path).unwrap());
        }
    }
}

fn one_object(out: &str) -> Value {
    assert_eq!(out.lines().count(), 1, "more than one line: {out}");
    let value: Value = serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}"));
    assert!(value.is_object(), "{out}");
    value
}

/// A file or folder of the real data, or `None` (reported on standard error) without the data.
pub fn data(name: &str) -> Option<String> {
    risorius_test_data::file(name).map(|path| path.to_str().unwrap().to_string())
}
