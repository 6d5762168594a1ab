//! A movie in one of the formats, chosen by the ending of its file.

use crate::error::Result;
use risorius_view::{Animation, Canvas, Movie};
use std::io::Write;

/// A movie being encoded.
pub(super) enum Film<W> {
    /// `.mp4`
    Movie(Box<Movie<W>>),
    /// `.webp`
    Animation(Animation<W>),
}

impl<W: Write> Film<W> {
    /// Starts a movie in the format of `extension`.
    pub(super) fn new(out: W, extension: &str, [width, height]: [usize; 2], fps: f64) -> Result<Self> {
        Ok(match extension {
            "webp" => Self::Animation(Animation::new(out, width, height, fps)?),
            _ => Self::Movie(Box::new(Movie::new(out, width, height, fps)?)),
        })
    }

    /// Adds a frame.
    pub(super) fn add(&mut self, picture: &Canvas) -> Result<()> {
        match self {
            Self::Movie(movie) => movie.add(picture)?,
            Self::Animation(animation) => animation.add(picture)?,
        }
        Ok(())
    }

    /// Writes the file.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Movie(movie) => movie.finish()?,
            Self::Animation(animation) => animation.finish()?,
        }
        Ok(())
    }
}
