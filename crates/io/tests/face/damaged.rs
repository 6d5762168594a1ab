//! Damaged faces are refused, with the name of the array and what to do.

use super::{put_together, read, sample, taken_apart};
use risorius_io::native::face;
use serde_json::Value;

/// Changes the header and the arrays of a good file.
fn changed(change: impl Fn(&mut Value, &mut Vec<u8>)) -> Vec<u8> {
    let bytes = face::to_bytes(&sample::face()).unwrap();
    let (mut header, data) = taken_apart(&bytes);
    let mut data = data.to_vec();
    change(&mut header, &mut data);
    put_together(&header, &data)
}

/// Changes metadata that is JSON within the JSON.
fn with_text(key: &str, change: impl Fn(&mut Value)) -> Vec<u8> {
    changed(|header, _| {
        let mut inner: Value = serde_json::from_str(header["__metadata__"][key].as_str().unwrap()).unwrap();
        change(&mut inner);
        header["__metadata__"][key] = inner.to_string().into();
    })
}

/// Overwrites bytes of an array, `at` bytes after its start.
fn with_array(name: &str, at: usize, bytes: &[u8]) -> Vec<u8> {
    changed(|header, data| {
        let start = header[name]["data_offsets"][0].as_u64().unwrap() as usize;
        data[start + at..start + at + bytes.len()].copy_from_slice(bytes);
    })
}

fn refused(bytes: &[u8], words: &[&str]) {
    let error = read(bytes).expect_err(words[0]).to_string();
    for word in words {
        assert!(error.contains(word), "no '{word}' in: {error}");
    }
    assert!(error.len() < 600, "{error}");
}

#[test]
fn other_versions_are_refused_with_advice() {
    assert!(read(&changed(|_, _| {})).is_ok());
    let version = |v: &str| changed(|h, _| h["__metadata__"]["version"] = v.into());
    refused(&version("1"), &["version 1", "build it again with `risorius build`"]);
    refused(&version("3"), &["version 3", "newer Risorius"]);
    refused(&version("one"), &["version", "not a number"]);
    refused(&changed(|h, _| h["__metadata__"]["format"] = "pt".into()), &["format", "risorius-face"]);
    refused(&changed(|h, _| h["__metadata__"] = serde_json::json!({})), &["format", "missing"]);
}

#[test]
fn every_number_that_leads_astray_is_named() {
    let far = 999u32.to_le_bytes();
    let nan32 = f32::NAN.to_le_bytes();
    let nan64 = f64::NAN.to_le_bytes();
    for (array, bytes, words) in [
        ("flesh.tets", &far[..], "row 0 is [999, 1, 2, 3], but there are 5 nodes"),
        ("flesh.tets", &1u32.to_le_bytes(), "row 0 has no positive volume"),
        ("flesh.nodes", &nan64, "row 0 is not finite"),
        ("flesh.bounds", &[7], "row 0 is above 6"),
        ("flesh.embedding.vertices", &far, "do not ascend"),
        ("flesh.embedding.tets", &far, "2 tets"),
        ("flesh.embedding.weights", &nan32, "does not sum to 1"),
        ("flesh.embedding.weights", &1.0f32.to_le_bytes(), "does not sum to 1"),
        ("flesh.volumes.nodes", &far, "do not ascend"),
        ("flesh.volumes.offsets", &nan32, "shape 0"),
        ("flesh.volumes.first", &9u64.to_le_bytes(), "ascend from 0"),
        ("flesh.correctives.shapes", &far, "row 0 is not a pair of two shapes"),
        ("flesh.correctives.nodes", &far, "pair 0"),
        ("flesh.correctives.offsets", &nan32, "pair 0"),
        ("flesh.correctives.first", &9u64.to_le_bytes(), "ascend from 0"),
        ("flesh.materials.mu", &(-1.0f32).to_le_bytes(), "negative"),
        ("flesh.materials.shapes.tets", &far, "do not ascend"),
        ("flesh.materials.shapes.lambda", &nan32, "not finite"),
        ("rig.parts.0.rig_vertex", &far, "another part"),
        ("rig.parts.0.corners", &far, "vertices of the part"),
        ("rig.parts.0.face_first", &far, "ascend from 0"),
        ("rig.shapes.vertices", &far, "do not ascend"),
        ("rig.regions.vertices", &far, "do not ascend"),
        ("anatomy.cranium.triangles", &far, "4 positions"),
        ("anatomy.mandible.positions", &nan64, "not finite"),
        ("anatomy.landmarks.vertices", &far, "no valid position or confidence"),
        ("anatomy.landmarks.confidence", &2.0f64.to_le_bytes(), "no valid position or confidence"),
        ("anatomy.muscles.counts", &far, "control points"),
        ("anatomy.pieces.kinds", &[200], "unknown kind 200"),
        ("anatomy.pieces.skin", &far, "11 vertices"),
        ("anatomy.pieces.carriers", &far, "11 vertices"),
        ("anatomy.jaw_motion.rotations", &2.0f64.to_le_bytes(), "not a rigid motion"),
        ("anatomy.warp.weights", &nan64, "not finite"),
    ] {
        let group: Vec<&str> = array.split('.').take(2).collect();
        refused(&with_array(array, 0, bytes), &[&group.join("."), words, "risorius build"]);
    }
}

#[test]
fn arrays_that_do_not_fit_are_named() {
    refused(&changed(|h, _| h["flesh.bounds"]["dtype"] = "I8".into()), &["flesh.bounds", "should be U8"]);
    refused(&changed(|h, _| h["flesh.nodes"]["shape"] = serde_json::json!([15])), &["flesh.nodes", "[n, 3]"]);
    refused(
        &changed(|h, _| h["flesh.nodes"]["shape"] = serde_json::json!([6, 3])),
        &["flesh.nodes", "match its shape"],
    );
    let endless = serde_json::json!([u64::MAX, u64::MAX]);
    refused(
        &changed(|h, _| h["flesh.nodes"]["shape"] = endless.clone()),
        &["flesh.nodes", "match its shape"],
    );
    refused(&changed(|h, _| h["flesh.nodes"]["data_offsets"] = endless.clone()), &["leave a gap"]);
    refused(&changed(|_, data| data.push(0)), &["end at byte"]);
    refused(&changed(|_, data| data.truncate(data.len() - 1)), &["are missing"]);
    let renamed = |h: &mut Value, _: &mut Vec<u8>| {
        let info = h.as_object_mut().unwrap().remove("flesh.tets").unwrap();
        h["flesh.tetrahedra"] = info;
    };
    refused(&changed(renamed), &["flesh.tets", "missing"]);
    // An additional array of other software is allowed.
    let extra = |h: &mut Value, data: &mut Vec<u8>| {
        let at = data.len();
        h["my.scores"] = serde_json::json!({"dtype": "BF16", "shape": [2], "data_offsets": [at, at + 4]});
        data.extend([0; 4]);
    };
    assert!(read(&changed(extra)).is_ok());
}

#[test]
fn metadata_that_does_not_fit_is_named() {
    refused(&changed(|h, _| h["__metadata__"]["rig"] = "{".into()), &["metadata 'rig'"]);
    refused(&with_text("rig", |r| r["space"]["up"] = "up".into()), &["'rig'", "not an axis"]);
    refused(&with_text("rig", |r| r["space"]["up"] = "+X".into()), &["rig.space", "one axis"]);
    refused(&with_text("rig", |r| r["space"]["meters_per_unit"] = (-1.0).into()), &["rig.space", "-1 m"]);
    refused(&with_text("rig", |r| r["shapes"][0]["sliders"][0] = 9.into()), &["'jawOpen'", "role"]);
    refused(&with_text("rig", |r| r["shapes"][2]["at"][0] = 1.5.into()), &["'jawOpen33'", "role"]);
    refused(&with_text("rig", |r| r["sliders"][1]["shape"] = 0.into()), &["slider 1"]);
    refused(
        &with_text("rig", |r| r["parts"][0]["vertices"][1] = 99.into()),
        &["rig.parts.0", "0 to 99 of 11"],
    );
    refused(
        &with_text("rig", |r| r["parts"][0]["groups"][0]["material"] = 3.into()),
        &["rig.parts.0", "materials"],
    );
    refused(&with_text("rig", |r| r["materials"][0]["image"] = 3.into()), &["no picture 3"]);
    refused(&with_text("anatomy", |a| a["landmarks"][0]["name"] = "nose".into()), &["landmark 0", "'nose'"]);
    refused(&with_text("anatomy", |a| a["eyes"][0]["radius"] = (-1.0).into()), &["anatomy.eyes", "left"]);
    let fewer = with_text("rig", |r| drop(r["shapes"].as_array_mut().unwrap().pop()));
    refused(&fewer, &["rig.shapes.first", "5 rows for 3 shapes"]);
}
