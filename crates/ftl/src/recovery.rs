//! What every FTL finds in flash after a power loss: the newest copy of each page, and what each block is good for.
//!
//! An FTL emits operations in dependency order, so whatever is interrupted can be undone or completed:
//!
//! - A block is erased when all that was valid in it has been copied. If power fails before, the copies are equal to
//!   what they were made from, so that the block they were made to can be given up without loss ([`Survey::without`]).
//! - If power fails during the erase, what is left in the block is outdated or equal to a copy elsewhere.
//! - A page being programmed for the host is not acknowledged. It is there or not.
//!
//! A block that was interrupted while being written is written no further if its last page cannot be read. One whose last
//! page could not be programmed looks the same, so that recovery need not know which blocks have failed: those of which the
//! erase fails too are bad then, the others are tried once more.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use ssdlab_core::{BlockId, Ppn};
use ssdlab_nand::{Found, Oob, Role, Scan, Trimmed};

/// Nothing was programmed here, or a page has no copy.
pub(crate) const NONE: u32 = u32::MAX;
/// Here is nothing that can be read, and nothing can be programmed before the next erase.
pub(crate) const SPOILED: u32 = u32::MAX - 1;

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
    /// One above the version of the newest copy of each logical page; 0 where there is none.
    versions: Vec<u64>,
}

/// Where a survey goes: the flat maps of an FTL.
pub(crate) struct Maps<'a> {
    /// Copies of each page, logical ones first.
    pub l2p: &'a mut [u32],
    /// What each flash page holds.
    pub p2l: &'a mut [u32],
    pub logical_pages: u32,
    pub pages_per_block: u32,
}

impl Survey {
    /// Finds the newest copy of each logical page by the rule of [`Oob`], as if nothing were in the blocks `without`. What
    /// these hold counts for the sequence alone.
    pub fn new(
        maps: &mut Maps<'_>,
        scan: &impl Scan,
        trims: &[Trimmed],
        without: &BTreeSet<BlockId>,
    ) -> Result<Self, String> {
        maps.l2p.fill(NONE);
        let blocks = maps.p2l.len() as u32 / maps.pages_per_block;
        let versions = vec![0; maps.logical_pages as usize];
        let mut survey = Self { blocks: Vec::with_capacity(blocks as usize), sequence: 0, versions };
        for block in (0..blocks).map(BlockId) {
            let found = survey.look_at(block, maps, scan, without.contains(&block))?;
            survey.blocks.push(found);
        }
        for &Trimmed { lpn, count, sequence } in trims {
            survey.sequence = survey.sequence.max(sequence + 1);
            for lpn in lpn.index()..(lpn.index() + count as usize).min(maps.logical_pages as usize) {
                if survey.versions[lpn] <= sequence {
                    maps.l2p[lpn] = NONE;
                    survey.versions[lpn] = 0;
                }
            }
        }
        for &ppn in maps.l2p.iter().filter(|&&ppn| ppn != NONE) {
            survey.blocks[(ppn / maps.pages_per_block) as usize].valid += 1;
        }
        Ok(survey)
    }

    fn look_at(
        &mut self,
        block: BlockId,
        maps: &mut Maps<'_>,
        scan: &impl Scan,
        ignored: bool,
    ) -> Result<Block, String> {
        let bad = scan.is_bad(block);
        let mut found = Block {
            block,
            bad,
            erases: scan.erases(block),
            next: 0,
            sound: true,
            valid: 0,
            role: Role::Data,
            opened: 0,
            written: 0,
            copies: 0,
        };
        let mut readable = 0;
        for page in 0..maps.pages_per_block {
            let ppn = block.0 * maps.pages_per_block + page;
            let content = if bad { Found::Erased } else { scan.page(Ppn(ppn)) };
            maps.p2l[ppn as usize] = match content {
                Found::Erased => NONE,
                Found::Unreadable => SPOILED,
                Found::Programmed { oob: Oob { lpn, sequence, role }, version } => {
                    if lpn.index() >= maps.l2p.len() {
                        return Err(format!("page {page} of block {block} holds page {lpn}, which this drive lacks"));
                    }
                    if readable == 0 {
                        (found.role, found.opened) = (role, sequence);
                    }
                    if readable == found.copies && version != sequence {
                        found.copies += 1;
                    }
                    readable += 1;
                    found.written = found.written.max(sequence);
                    self.sequence = self.sequence.max(sequence + 1);
                    if !ignored && lpn.0 < maps.logical_pages {
                        self.weigh(maps, scan, (lpn.0, version, sequence), ppn);
                    }
                    lpn.0
                }
            };
            if content != Found::Erased {
                found.next = page + 1;
                found.sound = content != Found::Unreadable;
            }
        }
        Ok(found)
    }

    /// Makes a copy the newest known if it is newer.
    fn weigh(&mut self, maps: &mut Maps<'_>, scan: &impl Scan, copy: (u32, u64, u64), ppn: u32) {
        let (lpn, version, sequence) = copy;
        let known = maps.l2p[lpn as usize];
        let newer = match (version + 1).cmp(&self.versions[lpn as usize]) {
            Ordering::Equal => match scan.page(Ppn(known)) {
                Found::Programmed { oob, .. } => oob.sequence < sequence,
                Found::Erased | Found::Unreadable => true,
            },
            order => order.is_gt(),
        };
        if newer {
            maps.l2p[lpn as usize] = ppn;
            self.versions[lpn as usize] = version + 1;
        }
    }

    /// The survey as if nothing were in `block`, which is to be given up; but as it is if the block alone holds a page. In
    /// the target of a merge that may be the page which the host was writing when power was lost: the newest of all.
    pub fn without(
        self,
        block: BlockId,
        of_merge: bool,
        maps: &mut Maps<'_>,
        scan: &impl Scan,
        trims: &[Trimmed],
        given_up: &mut BTreeSet<BlockId>,
    ) -> Result<Self, String> {
        given_up.insert(block);
        let survey = Self::new(maps, scan, trims, given_up)?;
        let newest = self.versions.iter().max();
        let lost = |(before, after): (&u64, &u64)| before != after && !(of_merge && Some(before) == newest);
        if !self.versions.iter().zip(&survey.versions).any(lost) {
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
