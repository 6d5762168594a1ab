//! The containers of a glTF file: GLB and data URIs.

use super::build::Bin;
use super::json::Root;
use super::malformed;
use crate::IoError;
use crate::error::check_count;
use std::io::{self, Write};

const MAGIC: &[u8; 4] = b"glTF";
/// Largest number of objects in the JSON; a take of 2000 frames on ten parts needs 300,000.
const MAX_OBJECTS: u64 = 4_000_000;
const CHUNK_JSON: u32 = 0x4E4F_534A;
const CHUNK_BIN: u32 = 0x004E_4942;

/// A file's JSON, and the binary chunk if it is a GLB with one.
pub(super) fn split(bytes: &[u8]) -> Result<(Root, Option<&[u8]>), IoError> {
    let (json, bin) = if bytes.starts_with(MAGIC) { split_glb(bytes)? } else { (bytes, None) };
    let json = json.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(json);
    if json.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'{') {
        return Err(malformed("byte 0", "neither a GLB container nor JSON text; is this a glTF file?"));
    }
    // An empty object is two bytes of text but hundreds of bytes in memory.
    let n_objects = json.iter().filter(|&&b| b == b'{').count() as u64;
    check_count(super::FORMAT, "the number of JSON objects", n_objects, MAX_OBJECTS)?;
    let root: Root = serde_json::from_slice(json)
        .map_err(|e| malformed(format!("JSON line {} column {}", e.line(), e.column()), e.to_string()))?;
    if !root.asset.version.starts_with("2.") {
        return Err(IoError::Unsupported {
            format: super::FORMAT,
            feature: format!("version '{}'", root.asset.version),
            advice: "export the file as glTF 2.0".into(),
        });
    }
    Ok((root, bin))
}

fn split_glb(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), IoError> {
    let version = word(bytes, 4).unwrap_or(0);
    if version != 2 {
        return Err(IoError::Unsupported {
            format: super::FORMAT,
            feature: format!("GLB container version {version}"),
            advice: "export the file as glTF 2.0".into(),
        });
    }
    let stated = word(bytes, 8).unwrap_or(0) as usize;
    let Some(bytes) = bytes.get(..stated) else {
        let problem =
            format!("the header states {stated} bytes but the file has {}; it was cut off", bytes.len());
        return Err(malformed("GLB header", problem));
    };
    let (mut json, mut bin, mut at) = (None, None, 12);
    while at + 8 <= bytes.len() {
        let (length, kind) = (word(bytes, at).unwrap_or(0) as usize, word(bytes, at + 4).unwrap_or(0));
        let Some(chunk) = bytes.get(at + 8..).and_then(|rest| rest.get(..length)) else {
            return Err(malformed(
                format!("GLB chunk at byte {at}"),
                format!("its {length} bytes extend past the end of the file; it was cut off"),
            ));
        };
        match kind {
            CHUNK_JSON if json.is_none() => json = Some(chunk),
            CHUNK_BIN if bin.is_none() => bin = Some(chunk),
            _ => {}
        }
        // This cannot overflow: the chunk lies inside the file.
        at += 8 + length;
    }
    Ok((json.ok_or_else(|| malformed("GLB", "there is no JSON chunk"))?, bin))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|b| u32::from_le_bytes(*b))
}

/// Size of the GLB with this JSON text and this many bytes of binary data; its format counts 32 bits.
pub(super) fn glb_size(json: &[u8], bin_len: usize) -> Result<u32, IoError> {
    let bin_len = if bin_len == 0 { 0 } else { 8 + bin_len.next_multiple_of(4) };
    let total = 12 + 8 + json.len().next_multiple_of(4) + bin_len;
    u32::try_from(total).map_err(|_| IoError::TooLarge {
        format: super::FORMAT,
        what: "the size of the GLB in bytes".into(),
        count: total as u64,
        limit: u32::MAX.into(),
    })
}

/// Writes JSON text and binary data as a GLB of the size that [`glb_size`] gives.
pub(super) fn write_glb(stated: u32, json: &[u8], bin: &mut Bin, out: &mut dyn Write) -> io::Result<()> {
    let (json_len, bin_len) = (json.len().next_multiple_of(4), bin.len().next_multiple_of(4));
    let head = [u32::from_le_bytes(*MAGIC), 2, stated, json_len as u32, CHUNK_JSON];
    out.write_all(&head.map(u32::to_le_bytes).concat())?;
    out.write_all(json)?;
    out.write_all(&[b' '; 4][..json_len - json.len()])?;
    if bin.len() > 0 {
        out.write_all(&[bin_len as u32, CHUNK_BIN].map(u32::to_le_bytes).concat())?;
        io::copy(&mut bin.read_back()?, out)?;
        out.write_all(&[0; 4][..bin_len - bin.len()])?;
    }
    Ok(())
}

/// The target of a URI.
pub(super) enum Uri {
    /// Data contained in the URI itself.
    Data(Vec<u8>),
    /// A relative path, percent-decoded.
    Path(String),
}

/// Parses a URI.
pub(super) fn resolve_uri(uri: &str, place: &str) -> Result<Uri, IoError> {
    if uri.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("data:")) {
        let (head, data) =
            uri.split_once(',').ok_or_else(|| malformed(place, "the data URI has no comma"))?;
        if !head.ends_with(";base64") {
            return Err(malformed(place, "the data URI is not base64"));
        }
        return match decode_base64(data.as_bytes()) {
            Some(bytes) => Ok(Uri::Data(bytes)),
            None => Err(malformed(place, "the base64 data are damaged")),
        };
    }
    Ok(Uri::Path(percent_decode(uri)))
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let hex = |i: usize| bytes.get(i).and_then(|b| (*b as char).to_digit(16));
    let (mut out, mut i) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&b) = bytes.get(i) {
        match (b, hex(i + 1), hex(i + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((16 * high + low) as u8);
                i += 3;
            }
            _ => {
                out.push(b);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Standard base64 with padding.
pub(super) fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |acc, &b| acc << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for k in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * k) & 63) as usize];
            out.push(if k <= chunk.len() { digit as char } else { '=' });
        }
    }
    out
}

fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    let text = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    if text.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.chunks(4) {
        let mut bits = 0u32;
        for &c in chunk {
            bits = bits << 6 | sextet(c)?;
        }
        bits <<= 6 * (4 - chunk.len());
        out.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    Some(out)
}

fn sextet(c: u8) -> Option<u32> {
    Some(
        match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        }
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length_comes_back() {
        let data: Vec<u8> = (0..40u8).map(|i| i.wrapping_mul(97)).collect();
        for n in 0..data.len() {
            let text = encode_base64(&data[..n]);
            assert_eq!(text.len() % 4, 0);
            assert_eq!(decode_base64(text.as_bytes()).unwrap(), &data[..n]);
        }
        assert_eq!(encode_base64(b"face"), "ZmFjZQ==");
        assert!(decode_base64(b"ab!d").is_none() && decode_base64(b"abcde").is_none());
    }

    #[test]
    fn uris_lead_to_paths_or_data() {
        assert!(matches!(resolve_uri("my%20face.bin", "x").unwrap(), Uri::Path(p) if p == "my face.bin"));
        assert!(matches!(resolve_uri("100%.bin", "x").unwrap(), Uri::Path(p) if p == "100%.bin"));
        assert!(matches!(resolve_uri("data:;base64,ZmFjZQ==", "x").unwrap(), Uri::Data(d) if d == b"face"));
        assert!(resolve_uri("data:text/plain,hi", "x").is_err());
    }
}
