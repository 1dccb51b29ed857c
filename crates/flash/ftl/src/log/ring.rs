//! A FIFO of log blocks: blocks are reclaimed in the order in which they were filled.

use std::collections::VecDeque;

use ssdlab_core::{Archive, Archived};
use ssdlab_nand::{Cause, FlashSink, Role};

use super::{HostPage, LogBlock, LogDevice, PageAddress};

/// A FIFO of log blocks. Pages of any logical block are appended to the newest block.
pub(crate) struct Ring {
    blocks: VecDeque<u32>,
    capacity: u32,
    role: Role,
}

impl Ring {
    pub fn new(capacity: u32, role: Role) -> Self {
        Self { blocks: VecDeque::with_capacity(capacity as usize), capacity, role }
    }

    pub fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { blocks, capacity: _, role: _ } = self;
        archive.value(blocks)
    }

    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    pub fn blocks(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().copied()
    }

    /// Returns the log block to which pages are appended.
    #[inline]
    pub fn newest(&self) -> Option<u32> {
        self.blocks.back().copied()
    }

    pub fn oldest(&self) -> Option<u32> {
        self.blocks.front().copied()
    }

    pub fn give_up(&mut self) -> Option<u32> {
        self.blocks.pop_front()
    }

    pub fn push(&mut self, block: u32) {
        self.blocks.push_back(block);
    }

    /// Fills the ring after a power loss. Selects the log blocks of the ring's type from `blocks`, which are ordered
    /// from oldest to newest. Keeps the newest blocks that fit, and returns all other blocks.
    pub fn take_up(&mut self, blocks: Vec<LogBlock>) -> Vec<LogBlock> {
        let (mut own, mut rest): (Vec<LogBlock>, Vec<LogBlock>) =
            blocks.into_iter().partition(|block| block.role == self.role);
        let excess = own.len().saturating_sub(self.capacity as usize);
        rest.extend(own.drain(..excess));
        self.blocks.extend(own.iter().map(|block| block.block));
        rest
    }

    /// Returns the number of pages that can be appended before a block must be reclaimed.
    pub fn room(&self, device: &LogDevice) -> u32 {
        let unused = self.capacity - self.blocks.len() as u32;
        let open = self.newest().map_or(0, |block| device.pages_per_block() - device.next(block));
        unused * device.pages_per_block() + open
    }

    /// True if the ring has no room for the next page.
    #[inline]
    pub fn is_full(&self, device: &LogDevice) -> bool {
        self.newest().is_none_or(|block| device.is_full(block)) && self.blocks.len() as u32 == self.capacity
    }

    /// Returns the block and offset of the next page; the ring must not be full.
    #[inline]
    fn next_place<S: FlashSink>(&mut self, device: &mut LogDevice, sink: &mut S) -> Option<(u32, u32)> {
        match self.newest() {
            Some(block) if !device.is_full(block) => Some((block, device.next(block))),
            _ => {
                debug_assert!((self.blocks.len() as u32) < self.capacity, "the ring is full");
                let block = device.take(self.role, sink)?;
                self.push(block);
                Some((block, 0))
            }
        }
    }

    /// Appends a host page to the newest log block; the ring must not be full. Returns None if the program fails.
    #[inline]
    pub fn append<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()> {
        let HostPage { address, number, .. } = page;
        let (block, offset) = self.next_place(device, sink)?;
        device.program(address.lpn, block, offset, (number, self.role), sink)
    }

    /// Appends a copy of a valid page, like [`Self::append`].
    pub fn append_copy<S: FlashSink>(
        &mut self,
        device: &mut LogDevice,
        address: PageAddress,
        cause: Cause,
        sink: &mut S,
    ) -> Option<()> {
        let (block, offset) = self.next_place(device, sink)?;
        device.copy(address.lpn, block, offset, (cause, self.role), sink)
    }
}
