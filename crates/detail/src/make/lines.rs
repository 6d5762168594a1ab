//! Places the lines of the built-in head on a face, irregularly: varied ends, wobble, breaks, depth.

use super::MakeOptions;
use glam::DVec3;
use risorius_anatomy::carry::Anatomy;
use risorius_anatomy::outer::OuterSkin;
use risorius_base::ease::ramp;
use risorius_head::creases::{Crease, Family, all};
use risorius_head::person::Head;

/// Distance of samples along a line, meters.
const STEP: f64 = 0.001;

/// Skin farther than this from a carried line has no such line, meters.
const REACH: f64 = 0.012;

/// A line is cut where neighboring samples are farther apart than this, meters.
const GAP: f64 = 0.005;

/// Shorter lines are left out, in samples.
const SHORTEST: usize = 6;

/// A line on a face.
pub(super) struct Line {
    pub name: String,
    pub family: Family,
    /// Breadth of a fold, meters.
    pub breadth: f64,
    pub samples: Vec<Sample>,
}

/// A point of a line.
pub(super) struct Sample {
    pub point: DVec3,
    /// Along the line, outward, and to the left of the line: orthonormal.
    pub along: DVec3,
    pub normal: DVec3,
    pub across: DVec3,
    /// Where it is on the rig.
    pub corners: [u32; 3],
    pub barycentric: [f64; 3],
    /// The largest depth, and the depth at rest, meters.
    pub deepest: f64,
    pub at_rest: f64,
}

/// All lines that a face of this age has.
pub(super) fn carried(head: &Head, anatomy: &Anatomy, options: &MakeOptions) -> Vec<Line> {
    let skin = super::outer(anatomy);
    all(head).iter().filter_map(|crease| place(crease, anatomy, &skin, options)).collect()
}

/// How deep lines are at an age, relative to the age of 50: skin loses elasticity.
fn at_age(age: f64) -> f64 {
    0.45 + 0.55 * (age - 20.0).max(0.0) / 30.0
}

fn place(crease: &Crease, anatomy: &Anatomy, skin: &OuterSkin, options: &MakeOptions) -> Option<Line> {
    let grown = ((options.age - crease.from_age) / 14.0 + 0.35).clamp(0.0, 1.0);
    if grown <= 0.0 || options.depth <= 0.0 {
        return None;
    }
    let noise = Noise::of(&crease.name, options.seed);
    let breadth = crease.family.breadth * 1e-3 * anatomy.warp.similarity.scale;
    let curve: Vec<DVec3> = curve(&crease.points).into_iter().map(|p| anatomy.warp.apply(p)).collect();
    let curve = resampled(&curve);
    // Ends differ between lines and sides.
    let n = curve.len() as f64;
    let (first, last) = ((n * 0.12 * noise.once(1)) as usize, (n * (1.0 - 0.12 * noise.once(2))) as usize);
    let wobbled = |k: usize| {
        let here = skin.closest(curve[k], REACH).filter(|p| !p.on_border)?;
        let [a, b] = [curve[k.saturating_sub(2)], curve[(k + 2).min(curve.len() - 1)]];
        let across = here.normal.cross(b - a).normalize_or_zero();
        let at = k as f64 * STEP;
        let aside = 0.13 * noise.wave(3, at / 0.017) + 0.05 * noise.wave(4, at / 0.006);
        skin.closest(here.point + across * (aside * breadth), REACH).filter(|p| !p.on_border)
    };
    let points: Vec<_> = (first..last.min(curve.len())).map(wobbled).collect();
    let run = longest_run(&points, |p| p.as_ref().map(|p| p.point));
    let points: Vec<_> = points[run].iter().flatten().collect();
    if points.len() < SHORTEST {
        return None;
    }
    let remains = crease.family.at_rest * ramp(options.age, 26.0, 78.0);
    let deepest = crease.family.deepest * 1e-3 * at_age(options.age) * options.depth * grown;
    let sample = |k: usize| {
        let here = points[k];
        let [a, b] = [points[k.saturating_sub(2)].point, points[(k + 2).min(points.len() - 1)].point];
        let across = here.normal.cross(b - a).normalize_or_zero();
        let strength = strength(&noise, k, points.len());
        Sample {
            point: here.point,
            along: across.cross(here.normal),
            normal: here.normal,
            across,
            corners: here.corners,
            barycentric: here.barycentric,
            deepest: deepest * strength,
            at_rest: deepest * remains * strength,
        }
    };
    let samples = (0..points.len()).map(sample).collect();
    Some(Line { name: crease.name.clone(), family: crease.family, breadth, samples })
}

/// Depth along a line: fading ends, slow changes, and a break or two.
fn strength(noise: &Noise, k: usize, n: usize) -> f64 {
    let (at, length) = (k as f64 * STEP, n as f64 * STEP);
    let fade = (0.3 * length).min(0.012);
    let ends = ramp(at, 0.0, fade) * ramp(length - at, 0.0, fade);
    let varied = 0.82 + 0.18 * noise.wave(5, at / 0.013) + 0.08 * noise.wave(6, at / 0.005);
    // Breaks only in lines that are long enough.
    let breaks = (0..(length / 0.035) as usize).map(|b| {
        let middle = length * (0.15 + 0.7 * noise.once(20 + b as u64));
        let half = 0.002 + 0.003 * noise.once(40 + b as u64);
        let left = 0.15 + 0.5 * noise.once(60 + b as u64);
        left + (1.0 - left) * ramp((at - middle).abs(), 0.4 * half, half + 0.003)
    });
    // Each line has its own strength.
    (0.75 + 0.25 * noise.once(7)) * ends * varied * breaks.product::<f64>()
}

/// Mean length of the rig's edges under the lines, millimeters.
pub(super) fn edge_mm(lines: &[Line], anatomy: &Anatomy) -> f64 {
    let x = |v: u32| anatomy.pieces.positions[v as usize];
    let (mut sum, mut count) = (0.0, 0);
    for s in lines.iter().flat_map(|line| &line.samples) {
        let [a, b, c] = s.corners;
        sum += x(a).distance(x(b)) + x(b).distance(x(c)) + x(c).distance(x(a));
        count += 3;
    }
    1000.0 * sum / f64::from(count.max(1))
}

/// A smooth curve through points: Catmull-Rom, about a millimeter between samples.
fn curve(points: &[DVec3]) -> Vec<DVec3> {
    let at = |k: isize| points[k.clamp(0, points.len() as isize - 1) as usize];
    let mut curve = Vec::new();
    for k in 0..points.len() as isize - 1 {
        let [p, a, b, q] = [at(k - 1), at(k), at(k + 1), at(k + 2)];
        let n = (a.distance(b) / STEP).ceil().max(1.0) as usize;
        curve.extend((0..n).map(|i| {
            let t = i as f64 / n as f64;
            0.5 * (2.0 * a
                + (b - p) * t
                + (2.0 * p - 5.0 * a + 4.0 * b - q) * (t * t)
                + (3.0 * a - p - 3.0 * b + q) * (t * t * t))
        }));
    }
    curve.extend(points.last());
    curve
}

/// The same curve with samples a step apart.
fn resampled(curve: &[DVec3]) -> Vec<DVec3> {
    let Some(&first) = curve.first() else { return Vec::new() };
    let mut out = vec![first];
    let mut left = STEP;
    for pair in curve.windows(2) {
        let length = pair[0].distance(pair[1]);
        let mut at = left;
        while at <= length {
            out.push(pair[0].lerp(pair[1], at / length));
            at += STEP;
        }
        left = at - length;
    }
    out
}

/// The longest range of entries that are present and close to their neighbors.
fn longest_run<T>(list: &[T], place: impl Fn(&T) -> Option<DVec3>) -> std::ops::Range<usize> {
    let (mut best, mut start) = (0..0, 0);
    for k in 0..=list.len() {
        let goes_on = k < list.len()
            && place(&list[k]).is_some_and(|p| {
                k == start || place(&list[k - 1]).is_some_and(|before| before.distance(p) < GAP)
            });
        if !goes_on {
            if k - start > best.len() {
                best = start..k;
            }
            let is_present = k < list.len() && place(&list[k]).is_some();
            start = if is_present { k } else { k + 1 };
        }
    }
    best
}

/// Random numbers of a line.
struct Noise(u64);

impl Noise {
    fn of(name: &str, seed: u64) -> Self {
        // FNV-1a.
        let hash = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), hash))
    }

    /// From 0 to 1, another for each key.
    fn once(&self, key: u64) -> f64 {
        // SplitMix64.
        let mut z = self.0.wrapping_add(key.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Smooth noise from -1 to 1 over a line; x counts its waves.
    fn wave(&self, key: u64, x: f64) -> f64 {
        let knot = |i: f64| 2.0 * self.once(1000 * key + 1_000_000 + i as u64) - 1.0;
        let (i, t) = (x.floor(), x.fract());
        let s = t * t * (3.0 - 2.0 * t);
        knot(i) * (1.0 - s) + knot(i + 1.0) * s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_the_same_every_time_and_lines_differ() {
        let (a, b) = (Noise::of("forehead 1", 0), Noise::of("forehead 2", 0));
        assert_eq!(a.once(3), Noise::of("forehead 1", 0).once(3));
        assert!(
            a.once(3) != b.once(3)
                && a.once(3) != a.once(4)
                && a.once(3) != Noise::of("forehead 1", 1).once(3)
        );
        let waves: Vec<f64> = (0..400).map(|k| a.wave(5, f64::from(k) * 0.05)).collect();
        assert!(waves.iter().all(|w| w.abs() <= 1.0) && waves.windows(2).all(|w| (w[0] - w[1]).abs() < 0.16));
        let mean = waves.iter().sum::<f64>() / 400.0;
        assert!(mean.abs() < 0.4 && waves.iter().any(|w| *w > 0.4) && waves.iter().any(|w| *w < -0.4));
    }

    #[test]
    fn curves_pass_through_their_points_and_gaps_cut_them() {
        let points = [DVec3::ZERO, DVec3::new(0.01, 0.005, 0.0), DVec3::new(0.03, 0.0, 0.0)];
        let curve = curve(&points);
        assert!(points.iter().all(|p| curve.iter().any(|q| p.distance(*q) < 1e-9)));
        let even = resampled(&curve);
        assert!(even.windows(2).all(|w| (w[0].distance(w[1]) - STEP).abs() < 1e-4), "{even:?}");
        let places = [Some(0.0), Some(0.001), None, Some(0.003), Some(0.004), Some(0.005), Some(0.02)];
        assert_eq!(longest_run(&places, |p| p.map(|x| DVec3::new(x, 0.0, 0.0))), 3..6);
    }
}
