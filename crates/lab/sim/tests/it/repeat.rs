//! Goal: repeated replays equal a repeated trace, replays end by the rule for steady write amplification, and a trace
//! preconditions a drive with its writes and trims. Method: compares with traces concatenated by hand.

use proptest::prelude::*;
use ssdlab_cache::WriteMode;
use ssdlab_core::{Nanos, Rng};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::map::ram;
use ssdlab_sim::{
    CacheOptions, Clock, Control, Monitor, Outcome, Overwrite, Phase, Precondition, Repeat, Replay, Setup, SimError,
    Status, live, run,
};
use ssdlab_testkit::drives::{PLAIN, TIMING, on_any_drive};
use ssdlab_testkit::small_setup;
use ssdlab_testkit::strategies::{requests, setups};
use ssdlab_trace::{Op, Request, SliceSource};

use crate::cache::caches;

fn replay(setup: &Setup, requests: &[Request]) -> Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("the data check finds nothing")
}

/// Returns all results except replays, preconditioning and data check.
fn measured(mut outcome: Outcome) -> String {
    outcome.summary.repeat = None;
    outcome.summary.precondition = Default::default();
    outcome.summary.check = None;
    // Findings also depend on the pages written before.
    outcome.summary.diagnosis.clear();
    let summary = serde_json::to_string(&outcome.summary).expect("serialises");
    let Outcome { series, erase_counts, latency, log, activity, .. } = outcome;
    format!("{summary} {:?} {erase_counts:?} {latency:?} {log:?} {activity:?}", series.columns())
}

/// Returns the trace repeated `times` times, a mean gap apart.
fn concatenated(requests: &[Request], times: u64) -> Vec<Request> {
    let first_ns = requests.first().map_or(0, |request| request.time_ns);
    let last_ns = requests.last().map_or(0, |request| request.time_ns);
    let gaps = requests.len().saturating_sub(1) as u64;
    let span_ns = last_ns - first_ns;
    let step_ns = span_ns.checked_div(gaps).map_or(0, |gap_ns| span_ns + gap_ns);
    let shifted = |number| {
        requests.iter().map(move |request| Request { time_ns: request.time_ns + number * step_ns, ..*request })
    };
    (0..times).flat_map(shifted).collect()
}

/// Returns requests of three processes at different times.
fn in_time() -> impl Strategy<Value = Vec<Request>> {
    (requests(100), prop::collection::vec(0_u64..5_000, 100)).prop_map(|(mut requests, gaps)| {
        let mut time_ns = 0;
        for (number, (request, gap_ns)) in requests.iter_mut().zip(gaps).enumerate() {
            time_ns += gap_ns;
            (request.time_ns, request.stream) = (time_ns, (number % 3) as u16);
        }
        requests
    })
}

/// Returns the number of replays until two successive windows differ by less than `within`.
fn twin_of_the_rule(
    flash_pages: u64,
    within: f64,
    most: u64,
    mut written: impl FnMut(u64) -> (u64, u64),
) -> (u64, bool) {
    let mut windows: Vec<Vec<(u64, u64)>> = vec![Vec::new()];
    let pages = |window: &[(u64, u64)]| window.iter().map(|one| one.0).sum::<u64>();
    let amplification =
        |window: &[(u64, u64)]| window.iter().map(|one| one.1).sum::<u64>() as f64 / pages(window) as f64;
    for number in 1..=most {
        let one = written(number);
        if one.0 == 0 {
            return (number, true);
        }
        windows.last_mut().expect("a window").push(one);
        if pages(windows.last().expect("a window")) >= flash_pages {
            if let [.., before, now] = windows.as_slice()
                && (amplification(now) / amplification(before) - 1.0).abs() < within
            {
                return (number, true);
            }
            windows.push(Vec::new());
        }
    }
    (most, false)
}

/// Returns eight simultaneous reads of one page, which queue.
fn burst() -> Vec<Request> {
    vec![Request { time_ns: 0, offset: 0, bytes: 4096, op: Op::Read, flags: 0, stream: 0 }; 8]
}

fn open_loop(clock: Clock, cache: Option<CacheOptions>) -> Setup {
    let precondition = Precondition { fill: 1.0, overwrite: Overwrite::None };
    Setup { clock, cache, precondition, replay: Replay::AS_TRACED, ..small_setup(8, 4, 2) }
}

#[test]
fn no_queue_of_an_open_loop_continues_into_the_next_phase() {
    for clock in [Clock::Serial(TIMING), Clock::Event(TIMING, PLAIN)] {
        let setup = open_loop(clock, None);
        let once = replay(&setup, &burst());
        let time = once.summary.time.expect("timed");
        assert_eq!(time.behind_ns, Some(time.elapsed_ns));
        let repeated = replay(&Setup { repeat: Repeat::Times(5), ..setup.clone() }, &burst());
        let warmed = replay(&Setup { warmup_requests: 8, ..setup.clone() }, &[burst(), burst()].concat());
        for other in [repeated, warmed] {
            assert_eq!(other.summary.latency, once.summary.latency);
            assert_eq!(other.summary.time, Some(time));
        }
    }
}

#[test]
fn no_queue_of_a_cache_continues_into_the_next_replay() {
    let cache = CacheOptions {
        policy: ssdlab_cache::POLICIES.get("lru").expect("a registered policy"),
        parameters: Vec::new(),
        page_bytes: 4096,
        capacity_pages: 1,
        compressed: None,
        writes: WriteMode::Back,
        dirty_percent: 100,
        background_percent: 100,
        copy: Nanos(1_000),
    };
    let setup = open_loop(Clock::Serial(TIMING), Some(cache));
    // From the second replay on, all requests hit.
    for times in [2, 5] {
        let repeated = replay(&Setup { repeat: Repeat::Times(times), ..setup.clone() }, &burst());
        assert_eq!(repeated.summary.cache.expect("there is a cache").cache_ns, 36_000);
        let warmup_requests = 8 * (times - 1);
        let warmed = replay(&Setup { warmup_requests, ..setup.clone() }, &burst().repeat(times as usize));
        assert_eq!(warmed.summary.cache.expect("there is a cache").cache_ns, 36_000);
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(300))]

    #[test]
    fn two_replays_equal_the_trace_after_itself_as_a_warm_up(
        setup in prop_oneof![on_any_drive(), setups()],
        cache in prop::option::of(caches()),
        requests in in_time(),
    ) {
        let cache = cache.map(|cache| CacheOptions { background_percent: 100, ..cache });
        let setup = Setup { cache, ..setup.clone() };
        let repeated = replay(&Setup { repeat: Repeat::Times(2), ..setup.clone() }, &requests);
        let warmup_requests = requests.len() as u64;
        let by_hand = replay(&Setup { warmup_requests, ..setup.clone() }, &concatenated(&requests, 2));
        prop_assert_eq!(repeated.summary.repeat.as_ref().map(|repeat| repeat.replays), Some(2));
        prop_assert_eq!(measured(repeated), measured(by_hand));
    }

    #[test]
    fn many_replays_equal_the_trace_after_all_earlier_replays_as_a_warm_up(
        setup in setups(),
        open in any::<bool>(),
        requests in in_time(),
        times in 1_u64..6,
        warmup_requests in prop_oneof![Just(0), 0_u64..110],
    ) {
        let replay_as = if open { Replay::AS_TRACED } else { setup.replay };
        let setup = Setup { replay: replay_as, ..setup.clone() };
        let repeated = replay(&Setup { repeat: Repeat::Times(times), warmup_requests, ..setup.clone() }, &requests);
        let length = requests.len() as u64;
        let warmup_requests = (times - 1) * length + warmup_requests.min(length);
        let by_hand = replay(&Setup { warmup_requests, ..setup.clone() }, &concatenated(&requests, times));
        prop_assert_eq!(measured(repeated), measured(by_hand));
    }

    #[test]
    fn replays_end_when_a_twin_of_the_rule_ends(
        setup in setups(),
        requests in in_time(),
        percent in 1_u32..20,
        most in 1_u64..30,
    ) {
        let within = f64::from(percent) / 100.0;
        let judged = replay(&Setup { repeat: Repeat::UntilSteady { within, most }, ..setup.clone() }, &requests);
        let found = judged.summary.repeat.clone().expect("replayed until steady");
        // Counts of replay `number`, from a new run with that many replays.
        let written = |number| {
            let outcome = replay(&Setup { repeat: Repeat::Times(number), ..setup.clone() }, &requests);
            (outcome.summary.host.pages_written, outcome.summary.flash.0.programmed())
        };
        let (replays, steady) = twin_of_the_rule(setup.geometry.pages(), within, most, written);
        prop_assert_eq!((found.replays, found.steady), (replays, Some(steady)));
        let by_number = replay(&Setup { repeat: Repeat::Times(replays), ..setup.clone() }, &requests);
        let amplification = by_number.summary.repeat.as_ref().map(|repeat| repeat.write_amplification.clone());
        if replays > 1 {
            prop_assert_eq!(amplification, Some(found.write_amplification));
        }
        prop_assert_eq!(measured(judged), measured(by_number));
    }

    #[test]
    fn preconditioning_by_the_trace_applies_its_writes_and_trims(
        setup in prop_oneof![on_any_drive(), setups()],
        requests in in_time(),
        times in 1_u64..5,
    ) {
        // Uses a map in RAM, because a map in flash is preloaded after preconditioning.
        let ftl = match setup.ftl {
            FtlChoice::Page(options, _) => FtlChoice::Page(options, ram::INFO.defaults()),
            log => log,
        };
        let setup = Setup { ftl, ..setup.clone() };
        let fill = setup.precondition.fill;
        let by_trace = Precondition { fill, overwrite: Overwrite::Trace(Repeat::Times(times)) };
        let by_trace = replay(&Setup { precondition: by_trace, ..setup.clone() }, &requests);
        let changes: Vec<_> =
            requests.iter().filter(|one| matches!(one.op, Op::Write | Op::Trim)).copied().collect();
        // Without a time model, results depend only on the order of the requests.
        let untimed = Setup {
            clock: Clock::Count,
            replay: Replay::ONE_BY_ONE,
            precondition: Precondition { fill, overwrite: Overwrite::None },
            ..setup
        };
        let all: Vec<_> = concatenated(&changes, times).into_iter().chain(requests.iter().copied()).collect();
        let warmup_requests = times * changes.len() as u64;
        let by_hand = replay(&Setup { warmup_requests, ..untimed.clone() }, &all).summary;
        let written = |setup: &Setup, requests: &[Request]| replay(setup, requests).summary.host.pages_written;
        let filled = (fill * f64::from(setup.logical_pages)).round() as u64;
        prop_assert_eq!(by_trace.summary.precondition.replays, Some(times));
        prop_assert_eq!(
            by_trace.summary.precondition.host_pages_written,
            filled + times * written(&untimed, &changes)
        );
        prop_assert_eq!(by_trace.summary.host.pages_written, by_hand.host.pages_written);
        // With event timing, requests may overtake each other.
        if !matches!(setup.clock, Clock::Event(..)) {
            prop_assert_eq!(by_trace.summary.flash, by_hand.flash);
            prop_assert_eq!(by_trace.summary.wear, by_hand.wear);
        }
    }
}

fn request(op: Op, page: u64) -> Request {
    Request { time_ns: 0, offset: page * 4096, bytes: 4096, op, flags: 0, stream: 0 }
}

/// Returns a small full drive and random single-page writes to a third of its pages.
fn worn() -> (Setup, Vec<Request>) {
    let precondition = Precondition { fill: 1.0, overwrite: Overwrite::None };
    let setup = Setup { precondition, ..small_setup(64, 16, 8) };
    let mut rng = Rng::named(1, "requests");
    let pages = u64::from(setup.logical_pages);
    let requests = (0..pages / 3).map(|_| request(Op::Write, rng.below(pages))).collect();
    (setup, requests)
}

const UNTIL_STEADY: Repeat = Repeat::UntilSteady { within: 0.01, most: 100 };

#[test]
fn a_short_trace_is_replayed_until_it_is_steady_and_the_last_replay_is_measured() {
    let (setup, requests) = worn();
    let once = replay(&setup, &requests).summary;
    assert_eq!(once.repeat, None);
    let steady = replay(&Setup { repeat: UNTIL_STEADY, ..setup.clone() }, &requests).summary;
    let repeat = steady.repeat.expect("replayed until steady");
    assert_eq!(repeat.steady, Some(true));
    // Two windows are the minimum; a window writes as many pages as the flash has.
    assert!(repeat.replays >= 2 * 3 && repeat.replays < 100, "{repeat:?}");
    assert_eq!(repeat.write_amplification.len() as u64, repeat.replays);
    assert_eq!(repeat.write_amplification.last(), Some(&steady.write_amplification));
    assert!((repeat.capacities_written - steady.capacities_written * repeat.replays as f64).abs() < 1e-9);
    assert_eq!(steady.host.write_requests, requests.len() as u64);
    assert!(
        steady.write_amplification > once.write_amplification,
        "garbage collection had not begun in the first replay"
    );
}

#[test]
fn an_unsteady_trace_ends_after_the_maximum_number_of_replays() {
    let (setup, requests) = worn();
    let repeat = Repeat::UntilSteady { within: 0.01, most: 4 };
    let found = replay(&Setup { repeat, ..setup.clone() }, &requests).summary.repeat.expect("repeated");
    assert_eq!((found.replays, found.steady), (4, Some(false)));
}

#[test]
fn traces_without_writes_are_steady_at_once_and_can_be_repeated() {
    let (setup, _) = worn();
    for requests in [vec![request(Op::Read, 3); 10], Vec::new()] {
        let found =
            replay(&Setup { repeat: UNTIL_STEADY, ..setup.clone() }, &requests).summary.repeat.expect("repeated");
        assert_eq!((found.replays, found.steady), (1, Some(true)));
        let thrice = replay(&Setup { repeat: Repeat::Times(3), ..setup.clone() }, &requests).summary;
        assert_eq!(thrice.host.read_requests, requests.len() as u64);
        assert_eq!(thrice.repeat.map(|repeat| (repeat.replays, repeat.steady)), Some((3, None)));
        let overwrite = Overwrite::Trace(UNTIL_STEADY);
        let before = replay(&Setup { precondition: Precondition { fill: 0.0, overwrite }, ..setup.clone() }, &requests);
        assert_eq!(before.summary.precondition.host_pages_written, 0);
    }
}

#[test]
fn preconditioning_by_the_trace_makes_the_first_replay_steady() {
    let (setup, requests) = worn();
    let precondition = Precondition { fill: 1.0, overwrite: Overwrite::Trace(UNTIL_STEADY) };
    let found = replay(&Setup { precondition, ..setup.clone() }, &requests).summary;
    assert_eq!((found.precondition.stable, found.repeat.clone()), (Some(true), None));
    let repeated =
        replay(&Setup { repeat: UNTIL_STEADY, ..setup.clone() }, &requests).summary.repeat.expect("repeated");
    assert_eq!(found.precondition.replays, Some(repeated.replays));
    assert_eq!(found.precondition.write_amplification, *repeated.write_amplification.last().expect("a replay"));
    // The measured replay equals the next replay of the repeated run.
    let next = Setup { repeat: Repeat::Times(repeated.replays + 1), ..setup.clone() };
    assert_eq!(found.write_amplification, replay(&next, &requests).summary.write_amplification);
}

struct StopIn(Phase);

impl Monitor for StopIn {
    fn report(&mut self, status: &Status) -> Control {
        if status.phase == self.0 { Control::Stop } else { Control::Continue }
    }
}

#[test]
fn a_run_stops_in_every_replay() {
    let (setup, requests) = worn();
    let stopped =
        |setup: &Setup, phase| run(setup, &mut SliceSource::new(&requests), &mut StopIn(phase)).expect("runs").summary;
    for phase in [Phase::Warmup, Phase::Measure] {
        let summary = stopped(&Setup { repeat: Repeat::Times(3), ..setup.clone() }, phase);
        let expected = if phase == Phase::Warmup { 1 } else { 3 };
        assert_eq!((summary.partial, summary.repeat.map(|repeat| repeat.replays)), (true, Some(expected)));
    }
    let precondition = Precondition { fill: 1.0, overwrite: Overwrite::Trace(UNTIL_STEADY) };
    let summary = stopped(&Setup { precondition, ..setup.clone() }, Phase::Overwrite);
    assert_eq!((summary.partial, summary.host.write_requests), (true, 0));
    assert_eq!(summary.precondition.stable, Some(false));
}

#[test]
fn preconditioning_by_the_trace_is_refused_below_a_cache_and_for_live_drives() {
    let (setup, requests) = worn();
    let precondition = Precondition { fill: 1.0, overwrite: Overwrite::Trace(UNTIL_STEADY) };
    let cache = CacheOptions {
        policy: ssdlab_cache::POLICIES.get("lru").expect("a registered policy"),
        parameters: Vec::new(),
        page_bytes: 4096,
        capacity_pages: 8,
        compressed: None,
        writes: WriteMode::Back,
        dirty_percent: 50,
        background_percent: 100,
        copy: Nanos(30),
    };
    let below = Setup { precondition, cache: Some(cache), ..setup.clone() };
    let error = run(&below, &mut SliceSource::new(&requests), &mut ()).unwrap_err();
    assert!(error.to_string().contains("has a host cache"), "{error}");
    let timed = ssdlab_testkit::drives::drive_setup(ssdlab_testkit::drives::array(1, 1, 1, 1), 8, 4, 1);
    let error = live(&Setup { precondition, ..timed.clone() }, &mut ()).err().expect("no trace");
    assert!(matches!(&error, SimError::Setup(why) if why.contains("needs a trace")), "{error}");
}
