//! The rig's skin in meters, closed where a defined inside and outside is needed.
//!
//! Skins may be open: at the neck, at lids that end on the eyeball, at lips that end behind the teeth. The
//! neck and the eyes need not be closed (generalized winding numbers span the hole, and the eyeball is cut
//! out). Open lips must be: without a mouth bag the flesh behind them would be one block that joins the lips.
//! So a boundary around the mouth gets a tunnel backward with a closed end. Each of its vertices keeps its
//! offset from the boundary vertex in front of it, in every pose.
//!
//! Triangles are flipped if the artist's surface is inside out as a whole.

use glam::{DMat3, DVec3, Vec3};
use risorius_mesh::surface::topology::boundary_loops;
use risorius_mesh::{Edges, Polygons};
use risorius_rig::Rig;

/// Length of a tunnel behind open lips, in meters: past the teeth, short of the throat.
const TUNNEL_DEPTH: f64 = 0.035;

/// Rings of a tunnel.
const TUNNEL_RINGS: usize = 5;

/// Skin of a rig, prepared for posing in meters.
#[derive(Debug, Clone)]
pub struct Skin {
    /// The rig vertex of each skin vertex; vertices of tunnels follow after these.
    pub rig_vertices: Vec<u32>,
    /// Triangles over skin vertices, wound outward; those of tunnels last.
    pub triangles: Vec<[u32; 3]>,
    /// Number of triangles of the artist's surface.
    pub n_own_triangles: usize,
    /// The artist's surface was inside out.
    pub was_inside_out: bool,
    /// Number of boundaries around the mouth that got a tunnel.
    pub n_tunnels: usize,
    axes: DMat3,
    tunnel: Vec<TunnelVertex>,
}

/// A vertex behind open lips: `position(anchor) + offset`.
#[derive(Debug, Clone, Copy)]
struct TunnelVertex {
    anchor: u32,
    offset: DVec3,
}

impl Skin {
    /// The skin made of the rig vertices `vertices` (ascending) and the faces between them. `mouth` is the
    /// center of the closed mouth and its breadth in meters, if known.
    pub fn prepare(rig: &Rig, vertices: &[u32], mouth: Option<(DVec3, f64)>) -> Self {
        let mut local = vec![u32::MAX; rig.n_vertices()];
        for (i, &v) in vertices.iter().enumerate() {
            local[v as usize] = i as u32;
        }
        let inside = |t: &[u32; 3]| t.iter().all(|&v| local[v as usize] != u32::MAX);
        let triangles: Vec<[u32; 3]> =
            rig.triangles().into_iter().filter(inside).map(|t| t.map(|v| local[v as usize])).collect();
        let mut skin = Self {
            rig_vertices: vertices.to_vec(),
            n_own_triangles: triangles.len(),
            triangles,
            was_inside_out: false,
            n_tunnels: 0,
            axes: rig.space.si_from_file(),
            tunnel: Vec::new(),
        };
        let neutral = skin.positions(&rig.neutral);
        skin.turn_outwards(&neutral);
        if let Some((center, breadth)) = mouth {
            skin.add_tunnels(&neutral, center, breadth);
        }
        skin
    }

    /// Number of vertices, tunnels included.
    pub fn n_vertices(&self) -> usize {
        self.rig_vertices.len() + self.tunnel.len()
    }

    /// Skin vertices in meters for a pose of the whole rig in file units.
    pub fn positions(&self, rig_positions: &[[f32; 3]]) -> Vec<DVec3> {
        let mut out = Vec::with_capacity(self.n_vertices());
        out.extend(
            self.rig_vertices.iter().map(|&v| self.axes * Vec3::from(rig_positions[v as usize]).as_dvec3()),
        );
        for t in &self.tunnel {
            out.push(out[t.anchor as usize] + t.offset);
        }
        out
    }

    /// Converts a displacement in file units to meters.
    pub fn displacement(&self, offset: [f32; 3]) -> DVec3 {
        self.axes * Vec3::from(offset).as_dvec3()
    }

    /// Orients triangles outward. The flux of the position field relative to the surface's center gives the
    /// sign of the volume even for open surfaces.
    fn turn_outwards(&mut self, positions: &[DVec3]) {
        let middle = positions.iter().sum::<DVec3>() / positions.len().max(1) as f64;
        let flux: f64 = self
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| positions[v as usize] - middle);
                a.dot(b.cross(c))
            })
            .sum();
        if flux < 0.0 {
            self.was_inside_out = true;
            for t in &mut self.triangles {
                t.swap(1, 2);
            }
        }
    }

    /// Adds a tunnel to boundaries whose center is near the mouth and whose breadth is similar to it.
    fn add_tunnels(&mut self, positions: &[DVec3], mouth: DVec3, breadth: f64) {
        let faces = Polygons::from_triangles(&self.triangles);
        for border in boundary_loops(&Edges::of(&faces)) {
            if !border.closed || border.vertices.len() < 6 {
                continue;
            }
            let points: Vec<DVec3> = border.vertices.iter().map(|&v| positions[v as usize]).collect();
            let middle = points.iter().sum::<DVec3>() / points.len() as f64;
            let reach = points.iter().map(|p| (p.x - middle.x).abs()).fold(0.0, f64::max);
            let near =
                (middle - mouth).length() < 0.6 * breadth && reach < 0.9 * breadth && reach > 0.2 * breadth;
            if near {
                self.add_tunnel(&border.vertices, &points, middle);
                self.n_tunnels += 1;
            }
        }
    }

    /// Rings behind the boundary, each slightly narrower, and a strip across the end. The boundary is ordered
    /// as its faces traverse it, so the tunnel's faces traverse it in the opposite direction.
    fn add_tunnel(&mut self, border: &[u32], points: &[DVec3], middle: DVec3) {
        let n = border.len();
        let mut ring: Vec<u32> = border.to_vec();
        for k in 1..=TUNNEL_RINGS {
            let share = k as f64 / TUNNEL_RINGS as f64;
            let first = self.n_vertices() as u32;
            for (&anchor, &p) in border.iter().zip(points) {
                let inwards = DVec3::new(middle.x - p.x, 0.0, 0.0) * (0.25 * share);
                self.tunnel
                    .push(TunnelVertex { anchor, offset: inwards - DVec3::Z * (TUNNEL_DEPTH * share) });
            }
            let next: Vec<u32> = (0..n as u32).map(|i| first + i).collect();
            for i in 0..n {
                let j = (i + 1) % n;
                self.triangles.push([ring[j], ring[i], next[i]]);
                self.triangles.push([ring[j], next[i], next[j]]);
            }
            ring = next;
        }
        // A strip across the end instead of a fan to one anchored point: it stays between its own neighbors
        // when the upper and the lower half move apart.
        for (i, j) in (0..n).map(|i| (i, n - 1 - i)).take_while(|(i, j)| i + 1 < *j) {
            self.triangles.push([ring[i + 1], ring[i], ring[j]]);
            if i + 1 < j - 1 {
                self.triangles.push([ring[i + 1], ring[j], ring[j - 1]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_mesh::TriMesh;
    use risorius_rig::Part;

    /// A sphere-like cap with a twelve-sided hole at its front.
    fn holed(flip: bool) -> Rig {
        let mut positions = vec![[0.0, 0.0, -0.05]];
        let mut triangles = Vec::new();
        let n = 12u32;
        for (radius, z) in [(0.05, -0.03), (0.06, 0.0), (0.025, 0.05)] {
            for i in 0..n {
                let a = std::f32::consts::TAU * i as f32 / n as f32;
                positions.push([radius * a.cos(), radius * a.sin() * 0.5, z]);
            }
        }
        for i in 0..n {
            let j = (i + 1) % n;
            triangles.push([0, 1 + j, 1 + i]);
            for ring in 0..2 {
                let (a, b) = (1 + ring * n, 1 + (ring + 1) * n);
                triangles.push([a + i, a + j, b + i]);
                triangles.push([a + j, b + j, b + i]);
            }
        }
        if flip {
            triangles.iter_mut().for_each(|t| t.swap(0, 1));
        }
        let count = positions.len();
        let part = Part {
            name: "skin".into(),
            vertices: 0..count,
            rig_vertex: (0..count as u32).collect(),
            faces: Polygons::from_triangles(&triangles),
            ..Part::default()
        };
        Rig { neutral: positions, parts: vec![part], ..Rig::default() }
    }

    #[test]
    fn open_lips_get_a_tunnel_that_closes_the_skin() {
        for flip in [false, true] {
            let rig = holed(flip);
            let vertices: Vec<u32> = (0..rig.n_vertices() as u32).collect();
            let skin = Skin::prepare(&rig, &vertices, Some((DVec3::new(0.0, 0.0, 0.05), 0.05)));
            assert_eq!((skin.n_tunnels, skin.was_inside_out), (1, flip));
            let edges = Edges::of(&Polygons::from_triangles(&skin.triangles));
            assert!(edges.boundary().is_empty(), "still open");
            let surface =
                TriMesh { positions: skin.positions(&rig.neutral), triangles: skin.triangles.clone() };
            let solid = {
                let open = Skin::prepare(&rig, &vertices, None);
                TriMesh { positions: open.positions(&rig.neutral), triangles: open.triangles }.volume()
            };
            assert!(surface.volume() > 0.0 && surface.volume() < solid, "the tunnel takes room away");
        }
    }
}
