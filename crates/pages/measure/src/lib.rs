//! Measures page compressors and the two-pool cache on this machine, with threads, clocks and files.
//!
//! Results are real measurements and vary between runs. Each function periodically asks its caller whether to cancel,
//! and returns the results of every run. The caller repeats measurements, takes medians and reports the spread.

pub mod clock;
pub mod compress;
pub mod load;
pub mod simulated;
pub mod storage;
mod threads;

pub use clock::{Time, thread_cpu_ns};
