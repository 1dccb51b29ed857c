//! Simulates caches while the trace is being read. Each cache runs on its own thread and follows the reader.
//!
//! The reader passes accesses on in batches. A batch is freed once all caches have processed it. Batches that a slow
//! cache has not processed stay in memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};

use ssdlab_cache::{Access, CacheError, Counts, Granularity, Simulation, Splitter};
use ssdlab_trace::Request;

use crate::caches::{CacheChoice, LOOK_EVERY, Watch, watched};

/// A batch of consecutive accesses. `items` is the number of distinct items accessed from the start of the trace to the
/// end of the batch.
#[derive(Debug)]
struct Part {
    accesses: Vec<Access>,
    items: u32,
}

/// Passes the accesses of a trace to caches while the trace is read. Dropping this value ends the trace.
#[derive(Debug)]
pub struct Followers {
    granularity: Granularity,
    caches: Vec<Sender<Arc<Part>>>,
    uses: u64,
}

/// A cache that follows the reader of the trace.
#[derive(Debug)]
pub struct Follower {
    simulation: Simulation,
    parts: Receiver<Arc<Part>>,
}

impl Followers {
    /// Creates a reader, initially without caches.
    pub fn new(granularity: Granularity) -> Self {
        Self { granularity, caches: Vec::new(), uses: 0 }
    }

    /// Adds a cache and simulates it from the next access onwards.
    ///
    /// # Errors
    /// Fails if the parameters of the cache are invalid, or its policy needs to know future requests.
    pub fn follow(&mut self, cache: &CacheChoice) -> Result<Follower, CacheError> {
        let simulation = Simulation::new(cache.info, &cache.changes, cache.capacity, self.granularity)?;
        let (sender, parts) = mpsc::channel();
        self.caches.push(sender);
        Ok(Follower { simulation, parts })
    }

    /// Splits requests into accesses and passes the accesses to all caches.
    ///
    /// # Errors
    /// Fails if the trace has too many items.
    pub fn split(&mut self, requests: &[Request], splitter: &mut Splitter) -> Result<(), CacheError> {
        for requests in requests.chunks(LOOK_EVERY) {
            let mut accesses = Vec::with_capacity(requests.len());
            splitter.split(requests, &mut accesses)?;
            self.uses += accesses.iter().filter(|access| !access.is_drop()).count() as u64;
            let part = Arc::new(Part { accesses, items: splitter.universe().len() });
            for cache in &self.caches {
                // Sending fails if the cache's simulation was stopped, which drops its receiver. This is not an error.
                let _ = cache.send(Arc::clone(&part));
            }
        }
        Ok(())
    }

    /// Returns the number of item accesses so far, excluding trims.
    pub fn uses(&self) -> u64 {
        self.uses
    }
}

impl Follower {
    /// Simulates the cache over the whole trace; returns `None` if stopped.
    ///
    /// # Errors
    /// Fails if the parameters of the cache are invalid, which [`Followers::follow`] has already checked.
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

    /// Compares a cache that follows the reader with a simulation of the whole trace, while another following cache is
    /// stopped.
    #[test]
    fn a_follower_sees_the_whole_trace() {
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
