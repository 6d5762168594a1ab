//! Samples of a bake: the differences from the artist's rig in a range of samples, as one safetensors file.
//!
//! Farms compute ranges on several machines, interrupted runs keep ranges that are done; both are these
//! files. A file contains the plan, a fingerprint of everything that samples depend on ([`BakeKey`]), and a
//! checksum. The same samples give the same bytes, however the range was computed. Files are mapped, and
//! everything in them is checked before it is used.

use crate::IoError;
use crate::native::container::{Archive, Writer};
use crate::output::WholeFile;
use risorius_base::array::SharedBytes;
use risorius_base::{Array, Fingerprint};
use risorius_perform::BakePlan;
use risorius_perform::bake::{BakeKey, Ending, Field, SampleOutcome};
use std::ops::Range;
use std::path::Path;

const FORMAT: &str = "risorius-bake-samples-2";

/// Consecutive samples.
#[derive(Debug, Clone)]
pub struct SamplePart {
    /// What they depend on.
    pub key: BakeKey,
    /// Their plan.
    pub plan: BakePlan,
    /// Their numbers.
    pub range: Range<usize>,
    /// What came of each.
    pub outcomes: Vec<SampleOutcome>,
    first: Vec<usize>,
    vertices: Array<u32>,
    offsets: Array<[f32; 3]>,
}

impl SamplePart {
    /// Of these fields: vertices and their displacements.
    pub fn new(
        key: BakeKey,
        plan: BakePlan,
        range: Range<usize>,
        fields: &[(Vec<u32>, Vec<[f32; 3]>)],
        outcomes: Vec<SampleOutcome>,
    ) -> Self {
        let mut first = vec![0];
        first.extend(fields.iter().scan(0, |end, (vertices, _)| {
            *end += vertices.len();
            Some(*end)
        }));
        let vertices = fields.iter().flat_map(|f| f.0.iter().copied()).collect();
        let offsets = fields.iter().flat_map(|f| f.1.iter().copied()).collect();
        Self { key, plan, range, outcomes, first, vertices, offsets }
    }

    /// A sample by its number, which is within the range.
    pub fn field(&self, number: usize) -> Field<'_> {
        let i = number - self.range.start;
        let span = self.first[i]..self.first[i + 1];
        Field { vertices: &self.vertices[span.clone()], offsets: &self.offsets[span] }
    }

    /// What came of a sample by its number, which is within the range.
    pub fn outcome(&self, number: usize) -> &SampleOutcome {
        &self.outcomes[number - self.range.start]
    }
}

/// Writes the samples of `parts`, which follow each other, as one file.
pub fn write(parts: &[&SamplePart], path: &Path) -> Result<(), IoError> {
    let [one, ..] = parts else { return Ok(()) };
    let range = one.range.start..parts[parts.len() - 1].range.end;
    let mut file = Writer::default();
    let key: Vec<String> = one.key.0.iter().map(Fingerprint::to_string).collect();
    file.text("format", FORMAT);
    file.json("key", &key)?;
    file.json("range", &[range.start, range.end])?;
    let outcomes = || parts.iter().flat_map(|p| &p.outcomes);
    let endings: Vec<u32> = outcomes().map(|o| o.ending as u32).collect();
    let depths: Vec<f32> = outcomes().map(|o| o.depth_mm).collect();
    let problems: Vec<&str> = outcomes().map(|o| o.problem.as_str()).filter(|p| !p.is_empty()).collect();
    let lengths = parts.iter().flat_map(|p| p.first.windows(2).map(|w| w[1] - w[0]));
    let fields = || parts.iter().map(|p| (&p.vertices[..], &p.offsets[..]));
    let notes = Notes { endings: &endings, depths: &depths, problems: &problems };
    let sum = checksum(&key, &range, &one.plan, &notes, fields());
    file.text("checksum", sum.to_string());
    file.first("first", lengths);
    file.array("sliders", &one.plan.sliders);
    file.array("pairs", &one.plan.pairs);
    file.array("endings", &endings);
    file.json("problems", &problems)?;
    file.array("depth_mm", &depths);
    file.lists("vertices", parts.iter().map(|p| &p.vertices[..]));
    file.lists("offsets", parts.iter().map(|p| &p.offsets[..]));
    let os = |source| IoError::Os { path: path.to_path_buf(), source };
    let mut out = WholeFile::create(path)?;
    file.write(&mut out, os)?;
    out.finish()
}

/// The outcomes of all samples.
struct Notes<'a> {
    endings: &'a [u32],
    depths: &'a [f32],
    /// Of those that failed.
    problems: &'a [&'a str],
}

/// Of everything, in the order of samples.
fn checksum<'a>(
    key: &[String],
    range: &Range<usize>,
    plan: &BakePlan,
    notes: &Notes,
    fields: impl Iterator<Item = (&'a [u32], &'a [[f32; 3]])> + Clone,
) -> Fingerprint {
    let mut print = key.iter().fold(Fingerprint::default(), |print, k| print.bytes(k.as_bytes()));
    print = print.bytes(&(range.start as u64).to_le_bytes()).bytes(&(range.end as u64).to_le_bytes());
    print = print.and(plan.fingerprint());
    print = print.bytes(bytemuck::cast_slice(notes.endings)).bytes(bytemuck::cast_slice(notes.depths));
    print = notes.problems.iter().fold(print, |print, p| print.bytes(p.as_bytes()).bytes(&[0]));
    print = fields.clone().fold(print, |print, (vertices, _)| print.bytes(bytemuck::cast_slice(vertices)));
    fields.fold(print, |print, (_, offsets)| print.bytes(bytemuck::cast_slice(offsets)))
}

/// Opens samples of a rig with these numbers of sliders and vertices.
pub fn open(path: &Path, n_sliders: usize, n_vertices: usize) -> Result<SamplePart, IoError> {
    read(super::face::map(path)?, n_sliders, n_vertices)
}

/// Reads samples from the bytes of a file.
pub fn read(bytes: SharedBytes, n_sliders: usize, n_vertices: usize) -> Result<SamplePart, IoError> {
    let wrong = |place: &str, problem: &str| {
        let advice = "simulate these samples again";
        IoError::malformed("samples of a bake", place, format!("{problem}; {advice}"))
    };
    let file =
        Archive::read(bytes).map_err(|_| wrong("file", "it holds no samples of a bake, or not all"))?;
    if file.text("format")? != FORMAT {
        return Err(wrong("file", "it holds no samples of a bake, or those of another version"));
    }
    let texts: Vec<String> = file.json("key")?;
    let prints: Option<Vec<Fingerprint>> = texts.iter().map(|k| Fingerprint::parse(k)).collect();
    let key = prints.and_then(|p| p.try_into().ok()).map(BakeKey);
    let key = key.ok_or_else(|| wrong("key", "it is damaged or of another version"))?;
    let plan = BakePlan {
        sliders: file.array::<u32>("sliders")?.to_vec(),
        pairs: file.array::<[u32; 2]>("pairs")?.to_vec(),
    };
    let [start, end]: [usize; 2] = file.json("range")?;
    if !plan.is_valid(n_sliders) {
        return Err(wrong("plan", "it does not fit the rig: was it made with another face?"));
    }
    if start >= end || end > plan.n_samples() {
        return Err(wrong("range", "it is none of the plan"));
    }
    let n = end - start;
    let first = file.first("first", n, "samples")?;
    let n_rows = first[n];
    let vertices = file.rows::<u32>("vertices", n_rows, "displacements")?;
    let offsets = file.rows::<[f32; 3]>("offsets", n_rows, "displacements")?;
    let endings = file.rows::<u32>("endings", n, "samples")?;
    let problems: Vec<String> = file.json("problems")?;
    let problems: Vec<&str> = problems.iter().map(String::as_str).collect();
    let depths = file.rows::<f32>("depth_mm", n, "samples")?;
    let fields = std::iter::once((&vertices[..], &offsets[..]));
    let notes = Notes { endings: &endings, depths: &depths, problems: &problems };
    let sum = checksum(&texts, &(start..end), &plan, &notes, fields);
    if Fingerprint::parse(file.text("checksum")?) != Some(sum) {
        return Err(wrong("checksum", "it does not match: the file is damaged"));
    }
    let ascends = |w: &[usize]| {
        let list = &vertices[w[0]..w[1]];
        list.is_sorted_by(|a, b| a < b) && list.last().is_none_or(|&v| (v as usize) < n_vertices)
    };
    if !first.windows(2).all(ascends) {
        return Err(wrong("vertices", "they do not fit the rig: was it made with another face?"));
    }
    if !offsets.iter().flatten().all(|x| x.is_finite()) {
        return Err(wrong("offsets", "some are not finite"));
    }
    let outcomes = outcomes(&notes).ok_or_else(|| wrong("endings", "they are none that samples have"))?;
    Ok(SamplePart { key, plan, range: start..end, outcomes, first, vertices, offsets })
}

/// Outcomes of samples; none if the notes are not those of samples.
fn outcomes(notes: &Notes) -> Option<Vec<SampleOutcome>> {
    let mut problems = notes.problems.iter();
    let both = notes.endings.iter().zip(notes.depths);
    let outcomes: Option<Vec<SampleOutcome>> = both
        .map(|(&ending, &depth_mm)| {
            let ending = *Ending::ALL.get(ending as usize)?;
            let problem = if ending == Ending::Failed { problems.next()?.to_string() } else { String::new() };
            Some(SampleOutcome { ending, depth_mm, problem })
        })
        .collect();
    outcomes.filter(|_| problems.next().is_none())
}
