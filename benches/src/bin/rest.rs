//! Rest volumes over a range of motion: how many frames of a recorded performance squash elements when rest
//! states are blended, how far the repair moves nodes, how smooth the result is over time, and what it costs.
//!
//! The arguments are `.face` files. Frames are sampled evenly from the recorded range of motion. The
//! acceleration of a node is its second difference over three consecutive frames of the recording at four
//! times its rate, for the rest state and for the linear blend.

use glam::DVec3;
use risorius_base::progress::no_progress;
use risorius_benches::data_file;
use risorius_flesh::Face;
use risorius_flesh::rest::{LEAST_J, Rest, RestVolumes};
use risorius_io::formats::clip_csv::ClipOptions;
use risorius_io::native::face;
use risorius_io::open::open_clip;
use risorius_rig::{BoundClip, Evaluator};
use std::path::PathBuf;
use std::time::Instant;

/// Frames that are sampled.
const FRAMES: usize = 101;

/// Length of a step for accelerations, in frames of the recording.
const STEP: f32 = 0.25;

fn main() {
    let Some(path) = data_file("performances/livelink_rom.csv") else { return };
    let clip = match open_clip(&path, &ClipOptions::default(), &no_progress) {
        Ok(opened) => opened.clip,
        Err(error) => return println!("{error}"),
    };
    for path in std::env::args().skip(1).map(PathBuf::from) {
        let bound = face::open(&path).map_err(|e| e.to_string());
        let bound = bound.and_then(|f| Ok((clip.bind(&f.rig).map_err(|e| e.to_string())?.0, f)));
        match bound {
            Ok((clip, face)) => {
                println!("{}: {} nodes", path.display(), face.flesh.n_nodes());
                measure(&face, &clip);
            }
            Err(error) => println!("({}: {error})", path.display()),
        }
    }
}

/// Prints the figures of one face.
fn measure(face: &Face, clip: &BoundClip) {
    let rest = RestVolumes::prepare(&face.flesh).expect("a face has valid rest volumes");
    let evaluator = Evaluator::prepare(&face.rig);
    let last = clip.n_frames() - 2;
    let strengths = |frame: usize, share: f32| -> Vec<f64> {
        let [a, b] = [clip.frame(frame), clip.frame(frame + 1)];
        let weights: Vec<f32> = a.iter().zip(b).map(|(a, b)| a + (b - a) * share).collect();
        evaluator.strengths(&weights).iter().map(|&c| c.into()).collect()
    };
    let (mut tally, mut seconds) = (Tally::default(), Vec::new());
    for frame in (0..FRAMES).map(|i| i * last / (FRAMES - 1)) {
        let times = [0.0, STEP, 2.0 * STEP].map(|share| strengths(frame, share));
        let linear = times.each_ref().map(|c| rest.linear(c));
        tally.linear_bad += usize::from(rest.worst(&linear[0]).0 < LEAST_J);
        tally.linear_worst = tally.linear_worst.min(rest.worst(&linear[0]).0);
        let states = times.each_ref().map(|c| {
            let start = Instant::now();
            let state = rest.at(c).expect("a rest state");
            seconds.push(start.elapsed().as_secs_f64());
            state
        });
        tally.add(&states[0], rest.worst(&states[0].positions).0);
        tally.repaired_accelerations.extend(accelerations(states.each_ref().map(|s| &s.positions[..])));
        tally.linear_accelerations.extend(accelerations(linear.each_ref().map(|l| &l[..])));
    }
    tally.print(&mut seconds);
}

/// Second differences of the nodes' positions, mm.
fn accelerations(x: [&[DVec3]; 3]) -> Vec<f64> {
    (0..x[0].len()).map(|i| 1000.0 * (x[0][i] - 2.0 * x[1][i] + x[2][i]).length()).collect()
}

/// Figures over the frames.
#[derive(Default)]
struct Tally {
    linear_bad: usize,
    linear_worst: f64,
    below: usize,
    worst_before: f64,
    moved: usize,
    jumping: usize,
    shrunk: usize,
    moved_nodes: usize,
    longest_mm: Vec<f64>,
    worst_after: Vec<f64>,
    repaired_accelerations: Vec<f64>,
    linear_accelerations: Vec<f64>,
}

impl Tally {
    fn add(&mut self, state: &Rest, after: f64) {
        self.below += usize::from(state.worst_before.0 < LEAST_J);
        self.worst_before = self.worst_before.min(state.worst_before.0);
        self.moved += usize::from(!state.moved.is_empty());
        self.jumping += usize::from(!state.is_smooth);
        self.shrunk += usize::from(state.share < 1.0);
        self.moved_nodes += state.moved.len();
        self.longest_mm.push(1000.0 * state.longest_motion);
        self.worst_after.push(after);
    }

    fn print(&mut self, seconds: &mut [f64]) {
        println!(
            "  linear blend: {} of {FRAMES} frames have an element below {LEAST_J}, the worst {:.2}",
            self.linear_bad, self.linear_worst
        );
        println!("  with correctives: {}, the worst {:.2}", self.below, self.worst_before);
        println!(
            "  repaired: {} frames, {} of them not smoothly, {} toward the neutral; {:.0} nodes a frame; moved {:.2} mm at most, {:.2} in the median frame; worst after {:.3}",
            self.moved,
            self.jumping,
            self.shrunk,
            self.moved_nodes as f64 / FRAMES as f64,
            quantile(&mut self.longest_mm, 1.0),
            quantile(&mut self.longest_mm, 0.5),
            quantile(&mut self.worst_after, 0.0)
        );
        for (name, all) in
            [("linear", &mut self.linear_accelerations), ("repaired", &mut self.repaired_accelerations)]
        {
            let [most, high] = [1.0, 0.99].map(|q| quantile(all, q));
            println!("  acceleration, {name}: {most:.3} mm per step^2 at most, 99 % below {high:.4}");
        }
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        println!("  {:.1} ms a frame, {:.1} at most\n", 1000.0 * mean, 1000.0 * quantile(seconds, 1.0));
    }
}

/// The value below which a share of all values lies.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share) as usize]
}
