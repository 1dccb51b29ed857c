//! Tests of thread interleavings with shuttle: `cargo test -p ssdlab-pool --features shuttle`.
//!
//! Shuttle switches threads at every lock. Lost updates, missed wake-ups and deadlocks appear within a few thousand
//! runs. A failed test prints a schedule that reproduces the failure. Every run ends with an audit and a check that no
//! write is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};
use ssdlab_core::{Bytes, Rng};

use storage::{Failed, PAGE_BYTES, Storage, audit, options, page, version};

use crate::policy::policy;
use crate::{Demotion, Loader, Options, PageId, Pool, Share};

#[path = "tests/storage.rs"]
#[allow(dead_code, reason = "this test uses only some functions of the module")]
mod storage;

/// Storage that yields to other threads during its calls.
struct Slow(Storage);

impl Loader for Slow {
    type Error = Failed;

    fn load(&self, id: PageId, out: &mut [u8]) -> Result<(), Failed> {
        thread::yield_now();
        let result = self.0.load(id, out);
        thread::yield_now();
        result
    }

    fn store(&self, id: PageId, bytes: &[u8]) -> Result<(), Failed> {
        thread::yield_now();
        let result = self.0.store(id, bytes);
        thread::yield_now();
        result
    }
}

const PAGES: u64 = 24;
const THREADS: u64 = 3;
const RUNS: usize = 3000;

/// Runs `body` under random schedules, and under schedules with few but badly timed thread switches.
fn interleave(body: fn()) {
    let schedulers: [Box<dyn Scheduler + Send>; 2] =
        [Box::new(RandomScheduler::new_from_seed(1, RUNS)), Box::new(PctScheduler::new_from_seed(1, 3, RUNS))];
    for scheduler in schedulers {
        Runner::new(scheduler, Config::default()).run(body);
    }
}

/// Returns options for a cache with only ten uncompressed pages and two chunks, so that threads often wait for each
/// other.
fn tight() -> Options {
    Options { share: Share::Fixed { percent: 50.0 }, ..options(26 << 10) }
}

/// Each thread reads any page but writes only its own pages. Each read must return the last written version or a
/// version being written.
fn work(options: Options, storage: Storage, may_fail: bool) {
    let pool = Arc::new(Pool::new(options, Slow(storage.clone())).unwrap());
    let stamps: Arc<Vec<(AtomicU64, AtomicU64)>> = Arc::new((0..PAGES).map(|_| Default::default()).collect());
    let threads: Vec<_> = (0..THREADS)
        .map(|own| {
            let (pool, stamps) = (Arc::clone(&pool), Arc::clone(&stamps));
            thread::spawn(move || {
                let mut rng = Rng::named(own, "interleavings");
                let mut out = vec![0; PAGE_BYTES];
                for step in 0..12 {
                    let id = rng.below(PAGES);
                    let (begun, written) = &stamps[id as usize];
                    let oldest = written.load(SeqCst);
                    if id % THREADS == own {
                        begun.store(step + 1, SeqCst);
                        match pool.write(id, &page(id, step + 1)) {
                            Ok(()) => written.store(step + 1, SeqCst),
                            Err(error) => assert!(may_fail, "{error}"),
                        }
                        continue;
                    }
                    let seen = if step % 4 == 0 {
                        pool.get(id).map(|bytes| version(id, &bytes))
                    } else {
                        pool.read(id, &mut out).map(|_| version(id, &out))
                    };
                    match seen {
                        Ok(seen) => assert!((oldest..=begun.load(SeqCst)).contains(&seen), "page {id}: {seen}"),
                        Err(error) => assert!(may_fail, "{error}"),
                    }
                }
                if own == 0 && !may_fail {
                    pool.flush().unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    storage.fails_one_in.store(0, SeqCst);
    pool.flush().unwrap();
    for (id, (_, written)) in (0..).zip(&*stamps) {
        assert!(storage.version(id) >= written.load(SeqCst));
    }
    while pool.shards()[0].read().working() || pool.shards()[0].read().queued {
        thread::yield_now();
    }
    audit(&pool);
}

#[test]
fn callers_without_workers() {
    interleave(|| work(tight(), Storage::default(), false));
}

#[test]
fn callers_and_a_worker() {
    interleave(|| {
        let demotion = Demotion::Background { workers: 1, batch: 2 };
        work(Options { demotion, budget: Bytes(34 << 10), ..tight() }, Storage::default(), false);
    });
}

/// A hit takes the policy's lock while it holds the shard's shared lock.
#[test]
fn callers_and_a_worker_with_simulated_policies() {
    interleave(|| {
        let options = Options {
            demotion: Demotion::Background { workers: 1, batch: 2 },
            budget: Bytes(46 << 10),
            raw_policy: policy("arc").unwrap(),
            compressed_policy: policy("2q").unwrap(),
            ..tight()
        };
        work(options, Storage::default(), false);
    });
}

#[test]
fn callers_and_workers_with_a_storage_that_fails() {
    interleave(|| {
        let storage = Storage::default();
        storage.fails_one_in.store(4, SeqCst);
        let demotion = Demotion::Background { workers: 2, batch: 1 };
        work(Options { demotion, budget: Bytes(42 << 10), ..tight() }, storage, true);
    });
}

/// One thread writes a page while others pin, store and compress it.
#[test]
fn concurrent_operations_on_one_page() {
    interleave(|| {
        let storage = Storage::default();
        let pool = Arc::new(Pool::new(tight(), Slow(storage.clone())).unwrap());
        let writer = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                for stamp in 1..=4 {
                    pool.write(5, &page(5, stamp)).unwrap();
                    assert_eq!(version(5, &pool.get(5).unwrap()), stamp);
                }
            })
        };
        let flusher = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || (0..3).for_each(|_| pool.flush().unwrap()))
        };
        let evictor = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let mut last = 0;
                for id in 100..112 {
                    pool.get(id).unwrap();
                    let seen = version(5, &pool.get(5).unwrap());
                    assert!(seen >= last, "{seen} after {last}");
                    last = seen;
                }
            })
        };
        [writer, flusher, evictor].into_iter().for_each(|thread| thread.join().unwrap());
        pool.flush().unwrap();
        assert_eq!(storage.version(5), 4);
        audit(&pool);
    });
}
