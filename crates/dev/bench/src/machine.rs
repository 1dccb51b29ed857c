//! Describes the machine, and measures the memory and processor time that benchmarks use.

use std::fs;

use ssdlab_measure::thread_cpu_ns;
use ssdlab_nand::Cause;
use ssdlab_sim::FlashSummary;

/// Returns the processor model and core count.
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

/// Returns the current resident memory of this process; 0 if the system does not report it.
pub fn resident_bytes() -> u64 {
    status_bytes("VmRSS:")
}

/// Returns the peak resident memory since [`reset_peak`].
pub fn peak_resident_bytes() -> u64 {
    status_bytes("VmHWM:")
}

/// Resets the peak resident memory.
pub fn reset_peak() {
    // This reset needs no privileges. If it fails, the measured peak includes earlier memory use and may be too high.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Returns the FNV-1a hash of a result. Equal hashes show that a faster program still computes the same result.
pub fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Returns the counts of flash operations as text for [`hash`]. Omits the last cause, folds of an SLC cache, if it has
/// no operations. No benchmark has an SLC cache, so the hashes of earlier results stay valid.
pub fn flash_text(flash: &FlashSummary) -> String {
    let fold = Cause::Fold as usize;
    let folds = flash.0.reads[fold] + flash.0.programs[fold] + flash.0.erases[fold];
    let text = format!("{flash:?}");
    if folds == 0 { text.replace(", 0]", "]") } else { text }
}

/// Returns the processor time of this thread, in seconds.
pub fn processor_seconds() -> f64 {
    thread_cpu_ns() as f64 / 1e9
}
