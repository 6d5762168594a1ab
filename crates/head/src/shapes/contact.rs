//! Keeps lips and the lining of the mouth off teeth and gums.
//!
//! A vertex inside a tooth is moved out against its own normal (the lining's normal points into the mouth,
//! where the teeth are). A vertex that is only too near is moved away from the nearest point. Each round
//! spreads the displacements over a few rings of neighbors, so that no crease is left.

use super::ground::{Field, Ground};
use glam::DVec3;
use risorius_mesh::query::winding::WindingNumbers;
use risorius_mesh::{Bvh, VertexNormals};

/// Distance that is kept from teeth and gums, mm.
const CLEARANCE: f64 = 0.4;
/// Rounds of pushing.
const ROUNDS: usize = 12;
/// Rings of neighbors over which a push is spread.
const SPREAD: usize = 5;
/// Largest depth in a tooth from which a vertex is still pushed out, mm.
const REACH: f64 = 6.0;
const SOLIDS: [&str; 4] = ["teeth_upper", "teeth_lower", "gums_upper", "gums_lower"];

/// A tooth row or a gum in some pose.
struct Solid {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    tree: Bvh,
    winding: WindingNumbers,
}

/// Teeth and gums that lips may touch, prepared for a head.
pub struct Contact<'g, 'h> {
    ground: &'g Ground<'h>,
    near: Vec<u32>,
    normals: VertexNormals,
    /// Clearance of each of `near`; that of the neutral if it is less.
    keep: Vec<f64>,
    triangles: [Vec<[u32; 3]>; 4],
}

impl<'g, 'h> Contact<'g, 'h> {
    /// Prepares the contact of a head.
    pub fn prepare(ground: &'g Ground<'h>) -> Self {
        let chosen = ground.marked(&["lips_upper", "lips_lower", "mouth_bag"]);
        let near = (0..ground.n_skin as u32).filter(|&v| chosen[v as usize]).collect();
        let normals = VertexNormals::prepare(ground.n_skin, &ground.triangles);
        let triangles = SOLIDS.map(|name| ground.part_triangles(name));
        let mut contact = Self { ground, near, normals, keep: Vec::new(), triangles };
        let solids = contact.solids(&ground.still());
        let room = |&v: &u32| least(&solids, ground.points[v as usize]).min(CLEARANCE);
        contact.keep = contact.near.iter().map(room).collect();
        contact
    }

    fn solids(&self, field: &Field) -> Vec<Solid> {
        let solid = |(name, triangles): (&&str, &Vec<[u32; 3]>)| {
            let range = self.ground.part(name);
            let positions: Vec<[f32; 3]> =
                range.map(|v| (self.ground.points[v] + field[v]).as_vec3().to_array()).collect();
            Solid {
                tree: Bvh::build(&positions, triangles),
                winding: WindingNumbers::prepare(&positions, triangles),
                positions: positions.iter().map(|p| glam::Vec3::from(*p).as_dvec3()).collect(),
                triangles: triangles.clone(),
            }
        };
        SOLIDS.iter().zip(&self.triangles).filter(|(_, t)| !t.is_empty()).map(solid).collect()
    }

    /// Pushes the skin of `field` out of teeth and gums as they are in `field`.
    pub(crate) fn off_teeth(&self, field: &mut Field) {
        let solids = self.solids(field);
        for _ in 0..ROUNDS {
            let pushes = self.pushes(field, &solids);
            if pushes.iter().all(Option::is_none) {
                return;
            }
            spread(self.ground, field, &pushes);
        }
    }

    /// Least distance of lips and lining from teeth and gums, mm; negative inside.
    #[cfg(test)]
    pub(crate) fn least_distance(&self, field: &Field) -> f64 {
        let solids = self.solids(field);
        let at = |&v: &u32| least(&solids, self.ground.points[v as usize] + field[v as usize]);
        self.near.iter().map(at).fold(f64::INFINITY, f64::min)
    }

    fn pushes(&self, field: &Field, solids: &[Solid]) -> Vec<Option<DVec3>> {
        let n = self.ground.n_skin;
        let posed: Vec<[f32; 3]> =
            (0..n).map(|v| (self.ground.points[v] + field[v]).as_vec3().to_array()).collect();
        let normals = self.normals.compute(&posed);
        let mut pushes = vec![None; n];
        for (&v, &keep) in self.near.iter().zip(&self.keep) {
            let p = self.ground.points[v as usize] + field[v as usize];
            let back = -glam::Vec3::from(normals[v as usize]).as_dvec3();
            for solid in solids {
                let push = solid.push(p, back, keep);
                let longer = |old: &DVec3| push.is_some_and(|new| new.length() > old.length());
                if pushes[v as usize].as_ref().is_none_or(longer) && push.is_some() {
                    pushes[v as usize] = push;
                }
            }
        }
        pushes
    }
}

/// Applies pushes and spreads them to neighbors.
pub fn spread(ground: &Ground, field: &mut Field, pushes: &[Option<DVec3>]) {
    let mut share: Vec<DVec3> = pushes.iter().map(|p| p.unwrap_or_default()).collect();
    for _ in 0..SPREAD {
        let mean = |v: usize| {
            let near = &ground.edges[v];
            near.iter().map(|&(w, _)| share[w as usize]).sum::<DVec3>() / near.len().max(1) as f64
        };
        share = (0..share.len()).map(|v| pushes[v].unwrap_or_else(|| mean(v))).collect();
    }
    field.iter_mut().zip(&share).for_each(|(f, s)| *f += *s);
}

/// Distance from the nearest of `solids`, mm; infinite when none is near.
fn least(solids: &[Solid], p: DVec3) -> f64 {
    solids.iter().filter_map(|s| s.nearest(p, REACH)).map(|n| n.0).fold(f64::INFINITY, f64::min)
}

impl Solid {
    /// Distance of `p` from the surface (negative inside) and the nearest point, if that is within `reach`.
    fn nearest(&self, p: DVec3, reach: f64) -> Option<(f64, DVec3)> {
        let near = self.tree.closest_point(p, reach)?;
        let distance = near.distance_sq.sqrt();
        let [a, b, c] = self.triangles[near.triangle as usize].map(|v| self.positions[v as usize]);
        let cosine = (b - a).cross(c - a).normalize_or_zero().dot((p - near.point) / distance.max(1e-9));
        // Near edges the side of one triangle is unreliable; the winding number is reliable but slower.
        let inside = if cosine.abs() > 0.9 { cosine < 0.0 } else { self.winding.at(p) > 0.5 };
        Some((if inside { -distance } else { distance }, near.point))
    }

    /// The displacement that moves `p` to a distance of `keep`; along `back` when inside.
    fn push(&self, p: DVec3, back: DVec3, keep: f64) -> Option<DVec3> {
        let (distance, point) = self.nearest(p, REACH)?;
        if distance < 0.0 {
            let out = self.tree.ray(p, back, REACH).map(|hit| back * (hit.distance + 0.5 * keep));
            // Toward the nearest surface point, where the normal leads deeper.
            let nearest = (point - p) * (1.0 + 0.5 * keep / (-distance).max(1e-6));
            return Some(out.filter(|o| o.length() < 3.0 * nearest.length() + 1.0).unwrap_or(nearest));
        }
        (distance < keep - 1e-3).then(|| (p - point) * ((keep - distance) / distance.max(1e-6)))
    }
}
