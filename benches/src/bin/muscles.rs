//! Muscles \[Cong16\]: time of an equilibrium from rest and from a neighboring pose, of the activations of a
//! shape, and of leading muscles to it, on the ICT head, beside the aims.
//!
//! Arguments are numbers of nodes, by default 9000, or faces of the ICT head made by `build`.

use risorius_base::progress::no_progress;
use risorius_benches::{head as open_rig, median_secs};
use risorius_flesh::{BuildOptions, Face, Surroundings, build};
use risorius_head::person::Identity;
use risorius_perform::drivers::muscles::find_muscle;
use risorius_perform::drivers::muscles::inverse::Inverse;
use risorius_perform::drivers::muscles::target::Targeting;
use risorius_perform::{
    Controls, InverseOptions, JawPose, MuscleModel, MuscleOptions, MusclePose, PerformError, TargetOptions,
};
use risorius_rig::Evaluator;
use std::time::Instant;

/// The shape that is solved for and reached.
const SHAPE: &str = "mouthSmile_L";

fn main() {
    let mut cases: Vec<String> = std::env::args().skip(1).collect();
    if cases.is_empty() {
        cases.push("9000".into());
    }
    for case in cases {
        let Some(face) = face(&case) else { continue };
        println!("ICT head, {} nodes, {} tets", face.flesh.n_nodes(), face.flesh.tets.len());
        if let Err(error) = measure(&face) {
            println!("  {error}");
        }
    }
}

fn face(case: &str) -> Option<Face> {
    let Ok(nodes) = case.parse() else {
        let opened = risorius_io::native::face::open(case.as_ref());
        return opened.map_err(|error| println!("{case}: {error}")).ok();
    };
    let rig = open_rig("ict_facekit/ict_expressions.glb")?;
    let mut options = BuildOptions::default();
    options.volume.nodes = nodes;
    let around = Surroundings { progress: &no_progress, store: &(), peak_mb: &|| 0.0 };
    build(&rig, &risorius_head::build(&Identity::default()), &options, &around)
        .map_err(|error| println!("no face of {nodes} nodes: {error}"))
        .ok()
}

fn measure(face: &Face) -> Result<(), PerformError> {
    let start = Instant::now();
    let model = MuscleModel::prepare(face, &MuscleOptions::default())?;
    println!("  prepared in {:.2} s", start.elapsed().as_secs_f64());
    let talking = |share: f64| -> Controls {
        let mut controls = model.relaxed();
        controls.jaw = JawPose { open_deg: 6.0 * share, ..JawPose::default() };
        for name in ["zygomaticus_major", "frontalis", "orbicularis_oris"] {
            for muscle in find_muscle(&model.names, name).unwrap_or_default() {
                controls.activations[muscle] = 0.5 * share;
            }
        }
        controls
    };
    let pose = model.pose(&talking(1.0), None, &no_progress)?;
    let secs = median_secs(3, || model.pose(&talking(1.0), None, &no_progress));
    println!("  a pose from rest takes {secs:.2} s, {} Newton steps; the aim is 1 s", pose.report.iterations);
    let near = model.pose(&talking(1.1), Some(pose.as_start()), &no_progress)?;
    let secs = median_secs(3, || model.pose(&talking(1.1), Some(pose.as_start()), &no_progress));
    println!(
        "  from a neighboring frame {secs:.2} s, {} Newton steps; the aim is 0.3 s",
        near.report.iterations
    );
    shape(&model)
}

/// Solving for a shape, and leading muscles to it.
fn shape(model: &MuscleModel) -> Result<(), PerformError> {
    let face = model.face();
    let Some(slider) = face.rig.sliders.iter().find(|s| s.name == SHAPE) else {
        println!("  there is no slider {SHAPE}");
        return Ok(());
    };
    let evaluator = Evaluator::prepare(&face.rig);
    let start = Instant::now();
    let inverse = Inverse::prepare(model, &InverseOptions::default())?;
    let (raw, solved) = inverse.solve_shape(&evaluator, slider.shape, &no_progress)?;
    println!(
        "  the activations of {SHAPE} take {:.1} s: {} equilibria, {} Newton steps; {:.2} of {:.2} mm left",
        start.elapsed().as_secs_f64(),
        solved.equilibria,
        solved.newton_steps,
        solved.residual_mm[0],
        solved.before_mm[0]
    );
    let (artist, motion) = model.artist_shape(&evaluator, slider.shape);
    let show = |pose: &MusclePose| model.skin_among(pose, &artist, &motion);
    let start = Instant::now();
    let targeting = Targeting::prepare(model);
    let found = targeting.approach(&raw, &artist, &show, &TargetOptions::default(), &no_progress)?;
    let snaps: Vec<String> = found.snaps_mm.iter().map(|s| format!("{:.2}", s[0])).collect();
    println!(
        "  leading muscles to it takes {:.1} s, snaps {} mm; the aim is 15 s",
        start.elapsed().as_secs_f64(),
        snaps.join(" > ")
    );
    Ok(())
}
