//! Clips as JSON, in two forms.
//!
//! - Rows: `{"fps": 30, "names": ["jawOpen"], "frames": [[0.2], [0.3]]}`, with `"times"` (seconds) instead of
//!   or in addition to `"fps"`; `times` takes precedence.
//! - Named: `{"frames": [{"time": 0.0, "weights": {"jawOpen": 0.2}}]}`. A name that a frame leaves out is 0
//!   there.
//!
//! [`write()`] gives the first form with times, and the head and the eyes if the clip has them; [`read`]
//! restores it exactly. Other keys are ignored. The table of the second form may not be more than 64 times
//! larger than the file.

use crate::IoError;
use crate::error::check_count;
use crate::formats::clip_csv::{ClipContent, detect_fps};
use crate::specs::weights::{NamedWeights, json_error, shortest};
use risorius_rig::clip::ClipError;
use risorius_rig::{Clip, HeadMotion};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::json;
use std::collections::{HashMap, HashSet};

const FORMAT: &str = "clip JSON";

#[derive(Deserialize)]
struct File {
    fps: Option<f64>,
    names: Option<Vec<String>>,
    times: Option<Vec<f64>>,
    frames: Vec<Frame>,
    head: Option<Head>,
    eye_angles: Option<Vec<[[f32; 3]; 2]>>,
}

#[derive(Deserialize)]
struct Head {
    times: Vec<f64>,
    positions_m: Vec<[f64; 3]>,
    rotations_xyzw: Vec<[f64; 4]>,
}

#[derive(Deserialize)]
struct NamedFrame {
    #[serde(alias = "time_s", alias = "t")]
    time: f64,
    weights: NamedWeights,
}

/// A row of values or a time with named values, distinguished by their brackets.
enum Frame {
    Row(Vec<f32>),
    Named(NamedFrame),
}

impl<'de> Deserialize<'de> for Frame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FrameVisitor)
    }
}

struct FrameVisitor;

impl<'de> Visitor<'de> for FrameVisitor {
    type Value = Frame;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a list of values or an object with time and weights")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Frame, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Frame::Row)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Frame, A::Error> {
        NamedFrame::deserialize(MapAccessDeserializer::new(map)).map(Frame::Named)
    }
}

/// Reads a clip. `fps` is used when the file has neither times nor a rate.
pub fn read(bytes: &[u8], fps: Option<f64>) -> Result<ClipContent, IoError> {
    let bytes = crate::formats::text::without_bom(bytes);
    let file: File = serde_json::from_slice(bytes).map_err(|e| json_error(FORMAT, &e))?;
    let mut content = ClipContent::default();
    let named = file.names.is_none();
    content.clip = if named {
        named_clip(file.frames, bytes.len(), &mut content.notes)?
    } else {
        row_clip(file.names.unwrap_or_default(), file.times, file.fps.or(fps), file.frames)?
    };
    let n_frames = content.clip.n_frames();
    content.clip.head = file.head.map(checked_head).transpose()?;
    if let Some(eyes) = file.eye_angles.as_ref().filter(|eyes| eyes.len() != n_frames) {
        let problem = format!("there are {} entries for {n_frames} frames", eyes.len());
        return Err(IoError::malformed(FORMAT, "eye_angles", problem));
    }
    if let Some(frame) =
        file.eye_angles.iter().flatten().position(|e| !e.as_flattened().iter().all(|x| x.is_finite()))
    {
        return Err(IoError::malformed(FORMAT, format!("eye_angles[{frame}]"), "the angles are not finite"));
    }
    content.clip.eye_angles = file.eye_angles;
    content.clip.check()?;
    content.fps = detect_fps(&content.clip.times_secs);
    Ok(content)
}

fn checked_head(head: Head) -> Result<HeadMotion, IoError> {
    let n = head.times.len();
    if head.positions_m.len() != n || head.rotations_xyzw.len() != n {
        let (p, q) = (head.positions_m.len(), head.rotations_xyzw.len());
        let problem = format!("there are {n} times, {p} positions and {q} rotations; give as many of each");
        return Err(IoError::malformed(FORMAT, "head", problem));
    }
    Ok(HeadMotion {
        times_secs: head.times,
        positions_m: head.positions_m,
        rotations_xyzw: head.rotations_xyzw,
    })
}

fn row_clip(
    names: Vec<String>,
    times: Option<Vec<f64>>,
    fps: Option<f64>,
    frames: Vec<Frame>,
) -> Result<Clip, IoError> {
    let n_frames = frames.len();
    let times_secs = match (times, fps) {
        (Some(times), _) if times.len() == n_frames => times,
        (Some(times), _) => {
            let problem = format!("there are {} times for {n_frames} frames", times.len());
            return Err(IoError::malformed(FORMAT, "times", problem));
        }
        (None, Some(fps)) if fps > 0.0 && fps <= 100_000.0 => (0..n_frames).map(|i| i as f64 / fps).collect(),
        (None, Some(fps)) => return Err(ClipError::BadRate { fps }.into()),
        (None, None) => {
            return Err(IoError::malformed(FORMAT, "fps", "there is neither 'fps' nor 'times'; add one"));
        }
    };
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().position(|name| !seen.insert(name)) {
        return Err(IoError::malformed(
            FORMAT,
            format!("names[{twice}]"),
            format!("'{}' appears twice; keep one", names[twice]),
        ));
    }
    let mut values = Vec::new();
    for (i, frame) in frames.into_iter().enumerate() {
        match frame {
            Frame::Row(row) if row.len() == names.len() => values.extend(row),
            Frame::Row(row) => {
                let problem = format!("it has {} values for {} names", row.len(), names.len());
                return Err(IoError::malformed(FORMAT, format!("frames[{i}]"), problem));
            }
            Frame::Named(_) => {
                let problem = "it is an object; with 'names' given, frames are lists of values";
                return Err(IoError::malformed(FORMAT, format!("frames[{i}]"), problem));
            }
        }
    }
    Ok(Clip { names, times_secs, values, ..Clip::default() })
}

fn named_clip(frames: Vec<Frame>, n_bytes: usize, notes: &mut Vec<String>) -> Result<Clip, IoError> {
    let mut index_of: HashMap<String, usize> = HashMap::new();
    let mut clip = Clip::default();
    let mut sparse: Vec<Vec<(usize, f32)>> = Vec::with_capacity(frames.len());
    for (i, frame) in frames.into_iter().enumerate() {
        let Frame::Named(frame) = frame else {
            let problem =
                "it is a list of values; add 'names' for them, or give objects with time and weights";
            return Err(IoError::malformed(FORMAT, format!("frames[{i}]"), problem));
        };
        clip.times_secs.push(frame.time);
        let mut row = Vec::with_capacity(frame.weights.0.len());
        for (name, value) in frame.weights.0 {
            let index = *index_of.entry(name).or_insert_with_key(|name| {
                clip.names.push(name.clone());
                clip.names.len() - 1
            });
            row.push((index, value));
        }
        sparse.push(row);
    }
    let n_cells = sparse.len() as u64 * clip.names.len() as u64;
    check_count(FORMAT, "frames times names", n_cells, 64 * n_bytes as u64)?;
    clip.values = vec![0.0; n_cells as usize];
    let n_given: usize = sparse.iter().map(Vec::len).sum();
    for (frame, row) in sparse.into_iter().enumerate() {
        for (index, value) in row {
            clip.values[frame * clip.names.len() + index] = value;
        }
    }
    if (n_given as u64) < n_cells {
        notes.push(format!("{} values that frames leave out are taken as 0", n_cells - n_given as u64));
    }
    Ok(clip)
}

/// The clip as JSON that [`read`] restores exactly.
pub fn write(clip: &Clip) -> Vec<u8> {
    let frames: Vec<Vec<serde_json::Value>> =
        (0..clip.n_frames()).map(|f| clip.frame(f).iter().map(|&v| shortest(v)).collect()).collect();
    let mut file = json!({ "names": clip.names, "times": clip.times_secs, "frames": frames });
    if let Some(head) = &clip.head {
        file["head"] = json!({
            "times": head.times_secs, "positions_m": head.positions_m, "rotations_xyzw": head.rotations_xyzw,
        });
    }
    if let Some(eyes) = &clip.eye_angles {
        let short: Vec<_> = eyes.iter().map(|e| e.map(|angles| angles.map(shortest))).collect();
        file["eye_angles"] = json!(short);
    }
    // Serializing plain numbers and text cannot fail.
    serde_json::to_vec(&file).unwrap_or_default()
}
