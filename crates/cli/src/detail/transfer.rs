//! `detail transfer`: learned wrinkles on another face.

use super::expect_reasonable;
use super::points::vertex_of;
use crate::files::{expect_ending, in_file};
use crate::rig_args::AboutRig;
use crate::session::{Failure, Report, Session};
use clap::Args;
use glam::Vec3;
use risorius_anatomy::find::{FoundLandmark, Given, find};
use risorius_anatomy::pieces::pieces;
use risorius_attenuate::pins::PinSpec;
use risorius_base::progress::tick;
use risorius_head::person::Identity;
use risorius_io::native::detail::{self, DetailFile, Rest};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_mesh::Bvh;
use risorius_rig::Rig;
use risorius_rig::refine::MAX_STEPS;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// See [`super`].
#[derive(Args)]
pub struct Arguments {
    /// The detail (.detail), made by `detail learn`.
    detail: PathBuf,
    /// The other face at rest: a rig or a mesh.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Points that belong together, about 40 all over the face: a JSON file, [{"from": {"vertex": 12}, "to":
    /// {"near": [0, 1, 2]}}]. When left out, landmarks are looked for on both faces.
    #[arg(long, value_name = "PAIRS")]
    points: Option<PathBuf>,
    /// A rig of the detail's own face, at the same place as its rest, whose shapes tell landmarks better than
    /// a mesh alone.
    #[arg(long, value_name = "RIG", conflicts_with = "points")]
    from: Option<PathBuf>,
    /// Subdivide the other face so many times: wrinkles need vertices a millimeter apart. `apply` then takes
    /// animations of the face as it is and subdivides them.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=MAX_STEPS as i64))]
    subdivide: u32,
    /// Output: .detail.
    #[arg(long, short)]
    output: PathBuf,
}

/// A point on both faces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairSpec {
    #[serde(default)]
    name: String,
    from: PinSpec,
    to: PinSpec,
}

/// Two vertices that belong together.
struct Pair {
    name: String,
    vertices: [u32; 2],
}

/// Landmarks that are less sure than this are not paired.
const SURE: f64 = 0.5;

/// Landmarks that have to be found on both faces.
const ENOUGH: usize = 12;

/// Landmarks farther than this from every vertex are not on the mesh (meters).
const NEAR_M: f64 = 0.005;

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let start = Instant::now();
    expect_ending(&arguments.output, &["detail"], "a detail")?;
    let source = detail::open(&arguments.detail).map_err(in_file(&arguments.detail))?;
    let target = arguments.about.open(&arguments.to, session)?.rig;
    let steps = arguments.subdivide as usize;
    expect_reasonable(&target, steps)?;
    let target = Rest::new(target, steps);
    let (fine, source_rig) = (&target.fine, &source.rest.fine);
    let pairs = match &arguments.points {
        Some(path) => given_pairs(path, source_rig, fine)?,
        None => {
            tick(&session.progress(), "landmarks", 0.0)?;
            let shaped = match &arguments.from {
                Some(path) => Some(
                    open_rig(path, &OpenOptions::default(), &session.progress()).map_err(in_file(path))?.rig,
                ),
                None => None,
            };
            landmark_pairs((shaped.as_ref().unwrap_or(source_rig), source_rig), (&target.rig, fine))?
        }
    };
    let vertices: Vec<[u32; 2]> = pairs.iter().map(|p| p.vertices).collect();
    let moved = source.detail.transferred(
        target.mesh(),
        &vertices,
        &source.detail.shell.options,
        &session.progress(),
    )?;
    let mm_per_unit = target.mm_per_unit();
    let worst = moved.off.iter().enumerate().fold((0, 0.0), |w, (k, &d)| if d > w.1 { (k, d) } else { w });
    let place = |rig: &Rig, v: u32| json!({ "near": rig.neutral[v as usize] });
    let told: Vec<serde_json::Value> = pairs
        .iter()
        .zip(&moved.off)
        .map(|(p, off)| {
            let [from, to] = [place(source_rig, p.vertices[0]), place(fine, p.vertices[1])];
            json!({ "name": p.name, "from": from, "to": to, "off_mm": off * mm_per_unit })
        })
        .collect();
    let (n_covered, n_vertices) = (moved.n_covered, fine.n_vertices());
    let mean_mm = moved.mean_distance * mm_per_unit;
    detail::write(&DetailFile { rest: target, detail: moved.detail }, &arguments.output)?;
    let seconds = start.elapsed().as_secs_f64();
    let json = json!({
        "output": arguments.output.display().to_string(), "vertices": n_vertices, "covered": n_covered,
        "pairs": told, "scale": moved.similarity.scale, "mean_distance_mm": mean_mm, "seconds": seconds,
    });
    let text = format!(
        "{}: {n_covered} of {n_vertices} vertices got detail, in {seconds:.1} s\n  {} pairs; '{}' was off most before bending, {:.1} mm; after it the faces are {mean_mm:.2} mm apart in the mean\n",
        arguments.output.display(),
        pairs.len(),
        pairs[worst.0].name,
        worst.1 * mm_per_unit,
    );
    Ok(Report { json, text })
}

fn given_pairs(path: &Path, source: &Rig, target: &Rig) -> Result<Vec<Pair>, Failure> {
    let specs: Vec<PairSpec> = serde_json::from_slice(&read_file(path)?)
        .map_err(|e| Failure::could_not(format!("{}: {e}", path.display())))?;
    let mut pairs = Vec::new();
    for (k, spec) in specs.into_iter().enumerate() {
        let name = if spec.name.is_empty() { format!("pair {k}") } else { spec.name };
        let place = |side: &str| format!("{}: '{name}', {side}", path.display());
        let vertices =
            [vertex_of(spec.from, source, &place("from"))?, vertex_of(spec.to, target, &place("to"))?];
        pairs.push(Pair { name, vertices });
    }
    Ok(pairs)
}

/// Landmarks that are sure on both faces, each given as a rig to find them on and a rig whose vertices are
/// wanted.
fn landmark_pairs(source: (&Rig, &Rig), target: (&Rig, &Rig)) -> Result<Vec<Pair>, Failure> {
    let head = risorius_head::person::build(&Identity::default());
    let found = |(shaped, fine): (&Rig, &Rig)| -> Result<Vec<Option<(FoundLandmark, u32)>>, Failure> {
        let landmarks = find(shaped, &pieces(shaped), &head, &Given::default())?.all;
        let tree = Bvh::build(&fine.neutral, &fine.triangles());
        let vertex = |l: FoundLandmark| {
            let place = Vec3::from(shaped.neutral[l.vertex as usize]).as_dvec3();
            let (v, _) = tree.closest_vertex(place, NEAR_M / fine.space.meters_per_unit)?;
            (l.confidence >= SURE).then_some((l, v))
        };
        Ok(landmarks.into_iter().map(vertex).collect())
    };
    let both = found(source)?.into_iter().zip(found(target)?).filter_map(|(a, b)| a.zip(b));
    let pairs: Vec<Pair> = both.map(|(a, b)| Pair { name: a.0.name.into(), vertices: [a.1, b.1] }).collect();
    if pairs.len() < ENOUGH {
        let problem = format!("{} landmarks are sure on both faces, {ENOUGH} are wanted", pairs.len());
        let advice = "give --points, or --from a rig of the detail's own face with shapes";
        return Err(Failure::could_not(format!("{problem}; {advice}")));
    }
    Ok(pairs)
}
