//! Validation of a supplied tet mesh before it is simulated; lists every problem.
//!
//! Nothing is repaired here; each finding says where it is and what to do. Tets with nodes out of range are
//! found first and left out of the other checks, so that the check itself never fails. Time m log m for m
//! tets.

use crate::TetMesh;
use crate::tet::quality::min_max_dihedral;
use crate::tet::tet_mesh::faces_of;
use std::fmt;

/// Below this dihedral angle, in degrees, a tet is reported as flat: such elements lock and make the system
/// ill-conditioned.
const FLAT_DEG: f64 = 1.0;

/// Something wrong with a tet mesh.
#[derive(Debug, Clone, PartialEq)]
pub enum TetProblem {
    /// There are no tets.
    Empty,
    /// A position is not a finite number.
    NodeNotFinite(u32),
    /// A tet refers to a node that does not exist.
    NodeOutOfRange {
        /// The tet.
        tet: u32,
        /// The index it refers to.
        node: u32,
    },
    /// A tet has a repeated node.
    NodeRepeated(u32),
    /// A tet has negative volume.
    Inverted(u32),
    /// A tet has dihedral angles close to 0 or 180 degrees.
    Flat(u32),
    /// Two tets have the same nodes.
    Duplicate(u32, u32),
    /// A face has more than two tets.
    SharedFace {
        /// Its nodes, ascending.
        face: [u32; 3],
        /// Its tets, ascending.
        tets: Vec<u32>,
    },
    /// Two tets lie on the same side of their common face.
    Overlap(u32, u32),
    /// A node that no tet uses.
    Unused(u32),
    /// The mesh has several components that share no node.
    Pieces(usize),
}

impl fmt::Display for TetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the mesh has no tets"),
            Self::NodeNotFinite(v) => {
                write!(f, "the position of node {v} is not finite; correct it or remove its tets")
            }
            Self::NodeOutOfRange { tet, node } => {
                write!(
                    f,
                    "tet {tet} refers to node {node}, which does not exist; node indices must start at 0"
                )
            }
            Self::NodeRepeated(t) => write!(f, "tet {t} has a repeated node; remove it"),
            Self::Inverted(t) => write!(f, "tet {t} has negative volume; swap two of its nodes"),
            Self::Flat(t) => {
                write!(f, "tet {t} has dihedral angles below {FLAT_DEG} degree; improve the mesh")
            }
            Self::Duplicate(t, u) => write!(f, "tets {t} and {u} have the same nodes; remove one"),
            Self::SharedFace { face, tets } => {
                write!(f, "face {face:?} has {} tets: {tets:?}; keep at most two of them", tets.len())
            }
            Self::Overlap(t, u) => {
                write!(f, "tets {t} and {u} lie on the same side of their common face; remove one")
            }
            Self::Unused(v) => write!(f, "node {v} belongs to no tet; remove it"),
            Self::Pieces(n) => {
                write!(f, "the mesh has {n} separate components; each needs its own attachments")
            }
        }
    }
}

/// Lists every problem of `mesh`, by kind and then ascending.
pub fn check(mesh: &TetMesh) -> Vec<TetProblem> {
    let mut found = Vec::new();
    if mesh.tets.is_empty() {
        found.push(TetProblem::Empty);
    }
    let not_finite = |v: &usize| !mesh.nodes[*v].is_finite();
    found.extend((0..mesh.nodes.len()).filter(not_finite).map(|v| TetProblem::NodeNotFinite(v as u32)));
    let valid = check_numbers(mesh, &mut found);
    check_shapes(mesh, &valid, &mut found);
    check_faces(mesh, &valid, &mut found);
    let mut used = vec![false; mesh.nodes.len()];
    valid.iter().flat_map(|&t| mesh.tets[t as usize]).for_each(|v| used[v as usize] = true);
    found.extend((0..used.len()).filter(|&v| !used[v]).map(|v| TetProblem::Unused(v as u32)));
    let whole =
        TetMesh { nodes: mesh.nodes.clone(), tets: valid.iter().map(|&t| mesh.tets[t as usize]).collect() };
    let pieces = whole.pieces();
    if pieces.n > 1 {
        found.push(TetProblem::Pieces(pieces.n));
    }
    found
}

/// The tets with four different, existing nodes.
fn check_numbers(mesh: &TetMesh, found: &mut Vec<TetProblem>) -> Vec<u32> {
    let (mut valid, mut repeated) = (Vec::new(), Vec::new());
    for (t, tet) in mesh.tets.iter().enumerate() {
        let t = t as u32;
        let outside = tet.iter().find(|&&v| v as usize >= mesh.nodes.len());
        if let Some(&node) = outside {
            found.push(TetProblem::NodeOutOfRange { tet: t, node });
        } else if (0..4).any(|i| tet[i + 1..].contains(&tet[i])) {
            repeated.push(TetProblem::NodeRepeated(t));
        } else {
            valid.push(t);
        }
    }
    found.extend(repeated);
    valid
}

fn check_shapes(mesh: &TetMesh, valid: &[u32], found: &mut Vec<TetProblem>) {
    let mut flat = Vec::new();
    for &t in valid {
        let corners = mesh.tets[t as usize].map(|v| mesh.nodes[v as usize]);
        if !corners.iter().all(|p| p.is_finite()) {
            continue;
        }
        let [a, b, c, d] = corners;
        let turned = mesh.edges_of(t as usize).determinant() < 0.0;
        let (low, high) = min_max_dihedral(if turned { [a, c, b, d] } else { corners });
        if low < FLAT_DEG || high > 180.0 - FLAT_DEG {
            flat.push(TetProblem::Flat(t));
        }
        if turned {
            found.push(TetProblem::Inverted(t));
        }
    }
    found.extend(flat);
}

fn check_faces(mesh: &TetMesh, valid: &[u32], found: &mut Vec<TetProblem>) {
    let mut tets: Vec<([u32; 4], u32)> = valid.iter().map(|&t| (sorted(mesh.tets[t as usize]), t)).collect();
    tets.sort_unstable();
    let same: Vec<TetProblem> =
        tets.windows(2).filter(|w| w[0].0 == w[1].0).map(|w| TetProblem::Duplicate(w[0].1, w[1].1)).collect();
    found.extend(same);
    let mut faces: Vec<([u32; 3], u32, bool)> = Vec::with_capacity(4 * valid.len());
    for &t in valid {
        faces.extend(faces_of(mesh.tets[t as usize]).map(|f| (sorted(f), t, is_even(f))));
    }
    faces.sort_unstable();
    let mut overlaps = Vec::new();
    for at in faces.chunk_by(|x, y| x.0 == y.0) {
        match at {
            // Seen from the two sides, the nodes run in opposite order.
            [x, y] if x.2 == y.2 => overlaps.push(TetProblem::Overlap(x.1, y.1)),
            [_] | [_, _] => {}
            _ => found.push(TetProblem::SharedFace { face: at[0].0, tets: at.iter().map(|x| x.1).collect() }),
        }
    }
    found.extend(overlaps);
}

fn sorted<const N: usize>(mut nodes: [u32; N]) -> [u32; N] {
    nodes.sort_unstable();
    nodes
}

/// Whether the nodes are an even permutation of their ascending order.
fn is_even([a, b, c]: [u32; 3]) -> bool {
    (u32::from(a > b) + u32::from(a > c) + u32::from(b > c)) % 2 == 0
}
