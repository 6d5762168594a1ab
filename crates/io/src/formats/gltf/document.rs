//! An open glTF file: its JSON, its buffers, fetched on first use, and budgets against malicious counts.
//!
//! A few bytes of JSON can refer to the same data a million times (instances, shared targets, zeros without a
//! buffer). Two budgets that grow with the size of the file limit this: one for bytes kept in memory, one for
//! values read.

use super::json::{BufferView, Meshopt, Root};
use super::{External, container, malformed, unpack};
use crate::IoError;
use std::cell::{Cell, OnceCell, RefCell};

/// Budgets have this base, regardless of the size of the file ...
const BUDGET_BASE: u64 = 96 << 20;
/// ... and grow by this much for each of its bytes. Real files stay below 20, all-zero compressed data
/// included.
const BUDGET_PER_BYTE: u64 = 128;
/// Largest total size in bytes of buffers and images outside the file.
const MAX_EXTERNAL: u64 = 8 << 30;

/// A glTF file being read.
pub(super) struct Document<'a> {
    pub root: Root,
    bin: Option<&'a [u8]>,
    external: &'a External<'a>,
    buffers: Vec<OnceCell<Vec<u8>>>,
    decoded_views: Vec<OnceCell<Vec<u32>>>,
    backing: Cell<u64>,
    kept: Cell<u64>,
    looked_at: Cell<u64>,
    notes: RefCell<Vec<String>>,
}

/// The bytes of a buffer view and the distance between its elements, if it states one.
pub(super) struct View<'d> {
    pub bytes: &'d [u8],
    pub stride: Option<usize>,
}

impl<'a> Document<'a> {
    pub fn open(bytes: &'a [u8], external: &'a External<'a>) -> Result<Self, IoError> {
        let (root, bin) = container::split(bytes)?;
        Ok(Self {
            buffers: root.buffers.iter().map(|_| OnceCell::new()).collect(),
            decoded_views: root.buffer_views.iter().map(|_| OnceCell::new()).collect(),
            root,
            bin,
            external,
            backing: Cell::new(bytes.len() as u64),
            kept: Cell::new(0),
            looked_at: Cell::new(0),
            notes: RefCell::default(),
        })
    }

    /// Adds a note for the user; repeated notes are dropped.
    pub fn note(&self, sentence: String) {
        let mut notes = self.notes.borrow_mut();
        if notes.len() < 1000 && !notes.contains(&sentence) {
            notes.push(sentence);
        }
    }

    pub(crate) fn into_notes(self) -> Vec<String> {
        self.notes.into_inner()
    }

    /// Bytes of the file and of everything that it refers to and that was loaded.
    pub(crate) fn backing(&self) -> u64 {
        self.backing.get()
    }

    /// Accounts for `n` bytes about to be kept.
    pub fn keep(&self, n: u64, what: &str) -> Result<(), IoError> {
        self.spend(&self.kept, n, format!("the memory needed up to {what}, in bytes,"))
    }

    /// Accounts for `n` values about to be read.
    pub(crate) fn look_at(&self, n: u64, what: &str) -> Result<(), IoError> {
        self.spend(&self.looked_at, n, format!("the number of values up to {what}"))
    }

    fn spend(&self, account: &Cell<u64>, n: u64, what: String) -> Result<(), IoError> {
        let limit = BUDGET_BASE + BUDGET_PER_BYTE * self.backing.get();
        let count = account.get().saturating_add(n);
        account.set(count);
        if count > limit {
            return Err(IoError::TooLarge { format: super::FORMAT, what, count, limit });
        }
        Ok(())
    }

    /// The data of a URI: contained in it, or fetched by the callback.
    pub fn fetch(&self, uri: &str, place: &str) -> Result<Vec<u8>, IoError> {
        match container::resolve_uri(uri, place)? {
            container::Uri::Data(bytes) => Ok(bytes),
            container::Uri::Path(path) => {
                let bytes = (self.external)(&path)?;
                let backing = self.backing.get().saturating_add(bytes.len() as u64);
                crate::error::check_count(super::FORMAT, "the size of all files", backing, MAX_EXTERNAL)?;
                self.backing.set(backing);
                Ok(bytes)
            }
        }
    }

    fn buffer(&self, idx: usize, user: &str) -> Result<&[u8], IoError> {
        let place = format!("buffer {idx}");
        let (Some(buffer), Some(cell)) = (self.root.buffers.get(idx), self.buffers.get(idx)) else {
            return Err(malformed(user, format!("refers to {place}, which does not exist")));
        };
        let data: &[u8] = match (&buffer.uri, self.bin) {
            (None, Some(bin)) if idx == 0 => bin,
            (None, _) => {
                return Err(malformed(place, "it has no data: neither a URI nor a binary chunk"));
            }
            (Some(_), _) if cell.get().is_some() => cell.get().map_or(&[], Vec::as_slice),
            (Some(uri), _) => {
                let fetched = self.fetch(uri, &place)?;
                cell.get_or_init(|| fetched)
            }
        };
        let stated = usize::try_from(buffer.byte_length).ok();
        stated.and_then(|n| data.get(..n)).ok_or_else(|| {
            malformed(place, format!("it states {} bytes but there are {}", buffer.byte_length, data.len()))
        })
    }

    fn slice(&self, buffer: usize, offset: u64, length: u64, place: &str) -> Result<&[u8], IoError> {
        let data = self.buffer(buffer, place)?;
        let end = offset.checked_add(length).filter(|&end| end <= data.len() as u64);
        match end {
            Some(end) => Ok(&data[offset as usize..end as usize]),
            None => Err(malformed(
                place,
                format!("bytes {offset} + {length} exceed the {} bytes of buffer {buffer}", data.len()),
            )),
        }
    }

    /// The bytes of a buffer view, decompressed when they are compressed.
    pub fn view(&self, idx: usize, user: &str) -> Result<View<'_>, IoError> {
        let place = format!("bufferView {idx}");
        let (Some(view), Some(cell)) = (self.root.buffer_views.get(idx), self.decoded_views.get(idx)) else {
            return Err(malformed(user, format!("refers to {place}, which does not exist")));
        };
        let BufferView { buffer, byte_offset, byte_length, byte_stride, extensions } = view;
        if let Some(packed) = extensions.ext.as_ref().or(extensions.khr.as_ref()) {
            if cell.get().is_none() {
                let words = self.decode(packed, &place)?;
                cell.get_or_init(|| words);
            }
            let bytes: &[u8] = bytemuck::cast_slice(cell.get().map_or(&[], Vec::as_slice));
            let length = unpack::decoded_size(packed, &place)? as usize;
            return Ok(View {
                bytes: bytes.get(..length).unwrap_or(bytes),
                stride: Some(packed.byte_stride as usize),
            });
        }
        if byte_stride.is_some_and(|s| s == 0 || s > 252) {
            return Err(malformed(
                place,
                format!("byteStride is {}; it must be 4 to 252", byte_stride.unwrap_or(0)),
            ));
        }
        let bytes = self.slice(*buffer, *byte_offset, *byte_length, &place)?;
        Ok(View { bytes, stride: byte_stride.map(|s| s as usize) })
    }

    fn decode(&self, packed: &Meshopt, place: &str) -> Result<Vec<u32>, IoError> {
        let source = self.slice(packed.buffer, packed.byte_offset, packed.byte_length, place)?;
        unpack::check(packed, source.len(), place)?;
        self.keep(unpack::decoded_size(packed, place)?, place)?;
        unpack::decode(packed, source, place)
    }
}
