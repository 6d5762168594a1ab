//! OBJ, folders of OBJs, PLY and STL: reading, round trips, refusals.

use risorius_base::Advise;
use risorius_base::progress::no_progress;
use risorius_io::formats::{obj, obj_folder, ply, stl};
use risorius_mesh::Polygons;
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{RawRig, Rig, assemble};

const TWO_OBJECTS: &str = "\u{feff}# two parts\r
mtllib face.mtl\r
o skin\r
v 0 0 0 1 0 0\r
v 1 0 0 0.5 0.5 0.5\r
v 1 1 0 1 1 1 \r
v 0 1 .5e-3\r
v 9 9 9\r
vt 0 0.1\r
vt 1 0.9\r
vt 0.25 0.3 0\r
vn 0 0 1\r
g cheek lips\r
usemtl skin mat\r
f 1/1/1 2/2/1 \\\r
  3/3/1 4/1/1\r
g lips\r
usemtl wet\r
f -5/1/-1 -4/2/-1 -3/3/-1\r
o teeth\r
v 5 0 0\r
v 6 0 0\r
v 6 1 0\r
g\r
usemtl\r
f 6 7 8\r
s off\r
l 6 7\r
";

fn rig_of(bytes: &[u8]) -> Rig {
    let content = obj::read(bytes, "file", &no_progress).unwrap();
    let raw = RawRig { parts: content.parts, materials: content.materials, ..RawRig::default() };
    assemble(raw, &RoleTable::default()).0
}

#[test]
fn obj_parts_faces_and_attributes() {
    let content = obj::read(TWO_OBJECTS.as_bytes(), "file", &no_progress).unwrap();
    assert_eq!(content.material_libs, ["face.mtl"]);
    let [skin, teeth] = &content.parts[..] else { panic!("{} parts", content.parts.len()) };
    assert_eq!((skin.name.as_str(), teeth.name.as_str()), ("skin", "teeth"));
    assert_eq!(skin.positions.len(), 5, "the unused vertex stays");
    assert_eq!(skin.positions[3], [0.0, 1.0, 0.5e-3]);
    assert_eq!(skin.faces.face(0), [0, 1, 2, 3]);
    assert_eq!(skin.faces.face(1), [0, 1, 2]);
    assert_eq!(teeth.faces.face(0), [0, 1, 2]);
    let uvs = skin.corner_uvs.as_ref().unwrap();
    assert_eq!(uvs[0], [0.0, 0.9], "v is flipped");
    assert_eq!(uvs.len(), 7);
    assert_eq!(skin.corner_normals.as_ref().unwrap()[6], [0.0, 0.0, 1.0]);
    assert!(teeth.corner_uvs.is_none() && teeth.corner_normals.is_none());
    assert_eq!(skin.regions["cheek"], [0, 1, 2, 3]);
    assert_eq!(skin.regions["lips"], [0, 1, 2, 3]);
    assert!(teeth.regions.is_empty());
    let groups: Vec<(usize, Option<usize>)> =
        skin.groups.iter().map(|g| (g.first_face, g.material)).collect();
    assert_eq!(groups, [(0, Some(0)), (1, Some(1))]);
    assert_eq!(content.materials[0].name, "skin mat");
    assert!(teeth.groups.is_empty(), "a bare usemtl is no material");
    let colors = skin.colors.as_ref().unwrap();
    assert_eq!(colors[0], [1.0, 0.0, 0.0, 1.0]);
    assert!((colors[1][0] - 0.21404).abs() < 1e-5, "sRGB becomes linear");
    assert_eq!(colors[4], [1.0; 4]);
    assert!(teeth.colors.is_none());
}

#[test]
fn obj_objects_that_share_vertices_are_one_part() {
    let text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\no a\nf 1 2 3\no b\nf 2 3 4\n";
    let content = obj::read(text, "whole", &no_progress).unwrap();
    assert_eq!(content.parts.len(), 1);
    assert_eq!(content.parts[0].name, "whole");
    assert_eq!(content.parts[0].regions["b"], [1, 2, 3]);
    assert!(content.notes[0].contains("share vertices"));
    let single = obj::read(b"v 0 0 0\nv 1 0 0\nv 0 1 0\no only\nf 1 2 3\n", "x", &no_progress).unwrap();
    assert_eq!((single.parts[0].name.as_str(), single.notes.len()), ("only", 0));
}

#[test]
fn obj_comes_back_to_the_bit() {
    let rig = rig_of(TWO_OBJECTS.as_bytes());
    let mut posed = rig.neutral.clone();
    posed.iter_mut().flatten().enumerate().for_each(|(i, x)| *x = *x / 3.0 + (i as f32).sin() * 1e-3);
    let written = obj::write(&rig, &posed);
    let back = rig_of(&written);
    assert_eq!(back.neutral, posed);
    for (a, b) in rig.parts.iter().zip(&back.parts) {
        assert_eq!(a.faces, b.faces);
        assert_eq!(a.corner_uvs, b.corner_uvs);
        assert_eq!(a.corner_normals, b.corner_normals);
        assert_eq!(a.groups, b.groups);
        assert_eq!(a.name, b.name);
    }
    assert_eq!(rig.parts[0].colors, back.parts[0].colors);
    assert!(back.parts[1].colors.is_none());
    assert_eq!(rig.regions, back.regions);
    assert_eq!(rig.materials, back.materials);
    assert_eq!(obj::write(&back, &back.neutral), written, "writing is deterministic");
    let text = String::from_utf8(written).unwrap();
    assert!(text.contains("vt 0 0.1\n") && text.contains("usemtl skin mat\n"), "{text}");
}

#[test]
fn obj_colors_of_materials() {
    let mut content = obj::read(TWO_OBJECTS.as_bytes(), "file", &no_progress).unwrap();
    obj::apply_mtl(b"newmtl wet\nKd 0.5 0.25 0.125\nd 0.5\nnewmtl unused\nKd 1 1 1\n", &mut content).unwrap();
    assert_eq!(content.materials[1].base_color, [0.5, 0.25, 0.125, 0.5]);
    assert_eq!(content.materials[0].base_color, [0.8, 0.8, 0.8, 1.0]);
    let error = obj::apply_mtl(b"newmtl wet\nKd red\n", &mut content).unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn obj_problems_name_the_line() {
    let cases: [(&[u8], &str); 6] = [
        (b"v 0 0 0\nv 1 0\n", "line 2"),
        (b"v 0 0 x\n", "line 1"),
        (b"v 0 0 0\nf 1 1 2\n", "vertex 2 does not exist; the file has 1"),
        (b"v 0 0 0\nf 1 1 0\n", "number 0"),
        (b"v 0 0 0\nf 1 1 -2\n", "number -2"),
        (b"hello", "no vertices"),
    ];
    for (text, expected) in cases {
        let error = obj::read(text, "f", &no_progress).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = obj::read(b"v 0 0 0", "f", &|_, _| std::ops::ControlFlow::Break(())).unwrap_err();
    assert_eq!(error.to_string(), "cancelled");
}

fn small_folder() -> Vec<(String, Vec<u8>)> {
    let file = |stem: &str, text: &str| (stem.to_string(), text.as_bytes().to_vec());
    vec![
        file("smile", "v 0 0 0\nv 1 0.5 0\nv 0 1 0\nf 1 2 3\n"),
        file("Neutral", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
        file("broken", "v 0 0 0\nv 1 0\n"),
        file("jawOpen", "v 0 -1 0\nv 1 0 0\nv 0 1 0\n"),
        file("short", "v 0 0 0\nv 1 0 0\n"),
    ]
}

#[test]
fn folder_becomes_shapes_and_reports_all_misfits() {
    let content = obj_folder::read_files("face", &small_folder(), None, &no_progress).unwrap();
    let shapes = &content.raw.parts[0].shapes;
    assert_eq!(shapes.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["jawOpen", "smile"]);
    assert_eq!(shapes[1].deltas.vertices, [1]);
    assert_eq!(shapes[1].deltas.offsets, [[0.0, 0.5, 0.0]]);
    assert_eq!(content.left_out.len(), 2);
    assert!(content.left_out[0].starts_with("broken.obj: ") && content.left_out[0].contains("line 2"));
    assert!(content.left_out[1].contains("short.obj has 2 vertices, the neutral has 3"));
    let names =
        |stems: &[&str]| stems.iter().map(|s| (s.to_string(), b"v 0 0 0\n".to_vec())).collect::<Vec<_>>();
    for neutral in ["BASE", "rest", "head_Neutral", "Default", "basis", "Bob.rest.001"] {
        assert!(obj_folder::read_files("f", &names(&["a", neutral]), None, &no_progress).is_ok());
    }
    let error =
        obj_folder::read_files("f", &names(&["a_neutral", "b_neutral"]), None, &no_progress).unwrap_err();
    assert!(error.to_string().contains("'a_neutral' and 'b_neutral'"));
    let error = obj_folder::read_files("f", &names(&["smile", "frown"]), None, &no_progress).unwrap_err();
    assert!(error.to_string().contains("frown.obj, smile.obj"), "{error}");
    assert_eq!(error.options(), ["neutral"]);
    for given in ["frown", "frown.obj", "FROWN.OBJ"] {
        let content = obj_folder::read_files("f", &names(&["smile", "frown"]), Some(given), &no_progress);
        let shapes: Vec<String> =
            content.unwrap().raw.parts[0].shapes.iter().map(|s| s.name.clone()).collect();
        assert_eq!(shapes, ["smile"], "{given}");
    }
    let error = obj_folder::read_files("f", &names(&["smile"]), Some("calm"), &no_progress).unwrap_err();
    assert!(error.to_string().contains("no 'calm.obj'; there are smile.obj"), "{error}");
    assert!(obj_folder::read_files("f", &[], None, &no_progress).is_err());
}

#[test]
fn folder_is_written_and_read_again() {
    let raw = obj_folder::read_files("face", &small_folder(), None, &no_progress).unwrap().raw;
    let (mut rig, _) = assemble(raw, &RoleTable::default());
    rig.shapes[1].name = "a/b".into();
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(obj_folder::write(&rig, folder.path(), &no_progress).unwrap(), 3);
    let back = obj_folder::read(folder.path(), None, &no_progress).unwrap();
    let shapes = &back.raw.parts[0].shapes;
    assert_eq!(shapes.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["a_b", "jawOpen"]);
    assert_eq!(shapes[0].deltas, rig.shapes[1].deltas);
    assert_eq!(shapes[1].deltas, rig.shapes[0].deltas);
    rig.shapes[0].name = "A_B".into();
    let stems: Vec<String> = obj_folder::files(&rig).map(|f| f.0).collect();
    assert_eq!(
        stems,
        ["neutral", "A_B", "a_b_2"],
        "names that differ in case only would overwrite each other"
    );
}

fn small_faces() -> Polygons {
    let mut faces = Polygons::default();
    faces.push(&[0, 1, 2, 3]);
    faces.push(&[2, 1, 4]);
    faces
}

#[test]
fn ply_round_trip_in_both_forms() {
    let positions =
        [[0.1, 0.2, 0.3], [1.0, 0.0, -0.5], [1.0, 1.0, 1e-7], [0.0, 1.0, 1.0 / 3.0], [2.0, 0.0, 0.0]];
    let colors: Vec<[f32; 4]> = (0..5).map(|i| [i as f32 * 0.2, 0.5, 1.0, 1.0]).collect();
    for text in [false, true] {
        let plain = ply::read(&ply::write(&positions, &small_faces(), None, text), "scan").unwrap().part;
        assert_eq!(plain.positions, positions);
        assert_eq!(plain.faces, small_faces());
        assert!(plain.colors.is_none());
        let bytes = ply::write(&positions, &small_faces(), Some(&colors), text);
        let colored = ply::read(&bytes, "scan").unwrap().part;
        let back = colored.colors.as_ref().unwrap();
        assert!(back.iter().flatten().zip(colors.iter().flatten()).all(|(a, b)| (a - b).abs() < 5e-3));
        assert_eq!(ply::write(&positions, &small_faces(), Some(back), text), bytes, "colors are stable");
    }
}

#[test]
fn ply_big_endian_with_strangers() {
    let mut file = b"ply\r\nformat binary_big_endian 1.0\r\ncomment x\r\nelement camera 1\r\nproperty double f\r\n\
        property list ushort short ids\r\nelement vertex 3\r\nproperty float nx\r\nproperty double x\r\nproperty short y\r\n\
        property float z\r\nproperty float red\r\nproperty float green\r\nproperty float blue\r\nelement face 2\r\n\
        property uchar flags\r\nproperty list int ushort vertex_index\r\nelement nothing 4000000000\r\nend_header\r\n"
        .to_vec();
    file.extend(1f64.to_be_bytes());
    file.extend([0, 2, 0, 7, 0, 8]);
    for i in 0..3i16 {
        file.extend(9f32.to_be_bytes());
        file.extend((f64::from(i) * 0.5).to_be_bytes());
        file.extend((-i).to_be_bytes());
        file.extend([2.5f32, 1.0, 0.0, 0.5].iter().flat_map(|x| x.to_be_bytes()));
    }
    file.extend([1, 0, 0, 0, 3, 0, 0, 0, 1, 0, 2]);
    file.extend([1, 0, 0, 0, 2, 0, 0, 0, 1]);
    let surface = ply::read(&file, "scan").unwrap();
    assert_eq!(surface.part.positions[2], [1.0, -2.0, 2.5]);
    assert_eq!(surface.part.faces.iter().collect::<Vec<_>>(), [[0, 1, 2]]);
    assert_eq!(surface.notes.len(), 1, "the face of two corners is left out");
    assert!((surface.part.colors.unwrap()[0][2] - 0.21404).abs() < 1e-5);
}

#[test]
fn ply_problems_are_named() {
    let head =
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
    let faces = "element face 1\nproperty list uchar int vertex_indices\nend_header\n";
    let cases = [
        ("obj".to_string(), "starts with"),
        ("ply\nformat ascii 1.0\n".into(), "end_header"),
        (format!("{head}{faces}0 0 0 1 0"), "header: 3 'vertex' rows"),
        (format!("{head}{faces}0 0 0\n1 0 0\n0 1 x\n3 0 1 2\n"), "'x' is not a number"),
        (format!("{head}{faces}0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n"), "vertex 3, the file has 3"),
        (format!("{head}{faces}0 0 0\n1 0 0\n0 1 0\n900 0 1 3\n"), "a list of 900"),
        ("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n0\n".into(), "'y'"),
        ("ply\nformat ascii 1.0\nelement vertex 1\nproperty quux x\nend_header\n0\n".into(), "line 4"),
    ];
    for (text, expected) in cases {
        let error = ply::read(text.as_bytes(), "p").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

fn binary_stl(header: &[u8], triangles: &[[[f32; 3]; 3]]) -> Vec<u8> {
    let mut file = header.to_vec();
    file.resize(80, 0);
    file.extend((triangles.len() as u32).to_le_bytes());
    for t in triangles {
        file.extend([0f32; 3].iter().chain(t.as_flattened()).flat_map(|x| x.to_le_bytes()));
        file.extend([0, 0]);
    }
    file
}

#[test]
fn stl_in_both_forms_joins_corners() {
    let (a, b, c, d) = ([0.0f32, 0.0, 0.0], [1.0f32, 0.0, 0.0], [0.0f32, 1.0, 0.0], [1.0f32, 1.0, -0.0]);
    let triangles = [[a, b, c], [c, b, d], [d, d, a]];
    let mut text = String::from("solid face\n");
    for t in triangles {
        text += "facet normal 0 0 1\n outer loop\n";
        t.iter().for_each(|v| text += &format!("  vertex {} {} {}\n", v[0], v[1], v[2]));
        text += " endloop\nendfacet\n";
    }
    for bytes in [binary_stl(b"solid but binary", &triangles), text.into_bytes()] {
        let surface = stl::read(&bytes, "skull").unwrap();
        assert_eq!(surface.part.positions.len(), 4);
        assert_eq!(surface.part.faces.iter().collect::<Vec<_>>(), [[0, 1, 2], [2, 1, 3]]);
        assert_eq!(surface.notes.len(), 1);
    }
    let cut = binary_stl(b"x", &triangles);
    assert!(stl::read(&cut[..cut.len() - 1], "s").unwrap_err().to_string().contains("cut off"));
    assert!(stl::read(b"solid\nvertex 0 0 a\n", "s").unwrap_err().to_string().contains("line 2"));
    assert!(stl::read(b"solid\nvertex 0 0 0\n", "s").is_err());
    assert!(stl::read(b"", "s").is_err());
}
