//! Load generator: many threads send a sequence of accesses through the two-pool cache.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Instant;

use ssdlab_core::LatencyHistogram;
use ssdlab_pool::{Loader, PageId, Pool, PoolError};

use crate::clock::process_cpu_ns;
use crate::storage::page_of;
use crate::threads::{TooMany, run};

/// Number of accesses between updates of the shared progress counter; frequent updates would slow down the accesses.
const PROGRESS_STEP: usize = 256;

/// Access to a page, encoded as an integer: the page number shifted left by one, with the lowest bit set for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(pub u64);

impl Access {
    fn page(self) -> PageId {
        self.0 >> 1
    }

    fn writes(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Times of a run of the load generator.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Time from the start of the first access to the end of the last access, in nanoseconds.
    pub elapsed_ns: u64,
    /// Latencies of page accesses, in nanoseconds.
    pub accesses: LatencyHistogram,
    /// Processor time of the whole process, including the cache's workers, in nanoseconds.
    pub cpu_ns: u64,
}

/// Reasons why a run of the load generator ends early.
#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error> {
    /// An operation of the cache failed.
    #[error(transparent)]
    Pool(#[from] PoolError<E>),
    /// The system could not start all threads.
    #[error(transparent)]
    Threads(#[from] TooMany),
    /// The caller cancelled the run.
    #[error("stopped")]
    Stopped,
}

/// Sends `accesses` through `pool`, distributed round robin over `threads` threads.
///
/// A read copies the page. A write stores the page of `contents` with the same number; page numbers past the end wrap
/// around to the first page. The callback `go_on` is called periodically with the number of completed accesses; if it
/// returns false, the run is cancelled.
pub fn send<L: Loader>(
    pool: &Pool<L>,
    accesses: &[Access],
    contents: &[u8],
    threads: usize,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Taken, Error<L::Error>> {
    let page_bytes = pool.options().page_bytes as usize;
    let (stop, failed) = (AtomicBool::new(false), Mutex::new(None));
    let start = Barrier::new(threads + 1);
    let done_by_all = AtomicU64::new(0);
    let work = |thread: usize| {
        let (stop, start, failed, done_by_all) = (&stop, &start, &failed, &done_by_all);
        move || {
            let mut out = vec![0; page_bytes];
            start.wait();
            let mut times = LatencyHistogram::default();
            let first = Instant::now();
            let mut began = first;
            for (number, access) in accesses.iter().skip(thread).step_by(threads).enumerate() {
                if stop.load(Relaxed) {
                    break;
                }
                if number % PROGRESS_STEP == PROGRESS_STEP - 1 {
                    done_by_all.fetch_add(PROGRESS_STEP as u64, Relaxed);
                }
                let result = if access.writes() {
                    pool.write(access.page(), page_of(contents, access.page(), page_bytes))
                } else {
                    pool.read(access.page(), &mut out).map(drop)
                };
                if let Err(error) = result {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    stop.store(true, Relaxed);
                }
                let ended = Instant::now();
                times.record((ended - began).as_nanos() as u64);
                began = ended;
            }
            (first, began, times)
        }
    };
    let mut cpu_ns = 0;
    let begin = || {
        cpu_ns = process_cpu_ns();
        start.wait();
    };
    let workers = run(threads, work, begin, &stop, &mut || go_on(done_by_all.load(Relaxed)))?;
    let mut taken = Taken { cpu_ns: process_cpu_ns() - cpu_ns, ..Taken::default() };
    // The threads record their start and end themselves, because the calling thread may be scheduled much later.
    let mut elapsed: Option<(Instant, Instant)> = None;
    for (first, last, times) in workers {
        elapsed = Some(elapsed.map_or((first, last), |(begin, end)| (begin.min(first), end.max(last))));
        taken.accesses.merge(&times);
    }
    taken.elapsed_ns = elapsed.map_or(0, |(begin, end)| (end - begin).as_nanos() as u64);
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error.into()),
        None if stop.into_inner() => Err(Error::Stopped),
        None => Ok(taken),
    }
}
