//! The collision pairs of a face: lips against each other and the teeth, lids against each other and the
//! eyes, skin against obstacles.
//!
//! Skin counts as lips within [`MOUTH`] mouth widths of the center of the mouth, and as lids within [`EYE`]
//! eye radii of the center of an eye and in front of it. Which places there can touch is decided in
//! [`risorius_solve::contact::detect`], from paths through the flesh and from a pose that separates the lips.
//! Teeth, gums, tongue and eyes are used where the rig puts them; physics does not move them. Teeth that the
//! rig does not have (supplied, or the built-in head's) collide with the lips too: the upper ones stay with
//! the skull, the lower ones follow the jaw's rigid motion in the pose.

use crate::skin_out::SkinOut;
use glam::{DMat3, DVec3, Vec3};
use risorius_anatomy::pieces::PieceKind;
use risorius_base::Rigid;
use risorius_flesh::Face;
use risorius_flesh::along_skin::areas;
use risorius_head::landmarks;
use risorius_mesh::surface::components::components;
use risorius_mesh::{Polygons, TriMesh};
use risorius_rig::Evaluator;
use risorius_solve::{CollisionPair, Overlap, SolveError, TetAttachment, Touch, TouchOptions};
use std::collections::BTreeMap;

/// Radius of the lip region, in mouth widths.
const MOUTH: f64 = 1.0;

/// Radius of the lid region, in eyeball radii.
const EYE: f64 = 2.0;

/// Triangles of eyes look outward if the cosine between their normal and the way from the center is above
/// this.
const OUT_OF_EYE: f64 = 0.3;

/// Pieces that lips can touch.
const IN_MOUTH: [PieceKind; 5] = [
    PieceKind::TeethUpper,
    PieceKind::TeethLower,
    PieceKind::GumsUpper,
    PieceKind::GumsLower,
    PieceKind::Tongue,
];

/// Pieces that lids can touch.
const IN_LIDS: [PieceKind; 2] = [PieceKind::EyeLeft, PieceKind::EyeRight];

/// How contacts are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContactMode {
    /// No contact forces; penetration depth is still measured.
    Off,
    /// A penalty on depth [Kozlov17, sec. 7].
    Penalty,
    /// Never deeper than 0.1 mm beyond the overlap of the artist's pose, to first order.
    #[default]
    Wall,
}

/// The surface points of a face that can be in contact: rig vertices, then teeth that the rig does not have.
pub(crate) struct ContactSurface {
    /// The rig vertex of each surface point, as far as they are rig vertices.
    pub vertices: Vec<u32>,
    /// Prepared for the solver.
    pub touch: Touch,
    teeth: AddedTeeth,
    si_from_file: DMat3,
}

impl ContactSurface {
    /// With collision pairs for the regions in `pairs`, besides lips and lids. `spacing`: the least distance
    /// between vertices that are kept out, meters. `obstacles_push`: whether there will be obstacles.
    pub fn prepare(
        face: &Face,
        evaluator: &Evaluator,
        skin_out: &SkinOut,
        (options, spacing): (TouchOptions, f64),
        pairs: &[[Vec<u32>; 2]],
        obstacles_push: bool,
    ) -> Result<Self, SolveError> {
        let teeth = AddedTeeth::of(face);
        let mouth = around_mouth(face);
        let spread = Spread::over(face, evaluator, spacing);
        let mut rules = own_pairs(face, &mouth, &IN_MOUTH);
        let mut of_eyes = own_pairs(face, &around_eyes(face), &IN_LIDS);
        if options.overlap == Overlap::None {
            let others = of_eyes.iter_mut().filter(|rule| !rule.same_surface);
            others.for_each(|rule| rule.triangles.retain(|t| looks_out_of_an_eye(face, t)));
        }
        rules.extend(of_eyes);
        rules.extend(pairs.iter().flat_map(|pair| region_pairs(face, pair)));
        rules.iter_mut().for_each(|rule| spread.thin(&mut rule.points));
        rules.retain(|rule| !rule.points.is_empty() && !rule.triangles.is_empty());
        let named = rules.iter().flat_map(|rule| rule.points.iter().chain(rule.triangles.iter().flatten()));
        let mut vertices: Vec<u32> = named.copied().collect();
        let lips = vertices_of(&skin_in(face, &mouth));
        vertices.extend_from_slice(&lips);
        if obstacles_push {
            vertices.extend_from_slice(&face.flesh.embedding.vertices);
        }
        vertices.sort_unstable();
        vertices.dedup();
        let point = |v: &u32| vertices.binary_search(v).map_or(0, |i| i as u32);
        for rule in &mut rules {
            rule.points.iter_mut().for_each(|v| *v = point(v));
            rule.triangles.iter_mut().flatten().for_each(|v| *v = point(v));
        }
        if !teeth.triangles.is_empty() && !lips.is_empty() {
            let first = vertices.len() as u32;
            let triangles = teeth.triangles.iter().map(|t| t.map(|v| first + v)).collect();
            let mut thinned = lips.clone();
            spread.thin(&mut thinned);
            let points = thinned.iter().map(point).collect();
            rules.push(CollisionPair { points, triangles, same_surface: false });
        }
        let mut attachments: Vec<TetAttachment> = vertices.iter().map(|&v| skin_out.attachment(v)).collect();
        attachments.resize(vertices.len() + teeth.positions.len(), TetAttachment::FIXED);
        let all_areas = areas(&face.anatomy.pieces);
        // Vertices stand for what is around them.
        let around = std::f64::consts::FRAC_PI_4 * spacing * spacing;
        let mut areas: Vec<f64> = vertices.iter().map(|&v| all_areas[v as usize].max(around)).collect();
        areas.resize(attachments.len(), 0.0);
        let si_from_file = face.rig.space.si_from_file();
        let mut surface = Self { touch: Touch::default(), teeth, si_from_file, vertices };
        let apart =
            poses_apart(face).iter().map(|weights| surface.at_weights(face, evaluator, weights)).collect();
        let rest = face.flesh.rest();
        let body = (&face.flesh.tets[..], &rest[..], apart);
        surface.touch = Touch::prepare(attachments, areas, rules, body, obstacles_push, options)?;
        Ok(surface)
    }

    /// The surface points, in meters, in a pose of the rig given in file units, with the jaw moved by `jaw`.
    pub fn surface(&self, pose: &[[f32; 3]], jaw: &Rigid) -> Vec<DVec3> {
        let meters = |&v: &u32| self.si_from_file * Vec3::from(pose[v as usize]).as_dvec3();
        let upper = self.teeth.positions[..self.teeth.n_upper].iter().copied();
        let lower = self.teeth.positions[self.teeth.n_upper..].iter().map(|&p| jaw.apply(p));
        self.vertices.iter().map(meters).chain(upper).chain(lower).collect()
    }

    fn at_weights(&self, face: &Face, evaluator: &Evaluator, weights: &[f32]) -> Vec<DVec3> {
        let strengths: Vec<f64> = evaluator.strengths(weights).iter().map(|&c| c.into()).collect();
        self.surface(&evaluator.positions(weights), &face.anatomy.jaw(&strengths))
    }
}

/// Chooses vertices that are not closer to each other than some distance, in the pose that parts lips.
struct Spread {
    spacing: f64,
    positions: Vec<DVec3>,
}

impl Spread {
    fn over(face: &Face, evaluator: &Evaluator, spacing: f64) -> Self {
        if spacing == 0.0 {
            return Self { spacing, positions: Vec::new() };
        }
        let meters = face.rig.space.si_from_file();
        let pose = evaluator.positions(&face.flesh.parting_weights);
        Self { spacing, positions: pose.iter().map(|&p| meters * Vec3::from(p).as_dvec3()).collect() }
    }

    /// Keeps a vertex if none that was kept before is closer.
    fn thin(&self, vertices: &mut Vec<u32>) {
        if self.spacing == 0.0 {
            return;
        }
        let mut kept: BTreeMap<[i64; 3], Vec<DVec3>> = BTreeMap::new();
        vertices.retain(|&v| {
            let p = self.positions[v as usize];
            let cell = (p / self.spacing).floor().to_array().map(|c| c.clamp(-1e12, 1e12) as i64);
            let around = (0..27).map(|k| [cell[0] + k % 3 - 1, cell[1] + k / 3 % 3 - 1, cell[2] + k / 9 - 1]);
            let is_close = |q: &DVec3| q.distance(p) < self.spacing;
            let is_free = !around.filter_map(|cell| kept.get(&cell)).flatten().any(is_close);
            if is_free {
                kept.entry(cell).or_default().push(p);
            }
            is_free
        });
    }
}

/// How contacts of a mode push, with films of this traction between lips.
pub(crate) fn touch_options(contact: ContactMode, adhesion: f64) -> TouchOptions {
    let usual = TouchOptions { film: adhesion, ..TouchOptions::default() };
    match contact {
        ContactMode::Off => TouchOptions { stiffness: 0.0, wall: f64::INFINITY, film: 0.0, ..usual },
        ContactMode::Penalty => TouchOptions { wall: f64::INFINITY, ..usual },
        ContactMode::Wall => usual,
    }
}

/// Teeth that are not vertices of the rig: the upper ones stay with the skull, the lower ones move with the
/// jaw.
#[derive(Default)]
struct AddedTeeth {
    /// In the neutral, in meters; those of the upper teeth first.
    positions: Vec<DVec3>,
    n_upper: usize,
    /// Wound outward.
    triangles: Vec<[u32; 3]>,
}

impl AddedTeeth {
    fn of(face: &Face) -> Self {
        let mut teeth = Self::default();
        for (row, surface) in face.anatomy.added_teeth().into_iter().enumerate() {
            if let Some(TriMesh { positions, triangles }) = surface {
                let first = teeth.positions.len() as u32;
                let wound = outward(triangles.clone(), positions);
                teeth.triangles.extend(wound.into_iter().map(|t| t.map(|v| first + v)));
                teeth.positions.extend_from_slice(positions);
            }
            if row == 0 {
                teeth.n_upper = teeth.positions.len();
            }
        }
        teeth
    }
}

/// The triangles of the skin whose vertices are all in `zone`.
fn skin_in(face: &Face, zone: &[bool]) -> Vec<[u32; 3]> {
    let inside = |t: &&[u32; 3]| t.iter().all(|&v| zone[v as usize]);
    face.anatomy.pieces.skin.iter().filter(inside).copied().collect()
}

/// The vertices of triangles, ascending.
fn vertices_of(triangles: &[[u32; 3]]) -> Vec<u32> {
    let mut vertices: Vec<u32> = triangles.iter().flatten().copied().collect();
    vertices.sort_unstable();
    vertices.dedup();
    vertices
}

/// The skin in `zone` against itself and against pieces of these kinds.
fn own_pairs(face: &Face, zone: &[bool], kinds: &[PieceKind]) -> Vec<CollisionPair> {
    let pieces = &face.anatomy.pieces;
    let own = skin_in(face, zone);
    let points = vertices_of(&own);
    let things = outward(pieces.triangles_of(kinds), &pieces.positions);
    vec![
        CollisionPair { points: points.clone(), triangles: own, same_surface: true },
        CollisionPair { points, triangles: things, same_surface: false },
    ]
}

/// Two regions against each other.
fn region_pairs(face: &Face, [a, b]: &[Vec<u32>; 2]) -> Vec<CollisionPair> {
    let pieces = &face.anatomy.pieces;
    let mut rules = Vec::new();
    for (points, others) in [(a, b), (b, a)] {
        let inside = |t: &&[u32; 3]| t.iter().all(|v| others.binary_search(v).is_ok());
        let skin: Vec<[u32; 3]> = pieces.skin.iter().filter(inside).copied().collect();
        let things: Vec<[u32; 3]> = pieces.others.iter().filter(inside).copied().collect();
        let things = outward(things, &pieces.positions);
        rules.push(CollisionPair { points: points.clone(), triangles: skin, same_surface: true });
        rules.push(CollisionPair { points: points.clone(), triangles: things, same_surface: false });
    }
    rules
}

/// Weights of the neutral, of the pose that separates what touches in the neutral, and of the same pose as
/// wide as its sliders go, which opens the corners of the mouth.
fn poses_apart(face: &Face) -> Vec<Vec<f32>> {
    let parting = &face.flesh.parting_weights;
    let most = parting.iter().copied().fold(0.0, f32::max);
    let mut poses = vec![vec![0.0; face.rig.sliders.len()], parting.clone()];
    if most > 0.0 && most < 1.0 {
        poses.push(parting.iter().map(|w| w / most).collect());
    }
    poses
}

fn around_mouth(face: &Face) -> Vec<bool> {
    let at =
        |name: &str| landmarks::index(name).and_then(|i| face.anatomy.landmarks.get(i)).map(|l| l.position);
    let mouth = at("mouth_left").zip(at("mouth_right")).map(|(a, b)| (a.midpoint(b), a.distance(b)));
    let near = |p: &DVec3| mouth.is_some_and(|(middle, breadth)| p.distance(middle) < MOUTH * breadth);
    face.anatomy.pieces.positions.iter().map(near).collect()
}

fn around_eyes(face: &Face) -> Vec<bool> {
    let eyes = &face.anatomy.eyes;
    let near = |p: &DVec3| {
        eyes.iter().flatten().any(|eye| p.distance(eye.center) < EYE * eye.radius && p.z > eye.center.z)
    };
    face.anatomy.pieces.positions.iter().map(near).collect()
}

/// Whether a triangle of an eye looks away from the eye's center. Irises, lenses and sheets over the eyeball
/// have other sides, which the outer skin of a closed lid would be taken to have passed.
fn looks_out_of_an_eye(face: &Face, triangle: &[u32; 3]) -> bool {
    let [a, b, c] = triangle.map(|v| face.anatomy.pieces.positions[v as usize]);
    let normal = (b - a).cross(c - a).normalize_or_zero();
    let middle = (a + b + c) / 3.0;
    let eyes = face.anatomy.eyes.iter().flatten();
    let nearest = eyes.min_by(|a, b| middle.distance(a.center).total_cmp(&middle.distance(b.center)));
    nearest.is_some_and(|eye| normal.dot((middle - eye.center).normalize_or_zero()) > OUT_OF_EYE)
}

/// Flips connected pieces that are inside out, judged by their signed volume about their centroid, so that
/// open pieces work too.
fn outward(mut triangles: Vec<[u32; 3]>, positions: &[DVec3]) -> Vec<[u32; 3]> {
    let pieces = components(positions.len(), &Polygons::from_triangles(&triangles));
    let piece_of = |t: &[u32; 3]| pieces.of_vertex[t[0] as usize] as usize;
    let mut middles = vec![(DVec3::ZERO, 0.0); pieces.sizes.len()];
    for t in &triangles {
        let (sum, n) = &mut middles[piece_of(t)];
        *sum += t.iter().map(|&v| positions[v as usize]).sum::<DVec3>();
        *n += 3.0;
    }
    let mut volumes = vec![0.0; pieces.sizes.len()];
    for t in &triangles {
        let (sum, n) = middles[piece_of(t)];
        let [a, b, c] = t.map(|v| positions[v as usize] - sum / n);
        volumes[piece_of(t)] += a.dot(b.cross(c));
    }
    for t in &mut triangles {
        if volumes[pieces.of_vertex[t[0] as usize] as usize] < 0.0 {
            t.swap(1, 2);
        }
    }
    triangles
}
