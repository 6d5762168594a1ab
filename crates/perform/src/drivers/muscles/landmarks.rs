//! Points of the skin that shapes are compared at: about 480, spread over the face [Sifakis05; Cong16, sec.
//! 3].
//!
//! Vertices of the outer skin that follow the flesh are taken one after another, each as far as possible from
//! those taken before. Distances count up to twice around mouth and eyes, where shapes are finest. The choice
//! depends on the neutral alone.

use crate::skin_out::SkinOut;
use glam::DVec3;
use risorius_anatomy::outer::OuterSkin;
use risorius_flesh::Face;
use risorius_head::landmarks;
use risorius_solve::TetAttachment;

/// Points that follow the flesh by less than this do not count.
const FOLLOWS: f64 = 0.5;

/// Distance from mouth and eyes over which points get sparser, meters.
const FINE: f64 = 0.03;

/// Points of the skin and how they follow the flesh.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkinMarks {
    /// Rig vertices.
    pub vertices: Vec<u32>,
    /// How each follows the flesh.
    pub attachments: Vec<TetAttachment>,
    /// At rest, meters.
    pub rest: Vec<DVec3>,
}

impl SkinMarks {
    /// Chooses `count` points, or fewer if the skin has fewer.
    pub fn choose(face: &Face, skin: &SkinOut, count: usize) -> Self {
        let pieces = &face.anatomy.pieces;
        let outer = OuterSkin::new(&pieces.positions, &pieces.skin);
        let follows = |v: &u32| skin.attachment(*v).weights.iter().sum::<f64>() > FOLLOWS;
        let all: Vec<u32> = outer.vertices.iter().copied().filter(follows).collect();
        let at = |name: &str| {
            landmarks::index(name).and_then(|i| face.anatomy.landmarks.get(i)).map(|l| l.position)
        };
        let fine: Vec<DVec3> = ["mouth_left", "mouth_right", "lip_upper_middle", "lip_lower_middle"]
            .into_iter()
            .filter_map(at)
            .chain(face.anatomy.eyes.iter().flatten().map(|eye| eye.center))
            .collect();
        let position = |v: u32| pieces.positions[v as usize];
        let scale = |p: DVec3| {
            let nearest = fine.iter().map(|q| p.distance(*q)).fold(f64::INFINITY, f64::min);
            1.0 + (-(nearest / FINE).powi(2)).exp()
        };
        let scales: Vec<f64> = all.iter().map(|&v| scale(position(v))).collect();
        let mut away = vec![f64::INFINITY; all.len()];
        let mut vertices = Vec::new();
        // From the tip of the nose on.
        let from = at("nose_tip").unwrap_or_default();
        let nearest = |a: &usize, b: &usize| {
            position(all[*a]).distance(from).total_cmp(&position(all[*b]).distance(from))
        };
        let mut next = (0..all.len()).min_by(nearest);
        while let Some(chosen) = next.filter(|_| vertices.len() < count) {
            vertices.push(all[chosen]);
            let p = position(all[chosen]);
            for (i, away) in away.iter_mut().enumerate() {
                *away = away.min(position(all[i]).distance(p) * scales[i]);
            }
            next = (0..all.len()).max_by(|&a, &b| away[a].total_cmp(&away[b]).then(b.cmp(&a)));
            next = next.filter(|&i| away[i] > 0.0);
        }
        Self {
            attachments: vertices.iter().map(|&v| skin.attachment(v)).collect(),
            rest: vertices.iter().map(|&v| position(v)).collect(),
            vertices,
        }
    }

    /// Displacements of the points for those of all nodes.
    pub fn moved(&self, tets: &[[u32; 4]], offsets: &[DVec3]) -> Vec<DVec3> {
        let one = |attachment: &TetAttachment| match tets.get(attachment.tet as usize) {
            Some(tet) => tet.iter().zip(attachment.weights).map(|(&n, w)| offsets[n as usize] * w).sum(),
            None => DVec3::ZERO,
        };
        self.attachments.iter().map(one).collect()
    }
}
