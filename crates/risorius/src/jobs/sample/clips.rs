//! Sample clips, on the slider names of ARKit, 30 frames per second.
//!
//! Speech is a row of visemes. Each is a pulse on some sliders; pulses overlap, as sounds in speech do. Lips
//! that close (m, b, p) take back what the jaw opens at that instant.

use super::{pulse, times};
use risorius_base::ease::ramp;
use risorius_rig::Clip;
use risorius_rig::classify::names::ARKIT;

/// Frames per second.
const FPS: usize = 30;

/// Slider values of a mouth that says a sound.
type Sound = &'static [(&'static str, f64)];

const AH: Sound = &[("jawOpen", 0.55), ("mouthLowerDownLeft", 0.3), ("mouthLowerDownRight", 0.3)];
const EE: Sound = &[
    ("jawOpen", 0.15),
    ("mouthStretchLeft", 0.45),
    ("mouthStretchRight", 0.45),
    ("mouthUpperUpLeft", 0.25),
    ("mouthUpperUpRight", 0.25),
    ("mouthLowerDownLeft", 0.3),
    ("mouthLowerDownRight", 0.3),
];
const OH: Sound = &[("jawOpen", 0.35), ("mouthFunnel", 0.65)];
const OO: Sound = &[("jawOpen", 0.12), ("mouthPucker", 0.75)];
const EH: Sound = &[
    ("jawOpen", 0.35),
    ("mouthUpperUpLeft", 0.2),
    ("mouthUpperUpRight", 0.2),
    ("mouthStretchLeft", 0.2),
    ("mouthStretchRight", 0.2),
];
const MM: Sound = &[("mouthPressLeft", 0.4), ("mouthPressRight", 0.4), ("mouthRollLower", 0.25)];
const FF: Sound =
    &[("mouthRollLower", 0.55), ("mouthUpperUpLeft", 0.25), ("mouthUpperUpRight", 0.25), ("jawOpen", 0.08)];

/// The sounds of the sentence: time, width in seconds, loudness.
const SENTENCE: [(f64, f64, f64, Sound); 13] = [
    (0.35, 0.07, 0.8, EH),
    (0.52, 0.06, 1.0, OH),
    (0.80, 0.045, 1.0, MM),
    (0.93, 0.07, 0.9, AH),
    (1.10, 0.06, 0.8, EE),
    (1.30, 0.05, 1.0, FF),
    (1.43, 0.07, 1.0, AH),
    (1.62, 0.06, 0.7, EE),
    (1.85, 0.045, 1.0, MM),
    (1.98, 0.08, 1.0, OO),
    (2.20, 0.07, 1.0, AH),
    (2.42, 0.06, 0.9, OH),
    (2.62, 0.05, 0.6, EE),
];

/// A sentence with blinks and raised brows, then a smile.
pub fn talk() -> Clip {
    let mut clip = Sliders::new(times(4, FPS));
    for (center, width, loudness, sound) in SENTENCE {
        for &(name, value) in sound {
            clip.add(name, |t| loudness * value * pulse(t, center, width));
        }
    }
    // The jaw stays a little open between sounds, and lips close over it for m, b and p.
    let closed = |t: f64| {
        let closures = SENTENCE.iter().filter(|s| s.3 == MM);
        closures.map(|&(center, width, ..)| pulse(t, center, 1.2 * width)).fold(0.0, f64::max)
    };
    clip.add("jawOpen", |t| 0.08 * ramp(t, 0.15, 0.4) * ramp(2.9 - t, 0.0, 0.3));
    clip.scale("jawOpen", |t| 1.0 - closed(t));
    for center in [0.62, 2.75] {
        clip.pair("eyeBlink", |t| pulse(t, center, 0.055));
    }
    clip.add("browInnerUp", |t| 0.5 * pulse(t, 0.95, 0.25) + 0.35 * pulse(t, 2.2, 0.2));
    clip.pair("browOuterUp", |t| 0.4 * pulse(t, 0.95, 0.25));
    let smile = |t: f64| ramp(t, 2.6, 3.1) * ramp(4.05 - t, 0.05, 0.5);
    clip.pair("mouthSmile", |t| 0.9 * smile(t));
    clip.pair("cheekSquint", |t| 0.6 * smile(t));
    clip.pair("eyeSquint", |t| 0.35 * smile(t));
    clip.pair("mouthDimple", |t| 0.2 * smile(t));
    clip.finish()
}

/// Six expressions, two seconds each.
pub fn expressions() -> Clip {
    let mut clip = Sliders::new(times(12, FPS));
    let held = |t: f64, nth: usize| {
        let start = 2.0 * nth as f64;
        ramp(t, start + 0.2, start + 0.6) * ramp(start + 1.8 - t, 0.0, 0.4)
    };
    let both: [(&str, usize, f64); 15] = [
        ("mouthSmile", 0, 1.0),
        ("cheekSquint", 0, 0.8),
        ("eyeSquint", 0, 0.4),
        ("mouthFrown", 1, 0.9),
        ("browDown", 1, 0.9),
        ("mouthStretch", 1, 0.2),
        ("browOuterUp", 2, 0.9),
        ("eyeWide", 2, 0.9),
        ("noseSneer", 3, 1.0),
        ("mouthUpperUp", 3, 0.5),
        ("browDown", 3, 0.6),
        ("eyeSquint", 3, 0.5),
        ("browDown", 4, 0.2),
        ("eyeSquint", 4, 0.2),
        ("mouthPress", 5, 0.5),
    ];
    for (name, nth, value) in both {
        clip.pair(name, |t| value * held(t, nth));
    }
    for (name, nth, value) in [
        ("browInnerUp", 2, 1.0),
        ("jawOpen", 2, 0.5),
        ("mouthPucker", 4, 1.0),
        ("cheekPuff", 5, 1.0),
        ("mouthShrugLower", 1, 0.4),
    ] {
        clip.add(name, |t| value * held(t, nth));
    }
    clip.finish()
}

/// Every slider of ARKit, half a second each.
pub fn range() -> Clip {
    let mut clip = Sliders::new(times(26, FPS));
    for (i, name) in ARKIT.into_iter().enumerate() {
        clip.add(name, |t| pulse(t, 0.25 + 0.5 * i as f64, 0.09));
    }
    clip.finish()
}

/// A clip in the making: a column per slider.
struct Sliders {
    times_secs: Vec<f64>,
    columns: Vec<(String, Vec<f64>)>,
}

impl Sliders {
    fn new(times_secs: Vec<f64>) -> Self {
        Self { times_secs, columns: Vec::new() }
    }

    fn column(&mut self, name: &str) -> &mut Vec<f64> {
        let at = self.columns.iter().position(|c| c.0 == name).unwrap_or_else(|| {
            self.columns.push((name.into(), vec![0.0; self.times_secs.len()]));
            self.columns.len() - 1
        });
        &mut self.columns[at].1
    }

    /// Adds values over time to a slider.
    fn add(&mut self, name: &str, value: impl Fn(f64) -> f64) {
        let times = self.times_secs.clone();
        self.column(name).iter_mut().zip(times).for_each(|(x, t)| *x += value(t));
    }

    /// Adds values over time to a slider of the left and of the right side.
    fn pair(&mut self, name: &str, value: impl Fn(f64) -> f64) {
        ["Left", "Right"].iter().for_each(|side| self.add(&format!("{name}{side}"), &value));
    }

    /// Multiplies a slider by values over time.
    fn scale(&mut self, name: &str, value: impl Fn(f64) -> f64) {
        let times = self.times_secs.clone();
        self.column(name).iter_mut().zip(times).for_each(|(x, t)| *x *= value(t));
    }

    /// The clip; sliders in the order of ARKit, values from 0 to 1, rounded to a thousandth.
    fn finish(mut self) -> Clip {
        let place = |name: &str| ARKIT.iter().position(|a| *a == name);
        self.columns.sort_by_key(|c| place(&c.0));
        let n_frames = self.times_secs.len();
        let value = |x: f64| ((x.clamp(0.0, 1.0) * 1000.0).round() / 1000.0) as f32;
        Clip {
            values: (0..n_frames).flat_map(|f| self.columns.iter().map(move |c| value(c.1[f]))).collect(),
            names: self.columns.iter().map(|c| c.0.clone()).collect(),
            times_secs: self.times_secs,
            ..Clip::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clips_have_sliders_of_arkit_start_at_rest_and_move_smoothly() {
        for (clip, n_frames, least) in [(talk(), 121, 15), (expressions(), 361, 20), (range(), 781, 52)] {
            assert_eq!(clip.times_secs.len(), n_frames);
            assert!(clip.names.len() >= least, "{:?}", clip.names);
            assert!(clip.names.iter().all(|n| ARKIT.contains(&n.as_str())), "{:?}", clip.names);
            assert!(clip.values.iter().all(|v| (0.0..=1.0).contains(v)));
            assert!(clip.frame(0).iter().all(|&v| v < 0.03), "{:?}", clip.frame(0));
            for (s, name) in clip.names.iter().enumerate() {
                let most = (0..n_frames).map(|f| clip.frame(f)[s]).fold(0.0, f32::max);
                assert!(most > 0.05, "{name} never moves");
                let jump = (1..n_frames)
                    .map(|f| (clip.frame(f)[s] - clip.frame(f - 1)[s]).abs())
                    .fold(0.0, f32::max);
                assert!(jump < 0.45, "{name} jumps by {jump} in a frame");
            }
        }
    }

    #[test]
    fn lips_close_while_talking() {
        let clip = talk();
        let jaw = clip.names.iter().position(|n| n == "jawOpen").unwrap();
        let at = |t: f64| clip.frame((t * 30.0).round() as usize)[jaw];
        assert!(at(0.8) < 0.05 && at(1.85) < 0.08, "{} {}", at(0.8), at(1.85));
        assert!(at(0.93) > 0.3 && at(2.2) > 0.4, "{} {}", at(0.93), at(2.2));
    }
}
