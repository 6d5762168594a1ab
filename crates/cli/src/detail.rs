//! `detail`: learns wrinkles from examples or makes them without, applies them to animations, transfers and
//! edits them.

mod apply;
mod edit;
mod learn;
mod make;
mod transfer;

use crate::outcome::{Failure, Printed};
use crate::session::Session;
use clap::{Args, Subcommand};

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
    /// Make wrinkles for a rig without examples, from anatomy and the rig's own shapes.
    Make(make::Arguments),
    /// Apply learned wrinkles to an animation.
    Apply(apply::Arguments),
    /// Transfer learned wrinkles to another face.
    Transfer(transfer::Arguments),
    /// Edit learned wrinkles: replace a pose, or paint on it.
    Edit(edit::Arguments),
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    match &arguments.verb {
        DetailVerb::Learn(arguments) => learn::run(arguments, session),
        DetailVerb::Make(arguments) => make::run(arguments, session),
        DetailVerb::Apply(arguments) => apply::run(arguments, session),
        DetailVerb::Transfer(arguments) => transfer::run(arguments, session),
        DetailVerb::Edit(arguments) => edit::run(arguments, session),
    }
}
