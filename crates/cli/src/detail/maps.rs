//! Displacement and normal maps of an animation, for those who keep a light mesh.

use super::texture::Texture;
use crate::session::Failure;
use clap::{Args, ValueEnum};
use glam::Vec3;
use risorius_detail::Detail;
use risorius_detail::frames::Fans;
use risorius_detail::maps::{Atlas, Shown};
use risorius_io::formats::picture;
use risorius_io::native::detail::Rest;
use risorius_io::output::write_whole;
use serde_json::json;
use std::path::PathBuf;

/// Arguments about maps.
#[derive(Args)]
pub struct MapArguments {
    /// Write a displacement map and a normal map of every frame to this folder, through the texture
    /// coordinates of the rest.
    #[arg(long, value_name = "DIR", conflicts_with = "markers")]
    pub maps: Option<PathBuf>,
    /// Texels along a side of the maps.
    #[arg(long, value_name = "N", default_value_t = 2048, requires = "maps")]
    #[arg(value_parser = clap::value_parser!(u32).range(16..=picture::MAX_SIDE as i64))]
    map_size: u32,
    /// What displacement maps are: heights as 16-bit PNG, or whole vectors as OpenEXR.
    #[arg(long, value_enum, default_value_t = MapKind::Png, requires = "maps")]
    map_kind: MapKind,
    /// The part whose texture coordinates are used; that with most handles when left out.
    #[arg(long, value_name = "NAME", requires = "maps")]
    map_part: Option<String>,
}

/// What displacement maps are.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum MapKind {
    /// Heights, 16 bits.
    Png,
    /// Vectors, 32-bit floats.
    Exr,
}

/// A folder that maps are written to.
pub struct Maps {
    folder: PathBuf,
    part: String,
    kind: MapKind,
    atlas: Atlas,
    fans: Fans,
    /// White is so much above the skin, black as much below, in the mesh's unit.
    range: f32,
    mm_per_unit: f64,
    n_clipped: usize,
}

impl Maps {
    /// Makes the folder; nothing when no maps are asked for.
    pub fn open(arguments: &MapArguments, rest: &Rest, detail: &Detail) -> Result<Option<Self>, Failure> {
        let Some(folder) = arguments.maps.clone() else { return Ok(None) };
        let texture = Texture::of(&rest.fine, arguments.map_part.as_deref(), &detail.shell.handles)?;
        let atlas = Atlas::prepare(&texture.triangles, &texture.uvs, [arguments.map_size as usize; 2]);
        if !atlas.is_skin().any(|skin| skin) {
            let problem = format!(
                "no triangle of part '{}' can be drawn in the square of texture coordinates",
                texture.part
            );
            return Err(Failure::could_not(format!(
                "{problem}; scale them to 0 to 1, or give another --map-part"
            )));
        }
        std::fs::create_dir_all(&folder)
            .map_err(|e| Failure::could_not(format!("{}: {e}", folder.display())))?;
        let largest = |of: &[[f32; 3]]| of.iter().map(|d| Vec3::from(*d).length()).fold(0.0, f32::max);
        let wrinkles = detail.displacements.iter().map(|of| largest(of)).fold(0.0, f32::max);
        Ok(Some(Self {
            folder,
            kind: arguments.map_kind,
            atlas,
            part: texture.part,
            fans: Fans::prepare(detail.mesh.n_vertices(), &detail.mesh.triangles),
            range: (1.25 * (wrinkles + largest(&detail.relief))).max(f32::MIN_POSITIVE),
            mm_per_unit: rest.mm_per_unit(),
            n_clipped: 0,
        }))
    }

    /// Writes the maps of a frame.
    pub fn write(&mut self, frame: usize, plain: &[[f32; 3]], moved: &[[f32; 3]]) -> Result<(), Failure> {
        let (size, range) = (self.atlas.size, self.range);
        let displaced = self.atlas.map(&self.fans, plain, moved, Shown::Displacement);
        let path = |name: &str| self.folder.join(format!("{name}.{frame:04}.{}", self.ending(name)));
        match self.kind {
            MapKind::Exr => picture::write_floats(&path("displacement"), size, &displaced)?,
            MapKind::Png => {
                let heights: Vec<f32> = displaced.iter().map(|d| 0.5 + 0.5 * d[2] / range).collect();
                picture::write_gray(&path("displacement"), size, &heights)?;
            }
        }
        let normals = self.atlas.map(&self.fans, plain, moved, Shown::Normal);
        // Where there is no skin a flat normal does no harm.
        let colors =
            normals.iter().map(|n| if *n == [0.0; 3] { [0.5, 0.5, 1.0] } else { n.map(|x| 0.5 + 0.5 * x) });
        picture::write_color(&path("normal"), size, &colors.collect::<Vec<_>>())?;
        self.n_clipped += displaced.iter().filter(|d| d[2].abs() > range).count();
        Ok(())
    }

    fn ending(&self, name: &str) -> &'static str {
        match (name, self.kind) {
            ("displacement", MapKind::Exr) => "exr",
            _ => "png",
        }
    }

    /// Says in a file what the maps mean, and what was noticed.
    pub fn finish(self, times_secs: &[f64]) -> Result<(serde_json::Value, Vec<String>), Failure> {
        let mut about = json!({
            "part": self.part, "size": self.atlas.size, "frames": times_secs.len(), "times_secs": times_secs,
            "displacement": match self.kind {
                MapKind::Png => "height along the normal; mid-gray (0.5) is none, white `range_mm` outwards, black inwards",
                MapKind::Exr => "red along u, green up in the picture, blue along the normal, in units of the mesh, `mm_per_unit` millimeters each",
            },
            "normal": "red along u, green up in the picture, blue along the normal of the plain surface; 0.5 + 0.5 n",
            "mm_per_unit": self.mm_per_unit,
        });
        let mut notes = Vec::new();
        if self.kind == MapKind::Png {
            about["range_mm"] = json!(f64::from(self.range) * self.mm_per_unit);
            if self.n_clipped > 0 {
                notes.push(format!(
                    "{} texels are beyond the range of 16-bit maps; write --map-kind exr",
                    self.n_clipped
                ));
            }
        }
        if self.atlas.n_left_out > 0 {
            let n = self.atlas.n_left_out;
            notes.push(format!(
                "{n} triangles of part '{}' are larger than the maps, or lie on many others, and are left out",
                self.part
            ));
        }
        if self.atlas.n_overlapping > 0 {
            let n = self.atlas.n_overlapping;
            notes.push(format!(
                "{n} texels of part '{}' are used by several triangles; maps show one of them",
                self.part
            ));
        }
        write_whole(&self.folder.join("maps.json"), format!("{about:#}\n").as_bytes())?;
        Ok((about, notes))
    }
}
