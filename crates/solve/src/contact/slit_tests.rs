//! A slit in a block, like a mouth: its two sides are pressed together and stay apart right up to its corner,
//! where they are close through the body.

use crate::fixtures::Body;
use crate::*;
use glam::DVec3;
use risorius_base::Rigid;
use risorius_base::progress::no_progress;

const DT: f64 = 1.0 / 300.0;

/// Edge of a cell, and the x at which the slit ends, meters.
const CELL: f64 = 2.5e-3;
const CORNER: f64 = 4.0 * CELL;

/// Cells along each axis; the slit is at half the height.
const CELLS: [usize; 3] = [12, 6, 3];

/// A block of soft tissue, held at the top and the bottom, with a slit of zero width from its corner to the
/// far end. Surface points are the nodes of the slit, first those of the upper side.
fn slit_block(options: TouchOptions) -> Body {
    let size = DVec3::new(CELLS[0] as f64, CELLS[1] as f64, CELLS[2] as f64) * CELL;
    let hold = |p: DVec3| p.y < 1e-9 || p.y > size.y - 1e-9;
    let mut body = Body::bar(CELLS, size, hold, 2000.0, 4000.0);
    let middle = 0.5 * size.y;
    let on_slit = |p: &DVec3| (p.y - middle).abs() < 1e-9 && p.x > CORNER + 1e-9;
    let lower: Vec<u32> =
        (0..body.mesh.nodes.len() as u32).filter(|&n| on_slit(&body.mesh.nodes[n as usize])).collect();
    // The elements above the slit get nodes of their own.
    let first = body.mesh.nodes.len() as u32;
    let twin = |n: u32| lower.binary_search(&n).map_or(n, |i| first + i as u32);
    for tet in &mut body.mesh.tets {
        let height: f64 = tet.iter().map(|&n| body.mesh.nodes[n as usize].y).sum::<f64>() / 4.0;
        if height > middle {
            *tet = tet.map(twin);
        }
    }
    let copies: Vec<DVec3> = lower.iter().map(|&n| body.mesh.nodes[n as usize]).collect();
    body.mesh.nodes.extend(copies);
    body.held.resize(body.mesh.nodes.len(), false);
    body.masses = energy::springs::lumped_masses(&body.mesh, |_| 1000.0);
    body.first.rest = body.mesh.nodes.clone();
    let upper: Vec<u32> = lower.iter().map(|&n| twin(n)).collect();
    let nodes: Vec<u32> = upper.iter().chain(&lower).copied().collect();
    let tet_of = |node: u32| body.mesh.tets.iter().position(|tet| tet.contains(&node)).unwrap();
    let hanging = |&node: &u32| {
        let tet = tet_of(node);
        TetAttachment {
            tet: tet as u32,
            weights: body.mesh.tets[tet].map(|n| f64::from(u8::from(n == node))),
        }
    };
    let attachments: Vec<TetAttachment> = nodes.iter().map(hanging).collect();
    let points: Vec<DVec3> = nodes.iter().map(|&n| body.mesh.nodes[n as usize]).collect();
    let triangles = sides(&points);
    let open = points
        .iter()
        .enumerate()
        .map(|(i, p)| *p + DVec3::Y * 0.4 * (p.x - CORNER) * if i < upper.len() { 1.0 } else { -1.0 });
    let rule = CollisionPair { points: (0..points.len() as u32).collect(), triangles, same_surface: true };
    let around = (&body.mesh.tets[..], &body.mesh.nodes[..], vec![points.clone(), open.collect()]);
    let areas = vec![CELL * CELL; points.len()];
    body.touch = Touch::prepare(attachments, areas, vec![rule], around, false, options).unwrap();
    body.first.surface = body.touch.posed(points);
    body
}

/// The squares of both sides of the slit; normals point into it.
fn sides(points: &[DVec3]) -> Vec<[u32; 3]> {
    let half = points.len() / 2;
    let mut triangles = Vec::new();
    for (side, points) in points.chunks(half).enumerate() {
        let at = |x: usize, z: usize| {
            let near = |p: &DVec3| (p.x - CELL * x as f64).abs() + (p.z - CELL * z as f64).abs() < 1e-6;
            (side * half + points.iter().position(near).unwrap()) as u32
        };
        for (x, z) in (5..CELLS[0]).flat_map(|x| (0..CELLS[2]).map(move |z| (x, z))) {
            let [a, b, c, d] = [at(x, z), at(x + 1, z), at(x + 1, z + 1), at(x, z + 1)];
            // Seen from below, as the upper side is; the lower one is turned over.
            let squares = [[a, b, c], [a, c, d]];
            triangles.extend(squares.map(|[a, b, c]| if side == 0 { [a, b, c] } else { [a, c, b] }));
        }
    }
    triangles
}

/// How far the upper side gets below the lower one at the points within `reach` of the corner, and how far
/// above it, meters, while both sides are accelerated toward each other; apart if `acceleration` is negative.
fn pressed(body: &Body, acceleration: f64, reach: f64) -> [f64; 2] {
    let mut moving = body.start(StepOptions::default());
    let middle = 0.5 * CELLS[1] as f64 * CELL;
    let push = |(p, m): (&DVec3, &f64)| DVec3::Y * (m * acceleration * (middle - p.y).signum());
    let mut forces: Vec<DVec3> = body.mesh.nodes.iter().zip(&body.masses).map(push).collect();
    let node = |a: &TetAttachment| {
        let corner = a.weights.iter().position(|w| *w == 1.0).unwrap();
        body.mesh.tets[a.tet as usize][corner]
    };
    let nodes: Vec<u32> = body.touch.attachments().iter().map(node).collect();
    let half = nodes.len() / 2;
    // Nodes of the slit are pushed across it.
    for (i, &n) in nodes.iter().enumerate() {
        let up = if i < half { -acceleration } else { acceleration };
        forces[n as usize] = DVec3::Y * (body.masses[n as usize] * up);
    }
    let around = Around::forces(&forces);
    let (mut deepest, mut widest): (f64, f64) = (0.0, 0.0);
    for _ in 0..60 {
        moving.step(&body.first, Rigid::IDENTITY, DT, &around, &no_progress).unwrap();
        let at = |i: usize| moving.positions()[nodes[i] as usize];
        for i in (0..half).filter(|&i| body.first.surface.points[i].x < CORNER + reach) {
            let gap = at(i).y - at(i + half).y;
            (deepest, widest) = (deepest.max(-gap), widest.max(gap));
        }
    }
    [deepest, widest]
}

#[test]
fn the_sides_of_a_slit_stay_apart_up_to_its_corner() {
    let options = TouchOptions::default();
    let without = TouchOptions { stiffness: 0.0, wall: f64::INFINITY, ..options };
    let [free, _] = pressed(&slit_block(without), 150.0, 1.1 * CELL);
    let [kept, _] = pressed(&slit_block(options), 150.0, 1.1 * CELL);
    assert!(free > 3e-4, "without contact the sides pass each other by {free} m");
    assert!(kept < 1.5 * options.wall, "{kept} m deep next to the corner");
}

#[test]
fn a_film_holds_the_sides_together_until_it_tears() {
    let film = |film: f64| slit_block(TouchOptions { film, ..TouchOptions::default() });
    let [_, free] = pressed(&film(0.0), -40.0, 1.0);
    let [_, held] = pressed(&film(1000.0), -40.0, 1.0);
    assert!(free > 1e-4 && held < 0.5 * free, "{free} m apart without a film, {held} m with it");
    let [_, free] = pressed(&film(0.0), -400.0, 1.0);
    let [_, torn] = pressed(&film(1000.0), -400.0, 1.0);
    assert!(torn > 0.8 * free, "{free} m apart without a film, {torn} m with a torn one");
}

#[test]
fn a_slit_that_nothing_presses_is_left_alone() {
    for film in [0.0, 1000.0] {
        let body = slit_block(TouchOptions { film, ..TouchOptions::default() });
        let mut still = body.start(StepOptions::default());
        for _ in 0..5 {
            let report =
                still.step(&body.first, Rigid::IDENTITY, DT, &Around::default(), &no_progress).unwrap();
            assert_eq!(report.contacts, 0);
        }
        assert_eq!(still.positions(), body.mesh.nodes, "positions changed");
    }
}
