//! What samples depend on: parts that different runs computed belong together only if all of it is equal.

use super::plan::BakePlan;
use crate::checkpoint::{INPUTS, frame_keys};
use crate::drivers::MethodOptions;
use crate::run::Performance;
use risorius_base::Fingerprint;

/// The names of the parts of a key, in their order.
pub const BAKE_INPUTS: [&str; INPUTS.len() + 1] = {
    let mut names = ["the sliders and pairs"; INPUTS.len() + 1];
    let mut i = 0;
    while i < INPUTS.len() {
        names[i] = INPUTS[i];
        i += 1;
    }
    names
};

/// Where the face is in [`BAKE_INPUTS`].
const FACE: usize = 1;

/// Fingerprints of everything that samples depend on, as in [`BAKE_INPUTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BakeKey(pub [Fingerprint; BAKE_INPUTS.len()]);

impl BakeKey {
    /// Of a plan on the face with the fingerprint `face`; `resting` is a performance of one frame with all
    /// sliders at 0.
    pub fn new(face: Fingerprint, resting: &Performance, options: &MethodOptions, plan: &BakePlan) -> Self {
        let keys = frame_keys(face, resting, options);
        let mut all = [plan.fingerprint(); BAKE_INPUTS.len()];
        keys.iter().take(1).for_each(|key| all[..INPUTS.len()].copy_from_slice(&key.inputs));
        Self(all)
    }

    /// The first input that differs.
    pub fn differs(&self, other: &Self) -> Option<&'static str> {
        BAKE_INPUTS
            .into_iter()
            .zip(self.0.iter().zip(&other.0))
            .find(|(_, (a, b))| a != b)
            .map(|(name, _)| name)
    }

    /// The fingerprint of the face.
    pub fn face(&self) -> Fingerprint {
        self.0[FACE]
    }
}
