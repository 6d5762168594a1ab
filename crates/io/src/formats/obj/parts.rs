//! Builds parts from the flat lists of an OBJ file: one per `o`, or one for all if objects share vertices.

use super::ObjContent;
use super::mtl::gray;
use super::parse::{NO_COLOR, NONE, ObjFile};
use risorius_mesh::Polygons;
use risorius_rig::{FaceGroup, RawPart};
use std::collections::BTreeMap;
use std::ops::Range;

/// The range of a part's vertices and faces in the file.
struct Cut {
    name: String,
    vertices: Range<usize>,
    faces: Range<usize>,
}

/// Builds the parts. Every corner must refer to something.
pub(super) fn build(mut file: ObjFile) -> ObjContent {
    let mut cuts = cut_by_object(&file);
    let mut regions_of_objects = BTreeMap::new();
    if !cuts.iter().all(|cut| keeps_to_itself(&file, cut)) {
        let with_faces: Vec<&Cut> = cuts.iter().filter(|c| !c.faces.is_empty()).collect();
        let name = if let [only] = with_faces[..] { only.name.clone() } else { file.objects[0].name.clone() };
        if with_faces.len() > 1 {
            file.notes.push(format!(
                "{} objects share vertices, so they become one part; each object becomes a region",
                with_faces.len()
            ));
            regions_of_objects = object_regions(&file, &with_faces);
        }
        cuts = vec![Cut { name, vertices: 0..file.positions.len(), faces: 0..file.faces.len() }];
    }
    let mut parts: Vec<RawPart> = cuts.iter().map(|cut| build_part(&mut file, cut)).collect();
    if let [part] = &mut parts[..] {
        for (name, vertices) in regions_of_objects {
            part.regions.entry(name).or_insert(vertices);
        }
    }
    ObjContent {
        parts,
        materials: file.materials.iter().map(|name| gray(name)).collect(),
        material_libs: file.material_libs,
        notes: file.notes,
    }
}

fn cut_by_object(file: &ObjFile) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut first_face = 0;
    for (i, object) in file.objects.iter().enumerate() {
        let end_vertex = file.objects.get(i + 1).map_or(file.positions.len(), |o| o.first_vertex);
        let n_faces = file.faces[first_face..].partition_point(|f| f.object as usize <= i);
        let faces = first_face..first_face + n_faces;
        first_face = faces.end;
        let vertices = object.first_vertex..end_vertex;
        if !vertices.is_empty() || !faces.is_empty() {
            cuts.push(Cut { name: object.name.clone(), vertices, faces });
        }
    }
    cuts
}

fn corners_of(file: &ObjFile, faces: &Range<usize>) -> Range<usize> {
    if faces.is_empty() {
        return 0..0;
    }
    file.corner_range(faces.start).start..file.corner_range(faces.end - 1).end
}

fn keeps_to_itself(file: &ObjFile, cut: &Cut) -> bool {
    file.corners[corners_of(file, &cut.faces)].iter().all(|c| cut.vertices.contains(&(c.v as usize)))
}

fn object_regions(file: &ObjFile, cuts: &[&Cut]) -> BTreeMap<String, Vec<u32>> {
    let mut regions: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for cut in cuts {
        let corners = &file.corners[corners_of(file, &cut.faces)];
        regions.entry(cut.name.clone()).or_default().extend(corners.iter().map(|c| c.v));
    }
    regions.values_mut().for_each(sort_and_dedup);
    regions
}

fn sort_and_dedup(vertices: &mut Vec<u32>) {
    vertices.sort_unstable();
    vertices.dedup();
}

fn build_part(file: &mut ObjFile, cut: &Cut) -> RawPart {
    let first = cut.vertices.start as u32;
    let mut faces = Polygons::default();
    let mut local = Vec::new();
    for face in cut.faces.clone() {
        local.clear();
        local.extend(file.corners[file.corner_range(face)].iter().map(|c| c.v - first));
        faces.push(&local);
    }
    let corners = corners_of(file, &cut.faces);
    let n_corners = corners.len();
    let with_uv = file.corners[corners.clone()].iter().filter(|c| c.vt != NONE).count();
    let with_normal = file.corners[corners.clone()].iter().filter(|c| c.vn != NONE).count();
    if with_uv > 0 && with_uv < n_corners {
        let without = n_corners - with_uv;
        file.notes.push(format!(
            "part '{}': {without} face corners have no texture coordinate; they get 0 0",
            cut.name
        ));
    }
    if with_normal > 0 && with_normal < n_corners {
        file.notes.push(format!(
            "part '{}': some face corners have no normal, so all normals are left out",
            cut.name
        ));
    }
    let all = &file.corners[corners];
    let uv_of = |vt: u32| file.uvs.get(vt as usize).copied().unwrap_or_default();
    let corner_uvs = (with_uv > 0).then(|| all.iter().map(|c| uv_of(c.vt)).collect());
    let corner_normals = (n_corners > 0 && with_normal == n_corners)
        .then(|| all.iter().map(|c| file.normals[c.vn as usize]).collect());
    RawPart {
        name: cut.name.clone(),
        positions: file.positions[cut.vertices.clone()].to_vec(),
        faces,
        corner_uvs,
        corner_normals,
        colors: colors_of(file, cut),
        groups: face_groups(file, cut),
        shapes: Vec::new(),
        regions: group_regions(file, cut, first),
        placement: None,
    }
}

/// The colors of a part, white where a line has none; `None` when no line has any.
fn colors_of(file: &ObjFile, cut: &Cut) -> Option<Vec<[f32; 4]>> {
    let colors = file.colors.get(cut.vertices.clone())?;
    let has_any = colors.iter().any(|c| *c != NO_COLOR);
    has_any.then(|| colors.iter().map(|&c| if c == NO_COLOR { [1.0; 4] } else { c }).collect())
}

fn face_groups(file: &ObjFile, cut: &Cut) -> Vec<FaceGroup> {
    let faces = &file.faces[cut.faces.clone()];
    let mut groups = Vec::new();
    if faces.iter().all(|f| f.material == NONE) {
        return groups;
    }
    let mut last = None;
    for (first_face, face) in faces.iter().enumerate() {
        if last != Some(face.material) {
            last = Some(face.material);
            let material = (face.material != NONE).then_some(face.material as usize);
            let name = material.map_or(String::new(), |m| file.materials[m].clone());
            groups.push(FaceGroup { name, first_face, material });
        }
    }
    groups
}

/// The vertices of the faces of each `g` name, ascending.
fn group_regions(file: &ObjFile, cut: &Cut, first: u32) -> BTreeMap<String, Vec<u32>> {
    let mut by_set: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for face in cut.faces.clone() {
        let set = file.faces[face].groups;
        if set != NONE {
            let vertices = by_set.entry(set).or_default();
            vertices.extend(file.corners[file.corner_range(face)].iter().map(|c| c.v - first));
        }
    }
    let mut regions: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (set, mut vertices) in by_set {
        sort_and_dedup(&mut vertices);
        for name in &file.group_sets[set as usize] {
            regions.entry(name.clone()).or_default().extend_from_slice(&vertices);
        }
    }
    regions.values_mut().for_each(sort_and_dedup);
    regions
}
