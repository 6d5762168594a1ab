//! A rig as the template of fits: its skin, where it is matched with scans, its landmarks, its sliders.
//!
//! Only skin that can be seen from outside ([`crate::visible`]) is matched; lining of mouth, nostrils and
//! sockets follows. Skin in
//! front of the ears counts fully. Ears, neck and the back of the head count less: scans show hair, collars
//! and cut necks there. Everything is in meters, +Y up, +Z front, over the vertices of the skin.

use crate::FitError;
use crate::slits::slits;
use crate::solids::Solids;
use crate::subspace::Mark;
use crate::visible::visible;
use glam::{DMat3, DVec3};
use risorius_anatomy::find::{Given, Landmarks, find};
use risorius_anatomy::pieces::{PieceKind, Pieces, pieces};
use risorius_base::ease::ramp;
use risorius_head::Head;
use risorius_head::landmarks;
use risorius_mesh::TriMesh;
use risorius_rig::{Rig, Role, meters};

/// Weight of visible skin that is not in front of the ears.
const BEHIND: f64 = 0.1;

/// A template prepared for fits; see the module.
#[derive(Debug, Clone)]
pub struct Template {
    /// The rig.
    pub rig: Rig,
    /// Its surfaces.
    pub pieces: Pieces,
    /// Its landmarks.
    pub landmarks: Landmarks,
    /// Rig vertices of the skin, ascending.
    pub skin: Vec<u32>,
    /// For each rig vertex, its number in the skin; `u32::MAX` elsewhere.
    pub of_rig: Vec<u32>,
    /// The skin in the neutral.
    pub mesh: TriMesh,
    /// How much each skin vertex is matched where it is seen.
    pub front: Vec<f64>,
    /// How much each skin vertex is matched in the neutral; 0 for lining.
    pub weights: Vec<f64>,
    /// Skin of the narrow face: brows to chin, between the cheekbones.
    pub narrow: Vec<bool>,
    /// Pairs of skin vertices on both sides of slits: lips and lids that touch.
    pub slits: Vec<[u32; 2]>,
}

impl Template {
    /// Prepares `rig`; `head` is the built-in head, `given` are landmarks that the user corrects.
    pub fn prepare(rig: &Rig, head: &Head, given: &Given) -> Result<Self, FitError> {
        let pieces = pieces(rig);
        let landmarks = find(rig, &pieces, head, given)?;
        let skin = pieces.vertices(PieceKind::Skin);
        if skin.is_empty() {
            return Err(FitError::Template("it has no skin; give a rig with a face surface".into()));
        }
        let mut of_rig = vec![u32::MAX; rig.n_vertices()];
        skin.iter().enumerate().for_each(|(i, &v)| of_rig[v as usize] = i as u32);
        let positions: Vec<DVec3> = skin.iter().map(|&v| pieces.positions[v as usize]).collect();
        if let Some(v) = positions.iter().position(|p| !p.is_finite()) {
            let name = rig.vertex_name(skin[v]);
            return Err(FitError::Template(format!("{name} is not finite; repair it in the modeling tool")));
        }
        let local = |t: &[u32; 3]| t.map(|v| of_rig[v as usize]);
        let triangles = pieces.skin.iter().map(local).filter(|t| !t.contains(&u32::MAX)).collect();
        let mesh = TriMesh { positions, triangles };
        let mut template = Self {
            rig: rig.clone(),
            pieces,
            landmarks,
            skin,
            of_rig,
            mesh,
            front: Vec::new(),
            weights: Vec::new(),
            narrow: Vec::new(),
            slits: Vec::new(),
        };
        template.slits = slits(&template.mesh);
        template.weigh();
        Ok(template)
    }

    /// Position of a landmark by name.
    pub fn landmark(&self, name: &str) -> DVec3 {
        landmarks::index(name).map_or(DVec3::ZERO, |i| self.landmarks.all[i].position)
    }

    /// Sets `weights` and `narrow`.
    fn weigh(&mut self) {
        let turns = vec![DMat3::IDENTITY; self.pieces.positions.len()];
        let solids = Solids::new(self, &self.pieces.positions, &turns);
        let seen = visible(&self.mesh, &solids);
        let at = |name: &str| self.landmark(name);
        let ears = 0.5 * (at("tragion_left").z + at("tragion_right").z);
        let (chin, brow) = (at("gnathion").y, at("supraorbitale_left").y.max(at("supraorbitale_right").y));
        let [left, right] = [at("zygion_left").x, at("zygion_right").x];
        let (middle, half) = (0.5 * (left + right), 0.5 * (left - right).abs());
        let front = |p: &DVec3| {
            let front = ramp(p.z - ears, 0.002, 0.022) * ramp(p.y - chin, -0.035, -0.010);
            BEHIND + (1.0 - BEHIND) * front
        };
        let front: Vec<f64> = self.mesh.positions.iter().map(front).collect();
        let narrow = |v: usize| {
            let p = self.mesh.positions[v];
            let across = (p.x - middle).abs() < 0.92 * half;
            front[v] > 0.8 && seen[v] > 0.0 && across && p.y > chin - 0.005 && p.y < brow + 0.02
        };
        self.narrow = (0..front.len()).map(narrow).collect();
        self.weights = front.iter().zip(&seen).map(|(f, s)| f * s).collect();
        self.front = front;
    }

    /// Landmarks in the order of [`landmarks::NAMES`] with their places on a scan; those without a place are
    /// left out.
    pub fn marks(&self, places: &[Option<DVec3>]) -> Vec<Mark> {
        let one = |(i, place): (usize, &Option<DVec3>)| {
            let found = &self.landmarks.all[i];
            let corners = found.triangle.map(|v| self.of_rig[v as usize]);
            let known = place.filter(|_| !corners.contains(&u32::MAX) && found.confidence > 0.0)?;
            let weight = mark_weight(i) * found.confidence.max(0.2);
            Some(Mark { corners, barycentric: found.barycentric, place: known, weight })
        };
        places.iter().enumerate().filter_map(one).collect()
    }

    /// Displacements of the skin by each slider's full shape, in meters.
    pub fn slider_modes(&self) -> Vec<Vec<DVec3>> {
        (0..self.rig.sliders.len()).map(|s| self.slider_mode(s)).collect()
    }

    /// Displacements of the skin by a slider's full shape, in meters.
    pub fn slider_mode(&self, slider: usize) -> Vec<DVec3> {
        self.skin_part(&meters::displacements(&self.rig, self.rig.sliders[slider].shape))
    }

    /// Where a landmark (an index of [`landmarks::NAMES`]) is on a state of the skin.
    pub fn on_skin(&self, landmark: usize, skin: &[DVec3]) -> Option<DVec3> {
        let found = &self.landmarks.all[landmark];
        let corners = found.triangle.map(|v| self.of_rig[v as usize]);
        let at = || corners.iter().zip(found.barycentric).map(|(&v, w)| skin[v as usize] * w).sum();
        (!corners.contains(&u32::MAX)).then(at)
    }

    /// The values of the skin's vertices among those of the rig.
    pub fn skin_part(&self, of_rig: &[DVec3]) -> Vec<DVec3> {
        self.skin.iter().map(|&v| of_rig[v as usize]).collect()
    }

    /// How much each vertex is matched in a state of the skin.
    pub fn weights_of(&self, skin: &TriMesh, solids: &Solids) -> Vec<f64> {
        self.front.iter().zip(visible(skin, solids)).map(|(f, s)| f * s).collect()
    }

    /// Matching weights with the areas of the vertices in meters.
    pub fn area_weights(&self) -> Vec<f64> {
        let thirds = self.mesh.corners().map(|[a, b, c]| (b - a).cross(c - a).length() / 6.0);
        let n = self.mesh.n_vertices();
        let areas = risorius_mesh::surface::tri_mesh::sum_at_corners(n, &self.mesh.triangles, thirds);
        areas.iter().zip(&self.weights).map(|(a, w)| a * w).collect()
    }

    /// Whether any shape of the rig is a slider's.
    pub fn has_sliders(&self) -> bool {
        self.rig.shapes.iter().any(|s| matches!(s.role, Role::Slider(_)))
    }
}

/// How well a tracker landmark is defined: contours of jaw and brows slide along themselves.
fn mark_weight(index: usize) -> f64 {
    match index {
        0..=16 => 0.1,
        17..=26 => 0.3,
        _ => 1.0,
    }
}
