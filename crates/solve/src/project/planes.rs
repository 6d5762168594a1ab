//! Contacts in projective dynamics: planes that points must not pass, by the Schur complement of the kept
//! factor [Ichim16, sec. 3.5].
//!
//! A contact i with the row c_i allows steps with `room_i + c_i . dx >= 0`. Among those, the step that lowers
//! the quadratic bound of the energy most is
//!
//! ```text
//! dx = A^-1 (-g + C^T l),    S l >= r,  l >= 0,  l . (S l - r) = 0,
//! S = C A^-1 C^T,  r = -(room + C dx0),  dx0 = -A^-1 g
//! ```
//!
//! The paper solves `S l = r` for the rows that are violated. Here the inequalities are kept, so contacts
//! only push, and one that another contact opens does not act. S is singular where more points touch than
//! nodes carry them, or where two touch the same plane. And a point that is carried by held nodes except for a
//! small share would fling its one free node away to clear a plane. So planes yield: `S + c` takes the place
//! of S, with [`YIELD`] of the compliance of the contact's heaviest node. `A^-1 C^T` is built from columns of `A^-1` at the nodes that carry contacts, which
//! depend on the factor alone and are kept with it. Between the two substitutions for dx0, its values at
//! these nodes and the loads `C^T l` use only their paths in the elimination tree.
//!
//! The number of rows is bounded by the nodes that carry them: of contacts with the same heaviest node, the
//! one that is violated most acts. The others are tried again at the next detection.

use super::solver::Factor;
use crate::contact::detect::Touch;
use crate::contact::obstacle::Obstacle;
use crate::contact::planes::Contact;
use crate::step::body::Configuration;
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{Matrix, Reach, Stencil, SweepSpace, solve_bounded};
use std::collections::BTreeMap;

/// A contact yields as much as a node of its body under this share of the same force.
const YIELD: f64 = 0.01;

/// A violation below this is left to the next iteration, meters.
const NEGLIGIBLE: f64 = 2e-6;

/// Most rounds in which violated contacts join those that act.
const ROUNDS: usize = 3;

/// Surfaces that must not pass each other, or obstacles.
#[derive(Clone, Copy)]
pub struct Touching<'a> {
    /// The surface and its pairs.
    pub touch: &'a Touch,
    /// The pose that surface points are displaced from.
    pub at: &'a Configuration,
    /// Depth that is allowed at each surface point, meters.
    pub allowed: &'a [f64],
    /// In the frame of the body.
    pub obstacles: &'a [Obstacle],
    /// Time in which points that are too deep are pushed out, seconds.
    pub dt_secs: f64,
}

/// A contact as a row over free nodes.
#[derive(Debug, Clone)]
struct Row {
    nodes: Vec<(u32, DVec3)>,
    /// Room at the positions where it was found.
    room: f64,
    /// The node with the largest share.
    heaviest: u32,
}

/// The contacts found at some positions.
#[derive(Default)]
pub(super) struct Planes {
    pub contacts: Vec<Contact>,
    rows: Vec<Row>,
    /// Positions at which they were found.
    found_at: Vec<DVec3>,
    /// Nodes of all rows, ascending, and their paths.
    nodes: Vec<u32>,
    reach: Reach,
}

impl Touching<'_> {
    /// Contacts at `x`, with the allowed depth as part of their room.
    pub fn contacts(&self, tets: &[Stencil], x: &[DVec3]) -> Vec<Contact> {
        self.contacts_beyond(self.allowed, tets, x)
    }

    /// The allowed depth of every point in a step that starts at `x`: a point that is deeper there is pushed
    /// out at [`TouchOptions::out_speed`](crate::TouchOptions::out_speed), however often contacts are found.
    pub(super) fn allowed_from(&self, tets: &[Stencil], x: &[DVec3]) -> Vec<f64> {
        let out = self.touch.options().out_speed * self.dt_secs;
        let mut allowed = self.allowed.to_vec();
        for contact in self.contacts(tets, x).iter().filter(|c| !c.is_with_obstacle() && c.room < -out) {
            let point = contact.points[0] as usize;
            allowed[point] = allowed[point].max(self.allowed[point] - contact.room - out);
        }
        allowed
    }

    fn contacts_beyond(&self, allowed: &[f64], tets: &[Stencil], x: &[DVec3]) -> Vec<Contact> {
        let points = self.touch.positions(tets, self.at, x);
        let mut found = self.touch.find(&points, &self.at.surface);
        let allowed = |p: u32| allowed.get(p as usize).copied().unwrap_or(0.0);
        for contact in &mut found {
            let corners = contact.points[1..].iter().zip(&contact.coefficients[1..]);
            let there: f64 = corners.map(|(&p, c)| -c * allowed(p)).sum();
            contact.room += allowed(contact.points[0]).max(there);
        }
        found.extend(self.touch.find_obstacles(&points, self.obstacles));
        found
    }

    /// The contacts at `x` of points deeper than `allowed`, as rows.
    pub(super) fn planes(
        &self,
        allowed: &[f64],
        (tets, held): (&[Stencil], &[bool]),
        factor: &Factor,
        x: &[DVec3],
    ) -> Planes {
        let contacts = self.contacts_beyond(allowed, tets, x);
        let rows: Vec<Row> = contacts.iter().filter_map(|c| self.row(tets, held, c)).collect();
        let mut nodes: Vec<u32> = rows.iter().flat_map(|row| row.nodes.iter().map(|n| n.0)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let reach = if nodes.is_empty() { Reach::default() } else { factor.sweep().reach(&nodes) };
        Planes { contacts, rows, found_at: x.to_vec(), nodes, reach }
    }

    fn row(&self, tets: &[Stencil], held: &[bool], contact: &Contact) -> Option<Row> {
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
        let heavier = |a: &&(u32, DVec3), b: &&(u32, DVec3)| {
            a.1.length_squared().total_cmp(&b.1.length_squared()).then(b.0.cmp(&a.0))
        };
        let heaviest = nodes.iter().max_by(heavier)?.0;
        let room = self.touch.pushed_out(contact, self.dt_secs).room;
        Some(Row { nodes, room, heaviest })
    }
}

/// Workspace of [`Planes::push`].
#[derive(Default)]
pub(super) struct PlaneSpace {
    along: SweepSpace,
}

impl Planes {
    /// Between the substitutions for a free step from `x`: adds the loads of contacts that push. Returns how
    /// many do.
    pub fn push(
        &self,
        factor: &Factor,
        carriers: &[u32],
        x: &[DVec3],
        whole: &mut SweepSpace,
        space: &mut PlaneSpace,
    ) -> usize {
        if self.rows.is_empty() {
            return 0;
        }
        let mut moved = factor.sweep().values_at(whole, &self.reach, &self.nodes, &mut space.along);
        for (moved, &node) in moved.iter_mut().zip(&self.nodes) {
            *moved += x[node as usize] - self.found_at[node as usize];
        }
        let place = |node: u32| self.nodes.binary_search(&node).unwrap_or(0);
        let along = |row: &Row, moved: &[DVec3]| -> f64 {
            row.nodes.iter().map(|&(node, v)| v.dot(moved[place(node)])).sum()
        };
        let mut chosen: Vec<usize> = Vec::new();
        let (mut forces, mut now) = (Vec::new(), moved.clone());
        for _ in 0..ROUNDS {
            let violation = |i: usize| -(self.rows[i].room + along(&self.rows[i], &now));
            let mut worst: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
            for i in (0..self.rows.len()).filter(|i| !chosen.contains(i)) {
                let depth = violation(i);
                if depth > NEGLIGIBLE {
                    let best = worst.entry(self.rows[i].heaviest).or_insert((depth, i));
                    if depth > best.0 {
                        *best = (depth, i);
                    }
                }
            }
            if worst.is_empty() {
                break;
            }
            chosen.extend(worst.values().map(|(_, i)| *i));
            let picked: Vec<&Row> = chosen.iter().map(|&i| &self.rows[i]).collect();
            let wanted: Vec<f64> = picked.iter().map(|row| -(row.room + along(row, &moved))).collect();
            let Some((pushes, shifts)) = self.solve(factor, carriers, &picked, &wanted) else { break };
            forces = pushes;
            now = moved.iter().zip(shifts).map(|(a, b)| *a + b).collect();
        }
        let mut loads = vec![DVec3::ZERO; self.nodes.len()];
        let mut n_pushing = 0;
        for (&i, &force) in chosen.iter().zip(&forces).filter(|(_, force)| **force > 0.0) {
            n_pushing += 1;
            self.rows[i].nodes.iter().for_each(|&(node, v)| loads[place(node)] += v * force);
        }
        if n_pushing > 0 {
            let loads = self.nodes.iter().copied().zip(loads);
            factor.sweep().load(whole, &self.reach, loads, &mut space.along);
        }
        n_pushing
    }

    /// Forces of the rows, and how they move the nodes.
    fn solve(
        &self,
        factor: &Factor,
        carriers: &[u32],
        rows: &[&Row],
        wanted: &[f64],
    ) -> Option<(Vec<f64>, Vec<DVec3>)> {
        let mut own: Vec<u32> = rows.iter().flat_map(|row| row.nodes.iter().map(|n| n.0)).collect();
        own.sort_unstable();
        own.dedup();
        let columns = factor.columns(&own, carriers);
        let places: Vec<usize> =
            self.nodes.iter().map(|node| carriers.binary_search(node).unwrap_or(0)).collect();
        // How a unit force of each row moves all nodes of contacts.
        let shift = |row: &&Row| -> Vec<DVec3> {
            let mut shift = vec![DVec3::ZERO; places.len()];
            for &(node, v) in &row.nodes {
                let column = &columns[own.binary_search(&node).unwrap_or(0)];
                shift.iter_mut().zip(&places).for_each(|(sum, &k)| *sum += v * column[k]);
            }
            shift
        };
        let shifts: Vec<Vec<DVec3>> = rows.par_iter().with_min_len(4).map(shift).collect();
        let at: Vec<Vec<(usize, DVec3)>> = rows
            .iter()
            .map(|row| {
                let local = |&(node, v): &(u32, DVec3)| (self.nodes.binary_search(&node).unwrap_or(0), v);
                row.nodes.iter().map(local).collect()
            })
            .collect();
        let n = rows.len();
        let mut s = Matrix::symmetric(n, |i, j| at[i].iter().map(|&(k, v)| v.dot(shifts[j][k])).sum());
        for (i, row) in rows.iter().enumerate() {
            let heaviest = own.binary_search(&row.heaviest).unwrap_or(0);
            let place = carriers.binary_search(&row.heaviest).unwrap_or(0);
            s.column_mut(i)[i] += YIELD * columns[heaviest][place];
        }
        let gradient: Vec<f64> = wanted.iter().map(|r| -r).collect();
        let solution = solve_bounded(&s, &gradient, &vec![0.0; n], &vec![f64::INFINITY; n]).ok()?;
        let mut moved = vec![DVec3::ZERO; self.nodes.len()];
        for (shift, &force) in shifts.iter().zip(&solution.x).filter(|(_, force)| **force > 0.0) {
            moved.iter_mut().zip(shift).for_each(|(sum, v)| *sum += *v * force);
        }
        Some((solution.x, moved))
    }
}
