//! Encodes canvases as a movie, or as one picture that plays.
//!
//! [`Movie`] is an MP4: H.264 by openh264, muxed by muxide. [`Animation`] is an animated WebP, which web
//! pages show and play like any other picture: every frame is a lossy picture by libwebp, in a container of
//! ours.
//!
//! The MP4:
//!
//! Every picture becomes one frame, none is skipped, and times are multiples of 1/fps. Sides are made even by
//! repeating the last column or row, because H.264 subsamples chroma; alpha is dropped. The quantization is
//! nearly constant and fine enough to avoid blocks on skin (the mean color error is 1.2 of 255, see the
//! tests), and a key frame per second allows seeking. One thread encodes, so bytes do not depend on the
//! number of threads; other processors may round differently. Colors are BT.709 in limited (television)
//! range, as stated in the stream. Encoded frames are kept in memory, about 0.3 MB per second for a talking
//! face of 900 x 900 pixels, and written when the movie is finished.

#[cfg(feature = "movie")]
mod animation;
#[cfg(feature = "movie")]
mod encode;
#[cfg(not(feature = "movie"))]
mod refuse;

#[cfg(feature = "movie")]
pub use animation::Animation;
#[cfg(feature = "movie")]
pub use encode::Movie;
#[cfg(not(feature = "movie"))]
pub use refuse::{Animation, Movie};

use crate::ViewError;

/// Largest longer and shorter side of a movie that the encoder accepts, in pixels.
pub const MAX_MOVIE: [usize; 2] = [3840, 2160];

/// Smallest side of a movie in pixels: one H.264 macroblock.
pub const MIN_MOVIE: usize = 16;

/// Lowest and highest frame rate that players can be expected to play.
pub const MOVIE_FPS: [f64; 2] = [0.1, 240.0];

/// Rejects frame rates outside [`MOVIE_FPS`].
pub fn check_movie_rate(fps: f64) -> Result<(), ViewError> {
    if (MOVIE_FPS[0]..=MOVIE_FPS[1]).contains(&fps) {
        return Ok(());
    }
    Err(ViewError::Number { name: "fps", value: fps as f32, hint: " from 0.1 to 240" })
}

/// Rejects sizes that cannot be encoded.
#[cfg(feature = "movie")]
fn check_size(width: usize, height: usize) -> Result<(), ViewError> {
    let (short, long) = (width.min(height), width.max(height));
    if short < MIN_MOVIE || long > MAX_MOVIE[0] || short > MAX_MOVIE[1] {
        return Err(ViewError::MovieSize { width, height });
    }
    Ok(())
}

/// Rejects a picture that has not the size of the movie.
#[cfg(feature = "movie")]
fn check_frame(picture: &crate::Canvas, [width, height]: [usize; 2]) -> Result<(), ViewError> {
    if picture.width != width || picture.height != height || picture.pixels.len() != width * height {
        let (found_width, found_height) = (picture.width, picture.height);
        return Err(ViewError::MovieFrame { width, height, found_width, found_height });
    }
    Ok(())
}
