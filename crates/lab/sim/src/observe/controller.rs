//! Counters of the controller: host memory, read-ahead and thermal throttling.

use ssdlab_core::counters;

counters! {
    /// Counters of the controller in the measured phase.
    pub struct ControllerCounters {
        host_memory_fetches: "fetches", "Map look-ups that fetched entries from host memory.";
        read_ahead_pages: "pages", "Pages read from flash in advance.";
        read_ahead_hits: "pages", "Pages of reads that the read cache held or was loading.";
        read_ahead_wasted: "pages", "Pages read in advance that left the read cache without a hit.";
        throttles: "times", "Number of times that thermal throttling began.";
        throttled_requests: "requests", "Requests served while the drive throttled.";
        highest_temperature: "m°C", "Highest temperature, in thousandths of a degree; 0 without `drive.thermal`.";
    }
}
