//! Unit and axes of an artist's file, and the only conversion between them and SI: meters, +Y up, +Z front,
//! +X the character's left.
//!
//! The conversion is a rotation by quarter turns and a scale; the origin stays. It applies to points,
//! displacements and rigid motions, in both directions.

use crate::Rigid;
use glam::{DMat3, DQuat, DVec3, Vec3};

/// A text that is not an axis or not a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not {what}")]
pub struct SpaceTextError {
    text: String,
    what: &'static str,
}

impl crate::Advise for SpaceTextError {}

/// A signed coordinate axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// 0 x, 1 y, 2 z.
    pub index: usize,
    /// Towards the negative end.
    pub negative: bool,
}

impl Axis {
    /// The axis as a unit vector.
    pub fn direction(self) -> DVec3 {
        let mut v = DVec3::ZERO;
        v[self.index] = if self.negative { -1.0 } else { 1.0 };
        v
    }
}

impl std::str::FromStr for Axis {
    type Err = SpaceTextError;

    /// `+Y`, `-x`, `z`.
    fn from_str(text: &str) -> Result<Self, SpaceTextError> {
        let (negative, letter) = match text.as_bytes() {
            [b'-', letter] => (true, *letter),
            [b'+', letter] | [letter] => (false, *letter),
            _ => (false, 0),
        };
        match letter.to_ascii_lowercase() {
            letter @ b'x'..=b'z' => Ok(Self { index: (letter - b'x').into(), negative }),
            _ => Err(SpaceTextError { text: text.into(), what: "an axis; give +X, -X, +Y, -Y, +Z or -Z" }),
        }
    }
}

/// Meters per unit from `m`, `dm`, `cm`, `mm`, `in`, `ft` or a number of meters.
pub fn parse_unit(text: &str) -> Result<f64, SpaceTextError> {
    const UNITS: [(&str, f64); 6] =
        [("m", 1.0), ("dm", 0.1), ("cm", 0.01), ("mm", 0.001), ("in", 0.0254), ("ft", 0.3048)];
    let known = UNITS.iter().find(|u| u.0 == text).map(|u| u.1);
    let meters = known.or_else(|| text.parse().ok()).filter(|m: &f64| m.is_finite() && *m > 0.0);
    let what = "a unit; give m, dm, cm, mm, in, ft or a positive number of meters";
    meters.ok_or_else(|| SpaceTextError { text: text.into(), what })
}

impl std::fmt::Display for Axis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.negative { '-' } else { '+' }, ['X', 'Y', 'Z'][self.index])
    }
}

/// Unit and axes of a rig's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Space {
    /// Length of one unit of the file in meters.
    pub meters_per_unit: f64,
    /// The file axis that points to the top of the head.
    pub up: Axis,
    /// The file axis along which the face looks.
    pub front: Axis,
}

impl Default for Space {
    /// Meters, +Y up, +Z front.
    fn default() -> Self {
        Self {
            meters_per_unit: 1.0,
            up: Axis { index: 1, negative: false },
            front: Axis { index: 2, negative: false },
        }
    }
}

impl Space {
    /// Rotation from file axes to +Y up, +Z front; the character's left becomes +X.
    pub fn si_axes_from_file(&self) -> DMat3 {
        let (up, front) = (self.up.direction(), self.front.direction());
        DMat3::from_cols(up.cross(front), up, front).transpose()
    }

    /// File coordinates to meters, +Y up, +Z front.
    pub fn si_from_file(&self) -> DMat3 {
        self.si_axes_from_file() * self.meters_per_unit
    }

    /// Meters, +Y up, +Z front, to file coordinates.
    pub fn file_from_si(&self) -> DMat3 {
        self.si_from_file().inverse()
    }

    /// A point or displacement of the file in meters.
    pub fn to_si(&self, p: [f32; 3]) -> DVec3 {
        self.si_from_file() * Vec3::from(p).as_dvec3()
    }

    /// A motion in file coordinates as the same motion in SI.
    pub fn motion_to_si(&self, motion: &Rigid) -> Rigid {
        let axes = DQuat::from_mat3(&self.si_axes_from_file());
        Rigid {
            rotation: axes * motion.rotation * axes.inverse(),
            translation: self.si_from_file() * motion.translation,
        }
    }

    /// A motion in SI as the same motion in file coordinates.
    pub fn motion_to_file(&self, motion: &Rigid) -> Rigid {
        let axes = DQuat::from_mat3(&self.si_axes_from_file());
        Rigid {
            rotation: axes.inverse() * motion.rotation * axes,
            translation: self.file_from_si() * motion.translation,
        }
    }

    /// A length of the file in millimeters, for reports.
    pub fn millimeters(&self, length: f64) -> f64 {
        length * self.meters_per_unit * 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Centimeters, Z up, looking along -Y, as heads in Blender do.
    fn blender() -> Space {
        Space {
            meters_per_unit: 0.01,
            up: Axis { index: 2, negative: false },
            front: Axis { index: 1, negative: true },
        }
    }

    #[test]
    fn points_go_to_meters_and_back() {
        let space = blender();
        // 1 to the character's left, 2 to the front, 3 up.
        assert_eq!(space.to_si([1.0, -2.0, 3.0]), DVec3::new(0.01, 0.03, 0.02));
        let back = space.file_from_si() * space.to_si([1.0, -2.0, 3.0]);
        assert!(back.distance(DVec3::new(1.0, -2.0, 3.0)) < 1e-12);
        assert_eq!(space.millimeters(3.0), 30.0);
    }

    #[test]
    fn motions_move_the_same_points_in_both_spaces() {
        let space = blender();
        let nod = Rigid { rotation: DQuat::from_rotation_x(0.4), translation: DVec3::new(0.1, 0.2, 0.3) };
        let in_file = space.motion_to_file(&nod);
        for p in [[1.0f32, 2.0, 3.0], [-4.0, 0.5, 0.0]] {
            let there = nod.apply(space.to_si(p));
            let here = space.si_from_file() * in_file.apply(Vec3::from(p).as_dvec3());
            assert!(there.distance(here) < 1e-12, "{there} {here}");
        }
        let again = space.motion_to_si(&in_file);
        assert!(again.translation.distance(nod.translation) < 1e-12);
        assert!(again.rotation.dot(nod.rotation).abs() > 1.0 - 1e-12);
    }
}
