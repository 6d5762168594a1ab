//! Eight floats in one AVX register where available, otherwise in an array; results are the same to the bit.

use glam::Vec3A;

/// Number of lanes.
pub const WIDTH: usize = 8;

/// Eight numbers.
pub trait Eight: Copy {
    /// The same number in all lanes.
    fn all(x: f32) -> Self;
    /// From an array.
    fn of(x: &[f32; WIDTH]) -> Self;
    /// To an array.
    fn list(self) -> [f32; WIDTH];
    /// Sum.
    fn plus(self, other: Self) -> Self;
    /// Difference.
    fn minus(self, other: Self) -> Self;
    /// Product.
    fn times(self, other: Self) -> Self;
    /// One over the square root.
    fn inverse_root(self) -> Self;
    /// Whether all lie between two numbers.
    fn are_between(self, low: f32, high: f32) -> bool;
    /// Coordinates of eight points.
    fn apart(points: [Vec3A; WIDTH]) -> [Self; 3];
    /// The points with these coordinates.
    fn together(coordinates: [Self; 3]) -> [Vec3A; WIDTH];
}

impl Eight for [f32; WIDTH] {
    #[inline(always)]
    fn all(x: f32) -> Self {
        [x; WIDTH]
    }

    #[inline(always)]
    fn of(x: &[f32; WIDTH]) -> Self {
        *x
    }

    #[inline(always)]
    fn list(self) -> [f32; WIDTH] {
        self
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] - other[i])
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] * other[i])
    }

    #[inline(always)]
    fn inverse_root(self) -> Self {
        self.map(|x| 1.0 / x.sqrt())
    }

    #[inline(always)]
    fn are_between(self, low: f32, high: f32) -> bool {
        self.iter().all(|x| *x > low && *x < high)
    }

    #[inline(always)]
    fn apart(points: [Vec3A; WIDTH]) -> [Self; 3] {
        std::array::from_fn(|k| points.map(|p| p[k]))
    }

    #[inline(always)]
    fn together([x, y, z]: [Self; 3]) -> [Vec3A; WIDTH] {
        std::array::from_fn(|i| Vec3A::new(x[i], y[i], z[i]))
    }
}

/// A register of eight numbers. Methods may only run in functions for processors with AVX, into which they
/// are inlined.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Register(std::arch::x86_64::__m256);

#[cfg(target_arch = "x86_64")]
impl Eight for Register {
    #[inline(always)]
    fn all(x: f32) -> Self {
        // SAFETY: see the type, here and in all methods below.
        Self(unsafe { std::arch::x86_64::_mm256_set1_ps(x) })
    }

    #[inline(always)]
    fn of(x: &[f32; WIDTH]) -> Self {
        // SAFETY: eight numbers are read.
        Self(unsafe { std::arch::x86_64::_mm256_loadu_ps(x.as_ptr()) })
    }

    #[inline(always)]
    fn list(self) -> [f32; WIDTH] {
        let mut out = [0.0; WIDTH];
        // SAFETY: eight numbers are written.
        unsafe { std::arch::x86_64::_mm256_storeu_ps(out.as_mut_ptr(), self.0) };
        out
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: see the type.
        Self(unsafe { std::arch::x86_64::_mm256_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        // SAFETY: see the type.
        Self(unsafe { std::arch::x86_64::_mm256_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        // SAFETY: see the type.
        Self(unsafe { std::arch::x86_64::_mm256_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn inverse_root(self) -> Self {
        use std::arch::x86_64::{_mm256_div_ps, _mm256_set1_ps, _mm256_sqrt_ps};
        // SAFETY: see the type.
        Self(unsafe { _mm256_div_ps(_mm256_set1_ps(1.0), _mm256_sqrt_ps(self.0)) })
    }

    #[inline(always)]
    fn are_between(self, low: f32, high: f32) -> bool {
        use std::arch::x86_64::*;
        // SAFETY: see the type.
        unsafe {
            let above = _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, _mm256_set1_ps(low));
            let below = _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, _mm256_set1_ps(high));
            _mm256_movemask_ps(_mm256_and_ps(above, below)) == 0xff
        }
    }

    #[inline(always)]
    fn apart(points: [Vec3A; WIDTH]) -> [Self; 3] {
        use std::arch::x86_64::*;
        let [a, b, c, d, e, f, g, h] = points.map(__m128::from);
        // SAFETY: see the type.
        unsafe {
            let [ae, bf, cg, dh] =
                [_mm256_set_m128(e, a), _mm256_set_m128(f, b), _mm256_set_m128(g, c), _mm256_set_m128(h, d)];
            let (ab_xy, cd_xy) = (_mm256_unpacklo_ps(ae, bf), _mm256_unpacklo_ps(cg, dh));
            let (ab_z, cd_z) = (_mm256_unpackhi_ps(ae, bf), _mm256_unpackhi_ps(cg, dh));
            [
                Self(_mm256_shuffle_ps::<0b01_00_01_00>(ab_xy, cd_xy)),
                Self(_mm256_shuffle_ps::<0b11_10_11_10>(ab_xy, cd_xy)),
                Self(_mm256_shuffle_ps::<0b01_00_01_00>(ab_z, cd_z)),
            ]
        }
    }

    #[inline(always)]
    fn together([x, y, z]: [Self; 3]) -> [Vec3A; WIDTH] {
        use std::arch::x86_64::*;
        // SAFETY: see the type.
        unsafe {
            let (xy_low, xy_high) = (_mm256_unpacklo_ps(x.0, y.0), _mm256_unpackhi_ps(x.0, y.0));
            let (zz_low, zz_high) = (_mm256_unpacklo_ps(z.0, z.0), _mm256_unpackhi_ps(z.0, z.0));
            let ae = _mm256_shuffle_ps::<0b01_00_01_00>(xy_low, zz_low);
            let bf = _mm256_shuffle_ps::<0b11_10_11_10>(xy_low, zz_low);
            let cg = _mm256_shuffle_ps::<0b01_00_01_00>(xy_high, zz_high);
            let dh = _mm256_shuffle_ps::<0b11_10_11_10>(xy_high, zz_high);
            let (low, high) =
                (|v| Vec3A::from(_mm256_castps256_ps128(v)), |v| Vec3A::from(_mm256_extractf128_ps::<1>(v)));
            [low(ae), low(bf), low(cg), low(dh), high(ae), high(bf), high(cg), high(dh)]
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The results of all operations, as bits.
    #[inline(always)]
    fn all<V: Eight>(points: [Vec3A; WIDTH]) -> Vec<u32> {
        let [x, y, z] = V::apart(points);
        let back = V::together([x, y, z]).map(|p| p.to_array());
        let sums = [
            x.plus(y),
            x.minus(z),
            y.times(z),
            x.times(x).plus(V::all(0.1)).inverse_root(),
            V::of(&z.list()),
        ];
        let bits = sums.into_iter().flat_map(V::list).chain(back.into_iter().flatten()).map(f32::to_bits);
        bits.chain([u32::from(x.are_between(-1.0, 7.5)), u32::from(x.are_between(0.5, 7.5))]).collect()
    }

    #[target_feature(enable = "avx2")]
    fn in_registers(points: [Vec3A; WIDTH]) -> Vec<u32> {
        all::<Register>(points)
    }

    #[test]
    fn registers_and_arrays_give_the_same_bits() {
        let points =
            std::array::from_fn(|i| Vec3A::new(i as f32 * 0.9, 1.0 / (i as f32 + 0.3), -0.7 * i as f32));
        let plain = all::<[f32; WIDTH]>(points);
        assert_eq!(&plain[plain.len() - 2..], [1, 0]);
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            assert_eq!(unsafe { in_registers(points) }, plain);
        }
    }
}
