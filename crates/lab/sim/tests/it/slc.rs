//! Drives with an SLC cache.
//!
//! Goal: drives with an SLC cache lose no data and break no NAND rule; their counts and times follow the three phases
//! of a cache that fills, is full, and shrinks. Method: random drives and requests with all checks, and a drive small
//! enough to calculate by hand.

mod twin;

use proptest::prelude::*;
use ssdlab_core::Nanos;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::{Fold, PageOptions, SlcOptions};
use ssdlab_nand::{Cause, Geometry, Timing, Units};
use ssdlab_sim::{
    Clock, Collect, CollectGoal, DriveOptions, FlushPolicy, Replay, Setup, SlcSummary, Summary, WriteBuffer, run,
};
use ssdlab_testkit::SMALL_OPTIONS;
use ssdlab_testkit::drives::{PLAIN, TIMING, on_any_slc_drive};
use ssdlab_testkit::strategies::{SLC_TIMES, requests, slc_setups};
use ssdlab_trace::{Op, Request, SliceSource};

use twin::{Operations, Plane};

/// Durations of [`TIMING`] and [`SLC_TIMES`] in nanoseconds.
const PROGRAM: u64 = 1_000;
const TRANSFER: u64 = 20;
const SLC_READ: u64 = 30;
const SLC_PROGRAM: u64 = 200;
const SLC_ERASE: u64 = 7_000;

fn replay(setup: &Setup, requests: &[Request]) -> Summary {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("the checks find nothing").summary
}

/// Checks the identities of the counts of any run with an SLC cache.
fn check_counts(summary: &Summary) -> Result<SlcSummary, TestCaseError> {
    let slc = summary.slc.expect("an SLC cache");
    let (reads, programs, erases) = (summary.flash.0.reads, summary.flash.0.programs, summary.flash.0.erases);
    let of = |cause: Cause| programs[cause as usize];
    prop_assert_eq!(slc.pages_cached + slc.pages_bypassed, of(Cause::Host));
    for copies in [Cause::Fold, Cause::Gc] {
        prop_assert_eq!(of(copies), reads[copies as usize], "{}", copies.name());
    }
    let all = of(Cause::Host) + of(Cause::Fold) + of(Cause::Gc) + of(Cause::Padding) + of(Cause::Parity);
    prop_assert_eq!(summary.flash.0.programmed(), all);
    prop_assert_eq!(slc.erases, erases[Cause::Fold as usize]);
    prop_assert_eq!(summary.wear.erases, erases[Cause::Gc as usize]);
    Ok(slc)
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(2_000))]

    #[test]
    fn reads_return_the_last_write_without_time(setup in slc_setups(), requests in requests(200)) {
        let summary = replay(&setup, &requests);
        prop_assert_eq!(summary.flash.0.programs[Cause::Host as usize], summary.host.pages_written);
        check_counts(&summary)?;
    }

    #[test]
    fn reads_return_the_last_write_on_any_drive(setup in on_any_slc_drive(), requests in requests(200)) {
        check_counts(&replay(&setup, &requests))?;
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(1_000))]

    /// Compares all kinds of cache on one plane with 12 pages per block with a slow model of the rules.
    #[test]
    fn operations_equal_those_of_the_slow_model(
        (own_blocks, share) in prop_oneof![
            (1_u32..4, Just(0_u32)), (Just(0), 1_000..=SlcOptions::ALL), (1_u32..4, 1_000..=SlcOptions::ALL)
        ],
        fold in prop_oneof![Just(Fold::Pressure), Just(Fold::Lazy)],
        bypass: bool,
        logical_pages in 20_u32..=216,
        requests in prop::collection::vec((0_u32..1 << 16, prop::bool::weighted(0.05)), 1..1_500),
    ) {
        let slc = SlcOptions { own_blocks, share, fold, bypass, word_line: 3 };
        let setup = Setup { clock: Clock::Count, logical_pages, ..drive(slc) };
        let mut twin = Plane::new(slc, setup.geometry.blocks as usize, 12);
        let mut all = Vec::new();
        for (random, is_trim) in requests {
            // Most requests go to a few pages.
            let page = if random.is_multiple_of(2) { random % logical_pages } else { random % logical_pages.min(30) };
            let op = if is_trim { Op::Trim } else { Op::Write };
            all.push(Request { op, ..writes(page.into()..u64::from(page) + 1)[0] });
            if is_trim { twin.trim(page) } else { twin.write(page) }
        }
        let summary = replay(&setup, &all);
        let slc = check_counts(&summary)?;
        let (programs, erases) = (summary.flash.0.programs, summary.flash.0.erases);
        let operations = Operations {
            cached: slc.pages_cached,
            bypassed: slc.pages_bypassed,
            folded: programs[Cause::Fold as usize],
            collected: programs[Cause::Gc as usize],
            slc_erases: slc.erases,
            erases: erases[Cause::Gc as usize],
        };
        prop_assert_eq!(operations, twin.operations);
    }
}

/// Flash pages of one mapping unit and three per word line: a block has 12 pages, or 4 in SLC mode.
const TLC: Units = Units { per_flash_page: 1, word_line: 3, ..Units::PAGE };
const CACHE: SlcOptions = SlcOptions { own_blocks: 0, share: 5_000, fold: Fold::Lazy, bypass: true, word_line: 3 };

/// Returns an empty drive with one plane and 20 blocks in addition to the cache's reserved blocks; it executes one
/// operation at a time. It holds 216 logical pages. One block stays unwritten for collection, so the flash takes R =
/// 228 pages.
fn drive(slc: SlcOptions) -> Setup {
    let geometry = Geometry { units: TLC, ..Geometry::single_plane(4096, 12, 20 + slc.own_blocks) };
    let options = PageOptions { slc: Some(slc), ..SMALL_OPTIONS };
    Setup {
        clock: Clock::Serial(Timing { slc: Some(SLC_TIMES), ..TIMING }),
        check: true,
        ..Setup::new(geometry, 216, FtlChoice::Page(options, ram::INFO.defaults()))
    }
}

fn writes(pages: std::ops::Range<u64>) -> Vec<Request> {
    let write = |page| Request { time_ns: 0, offset: page * 4096, bytes: 4096, op: Op::Write, flags: 0, stream: 0 };
    pages.map(write).collect()
}

/// Returns the numbers of pages cached, bypassed and folded, and the number of blocks erased.
fn counts(summary: &Summary) -> [u64; 4] {
    let slc = check_counts(summary).expect("the counts add up");
    [slc.pages_cached, slc.pages_bypassed, summary.flash.0.programs[Cause::Fold as usize], slc.erases]
}

/// The drive borrows up to half of 18 free blocks (one stays unwritten for collection, and one for the next pages): S =
/// 9 x 4 = 36 pages. Then D = R - 3 S = 120 pages are written directly. Then folding a block of 4 pages frees 12, so
/// each 8 pages of the host need 4 copies: 1 / (b - 1) copies per page with b = 3.
#[test]
fn a_dynamic_cache_has_three_phases() {
    let setup = drive(CACHE);
    for (pages, expected) in [
        (36, [36, 0, 0, 0]),
        (37, [36, 1, 0, 0]),
        (156, [36, 120, 0, 0]),
        (157, [36, 121, 4, 1]),
        (164, [36, 128, 4, 1]),
        (165, [36, 129, 8, 2]),
        (216, [36, 180, 32, 8]),
    ] {
        let summary = replay(&setup, &writes(0..pages));
        assert_eq!(counts(&summary), expected, "{pages} pages");
        let [cached, bypassed, folded, erases] = expected;
        let elapsed_ns = summary.time.expect("timed").elapsed_ns;
        // In SLC mode a page is a program unit; elsewhere three pages are. Each copy reads its own flash page.
        let native = bypassed + folded;
        let expected_ns = cached * (TRANSFER + SLC_PROGRAM)
            + native * TRANSFER
            + native / 3 * PROGRAM
            + folded * (SLC_READ + TRANSFER)
            + erases * SLC_ERASE;
        assert_eq!(elapsed_ns, expected_ns, "{pages} pages");
    }
}

/// All free blocks may be borrowed, and the host waits: S = R / b = 18 x 4 = 72 pages. Then the pages of 36 more blocks
/// need room. Three folds of 4 pages make room for two blocks: b / (b - 1) copies per page. The first two blocks need
/// only one fold each, because 12 more pages are free at first: 1 + 1 + 2 + 1 + 2 ... + 1 = 53 folds.
#[test]
fn without_bypass_host_writes_wait_for_folds() {
    let setup = drive(SlcOptions { share: SlcOptions::ALL, bypass: false, ..CACHE });
    assert_eq!(counts(&replay(&setup, &writes(0..72))), [72, 0, 0, 0]);
    assert_eq!(counts(&replay(&setup, &writes(0..76))), [76, 0, 4, 1]);
    assert_eq!(counts(&replay(&setup, &writes(0..216))), [216, 0, 53 * 4, 53]);
}

/// Three reserved blocks hold 12 pages. With lazy folding, all other pages bypass the cache. With folding under
/// pressure, each bypassing page folds a page, and after four pages the cache has space for four pages. Without bypass,
/// the host waits for 4 copies per 4 pages.
#[test]
fn a_static_cache_folds_or_is_bypassed() {
    let own = SlcOptions { own_blocks: 3, share: 0, ..CACHE };
    for (fold, bypass, pages, expected) in [
        (Fold::Lazy, true, 216, [12, 204, 0, 0]),
        (Fold::Pressure, true, 12, [12, 0, 0, 0]),
        (Fold::Lazy, false, 12, [12, 0, 0, 0]),
        (Fold::Lazy, false, 16, [16, 0, 4, 1]),
        (Fold::Pressure, false, 216, [216, 0, 204, 51]),
    ] {
        let setup = drive(SlcOptions { fold, bypass, ..own });
        assert_eq!(counts(&replay(&setup, &writes(0..pages))), expected, "{fold:?} {bypass} {pages}");
    }
}

/// A hybrid cache first fills its reserved blocks and then borrows blocks: 12 + 36 pages.
#[test]
fn a_hybrid_cache_has_both_kinds_of_blocks() {
    let setup = drive(SlcOptions { own_blocks: 3, ..CACHE });
    assert_eq!(counts(&replay(&setup, &writes(0..48))), [48, 0, 0, 0]);
    assert_eq!(counts(&replay(&setup, &writes(0..49))), [48, 1, 0, 0]);
}

/// Pages that were overwritten in the cache are not folded.
#[test]
fn only_valid_pages_are_folded() {
    let setup = drive(SlcOptions { own_blocks: 3, share: 0, bypass: false, ..CACHE });
    // 12 writes of page 0 fill the cache; the next page needs the erase of a block without valid pages.
    let requests: Vec<Request> = (0..13).flat_map(|_| writes(0..1)).collect();
    assert_eq!(counts(&replay(&setup, &requests)), [13, 0, 0, 1]);
}

/// After a pause the cache takes writes at full speed again. Three requests of 12 pages, 1 ms apart: each finds the
/// cache empty, because an idle drive folds it.
#[test]
fn an_idle_drive_folds_its_cache() {
    let slc = SlcOptions { own_blocks: 3, share: 0, fold: Fold::Idle, ..CACHE };
    let buffer = Some(WriteBuffer { pages: 3, flush: FlushPolicy::Eager, protected: true });
    let request = |number: u64| Request {
        time_ns: number * 1_000_000,
        bytes: 12 * 4096,
        ..writes(number * 12..number * 12 + 1)[0]
    };
    let requests: Vec<Request> = (0..3).map(request).collect();
    for (collect, expected) in [
        (Collect::Foreground, [12, 24, 0, 0]),
        (Collect::Idle { after: Nanos(5_000), goal: CollectGoal { blocks: 1, step: 2 } }, [36, 0, 24, 6]),
    ] {
        let options = DriveOptions { collect, buffer, ..PLAIN };
        let clock = Clock::Event(Timing { slc: Some(SLC_TIMES), ..TIMING }, options);
        let setup = Setup { clock, replay: Replay::Open { speed: 1.0, depths: None }, ..drive(slc) };
        assert_eq!(counts(&replay(&setup, &requests)), expected, "{collect:?}");
    }
}

/// 36 pages in SLC mode take the cells of 108 pages, which endure ten times as many cycles: they wear as much as 10.8
/// pages.
#[test]
fn pages_in_slc_mode_wear_less() {
    let setup = drive(CACHE);
    let summary = replay(&setup, &writes(0..156));
    let endured = 3_000.0 * 240.0;
    let worn = 120.0 + 36.0 * 3.0 / 10.0;
    let expected = endured * 156.0 * 4096.0 / worn;
    assert!((summary.lifetime.host_tbw_bytes.expect("written") / expected - 1.0).abs() < 1e-12);
    assert_eq!(summary.slc.expect("an SLC cache").endurance_cycles, 30_000);
}
