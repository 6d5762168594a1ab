//! Variation of identity: a smooth warp of space for bones and skin, and more or less fat under the skin.
//!
//! Each parameter is a map that moves points along one axis, or away from an axis, by a smooth function whose
//! derivative along the motion stays above -0.5. A composition of such maps is invertible and does not fold
//! space (every Jacobian determinant is positive). It preserves containment, so bones, muscles and eyes
//! warped with the skin stay inside it. All maps are mirror-symmetric. Fat moves the skin alone, along its
//! normal, before the warp: up to 7 mm outward, less than half of that inward, and not at all at lids, lips
//! and nose. A person is `identity.warp(identity.thicken(p, normal))` for skin and `identity.warp(p)` for
//! everything else, condyles included.

use crate::person::Identity;
use glam::DVec3;
use risorius_base::ease::ramp;
use risorius_rig::synthetic::Random;

/// A bell function around `center`: 1 there, 0 at an ellipsoid with half axes `radii`, C2. Millimeters, on
/// the +X side.
fn bell(p: DVec3, center: [f64; 3], radii: [f64; 3]) -> f64 {
    let q = (p - DVec3::from(center)) / DVec3::from(radii);
    (1.0 - q.length_squared()).max(0.0).powi(3)
}

/// Integral of a [`ramp`] from 0 to 1 over `width`: 0 for t <= 0, `t - width / 2` for t >= width.
fn soft_ramp(t: f64, width: f64) -> f64 {
    let s = (t / width).clamp(0.0, 1.0);
    width * s.powi(4) * (s * (s - 3.0) + 2.5) + (t - width).max(0.0)
}

impl Identity {
    /// Maps a point of the average head to this person's head. Parameters are clamped to -1..1.
    pub fn warp(&self, p: DVec3) -> DVec3 {
        let sign = if p.x < 0.0 { -1.0 } else { 1.0 };
        let limit = |v: f64| v.clamp(-1.0, 1.0);
        let mut q = p * 1e3 * DVec3::new(sign, 1.0, 1.0);
        q.x *= 1.0 + 0.06 * limit(self.width);
        q = jaw(q, limit(self.jaw));
        q = nose(q, limit(self.nose));
        q.z += 3.5 * limit(self.brow) * bell(q, [0.0, 46.0, 80.0], [75.0, 32.0, 45.0]);
        q = lengthen(q, limit(self.length));
        q * 1e-3 * DVec3::new(sign, 1.0, 1.0)
    }

    /// A point of the average skin with this person's fat under it; `normal` is the outward normal of the
    /// skin.
    pub fn thicken(&self, p: DVec3, normal: DVec3) -> DVec3 {
        let fat = self.fat.clamp(-1.0, 1.0);
        let amount = fat_layer(p * 1e3) * if fat > 0.0 { fat } else { 0.45 * fat };
        p + normal.normalize_or_zero() * (amount * 1e-3)
    }

    /// A random person, the same for the same seed. Values near 0 are more common than those near -1 and 1.
    pub fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut next = || 0.5 * f64::from(random.signed() + random.signed());
        Self { width: next(), length: next(), nose: next(), jaw: next(), brow: next(), fat: next() }
    }
}

/// Breadth of the lower jaw, fading toward the cheeks above and the neck below, and protrusion of the chin.
fn jaw(mut q: DVec3, value: f64) -> DVec3 {
    let low = ramp(-q.y, 0.0, 60.0) * (1.0 - ramp(-q.y, 75.0, 150.0)) * ramp(q.z, -60.0, 0.0);
    q.x *= 1.0 + 0.09 * value * low;
    q.z += 4.0 * value * bell(q, [0.0, -80.0, 80.0], [55.0, 45.0, 60.0]);
    q
}

/// Height of the bridge and the tip, and breadth of the wings.
fn nose(mut q: DVec3, value: f64) -> DVec3 {
    q.z += 4.5 * value * bell(q, [0.0, -4.0, 110.0], [34.0, 40.0, 42.0]);
    q.x *= 1.0 + 0.14 * value * bell(q, [0.0, -12.0, 102.0], [40.0, 26.0, 30.0]);
    q
}

/// Stretches the face below the brow. The neck is translated without stretch; the back of the head is fixed.
fn lengthen(mut q: DVec3, value: f64) -> DVec3 {
    let down = 45.0 - q.y;
    let stretched = soft_ramp(down, 40.0) - soft_ramp(down - 120.0, 40.0);
    q.y -= 0.075 * value * stretched * ramp(q.z, -70.0, 30.0);
    q
}

/// Thickness in millimeters that `fat` = 1 adds to the skin at `p` (mm).
fn fat_layer(p: DVec3) -> f64 {
    let p = DVec3::new(p.x.abs(), p.y, p.z);
    let pads = [
        ([46.0, -25.0, 64.0], [34.0, 36.0, 34.0], 5.0),
        ([40.0, -60.0, 52.0], [34.0, 34.0, 40.0], 5.0),
        ([60.0, -35.0, 15.0], [34.0, 40.0, 40.0], 4.0),
        ([0.0, -95.0, 55.0], [60.0, 34.0, 50.0], 6.0),
        ([62.0, 32.0, 45.0], [28.0, 30.0, 34.0], 1.2),
    ];
    let pad: f64 = pads.iter().map(|&(center, radii, height)| height * bell(p, center, radii)).sum();
    let neck = 4.0 * ramp(-p.y, 85.0, 125.0);
    let lean = [
        ([0.0, -45.0, 98.0], [34.0, 20.0, 40.0]),
        ([31.5, 24.0, 72.0], [26.0, 22.0, 30.0]),
        ([0.0, -4.0, 105.0], [26.0, 34.0, 30.0]),
    ];
    let kept: f64 =
        lean.iter().map(|&(center, radii)| (1.0 - 1.5 * bell(p, center, radii)).max(0.0)).product();
    (0.4 + pad + neck).min(7.0) * kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bones::tests::bones;
    use glam::DMat3;

    /// The corners of the parameter cube, and some random people.
    fn people() -> Vec<Identity> {
        let value = |bits: u32, k: u32| if bits >> k & 1 == 1 { 1.0 } else { -1.0 };
        let corner = |b: u32| Identity {
            width: value(b, 0),
            length: value(b, 1),
            nose: value(b, 2),
            jaw: value(b, 3),
            brow: value(b, 4),
            fat: value(b, 5),
        };
        (0..64).map(corner).chain((0..20).map(Identity::random)).collect()
    }

    fn grid(step: f64) -> impl Iterator<Item = DVec3> {
        let n = |low: f64, high: f64| ((high - low) / step) as i32;
        let (nx, ny, nz) = (n(-0.09, 0.09), n(-0.16, 0.15), n(-0.12, 0.13));
        (0..nx * ny * nz).map(move |i| {
            let at = [i % nx, i / nx % ny, i / (nx * ny)].map(|k| f64::from(k) * step);
            DVec3::new(-0.0887 + at[0], -0.1593 + at[1], -0.1191 + at[2])
        })
    }

    #[test]
    fn nothing_folds() {
        for person in people() {
            for p in grid(0.016) {
                let h = 1e-6;
                let by = |d: DVec3| (person.warp(p + d * h) - person.warp(p - d * h)) / (2.0 * h);
                let jacobian = DMat3::from_cols(by(DVec3::X), by(DVec3::Y), by(DVec3::Z));
                assert!(jacobian.determinant() > 0.5, "{person:?} at {p}: {}", jacobian.determinant());
            }
        }
    }

    #[test]
    fn both_sides_change_alike_and_the_average_does_not() {
        let mirror = DVec3::new(-1.0, 1.0, 1.0);
        for (i, p) in grid(0.017).enumerate() {
            let person = Identity::random(i as u64);
            assert!((person.warp(p * mirror) - person.warp(p) * mirror).length() < 1e-15);
            assert!((Identity::default().warp(p) - p).length() < 1e-15);
            assert_eq!(Identity::default().thicken(p, DVec3::Z), p);
        }
    }

    #[test]
    fn parameters_do_what_they_say() {
        let one = |change: fn(&mut Identity)| {
            let mut person = Identity::default();
            change(&mut person);
            person
        };
        let moved =
            |person: Identity, p: [f64; 3]| (person.warp(DVec3::from(p) * 1e-3) * 1e3) - DVec3::from(p);
        assert!(moved(one(|p| p.width = 1.0), [68.0, 8.0, 45.0]).x > 3.0);
        assert!(moved(one(|p| p.length = 1.0), [0.0, -78.0, 95.0]).y < -6.0);
        assert!(moved(one(|p| p.length = 1.0), [0.0, 48.0, 95.0]).length() < 0.1);
        assert!(moved(one(|p| p.nose = 1.0), [0.0, -10.0, 117.0]).z > 3.5);
        assert!(moved(one(|p| p.jaw = 1.0), [54.0, -62.0, 14.0]).x > 3.0);
        assert!(moved(one(|p| p.jaw = -1.0), [0.0, -78.0, 95.0]).z < -2.5);
        assert!(moved(one(|p| p.brow = 1.0), [0.0, 48.0, 95.0]).z > 2.0);
        let cheek = DVec3::new(0.042, -0.025, 0.072);
        assert!(one(|p| p.fat = 1.0).thicken(cheek, DVec3::Z).z - cheek.z > 0.003);
        assert!(Identity::random(7) == Identity::random(7) && Identity::random(7) != Identity::random(8));
    }

    #[test]
    fn thin_skin_stays_clear_of_bone() {
        let bones = bones();
        let [cranium, mandible] = [&bones.cranium, &bones.mandible]
            .map(|s| risorius_mesh::Bvh::build(&s.positions_f32(), &s.triangles));
        let head = crate::skin::neutral();
        let skin = &head.parts[0];
        let outside = ["mouth_bag", "eye_socket", "nostril"];
        let first_hidden = skin.groups.iter().find(|g| outside.contains(&g.0)).map_or(usize::MAX, |g| g.1);
        let thin = Identity { fat: -1.0, ..Identity::default() };
        for face in skin.faces.iter().take(first_hidden) {
            let corner = |k: usize| skin.positions[face[k] as usize];
            let normal = (corner(1) - corner(0)).cross(corner(2) - corner(0));
            let p = thin.thicken((corner(0) + corner(1) + corner(2)) / 3.0, normal);
            let inside =
                [&cranium, &mandible].iter().any(|b| b.ray(p, normal, 0.3).is_some_and(|h| h.from_behind));
            assert!(!inside, "{p}");
        }
    }
}
