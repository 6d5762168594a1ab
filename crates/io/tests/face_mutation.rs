//! Thousands of damaged faces: no panic, no parse above a second, no more memory than the file backs.
//!
//! Damage is the same in every run; a failure names the case. Memory is counted by this binary's allocator.

mod counting;
#[path = "face/sample.rs"]
mod sample;

use counting::{ALONE, NOW, PEAK, n_cases};
use risorius_io::face;
use risorius_mesh::array::SharedBytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A header whose strings claim much does not make us take memory.
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
        // The header is where lies do most.
        let at = if below(2) == 0 { below(header.min(bytes.len())) } else { below(bytes.len()) };
        match below(6) {
            0 => bytes.truncate(at),
            1 | 2 => {
                let words = [0u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0x7fc0_0000, 0x3030_3030, 0x3939_3939];
                let word = words[below(words.len())].to_le_bytes();
                bytes.iter_mut().skip(at).zip(word).for_each(|(b, w)| *b = w);
            }
            3 => {
                let digits: Vec<usize> = (8..header.min(bytes.len())).filter(|&i| bytes[i].is_ascii_digit()).collect();
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

#[test]
fn thousands_of_damaged_faces() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let good = face::to_bytes(&sample::face()).unwrap();
    let (mut n_refused, mut slowest, mut most) = (0, Duration::ZERO, 0);
    let n = n_cases(4000);
    for case in 0..n {
        let bytes: SharedBytes = Arc::new(mutant(&good, case));
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let start = Instant::now();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (face::read(bytes.clone()), face::read_rig(bytes.clone()))
        }));
        slowest = slowest.max(start.elapsed());
        most = most.max(PEAK.load(Ordering::Relaxed).saturating_sub(before));
        let (read, _) = result.unwrap_or_else(|_| panic!("case {case} panicked"));
        match read {
            Err(error) => {
                n_refused += 1;
                assert!(error.to_string().len() < 600, "case {case}: {error}");
            }
            // What is read can be used: nothing leads out of an array.
            Ok(file) => {
                let flesh = &file.face.flesh;
                let moved = vec![glam::DVec3::ONE; flesh.n_nodes()];
                assert_eq!(flesh.embedding.apply(&flesh.tets, &moved).len(), flesh.embedding.vertices.len());
                assert!(face::to_bytes(&file.face).is_ok(), "case {case}");
            }
        }
    }
    eprintln!(
        "{n_refused} of {n} refused, slowest {slowest:?}, most memory {} KB for {} KB",
        most >> 10,
        good.len() >> 10
    );
    assert!(most < 16 * good.len() && slowest < Duration::from_secs(1) && n_refused > n / 2);
}
