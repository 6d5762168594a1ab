//! Transfers the detail of one face to another [Bickel08, sec. 6].
//!
//! Some points are known on both faces. A similarity transform aligns the source with the target, and the
//! shell through these points deforms it onto the target. Every target vertex then takes weights,
//! displacements and gauges from the nearest point of the deformed source that faces the same way,
//! interpolated by its barycentric weights. Handles move to the nearest target vertices and keep their
//! gauges: strains are relative and need no conversion.
//!
//! Weights are expressed in local frames, which differ between any two vertices. They are rotated to the
//! space of the deformed source, interpolated, and rotated to the frames of the target. Lengths are scaled by
//! the similarity.
//!
//! The shell passes exactly through the points only; between them the deformed source is a few millimeters
//! off, which would shift wrinkles along the surface. So the handles of the source are pulled to the nearest
//! points of the target too, in a few rounds.
//!
//! A target with longer edges than the source cannot carry its finest wrinkles; sampled as they are, they
//! would become ripples along its edges. The source's detail is smoothed first, to what the target can carry.

use crate::frames::{Fans, LocalFrames};
use crate::pose_space::{Influence, MAX_GAUGES};
use crate::{Detail, DetailError, FeatureGraph, Shell, ShellOptions};
use glam::{DVec3, Vec3, Vec3A};
use rayon::prelude::*;
use risorius_base::Array;
use risorius_base::ease::smoothstep;
use risorius_base::progress::{Progress, tick};
use risorius_mesh::FileMesh;
use risorius_mesh::surface::components;
use risorius_mesh::{Bvh, Similarity};

/// Surfaces face the same way when the cosine of their normals is above this.
const SAME_WAY: f32 = 0.35;

/// Target vertices closer than this fraction of the distance between handles get full detail; at twice the
/// distance they get none.
const REACH: f64 = 0.5;

/// Weight of tangential distance from the source relative to normal distance.
const BESIDE: f64 = 6.0;

/// A target is coarser than its source if its edges are longer by this.
const COARSER: f64 = 1.3;

/// Targets are not subdivided beyond this number of vertices unless the user says so.
const ENOUGH_VERTICES: usize = 450_000;

/// Rounds of pulling handles to the target.
const ROUNDS: usize = 3;

/// Detail on another face, and how well the faces were aligned.
pub struct Transferred {
    /// The detail.
    pub detail: Detail,
    /// From the source's space to the target's, before deformation.
    pub similarity: Similarity,
    /// For each pair, its residual after the similarity, in the target's unit; outliers are wrong pairs.
    pub off: Vec<f64>,
    /// Mean distance of the deformed source from the target, over vertices with detail, in the target's unit.
    pub mean_distance: f64,
    /// Vertices that got detail.
    pub n_covered: usize,
    /// The source, deformed onto the target.
    pub bent: Vec<[f32; 3]>,
    /// Mean edge of the target in its unit, if that is too long for the finest detail, which was left out.
    pub smoothed_to: Option<f64>,
}

/// Mean edges of two faces between paired vertices: within the boxes around them.
fn edges_near(source: &FileMesh, target: &FileMesh, pairs: &[[u32; 2]]) -> [f64; 2] {
    [(source, 0), (target, 1)].map(|(mesh, side)| {
        let paired = || pairs.iter().map(|p| mesh.at(p[side]));
        let low = paired().fold(DVec3::INFINITY, DVec3::min);
        let high = paired().fold(DVec3::NEG_INFINITY, DVec3::max);
        let inside = |t: &&[u32; 3]| {
            let p = mesh.at(t[0]);
            p.cmpge(low).all() && p.cmple(high).all()
        };
        let edge = |t: &[u32; 3]| mesh.at(t[0]).distance(mesh.at(t[1]));
        let (sum, count) =
            mesh.triangles.iter().filter(inside).fold((0.0, 0), |(sum, n), t| (sum + edge(t), n + 1));
        sum / f64::from(count.max(1))
    })
}

/// Steps of subdivision after which the target has edges as short as the source, at most three.
pub fn steps_for(source: &FileMesh, target: &FileMesh, pairs: &[[u32; 2]]) -> usize {
    let [fine, coarse] = edges_near(source, target, pairs);
    let place = |mesh: &FileMesh, side: usize| pairs.iter().map(|p| mesh.at(p[side])).collect::<Vec<DVec3>>();
    let scale = Similarity::fit(&place(source, 0), &place(target, 1), &vec![1.0; pairs.len()]).scale;
    let fits = |n: usize| target.triangles.len() * 4usize.pow(n as u32) / 2 <= ENOUGH_VERTICES;
    let wanted = (0..3).find(|&n| coarse / f64::from(1u32 << n) <= COARSER * fine * scale).unwrap_or(3);
    (0..=wanted).rev().find(|&n| fits(n)).unwrap_or(0)
}

/// The source vertices that a target vertex interpolates, and their weights. All zero where none is near.
type Taken = [(u32, f32); 3];

impl Detail {
    /// This detail on another face; `pairs` are vertices of this face and of the other.
    pub fn transferred(
        &self,
        target: FileMesh,
        pairs: &[[u32; 2]],
        options: &ShellOptions,
        progress: &Progress,
    ) -> Result<Transferred, DetailError> {
        crate::check_rest(&target)?;
        if !self.model.is_pose_space() {
            return Err(DetailError::OnlyCompared);
        }
        if pairs.len() < 4 {
            return Err(DetailError::FewPairs { found: pairs.len() });
        }
        let [on_source, on_target] = [0, 1].map(|side| pairs.iter().map(|p| p[side]).collect::<Vec<u32>>());
        crate::shell::check_handles(&self.mesh, &on_source)?;
        crate::shell::check_handles(&target, &on_target)?;
        let place =
            |mesh: &FileMesh, vertices: &[u32]| vertices.iter().map(|&v| mesh.at(v)).collect::<Vec<DVec3>>();
        let (from, to) = (place(&self.mesh, &on_source), place(&target, &on_target));
        let similarity = Similarity::fit(&from, &to, &vec![1.0; pairs.len()]);
        let off = from.iter().zip(&to).map(|(p, q)| similarity.apply(*p).distance(*q)).collect();
        let ground = Ground::prepare(&target, &on_target);
        let bent = self.bent(&similarity, pairs, &to, &ground, options, progress)?;

        tick(progress, "nearest skin", 0.0)?;
        let spacing = self.features.spacing(&self.mesh) * similarity.scale;
        let (taken, distances) = taken(&self.mesh, &bent, &ground, spacing);
        let covered = taken.iter().zip(&distances).filter(|(t, _)| t[0].1 + t[1].1 + t[2].1 > 0.0);
        let (n_covered, sum) = covered.fold((0, 0.0), |(n, sum), (_, d)| (n + 1, sum + d));
        if n_covered == 0 {
            return Err(DetailError::Apart);
        }
        let handles = self.handles_on(&ground, &bent)?;
        let edges = FeatureGraph::given(&target, &handles, &self.features.edges)?;
        if edges.edges != self.features.edges {
            return Err(DetailError::Stiff);
        }
        let shell = crate::support::shell(&target, &handles, edges.spacing(&target), options, progress)?;
        tick(progress, "mixing weights", 0.0)?;
        let [fine, coarse] = edges_near(&self.mesh, &target, pairs);
        let is_coarser = coarse > COARSER * fine * similarity.scale;
        let smoothed = is_coarser.then(|| self.for_edges(coarse / similarity.scale, progress)).transpose()?;
        let source = smoothed.as_ref().unwrap_or(self);
        let turned = Turned::prepare(self, &bent, &ground, similarity.scale as f32);
        let n_poses = self.poses.len();
        let weight =
            |v: usize, pose: usize| turned.mixed(v, &taken[v], |s| source.weights[s * n_poses + pose]);
        let weights = (0..target.n_vertices()).into_par_iter();
        let weights = weights
            .with_min_len(256)
            .flat_map_iter(|v| (0..n_poses).map(move |p| weight(v, p)))
            .collect::<Vec<[f32; 3]>>();
        let displaced = |of: &Array<[f32; 3]>| -> Array<[f32; 3]> {
            let one = |v: usize| turned.mixed(v, &taken[v], |s| of[s]);
            (0..target.n_vertices())
                .into_par_iter()
                .with_min_len(256)
                .map(one)
                .collect::<Vec<[f32; 3]>>()
                .into()
        };
        let displacements = source.displacements.iter().map(displaced).collect();
        let relief = if source.relief.is_empty() { Array::default() } else { displaced(&source.relief) };
        let influence = self.influence_of(&taken);
        let detail = Detail {
            shell,
            handle_names: self.handle_names.clone(),
            steadiness: self.steadiness.clone(),
            features: edges,
            model: self.model,
            base: self.base,
            poses: self.poses.clone(),
            strains: self.strains.clone(),
            limits: self.limits.clone(),
            influence,
            weights: weights.into(),
            relief,
            displacements,
            mesh: target.clone(),
        };
        let bent = bent.iter().map(|p| p.to_array()).collect();
        let mean_distance = sum / n_covered as f64;
        let smoothed_to = is_coarser.then_some(coarse);
        Ok(Transferred { detail, similarity, off, mean_distance, n_covered, bent, smoothed_to })
    }

    /// The source's vertices, aligned and deformed onto the target.
    fn bent(
        &self,
        similarity: &Similarity,
        pairs: &[[u32; 2]],
        to: &[DVec3],
        ground: &Ground,
        options: &ShellOptions,
        progress: &Progress,
    ) -> Result<Vec<Vec3A>, DetailError> {
        let carried: Vec<DVec3> =
            (0..self.mesh.n_vertices() as u32).map(|v| similarity.apply(self.mesh.at(v))).collect();
        let paired: Vec<u32> = pairs.iter().map(|p| p[0]).collect();
        let through = |handles: &[u32], goals: &[DVec3]| -> Result<Vec<Vec3A>, DetailError> {
            let spacing = FeatureGraph::make(&self.mesh, handles).spacing(&self.mesh);
            let shell = Shell::prepare(&self.mesh, handles, spacing, options, progress)?;
            let moved: Vec<DVec3> =
                handles.iter().zip(goals).map(|(&v, goal)| *goal - carried[v as usize]).collect();
            let displaced = shell.displacements(&moved);
            Ok(carried.iter().zip(displaced).map(|(p, u)| (*p + u).as_vec3a()).collect())
        };
        let mut bent = through(&paired, to)?;
        let fans = Fans::prepare(bent.len(), &self.mesh.triangles);
        let spacing = self.features.spacing(&self.mesh) * similarity.scale;
        for _ in 0..ROUNDS {
            let (mut handles, mut goals) = (paired.clone(), to.to_vec());
            for &v in self.shell.handles.iter().filter(|v| !paired.contains(v)) {
                let here = bent[v as usize];
                let near = ground.nearest(here, fans.normal(v as usize, &bent));
                let is_room = handles.len() < crate::shell::MAX_HANDLES;
                if let Some((point, _)) = near.filter(|(_, distance)| is_room && *distance < spacing) {
                    handles.push(v);
                    goals.push(point);
                }
            }
            bent = through(&handles, &goals)?;
        }
        Ok(bent)
    }

    /// Target vertices nearest to the handles, no two at the same position.
    fn handles_on(&self, ground: &Ground, bent: &[Vec3A]) -> Result<Vec<u32>, DetailError> {
        let mut used = std::collections::BTreeSet::new();
        let mut handles = Vec::new();
        for &h in &self.shell.handles {
            let here = bent[h as usize];
            let free = |v: &&u32| !used.contains(&ground.mesh.positions[**v as usize].map(f32::to_bits));
            let far = |v: &u32| ground.x[*v as usize].distance_squared(here);
            let nearest = ground.skin.iter().filter(free).min_by(|a, b| far(a).total_cmp(&far(b)));
            let Some(&v) = nearest else {
                let (found, wanted) = (used.len(), self.shell.handles.len());
                let advice = ", one for each handle; subdivide the face";
                return Err(DetailError::Count {
                    what: "vertices of the other face".into(),
                    found,
                    wanted,
                    advice,
                });
            };
            used.insert(ground.mesh.positions[v as usize].map(f32::to_bits));
            handles.push(v);
        }
        Ok(handles)
    }

    /// Gauges of each target vertex, from those of its source vertices; the 16 with the largest weights.
    fn influence_of(&self, taken: &[Taken]) -> Influence {
        if !self.model.is_local() {
            return Influence::default();
        }
        let one = |taken: &Taken| {
            let mut sums = std::collections::BTreeMap::<usize, f32>::new();
            for &(source, share) in taken {
                self.influence
                    .of(source as usize)
                    .for_each(|(g, w)| *sums.entry(g).or_default() += w * share);
            }
            let mut sums: Vec<(usize, f32)> = sums.into_iter().filter(|(_, w)| *w > 0.0).collect();
            sums.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            sums.truncate(MAX_GAUGES);
            let total: f32 = sums.iter().map(|(_, w)| w).sum();
            let (mut gauges, mut weights) = ([0; MAX_GAUGES], [0.0; MAX_GAUGES]);
            for (k, (gauge, weight)) in sums.into_iter().enumerate() {
                (gauges[k], weights[k]) = (gauge as u16, weight / total);
            }
            (gauges, weights)
        };
        let (gauges, weights): (Vec<_>, Vec<_>) = taken.par_iter().with_min_len(256).map(one).unzip();
        Influence { gauges: gauges.into(), weights: weights.into() }
    }
}

/// The target, prepared for nearest-point queries.
struct Ground<'a> {
    mesh: &'a FileMesh,
    x: Vec<Vec3A>,
    fans: Fans,
    tree: Bvh,
    /// Vertices of the pieces that have a paired point: the others (eyes, teeth) get no detail.
    skin: Vec<u32>,
    is_skin: Vec<bool>,
}

impl<'a> Ground<'a> {
    fn prepare(mesh: &'a FileMesh, paired: &[u32]) -> Self {
        let connected = components::of_triangles(mesh.n_vertices(), &mesh.triangles);
        let pieces: std::collections::BTreeSet<u32> =
            paired.iter().map(|&v| connected.of_vertex[v as usize]).collect();
        let is_skin: Vec<bool> = connected.of_vertex.iter().map(|piece| pieces.contains(piece)).collect();
        Self {
            x: mesh.positions.iter().map(|&p| p.into()).collect(),
            fans: Fans::prepare(mesh.n_vertices(), &mesh.triangles),
            tree: Bvh::build(&mesh.positions, &mesh.triangles),
            skin: (0..mesh.n_vertices() as u32).filter(|&v| is_skin[v as usize]).collect(),
            is_skin,
            mesh,
        }
    }

    /// The nearest point of the skin that faces the same way, and its distance.
    fn nearest(&self, p: Vec3A, normal: Vec3A) -> Option<(DVec3, f64)> {
        let p = Vec3::from(p).as_dvec3();
        let accept = |_, t: [u32; 3]| self.is_skin[t[0] as usize] && faces(&self.x, t, normal);
        self.tree.closest_within(p, f64::INFINITY, accept).map(|c| (c.point, c.distance_sq.sqrt()))
    }
}

fn faces(x: &[Vec3A], t: [u32; 3], normal: Vec3A) -> bool {
    let [a, b, c] = t.map(|v| x[v as usize]);
    let n = (b - a).cross(c - a);
    n.dot(normal) > SAME_WAY * n.length()
}

/// The source vertices that each target vertex interpolates, and their distance.
fn taken(source: &FileMesh, bent: &[Vec3A], ground: &Ground, spacing: f64) -> (Vec<Taken>, Vec<f64>) {
    let positions: Vec<[f32; 3]> = bent.iter().map(|p| p.to_array()).collect();
    let tree = Bvh::build(&positions, &source.triangles);
    let reach = REACH * spacing;
    let one = |v: usize| {
        let nothing = ([(0, 0.0); 3], f64::INFINITY);
        if !ground.is_skin[v] {
            return nothing;
        }
        let normal = ground.fans.normal(v, &ground.x);
        let here = ground.mesh.at(v as u32);
        let Some(found) = tree.closest_within(here, 2.0 * reach, |_, t| faces(bent, t, normal)) else {
            return nothing;
        };
        let distance = found.distance_sq.sqrt();
        let corners = source.triangles[found.triangle as usize];
        let [a, b, c] = corners.map(|v| Vec3::from(bent[v as usize]).as_dvec3());
        // Beyond the border of the source the nearest point is always on its rim, which would smear detail
        // into stripes.
        let above = (here - found.point).dot((b - a).cross(c - a).normalize_or_zero()).abs();
        let aside = (found.distance_sq - above * above).max(0.0).sqrt();
        let fade = (2.0 - (above + BESIDE * aside) / reach).clamp(0.0, 1.0);
        let fade: f64 = smoothstep(fade);
        (std::array::from_fn(|k| (corners[k], (found.barycentric[k] * fade) as f32)), distance)
    };
    (0..ground.mesh.n_vertices()).into_par_iter().with_min_len(64).map(one).unzip()
}

/// Frames of the deformed source and of the target.
struct Turned<'a> {
    source: LocalFrames,
    bent: &'a [Vec3A],
    target: LocalFrames,
    x: &'a [Vec3A],
    scale: f32,
}

impl<'a> Turned<'a> {
    fn prepare(detail: &Detail, bent: &'a [Vec3A], ground: &'a Ground, scale: f32) -> Self {
        Self {
            source: detail.frames(),
            bent,
            target: LocalFrames::prepare(&ground.fans, &ground.x),
            x: &ground.x,
            scale,
        }
    }

    /// Interpolates vectors from the source's frames to the target's.
    fn mixed(&self, v: usize, taken: &Taken, of: impl Fn(usize) -> [f32; 3]) -> [f32; 3] {
        let mut sum = Vec3A::ZERO;
        for &(source, share) in taken.iter().filter(|(_, share)| *share > 0.0) {
            let [a, b, c] = of(source as usize);
            let [t, u, n] = self.source.at(source as usize, self.bent);
            sum += (t * a + u * b + n * c) * (share * self.scale);
        }
        self.target.at(v, self.x).map(|axis| axis.dot(sum))
    }
}
