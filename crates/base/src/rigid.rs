//! Rigid motions, and blends of them that remain rigid.
//!
//! Blending adds rotation vectors (logarithms) and displacements of a given pivot. A single motion at weight
//! 1 gives itself, and any blend is rigid.

use glam::{DQuat, DVec3};

/// `x -> rotation * x + translation`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rigid {
    /// A unit quaternion.
    pub rotation: DQuat,
    /// Applied after the rotation.
    pub translation: DVec3,
}

impl Default for Rigid {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Rigid {
    /// Moves nothing.
    pub const IDENTITY: Self = Self { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

    /// A rotation about a point.
    pub fn about(pivot: DVec3, rotation: DQuat) -> Self {
        Self { rotation, translation: pivot - rotation * pivot }
    }

    /// The moved point.
    pub fn apply(&self, p: DVec3) -> DVec3 {
        self.rotation * p + self.translation
    }

    /// Moves points in single precision; the identity leaves their bits.
    pub fn apply_to(&self, points: &mut [[f32; 3]]) {
        if *self != Self::IDENTITY {
            points.iter_mut().for_each(|p| *p = self.apply(DVec3::from(p.map(f64::from))).as_vec3().into());
        }
    }

    /// The inverse motion.
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.inverse();
        Self { rotation, translation: -(rotation * self.translation) }
    }

    /// First `other`, then `self`.
    pub fn after(&self, other: &Self) -> Self {
        Self {
            rotation: (self.rotation * other.rotation).normalize(),
            translation: self.rotation * other.translation + self.translation,
        }
    }

    /// The weighted sum of motions, as rotation vectors and displacements of `pivot`.
    pub fn blend(motions: impl IntoIterator<Item = (Self, f64)>, pivot: DVec3) -> Self {
        let (mut turn, mut shift) = (DVec3::ZERO, DVec3::ZERO);
        for (motion, weight) in motions {
            turn += motion.rotation_vector() * weight;
            shift += (motion.apply(pivot) - pivot) * weight;
        }
        let rotation = DQuat::from_scaled_axis(turn);
        Self { rotation, translation: pivot + shift - rotation * pivot }
    }

    /// Axis times angle, the angle at most pi.
    pub fn rotation_vector(&self) -> DVec3 {
        let q = if self.rotation.w < 0.0 { -self.rotation } else { self.rotation };
        q.to_scaled_axis()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud() -> Vec<DVec3> {
        (0..7).map(|i| DVec3::new((i as f64 * 1.7).sin(), (i as f64 * 0.9).cos(), i as f64 * 0.1)).collect()
    }

    #[test]
    fn blend_of_one_is_itself_and_inverse_undoes() {
        let motion = Rigid::about(DVec3::new(0.1, 0.2, 0.3), DQuat::from_rotation_x(0.7));
        let same = Rigid::blend([(motion, 1.0)], DVec3::new(0.0, 0.5, 0.0));
        for p in cloud() {
            assert!((same.apply(p) - motion.apply(p)).length() < 1e-12);
            assert!((motion.inverse().after(&motion).apply(p) - p).length() < 1e-12);
        }
    }
}
