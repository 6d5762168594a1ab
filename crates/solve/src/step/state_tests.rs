//! A body restored to a state continues to the same bits as the run that the state came from, factors
//! included.

use crate::fixtures::Body;
use crate::*;
use glam::{DQuat, DVec3};
use risorius_base::Rigid;
use risorius_base::progress::no_progress;

const DT: f64 = 1.0 / 300.0;
const N_STEPS: usize = 40;

fn bar() -> Body {
    Body::bar([6, 2, 2], DVec3::new(0.06, 0.02, 0.02), |p| p.x < 1e-12, 8000.0, 12000.0)
}

/// Stiffness grows up to 160-fold, slowly at first, while the bar gets longer, so the first factors fit less
/// and less.
fn configuration(body: &Body, step: usize) -> Configuration {
    let share = step as f64 / N_STEPS as f64;
    let scaled = |all: &[f64]| {
        all.iter().enumerate().map(|(i, k)| k * (1.0 + 80.0 * share.powi(3) * (i % 3) as f64)).collect()
    };
    Configuration {
        rest: body.mesh.nodes.iter().map(|p| *p * DVec3::new(1.0 + 0.2 * share, 1.0, 1.0)).collect(),
        parameters: body.first.parameters.iter().map(|list| scaled(list)).collect(),
        surface: Default::default(),
    }
}

fn step(body: &Body, moving: &mut Dynamics, step: usize) {
    let t = step as f64 * DT;
    let frame = Rigid::about(DVec3::ZERO, DQuat::from_rotation_z(0.6 * (25.0 * t).sin()));
    let forces = body.weight(DVec3::new(0.0, -9.81, 3.0));
    moving.step(&configuration(body, step), frame, DT, &Around::forces(&forces), &no_progress).unwrap();
}

/// Every number of a state, as bits.
fn bits(state: &State) -> Vec<u64> {
    let last = &state.last;
    let points = [
        &state.positions,
        &state.velocities,
        &last.corrected,
        &last.moved,
        &last.moved_in_frame,
        &last.velocities,
        &state.configuration.rest,
        &state.factored.rest,
    ];
    let lists = [
        &state.configuration.parameters[0],
        &state.configuration.parameters[1],
        &state.factored.parameters[0],
        &state.factored.parameters[1],
    ];
    let frame = state.frame.rotation.to_array().into_iter().chain(state.frame.translation.to_array());
    let points = points.into_iter().flatten().flat_map(|p| p.to_array());
    points.chain(lists.into_iter().flatten().copied()).chain(frame).map(f64::to_bits).collect()
}

#[test]
fn a_restored_body_continues_to_the_same_bits_across_factorizations() {
    let body = bar();
    for stepping in [Stepping::BackwardEuler, Stepping::Bdf2] {
        continues(&body, StepOptions { damping: 2.0, stepping, ..StepOptions::default() });
    }
}

fn continues(body: &Body, options: StepOptions) {
    let mut unbroken = body.start(options);
    let mut states = vec![unbroken.state()];
    for k in 1..=N_STEPS {
        step(body, &mut unbroken, k);
        states.push(unbroken.state());
    }
    let refactored: Vec<usize> =
        (1..=N_STEPS).filter(|&k| states[k].factored != states[k - 1].factored).collect();
    assert!((1..N_STEPS).contains(&refactored.len()), "factors were rebuilt at steps {refactored:?}");
    let after = refactored[0];
    assert!(after > 2 && after + 2 < N_STEPS, "the first time of {refactored:?}");
    let end = bits(&states[N_STEPS]);
    for from in [0, 1, after - 1, after, after + 1, N_STEPS - 1] {
        let mut again = body.start(options);
        again.restore(states[from].clone()).unwrap();
        (from + 1..=N_STEPS).for_each(|k| step(body, &mut again, k));
        assert!(bits(&again.state()) == end, "resumed from step {from}: other bits at the end");
    }
    // Other factors or another last step give other bits, so leaving either out of a state would be noticed.
    let state = &states[after];
    let uncorrected = LastStep { corrected: body.zeros(), ..state.last.clone() };
    let without = [
        State { factored: states[0].factored.clone(), ..state.clone() },
        State { last: uncorrected, ..state.clone() },
        State { last: LastStep::default(), ..state.clone() },
    ];
    for (what, state) in ["factored", "correction", "last step"].into_iter().zip(without) {
        let mut again = body.start(options);
        again.restore(state).unwrap();
        step(body, &mut again, after + 1);
        assert!(again.positions() != states[after + 1].positions, "{what} has no effect");
    }
}
