//! `detail`: wrinkles learned from examples, put on animations, carried to other faces, and edited.

mod apply;
mod edit;
mod learn;
mod maps;
mod points;
mod poses;
mod texture;
mod transfer;
pub mod worn;

use crate::session::{Failure, Report, Session};
use clap::{Args, Subcommand};
use risorius_rig::Rig;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    verb: DetailVerb,
}

#[derive(Subcommand)]
enum DetailVerb {
    /// Learn wrinkles from example poses.
    Learn(learn::Arguments),
    /// Put learned wrinkles on an animation.
    Apply(apply::Arguments),
    /// Carry learned wrinkles over to another face.
    Transfer(transfer::Arguments),
    /// Change what was learned: replace a pose, or paint on it.
    Edit(edit::Arguments),
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    match &arguments.verb {
        DetailVerb::Learn(arguments) => learn::run(arguments, session),
        DetailVerb::Apply(arguments) => apply::run(arguments, session),
        DetailVerb::Transfer(arguments) => transfer::run(arguments, session),
        DetailVerb::Edit(arguments) => edit::run(arguments, session),
    }
}

/// Vertices of a subdivided face, at most.
const MAX_VERTICES: usize = 8_000_000;

/// Finds faces that would become too fine, before anything is subdivided.
fn expect_reasonable(rig: &Rig, n_steps: usize) -> Result<(), Failure> {
    let most = rig.triangles().len().saturating_mul(4usize.saturating_pow(n_steps as u32)) / 2;
    if n_steps > 0 && most > MAX_VERTICES {
        let problem = format!("subdivided {n_steps} times the face would have about {most} vertices");
        return Err(Failure::could_not(format!("{problem}; subdivide it less often")));
    }
    Ok(())
}
