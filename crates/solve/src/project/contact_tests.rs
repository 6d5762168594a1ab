//! Contacts of bars with obstacles.

use super::solver_tests::{Example, example};
use super::*;
use crate::contact::detect::{Touch, TouchOptions};
use crate::contact::obstacle::Obstacle;
use crate::fixtures::farthest;
use crate::step::body::Configuration;
use crate::{Overlap, TetAttachment};
use glam::DVec3;
use risorius_base::progress::no_progress;

/// A ball that reaches into the bar's upper side.
fn ball(radius: f64) -> Obstacle {
    Obstacle::Sphere { center: DVec3::new(0.05, 0.026, 0.01), radius }
}

/// A bar that is drawn to its rest shape, its surface, and no allowed depth.
struct Touched {
    example: Example<f32>,
    touch: Touch,
    at: Configuration,
    allowed: Vec<f64>,
}

impl Touched {
    fn new(cells: [usize; 3]) -> Self {
        let mut example = example::<f32>(cells);
        example.aims = Aims::rest(example.mesh.tets.len());
        let (touch, at) = with_surface(&example);
        let allowed = vec![0.0; example.mesh.nodes.len()];
        Self { example, touch, at, allowed }
    }

    fn objective<'a>(&'a self, obstacles: &'a [Obstacle]) -> Objective<'a, f32> {
        let Self { touch, at, allowed, .. } = self;
        let touching = Touching { touch, at, allowed, last: None, obstacles, dt_secs: 1.0 };
        Objective { touching: Some(touching), ..self.example.objective(&[]) }
    }

    fn minimized(&self, obstacles: &[Obstacle], options: &Iterations) -> (Vec<DVec3>, ProjectReport) {
        let mut x = self.example.mesh.nodes.clone();
        let objective = self.objective(obstacles);
        let report = self.example.system.minimize(&objective, &mut x, options, &no_progress).unwrap();
        (x, report)
    }
}

fn patient() -> Iterations {
    Iterations { most: 400, tolerance: 1e-8, ..Iterations::default() }
}

/// The bar's upper side may touch an obstacle.
fn with_surface(example: &Example<f32>) -> (Touch, Configuration) {
    let carrier = |p: u32| {
        let t = example.mesh.tets.iter().position(|tet| tet.contains(&p)).unwrap();
        let weights = std::array::from_fn(|k| f64::from(u8::from(example.mesh.tets[t][k] == p)));
        TetAttachment { tet: t as u32, weights }
    };
    let n = example.mesh.nodes.len() as u32;
    let attachments: Vec<TetAttachment> = (0..n).map(carrier).collect();
    let options = TouchOptions { overlap: Overlap::None, ..TouchOptions::default() };
    let body = (&example.mesh.tets[..], &example.mesh.nodes[..], vec![example.mesh.nodes.clone()]);
    let touch = Touch::prepare(attachments, vec![1e-5; n as usize], Vec::new(), body, true, options).unwrap();
    let surface = touch.posed(example.mesh.nodes.clone());
    (touch, Configuration { rest: example.mesh.nodes.clone(), parameters: Vec::new(), surface })
}

#[test]
fn contacts_only_push_and_keep_points_out() {
    let touched = Touched::new([20, 6, 8]);
    let (mut x, report) = touched.minimized(&[ball(0.01)], &patient());
    assert!(report.converged && report.pushing > 3, "{} {}", report.pushing, report.step);
    let gaps = |x: &[DVec3]| -> Vec<f64> {
        x.iter().map(|p| p.distance(DVec3::new(0.05, 0.026, 0.01)) - 0.01).collect()
    };
    let deepest = gaps(&x).into_iter().fold(f64::INFINITY, f64::min);
    assert!(deepest > -3e-5, "{deepest} m");
    // Forces at the points that touch point out of the ball; elsewhere there are none.
    let free = touched.example.objective(&[]);
    let gradient = touched.example.system.gradient(&free, &x);
    let scale = gradient.iter().map(|g| g.length()).fold(0.0, f64::max);
    for (i, gap) in gaps(&x).into_iter().enumerate() {
        let out = (x[i] - DVec3::new(0.05, 0.026, 0.01)).normalize();
        let along = gradient[i].dot(out);
        if gap > 1e-5 {
            assert!(gradient[i].length() < 1e-3 * scale, "a force of {} N at {i}", gradient[i].length());
        }
        assert!(along > -1e-3 * scale, "{i} is pulled by {along} N");
    }
    // A ball that is gone leaves nothing behind.
    touched.example.system.minimize(&free, &mut x, &patient(), &no_progress).unwrap();
    assert!(farthest(&x, &touched.example.mesh.nodes) < 1e-6);
}

/// Twice the same planes: the Schur complement is singular but for what contacts yield.
#[test]
fn contacts_that_depend_on_each_other_share_their_forces() {
    let touched = Touched::new([20, 6, 8]);
    let (once, _) = touched.minimized(&[ball(0.01)], &patient());
    let (thrice, report) = touched.minimized(&[ball(0.01), ball(0.01), ball(0.01)], &patient());
    assert!(report.converged && report.pushing > 4, "{}", report.pushing);
    assert!(farthest(&once, &thrice) < 3e-5, "{} m", farthest(&once, &thrice));
}

#[test]
fn with_the_same_planes_every_step_lowers_the_energy() {
    let touched = Touched::new([20, 6, 8]);
    for memory in [0, 5] {
        let options = Iterations { most: 60, tolerance: 0.0, memory, detect_every: 1000, detections: 40 };
        let (_, report) = touched.minimized(&[ball(0.013)], &options);
        assert!(report.pushing > 3 && report.energies[59] < 0.5 * report.energies[0]);
        for pair in report.energies.windows(2).filter(|_| memory == 0) {
            assert!(pair[1] <= pair[0] * (1.0 + 1e-6), "{pair:?}");
        }
    }
}

#[test]
fn flesh_between_two_walls_ends_somewhere() {
    let touched = Touched::new([8, 4, 4]);
    // Nothing can satisfy both.
    let walls = [ball(0.02), Obstacle::Sphere { center: DVec3::new(0.05, -0.006, 0.01), radius: 0.02 }];
    let (x, report) = touched.minimized(&walls, &Iterations { most: 300, ..Iterations::default() });
    let far = farthest(&x, &touched.example.mesh.nodes);
    assert!(x.iter().all(|p| p.is_finite()) && far < 0.08, "{far} m, {} pushing", report.pushing);
}

#[test]
fn threads_do_not_change_bits() {
    let touched = Touched::new([24, 8, 8]);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let options = Iterations { most: 25, tolerance: 0.0, ..Iterations::default() };
            let (x, report) = touched.minimized(&[ball(0.01)], &options);
            assert!(report.pushing > 0 && report.detections > 2);
            x
        })
    };
    assert_eq!(run(1), run(2));
}
