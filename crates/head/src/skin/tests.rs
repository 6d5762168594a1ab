//! Guarantees of the neutral head that other modules rely on.

use super::*;
use crate::landmarks::{self, NAMES};
use risorius_base::progress;
use risorius_mesh::surface::topology::boundary_loops;
use risorius_mesh::surface::{components, defects};
use risorius_mesh::{Bvh, Edges, self_intersections};
use std::sync::LazyLock;

static HEAD: LazyLock<NeutralHead> = LazyLock::new(neutral);

fn skin() -> &'static PartMesh {
    &HEAD.parts[0]
}

fn single(positions: &[DVec3]) -> Vec<[f32; 3]> {
    positions.iter().map(|p| p.as_vec3().to_array()).collect()
}

fn mirrored(p: DVec3) -> DVec3 {
    DVec3::new(-p.x, p.y, p.z)
}

#[test]
fn the_skin_is_one_sheet_of_quads_with_one_border() {
    let n = skin().positions.len();
    assert!((8_000..=15_000).contains(&n), "{n} vertices");
    assert!(skin().faces.iter().all(|f| f.len() == 4));
    let edges = Edges::of(&skin().faces);
    assert!(edges.non_manifold().is_empty() && edges.inconsistent().is_empty());
    let borders = boundary_loops(&edges);
    assert_eq!(borders.len(), 1);
    let mut border = borders[0].vertices.clone();
    let mut named = HEAD.loops["neck_border"].vertices.clone();
    border.sort_unstable();
    named.sort_unstable();
    assert_eq!(border, named);
    assert_eq!(components::components(n, &skin().faces).sizes, [n as u32]);
    assert!(components::unreferenced(n, &skin().faces).is_empty());
}

#[test]
fn every_other_part_is_closed_and_wound_outwards() {
    let names: Vec<&str> = HEAD.parts.iter().map(|p| p.name.as_str()).collect();
    let wanted =
        ["skin", "eye_left", "eye_right", "teeth_upper", "teeth_lower", "gums_upper", "gums_lower", "tongue"];
    assert_eq!(names, wanted);
    for part in &HEAD.parts[1..] {
        let edges = Edges::of(&part.faces);
        assert!(edges.boundary().is_empty() && edges.inconsistent().is_empty(), "{}", part.name);
        let surface = risorius_mesh::TriMesh {
            positions: part.positions.clone(),
            triangles: part.faces.triangulated(),
        };
        assert!(surface.volume() > 0.0, "{}", part.name);
    }
    let pieces = |part: &PartMesh| components::components(part.positions.len(), &part.faces).sizes.len();
    assert_eq!((pieces(&HEAD.parts[3]), pieces(&HEAD.parts[4])), (14, 14));
}

#[test]
fn nothing_passes_through_the_skin() {
    let rig = to_rig(&HEAD);
    let triangles = rig.triangles();
    let found =
        self_intersections(&rig.neutral, &triangles, &Default::default(), &progress::no_progress).unwrap();
    assert!(found.complete);
    let n_skin = skin().positions.len() as u32;
    let of_skin = |t: &u32| triangles[*t as usize][0] < n_skin;
    let n = found.pairs.iter().filter(|pair| pair.iter().any(of_skin)).count();
    assert_eq!(n, 0, "crossing pairs");
    let degenerate = defects::degenerate_faces(&rig.neutral[..n_skin as usize], &skin().faces);
    assert!(degenerate.is_empty(), "{degenerate:?}");
}

#[test]
fn both_halves_are_equal() {
    for (v, &m) in HEAD.mirror.iter().enumerate() {
        assert_eq!(HEAD.mirror[m as usize] as usize, v);
        assert!(skin().positions[v].distance(mirrored(skin().positions[m as usize])) < 1e-12);
    }
    for (name, chain) in &HEAD.loops {
        let other = &HEAD.loops[&name.replace("left", "right")];
        if name.contains("left") {
            let image: Vec<u32> = chain.vertices.iter().map(|&v| HEAD.mirror[v as usize]).collect();
            assert_eq!(&image, &other.vertices, "{name}");
        }
    }
    for part in &HEAD.parts[1..] {
        let swap = if part.name.contains("left") { ["left", "right"] } else { ["right", "left"] };
        let name = part.name.replace(swap[0], swap[1]);
        let other = HEAD.parts.iter().find(|p| p.name == name).unwrap();
        for p in &part.positions {
            let nearest = other.positions.iter().map(|q| q.distance(mirrored(*p))).fold(f64::MAX, f64::min);
            assert!(nearest < 1e-6, "{}", part.name);
        }
    }
}

/// Distance in mm of skin vertex `v` from the left eyeball's surface, the cornea included.
fn off_eyeball(v: u32) -> f64 {
    let d = skin().positions[v as usize] / METERS - eyes::CENTER;
    d.length() - eyes::eyeball_radius(d.z / d.length())
}

#[test]
fn lids_rest_on_the_eyeball() {
    for name in ["lid_upper_left_edge_inner", "lid_lower_left_edge_inner"] {
        for &v in &HEAD.loops[name].vertices {
            assert!((0.0..0.4).contains(&off_eyeball(v)), "{name}: {} mm", off_eyeball(v));
        }
    }
    for name in ["eye_socket_left", "lids_upper_left", "lids_lower_left"] {
        assert!(HEAD.regions[name].iter().all(|&v| off_eyeball(v) > 0.05), "{name}");
    }
}

#[test]
fn lips_are_closed_without_touching() {
    for name in ["outer", "inner"] {
        let upper = &HEAD.loops[&format!("lip_upper_{name}")].vertices;
        let lower = &HEAD.loops[&format!("lip_lower_{name}")].vertices;
        assert_eq!((upper[0], upper.last()), (lower[0], lower.last()), "both lips end in the corners");
        let n = upper.len();
        for (i, (&u, &l)) in upper.iter().zip(lower).enumerate() {
            let gap = (skin().positions[u as usize] - skin().positions[l as usize]) / METERS;
            let near_corner = i.min(n - 1 - i) < 5;
            assert!(gap.y < 0.4 && (near_corner || gap.y > 0.15), "{name} {i}: {gap}");
            assert!(i == 0 || i == n - 1 || gap.y > 0.0, "{name} {i}");
        }
    }
}

#[test]
fn teeth_lie_just_behind_the_lips() {
    let teeth = &HEAD.parts[3];
    let bvh = Bvh::build(&single(&skin().positions), &skin().faces.triangulated());
    let edge =
        teeth.positions.iter().filter(|p| p.x.abs() < 4e-3).min_by(|a, b| a.y.total_cmp(&b.y)).unwrap();
    assert!((*edge / METERS).distance(DVec3::new(edge.x / METERS, -47.0, 90.0)) < 2.0, "{edge}");
    let nearest = bvh.closest_point(*edge, f64::INFINITY).unwrap();
    let distance = nearest.distance_sq.sqrt() / METERS;
    assert!((0.5..3.5).contains(&distance), "{distance} mm");
}

#[test]
fn landmarks_are_where_the_bones_expect_them() {
    const KEY: [(&str, [f64; 3]); 26] = [
        ("eye_left_inner", [16.0, 23.0, 75.0]),
        ("eye_left_outer", [45.0, 25.0, 67.0]),
        ("glabella", [0.0, 48.0, 95.0]),
        ("nasion", [0.0, 33.0, 90.0]),
        ("rhinion", [0.0, 14.0, 103.0]),
        ("nose_tip", [0.0, -10.0, 117.0]),
        ("subnasale", [0.0, -22.0, 100.0]),
        ("alare_left", [17.5, -14.0, 98.0]),
        ("mid_philtrum", [0.0, -30.0, 100.0]),
        ("lip_upper_middle", [0.0, -37.0, 102.0]),
        ("lip_upper_middle_inner", [0.0, -44.0, 99.0]),
        ("lip_lower_middle", [0.0, -53.0, 100.0]),
        ("mouth_left", [25.0, -45.0, 87.0]),
        ("supramentale", [0.0, -62.0, 93.0]),
        ("pogonion", [0.0, -78.0, 95.0]),
        ("gnathion", [0.0, -91.0, 84.0]),
        ("gonion_left", [54.0, -62.0, 14.0]),
        ("zygion_left", [68.0, 8.0, 45.0]),
        ("orbitale_left", [31.0, 8.0, 76.0]),
        ("supraorbitale_left", [33.0, 42.0, 84.0]),
        ("mid_cheek_left", [42.0, -25.0, 72.0]),
        ("tragion_left", [72.0, 2.0, -8.0]),
        ("neck_pit", [0.0, -165.0, 30.0]),
        ("vertex", [0.0, 135.0, -12.0]),
        ("trichion", [0.0, 100.0, 80.0]),
        ("frontotemporale_left", [56.0, 55.0, 62.0]),
    ];
    let surface = Bvh::build(&single(&skin().positions), &skin().faces.triangulated());
    for (name, place) in KEY {
        let place = DVec3::from(place) * METERS;
        let off = surface.closest_point(place, f64::INFINITY).unwrap().distance_sq.sqrt() / METERS;
        assert!(off < 2.5, "the skin passes {name} at {off} mm");
        let v = HEAD.landmarks[landmarks::index(name).unwrap()];
        let off = skin().positions[v as usize].distance(place) / METERS;
        // Vertices on the cranium are 14 mm apart.
        assert!(
            off < if ["vertex", "trichion"].contains(&name) { 8.0 } else { 2.8 },
            "{name} is {off} mm off"
        );
    }
    assert_eq!(HEAD.landmarks.len(), NAMES.len());
    for (i, &v) in HEAD.landmarks.iter().enumerate() {
        assert_eq!(HEAD.landmarks[landmarks::mirrored(i)], HEAD.mirror[v as usize], "{}", NAMES[i]);
    }
}

#[test]
fn the_head_is_the_same_on_every_run() {
    let again = neutral();
    for (a, b) in HEAD.parts.iter().zip(&again.parts) {
        assert_eq!((&a.positions, &a.faces), (&b.positions, &b.faces), "{}", a.name);
    }
    assert_eq!(
        (&HEAD.loops, &HEAD.regions, &HEAD.landmarks),
        (&again.loops, &again.regions, &again.landmarks)
    );
}

#[test]
fn the_rig_holds_every_region() {
    let rig = to_rig(&HEAD);
    assert_eq!(rig.parts[0].vertices, 0..skin().positions.len());
    for name in [
        "lips_upper lips_lower lids_upper_left lids_lower_left lids_upper_right lids_lower_right",
        "cheek_left cheek_right nose brow_left brow_right forehead chin neck ear_left ear_right scalp mouth_bag",
        "eye_socket_left eye_socket_right teeth_upper teeth_lower jowl_left jowl_right under_chin around_mouth",
    ]
    .iter()
    .flat_map(|names| names.split(' '))
    {
        let region = rig.regions.get(name).unwrap_or_else(|| panic!("no region {name}"));
        assert!(region.len() > 20 && region.is_sorted(), "{name}");
    }
}
