//! Goal: addresses are fitted by the chosen rule, phases are measured separately, and a run stops when the monitor says
//! so.

use ssdlab_nand::Parallelism;
use ssdlab_sim::{
    Control, Fit, Method, Monitor, Overwrite, Phase, Precondition, Repeat, Replay, Setup, SimError, SoFar, Status, run,
};
use ssdlab_testkit::drives::drive_setup;
use ssdlab_testkit::small_setup;
use ssdlab_trace::{Op, Progress, Request, SliceSource, Source, TraceError};

use crate::cache_in_time::lru;

fn write(offset: u64, bytes: u32) -> Request {
    Request { time_ns: 0, offset, bytes, op: Op::Write, flags: 0, stream: 0 }
}

fn device(fit: Fit) -> Setup {
    Setup { fit, check: true, ..small_setup(8, 4, 2) } // 16 logical pages of 4 KiB
}

#[test]
fn a_request_beyond_the_device_is_an_error_by_default() {
    let requests = [write(0, 4096), write(15 * 4096, 8192)];
    let error = run(&device(Fit::Error), &mut SliceSource::new(&requests), &mut ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "request 2: a write of 8KiB at byte 61440 ends 4KiB past the end of the device (64KiB); raise device.capacity, or \
         choose --fit compact, grow, scale or wrap"
    );
}

#[test]
fn wrap_continues_at_the_start_of_the_device() {
    let requests = [write(15 * 4096, 8192), write(1 << 40, 4096), write(0, 17 * 4096)];
    let summary = run(&device(Fit::Wrap), &mut SliceSource::new(&requests), &mut ()).unwrap().summary;
    assert_eq!((summary.host.wrapped_requests, summary.host.pages_written), (3, 2 + 1 + 17));
}

#[test]
fn scale_maps_the_extent_onto_the_device_and_keeps_alignment() {
    let extent_bytes = 1 << 30;
    let requests: Vec<Request> = (0..1024).map(|n| write(n << 20, 4096)).collect();
    let summary = run(&device(Fit::Scale { extent_bytes }), &mut SliceSource::new(&requests), &mut ()).unwrap().summary;
    assert_eq!(summary.host.partial_pages_written, 0);
    assert_eq!(summary.host.pages_written, 1024);
}

#[test]
fn an_overflowing_address_is_an_error_not_a_wrap_to_zero() {
    let requests = [write(u64::MAX - 10, 4096)];
    let error = run(&device(Fit::Error), &mut SliceSource::new(&requests), &mut ()).unwrap_err();
    assert!(matches!(error, SimError::BeyondDevice { .. }));
}

#[test]
fn warm_up_and_preconditioning_are_not_measured() {
    let requests: Vec<Request> = (0..100).map(|n| write(n % 16 * 4096, 4096)).collect();
    let setup = Setup {
        warmup_requests: 60,
        precondition: Precondition { fill: 1.0, overwrite: Overwrite::Passes(2.0) },
        ..device(Fit::Error)
    };
    let outcome = run(&setup, &mut SliceSource::new(&requests), &mut ()).unwrap();
    assert_eq!(outcome.summary.host.write_requests, 40);
    assert_eq!(outcome.summary.precondition.host_pages_written, 16 + 32);
    assert!(outcome.summary.precondition.write_amplification.is_some_and(|amplification| amplification >= 1.0));
    assert_eq!(outcome.erase_counts.iter().map(|&n| u64::from(n)).sum::<u64>(), outcome.summary.wear.erases);
}

struct StopIn(Phase);

impl Monitor for StopIn {
    fn report(&mut self, status: &Status) -> Control {
        if status.phase == self.0 { Control::Stop } else { Control::Continue }
    }
}

#[test]
fn a_stopped_run_ends_at_once_with_partial_results() {
    let requests: Vec<Request> = (0..20_000).map(|n| write(n % 16 * 4096, 4096)).collect();
    let precondition = Precondition { fill: 1.0, overwrite: Overwrite::Steady(Method::Auto) };
    let setup = Setup { precondition, warmup_requests: 5_000, ..device(Fit::Error) };
    for (phase, measured) in [(Phase::Fill, 0), (Phase::Overwrite, 0), (Phase::Warmup, 0), (Phase::Measure, 4096)] {
        let summary = run(&setup, &mut SliceSource::new(&requests), &mut StopIn(phase)).unwrap().summary;
        assert!(summary.partial);
        assert_eq!(summary.host.write_requests, measured, "{phase:?}");
    }
    assert!(!run(&setup, &mut SliceSource::new(&requests), &mut ()).unwrap().summary.partial);
}

/// A source whose preparation never ends.
struct Unprepared;

impl Source for Unprepared {
    fn prepare(&mut self) -> Result<bool, TraceError> {
        Ok(true)
    }

    fn fill(&mut self, _: &mut Vec<Request>, _: usize) -> Result<usize, TraceError> {
        unreachable!("the preparation is stopped")
    }

    fn progress(&self) -> Progress {
        Progress { done: 0, total: None }
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

#[test]
fn a_run_stops_while_the_source_is_prepared() {
    let overwrite = |overwrite| Precondition { fill: 1.0, overwrite };
    for setup in [
        device(Fit::Error),
        Setup { warmup_requests: 5, ..device(Fit::Error) },
        Setup { precondition: overwrite(Overwrite::Trace(Repeat::ONCE)), ..device(Fit::Error) },
        Setup { cache: Some(lru(4, 50)), ..device(Fit::Error) },
    ] {
        let summary = run(&setup, &mut Unprepared, &mut StopIn(Phase::Prepare)).unwrap().summary;
        assert_eq!((summary.partial, summary.host.write_requests), (true, 0));
    }
}

/// Monitor that stops the replay at report number `stops_at`, and abandons it at report number `abandons_at`.
struct Impatient {
    asked: u32,
    shown: u32,
    stops_at: u32,
    abandons_at: u32,
}

impl Impatient {
    fn new(stops_at: u32, abandons_at: u32) -> Self {
        Self { asked: 0, shown: 0, stops_at, abandons_at }
    }
}

impl Monitor for Impatient {
    fn report(&mut self, status: &Status) -> Control {
        let replays = status.phase == Phase::Measure;
        self.asked += u32::from(replays);
        if replays && self.asked >= self.stops_at { Control::Stop } else { Control::Continue }
    }

    fn abandons(&self) -> bool {
        self.asked == self.abandons_at
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, _: &SoFar) {
        self.shown += 1;
        assert_eq!(self.shown, self.asked + 1, "results are shown before each report");
    }
}

/// After the last request is issued, the flash may still have to read gigabytes.
#[test]
fn a_run_whose_requests_are_all_issued_can_be_stopped_and_abandoned() {
    let mut setup = drive_setup(Parallelism::SINGLE, 512, 512, 1);
    setup.precondition.fill = 1.0;
    let read = Request { op: Op::Read, ..write(0, setup.logical_pages * 4096) };
    let replay = |abandons_at| {
        let mut monitor = Impatient::new(1, abandons_at);
        let outcome = run(&setup, &mut SliceSource::new(&[read]), &mut monitor);
        (outcome.map(|outcome| outcome.summary), monitor.asked)
    };
    let (summary, asked) = replay(u32::MAX);
    let summary = summary.expect("the run is not abandoned");
    // The request in flight at the stop is complete.
    assert!(summary.partial);
    assert_eq!(summary.latency.and_then(|latency| latency.all).map(|all| all.count), Some(1));
    assert!(asked > 3, "asked {asked} times while {} pages were read", setup.logical_pages);

    let (summary, asked) = replay(3);
    assert!(matches!(summary, Err(SimError::Abandoned)), "{summary:?}");
    assert_eq!(asked, 3);
}

/// The time that the trace covers excludes requests that did not arrive before the stop, even if they were already read
/// from the source.
#[test]
fn the_trace_time_of_a_stopped_run_ends_with_the_last_arrival() {
    const BATCH: u64 = 4096;
    let mut setup = drive_setup(Parallelism::SINGLE, 512, 512, 1);
    setup.precondition.fill = 1.0;
    setup.replay = Replay::AS_TRACED;
    let at = |number| Request { time_ns: number, op: Op::Flush, ..write(0, 0) };
    let mut requests: Vec<Request> = (0..BATCH + 10).map(at).collect();
    requests[BATCH as usize - 1] = Request { op: Op::Read, ..write(0, setup.logical_pages * 4096) };
    requests[BATCH as usize - 1].time_ns = BATCH - 1;
    // The requests of the next batch arrive after the pages have been read.
    requests[BATCH as usize..].iter_mut().for_each(|request| request.time_ns += 1 << 40);
    for (stops_at, arrived) in [(1, BATCH), (2, BATCH), (u32::MAX, BATCH + 10)] {
        let outcome = run(&setup, &mut SliceSource::new(&requests), &mut Impatient::new(stops_at, u32::MAX)).unwrap();
        assert_eq!(outcome.summary.partial, arrived == BATCH);
        assert_eq!(outcome.trace_ns, requests[arrived as usize - 1].time_ns, "{stops_at}");
        assert_eq!(outcome.summary.host.flush_requests + outcome.summary.host.read_requests, arrived);
    }
}

#[test]
fn a_device_without_room_for_its_reserve_is_refused() {
    let setup = Setup { logical_pages: 32, ..device(Fit::Error) };
    let error = run(&setup, &mut SliceSource::new(&[]), &mut ()).unwrap_err();
    assert!(error.to_string().contains("cannot hold 32 logical pages"), "{error}");
}
