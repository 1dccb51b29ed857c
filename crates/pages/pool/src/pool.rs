//! The page cache and its operations, which move pages between states (absent, in flight, raw, compressed).

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use scopeguard::ScopeGuard;

use crate::demotion::{CodecPool, cancel_on_drop};
use crate::fetch::Source;
use crate::flight::{Flight, SharedShard, WorkerQueue};
use crate::inner::{Inner, PoolResult};
use crate::loader::{CodecFactory, Loader};
use crate::room::Incoming;
use crate::shard::{Frame, Lookup, Shard};
use crate::sync::{JoinHandle, spawn};
use crate::{ConfigError, Options, PageId, PoolError, Transitions, Usage, worker};

/// Maximum number of threads, besides the workers, that restore or demote pages at once.
const MAX_CALLERS: usize = 64;

/// Reference to a cached page with its contents at the time of the request. The reference pins the page's memory.
#[derive(Clone, Debug)]
pub struct PageRef(Frame);

impl Deref for PageRef {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Page cache with an uncompressed and a compressed pool; see the documentation of the crate. Threads share it by
/// reference.
///
/// Dropping the cache stops the workers and writes back dirty pages, but ignores errors; call [`Pool::flush`] to see
/// them.
pub struct Pool<L: Loader> {
    inner: Arc<Inner<L>>,
    workers: Vec<JoinHandle<()>>,
}

impl<L: Loader> Pool<L> {
    /// Creates a cache in front of `loader`. Fails if an option is invalid, or the codec is modelled and stores no
    /// data.
    pub fn new(options: Options, loader: L) -> Result<Self, ConfigError> {
        let spec = options.codec.clone();
        Self::with_codec(options, loader, Arc::new(move || spec.build()))
    }

    /// Creates a cache with the caller's codec instead of the one in `options`. Fails if an option is invalid, or the
    /// codec stores no data or cannot be set up.
    pub fn with_codec(options: Options, loader: L, make: CodecFactory) -> Result<Self, ConfigError> {
        options.check()?;
        let codec_error = |remedy: String| ConfigError::new("codec", &options.codec, remedy);
        let codec = make().map_err(|error| codec_error(format!("the codec could not be set up: {error}")))?;
        if codec.modelled().is_some() {
            return Err(codec_error(
                "the codec only models compression; choose a codec that compresses, such as lz4".into(),
            ));
        }
        let page_bytes = options.page_bytes as usize;
        let batch_bytes = options.batch() * page_bytes;
        let arena_bytes = options.workers() * batch_bytes;
        let budget_bytes = usize::try_from(options.budget.0).unwrap_or(usize::MAX);
        // Each worker has a codec context. Calling threads share further contexts: as many as fit into 1/128 of the
        // budget, but at least two.
        let callers = (budget_bytes / 128 / CodecPool::context_bytes(page_bytes)).clamp(2, MAX_CALLERS);
        let contexts = options.workers() + callers;
        let scratch_bytes = arena_bytes + contexts * CodecPool::context_bytes(page_bytes);
        if scratch_bytes > budget_bytes / 4 {
            let remedy = format!(
                "buffers of {} workers with batches of {} pages take {scratch_bytes} bytes, more than a quarter of the \
                 budget; raise the budget",
                options.workers(),
                options.batch()
            );
            return Err(ConfigError::new("budget", options.budget, remedy));
        }
        let worker_queue = Arc::new(WorkerQueue::default());
        let part = (budget_bytes - scratch_bytes) / options.shards as usize;
        let shards = (0..options.shards as usize)
            .map(|index| Ok(SharedShard::new(Shard::new(&options, part)?, index, Arc::clone(&worker_queue))))
            .collect::<Result<_, ConfigError>>()?;
        let contexts = CodecPool::new(make, &options, contexts);
        let inner = Arc::new(Inner { options, loader, shards, worker_queue, contexts, arena_bytes });
        let workers = (0..inner.options.workers())
            .map(|_| {
                // The worker's buffer is allocated here, because its memory counts against the budget from now on, but
                // the thread may start much later.
                let (inner, arena) = (Arc::clone(&inner), vec![0; batch_bytes]);
                spawn(move || worker::run(&inner, arena))
            })
            .collect();
        Ok(Self { inner, workers })
    }

    /// Copies page `id` to `out`, which must be as long as a page. Returns the storage level in which the page was
    /// found. If a page cannot be cached because no uncompressed page is evictable, it is still read.
    #[inline]
    pub fn read(&self, id: PageId, out: &mut [u8]) -> PoolResult<Source, L> {
        self.inner.check_length(id, out.len())?;
        let shard = self.inner.shard(id);
        {
            let state = shard.read();
            if let Some(page) = state.raw_hit(id) {
                out.copy_from_slice(page);
                shard.raw_hits.fetch_add(1, Relaxed);
                return Ok(Source::Raw);
            }
        }
        Incoming::new(&self.inner, id).fetch(Some(out)).map(|(_, source)| source)
    }

    /// Returns page `id` without copying it. Later writes do not change the returned page.
    #[inline]
    pub fn get(&self, id: PageId) -> PoolResult<PageRef, L> {
        let shard = self.inner.shard(id);
        {
            let state = shard.read();
            if let Some(page) = state.raw_hit(id) {
                shard.raw_hits.fetch_add(1, Relaxed);
                return Ok(PageRef(Arc::clone(page)));
            }
        }
        match Incoming::new(&self.inner, id).fetch(None)? {
            (Some(page), _) => Ok(PageRef(page)),
            (None, _) => Err(PoolError::NoRoom { page: id }),
        }
    }

    /// Writes page `id` completely. The page stays dirty until [`Pool::flush`] or its eviction writes it back. On an
    /// error, the page is unchanged.
    pub fn write(&self, id: PageId, bytes: &[u8]) -> PoolResult<(), L> {
        let inner = &*self.inner;
        inner.check_length(id, bytes.len())?;
        let shard = inner.shard(id);
        let mut spare: Option<Frame> = None;
        let (mut flight, created) = loop {
            let mut state = shard.lock();
            let lookup = state.look_up(id);
            if let Lookup::Raw(slot) = lookup {
                if state.overwrite(slot, bytes) {
                    if let Some(frame) = spare {
                        state.return_frame(frame);
                    }
                    return Ok(());
                }
                // A reader still holds a reference to the old frame, so the page needs another frame.
                if let Some(mut frame) = spare.take().or_else(|| state.take_frame()) {
                    copy(&mut frame, bytes);
                    state.replace_frame(slot, frame);
                    return Ok(());
                }
                drop(state);
                spare = Some(Incoming::new(inner, id).frame(None, None)?);
                continue;
            }
            // Other threads may wait for the spare frame, so this thread must not hold the frame while it waits.
            if let Some(frame) = spare.take() {
                state.return_frame(frame);
            }
            let (slot, created) = match lookup {
                Lookup::Compressed(slot) => {
                    state.begin_overwrite(slot);
                    (slot, false)
                }
                Lookup::Absent => match state.begin(id) {
                    Some(slot) => (slot, true),
                    None if state.working() => {
                        state.wait();
                        continue;
                    }
                    None => return Err(PoolError::NoRoom { page: id }),
                },
                Lookup::InFlight | Lookup::Raw(_) => {
                    state.wait();
                    continue;
                }
            };
            let frame = state.take_frame();
            break (Flight::new(shard, slot, frame), created);
        };
        if flight.frame.is_none() {
            flight.frame = Some(Incoming::new(inner, id).frame(None, None)?);
        }
        if let Some(frame) = &mut flight.frame {
            copy(frame, bytes);
        }
        flight.land(true, |counts| counts.created += u64::from(created));
        Ok(())
    }

    /// Writes back every page that is currently dirty. Pages stay cached. After a failure, the flush continues with the
    /// other pages and finally returns the first failure; failed pages stay dirty for the next flush.
    pub fn flush(&self) -> PoolResult<(), L> {
        let mut first_error = None;
        for shard in &self.inner.shards {
            let mut from = 0;
            loop {
                let mut state = shard.lock();
                let Some((slot, job)) = state.next_dirty(from) else { break };
                let Some(job) = job else {
                    // Another thread is storing this page. After waiting, checks the page again, because storing may
                    // have failed.
                    state.wait();
                    continue;
                };
                drop(state);
                let page = job.id;
                let job = cancel_on_drop(shard, [job], false);
                let stored = self.inner.loader.store(page, &job[0].page);
                let mut state = shard.lock();
                let [job] = ScopeGuard::into_inner(job);
                state.finish_store(job, stored.is_ok());
                if let Err(source) = stored {
                    first_error.get_or_insert(PoolError::Store { page, source });
                }
                from = slot + 1;
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Returns the counts of page transitions so far.
    pub fn transitions(&self) -> Transitions {
        let mut sum = Transitions::default();
        for shard in &self.inner.shards {
            let mut counts = shard.read().counts;
            counts.raw_hits += shard.raw_hits.load(Relaxed);
            sum += counts;
        }
        sum.codec_panics = self.inner.contexts.codec_panics.load(Relaxed);
        sum
    }

    /// Returns the memory usage of the cache.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for shard in &self.inner.shards {
            sum += shard.read().usage();
        }
        sum.budget_bytes = self.inner.options.budget.0;
        sum.scratch_bytes = (self.inner.arena_bytes + self.inner.contexts.bytes()) as u64;
        sum
    }

    /// Returns the options with which the cache was created.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Returns the backing storage.
    pub fn loader(&self) -> &L {
        &self.inner.loader
    }

    #[cfg(test)]
    pub(crate) fn shards(&self) -> &[SharedShard] {
        &self.inner.shards
    }
}

impl<L: Loader> Drop for Pool<L> {
    fn drop(&mut self) {
        self.inner.worker_queue.stop();
        for worker in self.workers.drain(..) {
            // The result of the join is ignored, because the worker has already caught and counted its own panics.
            let _ = worker.join();
        }
        if !std::thread::panicking() {
            let _ = self.flush();
        }
    }
}

/// Copies `bytes` to a frame, which must have no other reference.
fn copy(frame: &mut Frame, bytes: &[u8]) {
    if let Some(page) = Arc::get_mut(frame) {
        page.copy_from_slice(bytes);
    }
}
