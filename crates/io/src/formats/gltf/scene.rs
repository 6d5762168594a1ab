//! The node tree: parents, world transforms, names. All traversals are iterative, so that a chain of a
//! million nodes does not overflow the stack. Nodes with two parents and cycles are rejected.

use super::json::{Node, Root};
use super::malformed;
use crate::IoError;
use glam::{DAffine3, DMat3, DMat4, DQuat, DVec3};
use std::collections::BTreeSet;

/// Parents, world transforms and an order in which parents come before children.
pub(super) struct Tree {
    pub parent: Vec<Option<usize>>,
    pub world: Vec<DAffine3>,
    top_down: Vec<usize>,
    /// The nearest ancestor that has a name.
    named_above: Vec<Option<usize>>,
}

/// Builds the tree; rejects graphs that are not trees.
pub(super) fn tree(root: &Root) -> Result<Tree, IoError> {
    let nodes = &root.nodes;
    let mut parent = vec![None; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        for &child in &node.children {
            match parent.get_mut(child) {
                None => {
                    return Err(malformed(format!("node {i}"), format!("its child {child} does not exist")));
                }
                Some(Some(other)) => {
                    let problem =
                        format!("it is a child of node {other} and of node {i}; a node has one parent");
                    return Err(malformed(format!("node {child}"), problem));
                }
                Some(slot) => *slot = Some(i),
            }
        }
    }
    let mut top_down: Vec<usize> = (0..nodes.len()).filter(|&i| parent[i].is_none()).collect();
    let mut next = 0;
    while let Some(&i) = top_down.get(next) {
        top_down.extend(&nodes[i].children);
        next += 1;
    }
    if top_down.len() < nodes.len() {
        let reached: BTreeSet<usize> = top_down.into_iter().collect();
        let lost = (0..nodes.len()).find(|i| !reached.contains(i)).unwrap_or(0);
        return Err(malformed(format!("node {lost}"), "it is its own ancestor"));
    }
    let mut world = vec![DAffine3::IDENTITY; nodes.len()];
    let mut named_above = vec![None; nodes.len()];
    for &i in &top_down {
        let local = local_transform(&nodes[i]);
        world[i] = parent[i].map_or(local, |p| world[p] * local);
        let named = |p: usize| nodes[p].name.as_ref().is_some_and(|n| !n.is_empty());
        named_above[i] = parent[i].and_then(|p| if named(p) { Some(p) } else { named_above[p] });
    }
    Ok(Tree { parent, world, top_down, named_above })
}

/// The transform from a node to its parent. Rotations are normalized; a zero quaternion is the identity.
pub(super) fn local_transform(node: &Node) -> DAffine3 {
    if let Some(m) = &node.matrix {
        return DAffine3::from_mat4(DMat4::from_cols_array(m));
    }
    let scale = node.scale.map_or(DVec3::ONE, DVec3::from);
    let translation = node.translation.map_or(DVec3::ZERO, DVec3::from);
    DAffine3::from_scale_rotation_translation(scale, unit_quat(node.rotation), translation)
}

/// A rotation from numbers in a file.
pub(super) fn unit_quat(xyzw: Option<[f64; 4]>) -> DQuat {
    let q = DQuat::from_array(xyzw.unwrap_or([0.0, 0.0, 0.0, 1.0]));
    let length = q.length();
    // Unit quaternions are kept unchanged, so that identities stay exact.
    if length == 1.0 {
        q
    } else if length > 1e-12 && length.is_finite() {
        q / length
    } else {
        DQuat::IDENTITY
    }
}

impl Tree {
    /// The name of the nearest named ancestor of `node`.
    pub(crate) fn named_ancestor<'r>(&self, root: &'r Root, node: usize) -> Option<&'r str> {
        self.named_above[node].and_then(|i| root.nodes[i].name.as_deref())
    }

    /// The number of nodes above `node`.
    pub(crate) fn depth(&self, node: usize) -> usize {
        std::iter::successors(self.parent[node], |&p| self.parent[p]).count()
    }

    /// Which of the parts, by their nodes, lie at or below the node `wanted`.
    pub(crate) fn parts_below(&self, wanted: usize, part_nodes: &[Option<usize>]) -> Vec<usize> {
        let mut below = vec![false; self.parent.len()];
        for &i in &self.top_down {
            below[i] = i == wanted || self.parent[i].is_some_and(|p| below[p]);
        }
        (0..part_nodes.len()).filter(|&p| part_nodes[p].is_some_and(|n| below[n])).collect()
    }
}

/// How a part's coordinates are transformed to world space.
pub(crate) struct Placement {
    affine: DAffine3,
    /// Inverse transpose up to a positive factor.
    normal: DMat3,
    /// Coordinates are not changed.
    pub identity: bool,
    /// The transform is a reflection, so the winding of faces is reversed.
    pub mirrored: bool,
}

impl Placement {
    pub fn new(affine: DAffine3) -> Self {
        let m = affine.matrix3;
        let determinant = m.determinant();
        let cofactors =
            DMat3::from_cols(m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis), m.x_axis.cross(m.y_axis));
        Self {
            normal: if determinant < 0.0 { -cofactors } else { cofactors },
            identity: affine == DAffine3::IDENTITY,
            mirrored: determinant < 0.0,
            affine,
        }
    }

    /// The transform, for [`risorius_rig::Part::placement`]: only if it changes coordinates and can be
    /// undone.
    pub fn to_keep(&self) -> Option<DAffine3> {
        let inverse = self.affine.inverse();
        (!self.identity && self.affine.is_finite() && inverse.is_finite()).then_some(self.affine)
    }

    pub fn point(&self, p: [f64; 3]) -> [f32; 3] {
        if self.identity {
            p.map(|x| x as f32)
        } else {
            self.affine.transform_point3(p.into()).as_vec3().into()
        }
    }

    pub fn vector(&self, v: [f64; 3]) -> [f32; 3] {
        if self.identity {
            v.map(|x| x as f32)
        } else {
            self.affine.transform_vector3(v.into()).as_vec3().into()
        }
    }

    pub fn normal(&self, n: [f64; 3]) -> [f32; 3] {
        if self.identity {
            return n.map(|x| x as f32);
        }
        (self.normal * DVec3::from(n)).normalize_or_zero().as_vec3().into()
    }
}
