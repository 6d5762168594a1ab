//! Writes takes: the common part of the point cache writers.
//!
//! A writer gets the times and sizes first and then the frames one by one, so a take is never in memory as a
//! whole. Vertices are those of the rig's source files, all parts one after another; the caller un-welds them
//! ([`risorius_rig::Part::to_file_order`]). [`TakeWriter::finish`] returns the underlying output, so that a
//! [`crate::output::WholeFile`] can be finished; a writer that is dropped earlier leaves it unfinished.

use crate::IoError;
use risorius_rig::Take;
use std::path::PathBuf;

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
