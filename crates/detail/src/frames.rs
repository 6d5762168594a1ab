//! Normals and local frames of a moving mesh.
//!
//! Each vertex keeps the fan of its neighbors in order, so that the sum of the cross products of neighboring
//! edges, twice the area-weighted normal, reads every neighbor once. Where the surface is not manifold, a
//! vertex has several fans.
//!
//! The frames in which displacements are expressed do not need that normal: they only have to rotate with the
//! surface and to be the same for learning and playing. Two edges of each vertex are enough
//! ([`LocalFrames`]): the two neighboring ones that are closest to a right angle at rest. The first edge is
//! the tangent, their cross product the normal; the frame cannot flip while the two edges span a plane. This
//! reads two neighbors instead of six.

use glam::Vec3A;

/// Fans of neighbors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fans {
    /// The first fan of vertex v: `neighbors[first[v]..first[v + 1]]`. Consecutive entries form triangles
    /// with v.
    first: Vec<u32>,
    neighbors: Vec<u32>,
    /// Further fans, by vertex.
    more: Vec<(u32, Vec<u32>)>,
}

impl Fans {
    /// Builds the fans of triangles whose corners are below `n_vertices`.
    pub fn prepare(n_vertices: usize, triangles: &[[u32; 3]]) -> Self {
        let mut corners: Vec<[u32; 3]> = Vec::with_capacity(3 * triangles.len());
        for &[a, b, c] in triangles.iter().filter(|[a, b, c]| a != b && b != c && c != a) {
            corners.extend([[a, b, c], [b, c, a], [c, a, b]]);
        }
        corners.sort_unstable();
        let mut fans = Self { first: Vec::with_capacity(n_vertices + 1), ..Self::default() };
        fans.first.push(0);
        let mut rest = corners.as_slice();
        for v in 0..n_vertices as u32 {
            let count = rest.iter().take_while(|c| c[0] == v).count();
            let (mine, others) = rest.split_at(count);
            rest = others;
            let mut list = chained(mine.iter().map(|c| [c[1], c[2]]).collect()).into_iter();
            fans.neighbors.extend(list.next().unwrap_or_default());
            fans.first.push(fans.neighbors.len() as u32);
            fans.more.extend(list.map(|fan| (v, fan)));
        }
        fans
    }

    /// The same fans for vertices in another order; `old[new]` is the old index of each new one.
    pub(crate) fn reordered(&self, old: &[u32]) -> Self {
        let new = inverse(old);
        let to_new = |fan: &[u32]| fan.iter().map(|&v| new[v as usize]).collect::<Vec<u32>>();
        let mut fans = Self { first: vec![0], ..Self::default() };
        for &o in old {
            fans.neighbors.extend(to_new(self.fan(o as usize)));
            fans.first.push(fans.neighbors.len() as u32);
        }
        fans.more = self.more.iter().map(|(v, fan)| (new[*v as usize], to_new(fan))).collect();
        fans.more.sort();
        fans
    }

    /// Bytes read by one pass over all fans.
    pub fn n_bytes(&self) -> usize {
        4 * (self.first.len()
            + self.neighbors.len()
            + self.more.iter().map(|(_, fan)| fan.len() + 1).sum::<usize>())
    }

    /// The first fan of a vertex; consecutive entries form triangles with it.
    pub(crate) fn fan(&self, v: usize) -> &[u32] {
        &self.neighbors[self.first[v] as usize..self.first[v + 1] as usize]
    }

    /// Whether a vertex has further fans.
    pub(crate) fn has_more(&self, v: usize) -> bool {
        self.more.binary_search_by_key(&(v as u32), |(u, _)| *u).is_ok()
    }

    /// Twice the area-weighted normal; its length is twice the area around the vertex, zero if there are no
    /// triangles.
    #[inline(always)]
    pub fn area_normal(&self, v: usize, x: &[Vec3A]) -> Vec3A {
        let sum = around(self.fan(v), x[v], x);
        if self.more.is_empty() {
            return sum;
        }
        let at = self.more.partition_point(|(u, _)| (*u as usize) < v);
        let others = self.more[at..].iter().take_while(|(u, _)| *u as usize == v);
        others.fold(sum, |sum, (_, fan)| sum + around(fan, x[v], x))
    }

    /// The unit normal; +Y where there is none.
    #[inline]
    pub fn normal(&self, v: usize, x: &[Vec3A]) -> Vec3A {
        unit(self.area_normal(v, x)).unwrap_or(Vec3A::Y)
    }
}

/// Two edges of each vertex.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct LocalFrames {
    ends: Vec<[u32; 2]>,
}

impl LocalFrames {
    /// Chooses the edges on a mesh at rest: the neighboring ones that are closest to a right angle.
    pub fn prepare(fans: &Fans, rest: &[Vec3A]) -> Self {
        let one = |v: usize| {
            let mut best = (0.0, [v as u32; 2]);
            for pair in fans.fan(v).windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|w| rest[w as usize] - rest[v]);
                let sine = a.cross(b).length() / (a.length() * b.length()).max(f32::MIN_POSITIVE);
                if sine > best.0 {
                    best = (sine, [pair[0], pair[1]]);
                }
            }
            best.1
        };
        Self { ends: (0..rest.len()).map(one).collect() }
    }

    /// The same for vertices in another order; `old[new]` is the old index of each new one.
    pub(crate) fn reordered(&self, old: &[u32]) -> Self {
        let new = inverse(old);
        Self { ends: old.iter().map(|&o| self.ends[o as usize].map(|v| new[v as usize])).collect() }
    }

    /// The two neighbors that define the frame of a vertex.
    pub(crate) fn ends(&self, v: usize) -> [u32; 2] {
        self.ends[v]
    }

    /// The two edges of a vertex.
    #[inline(always)]
    pub fn edges(&self, v: usize, x: &[Vec3A]) -> [Vec3A; 2] {
        self.ends[v].map(|w| x[w as usize] - x[v])
    }

    /// Tangent, bitangent and normal: orthonormal and right-handed.
    #[inline]
    pub fn at(&self, v: usize, x: &[Vec3A]) -> [Vec3A; 3] {
        let [a, b] = self.edges(v, x);
        let normal = unit(a.cross(b)).unwrap_or(Vec3A::Y);
        let tangent = unit(a - normal * normal.dot(a)).unwrap_or_else(|| normal.any_orthonormal_vector());
        [tangent, normal.cross(tangent), normal]
    }
}

fn inverse(old: &[u32]) -> Vec<u32> {
    let mut new = vec![0u32; old.len()];
    old.iter().zip(0..).for_each(|(&o, n)| new[o as usize] = n);
    new
}

#[inline(always)]
fn around(fan: &[u32], here: Vec3A, x: &[Vec3A]) -> Vec3A {
    let Some((&first, others)) = fan.split_first() else { return Vec3A::ZERO };
    let mut last = x[first as usize] - here;
    let mut sum = Vec3A::ZERO;
    for &w in others {
        let next = x[w as usize] - here;
        sum += last.cross(next);
        last = next;
    }
    sum
}

/// Scales before normalizing: squares of very small or very large vectors would leave the range of f32.
#[inline]
fn unit(v: Vec3A) -> Option<Vec3A> {
    let square = v.length_squared();
    if square > 1e-30 && square < 1e30 {
        return Some(v * square.sqrt().recip());
    }
    let largest = v.abs().max_element();
    (largest > 0.0 && largest.is_finite()).then(|| (v / largest).normalize())
}

/// Chains pairs end to end; open chains start at a vertex without a predecessor.
fn chained(pairs: Vec<[u32; 2]>) -> Vec<Vec<u32>> {
    let mut from = std::collections::BTreeMap::<u32, Vec<usize>>::new();
    pairs.iter().enumerate().rev().for_each(|(k, p)| from.entry(p[0]).or_default().push(k));
    let ends: std::collections::BTreeSet<u32> = pairs.iter().map(|p| p[1]).collect();
    let mut is_used = vec![false; pairs.len()];
    let mut fans = Vec::new();
    let (open, closed): (Vec<usize>, Vec<usize>) =
        (0..pairs.len()).partition(|&k| !ends.contains(&pairs[k][0]));
    for begin in open.into_iter().chain(closed) {
        if std::mem::replace(&mut is_used[begin], true) {
            continue;
        }
        let mut fan = pairs[begin].to_vec();
        while let Some(next) = fan.last().and_then(|last| {
            let waiting = from.get_mut(last)?;
            std::iter::from_fn(|| waiting.pop()).find(|&k| !is_used[k])
        }) {
            is_used[next] = true;
            fan.push(pairs[next][1]);
        }
        fans.push(fan);
    }
    // The longest fan first: it contributes most to the normal.
    fans.sort_by_key(|fan| std::cmp::Reverse(fan.len()));
    fans
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Quat;

    #[test]
    fn frames_turn_with_the_mesh() {
        // A pyramid over a square, its base open, and a fin that makes the tip not manifold.
        let x: Vec<Vec3A> = [
            [0.0, 0.0, 1.0],
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [-1.0, 0.0, 0.0],
            [0.0, -1.0, 0.0],
            [0.1, 0.2, 2.0],
        ]
        .map(Vec3A::from_array)
        .to_vec();
        let triangles = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [0, 5, 1], [2, 2, 3]];
        let fans = Fans::prepare(6, &triangles[..4]);
        assert!(fans.normal(0, &x).distance(Vec3A::Z) < 1e-6);
        assert_eq!((fans.normal(5, &x), fans.more.len()), (Vec3A::Y, 0));
        let fans = Fans::prepare(6, &triangles);
        assert_eq!(fans.more.len(), 1);
        let turn = Quat::from_rotation_y(2.3) * Quat::from_rotation_x(1.0);
        let turned: Vec<Vec3A> = x.iter().map(|p| turn * (*p * 3.0)).collect();
        let order = [3, 0, 5, 1, 2, 4];
        let moved: Vec<Vec3A> = order.iter().map(|&v| x[v as usize]).collect();
        let frames = LocalFrames::prepare(&fans, &x);
        let (reordered, reordered_frames) = (fans.reordered(&order), frames.reordered(&order));
        for v in 0..6 {
            let [t, b, n] = frames.at(v, &x);
            assert!((t.cross(b) - n).length() < 1e-6 && t.dot(n).abs() < 1e-6);
            let area: Vec3A = triangles
                .iter()
                .filter(|t| t.contains(&(v as u32)))
                .map(|t| t.map(|v| x[v as usize]))
                .map(|[a, b, c]| (b - a).cross(c - a))
                .sum();
            assert!(fans.area_normal(v, &x).distance(area) < 1e-6);
            let there = frames.at(v, &turned);
            [t, b, n].iter().zip(there).for_each(|(a, b)| assert!((turn * *a).distance(b) < 1e-5));
            let place = order.iter().position(|&o| o as usize == v).unwrap();
            assert_eq!(reordered_frames.at(place, &moved), [t, b, n]);
            assert_eq!(reordered.normal(place, &moved), fans.normal(v, &x));
        }
    }
}
