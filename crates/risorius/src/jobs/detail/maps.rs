//! Displacement and normal maps of an animation, to render detail on a light mesh.

use super::texture::Texture;
use crate::error::{Error, Result};
use glam::Vec3;
use risorius_detail::frames::Fans;
use risorius_detail::maps::{Atlas, Shown};
use risorius_detail::{Detail, Rest};
use risorius_io::formats::picture;
use risorius_io::output::write_whole;
use serde::Serialize;
use std::path::PathBuf;

/// Options of the maps, which are written for every frame.
#[derive(Debug, Clone, PartialEq)]
pub struct MapOptions {
    /// Folder for the maps.
    pub folder: PathBuf,
    /// Texels along a side, 16 to 16384.
    pub size: usize,
    /// Format of displacement maps.
    pub kind: MapKind,
    /// The part whose texture coordinates are used; by default the one with the most handles.
    pub part: Option<String>,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self { folder: PathBuf::new(), size: 2048, kind: MapKind::Png, part: None }
    }
}

/// Format of displacement maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapKind {
    /// Heights along the normal, 16-bit PNG.
    #[default]
    Png,
    /// Displacement vectors, 32-bit float OpenEXR.
    Exr,
}

/// The description of the maps, written beside them as `maps.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MapsReport {
    /// The part whose texture coordinates are used.
    pub part: String,
    /// Width and height in texels.
    pub size: [usize; 2],
    /// Number of frames.
    pub frames: usize,
    /// Time of each frame.
    pub times_secs: Vec<f64>,
    /// Meaning of the channels of displacement maps.
    pub displacement: &'static str,
    /// Meaning of the channels of normal maps.
    pub normal: &'static str,
    /// Millimeters per unit of the mesh.
    pub mm_per_unit: f64,
    /// Of height maps: the displacement that white stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_mm: Option<f64>,
}

/// A folder that maps are written to.
pub(super) struct Maps {
    folder: PathBuf,
    part: String,
    kind: MapKind,
    atlas: Atlas,
    fans: Fans,
    /// White is this far above the skin, black as far below, in the mesh's unit.
    range: f32,
    mm_per_unit: f64,
    n_clipped: usize,
}

impl Maps {
    /// Creates the folder.
    pub(super) fn open(options: &MapOptions, rest: &Rest, detail: &Detail) -> Result<Self> {
        let folder = options.folder.clone();
        let texture = Texture::of(&rest.fine, options.part.as_deref(), &detail.shell.handles)?;
        let atlas = Atlas::prepare(&texture.triangles, &texture.uvs, [options.size; 2]);
        if !atlas.is_skin().any(|skin| skin) {
            let part = &texture.part;
            let problem =
                format!("no triangle of part '{part}' can be drawn in the square of texture coordinates");
            let message = format!("{problem}; scale them to 0 to 1, or choose another part");
            return Err(Error::failed(message).with_options(&["map_part"]));
        }
        std::fs::create_dir_all(&folder).map_err(|e| Error::failed(e.to_string()).in_file(&folder))?;
        let largest = |of: &[[f32; 3]]| of.iter().map(|d| Vec3::from(*d).length()).fold(0.0, f32::max);
        let wrinkles = detail.displacements.iter().map(|of| largest(of)).fold(0.0, f32::max);
        Ok(Self {
            folder,
            kind: options.kind,
            atlas,
            part: texture.part,
            fans: Fans::prepare(detail.mesh.n_vertices(), &detail.mesh.triangles),
            range: (1.25 * (wrinkles + largest(&detail.relief))).max(f32::MIN_POSITIVE),
            mm_per_unit: rest.mm_per_unit(),
            n_clipped: 0,
        })
    }

    /// Writes the maps of a frame.
    pub(super) fn write(&mut self, frame: usize, plain: &[[f32; 3]], moved: &[[f32; 3]]) -> Result<()> {
        let (size, range) = (self.atlas.size, self.range);
        let displaced = self.atlas.map(&self.fans, plain, moved, Shown::Displacement);
        let path = |name: &str, ending: &str| self.folder.join(format!("{name}.{frame:04}.{ending}"));
        match self.kind {
            MapKind::Exr => picture::write_floats(&path("displacement", "exr"), size, &displaced)?,
            MapKind::Png => {
                let heights: Vec<f32> = displaced.iter().map(|d| 0.5 + 0.5 * d[2] / range).collect();
                picture::write_gray(&path("displacement", "png"), size, &heights)?;
            }
        }
        let normals = self.atlas.map(&self.fans, plain, moved, Shown::Normal);
        // Texels without skin get a flat normal.
        let flat = [0.5, 0.5, 1.0];
        let colors = normals.iter().map(|n| if *n == [0.0; 3] { flat } else { n.map(|x| 0.5 + 0.5 * x) });
        picture::write_color(&path("normal", "png"), size, &colors.collect::<Vec<_>>())?;
        self.n_clipped += displaced.iter().filter(|d| d[2].abs() > range).count();
        Ok(())
    }

    /// Writes the description of the maps; returns it with notes.
    pub(super) fn finish(self, times_secs: &[f64]) -> Result<(MapsReport, Vec<String>)> {
        let is_png = self.kind == MapKind::Png;
        let about = MapsReport {
            part: self.part,
            size: self.atlas.size,
            frames: times_secs.len(),
            times_secs: times_secs.to_vec(),
            displacement: match self.kind {
                MapKind::Png => {
                    "height along the normal; mid-gray (0.5) is none, white `range_mm` outwards, black inwards"
                }
                MapKind::Exr => {
                    "red along u, green up in the picture, blue along the normal, in units of the mesh, \
                     `mm_per_unit` millimeters each"
                }
            },
            normal: "red along u, green up in the picture, blue along the normal of the plain surface; 0.5 + 0.5 n",
            mm_per_unit: self.mm_per_unit,
            range_mm: is_png.then_some(f64::from(self.range) * self.mm_per_unit),
        };
        let part = &about.part;
        let noted = [
            (
                self.n_clipped * usize::from(is_png),
                "texels",
                "are clipped to the range of 16-bit maps; set `map_kind` to exr to avoid it",
            ),
            (
                self.atlas.n_left_out,
                "triangles",
                "are larger than the maps, or overlap many others, and are left out",
            ),
            (self.atlas.n_overlapping, "texels", "are used by several triangles; maps show one of them"),
        ];
        let note = |(n, what, problem): (usize, &str, &str)| format!("{n} {what} of part '{part}' {problem}");
        let notes = noted.into_iter().filter(|(n, ..)| *n > 0).map(note).collect();
        let json = serde_json::to_value(&about).unwrap_or_default();
        write_whole(&self.folder.join("maps.json"), format!("{json:#}\n").as_bytes())?;
        Ok((about, notes))
    }
}
