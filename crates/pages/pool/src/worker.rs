//! Background workers: compress victims in bulk for shards that are short of frames.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use scopeguard::ScopeGuard;

use crate::demotion::cancel_on_drop;
use crate::inner::Inner;
use crate::loader::Loader;
use crate::shard::JobResult;

/// Body of a worker thread: compresses victims of queued shards until the cache is dropped. `arena` is the buffer for a
/// batch of compressed pages. A panic is counted and ends only the current batch.
pub fn run<L: Loader>(inner: &Arc<Inner<L>>, mut arena: Vec<u8>) {
    while let Some(index) = inner.worker_queue.next() {
        let result = catch_unwind(AssertUnwindSafe(|| serve(inner, index, &mut arena)));
        let mut state = inner.shards[index].lock_as_worker();
        state.queued = false;
        state.counts.worker_panics += u64::from(result.is_err());
    }
}

/// Compresses victims of a shard until it has enough frames or no page is evictable.
fn serve<L: Loader>(inner: &Inner<L>, index: usize, arena: &mut [u8]) {
    let Ok(mut context) = inner.contexts.take() else { return };
    let shard = &inner.shards[index];
    let mut clean_only = false;
    let batch = inner.options.batch();
    loop {
        let mut jobs = Vec::with_capacity(batch);
        {
            let mut state = shard.lock_as_worker();
            for _ in 0..batch.min(state.frames_wanted()) {
                jobs.extend(state.begin_demotion(clean_only));
            }
        }
        if jobs.is_empty() {
            return;
        }
        let jobs = cancel_on_drop(shard, jobs, true);
        let page_bytes = inner.options.page_bytes as usize;
        let mut results = Vec::with_capacity(jobs.len());
        for (job, out) in jobs.iter().zip(arena.chunks_mut(page_bytes)) {
            results.push(context.demote(&inner.loader, job, out).unwrap_or(JobResult::StoreFailed));
        }
        clean_only |= results.contains(&JobResult::StoreFailed);
        let mut state = shard.lock_as_worker();
        state.counts.demoted_by_workers += results.len() as u64;
        for ((job, result), out) in ScopeGuard::into_inner(jobs).into_iter().zip(results).zip(arena.chunks(page_bytes))
        {
            state.finish(job, result, out);
        }
    }
}
