//! Goal: a drive that serves many requests takes exactly the time of its parts. Method: closed formulas for drives
//! without load and at their limit, queueing laws, hand-made sequences around every timing rule, and the serial clock.

use proptest::prelude::*;
use ssdlab_core::{Nanos, Rng};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::map::{dftl, ram};
use ssdlab_ftl::page::{PageOptions, Trigger};
use ssdlab_nand::backend::parallel::scheduler::{self, DieSchedulerInfo};
use ssdlab_nand::backend::parallel::{Kind, Segment, Window};
use ssdlab_nand::{Cause, Commands, Interruption, Parallelism, Suspend, Timing};
use ssdlab_sim::{
    Arbitration, Clock, Collect, CollectGoal, CommandTimes, Controller, DriveOptions, FlushPolicy, Front, HostMemory,
    LatencyByOp, Outcome, Pace, Packets, Protocol, ReadAhead, Replay, Setup, StageTime, StreamDepths, Thermal,
    TransferUnit, WriteBuffer, run,
};
use ssdlab_testkit::drives::{PLAIN, TIMING, array, drive_setup, on_any_drive};
use ssdlab_testkit::strategies::{requests, setups};
use ssdlab_testkit::{SMALL_OPTIONS, small_setup};
use ssdlab_trace::{Arrival, Generator, Op, Pattern, Queue, Request, SliceSource, Workload, flag};

mod buffer;
mod controller;
mod suspension;

const PAGE: u64 = 4096;
/// Durations of [`TIMING`] in nanoseconds.
const READ: u64 = 100;
const PROGRAM: u64 = 1_000;
const TRANSFER: u64 = 20;

fn replay(setup: &Setup, requests: &[Request]) -> Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("runs")
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(2_000))]

    /// No drive loses data, breaks a NAND rule or counts wrong, whatever its options.
    #[test]
    fn reads_return_the_last_write_on_any_drive(setup in on_any_drive(), requests in requests(300)) {
        let outcome = replay(&setup, &requests);
        let summary = &outcome.summary;
        let drive = summary.drive.as_ref().expect("a drive");
        let all = summary.latency.as_ref().and_then(|latency| latency.all).expect("requests");
        prop_assert_eq!(all.count, requests.len() as u64);
        // Waiting and service add up to the response time.
        let sum = |latency: &LatencyByOp| latency.all.map_or(0.0, |all| all.mean_ns * all.count as f64);
        prop_assert!((sum(&drive.waiting) + sum(&drive.service) - all.mean_ns * all.count as f64).abs() < 1.0);
        // Little's law holds exactly, because the drive is empty at the start and at the end.
        let elapsed = summary.time.expect("timed").elapsed_ns as f64;
        if elapsed > 0.0 {
            let arriving = all.count as f64 / elapsed * all.mean_ns;
            prop_assert!((drive.queue_depth_mean - arriving).abs() <= 1e-9 * arriving.max(1.0));
        }
        prop_assert!(drive.die_utilisation.max <= 1.0 + 1e-9);
        prop_assert!(drive.channel_utilisation.max <= 1.0 + 1e-9);
        // Every page read comes from the buffer, the read cache or the flash, or is unmapped.
        let from_buffer = drive.buffer.map_or(0, |buffer| buffer.pages_read);
        let from_flash = summary.flash.0.reads[Cause::Host as usize];
        let ahead = drive.controller.unwrap_or_default();
        let from_memory = from_buffer + ahead.read_ahead_hits + summary.host.unmapped_pages_read;
        prop_assert_eq!(from_memory + from_flash, summary.host.pages_read + ahead.read_ahead_pages);
    }

    /// With one request at a time on one die, times equal those of the serial clock to the nanosecond.
    #[test]
    fn one_by_one_on_one_die_equals_the_serial_clock(setup in setups(), requests in requests(200)) {
        let Setup { ftl, .. } = setup;
        let mut serial = setup;
        serial.geometry.parallelism = Parallelism::SINGLE;
        serial.clock = Clock::Serial(TIMING);
        serial.check = true;
        let event = Setup { clock: Clock::Event(TIMING, PLAIN), ..serial.clone() };
        let (serial, event) = (replay(&serial, &requests), replay(&event, &requests));
        prop_assert_eq!(event.summary.flash, serial.summary.flash);
        let elapsed = |outcome: &Outcome| outcome.summary.time.expect("timed").elapsed_ns;
        if matches!(ftl, FtlChoice::Page(_, map) if map.is(&ram::INFO)) {
            prop_assert_eq!(event.summary.time, serial.summary.time);
            prop_assert_eq!(event.summary.latency, serial.summary.latency);
        } else {
            // Merges and write-backs after a request's own operations delay the next request, not this request.
            prop_assert!(elapsed(&event) <= elapsed(&serial));
        }
    }
}

fn at(time_ns: u64, op: Op, page: u64, pages: u32) -> Request {
    Request { time_ns, offset: page * PAGE, bytes: pages * PAGE as u32, op, flags: 0, stream: 0 }
}

/// Returns a filled drive with one more block per plane than the drive needs.
fn filled(parallelism: Parallelism, drive: DriveOptions, depth: u32) -> Setup {
    let mut setup = drive_setup(parallelism, 8, 4, depth);
    setup.clock = Clock::Event(TIMING, drive);
    setup.precondition.fill = 1.0;
    setup.check = true;
    setup
}

/// Returns the set-up with requests issued at their timestamps.
fn open(setup: Setup) -> Setup {
    Setup { replay: Replay::AS_TRACED, ..setup.clone() }
}

fn elapsed(outcome: &Outcome) -> u64 {
    outcome.summary.time.expect("timed").elapsed_ns
}

/// Returns the recorded cell operations, sorted by start time.
fn cells(setup: &Setup, requests: &[Request]) -> Vec<(&'static str, u32, u64, u64)> {
    let setup = Setup { gantt: Some(Window { from: Nanos(0), length: Nanos(1_000_000_000) }), ..setup.clone() };
    let outcome = replay(&setup, requests);
    let bars: &[Segment] = &outcome.activity.as_ref().expect("a drive").gantt;
    let mut bars: Vec<_> =
        bars.iter().filter(|bar| !bar.bus).map(|bar| (bar.kind.name(), bar.die, bar.begin_ns, bar.end_ns)).collect();
    bars.sort_by_key(|&(_, die, begin_ns, _)| (begin_ns, die));
    bars
}

/// Every recorded operation has the number of its request, also a program from the write buffer.
#[test]
fn operations_have_the_numbers_of_their_requests() {
    let buffer = WriteBuffer { pages: 8, flush: FlushPolicy::Eager, protected: false };
    for buffer in [None, Some(buffer)] {
        let mut setup = filled(array(2, 1, 1, 1), DriveOptions { buffer, ..PLAIN }, 4);
        setup.gantt = Some(Window { from: Nanos(0), length: Nanos(1_000_000_000) });
        setup = open(setup);
        let requests: Vec<_> = (0..40)
            .map(|n| at(90 * n, if n % 3 == 0 { Op::Read } else { Op::Write }, n * 7 % 25, 1 + n as u32 % 3))
            .collect();
        let bars = replay(&setup, &requests).activity.expect("a drive").gantt;
        let programs = |number: u64| {
            let host = |bar: &&Segment| bar.requester.number == number && !bar.bus && bar.cause == Cause::Host;
            bars.iter().filter(host).filter(|bar| bar.kind == Kind::Program).count() as u32
        };
        for (number, request) in (1..).zip(&requests) {
            let pages = request.bytes / PAGE as u32;
            let wanted = if request.op == Op::Write { pages } else { 0 };
            if buffer.is_none() {
                assert_eq!(programs(number), wanted, "request {number}");
            } else {
                // A page that is overwritten in the buffer is not programmed for its first write.
                assert!(programs(number) <= wanted, "request {number}");
            }
        }
        assert!(bars.iter().all(|bar| bar.requester.arrived_ns == 90 * (bar.requester.number - 1)
            && bar.requester.arrived_ns <= bar.begin_ns));
        assert!(bars.iter().any(|bar| bar.begin_ns > bar.requester.arrived_ns + 1_000), "some operations waited");
        assert!(
            bars.iter().all(|bar| (1..=40).contains(&bar.requester.number)),
            "every operation belongs to a request"
        );
        assert!(bars.iter().any(|bar| bar.cause == Cause::Gc), "also garbage collection that a write waited for");
    }
}

/// Pages 0, 1, 2, ... are on the channels in turn.
#[test]
fn a_request_without_load_takes_the_sum_of_its_parts() {
    let link = Front { link_bytes_per_s: Some(1_000_000_000), controller: Controller::serial(Nanos(7)), ..PLAIN.front };
    let linked = DriveOptions { front: link, ..PLAIN };
    // 4 KiB take 14 packets: 13 packets of 300 bytes and a shorter packet.
    let packets = Packets { payload_bytes: 300, overhead_bytes: 24 };
    let in_packets = DriveOptions { front: Front { packets, ..link }, ..PLAIN };
    let stage = |work, latency| StageTime { work: Nanos(work), latency: Nanos(latency) };
    let controller = Controller {
        processors: 1,
        page_work: Nanos(5),
        read: CommandTimes { submission: stage(1, 10), completion: stage(2, 20) },
        write: CommandTimes { submission: stage(3, 30), completion: stage(4, 40) },
    };
    let staged = DriveOptions { front: Front { controller, ..link }, ..PLAIN };
    let multiplane = DriveOptions { commands: Commands { multiplane: true, ..PLAIN.commands }, ..PLAIN };
    let cached = DriveOptions { commands: Commands { cache_read: true, ..PLAIN.commands }, ..PLAIN };
    let two_planes =
        Parallelism { order: ssdlab_nand::StripeOrder::named("PCWD").expect("a permutation"), ..array(2, 1, 1, 2) };
    for (what, parallelism, drive, request, expected) in [
        ("read", array(2, 1, 1, 1), PLAIN, at(0, Op::Read, 0, 1), READ + TRANSFER),
        ("write", array(2, 1, 1, 1), PLAIN, at(0, Op::Write, 0, 1), TRANSFER + PROGRAM),
        ("two channels at once", array(2, 1, 1, 1), PLAIN, at(0, Op::Read, 0, 2), READ + TRANSFER),
        ("one channel, two dies", array(1, 2, 1, 1), PLAIN, at(0, Op::Read, 0, 2), READ + 2 * TRANSFER),
        ("one die, one page after the other", array(1, 1, 1, 2), PLAIN, at(0, Op::Read, 0, 2), 2 * (READ + TRANSFER)),
        ("both planes at once", two_planes, multiplane, at(0, Op::Read, 0, 2), READ + 2 * TRANSFER),
        ("both planes programmed at once", two_planes, multiplane, at(0, Op::Write, 0, 2), 2 * TRANSFER + PROGRAM),
        (
            "read during the transfer of the previous page",
            array(1, 1, 1, 2),
            cached,
            at(0, Op::Read, 0, 2),
            2 * READ + TRANSFER,
        ),
        ("link and command", array(2, 1, 1, 1), linked, at(0, Op::Read, 0, 1), 7 + READ + TRANSFER + PAGE),
        ("packets", array(2, 1, 1, 1), in_packets, at(0, Op::Read, 0, 1), 7 + READ + TRANSFER + PAGE + 14 * 24),
        (
            "stages of a read",
            array(2, 1, 1, 1),
            staged,
            at(0, Op::Read, 0, 2),
            1 + 2 * 5 + 10 + 120 + 2 * PAGE + 2 + 20,
        ),
        ("stages of a write", array(2, 1, 1, 1), staged, at(0, Op::Write, 0, 1), 3 + 5 + 30 + PAGE + 1_020 + 4 + 40),
        ("stages of a trim", array(2, 1, 1, 1), staged, at(0, Op::Trim, 0, 1), 3 + 30 + 4 + 40),
        ("link and command, write", array(2, 1, 1, 1), linked, at(0, Op::Write, 0, 1), 7 + PAGE + TRANSFER + PROGRAM),
    ] {
        let outcome = replay(&filled(parallelism, drive, 1), &[request]);
        assert_eq!(elapsed(&outcome), expected, "{what}");
    }
}

/// Only the busiest resource limits steady reads in stripe order.
#[test]
fn the_bottleneck_limits_read_bandwidth() {
    let pages = 40_000;
    let reading: Vec<Request> = (0..pages).map(|page| at(0, Op::Read, page % 64, 1)).collect();
    let cached = DriveOptions { commands: Commands { cache_read: true, ..PLAIN.commands }, ..PLAIN };
    let linked = DriveOptions { front: Front { link_bytes_per_s: Some(2_000_000_000), ..PLAIN.front }, ..PLAIN };
    let stage = |work| StageTime { work: Nanos(work), latency: Nanos(100) };
    let read = CommandTimes { submission: stage(30), completion: stage(9) };
    let controller = Controller { processors: 3, read, ..Controller::serial(Nanos::ZERO) };
    let processed = DriveOptions { front: Front { controller, ..PLAIN.front }, ..PLAIN };
    for (what, parallelism, drive, page_ns) in [
        // Without cache read, a die needs a read and a transfer per page.
        ("dies", array(4, 1, 1, 1), PLAIN, (READ + TRANSFER) as f64 / 4.0),
        ("dies with cache read", array(4, 1, 1, 1), cached, READ as f64 / 4.0),
        // Sixteen dies on one channel read faster than the channel transfers.
        ("bus", array(1, 16, 1, 1), PLAIN, TRANSFER as f64),
        ("two buses", array(2, 16, 1, 1), PLAIN, TRANSFER as f64 / 2.0),
        // 4 KiB at 2 GB/s.
        ("link", array(16, 16, 1, 1), linked, 2_048.0),
        // Three processors take 30 ns before each read and 9 ns after it; the delays of 100 ns occupy no processor.
        ("processors", array(16, 16, 1, 1), processed, 39.0 / 3.0),
    ] {
        let mut setup = filled(parallelism, drive, 64);
        setup.check = false;
        let outcome = replay(&setup, &reading);
        let expected = pages as f64 * page_ns;
        assert!(
            (elapsed(&outcome) as f64 / expected - 1.0).abs() < 0.001,
            "{what}: {} for {expected}",
            elapsed(&outcome)
        );
    }
}

#[test]
fn the_dies_limit_write_bandwidth() {
    let writes = 10_000;
    let setup = Setup { logical_pages: 64, ..drive_setup(array(4, 2, 1, 1), 400, 8, 32) };
    let requests: Vec<Request> = (0..writes).map(|page| at(0, Op::Write, page % 64, 1)).collect();
    let expected = writes as f64 * (TRANSFER + PROGRAM) as f64 / 8.0;
    let outcome = replay(&setup, &requests);
    assert!((elapsed(&outcome) as f64 / expected - 1.0).abs() < 0.001, "{} for {expected}", elapsed(&outcome));
}

/// M/D/1: Poisson arrivals at one die with a constant read time D. Mean wait: rho D / (2 (1 - rho)).
#[test]
fn waits_for_one_die_follow_m_d_1() {
    let service_ns = (READ + TRANSFER) as f64;
    for load in [0.3, 0.6, 0.8] {
        let mut setup = open(filled(array(1, 1, 1, 1), PLAIN, 1));
        setup.check = false;
        let workload = Workload {
            pattern: Pattern::named("uniform", &[]).expect("registered"),
            arrival: Arrival::Poisson { per_second: load / service_ns * 1e9 },
            queues: Vec::new(),
            requests: 500_000,
            reads: 1.0,
            sizes: vec![(PAGE as u32, 1.0)],
            align_bytes: PAGE as u32,
            span_bytes: setup.capacity_bytes(),
            seed: 1,
        };
        let mut source = Generator::new(&workload).expect("a workload");
        let summary = run(&setup, &mut source, &mut ()).expect("runs").summary;
        let waiting = summary.drive.expect("a drive").waiting.all.expect("requests").mean_ns;
        let expected = load * service_ns / (2.0 * (1.0 - load));
        assert!((waiting / expected - 1.0).abs() < 0.02, "load {load}: {waiting:.2} ns, not {expected:.2}");
    }
}

/// A workload with one queue equals the open loop: waits follow M/D/1.
#[test]
fn waits_of_one_queue_follow_m_d_1() {
    let (load, service_ns) = (0.6, (READ + TRANSFER) as f64);
    let mut setup = open(filled(array(1, 1, 1, 1), PLAIN, 1));
    setup.check = false;
    let arrival = Arrival::Poisson { per_second: load / service_ns * 1e9 };
    let workload = Workload {
        pattern: Pattern::named("uniform", &[]).expect("registered"),
        arrival: Arrival::Closed,
        queues: vec![Queue { arrival, reads: 1.0 }],
        requests: 500_000,
        reads: 0.0,
        sizes: vec![(PAGE as u32, 1.0)],
        align_bytes: PAGE as u32,
        span_bytes: setup.capacity_bytes(),
        seed: 1,
    };
    let mut source = Generator::new(&workload).expect("a workload");
    let summary = run(&setup, &mut source, &mut ()).expect("runs").summary;
    let waiting = summary.drive.expect("a drive").waiting.all.expect("requests").mean_ns;
    let expected = load * service_ns / (2.0 * (1.0 - load));
    assert!((waiting / expected - 1.0).abs() < 0.02, "{waiting:.2} ns, not {expected:.2}");
}

/// Returns the set-up with an open loop in which streams 1, 2 and so on have these depths.
fn bounded(setup: Setup, depths: &[u32]) -> Setup {
    Setup { replay: Replay::Open { speed: 1.0, depths: StreamDepths::new(depths) }, ..setup }
}

/// A stream at its depth holds its requests back; their response times start when they are issued.
#[test]
fn a_stream_at_its_depth_waits_for_its_own_requests() {
    let setup = filled(array(1, 1, 1, 1), PLAIN, 1);
    let read = READ + TRANSFER;
    let of = |stream, arrival| Request { stream, ..at(arrival, Op::Read, 0, 1) };
    let latencies = |depths: &[u32], requests: &[Request]| {
        let outcome = replay(&bounded(setup.clone(), depths), requests);
        let streams = outcome.summary.drive.expect("a drive").streams;
        streams.iter().map(|stream| stream.read.expect("reads").max_ns).collect::<Vec<_>>()
    };
    // Four reads of stream 1 and one of stream 2 arrive together. With depth 1, each read of stream 1 is issued when
    // the previous read completes; the read of stream 2 is second in the queue of the die.
    let together = [of(1, 0), of(1, 0), of(1, 0), of(1, 0), of(2, 0)];
    assert_eq!(latencies(&[1], &together), [2 * read, 2 * read]);
    // With depth 2 for stream 1, its third read is issued behind its second and the read of stream 2.
    assert_eq!(latencies(&[2, 1], &together), [3 * read, 3 * read]);
    // Without a limit, the read of stream 2 waits behind the four reads.
    assert_eq!(latencies(&[u32::MAX], &together), [4 * read, 5 * read]);
    // A read that arrives when its stream has a free slot again is issued at its time.
    assert_eq!(latencies(&[1], &[of(1, 0), of(1, read), of(2, 3 * read)]), [read, read]);
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(100))]

    /// However fast requests arrive, no stream has more requests in the drive than its depth.
    #[test]
    fn depths_are_never_exceeded(depths in prop::collection::vec(1_u32..6, 1..4), seed in 0_u64..1_000_000) {
        let setup = filled(array(2, 1, 1, 1), PLAIN, 1);
        let mut rng = Rng::named(seed, "requests");
        let streams = depths.len() as u64;
        let requests: Vec<Request> = (0..300)
            .map(|number| Request { stream: 1 + rng.below(streams) as u16, ..at(number * 30, Op::Read, rng.below(32), 1) })
            .collect();
        let drive = replay(&bounded(setup, &depths), &requests).summary.drive.expect("a drive");
        prop_assert!(drive.queue_depth_max <= depths.iter().sum::<u32>());
        prop_assert!(streams > 1 || drive.queue_depth_max == depths[0], "one stream fills its depth");
        // The die serves all requests of the drive before a new request.
        let most_ns = u64::from(drive.queue_depth_max) * (READ + TRANSFER);
        for stream in drive.streams {
            prop_assert!(stream.read.expect("reads").max_ns <= most_ns);
        }
    }
}

/// A drive with one slot has ten reads of a heavy queue when a read of a light queue arrives.
#[test]
fn arbitration_decides_how_long_a_light_queue_waits() {
    let heavy = (0..10).map(|_| Request { stream: 1, ..at(0, Op::Read, 0, 1) });
    let requests: Vec<Request> = heavy.chain([Request { stream: 2, ..at(1, Op::Read, 0, 1) }]).collect();
    let read = READ + TRANSFER;
    for (arbitration, served_as) in [(Arbitration::Fifo, 11), (Arbitration::RoundRobin { burst: 1 }, 2)] {
        let protocol = Protocol::MultiQueue { queues: 3, depth: 64, slots: 1, arbitration };
        let drive = DriveOptions { front: Front { protocol, ..PLAIN.front }, ..PLAIN };
        let outcome = replay(&open(filled(array(1, 1, 1, 1), drive, 1)), &requests);
        let streams = outcome.summary.drive.expect("a drive").streams;
        assert_eq!(streams[1].read.map(|read| read.max_ns), Some(served_as * read - 1), "{arbitration:?}");
    }
}

#[test]
fn a_read_of_a_page_being_programmed_waits_for_its_end() {
    let setup = open(filled(array(1, 1, 1, 1), PLAIN, 1));
    for arrival in [1, 500, 1_019] {
        let bars = cells(&setup, &[at(0, Op::Write, 0, 1), at(arrival, Op::Read, 0, 1)]);
        assert_eq!(bars, [("program", 0, 20, 1_020), ("read", 0, 1_020, 1_120)], "arriving at {arrival}");
    }
    let bars = cells(&setup, &[at(0, Op::Write, 0, 1), at(1_021, Op::Read, 0, 1)]);
    assert_eq!(bars[1], ("read", 0, 1_021, 1_121));
}

/// A transfer starts as soon as the bus is free: the second die's page follows the first die's page immediately.
#[test]
fn a_transfer_waits_for_the_bus_to_the_nanosecond() {
    let setup = open(filled(array(1, 2, 1, 1), PLAIN, 1));
    for arrival in [0, 1, 19, 20, 21] {
        let outcome = replay(&setup, &[at(0, Op::Read, 0, 1), at(arrival, Op::Read, 1, 1)]);
        let bus_free = READ + TRANSFER;
        assert_eq!(elapsed(&outcome), (arrival + READ).max(bus_free) + TRANSFER, "arriving at {arrival}");
    }
}

#[test]
fn schedulers_reorder_only_as_documented() {
    // The die is busy with a write when two more writes and a read of another block arrive.
    let requests = [at(0, Op::Write, 0, 1), at(1, Op::Write, 1, 1), at(2, Op::Write, 2, 1), at(3, Op::Read, 9, 1)];
    let order = |scheduler| {
        let setup = open(filled(array(1, 1, 1, 1), DriveOptions { scheduler, ..PLAIN }, 1));
        cells(&setup, &requests).iter().map(|bar| bar.0).collect::<Vec<_>>()
    };
    assert_eq!(order(&scheduler::fifo::INFO), ["program", "program", "program", "read"]);
    // The programs go to one block, so only the first waiting program is ready while the previous program runs.
    assert_eq!(order(&scheduler::out_of_order::INFO), ["program", "program", "program", "read"]);
    assert_eq!(order(&scheduler::read_first::INFO), ["program", "read", "program", "program"]);
    assert_eq!(order(&scheduler::host_first::INFO), ["program", "program", "program", "read"]);
}

/// Idle collection starts after exactly its idle time, not a nanosecond earlier.
#[test]
fn an_idle_drive_collects_after_its_idle_time() {
    let collect = Collect::Idle { after: Nanos(5_000), goal: CollectGoal { blocks: 3, step: 4 } };
    let mut setup = open(filled(array(1, 1, 1, 1), DriveOptions { collect, ..PLAIN }, 1));
    // Every page of the first block is overwritten, so that there is something to collect.
    let mut requests: Vec<Request> = (0..4).map(|page| at(0, Op::Write, page, 1)).collect();
    let done = 4 * (TRANSFER + PROGRAM);
    setup.precondition.overwrite = ssdlab_sim::Overwrite::None;
    requests.push(at(done + 5_000, Op::Read, 5, 1));
    assert!(cells(&setup, &requests).iter().all(|bar| bar.0 != "erase"), "a request arrives just in time");
    requests[4].time_ns = done + 5_001;
    let bars = cells(&setup, &requests);
    assert_eq!(bars[4], ("erase", 0, done + 5_000, done + 15_000));
    assert_eq!(bars[5], ("read", 0, done + 15_000, done + 15_100), "an erase that has begun completes");
}

/// The FTL sees requests in one order, however they overlap. So flash operations do not depend on time.
#[test]
fn flash_operations_of_one_stream_do_not_depend_on_time() {
    for trigger in [Trigger::Victim, Trigger::Partial { low: 2, step: 3, every: 1 }] {
        let mut setup = drive_setup(array(2, 2, 1, 2), 12, 8, 1);
        setup.ftl = FtlChoice::Page(PageOptions { trigger, ..SMALL_OPTIONS }, ram::INFO.defaults());
        setup.precondition.fill = 1.0;
        let mut rng = Rng::named(1, "requests");
        let requests: Vec<Request> = (0..6_000)
            .map(|_| {
                at(
                    0,
                    Op::ALL[rng.below(3) as usize],
                    rng.below(u64::from(setup.logical_pages) - 4),
                    1 + rng.below(4) as u32,
                )
            })
            .collect();
        let counted = replay(&Setup { clock: Clock::Count, ..setup.clone() }, &requests).summary;
        assert!(counted.wear.erases > 100);
        let serial = replay(&Setup { clock: Clock::Serial(TIMING), ..setup.clone() }, &requests).summary;
        assert_eq!(serial.flash, counted.flash);
        for depth in [1, 7, 64] {
            let replay_at = Replay::Closed { depth, per_stream: false, think: Nanos(0) };
            let timed = replay(&Setup { replay: replay_at, check: true, ..setup.clone() }, &requests).summary;
            assert_eq!(timed.flash, counted.flash, "depth {depth}");
            assert_eq!(timed.wear, counted.wear);
        }
    }
}

/// Moving an access pattern to the next channel changes no total.
#[test]
fn channels_are_alike() {
    let setup = filled(array(4, 2, 1, 1), DriveOptions { scheduler: &scheduler::out_of_order::INFO, ..PLAIN }, 16);
    let mut rng = Rng::named(3, "channels");
    let pages: Vec<u64> =
        (0..5_000).map(|_| rng.below(u64::from(setup.logical_pages) / 8) * 8 + rng.below(4)).collect();
    let figures = |moved: u64| {
        // Pages 8k to 8k + 3 are on channels 0 to 3.
        let requests: Vec<Request> =
            pages.iter().map(|page| at(0, Op::Read, page - page % 4 + (page + moved) % 4, 1)).collect();
        let summary = replay(&setup, &requests).summary;
        let drive = summary.drive.expect("a drive");
        (summary.time, summary.latency, drive.waiting, drive.queue_depth_mean, drive.channel_utilisation.max)
    };
    let at_home = figures(0);
    (1..4).for_each(|moved| assert_eq!(figures(moved), at_home, "moved by {moved}"));
}

/// Depths and think times apply to each stream separately.
#[test]
fn each_stream_keeps_its_own_requests_outstanding() {
    let setup = filled(array(2, 1, 1, 1), PLAIN, 1);
    // Stream 0 reads only from die 0, stream 1 only from die 1; in the trace, all requests of stream 0 come first.
    let requests: Vec<Request> =
        (0..20).map(|number| Request { stream: number / 10, ..at(0, Op::Read, u64::from(number / 10), 1) }).collect();
    let with = |per_stream, think| {
        let replay_at = Replay::Closed { depth: 1, per_stream, think: Nanos(think) };
        elapsed(&replay(&Setup { replay: replay_at, ..setup.clone() }, &requests))
    };
    assert_eq!(with(false, 0), 20 * (READ + TRANSFER));
    assert_eq!(with(true, 0), 10 * (READ + TRANSFER));
    assert_eq!(with(true, 33), 10 * (READ + TRANSFER) + 9 * 33);
}

#[test]
fn times_of_the_trace_are_scaled() {
    let setup = filled(array(1, 1, 1, 1), PLAIN, 1);
    let requests = [at(0, Op::Read, 0, 1), at(10_000, Op::Read, 1, 1)];
    for (speed, expected) in [(1.0, 10_000), (2.0, 5_000), (1_000.0, READ + TRANSFER)] {
        let setup = Setup { replay: Replay::at_speed(speed), ..setup.clone() };
        assert_eq!(elapsed(&replay(&setup, &requests)), expected + READ + TRANSFER, "speed {speed}");
    }
}

/// Measuring begins after the warm-up, with an empty drive.
#[test]
fn the_warm_up_is_not_measured() {
    let requests: Vec<Request> = (0..50).map(|page| at(0, Op::Read, page % 16, 1)).collect();
    let setup = Setup { warmup_requests: 20, ..filled(array(2, 1, 1, 1), PLAIN, 8) };
    let summary = replay(&setup, &requests).summary;
    assert_eq!(summary.host.read_requests, 30);
    assert_eq!(summary.latency.and_then(|latency| latency.all).map(|all| all.count), Some(30));
    assert_eq!(summary.time.expect("timed").elapsed_ns, 15 * (READ + TRANSFER));
}

#[test]
fn an_ordinary_device_has_no_drive() {
    let outcome = replay(&small_setup(8, 4, 2), &[at(0, Op::Write, 0, 1)]);
    assert!(outcome.summary.drive.is_none() && outcome.activity.is_none());
}

/// Traces have long pauses, such as nights and weekends.
#[test]
fn a_drive_may_be_idle_for_days() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let setup = open(filled(array(2, 1, 1, 1), PLAIN, 1));
    let requests: Vec<Request> =
        [0, 5, 11, 50, 1_000].iter().map(|hours| at(hours * HOUR_NS, Op::Read, 0, 1)).collect();
    assert_eq!(elapsed(&replay(&setup, &requests)), 1_000 * HOUR_NS + READ + TRANSFER);
    let never = [at(u64::MAX - 1, Op::Read, 0, 1)];
    let error = run(&setup, &mut SliceSource::new(&never), &mut ()).expect_err("the time is past the limit");
    assert!(error.to_string().contains("request 1 arrives at 18446744073709551614 ns"), "{error}");
}
