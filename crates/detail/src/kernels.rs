//! Inner loops of the player, for eight or sixteen vertices at a time.
//!
//! Points are fetched as arrays of structures and computed with as structures of arrays ([`Eight`]). Loops
//! over lanes have fixed lengths, so that the compiler vectorizes them; they are plain loops because closures
//! are not always inlined into functions with wide registers. There are no fused multiply-adds, so every
//! processor gives the same bits.

use crate::blocks::{Blocks, LANES, Lane};
use crate::eight::{Eight, WIDTH};
use crate::frames::{Fans, LocalFrames};
use glam::{Mat3A, Vec3, Vec3A};

/// Compiles a function twice and calls the version with wide registers where the processor has them: several
/// times as fast, with the same results.
macro_rules! widest {
    (
        $(#[$doc:meta])*
        pub fn $name:ident$(<const $n:ident: usize>)?($($argument:ident: $type:ty),* $(,)?)
        $(-> $result:ty)? $body:block
    ) => {
        $(#[$doc])*
        pub fn $name$(<const $n: usize>)?($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn any$(<const $n: usize>)?($($argument: $type),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide$(<const $n: usize>)?($($argument: $type),*) $(-> $result)? {
                    any$(::<$n>)?($($argument),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has these instructions.
                    return unsafe { wide$(::<$n>)?($($argument),*) };
                }
            }
            any$(::<$n>)?($($argument),*)
        }
    };
}

/// As [`widest!`], for functions of [`Eight`].
macro_rules! widest_of_eight {
    (
        $(#[$doc:meta])*
        pub fn $name:ident<$v:ident: Eight>($($argument:ident: $type:ty),* $(,)?) $body:block
    ) => {
        $(#[$doc])*
        pub fn $name($($argument: $type),*) {
            #[inline(always)]
            fn any<$v: Eight>($($argument: $type),*) $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($argument: $type),*) {
                    any::<crate::eight::Register>($($argument),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has these instructions.
                    return unsafe { wide($($argument),*) };
                }
            }
            any::<[f32; WIDTH]>($($argument),*)
        }
    };
}

#[inline(always)]
fn minus<V: Eight>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [a[0].minus(b[0]), a[1].minus(b[1]), a[2].minus(b[2])]
}

#[inline(always)]
fn plus<V: Eight>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [a[0].plus(b[0]), a[1].plus(b[1]), a[2].plus(b[2])]
}

#[inline(always)]
fn times<V: Eight>(a: [V; 3], by: V) -> [V; 3] {
    [a[0].times(by), a[1].times(by), a[2].times(by)]
}

#[inline(always)]
fn cross<V: Eight>([ax, ay, az]: [V; 3], [bx, by, bz]: [V; 3]) -> [V; 3] {
    [ay.times(bz).minus(az.times(by)), az.times(bx).minus(ax.times(bz)), ax.times(by).minus(ay.times(bx))]
}

#[inline(always)]
fn square<V: Eight>([x, y, z]: [V; 3]) -> V {
    x.times(x).plus(y.times(y)).plus(z.times(z))
}

/// Squared lengths that can be inverted without leaving the range of f32.
const USUAL: std::ops::Range<f32> = 1e-30..1e30;

#[inline(always)]
fn are_usual<V: Eight>(squares: V) -> bool {
    squares.are_between(USUAL.start, USUAL.end)
}

/// The points at eight indices.
///
/// # Safety
/// All indices are below the length of `x`.
#[inline(always)]
unsafe fn fetch<V: Eight>(x: &[Vec3A], at: &[u32; WIDTH]) -> [V; 3] {
    let mut points = [Vec3A::ZERO; WIDTH];
    for i in 0..WIDTH {
        // SAFETY: guaranteed by the caller.
        points[i] = unsafe { *x.get_unchecked(at[i] as usize) };
    }
    V::apart(points)
}

/// The point at an index and the seven after it; beyond the end, the last point is repeated.
#[inline(always)]
fn from<V: Eight>(x: &[Vec3A], first: usize) -> [V; 3] {
    let mut points = [Vec3A::ZERO; WIDTH];
    if let Some(all) = x.get(first..first + WIDTH) {
        points.copy_from_slice(all);
    } else {
        for (i, point) in points.iter_mut().enumerate() {
            *point = x[(first + i).min(x.len() - 1)];
        }
    }
    V::apart(points)
}

widest! {
    /// `B u` of a block.
    pub fn driven(basis: &Blocks, block: usize, moved: &[Vec3]) -> [Lane; 3] {
        let mut sums = [[0.0; LANES]; 3];
        for ((&handle, &scale), values) in basis.columns(block) {
            let factors = (moved[handle as usize] * scale).to_array();
            for k in 0..3 {
                for i in 0..LANES {
                    sums[k][i] += f32::from(values[i]) * factors[k];
                }
            }
        }
        sums
    }
}

/// Number of lanes whose distances are summed together.
const HALF: usize = LANES / 2;

widest! {
    /// Distances of P poses for a block: `squares` has for each gauge `stride` squared differences of strain,
    /// of which the P from `first` on are used.
    pub fn local_distances<const P: usize>(
        gauges: &Blocks,
        block: usize,
        squares: &[f32],
        stride: usize,
        first: usize,
        distances: &mut [Lane],
    ) {
        for half in 0..2 {
            let mut sums = [[0.0f32; HALF]; P];
            for ((&gauge, &scale), values) in gauges.columns(block) {
                let squares = &squares[gauge as usize * stride + first..][..P];
                let mut weights = [0.0f32; HALF];
                for i in 0..HALF {
                    weights[i] = f32::from(values[half * HALF + i]);
                }
                for p in 0..P {
                    let factor = scale * squares[p];
                    for i in 0..HALF {
                        sums[p][i] += weights[i] * factor;
                    }
                }
            }
            for p in 0..P {
                for i in 0..HALF {
                    distances[first + p][half * HALF + i] = sums[p][i].sqrt();
                }
            }
        }
    }
}

widest! {
    /// Fine displacements of a block, in local frames.
    pub fn displaced(weights: &Blocks, block: usize, distances: &[Lane]) -> [Lane; 3] {
        let mut sums = [[0.0; LANES]; 3];
        for ((&column, &scale), values) in weights.columns(block) {
            let (sum, distances) = (&mut sums[column as usize % 3], &distances[column as usize / 3]);
            for i in 0..LANES {
                sum[i] += f32::from(values[i]) * scale * distances[i];
            }
        }
        sums
    }
}

/// Two neighbors of every vertex, eight vertices at a time.
pub(crate) struct FrameBlocks {
    ends: Vec<[[u32; WIDTH]; 2]>,
    n_vertices: usize,
    frames: LocalFrames,
}

impl FrameBlocks {
    /// Packs the frames of `n_vertices` vertices.
    pub fn pack(frames: LocalFrames, n_vertices: usize) -> Self {
        let group = |g: usize| {
            let ends: [[u32; 2]; WIDTH] =
                std::array::from_fn(|i| frames.ends((g * WIDTH + i).min(n_vertices - 1)));
            [0, 1].map(|k| ends.map(|e| e[k]))
        };
        Self { ends: (0..n_vertices.div_ceil(WIDTH)).map(group).collect(), n_vertices, frames }
    }

    /// Bytes that reading all reads.
    pub fn n_bytes(&self) -> usize {
        self.ends.len() * size_of::<[[u32; WIDTH]; 2]>()
    }
}

widest_of_eight! {
    /// Adds displacements in local frames to a block of the large scale: as [`LocalFrames::at`].
    pub fn in_frames<V: Eight>(
        frames: &FrameBlocks,
        first: usize,
        large: &[Vec3A],
        displaced: &[Lane; 3],
        fine: &mut [Vec3A],
    ) {
        assert!(large.len() == frames.n_vertices);
        for (group, fine) in fine.chunks_mut(WIDTH).enumerate() {
            let start = first + group * WIDTH;
            let here = from::<V>(large, start);
            let [p, q] = &frames.ends[start / WIDTH];
            // SAFETY: the frames refer only to vertices below the number of points.
            let (a, b) = unsafe { (minus(fetch(large, p), here), minus(fetch(large, q), here)) };
            let normal = cross(a, b);
            let (n2, a2) = (square(normal), square(a));
            // The first edge is orthogonal to the normal by construction.
            let (normal, tangent) = (times(normal, n2.inverse_root()), times(a, a2.inverse_root()));
            let other = cross(normal, tangent);
            let [dt, du, dn] = [0, 1, 2].map(|k| eighth(&displaced[k], group));
            let along = plus(times(tangent, V::of(dt)), times(other, V::of(du)));
            let offset = plus(along, times(normal, V::of(dn)));
            let moved = V::together(plus(here, offset));
            let n = fine.len();
            fine.copy_from_slice(&moved[..n]);
            if !(are_usual(n2) && are_usual(a2)) {
                for (i, fine) in fine.iter_mut().enumerate() {
                    let [t, u, n] = frames.frames.at(start + i, large);
                    *fine = large[start + i] + (t * dt[i] + u * du[i] + n * dn[i]);
                }
            }
        }
    }
}

#[inline(always)]
fn eighth(lane: &Lane, group: usize) -> &[f32; WIDTH] {
    // A lane has four groups of eight.
    &lane.as_chunks::<WIDTH>().0[group]
}

/// Fans of neighbors, eight vertices at a time, with as many rows as the largest of the eight fans.
pub(crate) struct FanBlocks {
    start: Vec<u32>,
    rows: Vec<[u32; WIDTH]>,
    /// Groups with a vertex that has several fans.
    odd: Vec<bool>,
    n_vertices: usize,
    fans: Fans,
}

impl FanBlocks {
    /// Packs the fans of `n_vertices` vertices. Shorter fans repeat their last neighbor, which adds nothing.
    pub fn pack(fans: Fans, n_vertices: usize) -> Self {
        let (mut start, mut rows, mut odd) = (vec![0], Vec::new(), Vec::new());
        for group in 0..n_vertices.div_ceil(WIDTH) {
            let vertices: [usize; WIDTH] = std::array::from_fn(|i| (group * WIDTH + i).min(n_vertices - 1));
            let longest = vertices.iter().map(|&v| fans.fan(v).len()).max().unwrap_or(0);
            for row in 0..longest {
                rows.push(vertices.map(|v| match fans.fan(v) {
                    [] => v as u32,
                    fan => fan[row.min(fan.len() - 1)],
                }));
            }
            start.push(rows.len() as u32);
            odd.push(vertices.iter().any(|&v| fans.has_more(v)));
        }
        Self { start, rows, odd, n_vertices, fans }
    }

    /// Bytes that reading all reads.
    pub fn n_bytes(&self) -> usize {
        self.rows.len() * size_of::<[u32; WIDTH]>() + 4 * self.start.len()
    }
}

#[inline(always)]
fn turned<V: Eight>([cx, cy, cz]: &[[f32; 3]; 3], [x, y, z]: [V; 3], shift: [f32; 3]) -> [[f32; WIDTH]; 3] {
    let mut out = [[0.0; WIDTH]; 3];
    for k in 0..3 {
        let sum = x.times(V::all(cx[k])).plus(y.times(V::all(cy[k]))).plus(z.times(V::all(cz[k])));
        out[k] = sum.plus(V::all(shift[k])).list();
    }
    out
}

widest_of_eight! {
    /// Positions and normals of vertices from `first` on, transformed by the head's pose.
    pub fn put_upright<V: Eight>(
        fans: &FanBlocks,
        first: usize,
        fine: &[Vec3A],
        carry: (&Mat3A, Vec3A),
        positions: &mut [[f32; 3]],
        normals: &mut [[f32; 3]],
    ) {
        assert!(fine.len() == fans.n_vertices);
        let (columns, shift) = (carry.0.to_cols_array_2d(), carry.1.to_array());
        let groups = positions.chunks_mut(WIDTH).zip(normals.chunks_mut(WIDTH));
        for (group, (positions, normals)) in groups.enumerate() {
            let start = first + group * WIDTH;
            let g = start / WIDTH;
            let here = from::<V>(fine, start);
            let mut sum = [V::all(0.0); 3];
            let [first, end] = [fans.start[g] as usize, fans.start[g + 1] as usize];
            if let Some((row, rows)) = fans.rows[first..end].split_first() {
                // SAFETY: fans are of as many vertices as there are points.
                let mut last = minus(unsafe { fetch(fine, row) }, here);
                for row in rows {
                    // SAFETY: as above.
                    let next = minus(unsafe { fetch(fine, row) }, here);
                    sum = plus(sum, cross(last, next));
                    last = next;
                }
            }
            let squares = square(sum);
            let mut normal = times(sum, squares.inverse_root());
            if fans.odd[g] || !are_usual(squares) {
                let mut lists = [normal[0].list(), normal[1].list(), normal[2].list()];
                for (k, list) in lists.iter_mut().enumerate() {
                    for (i, n) in list.iter_mut().enumerate().take(positions.len()) {
                        *n = fans.fans.normal(start + i, fine)[k];
                    }
                }
                normal = [V::of(&lists[0]), V::of(&lists[1]), V::of(&lists[2])];
            }
            let (x, n) = (turned(&columns, here, shift), turned(&columns, normal, [0.0; 3]));
            for (i, (position, out)) in positions.iter_mut().zip(normals).enumerate() {
                *position = [x[0][i], x[1][i], x[2][i]];
                *out = [n[0][i], n[1][i], n[2][i]];
            }
        }
    }
}
