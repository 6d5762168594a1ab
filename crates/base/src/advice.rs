//! Errors that say which options can help.
//!
//! A message says what is wrong, where, and what to do, in words that suit every caller. Which option of a
//! job that is about is data: a command line adds its flag, a page points at its control, a script sets the
//! argument.

/// An error with structured advice.
pub trait Advise: std::error::Error {
    /// Names of options whose change can help, as the job's options have them (`head_unit`); none by default.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the progress callback asked to stop; nothing is wrong then.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Advise for crate::Cancelled {
    fn is_cancelled(&self) -> bool {
        true
    }
}
