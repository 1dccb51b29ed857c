//! Counters of the controller: map fetches from host memory, read-ahead and thermal throttling.

use ssdlab_core::counters;

counters! {
    /// Counters of the controller in the measured phase.
    pub struct ControllerCounters {
        host_memory_fetches: "fetches", "Map look-ups that fetched entries from host memory.";
        read_ahead_pages: "pages", "Pages read ahead from flash.";
        read_ahead_hits: "pages", "Requested pages that were in the read cache or being loaded into it.";
        read_ahead_wasted: "pages", "Read-ahead pages dropped from the read cache without a hit.";
        throttles: "times", "Number of times thermal throttling began.";
        throttled_requests: "requests", "Requests served during thermal throttling.";
        highest_temperature: "m°C", "Highest temperature, in thousandths of a degree Celsius; 0 without \
                                     `drive.thermal`.";
    }
}
