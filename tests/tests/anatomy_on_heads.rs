//! Anatomy found in and carried into real heads.

use risorius_anatomy::pieces::pieces;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_mesh::progress::silent;
use risorius_tests::data;
use std::collections::BTreeMap;

const HEADS: [&str; 3] =
    ["ict_facekit/ict_expressions.glb", "makehuman_male/makehuman_head_male.glb", "facecap/facecap_plain.glb"];

#[test]
fn heads_come_apart() {
    let Some(data) = data("heads_come_apart") else { return };
    for path in HEADS {
        let rig = open_rig(&data.join(path), &OpenOptions::default(), &silent).unwrap().rig;
        let found = pieces(&rig);
        let mut counts = BTreeMap::new();
        found.kinds.iter().for_each(|k| *counts.entry(*k).or_insert(0) += 1);
        println!("{path}: {:?}\n{counts:?} {:?}", rig.parts.iter().map(|p| &p.name).collect::<Vec<_>>(), found.notes);
    }
}

/// The 68 landmarks that come with the ICT head, in iBUG order, as vertices.
fn ict_landmarks(data: &std::path::Path) -> Vec<u32> {
    let text = std::fs::read_to_string(data.join("ict_facekit/vertex_indices.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let list = all["idx_to_landmark_verts"].as_array().unwrap();
    list.iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

fn draw_landmarks(rig: &risorius_rig::Rig, vertices: &[(u32, [u8; 4])], name: &str) {
    use risorius_view::{DrawOptions, FaceLook, Marker, draw};
    let Some(out) = std::env::var_os("RISORIUS_OUT") else { return };
    let look = FaceLook::prepare(rig);
    let markers: Vec<Marker> = vertices.iter().map(|&(v, c)| Marker { vertex: v, color: c, radius: 3.0 }).collect();
    for (view, yaw) in [("front", 0.0), ("side", 55.0)] {
        let options = DrawOptions {
            yaw_degrees: yaw,
            width: 900,
            height: 900,
            markers: markers.clone(),
            ..DrawOptions::default()
        };
        let picture = draw(&look, &rig.neutral, &options).unwrap();
        std::fs::write(std::path::Path::new(&out).join(format!("{name}_{view}.png")), picture.encode_png()).unwrap();
    }
}

#[test]
fn landmarks_of_the_ict_head() {
    let Some(data) = data("landmarks_of_the_ict_head") else { return };
    for path in HEADS {
        let rig = open_rig(&data.join(path), &OpenOptions::default(), &silent).unwrap().rig;
        let found = pieces(&rig);
        let start = std::time::Instant::now();
        let (marks, _) = risorius_anatomy::find::find_direct(&rig, &found);
        println!("{path}: {} found in {:?}", marks.iter().flatten().count(), start.elapsed());
        let mut dots: Vec<(u32, [u8; 4])> = marks.iter().flatten().map(|m| (m.vertex, [40, 160, 255, 255])).collect();
        if path.starts_with("ict") {
            let truth = ict_landmarks(&data);
            println!("{} {}", truth.len(), rig.n_vertices());
            for (i, &v) in truth.iter().enumerate() {
                let rv = rig.parts[0].rig_vertex[v as usize];
                let p = found.positions[rv as usize];
                dots.push((rv, [255, 60, 40, 255]));
                match &marks[i] {
                    Some(m) => println!(
                        "{:2} {:24} {:5.1} mm  {:?}",
                        i,
                        m.name,
                        m.position.distance(p) * 1000.0,
                        ((m.position - p) * 1000.0).to_array().map(|x| x.round() as i32)
                    ),
                    None => println!("{i:2} {} missing", risorius_anatomy::landmarks::NAMES[i]),
                }
            }
        }
        draw_landmarks(&rig, &dots, path.split('/').next().unwrap());
    }
}
