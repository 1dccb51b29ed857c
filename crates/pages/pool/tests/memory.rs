//! The memory usage reported by a cache matches a counting allocator and stays within the budget. This is the only test
//! of its binary, because the allocator counts all threads.
#![cfg(not(feature = "shuttle"))]

use std::alloc::System;
use std::convert::Infallible;

use ssdlab_core::{Bytes, Rng};
use ssdlab_pool::policy::policy;
use ssdlab_pool::{Demotion, Loader, Options, PageId, Pool, Share};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PAGE: usize = 4096;
const BUDGET: u64 = 4 << 20;
const PAGES: u64 = 4096;

/// Pages with a random fraction of noise; the rest is one repeated letter.
struct Contents;

impl Loader for Contents {
    type Error = Infallible;

    fn load(&self, id: PageId, page: &mut [u8]) -> Result<(), Infallible> {
        let mut rng = Rng::named(id, "contents");
        let noisy = rng.below(PAGE as u64) as usize;
        page.fill(b'a' + (id % 26) as u8);
        page[..noisy].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
        Ok(())
    }

    fn store(&self, _: PageId, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

fn options(share: Share, raw: &str, compressed: &str, demotion: Demotion) -> Options {
    let named = |name| policy(name).expect("the policy exists");
    let (raw_policy, compressed_policy) = (named(raw), named(compressed));
    Options { share, raw_policy, compressed_policy, demotion, ..Options::new(Bytes(BUDGET), PAGE as u32) }
}

#[test]
fn reported_memory_matches_the_allocator_and_the_budget() {
    let fixed = |percent| Share::Fixed { percent };
    let background = Demotion::Background { workers: 1, batch: 16 };
    let adaptive = Share::Adaptive { miss_us: 100.0, restore_us: 10.0 };
    for (share, raw, compressed, demotion) in [
        (fixed(0.0), "clock", "fifo", Demotion::Synchronous),
        (fixed(25.0), "lru", "s3-fifo", background),
        (fixed(50.0), "arc", "2q", Demotion::Synchronous),
        (fixed(90.0), "w-tinylfu", "lirs", background),
        (adaptive, "clock", "fifo", background),
        (adaptive, "lirs", "lru", Demotion::Synchronous),
    ] {
        let case = format!("{share:?} {raw} {compressed} {demotion:?}");
        let options = options(share, raw, compressed, demotion);
        let before = Region::new(ALLOCATOR);
        let pool = Pool::new(options, Contents).expect("the options are valid");
        let (mut rng, mut page) = (Rng::named(7, "memory"), vec![0; PAGE]);
        let buffer_bytes = page.capacity() as u64;
        for step in 0..40_000 {
            // Four accesses in five go to a fifth of the pages.
            let within = if rng.below(5) < 4 { PAGES / 5 } else { PAGES };
            let id = rng.below(within);
            if rng.below(10) == 0 {
                pool.write(id, &page).expect("the page is written");
            } else {
                pool.read(id, &mut page).expect("the page is read");
            }
            if step % 97 == 0 {
                // Retry until both values are from the same moment, because workers allocate and free concurrently.
                let (change, reported) = loop {
                    let (change, reported) = (before.change(), pool.usage().total_bytes());
                    if before.change() == change {
                        break (change, reported);
                    }
                };
                let allocated = change.bytes_allocated.saturating_sub(change.bytes_deallocated) as u64 - buffer_bytes;
                assert!(reported <= BUDGET, "{case}: {reported} bytes reported after {step} steps");
                assert!(allocated <= BUDGET + BUDGET / 100, "{case}: {allocated} bytes allocated after {step} steps");
                // Tolerance for temporary allocations of threads and for estimated allocation headers.
                let difference = allocated.abs_diff(reported);
                assert!(difference <= BUDGET / 50, "{case}: {allocated} bytes allocated, {reported} reported");
            }
        }
    }
}
