//! Thousands of damaged files: no panic, no parse longer than a second, no more than 512 MB of memory.
//!
//! Damage is drawn from a fixed seed; a failure names the case, so that it can be reproduced. Memory is
//! counted by the allocator, which ufbx uses as well.

#[path = "fbx/binary.rs"]
mod binary_fbx;
mod counting;
#[path = "gltf/synthetic.rs"]
mod synthetic;

use counting::{ALONE, NOW, PEAK, n_cases};
use risorius_base::progress::no_progress;
use risorius_io::IoError;
use risorius_io::formats::gltf::{GlbOptions, WeightTrack, write_glb};
use risorius_io::formats::{fbx, gltf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A small generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }
}

const WORDS: [u32; 8] = [0, 1, 3, 0x7F, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, u32::MAX];
const NUMBERS: [&str; 9] =
    ["0", "-1", "1", "3", "255", "65536", "4294967295", "18446744073709551615", "1e300"];

/// Flips bits, overwrites words or cuts off the end.
fn damage_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    match random.below(8) {
        0 => bytes.truncate(random.below(bytes.len())),
        1..=3 => {
            let at = random.below(bytes.len().saturating_sub(4));
            let word = WORDS[random.below(WORDS.len())].to_le_bytes();
            bytes.iter_mut().skip(at).zip(word).for_each(|(b, w)| *b = w);
        }
        _ => {
            let at = random.below(bytes.len());
            if let Some(b) = bytes.get_mut(at) {
                *b ^= 1 << random.below(8);
            }
        }
    }
}

/// Replaces a number in text.
fn damage_number(text: &mut Vec<u8>, random: &mut Random) {
    let starts: Vec<usize> = (1..text.len())
        .filter(|&i| {
            text[i].is_ascii_digit() && matches!(text[i - 1], b':' | b',' | b'[' | b'*' | b' ' | b'-')
        })
        .collect();
    let Some(&start) = starts.get(random.below(starts.len())) else { return };
    let is_number = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-' | b'+');
    let end = start + text[start..].iter().take_while(|b| is_number(b)).count();
    text.splice(start..end, NUMBERS[random.below(NUMBERS.len())].bytes());
}

/// Damages a GLB: its bytes, or a number in its JSON with the lengths put right.
fn damage_glb(glb: &[u8], random: &mut Random) -> Vec<u8> {
    let mut glb = glb.to_vec();
    for _ in 0..=random.below(3) {
        let json_len = u32::from_le_bytes([glb[12], glb[13], glb[14], glb[15]]) as usize;
        if random.below(4) == 0 || 20 + json_len > glb.len() {
            damage_bytes(&mut glb, random);
            return glb;
        }
        let mut json = glb[20..20 + json_len].to_vec();
        damage_number(&mut json, random);
        json.resize(json.len().next_multiple_of(4), b' ');
        let length = (json.len() as u32).to_le_bytes();
        glb.splice(20..20 + json_len, json);
        glb[12..16].copy_from_slice(&length);
        let total = (glb.len() as u32).to_le_bytes();
        glb[8..12].copy_from_slice(&total);
    }
    glb
}

fn damage_text(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=random.below(3) {
        if random.below(3) == 0 { damage_bytes(&mut text, random) } else { damage_number(&mut text, random) }
    }
    text
}

fn read_gltf(bytes: &[u8]) -> Result<usize, IoError> {
    let nothing = |path: &str| Err(IoError::malformed("test", path, "there are no other files"));
    gltf::read(bytes, &nothing, &no_progress).map(|c| c.raw.parts.len())
}

fn read_fbx(bytes: &[u8]) -> Result<usize, IoError> {
    fbx::read(bytes, &no_progress).map(|c| c.raw.parts.len())
}

/// Reads `n` damaged files; returns how many could still be read.
fn survive(
    name: &str,
    n: u64,
    good: &[u8],
    damage: impl Fn(&[u8], &mut Random) -> Vec<u8>,
    read: impl Fn(&[u8]) -> Result<usize, IoError> + std::panic::RefUnwindSafe,
) -> u64 {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    assert!(read(good).unwrap() > 0, "{name}");
    let (mut still_read, mut slowest, mut largest) = (0, Duration::ZERO, 0);
    let n = n_cases(n);
    for case in 0..n {
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (case + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9));
        let bytes = damage(good, &mut random);
        let mut time = Duration::MAX;
        // A busy machine may be slow once, not three times.
        for _ in 0..3 {
            PEAK.store(NOW.load(Ordering::Relaxed), Ordering::Relaxed);
            let before = NOW.load(Ordering::Relaxed);
            let start = Instant::now();
            let result = std::panic::catch_unwind(|| read(&bytes));
            time = time.min(start.elapsed());
            let peak = PEAK.load(Ordering::Relaxed).saturating_sub(before);
            largest = largest.max(peak);
            assert!(peak < 512 << 20, "{name} case {case}: {peak} bytes");
            let result = result.unwrap_or_else(|_| panic!("{name} case {case} panicked"));
            if time < Duration::from_secs(1) {
                still_read += u64::from(result.is_ok());
                break;
            }
        }
        assert!(time < Duration::from_secs(1), "{name} case {case}: {time:?}");
        slowest = slowest.max(time);
    }
    eprintln!(
        "{name}: {n} files, {still_read} still read, slowest {slowest:?}, most memory {} KB",
        largest >> 10
    );
    still_read
}

fn small_rig(as_text: bool) -> Vec<u8> {
    let track = WeightTrack { times_secs: vec![0.0, 0.5], coefficients: vec![0.0, 0.1, 0.7, 0.2] };
    let options = GlbOptions { as_text, animation: Some(&track), ..GlbOptions::default() };
    write_glb(&synthetic::rig(), &options).unwrap()
}

#[test]
fn damaged_glb() {
    assert!(survive("GLB", 6000, &small_rig(false), damage_glb, read_gltf) > 0);
}

#[test]
fn damaged_gltf_text() {
    assert!(survive("glTF", 6000, &small_rig(true), damage_text, read_gltf) > 0);
}

#[test]
fn damaged_compressed_glb() {
    let Some(path) = risorius_test_data::file("facecap/facecap.glb") else { return };
    let good = std::fs::read(path).unwrap();
    assert!(survive("meshopt", 3000, &good, damage_glb, read_gltf) > 0);
}

#[test]
fn damaged_fbx() {
    assert!(survive("FBX text", 6000, binary_fbx::TEXT.as_bytes(), damage_text, read_fbx) > 0);
    let damage = |bytes: &[u8], random: &mut Random| {
        let mut bytes = bytes.to_vec();
        (0..=random.below(3)).for_each(|_| damage_bytes(&mut bytes, random));
        bytes
    };
    assert!(survive("FBX binary", 6000, &binary_fbx::from_text(binary_fbx::TEXT), damage, read_fbx) > 0);
}
