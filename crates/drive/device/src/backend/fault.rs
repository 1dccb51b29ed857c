//! A fault model that wraps any flash backend. The seed determines all its faults.
//!
//! | fault | what happens |
//! |---|---|
//! | program failure | reported; the page reads as damaged; its block fails every program until it is retired |
//! | erase failure | reported; the block keeps its contents |
//! | uncorrectable read | the page cannot be read until its block is erased |
//! | bit flip | a bit of a page stays wrong; only the checksum detects it |
//! | power cut | the current operation does not begin, is torn, or completes; later operations fail until the power is restored |
//!
//! The backend also enforces the rules of a chip, more strictly than [`ssdlab_nand::FlashArray`]. A page whose program
//! was interrupted must not be programmed, even if it reads as erased. The same holds for a block whose erase was
//! interrupted. Bad blocks must not be used. [`FaultBackend::violation`] returns the first broken rule.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ssdlab_core::{BlockId, Ppn, Rng};
use ssdlab_nand::{Geometry, ProgramOrder};

use super::{Backend, Fault, Slot};
use crate::spare::{Content, SPARE_BYTES, SpareBytes};

/// A planned power cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerCut {
    /// Number of programs, erases, bad-block marks and log writes that complete before the power is cut.
    pub after: u64,
    /// True if the operation during which the power fails may be partly executed; false if it does not begin at all.
    pub torn: bool,
}

/// Byte value that an interrupted operation leaves in pages and spare areas.
const TORN: u8 = 0xA5;
/// Byte value that a failed program leaves in the second half of the spare area. When a drive file is reopened, this
/// value identifies the failing block.
const FAILED: u8 = 0x5A;

/// Fault rates. Each value is the mean number of operations per fault; 0 means no faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultPlan {
    /// Mean number of programs per program failure; 0 means that no program fails.
    pub programs: u64,
    /// Mean number of erases per erase failure; 0 means that no erase fails.
    pub erases: u64,
    /// Mean number of page reads per page that becomes uncorrectable; 0 means that no page becomes uncorrectable.
    pub reads: u64,
    /// Mean number of programs per page with a bit flip; 0 means that no bit flips.
    pub flips: u64,
    /// Mean number of blocks per factory bad block; 0 means that no block is bad from the factory.
    pub factory: u64,
    /// Seed of all faults.
    pub seed: u64,
}

/// State of a page's memory cells, which cannot be derived from the bytes in the wrapped flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cells {
    Erased,
    Programmed,
    /// An interrupted operation disturbed the block, which must be erased before the next program.
    Disturbed,
}

/// State of the random faults. Reads can cause faults too, so reads change this state.
#[derive(Clone, Debug)]
struct Drawn {
    rng: Rng,
    /// Pages that can no longer be read.
    uncorrectable: Vec<bool>,
    /// Pages made unreadable by a fault since the last call of [`FaultBackend::take_spoiled`].
    spoiled: Vec<Ppn>,
}

impl Drawn {
    fn happens(&mut self, one_in: u64) -> bool {
        one_in > 0 && self.rng.below(one_in) == 0
    }
}

#[derive(Debug)]
struct Chance(Mutex<Drawn>);

impl Chance {
    fn lock(&self) -> MutexGuard<'_, Drawn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get_mut(&mut self) -> &mut Drawn {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Chance {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

/// Flash backend that injects the faults of a fault plan.
#[derive(Clone, Debug)]
pub struct FaultBackend<B> {
    inner: B,
    plan: FaultPlan,
    /// True if programs and erases may fail.
    fails: bool,
    chance: Chance,
    /// For each block, true if the states of its cells have been read from the flash. They are read before the first
    /// program or erase of the block.
    known: Vec<bool>,
    cells: Vec<Cells>,
    /// For each block, the offset of the page after the last programmed page.
    next: Vec<u32>,
    failing: Vec<bool>,
    cut: Option<PowerCut>,
    powered: bool,
    operations: u64,
    violation: Option<String>,
}

fn is_erased(spare: &[u8]) -> bool {
    spare.iter().all(|&byte| byte == 0)
}

/// True if no page of the flash is programmed.
fn is_blank<B: Backend>(flash: &B) -> Result<bool, Fault> {
    let Geometry { pages_per_block, blocks, .. } = *flash.geometry();
    let mut spares = vec![0; pages_per_block as usize * SPARE_BYTES];
    for block in 0..blocks {
        flash.read_spares(Ppn(block * pages_per_block), &mut spares)?;
        if !is_erased(&spares) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl<B: Backend> FaultBackend<B> {
    /// Adds faults to flash. Marks blocks as bad from the factory if the flash is blank.
    pub fn new(mut inner: B, plan: FaultPlan) -> Result<Self, Fault> {
        let Geometry { pages_per_block, blocks, .. } = *inner.geometry();
        let mut rng = Rng::named(plan.seed, "faults");
        if plan.factory > 0 && is_blank(&inner)? {
            for block in (0..blocks).map(BlockId) {
                if rng.below(plan.factory) == 0 && !inner.is_bad(block) {
                    inner.mark_bad(block)?;
                }
            }
        }
        let (blocks, pages) = (blocks as usize, blocks as usize * pages_per_block as usize);
        Ok(Self {
            inner,
            plan,
            fails: true,
            chance: Chance(Mutex::new(Drawn { rng, uncorrectable: vec![false; pages], spoiled: Vec::new() })),
            known: vec![false; blocks],
            cells: vec![Cells::Erased; pages],
            next: vec![0; blocks],
            failing: vec![false; blocks],
            cut: None,
            powered: true,
            operations: 0,
            violation: None,
        })
    }

    /// Turns off failures of programs and erases; the power may still be cut. FTLs then behave as on flash without
    /// faults.
    pub fn never_failing(self) -> Self {
        Self { fails: false, ..self }
    }

    /// Plans a power cut.
    pub fn cut_power(&mut self, cut: PowerCut) {
        self.cut = Some(cut);
    }

    /// Restores the power and cancels a planned cut.
    pub fn restore_power(&mut self) {
        self.cut = None;
        self.powered = true;
    }

    /// Returns the number of programs, erases, bad-block marks and log writes so far. A power cut can be planned at any
    /// such operation.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Returns the pages whose data a fault destroyed since the last call.
    pub fn take_spoiled(&mut self) -> Vec<Ppn> {
        std::mem::take(&mut self.chance.get_mut().spoiled)
    }

    /// Returns a description of the first rule of the chip that was broken, if any.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Returns the wrapped flash.
    pub fn into_inner(self) -> B {
        self.inner
    }

    fn blame(&mut self, violation: String) {
        self.violation.get_or_insert(violation);
    }

    fn check_power(&self) -> Result<(), Fault> {
        if self.powered { Ok(()) } else { Err(Fault::PowerLost) }
    }

    fn happens(&mut self, one_in: u64) -> bool {
        self.chance.get_mut().happens(one_in)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.chance.get_mut().rng.below(end)
    }

    /// Counts an operation. Returns None if the power stays on. If the power fails now, returns a number below `ways`
    /// that selects how the operation is interrupted; 0 means that it does not begin.
    fn interrupted(&mut self, ways: u64) -> Result<Option<u64>, Fault> {
        self.check_power()?;
        if let Some(PowerCut { after: 0, torn }) = self.cut {
            self.powered = false;
            return Ok(Some(if torn { self.below(ways) } else { 0 }));
        }
        if let Some(cut) = &mut self.cut {
            cut.after -= 1;
        }
        self.operations += 1;
        Ok(None)
    }

    fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(ppn.0 / self.inner.geometry().pages_per_block)
    }

    /// Reads the state of a block from the flash, unless it is already known.
    fn know(&mut self, block: BlockId) -> Result<(), Fault> {
        if self.known[block.index()] {
            return Ok(());
        }
        let pages = self.inner.geometry().pages_per_block as usize;
        let mut spares = vec![0; pages * SPARE_BYTES];
        let first = block.index() * pages;
        self.inner.read_spares(Ppn(first as u32), &mut spares)?;
        let (spares, _) = spares.as_chunks::<SPARE_BYTES>();
        for (at, spare) in spares.iter().enumerate().filter(|(_, spare)| !is_erased(*spare)) {
            self.cells[first + at] = Cells::Programmed;
            self.next[block.index()] = at as u32 + 1;
            self.failing[block.index()] |= spare[SPARE_BYTES / 2..].iter().all(|&byte| byte == FAILED);
        }
        self.known[block.index()] = true;
        Ok(())
    }

    fn check_program(&mut self, ppn: Ppn) {
        let block = self.block_of(ppn);
        let page = ppn.0 % self.inner.geometry().pages_per_block;
        if self.inner.is_bad(block) {
            self.blame(format!("program of page {ppn}: block {block} is bad"));
        }
        match self.cells[ppn.index()] {
            Cells::Erased => {}
            Cells::Programmed => {
                self.blame(format!("program of page {ppn}: already programmed since the last erase of block {block}"))
            }
            Cells::Disturbed => {
                self.blame(format!("program of page {ppn}: an earlier operation on the page was interrupted"))
            }
        }
        let next = self.next[block.index()];
        if self.inner.geometry().order == ProgramOrder::Ascending && page < next {
            self.blame(format!("program of page {ppn}: the next page of block {block} is {next}, not {page}"));
        }
        self.next[block.index()] = next.max(page + 1);
    }

    /// Makes a program fail at random, or always if the block has failed before. Does nothing if the program succeeds.
    fn fail_at_random(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        let block = self.block_of(ppn);
        if !self.failing[block.index()] && !self.happens(self.plan.programs) {
            return Ok(());
        }
        self.check_program(ppn);
        self.cells[ppn.index()] = Cells::Programmed;
        self.failing[block.index()] = true;
        let mut half = *spare;
        half[SPARE_BYTES / 2..].fill(FAILED);
        self.inner.program(ppn, page, &half)?;
        Err(Fault::Failed)
    }

    /// Programs a page; at random, flips one of its bits.
    fn program_page(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        self.check_program(ppn);
        self.cells[ppn.index()] = Cells::Programmed;
        if !self.happens(self.plan.flips) {
            return self.inner.program(ppn, page, spare);
        }
        debug_assert!(matches!(Content::decode(ppn, spare), Content::Programmed(_)));
        let mut flipped = page.to_vec();
        let bit = self.below(8 * page.len() as u64) as usize;
        flipped[bit / 8] ^= 1 << (bit % 8);
        self.chance.get_mut().spoiled.push(ppn);
        self.inner.program(ppn, &flipped, spare)
    }

    /// Interrupts a program at one of five stages, given by `way`.
    fn tear_program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes, way: u64) -> Result<(), Fault> {
        if way == 0 {
            return Ok(());
        }
        self.check_program(ppn);
        self.cells[ppn.index()] = Cells::Disturbed;
        let mut torn = page.to_vec();
        torn[page.len() / 2..].fill(TORN);
        let mut half = *spare;
        half[SPARE_BYTES / 2..].fill(TORN);
        match way {
            // The program was interrupted so early that the page reads as erased.
            1 => Ok(()),
            2 => self.inner.program(ppn, &torn, &half),
            // The second half of the page is damaged, but the spare area is intact.
            3 => self.inner.program(ppn, &torn, spare),
            // The operation is complete but not acknowledged.
            _ => self.inner.program(ppn, page, spare),
        }
    }

    /// Tears an erase: each page then reads as before, as erased or as damaged.
    fn tear_erase(&mut self, block: BlockId, way: u64) -> Result<(), Fault> {
        if way == 0 {
            return Ok(());
        }
        let Geometry { pages_per_block, page_bytes, .. } = *self.inner.geometry();
        let first = block.0 * pages_per_block;
        let mut kept = Vec::new();
        for ppn in (first..first + pages_per_block).map(Ppn) {
            self.cells[ppn.index()] = Cells::Disturbed;
            let (mut page, mut spare) = (vec![0; page_bytes as usize], [0; SPARE_BYTES]);
            self.inner.read(ppn, &mut page, &mut spare)?;
            match self.below(3) {
                0 if way == 1 => kept.push((ppn, page, spare)),
                1 if way == 1 => kept.push((ppn, page, [TORN; SPARE_BYTES])),
                _ => {}
            }
        }
        self.next[block.index()] = pages_per_block;
        self.inner.erase(block)?;
        kept.iter().try_for_each(|(ppn, page, spare)| self.inner.program(*ppn, page, spare))
    }
}

impl<B: Backend> Backend for FaultBackend<B> {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn fails(&self) -> bool {
        self.fails
    }

    fn is_deleted(&self) -> bool {
        self.inner.is_deleted()
    }

    /// Reads are independent only if the fault plan has no read faults.
    fn reads_at_once(&self) -> bool {
        self.plan.reads == 0 && self.inner.reads_at_once()
    }

    fn fetch(&self, ppn: Ppn) {
        self.inner.fetch(ppn);
    }

    /// Gives each mount different random faults. Otherwise a drive that is opened repeatedly would always have the same
    /// first faults.
    fn mounted(&mut self, times: u64) {
        self.chance.get_mut().rng = Rng::named(self.plan.seed, &format!("faults after {times} mounts"));
    }

    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault> {
        self.check_power()?;
        self.inner.read(ppn, page, spare)?;
        let mut drawn = self.chance.lock();
        if drawn.happens(self.plan.reads) && !drawn.uncorrectable[ppn.index()] {
            drawn.uncorrectable[ppn.index()] = true;
            drawn.spoiled.push(ppn);
        }
        if drawn.uncorrectable[ppn.index()] { Err(Fault::Uncorrectable) } else { Ok(()) }
    }

    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault> {
        self.check_power()?;
        self.inner.read_spares(first, spares)
    }

    fn program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        let block = self.block_of(ppn);
        self.know(block)?;
        if let Some(way) = self.interrupted(5)? {
            self.tear_program(ppn, page, spare, way)?;
            return Err(Fault::PowerLost);
        }
        self.fail_at_random(ppn, page, spare)?;
        self.program_page(ppn, page, spare)
    }

    fn begin_unit(&mut self, first: Ppn) -> Result<(), Fault> {
        self.check_power()?;
        self.know(self.block_of(first))?;
        let page = vec![0; self.inner.geometry().page_bytes as usize];
        self.fail_at_random(first, &page, &[0; SPARE_BYTES])
    }

    /// If a power cut tears the program unit, each of its pages may be left in a different state.
    fn program_unit(&mut self, first: Ppn, pages: &[u8], spares: &[SpareBytes]) -> Result<(), Fault> {
        self.know(self.block_of(first))?;
        let way = self.interrupted(2)?;
        let pages = pages.chunks(self.inner.geometry().page_bytes as usize).zip(spares).zip((first.0..).map(Ppn));
        for ((page, spare), ppn) in pages {
            match way {
                None => self.program_page(ppn, page, spare)?,
                Some(0) => {}
                Some(_) => {
                    let way = 1 + self.below(4);
                    self.tear_program(ppn, page, spare, way)?;
                }
            }
        }
        if way.is_some() { Err(Fault::PowerLost) } else { Ok(()) }
    }

    fn erase(&mut self, block: BlockId) -> Result<(), Fault> {
        self.know(block)?;
        if self.inner.is_bad(block) {
            self.blame(format!("erase of block {block}: the block is bad"));
        }
        if let Some(way) = self.interrupted(3)? {
            self.tear_erase(block, way)?;
            return Err(Fault::PowerLost);
        }
        if self.failing[block.index()] || self.happens(self.plan.erases) {
            self.failing[block.index()] = true;
            return Err(Fault::Failed);
        }
        let pages = self.inner.geometry().pages_per_block as usize;
        let first = block.index() * pages;
        self.cells[first..first + pages].fill(Cells::Erased);
        self.chance.get_mut().uncorrectable[first..first + pages].fill(false);
        self.next[block.index()] = 0;
        self.inner.erase(block)
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.check_power()?;
        self.inner.sync()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.inner.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault> {
        if self.interrupted(1)?.is_some() { Err(Fault::PowerLost) } else { self.inner.mark_bad(block) }
    }

    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.check_power()?;
        self.inner.read_log(slot, offset, bytes)
    }

    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        if let Some(way) = self.interrupted(3)? {
            // Values of `way`: 0 = nothing is written, 1 = a part is written, 2 = everything is written but not
            // acknowledged.
            let part = [0, self.below(bytes.len() as u64) as usize, bytes.len()][way as usize];
            if way > 0 {
                self.inner.write_log(slot, offset, &bytes[..part])?;
            }
            return Err(Fault::PowerLost);
        }
        self.inner.write_log(slot, offset, bytes)
    }
}
