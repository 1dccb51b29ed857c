//! Finds a frame for a new page: demotes victims of the uncompressed pool until a frame is free.

use scopeguard::ScopeGuard;

use crate::demotion::{Borrowed, cancel_on_drop};
use crate::flight::{ShardGuard, SharedShard};
use crate::inner::{Inner, PoolResult};
use crate::loader::Loader;
use crate::shard::{Frame, Job, JobResult, Shard};
use crate::{PageId, PoolError};

/// A page that a thread fetches or writes, and that needs a free frame.
pub struct Incoming<'a, L: Loader> {
    pub inner: &'a Inner<L>,
    pub shard: &'a SharedShard,
    pub id: PageId,
    /// Error from storing a victim. After the first error, only clean victims are chosen.
    store_error: Option<PoolError<L::Error>>,
}

impl<'a, L: Loader> Incoming<'a, L> {
    pub fn new(inner: &'a Inner<L>, id: PageId) -> Self {
        Self { inner, shard: inner.shard(id), id, store_error: None }
    }

    /// Writes back and compresses `victim` without the lock, then moves it to the compressed pool under the lock. Calls
    /// `first` with the buffer of the incoming page immediately before the move. Returns the lock guard.
    pub fn demote(
        &mut self,
        victim: Job,
        context: &mut Borrowed<'_>,
        first: impl FnOnce(&mut Shard, &mut [u8]),
    ) -> ShardGuard<'a> {
        let page = victim.id;
        let victim = cancel_on_drop(self.shard, [victim], true);
        let result = context.demote_one(&self.inner.loader, &victim[0]);
        let result = result.unwrap_or_else(|source| {
            self.store_error = Some(PoolError::Store { page, source });
            JobResult::StoreFailed
        });
        let (incoming, outgoing) = context.buffers();
        let mut state = self.shard.lock();
        first(&mut state, incoming);
        state.counts.demoted_by_callers += 1;
        let [victim] = ScopeGuard::into_inner(victim);
        state.finish(victim, result, outgoing);
        state
    }

    /// Returns a free frame. Demotes `victim` first if it is given, then other victims. A caller that passes a victim
    /// must also pass a codec context. Fails if no page is evictable, or if dirty victims could not be written back.
    pub fn frame(mut self, mut victim: Option<Job>, context: Option<&mut Borrowed<'a>>) -> PoolResult<Frame, L> {
        let mut new_context;
        let context = match context {
            Some(context) => context,
            None => {
                new_context = self.inner.contexts.take().map_err(PoolError::Codec)?;
                &mut new_context
            }
        };
        loop {
            let mut state = match victim.take() {
                Some(victim) => self.demote(victim, context, |_, _| ()),
                None => self.shard.lock(),
            };
            if let Some(frame) = state.take_frame() {
                return Ok(frame);
            }
            victim = state.begin_demotion(self.store_error.is_some());
            if victim.is_none() {
                if !state.working() {
                    return Err(self.store_error.unwrap_or(PoolError::NoRoom { page: self.id }));
                }
                state.wait();
            }
        }
    }
}
