//! Background workers: they take victims of shards that run short of frames and compress them in bulk.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use scopeguard::ScopeGuard;

use crate::demotion::{Made, done, in_hand};
use crate::pool::{Inner, Loader};

/// Serves calls until the cache is dropped, with room for a batch of pages. A panic ends one batch, is counted, and
/// nothing else.
pub fn run<L: Loader>(inner: &Arc<Inner<L>>, mut arena: Vec<u8>) {
    while let Some(index) = inner.calls.next() {
        let result = catch_unwind(AssertUnwindSafe(|| serve(inner, index, &mut arena)));
        let mut state = inner.shards[index].hold_as_worker();
        state.called = false;
        state.counts.worker_panics += u64::from(result.is_err());
    }
}

/// Compresses victims of a shard until it has frames enough or no more pages may leave.
fn serve<L: Loader>(inner: &Inner<L>, index: usize, arena: &mut [u8]) {
    let Ok(mut kit) = inner.kits.take() else { return };
    let shard = &inner.shards[index];
    let mut clean_only = false;
    let batch = inner.options.batch();
    loop {
        let mut jobs = Vec::with_capacity(batch);
        {
            let mut state = shard.hold_as_worker();
            for _ in 0..batch.min(state.frames_wanted()) {
                jobs.extend(state.begin_demotion(clean_only));
            }
        }
        if jobs.is_empty() {
            return;
        }
        let jobs = in_hand(shard, jobs, true);
        let outs = arena.chunks_mut(inner.options.page_bytes as usize);
        let made: Vec<_> = jobs
            .iter()
            .zip(outs)
            .map(|(job, out)| (kit.make(&inner.loader, job, inner.keeps_incompressible(), out), &*out))
            .collect();
        let done: Vec<_> = made.iter().map(|(made, out)| done(made, out)).collect();
        clean_only |= made.iter().any(|(made, _)| matches!(made, Made::Refused(_)));
        let mut state = shard.hold_as_worker();
        state.counts.demoted_by_workers += done.len() as u64;
        for (job, done) in ScopeGuard::into_inner(jobs).into_iter().zip(done) {
            state.finish(job, done);
        }
    }
}
