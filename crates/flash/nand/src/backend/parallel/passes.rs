//! Programming in two passes: a coarse pass, then a fine pass after the coarse passes of further word lines.
//!
//! ```text
//! distance 2:  coarse 0, coarse 1, coarse 2, fine 0, coarse 3, fine 1, ..., last coarse, the fine passes that are left
//! ```
//! Both passes transfer the data, which stays in memory until the fine pass has ended. The operations that the FTL
//! emits become the fine pass, for which requests wait. Separate operations for the coarse pass wait for the data.

use super::ParallelFlash;
use super::gathered::ProgramUnit;
use super::ops::{NONE, Op, Pass};

impl ParallelFlash {
    /// Turns program `index` into the fine pass of its page. Returns a new operation for the coarse pass.
    pub(super) fn begin_passes(&mut self, index: u32) -> u32 {
        self.emitted = self.emitted.wrapping_add(1);
        let coarse = Op { pass: Pass::Coarse, job: NONE, attributed: false, id: self.emitted, ..self.ops[index] };
        let coarse = self.ops.insert(coarse);
        if self.record.keeps_segments() {
            self.record.emitted(coarse, self.submission.requester);
        }
        self.show_emitted(coarse);
        let Op { block: die_block, .. } = self.ops[index];
        self.ops[index].pass = Pass::Fine;
        let gathered = self.gathered.as_mut().expect("the drive gathers program units");
        gathered.hold(&self.ops[index]);
        if gathered.fine_units[die_block as usize].gathered.append(index, &mut self.ops) == index {
            // This additional wait ends once the coarse passes that must precede the fine pass are queued.
            self.ops[index].waits += 1;
        }
        coarse
    }

    /// Called once all pages of a unit's coarse pass are in memory; queues the fine passes that are now due.
    pub(super) fn end_coarse_unit(&mut self, die_block: u32) {
        let gathered = self.gathered.as_mut().expect("the drive gathers program units");
        let is_full = gathered.blocks[die_block as usize].next == self.layout.pages_per_die_block;
        let units = &mut gathered.fine_units[die_block as usize];
        units.complete.push_back(std::mem::replace(&mut units.gathered, ProgramUnit::EMPTY).first);
        let left = if is_full { 0 } else { self.layout.pass_distance(false) as usize };
        let due: Vec<u32> = units.complete.drain(..units.complete.len().saturating_sub(left)).collect();
        for first in due {
            let gathered = self.gathered.as_mut().expect("the drive gathers program units");
            gathered.release(first, &self.ops);
            let mut member = first;
            while member != NONE {
                self.show_emitted(member);
                member = self.ops.after(first, member);
            }
            self.chain(die_block, first);
            self.release(first);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::ops::Range;

    use ssdlab_core::{BlockId, Lpn, Nanos, Ppn};

    use super::super::scheduler::out_of_order;
    use super::super::{ArrayOptions, JobKind, NEVER, Requester, TimingChecker, UntimedFlash};
    use super::*;
    use crate::backend::{Flash, SerialFlash};
    use crate::{Cause, Commands, FlashSink, Geometry, PageTimes, Role, Source, SpareArea, Timing, Units};

    /// Returns a geometry with four program units of two pages per block. The fine pass of a unit comes after the
    /// coarse passes of two further units.
    fn geometry() -> Geometry {
        let units = Units { word_line: 2, pass_distance: 2, ..Units::PAGE };
        Geometry { units, ..Geometry::single_plane(4096, 8, 3) }
    }

    fn timing() -> Timing {
        Timing {
            read: PageTimes::uniform(Nanos(100)),
            program: PageTimes::of(&[Nanos(600), Nanos(1_000)]).expect("two passes"),
            erase: Nanos(10_000),
            slc: None,
            transfer_per_kib: Nanos(5),
            copyback: false,
            partial_read: false,
        }
    }

    /// Durations in nanoseconds of a coarse and a fine pass: two page transfers plus the program.
    const COARSE: u64 = 40 + 600;
    const FINE: u64 = 40 + 1_000;

    fn array(commands: Commands) -> ParallelFlash {
        let geometry = geometry();
        let options = ArrayOptions { commands, scheduler: &out_of_order::INFO, seed: 1, memory_survives: true };
        let checker = Box::new(TimingChecker::new(&geometry));
        ParallelFlash::new(&geometry, &timing(), options, UntimedFlash::new(&geometry, Some(checker)))
    }

    /// Emits the operations of a request; returns the number of operations for which it waits.
    fn emit(flash: &mut ParallelFlash, act: impl FnOnce(&mut ParallelFlash)) -> u32 {
        flash.submit(0, Requester::default(), JobKind::BufferedPage);
        act(flash);
        flash.submitted()
    }

    fn program(flash: &mut dyn FlashSink, pages: Range<u32>) {
        for page in pages {
            let oob = SpareArea { lpn: Lpn(page), sequence: page.into(), role: Role::Data };
            flash.program(Ppn(page), oob, Source::Host(page), Cause::Host);
        }
    }

    /// Runs all events; returns the time of the last event.
    pub fn settled(flash: &mut ParallelFlash) -> u64 {
        while flash.next_ns() != NEVER {
            flash.advance();
        }
        assert_eq!((flash.violation(), flash.under_way()), (None, 0));
        flash.now_ns()
    }

    /// Checks that the fine pass of a program unit follows the coarse pass of the second unit after it. The last units
    /// of a block must get their fine passes immediately.
    #[test]
    fn the_fine_pass_follows_the_coarse_passes_of_further_word_lines() {
        let mut flash = array(Commands::default());
        let mut time_ns = 0;
        for (unit, fine_passes, waiting) in [(0, 0, 2), (1, 0, 4), (2, 1, 4), (3, 3, 0), (4, 0, 2)] {
            emit(&mut flash, |flash| program(flash, 2 * unit..2 * unit + 2));
            time_ns += COARSE + fine_passes * FINE;
            assert_eq!(settled(&mut flash), time_ns, "unit {unit}");
            assert_eq!(flash.gathered_for_host(), waiting, "unit {unit}");
        }
        assert_eq!(flash.counts().programmed(), 10, "a page counts once");
    }

    /// Checks that a write request ends with the fine pass of its page, and that the page is read from memory until
    /// then.
    #[test]
    fn a_page_is_programmed_after_both_passes() {
        let mut flash = array(Commands::default());
        assert_eq!(emit(&mut flash, |flash| program(flash, 0..4)), 4);
        assert_eq!((settled(&mut flash), flash.take_done()), (2 * COARSE, None));
        let from_memory = |flash: &mut ParallelFlash| emit(flash, |flash| flash.read(Ppn(1), Cause::Host)) == 0;
        assert!(from_memory(&mut flash));
        emit(&mut flash, |flash| program(flash, 4..6));
        while flash.next_ns() < 3 * COARSE + FINE {
            assert!(from_memory(&mut flash));
            flash.advance();
        }
        assert_eq!(settled(&mut flash), 3 * COARSE + FINE);
        assert!(!from_memory(&mut flash));
        assert_eq!(settled(&mut flash), 3 * COARSE + FINE + 120);
    }

    /// Checks that copies are read before the coarse pass. Their source may be erased after these reads, because the
    /// copies are in memory that survives a power loss.
    #[test]
    fn the_coarse_pass_waits_for_the_reads_of_copies() {
        let mut flash = array(Commands::default());
        emit(&mut flash, |flash| program(flash, 0..8));
        let start_ns = settled(&mut flash);
        emit(&mut flash, |flash| {
            for (from, to) in [(0, 8), (1, 9)] {
                let oob = SpareArea { lpn: Lpn(from), sequence: 9, role: Role::Data };
                flash.copy(Ppn(from), Ppn(to), oob, Cause::Gc);
            }
            flash.erase(BlockId(0), Cause::Gc);
        });
        // The expected time covers two reads of 120 ns, the erase and the coarse pass.
        assert_eq!(settled(&mut flash) - start_ns, 240 + 10_000 + COARSE);
    }

    /// Checks that cache program transfers the data of the next pass during the current pass.
    #[test]
    fn cache_program_hides_the_transfers() {
        let mut flash = array(Commands { cache_program: true, ..Commands::default() });
        emit(&mut flash, |flash| program(flash, 0..8));
        assert_eq!(settled(&mut flash), 40 + 4 * 600 + 4 * 1_000);
    }

    #[test]
    fn a_chip_without_parallelism_does_the_same() {
        let mut flash = SerialFlash::new(&timing(), &geometry());
        let mut time_ns = 0;
        for (unit, fine_passes) in [(0, 0), (1, 0), (2, 1), (3, 3), (4, 0)] {
            program(&mut flash, 2 * unit..2 * unit + 2);
            time_ns += COARSE + fine_passes * FINE;
            assert_eq!(flash.now_ns(), time_ns, "unit {unit}");
        }
        // Page 8 waits for its fine pass; page 7 is programmed.
        flash.read(Ppn(8), Cause::Host);
        assert_eq!(flash.now_ns(), time_ns);
        flash.read(Ppn(7), Cause::Host);
        assert_eq!(flash.now_ns(), time_ns + 120);
    }
}
