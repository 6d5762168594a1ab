//! The face that is looked for: the outer skin of the built-in head, and how people and expressions vary.
//!
//! `x = rest + sum_j m_j mode_j`, with modes for the six parameters of identity (finite differences) and for
//! the expressions that scans commonly show. Values have a deviation, used as a prior, and a range.

use super::spread::spread;
use glam::DVec3;
use risorius_anatomy::outer::OuterSkin;
use risorius_anatomy::pieces;
use risorius_head::{Head, Identity};
use risorius_mesh::{Bvh, TriMesh};
use risorius_rig::meters;

/// One direction of variation.
#[derive(Debug, Clone)]
pub struct Mode {
    /// Displacement of each vertex of the model at the value 1, meters.
    pub offsets: Vec<DVec3>,
    /// Standard deviation of its value.
    pub deviation: f64,
    /// Least and largest value.
    pub range: [f64; 2],
}

/// The model; positions in meters, +Y up, +Z front.
#[derive(Debug, Clone)]
pub struct Model {
    /// Outer skin at rest.
    pub rest: TriMesh,
    /// Identity first, then expressions.
    pub modes: Vec<Mode>,
    /// The vertex of each landmark, in the order of [`risorius_head::landmarks::NAMES`].
    pub landmarks: Vec<u32>,
    /// Vertices of the face proper: brow to chin, cheek to cheek. A few hundred, evenly spread.
    pub core: Vec<u32>,
    /// Vertices of face, forehead, temples, ears and jaw; a few hundred.
    pub wide: Vec<u32>,
    /// Tip of the nose.
    pub nose_tip: DVec3,
}

/// Expressions that are varied: shapes that act together, deviation, least value.
const EXPRESSIONS: [(&[&str], f64, f64); 17] = [
    (&["jawOpen"], 0.4, 0.0),
    (&["jawLeft"], 0.2, -1.0),
    (&["mouthSmileLeft"], 0.4, 0.0),
    (&["mouthSmileRight"], 0.4, 0.0),
    (&["mouthFrownLeft", "mouthFrownRight"], 0.4, 0.0),
    (&["mouthStretchLeft", "mouthStretchRight"], 0.3, 0.0),
    (&["mouthPucker"], 0.4, 0.0),
    (&["mouthFunnel"], 0.4, 0.0),
    (&["mouthUpperUpLeft", "mouthUpperUpRight"], 0.3, 0.0),
    (&["mouthLowerDownLeft", "mouthLowerDownRight"], 0.3, 0.0),
    (&["mouthRollLower", "mouthRollUpper"], 0.2, 0.0),
    (&["cheekPuff"], 0.4, 0.0),
    (&["noseSneerLeft", "noseSneerRight"], 0.4, 0.0),
    (&["browInnerUp", "browOuterUpLeft", "browOuterUpRight"], 0.4, 0.0),
    (&["browDownLeft", "browDownRight"], 0.4, 0.0),
    (&["eyeBlinkLeft", "eyeBlinkRight"], 0.4, -0.2),
    (&["cheekSquintLeft", "cheekSquintRight"], 0.3, 0.0),
];

/// At most this many vertices in `core` and in `wide`.
const SAMPLES: [usize; 2] = [420, 600];

impl Model {
    /// The model of `head`, which must be the average.
    pub fn prepare(head: &Head) -> Self {
        let rig = &head.rig;
        let positions = meters::neutral(rig);
        let found = pieces::pieces(rig);
        let outer = OuterSkin::new(&positions, &found.skin);
        let tree = Bvh::build(&rig.neutral, &found.skin);
        let marks: Vec<u32> = head
            .landmarks
            .iter()
            .map(|&p| tree.closest_vertex(p, f64::INFINITY).map_or(0, |(v, _)| v))
            .collect();
        let mut kept: Vec<u32> = outer.vertices.iter().chain(&marks).copied().collect();
        kept.sort_unstable();
        kept.dedup();
        let mut new_of_old = vec![u32::MAX; positions.len()];
        kept.iter().enumerate().for_each(|(new, &old)| new_of_old[old as usize] = new as u32);
        let triangles = outer.triangles.iter().map(|t| t.map(|v| new_of_old[v as usize])).collect();
        let rest = TriMesh { positions: kept.iter().map(|&v| positions[v as usize]).collect(), triangles };
        let mut modes = identity_modes(&rest);
        for (names, deviation, low) in EXPRESSIONS {
            let mut offsets = vec![DVec3::ZERO; positions.len()];
            for shape in names.iter().filter_map(|n| rig.slider_index(n)).map(|s| rig.sliders[s].shape) {
                offsets.iter_mut().zip(meters::displacements(rig, shape)).for_each(|(a, b)| *a += b);
            }
            let offsets = kept.iter().map(|&v| offsets[v as usize]).collect();
            modes.push(Mode { offsets, deviation, range: [low, 1.0] });
        }
        let landmarks: Vec<u32> = marks.iter().map(|&v| new_of_old[v as usize]).collect();
        let at = |name: &str| {
            risorius_head::landmarks::index(name).map_or(DVec3::ZERO, |i| rest.positions[landmarks[i] as usize])
        };
        let (chin, brow, ear) = (at("gnathion").y, at("glabella").y, at("tragion_left"));
        let core = |p: DVec3| {
            p.y > chin - 0.004 && p.y < brow + 0.014 && p.z > 0.35 * at("nose_tip").z && p.x.abs() < 0.9 * ear.x
        };
        let wide = |p: DVec3| p.y > chin - 0.012 && p.y < brow + 0.06 && p.z > ear.z - 0.012;
        let normals = rest.vertex_normals();
        let fine: Vec<DVec3> = landmarks[27..68].iter().map(|&v| rest.positions[v as usize]).collect();
        let pick = |inside: &dyn Fn(DVec3) -> bool, most: usize| {
            let good = |&v: &u32| inside(rest.positions[v as usize]) && normals[v as usize] != DVec3::ZERO;
            let all: Vec<u32> = (0..rest.n_vertices() as u32).filter(good).collect();
            spread(&rest.positions, &all, &fine, most)
        };
        let (core, wide) = (pick(&core, SAMPLES[0]), pick(&wide, SAMPLES[1]));
        let nose_tip = at("nose_tip");
        Self { rest, modes, landmarks, core, wide, nose_tip }
    }

    /// Positions at the values of the first modes.
    pub fn pose(&self, values: &[f64]) -> Vec<DVec3> {
        let mut positions = self.rest.positions.clone();
        for (mode, &value) in self.modes.iter().zip(values).filter(|(_, v)| **v != 0.0) {
            positions.iter_mut().zip(&mode.offsets).for_each(|(p, o)| *p += *o * value);
        }
        positions
    }
}

/// Central differences of the six parameters at 0.
fn identity_modes(rest: &TriMesh) -> Vec<Mode> {
    type Change = fn(&mut Identity, f64);
    let changes: [(Change, f64); 6] = [
        (|i, v| i.width = v, 0.6),
        (|i, v| i.length = v, 0.6),
        (|i, v| i.nose = v, 0.6),
        (|i, v| i.jaw = v, 0.6),
        (|i, v| i.brow = v, 0.6),
        (|i, v| i.fat = v, 0.6),
    ];
    let normals = rest.vertex_normals();
    let one = |(change, deviation): (Change, f64)| {
        let [less, more] = [-0.5, 0.5].map(|value| {
            let mut identity = Identity::default();
            change(&mut identity, value);
            identity
        });
        let at = |i: &Identity, p: DVec3, n: DVec3| i.warp(i.thicken(p, n));
        let offsets =
            rest.positions.iter().zip(&normals).map(|(&p, &n)| at(&more, p, n) - at(&less, p, n)).collect();
        Mode { offsets, deviation, range: [-1.6, 1.6] }
    };
    changes.into_iter().map(one).collect()
}
