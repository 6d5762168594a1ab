//! Wrinkles for the built-in head: sculpts made in code, and a detail learned from them.
//!
//! A sculpt is a pose with furrows across the motion of its strongest sliders, where the skin is compressed
//! in front of it: lines of the forehead over raised brows, lines between lowered brows, crow's feet beside a
//! smile. Furrows wander and vary in depth. They are examples to learn from, not anatomy.

use crate::error::Result;
use crate::jobs::detail::learn::LearnJob;
use glam::Vec3;
use risorius_base::ease::smoothstep;
use risorius_base::progress::Progress;
use risorius_head::{Head, landmarks};
use risorius_io::formats::obj;
use risorius_io::output::write_whole;
use risorius_mesh::VertexNormals;
use risorius_rig::Evaluator;
use std::path::{Path, PathBuf};

/// Distance between furrows, meters. Edges of the head are 4 mm long, so finer furrows would be blotches.
const SPACING: f32 = 0.014;

/// A sculpt: its name, the sliders of its pose, the place of its furrows (x to the left, mirrored; meters
/// above and before the middle between the eyes), their reach and depth in meters, and the direction across
/// them.
struct Sculpt {
    name: &'static str,
    sliders: &'static [(&'static str, f32)],
    place: [f32; 3],
    reach: [f32; 3],
    depth: f32,
    across: [f32; 3],
}

const SCULPTS: [Sculpt; 3] = [
    Sculpt {
        name: "raised_brows",
        sliders: &[("browInnerUp", 1.0), ("browOuterUpLeft", 1.0), ("browOuterUpRight", 1.0)],
        place: [0.0, 0.042, 0.0],
        reach: [0.042, 0.016, 0.1],
        depth: 0.003,
        across: [0.0, 1.0, 0.0],
    },
    Sculpt {
        name: "lowered_brows",
        sliders: &[("browDownLeft", 1.0), ("browDownRight", 1.0)],
        place: [0.0, 0.018, 0.0],
        reach: [0.013, 0.016, 0.1],
        depth: 0.002,
        across: [1.0, 0.0, 0.0],
    },
    Sculpt {
        name: "smile",
        sliders: &[
            ("mouthSmileLeft", 1.0),
            ("mouthSmileRight", 1.0),
            ("cheekSquintLeft", 1.0),
            ("cheekSquintRight", 1.0),
        ],
        place: [0.058, -0.001, -0.02],
        reach: [0.01, 0.01, 0.025],
        depth: 0.0012,
        across: [0.0, 1.0, 0.0],
    },
];

/// Learns the wrinkles of the built-in head and writes them to `detail`; the sculpts are written to the
/// folders `sculpts` and `plain` beside it. Returns their files.
pub(super) fn make(head: &Head, detail: &Path, progress: &Progress) -> Result<Vec<PathBuf>> {
    let folder = detail.parent().unwrap_or(Path::new("."));
    let rig = &head.rig;
    let corners = ["eye_left_inner", "eye_right_inner"].into_iter().filter_map(landmarks::index);
    let between_eyes: Vec3 = corners.map(|i| 0.5 * head.landmarks[i].as_vec3()).sum();
    let evaluator = Evaluator::prepare(rig);
    let normals = VertexNormals::prepare(rig.n_vertices(), &rig.triangles());
    let mut files = Vec::new();
    for sculpt in &SCULPTS {
        let plain = evaluator.positions(&super::values(rig, sculpt.sliders));
        let normals = normals.compute(&plain);
        let carve = |v: usize| {
            let depth = sculpt.depth_at(rig.neutral[v].into(), between_eyes);
            (Vec3::from(plain[v]) - depth * Vec3::from(normals[v])).to_array()
        };
        let carved: Vec<[f32; 3]> = (0..plain.len()).map(carve).collect();
        for (kind, positions) in [("plain", &plain), ("sculpts", &carved)] {
            let file = folder.join(kind).join(format!("{}.obj", sculpt.name));
            write_whole(&file, &obj::write(rig, positions))?;
            files.push(file);
        }
    }
    let job = LearnJob {
        rest: folder.join("head.glb").into(),
        examples: Some(folder.join("sculpts")),
        plain: Some(folder.join("plain")),
        output: detail.to_path_buf(),
        ..LearnJob::default()
    };
    job.run(progress)?;
    Ok(files)
}

impl Sculpt {
    /// How deep the furrows are at a point of the neutral, meters.
    fn depth_at(&self, at: Vec3, between_eyes: Vec3) -> f32 {
        let from_eyes = at - between_eyes;
        let offset = from_eyes.with_x(from_eyes.x.abs()) - Vec3::from(self.place);
        let away = (offset / Vec3::from(self.reach)).length();
        let inside = smoothstep((1.5 - away).clamp(0.0, 1.0));
        // Two slow waves along the furrows keep them from being straight and equally deep.
        let wander = 0.35 * (at.x * 70.0 + 1.3).sin() + 0.2 * (at.y * 90.0).sin();
        let phase = offset.dot(Vec3::from(self.across)) / SPACING + wander;
        let furrow = (0.5 + 0.5 * (std::f32::consts::TAU * phase).cos()).powi(2);
        let uneven = 0.75 + 0.25 * (at.x * 95.0 + 7.0 * phase.round()).sin();
        self.depth * inside * furrow * uneven
    }
}
