//! LAST: separate log blocks for sequential writes, for hot random writes and for cold random writes.
//!
//! ```text
//! write(page of logical block b):
//!     request of `threshold` pages or more:
//!         the page is the next page of b's sequential log block:  append; a full block switches
//!         else: merge the sequential log block of b, or the least recently written one if all are in use
//!               take a new sequential log block for b
//!     else: hot if the page was written to the random log at most `window` random writes ago, else cold
//!           append to the open block of this partition
//! reclaim a random log block, if all are in use:
//!     a block without valid pages:  erase it
//!     else, if there is a cold one: merge the logical blocks of the cold block with the lowest merge cost
//!     else, the oldest hot block:   its valid pages move to a cold block
//! ```
//! Hot pages are soon overwritten, so most hot blocks lose all their valid pages and cost only an erase.
//!
//! Source: Lee, Shin, Kim, Kim, "LAST: locality-aware sector translation for NAND flash memory-based storage systems",
//! ACM SIGOPS Operating Systems Review 42(6), 2008. The rules above follow descriptions in later papers, because the
//! text of the paper was not available. The README lists what is uncertain.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use ssdlab::ftl::{
    self, Cause, FlashSink, FtlInfo, FtlRules, HostPage, Log, LogBlock, LogDevice, LogFtl, RetireReason, Role,
};
use ssdlab::{Archive, Archived, NameTaken, Parameter, Settings, Unit};

/// Adds the FTL to ssdlab. The setting `ftl=last` then selects it.
///
/// # Errors
/// Fails if another FTL already has this name.
pub fn register() -> Result<(), NameTaken> {
    ftl::register(&LAST)
}

const SEQUENTIAL: Parameter =
    Parameter::new("sequential", Unit::Count("blocks"), 4, [0, 65_536], "Number of log blocks for large requests.")
        .example(2);

const THRESHOLD: Parameter = Parameter::new(
    "threshold",
    Unit::Count("pages"),
    4,
    [1, 1 << 20],
    "Requests of at least this size go to the sequential log.",
)
.example(8);

const WINDOW: Parameter = Parameter::new(
    "window",
    Unit::Count("pages"),
    1024,
    [1, u32::MAX as u64],
    "A page is hot if it was written at most this many random writes ago.",
)
.example(256);

/// Parameters of the FTL.
pub const PARAMETERS: &[Parameter] = &[SEQUENTIAL, THRESHOLD, WINDOW];

/// Registry entry of this log-block FTL.
static LAST: FtlInfo = FtlInfo {
    name: "last",
    help: "LAST: sequential log blocks, and random log blocks for hot and for cold pages",
    source: "Lee et al., ACM SIGOPS OSR 42(6), 2008",
    parameters: PARAMETERS,
    role: FtlRules {
        // The reserved block receives the pages of a full merge, or becomes a cold block that receives the pages of a
        // hot block.
        reserve_blocks: 1,
        has_log: true,
        // The FTL needs a hot and a cold block in addition to the sequential log blocks.
        least_log_blocks: |settings| settings.get(SEQUENTIAL.name) as u32 + 2,
        check: |_, _| Ok(()),
        build: Some(&|shape, log_blocks, settings| Ok(Box::new(LastFtl::new(shape, log_blocks, settings)?))),
    },
};

/// LAST, as a log-block FTL.
pub type LastFtl = LogFtl<Last>;

/// A log block for large requests. It holds pages of one logical block, each at its own offset.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sequential {
    lbn: u32,
    block: u32,
}

/// Partition of the random log.
#[derive(Clone, Copy)]
enum Partition {
    Hot,
    Cold,
}

/// The log of LAST.
pub struct Last {
    threshold: u32,
    window: u32,
    most_sequential: usize,
    most_random: usize,
    /// Sequential log blocks, the least recently written block first.
    sequential: Vec<Sequential>,
    /// Blocks of the hot and of the cold partition, oldest first. Only the last block of a partition may have room.
    random: [VecDeque<u32>; 2],
    /// For each block, true if it belongs to the random log.
    is_random: Vec<bool>,
    /// For each logical page, the value of `writes` at its latest random write.
    written: Vec<u32>,
    /// Number of random writes so far, which may wrap around.
    writes: u32,
}

impl Last {
    fn write_sequential<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()> {
        let HostPage { address, number, .. } = page;
        let log = match self.sequential.iter().position(|log| log.lbn == address.lbn) {
            Some(at) if device.next(self.sequential[at].block) == address.offset => self.sequential.remove(at),
            other => {
                match other {
                    Some(at) => self.end_sequential(device, at, RetireReason::Broken, sink)?,
                    None if self.sequential.len() == self.most_sequential => {
                        self.end_sequential(device, 0, RetireReason::Evicted, sink)?;
                    }
                    None => {}
                }
                Sequential { lbn: address.lbn, block: device.take(Role::SequentialLog, sink)? }
            }
        };
        self.sequential.push(log);
        device.program(address.lpn, log.block, address.offset, (number, Role::SequentialLog), sink)?;
        if device.is_full(log.block) {
            self.end_sequential(device, self.sequential.len() - 1, RetireReason::Completed, sink)?;
        }
        Some(())
    }

    /// Merges the logical block of a sequential log block by a switch, partial or full merge.
    fn end_sequential<S: FlashSink>(
        &mut self,
        device: &mut LogDevice,
        at: usize,
        reason: RetireReason,
        sink: &mut S,
    ) -> Option<()> {
        let Sequential { lbn, block } = self.sequential.remove(at);
        device.retire(block, reason, sink);
        device.merge_in_place(lbn, block, sink)
    }

    fn write_random<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()> {
        let HostPage { address, number, .. } = page;
        let lpn = address.lpn;
        let in_log = device.newest(lpn).is_some_and(|ppn| self.is_random[(ppn / device.pages_per_block()) as usize]);
        let age = self.writes.wrapping_sub(self.written[lpn as usize]);
        let partition = if in_log && age <= self.window { Partition::Hot } else { Partition::Cold };
        while self.room(device, partition).is_none() && self.random_blocks() >= self.most_random {
            self.reclaim(device, sink)?;
        }
        let (block, offset) = self.next_place(device, partition, sink)?;
        device.program(lpn, block, offset, (number, Role::Log), sink)?;
        self.written[lpn as usize] = self.writes;
        self.writes = self.writes.wrapping_add(1);
        Some(())
    }

    fn random_blocks(&self) -> usize {
        self.random.iter().map(VecDeque::len).sum()
    }

    /// Returns the open block of a partition and the offset of its next page.
    fn room(&self, device: &LogDevice, partition: Partition) -> Option<(u32, u32)> {
        let block = *self.random[partition as usize].back()?;
        (!device.is_full(block)).then(|| (block, device.next(block)))
    }

    /// Returns the next free page of a partition, in a new block if the open block is full.
    fn next_place<S: FlashSink>(
        &mut self,
        device: &mut LogDevice,
        partition: Partition,
        sink: &mut S,
    ) -> Option<(u32, u32)> {
        if let Some(place) = self.room(device, partition) {
            return Some(place);
        }
        let block = device.take(Role::Log, sink)?;
        self.random[partition as usize].push_back(block);
        self.is_random[block as usize] = true;
        Some((block, 0))
    }

    /// Reclaims a block of the random log. Moving the pages of a hot block to the cold partition may free no more
    /// blocks than it uses, but each hot block is moved only once.
    fn reclaim<S: FlashSink>(&mut self, device: &mut LogDevice, sink: &mut S) -> Option<()> {
        let [hot, cold] = &self.random;
        // The last block of a partition is still open if it is not full; open blocks are not reclaimed.
        let closed = |blocks: &VecDeque<u32>| {
            let open = blocks.back().copied().filter(|&block| !device.is_full(block));
            blocks.iter().copied().filter(move |&block| Some(block) != open).collect::<Vec<_>>()
        };
        let (hot, cold) = (closed(hot), closed(cold));
        if let Some(&dead) = hot.iter().chain(&cold).find(|&&block| device.valid(block) == 0) {
            self.erase(device, dead, RetireReason::Evicted, false, sink);
        } else if let Some(&victim) = cold.iter().min_by_key(|&&block| merge_cost(device, block)) {
            for offset in 0..device.pages_per_block() {
                if let Some(address) = device.valid_page(victim, offset) {
                    self.merge(device, address.lbn, sink)?;
                }
            }
            self.erase(device, victim, RetireReason::Evicted, true, sink);
        } else {
            let oldest = hot[0];
            for offset in 0..device.pages_per_block() {
                if let Some(address) = device.valid_page(oldest, offset) {
                    let (block, next) = self.next_place(device, Partition::Cold, sink)?;
                    device.copy(address.lpn, block, next, (Cause::Gc, Role::Log), sink)?;
                }
            }
            self.erase(device, oldest, RetireReason::Oldest, false, sink);
        }
        Some(())
    }

    /// Merges a logical block, including the pages of its sequential log block, if any.
    fn merge<S: FlashSink>(&mut self, device: &mut LogDevice, lbn: u32, sink: &mut S) -> Option<()> {
        match self.sequential.iter().position(|log| log.lbn == lbn) {
            Some(at) => self.end_sequential(device, at, RetireReason::Merged, sink),
            None => device.full_merge(lbn, sink),
        }
    }

    /// Erases a block of the random log that has no valid pages.
    fn erase<S: FlashSink>(
        &mut self,
        device: &mut LogDevice,
        block: u32,
        reason: RetireReason,
        merged: bool,
        sink: &mut S,
    ) {
        device.retire(block, reason, sink);
        self.random.iter_mut().for_each(|blocks| blocks.retain(|&other| other != block));
        self.is_random[block as usize] = false;
        device.erase_emptied(block, merged, sink);
    }
}

/// Returns the number of pages that merges copy to free a block: all valid pages of the logical blocks that have valid
/// pages in the block.
fn merge_cost(device: &LogDevice, block: u32) -> usize {
    let pages = device.pages_per_block();
    let lbns: BTreeSet<u32> =
        (0..pages).filter_map(|offset| device.valid_page(block, offset)).map(|address| address.lbn).collect();
    let valid = |lbn: u32| (lbn * pages..(lbn + 1) * pages).filter(|&lpn| device.newest(lpn).is_some()).count();
    lbns.into_iter().map(valid).sum()
}

impl Log for Last {
    const INFO: &'static FtlInfo = &LAST;
    const SWITCHES: Role = Role::SequentialLog;

    fn new(device: &LogDevice, log_blocks: u32, settings: &Settings) -> Self {
        let most_sequential = settings.get(SEQUENTIAL.name) as usize;
        Self {
            threshold: settings.get(THRESHOLD.name) as u32,
            window: settings.get(WINDOW.name) as u32,
            most_sequential,
            most_random: log_blocks as usize - most_sequential,
            sequential: Vec::new(),
            random: [VecDeque::new(), VecDeque::new()],
            is_random: vec![false; device.blocks() as usize],
            written: vec![0; (device.logical_blocks() * device.pages_per_block()) as usize],
            writes: 0,
        }
    }

    fn write<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()> {
        if self.most_sequential > 0 && page.request_pages >= self.threshold {
            self.write_sequential(device, page, sink)
        } else {
            self.write_random(device, page, sink)
        }
    }

    fn blocks(&self) -> Vec<u32> {
        self.random.iter().flatten().copied().chain(self.sequential.iter().map(|log| log.block)).collect()
    }

    fn role(&self, block: u32) -> Role {
        if self.is_random[block as usize] { Role::Log } else { Role::SequentialLog }
    }

    /// Returns the size in bytes of two tables with 4 bytes per entry: the log's page table, and the table of the
    /// latest write of each page in the random log.
    fn table_bytes(&self, device: &LogDevice) -> u64 {
        4 * (self.most_sequential + 2 * self.most_random) as u64 * u64::from(device.pages_per_block())
    }

    fn memory_bytes(&self) -> u64 {
        (self.is_random.len() + size_of_val(&self.written[..])) as u64
    }

    /// Restores the log after a power loss. All random log blocks become cold blocks.
    fn take_up(&mut self, _device: &LogDevice, blocks: Vec<LogBlock>) -> Vec<LogBlock> {
        let mut rest = Vec::new();
        // Takes over the newest blocks first, up to the maximum number; returns the remaining blocks so that recovery
        // merges them.
        for log in blocks.into_iter().rev() {
            let owner = log.owner.filter(|&lbn| !self.sequential.iter().any(|other| other.lbn == lbn));
            match (log.role, owner) {
                (Role::Log, _) if self.random_blocks() < self.most_random => {
                    self.random[Partition::Cold as usize].push_front(log.block);
                    self.is_random[log.block as usize] = true;
                }
                (Role::SequentialLog, Some(lbn)) if log.in_place && self.sequential.len() < self.most_sequential => {
                    self.sequential.insert(0, Sequential { lbn, block: log.block });
                }
                _ => rest.push(log),
            }
        }
        rest
    }

    fn check(&self, device: &LogDevice) -> Result<(), String> {
        for &Sequential { lbn, block } in &self.sequential {
            for offset in 0..device.next(block) {
                let held = device.valid_page(block, offset);
                if held.is_some_and(|address| (address.lbn, address.offset) != (lbn, offset)) {
                    return Err(format!(
                        "sequential log block {block} of logical block {lbn} holds {held:?} at offset {offset}"
                    ));
                }
            }
        }
        let (counted, most) = (self.random_blocks(), self.most_random);
        if counted > most || counted != self.is_random.iter().filter(|&&is_random| is_random).count() {
            return Err(format!(
                "the random log has {counted} blocks, which exceeds {most} or differs from the number of marked blocks"
            ));
        }
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self {
            threshold: _,
            window: _,
            most_sequential: _,
            most_random: _,
            sequential,
            random,
            is_random,
            written,
            writes,
        } = self;
        archive.value(sequential)?;
        archive.value(random)?;
        archive.value(is_random)?;
        archive.array(written)?;
        archive.value(writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab::ftl::{Counts, Ftl, ProgramOrder, Shape, WriteContext};
    use ssdlab::{Lpn, simulate};

    /// Returns a filled drive with ten logical blocks of 2 pages, a sequential log block and 3 random log blocks.
    fn small(window: u64) -> LastFtl {
        let shape = Shape {
            logical_pages: 20,
            page_bytes: 4096,
            blocks: 15,
            pages_per_block: 2,
            order: ProgramOrder::Ascending,
            planes: 1,
            program_unit: 1,
        };
        let mut ftl = LastFtl::new(shape, 4, &Settings::with(PARAMETERS, &[1, 2, window])).unwrap();
        ftl.write(Lpn(0), 20, WriteContext::default(), &mut ());
        ftl
    }

    /// Returns the reads and programs of merges, and the erases by switch merges, by full merges, and of empty log
    /// blocks.
    fn costs(counts: &Counts) -> [u64; 5] {
        let of = |numbers: &[u64], cause: Cause| numbers[cause as usize];
        [
            of(&counts.reads, Cause::FullMerge),
            of(&counts.programs, Cause::FullMerge),
            of(&counts.erases, Cause::SwitchMerge),
            of(&counts.erases, Cause::FullMerge),
            of(&counts.erases, Cause::Gc),
        ]
    }

    #[test]
    fn each_kind_of_write_has_the_cost_worked_by_hand() {
        let mut ftl = small(2);
        let mut counts = Counts::default();
        type Step = (&'static [(u32, u32)], [u64; 5]);
        let steps: [Step; 6] = [
            // A request of two pages fills a sequential log block, which becomes the data block.
            (&[(4, 2)], [0, 0, 1, 0, 0]),
            // The first write of page 0 is cold, the next three writes are hot and fill two hot blocks, one of them
            // without valid pages.
            (&[(0, 1), (0, 1), (0, 1), (0, 1)], [0, 0, 1, 0, 0]),
            // Page 6 fills the cold block and is then its only valid page.
            (&[(6, 1)], [0, 0, 1, 0, 0]),
            // Page 8 needs a new cold block; the hot block without valid pages is erased.
            (&[(8, 1)], [0, 0, 1, 0, 1]),
            (&[(10, 1)], [0, 0, 1, 0, 1]),
            // The cold block {6} needs one merge of 2 pages, the cold block {8, 10} needs two merges.
            (&[(12, 1)], [2, 2, 1, 2, 1]),
        ];
        for (writes, expected) in steps {
            for &(lpn, count) in writes {
                ftl.write(Lpn(lpn), count, WriteContext::default(), &mut counts);
                ftl.check().unwrap();
            }
            assert_eq!(costs(&counts), expected, "after {writes:?}");
        }
        assert_eq!(counts.programs[Cause::Host as usize], 10);
    }

    /// Checks that a large request goes to the sequential log even if the drive writes it page by page.
    #[test]
    fn the_size_of_the_request_decides() {
        let mut ftl = small(2);
        let mut counts = Counts::default();
        let context = WriteContext { request_pages: 2, ..WriteContext::default() };
        for lpn in [4, 5] {
            ftl.write(Lpn(lpn), 1, context, &mut counts);
        }
        assert_eq!(costs(&counts), [0, 0, 1, 0, 0]);
    }

    /// Hot blocks {0, 2} and {4, 6} are full when page 8, in the open cold block, becomes hot. Block {0, 2} is emptied:
    /// page 0 fills the cold block, and page 2 needs a new cold block. The cold block {8, 0} is then merged to free a
    /// block.
    #[test]
    fn hot_pages_that_are_not_written_again_become_cold() {
        let mut ftl = small(100);
        let mut counts = Counts::default();
        for lpn in [0, 2, 0, 2, 4, 4, 6, 6, 8, 8] {
            ftl.write(Lpn(lpn), 1, WriteContext::default(), &mut counts);
            ftl.check().unwrap();
        }
        // Two logical blocks are merged; the cold blocks {0, 2} and {4, 6} had already lost all their valid pages.
        assert_eq!(costs(&counts), [4, 4, 0, 3, 3]);
        assert_eq!(counts.programs[Cause::Gc as usize], 2);
    }

    /// Simulates requests of all sizes; the simulation checks every operation and every page read.
    #[test]
    fn requests_of_all_sizes_lose_nothing() {
        register().unwrap();
        let settings = [
            "ftl=last",
            "device.capacity=32MiB",
            "nand.pages_per_block=64",
            "device.op=20%",
            "workload.requests=10000",
            "workload.reads=30%",
            "workload.pattern=zipf",
            "workload.size=4KiB:50%,32KiB:50%",
        ];
        let summary = simulate(&settings).unwrap();
        assert!(summary.check.unwrap().page_reads_checked > 0);
        assert!(summary.write_amplification.unwrap() > 1.0);
    }
}

/// Conformance tests on random small drives.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::ftl!(super::LAST);
}
