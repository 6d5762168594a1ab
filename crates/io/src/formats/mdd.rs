//! MDD point cache (LightWave, Blender, Maya): big-endian; frame count, point count, times, then positions.
//!
//! Times are stored as 32-bit floats in seconds, so reading gives them rounded to about seven digits.

use crate::IoError;
use crate::take_out::{Count, TakeHeader, TakeWriter, finished, product};
use risorius_rig::Take;
use std::io::Write;

const FORMAT: &str = "MDD";

/// Writes an MDD file.
#[derive(Debug)]
pub struct MddWriter<W> {
    out: W,
    count: Count,
    frame_bytes: Vec<u8>,
}

impl<W: Write> MddWriter<W> {
    /// Writes the header.
    pub fn new(mut out: W, header: TakeHeader) -> Result<Self, IoError> {
        let count = Count::new(FORMAT, header)?;
        let header = &count.header;
        let mut start = Vec::with_capacity(8 + 4 * header.times_secs.len());
        start.extend((header.times_secs.len() as u32).to_be_bytes());
        start.extend((header.n_vertices as u32).to_be_bytes());
        start.extend(header.times_secs.iter().flat_map(|&t| (t as f32).to_be_bytes()));
        out.write_all(&start).map_err(|e| count.os(e))?;
        Ok(Self { out, count, frame_bytes: Vec::new() })
    }
}

impl<W: Write> TakeWriter<W> for MddWriter<W> {
    fn frame(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        self.count.frame(positions)?;
        self.frame_bytes.clear();
        self.frame_bytes.extend(positions.iter().flatten().flat_map(|x| x.to_be_bytes()));
        self.out.write_all(&self.frame_bytes).map_err(|e| self.count.os(e))
    }

    fn finish(mut self: Box<Self>) -> Result<W, IoError> {
        self.count.finish()?;
        self.out.flush().map_err(|e| self.count.os(e))?;
        Ok(self.out)
    }
}

/// Reads an MDD file.
pub fn read(bytes: &[u8]) -> Result<Take, IoError> {
    let (words, rest) = bytes.as_chunks::<4>();
    let [n_frames, n_vertices, body @ ..] = words else {
        return Err(IoError::malformed(FORMAT, "byte 0", "the file is shorter than its header"));
    };
    let (n_frames, n_vertices) = (u32::from_be_bytes(*n_frames), u32::from_be_bytes(*n_vertices));
    let floats_per_frame = 1 + 3 * u64::from(n_vertices);
    if !rest.is_empty() || product(&[n_frames.into(), floats_per_frame]) != Some(body.len() as u64) {
        let problem = format!(
            "{n_frames} frames of {n_vertices} vertices do not match the file's {} bytes; it is cut off or not an MDD",
            bytes.len()
        );
        return Err(IoError::malformed(FORMAT, "byte 0", problem));
    }
    let (times, positions) = body.split_at(n_frames as usize);
    let float = |b: &[u8; 4]| f32::from_be_bytes(*b);
    let times_secs = times.iter().map(|t| f64::from(float(t))).collect();
    let positions =
        positions.as_chunks::<3>().0.iter().map(|p| [float(&p[0]), float(&p[1]), float(&p[2])]).collect();
    finished(FORMAT, times_secs, n_vertices as usize, positions)
}
