//! Real files, and facts about them that must be found. Skipped if RISORIUS_DATA is not set.

use glam::{DQuat, DVec3};
use risorius_base::progress::no_progress;
use risorius_io::formats::clip_csv::{self, ClipOptions};
use risorius_io::formats::{bvh, head_csv, npz, obj, ply};
use risorius_io::specs::sidecar;
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{RawRig, assemble};

/// The bytes of a data file, or `None` (reported on standard error) without the data.
fn data(file: &str) -> Option<Vec<u8>> {
    let path = risorius_test_data::file(file)?;
    Some(std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

#[test]
fn ict_obj_keeps_quads_and_comes_back() {
    let (Some(bytes), Some(mtl)) =
        (data("ict_facekit/generic_neutral_mesh.obj"), data("ict_facekit/ICTFaceModelMaterial.mtl"))
    else {
        return;
    };
    let start = std::time::Instant::now();
    let mut content = obj::read(&bytes, "ict", &no_progress).unwrap();
    let secs = start.elapsed().as_secs_f64();
    eprintln!("ICT OBJ: {:.1} MB in {secs:.3} s", bytes.len() as f64 / 1e6);
    obj::apply_mtl(&mtl, &mut content).unwrap();
    assert!(content.notes.is_empty(), "{:?}", content.notes);
    assert_eq!(content.material_libs, ["ICTFaceModelMaterial.mtl"]);
    let part = &content.parts[0];
    assert_eq!((content.parts.len(), part.positions.len(), part.faces.len()), (1, 26_719, 26_384));
    assert_eq!(part.faces.iter().filter(|f| f.len() == 4).count(), 25_836);
    assert_eq!(part.groups.len(), 12);
    assert_eq!(part.groups[0].name, "M_Face");
    assert_eq!(content.materials[2].base_color, [0.30, 0.03, 0.06, 1.0]);
    let raw = RawRig { parts: content.parts, materials: content.materials, ..RawRig::default() };
    let (rig, _) = assemble(raw, &RoleTable::default());
    let start = std::time::Instant::now();
    let written = obj::write(&rig, &rig.neutral);
    eprintln!("written in {:.3} s", start.elapsed().as_secs_f64());
    let back = obj::read(&written, "ict", &no_progress).unwrap();
    assert_eq!(back.parts[0].positions, rig.parts[0].to_file_order(&rig.neutral));
    assert_eq!(back.parts[0].faces, rig.parts[0].faces);
    assert_eq!(back.parts[0].corner_uvs, rig.parts[0].corner_uvs);
    assert_eq!(back.parts[0].groups, rig.parts[0].groups);
}

#[test]
fn ict_regions_fit_the_mesh() {
    let Some(bytes) = data("ict_facekit/regions.json") else { return };
    let regions = sidecar::read_ranges(&bytes).unwrap();
    assert_eq!(regions.len(), 20);
    let face = regions.iter().find(|r| r.name == "face").unwrap();
    assert_eq!(face.resolve(26_719).unwrap().len(), 9_409);
    assert!(regions.iter().all(|r| r.resolve(26_719).is_ok()));
}

#[test]
fn anatomy_objs_have_their_objects() {
    for (file, n_parts, n_vertices, n_faces) in [
        ("ict_anatomy/facial_muscles.obj", 47, 33_210, 66_410),
        ("ict_anatomy/skull_upper.obj", 21, 15_376, 30_720),
        ("ict_anatomy/teeth_lower.obj", 14, 4_373, 8_690),
        ("anatomy_bodyparts3d/FMA52748_mandible.obj", 1, 1_084, 2_164),
        ("artisynth_face/geometry/badintongue.obj", 1, 370, 736),
    ] {
        let Some(bytes) = data(file) else { return };
        let content = obj::read(&bytes, "file", &no_progress).unwrap();
        assert_eq!(content.parts.len(), n_parts, "{file}");
        assert_eq!(content.parts.iter().map(|p| p.positions.len()).sum::<usize>(), n_vertices, "{file}");
        assert_eq!(content.parts.iter().map(|p| p.faces.len()).sum::<usize>(), n_faces, "{file}");
    }
    let Some(bytes) = data("ict_anatomy/facial_muscles.obj") else { return };
    let first = &obj::read(&bytes, "file", &no_progress).unwrap().parts[0];
    assert_eq!((first.name.as_str(), first.positions[0]), ("orbicularis_oris", [-3.1291, -3.4914, 9.7501]));
}

#[test]
fn scan_is_a_surface() {
    let Some(bytes) = data("scans/actor_a/neutral.ply") else { return };
    let scan = ply::read(&bytes, "neutral").unwrap();
    assert_eq!((scan.part.positions.len(), scan.part.faces.len()), (30_501, 59_999));
    let again = ply::write(&scan.part.positions, &scan.part.faces, None, false);
    assert_eq!(ply::read(&again, "neutral").unwrap().part.positions, scan.part.positions);
}

#[test]
fn truth_archive_is_compressed_and_said_to_be() {
    let Some(bytes) = data("scans/actor_a/truth_neutral.npz") else { return };
    assert!(npz::read(&bytes).unwrap_err().to_string().contains("the archive has: vertices"));
}

#[test]
fn live_link_recordings() {
    let Some(bytes) = data("performances/livelink_rom.csv") else { return };
    let content = clip_csv::read(&bytes, &ClipOptions::default()).unwrap();
    let clip = &content.clip;
    assert_eq!((clip.n_frames(), clip.names.len()), (4_030, 52));
    assert_eq!(content.fps, Some(30.0), "timecodes count to 60, every second one is recorded");
    assert_eq!(content.timecode_start.as_deref(), Some("13:13:04:31.652"));
    assert_eq!((clip.names[0].as_str(), clip.values[0]), ("EyeBlinkLeft", 0.123_647_01));
    assert!((clip.times_secs[4_029] - 134.381_8).abs() < 1e-3, "{}", clip.times_secs[4_029]);
    assert_eq!(content.notes.len(), 1, "no head rotation: {:?}", content.notes);
    // The recorder's eye angles: positive pitch looks down, positive yaw looks to the character's right.
    let (out_left, down_left) = (3, 1);
    assert_eq!(
        (clip.names[out_left].as_str(), clip.names[down_left].as_str()),
        ("EyeLookOutLeft", "EyeLookDownLeft")
    );
    let mean_angle = |column: usize, angle: usize| {
        let eyes = clip.eye_angles.as_ref().unwrap();
        let high: Vec<f32> = (0..clip.n_frames())
            .filter(|&f| clip.frame(f)[column] > 0.5)
            .map(|f| eyes[f][0][angle])
            .collect();
        high.iter().sum::<f32>() / high.len() as f32
    };
    assert!(mean_angle(out_left, 0) < -0.2 && mean_angle(down_left, 1) > 0.2);

    let Some(bytes) = data("performances/livelink_short_60fps.csv") else { return };
    let content = clip_csv::read(&bytes, &ClipOptions::default()).unwrap();
    assert_eq!((content.clip.n_frames(), content.fps), (328, Some(60.0)));
    assert!((content.clip.times_secs[327] - 5.453_3).abs() < 1e-3);
}

#[test]
fn face_cap_take_has_its_head() {
    let Some(bytes) = data("facecap/facecap_take001.csv") else { return };
    let content = clip_csv::read(&bytes, &ClipOptions::default()).unwrap();
    let clip = &content.clip;
    assert_eq!((clip.n_frames(), clip.names.len(), content.fps), (335, 52, Some(30.0)));
    assert_eq!((clip.times_secs[0], clip.times_secs[334]), (0.0475, 11.18083));
    assert_eq!((clip.names[0].as_str(), clip.values[0]), ("browInnerUp", 0.12157));
    let head = clip.head.as_ref().unwrap();
    assert_eq!(head.rotations_xyzw[0], [-0.011048, -0.016236, -0.003815, 0.999786]);
    assert_eq!(clip_csv::read(&clip_csv::write_csv(clip), &ClipOptions::default()).unwrap().clip, *clip);
}

#[test]
fn bvh_gives_the_head_motion_that_was_taken_from_it() {
    for (name, n_frames) in [("02_03", 174), ("16_03", 411), ("42_01", 1_135)] {
        let (Some(motion), Some(table)) =
            (data(&format!("head_motion/{name}.bvh")), data(&format!("head_motion/{name}_head.csv")))
        else {
            return;
        };
        let motion = bvh::read(&motion, None, bvh::CMU_METERS_PER_UNIT).unwrap();
        let table = head_csv::read(&table, &ClipOptions::default()).unwrap().motion;
        assert_eq!(motion.n_frames(), n_frames);
        // The table leaves out the first frame, which is a calibration pose.
        assert_eq!(table.n_frames(), n_frames - 1);
        let (mut most_meters, mut most_radians) = (0.0f64, 0.0f64);
        for i in 0..table.n_frames() {
            let distance = DVec3::from(motion.positions_m[i + 1]).distance(table.positions_m[i].into());
            let (a, b) = (motion.rotations_xyzw[i + 1], table.rotations_xyzw[i]);
            let difference = DQuat::from_array(a).normalize().inverse() * DQuat::from_array(b).normalize();
            most_meters = most_meters.max(distance);
            most_radians = most_radians.max(2.0 * difference.xyz().length().asin());
        }
        eprintln!("{name}: at most {most_meters:.2e} m and {most_radians:.2e} rad apart");
        // The table has five digits of position and six of rotation.
        assert!(most_meters < 1e-5 && most_radians < 3e-6, "{name}: {most_meters} m, {most_radians} rad");
    }
}
