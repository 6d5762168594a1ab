//! The shell and its properties, learning and playing, edits and transfers.

mod changing;
mod playing;
mod shell;

use glam::DVec3;
use risorius_detail::Examples;
use risorius_mesh::FileMesh;

/// A curved sheet of n x n vertices, 1 wide.
pub fn sheet(n: u32) -> FileMesh {
    let coordinate = |i: u32| i as f32 / (n - 1) as f32;
    let positions = (0..n * n).map(|v| {
        let (x, y) = (coordinate(v % n), coordinate(v / n));
        [x, y, 0.15 * (2.0 * x).sin() + 0.1 * (3.0 * y).cos()]
    });
    let quad = |v: u32| [[v, v + 1, v + n + 1], [v, v + n + 1, v + n]];
    let corners = (0..n * (n - 1)).filter(|v| v % n != n - 1);
    FileMesh { positions: positions.collect(), triangles: corners.flat_map(quad).collect() }
}

/// Handles on a grid of k x k over a sheet of n x n.
pub fn handles(n: u32, k: u32) -> Vec<u32> {
    let at = |i: u32| (i * (n - 1)) / (k - 1);
    (0..k * k).map(|h| at(h / k) * n + at(h % k)).collect()
}

/// Vertex positions in double precision.
pub fn points(positions: &[[f32; 3]]) -> Vec<DVec3> {
    positions.iter().map(|p| glam::Vec3::from(*p).as_dvec3()).collect()
}

/// The largest distance between corresponding points.
pub fn apart(a: &[DVec3], b: &[DVec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

/// The sheet pressed together at the left and at the right, each with wrinkles of its own.
pub fn pressed(mesh: &FileMesh, [left, right]: [f32; 2]) -> Vec<[f32; 3]> {
    let side = |x: f32| (4.0 * x - 2.0).clamp(-1.0, 1.0) * 0.5 + 0.5;
    let one = |&[x, y, z]: &[f32; 3]| {
        let (l, r) = (left * (1.0 - side(x)), right * side(x));
        let press = 0.25 * (l + r) * (y - 0.5);
        let wrinkle =
            0.02 * (l * l + 0.3 * l) * (40.0 * y).sin() + 0.02 * (r * r + 0.3 * r) * (40.0 * y).cos();
        [x, y - press, z + wrinkle]
    };
    mesh.positions.iter().map(one).collect()
}

/// Examples of [`pressed`].
pub fn examples(mesh: &FileMesh, list: &[[f32; 2]]) -> Examples {
    Examples {
        names: list.iter().map(|[l, r]| format!("{l} {r}")).collect(),
        positions: list.iter().map(|&amounts| pressed(mesh, amounts)).collect(),
        plain: Vec::new(),
    }
}
