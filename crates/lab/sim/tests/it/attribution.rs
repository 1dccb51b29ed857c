//! Goal: the parts of a response time add up to the response time. Method: random drives under random schedulers; small
//! cases by hand.

use proptest::prelude::*;
use ssdlab_core::Nanos;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::map::dftl;
use ssdlab_sched::SCHEDULERS;
use ssdlab_sim::{
    BreakdownByPercentile, Clock, CommandTimes, Controller, DriveOptions, FlushPolicy, Front, HostMemory,
    LatencyBreakdown, LatencySummary, Outcome, PART_NAMES, ReadAhead, Replay, ResponseSummary, Setup, StageTime,
    Thermal, TransferUnit, WriteBuffer, block_options, run,
};
use ssdlab_testkit::SMALL_OPTIONS;
use ssdlab_testkit::drives::{PLAIN, TIMING, array, drive_setup, on_any_drive, on_any_modern_drive};
use ssdlab_testkit::strategies::requests;
use ssdlab_trace::{Op, Request, SliceSource};

fn replay(setup: &Setup, requests: &[Request]) -> Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("runs")
}

fn response(outcome: &Outcome) -> &ResponseSummary {
    outcome.summary.drive.as_ref().expect("a drive").response.as_ref().expect("attribution is on")
}

/// Checks that the parts add up, and that a percentile's requests are as slow as the percentile.
fn adds_up(parts: Option<BreakdownByPercentile>, latency: Option<LatencySummary>) {
    let (Some(parts), Some(latency)) = (parts, latency) else {
        assert_eq!((parts.is_none(), latency.is_none()), (true, true));
        return;
    };
    assert_eq!(parts.all.requests, latency.count);
    assert!((parts.all.sum_ns as f64 - latency.mean_ns * latency.count as f64).abs() <= 1e-9 * parts.all.sum_ns as f64);
    for (group, quantile_ns) in [
        (parts.all, None),
        (parts.p50, Some(latency.p50_ns)),
        (parts.p99, Some(latency.p99_ns)),
        (parts.p99_9, Some(latency.p99_9_ns)),
    ] {
        assert_eq!(group.parts_ns.iter().sum::<u128>(), group.sum_ns);
        assert!(group.requests > 0);
        if let Some(quantile_ns) = quantile_ns {
            assert!(group.sum_ns <= u128::from(group.requests) * u128::from(latency.max_ns));
            assert!(latency.count > 100 || quantile_ns >= latency.min_ns);
        }
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(600))]

    #[test]
    fn the_parts_add_up_on_any_drive(
        setup in prop_oneof![3 => on_any_drive(), 1 => on_any_modern_drive()],
        scheduler in prop::option::of(prop::sample::select(SCHEDULERS.to_vec())),
        requests in requests(200),
    ) {
        let block = scheduler.map(|info| block_options(info.name));
        let setup = Setup { attribution: true, block, check: false, ..setup.clone() };
        let outcome = replay(&setup, &requests);
        let found = response(&outcome);
        let latency = outcome.summary.latency.clone().expect("timed");
        adds_up(Some(found.all), latency.all);
        adds_up(found.read, latency.read);
        adds_up(found.write, latency.write);
        // The times of each die add up to the time of the run.
        let drive = outcome.summary.drive.as_ref().expect("a drive");
        let elapsed_ns = outcome.summary.time.expect("timed").elapsed_ns;
        prop_assert_eq!(found.dies_ns.iter().sum::<u64>(), elapsed_ns * u64::from(drive.dies));
        // Attribution does not change other results.
        let mut without = replay(&Setup { attribution: false, ..setup.clone() }, &requests).summary;
        let mut with = outcome.summary.clone();
        with.diagnosis.clear();
        without.diagnosis.clear();
        with.drive.as_mut().expect("a drive").response = None;
        prop_assert_eq!(with, without);
    }
}

const PAGE: u64 = 4096;

fn request(op: Op, page: u64, pages: u32) -> Request {
    Request { time_ns: 0, offset: page * PAGE, bytes: pages * PAGE as u32, op, flags: 0, stream: 0 }
}

/// Returns a full drive of one die with `depth` requests outstanding.
fn one_die(drive: DriveOptions, depth: u32) -> Setup {
    let mut setup = drive_setup(array(1, 1, 1, 1), 12, 8, depth);
    setup.precondition.fill = 1.0;
    Setup { clock: Clock::Event(TIMING, drive), attribution: true, ..setup.clone() }
}

/// Returns the parts that are not 0, with their names.
fn named(parts: &LatencyBreakdown) -> Vec<(&'static str, u128)> {
    PART_NAMES.into_iter().zip(parts.parts_ns).filter(|(_, ns)| *ns > 0).collect()
}

/// A read takes 100 ns, the transfer of a page 20 ns, a program 1,000 ns.
#[test]
fn requests_are_charged_for_earlier_requests() {
    // Three reads: the second read waits for the first read, the third read for both.
    let reads = [0, 3, 9].map(|page| request(Op::Read, page, 1));
    let found = replay(&one_die(PLAIN, 3), &reads);
    assert_eq!(named(&response(&found).all.all), [("host_reads", 300), ("bus", 20 + 40 + 60), ("own_work", 300)]);
    // One request for two pages: the second page waits for the first page.
    let found = replay(&one_die(PLAIN, 1), &[request(Op::Read, 0, 2)]);
    assert_eq!(named(&response(&found).all.all), [("bus", 40), ("own_work", 200)]);
    // A write, and a read of another page behind it.
    let found = replay(&one_die(PLAIN, 2), &[request(Op::Write, 0, 1), request(Op::Read, 30, 1)]);
    let read = response(&found).read.expect("a read").all;
    assert_eq!(named(&read), [("host_writes", 1_000), ("bus", 40), ("own_work", 100)]);
    // A write of half a page: the other half is read first.
    let half = Request { bytes: 2048, ..request(Op::Write, 5, 1) };
    let found = replay(&one_die(PLAIN, 1), &[half]);
    assert_eq!(named(&response(&found).all.all), [("partial_pages", 100), ("bus", 40), ("own_work", 1_000)]);
}

#[test]
fn each_station_is_charged_for_its_time() {
    let front =
        Front { link_bytes_per_s: Some(4_096_000_000), controller: Controller::serial(Nanos(70)), ..PLAIN.front };
    let found = replay(&one_die(DriveOptions { front, ..PLAIN }, 2), &[0, 9].map(|page| request(Op::Read, page, 1)));
    // The controller takes 70 ns per request, the link 1,000 ns. The second read reaches the die 70 ns after the first
    // read.
    assert_eq!(
        named(&response(&found).all.all),
        [("host_reads", 30), ("bus", 60), ("own_work", 200), ("controller", 210), ("link", 1_000 + 1_880)]
    );
    // A completion of 30 ns and a delay of 4 ns belong to the controller too.
    let stage = |work, latency| StageTime { work: Nanos(work), latency: Nanos(latency) };
    let read = CommandTimes { submission: stage(70, 0), completion: stage(30, 4) };
    let controller = Controller { read, ..Controller::serial(Nanos::ZERO) };
    let front = Front { controller, ..front };
    let found = replay(&one_die(DriveOptions { front, ..PLAIN }, 1), &[request(Op::Read, 0, 1)]);
    assert_eq!(
        named(&response(&found).all.all),
        [("bus", 20), ("own_work", 100), ("controller", 104), ("link", 1_000)]
    );
    // With a buffer of one page, the second write waits until the first page is programmed, including 20 ns for the
    // bus. A flush waits for both pages.
    let buffer = Some(WriteBuffer { pages: 1, flush: FlushPolicy::Eager, protected: false });
    let flush = Request { offset: 0, bytes: 0, ..request(Op::Flush, 0, 0) };
    let writes = [request(Op::Write, 0, 1), request(Op::Write, 20, 1), flush];
    let found = replay(&one_die(DriveOptions { buffer, ..PLAIN }, 1), &writes);
    assert_eq!(named(&response(&found).all.all), [("host_writes", 1_000), ("bus", 20), ("flush", 1_020)]);
}

/// Each page is read by a separate job, and takes 1,000 ns on the link. The last page leaves the die after 480 ns, and
/// waits for the DRAM and the link behind the earlier pages.
#[test]
fn separately_transferred_pages_are_charged_up_to_the_last_page() {
    let front = Front { link_bytes_per_s: Some(4_096_000_000), transfer: TransferUnit::Page, ..PLAIN.front };
    let found = replay(&one_die(DriveOptions { front, ..PLAIN }, 1), &[request(Op::Read, 0, 4)]);
    assert_eq!(
        named(&response(&found).all.all),
        [("host_reads", 300), ("bus", 80), ("own_work", 100), ("link", 120 + 4_000 - 480)]
    );
    let front = Front { dram_bytes_per_s: Some(4_096_000_000), ..front };
    let found = replay(&one_die(DriveOptions { front, ..PLAIN }, 1), &[request(Op::Read, 0, 1)]);
    assert_eq!(
        named(&response(&found).all.all),
        [("bus", 20), ("own_work", 100), ("controller", 2_000), ("link", 1_000)]
    );
}

/// The fetch of a map entry from host memory is charged to the map, and the wait of a hot drive to the controller.
#[test]
fn delays_by_the_controller_are_charged() {
    let host_memory = Some(HostMemory { own_entries: 1, fetched_entries: 1, latency: Nanos(50) });
    let thermal = Some(Thermal {
        ambient: 40.0,
        threshold: 40.5,
        release: 40.1,
        resistance: 1.0,
        time_constant: Nanos(1_000_000_000),
        read_energy: 1e6,
        write_energy: 0.0,
        factor: 3.0,
    });
    let mut setup = one_die(DriveOptions { host_memory, thermal, ..PLAIN }, 1);
    setup.geometry.blocks = 24;
    setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.defaults());
    let found = replay(&setup, &[request(Op::Read, 0, 1)]);
    assert_eq!(
        named(&response(&found).all.all),
        [("map", 50), ("bus", 20), ("own_work", 100), ("controller", 2 * 170)]
    );
}

/// A read that waits for a page being read in advance is charged for waiting for the flash.
#[test]
fn a_read_waits_for_a_page_that_is_read_in_advance() {
    let read_ahead = Some(ReadAhead { requests: 2, pages: 2, cache_pages: 4 });
    let reads: Vec<Request> = (0..3).map(|page| request(Op::Read, page, 1)).collect();
    let found = replay(&one_die(DriveOptions { read_ahead, ..PLAIN }, 1), &reads);
    assert_eq!(named(&response(&found).all.all), [("host_reads", 100), ("bus", 2 * 20 + 20), ("own_work", 200)]);
}

/// A request that the drive does not take because the flash is busy is charged for waiting for the flash, not for the
/// queue.
#[test]
fn a_request_waits_for_busy_flash() {
    let busy = DriveOptions { backlog: 1, ..PLAIN };
    let found = replay(&one_die(busy, 2), &[0, 9].map(|page| request(Op::Read, page, 1)));
    assert_eq!(named(&response(&found).all.all), [("host_reads", 100), ("bus", 20 + 40), ("own_work", 200)]);
}

#[test]
fn a_request_that_the_drive_does_not_take_yet_waits_in_the_queue() {
    let front = Front { protocol: ssdlab_sim::Protocol::SingleQueue { depth: 1 }, ..PLAIN.front };
    let setup = Setup { replay: Replay::AS_TRACED, ..one_die(DriveOptions { front, ..PLAIN }, 1) };
    let late = Request { time_ns: 40, ..request(Op::Read, 9, 1) };
    let found = replay(&setup, &[request(Op::Read, 0, 1), late]);
    assert_eq!(named(&response(&found).all.all), [("bus", 40), ("own_work", 200), ("host_queue", 80)]);
}
