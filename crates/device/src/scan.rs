//! All spare areas of a drive read, on all processors: how a mount without a log begins.
//!
//! Processors take runs of blocks in turn. The page that was programmed last in a block may be torn, so its checksum is
//! compared, unless a page that was programmed later tells that all before it was safe. Such pages lie far from each
//! other, so they are asked for some time before they are needed.

use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use ssdlab_core::{BlockId, Ppn};
use ssdlab_nand::{Geometry, Oob};

use crate::backend::{Backend, Fault};
use crate::mount::{MountReport, Spoiled, is_whole};
use crate::spare::{Content, SPARE_BYTES, Spare, SpareBytes, decode_block};
use crate::table::{PageTable, Parts, Written};

/// Blocks that a processor takes at a time.
const RUN: u32 = 64;
/// Pages that are asked for before the first of them is needed.
const AHEAD: usize = 32;

/// A page of which the spare area is sound.
type Page = (Ppn, Spare, SpareBytes);

/// What one processor has read.
#[derive(Default)]
struct Share {
    parts: Parts,
    written: Vec<(BlockId, Written)>,
    /// Above the sequence number of every page.
    sequence: u64,
    /// Of each block the page that was programmed last.
    latest: Vec<Page>,
    safe: Safe,
}

/// Sequence numbers of pages that cannot be torn.
#[derive(Default)]
struct Safe(Vec<Range<u64>>);

impl Safe {
    fn add(&mut self, more: Range<u64>) {
        match self.0.last_mut() {
            Some(last) if more.start <= last.end && last.start <= more.end => {
                *last = last.start.min(more.start)..last.end.max(more.end);
            }
            _ => self.0.push(more),
        }
    }

    /// The same in ascending order, none touching another.
    fn merged(mut self) -> Self {
        self.0.sort_unstable_by_key(|range| range.start);
        let mut merged = Self::default();
        self.0.into_iter().for_each(|range| merged.add(range));
        merged
    }

    /// Whether a number is among those that were merged.
    fn contains(&self, sequence: u64) -> bool {
        let above = self.0.partition_point(|range| range.start <= sequence);
        above > 0 && sequence < self.0[above - 1].end
    }
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
    let (mut latest, mut safe) = (Vec::new(), Safe::default());
    for share in shares {
        let share = share?;
        table.take_up(share.parts, share.written, share.sequence);
        latest.extend(share.latest);
        safe.0.extend(share.safe.0);
    }
    let safe = safe.merged();
    latest.retain(|(_, spare, _)| !safe.contains(spare.oob.sequence));
    latest.sort_unstable_by_key(|&(ppn, ..)| ppn);
    report.pages_verified += latest.len() as u64;
    Ok((table, damaged(backend, &latest)?))
}

/// Those of some pages whose data is damaged.
fn damaged<B: Backend>(backend: &B, pages: &[Page]) -> Result<Vec<Spoiled>, Fault> {
    let mut page = vec![0; backend.geometry().page_bytes as usize];
    let mut spoiled = Vec::new();
    pages.iter().take(AHEAD).for_each(|&(ppn, ..)| backend.fetch(ppn));
    for (at, &(ppn, Spare { oob, version, .. }, ref spare)) in pages.iter().enumerate() {
        if let Some(&(ahead, ..)) = pages.get(at + AHEAD) {
            backend.fetch(ahead);
        }
        if !is_whole(backend, ppn, spare, &mut page)? {
            spoiled.push(Spoiled { ppn, lpn: oob.lpn, sequence: oob.sequence, version, from: 0 });
        }
    }
    Ok(spoiled)
}

impl Share {
    /// Reads runs of blocks until there are no more.
    fn read<B: Backend>(backend: &B, next: &AtomicU32) -> Result<Self, Fault> {
        let Geometry { pages_per_block, blocks, .. } = *backend.geometry();
        let mut share = Self::default();
        let mut spares = vec![0; pages_per_block as usize * SPARE_BYTES];
        let mut contents = Vec::with_capacity(pages_per_block as usize);
        let take = || Some(next.fetch_add(RUN, Ordering::Relaxed)).filter(|&first| first < blocks);
        let runs = iter::from_fn(|| take().map(|first| first..(first + RUN).min(blocks)));
        for block in runs.flatten().map(BlockId) {
            backend.read_spares(block, &mut spares)?;
            decode_block(block, &spares, &mut contents);
            share.written.push((block, share.parts.add(&contents, true)));
            let pages = (block.0 * pages_per_block..).map(Ppn).zip(&contents).zip(spares.as_chunks().0);
            let programmed = pages.filter_map(|((ppn, content), bytes)| match *content {
                Content::Programmed(spare) => Some((ppn, spare, *bytes)),
                Content::Erased | Content::Damaged => None,
            });
            let latest = programmed
                .inspect(|(_, Spare { oob: Oob { sequence, .. }, safe, .. }, _)| {
                    if *safe > 0 {
                        share.safe.add(sequence.saturating_sub(*safe)..*sequence);
                    }
                })
                .max_by_key(|(_, spare, _)| spare.oob.sequence);
            if let Some(latest) = latest {
                share.sequence = share.sequence.max(latest.1.oob.sequence + 1);
                share.latest.push(latest);
            }
        }
        Ok(share)
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::{Lpn, Rng};
    use ssdlab_nand::{Found, Parallelism, ProgramOrder, Role, Scan};

    use super::*;
    use crate::backend::MemoryBackend;

    const PAGES: u32 = 4;

    /// Flash whose blocks were written in the course of some mounts, each ended by a loss of power that may have torn
    /// the last page; those pages, and how many of the latest pages of blocks no later sync tells of.
    fn flash(blocks: u32, rng: &mut Rng) -> (MemoryBackend, Vec<Ppn>, u64) {
        let (order, parallelism) = (ProgramOrder::Ascending, Parallelism::SINGLE);
        let geometry = Geometry { page_bytes: 16, pages_per_block: PAGES, blocks, order, parallelism };
        let (mut backend, mut torn, mut untold) = (MemoryBackend::new(geometry), Vec::new(), 0);
        let (mut next, mut sequence) = (0, 0);
        while next < blocks {
            let (begun, first) = (sequence, next);
            next = blocks.min(first + 1 + rng.below(100) as u32);
            let (mut latest, mut synced) = (vec![None; (next - first) as usize], begun);
            let mut used = vec![0; latest.len()];
            let programs = rng.below(u64::from(PAGES * (next - first)) + 1);
            for at in 0..programs {
                let block = rng.below(latest.len() as u64) as usize;
                if used[block] == PAGES {
                    continue;
                }
                let ppn = Ppn((first + block as u32) * PAGES + used[block]);
                used[block] += 1;
                let oob = Oob { lpn: Lpn(ppn.0), sequence, role: Role::Data };
                let safe = if rng.below(40) == 0 { sequence - begun } else { 0 };
                if safe > 0 {
                    synced = sequence;
                }
                let is_torn = at + 1 == programs && rng.below(2) == 0;
                let mut page = [7; 16];
                let spare = Spare { oob, version: sequence, lost: false, safe }.encode(ppn, Some(&page));
                page[0] ^= u8::from(is_torn);
                backend.program(ppn, &page, &spare).expect("memory does not fail");
                torn.extend(is_torn.then_some(ppn));
                latest[block] = Some(sequence);
                sequence += 1 + rng.below(3);
            }
            untold += latest.into_iter().flatten().filter(|&latest| latest >= synced).count() as u64;
            sequence += 1;
        }
        torn.sort_unstable();
        (backend, torn, untold)
    }

    /// Goal: all blocks are read, once, by however many; of each the latest page is compared if it may be torn. Method:
    /// flash of no more blocks than one takes and of many more; what is in the table is what was programmed, and what
    /// was found damaged is what was torn.
    #[test]
    fn the_number_of_processors_makes_no_difference() {
        let mut rng = Rng::named(1, "scan");
        for blocks in [1, RUN, RUN + 1, 9 * RUN + 5] {
            let (backend, torn, untold) = flash(blocks, &mut rng);
            for processors in 1..=5 {
                let mut report = MountReport::default();
                let (table, spoiled) = scan(&backend, processors, &mut report).expect("memory does not fail");
                assert_eq!(spoiled.iter().map(|page| page.ppn).collect::<Vec<_>>(), torn);
                let mut spares = [0; PAGES as usize * SPARE_BYTES];
                let (mut contents, mut latest) = (Vec::new(), 0);
                for block in (0..blocks).map(BlockId) {
                    backend.read_spares(block, &mut spares).expect("memory does not fail");
                    decode_block(block, &spares, &mut contents);
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
                assert_eq!((blocks_scanned, spares_read, pages_verified), (all, all * u64::from(PAGES), untold));
            }
        }
    }
}
