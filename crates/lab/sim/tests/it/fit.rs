//! Goal: requests are mapped to the device before any layer sees them. Method: replays traces that exceed the device
//! with each rule of `fit`, and the same traces mapped by hand.

use proptest::prelude::*;
use ssdlab_core::Nanos;
use ssdlab_sched::SCHEDULERS;
use ssdlab_sim::{Fit, Outcome, Replay, Setup, SimError, block_options, run};
use ssdlab_testkit::drives::{array, drive_setup, on_any_drive};
use ssdlab_testkit::strategies::requests;
use ssdlab_trace::{Op, Placed, Request, SliceSource};

/// Returns sector-aligned requests of several processes. Most requests are beyond the device, some cross its end.
fn beyond(requests: &[Request], capacity: u64) -> Vec<Request> {
    let spread = |(number, request): (usize, &Request)| Request {
        offset: request.offset / 512 * 512 + number as u64 % 7 * capacity,
        bytes: request.bytes.next_multiple_of(512),
        stream: (number % 3) as u16,
        ..*request
    };
    requests.iter().enumerate().map(spread).collect()
}

fn replay(setup: &Setup, requests: &[Request]) -> Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("the data check finds nothing")
}

/// Returns `setup` with each scheduler and with the data check.
fn with_every_scheduler(setup: Setup) -> impl Iterator<Item = (&'static str, Setup)> {
    SCHEDULERS.iter().map(move |info| {
        let block = block_options(info.name);
        (info.name, Setup { block: Some(block), record: true, check: true, ..setup.clone() })
    })
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(100))]

    #[test]
    fn schedulers_see_only_addresses_of_the_device(setup in on_any_drive(), requests in requests(100)) {
        let capacity = setup.capacity_bytes();
        let requests = beyond(&requests, capacity);
        let extent_bytes = requests.iter().map(Request::end).max().unwrap_or(0).max(capacity);
        for fit in [Fit::Wrap, Fit::Scale { extent_bytes }] {
            for (name, setup) in with_every_scheduler(Setup { fit, ..setup.clone() }) {
                let outcome = replay(&setup, &requests);
                let latency = outcome.summary.latency.expect("timed");
                prop_assert_eq!(latency.all.map(|all| all.count), Some(requests.len() as u64), "{} {:?}", name, fit);
                let dispatched = outcome.activity.and_then(|activity| activity.dispatched).expect("recorded");
                prop_assert!(dispatched.iter().all(|request| request.end() <= capacity), "{} {:?}", name, fit);
            }
        }
    }
}

fn request(op: Op, offset: u64, bytes: u32) -> Request {
    Request { time_ns: 0, offset, bytes, op, flags: 0, stream: 0 }
}

#[test]
fn a_request_across_the_end_is_two_requests_of_the_block_layer() {
    let setup = Setup { fit: Fit::Wrap, ..drive_setup(array(1, 1, 1, 1), 8, 4, 1) };
    let capacity = setup.capacity_bytes();
    for (name, setup) in with_every_scheduler(setup) {
        let outcome = replay(&setup, &[request(Op::Write, 3 * capacity - 4096, 12_288)]);
        let dispatched = outcome.activity.and_then(|activity| activity.dispatched).expect("recorded");
        let mut runs: Vec<_> = dispatched.iter().map(|one| (one.offset, one.bytes)).collect();
        runs.sort_unstable();
        assert_eq!(runs, [(0, 8192), (capacity - 4096, 4096)], "{name}");
        let summary = outcome.summary;
        assert_eq!((summary.host.wrapped_requests, summary.host.pages_written), (1, 3), "{name}");
        assert_eq!(summary.latency.expect("timed").all.map(|all| all.count), Some(1), "{name}");
    }
}

#[test]
fn the_error_names_the_request_beyond_the_device_with_every_scheduler() {
    let replay = Replay::Closed { depth: 4, per_stream: false, think: Nanos::ZERO };
    let setup = Setup { fit: Fit::Error, replay, ..drive_setup(array(1, 1, 1, 1), 8, 4, 1) };
    let capacity_bytes = setup.capacity_bytes();
    let mut requests: Vec<_> = (0..8).map(|page| request(Op::Write, page * 4096, 4096)).collect();
    requests.push(request(Op::Read, capacity_bytes - 512, 1024));
    for setup in with_every_scheduler(setup.clone()).map(|(_, setup)| setup).chain([setup]) {
        let error = run(&setup, &mut SliceSource::new(&requests), &mut ()).expect_err("beyond");
        let request = Placed::at("request 9".into(), &requests[8]);
        let expected = SimError::BeyondDevice { request, capacity_bytes };
        assert_eq!(error.to_string(), expected.to_string());
    }
}

#[test]
fn a_wrapped_trace_equals_the_trace_wrapped_by_hand() {
    let setup = Setup { fit: Fit::Wrap, ..drive_setup(array(2, 1, 1, 1), 8, 4, 4) };
    let capacity = setup.capacity_bytes();
    let beyond: Vec<_> = (0..500_u64).map(|at| request(Op::Write, at * at % 977 * 4096, 4096)).collect();
    let by_hand: Vec<_> = beyond.iter().map(|one| Request { offset: one.offset % capacity, ..*one }).collect();
    for (name, setup) in with_every_scheduler(setup.clone()).chain([("none", Setup { check: true, ..setup.clone() })]) {
        let (wrapped, plain) = (replay(&setup, &beyond), replay(&setup, &by_hand));
        assert_eq!(wrapped.summary.time, plain.summary.time, "{name}");
        assert_eq!(wrapped.summary.flash, plain.summary.flash, "{name}");
        assert_eq!(wrapped.summary.latency, plain.summary.latency, "{name}");
    }
}
