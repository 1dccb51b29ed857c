//! Superblock FTL: a superblock consists of `size` adjacent logical blocks. Its pages may be anywhere in its data
//! blocks and a few update blocks.
//!
//! ```text
//! write(page of superblock s):
//!     while the open block of s is full:
//!         s has fewer than `size` blocks:                            take a block
//!         s has fewer than `size + updates`, and a block is free:    take an update block
//!         s has `size + updates` blocks:                             collect in s
//!         else: collect in the least recently written superblock that has update blocks, until it returns a block
//!     append the page to the open block of s
//! collect in s: victim = the block of s with the fewest valid pages, the oldest on ties;
//!               copy its valid pages to the open block of s; erase it
//! ```
//! A superblock is page mapping with greedy collection in `size + updates` blocks. The controller keeps one block
//! number per block in RAM. The page map of a superblock is in the spare areas of its blocks.
//!
//! Source: Jung, Kang, Jo, Kim, Lee, "Superblock FTL: a superblock-based flash translation layer with a hybrid address
//! translation scheme", ACM TECS 9(4), 2010 (EMSOFT 2006). The text of the paper was not available; the README lists
//! what is uncertain.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use ssdlab::ftl::{
    self, Cause, FlashSink, Ftl, FtlInfo, FtlRules, Note, Role, Shape, Source, SpareArea, VictimReason, WriteContext,
};
use ssdlab::{Archive, Archived, BlockId, Lpn, NameTaken, Parameter, Ppn, Settings, Unit};

/// Adds the FTL to ssdlab. The setting `ftl=superblock` then selects it.
///
/// # Errors
/// Fails if another FTL already has this name.
pub fn register() -> Result<(), NameTaken> {
    ftl::register(&SUPERBLOCK)
}

const SIZE: Parameter =
    Parameter::new("size", Unit::Count("blocks"), 4, [1, 1024], "Number of logical blocks per superblock.").example(2);

const UPDATES: Parameter =
    Parameter::new("updates", Unit::Count("blocks"), 4, [1, 1024], "Maximum number of update blocks per superblock.")
        .example(1);

/// Parameters of the FTL.
pub const PARAMETERS: &[Parameter] = &[SIZE, UPDATES];

/// Registry entry of this FTL.
static SUPERBLOCK: FtlInfo = FtlInfo {
    name: "superblock",
    help: "Superblock FTL: page mapping within groups of adjacent logical blocks; each group has its own update blocks",
    source: "Jung et al., ACM TECS 9(4), 2010",
    parameters: PARAMETERS,
    role: FtlRules {
        // One block is reserved as an update block, and one for the pages that a collection copies.
        reserve_blocks: 2,
        // The FTL has no log blocks: all blocks that are not data blocks serve as update blocks.
        has_log: false,
        least_log_blocks: |_| 1,
        check: |_, _| Ok(()),
        build: Some(&|shape, _log_blocks, settings| Ok(Box::new(SuperblockFtl::new(shape, settings)?))),
    },
};

/// Map entry of a logical page without a copy, or of a flash page without valid data.
const NONE: u32 = u32::MAX;

/// A group of logical blocks that share flash blocks.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
struct Superblock {
    /// Blocks in the order of allocation; only the last block may have erased pages.
    blocks: Vec<u32>,
    /// Sequence number of the latest page program in the superblock.
    written: u64,
}

/// The superblock FTL.
pub struct SuperblockFtl {
    pages_per_block: u32,
    /// Number of logical blocks per superblock; the last superblock may have fewer.
    size: u32,
    /// Maximum number of update blocks per superblock.
    updates: u32,
    /// Maximum number of update blocks across all superblocks.
    all_updates: u32,
    logical_blocks: u32,
    /// Flash page of each logical page.
    place: Vec<u32>,
    /// For each flash page, the logical page whose newest copy it holds.
    owner: Vec<u32>,
    /// Number of valid pages in each block.
    valid: Vec<u32>,
    /// Number of programmed pages in each block.
    programmed: Vec<u32>,
    erases: Vec<u32>,
    free: VecDeque<u32>,
    superblocks: Vec<Superblock>,
    updates_in_use: u32,
    sequence: u64,
}

impl SuperblockFtl {
    /// Returns the FTL on an erased device.
    ///
    /// # Errors
    /// Fails if the device has too few blocks.
    pub fn new(shape: Shape, settings: &Settings) -> Result<Self, String> {
        let Shape { logical_pages, blocks, pages_per_block, planes, .. } = shape;
        let logical_blocks = logical_pages.div_ceil(pages_per_block);
        let Some(all_updates) = blocks.checked_sub(logical_blocks + 1).filter(|&updates| updates > 0) else {
            return Err(format!(
                "the device has {blocks} blocks but needs {} ({logical_blocks} for data and 2 more); raise device.op",
                logical_blocks + 2
            ));
        };
        let size = settings.get(SIZE.name) as u32;
        // Consecutive entries of the free list are on consecutive planes.
        let striped = (0..blocks).map(|n| n % planes * (blocks / planes) + n / planes);
        Ok(Self {
            pages_per_block,
            size,
            updates: settings.get(UPDATES.name) as u32,
            all_updates,
            logical_blocks,
            place: vec![NONE; logical_pages as usize],
            owner: vec![NONE; (blocks * pages_per_block) as usize],
            valid: vec![0; blocks as usize],
            programmed: vec![0; blocks as usize],
            erases: vec![0; blocks as usize],
            free: striped.collect(),
            superblocks: vec![Superblock::default(); logical_blocks.div_ceil(size) as usize],
            updates_in_use: 0,
            sequence: 0,
        })
    }

    /// Returns the number of data blocks of superblock `at`.
    fn data_blocks(&self, at: usize) -> usize {
        (self.size as usize).min(self.logical_blocks as usize - at * self.size as usize)
    }

    /// Returns the open block of a superblock, unless it is full.
    fn open_block(&self, at: usize) -> Option<u32> {
        let block = *self.superblocks[at].blocks.last()?;
        (self.programmed[block as usize] < self.pages_per_block).then_some(block)
    }

    /// Returns the open block of a superblock, or takes a new block if the open block is full.
    fn writable_block<S: FlashSink>(&mut self, at: usize, sink: &mut S) -> u32 {
        if let Some(block) = self.open_block(at) {
            return block;
        }
        let block = self.free.pop_front().expect("garbage collection keeps a block free");
        self.updates_in_use += u32::from(self.superblocks[at].blocks.len() >= self.data_blocks(at));
        self.superblocks[at].blocks.push(block);
        sink.note(Note::Opened { block: BlockId(block), role: Role::Data, number: 0 });
        block
    }

    /// Allocates the next page of the open block for `lpn`; returns the page and its spare area.
    fn append<S: FlashSink>(&mut self, at: usize, lpn: u32, sink: &mut S) -> (Ppn, SpareArea) {
        let block = self.writable_block(at, sink);
        self.forget(lpn);
        let page = block * self.pages_per_block + self.programmed[block as usize];
        self.programmed[block as usize] += 1;
        self.valid[block as usize] += 1;
        (self.place[lpn as usize], self.owner[page as usize]) = (page, lpn);
        self.sequence += 1;
        (Ppn(page), SpareArea { lpn: Lpn(lpn), sequence: self.sequence, role: Role::Data })
    }

    /// Invalidates the current copy of a logical page.
    fn forget(&mut self, lpn: u32) {
        let page = std::mem::replace(&mut self.place[lpn as usize], NONE);
        if page != NONE {
            self.owner[page as usize] = NONE;
            self.valid[(page / self.pages_per_block) as usize] -= 1;
        }
    }

    /// Ensures that superblock `at` can take a page, that is, has an open block or may allocate one. If necessary,
    /// collects blocks of this superblock or of another one.
    fn make_room<S: FlashSink>(&mut self, at: usize, sink: &mut S) {
        let data_blocks = self.data_blocks(at);
        while self.open_block(at).is_none() {
            let blocks = self.superblocks[at].blocks.len();
            if blocks < data_blocks {
                return;
            } else if blocks == data_blocks + self.updates as usize {
                self.collect(at, sink);
            } else if self.updates_in_use < self.all_updates {
                return;
            } else {
                let has_updates = |&other: &usize| self.superblocks[other].blocks.len() > self.data_blocks(other);
                let rest = (0..self.superblocks.len()).filter(has_updates);
                let oldest = rest.min_by_key(|&other| self.superblocks[other].written);
                self.collect(oldest.expect("all update blocks are in use, so some superblock has update blocks"), sink);
            }
        }
    }

    /// Empties and erases one block of a superblock: the block with the fewest valid pages. The open block is a
    /// candidate only if it has no valid pages.
    fn collect<S: FlashSink>(&mut self, at: usize, sink: &mut S) {
        let open = self.open_block(at);
        let full = self.superblocks[at].blocks.iter().copied();
        let full = full.filter(|&block| Some(block) != open || self.valid[block as usize] == 0);
        let victim = full.min_by_key(|&block| self.valid[block as usize]).expect("a superblock has a full block");
        let valid = self.valid[victim as usize];
        assert!(valid < self.pages_per_block, "a superblock with update blocks has a block with invalid pages");
        sink.note(Note::Victim { block: BlockId(victim), valid, choice: VictimReason::Policy });
        let first = victim * self.pages_per_block;
        for page in first..first + self.pages_per_block {
            let lpn = self.owner[page as usize];
            if lpn != NONE {
                let (target, spare) = self.append(at, lpn, sink);
                sink.copy(Ppn(page), target, spare, Cause::Gc);
            }
        }
        // The copies must be complete before their originals are erased.
        sink.barrier();
        sink.erase(BlockId(victim), Cause::Gc);
        self.programmed[victim as usize] = 0;
        self.erases[victim as usize] += 1;
        self.free.push_back(victim);
        self.updates_in_use -= u32::from(self.superblocks[at].blocks.len() > self.data_blocks(at));
        self.superblocks[at].blocks.retain(|&block| block != victim);
    }
}

impl Ftl for SuperblockFtl {
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _context: WriteContext, sink: &mut S) {
        for i in 0..count {
            let lpn = lpn.0 + i;
            let at = (lpn / (self.size * self.pages_per_block)) as usize;
            self.make_room(at, sink);
            let (page, spare) = self.append(at, lpn, sink);
            self.superblocks[at].written = spare.sequence;
            sink.program(page, spare, Source::Host(i), Cause::Host);
        }
    }

    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        let mut unmapped = 0;
        for lpn in lpn.0..lpn.0 + count {
            match self.place[lpn as usize] {
                NONE => unmapped += 1,
                page => sink.read(Ppn(page), cause),
            }
        }
        unmapped
    }

    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _sink: &mut S) {
        (lpn.0..lpn.0 + count).for_each(|lpn| self.forget(lpn));
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        Some(self.place[lpn.index()]).filter(|&page| page != NONE).map(Ppn)
    }

    fn free_blocks(&self) -> u32 {
        self.free.len() as u32
    }

    fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    fn memory_bytes(&self) -> u64 {
        let maps = [&self.place, &self.owner, &self.valid, &self.programmed, &self.erases];
        maps.map(|map| size_of_val(&map[..])).iter().sum::<usize>() as u64
    }

    /// Returns the memory size of the block lists of all superblocks, at 4 bytes per block number. Page maps cached in
    /// RAM are not included.
    fn mapping_table_bytes(&self) -> u64 {
        4 * self.superblocks.len() as u64 * u64::from(self.size + self.updates)
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self {
            pages_per_block: _,
            size: _,
            updates: _,
            all_updates: _,
            logical_blocks: _,
            place,
            owner,
            valid,
            programmed,
            erases,
            free,
            superblocks,
            updates_in_use,
            sequence,
        } = self;
        for array in [place, owner, valid, programmed, erases] {
            archive.array(array)?;
        }
        archive.value(free)?;
        archive.value(superblocks)?;
        archive.value(updates_in_use)?;
        archive.value(sequence)
    }

    fn check(&self) -> Result<(), String> {
        let beyond = |(at, one): (usize, &Superblock)| one.blocks.len().saturating_sub(self.data_blocks(at)) as u32;
        let updates: u32 = self.superblocks.iter().enumerate().map(beyond).sum();
        let taken: usize = self.superblocks.iter().map(|one| one.blocks.len()).sum();
        if updates != self.updates_in_use || taken + self.free.len() != self.valid.len() {
            return Err(format!(
                "found {updates} update blocks and {taken} used blocks, but the counters are {} and {} of {} blocks",
                self.updates_in_use,
                self.valid.len() - self.free.len(),
                self.valid.len(),
            ));
        }
        for (lpn, &page) in self.place.iter().enumerate().filter(|&(_, &page)| page != NONE) {
            let at = lpn / (self.size * self.pages_per_block) as usize;
            if self.owner[page as usize] as usize != lpn
                || !self.superblocks[at].blocks.contains(&(page / self.pages_per_block))
            {
                return Err(format!(
                    "logical page {lpn} is mapped to flash page {page}, which does not hold it or lies outside \
                     superblock {at}"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab::ftl::{Counts, ProgramOrder};
    use ssdlab::simulate;

    /// Two logical blocks of 4 pages share an update block. Pages 0 to 7 were written in order before.
    ///
    /// ```text
    /// w0 w1 w4 w0 fill the update block; w2 collects block 0 with pages 2 and 3; w3; w5 collects the block with the
    /// copies, which has the older and the newer versions of pages 2 and 3
    /// ```
    #[test]
    fn a_superblock_is_page_mapping_in_a_few_blocks() {
        let shape = Shape {
            logical_pages: 8,
            page_bytes: 4096,
            blocks: 4,
            pages_per_block: 4,
            order: ProgramOrder::Ascending,
            planes: 1,
            program_unit: 1,
        };
        let mut ftl = SuperblockFtl::new(shape, &Settings::with(PARAMETERS, &[2, 1])).unwrap();
        ftl.write(Lpn(0), 8, WriteContext::default(), &mut ());
        let mut counts = Counts::default();
        let mut erases = Vec::new();
        for lpn in [0, 1, 4, 0, 2, 3, 5] {
            ftl.write(Lpn(lpn), 1, WriteContext::default(), &mut counts);
            ftl.check().unwrap();
            erases.push(counts.erases[Cause::Gc as usize]);
        }
        assert_eq!(erases, [0, 0, 0, 0, 1, 1, 2]);
        assert_eq!(counts.programs[Cause::Host as usize], 7);
        assert_eq!((counts.reads[Cause::Gc as usize], counts.programs[Cause::Gc as usize]), (4, 4));
    }

    /// Superblock 0 has the only update block when superblock 1 needs an update block. Superblock 0 then returns block
    /// 1, which has no valid pages.
    #[test]
    fn superblocks_return_update_blocks_to_others() {
        let shape = Shape {
            logical_pages: 4,
            page_bytes: 4096,
            blocks: 4,
            pages_per_block: 2,
            order: ProgramOrder::Ascending,
            planes: 1,
            program_unit: 1,
        };
        let mut ftl = SuperblockFtl::new(shape, &Settings::with(PARAMETERS, &[1, 1])).unwrap();
        ftl.write(Lpn(0), 4, WriteContext::default(), &mut ());
        let mut counts = Counts::default();
        for lpn in [0, 1, 2] {
            ftl.write(Lpn(lpn), 1, WriteContext::default(), &mut counts);
            ftl.check().unwrap();
        }
        assert_eq!((counts.reads[Cause::Gc as usize], counts.erases[Cause::Gc as usize]), (0, 1));
    }

    /// Simulates skewed writes; the simulation checks every operation and every page read.
    #[test]
    fn skewed_writes_lose_nothing() {
        register().unwrap();
        let settings = [
            "ftl=superblock",
            "device.capacity=32MiB",
            "nand.pages_per_block=64",
            "device.op=20%",
            "workload.requests=20000",
            "workload.reads=30%",
            "workload.pattern=zipf",
        ];
        let summary = simulate(&settings).unwrap();
        assert!(summary.check.unwrap().page_reads_checked > 0);
        assert!(summary.write_amplification.unwrap() > 1.0);
    }
}

/// Conformance tests on random small drives.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::ftl!(super::SUPERBLOCK);
}
