//! Disjoint sets (union-find) over indices, with path halving.

/// Sets over `0..n`; each is represented by its lowest member.
#[derive(Debug, Clone)]
pub struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    /// Every member in a set of its own.
    pub fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).collect() }
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// The lowest member of the set that contains `v`.
    pub fn root(&mut self, mut v: u32) -> u32 {
        while self.parent[v as usize] != v {
            let up = self.parent[self.parent[v as usize] as usize];
            self.parent[v as usize] = up;
            v = up;
        }
        v
    }

    /// Joins the sets of two members.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_members_share_their_lowest() {
        let mut sets = UnionFind::new(6);
        sets.join(4, 2);
        sets.join(5, 4);
        sets.join(0, 1);
        let roots: Vec<u32> = (0..6).map(|v| sets.root(v)).collect();
        assert_eq!(roots, [0, 0, 2, 3, 2, 2]);
        assert!(sets.len() == 6 && !sets.is_empty());
    }
}
