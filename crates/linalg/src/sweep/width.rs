//! The products of a group of rows with its panel's unknowns, for registers of any width.
//!
//! A register of 512 bits holds the four right-hand sides of four rows. Narrower ones hold fewer, but every
//! sum has the same order, and there are no fused multiply-adds, so the bits are the same.

use super::dense::{Four, Real};
use super::panels::ROWS;

/// Sums of four of eight rows, each plus that of the row four further on.
pub type Folded<T> = [Four<T>; 4];

/// How products are computed.
pub trait Width<T>: Copy {
    /// `sum over columns c of l[c][r] known[c]` for each row r.
    fn times_rows(self, columns: &[[T; ROWS]], known: &[Four<T>]) -> [Four<T>; ROWS];

    /// Adds `l[c][r] known[r] + l[c][r + 4] known[r + 4]` to the sum of each column c.
    fn times_columns(self, columns: &[[T; ROWS]], known: [Four<T>; ROWS], sums: &mut [Folded<T>]);
}

/// Loops that the compiler turns into instructions of the processor.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

#[inline(always)]
pub(super) fn add<T: Real>(a: Four<T>, b: Four<T>) -> Four<T> {
    std::array::from_fn(|k| a[k] + b[k])
}

#[inline(always)]
fn scaled<T: Real>(by: T, b: Four<T>) -> Four<T> {
    std::array::from_fn(|k| by * b[k])
}

impl<T: Real> Width<T> for Plain {
    #[inline(always)]
    fn times_rows(self, columns: &[[T; ROWS]], known: &[Four<T>]) -> [Four<T>; ROWS] {
        let mut sums = [[T::default(); 4]; ROWS];
        for (column, &known) in columns.iter().zip(known) {
            for r in 0..ROWS {
                sums[r] = add(sums[r], scaled(column[r], known));
            }
        }
        sums
    }

    #[inline(always)]
    fn times_columns(self, columns: &[[T; ROWS]], known: [Four<T>; ROWS], sums: &mut [Folded<T>]) {
        for (sum, column) in sums.iter_mut().zip(columns) {
            let product = |r: usize| scaled(column[r], known[r]);
            for (r, sum) in sum.iter_mut().enumerate() {
                *sum = add(*sum, add(product(r), product(r + 4)));
            }
        }
    }
}

/// 512 bits in single precision.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub struct Wide(pub(super) pulp::x86::V4);

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Folded, Four, ROWS, Wide, Width};
    use pulp::cast;
    use std::arch::x86_64::{__m512, __m512i};

    /// Each of four rows for all right-hand sides.
    const FIRST: [u32; 16] = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3];
    const SECOND: [u32; 16] = [4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7];

    impl Wide {
        /// A column of eight rows, each for all right-hand sides.
        #[inline(always)]
        fn spread(self, column: &[f32; ROWS]) -> [__m512; 2] {
            let f = self.0.avx512f;
            let column = f._mm512_castps256_ps512(cast(*column));
            let [first, second]: [__m512i; 2] = [cast(FIRST), cast(SECOND)];
            [f._mm512_permutexvar_ps(first, column), f._mm512_permutexvar_ps(second, column)]
        }

        #[inline(always)]
        fn join(self, rows: [Four<f32>; 4]) -> __m512 {
            let f = self.0.avx512f;
            let joined = f._mm512_castps128_ps512(cast(rows[0]));
            let joined = f._mm512_insertf32x4::<1>(joined, cast(rows[1]));
            let joined = f._mm512_insertf32x4::<2>(joined, cast(rows[2]));
            f._mm512_insertf32x4::<3>(joined, cast(rows[3]))
        }
    }

    impl Width<f32> for Wide {
        #[inline(always)]
        fn times_rows(self, columns: &[[f32; ROWS]], known: &[Four<f32>]) -> [Four<f32>; ROWS] {
            let f = self.0.avx512f;
            let mut sums: [__m512; 2] = [cast([0.0f32; 16]); 2];
            for (column, known) in columns.iter().zip(known) {
                let known = f._mm512_broadcast_f32x4(cast(*known));
                let [first, second] = self.spread(column);
                sums[0] = f._mm512_add_ps(sums[0], f._mm512_mul_ps(first, known));
                sums[1] = f._mm512_add_ps(sums[1], f._mm512_mul_ps(second, known));
            }
            cast(sums)
        }

        #[inline(always)]
        fn times_columns(self, columns: &[[f32; ROWS]], known: [Four<f32>; ROWS], sums: &mut [Folded<f32>]) {
            let f = self.0.avx512f;
            let [a, b, c, d, e, g, h, i] = known;
            let known = [self.join([a, b, c, d]), self.join([e, g, h, i])];
            for (sum, column) in sums.iter_mut().zip(columns) {
                let [first, second] = self.spread(column);
                let both =
                    f._mm512_add_ps(f._mm512_mul_ps(first, known[0]), f._mm512_mul_ps(second, known[1]));
                *sum = cast(f._mm512_add_ps(cast(*sum), both));
            }
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn wide_registers_give_the_same_bits() {
        let Some(registers) = pulp::x86::V4::try_new() else { return };
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        for n_columns in [0, 1, 5, 32] {
            let columns: Vec<[f32; ROWS]> = (0..n_columns).map(|_| [(); ROWS].map(|()| random())).collect();
            let known: Vec<Four<f32>> = (0..n_columns).map(|_| [(); 4].map(|()| random())).collect();
            let wide = registers.vectorize(|| Wide(registers).times_rows(&columns, &known));
            assert_eq!(wide, Plain.times_rows(&columns, &known));
            let rows = [(); ROWS].map(|()| [(); 4].map(|()| random()));
            let mut sums = [vec![[[0.5f32; 4]; 4]; n_columns], vec![[[0.5; 4]; 4]; n_columns]];
            registers.vectorize(|| Wide(registers).times_columns(&columns, rows, &mut sums[0]));
            Plain.times_columns(&columns, rows, &mut sums[1]);
            assert_eq!(sums[0], sums[1]);
        }
    }
}
