//! Builds a [`Rig`] from an importer's raw parts: joins parts, welds split vertices, gives shapes their
//! roles.
//!
//! File vertices are welded along seams: where two border edges of a part coincide, run in opposite
//! directions, and their ends are equal in position and in every shape. Vertices that coincide in the neutral
//! but separate in some shape (closed lips) stay separate, and so do pieces that merely touch (lashes on a
//! lid), since the surface there has no border. Un-welding on output is a gather by [`Part::rig_vertex`], so
//! values are restored exactly. Shapes of different parts with the same name become one shape. Unit and axes
//! are not interpreted here.

use crate::classify::roles::{self, RoleNotes, RoleTable};
use crate::model::{Deltas, FaceGroup, Material, Part, Rig, Shape, Slider};
use risorius_base::space::Space;
use risorius_mesh::Polygons;
use risorius_mesh::surface::union_find::UnionFind;
use std::collections::{BTreeMap, HashMap};

/// The output of an importer.
#[derive(Debug, Clone, Default)]
pub struct RawRig {
    /// Name of the asset.
    pub name: String,
    /// Unit and axes of the coordinates.
    pub space: Space,
    /// Materials.
    pub materials: Vec<Material>,
    /// Objects of the file, in file order.
    pub parts: Vec<RawPart>,
    /// Whether the format splits vertices at texture seams and hard edges (glTF), so that they must be
    /// welded.
    pub has_split_vertices: bool,
}

/// One object of the file, with its vertices as the file has them.
#[derive(Debug, Clone, Default)]
pub struct RawPart {
    /// Name of the object.
    pub name: String,
    /// Rest positions per file vertex.
    pub positions: Vec<[f32; 3]>,
    /// Faces over file vertices; every corner must be below `positions.len()`.
    pub faces: Polygons,
    /// See [`Part::corner_uvs`].
    pub corner_uvs: Option<Vec<[f32; 2]>>,
    /// See [`Part::corner_normals`].
    pub corner_normals: Option<Vec<[f32; 3]>>,
    /// See [`Part::colors`].
    pub colors: Option<Vec<[f32; 4]>>,
    /// See [`Part::groups`].
    pub groups: Vec<FaceGroup>,
    /// Shapes of this part; other parts may have the same names.
    pub shapes: Vec<RawShape>,
    /// Named vertex sets (file vertices), e.g. the `g` groups of an OBJ.
    pub regions: BTreeMap<String, Vec<u32>>,
    /// See [`Part::placement`].
    pub placement: Option<glam::DAffine3>,
}

/// One shape of one part.
#[derive(Debug, Clone, Default)]
pub struct RawShape {
    /// Name in the file.
    pub name: String,
    /// Displacements over file vertices: ascending, each vertex once, zeros left out.
    pub deltas: Deltas,
}

/// What assembling reports to the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssembleNotes {
    /// File vertices that were welded into another.
    pub n_welded: usize,
    /// Roles that shapes got from their names or the sidecar.
    pub roles: RoleNotes,
}

/// Joins the parts of `raw` and gives shapes their roles, by `table` where it names them and by their names
/// otherwise.
pub fn assemble(raw: RawRig, table: &RoleTable) -> (Rig, AssembleNotes) {
    let mut notes = AssembleNotes::default();
    let mut rig = Rig { name: raw.name, space: raw.space, materials: raw.materials, ..Rig::default() };
    let mut shape_of_name: HashMap<String, usize> = HashMap::new();
    let mut shapes: Vec<(String, Deltas)> = Vec::new();
    for part in raw.parts {
        let first = rig.neutral.len();
        let weld = if raw.has_split_vertices { weld(&part) } else { Weld::none(part.positions.len()) };
        notes.n_welded += part.positions.len() - weld.kept.len();
        rig.neutral.extend(weld.kept.iter().map(|&v| part.positions[v as usize]));
        let mut seen_in_part: HashMap<String, usize> = HashMap::new();
        for shape in part.shapes {
            // A name that one part uses twice means two shapes, distinguished by a number.
            let count = seen_in_part.entry(shape.name.clone()).or_insert(0);
            *count += 1;
            let name = if *count > 1 { format!("{}.{}", shape.name, count) } else { shape.name };
            let idx = *shape_of_name.entry(name).or_insert_with_key(|name| {
                shapes.push((name.clone(), Deltas::default()));
                shapes.len() - 1
            });
            append_welded(&mut shapes[idx].1, &shape.deltas, &weld, first as u32);
        }
        let rig_vertex: Vec<u32> = weld.new_of_old.iter().map(|&v| v + first as u32).collect();
        for (name, vertices) in &part.regions {
            let region = rig.regions.entry(name.clone()).or_default();
            region.extend(vertices.iter().map(|&v| rig_vertex[v as usize]));
            region.sort_unstable();
            region.dedup();
        }
        rig.parts.push(Part {
            name: part.name,
            vertices: first..rig.neutral.len(),
            rig_vertex,
            faces: part.faces,
            corner_uvs: part.corner_uvs,
            corner_normals: part.corner_normals,
            colors: part.colors,
            groups: part.groups,
            placement: part.placement,
        });
    }
    let names: Vec<&str> = shapes.iter().map(|(n, _)| n.as_str()).collect();
    let (shape_roles, slider_shapes, role_notes) = roles::resolve(&names, table);
    notes.roles = role_notes;
    rig.sliders = slider_shapes
        .iter()
        .map(|&shape| Slider {
            name: names[shape].to_string(),
            shape,
            range: table.limits.get(names[shape]).copied().unwrap_or([0.0, 1.0]),
        })
        .collect();
    rig.shapes = shapes
        .into_iter()
        .zip(shape_roles)
        .map(|((name, deltas), role)| Shape { name, role, deltas })
        .collect();
    (rig, notes)
}

/// Which file vertices are kept, and the new index of each file vertex.
struct Weld {
    kept: Vec<u32>,
    new_of_old: Vec<u32>,
}

impl Weld {
    fn none(n_vertices: usize) -> Self {
        let same: Vec<u32> = (0..n_vertices as u32).collect();
        Self { kept: same.clone(), new_of_old: same }
    }
}

/// What identifies a vertex: its position, and its displacement in each shape that moves it.
type VertexKey<'a> = ([u32; 3], &'a [(u32, [u32; 3])]);

fn weld(part: &RawPart) -> Weld {
    let n = part.positions.len();
    // Displacements of each vertex as (shape, bits), to compare whole vertices at once.
    let mut first = vec![0usize; n + 1];
    for shape in &part.shapes {
        for &v in &shape.deltas.vertices {
            first[v as usize + 1] += 1;
        }
    }
    for v in 0..n {
        first[v + 1] += first[v];
    }
    let mut next = first.clone();
    let mut moves = vec![(0u32, [0u32; 3]); first[n]];
    for (s, shape) in part.shapes.iter().enumerate() {
        for (&v, &offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            moves[next[v as usize]] = (s as u32, bits(offset));
            next[v as usize] += 1;
        }
    }
    let mut of_key: HashMap<VertexKey, u32> = HashMap::with_capacity(n);
    let twin: Vec<u32> = (0..n)
        .map(|v| *of_key.entry((bits(part.positions[v]), &moves[first[v]..first[v + 1]])).or_insert(v as u32))
        .collect();
    // The lowest index represents each welded set, so that kept vertices stay in file order.
    let mut sets = UnionFind::new(n);
    seam_pairs(part, &twin).into_iter().for_each(|[v, w]| sets.join(v, w));
    let kept: Vec<u32> = (0..n as u32).filter(|&v| sets.root(v) == v).collect();
    let mut new_of_old = vec![0; n];
    kept.iter().enumerate().for_each(|(new, &v)| new_of_old[v as usize] = new as u32);
    for v in 0..n as u32 {
        new_of_old[v as usize] = new_of_old[sets.root(v) as usize];
    }
    Weld { kept, new_of_old }
}

/// Pairs of file vertices that a seam has split: the ends of border edges that run along each other in
/// opposite directions. `twin` gives vertices that are equal in everything the same number.
fn seam_pairs(part: &RawPart, twin: &[u32]) -> Vec<[u32; 2]> {
    let directed = |f: &[u32]| (0..f.len()).map(|i| [f[i], f[(i + 1) % f.len()]]).collect::<Vec<_>>();
    let mut uses: HashMap<[u32; 2], u32> = HashMap::new();
    for [a, b] in part.faces.iter().flat_map(directed) {
        *uses.entry([a.min(b), a.max(b)]).or_insert(0) += 1;
    }
    let border =
        part.faces.iter().flat_map(directed).filter(|&[a, b]| a != b && uses[&[a.min(b), a.max(b)]] == 1);
    let mut on: HashMap<[u32; 2], Vec<[u32; 2]>> = HashMap::new();
    let border: Vec<[u32; 2]> = border.collect();
    for &edge in &border {
        on.entry(edge.map(|v| twin[v as usize])).or_default().push(edge);
    }
    let mut pairs = Vec::new();
    for [a, b] in border {
        let (here, there) = ([twin[a as usize], twin[b as usize]], [twin[b as usize], twin[a as usize]]);
        // With more than two borders on one edge, the pairing is ambiguous.
        if let Some([[c, d]]) = on.get(&there).map(Vec::as_slice)
            && on[&here].len() == 1
        {
            pairs.extend([[a, *d], [b, *c]]);
        }
    }
    pairs
}

/// Bits for exact comparison; -0 equals +0.
fn bits(v: [f32; 3]) -> [u32; 3] {
    v.map(|x| (x + 0.0).to_bits())
}

fn append_welded(into: &mut Deltas, from: &Deltas, weld: &Weld, first: u32) {
    // Kept vertices are numbered in file order, so ascending file vertices stay ascending.
    for (&v, &offset) in from.vertices.iter().zip(&from.offsets) {
        let new = weld.new_of_old[v as usize];
        if weld.kept[new as usize] == v && offset != [0.0; 3] {
            into.vertices.push(new + first);
            into.offsets.push(offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(positions: &[[f32; 3]], shapes: &[(&str, &[(u32, f32)])]) -> RawPart {
        RawPart {
            name: "skin".into(),
            positions: positions.to_vec(),
            shapes: shapes
                .iter()
                .map(|(name, moves)| RawShape {
                    name: (*name).into(),
                    deltas: Deltas {
                        vertices: moves.iter().map(|m| m.0).collect(),
                        offsets: moves.iter().map(|m| [0.0, m.1, 0.0]).collect(),
                    },
                })
                .collect(),
            ..RawPart::default()
        }
    }

    fn split_rig(part: RawPart) -> RawRig {
        RawRig { parts: vec![part], has_split_vertices: true, ..RawRig::default() }
    }

    /// Two triangles whose common edge the file has split into two, and a third, split again, that opens with
    /// the jaw.
    fn split_part() -> RawPart {
        let positions = [
            [0., 0., 0.],
            [1., 0., 0.],
            [0., 1., 0.],
            [1., 0., 0.],
            [-0., 0., 0.],
            [0., -1., 0.],
            [1., 0., 0.],
            [0., 0., 0.],
        ];
        let mut part = raw(&positions, &[("jawOpen", &[(6, -1.0), (7, -1.0)])]);
        part.faces = Polygons::from_triangles(&[[0, 1, 2], [3, 4, 5]]);
        part
    }

    #[test]
    fn seams_weld_but_closed_lips_do_not() {
        let part = split_part();
        let (rig, notes) = assemble(split_rig(part), &RoleTable::default());
        assert_eq!(rig.parts[0].rig_vertex, [0, 1, 2, 1, 0, 3, 4, 5]);
        assert_eq!(notes.n_welded, 2);
        assert_eq!(rig.shapes[0].deltas.vertices, [4, 5]);
    }

    #[test]
    fn pieces_that_touch_a_closed_surface_stay_apart() {
        let mut part = split_part();
        // The first two triangles share their edge; a card is attached to it.
        part.shapes.clear();
        part.positions.push([0.5, 0.0, 1.0]);
        part.faces = Polygons::from_triangles(&[[0, 1, 2], [1, 0, 5], [6, 7, 8]]);
        let (rig, notes) = assemble(split_rig(part), &RoleTable::default());
        assert_eq!(notes.n_welded, 0);
        assert_eq!(rig.n_vertices(), 9);
    }

    #[test]
    fn parts_share_shapes_by_name() {
        let skin = raw(&[[0.0; 3], [1.0; 3]], &[("jawOpen", &[(1, -1.0)]), ("smile", &[(0, 1.0)])]);
        let teeth = raw(&[[5.0; 3]], &[("jawOpen", &[(0, -2.0)])]);
        let (rig, _) =
            assemble(RawRig { parts: vec![skin, teeth], ..RawRig::default() }, &RoleTable::default());
        assert_eq!(rig.sliders.len(), 2);
        assert_eq!(
            rig.shapes[0].deltas,
            Deltas { vertices: vec![1, 2], offsets: vec![[0., -1., 0.], [0., -2., 0.]] }
        );
        assert_eq!(rig.parts[1].vertices, 2..3);
    }
}
