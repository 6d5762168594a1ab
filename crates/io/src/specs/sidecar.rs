//! The rig sidecar: a small JSON file with what a mesh file cannot store about its shapes, regions and units.
//!
//! ```json
//! {"inbetweens": [{"shape": "jawOpen50", "slider": "jawOpen", "at": 0.5}],
//!  "combinations": [{"shape": "fix", "sliders": ["smile_L", "jawOpen"], "rule": "lowest"}],
//!  "sliders": ["brow50"], "limits": {"jawOpen": [0, 1]}, "ignore_names": false,
//!  "regions": {"lips": [1, 2, 3], "teeth": {"part": "lower_teeth", "vertices": [7], "ranges": [[10, 20]]}},
//!  "jaw": {"jawOpen": {"rotate": [17, 0, 0], "about": [0, 2.1, -1.5], "move": [0, -0.1, 0.4]}},
//!  "stiffening": {"mouthSmile_L": {"by": "cheekSquint_L", "curve": [[0, 0], [0.5, 0.1], [1, 1]]}},
//!  "unit": "cm", "up": "+Y", "front": "+Z"}
//! ```
//! `jaw` is the artist's own motion of the jaw in a shape at 1, in the unit and axes of the file: a rotation
//! in degrees about a point (a rotation vector: its direction is the axis, its length the angle), then a
//! shift. `stiffening` says how much of a shape's material counts: a curve over the shape's own slider, or
//! over the slider in `by`.
//!
//! Every key is optional. `unit` is `m`, `dm`, `cm`, `mm`, `in`, `ft` or a number of meters. Ranges are
//! half-open and stay ranges until the mesh is known ([`RegionSpec::resolve`]). Unknown keys are errors: a
//! misspelled one would otherwise be ignored silently.

use crate::IoError;
use crate::specs::weights::{json_error, shortest};
use glam::{DQuat, DVec3};
use risorius_base::space::SpaceTextError;
use risorius_base::space::parse_unit;
use risorius_base::{Axis, Rigid};
use risorius_rig::classify::names::nearest;
use risorius_rig::classify::roles::{RoleTable, resolve};
use risorius_rig::{CombinationRule, Driver, Rig, Role};
use serde_json::{Map, Value, json};
use std::ops::Range;

const FORMAT: &str = "sidecar";
const KEYS: [&str; 11] = [
    "inbetweens",
    "combinations",
    "sliders",
    "limits",
    "ignore_names",
    "regions",
    "jaw",
    "stiffening",
    "unit",
    "up",
    "front",
];

/// The content of a sidecar.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sidecar {
    /// Roles of shapes and limits of sliders.
    pub roles: RoleTable,
    /// Named vertex sets, by name.
    pub regions: Vec<RegionSpec>,
    /// The jaw's motion in shapes, by name, in file coordinates.
    pub jaw: Vec<(String, Rigid)>,
    /// How much of a shape's material counts.
    pub stiffening: Vec<StiffeningSpec>,
    /// Length of one unit of the mesh file in meters.
    pub meters_per_unit: Option<f64>,
    /// The axis of the mesh file that points to the top of the head.
    pub up: Option<Axis>,
    /// The axis of the mesh file that the face looks along.
    pub front: Option<Axis>,
}

/// How much of a shape's material counts, before the rig is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StiffeningSpec {
    /// Name of the shape.
    pub shape: String,
    /// Name of the slider that it follows; without one, its own.
    pub by: Option<String>,
    /// Slider values, ascending, and the strength at each.
    pub curve: Vec<[f32; 2]>,
}

/// A named set of vertices, before the mesh is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RegionSpec {
    /// Name of the region.
    pub name: String,
    /// The part whose vertices are counted; without it, vertices are counted over all parts in order.
    pub part: Option<String>,
    /// Single vertices, as numbered in the file.
    pub vertices: Vec<u32>,
    /// Runs of vertices, the end not included.
    pub ranges: Vec<Range<u32>>,
}

impl RegionSpec {
    /// The vertices of the region, ascending, in a mesh or part of `n_vertices`; an error when one is beyond
    /// it.
    pub fn resolve(&self, n_vertices: usize) -> Result<Vec<u32>, IoError> {
        let highest = self.vertices.iter().copied().chain(self.ranges.iter().map(|r| r.end - 1)).max();
        if let Some(vertex) = highest.filter(|&v| v as usize >= n_vertices) {
            let problem = format!("vertex {vertex} does not exist; there are {n_vertices}, counted from 0");
            return Err(IoError::malformed(FORMAT, format!("regions.{}", self.name), problem));
        }
        let mut is_in = vec![false; n_vertices];
        let mut sorted = self.ranges.clone();
        sorted.sort_by_key(|r| r.start);
        let mut done = 0;
        for range in sorted {
            // Overlaps are skipped, so that many ranges cost no more than the mesh.
            let start = range.start.max(done);
            done = done.max(range.end);
            (start..range.end).for_each(|v| is_in[v as usize] = true);
        }
        self.vertices.iter().for_each(|&v| is_in[v as usize] = true);
        Ok((0..n_vertices as u32).filter(|&v| is_in[v as usize]).collect())
    }
}

/// A place in the file and its value; creates errors with that place.
struct At<'a>(String, &'a Value);

impl<'a> At<'a> {
    fn err<T>(&self, problem: impl Into<String>) -> Result<T, IoError> {
        Err(IoError::malformed(FORMAT, self.0.as_str(), problem))
    }

    fn object(&self) -> Result<&'a Map<String, Value>, IoError> {
        self.1.as_object().map_or_else(|| self.err("an object in braces is expected"), Ok)
    }

    fn list(&self) -> Result<impl Iterator<Item = At<'a>>, IoError> {
        let Some(list) = self.1.as_array() else { return self.err("a list in brackets is expected") };
        let place = self.0.clone();
        Ok(list.iter().enumerate().map(move |(i, v)| At(format!("{place}[{i}]"), v)))
    }

    fn text(&self) -> Result<&'a str, IoError> {
        self.1.as_str().map_or_else(|| self.err("text in quotes is expected"), Ok)
    }

    fn texts(&self) -> Result<Vec<String>, IoError> {
        self.list()?.map(|at| at.text().map(String::from)).collect()
    }

    fn number(&self) -> Result<f64, IoError> {
        self.1.as_f64().filter(|x| x.is_finite()).map_or_else(|| self.err("a finite number is expected"), Ok)
    }

    fn vertex(&self) -> Result<u32, IoError> {
        let vertex = self.1.as_u64().and_then(|v| u32::try_from(v).ok());
        vertex.map_or_else(|| self.err("a vertex number, counted from 0, is expected"), Ok)
    }

    /// The required entry `key`.
    fn get(&self, key: &str) -> Result<At<'a>, IoError> {
        let found = self.optional(key)?;
        found.map_or_else(|| self.err(format!("'{key}' is missing")), Ok)
    }

    fn optional(&self, key: &str) -> Result<Option<At<'a>>, IoError> {
        let place = if self.0 == TOP { key.to_string() } else { format!("{}.{key}", self.0) };
        Ok(self.object()?.get(key).map(|v| At(place, v)))
    }

    /// Rejects keys other than `known`.
    fn only(&self, known: &[&str]) -> Result<(), IoError> {
        let Some(unknown) = self.object()?.keys().find(|k| !known.contains(&k.as_str())) else {
            return Ok(());
        };
        let near = nearest(unknown, known.iter().copied());
        let advice = near
            .first()
            .map_or_else(|| format!("use one of {}", known.join(", ")), |n| format!("did you mean '{n}'?"));
        self.err(format!("'{unknown}' is not a known key; {advice}"))
    }
}

const TOP: &str = "top level";

fn parse(bytes: &[u8]) -> Result<Value, IoError> {
    serde_json::from_slice(crate::formats::text::without_bom(bytes)).map_err(|e| json_error(FORMAT, &e))
}

/// Reads a sidecar. All problems are reported, not only the first.
pub fn read(bytes: &[u8]) -> Result<Sidecar, IoError> {
    let value = parse(bytes)?;
    let top = At(TOP.into(), &value);
    top.object()?;
    let mut problems = Problems::default();
    problems.take(top.only(&KEYS));
    let mut sidecar = Sidecar { roles: problems.take(roles(&top)).unwrap_or_default(), ..Sidecar::default() };
    if let Some(regions) = top.optional("regions")? {
        for name in problems.take(regions.object()).into_iter().flat_map(Map::keys) {
            sidecar.regions.extend(problems.take(regions.get(name).and_then(|at| region(name, &at))));
        }
    }
    if let Some(jaw) = top.optional("jaw")? {
        for name in problems.take(jaw.object()).into_iter().flat_map(Map::keys) {
            let motion = problems.take(jaw.get(name).and_then(|at| jaw_motion(&at)));
            sidecar.jaw.extend(motion.map(|motion| (name.clone(), motion)));
        }
    }
    if let Some(all) = top.optional("stiffening")? {
        for name in problems.take(all.object()).into_iter().flat_map(Map::keys) {
            sidecar.stiffening.extend(problems.take(all.get(name).and_then(|at| stiffening(name, &at))));
        }
    }
    sidecar.meters_per_unit = top.optional("unit")?.and_then(|at| problems.take(unit(&at)));
    sidecar.up = top.optional("up")?.and_then(|at| problems.take(axis(&at)));
    sidecar.front = top.optional("front")?.and_then(|at| problems.take(axis(&at)));
    if let (Some(up), Some(front)) = (sidecar.up, sidecar.front)
        && up.index == front.index
    {
        let problem = format!("up ({up}) and front ({front}) lie on one axis; give two different ones");
        problems.take(top.err::<()>(problem));
    }
    problems.none_or_all()?;
    Ok(sidecar)
}

/// Collects problems, so that all are reported at once.
#[derive(Default)]
struct Problems(Vec<IoError>);

impl Problems {
    fn take<T>(&mut self, result: Result<T, IoError>) -> Option<T> {
        result.map_err(|e| self.0.push(e)).ok()
    }

    fn none_or_all(mut self) -> Result<(), IoError> {
        if self.0.len() < 2 {
            return self.0.pop().map_or(Ok(()), Err);
        }
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        Err(IoError::malformed(FORMAT, format!("{} problems", all.len()), all.join("\n  ")))
    }
}

/// Reads named half-open vertex ranges: `{"face": [0, 9409]}`, text entries ignored.
pub fn read_ranges(bytes: &[u8]) -> Result<Vec<RegionSpec>, IoError> {
    let value = parse(bytes)?;
    let top = At(TOP.into(), &value);
    let mut regions = Vec::new();
    for (name, value) in top.object()? {
        if !value.is_string() {
            let range = range(&At(name.clone(), value))?;
            regions.push(RegionSpec { name: name.clone(), ranges: vec![range], ..RegionSpec::default() });
        }
    }
    Ok(regions)
}

fn roles(top: &At) -> Result<RoleTable, IoError> {
    let mut table = RoleTable::default();
    if let Some(list) = top.optional("inbetweens")? {
        for entry in list.list()? {
            entry.only(&["shape", "slider", "at"])?;
            let at = entry.get("at")?;
            let value = at.number()? as f32;
            if !(value > 0.0 && value < 1.0) {
                return at.err(format!("{value} is not between 0 and 1"));
            }
            table.inbetweens.push((
                entry.get("shape")?.text()?.into(),
                entry.get("slider")?.text()?.into(),
                value,
            ));
        }
    }
    if let Some(list) = top.optional("combinations")? {
        for entry in list.list()? {
            entry.only(&["shape", "sliders", "rule"])?;
            let sliders = entry.get("sliders")?.texts()?;
            if sliders.len() < 2 {
                return entry.err("a combination needs two or more sliders");
            }
            let rule = entry.optional("rule")?.map(|at| rule(&at)).transpose()?.unwrap_or_default();
            table.combinations.push((entry.get("shape")?.text()?.into(), sliders, rule));
        }
    }
    if let Some(names) = top.optional("sliders")? {
        table.sliders = names.texts()?.into_iter().collect();
    }
    if let Some(limits) = top.optional("limits")? {
        for name in limits.object()?.keys() {
            table.limits.insert(name.clone(), limit(&limits.get(name)?)?);
        }
    }
    if let Some(ignore) = top.optional("ignore_names")? {
        table.ignore_names =
            ignore.1.as_bool().map_or_else(|| ignore.err("true or false is expected"), Ok)?;
    }
    Ok(table)
}

fn rule(at: &At) -> Result<CombinationRule, IoError> {
    match at.text()? {
        "multiply" => Ok(CombinationRule::Multiply),
        "lowest" => Ok(CombinationRule::Lowest),
        other => at.err(format!("'{other}' is not a rule; give multiply or lowest")),
    }
}

fn limit(at: &At) -> Result<[f32; 2], IoError> {
    let numbers: Vec<f32> = at.list()?.map(|n| n.number().map(|x| x as f32)).collect::<Result<_, _>>()?;
    match numbers[..] {
        [low, high] if low < high && low.is_finite() && high.is_finite() => Ok([low, high]),
        _ => at.err("two finite numbers are expected, the lower first"),
    }
}

fn range(at: &At) -> Result<Range<u32>, IoError> {
    let ends: Vec<u32> = at.list()?.map(|n| n.vertex()).collect::<Result<_, _>>()?;
    match ends[..] {
        [first, end] if first < end => Ok(first..end),
        _ => at.err("a range is two vertex numbers, the first vertex and the one after the last"),
    }
}

fn region(name: &str, at: &At) -> Result<RegionSpec, IoError> {
    let mut region = RegionSpec { name: name.into(), ..RegionSpec::default() };
    if at.1.is_array() {
        region.vertices = at.list()?.map(|v| v.vertex()).collect::<Result<_, _>>()?;
        return Ok(region);
    }
    at.only(&["part", "vertices", "ranges"])?;
    region.part = at.optional("part")?.map(|p| p.text().map(String::from)).transpose()?;
    if let Some(list) = at.optional("vertices")? {
        region.vertices = list.list()?.map(|v| v.vertex()).collect::<Result<_, _>>()?;
    }
    if let Some(list) = at.optional("ranges")? {
        region.ranges = list.list()?.map(|r| range(&r)).collect::<Result<_, _>>()?;
    }
    Ok(region)
}

fn vector(at: &At) -> Result<DVec3, IoError> {
    let numbers: Vec<f64> = at.list()?.map(|n| n.number()).collect::<Result<_, _>>()?;
    <[f64; 3]>::try_from(numbers).map_or_else(|_| at.err("three numbers are expected"), |v| Ok(v.into()))
}

fn jaw_motion(at: &At) -> Result<Rigid, IoError> {
    at.only(&["rotate", "about", "move"])?;
    let [rotate, about, shift] = ["rotate", "about", "move"]
        .map(|key| at.optional(key).and_then(|found| found.map(|at| vector(&at)).transpose()));
    let (rotate, about, shift) = (rotate?.unwrap_or_default(), about?, shift?.unwrap_or_default());
    if about.is_none() && rotate != DVec3::ZERO {
        return at.err("'about' is missing: the point about which the jaw rotates");
    }
    let degrees = rotate.length();
    if degrees > 90.0 {
        return at.err(format!("a jaw does not rotate by {degrees} degrees; give at most 90"));
    }
    let rotation = DQuat::from_scaled_axis(rotate * std::f64::consts::PI / 180.0);
    let turned = Rigid::about(about.unwrap_or_default(), rotation);
    Ok(Rigid { translation: turned.translation + shift, ..turned })
}

fn stiffening(name: &str, at: &At) -> Result<StiffeningSpec, IoError> {
    at.only(&["by", "curve"])?;
    let by = at.optional("by")?.map(|by| by.text().map(String::from)).transpose()?;
    let mut curve: Vec<[f32; 2]> = Vec::new();
    match at.optional("curve")? {
        None => curve = vec![[0.0, 0.0], [1.0, 1.0]],
        Some(points) => {
            for point in points.list()? {
                let numbers: Vec<f64> = point.list()?.map(|n| n.number()).collect::<Result<_, _>>()?;
                let [value, strength] = numbers[..] else { return point.err("two numbers are expected") };
                if curve.last().is_some_and(|last| value as f32 <= last[0]) {
                    return point.err("slider values must ascend");
                }
                curve.push([value as f32, strength as f32]);
            }
            if curve.is_empty() {
                return points.err("the curve has no points; give for example [[0, 0], [1, 1]]");
            }
        }
    }
    Ok(StiffeningSpec { shape: name.into(), by, curve })
}

fn unit(at: &At) -> Result<f64, IoError> {
    let text = if at.1.is_number() { at.number()?.to_string() } else { at.text()?.to_string() };
    parse_unit(&text).or_else(|problem| at.err(problem.to_string()))
}

fn axis(at: &At) -> Result<Axis, IoError> {
    at.text()?.parse().or_else(|problem: SpaceTextError| at.err(problem.to_string()))
}

/// A sidecar with what names and defaults do not express about `rig`; `None` when there is nothing.
/// `with_space` adds unit and axes, for formats that cannot store them.
pub fn write(rig: &Rig, with_space: bool) -> Option<Vec<u8>> {
    let names: Vec<&str> = rig.shapes.iter().map(|s| s.name.as_str()).collect();
    let (by_name, _, _) = resolve(&names, &RoleTable::default());
    let names_say_it = rig.shapes.iter().zip(&by_name).all(|(s, r)| s.role == *r);
    let (mut inbetweens, mut combinations, mut sliders) = (Vec::new(), Vec::new(), Vec::new());
    for (shape, by_name) in rig.shapes.iter().zip(&by_name).filter(|_| !names_say_it) {
        match &shape.role {
            Role::Slider(_) if matches!(by_name, Role::Slider(_)) => {}
            Role::Slider(_) => sliders.push(Value::from(shape.name.as_str())),
            Role::Inbetween { slider, at } => {
                let slider = &rig.sliders[*slider].name;
                inbetweens.push(json!({ "shape": shape.name, "slider": slider, "at": shortest(*at) }));
            }
            Role::Combination { drivers, rule } => {
                let drivers: Vec<&str> = drivers.iter().map(|d| driver_name(rig, d)).collect();
                combinations.push(json!({ "shape": shape.name, "sliders": drivers, "rule": rule }));
            }
        }
    }
    let limits: Map<String, Value> = rig
        .sliders
        .iter()
        .filter(|s| s.range != [0.0, 1.0])
        .map(|s| (s.name.clone(), json!([shortest(s.range[0]), shortest(s.range[1])])))
        .collect();
    let regions: Map<String, Value> = rig.regions.iter().filter_map(|r| region_json(rig, r)).collect();
    let parts = [
        ("inbetweens", Value::from(inbetweens)),
        ("combinations", combinations.into()),
        ("sliders", sliders.into()),
        ("limits", limits.into()),
        ("regions", regions.into()),
    ];
    let is_empty =
        |v: &Value| v.as_array().is_some_and(Vec::is_empty) || v.as_object().is_some_and(Map::is_empty);
    let mut object: Map<String, Value> =
        parts.into_iter().filter(|(_, v)| !is_empty(v)).map(|(k, v)| (k.to_string(), v)).collect();
    if with_space {
        object.insert("unit".into(), rig.space.meters_per_unit.into());
        object.insert("up".into(), rig.space.up.to_string().into());
        object.insert("front".into(), rig.space.front.to_string().into());
    }
    (!object.is_empty()).then(|| serde_json::to_vec_pretty(&object).unwrap_or_default())
}

/// The name that a combination refers to a driver by: the slider's, or that of its in-between.
fn driver_name<'a>(rig: &'a Rig, driver: &Driver) -> &'a str {
    let inbetween = rig.shapes.iter().find(|s| match s.role {
        Role::Inbetween { slider, at } => slider == driver.slider && Some(at) == driver.at,
        _ => false,
    });
    inbetween.map_or(rig.sliders[driver.slider].name.as_str(), |s| s.name.as_str())
}

/// A region over file vertices of all parts, in the order of parts.
fn region_json(rig: &Rig, (name, vertices): (&String, &Vec<u32>)) -> Option<(String, Value)> {
    let all = rig.parts.iter().flat_map(|p| p.rig_vertex.iter());
    let file: Vec<usize> =
        all.enumerate().filter(|(_, v)| vertices.binary_search(v).is_ok()).map(|(i, _)| i).collect();
    (!file.is_empty()).then(|| (name.clone(), json!({ "vertices": file })))
}
