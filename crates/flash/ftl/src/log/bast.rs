//! BAST: every log block belongs to one logical block.
//!
//! ```text
//! write(page of logical block b):
//!     b has a log block that is full:  merge b
//!     b has no log block:              if all log blocks are taken, merge the victim's logical block
//!                                      take a free log block for b
//!     append to the log block of b
//! merge(b), by the pages that the log block holds in place:
//!     0 to B-1:  switch    1 erase
//!     0 to k-1:  partial   copies the other valid pages, 1 erase
//!     else:      full      copies all valid pages, 2 erases
//! ```
//!
//! Source: Kim, Kim, Noh, Min, Cho, "A space-efficient flash translation layer for CompactFlash systems", IEEE
//! Transactions on Consumer Electronics 48(2), 2002. The paper does not define the victim log block; see [`LogVictim`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ssdlab_core::list::Queue;
use ssdlab_core::{Archive, Archived, Settings};
use ssdlab_nand::{FlashSink, RetireReason, Role};

use crate::log::{HostPage, Log, LogBlock, LogDevice, LogFtl, LogInfo, LogRules, LogVictim};

const NONE: u32 = u32::MAX;

/// Registry entry of this log-block FTL.
pub static INFO: LogInfo = LogInfo {
    name: "bast",
    help: "BAST: each log block belongs to one logical block",
    source: "Kim et al., IEEE TCE 2002",
    parameters: &[LogVictim::PARAMETER],
    role: LogRules {
        // The FTL reserves one block as the target of a full merge.
        reserve_blocks: 1,
        has_log: true,
        least_log_blocks: |_| 1,
        check: |_, _| Ok(()),
        build: None,
    },
};

/// The log of BAST. Each log block holds pages of only one logical block.
pub struct Bast {
    victim: LogVictim,
    /// Index in `slots` of the log block of each logical block; [`NONE`] if the logical block has no log block.
    log_of: Vec<u32>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    /// Indexes of the slots in use, in eviction order (next victim first).
    order: Queue,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Slot {
    lbn: u32,
    block: u32,
    /// True if every page written to the log block so far is at its own offset.
    in_place: bool,
}

/// BAST, the block-associative log FTL.
pub type BastFtl = LogFtl<Bast>;

impl Bast {
    fn merge<S: FlashSink>(
        &mut self,
        device: &mut LogDevice,
        slot: u32,
        reason: RetireReason,
        sink: &mut S,
    ) -> Option<()> {
        let Slot { lbn, block, in_place } = self.slots[slot as usize];
        self.log_of[lbn as usize] = NONE;
        self.free_slots.push(slot);
        self.order.remove(slot);
        device.retire(block, reason, sink);
        if in_place { device.merge_in_place(lbn, block, sink) } else { device.merge_fully(lbn, block, sink) }
    }

    fn take_slot<S: FlashSink>(&mut self, device: &mut LogDevice, lbn: u32, sink: &mut S) -> Option<u32> {
        if self.free_slots.is_empty()
            && let Some(victim) = self.order.oldest()
        {
            self.merge(device, victim, RetireReason::Evicted, sink)?;
        }
        let block = device.take(Role::Log, sink)?;
        let slot = self.free_slots.pop().expect("a merge frees its log block");
        self.slots[slot as usize] = Slot { lbn, block, in_place: true };
        self.log_of[lbn as usize] = slot;
        self.order.push(slot);
        Some(slot)
    }
}

impl Log for Bast {
    const INFO: &'static LogInfo = &INFO;
    const SWITCHES: Role = Role::Log;

    fn new(device: &LogDevice, log_blocks: u32, settings: &Settings) -> Self {
        Self {
            victim: LogVictim::of(settings),
            log_of: vec![NONE; device.logical_blocks() as usize],
            slots: vec![Slot { lbn: NONE, block: NONE, in_place: false }; log_blocks as usize],
            free_slots: (0..log_blocks).rev().collect(),
            order: Queue::new(log_blocks),
        }
    }

    fn write<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()> {
        let HostPage { address, number, .. } = page;
        let mut slot = self.log_of[address.lbn as usize];
        if slot != NONE && device.is_full(self.slots[slot as usize].block) {
            self.merge(device, slot, RetireReason::Full, sink)?;
            slot = NONE;
        }
        if slot == NONE {
            slot = self.take_slot(device, address.lbn, sink)?;
        } else if self.victim == LogVictim::Lru {
            self.order.renew(slot);
        }
        let log = &mut self.slots[slot as usize];
        let next = device.next(log.block);
        log.in_place &= address.offset == next;
        device.program(address.lpn, log.block, next, (number, Role::Log), sink)
    }

    fn blocks(&self) -> Vec<u32> {
        self.order.iter().map(|slot| self.slots[slot as usize].block).collect()
    }

    fn role(&self, _block: u32) -> Role {
        Role::Log
    }

    /// Returns the size in bytes of the tables that BAST searches. Each log block has a table of two block numbers (log
    /// block and logical block) and, for each page, its offset in the logical block.
    fn table_bytes(&self, device: &LogDevice) -> u64 {
        let offset_bits = u64::from(device.pages_per_block().next_power_of_two().ilog2());
        let page_table = (u64::from(device.pages_per_block()) * offset_bits).div_ceil(8);
        self.slots.len() as u64 * (8 + page_table)
    }

    fn memory_bytes(&self) -> u64 {
        let per_slot = size_of::<Slot>() + size_of::<u32>() + Queue::BYTES_PER_ITEM;
        (self.log_of.len() * size_of::<u32>() + self.slots.len() * per_slot) as u64
    }

    /// Restores the log after a power loss. If a logical block has several log blocks, uses only the newest.
    fn take_up(&mut self, _device: &LogDevice, blocks: Vec<LogBlock>) -> Vec<LogBlock> {
        let mut rest = Vec::new();
        let mut slots = BTreeMap::new();
        for block in blocks {
            match block.owner.filter(|_| block.role == Role::Log) {
                Some(lbn) => rest.extend(slots.insert(lbn, block)),
                None => rest.push(block),
            }
        }
        let mut slots: Vec<(u32, LogBlock)> = slots.into_iter().collect();
        slots.sort_by_key(|(_, block)| match self.victim {
            LogVictim::Lru => block.written,
            LogVictim::Fifo => block.opened,
        });
        for (lbn, block) in slots {
            let Some(slot) = self.free_slots.pop() else {
                rest.push(block);
                continue;
            };
            self.slots[slot as usize] = Slot { lbn, block: block.block, in_place: block.in_place };
            self.log_of[lbn as usize] = slot;
            self.order.push(slot);
        }
        rest
    }

    fn check(&self, device: &LogDevice) -> Result<(), String> {
        for slot in self.order.iter() {
            let Slot { lbn, block, in_place } = self.slots[slot as usize];
            if self.log_of[lbn as usize] != slot {
                return Err(format!(
                    "log block {block} belongs to logical block {lbn}, which refers to another log block"
                ));
            }
            device.check_log_block("log block", block, lbn, in_place)?;
        }
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { victim: _, log_of, slots, free_slots, order } = self;
        archive.array(log_of)?;
        archive.value(slots)?;
        archive.value(free_slots)?;
        archive.value(order)
    }
}
