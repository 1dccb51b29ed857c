//! The adaptive share goes where time is saved.

use ssdlab_core::Rng;

use super::storage::{PAGE_BYTES, Storage, audit, options};
use crate::{Options, Pool, Share, Transitions, policy};

const MISS_US: f64 = 110.0;
const RESTORE_US: f64 = 20.0;

/// Time of the second half of the reads, in microseconds, and the percentage of the budget that compressed pages may
/// take.
fn replay(share: Share, ids: &[u64]) -> (f64, f64) {
    let raw_policy = policy::policy("lru").unwrap();
    let pool = Pool::new(Options { share, raw_policy, ..options(1 << 20) }, Storage::default()).unwrap();
    let mut out = vec![0; PAGE_BYTES];
    let mut before = Transitions::default();
    for (step, &id) in ids.iter().enumerate() {
        // Pages of which a quarter or a half is noise.
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

/// Pages for more than twice the memory, all alike: compressed most of them fit.
#[test]
fn what_fits_only_compressed_is_compressed() {
    let mut rng = Rng::named(1, "adaptive");
    let ids: Vec<u64> = (0..200_000).map(|_| rng.below(2_300)).collect();
    let (adaptive_us, percent) = replay(ADAPTIVE, &ids);
    assert!(percent > 75.0, "{percent} %");
    let (half_us, _) = replay(Share::Fixed { percent: 50.0 }, &ids);
    assert!(adaptive_us < half_us * 0.9, "{adaptive_us} us against {half_us} us");
}

/// Pages for nine tenths of the memory: raw they are all hits, and half of them compressed costs restoring.
#[test]
fn what_fits_raw_stays_raw() {
    let mut rng = Rng::named(2, "adaptive");
    let ids: Vec<u64> = (0..200_000).map(|_| rng.below(750)).collect();
    let (adaptive_us, percent) = replay(ADAPTIVE, &ids);
    assert!(percent < 30.0, "{percent} %");
    let (half_us, _) = replay(Share::Fixed { percent: 50.0 }, &ids);
    assert!(adaptive_us < half_us * 0.7, "{adaptive_us} us against {half_us} us");
}
