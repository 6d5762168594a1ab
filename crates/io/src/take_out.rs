//! Writes takes: the common part of the point cache writers.
//!
//! A writer gets the times and sizes first and then the frames one by one, so a take is never in memory as a
//! whole. Vertices are those of the rig's source files, all parts one after another; the caller un-welds them
//! ([`risorius_rig::Part::to_file_order`]). [`TakeWriter::finish`] returns the underlying output, so that a
//! [`crate::output::WholeFile`] can be finished; a writer that is dropped earlier leaves it unfinished.

use crate::IoError;
use risorius_rig::{Rig, Take};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The point caches of single parts beside `path`: `take.PART.mdd` for `take.mdd`, with the index of each
/// part that has vertices. Characters that file systems reject become `_`.
pub fn part_paths(rig: &Rig, path: &Path) -> Vec<(usize, PathBuf)> {
    let text = |piece: Option<&std::ffi::OsStr>| piece.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, ending) = (text(path.file_stem()), text(path.extension()));
    let mut taken = HashSet::new();
    let mut paths = Vec::new();
    for (idx, part) in rig.parts.iter().enumerate().filter(|(_, p)| p.n_file_vertices() > 0) {
        let kept = |c: char| if c.is_alphanumeric() || "-_. ".contains(c) { c } else { '_' };
        let name: String = part.name.chars().map(kept).collect();
        let numbered = (2..).map(|n| format!("{name}.{n}"));
        // Some file systems do not distinguish case.
        let name = std::iter::once(name.clone()).chain(numbered).find(|n| taken.insert(n.to_lowercase()));
        let file = format!("{stem}.{}.{ending}", name.unwrap_or_default());
        paths.push((idx, path.with_file_name(file)));
    }
    paths
}

/// What is known about a take before its first frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TakeHeader {
    /// The file, for messages.
    pub path: PathBuf,
    /// Time of each frame in seconds, strictly ascending.
    pub times_secs: Vec<f64>,
    /// Vertices of each frame.
    pub n_vertices: usize,
    /// Triangles over these vertices, for formats that hold them.
    pub triangles: Vec<[u32; 3]>,
}

/// A take that is being written into a `W`.
pub trait TakeWriter<W> {
    /// Writes the next frame.
    fn frame(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError>;

    /// Ends the file, after exactly as many frames as there are times.
    fn finish(self: Box<Self>) -> Result<W, IoError>;
}

/// Counts frames against the header.
#[derive(Debug)]
pub(crate) struct Count {
    pub header: TakeHeader,
    format: &'static str,
    written: usize,
}

impl Count {
    /// Checks the header for a format whose counts are 32 bits.
    pub fn new(format: &'static str, header: TakeHeader) -> Result<Self, IoError> {
        check_times(format, &header.times_secs)?;
        let limit = i32::MAX as u64;
        crate::error::check_count(format, "the number of frames", header.times_secs.len() as u64, limit)?;
        crate::error::check_count(format, "the number of vertices", header.n_vertices as u64, limit)?;
        Ok(Self { header, format, written: 0 })
    }

    /// An error of the file that is being written.
    pub fn os(&self, source: std::io::Error) -> IoError {
        IoError::Os { path: self.header.path.clone(), source }
    }

    /// Checks and counts a frame.
    pub fn frame(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        let (n_frames, n_vertices) = (self.header.times_secs.len(), self.header.n_vertices);
        let place = format!("frame {}", self.written);
        if self.written == n_frames {
            return Err(IoError::malformed(
                self.format,
                place,
                format!("only {n_frames} frames were announced"),
            ));
        }
        if positions.len() != n_vertices {
            let problem = format!("it has {} vertices, {n_vertices} were announced", positions.len());
            return Err(IoError::malformed(self.format, place, problem));
        }
        self.written += 1;
        Ok(())
    }

    /// Checks that all frames were written.
    pub fn finish(&self) -> Result<(), IoError> {
        let n_frames = self.header.times_secs.len();
        if self.written < n_frames {
            let problem = format!("{n_frames} frames were announced, {} were written", self.written);
            return Err(IoError::malformed(self.format, "end", problem));
        }
        Ok(())
    }
}

/// Rejects takes without frames and times that are not finite and strictly ascending.
pub(crate) fn check_times(format: &'static str, times_secs: &[f64]) -> Result<(), IoError> {
    if times_secs.is_empty() {
        return Err(IoError::malformed(format, "times", "there are no frames"));
    }
    let bad = (0..times_secs.len()).find(|&i| {
        !times_secs[i].is_finite()
            || i.checked_sub(1).is_some_and(|before| times_secs[i] <= times_secs[before])
    });
    match bad {
        None => Ok(()),
        Some(i) => {
            let problem = format!("its time is {} s; times must be finite and advance", times_secs[i]);
            Err(IoError::malformed(format, format!("frame {i}"), problem))
        }
    }
}

/// The product of `counts`; `None` when it does not fit into 64 bits.
pub(crate) fn product(counts: &[u64]) -> Option<u64> {
    counts.iter().try_fold(1u64, |a, &b| a.checked_mul(b))
}

/// Checks a take that has been read.
pub(crate) fn finished(
    format: &'static str,
    times_secs: Vec<f64>,
    n_vertices: usize,
    positions: Vec<[f32; 3]>,
) -> Result<Take, IoError> {
    check_times(format, &times_secs)?;
    if n_vertices == 0 {
        return Err(IoError::malformed(format, "header", "there are no vertices"));
    }
    if let Some(i) = positions.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
        let [x, y, z] = positions[i];
        let place = format!("frame {}, vertex {}", i / n_vertices, i % n_vertices);
        return Err(IoError::malformed(
            format,
            place,
            format!("it is at {x} {y} {z}; export the take again"),
        ));
    }
    Ok(Take { times_secs, n_vertices, positions })
}
