//! PLY: a surface as a table of vertices and a table of faces, as text or binary in either byte order.
//!
//! Read: `x y z` of any type, faces as lists of any integer types (`vertex_indices` or `vertex_index`),
//! colors `red green blue alpha` as integers of full range or as floats 0 to 1. Other elements and properties
//! are skipped. Colors are sRGB in the file and linear in the part. Counts of the header are checked against
//! the bytes that follow before anything is allocated. Triangle strips are refused.
//!
//! Files without faces are clouds of points, read with their normals `nx ny nz` by [`read_points`].
//!
//! Written: positions, faces and, where there are any, colors of one byte per component.

mod header;
mod rows;

use crate::IoError;
use crate::error::{MAX_VERTICES, check_count};
use crate::formats::color::{linear_from_srgb, srgb_from_linear};
use crate::formats::surface::{SurfaceFile, push_face};
use header::{Element, Encoding, Kind, Type};
use risorius_mesh::Polygons;
use risorius_rig::RawPart;
use rows::Rows;

const FORMAT: &str = "PLY";

/// Reads a PLY file; `name` becomes that of the part.
pub fn read(bytes: &[u8], name: &str) -> Result<SurfaceFile, IoError> {
    let (header, body) = header::parse(bytes)?;
    let mut rows = Rows::new(body, bytes.len() - body.len(), header.encoding);
    let mut surface =
        SurfaceFile { part: RawPart { name: name.into(), ..RawPart::default() }, notes: Vec::new() };
    let mut seen_vertices = false;
    for element in &header.elements {
        check_backed(element, &rows)?;
        match element.name.as_str() {
            "vertex" if !seen_vertices => {
                read_vertices(element, &mut rows, &mut surface.part)?;
                seen_vertices = true;
            }
            "face" => read_faces(element, &mut rows, &mut surface)?,
            _ => skip(element, &mut rows)?,
        }
    }
    if surface.part.positions.is_empty() {
        return Err(IoError::malformed(FORMAT, "header", "there are no vertices"));
    }
    let n_vertices = surface.part.positions.len();
    if let Some(corner) = surface.part.faces.corners().iter().position(|&v| v as usize >= n_vertices) {
        let vertex = surface.part.faces.corners()[corner];
        let problem = format!("it refers to vertex {vertex}, the file has {n_vertices} counted from 0");
        return Err(IoError::malformed(FORMAT, format!("face corner {corner}"), problem));
    }
    Ok(surface)
}

/// A cloud of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// Positions.
    pub positions: Vec<[f32; 3]>,
    /// Normals, if the file has them.
    pub normals: Option<Vec<[f32; 3]>>,
}

/// The points of a file without faces; `None` if it has faces.
pub fn read_points(bytes: &[u8]) -> Result<Option<Points>, IoError> {
    let (header, body) = header::parse(bytes)?;
    if header.elements.iter().any(|e| e.name == "face" && e.count > 0) {
        return Ok(None);
    }
    let positions = read(bytes, "points")?.part.positions;
    let mut rows = Rows::new(body, bytes.len() - body.len(), header.encoding);
    for element in &header.elements {
        if element.name != "vertex" {
            skip(element, &mut rows)?;
            continue;
        }
        let axis = |name: &str| ["nx", "ny", "nz"].iter().position(|n| *n == name);
        let axes: Vec<Option<usize>> = element.properties.iter().map(|p| axis(&p.name)).collect();
        if !(0..3).all(|k| axes.contains(&Some(k))) {
            break;
        }
        let mut normals = Vec::with_capacity(positions.len());
        for _ in 0..positions.len() {
            let mut normal = [0.0f32; 3];
            for (property, axis) in element.properties.iter().zip(&axes) {
                match (property.kind, axis) {
                    (Kind::Scalar(of_type), Some(k)) => normal[*k] = rows.scalar(of_type)? as f32,
                    _ => rows.skip(property)?,
                }
            }
            normals.push(normal);
        }
        return Ok(Some(Points { positions, normals: Some(normals) }));
    }
    Ok(Some(Points { positions, normals: None }))
}

/// Rejects element counts that the remaining bytes cannot hold.
fn check_backed(element: &Element, rows: &Rows) -> Result<(), IoError> {
    let least: u64 = element.properties.iter().map(|p| rows.least_bytes(p)).sum();
    let needed = least.saturating_mul(element.count);
    // The last number of a text file needs no separator after it.
    if needed > rows.n_left() as u64 + 1 {
        let problem = format!(
            "{} '{}' rows need at least {needed} bytes, {} are left; the file is cut off or its header is wrong",
            element.count,
            element.name,
            rows.n_left()
        );
        return Err(IoError::malformed(FORMAT, "header", problem));
    }
    Ok(())
}

/// The destination of a component of position or color, and its scale.
#[derive(Clone, Copy)]
enum Slot {
    Position(usize),
    Color(usize, f64),
    Nothing,
}

fn slot_of(name: &str, kind: Kind) -> Slot {
    let Kind::Scalar(of_type) = kind else { return Slot::Nothing };
    let color = |i| Slot::Color(i, of_type.full_range());
    match name {
        "x" => Slot::Position(0),
        "y" => Slot::Position(1),
        "z" => Slot::Position(2),
        "red" | "r" | "diffuse_red" => color(0),
        "green" | "g" | "diffuse_green" => color(1),
        "blue" | "b" | "diffuse_blue" => color(2),
        "alpha" | "a" => color(3),
        _ => Slot::Nothing,
    }
}

fn read_vertices(element: &Element, rows: &mut Rows, part: &mut RawPart) -> Result<(), IoError> {
    check_count(FORMAT, "the number of vertices", element.count, MAX_VERTICES)?;
    let slots: Vec<Slot> = element.properties.iter().map(|p| slot_of(&p.name, p.kind)).collect();
    for (axis, axis_name) in ["x", "y", "z"].iter().enumerate() {
        if !slots.iter().any(|s| matches!(s, Slot::Position(i) if *i == axis)) {
            let problem = format!("the vertices have no property '{axis_name}'; x, y and z are needed");
            return Err(IoError::malformed(FORMAT, "header", problem));
        }
    }
    let has_colors = (0..3).all(|c| slots.iter().any(|s| matches!(s, Slot::Color(i, _) if *i == c)));
    // The count was checked against the file's size in `check_backed`.
    part.positions.reserve_exact(element.count as usize);
    let mut colors = Vec::with_capacity(if has_colors { element.count as usize } else { 0 });
    for _ in 0..element.count {
        let (mut position, mut color) = ([0.0f32; 3], [1.0f64; 4]);
        for (property, slot) in element.properties.iter().zip(&slots) {
            match (property.kind, slot) {
                (Kind::Scalar(of_type), Slot::Position(i)) => position[*i] = rows.scalar(of_type)? as f32,
                (Kind::Scalar(of_type), Slot::Color(i, range)) => color[*i] = rows.scalar(of_type)? / range,
                _ => rows.skip(property)?,
            }
        }
        part.positions.push(position);
        if has_colors {
            let [r, g, b, a] = color.map(|c| if c.is_finite() { c } else { 1.0 });
            colors.push([linear_from_srgb(r), linear_from_srgb(g), linear_from_srgb(b), a].map(|c| c as f32));
        }
    }
    part.colors = has_colors.then_some(colors);
    Ok(())
}

fn read_faces(element: &Element, rows: &mut Rows, surface: &mut SurfaceFile) -> Result<(), IoError> {
    check_count(FORMAT, "the number of faces", element.count, 4 * MAX_VERTICES)?;
    let is_indices = |name: &str| name == "vertex_indices" || name == "vertex_index";
    let Some(indices) = element.properties.iter().position(|p| is_indices(&p.name)) else {
        return skip(element, rows);
    };
    let Kind::List { .. } = element.properties[indices].kind else {
        return Err(IoError::malformed(FORMAT, "header", "the faces' vertex_indices are not a list"));
    };
    let mut n_small = 0;
    let mut face: Vec<u32> = Vec::new();
    for row in 0..element.count {
        for (i, property) in element.properties.iter().enumerate() {
            match property.kind {
                Kind::List { count, of_type } if i == indices => {
                    face.clear();
                    for _ in 0..rows.list_length(count, of_type)? {
                        let index = rows.scalar(of_type)?;
                        face.push(vertex_number(index, row)?);
                    }
                }
                _ => rows.skip(property)?,
            }
        }
        push_face(&mut surface.part.faces, &face, &mut n_small);
    }
    if n_small > 0 {
        surface.notes.push(format!("{n_small} faces have fewer than three corners and are left out"));
    }
    Ok(())
}

fn vertex_number(index: f64, face: u64) -> Result<u32, IoError> {
    if index.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&index) {
        return Ok(index as u32);
    }
    Err(IoError::malformed(FORMAT, format!("face {face}"), format!("{index} is not a vertex number")))
}

fn skip(element: &Element, rows: &mut Rows) -> Result<(), IoError> {
    if element.name == "tristrips" {
        return Err(IoError::Unsupported {
            format: FORMAT,
            feature: "a surface of triangle strips".into(),
            advice: "save it with plain faces".into(),
        });
    }
    if element.properties.is_empty() {
        // Rows without properties take no bytes, regardless of their number.
        return Ok(());
    }
    for _ in 0..element.count {
        for property in &element.properties {
            rows.skip(property)?;
        }
    }
    Ok(())
}

/// The surface as a PLY file, binary little-endian or text. `colors`, if given, is one per position, linear.
///
/// Alpha is written too. Polygons are kept; if one has more than 255 corners, counts take four bytes.
pub fn write(positions: &[[f32; 3]], faces: &Polygons, colors: Option<&[[f32; 4]]>, text: bool) -> Vec<u8> {
    let wide = faces.iter().any(|f| f.len() > 255);
    let encoding = if text { Encoding::Text } else { Encoding::Little };
    let mut out = header_text(positions.len(), faces.len(), colors.is_some(), wide, encoding);
    for (i, position) in positions.iter().enumerate() {
        let color = colors.and_then(|c| c.get(i)).map(|&[r, g, b, a]| {
            let stored = [
                srgb_from_linear(r.into()),
                srgb_from_linear(g.into()),
                srgb_from_linear(b.into()),
                a.into(),
            ];
            stored.map(|c| (c * 255.0).round().clamp(0.0, 255.0) as u8)
        });
        rows::push_vertex(&mut out, position, color, encoding);
    }
    for face in faces.iter() {
        rows::push_face(&mut out, face, wide, encoding);
    }
    out
}

fn header_text(n_vertices: usize, n_faces: usize, colors: bool, wide: bool, encoding: Encoding) -> Vec<u8> {
    let mut header = format!(
        "ply\nformat {} 1.0\nelement vertex {n_vertices}\nproperty float x\nproperty float y\nproperty float z\n",
        encoding.name()
    );
    if colors {
        header += "property uchar red\nproperty uchar green\nproperty uchar blue\nproperty uchar alpha\n";
    }
    let count = if wide { Type::U32 } else { Type::U8 };
    header +=
        &format!("element face {n_faces}\nproperty list {} uint vertex_indices\nend_header\n", count.name());
    header.into_bytes()
}
