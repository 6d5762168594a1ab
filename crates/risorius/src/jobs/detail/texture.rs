//! The texture coordinates of the skin, for painted heights and written maps.

use crate::error::{Error, Result};
use risorius_rig::lookup::unknown;
use risorius_rig::{Part, Rig};

/// Triangles of one part and the texture coordinates of their corners.
pub(super) struct Texture {
    /// Name of the part.
    pub(super) part: String,
    /// Triangles over the vertices of the rig.
    pub(super) triangles: Vec<[u32; 3]>,
    /// Texture coordinates of each corner.
    pub(super) uvs: Vec<[[f32; 2]; 3]>,
}

impl Texture {
    /// Of a part by name, or of the part with the most handles.
    pub(super) fn of(rig: &Rig, part: Option<&str>, handles: &[u32]) -> Result<Self> {
        let count = |part: &Part| handles.iter().filter(|&&v| part.vertices.contains(&(v as usize))).count();
        let part = match part {
            Some(name) => rig
                .parts
                .iter()
                .find(|p| p.name == name)
                .ok_or_else(|| unknown("part", name, rig.parts.iter().map(|p| p.name.as_str())))?,
            None => rig
                .parts
                .iter()
                .reduce(|best, p| if count(p) > count(best) { p } else { best })
                .ok_or_else(|| Error::failed("the rig has no parts"))?,
        };
        let uvs = part.triangle_uvs().ok_or_else(|| {
            let problem = format!("part '{}' of the detail's rest has no texture coordinates", part.name);
            Error::failed(format!("{problem}; learn from, or transfer to, a mesh that has them"))
        })?;
        Ok(Self { part: part.name.clone(), triangles: part.rig_triangles(), uvs })
    }
}
