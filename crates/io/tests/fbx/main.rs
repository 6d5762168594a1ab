//! FBX: a file written by hand, as text and as binary, with an in-between, an animation and a mirrored node.

mod binary;

use binary::TEXT;
use risorius_base::progress::no_progress;
use risorius_io::IoError;
use risorius_io::formats::fbx::{self, FbxContent};
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{Role, assemble};

fn read(text: &str) -> Result<FbxContent, IoError> {
    fbx::read(text.as_bytes(), &no_progress)
}

#[test]
fn polygons_control_points_and_corners_are_those_of_the_file() {
    let content = read(TEXT).unwrap();
    let part = &content.raw.parts[0];
    assert_eq!(part.name, "Face");
    assert_eq!(part.positions, [[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.], [2., 0.5, 0.]]);
    let faces: Vec<&[u32]> = part.faces.iter().collect();
    assert_eq!(faces, [&[0u32, 1, 2, 3][..], &[1, 4, 2]]);
    assert_eq!(part.corner_uvs.as_ref().unwrap()[..4], [[0., 1.], [1., 1.], [1., 0.], [0., 0.]]);
    assert!(part.corner_normals.as_ref().unwrap().iter().all(|n| *n == [0.0, 0.0, 1.0]));
    assert_eq!(part.groups.len(), 1);
    assert_eq!(content.raw.materials[0].name, "Skin");
    assert!((content.raw.materials[0].base_color[0] - 0.8).abs() < 1e-6);
    let space = content.raw.space;
    assert!((space.meters_per_unit - 0.01).abs() < 1e-12);
    assert_eq!((space.up.to_string(), space.front.to_string()), ("+Y".into(), "+Z".into()));
}

#[test]
fn text_and_binary_agree() {
    let (text, binary) = (read(TEXT).unwrap(), fbx::read(&binary::from_text(TEXT), &no_progress).unwrap());
    assert_eq!(format!("{:?}", text.raw), format!("{:?}", binary.raw));
    assert_eq!(text.clips, binary.clips);
}

#[test]
fn channels_become_shapes_and_inbetweens() {
    let content = read(TEXT).unwrap();
    let shapes: Vec<_> = content.raw.parts[0]
        .shapes
        .iter()
        .map(|s| (s.name.as_str(), s.deltas.vertices.clone(), s.deltas.offsets.clone()))
        .collect();
    assert_eq!(shapes[0], ("jawOpen@0.5", vec![0], vec![[0.0, -0.25, 0.125]]));
    assert_eq!(shapes[1], ("jawOpen", vec![0, 1], vec![[0.0, -1.0, 0.0], [0.0, -0.5, 0.0]]));
    assert_eq!(shapes[2], ("smile", vec![4], vec![[0.5, 0.5, 0.0]]));
    let (rig, _) = assemble(content.raw, &RoleTable::default());
    assert_eq!(rig.sliders.len(), 2);
    assert!(matches!(rig.shapes[0].role, Role::Inbetween { slider: 0, at } if at == 0.5));
}

#[test]
fn blend_weights_over_time_become_a_clip() {
    let content = read(TEXT).unwrap();
    assert_eq!(content.clips.len(), 1);
    let clip = &content.clips[0].clip;
    assert_eq!(clip.names, ["jawOpen"]);
    let last = clip.times_secs[clip.n_frames() - 1];
    assert!((last - 1.0).abs() < 1e-9);
    assert!((clip.sample(0.5)[0] - 0.4).abs() < 1e-6 && (clip.sample(1.0)[0] - 0.8).abs() < 1e-6);
}

#[test]
fn node_transforms_apply_and_mirroring_turns_faces() {
    let text = TEXT.replace(
        r#"P: "Lcl Scaling", "Lcl Scaling", "", "A",1,1,1"#,
        r#"P: "Lcl Scaling", "Lcl Scaling", "", "A",-2,1,1"#,
    );
    assert_ne!(text, TEXT);
    let content = read(&text).unwrap();
    let part = &content.raw.parts[0];
    assert_eq!(part.positions[4], [-4.0, 0.5, 0.0]);
    assert_eq!(part.faces.face(0), [0, 3, 2, 1]);
    assert_eq!(part.corner_uvs.as_ref().unwrap()[1], [0.0, 0.0]);
    assert_eq!(part.shapes[2].deltas.offsets, [[-1.0, 0.5, 0.0]]);
}

#[test]
fn other_files_are_refused() {
    for bytes in [&b""[..], b"solid cube", b"Kaydara FBX Binary  \x00\x1a\x00", b"v 0 0 0\nf 1 1 1\n"] {
        assert!(fbx::read(bytes, &no_progress).is_err(), "{:?}", String::from_utf8_lossy(bytes));
    }
    let stop = |_: &str, _: f32| std::ops::ControlFlow::Break(());
    assert!(matches!(fbx::read(TEXT.as_bytes(), &stop), Err(IoError::Cancelled(_))));
}
