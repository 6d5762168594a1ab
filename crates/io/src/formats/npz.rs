//! NPZ, the numpy archive: `positions` (frames, vertices, 3) f32, `times` (frames) f64, `faces`
//! (triangles, 3) u32.
//!
//! Written uncompressed (like `numpy.savez`), with the same bytes for the same take. Read: the arrays
//! `positions` (4- or 8-byte floats) and `times`, uncompressed, little-endian and in C order, or all arrays
//! of floats under their names; compressed archives are refused with advice. Sizes are checked against the
//! bytes of the file before anything is allocated.

use crate::IoError;
use crate::take_out::{Count, TakeHeader, TakeWriter, finished, product};
use risorius_rig::Take;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use zip::result::ZipError;
use zip::write::{FileOptions, SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, ZipArchive};

const FORMAT: &str = "NPZ";
const MAGIC: &[u8] = b"\x93NUMPY";

/// Writes an NPZ file.
pub struct NpzWriter<W: Write + Seek> {
    zip: ZipWriter<UntilFailure<W>>,
    count: Count,
}

/// An output that ignores everything after its first error.
///
/// A `ZipWriter` that is dropped tries to finish the archive, and prints a line if that fails. On a full disk
/// the error has been returned before, and the file is discarded.
struct UntilFailure<W> {
    out: W,
    failed: bool,
    /// Position and length, which go on as if nothing had failed.
    at: u64,
    end: u64,
}

impl<W> UntilFailure<W> {
    fn new(out: W) -> Self {
        Self { out, failed: false, at: 0, end: 0 }
    }

    /// Runs `action` unless an earlier one failed; `ignored` is the result then.
    fn unless_failed<T>(
        &mut self,
        ignored: T,
        action: impl FnOnce(&mut W) -> std::io::Result<T>,
    ) -> std::io::Result<T> {
        if self.failed {
            return Ok(ignored);
        }
        let result = action(&mut self.out);
        self.failed = result.as_ref().is_err_and(|e| e.kind() != std::io::ErrorKind::Interrupted);
        result
    }
}

impl<W: Write> Write for UntilFailure<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.unless_failed(bytes.len(), |out| out.write(bytes))?;
        self.at += n as u64;
        self.end = self.end.max(self.at);
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.unless_failed((), Write::flush)
    }
}

impl<W: Seek> Seek for UntilFailure<W> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let wanted = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(by) => self.end.saturating_add_signed(by),
        };
        self.at = self.unless_failed(wanted, |out| out.seek(to))?;
        Ok(self.at)
    }
}

fn options() -> SimpleFileOptions {
    // Always in the large-file format, since the size of a streamed entry is known only at its end.
    FileOptions::DEFAULT.compression_method(CompressionMethod::Stored).large_file(true)
}

/// The header of an array file, padded so that the data is aligned to 64 bytes.
fn array_header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let mut sizes: String = shape.iter().map(|n| format!("{n}, ")).collect();
    if shape.len() > 1 {
        sizes.truncate(sizes.len() - 2);
    } else {
        sizes.truncate(sizes.len() - 1);
    }
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let unpadded = MAGIC.len() + 4 + dict.len() + 1;
    dict.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    dict.push('\n');
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend((dict.len() as u16).to_le_bytes());
    header.extend_from_slice(dict.as_bytes());
    header
}

impl<W: Write + Seek> NpzWriter<W> {
    /// Starts the archive with the array of positions.
    pub fn new(out: W, header: TakeHeader) -> Result<Self, IoError> {
        let count = Count::new(FORMAT, header)?;
        let mut zip = ZipWriter::new(UntilFailure::new(out));
        let shape = [count.header.times_secs.len(), count.header.n_vertices, 3];
        start_array(&mut zip, "positions.npy", &array_header("<f4", &shape)).map_err(|e| count.os(e))?;
        Ok(Self { zip, count })
    }
}

fn start_array<W: Write + Seek>(zip: &mut ZipWriter<W>, name: &str, header: &[u8]) -> std::io::Result<()> {
    zip.start_file(name, options()).map_err(std::io::Error::from)?;
    zip.write_all(header)
}

impl<W: Write + Seek> TakeWriter<W> for NpzWriter<W> {
    fn frame(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        self.count.frame(positions)?;
        let bytes: Vec<u8> = positions.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        self.zip.write_all(&bytes).map_err(|e| self.count.os(e))
    }

    fn finish(self: Box<Self>) -> Result<W, IoError> {
        let Self { mut zip, count } = *self;
        count.finish()?;
        let header = &count.header;
        let times: Vec<u8> = header.times_secs.iter().flat_map(|t| t.to_le_bytes()).collect();
        let faces: Vec<u8> = header.triangles.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        let arrays = [
            ("times.npy", array_header("<f8", &[header.times_secs.len()]), times),
            ("faces.npy", array_header("<u4", &[header.triangles.len(), 3]), faces),
        ];
        for (name, start, data) in arrays {
            start_array(&mut zip, name, &start)
                .and_then(|()| zip.write_all(&data))
                .map_err(|e| count.os(e))?;
        }
        zip.finish().map(|done| done.out).map_err(|e| count.os(e.into()))
    }
}

/// An array of floats, in C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Lengths of its axes.
    pub shape: Vec<u64>,
    /// Its values.
    pub values: Vec<f64>,
}

/// All arrays of an NPZ file, by name; each must hold 4- or 8-byte floats.
pub fn read_arrays(bytes: &[u8]) -> Result<Vec<Array>, IoError> {
    let mut zip = archive(bytes)?;
    let mut names: Vec<String> =
        zip.file_names().flatten().filter_map(|n| Some(n.strip_suffix(".npy")?.to_string())).collect();
    names.sort();
    let mut all = Vec::new();
    for name in names {
        let (shape, values) = read_array(&mut zip, bytes.len(), &name, |x| x)?;
        all.push(Array { name, shape, values });
    }
    Ok(all)
}

fn archive(bytes: &[u8]) -> Result<ZipArchive<Cursor<&[u8]>>, IoError> {
    ZipArchive::new(Cursor::new(bytes))
        .map_err(|e| IoError::malformed(FORMAT, "archive", format!("{e}; is this a file of numpy.savez?")))
}

/// Reads an NPZ file.
pub fn read(bytes: &[u8]) -> Result<Take, IoError> {
    let mut zip = archive(bytes)?;
    let (shape, floats) = read_array(&mut zip, bytes.len(), "positions", |x| x as f32)?;
    let [n_frames, n_vertices, 3] = shape[..] else {
        let problem = format!("its shape is {shape:?}, not [frames, vertices, 3]");
        return Err(IoError::malformed(FORMAT, "positions", problem));
    };
    let (time_shape, times_secs) = read_array(&mut zip, bytes.len(), "times", |x| x)?;
    if time_shape != [n_frames] {
        let problem = format!("its shape is {time_shape:?}, the positions have {n_frames} frames");
        return Err(IoError::malformed(FORMAT, "times", problem));
    }
    finished(FORMAT, times_secs, n_vertices as usize, bytemuck::cast_vec(floats))
}

/// Shape and values of one array of floats.
fn read_array<T>(
    zip: &mut ZipArchive<Cursor<&[u8]>>,
    n_file_bytes: usize,
    name: &str,
    convert: impl Fn(f64) -> T,
) -> Result<(Vec<u64>, Vec<T>), IoError> {
    let malformed = |problem: String| IoError::malformed(FORMAT, name, problem);
    let file_name = format!("{name}.npy");
    let present: Vec<String> =
        zip.file_names().flatten().take(8).map(|n| n.trim_end_matches(".npy").to_string()).collect();
    let raw = zip.by_name_raw(file_name.as_bytes()).map_err(|e| match e {
        ZipError::FileNotFound => {
            malformed(format!("there is no such array; the archive has: {}", present.join(", ")))
        }
        other => malformed(other.to_string()),
    })?;
    if raw.compression() != CompressionMethod::Stored {
        return Err(IoError::Unsupported {
            format: FORMAT,
            feature: format!("the compressed array '{name}'"),
            advice: "save it with numpy.savez instead of numpy.savez_compressed".into(),
        });
    }
    drop(raw);
    let entry = zip.by_name(&file_name).map_err(|e| malformed(e.to_string()))?;
    let n_bytes = entry.size();
    if n_bytes > n_file_bytes as u64 || entry.compressed_size() != n_bytes {
        return Err(malformed(format!(
            "its stated size is {n_bytes} bytes, but the whole file has {n_file_bytes}"
        )));
    }
    let mut reader = std::io::BufReader::with_capacity(1 << 16, entry);
    let array = read_array_header(&mut reader, n_bytes).map_err(malformed)?;
    let values = read_values(&mut reader, &array, convert).map_err(|e| malformed(e.to_string()))?;
    Ok((array.shape, values))
}

/// The header of an array.
struct Header {
    shape: Vec<u64>,
    n_values: u64,
    item: usize,
}

/// Reads up to the data, which must fill the rest of the array's `n_bytes`.
fn read_array_header(reader: &mut impl Read, n_bytes: u64) -> Result<Header, String> {
    let cut = |_| "its header is cut off".to_string();
    let mut start = [0u8; 10];
    reader.read_exact(&mut start).map_err(cut)?;
    let [.., major, _, a, b] = start;
    let (dict_len, n_start) = match major {
        _ if !start.starts_with(MAGIC) => return Err("it is not a numpy array".into()),
        1 => (u32::from(u16::from_le_bytes([a, b])), 10),
        2 | 3 => {
            let mut more = [0u8; 2];
            reader.read_exact(&mut more).map_err(cut)?;
            (u32::from_le_bytes([a, b, more[0], more[1]]), 12)
        }
        _ => return Err("its version is unknown".into()),
    };
    let mut dict = Vec::new();
    reader.take(dict_len.into()).read_to_end(&mut dict).map_err(cut)?;
    let n_data = n_bytes.checked_sub(n_start + u64::from(dict_len)).ok_or("its header is cut off")?;
    let (shape, item) = parse_dictionary(&crate::formats::text::text(&dict))?;
    let n_values = product(&shape).ok_or("its shape is too large")?;
    if n_values.checked_mul(item as u64) != Some(n_data) {
        return Err(format!("its shape {shape:?} does not agree with its {n_data} bytes of data"));
    }
    Ok(Header { shape, n_values, item })
}

/// Reads the data to the end, where the archive verifies its checksum.
fn read_values<T>(
    reader: &mut impl Read,
    array: &Header,
    convert: impl Fn(f64) -> T,
) -> std::io::Result<Vec<T>> {
    let mut values = Vec::with_capacity(array.n_values as usize);
    let mut item = [0u8; 8];
    for _ in 0..array.n_values {
        reader.read_exact(&mut item[..array.item])?;
        let [a, b, c, d, ..] = item;
        let value =
            if array.item == 4 { f32::from_le_bytes([a, b, c, d]).into() } else { f64::from_le_bytes(item) };
        values.push(convert(value));
    }
    reader.read_exact(&mut item[..1]).map_or_else(
        |e| if e.kind() == std::io::ErrorKind::UnexpectedEof { Ok(values) } else { Err(e) },
        |()| Err(std::io::Error::other("it is longer than its header states")),
    )
}

/// Shape and bytes per value.
fn parse_dictionary(dict: &str) -> Result<(Vec<u64>, usize), String> {
    if field(dict, "fortran_order")? != "False" {
        return Err("it is in Fortran order; save numpy.ascontiguousarray of it".into());
    }
    let shape: Vec<u64> = field(dict, "shape")?
        .trim_matches(['(', ')'])
        .split(',')
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .map(|n| n.parse().map_err(|_| format!("'{n}' in its shape is not a count")))
        .collect::<Result<_, _>>()?;
    match field(dict, "descr")?.trim_matches(['\'', '"']) {
        "<f4" => Ok((shape, 4)),
        "<f8" => Ok((shape, 8)),
        other => Err(format!("its type is '{other}'; save 4- or 8-byte floats")),
    }
}

/// The value of `key` in the one-line dictionary of an array file.
fn field<'a>(dict: &'a str, key: &str) -> Result<&'a str, String> {
    let missing = || format!("its header has no '{key}'");
    let (_, after) = dict.split_once(&format!("'{key}':")).ok_or_else(missing)?;
    let after = after.trim_start();
    let end = if after.starts_with('(') { after.find(')').map(|i| i + 1) } else { after.find([',', '}']) };
    Ok(after[..end.ok_or_else(missing)?].trim())
}
