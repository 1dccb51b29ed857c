//! Gathering of program units, in an array whose dies program several pages with one command.
//!
//! The pages of a program unit stay in the controller's memory until the unit has been programmed. A read of such a
//! page takes no time. The first program of a unit represents the unit in the queue of its die, and waits until all
//! other programs of the unit are emitted. If the controller's memory survives a power loss, a block may be erased once
//! its pages are read. Otherwise an erase waits until the copies are programmed.
//!
//! A read does not wait for earlier operations on its die block: a page that is not in memory has already been
//! programmed. The next erase of the die block waits for the read.
//!
//! Operations of a die are numbered in the order in which they become ready. In the order of emission, an erase might
//! precede a program unit for which it waits.

use super::ParallelFlash;
use super::gathered::ProgramUnit;
use super::ops::{NONE, Op};
use crate::{At, Cause};

impl ParallelFlash {
    /// Adds a program to its program unit; returns the first program of the unit, or of its coarse pass.
    pub(super) fn gather(&mut self, index: u32) -> u32 {
        let Op { block: die_block, in_block, slc, .. } = self.ops[index];
        let block = &mut self.gathered.as_mut().expect("program units have several pages").blocks[die_block as usize];
        self.ops[index].erases = block.erases;
        block.unprogrammed = block.unprogrammed.min(in_block);
        block.next = in_block + 1;
        let (complete, two_passes) =
            (block.next.is_multiple_of(self.layout.unit(slc)), self.layout.pass_distance(slc) > 0);
        let index = if two_passes { self.begin_passes(index) } else { index };
        let gathered = self.gathered.as_mut().expect("program units have several pages");
        gathered.hold(&self.ops[index]);
        let unit = &mut gathered.blocks[die_block as usize].unit;
        let first = unit.append(index, &mut self.ops);
        if complete {
            *unit = ProgramUnit::EMPTY;
            gathered.release(first, &self.ops);
        }
        if first == index {
            self.ops[first].waits += 1;
            self.chain(die_block, first);
        }
        if complete {
            // The caller makes the program ready if it waits for nothing else.
            self.ops[first].waits -= 1;
            if two_passes {
                self.end_coarse_unit(die_block);
            }
        }
        first
    }

    /// Reads a page from the controller's memory.
    pub(super) fn read_memory(&mut self, at: &At, cause: Cause) {
        self.submission.read = NONE;
        self.submission.read_cause = cause;
        if let Some(checker) = &mut self.checker {
            checker.read_memory(at.die_block, at.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::{BlockId, Lpn, Nanos, Ppn};

    use super::super::scheduler::out_of_order;
    use super::super::{ArrayOptions, JobKind, NEVER, Requester, TimingChecker, UntimedFlash};
    use super::*;
    use crate::backend::Flash;
    use crate::{
        Collected, Commands, FlashSink, Geometry, Interruption, PageTimes, Parallelism, Role, SlcTimes, Source,
        SpareArea, Suspend, Timing, Units,
    };

    /// Creates a die with two planes. Four pages per flash page and three flash pages per word line make 24 pages per
    /// program unit. A block has two program units.
    fn die(memory_survives: bool, suspend: Suspend) -> ParallelFlash {
        let geometry = Geometry {
            parallelism: Parallelism { planes: 2, ..Parallelism::SINGLE },
            units: Units { per_flash_page: 4, word_line: 3, collected: Collected::Die, ..Units::PAGE },
            ..Geometry::single_plane(4096, 48, 3)
        };
        let timing = Timing {
            read: PageTimes::uniform(Nanos(100)),
            program: PageTimes::uniform(Nanos(1_000)),
            erase: Nanos(10_000),
            slc: Some(SlcTimes { read: Nanos(30), program: Nanos(200), erase: Nanos(7_000) }),
            transfer_per_kib: Nanos(5),
            copyback: false,
            partial_read: false,
        };
        let commands = Commands { multiplane: true, suspend, ..Commands::default() };
        let options = ArrayOptions { commands, scheduler: &out_of_order::INFO, seed: 1, memory_survives };
        let checker = Box::new(TimingChecker::new(&geometry));
        ParallelFlash::new(&geometry, &timing, options, UntimedFlash::new(&geometry, Some(checker)))
    }

    /// Emits the operations of one job; returns the number of operations for which the job waits.
    fn emit(flash: &mut ParallelFlash, act: impl FnOnce(&mut ParallelFlash)) -> u32 {
        flash.submit(0, Requester::default(), JobKind::Collection);
        act(flash);
        flash.submitted()
    }

    fn program(flash: &mut ParallelFlash, pages: std::ops::Range<u32>, source: fn(u32) -> Source) {
        for page in pages {
            let oob = SpareArea { lpn: Lpn(page), sequence: page.into(), role: Role::Data };
            flash.program(Ppn(page), oob, source(page), Cause::Gc);
        }
    }

    /// Runs all events; returns the time of the last event.
    fn settled(flash: &mut ParallelFlash) -> u64 {
        while flash.next_ns() != NEVER {
            flash.advance();
        }
        assert_eq!(flash.violation(), None);
        flash.now_ns()
    }

    /// Programs the first block, which takes 2 x (24 x 20 + 1,000) ns.
    fn filled(memory_survives: bool, suspend: Suspend) -> ParallelFlash {
        let mut flash = die(memory_survives, suspend);
        emit(&mut flash, |flash| program(flash, 0..48, |_| Source::Map));
        assert_eq!(settled(&mut flash), 2 * 1_480);
        flash
    }

    /// Copies five pages that are in the same flash page of two planes, which takes one read of the cells and five
    /// transfers.
    #[test]
    fn copies_transfer_only_the_valid_pages() {
        let mut flash = filled(true, Suspend::Never);
        let reads = emit(&mut flash, |flash| {
            for (from, to) in [0, 1, 3, 5, 7].into_iter().zip(48..) {
                flash.read(Ppn(from), Cause::Gc);
                program(flash, to..to + 1, |page| Source::Copy(Ppn([0, 1, 3, 5, 7][page as usize - 48])));
            }
        });
        assert_eq!(reads, 5, "the copies are durable once they are in memory");
        assert_eq!(settled(&mut flash), 2 * 1_480 + 100 + 5 * 20);
        assert_eq!((flash.under_way(), flash.gathered_for_host()), (0, 0));
        // The gathered copies are read from memory.
        assert_eq!(emit(&mut flash, |flash| (48..53).for_each(|page| flash.read(Ppn(page), Cause::Host))), 0);
    }

    /// Checks that the source block may be erased once its copies are in memory, but only if memory survives a power
    /// loss.
    #[test]
    fn an_erase_waits_for_copies_in_volatile_memory() {
        for (survives, erased_ns) in [(true, 120 + 10_000), (false, 120)] {
            let mut flash = filled(survives, Suspend::Never);
            let start_ns = flash.now_ns();
            emit(&mut flash, |flash| {
                flash.read(Ppn(0), Cause::Gc);
                program(flash, 48..49, |_| Source::Copy(Ppn(0)));
                flash.erase(BlockId(0), Cause::Gc);
            });
            assert_eq!(settled(&mut flash) - start_ns, erased_ns, "{survives}");
            assert_eq!(flash.under_way(), usize::from(!survives), "{survives}");
            // The rest of the program unit is padding: 24 transfers, a program, and the erase.
            emit(&mut flash, |flash| program(flash, 49..72, |_| Source::Padding));
            let erase_ns = if survives { 0 } else { 10_000 };
            assert_eq!(settled(&mut flash) - start_ns, erased_ns + 24 * 20 + 1_000 + erase_ns, "{survives}");
        }
    }

    /// The program of a unit occupies the cells from 480 ns on. A host read at 1,000 ns suspends the program with 480
    /// ns left. The read uses the cells from 1,050 to 1,150 ns and leaves the die at 1,170 ns. The program then takes
    /// the remaining 480 ns, plus 10 ns for resuming. Until the program ends, its pages are read from memory.
    #[test]
    fn a_host_read_suspends_the_program_of_a_unit() {
        let program_rule = Interruption { resume: Nanos(10), ..Interruption::new(Nanos(50), 1) };
        let erase_rule = Interruption::new(Nanos(70), 1);
        let mut flash = filled(true, Suspend::EraseAndProgram { erase: erase_rule, program: program_rule });
        let start_ns = flash.now_ns();
        emit(&mut flash, |flash| program(flash, 48..72, |_| Source::Map));
        let pass = |flash: &mut ParallelFlash, time_ns| {
            while flash.next_ns() < start_ns + time_ns {
                flash.advance();
            }
            flash.pass_until(start_ns + time_ns);
        };
        let read = |flash: &mut ParallelFlash, page| emit(flash, |flash| flash.read(Ppn(page), Cause::Host));
        pass(&mut flash, 1_000);
        assert_eq!((read(&mut flash, 3), read(&mut flash, 50)), (1, 0));
        pass(&mut flash, 1_100);
        assert_eq!(read(&mut flash, 71), 0);
        pass(&mut flash, 1_171);
        assert!(flash.take_done().is_some(), "the read must end at 1,170 ns");
        pass(&mut flash, 1_659);
        assert_eq!(read(&mut flash, 50), 0);
        assert_eq!(settled(&mut flash) - start_ns, 1_660);
        assert_eq!(flash.recorded().suspensions, 1);
        assert_eq!(read(&mut flash, 50), 1);
    }

    /// Erases a block and writes it again while its programs from before the erase still wait. The new pages must be in
    /// memory, even after the old programs have ended.
    #[test]
    fn old_programs_do_not_count_for_the_new_cycle() {
        let mut flash = die(true, Suspend::Never);
        emit(&mut flash, |flash| {
            program(flash, 0..48, |_| Source::Map);
            flash.erase(BlockId(0), Cause::Gc);
            program(flash, 0..30, |_| Source::Map);
        });
        let from_memory = |flash: &mut ParallelFlash| emit(flash, |flash| flash.read(Ppn(3), Cause::Gc)) == 0;
        assert!(from_memory(&mut flash));
        while flash.now_ns() < 2 * 1_480 + 5_000 && flash.next_ns() < 2 * 1_480 + 9_000 {
            assert!(from_memory(&mut flash));
            flash.advance();
        }
        // 2 old program units, the erase, and the first new program unit; 6 pages wait for 18 more.
        assert_eq!(settled(&mut flash), 2 * 1_480 + 10_000 + 1_480);
        assert!(!from_memory(&mut flash));
        assert_eq!(settled(&mut flash), 3 * 1_480 + 10_000 + 120);
        assert_eq!(emit(&mut flash, |flash| flash.read(Ppn(24), Cause::Gc)), 0);
    }

    /// In SLC mode, a program unit has 8 pages, a flash page of each plane. Reads, programs and erases take the times
    /// of SLC mode. After the erase, the block is written in native mode.
    #[test]
    fn a_block_in_slc_mode_has_its_own_units_and_times() {
        let mut flash = die(true, Suspend::Never);
        let cached = |flash: &mut ParallelFlash, pages: std::ops::Range<u32>| {
            for page in pages {
                let oob = SpareArea { lpn: Lpn(page), sequence: page.into(), role: Role::Slc };
                flash.program(Ppn(page), oob, Source::Host(page), Cause::Host);
            }
        };
        emit(&mut flash, |flash| cached(flash, 0..16));
        let mut now_ns = 2 * (8 * 20 + 200);
        assert_eq!(settled(&mut flash), now_ns);
        emit(&mut flash, |flash| (4..12).for_each(|page| flash.read(Ppn(page), Cause::Host)));
        // Pages 4 to 7 are on plane 1 of the first word line, and pages 8 to 11 on plane 0 of the second.
        now_ns += 2 * (30 + 4 * 20);
        assert_eq!(settled(&mut flash), now_ns);
        emit(&mut flash, |flash| flash.erase(BlockId(0), Cause::Fold));
        emit(&mut flash, |flash| program(flash, 0..24, |_| Source::Map));
        assert_eq!(settled(&mut flash), now_ns + 7_000 + 24 * 20 + 1_000);
    }
}
