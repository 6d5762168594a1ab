//! How muscles make shapes, in a `.face` file: activations, jaw, tracks and snaps, concatenated over shapes.
//!
//! The arrays are there only if some shape was solved for; files without them have no muscle shapes. All
//! lists that differ in length between shapes come with the index at which each begins.

use crate::IoError;
use crate::native::container::{Archive, Writer, damaged};
use risorius_muscle::{Muscle, MuscleShape, Snap, Tracks};

const SHAPES: &str = "muscle_shapes.shapes";
const WHAT: &str = "shapes made by muscles";

/// Adds the shapes to a file.
pub fn save<'a>(shapes: &'a [MuscleShape], file: &mut Writer<'a>) -> Result<(), IoError> {
    if shapes.is_empty() {
        return Ok(());
    }
    file.made(SHAPES, shapes.iter().map(|s| s.shape).collect());
    file.made("muscle_shapes.activations", shapes.iter().flat_map(|s| s.activations.clone()).collect());
    file.made("muscle_shapes.jaw", shapes.iter().map(|s| s.jaw).collect());
    file.made("muscle_shapes.leads", shapes.iter().flat_map(|s| &s.leads).map(|&l| u8::from(l)).collect());
    file.made("muscle_shapes.miss_mm", shapes.iter().map(|s| s.miss_mm).collect());
    file.made("muscle_shapes.keys", shapes.iter().map(|s| s.tracks.keys.len() as u32).collect());
    let keys = || shapes.iter().flat_map(|s| &s.tracks.keys);
    file.lists("muscle_shapes.tracks", keys().map(Vec::as_slice));
    file.first("muscle_shapes.snap.first", shapes.iter().map(|s| s.snap.vertices.len()));
    file.lists("muscle_shapes.snap.vertices", shapes.iter().map(|s| s.snap.vertices.as_slice()));
    file.lists("muscle_shapes.snap.offsets", shapes.iter().map(|s| s.snap.offsets.as_slice()));
    Ok(())
}

/// Reads the shapes of a file. Numbers are not checked here.
pub fn load(file: &Archive, muscles: &[Muscle]) -> Result<Vec<MuscleShape>, IoError> {
    if !file.has(SHAPES) {
        return Ok(Vec::new());
    }
    let shapes = file.array::<u32>(SHAPES)?;
    let (n, n_muscles) = (shapes.len(), muscles.len());
    let n_points: usize = muscles.iter().map(|m| m.solid.control.len()).sum();
    let too_many = || damaged("array 'muscle_shapes.keys'", "it counts more keys than there are");
    let per_muscle = n.checked_mul(n_muscles).ok_or_else(too_many)?;
    let activations = file.rows::<f64>("muscle_shapes.activations", per_muscle, WHAT)?;
    let leads = file.rows::<u8>("muscle_shapes.leads", per_muscle, WHAT)?;
    let jaw = file.rows::<[f64; 3]>("muscle_shapes.jaw", n, WHAT)?;
    let miss_mm = file.rows::<[f64; 2]>("muscle_shapes.miss_mm", n, WHAT)?;
    let keys = file.rows::<u32>("muscle_shapes.keys", n, WHAT)?;
    let offsets = file.array::<[f32; 3]>("muscle_shapes.tracks")?;
    let n_keys = keys.iter().try_fold(0usize, |sum, &k| sum.checked_add(k as usize)).ok_or_else(too_many)?;
    if n_keys.checked_mul(n_points) != Some(offsets.len()) {
        let found = format!("it has {} rows for {n_keys} keys of {n_points} control points", offsets.len());
        return Err(damaged("array 'muscle_shapes.tracks'", found));
    }
    let first = file.first("muscle_shapes.snap.first", n, WHAT)?;
    let vertices = file.lists::<u32>("muscle_shapes.snap.vertices", &first)?;
    let snaps = file.lists::<[f32; 3]>("muscle_shapes.snap.offsets", &first)?;
    let mut key = 0;
    let one = |i: usize| {
        let own = i * n_muscles..(i + 1) * n_muscles;
        let of_key = |k: usize| offsets[k * n_points..(k + 1) * n_points].to_vec();
        let tracks = Tracks { keys: (key..key + keys[i] as usize).map(of_key).collect() };
        key += keys[i] as usize;
        MuscleShape {
            shape: shapes[i],
            activations: activations[own.clone()].to_vec(),
            jaw: jaw[i],
            tracks,
            leads: leads[own].iter().map(|&l| l != 0).collect(),
            snap: Snap { vertices: vertices[i].to_vec(), offsets: snaps[i].to_vec() },
            miss_mm: miss_mm[i],
        }
    };
    Ok((0..n).map(one).collect())
}
