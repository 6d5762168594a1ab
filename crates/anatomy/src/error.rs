//! Errors of finding landmarks and transferring anatomy.

use risorius_base::Cancelled;

/// What is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnatomyError {
    /// No surface to work on.
    #[error("the rig has no skin: {reason}; open a file with a face surface, or name the skin's part `skin`")]
    NoSkin {
        /// Why.
        reason: String,
    },
    /// Not enough landmarks to place anatomy.
    #[error(
        "only {found} landmarks were found on '{rig}' ({tried}), {needed} are needed; give some in a \
         landmark file, such as {{\"nose_tip\": 1234, \"mouth_left\": 2345, \"chin_middle\": 3456}}, or name \
         shapes as ARKit does (jawOpen, eyeBlinkLeft, mouthSmileLeft ...)"
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
    /// A bone given by the user does not fit this head.
    #[error("the given {bone} does not fit the head: {reason}; {advice}")]
    SuppliedBone {
        /// `cranium`, `mandible`, `upper teeth`, `lower teeth`.
        bone: &'static str,
        /// What is wrong.
        reason: String,
        /// What to do.
        advice: String,
    },
    /// The source head is incomplete.
    #[error("the source head has {what}; use the built-in head or complete it")]
    Head {
        /// What is missing.
        what: String,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl risorius_base::Advise for AnatomyError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::NoLandmarks { .. } => &["landmarks"],
            _ => &[],
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}
