//! Goal: simulated time is the sum of the durations of all operations. Method: operations counted by hand, on a device
//! with round durations.

use ssdlab_core::{Nanos, Rng};
use ssdlab_nand::{PageTimes, Timing};
use ssdlab_sim::{Clock, LatencySummary, LifetimeSummary, Outcome, Replay, Setup, WriteRate, run};
use ssdlab_testkit::small_setup;
use ssdlab_trace::{Op, Request, SliceSource};

const TIMING: Timing = Timing {
    read: PageTimes::uniform(Nanos(100)),
    program: PageTimes::uniform(Nanos(1_000)),
    erase: Nanos(10_000),
    slc: None,
    transfer_per_kib: Nanos(5), // 20 ns for a 4 KiB page
    copyback: false,
    partial_read: false,
};

fn device(timing: Timing) -> Setup {
    Setup { clock: Clock::Serial(timing), ..small_setup(8, 4, 2) }
}

fn request(op: Op, time_ns: u64, offset: u64, bytes: u32) -> Request {
    Request { time_ns, offset, bytes, op, flags: 0, stream: 0 }
}

fn replay(setup: &Setup, requests: &[Request]) -> Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("runs")
}

#[test]
fn each_operation_takes_its_time() {
    let outcome = replay(
        &device(TIMING),
        &[
            request(Op::Write, 0, 0, 8192),     // 2 programs: 2 x 1,020
            request(Op::Read, 0, 0, 8192),      // 2 reads: 2 x 120
            request(Op::Write, 0, 1024, 1024),  // part of a page: read 120, program 1,020
            request(Op::Read, 0, 40_960, 4096), // never written: free
            request(Op::Flush, 0, 0, 0),        // nothing is buffered: free
        ],
    );
    let latency = outcome.summary.latency.expect("timed");
    let bounds = |latency: Option<LatencySummary>| latency.map(|latency| (latency.max_ns, latency.min_ns));
    assert_eq!(bounds(latency.write), Some((2_040, 1_140)));
    assert_eq!(bounds(latency.read), Some((240, 0)));
    assert_eq!(bounds(latency.flush), Some((0, 0)));
    assert_eq!(bounds(latency.trim), None);
    let time = outcome.summary.time.expect("timed");
    assert_eq!((time.elapsed_ns, time.busy_ns, time.utilisation), (3_420, 3_420, 1.0));
    assert_eq!(outcome.summary.host.partial_pages_written, 1);
    assert_eq!(outcome.summary.host.unmapped_pages_read, 1);
}

#[test]
fn a_write_reads_each_partial_page_once() {
    let run = |offset, bytes| {
        let fill = request(Op::Write, 0, 0, 16_384);
        replay(&device(TIMING), &[fill, request(Op::Write, 0, offset, bytes)]).summary
    };
    assert_eq!(run(512, 1024).host.partial_pages_written, 1);
    assert_eq!(run(0, 4096).host.partial_pages_written, 0);
    assert_eq!(run(0, 4097).host.partial_pages_written, 1);
    assert_eq!(run(4095, 2).host.partial_pages_written, 2);
    assert_eq!(run(4095, 4098).host.partial_pages_written, 2);
    assert_eq!(run(4095, 4098).host.pages_written, 4 + 3);
}

#[test]
fn a_trim_unmaps_only_whole_pages() {
    let requests =
        [request(Op::Write, 0, 0, 16_384), request(Op::Trim, 0, 4095, 8194), request(Op::Read, 0, 0, 16_384)];
    let summary = replay(&Setup { check: true, ..device(TIMING) }, &requests).summary;
    assert_eq!((summary.host.pages_trimmed, summary.host.unmapped_pages_read), (2, 2));
}

/// Eight blocks of four pages, 16 logical pages. Writing all pages once fills four blocks. Overwriting page 0
/// repeatedly fills three further blocks, and then erases blocks without valid pages.
#[test]
fn collecting_blocks_without_valid_pages_costs_only_erases() {
    let mut requests: Vec<Request> = (0..16).map(|page| request(Op::Write, 0, page * 4096, 4096)).collect();
    requests.extend((0..13).map(|_| request(Op::Write, 0, 0, 4096)));
    let summary = replay(&device(TIMING), &requests).summary;
    assert_eq!(summary.flash.0.erased(), 1);
    assert_eq!(summary.flash.0.programs[2], 0);
    assert_eq!(summary.latency.expect("timed").write.map(|write| write.max_ns), Some(1_020 + 10_000));
}

#[test]
fn copyback_saves_both_transfers_of_a_copy() {
    let mut rng = Rng::named(1, "copyback");
    let requests: Vec<Request> = (0..2_000).map(|_| request(Op::Write, 0, rng.below(16) * 4096, 4096)).collect();
    let over_the_bus = replay(&device(TIMING), &requests).summary;
    let inside = replay(&device(Timing { copyback: true, ..TIMING }), &requests).summary;
    let copies = over_the_bus.flash.0.programs[2];
    assert!(copies > 0);
    let saved = over_the_bus.time.expect("timed").busy_ns - inside.time.expect("timed").busy_ns;
    assert_eq!(saved, copies * 2 * 20);
}

#[test]
fn open_replay_waits_for_arrivals_and_queues_requests() {
    let setup = Setup { replay: Replay::AS_TRACED, ..device(TIMING) };
    let outcome = replay(
        &setup,
        &[
            request(Op::Write, 0, 0, 4096),
            request(Op::Write, 500, 4096, 4096), // arrives during the first: waits 520
            request(Op::Write, 10_000, 8192, 4096), // finds the device idle
        ],
    );
    let latency = outcome.summary.latency.expect("timed");
    let write = latency.write.expect("written");
    assert_eq!((write.min_ns, write.max_ns), (1_020, 1_540));
    let time = outcome.summary.time.expect("timed");
    assert_eq!((time.elapsed_ns, time.busy_ns, time.behind_ns), (11_020, 3_060, Some(1_020)));
    // Three pages arrive in 10 us. The last page takes 1.02 us more, but the drive does not fall behind.
    assert_wears(outcome.summary.lifetime, WriteRate::Trace, 3.0 * 4096.0 / 10e-6);
}

fn assert_wears(lifetime: LifetimeSummary, rate: WriteRate, bytes_per_second: f64) {
    assert_eq!(lifetime.rate, Some(rate));
    let per_day = lifetime.host_bytes_per_day.expect("written");
    assert!((per_day / (bytes_per_second * 86_400.0) - 1.0).abs() < 1e-12, "{per_day}");
}

/// A trace writes two pages, 1,020 ns each, at various distances in time.
#[test]
fn a_projection_uses_the_rate_of_the_trace_if_the_drive_keeps_up() {
    let page = 4096.0;
    for (issue, time_ns, rate, bytes_per_second) in [
        // The writes are issued one after the other, and take 2,040 ns.
        (Replay::ONE_BY_ONE, 100_000, WriteRate::Trace, 2.0 * page / 100e-6),
        (Replay::ONE_BY_ONE, 100, WriteRate::Replay, 2.0 * page / 2.04e-6),
        (Replay::ONE_BY_ONE, 0, WriteRate::Replay, 2.0 * page / 2.04e-6),
        // The writes are issued at their times. If the drive is idle, the second write ends 1.02 us after its arrival.
        (Replay::AS_TRACED, 1_000_000, WriteRate::Trace, 2.0 * page / 1e-3),
        (Replay::AS_TRACED, 100, WriteRate::Drive, 2.0 * page / 2.04e-6),
        // The replay is slower than the trace.
        (Replay::at_speed(0.1), 100_000, WriteRate::Trace, 2.0 * page / 1e-3),
        (Replay::at_speed(0.5), 100, WriteRate::Drive, 2.0 * page / 2.04e-6),
    ] {
        let requests = [request(Op::Write, 0, 0, 4096), request(Op::Write, time_ns, 4096, 4096)];
        let setup = Setup { replay: issue, ..device(TIMING) };
        assert_wears(replay(&setup, &requests).summary.lifetime, rate, bytes_per_second);
    }
    let counted = Setup { clock: Clock::Count, ..device(TIMING) };
    let requests = [request(Op::Write, 0, 0, 4096), request(Op::Write, 100_000, 4096, 4096)];
    let lifetime = replay(&counted, &requests).summary.lifetime;
    assert!(lifetime.host_tbw_bytes.is_some() && lifetime.dwpd_5_years.is_some());
    assert_eq!((lifetime.rate, lifetime.host_bytes_per_day, lifetime.years), (None, None, None));
}

/// Each page is programmed once, whether the host writes the whole page or an eighth.
#[test]
fn partial_pages_wear_out_a_drive_with_fewer_host_bytes() {
    let lifetime = |bytes| {
        let requests: Vec<Request> = (0..8).map(|page| request(Op::Write, 0, page * 4096, bytes)).collect();
        let summary = replay(&device(TIMING), &requests).summary;
        assert_eq!((summary.flash.0.programmed(), summary.host.pages_written), (8, 8));
        summary.lifetime
    };
    let (whole, part) = (lifetime(4096), lifetime(512));
    let ratio = |of: fn(LifetimeSummary) -> Option<f64>| of(whole).expect("written") / of(part).expect("written");
    assert_eq!(ratio(|lifetime| lifetime.host_tbw_bytes), 8.0);
    assert_eq!(ratio(|lifetime| lifetime.dwpd_5_years), 8.0);
    // The drive was empty, so partial writes needed no reads and both runs took the same time.
    assert_eq!(ratio(|lifetime| lifetime.years), 1.0);
    // 32 pages endure 3,000 cycles each, and each program writes one page of the host.
    let endurance = f64::from(device(TIMING).endurance_cycles);
    assert_eq!(whole.host_tbw_bytes, Some(endurance * 32.0 * 4096.0));
}

#[test]
fn missing_rates_and_times_are_none_and_not_zero() {
    let summary = replay(&device(TIMING), &[request(Op::Read, 0, 0, 4096)]).summary;
    let time = summary.time.expect("timed");
    assert_eq!((time.elapsed_ns, time.iops, time.bytes_read_per_s), (0, None, None));
    assert_eq!(summary.latency.expect("timed").write, None);
    assert_eq!((summary.write_amplification, summary.lifetime.years), (None, None));
    assert_eq!(summary.capacities_written, 0.0);
}
