//! Inserts pages into a shard, and writes to uncompressed pages.

use std::sync::Arc;

use super::{Compressed, Frame, SLOT_BYTES, Shard, Slot, State};
use crate::PageId;

impl Shard {
    /// Marks an absent page as in flight and returns its slot; returns `None` if the page table is full and cannot grow
    /// yet.
    pub fn begin(&mut self, id: PageId) -> Option<u32> {
        let at = self.free_slot()?;
        let bucket = self.bucket(id);
        let slot = &mut self.slots[at as usize];
        (slot.id, slot.state, slot.next) = (id, State::InFlight, self.heads[bucket]);
        *slot.touched.get_mut() = false;
        self.heads[bucket] = at;
        Some(at)
    }

    fn free_slot(&mut self) -> Option<u32> {
        if self.free_slots.is_empty() {
            let more = self.slots.len() / 8 + 64;
            // While a table is copied, the old and the new table both occupy memory.
            let policies = self.raw.growth_bytes(more) + self.compressed.growth_bytes(more);
            let needed = more * SLOT_BYTES + policies + self.slots.len() * size_of::<Slot>();
            if self.total_bytes() + needed <= self.budget_bytes {
                self.reserved_bytes = 0;
                self.grow(self.slots.len() + more);
            } else {
                // The page table grows later, after evictions of uncompressed pages have freed the reserved memory.
                self.reserved_bytes = needed;
                self.drop_compressed();
            }
        }
        self.free_slots.pop()
    }

    pub fn missed(&mut self, id: PageId) {
        self.counts.misses += 1;
        if let Some(sketch) = &mut self.sketch {
            sketch.count(id);
        }
        let mean_bytes = self.slabs.content_bytes().checked_div(self.slabs.pages()).unwrap_or(self.page_bytes / 2);
        if let Some(balance) = &mut self.balance {
            balance.missed(id, mean_bytes);
        }
        self.rebalance();
    }

    /// Removes a compressed page from the compressed pool, copies its bytes to `buffer` and marks it as in flight.
    pub fn begin_restore(&mut self, at: u32, buffer: &mut [u8]) -> Compressed {
        let compressed = self.take_out(at);
        let len = compressed.len as usize;
        buffer[..len].copy_from_slice(self.slabs.get(compressed.place, len));
        self.slabs.free(compressed.place, len);
        self.counts.compressed_hits += 1;
        if let Some(balance) = &mut self.balance {
            balance.restored(compressed.demoted);
        }
        self.rebalance();
        compressed
    }

    /// Removes a compressed page from the compressed pool and marks it as in flight, because a write will replace its
    /// whole contents.
    pub fn begin_overwrite(&mut self, at: u32) {
        let compressed = self.take_out(at);
        self.slabs.free(compressed.place, compressed.len as usize);
        self.counts.compressed_overwritten += 1;
    }

    fn take_out(&mut self, at: u32) -> Compressed {
        let State::Compressed(compressed) = self.slots[at as usize].state else {
            unreachable!("the caller, which holds the lock, found the page compressed")
        };
        self.compressed.remove(at);
        self.slots[at as usize].state = State::InFlight;
        compressed
    }

    /// Changes the state of a page from in flight to uncompressed; `frame` contains its bytes.
    pub fn land(&mut self, at: u32, frame: Frame, dirty: bool) {
        let slot = &mut self.slots[at as usize];
        slot.dirty = dirty;
        slot.busy = false;
        slot.version = slot.version.wrapping_add(1);
        slot.state = State::Raw(frame);
        self.raw.insert(at, slot.id);
        self.raw_pages += 1;
        self.dirty_pages += usize::from(dirty);
        self.working -= 1;
        self.progress = true;
    }

    /// Drops a page in flight; the page is then absent.
    pub fn abort(&mut self, at: u32) {
        self.unlink(at);
        self.progress = true;
    }

    /// Overwrites an uncompressed page in place. Returns false if another thread still holds a reference to the page's
    /// memory.
    pub fn overwrite(&mut self, at: u32, bytes: &[u8]) -> bool {
        let State::Raw(page) = &mut self.slots[at as usize].state else { return false };
        let Some(page) = Arc::get_mut(page) else { return false };
        page.copy_from_slice(bytes);
        self.mark_written(at);
        true
    }

    /// Replaces the frame of an uncompressed page with `frame`, which contains the written bytes.
    pub fn replace_frame(&mut self, at: u32, frame: Frame) {
        if let State::Raw(page) = &mut self.slots[at as usize].state {
            let old = std::mem::replace(page, frame);
            self.working -= 1;
            self.progress = true;
            self.recycle(old);
            self.mark_written(at);
        }
    }

    fn mark_written(&mut self, at: u32) {
        self.raw.hit(at);
        let slot = &mut self.slots[at as usize];
        slot.version = slot.version.wrapping_add(1);
        *slot.touched.get_mut() = true;
        self.dirty_pages += usize::from(!slot.dirty);
        slot.dirty = true;
        self.counts.raw_overwritten += 1;
    }
}
