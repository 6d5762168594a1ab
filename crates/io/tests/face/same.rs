//! Round trips give the same face; the same face gives the same bytes; flesh is not copied.

use super::{read, sample};
use risorius_base::Array;
use risorius_base::progress::no_progress;
use risorius_flesh::Face;
use risorius_io::native::face;
use risorius_io::open::{OpenOptions, open_rig};

/// Everything but flesh, whose arrays print only their length.
fn printed(face: &Face) -> [String; 3] {
    [format!("{:?}", face.rig), format!("{:?}", face.anatomy), format!("{:?}", face.report)]
}

fn first_uv(face: &Face) -> [u32; 2] {
    face.rig.parts[0].corner_uvs.as_ref().unwrap()[0].map(f32::to_bits)
}

#[test]
fn what_is_saved_comes_back() {
    let face = sample::face();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.face");
    face::write(&face, &path).unwrap();
    let opened = face::open(&path).unwrap();
    assert_eq!(printed(&face), printed(&opened));
    assert_eq!(face.flesh, opened.flesh);
    assert_eq!(face.muscle_shapes, opened.muscle_shapes);
    assert_eq!(first_uv(&face), first_uv(&opened));
    let bytes = face::to_bytes(&face).unwrap();
    assert_eq!(bytes, std::fs::read(&path).unwrap());
    assert_eq!(bytes, face::to_bytes(&opened).unwrap(), "to the bit, whatever prints alike");
    let images: Vec<_> = opened.rig.materials.iter().filter_map(|m| m.image.as_ref()).collect();
    assert!(std::sync::Arc::ptr_eq(&images[0].bytes, &images[1].bytes), "a shared picture is there once");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_open_file_survives_being_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.face");
    let mut face = sample::face();
    face::write(&face, &path).unwrap();
    let opened = face::open(&path).unwrap();
    face.flesh.materials.mu = vec![1.0, 1.0].into();
    face::write(&face, &path).unwrap();
    assert_eq!(opened.flesh.materials.mu[0], 2000.0);
    assert_eq!(face::open(&path).unwrap().flesh.materials.mu[0], 1.0);
}

#[test]
fn flesh_is_a_window_into_the_file() {
    let bytes = face::to_bytes(&sample::face()).unwrap();
    let file = read(&bytes).unwrap();
    let flesh = &file.face.flesh;
    assert!(flesh.nodes.is_window() && flesh.tets.is_window() && flesh.bounds.is_window());
    assert!(flesh.embedding.weights.is_window() && flesh.materials.lambda.is_window());
    assert!(flesh.volumes[0].nodes.is_window() && flesh.volumes[0].offsets.is_window());
    let data = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert_eq!(data % 64, 0);
    for (name, info) in &file.arrays {
        let size = match format!("{:?}", info.dtype).trim_start_matches(char::is_alphabetic) {
            "64" => 8,
            "32" => 4,
            _ => 1,
        };
        assert_eq!((data + info.data_offsets[0]) % size, 0, "{name} is not aligned");
    }
}

#[test]
fn a_rig_without_anything_comes_back() {
    let mut face = sample::face();
    face.rig.regions.clear();
    face.rig.materials.clear();
    face.rig.parts.iter_mut().for_each(|p| p.groups.clear());
    face.rig.shapes.clear();
    face.rig.sliders.clear();
    face.anatomy.jaw_motion.clear();
    face.anatomy.eye_motion = Default::default();
    face.anatomy.muscles.clear();
    face.muscle_shapes.clear();
    face.anatomy.eyes = [None, None];
    face.flesh = risorius_flesh::Flesh::default();
    face.report = risorius_flesh::BuildReport::default();
    let opened = read(&face::to_bytes(&face).unwrap()).unwrap().face;
    assert_eq!(printed(&face), printed(&opened));
}

#[test]
fn reports_may_hold_what_is_not_finite() {
    let mut face = sample::face();
    face.report.shapes[0].least_j = f64::INFINITY;
    face.report.shapes[1].fit_mm[1] = f64::NAN;
    let report = read(&face::to_bytes(&face).unwrap()).unwrap().face.report;
    assert!(report.shapes[0].least_j.is_nan() && report.shapes[1].fit_mm[1].is_nan());
    assert_eq!(report.shapes[2], face.report.shapes[2]);
}

#[test]
fn what_could_not_be_opened_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.face");
    let mut face = sample::face();
    face.flesh.tets = vec![[0, 1, 3, 2], [4, 2, 1, 3]].into();
    face.flesh.volumes.pop();
    face.flesh.materials.mu = Array::default();
    let error = face::write(&face, &path).unwrap_err().to_string();
    for words in [
        "flesh.tets: row 0 has no positive volume",
        "flesh.volumes.first: 3 rows for 4",
        "flesh.materials.mu: 0",
    ] {
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_face_opens_as_its_rig() {
    let face = sample::face();
    let folder = tempfile::tempdir().unwrap();
    // Detected by its content, whatever the file name says.
    for name in ["head.face", "head", "head.glb"] {
        let path = folder.path().join(name);
        face::write(&face, &path).unwrap();
        assert!(face::is_face(&path));
        let file = open_rig(&path, &OpenOptions::default(), &no_progress).unwrap();
        assert_eq!(file.format, "face");
        assert_eq!(format!("{:?}", file.rig), format!("{:?}", face.rig));
    }
    // A sidecar of the same name belongs to the rig that the face was built from.
    std::fs::write(folder.path().join("head.rig.json"), "{\"unit\": \"ft\"}").unwrap();
    let path = folder.path().join("head.face");
    let rig = open_rig(&path, &OpenOptions::default(), &no_progress).unwrap().rig;
    assert_eq!(rig.space, face.rig.space);
    let options = OpenOptions { meters_per_unit: Some(1.0), ..OpenOptions::default() };
    let error = open_rig(&path, &options, &no_progress).unwrap_err().to_string();
    assert!(error.contains("risorius build"), "{error}");
    std::fs::write(folder.path().join("ranges.json"), r#"{"chin": [3, 6]}"#).unwrap();
    let options = OpenOptions { regions: Some(folder.path().join("ranges.json")), ..OpenOptions::default() };
    assert_eq!(open_rig(&path, &options, &no_progress).unwrap().rig.regions["chin"], [3, 4, 5]);
    for (name, bytes) in [("short", &b"abc"[..]), ("other", b"\x05\0\0\0\0\0\0\0{\"a\"}"), ("empty", b"")] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        assert!(!face::is_face(&folder.path().join(name)));
    }
    assert!(!face::is_face(folder.path()) && !face::is_face(&folder.path().join("nothing")));
    assert!(face::open(folder.path()).is_err() && face::open(&folder.path().join("empty")).is_err());
}
