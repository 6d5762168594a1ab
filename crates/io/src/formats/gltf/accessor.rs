//! Accessors: typed arrays over buffer views, dense or sparse, of every component type.
//!
//! Values are returned as `f64`, which represents each component type exactly, so that a transform rounds
//! only once. Every byte range is checked when an accessor is opened. An accessor without a buffer view (all
//! zeros except for its sparse entries) is expanded to its stated size only if the file is at least as large.

use super::document::Document;
use super::json::{self, SparseArray};
use super::malformed;
use crate::IoError;
use crate::error::{MAX_VERTICES, check_count};

/// Largest number of elements of an accessor: a weight track has a value per frame and shape.
const MAX_ELEMENTS: u64 = 40 * MAX_VERTICES;

/// The component types of glTF.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// The first component in `bytes`; 0 if there are too few bytes, which `open` has ruled out.
    fn read(self, bytes: &[u8]) -> f64 {
        let pair = || bytes.first_chunk().copied().unwrap_or_default();
        let four = || bytes.first_chunk().copied().unwrap_or_default();
        let one = bytes.first().copied().unwrap_or_default();
        match self {
            Self::I8 => (one as i8).into(),
            Self::U8 => one.into(),
            Self::I16 => i16::from_le_bytes(pair()).into(),
            Self::U16 => u16::from_le_bytes(pair()).into(),
            Self::U32 => u32::from_le_bytes(four()).into(),
            Self::F32 => f32::from_le_bytes(four()).into(),
        }
    }

    /// The value that a normalized component represents.
    fn normalized(self, value: f64) -> f64 {
        match self {
            Self::I8 => (value / 127.0).max(-1.0),
            Self::U8 => value / 255.0,
            Self::I16 => (value / 32767.0).max(-1.0),
            Self::U16 => value / 65535.0,
            Self::U32 => value / f64::from(u32::MAX),
            Self::F32 => value,
        }
    }
}

/// An array in some view, with its range checked.
struct Strided<'d> {
    bytes: &'d [u8],
    stride: usize,
}

/// An accessor whose ranges are checked.
pub(super) struct Accessor<'d> {
    doc: &'d Document<'d>,
    place: String,
    pub count: usize,
    pub n_components: usize,
    component: Component,
    normalized: bool,
    base: Option<Strided<'d>>,
    sparse: Option<&'d json::Sparse>,
}

impl<'d> Accessor<'d> {
    /// Opens accessor `idx` for `user` (named in errors).
    pub fn open(doc: &'d Document<'d>, idx: usize, user: &str) -> Result<Self, IoError> {
        let Some(json) = doc.root.accessors.get(idx) else {
            return Err(malformed(user, format!("refers to accessor {idx}, which does not exist")));
        };
        let place = format!("accessor {idx} ({user})");
        check_count(super::FORMAT, &format!("count of {place}"), json.count, MAX_ELEMENTS)?;
        let Some(component) = Component::from_code(json.component_type) else {
            return Err(malformed(
                place,
                format!("the componentType {} does not exist", json.component_type),
            ));
        };
        let n_components = match json.kind.as_str() {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            other => return Err(malformed(place, format!("the type '{other}' is not supported here"))),
        };
        let size = component.size() * n_components;
        let count = json.count as usize;
        let base = match json.buffer_view {
            Some(view) => Some(strided(doc, view, json.byte_offset, size, count, true, &place)?),
            None => None,
        };
        let normalized = json.normalized;
        Ok(Self {
            doc,
            place,
            count,
            n_components,
            component,
            normalized,
            base,
            sparse: json.sparse.as_ref(),
        })
    }

    /// Rejects a number of elements other than `expected`.
    pub(crate) fn expect_count(&self, expected: usize, of: &str) -> Result<(), IoError> {
        if self.count != expected {
            let problem = format!("it has {} elements where {of} has {expected}", self.count);
            return Err(malformed(self.place.as_str(), problem));
        }
        Ok(())
    }

    /// Whether the elements are in a buffer view.
    pub(crate) fn is_backed(&self) -> bool {
        self.base.is_some()
    }

    /// All elements.
    pub fn dense<const N: usize>(&self) -> Result<Vec<[f64; N]>, IoError> {
        self.expect_components(N)?;
        self.doc.look_at((N * self.count) as u64, &self.place)?;
        let mut out: Vec<[f64; N]> = match &self.base {
            Some(base) => (0..self.count).map(|i| self.element(base, i)).collect(),
            None if self.count as u64 <= self.doc.backing() => vec![[0.0; N]; self.count],
            None => {
                return Err(malformed(
                    self.place.as_str(),
                    format!("it states {} elements but has no buffer view for them", self.count),
                ));
            }
        };
        let (indices, values) = self.sparse_entries::<N>()?;
        for (i, value) in indices.into_iter().zip(values) {
            if let Some(slot) = out.get_mut(i as usize) {
                *slot = value;
            }
        }
        Ok(out)
    }

    /// The elements that are not zero, ascending.
    pub fn nonzero<const N: usize>(&self) -> Result<(Vec<u32>, Vec<[f64; N]>), IoError> {
        if self.base.is_none() {
            self.expect_components(N)?;
            return self.sparse_entries();
        }
        check_count(super::FORMAT, &format!("count of {}", self.place), self.count as u64, MAX_VERTICES)?;
        let dense = self.dense::<N>()?;
        Ok(dense.into_iter().enumerate().filter(|(_, v)| *v != [0.0; N]).map(|(i, v)| (i as u32, v)).unzip())
    }

    /// All elements as whole numbers.
    pub fn indices(&self) -> Result<Vec<u32>, IoError> {
        if !matches!(self.component, Component::U8 | Component::U16 | Component::U32) {
            return Err(malformed(self.place.as_str(), "indices must be unsigned whole numbers"));
        }
        Ok(self.dense::<1>()?.into_iter().map(|[x]| x as u32).collect())
    }

    fn expect_components(&self, n: usize) -> Result<(), IoError> {
        if self.n_components != n {
            let problem = format!("it has {} components where {n} are needed", self.n_components);
            return Err(malformed(self.place.as_str(), problem));
        }
        Ok(())
    }

    fn element<const N: usize>(&self, from: &Strided, i: usize) -> [f64; N] {
        let bytes = from.bytes.get(i * from.stride..).unwrap_or(&[]);
        std::array::from_fn(|k| {
            let value = self.component.read(bytes.get(k * self.component.size()..).unwrap_or(&[]));
            if self.normalized { self.component.normalized(value) } else { value }
        })
    }

    fn sparse_entries<const N: usize>(&self) -> Result<(Vec<u32>, Vec<[f64; N]>), IoError> {
        let Some(sparse) = self.sparse else { return Ok((Vec::new(), Vec::new())) };
        let place = format!("{}, sparse", self.place);
        if sparse.count > self.count as u64 {
            return Err(malformed(place, format!("{} entries for {} elements", sparse.count, self.count)));
        }
        let n = sparse.count as usize;
        let SparseArray { buffer_view, byte_offset, component_type } = sparse.indices;
        let component = Component::from_code(component_type)
            .filter(|c| matches!(c, Component::U8 | Component::U16 | Component::U32))
            .ok_or_else(|| malformed(place.as_str(), format!("indices of componentType {component_type}")))?;
        let at = strided(self.doc, buffer_view, byte_offset, component.size(), n, false, &place)?;
        let size = self.component.size() * N;
        let values =
            strided(self.doc, sparse.values.buffer_view, sparse.values.byte_offset, size, n, false, &place)?;
        self.doc.look_at(((N + 1) * n) as u64, &place)?;
        let indices: Vec<u32> =
            (0..n).map(|i| component.read(at.bytes.get(i * at.stride..).unwrap_or(&[])) as u32).collect();
        if let Some(i) = indices.windows(2).position(|w| w[1] <= w[0]) {
            let problem = format!("index {} at entry {} does not ascend", indices[i + 1], i + 1);
            return Err(malformed(place, problem));
        }
        if let Some(&last) = indices.last().filter(|&&last| last as usize >= self.count) {
            return Err(malformed(place, format!("index {last} is outside of {} elements", self.count)));
        }
        Ok((indices, (0..n).map(|i| self.element(&values, i)).collect()))
    }
}

/// `count` elements of `size` bytes in a view, with the whole range checked. Only vertex data may have a
/// stride.
fn strided<'d>(
    doc: &'d Document<'d>,
    view: usize,
    offset: u64,
    size: usize,
    count: usize,
    spread: bool,
    place: &str,
) -> Result<Strided<'d>, IoError> {
    let found = doc.view(view, place)?;
    let stride = found.stride.filter(|&s| spread && s >= size).unwrap_or(size);
    let needed = if count == 0 { 0 } else { (count as u64 - 1) * stride as u64 + size as u64 };
    let available = found.bytes.len() as u64;
    if offset.checked_add(needed).is_none_or(|end| end > available) {
        let problem = format!(
            "{count} elements need {needed} bytes from byte {offset}, but bufferView {view} has {available}"
        );
        return Err(malformed(place, problem));
    }
    Ok(Strided { bytes: &found.bytes[offset as usize..(offset + needed) as usize], stride })
}
