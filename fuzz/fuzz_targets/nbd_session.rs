//! What a client sends; the first byte chooses phase, export and pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ssdlab_nbd::fuzz::body(data));
