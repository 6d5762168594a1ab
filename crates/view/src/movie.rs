//! Canvases to an MP4: H.264 by openh264, in a file by muxide.
//!
//! Every picture becomes one frame, none is skipped, and times are multiples of 1/fps. Sides are made even by
//! repeating the last column or row, as H.264 halves colors; alpha is dropped. Frames are quantized nearly
//! alike, finely enough to keep skin free of blocks (colors are 1.2 of 255 off in the mean, see the tests),
//! and a key frame a second lets players jump. One thread encodes, so bytes do not depend on the number of
//! threads; other processors may round otherwise. Colors are those of BT.709 in the range of television,
//! which the stream says. Encoded frames are kept in memory, some 0.3 MB for a second of a talking face of
//! 900 x 900 pixels, and written when the movie is finished.

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

/// Longest and shorter side of a movie that the encoder takes, in pixels.
pub const MAX_MOVIE: [usize; 2] = [3840, 2160];

/// Smallest side of a movie in pixels: a block of H.264.
pub const MIN_MOVIE: usize = 16;

/// Fewest and most frames per second that players can be expected to show.
pub const MOVIE_FPS: [f64; 2] = [0.1, 240.0];

/// Quantization of H.264, from 1 to 51: steps double with every 6.
const QUANTIZATION: u8 = 20;

/// What a moving face takes with it, for the level that the stream announces.
const BITS_PER_PIXEL: f64 = 0.25;

/// A movie that is being made, to be written into a `W`.
pub struct Movie<W> {
    encoder: Encoder,
    muxer: Muxer<W>,
    /// Of the pictures, before sides are made even.
    size: [usize; 2],
    fps: f64,
    n_frames: usize,
}

impl<W: Write> Movie<W> {
    /// Starts a movie of `width` x `height` pictures, `fps` of them a second, that goes to `out`.
    pub fn new(out: W, width: usize, height: usize, fps: f64) -> Result<Self, ViewError> {
        check_movie_rate(fps)?;
        let (short, long) = (width.min(height), width.max(height));
        if short < MIN_MOVIE || long > MAX_MOVIE[0] || short > MAX_MOVIE[1] {
            return Err(ViewError::MovieSize { width, height });
        }
        let [even_width, even_height] = even([width, height]);
        let bits = BITS_PER_PIXEL * (even_width * even_height) as f64 * fps;
        let config = EncoderConfig::new()
            .bitrate(BitRate::from_bps(bits.clamp(200e3, 100e6) as u32))
            .max_frame_rate(FrameRate::from_hz(fps as f32))
            .skip_frames(false)
            // The only mode that has a fixed quantization and does not complain on standard error.
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
        let [width, height] = self.size;
        if picture.width != width || picture.height != height || picture.pixels.len() != width * height {
            let (found_width, found_height) = (picture.width, picture.height);
            return Err(ViewError::MovieFrame { width, height, found_width, found_height });
        }
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

/// Refuses frames per second outside of [`MOVIE_FPS`].
pub fn check_movie_rate(fps: f64) -> Result<(), ViewError> {
    if (MOVIE_FPS[0]..=MOVIE_FPS[1]).contains(&fps) {
        return Ok(());
    }
    Err(ViewError::Number { name: "fps", value: fps as f32, hint: " from 0.1 to 240" })
}

/// Sides as H.264 takes them.
fn even(size: [usize; 2]) -> [usize; 2] {
    size.map(|side| side.next_multiple_of(2))
}

/// Brightness of every pixel, then the two colors of every four, each plane by rows.
fn yuv_420(picture: &Canvas, width: usize, height: usize) -> Vec<u8> {
    let at = |x: usize, y: usize| {
        let [r, g, b, _] =
            picture.pixels[y.min(picture.height - 1) * picture.width + x.min(picture.width - 1)];
        [r, g, b].map(i32::from)
    };
    // BT.709 in 65536ths: brightness from 16 to 235, colors from 16 to 240 around 128.
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
