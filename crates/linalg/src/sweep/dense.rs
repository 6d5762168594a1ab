//! Dense blocks of a factor, and the products that substitution consists of.
//!
//! With the diagonal block `L11` of a panel and the rows `L21` below it, the panel stores
//!
//! ```text
//! M = [ L11^-1 ; -L21 L11^-1 ]
//! forward    [y1; y2] <- [0; y2] + M y1
//! backward   x1 <- M^T [y1; x2]
//! ```
//!
//! so both substitutions are products with the same block, which is read once in each. Rows are grouped in
//! eights, and a group is stored column by column, each column with its eight rows. Four right-hand sides are
//! processed together. The loops over panels are plain ones: an adapter such as `for_each` is compiled
//! without the wide registers, and every product in its closure becomes a call.

use super::panels::{Columns, Panel, ROWS, WIDEST};
#[cfg(target_arch = "x86_64")]
use super::width::Wide;
use super::width::{Folded, Plain, Width, add};
use pulp::Arch;

/// Numbers in which a factor is stored and solved with.
pub trait Real:
    Copy + Default + PartialEq + Send + Sync + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self>
{
    /// Rounded.
    fn of(value: f64) -> Self;
    /// Widened.
    fn wide(self) -> f64;
    /// How products use registers of 512 bits.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    fn with_512_bits(registers: pulp::x86::V4) -> impl Width<Self>;
}

impl Real for f32 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn with_512_bits(registers: pulp::x86::V4) -> impl Width<Self> {
        Wide(registers)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn with_512_bits(_: pulp::x86::V4) -> impl Width<Self> {
        Plain
    }
}

/// Values of four right-hand sides.
pub type Four<T> = [T; 4];

/// Where a panel's data begins.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// First unknown and number of unknowns.
    own: u32,
    n_own: u32,
    /// First group of rows and number of groups.
    group: u32,
    n_groups: u32,
    /// First column of a group.
    value: usize,
}

/// Panels of a part of the elimination tree, in elimination order.
#[derive(Debug, Clone)]
pub(super) struct Blocks<T> {
    places: Vec<Place>,
    /// Unknowns of each group of rows, the panel's own first; padded with an unknown that is always zero.
    rows: Vec<[u32; ROWS]>,
    /// Columns of M, group by group. A group of own rows has no columns to the right of its diagonal.
    values: Vec<[T; ROWS]>,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { places: Vec::new(), rows: Vec::new(), values: Vec::new() }
    }
}

/// Columns of M that a group stores.
#[inline(always)]
fn n_stored(group: usize, n_own: usize) -> usize {
    n_own.min((group + 1) * ROWS)
}

impl<T: Real> Blocks<T> {
    pub(super) fn n_panels(&self) -> usize {
        self.places.len()
    }

    pub(super) fn n_bytes(&self) -> usize {
        size_of_val(self.values.as_slice()) + size_of_val(self.rows.as_slice())
    }

    /// Appends a panel of `l`; `unknown` numbers rows of L within this part, `zero` is the padding.
    pub(super) fn push(&mut self, l: &Columns, panel: &Panel, unknown: impl Fn(u32) -> u32, zero: u32) {
        let m = block(l, panel);
        let n_own = panel.columns.len();
        let all = panel.columns.clone().map(|c| c as u32).chain(panel.below.iter().copied());
        let all: Vec<u32> = all.map(unknown).collect();
        self.places.push(Place {
            own: all[0],
            n_own: n_own as u32,
            group: self.rows.len() as u32,
            n_groups: all.len().div_ceil(ROWS) as u32,
            value: self.values.len(),
        });
        for (group, rows) in all.chunks(ROWS).enumerate() {
            self.rows.push(std::array::from_fn(|r| rows.get(r).copied().unwrap_or(zero)));
            for column in m.iter().take(n_stored(group, n_own)) {
                let at = |r: usize| column.get(group * ROWS + r).copied().unwrap_or(0.0);
                self.values.push(std::array::from_fn(|r| T::of(at(r))));
            }
        }
    }

    /// First unknown and number of unknowns of a panel.
    pub(super) fn own(&self, panel: u32) -> std::ops::Range<usize> {
        let place = self.places[panel as usize];
        place.own as usize..(place.own + place.n_own) as usize
    }

    /// Forward substitution with all panels.
    pub(super) fn forward(&self, arch: Arch, x: &mut [Four<T>]) {
        self.forward_places(arch, self.places.iter(), x);
    }

    /// Forward substitution with some panels, ascending.
    pub(super) fn forward_some(&self, arch: Arch, panels: &[u32], x: &mut [Four<T>]) {
        self.forward_places(arch, panels.iter().map(|&p| &self.places[p as usize]), x);
    }

    /// Backward substitution with all panels.
    pub(super) fn backward(&self, arch: Arch, x: &mut [Four<T>]) {
        self.backward_places(arch, self.places.iter().rev(), x);
    }

    /// Backward substitution with some panels, given ascending.
    pub(super) fn backward_some(&self, arch: Arch, panels: &[u32], x: &mut [Four<T>]) {
        self.backward_places(arch, panels.iter().rev().map(|&p| &self.places[p as usize]), x);
    }

    fn forward_places<'a>(&self, arch: Arch, places: impl Iterator<Item = &'a Place>, x: &mut [Four<T>]) {
        let mut known = [[T::default(); 4]; WIDEST];
        #[cfg(target_arch = "x86_64")]
        if let Arch::V4(wide) = arch {
            return wide.vectorize(
                #[inline(always)]
                || {
                    for place in places {
                        self.forward_panel(T::with_512_bits(wide), place, &mut known, x);
                    }
                },
            );
        }
        let mut places = places;
        arch.dispatch(
            #[inline(always)]
            || {
                for place in places.by_ref() {
                    self.forward_panel(Plain, place, &mut known, x);
                }
            },
        );
    }

    fn backward_places<'a>(&self, arch: Arch, places: impl Iterator<Item = &'a Place>, x: &mut [Four<T>]) {
        let mut sums = [[[T::default(); 4]; 4]; WIDEST];
        #[cfg(target_arch = "x86_64")]
        if let Arch::V4(wide) = arch {
            return wide.vectorize(
                #[inline(always)]
                || {
                    for place in places {
                        self.backward_panel(T::with_512_bits(wide), place, &mut sums, x);
                    }
                },
            );
        }
        let mut places = places;
        arch.dispatch(
            #[inline(always)]
            || {
                for place in places.by_ref() {
                    self.backward_panel(Plain, place, &mut sums, x);
                }
            },
        );
    }

    /// The groups of a panel: rows, and columns of M.
    #[inline(always)]
    fn groups(&self, place: &Place) -> impl Iterator<Item = (&[u32; ROWS], &[[T; ROWS]])> {
        let rows = &self.rows[place.group as usize..(place.group + place.n_groups) as usize];
        let mut values = &self.values[place.value..];
        rows.iter().enumerate().map(move |(group, rows)| {
            let (mine, others) = values.split_at(n_stored(group, place.n_own as usize));
            values = others;
            (rows, mine)
        })
    }

    #[inline(always)]
    fn forward_panel(
        &self,
        width: impl Width<T>,
        place: &Place,
        known: &mut [Four<T>; WIDEST],
        x: &mut [Four<T>],
    ) {
        let n_own = place.n_own as usize;
        let own = place.own as usize..place.own as usize + n_own;
        let known = &mut known[..n_own];
        known.copy_from_slice(&x[own.clone()]);
        x[own].fill([T::default(); 4]);
        for (rows, columns) in self.groups(place) {
            let sums = width.times_rows(columns, known);
            for (&row, sum) in rows.iter().zip(sums) {
                x[row as usize] = add(x[row as usize], sum);
            }
        }
    }

    #[inline(always)]
    fn backward_panel(
        &self,
        width: impl Width<T>,
        place: &Place,
        sums: &mut [Folded<T>; WIDEST],
        x: &mut [Four<T>],
    ) {
        let n_own = place.n_own as usize;
        let sums = &mut sums[..n_own];
        sums.fill([[T::default(); 4]; 4]);
        for (rows, columns) in self.groups(place) {
            width.times_columns(columns, rows.map(|row| x[row as usize]), sums);
        }
        let own = place.own as usize..place.own as usize + n_own;
        for (x, [a, b, c, d]) in x[own].iter_mut().zip(sums) {
            *x = add(add(*a, *b), add(*c, *d));
        }
    }
}

/// M of a panel, by columns.
fn block(l: &Columns, panel: &Panel) -> Vec<Vec<f64>> {
    let (first, n) = (panel.columns.start, panel.columns.len());
    let n_rows = n + panel.below.len();
    let place = |row: u32| match (row as usize) < panel.columns.end {
        true => row as usize - first,
        false => n + panel.below.partition_point(|&below| below < row),
    };
    // Columns of L in this panel, dense.
    let mut dense = vec![vec![0.0; n_rows]; n];
    for (c, dense) in dense.iter_mut().enumerate() {
        dense[c] = l.diagonal[first + c];
        for at in l.of(first + c) {
            dense[place(l.row[at])] = l.value[at];
        }
    }
    // M L11 = [I; -L21], solved from the last column on.
    let mut m = vec![vec![0.0; n_rows]; n];
    for c in (0..n).rev() {
        let (mine, solved) = m.split_at_mut(c + 1);
        let mine = &mut mine[c];
        mine[c] = 1.0;
        mine[n..].iter_mut().zip(&dense[c][n..]).for_each(|(m, l)| *m = -l);
        for (later, solved) in (c + 1..).zip(solved.iter()) {
            let factor = dense[c][later];
            if factor != 0.0 {
                mine.iter_mut().zip(solved).for_each(|(m, s)| *m -= factor * s);
            }
        }
        mine.iter_mut().for_each(|m| *m /= dense[c][c]);
    }
    m
}
