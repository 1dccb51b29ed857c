//! Goal: failing flash operations lose no readable data, and no failed block is used again. Method: programs, copies
//! and erases fail at random in front of the data checker, until the FTL reports that it is worn out.

use proptest::prelude::*;
use ssdlab_core::{BlockId, Lpn, Ppn, Rng};
use ssdlab_ftl::choice::{LOG_FTLS, Visitor};
use ssdlab_ftl::map::{SegmentCache, WholeMap, segments};
use ssdlab_ftl::page::PageFtl;
use ssdlab_ftl::{Ftl, FtlChoice, WriteContext};
use ssdlab_nand::{Cause, Failure, FlashSink, Note, Source, SpareArea};
use ssdlab_sim::Setup;
use ssdlab_sim::check::data_checker::DataChecker;
use ssdlab_testkit::small_setup;

/// Flash on which one in `one_in` programs and erases fails at random.
struct Failing {
    checker: DataChecker,
    rng: Rng,
    one_in: u64,
    failure: Option<Failure>,
    failures: u32,
    bad: Vec<BlockId>,
    pages_per_block: u32,
    broken: Option<String>,
}

impl Failing {
    fn new(setup: &Setup, one_in: u64, seed: u64) -> Self {
        Self {
            checker: DataChecker::new(setup),
            rng: Rng::named(seed, "failures"),
            one_in,
            failure: None,
            failures: 0,
            bad: Vec::new(),
            pages_per_block: setup.geometry.pages_per_block,
            broken: None,
        }
    }

    fn strikes(&mut self, failure: Failure, block: BlockId) -> bool {
        if self.bad.contains(&block) {
            self.broken.get_or_insert(format!("the bad block {block} is used"));
        }
        self.failure = (self.rng.below(self.one_in) == 0).then_some(failure);
        self.failures += u32::from(self.failure.is_some());
        self.failure.is_some()
    }

    fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(ppn.0 / self.pages_per_block)
    }
}

impl FlashSink for Failing {
    fn fails(&self) -> bool {
        true
    }

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.checker.read(ppn, cause);
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        if !self.strikes(Failure::Program, self.block_of(ppn)) {
            self.checker.program(ppn, oob, source, cause);
        }
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        if !self.strikes(Failure::Erase, block) {
            self.checker.erase(block, cause);
        }
    }

    fn barrier(&mut self) {
        self.checker.barrier();
    }

    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.checker.trimmed(lpn, count, sequence);
    }

    fn note(&mut self, note: Note) {
        if let Note::Bad(block) = note {
            self.bad.push(block);
        }
    }
}

/// Writes at random until the FTL is worn out or all writes are done, and then reads all pages. Returns the flash in
/// its final state.
fn wear<F: Ftl>(setup: &Setup, mut ftl: F, one_in: u64, seed: u64) -> Result<Failing, String> {
    ftl.keep_for_failures(3)?;
    let mut flash = Failing::new(setup, one_in, seed);
    let mut rng = Rng::named(seed, "writes");
    let pages = u64::from(setup.logical_pages);
    let mut written = 0;
    while written < 6_000 && !ftl.is_worn_out() {
        let lpn = Lpn(rng.below(pages).min(rng.below(pages)) as u32);
        if rng.below(20) == 0 {
            flash.checker.expect_trim(lpn, 1);
            ftl.trim(lpn, 1, &mut flash);
        } else {
            flash.checker.expect_write(lpn, 1);
            ftl.write(lpn, 1, WriteContext::default(), &mut flash);
        }
        if let Some(broken) = flash.broken.take().or_else(|| flash.checker.violation().map(str::to_owned)) {
            return Err(format!("after {written} writes and {} failures: {broken}", flash.failures));
        }
        written += 1;
    }
    ftl.check()?;
    for lpn in (0..setup.logical_pages).map(Lpn) {
        ftl.read(lpn, 1, Cause::Host, &mut flash);
        flash.checker.verify_read(&ftl, lpn, 1);
    }
    match flash.checker.violation() {
        Some(violation) => Err(violation.to_owned()),
        None => Ok(flash),
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(300))]

    #[test]
    fn page_mapping_survives_failing_programs_and_erases(seed in any::<u64>(), one_in in 1_000_u64..10_000, planes in 1_u32..3) {
        let mut setup = small_setup(80, 8, 40);
        setup.geometry.parallelism.planes = planes;
        let ftl = |map| PageFtl::with_map(setup.shape(), ssdlab_testkit::SMALL_OPTIONS, map, seed).expect("large enough");
        let whole = ftl(WholeMap { logical_pages: setup.logical_pages });
        prop_assert_eq!(wear(&setup, whole, one_in, seed).err(), None);
    }

    #[test]
    fn maps_in_flash_survive_failing_programs_and_erases(seed in any::<u64>(), one_in in 1_000_u64..10_000) {
        let mut setup = small_setup(120, 8, 60);
        // Sixteen entries per map page, four entries per segment, four segments in RAM.
        setup.geometry.page_bytes = 1024;
        let map = segments::INFO.set(&[("cache", 1024), ("segment", 256), ("entry", 64)]).expect("in range");
        setup.ftl = FtlChoice::Page(ssdlab_testkit::SMALL_OPTIONS, map);
        let map = SegmentCache::new(setup.logical_pages, setup.geometry.page_bytes, &map).expect("a sound cache");
        let ftl = PageFtl::with_map(setup.shape(), ssdlab_testkit::SMALL_OPTIONS, map, seed).expect("large enough");
        prop_assert_eq!(wear(&setup, ftl, one_in, seed).err(), None);
    }

    #[test]
    fn log_blocks_survive_failing_programs_and_erases(
        seed in any::<u64>(),
        one_in in 1_000_u64..10_000,
        number in 0..LOG_FTLS.len(),
    ) {
        prop_assert_eq!(wear_log_blocks(number, one_in, seed).err(), None);
    }
}

struct Wear<'a> {
    setup: &'a Setup,
    one_in: u64,
    seed: u64,
}

impl Visitor for Wear<'_> {
    type Output = Result<Failing, String>;

    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        wear(self.setup, ftl, self.one_in, self.seed)
    }

    fn cached_map<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        self.plain(ftl)
    }

    fn log_blocks<F: Ftl + Send + 'static>(self, ftl: F, _captures: bool) -> Self::Output {
        self.plain(ftl)
    }
}

/// Wears out an FTL with 40 data blocks, twelve log blocks and 38 spare blocks.
fn wear_log_blocks(number: usize, one_in: u64, seed: u64) -> Result<Failing, String> {
    let mut setup = small_setup(90, 8, 0);
    setup.logical_pages = 40 * 8;
    let info = LOG_FTLS[number];
    let sub_block = info.parameters.iter().any(|parameter| parameter.name == "sub_block");
    let settings: &[(&str, u64)] = if sub_block { &[("sub_block", 4)] } else { &[] };
    let choice = info.set(settings).map_err(|_| "no such settings")?;
    setup.ftl = FtlChoice::Log(choice, 12);
    setup.ftl.build(setup.shape(), seed, Wear { setup: &setup, one_in, seed })?
}

#[test]
fn log_blocks_fail_until_the_drive_is_worn_out() {
    for (number, info) in LOG_FTLS.iter().enumerate() {
        let reserve = info.role.reserve_blocks as usize;
        let flash = wear_log_blocks(number, 100, 1).unwrap_or_else(|lost| panic!("{}: {lost}", info.name));
        // 38 spare blocks, less the blocks that merges need. In the last request, none to three of the reserved blocks
        // may have failed; some failed blocks may still be in use.
        let most = 38 - reserve;
        assert!((most - 11..=most).contains(&flash.bad.len()), "{}: {} blocks are bad", info.name, flash.bad.len());
    }
}

/// A drive whose blocks fail one after the other ends worn out, without losing a page.
#[test]
fn blocks_fail_until_the_drive_is_worn_out() {
    let setup = small_setup(80, 8, 40);
    let map = WholeMap { logical_pages: setup.logical_pages };
    let ftl = PageFtl::with_map(setup.shape(), ssdlab_testkit::SMALL_OPTIONS, map, 1).expect("large enough");
    let flash = wear(&setup, ftl, 100, 1).expect("no data is lost");
    // 40 spare blocks, less the three blocks reserved for failures. One failed block may still hold data.
    assert!((37..=38).contains(&flash.bad.len()), "{} blocks are bad", flash.bad.len());
}
