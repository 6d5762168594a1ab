//! Point caches: written, read back, refused.

use risorius_io::IoError;
use risorius_io::formats::{mdd, npz, pc2};
use risorius_io::take_out::{TakeHeader, TakeWriter};
use risorius_rig::Take;
use std::io::Cursor;

type Out = Cursor<Vec<u8>>;

fn take() -> Take {
    Take {
        times_secs: (0..3).map(|i| 0.5 + f64::from(i) * 0.25).collect(),
        n_vertices: 4,
        positions: (0..12).map(|i| [i as f32 / 3.0, -(i as f32), 1e-6]).collect(),
    }
}

fn header(take: &Take) -> TakeHeader {
    TakeHeader {
        path: "take.bin".into(),
        times_secs: take.times_secs.clone(),
        n_vertices: take.n_vertices,
        triangles: vec![[0, 1, 2], [2, 1, 3]],
    }
}

fn writer(kind: &str, header: TakeHeader) -> Result<Box<dyn TakeWriter<Out>>, IoError> {
    let out = Cursor::new(Vec::new());
    Ok(match kind {
        "mdd" => Box::new(mdd::MddWriter::new(out, header)?),
        "pc2" => Box::new(pc2::Pc2Writer::new(out, header)?),
        _ => Box::new(npz::NpzWriter::new(out, header)?),
    })
}

fn written(kind: &str, take: &Take) -> Vec<u8> {
    let mut writer = writer(kind, header(take)).unwrap();
    for frame in 0..take.n_frames() {
        writer.frame(take.frame(frame)).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn read(kind: &str, bytes: &[u8]) -> Result<Take, IoError> {
    match kind {
        "mdd" => mdd::read(bytes),
        "pc2" => pc2::read(bytes, 4.0),
        _ => npz::read(bytes),
    }
}

#[test]
fn takes_come_back() {
    for kind in ["mdd", "pc2", "npz"] {
        let bytes = written(kind, &take());
        assert_eq!(read(kind, &bytes).unwrap(), take(), "{kind}");
        assert_eq!(written(kind, &take()), bytes, "{kind} is written the same twice");
    }
}

#[test]
fn layouts_are_those_of_the_formats() {
    let mdd = written("mdd", &take());
    assert_eq!(mdd[..12], [0, 0, 0, 3, 0, 0, 0, 4, 0x3f, 0, 0, 0]);
    assert_eq!(mdd.len(), 8 + 3 * 4 + 3 * 4 * 12);
    let pc2 = written("pc2", &take());
    assert_eq!(&pc2[..16], b"POINTCACHE2\0\x01\0\0\0");
    assert_eq!(pc2[16..20], 4u32.to_le_bytes());
    assert_eq!(pc2[20..24], 2f32.to_le_bytes(), "0.5 s is frame 2 at 4 frames per second");
    assert_eq!(pc2[28..32], 3u32.to_le_bytes());
    let npz = written("npz", &take());
    let text = String::from_utf8_lossy(&npz);
    assert!(text.contains("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, 3), }"));
    assert!(text.contains("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"));
    assert!(text.contains("{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3), }"));
}

#[test]
fn announced_and_written_must_agree() {
    let take = take();
    for kind in ["mdd", "pc2", "npz"] {
        let mut short = writer(kind, header(&take)).unwrap();
        assert!(short.frame(&take.frame(0)[1..]).is_err(), "{kind}: wrong vertex count");
        short.frame(take.frame(0)).unwrap();
        assert!(short.finish().is_err(), "{kind}: too few frames");
        let mut long = writer(kind, header(&take)).unwrap();
        (0..3).for_each(|f| long.frame(take.frame(f)).unwrap());
        assert!(long.frame(take.frame(0)).is_err(), "{kind}: too many frames");
        let backwards = TakeHeader { times_secs: vec![1.0, 0.0], ..header(&take) };
        assert!(writer(kind, backwards).is_err(), "{kind}: time runs backwards");
    }
    let uneven = TakeHeader { times_secs: vec![0.0, 1.0, 1.5], ..header(&take) };
    assert!(writer("pc2", uneven.clone()).err().unwrap().to_string().contains("resample"));
    assert!(writer("mdd", uneven).is_ok());
}

#[test]
fn wrong_counts_and_values_are_refused() {
    for kind in ["mdd", "pc2", "npz"] {
        let bytes = written(kind, &take());
        assert!(read(kind, &bytes[..bytes.len() - 1]).is_err(), "{kind}: cut off");
        assert!(read(kind, b"").is_err());
        let mut nan = take();
        nan.positions[6][1] = f32::NAN;
        let error = read(kind, &written(kind, &nan)).unwrap_err().to_string();
        assert!(error.contains("frame 1, vertex 2"), "{kind}: {error}");
    }
    let mut lie = written("mdd", &take());
    lie[..8].fill(0xff);
    assert!(mdd::read(&lie).unwrap_err().to_string().contains("4294967295 frames"));
    let mut lie = written("pc2", &take());
    lie[28..32].fill(0xff);
    assert!(pc2::read(&lie, 30.0).is_err());
    assert!(pc2::read(&written("pc2", &take()), 0.0).is_err());
}

#[test]
fn compressed_and_foreign_archives_get_advice() {
    let mut deflated = written("npz", &take());
    // The method of the first entry, in its local header and in the directory.
    let directory = deflated.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    deflated[8] = 8;
    deflated[directory + 10] = 8;
    let error = npz::read(&deflated).unwrap_err().to_string();
    assert!(error.contains("numpy.savez instead"), "{error}");
    let mut renamed = written("npz", &take());
    while let Some(at) = renamed.windows(9).position(|w| w == b"positions") {
        renamed[at] = b'q';
    }
    let error = npz::read(&renamed).unwrap_err().to_string();
    assert!(error.contains("the archive has: qositions, times, faces"), "{error}");
    let mut damaged = written("npz", &take());
    damaged[300] ^= 1;
    assert!(npz::read(&damaged).is_err(), "the checksum tells");
}
