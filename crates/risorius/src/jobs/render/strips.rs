//! What pictures show over time: a clip on the rig, takes of it, and the times that are drawn.
//!
//! A strip is one performance. Several strips are shown at the same times. Each interpolates between its own
//! frames; before its first and after its last frame it holds that frame, with a note.

use super::RenderJob;
use super::follow::{CameraMotion, CameraPath};
use crate::error::{Error, Result, in_file};
use crate::files::stem;
use crate::source::{BoundContent, check_head};
use glam::DVec3;
use risorius_base::Progress;
use risorius_io::take_in::open_take_of;
use risorius_rig::clip::MAX_FRAMES;
use risorius_rig::frames::{PosedClip, frame_rate};
use risorius_rig::{Evaluator, FrameSource, HeadMotion, Rig};
use risorius_view::check_movie_rate;

/// Frames per second of point caches without times, unless a rate is given.
const USUAL_FPS: f64 = 30.0;

/// One performance on the rig.
pub(super) struct Strip {
    /// Label of its pictures.
    pub(super) label: String,
    /// Its frames.
    pub(super) frames: Box<dyn FrameSource>,
    /// Head motion that was given for it; otherwise that of the frames is used.
    head: Option<HeadMotion>,
}

/// Reads the clip and the takes of a job, the clip first, and names them by its labels or by their files.
pub(super) fn open(job: &RenderJob, rig: &Rig, progress: &Progress) -> Result<Vec<Strip>> {
    let mut strips: Vec<Strip> = Vec::new();
    if let Some(path) = &job.clip {
        let content = job.reading.open_for(path, rig, progress)?;
        if job.with_head {
            content.check_head()?;
        }
        let BoundContent { clip, moving, .. } = content;
        let moving: Vec<_> = moving.iter().map(|(part, track)| (*part, track)).collect();
        let frames = Box::new(PosedClip::new(Evaluator::prepare(rig), clip).with_motions(rig, &moving));
        strips.push(Strip { label: stem(path), head: None, frames });
    }
    let fps = job.reading.fps.or_else(|| strips.first().map(Strip::fps)).unwrap_or(USUAL_FPS);
    let head = job.reading.head.as_ref().filter(|_| !job.takes.is_empty());
    let head = head.map(|path| job.reading.open_head(path, progress)).transpose()?;
    if let Some(head) = head.as_ref().filter(|_| job.with_head) {
        check_head(&head.motion, head.unit)?;
    }
    let head = head.map(|head| head.motion);
    for path in &job.takes {
        let take = open_take_of(path, rig, fps, progress).map_err(in_file(path))?;
        strips.push(Strip {
            label: stem(path),
            head: head.clone(),
            frames: job.reading.cut(Box::new(take))?,
        });
    }
    if let Some(labels) = &job.labels {
        if labels.len() != strips.len() {
            let counts = format!("{} labels for {} performances", labels.len(), strips.len());
            return Err(Error::request(format!("{counts}; give one for each, the clip first")));
        }
        strips.iter_mut().zip(labels).for_each(|(s, l)| s.label.clone_from(l));
    }
    Ok(strips)
}

impl Strip {
    /// Time of each frame in seconds.
    pub(super) fn times_secs(&self) -> &[f64] {
        self.frames.times_secs()
    }

    fn fps(&self) -> f64 {
        frame_rate(&*self.frames)
    }

    /// Head motion, which is not part of the frames.
    pub(super) fn head(&self) -> Option<&HeadMotion> {
        self.head.as_ref().or_else(|| self.frames.head())
    }

    /// Moves `positions` with the head, as the camera sees it.
    pub(super) fn move_head(&self, camera: &CameraPath, rig: &Rig, t_secs: f64, positions: &mut [[f32; 3]]) {
        let Some(head) = self.head() else { return };
        let motion = camera.seen(rig, head, t_secs);
        for position in positions {
            *position = motion.apply(DVec3::from(position.map(f64::from))).as_vec3().into();
        }
    }

    /// First and last time, seconds.
    fn ends(&self) -> (f64, f64) {
        let times = self.times_secs();
        (times[0], times[times.len() - 1])
    }
}

/// The times that are shown, and notes about strips that do not cover all of them.
pub(super) struct Timeline {
    /// Seconds, ascending.
    pub(super) times_secs: Vec<f64>,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
}

impl Timeline {
    /// Evenly spaced times over all `strips`, at `fps` and at a `speed`; or the frames of the longest strip
    /// at its rate.
    pub(super) fn even(strips: &[Strip], fps: Option<f64>, speed: f64) -> Result<(Self, f64)> {
        let (first, last) = span(strips);
        let longest = longest(strips);
        let rate = fps.unwrap_or_else(|| longest.fps());
        check_movie_rate(rate)?;
        // Recorded times are rounded and rates are not whole: each frame is shown once all the same.
        let own = longest.times_secs();
        let is_on_time = |(i, t): (usize, &f64)| (first + i as f64 / rate - t).abs() < 0.5 / rate;
        if fps.is_none() && speed == 1.0 && own.len() <= MAX_FRAMES && own.iter().enumerate().all(is_on_time)
        {
            return Ok((Self { times_secs: own.to_vec(), notes: notes(strips) }, rate));
        }
        let per_sec = rate / speed;
        let n_frames = ((last - first) * per_sec).round() + 1.0;
        if n_frames > MAX_FRAMES as f64 {
            let length = format!("{n_frames:.0} frames ({:.0} s)", last - first);
            return Err(Error::failed(format!(
                "{length} are too many for a movie; are the times in seconds?"
            )));
        }
        let times_secs = (0..n_frames as usize).map(|i| first + i as f64 / per_sec).collect();
        Ok((Self { times_secs, notes: notes(strips) }, rate))
    }

    /// Times of these frames of the longest strip.
    pub(super) fn frames(strips: &[Strip], frames: &[usize]) -> Self {
        let times = longest(strips).times_secs();
        Self { times_secs: frames.iter().map(|&f| times[f]).collect(), notes: notes(strips) }
    }
}

/// The strip that ends last; the first of them if several do.
pub(super) fn longest(strips: &[Strip]) -> &Strip {
    let later = |s: &Strip, best: &Strip| s.ends().1 > best.ends().1 + 1e-6;
    strips.iter().skip(1).fold(&strips[0], |best, s| if later(s, best) { s } else { best })
}

/// The camera for the head motion of the first strip that has one; the others are seen by the same camera.
/// The middle of the face and half its size are in the coordinates of `rig`.
pub(super) fn camera_path(
    strips: &[Strip],
    rig: &Rig,
    (center, half): (DVec3, f64),
    motion: CameraMotion,
) -> Option<CameraPath> {
    let (strip, head) = strips.iter().find_map(|s| Some((s, s.head()?)))?;
    let face = (rig.space.si_from_file() * center, half * rig.space.meters_per_unit);
    Some(CameraPath::new(head, [strip.ends().0, span(strips).1], face, motion))
}

/// First and last time of any strip.
fn span(strips: &[Strip]) -> (f64, f64) {
    let ends = strips.iter().map(Strip::ends);
    ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (a, b)| (lo.min(a), hi.max(b)))
}

fn notes(strips: &[Strip]) -> Vec<String> {
    let (first, last) = span(strips);
    let mut notes = Vec::new();
    for strip in strips {
        let ((from, to), frame) = (strip.ends(), 1.0 / strip.fps());
        if last - to > 0.5 * frame {
            notes.push(format!("'{}' ends {:.2} s early and holds its last frame", strip.label, last - to));
        }
        if from - first > 0.5 * frame {
            notes.push(format!(
                "'{}' starts {:.2} s late and holds its first frame",
                strip.label,
                from - first
            ));
        }
    }
    notes
}
