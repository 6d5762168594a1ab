//! Thousands of damaged faces and details: no panic, no parse above a second, no more memory than the file
//! backs.
//!
//! Damage is the same in every run; a failure names the case. Memory is counted by this binary's allocator.

mod counting;
#[path = "face/sample.rs"]
mod sample;

use counting::{ALONE, NOW, PEAK, n_cases};
use risorius_base::array::SharedBytes;
use risorius_base::progress::no_progress;
use risorius_detail::player::PlayedFrame;
use risorius_detail::{DetailPlayer, Examples, LearnOptions, learn};
use risorius_detail::{FaceDetail, Rest};
use risorius_io::IoError;
use risorius_io::native::detail;
use risorius_io::native::face;
use risorius_mesh::Polygons;
use risorius_rig::{Part, Rig};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A header whose strings claim large sizes does not allocate much memory.
#[test]
fn long_headers_cost_no_more_than_their_length() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let parts = format!("[{}]", vec![r#"{"name":"","vertices":[0,0],"groups":[]}"#; 20_000].join(","));
    let good = face::to_bytes(&sample::face()).unwrap();
    let length = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&good[8..length]).unwrap();
    // The parts of another rig, as text within the text.
    let rig = format!(
        r#"{{"name":"","space":{{"meters_per_unit":1,"up":"+Y","front":"+Z"}},"parts":{parts},"materials":[],"images":[],"sliders":[],"shapes":[],"regions":[]}}"#
    );
    let mut root: serde_json::Value = serde_json::from_str(header).unwrap();
    root["__metadata__"]["rig"] = rig.into();
    let json = root.to_string();
    let bytes = [&(json.len() as u64).to_le_bytes(), json.as_bytes(), &good[length..]].concat();
    drop(root);
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let n_bytes = bytes.len();
    assert!(face::read(Arc::new(bytes)).is_err());
    let peak = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    eprintln!("{peak} bytes for a header of {n_bytes}");
    assert!(peak < 10 * n_bytes, "{peak} bytes for a file of {n_bytes}");
}

fn mutant(good: &[u8], case: u64) -> Vec<u8> {
    let mut state = case.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % n.max(1)
    };
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let mut bytes = good.to_vec();
    for _ in 0..=below(3) {
        // Damage in the header has the most effect.
        let at = if below(2) == 0 { below(header.min(bytes.len())) } else { below(bytes.len()) };
        match below(6) {
            0 => bytes.truncate(at),
            1 | 2 => {
                let words =
                    [0u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0x7fc0_0000, 0x3030_3030, 0x3939_3939];
                let word = words[below(words.len())].to_le_bytes();
                bytes.iter_mut().skip(at).zip(word).for_each(|(b, w)| *b = w);
            }
            3 => {
                let digits: Vec<usize> =
                    (8..header.min(bytes.len())).filter(|&i| bytes[i].is_ascii_digit()).collect();
                if let Some(&digit) = digits.get(below(digits.len())) {
                    bytes[digit] = b'0' + below(10) as u8;
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << below(8);
                }
            }
        }
    }
    bytes
}

/// Reads thousands of damaged files, passes the results to `check`, which says whether one was refused, and
/// measures the number of refusals, the longest time and the peak memory.
fn damage<T>(
    good: &[u8],
    read: impl Fn(SharedBytes) -> T,
    is_refused: impl Fn(u64, T) -> bool,
    most_times: usize,
) {
    let (mut n_refused, mut slowest, mut most) = (0, Duration::ZERO, 0);
    let n = n_cases(4000);
    for case in 0..n {
        let bytes: SharedBytes = Arc::new(mutant(good, case));
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let start = Instant::now();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(bytes.clone())));
        slowest = slowest.max(start.elapsed());
        most = most.max(PEAK.load(Ordering::Relaxed).saturating_sub(before));
        n_refused += u64::from(is_refused(case, result.unwrap_or_else(|_| panic!("case {case} panicked"))));
    }
    let [most_kb, good_kb] = [most >> 10, good.len() >> 10];
    eprintln!("{n_refused} of {n} refused, slowest {slowest:?}, most memory {most_kb} KB for {good_kb} KB");
    assert!(most < most_times * good.len() && slowest < Duration::from_secs(1) && n_refused > n / 2);
}

#[test]
fn thousands_of_damaged_faces() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let good = face::to_bytes(&sample::face()).unwrap();
    let read = |bytes: SharedBytes| (face::read(bytes.clone()), face::read_rig(bytes));
    let is_refused = |case, (read, _): (Result<face::FaceFile, IoError>, _)| match read {
        Err(error) => {
            assert!(error.to_string().len() < 600, "case {case}: {error}");
            true
        }
        // Whatever is read can be used: no index is out of range.
        Ok(file) => {
            let flesh = &file.face.flesh;
            let moved = vec![glam::DVec3::ONE; flesh.n_nodes()];
            assert_eq!(flesh.embedding.apply(&flesh.tets, &moved).len(), flesh.embedding.vertices.len());
            assert!(face::to_bytes(&file.face).is_ok(), "case {case}");
            false
        }
    };
    damage(&good, read, is_refused, 16);
}

/// A detail on a square of 6 x 6 vertices that is subdivided once.
fn detail() -> Vec<u8> {
    let neutral: Vec<[f32; 3]> = (0..36).map(|v| [(v % 6) as f32, (v / 6) as f32, 0.0]).collect();
    let corners = (0..30u32).filter(|v| v % 6 != 5);
    let triangles: Vec<[u32; 3]> = corners.flat_map(|v| [[v, v + 1, v + 7], [v, v + 7, v + 6]]).collect();
    let part = Part {
        name: "skin".into(),
        vertices: 0..36,
        rig_vertex: (0..36).collect(),
        faces: Polygons::from_triangles(&triangles),
        ..Part::default()
    };
    let rest = Rest::new(Rig { neutral, parts: vec![part], ..Rig::default() }, 1);
    let mesh = rest.mesh();
    let pose = |k: f32| {
        mesh.positions.iter().map(|p| [p[0] * (1.0 - 0.1 * k), p[1], k * (2.0 * p[0]).sin()]).collect()
    };
    let examples = Examples {
        names: vec!["a".into(), "b".into()],
        positions: vec![pose(0.5), pose(1.0)],
        plain: Vec::new(),
    };
    let detail =
        learn(mesh, &[0, 5, 14, 21, 30, 35], None, &examples, &LearnOptions::default(), &no_progress)
            .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("good.detail");
    detail::write(&FaceDetail { rest, detail }, &path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn thousands_of_damaged_details() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let good = detail();
    assert!(detail::read(Arc::new(good.clone())).is_ok());
    let is_refused = |case, read: Result<FaceDetail, IoError>| match read {
        Err(error) => {
            assert!(error.to_string().len() < 600, "case {case}: {error}");
            true
        }
        // Whatever is read can be played.
        Ok(file) => {
            let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let mut stage = PlayedFrame::default();
                DetailPlayer::prepare(&file.detail)
                    .and_then(|player| player.on(&file.detail.mesh.positions, &mut stage))
            }));
            assert!(played.is_ok(), "case {case} cannot be played");
            false
        }
    };
    damage(&good, detail::read, is_refused, 64);
}
