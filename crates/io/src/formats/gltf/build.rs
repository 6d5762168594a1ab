//! Collects the arrays of a glTF file being written: bytes, buffer views, accessors.

use serde_json::{Value, json};
use std::collections::BTreeMap;

const F32: u32 = 5126;
const U16: u32 = 5123;
const U32: u32 = 5125;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// Bytes of JSON for two more buffer views; sparse storage has to save more than this.
const SPARSE_OVERHEAD: usize = 160;

/// Grows the binary buffer and the lists that describe it.
#[derive(Default)]
pub(super) struct Builder {
    pub bin: Vec<u8>,
    pub views: Vec<Value>,
    pub accessors: Vec<Value>,
    /// One all-zero accessor per number of vertices.
    zeros: BTreeMap<usize, usize>,
}

impl Builder {
    /// Appends bytes, aligned to four; returns the buffer view.
    pub fn view(&mut self, bytes: &[u8], target: Option<u32>) -> usize {
        let mut view = json!({"buffer": 0, "byteOffset": self.bin.len(), "byteLength": bytes.len()});
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.bin.extend_from_slice(bytes);
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        self.views.push(view);
        self.views.len() - 1
    }

    fn accessor(&mut self, accessor: Value) -> usize {
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    /// A vertex attribute of `N` components; positions state their bounds.
    pub fn attribute<const N: usize>(&mut self, values: &[[f32; N]], bounds: bool) -> usize {
        let view = self.view(&le_bytes(values.as_flattened()), Some(VERTICES));
        let kind = ["SCALAR", "VEC2", "VEC3", "VEC4"][N - 1];
        let mut accessor =
            json!({"bufferView": view, "componentType": F32, "count": values.len(), "type": kind});
        if bounds {
            set_bounds(&mut accessor, values.iter());
        }
        self.accessor(accessor)
    }

    /// Animation data of `N` components; times state their bounds.
    pub fn track<const N: usize>(&mut self, values: &[[f32; N]], bounds: bool) -> usize {
        let idx = self.attribute(values, bounds);
        if let Some(view) = self.views.last_mut().and_then(Value::as_object_mut) {
            view.remove("target");
        }
        idx
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
