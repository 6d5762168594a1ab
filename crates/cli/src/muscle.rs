//! `muscle`: poses a face by its muscles, finds the activations of shapes, and leads muscles to shapes.

mod activate;
mod edit;
mod solve;
mod target;

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
    /// Find the activations and the jaw that make shapes of the rig, or come nearest to a mesh.
    Solve(solve::Arguments),
    /// Lead muscles so that the simulated skin comes to shapes of the rig, or to a mesh.
    Target(target::Arguments),
    /// Edit the tracks of muscles in a shape: move or scale their ends.
    Edit(edit::Arguments),
}

/// How flesh and muscles respond.
#[derive(Args)]
struct MaterialArgs {
    /// Greatest stress of a muscle, kPa; default 300.
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

/// The most active muscles in a line; nothing without any.
fn leading_text(muscles: &[(String, f64)]) -> String {
    let all: Vec<String> = muscles.iter().take(6).map(|(name, a)| format!("{name} {a:.2}")).collect();
    if all.is_empty() { String::new() } else { format!("    {}\n", all.join(", ")) }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    match &arguments.verb {
        MuscleVerb::Activate(arguments) => activate::run(arguments, session),
        MuscleVerb::Solve(arguments) => solve::run(arguments, session),
        MuscleVerb::Target(arguments) => target::run(arguments, session),
        MuscleVerb::Edit(arguments) => edit::run(arguments, session),
    }
}
