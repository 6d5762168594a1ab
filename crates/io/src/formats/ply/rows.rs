//! Reads the numbers of a PLY file one after another, in any encoding.

use super::FORMAT;
use super::header::{Encoding, Kind, Property, Type};
use crate::IoError;
use crate::formats::text::{excerpt, number, push_f32};

/// A reading position in the tables.
pub(super) struct Rows<'a> {
    rest: &'a [u8],
    end: usize,
    encoding: Encoding,
}

impl<'a> Rows<'a> {
    /// Starts at the first byte of `body`, which is at byte `start` of the file.
    pub fn new(body: &'a [u8], start: usize, encoding: Encoding) -> Self {
        Self { rest: body, end: start + body.len(), encoding }
    }

    /// Bytes that have not been read.
    pub fn n_left(&self) -> usize {
        self.rest.len()
    }

    /// The fewest bytes that a property can take.
    pub(crate) fn least_bytes(&self, property: &Property) -> u64 {
        match (self.encoding, property.kind) {
            // A digit and a space.
            (Encoding::Text, _) => 2,
            (_, Kind::Scalar(of_type)) => of_type.n_bytes() as u64,
            (_, Kind::List { count, .. }) => count.n_bytes() as u64,
        }
    }

    fn malformed(&self, problem: impl Into<String>) -> IoError {
        IoError::malformed(FORMAT, format!("byte {}", self.end - self.rest.len()), problem)
    }

    /// The next number.
    pub fn scalar(&mut self, of_type: Type) -> Result<f64, IoError> {
        if self.encoding == Encoding::Text {
            let text = self.rest.trim_ascii_start();
            let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
            let (word, rest) = text.split_at(end);
            if word.is_empty() {
                return Err(self.malformed("the file ends before its tables do"));
            }
            let value =
                number(word).ok_or_else(|| self.malformed(format!("'{}' is not a number", excerpt(word))))?;
            self.rest = rest;
            return Ok(value);
        }
        let Some((bytes, rest)) = self.rest.split_at_checked(of_type.n_bytes()) else {
            return Err(self.malformed("the file ends before its tables do"));
        };
        self.rest = rest;
        let mut raw = [0u8; 8];
        raw[..bytes.len()].copy_from_slice(bytes);
        if self.encoding == Encoding::Big {
            raw[..bytes.len()].reverse();
        }
        let [a, b, c, d, ..] = raw;
        Ok(match of_type {
            Type::I8 => f64::from(a as i8),
            Type::U8 => f64::from(a),
            Type::I16 => f64::from(i16::from_le_bytes([a, b])),
            Type::U16 => f64::from(u16::from_le_bytes([a, b])),
            Type::I32 => f64::from(i32::from_le_bytes([a, b, c, d])),
            Type::U32 => f64::from(u32::from_le_bytes([a, b, c, d])),
            Type::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
            Type::F64 => f64::from_le_bytes(raw),
        })
    }

    /// The length of a list of `of_type`, checked against the bytes that are left.
    pub(crate) fn list_length(&mut self, count: Type, of_type: Type) -> Result<usize, IoError> {
        let length = self.scalar(count)?;
        let each = if self.encoding == Encoding::Text { 2 } else { of_type.n_bytes() };
        let most = (self.rest.len() + 1) / each;
        if !(length >= 0.0 && length <= most as f64 && length.fract() == 0.0) {
            return Err(
                self.malformed(format!("a list of {length} numbers does not fit in the rest of the file"))
            );
        }
        Ok(length as usize)
    }

    /// Skips one property.
    pub fn skip(&mut self, property: &Property) -> Result<(), IoError> {
        match property.kind {
            Kind::Scalar(of_type) => {
                self.scalar(of_type)?;
            }
            Kind::List { count, of_type } => {
                for _ in 0..self.list_length(count, of_type)? {
                    self.scalar(of_type)?;
                }
            }
        }
        Ok(())
    }
}

/// Appends a row of the vertex table.
pub(super) fn push_vertex(
    out: &mut Vec<u8>,
    position: &[f32; 3],
    color: Option<[u8; 4]>,
    encoding: Encoding,
) {
    if encoding == Encoding::Text {
        for &x in position {
            push_f32(out, x);
            out.push(b' ');
        }
        for c in color.into_iter().flatten() {
            out.extend_from_slice(format!("{c} ").as_bytes());
        }
        end_line(out);
    } else {
        out.extend(position.iter().flat_map(|x| x.to_le_bytes()));
        out.extend(color.into_iter().flatten());
    }
}

/// Appends a row of the face table; `wide` counts take four bytes.
pub(super) fn push_face(out: &mut Vec<u8>, face: &[u32], wide: bool, encoding: Encoding) {
    if encoding == Encoding::Text {
        out.extend_from_slice(format!("{} ", face.len()).as_bytes());
        for v in face {
            out.extend_from_slice(format!("{v} ").as_bytes());
        }
        end_line(out);
    } else {
        let count = (face.len() as u32).to_le_bytes();
        out.extend_from_slice(if wide { &count } else { &count[..1] });
        out.extend(face.iter().flat_map(|v| v.to_le_bytes()));
    }
}

/// Turns the space after the last number into a line end.
fn end_line(out: &mut Vec<u8>) {
    out.pop();
    out.push(b'\n');
}
