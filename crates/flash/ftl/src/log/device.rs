//! State of all pages and blocks on a device with a log-block FTL.

use std::collections::BTreeSet;

use ssdlab_core::mem::prefetch;
use ssdlab_core::units::counted;
use ssdlab_core::{Archive, Archived, BlockId, Entry, HugeVec, Lpn, Ppn, Reciprocal};
use ssdlab_nand::{Cause, FlashSink, MergeCost, Note, ProgramOrder, RetireReason, Role, Source, SpareArea};

use crate::Shape;
use crate::blocks::{Allocation, BlockTable, FreeList};
use crate::recovery::{NONE, SPOILED, is_readable};

/// Address of a logical page: its number, its logical block and its offset in the logical block.
#[derive(Clone, Copy, Debug)]
pub struct PageAddress {
    /// Number of the logical page.
    pub lpn: u32,
    /// Number of the logical block.
    pub lbn: u32,
    /// Offset of the page in its logical block, and therefore in its data block.
    pub offset: u32,
}

/// A page of a host write request.
#[derive(Clone, Copy, Debug)]
pub struct HostPage {
    /// Logical page to write.
    pub address: PageAddress,
    /// Number of the page within the current write.
    pub number: u32,
    /// Number of pages of the host request.
    pub request_pages: u32,
}

/// Work (merges and copies) for which a host page waits.
#[derive(Clone, Copy, Default)]
pub(super) struct Waited {
    /// Number of logical blocks merged.
    pub merged: u32,
    /// True if log space was reclaimed by a full merge, or by any merge that freed a block of the random log.
    pub reclaims: bool,
    pub cost: MergeCost,
}

/// State of every page and block of the device.
///
/// A page is valid if and only if `l2p[p2l[ppn]] == ppn`. `p2l[ppn]` is a logical page if the page can be read, `NONE`
/// if it is erased.
pub struct LogDevice {
    pub(super) pages_per_block: u32,
    pub(super) order: ProgramOrder,
    /// Flash page of each logical page. The number of logical pages is rounded up to whole blocks.
    pub(super) l2p: HugeVec<Entry>,
    pub(super) p2l: HugeVec<Entry>,
    /// Data block of each logical block, if any.
    pub(super) data: Vec<u32>,
    /// For each block, the offset of the page after the last programmed page.
    pub(super) next: Vec<u16>,
    pub(super) table: BlockTable,
    pub(super) block_of: Reciprocal,
    pub(super) sequence: u64,
    /// Number of blocks that may fail before too few erased blocks remain for merges.
    pub(super) expendable: u32,
    /// Number of erased blocks reserved for programs that fail during a merge.
    pub(super) kept: u32,
    /// Blocks with a failed program. Each is marked as bad once it is erased.
    pub(super) failing: BTreeSet<u32>,
    /// True if failures left no erased block when the FTL needed one; no more writes are then possible.
    pub(super) stuck: bool,
    pub(super) waited: Waited,
}

/// Distance in pages from the current page up to which map entries are prefetched.
const FAR: u32 = 16;
/// Number of map entries per cache line.
const LINE_ENTRIES: usize = 64 / size_of::<Entry>();

impl LogDevice {
    /// Returns an erased device with room for all data blocks, `log_blocks` and `reserve_blocks`.
    pub(crate) fn new(shape: Shape, log_blocks: u32, reserve_blocks: u32) -> Result<Self, String> {
        let Shape { logical_pages, blocks, pages_per_block, order, planes, .. } = shape;
        let physical = u64::from(blocks) * u64::from(pages_per_block);
        let data_blocks = logical_pages.div_ceil(pages_per_block);
        let needed = u64::from(data_blocks) + u64::from(log_blocks) + u64::from(reserve_blocks);
        if needed > u64::from(blocks) {
            return Err(format!(
                "the FTL needs {needed} blocks ({}, {}, {reserve_blocks} for merges), but the device has {blocks}",
                counted(data_blocks.into(), "data block"),
                counted(log_blocks.into(), "log block"),
            ));
        }
        if physical >= u64::from(u32::MAX) || pages_per_block > u32::from(u16::MAX >> 1) {
            return Err(format!(
                "{blocks} blocks of {pages_per_block} pages are too many for this FTL; use fewer or smaller blocks"
            ));
        }
        if planes == 0 || !blocks.is_multiple_of(planes) {
            return Err(format!("{blocks} blocks cannot be spread evenly over {planes} planes"));
        }
        let striped = (0..blocks).map(|n| n % planes * (blocks / planes) + n / planes);
        Ok(Self {
            pages_per_block,
            order,
            l2p: HugeVec::zeros(data_blocks as usize * pages_per_block as usize),
            p2l: HugeVec::zeros(physical as usize),
            data: vec![NONE; data_blocks as usize],
            next: vec![0; blocks as usize],
            // Consecutive entries of the free list are on consecutive planes.
            table: BlockTable::new(pages_per_block, vec![FreeList::new(Allocation::Fifo, striped)], 0),
            block_of: Reciprocal::new(pages_per_block),
            sequence: 0,
            expendable: (u64::from(blocks) - needed) as u32,
            kept: 0,
            failing: BTreeSet::new(),
            stuck: false,
            waited: Waited::default(),
        })
    }

    /// Returns the number of pages per block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Returns the number of blocks of the flash.
    pub fn blocks(&self) -> u32 {
        self.table.len()
    }

    /// Returns the number of logical blocks.
    pub fn logical_blocks(&self) -> u32 {
        self.data.len() as u32
    }

    /// Returns the address of a logical page.
    #[inline]
    pub fn locate(&self, lpn: u32) -> PageAddress {
        let lbn = self.block_of.divide(lpn);
        PageAddress { lpn, lbn, offset: lpn - lbn * self.pages_per_block }
    }

    /// Returns the flash page with the newest copy of `lpn`, if any.
    #[inline]
    pub fn newest(&self, lpn: u32) -> Option<u32> {
        let ppn = self.l2p[lpn as usize].page();
        (ppn != NONE).then_some(ppn)
    }

    /// True if the newest copy of `lpn` lies in `block`.
    #[inline]
    pub fn is_in(&self, lpn: u32, block: u32) -> bool {
        self.holds(block, self.l2p[lpn as usize].page())
    }

    #[inline]
    pub(super) fn holds(&self, block: u32, ppn: u32) -> bool {
        ppn.wrapping_sub(block * self.pages_per_block) < self.pages_per_block
    }

    /// Returns the logical page whose newest copy is page `offset` of `block`.
    #[inline]
    pub fn valid_page(&self, block: u32, offset: u32) -> Option<PageAddress> {
        let ppn = block * self.pages_per_block + offset;
        let lpn = self.p2l[ppn as usize].page();
        (self.l2p.get(lpn as usize) == Some(&Entry::of(ppn))).then(|| self.locate(lpn))
    }

    /// Prefetches the map entry of the page that is `FAR` pages after page `offset` of `block`. The map entries of
    /// consecutive pages are scattered in memory.
    #[inline]
    pub fn expect_page(&self, block: u32, offset: u32) {
        let ahead = block * self.pages_per_block + offset + FAR;
        if let Some(lpn) = self.p2l.get(ahead as usize) {
            prefetch(&self.l2p, lpn.page() as usize);
        }
    }

    /// Prefetches the map entries of the logical block that will be merged soon: the logical block that owns the first
    /// valid page of `block` at or after `offset`.
    pub fn expect_merge(&self, block: u32, offset: u32) {
        let mut near = offset..self.pages_per_block.min(offset + FAR);
        if let Some(next) = near.find_map(|offset| self.valid_page(block, offset)) {
            let first = next.lpn - next.offset;
            (first..first + self.pages_per_block)
                .step_by(LINE_ENTRIES)
                .for_each(|lpn| prefetch(&self.l2p, lpn as usize));
        }
    }

    /// Returns the number of valid pages of a block.
    #[inline]
    pub fn valid(&self, block: u32) -> u32 {
        self.table.valid(BlockId(block))
    }

    /// Returns the offset in `block` of the page after the last programmed page.
    #[inline]
    pub fn next(&self, block: u32) -> u32 {
        u32::from(self.next[block as usize])
    }

    /// Returns the number of pages of `block` that are programmed and readable.
    pub fn programmed(&self, block: u32) -> u32 {
        let first = (block * self.pages_per_block) as usize;
        let held = &self.p2l[first..first + self.pages_per_block as usize];
        held.iter().filter(|held| is_readable(held.page())).count() as u32
    }

    /// True if no more pages can be programmed in `block` before an erase.
    #[inline]
    pub fn is_full(&self, block: u32) -> bool {
        self.next(block) == self.pages_per_block
    }

    /// True if page `offset` of `block` may be programmed now.
    #[inline]
    pub fn can_program(&self, block: u32, offset: u32) -> bool {
        match self.order {
            ProgramOrder::Any => self.p2l[(block * self.pages_per_block + offset) as usize] == Entry::NONE,
            ProgramOrder::Ascending => offset >= self.next(block),
        }
    }

    /// Writes a host page to its own offset in the data block, provided that the page has no valid copy and the flash
    /// page at this offset can be programmed. Returns true if the page was written.
    #[inline]
    pub(crate) fn write_in_place<S: FlashSink>(&mut self, page: HostPage, sink: &mut S) -> bool {
        let HostPage { address, number, .. } = page;
        if self.l2p[address.lpn as usize] != Entry::NONE {
            return false;
        }
        let mut block = self.data[address.lbn as usize];
        if block == NONE {
            let Some(taken) = self.take(Role::Data, sink) else { return false };
            block = taken;
            self.data[address.lbn as usize] = block;
        } else if !self.can_program(block, address.offset) {
            return false;
        }
        self.program(address.lpn, block, address.offset, (number, Role::Data), sink).is_some()
    }

    /// Writes page `number` of the host request to `offset` of `block`. Returns None if the program fails.
    #[inline]
    pub fn program<S: FlashSink>(
        &mut self,
        lpn: u32,
        block: u32,
        offset: u32,
        (number, role): (u32, Role),
        sink: &mut S,
    ) -> Option<()> {
        let to = Ppn(block * self.pages_per_block + offset);
        let oob = SpareArea { lpn: Lpn(lpn), sequence: self.next_sequence(), role };
        sink.program(to, oob, Source::Host(number), Cause::Host);
        self.settle(lpn, block, offset, sink)
    }

    /// Copies the newest version of `lpn` to `offset` of `block`. Returns None if the program fails.
    #[inline]
    pub fn copy<S: FlashSink>(
        &mut self,
        lpn: u32,
        block: u32,
        offset: u32,
        (cause, role): (Cause, Role),
        sink: &mut S,
    ) -> Option<()> {
        let from = Ppn(self.l2p[lpn as usize].page());
        let to = Ppn(block * self.pages_per_block + offset);
        let oob = SpareArea { lpn: Lpn(lpn), sequence: self.next_sequence(), role };
        sink.copy(from, to, oob, cause);
        self.waited.cost.copies += 1;
        self.settle(lpn, block, offset, sink)
    }

    #[inline]
    pub(super) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }

    /// Maps logical page `lpn` to the page at `offset` of `block`. Returns None if the program failed.
    #[inline(always)]
    fn settle<S: FlashSink>(&mut self, lpn: u32, block: u32, offset: u32, sink: &mut S) -> Option<()> {
        if !self.succeeded(block, sink) {
            return None;
        }
        let ppn = block * self.pages_per_block + offset;
        let old = std::mem::replace(&mut self.l2p[lpn as usize], Entry::of(ppn)).page();
        if old != NONE {
            self.table.lose(BlockId(self.block_of.divide(old)), 1);
        }
        self.p2l[ppn as usize] = Entry::of(lpn);
        self.table.gain(BlockId(block), 1);
        let next = &mut self.next[block as usize];
        *next = (*next).max(offset as u16 + 1);
        Some(())
    }

    /// Returns the data blocks, in the order of their logical blocks.
    pub fn data_blocks(&self) -> impl Iterator<Item = u32> + '_ {
        self.data.iter().copied().filter(|&block| block != NONE)
    }

    /// Calls `visit` for each programmed page of a block; `role` is the role of all its pages.
    pub fn visit_programmed(&self, block: u32, role: Role, visit: &mut dyn FnMut(Ppn, Lpn, Role)) {
        let first = block * self.pages_per_block;
        for ppn in first..first + self.next(block) {
            let held = self.p2l[ppn as usize].page();
            if is_readable(held) {
                visit(Ppn(ppn), Lpn(held), role);
            }
        }
    }

    /// Reads a logical page; returns false for a page that was never written.
    #[inline]
    pub(crate) fn read<S: FlashSink>(&self, lpn: u32, cause: Cause, sink: &mut S) -> bool {
        let ppn = self.l2p[lpn as usize].page();
        if ppn != NONE {
            sink.read(Ppn(ppn), cause);
        }
        ppn != NONE
    }

    /// Notifies the sink that a log block leaves the log, and why.
    pub fn retire<S: FlashSink>(&self, block: u32, reason: RetireReason, sink: &mut S) {
        sink.note(Note::Retired { block: BlockId(block), written: self.next(block), reason });
    }

    /// Trims `count` logical pages, starting at `lpn`.
    pub(crate) fn trim<S: FlashSink>(&mut self, lpn: u32, count: u32, sink: &mut S) {
        sink.trimmed(Lpn(lpn), count, self.sequence);
        self.sequence += 1;
        (lpn..lpn + count).for_each(|lpn| self.forget(lpn));
    }

    fn forget(&mut self, lpn: u32) {
        let old = std::mem::take(&mut self.l2p[lpn as usize]).page();
        if old != NONE {
            self.table.lose(BlockId(self.block_of.divide(old)), 1);
        }
    }

    /// Erases a block without valid pages and adds it to the free blocks.
    pub fn erase<S: FlashSink>(&mut self, block: u32, cause: Cause, sink: &mut S) {
        debug_assert_eq!(self.valid(block), 0, "block {block} still holds valid pages");
        let first = (block * self.pages_per_block) as usize;
        let after = first + self.next(block) as usize;
        self.p2l[first..after].fill(Entry::NONE);
        self.next[block as usize] = 0;
        sink.barrier();
        sink.erase(BlockId(block), cause);
        self.waited.cost.erases += 1;
        if sink.fails() && (sink.failure().is_some() || self.failing.contains(&block)) {
            self.withdraw(block, sink);
        } else {
            self.table.release(BlockId(block));
        }
    }

    /// Erases a log block that has no valid pages. If `merged` is true, merges of logical blocks emptied it, and the
    /// erase counts as part of a full merge, as in the papers.
    pub fn erase_emptied<S: FlashSink>(&mut self, block: u32, merged: bool, sink: &mut S) {
        self.waited.reclaims |= merged;
        self.erase(block, if merged { Cause::FullMerge } else { Cause::Gc }, sink);
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let maps = (self.l2p.len() + self.p2l.len() + self.data.len()) * size_of::<u32>();
        (maps + self.next.len() * size_of::<u16>()) as u64 + self.table.memory_bytes()
    }

    /// Saves or loads the state of every page and block.
    pub(crate) fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self {
            pages_per_block: _,
            order: _,
            l2p,
            p2l,
            data,
            next,
            table,
            block_of: _,
            sequence,
            expendable: _,
            kept,
            failing,
            stuck,
            // `waited` is not saved, because it is only used within a write.
            waited: _,
        } = self;
        archive.array(l2p)?;
        archive.array(p2l)?;
        archive.array(data)?;
        archive.array(next)?;
        table.archive(archive)?;
        archive.value(sequence)?;
        archive.value(kept)?;
        archive.value(failing)?;
        archive.value(stuck)
    }

    /// Checks that the valid pages of a log block belong to `lbn`, and are at their own offsets if `in_place` is true.
    pub(crate) fn check_log_block(&self, name: &str, block: u32, lbn: u32, in_place: bool) -> Result<(), String> {
        for offset in 0..self.next(block) {
            let held = self.valid_page(block, offset);
            if held.is_some_and(|address| address.lbn != lbn || (in_place && address.offset != offset)) {
                return Err(format!("{name} {block} of logical block {lbn} holds {held:?} at offset {offset}"));
            }
        }
        Ok(())
    }

    /// Checks the maps and counts, and that every block has exactly one role. `log` lists the log blocks.
    pub(crate) fn check(&self, log: &[u32]) -> Result<(), String> {
        let mut roles = vec![""; self.next.len()];
        let mut assign = |block: u32, role: &'static str| match std::mem::replace(&mut roles[block as usize], role) {
            "" => Ok(()),
            other => Err(format!("block {block} is both {other} and {role}")),
        };
        self.table.free_blocks().into_iter().try_for_each(|block| assign(block, "free"))?;
        self.table.bad().try_for_each(|block| assign(block.0, "bad"))?;
        self.data_blocks().try_for_each(|block| assign(block, "a data block"))?;
        log.iter().try_for_each(|&block| assign(block, "a log block"))?;
        // A block may be left without a role only after the FTL has run out of erased blocks.
        if let Some(block) = roles.iter().position(|role| role.is_empty())
            && !self.stuck
        {
            return Err(format!("block {block} is not a free block, bad block, data block or log block"));
        }
        if let Some(block) = self.failing.iter().find(|&&block| !self.is_full(block)) {
            return Err(format!("block {block} has failed but still accepts programs"));
        }
        for (lbn, &block) in self.data.iter().enumerate().filter(|&(_, &block)| block != NONE) {
            for offset in 0..self.pages_per_block {
                let held = self.p2l[(block * self.pages_per_block + offset) as usize].page();
                if ![NONE, SPOILED, lbn as u32 * self.pages_per_block + offset].contains(&held) {
                    return Err(format!(
                        "data block {block} of logical block {lbn} holds page {held} at offset {offset}"
                    ));
                }
            }
        }
        let mut valid = vec![0_u32; self.next.len()];
        for (lpn, entry) in self.l2p.iter().enumerate().filter(|&(_, &entry)| entry != Entry::NONE) {
            let ppn = entry.page();
            if self.p2l[ppn as usize].page() as usize != lpn {
                return Err(format!("page {lpn} is mapped to {ppn}, which holds {:?}", self.p2l[ppn as usize]));
            }
            valid[self.block_of.divide(ppn) as usize] += 1;
        }
        match (0..).zip(&valid).find(|&(block, &truth)| truth != self.valid(block)) {
            Some((block, truth)) => {
                Err(format!("block {block} holds {truth} valid pages, but its valid count is {}", self.valid(block)))
            }
            None => Ok(()),
        }
    }
}
