//! Learn wrinkles from two sculpted poses of a rig, and apply them to a clip.
//!
//!     cargo run --release --example wrinkles

#![allow(clippy::print_stdout)] // An example prints.

use risorius::prelude::*;
use std::path::Path;

/// Runs the example in the temporary folder.
pub fn main() -> Result<(), Error> {
    let folder = std::env::temp_dir().join("risorius-wrinkles");
    let (examples, plain) = (folder.join("examples"), folder.join("plain"));
    for path in [&examples, &plain] {
        std::fs::create_dir_all(path).map_err(|e| Error::failed(e.to_string()).in_file(path))?;
    }
    let rig = risorius::head::build(&Identity::default()).rig;
    let file = folder.join("face.glb");
    let glb = risorius::io::formats::gltf::write_glb(&rig, &Default::default())?;
    risorius::io::output::write_whole(&file, &glb)?;
    // Sculpts: poses of the rig with ripples all over the skin.
    for (name, sliders) in [("jaw", vec!["jawOpen"]), ("smile", vec!["mouthSmileLeft", "mouthSmileRight"])] {
        let pairs: Vec<(String, f32)> = sliders.iter().map(|slider| (slider.to_string(), 1.0)).collect();
        let weights = risorius::source::weights_by_name(&rig, &pairs)?;
        let posed = Evaluator::prepare(&rig).positions(&weights);
        let ripple = |p: &[f32; 3]| [p[0], p[1], p[2] + 0.0004 * (900.0 * p[1]).sin()];
        write(&rig, &posed, &plain.join(format!("{name}.obj")))?;
        write(&rig, &posed.iter().map(ripple).collect::<Vec<_>>(), &examples.join(format!("{name}.obj")))?;
    }
    let detail = folder.join("face.detail");
    let learned = LearnJob {
        rest: file.clone().into(),
        examples: Some(examples),
        plain: Some(plain),
        count: 40,
        output: detail.clone(),
        ..LearnJob::default()
    }
    .run(&no_progress)?;
    println!(
        "{} poses learned, displacements up to {:.2} mm",
        learned.poses.len(),
        learned.largest_displacement_mm
    );
    let clip = folder.join("clip.csv");
    let text = "time,jawOpen,mouthSmileLeft,mouthSmileRight\n0,0,0,0\n0.1,0.5,1,1\n0.2,1,0,0\n";
    risorius::io::output::write_whole(&clip, text.as_bytes())?;
    let applied = ApplyJob {
        detail,
        animation: Animation::RigClip { rig: file, clip },
        output: Some(folder.join("wrinkled.glb")),
        ..ApplyJob::default()
    }
    .run(&no_progress)?;
    println!("{} frames, vertices moved by up to {:.2} mm", applied.frames, applied.largest_displacement_mm);
    Ok(())
}

fn write(rig: &Rig, positions: &[[f32; 3]], path: &Path) -> Result<(), Error> {
    Ok(risorius::io::output::write_whole(path, &risorius::io::formats::obj::write(rig, positions))?)
}
