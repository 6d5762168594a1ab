//! Anatomy found in and carried into real heads.

use risorius_anatomy::pieces::pieces;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_mesh::progress::silent;
use risorius_tests::data;
use std::collections::BTreeMap;

const HEADS: [&str; 3] =
    ["ict_facekit/ict_expressions.glb", "makehuman_male/makehuman_head_male.glb", "facecap/facecap_plain.glb"];

#[test]
fn heads_come_apart() {
    let Some(data) = data("heads_come_apart") else { return };
    for path in HEADS {
        let rig = open_rig(&data.join(path), &OpenOptions::default(), &silent).unwrap().rig;
        let found = pieces(&rig);
        let mut counts = BTreeMap::new();
        found.kinds.iter().for_each(|k| *counts.entry(*k).or_insert(0) += 1);
        println!("{path}: {:?}\n{counts:?} {:?}", rig.parts.iter().map(|p| &p.name).collect::<Vec<_>>(), found.notes);
    }
}
