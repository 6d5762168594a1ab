//! Faces of any number of corners, kept as the artist made them (quads stay quads).

/// A list of faces. Face `i` has the corners `offsets[i]..offsets[i + 1]` of the flat list of vertex numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polygons {
    offsets: Vec<u32>,
    corners: Vec<u32>,
}

impl Default for Polygons {
    fn default() -> Self {
        Self { offsets: vec![0], corners: Vec::new() }
    }
}

impl Polygons {
    /// Triangles as faces.
    pub fn from_triangles(triangles: &[[u32; 3]]) -> Self {
        Self {
            offsets: (0..=triangles.len() as u32).map(|i| 3 * i).collect(),
            corners: triangles.as_flattened().to_vec(),
        }
    }

    /// Appends a face.
    pub fn push(&mut self, face: &[u32]) {
        self.corners.extend_from_slice(face);
        self.offsets.push(self.corners.len() as u32);
    }

    /// Number of faces.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no faces: a point cloud.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vertex numbers of face `face_idx`.
    pub fn face(&self, face_idx: usize) -> &[u32] {
        &self.corners[self.corner_range(face_idx)]
    }

    /// The range of face `face_idx` in [`Self::corners`] and in any per-corner attribute.
    pub fn corner_range(&self, face_idx: usize) -> std::ops::Range<usize> {
        self.offsets[face_idx] as usize..self.offsets[face_idx + 1] as usize
    }

    /// All faces in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.offsets.windows(2).map(|w| &self.corners[w[0] as usize..w[1] as usize])
    }

    /// The corners of all faces, one after another.
    pub fn corners(&self) -> &[u32] {
        &self.corners
    }

    /// The same faces with remapped vertex indices.
    pub fn map_vertices(&self, f: impl Fn(u32) -> u32) -> Self {
        Self { offsets: self.offsets.clone(), corners: self.corners.iter().map(|&v| f(v)).collect() }
    }

    /// Every face as a fan of triangles from its first corner; faces of fewer than three corners give none.
    pub fn triangulated(&self) -> Vec<[u32; 3]> {
        self.iter().flat_map(|f| (2..f.len()).map(move |i| [f[0], f[i - 1], f[i]])).collect()
    }

    /// For each triangle of [`Self::triangulated`], the positions of its corners in [`Self::corners`].
    pub fn triangulated_corners(&self) -> Vec<[u32; 3]> {
        self.offsets.windows(2).flat_map(|w| (w[0] + 2..w[1]).map(move |c| [w[0], c - 1, c])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fans_keep_winding_and_skip_degenerate_faces() {
        let mut faces = Polygons::default();
        faces.push(&[4, 5, 6, 7]);
        faces.push(&[1, 2]);
        faces.push(&[9, 8, 3]);
        assert_eq!(faces.triangulated(), [[4, 5, 6], [4, 6, 7], [9, 8, 3]]);
        assert_eq!(faces.triangulated_corners(), [[0, 1, 2], [0, 2, 3], [6, 7, 8]]);
        assert_eq!(faces.len(), 3);
    }
}
