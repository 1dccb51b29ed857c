//! Pages and blocks of a device whose data is mapped by block, and the three merges.

use std::collections::VecDeque;
use std::ops::Range;

use ssdlab_core::mem::prefetch;
use ssdlab_core::{BlockId, HugeVec, Lpn, Ppn, Reciprocal};
use ssdlab_nand::{Cause, FlashSink, MergeCost, MergeKind, Note, Oob, ProgramOrder, Source};

use crate::Shape;

const NONE: u32 = u32::MAX;

/// A logical page and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageAddress {
    pub lpn: u32,
    /// Logical block.
    pub lbn: u32,
    /// Place within it, and within its data block.
    pub offset: u32,
}

/// State of every page and block.
///
/// A page is valid iff `l2p[p2l[ppn]] == ppn`; it is programmed iff `p2l[ppn]` names a logical page.
pub(crate) struct LogDevice {
    pages_per_block: u32,
    order: ProgramOrder,
    /// Padded to whole blocks, so that every logical block has all its pages.
    l2p: HugeVec<u32>,
    p2l: HugeVec<u32>,
    /// Data block of each logical block.
    data: Vec<u32>,
    /// Valid pages of each block.
    valid: Vec<u16>,
    /// Offset behind the last page programmed in each block.
    next: Vec<u16>,
    erases: Vec<u32>,
    free: VecDeque<u32>,
    block_of: Reciprocal,
    sequence: u64,
}

impl LogDevice {
    /// An erased device with room for all data blocks, `log_blocks` and `reserve_blocks`.
    pub fn new(shape: Shape, log_blocks: u32, reserve_blocks: u32) -> Result<Self, String> {
        let Shape { logical_pages, blocks, pages_per_block, order, planes, .. } = shape;
        let physical = u64::from(blocks) * u64::from(pages_per_block);
        let data_blocks = logical_pages.div_ceil(pages_per_block);
        let needed = u64::from(data_blocks) + u64::from(log_blocks) + u64::from(reserve_blocks);
        if needed > u64::from(blocks) {
            return Err(format!(
                "{data_blocks} data blocks, {log_blocks} log blocks and {reserve_blocks} that merges need make {needed}, \
                 but the device has {blocks}"
            ));
        }
        if physical >= u64::from(u32::MAX) || pages_per_block > u32::from(u16::MAX >> 1) {
            return Err(format!("{blocks} blocks of {pages_per_block} pages exceed what page numbers allow"));
        }
        if planes == 0 || !blocks.is_multiple_of(planes) {
            return Err(format!("{blocks} blocks cannot be spread evenly over {planes} planes"));
        }
        Ok(Self {
            pages_per_block,
            order,
            l2p: HugeVec::filled(NONE, data_blocks as usize * pages_per_block as usize),
            p2l: HugeVec::filled(NONE, physical as usize),
            data: vec![NONE; data_blocks as usize],
            valid: vec![0; blocks as usize],
            next: vec![0; blocks as usize],
            erases: vec![0; blocks as usize],
            // Successive blocks lie on successive planes.
            free: (0..blocks).map(|n| n % planes * (blocks / planes) + n / planes).collect(),
            block_of: Reciprocal::new(pages_per_block),
            sequence: 0,
        })
    }

    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    pub fn logical_blocks(&self) -> u32 {
        self.data.len() as u32
    }

    #[inline(always)]
    pub fn locate(&self, lpn: u32) -> PageAddress {
        let lbn = self.block_of.divide(lpn);
        PageAddress { lpn, lbn, offset: lpn - lbn * self.pages_per_block }
    }

    #[inline(always)]
    pub fn newest(&self, lpn: u32) -> Option<u32> {
        let ppn = self.l2p[lpn as usize];
        (ppn != NONE).then_some(ppn)
    }

    /// Whether the newest copy of `lpn` lies in `block`.
    #[inline(always)]
    pub fn is_in(&self, lpn: u32, block: u32) -> bool {
        self.holds(block, self.l2p[lpn as usize])
    }

    #[inline(always)]
    fn holds(&self, block: u32, ppn: u32) -> bool {
        ppn.wrapping_sub(block * self.pages_per_block) < self.pages_per_block
    }

    /// The logical page whose newest copy is page `offset` of `block`.
    #[inline(always)]
    pub fn valid_page(&self, block: u32, offset: u32) -> Option<PageAddress> {
        let ppn = block * self.pages_per_block + offset;
        let lpn = self.p2l[ppn as usize];
        (lpn != NONE && self.l2p[lpn as usize] == ppn).then(|| self.locate(lpn))
    }

    #[inline(always)]
    pub fn valid(&self, block: u32) -> u32 {
        u32::from(self.valid[block as usize])
    }

    /// Offset behind the last page programmed in `block`.
    #[inline(always)]
    pub fn next(&self, block: u32) -> u32 {
        u32::from(self.next[block as usize])
    }

    #[inline(always)]
    pub fn is_full(&self, block: u32) -> bool {
        self.next(block) == self.pages_per_block
    }

    /// Whether page `offset` of `block` may be programmed now.
    #[inline(always)]
    pub fn can_program(&self, block: u32, offset: u32) -> bool {
        match self.order {
            ProgramOrder::Any => self.p2l[(block * self.pages_per_block + offset) as usize] == NONE,
            ProgramOrder::Ascending => offset >= self.next(block),
        }
    }

    /// Takes an erased block.
    ///
    /// # Panics
    /// If there is none: the reserve rules that out.
    pub fn take(&mut self) -> u32 {
        self.free.pop_front().expect("the reserve keeps a block free for every merge")
    }

    /// Writes a page that has no valid copy to its place in the data block, if that can be programmed.
    #[inline]
    pub fn write_in_place<S: FlashSink>(&mut self, address: PageAddress, page: u32, sink: &mut S) -> bool {
        if self.l2p[address.lpn as usize] != NONE {
            return false;
        }
        let mut block = self.data[address.lbn as usize];
        if block == NONE {
            block = self.take();
            self.data[address.lbn as usize] = block;
        } else if !self.can_program(block, address.offset) {
            return false;
        }
        self.program(address.lpn, block, address.offset, page, sink);
        true
    }

    /// Writes page `page` of the host request to `offset` of `block`.
    #[inline]
    pub fn program<S: FlashSink>(&mut self, lpn: u32, block: u32, offset: u32, page: u32, sink: &mut S) {
        let (ppn, sequence) = self.settle(lpn, block, offset);
        sink.program(Ppn(ppn), Oob { lpn: Lpn(lpn), sequence }, Source::Host(page), Cause::Host);
    }

    /// Copies the newest copy of `lpn` to `offset` of `block`.
    #[inline]
    pub fn copy<S: FlashSink>(&mut self, lpn: u32, block: u32, offset: u32, cause: Cause, sink: &mut S) {
        let from = self.l2p[lpn as usize];
        let (to, sequence) = self.settle(lpn, block, offset);
        sink.copy(Ppn(from), Ppn(to), Oob { lpn: Lpn(lpn), sequence }, cause);
    }

    /// Makes `offset` of `block` the newest copy of `lpn`.
    #[inline(always)]
    fn settle(&mut self, lpn: u32, block: u32, offset: u32) -> (u32, u64) {
        let ppn = block * self.pages_per_block + offset;
        let old = std::mem::replace(&mut self.l2p[lpn as usize], ppn);
        if old != NONE {
            self.valid[self.block_of.divide(old) as usize] -= 1;
        }
        self.p2l[ppn as usize] = lpn;
        self.valid[block as usize] += 1;
        let next = &mut self.next[block as usize];
        *next = (*next).max(offset as u16 + 1);
        self.sequence += 1;
        (ppn, self.sequence - 1)
    }

    /// Reads a page; false if it was never written.
    #[inline]
    pub fn read<S: FlashSink>(&self, lpn: u32, cause: Cause, sink: &mut S) -> bool {
        let ppn = self.l2p[lpn as usize];
        if ppn != NONE {
            sink.read(Ppn(ppn), cause);
        }
        ppn != NONE
    }

    /// Trims a page.
    pub fn forget(&mut self, lpn: u32) {
        let old = std::mem::replace(&mut self.l2p[lpn as usize], NONE);
        if old != NONE {
            self.valid[self.block_of.divide(old) as usize] -= 1;
        }
    }

    /// Erases a block without valid pages and frees it.
    pub fn erase<S: FlashSink>(&mut self, block: u32, cause: Cause, sink: &mut S) {
        debug_assert_eq!(self.valid[block as usize], 0, "block {block} still holds valid pages");
        let first = (block * self.pages_per_block) as usize;
        let after = first + self.next(block) as usize;
        self.p2l[first..after].fill(NONE);
        self.next[block as usize] = 0;
        self.erases[block as usize] += 1;
        self.free.push_back(block);
        sink.barrier();
        sink.erase(BlockId(block), cause);
    }

    /// Merges the logical block of a log block that has every page at its own offset, in the cheapest way there is:
    /// as it is, completed, or not used.
    pub fn merge_in_place<S: FlashSink>(&mut self, lbn: u32, block: u32, sink: &mut S) -> MergeCost {
        if !self.can_complete(lbn, block, None) {
            return self.merge_fully(lbn, block, sink);
        }
        let missing = self.l2p[self.pages_of(lbn)].iter().any(|&ppn| ppn != NONE && !self.holds(block, ppn));
        let kind = if missing { MergeKind::Partial } else { MergeKind::Switch };
        let copies = self.gather(lbn, 0..self.pages_per_block, block, kind.cause(), sink);
        self.replace_data(lbn, block, copies, kind, sink)
    }

    /// The same, in the course of which page `page` of the host request is written to its place.
    pub fn merge_in_place_with<S: FlashSink>(
        &mut self,
        address: PageAddress,
        block: u32,
        page: u32,
        sink: &mut S,
    ) -> MergeCost {
        if self.can_complete(address.lbn, block, Some(address.offset)) {
            let copies = self.gather_around(address, block, page, Cause::PartialMerge, sink);
            return self.replace_data(address.lbn, block, copies, MergeKind::Partial, sink);
        }
        let target = self.take();
        let copies = self.gather_around(address, target, page, Cause::FullMerge, sink);
        let cost = self.replace_data(address.lbn, target, copies, MergeKind::Full, sink);
        self.give_up(block, cost, sink)
    }

    /// Full merge of a logical block, and the erase of its log block.
    pub fn merge_fully<S: FlashSink>(&mut self, lbn: u32, block: u32, sink: &mut S) -> MergeCost {
        let cost = self.full_merge(lbn, sink);
        self.give_up(block, cost, sink)
    }

    /// Erases a log block whose logical block has been merged fully.
    fn give_up<S: FlashSink>(&mut self, block: u32, mut cost: MergeCost, sink: &mut S) -> MergeCost {
        self.erase(block, Cause::FullMerge, sink);
        cost.erases += 1;
        sink.note(Note::Reclaimed { associated: 1, cost });
        cost
    }

    /// Whether every valid page of the logical block, and the page about to be written at `offset`, is at its place in
    /// `block` or can still be put there.
    fn can_complete(&self, lbn: u32, block: u32, offset: Option<u32>) -> bool {
        let first = block * self.pages_per_block;
        (0..self.pages_per_block).zip(&self.l2p[self.pages_of(lbn)]).all(|(page, &ppn)| {
            let settled = ppn == NONE || ppn == first + page;
            (settled && offset != Some(page)) || self.can_program(block, page)
        })
    }

    /// Full merge: gathers the valid pages of the logical block in a free block, which becomes its data block.
    pub fn full_merge<S: FlashSink>(&mut self, lbn: u32, sink: &mut S) -> MergeCost {
        if self.l2p[self.pages_of(lbn)].iter().all(|&ppn| ppn == NONE) {
            return self.replace_data(lbn, NONE, 0, MergeKind::Full, sink);
        }
        let target = self.take();
        let copies = self.gather(lbn, 0..self.pages_per_block, target, Cause::FullMerge, sink);
        self.replace_data(lbn, target, copies, MergeKind::Full, sink)
    }

    /// Full merge of the data block and the pages in `log` alone, at least one of which is valid. What is newer in
    /// other log blocks stays there; of such a page the data block's older copy is copied as well.
    pub fn overlay_merge<S: FlashSink>(&mut self, lbn: u32, log: u32, sink: &mut S) -> MergeCost {
        let (data, pages) = (self.data[lbn as usize], self.pages_per_block);
        let target = self.take();
        let mut copies = 0;
        for (offset, lpn) in (lbn * pages..(lbn + 1) * pages).enumerate() {
            let newest = self.l2p[lpn as usize];
            let old = data.wrapping_mul(pages).wrapping_add(offset as u32);
            if newest == NONE {
                continue;
            } else if newest == old || self.holds(log, newest) {
                self.copy(lpn, target, offset as u32, Cause::FullMerge, sink);
            } else if data != NONE && self.p2l[old as usize] != NONE {
                self.copy_outdated(lpn, old, target, offset as u32, sink);
            } else {
                continue;
            }
            copies += 1;
        }
        self.replace_data(lbn, target, copies, MergeKind::Full, sink)
    }

    /// Copies a page that has a newer copy elsewhere.
    fn copy_outdated<S: FlashSink>(&mut self, lpn: u32, from: u32, block: u32, offset: u32, sink: &mut S) {
        let to = block * self.pages_per_block + offset;
        self.p2l[to as usize] = lpn;
        self.next[block as usize] = offset as u16 + 1;
        sink.copy(Ppn(from), Ppn(to), Oob { lpn: Lpn(lpn), sequence: self.sequence }, Cause::FullMerge);
        self.sequence += 1;
    }

    fn pages_of(&self, lbn: u32) -> Range<usize> {
        let first = lbn as usize * self.pages_per_block as usize;
        first..first + self.pages_per_block as usize
    }

    fn gather_around<S: FlashSink>(
        &mut self,
        address: PageAddress,
        to: u32,
        page: u32,
        cause: Cause,
        sink: &mut S,
    ) -> u32 {
        let before = self.gather(address.lbn, 0..address.offset, to, cause, sink);
        self.program(address.lpn, to, address.offset, page, sink);
        before + self.gather(address.lbn, address.offset + 1..self.pages_per_block, to, cause, sink)
    }

    /// Copies the valid pages of the logical block at `offsets` that are not yet in `to`; returns how many.
    #[inline]
    fn gather<S: FlashSink>(&mut self, lbn: u32, offsets: Range<u32>, to: u32, cause: Cause, sink: &mut S) -> u32 {
        let pages = self.pages_per_block;
        let (first_lpn, first_to) = (lbn * pages, to * pages);
        let mut sequence = self.sequence;
        let mut copies = 0;
        // Most pages come from one block after the other: count them by block and book them at its end.
        let (mut from_block, mut from_first, mut taken) = (to, first_to, 0);
        for offset in offsets {
            let lpn = first_lpn + offset;
            let from = self.l2p[lpn as usize];
            if from == NONE || from.wrapping_sub(first_to) < pages {
                continue;
            }
            if from.wrapping_sub(from_first) >= pages {
                self.valid[from_block as usize] -= taken;
                from_block = self.block_of.divide(from);
                from_first = from_block * pages;
                taken = 0;
            }
            taken += 1;
            copies += 1;
            let ppn = first_to + offset;
            self.l2p[lpn as usize] = ppn;
            self.p2l[ppn as usize] = lpn;
            self.next[to as usize] = self.next[to as usize].max(offset as u16 + 1);
            sink.copy(Ppn(from), Ppn(ppn), Oob { lpn: Lpn(lpn), sequence }, cause);
            sequence += 1;
        }
        self.valid[from_block as usize] -= taken;
        self.valid[to as usize] += copies as u16;
        self.sequence = sequence;
        copies
    }

    /// Makes `block` (or nothing) the data block of `lbn` and erases the one before.
    fn replace_data<S: FlashSink>(
        &mut self,
        lbn: u32,
        block: u32,
        copies: u32,
        kind: MergeKind,
        sink: &mut S,
    ) -> MergeCost {
        let old = std::mem::replace(&mut self.data[lbn as usize], block);
        let erases = u32::from(old != NONE);
        if old != NONE {
            self.erase(old, kind.cause(), sink);
        }
        let cost = MergeCost { copies, erases };
        sink.note(Note::Merged { kind, cost });
        cost
    }

    #[inline(always)]
    pub fn prefetch(&self, lpn: u32) {
        prefetch(&self.l2p, lpn as usize);
    }

    pub fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    pub fn memory_bytes(&self) -> u64 {
        let per_block = 2 * size_of::<u16>() + 2 * size_of::<u32>();
        ((self.l2p.len() + self.p2l.len() + self.data.len()) * size_of::<u32>() + self.erases.len() * per_block) as u64
    }

    /// Verifies maps, counts and that every block has exactly one role; `log` are the blocks of the log.
    pub fn check(&self, log: &[u32]) -> Result<(), String> {
        let mut roles = vec![""; self.erases.len()];
        let mut assign = |block: u32, role: &'static str| match std::mem::replace(&mut roles[block as usize], role) {
            "" => Ok(()),
            other => Err(format!("block {block} is {other} and {role}")),
        };
        self.free.iter().try_for_each(|&block| assign(block, "free"))?;
        self.data.iter().filter(|&&block| block != NONE).try_for_each(|&block| assign(block, "a data block"))?;
        log.iter().try_for_each(|&block| assign(block, "a log block"))?;
        if let Some(block) = roles.iter().position(|role| role.is_empty()) {
            return Err(format!("block {block} is neither free nor a data block nor in the log"));
        }
        for (lbn, &block) in self.data.iter().enumerate().filter(|&(_, &block)| block != NONE) {
            for offset in 0..self.pages_per_block {
                let held = self.p2l[(block * self.pages_per_block + offset) as usize];
                if held != NONE && held != lbn as u32 * self.pages_per_block + offset {
                    return Err(format!("data block {block} of logical block {lbn} holds page {held} at {offset}"));
                }
            }
        }
        let mut valid = vec![0_u16; self.erases.len()];
        for (lpn, &ppn) in self.l2p.iter().enumerate().filter(|&(_, &ppn)| ppn != NONE) {
            if self.p2l[ppn as usize] as usize != lpn {
                return Err(format!("page {lpn} is mapped to {ppn}, which holds {}", self.p2l[ppn as usize]));
            }
            valid[self.block_of.divide(ppn) as usize] += 1;
        }
        match valid.iter().zip(&self.valid).position(|(truth, counted)| truth != counted) {
            Some(block) => {
                Err(format!("block {block} holds {} valid pages, {} counted", valid[block], self.valid[block]))
            }
            None => Ok(()),
        }
    }
}
