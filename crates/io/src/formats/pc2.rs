//! PC2 point cache (3ds Max, Blender, Maya): little-endian; point count, first frame, frames per sample,
//! sample count.
//!
//! The format counts in frames and does not store their duration. We write one sample per frame, so times
//! must be evenly spaced, and the caller gives the frame rate for reading.

use crate::IoError;
use crate::take_out::{Count, TakeHeader, TakeWriter, finished, product};
use risorius_rig::Take;
use risorius_rig::clip::mean_fps;
use std::io::Write;

const FORMAT: &str = "PC2";
const MAGIC: &[u8; 12] = b"POINTCACHE2\0";
const HEADER: usize = 32;

/// Writes a PC2 file.
#[derive(Debug)]
pub struct Pc2Writer<W> {
    out: W,
    count: Count,
    frame_bytes: Vec<u8>,
}

impl<W: Write> Pc2Writer<W> {
    /// Writes the header. Times more than a tenth of a frame off an even rate are refused.
    pub fn new(mut out: W, header: TakeHeader) -> Result<Self, IoError> {
        let count = Count::new(FORMAT, header)?;
        let times = &count.header.times_secs;
        let fps = mean_fps(times);
        let first = times.first().copied().unwrap_or(0.0);
        if let Some(i) = (0..times.len()).find(|&i| ((times[i] - first) * fps - i as f64).abs() > 0.1) {
            return Err(IoError::Unsupported {
                format: FORMAT,
                feature: format!("an uneven frame rate (frame {i} is at {} s)", times[i]),
                advice: "resample the clip to an even rate, or write MDD or NPZ".into(),
            });
        }
        let mut start = MAGIC.to_vec();
        start.extend(1u32.to_le_bytes());
        start.extend((count.header.n_vertices as u32).to_le_bytes());
        start.extend(((first * fps) as f32).to_le_bytes());
        start.extend(1f32.to_le_bytes());
        start.extend((times.len() as u32).to_le_bytes());
        out.write_all(&start).map_err(|e| count.os(e))?;
        Ok(Self { out, count, frame_bytes: Vec::new() })
    }
}

impl<W: Write> TakeWriter<W> for Pc2Writer<W> {
    fn frame(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        self.count.frame(positions)?;
        self.frame_bytes.clear();
        self.frame_bytes.extend(positions.iter().flatten().flat_map(|x| x.to_le_bytes()));
        self.out.write_all(&self.frame_bytes).map_err(|e| self.count.os(e))
    }

    fn finish(mut self: Box<Self>) -> Result<W, IoError> {
        self.count.finish()?;
        self.out.flush().map_err(|e| self.count.os(e))?;
        Ok(self.out)
    }
}

/// Reads a PC2 file whose frames last `1 / fps` seconds.
pub fn read(bytes: &[u8], fps: f64) -> Result<Take, IoError> {
    if !(fps > 0.0 && fps <= 100_000.0) {
        return Err(risorius_rig::clip::ClipError::BadRate { fps }.into());
    }
    let malformed =
        |byte: usize, problem: String| IoError::malformed(FORMAT, format!("byte {byte}"), problem);
    if !bytes.starts_with(MAGIC) {
        return Err(malformed(0, "the file does not start with POINTCACHE2".into()));
    }
    let Some((header, body)) = bytes.split_at_checked(HEADER) else {
        return Err(malformed(0, "the file is shorter than its header".into()));
    };
    let word = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
    let n_vertices = u32::from_le_bytes(word(16));
    let (start, rate) = (f32::from_le_bytes(word(20)), f32::from_le_bytes(word(24)));
    let n_frames = u32::from_le_bytes(word(28));
    if product(&[n_frames.into(), n_vertices.into(), 12]) != Some(body.len() as u64) || n_vertices == 0 {
        let problem = format!(
            "{n_frames} frames of {n_vertices} vertices do not match the {} bytes after the header; the file is cut off",
            body.len()
        );
        return Err(malformed(16, problem));
    }
    if !(rate > 0.0 && rate.is_finite() && start.is_finite()) {
        return Err(malformed(
            20,
            format!("first frame {start} and {rate} frames per sample are not possible"),
        ));
    }
    let times = (0..n_frames).map(|i| (f64::from(start) + f64::from(rate) * f64::from(i)) / fps).collect();
    let float = |b: &[u8; 4]| f32::from_le_bytes(*b);
    let (floats, _) = body.as_chunks::<4>();
    let positions =
        floats.as_chunks::<3>().0.iter().map(|p| [float(&p[0]), float(&p[1]), float(&p[2])]).collect();
    finished(FORMAT, times, n_vertices as usize, positions)
}
