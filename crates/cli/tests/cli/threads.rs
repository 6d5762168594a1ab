//! The same bytes from 1, 2 and 7 threads, for every verb that writes files.

use crate::rigs;

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let pins = r#"[{"region": "brow"}, {"vertex": 22, "times": [[0.5, 1.5]]}]"#;
    let calls: [&[&str]; 13] = [
        &["convert", "face.glb", "objs/"],
        &["convert", "face.glb", "copy.glb", "--clip", "clip.csv"],
        &["convert", "clip.csv", "clip.json"],
        &["pose", "face.glb", "-w", "jawOpen=0.7,mouthSmile_L=0.3", "-o", "pose.obj"],
        &["pose", "face.glb", "-w", "jawOpen=0.7", "-o", "pose.glb"],
        &["pose", "face.glb", "--clip", "clip.csv", "--bake", "-o", "baked.glb"],
        &["pose", "face.glb", "--clip", "clip.csv", "--fps", "24", "-o", "take.npz"],
        &["convert", "take.npz", "take.mdd"],
        &[
            "attenuate",
            "face.glb",
            "--pins",
            pins,
            "-w",
            "jawOpen=1",
            "--bounds",
            "-o",
            "w.json",
            "--picture",
            "w.png",
        ],
        &[
            "attenuate",
            "face.glb",
            "--pins",
            pins,
            "--clip",
            "clip.csv",
            "-o",
            "held.csv",
            "--picture",
            "held.png",
        ],
        &["interference", "face.glb", "-o", "matrix.png"],
        &["interference", "face.glb", "--sliders", "jawOpen,mouthSmile_L", "-o", "pair.json"],
        &["render", "face.glb", "-w", "jawOpen=1", "--color", "motion", "--size", "200", "-o", "face.png"],
    ];
    let files = ["1", "2", "7"].map(|threads| {
        let desk = rigs::desk(rigs::face_with_extras());
        for call in calls {
            desk.ok(&[call, &["--threads", threads]].concat());
        }
        desk.files()
    });
    assert!(files[0].len() > 20, "{:?}", files[0].keys());
    for other in &files[1..] {
        assert!(files[0].keys().eq(other.keys()));
        for (name, bytes) in &files[0] {
            assert!(bytes == &other[name], "{} depends on the number of threads", name.display());
        }
    }
}
