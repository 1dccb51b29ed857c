//! Tests of the adaptive share.

use ssdlab_core::Rng;

use super::storage::{PAGE_BYTES, Storage, audit, options};
use crate::{Options, Pool, Share, Transitions, policy};

const MISS_US: f64 = 110.0;
const RESTORE_US: f64 = 20.0;

/// Returns the time of the second half of the reads, in microseconds, and the final share of compressed pages in
/// percent.
fn replay(share: Share, ids: &[u64]) -> (f64, f64) {
    let raw_policy = policy::policy("lru").unwrap();
    let pool = Pool::new(Options { share, raw_policy, ..options(1 << 20) }, Storage::default()).unwrap();
    let mut out = vec![0; PAGE_BYTES];
    let mut before = Transitions::default();
    for (step, &id) in ids.iter().enumerate() {
        // Chooses page numbers whose contents are a quarter or half noise.
        pool.read(id / 2 * 5 + 1 + id % 2, &mut out).unwrap();
        if step == ids.len() / 2 {
            before = pool.transitions();
        }
    }
    audit(&pool);
    let counts = pool.transitions() - before;
    let time_us = counts.misses as f64 * MISS_US + counts.restored as f64 * RESTORE_US;
    (time_us, pool.usage().compressed_limit_bytes as f64 * 100.0 / (1 << 20) as f64)
}

const ADAPTIVE: Share = Share::Adaptive { miss_us: MISS_US, restore_us: RESTORE_US };

/// All pages are equally likely and need twice the memory; most pages fit if they are compressed.
#[test]
fn pages_that_fit_only_compressed_are_compressed() {
    let mut rng = Rng::named(1, "adaptive");
    let ids: Vec<u64> = (0..200_000).map(|_| rng.below(2_300)).collect();
    let (adaptive_us, percent) = replay(ADAPTIVE, &ids);
    assert!(percent > 75.0, "{percent} %");
    let (half_us, _) = replay(Share::Fixed { percent: 50.0 }, &ids);
    assert!(adaptive_us < half_us * 0.9, "{adaptive_us} us against {half_us} us");
}

/// The pages need nine tenths of the memory. If all pages are uncompressed, every read is a hit; reads of compressed
/// pages must also restore them.
#[test]
fn pages_that_fit_raw_stay_raw() {
    let mut rng = Rng::named(2, "adaptive");
    let ids: Vec<u64> = (0..200_000).map(|_| rng.below(750)).collect();
    let (adaptive_us, percent) = replay(ADAPTIVE, &ids);
    assert!(percent < 30.0, "{percent} %");
    let (half_us, _) = replay(Share::Fixed { percent: 50.0 }, &ids);
    assert!(adaptive_us < half_us * 0.7, "{adaptive_us} us against {half_us} us");
}
