//! Detail as images in texture space: displacement and normal maps, and painted images sampled at vertices.
//!
//! Triangles are rasterized in texture space once ([`Atlas`]); a frame then only interpolates three values
//! per texel. Tangents point along u, bitangents along decreasing v (up in the picture), both orthogonal to
//! the normal of the plain surface; corners that share a vertex and a texture coordinate share their tangent.
//! UV islands are dilated by a margin, so that texture filtering at seams reads no background.

use crate::frames::Fans;
use glam::{Vec2, Vec3, Vec3A};
use rayon::prelude::*;
use std::collections::HashMap;

/// Texels by which islands are dilated.
const MARGIN: usize = 4;

/// Largest mean number of visits per texel; one or two are usual where triangles do not overlap.
const MOST_VISITS: usize = 50;

/// A texel without a triangle.
const NOWHERE: u32 = u32::MAX;

/// Triangles rasterized in texture space.
pub struct Atlas {
    /// Width and height.
    pub size: [usize; 2],
    /// Texels covered by more than one triangle; the first triangle is used.
    pub n_overlapping: usize,
    /// Triangles that are not drawn: larger than the picture, or too many that overlap.
    pub n_left_out: usize,
    /// Corners of all triangles: index of vertex and tangent.
    corners: Vec<[(u32, u32); 3]>,
    /// Number of distinct pairs of vertex and texture coordinate.
    n_tangents: usize,
    uvs: Vec<[Vec2; 3]>,
    texels: Vec<Texel>,
}

#[derive(Clone, Copy)]
struct Texel {
    triangle: u32,
    /// Weights of the first two corners.
    weights: [f32; 2],
}

/// What a map shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Displacements along tangent, bitangent and normal, in the mesh's unit.
    Displacement,
    /// Unit normals of the result along tangent, bitangent and normal of the plain surface.
    Normal,
}

impl Atlas {
    /// Rasterizes triangles with the texture coordinates of their corners. The origin is at the top left;
    /// textures repeat, so integer offsets are dropped.
    pub fn prepare(triangles: &[[u32; 3]], uvs: &[[[f32; 2]; 3]], size: [usize; 2]) -> Self {
        let mut number = HashMap::new();
        let corner = |v: u32, uv: [f32; 2], number: &mut HashMap<(u32, [u32; 2]), u32>| {
            let next = number.len() as u32;
            (v, *number.entry((v, uv.map(f32::to_bits))).or_insert(next))
        };
        let corners: Vec<[(u32, u32); 3]> = triangles
            .iter()
            .zip(uvs)
            .map(|(t, uv)| std::array::from_fn(|k| corner(t[k], uv[k], &mut number)))
            .collect();
        let uvs: Vec<[Vec2; 3]> = uvs.iter().map(|t| t.map(Vec2::from)).collect();
        let mut atlas = Self {
            size,
            n_overlapping: 0,
            n_left_out: 0,
            corners,
            n_tangents: number.len(),
            uvs,
            texels: Vec::new(),
        };
        atlas.draw();
        atlas
    }

    fn draw(&mut self) {
        let [width, height] = self.size;
        self.texels = vec![Texel { triangle: NOWHERE, weights: [0.0; 2] }; width * height];
        let scale = Vec2::new(width as f32, height as f32);
        let mut n_visited = 0;
        for (triangle, uv) in self.uvs.iter().enumerate() {
            // Shift by whole tiles, so that the middle of the triangle lies in the unit square.
            let middle = (uv[0] + uv[1] + uv[2]) / 3.0;
            if !middle.is_finite() {
                continue;
            }
            let [a, b, c] = uv.map(|p| (p - middle.floor()) * scale);
            let area = (b - a).perp_dot(c - a);
            if area == 0.0 || !area.is_finite() {
                continue;
            }
            let (low, high) = (a.min(b).min(c), a.max(b).max(c));
            let extent = high - low;
            if extent.cmpgt(scale).any() || n_visited > MOST_VISITS * self.texels.len() {
                self.n_left_out += 1;
                continue;
            }
            n_visited += ((extent.x + 1.0) * (extent.y + 1.0)) as usize;
            let range = |low: f32, high: f32, n: usize| {
                (low - 0.5).ceil().clamp(0.0, n as f32) as usize
                    ..((high - 0.5).floor() + 1.0).clamp(0.0, n as f32) as usize
            };
            for y in range(low.y, high.y, height) {
                for x in range(low.x, high.x, width) {
                    let p = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
                    let weights = [(b - p).perp_dot(c - p) / area, (c - p).perp_dot(a - p) / area];
                    if weights[0] < 0.0 || weights[1] < 0.0 || weights[0] + weights[1] > 1.0 {
                        continue;
                    }
                    let texel = &mut self.texels[y * width + x];
                    match texel.triangle {
                        NOWHERE => *texel = Texel { triangle: triangle as u32, weights },
                        // On a shared edge either triangle is right.
                        _ if weights[0].min(weights[1]).min(1.0 - weights[0] - weights[1]) > 1e-3 => {
                            self.n_overlapping += 1;
                        }
                        _ => {}
                    }
                }
            }
        }
        for _ in 0..MARGIN {
            self.widen();
        }
    }

    /// Texels without a triangle take that of a neighbor, with clamped barycentric weights.
    fn widen(&mut self) {
        let [width, height] = self.size;
        let before: Vec<u32> = self.texels.iter().map(|t| t.triangle).collect();
        let scale = Vec2::new(width as f32, height as f32);
        for (k, texel) in self.texels.iter_mut().enumerate().filter(|(_, t)| t.triangle == NOWHERE) {
            let (x, y) = (k % width, k / width);
            let around = [
                (x > 0).then(|| k - 1),
                (x + 1 < width).then_some(k + 1),
                (y > 0).then(|| k - width),
                (y + 1 < height).then_some(k + width),
            ];
            let Some(triangle) = around.into_iter().flatten().map(|n| before[n]).find(|&t| t != NOWHERE)
            else {
                continue;
            };
            let uv = self.uvs[triangle as usize];
            let middle = (uv[0] + uv[1] + uv[2]) / 3.0;
            let [a, b, c] = uv.map(|p| (p - middle.floor()) * scale);
            let p = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
            let area = (b - a).perp_dot(c - a);
            // Clamped, since extrapolating from thin triangles gives very large values.
            let weights =
                [(b - p).perp_dot(c - p) / area, (c - p).perp_dot(a - p) / area].map(|w| w.clamp(0.0, 1.0));
            let sum = (weights[0] + weights[1]).max(1.0);
            *texel = Texel { triangle, weights: weights.map(|w| w / sum) };
        }
    }

    /// A map of the difference of `moved` from `plain`, row after row; zeros where there is no skin.
    pub fn map(&self, fans: &Fans, plain: &[[f32; 3]], moved: &[[f32; 3]], shown: Shown) -> Vec<[f32; 3]> {
        let x: Vec<Vec3A> = plain.iter().map(|&p| p.into()).collect();
        let y: Vec<Vec3A> = moved.iter().map(|&p| p.into()).collect();
        let all =
            |x: &[Vec3A]| (0..x.len()).into_par_iter().with_min_len(512).map(|v| fans.normal(v, x)).collect();
        let normals: Vec<Vec3A> = all(&x);
        let values: Vec<Vec3A> = match shown {
            Shown::Displacement => x.par_iter().zip(&y).map(|(x, y)| *y - *x).collect(),
            Shown::Normal => all(&y),
        };
        let tangents = self.tangents(&x);
        let one = |texel: &Texel| {
            let Some(corners) = self.corners.get(texel.triangle as usize) else { return [0.0; 3] };
            let [a, b] = texel.weights;
            let mix = |of: &dyn Fn((u32, u32)) -> Vec3A| {
                of(corners[0]) * a + of(corners[1]) * b + of(corners[2]) * (1.0 - a - b)
            };
            let normal = mix(&|(v, _)| normals[v as usize]).normalize_or(Vec3A::Y);
            let tangent = mix(&|(_, t)| tangents[t as usize].0);
            let tangent =
                (tangent - normal * normal.dot(tangent)).normalize_or(normal.any_orthonormal_vector());
            let side = mix(&|(_, t)| Vec3A::splat(tangents[t as usize].1)).x;
            let bitangent = normal.cross(tangent) * if side < 0.0 { -1.0 } else { 1.0 };
            let value = mix(&|(v, _)| values[v as usize]);
            let local = [tangent.dot(value), bitangent.dot(value), normal.dot(value)];
            match shown {
                Shown::Displacement => local,
                Shown::Normal => Vec3::from(local).normalize_or(Vec3::Z).to_array(),
            }
        };
        self.texels.par_iter().with_min_len(4096).map(one).collect()
    }

    /// For each distinct corner, the direction in which u grows, and whether v decreases to its left seen
    /// from outside (1) or to its right (-1).
    fn tangents(&self, x: &[Vec3A]) -> Vec<(Vec3A, f32)> {
        let mut tangents = vec![(Vec3A::ZERO, 0.0f32); self.n_tangents];
        for (corners, uv) in self.corners.iter().zip(&self.uvs) {
            let [a, b, c] = corners.map(|(v, _)| x[v as usize]);
            let (d1, d2) = (uv[1] - uv[0], uv[2] - uv[0]);
            let area = d1.perp_dot(d2);
            if area == 0.0 || !area.is_finite() {
                continue;
            }
            // Weighted by the area on the surface.
            let along = ((b - a) * d2.y - (c - a) * d1.y) / area;
            let weight = (b - a).cross(c - a).length();
            let along = along.normalize_or_zero() * weight;
            // v grows downward, so a triangle that is not mirrored has the opposite winding in texture space.
            corners.iter().for_each(|&(_, t)| {
                tangents[t as usize].0 += along;
                tangents[t as usize].1 -= weight * area.signum();
            });
        }
        tangents
    }

    /// Which texels show skin.
    pub fn is_skin(&self) -> impl Iterator<Item = bool> {
        self.texels.iter().map(|t| t.triangle != NOWHERE)
    }
}

/// A picture with one number per texel.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Width and height.
    pub size: [usize; 2],
    /// Row after row from the top.
    pub values: Vec<f32>,
}

impl Picture {
    /// The value at a texture coordinate, bilinearly interpolated; pictures repeat.
    pub fn at(&self, uv: [f32; 2]) -> f32 {
        let [width, height] = self.size;
        if width == 0 || height == 0 || !uv.iter().all(|x| x.is_finite()) {
            return 0.0;
        }
        let place = |x: f32, n: usize| {
            let at = (x - x.floor()) * n as f32 - 0.5;
            let low = at.floor();
            let wrap = |k: f32| (k as i64).rem_euclid(n as i64) as usize;
            ([wrap(low), wrap(low + 1.0)], at - low)
        };
        let ([x0, x1], fx) = place(uv[0], width);
        let ([y0, y1], fy) = place(uv[1], height);
        let value = |x: usize, y: usize| self.values[y * width + x];
        let row = |y: usize| value(x0, y) * (1.0 - fx) + value(x1, y) * fx;
        row(y0) * (1.0 - fy) + row(y1) * fy
    }

    /// The mean value of each vertex over the texture coordinates of its corners; `None` where it has none.
    pub fn at_vertices(
        &self,
        n_vertices: usize,
        triangles: &[[u32; 3]],
        uvs: &[[[f32; 2]; 3]],
    ) -> Vec<Option<f32>> {
        let mut sums = vec![(0.0f32, 0u32); n_vertices];
        for (t, uv) in triangles.iter().zip(uvs) {
            for (v, uv) in t.iter().zip(uv) {
                let sum = &mut sums[*v as usize];
                *sum = (sum.0 + self.at(*uv), sum.1 + 1);
            }
        }
        sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / n as f32)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions, triangles and texture coordinates.
    type Textured = (Vec<[f32; 3]>, Vec<[u32; 3]>, Vec<[[f32; 2]; 3]>);

    /// A square of 3 x 3 vertices, u along x and v against y.
    fn square() -> Textured {
        let x: Vec<[f32; 3]> = (0..9).map(|k| [(k % 3) as f32 * 0.5, (k / 3) as f32 * 0.5, 0.0]).collect();
        let mut triangles = Vec::new();
        for k in [0, 1, 3, 4] {
            triangles.extend([[k, k + 1, k + 4], [k, k + 4, k + 3]]);
        }
        let uv = |v: u32| [x[v as usize][0] * 0.8 + 0.1, 0.9 - x[v as usize][1] * 0.8];
        let uvs = triangles.iter().map(|t| t.map(uv)).collect();
        (x, triangles, uvs)
    }

    #[test]
    fn a_map_has_displacements_in_the_frame_of_the_picture() {
        let (x, triangles, uvs) = square();
        let atlas = Atlas::prepare(&triangles, &uvs, [40, 40]);
        assert_eq!(atlas.n_overlapping, 0);
        // 32 of 40 texels a side are skin, and 4 around them.
        assert_eq!(atlas.is_skin().filter(|s| *s).count(), 40 * 40 - 4 * 10);
        let fans = Fans::prepare(9, &triangles);
        let moved: Vec<[f32; 3]> = x.iter().map(|[x, y, _]| [x + 0.1, y + 0.2, 0.3]).collect();
        let map = atlas.map(&fans, &x, &moved, Shown::Displacement);
        let middle = map[20 * 40 + 20];
        assert!(middle.iter().zip([0.1, 0.2, 0.3]).all(|(a, b)| (a - b).abs() < 1e-6), "{middle:?}");
        assert_eq!(map[0], [0.0; 3]);
        // A ramp towards +x leans the normal to -x.
        let ramp: Vec<[f32; 3]> = x.iter().map(|[x, y, _]| [*x, *y, *x]).collect();
        let normal = atlas.map(&fans, &x, &ramp, Shown::Normal)[20 * 40 + 20];
        let half = 0.5f32.sqrt();
        assert!(normal.iter().zip([-half, 0.0, half]).all(|(a, b)| (a - b).abs() < 1e-5), "{normal:?}");
        // Mirrored in the texture, tangents are reversed and bitangents stay.
        let mirrored: Vec<[[f32; 2]; 3]> = uvs.iter().map(|t| t.map(|[u, v]| [1.0 - u, v])).collect();
        let map = Atlas::prepare(&triangles, &mirrored, [40, 40]).map(&fans, &x, &moved, Shown::Displacement);
        let middle = map[20 * 40 + 20];
        assert!(middle.iter().zip([-0.1, 0.2, 0.3]).all(|(a, b)| (a - b).abs() < 1e-6), "{middle:?}");
    }

    #[test]
    fn what_is_drawn_is_read_back() {
        let (x, triangles, uvs) = square();
        let atlas = Atlas::prepare(&triangles, &uvs, [256, 200]);
        let fans = Fans::prepare(9, &triangles);
        let moved: Vec<[f32; 3]> = x.iter().map(|[x, y, _]| [*x, *y, x * 0.3 - y * 0.2]).collect();
        let map = atlas.map(&fans, &x, &moved, Shown::Displacement);
        let picture = Picture { size: [256, 200], values: map.iter().map(|t| t[2]).collect() };
        let back = picture.at_vertices(10, &triangles, &uvs);
        for (v, p) in x.iter().enumerate() {
            assert!((back[v].unwrap() - (p[0] * 0.3 - p[1] * 0.2)).abs() < 2e-3, "{v} {back:?}");
        }
        assert_eq!(back[9], None);
        assert_eq!(picture.at([f32::NAN, 0.0]), 0.0);
        assert_eq!(Picture { size: [1, 1], values: vec![2.0] }.at([-3.2, 7.9]), 2.0);
        // Nothing to draw, nothing drawn.
        let nowhere = Atlas::prepare(&triangles, &[[[f32::NAN, 0.0]; 3]; 8], [4, 4]);
        assert!(nowhere.is_skin().all(|s| !s));
        let huge = Atlas::prepare(&[triangles[0]], &[[[0.0, 0.0], [300.0, 0.0], [0.0, 300.0]]], [64, 64]);
        assert_eq!(huge.n_left_out, 1);
        let twice = Atlas::prepare(&[triangles[0], triangles[0]], &[uvs[0], uvs[0]], [64, 64]);
        assert!(twice.n_overlapping > 50);
    }
}
