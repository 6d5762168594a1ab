//! The header of a PLY file: which tables follow, and how their numbers are stored.

use super::FORMAT;
use crate::IoError;
use crate::formats::text::{excerpt, lines, number, text, tokens};

/// How the tables are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    Little,
    Big,
}

/// The types of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

/// One number or a list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Scalar(Type),
    List { count: Type, of_type: Type },
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(super) struct Property {
    pub name: String,
    pub kind: Kind,
}

/// A table.
#[derive(Debug, Clone)]
pub(super) struct Element {
    pub name: String,
    pub count: u64,
    pub properties: Vec<Property>,
}

/// All tables in file order.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub encoding: Encoding,
    pub elements: Vec<Element>,
}

impl Encoding {
    /// The name in the `format` line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "ascii",
            Self::Little => "binary_little_endian",
            Self::Big => "binary_big_endian",
        }
    }
}

impl Type {
    fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"char" | b"int8" => Self::I8,
            b"uchar" | b"uint8" => Self::U8,
            b"short" | b"int16" => Self::I16,
            b"ushort" | b"uint16" => Self::U16,
            b"int" | b"int32" => Self::I32,
            b"uint" | b"uint32" => Self::U32,
            b"float" | b"float32" => Self::F32,
            b"double" | b"float64" => Self::F64,
            _ => return None,
        })
    }

    /// The traditional name.
    pub fn name(self) -> &'static str {
        match self {
            Self::I8 => "char",
            Self::U8 => "uchar",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// Bytes in a binary file.
    pub fn n_bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The stored value that means 1.0 in a color.
    pub(crate) fn full_range(self) -> f64 {
        match self {
            Self::I8 => 127.0,
            Self::U8 => 255.0,
            Self::I16 => 32_767.0,
            Self::U16 => 65_535.0,
            Self::I32 => f64::from(i32::MAX),
            Self::U32 => f64::from(u32::MAX),
            Self::F32 | Self::F64 => 1.0,
        }
    }
}

/// Reads the header; also returns the bytes after it.
pub(super) fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), IoError> {
    let mut lines = lines(bytes);
    if lines.next().map(|l| l.1) != Some(b"ply") {
        return Err(IoError::malformed(FORMAT, "line 1", "a PLY file starts with the line 'ply'"));
    }
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    while let Some((line, content)) = lines.next() {
        let malformed = |problem: String| IoError::malformed(FORMAT, format!("line {line}"), problem);
        let words: Vec<&[u8]> = tokens(content).collect();
        match words[..] {
            [] | [b"comment" | b"obj_info", ..] => {}
            [b"format", b"ascii", ..] => encoding = Some(Encoding::Text),
            [b"format", b"binary_little_endian", ..] => encoding = Some(Encoding::Little),
            [b"format", b"binary_big_endian", ..] => encoding = Some(Encoding::Big),
            [b"element", name, count] => {
                let count =
                    number(count).ok_or_else(|| malformed(format!("'{}' is not a count", excerpt(count))))?;
                elements.push(Element { name: text(name).into_owned(), count, properties: Vec::new() });
            }
            [b"property", ref words @ ..] => {
                let property = property(words)
                    .ok_or_else(|| malformed(format!("'{}' is not a valid property", excerpt(content))))?;
                let element =
                    elements.last_mut().ok_or_else(|| malformed("a property before any element".into()))?;
                element.properties.push(property);
            }
            [b"end_header"] => {
                let encoding = encoding.ok_or_else(|| malformed("the header has no 'format' line".into()))?;
                return Ok((Header { encoding, elements }, lines.rest()));
            }
            _ => return Err(malformed(format!("'{}' is not a valid header line", excerpt(content)))),
        }
    }
    Err(IoError::malformed(FORMAT, "header", "there is no 'end_header'; the file is cut off or not a PLY"))
}

fn property(words: &[&[u8]]) -> Option<Property> {
    let (name, kind) = match *words {
        [b"list", count, of_type, name] => {
            let count = Type::from_name(count).filter(|t| !matches!(t, Type::F32 | Type::F64))?;
            (name, Kind::List { count, of_type: Type::from_name(of_type)? })
        }
        [of_type, name] => (name, Kind::Scalar(Type::from_name(of_type)?)),
        _ => return None,
    };
    Some(Property { name: text(name).into_owned(), kind })
}
