//! Moves a volume with its skin and bones to another pose: the incremental static solves of blendvolumes.
//!
//! [Kozlov17, sec. 6.1, eq. 13]: springs pull the skin's nodes to the pose, and each solved state becomes the
//! next rest state. Resistance to volume change is low (lambda = 100) and measured against the neutral
//! volume. Nodes on bones may slide; then they are projected to the bone, and a second solve holds them
//! there. Departures: the pose is approached in steps of a few millimeters, so that the path of a rotating
//! jaw is followed. Each step starts from the harmonic extension of the skin's motion, which leaves little
//! for Newton's method to correct. Sliding nodes are kept in the plane of the bone by springs along its
//! normal, and weakly in place along it. A barrier keeps elements from inverting. Nodes that the pose does
//! not affect are not moved at all.
//!
//! In: a volume at rest in one pose. Out: its nodes in another pose, with no element inverted, and the
//! distance from the skin.

use crate::domain::Bound;
use crate::flesh::SkinEmbedding;
use crate::rest::{LEAST_J, ROUGH, SHAPE_ONSET, lifter};
use crate::volume::{Parts, Pose, SkinPoint, Volume};
use glam::DVec3;
use risorius_base::Rigid;
use risorius_base::progress::Progress;
use risorius_mesh::tet::solid::Shell;
use risorius_mesh::tet::tet_mesh::edge_matrix;
use risorius_mesh::{Bvh, TetMesh, TriMesh};
use risorius_solve::diffuse::Harmonic;
use risorius_solve::lift::Lifter;
use risorius_solve::settle;
use risorius_solve::untangle::{UntangleOptions, untangle};
use risorius_solve::{
    Barrier, Energy, Problem, SolveError, SolveOptions, Spring, Springs, System, Tissue, TissueRest,
};

/// Options of [`Follower`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FollowOptions {
    /// Shear stiffness in Pa, the same everywhere; only its ratio to the springs matters.
    pub mu: f64,
    /// Resistance to volume change in Pa; 100 lets muscles bulge [Kozlov17, sec. 6.1].
    pub lambda: f64,
    /// Stiffness of the skin springs in N/m at the first and at the last step.
    pub skin_springs: [f64; 2],
    /// Largest displacement of a node in one step, in meters.
    pub stride: f64,
    /// Nodes that would move less than this are not moved, in meters.
    pub least_motion: f64,
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self { mu: 3000.0, lambda: 100.0, skin_springs: [60.0, 3000.0], stride: 0.006, least_motion: 1e-5 }
    }
}

/// Springs that hold a sliding node normal to its bone and tangential to it, in N/m.
const BONE_SPRINGS: [f64; 2] = [3000.0, 3.0];

/// Springs that hold a node on its bone in the second solve, in N/m.
const PROJECTED_SPRING: f64 = 30000.0;

/// Nodes nearer to a bone's surface than this slide on it, in meters.
const ON_BONE: f64 = 0.0006;

/// Distances from the visible skin between which the pull of its lining decreases to the least value, in
/// meters.
const RIM: [f64; 2] = [0.004, 0.012];

/// Pull of the lining relative to the visible skin.
const LINING: f64 = 0.003;

/// Pull of all visible skin vertices embedded in an element, relative to that of a node on the skin.
const EMBEDDED: f64 = 1.0;

/// Resistance of an element to being crushed, in Pa for each N/m of the skin springs. Small elements would
/// otherwise give way to springs that do not know their size.
const UNCRUSHABLE: f64 = 100.0;

/// Elements resist from this volume on, relative to the neutral.
const CRUSHED: f64 = 0.5;

/// Largest number of attempts to advance nodes before a solve.
const ADVANCES: usize = 6;

/// Solves of one pose stop when no step is longer than this, in meters.
const STEP_TOLERANCE: f64 = 2e-5;

/// A volume at rest in a pose, prepared to be moved to others.
pub struct Follower<'a> {
    parts: &'a Parts<'a>,
    tets: &'a [[u32; 4]],
    bounds: &'a [Bound],
    skin_points: &'a [Option<SkinPoint>],
    rest: &'a [DVec3],
    rest_pose: &'a Pose,
    six_volumes: Vec<f64>,
    bones: [Shell; 2],
    /// Nodes on the surface of a bone; those inside it move with it.
    slides: Vec<bool>,
    /// Relative pull of each node on the skin: 1 on visible skin, small deep in mouth and sockets.
    pull: Vec<f64>,
    /// Visible skin vertices with their places in the volume.
    anchors: Vec<Anchor>,
    harmonic: Harmonic,
    rest_shapes: TissueRest,
    lifter: Lifter,
    options: FollowOptions,
}

/// A skin vertex embedded in an element.
struct Anchor {
    tet: u32,
    weights: [f64; 4],
    /// The skin vertex.
    vertex: u32,
    /// Pull relative to that of a node on the skin.
    pull: f64,
}

/// A volume in another pose.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Followed {
    /// Position of every node.
    pub positions: Vec<DVec3>,
    /// Mean and largest distance of the visible skin's nodes from their targets, in meters.
    pub miss: [f64; 2],
    /// Smallest volume relative to the rest.
    pub least_j: f64,
    /// Nodes that had to be untangled at the end.
    pub n_untangled: usize,
    /// Newton iterations over all solves.
    pub iterations: usize,
    /// Nodes that were solved for.
    pub n_active: usize,
}

impl<'a> Follower<'a> {
    /// Prepares a volume that rests at `rest` in `rest_pose`, with the skin embedded in it.
    pub fn prepare(
        parts: &'a Parts<'a>,
        volume: &'a Volume,
        embedding: &SkinEmbedding,
        rest: &'a [DVec3],
        rest_pose: &'a Pose,
        options: FollowOptions,
    ) -> Result<Self, SolveError> {
        let Volume { mesh: TetMesh { tets, .. }, bounds, skin_points } = volume;
        let led: Vec<bool> = bounds.iter().map(|b| is_led(*b)).collect();
        let bones = [&parts.bones.cranium, &parts.bones.mandible].map(|s: &TriMesh| Shell::prepare(s));
        let to_neutral = rest_pose.jaw.inverse();
        let slides = (0..rest.len())
            .map(|i| match bounds[i] {
                Bound::Cranium => bones[0].distance(rest[i], ON_BONE) < ON_BONE,
                Bound::Mandible => bones[1].distance(to_neutral.apply(rest[i]), ON_BONE) < ON_BONE,
                _ => false,
            })
            .collect();
        let rest_shapes = TissueRest::prepare(tets, rest)?;
        Ok(Self {
            lifter: lifter(tets, &rest_shapes, bounds, ROUGH)?,
            rest_shapes,
            parts,
            tets,
            bounds,
            skin_points,
            rest,
            rest_pose,
            six_volumes: tets.iter().map(|&t| edge_matrix(rest, t).determinant()).collect(),
            bones,
            slides,
            pull: pulls(parts, skin_points, rest, rest_pose),
            anchors: anchors(parts, embedding),
            harmonic: Harmonic::prepare(&TetMesh { nodes: rest.to_vec(), tets: tets.to_vec() }, &led)?,
            options,
        })
    }

    /// The elements.
    pub fn tets(&self) -> &[[u32; 4]] {
        self.tets
    }

    /// The bound of each node.
    pub fn bounds(&self) -> &[Bound] {
        self.bounds
    }

    /// Skull and jaw in the neutral.
    pub fn bones(&self) -> [&TriMesh; 2] {
        [&self.parts.bones.cranium, &self.parts.bones.mandible]
    }

    /// Rest position of each node.
    pub fn rest(&self) -> &[DVec3] {
        self.rest
    }

    /// Target of each node on skin or bone in `pose`; the rest position for other nodes.
    pub fn targets(&self, pose: &Pose) -> Vec<DVec3> {
        let jaw = pose.jaw.after(&self.rest_pose.jaw.inverse());
        let triangles = &self.parts.skin.triangles;
        let lead = |i: usize| match (self.bounds[i], &self.skin_points[i]) {
            (Bound::Skin, Some(point)) => {
                self.rest[i] + point.at(triangles, &pose.skin) - point.at(triangles, &self.rest_pose.skin)
            }
            (Bound::Mandible, _) => jaw.apply(self.rest[i]),
            _ => self.rest[i],
        };
        (0..self.rest.len()).map(lead).collect()
    }

    /// The motion of led nodes, extended harmonically to all nodes.
    fn spread(&self, way: &[DVec3]) -> Result<Vec<DVec3>, SolveError> {
        let values: Vec<[f64; 3]> = way.iter().map(|d| d.to_array()).collect();
        Ok(self.harmonic.extend(&values)?.into_iter().map(DVec3::from).collect())
    }

    /// Moves the volume to `pose`.
    pub fn follow(&self, pose: &Pose, progress: &Progress) -> Result<Followed, SolveError> {
        let goal = self.targets(pose);
        let way: Vec<DVec3> = goal.iter().zip(self.rest).map(|(g, r)| *g - *r).collect();
        let spread = self.spread(&way)?;
        let region = Region::around(self, &spread);
        let longest = way.iter().map(|d| d.length()).fold(0.0, f64::max);
        if region.nodes.is_empty() || longest == 0.0 {
            return Ok(Followed { positions: self.rest.to_vec(), least_j: 1.0, ..Followed::default() });
        }
        let steps = (longest / self.options.stride).ceil().clamp(1.0, 12.0) as usize;
        let mut walk = Walk::start(self, &region)?;
        for step in 1..=steps {
            let share = step as f64 / steps as f64;
            let between = Pose {
                strengths: Vec::new(),
                skin: self.rest_pose.skin.iter().zip(&pose.skin).map(|(a, b)| a.lerp(*b, share)).collect(),
                jaw: between(&self.rest_pose.jaw, &pose.jaw, share, self.parts.bones.joint.center()),
            };
            walk.step(&between, share, progress)?;
        }
        walk.project(pose, progress)?;
        self.finish(walk, &goal)
    }

    fn finish(&self, walk: Walk, goal: &[DVec3]) -> Result<Followed, SolveError> {
        let mut positions = self.rest.to_vec();
        for (local, &node) in walk.region.nodes.iter().enumerate() {
            positions[node as usize] = walk.x[local];
        }
        self.lifter.lift(&mut positions, SHAPE_ONSET)?;
        let mut n_untangled = 0;
        if self.least_j(&positions) < LEAST_J {
            let movable: Vec<bool> = self.bounds.iter().map(|b| *b != Bound::Border).collect();
            let options = UntangleOptions { threshold: LEAST_J, ..UntangleOptions::default() };
            n_untangled =
                untangle(self.tets, &self.rest_shapes, &mut positions, &movable, &options)?.moved.len();
        }
        let misses: Vec<f64> = (0..positions.len())
            .filter(|&i| self.bounds[i] == Bound::Skin && self.pull[i] == 1.0)
            .map(|i| positions[i].distance(goal[i]))
            .collect();
        Ok(Followed {
            miss: [
                misses.iter().sum::<f64>() / misses.len().max(1) as f64,
                misses.iter().copied().fold(0.0, f64::max),
            ],
            least_j: self.least_j(&positions),
            positions,
            n_untangled,
            iterations: walk.iterations,
            n_active: walk.region.n_free,
        })
    }

    fn least_j(&self, positions: &[DVec3]) -> f64 {
        let js = self
            .tets
            .iter()
            .zip(&self.six_volumes)
            .map(|(&t, v)| edge_matrix(positions, t).determinant() / v);
        js.fold(f64::INFINITY, f64::min)
    }
}

/// The relative pull of nodes on the skin. The lining of mouth and sockets is often modeled loosely and
/// intersects bones, so it pulls the flesh only near the rim.
fn pulls(parts: &Parts, skin_points: &[Option<SkinPoint>], rest: &[DVec3], rest_pose: &Pose) -> Vec<f64> {
    let seen =
        (0..parts.outer.len()).filter(|&i| parts.outer[i]).map(|i| rest_pose.skin[i].as_vec3().to_array());
    let rim = Bvh::of_points(&seen.collect::<Vec<_>>());
    let [near, far] = RIM;
    let pull = |(point, &p): (&Option<SkinPoint>, &DVec3)| {
        let Some(point) = point else { return 1.0 };
        let corners = parts.skin.triangles[point.triangle as usize];
        if corners.iter().any(|&v| parts.outer.get(v as usize) == Some(&true)) {
            return 1.0;
        }
        let distance = rim.closest_vertex(p, far).map_or(far, |c| c.1.sqrt());
        LINING.powf(((distance - near) / (far - near)).clamp(0.0, 1.0))
    };
    skin_points.iter().zip(rest).map(pull).collect()
}

/// The visible ones of the embedded vertices. Those in one element share its pull.
fn anchors(parts: &Parts, embedding: &SkinEmbedding) -> Vec<Anchor> {
    let visible = |v: &u32| parts.skin.rig_vertices.binary_search(v).ok().filter(|&i| parts.outer[i]);
    let rows = embedding.vertices.iter().zip(embedding.tets.iter()).zip(embedding.weights.iter());
    let mut found: Vec<Anchor> = rows
        .filter_map(|((v, &tet), weights)| {
            let vertex = visible(v)? as u32;
            Some(Anchor { tet, weights: weights.map(f64::from), vertex, pull: 0.0 })
        })
        .collect();
    found.sort_by_key(|a| (a.tet, a.vertex));
    for of_tet in found.chunk_by_mut(|a, b| a.tet == b.tet) {
        let pull = EMBEDDED / of_tet.len() as f64;
        of_tet.iter_mut().for_each(|a| a.pull = pull);
    }
    found
}

/// Whether a node is led: its target is given by skin, bone or border.
fn is_led(bound: Bound) -> bool {
    matches!(bound, Bound::Skin | Bound::Cranium | Bound::Mandible | Bound::Border)
}

/// The rigid motion interpolated from `a` to `b` at `share`.
fn between(a: &Rigid, b: &Rigid, share: f64, pivot: DVec3) -> Rigid {
    let change = b.after(&a.inverse());
    Rigid::blend([(change, share)], a.apply(pivot)).after(a)
}

/// The part of a volume that a pose moves, with local node indices.
struct Region {
    /// Volume node of each local node; those from `n_free` on are held.
    nodes: Vec<u32>,
    n_free: usize,
    /// Tets over local nodes.
    tets: Vec<[u32; 4]>,
    /// Reference volume of each.
    volumes: Vec<f64>,
    /// Anchors in these tets, each with the local nodes of its tet.
    anchors: Vec<(usize, [u32; 4])>,
}

impl Region {
    /// Nodes that move by more than the least motion, and their neighbors; the next neighbors are held.
    fn around(follower: &Follower, motion: &[DVec3]) -> Self {
        let moves: Vec<bool> = motion.iter().map(|d| d.length() > follower.options.least_motion).collect();
        let mut free = moves.clone();
        for tet in follower.tets.iter().filter(|t| t.iter().any(|&n| moves[n as usize])) {
            tet.iter().for_each(|&n| free[n as usize] = true);
        }
        for (i, bound) in follower.bounds.iter().enumerate() {
            free[i] &= *bound != Bound::Border;
        }
        let touched = |t: &&[u32; 4]| t.iter().any(|&n| free[n as usize]);
        let mut seen = free.clone();
        for tet in follower.tets.iter().filter(touched) {
            tet.iter().for_each(|&n| seen[n as usize] = true);
        }
        let all = 0..free.len() as u32;
        let mut nodes: Vec<u32> = all.clone().filter(|&n| free[n as usize]).collect();
        let n_free = nodes.len();
        nodes.extend(all.filter(|&n| seen[n as usize] && !free[n as usize]));
        let mut local = vec![u32::MAX; free.len()];
        for (i, &n) in nodes.iter().enumerate() {
            local[n as usize] = i as u32;
        }
        let chosen = || follower.tets.iter().enumerate().filter(|(_, t)| t.iter().any(|&n| free[n as usize]));
        let anchored = follower.anchors.iter().enumerate().filter_map(|(i, a)| {
            let tet = &follower.tets[a.tet as usize];
            tet.iter().any(|&n| free[n as usize]).then(|| (i, tet.map(|n| local[n as usize])))
        });
        Self {
            anchors: anchored.collect(),
            tets: chosen().map(|(_, t)| t.map(|n| local[n as usize])).collect(),
            volumes: chosen().map(|(i, _)| follower.six_volumes[i] / 6.0).collect(),
            nodes,
            n_free,
        }
    }
}

/// The state of a region during the steps.
struct Walk<'a> {
    follower: &'a Follower<'a>,
    region: &'a Region,
    system: System,
    x: Vec<DVec3>,
    /// Targets of all nodes of the volume at the last step.
    last_targets: Vec<DVec3>,
    iterations: usize,
}

impl<'a> Walk<'a> {
    fn start(follower: &'a Follower<'a>, region: &'a Region) -> Result<Self, SolveError> {
        let held: Vec<bool> = (0..region.nodes.len()).map(|i| i >= region.n_free).collect();
        let x: Vec<DVec3> = region.nodes.iter().map(|&n| follower.rest[n as usize]).collect();
        let springs: Vec<[u32; 4]> =
            led_nodes(follower, region).map(|i| Spring::at_node(i, DVec3::ZERO, 0.0).nodes).collect();
        let planes: Vec<[u32; 4]> =
            sliding_nodes(follower, region).map(|i| Spring::at_node(i, DVec3::ZERO, 0.0).nodes).collect();
        let anchors: Vec<[u32; 4]> = region.anchors.iter().map(|a| a.1).collect();
        let system = System::for_few_solves(&held, &[&region.tets, &springs, &planes, &anchors])?;
        Ok(Self { follower, region, system, x, last_targets: follower.rest.to_vec(), iterations: 0 })
    }

    /// One step: the skin at `pose`, bones sliding.
    fn step(&mut self, pose: &Pose, share: f64, progress: &Progress) -> Result<(), SolveError> {
        let targets = self.follower.targets(pose);
        let way: Vec<DVec3> = targets.iter().zip(&self.last_targets).map(|(a, b)| *a - *b).collect();
        let spread = self.follower.spread(&way)?;
        let rest = self.x.clone();
        self.advance(&spread)?;
        let [soft, stiff] = self.follower.options.skin_springs;
        let skin = soft * (stiff / soft).powf(share);
        let mut springs = Vec::new();
        for i in led_nodes(self.follower, self.region) {
            let node = self.region.nodes[i as usize] as usize;
            let stiffness = match self.follower.bounds[node] {
                Bound::Skin => skin * self.follower.pull[node],
                _ if self.follower.slides[node] => BONE_SPRINGS[1],
                _ => BONE_SPRINGS[0],
            };
            springs.push(Spring::at_node(i, targets[node], stiffness));
        }
        let mut planes = Vec::new();
        for i in sliding_nodes(self.follower, self.region) {
            let (point, normal) = self.on_bone(i, pose);
            planes.push(Spring { normal: Some(normal), ..Spring::at_node(i, point, BONE_SPRINGS[0]) });
        }
        self.last_targets = targets;
        let anchors = self.anchor_springs(pose, skin);
        self.solve(&rest, [&springs, &planes, &anchors], skin, progress)
    }

    /// The second solve: nodes on bones are held at their closest point of the bone.
    fn project(&mut self, pose: &Pose, progress: &Progress) -> Result<(), SolveError> {
        let rest = self.x.clone();
        let stiff = self.follower.options.skin_springs[1];
        let mut springs = Vec::new();
        for i in led_nodes(self.follower, self.region) {
            let node = self.region.nodes[i as usize] as usize;
            springs.push(match self.follower.bounds[node] {
                Bound::Skin => Spring::at_node(i, self.last_targets[node], stiff * self.follower.pull[node]),
                _ if self.follower.slides[node] => {
                    Spring::at_node(i, self.on_bone(i, pose).0, PROJECTED_SPRING)
                }
                _ => Spring::at_node(i, self.last_targets[node], PROJECTED_SPRING),
            });
        }
        let planes: Vec<Spring> = sliding_nodes(self.follower, self.region)
            .map(|i| Spring::at_node(i, self.x[i as usize], 0.0))
            .collect();
        let anchors = self.anchor_springs(pose, stiff);
        self.solve(&rest, [&springs, &planes, &anchors], stiff, progress)
    }

    /// Springs that pull embedded skin vertices along with the skin.
    fn anchor_springs(&self, pose: &Pose, skin: f64) -> Vec<Spring> {
        let follower = self.follower;
        let spring = |&(i, nodes): &(usize, [u32; 4])| {
            let Anchor { tet, weights, vertex, pull } = &follower.anchors[i];
            let at = follower.tets[*tet as usize].iter().zip(weights);
            let rest: DVec3 = at.map(|(&n, &w)| follower.rest[n as usize] * w).sum();
            let v = *vertex as usize;
            let target = rest + pose.skin[v] - follower.rest_pose.skin[v];
            Spring { nodes, weights: *weights, target, stiffness: skin * pull, normal: None }
        };
        self.region.anchors.iter().map(spring).collect()
    }

    fn solve(
        &mut self,
        rest: &[DVec3],
        springs: [&[Spring]; 3],
        skin: f64,
        progress: &Progress,
    ) -> Result<(), SolveError> {
        let n = self.region.tets.len();
        let options = &self.follower.options;
        let barrier = Barrier { strength: options.mu.max(UNCRUSHABLE * skin), threshold: CRUSHED };
        let (mu, lambda) = (vec![options.mu; n], vec![options.lambda; n]);
        let tissue =
            Tissue::prepare(&self.region.tets, rest, Some(&self.region.volumes), &mu, &lambda, barrier)?;
        let [springs, planes, anchors] = springs.map(Springs::prepare);
        let (springs, planes, anchors) = (springs?, planes?, anchors?);
        let energies: [&dyn Energy; 4] = [&tissue, &springs, &planes, &anchors];
        let problem = Problem { system: &self.system, energies: &energies, loads: &[] };
        let tolerances = SolveOptions {
            step_tolerance: STEP_TOLERANCE,
            force_tolerance: 1e-6,
            max_iterations: 12,
            allow_inversion: false,
        };
        let report = settle(&problem, &mut self.x, &tolerances, progress)?;
        self.iterations += report.iterations;
        Ok(())
    }

    /// Moves the free nodes along `motion` and repairs the elements that this squashes. Around elements that
    /// cannot be repaired, nodes are moved less; the following solve moves them further.
    fn advance(&mut self, motion: &[DVec3]) -> Result<(), SolveError> {
        let Region { nodes, n_free, tets, volumes, anchors: _ } = self.region;
        let start = self.x.clone();
        let rest = TissueRest::prepare(tets, &start)?;
        let options = UntangleOptions { threshold: 0.15, ..UntangleOptions::default() };
        let movable: Vec<bool> = (0..self.x.len()).map(|i| i < *n_free).collect();
        let mut share = vec![1.0; *n_free];
        for attempt in 1..=ADVANCES {
            for i in 0..*n_free {
                self.x[i] = start[i] + motion[nodes[i] as usize] * share[i];
            }
            untangle(tets, &rest, &mut self.x, &movable, &options)?;
            let squashed = |t: &usize| {
                let upright = edge_matrix(&start, tets[*t]).determinant().min(6.0 * volumes[*t]);
                edge_matrix(&self.x, tets[*t]).determinant() <= 0.1 * upright
            };
            let squashed: Vec<usize> = (0..tets.len()).filter(squashed).collect();
            if squashed.is_empty() {
                return Ok(());
            }
            let back = if attempt + 1 == ADVANCES { 0.0 } else { 0.5 };
            let mut near = vec![false; self.x.len()];
            squashed.iter().for_each(|&t| tets[t].iter().for_each(|&n| near[n as usize] = true));
            let around = near.clone();
            for tet in tets.iter().filter(|t| t.iter().any(|&n| around[n as usize])) {
                tet.iter().for_each(|&n| near[n as usize] = true);
            }
            (0..*n_free).filter(|&i| near[i]).for_each(|i| share[i] *= back);
        }
        self.x = start;
        Ok(())
    }

    /// The point of its bone closest to local node `i` in `pose`, and the bone's normal there.
    fn on_bone(&self, i: u32, pose: &Pose) -> (DVec3, DVec3) {
        let follower = self.follower;
        let node = self.region.nodes[i as usize] as usize;
        let which = usize::from(follower.bounds[node] == Bound::Mandible);
        let motion = if which == 1 { pose.jaw } else { Rigid::IDENTITY };
        let surface = [&follower.parts.bones.cranium, &follower.parts.bones.mandible][which];
        let p = motion.inverse().apply(self.x[i as usize]);
        let Some(closest) = follower.bones[which].tree.closest_point(p, f64::INFINITY) else {
            return (self.x[i as usize], DVec3::Y);
        };
        let [a, b, c] = surface.triangles[closest.triangle as usize].map(|v| surface.positions[v as usize]);
        let normal = (b - a).cross(c - a).normalize_or(DVec3::Y);
        (motion.apply(closest.point), motion.rotation * normal)
    }
}

fn led_nodes<'a>(follower: &'a Follower, region: &'a Region) -> impl Iterator<Item = u32> + 'a {
    (0..region.n_free as u32).filter(|&i| is_led(follower.bounds[region.nodes[i as usize] as usize]))
}

fn sliding_nodes<'a>(follower: &'a Follower, region: &'a Region) -> impl Iterator<Item = u32> + 'a {
    (0..region.n_free as u32).filter(|&i| follower.slides[region.nodes[i as usize] as usize])
}
