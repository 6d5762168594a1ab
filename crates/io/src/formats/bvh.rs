//! BVH motion capture: the path of one joint, normally the head, as a head motion.
//!
//! A joint's world transform is a product over the joint and its ancestors, root first. Each contributes the
//! translation by its offset plus its position channels, then its rotation channels in the listed order
//! (degrees). Only the channels on the path from the root to the joint are evaluated; the skeleton may have
//! any depth. Consecutive joints without channels are merged into one, so the work is bounded by the numbers
//! in the file. The joint's rest orientation is the world's. The stated frame count must match the rows.

use crate::IoError;
use crate::formats::text::{Lines, excerpt, lines, number, text, tokens};
use glam::{DQuat, DVec3};
use risorius_rig::HeadMotion;
use risorius_rig::classify::names::nearest;

const FORMAT: &str = "BVH";

/// Meters per unit of the CMU motion capture library: inches scaled by 0.45.
pub const CMU_METERS_PER_UNIT: f64 = 0.0254 / 0.45;

/// Reads the motion of `joint`, by default `Head` or else the first joint with "head" in its name.
pub fn read(bytes: &[u8], joint: Option<&str>, meters_per_unit: f64) -> Result<HeadMotion, IoError> {
    if !(meters_per_unit > 0.0 && meters_per_unit.is_finite()) {
        let problem = format!("a unit of {meters_per_unit} meters is not possible; give a positive number");
        return Err(IoError::malformed(FORMAT, "unit", problem));
    }
    let mut lines = lines(bytes);
    let skeleton = read_hierarchy(&mut lines)?;
    let steps = steps_to(&skeleton, find_joint(&skeleton, joint)?);
    let motion = read_motion(&mut lines, skeleton.n_channels, &steps, meters_per_unit)?;
    motion.check()?;
    Ok(motion)
}

/// What a channel does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Position(usize),
    Rotation(usize),
}

struct Joint {
    name: String,
    parent: Option<usize>,
    offset: DVec3,
    first_channel: usize,
    channels: Vec<Channel>,
}

#[derive(Default)]
struct Skeleton {
    joints: Vec<Joint>,
    n_channels: usize,
}

/// One factor of the product from the root to the joint.
#[derive(Debug, Clone, Copy)]
enum Step {
    Offset(DVec3),
    Channel(Channel, usize),
}

fn malformed(line: usize, problem: impl Into<String>) -> IoError {
    IoError::malformed(FORMAT, format!("line {line}"), problem)
}

/// Reads up to and including the line `MOTION`.
fn read_hierarchy(lines: &mut Lines) -> Result<Skeleton, IoError> {
    let mut skeleton = Skeleton::default();
    // Open braces; `None` is an end site, whose offset is not used.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut announced: Option<Option<usize>> = None;
    for (line, content) in lines {
        // An opening brace may be on the line of the joint.
        let content = match content.strip_suffix(b"{") {
            Some(before) if !before.is_empty() => {
                announced = Some(announce(&mut skeleton, &open, line, before.trim_ascii())?);
                &b"{"[..]
            }
            _ => content,
        };
        let mut words = tokens(content);
        match words.next() {
            None | Some(b"HIERARCHY") => {}
            Some(b"ROOT" | b"JOINT" | b"End") => {
                announced = Some(announce(&mut skeleton, &open, line, content)?)
            }
            Some(b"{") => {
                open.push(announced.take().ok_or_else(|| malformed(line, "'{' without a joint before it"))?);
            }
            Some(b"}") => {
                open.pop().ok_or_else(|| malformed(line, "'}' without a '{'"))?;
            }
            Some(b"OFFSET") => {
                let offset = offset(line, words)?;
                if let Some(joint) = open.last().copied().flatten() {
                    skeleton.joints[joint].offset = offset;
                }
            }
            Some(b"CHANNELS") => {
                let joint = open.last().copied().flatten();
                set_channels(&mut skeleton, joint, line, channels(line, words)?)?;
            }
            Some(b"MOTION") if !open.is_empty() => {
                return Err(malformed(line, format!("{} joints are not closed by '}}'", open.len())));
            }
            Some(b"MOTION") => return Ok(skeleton),
            Some(_) => return Err(malformed(line, format!("'{}' is not a BVH keyword", excerpt(content)))),
        }
    }
    Err(IoError::malformed(FORMAT, "end of file", "there is no MOTION section"))
}

fn set_channels(
    skeleton: &mut Skeleton,
    joint: Option<usize>,
    line: usize,
    channels: Vec<Channel>,
) -> Result<(), IoError> {
    let joint = joint.ok_or_else(|| malformed(line, "CHANNELS outside of a joint"))?;
    skeleton.joints[joint].first_channel = skeleton.n_channels;
    skeleton.n_channels += channels.len();
    if !std::mem::replace(&mut skeleton.joints[joint].channels, channels).is_empty() {
        return Err(malformed(line, "this joint has CHANNELS already"));
    }
    Ok(())
}

/// A `ROOT`, `JOINT` or `End Site` line: the new joint, `None` for an end site.
fn announce(
    skeleton: &mut Skeleton,
    open: &[Option<usize>],
    line: usize,
    content: &[u8],
) -> Result<Option<usize>, IoError> {
    let mut words = tokens(content);
    let keyword = words.next().unwrap_or_default();
    if keyword == b"End" {
        return Ok(None);
    }
    let parent = open.last().copied().flatten();
    if !matches!(keyword, b"ROOT" | b"JOINT") || (keyword == b"JOINT") != parent.is_some() {
        return Err(malformed(line, format!("'{}' is out of place", excerpt(content))));
    }
    let name = text(content[keyword.len()..].trim_ascii()).into_owned();
    let joint = Joint { name, parent, offset: DVec3::ZERO, first_channel: 0, channels: Vec::new() };
    skeleton.joints.push(joint);
    Ok(Some(skeleton.joints.len() - 1))
}

fn finite_number(line: usize, word: &[u8]) -> Result<f64, IoError> {
    number(word)
        .filter(|x: &f64| x.is_finite())
        .ok_or_else(|| malformed(line, format!("'{}' is not a finite number", excerpt(word))))
}

fn offset<'a>(line: usize, mut words: impl Iterator<Item = &'a [u8]>) -> Result<DVec3, IoError> {
    let mut offset = DVec3::ZERO;
    for k in 0..3 {
        offset[k] = finite_number(line, words.next().unwrap_or_default())?;
    }
    Ok(offset)
}

fn channels<'a>(line: usize, mut words: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Channel>, IoError> {
    let count: Option<usize> = words.next().and_then(number);
    let channels: Vec<Channel> = words
        .map(|word| {
            let lower = word.to_ascii_lowercase();
            match &lower[..] {
                [axis @ b'x'..=b'z', b'p', b'o', b's', ..] => Ok(Channel::Position((axis - b'x').into())),
                [axis @ b'x'..=b'z', b'r', b'o', b't', ..] => Ok(Channel::Rotation((axis - b'x').into())),
                _ => {
                    Err(malformed(line, format!("'{}' is not a channel (such as Xrotation)", excerpt(word))))
                }
            }
        })
        .collect::<Result<_, _>>()?;
    if count != Some(channels.len()) {
        return Err(malformed(
            line,
            format!("{} channels are listed, but the line states another number", channels.len()),
        ));
    }
    Ok(channels)
}

fn find_joint(skeleton: &Skeleton, wanted: Option<&str>) -> Result<usize, IoError> {
    let position = |test: &dyn Fn(&str) -> bool| skeleton.joints.iter().position(|j| test(&j.name));
    let found = match wanted {
        Some(name) => position(&|n| n == name).or_else(|| position(&|n| n.eq_ignore_ascii_case(name))),
        None => position(&|n| n == "Head").or_else(|| position(&|n| n.to_lowercase().contains("head"))),
    };
    found.ok_or_else(|| {
        let wanted = wanted.unwrap_or("Head");
        let near = nearest(wanted, skeleton.joints.iter().map(|j| j.name.as_str()));
        let advice = if near.is_empty() { String::new() } else { format!("; nearest: {}", near.join(", ")) };
        IoError::malformed(
            FORMAT,
            "HIERARCHY",
            format!("there is no joint '{wanted}'{advice}; name the joint to use"),
        )
    })
}

/// The factors from the root to `joint`, with constant ones merged.
fn steps_to(skeleton: &Skeleton, joint: usize) -> Vec<Step> {
    let mut chain = vec![joint];
    while let Some(parent) = skeleton.joints[chain[chain.len() - 1]].parent {
        chain.push(parent);
    }
    let mut steps: Vec<Step> = Vec::new();
    for joint in chain.into_iter().rev().map(|j| &skeleton.joints[j]) {
        match steps.last_mut() {
            Some(Step::Offset(offset)) => *offset += joint.offset,
            _ => steps.push(Step::Offset(joint.offset)),
        }
        // Positions come before rotations, regardless of the listed order: they move the joint in its
        // parent's frame.
        let numbered =
            || joint.channels.iter().enumerate().map(|(i, &c)| Step::Channel(c, joint.first_channel + i));
        let is_position = |s: &Step| matches!(s, Step::Channel(Channel::Position(_), _));
        steps.extend(numbered().filter(is_position));
        steps.extend(numbered().filter(|s| !is_position(s)));
    }
    steps
}

fn evaluate(steps: &[Step], values: &[f64]) -> (DVec3, DQuat) {
    let (mut position, mut rotation) = (DVec3::ZERO, DQuat::IDENTITY);
    for step in steps {
        match *step {
            Step::Offset(offset) => position += rotation * offset,
            Step::Channel(Channel::Position(axis), i) => {
                position += rotation * (DVec3::AXES[axis] * values[i])
            }
            Step::Channel(Channel::Rotation(axis), i) => {
                rotation *= DQuat::from_axis_angle(DVec3::AXES[axis], values[i].to_radians());
            }
        }
    }
    (position, rotation.normalize())
}

fn read_motion(
    lines: &mut Lines,
    n_channels: usize,
    steps: &[Step],
    unit: f64,
) -> Result<HeadMotion, IoError> {
    let (n_frames, frame_secs) = motion_header(lines)?;
    if n_channels == 0 {
        return Err(IoError::malformed(FORMAT, "HIERARCHY", "no joint has channels, so nothing moves"));
    }
    let mut motion = HeadMotion::default();
    let mut values: Vec<f64> = Vec::new();
    for (line, row) in lines.filter(|(_, row)| !row.is_empty()) {
        let frame = motion.n_frames();
        if frame as u64 == n_frames {
            return Err(malformed(
                line,
                format!("there are more frames than the {n_frames} that the file states"),
            ));
        }
        values.clear();
        for word in tokens(row) {
            values.push(finite_number(line, word)?);
        }
        if values.len() != n_channels {
            let problem =
                format!("frame {frame} has {} numbers, the joints have {n_channels} channels", values.len());
            return Err(malformed(line, problem));
        }
        let (position, rotation) = evaluate(steps, &values);
        motion.times_secs.push(frame as f64 * frame_secs);
        motion.positions_m.push((position * unit).to_array());
        motion.rotations_xyzw.push(rotation.to_array());
    }
    if (motion.n_frames() as u64) < n_frames {
        let problem =
            format!("{n_frames} frames are stated, {} are present; the file is cut off", motion.n_frames());
        return Err(IoError::malformed(FORMAT, "end of file", problem));
    }
    Ok(motion)
}

/// The lines `Frames: N` and `Frame Time: T`.
fn motion_header(lines: &mut Lines) -> Result<(u64, f64), IoError> {
    let mut field = |key: &str| {
        let found = lines.find(|(_, row)| !row.is_empty());
        let (line, row) =
            found.ok_or_else(|| IoError::malformed(FORMAT, "end of file", format!("'{key}' is missing")))?;
        let value = row.strip_prefix(key.as_bytes()).map(<[u8]>::trim_ascii);
        value
            .map(|v| (line, v))
            .ok_or_else(|| malformed(line, format!("'{key}' is expected, not '{}'", excerpt(row))))
    };
    let (line, count) = field("Frames:")?;
    let n_frames: u64 =
        number(count).ok_or_else(|| malformed(line, format!("'{}' is not a count", excerpt(count))))?;
    let (line, time) = field("Frame Time:")?;
    let frame_secs = finite_number(line, time)?;
    if frame_secs <= 0.0 {
        return Err(malformed(line, format!("a frame time of {frame_secs} s is not possible")));
    }
    Ok((n_frames, frame_secs))
}
