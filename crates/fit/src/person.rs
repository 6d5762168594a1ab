//! The personal rig: the template's topology, names and parts with the person's neutral and shapes.
//!
//! Skin comes from the registration. Eyeballs, teeth, gums and tongue are carried as wholes, by similarities
//! of the skin around them, so that they keep their form; lashes and other pieces on the skin follow the skin
//! vertex that carries them. Displacements of these pieces are turned and scaled with them.

use crate::solids::{N_EYES, around};
use crate::template::Template;
use glam::{DMat3, DVec3};
use risorius_anatomy::PieceKind;
use risorius_mesh::Similarity;
use risorius_rig::{Deltas, Rig, meters};

/// Displacements below this are left out of shapes, meters.
const LEAST: f64 = 1e-6;

/// The parts of a personal rig.
pub struct Personal<'a> {
    /// The template.
    pub template: &'a Template,
    /// All rig vertices as the prior places them, in the template's space.
    pub modeled: &'a [DVec3],
    /// The registered skin.
    pub skin: &'a [DVec3],
    /// The person's shapes on the skin, one for each slider.
    pub shapes: &'a [Vec<DVec3>],
    /// Rotation and scale of each skin vertex from the template.
    pub frames: &'a [DMat3],
    /// Shifts of the eyes beyond the motion of the skin around them.
    pub eye_shifts: &'a [DVec3; N_EYES],
}

impl Personal<'_> {
    /// The rig, in unit and axes of the template.
    pub fn rig(&self, name: &str) -> Rig {
        let template = self.template;
        let mut rig = template.rig.clone();
        rig.name = name.into();
        let to_file = rig.space.file_from_si();
        let (positions, turns) = self.places();
        rig.neutral = positions.iter().map(|p| (to_file * *p).as_vec3().to_array()).collect();
        let mut slider_of = vec![None; rig.shapes.len()];
        rig.sliders.iter().enumerate().for_each(|(i, s)| slider_of[s.shape] = Some(i));
        for (shape, slider) in slider_of.iter().enumerate() {
            let mut moved = meters::displacements(&template.rig, shape);
            moved.iter_mut().zip(&turns).for_each(|(d, turn)| *d = *turn * *d);
            if let Some(own) = slider.map(|s| &self.shapes[s]) {
                template.skin.iter().zip(own).for_each(|(&v, d)| moved[v as usize] = *d);
            }
            let vertices: Vec<u32> =
                (0..moved.len() as u32).filter(|&v| moved[v as usize].length() > LEAST).collect();
            let offset = |&v: &u32| (to_file * moved[v as usize]).as_vec3().to_array();
            let offsets = vertices.iter().map(offset).collect();
            rig.shapes[shape].deltas = Deltas { vertices, offsets };
        }
        for part in &mut rig.parts {
            // Shading normals of another face would shade this one wrongly.
            part.corner_normals = None;
        }
        rig
    }

    /// Positions of all rig vertices, and their rotations and scales from the template.
    pub(crate) fn places(&self) -> (Vec<DVec3>, Vec<DMat3>) {
        let template = self.template;
        let mut places = self.modeled.to_vec();
        let mut turns = vec![DMat3::IDENTITY; places.len()];
        for (i, &v) in template.skin.iter().enumerate() {
            (places[v as usize], turns[v as usize]) = (self.skin[i], self.frames[i]);
        }
        use PieceKind::{
            Cranium, EyeLeft, EyeRight, GumsLower, GumsUpper, Mandible, TeethLower, TeethUpper, Tongue,
        };
        let wholes: [&[PieceKind]; 4] = [
            &[EyeLeft],
            &[EyeRight],
            &[TeethUpper, GumsUpper, Cranium],
            &[TeethLower, GumsLower, Tongue, Mandible],
        ];
        let shifts = self.eye_shifts.iter().copied().chain([DVec3::ZERO; 2]);
        for (kinds, shift) in wholes.into_iter().zip(shifts) {
            let vertices: Vec<u32> = kinds.iter().flat_map(|&k| template.pieces.vertices(k)).collect();
            if vertices.is_empty() {
                continue;
            }
            let points: Vec<DVec3> = vertices.iter().map(|&v| self.modeled[v as usize]).collect();
            let by = around(&points, &template.skin_part(self.modeled), self.skin, &template.weights);
            let from: Vec<DVec3> = vertices.iter().map(|&v| template.pieces.positions[v as usize]).collect();
            let to: Vec<DVec3> = points.iter().map(|p| by.apply(*p) + shift).collect();
            let whole = Similarity::fit(&from, &to, &vec![1.0; from.len()]);
            let turn = DMat3::from_quat(whole.rigid.rotation) * whole.scale;
            for (&v, to) in vertices.iter().zip(to) {
                (places[v as usize], turns[v as usize]) = (to, turn);
            }
        }
        for (v, carrier) in template.pieces.carriers.iter().enumerate() {
            let Some(i) = carrier.map(|c| template.of_rig[c as usize]).filter(|i| *i != u32::MAX) else {
                continue;
            };
            let (i, c) = (i as usize, template.skin[i as usize] as usize);
            places[v] = self.modeled[v] + self.skin[i] - self.modeled[c];
            turns[v] = self.frames[i];
        }
        (places, turns)
    }
}
