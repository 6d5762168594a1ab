//! Shapes carried between real heads of different make, against the shapes that the target's own artist
//! sculpted under the same names. The targets are stripped to bare meshes first.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_base::progress::no_progress;
use risorius_fit::{Carried, CarryOptions, FitError, carry_shapes};
use risorius_head::Identity;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_mesh::{Bvh, Similarity};
use risorius_rig::classify::names::{ARKIT, find};
use risorius_rig::{Rig, meters};
use risorius_test_data as data;
use risorius_tests::flesh::is_full;
use risorius_view::{Canvas, DrawOptions, FaceLook, draw, sheet};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

fn rigs() -> Option<BTreeMap<&'static str, Rig>> {
    let files = [
        ("ict", "ict_facekit/ict_expressions.glb"),
        ("makehuman", "makehuman_male/makehuman_head_male.glb"),
        ("facecap", "facecap/facecap_plain.glb"),
    ];
    let mut all = BTreeMap::from([("built_in", risorius_head::build(&Identity::default()).rig)]);
    for (name, path) in files {
        all.insert(name, open_rig(&data::file(path)?, &OpenOptions::default(), &no_progress).unwrap().rig);
    }
    Some(all)
}

fn stripped(rig: &Rig) -> Rig {
    Rig { shapes: Vec::new(), sliders: Vec::new(), ..rig.clone() }
}

/// The slider of a rig for an ARKit name; of several, all (sides are joined).
fn slider(rig: &Rig, name: &str) -> Option<usize> {
    let names: Vec<&str> = rig.sliders.iter().map(|s| s.name.as_str()).collect();
    find(name, names.iter().copied())
}

/// Displacements of a slider in meters.
fn moved(rig: &Rig, slider: usize) -> Vec<DVec3> {
    meters::displacements(rig, rig.sliders[slider].shape)
}

/// Displacements copied from the closest points of the source, aligned by the landmarks of both.
fn copied(source: &Rig, target: &Rig, align: &Similarity, field: &[DVec3]) -> Vec<DVec3> {
    let triangles = source.triangles();
    let place = |&p: &[f32; 3]| align.apply(source.space.to_si(p)).as_vec3().to_array();
    let tree = Bvh::build(&source.neutral.iter().map(place).collect::<Vec<_>>(), &triangles);
    let one = |&p: &[f32; 3]| {
        let hit = tree.closest_point(target.space.to_si(p), f64::INFINITY).unwrap();
        let corners = triangles[hit.triangle as usize];
        let d: DVec3 = corners.iter().zip(hit.barycentric).map(|(&v, w)| field[v as usize] * w).sum();
        align.rigid.rotation * d * align.scale
    };
    target.neutral.par_iter().map(one).collect()
}

/// The best similarity between the source's landmarks and those that were found on the bare target.
fn aligned(source: &Rig, target: &Rig, carried: &Carried) -> Similarity {
    let head = risorius_head::build(&Identity::default());
    let pieces = risorius_anatomy::pieces::pieces(source);
    let found = risorius_anatomy::find::find(source, &pieces, &head, &Default::default()).unwrap();
    let from: Vec<DVec3> = found.all.iter().map(|l| l.position).collect();
    let to: Vec<DVec3> = carried.landmarks.iter().map(|l| target.space.si_from_file() * l.1).collect();
    let weights: Vec<f64> =
        found.all.iter().zip(&carried.landmarks).map(|(a, b)| a.confidence * b.2).collect();
    Similarity::fit(&from, &to, &weights)
}

/// Mean errors in millimeters over the vertices of the skin that the target's own shape moves by more than
/// 0.5 mm.
struct Errors {
    ours: f64,
    nothing: f64,
    copied: f64,
    per_shape: Vec<(String, [f64; 3])>,
    scale: f64,
}

fn errors(source: &Rig, target: &Rig, found: &Carried) -> Errors {
    let (carried, align) = (&found.rig, aligned(source, target, found));
    let kinds = risorius_anatomy::pieces::pieces(target).kinds;
    let is_skin = |v: usize| kinds[v] == risorius_anatomy::PieceKind::Skin;
    let mut sums = [0.0; 3];
    let mut n = 0.0;
    let mut per_shape = Vec::new();
    for name in ARKIT {
        let (Some(s), Some(t), Some(c)) = (slider(source, name), slider(target, name), slider(carried, name))
        else {
            continue;
        };
        let (own, ours) = (moved(target, t), moved(carried, c));
        let copy = copied(source, target, &align, &moved(source, s));
        let mut here = [0.0; 3];
        let mut count = 0.0;
        for v in (0..own.len()).filter(|&v| is_skin(v) && own[v].length() > 0.0005) {
            let off = [ours[v].distance(own[v]), own[v].length(), copy[v].distance(own[v])];
            (0..3).for_each(|k| here[k] += off[k] * 1000.0);
            count += 1.0;
        }
        if count > 0.0 {
            (0..3).for_each(|k| sums[k] += here[k]);
            n += count;
            per_shape.push((name.to_string(), here.map(|h| h / count)));
        }
    }
    let [ours, nothing, copied] = sums.map(|s| s / n);
    Errors { ours, nothing, copied, per_shape, scale: align.scale }
}

fn picture(name: &str, source: &Rig, carried: &Carried, own: &Rig) {
    let Some(folder) = std::env::var_os("RISORIUS_PICTURES") else { return };
    let mut cells: Vec<(Canvas, String)> = Vec::new();
    for (who, rig) in [("source", source), ("carried", &carried.rig), ("own", own)] {
        let look = FaceLook::prepare(rig);
        for pose in [
            &["jawOpen"][..],
            &["mouthSmileLeft", "mouthSmileRight"],
            &["eyeBlinkLeft", "eyeBlinkRight"],
            &["mouthPucker"],
            &["browInnerUp", "mouthFunnel"],
            &["mouthLowerDownLeft", "noseSneerLeft"],
        ] {
            let mut x: Vec<Vec3> = rig.neutral.iter().map(|&p| Vec3::from(p)).collect();
            for s in pose.iter().filter_map(|n| slider(rig, n)) {
                let deltas = &rig.shapes[rig.sliders[s].shape].deltas;
                for (&v, &o) in deltas.vertices.iter().zip(&deltas.offsets) {
                    x[v as usize] += Vec3::from(o);
                }
            }
            let flat: Vec<[f32; 3]> = x.iter().map(|p| p.to_array()).collect();
            let options =
                DrawOptions { width: 420, height: 420, yaw_degrees: 18.0, ..DrawOptions::default() };
            cells.push((draw(&look, &flat, &options).unwrap(), format!("{who}: {}", pose.join(" "))));
        }
    }
    let canvas = sheet(&cells, 6, name).unwrap();
    std::fs::write(Path::new(&folder).join(format!("transfer_{name}.png")), canvas.encode_png()).unwrap();
}

#[test]
fn carried_shapes_come_near_sculpted_ones() {
    let Some(rigs) = rigs() else { return };
    let only = std::env::var("RISORIUS_PAIR").ok();
    for (from, to) in [
        ("ict", "makehuman"),
        ("makehuman", "facecap"),
        ("facecap", "ict"),
        ("built_in", "ict"),
        ("built_in", "makehuman"),
        ("built_in", "facecap"),
    ] {
        let name = format!("{from}_to_{to}");
        let is_short =
            !is_full() && only.is_none() && !["ict_to_makehuman", "built_in_to_facecap"].contains(&&*name);
        if is_short || only.as_ref().is_some_and(|o| *o != name) {
            continue;
        }
        let (source, target) = (&rigs[from], &rigs[to]);
        let start = Instant::now();
        let carried =
            carry_shapes(source, &stripped(target), &CarryOptions::default(), &no_progress).unwrap();
        let secs = start.elapsed().as_secs_f64();
        picture(&name, source, &carried, target);
        let found = errors(source, target, &carried);
        println!(
            "{name:22} {} shapes, {secs:.1} s; distance {:.2} / {:.2} mm, {} free, scale {:.3} ({:.3}); error \
             {:.2} mm, doing nothing {:.2}, closest points {:.2}; notes {:?}",
            carried.n_carried,
            carried.distance_mm[0],
            carried.distance_mm[1],
            carried.n_free,
            carried.scale,
            found.scale,
            found.ours,
            found.nothing,
            found.copied,
            carried.notes,
        );
        for (shape, [ours, nothing, copied]) in &found.per_shape {
            println!("    {shape:22} {ours:5.2}  nothing {nothing:5.2}  closest {copied:5.2}");
        }
        assert!(found.ours < 0.8 * found.nothing && found.ours < 1.1 * found.copied, "{name}");
        assert!(carried.distance_mm[0] < 1.0, "{name}");
    }
}

fn carry(source: &Rig, target: &Rig) -> Result<Carried, FitError> {
    carry_shapes(source, target, &CarryOptions::default(), &no_progress)
}

/// Another person of the same make: the shapes come near those made for that person, also in the middle of
/// the lips, where the upper one must not follow the jaw.
#[test]
fn a_relative_gets_the_shapes_that_were_made_for_it() {
    let source = risorius_head::build(&Identity::default()).rig;
    let person = Identity { width: 0.6, length: -0.5, nose: 0.8, jaw: 0.5, brow: -0.4, fat: 0.7 };
    let relative = risorius_head::build(&person);
    let target = stripped(&relative.rig);
    let found = carry(&source, &target).unwrap();
    assert_eq!(found.rig.shapes.len(), source.shapes.len());
    assert_eq!(found.rig.parts.len(), target.parts.len());
    assert_eq!(found.rig.neutral, target.neutral);
    let (mut sum, mut size, mut n) = (0.0, 0.0, 0.0);
    for (k, slider) in found.rig.sliders.iter().enumerate() {
        let own = moved(&relative.rig, relative.rig.slider_index(&slider.name).unwrap());
        let ours = moved(&found.rig, k);
        for (a, b) in own.iter().zip(&ours).filter(|(a, _)| a.length() > 0.0005) {
            (sum, size, n) = (sum + a.distance(*b), size + a.length(), n + 1.0);
        }
    }
    println!("a relative: {:.2} mm of {:.2} mm", 1000.0 * sum / n, 1000.0 * size / n);
    assert!(sum < 0.3 * size);
    let open = moved(&found.rig, found.rig.slider_index("jawOpen").unwrap());
    let lips = |region: &str| -> Vec<f64> {
        relative.rig.regions[region].iter().map(|&v| 1000.0 * open[v as usize].length()).collect()
    };
    let mean = |list: Vec<f64>| list.iter().sum::<f64>() / list.len() as f64;
    let own = moved(&relative.rig, relative.rig.slider_index("jawOpen").unwrap());
    let upper_own =
        mean(relative.rig.regions["lips_upper"].iter().map(|&v| 1000.0 * own[v as usize].length()).collect());
    let (upper, lower) = (mean(lips("lips_upper")), mean(lips("lips_lower")));
    println!("jawOpen moves the upper lip {upper:.1} mm (own {upper_own:.1}), the lower one {lower:.1} mm");
    assert!((upper - upper_own).abs() < 1.5 && lower > 3.0 * upper);
    // Eyeballs and teeth stay rigid.
    for part in found.rig.parts.iter().filter(|p| p.name.starts_with("eye") || p.name.starts_with("teeth")) {
        let [a, b] = [part.vertices.start, part.vertices.end - 1];
        let at = |v: usize| target.space.to_si(target.neutral[v]);
        for k in 0..found.rig.sliders.len() {
            let d = moved(&found.rig, k);
            let (rest, now) = (at(a).distance(at(b)), (at(a) + d[a]).distance(at(b) + d[b]));
            assert!((rest - now).abs() < 1e-5, "{} in {}", part.name, found.rig.sliders[k].name);
        }
    }
}

#[test]
fn kept_and_chosen_shapes() {
    let head = risorius_head::build(&Identity::default()).rig;
    let target = head.with_sliders(&["jawOpen", "eyeBlinkLeft"]);
    let options = CarryOptions {
        shapes: Some(vec!["jawOpen".into(), "mouthPucker".into()]),
        keep: true,
        ..CarryOptions::default()
    };
    let found = carry_shapes(&head, &target, &options, &no_progress).unwrap();
    let names: Vec<&str> = found.rig.sliders.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["eyeBlinkLeft", "jawOpen", "mouthPucker"]);
    for (k, slider) in found.rig.sliders.iter().enumerate() {
        assert_eq!(found.rig.shapes[slider.shape].name, slider.name);
        assert_eq!(found.rig.shapes[slider.shape].role, risorius_rig::Role::Slider(k));
    }
    let own = |rig: &Rig, name: &str| rig.shapes.iter().find(|s| s.name == name).unwrap().deltas.clone();
    assert_eq!(own(&found.rig, "jawOpen"), own(&target, "jawOpen"));
    assert!(found.notes.iter().any(|n| n.contains("the target's own")));
    let unknown = CarryOptions { shapes: Some(vec!["jawOpne".into()]), ..CarryOptions::default() };
    assert_eq!(
        carry_shapes(&head, &target, &unknown, &no_progress).err(),
        Some(FitError::UnknownShape { name: "jawOpne".into() })
    );
}

#[test]
fn bad_targets_are_refused_or_told() {
    let head = risorius_head::build(&Identity::default()).rig;
    let bare = stripped(&head);
    let with = |change: &dyn Fn(&mut Rig)| {
        let mut rig = bare.clone();
        change(&mut rig);
        rig
    };
    let broken = with(&|r| r.neutral[7][1] = f32::NAN);
    assert_eq!(carry(&head, &broken).err(), Some(FitError::NotFinite { mesh: "target", vertex: 7 }));
    let no_faces = with(&|r| r.parts.iter_mut().for_each(|p| p.faces = Default::default()));
    assert!(matches!(carry(&head, &no_faces).err(), Some(FitError::NoSurface { .. })));
    assert_eq!(carry(&bare, &head).err(), Some(FitError::NoShapes));
    // Inches, upside down: the shapes are as large as the head.
    let inches = with(&|r| {
        r.neutral.iter_mut().for_each(|p| *p = [-39.37 * p[0], -39.37 * p[1], 39.37 * p[2]]);
        r.space.meters_per_unit = 0.0254;
    });
    let found = carry(&head, &inches).unwrap();
    let k = found.rig.slider_index("jawOpen").unwrap();
    let most = |rig: &Rig, k: usize| rig.shapes[rig.sliders[k].shape].deltas.max_length();
    let ratio = most(&found.rig, k) / most(&head, head.slider_index("jawOpen").unwrap());
    assert!((ratio / 39.37 - 1.0).abs() < 0.1, "{ratio}");
    // A mask without eyes, teeth and the back of the head gets its shapes too.
    let mask = with(&|r| {
        let hidden = |p: [f32; 3]| p[2] < 0.02;
        let neutral = r.neutral.clone();
        r.parts.truncate(1);
        let skin = &mut r.parts[0];
        let kept: Vec<[u32; 3]> = skin
            .faces
            .triangulated()
            .into_iter()
            .filter(|t| !t.iter().any(|&v| hidden(neutral[v as usize])))
            .collect();
        skin.faces = risorius_mesh::Polygons::from_triangles(&kept);
        skin.groups.clear();
        (skin.corner_uvs, skin.corner_normals) = (None, None);
    });
    let found = carry(&head, &mask).unwrap();
    let jaw = found.rig.slider_index("jawOpen").unwrap();
    let ratio = most(&found.rig, jaw) / most(&head, head.slider_index("jawOpen").unwrap());
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}
