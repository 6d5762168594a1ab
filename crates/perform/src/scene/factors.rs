//! Regions that are stiffer or heavier, without a seam at their border.
//!
//! A region is given on the skin. Each node belongs to it by a share s, which fades over [`FALLOFF`] beyond
//! the region's border ([`risorius_flesh::region_shares`]). A node's mass is multiplied by `factor^s`; a
//! tet's mu and lambda by `factor^s` with the mean s of its nodes. The factors of overlapping regions
//! multiply.

use crate::scene::model::{Factor, Scene};
use risorius_flesh::Face;
use risorius_flesh::region_shares::RegionShares;
use risorius_solve::SolveError;

/// Distance along the skin over which a factor fades beyond the border of its region, meters.
pub(crate) const FALLOFF: f64 = 0.008;

/// Factors of a scene on a face; empty where there are none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Factors {
    /// On mu and lambda of each tet.
    pub stiffness: Vec<f64>,
    /// On the mass of each node.
    pub mass: Vec<f64>,
}

impl Factors {
    /// Spreads the regions of a scene through the flesh.
    pub fn prepare(face: &Face, scene: &Scene) -> Result<Self, SolveError> {
        if scene.stiffness.is_empty() && scene.mass.is_empty() {
            return Ok(Self::default());
        }
        let spread = RegionShares::prepare(&face.anatomy.pieces, &face.flesh)?;
        let mut factors = Self::default();
        for Factor { vertices, factor } in &scene.stiffness {
            let shares = spread.of(vertices, FALLOFF)?;
            let of_tet = |tet: &[u32; 4]| tet.iter().map(|&n| shares[n as usize]).sum::<f64>() / 4.0;
            factors.stiffness.resize(face.flesh.tets.len(), 1.0);
            let all = factors.stiffness.iter_mut().zip(face.flesh.tets.iter());
            all.for_each(|(k, tet)| *k *= factor.powf(of_tet(tet)));
        }
        for Factor { vertices, factor } in &scene.mass {
            factors.mass.resize(face.flesh.n_nodes(), 1.0);
            let all = factors.mass.iter_mut().zip(spread.of(vertices, FALLOFF)?);
            all.for_each(|(m, share)| *m *= factor.powf(share));
        }
        Ok(factors)
    }
}
