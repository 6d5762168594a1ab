//! The large scale: a linear thin shell driven by handles [Bickel08, eq. 1].
//!
//! The displacement u of the vertices minimizes stretching and bending,
//!
//! ```text
//! A u = 0 at free vertices,  A = L + r^2 L M^-1 L,  u = u_H at handles
//! ```
//!
//! with the cotangent Laplacian L (positive), lumped areas M, and the length r below which bending dominates
//! stretching (`r^2 = k_b / k_s`). The basis B gives `u = B u_H`: one number for each vertex and handle,
//! shared by x, y and z.
//!
//! The paper factors A, whose rows couple two rings of neighbors. Here only one ring is coupled: with
//! `K = M + r^2 L`, `A = L M^-1 K`, so a pair of opposite forces at handles h and 0 displaces by
//! `w = K^-1 M L^-1 (e_h - e_0)`: two sparse systems with the Laplacian's pattern. The forces that move the
//! handles as required follow from a small dense system, whose matrix `S_ij = w_j(h_i) - w_j(h_0)` is
//! symmetric positive definite. The remaining degree of freedom is a translation, so rows of B sum to one.
//! The result is that of the paper's equation, with a quarter of its fill.
//!
//! A piece of the mesh without handles is translated as a whole, by the mean motion of the nearest vertices
//! on pieces with handles. Handles at the same vertex share it equally.

use crate::DetailError;
use crate::laplacian::Triangles;
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::Array;
use risorius_base::progress::{Progress, tick};
use risorius_linalg::{Cholesky, Matrix, SparseCholesky};
use risorius_mesh::Bvh;
use risorius_mesh::FileMesh;

/// Number of right-hand sides that are solved together.
const TOGETHER: usize = 8;

/// Options of the shell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShellOptions {
    /// The length below which bending dominates stretching, in mean distances between neighboring handles.
    /// Default 3: smooth between handles, without the overshoot of a pure bending plate.
    pub bending: f64,
}

impl Default for ShellOptions {
    fn default() -> Self {
        Self { bending: 3.0 }
    }
}

/// The large scale of a mesh for given handles.
#[derive(Debug, Clone, PartialEq)]
pub struct Shell {
    /// Vertex of each handle.
    pub handles: Vec<u32>,
    /// `B`: for each handle, one number per vertex.
    pub basis: Vec<Array<f32>>,
    /// The options it was prepared with.
    pub options: ShellOptions,
}

impl Shell {
    /// Solves for the basis. `spacing` is the mean distance between neighboring handles.
    pub fn prepare(
        mesh: &FileMesh,
        handles: &[u32],
        spacing: f64,
        options: &ShellOptions,
        progress: &Progress,
    ) -> Result<Self, DetailError> {
        crate::check_rest(mesh)?;
        check_handles(mesh, handles)?;
        if !(options.bending > 0.0 && options.bending.is_finite()) {
            return Err(DetailError::Option {
                what: "the length of bending",
                value: options.bending,
                wanted: "positive",
            });
        }
        let length = (options.bending * spacing).max(f64::MIN_POSITIVE);
        let pieces = Driven::prepare(mesh, handles);
        let factors = Factors::prepare(mesh, &pieces, length, progress)?;
        let columns = factors.columns(&pieces, progress)?;
        tick(progress, "basis of the shell", 0.9)?;
        let mut basis = vec![vec![0.0f32; mesh.n_vertices()]; handles.len()];
        for (piece, columns) in pieces.list.iter().zip(&columns) {
            piece.cardinal(columns, &pieces.piece_of, &mut basis)?;
        }
        pieces.share(&mut basis);
        follow(mesh, &pieces.piece_of, &mut basis);
        // Make the rows of the handles themselves exact.
        for (column, of) in basis.iter_mut().zip(handles) {
            handles
                .iter()
                .for_each(|&v| column[v as usize] = if v == *of { pieces.share_of(v) } else { 0.0 });
        }
        let basis = basis.into_iter().map(Array::from).collect();
        Ok(Self { handles: handles.to_vec(), basis, options: *options })
    }

    /// `B u_H`, by definition; the reference for tests of the fast versions.
    pub fn displacements(&self, of_handles: &[DVec3]) -> Vec<DVec3> {
        let n = self.basis.first().map_or(0, |column| column.len());
        let one = |v: usize| self.basis.iter().zip(of_handles).map(|(b, &u)| u * f64::from(b[v])).sum();
        (0..n).into_par_iter().map(one).collect()
    }
}

/// Largest number of handles: time grows with its square.
pub(crate) const MAX_HANDLES: usize = 2000;

/// Rejects handles that cannot be used.
pub(crate) fn check_handles(mesh: &FileMesh, handles: &[u32]) -> Result<(), DetailError> {
    if handles.is_empty() {
        return Err(DetailError::Empty { what: "the list of handles" });
    }
    if handles.len() > MAX_HANDLES {
        let (what, value) = ("the number of handles", handles.len() as f64);
        return Err(DetailError::Option { what, value, wanted: "2000 at most; a hundred are usual" });
    }
    let mut in_triangle = vec![false; mesh.n_vertices()];
    mesh.triangles.as_flattened().iter().for_each(|&v| in_triangle[v as usize] = true);
    for (handle, &vertex) in handles.iter().enumerate() {
        let problem = match in_triangle.get(vertex as usize) {
            None => "does not exist",
            Some(false) => "belongs to no triangle",
            Some(true) => continue,
        };
        return Err(DetailError::Handle { handle, vertex, problem });
    }
    Ok(())
}

/// Not on a piece with handles.
const NOWHERE: u32 = u32::MAX;

/// Pieces of the mesh with handles.
struct Driven {
    list: Vec<Piece>,
    /// The piece of each vertex, or [`NOWHERE`].
    piece_of: Vec<u32>,
    /// All handles, to share vertices.
    handles: Vec<u32>,
}

/// A connected piece and its handles.
struct Piece {
    number: u32,
    /// First handle of each vertex that has one, and the vertex. The opposite forces act at the first entry.
    handles: Vec<(usize, u32)>,
}

impl Driven {
    fn prepare(mesh: &FileMesh, handles: &[u32]) -> Self {
        let connected = risorius_mesh::surface::components::of_triangles(mesh.n_vertices(), &mesh.triangles);
        let mut number = vec![NOWHERE; connected.sizes.len()];
        let mut list: Vec<Piece> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for (handle, &vertex) in handles.iter().enumerate() {
            let of = &mut number[connected.of_vertex[vertex as usize] as usize];
            if *of == NOWHERE {
                *of = list.len() as u32;
                list.push(Piece { number: *of, handles: Vec::new() });
            }
            if seen.insert(vertex) {
                list[*of as usize].handles.push((handle, vertex));
            }
        }
        let piece_of = connected.of_vertex.iter().map(|&c| number[c as usize]).collect();
        Self { list, piece_of, handles: handles.to_vec() }
    }

    /// The share of each of the handles at a vertex.
    fn share_of(&self, vertex: u32) -> f32 {
        1.0 / self.handles.iter().filter(|&&v| v == vertex).count().max(1) as f32
    }

    /// Handles at the same vertex share the basis of the first.
    fn share(&self, basis: &mut [Vec<f32>]) {
        for (handle, vertex) in self.list.iter().flat_map(|piece| &piece.handles) {
            let others = (0..self.handles.len()).filter(|&h| self.handles[h] == *vertex).collect::<Vec<_>>();
            if others.len() > 1 {
                let share = self.share_of(*vertex);
                basis[*handle].iter_mut().for_each(|b| *b *= share);
                let shared = basis[*handle].clone();
                others.iter().filter(|h| *h != handle).for_each(|&h| basis[h] = shared.clone());
            }
        }
    }
}

/// The two sparse systems.
struct Factors {
    /// L without the rows of the vertices where the opposite forces act.
    laplacian: SparseCholesky<1>,
    /// `M + r^2 L`.
    stiff: SparseCholesky<1>,
    masses: Vec<f64>,
}

impl Factors {
    fn prepare(
        mesh: &FileMesh,
        pieces: &Driven,
        length: f64,
        progress: &Progress,
    ) -> Result<Self, DetailError> {
        tick(progress, "factors of the shell", 0.0)?;
        let triangles = Triangles::prepare(mesh);
        let masses = triangles.masses(mesh);
        let outside: Vec<bool> = pieces.piece_of.iter().map(|&p| p == NOWHERE).collect();
        let mut grounded = outside.clone();
        pieces.list.iter().for_each(|piece| grounded[piece.handles[0].1 as usize] = true);
        let factor = |held: &[bool], scale: f64, mass: f64| triangles.factor(mesh, held, scale, mass);
        let (laplacian, stiff) =
            rayon::join(|| factor(&grounded, 1.0, 0.0), || factor(&outside, length * length, 1.0));
        Ok(Self { laplacian: laplacian?, stiff: stiff?, masses })
    }

    /// For each piece the displacements `w` under forces at each handle but the first.
    fn columns(&self, pieces: &Driven, progress: &Progress) -> Result<Vec<Vec<Vec<f64>>>, DetailError> {
        let n = self.masses.len();
        // Pieces are independent, so forces on different pieces could share a right-hand side; few meshes
        // have several pieces with handles.
        let forces: Vec<(usize, u32)> = pieces
            .list
            .iter()
            .enumerate()
            .flat_map(|(p, piece)| piece.handles[1..].iter().map(move |(_, vertex)| (p, *vertex)))
            .collect();
        let done = std::sync::atomic::AtomicUsize::new(0);
        let solve = |some: &[(usize, u32)]| -> Result<Vec<Vec<f64>>, DetailError> {
            let so_far = done.fetch_add(some.len(), std::sync::atomic::Ordering::Relaxed);
            tick(progress, "basis of the shell", 0.2 + 0.7 * so_far as f32 / forces.len() as f32)?;
            let mut values = vec![[0.0; TOGETHER]; n];
            some.iter().enumerate().for_each(|(k, &(_, vertex))| values[vertex as usize][k] = 1.0);
            self.laplacian.solve(&mut values);
            values.iter_mut().zip(&self.masses).for_each(|(value, m)| value.iter_mut().for_each(|x| *x *= m));
            self.stiff.solve(&mut values);
            Ok((0..some.len()).map(|k| values.iter().map(|value| value[k]).collect()).collect())
        };
        let solved: Vec<Vec<Vec<f64>>> = forces.par_chunks(TOGETHER).map(solve).collect::<Result<_, _>>()?;
        let mut columns: Vec<Vec<Vec<f64>>> = pieces.list.iter().map(|_| Vec::new()).collect();
        for (&(piece, _), column) in forces.iter().zip(solved.into_iter().flatten()) {
            columns[piece].push(column);
        }
        Ok(columns)
    }
}

impl Piece {
    /// Combines displacements under forces into those that are one at a handle and zero at the others.
    fn cardinal(
        &self,
        columns: &[Vec<f64>],
        piece_of: &[u32],
        basis: &mut [Vec<f32>],
    ) -> Result<(), DetailError> {
        let (first, ground) = self.handles[0];
        let n = columns.len();
        let mine = |v: usize| piece_of[v] == self.number;
        let mut s = Matrix::zeros(n, n);
        for (j, column) in columns.iter().enumerate() {
            for (i, (_, vertex)) in self.handles[1..].iter().enumerate() {
                s[(i, j)] = column[*vertex as usize] - column[ground as usize];
            }
        }
        // Symmetric up to rounding.
        let s = Matrix::symmetric(n, |i, j| 0.5 * (s[(i, j)] + s[(j, i)]));
        let factor = with_ridge(&s)?;
        let mut forces = Matrix::zeros(n, n);
        (0..n).for_each(|i| forces[(i, i)] = 1.0);
        forces.columns_mut().for_each(|column| factor.solve_in_place(column));
        let numbers: Vec<usize> = self.handles[1..].iter().map(|(handle, _)| *handle).collect();
        let grounds: Vec<f64> = columns.iter().map(|column| column[ground as usize]).collect();
        let rows: Vec<Vec<f32>> = (0..piece_of.len())
            .into_par_iter()
            .with_min_len(1024)
            .map(|v| {
                if !mine(v) {
                    return Vec::new();
                }
                let relative: Vec<f64> =
                    columns.iter().zip(&grounds).map(|(column, at)| column[v] - at).collect();
                let value =
                    |h: usize| forces.column(h).iter().zip(&relative).map(|(f, w)| f * w).sum::<f64>();
                let mut row: Vec<f64> = (0..n).map(value).collect();
                row.push(1.0 - row.iter().sum::<f64>());
                row.into_iter().map(|b| b as f32).collect()
            })
            .collect();
        for (k, handle) in numbers.into_iter().chain([first]).enumerate() {
            for (value, row) in basis[handle].iter_mut().zip(&rows) {
                *value = row.get(k).copied().unwrap_or(*value);
            }
        }
        Ok(())
    }
}

/// The factor of a matrix that is positive definite up to rounding, which matters if handles nearly coincide.
fn with_ridge(s: &Matrix) -> Result<Cholesky, DetailError> {
    let n = s.n_rows();
    let largest = (0..n).map(|i| s[(i, i)].abs()).fold(f64::MIN_POSITIVE, f64::max);
    for ridge in [0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6] {
        let ridged = Matrix::symmetric(n, |i, j| s[(i, j)] + if i == j { ridge * largest } else { 0.0 });
        if let Ok(factor) = Cholesky::factor(ridged) {
            return Ok(factor);
        }
    }
    Err(DetailError::Stiff)
}

/// Pieces without handles move by the mean of the rows of their nearest vertices on pieces with handles.
fn follow(mesh: &FileMesh, piece_of: &[u32], basis: &mut [Vec<f32>]) {
    if piece_of.iter().all(|&p| p != NOWHERE) {
        return;
    }
    let connected = risorius_mesh::surface::components::of_triangles(mesh.n_vertices(), &mesh.triangles);
    let kept: Vec<[u32; 3]> =
        mesh.triangles.iter().filter(|t| piece_of[t[0] as usize] != NOWHERE).copied().collect();
    let tree = Bvh::build(&mesh.positions, &kept);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); connected.sizes.len()];
    (0..mesh.n_vertices() as u32)
        .filter(|&v| piece_of[v as usize] == NOWHERE)
        .for_each(|v| members[connected.of_vertex[v as usize] as usize].push(v));
    for piece in members.iter().filter(|piece| !piece.is_empty()) {
        let nearest: Vec<u32> = piece
            .par_iter()
            .filter_map(|&v| tree.closest_vertex(mesh.at(v), f64::INFINITY).map(|found| found.0))
            .collect();
        for column in basis.iter_mut() {
            let mean = nearest.iter().map(|&v| f64::from(column[v as usize])).sum::<f64>()
                / nearest.len().max(1) as f64;
            piece.iter().for_each(|&v| column[v as usize] = mean as f32);
        }
    }
}
