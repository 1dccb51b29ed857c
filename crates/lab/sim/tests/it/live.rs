//! Goal: a live drive does the same as in a replay. Method: submits the same requests at the same times to both, with
//! extra calls of `advance` to the live drive.

use proptest::prelude::*;
use ssdlab_core::{LatencyHistogram, Nanos};
use ssdlab_sim::{Clock, LiveDrive, Replay, Setup, SimError, live, run};
use ssdlab_testkit::drives::{TIMING, on_any_drive};
use ssdlab_testkit::small_setup;
use ssdlab_testkit::strategies::{requests, setups};
use ssdlab_trace::{Op, Request, SliceSource};

fn start(setup: &Setup) -> Box<dyn LiveDrive> {
    live(setup, &mut ()).expect("possible").expect("not stopped")
}

/// Returns the latencies of a live drive by operation. Calls `advance` at `early_ns` before each request.
fn asked(setup: &Setup, requests: &[Request], early_ns: u64) -> [LatencyHistogram; 4] {
    let (mut drive, mut done) = (start(setup), Vec::new());
    for request in requests {
        if let Some(before_ns) = request.time_ns.checked_sub(early_ns) {
            drive.advance(Nanos(before_ns), &mut done).expect("goes on");
        }
        drive.submit(*request).expect("takes it");
    }
    let mut now = Nanos(requests.last().map_or(0, |request| request.time_ns));
    while let Some(next) = drive.advance(now, &mut done).expect("goes on") {
        now = next;
        if done.len() == requests.len() {
            // Garbage collection in an idle drive may continue for a long time.
            break;
        }
    }
    assert_eq!(done.len(), requests.len());
    let mut latency = <[LatencyHistogram; 4]>::default();
    for (request, done) in done {
        latency[request.op as usize].record(done.0 - request.time_ns);
    }
    latency
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(500))]

    #[test]
    fn a_live_drive_equals_its_replay(
        drive in prop_oneof![3 => on_any_drive(), 1 => setups()],
        requests in requests(150),
        gap_ns in 0_u64..1_000_000,
        early_ns in 1_u64..100_000,
    ) {
        let timed = drive.clock != Clock::Count;
        let clock = if timed { drive.clock } else { Clock::Serial(TIMING) };
        let setup = Setup { replay: Replay::AS_TRACED, clock, warmup_requests: 0, ..drive.clone() };
        let spread = |(at, request): (usize, &Request)| Request { time_ns: at as u64 * gap_ns, ..*request };
        let requests: Vec<_> = requests.iter().enumerate().map(spread).collect();
        let replayed = run(&setup, &mut SliceSource::new(&requests), &mut ()).expect("runs");
        let rows = |latency: &[LatencyHistogram; 4]| latency.each_ref().map(|one| (one.count(), one.sum_ns(), one.max_ns()));
        prop_assert_eq!(rows(&asked(&setup, &requests, early_ns)), rows(&replayed.latency));
    }
}

#[test]
fn unsupported_setups_and_requests_are_errors() {
    let counting = Setup { clock: Clock::Count, ..small_setup(16, 8, 4) };
    let error = live(&counting, &mut ()).err().expect("no time").to_string();
    assert!(error.contains("set time to \"event\""), "{error}");
    let mut drive = start(&Setup { clock: Clock::Serial(TIMING), ..small_setup(16, 8, 4) });
    let beyond = Request { time_ns: 0, offset: 1 << 40, bytes: 4096, op: Op::Read, flags: 0, stream: 0 };
    assert!(matches!(drive.submit(beyond), Err(SimError::BeyondDevice { .. })));
}

#[test]
fn advancing_executes_only_events_up_to_the_given_time() {
    let setup = Setup { clock: Clock::Serial(TIMING), ..small_setup(16, 8, 4) };
    let (mut drive, mut done) = (start(&setup), Vec::new());
    let write = Request { time_ns: 5, offset: 0, bytes: 4096, op: Op::Write, flags: 0, stream: 0 };
    drive.submit(write).expect("takes it");
    let ends = drive.advance(Nanos(5), &mut done).expect("goes on").expect("is under way");
    assert!(done.is_empty());
    assert_eq!(drive.advance(Nanos(ends.0 - 1), &mut done).expect("goes on"), Some(ends));
    assert!(done.is_empty());
    assert_eq!(drive.advance(ends, &mut done).expect("goes on"), None);
    assert_eq!(done, [(write, ends)]);
}
