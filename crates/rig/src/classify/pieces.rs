//! Splits a face into connected pieces and recognizes unnamed ones by geometry: eyeballs, shells in front of
//! them, lashes, teeth.
//!
//! Pieces are found over the *file's* vertices, since welding would join an eyelash card to the lid that it
//! touches. Splits at texture seams are closed again where exactly two open edges meet on one welded edge. An
//! eyeball is a piece that a sphere fits. A shell is an open piece whose vertices all lie just above an
//! eyeball; lashes start there and reach further out. A row of small pieces below the eyes is teeth; other
//! pieces that overlap them, except the skin, are gums and tongue. Lengths are in units of half a face (see
//! [`crate::classify::surfaces`]), so the thresholds hold for every rig.

use crate::classify::kinds::Kind;
use glam::{DMat4, DVec3, DVec4, Vec3};
use risorius_mesh::surface::union_find::UnionFind;

/// The corners of a triangle: as welded vertices, and as file vertices (counted over all parts).
#[derive(Debug, Clone, Copy)]
pub struct Corners {
    /// Rig vertices.
    pub rig: [u32; 3],
    /// File vertices, counted over all parts.
    pub file: [u32; 3],
}

/// A connected piece of surface.
#[derive(Debug, Clone, Default)]
pub struct Piece {
    /// Triangles, ascending.
    pub triangles: Vec<u32>,
    /// Welded vertices, ascending, each once.
    pub vertices: Vec<u32>,
}

/// An eyeball at rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eye {
    /// Center of the sphere.
    pub center: Vec3,
    /// Its radius.
    pub radius: f32,
    /// Unit direction from the center to the pupil.
    pub gaze: Vec3,
}

/// Splits triangles into connected pieces, in order of their first triangle.
pub fn pieces(n_file_vertices: usize, triangles: &[Corners]) -> Vec<Piece> {
    let mut sets = UnionFind::new(n_file_vertices);
    join_triangles(&mut sets, triangles);
    // (welded edge, file edge, a file vertex): equal file edges are inner edges, single ones are open.
    let mut edges: Vec<([u32; 2], [u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
    for t in triangles {
        for k in 0..3 {
            let sorted = |v: &[u32; 3]| [v[k].min(v[(k + 1) % 3]), v[k].max(v[(k + 1) % 3])];
            edges.push((sorted(&t.rig), sorted(&t.file), t.file[k]));
        }
    }
    edges.sort_unstable();
    // With more than two triangles at an edge, a card or a shell is attached to the skin there; it is a piece
    // of its own.
    for group in edges.chunk_by(|a, b| a.0 == b.0) {
        if let [a, b] = group {
            sets.join(a.2, b.2);
        }
    }
    collect(&mut sets, triangles, 0..triangles.len() as u32)
}

/// Splits pieces further, at every seam of the file.
fn islands(n_file_vertices: usize, triangles: &[Corners], pieces: &[Piece]) -> Vec<Piece> {
    if pieces.is_empty() {
        return Vec::new();
    }
    let mut sets = UnionFind::new(n_file_vertices);
    join_triangles(&mut sets, triangles);
    collect(&mut sets, triangles, pieces.iter().flat_map(|p| p.triangles.iter().copied()))
}

fn join_triangles(sets: &mut UnionFind, triangles: &[Corners]) {
    for t in triangles {
        sets.join(t.file[0], t.file[1]);
        sets.join(t.file[0], t.file[2]);
    }
}

fn collect(sets: &mut UnionFind, triangles: &[Corners], chosen: impl Iterator<Item = u32>) -> Vec<Piece> {
    let mut piece_of_root = vec![u32::MAX; sets.len()];
    let mut pieces: Vec<Piece> = Vec::new();
    for i in chosen {
        let t = &triangles[i as usize];
        let slot = &mut piece_of_root[sets.root(t.file[0]) as usize];
        if *slot == u32::MAX {
            *slot = pieces.len() as u32;
            pieces.push(Piece::default());
        }
        let piece = &mut pieces[*slot as usize];
        piece.triangles.push(i);
        piece.vertices.extend(t.rig);
    }
    for piece in &mut pieces {
        piece.vertices.sort_unstable();
        piece.vertices.dedup();
    }
    pieces
}

/// The eyeball that the points of a piece form, if their distances from a center deviate from the radius by
/// less than `tolerance` (root mean square, in radii). The face looks along +Z.
pub fn fit_eye(points: &[Vec3], tolerance: f64) -> Option<Eye> {
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

/// Modelers put rings of vertices around the pupil, so the densest direction near the front is where the eye
/// looks.
fn gaze(points: &[Vec3], center: Vec3) -> Vec3 {
    let mut gaze = Vec3::Z;
    let cone = 30f32.to_radians().cos();
    for _ in 0..12 {
        let sum: Vec3 =
            points.iter().map(|p| (*p - center).normalize_or_zero()).filter(|d| d.dot(gaze) > cone).sum();
        let next = (gaze * 1e-3 + sum).normalize_or_zero();
        // An eye at rest is never turned by more than 40 degrees; use the front axis instead.
        if next.z < 0.76 {
            return Vec3::Z;
        }
        gaze = next;
    }
    gaze
}

/// Lowest and highest coordinates.
pub fn bounds(points: &[Vec3]) -> Option<(Vec3, Vec3)> {
    let first = *points.first()?;
    Some(points.iter().fold((first, first), |(lo, hi), p| (lo.min(*p), hi.max(*p))))
}

/// Classifies pieces; eyeballs are added to `eyes`. `named` is the kind of each triangle according to names.
///
/// Shells and lashes that touch each other form one piece at first and are split here, so the pieces are
/// returned too.
pub fn classify(
    n_file_vertices: usize,
    triangles: &[Corners],
    named: &[Option<Kind>],
    rest: &[Vec3],
    eyes: &mut Vec<Eye>,
) -> Vec<(Piece, PieceLook)> {
    let is_at_eye = |t: &u32| matches!(named[*t as usize], Some(Kind::Lash | Kind::Hidden));
    let joined = pieces(n_file_vertices, triangles);
    let largest_size = joined.iter().map(|p| p.triangles.len()).max().unwrap_or(0);
    let (mixed, mut pieces): (Vec<Piece>, Vec<Piece>) = joined
        .into_iter()
        .partition(|p| p.triangles.len() < largest_size && p.triangles.iter().any(is_at_eye));
    pieces.extend(islands(n_file_vertices, triangles, &mixed));
    let points_of = |piece: &Piece| -> Vec<Vec3> {
        piece.vertices.iter().map(|&v| rest[v as usize]).filter(|p| p.is_finite()).collect()
    };
    let largest = (0..pieces.len()).max_by_key(|&i| (pieces[i].triangles.len(), usize::MAX - i));
    let (mut done, mut open) = (Vec::new(), Vec::new());
    for (i, piece) in pieces.into_iter().enumerate() {
        let name = majority(&piece, named);
        let may_be_eye = name == Some(Kind::Eye) || name.is_none() && Some(i) != largest;
        let tolerance = if name.is_some() { 0.2 } else { 0.08 };
        let eye = may_be_eye.then(|| fit_eye(&points_of(&piece), tolerance)).flatten();
        if let Some(eye) = eye.filter(|e| name.is_some() || (0.08..0.4).contains(&e.radius)) {
            done.push((piece, PieceLook { kind: Kind::Eye, eye: Some(eyes.len()), span: [0.0, 1.0] }));
            eyes.push(eye);
        } else if name.is_some() || Some(i) == largest {
            done.push((piece, PieceLook::plain(name.unwrap_or(Kind::Skin))));
        } else {
            open.push(piece);
        }
    }
    let (at_eye, elsewhere): (Vec<Piece>, Vec<Piece>) =
        open.into_iter().partition(|piece| near_eye(&points_of(piece), eyes).is_some());
    for island in islands(n_file_vertices, triangles, &at_eye) {
        let kind = near_eye(&points_of(&island), eyes).unwrap_or(Kind::Hidden);
        done.push((island, PieceLook::plain(kind)));
    }
    let points: Vec<Vec<Vec3>> = elsewhere.iter().map(points_of).collect();
    done.extend(elsewhere.into_iter().zip(mouth_parts(&points, eyes).into_iter().map(PieceLook::plain)));
    for (piece, look) in done.iter_mut().filter(|(_, look)| look.kind == Kind::Lash) {
        (look.eye, look.span) = lash_span(&points_of(piece), eyes);
    }
    done
}

/// The kind that names give to more than half of a piece.
fn majority(piece: &Piece, named: &[Option<Kind>]) -> Option<Kind> {
    let count = |k: Kind| piece.triangles.iter().filter(|&&t| named[t as usize] == Some(k)).count();
    Kind::NAMED.into_iter().find(|&k| 2 * count(k) > piece.triangles.len())
}

/// The eye that lashes surround, and the distances of their roots and tips.
fn lash_span(points: &[Vec3], eyes: &[Eye]) -> (Option<usize>, [f32; 2]) {
    let Some(&first) = points.first() else { return (None, [0.0, 1.0]) };
    let near = |e: &Eye| e.center.distance_squared(first);
    let nearest = (0..eyes.len()).min_by(|&a, &b| near(&eyes[a]).total_cmp(&near(&eyes[b])));
    let Some(eye) = nearest.map(|e| eyes[e]) else { return (None, [0.0, 1.0]) };
    let mut distances: Vec<f32> = points.iter().map(|p| p.distance(eye.center) / eye.radius).collect();
    distances.sort_unstable_by(f32::total_cmp);
    let at = |part: f32| distances[(part * (distances.len() - 1) as f32) as usize];
    (nearest, [at(0.05), at(0.95)])
}

/// What a piece is, and the eyeball it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct PieceLook {
    /// What it is made of.
    pub kind: Kind,
    /// The eyeball that it is, or that its lashes surround.
    pub eye: Option<usize>,
    /// For lashes: where roots and tips lie, as distances from the eye's center in radii.
    pub span: [f32; 2],
}

impl PieceLook {
    fn plain(kind: Kind) -> Self {
        Self { kind, eye: None, span: [0.0, 1.0] }
    }
}

/// A piece that lies close to an eyeball from outside is a shell; one that starts there and extends outward
/// is lashes.
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

/// At least six small pieces below the eyes are teeth; other pieces that overlap their row are gums and
/// tongue.
fn mouth_parts(pieces: &[Vec<Vec3>], eyes: &[Eye]) -> Vec<Kind> {
    let eye_line = eyes.iter().map(|e| e.center.y - e.radius).fold(f32::MAX, f32::min);
    let below_eyes: Vec<(usize, Vec3, Vec3)> = (pieces.iter().enumerate())
        .filter_map(|(i, points)| bounds(points).map(|(lo, hi)| (i, lo, hi)))
        .filter(|(_, _, hi)| hi.y < eye_line)
        .collect();
    let small = |lo: Vec3, hi: Vec3| (hi - lo).max_element() < 0.35 && (hi - lo).min_element() > 0.02;
    let teeth: Vec<_> = below_eyes.iter().filter(|(_, lo, hi)| small(*lo, *hi)).collect();
    let mut kinds = vec![Kind::Skin; pieces.len()];
    if teeth.len() < 6 {
        return kinds;
    }
    let row = teeth.iter().fold((Vec3::MAX, Vec3::MIN), |(lo, hi), t| (lo.min(t.1), hi.max(t.2)));
    for &(i, lo, hi) in &below_eyes {
        if small(lo, hi) {
            kinds[i] = Kind::Teeth;
        } else if lo.cmplt(row.1).all() && hi.cmpgt(row.0).all() && (hi - lo).max_element() < 1.5 {
            kinds[i] = Kind::Mouth;
        }
    }
    kinds
}
