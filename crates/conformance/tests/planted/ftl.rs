//! The FTL that `ssdlab new ftl` writes, with a selectable bug.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

use ssdlab::ftl::{Cause, FlashSink, Ftl, FtlInfo, FtlRules, Role, Shape, Source, SpareArea, WriteContext};
use ssdlab::{Archive, Archived, BlockId, Lpn, Ppn};

/// A planted bug of the FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// No bug.
    None,
    /// Every fourth overwrite of a page is not programmed.
    LostUpdate,
    /// When a logical page is programmed for the fifth time, its flash page is programmed twice.
    DoubleProgram,
    /// Garbage collection erases the block before it copies the valid pages.
    ErasesValidData,
    /// A trim also invalidates the page after the last page of its range.
    WrongTrim,
    /// Garbage collection does not copy the last page of a block.
    OffByOne,
    /// Garbage collection updates the map for every valid page, but does not copy every third page.
    ForgottenCopy,
    /// Every third erased block is never used again.
    LeakedBlock,
    /// The choice of a free block depends on the number of drives that the process has built so far.
    NotDeterministic,
}

/// Returns the registry entry of the FTL with the given bug.
pub fn with(bug: Bug) -> &'static FtlInfo {
    let build = move |shape: Shape, _, _: &_| -> Result<Box<dyn ssdlab::ftl::DynFtl>, String> {
        Ok(Box::new(Mine::new(shape, bug)))
    };
    Box::leak(Box::new(FtlInfo {
        name: "mine",
        help: "The block written longest ago is collected.",
        source: "",
        parameters: &[],
        role: FtlRules {
            reserve_blocks: 2,
            has_log: false,
            least_log_blocks: |_| 1,
            check: |_, _| Ok(()),
            build: Some(Box::leak(Box::new(build))),
        },
    }))
}

/// The FTL with its mapping tables.
struct Mine {
    bug: Bug,
    /// Number of opportunities for the bug so far.
    count: u32,
    pages_per_block: u32,
    /// Flash page of each logical page.
    place: Vec<Option<Ppn>>,
    /// Logical page whose newest copy is in each flash page.
    owner: Vec<Option<Lpn>>,
    /// Erased blocks.
    free: VecDeque<u32>,
    /// Blocks with data, from the oldest to the block that is being written.
    used: VecDeque<u32>,
    /// Next page to program in the open block, and the first page past the end of the block.
    next: u32,
    end: u32,
    /// Number of pages programmed so far.
    sequence: u64,
}

impl Mine {
    fn new(shape: Shape, bug: Bug) -> Self {
        static BUILT: AtomicU32 = AtomicU32::new(0);
        let built = BUILT.fetch_add(1, Ordering::Relaxed);
        Self {
            bug,
            count: if bug == Bug::NotDeterministic { built } else { 0 },
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

    /// True if the FTL has the bug and shows it now, which is every `nth` call.
    fn shows(&mut self, bug: Bug, nth: u32) -> bool {
        self.count += u32::from(self.bug == bug);
        self.bug == bug && self.count.is_multiple_of(nth)
    }

    /// Allocates the next erased page for `lpn`; returns the page and its spare area.
    fn append(&mut self, lpn: Lpn) -> (Ppn, SpareArea) {
        if self.next == self.end {
            if self.free.len() > 1 && self.shows(Bug::NotDeterministic, 2) {
                self.free.swap(0, 1);
            }
            let block = self.free.pop_front().expect("garbage collection keeps a block free");
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
        let block = self.used.pop_front().expect("some block was written");
        if self.bug == Bug::ErasesValidData {
            sink.erase(BlockId(block), Cause::Gc);
        }
        let pages = self.pages_per_block - u32::from(self.bug == Bug::OffByOne);
        for page in (block * self.pages_per_block..block * self.pages_per_block + pages).map(Ppn) {
            if let Some(lpn) = self.owner[page.index()] {
                let (target, spare) = self.append(lpn);
                if !self.shows(Bug::ForgottenCopy, 3) {
                    sink.copy(page, target, spare, Cause::Gc);
                }
            }
        }
        // The copies must be complete before their originals are erased.
        sink.barrier();
        if self.bug != Bug::ErasesValidData {
            sink.erase(BlockId(block), Cause::Gc);
        }
        if !self.shows(Bug::LeakedBlock, 3) {
            self.free.push_back(block);
        }
    }
}

impl Ftl for Mine {
    /// Writes `count` pages, starting at `lpn`; `Source::Host(i)` is page `i` of the request.
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _context: WriteContext, sink: &mut S) {
        for i in 0..count {
            while self.next == self.end && self.free.len() < 2 {
                self.collect(sink);
            }
            let lpn = Lpn(lpn.0 + i);
            if self.place[lpn.index()].is_some() && self.shows(Bug::LostUpdate, 4) {
                continue;
            }
            let (page, spare) = self.append(lpn);
            sink.program(page, spare, Source::Host(i), Cause::Host);
            if self.shows(Bug::DoubleProgram, 5) {
                sink.program(page, spare, Source::Host(i), Cause::Host);
            }
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

    /// Trims `count` pages from `lpn`.
    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _sink: &mut S) {
        let more = u32::from(self.bug == Bug::WrongTrim && lpn.index() + (count as usize) < self.place.len());
        (lpn.0..lpn.0 + count + more).for_each(|lpn| self.forget(Lpn(lpn)));
    }

    /// Returns the flash page with the newest copy of a logical page.
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.place[lpn.index()]
    }

    /// Saves or loads the state that changes during a run; ssdlab uses this to keep preconditioned drives.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { bug: _, count: _, pages_per_block: _, place, owner, free, used, next, end, sequence } = self;
        archive.value(place)?;
        archive.value(owner)?;
        archive.value(free)?;
        archive.value(used)?;
        archive.value(next)?;
        archive.value(end)?;
        archive.value(sequence)
    }
}
