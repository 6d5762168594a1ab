//! Classification of a rig's vertices: skin, eyes, teeth, gums, tongue, lashes, bones, and others.
//!
//! Names of parts, groups, materials and regions are used first, then connected pieces and their geometry
//! (see [`risorius_rig::classify::surfaces`]). The skin is the connected piece with most of the vertices that
//! shapes move, including the mouth bag and the eye sockets connected to it. Teeth and gums are divided into
//! upper and lower by the shape that opens the jaw: the upper ones do not move. Other vertices (lashes, brow
//! hair, tear film) follow the nearest skin vertex. Limits: teeth that are modeled into the skin are skin;
//! several separate skins are one only if they touch.

use crate::motions::{Motion, motion};
use crate::note::Note;
use glam::DVec3;
use risorius_mesh::Bvh;
use risorius_rig::Rig;
use risorius_rig::classify::kinds::{Kind, words};
use risorius_rig::classify::names::{self, Side};
use risorius_rig::classify::surfaces::{self, Surfaces};
use risorius_rig::meters;

/// What a vertex belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PieceKind {
    /// The main face surface, with mouth bag and eye sockets.
    Skin,
    /// Eyeball on the character's left.
    EyeLeft,
    /// Eyeball on the character's right.
    EyeRight,
    /// Teeth that do not move when the jaw opens.
    TeethUpper,
    /// Teeth that move with the jaw.
    TeethLower,
    /// Gums and mouth lining that do not move when the jaw opens.
    GumsUpper,
    /// Gums and mouth lining that move with the jaw.
    GumsLower,
    /// The tongue.
    Tongue,
    /// Eyelashes.
    Lash,
    /// Brow hair, tear film, caruncles, occlusion shells, clothes.
    Other,
    /// A skull that is part of the rig.
    Cranium,
    /// A lower jaw that is part of the rig.
    Mandible,
}

/// The classified surfaces of a rig. Positions are in meters, +Y up, +Z front.
#[derive(Debug, Clone, Default)]
pub struct Pieces {
    /// Kind of each rig vertex.
    pub kinds: Vec<PieceKind>,
    /// Neutral positions.
    pub positions: Vec<DVec3>,
    /// Triangles of the skin over rig vertices, wound outward.
    pub skin: Vec<[u32; 3]>,
    /// Triangles of everything that is not skin.
    pub others: Vec<[u32; 3]>,
    /// For vertices attached to the skin (lashes, other): the skin vertex that they follow.
    pub carriers: Vec<Option<u32>>,
    /// Vertices that shapes move, or the front of the head without shapes; ascending.
    pub face: Vec<u32>,
    /// Findings for the user.
    pub notes: Vec<Note>,
}

impl Pieces {
    /// The vertices of a kind, ascending.
    pub fn vertices(&self, kind: PieceKind) -> Vec<u32> {
        (0..self.kinds.len() as u32).filter(|&v| self.kinds[v as usize] == kind).collect()
    }

    /// Whether any vertex is of that kind.
    pub fn has(&self, kind: PieceKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The triangles whose corners are all of one of `kinds`.
    pub fn triangles_of(&self, kinds: &[PieceKind]) -> Vec<[u32; 3]> {
        let inside = |t: &&[u32; 3]| t.iter().all(|&v| kinds.contains(&self.kinds[v as usize]));
        self.others.iter().filter(inside).copied().collect()
    }
}

/// Classifies the surfaces of `rig`.
pub fn pieces(rig: &Rig) -> Pieces {
    let positions = meters::neutral(rig);
    let surfaces = surfaces::surfaces(rig);
    let main = main_skin(&surfaces, rig.n_vertices());
    let bones = bone_kinds(rig, &surfaces, main);
    let mut kinds = vec![PieceKind::Other; rig.n_vertices()];
    let jaw = motion(rig, "jawOpen");
    let middle_x = middle(&positions, &surfaces);
    for (i, (piece, look)) in surfaces.pieces.iter().enumerate() {
        if Some(i) == main || is_more_skin(&surfaces, i, main, &bones) {
            continue;
        }
        let kind = bones[i].unwrap_or_else(|| match look.kind {
            Kind::Eye => eye_side(rig, &surfaces, i, &positions, middle_x),
            Kind::Teeth => PieceKind::TeethUpper,
            Kind::Mouth => PieceKind::GumsUpper,
            Kind::Tongue => PieceKind::Tongue,
            Kind::Lash => PieceKind::Lash,
            Kind::Skin | Kind::Hair | Kind::Hidden => PieceKind::Other,
        });
        piece.vertices.iter().for_each(|&v| kinds[v as usize] = kind);
    }
    // Skin last, so that vertices shared with lashes and shells are skin.
    let mut is_skin = vec![false; surfaces.corners.len()];
    for (i, (piece, _)) in surfaces.pieces.iter().enumerate() {
        if Some(i) == main || is_more_skin(&surfaces, i, main, &bones) {
            piece.vertices.iter().for_each(|&v| kinds[v as usize] = PieceKind::Skin);
            piece.triangles.iter().for_each(|&t| is_skin[t as usize] = true);
        }
    }
    let part = |wanted: bool| {
        let chosen = surfaces.corners.iter().zip(&is_skin).filter(move |(_, s)| **s == wanted);
        chosen.map(|(c, _)| c.rig).collect::<Vec<_>>()
    };
    let (skin, others) = (part(true), part(false));
    let face = surfaces.face.iter().copied().filter(|&v| kinds[v as usize] == PieceKind::Skin).collect();
    let mut found = Pieces { kinds, positions, skin, others, face, ..Pieces::default() };
    part_jaws(rig, &surfaces, jaw.as_ref(), &mut found);
    find_tongue(rig, &surfaces, &mut found);
    face_outwards(&mut found);
    found.carriers = carriers(&found);
    found
}

/// The skin-like piece with the most face vertices.
fn main_skin(surfaces: &Surfaces, n_vertices: usize) -> Option<usize> {
    let mut in_face = vec![false; n_vertices];
    surfaces.face.iter().for_each(|&v| in_face[v as usize] = true);
    let size = |i: usize| {
        let (piece, look) = &surfaces.pieces[i];
        let n = piece.vertices.iter().filter(|&&v| in_face[v as usize]).count();
        (look.kind == Kind::Skin, n, piece.triangles.len(), usize::MAX - i)
    };
    (0..surfaces.pieces.len()).max_by_key(|&i| size(i))
}

/// Whether a skin-like piece shares vertices with the main skin, such as a separate neck or ear.
fn is_more_skin(surfaces: &Surfaces, i: usize, main: Option<usize>, bones: &[Option<PieceKind>]) -> bool {
    let (Some(main), (piece, look)) = (main, &surfaces.pieces[i]) else { return false };
    let main = &surfaces.pieces[main].0;
    let shared = || piece.vertices.iter().filter(|v| main.vertices.binary_search(v).is_ok()).count();
    look.kind == Kind::Skin && bones[i].is_none() && piece.vertices.len() >= 50 && shared() >= 8
}

/// Pieces that are named as bones.
fn bone_kinds(rig: &Rig, surfaces: &Surfaces, main: Option<usize>) -> Vec<Option<PieceKind>> {
    let kind = |i: usize| {
        let (piece, look) = &surfaces.pieces[i];
        let source = &surfaces.sources[*piece.triangles.first()? as usize];
        let words = words(&rig.parts[source.part].name);
        let has = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
        if Some(i) == main || look.kind == Kind::Teeth {
            None
        } else if has(&["mandible", "jaw", "jawbone"]) {
            Some(PieceKind::Mandible)
        } else {
            has(&["skull", "cranium"]).then_some(PieceKind::Cranium)
        }
    };
    (0..surfaces.pieces.len()).map(kind).collect()
}

/// x of the middle of the head: the center of the extent of the face vertices.
fn middle(positions: &[DVec3], surfaces: &Surfaces) -> f64 {
    let xs = |list: &[u32]| {
        let mut xs: Vec<f64> =
            list.iter().map(|&v| positions[v as usize].x).filter(|x| x.is_finite()).collect();
        xs.sort_unstable_by(f64::total_cmp);
        (xs.first().copied().unwrap_or(0.0) + xs.last().copied().unwrap_or(0.0)) / 2.0
    };
    xs(&surfaces.face)
}

/// The side of an eye by its position, because some files name sides as the viewer sees them. The name
/// decides only for eyes near the middle.
fn eye_side(rig: &Rig, surfaces: &Surfaces, i: usize, positions: &[DVec3], middle_x: f64) -> PieceKind {
    let piece = &surfaces.pieces[i].0;
    let n = piece.vertices.len().max(1) as f64;
    let off = piece.vertices.iter().map(|&v| positions[v as usize].x).sum::<f64>() / n - middle_x;
    let part = piece.triangles.first().map(|&t| surfaces.sources[t as usize].part);
    let named = part.and_then(|p| names::key(&rig.parts[p].name).side);
    let left = named.filter(|_| off.abs() < 0.01).map_or(off >= 0.0, |side| side == Side::Left);
    if left { PieceKind::EyeLeft } else { PieceKind::EyeRight }
}

/// Divides teeth and gums into upper and lower: by name, by the motion of jawOpen, or by height.
fn part_jaws(rig: &Rig, surfaces: &Surfaces, jaw: Option<&Motion>, found: &mut Pieces) {
    let is_in_mouth = |k: PieceKind| matches!(k, PieceKind::TeethUpper | PieceKind::GumsUpper);
    let inside: Vec<usize> = (0..found.kinds.len()).filter(|&v| is_in_mouth(found.kinds[v])).collect();
    let most = jaw.map_or(0.0, |j| inside.iter().map(|&v| j.moved[v].length()).fold(0.0, f64::max));
    let usable = jaw.filter(|j| most > 0.1 * j.most && most > 1e-4);
    let heights: Vec<f64> = inside.iter().map(|&v| found.positions[v].y).collect();
    let middle_y = heights.iter().sum::<f64>() / heights.len().max(1) as f64;
    for (piece, _) in &surfaces.pieces {
        let vertices: Vec<u32> =
            piece.vertices.iter().copied().filter(|&v| is_in_mouth(found.kinds[v as usize])).collect();
        let (Some(&first), Some(&t)) = (vertices.first(), piece.triangles.first()) else { continue };
        if !is_in_mouth(found.kinds[first as usize]) {
            continue;
        }
        let by_name = named_jaw(rig, surfaces, t, &vertices);
        let moves = |v: u32| usable.is_some_and(|j| j.moved[v as usize].length() > 0.15 * most);
        let n_moving = vertices.iter().filter(|&&v| moves(v)).count();
        let (few, mostly) = (10 * n_moving < vertices.len(), 10 * n_moving > 9 * vertices.len());
        for &v in &vertices {
            let lower = by_name.unwrap_or(match usable {
                Some(_) if few || mostly => mostly,
                Some(_) => moves(v),
                None => found.positions[v as usize].y < middle_y,
            });
            if lower {
                let kind = &mut found.kinds[v as usize];
                *kind =
                    if *kind == PieceKind::TeethUpper { PieceKind::TeethLower } else { PieceKind::GumsLower };
            }
        }
    }
}

/// Whether the names of the part or group of triangle `t`, or of a region that contains `vertices`, refer to
/// the lower jaw (true) or the upper one (false).
fn named_jaw(rig: &Rig, surfaces: &Surfaces, t: u32, vertices: &[u32]) -> Option<bool> {
    let source = &surfaces.sources[t as usize];
    let part = &rig.parts[source.part];
    let group = source.group.and_then(|g| part.groups.get(g)).map_or("", |g| g.name.as_str());
    let holds = |list: &[u32]| vertices.iter().all(|v| list.binary_search(v).is_ok());
    let regions = rig.regions.iter().filter(|(_, list)| holds(list)).map(|(name, _)| name.as_str());
    [part.name.as_str(), group].into_iter().chain(regions).find_map(|name| {
        let words = words(name);
        let has = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
        let (upper, lower) = (has(&["upper", "top", "maxillary"]), has(&["lower", "bottom", "mandibular"]));
        (upper != lower).then_some(lower)
    })
}

/// Among gums, whole pieces that tongueOut moves far are the tongue.
fn find_tongue(rig: &Rig, surfaces: &Surfaces, found: &mut Pieces) {
    let Some(out) = motion(rig, "tongueOut") else { return };
    let is_gum = |k: PieceKind| matches!(k, PieceKind::GumsUpper | PieceKind::GumsLower);
    for (piece, _) in &surfaces.pieces {
        let gums: Vec<u32> =
            piece.vertices.iter().copied().filter(|&v| is_gum(found.kinds[v as usize])).collect();
        let most = gums.iter().map(|&v| out.moved[v as usize].length()).fold(0.0, f64::max);
        let moving = gums.iter().filter(|&&v| out.moved[v as usize].length() > 0.1 * most).count();
        if most > 0.005 && 2 * moving > gums.len() {
            gums.iter().for_each(|&v| found.kinds[v as usize] = PieceKind::Tongue);
        }
    }
}

/// Flips the skin's triangles if the front of the face is wound inward.
fn face_outwards(found: &mut Pieces) {
    let positions: Vec<[f32; 3]> = found.positions.iter().map(|p| p.as_vec3().to_array()).collect();
    let tree = Bvh::build(&positions, &found.skin);
    let finite = || found.positions.iter().filter(|p| p.is_finite());
    let front = finite().map(|p| p.z).fold(f64::MIN, f64::max) + 0.1;
    let (mut outward, mut inward) = (0usize, 0usize);
    for &v in found.face.iter().step_by((found.face.len() / 2000).max(1)) {
        let p = found.positions[v as usize];
        if let Some(hit) = tree.ray(DVec3::new(p.x, p.y, front), DVec3::NEG_Z, f64::INFINITY) {
            *if hit.from_behind { &mut inward } else { &mut outward } += 1;
        }
    }
    if inward > outward {
        found.skin.iter_mut().for_each(|t| t.swap(1, 2));
        let what = format!(
            "the skin is inside out: {inward} of {} faces seen from the front face away",
            inward + outward
        );
        found.notes.push(Note::new(
            what,
            "it is flipped here; recalculate the normals outward in the modeling tool",
        ));
    }
}

/// The nearest skin vertex of every vertex attached to the skin.
fn carriers(found: &Pieces) -> Vec<Option<u32>> {
    let positions: Vec<[f32; 3]> = found.positions.iter().map(|p| p.as_vec3().to_array()).collect();
    let tree = Bvh::build(&positions, &found.skin);
    let hangs = |v: usize| matches!(found.kinds[v], PieceKind::Lash | PieceKind::Other);
    let carrier = |v: usize| tree.closest_vertex(found.positions[v], f64::INFINITY).map(|c| c.0);
    (0..found.kinds.len()).map(|v| if hangs(v) { carrier(v) } else { None }).collect()
}
