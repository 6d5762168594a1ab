//! What stands for movies in builds without the feature `movie`: every use is refused.

use crate::ViewError;
use crate::canvas::Canvas;
use std::io::Write;
use std::marker::PhantomData;

/// A movie that cannot be encoded in this build.
pub struct Movie<W> {
    out: PhantomData<W>,
}

/// An animated picture that cannot be encoded in this build.
pub type Animation<W> = Movie<W>;

impl<W: Write> Movie<W> {
    /// Refuses.
    pub fn new(_out: W, _width: usize, _height: usize, _fps: f64) -> Result<Self, ViewError> {
        Err(ViewError::Movie("this build has no encoder; build with the feature `movie`".into()))
    }

    /// Never reached.
    pub fn add(&mut self, _picture: &Canvas) -> Result<(), ViewError> {
        Ok(())
    }

    /// Never reached.
    pub fn n_frames(&self) -> usize {
        0
    }

    /// Never reached.
    pub fn finish(self) -> Result<(), ViewError> {
        Ok(())
    }
}
