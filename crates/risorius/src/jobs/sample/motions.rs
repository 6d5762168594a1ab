//! Sample head motions, 120 samples per second, in meters and unit quaternions; the head starts upright at
//! the origin.
//!
//! Everything is a sum of Gaussian pulses and of sines under them, so it is smooth and has no part above 15
//! Hz, which a camera of 30 frames per second shows. Accelerations of the skull stay below 3 g, as those of
//! people who nod, shake their heads, hop and stamp.

use super::{pulse, times};
use glam::{DQuat, DVec3};
use risorius_rig::HeadMotion;
use std::f64::consts::TAU;

/// Samples per second.
const FPS: usize = 120;

/// A dip of the head by a stamp of the foot: depth in meters, width in seconds; and the rebound after it.
const DIP: (f64, f64) = (-0.03, 0.038);
const REBOUND: (f64, f64) = (0.009, 0.06);

/// Angles in radians about x (nodding), y (shaking) and z (tilting), and a position in meters.
#[derive(Default, Clone, Copy)]
struct Pose {
    nod: f64,
    shake: f64,
    tilt: f64,
    at: DVec3,
}

/// Nods, shakes, a hop and a stamp of the foot.
pub fn lively() -> HeadMotion {
    motion(4, |t| {
        let idle = 0.012 * (0.9 * t).sin() * (t / 0.5).min(1.0).powi(2);
        Pose {
            nod: swing(t, 0.75, 0.22, 2.7, 20.0) + hop(t, 2.55).1 + idle,
            shake: swing(t, 1.65, 0.25, 2.8, 34.0),
            tilt: 0.3 * swing(t, 1.75, 0.25, 1.2, 8.0),
            at: DVec3::Y * (hop(t, 2.55).0 + stamp_at(t, 3.35)),
        }
    })
}

/// Nodding.
pub fn nod() -> HeadMotion {
    motion(2, |t| Pose { nod: swing(t, 1.0, 0.3, 2.5, 15.0), ..Pose::default() })
}

/// Shaking the head.
pub fn shake() -> HeadMotion {
    motion(2, |t| Pose { shake: swing(t, 1.0, 0.3, 2.4, 22.0), ..Pose::default() })
}

/// Stamps of a foot.
pub fn stamp() -> HeadMotion {
    motion(2, |t| Pose {
        nod: 0.02 * (pulse(t, 0.55, 0.05) + pulse(t, 1.25, 0.05)),
        at: DVec3::Y * (stamp_at(t, 0.5) + stamp_at(t, 1.2)),
        ..Pose::default()
    })
}

/// Running forward at up to 2.5 m/s with 2.7 steps a second.
pub fn run() -> HeadMotion {
    motion(4, |t| {
        let effort = t * t / (t * t + 0.25);
        let step = TAU * 2.7 * t;
        // Distance for a speed of 2.5 t^2 / (t^2 + 0.25) m/s.
        let distance = 2.5 * (t - 0.5 * (t / 0.5).atan());
        Pose {
            nod: effort * 0.03 * (step + 0.6).sin(),
            shake: effort * 0.04 * (0.5 * step).sin(),
            tilt: effort * 0.03 * (0.5 * step + 0.8).sin(),
            at: DVec3::new(
                effort * 0.012 * (0.5 * step).sin(),
                effort * (0.032 * step.sin() + 0.004 * (2.0 * step + 0.5).sin()),
                distance,
            ),
        }
    })
}

/// A sine of `hertz` and `degrees` under a pulse.
fn swing(t: f64, center: f64, width: f64, hertz: f64, degrees: f64) -> f64 {
    degrees.to_radians() * pulse(t, center, width) * (TAU * hertz * (t - center)).sin()
}

/// A hop around time `at`: height, and nodding that goes with it. Knees bend, the body flies for a fifth of a
/// second, and knees bend again when it lands.
fn hop(t: f64, at: f64) -> (f64, f64) {
    let height = -0.05 * pulse(t, at - 0.26, 0.09) + 0.09 * pulse(t, at, 0.083)
        - 0.055 * pulse(t, at + 0.19, 0.056)
        + 0.014 * pulse(t, at + 0.33, 0.07);
    let nod = 0.05 * pulse(t, at - 0.24, 0.1) - 0.03 * pulse(t, at, 0.09) + 0.07 * pulse(t, at + 0.22, 0.07);
    (height, nod)
}

/// What a stamp of the foot does to the height of the head.
fn stamp_at(t: f64, at: f64) -> f64 {
    // The foot is lifted, which takes weight off the other leg, before it comes down.
    0.008 * pulse(t, at - 0.16, 0.07)
        + DIP.0 * pulse(t, at, DIP.1)
        + REBOUND.0 * pulse(t, at + 0.11, REBOUND.1)
}

fn motion(secs: usize, pose: impl Fn(f64) -> Pose) -> HeadMotion {
    let times_secs = times(secs, FPS);
    let poses: Vec<Pose> = times_secs.iter().map(|&t| pose(t)).collect();
    let start = poses[0].at;
    HeadMotion {
        positions_m: poses.iter().map(|p| (p.at - start).to_array()).collect(),
        rotations_xyzw: poses
            .iter()
            .map(|p| {
                (DQuat::from_rotation_y(p.shake)
                    * DQuat::from_rotation_x(p.nod)
                    * DQuat::from_rotation_z(p.tilt))
                .to_array()
            })
            .collect(),
        times_secs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: f64 = 9.81;

    /// Accelerations of a point of the face, m/s^2.
    fn accelerations(head: &HeadMotion, point: DVec3) -> Vec<DVec3> {
        let path: Vec<DVec3> = head.times_secs.iter().map(|&t| head.at(t).apply(point)).collect();
        path.windows(3).map(|p| (p[0] - 2.0 * p[1] + p[2]) * (FPS * FPS) as f64).collect()
    }

    /// The share of the energy of a signal above a frequency.
    fn share_above(signal: &[f64], hertz: f64) -> f64 {
        let n = signal.len();
        let energy = |k: usize| {
            let (mut re, mut im) = (0.0, 0.0);
            for (i, x) in signal.iter().enumerate() {
                // A Hann window: a motion that goes on at its end has no jump there.
                let x = x * (std::f64::consts::PI * i as f64 / n as f64).sin().powi(2);
                let angle = TAU * (k * i) as f64 / n as f64;
                re += x * angle.cos();
                im += x * angle.sin();
            }
            re * re + im * im
        };
        let all: Vec<f64> = (1..n / 2).map(energy).collect();
        let first = (hertz * n as f64 / FPS as f64) as usize;
        all[first..].iter().sum::<f64>() / all.iter().sum::<f64>()
    }

    #[test]
    fn motions_are_lively_and_stay_below_3_g_and_15_hertz() {
        let face = DVec3::new(0.0, 0.02, 0.1);
        for (name, head) in
            [("lively", lively()), ("nod", nod()), ("shake", shake()), ("stamp", stamp()), ("run", run())]
        {
            head.check().unwrap();
            let found = accelerations(&head, face);
            let most = found.iter().map(|a| a.length()).fold(0.0, f64::max) / G;
            assert!((0.6..3.0).contains(&most), "{name}: {most:.2} g");
            for axis in 0..3 {
                let signal: Vec<f64> = found.iter().map(|a| a[axis]).collect();
                if signal.iter().any(|a| a.abs() > 0.5) {
                    let share = share_above(&signal, 15.0);
                    assert!(share < 1e-3, "{name}, axis {axis}: {share} of the energy is above 15 Hz");
                }
            }
            assert!(head.positions_m[0].iter().all(|x| *x == 0.0));
            let start = (DVec3::from(head.positions_m[1]) - DVec3::from(head.positions_m[0])) * FPS as f64;
            assert!(start.length() < 0.03, "{name} starts at {start} m/s");
        }
    }

    #[test]
    fn every_part_of_the_lively_motion_is_there() {
        let head = lively();
        let largest = |from: f64, to: f64, of: &dyn Fn(f64) -> f64| {
            (0..100).map(|i| of(from + (to - from) * f64::from(i) / 100.0).abs()).fold(0.0, f64::max)
        };
        let angle = |axis: DVec3| {
            let head = &head;
            move |t: f64| head.at(t).rotation.to_scaled_axis().dot(axis).to_degrees()
        };
        assert!(largest(0.3, 1.2, &angle(DVec3::X)) > 6.0, "no nod");
        assert!(largest(1.2, 2.2, &angle(DVec3::Y)) > 12.0, "no shake");
        assert!(largest(2.3, 2.8, &|t| head.at(t).translation.y) > 0.04, "no hop");
        assert!(largest(3.2, 3.6, &|t| head.at(t).translation.y) > 0.01, "no stamp");
    }
}
