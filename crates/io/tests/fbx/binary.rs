//! The same FBX as text and as binary: a small encoder of binary records, sufficient for the text file beside
//! it.

use std::iter::Peekable;
use std::str::Lines;

/// A quad and a triangle over five control points, two channels, the first with an in-between at 50 %.
pub const TEXT: &str = include_str!("quad.fbx.txt");

/// An FBX text (one record per line, arrays with their numbers on one line) as a binary FBX 7.4.
pub fn from_text(text: &str) -> Vec<u8> {
    let mut out = b"Kaydara FBX Binary  \x00\x1a\x00".to_vec();
    out.extend(7400u32.to_le_bytes());
    let mut lines = text.lines().peekable();
    records(&mut lines, &mut out);
    out.extend([0; 13]);
    // The footer: readers skip it but require it.
    out.extend([0; 160]);
    out
}

/// Writes records up to a closing brace or the end.
fn records(lines: &mut Peekable<Lines>, out: &mut Vec<u8>) {
    while let Some(line) = lines.next().map(str::trim) {
        if line == "}" {
            return;
        }
        let Some((name, rest)) = line.split_once(':').filter(|_| !line.starts_with(';')) else { continue };
        let rest = rest.trim();
        let start = out.len();
        out.extend([0; 12]);
        out.push(name.len() as u8);
        out.extend(name.bytes());
        let properties = out.len();
        let (values, opens) = rest.strip_suffix('{').map_or((rest, false), |values| (values.trim(), true));
        let mut count = 0u32;
        if values.starts_with('*') {
            let numbers = lines.next().and_then(|l| l.trim().strip_prefix("a:")).unwrap_or_default();
            array(name, numbers, out);
            lines.next();
            count = 1;
        } else {
            for value in values.split(',').map(str::trim).filter(|v| !v.is_empty()) {
                property(value, out);
                count += 1;
            }
        }
        let length = (out.len() - properties) as u32;
        if opens && !values.starts_with('*') {
            records(lines, out);
            out.extend([0; 13]);
        }
        let header = [out.len() as u32, count, length].map(u32::to_le_bytes);
        out[start..start + 12].copy_from_slice(header.as_flattened());
    }
}

fn property(value: &str, out: &mut Vec<u8>) {
    if let Some(text) = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        // Names carry their class behind, not in front.
        let text =
            text.split_once("::").map_or(text.to_string(), |(class, name)| format!("{name}\0\u{1}{class}"));
        out.push(b'S');
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text.bytes());
    } else if let Ok(whole) = value.parse::<i64>() {
        out.push(b'L');
        out.extend(whole.to_le_bytes());
    } else {
        out.push(b'D');
        out.extend(value.parse::<f64>().unwrap().to_le_bytes());
    }
}

fn array(name: &str, numbers: &str, out: &mut Vec<u8>) {
    let numbers: Vec<f64> = numbers.split(',').map(|n| n.trim().parse().unwrap()).collect();
    let (kind, bytes): (u8, Vec<u8>) = match name {
        "KeyTime" => (b'l', numbers.iter().flat_map(|&x| (x as i64).to_le_bytes()).collect()),
        "KeyValueFloat" | "KeyAttrDataFloat" => {
            (b'f', numbers.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect())
        }
        "Vertices" | "Normals" | "UV" | "FullWeights" => {
            (b'd', numbers.iter().flat_map(|x| x.to_le_bytes()).collect())
        }
        _ => (b'i', numbers.iter().flat_map(|&x| (x as i32).to_le_bytes()).collect()),
    };
    out.push(kind);
    for word in [numbers.len() as u32, 0, bytes.len() as u32] {
        out.extend(word.to_le_bytes());
    }
    out.extend(bytes);
}
