//! Buffer views compressed by EXT_meshopt_compression (or KHR_meshopt_compression, the same layout).
//!
//! The decoder is a C library that trusts the sizes it is given. So every size is checked here first,
//! including the size of the result against the least number of bytes that can encode it.

use super::json::Meshopt;
use super::malformed;
use crate::IoError;

/// Largest number of bytes that one byte of compressed attributes can encode: two bits encode a column of 256
/// equal bytes.
const MAX_ATTRIBUTE_RATIO: u64 = 1024;

/// Bytes of the decoded view.
pub(super) fn decoded_size(packed: &Meshopt, place: &str) -> Result<u64, IoError> {
    packed
        .count
        .checked_mul(packed.byte_stride)
        .ok_or_else(|| malformed(place, "count * byteStride overflows"))
}

/// Rejects sizes that the format forbids or that `source_len` bytes cannot encode.
pub(super) fn check(packed: &Meshopt, source_len: usize, place: &str) -> Result<(), IoError> {
    let (count, stride, source) = (packed.count, packed.byte_stride, source_len as u64);
    let filter = packed.filter.as_deref().unwrap_or("NONE");
    let (stride_fits, source_fits) = match packed.mode.as_str() {
        "ATTRIBUTES" => {
            let least = decoded_size(packed, place)?.div_ceil(MAX_ATTRIBUTE_RATIO);
            (stride > 0 && stride % 4 == 0 && stride <= 256, least <= source)
        }
        // One code byte per triangle and a table of 16; one byte per index and a tail of 4; one byte of
        // header each.
        "TRIANGLES" => {
            ((stride == 2 || stride == 4) && count % 3 == 0, (count / 3).saturating_add(17) <= source)
        }
        "INDICES" => (stride == 2 || stride == 4, count.saturating_add(5) <= source),
        other => return Err(malformed(place, format!("the compression mode '{other}' does not exist"))),
    };
    let filter_fits = match filter {
        "NONE" => true,
        "OCTAHEDRAL" | "COLOR" => stride == 4 || stride == 8,
        "QUATERNION" => stride == 8,
        "EXPONENTIAL" => true,
        other => return Err(malformed(place, format!("the compression filter '{other}' does not exist"))),
    };
    if !stride_fits || !filter_fits || (filter != "NONE" && packed.mode != "ATTRIBUTES") {
        let Meshopt { mode, .. } = packed;
        let problem =
            format!("{count} elements of {stride} bytes cannot be compressed as {mode} with filter {filter}");
        return Err(malformed(place, problem));
    }
    if !source_fits {
        let problem = format!("{source} compressed bytes cannot hold {count} elements of {stride} bytes");
        return Err(malformed(place, problem));
    }
    Ok(())
}

/// Refuses compressed views: this build has no decoder.
#[cfg(not(feature = "meshopt"))]
pub(super) fn decode(_packed: &Meshopt, _source: &[u8], _place: &str) -> Result<Vec<u32>, IoError> {
    Err(IoError::Unsupported {
        format: "glTF",
        feature: "EXT_meshopt_compression in this build".into(),
        advice: "export the file without compression, or build with the feature `meshopt`".into(),
    })
}

/// Decodes a view that passed [`check`]; the result is padded to whole words, aligned for the filters.
#[cfg(feature = "meshopt")]
pub(super) fn decode(packed: &Meshopt, source: &[u8], place: &str) -> Result<Vec<u32>, IoError> {
    let (count, stride) = (packed.count as usize, packed.byte_stride as usize);
    let mut words = vec![0u32; (count * stride).div_ceil(4)];
    let (into, from, n) = (words.as_mut_ptr().cast(), source.as_ptr(), source.len());
    // SAFETY: `words` holds `count * stride` bytes and `source` holds `n`; `check` established what the
    // decoders assert (strides, multiples of three). They read no further than `n` and report damage instead
    // of writing past the end.
    let code = unsafe {
        match packed.mode.as_str() {
            "ATTRIBUTES" => meshopt::ffi::meshopt_decodeVertexBuffer(into, count, stride, from, n),
            "TRIANGLES" => meshopt::ffi::meshopt_decodeIndexBuffer(into.cast(), count, stride, from, n),
            _ => meshopt::ffi::meshopt_decodeIndexSequence(into.cast(), count, stride, from, n),
        }
    };
    if code != 0 {
        return Err(malformed(place, format!("the compressed data are damaged (decoder code {code})")));
    }
    match (packed.filter.as_deref().unwrap_or("NONE"), stride) {
        ("OCTAHEDRAL", 4) => meshopt::decode_filter_oct(bytemuck::cast_slice_mut::<u32, [i8; 4]>(&mut words)),
        ("OCTAHEDRAL", _) => {
            meshopt::decode_filter_oct(bytemuck::cast_slice_mut::<u32, [i16; 4]>(&mut words))
        }
        ("QUATERNION", _) => meshopt::decode_filter_quat(bytemuck::cast_slice_mut(&mut words)),
        ("EXPONENTIAL", _) => {
            meshopt::decode_filter_exp(bytemuck::cast_slice_mut::<u32, [u32; 1]>(&mut words))
        }
        ("COLOR", 4) => meshopt::decode_filter_color(bytemuck::cast_slice_mut::<u32, [i8; 4]>(&mut words)),
        ("COLOR", _) => meshopt::decode_filter_color(bytemuck::cast_slice_mut::<u32, [i16; 4]>(&mut words)),
        _ => {}
    }
    Ok(words)
}
