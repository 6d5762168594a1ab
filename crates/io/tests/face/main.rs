//! The `.face` file: round trips, reading by other software, rejection of damaged files.

mod damaged;
mod others;
mod same;
mod sample;
mod waiting;

use risorius_io::IoError;
use risorius_io::native::face::{self, FaceFile};
use std::sync::Arc;

fn read(bytes: &[u8]) -> Result<FaceFile, IoError> {
    face::read(Arc::new(bytes.to_vec()))
}

/// The header as JSON, and the arrays after it.
fn taken_apart(bytes: &[u8]) -> (serde_json::Value, &[u8]) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), &bytes[8 + length..])
}

fn put_together(header: &serde_json::Value, data: &[u8]) -> Vec<u8> {
    let mut json = header.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(8), b' ');
    [&(json.len() as u64).to_le_bytes(), json.as_slice(), data].concat()
}
