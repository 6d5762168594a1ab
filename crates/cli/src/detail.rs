//! `detail`: wrinkles learned from examples, put on animations, carried to other faces, and edited.

mod apply;
mod edit;
mod learn;
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
    /// Put learned wrinkles on an animation.
    Apply(apply::Arguments),
    /// Carry learned wrinkles over to another face.
    Transfer(transfer::Arguments),
    /// Change what was learned: replace a pose, or paint on it.
    Edit(edit::Arguments),
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    match &arguments.verb {
        DetailVerb::Learn(arguments) => learn::run(arguments, session),
        DetailVerb::Apply(arguments) => apply::run(arguments, session),
        DetailVerb::Transfer(arguments) => transfer::run(arguments, session),
        DetailVerb::Edit(arguments) => edit::run(arguments, session),
    }
}
