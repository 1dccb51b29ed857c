//! What every FTL finds in flash after a power loss: the newest copy of each page, and what each block is good for.
//!
//! An FTL emits operations in dependency order, so whatever is interrupted can be undone or completed:
//!
//! - A block is erased when all that was valid in it has been copied. If power fails before, the copies are equal to
//!   what they were made from, so that the block they were made to can be given up without loss ([`Survey::without`]).
//! - If power fails during the erase, what is left in the block is outdated or equal to a copy elsewhere.
//! - A page being programmed for the host is not acknowledged. It is there or not.
//!
//! A block that was interrupted while being written is written no further if its last page cannot be read. One whose
//! last page could not be programmed looks the same, so that recovery need not know which blocks have failed: those of
//! which the erase fails too are bad then, the others are tried once more.

use std::collections::BTreeSet;

use ssdlab_core::mem::prefetch;
use ssdlab_core::{BlockId, Entry, Ppn};
use ssdlab_nand::{Found, Oob, Role, Scan, Trimmed};

/// Nothing was programmed here, or a page has no copy.
pub(crate) const NONE: u32 = u32::MAX;
/// Here is nothing that can be read, and nothing can be programmed before the next erase.
pub(crate) const SPOILED: u32 = u32::MAX - 1;

/// Whether what a flash page holds can be read.
pub(crate) fn is_readable(held: u32) -> bool {
    held != NONE && held != SPOILED
}

/// What is found in a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub block: BlockId,
    pub bad: bool,
    pub erases: u32,
    /// Offset behind the last page that is not erased.
    pub next: u32,
    /// Whether the page before that can be read, so that the block may be written on.
    pub sound: bool,
    /// Newest copies in it.
    pub valid: u32,
    /// Of its first page; that of a data block if no page can be read.
    pub role: Role,
    /// Sequence of its first page.
    pub opened: u64,
    /// Highest sequence of its pages.
    pub written: u64,
    /// Pages at its start that are copies of others.
    pub copies: u32,
}

impl Block {
    /// What its pages tell, none of which counts as valid yet.
    fn of(block: BlockId, pages: &[Found]) -> Self {
        let programmed = || {
            pages.iter().filter_map(|page| match page {
                Found::Programmed { oob, version, .. } => Some((oob, *version)),
                Found::Erased | Found::Unreadable => None,
            })
        };
        let last = pages.iter().rposition(|page| !matches!(page, Found::Erased));
        let (role, opened) = programmed().next().map_or((Role::Data, 0), |(oob, _)| (oob.role, oob.sequence));
        Self {
            block,
            bad: false,
            erases: 0,
            next: last.map_or(0, |last| last as u32 + 1),
            sound: last.is_none_or(|last| !matches!(pages[last], Found::Unreadable)),
            valid: 0,
            role,
            opened,
            written: programmed().map(|(oob, _)| oob.sequence).max().unwrap_or(0),
            copies: programmed().take_while(|&(oob, version)| version != oob.sequence).count() as u32,
        }
    }

    /// Whether it can be written, now or once it is erased.
    pub const fn is_empty(&self) -> bool {
        !self.bad && self.valid == 0
    }
}

/// What a scan found.
pub(crate) struct Survey {
    pub blocks: Vec<Block>,
    /// Above every number of a program or trim that was found.
    pub sequence: u64,
}

/// Pages whose map entries are fetched ahead of the one that is weighed.
const AHEAD: usize = 24;

/// Where a survey goes: the flat maps of an FTL.
pub(crate) struct Maps<'a> {
    /// Copies of each page, logical ones first.
    pub l2p: &'a mut [Entry],
    /// What each flash page holds.
    pub p2l: &'a mut [Entry],
    pub logical_pages: u32,
    pub pages_per_block: u32,
}

impl Survey {
    /// Finds the newest copy of each logical page by the rule of [`Oob`], as if nothing were in the blocks `without`.
    /// What these hold counts for the sequence alone.
    pub fn new(
        maps: &mut Maps<'_>,
        scan: &impl Scan,
        trims: &[Trimmed],
        without: &BTreeSet<BlockId>,
    ) -> Result<Self, String> {
        maps.l2p.fill(Entry::NONE);
        let blocks = maps.p2l.len() as u32 / maps.pages_per_block;
        let mut survey = Self { blocks: Vec::with_capacity(blocks as usize), sequence: 0 };
        let mut pages = vec![Found::Erased; maps.pages_per_block as usize];
        for block in (0..blocks).map(BlockId) {
            let bad = scan.is_bad(block);
            if bad {
                pages.fill(Found::Erased);
            } else {
                scan.block(block, &mut pages);
            }
            let mut found = Block { bad, erases: scan.erases(block), ..Block::of(block, &pages) };
            if pages.iter().any(|page| matches!(page, Found::Programmed { .. })) {
                survey.sequence = survey.sequence.max(found.written + 1);
            }
            let ignored = |outdated: bool| outdated && without.is_empty() || without.contains(&block);
            survey.look_at(&pages, &mut found, maps, scan, ignored)?;
            survey.blocks.push(found);
        }
        for &Trimmed { lpn, count, sequence } in trims {
            survey.sequence = survey.sequence.max(sequence + 1);
            for lpn in lpn.index()..(lpn.index() + count as usize).min(maps.logical_pages as usize) {
                let known = maps.l2p[lpn].page();
                if version(scan, known).is_some_and(|version| version < sequence) {
                    maps.l2p[lpn] = Entry::NONE;
                    survey.blocks[(known / maps.pages_per_block) as usize].valid -= 1;
                }
            }
        }
        Ok(survey)
    }

    /// Maps the pages of the block behind all before.
    fn look_at(
        &mut self,
        pages: &[Found],
        found: &mut Block,
        maps: &mut Maps<'_>,
        scan: &impl Scan,
        ignored: impl Fn(bool) -> bool,
    ) -> Result<(), String> {
        let first = found.block.0 * maps.pages_per_block;
        // Copies of pages of which there is another, and where that is.
        let mut rivals = Vec::new();
        let fetch = |l2p: &[Entry], page: &Found| {
            if let Found::Programmed { oob, .. } = page {
                prefetch(l2p, oob.lpn.index());
            }
        };
        pages.iter().take(AHEAD).for_each(|page| fetch(maps.l2p, page));
        for ((at, page), ppn) in pages.iter().enumerate().zip(first..) {
            if let Some(page) = pages.get(at + AHEAD) {
                fetch(maps.l2p, page);
            }
            let held = match page {
                Found::Erased => NONE,
                Found::Unreadable => SPOILED,
                Found::Programmed { oob: Oob { lpn, .. }, outdated, .. } => {
                    if lpn.index() >= maps.l2p.len() {
                        return Err(format!(
                            "page {at} of block {} holds page {lpn}, which this drive lacks",
                            found.block
                        ));
                    }
                    if !ignored(*outdated) && lpn.0 < maps.logical_pages {
                        match &mut maps.l2p[lpn.index()] {
                            known if *known == Entry::NONE => {
                                *known = Entry::of(ppn);
                                found.valid += 1;
                            }
                            known => {
                                scan.expect(Ppn(known.page()));
                                rivals.push((at, known.page()));
                            }
                        }
                    }
                    lpn.0
                }
            };
            maps.p2l[ppn as usize] = Entry::of(held);
        }
        // All are fetched before one is judged: they are far apart, and the processor then waits for many at once.
        let others: Vec<_> = rivals.iter().map(|&(_, known)| recency(&scan.page(Ppn(known)))).collect();
        for (&(at, before), other) in rivals.iter().zip(others) {
            let ppn = first + at as u32;
            let lpn = maps.p2l[ppn as usize].page() as usize;
            let known = maps.l2p[lpn].page();
            let other = if known == before { other } else { recency(&scan.page(Ppn(known))) };
            if recency(&pages[at]) > other {
                maps.l2p[lpn] = Entry::of(ppn);
                found.valid += 1;
                let loser = if known >= first {
                    &mut *found
                } else {
                    &mut self.blocks[(known / maps.pages_per_block) as usize]
                };
                loser.valid -= 1;
            }
        }
        Ok(())
    }

    /// The survey as if nothing were in `block`, which is to be given up; but as it is if the block alone holds a page.
    /// In the target of a merge that may be the page which the host was writing when power was lost: the newest of all.
    /// And anywhere it may be a copy of what is lost itself, as a computer that lost its power may have kept later
    /// writes and not earlier ones; then it was never safe.
    pub fn without(
        self,
        block: BlockId,
        of_merge: bool,
        maps: &mut Maps<'_>,
        scan: &impl Scan,
        trims: &[Trimmed],
        given_up: &mut BTreeSet<BlockId>,
    ) -> Result<Self, String> {
        let before = maps.l2p[..maps.logical_pages as usize].to_vec();
        given_up.insert(block);
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
        let may_be_lost = |entry: &Entry| match recency_at(scan, entry.page()) {
            Some((version, sequence)) => {
                of_merge && Some(version) == newest || version != sequence && version >= scan.erased_before()
            }
            None => false,
        };
        if lost.into_iter().all(may_be_lost) {
            return Ok(survey);
        }
        given_up.remove(&block);
        Self::new(maps, scan, trims, given_up)
    }

    /// Blocks with something in them of which nothing is valid, in which case they can be erased.
    pub fn outdated(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.blocks.iter().filter(|block| block.is_empty() && block.next > 0).map(|block| block.block)
    }

    /// The block opened last among those with valid pages that are `wanted`.
    pub fn opened_last(&self, wanted: impl Fn(&Block) -> bool) -> Option<BlockId> {
        let full = self.blocks.iter().filter(|block| !block.bad && block.valid > 0 && wanted(block));
        full.max_by_key(|block| block.opened).map(|block| block.block)
    }
}

/// What tells the newer of two copies; less than all where there is none.
fn recency(page: &Found) -> Option<(u64, u64)> {
    match page {
        Found::Programmed { oob, version, .. } => Some((*version, oob.sequence)),
        Found::Erased | Found::Unreadable => None,
    }
}

/// The version of the copy at `ppn`, if there is one.
fn version(scan: &impl Scan, ppn: u32) -> Option<u64> {
    recency_at(scan, ppn).map(|(version, _)| version)
}

/// [`recency`] of the copy at a place, if it is one.
fn recency_at(scan: &impl Scan, ppn: u32) -> Option<(u64, u64)> {
    (ppn != NONE).then(|| scan.page(Ppn(ppn))).as_ref().and_then(recency)
}
