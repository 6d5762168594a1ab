//! Why anatomy could not be found or carried.

use risorius_base::Cancelled;

/// What is at fault, and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnatomyError {
    /// No surface to work on.
    #[error("the rig has no skin: {reason}; open a file with a face surface, or name the skin's part `skin`")]
    NoSkin {
        /// What was looked for.
        reason: String,
    },
    /// Not enough landmarks to place anatomy.
    #[error(
        "only {found} landmarks could be found on '{rig}' ({tried}), {needed} are needed; give some by hand in a \
         landmark file, such as {{\"nose_tip\": 1234, \"mouth_left\": 2345, \"chin_middle\": 3456}}, or name shapes as ARKit does \
         (jawOpen, eyeBlinkLeft, mouthSmileLeft ...)"
    )]
    NoLandmarks {
        /// Name of the rig.
        rig: String,
        /// What was tried.
        tried: String,
        /// How many there are.
        found: usize,
        /// How many there must be.
        needed: usize,
    },
    /// A bone given by the user that cannot belong to this head.
    #[error("the given {bone} does not fit the head: {reason}; {advice}")]
    SuppliedBone {
        /// `cranium`, `mandible`, `upper teeth`, `lower teeth`.
        bone: &'static str,
        /// What is wrong.
        reason: String,
        /// What to do.
        advice: String,
    },
    /// A built-in head that is not complete.
    #[error("the head to carry from has {what}; use the built-in head or complete it")]
    Head {
        /// What is missing.
        what: String,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
