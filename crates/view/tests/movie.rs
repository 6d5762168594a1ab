//! Movies: read back box by box and decoded, they show the drawn pictures.

mod solids;

use openh264::decoder::Decoder;
use openh264::formats::YUVSource;
use risorius_view::{Animation, Canvas, DrawOptions, FaceLook, Movie, ViewError, draw};
use solids::{ball, head, one_ball};

/// The content of the box at the end of `path`, from the front of `bytes`. A descriptor that precedes inner
/// boxes is skipped by the number of bytes given with the name.
fn inner<'a>(mut bytes: &'a [u8], path: &[(&str, usize)]) -> &'a [u8] {
    for (name, skipped) in path {
        loop {
            assert!(bytes.len() >= 8, "no {name}");
            let size = u32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize;
            let (this, rest) = bytes.split_at(size);
            if &this[4..8] == name.as_bytes() {
                bytes = &this[8 + skipped..];
                break;
            }
            bytes = rest;
        }
    }
    bytes
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_be_bytes(*w)).collect()
}

struct Track {
    size: [u16; 2],
    /// Seconds of each frame.
    durations: Vec<f64>,
    key_frames: Vec<u32>,
    /// Each frame as an elementary stream, the first with its parameter sets.
    packets: Vec<Vec<u8>>,
}

fn read(bytes: &[u8]) -> Track {
    let media = [("moov", 0), ("trak", 0), ("mdia", 0)];
    let table = |name: &str| {
        let path = [&media[..], &[("minf", 0), ("stbl", 0), (name, 0)]].concat();
        words(inner(bytes, &path))
    };
    let per_second = f64::from(words(inner(bytes, &[&media[..], &[("mdhd", 0)]].concat()))[3]);
    let stts = table("stts");
    let runs = stts[2..].chunks(2).take(stts[1] as usize);
    let durations = runs.flat_map(|r| vec![f64::from(r[1]) / per_second; r[0] as usize]).collect();
    let sizes = &table("stsz")[3..];
    let stbl = [&media[..], &[("minf", 0), ("stbl", 0)]].concat();
    let entry = inner(bytes, &[&stbl[..], &[("stsd", 8), ("avc1", 0)]].concat());
    let size = [24, 26].map(|at| u16::from_be_bytes(entry[at..at + 2].try_into().unwrap()));
    let config = inner(bytes, &[&stbl[..], &[("stsd", 8), ("avc1", 78), ("avcC", 0)]].concat());
    // One sequence and one picture parameter set, each after its length.
    let set = |at: usize| {
        let length = u16::from_be_bytes(config[at..at + 2].try_into().unwrap()) as usize;
        (&config[at + 2..at + 2 + length], at + 2 + length)
    };
    let (sequence, end) = set(6);
    let (picture, _) = set(end + 1);
    let (stsc, chunks) = (table("stsc"), table("stco"));
    let mut packets = Vec::new();
    let mut frame = 0;
    for (c, &offset) in chunks[2..].iter().enumerate() {
        let mut rows = stsc[2..].chunks(3).take(stsc[1] as usize);
        let n = rows.rfind(|row| row[0] as usize <= c + 1).unwrap()[1];
        let mut at = offset as usize;
        for _ in 0..n {
            let sample = &bytes[at..at + sizes[frame] as usize];
            let mut packet = Vec::new();
            if frame == 0 {
                [sequence, picture].iter().for_each(|set| packet.extend([&[0, 0, 0, 1][..], set].concat()));
            }
            let mut rest = sample;
            while !rest.is_empty() {
                let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
                packet.extend([&[0, 0, 0, 1][..], &rest[4..4 + length]].concat());
                rest = &rest[4 + length..];
            }
            packets.push(packet);
            at += sizes[frame] as usize;
            frame += 1;
        }
    }
    Track { size, durations, key_frames: table("stss")[2..].to_vec(), packets }
}

/// Colors of BT.709 in the range of television at a pixel of the decoded picture.
fn decoded_color(yuv: &impl YUVSource, x: usize, y: usize) -> [f64; 3] {
    let (wide, half, _) = yuv.strides();
    let luma = (f64::from(yuv.y()[y * wide + x]) - 16.0) * 255.0 / 219.0;
    let at = (y / 2) * half + x / 2;
    let [u, v] = [yuv.u()[at], yuv.v()[at]].map(|c| (f64::from(c) - 128.0) * 255.0 / 224.0);
    [luma + 1.5748 * v, luma - 0.1873 * u - 0.4681 * v, luma + 1.8556 * u].map(|c| c.clamp(0.0, 255.0))
}

fn difference(yuv: &impl YUVSource, picture: &Canvas) -> f64 {
    let mut sum = 0.0;
    for (i, pixel) in picture.pixels.iter().enumerate() {
        let color = decoded_color(yuv, i % picture.width, i / picture.width);
        sum += (0..3).map(|c| (color[c] - f64::from(pixel[c])).abs()).sum::<f64>() / 3.0;
    }
    sum / picture.pixels.len() as f64
}

/// A head with a nose, seen from all around.
fn pictures(n: usize, width: usize, height: usize) -> Vec<Canvas> {
    let rig = head(vec![ball([0.0, 0.0, 1.0], 0.3, 8)]);
    let look = FaceLook::prepare(&rig);
    let one = |i: usize| {
        let yaw_degrees = 60.0 * i as f32 / n as f32 - 30.0;
        draw(&look, &rig.neutral, &DrawOptions { width, height, yaw_degrees, ..DrawOptions::default() })
            .unwrap()
    };
    (0..n).map(one).collect()
}

fn movie(pictures: &[Canvas], fps: f64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut movie = Movie::new(&mut bytes, pictures[0].width, pictures[0].height, fps).unwrap();
    pictures.iter().for_each(|p| movie.add(p).unwrap());
    assert_eq!(movie.n_frames(), pictures.len());
    movie.finish().unwrap();
    bytes
}

#[test]
fn a_movie_plays_what_was_drawn() {
    let drawn = pictures(14, 241, 177);
    let track = read(&movie(&drawn, 12.0));
    assert_eq!(track.size, [242, 178], "sides are even");
    assert_eq!(track.packets.len(), 14);
    assert!(track.durations.len() == 14 && track.durations.iter().all(|d| (d - 1.0 / 12.0).abs() < 1e-4));
    assert_eq!(track.key_frames, [1, 13], "a key frame a second");
    let mut decoder = Decoder::new().unwrap();
    let mut shown = 0;
    for (i, packet) in track.packets.iter().enumerate() {
        let yuv = decoder.decode(packet).unwrap().unwrap_or_else(|| panic!("frame {i} shows nothing"));
        assert_eq!(yuv.dimensions(), (242, 178));
        let own = difference(&yuv, &drawn[i]);
        assert!(own < 2.5, "frame {i} is {own:.2} of 255 off on average");
        let other = difference(&yuv, &drawn[(i + 7) % 14]);
        assert!(other > 2.0 * own, "frame {i}: {own:.2} from its picture, {other:.2} from another");
        shown += 1;
    }
    assert_eq!(shown, 14);
}

#[test]
fn plain_colors_come_back() {
    for color in [[255, 255, 255], [0, 0, 0], [220, 40, 30], [30, 160, 60], [40, 60, 200], [235, 180, 150]] {
        let [r, g, b] = color;
        let picture = Canvas::new(32, 32, [r, g, b, 255]).unwrap();
        let track = read(&movie(&[picture], 30.0));
        let mut decoder = Decoder::new().unwrap();
        let yuv = decoder.decode(&track.packets[0]).unwrap().unwrap();
        let found = decoded_color(&yuv, 16, 16);
        let off = (0..3).map(|c| (found[c] - f64::from(color[c])).abs()).fold(0.0, f64::max);
        assert!(off < 4.0, "{color:?} came back as {found:.1?}");
    }
}

#[test]
fn the_same_pictures_make_the_same_bytes() {
    let rig = one_ball();
    let look = FaceLook::prepare(&rig);
    let options =
        |pitch_degrees| DrawOptions { width: 64, height: 64, pitch_degrees, ..DrawOptions::default() };
    let drawn = [0.0, 20.0, 40.0].map(|pitch| draw(&look, &rig.neutral, &options(pitch)).unwrap());
    assert!(movie(&drawn, 29.97) == movie(&drawn, 29.97));
}

#[test]
fn what_cannot_be_played_is_refused() {
    let new = |width, height, fps| Movie::new(Vec::new(), width, height, fps).map(|_| ());
    for (width, height) in [(0, 100), (100, 15), (3842, 100), (2200, 2200), (usize::MAX, 20)] {
        assert_eq!(new(width, height, 30.0), Err(ViewError::MovieSize { width, height }));
    }
    for fps in [0.0, -1.0, f64::NAN, f64::INFINITY, 241.0] {
        assert!(matches!(new(64, 64, fps), Err(ViewError::Number { name: "fps", .. })), "{fps}");
    }
    let mut movie = Movie::new(Vec::new(), 64, 64, 30.0).unwrap();
    let other = Canvas::new(64, 66, [0; 4]).unwrap();
    assert!(matches!(movie.add(&other), Err(ViewError::MovieFrame { found_height: 66, .. })));
    assert!(matches!(movie.finish(), Err(ViewError::Movie(_))), "no frames");
    for (width, height) in [(16, 16), (17, 23), (3840, 16)] {
        let picture = Canvas::new(width, height, [90, 120, 60, 255]).unwrap();
        let mut bytes = Vec::new();
        let mut movie = Movie::new(&mut bytes, width, height, 24.0).unwrap();
        movie.add(&picture).unwrap();
        movie.finish().unwrap();
        assert_eq!(read(&bytes).packets.len(), 1, "{width} x {height}");
    }
}

#[test]
fn an_animated_picture_plays_what_was_drawn() {
    let drawn = pictures(9, 121, 90);
    let mut bytes = Vec::new();
    let mut animation = Animation::new(&mut bytes, 121, 90, 30.0).unwrap();
    drawn.iter().for_each(|p| animation.add(p).unwrap());
    assert_eq!(animation.n_frames(), 9);
    animation.finish().unwrap();
    let decoded = webp::AnimDecoder::new(&bytes).decode().unwrap();
    let frames: Vec<_> = decoded.into_iter().collect();
    assert_eq!(frames.len(), 9);
    // Libwebp says when each frame ends, in milliseconds.
    let ends: Vec<i32> = frames.iter().map(|f| f.get_time_ms()).collect();
    assert_eq!(ends, [33, 67, 100, 133, 167, 200, 233, 267, 300]);
    for (i, frame) in frames.iter().enumerate() {
        assert_eq!((frame.width(), frame.height()), (121, 90));
        let pixels = frame.get_image().as_chunks::<4>().0;
        let off = |picture: &Canvas| {
            let one =
                |(a, b): (&[u8; 4], &[u8; 4])| (0..3).map(|c| f64::from(a[c].abs_diff(b[c]))).sum::<f64>();
            pixels.iter().zip(&picture.pixels).map(one).sum::<f64>() / (3 * pixels.len()) as f64
        };
        let (own, other) = (off(&drawn[i]), off(&drawn[(i + 4) % 9]));
        assert!(
            own < 3.0 && other > 2.0 * own,
            "frame {i}: {own:.2} from its picture, {other:.2} from another"
        );
    }
}

#[test]
fn animated_pictures_that_browsers_would_slow_down_are_refused() {
    let new = |width, height, fps| Animation::new(Vec::new(), width, height, fps).map(|_| ());
    assert!(matches!(new(64, 64, 120.0), Err(ViewError::Number { name: "fps", .. })));
    assert_eq!(new(8, 64, 30.0), Err(ViewError::MovieSize { width: 8, height: 64 }));
    let empty = Animation::new(Vec::new(), 64, 64, 30.0).unwrap();
    assert!(matches!(empty.finish(), Err(ViewError::Movie(_))), "no frames");
}
