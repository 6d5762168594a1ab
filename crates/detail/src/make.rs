//! Wrinkles without sculpts: examples made from what anatomy knows, and learned like any others.
//!
//! Lines along which faces fold are known on the built-in head ([`risorius_head::creases`]) and carried to a
//! rig by the warp of its anatomy. Lines deepen where and only where the rig's own shapes shorten the skin
//! across them (`expressions`). Such examples, with the rig's poses as their plain versions, and poses that
//! must stay smooth, give an ordinary detail.
//!
//! `lines` places the lines, irregular as skin is; `fold` turns depths along lines into displacements;
//! `expressions` chooses poses. Age sets which lines there are, how deep they are, and how much of them
//! remains at rest (as relief). Everything random is a hash of the line's name and the seed.

mod expressions;
mod fold;
mod lines;

use crate::{Detail, DetailError, Examples, FaceDetail, LearnOptions, Rest, handles, learn};
use expressions::Expression;
use fold::Folds;
use glam::{DVec3, Vec3};
use lines::Line;
use rayon::prelude::*;
use risorius_anatomy::carry::{Anatomy, CarryOptions, carry};
use risorius_anatomy::find::{Given, find};
use risorius_anatomy::pieces::pieces;
use risorius_base::progress::{Progress, tick};
use risorius_head::Identity;
use risorius_rig::Rig;
use risorius_rig::refine::MAX_STEPS;

/// Edges near lines should be this short, millimeters.
const FINE_MM: f64 = 1.1;

/// Faces are not subdivided beyond this number of vertices unless the user says so.
const ENOUGH_VERTICES: usize = 450_000;

/// How to make wrinkles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MakeOptions {
    /// Age in years, 18 to 90: more and deeper lines, and lines that remain at rest. Default 45.
    pub age: f64,
    /// Factor of all depths. Default 1.
    pub depth: f64,
    /// Another number gives other irregularities. Default 0.
    pub seed: u64,
    /// Number of handles. Default 90.
    pub count: usize,
    /// Steps of subdivision; by default as many as the lines need.
    pub subdivide: Option<usize>,
}

impl Default for MakeOptions {
    fn default() -> Self {
        Self { age: 45.0, depth: 1.0, seed: 0, count: 90, subdivide: None }
    }
}

/// A line and how it folds.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeLine {
    /// Its name.
    pub name: String,
    /// Depth from ridge to valley in the expression that folds it most, and at rest, millimeters.
    pub deepest_mm: f64,
    /// The same at rest.
    pub at_rest_mm: f64,
    /// That expression; empty if none folds it.
    pub expression: String,
}

/// Wrinkles and where they are.
#[derive(Debug, Clone)]
pub struct Made {
    /// The detail.
    pub content: FaceDetail,
    /// All lines that were carried to the face.
    pub lines: Vec<MadeLine>,
    /// Mean length of the edges near lines, millimeters.
    pub edge_mm: f64,
    /// Names of the expressions that were wrinkled.
    pub expressions: Vec<String>,
    /// Findings for the user.
    pub notes: Vec<String>,
}

/// Makes wrinkles for a rig.
pub fn make(rig: Rig, options: &MakeOptions, progress: &Progress) -> Result<Made, DetailError> {
    check(&rig, options)?;
    tick(progress, "anatomy", 0.0)?;
    let head = risorius_head::build(&Identity::default());
    let rig_pieces = pieces(&rig);
    let landmarks = find(&rig, &rig_pieces, &head, &Given::default())?;
    let anatomy = carry(&rig, rig_pieces, &landmarks, &head, &CarryOptions::default(), progress)?;
    let lines = lines::carried(&head, &anatomy, options);
    if lines.is_empty() {
        return Err(DetailError::NoLines);
    }
    tick(progress, "expressions", 0.0)?;
    let expressions = expressions::of(&rig, &anatomy, &lines);
    if !expressions.iter().any(|e| e.is_folded()) {
        return Err(DetailError::NothingFolds);
    }
    let mut notes = Vec::new();
    let coarse_mm = lines::edge_mm(&lines, &anatomy);
    let n_steps = match options.subdivide {
        Some(n) => n,
        None => steps(&rig, coarse_mm),
    };
    let edge_mm = coarse_mm / f64::from(1u32 << n_steps);
    if n_steps > 0 && options.subdivide.is_none() {
        notes.push(format!(
            "the mesh is subdivided {n_steps} times, from edges of {coarse_mm:.1} to {edge_mm:.1} mm; \
             frames of the original mesh can still be used"
        ));
    }
    if edge_mm > 2.0 {
        notes.push(format!(
            "edges of {edge_mm:.1} mm are too long for fine lines, which are left out; `subdivide` more"
        ));
    }
    let rest = Rest::checked(rig, n_steps)?;
    tick(progress, "folds", 0.0)?;
    let folds = Folds::prepare(&rest, &anatomy, &lines);
    let detail = learned(&rest, &folds, &expressions, options, progress)?;
    let made = lines.iter().enumerate().map(|(k, line)| about(k, line, &expressions)).collect();
    let names = expressions.iter().filter(|e| e.is_folded()).map(|e| e.name.clone()).collect();
    Ok(Made { content: FaceDetail { rest, detail }, lines: made, edge_mm, expressions: names, notes })
}

fn check(rig: &Rig, options: &MakeOptions) -> Result<(), DetailError> {
    let number = |what: &'static str, value: f64, range: std::ops::RangeInclusive<f64>, wanted| {
        if range.contains(&value) { Ok(()) } else { Err(DetailError::Option { what, value, wanted }) }
    };
    number("the age", options.age, 18.0..=90.0, "from 18 to 90 years")?;
    number("the depth", options.depth, 0.0..=5.0, "from 0 to 5")?;
    if rig.sliders.is_empty() {
        return Err(DetailError::NothingFolds);
    }
    Ok(())
}

/// Steps of subdivision for edges of this length.
fn steps(rig: &Rig, edge_mm: f64) -> usize {
    let n_triangles = rig.triangles().len();
    let fits = |n: usize| n_triangles.saturating_mul(4usize.pow(n as u32)) / 2 <= ENOUGH_VERTICES;
    let wanted = (0..=MAX_STEPS).find(|&n| edge_mm / f64::from(1u32 << n) <= FINE_MM).unwrap_or(MAX_STEPS);
    (0..=wanted).rev().find(|&n| fits(n)).unwrap_or(0)
}

/// Learns the examples; the lines that remain at rest become relief.
fn learned(
    rest: &Rest,
    folds: &Folds,
    expressions: &[Expression],
    options: &MakeOptions,
    progress: &Progress,
) -> Result<Detail, DetailError> {
    let to_fine = |e: &Expression| rest.refinement.apply(&e.positions);
    let plain: Vec<Vec<[f32; 3]>> = expressions.par_iter().map(to_fine).collect();
    let positions: Vec<Vec<[f32; 3]>> =
        expressions.par_iter().zip(&plain).map(|(e, plain)| folds.on(plain, &e.beyond_rest)).collect();
    let names = expressions.iter().map(|e| e.name.clone()).collect();
    let mesh = rest.mesh();
    let moved = |v: usize, p: &Vec<[f32; 3]>| Vec3::from(mesh.positions[v]).distance(Vec3::from(p[v]));
    let most = |v: usize| plain.iter().map(|p| moved(v, p)).fold(0.0, f32::max);
    let motion: Vec<f32> = (0..mesh.n_vertices()).map(most).collect();
    let chosen = handles::choose(&mesh, &motion, options.count)?;
    let examples = Examples { names, positions, plain };
    let mut detail = learn(mesh, &chosen, None, &examples, &LearnOptions::default(), progress)?;
    if folds.at_rest.iter().flatten().any(|d| *d > 0.0) {
        detail.sculpt_rest(&folds.on(&rest.fine.neutral, &folds.at_rest))?;
    }
    Ok(detail)
}

fn about(index: usize, line: &Line, expressions: &[Expression]) -> MadeLine {
    let deepest = |depths: &[Vec<f64>]| depths[index].iter().copied().fold(0.0, f64::max);
    let rest = line.samples.iter().map(|s| s.at_rest).fold(0.0, f64::max);
    let most = expressions
        .iter()
        .map(|e| (deepest(&e.depths), e.name.as_str()))
        .fold((rest, ""), |best, next| if next.0 > best.0 { next } else { best });
    MadeLine {
        name: line.name.clone(),
        deepest_mm: 1000.0 * most.0,
        at_rest_mm: 1000.0 * rest,
        expression: most.1.to_string(),
    }
}

/// Points of a pose in meters, +Y up, +Z front.
fn in_si(rig: &Rig, positions: &[[f32; 3]]) -> Vec<DVec3> {
    positions.iter().map(|&p| rig.space.to_si(p)).collect()
}

/// The outer skin of the face.
fn outer(anatomy: &Anatomy) -> risorius_anatomy::outer::OuterSkin {
    risorius_anatomy::outer::OuterSkin::new(&anatomy.pieces.positions, &anatomy.pieces.skin)
}
