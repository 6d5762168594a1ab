//! Whole expressions of heads without rigs, driven by a real marker take: nothing tears, and what no marker
//! moves stays still.

use glam::{DVec3, Vec3};
use risorius_anatomy::outer::OuterSkin;
use risorius_anatomy::pieces::pieces;
use risorius_base::progress::no_progress;
use risorius_detail::attach::Attached;
use risorius_detail::player::PlayedFrame;
use risorius_detail::{DetailPlayer, Examples, LearnOptions, Rest, ShellOptions, learn};
use risorius_io::formats::markers_csv;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_mesh::FileMesh;
use risorius_rig::{Evaluator, Rig};
use risorius_tests::data;
use risorius_tests::wrinkled::{landmarks, nearest};

/// Markers that are at landmarks.
const PAIRS: [(&str, &str); 17] = [
    ("Chin", "pogonion"),
    ("Eyebrow_Center", "glabella"),
    ("Mouth_Lend", "mouth_left"),
    ("Mouth_Rend", "mouth_right"),
    ("Mouth_Up", "lip_upper_middle"),
    ("Mouth_Down", "lip_lower_middle"),
    ("NoseTop", "nasion"),
    ("NoseHead", "nose_tip"),
    ("Leye_Inside", "eye_left_inner"),
    ("Leye_Outside", "eye_left_outer"),
    ("Reye_Outside", "eye_right_outer"),
    ("Leyebrow_Inside", "brow_left_inner"),
    ("Leyebrow_Outside", "brow_left_outer"),
    ("Reyebrow_Inside", "brow_right_inner"),
    ("Reyebrow_Outside", "brow_right_outer"),
    ("Leyebrow_M", "brow_left_middle"),
    ("Reyebrow_M", "brow_right_middle"),
];

/// Ten expressions, by the beginnings of the names of their sliders.
const EXPRESSIONS: [&[&str]; 10] = [
    &["mouthSmile"],
    &["jawOpen"],
    &["browInnerUp", "browOuterUp"],
    &["browDown"],
    &["mouthPucker"],
    &["noseSneer"],
    &["eyeBlink"],
    &["mouthFrown"],
    &["eyeSquint", "cheekSquint", "cheekRaiser"],
    &["mouthFunnel"],
];

/// The visible skin of a head, and what ten examples do to it.
struct Skin {
    rest: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    /// For each triangle, whether some example turns it over.
    turned: Vec<bool>,
    /// For each side of each triangle, the largest length in the examples and at rest.
    longest: Vec<f32>,
    mm: f32,
}

impl Skin {
    fn new(rig: &Rig, examples: &[Vec<[f32; 3]>]) -> Self {
        let pieces = pieces(rig);
        let triangles = OuterSkin::new(&pieces.positions, &pieces.skin).triangles;
        let rest: Vec<Vec3> = rig.neutral.iter().map(|&p| p.into()).collect();
        let mm = (1000.0 * rig.space.meters_per_unit) as f32;
        let (turned, longest) = (vec![false; triangles.len()], Vec::new());
        let mut skin = Self { rest, triangles, turned, longest, mm };
        skin.longest = skin.lengths(&rig.neutral);
        for x in examples {
            (0..skin.triangles.len()).for_each(|t| skin.turned[t] |= skin.is_turned(t, x));
            let now = skin.lengths(x);
            skin.longest.iter_mut().zip(now).for_each(|(most, l)| *most = most.max(l));
        }
        skin
    }

    fn is_turned(&self, triangle: usize, x: &[[f32; 3]]) -> bool {
        let normal = |[a, b, c]: [Vec3; 3]| (b - a).cross(c - a);
        let t = self.triangles[triangle];
        normal(t.map(|v| self.rest[v as usize])).dot(normal(t.map(|v| x[v as usize].into()))) < 0.0
    }

    fn lengths(&self, x: &[[f32; 3]]) -> Vec<f32> {
        let sides = self.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        sides.map(|[a, b]| Vec3::from(x[a as usize]).distance(x[b as usize].into())).collect()
    }

    /// Triangles that are turned over though no example does that, and sides that are half again as long as
    /// in any example, and at least 1 mm longer.
    fn torn(&self, x: &[[f32; 3]]) -> [usize; 2] {
        let turned = (0..self.triangles.len()).filter(|&t| !self.turned[t] && self.is_turned(t, x)).count();
        let now = self.lengths(x);
        let is_torn = |(l, most): &(&f32, &f32)| **l > 1.5 * **most && (**l - **most) * self.mm > 1.0;
        [turned, now.iter().zip(&self.longest).filter(is_torn).count()]
    }
}

/// What was measured on a take.
#[derive(Debug, Default)]
struct Torn {
    /// Turned triangles and torn sides of the worst frame.
    turned: usize,
    sides: usize,
    /// Means over the frames.
    mean: [f64; 2],
    /// Largest motion within 25 mm of the crown, mm.
    crown_mm: f64,
}

/// What drives the detail.
#[derive(Debug, Clone, Copy)]
enum Handles {
    Markers,
    /// 90 handles, which follow the markers.
    Chosen,
}

/// Ten expressions of a head without their sliders, driven by a marker take.
fn measure(name: &str, file: &str, take_name: &str, kind: Handles) -> Option<Torn> {
    let data = data(name)?;
    let rig = open_rig(&data.join(file), &OpenOptions::default(), &no_progress).unwrap().rig;
    let mm = 1000.0 * rig.space.meters_per_unit;
    let evaluator = Evaluator::prepare(&rig);
    let pose = |begins: &&[&str]| {
        let is_on = |name: &str| begins.iter().any(|b| name.trim_start_matches("ARKit_").starts_with(b));
        let weights: Vec<f32> = rig.sliders.iter().map(|s| f32::from(u8::from(is_on(&s.name)))).collect();
        assert!(weights.iter().sum::<f32>() >= 1.0, "{begins:?}");
        evaluator.positions(&weights)
    };
    let positions: Vec<Vec<[f32; 3]>> = EXPRESSIONS.iter().map(pose).collect();
    let take = data.join(format!("markers/{take_name}.csv"));
    let take = markers_csv::read(&std::fs::read(take).unwrap()).unwrap().take;
    let settled = take.settled(Some(0)).unwrap();
    let mesh: FileMesh = Rest::new(rig.clone(), 0).mesh();
    let (found, vertex) = (landmarks(&rig), nearest(&mesh));
    let pair = |(marker, landmark): &(&str, &str)| {
        let marker = take.names.iter().position(|n| n == marker).unwrap();
        (marker, vertex(found.iter().find(|l| l.0 == *landmark).unwrap().1))
    };
    let pairs: Vec<(usize, u32)> = PAIRS.iter().map(pair).collect();
    let attached =
        Attached::prepare(&mesh, &settled, &pairs, &ShellOptions::default(), &no_progress).unwrap();
    let handles = match kind {
        Handles::Markers => {
            let mut handles = attached.vertices.clone();
            handles.sort_unstable();
            handles.dedup();
            handles
        }
        Handles::Chosen => {
            let far = |v: usize, p: &Vec<[f32; 3]>| Vec3::from(mesh.positions[v]).distance(p[v].into());
            let most = |v: usize| positions.iter().map(|p| far(v, p)).fold(0.0, f32::max);
            let motion: Vec<f32> = (0..mesh.n_vertices()).map(most).collect();
            risorius_detail::handles::choose(&mesh, &motion, 90).unwrap()
        }
    };
    let names = (0..positions.len()).map(|k| k.to_string()).collect();
    let examples = Examples { names, positions, plain: Vec::new() };
    let detail = learn(mesh, &handles, None, &examples, &LearnOptions::default(), &no_progress).unwrap();
    let player = DetailPlayer::prepare(&detail).unwrap();
    let skin = Skin::new(&rig, &examples.positions);
    let frames: Vec<usize> = (0..settled.frames.len()).step_by(60).collect();
    let (mut stage, mut x, mut torn) = (PlayedFrame::default(), Vec::new(), Torn::default());
    let up = rig.space.up.direction();
    let high = |p: [f32; 3]| Vec3::from(p).as_dvec3().dot(up) * mm;
    let top = skin.triangles.iter().map(|t| high(rig.neutral[t[0] as usize])).fold(f64::MIN, f64::max);
    for &frame in &frames {
        let at: Vec<DVec3> = attached.moved(&settled, frame, &handles);
        player.frame(&at, &mut stage).unwrap();
        player.in_mesh_order(&stage.positions, &mut x);
        let [turned, sides] = skin.torn(&x);
        (torn.turned, torn.sides) = (torn.turned.max(turned), torn.sides.max(sides));
        torn.mean[0] += turned as f64 / frames.len() as f64;
        torn.mean[1] += sides as f64 / frames.len() as f64;
        let crown =
            skin.triangles.iter().map(|t| t[0] as usize).filter(|&v| high(rig.neutral[v]) > top - 25.0);
        let far = crown.map(|v| f64::from(Vec3::from(x[v]).distance(rig.neutral[v].into())) * mm);
        torn.crown_mm = far.fold(torn.crown_mm, f64::max);
    }
    println!("{name}, {take_name}, {kind:?}: {torn:.1?} of {} triangles", skin.triangles.len());
    Some(torn)
}

/// The comments of each case say what was measured before strains were clamped closely and handles that move
/// counted less in the alignment. With RISORIUS_FULL there are more cases.
#[test]
fn whole_expressions_driven_by_markers_do_not_tear() {
    let (ict, makehuman) = ("ict_facekit/ict_expressions.glb", "makehuman_male/makehuman_head_male.glb");
    // The crown moved by 12.7 mm.
    let Some(torn) = measure("ICT", ict, "Jaw", Handles::Markers) else { return };
    assert!(torn.turned < 12 && torn.sides < 5 && torn.crown_mm < 6.5, "{torn:?}");
    // 31 sides were torn in the worst frame, 4.2 on average, at the lids and the corners of the mouth.
    let Some(torn) = measure("MakeHuman", makehuman, "Nose", Handles::Markers) else { return };
    assert!(torn.turned < 12 && torn.sides < 12 && torn.mean[1] < 1.0 && torn.crown_mm < 6.5, "{torn:?}");
    if std::env::var_os("RISORIUS_FULL").is_none() {
        return;
    }
    for (name, file) in [("ICT", ict), ("MakeHuman", makehuman)] {
        for (take, handles) in [
            ("Nose", Handles::Chosen),
            ("Jaw", Handles::Chosen),
            if name == "ICT" { ("Nose", Handles::Markers) } else { ("Jaw", Handles::Markers) },
        ] {
            let Some(torn) = measure(name, file, take, handles) else { return };
            assert!(torn.turned < 20 && torn.sides < 5 && torn.crown_mm < 6.5, "{torn:?}");
        }
    }
}
