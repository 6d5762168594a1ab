//! Real heads with anatomy: the ICT head as source of a transfer and as reference, and pictures of bones.

use glam::DVec3;
use risorius_anatomy::find::find_direct;
use risorius_anatomy::outer::OuterSkin;
use risorius_anatomy::pieces::pieces;
use risorius_base::progress::no_progress;
use risorius_head::bones::{Bones, JawJoint, built_in_bones};
use risorius_head::landmarks::{NAMES, index};
use risorius_head::muscles::built_in_muscles;
use risorius_head::person::{Head, Identity};
use risorius_head::skin::{self, PartMesh};
use risorius_io::open::{OpenOptions, open_rig};
use risorius_mesh::{Bvh, Polygons, TriMesh};
use risorius_rig::{FaceGroup, Material, Part, Rig};
use risorius_view::{Canvas, DrawOptions, FaceLook, draw};
use std::path::Path;

/// Opens a rig of the data folder.
pub fn open(data: &Path, path: &str) -> Rig {
    open_rig(&data.join(path), &OpenOptions::default(), &no_progress).unwrap().rig
}

/// The parts of the built-in head that the anatomy transfer needs.
pub fn built_in() -> Head {
    person(&Identity::default())
}

/// The built-in head with another identity.
pub fn person(identity: &Identity) -> Head {
    let mut neutral = skin::neutral();
    let normals = normals(&neutral.parts[0]);
    for (p, n) in neutral.parts[0].positions.iter_mut().zip(normals) {
        *p = identity.thicken(*p, n);
    }
    neutral.parts.iter_mut().flat_map(|p| &mut p.positions).for_each(|p| *p = identity.warp(*p));
    let landmarks = neutral.landmarks.iter().map(|&v| neutral.parts[0].positions[v as usize]).collect();
    let mut bones = built_in_bones();
    bones.cranium.positions.iter_mut().for_each(|p| *p = identity.warp(*p));
    bones.mandible.positions.iter_mut().for_each(|p| *p = identity.warp(*p));
    bones.joint.condyles = bones.joint.condyles.map(|p| identity.warp(p));
    Head { rig: skin::to_rig(&neutral), bones, muscles: built_in_muscles(), landmarks }
}

fn normals(part: &PartMesh) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; part.positions.len()];
    for t in part.faces.triangulated() {
        let [a, b, c] = t.map(|v| part.positions[v as usize]);
        t.iter().for_each(|&v| normals[v as usize] += (b - a).cross(c - a));
    }
    normals
}

/// A surface of `ict_anatomy` in meters.
pub fn ict_bone(data: &Path, name: &str) -> TriMesh {
    let rig = open(data, &format!("ict_anatomy/{name}.obj"));
    let positions = rig.neutral.iter().map(|p| DVec3::from(p.map(f64::from)) * 0.01).collect();
    TriMesh { positions, triangles: rig.triangles() }
}

/// The 68 landmarks that come with the ICT head, in iBUG order, as rig vertices.
pub fn ict_landmarks(data: &Path, rig: &Rig) -> Vec<u32> {
    let text = std::fs::read_to_string(data.join("ict_facekit/vertex_indices.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let list = all["idx_to_landmark_verts"].as_array().unwrap();
    list.iter().map(|v| rig.parts[0].rig_vertex[v.as_u64().unwrap() as usize]).collect()
}

/// The ICT head with its anatomy, as source of a transfer.
pub fn ict_head(data: &Path) -> Head {
    let rig = open(data, "ict_facekit/ict_expressions.glb");
    let found = pieces(&rig);
    let (marks, _) = find_direct(&rig, &found);
    let mut landmarks: Vec<DVec3> =
        marks.iter().map(|m| m.as_ref().map_or(DVec3::NAN, |m| m.position)).collect();
    for (i, v) in ict_landmarks(data, &rig).into_iter().enumerate() {
        landmarks[i] = found.positions[v as usize];
    }
    let at = |name: &str| landmarks[index(name).unwrap()];
    let eye = (at("eye_left_inner") + at("eye_left_outer")) / 2.0;
    let (unit, mouth, middle) = (2.0 * eye.x, at("lip_upper_middle_inner"), DVec3::new(0.0, eye.y, eye.z));
    let outer = OuterSkin::new(&found.positions, &found.skin);
    let rough: [(&str, DVec3); 10] = [
        ("trichion", middle + unit * DVec3::new(0.0, 1.25, -0.1)),
        ("vertex", middle + unit * DVec3::new(0.0, 2.2, -1.2)),
        ("neck_pit", DVec3::new(0.0, mouth.y - 2.1 * unit, mouth.z - 1.0 * unit)),
        ("tragion", middle + unit * DVec3::new(1.15, -0.35, -1.35)),
        ("gonion", middle + unit * DVec3::new(0.9, -1.2, -0.95)),
        ("zygion", middle + unit * DVec3::new(1.05, -0.3, -0.4)),
        ("orbitale", middle + unit * DVec3::new(0.5, -0.3, 0.0)),
        ("supraorbitale", middle + unit * DVec3::new(0.5, 0.35, 0.1)),
        ("mid_cheek", middle + unit * DVec3::new(0.62, -0.65, 0.0)),
        ("frontotemporale", middle + unit * DVec3::new(0.85, 0.5, -0.2)),
    ];
    for (name, p) in rough {
        for (suffix, sign) in [("", 1.0), ("_left", 1.0), ("_right", -1.0)] {
            let place = outer.closest(p * DVec3::new(sign, 1.0, 1.0), 1.0).unwrap().point;
            if let Some(i) = index(&format!("{name}{suffix}")) {
                landmarks[i] = place;
            }
        }
    }
    assert!(
        landmarks.iter().all(|p| p.is_finite()),
        "{:?}",
        NAMES.iter().zip(&landmarks).find(|(_, p)| !p.is_finite())
    );
    let bones = Bones {
        cranium: ict_bone(data, "skull_upper"),
        mandible: ict_bone(data, "mandible"),
        joint: JawJoint {
            condyles: [1.0, -1.0].map(|s| middle + unit * DVec3::new(s * 0.8, -0.42, -1.15)),
            track: DVec3::new(0.0, -0.6, 0.8),
            track_length: 0.012,
        },
    };
    Head { rig, bones, landmarks, ..Head::default() }
}

/// For each angle, a picture of the skin and one of the surfaces without skin, from the same camera.
pub fn skin_and_bones(rig: &Rig, surfaces: &[(&TriMesh, [f32; 3])], yaws: &[f32]) -> Vec<Canvas> {
    let mut all = rig.clone();
    let (turn, per_unit) = (rig.space.si_axes_from_file().transpose(), rig.space.meters_per_unit);
    for (i, (surface, color)) in surfaces.iter().enumerate() {
        let first = all.neutral.len();
        let place = |p: &DVec3| (turn * *p / per_unit).as_vec3().to_array();
        all.neutral.extend(surface.positions.iter().map(place));
        let base_color = [color[0], color[1], color[2], 1.0];
        let material = Material {
            name: format!("surface{i}"),
            base_color,
            metallic: 0.0,
            roughness: 0.7,
            double_sided: true,
            image: None,
        };
        all.materials.push(material);
        all.parts.push(Part {
            name: format!("surface{i}"),
            vertices: first..all.neutral.len(),
            rig_vertex: (first as u32..all.neutral.len() as u32).collect(),
            faces: Polygons::from_triangles(&surface.triangles),
            groups: vec![FaceGroup {
                name: String::new(),
                first_face: 0,
                material: Some(all.materials.len() - 1),
            }],
            ..Part::default()
        });
    }
    // Bones are lit as if there were no skin around them.
    let mut bare = all.clone();
    bare.parts[..rig.parts.len()]
        .iter_mut()
        .for_each(|p| (p.faces, p.groups) = (Polygons::default(), Vec::new()));
    let (look, bare) = (FaceLook::prepare(&all), FaceLook::prepare(&bare));
    let mut without_skin = all.neutral.clone();
    without_skin[..rig.n_vertices()].fill([f32::NAN; 3]);
    let mut with_skin = all.neutral.clone();
    with_skin[rig.n_vertices()..].fill([f32::NAN; 3]);
    let mut pictures = Vec::new();
    for &yaw in yaws {
        let options =
            DrawOptions { yaw_degrees: yaw, width: 600, height: 600, zoom: 0.75, ..DrawOptions::default() };
        pictures.push(draw(&look, &with_skin, &options).unwrap());
        pictures.push(draw(&bare, &without_skin, &options).unwrap());
    }
    pictures
}

/// Writes pictures side by side to the folder named by `RISORIUS_OUT`, if set.
pub fn save(name: &str, columns: usize, pictures: Vec<Canvas>) {
    let Some(out) = std::env::var_os("RISORIUS_OUT") else { return };
    let labeled: Vec<(Canvas, String)> = pictures.into_iter().map(|p| (p, String::new())).collect();
    let sheet = risorius_view::sheet(&labeled, columns, "").unwrap();
    std::fs::write(Path::new(&out).join(format!("{name}.png")), sheet.encode_png()).unwrap();
}

/// Mean and 95th percentile of the distance from `from` to the surface `to`, millimeters.
pub fn distances(from: &TriMesh, to: &TriMesh, keep: impl Fn(DVec3) -> bool) -> (f64, f64) {
    let tree = Bvh::build(&to.positions_f32(), &to.triangles);
    // One sample per triangle, weighted by area, so that the result does not depend on the meshing.
    let mut found: Vec<(f64, f64)> = from
        .corners()
        .filter_map(|[a, b, c]| {
            let (p, area) = ((a + b + c) / 3.0, (b - a).cross(c - a).length());
            let near = tree.closest_point(p, f64::INFINITY).filter(|_| keep(p))?;
            Some((1000.0 * near.distance_sq.sqrt(), area))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = found.iter().map(|f| f.1).sum();
    let mean = found.iter().map(|f| f.0 * f.1).sum::<f64>() / total;
    let mut sum = 0.0;
    let at = found.iter().find(|f| {
        sum += f.1;
        sum >= 0.95 * total
    });
    (mean, at.map_or(0.0, |f| f.0))
}
