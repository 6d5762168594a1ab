//! Resuming an earlier run: the inputs that a frame depends on, and the resume state at its end.
//!
//! The keys of frames form a chain. The key of a frame is a fingerprint of the previous key and of the
//! frame's own inputs: the program, the face, the options, the frame's time, its weights, and the motion of
//! the head and of the scene since the previous frame. Motions enter by the knots of their curves between the
//! two frames, which determine every pose that a step can use, halved steps included. Two runs therefore have
//! the same key at a frame exactly if all inputs up to it are the same. Changes later in a clip do not
//! matter, except where smoothing looks ahead; the knots contain the smoothing.

use crate::drivers::MethodOptions;
use crate::drivers::enrich::EnrichOptions;
use crate::drivers::muscles::MuscleOptions;
use crate::drivers::muscles::play::MusclesOptions;
use crate::drivers::volumetric::VolumetricOptions;
use crate::run::{ONSET, Performance};
use risorius_base::Fingerprint;
use risorius_rig::BoundClip;
use risorius_solve::{SolveOptions, State, Stepping};

/// An input of every frame: increase it when a change of the code changes frames or states for the same
/// inputs.
pub const METHOD: u64 = 8;

/// The names of the parts of a key, in their order.
pub const INPUTS: [&str; 7] = [
    "the version of the program",
    "the face",
    "an option",
    "the time",
    "the weights",
    "the head's motion",
    "the scene",
];

/// Fingerprints of everything that a frame depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameKey {
    /// Of this frame's inputs and those of all frames before.
    pub chain: Fingerprint,
    /// Of this frame's inputs, as in [`INPUTS`].
    pub inputs: [Fingerprint; INPUTS.len()],
}

impl FrameKey {
    /// The first input that differs; `None` if only earlier frames differ.
    pub fn changed_since(&self, earlier: &Self) -> Option<&'static str> {
        INPUTS
            .into_iter()
            .zip(self.inputs.iter().zip(&earlier.inputs))
            .find(|(_, (a, b))| a != b)
            .map(|(name, _)| name)
    }
}

/// The resume state at the end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The last finished frame.
    pub frame: usize,
    /// The state of the flesh after it.
    pub state: State,
}

/// The key of every frame of a performance on the face with the fingerprint `face`.
pub fn frame_keys(face: Fingerprint, performance: &Performance, options: &MethodOptions) -> Vec<FrameKey> {
    // Destructured without `..`: a new field must be hashed here.
    let Performance { clip: BoundClip { times_secs, weights, n_sliders, head: _ }, head, scene } =
        performance;
    let program =
        Fingerprint::default().bytes(env!("CARGO_PKG_VERSION").as_bytes()).bytes(&METHOD.to_le_bytes());
    let (gain, dt_secs) = (options.gain(), options.dt_secs());
    let settings = match options {
        MethodOptions::Enrich(options) => of_enrich(options),
        MethodOptions::Volumetric(options) => of_volumetric(options),
        MethodOptions::Muscles(options) => of_muscles(options),
    };
    let lasting = scene.lasting_fingerprint();
    let mut chain = Fingerprint::default();
    let key = |(frame, &time_secs): (usize, &f64)| {
        let row = weights.get(frame * n_sliders..(frame + 1) * n_sliders).unwrap_or_default();
        let since = match frame.checked_sub(1) {
            // A gain looks back by one more step.
            Some(before) if gain == 1.0 => [times_secs[before], time_secs],
            Some(before) => [times_secs[before] - dt_secs, time_secs],
            // The first frame needs the initial velocity and acceleration of the head.
            None => [time_secs, time_secs + dt_secs.max(2.0 * ONSET)],
        };
        let inputs = [
            program,
            face,
            settings,
            Fingerprint::default().numbers([time_secs]),
            Fingerprint::default().numbers(row.iter().map(|&w| w.into())),
            Fingerprint::default().numbers(head.knots(since)),
            lasting.and(scene.fingerprint_between(since)),
        ];
        chain = inputs.iter().fold(chain, |chain, &input| chain.and(input));
        FrameKey { chain, inputs }
    };
    times_secs.iter().enumerate().map(key).collect()
}

fn of_enrich(options: &EnrichOptions) -> Fingerprint {
    let EnrichOptions {
        dt_secs,
        stepping,
        rebalance,
        damping,
        stiffness,
        viscosity,
        gain,
        tightening,
        mass,
        gravity,
        adhesion,
        contact,
        contact_spacing,
        solve,
        reference,
    } = *options;
    let SolveOptions { force_tolerance, step_tolerance, max_iterations, allow_inversion } = solve;
    let numbers = [
        dt_secs,
        rebalance,
        damping,
        stiffness,
        viscosity,
        gain,
        tightening,
        mass,
        gravity,
        adhesion,
        contact_spacing,
        force_tolerance,
        step_tolerance,
    ];
    let iterations = (max_iterations as u64).to_le_bytes();
    Fingerprint::default().numbers(numbers).bytes(&iterations).bytes(&[
        allow_inversion.into(),
        reference.into(),
        contact as u8,
        (stepping == Stepping::Bdf2).into(),
    ])
}

fn of_volumetric(options: &VolumetricOptions) -> Fingerprint {
    let VolumetricOptions {
        dt_secs,
        stepping,
        active,
        rebalance,
        damping,
        stiffness,
        volume,
        viscosity,
        gain,
        mass,
        gravity,
        contact,
        iterations,
        tolerance,
        exact,
    } = *options;
    let numbers =
        [dt_secs, active, rebalance, damping, stiffness, volume, viscosity, gain, mass, gravity, tolerance];
    Fingerprint::default()
        .bytes(b"volumetric")
        .numbers(numbers)
        .bytes(&(iterations as u64).to_le_bytes())
        .bytes(&[contact as u8, (stepping == Stepping::Bdf2).into(), exact.into()])
}

fn of_muscles(options: &MusclesOptions) -> Fingerprint {
    let MusclesOptions { model, snap, inertia, dt_secs, gain, mass, gravity } = *options;
    let MuscleOptions { stiffness, strength, bulk, contact, solve } = model;
    let SolveOptions { force_tolerance, step_tolerance, max_iterations, allow_inversion } = solve;
    let numbers =
        [snap, dt_secs, gain, mass, gravity, stiffness, strength, bulk, force_tolerance, step_tolerance];
    Fingerprint::default()
        .bytes(b"muscles")
        .numbers(numbers)
        .bytes(&(max_iterations as u64).to_le_bytes())
        .bytes(&[contact as u8, inertia.into(), allow_inversion.into()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HeadPath;
    use crate::curve::Curve;
    use crate::scene::model::{Collider, ExpressedIn, Factor, Force, Form, Scene};
    use glam::DVec3;
    use risorius_rig::HeadMotion;

    const N: usize = 60;

    struct Input {
        times_secs: Vec<f64>,
        weights: Vec<f32>,
        motion: HeadMotion,
        scene: Scene,
        options: EnrichOptions,
        face: Fingerprint,
    }

    /// A moving ball, a force that starts at 1 s, wind of changing direction.
    fn scene() -> Scene {
        let times_secs: Vec<f64> = (0..8).map(|i| 0.5 * f64::from(i)).collect();
        let keys = HeadMotion {
            positions_m: times_secs.iter().map(|t| [*t, 0.0, 0.0]).collect(),
            rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; 8],
            times_secs,
        };
        let (form, path) = (Form::Sphere { radius: 0.02 }, HeadPath::keyed(&keys));
        let newtons = Curve::keyed(&[0.0, 1.0, 1.5], &[DVec3::ZERO, DVec3::ZERO, DVec3::Y]);
        Scene {
            colliders: vec![Collider { form, path, expressed_in: ExpressedIn::World }],
            wind: Curve::keyed(&[0.0, 1.0, 2.0], &[DVec3::X, DVec3::X, DVec3::Z]),
            forces: vec![Force { vertices: vec![1, 2], newtons, expressed_in: ExpressedIn::Head }],
            stiffness: vec![Factor { vertices: vec![3], factor: 2.0 }],
            mass: vec![Factor { vertices: vec![3], factor: 2.0 }],
            touch: vec![[vec![1], vec![2]]],
            held: vec![vec![1, 3]],
        }
    }

    /// Two sliders at 30 frames per second, a head at 120.
    fn input() -> Input {
        let head_times: Vec<f64> = (0..4 * N + 20).map(|i| i as f64 / 120.0).collect();
        Input {
            times_secs: (0..N).map(|i| i as f64 / 30.0).collect(),
            weights: (0..2 * N).map(|i| (i as f32).sin()).collect(),
            motion: HeadMotion {
                positions_m: head_times.iter().map(|t| [t.sin(), 0.0, t.cos()]).collect(),
                rotations_xyzw: head_times
                    .iter()
                    .map(|t| [0.0, (0.5 * t).sin(), 0.0, (0.5 * t).cos()])
                    .collect(),
                times_secs: head_times,
            },
            scene: scene(),
            options: EnrichOptions::default(),
            face: Fingerprint::default(),
        }
    }

    fn keys(input: &Input) -> Vec<FrameKey> {
        let head = HeadPath::prepare(&input.motion, 0.01);
        let scene = input.scene.clone();
        let n_sliders = input.weights.len() / input.times_secs.len().max(1);
        let (times_secs, weights) = (input.times_secs.clone(), input.weights.clone());
        let clip = BoundClip { times_secs, weights, n_sliders, head: None };
        let performance = Performance { clip: &clip, head, scene };
        frame_keys(input.face, &performance, &MethodOptions::Enrich(input.options))
    }

    /// The first frame whose key changes, and the changed input; `None` if no key changes. All later keys
    /// must differ as well.
    fn change(edit: impl Fn(&mut Input)) -> Option<(usize, &'static str)> {
        let (before, mut input) = (keys(&input()), input());
        edit(&mut input);
        let after = keys(&input);
        let first = before.iter().zip(&after).position(|(a, b)| a.chain != b.chain)?;
        assert!(
            before.iter().zip(&after).skip(first).all(|(a, b)| a.chain != b.chain),
            "a later key does not depend on frame {first}"
        );
        Some((first, after[first].changed_since(&before[first]).unwrap()))
    }

    #[test]
    fn keys_change_from_the_edited_frame_on_and_say_why() {
        assert_eq!(change(|_| ()), None);
        assert_eq!(change(|i| i.weights[2 * 40 + 1] += 1e-7), Some((40, "the weights")));
        assert_eq!(change(|i| i.times_secs[40] += 1e-9), Some((40, "the time")));
        assert_eq!(change(|i| i.options.gravity = 9.8), Some((0, "an option")));
        assert_eq!(change(|i| i.options.solve.max_iterations += 1), Some((0, "an option")));
        assert_eq!(change(|i| i.options.reference = true), Some((0, "an option")));
        assert_eq!(change(|i| i.face = i.face.bytes(b"x")), Some((0, "the face")));
        // A sample of the head at frame 40: smoothing reaches back 0.03 s, slopes one sample more, all within
        // 39 to 40.
        assert_eq!(change(|i| i.motion.positions_m[160][1] += 1e-6), Some((39, "the head's motion")));
        assert_eq!(change(|i| i.motion.rotations_xyzw[160][0] += 1e-6), Some((39, "the head's motion")));
        // Samples after the last frame have no effect.
        assert_eq!(change(|i| i.motion.positions_m[4 * N + 9][1] += 1.0), None);
        // Constant parts of the scene count from the first frame on, others from when they act.
        let scene = Some((0, "the scene"));
        assert_eq!(change(|i| i.scene.stiffness[0].factor = 3.0), scene);
        assert_eq!(change(|i| i.scene.mass[0].vertices[0] = 4), scene);
        assert_eq!(change(|i| i.scene.touch[0][1][0] = 4), scene);
        assert_eq!(change(|i| i.scene.held[0][1] = 4), scene);
        assert_eq!(change(|i| i.scene.colliders[0].form = Form::Sphere { radius: 0.03 }), scene);
        assert_eq!(change(|i| i.scene.colliders[0].expressed_in = ExpressedIn::Head), scene);
        assert_eq!(change(|i| i.scene.wind = Curve::default()), scene);
        let force = Some((31, "the scene"));
        assert_eq!(change(|i| i.scene.forces[0].vertices[0] = 0), force);
        assert_eq!(change(|i| i.scene.forces[0].expressed_in = ExpressedIn::World), force);
        assert_eq!(change(|i| i.scene.forces.clear()), force);
        let wind = Curve::keyed(&[0.0, 1.0, 2.0], &[DVec3::X, DVec3::X, DVec3::Y]);
        assert_eq!(change(|i| i.scene.wind = wind.clone()), Some((31, "the scene")));
        // A longer clip starts with the keys of the shorter one.
        let (whole, mut short) = (keys(&input()), input());
        short.times_secs.truncate(20);
        short.weights.truncate(40);
        assert_eq!(keys(&short), whole[..20]);
    }

    #[test]
    fn knots_decide_on_every_pose_between_two_times() {
        let motion = input().motion;
        let path = HeadPath::prepare(&motion, 0.01);
        let poses = |path: &HeadPath, [from, to]: [f64; 2]| {
            (0..=200).map(|k| path.at(from + (to - from) * f64::from(k) / 200.0)).collect::<Vec<_>>()
        };
        let spans = (0..50).map(|k| [f64::from(k) * 0.041 - 0.02, f64::from(k) * 0.041 + 0.013]);
        let mut seen = [0; 2];
        for span in spans {
            for sample in (0..motion.times_secs.len()).step_by(3) {
                let mut edited = motion.clone();
                edited.positions_m[sample][2] += 0.01;
                let edited = HeadPath::prepare(&edited, 0.01);
                let same = path.knots(span).eq(edited.knots(span));
                assert_eq!(same, poses(&path, span) == poses(&edited, span), "{span:?} s, sample {sample}");
                seen[usize::from(same)] += 1;
            }
        }
        assert!(seen[0] > 50 && seen[1] > 50, "other, same: {seen:?}");
        assert_eq!(HeadPath::default().knots([0.0, 1.0]).count(), 0);
    }
}
