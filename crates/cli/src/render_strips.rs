//! What `render` shows over time: a clip on the rig, takes of it, and which pictures are made of them.
//!
//! A strip is one performance. Several strips are shown at the same times, and each blends between its own
//! frames where it has none there; before its first and after its last frame it holds that one, which is
//! noted.

use crate::files::in_file;
use crate::pose::ClipArgs;
use crate::session::{Failure, Session};
use glam::{DQuat, DVec3};
use risorius_io::take_in::{RigTake, open_take_of};
use risorius_rig::clip::{MAX_FRAMES, mean_fps};
use risorius_rig::{Evaluator, HeadMotion, Rig};
use risorius_view::check_movie_rate;
use std::path::{Path, PathBuf};

/// Rate of point caches that count frames, where nothing tells another.
const USUAL_FPS: f64 = 30.0;

/// One performance on the rig.
pub struct Strip {
    /// Shown beside it.
    pub label: String,
    /// Motion of the head, which its frames are without.
    pub head: Option<HeadMotion>,
    frames: Frames,
}

enum Frames {
    /// Times, and slider values at each.
    Clip {
        times_secs: Vec<f64>,
        weights: Vec<f32>,
    },
    Take(Box<RigTake>),
}

/// Reads the clip and the takes that are given, the clip first, and names them by `labels` or by their files.
pub fn open(
    rig: &Rig,
    clip: Option<&Path>,
    takes: &[PathBuf],
    labels: Option<&str>,
    clip_args: &ClipArgs,
    session: &Session,
) -> Result<Vec<Strip>, Failure> {
    let mut strips: Vec<Strip> = Vec::new();
    if let Some(path) = clip {
        let clip = clip_args.open(path, session)?.clip;
        let (weights, _) = clip.bind(rig)?;
        let frames = Frames::Clip { times_secs: clip.times_secs, weights };
        strips.push(Strip { label: stem(path), head: clip.head, frames });
    }
    let fps = clip_args.fps.or_else(|| strips.first().map(Strip::fps)).unwrap_or(USUAL_FPS);
    let head = clip_args.head.as_ref().filter(|_| !takes.is_empty()).map(|h| clip_args.open_head(h, session));
    let head = head.transpose()?;
    for path in takes {
        let take = open_take_of(path, rig, fps, &session.progress()).map_err(in_file(path))?;
        let head = head.clone().or_else(|| take.head.clone());
        strips.push(Strip { label: stem(path), head, frames: Frames::Take(Box::new(take)) });
    }
    if let Some(labels) = labels {
        let labels: Vec<&str> = labels.split(',').map(str::trim).collect();
        if labels.len() != strips.len() {
            let counts = format!("{} labels for {} performances", labels.len(), strips.len());
            return Err(Failure::wrong_call(format!("{counts}; give one for each, the clip first")));
        }
        strips.iter_mut().zip(labels).for_each(|(s, l)| s.label = l.to_string());
    }
    Ok(strips)
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

impl Strip {
    /// Time of each frame in seconds.
    pub fn times_secs(&self) -> &[f64] {
        match &self.frames {
            Frames::Clip { times_secs, .. } => times_secs,
            Frames::Take(take) => take.times_secs(),
        }
    }

    /// Frames per second; a whole number where it is one but for rounding.
    pub fn fps(&self) -> f64 {
        let fps = mean_fps(self.times_secs());
        if (fps - fps.round()).abs() < 1e-3 * fps { fps.round() } else { fps }
    }

    fn frame(&self, evaluator: &Evaluator, frame: usize) -> Vec<[f32; 3]> {
        match &self.frames {
            Frames::Clip { times_secs, weights } => {
                let n = weights.len() / times_secs.len().max(1);
                evaluator.positions(&weights[n * frame..n * (frame + 1)])
            }
            Frames::Take(take) => take.frame(frame),
        }
    }

    /// Where the vertices are at `t_secs`, without the motion of the head.
    pub fn positions(&self, evaluator: &Evaluator, t_secs: f64) -> Vec<[f32; 3]> {
        let times = self.times_secs();
        let after = times.partition_point(|&t| t <= t_secs).min(times.len() - 1);
        let before = after.saturating_sub(1);
        let part = (t_secs - times[before]) / (times[after] - times[before]).max(1e-12);
        // Times of files are rounded: what is nearly a frame is that frame.
        if part < 0.01 {
            return self.frame(evaluator, before);
        }
        let next = self.frame(evaluator, after);
        if part > 0.99 {
            return next;
        }
        let blend =
            |(a, b): ([f32; 3], [f32; 3])| std::array::from_fn(|k| a[k] + part as f32 * (b[k] - a[k]));
        self.frame(evaluator, before).into_iter().zip(next).map(blend).collect()
    }

    /// Moves `positions` with the head, relative to where it is at the beginning.
    pub fn move_head(&self, rig: &Rig, t_secs: f64, positions: &mut [[f32; 3]]) {
        let Some(head) = &self.head else { return };
        let ((p0, q0), (p, q)) = (head.sample(self.times_secs()[0]), head.sample(t_secs));
        let si_from_file = rig.space.si_axes_from_file();
        let turn = DQuat::from_mat3(&si_from_file);
        let rotation = turn.inverse() * (q0.inverse() * q) * turn;
        let shift = si_from_file.transpose() * (q0.inverse() * (p - p0)) / rig.space.meters_per_unit;
        for position in positions {
            *position = (rotation * DVec3::from(position.map(f64::from)) + shift).as_vec3().into();
        }
    }
}

/// Times that are shown, and what is to be said of strips that do not reach over all of them.
pub struct Timeline {
    /// Seconds, ascending.
    pub times_secs: Vec<f64>,
    /// For people.
    pub notes: Vec<String>,
}

impl Timeline {
    /// Evenly spaced times over all `strips`, `fps` a second or as many as the longest strip has.
    pub fn even(strips: &[Strip], fps: Option<f64>) -> Result<(Self, f64), Failure> {
        let fps = fps.unwrap_or_else(|| longest(strips).fps());
        check_movie_rate(fps)?;
        let (first, last) = span(strips);
        let n_frames = ((last - first) * fps + 1e-3).floor() + 1.0;
        if n_frames > MAX_FRAMES as f64 {
            let length = format!("{n_frames:.0} frames ({:.0} s)", last - first);
            return Err(Failure::could_not(format!(
                "{length} are too many for a movie; are the times in seconds?"
            )));
        }
        let times_secs = (0..n_frames as usize).map(|i| first + i as f64 / fps).collect();
        Ok((Self { times_secs, notes: notes(strips) }, fps))
    }

    /// Times of these frames of the longest strip.
    pub fn frames(strips: &[Strip], frames: &[usize]) -> Self {
        let times = longest(strips).times_secs();
        Self { times_secs: frames.iter().map(|&f| times[f]).collect(), notes: notes(strips) }
    }
}

/// The strip that ends last; the first of several.
pub fn longest(strips: &[Strip]) -> &Strip {
    let end = |s: &Strip| s.times_secs()[s.times_secs().len() - 1];
    strips.iter().skip(1).fold(&strips[0], |best, s| if end(s) > end(best) + 1e-6 { s } else { best })
}

/// First and last time of any strip.
fn span(strips: &[Strip]) -> (f64, f64) {
    let ends = strips.iter().map(|s| (s.times_secs()[0], s.times_secs()[s.times_secs().len() - 1]));
    ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (a, b)| (lo.min(a), hi.max(b)))
}

fn notes(strips: &[Strip]) -> Vec<String> {
    let (first, last) = span(strips);
    let mut notes = Vec::new();
    for strip in strips {
        let (times, frame) = (strip.times_secs(), 1.0 / strip.fps());
        let (from, to) = (times[0], times[times.len() - 1]);
        if last - to > 0.5 * frame {
            notes.push(format!("'{}' ends {:.2} s early and holds its last frame", strip.label, last - to));
        }
        if from - first > 0.5 * frame {
            notes.push(format!(
                "'{}' begins {:.2} s late and holds its first frame",
                strip.label,
                from - first
            ));
        }
    }
    notes
}
