//! Counters of a simulated cache.

use ssdlab_core::counters;

counters! {
    /// Counters of a simulated cache.
    pub struct Counts {
        accesses: "accesses", "Accesses to items.";
        misses: "accesses", "Accesses to items that were not cached.";
        units: "units", "Total size of the accesses, in the unit of the cache capacity.";
        missed_units: "units", "Total size of accessed data that was not cached, in the unit of the cache capacity.";
        outgrown: "accesses", "Hits on items whose cached size is smaller than the requested size.";
        outgrown_units: "units", "Part of the requested size of hits that exceeds the cached size; also counted as \
                         missed.";
        evictions: "items", "Items evicted, and new items rejected by the policy.";
        too_large: "accesses", "Misses on items larger than the cache, which are not admitted.";
        expired: "accesses", "Misses on cached items that had expired.";
    }
}

impl Counts {
    /// Returns the share of accesses that missed; 0 if there were no accesses.
    pub fn miss_ratio(&self) -> f64 {
        if self.accesses == 0 { 0.0 } else { self.misses as f64 / self.accesses as f64 }
    }

    /// Returns the share of accessed units that were missed; 0 if there were no accesses.
    pub fn unit_miss_ratio(&self) -> f64 {
        if self.units == 0 { 0.0 } else { self.missed_units as f64 / self.units as f64 }
    }
}
