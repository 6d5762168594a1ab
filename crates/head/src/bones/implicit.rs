//! Modeling with signed distance functions: primitives joined and cut with rounded seams.
//!
//! A sculpt is a list of strokes; each adds a primitive (form) to the solid or cuts one out. Forms give a
//! signed distance in millimeters, negative inside. It is exact for tubes, ribbons and slabs near their
//! surface and a first-order estimate for ellipsoids. Seams are rounded with the quadratic smooth minimum,
//! which changes the distance by at most a quarter of the seam's size and has no effect beyond that size.
//! Everything is mirror-symmetric: a point is folded to +X before the forms are evaluated, so tables hold one
//! side. Limits: after many rounded seams the value is only approximately a distance (its gradient stays near
//! 1 at the surface).

use glam::DVec3;

/// One solid, in millimeters on the +X side.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// Center and half axes.
    Ellipsoid(DVec3, DVec3),
    /// A chain of spheres joined by cones: centers and radii.
    Tube(Vec<(DVec3, f64)>),
    /// An upright band along a chain; see [`Station`].
    Ribbon(Vec<Station>),
    /// A plate with an outline; see [`Plate`].
    Slab(Plate),
}

/// Cross-section of a ribbon: a rounded rectangle centered on its chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Station {
    /// Middle of the section.
    pub center: DVec3,
    /// Unit direction of the tall side.
    pub up: DVec3,
    /// Half of the tall side.
    pub half_height: f64,
    /// Half of the thickness.
    pub half_width: f64,
}

/// A plate seen from the side: its outline over z and y, its middle surface `x = at + dy * y + dz * z`.
#[derive(Debug, Clone)]
pub(crate) struct Plate {
    /// Corners as (z, y), in any direction around.
    pub outline: Vec<[f64; 2]>,
    /// Middle surface: x at y = z = 0, and its slopes along y and z.
    pub middle: [f64; 3],
    /// Half of the thickness.
    pub half_width: f64,
}

/// Operation of a stroke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Add,
    Cut,
}

/// A list of operations, in order: each with its seam and form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sculpt {
    strokes: Vec<(Act, f64, Form)>,
}

/// An ellipsoid from plain numbers.
pub(crate) fn ellipsoid(center: [f64; 3], radii: [f64; 3]) -> Form {
    Form::Ellipsoid(center.into(), radii.into())
}

/// A tube from rows of x, y, z, radius.
pub(crate) fn tube(rows: &[[f64; 4]]) -> Form {
    Form::Tube(rows.iter().map(|&[x, y, z, r]| (DVec3::new(x, y, z), r)).collect())
}

/// A ribbon from rows of x, y, z, half height, half width, and the lean of the top toward +X per
/// unit of height.
pub(crate) fn ribbon(rows: &[[f64; 6]]) -> Form {
    let station = |&[x, y, z, half_height, half_width, lean]: &[f64; 6]| Station {
        center: DVec3::new(x, y, z),
        up: DVec3::new(lean, 1.0, 0.0).normalize(),
        half_height,
        half_width,
    };
    Form::Ribbon(rows.iter().map(station).collect())
}

impl Sculpt {
    /// Adds a form; the seam is rounded over `seam` millimeters.
    pub fn add(&mut self, seam: f64, form: Form) {
        self.strokes.push((Act::Add, seam, form));
    }

    /// Cuts a form out.
    pub fn cut(&mut self, seam: f64, form: Form) {
        self.strokes.push((Act::Cut, seam, form));
    }

    /// Approximate signed distance from the surface; negative inside.
    pub fn distance(&self, p: DVec3) -> f64 {
        let p = DVec3::new(p.x.abs(), p.y, p.z);
        self.strokes.iter().fold(1e3, |d, (act, seam, form)| match act {
            Act::Add => smooth_min(d, form.distance(p), *seam),
            Act::Cut => -smooth_min(-d, form.distance(p), *seam),
        })
    }

    /// The strokes that affect the surface within `radius` of `center`. The surface there is the same; only
    /// values farther than `2 * radius` from it differ.
    pub fn near(&self, center: DVec3, radius: f64) -> Self {
        let center = DVec3::new(center.x.abs(), center.y, center.z);
        let mut strokes = Vec::new();
        // A form acts through its own seam and through those of all later strokes.
        let mut widest_seam = 0.0f64;
        for (act, seam, form) in self.strokes.iter().rev() {
            widest_seam = widest_seam.max(*seam);
            if form.distance(center) < 3.0 * radius + widest_seam {
                strokes.push((*act, *seam, form.clone()));
            }
        }
        strokes.reverse();
        Self { strokes }
    }

    /// Gradient of [`Self::distance`] by central differences over 0.2 mm; smaller steps would resolve the
    /// creases of the forms.
    pub fn gradient(&self, p: DVec3) -> DVec3 {
        let step = 0.1;
        let slope = |d: DVec3| (self.distance(p + d * step) - self.distance(p - d * step)) / (2.0 * step);
        DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z))
    }

    /// `p` moved to the surface along the gradient, by at most 2 mm.
    pub fn project(&self, p: DVec3) -> DVec3 {
        let mut q = p;
        for _ in 0..2 {
            let g = self.gradient(q);
            q -= g * (self.distance(q) / g.length_squared().max(0.1)).clamp(-1.0, 1.0);
        }
        p + (q - p).clamp_length_max(2.0)
    }
}

/// Minimum with a rounded transition of size `k`.
fn smooth_min(a: f64, b: f64, k: f64) -> f64 {
    let h = (k - (a - b).abs()).max(0.0);
    a.min(b) - if k > 0.0 { h * h / (4.0 * k) } else { 0.0 }
}

impl Form {
    fn distance(&self, p: DVec3) -> f64 {
        match self {
            Self::Ellipsoid(center, radii) => {
                let q = p - *center;
                let (near, far) = ((q / *radii).length(), (q / (*radii * *radii)).length());
                if far > 0.0 { near * (near - 1.0) / far } else { -radii.min_element() }
            }
            Self::Tube(balls) => balls.windows(2).fold(f64::INFINITY, |d, w| {
                let [(a, ra), (b, rb)] = [w[0], w[1]];
                let t = along(p, a, b);
                d.min(p.distance(a.lerp(b, t)) - (ra + t * (rb - ra)))
            }),
            Self::Ribbon(stations) => {
                stations.windows(2).fold(f64::INFINITY, |d, w| d.min(band(p, &w[0], &w[1])))
            }
            Self::Slab(plate) => plate.distance(p),
        }
    }
}

/// Parameter of the point of segment `ab` closest to `p`: 0 at `a`, 1 at `b`.
fn along(p: DVec3, a: DVec3, b: DVec3) -> f64 {
    ((p - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0)
}

fn band(p: DVec3, a: &Station, b: &Station) -> f64 {
    // The closest point of the chain is computed at the height of `p`, so that tall sections do not shear.
    let t = along(p, a.center, b.center);
    let level = |s: &Station| s.center + s.up * (p - a.center.lerp(b.center, t)).dot(s.up);
    let t = along(p, level(a), level(b));
    let up = a.up.lerp(b.up, t).normalize_or(DVec3::Y);
    let q = p - a.center.lerp(b.center, t);
    let height = q.dot(up);
    let half = [
        a.half_height + t * (b.half_height - a.half_height),
        a.half_width + t * (b.half_width - a.half_width),
    ];
    rounded_box(height.abs() - half[0], (q - up * height).length() - half[1], 0.9 * half[0].min(half[1]))
}

impl Plate {
    fn distance(&self, p: DVec3) -> f64 {
        let [at, dy, dz] = self.middle;
        let steep = (1.0 + dy * dy + dz * dz).sqrt();
        let across = (p.x - at - dy * p.y - dz * p.z).abs() / steep - self.half_width;
        rounded_box(polygon_distance([p.z, p.y], &self.outline), across, 0.9 * self.half_width)
    }
}

/// Distance from the corner region of two half spaces at signed distances `a` and `b`, its edge rounded with
/// radius `r`.
fn rounded_box(a: f64, b: f64, r: f64) -> f64 {
    let (a, b) = (a + r, b + r);
    (a.max(0.0).powi(2) + b.max(0.0).powi(2)).sqrt() + a.max(b).min(0.0) - r
}

/// Signed distance from a polygon in the plane; negative inside.
fn polygon_distance(p: [f64; 2], corners: &[[f64; 2]]) -> f64 {
    let (mut nearest, mut inside) = (f64::INFINITY, false);
    for (i, &a) in corners.iter().enumerate() {
        let b = corners[(i + 1) % corners.len()];
        let (edge, to) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
        let t =
            ((to[0] * edge[0] + to[1] * edge[1]) / (edge[0] * edge[0] + edge[1] * edge[1])).clamp(0.0, 1.0);
        nearest = nearest.min((to[0] - t * edge[0]).hypot(to[1] - t * edge[1]));
        if (a[1] > p[1]) != (b[1] > p[1]) && to[0] < edge[0] * to[1] / edge[1] {
            inside = !inside;
        }
    }
    if inside { -nearest } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_measure_distance() {
        let ball = tube(&[[10.0, 0.0, 0.0, 2.0], [10.0, 5.0, 0.0, 2.0]]);
        assert!((ball.distance(DVec3::new(10.0, -4.0, 0.0)) - 2.0).abs() < 1e-12);
        let ribbon = ribbon(&[[0.0, 0.0, 0.0, 5.0, 1.0, 0.0], [10.0, 0.0, 0.0, 5.0, 1.0, 0.0]]);
        assert!((ribbon.distance(DVec3::new(5.0, 8.0, 0.0)) - 3.0).abs() < 1e-12);
        assert!((ribbon.distance(DVec3::new(5.0, 1.0, 3.0)) - 2.0).abs() < 1e-12);
        let square = vec![[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]];
        let plate = Form::Slab(Plate { outline: square, middle: [3.0, 0.0, 0.0], half_width: 1.0 });
        assert!((plate.distance(DVec3::new(5.0, 2.0, 2.0)) - 1.0).abs() < 1e-12);
        assert!((plate.distance(DVec3::new(3.0, 2.0, -2.0)) - 2.0).abs() < 1e-12);
        assert!(plate.distance(DVec3::new(3.0, 2.0, 2.0)) < -0.9);
    }

    #[test]
    fn far_strokes_do_not_matter() {
        let mut sculpt = Sculpt::default();
        for i in 0..20 {
            let x = 7.0 * f64::from(i);
            sculpt.add(f64::from(i % 5) * 4.0, ellipsoid([x, 0.3 * x, 0.0], [9.0, 12.0, 7.0]));
            sculpt.cut(3.0, tube(&[[x, 10.0, 5.0, 3.0], [x + 20.0, 20.0, 5.0, 2.0]]));
        }
        for i in 0..2000 {
            let t = f64::from(i) * 0.61803;
            let p = DVec3::new(
                140.0 * t.fract(),
                50.0 * (3.7 * t).fract() - 10.0,
                20.0 * (5.3 * t).fract() - 10.0,
            );
            let center = p + DVec3::new(2.0, -3.0, 2.0);
            let (all, few) = (sculpt.distance(p), sculpt.near(center, 5.0).distance(p));
            assert!(all == few || (all.abs() > 5.0 && (all < 0.0) == (few < 0.0)), "{all} {few}");
        }
    }

    #[test]
    fn both_sides_are_alike_and_projection_lands() {
        let mut sculpt = Sculpt::default();
        sculpt.add(0.0, ellipsoid([0.0, 0.0, 0.0], [20.0, 15.0, 10.0]));
        sculpt.cut(2.0, ellipsoid([10.0, 10.0, 0.0], [5.0, 5.0, 5.0]));
        let p = DVec3::new(8.0, 9.0, 4.0);
        assert_eq!(sculpt.distance(p), sculpt.distance(p * DVec3::new(-1.0, 1.0, 1.0)));
        let near = DVec3::new(19.0, 3.0, 2.0);
        assert!(sculpt.distance(sculpt.project(near)).abs() < 0.02);
    }
}
