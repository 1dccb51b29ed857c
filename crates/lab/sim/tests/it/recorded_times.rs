//! Goal: requests are issued at their recorded times, and results show how far a drive falls behind. Method:
//! single-page reads on one die, which take 120 ns each, with times calculated by hand.

use ssdlab_sim::{Clock, Outcome, Repeat, Replay, ReplayMode, ReplaySummary, Setup, run};
use ssdlab_testkit::drives::{PLAIN, TIMING, array, drive_setup};
use ssdlab_trace::{Op, Request, SliceSource};

/// Time of a read: 100 ns in the die and 20 ns on the channel.
const READ: u64 = 120;

fn setup(replay: Replay) -> Setup {
    let mut setup = drive_setup(array(1, 1, 1, 1), 8, 4, 1);
    setup.clock = Clock::Event(TIMING, PLAIN);
    setup.precondition.fill = 1.0;
    Setup { replay, ..setup }
}

/// Replays reads that arrive every `gap_ns`.
fn reads(setup: &Setup, count: u64, gap_ns: u64) -> Outcome {
    let read = |n| Request { time_ns: n * gap_ns, offset: 0, bytes: 4096, op: Op::Read, flags: 0, stream: 0 };
    let requests: Vec<Request> = (0..count).map(read).collect();
    run(setup, &mut SliceSource::new(&requests), &mut ()).expect("runs")
}

fn elapsed_ns(outcome: &Outcome) -> u64 {
    outcome.summary.time.expect("timed").elapsed_ns
}

#[test]
fn an_idle_drive_serves_each_request_at_its_time() {
    for (speed, arriving_ns) in [(1.0, 2_000), (2.0, 1_000), (0.5, 4_000)] {
        let outcome = reads(&setup(Replay::at_speed(speed)), 3, 1_000);
        let all = outcome.summary.latency.as_ref().and_then(|latency| latency.all).expect("reads");
        assert_eq!((elapsed_ns(&outcome), all.min_ns, all.max_ns), (arriving_ns + READ, READ, READ));
        let expected = ReplaySummary {
            mode: ReplayMode::Open,
            speed: Some(speed),
            queue_depth: None,
            recorded_ns: 2_000,
            arrivals_per_s: Some(1e6 * speed),
            backlog_requests: Some(1),
            sustained_speed: None,
        };
        assert_eq!(outcome.summary.replay, expected);
    }
}

/// The second replay continues after the span of the first, 2,000 ns, and a mean gap, 1,000 ns. Measuring starts at the
/// end of the first replay, at 2,120 ns.
#[test]
fn times_of_repeated_replays_continue() {
    let twice = Setup { repeat: Repeat::Times(2), ..setup(Replay::AS_TRACED) };
    let outcome = reads(&twice, 3, 1_000);
    assert_eq!(elapsed_ns(&outcome), (3_000 + 2_000 + READ) - (2_000 + READ));
    assert_eq!(outcome.summary.replay.recorded_ns, 2_000);
}

/// By the last arrival, at 3,000 ns, 25 of 1,501 reads are complete.
#[test]
fn results_show_how_far_a_drive_falls_behind() {
    let outcome = reads(&setup(Replay::AS_TRACED), 1_501, 2);
    let time = outcome.summary.time.expect("timed");
    assert_eq!((time.elapsed_ns, time.behind_ns), (180_120, Some(177_120)));
    let replay = outcome.summary.replay;
    assert_eq!((replay.recorded_ns, replay.arrivals_per_s, replay.backlog_requests), (3_000, Some(5e8), Some(1_476)));
    assert_eq!(replay.sustained_speed, Some(3_000.0 / 180_120.0));
    // A closed replay issues the same requests as fast as possible.
    let closed = reads(&setup(Replay::ONE_BY_ONE), 1_501, 2).summary.replay;
    let expected = ReplaySummary {
        mode: ReplayMode::Closed,
        speed: None,
        queue_depth: Some(1),
        arrivals_per_s: None,
        backlog_requests: None,
        sustained_speed: None,
        ..replay
    };
    assert_eq!(closed, expected);
}

/// At most 65,536 requests are outstanding at once, which bounds memory. Latencies begin at the recorded times. By the
/// last arrival, at 69,999 ns, 583 of 70,000 reads are complete.
#[test]
fn waiting_requests_are_bounded_and_keep_their_times() {
    let outcome = reads(&setup(Replay::AS_TRACED), 70_000, 1);
    let summary = &outcome.summary;
    assert_eq!(summary.drive.as_ref().map(|drive| drive.queue_depth_max), Some(65_536));
    assert_eq!(elapsed_ns(&outcome), 70_000 * READ);
    let all = summary.latency.as_ref().and_then(|latency| latency.all).expect("reads");
    assert_eq!(all.max_ns, 70_000 * READ - 69_999);
    assert_eq!(all.mean_ns, 70_001.0 / 2.0 * READ as f64 - 69_999.0 / 2.0);
    assert_eq!(summary.replay.backlog_requests, Some(70_000 - 583));
}
