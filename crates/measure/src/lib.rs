//! Measures page compressors and the two-pool cache on this machine, with threads, clocks and files.
//!
//! Nothing here is a model, and no result is the same twice. Each function takes its parameters, asks its caller now
//! and then whether to go on, and returns every run; the caller repeats, takes medians and reports the spread.

mod clock;
pub mod compress;
pub mod load;
pub mod simulated;
pub mod storage;
mod threads;
mod watch;

pub use clock::{Time, process_cpu_ns, thread_cpu_ns};
pub use threads::TooMany;
