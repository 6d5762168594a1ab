//! Animated pictures: WebP frames by libwebp in a container (RIFF) of ours.
//!
//! libwebp has an encoder of animations, but it wants all pictures in memory and finds little in common
//! between frames of a moving face. Every frame is a picture of its own here. The container is `RIFF WEBP
//! [VP8X: size, flags] [ANIM: repeats] [ANMF: place, size, duration, picture]...`, each chunk with its name
//! and length. Durations are whole milliseconds that add up to the time of the movie. The picture repeats for
//! ever. Encoded frames are kept in memory until the end, because the file starts with its length.

use super::{check_frame, check_movie_rate, check_size};
use crate::ViewError;
use crate::canvas::Canvas;
use std::io::Write;

/// Quality of a frame, 0 to 100.
const QUALITY: f32 = 82.0;

/// Highest frame rate: browsers slow frames of 10 ms and less down to 100 ms.
const MAX_FPS: f64 = 60.0;

/// An animated picture being encoded, to be written into a `W`.
pub struct Animation<W> {
    out: W,
    size: [usize; 2],
    fps: f64,
    /// Chunks of the frames so far.
    frames: Vec<u8>,
    n_frames: usize,
}

impl<W: Write> Animation<W> {
    /// Starts an animation of `width` x `height` pictures at `fps` frames per second, written to `out`.
    pub fn new(out: W, width: usize, height: usize, fps: f64) -> Result<Self, ViewError> {
        check_movie_rate(fps)?;
        check_size(width, height)?;
        if fps > MAX_FPS {
            let hint = " of at most 60 for an animated picture";
            return Err(ViewError::Number { name: "fps", value: fps as f32, hint });
        }
        Ok(Self { out, size: [width, height], fps, frames: Vec::new(), n_frames: 0 })
    }

    /// Adds a frame; all must have the size of the animation.
    pub fn add(&mut self, picture: &Canvas) -> Result<(), ViewError> {
        check_frame(picture, self.size)?;
        let [width, height] = self.size.map(|n| n as u32);
        let colors: Vec<u8> = picture.pixels.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect();
        let encoder = webp::Encoder::from_rgb(&colors, width, height);
        let encoded = encoder.encode_simple(false, QUALITY).map_err(|e| failed(format!("{e:?}")))?;
        // The file of a single picture: `RIFF`, length and `WEBP`, then its chunks.
        let chunks =
            encoded.get(12..).filter(|c| !c.is_empty()).ok_or_else(|| failed("libwebp gave nothing"))?;
        let [start, end] = [0, 1].map(|k| ((self.n_frames + k) as f64 * 1000.0 / self.fps).round() as u32);
        let mut frame = Vec::with_capacity(16 + chunks.len());
        for number in [0, 0, width - 1, height - 1, end - start] {
            frame.extend(&number.to_le_bytes()[..3]);
        }
        // Replace the frame before instead of blending over it.
        frame.push(2);
        frame.extend(chunks);
        push_chunk(&mut self.frames, b"ANMF", &frame);
        self.n_frames += 1;
        Ok(())
    }

    /// Frames added so far.
    pub fn n_frames(&self) -> usize {
        self.n_frames
    }

    /// Writes the file.
    pub fn finish(mut self) -> Result<(), ViewError> {
        if self.n_frames == 0 {
            return Err(failed("it has no frames"));
        }
        let mut body = b"WEBP".to_vec();
        let [width, height] = self.size.map(|n| (n as u32 - 1).to_le_bytes());
        // Flags: it is an animation.
        push_chunk(&mut body, b"VP8X", &[&[2, 0, 0, 0], &width[..3], &height[..3]].concat());
        // Background color, and 0 for endless repeats.
        push_chunk(&mut body, b"ANIM", &[0; 6]);
        let length = body.len() + self.frames.len();
        let length = u32::try_from(length).map_err(|_| failed("it would be larger than 4 GB"))?;
        for bytes in [&b"RIFF"[..], &length.to_le_bytes(), body.as_slice(), &self.frames] {
            self.out.write_all(bytes).map_err(failed)?;
        }
        Ok(())
    }
}

/// A chunk with its name and length, padded to an even length.
fn push_chunk(out: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    out.extend(name);
    out.extend((content.len() as u32).to_le_bytes());
    out.extend(content);
    if content.len() % 2 == 1 {
        out.push(0);
    }
}

fn failed(cause: impl ToString) -> ViewError {
    ViewError::Movie(cause.to_string())
}
