//! Tetrahedral meshes: nodes, elements, boundary surface.
//!
//! Elements are positively oriented, `det [x1-x0, x2-x0, x3-x0] > 0`. Everything derived from them (boundary,
//! neighbors, components) is ascending in node or tet indices and takes time linear in the elements, up to a
//! sort. The functions here assume valid node indices; a mesh supplied by the user is checked by
//! [`crate::tet::check::check`] first.

use crate::TriMesh;
use crate::surface::union_find::UnionFind;
use glam::{DMat3, DVec3};

/// Tetrahedra over f64 nodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TetMesh {
    /// Node positions.
    pub nodes: Vec<DVec3>,
    /// Four nodes each, with `det [x1-x0, x2-x0, x3-x0] > 0`.
    pub tets: Vec<[u32; 4]>,
}

/// The matrix `[x1-x0, x2-x0, x3-x0]` of a tet; its determinant is six times the signed volume.
#[inline]
pub fn edge_matrix(positions: &[DVec3], tet: [u32; 4]) -> DMat3 {
    let [a, b, c, d] = tet.map(|v| positions[v as usize]);
    DMat3::from_cols(b - a, c - a, d - a)
}

/// The faces of a tet, wound counter-clockwise seen from outside; face i is opposite node i.
pub(crate) fn faces_of([a, b, c, d]: [u32; 4]) -> [[u32; 3]; 4] {
    [[b, c, d], [a, d, c], [a, b, d], [a, c, b]]
}

/// The weights of a tet's nodes at `p`: they sum to 1, and none is negative inside. Not finite where the tet
/// is flat.
pub fn barycentric(positions: &[DVec3], tet: [u32; 4], p: DVec3) -> [f64; 4] {
    let [a, b, c, d] = tet.map(|v| positions[v as usize]);
    let (ab, ac, ad, ap) = (b - a, c - a, d - a, p - a);
    let whole = ab.dot(ac.cross(ad));
    let [v, w, x] =
        [ap.dot(ac.cross(ad)) / whole, ab.dot(ap.cross(ad)) / whole, ab.dot(ac.cross(ap)) / whole];
    [1.0 - v - w - x, v, w, x]
}

/// A triangle of the boundary and the tet behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundaryTriangle {
    /// Counter-clockwise seen from outside.
    pub nodes: [u32; 3],
    /// The tet it belongs to.
    pub tet: u32,
}

/// Lists of indices, stored in one array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    first: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// List `i`.
    pub fn of(&self, i: usize) -> &[u32] {
        &self.items[self.first[i] as usize..self.first[i + 1] as usize]
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `n` lists from pairs (list, item); lists keep the order of the pairs.
    pub(crate) fn from_pairs(n: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut first = vec![0u32; n + 1];
        pairs.clone().for_each(|(list, _)| first[list as usize + 1] += 1);
        for i in 0..n {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut items = vec![0; first[n] as usize];
        for (list, item) in pairs {
            items[next[list as usize] as usize] = item;
            next[list as usize] += 1;
        }
        Self { first, items }
    }
}

/// The tets around each node, ascending.
pub fn tets_of_nodes(n_nodes: usize, tets: &[[u32; 4]]) -> Lists {
    Lists::from_pairs(
        n_nodes,
        tets.iter().enumerate().flat_map(|(t, tet)| tet.iter().map(move |&v| (v, t as u32))),
    )
}

/// The six edges of a tet, lower node first.
pub fn edges_of([a, b, c, d]: [u32; 4]) -> [[u32; 2]; 6] {
    [[a, b], [a, c], [a, d], [b, c], [b, d], [c, d]].map(|[i, j]| [i.min(j), i.max(j)])
}

/// Every edge of some tets once, lower node first, ascending.
pub fn edges(tets: &[[u32; 4]]) -> Vec<[u32; 2]> {
    use rayon::prelude::*;
    let mut edges: Vec<[u32; 2]> = tets.par_iter().flat_map_iter(|&tet| edges_of(tet)).collect();
    edges.par_sort_unstable();
    edges.dedup();
    edges
}

/// The connected components of a tet mesh.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TetComponents {
    /// For each tet, the index of its component; components are numbered by their first tet.
    pub of_tet: Vec<u32>,
    /// Number of components.
    pub n: usize,
}

impl TetMesh {
    /// [`edge_matrix`] at the mesh's own nodes.
    pub fn edges_of(&self, tet_idx: usize) -> DMat3 {
        edge_matrix(&self.nodes, self.tets[tet_idx])
    }

    /// Signed volume of each tet.
    pub fn volumes(&self) -> Vec<f64> {
        self.tets.iter().map(|&tet| edge_matrix(&self.nodes, tet).determinant() / 6.0).collect()
    }

    /// Faces that belong to one tet only, ascending by tet.
    pub fn boundary(&self) -> Vec<BoundaryTriangle> {
        let mut faces: Vec<([u32; 3], u32, u32)> = Vec::with_capacity(4 * self.tets.len());
        for (t, &tet) in self.tets.iter().enumerate() {
            for (i, mut face) in faces_of(tet).into_iter().enumerate() {
                face.sort_unstable();
                faces.push((face, t as u32, i as u32));
            }
        }
        faces.sort_unstable();
        let mut single: Vec<(u32, u32)> = faces
            .chunk_by(|x, y| x.0 == y.0)
            .filter(|same| same.len() == 1)
            .map(|f| (f[0].1, f[0].2))
            .collect();
        single.sort_unstable();
        let triangle = |(t, i): (u32, u32)| BoundaryTriangle {
            nodes: faces_of(self.tets[t as usize])[i as usize],
            tet: t,
        };
        single.into_iter().map(triangle).collect()
    }

    /// The boundary as a surface over all nodes, wound outwards.
    pub fn boundary_surface(&self) -> TriMesh {
        TriMesh {
            positions: self.nodes.clone(),
            triangles: self.boundary().iter().map(|b| b.nodes).collect(),
        }
    }

    /// For each node, whether it belongs to the boundary.
    pub fn boundary_nodes(&self) -> Vec<bool> {
        let mut on = vec![false; self.nodes.len()];
        self.boundary().iter().flat_map(|b| b.nodes).for_each(|v| on[v as usize] = true);
        on
    }

    /// The nodes joined to each node by an edge, ascending.
    pub fn neighbors(&self) -> Lists {
        let edges = edges(&self.tets);
        // Lower neighbors of a node come first because edges ascend by their lower node.
        let both = edges.iter().map(|&[a, b]| (b, a)).chain(edges.iter().map(|&[a, b]| (a, b)));
        Lists::from_pairs(self.nodes.len(), both)
    }

    /// Length of each edge, in the order of [`edges`].
    pub fn edge_lengths(&self) -> Vec<f64> {
        edges(&self.tets)
            .iter()
            .map(|&[a, b]| self.nodes[a as usize].distance(self.nodes[b as usize]))
            .collect()
    }

    /// The components connected through nodes.
    pub fn pieces(&self) -> TetComponents {
        let mut sets = UnionFind::new(self.nodes.len());
        for tet in &self.tets {
            (1..4).for_each(|i| sets.join(tet[0], tet[i]));
        }
        let mut number = vec![u32::MAX; self.nodes.len()];
        let mut pieces = TetComponents::default();
        for tet in &self.tets {
            let of = &mut number[sets.root(tet[0]) as usize];
            if *of == u32::MAX {
                *of = pieces.n as u32;
                pieces.n += 1;
            }
            pieces.of_tet.push(*of);
        }
        pieces
    }

    /// Drops the nodes that no tet uses; returns for each remaining node its former index.
    pub fn drop_unused_nodes(&mut self) -> Vec<u32> {
        let mut new = vec![u32::MAX; self.nodes.len()];
        self.tets.iter().flatten().for_each(|&v| new[v as usize] = 0);
        let kept: Vec<u32> = (0..new.len() as u32).filter(|&v| new[v as usize] == 0).collect();
        kept.iter().enumerate().for_each(|(i, &v)| new[v as usize] = i as u32);
        self.nodes = kept.iter().map(|&v| self.nodes[v as usize]).collect();
        self.tets.iter_mut().flatten().for_each(|v| *v = new[*v as usize]);
        kept
    }
}
