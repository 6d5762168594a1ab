//! Learns a [`Detail`] from a mesh, handles and examples [Bickel08, sec. 5].
//!
//! The fine displacement of an example is its difference from the shell driven to the same handles, expressed
//! in the local frames of that shell. The rest pose is an example with zero displacement. Either all examples
//! form the basis and are reproduced exactly, or a basis is chosen greedily: starting from the rest pose, the
//! pose that leaves the least error is added, until there are enough poses or all examples are within the
//! tolerance. Weights then fit all examples in the least squares sense. Poses are chosen on a subset of the
//! vertices; weights are then computed for all.
//!
//! To remove head motion, each pose is first rigidly aligned with the rest pose by its handles. The player
//! does the same and transforms the result back.

use crate::align::Aligned;
use crate::frames::{Fans, LocalFrames};
use crate::pose_space::{Influence, PoseModel, Solver, convex, whole_distance};
use crate::{DetailError, FeatureGraph, Shell, ShellOptions};
use glam::{DVec3, Vec3, Vec3A};
use rayon::prelude::*;
use risorius_base::Array;
use risorius_base::progress::{Progress, tick};
use risorius_mesh::FileMesh;

/// Largest number of vertices on which a basis is chosen.
const SAMPLED: usize = 2000;

/// Largest number of poses, including the rest, that are reproduced exactly: time grows with its cube.
const MOST_EXACT: usize = 65;

/// Number of vertices whose weights are computed between progress reports.
const AT_ONCE: usize = 16384;

/// Largest number of poses that are tried as the next of a basis, and of vertices that they are tried on.
const CANDIDATES: usize = 24;
const TRIED_ON: usize = 500;

/// Weight of the whole face where examples are blended locally, so that the blend is always well defined.
const WHOLE: f32 = 0.01;

/// How far the range of a gauge is extended beyond the examples, in its width. Lids and lips tear where it is
/// much more: neighboring vertices extrapolate differently.
const BEYOND: f32 = 0.15;

/// Poses of the mesh.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Examples {
    /// A name for each.
    pub names: Vec<String>,
    /// Positions of all vertices, for each.
    pub positions: Vec<Vec<[f32; 3]>>,
    /// The same poses without detail, like the animation that detail will be added to; empty when only the
    /// handles are known.
    pub plain: Vec<Vec<[f32; 3]>>,
}

/// Which poses form the basis of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fit {
    /// All examples, exactly.
    All,
    /// This number of poses, including the rest, chosen greedily; all examples are fitted.
    Basis(usize),
    /// As many as it takes to be within this distance of every vertex of every example, in the mesh's unit.
    Tolerance(f64),
}

/// How to learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnOptions {
    /// How displacements follow from strains.
    pub model: PoseModel,
    /// Which poses form the basis.
    pub fit: Fit,
    /// The large scale.
    pub shell: ShellOptions,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self { model: PoseModel::Wpsd, fit: Fit::All, shell: ShellOptions::default() }
    }
}

/// What displacements were learned to be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    /// The shell through the handles.
    Shell,
    /// An animation with a large scale of its own.
    Animation,
}

/// A learned face.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// The face at rest.
    pub mesh: FileMesh,
    /// The large scale.
    pub shell: Shell,
    /// Names of the handles, such as those of the markers that drive them; empty when they have none.
    pub handle_names: Vec<String>,
    /// How much each handle counts when a pose is aligned with the rest, 0 to 1; empty when all count the
    /// same. Handles that stay still in the examples count most.
    pub steadiness: Vec<f32>,
    /// Strain gauges.
    pub features: FeatureGraph,
    /// How displacements follow from strains.
    pub model: PoseModel,
    /// What they are added to.
    pub base: Base,
    /// Names of the poses of the basis; the rest pose is first.
    pub poses: Vec<String>,
    /// Features of each pose: strains of the gauges; for blend shapes the displacements of the handles, three
    /// numbers each.
    pub strains: Vec<Vec<f32>>,
    /// Least and largest strain of each gauge; strains are clamped to this range. It is the range of the
    /// examples, extended a little on both sides. Distances are unbounded, so without clamping the
    /// displacements of an over-driven face would be unbounded too.
    pub limits: Vec<[f32; 2]>,
    /// Which gauges act on which vertex; empty for models that are not local.
    pub influence: Influence,
    /// For each vertex, one for each pose: weights of distances in local frames, or displacements from the
    /// rest for blend shapes.
    pub weights: Array<[f32; 3]>,
    /// Displacements common to all poses, in local frames: pores, scars. Empty when there are none.
    pub relief: Array<[f32; 3]>,
    /// For each pose of the basis the displacement of every vertex that it was learned from, in local frames.
    pub displacements: Vec<Array<[f32; 3]>>,
}

/// Learns from examples. `features` is built when not given.
pub fn learn(
    mesh: FileMesh,
    handles: &[u32],
    features: Option<FeatureGraph>,
    examples: &Examples,
    options: &LearnOptions,
    progress: &Progress,
) -> Result<Detail, DetailError> {
    crate::check_rest(&mesh)?;
    crate::shell::check_handles(&mesh, handles)?;
    check_examples(&mesh, examples)?;
    tick(progress, "strain gauges", 0.0)?;
    let features = features.unwrap_or_else(|| FeatureGraph::make(&mesh, handles));
    let shell = Shell::prepare(&mesh, handles, features.spacing(&mesh), &options.shell, progress)?;
    let influence = match options.model.is_local() {
        true => Influence::prepare(&mesh, handles, &features),
        false => Influence::default(),
    };
    // Detail that is added to animations does not depend on the alignment.
    let steadiness = match examples.plain.is_empty() {
        true => crate::align::steadiness(&mesh, handles, &features, &examples.positions),
        false => Vec::new(),
    };
    let mut detail = Detail {
        model: options.model,
        steadiness,
        base: if examples.plain.is_empty() { Base::Shell } else { Base::Animation },
        handle_names: Vec::new(),
        poses: Vec::new(),
        strains: Vec::new(),
        limits: Vec::new(),
        weights: Array::default(),
        relief: Array::default(),
        displacements: Vec::new(),
        mesh,
        shell,
        features,
        influence,
    };
    tick(progress, "fine displacements", 0.0)?;
    let mut all = Training::prepare(&detail, examples, progress)?;
    detail.limits = limits(&all.strains);
    let basis = all.choose(&detail, options.fit, progress)?;
    detail.weights = all.all_weights(&detail, &basis, progress)?.into();
    detail.poses = basis.iter().map(|&t| all.names[t].clone()).collect();
    detail.strains = basis.iter().map(|&t| all.strains[t].clone()).collect();
    detail.displacements = basis.iter().map(|&t| std::mem::take(&mut all.displacements[t]).into()).collect();
    Ok(detail)
}

/// The range of each gauge's strain over the examples, extended by a part of its width on both sides.
fn limits(strains: &[Vec<f32>]) -> Vec<[f32; 2]> {
    let one = |gauge: usize| {
        let seen = |f: fn(f32, f32) -> f32| strains.iter().map(|pose| pose[gauge]).fold(0.0, f);
        let (low, high) = (seen(f32::min), seen(f32::max));
        [low - BEYOND * (high - low), high + BEYOND * (high - low)]
    };
    (0..strains.first().map_or(0, Vec::len)).map(one).collect()
}

/// Strains clamped to their limits.
pub(crate) fn within(strains: &[f32], limits: &[[f32; 2]]) -> Vec<f32> {
    strains.iter().zip(limits).map(|(f, [low, high])| f.max(*low).min(*high)).collect()
}

fn check_examples(mesh: &FileMesh, examples: &Examples) -> Result<(), DetailError> {
    if !examples.plain.is_empty() && examples.plain.len() != examples.positions.len() {
        let (found, wanted) = (examples.plain.len(), examples.positions.len());
        let advice = ", one for each example";
        return Err(DetailError::Count { what: "poses without detail".into(), found, wanted, advice });
    }
    let both =
        examples.names.iter().zip(&examples.positions).chain(examples.names.iter().zip(&examples.plain));
    for (name, positions) in both {
        if positions.len() != mesh.n_vertices() {
            let (found, wanted) = (positions.len(), mesh.n_vertices());
            let advice = ", as in the rest mesh; examples must have its vertices, in its order";
            return Err(DetailError::Count {
                what: format!("vertices of example '{name}'"),
                found,
                wanted,
                advice,
            });
        }
        if let Some(vertex) = positions.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(DetailError::NotFinite { what: format!("example '{name}'"), vertex });
        }
    }
    Ok(())
}

/// All examples, the rest pose first.
struct Training {
    names: Vec<String>,
    strains: Vec<Vec<f32>>,
    /// In local frames, or from the rest for blend shapes.
    displacements: Vec<Vec<[f32; 3]>>,
}

impl Training {
    fn prepare(detail: &Detail, examples: &Examples, progress: &Progress) -> Result<Self, DetailError> {
        let n = detail.mesh.n_vertices();
        let frames = detail.frames();
        let mut all = Self {
            names: vec!["rest".into()],
            strains: vec![vec![0.0; detail.n_felt()]],
            displacements: vec![vec![[0.0; 3]; n]],
        };
        for (k, (name, positions)) in examples.names.iter().zip(&examples.positions).enumerate() {
            tick(progress, "fine displacements", k as f32 / examples.names.len() as f32)?;
            let plain = examples.plain.get(k).map(Vec::as_slice);
            let (strains, displacements) = detail.extract(&frames, positions, plain);
            all.names.push(name.clone());
            all.strains.push(strains);
            all.displacements.push(displacements);
        }
        Ok(all)
    }

    /// The poses of the basis, the rest first.
    fn choose(&self, detail: &Detail, fit: Fit, progress: &Progress) -> Result<Vec<usize>, DetailError> {
        let count = self.names.len();
        let (most, tolerance) = match fit {
            Fit::All if count > MOST_EXACT => return Err(DetailError::ManyExamples { found: count - 1 }),
            Fit::All => return Ok((0..count).collect()),
            Fit::Basis(n) => (n.clamp(1, count), 0.0),
            Fit::Tolerance(t) if t > 0.0 => (count, t),
            Fit::Tolerance(value) => {
                return Err(DetailError::Option { what: "the tolerance", value, wanted: "positive" });
            }
        };
        let n = detail.mesh.n_vertices();
        let mut sampled: Vec<u32> = (0..n as u32).step_by(n.div_ceil(SAMPLED).max(1)).collect();
        let tried_on = if detail.model.is_pose_space() { TRIED_ON } else { TRIED_ON / 5 };
        let mut basis = vec![0];
        while basis.len() < most {
            let few: Vec<u32> = sampled.iter().step_by(SAMPLED / tried_on).copied().collect();
            let few = &few;
            tick(progress, "choosing poses", basis.len() as f32 / most as f32)?;
            let weights = self.weights(detail, &basis, Some(&sampled));
            let errors: Vec<[f64; 2]> = (0..count)
                .into_par_iter()
                .map(|t| self.error(detail, &basis, &sampled, &weights, t))
                .collect();
            if tolerance > 0.0 && errors.iter().all(|[_, worst]| *worst <= tolerance) {
                // Check the tolerance at all vertices, not only at the sampled ones.
                let beyond = self.beyond(detail, &basis, tolerance, progress)?;
                if beyond.is_empty() {
                    break;
                }
                sampled.extend(beyond);
                continue;
            }
            let mut unused: Vec<usize> =
                (0..count).filter(|t| !basis.contains(t) && errors[*t][0] > 0.0).collect();
            unused.sort_by(|&a, &b| errors[b][0].total_cmp(&errors[a][0]));
            // Try the poses with the largest error and some of the others: the worst are often one
            // expression, for which one pose is enough.
            let step = unused.len().div_ceil(CANDIDATES).max(1);
            let candidates: Vec<usize> = unused.iter().step_by(step).copied().collect();
            let left = |&next: &usize| {
                let with: Vec<usize> = basis.iter().copied().chain([next]).collect();
                let weights = self.weights(detail, &with, Some(few));
                (0..count).map(|t| self.error(detail, &with, few, &weights, t)[0]).sum::<f64>()
            };
            let left: Vec<f64> = candidates.par_iter().map(left).collect();
            let best = (0..left.len()).reduce(|best, k| if left[k] < left[best] { k } else { best });
            let Some(best) = best else { break };
            basis.push(candidates[best]);
        }
        Ok(basis)
    }

    /// Weights of all vertices, in chunks, so that progress can be reported.
    fn all_weights(
        &self,
        detail: &Detail,
        basis: &[usize],
        progress: &Progress,
    ) -> Result<Vec<[f32; 3]>, DetailError> {
        let n = detail.mesh.n_vertices();
        let all: Vec<u32> = (0..n as u32).collect();
        let mut weights = Vec::with_capacity(n * basis.len());
        for some in all.chunks(AT_ONCE) {
            tick(progress, "weights", some[0] as f32 / n as f32)?;
            weights.append(&mut self.weights(detail, basis, Some(some)));
        }
        Ok(weights)
    }

    /// The worst of all vertices whose error in some example exceeds the tolerance.
    fn beyond(
        &self,
        detail: &Detail,
        basis: &[usize],
        tolerance: f64,
        progress: &Progress,
    ) -> Result<Vec<u32>, DetailError> {
        let weights = self.all_weights(detail, basis, progress)?;
        let worst = |v: u32| {
            let weights = &weights[v as usize * basis.len()..(v as usize + 1) * basis.len()];
            let errors = (0..self.names.len()).map(|t| self.error(detail, basis, &[v], weights, t)[1]);
            (errors.fold(0.0, f64::max), v)
        };
        let all = (0..detail.mesh.n_vertices() as u32).into_par_iter().with_min_len(256).map(worst);
        let mut beyond: Vec<(f64, u32)> = all.filter(|(error, _)| *error > tolerance).collect();
        beyond.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        Ok(beyond.into_iter().take(TRIED_ON).map(|(_, v)| v).collect())
    }

    /// Sum of squared errors of an example, and the largest error of a vertex.
    fn error(
        &self,
        detail: &Detail,
        basis: &[usize],
        sampled: &[u32],
        weights: &[[f32; 3]],
        example: usize,
    ) -> [f64; 2] {
        let strains: Vec<&[f32]> = basis.iter().map(|&t| self.strains[t].as_slice()).collect();
        let whole = detail.shares(None, &self.strains[example], &strains);
        let mut sum = [0.0f64; 2];
        for (weights, &v) in weights.chunks(basis.len()).zip(sampled) {
            let local;
            let shares = if detail.model.is_local() {
                local = detail.shares(Some(v as usize), &self.strains[example], &strains);
                &local
            } else {
                &whole
            };
            let wanted = Vec3::from(self.displacements[example][v as usize]);
            let off = f64::from((combined(weights, shares) - wanted).length());
            sum = [sum[0] + off * off, sum[1].max(off)];
        }
        sum
    }

    /// Weights for all vertices, or for some.
    fn weights(&self, detail: &Detail, basis: &[usize], some: Option<&[u32]>) -> Vec<[f32; 3]> {
        let n = some.map_or(detail.mesh.n_vertices(), <[u32]>::len);
        let vertex = |k: usize| some.map_or(k, |some| some[k] as usize);
        if !detail.model.is_pose_space() {
            // Blend shapes are the examples themselves.
            let of = |k: usize| basis.iter().map(move |&t| self.displacements[t][vertex(k)]);
            return (0..n).flat_map(of).collect();
        }
        let examples: Vec<usize> =
            if basis.len() == self.names.len() { basis.to_vec() } else { (0..self.names.len()).collect() };
        let solver = |distance: &dyn Fn(&[f32], &[f32]) -> f32| {
            let pair = |&t: &usize| {
                basis.iter().map(move |&p| f64::from(distance(&self.strains[t], &self.strains[p])))
            };
            Solver::prepare(&examples.iter().flat_map(pair).collect::<Vec<f64>>(), basis.len())
        };
        let whole = (!detail.model.is_local()).then(|| solver(&whole_distance));
        let one = |k: usize| {
            let v = vertex(k);
            let local;
            let solver = match &whole {
                Some(whole) => whole,
                None => {
                    local = solver(&|f, g| detail.influence.distance(v, f, g));
                    &local
                }
            };
            let displacements: Vec<Vec3> =
                examples.iter().map(|&t| Vec3::from(self.displacements[t][v])).collect();
            solver.weights(&displacements).into_iter().map(|w| w.to_array()).collect::<Vec<[f32; 3]>>()
        };
        (0..n).into_par_iter().with_min_len(64).flat_map_iter(one).collect()
    }
}

impl Detail {
    /// Rest positions of the handles.
    pub fn rest_handles(&self) -> Vec<DVec3> {
        self.shell.handles.iter().map(|&v| self.mesh.at(v)).collect()
    }

    /// Local frames, in which displacements are expressed.
    pub(crate) fn frames(&self) -> LocalFrames {
        let rest: Vec<Vec3A> = self.mesh.positions.iter().map(|&p| p.into()).collect();
        LocalFrames::prepare(&Fans::prepare(rest.len(), &self.mesh.triangles), &rest)
    }

    /// The large scale for handles that are aligned with the rest.
    pub(crate) fn large_scale(&self, handles: &[DVec3]) -> Vec<Vec3A> {
        let moved: Vec<DVec3> = handles.iter().zip(self.rest_handles()).map(|(p, rest)| *p - rest).collect();
        let displaced = self.shell.displacements(&moved);
        let mut x: Vec<Vec3A> =
            displaced.iter().zip(0..).map(|(u, v)| (self.mesh.at(v) + *u).as_vec3().into()).collect();
        self.shell.handles.iter().zip(handles).for_each(|(&v, p)| x[v as usize] = p.as_vec3().into());
        x
    }

    /// The strains of a pose, and its displacements from its plain version or, without one, from the large
    /// scale.
    pub(crate) fn extract(
        &self,
        frames: &LocalFrames,
        positions: &[[f32; 3]],
        plain: Option<&[[f32; 3]]>,
    ) -> (Vec<f32>, Vec<[f32; 3]>) {
        let aligned = self.aligned(plain.unwrap_or(positions));
        let back = aligned.carried.inverse();
        let laid_back = |p: &[f32; 3]| back.apply(Vec3::from(*p).as_dvec3());
        if !self.model.is_pose_space() {
            let one =
                |(v, p): (usize, &[f32; 3])| (laid_back(p) - self.mesh.at(v as u32)).as_vec3().to_array();
            return (
                self.felt(&aligned),
                positions.par_iter().enumerate().map(|(v, p)| one((v, p))).collect(),
            );
        }
        let large = match plain {
            Some(plain) => plain.par_iter().map(|p| laid_back(p).as_vec3a()).collect(),
            None => self.large_scale(&aligned.handles),
        };
        let one = |v: usize| {
            let d = laid_back(&positions[v]).as_vec3a() - large[v];
            frames.at(v, &large).map(|axis| axis.dot(d))
        };
        (aligned.strains, (0..positions.len()).into_par_iter().map(one).collect())
    }

    /// A pose of the whole mesh, aligned with the rest by its handles.
    fn aligned(&self, positions: &[[f32; 3]]) -> Aligned {
        let at = |&v: &u32| Vec3::from(positions[v as usize]).as_dvec3();
        let handles: Vec<DVec3> = self.shell.handles.iter().map(at).collect();
        Aligned::new(&self.rest_handles(), &handles, &self.steadiness, &self.features)
    }

    /// Length of the feature vector of a pose.
    pub fn n_felt(&self) -> usize {
        if self.model.is_pose_space() { self.features.edges.len() } else { 3 * self.shell.handles.len() }
    }

    /// The feature vector of a pose: see [`Self::strains`].
    fn felt(&self, aligned: &Aligned) -> Vec<f32> {
        if self.model.is_pose_space() {
            return aligned.strains.clone();
        }
        let moved = aligned.handles.iter().zip(self.rest_handles()).map(|(p, rest)| *p - rest);
        moved.flat_map(|u| u.as_vec3().to_array()).collect()
    }

    /// The factor of each pose of the basis at a vertex, or over the whole face: its distance, or for blend
    /// shapes its blend weight.
    pub(crate) fn shares(&self, vertex: Option<usize>, f: &[f32], poses: &[&[f32]]) -> Vec<f32> {
        let even = (0..f.len()).map(|i| (i, 1.0));
        match (self.model.is_pose_space(), vertex) {
            (true, Some(v)) => poses.iter().map(|g| self.influence.distance(v, f, g)).collect(),
            (true, None) => poses.iter().map(|g| whole_distance(f, g)).collect(),
            (false, Some(v)) => {
                let faint = WHOLE / f.len().max(1) as f32;
                let ends = |(gauge, w): (usize, f32)| self.features.edges[gauge].map(|h| (h as usize, w));
                let near = self.influence.of(v).flat_map(ends);
                let near = near.flat_map(|(h, w)| [(3 * h, w), (3 * h + 1, w), (3 * h + 2, w)]);
                convex(f, poses, near.chain(even.map(move |(i, w)| (i, w * faint))))
            }
            (false, None) => convex(f, poses, even),
        }
    }

    /// Positions of all vertices for given handles, evaluated by definition; the reference for tests of the
    /// player.
    pub fn by_definition(&self, handles: &[DVec3]) -> Vec<DVec3> {
        let aligned = Aligned::new(&self.rest_handles(), handles, &self.steadiness, &self.features);
        let large = self.large_scale(&aligned.handles);
        self.displaced(&within(&self.felt(&aligned), &self.limits), &large)
            .into_iter()
            .map(|p| aligned.carried.apply(p))
            .collect()
    }

    /// Detail on a mesh with an animation of its own, evaluated by definition.
    pub fn on_by_definition(&self, moved: &[[f32; 3]]) -> Vec<DVec3> {
        let large: Vec<Vec3A> = moved.iter().map(|&p| p.into()).collect();
        self.displaced(&within(&self.felt(&self.aligned(moved)), &self.limits), &large)
    }

    /// Adds detail to a large scale; blend shapes do not need one.
    fn displaced(&self, strains: &[f32], large: &[Vec3A]) -> Vec<DVec3> {
        let poses: Vec<&[f32]> = self.strains.iter().map(Vec::as_slice).collect();
        let whole = (!self.model.is_local()).then(|| self.shares(None, strains, &poses));
        let frames = self.frames();
        let one = |v: usize| {
            let local;
            let shares = match &whole {
                Some(whole) => whole,
                None => {
                    local = self.shares(Some(v), strains, &poses);
                    &local
                }
            };
            let relief = self.relief.get(v).map_or(Vec3::ZERO, |&r| r.into());
            let d = combined(&self.weights[v * poses.len()..(v + 1) * poses.len()], shares) + relief;
            match self.model.is_pose_space() {
                true => {
                    let [t, b, n] = frames.at(v, large);
                    Vec3::from(large[v] + t * d.x + b * d.y + n * d.z).as_dvec3()
                }
                false => self.mesh.at(v as u32) + d.as_dvec3(),
            }
        };
        (0..self.mesh.n_vertices()).into_par_iter().map(one).collect()
    }
}

pub(crate) fn combined(weights: &[[f32; 3]], shares: &[f32]) -> Vec3 {
    weights.iter().zip(shares).map(|(w, s)| Vec3::from(*w) * *s).sum()
}
