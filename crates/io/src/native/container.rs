//! The safetensors container: eight bytes with the length of a JSON header, the header, the arrays one after
//! another.
//!
//! The crate of that name is not used for writing: it keeps metadata in a hash map (different bytes every
//! time) and needs all arrays in memory at once. Tests compare with its reader. The header is padded so that
//! arrays begin at a multiple of 64 bytes, and arrays are ordered by the size of their numbers, so that each
//! is aligned for its type and a mapped file needs no copies. Numbers are little-endian.
//!
//! Reading validates everything: the header must fit in the file, arrays must fill the file without gaps, and
//! each must have the length that its shape implies. Additional arrays are allowed.

use crate::IoError;
use crate::formats::text::excerpt;
use bytemuck::Pod;
use risorius_base::Array;
use risorius_base::array::SharedBytes;
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;

const _: () = assert!(cfg!(target_endian = "little"), "numbers of our files are little-endian");

const FORMAT: &str = "file";

/// Longest header that the reference implementation reads.
pub(crate) const MAX_HEADER: u64 = 100_000_000;

/// Arrays begin at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// Types of numbers, by their names in the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dtype {
    /// 64-bit floats.
    F64,
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
    /// 16-bit floats with the range of 32-bit ones.
    BF16,
    /// Signed, 64 bits.
    I64,
    /// Signed, 32 bits.
    I32,
    /// Signed, 16 bits.
    I16,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 64 bits.
    U64,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 8 bits.
    U8,
    /// One byte, 0 or 1.
    BOOL,
}

impl Dtype {
    fn n_bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::BF16 | Self::I16 | Self::U16 => 2,
            Self::I8 | Self::U8 | Self::BOOL => 1,
        }
    }
}

/// A plain number.
pub trait Scalar: Pod {
    /// Its type.
    const DTYPE: Dtype;
}

/// A row of an array: a number, or a few.
pub trait Row: Pod {
    /// Type of the numbers.
    const DTYPE: Dtype;
    /// Shape of the array after its first dimension.
    const SHAPE: &'static [usize];
}

macro_rules! scalars {
    ($($number:ident $dtype:ident),*) => {$(
        impl Scalar for $number {
            const DTYPE: Dtype = Dtype::$dtype;
        }
        impl Row for $number {
            const DTYPE: Dtype = Dtype::$dtype;
            const SHAPE: &'static [usize] = &[];
        }
    )*};
}
scalars!(f64 F64, f32 F32, u64 U64, u32 U32, u16 U16, u8 U8);

impl<T: Scalar, const N: usize> Row for [T; N] {
    const DTYPE: Dtype = T::DTYPE;
    const SHAPE: &'static [usize] = &[N];
}

/// An array as the header describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayInfo {
    /// Type of its numbers.
    pub dtype: Dtype,
    /// Number of rows, then the shape of a row.
    pub shape: Vec<usize>,
    /// First byte and end, counted from the first array.
    pub data_offsets: [u64; 2],
}

impl ArrayInfo {
    /// Length in bytes.
    pub fn n_bytes(&self) -> u64 {
        self.data_offsets[1].saturating_sub(self.data_offsets[0])
    }
}

enum Piece<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>),
}

impl Piece<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

struct Block<'a> {
    name: String,
    dtype: Dtype,
    row: &'static [usize],
    pieces: Vec<Piece<'a>>,
}

impl Block<'_> {
    fn n_bytes(&self) -> usize {
        self.pieces.iter().map(|p| p.bytes().len()).sum()
    }
}

/// Collects arrays and metadata for a file; arrays are borrowed until it is written.
#[derive(Default)]
pub(crate) struct Writer<'a> {
    metadata: Vec<(String, String)>,
    blocks: Vec<Block<'a>>,
}

impl<'a> Writer<'a> {
    /// Adds metadata, in the order of the calls.
    pub fn text(&mut self, key: &str, value: impl Into<String>) {
        self.metadata.push((key.into(), value.into()));
    }

    /// Adds metadata as JSON.
    pub fn json(&mut self, key: &str, value: &impl Serialize) -> Result<(), IoError> {
        let text =
            serde_json::to_string(value).map_err(|e| IoError::malformed(FORMAT, key, e.to_string()))?;
        self.text(key, text);
        Ok(())
    }

    /// Adds an array.
    pub fn array<T: Row>(&mut self, name: impl Into<String>, rows: &'a [T]) {
        self.block::<T>(name.into(), vec![Piece::Borrowed(bytemuck::cast_slice(rows))]);
    }

    /// Adds an array by value.
    pub fn made<T: Row>(&mut self, name: impl Into<String>, rows: Vec<T>) {
        self.block::<T>(name.into(), vec![Piece::Owned(bytemuck::cast_slice(&rows).to_vec())]);
    }

    /// Adds lists as one concatenated array; [`Writer::first`] stores where each begins.
    pub fn lists<T: Row>(&mut self, name: impl Into<String>, lists: impl Iterator<Item = &'a [T]>) {
        self.block::<T>(name.into(), lists.map(|l| Piece::Borrowed(bytemuck::cast_slice(l))).collect());
    }

    /// Adds where lists of these lengths begin, and where the last one ends.
    pub fn first(&mut self, name: impl Into<String>, lengths: impl Iterator<Item = usize>) {
        let mut first = vec![0u64];
        lengths.for_each(|n| first.push(first[first.len() - 1] + n as u64));
        self.made(name, first);
    }

    fn block<T: Row>(&mut self, name: String, pieces: Vec<Piece<'a>>) {
        self.blocks.push(Block { name, dtype: T::DTYPE, row: T::SHAPE, pieces });
    }

    /// The header with its length in front, padded.
    fn header(&self) -> Result<Vec<u8>, IoError> {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let metadata: Vec<String> =
            self.metadata.iter().map(|(k, v)| format!("{}:{}", quoted(k), quoted(v))).collect();
        let mut json = format!("{{\"__metadata__\":{{{}}}", metadata.join(","));
        let mut start = 0u64;
        for block in &self.blocks {
            let n_bytes = block.n_bytes();
            let n_rows = n_bytes / (block.dtype.n_bytes() * block.row.iter().product::<usize>());
            let shape: Vec<usize> = std::iter::once(n_rows).chain(block.row.iter().copied()).collect();
            let end = start + n_bytes as u64;
            json +=
                &format!(",{}:{{\"dtype\":\"{:?}\",\"shape\":{shape:?},", quoted(&block.name), block.dtype);
            json += &format!("\"data_offsets\":[{start},{end}]}}");
            start = end;
        }
        json.push('}');
        let padded = (8 + json.len()).next_multiple_of(ALIGNMENT) - 8;
        crate::error::check_count(FORMAT, "the length of the header in bytes", padded as u64, MAX_HEADER)?;
        let mut bytes = (padded as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(json.as_bytes());
        bytes.resize(8 + padded, b' ');
        Ok(bytes)
    }

    /// Writes everything; `os` adds the file's path to a system error.
    pub fn write(
        mut self,
        out: &mut impl Write,
        os: impl Fn(std::io::Error) -> IoError,
    ) -> Result<(), IoError> {
        self.blocks.sort_by_key(|b| std::cmp::Reverse(b.dtype.n_bytes()));
        out.write_all(&self.header()?).map_err(&os)?;
        let mut pieces = self.blocks.iter().flat_map(|b| &b.pieces);
        pieces.try_for_each(|p| out.write_all(p.bytes())).map_err(os)
    }
}

/// A file's header, checked against its bytes.
pub(crate) struct Archive {
    bytes: SharedBytes,
    /// First byte of the arrays.
    data: usize,
    arrays: BTreeMap<String, ArrayInfo>,
    metadata: BTreeMap<String, String>,
}

/// An error for a damaged file, with the usual advice.
pub fn damaged(place: impl Into<String>, problem: impl std::fmt::Display) -> IoError {
    let advice =
        "the file is damaged, make it again (`risorius build` makes faces, `risorius detail learn` details)";
    IoError::malformed(FORMAT, place, format!("{problem}; {advice}"))
}

/// The start of a message, which may quote the file at length.
fn brief(message: &str) -> String {
    message.chars().take(200).collect()
}

/// The JSON of the header, if `bytes` begin with one.
pub fn header_of(bytes: &[u8]) -> Option<&[u8]> {
    let length = u64::from_le_bytes(*bytes.first_chunk()?);
    let end = usize::try_from(length).ok()?.checked_add(8)?;
    bytes.get(8..end).filter(|json| length <= MAX_HEADER && json.first() == Some(&b'{'))
}

impl Archive {
    /// Reads the header of a whole file.
    pub fn read(bytes: SharedBytes) -> Result<Self, IoError> {
        let all: &[u8] = (*bytes).as_ref();
        let json = header_of(all).ok_or_else(|| damaged("header", "it is incomplete"))?;
        let header: Header = serde_json::from_slice(json)
            .map_err(|e| damaged("header", format!("column {}: {}", e.column(), brief(&e.to_string()))))?;
        let data = 8 + json.len();
        check_layout(&header.arrays, (all.len() - data) as u64)?;
        Ok(Self { data, arrays: header.arrays, metadata: header.metadata, bytes })
    }

    /// Required metadata.
    pub fn text(&self, key: &str) -> Result<&str, IoError> {
        self.metadata
            .get(key)
            .map(String::as_str)
            .ok_or_else(|| damaged(format!("metadata '{key}'"), "it is missing"))
    }

    /// Metadata that is JSON.
    pub fn json<T: DeserializeOwned>(&self, key: &str) -> Result<T, IoError> {
        serde_json::from_str(self.text(key)?)
            .map_err(|e| damaged(format!("metadata '{key}'"), brief(&e.to_string())))
    }

    /// All arrays by name.
    pub fn arrays(&self) -> &BTreeMap<String, ArrayInfo> {
        &self.arrays
    }

    /// Whether there is an array of that name.
    pub fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }

    /// An array whose rows are `T`s, as a view into the file.
    pub fn array<T: Row>(&self, name: &str) -> Result<Array<T>, IoError> {
        let range = self.range::<T>(name)?;
        Array::window(&self.bytes, range)
            .ok_or_else(|| damaged(format!("array '{name}'"), "it lies outside the file"))
    }

    /// An array of `n` rows, one for each of `what`.
    pub fn rows<T: Row>(&self, name: &str, n: usize, what: &str) -> Result<Array<T>, IoError> {
        let array = self.array::<T>(name)?;
        if array.len() != n {
            return Err(damaged(
                format!("array '{name}'"),
                format!("it has {} rows for {n} {what}", array.len()),
            ));
        }
        Ok(array)
    }

    /// Where lists begin, and where the last one ends: `n + 1` ascending numbers from 0.
    pub fn first(&self, name: &str, n: usize, what: &str) -> Result<Vec<usize>, IoError> {
        let place = || format!("array '{name}'");
        let first = self.array::<u64>(name)?;
        if Some(first.len()) != n.checked_add(1) {
            return Err(damaged(
                place(),
                format!("it has {} rows for {n} {what}; it needs one more than those", first.len()),
            ));
        }
        if first[0] != 0 || first.windows(2).any(|w| w[0] > w[1]) {
            return Err(damaged(place(), "it does not ascend from 0"));
        }
        let small = |&x: &u64| usize::try_from(x).map_err(|_| damaged(place(), format!("{x} is too large")));
        first.iter().map(small).collect()
    }

    /// The lists that begin at `first`, each as a view into the file.
    pub fn lists<T: Row>(&self, name: &str, first: &[usize]) -> Result<Vec<Array<T>>, IoError> {
        let range = self.range::<T>(name)?;
        let n_rows = range.len() / size_of::<T>();
        let wrong =
            || damaged(format!("array '{name}'"), format!("its {n_rows} rows do not match its lists"));
        if first.last() != Some(&n_rows) {
            return Err(wrong());
        }
        let at = |row: usize| range.start + row * size_of::<T>();
        first.windows(2).map(|w| Array::window(&self.bytes, at(w[0])..at(w[1])).ok_or_else(wrong)).collect()
    }

    /// The byte range of an array in the file, if its rows are `T`s.
    fn range<T: Row>(&self, name: &str) -> Result<Range<usize>, IoError> {
        let place = || format!("array '{name}'");
        let info = self.arrays.get(name).ok_or_else(|| damaged(place(), "it is missing"))?;
        if info.dtype != T::DTYPE || info.shape.get(1..) != Some(T::SHAPE) {
            let wanted = format!(
                "{:?} of shape [n{}]",
                T::DTYPE,
                T::SHAPE.iter().map(|n| format!(", {n}")).collect::<String>()
            );
            let found = format!("{:?} of {} dimensions", info.dtype, info.shape.len());
            return Err(damaged(place(), format!("it should be {wanted} and is {found}")));
        }
        let [start, end] = info.data_offsets.map(|x| self.data + x as usize);
        Ok(start..end)
    }
}

/// Checks that arrays fill `n_bytes` without gaps and have the lengths that their shapes imply.
fn check_layout(arrays: &BTreeMap<String, ArrayInfo>, n_bytes: u64) -> Result<(), IoError> {
    let mut by_place: Vec<(&String, &ArrayInfo)> = arrays.iter().collect();
    by_place.sort_by_key(|(_, info)| info.data_offsets);
    let mut start = 0u64;
    for (name, info) in by_place {
        let place = || format!("array '{}'", excerpt(name.as_bytes()));
        let n_numbers = info.shape.iter().try_fold(1usize, |n, &k| n.checked_mul(k));
        let needed = n_numbers.and_then(|n| n.checked_mul(info.dtype.n_bytes())).map(|n| n as u64);
        let [from, end] = info.data_offsets;
        if from != start || end > n_bytes {
            return Err(damaged(
                place(),
                format!("bytes {from} to {end} of {n_bytes} overlap, leave a gap or are missing"),
            ));
        }
        if end.checked_sub(from) != needed {
            return Err(damaged(place(), format!("bytes {from} to {end} do not match its shape")));
        }
        start = end;
    }
    if start != n_bytes {
        return Err(damaged("header", format!("its arrays end at byte {start} of {n_bytes}")));
    }
    Ok(())
}

#[derive(Default)]
struct Header {
    metadata: BTreeMap<String, String>,
    arrays: BTreeMap<String, ArrayInfo>,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("an object of arrays")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut header = Header::default();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                header.metadata = map.next_value()?;
            } else if let Some(twice) = header.arrays.insert(name, map.next_value()?) {
                return Err(A::Error::custom(format!("an array of {:?} appears twice", twice.dtype)));
            }
        }
        Ok(header)
    }
}
