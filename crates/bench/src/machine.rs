//! What the benchmarks read from the machine they run on.

use std::fs;

use ssdlab_measure::thread_cpu_ns;

/// Processor model and core count.
pub fn describe() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{}, {cores} cores", model.map_or("unknown processor", |(_, name)| name))
}

fn status_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = value.and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Resident memory of this process now; 0 where the system does not say.
pub fn resident_bytes() -> u64 {
    status_bytes("VmRSS:")
}

/// Highest resident memory since [`reset_peak`].
pub fn peak_resident_bytes() -> u64 {
    status_bytes("VmHWM:")
}

/// Starts the peak anew.
pub fn reset_peak() {
    // Needs no privilege for one's own process; where it fails the peak is that of the whole run, never less.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// FNV-1a of a result's text, so that a change of speed cannot hide a change of result.
pub fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Seconds that this thread has had a processor.
pub fn processor_seconds() -> f64 {
    thread_cpu_ns() as f64 / 1e9
}
