//! Flash that loses power after a number of operations, keeps its spare areas and enforces the NAND rules.

use std::collections::BTreeMap;

use ssdlab_core::{BlockId, Lpn, Ppn, Rng};
use ssdlab_ftl::Shape;
use ssdlab_nand::{Cause, Failure, FlashSink, Found, Note, ProgramOrder, Scan, Source, SpareArea, Trimmed};

/// State of the interrupted operation after a power loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Last {
    /// The operation changed nothing.
    Undone,
    /// The program unit is half programmed, or the block half erased. The FTL must not mistake the operation for a
    /// successful one.
    Torn,
}

impl Last {
    /// Returns a description for messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Undone => "not done",
            Self::Torn => "half done",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cell {
    Erased,
    Programmed { oob: SpareArea, version: u64, stamp: u64 },
    Unreadable,
}

/// The flash array. Ignores operations after the power loss.
#[derive(Clone)]
pub struct Flash {
    shape: Shape,
    cells: Vec<Cell>,
    /// Pages of incomplete program units, keyed by the first page of the unit. These pages are in volatile memory.
    gathered: BTreeMap<u32, Vec<Cell>>,
    /// If true, plants a bug: reads ignore the pages in volatile memory.
    pub(super) forgets_memory: bool,
    /// For each block, the offset of the page after the last programmed page.
    next: Vec<u32>,
    erases: Vec<u32>,
    /// Blocks whose erase was interrupted.
    half_erased: Vec<bool>,
    bad: Vec<bool>,
    pub(super) trims: Vec<Trimmed>,
    /// True if pages were copied since the last barrier.
    unsettled: bool,
    last_sequence: Option<u64>,
    /// Current host write: its first logical page, and a stamp for each page that identifies the page's new contents.
    pub(super) payload: (u32, Vec<u64>),
    /// Number of operations left before the power fails.
    pub(super) left: u64,
    last: Last,
    rng: Rng,
    /// Number of operations performed during recovery.
    pub(super) recovering: u64,
    pub(super) violation: Option<String>,
    /// Average number of page programs and erases per failure; 0 if operations never fail.
    one_in: u64,
    faults: Rng,
    failure: Option<Failure>,
    pub(super) failures: u64,
}

impl Flash {
    pub(super) fn new(shape: Shape, seed: u64, one_in: u64) -> Self {
        let pages = shape.blocks as usize * shape.pages_per_block as usize;
        let blocks = shape.blocks as usize;
        Self {
            shape,
            cells: vec![Cell::Erased; pages],
            gathered: BTreeMap::new(),
            forgets_memory: false,
            next: vec![0; blocks],
            erases: vec![0; blocks],
            half_erased: vec![false; blocks],
            bad: vec![false; blocks],
            trims: Vec::new(),
            unsettled: false,
            last_sequence: None,
            payload: (0, Vec::new()),
            left: u64::MAX,
            last: Last::Undone,
            rng: Rng::named(seed, "torn"),
            recovering: 0,
            violation: None,
            one_in,
            faults: Rng::named(seed, "failures"),
            failure: None,
            failures: 0,
        }
    }

    /// Restores the power until it fails again after `operations` operations.
    pub(super) fn power_up(&mut self, operations: u64, last: Last) {
        (self.left, self.last, self.unsettled, self.last_sequence) = (operations, last, false, None);
        self.gathered.clear();
    }

    pub(super) fn is_off(&self) -> bool {
        self.left == 0
    }

    /// Decides at random whether the operation fails. An operation interrupted by a power loss never fails at random.
    fn draw_failure(&mut self, failure: Failure) -> bool {
        let pages = if failure == Failure::Program { self.shape.program_unit.into() } else { 1 };
        let fails = !self.is_off() && self.one_in > 0 && self.faults.below(self.one_in.div_ceil(pages)) == 0;
        self.failure = fails.then_some(failure);
        self.failures += u64::from(fails);
        fails
    }

    /// Makes the pages of a failed program unit unreadable. The failure is reported at the unit's first page.
    fn spoil(&mut self, ppn: Ppn) {
        self.gathered.remove(&ppn.0);
        self.cells[ppn.index()] = Cell::Unreadable;
        let (block, page) = (ppn.0 / self.shape.pages_per_block, ppn.0 % self.shape.pages_per_block);
        self.next[block as usize] = page + 1;
    }

    /// Returns the contents of a page, from volatile memory or from the cells.
    fn cell(&self, ppn: Ppn) -> Cell {
        let in_unit = ppn.0 % self.shape.program_unit;
        let in_memory = self.gathered.get(&(ppn.0 - in_unit)).and_then(|unit| unit.get(in_unit as usize));
        in_memory.filter(|_| !self.forgets_memory).copied().unwrap_or(self.cells[ppn.index()])
    }

    /// Programs a page, or adds it to its program unit, which is programmed when it is complete.
    fn program_page(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        let block = (ppn.0 / self.shape.pages_per_block) as usize;
        let page = ppn.0 % self.shape.pages_per_block;
        let passed = self.shape.order == ProgramOrder::Ascending && page < self.next[block];
        if self.cells[ppn.index()] != Cell::Erased || passed || self.half_erased[block] || self.bad[block] {
            let (cell, next, half) = (self.cells[ppn.index()], self.next[block], self.half_erased[block]);
            self.blame(format!(
                "program of page {ppn} (offset {page}, {cell:?}); next offset of the block: {next}, half erased: {half}"
            ));
        }
        self.ordered(oob.sequence);
        let (version, stamp) = match source {
            Source::Map | Source::Padding => (oob.sequence, 0),
            Source::Host(page) => {
                if oob.lpn.0 != self.payload.0 + page {
                    self.blame(format!("page {page} of the write request is programmed as logical page {}", oob.lpn));
                }
                (oob.sequence, self.payload.1[page as usize])
            }
            Source::Copy(from) => match self.cell(from) {
                Cell::Programmed { oob: old, version, stamp } if old.lpn == oob.lpn => (version, stamp),
                cell => {
                    self.blame(format!(
                        "copy of page {from} as logical page {}, but the state of page {from} is {cell:?}",
                        oob.lpn
                    ));
                    (0, 0)
                }
            },
        };
        self.unsettled |= matches!(source, Source::Copy(_));
        let cell = Cell::Programmed { oob, version, stamp };
        if self.shape.program_unit == 1 {
            return self.program_unit(ppn.0, vec![cell], cause);
        }
        let first = ppn.0 - ppn.0 % self.shape.program_unit;
        let unit = self.gathered.entry(first).or_default();
        unit.push(cell);
        let gathered = unit.len() as u32;
        if first + gathered != ppn.0 + 1 {
            self.blame(format!("page {ppn} is programmed out of order: as number {gathered} of its program unit"));
        }
        if gathered == self.shape.program_unit
            && let Some(unit) = self.gathered.remove(&first)
        {
            self.program_unit(first, unit, cause);
        }
    }

    /// Programs all pages of a program unit at once.
    fn program_unit(&mut self, first: u32, mut unit: Vec<Cell>, cause: Cause) {
        match self.begins(cause) {
            None => {}
            Some(Last::Torn) => self.tear(&mut unit),
            Some(Last::Undone) => return,
        }
        let block = (first / self.shape.pages_per_block) as usize;
        let end = first + unit.len() as u32;
        self.cells[first as usize..end as usize].copy_from_slice(&unit);
        self.next[block] = self.next[block].max(end - block as u32 * self.shape.pages_per_block);
    }

    /// Leaves a program unit half programmed: at least one page is unreadable, and each other page is erased,
    /// programmed or unreadable at random.
    fn tear(&mut self, unit: &mut [Cell]) {
        if unit.len() > 1 {
            for cell in &mut *unit {
                *cell = [*cell, Cell::Erased, Cell::Unreadable][self.rng.below(3) as usize];
            }
            let unreadable = self.rng.below(unit.len() as u64) as usize;
            unit[unreadable] = Cell::Unreadable;
        } else {
            unit.fill(Cell::Unreadable);
        }
    }

    /// Returns the logical page and the stamp in a flash page.
    pub(super) fn content(&self, ppn: Ppn) -> Option<(Lpn, u64)> {
        match self.cell(ppn) {
            Cell::Programmed { oob, stamp, .. } => Some((oob.lpn, stamp)),
            Cell::Erased | Cell::Unreadable => None,
        }
    }

    fn blame(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    /// Counts an operation that begins. If the power is off or fails now, returns the state in which the operation is
    /// left; otherwise returns None.
    fn begins(&mut self, cause: Cause) -> Option<Last> {
        if self.left == 0 {
            return Some(Last::Undone);
        }
        self.left -= 1;
        self.recovering += u64::from(cause == Cause::Recovery);
        (self.left == 0).then_some(self.last)
    }

    fn ordered(&mut self, sequence: u64) {
        if self.last_sequence.is_some_and(|last| last >= sequence) {
            self.blame(format!("sequence number {sequence} is not above the previous sequence number"));
        }
        self.last_sequence = Some(sequence);
    }

    fn half_erase(&mut self, block: BlockId) {
        let first = block.0 * self.shape.pages_per_block;
        for ppn in first..first + self.next[block.index()].max(1) {
            match self.rng.below(3) {
                0 => {}
                1 => self.cells[ppn as usize] = Cell::Erased,
                _ => self.cells[ppn as usize] = Cell::Unreadable,
            }
        }
        self.half_erased[block.index()] = true;
        let pages = &mut self.cells[first as usize..(first + self.shape.pages_per_block) as usize];
        if pages.iter().all(|&cell| cell == Cell::Erased) {
            pages[0] = Cell::Unreadable;
        }
    }
}

impl FlashSink for Flash {
    fn fails(&self) -> bool {
        self.one_in > 0
    }

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    fn read(&mut self, ppn: Ppn, cause: Cause) {
        if !self.is_off() && self.content(ppn).is_none() {
            self.blame(format!(
                "read of page {ppn} for {cause:?}, but the state of the page is {:?}",
                self.cells[ppn.index()]
            ));
        }
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        if self.is_off() {
            return;
        }
        self.program_page(ppn, oob, source, cause);
        if ppn.0.is_multiple_of(self.shape.program_unit) && self.draw_failure(Failure::Program) {
            self.spoil(ppn);
        }
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        if self.is_off() {
            return;
        }
        if self.draw_failure(Failure::Erase) {
            // A failed erase counts as an operation and leaves the block unchanged.
            self.begins(cause);
            return;
        }
        if self.bad[block.index()] {
            self.blame(format!("erase of block {block}, which is bad"));
        }
        let pages = block.0 * self.shape.pages_per_block..(block.0 + 1) * self.shape.pages_per_block;
        if self.gathered.range(pages).next().is_some() {
            self.blame(format!("erase of block {block}, which has an incomplete program unit"));
        }
        if std::mem::take(&mut self.unsettled) {
            self.blame(format!("erase of block {block} without a barrier after copies"));
        }
        match self.begins(cause) {
            None => {}
            Some(Last::Torn) => return self.half_erase(block),
            Some(Last::Undone) => return,
        }
        let first = block.index() * self.shape.pages_per_block as usize;
        self.cells[first..first + self.shape.pages_per_block as usize].fill(Cell::Erased);
        (self.next[block.index()], self.half_erased[block.index()]) = (0, false);
        self.erases[block.index()] += 1;
    }

    fn barrier(&mut self) {
        self.unsettled = false;
    }

    /// Records a trim, which counts as an operation.
    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        if self.is_off() {
            return;
        }
        self.ordered(sequence);
        if self.begins(Cause::Host).is_none() {
            self.trims.push(Trimmed { lpn, count, sequence });
        }
    }

    fn note(&mut self, note: Note) {
        if let Note::Bad(block) = note
            && !self.is_off()
        {
            self.bad[block.index()] = true;
        }
    }
}

impl Scan for Flash {
    fn page(&self, ppn: Ppn) -> Found {
        match self.cells[ppn.index()] {
            Cell::Erased => Found::Erased,
            Cell::Programmed { oob, version, .. } => Found::Programmed { oob, version, outdated: false },
            Cell::Unreadable => Found::Unreadable,
        }
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.index()]
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.erases[block.index()]
    }
}
