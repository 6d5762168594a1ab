//! Contacts in projective dynamics: planes that points must not pass, by the Schur complement of the kept
//! factor [Ichim16, sec. 3.5].
//!
//! A contact i with the row c_i has `room_i + c_i . dx` left after a step dx. The paper solves for `C x = d`.
//! Here contacts only push, and they yield: below zero, room costs the energy
//!
//! ```text
//! sum_i max(0, -room_i)^2 / (2 e_i)          up to the force m_i, and linear beyond
//! ```
//!
//! with [`YIELD`] of the compliance of the contact's heaviest node as e_i, and `0 <= l_i <= m_i` below. Rank
//! deficiency is then no problem: where more points touch than nodes carry them, or two touch the same plane,
//! forces are shared. And a point that is carried by held nodes except for a small share does not fling its
//! one free node away. As long as planes stay the same, the sum of energies is one function of x, which every
//! step lowers. The step that lowers its quadratic bound most has forces l with
//!
//! ```text
//! dx = A^-1 (-g + C^T l),    (S + diag e) l >= r,  l >= 0,  l . ((S + diag e) l - r) = 0,
//! S = C A^-1 C^T,  r = -(room + C dx0),  dx0 = -A^-1 g
//! ```
//!
//! `A^-1 C^T` is built in double precision from columns of `A^-1` at the nodes that carry contacts, which
//! depend on the factor alone and are kept with it. Between the two substitutions for dx0, its values at
//! these nodes and the loads `C^T l` use only their paths in the elimination tree.

use super::solver::Factor;
use crate::contact::detect::Touch;
use crate::contact::obstacle::Obstacle;
use crate::contact::planes::{Contact, TetAttachment};
use crate::step::body::Configuration;
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{Matrix, Reach, Stencil, SweepSpace, solve_bounded};
use std::collections::BTreeMap;

/// A contact yields as much as a node of its body under this share of the same force.
const YIELD: f64 = 0.005;

/// Surfaces of the body do not push each other harder than what moves a node this far, meters. If a search
/// has taken the wrong side of a fold for the right one, flesh is then not torn. Obstacles push as hard as
/// needed.
const FARTHEST: f64 = 3e-3;

/// Surfaces that a contact holds farther than this from where a pose without overlap has them have met at
/// their wrong sides, meters.
const HELD_AWAY: f64 = 5e-5;

/// A violation below this is left to the next iteration, meters.
const NEGLIGIBLE: f64 = 1e-6;

/// Most rounds in which violated contacts join those that act.
const ROUNDS: usize = 6;

/// Most contacts that act on the same heaviest node.
const AT_NODE: usize = 3;

/// Surfaces that must not pass each other, or obstacles.
#[derive(Clone, Copy)]
pub struct Touching<'a> {
    /// The surface and its pairs.
    pub touch: &'a Touch,
    /// The pose that surface points are displaced from.
    pub at: &'a Configuration,
    /// Depth that is allowed at each surface point, meters.
    pub allowed: &'a [f64],
    /// Surface points at the end of the last step; none if there was none.
    pub last: Option<&'a [DVec3]>,
    /// In the frame of the body.
    pub obstacles: &'a [Obstacle],
    /// Time in which points that are too deep are pushed out, seconds.
    pub dt_secs: f64,
}

/// A contact as a row over free nodes.
struct Sparse {
    /// The surface point that must not pass.
    point: u32,
    nodes: Vec<(u32, DVec3)>,
    room: f64,
    is_with_obstacle: bool,
}

/// The same, over the nodes of all contacts.
#[derive(Debug, Clone)]
struct Row {
    point: u32,
    /// Indices into [`Planes::nodes`].
    nodes: Vec<(usize, DVec3)>,
    /// Room at the positions where it was found.
    room: f64,
    /// Compliance, meters per newton.
    yields: f64,
    /// Largest force, newtons.
    strongest: f64,
    is_with_obstacle: bool,
    /// The node with the largest share.
    heaviest: usize,
}

/// The contacts found at some positions.
#[derive(Default)]
pub(super) struct Planes {
    /// With the allowed depth as part of their room.
    pub contacts: Vec<Contact>,
    rows: Vec<Row>,
    /// Nodes of all rows, ascending, and their paths.
    nodes: Vec<u32>,
    reach: Reach,
    /// Positions of the nodes at which the contacts were found.
    found_at: Vec<DVec3>,
    /// Rows that may push, and how a unit force of each moves the nodes.
    chosen: Vec<(usize, Vec<DVec3>)>,
    along: SweepSpace,
}

impl Touching<'_> {
    /// Contacts at `x`, with the allowed depth as part of their room, and the points of those that would keep
    /// surfaces apart at their wrong sides, which are none.
    pub fn contacts(&self, tets: &[Stencil], x: &[DVec3]) -> (Vec<Contact>, Vec<u32>) {
        let points = self.touch.positions(tets, self.at, x);
        let mut found = self.touch.find(&points, &self.at.surface);
        for contact in &mut found {
            contact.room += self.allowed_at(contact);
        }
        let mut released = Vec::new();
        found.retain(|contact| {
            let is_held_away = self.is_held_away(contact, &points);
            released.extend(is_held_away.then_some(contact.points[0]));
            !is_held_away
        });
        found.extend(self.touch.find_obstacles(&points, self.obstacles));
        (found, released)
    }

    /// Whether a contact keeps its point from returning to a pose in which the point touches nothing. Lips
    /// that have slipped past each other would otherwise stay there when the pose is a neutral again.
    fn is_held_away(&self, contact: &Contact, points: &[DVec3]) -> bool {
        let posed = &self.at.surface;
        let of = contact.points.iter().zip(&contact.coefficients).filter(|(_, c)| **c != 0.0);
        let moved: DVec3 =
            of.map(|(&p, coefficient)| (points[p as usize] - posed.points[p as usize]) * *coefficient).sum();
        let is_free = posed.depths[contact.points[0] as usize] <= self.allowed_at(contact) + NEGLIGIBLE;
        is_free && contact.normal.dot(moved) > HELD_AWAY
    }

    /// The depth that a contact may have. Against what the body does not carry (teeth, eyes), it is also that
    /// of the pose: both are where the artist put them.
    fn allowed_at(&self, contact: &Contact) -> f64 {
        let allowed = deepest(self.allowed, contact);
        let attachments = self.touch.attachments();
        let of_body = |&p: &u32| attachments[p as usize].tet != TetAttachment::NONE;
        match contact.points[1..].iter().any(of_body) {
            true => allowed,
            false => allowed.max(self.at.surface.depths[contact.points[0] as usize]),
        }
    }

    /// The contacts at `x` as rows. Those of `before` that pushed stay if their points have no contact now:
    /// points that come and go with their contacts would never come to rest.
    pub(super) fn planes(
        &self,
        (tets, held): (&[Stencil], &[bool]),
        factor: &Factor,
        x: &[DVec3],
        before: &Planes,
    ) -> Planes {
        let (contacts, released) = self.contacts(tets, x);
        let mut sparse: Vec<Sparse> = contacts.iter().filter_map(|c| self.row(tets, held, c)).collect();
        let has_contact = |point: u32| sparse.iter().any(|row| row.point == point);
        let stays = |row: &Sparse| !has_contact(row.point) && !released.contains(&row.point);
        let kept: Vec<Sparse> = before.pushing(x).filter(stays).collect();
        sparse.extend(kept);
        let mut nodes: Vec<u32> = sparse.iter().flat_map(|row| row.nodes.iter().map(|n| n.0)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let reach = if nodes.is_empty() { Reach::default() } else { factor.sweep().reach(&nodes) };
        let place = |node: u32| nodes.binary_search(&node).unwrap_or(0);
        let row = |Sparse { point, nodes, room, is_with_obstacle }: Sparse| {
            let (mut heaviest, mut most) = (0, 0.0);
            for &(node, share) in &nodes {
                if share.length() > most {
                    (heaviest, most) = (node, share.length());
                }
            }
            // Of points that hardly follow their node, the node moves at most twice the violation.
            let share = f64::max(YIELD, most * (0.5 - most));
            let compliance = factor.compliance(heaviest);
            let strongest = if is_with_obstacle { f64::INFINITY } else { FARTHEST / compliance };
            let yields = share * compliance;
            let nodes = nodes.into_iter().map(|(node, share)| (place(node), share)).collect();
            Row { point, nodes, room, yields, strongest, is_with_obstacle, heaviest: place(heaviest) }
        };
        let rows = sparse.into_iter().map(row).collect();
        let found_at = nodes.iter().map(|&node| x[node as usize]).collect();
        Planes { contacts, rows, reach, found_at, nodes, ..Planes::default() }
    }

    /// The room that a contact has in a solve. Overlap that was there before the step is pushed out slowly:
    /// the point may have come in at an edge, or have another closest place now, and would be flung out.
    fn room(&self, contact: &Contact) -> f64 {
        let Some(last) = self.last.filter(|_| !contact.is_with_obstacle()) else {
            return self.touch.pushed_out(contact, self.dt_secs).room;
        };
        let before = self.touch.gap(contact, last) + self.allowed_at(contact);
        contact.room + (-before - self.touch.options().out_speed * self.dt_secs).max(0.0)
    }

    /// A contact by the free nodes that carry it.
    fn row(&self, tets: &[Stencil], held: &[bool], contact: &Contact) -> Option<Sparse> {
        let attachments = self.touch.attachments();
        let mut nodes: Vec<(u32, DVec3)> = Vec::with_capacity(16);
        for (&point, &coefficient) in contact.points.iter().zip(&contact.coefficients) {
            let attachment = &attachments[point as usize];
            let Some(tet) = tets.get(attachment.tet as usize) else { continue };
            for (&node, weight) in tet.iter().zip(attachment.weights) {
                let share = contact.normal * (weight * coefficient);
                if held[node as usize] || share == DVec3::ZERO {
                    continue;
                }
                match nodes.iter_mut().find(|(other, _)| *other == node) {
                    Some((_, sum)) => *sum += share,
                    None => nodes.push((node, share)),
                }
            }
        }
        let (point, room) = (contact.points[0], self.room(contact));
        let is_with_obstacle = contact.is_with_obstacle();
        (!nodes.is_empty()).then_some(Sparse { point, nodes, room, is_with_obstacle })
    }
}

/// The depth that a contact's point or its place may have.
fn deepest(depths: &[f64], contact: &Contact) -> f64 {
    let of = |p: u32| depths.get(p as usize).copied().unwrap_or(0.0);
    let corners = contact.points[1..].iter().zip(&contact.coefficients[1..]);
    of(contact.points[0]).max(corners.map(|(&p, c)| -c * of(p)).sum())
}

impl Row {
    fn along(&self, moved: &[DVec3]) -> f64 {
        self.nodes.iter().map(|&(node, share)| share.dot(moved[node])).sum()
    }
}

impl Planes {
    /// The contacts that may push, as they are at `x`.
    fn pushing<'a>(&'a self, x: &'a [DVec3]) -> impl Iterator<Item = Sparse> + 'a {
        let moved = self.moved(x);
        self.chosen.iter().map(move |(row, _)| {
            let row = &self.rows[*row];
            let nodes = row.nodes.iter().map(|&(node, share)| (self.nodes[node], share)).collect();
            let room = row.room + row.along(&moved);
            Sparse { point: row.point, nodes, room, is_with_obstacle: row.is_with_obstacle }
        })
    }

    /// The energy of room below zero at `x`.
    pub fn energy(&self, x: &[DVec3]) -> f64 {
        let moved = self.moved(x);
        let of = |row: &Row| {
            let depth = -(row.room + row.along(&moved));
            if depth <= 0.0 {
                return 0.0;
            }
            // The force rises with the depth until it is the strongest.
            let force = (depth / row.yields).min(row.strongest);
            force * (depth - 0.5 * force * row.yields)
        };
        self.rows.iter().map(of).sum()
    }

    /// The motion of the nodes since the contacts were found.
    fn moved(&self, x: &[DVec3]) -> Vec<DVec3> {
        self.nodes.iter().zip(&self.found_at).map(|(&node, from)| x[node as usize] - *from).collect()
    }

    /// Between the substitutions for a free step from `x`: adds the loads of contacts that push. Returns how
    /// many do.
    pub fn push(&mut self, factor: &Factor, carriers: &[u32], x: &[DVec3], whole: &mut SweepSpace) -> usize {
        if self.rows.is_empty() {
            return 0;
        }
        let free = factor.sweep().values_at(whole, &self.reach, &self.nodes, &mut self.along);
        let moved: Vec<DVec3> = self.moved(x).into_iter().zip(free).map(|(a, b)| a + b).collect();
        let (mut forces, mut now) = self.forces(&moved);
        // Those that do not push make room for others.
        let mut of_chosen = forces.iter();
        self.chosen.retain(|_| of_chosen.next().is_some_and(|force| *force > 0.0));
        forces.retain(|force| *force > 0.0);
        for _ in 0..ROUNDS {
            let joining = self.joining(&now);
            if joining.is_empty() {
                break;
            }
            self.choose(factor, carriers, &joining);
            (forces, now) = self.forces(&moved);
        }
        let mut loads = vec![DVec3::ZERO; self.nodes.len()];
        let pushing = self.chosen.iter().zip(&forces).filter(|(_, force)| **force > 0.0);
        let mut n_pushing = 0;
        for ((row, _), force) in pushing {
            n_pushing += 1;
            self.rows[*row].nodes.iter().for_each(|&(node, share)| loads[node] += share * *force);
        }
        if n_pushing > 0 {
            let loads = self.nodes.iter().copied().zip(loads);
            factor.sweep().load(whole, &self.reach, loads, &mut self.along);
        }
        n_pushing
    }

    /// Rows that are violated most at their heaviest node, after motions `now`, and are not chosen.
    fn joining(&self, now: &[DVec3]) -> Vec<usize> {
        let mut at_node: BTreeMap<usize, usize> = BTreeMap::new();
        let mut is_chosen = vec![false; self.rows.len()];
        for (row, _) in &self.chosen {
            is_chosen[*row] = true;
            *at_node.entry(self.rows[*row].heaviest).or_default() += 1;
        }
        let mut worst: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
        for (i, row) in self.rows.iter().enumerate().filter(|(i, _)| !is_chosen[*i]) {
            let depth = -(row.room + row.along(now));
            if depth > NEGLIGIBLE && at_node.get(&row.heaviest).copied().unwrap_or(0) < AT_NODE {
                let best = worst.entry(row.heaviest).or_insert((depth, i));
                if depth > best.0 {
                    *best = (depth, i);
                }
            }
        }
        worst.into_values().map(|(_, i)| i).collect()
    }

    /// Lets rows push.
    fn choose(&mut self, factor: &Factor, carriers: &[u32], rows: &[usize]) {
        let picked = || rows.iter().flat_map(|&i| self.rows[i].nodes.iter().map(|n| n.0));
        let mut own: Vec<usize> = picked().collect();
        own.sort_unstable();
        own.dedup();
        let names: Vec<u32> = own.iter().map(|&k| self.nodes[k]).collect();
        let columns = factor.columns(&names, carriers);
        let places: Vec<usize> =
            self.nodes.iter().map(|node| carriers.binary_search(node).unwrap_or(0)).collect();
        let shift = |&i: &usize| {
            let mut shift = vec![DVec3::ZERO; places.len()];
            for &(node, share) in &self.rows[i].nodes {
                let column = &columns[own.binary_search(&node).unwrap_or(0)];
                shift.iter_mut().zip(&places).for_each(|(sum, &k)| *sum += share * column[k]);
            }
            (i, shift)
        };
        let more: Vec<(usize, Vec<DVec3>)> = rows.par_iter().with_min_len(4).map(shift).collect();
        self.chosen.extend(more);
    }

    /// Forces of the chosen rows for a step that would move the nodes by `moved` without them, and how the
    /// nodes move with them.
    fn forces(&self, moved: &[DVec3]) -> (Vec<f64>, Vec<DVec3>) {
        let n = self.chosen.len();
        let row = |i: usize| &self.rows[self.chosen[i].0];
        if n == 0 {
            return (Vec::new(), moved.to_vec());
        }
        let mut s = Matrix::symmetric(n, |i, j| row(i).along(&self.chosen[j].1));
        (0..n).for_each(|i| s.column_mut(i)[i] += row(i).yields);
        let gradient: Vec<f64> = (0..n).map(|i| row(i).room + row(i).along(moved)).collect();
        let strongest: Vec<f64> = (0..n).map(|i| row(i).strongest).collect();
        let solved = solve_bounded(&s, &gradient, &vec![0.0; n], &strongest);
        // The matrix is positive definite; if rounding says otherwise, contacts push in the next iteration.
        let forces = solved.map_or_else(|_| vec![0.0; n], |solution| solution.x);
        let mut now = moved.to_vec();
        for ((_, shift), force) in self.chosen.iter().zip(&forces).filter(|(_, force)| **force > 0.0) {
            now.iter_mut().zip(shift).for_each(|(sum, v)| *sum += *v * *force);
        }
        (forces, now)
    }
}
