//! Reads text files: lines with their numbers, tokens, numbers, CSV rows.
//!
//! Accepted everywhere: UTF-8 with or without a byte order mark, LF and CRLF, spaces and tabs in any amount.
//! Numbers are what Rust parses (`1`, `-.5`, `1e-3`, `nan`, `inf`); the caller decides whether values that
//! are not finite are allowed. Nothing here allocates more than the size of its input.

use std::borrow::Cow;

/// The text without a byte order mark.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// Lines with their 1-based numbers, without line ends and without spaces around them.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
}

/// The lines of `bytes`.
pub fn lines(bytes: &[u8]) -> Lines<'_> {
    Lines { rest: without_bom(bytes), number: 0 }
}

impl<'a> Lines<'a> {
    /// The bytes that have not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match self.rest.iter().position(|&b| b == b'\n') {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        self.number += 1;
        Some((self.number, line.trim_ascii()))
    }
}

/// Lines, where a backslash at the end continues a line with the next; the number is that of the first.
pub(crate) fn joined_lines(bytes: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, [u8]>)> {
    let mut lines = lines(bytes);
    std::iter::from_fn(move || {
        let (number, line) = lines.next()?;
        let Some(start) = line.strip_suffix(b"\\") else { return Some((number, Cow::Borrowed(line))) };
        let mut joined = start.to_vec();
        for (_, more) in lines.by_ref() {
            joined.push(b' ');
            joined.extend_from_slice(more.strip_suffix(b"\\").unwrap_or(more));
            if !more.ends_with(b"\\") {
                break;
            }
        }
        Some((number, Cow::Owned(joined)))
    })
}

/// The words of a line.
pub(crate) fn tokens(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|t| !t.is_empty())
}

/// A number of any Rust type from its text.
pub fn number<T: std::str::FromStr>(token: &[u8]) -> Option<T> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

/// Text for a message or a name; bytes that are not UTF-8 are replaced.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The start of `bytes` for a message, so that a damaged file does not fill the screen.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    let shown = text(&bytes[..bytes.len().min(LONGEST)]).escape_debug().to_string();
    if bytes.len() > LONGEST { format!("{shown}...") } else { shown }
}

/// `f32` with the fewest digits that restore the same bits.
pub(crate) fn push_f32(into: &mut Vec<u8>, value: f32) {
    push_display(into, value, f64::from(value));
}

/// `f64` with the fewest digits that restore the same bits.
pub(crate) fn push_f64(into: &mut Vec<u8>, value: f64) {
    push_display(into, value, value);
}

fn push_display<T: std::fmt::Display + std::fmt::LowerExp>(into: &mut Vec<u8>, value: T, size: f64) {
    use std::io::Write;
    // Writing into memory does not fail.
    let _ = match size.abs() {
        a if a != 0.0 && !(1e-5..1e16).contains(&a) && a.is_finite() => write!(into, "{value:e}"),
        _ => write!(into, "{value}"),
    };
}

/// The separator of a CSV header: the most frequent of comma, semicolon and tab outside quotes.
pub(crate) fn csv_separator(header: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [(0usize, b','), (0, b';'), (0, b'\t')];
    for &b in header {
        quoted ^= b == b'"';
        if let Some(count) = counts.iter_mut().find(|c| !quoted && c.1 == b) {
            count.0 += 1;
        }
    }
    // `max_by_key` returns the last maximum; reversed, so that a tie goes to the comma.
    counts.iter().rev().max_by_key(|c| c.0).map_or(b',', |c| c.1)
}

/// The cells of a CSV row without the spaces around them; `None` when a quote is left open.
pub(crate) fn csv_cells(row: &[u8], separator: u8) -> Option<Vec<Cow<'_, [u8]>>> {
    if !row.contains(&b'"') {
        return Some(row.split(|&b| b == separator).map(|c| Cow::Borrowed(c.trim_ascii())).collect());
    }
    let mut cells = Vec::new();
    let (mut cell, mut quoted, mut was_quoted) = (Vec::new(), false, false);
    let mut bytes = row.iter().copied().peekable();
    while let Some(b) = bytes.next() {
        match b {
            b'"' if quoted && bytes.next_if_eq(&b'"').is_some() => cell.push(b'"'),
            b'"' if quoted => quoted = false,
            b'"' if cell.trim_ascii().is_empty() && !was_quoted => {
                cell.clear();
                (quoted, was_quoted) = (true, true);
            }
            b if b == separator && !quoted => {
                cells.push(finished(&mut cell, &mut was_quoted));
            }
            b => cell.push(b),
        }
    }
    if quoted {
        return None;
    }
    cells.push(finished(&mut cell, &mut was_quoted));
    Some(cells)
}

fn finished<'a>(cell: &mut Vec<u8>, was_quoted: &mut bool) -> Cow<'a, [u8]> {
    let whole = std::mem::take(cell);
    let kept = if std::mem::take(was_quoted) { whole } else { whole.trim_ascii().to_vec() };
    Cow::Owned(kept)
}

/// Appends a CSV cell, quoted where necessary. Line breaks become spaces, since each row is one line here.
pub(crate) fn push_csv_cell(into: &mut Vec<u8>, cell: &str) {
    let cell = cell.replace(['\n', '\r'], " ");
    if cell.contains(['"', ',', ';', '\t']) || cell.trim() != cell {
        into.push(b'"');
        into.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
        into.push(b'"');
    } else {
        into.extend_from_slice(cell.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_bom_crlf_and_continuations() {
        let text = b"\xEF\xBB\xBFa b \r\n\r\nc \\\r\nd\\\ne";
        let all: Vec<_> = lines(text).collect();
        assert_eq!(all[0], (1, &b"a b"[..]));
        assert_eq!(all.len(), 5);
        let joined: Vec<(usize, Vec<u8>)> = joined_lines(text).map(|(n, l)| (n, l.into_owned())).collect();
        assert_eq!(joined[2], (3, b"c  d e".to_vec()));
        assert_eq!(joined.len(), 3);
    }

    #[test]
    fn numbers_print_short_and_read_back() {
        for value in [0.1f32, -0.0, 1.0, f32::MIN_POSITIVE, 1e-40, f32::MAX, 1.0 / 3.0, 12345.678] {
            let mut out = Vec::new();
            push_f32(&mut out, value);
            assert_eq!(number::<f32>(&out).map(f32::to_bits), Some(value.to_bits()));
            assert!(out.len() < 16, "{}", text(&out));
        }
        assert!(number::<f32>(b"nan").is_some_and(f32::is_nan));
        assert_eq!(number::<f64>(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(number::<f64>(b"1,5"), None);
    }

    #[test]
    fn csv_cells_are_split_and_unquoted() {
        assert_eq!(csv_separator(b"a;b;c,d"), b';');
        assert_eq!(csv_separator(b"\"a;b;c\",d"), b',');
        assert_eq!(csv_separator(b"alone"), b',');
        let cells = csv_cells(b"a , \"b,\"\"c\"\" \",,\" d\"", b',').unwrap();
        assert_eq!(cells, [&b"a"[..], b"b,\"c\" ", b"", b" d"]);
        assert!(csv_cells(b"a,\"b", b',').is_none());
        let mut out = Vec::new();
        push_csv_cell(&mut out, "x,\"y\"");
        assert_eq!(csv_cells(&out, b',').unwrap(), [&b"x,\"y\""[..]]);
    }
}
