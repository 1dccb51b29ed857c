//! Options that make no cache say why and what would.

use ssdlab_core::Bytes;

use super::storage::{Storage, options};
use crate::policy::policy;
use crate::{ConfigError, Demotion, Options, Pool, PoolError, Share};

fn refusal(change: impl FnOnce(&mut Options)) -> ConfigError {
    let mut options = options(1 << 20);
    change(&mut options);
    match Pool::new(options, Storage::default()) {
        Ok(_) => panic!("these options should make no cache"),
        Err(error) => error,
    }
}

#[test]
fn refusals_name_field_value_and_remedy() {
    let cases: Vec<(ConfigError, &str, &str)> = vec![
        (refusal(|o| o.page_bytes = 0), "the page size 0", "power of two from 512 to 1048576, as 512"),
        (refusal(|o| o.page_bytes = 3000), "the page size 3000", "as 2048"),
        (refusal(|o| o.page_bytes = 1 << 21), "the page size 2097152", "as 1048576"),
        (refusal(|o| o.budget = Bytes(0)), "the budget ", "some thousand times"),
        (refusal(|o| o.budget = Bytes(1000)), "the budget ", "a page alone has 1024 bytes"),
        (refusal(|o| o.budget = Bytes(5000)), "the budget ", "raise the budget"),
        (refusal(|o| o.budget = Bytes(18_000)), "the share of compressed pages 50 %", "smaller chunks"),
        (refusal(|o| o.share = Share::Fixed { percent: -1.0 }), "the share of compressed pages -1", "from 0 to 100"),
        (
            refusal(|o| o.share = Share::Fixed { percent: 100.5 }),
            "the share of compressed pages 100.5",
            "from 0 to 100",
        ),
        (
            refusal(|o| o.share = Share::Fixed { percent: f64::NAN }),
            "the share of compressed pages NaN",
            "from 0 to 100",
        ),
        (
            refusal(|o| o.share = Share::Fixed { percent: 0.1 }),
            "the share of compressed pages 0.1 %",
            "raise the budget or the share",
        ),
        (
            refusal(|o| o.share = Share::Adaptive { miss_us: 5.0, restore_us: 5.0 }),
            "the time to load a page, in us, 5",
            "longer than 5 us",
        ),
        (
            refusal(|o| o.share = Share::Adaptive { miss_us: 5.0, restore_us: 0.0 }),
            "the time to restore a page, in us, 0",
            "microseconds",
        ),
        (refusal(|o| o.max_stored_percent = 0.0), "the longest compressed page, in percent, 0", "as 75"),
        (
            refusal(|o| o.demotion = Demotion::Background { workers: 0, batch: 8 }),
            "the number of workers 0",
            "synchronous",
        ),
        (
            refusal(|o| o.demotion = Demotion::Background { workers: 999, batch: 8 }),
            "the number of workers 999",
            "1 to 256",
        ),
        (refusal(|o| o.demotion = Demotion::Background { workers: 1, batch: 0 }), "the batch 0", "1 to 4096"),
        (
            refusal(|o| o.demotion = Demotion::Background { workers: 9, batch: 99 }),
            "the budget ",
            "buffers of 9 workers",
        ),
        (refusal(|o| o.shards = 0), "the number of shards 0", "power of two"),
        (refusal(|o| o.shards = 12), "the number of shards 12", "as 8"),
        (refusal(|o| o.shards = 256), "the budget ", "fewer shards"),
        (refusal(|o| o.chunk_bytes = 100), "the size of a chunk 100", "power of two from 1024"),
        (refusal(|o| o.codec = "modelled".parse().unwrap()), "the codec modelled", "keeps no bytes"),
        (policy("lur").unwrap_err(), "the policy \"lur\"", "choose one of clock, fifo, lru, s3-fifo, sieve, lifo, mru"),
        (policy("belady").unwrap_err(), "the policy \"belady\"", "choose one of"),
        (policy("lru-k:k").unwrap_err(), "the policy \"lru-k:k\"", "lru-k:PARAMETER=NUMBER"),
        (policy("lru-k:k=99").unwrap_err(), "the policy \"lru-k:k=99\"", "must lie in 1..=16"),
        (policy("clock:k=9").unwrap_err(), "the policy \"clock:k=9\"", "it has bits"),
    ];
    for (error, what, remedy) in cases {
        let message = error.to_string();
        assert!(message.starts_with(what) && message.contains(remedy), "{message} should be: {what} ... {remedy}");
    }
}

#[test]
fn usual_options_make_a_cache() {
    // Tables take more of small pages.
    for (budget, page, tables) in
        [(1 << 20, 512, 0.25), (4 << 20, 4096, 0.04), (64 << 20, 8192, 0.03), (64 << 20, 1 << 20, 0.2)]
    {
        let pool = Pool::new(Options::new(Bytes(budget), page), Storage::default()).unwrap();
        let usage = pool.usage();
        assert!((usage.metadata_bytes as f64) < budget as f64 * tables, "an empty cache of {budget} has {usage:?}");
        assert_eq!(usage.raw_bytes + usage.compressed_bytes, 0);
    }
}

#[test]
fn buffers_must_have_the_length_of_a_page() {
    let pool = Pool::new(options(1 << 20), Storage::default()).unwrap();
    for given in [0, 1023, 1025] {
        assert!(matches!(
            pool.read(7, &mut vec![0; given]),
            Err(PoolError::WrongLength { page: 7, page_bytes: 1024, .. })
        ));
        assert!(matches!(pool.write(7, &vec![0; given]), Err(PoolError::WrongLength { .. })));
    }
}
