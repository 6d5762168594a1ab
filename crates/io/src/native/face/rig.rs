//! The rig in a `.face` file: every number to the bit, including values that are not finite.
//!
//! Numbers are arrays; names, roles and references are JSON. Shapes and regions are concatenated into one
//! array each, with the indices at which they begin. Parts are few and have arrays of their own, so that a
//! part without texture coordinates has none. Pictures that several materials share are stored once.

use crate::IoError;
use crate::native::container::{Archive, Writer, damaged};
use glam::DAffine3;
use risorius_base::{Axis, Space};
use risorius_mesh::Polygons;
use risorius_rig::{
    CombinationRule, Deltas, Driver, FaceGroup, Image, Material, Part, Rig, Role, Shape, Slider,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The part of the rig that is stored as JSON.
#[derive(Serialize, Deserialize)]
struct RigText {
    name: String,
    space: SpaceText,
    parts: Vec<PartText>,
    materials: Vec<MaterialText>,
    /// Media types of the pictures.
    images: Vec<String>,
    sliders: Vec<SliderText>,
    shapes: Vec<ShapeText>,
    regions: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct SpaceText {
    meters_per_unit: f64,
    up: String,
    front: String,
}

#[derive(Serialize, Deserialize)]
struct PartText {
    name: String,
    /// First rig vertex and end.
    vertices: [usize; 2],
    groups: Vec<GroupText>,
}

#[derive(Serialize, Deserialize)]
struct GroupText {
    name: String,
    first_face: usize,
    material: Option<usize>,
}

#[derive(Serialize, Deserialize)]
struct MaterialText {
    name: String,
    double_sided: bool,
    /// Index of the picture.
    image: Option<usize>,
}

#[derive(Serialize, Deserialize)]
struct SliderText {
    name: String,
    shape: usize,
}

/// A shape and its role: `sliders` has one entry or, for a combination, several; `at` is for in-betweens.
#[derive(Serialize, Deserialize)]
struct ShapeText {
    name: String,
    role: RoleName,
    sliders: Vec<usize>,
    at: Vec<Option<f32>>,
    rule: Option<CombinationRule>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoleName {
    Slider,
    Inbetween,
    Combination,
}

/// Adds a rig to a file.
pub fn save<'a>(rig: &'a Rig, file: &mut Writer<'a>) -> Result<(), IoError> {
    let mut images: Vec<&'a Image> = Vec::new();
    let mut number_of = |image: &'a Image| {
        images.iter().position(|i| *i == image).unwrap_or_else(|| {
            images.push(image);
            images.len() - 1
        })
    };
    let materials = rig.materials.iter().map(|m| MaterialText {
        name: m.name.clone(),
        double_sided: m.double_sided,
        image: m.image.as_ref().map(&mut number_of),
    });
    let materials = materials.collect();
    let text = RigText {
        name: rig.name.clone(),
        space: SpaceText {
            meters_per_unit: rig.space.meters_per_unit,
            up: rig.space.up.to_string(),
            front: rig.space.front.to_string(),
        },
        parts: rig.parts.iter().map(part_text).collect(),
        materials,
        images: images.iter().map(|i| i.mime.clone()).collect(),
        sliders: rig.sliders.iter().map(|s| SliderText { name: s.name.clone(), shape: s.shape }).collect(),
        shapes: rig.shapes.iter().map(shape_text).collect(),
        regions: rig.regions.keys().cloned().collect(),
    };
    file.json("rig", &text)?;
    file.array("rig.neutral", &rig.neutral);
    rig.parts.iter().enumerate().for_each(|(i, part)| save_part(i, part, file));
    file.made("rig.materials.base_color", rig.materials.iter().map(|m| m.base_color).collect());
    file.made(
        "rig.materials.metallic_roughness",
        rig.materials.iter().map(|m| [m.metallic, m.roughness]).collect(),
    );
    file.first("rig.images.first", images.iter().map(|i| i.bytes.len()));
    file.lists("rig.images.bytes", images.iter().copied().map(|i| &*i.bytes));
    file.made("rig.sliders.range", rig.sliders.iter().map(|s| s.range).collect());
    file.first("rig.shapes.first", rig.shapes.iter().map(|s| s.deltas.vertices.len()));
    file.lists("rig.shapes.vertices", rig.shapes.iter().map(|s| s.deltas.vertices.as_slice()));
    file.lists("rig.shapes.offsets", rig.shapes.iter().map(|s| s.deltas.offsets.as_slice()));
    file.first("rig.regions.first", rig.regions.values().map(Vec::len));
    file.lists("rig.regions.vertices", rig.regions.values().map(Vec::as_slice));
    Ok(())
}

fn part_text(part: &Part) -> PartText {
    let group =
        |g: &FaceGroup| GroupText { name: g.name.clone(), first_face: g.first_face, material: g.material };
    PartText {
        name: part.name.clone(),
        vertices: [part.vertices.start, part.vertices.end],
        groups: part.groups.iter().map(group).collect(),
    }
}

fn shape_text(shape: &Shape) -> ShapeText {
    let (role, sliders, at, rule) = match &shape.role {
        Role::Slider(slider) => (RoleName::Slider, vec![*slider], Vec::new(), None),
        Role::Inbetween { slider, at } => (RoleName::Inbetween, vec![*slider], vec![Some(*at)], None),
        Role::Combination { drivers, rule } => {
            let sliders = drivers.iter().map(|d| d.slider).collect();
            (RoleName::Combination, sliders, drivers.iter().map(|d| d.at).collect(), Some(*rule))
        }
    };
    ShapeText { name: shape.name.clone(), role, sliders, at, rule }
}

fn save_part<'a>(number: usize, part: &'a Part, file: &mut Writer<'a>) {
    let name = |what: &str| format!("rig.parts.{number}.{what}");
    file.array(name("rig_vertex"), &part.rig_vertex);
    file.array(name("corners"), part.faces.corners());
    let mut face_first = vec![0u32];
    face_first.extend((0..part.faces.len()).map(|f| part.faces.corner_range(f).end as u32));
    file.made(name("face_first"), face_first);
    if let Some(uvs) = &part.corner_uvs {
        file.array(name("corner_uvs"), uvs);
    }
    if let Some(normals) = &part.corner_normals {
        file.array(name("corner_normals"), normals);
    }
    if let Some(colors) = &part.colors {
        file.array(name("colors"), colors);
    }
    if let Some(placement) = &part.placement {
        file.made(name("placement"), vec![placement.to_cols_array()]);
    }
}

/// Reads the rig of a file. Indices are not checked here.
pub fn load(file: &Archive) -> Result<Rig, IoError> {
    let text: RigText = file.json("rig")?;
    let regions = lists(file, "rig.regions", "vertices", text.regions.len(), "regions")?;
    let vertices = lists(file, "rig.shapes", "vertices", text.shapes.len(), "shapes")?;
    let offsets = lists(file, "rig.shapes", "offsets", text.shapes.len(), "shapes")?;
    let ranges = file.rows("rig.sliders.range", text.sliders.len(), "sliders")?;
    let mut shapes = Vec::with_capacity(text.shapes.len());
    for (shape, (vertices, offsets)) in text.shapes.into_iter().zip(vertices.into_iter().zip(offsets)) {
        let role = role(&shape).ok_or_else(|| damaged("metadata 'rig'", "a shape has no role"))?;
        shapes.push(Shape { name: shape.name, role, deltas: Deltas { vertices, offsets } });
    }
    let slider = |(s, &range): (SliderText, &[f32; 2])| Slider { name: s.name, shape: s.shape, range };
    Ok(Rig {
        name: text.name,
        space: space(&text.space)?,
        materials: load_materials(file, text.materials, &text.images)?,
        neutral: file.array("rig.neutral")?.to_vec(),
        parts: text
            .parts
            .into_iter()
            .enumerate()
            .map(|(i, p)| load_part(file, i, p))
            .collect::<Result<_, _>>()?,
        shapes,
        sliders: text.sliders.into_iter().zip(ranges.iter()).map(slider).collect(),
        regions: text.regions.into_iter().zip(regions).collect(),
    })
}

/// Lists of rows that begin at the indices in the array `group.first`.
fn lists<T: crate::native::container::Row>(
    file: &Archive,
    group: &str,
    what: &str,
    n: usize,
    each: &str,
) -> Result<Vec<Vec<T>>, IoError> {
    let first = file.first(&format!("{group}.first"), n, each)?;
    Ok(file.lists::<T>(&format!("{group}.{what}"), &first)?.iter().map(|l| l.to_vec()).collect())
}

fn space(text: &SpaceText) -> Result<Space, IoError> {
    let axis = |name: &str| {
        name.parse::<Axis>()
            .map_err(|e| damaged("metadata 'rig'", e.to_string().chars().take(80).collect::<String>()))
    };
    Ok(Space { meters_per_unit: text.meters_per_unit, up: axis(&text.up)?, front: axis(&text.front)? })
}

fn role(text: &ShapeText) -> Option<Role> {
    let slider = text.sliders.first().copied();
    match text.role {
        RoleName::Slider => Some(Role::Slider(slider?)),
        RoleName::Inbetween => Some(Role::Inbetween { slider: slider?, at: text.at.first().copied()?? }),
        RoleName::Combination if text.sliders.len() == text.at.len() => {
            let driver = |(&slider, &at): (&usize, &Option<f32>)| Driver { slider, at };
            let drivers = text.sliders.iter().zip(&text.at).map(driver).collect();
            Some(Role::Combination { drivers, rule: text.rule? })
        }
        RoleName::Combination => None,
    }
}

fn load_materials(
    file: &Archive,
    text: Vec<MaterialText>,
    mimes: &[String],
) -> Result<Vec<Material>, IoError> {
    let colors = file.rows::<[f32; 4]>("rig.materials.base_color", text.len(), "materials")?;
    let looks = file.rows::<[f32; 2]>("rig.materials.metallic_roughness", text.len(), "materials")?;
    let first = file.first("rig.images.first", mimes.len(), "pictures")?;
    let pictures = file.lists::<u8>("rig.images.bytes", &first)?;
    let image = |(mime, bytes): (&String, &risorius_base::Array<u8>)| Image {
        mime: mime.clone(),
        bytes: Arc::from(&**bytes),
    };
    let images: Vec<Image> = mimes.iter().zip(&pictures).map(image).collect();
    let material = |(i, m): (usize, MaterialText)| {
        let picture = |n: usize| {
            images
                .get(n)
                .cloned()
                .ok_or_else(|| damaged("metadata 'rig'", format!("material {i} has no picture {n}")))
        };
        Ok(Material {
            name: m.name,
            base_color: colors[i],
            metallic: looks[i][0],
            roughness: looks[i][1],
            double_sided: m.double_sided,
            image: m.image.map(picture).transpose()?,
        })
    };
    text.into_iter().enumerate().map(material).collect()
}

fn load_part(file: &Archive, number: usize, text: PartText) -> Result<Part, IoError> {
    let name = |what: &str| format!("rig.parts.{number}.{what}");
    let rig_vertex = file.array::<u32>(&name("rig_vertex"))?.to_vec();
    let corners = file.array::<u32>(&name("corners"))?;
    let first = file.array::<u32>(&name("face_first"))?;
    let whole = first.first() == Some(&0) && first.last().map(|&n| n as usize) == Some(corners.len());
    if !whole || first.windows(2).any(|w| w[0] > w[1]) {
        let array = format!("array '{}'", name("face_first"));
        return Err(damaged(array, format!("it does not ascend from 0 to the {} corners", corners.len())));
    }
    let mut faces = Polygons::default();
    first.windows(2).for_each(|w| faces.push(&corners[w[0] as usize..w[1] as usize]));
    let group = |g: GroupText| FaceGroup { name: g.name, first_face: g.first_face, material: g.material };
    let placement: Option<Vec<[f64; 12]>> = optional(file, &name("placement"), 1, "part")?;
    let placement = placement.and_then(|rows| rows.first().map(DAffine3::from_cols_array));
    if placement.is_some_and(|p| !p.is_finite() || !p.inverse().is_finite()) {
        let array = format!("array '{}'", name("placement"));
        return Err(damaged(array, "it is not a transform that can be undone"));
    }
    Ok(Part {
        placement,
        name: text.name,
        vertices: text.vertices[0]..text.vertices[1],
        corner_uvs: optional(file, &name("corner_uvs"), corners.len(), "corners")?,
        corner_normals: optional(file, &name("corner_normals"), corners.len(), "corners")?,
        colors: optional(file, &name("colors"), rig_vertex.len(), "vertices of the part")?,
        rig_vertex,
        faces,
        groups: text.groups.into_iter().map(group).collect(),
    })
}

fn optional<T: crate::native::container::Row>(
    file: &Archive,
    name: &str,
    n: usize,
    each: &str,
) -> Result<Option<Vec<T>>, IoError> {
    if !file.has(name) {
        return Ok(None);
    }
    Ok(Some(file.rows::<T>(name, n, each)?.to_vec()))
}
