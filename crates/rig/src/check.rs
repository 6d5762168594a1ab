//! Lists every problem of a rig in one pass, each with its location and a remedy.
//!
//! Checks numbers, surfaces, shapes, names, self-crossings, unit and axes. It changes nothing and does not
//! stop at the first problem, since an artist wants the whole list at once. There is one [`RigProblem`] per
//! kind, with a count and the first few places. Vertices and faces are numbered as in the artist's file, from
//! 0, within their part; a welded vertex is named by the first of its file vertices. Surfaces are checked
//! after welding, part by part. Errors make the rig unusable for physics until repaired; warnings probably
//! spoil results; notes are for information only. Time is near linear in vertices, faces and displacements;
//! the search for crossings is bounded by [`IntersectOptions`].

use crate::classify::space::{SpaceGuess, guess_space};
use crate::model::Rig;
use risorius_base::progress::tick;
use risorius_base::{Cancelled, Progress};
use risorius_mesh::IntersectOptions;
use serde::Serialize;
use std::fmt;

mod crossings;
mod shapes;
mod surface;
mod twins;

/// Places that are kept per problem.
const MAX_EXAMPLES: usize = 5;

/// What to check.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckOptions {
    /// Count the triangles of the neutral that cross one another. Default on: 0.1 s for 50 thousand
    /// triangles.
    pub self_intersections: bool,
    /// Also do so for each slider at its full value. Default off: every slider takes as long as the neutral.
    pub self_intersections_of_shapes: bool,
    /// Limits of that search.
    pub intersect: IntersectOptions,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            self_intersections: true,
            self_intersections_of_shapes: false,
            intersect: IntersectOptions::default(),
        }
    }
}

/// How severe a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Physics cannot use the rig until it is repaired.
    Error,
    /// Results are probably worse for it.
    Warning,
    /// For information.
    Note,
}

/// Where a problem is; fields that do not apply are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Name of the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Vertex of the part, as the file numbers it, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertex: Option<u32>,
    /// Face of the part, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub face: Option<u32>,
    /// Name of the shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        words.extend(self.vertex.map(|v| format!("vertex {v}")));
        words.extend(self.face.map(|v| format!("face {v}")));
        words.extend(self.part.as_ref().map(|p| format!("part '{p}'")));
        let place = words.join(" of ");
        match &self.shape {
            Some(shape) if place.is_empty() => write!(f, "shape '{shape}'"),
            Some(shape) => write!(f, "{place} in shape '{shape}'"),
            None => f.write_str(&place),
        }
    }
}

/// One kind of problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RigProblem {
    /// How severe it is.
    pub severity: Severity,
    /// Stable identifier, for programs.
    pub code: &'static str,
    /// What is wrong and where it first occurs.
    pub message: String,
    /// What to do.
    pub advice: String,
    /// How many places have it.
    pub count: usize,
    /// The first few places.
    pub examples: Vec<Place>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RigReport {
    /// Errors first, then warnings, then notes.
    pub problems: Vec<RigProblem>,
    /// Unit and axes as guessed from the geometry.
    pub space: SpaceGuess,
}

impl RigReport {
    /// The problem called `code`, if there is one.
    pub fn problem(&self, code: &str) -> Option<&RigProblem> {
        self.problems.iter().find(|p| p.code == code)
    }

    /// Number of kinds of problems of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|p| p.severity == severity).count()
    }
}

/// Looks for every problem of `rig`.
pub fn check_rig(rig: &Rig, options: &CheckOptions, progress: &Progress) -> Result<RigReport, Cancelled> {
    let mut list = List::new(rig);
    tick(progress, "surfaces", 0.0)?;
    surface::check(rig, &mut list);
    tick(progress, "shapes", 0.0)?;
    shapes::check(rig, &mut list);
    tick(progress, "unit and axes", 0.0)?;
    let space = guess_space(rig);
    check_space(rig, &space, &mut list);
    if options.self_intersections || options.self_intersections_of_shapes {
        crossings::check(rig, options, &mut list, progress)?;
    }
    let mut problems = list.problems;
    // A stable sort: within a severity, problems stay in the order of checking.
    problems.sort_by_key(|p| p.severity);
    Ok(RigReport { problems, space })
}

/// A guess with more confidence than `SURE` that differs from the rig's own unit or axes is a warning; one
/// with less than `UNSURE` is reported as a note.
const SURE: f64 = 0.8;
const UNSURE: f64 = 0.4;

fn check_space(rig: &Rig, guess: &SpaceGuess, list: &mut List) {
    if rig.neutral.is_empty() {
        return;
    }
    let (is, looks) = (&rig.space, &guess.space);
    let ratio = (is.meters_per_unit / looks.meters_per_unit).ln().abs();
    if guess.unit_confidence < UNSURE {
        list.push(
            &UNIT_UNSURE,
            Places::of_rig(),
            format!("; best guess {}: {}", guess.unit_name, guess.unit_reason),
        );
    } else if guess.unit_confidence > SURE && ratio.is_nan() | (ratio > 0.3) {
        let text = format!(
            "; it is set to {} m per unit, but in {} {}",
            is.meters_per_unit, guess.unit_name, guess.unit_reason
        );
        list.push(&UNIT_DIFFERS, Places::of_rig(), text);
    }
    let axes = format!("{} up and {} front", looks.up, looks.front);
    if guess.axes_confidence < UNSURE {
        list.push(&AXES_UNSURE, Places::of_rig(), format!("; best guess {axes}: {}", guess.axes_reason));
    } else if guess.axes_confidence > SURE && (is.up, is.front) != (looks.up, looks.front) {
        let text = format!(
            "; {} up and {} front are set, but it looks like {axes}: {}",
            is.up, is.front, guess.axes_reason
        );
        list.push(&AXES_DIFFER, Places::of_rig(), text);
    }
}

const UNIT_UNSURE: Kind = Kind {
    severity: Severity::Note,
    code: "unit-unsure",
    one: "the unit cannot be determined clearly from the size of the rig",
    many: "",
    advice: "give the unit; forces and materials depend on it",
};
const UNIT_DIFFERS: Kind = Kind {
    severity: Severity::Warning,
    code: "unit-differs",
    one: "the size of the rig does not match its unit",
    many: "",
    advice: "give the unit, or scale the file",
};
const AXES_UNSURE: Kind = Kind {
    severity: Severity::Note,
    code: "axes-unsure",
    one: "the up and front axes cannot be determined clearly from mesh and shapes",
    many: "",
    advice: "give the up and front axes; gravity and the jaw depend on them",
};
const AXES_DIFFER: Kind = Kind {
    severity: Severity::Warning,
    code: "axes-differ",
    one: "the orientation of the rig does not match its axes",
    many: "",
    advice: "give the up and front axes, or rotate the model in the file",
};

/// The constant part of a kind of problem.
struct Kind {
    severity: Severity,
    code: &'static str,
    /// Message for one place.
    one: &'static str,
    /// Message for several places; follows their number.
    many: &'static str,
    advice: &'static str,
}

/// Places of one kind of problem: all are counted, the first few are kept.
#[derive(Default)]
struct Places {
    count: usize,
    examples: Vec<Place>,
}

impl Places {
    /// The rig as a whole.
    fn of_rig() -> Self {
        Self { count: 1, examples: Vec::new() }
    }

    fn add(&mut self, place: impl FnOnce() -> Place) {
        self.count += 1;
        if self.examples.len() < MAX_EXAMPLES {
            let place = place();
            // One face that crosses many others is one place to look at.
            if self.examples.last() != Some(&place) {
                self.examples.push(place);
            }
        }
    }
}

/// The problems so far, and the file's numbering of rig vertices.
struct List<'a> {
    rig: &'a Rig,
    problems: Vec<RigProblem>,
    /// For each rig vertex: part and first file vertex.
    in_file: Vec<(u32, u32)>,
}

impl<'a> List<'a> {
    fn new(rig: &'a Rig) -> Self {
        let mut in_file = vec![(0, 0); rig.neutral.len()];
        for (p, part) in rig.parts.iter().enumerate() {
            for (v, &rig_vertex) in part.rig_vertex.iter().enumerate().rev() {
                in_file[rig_vertex as usize] = (p as u32, v as u32);
            }
        }
        Self { rig, problems: Vec::new(), in_file }
    }

    /// Adds a problem unless it has no places; `detail` is appended to its message.
    fn push(&mut self, kind: &Kind, places: Places, detail: String) {
        if places.count == 0 {
            return;
        }
        let said =
            if places.count == 1 { kind.one.to_string() } else { format!("{} {}", places.count, kind.many) };
        let first = match (places.examples.first(), places.count) {
            (None, _) => String::new(),
            (Some(place), 1) => format!(": {place}"),
            (Some(place), _) => format!(", first at {place}"),
        };
        self.problems.push(RigProblem {
            severity: kind.severity,
            code: kind.code,
            message: format!("{said}{first}{detail}"),
            advice: kind.advice.into(),
            count: places.count,
            examples: places.examples,
        });
    }

    fn vertex(&self, rig_vertex: u32) -> Place {
        // A rig made by hand may have vertices outside its parts.
        let (part, vertex) = self.in_file.get(rig_vertex as usize).copied().unwrap_or((0, rig_vertex));
        Place { vertex: Some(vertex), ..self.part(part as usize) }
    }

    fn face(&self, part: usize, face: u32) -> Place {
        Place { face: Some(face), ..self.part(part) }
    }

    fn part(&self, part: usize) -> Place {
        Place { part: self.rig.parts.get(part).map(|p| p.name.clone()), ..Place::default() }
    }

    fn shape(&self, shape: usize) -> Place {
        Place { shape: Some(self.rig.shapes[shape].name.clone()), ..Place::default() }
    }
}
