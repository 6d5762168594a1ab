//! Thousands of damaged files of every format: none may panic, hang or fill memory.
//!
//! Damage is deterministic: flipped bits, cuts, digits that become huge numbers, repeated and removed pieces.
//! Memory is counted by this binary's allocator.

mod counting;

use counting::{ALONE, NOW, PEAK, n_cases};
use risorius_base::progress::no_progress;
use risorius_io::formats::clip_csv::ClipOptions;
use risorius_io::formats::{bvh, clip_csv, clip_json, head_csv, mdd, npz, obj, obj_folder, pc2, ply, stl};
use risorius_io::specs::{sidecar, weights};
use risorius_io::take_out::{TakeHeader, TakeWriter};
use risorius_mesh::Polygons;
use std::io::Cursor;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const MOST_MEMORY: usize = 256 << 20;

/// A small random number generator with the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % below.max(1) as u64) as usize
    }
}

fn mutant(sample: &[u8], seed: u64) -> Vec<u8> {
    const HUGE: [&[u8]; 8] =
        [b"4294967295", b"99999999999999999999", b"-1", b"nan", b"1e308", b"2147483647", b"0", b"123456789"];
    let mut dice = Dice(seed);
    let mut bytes = sample.to_vec();
    for _ in 0..1 + dice.roll(3) {
        let at = dice.roll(bytes.len());
        match dice.roll(7) {
            0 => bytes.truncate(at),
            1 => {
                let digits: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
                if let Some(&at) = digits.get(dice.roll(digits.len())) {
                    bytes.splice(at..=at, HUGE[dice.roll(HUGE.len())].iter().copied());
                }
            }
            2 => {
                let end = (at + 1 + dice.roll(40)).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
            3 => {
                let end = (at + 1 + dice.roll(40)).min(bytes.len());
                let piece = bytes[at.min(end)..end].to_vec();
                let to = dice.roll(bytes.len());
                bytes.splice(to..to, piece);
            }
            4 => {
                let end = (at + 4).min(bytes.len());
                bytes[at.min(end)..end].fill([0xff, 0x7f, 0x00][dice.roll(3)]);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << dice.roll(8);
                }
            }
        }
    }
    bytes
}

/// Reads the sample, which must be valid, and its mutants, some of which must be refused.
fn torture<T>(format: &str, sample: &[u8], read: impl Fn(&[u8]) -> Result<T, risorius_io::IoError>) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    read(sample).unwrap_or_else(|e| panic!("{format}: the sample is bad: {e}"));
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let (mut n_refused, mut slowest) = (0, Duration::ZERO);
    let n_mutants = n_cases(3_000);
    for seed in 0..n_mutants {
        let bytes = mutant(sample, seed);
        let start = Instant::now();
        if let Err(error) = read(&bytes) {
            n_refused += 1;
            assert!(error.to_string().len() < 600, "{format}: {error}");
        }
        slowest = slowest.max(start.elapsed());
    }
    let peak = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    eprintln!(
        "{format}: {n_refused} of {n_mutants} refused, {:.2} MB, slowest {slowest:?}",
        peak as f64 / 1e6
    );
    assert!(slowest < Duration::from_secs(1), "{format}: {slowest:?}");
    assert!(peak < MOST_MEMORY, "{format}: {peak} bytes");
    assert!(n_refused > 0, "{format}: damage goes unnoticed");
}

fn grid(n: u32) -> (Vec<[f32; 3]>, Polygons) {
    let positions = (0..n * n).map(|i| [(i % n) as f32, (i / n) as f32 * 0.5, (i as f32).sin()]).collect();
    let mut faces = Polygons::default();
    for i in (0..n - 1).flat_map(|y| (0..n - 1).map(move |x| y * n + x)) {
        faces.push(&[i, i + 1, i + 1 + n, i + n]);
    }
    (positions, faces)
}

fn obj_text() -> String {
    let (positions, faces) = grid(6);
    let mut text = String::from("mtllib a.mtl\no skin\n");
    positions.iter().for_each(|p| text += &format!("v {} {} {} 0.5 0.25 1\n", p[0], p[1], p[2]));
    text += "vt 0.5 0.25\nvn 0 0 1\ng lips skin\nusemtl red\n";
    for face in faces.iter() {
        text += "f";
        face.iter().for_each(|v| text += &format!(" {}/1/-1", v + 1));
        text += "\n";
    }
    text + "o eye\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 \\\n-1\n"
}

#[test]
fn obj_mtl_and_folders() {
    let sample = obj_text();
    torture("OBJ", sample.as_bytes(), |b| obj::read(b, "x", &no_progress));
    torture("MTL", b"newmtl red\nKd 0.5 0.25 0.125\nd 1\nTr 0.5\n", |b| {
        obj::apply_mtl(b, &mut obj::read(sample.as_bytes(), "x", &no_progress)?)
    });
    let files = |shape: &[u8]| {
        vec![("neutral".into(), sample.clone().into_bytes()), ("smile".into(), shape.to_vec())]
    };
    torture("OBJ folder", sample.as_bytes(), |b| {
        let content = obj_folder::read_files("x", &files(b), None, &no_progress)?;
        match content.left_out.into_iter().next() {
            Some(problem) => Err(risorius_io::IoError::malformed("OBJ", "", problem)),
            None => Ok(()),
        }
    });
}

#[test]
fn surfaces() {
    let (positions, faces) = grid(6);
    let colors = vec![[0.5; 4]; positions.len()];
    for text in [false, true] {
        let sample = ply::write(&positions, &faces, Some(&colors), text);
        torture(if text { "PLY text" } else { "PLY binary" }, &sample, |b| ply::read(b, "x"));
    }
    let mut binary = vec![b' '; 80];
    let mut text = String::from("solid x\n");
    let triangles = faces.triangulated();
    binary.extend((triangles.len() as u32).to_le_bytes());
    for triangle in &triangles {
        binary.extend([0; 12]);
        text += "facet normal 0 0 1\nouter loop\n";
        for p in triangle.map(|v| positions[v as usize]) {
            binary.extend(p.iter().flat_map(|x| x.to_le_bytes()));
            text += &format!("vertex {} {} {}\n", p[0], p[1], p[2]);
        }
        binary.extend([0; 2]);
        text += "endloop\nendfacet\n";
    }
    torture("STL binary", &binary, |b| stl::read(b, "x"));
    torture("STL text", text.as_bytes(), |b| stl::read(b, "x"));
}

#[test]
fn clips_and_heads() {
    let options = ClipOptions::default();
    let mut live_link = String::from("Timecode,BlendShapeCount,A,\"B,b\",HeadYaw,HeadPitch,HeadRoll\n");
    (0..80).for_each(|f| live_link += &format!("23:59:{}:{:02}.5,5,0.5,0.25,0.1,0,0\n", 58 + f / 60, f % 60));
    torture("Live Link CSV", live_link.as_bytes(), |b| clip_csv::read(b, &options));
    let mut table = String::from("time_s;a;head_tx;head_ty;head_tz;head_qx;head_qy;head_qz;head_qw\n");
    (0..40).for_each(|f| table += &format!("{};0.5;1;2;3;0;0;0;1\n", f as f32 / 30.0));
    torture("clip CSV", table.as_bytes(), |b| clip_csv::read(b, &options));
    torture("head CSV", table.as_bytes(), |b| head_csv::read(b, &options));
    let rows = clip_json::write(&clip_csv::read(table.as_bytes(), &options).unwrap().clip);
    torture("clip JSON rows", &rows, |b| clip_json::read(b, None));
    let named: Vec<String> =
        (0..40).map(|f| format!(r#"{{"time":{f},"weights":{{"a":0.5,"b{f}":1}}}}"#)).collect();
    let named = format!(r#"{{"frames":[{}]}}"#, named.join(","));
    torture("clip JSON names", named.as_bytes(), |b| clip_json::read(b, None));
    let mut motion = String::from(
        "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\n\
         JOINT Head\n{\nOFFSET 0 1 0\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\n}\n\
         MOTION\nFrames: 20\nFrame Time: 0.01\n",
    );
    (0..20).for_each(|f| motion += &format!("0 {f} 0 1 2 3 4 5 6\n"));
    torture("BVH", motion.as_bytes(), |b| bvh::read(b, None, 1.0));
}

#[test]
fn takes() {
    let (positions, faces) = grid(4);
    let header = TakeHeader {
        path: "x".into(),
        times_secs: (0..5).map(|i| f64::from(i) / 30.0).collect(),
        n_vertices: positions.len(),
        triangles: faces.triangulated(),
    };
    let written = |mut writer: Box<dyn TakeWriter<Cursor<Vec<u8>>>>| {
        (0..5).for_each(|_| writer.frame(&positions).unwrap());
        writer.finish().unwrap().into_inner()
    };
    let out = || Cursor::new(Vec::new());
    torture("MDD", &written(Box::new(mdd::MddWriter::new(out(), header.clone()).unwrap())), mdd::read);
    torture("PC2", &written(Box::new(pc2::Pc2Writer::new(out(), header.clone()).unwrap())), |b| {
        pc2::read(b, 30.0)
    });
    torture("NPZ", &written(Box::new(npz::NpzWriter::new(out(), header).unwrap())), npz::read);
}

#[test]
fn small_json() {
    let pins = br#"[{"vertices": [1, 2], "part": "skin", "axes": "xy", "times": [[0, 1.5]], "only": ["a"]},
                    {"near": [0.1, 2, 3], "within": {"y": [-0.5, 0.5]}}]"#;
    torture("pins", pins, risorius_io::open::read_pins);
    torture("weights", br#"{"jawOpen": 0.6, "smile_L": 0.25, "smile_R": 1e-3}"#, weights::read);
    let sidecar_text = br#"{"inbetweens":[{"shape":"jawOpen50","slider":"jawOpen","at":0.5}],
        "combinations":[{"shape":"fix","sliders":["smile_L","jawOpen"],"rule":"lowest"}],"sliders":["brow50"],
        "limits":{"jawOpen":[0,1]},"ignore_names":false,"regions":{"lips":[1,2,3],
        "teeth":{"part":"lower","vertices":[7],"ranges":[[10,20],[30,40]]}},"unit":"cm","up":"+Y","front":"+Z"}"#;
    torture("sidecar", sidecar_text, |b| {
        let sidecar = sidecar::read(b)?;
        sidecar.regions.iter().try_for_each(|r| r.resolve(50).map(drop))
    });
    torture("ranges", br#"{"note":"x","face":[0,40],"neck":[40,50]}"#, |b| {
        sidecar::read_ranges(b)?.iter().try_for_each(|r| r.resolve(50).map(drop))
    });
}
