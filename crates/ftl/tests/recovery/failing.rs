//! Programs and erases that fail, more of them at once than blocks were kept for it: the drive is worn out, and all that
//! was written can be read, before and after a power loss.

use proptest::prelude::*;
use ssdlab_core::{BlockId, Lpn, Ppn, Rng};
use ssdlab_ftl::map::{MapModel, SegmentCache, WholeMap, segments};
use ssdlab_ftl::page::{PageFtl, PageOptions, Trigger};
use ssdlab_ftl::{Ftl, Shape, WriteContext, blocks::Allocation, gc, placement::PLACEMENTS};
use ssdlab_nand::{Cause, Failure, FlashSink, Note, Oob, ProgramOrder, Source};

use crate::flash::{Flash, Last};

/// Flash of which every so many programs and erases fails.
struct Failing {
    flash: Flash,
    rng: Rng,
    one_in: u64,
    failure: Option<Failure>,
}

impl Failing {
    fn fails(&mut self, failure: Failure) -> bool {
        self.failure = (self.rng.below(self.one_in) == 0).then_some(failure);
        self.failure.is_some()
    }
}

impl FlashSink for Failing {
    const FAILS: bool = true;

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.flash.read(ppn, cause);
    }

    fn program(&mut self, ppn: Ppn, oob: Oob, source: Source, cause: Cause) {
        self.flash.program(ppn, oob, source, cause);
        if self.fails(Failure::Program) {
            self.flash.spoil(ppn);
        }
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        if !self.fails(Failure::Erase) {
            self.flash.erase(block, cause);
        }
    }

    fn barrier(&mut self) {
        self.flash.barrier();
    }

    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.flash.trimmed(lpn, count, sequence);
    }

    fn note(&mut self, note: Note) {
        self.flash.note(note);
    }
}

/// Every page reads as it was written last, or as the page that was refused.
fn compare<F: Ftl>(ftl: &F, flash: &Flash, pages: &[Option<u64>], refused: Option<(u32, u64)>) -> Result<(), String> {
    ftl.check()?;
    for (lpn, &written) in (0..).zip(pages) {
        let found = ftl.lookup(Lpn(lpn)).and_then(|ppn| flash.content(ppn)).map(|(held, stamp)| (held.0, stamp));
        let either = [written.map(|stamp| (lpn, stamp)), refused.filter(|&(page, _)| page == lpn)];
        if found.is_none() && written.is_some() || found.is_some() && !either.contains(&found) {
            return Err(format!("page {lpn} holds {found:?}, not {either:?}"));
        }
    }
    Ok(())
}

/// Writes at random until the FTL is worn out, takes it up anew with `rebuilt`, and says whether it was.
fn wear<M: MapModel>(mut ftl: PageFtl<M>, mut rebuilt: PageFtl<M>, shape: Shape, seed: u64) -> Result<bool, String> {
    let mut rng = Rng::named(seed, "writes");
    let one_in = 5 + rng.below(200);
    let flash = Flash::new(shape, seed);
    let mut flash = Failing { flash, rng: Rng::named(seed, "failures"), one_in, failure: None };
    let mut pages = vec![None; shape.logical_pages as usize];
    let mut refused = None;
    for stamp in 0..2_000 {
        let lpn = rng.below(shape.logical_pages.into()) as u32;
        if rng.below(15) == 0 {
            ftl.trim(Lpn(lpn), 1, &mut flash);
            pages[lpn as usize] = None;
        } else {
            flash.flash.begin_write(lpn, vec![stamp]);
            ftl.write(Lpn(lpn), 1, WriteContext::default(), &mut flash);
            if ftl.is_worn_out() {
                refused = Some((lpn, stamp));
                break;
            }
            pages[lpn as usize] = Some(stamp);
        }
    }
    let _ = ftl.read(Lpn(0), shape.logical_pages, Cause::Host, &mut flash);
    compare(&ftl, &flash.flash, &pages, refused)?;
    let scanned = flash.flash.clone();
    flash.one_in = u64::MAX;
    flash.flash.power_up(u64::MAX, Last::Undone);
    rebuilt.recover(&scanned, &scanned.trims, &mut flash)?;
    compare(&rebuilt, &flash.flash, &pages, refused).map_err(|error| format!("after recovery: {error}"))?;
    flash.flash.violation.map_or(Ok(ftl.is_worn_out()), Err)
}

/// A small drive; whatever it is made of.
fn world(seed: u64) -> Result<bool, String> {
    let mut rng = Rng::named(seed, "shape");
    let options = PageOptions {
        gc: gc::VICTIMS[rng.below(gc::VICTIMS.len() as u64) as usize].defaults(),
        placement: PLACEMENTS[rng.below(PLACEMENTS.len() as u64) as usize],
        trigger: [Trigger::Victim, Trigger::Partial { low: 2, step: 2 }][rng.below(2) as usize],
        allocation: Allocation::Fifo,
    };
    let (planes, pages_per_block) = (1 + rng.below(2) as u32, 2 + rng.below(6) as u32);
    let map = segments::INFO.set(&[("cache", 64), ("segment", 32), ("entry", 8)]).map_err(|_| "no such map")?;
    let shape = Shape {
        logical_pages: (2 + rng.below(6) as u32) * pages_per_block,
        page_bytes: 64,
        blocks: 60,
        pages_per_block,
        order: ProgramOrder::Ascending,
        planes,
    };
    if rng.below(2) == 0 {
        let ftl = || PageFtl::with_map(shape, options, WholeMap { logical_pages: shape.logical_pages }, seed);
        return wear(ftl()?, ftl()?, shape, seed);
    }
    let ftl = || PageFtl::with_map(shape, options, SegmentCache::new(shape.logical_pages, 64, &map)?, seed);
    wear(ftl()?, ftl()?, shape, seed)
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(2_000))]

    #[test]
    fn more_failures_than_blocks_wear_a_drive_out_without_loss(seed in any::<u64>()) {
        let lived = world(seed);
        prop_assert!(lived.is_ok(), "seed {seed}: {}", lived.unwrap_err());
    }
}

/// The worlds are worth living in: many drives are worn out, and many are not.
#[test]
fn drives_wear_out() {
    let worn = (0..100).filter(|&seed| world(seed) == Ok(true)).count();
    assert!((30..70).contains(&worn), "{worn} of 100");
}
