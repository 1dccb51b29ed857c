//! Goal: checking settings takes little memory and time for any values. Method: random values for all options, and a
//! counting allocator; this file has a single test, because the allocator counts all threads.

use std::alloc::System;

use common::{picks, sets};
use proptest::prelude::*;
use ssdlab_config::Config;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

mod common;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Limits of one check: total bytes allocated, and number of allocations.
const MOST_BYTES: usize = 4 << 20;
const MOST_ALLOCATIONS: usize = 40_000;

proptest! {
    #![proptest_config(ssdlab_tiers::cases(500))]

    #[test]
    fn a_check_takes_little_memory(picks in picks(), extent: Option<u64>) {
        let sets = sets(&picks);
        // Build the table of options first.
        drop(Config::resolve(None, &[], &[]));
        let texts = sets.iter().map(|layer| layer.text.clone()).collect::<Vec<_>>().join(" ");
        let region = Region::new(ALLOCATOR);
        drop(Config::resolve(None, &[], &sets).and_then(|config| config.settings(extent)));
        let used = region.change();
        prop_assert!(used.bytes_allocated < MOST_BYTES, "{used:?}: {}", texts);
        prop_assert!(used.allocations < MOST_ALLOCATIONS, "{used:?}: {}", texts);
    }
}
