//! A take is written as glTF in memory that does not grow with its data, and as the same bytes as in memory.

#[allow(dead_code, reason = "nothing is damaged here")]
mod counting;

use counting::{NOW, PEAK};
use risorius_head::Identity;
use risorius_io::formats::gltf::{TakeGlbWriter, TakeOptions, write_take_glb};
use risorius_rig::{Rig, Take};
use std::io::sink;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

fn frame(rig: &Rig, f: usize) -> Vec<[f32; 3]> {
    let wave = |(v, p): (usize, &[f32; 3])| [p[0] + 0.01 * ((f + v) as f32).sin(), p[1], p[2]];
    rig.neutral.iter().enumerate().map(wave).collect()
}

/// Writes a take frame by frame; returns the peak of memory beyond what was there before.
fn peak(rig: &Rig, n_frames: usize, as_text: bool, out: &mut dyn std::io::Write) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let times_secs: Vec<f64> = (0..n_frames).map(|f| f as f64 / 30.0).collect();
    let options = TakeOptions { as_text, ..TakeOptions::default() };
    let storage = Box::new(tempfile::tempfile().unwrap());
    let mut writer = TakeGlbWriter::new(rig, &times_secs, options, storage, PathBuf::new()).unwrap();
    (0..n_frames).for_each(|f| writer.frame(&frame(rig, f)).unwrap());
    writer.finish(out).unwrap();
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn memory_does_not_grow_with_the_data() {
    let rig = risorius_head::build(&Identity::default()).rig.with_sliders(&["jawOpen"]);
    for as_text in [false, true] {
        let [few, many] = [10, 60].map(|n_frames| peak(&rig, n_frames, as_text, &mut sink()));
        let data = 50 * 24 * rig.n_file_vertices();
        assert!(many < few + data / 10, "{few} bytes for 10 frames, {many} for 60; their data are {data}");
        let mut streamed = Vec::new();
        peak(&rig, 3, as_text, &mut streamed);
        let positions: Vec<[f32; 3]> = (0..3).flat_map(|f| frame(&rig, f)).collect();
        let times_secs = (0..3).map(|f| f64::from(f) / 30.0).collect();
        let take = Take { times_secs, n_vertices: rig.n_vertices(), positions };
        let options = TakeOptions { as_text, ..TakeOptions::default() };
        assert!(streamed == write_take_glb(&rig, &take, &options).unwrap(), "other bytes");
    }
}
