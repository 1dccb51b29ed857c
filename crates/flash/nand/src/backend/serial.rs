//! One chip that executes operations one after the other.

use ssdlab_core::{BlockId, Ppn};

use super::{Flash, OneByOne, Resume, cost_ns};
use crate::{Cause, Counts, FlashSink, Geometry, Layout, MergeCost, PageTimes, Role, Source, SpareArea, Timing};

/// Program units that the chip gathers in memory, and the flash page in its registers.
struct Gathered {
    layout: Layout,
    /// For each block, the number of pages whose programs were emitted since its latest erase.
    written: Vec<u32>,
    /// Flash pages whose data is in the registers, one per plane of a die block: the die block, and the number that the
    /// flash pages share. None if the registers hold no read data.
    sensed: Option<(u32, u32)>,
}

impl Gathered {
    fn new(geometry: &Geometry) -> Self {
        Self { layout: Layout::new(geometry), written: vec![0; geometry.blocks as usize], sensed: None }
    }

    /// Returns the duration of a read, excluding its transfer; None if the page is in memory.
    fn read(&mut self, ppn: Ppn, timing: &Timing) -> Option<u64> {
        let block = self.layout.block(ppn);
        let (written, in_block) = (self.written[block.index()], self.layout.in_block(ppn));
        if written > 0 && in_block >= self.layout.programmed_pages(block, written) {
            return None;
        }
        let at = self.layout.at(ppn);
        let before = self.sensed.replace((at.die_block, at.flash_page));
        Some(if before == self.sensed { 0 } else { timing.read_page(at.slc, at.flash_page).0 })
    }

    /// Returns the duration of a program, excluding its transfer: 0 except for the last page of a program unit. With
    /// two passes, the last page also begins the fine passes that are due.
    fn program(&mut self, ppn: Ppn, role: Role, timing: &Timing, transfer_ns: u64) -> u64 {
        self.layout.program(ppn, role);
        let (written, block) = (self.layout.in_block(ppn) + 1, self.layout.block(ppn));
        self.written[block.index()] = written;
        let unit = self.layout.program_unit(block);
        if !written.is_multiple_of(unit) {
            return 0;
        }
        self.sensed = None;
        let at = self.layout.at(ppn);
        if self.layout.pass_distance(at.slc) == 0 {
            return timing.program_page(at.slc, at.flash_page).0;
        }
        let programmed = |written| self.layout.programmed_pages(block, written);
        let fine_passes = u64::from((programmed(written) - programmed(written - unit)) / unit);
        let [coarse, fine] = timing.passes();
        coarse.0 + fine_passes * (u64::from(unit) * transfer_ns + fine.0)
    }

    /// Returns the number of parity pages, and the duration of their programming, if page `ppn` completes a stripe.
    #[inline]
    fn parity(&self, ppn: Ppn, timing: &Timing, transfer_ns: u64) -> Option<(u64, u64)> {
        let stripe = self.layout.completed_stripe(ppn)?;
        let (at, pages) = (self.layout.parity(stripe, 0), u64::from(self.layout.program_unit(stripe.block)));
        let transfers_ns = pages * transfer_ns;
        let duration_ns = match (self.layout.pass_distance(at.slc), timing.passes()) {
            (0, _) => transfers_ns + timing.program_page(at.slc, at.flash_page).0,
            (_, [coarse, fine]) => 2 * transfers_ns + coarse.0 + fine.0,
        };
        Some((pages, duration_ns))
    }

    /// Returns the duration of an erase on one die.
    fn erase(&mut self, block: BlockId, timing: &Timing) -> u64 {
        self.written[block.index()] = 0;
        self.sensed = None;
        let slc = self.layout.is_slc(block);
        self.layout.erase(block);
        timing.erase_block(slc).0
    }
}

/// One chip that executes operations one after the other, in the order of emission.
pub struct SerialFlash {
    counts: Counts,
    now_ns: u64,
    idle_ns: u64,
    transfer_ns: u64,
    copy_transfer_ns: u64,
    pages_per_block: u32,
    page_bytes: u32,
    timing: Timing,
    /// Number of dies over which a block extends. Each die erases its part of the block.
    dies_per_block: u64,
    /// Program units of the chips; None if pages are programmed one by one and blocks lie on one die.
    gathered: Option<Box<Gathered>>,
}

impl SerialFlash {
    /// Returns a chip whose clock starts at 0.
    pub fn new(timing: &Timing, geometry: &Geometry) -> Self {
        let transfer_ns = timing.transfer(geometry.page_bytes).0;
        Self {
            counts: Counts::default(),
            now_ns: 0,
            idle_ns: 0,
            transfer_ns,
            copy_transfer_ns: if timing.copyback { 0 } else { 2 * transfer_ns },
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            timing: *timing,
            dies_per_block: geometry.dies_per_block().into(),
            gathered: (geometry.program_unit() > 1 || geometry.dies_per_block() > 1)
                .then(|| Box::new(Gathered::new(geometry))),
        }
    }

    /// Sets the clock back to 0, and treats all pages as programmed, as in a drive whose state was loaded.
    pub fn reset_clock(&mut self) {
        self.now_ns = 0;
        self.idle_ns = 0;
        if let Some(gathered) = &mut self.gathered {
            gathered.written.fill(0);
            gathered.sensed = None;
        }
    }

    #[inline(always)]
    fn cell_ns(&self, times: &PageTimes, ppn: Ppn) -> u64 {
        times.of_page(ppn.0 % self.pages_per_block).0
    }

    #[inline(always)]
    fn read_for(&mut self, ppn: Ppn, transfer_ns: u64) {
        self.now_ns += match &mut self.gathered {
            None => self.cell_ns(&self.timing.read, ppn) + transfer_ns,
            Some(gathered) => gathered.read(ppn, &self.timing).map_or(0, |cell_ns| cell_ns + transfer_ns),
        };
    }
}

impl FlashSink for SerialFlash {
    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.counts.read(ppn, cause);
        self.read_for(ppn, self.transfer_ns);
    }

    #[inline]
    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.counts.read(ppn, cause);
        self.read_for(ppn, self.timing.transfer(bytes).0);
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.counts.program(ppn, oob, source, cause);
        self.now_ns += self.transfer_ns
            + match &mut self.gathered {
                None => self.cell_ns(&self.timing.program, ppn),
                Some(gathered) => gathered.program(ppn, oob.role, &self.timing, self.transfer_ns),
            };
        let parity = self.gathered.as_ref().and_then(|gathered| gathered.parity(ppn, &self.timing, self.transfer_ns));
        if let Some((pages, duration_ns)) = parity {
            self.counts.programs[Cause::Parity as usize] += pages;
            self.now_ns += duration_ns;
        }
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
        let erase_ns = match &mut self.gathered {
            None => self.timing.erase.0,
            Some(gathered) => gathered.erase(block, &self.timing),
        };
        self.now_ns += erase_ns * self.dies_per_block;
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        if self.gathered.is_some() {
            self.read(from, cause);
            return self.program(to, oob, Source::Copy(from), cause);
        }
        self.counts.copy(from, to, oob, cause);
        self.now_ns += self.cell_ns(&self.timing.read, from);
        self.now_ns += self.cell_ns(&self.timing.program, to) + self.copy_transfer_ns;
    }
}

impl Flash for SerialFlash {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        true
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn busy_ns(&self) -> u64 {
        self.now_ns - self.idle_ns
    }

    fn cost_ns(&self, cost: MergeCost) -> Option<u64> {
        Some(cost_ns(&self.timing, self.page_bytes, cost))
    }
}

impl Resume for SerialFlash {
    fn resume(&mut self, counts: Counts, slc_blocks: &[BlockId], _programmed: impl Iterator<Item = Ppn>) {
        self.counts = counts;
        if let Some(gathered) = &mut self.gathered {
            slc_blocks.iter().for_each(|&block| gathered.layout.set_slc(block));
        }
    }
}

impl OneByOne for SerialFlash {
    #[inline(always)]
    fn idle_until(&mut self, time_ns: u64) {
        if time_ns > self.now_ns {
            self.idle_ns += time_ns - self.now_ns;
            self.now_ns = time_ns;
        }
    }
}
