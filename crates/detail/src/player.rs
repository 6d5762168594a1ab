//! Plays a [`Detail`]: handles in, all vertices and normals out, in real time.
//!
//! Three passes over the vertices, each on all threads. The first computes the large scale `B u_H`: a block
//! of neighboring vertices reads only handles with a weight above 1e-5; the dropped weights are added to the
//! handle with the largest weight, so that rows still sum to one. The second computes frames of the large
//! scale, distances to the poses of the basis, and fine displacements; the third, normals of the result.
//! Vertices are kept in the player's own order, in which spatial neighbors are close;
//! [`DetailPlayer::in_mesh_order`] converts to the mesh's order. Squared differences of strains are the same
//! for all vertices and come from a small table. Only pose-space models are played; blend shapes, which exist
//! for comparison, are evaluated by definition.

use crate::align::Aligned;
use crate::blocks::{Blocks, LANES, Lane};
use crate::frames::Fans;
use crate::kernels::{FanBlocks, FrameBlocks, displaced, driven, in_frames, local_distances, put_upright};
use crate::learn::within;
use crate::{Detail, DetailError, PoseModel};
use glam::{DMat3, DVec3, Vec3, Vec3A};
use rayon::prelude::*;

/// Blocks per task.
const TOGETHER: usize = 64;

/// Handles whose weights are all below this in a block are left out there.
const NEGLIGIBLE: f32 = 1e-5;

/// A face ready to be played.
pub struct DetailPlayer {
    detail_handles: Vec<DVec3>,
    steadiness: Vec<f32>,
    features: crate::FeatureGraph,
    strains: Vec<Vec<f32>>,
    limits: Vec<[f32; 2]>,
    n_vertices: usize,
    /// Vertices in the order of blocks.
    order: Vec<u32>,
    /// Index of each vertex in that order.
    place: Vec<u32>,
    /// Rest positions, in that order.
    rest: Vec<Vec3A>,
    /// Indices of the handles in that order.
    handle_places: Vec<u32>,
    fans: FanBlocks,
    frames: FrameBlocks,
    basis: Blocks,
    /// Only for local models; in others a pose has the same distance at all vertices.
    gauges: Option<Blocks>,
    /// Three columns for each pose, and three for relief, whose distance is always one.
    weights: Blocks,
}

/// Output and working memory of a frame; kept by the caller between frames.
#[derive(Debug, Clone, Default)]
pub struct PlayedFrame {
    large: Vec<Vec3A>,
    fine: Vec<Vec3A>,
    /// Positions of all vertices, in the player's order: see [`DetailPlayer::in_mesh_order`].
    pub positions: Vec<[f32; 3]>,
    /// Unit normals of all vertices, in the player's order.
    pub normals: Vec<[f32; 3]>,
    /// Seconds for the large scale, the fine scale with its frames, and the normals with the output.
    pub seconds: [f64; 3],
}

impl DetailPlayer {
    /// Packs a model.
    pub fn prepare(detail: &Detail) -> Result<Self, DetailError> {
        if !detail.model.is_pose_space() {
            return Err(DetailError::OnlyCompared);
        }
        let n = detail.mesh.n_vertices();
        let order = in_space(&detail.mesh.positions);
        let mut place = vec![0u32; n];
        order.iter().zip(0..).for_each(|(&v, k)| place[v as usize] = k);
        let n_blocks = n.div_ceil(LANES);
        // The last block is padded with the last vertex.
        let vertex = |block: usize, lane: usize| order[(block * LANES + lane).min(n - 1)] as usize;
        let n_poses = detail.strains.len();
        let has_relief = !detail.relief.is_empty();
        let weights = Blocks::pack(n_blocks, |block| {
            let entry = |column: usize, lane| match column / 3 {
                pose if pose < n_poses => detail.weights[vertex(block, lane) * n_poses + pose][column % 3],
                _ => detail.relief[vertex(block, lane)][column % 3],
            };
            (0..3 * (n_poses + usize::from(has_relief)))
                .map(|c| (c as u16, std::array::from_fn(|lane| entry(c, lane))))
                .collect()
        });
        let gauges = (detail.model == PoseModel::Wpsd).then(|| {
            Blocks::pack(n_blocks, |block| {
                let mut columns = std::collections::BTreeMap::<u16, Lane>::new();
                for lane in 0..LANES {
                    for (gauge, weight) in detail.influence.of(vertex(block, lane)) {
                        columns.entry(gauge as u16).or_insert([0.0; LANES])[lane] = weight;
                    }
                }
                columns.into_iter().collect()
            })
        });
        let basis = Blocks::pack(n_blocks, |block| packed_rows(detail, |lane| vertex(block, lane)));
        Ok(Self {
            detail_handles: detail.rest_handles(),
            steadiness: detail.steadiness.clone(),
            features: detail.features.clone(),
            strains: detail.strains.clone(),
            limits: detail.limits.clone(),
            n_vertices: n,
            rest: order.iter().map(|&v| detail.mesh.positions[v as usize].into()).collect(),
            handle_places: detail.shell.handles.iter().map(|&v| place[v as usize]).collect(),
            fans: FanBlocks::pack(Fans::prepare(n, &detail.mesh.triangles).reordered(&order), n),
            frames: FrameBlocks::pack(detail.frames().reordered(&order), n),
            order,
            place,
            basis,
            gauges,
            weights,
        })
    }

    /// Number of handles.
    pub fn n_handles(&self) -> usize {
        self.detail_handles.len()
    }

    /// Bytes that a frame reads of the model: large scale, fine scale with its frames, and normals.
    pub fn n_bytes(&self) -> [usize; 3] {
        let fine =
            self.weights.n_bytes() + self.frames.n_bytes() + self.gauges.as_ref().map_or(0, Blocks::n_bytes);
        [self.basis.n_bytes() + 16 * self.n_vertices, fine, self.fans.n_bytes() + 4 * self.n_vertices]
    }

    /// Evaluates the face for given handle positions.
    pub fn frame(&self, handles: &[DVec3], stage: &mut PlayedFrame) -> Result<(), DetailError> {
        if handles.len() != self.n_handles() {
            let (found, wanted) = (handles.len(), self.n_handles());
            return Err(DetailError::Count { what: "handles".into(), found, wanted, advice: "" });
        }
        if let Some(handle) = handles.iter().position(|p| !p.is_finite()) {
            return Err(DetailError::NotFinite { what: "the handles".into(), vertex: handle });
        }
        let start = std::time::Instant::now();
        let aligned = Aligned::new(&self.detail_handles, handles, &self.steadiness, &self.features);
        self.large_scale(&aligned.handles, &mut stage.large);
        let large = std::time::Instant::now();
        self.fine_scale(&within(&aligned.strains, &self.limits), &stage.large, &mut stage.fine);
        let fine = std::time::Instant::now();
        let turn = DMat3::from_quat(aligned.carried.rotation).as_mat3();
        self.put_out(turn.into(), aligned.carried.translation.as_vec3a(), &mut *stage);
        stage.seconds =
            [large - start, fine - large, fine.elapsed()].map(|span: std::time::Duration| span.as_secs_f64());
        Ok(())
    }

    /// Adds detail to a mesh with an animation of its own, given in the mesh's vertex order; there is no
    /// large-scale step.
    pub fn on(&self, moved: &[[f32; 3]], stage: &mut PlayedFrame) -> Result<(), DetailError> {
        if moved.len() != self.n_vertices {
            let (found, wanted) = (moved.len(), self.n_vertices);
            return Err(DetailError::Count {
                what: "vertices of the animation".into(),
                found,
                wanted,
                advice: "",
            });
        }
        if let Some(vertex) = moved.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(DetailError::NotFinite { what: "the animation".into(), vertex });
        }
        let start = std::time::Instant::now();
        let handle = |&p: &u32| Vec3::from(moved[self.order[p as usize] as usize]).as_dvec3();
        let handles: Vec<DVec3> = self.handle_places.iter().map(handle).collect();
        stage.large.clear();
        stage.large.par_extend(self.order.par_iter().map(|&v| Vec3A::from(moved[v as usize])));
        let large = std::time::Instant::now();
        self.fine_scale(
            &within(&self.features.strains(&handles), &self.limits),
            &stage.large,
            &mut stage.fine,
        );
        let fine = std::time::Instant::now();
        self.put_out(glam::Mat3A::IDENTITY, Vec3A::ZERO, &mut *stage);
        stage.seconds =
            [large - start, fine - large, fine.elapsed()].map(|span: std::time::Duration| span.as_secs_f64());
        Ok(())
    }

    fn large_scale(&self, handles: &[DVec3], large: &mut Vec<Vec3A>) {
        let moved: Vec<Vec3> =
            handles.iter().zip(&self.detail_handles).map(|(p, rest)| (*p - *rest).as_vec3()).collect();
        large.resize(self.n_vertices, Vec3A::ZERO);
        let tasks = large.par_chunks_mut(TOGETHER * LANES).zip(self.rest.par_chunks(TOGETHER * LANES));
        tasks.enumerate().for_each(|(task, (large, rest))| {
            let blocks = large.chunks_mut(LANES).zip(rest.chunks(LANES));
            for (block, (large, rest)) in (task * TOGETHER..).zip(blocks) {
                let sums = driven(&self.basis, block, &moved);
                for (lane, (x, rest)) in large.iter_mut().zip(rest).enumerate() {
                    *x = *rest + Vec3A::new(sums[0][lane], sums[1][lane], sums[2][lane]);
                }
            }
        });
        self.handle_places.iter().zip(handles).for_each(|(&place, p)| large[place as usize] = p.as_vec3a());
    }

    fn fine_scale(&self, strains: &[f32], large: &[Vec3A], fine: &mut Vec<Vec3A>) {
        let n_poses = self.strains.len();
        // Squared differences of strains: gauge after gauge, all poses.
        let square =
            |i: usize, p: usize| (strains[i] - self.strains[p][i]) * (strains[i] - self.strains[p][i]);
        let squares: Vec<f32> =
            (0..strains.len() * n_poses).map(|k| square(k / n_poses, k % n_poses)).collect();
        let whole: Vec<f32> =
            self.strains.iter().map(|g| crate::pose_space::whole_distance(strains, g)).collect();
        fine.resize(self.n_vertices, Vec3A::ZERO);
        fine.par_chunks_mut(TOGETHER * LANES).enumerate().for_each(|(task, fine)| {
            let mut distances = vec![[1.0; LANES]; n_poses + 1];
            for (block, fine) in (task * TOGETHER..).zip(fine.chunks_mut(LANES)) {
                match &self.gauges {
                    Some(gauges) => all_distances(gauges, block, &squares, &mut distances[..n_poses]),
                    None => distances.iter_mut().zip(&whole).for_each(|(lane, d)| *lane = [*d; LANES]),
                }
                let d = displaced(&self.weights, block, &distances);
                in_frames(&self.frames, block * LANES, large, &d, fine);
            }
        });
    }

    /// Positions and normals, in the player's order.
    fn put_out(&self, turn: glam::Mat3A, shift: Vec3A, stage: &mut PlayedFrame) {
        let (fine, fans) = (&stage.fine, &self.fans);
        stage.positions.resize(self.n_vertices, [0.0; 3]);
        stage.normals.resize(self.n_vertices, [0.0; 3]);
        let outs = stage
            .positions
            .par_chunks_mut(TOGETHER * LANES)
            .zip(stage.normals.par_chunks_mut(TOGETHER * LANES));
        outs.enumerate().for_each(|(task, (positions, normals))| {
            put_upright(fans, task * TOGETHER * LANES, fine, (&turn, shift), positions, normals);
        });
    }

    /// The vertices in the player's order, in which spatial neighbors are close.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Reorders per-vertex values from the player's order to the mesh's.
    pub fn in_mesh_order(&self, of: &[[f32; 3]], out: &mut Vec<[f32; 3]>) {
        out.clear();
        out.par_extend(self.place.par_iter().with_min_len(TOGETHER * LANES).map(|&place| of[place as usize]));
    }
}

/// Distances of any number of poses, eight at a time.
fn all_distances(gauges: &Blocks, block: usize, squares: &[f32], distances: &mut [Lane]) {
    let n = distances.len();
    for first in (0..n).step_by(8) {
        let some = match n - first {
            1 => local_distances::<1>,
            2 => local_distances::<2>,
            3 => local_distances::<3>,
            4 => local_distances::<4>,
            5 => local_distances::<5>,
            6 => local_distances::<6>,
            7 => local_distances::<7>,
            _ => local_distances::<8>,
        };
        some(gauges, block, squares, n, first, distances);
    }
}

/// Columns of the shell's basis for a block, without negligible ones.
fn packed_rows(detail: &Detail, vertex: impl Fn(usize) -> usize) -> Vec<(u16, Lane)> {
    let mut columns: Vec<(u16, Lane)> = Vec::new();
    let mut left = [1.0f32; LANES];
    for (handle, basis) in detail.shell.basis.iter().enumerate() {
        let lane: Lane = std::array::from_fn(|lane| basis[vertex(lane)]);
        if lane.iter().any(|b| b.abs() > NEGLIGIBLE) {
            left.iter_mut().zip(&lane).for_each(|(l, b)| *l -= b);
            columns.push((handle as u16, lane));
        }
    }
    for (lane, left) in left.into_iter().enumerate() {
        let most = columns.iter_mut().max_by(|a, b| a.1[lane].abs().total_cmp(&b.1[lane].abs()));
        if let Some((_, values)) = most {
            values[lane] += left;
        }
    }
    columns
}

/// Vertices along a Hilbert curve, so that neighbors in the list are neighbors in space and most neighbors in
/// space are near in the list.
fn in_space(positions: &[[f32; 3]]) -> Vec<u32> {
    let low = positions.iter().fold(Vec3::INFINITY, |low, p| low.min(Vec3::from(*p)));
    let high = positions.iter().fold(Vec3::NEG_INFINITY, |high, p| high.max(Vec3::from(*p)));
    let size = (high - low).max_element().max(f32::MIN_POSITIVE);
    let cell = |p: &[f32; 3]| ((Vec3::from(*p) - low) / size * 1023.0).to_array().map(|c| c as u32);
    let codes: Vec<u32> = positions.par_iter().map(|p| hilbert(cell(p))).collect();
    let mut order: Vec<u32> = (0..positions.len() as u32).collect();
    order.par_sort_by_key(|&v| (codes[v as usize], v));
    order
}

/// Index of a cell (10 bits per axis) on the Hilbert curve [Skilling04].
fn hilbert(mut x: [u32; 3]) -> u32 {
    let mut bit = 1 << 9;
    while bit > 1 {
        for k in 0..3 {
            if x[k] & bit != 0 {
                x[0] ^= bit - 1;
            } else {
                let swap = (x[0] ^ x[k]) & (bit - 1);
                x[0] ^= swap;
                x[k] ^= swap;
            }
        }
        bit >>= 1;
    }
    x[1] ^= x[0];
    x[2] ^= x[1];
    let flip = (1..10).filter(|b| x[2] >> b & 1 == 1).fold(0, |flip, b| flip ^ ((1 << b) - 1));
    let x = x.map(|x| x ^ flip);
    (0..10).rev().fold(0, |code, b| code << 3 | (x[0] >> b & 1) << 2 | (x[1] >> b & 1) << 1 | (x[2] >> b & 1))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_curve_goes_everywhere_step_by_step() {
        // All cells of a corner of 8 x 8 x 8, which the curve fills first.
        let mut cells: Vec<(u32, [u32; 3])> =
            (0..512).map(|k| [k & 7, k >> 3 & 7, k >> 6]).map(|cell| (super::hilbert(cell), cell)).collect();
        cells.sort_unstable();
        assert!(cells.iter().zip(0..).all(|((code, _), k)| *code == k));
        for pair in cells.windows(2) {
            let far: u32 = (0..3).map(|k| pair[0].1[k].abs_diff(pair[1].1[k])).sum();
            assert_eq!(far, 1, "{pair:?}");
        }
    }
}
