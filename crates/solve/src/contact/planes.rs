//! The contact energy: surface points must not pass planes that are carried by other surface points.
//!
//! A surface point is attached to a tet, `p = base + sum w_j (x_j - X_j)`: its position in the pose plus the
//! displacement of the body. A contact couples up to four such points, a point against a triangle, by a fixed
//! unit normal n:
//!
//! ```text
//! room(x) = n . (p0 - b1 p1 - b2 p2 - b3 p3) + allowed,   s = -room
//! E = k s^2 / 2                                 for s > 0: the penalty [Kozlov17, sec. 7]
//! E = -k d^2 (log(1 - s/d) + s/d)               the same for small s, infinite at the wall s = d
//! ```
//!
//! The second form is ours and is the one used. Its force starts at the same depth as the penalty's, so the
//! overlap that the artist's pose has (`allowed`) is not pushed, and no step passes the wall. Planes are
//! fixed during a solve; [`crate::contact::detect`] finds them.
//!
//! A contact spans up to four tets. Its energy is counted at the first tet, its gradient at all of them. Of
//! the Hessian, only the blocks within tets are kept, scaled so that they bound the whole from above.

use crate::energy::Energy;
use crate::energy::Forces;
use crate::minimize::contact_aware::ContactRow;
use glam::{DMat3, DVec3};
use risorius_linalg::sparse::block_index;
use risorius_linalg::{ElementBlocks, Stencil};
use std::ops::Range;

/// The attachment of a surface point to the body.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TetAttachment {
    /// The tet, or [`TetAttachment::NONE`] for a point that only the pose moves.
    pub tet: u32,
    /// Weights of the tet's nodes; their sum is the share of the body's motion that the point follows.
    pub weights: [f64; 4],
}

impl TetAttachment {
    /// For points that only the pose moves: teeth, eyes.
    pub const NONE: u32 = u32::MAX;

    /// A point that only the pose moves.
    pub const FIXED: Self = Self { tet: Self::NONE, weights: [0.0; 4] };

    /// Displacement of the point by the body, relative to its position in the pose.
    pub fn displacement(&self, tets: &[Stencil], x: &[DVec3], rest: &[DVec3]) -> DVec3 {
        let Some(tet) = tets.get(self.tet as usize) else { return DVec3::ZERO };
        let of = |(&node, &weight): (&u32, &f64)| (x[node as usize] - rest[node as usize]) * weight;
        tet.iter().zip(&self.weights).map(of).sum()
    }
}

/// A plane that a point must not pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// Surface points; the first must not pass the plane. Points with a zero coefficient do not count.
    pub points: [u32; 4],
    /// How each enters the distance from the plane.
    pub coefficients: [f64; 4],
    /// Unit normal, towards the free side.
    pub normal: DVec3,
    /// Room at the positions where the contact was found, meters; negative if too deep.
    pub room: f64,
    /// Newtons per meter.
    pub stiffness: f64,
    /// Depth that is never reached, meters; infinite for a penalty.
    pub wall: f64,
    /// A film that holds two surfaces together, not a surface that keeps them apart.
    pub film: bool,
}

impl Contact {
    /// Whether the contact is with an obstacle, not with the body itself.
    pub(crate) fn is_with_obstacle(&self) -> bool {
        self.coefficients[1..] == [0.0; 3]
    }
}

/// Energy and two derivatives at depth `s` [module].
fn push(s: f64, stiffness: f64, wall: f64) -> [f64; 3] {
    if s <= 0.0 {
        return [0.0; 3];
    }
    if wall.is_infinite() {
        return [0.5 * stiffness * s * s, stiffness * s, stiffness];
    }
    let t = s / wall;
    if t >= 1.0 {
        return [f64::INFINITY; 3];
    }
    // For small t the logarithm loses digits; use its series.
    let curve = if t < 1e-3 { t * t * (0.5 + t * (1.0 / 3.0 + 0.25 * t)) } else { -(-t).ln_1p() - t };
    [stiffness * wall * wall * curve, stiffness * s / (1.0 - t), stiffness / ((1.0 - t) * (1.0 - t))]
}

/// One point of a contact, at the tet that carries it.
#[derive(Debug, Clone, Copy)]
struct Side {
    contact: u32,
    /// Coefficient times weights of the tet's nodes.
    weights: [f64; 4],
    /// Scale of the Hessian block.
    bound: f64,
}

/// A contact, ready for evaluation at any state: `s = depth - n . sum w x`.
#[derive(Debug, Clone)]
struct Prepared {
    normal: DVec3,
    depth: f64,
    nodes: Vec<(u32, f64)>,
    stiffness: f64,
    wall: f64,
}

impl Prepared {
    fn along(&self, v: &[DVec3]) -> f64 {
        self.nodes.iter().map(|&(node, w)| self.normal.dot(v[node as usize]) * w).sum()
    }

    fn depth(&self, x: &[DVec3]) -> f64 {
        self.depth - self.along(x)
    }

    /// Derivative of the energy with respect to depth.
    fn slope(&self, x: &[DVec3]) -> f64 {
        self.push(x)[1]
    }

    fn push(&self, x: &[DVec3]) -> [f64; 3] {
        push(self.depth(x), self.stiffness, self.wall)
    }
}

/// Slopes of a few contacts at one state: their sides are at carriers close to each other.
struct Known([(u32, f64); Known::N]);

impl Known {
    const N: usize = 128;

    fn slope(&mut self, contact: u32, of: impl FnOnce() -> f64) -> f64 {
        let slot = &mut self.0[contact as usize % Self::N];
        if slot.0 != contact {
            *slot = (contact, of());
        }
        slot.1
    }
}

impl Default for Known {
    fn default() -> Self {
        Self([(u32::MAX, 0.0); Self::N])
    }
}

/// The tets that carry surface points: where contacts can act.
#[derive(Debug, Clone, Default)]
pub struct Carriers {
    stencils: Vec<Stencil>,
    /// Nodes of the stencils, ascending.
    nodes: Vec<u32>,
    /// For each surface point, the index of its tet in `stencils`.
    of_point: Vec<u32>,
}

impl Carriers {
    /// For points attached to tets.
    pub fn prepare(attachments: &[TetAttachment], tets: &[Stencil]) -> Self {
        let mut used: Vec<u32> =
            attachments.iter().map(|a| a.tet).filter(|&t| (t as usize) < tets.len()).collect();
        used.sort_unstable();
        used.dedup();
        let place = |a: &TetAttachment| used.binary_search(&a.tet).map_or(u32::MAX, |i| i as u32);
        let stencils: Vec<Stencil> = used.iter().map(|&t| tets[t as usize]).collect();
        let mut nodes = stencils.concat();
        nodes.sort_unstable();
        nodes.dedup();
        Self { of_point: attachments.iter().map(place).collect(), nodes, stencils }
    }

    /// The nodes of each carrier tet.
    pub fn stencils(&self) -> &[Stencil] {
        &self.stencils
    }
}

/// The energy of contacts.
#[derive(Debug, Clone)]
pub struct Contacts<'a> {
    carriers: &'a Carriers,
    /// Sorted by the carrier that counts their energy.
    prepared: Vec<Prepared>,
    first_prepared: Vec<u32>,
    /// First side of each carrier.
    first: Vec<u32>,
    sides: Vec<Side>,
}

impl<'a> Contacts<'a> {
    /// Contacts found when the body was at `x`.
    pub fn prepare(
        carriers: &'a Carriers,
        attachments: &[TetAttachment],
        contacts: &[Contact],
        x: &[DVec3],
    ) -> Self {
        let carrier_of = |point: u32| carriers.of_point.get(point as usize).copied().unwrap_or(u32::MAX);
        // The points of a contact that are attached to the body, with coefficients, and the contact.
        let carried = |contact: &Contact| {
            let points = contact.points.iter().zip(contact.coefficients);
            let free = points.filter(|(point, c)| *c != 0.0 && carrier_of(**point) != u32::MAX);
            let sides: Vec<(u32, [f64; 4], f64)> = free
                .map(|(&point, c)| {
                    (carrier_of(point), attachments[point as usize].weights.map(|w| w * c), c.abs())
                })
                .collect();
            (!sides.is_empty()).then_some((sides, *contact))
        };
        let mut all: Vec<_> = contacts.iter().filter_map(carried).collect();
        all.sort_by_key(|(sides, _)| sides[0].0);
        let n_carriers = carriers.stencils.len();
        let first_prepared = starts(n_carriers, all.iter().map(|(sides, _)| sides[0].0));
        let mut prepared = Vec::with_capacity(all.len());
        let mut sides: Vec<(u32, Side)> = Vec::with_capacity(4 * all.len());
        for (contact, (of_contact, found)) in all.iter().enumerate() {
            let total: f64 = found.coefficients.iter().map(|c| c.abs()).sum();
            let mut nodes = Vec::with_capacity(4 * of_contact.len());
            for &(carrier, weights, share) in of_contact {
                sides.push((carrier, Side { contact: contact as u32, weights, bound: total / share }));
                nodes.extend(carriers.stencils[carrier as usize].iter().copied().zip(weights));
            }
            let Contact { normal, stiffness, wall, .. } = *found;
            let mut one = Prepared { normal, depth: 0.0, nodes, stiffness, wall };
            one.depth = one.along(x) - found.room;
            prepared.push(one);
        }
        sides.sort_by_key(|(carrier, side)| (*carrier, side.contact));
        let first = starts(n_carriers, sides.iter().map(|(carrier, _)| *carrier));
        Self {
            carriers,
            prepared,
            first_prepared,
            first,
            sides: sides.into_iter().map(|(_, side)| side).collect(),
        }
    }

    /// The number of pressing contacts, and the largest depth in meters.
    #[cfg(test)]
    pub(crate) fn pressing(&self, x: &[DVec3]) -> (usize, f64) {
        let depths = self.prepared.iter().map(|contact| contact.depth(x)).filter(|&s| s > 0.0);
        depths.fold((0, 0.0), |(n, deepest), s| (n + 1, s.max(deepest)))
    }

    /// The contributions of pressing contacts to the Hessian at `x`, without held nodes.
    pub(crate) fn pressing_rows(&self, x: &[DVec3], held: &[bool]) -> Vec<ContactRow> {
        let row = |contact: &Prepared| {
            let stiffness = contact.push(x)[2];
            let free = contact.nodes.iter().filter(|(node, _)| !held[*node as usize]);
            let row: Vec<(u32, DVec3)> = free.map(|&(node, w)| (node, contact.normal * w)).collect();
            (stiffness > 0.0 && stiffness.is_finite() && !row.is_empty())
                .then_some(ContactRow { row, stiffness })
        };
        self.prepared.iter().filter_map(row).collect()
    }

    /// Nodes that contacts can act on, ascending.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.carriers.nodes
    }

    fn sides(&self, carrier: usize) -> &[Side] {
        &self.sides[self.first[carrier] as usize..self.first[carrier + 1] as usize]
    }

    /// Contacts whose energy these carriers count.
    fn counted(&self, carriers: Range<usize>) -> &[Prepared] {
        &self.prepared
            [self.first_prepared[carriers.start] as usize..self.first_prepared[carriers.end] as usize]
    }

    fn of(&self, side: &Side) -> &Prepared {
        &self.prepared[side.contact as usize]
    }

    /// Energy that a carrier counts, and the forces at its nodes; `None` if it has no contacts.
    fn of_carrier(&self, carrier: usize, x: &[DVec3], known: &mut Known) -> Option<(f64, Forces)> {
        let sides = self.sides(carrier);
        if sides.is_empty() {
            return None;
        }
        let value = self.counted(carrier..carrier + 1).iter().map(|contact| contact.push(x)[0]).sum();
        let mut forces = [DVec3::ZERO; 4];
        for side in sides {
            let contact = self.of(side);
            let slope = known.slope(side.contact, || contact.slope(x));
            if slope != 0.0 {
                forces.iter_mut().zip(side.weights).for_each(|(g, w)| *g -= contact.normal * (slope * w));
            }
        }
        Some((value, forces))
    }
}

impl Energy for Contacts<'_> {
    fn stencils(&self) -> &[Stencil] {
        &self.carriers.stencils
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        for (value, carrier) in values.iter_mut().zip(elements) {
            *value = self.counted(carrier..carrier + 1).iter().map(|contact| contact.push(x)[0]).sum();
        }
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        let mut known = Known::default();
        for ((value, gradient), carrier) in values.iter_mut().zip(gradients).zip(elements) {
            (*value, *gradient) = self.of_carrier(carrier, x, &mut known).unwrap_or_default();
        }
    }

    /// Most carriers have no contacts, so that there is nothing to add.
    fn add_gradients(
        &self,
        x: &[DVec3],
        elements: Range<usize>,
        values: &mut [f64],
        corners: &[[u16; 4]],
        sums: &mut [DVec3],
    ) -> f64 {
        let mut known = Known::default();
        for ((value, corners), carrier) in values.iter_mut().zip(corners).zip(elements) {
            *value = 0.0;
            let Some((mine, forces)) = self.of_carrier(carrier, x, &mut known) else { continue };
            *value = mine;
            for (&corner, force) in corners.iter().zip(forces) {
                sums[usize::from(corner)] += force;
            }
        }
        self.reach()
    }

    fn hessians(&self, x: &[DVec3], elements: Range<usize>, _exact: bool, blocks: &mut [ElementBlocks<3>]) {
        for (block, carrier) in blocks.iter_mut().zip(elements) {
            let mut sums = [DMat3::ZERO; 10];
            for side in self.sides(carrier) {
                let contact = self.of(side);
                let curvature = contact.push(x)[2] * side.bound;
                let n = contact.normal;
                let along = DMat3::from_cols(n * n.x, n * n.y, n * n.z);
                for a in 0..4 {
                    for b in 0..=a {
                        sums[block_index(a, b)] += along * (curvature * side.weights[a] * side.weights[b]);
                    }
                }
            }
            *block = sums.map(|m| m.to_cols_array_2d());
        }
    }

    /// Zero: factors are made before contacts are found.
    fn laplacians(&self, _elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        blocks.fill([[[0.0; 1]; 1]; 10]);
    }

    fn is_zero(&self) -> bool {
        self.prepared.is_empty()
    }

    /// The step at which the first contact reaches its wall.
    fn largest_step(&self, x: &[DVec3], d: &[DVec3], elements: Range<usize>) -> f64 {
        let until_wall = |contact: &Prepared| {
            let deeper = -contact.along(d);
            if deeper > 0.0 { ((contact.wall - contact.depth(x)) / deeper).max(0.0) } else { f64::INFINITY }
        };
        self.counted(elements).iter().map(until_wall).fold(f64::INFINITY, f64::min)
    }
}

/// For entries sorted by key `0..n`, the index of each key's first entry, and the number of entries.
fn starts(n: usize, of: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut first = vec![0u32; n + 1];
    of.for_each(|i| first[i as usize + 1] += 1);
    (1..first.len()).for_each(|i| first[i] += first[i - 1]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Random;

    /// A point of one tet against a triangle whose corners are attached to another.
    fn example(wall: f64) -> (Vec<TetAttachment>, Carriers, Contact, Vec<DVec3>) {
        let mut random = Random(5);
        let attachments = vec![
            TetAttachment { tet: 0, weights: [0.1, 0.2, 0.3, 0.4] },
            TetAttachment { tet: 1, weights: [0.4, 0.3, 0.2, 0.1] },
            TetAttachment { tet: 1, weights: [0.25; 4] },
            TetAttachment::FIXED,
        ];
        let carriers = Carriers::prepare(&attachments, &[[0, 1, 2, 3], [4, 5, 6, 7]]);
        let contact = Contact {
            points: [0, 1, 2, 3],
            coefficients: [1.0, -0.3, -0.6, -0.1],
            normal: DVec3::new(1.0, 2.0, -2.0) / 3.0,
            room: -0.4,
            stiffness: 7.0,
            wall,
            film: false,
        };
        let x = (0..8).map(|_| random.vector()).collect();
        (attachments, carriers, contact, x)
    }

    #[test]
    fn forces_are_the_slope_of_the_energy_and_balance() {
        for wall in [1.0, f64::INFINITY] {
            let (attachments, carriers, contact, x) = example(wall);
            let energy = Contacts::prepare(&carriers, &attachments, &[contact], &x);
            let total = |x: &[DVec3]| {
                let mut values = [0.0; 2];
                energy.values(x, 0..2, &mut values);
                values[0] + values[1]
            };
            let (mut values, mut gradients) = ([0.0; 2], [[DVec3::ZERO; 4]; 2]);
            energy.gradients(&x, 0..2, &mut values, &mut gradients);
            assert_eq!(values[0] + values[1], total(&x));
            let (count, depth) = energy.pressing(&x);
            assert!(
                total(&x) > 0.0 && count == 1 && (depth - 0.4).abs() < 1e-12,
                "{count} press, {depth} deep"
            );
            for node in 0..8 {
                for axis in 0..3 {
                    let mut ends = [x.clone(), x.clone()];
                    ends[0][node][axis] += 1e-6;
                    ends[1][node][axis] -= 1e-6;
                    let slope = (total(&ends[0]) - total(&ends[1])) / 2e-6;
                    let given = gradients[node / 4][node % 4][axis];
                    assert!((slope - given).abs() < 1e-6, "node {node} axis {axis}: {slope} and {given}");
                }
            }
        }
    }

    #[test]
    fn the_wall_is_never_passed_and_the_rest_is_left_alone() {
        let (attachments, carriers, contact, x) = example(1.0);
        let energy = Contacts::prepare(&carriers, &attachments, &[contact], &x);
        let mut d = vec![DVec3::ZERO; 8];
        d[..4].fill(-contact.normal);
        assert!((energy.largest_step(&x, &d, 0..2) - 0.6).abs() < 1e-12, "0.4 deep, a wall at 1");
        let over: Vec<DVec3> = x.iter().zip(&d).map(|(x, d)| *x + *d * 0.61).collect();
        let mut values = [0.0; 2];
        energy.values(&over, 0..2, &mut values);
        assert!(values[0].is_infinite());
        let free = Contacts::prepare(&carriers, &attachments, &[Contact { room: 1e-9, ..contact }], &x);
        let mut gradients = [[DVec3::ONE; 4]; 2];
        free.gradients(&x, 0..2, &mut values, &mut gradients);
        assert_eq!((values, gradients), ([0.0; 2], [[DVec3::ZERO; 4]; 2]));
    }

    #[test]
    fn the_barrier_is_smooth_where_its_series_ends() {
        let [a, b] = [0.000_999_9, 0.001_000_1].map(|s| push(s, 2.0, 1.0));
        assert!((b[0] - a[0] - a[1] * 2e-7).abs() < 1e-12, "{a:?} {b:?}");
    }
}
