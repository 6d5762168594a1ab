//! Numbers of several tets side by side, with the arithmetic of one number.
//!
//! A [`Pack`] is a register of the processor at hand, by `pulp`, or a single number in double precision.
//! There are no fused multiply-adds, so results are the same bits for every width.

use super::Lane;
use pulp::Simd;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// One or several numbers of type `T`.
pub trait Pack<T>
where
    Self: Copy + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self>,
    Self: Mul<Output = Self> + Div<Output = Self>,
{
    /// Numbers side by side; divides [`LANES`](super::LANES).
    const WIDTH: usize;
    /// One truth value for each number.
    type Mask: Copy;
    /// What is needed to load.
    type Token: Copy;

    /// The numbers of a lane list from `at` on.
    fn load(token: Self::Token, from: &Lane<T>, at: usize) -> Self;
    /// Writes them there.
    fn store(self, to: &mut Lane<T>, at: usize);
    /// The same value everywhere.
    fn all(self, value: f64) -> Self;
    /// Square roots.
    fn root(self) -> Self;
    /// Absolute values.
    fn size(self) -> Self;
    /// The larger of two.
    fn or_larger(self, other: Self) -> Self;
    /// Where numbers are less than others.
    fn less(self, than: Self) -> Self::Mask;
    /// These numbers where the mask is set, others elsewhere.
    fn where_set(self, mask: Self::Mask, others: Self) -> Self;
}

impl Pack<f64> for f64 {
    const WIDTH: usize = 1;
    type Mask = bool;
    type Token = ();

    #[inline(always)]
    fn load((): (), from: &Lane<f64>, at: usize) -> Self {
        from[at]
    }

    #[inline(always)]
    fn store(self, to: &mut Lane<f64>, at: usize) {
        to[at] = self;
    }

    #[inline(always)]
    fn all(self, value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }

    #[inline(always)]
    fn size(self) -> Self {
        self.abs()
    }

    #[inline(always)]
    fn or_larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    #[inline(always)]
    fn less(self, than: Self) -> bool {
        self < than
    }

    #[inline(always)]
    fn where_set(self, mask: bool, others: Self) -> Self {
        if mask { self } else { others }
    }
}

/// A register of numbers in single precision.
#[derive(Clone, Copy)]
pub(super) struct Register<S: Simd> {
    simd: S,
    numbers: S::f32s,
}

macro_rules! operator {
    ($operator:ident, $method:ident, $function:ident) => {
        impl<S: Simd> $operator for Register<S> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self { numbers: self.simd.$function(self.numbers, other.numbers), ..self }
            }
        }
    };
}

operator!(Add, add, add_f32s);
operator!(Sub, sub, sub_f32s);
operator!(Mul, mul, mul_f32s);
operator!(Div, div, div_f32s);

impl<S: Simd> Neg for Register<S> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self { numbers: self.simd.neg_f32s(self.numbers), ..self }
    }
}

impl<S: Simd> Pack<f32> for Register<S> {
    const WIDTH: usize = S::F32_LANES;
    type Mask = S::m32s;
    type Token = S;

    #[inline(always)]
    fn load(simd: S, from: &Lane<f32>, at: usize) -> Self {
        let (registers, _) = S::as_simd_f32s(&from[at..]);
        Self { simd, numbers: registers[0] }
    }

    #[inline(always)]
    fn store(self, to: &mut Lane<f32>, at: usize) {
        let (registers, _) = S::as_mut_simd_f32s(&mut to[at..]);
        registers[0] = self.numbers;
    }

    #[inline(always)]
    fn all(self, value: f64) -> Self {
        Self { numbers: self.simd.splat_f32s(value as f32), ..self }
    }

    #[inline(always)]
    fn root(self) -> Self {
        Self { numbers: self.simd.sqrt_f32s(self.numbers), ..self }
    }

    #[inline(always)]
    fn size(self) -> Self {
        Self { numbers: self.simd.abs_f32s(self.numbers), ..self }
    }

    #[inline(always)]
    fn or_larger(self, other: Self) -> Self {
        self.where_set(other.less(self), other)
    }

    #[inline(always)]
    fn less(self, than: Self) -> S::m32s {
        self.simd.less_than_f32s(self.numbers, than.numbers)
    }

    #[inline(always)]
    fn where_set(self, mask: S::m32s, others: Self) -> Self {
        Self { numbers: self.simd.select_f32s(mask, self.numbers, others.numbers), ..self }
    }
}
