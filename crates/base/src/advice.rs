//! Errors that name the options whose change can help.
//!
//! A message says what is wrong, where, and what to do, in words that suit every caller. The option concerned
//! is given as data: a command line adds its flag, a graphical interface points at its control, a script sets
//! the argument.

/// An error with structured advice.
pub trait Advise: std::error::Error {
    /// Names of options whose change can help, as fields of the job's options (`head_unit`); none by default.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the progress callback asked to stop, which is no fault.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Advise for crate::Cancelled {
    fn is_cancelled(&self) -> bool {
        true
    }
}
