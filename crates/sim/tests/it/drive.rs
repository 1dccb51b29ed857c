//! Goal: a drive at work on many requests takes exactly the time that its parts take. Method: closed formulas for drives
//! without load and at their limit, laws of queues, hand-made sequences around every gate, and the serial clock.

use proptest::prelude::*;
use ssdlab_sim::{Clock, FtlChoice, LatencyByOp, Outcome, Setup, run};
use ssdlab_testkit::drives::{PLAIN, TIMING, on_any_drive};
use ssdlab_testkit::strategies::{requests, setups};
use ssdlab_trace::{Request, SliceSource};

fn replay(setup: &Setup, requests: &[Request]) -> Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("runs")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// No drive, however it is made, loses data, breaks a NAND rule in time, or counts wrong.
    #[test]
    fn reads_return_the_last_write_on_any_drive(setup in on_any_drive(), requests in requests(300)) {
        let outcome = replay(&setup, &requests);
        let summary = &outcome.summary;
        let drive = summary.drive.as_ref().expect("a drive");
        let all = summary.latency.as_ref().and_then(|latency| latency.all).expect("requests");
        prop_assert_eq!(all.count, requests.len() as u64);
        // Waiting and service are all there is.
        let sum = |latency: &LatencyByOp| latency.all.map_or(0.0, |all| all.mean_ns * all.count as f64);
        prop_assert!((sum(&drive.waiting) + sum(&drive.service) - all.mean_ns * all.count as f64).abs() < 1.0);
        // Little's law holds exactly when the drive is empty at both ends.
        let elapsed = summary.time.expect("timed").elapsed_ns as f64;
        if elapsed > 0.0 {
            let arriving = all.count as f64 / elapsed * all.mean_ns;
            prop_assert!((drive.queue_depth_mean - arriving).abs() <= 1e-9 * arriving.max(1.0));
        }
        prop_assert!(drive.die_utilisation.max <= 1.0 + 1e-9);
        prop_assert!(drive.channel_utilisation.max <= 1.0 + 1e-9);
    }

    /// One request at a time on one die is the serial clock, to the nanosecond.
    #[test]
    fn one_request_at_a_time_on_one_die_is_the_serial_clock(setup in setups(), requests in requests(200)) {
        let Setup { ftl, .. } = setup;
        let mut serial = setup;
        serial.geometry.parallelism = ssdlab_nand::Parallelism::SINGLE;
        serial.clock = Clock::Serial(TIMING);
        serial.check = true;
        let event = Setup { clock: Clock::Event(TIMING, PLAIN), ..serial };
        let (serial, event) = (replay(&serial, &requests), replay(&event, &requests));
        prop_assert_eq!(event.summary.flash, serial.summary.flash);
        let elapsed = |outcome: &Outcome| outcome.summary.time.expect("timed").elapsed_ns;
        if matches!(ftl, FtlChoice::Page(_)) {
            prop_assert_eq!(event.summary.time, serial.summary.time);
            prop_assert_eq!(event.summary.latency, serial.summary.latency);
        } else {
            // Merges and write-backs that come after a request's own operations keep the next one waiting, not it.
            prop_assert!(elapsed(&event) <= elapsed(&serial));
        }
    }
}
