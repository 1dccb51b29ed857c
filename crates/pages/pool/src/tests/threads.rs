//! Tests with many threads. Every read must return the last completed write of the page or a write in progress, and the
//! memory must stay within the budget.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use ssdlab_core::Rng;

use super::storage::{PAGE_BYTES, Storage, audit, compressed_pages_add_up, options, page, pages_add_up, version};
use crate::policy::policies;
use crate::{Demotion, Incompressible, Loader, Options, PageId, Pool, Share, Transitions};

const PAGES: u64 = 1000;

/// Versions that a read of a page may return.
#[derive(Default)]
struct Stamps {
    writing: Mutex<()>,
    /// Newest version whose write has begun.
    begun: AtomicU64,
    /// Newest version whose write is complete.
    written: AtomicU64,
}

/// Maximum number of pages that a thread pins at once.
const MAX_PINNED: usize = 3;

/// Reads and writes pages with a skewed distribution from several threads, and checks each read.
fn hammer(options: Options, storage: &Storage, steps: u64) -> Transitions {
    let budget = options.budget.0;
    let pool = Arc::new(Pool::new(options, storage.clone()).unwrap());
    let stamps: Vec<Stamps> = (0..PAGES).map(|_| Stamps::default()).collect();
    let done = AtomicBool::new(false);
    let may_fail = storage.fails_one_in.load(SeqCst) > 0;
    let reads = AtomicU64::new(0);
    thread::scope(|scope| {
        let checker = scope.spawn(|| {
            let mut max_bytes = 0;
            while !done.load(SeqCst) {
                max_bytes = max_bytes.max(pool.usage().total_bytes());
                thread::yield_now();
            }
            max_bytes
        });
        let workers: Vec<_> = (0..4)
            .map(|thread| {
                let (pool, stamps, reads) = (&pool, &stamps, &reads);
                scope.spawn(move || {
                    let mut rng = Rng::named(thread, "threads");
                    let mut out = vec![0; PAGE_BYTES];
                    let mut pinned = Vec::new();
                    for step in 0..steps {
                        let id = rng.below(rng.clone().below(PAGES) + 1);
                        let stamp = &stamps[id as usize];
                        let oldest = stamp.written.load(SeqCst);
                        let seen = match rng.below(8) {
                            0 | 1 => {
                                let _writing = stamp.writing.lock().unwrap();
                                let version = stamp.begun.load(SeqCst) + 1;
                                stamp.begun.store(version, SeqCst);
                                let result = pool.write(id, &page(id, version));
                                assert!(may_fail || result.is_ok(), "{result:?}");
                                if result.is_ok() {
                                    stamp.written.store(version, SeqCst);
                                }
                                continue;
                            }
                            2 => match pool.get(id) {
                                Ok(reference) => {
                                    let seen = version(id, &reference);
                                    pinned.push((id, seen, reference));
                                    seen
                                }
                                Err(error) => {
                                    assert!(may_fail, "{error}");
                                    continue;
                                }
                            },
                            _ => match pool.read(id, &mut out) {
                                Ok(_) => version(id, &out),
                                Err(error) => {
                                    assert!(may_fail, "{error}");
                                    continue;
                                }
                            },
                        };
                        reads.fetch_add(1, SeqCst);
                        let newest = stamp.begun.load(SeqCst);
                        assert!((oldest..=newest).contains(&seen), "page {id}: {seen} is not in {oldest}..={newest}");
                        // More pins could cover all uncompressed pages of a small shard.
                        if step % 8 == 0 || pinned.len() == MAX_PINNED {
                            // Pinned pages must not change, even if they were written meanwhile.
                            pinned.drain(..).for_each(|(id, seen, page)| assert_eq!(version(id, &page), seen));
                        }
                    }
                })
            })
            .collect();
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        done.store(true, SeqCst);
        let max_bytes = checker.join().unwrap();
        results.into_iter().for_each(|result| result.unwrap());
        assert!(max_bytes <= budget + budget / 100, "{max_bytes} of {budget} bytes");
    });
    storage.fails_one_in.store(0, SeqCst);
    pool.flush().unwrap();
    for (id, stamp) in (0..).zip(&stamps) {
        assert!(storage.version(id) >= stamp.written.load(SeqCst), "page {id}");
    }
    let counts = settle(pool, may_fail);
    if !may_fail {
        assert_eq!(counts.raw_hits + counts.compressed_hits + counts.misses, reads.load(SeqCst));
    }
    counts
}

/// Waits until the workers are idle, then audits the pool and checks the counters.
fn settle(pool: Arc<Pool<Storage>>, may_fail: bool) -> Transitions {
    while pool.shards().iter().any(|shard| shard.read().working() || shard.read().queued) {
        thread::yield_now();
    }
    audit(&pool);
    let (counts, usage) = (pool.transitions(), pool.usage());
    if may_fail {
        compressed_pages_add_up(&counts, &usage);
    } else {
        pages_add_up(&counts, &usage);
    }
    counts
}

#[test]
fn reads_return_the_last_write() {
    for (index, demotion) in [
        Demotion::Synchronous,
        Demotion::Background { workers: 1, batch: 16 },
        Demotion::Background { workers: 3, batch: 4 },
    ]
    .into_iter()
    .enumerate()
    {
        let mut by_workers = 0;
        for policy in policies() {
            let options = Options {
                demotion,
                raw_policy: policy.clone(),
                compressed_policy: policy,
                shards: 1 << index,
                codec: ["lz4", "zstd:1", "none"][index].parse().unwrap(),
                incompressible: if index == 1 { Incompressible::StoreRaw } else { Incompressible::Drop },
                drop_cold: index == 2,
                ..options(400 << 10)
            };
            let counts = hammer(options, &Storage::default(), 6_000);
            assert!(counts.misses > 0 && counts.raw_hits > 0 && counts.written_back > 0, "{counts:?}");
            assert!(index == 2 || counts.restored > 0, "{counts:?}");
            by_workers += counts.demoted_by_workers;
        }
        // The sum covers all policies, because on a busy machine the callers may demote all pages of one policy.
        assert!(index == 0 || by_workers > 0, "workers demoted no page");
    }
}

#[test]
fn reads_return_the_last_write_while_the_share_moves() {
    let options = Options {
        share: Share::Adaptive { miss_us: 110.0, restore_us: 10.0 },
        demotion: Demotion::Background { workers: 2, batch: 8 },
        // The minimum number of uncompressed pages must exceed the number of pages that the threads pin at once.
        ..options(800 << 10)
    };
    let counts = hammer(options, &Storage::default(), 20_000);
    assert!(counts.share_moves > 0, "{counts:?}");
}

#[test]
fn reads_return_the_last_write_while_the_storage_fails() {
    for demotion in [Demotion::Synchronous, Demotion::Background { workers: 2, batch: 8 }] {
        let storage = Storage::default();
        storage.fails_one_in.store(7, SeqCst);
        let counts = hammer(Options { demotion, ..options(300 << 10) }, &storage, 10_000);
        assert!(counts.store_errors > 0 && counts.load_errors > 0, "{counts:?}");
    }
}

/// All threads request the same page; the storage must be called once.
#[test]
fn one_thread_loads_and_the_others_wait() {
    struct Slow(AtomicU64);
    impl Loader for Slow {
        type Error = std::io::Error;
        fn load(&self, id: PageId, out: &mut [u8]) -> Result<(), Self::Error> {
            self.0.fetch_add(1, SeqCst);
            thread::sleep(std::time::Duration::from_millis(20));
            out.copy_from_slice(&page(id, 0));
            Ok(())
        }
        fn store(&self, _: PageId, _: &[u8]) -> Result<(), Self::Error> {
            Ok(())
        }
    }
    let pool = Pool::new(options(300 << 10), Slow(AtomicU64::new(0))).unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(version(5, &pool.get(5).unwrap()), 0));
        }
    });
    assert_eq!(pool.loader().0.load(SeqCst), 1);
    let counts = pool.transitions();
    assert_eq!((counts.misses, counts.raw_hits), (1, 7));
    assert!(counts.waits > 0);
}
