//! `inspect` of a `.face` file: what was built beneath the rig, how well, and what the file is made of.
//!
//! Text shows the worst rows of long tables; JSON has all.

use crate::files::in_file;
use crate::session::Failure;
use risorius_base::Rigid;
use risorius_flesh::{BuildReport, Face, Flesh};
use risorius_head::JawJoint;
use risorius_io::native::face::{self, BOUND_NAMES, FaceFile, PIECE_KINDS};
use risorius_mesh::tet::quality::Quality;
use risorius_mesh::{Edges, Polygons, TriMesh};
use serde_json::{Value, json};
use std::path::Path;

/// Rows of a table that text shows.
const MOST_ROWS: usize = 12;

/// What is told of a face beyond its rig.
pub struct FaceReport {
    /// For programs.
    pub json: Value,
    /// For people.
    pub text: String,
}

/// Opens a face and tells about it.
pub fn inspect(path: &Path) -> Result<FaceReport, Failure> {
    let file = face::open_file(path).map_err(in_file(path))?;
    let face = &file.face;
    let names: Vec<&str> = face.rig.shapes.iter().map(|s| s.name.as_str()).collect();
    let sections = [
        volume(&face.flesh),
        materials(&face.flesh),
        bones(face),
        muscles(face),
        landmarks(face),
        jaw(face, &names),
        shapes(&face.report),
        pairs(&face.report),
        notes(face),
        arrays(&file),
    ];
    let mut report = FaceReport { json: json!({}), text: String::new() };
    for (key, value, text) in sections {
        report.json[key] = value;
        report.text += &text;
    }
    Ok(report)
}

/// A key of the JSON, its value, and lines of text.
type Section = (&'static str, Value, String);

/// The first rows, and how many more there are.
fn table<T>(rows: &[T], line: impl Fn(&T) -> String) -> String {
    let mut text: String = rows.iter().take(MOST_ROWS).map(|r| format!("    {}\n", line(r))).collect();
    if rows.len() > MOST_ROWS {
        text += &format!("    and {} more (--json has all)\n", rows.len() - MOST_ROWS);
    }
    text
}

fn volume(flesh: &Flesh) -> Section {
    let mesh = flesh.mesh();
    let quality = Quality::of(&mesh);
    let liters = 1000.0 * mesh.volumes().iter().sum::<f64>();
    let count = |number: usize| flesh.bounds.iter().filter(|&&b| usize::from(b) == number).count();
    let bounds: Vec<(&str, usize)> =
        BOUND_NAMES.iter().enumerate().map(|(i, name)| (*name, count(i))).collect();
    let moved: Vec<usize> = flesh.volumes.iter().map(|v| v.nodes.len()).collect();
    let mean_moved = moved.iter().sum::<usize>() as f64 / moved.len().max(1) as f64;
    let json = json!({
        "nodes": flesh.n_nodes(),
        "tets": flesh.tets.len(),
        "liters": liters,
        "bounds": bounds.iter().map(|(name, n)| (name.to_string(), (*n).into())).collect::<serde_json::Map<_, _>>(),
        "embedded_vertices": flesh.embedding.vertices.len(),
        "moved_nodes": moved,
        "quality": {
            "min_dihedral_deg": quality.min_dihedral_deg,
            "mean_min_dihedral_deg": quality.mean_min_dihedral_deg,
            "max_dihedral_deg": quality.max_dihedral_deg,
            "min_volume_length": quality.min_volume_length,
            "mean_volume_length": quality.mean_volume_length,
        },
    });
    let listed: Vec<String> = bounds.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let text = format!(
        "  flesh: {} nodes, {} tets, {liters:.3} liters; {} vertices hang on it; a shape moves {mean_moved:.0} nodes in the mean\n    \
         dihedral angles from {:.1} to {:.1} degrees (mean of the smallest {:.1}), volume ratio from {:.3} (mean {:.3})\n    \
         nodes on: {}\n",
        flesh.n_nodes(),
        flesh.tets.len(),
        flesh.embedding.vertices.len(),
        quality.min_dihedral_deg,
        quality.max_dihedral_deg,
        quality.mean_min_dihedral_deg,
        quality.min_volume_length,
        quality.mean_volume_length,
        listed.join(", ")
    );
    ("volume", json, text)
}

fn materials(flesh: &Flesh) -> Section {
    let range = |values: &[f32]| {
        values.iter().fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], &x| [low.min(x), high.max(x)])
    };
    let materials = &flesh.materials;
    let (mu, lambda) = (range(&materials.mu), range(&materials.lambda));
    let n_changed = materials.shapes.iter().filter(|s| !s.tets.is_empty()).count();
    let changes = materials
        .shapes
        .iter()
        .map(|s| range(&s.mu))
        .fold([0.0f32, 0.0], |[low, high], [a, b]| [low.min(a), high.max(b)]);
    let json = json!({
        "mu_pa": mu, "lambda_pa": lambda, "shapes_that_change": n_changed, "mu_change_pa": changes,
    });
    let text = format!(
        "  stiffness: mu {:.0} to {:.0} Pa, lambda {:.0} to {:.0} Pa; {n_changed} shapes change it, mu by {:.0} to {:.0} Pa\n",
        mu[0], mu[1], lambda[0], lambda[1], changes[0], changes[1]
    );
    ("materials", json, text)
}

fn bones(face: &Face) -> Section {
    let anatomy = &face.anatomy;
    let surfaces: [(&str, &TriMesh); 4] = [
        ("cranium", &anatomy.bones.cranium),
        ("mandible", &anatomy.bones.mandible),
        ("teeth_upper", &anatomy.teeth[0]),
        ("teeth_lower", &anatomy.teeth[1]),
    ];
    let mut json = json!({});
    let mut text = String::new();
    for (name, surface) in surfaces {
        let edges = Edges::of(&Polygons::from_triangles(&surface.triangles));
        let closed =
            !surface.triangles.is_empty() && edges.boundary().is_empty() && edges.non_manifold().is_empty();
        let cm3 = surface.volume() * 1e6;
        json[name] = json!({
            "vertices": surface.positions.len(), "triangles": surface.triangles.len(), "closed": closed, "cm3": cm3,
        });
        let state = if closed { format!("closed, {cm3:.1} cm3") } else { "not closed".into() };
        text += &format!("  {name}: {} vertices, {state}\n", surface.positions.len());
    }
    let joint = &anatomy.bones.joint;
    let apart = 1000.0 * joint.condyles[0].distance(joint.condyles[1]);
    json["joint"] = json!({
        "condyles": joint.condyles.map(|c| c.to_array()),
        "track": joint.track.to_array(),
        "track_length": joint.track_length,
    });
    json["eyes"] = anatomy
        .eyes
        .iter()
        .map(|e| {
            e.map(|e| json!({ "center": e.center.to_array(), "radius": e.radius, "residual": e.residual }))
        })
        .collect();
    let eye =
        |side: usize| anatomy.eyes[side].map_or("none".into(), |e| format!("{:.1} mm", 1000.0 * e.radius));
    text += &format!(
        "  jaw joint: condyles {apart:.0} mm apart, track of {:.1} mm\n",
        1000.0 * joint.track_length
    );
    text += &format!("  eyes: left {}, right {} (radius)\n", eye(0), eye(1));
    let kinds = PIECE_KINDS.map(|(kind, name)| (name, anatomy.pieces.vertices(kind).len()));
    json["vertices_of_rig"] = kinds
        .iter()
        .map(|(name, n)| (name.to_string(), (*n).into()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let listed: Vec<String> =
        kinds.iter().filter(|k| k.1 > 0).map(|(name, n)| format!("{name} {n}")).collect();
    text += &format!("  vertices of the rig: {}\n", listed.join(", "));
    ("bones", json, text)
}

fn muscles(face: &Face) -> Section {
    let all = &face.anatomy.muscles;
    let json = all.iter().map(|m| {
        let end = |a| format!("{a:?}").to_lowercase();
        json!({
            "name": m.name, "origin": end(m.origin), "insertion": end(m.insertion), "counts": m.solid.counts,
        })
    });
    let names: Vec<&str> = all.iter().map(|m| m.name.as_str()).collect();
    let mut text = format!("  muscles: {}\n", all.len());
    names.chunks(4).for_each(|row| text += &format!("    {}\n", row.join(", ")));
    ("muscles", json.collect(), text)
}

fn landmarks(face: &Face) -> Section {
    let all = &face.anatomy.landmarks;
    let json = all.iter().map(|l| {
        json!({
            "name": l.name, "position": l.position.to_array(), "vertex": l.vertex,
            "confidence": l.confidence, "source": l.source,
        })
    });
    let n_sure = all.iter().filter(|l| l.confidence >= 0.5).count();
    let mut text = format!(
        "  landmarks: {}, {n_sure} of them with a confidence of at least 0.5; the least sure:\n",
        all.len()
    );
    let mut worst: Vec<_> = all.iter().collect();
    worst.sort_by(|a, b| a.confidence.total_cmp(&b.confidence));
    text += &table(&worst, |l| format!("{:<24} {:.2}  {}", l.name, l.confidence, l.source));
    ("landmarks", json.collect(), text)
}

/// Opening in degrees and slide of the point between the condyles in millimeters.
fn opening(motion: &Rigid, joint: &JawJoint) -> (f64, f64) {
    let center = joint.center();
    (motion.rotation_vector().length().to_degrees(), 1000.0 * motion.apply(center).distance(center))
}

fn jaw(face: &Face, names: &[&str]) -> Section {
    let joint = &face.anatomy.bones.joint;
    let all = names.iter().zip(&face.anatomy.jaw_motion);
    let mut moving: Vec<(&str, f64, f64)> = all
        .filter(|(_, m)| **m != Rigid::IDENTITY)
        .map(|(name, m)| {
            let (degrees, slide) = opening(m, joint);
            (*name, degrees, slide)
        })
        .collect();
    moving.sort_by(|a, b| b.1.total_cmp(&a.1));
    let json =
        moving.iter().map(|(n, degrees, mm)| json!({ "shape": n, "degrees": degrees, "slide_mm": mm }));
    let mut text = format!("  jaw: moved by {} of {} shapes\n", moving.len(), names.len());
    text += &table(&moving, |(n, degrees, mm)| format!("{n:<32} {degrees:5.1} degrees, slides {mm:.1} mm"));
    ("jaw", json.collect(), text)
}

fn shapes(report: &BuildReport) -> Section {
    let mut worst: Vec<_> = report.shapes.iter().collect();
    worst.sort_by(|a, b| b.fit_mm[1].total_cmp(&a.fit_mm[1]));
    let mut text = format!(
        "  skin of the neutral: {:.3} mm from the volume in the mean, {:.3} mm at most\n",
        report.embedding_mm[0], report.embedding_mm[1]
    );
    text += &format!("  fit of {} shapes, the worst first:\n", worst.len());
    text += &table(&worst, |s| {
        format!(
            "{:<32} {:.3} mm in the mean, {:.3} mm at most; least volume {:.2}, {} nodes untangled, {} iterations",
            s.name, s.fit_mm[0], s.fit_mm[1], s.least_j, s.n_untangled, s.iterations
        )
    });
    let json = json!({ "embedding_mm": report.embedding_mm, "shapes": worst });
    ("fit", json, text)
}

fn pairs(report: &BuildReport) -> Section {
    let pairs = &report.pairs;
    let mut text = format!("  pairs of shapes: {}\n", pairs.summary());
    if let Some(([a, b], least)) = &pairs.worst {
        text += &format!("    the worst: {a} with {b}, least volume {least:.2}\n");
    }
    text += &table(&pairs.unrepaired, |[a, b]| format!("drawn back: {a} with {b}"));
    text += &format!(
        "  closed lips and lids: {} pairs of vertices, {} fused\n",
        report.n_slit_pairs, report.n_fused_pairs
    );
    let pose: Vec<String> =
        report.parting_pose.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !pose.is_empty() {
        text += &format!("    parted at {}\n", pose.join(", "));
    }
    let json = json!({
        "pairs": pairs, "slit_pairs": report.n_slit_pairs, "fused_pairs": report.n_fused_pairs,
        "parting_pose": report.parting_pose,
    });
    ("pairs", json, text)
}

fn notes(face: &Face) -> Section {
    let notes = &face.anatomy.notes;
    let text = table(notes, |n| format!("note: {} -> {}", n.what, n.advice));
    ("build_notes", json!(notes), text)
}

fn arrays(file: &FaceFile) -> Section {
    let mut largest: Vec<_> = file.arrays.iter().collect();
    largest.sort_by_key(|(_, info)| std::cmp::Reverse(info.n_bytes()));
    let json = json!({
        "bytes": file.n_bytes,
        "software": file.software,
        "version": face::VERSION,
        "arrays": file.arrays.iter().map(|(name, info)| json!({
            "name": name, "dtype": info.dtype, "shape": info.shape, "bytes": info.n_bytes(),
        })).collect::<Vec<_>>(),
    });
    let mb = |n: u64| n as f64 / 1e6;
    let mut text = format!(
        "  file: {:.2} MB in {} arrays, version {}, written by {}; the largest:\n",
        mb(file.n_bytes as u64),
        file.arrays.len(),
        face::VERSION,
        file.software
    );
    text += &table(&largest, |(name, info)| {
        format!("{name:<36} {:?} {:?}, {:.2} MB", info.dtype, info.shape, mb(info.n_bytes()))
    });
    ("contents", json, text)
}
