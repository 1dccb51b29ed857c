//! All spare areas of a drive read, on all processors: how a mount without a log begins.
//!
//! Processors take runs of blocks in turn. The page that was programmed last in a block may be torn, so its checksum is
//! compared; it lies far from the others, so it is asked for some blocks before it is needed.

use std::collections::VecDeque;
use std::iter;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use ssdlab_core::{BlockId, Ppn};
use ssdlab_nand::Geometry;

use crate::backend::{Backend, Fault};
use crate::mount::{MountReport, Spoiled, is_whole, sequence_of};
use crate::spare::{Content, SPARE_BYTES, Spare, SpareBytes, decode_block};
use crate::table::{PageTable, Parts, Written};

/// Blocks that a processor takes at a time.
const RUN: u32 = 64;
/// Pages that are asked for before the first of them is needed.
const AHEAD: usize = 32;

/// What one processor has read.
#[derive(Default)]
struct Share {
    parts: Parts,
    written: Vec<(BlockId, Written)>,
    /// Above the sequence number of every page.
    sequence: u64,
    verified: u64,
    spoiled: Vec<Spoiled>,
}

/// What all spare areas say, every block closed, and the pages that were found damaged, which the table holds as sound.
pub(crate) fn scan<B: Backend>(
    backend: &B,
    processors: usize,
    report: &mut MountReport,
) -> Result<(PageTable, Vec<Spoiled>), Fault> {
    let geometry = *backend.geometry();
    let mut table = PageTable::erased(&geometry);
    for block in (0..geometry.blocks).map(BlockId) {
        table.bad[block.index()] = backend.is_bad(block);
    }
    report.blocks_scanned += u64::from(geometry.blocks);
    report.spares_read += geometry.pages();
    let runs = geometry.blocks.div_ceil(RUN) as usize;
    let processors = if backend.reads_at_once() { processors } else { 1 };
    let next = AtomicU32::new(0);
    let shares: Vec<Result<Share, Fault>> = thread::scope(|scope| {
        let read = || Share::read(backend, &next);
        // A thread that cannot be had is not needed.
        let others = (1..processors.min(runs)).filter_map(|_| thread::Builder::new().spawn_scoped(scope, read).ok());
        let others: Vec<_> = others.collect();
        let own = read();
        let joined = others.into_iter().map(|other| other.join().expect("it does not panic"));
        iter::once(own).chain(joined).collect()
    });
    let mut spoiled = Vec::new();
    for share in shares {
        let share = share?;
        table.take_up(share.parts, share.written, share.sequence);
        report.pages_verified += share.verified;
        spoiled.extend(share.spoiled);
    }
    spoiled.sort_by_key(|page| page.ppn);
    Ok((table, spoiled))
}

impl Share {
    /// Reads runs of blocks until there are no more.
    fn read<B: Backend>(backend: &B, next: &AtomicU32) -> Result<Self, Fault> {
        let Geometry { pages_per_block, blocks, page_bytes, .. } = *backend.geometry();
        let mut share = Self::default();
        let mut spares = vec![0; pages_per_block as usize * SPARE_BYTES];
        let (mut contents, mut page) = (Vec::with_capacity(pages_per_block as usize), vec![0; page_bytes as usize]);
        let mut unverified = VecDeque::with_capacity(AHEAD);
        let take = || Some(next.fetch_add(RUN, Ordering::Relaxed)).filter(|&first| first < blocks);
        let runs = iter::from_fn(|| take().map(|first| first..(first + RUN).min(blocks)));
        for block in runs.flatten().map(BlockId) {
            backend.read_spares(block, &mut spares)?;
            decode_block(block, &spares, &mut contents);
            share.written.push((block, share.parts.add(&contents, true)));
            let latest = contents.iter().filter_map(sequence_of).max();
            share.sequence = share.sequence.max(latest.map_or(0, |sequence| sequence + 1));
            let pages = (block.0 * pages_per_block..).map(Ppn).zip(&contents).zip(spares.as_chunks().0);
            for ((ppn, content), spare) in pages {
                let Content::Programmed(found) = content else { continue };
                if Some(found.oob.sequence) != latest {
                    continue;
                }
                if unverified.len() == AHEAD
                    && let Some(oldest) = unverified.pop_front()
                {
                    share.verify(backend, oldest, &mut page)?;
                }
                backend.fetch(ppn);
                unverified.push_back((ppn, *found, *spare));
            }
        }
        unverified.into_iter().try_for_each(|oldest| share.verify(backend, oldest, &mut page))?;
        Ok(share)
    }

    fn verify<B: Backend>(
        &mut self,
        backend: &B,
        (ppn, Spare { oob, version, .. }, spare): (Ppn, Spare, SpareBytes),
        page: &mut [u8],
    ) -> Result<(), Fault> {
        self.verified += 1;
        if !is_whole(backend, ppn, &spare, page)? {
            self.spoiled.push(Spoiled { ppn, lpn: oob.lpn, sequence: oob.sequence, version, from: 0 });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::{Lpn, Rng};
    use ssdlab_nand::{Found, Oob, Parallelism, ProgramOrder, Role, Scan};

    use super::*;
    use crate::backend::MemoryBackend;

    const PAGES: u32 = 4;

    /// Flash of `blocks` blocks that are written in part, some of whose latest pages were torn, and those pages.
    fn flash(blocks: u32, rng: &mut Rng) -> (MemoryBackend, Vec<Ppn>) {
        let (order, parallelism) = (ProgramOrder::Ascending, Parallelism::SINGLE);
        let geometry = Geometry { page_bytes: 16, pages_per_block: PAGES, blocks, order, parallelism };
        let (mut backend, mut torn) = (MemoryBackend::new(geometry), Vec::new());
        for block in 0..blocks {
            let mut latest = None;
            for at in 0..rng.below(u64::from(PAGES) + 1) {
                let (ppn, sequence) = (Ppn(block * PAGES + at as u32), at + rng.below(10_000) * u64::from(PAGES));
                let oob = Oob { lpn: Lpn(ppn.0), sequence, role: Role::Data };
                let (mut page, is_torn) = ([7; 16], rng.below(3) == 0);
                let spare = Spare { oob, version: at, lost: false }.encode(ppn, Some(&page));
                page[0] ^= u8::from(is_torn);
                backend.program(ppn, &page, &spare).expect("memory does not fail");
                latest = latest.max(Some((sequence, ppn, is_torn)));
            }
            torn.extend(latest.filter(|&(.., is_torn)| is_torn).map(|(_, ppn, _)| ppn));
        }
        (backend, torn)
    }

    /// Goal: all blocks are read, once, by however many; of each the latest page is compared. Method: flash of no more
    /// blocks than one takes and of many more; what is in the table is what was programmed, and what was found damaged
    /// is what was torn.
    #[test]
    fn the_number_of_processors_makes_no_difference() {
        let mut rng = Rng::named(1, "scan");
        for blocks in [1, RUN, RUN + 1, 9 * RUN + 5] {
            let (backend, torn) = flash(blocks, &mut rng);
            for processors in 1..=5 {
                let mut report = MountReport::default();
                let (table, spoiled) = scan(&backend, processors, &mut report).expect("memory does not fail");
                assert_eq!(spoiled.iter().map(|page| page.ppn).collect::<Vec<_>>(), torn);
                let mut spares = [0; PAGES as usize * SPARE_BYTES];
                let (mut contents, mut latest, mut written) = (Vec::new(), 0, 0);
                for block in (0..blocks).map(BlockId) {
                    backend.read_spares(block, &mut spares).expect("memory does not fail");
                    decode_block(block, &spares, &mut contents);
                    written += u64::from(contents[0] != Content::Erased);
                    for (at, content) in (0..).zip(&contents) {
                        let found = table.page(Ppn(block.0 * PAGES + at));
                        match *content {
                            Content::Programmed(Spare { oob, version, .. }) => {
                                latest = latest.max(oob.sequence + 1);
                                assert_eq!(found, Found::Programmed { oob, version, outdated: false });
                            }
                            _ => assert_eq!(found, Found::Unreadable, "the block is closed"),
                        }
                    }
                }
                assert_eq!(table.sequence, latest);
                let MountReport { blocks_scanned, spares_read, pages_verified, .. } = report;
                let all = u64::from(blocks);
                assert_eq!((blocks_scanned, spares_read, pages_verified), (all, all * u64::from(PAGES), written));
            }
        }
    }
}
