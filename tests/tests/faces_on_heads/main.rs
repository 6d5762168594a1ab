//! Faces of 3,000 nodes built from the built-in head and from real ones, once for all tests here: their
//! flesh, and what physics makes of it.

mod depth;
mod flesh;
mod performing;
