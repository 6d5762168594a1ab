//! A surface from a cloud of points, with or without normals.
//!
//! Points are averaged in cells of twice their usual spacing. Missing normals are those of planes through the
//! neighbors, turned to agree along the edges that agree most, from the outermost point inward [Hoppe92, sec.
//! 3.2 and 3.3]. The surface is the zero of the weighted mean of the distances to the points' planes
//! \[Kolluri05\], read off a grid: one vertex in each cell that the surface crosses, the mean of its crossings,
//! and a square across each crossed edge. Where no point is near there is no surface: holes stay holes.

use crate::FitError;
use crate::clean::unusable;
use crate::find::cloud::Cloud;
use glam::{DMat3, DVec3, IVec3};
use rayon::prelude::*;
use risorius_linalg::svd;
use risorius_mesh::{Bvh, TriMesh};
use std::collections::{BinaryHeap, HashMap};

/// Fewest points of a usable cloud.
const FEWEST: usize = 2000;

/// Cells for averaging, in usual distances of neighbors.
const CELL: f64 = 2.0;

/// Neighbors of a point are within this many cells.
const NEAR: f64 = 1.7;

/// The grid is this part of a cell.
const GRID: f64 = 1.0;

/// A cloud has at most this many points after averaging; cells grow until it has.
const MOST: usize = 250_000;

/// The surface of points; `normals` are of any length, and point outward. `name` is that of the scan.
pub fn surface(points: &[DVec3], normals: Option<&[DVec3]>, name: &str) -> Result<TriMesh, FitError> {
    let finite: Vec<usize> = (0..points.len()).filter(|&i| points[i].is_finite()).collect();
    if finite.len() < FEWEST {
        let problem = format!(
            "it has no faces and {} finite points; a point cloud of a face needs at least {FEWEST}",
            finite.len()
        );
        return Err(unusable(name, problem, &[]));
    }
    let own = normals.filter(|n| n.len() == points.len());
    let given: Vec<DVec3> =
        finite.iter().map(|&i| own.map_or(DVec3::ZERO, |n| n[i].normalize_or_zero())).collect();
    let points: Vec<DVec3> = finite.iter().map(|&i| points[i]).collect();
    let spacing = spacing(&points);
    if spacing <= 0.0 {
        return Err(unusable(name, "half of its points coincide; export the cloud again".into(), &[]));
    }
    let mut cell = CELL * spacing;
    let (mut places, mut directions) = averaged(&points, &given, cell);
    while places.len() > MOST {
        cell *= 1.3;
        (places, directions) = averaged(&points, &given, cell);
    }
    if own.is_none() {
        directions = oriented(&places, cell);
    }
    Ok(zero(&Cloud::from_points(places, directions, cell)))
}

/// The median distance of a point from its nearest neighbor, over at most a few thousand points.
fn spacing(points: &[DVec3]) -> f64 {
    let flat: Vec<[f32; 3]> = points.iter().map(|p| p.as_vec3().to_array()).collect();
    let tree = Bvh::of_points(&flat);
    let nearest = |v: usize| {
        let other = |_, [u, _, _]: [u32; 3]| u as usize != v;
        tree.closest_within(points[v], f64::INFINITY, other).map(|c| c.distance_sq.sqrt())
    };
    let step = (points.len() / 4000).max(1);
    let asked: Vec<usize> = (0..points.len()).step_by(step).collect();
    let mut all: Vec<f64> = asked.into_par_iter().filter_map(nearest).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// Means of points and normals in cells.
fn averaged(points: &[DVec3], normals: &[DVec3], cell: f64) -> (Vec<DVec3>, Vec<DVec3>) {
    let mut slots: HashMap<IVec3, usize> = HashMap::new();
    let mut sums: Vec<(DVec3, DVec3, f64)> = Vec::new();
    let origin = points.iter().copied().fold(DVec3::INFINITY, DVec3::min);
    for (p, n) in points.iter().zip(normals) {
        let key = ((*p - origin) / cell).floor().as_ivec3();
        let slot = *slots.entry(key).or_insert_with(|| {
            sums.push((DVec3::ZERO, DVec3::ZERO, 0.0));
            sums.len() - 1
        });
        let sum = &mut sums[slot];
        *sum = (sum.0 + *p, sum.1 + *n, sum.2 + 1.0);
    }
    sums.iter().map(|s| (s.0 / s.2, s.1.normalize_or_zero())).unzip()
}

/// Normals of planes through neighbors, all outward.
fn oriented(points: &[DVec3], cell: f64) -> Vec<DVec3> {
    let cloud = Cloud::from_points(points.to_vec(), vec![DVec3::ZERO; points.len()], cell);
    let around = |i: usize| {
        let mut list = Vec::new();
        cloud.near(points[i], NEAR * cell, |j, _| list.push(j as u32));
        list.sort_unstable();
        list
    };
    let neighbors: Vec<Vec<u32>> = (0..points.len()).into_par_iter().map(around).collect();
    let plane = |list: &Vec<u32>| {
        let mean = list.iter().map(|&j| points[j as usize]).sum::<DVec3>() / list.len() as f64;
        let mut s = DMat3::ZERO;
        for &j in list {
            let d = points[j as usize] - mean;
            s += DMat3::from_cols(d * d.x, d * d.y, d * d.z);
        }
        let found = svd(s);
        let least = (0..3).fold(0, |b, k| if found.s[k].abs() < found.s[b].abs() { k } else { b });
        found.u.col(least).normalize_or(DVec3::Z)
    };
    let mut normals: Vec<DVec3> = neighbors.par_iter().map(plane).collect();
    let middle = points.iter().sum::<DVec3>() / points.len() as f64;
    let mut far: Vec<u32> = (0..points.len() as u32).collect();
    let distance = |i: u32| points[i as usize].distance(middle);
    far.sort_by(|a, b| distance(*b).total_cmp(&distance(*a)).then(a.cmp(b)));
    let mut is_done = vec![false; points.len()];
    for first in far {
        let i = first as usize;
        if is_done[i] {
            continue;
        }
        if normals[i].dot(points[i] - middle) < 0.0 {
            normals[i] = -normals[i];
        }
        spread(i, &mut normals, &neighbors, &mut is_done);
    }
    normals
}

/// Turns the normals of everything connected with `first`, along the edges that agree most.
fn spread(first: usize, normals: &mut [DVec3], neighbors: &[Vec<u32>], is_done: &mut [bool]) {
    // Agreement as an integer, so that the order is total.
    let agreement = |a: DVec3, b: DVec3| (a.dot(b).abs() * 1e9) as u64;
    let mut heap: BinaryHeap<(u64, u32, u32)> = BinaryHeap::new();
    is_done[first] = true;
    let mut from = first;
    loop {
        for &j in &neighbors[from] {
            if !is_done[j as usize] {
                heap.push((agreement(normals[from], normals[j as usize]), j, from as u32));
            }
        }
        let next = loop {
            match heap.pop() {
                Some((_, j, by)) if !is_done[j as usize] => break Some((j as usize, by as usize)),
                Some(_) => {}
                None => break None,
            }
        };
        let Some((j, by)) = next else { break };
        if normals[j].dot(normals[by]) < 0.0 {
            normals[j] = -normals[j];
        }
        is_done[j] = true;
        from = j;
    }
}

/// The zero of the mean distance to the planes of a cloud.
fn zero(cloud: &Cloud) -> TriMesh {
    let size = GRID * cloud.cell;
    let origin = cloud.points.iter().copied().fold(DVec3::INFINITY, DVec3::min);
    let place = |k: IVec3| origin + k.as_dvec3() * size;
    let mut corners: Vec<IVec3> = Vec::new();
    for p in &cloud.points {
        let at = ((*p - origin) / size).floor().as_ivec3();
        for k in 0..64 {
            corners.push(at + IVec3::new(k % 4 - 1, k / 4 % 4 - 1, k / 16 - 1));
        }
        if corners.len() > 4_000_000 {
            sorted(&mut corners);
        }
    }
    sorted(&mut corners);
    let values: Vec<Option<f64>> = corners.par_iter().map(|k| height(cloud, place(*k))).collect();
    let known: HashMap<IVec3, f64> = corners.iter().zip(values).filter_map(|(k, v)| Some((*k, v?))).collect();
    let mut mesh = TriMesh::default();
    let mut number: HashMap<IVec3, u32> = HashMap::new();
    for &k in &corners {
        if let Some(p) = crossing(&known, k) {
            number.insert(k, mesh.positions.len() as u32);
            mesh.positions.push(origin + p * size);
        }
    }
    for &k in &corners {
        let Some(&a) = known.get(&k) else { continue };
        for axis in 0..3 {
            let [u, v] = [IVec3::AXES[(axis + 1) % 3], IVec3::AXES[(axis + 2) % 3]];
            let Some(&b) = known.get(&(k + IVec3::AXES[axis])) else { continue };
            if (a < 0.0) == (b < 0.0) {
                continue;
            }
            let cells = [k, k - u, k - u - v, k - v].map(|c| number.get(&c).copied());
            if let [Some(p), Some(q), Some(r), Some(s)] = cells {
                let square = [[p, q, r], [p, r, s]];
                mesh.triangles.extend(square.map(|t| if a < 0.0 { t } else { [t[0], t[2], t[1]] }));
            }
        }
    }
    mesh
}

fn sorted(list: &mut Vec<IVec3>) {
    list.sort_unstable_by_key(|k| k.to_array());
    list.dedup();
}

/// Signed distance of a place from the planes of the points around it; `None` without points.
fn height(cloud: &Cloud, p: DVec3) -> Option<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    let mut is_near = false;
    cloud.near(p, 2.2 * cloud.cell, |i, d| {
        let t = d / cloud.cell;
        let w = (-t * t).exp();
        sum += w * cloud.normals[i].dot(p - cloud.points[i]);
        total += w;
        is_near |= t < 1.8;
    });
    (is_near && total > 0.0).then(|| sum / total)
}

/// The mean of the crossings on the edges of a cell, in cells; `None` if there are none, or corners unknown.
fn crossing(known: &HashMap<IVec3, f64>, cell: IVec3) -> Option<DVec3> {
    let corner = |c: i32| IVec3::new(c & 1, c >> 1 & 1, c >> 2 & 1);
    let mut values = [0.0; 8];
    for (c, value) in values.iter_mut().enumerate() {
        *value = *known.get(&(cell + corner(c as i32)))?;
    }
    let (mut sum, mut n) = (DVec3::ZERO, 0.0);
    for a in 0..8usize {
        for axis in 0..3 {
            let b = a | 1 << axis;
            if a != b && (values[a] < 0.0) != (values[b] < 0.0) {
                let t = values[a] / (values[a] - values[b]);
                let (p, q) = (corner(a as i32).as_dvec3(), corner(b as i32).as_dvec3());
                sum += p.lerp(q, t);
                n += 1.0;
            }
        }
    }
    (n > 0.0).then(|| cell.as_dvec3() + sum / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points on a ball of radius 0.1, even along a spiral.
    fn ball(n: usize) -> Vec<DVec3> {
        let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
        let at = |k: usize| {
            let y = 1.0 - 2.0 * (k as f64 + 0.5) / n as f64;
            let (r, a) = ((1.0 - y * y).sqrt(), golden * k as f64);
            DVec3::new(r * a.cos(), y, r * a.sin()) * 0.1
        };
        (0..n).map(at).collect()
    }

    #[test]
    fn a_ball_of_points_gets_its_surface_wound_outward() {
        let points = ball(20_000);
        let normals: Vec<DVec3> = points.iter().map(|p| *p * 3.0).collect();
        for given in [None, Some(&normals[..])] {
            let mesh = surface(&points, given, "ball").unwrap();
            let off = mesh.positions.iter().map(|p| (p.length() - 0.1).abs()).fold(0.0, f64::max);
            assert!(off < 3e-4, "{off}");
            let outward = mesh.corners().all(|[a, b, c]| (b - a).cross(c - a).dot(a + b + c) > 0.0);
            assert!(outward && mesh.triangles.len() > 5000, "{}", mesh.triangles.len());
            let area: f64 = mesh.corners().map(|[a, b, c]| 0.5 * (b - a).cross(c - a).length()).sum();
            assert!((area / (0.04 * std::f64::consts::PI) - 1.0).abs() < 0.01, "{area}");
        }
    }

    #[test]
    fn a_hole_stays_and_few_points_are_refused() {
        let mut points = ball(20_000);
        points.retain(|p| p.z < 0.08);
        points.push(DVec3::NAN);
        let mesh = surface(&points, None, "cut").unwrap();
        assert!(mesh.positions.iter().all(|p| p.z < 0.085));
        let problem = surface(&points[..100], None, "few").unwrap_err().to_string();
        assert!(problem.contains("100 finite points"), "{problem}");
    }
}
