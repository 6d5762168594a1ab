//! The program as people call it: every verb from the outside, with what it prints, writes and refuses.
//!
//! Rigs are made in code ([`rigs`]); tests on real heads read them from the folder in the environment
//! variable `RISORIUS_DATA` and say that they are skipped where it is not set.

mod attenuate;
mod attenuate_clip;
mod bad_files;
mod build;
mod calls;
mod convert;
mod desk;
mod detail;
mod face;
mod inspect;
mod interference;
mod many_shapes;
mod movies;
mod perform;
mod perform_resume;
mod perform_scene;
mod plot;
mod pose;
mod real_heads;
mod render;
mod rigs;
#[path = "../../../io/tests/face/sample.rs"]
mod sample;
mod threads;
