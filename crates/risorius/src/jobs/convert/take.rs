//! Takes to takes: point caches, and glTF files with frames.
//!
//! A point cache has vertices only. With a rig it becomes a glTF or caches of single meshes. A glTF has its
//! own rig; another one can be given, whose file vertices and parts then count.

use super::{ConvertJob, ConvertReport};
use crate::error::{Error, Result, in_file};
use crate::files::{CACHES, FRAMES, expect_ending, extension, is_cache};
use crate::source::RigSource;
use crate::takes::{Frames, expect_room, take_writer};
use risorius_base::Progress;
use risorius_base::progress::tick;
use risorius_io::open::{open_clip, open_take};
use risorius_io::take_in::open_take_of;
use risorius_io::take_out::TakeHeader;
use risorius_rig::HeadMotion;

/// Frames per second of a PC2 take without a given rate.
const USUAL_FPS: f64 = 30.0;

impl ConvertJob {
    /// Whether a glTF is converted as frames, rather than as a rig: into a point cache, or as the take that
    /// it is.
    pub(super) fn is_take(&self, progress: &Progress) -> Result<bool> {
        let output = extension(&self.output);
        if self.output.is_dir() || !FRAMES.contains(&output.as_str()) || self.clip.is_some() {
            return Ok(false);
        }
        if CACHES.contains(&output.as_str()) || self.rig.is_some() {
            return Ok(true);
        }
        // A cut take must not keep the targets of all its frames.
        if self.reading.span.is_whole() {
            return Ok(false);
        }
        let input = &self.input.path;
        let clip = open_clip(input, &self.reading.options(), progress).map_err(in_file(input))?.clip;
        Ok(clip.names.iter().all(|name| name.strip_prefix("frame").is_some_and(is_number)))
    }

    /// Converts a take.
    pub(super) fn take(&self, progress: &Progress) -> Result<ConvertReport> {
        expect_ending(&self.output, &FRAMES, "a take")?;
        let notes = self.rate_notes()?;
        let is_gltf = !is_cache(&self.input.path);
        match &self.rig {
            Some(rig) => self.take_of(rig, notes, progress),
            None if is_gltf => self.take_of(&self.input, notes, progress),
            None if is_cache(&self.output) => self.cache_to_cache(notes),
            None => {
                let problem = "a point cache has no faces, so a glTF of it needs its rig";
                Err(Error::request(problem).in_file(&self.input.path).with_options(&["rig"]))
            }
        }
    }

    fn fps(&self) -> f64 {
        self.reading.fps.unwrap_or(USUAL_FPS)
    }

    fn rate_notes(&self) -> Result<Vec<String>> {
        match (extension(&self.input.path) == "pc2", self.reading.fps) {
            (true, None) => {
                Ok(vec!["PC2 stores no times: 30 fps are assumed; `fps` sets another rate".to_string()])
            }
            (false, Some(_)) => {
                let message = "a frame rate applies to .pc2 takes only; others have their own times";
                Err(Error::request(message).with_options(&["fps"]))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// A take on the vertices of its rig.
    fn take_of(&self, rig: &RigSource, mut notes: Vec<String>, progress: &Progress) -> Result<ConvertReport> {
        let rig = rig.open(progress)?.rig;
        let input = &self.input.path;
        let take = open_take_of(input, &rig, self.fps(), progress).map_err(in_file(input))?;
        let take = self.reading.cut(Box::new(take))?;
        let given = self.reading.head.as_ref();
        let given = given.map(|head| self.reading.open_head(head, progress)).transpose()?;
        let head: Option<&HeadMotion> = given.as_ref().map(|head| &head.motion).or(take.head());
        let (times_secs, outputs) = (take.times_secs(), [self.output.as_path()]);
        expect_room(&rig, times_secs, &outputs, &self.files)?;
        if head.is_some() && is_cache(&self.output) {
            notes.push("head motion is left out: a point cache cannot hold it; write .glb to keep it".into());
        }
        let frames = Frames { rig: &rig, times_secs, head, moving: &[], in_world: false, is_preview: false };
        notes.extend(frames.notes(&outputs, &self.files));
        let files = frames.write(&outputs, &self.files, |frame| {
            tick(progress, "writing frames", frame as f32 / times_secs.len() as f32)?;
            Ok(take.frame(frame))
        })?;
        Ok(ConvertReport {
            files,
            frames: Some(times_secs.len()),
            vertices: Some(rig.n_file_vertices()),
            notes,
            ..ConvertReport::default()
        })
    }

    /// A point cache as it is, in another format.
    fn cache_to_cache(&self, notes: Vec<String>) -> Result<ConvertReport> {
        let input = &self.input.path;
        let take = open_take(input, self.fps()).map_err(in_file(input))?;
        let kept = self.reading.span.frames(&take.times_secs)?;
        let header = TakeHeader {
            path: self.output.clone(),
            times_secs: take.times_secs[kept.clone()].to_vec(),
            n_vertices: take.n_vertices,
            triangles: Vec::new(),
        };
        let mut writer = take_writer(&self.output, header)?;
        kept.clone().try_for_each(|f| writer.frame(take.frame(f)))?;
        writer.finish()?.finish()?;
        let vertices = Some(take.n_vertices);
        Ok(ConvertReport { frames: Some(kept.len()), vertices, notes, ..ConvertReport::default() })
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
