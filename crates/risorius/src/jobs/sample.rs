//! Sample clips and head motions, made in code: something to try a rig with before there is a recording.
//!
//! Clips have the slider names of ARKit. Head motions are in meters and unit quaternions, as their header
//! says.

mod clips;
mod motions;

pub use clips::{expressions, range, talk};
pub use motions::{lively, nod, run, shake, stamp};

use super::shown;
use crate::error::{Error, Result};
use crate::files::expect_folder;
use risorius_io::formats::{clip_csv, head_csv};
use risorius_io::output::write_whole;
use risorius_rig::{Clip, HeadMotion};
use serde::Serialize;
use std::path::PathBuf;

/// What a sample contains.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Slider values over time.
    Clip(Clip),
    /// Head motion.
    Head(HeadMotion),
}

/// A sample.
pub struct Sample {
    /// Its name; the file is `NAME.csv`.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    make: fn() -> Content,
}

impl Sample {
    /// All samples: clips first, then head motions.
    pub const ALL: [Sample; 8] = [
        Sample {
            name: "talk",
            about: "clip, 4 s: a sentence, blinks, raised brows, a smile",
            make: || Content::Clip(talk()),
        },
        Sample {
            name: "expressions",
            about: "clip, 12 s: smile, frown, surprise, disgust, pucker, puffed cheeks",
            make: || Content::Clip(expressions()),
        },
        Sample {
            name: "range",
            about: "clip, 26 s: the 52 sliders of ARKit one by one",
            make: || Content::Clip(range()),
        },
        Sample {
            name: "lively",
            about: "head motion, 4 s: nods, shakes, a hop and a stamp of the foot",
            make: || Content::Head(lively()),
        },
        Sample { name: "nod", about: "head motion, 2 s: nodding", make: || Content::Head(nod()) },
        Sample {
            name: "shake",
            about: "head motion, 2 s: shaking the head",
            make: || Content::Head(shake()),
        },
        Sample {
            name: "stamp",
            about: "head motion, 2 s: stamps of a foot",
            make: || Content::Head(stamp()),
        },
        Sample { name: "run", about: "head motion, 4 s: running forward", make: || Content::Head(run()) },
    ];

    /// What is written by default.
    pub const USUAL: [&'static str; 2] = ["talk", "lively"];

    /// Makes the sample.
    pub fn content(&self) -> Content {
        (self.make)()
    }
}

/// Writes samples.
#[derive(Debug, Clone, Default)]
pub struct SampleJob {
    /// Names of samples; by default [`Sample::USUAL`].
    pub names: Vec<String>,
    /// Folder for the files; it is made if there is none.
    pub out: PathBuf,
}

/// The report of written samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleReport {
    /// The written files.
    pub files: Vec<WrittenSample>,
}

/// A written sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WrittenSample {
    /// Its name.
    pub name: &'static str,
    /// The file.
    pub output: String,
    /// What it shows.
    pub about: &'static str,
    /// Number of frames.
    pub frames: usize,
    /// Frames per second.
    pub fps: f64,
}

impl SampleJob {
    /// Runs the job.
    pub fn run(&self) -> Result<SampleReport> {
        expect_folder(&self.out)?;
        let names: Vec<&str> = match self.names.is_empty() {
            true => Sample::USUAL.to_vec(),
            false => self.names.iter().map(String::as_str).collect(),
        };
        let chosen: Vec<&Sample> = names.into_iter().map(find).collect::<Result<_>>()?;
        let mut files = Vec::new();
        for sample in chosen {
            let path = self.out.join(format!("{}.csv", sample.name));
            let (bytes, times_secs) = match sample.content() {
                Content::Clip(clip) => (clip_csv::write_csv(&clip), clip.times_secs),
                Content::Head(head) => (head_csv::write(&head), head.times_secs),
            };
            write_whole(&path, &bytes)?;
            files.push(WrittenSample {
                name: sample.name,
                output: shown(&path),
                about: sample.about,
                frames: times_secs.len(),
                fps: (times_secs.len() - 1) as f64 / times_secs[times_secs.len() - 1],
            });
        }
        Ok(SampleReport { files })
    }
}

fn find(name: &str) -> Result<&'static Sample> {
    static ALL: [Sample; 8] = Sample::ALL;
    ALL.iter().find(|s| s.name == name).ok_or_else(|| {
        let known = ALL.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
        Error::request(format!("there is no sample '{name}'; the samples are {known}"))
    })
}

/// `n` + 1 times, `n` of them a second.
fn times(secs: usize, fps: usize) -> Vec<f64> {
    (0..=secs * fps).map(|i| i as f64 / fps as f64).collect()
}

/// A smooth pulse of height 1 around `center`, with a standard deviation of `width` seconds.
fn pulse(t: f64, center: f64, width: f64) -> f64 {
    (-0.5 * ((t - center) / width).powi(2)).exp()
}
