//! Runs sequences of small parallel loops on the thread pool itself.
//!
//! A parallel loop that is started from outside the pool hands its work over and waits, with two switches
//! between threads. From within the pool it starts at once. A step has hundreds of such loops.

/// Runs `f` on a thread of the pool.
pub(crate) fn on_pool<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    rayon::scope(|_| f())
}
