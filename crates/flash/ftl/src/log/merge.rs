//! The merges of the log-block FTLs. [`MergeKind`] has their names, which come from the papers. On a drive that was
//! never filled, there may be no pages to copy.

use std::ops::Range;

use ssdlab_core::{BlockId, Entry, Lpn, Ppn};
use ssdlab_nand::{Cause, FlashSink, MergeCost, MergeKind, Note, Role, SpareArea};

use super::HostPage;
use super::device::LogDevice;
use crate::recovery::NONE;

impl LogDevice {
    /// Merges a logical block with a log block whose pages are all at their own offsets, as cheaply as possible.
    pub fn merge_in_place<S: FlashSink>(&mut self, lbn: u32, block: u32, sink: &mut S) -> Option<()> {
        if self.can_complete(lbn, block, None) {
            let first = (block * self.pages_per_block) as usize;
            let is_complete = !self.p2l[first..first + self.pages_per_block as usize].contains(&Entry::NONE);
            let kind = if is_complete { MergeKind::Switch } else { MergeKind::Partial };
            if let Some(copies) = self.gather(lbn, 0..self.pages_per_block, block, kind.cause(), sink) {
                self.replace_data(lbn, block, copies, kind, sink);
                return Some(());
            }
        }
        self.merge_fully(lbn, block, sink)
    }

    /// Like [`Self::merge_in_place`], but the merge also writes a host page to its own offset in the block.
    pub fn merge_in_place_with<S: FlashSink>(&mut self, page: HostPage, block: u32, sink: &mut S) -> Option<()> {
        let address = page.address;
        if self.can_complete(address.lbn, block, Some(address.offset))
            && let Some(copies) = self.gather_around(page, block, Cause::PartialMerge, sink)
        {
            self.replace_data(address.lbn, block, copies, MergeKind::Partial, sink);
            return Some(());
        }
        let (target, copies) = self.fill(Cause::FullMerge, sink, |device, target, sink| {
            device.gather_around(page, target, Cause::FullMerge, sink)
        })?;
        self.replace_data(address.lbn, target, copies, MergeKind::Full, sink);
        self.erase(block, Cause::FullMerge, sink);
        Some(())
    }

    /// Merges a logical block fully and erases the log block `block`.
    pub fn merge_fully<S: FlashSink>(&mut self, lbn: u32, block: u32, sink: &mut S) -> Option<()> {
        self.full_merge(lbn, sink)?;
        self.erase(block, Cause::FullMerge, sink);
        Some(())
    }

    /// True if `block` can become the data block of the logical block. Every valid page, and the page to be written at
    /// `offset`, must be at its own offset or still be programmable there.
    fn can_complete(&self, lbn: u32, block: u32, offset: Option<u32>) -> bool {
        let first = block * self.pages_per_block;
        (0..self.pages_per_block).zip(&self.l2p[self.pages_of(lbn)]).all(|(page, &entry)| {
            let settled = entry == Entry::NONE || entry == Entry::of(first + page);
            (settled && offset != Some(page)) || self.can_program(block, page)
        })
    }

    /// Performs a full merge: copies the valid pages of the logical block to a free block, its new data block.
    pub fn full_merge<S: FlashSink>(&mut self, lbn: u32, sink: &mut S) -> Option<()> {
        if self.l2p[self.pages_of(lbn)].iter().all(|&entry| entry == Entry::NONE) {
            self.replace_data(lbn, NONE, 0, MergeKind::Full, sink);
            return Some(());
        }
        let (target, copies) = self.fill(Cause::FullMerge, sink, |device, target, sink| {
            device.gather(lbn, 0..device.pages_per_block, target, Cause::FullMerge, sink)
        })?;
        self.replace_data(lbn, target, copies, MergeKind::Full, sink);
        Some(())
    }

    /// Performs a full merge with [`Cause::Recovery`], and without a note.
    pub(crate) fn merge_for_recovery<S: FlashSink>(&mut self, lbn: u32, sink: &mut S) -> Option<()> {
        let (target, _) = self.fill(Cause::Recovery, sink, |device, target, sink| {
            device.gather(lbn, 0..device.pages_per_block, target, Cause::Recovery, sink)
        })?;
        let old = std::mem::replace(&mut self.data[lbn as usize], target);
        if old != NONE {
            self.erase(old, Cause::Recovery, sink);
        }
        Some(())
    }

    /// Merges only those pages of a logical block that lie in its data block or in the log block `log`, which must hold
    /// a valid page of the logical block. Ignores newer pages in other log blocks: they stay there, and the merge
    /// copies their older versions from the data block. If a program fails, merges all pages.
    pub fn overlay_merge<S: FlashSink>(&mut self, lbn: u32, log: u32, sink: &mut S) -> Option<()> {
        let mut is_first = true;
        let (target, copies) = self.fill(Cause::FullMerge, sink, |device, target, sink| {
            if std::mem::take(&mut is_first) {
                device.overlay(lbn, log, target, sink)
            } else {
                device.gather(lbn, 0..device.pages_per_block, target, Cause::FullMerge, sink)
            }
        })?;
        self.replace_data(lbn, target, copies, MergeKind::Full, sink);
        Some(())
    }

    /// Copies pages for [`Self::overlay_merge`]. Returns the number of copies, or None if a program fails.
    fn overlay<S: FlashSink>(&mut self, lbn: u32, log: u32, target: u32, sink: &mut S) -> Option<u32> {
        let (data, pages) = (self.data[lbn as usize], self.pages_per_block);
        let mut copies = 0;
        for (offset, lpn) in (lbn * pages..(lbn + 1) * pages).enumerate() {
            let newest = self.l2p[lpn as usize].page();
            let old = data.wrapping_mul(pages).wrapping_add(offset as u32);
            if newest == NONE {
                continue;
            } else if newest == old || self.holds(log, newest) {
                self.copy(lpn, target, offset as u32, (Cause::FullMerge, Role::Data), sink)?;
            } else if data != NONE && self.p2l[old as usize] == Entry::of(lpn) {
                self.copy_outdated(lpn, old, target, offset as u32, sink)?;
            } else {
                continue;
            }
            copies += 1;
        }
        Some(copies)
    }

    /// Copies an outdated version of a page, whose newest version is elsewhere. Returns None if the program fails.
    fn copy_outdated<S: FlashSink>(
        &mut self,
        lpn: u32,
        from: u32,
        block: u32,
        offset: u32,
        sink: &mut S,
    ) -> Option<()> {
        let to = block * self.pages_per_block + offset;
        let oob = SpareArea { lpn: Lpn(lpn), sequence: self.next_sequence(), role: Role::Data };
        sink.copy(Ppn(from), Ppn(to), oob, Cause::FullMerge);
        self.waited.cost.copies += 1;
        if !self.succeeded(block, sink) {
            return None;
        }
        self.p2l[to as usize] = Entry::of(lpn);
        self.next[block as usize] = offset as u16 + 1;
        Some(())
    }

    /// Fills a free block by calling `gather`. If a program fails, tries again with another free block, then erases the
    /// failed block, which no longer has valid pages. Returns the filled block and the number of copies.
    #[inline]
    fn fill<S: FlashSink>(
        &mut self,
        cause: Cause,
        sink: &mut S,
        mut gather: impl FnMut(&mut Self, u32, &mut S) -> Option<u32>,
    ) -> Option<(u32, u32)> {
        let mut failed = Vec::new();
        loop {
            let target = self.take(Role::Data, sink)?;
            if let Some(copies) = gather(self, target, sink) {
                failed.into_iter().for_each(|block| self.erase(block, cause, sink));
                return Some((target, copies));
            }
            failed.push(target);
        }
    }

    fn pages_of(&self, lbn: u32) -> Range<usize> {
        let first = lbn as usize * self.pages_per_block as usize;
        first..first + self.pages_per_block as usize
    }

    fn gather_around<S: FlashSink>(&mut self, page: HostPage, to: u32, cause: Cause, sink: &mut S) -> Option<u32> {
        let HostPage { address, number, .. } = page;
        let before = self.gather(address.lbn, 0..address.offset, to, cause, sink)?;
        self.program(address.lpn, to, address.offset, (number, Role::Data), sink)?;
        Some(before + self.gather(address.lbn, address.offset + 1..self.pages_per_block, to, cause, sink)?)
    }

    /// Copies the valid pages of the logical block at `offsets` to block `to`, except pages that are already there.
    /// Returns the number of copies, or None if a program fails.
    #[inline]
    fn gather<S: FlashSink>(
        &mut self,
        lbn: u32,
        offsets: Range<u32>,
        to: u32,
        cause: Cause,
        sink: &mut S,
    ) -> Option<u32> {
        let pages = self.pages_per_block;
        let (first_lpn, first_to) = (lbn * pages, to * pages);
        let at = |first: u32| (first + offsets.start) as usize..(first + offsets.end) as usize;
        let Self { l2p, p2l, table, block_of, .. } = self;
        // Separate slices allow the compiler to keep the array addresses in registers.
        let (entries, places) = (&mut l2p[at(first_lpn)], &mut p2l[at(first_to)]);
        let mut sequence = self.sequence;
        let (mut copies, mut after, mut is_whole) = (0, 0, true);
        // Successive pages usually come from the same source block. The valid count is updated once per source block.
        let (mut from_block, mut from_first, mut taken) = (to, first_to, 0);
        for ((offset, entry), place) in offsets.clone().zip(entries).zip(places) {
            let from = entry.page();
            if from == NONE || from.wrapping_sub(first_to) < pages {
                continue;
            }
            let (lpn, ppn) = (first_lpn + offset, first_to + offset);
            sink.copy(Ppn(from), Ppn(ppn), SpareArea { lpn: Lpn(lpn), sequence, role: Role::Data }, cause);
            sequence += 1;
            if sink.fails() && sink.failure().is_some() {
                is_whole = false;
                break;
            }
            if from.wrapping_sub(from_first) >= pages {
                table.lose(BlockId(from_block), taken);
                from_block = block_of.divide(from);
                from_first = from_block * pages;
                taken = 0;
            }
            taken += 1;
            copies += 1;
            after = offset as u16 + 1;
            *entry = Entry::of(ppn);
            *place = Entry::of(lpn);
        }
        table.lose(BlockId(from_block), taken);
        table.gain(BlockId(to), copies);
        self.sequence = sequence;
        self.waited.cost.copies += copies;
        self.next[to as usize] = self.next[to as usize].max(after);
        if !is_whole {
            self.give_up_failing(to);
        }
        is_whole.then_some(copies)
    }

    /// Makes `block` (or [`NONE`]) the data block of `lbn` and erases the old data block.
    fn replace_data<S: FlashSink>(&mut self, lbn: u32, block: u32, copies: u32, kind: MergeKind, sink: &mut S) {
        let old = std::mem::replace(&mut self.data[lbn as usize], block);
        let erases = u32::from(old != NONE);
        if old != NONE {
            self.erase(old, kind.cause(), sink);
        }
        let cost = MergeCost { copies, erases };
        let data = (block != NONE).then_some(BlockId(block));
        sink.note(Note::Merged { lbn, kind, cost, data });
        self.waited.merged += 1;
        self.waited.reclaims |= kind == MergeKind::Full;
    }
}
