//! Fuzzes the detection of a trace's format and compression, and the reader of the detected format.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ssdlab_trace::fuzz::body(None, data));
