//! The simulation methods, each a [`crate::Driver`].

pub mod enrich;
