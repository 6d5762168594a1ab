//! What a face is made of when nobody named it: separate pieces, eyeballs, shells in front of them, teeth.
//!
//! Pieces are found over the *file's* vertices: welding joins an eyelash card to the lid that it touches. Splits at
//! texture seams are closed again where exactly two open edges meet on one welded edge. An eyeball is a piece that a
//! sphere fits; a shell is an open piece whose vertices all lie just above an eyeball; lashes reach further out; a row
//! of small pieces below the eyes is teeth, and what overlaps them and is not the skin is gums and tongue.
//! Lengths are in units of half a face (see `look`), so the limits hold for every rig.

use crate::names::Kind;
use glam::{DMat4, DVec3, DVec4, Vec3};

/// One corner set of a triangle: welded vertices, and vertices as the file numbers them (over all parts).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Corners {
    pub rig: [u32; 3],
    pub file: [u32; 3],
}

/// A connected piece of surface.
#[derive(Debug, Clone, Default)]
pub(crate) struct Piece {
    pub triangles: Vec<u32>,
    /// Welded vertices, ascending, each once.
    pub vertices: Vec<u32>,
}

/// An eyeball at rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Eye {
    pub center: Vec3,
    pub radius: f32,
    /// Unit direction from the center to the pupil.
    pub gaze: Vec3,
}

/// Splits triangles into connected pieces, in order of their first triangle.
pub(crate) fn pieces(n_file_vertices: usize, triangles: &[Corners]) -> Vec<Piece> {
    let mut parent: Vec<u32> = (0..n_file_vertices as u32).collect();
    for t in triangles {
        join(&mut parent, t.file[0], t.file[1]);
        join(&mut parent, t.file[0], t.file[2]);
    }
    // (welded edge, file edge, a file vertex): equal file edges are inner edges, single ones are open.
    let mut edges: Vec<([u32; 2], [u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
    for t in triangles {
        for k in 0..3 {
            let sorted = |v: &[u32; 3]| [v[k].min(v[(k + 1) % 3]), v[k].max(v[(k + 1) % 3])];
            edges.push((sorted(&t.rig), sorted(&t.file), t.file[k]));
        }
    }
    edges.sort_unstable();
    for group in edges.chunk_by(|a, b| a.0 == b.0) {
        let mut open = group.chunk_by(|a, b| a.1 == b.1).filter(|same| same.len() == 1).map(|same| same[0].2);
        if let (Some(a), Some(b), None) = (open.next(), open.next(), open.next()) {
            join(&mut parent, a, b);
        }
    }
    let mut piece_of_root = vec![u32::MAX; n_file_vertices];
    let mut pieces: Vec<Piece> = Vec::new();
    for (i, t) in triangles.iter().enumerate() {
        let slot = &mut piece_of_root[root(&mut parent, t.file[0]) as usize];
        if *slot == u32::MAX {
            *slot = pieces.len() as u32;
            pieces.push(Piece::default());
        }
        let piece = &mut pieces[*slot as usize];
        piece.triangles.push(i as u32);
        piece.vertices.extend(t.rig);
    }
    for piece in &mut pieces {
        piece.vertices.sort_unstable();
        piece.vertices.dedup();
    }
    pieces
}

fn root(parent: &mut [u32], mut v: u32) -> u32 {
    while parent[v as usize] != v {
        parent[v as usize] = parent[parent[v as usize] as usize];
        v = parent[v as usize];
    }
    v
}

fn join(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(parent, a), root(parent, b));
    parent[a.max(b) as usize] = a.min(b);
}

/// The eyeball that the points of a piece form, if their distances from a center differ by less than `tolerance`
/// (root mean square, in radii). The face looks along +Z.
pub(crate) fn fit_eye(points: &[Vec3], tolerance: f64) -> Option<Eye> {
    let (center, radius) = fit_sphere(points)?;
    let spread = points.iter().map(|p| (p.as_dvec3().distance(center) / radius - 1.0).powi(2)).sum::<f64>();
    if (spread / points.len() as f64).sqrt() > tolerance {
        return None;
    }
    let (lo, hi) = bounds(points)?;
    // A cap or a band also fits a sphere; an eyeball shows at least its front half.
    let reach = (hi - lo).as_dvec3() / radius;
    if reach.min_element() < 0.6 || reach.x.min(reach.y) < 1.2 {
        return None;
    }
    let center = center.as_vec3();
    Some(Eye { center, radius: radius as f32, gaze: gaze(points, center) })
}

/// Least-squares sphere: the center and radius for which |p|^2 - 2 c.p + (|c|^2 - r^2) is smallest.
fn fit_sphere(points: &[Vec3]) -> Option<(DVec3, f64)> {
    if points.len() < 12 {
        return None;
    }
    let mean = points.iter().map(|p| p.as_dvec3()).sum::<DVec3>() / points.len() as f64;
    let (mut normal, mut right) = (DMat4::ZERO, DVec4::ZERO);
    for p in points {
        let row = (p.as_dvec3() - mean).extend(1.0);
        let square = row.truncate().length_squared();
        normal += DMat4::from_cols(row * row.x, row * row.y, row * row.z, row);
        right -= row * square;
    }
    let solved = normal.inverse() * right;
    let center = -0.5 * solved.truncate();
    let radius = (center.length_squared() - solved.w).sqrt();
    (center.is_finite() && radius.is_finite() && radius > 0.0).then_some((mean + center, radius))
}

/// Modellers put rings of vertices around the pupil, so the densest direction near the front is where the eye looks.
fn gaze(points: &[Vec3], center: Vec3) -> Vec3 {
    let mut gaze = Vec3::Z;
    let cone = 30f32.to_radians().cos();
    for _ in 0..12 {
        let sum: Vec3 = points.iter().map(|p| (*p - center).normalize_or_zero()).filter(|d| d.dot(gaze) > cone).sum();
        let next = (gaze * 1e-3 + sum).normalize_or_zero();
        // More than 40 degrees off is not an eye at rest; keep what the axes of the file say.
        if next.z < 0.76 {
            return Vec3::Z;
        }
        gaze = next;
    }
    gaze
}

pub(crate) fn bounds(points: &[Vec3]) -> Option<(Vec3, Vec3)> {
    let first = *points.first()?;
    Some(points.iter().fold((first, first), |(lo, hi), p| (lo.min(*p), hi.max(*p))))
}

/// Kinds of pieces that no name decided (`None` in `named`); entries are as in `pieces`.
pub(crate) fn classify(pieces: &[Piece], named: &[Option<Kind>], rest: &[Vec3], eyes: &mut Vec<Eye>) -> Vec<PieceLook> {
    let points: Vec<Vec<Vec3>> = pieces
        .iter()
        .map(|p| p.vertices.iter().map(|&v| rest[v as usize]).filter(|p| p.is_finite()).collect())
        .collect();
    let largest = (0..pieces.len()).max_by_key(|&i| (pieces[i].triangles.len(), usize::MAX - i));
    let mut looks: Vec<PieceLook> = Vec::with_capacity(pieces.len());
    for i in 0..pieces.len() {
        let tolerance = if named[i] == Some(Kind::Eye) { 0.2 } else { 0.08 };
        let may_be_eye = matches!(named[i], None | Some(Kind::Eye)) && (Some(i) != largest || named[i].is_some());
        let eye = may_be_eye.then(|| fit_eye(&points[i], tolerance)).flatten();
        let eye = eye.filter(|e| named[i].is_some() || (0.08..0.4).contains(&e.radius));
        let kind = if eye.is_some() { Some(Kind::Eye) } else { named[i] };
        looks.push(PieceLook { kind: kind.unwrap_or(Kind::Skin), eye: eye.map(|_| eyes.len()) });
        eyes.extend(eye);
    }
    let open = |i: usize| named[i].is_none() && Some(i) != largest && looks[i].eye.is_none();
    let undecided: Vec<usize> = (0..pieces.len()).filter(|&i| open(i)).collect();
    for &i in &undecided {
        if let Some(kind) = near_eye(&points[i], eyes) {
            looks[i].kind = kind;
        }
    }
    mouth_parts(&undecided, &points, &mut looks, eyes);
    looks
}

/// What a piece is, and the eyeball it belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PieceLook {
    pub kind: Kind,
    pub eye: Option<usize>,
}

/// A piece that hugs an eyeball from outside is a shell; one that starts there and reaches out is lashes.
fn near_eye(points: &[Vec3], eyes: &[Eye]) -> Option<Kind> {
    eyes.iter().find_map(|eye| {
        let distances = points.iter().map(|p| p.distance(eye.center) / eye.radius);
        let (lo, hi) = distances.fold((f32::MAX, 0f32), |(lo, hi), d| (lo.min(d), hi.max(d)));
        let in_front = points.iter().filter(|p| p.z > eye.center.z).count() * 2 > points.len();
        match (lo > 0.85 && in_front, hi) {
            (true, ..1.4) => Some(Kind::Hidden),
            (true, 1.4..2.2) => Some(Kind::Lash),
            _ => None,
        }
    })
}

/// At least six small pieces below the eyes are teeth; other pieces that overlap their row are gums and tongue.
fn mouth_parts(undecided: &[usize], points: &[Vec<Vec3>], looks: &mut [PieceLook], eyes: &[Eye]) {
    let eye_line = eyes.iter().map(|e| e.center.y - e.radius).fold(f32::MAX, f32::min);
    let skin_like: Vec<(usize, Vec3, Vec3)> = undecided
        .iter()
        .filter(|&&i| looks[i].kind == Kind::Skin)
        .filter_map(|&i| bounds(&points[i]).map(|(lo, hi)| (i, lo, hi)))
        .filter(|(_, _, hi)| hi.y < eye_line)
        .collect();
    let small = |lo: Vec3, hi: Vec3| (hi - lo).max_element() < 0.35 && (hi - lo).min_element() > 0.02;
    let teeth: Vec<_> = skin_like.iter().filter(|(_, lo, hi)| small(*lo, *hi)).collect();
    if teeth.len() < 6 {
        return;
    }
    let row = teeth.iter().fold((Vec3::MAX, Vec3::MIN), |(lo, hi), t| (lo.min(t.1), hi.max(t.2)));
    for &(i, lo, hi) in &skin_like {
        if small(lo, hi) {
            looks[i].kind = Kind::Teeth;
        } else if lo.cmplt(row.1).all() && hi.cmpgt(row.0).all() && (hi - lo).max_element() < 1.5 {
            looks[i].kind = Kind::Mouth;
        }
    }
}
