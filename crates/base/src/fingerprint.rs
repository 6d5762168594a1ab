//! Fingerprints of data: 128-bit FNV-1a, to detect changes and damage. Not cryptographic.
//!
//! Bytes are hashed one after another, `h = (h xor byte) * prime mod 2^128`. The boundaries between lists do
//! not count: where lengths vary, hash them too.

use std::fmt;

/// The hash of all bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u128);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fingerprint {
    /// With these bytes appended.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let step = |hash: u128, byte: &u8| {
            (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        };
        Self(bytes.iter().fold(self.0, step))
    }

    /// With the bits of these numbers appended.
    pub fn numbers(self, numbers: impl IntoIterator<Item = f64>) -> Self {
        numbers.into_iter().fold(self, |hash, x| hash.bytes(&x.to_bits().to_le_bytes()))
    }

    /// With another fingerprint appended.
    pub fn and(self, other: Self) -> Self {
        self.bytes(&other.0.to_le_bytes())
    }

    /// As a number.
    pub fn value(self) -> u128 {
        self.0
    }

    /// Parses the output of [`fmt::Display`].
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if plain { u128::from_str_radix(text, 16).ok().map(Self) } else { None }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_the_published_test_values() {
        // From the FNV authors' tables of FNV-1a, 128 bits.
        for (text, wanted) in [
            ("", "6c62272e07bb014262b821756295c58d"),
            ("a", "d228cb696f1a8caf78912b704e4a8964"),
            ("foobar", "343e1662793c64bf6f0d3597ba446f18"),
        ] {
            let print = Fingerprint::default().bytes(text.as_bytes());
            assert_eq!(print.to_string(), wanted, "of '{text}'");
            assert_eq!(Fingerprint::parse(wanted), Some(print));
        }
        assert_eq!(Fingerprint::parse("+c62272e07bb014262b821756295c58d"), None);
        assert_ne!(Fingerprint::default().numbers([0.0]), Fingerprint::default().numbers([-0.0]));
    }
}
