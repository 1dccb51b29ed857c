//! A flash translation layer: decides where each page goes, and which blocks are erased.

use std::collections::VecDeque;

use ssdlab::ftl::{self, Cause, FlashSink, Ftl, FtlInfo, FtlRules, Role, Shape, Source, SpareArea, WriteContext};
use ssdlab::{Archive, Archived, BlockId, Lpn, NameTaken, Ppn};

/// Adds the FTL to ssdlab. The setting `ftl=mine` then selects it.
pub fn register() -> Result<(), NameTaken> {
    ftl::register(&MINE)
}

/// Registry entry of the FTL: name, help text, parameters and constructor.
static MINE: FtlInfo = FtlInfo {
    name: "mine",
    help: "Page mapping; garbage collection chooses the oldest block.",
    // The paper that describes the FTL.
    source: "",
    // Each parameter that is added here becomes a setting; see `ssdlab::Parameter::new`.
    parameters: &[],
    role: FtlRules {
        // Blocks that the FTL needs besides the data blocks: one for host writes, one for garbage collection.
        reserve_blocks: 2,
        // True for an FTL with log blocks; the number of log blocks is then a setting.
        has_log: false,
        least_log_blocks: |_| 1,
        check: |_, _| Ok(()),
        build: Some(&|shape, _log_blocks, _settings| Ok(Box::new(Mine::new(shape)))),
    },
};

/// The FTL with its tables.
struct Mine {
    pages_per_block: u32,
    /// Flash page of each logical page.
    place: Vec<Option<Ppn>>,
    /// For each flash page, the logical page whose newest copy it holds, if any.
    owner: Vec<Option<Lpn>>,
    /// Erased blocks.
    free: VecDeque<u32>,
    /// Blocks with data, oldest first; the last block is the open block.
    used: VecDeque<u32>,
    /// Next page to program in the open block, and the first page past the end of the block.
    next: u32,
    end: u32,
    /// Number of pages programmed so far.
    sequence: u64,
}

impl Mine {
    fn new(shape: Shape) -> Self {
        Self {
            pages_per_block: shape.pages_per_block,
            place: vec![None; shape.logical_pages as usize],
            owner: vec![None; (shape.blocks * shape.pages_per_block) as usize],
            free: (0..shape.blocks).collect(),
            used: VecDeque::new(),
            next: 0,
            end: 0,
            sequence: 0,
        }
    }

    /// Allocates the next erased page for `lpn`; returns the page and the contents of its spare area.
    fn append(&mut self, lpn: Lpn) -> (Ppn, SpareArea) {
        if self.next == self.end {
            let block = self.free.pop_front().expect("garbage collection keeps at least one block erased");
            self.used.push_back(block);
            (self.next, self.end) = (block * self.pages_per_block, (block + 1) * self.pages_per_block);
        }
        self.forget(lpn);
        let page = Ppn(self.next);
        (self.place[lpn.index()], self.owner[page.index()]) = (Some(page), Some(lpn));
        self.next += 1;
        self.sequence += 1;
        (page, SpareArea { lpn, sequence: self.sequence, role: Role::Data })
    }

    /// Invalidates the newest copy of a logical page, if there is one.
    fn forget(&mut self, lpn: Lpn) {
        if let Some(page) = self.place[lpn.index()].take() {
            self.owner[page.index()] = None;
        }
    }

    /// Copies the valid pages of the oldest block to other blocks, and erases the block.
    fn collect<S: FlashSink>(&mut self, sink: &mut S) {
        let block = self.used.pop_front().expect("at least one block has data");
        for page in (block * self.pages_per_block..(block + 1) * self.pages_per_block).map(Ppn) {
            if let Some(lpn) = self.owner[page.index()] {
                let (target, spare) = self.append(lpn);
                sink.copy(page, target, spare, Cause::Gc);
            }
        }
        // The copies must be complete before their originals are erased.
        sink.barrier();
        sink.erase(BlockId(block), Cause::Gc);
        self.free.push_back(block);
    }
}

impl Ftl for Mine {
    /// Writes `count` pages, starting at `lpn`; `Source::Host(i)` is page `i` of the request.
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _context: WriteContext, sink: &mut S) {
        for i in 0..count {
            while self.next == self.end && self.free.len() < 2 {
                self.collect(sink);
            }
            let (page, spare) = self.append(Lpn(lpn.0 + i));
            sink.program(page, spare, Source::Host(i), Cause::Host);
        }
    }

    /// Reads `count` pages, starting at `lpn`; returns the number of pages without data.
    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        let mut unmapped = 0;
        for lpn in lpn.0..lpn.0 + count {
            match self.place[lpn as usize] {
                Some(page) => sink.read(page, cause),
                None => unmapped += 1,
            }
        }
        unmapped
    }

    /// Unmaps `count` pages, starting at `lpn`.
    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _sink: &mut S) {
        (lpn.0..lpn.0 + count).for_each(|lpn| self.forget(Lpn(lpn)));
    }

    /// Returns the flash page with the newest copy of a logical page; None if the logical page has no data.
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.place[lpn.index()]
    }

    /// Saves or loads the fields that change during a run, so that ssdlab can cache preconditioned drives.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { pages_per_block: _, place, owner, free, used, next, end, sequence } = self;
        archive.value(place)?;
        archive.value(owner)?;
        archive.value(free)?;
        archive.value(used)?;
        archive.value(next)?;
        archive.value(end)?;
        archive.value(sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::register;
    use ssdlab::simulate;

    #[test]
    fn reads_return_what_was_written() {
        register().unwrap();
        // `simulate` checks every flash operation and every page that the host reads.
        let settings = [
            "ftl=mine",
            "device.capacity=32MiB",
            "nand.pages_per_block=64",
            "device.op=20%",
            "workload.requests=20000",
            "workload.reads=30%",
        ];
        let summary = simulate(&settings).unwrap();
        assert!(summary.check.unwrap().page_reads_checked > 0);
        assert!(summary.write_amplification.unwrap() > 1.0);
    }
}

/// Runs the FTL on small random inputs. An input that breaks a rule is reduced to few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::ftl!(super::MINE);
}
