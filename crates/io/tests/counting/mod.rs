//! A counting allocator, and the number of damaged files that a test reads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

/// Bytes that are allocated now.
pub static NOW: AtomicUsize = AtomicUsize::new(0);
/// The peak of [`NOW`]; tests reset it.
pub static PEAK: AtomicUsize = AtomicUsize::new(0);
/// Held while a format is tested, so that the peak is its own.
pub static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: every call goes to the system allocator unchanged; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `memory` came from `alloc` above with the same layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Damaged files per sample: `usual`, or ten times as many if `RISORIUS_FULL` is set.
pub fn n_cases(usual: u64) -> u64 {
    if std::env::var_os("RISORIUS_FULL").is_some() { 10 * usual } else { usual }
}
