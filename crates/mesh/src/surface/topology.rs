//! Edges and boundaries of a list of faces.
//!
//! An edge is an unordered pair of different vertices that are consecutive around some face. [`Edges`]
//! lists every edge once, ascending by its vertices, with its faces. The defects of a surface follow: an edge
//! with one face is a boundary edge, one with more than two is non-manifold, and two faces that traverse an
//! edge in the same direction are inconsistently oriented. [`boundary_loops`] joins boundary edges into
//! loops. In: m faces of any number of corners. Out: lists in ascending order. Time m log m, memory linear.
//! Faces with fewer than three corners have no edges; steps from a vertex to itself are not edges.

use crate::Polygons;
use glam::DVec3;

/// Every edge of a mesh with the faces that use it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edges {
    /// The two vertices of each edge, lower first; edges ascend.
    vertices: Vec<[u32; 2]>,
    /// Uses of edge e: `uses[first[e]..first[e + 1]]`.
    first: Vec<u32>,
    uses: Vec<EdgeUse>,
}

/// One face at an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeUse {
    /// Index of the face.
    pub face: u32,
    /// The face traverses the edge from the lower vertex to the higher.
    pub forward: bool,
}

impl Edges {
    /// The edges of `faces`.
    pub fn of(faces: &Polygons) -> Self {
        let mut sides: Vec<([u32; 2], u32, bool)> = Vec::with_capacity(faces.corners().len());
        for (f, face) in faces.iter().enumerate().filter(|(_, face)| face.len() > 2) {
            for (i, &a) in face.iter().enumerate() {
                let b = face[(i + 1) % face.len()];
                if a != b {
                    sides.push(([a.min(b), a.max(b)], f as u32, a < b));
                }
            }
        }
        sides.sort_unstable();
        let mut edges = Self::default();
        for (vertices, face, forward) in sides {
            if edges.vertices.last() != Some(&vertices) {
                edges.vertices.push(vertices);
                edges.first.push(edges.uses.len() as u32);
            }
            edges.uses.push(EdgeUse { face, forward });
        }
        edges.first.push(edges.uses.len() as u32);
        edges
    }

    /// Number of edges.
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// Whether there are no edges.
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// The vertices of edge `edge_idx`, lower first.
    pub fn vertices(&self, edge_idx: usize) -> [u32; 2] {
        self.vertices[edge_idx]
    }

    /// The faces at edge `edge_idx`, ascending.
    pub fn uses(&self, edge_idx: usize) -> &[EdgeUse] {
        &self.uses[self.first[edge_idx] as usize..self.first[edge_idx + 1] as usize]
    }

    /// Edges with one face, ascending.
    pub fn boundary(&self) -> Vec<usize> {
        self.filtered(|uses| uses.len() == 1)
    }

    /// Edges with more than two faces, ascending.
    pub fn non_manifold(&self) -> Vec<usize> {
        self.filtered(|uses| uses.len() > 2)
    }

    /// Edges with two faces that traverse them in the same direction, ascending.
    pub fn inconsistent(&self) -> Vec<usize> {
        self.filtered(|uses| uses.len() == 2 && uses[0].forward == uses[1].forward)
    }

    fn filtered(&self, keep: impl Fn(&[EdgeUse]) -> bool) -> Vec<usize> {
        (0..self.len()).filter(|&e| keep(self.uses(e))).collect()
    }
}

/// A chain of boundary edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundaryLoop {
    /// The vertices in order, each once.
    pub vertices: Vec<u32>,
    /// The last vertex is joined to the first. Only a surface with non-manifold edges has open chains.
    pub closed: bool,
}

impl BoundaryLoop {
    /// Length of the chain over `positions`; NaN if a position is NaN.
    pub fn length(&self, positions: &[[f32; 3]]) -> f64 {
        let at = |v: u32| glam::Vec3::from(positions[v as usize]).as_dvec3();
        let chain: f64 = self.vertices.windows(2).map(|w| at(w[0]).distance(at(w[1]))).sum();
        match (self.closed, self.vertices.first(), self.vertices.last()) {
            (true, Some(&first), Some(&last)) => chain + at(last).distance(at(first)),
            _ => chain,
        }
    }

    /// Mean position of the vertices.
    pub fn center(&self, positions: &[[f32; 3]]) -> DVec3 {
        let sum: DVec3 =
            self.vertices.iter().map(|&v| glam::Vec3::from(positions[v as usize]).as_dvec3()).sum();
        sum / self.vertices.len().max(1) as f64
    }
}

/// The boundary of a mesh as loops, from low start vertices to high. Loops follow the direction of their
/// faces where those agree. Where boundaries touch in a vertex, loops are split, so that no loop visits a
/// vertex twice.
pub fn boundary_loops(edges: &Edges) -> Vec<BoundaryLoop> {
    // Boundary edges in the direction of their face, listed at both of their vertices.
    let mut halves: Vec<(u32, bool, u32, u32)> = Vec::new();
    for (i, e) in edges.boundary().into_iter().enumerate() {
        let [a, b] = edges.vertices(e);
        let (from, to) = if edges.uses(e)[0].forward { (a, b) } else { (b, a) };
        // `false` sorts first: along the face's direction before against it.
        halves.push((from, false, i as u32, to));
        halves.push((to, true, i as u32, from));
    }
    halves.sort_unstable();
    let mut walker =
        Walker { used: vec![false; halves.len() / 2], halves, next: Vec::new(), loops: Vec::new() };
    walker.next = (0..walker.halves.len()).collect();
    // Ends of open chains first: starting in the middle would split a chain in two.
    let starts = |w: &Walker, odd: bool| -> Vec<usize> {
        let mut starts = Vec::new();
        let mut i = 0;
        while i < w.halves.len() {
            let n = w.halves[i..].iter().take_while(|h| h.0 == w.halves[i].0).count();
            if (n % 2 == 1) == odd {
                starts.push(i);
            }
            i += n;
        }
        starts
    };
    for odd in [true, false] {
        for start in starts(&walker, odd) {
            walker.walk(start);
        }
    }
    walker.loops
}

/// Traverses boundary edges, each once.
struct Walker {
    /// Vertex, whether against the face's direction, boundary edge, vertex at the other end; sorted.
    halves: Vec<(u32, bool, u32, u32)>,
    used: Vec<bool>,
    /// For the first half of each vertex: index of the vertex's next unused half.
    next: Vec<usize>,
    loops: Vec<BoundaryLoop>,
}

impl Walker {
    fn walk(&mut self, start: usize) {
        let mut path = vec![self.halves[start].0];
        let mut on_path = std::collections::HashMap::from([(path[0], 0usize)]);
        let mut block = start;
        while let Some(half) = self.take(block) {
            let to = self.halves[half].3;
            if let Some(&at) = on_path.get(&to) {
                let vertices = path[at..].to_vec();
                for v in path.drain(at + 1..) {
                    on_path.remove(&v);
                }
                self.loops.push(BoundaryLoop { vertices, closed: true });
            } else {
                on_path.insert(to, path.len());
                path.push(to);
            }
            block = self.halves.partition_point(|h| h.0 < to);
        }
        if path.len() > 1 {
            self.loops.push(BoundaryLoop { vertices: path, closed: false });
        }
    }

    /// The next unused half at the vertex whose halves begin at `block`.
    fn take(&mut self, block: usize) -> Option<usize> {
        let vertex = self.halves[block].0;
        while let Some(half) = self.halves.get(self.next[block]).filter(|h| h.0 == vertex) {
            let (edge, at) = (half.2 as usize, self.next[block]);
            self.next[block] += 1;
            if !std::mem::replace(&mut self.used[edge], true) {
                return Some(at);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faces(list: &[&[u32]]) -> Polygons {
        let mut faces = Polygons::default();
        for f in list {
            faces.push(f);
        }
        faces
    }

    #[test]
    fn a_quad_strip_has_one_border() {
        let edges = Edges::of(&faces(&[&[0, 1, 4, 3], &[1, 2, 5, 4], &[7, 7], &[8, 8, 8]]));
        assert_eq!(edges.len(), 7);
        assert_eq!(edges.uses(2), [EdgeUse { face: 1, forward: true }]);
        let loops = boundary_loops(&edges);
        assert_eq!(loops, [BoundaryLoop { vertices: vec![0, 1, 2, 5, 4, 3], closed: true }]);
        let p = [[0., 0., 0.], [1., 0., 0.], [2., 0., 0.], [0., 1., 0.], [1., 1., 0.], [2., 1., 0.0f32]];
        assert_eq!(loops[0].length(&p), 6.0);
        assert_eq!(loops[0].center(&p), DVec3::new(1.0, 0.5, 0.0));
        assert!(edges.non_manifold().is_empty() && edges.inconsistent().is_empty());
    }

    #[test]
    fn bad_edges_are_found() {
        let fin = Edges::of(&faces(&[&[0, 1, 2], &[1, 0, 3], &[0, 1, 4]]));
        let bad: Vec<_> = fin.non_manifold().iter().map(|&e| fin.vertices(e)).collect();
        assert_eq!(bad, [[0, 1]]);
        let flipped = Edges::of(&faces(&[&[0, 1, 2], &[0, 1, 3]]));
        let bad: Vec<_> = flipped.inconsistent().iter().map(|&e| flipped.vertices(e)).collect();
        assert_eq!(bad, [[0, 1]]);
        assert_eq!(flipped.boundary().len(), 4);
        assert!(boundary_loops(&flipped)[0].closed);
    }

    #[test]
    fn borders_that_touch_stay_apart_and_chains_stay_whole() {
        let bow_tie = Edges::of(&faces(&[&[0, 1, 2], &[0, 3, 4]]));
        let loops = boundary_loops(&bow_tie);
        assert_eq!(loops.len(), 2);
        assert!(loops.iter().all(|l| l.closed && l.vertices.len() == 3));
        // Three triangles on one edge: the boundary is three chains between its ends, two of which form a
        // loop.
        let fin = Edges::of(&faces(&[&[0, 1, 2], &[0, 1, 3], &[0, 1, 4]]));
        let loops = boundary_loops(&fin);
        let n_edges: usize = loops.iter().map(|l| l.vertices.len() - usize::from(!l.closed)).sum();
        assert_eq!(n_edges, 6);
        assert_eq!(loops.iter().filter(|l| !l.closed).count(), 1);
    }

    #[test]
    fn nothing_has_no_edges() {
        let edges = Edges::of(&Polygons::default());
        assert!(edges.is_empty() && boundary_loops(&edges).is_empty());
    }
}
