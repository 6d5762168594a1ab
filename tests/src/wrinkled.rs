//! Heads with known wrinkles: skin fine enough for wrinkles, over a real performance, with the pores of a
//! scanned face.

use glam::{DVec3, Vec3};
use risorius_anatomy::find::{Given, find};
use risorius_anatomy::pieces::pieces;
use risorius_base::progress::no_progress;
use risorius_detail::Rest;
use risorius_detail::edit::Join;
use risorius_detail::synthetic::{Refined, Wrinkles};
use risorius_detail::{Detail, Examples, Fit, LearnOptions, PoseModel, ShellOptions, handles, learn};
use risorius_head::person::Identity;
use risorius_io::formats::clip_csv::ClipOptions;
use risorius_io::formats::picture;
use risorius_io::open::{OpenOptions, open_clip, open_rig};
use risorius_mesh::FileMesh;
use risorius_mesh::{Bvh, VertexNormals};
use risorius_rig::{Evaluator, Rig};

/// Points of the scanned head of `lee_perry_smith`, by the names of landmarks.
const SCANNED: [(&str, [f32; 3]); 25] = [
    ("eye_right_outer", [-0.945, 1.581, 1.762]),
    ("eye_right_inner", [-0.269, 1.614, 2.023]),
    ("eye_left_inner", [0.258, 1.615, 1.851]),
    ("eye_left_outer", [0.814, 1.554, 1.649]),
    ("mouth_right", [-0.438, 0.344, 2.124]),
    ("mouth_left", [0.371, 0.382, 2.067]),
    ("subnasale", [-0.064, 0.866, 2.311]),
    ("lip_upper_middle", [-0.064, 0.531, 2.318]),
    ("lip_lower_middle", [-0.045, 0.233, 2.241]),
    ("chin_middle", [0.010, -0.396, 2.211]),
    ("supramentale", [-0.016, 0.029, 2.205]),
    ("nasion", [-0.052, 1.857, 2.111]),
    ("glabella", [-0.030, 2.011, 2.166]),
    ("nose_tip", [-0.088, 1.097, 2.590]),
    ("brow_right_inner", [-0.342, 1.955, 2.071]),
    ("brow_right_middle", [-0.622, 1.985, 2.020]),
    ("brow_right_outer", [-1.032, 1.832, 1.805]),
    ("brow_left_inner", [0.218, 1.982, 2.109]),
    ("brow_left_middle", [0.537, 1.951, 2.011]),
    ("brow_left_outer", [0.926, 1.851, 1.650]),
    ("rhinion", [-0.049, 1.498, 2.320]),
    ("mid_philtrum", [-0.046, 0.707, 2.311]),
    ("pogonion", [0.004, -0.172, 2.268]),
    ("lip_upper_right_peak", [-0.153, 0.529, 2.322]),
    ("lip_upper_left_peak", [0.063, 0.534, 2.282]),
];

/// Height of the scanned relief from black to white, mm.
const RELIEF_MM: f64 = 2.0;

/// A head and a performance.
pub struct WrinkledHead {
    /// For messages.
    pub name: &'static str,
    /// The artist's rig.
    pub rig: Rig,
    /// The face at rest, with its pores.
    pub mesh: FileMesh,
    refined: Refined,
    evaluator: Evaluator,
    /// Heights of pores; empty for smooth skin.
    relief: Vec<f32>,
    normals: VertexNormals,
    data: std::path::PathBuf,
}

impl WrinkledHead {
    /// The front of a rig's skin with about `size` vertices.
    pub fn open(name: &'static str, file: &str, size: usize) -> Option<Self> {
        let data = crate::data(name)?;
        let rig: Rig = open_rig(&data.join(file), &OpenOptions::default(), &no_progress).unwrap().rig;
        let refined =
            Refined::front_of(&FileMesh { positions: rig.neutral.clone(), triangles: rig.triangles() }, size);
        Some(Self {
            name,
            mesh: refined.mesh.clone(),
            normals: VertexNormals::prepare(refined.mesh.n_vertices(), &refined.mesh.triangles),
            refined,
            evaluator: Evaluator::prepare(&rig),
            relief: Vec::new(),
            rig,
            data,
        })
    }

    /// Millimeters per unit.
    pub fn mm_per_unit(&self) -> f64 {
        1000.0 * self.rig.space.meters_per_unit
    }

    /// Gives the skin the pores of the scanned head: its displacement map, transferred by landmarks.
    pub fn add_pores(&mut self) {
        let folder = self.data.join("lee_perry_smith");
        let options = OpenOptions { meters_per_unit: Some(0.051), ..OpenOptions::default() };
        let scan = open_rig(&folder.join("LeePerrySmith.glb"), &options, &no_progress).unwrap().rig;
        let scan = Rest::new(scan, 1);
        let chosen = handles::choose(&scan.mesh(), &vec![1.0; scan.fine.n_vertices()], 60).unwrap();
        let nothing = Examples::default();
        let mut detail =
            learn(scan.mesh(), &chosen, None, &nothing, &LearnOptions::default(), &no_progress).unwrap();
        let image = std::fs::read(folder.join("Infinite-Level_02_Disp_NoSmoothUV-4096.jpg")).unwrap();
        let image = picture::read(&image).unwrap();
        let part = &scan.fine.parts[0];
        let values =
            image.at_vertices(scan.fine.n_vertices(), &part.rig_triangles(), &part.triangle_uvs().unwrap());
        let height = (RELIEF_MM / scan.mm_per_unit()) as f32;
        let heights: Vec<Option<f32>> = values.into_iter().map(|v| v.map(|v| (v - 0.5) * height)).collect();
        detail.paint(0, &heights, Join::Add).unwrap();
        let landmarks = landmarks(&self.rig);
        let (on_scan, on_mesh) = (nearest(&scan.mesh()), nearest(&self.mesh));
        let pairs: Vec<[u32; 2]> = SCANNED
            .iter()
            .map(|(name, place)| {
                [on_scan(*place), on_mesh(landmarks.iter().find(|l| l.0 == *name).unwrap().1)]
            })
            .collect();
        let moved =
            detail.transferred(self.mesh.clone(), &pairs, &ShellOptions::default(), &no_progress).unwrap();
        let rest = moved.detail.rest_handles();
        let with = moved.detail.by_definition(&rest);
        let normals = self.normals.compute(&self.mesh.positions);
        let height =
            |v: usize| (with[v].as_vec3() - Vec3::from(self.mesh.positions[v])).dot(Vec3::from(normals[v]));
        self.relief = (0..with.len()).map(height).collect();
        self.mesh.positions = self.with_pores(self.mesh.positions.clone());
    }

    fn with_pores(&self, mut pose: Vec<[f32; 3]>) -> Vec<[f32; 3]> {
        let normals = self.normals.compute(&pose);
        for ((p, n), height) in pose.iter_mut().zip(&normals).zip(&self.relief) {
            *p = (Vec3::from(*p) + Vec3::from(*n) * *height).to_array();
        }
        pose
    }

    /// Slider values of frames of a performance.
    pub fn weights(&self, clip: &str, frames: impl Iterator<Item = usize>) -> Vec<Vec<f32>> {
        let clip = open_clip(&self.data.join(clip), &ClipOptions::default(), &no_progress).unwrap().clip;
        let (clip, _) = clip.bind(&self.rig).unwrap();
        frames.map(|f| clip.frame(f).to_vec()).collect()
    }

    /// Slider values: 1 for the named sliders, 0 for others.
    pub fn sliders(&self, names: &[&str]) -> Vec<f32> {
        let on = |name: &str| f32::from(u8::from(names.contains(&name)));
        assert!(names.iter().all(|n| self.rig.slider_index(n).is_some()), "{names:?}");
        self.rig.sliders.iter().map(|s| on(&s.name)).collect()
    }

    /// Poses without wrinkles.
    pub fn plain(&self, weights: &[Vec<f32>]) -> Vec<Vec<[f32; 3]>> {
        weights.iter().map(|w| self.with_pores(self.refined.fine(&self.evaluator.positions(w)))).collect()
    }

    /// Poses with wrinkles 5 mm long.
    pub fn wrinkled(&self, weights: &[Vec<f32>]) -> Vec<Vec<[f32; 3]>> {
        let wrinkles = Wrinkles::prepare(&self.refined.mesh, (5.0 / self.mm_per_unit()) as f32);
        let one =
            |w: &Vec<f32>| self.with_pores(wrinkles.on(&self.refined.fine(&self.evaluator.positions(w))));
        weights.iter().map(one).collect()
    }

    /// Handles that are dense where poses move.
    pub fn handles(&self, poses: &[Vec<[f32; 3]>], count: usize) -> Vec<u32> {
        let moved =
            |v: usize, p: &Vec<[f32; 3]>| Vec3::from(self.mesh.positions[v]).distance(Vec3::from(p[v]));
        let most = |v: usize| poses.iter().map(|p| moved(v, p)).fold(0.0, f32::max);
        handles::choose(&self.mesh, &(0..self.mesh.n_vertices()).map(most).collect::<Vec<_>>(), count)
            .unwrap()
    }

    /// Learns a detail.
    pub fn learn(&self, examples: &Examples, chosen: &[u32], model: PoseModel, fit: Fit) -> Detail {
        let options = LearnOptions { model, fit, ..LearnOptions::default() };
        learn(self.mesh.clone(), chosen, None, examples, &options, &no_progress).unwrap()
    }

    /// Root mean square distance, mm.
    pub fn off(&self, made: &[DVec3], truth: &[[f32; 3]]) -> f64 {
        let sum: f64 =
            made.iter().zip(truth).map(|(a, b)| a.distance_squared(Vec3::from(*b).as_dvec3())).sum();
        (sum / made.len() as f64).sqrt() * self.mm_per_unit()
    }
}

/// Landmarks of a rig, at its vertices.
pub fn landmarks(rig: &Rig) -> Vec<(&'static str, [f32; 3])> {
    let found =
        find(rig, &pieces(rig), &risorius_head::build(&Identity::default()), &Given::default()).unwrap();
    found.all.iter().map(|l| (l.name, rig.neutral[l.vertex as usize])).collect()
}

/// A function that finds the nearest vertex.
pub fn nearest(mesh: &FileMesh) -> impl Fn([f32; 3]) -> u32 + use<> {
    let tree = Bvh::build(&mesh.positions, &mesh.triangles);
    move |p| tree.closest_vertex(Vec3::from(p).as_dvec3(), f64::INFINITY).unwrap().0
}

/// Poses as examples.
pub fn examples(poses: Vec<Vec<[f32; 3]>>) -> Examples {
    Examples { names: (0..poses.len()).map(|k| k.to_string()).collect(), positions: poses, plain: Vec::new() }
}

/// Positions of the handles in a pose.
pub fn at(positions: &[[f32; 3]], chosen: &[u32]) -> Vec<DVec3> {
    chosen.iter().map(|&v| Vec3::from(positions[v as usize]).as_dvec3()).collect()
}
