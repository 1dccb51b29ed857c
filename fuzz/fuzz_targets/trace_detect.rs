//! Recognition of format and compression, and reading what was recognised.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ssdlab_trace::fuzz::body(None, data));
