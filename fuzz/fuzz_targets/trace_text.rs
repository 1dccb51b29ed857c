//! Every text format, chosen by the first byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ssdlab_trace::{Format, fuzz};

const FORMATS: [Format; 15] = [
    Format::Csv,
    Format::Msr,
    Format::Spc,
    Format::Systor17,
    Format::Alibaba,
    Format::Tencent,
    Format::Fiu,
    Format::Blkparse,
    Format::FioV2,
    Format::FioV3,
    Format::MqSim,
    Format::DiskSim,
    Format::SsdSim,
    Format::Ftrace,
    Format::Etw,
];

fuzz_target!(|data: &[u8]| {
    if let Some((&first, data)) = data.split_first() {
        fuzz::body(Some(FORMATS[usize::from(first) % FORMATS.len()]), data);
    }
});
