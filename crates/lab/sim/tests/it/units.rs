//! Drives with larger units than a mapping unit: flash pages of several mapping units, word lines of several flash
//! pages, and blocks over several planes or dies.
//!
//! Goal: such drives lose no data, break no rule of the chips, and take the time of their parts. Method: random drives
//! and requests with all checks, and drives small enough to calculate by hand.

use proptest::prelude::*;
use ssdlab_core::Nanos;
use ssdlab_nand::backend::parallel::scheduler;
use ssdlab_nand::{Cause, Collected, Commands, Geometry, Interruption, PageTimes, Suspend, Timing, Units};
use ssdlab_sim::{Clock, DriveOptions, FlushPolicy, Outcome, Replay, Setup, WriteBuffer, run};
use ssdlab_testkit::drives::{PLAIN, TIMING, array, drive_setup, on_any_modern_drive};
use ssdlab_testkit::strategies::{modern_setups, requests};
use ssdlab_trace::{Op, Request, SliceSource};

const PAGE: u64 = 4096;
/// Durations of [`TIMING`] in nanoseconds.
const READ: u64 = 100;
const PROGRAM: u64 = 1_000;
const TRANSFER: u64 = 20;

fn replay(setup: &Setup, requests: &[Request]) -> Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("the checks find nothing")
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(100))]

    #[test]
    fn reads_return_the_last_write_without_time(setup in modern_setups(), requests in requests(200)) {
        let summary = replay(&setup, &requests).summary;
        let programs = summary.flash.0.programs;
        prop_assert_eq!(programs[Cause::Host as usize], summary.host.pages_written);
        prop_assert_eq!(summary.wear.erases, summary.flash.0.erased());
    }

    #[test]
    fn reads_return_the_last_write_on_any_modern_drive(setup in on_any_modern_drive(), requests in requests(200)) {
        let outcome = replay(&setup, &requests);
        let summary = &outcome.summary;
        let drive = summary.drive.as_ref().expect("a drive");
        let all = summary.latency.as_ref().and_then(|latency| latency.all).expect("requests");
        prop_assert_eq!(all.count, requests.len() as u64);
        prop_assert!(drive.die_utilisation.max <= 1.0 + 1e-9);
        prop_assert!(drive.channel_utilisation.max <= 1.0 + 1e-9);
        let from_buffer = drive.buffer.map_or(0, |buffer| buffer.pages_read);
        let from_flash = summary.flash.0.reads[Cause::Host as usize];
        let ahead = drive.controller.unwrap_or_default();
        let from_memory = from_buffer + ahead.read_ahead_hits + summary.host.unmapped_pages_read;
        prop_assert_eq!(from_memory + from_flash, summary.host.pages_read + ahead.read_ahead_pages);
    }
}

/// A flash page of four mapping units, three flash pages per word line, and both planes of a die together: 24 pages
/// per program unit on one die.
const TLC: Units = Units { per_flash_page: 4, word_line: 3, collected: Collected::Die, ..Units::PAGE };

/// Returns a full drive with `word_lines` word lines per block, 12 blocks per area, and a buffer of `buffered` pages.
fn full(channels: u32, dies: u32, planes: u32, units: Units, buffered: u32, depth: u32) -> Setup {
    let setup = drive_setup(array(channels, 1, dies, planes), 12, 1, depth);
    let mut geometry = Geometry { units, ..setup.geometry };
    geometry.pages_per_block = 4 * geometry.program_unit() * geometry.units_per_word_line();
    geometry.blocks = 12 * geometry.areas();
    let buffer = Some(WriteBuffer { pages: buffered, flush: FlushPolicy::Eager, protected: true });
    let commands = Commands { multiplane: true, ..PLAIN.commands };
    let mut setup = Setup {
        geometry,
        logical_pages: 8 * geometry.areas() * geometry.pages_per_block,
        clock: Clock::Event(TIMING, DriveOptions { commands, buffer, ..PLAIN }),
        check: true,
        ..setup
    };
    setup.precondition.fill = 1.0;
    setup
}

fn at(op: Op, page: u64, pages: u32) -> Request {
    Request { time_ns: 0, offset: page * PAGE, bytes: pages * PAGE as u32, op, flags: 0, stream: 0 }
}

fn elapsed(setup: &Setup, requests: &[Request]) -> u64 {
    replay(setup, requests).summary.time.expect("timed").elapsed_ns
}

fn with_commands(setup: &Setup, change: impl Fn(&mut Commands)) -> Setup {
    let mut setup = setup.clone();
    let Clock::Event(_, drive) = &mut setup.clock else { unreachable!("a drive in time") };
    change(&mut drive.commands);
    setup
}

/// Writes wait for a program only once the buffer is full: 24 pages move to the die, which programs them together.
#[test]
fn a_program_unit_takes_its_transfers_and_one_program() {
    let writes = |pages: u64| -> Vec<Request> { (0..pages).map(|page| at(Op::Write, page, 1)).collect() };
    let small = full(1, 1, 2, TLC, 24, 1);
    for (pages, expected) in [(23, 0), (24, 0), (25, 24 * TRANSFER + PROGRAM), (49, 2 * (24 * TRANSFER + PROGRAM))] {
        assert_eq!(elapsed(&small, &writes(pages)), expected, "{pages} pages");
    }
    // With cache program, the next 24 pages of a block move during the program, so a program unit takes only its
    // program. Blocks have four program units, and the first pages of a block move after the last program of the block
    // before.
    let cached = with_commands(&full(1, 1, 2, TLC, 48, 1), |commands| commands.cache_program = true);
    assert_eq!(elapsed(&cached, &writes(10 * 24 + 1)), 3 * 24 * TRANSFER + 9 * PROGRAM);
}

/// The four pages of a flash page, and the flash pages of both planes, are read by one command.
#[test]
fn a_flash_page_is_read_once_for_all_its_pages() {
    let setup = full(1, 1, 2, TLC, 24, 1);
    for (pages, expected) in [(1, 120), (2, 140), (4, 180), (8, 260), (9, 260 + 120)] {
        assert_eq!(elapsed(&setup, &[at(Op::Read, 0, pages)]), expected, "{pages} pages");
    }
    // Without multi-plane reads, the planes read one after the other.
    let single = with_commands(&setup, |commands| commands.multiplane = false);
    assert_eq!(elapsed(&single, &[at(Op::Read, 0, 8)]), 2 * 180);
}

/// The second and the third request wait for the first request. They read flash page 0 of plane 0 and flash page 1 of
/// plane 1.
#[test]
fn planes_read_different_flash_pages_only_with_independent_reads() {
    let setup = full(1, 1, 2, TLC, 24, 3);
    let reads = [at(Op::Read, 48, 1), at(Op::Read, 0, 1), at(Op::Read, 12, 1)];
    assert_eq!(elapsed(&setup, &reads), 3 * (READ + TRANSFER));
    let independent = with_commands(&setup, |commands| commands.independent_reads = true);
    assert_eq!(elapsed(&independent, &reads), 2 * READ + 3 * TRANSFER);
}

/// Successive program units of a superblock go to the dies in turn: 4 pages to each die.
#[test]
fn dies_program_the_units_of_a_superblock_at_once() {
    let units = Units { per_flash_page: 4, collected: Collected::Superblock, ..Units::PAGE };
    let writes: Vec<Request> = (0..9).map(|page| at(Op::Write, page, 1)).collect();
    // The ninth page waits for a slot in a buffer of 8 pages.
    assert_eq!(elapsed(&full(2, 1, 1, units, 8, 1), &writes), 4 * TRANSFER + PROGRAM);
    // On one channel, pages for the two dies move in turn; the first die has its four pages after seven transfers.
    assert_eq!(elapsed(&full(1, 2, 1, units, 8, 1), &writes), 7 * TRANSFER + PROGRAM);
}

/// Each flash page has the read time of its type: 8 pages of each, in turn over three flash pages of a word line.
#[test]
fn read_times_depend_on_the_flash_page() {
    let mut setup = full(1, 1, 2, TLC, 24, 1);
    let Clock::Event(timing, _) = &mut setup.clock else { unreachable!("a drive in time") };
    *timing = Timing { read: PageTimes::of(&[Nanos(60), Nanos(90), Nanos(150)]).expect("three"), ..*timing };
    let reads: Vec<Request> = [0, 8, 16, 24].map(|page| at(Op::Read, page, 1)).to_vec();
    assert_eq!(elapsed(&setup, &reads), 60 + 90 + 150 + 60 + 4 * TRANSFER);
}

/// With the serial clock, reads of pages in the buffer take no time, and a flash page stays in the registers until the
/// next program.
#[test]
fn the_serial_clock_gathers_program_units_too() {
    let mut setup = full(1, 1, 2, TLC, 24, 1);
    setup.clock = Clock::Serial(TIMING);
    for (requests, expected) in [
        (vec![at(Op::Write, 0, 23)], 23 * TRANSFER),
        (vec![at(Op::Write, 0, 24)], 24 * TRANSFER + PROGRAM),
        (vec![at(Op::Write, 0, 23), at(Op::Read, 0, 23)], 23 * TRANSFER),
        (vec![at(Op::Read, 0, 8)], READ + 8 * TRANSFER),
        (vec![at(Op::Read, 0, 9)], 2 * READ + 9 * TRANSFER),
    ] {
        assert_eq!(elapsed(&setup, &requests), expected, "{requests:?}");
    }
}

/// Five pages and a flush: without power-loss protection, 19 pages of padding complete the program unit at once.
#[test]
fn a_flush_completes_the_program_unit() {
    let protected = full(1, 1, 2, TLC, 48, 1);
    let flush = Request { bytes: 0, offset: 0, ..at(Op::Flush, 0, 0) };
    let requests: Vec<Request> = (0..5).map(|page| at(Op::Write, page, 1)).chain([flush]).collect();
    let of = |setup: &Setup| {
        let summary = replay(setup, &requests).summary;
        (summary.flash.0.programs[Cause::Padding as usize], summary.time.expect("timed").elapsed_ns)
    };
    assert_eq!(of(&protected), (0, 0));
    let mut volatile = protected.clone();
    let Clock::Event(_, drive) = &mut volatile.clock else { unreachable!("a drive in time") };
    drive.buffer = drive.buffer.map(|buffer| WriteBuffer { protected: false, ..buffer });
    assert_eq!(of(&volatile), (19, 24 * TRANSFER + PROGRAM));
}

/// In a buffer of three units, the first unit leaves the buffer after three coarse passes and its fine pass, each with
/// 24 transfers. Then each unit needs a coarse pass, and the unit two positions earlier a fine pass.
#[test]
fn two_passes_keep_the_data_of_further_word_lines_in_the_buffer() {
    const COARSE: u64 = 24 * TRANSFER + 600;
    const FINE: u64 = 24 * TRANSFER + PROGRAM;
    let mut setup = full(1, 1, 2, Units { pass_distance: 2, ..TLC }, 3 * 24, 1);
    let Clock::Event(timing, _) = &mut setup.clock else { unreachable!("a drive in time") };
    *timing = Timing { program: PageTimes::of(&[Nanos(600), Nanos(PROGRAM)]).expect("two passes"), ..*timing };
    let writes = |pages: u64| -> Vec<Request> { (0..pages).map(|page| at(Op::Write, page, 1)).collect() };
    let first = 3 * COARSE + FINE;
    // A block has four word lines. After the last word line, all fine passes of the block are due.
    for (pages, expected) in [(72, 0), (73, first), (97, first + COARSE + FINE), (121, first + COARSE + 2 * FINE)] {
        assert_eq!(elapsed(&setup, &writes(pages)), expected, "{pages} pages");
    }
    // Buffered pages are read from the buffer. A flush takes no time, because the buffer survives a power loss.
    let flush = Request { bytes: 0, offset: 0, ..at(Op::Flush, 0, 0) };
    let requests: Vec<Request> = writes(60).into_iter().chain([at(Op::Read, 3, 1), flush]).collect();
    assert_eq!(elapsed(&setup, &requests), 0);
    let summary = replay(&setup, &writes(200)).summary;
    assert_eq!(summary.flash.0.programs[Cause::Padding as usize], 0);
}

/// Program units of four pages on four dies. One die holds the parity of each word line, so stripes have 12 pages.
const RAIN: Units = Units { per_flash_page: 4, collected: Collected::Superblock, parity: 3, ..Units::PAGE };

/// Parity is written only for complete stripes, with every time model.
#[test]
fn parity_has_a_program_unit_per_complete_stripe() {
    for pages in [11_u64, 12, 30, 100] {
        let writes: Vec<Request> = (0..pages).map(|page| at(Op::Write, page, 1)).collect();
        let mut setup = full(4, 1, 1, RAIN, 12, 1);
        setup.precondition.fill = 0.0;
        for clock in [setup.clock, Clock::Serial(TIMING), Clock::Count] {
            for check in [true, false] {
                let summary = replay(&Setup { clock, check, ..setup.clone() }, &writes).summary;
                let parity = pages / 12 * 4;
                assert_eq!(summary.flash.0.programs[Cause::Parity as usize], parity, "{pages} pages, {clock:?}");
                let expected = (pages + parity) as f64 / pages as f64;
                assert_eq!(summary.write_amplification, Some(expected));
            }
        }
    }
}

/// A drive with three data dies and one parity die executes the operations of a drive with three dies, and programs
/// parity. Parity has a third of the pages programmed for other causes, up to two incomplete stripes.
#[test]
fn parity_adds_its_share_to_write_amplification() {
    let mut rng = ssdlab_core::Rng::named(1, "parity");
    let plain = full(3, 1, 1, Units { parity: 0, ..RAIN }, 12, 1);
    let rain = full(4, 1, 1, RAIN, 12, 1);
    assert_eq!(rain.geometry.pages(), plain.geometry.pages());
    assert_eq!(rain.geometry.flash_pages() * 3, rain.geometry.pages() * 4);
    let pages = u64::from(plain.logical_pages);
    let writes: Vec<Request> = (0..5_000).map(|_| at(Op::Write, rng.below(pages), 1)).collect();
    for clock in [plain.clock, Clock::Serial(TIMING), Clock::Count] {
        let of = |setup: &Setup| replay(&Setup { clock, ..setup.clone() }, &writes).summary;
        let (plain, rain) = (of(&plain), of(&rain));
        let mut programs = rain.flash.0.programs;
        let parity = std::mem::take(&mut programs[Cause::Parity as usize]);
        assert_eq!((programs, rain.flash.0.reads), (plain.flash.0.programs, plain.flash.0.reads));
        let data = plain.flash.0.programmed();
        assert!(plain.flash.0.programs[Cause::Gc as usize] > 1_000, "garbage collection has begun");
        assert!((3 * parity).abs_diff(data) <= 2 * 12, "{parity} pages of parity for {data} pages");
        // The flash endures a third more programs, which parity uses up.
        let [plain, rain] = [plain, rain].map(|summary| summary.lifetime.host_tbw_bytes.expect("written"));
        assert!((rain / plain - 1.0).abs() < 0.01, "{rain} bytes instead of {plain}");
    }
}

/// Each die programs four pages once per stripe. On one channel, the pages move to the dies in turn: the first die has
/// its four pages after 13 transfers, because 4 x 3 transfers precede its last page.
#[test]
fn parity_takes_its_die_and_its_transfers() {
    let writes = |pages: u64| -> Vec<Request> { (0..pages).map(|page| at(Op::Write, page, 1)).collect() };
    let stripe = 4 * TRANSFER + PROGRAM;
    for (pages, expected) in [(12, 0), (13, stripe), (25, 2 * stripe), (37, 3 * stripe)] {
        assert_eq!(elapsed(&full(4, 1, 1, RAIN, 12, 1), &writes(pages)), expected, "{pages} pages");
    }
    assert_eq!(elapsed(&full(1, 4, 1, RAIN, 12, 1), &writes(13)), 13 * TRANSFER + PROGRAM);
}

/// A flush completes the program unit, but not the stripe: five pages on two dies need three pages of padding.
#[test]
fn a_flush_leaves_the_stripe_incomplete() {
    let flush = Request { bytes: 0, offset: 0, ..at(Op::Flush, 0, 0) };
    let requests: Vec<Request> = (0..5).map(|page| at(Op::Write, page, 1)).chain([flush]).collect();
    let mut setup = full(4, 1, 1, RAIN, 12, 1);
    let Clock::Event(_, drive) = &mut setup.clock else { unreachable!("a drive in time") };
    drive.buffer = drive.buffer.map(|buffer| WriteBuffer { protected: false, ..buffer });
    let summary = replay(&setup, &requests).summary;
    let of = |cause: Cause| summary.flash.0.programs[cause as usize];
    assert_eq!((of(Cause::Padding), of(Cause::Parity)), (3, 0));
    assert_eq!(summary.time.expect("timed").elapsed_ns, 4 * TRANSFER + PROGRAM);
}

/// A host read suspends the program of a unit. The program continues afterwards; programs on other dies are not
/// delayed.
#[test]
fn a_host_read_suspends_the_program_of_a_unit() {
    let interruption = Interruption { resume: Nanos(10), ..Interruption::new(Nanos(50), 1) };
    let superblock = Units { collected: Collected::Superblock, ..TLC };
    // One die programs 24 pages from 480 to 1,480 ns. The read at 1,000 ns leaves the die at 1,170, and the program
    // ends 480 + 10 ns later. Page 24 waits for a buffer slot until then.
    let die = (full(1, 1, 2, TLC, 24, 1), 24, 1_000, 480 + PROGRAM, 1_170 + 490);
    // Each of two dies programs 12 pages from 240 to 1,240 ns. The read at 800 ns suspends the first die: it leaves at
    // 970, and the program ends 440 + 10 ns later. Pages 24 to 35 take the slots of the second die's pages at 1,240.
    // Page 36 takes a slot of the first die's pages.
    let dies = (full(2, 1, 1, superblock, 24, 1), 36, 800, 240 + PROGRAM, 970 + 450);
    for (setup, last_page, read_ns, plain_ns, suspended_ns) in [die, dies] {
        for (suspend, expected_ns) in [
            (Suspend::Never, plain_ns),
            (Suspend::EraseAndProgram { erase: interruption, program: interruption }, suspended_ns),
        ] {
            let mut setup = with_commands(&setup, |commands| commands.suspend = suspend);
            setup.replay = Replay::AS_TRACED;
            let Clock::Event(_, drive) = &mut setup.clock else { unreachable!("a drive in time") };
            drive.scheduler = &scheduler::reads_first::INFO;
            let mut requests: Vec<Request> = (0..=last_page).map(|page| at(Op::Write, page, 1)).collect();
            // Page 48 is on the first die. Page 5 is read from the write buffer.
            requests.extend([48, 5].map(|page| Request { time_ns: read_ns, ..at(Op::Read, page, 1) }));
            let summary = replay(&setup, &requests).summary;
            let latency = summary.latency.expect("timed");
            let waited_ns = if suspend == Suspend::Never { plain_ns - read_ns } else { 50 };
            assert_eq!(latency.read.expect("reads").max_ns, waited_ns + READ + TRANSFER, "{suspend:?}");
            assert_eq!(latency.write.expect("writes").max_ns, expected_ns, "{suspend:?}");
        }
    }
}
