//! Draw every slider of a rig on one sheet, and list the rig's problems.
//!
//!     cargo run --release --example contact_sheet face.glb sheet.png

#![allow(clippy::print_stdout)] // An example prints.

use risorius::jobs::inspect::Inspection;
use risorius::prelude::*;
use std::path::PathBuf;

/// Runs the example; without arguments on a part of the built-in head, in the temporary folder.
pub fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let rig = match arguments.next().filter(|path| path.exists()) {
        Some(path) => path,
        None => sample()?,
    };
    let sheet = arguments.next().unwrap_or_else(|| std::env::temp_dir().join("risorius-sheet.png"));
    if let Inspection::Rig(found) =
        (InspectJob { file: rig.clone().into(), ..InspectJob::default() }).run(&no_progress)?
    {
        println!("{} vertices, {} sliders, {} problems", found.vertices, found.sliders, found.problems.len());
    }
    let job = RenderJob {
        rig: rig.into(),
        shapes: true,
        size: Some([240, 240]),
        output: sheet,
        ..RenderJob::default()
    };
    let drawn = job.run(&no_progress)?;
    println!("{}: {} pictures", drawn.output, drawn.pictures);
    Ok(())
}

/// Writes a small sample rig.
fn sample() -> Result<PathBuf, Error> {
    let head = risorius::head::build(&Identity::default());
    let rig = head.rig.with_sliders(&["jawOpen", "mouthPucker", "eyeBlinkLeft", "browInnerUp"]);
    let path = std::env::temp_dir().join("risorius-sheet.glb");
    let bytes = risorius::io::formats::gltf::write_glb(&rig, &Default::default())?;
    risorius::io::output::write_whole(&path, &bytes)?;
    Ok(path)
}
