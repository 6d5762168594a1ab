//! Long lists that are either owned or a view of a memory-mapped file; both dereference to a slice.

use bytemuck::{AnyBitPattern, NoUninit};
use std::sync::Arc;

/// Bytes with shared ownership, such as a mapped file.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A list of plain values.
#[derive(Clone)]
pub struct Array<T>(Store<T>);

#[derive(Clone)]
enum Store<T> {
    Owned(Vec<T>),
    /// Alignment and length were checked on construction.
    Window {
        bytes: SharedBytes,
        range: std::ops::Range<usize>,
    },
}

impl<T: AnyBitPattern + NoUninit> Array<T> {
    /// A view of `bytes`, or a copy if the bytes are not aligned for `T`. `None` if the range is out of
    /// bounds or not a whole number of values.
    pub fn window(bytes: &SharedBytes, range: std::ops::Range<usize>) -> Option<Self> {
        let slice = (**bytes).as_ref().get(range.clone())?;
        if !slice.len().is_multiple_of(size_of::<T>()) {
            return None;
        }
        match bytemuck::try_cast_slice::<u8, T>(slice) {
            Ok(_) => Some(Self(Store::Window { bytes: bytes.clone(), range })),
            Err(_) => Some(Self(Store::Owned(bytemuck::pod_collect_to_vec(slice)))),
        }
    }

    /// Whether the values are a view of shared bytes.
    pub fn is_window(&self) -> bool {
        matches!(self.0, Store::Window { .. })
    }
}

impl<T: AnyBitPattern + NoUninit> std::ops::Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Store::Owned(values) => values,
            Store::Window { bytes, range } => bytemuck::cast_slice(&(**bytes).as_ref()[range.clone()]),
        }
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Store::Owned(values))
    }
}

impl<T> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(Store::Owned(values.into_iter().collect()))
    }
}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Self(Store::Owned(Vec::new()))
    }
}

impl<T: AnyBitPattern + NoUninit + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: AnyBitPattern + NoUninit + std::fmt::Debug> std::fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_shows_the_bytes_and_refuses_what_is_not_there() {
        let bytes: SharedBytes = Arc::new(bytemuck::cast_slice::<u32, u8>(&[1, 2, 3, 4]).to_vec());
        let all = Array::<u32>::window(&bytes, 0..16).unwrap();
        assert_eq!(&all[1..3], &[2, 3]);
        assert_eq!(&*Array::<[u32; 2]>::window(&bytes, 8..16).unwrap(), &[[3, 4]]);
        assert!(Array::<u32>::window(&bytes, 0..15).is_none());
        assert!(Array::<u32>::window(&bytes, 8..20).is_none());
        let odd = Array::<u32>::window(&bytes, 1..5).unwrap();
        assert!(!odd.is_window());
    }
}
