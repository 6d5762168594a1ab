//! Whether muscles can pull: not flat, not folded, in the flesh, not in bone; in words for people.

use crate::Muscle;
use crate::overlap::Overlap;
use glam::DVec3;

/// Less of a muscle in the flesh than this is reported.
const IN_FLESH: f64 = 0.25;

/// More of a muscle inside bone than this is reported.
const IN_BONE: f64 = 0.3;

/// Volumes below this are none, cubic meters: a grain of half a millimeter.
const NO_VOLUME: f64 = 1e-10;

/// What is wrong with a muscle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MuscleProblem {
    /// Its solid has no volume, or a negative one.
    Flat {
        /// In mm^3.
        volume_mm3: f64,
    },
    /// Its solid runs through itself: the Jacobian is not positive in this share of it.
    Folded {
        /// 0 to 1.
        share: f64,
    },
    /// Too little of it lies in the flesh.
    OutsideFlesh {
        /// The part inside, 0 to 1.
        share: f64,
    },
    /// Much of it runs through bone.
    InBone {
        /// The part in bone, 0 to 1.
        share: f64,
    },
}

impl std::fmt::Display for MuscleProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: &f64| format!("{:.0} %", 100.0 * share);
        match self {
            Self::Flat { volume_mm3 } => write!(
                f,
                "its solid has a volume of {volume_mm3:.2} mm^3 and cannot pull; check the landmarks around it, \
                 or its control points"
            ),
            Self::Folded { share } => write!(
                f,
                "its solid is folded in {} of its volume, so fibers there are uncertain; check the landmarks \
                 around it, or its control points",
                percent(share)
            ),
            Self::OutsideFlesh { share } => write!(
                f,
                "{} of it is in the flesh, so it pulls that much less; flesh ends before it: build with more \
                 of the head, or do without it",
                percent(share)
            ),
            Self::InBone { share } => write!(
                f,
                "{} of it is inside bone, where it pulls nothing; check bones and landmarks, or supply the bone",
                percent(share)
            ),
        }
    }
}

/// A grid of parameters over a solid.
fn grid() -> impl Iterator<Item = [f64; 3]> {
    (0..10).flat_map(|i| {
        (0..4).flat_map(move |j| {
            (0..2).map(move |k| {
                let at = |i: i32, n: f64| (f64::from(i) + 0.5) / n;
                [at(i, 10.0), at(j, 4.0), at(k, 2.0)]
            })
        })
    })
}

/// The problems of muscles, by index. `in_bone`: whether a point is inside bone.
pub fn check(
    muscles: &[Muscle],
    overlap: &Overlap,
    in_bone: impl Fn(DVec3) -> bool,
) -> Vec<(usize, MuscleProblem)> {
    let mut problems = Vec::new();
    for (i, muscle) in muscles.iter().enumerate() {
        let volume = muscle.solid.volume();
        if !volume.is_finite() || volume < NO_VOLUME {
            problems.push((i, MuscleProblem::Flat { volume_mm3: 1e9 * volume }));
            continue;
        }
        let share = |holds: &dyn Fn([f64; 3]) -> bool| {
            let n = grid().count();
            grid().filter(|&at| holds(at)).count() as f64 / n as f64
        };
        let folded = share(&|at| muscle.solid.evaluate(at).1.determinant() <= 0.0);
        if folded > 0.0 {
            problems.push((i, MuscleProblem::Folded { share: folded }));
        }
        let inside = (overlap.volumes[i] / volume).clamp(0.0, 1.0);
        if inside < IN_FLESH {
            problems.push((i, MuscleProblem::OutsideFlesh { share: inside }));
        }
        let buried = share(&|[u, v, w]| in_bone(muscle.solid.point(u, v, w)));
        if buried > IN_BONE {
            problems.push((i, MuscleProblem::InBone { share: buried }));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MuscleEnd, SplineSolid};

    fn bar(scale: DVec3) -> Muscle {
        let at = |i: usize| DVec3::new((i / 4) as f64 / 3.0, (i / 2 % 2) as f64, (i % 2) as f64) * scale;
        let solid = SplineSolid { counts: [4, 2, 2], control: (0..16).map(at).collect() };
        Muscle { name: "bar".into(), origin: MuscleEnd::Soft, insertion: MuscleEnd::Soft, solid }
    }

    #[test]
    fn flat_folded_outside_and_buried_muscles_are_told_apart() {
        let good = bar(DVec3::new(0.03, 0.01, 0.01));
        let mut folded = good.clone();
        folded.solid.control[4..8].iter_mut().for_each(|p| p.x = 0.05);
        folded.solid.control[8..12].iter_mut().for_each(|p| p.x = -0.02);
        let muscles = [good.clone(), bar(DVec3::new(0.03, 0.01, 0.0)), good.clone(), good.clone(), folded];
        let volumes = vec![2.9e-6, 0.0, 1e-7, 2.9e-6, 2.9e-6];
        let overlap = Overlap { volumes, ..Overlap::default() };
        let all = check(&muscles, &overlap, |_| false);
        let of = |i: usize| all.iter().filter(|(k, _)| *k == i).map(|(_, p)| *p).collect::<Vec<_>>();
        assert_eq!(of(0), []);
        assert!(matches!(of(1)[..], [MuscleProblem::Flat { .. }]));
        assert!(matches!(of(2)[..], [MuscleProblem::OutsideFlesh { share }] if share < 0.1));
        assert!(of(4).iter().any(|p| matches!(p, MuscleProblem::Folded { .. })), "{all:?}");
        let buried = check(&muscles[..1], &overlap, |p| p.x < 0.018);
        assert!(matches!(buried[..], [(0, MuscleProblem::InBone { share })] if share > 0.4), "{buried:?}");
        assert!(all.iter().all(|(_, p)| !p.to_string().is_empty()));
    }
}
