//! Connected components of vertices joined by faces, and vertices without faces.
//!
//! Union-find over the corners of each face, near linear. Components are numbered by their lowest vertex, so
//! the result does not depend on the order of faces. A vertex without faces is a component of its own.

use super::union_find::UnionFind;
use crate::Polygons;

/// The connected components of a mesh.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Components {
    /// For each vertex, the index of its component.
    pub of_vertex: Vec<u32>,
    /// Number of vertices of each component.
    pub sizes: Vec<u32>,
}

/// The connected components of `n_vertices` vertices joined by triangles.
pub fn of_triangles(n_vertices: usize, triangles: &[[u32; 3]]) -> Components {
    components(n_vertices, &Polygons::from_triangles(triangles))
}

/// The connected components of `n_vertices` vertices joined by `faces` (all corners below `n_vertices`).
pub fn components(n_vertices: usize, faces: &Polygons) -> Components {
    let mut sets = UnionFind::new(n_vertices);
    for face in faces.iter() {
        face.windows(2).for_each(|pair| sets.join(pair[0], pair[1]));
    }
    let mut found = Components { of_vertex: vec![0; n_vertices], sizes: Vec::new() };
    for v in 0..n_vertices {
        let r = sets.root(v as u32) as usize;
        if r == v {
            found.of_vertex[v] = found.sizes.len() as u32;
            found.sizes.push(0);
        } else {
            found.of_vertex[v] = found.of_vertex[r];
        }
        found.sizes[found.of_vertex[v] as usize] += 1;
    }
    found
}

/// Vertices below `n_vertices` that no face uses, ascending.
pub fn unreferenced(n_vertices: usize, faces: &Polygons) -> Vec<u32> {
    let mut used = vec![false; n_vertices];
    for &v in faces.corners() {
        used[v as usize] = true;
    }
    (0..n_vertices as u32).filter(|&v| !used[v as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_numbered_by_their_lowest_vertex() {
        let faces = Polygons::from_triangles(&[[5, 4, 6], [1, 3, 7], [7, 0, 1]]);
        let found = components(8, &faces);
        assert_eq!(found.of_vertex, [0, 0, 1, 0, 2, 2, 2, 0]);
        assert_eq!(found.sizes, [4, 1, 3]);
        assert_eq!(unreferenced(8, &faces), [2]);
    }

    #[test]
    fn a_long_strip_is_one_piece() {
        let n = 100_000u32;
        let strip: Vec<[u32; 3]> = (0..n - 2).rev().map(|i| [i + 2, i + 1, i]).collect();
        assert_eq!(components(n as usize, &Polygons::from_triangles(&strip)).sizes, [n]);
    }
}
