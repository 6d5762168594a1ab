//! The flesh in a `.face` file: arrays in their memory layout, so that opening a file maps them without
//! copies.
//!
//! Data that differ between shapes are concatenated into one array, with the index at which each shape
//! begins: a rig of 900 shapes needs a dozen arrays instead of thousands. The three arrays of a group are a
//! sparse matrix in compressed row format (CSR).

use crate::IoError;
use crate::native::container::{Archive, Writer};
use risorius_flesh::{Corrective, Flesh, MaterialShape, Materials, SkinEmbedding, VolumeShape};
use serde::Serialize;

/// Names of the values in `flesh.bounds`, in the order of their numbers.
pub const BOUND_NAMES: [&str; 7] = ["skin", "cranium", "mandible", "eye", "border", "joint", "inside"];

#[derive(Serialize)]
struct FleshText {
    bounds: [&'static str; 7],
}

/// Metadata with the curves of materials.
const RESPONSES: &str = "flesh.materials.responses";

/// Adds flesh to a file.
pub fn save<'a>(flesh: &'a Flesh, file: &mut Writer<'a>) -> Result<(), IoError> {
    file.json("flesh", &FleshText { bounds: BOUND_NAMES })?;
    file.json(RESPONSES, &flesh.materials.responses)?;
    file.array("flesh.nodes", &flesh.nodes);
    file.array("flesh.tets", &flesh.tets);
    file.array("flesh.bounds", &flesh.bounds);
    file.array("flesh.embedding.vertices", &flesh.embedding.vertices);
    file.array("flesh.embedding.tets", &flesh.embedding.tets);
    file.array("flesh.embedding.weights", &flesh.embedding.weights);
    file.first("flesh.volumes.first", flesh.volumes.iter().map(|v| v.nodes.len()));
    file.lists("flesh.volumes.nodes", flesh.volumes.iter().map(|v| &*v.nodes));
    file.lists("flesh.volumes.offsets", flesh.volumes.iter().map(|v| &*v.offsets));
    let correctives = &flesh.correctives;
    file.made("flesh.correctives.shapes", correctives.iter().map(|c| c.shapes).collect());
    file.first("flesh.correctives.first", correctives.iter().map(|c| c.volume.nodes.len()));
    file.lists("flesh.correctives.nodes", correctives.iter().map(|c| &*c.volume.nodes));
    file.lists("flesh.correctives.offsets", correctives.iter().map(|c| &*c.volume.offsets));
    let materials = &flesh.materials;
    file.array("flesh.materials.mu", &materials.mu);
    file.array("flesh.materials.lambda", &materials.lambda);
    file.array("flesh.materials.density", &materials.density);
    file.array("flesh.materials.damping", &materials.damping);
    file.first("flesh.materials.shapes.first", materials.shapes.iter().map(|s| s.tets.len()));
    file.lists("flesh.materials.shapes.tets", materials.shapes.iter().map(|s| &*s.tets));
    file.lists("flesh.materials.shapes.mu", materials.shapes.iter().map(|s| &*s.mu));
    file.lists("flesh.materials.shapes.lambda", materials.shapes.iter().map(|s| &*s.lambda));
    Ok(())
}

/// Reads the flesh of a file as views into it. Indices are not checked here.
pub fn load(file: &Archive, n_shapes: usize) -> Result<Flesh, IoError> {
    let first = file.first("flesh.volumes.first", n_shapes, "shapes of the rig")?;
    let nodes = file.lists("flesh.volumes.nodes", &first)?;
    let offsets = file.lists("flesh.volumes.offsets", &first)?;
    let volumes =
        nodes.into_iter().zip(offsets).map(|(nodes, offsets)| VolumeShape { nodes, offsets }).collect();
    Ok(Flesh {
        parting_weights: Vec::new(),
        nodes: file.array("flesh.nodes")?,
        tets: file.array("flesh.tets")?,
        bounds: file.array("flesh.bounds")?,
        embedding: SkinEmbedding {
            vertices: file.array("flesh.embedding.vertices")?,
            tets: file.array("flesh.embedding.tets")?,
            weights: file.array("flesh.embedding.weights")?,
        },
        volumes,
        correctives: load_correctives(file)?,
        materials: load_materials(file, n_shapes)?,
    })
}

fn load_correctives(file: &Archive) -> Result<Vec<Corrective>, IoError> {
    let shapes = file.array::<[u32; 2]>("flesh.correctives.shapes")?;
    let first = file.first("flesh.correctives.first", shapes.len(), "pairs of shapes")?;
    let nodes = file.lists("flesh.correctives.nodes", &first)?;
    let offsets = file.lists("flesh.correctives.offsets", &first)?;
    let volumes = nodes.into_iter().zip(offsets).map(|(nodes, offsets)| VolumeShape { nodes, offsets });
    Ok(shapes.iter().zip(volumes).map(|(&shapes, volume)| Corrective { shapes, volume }).collect())
}

fn load_materials(file: &Archive, n_shapes: usize) -> Result<Materials, IoError> {
    let first = file.first("flesh.materials.shapes.first", n_shapes, "shapes of the rig")?;
    let tets = file.lists("flesh.materials.shapes.tets", &first)?;
    let mu = file.lists("flesh.materials.shapes.mu", &first)?;
    let lambda = file.lists("flesh.materials.shapes.lambda", &first)?;
    let shape = |(tets, (mu, lambda))| MaterialShape { tets, mu, lambda };
    Ok(Materials {
        mu: file.array("flesh.materials.mu")?,
        lambda: file.array("flesh.materials.lambda")?,
        density: file.array("flesh.materials.density")?,
        damping: file.array("flesh.materials.damping")?,
        shapes: tets.into_iter().zip(mu.into_iter().zip(lambda)).map(shape).collect(),
        responses: file.json(RESPONSES)?,
    })
}
