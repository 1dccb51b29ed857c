//! Caches that are simulated while their trace is read: they follow the reader, each on a thread of its own.
//!
//! The reader hands out the accesses part by part. A part is freed once the last cache is done with it; caches that are
//! slower than the reader, or wait for a thread, hold what they have not come to.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};

use ssdlab_cache::{Access, CacheError, Counts, Granularity, Simulation, Splitter};
use ssdlab_trace::Request;

use crate::caches::{CacheChoice, LOOK_EVERY, Watch, watched};

/// Accesses in a row, and how many items there are by their end.
#[derive(Debug)]
struct Part {
    accesses: Vec<Access>,
    items: u32,
}

/// Where the accesses of a trace go while it is read. The trace ends when this is dropped.
#[derive(Debug)]
pub struct Followers {
    granularity: Granularity,
    caches: Vec<Sender<Arc<Part>>>,
    uses: u64,
}

/// A cache that follows.
#[derive(Debug)]
pub struct Follower {
    simulation: Simulation,
    parts: Receiver<Arc<Part>>,
}

impl Followers {
    /// Nobody follows yet.
    pub fn new(granularity: Granularity) -> Self {
        Self { granularity, caches: Vec::new(), uses: 0 }
    }

    /// One more cache, which sees what is split from now on.
    ///
    /// # Errors
    /// If there can be no such cache, or its policy must know the future.
    pub fn follow(&mut self, cache: &CacheChoice) -> Result<Follower, CacheError> {
        let simulation = Simulation::new(cache.info, &cache.changes, cache.capacity, self.granularity)?;
        let (sender, parts) = mpsc::channel();
        self.caches.push(sender);
        Ok(Follower { simulation, parts })
    }

    /// Takes requests apart, and hands their accesses to all caches.
    ///
    /// # Errors
    /// If there are too many items.
    pub fn split(&mut self, requests: &[Request], splitter: &mut Splitter) -> Result<(), CacheError> {
        for requests in requests.chunks(LOOK_EVERY) {
            let mut accesses = Vec::with_capacity(requests.len());
            splitter.split(requests, &mut accesses)?;
            self.uses += accesses.iter().filter(|access| !access.is_drop()).count() as u64;
            let part = Arc::new(Part { accesses, items: splitter.universe().len() });
            for cache in &self.caches {
                // One that was stopped has gone.
                let _ = cache.send(Arc::clone(&part));
            }
        }
        Ok(())
    }

    /// Accesses so far that use an item.
    pub fn uses(&self) -> u64 {
        self.uses
    }
}

impl Follower {
    /// What the cache sees of the whole trace; none if it was stopped.
    ///
    /// # Errors
    /// None: what there can be no cache of, nobody follows.
    pub fn simulate(self, watch: Watch<'_>) -> Result<Option<Counts>, CacheError> {
        let Self { mut simulation, parts } = self;
        watched(
            move |stop| {
                for part in parts {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    simulation.feed(&part.accesses, part.items);
                }
                Ok(simulation.counts())
            },
            watch,
        )
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_cache::{AccessTrace, POLICIES, Trims};
    use ssdlab_trace::Op;

    use super::*;
    use crate::run::monitor::Control;

    /// Goal: who follows sees what is seen afterwards, whoever else leaves. Method: the whole trace simulated at once.
    #[test]
    fn a_cache_that_follows_sees_the_trace() {
        let request = |at: u64| {
            let op = if at % 50 == 7 { Op::Trim } else { Op::Read };
            Request { time_ns: at, offset: at * at % 997 * 4096, bytes: 8192, op, flags: 0, stream: 0 }
        };
        let requests: Vec<Request> = (0..40_000).map(request).collect();
        let (pages, lru) = (Granularity::Pages { page_bytes: 4096 }, POLICIES.get("lru").unwrap());
        let cache = |capacity| CacheChoice { info: lru, changes: Vec::new(), capacity };
        let mut followers = Followers::new(pages);
        let caches = [10, 300].map(|capacity| followers.follow(&cache(capacity)).unwrap());
        let stopped = followers.follow(&cache(20)).unwrap();
        let belady = CacheChoice { info: POLICIES.get("belady").unwrap(), ..cache(10) };
        assert!(followers.follow(&belady).is_err());
        assert_eq!(stopped.simulate(&mut || Control::Stop), Ok(None));
        let threads =
            caches.map(|cache| std::thread::spawn(move || cache.simulate(&mut || Control::Continue).unwrap()));
        let mut splitter = Splitter::new(pages, Trims::Drop).unwrap();
        requests.chunks(17_000).for_each(|batch| followers.split(batch, &mut splitter).unwrap());
        let trace = AccessTrace::new(&requests, pages, Trims::Drop).unwrap();
        assert_eq!((followers.uses(), splitter.universe().len()), (trace.uses(), trace.items()));
        drop(followers);
        let [small, large] = threads.map(|thread| thread.join().unwrap());
        assert_eq!(small, Some(trace.simulate(lru, &[], 10).unwrap()));
        assert_eq!(large, Some(trace.simulate(lru, &[], 300).unwrap()));
    }
}
