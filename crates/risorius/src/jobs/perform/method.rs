//! The simulation methods of a performance: their options, and which options apply to which.

use super::{PerformJob, preview};
use crate::error::{Error, Result};
use risorius_perform::{
    ContactMode, EnrichOptions, FrameReport, MethodOptions, MuscleOptions, MusclesOptions, Scene,
    VolumetricOptions,
};

/// A simulation method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Physics on top of the artist's animation, which is exact without forces [Kozlov17, alg. 1].
    #[default]
    Enrich,
    /// Volumetric blendshapes: flesh is drawn to blended gradients, keeps its volume and does not pass itself
    /// [Ichim16, sec. 3].
    Volumetric,
    /// The muscles of each shape, blended and simulated [Cong16, sec. 7]. The face needs muscle shapes.
    Muscles,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Enrich => "enrich",
            Self::Volumetric => "volumetric",
            Self::Muscles => "muscles",
        }
    }
}

/// An option that a method does not have: whether it is given, its names, and what it is.
type Foreign = (bool, &'static [&'static str], &'static str);

/// What the method did over all frames.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct MethodReport {
    /// The method.
    pub name: Method,
    /// Time steps.
    pub steps: usize,
    /// Iterations of all solves.
    pub iterations: usize,
    /// Steps whose solves did not meet the tolerance.
    pub unconverged: usize,
    /// Largest force left at a free node, newtons; contact forces count for `volumetric`.
    pub residual: f64,
}

impl MethodReport {
    pub(super) fn of(name: Method, frames: &[FrameReport]) -> Self {
        let sum = |of: &dyn Fn(&FrameReport) -> usize| frames.iter().map(of).sum();
        Self {
            name,
            steps: sum(&|f| f.steps),
            iterations: sum(&|f| f.iterations.iter().sum()),
            unconverged: sum(&|f| f.unconverged),
            residual: frames.iter().map(|f| f.residual).fold(0.0, f64::max),
        }
    }
}

impl PerformJob {
    /// Refuses options that the method does not have.
    pub(in crate::jobs) fn check_method(&self) -> Result<()> {
        let usual = EnrichOptions::default();
        let of_volumetric: [Foreign; 3] = [
            (self.active.is_some(), &["active", "method"], "an active share"),
            (self.iterations.is_some(), &["iterations", "method"], "a number of iterations"),
            (self.exact, &["exact", "method"], "exactness as an option"),
        ];
        let of_muscles: [Foreign; 2] = [
            (self.snap.is_some(), &["snap", "method"], "snaps"),
            (!self.inertia, &["no_inertia", "method"], "inertia as an option"),
        ];
        let of_enrich: [Foreign; 3] = [
            (
                self.tightening != usual.tightening,
                &["tightening", "method"],
                "tightening: its stiffness does not depend on shapes",
            ),
            (self.adhesion != 0.0, &["adhesion", "method"], "adhesion of lips"),
            (
                self.contact == ContactMode::Penalty,
                &["contact", "method"],
                "penalties: its contacts are walls, or off",
            ),
        ];
        let of_steps: [Foreign; 4] = [
            (self.rebalance != usual.rebalance, &["rebalance", "method"], "rebalancing"),
            (self.stepping != usual.stepping, &["stepping", "method"], "a choice of formulas for time steps"),
            (self.damping != usual.damping, &["damping", "method"], "damping: its time steps are damped"),
            (
                self.viscosity != usual.viscosity,
                &["viscosity", "method"],
                "viscosity: its time steps are damped",
            ),
        ];
        let foreign: Vec<Foreign> = match self.method {
            Method::Enrich => of_volumetric.into_iter().chain(of_muscles).collect(),
            Method::Volumetric => of_muscles.into_iter().chain(of_enrich).collect(),
            Method::Muscles => of_volumetric.into_iter().chain(of_enrich).chain(of_steps).collect(),
        };
        match foreign.iter().find(|(given, ..)| *given) {
            Some((_, options, what)) => {
                let message = format!("the method {} does not have {what}", self.method.name());
                Err(Error::request(message).with_options(options))
            }
            None => Ok(()),
        }
    }

    /// Refuses what the method does not have in a scene.
    pub(super) fn check_scene(&self, scene: &Scene) -> Result<()> {
        if self.method == Method::Enrich && !scene.held.is_empty() {
            let message =
                "the scene has held regions, which the method enrich does not have; take volumetric";
            return Err(Error::request(message).with_options(&["scene", "method"]));
        }
        Ok(())
    }

    /// The options of the simulation, with factors on the stiffness and mass of all flesh.
    pub(in crate::jobs) fn method_options(&self, times_secs: &[f64], factors: [f64; 2]) -> MethodOptions {
        match self.method {
            Method::Enrich => MethodOptions::Enrich(self.enrich_options(times_secs, factors)),
            Method::Volumetric => MethodOptions::Volumetric(self.volumetric_options(times_secs, factors)),
            Method::Muscles => MethodOptions::Muscles(self.muscles_options(times_secs, factors)),
        }
    }

    fn dt_secs(&self, times_secs: &[f64], usual: f64) -> f64 {
        let shortest = times_secs.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
        let dt = self.dt.unwrap_or(usual);
        match self.substeps {
            Some(n) if shortest.is_finite() => shortest / f64::from(n),
            _ if self.preview => dt.max(preview::DT_SECS),
            _ => dt,
        }
    }

    fn enrich_options(&self, times_secs: &[f64], [stiffness, mass]: [f64; 2]) -> EnrichOptions {
        let usual = EnrichOptions::default();
        let [softness, gain, viscosity] = self.look.factors();
        EnrichOptions {
            dt_secs: self.dt_secs(times_secs, usual.dt_secs),
            stepping: self.stepping,
            rebalance: self.rebalance,
            damping: self.damping,
            tightening: self.tightening,
            stiffness: stiffness * softness,
            viscosity: self.viscosity * viscosity,
            gain: self.gain * gain,
            mass,
            gravity: self.gravity,
            contact: self.contact,
            contact_spacing: if self.preview { preview::CONTACT_SPACING } else { usual.contact_spacing },
            adhesion: self.adhesion,
            solve: if self.preview { preview::SOLVE } else { usual.solve },
            ..usual
        }
    }

    fn volumetric_options(&self, times_secs: &[f64], [stiffness, mass]: [f64; 2]) -> VolumetricOptions {
        let usual = VolumetricOptions::default();
        let [softness, gain, viscosity] = self.look.factors();
        VolumetricOptions {
            dt_secs: self.dt_secs(times_secs, usual.dt_secs),
            stepping: self.stepping,
            active: self.active.unwrap_or(usual.active),
            rebalance: self.rebalance,
            damping: self.damping,
            stiffness: stiffness * softness,
            viscosity: self.viscosity * viscosity,
            gain: self.gain * gain,
            mass,
            gravity: self.gravity,
            contact: self.contact,
            iterations: self.iterations.unwrap_or(usual.iterations),
            exact: self.exact,
            ..usual
        }
    }

    fn muscles_options(&self, times_secs: &[f64], [stiffness, mass]: [f64; 2]) -> MusclesOptions {
        let usual = MusclesOptions::default();
        let [softness, gain, _] = self.look.factors();
        MusclesOptions {
            model: MuscleOptions {
                stiffness: stiffness * softness,
                contact: self.contact,
                ..MuscleOptions::default()
            },
            snap: self.snap.unwrap_or(usual.snap),
            inertia: self.inertia,
            dt_secs: self.dt_secs(times_secs, usual.dt_secs),
            gain: self.gain * gain,
            mass,
            gravity: self.gravity,
        }
    }
}
