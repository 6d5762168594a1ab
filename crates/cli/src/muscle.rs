//! `muscle`: poses a face by its muscles, and finds the activations of shapes.

mod activate;

use crate::outcome::{Failure, Printed};
use crate::session::Session;
use clap::{Args, Subcommand};
use risorius::jobs::muscle::{MuscleMaterial, MuscleState};
use risorius::perform::ContactMode;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    verb: MuscleVerb,
}

#[derive(Subcommand)]
enum MuscleVerb {
    /// Pose a face by muscle activations and the jaw.
    Activate(activate::Arguments),
}

/// How flesh and muscles respond.
#[derive(Args)]
struct MaterialArgs {
    /// Greatest stress of a muscle, kPa; default 100.
    #[arg(long, value_name = "KPA", allow_negative_numbers = true)]
    strength: Option<f64>,
    /// Factor on the stiffness of the flesh; default 1.
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    stiffness: Option<f64>,
    /// Do not keep lips, lids and teeth out of each other.
    #[arg(long)]
    no_contact: bool,
}

impl MaterialArgs {
    fn material(&self) -> MuscleMaterial {
        MuscleMaterial {
            strength_kpa: self.strength,
            stiffness: self.stiffness,
            contact: if self.no_contact { ContactMode::Off } else { ContactMode::default() },
        }
    }
}

/// A table of muscles.
fn muscles_text(muscles: &[MuscleState]) -> String {
    let line = |m: &MuscleState| {
        format!(
            "  {:<42} {:>4.2}  {:>6.1} kPa  stretch {:.2}\n",
            m.name, m.activation, m.tension_kpa, m.stretch
        )
    };
    muscles.iter().map(line).collect()
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    match &arguments.verb {
        MuscleVerb::Activate(arguments) => activate::run(arguments, session),
    }
}
