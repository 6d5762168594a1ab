//! Baking: time of a sample at rest and of the paper's 8,120 samples at this rate, and evaluation of 29
//! linear and 406 quadratic shapes at 7,366 vertices beside [Ichim16, sec. 5] and the memory limit of this
//! run.
//!
//! Arguments are faces made by `build`, or numbers of nodes for the built-in head (default 2500). Samples of
//! a face are spread evenly over the plan of its first 29 sliders that move flesh: [`MEASURED`] of them,
//! after one to warm up.

use risorius_base::progress::no_progress;
use risorius_benches::{median_secs, read_bandwidth};
use risorius_flesh::{BuildOptions, Face, Surroundings, build};
use risorius_head::person::Identity;
use risorius_perform::bake::{Ending, PairChoice};
use risorius_perform::{
    BakePlan, ContactMode, HeadPath, MethodOptions, PerformError, Performance, Scene, Settled,
    VolumetricOptions, settle,
};
use risorius_rig::synthetic::{Random, random_rig};
use risorius_rig::{BoundClip, CombinationRule, Driver, Evaluator, Rig, Role, Shape};
use std::ops::{ControlFlow, Range};
use std::time::Instant;

/// Samples, shapes and vertices of the paper.
const SAMPLES: f64 = 8120.0;
const SLIDERS: usize = 29;
const VERTICES: usize = 7366;

/// Samples that are simulated.
const MEASURED: usize = 64;

fn main() {
    evaluation();
    let mut cases: Vec<String> = std::env::args().skip(1).collect();
    if cases.is_empty() {
        cases.push("2500".into());
    }
    for case in cases {
        match face(&case) {
            Ok(face) => samples(&case, &face),
            Err(error) => println!("{case}: {error}"),
        }
    }
}

/// 29 shapes and the combinations of all their pairs, each over about this share of the vertices.
fn quadratic(support: f32) -> Rig {
    let n_pairs = SLIDERS * (SLIDERS - 1) / 2;
    let all = random_rig(VERTICES, SLIDERS + n_pairs, support, 3);
    let mut rig = random_rig(VERTICES, SLIDERS, support, 3);
    let pairs = (0..SLIDERS).flat_map(|a| (a + 1..SLIDERS).map(move |b| [a, b]));
    for (shape, pair) in all.shapes.into_iter().skip(SLIDERS).zip(pairs) {
        let drivers = pair.iter().map(|&slider| Driver { slider, at: None }).collect();
        let role = Role::Combination { drivers, rule: CombinationRule::Multiply };
        rig.shapes.push(Shape { role, ..shape });
    }
    rig
}

fn evaluation() {
    let n_pairs = SLIDERS * (SLIDERS - 1) / 2;
    println!("Evaluation of {SLIDERS} linear and {n_pairs} quadratic shapes at {VERTICES} vertices, all on");
    println!("(the paper: 1 ms for linear shapes, 8 ms for all; the aim is 0.4 ms)");
    println!("{:28} {:>8} {:>8} {:>10} {:>14}", "shapes over", "ms", "MB", "linear ms", "reading alone ms");
    for (name, support, on) in [
        ("all vertices", 1.0, 1.0),
        ("a quarter of them", 0.25, 1.0),
        ("a quarter, half the sliders", 0.25, 0.5),
    ] {
        let rig = quadratic(support);
        let linear = random_rig(VERTICES, SLIDERS, support, 3);
        let mut random = Random(1);
        let weights: Vec<f32> =
            (0..SLIDERS).map(|_| if random.unit() < on { 0.2 + 0.8 * random.unit() } else { 0.0 }).collect();
        let time = |rig: &Rig| {
            let evaluator = Evaluator::prepare(rig);
            let mut out = vec![[0.0; 3]; VERTICES];
            let secs = median_secs(301, || evaluator.positions_into(&weights, &mut out));
            (secs, evaluator.bytes_moved(&evaluator.strengths(&weights)))
        };
        let ((all, bytes), (alone, _)) = (time(&rig), time(&linear));
        let limit = bytes as f64 / read_bandwidth(bytes);
        println!(
            "{name:28} {:8.3} {:8.1} {:10.3} {:14.3}",
            1000.0 * all,
            bytes as f64 / 1e6,
            1000.0 * alone,
            1000.0 * limit
        );
    }
}

fn face(case: &str) -> Result<Face, String> {
    let Ok(nodes) = case.parse() else {
        return risorius_io::native::face::open(case.as_ref()).map_err(|error| error.to_string());
    };
    let mut options = BuildOptions::default();
    options.volume.nodes = nodes;
    let head = risorius_head::build(&Identity::default());
    let around = Surroundings { progress: &no_progress, store: &(), peak_mb: &|| 0.0 };
    build(&head.rig, &head, &options, &around).map_err(|error| error.to_string())
}

fn samples(name: &str, face: &Face) {
    let flesh = |s: &usize| !face.flesh.volumes[face.rig.sliders[*s].shape].nodes.is_empty();
    let sliders: Vec<usize> = (0..face.rig.sliders.len()).filter(flesh).take(SLIDERS).collect();
    let plan = match BakePlan::new(face, Some(&sliders), PairChoice::All) {
        Ok((plan, _)) => plan,
        Err(error) => return println!("{name}: {error}"),
    };
    let (n_nodes, n_skin) = (face.flesh.n_nodes(), face.flesh.embedding.vertices.len());
    println!(
        "\n{name}: {n_nodes} nodes, {n_skin} skin vertices, {} threads; minutes for {SAMPLES} samples as in the paper \
         (aim 10), and for the same pairs, {} samples here",
        rayon::current_num_threads(),
        plan.n_samples()
    );
    for contact in [ContactMode::Wall, ContactMode::Off] {
        match timed(face, &plan, contact) {
            Ok(timed) => println!("{}", timed.line(contact, plan.n_samples())),
            Err(error) => println!("  {contact:?}: {error}"),
        }
    }
}

/// Samples that were simulated for their time.
struct Timed {
    secs_each: f64,
    settled: Vec<Settled>,
}

fn timed(face: &Face, plan: &BakePlan, contact: ContactMode) -> Result<Timed, PerformError> {
    let n_sliders = face.rig.sliders.len();
    let numbers: Vec<usize> = (0..=MEASURED).map(|i| (plan.n_samples() - 1) * i / MEASURED).collect();
    let weights: Vec<f32> = numbers.iter().flat_map(|&n| plan.weights(n, n_sliders)).collect();
    let clip = BoundClip { times_secs: vec![0.0; numbers.len()], weights, n_sliders, head: None };
    let performance = Performance { clip: &clip, head: HeadPath::default(), scene: Scene::default() };
    let options = MethodOptions::Volumetric(VolumetricOptions { contact, ..VolumetricOptions::default() });
    let mut starts = Vec::new();
    let mut settled = Vec::new();
    let mut sink = |_: Range<usize>, some: Vec<Settled>| {
        starts.push(Instant::now());
        settled.extend(some);
        ControlFlow::Continue(())
    };
    // The first neutral is simulated apart, so that preparing does not count.
    let ranges = [0..1, 1..numbers.len()];
    settle(face, &performance, &options, &ranges, &mut sink, &no_progress)?;
    Ok(Timed { secs_each: (starts[1] - starts[0]).as_secs_f64() / MEASURED as f64, settled })
}

impl Timed {
    fn line(&self, contact: ContactMode, planned: usize) -> String {
        let ended = |ending: Ending| self.settled.iter().filter(|s| Ending::of(s) == ending).count();
        let reports = || self.settled.iter().filter_map(|s| Some(s.skin.as_ref().ok()?.report));
        let n = self.settled.len() as f64;
        let iterations = reports().map(|r| r.iterations[0]).sum::<usize>() as f64 / n;
        let stages: [f64; 5] = std::array::from_fn(|k| reports().map(|r| r.stage_secs[k]).sum::<f64>() / n);
        let minutes = |n: f64| self.secs_each * n / 60.0;
        format!(
            "  contact {contact:?}: {:.1} ms a sample; {:.1} and {:.1} minutes; {iterations:.0} iterations; ms of one \
             thread: projections {:.1}, substitutions {:.1}, contacts {:.1}; {} retried, {} unsettled, {} failed",
            1000.0 * self.secs_each,
            minutes(SAMPLES),
            minutes(planned as f64),
            1000.0 * stages[0],
            1000.0 * stages[1],
            1000.0 * stages[4],
            ended(Ending::Retried),
            ended(Ending::Unsettled),
            ended(Ending::Failed),
        )
    }
}
