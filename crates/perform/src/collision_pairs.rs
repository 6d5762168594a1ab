//! The collision pairs of a face: lips against each other and the teeth, lids against each other and the
//! eyes, skin against obstacles.
//!
//! Skin counts as lips within [`MOUTH`] mouth widths of the center of the mouth, and as lids within [`EYE`]
//! eye radii of the center of an eye and in front of it. Which places there can touch is decided in
//! [`risorius_solve::contact::detect`], from paths through the flesh and from a pose that separates the lips.
//! Teeth, gums, tongue and eyes are used where the rig puts them; physics does not move them.

use crate::skin_out::SkinOut;
use glam::{DMat3, DVec3, Vec3};
use risorius_anatomy::pieces::PieceKind;
use risorius_flesh::Face;
use risorius_flesh::along_skin::areas;
use risorius_head::landmarks;
use risorius_mesh::Polygons;
use risorius_mesh::surface::components::components;
use risorius_rig::Evaluator;
use risorius_solve::{CollisionPair, SolveError, TetAttachment, Touch, TouchOptions};

/// Radius of the lip region, in mouth widths.
const MOUTH: f64 = 1.0;

/// Radius of the lid region, in eyeball radii.
const EYE: f64 = 2.0;

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

/// The surface points of a face that can be in contact.
pub(crate) struct ContactSurface {
    /// The rig vertex of each surface point.
    pub vertices: Vec<u32>,
    /// Prepared for the solver.
    pub touch: Touch,
    si_from_file: DMat3,
}

impl ContactSurface {
    /// With collision pairs for the regions in `pairs`, besides lips and lids. `obstacles_push`: whether
    /// there will be obstacles.
    pub fn prepare(
        face: &Face,
        evaluator: &Evaluator,
        skin_out: &SkinOut,
        mode: ContactMode,
        pairs: &[[Vec<u32>; 2]],
        obstacles_push: bool,
    ) -> Result<Self, SolveError> {
        let pieces = &face.anatomy.pieces;
        let si_from_file = face.rig.space.si_from_file();
        let mut rules: Vec<CollisionPair> = Vec::new();
        {
            let [mouth, eyes] = [around_mouth(face), around_eyes(face)];
            for (zone, kinds) in [(mouth, &IN_MOUTH[..]), (eyes, &IN_LIDS[..])] {
                let inside = |t: &&[u32; 3]| t.iter().all(|&v| zone[v as usize]);
                let own: Vec<[u32; 3]> = pieces.skin.iter().filter(inside).copied().collect();
                let mut points: Vec<u32> = own.iter().flatten().copied().collect();
                points.sort_unstable();
                points.dedup();
                let things = outward(pieces.triangles_of(kinds), &pieces.positions);
                rules.push(CollisionPair { points: points.clone(), triangles: own, same_surface: true });
                rules.push(CollisionPair { points, triangles: things, same_surface: false });
            }
            for [a, b] in pairs {
                for (points, others) in [(a, b), (b, a)] {
                    let inside = |t: &&[u32; 3]| t.iter().all(|v| others.binary_search(v).is_ok());
                    let skin: Vec<[u32; 3]> = pieces.skin.iter().filter(inside).copied().collect();
                    let things: Vec<[u32; 3]> = pieces.others.iter().filter(inside).copied().collect();
                    let things = outward(things, &pieces.positions);
                    rules.push(CollisionPair { points: points.clone(), triangles: skin, same_surface: true });
                    rules.push(CollisionPair {
                        points: points.clone(),
                        triangles: things,
                        same_surface: false,
                    });
                }
            }
            rules.retain(|rule| !rule.points.is_empty() && !rule.triangles.is_empty());
        }
        let named = rules.iter().flat_map(|rule| rule.points.iter().chain(rule.triangles.iter().flatten()));
        let mut vertices: Vec<u32> = named.copied().collect();
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
        let attachments: Vec<TetAttachment> = vertices.iter().map(|&v| skin_out.attachment(v)).collect();
        let areas = areas(pieces);
        let mut surface = Self { touch: Touch::default(), si_from_file, vertices };
        let apart = poses_apart(face, evaluator).iter().map(|pose| surface.surface(pose)).collect();
        let options = TouchOptions::default();
        let options = match mode {
            ContactMode::Off => TouchOptions { stiffness: 0.0, wall: f64::INFINITY, ..options },
            ContactMode::Penalty => TouchOptions { wall: f64::INFINITY, ..options },
            ContactMode::Wall => options,
        };
        surface.touch = Touch::prepare(
            attachments,
            surface.vertices.iter().map(|&v| areas[v as usize]).collect(),
            rules,
            (&face.flesh.tets, &face.flesh.rest(), apart),
            obstacles_push,
            options,
        )?;
        Ok(surface)
    }

    /// The surface points, in meters, in a pose of the rig given in file units.
    pub fn surface(&self, pose: &[[f32; 3]]) -> Vec<DVec3> {
        let meters = |&v: &u32| self.si_from_file * Vec3::from(pose[v as usize]).as_dvec3();
        self.vertices.iter().map(meters).collect()
    }
}

/// The neutral, and a pose that separates what touches in the neutral.
fn poses_apart(face: &Face, evaluator: &Evaluator) -> Vec<Vec<[f32; 3]>> {
    vec![face.rig.neutral.clone(), evaluator.positions(&face.flesh.parting_weights)]
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
