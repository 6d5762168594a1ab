//! Materials: base color, roughness, and the base color picture if it is PNG or JPEG.

use super::document::Document;
use super::json::{self, TextureTransform};
use crate::IoError;
use risorius_rig::{Image, Material};

/// All materials of the file. What cannot be imported is noted and never an error, since a face is usable
/// without its pictures.
pub(super) fn materials(doc: &Document) -> Vec<Material> {
    let mut images: Vec<Option<Option<Image>>> = vec![None; doc.root.images.len()];
    let read = |(i, m): (usize, &json::Material)| {
        let name = m.name.clone().unwrap_or_else(|| format!("material{i}"));
        let pbr = &m.pbr_metallic_roughness;
        let image = pbr.base_color_texture.as_ref().and_then(|info| {
            if info.tex_coord != 0 {
                doc.note(format!(
                    "material '{name}': its picture uses TEXCOORD_{}, which is not read",
                    info.tex_coord
                ));
            }
            let source = doc.root.textures.get(info.index).and_then(|t| t.source);
            let Some(slot) = source.and_then(|s| images.get_mut(s)) else {
                doc.note(format!("material '{name}': its picture is neither PNG nor JPEG and is left out"));
                return None;
            };
            slot.get_or_insert_with(|| image(doc, source.unwrap_or(0))).clone()
        });
        Material {
            name,
            base_color: pbr.base_color_factor.unwrap_or([1.0; 4]),
            metallic: pbr.metallic_factor.unwrap_or(1.0),
            roughness: pbr.roughness_factor.unwrap_or(1.0),
            double_sided: m.double_sided,
            image,
        }
    };
    doc.root.materials.iter().enumerate().map(read).collect()
}

fn image(doc: &Document, idx: usize) -> Option<Image> {
    let place = format!("image {idx}");
    let bytes = match doc.root.images.get(idx)? {
        json::Image { uri: Some(uri), .. } => doc.fetch(uri, &place),
        json::Image { buffer_view: Some(view), .. } => copy_view(doc, *view, &place),
        _ => Ok(Vec::new()),
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) => {
            doc.note(format!("{place} could not be read and is left out: {error}"));
            return None;
        }
    };
    let Some(mime) = mime_of(&bytes) else {
        doc.note(format!("{place} is neither PNG nor JPEG and is left out"));
        return None;
    };
    Some(Image { mime: mime.into(), bytes: bytes.into() })
}

fn copy_view(doc: &Document, view: usize, place: &str) -> Result<Vec<u8>, IoError> {
    let bytes = doc.view(view, place)?.bytes;
    doc.keep(bytes.len() as u64, place)?;
    Ok(bytes.to_vec())
}

/// The type according to the first bytes, regardless of the stated type.
fn mime_of(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(&[0xFF, 0xD8, 0xFF]) {
        Some("image/jpeg")
    } else {
        None
    }
}

/// The texture transform of a material's base color picture, if it has one other than the identity.
pub(super) fn uv_transform(doc: &Document, material: Option<usize>) -> Option<TextureTransform> {
    let info = doc.root.materials.get(material?)?.pbr_metallic_roughness.base_color_texture.as_ref()?;
    info.extensions.transform.filter(|t| *t != TextureTransform::default())
}

/// Applies a texture transform: scale, then rotation (counter-clockwise, v downwards), then offset.
pub(super) fn transformed_uv(t: &TextureTransform, [u, v]: [f64; 2]) -> [f64; 2] {
    let ([ou, ov], [su, sv]) = (t.offset.unwrap_or([0.0; 2]), t.scale.unwrap_or([1.0; 2]));
    let (sin, cos) = t.rotation.sin_cos();
    let (u, v) = (u * su, v * sv);
    [ou + cos * u + sin * v, ov - sin * u + cos * v]
}
