//! The JSON of a glTF file as text in the making. A take of 2000 frames has hundreds of thousands of objects,
//! which take ten times as much memory as their text; so long lists are kept as text. Fields are written in
//! the order of their names.

use super::build::Bin;
use super::container::encode_base64;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// Bytes that are encoded as text at once; a multiple of three.
const PIECE: usize = 3 << 14;

/// A list of JSON values, as text without brackets.
#[derive(Default)]
pub(super) struct List {
    text: String,
    len: usize,
}

impl List {
    /// Appends a value and returns its index.
    pub fn push(&mut self, value: &Value) -> usize {
        if self.len > 0 {
            self.text.push(',');
        }
        self.text += &value.to_string();
        self.len += 1;
        self.len - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A field of an object.
pub(super) enum Field<'a> {
    Value(Value),
    List(&'a List),
    /// Primitives of a mesh, all with the same morph targets.
    Primitives(Vec<Value>, &'a List),
    /// A list of objects.
    Objects(Vec<Fields<'a>>),
    /// A list of one buffer that contains its own data.
    Buffer(&'a mut Bin),
}

/// The fields of an object.
pub(super) type Fields<'a> = BTreeMap<&'static str, Field<'a>>;

/// Writes an object.
pub(super) fn write_object(fields: Fields, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{")?;
    for (i, (name, field)) in fields.into_iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}\"{name}\":")?;
        match field {
            Field::Value(value) => write!(out, "{value}")?,
            Field::List(list) => write!(out, "[{}]", list.text)?,
            Field::Primitives(primitives, targets) => {
                separated(primitives, out, |primitive, out| write_primitive(&primitive, targets, out))?;
            }
            Field::Objects(objects) => separated(objects, out, write_object)?,
            Field::Buffer(bin) => write_buffer(bin, out)?,
        }
    }
    out.write_all(b"}")
}

/// Writes a list.
fn separated<T>(
    items: Vec<T>,
    out: &mut dyn Write,
    write: impl Fn(T, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        write(item, out)?;
    }
    out.write_all(b"]")
}

/// Writes a primitive. The name of its targets comes after those of its other fields.
fn write_primitive(primitive: &Value, targets: &List, out: &mut dyn Write) -> io::Result<()> {
    let text = primitive.to_string();
    match text.strip_suffix('}') {
        Some(open) if !targets.is_empty() => write!(out, "{open},\"targets\":[{}]}}", targets.text),
        _ => out.write_all(text.as_bytes()),
    }
}

fn write_buffer(bin: &mut Bin, out: &mut dyn Write) -> io::Result<()> {
    let n_bytes = bin.len();
    write!(out, "[{{\"byteLength\":{n_bytes},\"uri\":\"data:application/octet-stream;base64,")?;
    let (mut data, mut piece) = (bin.read_back()?, vec![0; PIECE]);
    for first in (0..n_bytes).step_by(PIECE) {
        let piece = &mut piece[..PIECE.min(n_bytes - first)];
        data.read_exact(piece)?;
        out.write_all(encode_base64(piece).as_bytes())?;
    }
    out.write_all(b"\"}]")
}
