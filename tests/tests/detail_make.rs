//! Wrinkles without sculpts: where skin is compressed and nowhere else, irregular, deeper with age, the same
//! every time.

use glam::Vec3;
use risorius_base::progress::no_progress;
use risorius_detail::player::PlayedFrame;
use risorius_detail::{DetailPlayer, Made, MakeOptions, make};
use risorius_head::Identity;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_rig::{Evaluator, Rig};
use risorius_tests::data;
use risorius_tests::wrinkled::landmarks;
use risorius_view::{Bounds, DrawOptions, FaceLook, Framing, draw, sheet};

/// The built-in head with the sliders that matter here.
fn head() -> Rig {
    let rig = risorius_head::build(&Identity::default()).rig;
    let begins = ["brow", "mouthSmile", "eyeSquint", "cheekSquint", "mouthPucker", "noseSneer", "jawOpen"];
    let names: Vec<&str> = rig.sliders.iter().map(|s| s.name.as_str()).collect();
    let kept: Vec<&str> = names.into_iter().filter(|n| begins.iter().any(|b| n.starts_with(b))).collect();
    rig.with_sliders(&kept)
}

struct Played {
    made: Made,
    evaluator: Evaluator,
    player: DetailPlayer,
}

impl Played {
    fn new(rig: &Rig, options: &MakeOptions) -> Self {
        let made = make(rig.clone(), options, &no_progress).unwrap();
        let player = DetailPlayer::prepare(&made.content.detail).unwrap();
        Self { made, evaluator: Evaluator::prepare(rig), player }
    }

    /// A pose of sliders whose names begin so, plain and with wrinkles.
    fn pose(&self, begins: &[&str]) -> [Vec<[f32; 3]>; 2] {
        let rest = &self.made.content.rest;
        let is_on = |name: &str| begins.iter().any(|b| name.trim_start_matches("ARKit_").starts_with(b));
        let on = |name: &str| f32::from(u8::from(is_on(name)));
        let weights: Vec<f32> = rest.rig.sliders.iter().map(|s| on(&s.name)).collect();
        let plain = rest.refinement.apply(&self.evaluator.positions(&weights));
        let (mut stage, mut positions) = (PlayedFrame::default(), Vec::new());
        self.player.on(&plain, &mut stage).unwrap();
        self.player.in_mesh_order(&stage.positions, &mut positions);
        [plain, positions]
    }

    /// How far wrinkles move each vertex in a pose, mm.
    fn moved(&self, begins: &[&str]) -> Vec<f32> {
        let [plain, with] = self.pose(begins);
        plain.iter().zip(&with).map(|(a, b)| 1000.0 * Vec3::from(*a).distance(Vec3::from(*b))).collect()
    }

    /// The largest of some values over the vertices in a box of the rest, mm.
    fn most(&self, values: &[f32], inside: impl Fn(Vec3) -> bool) -> f32 {
        let at = |v: usize| Vec3::from(self.made.content.rest.fine.neutral[v]) * 1000.0;
        (0..values.len()).filter(|&v| inside(at(v))).map(|v| values[v]).fold(0.0, f32::max)
    }
}

const BROWS_UP: [&str; 2] = ["browInnerUp", "browOuterUp"];

fn is_forehead(p: Vec3) -> bool {
    p.y > 58.0 && p.y < 98.0 && p.z > 60.0 && p.x.abs() < 45.0
}

#[test]
fn skin_folds_where_it_is_compressed_and_more_with_age() {
    let rig = head();
    let at = |age: f64| MakeOptions { age, subdivide: Some(1), count: 60, ..MakeOptions::default() };
    let (young, old) = (Played::new(&rig, &at(22.0)), Played::new(&rig, &at(70.0)));
    // Raised brows fold the forehead, and nothing below the eyes. Brows that are down stretch it.
    let up = young.moved(&BROWS_UP);
    let (forehead, below) = (young.most(&up, is_forehead), young.most(&up, |p| p.y < 0.0));
    assert!(forehead > 0.1 && below < 0.02, "{forehead} on the forehead, {below} below the eyes");
    let down = young.moved(&["browDown"]);
    let stretched = young.most(&down, |p| is_forehead(p) && p.y > 64.0);
    assert!(stretched < 0.25 * forehead, "{stretched} where skin is stretched, {forehead} where compressed");
    assert!(young.most(&down, |p| p.x.abs() < 12.0 && (36.0..58.0).contains(&p.y) && p.z > 80.0) > 0.08);
    // A smile deepens the nasolabial fold; an open jaw does not touch the forehead.
    let smile = young.moved(&["mouthSmile"]);
    let cheek = young.most(&smile, |p| p.z > 70.0 && (-50.0..-5.0).contains(&p.y));
    assert!(cheek > 0.15 && young.most(&smile, is_forehead) < 0.02, "{cheek}");
    assert!(young.most(&young.moved(&["jawOpen"]), is_forehead) < 0.02);
    // With age there are more lines, they are deeper, and some remain at rest.
    assert!(old.made.lines.len() > young.made.lines.len());
    let aged = old.most(&old.moved(&BROWS_UP), is_forehead);
    assert!(aged > 1.3 * forehead, "{aged} at 70, {forehead} at 22");
    let rest = [&young, &old].map(|p| p.most(&p.moved(&[]), |_| true));
    assert!(rest[0] < 0.01 && rest[1] > 0.15, "{rest:?} at rest");
    // Left and right differ.
    let [plain, with] = old.pose(&BROWS_UP);
    let height = |v: usize| Vec3::from(with[v]).distance(Vec3::from(plain[v]));
    let neutral = &old.made.content.rest.fine.neutral;
    let tree = risorius_mesh::Bvh::build(neutral, &old.made.content.rest.fine.triangles());
    let (mut same, mut count) = (0, 0);
    for v in
        (0..neutral.len()).filter(|&v| is_forehead(Vec3::from(neutral[v]) * 1000.0) && neutral[v][0] > 0.004)
    {
        let [x, y, z] = neutral[v].map(f64::from);
        let Some((m, _)) = tree.closest_vertex(glam::DVec3::new(-x, y, z), 1e-4) else { continue };
        count += 1;
        same += usize::from((height(v) - height(m as usize)).abs() < 0.1 * height(v).max(2e-5));
    }
    assert!(count > 100 && same * 2 < count, "{same} of {count} are mirror images");
}

#[test]
fn the_same_rig_gives_the_same_wrinkles() {
    let rig = head();
    let options = MakeOptions { subdivide: Some(0), count: 40, ..MakeOptions::default() };
    let one = make(rig.clone(), &options, &no_progress).unwrap().content.detail;
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let two = alone.install(|| make(rig.clone(), &options, &no_progress)).unwrap().content.detail;
    assert!(one.weights == two.weights && one.relief == two.relief && one.strains == two.strains);
    for (age, depth) in [(5.0, 1.0), (45.0, -1.0), (f64::NAN, 1.0)] {
        let error = make(rig.clone(), &MakeOptions { age, depth, ..options }, &no_progress).unwrap_err();
        assert!(error.to_string().contains("must be"), "{error}");
    }
    let still = Rig { sliders: Vec::new(), shapes: Vec::new(), ..rig };
    let error = make(still, &options, &no_progress).unwrap_err().to_string();
    assert!(error.contains("no shape"), "{error}");
}

/// If RISORIUS_FIGURES is set, draws the picture of the docs to that folder: four heads, raised brows and a
/// smile, without and with made wrinkles.
#[test]
fn the_picture_of_the_docs() {
    let Some(folder) = std::env::var_os("RISORIUS_FIGURES") else { return };
    let Some(data) = data("wrinkles without sculpts") else { return };
    let open = |file: &str| open_rig(&data.join(file), &OpenOptions::default(), &no_progress).unwrap().rig;
    let heads = [
        ("built-in", risorius_head::build(&Identity::default()).rig),
        ("ICT", open("ict_facekit/ict_expressions.glb")),
        ("MakeHuman", open("makehuman_male/makehuman_head_male.glb")),
        ("facecap", open("facecap/facecap.glb")),
    ];
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for (name, rig) in heads {
        let found = landmarks(&rig);
        let at = |name: &str| Vec3::from(found.iter().find(|l| l.0 == name).unwrap().1).as_dvec3();
        let unit = 0.001 / rig.space.meters_per_unit;
        let middle = at("glabella") + rig.space.up.direction() * (4.0 * unit);
        let half = glam::DVec3::splat(52.0 * unit);
        let framing = Framing::Box(Bounds { lo: middle - half, hi: middle + half });
        let played = Played::new(&rig, &MakeOptions { age: 50.0, ..MakeOptions::default() });
        let look = FaceLook::prepare(&played.made.content.rest.fine);
        let options =
            DrawOptions { width: 300, height: 300, yaw_degrees: 20.0, framing, ..DrawOptions::default() };
        let [plain, wrinkled] = played.pose(&["browInnerUp", "browOuterUp", "cheekSquint", "mouthSmile"]);
        without.push((draw(&look, &plain, &options).unwrap(), name.to_string()));
        with.push((draw(&look, &wrinkled, &options).unwrap(), format!("{name}, 50 years")));
    }
    without.append(&mut with);
    let picture = sheet(&without, 4, "Wrinkles without sculpts").unwrap();
    std::fs::write(std::path::Path::new(&folder).join("detail_make.png"), picture.encode_png()).unwrap();
}
