//! Soft tissue depth over bone: mean and deviation at forensic landmarks, interpolated over the skull.
//!
//! Means and deviations are typical values of adults in pooled studies such as [Stephan08, table of tallied
//! means], rounded to half a millimeter. The printed table of that review was not at hand, so no row is
//! verified against it. Fourteen rows could be compared with another published table of one population
//! (normal female, Southwestern Native American; Rhine 1983 by way of Taylor 2001, as reprinted in
//! [Rangel26, table 2] and quoted from there at second hand):
//!
//! | row | here, mean and deviation | there | row | here | there |
//! | --- | --- | --- | --- | --- | --- |
//! | glabella | 5.5, 1.0 | 4.5 | orbitale | 7.0, 2.5 | 6.25 |
//! | nasion | 6.5, 1.5 | 7.0 | zygion | 6.0, 2.0 | 7.0 |
//! | rhinion | 3.0, 1.0 | 2.5 | gonion | 10.0, 4.0 | 10.5 |
//! | mid_philtrum | 11.5, 2.5 | 10.0 | mid_ramus | 17.5, 4.0 | 17.5 |
//! | supramentale | 11.0, 2.0 | 10.0 | supra_second_molar | 26.0, 5.0 | 18.0 |
//! | pogonion | 11.0, 2.5 | 13.0 | infra_second_molar | 19.5, 5.0 | 17.0 |
//! | gnathion | 8.5, 2.5 | 8.0 (menton) | supraorbitale | 6.0, 1.5 | 8.5 (rim of the orbit) |
//!
//! Twelve agree within one deviation; the cheek over the upper molars and the brow, which is measured lower
//! there, within 1.7. The other rows could not be compared: trichion, subnasale, lips, alare,
//! frontotemporale, the border of the jaw. How much such tables differ anyway: adding 2,660 adults to
//! \[Stephan08\] moved 93 % of its means by no more than 1 mm and none by more than 1.7 mm, says the abstract
//! of \[Stephan17\]. The points on the top, side and back of the head are not landmarks of craniofacial
//! identification; they have common values of scalp thickness and wide deviations.
//!
//! Between landmarks the depth is the mean of the three nearest, weighted by inverse distance as in [Ichim16,
//! sec. 3]. Distances are straight, not geodesic; near landmarks on the outside of a skull both give the same
//! order. Farther than 30 mm from every landmark there is no data, and the deviation is infinite. Depths are
//! measured from bone along the shortest path to the skin; over the lips, from the teeth.

use glam::DVec3;

/// Points farther than this from every landmark have no data (m).
const REACH: f64 = 0.030;

/// Tissue depth at one landmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TissueDepth {
    /// A name of [`crate::landmarks::NAMES`] (without side for pairs), or that of a point on bone.
    pub name: &'static str,
    /// The landmark has a mirror image.
    pub paired: bool,
    /// On the bone of the built-in head, left side (m).
    pub on_bone: DVec3,
    /// Mean depth (m).
    pub mean: f64,
    /// Standard deviation (m).
    pub deviation: f64,
}

/// Depth of skin over a point of bone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Depth {
    /// Expected (m).
    pub mean: f64,
    /// Standard deviation (m); infinite without data.
    pub deviation: f64,
}

/// Name, whether paired, point on bone (mm), mean, deviation (mm).
type Row = (&'static str, bool, [f64; 3], f64, f64);

const TABLE: [Row; 24] = [
    ("vertex", false, [0.0, 130.5, -12.0], 5.0, 1.5),
    ("trichion", false, [0.0, 97.0, 75.5], 4.5, 1.5),
    ("back_of_head", false, [0.0, 45.5, -91.1], 6.5, 2.0),
    ("glabella", false, [0.0, 47.5, 88.5], 5.5, 1.0),
    ("nasion", false, [0.0, 31.5, 85.5], 6.5, 1.5),
    ("rhinion", false, [0.0, 13.0, 98.5], 3.0, 1.0),
    ("subnasale", false, [0.0, -22.0, 87.0], 13.0, 2.5),
    ("mid_philtrum", false, [0.0, -31.0, 88.5], 11.5, 2.5),
    ("lip_upper_middle", false, [0.0, -37.0, 90.0], 11.5, 2.5),
    ("lip_lower_middle", false, [0.0, -54.0, 87.0], 13.0, 2.5),
    ("supramentale", false, [0.0, -61.5, 82.5], 11.0, 2.0),
    ("pogonion", false, [0.0, -77.0, 84.0], 11.0, 2.5),
    ("gnathion", false, [0.0, -84.0, 79.5], 8.5, 2.5),
    ("supraorbitale", true, [31.0, 43.5, 79.5], 6.0, 1.5),
    ("orbitale", true, [29.5, 4.5, 72.5], 7.0, 2.5),
    ("alare", true, [15.6, -12.0, 81.8], 9.5, 2.0),
    ("zygion", true, [61.5, 5.5, 42.5], 6.0, 2.0),
    ("frontotemporale", true, [50.0, 55.5, 58.0], 5.5, 2.0),
    ("gonion", true, [45.6, -58.7, 16.0], 10.0, 4.0),
    ("mid_ramus", true, [46.5, -32.0, 18.0], 17.5, 4.0),
    ("mid_mandibular_border", true, [31.3, -76.5, 47.7], 10.5, 4.0),
    ("supra_second_molar", true, [33.0, -34.0, 50.0], 26.0, 5.0),
    ("infra_second_molar", true, [32.8, -63.0, 52.7], 19.5, 5.0),
    ("side_of_head", true, [69.3, 75.0, -12.0], 6.5, 2.0),
];

/// The landmarks with their depths.
pub(crate) fn built_in_depths() -> Vec<TissueDepth> {
    let depth = |&(name, paired, at, mean, deviation): &Row| TissueDepth {
        name,
        paired,
        on_bone: DVec3::from(at) * 1e-3,
        mean: mean * 1e-3,
        deviation: deviation * 1e-3,
    };
    TABLE.iter().map(depth).collect()
}

/// Depth of skin expected over `point` of the built-in skull or jaw (m).
pub fn depth_at(point: DVec3) -> Depth {
    let table = built_in_depths();
    let anchors = table.iter().flat_map(|d| {
        let image = d.on_bone * DVec3::new(-1.0, 1.0, 1.0);
        [Some((d.on_bone, d)), d.paired.then_some((image, d))].into_iter().flatten()
    });
    let mut nearest: Vec<(f64, &TissueDepth)> = anchors.map(|(at, d)| (at.distance(point), d)).collect();
    nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
    nearest.truncate(3);
    let (mut total, mut mean, mut deviation) = (0.0, 0.0, 0.0);
    for (distance, d) in &nearest {
        // Closer than a tenth of a millimeter counts as at the landmark.
        let weight = 1.0 / distance.max(1e-4);
        total += weight;
        mean += weight * d.mean;
        deviation += weight * d.deviation;
    }
    let known = nearest.first().is_some_and(|n| n.0 <= REACH);
    Depth { mean: mean / total, deviation: if known { deviation / total } else { f64::INFINITY } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bones::tests::bones;
    use crate::landmarks;
    use risorius_mesh::Bvh;

    #[test]
    fn landmarks_of_the_table_lie_on_the_built_in_bones() {
        let bones = bones();
        let [cranium, mandible] =
            [&bones.cranium, &bones.mandible].map(|s| Bvh::build(&s.positions_f32(), &s.triangles));
        for d in built_in_depths() {
            let distance =
                |bvh: &Bvh| bvh.closest_point(d.on_bone, 1.0).map_or(1.0, |c| c.distance_sq.sqrt());
            let gap = distance(&cranium).min(distance(&mandible));
            // Over the lips, depth is measured from the teeth, which are not part of the bones.
            let limit = if d.name.starts_with("lip") { 0.008 } else { 0.0015 };
            assert!(gap < limit, "{} is {:.1} mm off the bone", d.name, gap * 1e3);
        }
    }

    #[test]
    fn depths_are_those_of_the_table_at_its_landmarks_and_between_nearby() {
        for d in built_in_depths() {
            let here = depth_at(d.on_bone);
            assert!((here.mean - d.mean).abs() < 3e-4, "{}: {}", d.name, here.mean);
            let image = depth_at(d.on_bone * DVec3::new(-1.0, 1.0, 1.0));
            assert_eq!(here, image, "{}", d.name);
            let known =
                landmarks::index(d.name).is_some() || landmarks::index(&format!("{}_left", d.name)).is_some();
            let bone_points = ["back_of_head", "side_of_head", "mid_ramus", "mid_mandibular_border"];
            assert!(known || bone_points.contains(&d.name) || d.name.ends_with("molar"), "{}", d.name);
        }
        let between = depth_at(DVec3::new(0.0, -0.069, 0.083));
        assert!(between.mean > 0.0085 && between.mean < 0.0115 && between.deviation.is_finite());
        assert!(depth_at(DVec3::new(0.02, -0.02, -0.02)).deviation.is_infinite());
    }
}
