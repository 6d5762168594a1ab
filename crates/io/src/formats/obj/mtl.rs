//! Colors of materials from an MTL file: only `Kd` and the opacity.

use super::ObjContent;
use crate::IoError;
use crate::formats::text::{excerpt, joined_lines, number, text, tokens};
use risorius_rig::Material;

const FORMAT: &str = "MTL";

/// A material of which only the name is known.
pub(super) fn gray(name: &str) -> Material {
    Material {
        name: name.into(),
        base_color: [0.8, 0.8, 0.8, 1.0],
        metallic: 0.0,
        roughness: 0.6,
        double_sided: false,
        image: None,
    }
}

/// Gives the materials of `content` the colors that the MTL file `bytes` has for their names.
pub fn apply_mtl(bytes: &[u8], content: &mut ObjContent) -> Result<(), IoError> {
    let mut current: Option<&mut Material> = None;
    for (line, row) in joined_lines(bytes) {
        let mut words = tokens(&row);
        let Some(keyword) = words.next() else { continue };
        if keyword == b"newmtl" {
            let name = text(row.get(6..).unwrap_or_default().trim_ascii()).into_owned();
            current = content.materials.iter_mut().find(|m| m.name == name);
            continue;
        }
        let Some(material) = current.as_deref_mut() else { continue };
        let mut component = || {
            let word = words.next().unwrap_or_default();
            number::<f32>(word).filter(|x| x.is_finite()).map(|x| x.clamp(0.0, 1.0)).ok_or_else(|| {
                IoError::malformed(
                    FORMAT,
                    format!("line {line}"),
                    format!("'{}' is not a finite number", excerpt(word)),
                )
            })
        };
        match keyword {
            b"Kd" => {
                let red = component()?;
                // By the format's rules, a single number applies to all three components.
                let (green, blue) = (component().unwrap_or(red), component().unwrap_or(red));
                material.base_color[..3].copy_from_slice(&[red, green, blue]);
            }
            b"d" => material.base_color[3] = component()?,
            b"Tr" => material.base_color[3] = 1.0 - component()?,
            _ => {}
        }
    }
    Ok(())
}
