//! Tissue by anatomy: stiffness, density and damping of the flesh under each region of the face.
//!
//! The table gives the shear modulus mu of the whole layer under a region, skin, fat and muscle together,
//! because an element is thicker than any of them. Measured Young's moduli E are turned into `mu = E / 3`,
//! since soft tissue is nearly incompressible:
//!
//! - *Cheeks*: 2.7 to 4.4 kPa beside mouth and jaw, less at the center of the cheek and over the cheekbone,
//!   by indentation of living faces [Wei21, abstract]. Suction, which stretches the skin, gives 31 to 42 kPa
//!   [Luboz14, abstract]; swinging flesh is sheared, as under an indenter, so the lower values count.
//! - *Jowls, under the chin*: fat hangs there with little muscle in it; the soft end of the same range.
//! - *Lips, around the mouth, chin*: muscle with its tone, and the lower lip's hold on the chin. At rest the
//!   buccinator has 6 to 14 kPa [Stepanova23, abstract], the masseter 10.7 kPa [Olchowy21, abstract], the
//!   zygomaticus about 15 kPa [Ternifi19, abstract].
//! - *Nose, ears*: cartilage of 1 to 2.7 MPa [Griffin16, abstract] under thin skin. A shell of it fills a
//!   tenth to a fifth of the nose.
//! - *Forehead, brows, scalp*: 3 to 5 mm of skin and flat muscle, bound to the bone.
//!
//! Flesh beside bone is three times as stiff, where it is bound to the periosteum. Muscle is at least as
//! stiff as muscle at rest. lambda is four times mu (Poisson's ratio 0.4): elements of four nodes lock if
//! they are less compressible. Damping is the time beta of [`risorius_solve::energy::viscosity`]: with 9 ms,
//! a cheek that swings at 8 Hz has the damping ratio 0.23; it swings back once or twice. Second-order time
//! stepping adds less than 0.01 to that. Soft tissue is "heavily damped" after impacts [Boyer06, abstract].
//!
//! Shares of regions blend the logarithms of the values, so that a border between 1 and 100 kPa lies in its
//! middle.

use crate::domain::Bound;
use crate::flesh::Flesh;
use crate::region_shares::RegionShares;
use glam::DVec3;
use rayon::prelude::*;
use risorius_anatomy::carry::Anatomy;
use risorius_anatomy::regions::Regions;
use risorius_mesh::Bvh;
use risorius_rig::Rig;
use risorius_solve::SolveError;

/// Material of flesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tissue {
    /// Shear modulus, Pa.
    pub mu: f64,
    /// Resistance to volume change, Pa.
    pub lambda: f64,
    /// Mass, kg/m^3.
    pub density: f64,
    /// Time of viscosity, seconds.
    pub damping: f64,
}

impl Tissue {
    const fn soft(mu: f64, damping: f64) -> Self {
        Self { mu, lambda: LAMBDA_PER_MU * mu, density: DENSITY, damping }
    }
}

/// lambda of unpainted flesh, in multiples of mu.
pub const LAMBDA_PER_MU: f64 = 4.0;

/// Mass of flesh, kg/m^3 [Kozlov17, sec. 7].
pub const DENSITY: f64 = 1100.0;

/// Flesh of no particular region.
pub const USUAL: Tissue = Tissue::soft(2000.0, 0.013);

/// Shear modulus of muscle at rest, Pa.
pub const MUSCLE_AT_REST: f64 = 3000.0;

/// Regions of the built-in head and the tissue under them.
const TISSUES: [(&str, Tissue); 14] = [
    ("cheeks", Tissue::soft(1000.0, 0.009)),
    ("jowls", Tissue::soft(700.0, 0.009)),
    ("under_chin", Tissue::soft(700.0, 0.009)),
    ("neck", Tissue::soft(1500.0, 0.011)),
    ("lips", Tissue::soft(7000.0, 0.013)),
    ("around_mouth", Tissue::soft(5000.0, 0.013)),
    ("chin", Tissue::soft(7000.0, 0.013)),
    ("lids", Tissue::soft(3000.0, 0.013)),
    ("eye_sockets", Tissue::soft(3000.0, 0.013)),
    ("brows", Tissue::soft(5000.0, 0.013)),
    ("forehead", Tissue::soft(6000.0, 0.013)),
    ("scalp", Tissue::soft(9000.0, 0.013)),
    ("nose", Tissue::soft(200_000.0, 0.009)),
    ("ears", Tissue::soft(200_000.0, 0.009)),
];

/// Distance along the skin over which a tissue goes over into the next, meters.
const FALLOFF: f64 = 0.006;

/// Factor on the stiffness at bone, and the distance over which it fades, meters.
const BESIDE_BONE: (f64, f64) = (3.0, 0.003);

/// The tissue at every node of the flesh.
pub fn tissue(rig: &Rig, anatomy: &Anatomy, flesh: &Flesh) -> Result<Vec<Tissue>, SolveError> {
    let regions = Regions::new(rig, anatomy);
    let shares = RegionShares::prepare(&anatomy.pieces, flesh)?;
    let known: Vec<(Vec<u32>, Tissue)> =
        TISSUES.iter().filter_map(|(name, tissue)| Some((regions.of_face(name)?, *tissue))).collect();
    let per_region: Result<Vec<(Vec<f64>, Tissue)>, SolveError> = known
        .par_iter()
        .with_max_len(1)
        .map(|(vertices, tissue)| Ok((shares.of(vertices, FALLOFF)?, *tissue)))
        .collect();
    let per_region = per_region?;
    let stiffening = beside_bone(flesh);
    let at_node = |node: usize| {
        let of_node = |(shares, tissue): &(Vec<f64>, Tissue)| (shares[node], *tissue);
        let mut tissue = blended(per_region.iter().map(of_node));
        tissue.mu *= stiffening[node];
        tissue.lambda *= stiffening[node];
        tissue
    };
    Ok((0..flesh.n_nodes()).map(at_node).collect())
}

/// The mean of tissues with their shares; what is missing to 1 is [`USUAL`].
fn blended(parts: impl Iterator<Item = (f64, Tissue)>) -> Tissue {
    let mut sums = [0.0; 4];
    let mut total = 0.0;
    let mut add = |share: f64, tissue: &Tissue| {
        let values = [tissue.mu.ln(), tissue.lambda.ln(), tissue.density, tissue.damping];
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += share * value);
        total += share;
    };
    let mut listed = 0.0;
    for (share, tissue) in parts {
        add(share, &tissue);
        listed += share;
    }
    if listed < 1.0 {
        add(1.0 - listed, &USUAL);
    }
    let [mu, lambda, density, damping] = sums.map(|sum| sum / total);
    Tissue { mu: mu.exp(), lambda: lambda.exp(), density, damping }
}

/// The factor on the stiffness of every node by its distance from bone.
fn beside_bone(flesh: &Flesh) -> Vec<f64> {
    let nodes = flesh.rest();
    let bony = |n: &usize| matches!(flesh.bound(*n), Bound::Cranium | Bound::Mandible);
    let points: Vec<[f32; 3]> =
        (0..nodes.len()).filter(bony).map(|n| nodes[n].as_vec3().to_array()).collect();
    let tree = Bvh::of_points(&points);
    let (most, fade) = BESIDE_BONE;
    let factor = |p: &DVec3| {
        let distance = tree.closest_vertex(*p, 8.0 * fade).map_or(8.0 * fade, |c| c.1.sqrt());
        1.0 + (most - 1.0) * (-distance / fade).exp()
    };
    nodes.iter().map(factor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_blend_in_proportion() {
        let [cheek, nose] = ["cheeks", "nose"].map(|name| TISSUES.iter().find(|t| t.0 == name).unwrap().1);
        assert!((blended([(1.0, cheek)].into_iter()).mu - cheek.mu).abs() < 1e-9);
        let between = blended([(0.5, cheek), (0.5, nose)].into_iter()).mu;
        assert!((between - (cheek.mu * nose.mu).sqrt()).abs() < 1e-6 * between, "{between}");
        let nothing = blended(std::iter::empty());
        assert!((nothing.mu - USUAL.mu).abs() < 1e-9 && nothing.damping == USUAL.damping);
        let crowded = blended([(1.0, cheek), (1.0, nose)].into_iter()).mu;
        assert!((crowded - between).abs() < 1e-6 * between, "overlapping regions share");
    }
}
