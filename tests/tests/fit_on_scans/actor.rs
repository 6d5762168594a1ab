//! The simulated capture `scans/actor_a` with its truth.

use glam::{DMat3, DQuat, DVec3};
use risorius_base::Rigid;
use risorius_base::progress::no_progress;
use risorius_fit::target::Target;
use risorius_fit::template::Template;
use risorius_head::Identity;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_mesh::{Similarity, TriMesh};
use risorius_rig::{Rig, meters};
use serde_json::Value;
use std::path::PathBuf;

/// The folder of the data.
pub struct Actor {
    data: PathBuf,
    truth: Value,
}

/// A scan with its landmarks.
pub struct Scan {
    pub target: Target,
    pub marks: Vec<Option<DVec3>>,
}

/// Meters in a unit of the truth.
const CM: f64 = 0.01;

fn vector(v: &Value) -> DVec3 {
    DVec3::new(v[0].as_f64().unwrap(), v[1].as_f64().unwrap(), v[2].as_f64().unwrap())
}

fn json(path: PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

impl Actor {
    pub fn open(what: &str) -> Option<Self> {
        let data = risorius_test_data::folder(what)?;
        let truth = json(data.join("scans/actor_a/truth.json"));
        Some(Self { data, truth })
    }

    fn rig(&self, path: &str) -> Rig {
        open_rig(&self.data.join(path), &OpenOptions::default(), &no_progress).unwrap().rig
    }

    pub fn template(&self) -> Template {
        let head = risorius_head::build(&Identity::default());
        let rig = self.rig("ict_facekit/ict_expressions.glb");
        Template::prepare(&rig, &head, &Default::default()).unwrap()
    }

    pub fn identities(&self) -> Rig {
        self.rig("ict_facekit/ict_identity40.glb")
    }

    pub fn scan(&self, name: &str) -> Scan {
        let rig = self.rig(&format!("scans/actor_a/{name}.ply"));
        let positions = rig.neutral.iter().map(|p| glam::Vec3::from(*p).as_dvec3()).collect();
        let marks = json(self.data.join(format!("scans/actor_a/{name}.landmarks.json")));
        let marks = marks["points"].as_array().unwrap().iter().map(|p| Some(vector(p))).collect();
        Scan { target: Target::new(TriMesh { positions, triangles: rig.triangles() }), marks }
    }

    /// From the truth (cm) to a scan.
    pub fn true_pose(&self, name: &str) -> Similarity {
        let scan = &self.truth["scans"][name];
        let rows = [vector(&scan["R"][0]), vector(&scan["R"][1]), vector(&scan["R"][2])];
        let turn = DMat3::from_cols(rows[0], rows[1], rows[2]).transpose();
        let rigid = Rigid { rotation: DQuat::from_mat3(&turn), translation: vector(&scan["t"]) };
        Similarity { rigid, scale: scan["scale"].as_f64().unwrap() }
    }

    /// The true neutral in the space of the template, as the scan's pose places it.
    pub fn truth_neutral(&self, template: &Template, pose: &Similarity, name: &str) -> Vec<DVec3> {
        let back = pose.inverse();
        let there = self.true_pose(name);
        self.true_skin(template, &[]).iter().map(|p| back.apply(there.apply(*p / CM))).collect()
    }

    /// The true skin in meters with weights of sliders.
    pub fn true_skin(&self, template: &Template, weights: &[(usize, f64)]) -> Vec<DVec3> {
        let identities = self.identities();
        let mut p = meters::neutral(&identities);
        for (k, c) in self.truth["identity"].as_array().unwrap().iter().enumerate() {
            let by = meters::displacements(&identities, k);
            p.iter_mut().zip(by).for_each(|(p, d)| *p += d * c.as_f64().unwrap());
        }
        let mut skin = template.skin_part(&p);
        for &(slider, w) in weights {
            let by = meters::displacements(&template.rig, template.rig.sliders[slider].shape);
            skin.iter_mut().zip(template.skin_part(&by)).for_each(|(p, d)| *p += d * w);
        }
        skin
    }

    pub fn weights(&self, template: &Template, name: &str) -> Vec<(usize, f64)> {
        let named = self.truth["scans"][name]["weights"].as_object().unwrap();
        named.iter().map(|(n, w)| (template.rig.slider_index(n).unwrap(), w.as_f64().unwrap())).collect()
    }
}

/// Mean and 95 % of distances between vertices, in mm.
pub fn mm(a: &[DVec3], b: &[DVec3], wanted: &[bool]) -> [f64; 2] {
    spread(a.iter().zip(b).zip(wanted).filter(|(_, w)| **w).map(|((a, b), _)| a.distance(*b) * 1e3).collect())
}

fn spread(mut all: Vec<f64>) -> [f64; 2] {
    all.sort_unstable_by(f64::total_cmp);
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    [mean, all.get(all.len() * 95 / 100).copied().unwrap_or(f64::NAN)]
}
