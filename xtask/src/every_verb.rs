//! `cargo xtask every-verb PROGRAM FOLDER`: runs every verb of a built program on four heads and lists the
//! hashes of its outputs.
//!
//! For refactorings that must not change results: build the program before and after, run this on both, and
//! compare the two `listing.txt` with `diff`. A line of a listing is a file or a `--json` report with its
//! hash. Reports, and faces, which contain one, have a second hash of their messages, so that reworded
//! messages can be distinguished from changed results:
//! `diff <(cut -d' ' -f1,2 A) <(cut -d' ' -f1,2 B)`. Times and memory are left out of reports, because they
//! differ from run to run. `cargo xtask every-verb-list FOLDER` makes the listing of an earlier run again.
//! Needs `RISORIUS_DATA`.

use serde_json::Value;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Keys of reports that hold times or memory.
const VARYING: [&str; 10] = [
    "seconds",
    "ms_per_frame",
    "posing_secs",
    "stage_secs",
    "slowest_step_secs",
    "stages",
    "peak_mb",
    "ms_per_step",
    "bytes",
    "n_bytes",
];

/// Frames of the recorded clip that are played.
const FRAMES: usize = 24;

/// The heads: a name, and its rig below `RISORIUS_DATA`. The built-in head comes from `demo`.
const HEADS: [(&str, &str); 3] = [
    ("makehuman", "makehuman_male/makehuman_head_male.glb"),
    ("facecap", "facecap/facecap.glb"),
    ("ict", "ict_facekit/ict_expressions.glb"),
];

/// Calls on every head, run in its folder; `HEAD` is its rig, `DATA` the folder of real data.
const CALLS: [(&str, &str); 29] = [
    ("inspect", "inspect HEAD"),
    ("pose", "pose HEAD --weights jawOpen=0.6 -o pose.obj"),
    ("pose_ply", "pose HEAD --weights jawOpen=0.6 -o pose.ply"),
    ("pose_smile", "pose HEAD --weights mouthSmileLeft=1,mouthSmileRight=1 -o smile.obj"),
    ("pose_clip", "pose HEAD --clip clip.csv -o plain.npz"),
    ("pose_glb", "pose HEAD --clip clip.csv --head DATA/head_motion/42_01_head.csv --fps 30 -o plain.glb"),
    ("pose_bake", "pose HEAD --clip clip.csv --bake -o baked.glb"),
    (
        "attenuate",
        "attenuate HEAD --pins [{\"near\":[0,0.1,0.1]}] --weights jawOpen=0.6 --bounds -o held.json --picture held.png",
    ),
    (
        "attenuate_clip",
        "attenuate HEAD --pins [{\"near\":[0,0.1,0.1]}] --clip clip.csv -o held.csv --picture held_clip.png",
    ),
    ("interference", "interference HEAD -o interference.png"),
    ("convert", "convert HEAD converted.glb --names arkit"),
    ("convert_folder", "convert HEAD objs/"),
    ("convert_clip", "convert clip.csv clip.json"),
    ("convert_head", "convert DATA/head_motion/02_03.bvh head.csv"),
    ("convert_take", "convert plain.npz plain.pc2"),
    ("build", "build HEAD --nodes 900 --pictures pictures -o head.face"),
    ("inspect_face", "inspect head.face"),
    (
        "perform",
        "perform head.face --clip clip.csv --head DATA/head_motion/42_01_head.csv -o take.glb --report ours.json",
    ),
    (
        "perform_world",
        "perform head.face --clip clip.csv --head DATA/head_motion/02_03_head.csv --space world -o take.npz",
    ),
    (
        "perform_naive",
        "perform head.face --clip clip.csv --naive --contact off -o naive.mdd --report naive.json",
    ),
    (
        "bake",
        "bake head.face --shapes jawOpen,mouthSmileLeft --clip clip.csv --formulas formulas.json \
         --drivers drivers.json -o correctives.glb",
    ),
    ("plot", "plot ours.json naive.json -o figure.png"),
    ("learn", "detail learn --rest HEAD --examples examples --count 40 -o face.detail"),
    ("apply", "detail apply face.detail --take take.glb -o wrinkled.npz"),
    ("apply_maps", "detail apply face.detail --rig HEAD --clip clip.csv --fps 12 --maps maps --map-size 256"),
    ("edit", "detail edit face.detail --pose jaw --mesh pose.obj -o edited.detail"),
    ("perform_detail", "perform head.face --clip clip.csv --detail face.detail -o detailed.npz"),
    (
        "render",
        "render HEAD --weights jawOpen=0.6 --view front --view three-quarter --color motion -o face.png",
    ),
    ("render_take", "render head.face --clip clip.csv --take take.glb --difference --with-head -o takes.png"),
];

/// Calls that need two heads, run in the folder of all heads.
const BETWEEN: [(&str, &str); 3] = [
    ("transfer", "detail transfer ict/face.detail --to makehuman/converted.glb -o transferred.detail"),
    ("movie", "render facecap/head.face --take facecap/take.glb --size 240 -o take.mp4"),
    ("markers", "detail apply ict/face.detail --markers markers.csv --points points.json -o markers.npz"),
];

/// Runs everything, and writes `listing.txt` to `folder`.
pub fn run(program: &Path, folder: &Path) -> Result<(), String> {
    let data = std::env::var_os("RISORIUS_DATA")
        .map(PathBuf::from)
        .ok_or("RISORIUS_DATA must name the real heads")?;
    let absolute = |path: &Path| std::path::absolute(path).map_err(|e| e.to_string());
    let (program, folder, data) = (absolute(program)?, absolute(folder)?, absolute(&data)?);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let calls = Calls { program, data };
    let clip = calls.beginning("performances/livelink_short_60fps.csv")?;
    calls.call(&folder, "demo", "demo --out builtin --nodes 900", "")?;
    let builtin = folder.join("builtin/head.glb").display().to_string();
    let mut heads = vec![("builtin", builtin)];
    heads.extend(HEADS.map(|(name, file)| (name, calls.data.join(file).display().to_string())));
    for (name, rig) in &heads {
        let home = folder.join(name);
        std::fs::create_dir_all(home.join("examples")).map_err(|e| e.to_string())?;
        std::fs::write(home.join("clip.csv"), &clip).map_err(|e| e.to_string())?;
        for (label, call) in CALLS {
            if label == "learn" {
                for (pose, example) in [("pose.obj", "jaw.obj"), ("smile.obj", "smile.obj")] {
                    std::fs::copy(home.join(pose), home.join("examples").join(example))
                        .map_err(|e| e.to_string())?;
                }
            }
            calls.call(&home, &format!("{name}_{label}"), call, rig)?;
        }
    }
    std::fs::write(folder.join("markers.csv"), calls.beginning("markers/Jaw.csv")?)
        .map_err(|e| e.to_string())?;
    std::fs::write(folder.join("points.json"), POINTS).map_err(|e| e.to_string())?;
    for (label, call) in BETWEEN {
        calls.call(&folder, label, call, "")?;
    }
    list(&folder)
}

/// Writes `listing.txt` for the files of an earlier run in `folder`.
pub fn list(folder: &Path) -> Result<(), String> {
    let folder = std::path::absolute(folder).map_err(|e| e.to_string())?;
    let mut lines = Vec::new();
    files(&folder, &folder, &mut lines)?;
    std::fs::write(folder.join("listing.txt"), lines.join("\n") + "\n").map_err(|e| e.to_string())
}

/// Vertices of the ICT head at the positions of some markers.
const POINTS: &str = r#"{"Leyebrow_M": {"vertex": 3250}, "Reyebrow_M": {"vertex": 1030}, "Mouth_Lend": {"vertex": 6156},
    "Mouth_Rend": {"vertex": 5651}, "Chin": {"near": [0, -8.6, 9.2]}}"#;

struct Calls {
    program: PathBuf,
    data: PathBuf,
}

impl Calls {
    /// The first frames of a recording that has a line per frame.
    fn beginning(&self, file: &str) -> Result<String, String> {
        let text = std::fs::read_to_string(self.data.join(file)).map_err(|e| format!("{file}: {e}"))?;
        Ok(text.lines().take(FRAMES + 1).map(|line| format!("{line}\n")).collect())
    }

    /// Runs a call in `home` and keeps its report as `LABEL.report.json`; a call that fails is listed with
    /// its message.
    fn call(&self, home: &Path, label: &str, call: &str, rig: &str) -> Result<(), String> {
        eprintln!("xtask: {label}");
        let data = self.data.display().to_string();
        let words = call.split(' ').map(|w| w.replace("HEAD", rig).replace("DATA", &data));
        let output = Command::new(&self.program)
            .args(words)
            .arg("--json")
            .current_dir(home)
            .output()
            .map_err(|e| format!("{}: {e}", self.program.display()))?;
        let mut report: Value = serde_json::from_slice(&output.stdout)
            .map_err(|e| format!("{label}: {e}: {}", String::from_utf8_lossy(&output.stderr)))?;
        scrub(&mut report);
        if !output.status.success() {
            report["exit"] = output.status.code().unwrap_or(-1).into();
        }
        let kept = home.join(format!("{label}.report.json"));
        std::fs::write(kept, format!("{report:#}\n")).map_err(|e| e.to_string())
    }
}

/// Lists all files below `folder` with their hashes, in the order of their names.
fn files(top: &Path, folder: &Path, lines: &mut Vec<String>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| e.to_string())?;
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(top, &path, lines)?;
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|e| e.to_string())?;
        let name = path.strip_prefix(top).unwrap_or(&path).display().to_string();
        if name != "listing.txt" {
            lines.push(format!("{name} {}", hashes(&name, &bytes, &top.display().to_string())));
        }
    }
    Ok(())
}

/// The hash of a file's bytes, without the times in reports and faces and without the folder name. For
/// reports and faces also the hash of their messages.
fn hashes(name: &str, bytes: &[u8], folder: &str) -> String {
    let hash = |pieces: &[&[u8]]| {
        let mut hasher = DefaultHasher::new();
        pieces.iter().for_each(|piece| hasher.write(piece));
        format!("{:016x}", hasher.finish())
    };
    let (text, data) = if name.ends_with(".json") {
        (bytes, &[][..])
    } else if name.ends_with(".face") {
        let n = bytes.first_chunk().map_or(0, |n| u64::from_le_bytes(*n)) as usize;
        (bytes.get(8..8 + n).unwrap_or_default(), bytes.get(8 + n..).unwrap_or_default())
    } else {
        return hash(&[bytes]);
    };
    let mut value: Value = serde_json::from_slice(text).unwrap_or_default();
    scrub(&mut value);
    let mut messages = Vec::new();
    take_messages(&mut value, &mut messages);
    let [value, messages] = [value.to_string(), messages.join("\n")].map(|text| text.replace(folder, ""));
    format!("{} {}", hash(&[value.as_bytes(), data]), hash(&[messages.as_bytes()]))
}

/// Moves strings that are sentences to `messages`, also from JSON inside strings.
fn take_messages(value: &mut Value, messages: &mut Vec<String>) {
    match value {
        Value::Object(all) => all.values_mut().for_each(|value| take_messages(value, messages)),
        Value::Array(all) => all.iter_mut().for_each(|value| take_messages(value, messages)),
        Value::String(text) => {
            if let Some(mut inner) = inner_json(text) {
                take_messages(&mut inner, messages);
                *text = inner.to_string();
            } else if text.split_whitespace().count() > 3 {
                messages.push(std::mem::take(text));
            }
        }
        _ => (),
    }
}

/// JSON inside a string.
fn inner_json(text: &str) -> Option<Value> {
    text.starts_with('{').then(|| serde_json::from_str(text).ok())?
}

/// Removes times and memory, also from JSON inside strings.
fn scrub(value: &mut Value) {
    match value {
        Value::Object(all) => {
            VARYING.iter().for_each(|key| drop(all.remove(*key)));
            all.values_mut().for_each(scrub);
        }
        Value::Array(all) => all.iter_mut().for_each(scrub),
        Value::String(text) => {
            if let Some(mut inner) = inner_json(text) {
                scrub(&mut inner);
                *text = inner.to_string();
            }
        }
        _ => (),
    }
}
