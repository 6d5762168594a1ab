//! Rest shapes of real heads over a recorded range of motion: how often blends are squashed, how far the
//! repair moves nodes, how smooth it is over time, and how the flesh of lids and lips lies.

use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::no_progress;
use risorius_flesh::Face;
use risorius_flesh::rest::{LEAST_J, RestVolumes};
use risorius_io::formats::clip_csv::ClipOptions;
use risorius_io::open::open_clip;
use risorius_rig::{BoundClip, Evaluator};
use risorius_tests::data;
use risorius_tests::flesh::{faces, lip_pairs};
use std::path::Path;

/// Frames sampled from the range of motion.
const FRAMES: usize = 51;

fn range_of_motion(data: &Path, face: &Face) -> BoundClip {
    let path = data.join("performances/livelink_rom.csv");
    let clip = open_clip(&path, &ClipOptions::default(), &no_progress).unwrap().clip;
    clip.bind(&face.rig).unwrap().0
}

/// Strengths at `share` of the way from a frame to the next.
fn strengths(clip: &BoundClip, evaluator: &Evaluator, frame: usize, share: f32) -> Vec<f64> {
    let [a, b] = [clip.frame(frame), clip.frame(frame + 1)];
    let weights: Vec<f32> = a.iter().zip(b).map(|(a, b)| a + (b - a) * share).collect();
    evaluator.strengths(&weights).iter().map(|&c| c.into()).collect()
}

/// Bounds for one head: share of frames with an inverted element before the repair, mm that the repair moves
/// a node, mm of acceleration that the repair adds.
struct Bounds {
    inverted: f64,
    moved_mm: f64,
    jitter_mm: f64,
}

/// As measured with 3,000 nodes, with a margin of a third or more.
fn bounds(head: &str) -> Bounds {
    let [inverted, moved_mm, jitter_mm] = match head {
        "facecap" => [0.35, 5.0, 0.25],
        "built-in" => [0.08, 1.5, 0.15],
        "makehuman" => [0.25, 2.5, 0.2],
        // The solve of its `mouthClose` ends in other minima when rounding changes: 1.2 to 4.3 mm.
        _ => [0.25, 4.5, 0.25],
    };
    Bounds { inverted, moved_mm, jitter_mm }
}

/// Largest second difference of a node over three states, mm.
fn acceleration(x: [&[DVec3]; 3]) -> f64 {
    let second = |i: usize| 1000.0 * (x[0][i] - 2.0 * x[1][i] + x[2][i]).length();
    (0..x[0].len()).map(second).fold(0.0, f64::max)
}

/// What the repair did at one frame.
struct Repaired {
    inverted: bool,
    smooth: bool,
    share: f64,
    moved_mm: f64,
    after: f64,
    /// Of the rest state, and of the linear blend.
    accelerations: [f64; 2],
}

fn repaired(rest: &RestVolumes, states: &[Vec<f64>; 3]) -> Repaired {
    let linear = states.each_ref().map(|c| rest.linear(c));
    let found = states.each_ref().map(|c| rest.at(c).unwrap());
    Repaired {
        inverted: found[0].worst_before.0 < LEAST_J,
        smooth: found[0].is_smooth,
        share: found[0].share,
        moved_mm: 1000.0 * found[0].longest_motion,
        after: rest.worst(&found[0].positions).0,
        accelerations: [
            acceleration(found.each_ref().map(|f| &f.positions[..])),
            acceleration(linear.each_ref().map(|l| &l[..])),
        ],
    }
}

#[test]
fn blends_are_repaired_little_and_smoothly() {
    let Some(data) = data("blends_are_repaired_little_and_smoothly") else { return };
    let mut failures = Vec::new();
    for (name, face) in faces() {
        let (clip, evaluator) = (range_of_motion(&data, face), Evaluator::prepare(&face.rig));
        let rest = RestVolumes::prepare(&face.flesh).unwrap();
        let last = clip.n_frames() - 2;
        let at = |i: usize| {
            let frame = i * last / (FRAMES - 1);
            repaired(&rest, &[0.0, 0.25, 0.5].map(|share| strengths(&clip, &evaluator, frame, share)))
        };
        let all: Vec<Repaired> = (0..FRAMES).into_par_iter().map(at).collect();
        let most = |f: &dyn Fn(&Repaired) -> f64| all.iter().map(f).fold(0.0, f64::max);
        let inverted = all.iter().filter(|r| r.inverted).count() as f64 / FRAMES as f64;
        let moved = most(&|r| r.moved_mm);
        let jitter = most(&|r| r.accelerations[0] - r.accelerations[1]);
        println!(
            "{name}: {:.0} % of frames with an inverted element, moved by at most {moved:.2} mm, acceleration {:.3} mm, of the linear blend {:.3} mm, added {jitter:.3} mm; {} correctives",
            100.0 * inverted,
            most(&|r| r.accelerations[0]),
            most(&|r| r.accelerations[1]),
            face.flesh.correctives.len()
        );
        let bounds = bounds(name);
        let checks = [
            ("inverted", inverted, bounds.inverted),
            ("moved", moved, bounds.moved_mm),
            ("jitter", jitter, bounds.jitter_mm),
            ("not smooth", most(&|r| f64::from(!r.smooth)), 0.5),
            ("toward the neutral", most(&|r| 1.0 - r.share), 0.01),
            ("below the least volume", most(&|r| LEAST_J - r.after), 0.0),
        ];
        let beyond = checks.iter().filter(|(_, value, bound)| value > bound);
        failures
            .extend(beyond.map(|(what, value, bound)| format!("{name}: {what} {value:.3}, bound {bound}")));
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Signed gaps between lips, mm: positive for air, negative where one lip is in the other. `lips` are pairs
/// of vertices that touch in the neutral, with the direction from the first into the air.
fn gaps(lips: &[([u32; 2], DVec3)], x: &[DVec3]) -> Vec<f64> {
    lips.iter().map(|([a, b], n)| 1000.0 * (x[*b as usize] - x[*a as usize]).dot(*n)).collect()
}

/// The flesh of upper and lower lip does not overlap deeper than the artist's own lips do [Kozlov17, sec. 7].
#[test]
fn flesh_of_lips_overlaps_no_deeper_than_the_skin() {
    let Some(data) = data("flesh_of_lips_overlaps_no_deeper_than_the_skin") else { return };
    for (name, face) in faces() {
        let pieces = &face.anatomy.pieces;
        let skin =
            risorius_mesh::TriMesh { positions: pieces.positions.clone(), triangles: pieces.skin.clone() };
        let normals = skin.vertex_normals();
        let embedding = &face.flesh.embedding;
        let embedded = |v: &u32| embedding.vertices.binary_search(v).is_ok();
        // Vertices that face each other: the normal of the first points into the gap.
        let lips: Vec<([u32; 2], DVec3)> = lip_pairs(&face.rig, pieces)
            .into_iter()
            .filter(|p| p.iter().all(embedded))
            .map(|p| (p, normals[p[0] as usize] - normals[p[1] as usize]))
            .filter(|(_, n)| n.length() > 1.0)
            .map(|(p, n)| (p, n.normalize()))
            .collect();
        let (clip, evaluator) = (range_of_motion(&data, face), Evaluator::prepare(&face.rig));
        let rest = RestVolumes::prepare(&face.flesh).unwrap();
        let last = clip.n_frames() - 2;
        let deeper = |i: usize| {
            let frame = i * last / (FRAMES - 1);
            let artist = evaluator.positions(clip.frame(frame));
            let per_unit = face.rig.space.si_from_file();
            let moved = |v: usize| {
                let [a, b] = [artist[v], face.rig.neutral[v]].map(|p| glam::Vec3::from(p).as_dvec3());
                pieces.positions[v] + per_unit * (a - b)
            };
            let artist: Vec<DVec3> = (0..artist.len()).map(moved).collect();
            let positions = rest.at(&strengths(&clip, &evaluator, frame, 0.0)).unwrap().positions;
            let offsets: Vec<DVec3> =
                positions.iter().zip(face.flesh.rest()).map(|(x, x0)| *x - x0).collect();
            let mut flesh = pieces.positions.clone();
            for (&v, offset) in embedding.vertices.iter().zip(embedding.apply(&face.flesh.tets, &offsets)) {
                flesh[v as usize] += offset;
            }
            let (skin, flesh) = (gaps(&lips, &artist), gaps(&lips, &flesh));
            skin.iter().zip(&flesh).map(|(s, f)| s.min(0.0) - f.min(0.0)).collect::<Vec<f64>>()
        };
        let mut all: Vec<f64> = (0..FRAMES).into_par_iter().flat_map_iter(deeper).collect();
        all.sort_by(f64::total_cmp);
        let most = all.last().copied().unwrap_or(0.0);
        let usual = all.get(all.len() * 99 / 100).copied().unwrap_or(0.0);
        println!(
            "{name}: {} pairs of lips; flesh deeper than skin by {most:.2} mm, 99 % below {usual:.2}",
            lips.len()
        );
        // 0.6 and 1.1 mm were measured on facecap, whose lips have 31 pairs. Contact starts at the overlap of
        // the artist's skin, not at that of the flesh.
        assert!(lips.len() > 20 && usual < 0.8 && most < 3.0, "{name}: {usual} and {most} mm");
    }
}

/// Lids are thinner than an element, and still follow the skin.
#[test]
fn lids_and_closed_lips_are_matched() {
    for (name, face) in faces() {
        // At most 3.7 mm were measured on lids; 5 to 6 mm before skin vertices pulled at the flesh. ICT's
        // mouthClose is 7.5 to 9.4 mm off at one vertex beside a corner: its solve ends in other minima
        // when rounding changes (15 mm before).
        let wanted = [("blink", 5.0), ("closure", 5.0), ("mouthclose", 11.0)];
        for shape in &face.report.shapes {
            let lower = shape.name.to_lowercase();
            if let Some((_, bound)) = wanted.iter().find(|(w, _)| lower.contains(w)) {
                let [mean, most] = shape.fit_mm;
                println!(
                    "{name}: {} {mean:.2} mm, at most {most:.2}; least J {:.2}",
                    shape.name, shape.least_j
                );
                assert!(mean < 1.1 && most < *bound, "{name}: {}", shape.name);
            }
        }
    }
}
