//! How muscles make one shape of a rig: activations, jaw, the tracks of control points, and the final snap.
//!
//! A track is the path of a control point from the neutral to the shape [Cong16, sec. 3]. It is not straight:
//! its points are those of simulations with controls on the way ([`Tracks::at`] interpolates between them). A
//! muscle whose track was edited leads: springs drag the flesh along it ([Cong16, sec. 4]). The snap is what
//! is left between the simulated skin and the artist's, at the end of the path ([Cong16, sec. 5]).

use glam::DVec3;

/// How muscles make one shape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MuscleShape {
    /// The shape of the rig.
    pub shape: u32,
    /// Activation of each muscle at the end of the path, 0 to 1.
    pub activations: Vec<f64>,
    /// The jaw there: opening in degrees, protrusion and sideways motion in tracks of the joint.
    pub jaw: [f64; 3],
    /// The paths of the control points of all muscles, muscle by muscle.
    pub tracks: Tracks,
    /// Whether springs drag the flesh along the tracks of each muscle.
    pub leads: Vec<bool>,
    /// What takes the simulated skin to the artist's.
    pub snap: Snap,
    /// Distance of the simulated skin from the artist's, root mean square and largest, mm.
    pub miss_mm: [f64; 2],
}

/// Paths of points from the neutral.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tracks {
    /// Displacements of all points, meters, at evenly spaced places of the path; the last is its end. The
    /// first place, where nothing is displaced, is left out.
    pub keys: Vec<Vec<[f32; 3]>>,
}

/// Displacements of rig vertices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snap {
    /// Rig vertices, ascending.
    pub vertices: Vec<u32>,
    /// Their displacements in the unit and axes of the rig.
    pub offsets: Vec<[f32; 3]>,
}

impl Tracks {
    /// Displacements at a place of the path: 0 is the neutral, 1 the end. Linear between the keys; places
    /// beyond the end are scaled from it, and before the neutral nothing moves.
    pub fn at(&self, place: f64) -> Vec<DVec3> {
        let n = self.keys.len();
        let point = |key: usize, i: usize| match key {
            0 => DVec3::ZERO,
            key => self.keys[key - 1][i].map(f64::from).into(),
        };
        let count = self.keys.first().map_or(0, Vec::len);
        let x = place.clamp(0.0, 1.0) * n as f64;
        let key = (x as usize).min(n.saturating_sub(1));
        let beyond = place.max(1.0);
        (0..count).map(|i| point(key, i).lerp(point(key + 1, i), x - key as f64) * beyond).collect()
    }

    /// Moves the ends of all tracks; places on the way move by their share of it [Cong16, sec. 4].
    pub fn move_ends(&mut self, by: &[DVec3]) {
        let n = self.keys.len() as f64;
        for (k, key) in self.keys.iter_mut().enumerate() {
            let share = (k + 1) as f64 / n;
            for (point, d) in key.iter_mut().zip(by) {
                *point = (glam::Vec3::from(*point).as_dvec3() + *d * share).as_vec3().to_array();
            }
        }
    }
}

impl Snap {
    /// The displacements that differ from zero.
    pub fn between(from: &[[f32; 3]], to: &[[f32; 3]]) -> Self {
        let mut snap = Self::default();
        for (v, (a, b)) in from.iter().zip(to).enumerate() {
            let offset: [f32; 3] = std::array::from_fn(|k| b[k] - a[k]);
            if offset != [0.0; 3] {
                snap.vertices.push(v as u32);
                snap.offsets.push(offset);
            }
        }
        snap
    }

    /// Adds a share of the displacements.
    pub fn add_to(&self, vertices: &mut [[f32; 3]], share: f64) {
        if share == 0.0 {
            return;
        }
        for (&v, offset) in self.vertices.iter().zip(&self.offsets) {
            let p = &mut vertices[v as usize];
            for (x, d) in p.iter_mut().zip(offset) {
                *x = (f64::from(*x) + share * f64::from(*d)) as f32;
            }
        }
    }

    /// Scales each displacement by a factor of its vertex.
    pub fn scale(&mut self, factor: impl Fn(u32) -> f64) {
        for (&v, offset) in self.vertices.iter().zip(&mut self.offsets) {
            *offset = offset.map(|x| (factor(v) * f64::from(x)) as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_pass_through_their_keys_and_edits_grow_along_them() {
        let mut tracks = Tracks { keys: vec![vec![[0.0, 1.0, 0.0]], vec![[2.0, 0.0, 0.0]]] };
        let at = |tracks: &Tracks, place| tracks.at(place)[0];
        assert_eq!(at(&tracks, -0.5), DVec3::ZERO);
        assert_eq!(at(&tracks, 0.25), DVec3::new(0.0, 0.5, 0.0));
        assert_eq!(at(&tracks, 0.5), DVec3::Y);
        assert_eq!(at(&tracks, 1.0), DVec3::X * 2.0);
        assert_eq!(at(&tracks, 1.5), DVec3::X * 3.0);
        tracks.move_ends(&[DVec3::Z * 4.0]);
        assert_eq!(at(&tracks, 0.5), DVec3::new(0.0, 1.0, 2.0));
        assert_eq!(at(&tracks, 1.0), DVec3::new(2.0, 0.0, 4.0));
        assert!(Tracks::default().at(0.3).is_empty());
    }

    #[test]
    fn a_snap_takes_one_skin_to_the_other() {
        let (from, to) =
            ([[0.0f32; 3], [1.0; 3], [0.1, 0.2, 0.3]], [[0.0f32; 3], [2.0; 3], [0.3, 0.1, -7.0]]);
        let mut snap = Snap::between(&from, &to);
        assert_eq!(snap.vertices, [1, 2]);
        let mut skin = from;
        snap.add_to(&mut skin, 1.0);
        assert_eq!(skin, to);
        snap.scale(|v| if v == 1 { 0.5 } else { 0.0 });
        let mut skin = from;
        snap.add_to(&mut skin, 1.0);
        assert_eq!(skin, [[0.0; 3], [1.5; 3], [0.1, 0.2, 0.3]]);
    }
}
