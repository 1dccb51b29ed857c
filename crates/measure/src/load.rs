//! The load generator: many threads send a sequence of accesses through the two-pool cache.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use ssdlab_core::LatencyHistogram;
use ssdlab_pool::{Loader, PageId, Pool, PoolError};

use crate::process_cpu_ns;
use crate::storage::page_of;
use crate::threads::{TooMany, result, together};
use crate::watch::until_ended;

/// Accesses of a thread after which it tells how many it has done: too many to be felt.
const TELL_EVERY: usize = 256;

/// One access to a page: its number, and in the lowest bit whether it is written.
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

/// What it took.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// From the first access to the last, in nanoseconds.
    pub elapsed_ns: u64,
    /// Times of accesses, in nanoseconds.
    pub accesses: LatencyHistogram,
    /// Processor time of the whole process, with the workers of the cache, in nanoseconds.
    pub cpu_ns: u64,
}

/// Why accesses came to an end early.
#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error> {
    /// The cache failed.
    #[error(transparent)]
    Pool(#[from] PoolError<E>),
    /// There are not so many threads.
    #[error(transparent)]
    Threads(#[from] TooMany),
    /// The caller wants no more.
    #[error("stopped")]
    Stopped,
}

/// Sends `accesses` through `pool`: of `threads`, each takes its turn of them. Pages are read as copies, and written
/// with their `contents`, which repeat beyond their end. `go_on` is asked now and then, and told how many are done.
///
/// # Errors
/// See [`Error`].
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
    let mut taken = Taken::default();
    thread::scope(|scope| -> Result<(), TooMany> {
        let (ended, ends) = channel::<()>();
        let work = |thread: usize| {
            let (stop, start, failed, ended) = (&stop, &start, &failed, ended.clone());
            let done_by_all = &done_by_all;
            move || {
                let _ended = ended;
                let mut out = vec![0; page_bytes];
                start.wait();
                let mut times = LatencyHistogram::default();
                let first = Instant::now();
                let mut began = first;
                for (number, access) in accesses.iter().skip(thread).step_by(threads).enumerate() {
                    if stop.load(Relaxed) {
                        break;
                    }
                    if number % TELL_EVERY == TELL_EVERY - 1 {
                        done_by_all.fetch_add(TELL_EVERY as u64, Relaxed);
                    }
                    let done = if access.writes() {
                        pool.write(access.page(), page_of(contents, access.page(), page_bytes))
                    } else {
                        pool.read(access.page(), &mut out).map(drop)
                    };
                    if let Err(error) = done {
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
        let workers = together(scope, threads, work)?;
        drop(ended);
        let cpu_ns = process_cpu_ns();
        start.wait();
        until_ended(&ends, &stop, &mut || go_on(done_by_all.load(Relaxed)));
        taken.cpu_ns = process_cpu_ns() - cpu_ns;
        // By the clocks of the threads: this one may get a processor long after they have begun, or ended.
        let mut elapsed: Option<(Instant, Instant)> = None;
        for worker in workers {
            let (first, last, times) = result(worker);
            elapsed = Some(elapsed.map_or((first, last), |(begin, end)| (begin.min(first), end.max(last))));
            taken.accesses.merge(&times);
        }
        taken.elapsed_ns = elapsed.map_or(0, |(begin, end)| (end - begin).as_nanos() as u64);
        Ok(())
    })?;
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error.into()),
        None if stop.into_inner() => Err(Error::Stopped),
        None => Ok(taken),
    }
}
