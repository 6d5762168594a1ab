//! Separation of parts of a tet mesh that meet only in a node, and removal of small components.
//!
//! Two parts of a mesh that meet in a single node would be hinged at it. The tets around a node are grouped
//! by the faces through the node that they share; each group after the first gets a copy of the node. Parts
//! that still meet along an edge are connected elsewhere; they are left, since no copy of a node can separate
//! them.

use crate::TetMesh;
use crate::tet::tet_mesh::{faces_of, tets_of_nodes};

/// Duplicates nodes so that parts of the mesh that meet only in a node, or in an edge between such nodes, are
/// separated. Returns for each new node, in order, the node that it copies.
pub fn part_at_nodes(mesh: &mut TetMesh) -> Vec<u32> {
    let around = tets_of_nodes(mesh.nodes.len(), &mesh.tets);
    let mut copies: Vec<(u32, Vec<u32>)> = Vec::new();
    for v in 0..around.len() {
        let tets = around.of(v);
        let groups = groups_at_node(mesh, v as u32, tets);
        for g in 1..=groups.iter().copied().max().unwrap_or(0) {
            copies.push((
                v as u32,
                tets.iter().zip(&groups).filter(|(_, of)| **of == g).map(|(t, _)| *t).collect(),
            ));
        }
    }
    let mut copied = Vec::new();
    for (v, tets) in copies {
        let new = mesh.nodes.len() as u32;
        mesh.nodes.push(mesh.nodes[v as usize]);
        copied.push(v);
        for t in tets {
            mesh.tets[t as usize].iter_mut().filter(|u| **u == v).for_each(|u| *u = new);
        }
    }
    copied
}

/// For each of the tets around `v`, the index of its group.
fn groups_at_node(mesh: &TetMesh, v: u32, tets: &[u32]) -> Vec<u32> {
    let mut faces: Vec<([u32; 3], usize)> = Vec::with_capacity(3 * tets.len());
    for (i, &t) in tets.iter().enumerate() {
        for mut face in faces_of(mesh.tets[t as usize]).into_iter().filter(|f| f.contains(&v)) {
            face.sort_unstable();
            faces.push((face, i));
        }
    }
    faces.sort_unstable();
    let mut group: Vec<usize> = (0..tets.len()).collect();
    let root = |group: &[usize], mut i: usize| {
        while group[i] != i {
            i = group[i];
        }
        i
    };
    for pair in faces.windows(2).filter(|w| w[0].0 == w[1].0) {
        let (a, b) = (root(&group, pair[0].1), root(&group, pair[1].1));
        group[a.max(b)] = a.min(b);
    }
    let mut numbers = vec![u32::MAX; tets.len()];
    let mut n = 0;
    for i in 0..tets.len() {
        let r = root(&group, i);
        if numbers[r] == u32::MAX {
            numbers[r] = n;
            n += 1;
        }
        numbers[i] = numbers[r];
    }
    numbers
}

/// Drops components with less than `share` of the total volume, but never the largest. Returns how many were
/// dropped; their nodes stay until [`TetMesh::drop_unused_nodes`].
pub fn drop_small_pieces(mesh: &mut TetMesh, share: f64) -> usize {
    let pieces = mesh.pieces();
    let mut volumes = vec![0.0; pieces.n];
    for (v, &p) in mesh.volumes().iter().zip(&pieces.of_tet) {
        volumes[p as usize] += v;
    }
    let largest = volumes.iter().copied().fold(0.0, f64::max);
    let least = (share * volumes.iter().sum::<f64>()).min(largest);
    let mut of = pieces.of_tet.iter();
    mesh.tets.retain(|_| of.next().is_none_or(|&p| volumes[p as usize] >= least));
    volumes.iter().filter(|&&v| v < least).count()
}
