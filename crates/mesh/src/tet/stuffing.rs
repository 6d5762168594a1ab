//! Tetrahedral meshing of a domain given by a sign function: isosurface stuffing [Labelle07, all of it].
//!
//! A graded lattice ([`crate::tet::lattice`]) covers the domain and is refined until no cube is larger than
//! the requested size. The crossings of its edges with the boundary are found by bisection (`crossings.rs`).
//! Nodes snap to them, and the remaining tets are cut (`cut.rs`). Where an edge crosses the boundary twice,
//! the cubes around it are refined first, so that gaps of about 0.6 of the requested size stay open and
//! sheets of that thickness stay whole. In: a [`Domain`] and a box around the part to mesh. Out: positively
//! oriented tets, boundary nodes on the zero set to 1/4096 of an edge. Time: ten to thirty evaluations of the
//! domain for each node, on all threads; the result is bitwise the same for any number of threads. Limits:
//! features thinner than a third of the local size may be bridged or lost (`MeshingReport::n_doubtful` counts
//! the edges); creases and corners of the domain are rounded off by about a fifth of the local size.

use crate::TetMesh;
use crate::tet::clean::{drop_small_pieces, part_at_nodes};
use crate::tet::collapse::collapse_short;
use crate::tet::crossings::{Signs, crossings, doubtful};
use crate::tet::cut::cut;
use crate::tet::domain::Domain;
use crate::tet::improve::{ImproveOptions, onto_zero, peel, smooth};
use crate::tet::lattice::Lattice;
use crate::tet::octree::{Decision, MAX_CUBES, MAX_TOTAL, Octree};
use crate::tet::swap::swap_poor;
use crate::tet::tet_mesh::{edges, edges_of};
use glam::{DVec3, UVec3};
use rayon::prelude::*;
use risorius_base::progress::{Cancelled, Progress, tick};

/// Edges shorter than this fraction of the mean edge around them are collapsed.
const SHORT: f64 = 0.25;
/// Boundary tets that still have smaller dihedral angles than this after improving are removed.
const PEEL_DEG: f64 = 10.0;
/// Largest logarithm of the ratio of the number of nodes to the target.
const CLOSE_ENOUGH: f64 = 0.1;
/// Largest numbers of full runs and of estimates to reach a target number of nodes.
const FULL_RUNS: usize = 8;
const ESTIMATES: usize = 4;
/// Ratio of actual to estimated nodes, on heads.
const TYPICAL: f64 = 1.6;

/// How to fill a domain.
#[derive(Debug, Clone, PartialEq)]
pub struct TetOptions {
    /// Target number of nodes, reached within a tenth by scaling the sizes; `None` does not scale them.
    pub target_nodes: Option<usize>,
    /// Initial scale of the sizes in the search for the target number of nodes; estimated if `None`.
    pub first_scale: Option<f64>,
    /// How many times (0 to 3) cubes may be halved below the requested size where edges cross the boundary
    /// twice. 1 keeps gaps of 0.6 of the size open; each further step halves that and adds nodes around all
    /// creases.
    pub gap_levels: u8,
    /// How the tets are improved afterwards; `None` leaves the cut lattice as it is.
    pub improve: Option<ImproveOptions>,
    /// Components with less than this fraction of the total volume are dropped; 0 keeps all.
    pub least_piece: f64,
}

impl Default for TetOptions {
    fn default() -> Self {
        Self {
            target_nodes: None,
            first_scale: None,
            gap_levels: 1,
            improve: Some(ImproveOptions::default()),
            least_piece: 0.005,
        }
    }
}

/// Result of [`tetrahedralize`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meshed {
    /// The tets.
    pub mesh: TetMesh,
    /// For each node, whether it was put on the boundary of the domain.
    pub on_boundary: Vec<bool>,
    /// Statistics of the run.
    pub report: MeshingReport,
}

/// Statistics of [`tetrahedralize`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeshingReport {
    /// Factor on the sizes that reached the target number of nodes.
    pub scale: f64,
    /// Nodes of the lattice.
    pub n_lattice_nodes: usize,
    /// Cubes refined because an edge crossed the boundary more than once.
    pub n_refined: usize,
    /// Edges that still cross more than once: features too thin for `gap_levels`.
    pub n_doubtful: usize,
    /// Crossings close to a node that could not be snapped there.
    pub n_unsnapped: usize,
    /// Nodes copied to separate parts that met in a single node.
    pub n_parted: usize,
    /// Short edges collapsed.
    pub n_collapsed: usize,
    /// Faces and edges swapped.
    pub n_swapped: usize,
    /// Flat tets removed from the boundary.
    pub n_peeled: usize,
    /// Small components dropped.
    pub n_dropped: usize,
}

/// Why there are no tets.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TetError {
    /// The box is empty or not finite.
    #[error("the box from {min} to {max} is empty or not finite; give the bounds of the domain")]
    Bounds {
        /// As given.
        min: DVec3,
        /// As given.
        max: DVec3,
    },
    /// A size is not usable.
    #[error("the requested size at {at} is {size}; it must be positive and finite")]
    Size {
        /// Where.
        at: DVec3,
        /// As given.
        size: f64,
    },
    /// Sizes are tiny compared with the box.
    #[error(
        "the largest size, {size} m, needs more than {MAX_CUBES} cubes along {extent} m; check the units"
    )]
    TooFine {
        /// Largest size.
        size: f64,
        /// Largest extent of the box.
        extent: f64,
    },
    /// The lattice would not fit in memory.
    #[error(
        "sizes this small in a box this large need over {MAX_TOTAL} cubes; use larger sizes or fewer nodes"
    )]
    TooMany,
    /// Nothing was inside.
    #[error(
        "no point of the lattice is inside the domain; check the sign of the domain, or use smaller sizes"
    )]
    Empty,
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Fills the part of `domain` within the box `bounds` (lowest and highest corner) with tets.
pub fn tetrahedralize(
    domain: &dyn Domain,
    bounds: [DVec3; 2],
    options: &TetOptions,
    progress: &Progress,
) -> Result<Meshed, TetError> {
    let [min, max] = bounds;
    if !(min.is_finite() && max.is_finite() && min.cmplt(max).all()) {
        return Err(TetError::Bounds { min, max });
    }
    let job = Job {
        signs: Signs { domain, min, max },
        largest: largest_size(domain, min, max)?,
        options,
        progress,
    };
    let mut meshed = match options.target_nodes {
        None => job.stuff(1.0, 1.0),
        Some(target) => job.stuff_to(target),
    }?;
    if let Some(improve) = &options.improve {
        job.improve(&mut meshed, improve)?;
    }
    Ok(meshed)
}

/// The largest of sizes sampled over the box.
fn largest_size(domain: &dyn Domain, min: DVec3, max: DVec3) -> Result<f64, TetError> {
    const N: u32 = 12;
    let mut largest: f64 = 0.0;
    for i in 0..(N + 1).pow(3) {
        let share =
            UVec3::new(i % (N + 1), i / (N + 1) % (N + 1), i / (N + 1).pow(2)).as_dvec3() / f64::from(N);
        let at = min + (max - min) * share;
        let size = domain.size(at);
        if !(size > 0.0 && size.is_finite()) {
            return Err(TetError::Size { at, size });
        }
        largest = largest.max(size);
    }
    Ok(largest.min((max - min).max_element()))
}

/// Search for the logarithm x of the scale at which y, the logarithm of nodes over target nodes, is 0.
struct Search {
    /// Last x and y with too many nodes (`fine`) and with too few (`coarse`).
    fine: Option<(f64, f64)>,
    coarse: Option<(f64, f64)>,
    /// dy/dx when only one side is known: the number of nodes falls with the cube of the scale, with its
    /// square where all is surface, and more slowly where gaps are refined.
    slope: f64,
}

impl Search {
    /// The next x after `y` was found at `x`.
    fn next(&mut self, x: f64, y: f64) -> f64 {
        *(if y > 0.0 { &mut self.fine } else { &mut self.coarse }) = Some((x, y));
        match (self.fine, self.coarse) {
            // The number of nodes jumps with the scale, so the interpolation is kept away from both ends.
            (Some((x0, y0)), Some((x1, y1))) => x0 + (x1 - x0) * (y0 / (y0 - y1)).clamp(0.2, 0.8),
            _ => x - (y / self.slope).clamp(-1.0, 1.0) * 1.1,
        }
    }
}

/// A lattice with the side of each node and its edges.
struct Signed {
    lattice: Lattice,
    inside: Vec<bool>,
    edges: Vec<[u32; 2]>,
}

/// Results of an earlier lattice of the same octree, by node keys.
#[derive(Default)]
struct Known {
    keys: Vec<u64>,
    inside: Vec<bool>,
    edges: Vec<[u64; 2]>,
    doubt: Vec<bool>,
}

impl Known {
    fn doubt(&self, lattice: &Lattice, edge: [u32; 2]) -> Option<bool> {
        let keys = edge.map(|v| lattice.keys[v as usize]);
        self.edges.binary_search(&keys).ok().map(|i| self.doubt[i])
    }
}

/// One domain being filled.
struct Job<'a> {
    signs: Signs<'a>,
    largest: f64,
    options: &'a TetOptions,
    progress: &'a Progress<'a>,
}

impl Job<'_> {
    /// The octree for sizes multiplied by `scale`, from cubes of `grid` times the largest size.
    fn octree(&self, grid: f64, scale: f64) -> Result<Octree, TetError> {
        let Signs { domain, min, max } = self.signs;
        let side = self.largest * grid;
        let extent = max - min;
        let cubes = (extent / side).ceil() + 2.0;
        if cubes.max_element() > f64::from(MAX_CUBES) || cubes.element_product() > MAX_TOTAL as f64 {
            return Err(TetError::TooFine { size: side, extent: extent.max_element() });
        }
        // One spare cube on all sides: the inside never reaches the border of the grid.
        let origin = min.midpoint(max) - 0.5 * cubes * side;
        let decide = |center: DVec3, side: f64| {
            if self.signs.side_of_ball(center, 0.5 * 3f64.sqrt() * side) == Some(false) {
                return Decision::Outside;
            }
            let corner =
                |i: u32| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) - 0.5;
            let mut asked = (0..8).map(|i| center + side * corner(i)).chain([center]);
            // The tolerance keeps rounding from splitting cubes where sizes are uniform.
            let too_coarse = |p: DVec3| side > scale * domain.size(p.clamp(min, max)) * (1.0 + 1e-9);
            if asked.any(too_coarse) { Decision::Split } else { Decision::Keep }
        };
        Octree::grow(origin, side, cubes.as_uvec3(), self.options.gap_levels, &decide)
            .ok_or(TetError::TooMany)
    }

    fn stuff(&self, grid: f64, scale: f64) -> Result<Meshed, TetError> {
        tick(self.progress, "lattice", 0.0)?;
        let mut tree = self.octree(grid, scale)?;
        let mut report = MeshingReport { scale, ..MeshingReport::default() };
        let Signed { lattice, inside, edges } = self.refine(&mut tree, &mut report)?;
        tick(self.progress, "crossings", 0.0)?;
        let crossings = crossings(&self.signs, &lattice.nodes, &inside, &edges);
        tick(self.progress, "cut", 0.0)?;
        let mut found = cut(&lattice, &inside, &crossings, |p| self.signs.inside(p));
        let copies = part_at_nodes(&mut found.mesh);
        found.on_boundary.extend(copies.iter().map(|_| true));
        if self.options.improve.is_some() {
            report.n_collapsed = collapse_short(&mut found.mesh, &found.on_boundary, SHORT);
        }
        report.n_dropped = drop_small_pieces(&mut found.mesh, self.options.least_piece);
        let former = found.mesh.drop_unused_nodes();
        (report.n_parted, report.n_unsnapped) = (copies.len(), found.n_unsnapped);
        if found.mesh.tets.is_empty() {
            return Err(TetError::Empty);
        }
        let on_boundary = former.iter().map(|&v| found.on_boundary[v as usize]).collect();
        Ok(Meshed { mesh: found.mesh, on_boundary, report })
    }

    fn improve(&self, meshed: &mut Meshed, options: &ImproveOptions) -> Result<(), TetError> {
        // Reach from the sizes before smoothing: a node that strays must not be projected onto another part
        // of the boundary.
        let neighbors = meshed.mesh.neighbors();
        let nodes = meshed.mesh.nodes.clone();
        let sum =
            |v: usize| neighbors.of(v).iter().map(|&u| nodes[u as usize].distance(nodes[v])).sum::<f64>();
        let reaches: Vec<f64> =
            (0..nodes.len()).map(|v| sum(v) / neighbors.of(v).len().max(1) as f64).collect();
        let project =
            |v: u32, p: DVec3, normal: DVec3| onto_zero(&self.signs, p, normal, 0.5 * reaches[v as usize]);
        let Meshed { mesh, on_boundary, report } = meshed;
        smooth(mesh, on_boundary, Some(&project), options, self.progress)?;
        report.n_collapsed += collapse_short(mesh, on_boundary, SHORT);
        report.n_swapped = swap_poor(mesh, options.enough_on_boundary_deg);
        smooth(mesh, on_boundary, Some(&project), options, self.progress)?;
        report.n_swapped += swap_poor(mesh, options.enough_on_boundary_deg);
        report.n_peeled = peel(mesh, PEEL_DEG);
        let former = mesh.drop_unused_nodes();
        *on_boundary = former.iter().map(|&v| on_boundary[v as usize]).collect();
        Ok(())
    }

    /// Scales sizes until the number of nodes is near `target`. Lattice nodes are counted first, which is
    /// cheap but ignores gaps; full runs follow. Where the number jumps because all cubes shift with the
    /// scale, the grid is fixed and only the sizes are scaled, which splits one cube after the other.
    fn stuff_to(&self, target: usize) -> Result<Meshed, TetError> {
        let target = target.max(20) as f64;
        let mut x = match self.options.first_scale.filter(|s| *s > 0.0 && s.is_finite()) {
            Some(scale) => scale,
            None => self.scale_for(target / TYPICAL, self.first_scale(target))?,
        }
        .ln();
        let mut search = Search { fine: None, coarse: None, slope: -1.5 };
        let mut grid = None;
        let mut best: Option<(f64, Meshed)> = None;
        for run in 0..FULL_RUNS {
            let meshed = match self.stuff(grid.unwrap_or(x).exp(), x.exp()) {
                // So coarse that no tet is left.
                Err(TetError::Empty) => {
                    x -= 0.7;
                    continue;
                }
                other => other?,
            };
            let y = (meshed.mesh.nodes.len() as f64 / target).ln();
            if best.as_ref().is_none_or(|(off, _)| y.abs() < *off) {
                best = Some((y.abs(), meshed));
            }
            if y.abs() < CLOSE_ENOUGH {
                break;
            }
            x = search.next(x, y);
            if let (Some(coarse), true) = (search.coarse, run + 1 == FULL_RUNS / 2) {
                grid = Some(coarse.0);
                search.fine = None;
                x = search.next(coarse.0, coarse.1);
            }
        }
        best.map(|(_, meshed)| meshed).ok_or(TetError::Empty)
    }

    /// The scale at which a lattice of the requested sizes, with two nodes per cube, has about `target` nodes
    /// inside.
    fn first_scale(&self, target: f64) -> f64 {
        const N: u32 = 16;
        let Signs { domain, min, max } = self.signs;
        let extent = max - min;
        let nodes_at = |i: u32| {
            let share = (UVec3::new(i % N, i / N % N, i / N / N).as_dvec3() + 0.5) / f64::from(N);
            let p = min + extent * share;
            if self.signs.inside(p) { 2.0 / domain.size(p).powi(3) } else { 0.0 }
        };
        // Sizes are rounded down to powers of two of the largest, which gives two to three times as many
        // nodes.
        let counts: Vec<f64> = (0..N.pow(3)).into_par_iter().map(nodes_at).collect();
        let n = 2.5 * counts.iter().sum::<f64>() * extent.element_product() / f64::from(N.pow(3));
        if n > 0.0 { (n / target).cbrt() } else { 1.0 }
    }

    /// A scale at which the estimate is about `target`, searched from `scale`.
    fn scale_for(&self, target: f64, scale: f64) -> Result<f64, TetError> {
        let mut x = scale.ln();
        let mut search = Search { fine: None, coarse: None, slope: -2.5 };
        for _ in 0..ESTIMATES {
            let y = (self.estimate(x.exp())? / target).ln();
            if y.abs() < CLOSE_ENOUGH {
                break;
            }
            x = search.next(x, y);
        }
        Ok(x.exp())
    }

    /// Estimated number of nodes: lattice nodes inside, plus half of the outside nodes of tets with a node
    /// inside.
    fn estimate(&self, scale: f64) -> Result<f64, TetError> {
        tick(self.progress, "sizes", 0.0)?;
        let lattice = Lattice::of(&self.octree(scale, scale)?);
        let inside = self.signs_of(&lattice, &Known::default());
        let mut at_boundary = vec![false; inside.len()];
        for tet in lattice.tets.iter().filter(|tet| tet.iter().any(|&v| inside[v as usize])) {
            tet.iter().for_each(|&v| at_boundary[v as usize] = true);
        }
        let count = |i: bool| inside.iter().zip(&at_boundary).filter(|(a, b)| **a == i && **b).count() as f64;
        Ok((count(true) + 0.5 * count(false)).max(1.0))
    }

    /// Splits cubes around edges that cross the boundary more than once, as far as the options allow.
    fn refine(&self, tree: &mut Octree, report: &mut MeshingReport) -> Result<Signed, TetError> {
        let mut known = Known::default();
        loop {
            tick(self.progress, "gaps", 0.0)?;
            let lattice = Lattice::of(tree);
            let inside = self.signs_of(&lattice, &known);
            let edges = edges(&lattice.tets);
            let doubt = doubtful(&self.signs, &lattice.nodes, &inside, &edges, |e| known.doubt(&lattice, e));
            report.n_doubtful = doubt.iter().filter(|&&d| d).count();
            report.n_lattice_nodes = lattice.nodes.len();
            let in_doubt = |e: &[u32; 2]| doubt[edges.partition_point(|x| x < e)];
            let mut marked: Vec<u32> = if report.n_doubtful == 0 {
                Vec::new()
            } else {
                let at_doubt = |(tet, _): &(&[u32; 4], &[u32; 2])| edges_of(**tet).iter().any(in_doubt);
                lattice
                    .tets
                    .par_iter()
                    .zip(&lattice.cubes)
                    .filter(at_doubt)
                    .flat_map_iter(|(_, c)| *c)
                    .collect()
            };
            marked.sort_unstable();
            marked.dedup();
            let n_split = tree.split_marked(&marked);
            report.n_refined += n_split;
            if n_split == 0 {
                return Ok(Signed { lattice, inside, edges });
            }
            let edges = edges.iter().map(|e| e.map(|v| lattice.keys[v as usize])).collect();
            known = Known { keys: lattice.keys, inside, edges, doubt };
        }
    }

    /// The sign at each node of a lattice, taken from `known` where available.
    fn signs_of(&self, lattice: &Lattice, known: &Known) -> Vec<bool> {
        let sign = |(key, &p): (&u64, &DVec3)| match known.keys.binary_search(key) {
            Ok(i) => known.inside[i],
            Err(_) => self.signs.inside(p),
        };
        lattice.keys.par_iter().zip(&lattice.nodes).with_min_len(64).map(sign).collect()
    }
}
