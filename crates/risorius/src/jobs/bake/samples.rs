//! Simulates samples, keeps them beside the output, and reads those of other runs.
//!
//! Samples are kept in files of [`CHUNK`] in `OUTPUT.partial/`, each of the kind that farms exchange
//! ([`risorius_io::native::bake_part`]). A run reads its own files back before it fits, so that one run, a
//! resumed run and joined ranges see the same numbers.

use super::report::weights_text;
use super::{Setting, rows};
use crate::error::{Error, Result};
use risorius_base::Progress;
use risorius_io::IoError;
use risorius_io::native::bake_part::{self, SamplePart};
use risorius_io::native::take_folder::{SAMPLES, TakeFolder};
use risorius_perform::bake::plan::LEVELS;
use risorius_perform::bake::{BakeError, BakeKey, Ending, Field, SampleOutcome};
use risorius_perform::{BakePlan, PerformError, Settled, settle};
use risorius_rig::{Evaluator, Rig};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Samples in a file that is kept; at most so many are lost when a run is killed.
const CHUNK: usize = 64;

/// Differences from the artist's rig below this are taken for zero, meters: the accuracy of equilibria.
const LEAST: f64 = 1e-6;

/// If more than this share of the samples cannot be simulated, something is wrong with the face.
const MOST_FAILED: f64 = 0.1;

/// The folder of kept samples.
pub(super) fn folder_beside(output: &Path) -> PathBuf {
    TakeFolder::beside(output)
}

/// Samples that are kept while a run computes them.
pub(super) struct Store<'a> {
    folder: TakeFolder,
    key: BakeKey,
    plan: &'a BakePlan,
    n_sliders: usize,
    n_vertices: usize,
}

/// Computed samples.
pub(super) struct Computed {
    /// In ascending order, without gaps.
    pub parts: Vec<SamplePart>,
    /// How many were not there already.
    pub n_simulated: usize,
    /// Time of the simulation.
    pub seconds: f64,
    pub notes: Vec<String>,
}

impl<'a> Store<'a> {
    pub fn open(output: &Path, key: BakeKey, plan: &'a BakePlan, rig: &Rig) -> Result<Self> {
        let folder = TakeFolder::open(output)?;
        Ok(Self { folder, key, plan, n_sliders: rig.sliders.len(), n_vertices: rig.n_vertices() })
    }

    fn path(&self, range: &Range<usize>) -> PathBuf {
        self.folder.path().join(format!("{:07}-{:07}{SAMPLES}", range.start, range.end))
    }

    fn read(&self, range: &Range<usize>) -> std::result::Result<SamplePart, IoError> {
        bake_part::open(&self.path(range), self.n_sliders, self.n_vertices)
    }

    /// Simulates a range of samples, without those that an earlier run kept if it is resumed.
    pub fn compute(
        &self,
        setting: &Setting,
        range: &Range<usize>,
        resume: bool,
        progress: &Progress,
    ) -> Result<Computed> {
        let chunks: Vec<Range<usize>> = (range.start / CHUNK..range.end.div_ceil(CHUNK))
            .map(|c| (c * CHUNK).max(range.start)..((c + 1) * CHUNK).min(range.end))
            .collect();
        let mut notes = Vec::new();
        let mut is_kept = |chunk: &Range<usize>| match self.read(chunk) {
            Ok(part) => part.key == self.key && part.range == *chunk,
            Err(_) if !self.path(chunk).exists() => false,
            Err(error) => {
                notes.push(format!("kept samples were not used: {error}"));
                false
            }
        };
        let missing: Vec<Range<usize>> =
            chunks.iter().filter(|chunk| !(resume && is_kept(chunk))).cloned().collect();
        let start = Instant::now();
        self.simulate(setting, &missing, progress)?;
        let seconds = start.elapsed().as_secs_f64();
        let parts: Vec<SamplePart> =
            chunks.iter().map(|chunk| self.read(chunk)).collect::<std::result::Result<_, _>>()?;
        let n_simulated = missing.iter().map(Range::len).sum();
        Ok(Computed { parts, n_simulated, seconds, notes })
    }

    fn simulate(&self, setting: &Setting, missing: &[Range<usize>], progress: &Progress) -> Result<()> {
        if missing.is_empty() {
            return Ok(());
        }
        let (face, plan) = (&setting.face, self.plan);
        let weights = (0..plan.n_samples()).flat_map(|n| plan.weights(n, self.n_sliders)).collect();
        let clip = rows(face, weights);
        let evaluator = Evaluator::prepare(&face.rig);
        let least = (LEAST / face.rig.space.meters_per_unit) as f32;
        let mut failure: Option<IoError> = None;
        let mut sink = |range: Range<usize>, settled: Vec<Settled>| {
            let outcomes: Vec<SampleOutcome> = settled.iter().map(SampleOutcome::of).collect();
            let field = |(s, outcome): (&Settled, &SampleOutcome)| match &s.skin {
                Ok(skin) if outcome.ending != Ending::Failed => {
                    difference(&skin.vertices, &evaluator.positions(clip.frame(s.frame)), least)
                }
                _ => Default::default(),
            };
            let fields: Vec<(Vec<u32>, Vec<[f32; 3]>)> = settled.iter().zip(&outcomes).map(field).collect();
            let part = SamplePart::new(self.key, plan.clone(), range.clone(), &fields, outcomes);
            match bake_part::write(&[&part], &self.path(&range)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let performance = setting.performance(&clip);
        let ended = settle(face, &performance, &setting.options, missing, &mut sink, progress);
        let ended = ended.map_err(|error| match error {
            PerformError::Cancelled(cancelled) => BakeError::Cancelled(cancelled),
            error => BakeError::Perform(error),
        });
        match failure {
            Some(error) => Err(error.into()),
            None => ended.map_err(|error| {
                let kept = format!("finished samples are in {}", self.folder.path().display());
                Error::from(error)
                    .followed_by(&format!("{kept}; repeat the call with resuming to use them"))
                    .with_options(&["resume"])
            }),
        }
    }

    /// Removes the kept samples; a note if that fails.
    pub fn remove(self) -> Option<String> {
        let removed = self.folder.remove_all();
        removed.err().map(|e| format!("samples that are no longer needed could not be removed: {e}"))
    }
}

/// Vertices at which two poses differ by more than `least`, and the differences.
fn difference(simulated: &[[f32; 3]], artist: &[[f32; 3]], least: f32) -> (Vec<u32>, Vec<[f32; 3]>) {
    let both = (0u32..).zip(simulated.iter().zip(artist));
    both.filter_map(|(v, (p, a))| {
        let d: [f32; 3] = std::array::from_fn(|k| p[k] - a[k]);
        (d.iter().map(|x| x * x).sum::<f32>().sqrt() > least).then_some((v, d))
    })
    .unzip()
}

/// All samples of a plan, or those of a range.
pub(super) struct AllSamples {
    plan: BakePlan,
    /// Ascending, without gaps.
    parts: Vec<SamplePart>,
}

impl AllSamples {
    pub fn new(plan: BakePlan, parts: Vec<SamplePart>) -> Result<Self> {
        match parts.is_empty() {
            true => Err(Error::failed("there are no samples")),
            false => Ok(Self { plan, parts }),
        }
    }

    /// Reads the files of a farm; together they must be all samples of one plan on this face.
    pub fn join(paths: &[PathBuf], setting: &Setting) -> Result<Self> {
        let rig = &setting.face.rig;
        let mut parts: Vec<(&PathBuf, SamplePart)> = Vec::new();
        for path in paths {
            let part = bake_part::open(path, rig.sliders.len(), rig.n_vertices());
            let part = part.map_err(|e| match e {
                IoError::Os { .. } => Error::from(e),
                other => Error::from(other).in_file(path),
            })?;
            if part.key.face() != setting.fingerprint {
                let problem =
                    "these samples are of another face; give the face that they were simulated with";
                return Err(Error::failed(problem).in_file(path).with_options(&["join"]));
            }
            parts.push((path, part));
        }
        parts.sort_by_key(|(_, part)| (part.range.start, part.range.end));
        let Some((first_path, first)) = parts.first() else {
            return Err(Error::request("there are no samples to join").with_options(&["join"]));
        };
        for (path, part) in &parts {
            if let Some(what) = part.key.differs(&first.key) {
                let problem = format!("{what} differs from that of {}", first_path.display());
                let advice = "simulate both with the same request";
                let error = Error::failed(format!("{problem}; {advice}")).in_file(path);
                return Err(error.with_options(&["join"]));
            }
        }
        check_ranges(&parts, first.plan.n_samples())?;
        let plan = first.plan.clone();
        Self::new(plan, parts.into_iter().map(|(_, part)| part).collect())
    }

    pub fn plan(&self) -> &BakePlan {
        &self.plan
    }

    /// The numbers of the samples.
    pub fn range(&self) -> Range<usize> {
        self.parts[0].range.start..self.parts[self.parts.len() - 1].range.end
    }

    /// What came of a sample.
    pub fn outcome(&self, number: usize) -> &SampleOutcome {
        self.part(number).outcome(number)
    }

    /// Whether a sample was simulated.
    pub fn is_usable(&self, number: usize) -> bool {
        self.outcome(number).ending != Ending::Failed
    }

    /// Fails if the neutral or too many samples could not be simulated.
    pub fn check_enough(&self, rig: &Rig) -> Result<()> {
        let all = self.range();
        let failed: Vec<usize> = all.clone().filter(|&n| !self.is_usable(n)).collect();
        match failed.first() {
            Some(&number) if number == 0 || failed.len() as f64 > MOST_FAILED * all.len() as f64 => {
                let weights = weights_text(rig, &self.plan, number);
                let problem = self.outcome(number).problem.clone();
                let (failed, of) = (failed.len(), all.len());
                Err(BakeError::Samples { failed, of, number, weights, problem }.into())
            }
            _ => Ok(()),
        }
    }

    fn part(&self, number: usize) -> &SamplePart {
        &self.parts[self.parts.partition_point(|p| p.range.end <= number)]
    }

    /// Fails if the samples were not simulated in this setting.
    pub fn expect_same(&self, setting: &Setting) -> Result<()> {
        let Some(what) = setting.key(&self.plan).differs(&self.parts[0].key) else { return Ok(()) };
        let problem = format!("the samples were simulated otherwise: {what} differs");
        let advice = "repeat what was given for them, or leave out the clip";
        Err(Error::failed(format!("{problem}; {advice}")).with_options(&["clip", "join"]))
    }

    /// A sample by its number.
    pub fn field(&self, number: usize) -> Field<'_> {
        self.part(number).field(number)
    }

    /// Whether something acted on the flesh besides its shapes: the neutral is not the artist's.
    pub fn pushed(&self, setting: &Setting) -> bool {
        setting.pushed || !self.field(0).vertices.is_empty()
    }

    /// Writes the samples as one file.
    pub fn write(&self, path: &Path) -> Result<()> {
        Ok(bake_part::write(&self.parts.iter().collect::<Vec<_>>(), path)?)
    }
}

/// Fails if the parts, in ascending order, are not all samples once.
fn check_ranges(parts: &[(&PathBuf, SamplePart)], n_samples: usize) -> Result<()> {
    let mut missing = Vec::new();
    let mut end = 0;
    for (i, (path, part)) in parts.iter().enumerate() {
        if part.range.start < end {
            let other = parts[i - 1].0.display();
            let problem = format!("samples from {} on are also in {other}", part.range.start);
            let error = Error::failed(format!("{problem}; give each sample once")).in_file(path);
            return Err(error.with_options(&["join"]));
        }
        if part.range.start > end {
            missing.push(end..part.range.start);
        }
        end = part.range.end;
    }
    if end < n_samples {
        missing.push(end..n_samples);
    }
    if missing.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = missing.iter().map(|r| format!("{}..{}", r.start, r.end)).collect();
    let problem = format!("of {n_samples} samples, {} are missing", list.join(", "));
    Err(Error::failed(format!("{problem}; simulate them too")).with_options(&["join", "samples"]))
}

/// Levels of samples, for reports.
pub(super) fn levels() -> Vec<f32> {
    LEVELS.to_vec()
}
