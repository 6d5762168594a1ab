//! `build`: flesh for the built-in head, wrong calls refused with advice, interrupted builds resumed.

use crate::desk::Desk;
use crate::rigs;
use risorius_base::Advise;
use risorius_flesh::{BuildOptions, Surroundings};
use risorius_head::person::{Head, Identity};
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_io::formats::ply;
use risorius_io::native::face::{self, ShapeCache};
use std::ops::ControlFlow;
use std::sync::OnceLock;

fn built_in() -> &'static Head {
    static HEAD: OnceLock<Head> = OnceLock::new();
    HEAD.get_or_init(|| risorius_head::build(&Identity::default()))
}

/// A desk with the built-in head as head.glb, with only the shapes `names`, because shapes take most of the
/// time.
fn desk(names: &[&str]) -> Desk {
    let desk = Desk::new();
    desk.write("head.glb", write_glb(&with_shapes(names), &GlbOptions::default()).unwrap());
    desk
}

/// A desk with the built-in head and few of its shapes, for other verbs.
pub fn few_shapes() -> Desk {
    desk(&FEW)
}

fn with_shapes(names: &[&str]) -> risorius_rig::Rig {
    built_in().rig.with_sliders(names)
}

const FEW: [&str; 5] = ["jawOpen", "eyeBlinkLeft", "eyeBlinkRight", "mouthSmileLeft", "mouthSmileRight"];

#[test]
fn a_head_gets_flesh_that_keeps_lips_and_lids_apart() {
    let desk = desk(&FEW);
    let call = ["build", "head.glb", "--nodes", "1500", "--pictures", "pictures", "-o", "out/head.face"];
    let report = desk.json(&call);
    let bytes = desk.read("out/head.face").len();
    assert_eq!((&report["output"], &report["bytes"]), (&"out/head.face".into(), &bytes.into()));
    assert_eq!(report["report"]["n_fused_pairs"], 0, "{report}");
    assert!(report["report"]["n_slit_pairs"].as_u64().unwrap() > 50, "{report}");
    assert_eq!(report["report"]["shapes"].as_array().unwrap().len(), FEW.len());
    assert_eq!(report["landmarks"].as_array().unwrap().len(), 94);
    let nodes = report["report"]["n_nodes"].as_u64().unwrap();
    assert!((750..3000).contains(&nodes), "{nodes} nodes");
    for picture in report["pictures"].as_array().unwrap() {
        assert!(desk.read(picture.as_str().unwrap()).starts_with(b"\x89PNG"), "{picture}");
    }
    assert_eq!(report["pictures"].as_array().unwrap().len(), 6);
    assert_eq!(desk.files().len(), 1 + 1 + 6, "nothing else is left: {:?}", desk.files().keys());
    let inspected = desk.json(&["inspect", "out/head.face"]);
    assert_eq!(inspected["face"]["pairs"]["fused_pairs"], 0);
    assert_eq!(inspected["face"]["volume"]["nodes"], nodes);
    assert_eq!(inspected["sliders"], FEW.len());
}

#[test]
fn the_text_says_what_was_made() {
    let desk = desk(&["jawOpen"]);
    let text = desk.ok(&["build", "head.glb", "--nodes", "800", "-o", "head.face"]);
    for words in [
        "head.face: ",
        "built in ",
        "blendvolumes",
        " nodes, ",
        "dihedral",
        "mm from the flesh",
        "fused",
        "landmarks: ",
        "jawOpen",
        "pairs of shapes: ",
        "Try next:",
        "--pictures",
        "risorius inspect head.face",
    ] {
        assert!(text.contains(words), "no {words} in {text}");
    }
}

#[test]
fn wrong_calls_are_refused_with_advice() {
    let desk = desk(&["jawOpen", "eyeBlinkLeft"]);
    desk.write("cube.obj", rigs::CUBE);
    desk.write("face.glb", rigs::face());
    desk.write("marks.json", r#"{"nose_tipp": 12, "chin_middle": [0, 1]}"#);
    desk.write("plain.ply", ply::write(&[[0.0; 3], [1.0; 3], [2.0; 3]], &Default::default(), None, false));
    desk.write(
        "red.ply",
        ply::write(&[[0.0; 3]; 3], &Default::default(), Some(&[[1.0, 0.0, 0.0, 1.0]; 3]), false),
    );
    desk.write("bad.png", b"not a picture");
    desk.write("file", b"in the way");
    let call = |more: &[&'static str]| [&["build", "head.glb", "-o", "a.face"][..], more].concat();
    desk.fails_with(2, &["build", "head.glb"], &["--output"]);
    desk.fails_with(2, &["build", "head.glb", "-o", "a.glb"], &["a.glb", ".face"]);
    for nodes in ["499", "200001", "-5", "many"] {
        desk.fails_with(2, &call(&["--nodes", nodes]), &["--nodes", nodes]);
    }
    desk.fails_with(2, &call(&["--paint", "stiff.jpg"]), &["stiff.jpg", ".ply", ".png"]);
    desk.fails_with(1, &["build", "no.glb", "-o", "a.face"], &["no.glb"]);
    desk.fails_with(1, &["build", "cube.obj", "-o", "a.face"], &["cube.obj", "no shapes"]);
    desk.fails_with(
        1,
        &call(&["--landmarks", "marks.json"]),
        &["marks.json", "nose_tipp", "did you mean nose_tip,", "chin_middle"],
    );
    desk.fails_with(1, &call(&["--landmarks", "none.json"]), &["none.json"]);
    desk.fails_with(1, &call(&["--paint", "jawOpn=red.ply"]), &["jawOpn", "did you mean jawOpen"]);
    desk.fails_with(1, &call(&["--paint", "plain.ply"]), &["plain.ply", "no vertex colors"]);
    desk.fails_with(1, &call(&["--paint", "jawOpen=red.ply"]), &["red.ply", "3 vertices", "skin"]);
    desk.fails_with(1, &call(&["--paint", "bad.png"]), &["bad.png", "PNG"]);
    desk.fails_with(1, &call(&["--skull", "missing.ply"]), &["missing.ply"]);
    desk.fails_with(1, &call(&["--skull", "cube.obj", "--nodes", "600"]), &["cranium", "does not fit"]);
    desk.fails_with(1, &call(&["--pictures", "file"]), &["file"]);
    desk.ok(&["render", "face.glb", "--size", "20", "-o", "a.png"]);
    desk.fails_with(
        1,
        &["build", "face.glb", "--paint", "a.png", "-o", "a.face"],
        &["a.png", "no texture coordinates"],
    );
    desk.fails_with(2, &call(&["--paint", "jawOpen=a.png", "--paint", "jaw_open=a.png"]), &["painted twice"]);
}

#[test]
fn painted_colors_make_the_flesh_stiffer() {
    let desk = desk(&["jawOpen"]);
    let rig = &built_in().rig;
    let skin = rig.parts.iter().find(|p| p.name == "skin").unwrap();
    let positions = skin.to_file_order(&rig.neutral);
    // The left half white, the right half not painted.
    let colors: Vec<[f32; 4]> =
        positions.iter().map(|p| if p[0] > 0.0 { [1.0; 4] } else { [1.0, 1.0, 1.0, 0.0] }).collect();
    desk.write("paint.ply", ply::write(&positions, &skin.faces, Some(&colors), false));
    desk.ok(&["build", "head.glb", "--nodes", "1000", "-o", "plain.face"]);
    desk.ok(&["build", "head.glb", "--nodes", "1000", "--paint", "paint.ply", "-o", "painted.face"]);
    let [plain, painted] = ["plain.face", "painted.face"].map(|f| face::open(&desk.path(f)).unwrap().flesh);
    let mean = |side: f64| {
        let mesh = plain.mesh();
        let middle = |t: &[u32; 4]| t.iter().map(|&n| mesh.nodes[n as usize].x).sum::<f64>() / 4.0;
        let inside: Vec<usize> =
            (0..mesh.tets.len()).filter(|&t| side * middle(&mesh.tets[t]) > 0.02).collect();
        let sum = |mu: &[f32]| inside.iter().map(|&t| f64::from(mu[t])).sum::<f64>() / inside.len() as f64;
        (sum(&plain.materials.mu), sum(&painted.materials.mu))
    };
    let (left, right) = (mean(1.0), mean(-1.0));
    assert!(left.1 > 1.2 * left.0, "painted: {left:?}");
    assert!((right.1 / right.0 - 1.0).abs() < 0.05, "not painted: {right:?}");
}

/// A build that is stopped after some shapes keeps them, the next one reuses them, and the face is the same.
#[test]
fn a_stopped_build_resumes_where_it_stopped() {
    let desk = Desk::new();
    let rig = with_shapes(&FEW);
    let cache = ShapeCache::beside(&desk.path("head.face"));
    let mut options = BuildOptions::default();
    options.volume.nodes = 800;
    let n_kept = || std::fs::read_dir(cache.folder()).map_or(0, Iterator::count);
    let stop =
        |_: &str, _: f32| if n_kept() >= 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let go = |_: &str, _: f32| ControlFlow::Continue(());
    let build = |progress: &risorius_base::Progress, store: &dyn risorius_flesh::ShapeStore| {
        risorius_flesh::build(&rig, built_in(), &options, &Surroundings { progress, store, peak_mb: &|| 0.0 })
    };
    assert!(build(&stop, &cache).unwrap_err().is_cancelled());
    let before = n_kept();
    assert!((2..=FEW.len()).contains(&before), "{before} shapes");
    let counted = Counted { cache: &cache, n_used: Default::default() };
    let resumed = build(&go, &counted).unwrap();
    assert_eq!(counted.n_used.into_inner(), before, "not every kept shape was used");
    assert_eq!(n_kept(), FEW.len());
    assert_eq!(resumed.flesh, build(&go, &()).unwrap().flesh);
    cache.remove_all().unwrap();
    assert!(!cache.folder().exists());
}

/// Counts the shapes loaded from a cache.
struct Counted<'a> {
    cache: &'a ShapeCache,
    n_used: std::sync::atomic::AtomicUsize,
}

impl risorius_flesh::ShapeStore for Counted<'_> {
    fn load(&self, key: u128) -> Option<(risorius_flesh::VolumeShape, risorius_flesh::face::ShapeReport)> {
        let found = self.cache.load(key);
        self.n_used.fetch_add(usize::from(found.is_some()), std::sync::atomic::Ordering::Relaxed);
        found
    }

    fn save(
        &self,
        key: u128,
        shape: &risorius_flesh::VolumeShape,
        report: &risorius_flesh::face::ShapeReport,
    ) {
        self.cache.save(key, shape, report);
    }
}
