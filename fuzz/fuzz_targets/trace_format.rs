//! Fuzzes the readers of all trace formats; the first byte selects the format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ssdlab_trace::{FORMATS, fuzz};

fuzz_target!(|data: &[u8]| {
    if let Some((&first, data)) = data.split_first() {
        fuzz::body(Some(FORMATS[usize::from(first) % FORMATS.len()]), data);
    }
});
