//! Motion against formulas: oscillations, a beam under its own weight, free bodies, moving frames.
//!
//! At small strain the energy is that of Lame's `mu` and `lambda`: `E` becomes the linear strain e and
//! `det F - 1` its trace, so `U = mu tr(e^2) + lambda/2 tr(e)^2`. Hence Young's modulus
//! `mu (3 lambda + 2 mu)/(lambda + mu)` and Poisson's ratio `lambda/(2 (lambda + mu))`.
//!
//! In backward Euler, a mode of angular frequency w follows `(1 + h^2 w^2) x_n+1 = 2 x_n - x_n-1`: an
//! oscillation of `atan(h w)` radians per step that shrinks by `1/sqrt(1 + h^2 w^2)` per step.

use crate::fixtures::{Body, Random, TIGHT, farthest};
use crate::minimize::newton::solve;
use crate::step::body::StepOptions;
use crate::*;
use glam::{DQuat, DVec3};
use risorius_base::Rigid;
use risorius_base::progress::no_progress;
use risorius_linalg::sparse::block_index;
use std::f64::consts::TAU;

const SIZE: DVec3 = DVec3::new(0.06, 0.02, 0.02);
const DT: f64 = 1.0 / 300.0;

fn tight(dt_secs: f64) -> StepOptions {
    StepOptions { dt_secs, solve: TIGHT, ..StepOptions::default() }
}

fn at_wall(p: DVec3) -> bool {
    p.x < 1e-12
}

/// The amplitude of a mode after each step of `h` seconds, starting at rest with amplitude one.
fn backward_euler(frequency: f64, h: f64, n_steps: usize) -> Vec<f64> {
    let (mut before, mut now) = (1.0, 1.0);
    let mut step = || {
        (before, now) = (now, (2.0 * now - before) / (1.0 + (h * frequency).powi(2)));
        now
    };
    (0..n_steps).map(|_| step()).collect()
}

/// The same by BDF2: each step solves `v' = -w^2 x`, `x' = v` with three-point differences; the first by
/// backward Euler.
fn bdf2(frequency: f64, h: f64, n_steps: usize) -> Vec<f64> {
    let w = (h * frequency).powi(2);
    let mut states = vec![[1.0, 0.0]];
    for k in 0..n_steps {
        // Displacement and h times the velocity.
        let [x, v]: [f64; 2] = states[k];
        let next = match k.checked_sub(1).map(|k| states[k]) {
            None => {
                let x = (x + v) / (1.0 + w);
                [x, v - w * x]
            }
            Some([xp, vp]) => {
                let (x, v) = ((4.0 * x - xp) / 3.0, (4.0 * v - vp) / 3.0);
                let x = (x + 2.0 / 3.0 * v) / (1.0 + 4.0 / 9.0 * w);
                [x, v - 2.0 / 3.0 * w * x]
            }
        };
        states.push(next);
    }
    states[1..].iter().map(|[x, _]| *x).collect()
}

/// Releases the body from a small displacement along `mode`. Returns the amplitude of the mode after each
/// step.
fn let_go(body: &Body, mode: &[DVec3], h: f64, n_steps: usize) -> Vec<f64> {
    swing(body, mode, &vec![h; n_steps], Stepping::BackwardEuler)
}

/// The same in steps of these lengths.
fn swing(body: &Body, mode: &[DVec3], steps: &[f64], stepping: Stepping) -> Vec<f64> {
    let start: Vec<DVec3> = body.mesh.nodes.iter().zip(mode).map(|(p, d)| *p + *d).collect();
    let solve = SolveOptions { force_tolerance: 1e-13, step_tolerance: 1e-15, ..TIGHT };
    let options = StepOptions { solve, stepping, ..tight(steps[0]) };
    let mut moving = body.start_at(&start, &body.zeros(), Rigid::IDENTITY, options);
    let product =
        |a: &[DVec3]| -> f64 { a.iter().zip(mode).zip(&body.masses).map(|((a, b), m)| m * a.dot(*b)).sum() };
    let mut step = |&h: &f64| {
        moving.step(&body.first, Rigid::IDENTITY, h, &Around::default(), &no_progress).unwrap();
        let moved: Vec<DVec3> =
            moving.positions().iter().zip(&body.mesh.nodes).map(|(x, p)| *x - *p).collect();
        product(&moved) / product(mode)
    };
    steps.iter().map(&mut step).collect()
}

/// A bar that behaves like masses and springs in a row: without lambda nothing moves sideways, and the masses
/// at the nodes of a cross-section are distributed like the stiffness.
fn masses_in_a_row(n_cells: usize) -> Body {
    let mut body = Body::bar([n_cells, 2, 2], SIZE, at_wall, 3000.0, 0.0);
    let total = 1000.0 * SIZE.x * SIZE.y * SIZE.z;
    let mut areas = vec![0.0; body.masses.len()];
    let nodes = &body.mesh.nodes;
    for tet in &body.mesh.tets {
        for skipped in 0..4 {
            let corners: Vec<usize> = (0..4).filter(|&k| k != skipped).map(|k| tet[k] as usize).collect();
            if corners.iter().all(|&v| nodes[v].x == nodes[corners[0]].x) {
                let [p, q, r] = [0, 1, 2].map(|k| nodes[corners[k]]);
                // Sections between two layers are counted from both sides.
                corners.iter().for_each(|&v| areas[v] += (q - p).cross(r - p).length() / 12.0);
            }
        }
    }
    let section = total / (SIZE.y * SIZE.z * n_cells as f64);
    body.masses = areas.iter().map(|a| a * section).collect();
    body
}

#[test]
fn masses_on_springs_swing_as_the_formula_says() {
    let (stiffness, density) = (2.0 * 3000.0, 1000.0f64);
    for n_cells in [1, 4] {
        let body = masses_in_a_row(n_cells);
        let quarter = TAU / 4.0 / SIZE.x;
        let mode: Vec<DVec3> =
            body.mesh.nodes.iter().map(|p| DVec3::X * 1e-7 * (quarter * p.x).sin()).collect();
        // A row of masses, the last of them half as heavy: the quarter-wavelength mode.
        let cell = SIZE.x / n_cells as f64;
        let frequency = 2.0 / cell * (stiffness / density).sqrt() * (0.5 * quarter * cell).sin();
        let period = TAU / frequency;
        let mut errors = Vec::new();
        for n_steps in [100, 200, 400] {
            let h = period / n_steps as f64;
            let [measured, discrete] =
                [let_go(&body, &mode, h, n_steps), backward_euler(frequency, h, n_steps)];
            let apart = measured.iter().zip(&discrete).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            errors.push((measured[n_steps - 1] - 1.0).abs());
            assert!(
                apart < 1e-5,
                "{n_cells} cells, {n_steps} steps: {apart:e} of the amplitude from backward Euler"
            );
        }
        let ratios = [errors[0] / errors[1], errors[1] / errors[2]];
        assert!(
            ratios.iter().all(|r| (1.8..2.1).contains(r)),
            "errors {errors:?} after a period, ratios {ratios:?}"
        );
    }
}

#[test]
fn second_order_steps_keep_the_swing() {
    let body = masses_in_a_row(2);
    let quarter = TAU / 4.0 / SIZE.x;
    let mode: Vec<DVec3> = body.mesh.nodes.iter().map(|p| DVec3::X * 1e-7 * (quarter * p.x).sin()).collect();
    let cell = SIZE.x / 2.0;
    let frequency = 2.0 / cell * 6.0f64.sqrt() * (0.5 * quarter * cell).sin();
    let period = TAU / frequency;
    let after_a_period = |n: usize, uneven: bool, stepping: Stepping| {
        let length = |k: usize| if uneven { [0.5, 1.0, 1.5, 1.0][k % 4] } else { 1.0 };
        let steps: Vec<f64> = (0..n).map(|k| length(k) * period / n as f64).collect();
        swing(&body, &mode, &steps, stepping)
    };
    let mut errors = [Vec::new(), Vec::new()];
    for n in [40, 80, 160] {
        let even = after_a_period(n, false, Stepping::Bdf2);
        let exact = bdf2(frequency, period / n as f64, n);
        let apart = even.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-5, "{n} steps: {apart:e} of the amplitude from BDF2");
        errors[0].push((even[n - 1] - 1.0).abs());
        errors[1].push((after_a_period(n, true, Stepping::Bdf2)[n - 1] - 1.0).abs());
    }
    for errors in errors {
        let ratios = [errors[0] / errors[1], errors[1] / errors[2]];
        assert!(ratios.iter().all(|r| *r > 3.3), "errors {errors:?} after a period, ratios {ratios:?}");
    }
    // At 8 Hz, steps of 1/150 s lose less than backward Euler in steps of 1/300 s.
    let left = |steps_per_period: usize, stepping: Stepping| {
        after_a_period(steps_per_period, false, stepping)[steps_per_period - 1]
    };
    let [second, first] = [left(19, Stepping::Bdf2), left(38, Stepping::BackwardEuler)];
    assert!(second > 0.8 && first < 0.65, "{second} and {first} of the amplitude are left");
}

/// The lowest mode by inverse iteration on the exact second derivatives at rest, and its angular frequency.
fn lowest_mode(body: &Body) -> (Vec<DVec3>, f64) {
    let at = &body.first;
    let tissue = body.tissue(at);
    let system = System::prepare(&body.held, &[&body.mesh.tets]).unwrap();
    let problem = Problem { system: &system, energies: &[&tissue], loads: &[] };
    let factor = problem.stiffness_factor(&at.rest).unwrap();
    let mut blocks = vec![[[[0.0; 3]; 3]; 10]; body.mesh.tets.len()];
    tissue.hessians(&at.rest, 0..body.mesh.tets.len(), true, &mut blocks);
    let curvature = |x: &[DVec3]| -> f64 {
        let of = |(tet, blocks): (&Stencil, &risorius_linalg::ElementBlocks<3>)| -> f64 {
            let pairs = (0..16).map(|k| (k / 4, k % 4));
            let product = |(a, b): (usize, usize)| {
                let (high, low) = (a.max(b), a.min(b));
                let (p, q) = (x[tet[high] as usize], x[tet[low] as usize]);
                p.dot(glam::DMat3::from_cols_array_2d(&blocks[block_index(high, low)]) * q)
            };
            pairs.map(product).sum()
        };
        body.mesh.tets.iter().zip(&blocks).map(of).sum()
    };
    let mut random = Random(4);
    let free = |i: usize, v: DVec3| if body.held[i] { DVec3::ZERO } else { v };
    let mut mode: Vec<DVec3> = (0..body.masses.len()).map(|i| free(i, random.vector())).collect();
    for _ in 0..60 {
        let pull: Vec<DVec3> =
            mode.iter().zip(&body.masses).enumerate().map(|(i, (d, m))| free(i, *m * *d)).collect();
        mode = solve(&factor, &pull);
        let longest = mode.iter().map(|d| d.length()).fold(0.0, f64::max);
        mode.iter_mut().for_each(|d| *d /= longest);
    }
    let inertia: f64 = mode.iter().zip(&body.masses).map(|(d, m)| m * d.length_squared()).sum();
    let frequency = (curvature(&mode) / inertia).sqrt();
    (mode, frequency)
}

#[test]
fn a_bar_swings_at_its_lowest_eigenfrequency() {
    let body = Body::bar([6, 2, 2], DVec3::new(0.06, 0.016, 0.024), at_wall, 3000.0, 2500.0);
    let (mode, frequency) = lowest_mode(&body);
    let mode: Vec<DVec3> = mode.iter().map(|d| *d * 3e-6).collect();
    let n_steps = 200;
    let h = TAU / frequency / n_steps as f64;
    let [measured, discrete] =
        [let_go(&body, &mode, h, 2 * n_steps), backward_euler(frequency, h, 2 * n_steps)];
    let apart = measured.iter().zip(&discrete).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-4, "{apart:e} of the amplitude from a mode of {frequency} rad/s");
    // Zero crossings of the amplitude, interpolated between steps: at a quarter and three quarters of a
    // period.
    let zeros: Vec<f64> = (1..measured.len())
        .filter(|&k| measured[k - 1] * measured[k] < 0.0)
        .map(|k| k as f64 - measured[k] / (measured[k] - measured[k - 1]))
        .collect();
    let half = TAU / 2.0 / (h * frequency).atan();
    let swings: Vec<f64> = zeros.windows(2).map(|w| (w[1] - w[0]) / half - 1.0).collect();
    assert!(swings.len() == 3 && swings.iter().all(|s| s.abs() < 1e-4), "half swings are off by {swings:?}");
}

#[test]
fn a_beam_under_its_weight_converges_to_the_formula() {
    let (size, mu, lambda, density) = (DVec3::new(0.08, 0.01, 0.01), 3000.0, 2500.0, 1000.0);
    let gravity = 1e-4;
    let sag = |k: usize| {
        let body = Body::bar([8 * k, k, k], size, at_wall, mu, lambda);
        let loads = body.weight(-gravity * DVec3::Y);
        let options = StepOptions {
            solve: SolveOptions { force_tolerance: 1e-15, step_tolerance: 1e-13, ..TIGHT },
            ..tight(100.0)
        };
        let mut moving = body.start(options);
        // Steps so long that inertia is negligible.
        for _ in 0..2 {
            let report = moving
                .step(&body.first, Rigid::IDENTITY, 100.0, &Around::forces(&loads), &no_progress)
                .unwrap();
            assert!(report.converged, "{report:?}");
        }
        let end = (0..body.masses.len()).filter(|&i| body.mesh.nodes[i].x > size.x - 1e-12);
        let sags: Vec<f64> = end.map(|i| body.mesh.nodes[i].y - moving.positions()[i].y).collect();
        sags.iter().sum::<f64>() / sags.len() as f64
    };
    let young = mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu);
    let poisson = lambda / (2.0 * (lambda + mu));
    // Euler-Bernoulli bending plus Timoshenko shear (Cowper's factor for a square section).
    let load = density * gravity * size.y * size.z;
    let bending = load * size.x.powi(4) / (8.0 * young * size.y.powi(4) / 12.0);
    let shear = load * size.x.powi(2)
        / (2.0 * 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson) * mu * size.y * size.z);
    let exact = bending + shear;
    let sags = [2, 4, 6].map(sag);
    let errors = sags.map(|s| s / exact - 1.0);
    // Linear tets are too stiff in bending: -46, -19 and -10 percent with 2, 4 and 6 of them across.
    assert!(errors[0] < errors[1] && errors[1] < errors[2] && errors[2] < 0.0, "errors {errors:?}");
    assert!(errors[2].abs() < 0.11, "errors {errors:?}");
    let extrapolated = (sags[2] + (sags[2] - sags[1]) / (36.0 / 16.0 - 1.0)) / exact - 1.0;
    assert!(extrapolated.abs() < 0.03, "extrapolated {extrapolated}, errors {errors:?}");
}

/// A bar without held nodes, stretched and sheared, with random velocities.
fn tumbling() -> (Body, Vec<DVec3>, Vec<DVec3>) {
    let body = Body::bar([4, 2, 2], SIZE, |_| false, 8000.0, 12000.0);
    let mut random = Random(6);
    let x = body.mesh.nodes.iter().map(|p| DVec3::new(1.2 * p.x + 0.1 * p.y, p.y, 0.9 * p.z)).collect();
    let spin = DVec3::new(3.0, -5.0, 8.0);
    let v = body
        .mesh
        .nodes
        .iter()
        .map(|p| DVec3::new(0.3, 0.1, -0.2) + spin.cross(*p) + 0.1 * random.vector())
        .collect();
    (body, x, v)
}

#[test]
fn a_free_body_keeps_its_momentum() {
    let (body, x, v) = tumbling();
    let momentum = |v: &[DVec3]| -> DVec3 { v.iter().zip(&body.masses).map(|(v, m)| *m * *v).sum() };
    let size: f64 = v.iter().zip(&body.masses).map(|(v, m)| m * v.length()).sum();
    // The usual tolerances stop early: they lose 5e-3 of the momentum, tight ones 1e-8.
    for (solve, most) in
        [(SolveOptions { force_tolerance: 1e-9, ..TIGHT }, 5e-8), (StepOptions::default().solve, 1e-2)]
    {
        let mut moving = body.start_at(&x, &v, Rigid::IDENTITY, StepOptions { solve, ..tight(DT) });
        for _ in 0..200 {
            let report =
                moving.step(&body.first, Rigid::IDENTITY, DT, &Around::default(), &no_progress).unwrap();
            assert!(report.converged && report.smallest_det > 0.3, "{report:?}");
        }
        let lost = (momentum(moving.velocities()) - momentum(&v)).length() / size;
        assert!(lost < most, "{lost:e} of the momentum with {solve:?}");
    }
}

#[test]
fn a_free_body_falls_as_it_should_in_steps_of_any_length() {
    let body = Body::bar([4, 2, 2], SIZE, |_| false, 8000.0, 12000.0);
    let loads = body.weight(-9.81 * DVec3::Z);
    for h in [1e-4, DT, 0.1] {
        let mut moving = body.start(StepOptions { dt_secs: h, ..StepOptions::default() });
        let n = 30;
        for k in 0..n {
            let dt_secs = if k % 2 == 0 { h } else { 0.5 * h };
            moving
                .step(&body.first, Rigid::IDENTITY, dt_secs, &Around::forces(&loads), &no_progress)
                .unwrap();
        }
        let time = 0.75 * h * n as f64;
        let off =
            moving.velocities().iter().map(|v| (*v + 9.81 * time * DVec3::Z).length()).fold(0.0, f64::max);
        assert!(off < 1e-3 * 9.81 * time, "steps of {h} s: {off} m/s of {}", 9.81 * time);
    }
}

/// A frame that tumbles and wanders.
fn wandering(time: f64) -> Rigid {
    let turn = DVec3::new(2.0 * (3.0 * time).sin(), 4.0 * time, 1.0 - (5.0 * time).cos());
    let rotation = DQuat::from_scaled_axis(turn) * DQuat::from_scaled_axis(DVec3::new(0.3, -0.8, 0.2));
    Rigid { rotation, translation: DVec3::new(0.4 * (6.0 * time).cos(), 1.5 * time, -3.0 * time * time) }
}

#[test]
fn a_free_body_does_not_depend_on_its_frame() {
    let (body, x, v) = tumbling();
    let weight = body.weight(-9.81 * DVec3::Y);
    for stepping in [Stepping::BackwardEuler, Stepping::Bdf2] {
        let options = StepOptions { stepping, ..tight(DT) };
        let mut in_world = body.start_at(&x, &v, Rigid::IDENTITY, options);
        let first = wandering(0.0);
        let local: Vec<DVec3> = x.iter().map(|p| first.inverse().apply(*p)).collect();
        let mut in_frame = body.start_at(&local, &v, first, options);
        let mut most = 0.0f64;
        for step in 1..=120 {
            let frame = wandering(step as f64 * DT);
            in_world.step(&body.first, Rigid::IDENTITY, DT, &Around::forces(&weight), &no_progress).unwrap();
            let turned: Vec<DVec3> = weight.iter().map(|f| frame.rotation.inverse() * *f).collect();
            in_frame.step(&body.first, frame, DT, &Around::forces(&turned), &no_progress).unwrap();
            let back: Vec<DVec3> = in_frame.positions().iter().map(|p| frame.apply(*p)).collect();
            most = most.max(farthest(&back, in_world.positions()));
        }
        let way = farthest(in_world.positions(), &x);
        assert!(way > 0.5 && most < 1e-9, "{stepping:?}: {most:e} m apart after a path of {way} m");
    }
}

#[test]
fn a_frame_turned_once_and_for_all_changes_nothing() {
    let body = Body::bar([6, 2, 2], SIZE, at_wall, 8000.0, 12000.0);
    let weight = body.weight(DVec3::new(2.0, -9.81, 1.0));
    let frames = [Rigid::IDENTITY, wandering(0.7)];
    let mut bodies = frames.map(|frame| body.start_at(&body.mesh.nodes, &body.zeros(), frame, tight(DT)));
    let (mut most, mut way) = (0.0f64, 0.0f64);
    for step in 1..=60 {
        let share = step as f64 / 60.0;
        let mut next = body.first.clone();
        next.rest.iter_mut().for_each(|p| *p *= DVec3::new(1.0 + 0.2 * share, 1.0, 1.0 - 0.1 * share));
        next.parameters[0].iter_mut().for_each(|mu| *mu *= 1.0 + share);
        for (moving, frame) in bodies.iter_mut().zip(&frames) {
            moving.step(&next, *frame, DT, &Around::forces(&weight), &no_progress).unwrap();
        }
        most = most.max(farthest(bodies[0].positions(), bodies[1].positions()));
        way = way.max(farthest(bodies[0].positions(), &next.rest));
    }
    assert!(way > 0.005 && most < 1e-10, "{most:e} m apart while gravity moves the bar {way} m");
}

#[test]
fn a_bar_in_a_frame_of_constant_velocity_stays_at_rest() {
    let body = Body::bar([6, 2, 2], SIZE, at_wall, 8000.0, 12000.0);
    let (velocity, turned) = (DVec3::new(2.0, -7.0, 1.0), wandering(0.3));
    let at =
        |step: usize| Rigid { translation: turned.translation + velocity * (DT * step as f64), ..turned };
    let euler = Stepping::BackwardEuler;
    for (rebalance, solve, stepping) in [
        (1.0, StepOptions::default().solve, euler),
        (0.0, TIGHT, euler),
        (1.0, TIGHT, euler),
        (1.0, TIGHT, Stepping::Bdf2),
    ] {
        let velocities = vec![velocity; body.masses.len()];
        let options = StepOptions { rebalance, solve, stepping, ..tight(DT) };
        let mut moving = body.start_at(&body.mesh.nodes, &velocities, at(0), options);
        for step in 1..=300 {
            let report = moving.step(&body.first, at(step), DT, &Around::default(), &no_progress).unwrap();
            assert!(report.converged && report.kinetic < 1e-20, "step {step}: {report:?}");
        }
        let apart = farthest(moving.positions(), &body.mesh.nodes);
        assert!(apart < 1e-13, "{apart:e} m from rest after a path of {} m", velocity.length());
    }
}

#[test]
fn a_bar_in_a_spinning_frame_hangs_outward_as_statics_says() {
    let body = Body::bar([6, 2, 2], SIZE, at_wall, 8000.0, 12000.0);
    let speed = 25.0;
    let at =
        |step: usize| Rigid { rotation: DQuat::from_rotation_y(speed * DT * step as f64), ..Rigid::IDENTITY };
    let velocities = body
        .mesh
        .nodes
        .iter()
        .map(|p| (at(0).apply(*p) - at(1).inverse().apply(*p)) / DT)
        .collect::<Vec<_>>();
    let mut moving =
        body.start_at(&body.mesh.nodes, &velocities, at(0), StepOptions { damping: 20.0, ..tight(DT) });
    for step in 1..=400 {
        moving.step(&body.first, at(step), DT, &Around::default(), &no_progress).unwrap();
    }
    // In backward Euler, steady rotation by an angle per step gives an outward acceleration of (2
    // sin(angle/2)/h)^2 times the radius, one angle behind.
    let angle = speed * DT;
    let pull = (2.0 * (0.5 * angle).sin() / DT).powi(2);
    let late = DQuat::from_rotation_y(-angle);
    let mut x = body.mesh.nodes.clone();
    for _ in 0..40 {
        let outward = |(p, m): (&DVec3, &f64)| late * DVec3::new(p.x, 0.0, p.z) * (pull * m);
        let loads: Vec<DVec3> = x.iter().zip(&body.masses).map(outward).collect();
        x = body.equilibrium(&body.first, &loads, &x);
    }
    let (apart, way) = (farthest(moving.positions(), &x), farthest(&x, &body.mesh.nodes));
    assert!(way > 0.003 && apart < 1e-7, "{apart:e} m from the equilibrium, which is {way} m from rest");
}

#[test]
fn damping_slows_what_moves_relative_to_the_frame() {
    let body = Body::bar([4, 2, 2], SIZE, |_| false, 8000.0, 12000.0);
    let (carried, own, damping) = (DVec3::new(2.0, -7.0, 1.0), DVec3::new(0.1, 0.2, -0.3), 6.0);
    let at = |step: usize| Rigid { translation: carried * (DT * step as f64), ..Rigid::IDENTITY };
    let velocities = vec![carried + own; body.masses.len()];
    for stepping in [Stepping::BackwardEuler, Stepping::Bdf2] {
        let options = StepOptions { damping, stepping, ..tight(DT) };
        let mut moving = body.start_at(&body.mesh.nodes, &velocities, at(0), options);
        let mut report = StepReport::default();
        for step in 1..=100 {
            report = moving.step(&body.first, at(step), DT, &Around::default(), &no_progress).unwrap();
        }
        let left = own * (-damping * 100.0 * DT).exp();
        let off = moving.velocities().iter().map(|v| (*v - carried - left).length()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{off:e} m/s from the {} m/s that should be left", left.length());
        let kinetic = 0.5 * body.masses.iter().sum::<f64>() * left.length_squared();
        assert!(
            (report.kinetic / kinetic - 1.0).abs() < 1e-6,
            "kinetic energy {} J, should be {kinetic} J",
            report.kinetic
        );
    }
}

/// The static solve of [Kozlov17, eq. 12] has no minimum if nothing is held: inertial forces balance only to
/// the tolerance, and in a different shape their torque does not balance at all.
#[test]
fn a_free_body_in_motion_cannot_be_rebalanced_and_that_is_reported() {
    let (body, x, v) = tumbling();
    let mut longer = body.first.clone();
    longer.rest.iter_mut().for_each(|p| p.x *= 1.003);
    let mut moving = body.start_at(&x, &v, Rigid::IDENTITY, StepOptions::default());
    let report = moving.step(&longer, Rigid::IDENTITY, DT, &Around::default(), &no_progress).unwrap();
    let moved = farthest(moving.positions(), &x);
    assert!(!report.converged, "solved after all, {moved} m away: {report:?}");
    // At rest it converges, because there are no inertial forces. Conventional steps have no static solve.
    let mut resting = body.start(StepOptions::default());
    let report = resting.step(&longer, Rigid::IDENTITY, DT, &Around::default(), &no_progress).unwrap();
    assert!(report.converged && resting.positions() == longer.rest, "{report:?}");
    let mut conventional =
        body.start_at(&x, &v, Rigid::IDENTITY, StepOptions { rebalance: 0.0, ..StepOptions::default() });
    let report = conventional.step(&longer, Rigid::IDENTITY, DT, &Around::default(), &no_progress).unwrap();
    let moved = farthest(conventional.positions(), &x);
    assert!(report.converged && moved < 0.01, "moved {moved} m: {report:?}");
}
