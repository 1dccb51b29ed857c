//! Random operations on arrays whose dies program several pages at once, some with parity of stripes or two passes.
//!
//! Goal: no operation is lost or breaks the order that the chips require, and exactly the complete stripes get parity.
//! Method: an FTL without a policy writes, copies, reads and erases at random, and the timing checker follows the dies.

use ssdlab_core::{BlockId, Lpn, Nanos, Ppn, Rng};
use ssdlab_nand::backend::Flash;
use ssdlab_nand::backend::parallel::{
    ArrayOptions, JobKind, NEVER, ParallelFlash, Requester, TimingChecker, UntimedFlash, scheduler,
};
use ssdlab_nand::{
    Cause, Collected, Commands, FlashSink, Geometry, PageTimes, Parallelism, Role, SlcTimes, Source, SpareArea, Timing,
    Units,
};

const BLOCKS: u32 = 4;

fn geometry(rng: &mut Rng) -> Geometry {
    let mut below = |count: u64| rng.below(count) as u32;
    let parallelism = Parallelism {
        channels: 1 + below(2),
        ways: 1 + below(2),
        dies: 1 + below(2),
        planes: 1 + below(2),
        ..Parallelism::SINGLE
    };
    let collected = [Collected::Die, Collected::Superblock, Collected::Superblock][below(3) as usize];
    let possible: Vec<u32> =
        (0..parallelism.dies()).filter(|parity| parallelism.dies().is_multiple_of(parity + 1)).collect();
    let parity = if collected == Collected::Superblock { possible[below(possible.len() as u64) as usize] } else { 0 };
    let (per_flash_page, word_line, pass_distance) = (1 + below(2), 1 + below(3), below(4));
    let units = Units { per_flash_page, word_line, collected, parity, pass_distance };
    let mut geometry = Geometry { parallelism, units, ..Geometry::single_plane(512, 2, 1) };
    geometry.pages_per_block = (2 + below(4)) * geometry.program_unit() * geometry.units_per_word_line();
    geometry.blocks = BLOCKS * geometry.areas();
    geometry
}

/// State of a block in the FTL.
#[derive(Clone, Copy, Default)]
struct Block {
    slc: bool,
    written: u32,
}

/// The array, and the operations emitted so far.
struct Drive {
    geometry: Geometry,
    flash: ParallelFlash,
    blocks: Vec<Block>,
    sequence: u64,
    /// Number of submitted jobs that wait for operations.
    jobs: u32,
    /// Number of completed jobs.
    done: u32,
    parity_pages: u64,
}

impl Drive {
    fn job(&mut self, act: impl FnOnce(&mut ParallelFlash)) {
        self.flash.submit(0, Requester::default(), JobKind::Request);
        act(&mut self.flash);
        self.jobs += u32::from(self.flash.submitted() > 0);
    }

    fn pages(&self, block: usize) -> u32 {
        self.geometry.pages_per_block / if self.blocks[block].slc { self.geometry.units.word_line } else { 1 }
    }

    fn unit(&self, block: usize) -> u32 {
        self.geometry.program_unit() / if self.blocks[block].slc { self.geometry.units.word_line } else { 1 }
    }

    /// Programs the next page of a block with host data, or with a copy of page `from`.
    fn program(&mut self, block: usize, from: Option<Ppn>) {
        let Block { slc, written } = self.blocks[block];
        let ppn = Ppn(block as u32 * self.geometry.pages_per_block + written);
        self.sequence += 1;
        let role = if slc { Role::Slc } else { Role::Data };
        let oob = SpareArea { lpn: Lpn(0), sequence: self.sequence, role };
        self.job(|flash| match from {
            Some(from) => flash.copy(from, ppn, oob, Cause::Gc),
            None => flash.program(ppn, oob, Source::Host(0), Cause::Host),
        });
        self.blocks[block].written += 1;
        let (unit, parity) = (self.unit(block), self.geometry.units.parity);
        if parity > 0 && self.blocks[block].written.is_multiple_of(unit * parity) {
            self.parity_pages += u64::from(unit);
        }
    }

    fn advance(&mut self) {
        self.flash.advance();
        while self.flash.take_done().is_some() {
            self.done += 1;
        }
    }

    /// Emits one random step of operations.
    fn step(&mut self, rng: &mut Rng) {
        let block = rng.below(self.blocks.len() as u64) as usize;
        let Block { written, .. } = self.blocks[block];
        let some_page = (written > 0).then(|| rng.below(written.max(1).into()) as u32);
        let some_page = some_page.map(|page| Ppn(block as u32 * self.geometry.pages_per_block + page));
        match rng.below(8) {
            0..3 => {
                if written == 0 {
                    self.blocks[block].slc = self.geometry.units.word_line > 1 && rng.below(3) == 0;
                }
                // Up to two program units at a time.
                for _ in 0..=rng.below(2 * u64::from(self.unit(block))) {
                    if self.blocks[block].written < self.pages(block) {
                        self.program(block, None);
                    }
                }
            }
            3 => {
                let to = rng.below(self.blocks.len() as u64) as usize;
                if let Some(from) = some_page
                    && to != block
                    && self.blocks[to].written < self.pages(to)
                {
                    self.program(to, Some(from));
                }
            }
            4 | 5 => {
                if let Some(ppn) = some_page {
                    self.job(|flash| flash.read(ppn, Cause::Host));
                }
            }
            // Full blocks are erased; blocks in SLC mode may be closed after any complete unit.
            6 if written == self.pages(block) || (self.blocks[block].slc && written % self.unit(block) == 0) => {
                if written > 0 {
                    self.job(|flash| flash.erase(BlockId(block as u32), Cause::Gc));
                    self.blocks[block] = Block::default();
                }
            }
            _ => {
                for _ in 0..rng.below(40) {
                    if self.flash.next_ns() != NEVER {
                        self.advance();
                    }
                }
            }
        }
    }
}

#[test]
fn any_order_of_operations_is_possible() {
    let timing = Timing {
        read: PageTimes::of(&[Nanos(60), Nanos(150)]).expect("two types"),
        program: PageTimes::of(&[Nanos(600), Nanos(1_000)]).expect("two passes"),
        erase: Nanos(4_000),
        slc: Some(SlcTimes { read: Nanos(30), program: Nanos(200), erase: Nanos(3_000) }),
        transfer_per_kib: Nanos(40),
        copyback: false,
        partial_read: false,
    };
    let (mut stripes, mut second_passes) = (0, 0);
    for case in 0..400 {
        let mut rng = Rng::named(case, "gathering");
        let geometry = geometry(&mut rng);
        let commands = Commands {
            multiplane: true,
            cache_read: rng.below(2) == 0,
            cache_program: rng.below(2) == 0,
            ..Commands::default()
        };
        let scheduler = scheduler::DIE_SCHEDULERS.to_vec()[rng.below(3) as usize];
        let options = ArrayOptions { commands, scheduler, seed: case, memory_survives: true };
        let untimed = UntimedFlash::new(&geometry, Some(Box::new(TimingChecker::new(&geometry))));
        let mut drive = Drive {
            geometry,
            flash: ParallelFlash::new(&geometry, &timing, options, untimed),
            blocks: vec![Block::default(); geometry.blocks as usize],
            sequence: 0,
            jobs: 0,
            done: 0,
            parity_pages: 0,
        };
        for _ in 0..400 {
            drive.step(&mut rng);
        }
        while drive.flash.next_ns() != NEVER {
            drive.advance();
        }
        let context = format!("case {case}: {geometry:?}");
        assert_eq!(drive.flash.violation(), None, "{context}");
        assert_eq!(drive.flash.under_way(), 0, "{context}");
        // Write requests whose pages are in memory wait for further pages.
        assert_eq!(drive.jobs - drive.done, drive.flash.gathered_for_host(), "{context}");
        assert_eq!(drive.flash.counts().programs[Cause::Parity as usize], drive.parity_pages, "{context}");
        stripes += drive.parity_pages;
        second_passes += u32::from(geometry.units.pass_distance > 0);
    }
    assert!(stripes > 1_000 && second_passes > 100, "{stripes} {second_passes}");
}
