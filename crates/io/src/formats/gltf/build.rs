//! Collects the arrays of a glTF file being written: bytes, buffer views, accessors.

use super::text::List;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

const F32: u32 = 5126;
const U16: u32 = 5123;
const U32: u32 = 5125;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// Bytes of JSON for two more buffer views; sparse storage has to save more than this.
const SPARSE_OVERHEAD: usize = 160;

/// Where binary data is kept until the JSON, which comes first, is complete: memory or a temporary file.
pub trait Storage: Read + Write + Seek {}

impl<T: Read + Write + Seek> Storage for T {}

/// The binary data so far.
pub(super) struct Bin {
    storage: BufWriter<Box<dyn Storage>>,
    len: usize,
    /// Why data could not be stored; nothing is stored after that.
    failure: Option<io::Error>,
}

impl Bin {
    pub fn new(storage: Box<dyn Storage>) -> Self {
        Self { storage: BufWriter::with_capacity(1 << 18, storage), len: 0, failure: None }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    fn append(&mut self, bytes: &[u8]) {
        self.len += bytes.len();
        if self.failure.is_none() {
            self.failure = self.storage.write_all(bytes).err();
        }
    }

    /// Fails if some data could not be stored.
    pub fn check(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// All data from the start.
    pub fn read_back(&mut self) -> io::Result<impl Read> {
        self.check()?;
        self.storage.flush()?;
        let storage = self.storage.get_mut();
        storage.seek(SeekFrom::Start(0))?;
        Ok(BufReader::new(storage))
    }
}

/// Grows the binary buffer and the lists that describe it.
pub(super) struct Builder {
    pub bin: Bin,
    pub views: List,
    pub accessors: List,
    /// One all-zero accessor per number of vertices.
    zeros: BTreeMap<usize, usize>,
}

impl Builder {
    pub fn new(storage: Box<dyn Storage>) -> Self {
        let (views, accessors) = Default::default();
        Self { bin: Bin::new(storage), views, accessors, zeros: BTreeMap::new() }
    }

    /// Appends bytes, aligned to four; returns the buffer view.
    pub fn view(&mut self, bytes: &[u8], target: Option<u32>) -> usize {
        self.view_of([bytes], target)
    }

    /// Appends bytes in pieces.
    fn view_of(&mut self, pieces: impl IntoIterator<Item: AsRef<[u8]>>, target: Option<u32>) -> usize {
        let offset = self.bin.len();
        pieces.into_iter().for_each(|piece| self.bin.append(piece.as_ref()));
        let n_bytes = self.bin.len() - offset;
        self.bin.append(&[0; 4][..n_bytes.next_multiple_of(4) - n_bytes]);
        let mut view = json!({"buffer": 0, "byteOffset": offset, "byteLength": n_bytes});
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.views.push(&view)
    }

    fn accessor(&mut self, accessor: Value) -> usize {
        self.accessors.push(&accessor)
    }

    /// A vertex attribute of `N` components; positions state their bounds.
    pub fn attribute<const N: usize>(&mut self, values: &[[f32; N]], bounds: bool) -> usize {
        self.values(values, bounds, Some(VERTICES))
    }

    /// Animation data of `N` components; times state their bounds.
    pub fn track<const N: usize>(&mut self, values: &[[f32; N]], bounds: bool) -> usize {
        self.values(values, bounds, None)
    }

    fn values<const N: usize>(&mut self, values: &[[f32; N]], bounds: bool, target: Option<u32>) -> usize {
        let view = self.view(&le_bytes(values.as_flattened()), target);
        let kind = ["SCALAR", "VEC2", "VEC3", "VEC4"][N - 1];
        let mut accessor =
            json!({"bufferView": view, "componentType": F32, "count": values.len(), "type": kind});
        if bounds {
            set_bounds(&mut accessor, values.iter());
        }
        self.accessor(accessor)
    }

    /// Weights of `n` targets over `n` frames, each 1 at its own frame and 0 at the others.
    pub fn hats(&mut self, n: usize) -> usize {
        let row = |frame: usize| {
            let mut row = vec![0.0; n];
            row[frame] = 1.0;
            le_bytes(&row)
        };
        let view = self.view_of((0..n).map(row), None);
        self.accessor(json!({"bufferView": view, "componentType": F32, "count": n * n, "type": "SCALAR"}))
    }

    /// Vertex numbers below `n_vertices`.
    pub fn indices(&mut self, indices: &[u32], n_vertices: usize) -> usize {
        let (bytes, component) = index_bytes(indices, n_vertices);
        let view = self.view(&bytes, Some(INDICES));
        let count = indices.len();
        self.accessor(
            json!({"bufferView": view, "componentType": component, "count": count, "type": "SCALAR"}),
        )
    }

    /// `count` vectors that are zero except for `values` at `indices`: stored sparse, dense or without data,
    /// whichever is smallest.
    pub fn differences(&mut self, count: usize, indices: &[u32], values: &[[f32; 3]]) -> usize {
        if indices.is_empty() {
            if let Some(&zero) = self.zeros.get(&count) {
                return zero;
            }
            let bounds = [0.0; 3];
            let zero = self.accessor(
                json!({"componentType": F32, "count": count, "type": "VEC3", "min": bounds, "max": bounds}),
            );
            self.zeros.insert(count, zero);
            return zero;
        }
        let (index_bytes, component) = index_bytes(indices, count);
        if index_bytes.len() + 12 * values.len() + SPARSE_OVERHEAD >= 12 * count {
            let mut dense = vec![[0.0; 3]; count];
            for (&i, &value) in indices.iter().zip(values) {
                dense[i as usize] = value;
            }
            return self.attribute(&dense, true);
        }
        let at = self.view(&index_bytes, None);
        let what = self.view(&le_bytes(values.as_flattened()), None);
        let mut accessor = json!({
            "componentType": F32, "count": count, "type": "VEC3",
            "sparse": {
                "count": indices.len(),
                "indices": {"bufferView": at, "componentType": component},
                "values": {"bufferView": what},
            },
        });
        let rest = (indices.len() < count).then_some([0.0; 3]);
        set_bounds(&mut accessor, values.iter().chain(rest.as_ref()));
        self.accessor(accessor)
    }
}

fn set_bounds<'v, const N: usize>(accessor: &mut Value, values: impl Iterator<Item = &'v [f32; N]>) {
    let (mut low, mut high) = ([f32::INFINITY; N], [f32::NEG_INFINITY; N]);
    for value in values {
        for k in 0..N {
            low[k] = low[k].min(value[k]);
            high[k] = high[k].max(value[k]);
        }
    }
    // As f64, so that JSON holds the f32 exactly.
    accessor["min"] = json!(low.map(f64::from).as_slice());
    accessor["max"] = json!(high.map(f64::from).as_slice());
}

fn le_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Two bytes per index where the largest 16-bit value, which means "restart", is not needed.
fn index_bytes(indices: &[u32], n_vertices: usize) -> (Vec<u8>, u32) {
    if n_vertices <= usize::from(u16::MAX) {
        (indices.iter().flat_map(|&i| (i as u16).to_le_bytes()).collect(), U16)
    } else {
        (indices.iter().flat_map(|i| i.to_le_bytes()).collect(), U32)
    }
}
