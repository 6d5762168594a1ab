//! `inspect` of a `.face` file: flesh, bones, muscles, quality of the build, arrays of the file.
//!
//! The text shows the worst rows of long tables; JSON has all rows.

use risorius::jobs::inspect::{BonesReport, FaceInspection};

/// Most rows of a table in the text report.
const MOST_ROWS: usize = 12;

/// The report on a face beyond its rig.
pub fn face_text(face: &FaceInspection) -> String {
    let sections = [volume, materials, bones, muscles, landmarks, jaw, fit, pairs, notes, contents];
    sections.iter().map(|section| section(face)).collect()
}

/// The first rows, and how many more there are.
fn table<T>(rows: &[T], line: impl Fn(&T) -> String) -> String {
    let mut text: String = rows.iter().take(MOST_ROWS).map(|r| format!("    {}\n", line(r))).collect();
    if rows.len() > MOST_ROWS {
        text += &format!("    and {} more (--json has all)\n", rows.len() - MOST_ROWS);
    }
    text
}

/// `name count` for each.
fn counted(all: &[(&str, usize)]) -> String {
    all.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

fn volume(face: &FaceInspection) -> String {
    let (volume, quality) = (&face.volume, &face.volume.quality);
    let moved = volume.moved_nodes.iter().sum::<usize>() as f64 / volume.moved_nodes.len().max(1) as f64;
    format!(
        "  flesh: {} nodes, {} tets, {:.3} liters; {} vertices are attached to it; a shape moves {moved:.0} nodes on \
         average\n    \
         dihedral angles from {:.1} to {:.1} degrees (mean of the smallest {:.1}), volume ratio from {:.3} (mean {:.3})\n    \
         nodes on: {}\n",
        volume.nodes,
        volume.tets,
        volume.liters,
        volume.embedded_vertices,
        quality.min_dihedral_deg,
        quality.max_dihedral_deg,
        quality.mean_min_dihedral_deg,
        quality.min_volume_length,
        quality.mean_volume_length,
        counted(&volume.bounds_in_order)
    )
}

fn materials(face: &FaceInspection) -> String {
    let materials = &face.materials;
    let ([mu0, mu1], [lambda0, lambda1]) = (materials.mu_pa, materials.lambda_pa);
    let (changing, [least, most]) = (materials.shapes_that_change, materials.mu_change_pa);
    format!(
        "  stiffness: mu {mu0:.0} to {mu1:.0} Pa, lambda {lambda0:.0} to {lambda1:.0} Pa; {changing} shapes change it, mu \
         by {least:.0} to {most:.0} Pa\n"
    )
}

fn bones(face: &FaceInspection) -> String {
    let BonesReport { cranium, mandible, teeth_upper, teeth_lower, joint, eyes, kinds_in_order, .. } =
        &face.bones;
    let all = [
        ("cranium", cranium),
        ("mandible", mandible),
        ("teeth_upper", teeth_upper),
        ("teeth_lower", teeth_lower),
    ];
    let mut text = String::new();
    for (name, bone) in all {
        let state = if bone.closed { format!("closed, {:.1} cm3", bone.cm3) } else { "not closed".into() };
        text += &format!("  {name}: {} vertices, {state}\n", bone.vertices);
    }
    let (apart, track) = (joint.apart_mm, 1000.0 * joint.track_length);
    text += &format!("  jaw joint: condyles {apart:.0} mm apart, track of {track:.1} mm\n");
    let eye = |side: usize| {
        let eye = eyes.get(side).copied().flatten();
        eye.map_or("none".into(), |e| format!("{:.1} mm", 1000.0 * e.radius))
    };
    text += &format!("  eyes: left {}, right {} (radius)\n", eye(0), eye(1));
    let kinds: Vec<_> = kinds_in_order.iter().copied().filter(|k| k.1 > 0).collect();
    text + &format!("  vertices of the rig: {}\n", counted(&kinds))
}

fn muscles(face: &FaceInspection) -> String {
    let names: Vec<&str> = face.muscles.iter().map(|m| m.name.as_str()).collect();
    let rows: String = names.chunks(4).map(|row| format!("    {}\n", row.join(", "))).collect();
    format!("  muscles: {}\n{rows}", names.len())
}

fn landmarks(face: &FaceInspection) -> String {
    let mut worst: Vec<_> = face.landmarks.iter().collect();
    worst.sort_by(|a, b| a.confidence.total_cmp(&b.confidence));
    let n_sure = worst.iter().filter(|l| l.confidence >= 0.5).count();
    let rows = table(&worst, |l| format!("{:<24} {:.2}  {}", l.name, l.confidence, l.source));
    let n = worst.len();
    format!(
        "  landmarks: {n}, {n_sure} of them with a confidence of at least 0.5; the least certain:\n{rows}"
    )
}

fn jaw(face: &FaceInspection) -> String {
    let line = |jaw: &risorius::jobs::inspect::JawReport| {
        format!("{:<32} {:5.1} degrees, slides {:.1} mm", jaw.shape, jaw.degrees, jaw.slide_mm)
    };
    let (moving, all) = (face.jaw.len(), face.n_shapes);
    format!("  jaw: moved by {moving} of {all} shapes\n{}", table(&face.jaw, line))
}

fn fit(face: &FaceInspection) -> String {
    let ([mean, most], shapes) = (face.fit.embedding_mm, &face.fit.shapes);
    let mut text =
        format!("  skin of the neutral: {mean:.3} mm from the volume on average, {most:.3} mm at most\n");
    text += &format!("  fit of {} shapes, the worst first:\n", shapes.len());
    text + &table(shapes, |s| {
        format!(
            "{:<32} mean {:.3} mm, at most {:.3} mm; least volume {:.2}, {} nodes untangled, {} iterations",
            s.name, s.fit_mm[0], s.fit_mm[1], s.least_j, s.n_untangled, s.iterations
        )
    })
}

fn pairs(face: &FaceInspection) -> String {
    let report = &face.pairs;
    let mut text = format!("  pairs of shapes: {}\n", report.pairs.summary());
    if let Some(([a, b], least)) = &report.pairs.worst {
        text += &format!("    the worst: {a} with {b}, least volume {least:.2}\n");
    }
    text += &table(&report.pairs.unrepaired, |[a, b]| format!("not repaired: {a} with {b}"));
    let (slits, fused) = (report.slit_pairs, report.fused_pairs);
    text += &format!("  closed lips and lids: {slits} pairs of vertices, {fused} fused\n");
    let pose: Vec<String> =
        report.parting_pose.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !pose.is_empty() {
        text += &format!("    separated at {}\n", pose.join(", "));
    }
    text
}

fn notes(face: &FaceInspection) -> String {
    table(&face.build_notes, |n| format!("note: {} -> {}", n.what, n.advice))
}

fn contents(face: &FaceInspection) -> String {
    let contents = &face.contents;
    let mut largest: Vec<_> = contents.arrays.iter().collect();
    largest.sort_by_key(|array| std::cmp::Reverse(array.bytes));
    let mb = |n: u64| n as f64 / 1e6;
    let rows = table(&largest, |array| {
        format!("{:<36} {:?} {:?}, {:.2} MB", array.name, array.dtype, array.shape, mb(array.bytes))
    });
    format!(
        "  file: {:.2} MB in {} arrays, version {}, written by {}; the largest:\n{rows}",
        mb(contents.bytes as u64),
        largest.len(),
        contents.version,
        contents.software
    )
}
