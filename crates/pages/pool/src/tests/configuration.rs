//! Errors of invalid options name the option, its value and the remedy.

use ssdlab_core::Bytes;

use super::storage::{Storage, options};
use crate::policy::policy;
use crate::{ConfigError, Demotion, Options, Pool, PoolError, Share};

fn config_error(change: impl FnOnce(&mut Options)) -> ConfigError {
    let mut options = options(1 << 20);
    change(&mut options);
    match Pool::new(options, Storage::default()) {
        Ok(_) => panic!("these options should be invalid"),
        Err(error) => error,
    }
}

#[test]
fn errors_name_field_value_and_remedy() {
    let cases: Vec<(ConfigError, &str, &str)> = vec![
        (config_error(|o| o.page_bytes = 0), "page size 0", "power of two from 512 to 1048576 bytes, such as 512"),
        (config_error(|o| o.page_bytes = 3000), "page size 3000", "such as 2048"),
        (config_error(|o| o.page_bytes = 1 << 21), "page size 2097152", "such as 1048576"),
        (config_error(|o| o.budget = Bytes(0)), "budget ", "1000 times this size"),
        (config_error(|o| o.budget = Bytes(1000)), "budget ", "a single page needs 1024 bytes"),
        (config_error(|o| o.budget = Bytes(5000)), "budget ", "raise the budget"),
        (config_error(|o| o.budget = Bytes(18_000)), "share of compressed pages 50 %", "raise the budget"),
        (config_error(|o| o.share = Share::Fixed { percent: -1.0 }), "share of compressed pages -1", "from 0 to 100"),
        (
            config_error(|o| o.share = Share::Fixed { percent: 100.5 }),
            "share of compressed pages 100.5",
            "from 0 to 100",
        ),
        (
            config_error(|o| o.share = Share::Fixed { percent: f64::NAN }),
            "share of compressed pages NaN",
            "from 0 to 100",
        ),
        (
            config_error(|o| o.share = Share::Fixed { percent: 0.1 }),
            "share of compressed pages 0.1 %",
            "raise the share",
        ),
        (
            config_error(|o| o.share = Share::Adaptive { miss_us: 5.0, restore_us: 5.0 }),
            "time to load a page 5 us",
            "longer than the time to restore a page, 5 us",
        ),
        (
            config_error(|o| o.share = Share::Adaptive { miss_us: 5.0, restore_us: 0.0 }),
            "time to restore a page 0 us",
            "above 0",
        ),
        (config_error(|o| o.max_stored_percent = 0.0), "longest compressed page 0 %", "from 1 to 100 %"),
        (
            config_error(|o| o.demotion = Demotion::Background { workers: 0, batch: 8 }),
            "number of workers 0",
            "synchronous",
        ),
        (
            config_error(|o| o.demotion = Demotion::Background { workers: 999, batch: 8 }),
            "number of workers 999",
            "1 to 256",
        ),
        (config_error(|o| o.demotion = Demotion::Background { workers: 1, batch: 0 }), "batch 0", "1 to 4096"),
        (
            config_error(|o| o.demotion = Demotion::Background { workers: 9, batch: 99 }),
            "budget ",
            "buffers of 9 workers",
        ),
        (config_error(|o| o.shards = 0), "number of shards 0", "power of two"),
        (config_error(|o| o.shards = 12), "number of shards 12", "such as 8"),
        (config_error(|o| o.shards = 256), "budget ", "fewer shards"),
        (config_error(|o| o.chunk_bytes = 100), "size of a chunk 100", "power of two from 1024"),
        (config_error(|o| o.codec = "modelled".parse().unwrap()), "codec modelled", "only models compression"),
        (policy("lur").unwrap_err(), "policy \"lur\"", "choose one of clock, fifo, lru, s3-fifo, sieve, lifo, mru"),
        (policy("belady").unwrap_err(), "policy \"belady\"", "choose one of"),
        (policy("lru-k:k").unwrap_err(), "policy \"lru-k:k\"", "lru-k:PARAMETER=NUMBER"),
        (policy("lru-k:k=99").unwrap_err(), "policy \"lru-k:k=99\"", "must be from 1 to 16"),
        (policy("clock:k=9").unwrap_err(), "policy \"clock:k=9\"", "available: bits"),
    ];
    for (error, subject, remedy) in cases {
        let message = error.to_string();
        let subject = format!("invalid {subject}");
        assert!(message.starts_with(&subject) && message.contains(remedy), "{message}; not {subject} ... {remedy}");
    }
}

#[test]
fn default_options_are_valid() {
    // The tables use a larger fraction of the memory if pages are small.
    for (budget, page, max_tables) in
        [(1 << 20, 512, 0.25), (4 << 20, 4096, 0.04), (64 << 20, 8192, 0.03), (64 << 20, 1 << 20, 0.2)]
    {
        let pool = Pool::new(Options::new(Bytes(budget), page), Storage::default()).unwrap();
        let usage = pool.usage();
        assert!((usage.metadata_bytes as f64) < budget as f64 * max_tables, "{budget} bytes: {usage:?}");
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
