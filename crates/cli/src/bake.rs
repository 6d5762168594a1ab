//! `bake`: corrective shapes for engines from simulated pairs of sliders.

use crate::arguments::{ClipArgs, Switch, files_text, mapping_text};
use crate::batch::memory;
use crate::outcome::{Failure, Printed, notes_text, some_of};
use crate::perform::MethodName;
use crate::perform_scene::{SceneArgs, parse_vector};
use crate::session::Session;
use clap::{Args, ValueEnum};
use risorius::jobs::bake::{
    BakeJob, BakeReport, BakedRig, Budget, ClipErrors, Corrective, FailedSample, Keep, PairChoice,
    SampleSummary, SampleWeights,
};
use std::ops::Range;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// The face (.face), made by `build` or `fit`.
    face: PathBuf,
    /// How flesh is simulated. With enrich, flesh at rest is the artist's unless --tilt, --wind or --scene
    /// act on it.
    #[arg(long, value_enum, default_value_t = MethodName::Volumetric)]
    method: MethodName,
    /// Only these sliders; * and ? stand for any text. Separate names by commas. Default: all that move
    /// flesh.
    #[arg(long, value_delimiter = ',')]
    shapes: Vec<String>,
    /// Which pairs are simulated.
    #[arg(long, value_enum, default_value_t = Pairs::Auto)]
    pairs: Pairs,
    /// What of the artist's rig stays as it is. Default: shapes; nothing where forces act, because they
    /// change all.
    #[arg(long, value_enum)]
    keep: Option<Kept>,
    /// In-betweens for sliders whose way is not straight, such as jaws; only with --keep shapes.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    inbetweens: Switch,
    /// Leave out correctives that move no vertex farther than this, mm, 0 or more.
    #[arg(long, value_name = "MM", default_value_t = 0.1, allow_negative_numbers = true)]
    visible: f64,
    /// Keep the best correctives only: a number of shapes, or megabytes of their positions, such as 5MB.
    #[arg(long, value_name = "N|MB", allow_hyphen_values = true)]
    budget: Option<String>,
    #[command(flatten)]
    acting: SceneArgs,
    /// Rotation of the head, a rotation vector in degrees about X (the character's left), Y (up), Z (front):
    /// 0,0,90 lies on a side, -90,0,0 on the back.
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    tilt: Option<String>,
    /// Gravity, m/s^2. Only tilting the head has an effect.
    #[arg(long, default_value_t = 9.81, allow_negative_numbers = true)]
    gravity: f64,
    /// Of --method volumetric: share of the stiffness that draws flesh to the blend of shapes with its
    /// orientation, 0 to 1; default 0.5.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    active: Option<f64>,
    /// Write the list of samples to this file (.json), for a farm. Without -o, nothing is simulated.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Simulate only these samples of the plan, from I up to but not including J, into a file (.samples).
    #[arg(long, value_name = "I..J", allow_hyphen_values = true)]
    samples: Option<String>,
    /// Make the rig from files of samples (.samples), which together are all of the plan.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "samples")]
    join: Vec<PathBuf>,
    /// Use the samples that an interrupted run of the same request kept in OUTPUT.partial.
    #[arg(long)]
    resume: bool,
    /// Normals of shapes in the rig.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    normals: Switch,
    /// Write the strengths of all shapes as formulas for engines (.json).
    #[arg(long, value_name = "FILE")]
    formulas: Option<PathBuf>,
    /// Write drivers of shape keys for Blender (.json). See docs/baking.md.
    #[arg(long, value_name = "FILE")]
    drivers: Option<PathBuf>,
    /// Compare the artist's rig and the baked one with the simulation over this clip.
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// Draw the strongest correctives, and the errors over --clip, into this folder.
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// Also write the JSON report to this file (.json).
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Output: the rig (.glb, .gltf), or with --samples a file of samples (.samples).
    #[arg(long, short, required_unless_present = "plan")]
    output: Option<PathBuf>,
}

/// See [`PairChoice`].
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Pairs {
    /// Those that can need a correction: shapes that move something in common, and are neither multiples nor
    /// opposite.
    Auto,
    /// All of them.
    All,
}

/// See [`Keep`].
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// The neutral and all shapes: correctives are added.
    Shapes,
    /// The neutral: shapes of sliders are fitted too.
    Neutral,
    /// Neither.
    Nothing,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let report = job(arguments)?.run(&session.progress())?;
    let text = text(&report);
    Ok(Printed::new(report, text))
}

fn job(arguments: &Arguments) -> Result<BakeJob, Failure> {
    let tilt =
        arguments.tilt.as_deref().map(|text| parse_vector("--tilt", text, "degrees about X,Y,Z: 0,0,90"));
    Ok(BakeJob {
        face: arguments.face.clone(),
        output: arguments.output.clone().unwrap_or_default(),
        method: arguments.method.into(),
        shapes: arguments.shapes.clone(),
        pairs: match arguments.pairs {
            Pairs::Auto => PairChoice::Auto,
            Pairs::All => PairChoice::All,
        },
        keep: arguments.keep.map(|keep| match keep {
            Kept::Shapes => Keep::Shapes,
            Kept::Neutral => Keep::Neutral,
            Kept::Nothing => Keep::Nothing,
        }),
        inbetweens: arguments.inbetweens == Switch::On,
        visible_mm: arguments.visible,
        budget: arguments.budget.as_deref().map_or(Ok(Budget::All), parse_budget)?,
        scene: arguments.acting.scene()?,
        tilt_degrees: tilt.transpose()?.unwrap_or_default(),
        contact: arguments.acting.contact(),
        adhesion: arguments.acting.adhesion,
        gravity: arguments.gravity,
        active: arguments.active,
        samples: arguments.samples.as_deref().map(parse_range).transpose()?,
        join: arguments.join.clone(),
        plan: arguments.plan.clone(),
        resume: arguments.resume,
        normals: arguments.normals == Switch::On,
        formulas: arguments.formulas.clone(),
        drivers: arguments.drivers.clone(),
        clip: arguments.clip.clone(),
        reading: arguments.clip_args.reading(),
        pictures: arguments.pictures.clone(),
        report: arguments.report.clone(),
    })
}

/// `200`, or `5MB`.
fn parse_budget(text: &str) -> Result<Budget, Failure> {
    let lower = text.trim().to_lowercase();
    let budget = match lower.strip_suffix("mb") {
        Some(number) => {
            let bytes = number.trim().parse::<f64>().ok().filter(|mb| *mb >= 0.0 && *mb < 1e6);
            bytes.map(|mb| Budget::Bytes((mb * 1e6) as usize))
        }
        None => lower.parse().ok().map(Budget::Shapes),
    };
    budget.ok_or_else(|| {
        let advice = "give a number of shapes, such as 200, or megabytes, such as 5MB";
        Failure::wrong_call(format!("--budget '{text}' is no budget; {advice}"))
    })
}

/// `I..J`.
fn parse_range(text: &str) -> Result<Range<usize>, Failure> {
    let ends =
        text.split_once("..").and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    match ends {
        Some((start, end)) if start < end => Ok(start..end),
        _ => {
            let advice = "give I..J, such as 0..500: the first sample, and the one after the last";
            Err(Failure::wrong_call(format!("--samples '{text}' is no range; {advice}")))
        }
    }
}

fn text(report: &BakeReport) -> String {
    let output = report.output.as_deref().unwrap_or("a plan only");
    let mut text = format!("{output}: in {:.1} s{}\n", report.seconds, memory(report.peak_mb));
    text +=
        &format!("  {} sliders, {} pairs, {} samples\n", report.sliders.len(), report.pairs, report.planned);
    if let Some(skipped) = &report.skipped {
        text += &format!(
            "  pairs left out: {} move nothing in common, {} are multiples, {} are opposite\n",
            skipped.apart, skipped.twins, skipped.opposite
        );
    }
    text += &report.samples.as_ref().map(samples_text).unwrap_or_default();
    text += &report.rig.as_ref().map(rig_text).unwrap_or_default();
    text += &files_text(&report.files);
    text + &notes_text(&report.notes)
}

fn samples_text(samples: &SampleSummary) -> String {
    let [start, end] = samples.range;
    let each = 1000.0 * samples.seconds / samples.simulated.max(1) as f64;
    let simulated = match samples.simulated {
        0 => "all were there".to_string(),
        n if n == end - start => format!("{each:.0} ms each"),
        n => format!("{n} simulated, {each:.0} ms each; {} were there", end - start - n),
    };
    let mut text = format!(
        "  samples {start}..{end}: {simulated}; {} settled at the second attempt; at most {:.2} mm deep in contact\n",
        samples.retried, samples.depth_mm
    );
    if !samples.unsettled.is_empty() {
        let list: Vec<String> = samples.unsettled.iter().map(sample_text).collect();
        text += &format!("  {} samples did not settle wholly: {}\n", list.len(), some_of(&list));
    }
    if !samples.failed.is_empty() {
        let one = |f: &FailedSample| format!("{}: {}", sample_text(&f.weights), f.problem);
        let list: Vec<String> = samples.failed.iter().map(one).collect();
        text += &format!("  {} samples failed and are left out: {}\n", list.len(), some_of(&list));
    }
    text
}

/// `12 (jawOpen=0.5)`.
fn sample_text(sample: &SampleWeights) -> String {
    let values: Vec<String> = sample.weights.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{} ({})", sample.sample, if values.is_empty() { "neutral".into() } else { values.join(", ") })
}

fn rig_text(rig: &BakedRig) -> String {
    let n_halves = rig.correctives.iter().filter(|c| c.sliders.len() == 1).count();
    let mut text = format!(
        "  {} in-betweens and {} combinations, {:.1} MB; {} candidates are not visible, {} beyond the budget\n",
        n_halves,
        rig.correctives.len() - n_halves,
        rig.bytes as f64 / 1e6,
        rig.invisible,
        rig.over_budget
    );
    let [before, after] = [rig.before_mm, rig.after_mm];
    text += &format!(
        "  over the samples, {} vertices: mean {:.3} -> {:.3} mm, largest {:.2} -> {:.2} mm\n",
        rig.vertices, before[0], after[0], before[1], after[1]
    );
    let shown = |c: &Corrective| format!("  {:5.2} mm  {} ({} vertices)\n", c.most_mm, c.shape, c.vertices);
    text += &rig.correctives.iter().take(8).map(shown).collect::<String>();
    text + &rig.clip.as_ref().map(clip_text).unwrap_or_default()
}

fn clip_text(clip: &ClipErrors) -> String {
    let (linear, baked) = (&clip.linear_all, &clip.baked_all);
    let mut text = format!(
        "  over the clip, {} frames: mean {:.3} -> {:.3} mm, 95 % {:.3} -> {:.3} mm, largest {:.2} -> {:.2} mm\n",
        clip.times_secs.len(),
        linear.mean_mm,
        baked.mean_mm,
        linear.p95_mm,
        baked.p95_mm,
        linear.max_mm,
        baked.max_mm
    );
    text += &mapping_text(&clip.mapping);
    if !clip.failed_frames.is_empty() {
        text += &format!("  {} frames of the clip could not be simulated\n", clip.failed_frames.len());
    }
    if !clip.not_baked.is_empty() {
        text +=
            &format!("sliders that the clip moves and that are not baked: {}\n", some_of(&clip.not_baked));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_and_ranges_are_read() {
        assert_eq!(parse_budget("200").unwrap(), Budget::Shapes(200));
        assert_eq!(parse_budget(" 1.5 MB").unwrap(), Budget::Bytes(1_500_000));
        for wrong in ["", "-3", "MB", "2GB", "NaNMB", "1e300MB"] {
            assert!(parse_budget(wrong).unwrap_err().message.contains("5MB"), "{wrong}");
        }
        assert_eq!(parse_range("0..500").unwrap(), 0..500);
        for wrong in ["5", "5..5", "7..3", "-1..3", "a..b", "0..=4"] {
            assert!(parse_range(wrong).unwrap_err().message.contains("0..500"), "{wrong}");
        }
    }
}
