//! The program as users call it: what every verb prints, writes and refuses.
//!
//! Rigs are made in code ([`rigs`]). Tests on real heads read them from the folder named by the environment
//! variable `RISORIUS_DATA`, and report that they are skipped if it is not set.

mod attenuate;
mod attenuate_clip;
mod bad_files;
mod bake;
mod batch;
mod blender;
mod build;
mod calls;
mod convert;
mod demo;
mod desk;
mod detail;
mod face;
mod inspect;
mod interference;
mod many_shapes;
mod movies;
mod muscle;
mod perform;
mod perform_resume;
mod perform_scene;
mod perform_volumetric;
mod plot;
mod pose;
mod preview;
mod real_heads;
mod recordings;
mod render;
mod rigs;
#[path = "../../../io/tests/face/sample.rs"]
mod sample;
mod sets;
mod takes;
mod threads;
