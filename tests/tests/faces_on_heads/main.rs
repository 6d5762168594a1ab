//! Faces of 3,000 nodes, built once from the built-in head and from real ones for all tests here: their flesh
//! and their performances.

mod bake;
mod depth;
mod flesh;
mod muscles;
mod performing;
mod preview;
mod rest_shapes;
mod swing;
mod volumetric;
