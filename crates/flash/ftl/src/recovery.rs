//! Survey after a power loss, common to all FTLs: the newest copy of each page, and the state of each block.
//!
//! An FTL emits operations in dependency order, so an interrupted operation can be undone or completed:
//!
//! - A block is erased once all its valid pages have been copied. If power fails before the erase, the copies equal
//!   their originals, so the block with the copies can be discarded without loss ([`Survey::without`]).
//! - If power fails during the erase, the remaining pages of the block are outdated or equal to copies elsewhere.
//! - A page being programmed for the host is not acknowledged. It may or may not be in the flash afterwards.
//!
//! If the last page of a partly written block cannot be read, its program was interrupted or failed. Recovery treats
//! both alike, and writes no more pages to the block. If its later erase fails too, the block becomes bad.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ssdlab_core::entry::SharedEntry;
use ssdlab_core::mem::{prefetch, shared};
use ssdlab_core::{BlockId, Entry, PageBits, Ppn};
use ssdlab_nand::{Found, Role, Scan, SpareArea, Trimmed};

/// Map entry for "no page": the flash page was not programmed, or the logical page has no copy.
pub(crate) const NONE: u32 = u32::MAX;
/// Entry of a flash page that cannot be read, and cannot be programmed before the next erase.
pub(crate) const SPOILED: u32 = u32::MAX - 1;

/// True if a flash page can be read. `held` is the entry of the page in `p2l`, the map from physical to logical pages.
pub(crate) fn is_readable(held: u32) -> bool {
    held != NONE && held != SPOILED
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockSurvey {
    pub block: BlockId,
    pub bad: bool,
    pub erases: u32,
    /// Number of the page after the last programmed page of the block.
    pub next: u32,
    /// True if the last page before `next` can be read; writing to the block may then continue.
    pub sound: bool,
    pub valid: u32,
    /// Role of the block's first page; `Data` if no page can be read.
    pub role: Role,
    /// Sequence number of the first page of the block.
    pub opened: u64,
    /// Highest sequence number of the pages in the block.
    pub written: u64,
    /// Lowest and highest version of the pages in the block; the lowest exceeds the highest if the block has no pages.
    versions: [u64; 2],
    /// Number of pages at the start of the block that are copies of other flash pages, or padding.
    pub copies: u32,
}

impl BlockSurvey {
    /// Returns the state of a block from the spare areas of its pages; no page counts as valid yet.
    fn of(block: BlockId, pages: &[Found]) -> Self {
        let programmed = || {
            pages.iter().filter_map(|page| match page {
                Found::Programmed { oob, version, .. } => Some((oob, *version)),
                Found::Erased | Found::Unreadable => None,
            })
        };
        let last = pages.iter().rposition(|page| !matches!(page, Found::Erased));
        let is_padding = |oob: &SpareArea| oob.role == Role::Padding;
        let first = programmed().find(|(oob, _)| !is_padding(oob));
        let (role, opened) = first.map_or((Role::Data, 0), |(oob, _)| (oob.role, oob.sequence));
        let (mut written, mut versions) = (0, [u64::MAX, 0]);
        for (oob, version) in programmed() {
            written = written.max(oob.sequence);
            versions = [versions[0].min(version), versions[1].max(version)];
        }
        Self {
            block,
            bad: false,
            erases: 0,
            next: last.map_or(0, |last| last as u32 + 1),
            sound: last.is_none_or(|last| !matches!(pages[last], Found::Unreadable)),
            valid: 0,
            role,
            opened,
            written,
            versions,
            copies: programmed().take_while(|&(oob, version)| version != oob.sequence || is_padding(oob)).count()
                as u32,
        }
    }

    /// True if the block can be written, now or after an erase: it is not bad and has no valid page.
    pub const fn is_empty(&self) -> bool {
        !self.bad && self.valid == 0
    }
}

/// State of all blocks, as found by a scan of the flash.
pub struct Survey {
    pub(crate) blocks: Vec<BlockSurvey>,
    /// One bit per flash page, set if the page holds the newest copy of a logical page.
    pub(crate) valid: PageBits,
    /// Smallest number above the sequence numbers of all programs and trims.
    pub(crate) sequence: u64,
}

/// Number of pages between the current page and the page whose map entry is prefetched.
const AHEAD: usize = 24;

/// The flat maps of an FTL, which a survey fills.
pub(crate) struct Maps<'a> {
    /// Flash page of the newest copy of each logical page, then of each map page.
    pub l2p: &'a mut [Entry],
    /// Logical page that each flash page holds.
    pub p2l: &'a mut [Entry],
    pub logical_pages: u32,
    pub pages_per_block: u32,
}

/// Maps of an FTL, filled by several threads with the newest copy of each page, in any order.
struct Filled<'a> {
    l2p: &'a [SharedEntry],
    p2l: &'a [SharedEntry],
    /// Lowest and highest version in each block; until the block is scanned, the range covers all versions. They
    /// usually suffice to find out which of two copies is newer, so that the other copy need not be read.
    versions: Vec<[AtomicU64; 2]>,
    /// One bit per flash page, set for the newest copy of a logical page. Threads toggle bits: a thread that finds a
    /// newer copy may clear the old copy's bit before another thread has set it.
    valid: Vec<AtomicU64>,
    logical_pages: u32,
    pages_per_block: u32,
    scan: &'a dyn Scan,
}

impl Survey {
    /// Finds the newest copy of each logical page by the rule of [`SpareArea`], ignoring the blocks in `without`,
    /// except for their sequence numbers. The maps must be empty.
    pub(crate) fn new(
        maps: &mut Maps<'_>,
        scan: &dyn Scan,
        trims: &[Trimmed],
        without: &BTreeSet<BlockId>,
    ) -> Result<Self, String> {
        let pages = maps.p2l.len() as u32;
        let blocks = pages / maps.pages_per_block;
        let filled = Filled {
            l2p: shared(maps.l2p),
            p2l: shared(maps.p2l),
            versions: (0..blocks).map(|_| [0, u64::MAX].map(AtomicU64::new)).collect(),
            valid: (0..pages.div_ceil(u64::BITS)).map(|_| AtomicU64::new(0)).collect(),
            logical_pages: maps.logical_pages,
            pages_per_block: maps.pages_per_block,
            scan,
        };
        let erased = vec![Found::Erased; maps.pages_per_block as usize];
        let scanned = Mutex::new(Vec::with_capacity(blocks as usize));
        scan.blocks(blocks, maps.pages_per_block, &|block, pages| {
            let bad = scan.is_bad(block);
            let pages = if bad { &erased } else { pages };
            let state = BlockSurvey { bad, erases: scan.erases(block), ..BlockSurvey::of(block, pages) };
            let has_a_page = state.versions[0] <= state.versions[1];
            let above = if has_a_page { state.written + 1 } else { 0 };
            let ignored = |outdated: bool| outdated && without.is_empty() || without.contains(&block);
            let bounds = filled.versions[block.index()].iter().zip(state.versions);
            bounds.for_each(|(bound, version)| bound.store(version, Ordering::Relaxed));
            let result = filled.add(block, pages, ignored).map(|()| state);
            scanned.lock().unwrap_or_else(PoisonError::into_inner).push((block, above, result));
        });
        let mut scanned = scanned.into_inner().unwrap_or_else(PoisonError::into_inner);
        scanned.sort_unstable_by_key(|(block, ..)| *block);
        let (states, valid) = (Vec::with_capacity(blocks as usize), PageBits::new(pages));
        let mut survey = Self { blocks: states, valid, sequence: 0 };
        for (first, valid) in (0..).step_by(u64::BITS as usize).zip(filled.valid) {
            survey.valid.set_window(first, u64::BITS, valid.into_inner());
        }
        for (block, above, state) in scanned {
            let first = block.0 * maps.pages_per_block;
            let valid = survey.valid.count(first..first + maps.pages_per_block);
            survey.sequence = survey.sequence.max(above);
            survey.blocks.push(BlockSurvey { valid, ..state? });
        }
        for &Trimmed { lpn, count, sequence } in trims {
            survey.sequence = survey.sequence.max(sequence + 1);
            for lpn in lpn.index()..(lpn.index() + count as usize).min(maps.logical_pages as usize) {
                let known = maps.l2p[lpn].page();
                if version(scan, known).is_some_and(|version| version < sequence) {
                    maps.l2p[lpn] = Entry::NONE;
                    survey.valid.clear(known);
                    survey.blocks[(known / maps.pages_per_block) as usize].valid -= 1;
                }
            }
        }
        Ok(survey)
    }

    /// Repeats the survey without `block`, which the caller wants to discard. Keeps the block if it holds the only copy
    /// of a page, with two exceptions. In the target of a merge, the page may be a host page that was being written at
    /// the power loss. In other blocks, the page may be a copy whose original is lost. Such a copy was never durable,
    /// because a computer that loses power may keep later writes but lose earlier ones.
    pub(crate) fn without(
        self,
        block: BlockId,
        of_merge: bool,
        maps: &mut Maps<'_>,
        scan: &dyn Scan,
        trims: &[Trimmed],
        given_up: &mut BTreeSet<BlockId>,
    ) -> Result<Self, String> {
        let before = maps.l2p[..maps.logical_pages as usize].to_vec();
        given_up.insert(block);
        maps.l2p.fill(Entry::NONE);
        let survey = Self::new(maps, scan, trims, given_up)?;
        let version = |entry: &Entry| version(scan, entry.page());
        let lost: Vec<&Entry> = before
            .iter()
            .zip(maps.l2p.iter())
            .filter(|(before, after)| before != after && version(before) != version(after))
            .map(|(before, _)| before)
            .collect();
        if lost.is_empty() {
            return Ok(survey);
        }
        let newest = if of_merge { before.iter().filter_map(version).max() } else { None };
        let may_be_lost = |entry: &Entry| {
            let page = (entry.page() != NONE).then(|| scan.page(Ppn(entry.page())));
            page.as_ref().and_then(recency).is_some_and(|(version, sequence)| {
                of_merge && Some(version) == newest || version != sequence && version >= scan.erased_before()
            })
        };
        if lost.into_iter().all(may_be_lost) {
            return Ok(survey);
        }
        given_up.remove(&block);
        maps.l2p.fill(Entry::NONE);
        Self::new(maps, scan, trims, given_up)
    }

    /// Returns the blocks to erase: the blocks in `given_up`, then the others with contents but without valid pages.
    pub(crate) fn to_erase(&self, given_up: &BTreeSet<BlockId>) -> impl Iterator<Item = BlockId> {
        let outdated = self.blocks.iter().filter(|block| block.is_empty() && block.next > 0).map(|block| block.block);
        given_up.iter().copied().chain(outdated.filter(|block| !given_up.contains(block)))
    }

    /// Returns the block opened last among the `wanted` blocks with valid pages.
    pub(crate) fn opened_last(&self, wanted: impl Fn(&BlockSurvey) -> bool) -> Option<BlockId> {
        let full = self.blocks.iter().filter(|block| !block.bad && block.valid > 0 && wanted(block));
        full.max_by_key(|block| block.opened).map(|block| block.block)
    }
}

/// Returns the index of the word in [`Filled::valid`] that contains the bit of a flash page.
fn word_of(ppn: u32) -> usize {
    (ppn / u64::BITS) as usize
}

fn bit_of(ppn: u32) -> u64 {
    1 << (ppn % u64::BITS)
}

impl Filled<'_> {
    /// Adds the pages of a block. Maps a logical page to its copy in the block unless a newer copy was found before.
    fn add(&self, block: BlockId, pages: &[Found], ignored: impl Fn(bool) -> bool) -> Result<(), String> {
        let first = block.0 * self.pages_per_block;
        // Pages of this block that have a copy in another block, each with the flash page of that copy.
        let mut rivals = Vec::new();
        let words = &self.valid[word_of(first)..=word_of(first + self.pages_per_block - 1)];
        let mut won = vec![0; words.len()];
        let mut win = |ppn: u32| won[word_of(ppn) - word_of(first)] |= bit_of(ppn);
        let fetch = |page: &Found| {
            if let Found::Programmed { oob, .. } = page {
                prefetch(self.l2p, oob.lpn.index());
            }
        };
        pages.iter().take(AHEAD).for_each(fetch);
        // The `p2l` entries have a separate loop, because the atomic replacement of a map entry waits for all earlier
        // stores.
        for ((at, page), held) in pages.iter().enumerate().zip(&self.p2l[first as usize..]) {
            held.set(Entry::of(match page {
                Found::Erased | Found::Programmed { oob: SpareArea { role: Role::Padding, .. }, .. } => NONE,
                Found::Unreadable => SPOILED,
                Found::Programmed { oob: SpareArea { lpn, .. }, .. } if lpn.index() < self.l2p.len() => lpn.0,
                Found::Programmed { oob: SpareArea { lpn, .. }, .. } => {
                    return Err(format!(
                        "page {at} of block {block} holds logical page {lpn}, which is past the end of the drive"
                    ));
                }
            }));
        }
        for ((at, page), ppn) in pages.iter().enumerate().zip(first..) {
            if let Some(page) = pages.get(at + AHEAD) {
                fetch(page);
            }
            if let Found::Programmed { oob: SpareArea { lpn, role, .. }, outdated, .. } = page
                && !ignored(*outdated)
                && *role != Role::Padding
                && lpn.0 < self.logical_pages
            {
                match self.l2p[lpn.index()].replace(Entry::NONE, Entry::of(ppn)) {
                    Ok(()) => win(ppn),
                    Err(known) => rivals.push((page, lpn.index(), ppn, known)),
                }
            }
        }
        let bound = |known: Entry, bound: usize| {
            let block = (known.page() / self.pages_per_block) as usize;
            Some(self.versions[block][bound].load(Ordering::Relaxed))
        };
        rivals.retain(|&(page, .., known)| page.version() >= bound(known, 0));
        let is_newer = |page: &Found, known| page.version() > bound(known, 1);
        // Prefetches all other copies before the comparison. The copies are far apart in memory, and the processor can
        // load many in parallel. In the loop above, the processor would wait for each copy, because an atomic
        // replacement waits for earlier loads.
        rivals.iter().for_each(|(.., known)| prefetch(&self.valid, word_of(known.page())));
        let close = rivals.iter().filter(|&&(page, .., known)| !is_newer(page, known));
        close.for_each(|(.., known)| self.scan.expect(Ppn(known.page())));
        let version = |&(page, .., known): &(&Found, usize, u32, Entry)| {
            if is_newer(page, known) { None } else { self.scan.version(Ppn(known.page())) }
        };
        let versions: Vec<_> = rivals.iter().map(version).collect();
        for (&(page, lpn, ppn, known), version) in rivals.iter().zip(versions) {
            let (mut known, mut version) = (known, version);
            while self.replaces(page, ppn, known, version) {
                match self.l2p[lpn].replace(known, Entry::of(ppn)) {
                    Ok(()) => {
                        win(ppn);
                        self.valid[word_of(known.page())].fetch_xor(bit_of(known.page()), Ordering::Relaxed);
                        break;
                    }
                    Err(newer) => (known, version) = (newer, self.scan.version(Ppn(newer.page()))),
                }
            }
        }
        for (word, won) in words.iter().zip(won) {
            word.fetch_xor(won, Ordering::Relaxed);
        }
        Ok(())
    }

    /// True if the copy `page` is newer than the mapped copy `known`, which has version `version`. If copies are equal,
    /// such as pages that a fault duplicated, the first copy stays mapped.
    fn replaces(&self, page: &Found, ppn: u32, known: Entry, version: Option<u64>) -> bool {
        match page.version().cmp(&version) {
            Less => false,
            Greater => true,
            Equal => {
                let other = self.scan.page(Ppn(known.page()));
                (recency(page), Reverse(ppn)) > (recency(&other), Reverse(known.page()))
            }
        }
    }
}

/// Returns a key that orders copies by age. If there is no copy, returns None, which is the lowest key.
fn recency(page: &Found) -> Option<(u64, u64)> {
    match page {
        Found::Programmed { oob, version, .. } => Some((*version, oob.sequence)),
        Found::Erased | Found::Unreadable => None,
    }
}

/// Returns the version of the copy at `ppn`, if any.
fn version(scan: &dyn Scan, ppn: u32) -> Option<u64> {
    if ppn == NONE { None } else { scan.version(Ppn(ppn)) }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use ssdlab_core::{Lpn, Rng};

    use super::*;

    const PAGES: u32 = 8;
    const LOGICAL: u32 = 40;

    /// Flash whose blocks several threads scan concurrently, beginning with the last block.
    struct AtOnce {
        pages: Vec<Found>,
        threads: u32,
    }

    impl Scan for AtOnce {
        fn page(&self, ppn: Ppn) -> Found {
            self.pages[ppn.index()]
        }

        fn blocks(&self, blocks: u32, pages_per_block: u32, visit: &(dyn Fn(BlockId, &[Found]) + Sync)) {
            thread::scope(|scope| {
                for thread in 0..self.threads {
                    scope.spawn(move || {
                        for block in (thread..blocks).step_by(self.threads as usize).rev().map(BlockId) {
                            visit(block, &self.pages[block.index() * pages_per_block as usize..][..PAGES as usize]);
                        }
                    });
                }
            });
        }

        fn is_bad(&self, block: BlockId) -> bool {
            block.0 % 11 == 10
        }

        fn erases(&self, block: BlockId) -> u32 {
            block.0
        }
    }

    /// Goal: the newest copies are mapped and counted for any order of scanning. Method: scans random copies of a few
    /// pages, some marked as outdated, and compares the maps with a linear search. In blocks written in order, the
    /// version bounds decide which copy is newer. In shuffled blocks, the copies are compared.
    #[test]
    fn the_order_of_blocks_makes_no_difference() {
        let mut rng = Rng::named(1, "surveys");
        for (blocks, is_shuffled) in [(1, true), (12, false), (12, true), (200, false), (200, true)] {
            let numbers = u64::from(blocks * PAGES);
            let mut pages: Vec<Found> = (0..numbers)
                .map(|sequence| {
                    let oob = SpareArea { lpn: Lpn(rng.below(LOGICAL.into()) as u32), sequence, role: Role::Data };
                    match rng.below(9) {
                        0 => Found::Unreadable,
                        1 => Found::Erased,
                        age => Found::Programmed {
                            oob,
                            version: if age < 5 { sequence } else { rng.below(sequence + 1) },
                            outdated: false,
                        },
                    }
                })
                .collect();
            // Shuffled pages make the version bounds of a block too wide to be useful.
            for at in (1..pages.len()).rev().filter(|_| is_shuffled) {
                pages.swap(at, rng.below(at as u64 + 1) as usize);
            }
            let is_bad = |at: usize| at as u32 / PAGES % 11 == 10;
            let newest = |pages: &[Found], lpn: u32| {
                let copies = pages.iter().enumerate().filter(|(at, _)| !is_bad(*at));
                let of = copies.filter(|(_, page)| matches!(page, Found::Programmed { oob, .. } if oob.lpn.0 == lpn));
                of.max_by_key(|(_, page)| recency(page)).map(|(at, _)| at as u32)
            };
            let expected: Vec<Option<u32>> = (0..LOGICAL).map(|lpn| newest(&pages, lpn)).collect();
            for (at, page) in (0..).zip(&mut pages) {
                if let Found::Programmed { oob, outdated, .. } = page {
                    *outdated = expected[oob.lpn.index()] != Some(at) && rng.below(2) == 0;
                }
            }
            for threads in 1..=4 {
                let scan = AtOnce { pages: pages.clone(), threads };
                let (mut l2p, mut p2l) = (vec![Entry::NONE; LOGICAL as usize], vec![Entry::NONE; pages.len()]);
                let mut maps = Maps { l2p: &mut l2p, p2l: &mut p2l, logical_pages: LOGICAL, pages_per_block: PAGES };
                let survey = Survey::new(&mut maps, &scan, &[], &BTreeSet::new()).expect("valid pages");
                let mapped: Vec<_> = l2p.iter().map(|&entry| (entry != Entry::NONE).then(|| entry.page())).collect();
                assert_eq!(mapped, expected);
                for state in &survey.blocks {
                    let own = |copy: &&Option<u32>| copy.is_some_and(|copy| copy / PAGES == state.block.0);
                    assert_eq!(state.valid as usize, expected.iter().filter(own).count());
                }
                assert!((0..pages.len() as u32).all(|at| survey.valid.is_set(at) == expected.contains(&Some(at))));
                assert!(survey.blocks.iter().map(|state| state.block.0).eq(0..blocks));
                let held = |(at, page): (usize, &Found)| match page {
                    _ if is_bad(at) => NONE,
                    Found::Erased => NONE,
                    Found::Unreadable => SPOILED,
                    Found::Programmed { oob, .. } => oob.lpn.0,
                };
                assert!(p2l.iter().map(|entry| entry.page()).eq(pages.iter().enumerate().map(held)));
            }
        }
    }
}
