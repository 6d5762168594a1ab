//! What every shape must keep: names, symmetry, rigid bones and eyes, closed lids, lips off teeth.

use super::*;
use crate::bones::built_in_joint;
use crate::skin::neutral;
use std::sync::LazyLock;

static HEAD: LazyLock<NeutralHead> = LazyLock::new(neutral);
static SHAPES: LazyLock<Vec<Deltas>> = LazyLock::new(|| make(&HEAD, &built_in_joint()));

#[test]
fn every_shape_exists_and_is_sparse() {
    let n_vertices: usize = HEAD.parts.iter().map(|p| p.positions.len()).sum();
    assert_eq!(SHAPES.len(), 67);
    for (name, shape) in names().iter().zip(SHAPES.iter()) {
        assert!(!shape.vertices.is_empty(), "{name} moves nothing");
        assert!(shape.vertices.len() < n_vertices / 2, "{name} moves {} vertices", shape.vertices.len());
        assert!(shape.vertices.windows(2).all(|w| w[0] < w[1]), "{name} is not ascending");
        assert!(shape.offsets.iter().flatten().all(|x| x.is_finite()), "{name} is not finite");
    }
}
