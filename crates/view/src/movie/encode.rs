//! Encoding: H.264 by openh264, in a file by muxide.

use super::{check_frame, check_movie_rate, check_size};
use crate::ViewError;
use crate::canvas::Canvas;
use muxide::api::{Muxer, MuxerBuilder, VideoCodec};
use openh264::OpenH264API;
use openh264::encoder::{
    BitRate, Encoder, EncoderConfig, FrameRate, FrameType, IntraFramePeriod, QpRange, RateControlMode,
    VuiConfig,
};
use openh264::formats::YUVBuffer;
use std::io::Write;

/// Quantization of H.264, from 1 to 51: steps double with every 6.
const QUANTIZATION: u8 = 20;

/// Bits per pixel of a moving face at this quantization, for the level that the stream states.
const BITS_PER_PIXEL: f64 = 0.25;

/// A movie being encoded, to be written into a `W`.
pub struct Movie<W> {
    encoder: Encoder,
    muxer: Muxer<W>,
    /// Size of the pictures, before sides are made even.
    size: [usize; 2],
    fps: f64,
    n_frames: usize,
}

impl<W: Write> Movie<W> {
    /// Starts a movie of `width` x `height` pictures at `fps` frames per second, written to `out`.
    pub fn new(out: W, width: usize, height: usize, fps: f64) -> Result<Self, ViewError> {
        check_movie_rate(fps)?;
        check_size(width, height)?;
        let [even_width, even_height] = even([width, height]);
        let bits = BITS_PER_PIXEL * (even_width * even_height) as f64 * fps;
        let config = EncoderConfig::new()
            .bitrate(BitRate::from_bps(bits.clamp(200e3, 100e6) as u32))
            .max_frame_rate(FrameRate::from_hz(fps as f32))
            .skip_frames(false)
            // The only mode with a fixed quantization that does not print to standard error.
            .rate_control_mode(RateControlMode::Bufferbased)
            .qp(QpRange::new(QUANTIZATION, QUANTIZATION))
            .intra_frame_period(IntraFramePeriod::from_num_frames(fps.ceil() as u32))
            .num_threads(1)
            .vui(VuiConfig::bt709());
        let encoder = Encoder::with_api_config(OpenH264API::from_source(), config).map_err(failed)?;
        let builder =
            MuxerBuilder::new(out).video(VideoCodec::H264, even_width as u32, even_height as u32, fps);
        let muxer = builder.build().map_err(failed)?;
        Ok(Self { encoder, muxer, size: [width, height], fps, n_frames: 0 })
    }

    /// Adds a frame; all must have the size of the movie.
    pub fn add(&mut self, picture: &Canvas) -> Result<(), ViewError> {
        check_frame(picture, self.size)?;
        let [even_width, even_height] = even(self.size);
        let yuv = YUVBuffer::from_vec(yuv_420(picture, even_width, even_height), even_width, even_height);
        let encoded = self.encoder.encode(&yuv).map_err(failed)?;
        let is_key = matches!(encoded.frame_type(), FrameType::IDR | FrameType::I);
        self.muxer.write_video(self.n_frames as f64 / self.fps, &encoded.to_vec(), is_key).map_err(failed)?;
        self.n_frames += 1;
        Ok(())
    }

    /// Frames added so far.
    pub fn n_frames(&self) -> usize {
        self.n_frames
    }

    /// Writes the file.
    pub fn finish(self) -> Result<(), ViewError> {
        if self.n_frames == 0 {
            return Err(failed("it has no frames"));
        }
        self.muxer.finish().map_err(failed)
    }
}

/// Even sides, as H.264 requires.
fn even(size: [usize; 2]) -> [usize; 2] {
    size.map(|side| side.next_multiple_of(2))
}

/// Luma of every pixel, then the two chroma planes with one value per four pixels, each plane by rows.
fn yuv_420(picture: &Canvas, width: usize, height: usize) -> Vec<u8> {
    let at = |x: usize, y: usize| {
        let [r, g, b, _] =
            picture.pixels[y.min(picture.height - 1) * picture.width + x.min(picture.width - 1)];
        [r, g, b].map(i32::from)
    };
    // BT.709 in 65536ths: luma from 16 to 235, chroma from 16 to 240 around 128.
    let plane = |[r, g, b]: [i32; 3], [kr, kg, kb]: [i32; 3], offset: i32, parts: i32| {
        ((kr * r + kg * g + kb * b) / parts + (offset << 16) + (1 << 15)) >> 16
    };
    let mut planes = Vec::with_capacity(width * height * 3 / 2);
    for y in 0..height {
        planes.extend((0..width).map(|x| plane(at(x, y), [11966, 40254, 4064], 16, 1) as u8));
    }
    for factors in [[-6596, -22189, 28785], [28785, -26145, -2640]] {
        for y in (0..height).step_by(2) {
            planes.extend((0..width).step_by(2).map(|x| {
                let four = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
                let sum = std::array::from_fn(|c| four.iter().map(|p| p[c]).sum());
                plane(sum, factors, 128, 4) as u8
            }));
        }
    }
    planes
}

fn failed(cause: impl ToString) -> ViewError {
    ViewError::Movie(cause.to_string())
}
