//! Wrinkles and fine detail on a face that is driven by few points [Bickel08, all of it].
//!
//! Handles (mocap markers, or points of an animation) drive a linear shell, which is the large scale
//! ([`shell`]). Edges between neighboring handles are strain gauges ([`features`]). The difference between
//! examples and the large scale is stored in local frames ([`frames`]) and learned as a function of the
//! strains around each vertex ([`pose_space`]). [`learn()`] computes a [`Detail`] from examples; [`player`]
//! plays it. [`make`](mod@make) makes examples for faces that have none.
//!
//! Everything is in the unit and axes of the rest mesh: strains have no unit, and length parameters are
//! multiples of the distance between handles.

mod align;
pub mod applied;
pub mod attach;
pub mod blocks;
pub mod correspond;
pub mod edit;
mod eight;
pub mod error;
pub mod features;
pub mod frames;
pub mod handles;
mod kernels;
pub mod laplacian;
pub mod learn;
pub mod make;
pub mod maps;
pub mod markers;
pub mod player;
pub mod pose_space;
pub mod rest;
pub mod shell;
pub mod split;
mod strain;
mod support;
pub mod synthetic;
pub mod transfer;

pub use applied::{AppliedDetail, Drive};
pub use error::DetailError;
pub use features::FeatureGraph;
pub use learn::{Base, Detail, Examples, Fit, LearnOptions, learn};
pub use make::{Made, MakeOptions, make};
pub use player::DetailPlayer;
pub use pose_space::PoseModel;
pub use rest::{FaceDetail, Rest};
pub use shell::{Shell, ShellOptions};

use risorius_mesh::FileMesh;

/// Reports the first problem that makes a rest mesh unusable.
pub fn check_rest(mesh: &FileMesh) -> Result<(), DetailError> {
    let n = mesh.n_vertices();
    if n == 0 || mesh.triangles.is_empty() {
        return Err(DetailError::Empty { what: "the rest mesh" });
    }
    if let Some(v) = mesh.positions.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
        return Err(DetailError::NotFinite { what: "the rest mesh".into(), vertex: v });
    }
    if let Some(t) = mesh.triangles.iter().position(|t| t.iter().any(|&v| v as usize >= n)) {
        return Err(DetailError::Corner { triangle: t, n_vertices: n });
    }
    Ok(())
}
