//! Projections of several tets side by side, by fixed numbers of iterations.
//!
//! Every function also tells how far it is from the projection, so that tets which its iterations do not
//! settle can be computed one by one ([`crate::project::nearest`]).

use super::registers::Pack;

/// `[e(0), e(1), e(2)]`. Closures would be compiled for the narrowest registers.
macro_rules! three {
    ($i:ident => $e:expr) => {
        [
            {
                let $i = 0usize;
                $e
            },
            {
                let $i = 1usize;
                $e
            },
            {
                let $i = 2usize;
                $e
            },
        ]
    };
}
pub(super) use three;

/// Columns of a 3x3 matrix.
pub(super) type Mat<P> = [[P; 3]; 3];

/// Iterations of the polar factor, of which some are scaled; sweeps of rotations; iterations for the values
/// of a given product.
pub(super) type Counts = [usize; 4];

#[inline(always)]
pub(super) fn cross<T, P: Pack<T>>(a: [P; 3], b: [P; 3]) -> [P; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
pub(super) fn dot<T, P: Pack<T>>(a: [P; 3], b: [P; 3]) -> P {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `sum over k of columns[k] * weights[k]`.
#[inline(always)]
pub(super) fn combine<T, P: Pack<T>>(columns: &Mat<P>, weights: [P; 3]) -> [P; 3] {
    three!(i => columns[0][i] * weights[0] + columns[1][i] * weights[1] + columns[2][i] * weights[2])
}

/// The rotation of the polar decomposition, and the square of its distance from being one; large for inverted
/// and flat matrices.
#[inline(always)]
pub(super) fn polar<T, P: Pack<T>>(m: Mat<P>, counts: Counts) -> (Mat<P>, P) {
    let [n_iterations, n_scaled, ..] = counts;
    let any = m[0][0];
    let (zero, half, one, tiny) = (any.all(0.0), any.all(0.5), any.all(1.0), any.all(1e-30));
    let mut r = m;
    let mut inverted = zero;
    for k in 0..n_iterations {
        let cofactor = [cross(r[1], r[2]), cross(r[2], r[0]), cross(r[0], r[1])];
        let det = dot(r[0], cofactor[0]);
        inverted = inverted.where_set(tiny.less(det), one);
        let inverse = one / det.or_larger(tiny);
        let (own, other) = if k < n_scaled {
            let squares = dot(r[0], r[0]) + dot(r[1], r[1]) + dot(r[2], r[2]);
            let areas =
                dot(cofactor[0], cofactor[0]) + dot(cofactor[1], cofactor[1]) + dot(cofactor[2], cofactor[2]);
            // The square of the scale is |R^-1| / |R|.
            let scale = ((areas / squares.or_larger(tiny)).root() * inverse).root();
            (half * scale, half * inverse / scale.or_larger(tiny))
        } else {
            (half, half * inverse)
        };
        r = three!(c => three!(i => own * r[c][i] + other * cofactor[c][i]));
    }
    let unlike: [P; 6] = [
        dot(r[0], r[0]) - one,
        dot(r[1], r[1]) - one,
        dot(r[2], r[2]) - one,
        dot(r[0], r[1]),
        dot(r[0], r[2]),
        dot(r[1], r[2]),
    ];
    let mut off = inverted;
    for x in unlike {
        off = off + x * x;
    }
    (r, off)
}

/// `F = U diag(sigma) V^T` with rotations, the last value signed and the smallest in size; the first two are
/// not sorted. Columns.
#[inline(always)]
pub(super) fn decomposed<T, P: Pack<T>>(f: &Mat<P>, counts: Counts) -> (Mat<P>, [P; 3], Mat<P>) {
    let any = f[0][0];
    let (zero, one, tiny) = (any.all(0.0), any.all(1.0), any.all(1e-30));
    let mut w = *f;
    let mut v = [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
    for _ in 0..counts[2] {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let apart = dot(w[q], w[q]) - dot(w[p], w[p]);
            let mixed = any.all(2.0) * dot(w[p], w[q]);
            // The smaller rotation that makes the columns orthogonal.
            let t = mixed / (apart.size() + (apart * apart + mixed * mixed).root() + tiny);
            let t = (-t).where_set(apart.less(zero), t);
            let c = one / (one + t * t).root();
            let s = c * t;
            (w[p], w[q]) = turned([w[p], w[q]], c, s);
            (v[p], v[q]) = turned([v[p], v[q]], c, s);
        }
    }
    let n = three!(k => dot(w[k], w[k]));
    let least = n[1].where_set(n[1].less(n[2]), n[2]);
    let (first, second) = (n[0].less(least), n[1].less(n[2]));
    // The two longer columns, in a cyclic order.
    let (a, v0) = (picked(&w, [1, 2, 0], first, second), picked(&v, [1, 2, 0], first, second));
    let (b, v1) = (picked(&w, [2, 0, 1], first, second), picked(&v, [2, 0, 1], first, second));
    let (long_a, long_b) = (dot(a, a).root(), dot(b, b).root());
    let (over_a, over_b) = (one / long_a.or_larger(tiny), one / long_b.or_larger(tiny));
    let (u0, u1) = (three!(i => a[i] * over_a), three!(i => b[i] * over_b));
    let (u2, v2) = (cross(u0, u1), cross(v0, v1));
    let sigma = [long_a, long_b, dot(u2, combine(f, v2))];
    ([u0, u1, u2], sigma, [v0, v1, v2])
}

/// Two columns turned into each other.
#[inline(always)]
fn turned<T, P: Pack<T>>([a, b]: [[P; 3]; 2], c: P, s: P) -> ([P; 3], [P; 3]) {
    (three!(i => c * a[i] - s * b[i]), three!(i => s * a[i] + c * b[i]))
}

/// One of three columns.
#[inline(always)]
fn picked<T, P: Pack<T>>(m: &Mat<P>, k: [usize; 3], first: P::Mask, second: P::Mask) -> [P; 3] {
    three!(i => m[k[0]][i].where_set(first, m[k[1]][i].where_set(second, m[k[2]][i])))
}

/// The two larger values for the smallest one, `t`, and the roots in them.
#[inline(always)]
fn others<T, P: Pack<T>>(sigma: [P; 3], t: P) -> ([P; 2], [P; 2]) {
    let (half, tiny) = (t.all(0.5), t.all(1e-30));
    let m = t.all(4.0) * t * (t - sigma[2]);
    let (a, b) = ((sigma[0] * sigma[0] + m).or_larger(tiny), (sigma[1] * sigma[1] + m).or_larger(tiny));
    let roots = [a.root(), b.root()];
    ([half * (sigma[0] + roots[0]), half * (sigma[1] + roots[1])], roots)
}

/// The values of product `j` nearest to `sigma`, and the square of the relative error of their product; large
/// where another solution may be nearer.
#[inline(always)]
pub(super) fn values<T, P: Pack<T>>(sigma: [P; 3], j: P, counts: Counts) -> ([P; 3], P) {
    let (zero, half, one, tiny) = (j.all(0.0), j.all(0.5), j.all(1.0), j.all(1e-30));
    let least = sigma[2];
    // From here on the product is at least j.
    let bound = j.all(1.0 / 3.0) * (j + j.all(2.0));
    let wide = j / (sigma[0] * sigma[1]).or_larger(tiny);
    let mut t = least.or_larger(wide.where_set(wide.less(bound), bound));
    for _ in 0..counts[3] {
        let ([a, b], [root_a, root_b]) = others(sigma, t);
        let slope = t + t - least;
        let product = a * b * t;
        // Of a and b, multiplied by both roots so that there is one division.
        let roots = root_a * root_b;
        let rise = a * b * roots + t * slope * (b * root_b + a * root_a);
        t = t - (product - j) * roots / rise.or_larger(tiny);
    }
    let ([a, b], _) = others(sigma, t);
    let off = (a * b * t - j) / j.or_larger(tiny);
    // Between 0 and sigma3 / 2 there may be a nearer solution.
    let left = half * least.or_larger(zero);
    let ([left_a, left_b], _) = others(sigma, left);
    let crowded = one.where_set(j.less(left_a * left_b * left * j.all(1.0 / 1.2)), zero);
    // So flat that the smallest direction is lost in rounding.
    let longer = sigma[0].or_larger(sigma[1]);
    let shorter = sigma[1].where_set(sigma[1].less(sigma[0]), sigma[0]);
    let lost = one.where_set(shorter.less(longer.or_larger(one) * j.all(1e-4)), zero);
    ([a, b, t], off * off + crowded + lost)
}
