//! What moving nodes of a file mean: the motion of the head, and of single parts below it (eyeballs).
//!
//! The nodes above most parts, and above the same parts as each other, move the head; their motions multiply
//! from the top down. All other nodes above parts move those parts relative to the head. Nodes above no part
//! (cameras, bones) move nothing that a rig has.

use crate::formats::gltf::NodeTrack;
use glam::{DQuat, DVec3};
use risorius_base::{Rigid, Space};
use risorius_rig::{HeadMotion, RigidTrack};

/// The motion of nodes, in terms of a rig.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeMotion {
    /// The motion of the head in the file's coordinates.
    head: Option<RigidTrack>,
    /// The index of each part that moves relative to the head, with its motion in the file's coordinates.
    pub parts: Vec<(usize, RigidTrack)>,
    /// Names of animated nodes above no part.
    pub unused: Vec<String>,
}

impl NodeMotion {
    /// Of `tracks` over `n_parts` parts. Where several animations move a node, the one called `animation`
    /// counts, or else the first.
    pub fn of(tracks: &[NodeTrack], n_parts: usize, animation: Option<&str>) -> Self {
        let mut used: Vec<&NodeTrack> = Vec::new();
        let mut preferred: Vec<&NodeTrack> = tracks.iter().collect();
        preferred.sort_by_key(|t| Some(t.animation.as_str()) != animation);
        for track in preferred {
            let same = |t: &&NodeTrack| t.node == track.node;
            if !used.iter().any(same) {
                used.push(track);
            }
        }
        used.sort_by_key(|t| (t.depth, t.node));
        let unused = used.iter().filter(|t| t.is_ancestor_of_parts.is_empty());
        let unused = unused.map(|t| t.node_name.clone()).collect();
        // A node above one part of several (an eye) is not the head.
        let above_most = used.iter().filter(|t| 2 * t.is_ancestor_of_parts.len() > n_parts);
        let of_head = above_most.map(|t| &t.is_ancestor_of_parts).max_by_key(|parts| parts.len()).cloned();
        let is_head = |t: &NodeTrack| Some(&t.is_ancestor_of_parts) == of_head.as_ref();
        let head = chained(used.iter().copied().filter(|t| is_head(t)));
        let of_part = |part: usize| {
            let above =
                used.iter().copied().filter(|t| !is_head(t) && t.is_ancestor_of_parts.contains(&part));
            Some((part, chained(above)?))
        };
        let parts = (0..n_parts).filter_map(of_part).filter(|(_, track)| track.moves()).collect();
        Self { head, parts, unused }
    }

    /// The motion of the head in meters, +Y up, +Z front.
    pub fn head(&self, space: &Space) -> Option<HeadMotion> {
        let track = self.head.as_ref()?;
        let motion = HeadMotion::from_file(track.times_secs.clone(), track.motions.iter().copied(), space);
        motion.check().is_ok().then_some(motion)
    }
}

/// The motions of nodes from the top down as one.
fn chained<'t>(tracks: impl Iterator<Item = &'t NodeTrack>) -> Option<RigidTrack> {
    tracks.map(rigid).reduce(|above, below| above.after(&below))
}

fn rigid(track: &NodeTrack) -> RigidTrack {
    let motion = |(p, q): (&[f64; 3], &[f64; 4])| Rigid {
        rotation: DQuat::from_array(*q),
        translation: DVec3::from(*p),
    };
    let motions = track.positions.iter().zip(&track.rotations).map(motion).collect();
    RigidTrack { times_secs: track.times_secs.clone(), motions }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(animation: &str, node: usize, depth: usize, parts: &[usize], x: f64) -> NodeTrack {
        NodeTrack {
            animation: animation.into(),
            node,
            node_name: format!("node{node}"),
            is_ancestor_of_parts: parts.to_vec(),
            depth,
            times_secs: vec![0.0],
            positions: vec![[x, 0.0, 0.0]],
            rotations: vec![[0.0, 0.0, 0.0, 1.0]],
        }
    }

    #[test]
    fn heads_eyes_and_cameras_are_told_apart() {
        let tracks = [
            track("a", 5, 2, &[1], 1.0),
            track("b", 5, 2, &[1], 10.0),
            track("a", 1, 0, &[0, 1, 2], 100.0),
            track("a", 2, 1, &[0, 1, 2], 1000.0),
            track("a", 9, 0, &[], 1.0),
            track("a", 6, 3, &[2], 0.0),
        ];
        let x = |track: &RigidTrack| track.at(0.0).translation.x;
        let motion = NodeMotion::of(&tracks, 3, Some("b"));
        assert_eq!(motion.head.as_ref().map(x), Some(1100.0));
        let parts: Vec<(usize, f64)> = motion.parts.iter().map(|(p, t)| (*p, x(t))).collect();
        assert_eq!(parts, [(1, 10.0)], "part 2 does not move");
        assert_eq!(motion.unused, ["node9"]);
        assert_eq!(x(&NodeMotion::of(&tracks, 3, None).parts[0].1), 1.0);
        assert_eq!(NodeMotion::of(&[], 3, None), NodeMotion::default());
    }
}
