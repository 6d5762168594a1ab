//! Springs on the flesh of muscles: those that drag it along tracks, and those on which the scalp slides.
//!
//! Points are spread evenly in the solid of each muscle, each for a small volume V. Where the tracks of a
//! muscle lead, a spring of zero length and stiffness [`DRAG`] V pulls each point of the flesh to the point
//! of the moved solid with the same parameters [Cong16, sec. 4]. Departure: the paper drags the nodes of the
//! flesh that lie in a muscle. Most muscles are thinner than tets, and some contain no node; points inside
//! tets do not depend on where nodes are.
//!
//! The scalp slides on the skull, or a frontalis could not raise brows: nodes on the skull above the orbits
//! are held along the bone's normal only, and weakly in the others.
//!
//! Ends of muscles on skull or jaw are anchored there: flesh of a coarse mesh need not be held where they
//! begin. Anchors give way as tracks lead, which hold the ends themselves: artists move skin over cheekbones,
//! where anchors would leave dents [Cong16, sec. 6 releases such flesh too].
//!
//! The inertia of a time step is a spring of every node, too: from where it would fly without forces.

use glam::DVec3;
use risorius_base::Rigid;
use risorius_flesh::{Bound, Face};
use risorius_head::landmarks;
use risorius_mesh::tet::embed::{EmbedOptions, Embedding};
use risorius_mesh::{Bvh, TetMesh};
use risorius_muscle::spline::basis;
use risorius_muscle::{Muscle, MuscleEnd};
use risorius_solve::energy::springs::lumped_masses;
use risorius_solve::{SolveError, Spring, Springs, Stencil};

/// Stiffness of springs to tracks per volume of muscle, N/m^4: in a layer of a millimeter they outweigh flesh
/// of 5 kPa over a length of about a millimeter.
const DRAG: f64 = 2e10;

/// Distance of the points, meters.
const SPACING: f64 = 0.003;

/// Stiffness on the skull per volume of flesh, N/m^4: along the normal of the bone, and across it. The galea
/// is loose: a forehead of 40 cm^3 resists by 0.4 N for each millimeter.
const ON_SKULL: [f64; 2] = [3e10, 1e7];

/// Stiffness of anchors per volume of muscle, N/m^4: a pull of 6 N on the end of a zygomaticus gives by 0.3
/// mm.
const ANCHOR: f64 = 3e11;

/// The part of a muscle's length that is anchored.
const ANCHORED: f64 = 0.06;

/// The scalp slides from this far below the upper edges of the orbits, meters.
const BELOW_BROW: f64 = 0.004;

/// Where muscles lead: the places of their control points, and how strongly.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lead {
    /// Displacements of the control points of all muscles, muscle by muscle, meters; empty for none.
    pub to: Vec<DVec3>,
    /// How strongly the tracks of each muscle lead, 0 to 1; empty for none.
    pub shares: Vec<f64>,
}

impl Lead {
    /// Whether any muscle leads.
    pub fn is_active(&self) -> bool {
        !self.to.is_empty() && self.shares.iter().any(|&s| s > 0.0)
    }
}

/// A point of a muscle in the flesh.
#[derive(Debug, Clone, PartialEq)]
struct Point {
    muscle: u32,
    nodes: Stencil,
    weights: [f64; 4],
    /// In the neutral, meters.
    rest: DVec3,
    /// Control points, by their number among those of all muscles, and their weights.
    control: Vec<(u32, f64)>,
    volume: f64,
}

/// A spring at the end of a muscle.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    spring: Spring,
    muscle: u32,
    on_jaw: bool,
}

/// All springs of a face; prepared once.
#[derive(Debug, Clone, Default)]
pub(super) struct LeadSprings {
    points: Vec<Point>,
    /// In the neutral.
    anchors: Vec<Anchor>,
    sliding: Vec<Spring>,
    n_nodes: usize,
}

impl LeadSprings {
    /// Spreads points in the muscles of a face. `sliding`: nodes that slide on the skull.
    pub fn prepare(face: &Face, mesh: &TetMesh, sliding: &[bool]) -> Self {
        let mut points = Vec::new();
        let mut first = 0;
        for (i, muscle) in face.anatomy.muscles.iter().enumerate() {
            points.extend(points_of(i as u32, first, muscle));
            first += muscle.solid.control.len() as u32;
        }
        let points = inside(mesh, points);
        let bones = [MuscleEnd::Cranium, MuscleEnd::Mandible];
        let anchors = bones.into_iter().flat_map(|bone| anchors_on(face, mesh, bone)).collect();
        let sliding = sliding_springs(face, mesh, sliding);
        Self { points, anchors, sliding, n_nodes: mesh.nodes.len() }
    }

    /// The nodes of every spring, whatever leads; the last ones are those of inertia, one for each node.
    pub fn stencils(&self) -> Vec<Stencil> {
        let own = self.points.iter().map(|p| p.nodes).chain(self.anchors.iter().map(|a| a.spring.nodes));
        own.chain(self.sliding.iter().map(|s| s.nodes))
            .chain((0..self.n_nodes as u32).map(|n| Spring::at_node(n, DVec3::ZERO, 0.0).nodes))
            .collect()
    }

    /// The springs for what leads, with `strength` times the usual stiffness, and for a motion of the jaw.
    /// `inertia`: for each node where it would fly in a time step, and its mass over the squared step, N/m;
    /// `None` at rest.
    pub fn at(
        &self,
        lead: &Lead,
        strength: f64,
        jaw: &Rigid,
        inertia: Option<&[(DVec3, f64)]>,
    ) -> Result<Springs, SolveError> {
        let is_active = lead.is_active();
        let spring = |p: &Point| {
            let (target, stiffness) = match is_active {
                true => {
                    let moved: DVec3 = p.control.iter().map(|&(c, w)| lead.to[c as usize] * w).sum();
                    (p.rest + moved, strength * lead.shares[p.muscle as usize] * DRAG * p.volume)
                }
                false => (p.rest, 0.0),
            };
            Spring { nodes: p.nodes, weights: p.weights, target, stiffness, normal: None }
        };
        let still = (DVec3::ZERO, 0.0);
        let flight = |n: usize| inertia.map_or(still, |all| all[n]);
        let flights = (0..self.n_nodes).map(|n| Spring::at_node(n as u32, flight(n).0, flight(n).1));
        let share = |muscle: u32| if is_active { lead.shares[muscle as usize] } else { 0.0 };
        let anchored = self.anchors.iter().map(|anchor| {
            let Spring { target, stiffness, .. } = anchor.spring;
            let target = if anchor.on_jaw { jaw.apply(target) } else { target };
            Spring { target, stiffness: stiffness * (1.0 - share(anchor.muscle)), ..anchor.spring }
        });
        let own = self.points.iter().map(spring).chain(anchored).chain(self.sliding.iter().copied());
        Springs::prepare(&own.chain(flights).collect::<Vec<_>>())
    }
}

/// The anchors of the ends of muscles on a bone, in the neutral.
fn anchors_on(face: &Face, mesh: &TetMesh, bone: MuscleEnd) -> Vec<Anchor> {
    let mut points = Vec::new();
    for (i, muscle) in face.anatomy.muscles.iter().enumerate() {
        for (end, layer) in [(muscle.origin, [0.0, ANCHORED]), (muscle.insertion, [1.0 - ANCHORED, 1.0])] {
            if end == bone {
                points.extend(spread(i as u32, 0, muscle, layer, [1, 4, 1]));
            }
        }
    }
    let anchor = |p: Point| {
        let stiffness = ANCHOR * p.volume;
        let spring = Spring { nodes: p.nodes, weights: p.weights, target: p.rest, stiffness, normal: None };
        Anchor { spring, muscle: p.muscle, on_jaw: bone == MuscleEnd::Mandible }
    };
    inside(mesh, points).into_iter().map(anchor).collect()
}

/// The points in the flesh, with the tets that they are in. Others drag nothing.
fn inside(mesh: &TetMesh, mut points: Vec<Point>) -> Vec<Point> {
    let places: Vec<DVec3> = points.iter().map(|p| p.rest).collect();
    let bound = Embedding::prepare(mesh, &places, &EmbedOptions::default(), |_, _| true);
    for (k, point) in points.iter_mut().enumerate() {
        (point.nodes, point.weights) = (bound.nodes[k], bound.weights[k]);
    }
    let is_inside = |k: usize| bound.tets[k] != u32::MAX && bound.distances[k] == 0.0;
    points.into_iter().enumerate().filter(|(k, _)| is_inside(*k)).map(|(_, point)| point).collect()
}

/// Points spread over a muscle.
fn points_of(muscle: u32, first: u32, of: &Muscle) -> Vec<Point> {
    let solid = &of.solid;
    let middle = solid.evaluate([0.5; 3]).1;
    let lengths = [solid.length(), middle.y_axis.length(), middle.z_axis.length()];
    let most = [64.0, 24.0, 4.0];
    let n: [usize; 3] = std::array::from_fn(|k| (lengths[k] / SPACING).ceil().clamp(1.0, most[k]) as usize);
    spread(muscle, first, of, [0.0, 1.0], [n[0].max(4), n[1].max(2), n[2]])
}

/// `n` points along u, v, w over a part of a muscle's length, each for its part of the volume.
fn spread(muscle: u32, first: u32, of: &Muscle, [from, to]: [f64; 2], n: [usize; 3]) -> Vec<Point> {
    let solid = &of.solid;
    let cell = (to - from) / n.iter().product::<usize>() as f64;
    let mut points = Vec::new();
    for i in 0..n[0] {
        for j in 0..n[1] {
            for k in 0..n[2] {
                let mut at = [(i, n[0]), (j, n[1]), (k, n[2])].map(|(i, n)| (i as f64 + 0.5) / n as f64);
                at[0] = from + (to - from) * at[0];
                let (rest, by) = solid.evaluate(at);
                let volume = by.determinant() * cell;
                if volume.is_nan() || volume <= 0.0 {
                    continue;
                }
                let bases: [_; 3] = std::array::from_fn(|d| basis(solid.counts[d], at[d]));
                let mut control = Vec::new();
                for a in 0..bases[0].count {
                    for b in 0..bases[1].count {
                        for c in 0..bases[2].count {
                            let index =
                                solid.index(bases[0].first + a, bases[1].first + b, bases[2].first + c);
                            let weight = bases[0].weights[a] * bases[1].weights[b] * bases[2].weights[c];
                            control.push((first + index as u32, weight));
                        }
                    }
                }
                points.push(Point { muscle, nodes: [0; 4], weights: [0.0; 4], rest, control, volume });
            }
        }
    }
    points
}

/// Nodes on the skull that the scalp slides with: those above the orbits.
pub(super) fn sliding_nodes(face: &Face) -> Vec<bool> {
    let marks = &face.anatomy.landmarks;
    let of = |name: &str| landmarks::index(name).and_then(|i| marks.get(i)).map(|l| l.position.y);
    let heights: Vec<f64> =
        ["supraorbitale_left", "supraorbitale_right"].into_iter().filter_map(of).collect();
    let n = face.flesh.n_nodes();
    if heights.is_empty() {
        return vec![false; n];
    }
    let least = heights.iter().sum::<f64>() / heights.len() as f64 - BELOW_BROW;
    (0..n).map(|i| face.flesh.bound(i) == Bound::Cranium && face.flesh.nodes[i][1] > least).collect()
}

fn sliding_springs(face: &Face, mesh: &TetMesh, sliding: &[bool]) -> Vec<Spring> {
    let skull = &face.anatomy.bones.cranium;
    let positions: Vec<[f32; 3]> = skull.positions.iter().map(|p| p.as_vec3().to_array()).collect();
    let tree = Bvh::build(&positions, &skull.triangles);
    let volumes = lumped_masses(mesh, |_| 1.0);
    let mut springs = Vec::new();
    for node in (0..mesh.nodes.len()).filter(|&n| sliding[n]) {
        let p = mesh.nodes[node];
        let normal = tree.closest_point(p, f64::INFINITY).map(|found| {
            let [a, b, c] = skull.triangles[found.triangle as usize].map(|v| skull.positions[v as usize]);
            (b - a).cross(c - a).normalize_or_zero()
        });
        let [along, across] = ON_SKULL.map(|k| k * volumes[node]);
        let spring = Spring::at_node(node as u32, p, along);
        springs.push(Spring { normal, ..spring });
        springs.push(Spring { stiffness: across, ..spring });
    }
    springs
}
