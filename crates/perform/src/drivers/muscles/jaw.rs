//! The jaw on its joint: opening in degrees, protrusion and sideways motion, with limits.
//!
//! The condyles slide along their tracks and the jaw turns about the line between them [Cong16, sec. 3].
//! While the jaw opens, both condyles slide forward in proportion, over [`SLIDE_OPEN`] of the track at the
//! largest opening: a healthy jaw opens by turning and sliding at once.

use crate::error::PerformError;
use risorius_base::Rigid;
use risorius_head::JawJoint;

/// Largest opening, degrees: about 50 mm between the incisors.
pub const MOST_OPEN_DEG: f64 = 35.0;

/// The part of the track that condyles slide while the jaw opens all the way.
const SLIDE_OPEN: f64 = 0.8;

/// Longest strides in which the jaw moves to a position: degrees, tracks, tracks.
const STRIDE: [f64; 3] = [2.5, 0.3, 0.3];

/// A position of the jaw; closed by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct JawPose {
    /// Opening, degrees, 0 to [`MOST_OPEN_DEG`].
    pub open_deg: f64,
    /// Protrusion: how far both condyles slide forward, in tracks, -0.2 to 1.
    pub forward: f64,
    /// To the character's left (positive) or right, -1 to 1: one condyle slides forward, the other back.
    pub side: f64,
}

impl JawPose {
    /// The bounds of opening, protrusion and sideways motion.
    pub const LIMITS: [[f64; 2]; 3] = [[0.0, MOST_OPEN_DEG], [-0.2, 1.0], [-1.0, 1.0]];

    /// As three numbers, in the order of [`Self::LIMITS`].
    pub fn to_array(self) -> [f64; 3] {
        [self.open_deg, self.forward, self.side]
    }

    /// From three numbers.
    pub fn from_array([open_deg, forward, side]: [f64; 3]) -> Self {
        Self { open_deg, forward, side }
    }

    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), PerformError> {
        let names: [(&'static str, &'static [&'static str], &'static str); 3] = [
            ("the opening of the jaw, in degrees,", &["jaw_open"], "from 0 to 35"),
            ("the protrusion of the jaw", &["jaw_forward"], "from -0.2 to 1"),
            ("the sideways motion of the jaw", &["jaw_side"], "from -1 to 1"),
        ];
        for ((value, [low, high]), (what, option, wanted)) in
            self.to_array().into_iter().zip(Self::LIMITS).zip(names)
        {
            if !(low..=high).contains(&value) {
                return Err(PerformError::Option { what, option, value, wanted });
            }
        }
        Ok(())
    }

    /// Positions on the way to another, the last of which is that: lips move by a few millimeters between
    /// two.
    pub fn strides_to(&self, end: &Self) -> Vec<Self> {
        let (from, to) = (self.to_array(), end.to_array());
        let far = (0..3).map(|k| (to[k] - from[k]).abs() / STRIDE[k]).fold(0.0, f64::max);
        let n = far.ceil().max(1.0) as usize;
        let at = |i: usize| -> [f64; 3] {
            std::array::from_fn(|k| from[k] + (to[k] - from[k]) * (i as f64 / n as f64))
        };
        (1..=n).map(|i| if i == n { *end } else { Self::from_array(at(i)) }).collect()
    }

    /// The motion of the jaw; exactly the identity when closed.
    pub fn motion(&self, joint: &JawJoint) -> Rigid {
        if *self == Self::default() {
            return Rigid::IDENTITY;
        }
        let slide = SLIDE_OPEN * self.open_deg / MOST_OPEN_DEG + self.forward;
        // The chin moves to the left when the right condyle slides forward.
        let aside = 0.5 * self.side;
        joint.motion(self.open_deg.to_radians(), [slide - aside, slide + aside])
    }

    /// The position whose motion of some points of the jaw is nearest to `motion`, within the limits.
    pub fn nearest(motion: &Rigid, joint: &JawJoint, points: &[glam::DVec3]) -> Self {
        if *motion == Rigid::IDENTITY || points.is_empty() {
            return Self::default();
        }
        let miss = |pose: &Self| -> f64 {
            let fitted = pose.motion(joint);
            points.iter().map(|&p| fitted.apply(p).distance_squared(motion.apply(p))).sum()
        };
        // A pattern search: three numbers, and bounds that are often met.
        let mut best = Self::default();
        let mut least = miss(&best);
        let mut step = [8.0, 0.2, 0.2];
        for _ in 0..200 {
            let mut better = false;
            for k in 0..3 {
                for sign in [1.0, -1.0] {
                    let mut tried = best.to_array();
                    let [low, high] = Self::LIMITS[k];
                    tried[k] = (tried[k] + sign * step[k]).clamp(low, high);
                    let tried = Self::from_array(tried);
                    let value = miss(&tried);
                    if value < least {
                        (best, least, better) = (tried, value, true);
                    }
                }
            }
            if !better {
                step = step.map(|s| 0.5 * s);
                if step[0] < 1e-3 {
                    break;
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn joint() -> JawJoint {
        let condyles = [1.0, -1.0].map(|s| DVec3::new(s * 0.05, 0.0, 0.0));
        JawJoint { condyles, track: DVec3::new(0.0, -0.5, 0.75f64.sqrt()), track_length: 0.012 }
    }

    #[test]
    fn the_jaw_opens_down_protrudes_and_goes_aside() {
        let chin = DVec3::new(0.0, -0.08, 0.09);
        let at = |open_deg, forward, side| JawPose { open_deg, forward, side }.motion(&joint()).apply(chin);
        assert_eq!(JawPose::default().motion(&joint()), Rigid::IDENTITY);
        let open = at(20.0, 0.0, 0.0);
        assert!(open.y < chin.y - 0.02 && open.x.abs() < 1e-12, "{open}");
        assert!(at(0.0, 0.5, 0.0).z > chin.z + 0.003);
        assert!(at(0.0, 0.0, 0.8).x > chin.x + 0.003, "{}", at(0.0, 0.0, 0.8));
        assert!((at(0.0, 0.0, -0.8).x + at(0.0, 0.0, 0.8).x).abs() < 1e-9);
    }

    #[test]
    fn limits_are_told_and_motions_are_found_again() {
        let error = JawPose { open_deg: 60.0, ..JawPose::default() }.check().unwrap_err();
        assert!(error.to_string().contains("is 60; it must be from 0 to 35"), "{error}");
        assert!(JawPose { side: f64::NAN, ..JawPose::default() }.check().is_err());
        let points: Vec<DVec3> = (0..20)
            .map(|i| DVec3::new(0.03 * f64::from(i).sin(), -0.06 - 0.001 * f64::from(i), 0.07))
            .collect();
        let pose = JawPose { open_deg: 17.0, forward: 0.2, side: -0.3 };
        let found = JawPose::nearest(&pose.motion(&joint()), &joint(), &points);
        let gap =
            points.iter().map(|&p| found.motion(&joint()).apply(p).distance(pose.motion(&joint()).apply(p)));
        assert!(gap.fold(0.0, f64::max) < 2e-4, "{found:?}");
    }
}
