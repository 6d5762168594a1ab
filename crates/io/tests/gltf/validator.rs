//! The Khronos validator, through npm. It is installed once under the target folder. Without npm, its checks
//! are skipped and counted as skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Asserts that the validator finds neither errors nor warnings in `bytes`.
pub fn assert_clean(name: &str, bytes: &[u8]) {
    let Some(folder) = installed() else {
        return risorius_test_data::skip(name, "the glTF validator needs npm, which is not installed");
    };
    let mut file = tempfile::Builder::new().prefix("validate").tempfile_in(folder).unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    let output = Command::new("node").arg("validate.js").arg(file.path()).current_dir(folder).output();
    let output = output.expect("node is needed to run the glTF validator");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(report.starts_with(r#"{"errors":0,"warnings":0,"#), "{name}: {report}");
}

/// The folder in which the validator is installed; `None` without npm.
fn installed() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        Command::new("npm").arg("--version").output().ok().filter(|npm| npm.status.success())?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gltf-validator");
        std::fs::create_dir_all(&folder).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/validator");
        for file in ["package.json", "validate.js"] {
            std::fs::copy(source.join(file), folder.join(file)).unwrap();
        }
        if !folder.join("node_modules/gltf-validator").exists() {
            let install = ["install", "--no-package-lock", "--no-audit", "--no-fund"];
            let status = Command::new("npm").args(install).current_dir(&folder).status();
            assert!(
                status.expect("npm is needed to install the glTF validator").success(),
                "npm install failed"
            );
        }
        Some(folder)
    });
    folder.as_deref()
}
