//! Attaches an actor's markers to another face: the vertex of each marker, and its motion there.
//!
//! Some markers are paired with vertices. The similarity transform that fits the pairs best is applied to all
//! markers; a marker without a pair is attached to the nearest vertex. The motion of a marker relative to its
//! reference position, rotated and scaled by the similarity, is the motion of its vertex. The shell through
//! these vertices then moves the whole face, and with it the handles that a detail was learned with.
//!
//! Inside nose and mouth there are no markers, and a shell extrapolates its bending from the outside, so that
//! it may pass through the outer skin. Where flesh is thin, its far side, seen from the markers, therefore
//! follows its near side: some vertices there are extra handles, which move like the shell on the near side.

use crate::frames::Fans;
use crate::markers::Settled;
use crate::{DetailError, FeatureGraph, Shell, ShellOptions};
use glam::{DVec3, Vec3, Vec3A};
use rayon::prelude::*;
use risorius_base::progress::Progress;
use risorius_base::{Array, Rigid};
use risorius_mesh::FileMesh;
use risorius_mesh::surface::components;
use risorius_mesh::{Bvh, EdgeGraph, Nearest, Similarity};

/// Flesh is thin below this fraction of the distance between markers.
const THIN: f64 = 0.5;

/// Largest number of vertices on far sides that follow.
const FOLLOWERS: usize = 80;

/// Markers attached to a mesh.
pub struct Attached {
    /// Vertex of each marker.
    pub vertices: Vec<u32>,
    /// Distance of each marker from its vertex after the similarity, in the mesh's unit.
    pub distances: Vec<f64>,
    /// From the markers' space to the mesh's.
    pub similarity: Similarity,
    shell: Shell,
    rest: Vec<DVec3>,
}

impl Attached {
    /// Attaches markers at their positions in the reference frame; `pairs` are markers and vertices.
    pub fn prepare(
        mesh: &FileMesh,
        markers: &Settled,
        pairs: &[(usize, u32)],
        options: &ShellOptions,
        progress: &Progress,
    ) -> Result<Self, DetailError> {
        crate::check_rest(mesh)?;
        let reference = &markers.frames[markers.reference];
        let from: Vec<DVec3> = pairs.iter().map(|&(marker, _)| reference[marker]).collect();
        let to: Vec<DVec3> = pairs.iter().map(|&(_, vertex)| mesh.at(vertex)).collect();
        if pairs.len() < 4 {
            return Err(DetailError::FewPairs { found: pairs.len() });
        }
        let similarity = Similarity::fit(&from, &to, &vec![1.0; pairs.len()]);
        // Skip eyes, lashes and teeth unless a paired point is on them.
        let connected = components::of_triangles(mesh.n_vertices(), &mesh.triangles);
        let pieces: Vec<u32> = pairs.iter().map(|&(_, v)| connected.of_vertex[v as usize]).collect();
        let is_skin = |t: &&[u32; 3]| pieces.contains(&connected.of_vertex[t[0] as usize]);
        let skin: Vec<[u32; 3]> = mesh.triangles.iter().filter(is_skin).copied().collect();
        let tree = Bvh::build(&mesh.positions, &skin);
        let carried: Vec<DVec3> = reference.iter().map(|&p| similarity.apply(p)).collect();
        let nearest = |&p: &DVec3| tree.closest_vertex(p, f64::INFINITY).map_or(0, |found| found.0);
        let mut vertices: Vec<u32> = carried.iter().map(nearest).collect();
        pairs.iter().for_each(|&(marker, vertex)| vertices[marker] = vertex);
        let distances = carried.iter().zip(&vertices).map(|(p, &v)| p.distance(mesh.at(v))).collect();
        let spacing = FeatureGraph::make(mesh, &vertices).spacing(mesh);
        let shell = Shell::prepare(mesh, &vertices, spacing, options, progress)?;
        let shell = with_far_sides(mesh, shell, spacing, options, progress)?;
        let rest = (0..mesh.n_vertices() as u32).map(|v| mesh.at(v)).collect();
        Ok(Self { vertices, distances, similarity, shell, rest })
    }

    /// For each frame, the head's motion from the reference, in the mesh's space.
    pub fn heads(&self, markers: &Settled) -> Vec<Rigid> {
        let Similarity { rigid, scale } = self.similarity;
        let one = |head: &Rigid| {
            let rotation = rigid.rotation * head.rotation * rigid.rotation.inverse();
            let shift = rigid.rotation * head.translation * scale;
            Rigid { rotation, translation: rigid.translation - rotation * rigid.translation + shift }
        };
        markers.head.iter().map(one).collect()
    }

    /// Where some vertices are in a frame of the markers.
    pub fn moved(&self, markers: &Settled, frame: usize, vertices: &[u32]) -> Vec<DVec3> {
        let reference = &markers.frames[markers.reference];
        let turned = |(p, from): (&DVec3, &DVec3)| {
            self.similarity.rigid.rotation * (*p - *from) * self.similarity.scale
        };
        let motion: Vec<DVec3> = markers.frames[frame].iter().zip(reference).map(turned).collect();
        let at = |&v: &u32| {
            let parts = self.shell.basis.iter().zip(&motion);
            self.rest[v as usize] + parts.map(|(b, &u)| u * f64::from(b[v as usize])).sum::<DVec3>()
        };
        vertices.iter().map(at).collect()
    }
}

/// A shell whose far sides of thin flesh follow the near ones.
fn with_far_sides(
    mesh: &FileMesh,
    shell: Shell,
    spacing: f64,
    options: &ShellOptions,
    progress: &Progress,
) -> Result<Shell, DetailError> {
    let followers = followers(mesh, &shell.handles, spacing);
    if followers.is_empty() {
        return Ok(shell);
    }
    let handles: Vec<u32> = shell.handles.iter().copied().chain(followers.iter().map(|f| f[0])).collect();
    let both = Shell::prepare(mesh, &handles, spacing, options, progress)?;
    let (markers, others) = both.basis.split_at(shell.handles.len());
    let mixed = |(column, led): (&Array<f32>, &Array<f32>)| -> Array<f32> {
        let mut sum = column.to_vec();
        for (other, [_, leader]) in others.iter().zip(&followers) {
            let share = led[*leader as usize];
            sum.iter_mut().zip(other.iter()).for_each(|(s, o)| *s += o * share);
        }
        sum.into()
    };
    let basis = markers.par_iter().zip(&shell.basis).map(mixed).collect();
    Ok(Shell { basis, ..shell })
}

/// Vertices on far sides of thin flesh, well spread, each with the vertex on the near side that it follows.
fn followers(mesh: &FileMesh, markers: &[u32], spacing: f64) -> Vec<[u32; 2]> {
    let graph =
        EdgeGraph::prepare(mesh.n_vertices(), &mesh.triangles, |a, b| mesh.at(a).distance(mesh.at(b)));
    let mut along = Nearest::nothing(mesh.n_vertices());
    along.add(&graph, markers.iter().zip(0..).map(|(&v, m)| (v, m)), f64::INFINITY);
    let x: Vec<Vec3A> = mesh.positions.iter().map(|&p| p.into()).collect();
    let fans = Fans::prepare(x.len(), &mesh.triangles);
    let tree = Bvh::build(&mesh.positions, &mesh.triangles);
    let one = |v: u32| {
        let inward = -Vec3::from(fans.normal(v as usize, &x)).as_dvec3();
        let hit = tree.ray(mesh.at(v) + inward * (1e-3 * spacing), inward, THIN * spacing)?;
        let corners = mesh.triangles[hit.triangle as usize];
        let most =
            (0..3).fold(0, |best, k| if hit.barycentric[k] > hit.barycentric[best] { k } else { best });
        let leader = corners[most];
        let farther = along.distance[v as usize] - along.distance[leader as usize];
        (hit.from_behind && farther.is_finite() && farther > THIN * spacing).then_some([v, leader])
    };
    let all: Vec<[u32; 2]> = (0..x.len() as u32).into_par_iter().filter_map(one).collect();
    // Farthest-point sampling.
    let Some(&first) = all.first() else { return all };
    let mut chosen = vec![first];
    let mut far: Vec<f32> =
        all.iter().map(|[v, _]| x[*v as usize].distance_squared(x[first[0] as usize])).collect();
    while chosen.len() < FOLLOWERS {
        let next = (0..all.len()).fold(0, |best, k| if far[k] > far[best] { k } else { best });
        if f64::from(far[next]) < (0.1 * spacing).powi(2) {
            break;
        }
        chosen.push(all[next]);
        let here = x[all[next][0] as usize];
        far.iter_mut().zip(&all).for_each(|(d, [v, _])| *d = d.min(x[*v as usize].distance_squared(here)));
    }
    chosen
}
