//! Corrective shapes for engines from poses at rest [Ichim16, sec. 4].
//!
//! An engine evaluates `f0 + D c(w)`. What flesh adds to the artist's rig `a(w)` where sliders are on
//! together is sampled ([`BakePlan`], [`mod@crate::settle`]), and put into a few more shapes ([`fit()`]):
//! combination shapes of pairs by the product of their sliders, and in-betweens of single sliders:
//!
//! ```text
//! p(w) = a(w) + m + sum_i w_i u_i + sum_i t(w_i) q_i + sum_{i<j} w_i w_j v_ij,    t(w) = 1 - |2 w - 1|
//! ```
//!
//! Samples are fitted as differences from the rig, so its own in-betweens and combinations are neither lost
//! nor doubled. The paper's formula has no self terms `w_i^2`, and the rule of products cannot play them: a
//! slider is not its own partner. What a slider does on its way (a jaw that turns does not move on straight
//! lines) is the in-between q_i at 0.5, which engines know.
//!
//! By default the artist's neutral and shapes stay exact ([`Keep::Shapes`]): m = u = 0. [`rig`] puts the
//! result into a rig.

pub mod choose;
pub mod error;
pub mod fit;
mod joint;
pub mod key;
pub mod outcome;
pub mod plan;
pub mod rig;

pub use choose::Budget;
pub use error::BakeError;
pub use fit::{BakeErrors, Field, FitOptions, Fitted, Keep, Samples, fit};
pub use key::BakeKey;
pub use outcome::{Ending, SampleOutcome};
pub use plan::{BakePlan, PairChoice, Sample, Skipped};
pub use rig::{BakedShape, baked_rig};
