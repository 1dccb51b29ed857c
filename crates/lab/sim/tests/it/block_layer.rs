//! Goal: the block layer above a drive changes only the order of requests. Method: compares one request at a time
//! through every scheduler with the drive alone; sends random requests through every scheduler with the data check.

use proptest::prelude::*;
use ssdlab_core::Nanos;
use ssdlab_sched::SCHEDULERS;
use ssdlab_sim::{BlockOptions, Outcome, Replay, Setup, block_options, run};
use ssdlab_testkit::drives::on_any_drive;
use ssdlab_testkit::strategies::requests;
use ssdlab_trace::{Request, SliceSource};

fn replay(setup: &Setup, requests: &[Request]) -> Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("runs")
}

/// Rounds requests to whole sectors, the unit of block devices, and assigns them to three processes.
fn in_sectors(requests: &[Request]) -> Vec<Request> {
    let whole = |(number, request): (usize, &Request)| Request {
        offset: request.offset / 512 * 512,
        bytes: request.bytes.next_multiple_of(512),
        stream: (number % 3) as u16,
        ..*request
    };
    requests.iter().enumerate().map(whole).collect()
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(1_000))]

    #[test]
    fn a_scheduler_with_one_request_at_a_time_changes_nothing(
        setup in on_any_drive(),
        requests in requests(100),
        number in 0..SCHEDULERS.len(),
    ) {
        // A request that wraps around the end of the device would become two requests of the block layer.
        let capacity = setup.capacity_bytes();
        let inside = |request: Request| {
            let offset = request.offset % capacity;
            Request { offset, bytes: u64::from(request.bytes).min(capacity - offset) as u32, ..request }
        };
        let requests: Vec<_> = in_sectors(&requests).into_iter().map(inside).collect();
        let one_by_one = Replay::Closed { depth: 1, per_stream: false, think: Nanos::ZERO };
        let alone = Setup { replay: one_by_one, ..setup.clone() };
        let info = SCHEDULERS[number];
        if !info.role.work_conserving {
            return Ok(());
        }
        // The block layer drops flushes to a drive without a volatile cache.
        let block = BlockOptions { volatile_cache: true, ..block_options(info.name) };
        let above = Setup { block: Some(block), ..alone.clone() };
        let (alone, above) = (replay(&alone, &requests).summary, replay(&above, &requests).summary);
        prop_assert_eq!(above.time, alone.time, "{}", info.name);
        prop_assert_eq!(above.latency, alone.latency);
        prop_assert_eq!(above.flash, alone.flash);
    }

    #[test]
    fn every_scheduler_serves_every_request_with_the_newest_data(
        setup in on_any_drive(),
        requests in requests(300),
        number in 0..SCHEDULERS.len(),
        (queues, slots) in (1_u16..4, 1_u32..32),
        wbt_lat in prop_oneof![Just(0), 1..1_000_000_u64],
    ) {
        let requests = in_sectors(&requests);
        let block = BlockOptions { queues, slots, wbt_lat_ns: wbt_lat, ..block_options(SCHEDULERS[number].name) };
        let outcome = replay(&Setup { block: Some(block), ..setup.clone() }, &requests);
        let latency = outcome.summary.latency.expect("timed");
        prop_assert_eq!(latency.all.map(|all| all.count), Some(requests.len() as u64));
    }
}
