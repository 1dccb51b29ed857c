//! Parity (RAIN): the flash adds a program unit of parity to the program units of each stripe.
//!
//! The controller computes the parity from data that passes through its memory. When the last page of a stripe is
//! emitted, the program unit of parity is emitted too. It is processed like other program units: transfers, then one
//! program. The parity waits for the reads of all copied pages in the stripe. No request waits for parity.
//!
//! An operation without a die represents the reads of an incomplete stripe: it waits for these reads, and then ends
//! immediately. If a block is erased before its last stripe is complete, this stripe gets no parity.

use ssdlab_core::Ppn;

use super::ParallelFlash;
use super::ops::{Kind, NONE, Op};
use crate::Cause;

impl ParallelFlash {
    /// Adds a page, whose data comes from `reads`, to its stripe. Emits the parity if the stripe is complete.
    #[inline(never)]
    pub(super) fn add_to_stripe(&mut self, ppn: Ppn, reads: [u32; 2]) {
        let (stripe, is_last) = self.layout.stripe(ppn);
        let die_block = self.layout.parity(stripe, 0).die_block;
        for read in reads.into_iter().filter(|&read| read != NONE) {
            let waiter = self.waiter_of_stripe(die_block);
            self.ops.wait_for(waiter, read);
        }
        if !is_last {
            return;
        }
        let mut first = NONE;
        for page in 0..self.layout.program_unit(stripe.block) {
            self.counts.programs[Cause::Parity as usize] += 1;
            let at = self.layout.parity(stripe, page);
            first = self.emit(Kind::Program, at, self.chips.page_bytes, None, Cause::Parity);
        }
        match self.gathered.as_mut().and_then(|gathered| gathered.end_stripe(die_block)) {
            None => self.enqueue(first),
            Some(waiter) => {
                self.ops.wait_for(first, waiter);
                self.release(waiter);
            }
        }
    }

    /// Returns the operation that waits for the reads of the stripe whose parity goes to `die_block`.
    fn waiter_of_stripe(&mut self, die_block: u32) -> u32 {
        let gathered = self.gathered.as_mut().expect("drives with parity gather pages into program units");
        let waiter = &mut gathered.blocks[die_block as usize].stripe;
        if *waiter == NONE {
            // Besides the reads, the operation waits for the stripe to be complete.
            *waiter = self.ops.insert(Op { block: NONE, waits: 1, ..Op::FREE });
            gathered.waiting += 1;
        }
        *waiter
    }

    /// Ends an operation that waited for the reads of a stripe.
    #[inline(never)]
    pub(super) fn data_is_read(&mut self, index: u32) {
        self.end(index);
    }

    /// Discards the stripe state of a die block that is about to be erased.
    pub(super) fn forget(&mut self, die_block: u32) {
        let gathered = self.gathered.as_mut().expect("the drive gathers program units");
        gathered.erased(die_block);
        if let Some(waiter) = gathered.end_stripe(die_block) {
            self.release(waiter);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use ssdlab_core::{BlockId, Lpn, Nanos};

    use super::super::passes::tests::settled;
    use super::super::scheduler::out_of_order;
    use super::super::{ArrayOptions, JobKind, Requester, TimingChecker, UntimedFlash};
    use super::*;
    use crate::backend::{Flash, SerialFlash};
    use crate::{
        Collected, Commands, FlashSink, Geometry, PageTimes, Parallelism, Role, Source, SpareArea, Timing, Units,
    };

    const TIMING: Timing = Timing {
        read: PageTimes::uniform(Nanos(100)),
        program: PageTimes::uniform(Nanos(1_000)),
        erase: Nanos(10_000),
        slc: None,
        transfer_per_kib: Nanos(5),
        copyback: false,
        partial_read: false,
    };

    /// Returns a geometry with four dies, three data units per parity unit, program units of two pages, and three word
    /// lines. A block has 18 data pages. Word lines 0, 1 and 2 have their parity on dies 3, 2 and 1.
    fn geometry(channels: u32) -> Geometry {
        Geometry {
            parallelism: Parallelism { channels, dies: 4 / channels, ..Parallelism::SINGLE },
            units: Units { per_flash_page: 2, collected: Collected::Superblock, parity: 3, ..Units::PAGE },
            ..Geometry::single_plane(4096, 18, 2)
        }
    }

    fn array(channels: u32, before: impl FnOnce(&mut UntimedFlash)) -> ParallelFlash {
        let geometry = geometry(channels);
        let commands = Commands::default();
        let options = ArrayOptions { commands, scheduler: &out_of_order::INFO, seed: 1, memory_survives: true };
        let mut untimed = UntimedFlash::new(&geometry, Some(Box::new(TimingChecker::new(&geometry))));
        before(&mut untimed);
        ParallelFlash::new(&geometry, &TIMING, options, untimed)
    }

    /// Emits the operations of one job.
    fn emit(flash: &mut ParallelFlash, act: impl FnOnce(&mut ParallelFlash)) {
        flash.submit(0, Requester::default(), JobKind::Collection);
        act(flash);
        flash.submitted();
    }

    fn program(flash: &mut dyn FlashSink, pages: Range<u32>, source: Source) {
        for page in pages {
            let oob = SpareArea { lpn: Lpn(page), sequence: page.into(), role: Role::Data };
            flash.program(Ppn(page), oob, source, Cause::Gc);
        }
    }

    fn parity(flash: &impl Flash) -> u64 {
        flash.counts().programs[Cause::Parity as usize]
    }

    /// Checks that the parity of three program units takes two transfers and a program on a separate die.
    #[test]
    fn the_last_page_of_a_stripe_emits_its_parity() {
        // With one channel per die, each die has received its two pages after 40 ns. On a common channel, the last page
        // arrives after one transfer for each page of data and parity.
        for (channels, pages, parity_pages, transfers) in [(4, 4, 0, 2), (4, 6, 2, 2), (1, 4, 0, 4), (1, 6, 2, 8)] {
            let mut flash = array(channels, |_| ());
            emit(&mut flash, |flash| program(flash, 0..pages, Source::Map));
            let context = format!("{pages} pages on {channels} channels");
            assert_eq!((parity(&flash), settled(&mut flash)), (parity_pages, 20 * transfers + 1_000), "{context}");
        }
    }

    /// Writes two word lines. Dies 0, 1 and 3 hold the data of the second word line, and die 2 its parity. Each die
    /// then has two program units.
    #[test]
    fn parity_takes_the_place_of_data_on_another_die_in_each_word_line() {
        let mut flash = array(4, |_| ());
        emit(&mut flash, |flash| program(flash, 0..12, Source::Map));
        assert_eq!((settled(&mut flash), parity(&flash)), (2 * 1_040, 4));
    }

    #[test]
    fn a_chip_without_parallelism_programs_parity_after_the_data() {
        let mut flash = SerialFlash::new(&TIMING, &geometry(1));
        for (pages, units) in [(0..5, 2), (5..6, 4), (6..18, 12)] {
            let transfers = u64::from(pages.end) + parity_of(pages.end);
            program(&mut flash, pages.clone(), Source::Map);
            assert_eq!(flash.now_ns(), 20 * transfers + 1_000 * units, "{pages:?}");
            assert_eq!(parity(&flash), parity_of(pages.end));
        }
    }

    /// Returns the number of pages of parity for the first `pages` pages of a block.
    fn parity_of(pages: u32) -> u64 {
        (pages / 6 * 2).into()
    }

    /// Page 23 is the last page of a stripe, and a copy of page 0. Die 0 programs pages 18 and 19 from 40 to 1,040 ns,
    /// then reads page 0, which is in memory at 1,160 ns. Only then are the parity and the last data unit transferred
    /// to their dies. Die 3 is therefore free for a read at 500 ns.
    #[test]
    fn parity_waits_for_the_copies_of_its_stripe() {
        let mut flash = array(4, |before| program(before, 0..18, Source::Map));
        emit(&mut flash, |flash| {
            program(flash, 18..23, Source::Map);
            flash.read(Ppn(0), Cause::Gc);
            program(flash, 23..24, Source::Copy(Ppn(0)));
        });
        while flash.next_ns() < 500 {
            flash.advance();
        }
        flash.pass_until(500);
        emit(&mut flash, |flash| flash.read(Ppn(10), Cause::Host));
        while flash.next_ns() <= 620 {
            flash.advance();
        }
        assert!(flash.take_done().is_some(), "the read of page 10 takes 120 ns");
        assert_eq!((settled(&mut flash), parity(&flash)), (1_160 + 1_040, 6 + 2));
    }

    /// Erases a block after only its first program unit was programmed, with copied data. The incomplete stripe must
    /// get no parity; the next stripe must get parity.
    #[test]
    fn an_erase_ends_an_incomplete_stripe() {
        let mut flash = array(4, |before| program(before, 0..18, Source::Map));
        emit(&mut flash, |flash| {
            for page in [0, 1] {
                flash.read(Ppn(page), Cause::Gc);
                program(flash, 18 + page..19 + page, Source::Copy(Ppn(page)));
            }
            flash.erase(BlockId(1), Cause::Gc);
            program(flash, 18..24, Source::Map);
        });
        // Die 0 reads both pages in 140 ns, programs them, erases its block, and programs the next program unit.
        assert_eq!((settled(&mut flash), parity(&flash)), (140 + 1_040 + 10_000 + 1_040, 6 + 2));
    }

    /// Programs four pages of a stripe before the clock starts, and the last two pages afterwards.
    #[test]
    fn a_stripe_begun_before_the_clock_starts_gets_its_parity() {
        let mut flash = array(4, |before| program(before, 0..4, Source::Map));
        emit(&mut flash, |flash| program(flash, 4..6, Source::Map));
        assert_eq!((settled(&mut flash), parity(&flash)), (1_040, 2));
    }
}
