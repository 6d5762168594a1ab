//! Generates wrinkles with known ground truth, for tests, benchmarks and demonstrations.
//!
//! Compressed skin folds across the direction of compression [Wu96, all of it]. The Green strain of every
//! triangle, averaged at vertices and smoothed, is evaluated along two fixed directions on the face. Where it
//! is negative, ripples of fixed phase rise in proportion, independently for the two directions, with crests
//! higher than troughs are deep. Strain is taken from the whole surface, not from handles, so a learner
//! cannot use the generator's own input.

use crate::frames::Fans;
use glam::{Mat3A, Vec3, Vec3A};
use rayon::prelude::*;
use risorius_mesh::FileMesh;
use risorius_mesh::{EdgeGraph, Subdivision};

/// Compression below this makes no folds.
const SLACK: f32 = 0.02;

/// Height of a ripple over its length, per unit of strain beyond the slack; and its maximum.
const STEEP: [f32; 2] = [0.9, 0.16];

/// Rounds of smoothing strain.
const SMOOTH: usize = 12;

/// The front of a head's skin, subdivided until it is fine enough for wrinkles.
pub struct Refined {
    /// The fine mesh at rest.
    pub mesh: FileMesh,
    /// Vertices of the coarse mesh that are left.
    used: Vec<u32>,
    levels: Vec<Subdivision>,
}

impl Refined {
    /// Takes, of the largest piece of a mesh, as many triangles with the largest z as give about `size`
    /// vertices after subdivision.
    pub fn front_of(coarse: &FileMesh, size: usize) -> Self {
        let connected =
            risorius_mesh::surface::components::of_triangles(coarse.n_vertices(), &coarse.triangles);
        let largest = (0..connected.sizes.len()).max_by_key(|&c| connected.sizes[c]).unwrap_or(0) as u32;
        let is_skin = |t: &&[u32; 3]| connected.of_vertex[t[0] as usize] == largest;
        let mut skin: Vec<[u32; 3]> = coarse.triangles.iter().filter(is_skin).copied().collect();
        let n_skin = connected.sizes.get(largest as usize).map_or(0, |&n| n as usize).max(1);
        let n_steps = (0..5).find(|&k| n_skin * 4usize.pow(k) >= size).unwrap_or(5);
        let share = size as f64 / (n_skin * 4usize.pow(n_steps)) as f64;
        let depth = |t: &[u32; 3]| t.iter().map(|&v| coarse.positions[v as usize][2]).sum::<f32>();
        skin.sort_by(|a, b| depth(b).total_cmp(&depth(a)));
        skin.truncate((skin.len() as f64 * share) as usize);
        let mut used: Vec<u32> = skin.as_flattened().to_vec();
        used.sort_unstable();
        used.dedup();
        let local = |v: u32| used.binary_search(&v).unwrap_or(0) as u32;
        let mut triangles: Vec<[u32; 3]> = skin.iter().map(|t| t.map(local)).collect();
        let mut x: Vec<Vec3> = used.iter().map(|&v| coarse.positions[v as usize].into()).collect();
        let mut levels = Vec::new();
        for _ in 0..n_steps {
            let level = Subdivision::fitted(&x, &triangles, &[]);
            x = level.apply(&x);
            triangles.clone_from(&level.triangles);
            levels.push(level);
        }
        let mut refined = Self { mesh: FileMesh { positions: Vec::new(), triangles }, used, levels };
        refined.mesh.positions = refined.fine(&coarse.positions);
        refined
    }

    /// A pose of the coarse mesh on the fine one.
    pub fn fine(&self, coarse: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let mut x: Vec<Vec3> = self.used.iter().map(|&v| coarse[v as usize].into()).collect();
        self.levels.iter().for_each(|level| x = level.apply(&x));
        x.into_iter().map(|p| p.to_array()).collect()
    }
}

/// A mesh on which wrinkles are generated.
pub struct Wrinkles<'a> {
    rest: &'a FileMesh,
    fans: Fans,
    graph: EdgeGraph,
    wavelength: f32,
}

impl<'a> Wrinkles<'a> {
    /// Ripples of this length on a mesh.
    pub fn prepare(rest: &'a FileMesh, wavelength: f32) -> Self {
        let n = rest.n_vertices();
        let graph = EdgeGraph::prepare(n, &rest.triangles, |_, _| 1.0);
        Self { rest, fans: Fans::prepare(n, &rest.triangles), graph, wavelength }
    }

    /// A pose with its wrinkles.
    pub fn on(&self, posed: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let rest: Vec<Vec3A> = self.rest.positions.iter().map(|&p| p.into()).collect();
        let posed: Vec<Vec3A> = posed.iter().map(|&p| p.into()).collect();
        let strain = self.strain(&rest, &posed);
        let one = |v: usize| {
            let normal = self.fans.normal(v, &rest);
            let height: f32 =
                [Vec3A::Y, Vec3A::X].map(|axis| self.height(&strain[v], normal, rest[v], axis)).iter().sum();
            (posed[v] + self.fans.normal(v, &posed) * height).to_array()
        };
        (0..posed.len()).into_par_iter().with_min_len(512).map(one).collect()
    }

    /// Height of the ripples that follow each other along an axis.
    fn height(&self, strain: &Mat3A, normal: Vec3A, rest: Vec3A, axis: Vec3A) -> f32 {
        let Some(along) = (axis - normal * normal.dot(axis)).try_normalize() else { return 0.0 };
        let pressed = -along.dot(*strain * along) - SLACK;
        if pressed <= 0.0 {
            return 0.0;
        }
        let wave = std::f32::consts::TAU / self.wavelength;
        // Crest lines bend slightly and do not repeat.
        let bend = 0.8 * (0.11 * wave * rest.dot(Vec3A::new(1.0, 0.4, 0.3))).sin();
        let phase = wave * rest.dot(axis) * (1.0 + 0.07 * axis.x) + bend;
        let crest = phase.cos() - 0.35 * (1.0 - (2.0 * phase).cos()) * 0.5;
        (STEEP[0] * pressed).min(STEEP[1]) * self.wavelength * crest
    }

    /// Green strain of every vertex, in rest space.
    fn strain(&self, rest: &[Vec3A], posed: &[Vec3A]) -> Vec<Mat3A> {
        let mut sums = vec![(Mat3A::ZERO, 0.0f32); rest.len()];
        for t in &self.rest.triangles {
            let ([a, b, c], [p, q, r]) = (t.map(|v| rest[v as usize]), t.map(|v| posed[v as usize]));
            let normal = (b - a).cross(c - a);
            let area = normal.length();
            let Some(n) = normal.try_normalize() else { continue };
            // Maps the edges and the normal at rest to those of the pose.
            let (from, moved_normal) = (Mat3A::from_cols(b - a, c - a, n), (q - p).cross(r - p));
            let Some(moved_normal) = moved_normal.try_normalize() else { continue };
            let f = Mat3A::from_cols(q - p, r - p, moved_normal) * from.inverse();
            let green = (f.transpose() * f - Mat3A::IDENTITY) * 0.5;
            if green.is_finite() {
                t.iter().for_each(|&v| {
                    sums[v as usize] = (sums[v as usize].0 + green * area, sums[v as usize].1 + area)
                });
            }
        }
        let mut strain: Vec<Mat3A> =
            sums.into_iter().map(|(sum, area)| sum * (1.0 / area.max(f32::MIN_POSITIVE))).collect();
        for _ in 0..SMOOTH {
            let mean = |v: u32| {
                let around = self.graph.around(v);
                let sum = around.iter().fold(strain[v as usize], |sum, (w, _)| sum + strain[*w as usize]);
                sum * (1.0 / (1 + around.len()) as f32)
            };
            strain = (0..rest.len() as u32).into_par_iter().with_min_len(512).map(mean).collect();
        }
        strain
    }
}
