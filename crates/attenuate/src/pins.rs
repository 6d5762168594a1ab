//! Pins: which coordinates an animator holds, by what rule, and when.
//!
//! A [`PinSpec`] is one entry of a pins file, as the user writes it; [`PinSet::resolve`] turns specs into
//! coordinates of a rig. A pin holds a coordinate where it was in the base pose. With `only`, it holds it
//! where the named sliders alone would put it ("this vertex moves by these sliders only", [Lewis05, section
//! 6]). With `within`, the entry is a limit instead of a pin: the coordinate must stay in a range.

use risorius_rig::classify::names::find;
use risorius_rig::lookup::{region_vertices, unknown};
use risorius_rig::model::Rig;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One entry of a pins file. Exactly one of `vertex`, `vertices`, `region` and `near` says where.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PinSpec {
    /// A vertex, numbered from 0 as in the user's file.
    pub vertex: Option<u32>,
    /// Several vertices.
    pub vertices: Option<Vec<u32>>,
    /// The part that `vertex` or `vertices` counts in, or that `near` searches; may be left out when there is
    /// one part.
    pub part: Option<String>,
    /// A named region, a part, or `shape:NAME` for what a shape moves by at least a tenth of its largest
    /// motion.
    pub region: Option<String>,
    /// The vertex nearest to this point of the neutral, in the file's unit.
    pub near: Option<[f32; 3]>,
    /// Which of `x`, `y`, `z` are held (file axes); all when left out.
    pub axes: Option<String>,
    /// When it is held, in seconds, for clips: pairs of start and end; always when left out.
    pub times: Option<Vec<[f64; 2]>>,
    /// The only sliders that may move it.
    pub only: Option<Vec<String>>,
    /// Least and largest displacement from the neutral per axis (`{"y": [-0.2, 0.5]}`), in the file's unit.
    pub within: Option<BTreeMap<String, [f64; 2]>>,
}

/// A held coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct Pin {
    /// Rig vertex.
    pub vertex: u32,
    /// 0 x, 1 y, 2 z in the file's axes.
    pub axis: usize,
    /// Sliders that may move it; empty: none.
    pub only: Vec<usize>,
    /// When it is held; empty: always.
    pub times: Vec<[f64; 2]>,
}

/// A coordinate that must stay within limits.
#[derive(Debug, Clone, PartialEq)]
pub struct CoordinateLimit {
    /// Rig vertex.
    pub vertex: u32,
    /// 0 x, 1 y, 2 z in the file's axes.
    pub axis: usize,
    /// Least and largest displacement from the neutral, in the file's unit.
    pub range: [f64; 2],
}

/// Pins and limits of one selection, each coordinate once, ascending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PinSet {
    /// Held coordinates.
    pub pins: Vec<Pin>,
    /// Limited coordinates.
    pub limits: Vec<CoordinateLimit>,
}

/// What is wrong with one pin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("pin {entry}: {problem}")]
pub struct PinProblem {
    /// Entry of the pins file, from 0.
    pub entry: usize,
    /// What is wrong and what to do.
    pub problem: String,
}

/// Everything that is wrong with a list of pins.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct PinError {
    /// At least one.
    pub problems: Vec<PinProblem>,
}

impl risorius_base::Advise for PinError {}

impl PinSet {
    /// Finds the coordinates that `specs` select. All problems are reported, not only the first.
    pub fn resolve(rig: &Rig, specs: &[PinSpec]) -> Result<Self, PinError> {
        let mut problems = Vec::new();
        let mut pins: BTreeMap<(u32, usize), Pin> = BTreeMap::new();
        let mut limits: BTreeMap<(u32, usize), CoordinateLimit> = BTreeMap::new();
        for (entry, spec) in specs.iter().enumerate() {
            if let Err(problem) = add_spec(rig, spec, &mut pins, &mut limits) {
                problems.push(PinProblem { entry, problem });
            }
        }
        if problems.is_empty() {
            Ok(Self { pins: pins.into_values().collect(), limits: limits.into_values().collect() })
        } else {
            Err(PinError { problems })
        }
    }

    /// Pins every axis of the given rig vertices.
    pub fn of_vertices(vertices: &[u32]) -> Self {
        let pins: BTreeMap<(u32, usize), Pin> = vertices
            .iter()
            .flat_map(|&vertex| (0..3).map(move |axis| (vertex, axis)))
            .map(|(vertex, axis)| ((vertex, axis), Pin { vertex, axis, only: Vec::new(), times: Vec::new() }))
            .collect();
        Self { pins: pins.into_values().collect(), limits: Vec::new() }
    }
}

fn add_spec(
    rig: &Rig,
    spec: &PinSpec,
    pins: &mut BTreeMap<(u32, usize), Pin>,
    limits: &mut BTreeMap<(u32, usize), CoordinateLimit>,
) -> Result<(), String> {
    let vertices = find_vertices(rig, spec)?;
    if let Some(within) = &spec.within {
        if spec.only.is_some() || spec.times.is_some() || spec.axes.is_some() {
            return Err(
                "`within` names its own axes and always applies; leave out `axes`, `times` and `only`".into(),
            );
        }
        for (axes, &range) in within {
            if range[0].is_nan() || range[1].is_nan() || range[0] > range[1] {
                return Err(format!(
                    "`within` goes from {} to {}; put the smaller number first",
                    range[0], range[1]
                ));
            }
            for axis in parse_axes(axes)? {
                for &vertex in &vertices {
                    let limit =
                        limits.entry((vertex, axis)).or_insert(CoordinateLimit { vertex, axis, range });
                    limit.range = [limit.range[0].max(range[0]), limit.range[1].min(range[1])];
                }
            }
        }
        return Ok(());
    }
    let only =
        spec.only.iter().flatten().map(|name| find_slider(rig, name)).collect::<Result<Vec<_>, _>>()?;
    let times = spec.times.clone().unwrap_or_default();
    if let Some(t) = times.iter().find(|t| t[0] > t[1] || t.iter().any(|x| !x.is_finite())) {
        return Err(format!("the time range {} to {} is not ascending; put the start first", t[0], t[1]));
    }
    for axis in parse_axes(spec.axes.as_deref().unwrap_or("xyz"))? {
        for &vertex in &vertices {
            let new = Pin { vertex, axis, only: only.clone(), times: times.clone() };
            match pins.get_mut(&(vertex, axis)) {
                None => {
                    pins.insert((vertex, axis), new);
                }
                Some(old) if old.only != new.only => {
                    return Err(format!(
                        "{} is pinned twice with different `only` lists; keep one",
                        rig.vertex_name(vertex)
                    ));
                }
                // The coordinate is held when either entry holds it; an entry without times always does.
                Some(old) if old.times.is_empty() || new.times.is_empty() => old.times.clear(),
                Some(old) => old.times.extend(new.times),
            }
        }
    }
    Ok(())
}

fn find_slider(rig: &Rig, name: &str) -> Result<usize, String> {
    let names = rig.sliders.iter().map(|s| s.name.as_str());
    find(name, names.clone()).ok_or_else(|| unknown("slider", name, names).to_string())
}

fn parse_axes(axes: &str) -> Result<Vec<usize>, String> {
    let mut found = Vec::new();
    for c in axes.chars() {
        match "xyz".find(c.to_ascii_lowercase()) {
            Some(axis) if !found.contains(&axis) => found.push(axis),
            _ => return Err(format!("axes '{axes}' are not valid; use some of x, y and z, each once")),
        }
    }
    if found.is_empty() { Err("no axis is named; use some of x, y and z".into()) } else { Ok(found) }
}

fn find_vertices(rig: &Rig, spec: &PinSpec) -> Result<Vec<u32>, String> {
    let ways = [spec.vertex.is_some(), spec.vertices.is_some(), spec.region.is_some(), spec.near.is_some()];
    if ways.iter().filter(|w| **w).count() != 1 {
        return Err("say where with exactly one of `vertex`, `vertices`, `region` or `near`".into());
    }
    if let Some(region) = &spec.region {
        if spec.part.is_some() {
            return Err("`part` goes with `vertex`, `vertices` or `near`, not with `region`".into());
        }
        return region_vertices(rig, region).map_err(|e| e.to_string());
    }
    let part =
        match &spec.part {
            Some(name) => Some(rig.parts.iter().find(|p| &p.name == name).ok_or_else(|| {
                unknown("part", name, rig.parts.iter().map(|p| p.name.as_str())).to_string()
            })?),
            None => None,
        };
    if let Some(point) = spec.near {
        let range = part.map_or(0..rig.n_vertices(), |p| p.vertices.clone());
        return nearest_vertex(rig, range, point).map(|v| vec![v]);
    }
    let part = match (part, &rig.parts[..]) {
        (Some(part), _) => part,
        (None, [single]) => single,
        (None, parts) => {
            let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
            return Err(format!(
                "the rig has several parts; say which `part` the vertex is in: {}",
                names.join(", ")
            ));
        }
    };
    let wanted = spec.vertex.as_slice().iter().chain(spec.vertices.iter().flatten());
    wanted
        .map(|&v| {
            part.rig_vertex.get(v as usize).copied().ok_or_else(|| {
                format!(
                    "vertex {v} is out of range: part '{}' has {} vertices, from 0",
                    part.name,
                    part.n_file_vertices()
                )
            })
        })
        .collect()
}

fn nearest_vertex(rig: &Rig, range: std::ops::Range<usize>, point: [f32; 3]) -> Result<u32, String> {
    let point = glam::Vec3::from(point);
    if !point.is_finite() {
        return Err("`near` needs three finite numbers".into());
    }
    range
        .map(|v| (glam::Vec3::from(rig.neutral[v]).distance_squared(point), v as u32))
        .filter(|(distance, _)| distance.is_finite())
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, v)| v)
        .ok_or_else(|| "the rig has no vertices".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_rig::synthetic;

    fn two_part_rig() -> Rig {
        let mut rig = synthetic::random_rig(100, 3, 0.3, 4);
        let mut teeth = rig.parts[0].clone();
        rig.parts[0].vertices = 0..60;
        rig.parts[0].rig_vertex.truncate(60);
        teeth.name = "teeth".into();
        teeth.vertices = 60..100;
        teeth.rig_vertex = (60..100).collect();
        rig.parts.push(teeth);
        rig.regions.insert("lips".into(), vec![3, 5]);
        rig
    }

    fn spec() -> PinSpec {
        PinSpec::default()
    }

    #[test]
    fn pins_by_part_region_and_point() {
        let rig = two_part_rig();
        let specs = [
            PinSpec { vertex: Some(2), part: Some("teeth".into()), axes: Some("y".into()), ..spec() },
            PinSpec { region: Some("lips".into()), axes: Some("xz".into()), ..spec() },
            PinSpec { near: Some(rig.neutral[17]), axes: Some("x".into()), ..spec() },
        ];
        let set = PinSet::resolve(&rig, &specs).unwrap();
        let found: Vec<(u32, usize)> = set.pins.iter().map(|p| (p.vertex, p.axis)).collect();
        assert_eq!(found, [(3, 0), (3, 2), (5, 0), (5, 2), (17, 0), (62, 1)]);
    }

    #[test]
    fn every_problem_is_reported_with_advice() {
        let rig = two_part_rig();
        let specs = [
            PinSpec { vertex: Some(2), ..spec() },
            PinSpec { vertex: Some(60), part: Some("skin".into()), ..spec() },
            PinSpec { region: Some("lisp".into()), ..spec() },
            PinSpec { near: Some([0.0; 3]), axes: Some("xx".into()), ..spec() },
            PinSpec { near: Some([0.0; 3]), only: Some(vec!["shape0009".into()]), ..spec() },
            PinSpec::default(),
            PinSpec { near: Some([f32::NAN; 3]), ..spec() },
            PinSpec { region: Some("lips".into()), times: Some(vec![[2.0, 1.0]]), ..spec() },
        ];
        let problems = PinSet::resolve(&rig, &specs).unwrap_err().problems;
        assert_eq!(problems.len(), specs.len());
        assert!(problems[1].problem.contains("60 vertices"));
        assert!(problems[2].problem.contains("lips"));
        assert!(problems[4].problem.contains("did you mean shape000"));
    }

    #[test]
    fn limits_narrow_and_times_join() {
        let rig = two_part_rig();
        let within = |lo, hi| PinSpec {
            region: Some("lips".into()),
            within: Some([("y".to_string(), [lo, hi])].into()),
            ..spec()
        };
        let set = PinSet::resolve(&rig, &[within(-1.0, 1.0), within(-2.0, 0.5)]).unwrap();
        assert_eq!(set.limits[0].range, [-1.0, 0.5]);
        let both = Some([("xy".to_string(), [0.0, 1.0])].into());
        let set = PinSet::resolve(
            &rig,
            &[PinSpec { vertex: Some(1), part: Some("skin".into()), within: both, ..spec() }],
        );
        assert_eq!(set.unwrap().limits.iter().map(|l| l.axis).collect::<Vec<_>>(), [0, 1]);
        let timed = |t| PinSpec { region: Some("lips".into()), times: t, ..spec() };
        let set =
            PinSet::resolve(&rig, &[timed(Some(vec![[0.0, 1.0]])), timed(Some(vec![[2.0, 3.0]]))]).unwrap();
        assert_eq!(set.pins[0].times, [[0.0, 1.0], [2.0, 3.0]]);
        let set = PinSet::resolve(&rig, &[timed(Some(vec![[0.0, 1.0]])), timed(None)]).unwrap();
        assert!(set.pins[0].times.is_empty());
    }
}
