//! Goal: the memory that a cache says it takes is what it takes from the system, and never above its budget. Method: an
//! allocator that counts, beside random reads and writes; one test, as the allocator counts whoever runs beside it.
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

/// Half text, half noise, of another mix for each page.
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
    let named = |name| policy(name).expect("a policy");
    let (raw_policy, compressed_policy) = (named(raw), named(compressed));
    Options { share, raw_policy, compressed_policy, demotion, ..Options::new(Bytes(BUDGET), PAGE as u32) }
}

#[test]
fn memory_is_what_was_allocated_and_keeps_to_the_budget() {
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
        let what = format!("{share:?} {raw} {compressed} {demotion:?}");
        let options = options(share, raw, compressed, demotion);
        let before = Region::new(ALLOCATOR);
        let pool = Pool::new(options, Contents).expect("a cache");
        let (mut rng, mut page) = (Rng::named(7, "memory"), vec![0; PAGE]);
        let own = page.capacity() as u64;
        for step in 0..40_000 {
            // Four accesses in five go to a fifth of the pages.
            let within = if rng.below(5) < 4 { PAGES / 5 } else { PAGES };
            let id = rng.below(within);
            if rng.below(10) == 0 {
                pool.write(id, &page).expect("stored");
            } else {
                pool.read(id, &mut page).expect("loaded");
            }
            if step % 97 == 0 {
                // Of one moment: workers may take and give back much between two looks at a busy machine.
                let (change, said) = loop {
                    let (change, said) = (before.change(), pool.usage().total_bytes());
                    if before.change() == change {
                        break (change, said);
                    }
                };
                let took = change.bytes_allocated.saturating_sub(change.bytes_deallocated) as u64 - own;
                assert!(said <= BUDGET, "{what}: says {said} bytes after {step} steps");
                assert!(took <= BUDGET + BUDGET / 100, "{what}: took {took} bytes after {step} steps");
                // What threads have in hand for a moment, and headers of allocations that are counted ahead.
                assert!(took.abs_diff(said) <= BUDGET / 50, "{what}: took {took} bytes, says {said}");
            }
        }
    }
}
