//! Finished frames and resume states of an unfinished take: small files in a folder beside the output.
//!
//! `take.glb` has `take.glb.partial/`, with `frame-000012.kept` (vertices and report) for every finished
//! frame and `state-000012.kept` (the flesh at its end) for some. Each is a safetensors file that is written
//! under a temporary name and renamed; it contains the key of its frame ([`risorius_perform::FrameKey`]) and
//! a checksum of its content. A file that is damaged, truncated, foreign or of another version is
//! [`Kept::Unusable`]; a file with another key was computed from other inputs. File names alone are never
//! trusted. Only one run at a time may use the folder; the operating system releases the lock on the file
//! `lock` when the process ends.

use crate::IoError;
use crate::native::container::{Archive, Writer};
use crate::output::WholeFile;
use glam::{DQuat, DVec3};
use risorius_base::Array;
use risorius_base::array::SharedBytes;
use risorius_base::{Fingerprint, Rigid};
use risorius_perform::checkpoint::INPUTS;
use risorius_perform::{Checkpoint, FrameKey, FrameReport};
use risorius_solve::{Configuration, LastStep, Posed, State};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FRAME: &str = "risorius-kept-frame-1";
const STATE: &str = "risorius-kept-state-2";

/// How names of files with samples of a bake end; see [`super::bake_part`].
pub const SAMPLES: &str = ".samples";

/// The folder of a take, locked by this run.
#[derive(Debug)]
pub struct TakeFolder {
    folder: PathBuf,
    lock: File,
}

/// The result of looking up a file in the folder.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept<T> {
    /// No file.
    Nothing,
    /// A file that is damaged, cut short, foreign, or of another version.
    Unusable,
    /// The complete content.
    Whole(T),
}

/// A frame as it was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptFrame {
    /// What it depends on.
    pub key: FrameKey,
    /// Its solver report.
    pub report: FrameReport,
    /// The rig's vertices.
    pub vertices: Array<[f32; 3]>,
}

impl TakeFolder {
    /// The folder of a take with the given output file.
    pub fn beside(output: &Path) -> PathBuf {
        let mut name = output.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        output.with_file_name(name)
    }

    /// Creates the folder of `output`, or locks the existing one.
    pub fn open(output: &Path) -> Result<Self, IoError> {
        let folder = Self::beside(output);
        let refused = |problem: &str, e: std::io::Error| IoError::Os {
            path: folder.clone(),
            source: std::io::Error::new(e.kind(), format!("{problem}: {e}")),
        };
        std::fs::create_dir_all(&folder).map_err(|e| {
            refused("the folder for frames cannot be created; choose another place for the output", e)
        })?;
        let lock = File::options().create(true).truncate(false).write(true).open(folder.join("lock"));
        let lock = lock
            .map_err(|e| refused("frames cannot be written here; choose another place for the output", e))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let problem =
                    "another run is working on this take; wait until it ends, or choose another output";
                let source = std::io::Error::new(ErrorKind::ResourceBusy, problem);
                Err(IoError::Os { path: folder, source })
            }
            // Some network drives have no locks. Keys and checksums still identify frames of other runs.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { folder, lock }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Stores a frame, replacing one of the same index.
    pub fn put_frame(
        &self,
        index: usize,
        key: &FrameKey,
        report: &FrameReport,
        vertices: &[[f32; 3]],
    ) -> Result<(), IoError> {
        let report = serde_json::to_string(report)
            .map_err(|e| IoError::malformed("take", format!("frame {index}"), e.to_string()))?;
        let sum = checksum(FRAME, key, &report, &[bytemuck::cast_slice(vertices)]);
        let mut file = header(FRAME, key, sum);
        file.text("report", report);
        file.array("vertices", vertices);
        self.put(&frame_name(index), file)
    }

    /// The frame that was stored under `index`.
    pub fn frame(&self, index: usize) -> Kept<KeptFrame> {
        self.get(&frame_name(index), FRAME, |file, key| {
            let vertices = file.array::<[f32; 3]>("vertices").ok()?;
            let report = file.text("report").ok()?;
            let sum = checksum(FRAME, &key, report, &[bytemuck::cast_slice(&vertices)]);
            let kept = KeptFrame { key, report: serde_json::from_str(report).ok()?, vertices };
            Some((sum, kept))
        })
    }

    /// Stores the flesh at the end of a frame.
    pub fn put_state(&self, key: &FrameKey, checkpoint: &Checkpoint) -> Result<(), IoError> {
        let state = &checkpoint.state;
        let frame = frame_numbers(&state.frame);
        let arrays = arrays_of(state, &frame);
        let bytes: Vec<&[u8]> = arrays.iter().map(|(_, numbers)| bytemuck::cast_slice(numbers)).collect();
        let mut file = header(STATE, key, checksum(STATE, key, "", &bytes));
        arrays.iter().for_each(|(name, numbers)| file.array::<f64>(name.clone(), numbers));
        self.put(&state_name(checkpoint.frame), file)
    }

    /// The flesh at the end of frame `index` with its key, if it was stored.
    pub fn state(&self, index: usize) -> Kept<(FrameKey, Checkpoint)> {
        self.get(&state_name(index), STATE, |file, key| {
            let numbers = |name: &str| file.array::<f64>(name).ok().map(|a| a.to_vec());
            let points = |name: &str| {
                let numbers = numbers(name)?;
                let whole = numbers.len().is_multiple_of(3);
                whole.then(|| numbers.chunks_exact(3).map(DVec3::from_slice).collect::<Vec<_>>())
            };
            let configuration = |prefix: &str, surface: Posed| {
                let list = |k: usize| numbers(&parameter_name(prefix, k));
                let parameters = (0..).map_while(list).collect();
                Some(Configuration { rest: points(&format!("{prefix}rest"))?, parameters, surface })
            };
            let (depths, clearances) = (numbers("depths")?, numbers("clearances")?);
            let surface = Posed { points: points("surface")?, depths, clearances };
            let [x, y, z, w, translation @ ..]: [f64; 7] = numbers("frame")?.try_into().ok()?;
            let state = State {
                configuration: configuration("", surface)?,
                positions: points("positions")?,
                velocities: points("velocities")?,
                frame: Rigid { rotation: DQuat::from_xyzw(x, y, z, w), translation: translation.into() },
                last: LastStep {
                    dt_secs: *numbers("last_secs")?.first()?,
                    moved: points("last_moved")?,
                    moved_in_frame: points("last_moved_in_frame")?,
                    corrected: points("last_corrected")?,
                    velocities: points("last_velocities")?,
                },
                factored: configuration("factored_", Posed::default())?,
            };
            let frame = frame_numbers(&state.frame);
            let arrays = arrays_of(&state, &frame);
            let bytes: Vec<&[u8]> = arrays.iter().map(|(_, numbers)| bytemuck::cast_slice(numbers)).collect();
            Some((checksum(STATE, &key, "", &bytes), (key, Checkpoint { frame: index, state })))
        })
    }

    /// Frames with a state file, ascending; the files are not checked.
    pub fn states(&self) -> Vec<usize> {
        let mut frames: Vec<usize> = self.names().iter().filter_map(|n| index_of(n, "state-")).collect();
        frames.sort_unstable();
        frames
    }

    /// Removes the state of a frame.
    pub fn remove_state(&self, index: usize) {
        // Errors are ignored: a leftover state is harmless.
        let _ = std::fs::remove_file(self.folder.join(state_name(index)));
    }

    /// Removes all frames and states, and the folder unless it contains other files.
    pub fn remove_all(self) -> Result<(), IoError> {
        let ours = |name: &&String| {
            let is_kept = index_of(name, "state-").or(index_of(name, "frame-")).is_some();
            is_kept || name.ends_with(SAMPLES) || name.starts_with(".risorius-")
        };
        for name in self.names().iter().filter(ours) {
            let path = self.folder.join(name);
            std::fs::remove_file(&path).map_err(|source| IoError::Os { path, source })?;
        }
        self.remove_if_empty();
        Ok(())
    }

    /// Removes the folder if it is empty.
    pub fn remove_if_empty(self) {
        if self.names().iter().any(|name| name != "lock") {
            return;
        }
        // The lock is still held, so that no other run can start meanwhile. Errors are ignored: leftovers are
        // harmless.
        let _ = std::fs::remove_file(self.folder.join("lock"));
        let _ = std::fs::remove_dir(&self.folder);
        drop(self.lock);
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
    }

    fn put(&self, name: &str, file: Writer) -> Result<(), IoError> {
        let path = self.folder.join(name);
        let mut out = WholeFile::create(&path)?;
        file.write(&mut out, |source| IoError::Os { path: path.clone(), source })?;
        out.finish()
    }

    /// Reads a file; `read` returns the expected checksum and the content.
    fn get<T>(
        &self,
        name: &str,
        format: &str,
        read: impl FnOnce(&Archive, FrameKey) -> Option<(Fingerprint, T)>,
    ) -> Kept<T> {
        let bytes: SharedBytes = match std::fs::read(self.folder.join(name)) {
            Ok(bytes) => Arc::new(bytes),
            Err(e) if e.kind() == ErrorKind::NotFound => return Kept::Nothing,
            Err(_) => return Kept::Unusable,
        };
        let whole = || {
            let file = Archive::read(bytes).ok()?;
            if file.text("format").ok()? != format {
                return None;
            }
            let prints: Option<Vec<Fingerprint>> =
                file.text("key").ok()?.split(' ').map(Fingerprint::parse).collect();
            let [chain, inputs @ ..]: [Fingerprint; 1 + INPUTS.len()] = prints?.try_into().ok()?;
            let (sum, kept) = read(&file, FrameKey { chain, inputs })?;
            (Fingerprint::parse(file.text("checksum").ok()?)? == sum).then_some(kept)
        };
        whole().map_or(Kept::Unusable, Kept::Whole)
    }
}

fn frame_name(index: usize) -> String {
    format!("frame-{index:06}.kept")
}

fn state_name(index: usize) -> String {
    format!("state-{index:06}.kept")
}

/// The frame index in a file name, if it is one of ours.
fn index_of(name: &str, kind: &str) -> Option<usize> {
    let index = name.strip_prefix(kind)?.strip_suffix(".kept")?.parse().ok()?;
    (name == format!("{kind}{index:06}.kept")).then_some(index)
}

fn header<'a>(format: &str, key: &FrameKey, checksum: Fingerprint) -> Writer<'a> {
    let mut file = Writer::default();
    file.text("format", format);
    file.text("key", key_text(key));
    file.text("checksum", checksum.to_string());
    file
}

fn key_text(key: &FrameKey) -> String {
    let all: Vec<String> = std::iter::once(&key.chain).chain(&key.inputs).map(ToString::to_string).collect();
    all.join(" ")
}

/// Checksum of everything in a file, including the lengths of its arrays.
fn checksum(format: &str, key: &FrameKey, report: &str, arrays: &[&[u8]]) -> Fingerprint {
    let texts = Fingerprint::default().bytes(format.as_bytes()).bytes(key_text(key).as_bytes());
    let start = texts.bytes(report.as_bytes());
    arrays.iter().fold(start, |sum, bytes| sum.bytes(&(bytes.len() as u64).to_le_bytes()).bytes(bytes))
}

fn frame_numbers(frame: &Rigid) -> Vec<f64> {
    frame.rotation.to_array().into_iter().chain(frame.translation.to_array()).collect()
}

/// The name of a list of a configuration's parameters.
fn parameter_name(prefix: &str, index: usize) -> String {
    format!("{prefix}parameters_{index}")
}

/// All arrays of a state, with their names in the file.
fn arrays_of<'a>(state: &'a State, frame_numbers: &'a [f64]) -> Vec<(String, &'a [f64])> {
    // A field added to `State` must be stored here, and `METHOD` must be raised.
    let State { configuration, positions, velocities, frame: _, last, factored } = state;
    let LastStep { dt_secs, moved, moved_in_frame, corrected, velocities: velocities_before } = last;
    let Configuration { rest, parameters, surface: Posed { points, depths, clearances } } = configuration;
    let lists = |prefix: &'static str, lists: &'a [Vec<f64>]| {
        lists.iter().enumerate().map(move |(k, list)| (parameter_name(prefix, k), list.as_slice()))
    };
    let points: [(&str, &[DVec3]); 9] = [
        ("rest", rest),
        ("surface", points),
        ("positions", positions),
        ("velocities", velocities),
        ("last_moved", moved),
        ("last_moved_in_frame", moved_in_frame),
        ("last_corrected", corrected),
        ("last_velocities", velocities_before),
        ("factored_rest", &factored.rest),
    ];
    let numbers = [
        ("depths", depths.as_slice()),
        ("clearances", clearances),
        ("frame", frame_numbers),
        ("last_secs", std::slice::from_ref(dt_secs)),
    ];
    points
        .into_iter()
        .map(|(name, points)| (name.to_string(), bytemuck::cast_slice(points)))
        .chain(numbers.map(|(name, numbers)| (name.to_string(), numbers)))
        .chain(lists("", parameters))
        .chain(lists("factored_", &factored.parameters))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: &[u8]) -> FrameKey {
        let print = Fingerprint::default().bytes(seed);
        FrameKey { chain: print, inputs: std::array::from_fn(|i| print.bytes(&[i as u8])) }
    }

    fn checkpoint() -> Checkpoint {
        let points = |k: f64| vec![DVec3::new(k, -0.0, 1e-300), DVec3::new(0.1, 0.2, k / 3.0)];
        let configuration = |k: f64, surface: Posed| Configuration {
            rest: points(k),
            parameters: vec![vec![k, 2.0, 3.0], vec![0.1, k, 7.0]],
            surface,
        };
        let surface = Posed { points: points(6.0), depths: vec![0.5, 0.25], clearances: vec![0.1, 0.3] };
        let state = State {
            configuration: configuration(1.0, surface),
            positions: points(2.0),
            velocities: points(3.0),
            frame: Rigid {
                rotation: DQuat::from_xyzw(0.1, 0.2, 0.3, 0.9),
                translation: DVec3::new(1.0, 2.0, 3.0),
            },
            last: LastStep {
                dt_secs: 0.25,
                moved: points(7.0),
                moved_in_frame: points(8.0),
                corrected: points(4.0),
                velocities: points(9.0),
            },
            factored: configuration(5.0, Posed::default()),
        };
        Checkpoint { frame: 7, state }
    }

    /// Flips every fifth byte of a file and truncates the file there; `check` tests the result of reading it.
    fn torment(path: &Path, check: impl Fn() -> bool) {
        let good = std::fs::read(path).unwrap();
        for at in (0..good.len()).step_by(5) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            std::fs::write(path, &bad).unwrap();
            assert!(check(), "byte {at} flipped");
            std::fs::write(path, &good[..at]).unwrap();
            assert!(check(), "cut at byte {at}");
        }
        std::fs::write(path, &good).unwrap();
    }

    #[test]
    fn what_was_put_comes_back_to_the_bit_and_damage_does_not() {
        let place = tempfile::tempdir().unwrap();
        let folder = TakeFolder::open(&place.path().join("take.glb")).unwrap();
        assert_eq!(folder.path(), place.path().join("take.glb.partial"));
        let (report, vertices) =
            (FrameReport { elastic: 0.1 + 0.2, ..FrameReport::default() }, [[0.1, -0.0, 3.0]]);
        assert_eq!(folder.frame(3), Kept::Nothing);
        folder.put_frame(3, &key(b"3"), &report, &vertices).unwrap();
        folder.put_state(&key(b"7"), &checkpoint()).unwrap();
        let frame = Kept::Whole(KeptFrame { key: key(b"3"), report, vertices: vertices.to_vec().into() });
        let state = Kept::Whole((key(b"7"), checkpoint()));
        assert!(folder.frame(3) == frame && folder.state(7) == state && folder.states() == [7]);
        // Only changes of padding and of spelling in the header may go undetected.
        torment(&folder.folder.join(frame_name(3)), || [&frame, &Kept::Unusable].contains(&&folder.frame(3)));
        torment(&folder.folder.join(state_name(7)), || [&state, &Kept::Unusable].contains(&&folder.state(7)));
        // A frame is not accepted as a state.
        std::fs::copy(folder.folder.join(frame_name(3)), folder.folder.join(state_name(3))).unwrap();
        assert_eq!(folder.state(3), Kept::Unusable);
        let second = TakeFolder::open(&place.path().join("take.glb"));
        assert!(second.is_err_and(|e| e.to_string().contains("another run")), "two at once");
        folder.remove_all().unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "something is left");
    }
}
