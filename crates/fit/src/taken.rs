//! A scan taken in: cleaned, with its landmarks on the template, given or found.
//!
//! Given landmarks are checked against the template: landmarks of a mirrored scan fit a mirror image of the
//! face, which no rotation makes of it. Landmarks that contradict each other are set aside, and found anew.

use crate::FitError;
use crate::actor::Scan;
use crate::clean::{Cleaned, clean, unusable};
use crate::find::{FindOptions, Finder};
use crate::neutral::place;
use crate::subspace::Mark;
use crate::target::Target;
use crate::template::Template;
use glam::DVec3;
use risorius_anatomy::Note;
use risorius_base::Progress;
use risorius_mesh::{FileMesh, TriMesh};

/// Least number of landmarks that place a scan.
const FEWEST_MARKS: usize = 6;

/// Found landmarks with less confidence are not used.
const SURE: f64 = 0.25;

/// Median distance of landmarks from the template, in meters, above which they do not mean this face.
const APART: f64 = 0.014;

/// A scan that was cleaned, with its landmarks on the template.
pub(crate) struct Taken {
    pub name: String,
    pub target: Target,
    pub cleaned: Cleaned,
    pub marks: Vec<Mark>,
    /// The landmarks were found on the geometry.
    pub found: bool,
}

impl Taken {
    /// Cleans a scan and takes or finds its landmarks.
    pub fn new(
        template: &Template,
        scan: Scan,
        finder: &Finder,
        notes: &mut Vec<Note>,
        progress: &Progress,
    ) -> Result<Self, FitError> {
        let Scan { name, mesh, landmarks, .. } = scan;
        let (mesh, cleaned) = clean(mesh, &name)?;
        note_cleaned(&name, &cleaned, notes);
        let mut marks = template.marks(&landmarks);
        if marks.len() >= FEWEST_MARKS {
            check_mirror(template, &marks, &name)?;
            let off = median_off(template, &marks, false) * 1e3;
            if off > APART * 1e3 {
                let what = format!(
                    "the landmarks of '{name}' do not fit a face: half of them are {off:.0} mm off or more; \
                     they are found anew"
                );
                notes.push(Note::new(what, "correct them, or leave them out"));
                marks.clear();
            }
        }
        let found = marks.len() < FEWEST_MARKS;
        if found {
            marks = find_marks(template, &mesh, finder, &name, notes, progress)?;
        }
        Ok(Self { name, target: Target::new(mesh), cleaned, marks, found })
    }
}

/// Landmarks found on the geometry alone, weighted by their confidence.
fn find_marks(
    template: &Template,
    mesh: &TriMesh,
    finder: &Finder,
    name: &str,
    notes: &mut Vec<Note>,
    progress: &Progress,
) -> Result<Vec<Mark>, FitError> {
    let flat = FileMesh { positions: mesh.positions_f32(), triangles: mesh.triangles.clone() };
    let found = match finder.find(&flat, &FindOptions::default(), progress) {
        Ok(found) => found,
        Err(FitError::Cancelled(cancelled)) => return Err(cancelled.into()),
        Err(error) => return Err(unusable(name, error.to_string(), &["landmarks"])),
    };
    for note in &found.notes {
        notes.push(Note::new(format!("scan '{name}': {note}"), "give landmarks if the fit is wrong"));
    }
    let mut marks = Vec::new();
    for (i, landmark) in found.landmarks.iter().enumerate().filter(|(_, l)| l.confidence > SURE) {
        let mut places = vec![None; i + 1];
        places[i] = Some(landmark.position);
        let own = template.marks(&places);
        marks.extend(own.into_iter().map(|m| Mark { weight: m.weight * landmark.confidence, ..m }));
    }
    if marks.len() < FEWEST_MARKS {
        let problem = format!("{} landmarks were found, {FEWEST_MARKS} are needed; give some", marks.len());
        return Err(unusable(name, problem, &["landmarks"]));
    }
    Ok(marks)
}

/// Refuses a scan whose landmarks fit the mirror image of a face.
fn check_mirror(template: &Template, marks: &[Mark], name: &str) -> Result<(), FitError> {
    let (plain, mirrored) = (median_off(template, marks, false), median_off(template, marks, true));
    if plain > 0.006 && mirrored < 0.6 * plain {
        let problem = format!(
            "it is mirrored: its landmarks fit a mirror image of a face ({:.1} mm off instead of {:.1} mm); \
             mirror the scan, or put its landmarks right if left and right are exchanged",
            mirrored * 1e3,
            plain * 1e3
        );
        return Err(unusable(name, problem, &["landmarks"]));
    }
    Ok(())
}

/// The median distance of the landmarks from the placed template, meters.
fn median_off(template: &Template, marks: &[Mark], mirrored: bool) -> f64 {
    let flip = if mirrored { DVec3::new(-1.0, 1.0, 1.0) } else { DVec3::ONE };
    let base: Vec<DVec3> = template.mesh.positions.iter().map(|p| *p * flip).collect();
    let by = place(&base, marks);
    let off = |m: &Mark| {
        let here: DVec3 = m.corners.iter().zip(m.barycentric).map(|(&v, w)| base[v as usize] * w).sum();
        by.apply(here).distance(m.place) / by.scale
    };
    let mut off: Vec<f64> = marks.iter().map(off).collect();
    off.sort_unstable_by(f64::total_cmp);
    off.get(off.len() / 2).copied().unwrap_or(0.0)
}

fn note_cleaned(name: &str, cleaned: &Cleaned, notes: &mut Vec<Note>) {
    let Cleaned { not_finite, spikes, floating, turned } = *cleaned;
    if not_finite > 0 {
        let what = format!("scan '{name}': {not_finite} vertices are not finite numbers and are left out");
        notes.push(Note::new(what, "export the scan again if they are many"));
    }
    if spikes + floating > 0 {
        let what = format!(
            "scan '{name}': {spikes} vertices of spikes and {floating} of floating pieces are left out"
        );
        notes.push(Note::new(what, "nothing to do if they are not part of the face"));
    }
    if turned {
        let what = format!("scan '{name}' is inside out and has been turned");
        notes.push(Note::new(what, "flip its normals when it is exported"));
    }
}
