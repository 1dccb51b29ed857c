//! SBFAST: FAST with several sequential log blocks. A write to the first page (header) of any sub-block can start one.
//!
//! A *sequential* log block (SLB) holds pages of one logical block at their own offsets. A logical block may have
//! several SLBs; new pages go to the newest. The *random* log (RLB) works as in FAST.
//!
//! ```text
//! write(page at offset k of logical block b), s = newest SLB of b:
//!     k is a sub-block header:
//!         place k of s can be programmed:  put it there
//!         else:                            take an SLB for b, after an eviction if necessary; put it there
//!     the header of its sub-block is valid in s:
//!         place k of s can be programmed:  put it there
//!         else:                            merge s; append to the RLB
//!     else: append to the RLB, after reclaiming its oldest block if necessary
//! put: an SLB whose pages are all valid switches at once
//! evict: of the victim SLB
//!     no page is valid:  erase it
//!     else:              merge it
//! merge(s): every place in s that some page of b needs can be programmed:
//!               partial merge: copies the missing pages from other SLBs, the RLB and the data block
//!           else: full merge of b; erase s
//! reclaim(victim), for each of its valid pages, at offset k of logical block q:
//!     place k of the newest SLB of q can be programmed: copy it there
//!     else: full merge of q
//! ```
//!
//! Source: Yang, "SBFAST: a subblock-based flash translation layer using fully-associative sector translation", slides,
//! 2013; no paper exists. Choices on points that the slides leave open:
//!
//! - the victim SLB ([`LogVictim`]): LRU matches the slides' tables of execution time, FIFO matches the slides' table
//!   of SLBs by streams;
//! - the pages that are merged when a random log block is reclaimed (`RlbMerge`);
//! - choices that no table of the slides can confirm: a header whose offset is already programmed gets a new SLB; any
//!   other page whose offset is already programmed causes a merge of its SLB; an SLB switches when full.

use serde::{Deserialize, Serialize};
use ssdlab_core::list::Queue;
use ssdlab_core::{Archive, Archived, BlockId, Lpn, Parameter, Settings, Unit};
use ssdlab_nand::{Cause, FlashSink, Note, RetireReason, Role};

use crate::Problem;
use crate::log::{HostPage, Log, LogBlock, LogBlocks, LogDevice, LogFtl, LogInfo, LogRules, LogVictim, Ring};

const NONE: u32 = u32::MAX;

/// Pages of a logical block that are merged when a random log block is reclaimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RlbMerge {
    /// Merges the pages of the victim and the data block, and ignores other log blocks. Newer pages in other log blocks
    /// stay there (case 2.2.1 of the slides).
    Victim,
    /// Merges all pages of the logical block, as in FAST.
    Block,
}

/// Registry entry of this log-block FTL.
pub static INFO: LogInfo = LogInfo {
    name: "sbfast",
    help: "SBFAST: FAST with several sequential log blocks, started at sub-block headers",
    source: "Yang, slides, 2013",
    parameters: &[SLB, LogVictim::PARAMETER, SUB_BLOCK, RLB_MERGE],
    role: LogRules {
        // The FTL reserves one block as the target of a full merge.
        reserve_blocks: 1,
        // SBFAST needs at least one sequential and one random log block.
        has_log: true,
        least_log_blocks: |_| 2,
        check,
        build: None,
    },
};

const SLB: Parameter = Parameter::new(
    "slb",
    Unit::Count("blocks"),
    4,
    [1, 1 << 20],
    "Number of log blocks used as sequential log blocks (SLBs).",
)
.example(8);

const SUB_BLOCK: Parameter = Parameter::new(
    "sub_block",
    Unit::Count("pages"),
    16,
    [1, 32_767],
    "Pages per sub-block (SBS); must divide the number of pages per block.",
)
.example(64);

const RLB_MERGE: Parameter = Parameter::one_of(
    "rlb_merge",
    || {
        vec![
            ("victim", "only its pages in the reclaimed log block and in its data block"),
            ("block", "all its pages, including pages in other log blocks"),
        ]
    },
    "Pages of a logical block to merge when a random log block is reclaimed.",
)
.example(1);

fn check(settings: &Settings, log: &LogBlocks) -> Result<(), Problem> {
    let LogBlocks { count, pages } = *log;
    let [sequential_blocks, sub_block_pages] = [SLB, SUB_BLOCK].map(|parameter| settings.get(parameter.name) as u32);
    if sequential_blocks >= count {
        let message = format!(
            "{sequential_blocks} sequential log blocks leave no random log block (total: {count}); lower it to {}",
            count - 1
        );
        return Err(Problem::new(SLB.name, message));
    }
    if !pages.is_multiple_of(sub_block_pages) {
        let divides = |sub_block: &u32| pages.is_multiple_of(*sub_block);
        let below = (1..sub_block_pages.min(pages)).rev().find(divides).unwrap_or(1);
        let message = format!(
            "a sub-block of {sub_block_pages} pages does not divide a block of {pages} pages; lower it to {below}"
        );
        return Err(Problem::new(SUB_BLOCK.name, message));
    }
    Ok(())
}

/// The log of SBFAST: sequential log blocks (SLBs) and a ring of random log blocks (RLBs).
pub struct Sbfast {
    victim: LogVictim,
    sub_block_pages: u32,
    rlb_merge: RlbMerge,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    /// Indexes of the slots in use, next victim first.
    order: Queue,
    /// For each logical block, the index in `slots` of its newest SLB.
    newest: Vec<u32>,
    random: Ring,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Slot {
    lbn: u32,
    block: u32,
    /// Index in `slots` of the next older SLB of the same logical block.
    older: u32,
    written: u32,
}

/// SBFAST, the sub-block based FTL.
pub type SbfastFtl = LogFtl<Sbfast>;

impl Sbfast {
    fn newest(&self, lbn: u32) -> Option<u32> {
        let slot = self.newest[lbn as usize];
        (slot != NONE).then_some(slot)
    }

    fn can_put(&self, device: &LogDevice, slot: u32, offset: u32) -> bool {
        device.can_program(self.slots[slot as usize].block, offset)
    }

    /// Removes an SLB from the log. The caller must reuse or erase the SLB's flash block.
    fn remove(&mut self, slot: u32, reason: RetireReason, sink: &mut impl FlashSink) {
        let Slot { lbn, block, older, written } = self.slots[slot as usize];
        if self.newest[lbn as usize] == slot {
            self.newest[lbn as usize] = older;
        } else {
            let mut above = self.newest[lbn as usize];
            while self.slots[above as usize].older != slot {
                above = self.slots[above as usize].older;
            }
            self.slots[above as usize].older = older;
        }
        self.order.remove(slot);
        self.free_slots.push(slot);
        sink.note(Note::Retired { block: BlockId(block), written, reason });
    }

    /// Updates the state of an SLB after a page was programmed into it.
    fn written<S: FlashSink>(&mut self, device: &mut LogDevice, slot: u32, sink: &mut S) -> Option<()> {
        let Slot { lbn, block, .. } = self.slots[slot as usize];
        self.slots[slot as usize].written += 1;
        if self.victim == LogVictim::Lru {
            self.order.renew(slot);
        }
        if device.valid(block) < device.pages_per_block() {
            return Some(());
        }
        self.remove(slot, RetireReason::Completed, sink);
        device.merge_in_place(lbn, block, sink)
    }

    fn put<S: FlashSink>(&mut self, device: &mut LogDevice, slot: u32, page: HostPage, sink: &mut S) -> Option<()> {
        let HostPage { address, number, .. } = page;
        let block = self.slots[slot as usize].block;
        device.program(address.lpn, block, address.offset, (number, Role::SequentialLog), sink)?;
        sink.note(Note::Captured(Lpn(address.lpn)));
        self.written(device, slot, sink)
    }

    fn take_slot<S: FlashSink>(&mut self, device: &mut LogDevice, lbn: u32, sink: &mut S) -> Option<u32> {
        if self.free_slots.is_empty()
            && let Some(victim) = self.order.oldest()
        {
            self.evict(device, victim, sink)?;
        }
        let block = device.take(Role::SequentialLog, sink)?;
        let slot = self.free_slots.pop().expect("an eviction frees its slot");
        let older = self.newest[lbn as usize];
        self.slots[slot as usize] = Slot { lbn, block, older, written: 0 };
        self.newest[lbn as usize] = slot;
        self.order.push(slot);
        Some(slot)
    }

    fn evict<S: FlashSink>(&mut self, device: &mut LogDevice, slot: u32, sink: &mut S) -> Option<()> {
        let block = self.slots[slot as usize].block;
        if device.valid(block) > 0 {
            return self.merge(device, slot, RetireReason::Evicted, sink);
        }
        self.remove(slot, RetireReason::Evicted, sink);
        device.erase(block, Cause::Gc, sink);
        Some(())
    }

    /// Merges the logical block of an SLB.
    fn merge<S: FlashSink>(
        &mut self,
        device: &mut LogDevice,
        slot: u32,
        reason: RetireReason,
        sink: &mut S,
    ) -> Option<()> {
        let Slot { lbn, block, .. } = self.slots[slot as usize];
        self.remove(slot, reason, sink);
        device.merge_in_place(lbn, block, sink)
    }

    fn append<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()> {
        if self.random.is_full(device) {
            self.reclaim(device, sink)?;
        }
        self.random.append(device, page, sink)
    }

    fn reclaim<S: FlashSink>(&mut self, device: &mut LogDevice, sink: &mut S) -> Option<()> {
        let victim = self.random.give_up().expect("a full ring has an oldest block");
        device.retire(victim, RetireReason::Oldest, sink);
        let mut merged = false;
        for offset in 0..device.pages_per_block() {
            device.expect_page(victim, offset);
            let Some(address) = device.valid_page(victim, offset) else { continue };
            device.expect_merge(victim, offset + 1);
            let why = (Cause::FullMerge, Role::SequentialLog);
            if let Some(slot) = self.newest(address.lbn).filter(|&slot| self.can_put(device, slot, address.offset))
                && device.copy(address.lpn, self.slots[slot as usize].block, address.offset, why, sink).is_some()
            {
                // If this page was the last missing page, the SLB switches.
                merged |= device.valid(self.slots[slot as usize].block) == device.pages_per_block();
                self.written(device, slot, sink)?;
            } else {
                match self.rlb_merge {
                    RlbMerge::Victim => device.overlay_merge(address.lbn, victim, sink)?,
                    RlbMerge::Block => device.full_merge(address.lbn, sink)?,
                }
                merged = true;
            }
        }
        device.erase_emptied(victim, merged, sink);
        Some(())
    }
}

impl Log for Sbfast {
    const INFO: &'static LogInfo = &INFO;
    const SWITCHES: Role = Role::SequentialLog;

    fn new(device: &LogDevice, log_blocks: u32, settings: &Settings) -> Self {
        let sequential_blocks = settings.get(SLB.name) as u32;
        Self {
            victim: LogVictim::of(settings),
            sub_block_pages: settings.get(SUB_BLOCK.name) as u32,
            rlb_merge: [RlbMerge::Victim, RlbMerge::Block][settings.get(RLB_MERGE.name) as usize],
            slots: vec![Slot { lbn: NONE, block: NONE, older: NONE, written: 0 }; sequential_blocks as usize],
            free_slots: (0..sequential_blocks).rev().collect(),
            order: Queue::new(sequential_blocks),
            newest: vec![NONE; device.logical_blocks() as usize],
            random: Ring::new(log_blocks - sequential_blocks, Role::Log),
        }
    }

    fn captures(&self) -> bool {
        true
    }

    fn write<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()> {
        let address = page.address;
        let newest = self.newest(address.lbn);
        let room = newest.filter(|&slot| self.can_put(device, slot, address.offset));
        let beyond_header = address.offset % self.sub_block_pages;
        if beyond_header == 0 {
            let slot = match room {
                Some(slot) => slot,
                None => self.take_slot(device, address.lbn, sink)?,
            };
            return self.put(device, slot, page, sink);
        }
        let header = address.lpn - beyond_header;
        match newest.filter(|&slot| device.is_in(header, self.slots[slot as usize].block)) {
            Some(_) if let Some(slot) = room => self.put(device, slot, page, sink),
            Some(slot) => {
                self.merge(device, slot, RetireReason::Broken, sink)?;
                self.append(device, page, sink)
            }
            None => self.append(device, page, sink),
        }
    }

    fn blocks(&self) -> Vec<u32> {
        let sequential = self.order.iter().map(|slot| self.slots[slot as usize].block);
        sequential.chain(self.random.blocks()).collect()
    }

    fn role(&self, block: u32) -> Role {
        if self.random.blocks().any(|random| random == block) { Role::Log } else { Role::SequentialLog }
    }

    /// Returns the size of the log's tables. An SLB needs block numbers and a bit per page; the random log needs 4
    /// bytes per page.
    fn table_bytes(&self, device: &LogDevice) -> u64 {
        let pages = u64::from(device.pages_per_block());
        self.slots.len() as u64 * (8 + pages.div_ceil(8)) + 4 * u64::from(self.random.capacity()) * pages
    }

    fn memory_bytes(&self) -> u64 {
        let per_slot = size_of::<Slot>() + size_of::<u32>() + Queue::BYTES_PER_ITEM;
        let words = self.newest.len() + self.random.capacity() as usize;
        (self.slots.len() * per_slot + words * size_of::<u32>()) as u64
    }

    fn take_up(&mut self, device: &LogDevice, blocks: Vec<LogBlock>) -> Vec<LogBlock> {
        let is_sequential = |block: &LogBlock| block.role == Role::SequentialLog && block.in_place;
        let (sequential, mut rest): (Vec<_>, Vec<_>) = self.random.take_up(blocks).into_iter().partition(is_sequential);
        let mut taken = Vec::new();
        for block in sequential {
            let (Some(lbn), Some(slot)) = (block.owner, self.free_slots.pop()) else {
                rest.push(block);
                continue;
            };
            let older = std::mem::replace(&mut self.newest[lbn as usize], slot);
            let written = device.programmed(block.block);
            self.slots[slot as usize] = Slot { lbn, block: block.block, older, written };
            taken.push((block.written, slot));
        }
        if self.victim == LogVictim::Lru {
            taken.sort_unstable();
        }
        taken.into_iter().for_each(|(_, slot)| self.order.push(slot));
        rest
    }

    fn check(&self, device: &LogDevice) -> Result<(), String> {
        for slot in self.order.iter() {
            let Slot { lbn, block, .. } = self.slots[slot as usize];
            device.check_log_block("SLB", block, lbn, true)?;
        }
        for (lbn, &newest) in self.newest.iter().enumerate() {
            let mut slot = newest;
            let mut left = self.slots.len();
            while slot != NONE {
                let Slot { lbn: owner, older, .. } = self.slots[slot as usize];
                if owner != lbn as u32 || left == 0 {
                    return Err(format!(
                        "the SLB list of logical block {lbn} contains slot {slot}, which belongs to logical block \
                         {owner}"
                    ));
                }
                slot = older;
                left -= 1;
            }
        }
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { victim: _, sub_block_pages: _, rlb_merge: _, slots, free_slots, order, newest, random } = self;
        archive.value(slots)?;
        archive.value(free_slots)?;
        archive.value(order)?;
        archive.array(newest)?;
        random.archive(archive)
    }
}
