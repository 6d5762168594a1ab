//! `detail`: wrinkles learned from examples, put on animations, carried to other faces, and edited.

mod apply;
mod learn;
mod transfer;

use crate::session::{Failure, Report, Session};
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
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    match &arguments.verb {
        DetailVerb::Learn(arguments) => learn::run(arguments, session),
        DetailVerb::Apply(arguments) => apply::run(arguments, session),
        DetailVerb::Transfer(arguments) => transfer::run(arguments, session),
    }
}
