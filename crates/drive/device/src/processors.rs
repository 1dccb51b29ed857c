//! Distributes work on blocks over all processors.

use std::iter;
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use ssdlab_core::BlockId;

use crate::backend::Backend;

/// Number of blocks that a thread takes at a time.
const RUN: u32 = 64;

/// Returns the number of processors to use for work on `blocks` blocks.
pub(crate) fn processors(blocks: u32) -> usize {
    // Asking the system for the number of processors takes longer than scanning a few blocks.
    if blocks <= RUN { 1 } else { thread::available_parallelism().map_or(1, NonZero::get) }
}

/// Returns the number of processors to use for reading `blocks` blocks of the flash.
pub(crate) fn readers(flash: &dyn Backend, blocks: u32) -> usize {
    if flash.reads_at_once() { processors(blocks) } else { 1 }
}

/// Runs `work` on `processors` threads. Each thread takes blocks until none are left. Returns the results of the
/// threads.
pub(crate) fn share<T: Send>(
    processors: usize,
    blocks: u32,
    work: impl Fn(&mut dyn Iterator<Item = BlockId>) -> T + Sync,
) -> Vec<T> {
    let next = AtomicU32::new(0);
    let take = || Some(next.fetch_add(RUN, Ordering::Relaxed)).filter(|&first| first < blocks);
    let run = || work(&mut iter::from_fn(take).flat_map(|first| first..(first + RUN).min(blocks)).map(BlockId));
    thread::scope(|scope| {
        let others = 1..processors.min(blocks.div_ceil(RUN) as usize);
        // If a thread cannot be started, the other threads do its work.
        let others: Vec<_> = others.filter_map(|_| thread::Builder::new().spawn_scoped(scope, run).ok()).collect();
        let own = run();
        iter::once(own)
            .chain(others.into_iter().map(|other| other.join().expect("worker threads do not panic")))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_taken_once() {
        for blocks in [0, 1, RUN, RUN + 1, 9 * RUN + 5] {
            for processors in 1..=5 {
                let taken = share(processors, blocks, |own| own.collect::<Vec<_>>());
                let mut taken = taken.concat();
                taken.sort_unstable();
                assert_eq!(taken, (0..blocks).map(BlockId).collect::<Vec<_>>());
            }
        }
    }
}
