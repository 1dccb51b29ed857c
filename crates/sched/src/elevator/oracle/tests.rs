//! The captures, replayed.

#![cfg(test)]

use std::collections::VecDeque;
use std::fs::read_dir;
use std::path::{Path, PathBuf};

use ssdlab_core::Rng;

use super::capture::{Capture, Event, What};
use super::{Findings, JIFFY_NS, Replayed, replay};
use crate::bio::{Bio, Direction, Flags, Priority};
use crate::elevator::{Device, SCHEDULERS, bfq, kyber, mq_deadline};
use crate::request::Requests;

/// How finely the beginning of jiffies is looked for.
const PHASE_NS: usize = 100_000;
/// Schedulers that can be replayed.
const REPLAYED: [&str; 3] = ["mq-deadline", "kyber", "bfq"];

/// The scheduler that a capture is of, with some settings.
fn model(name: &str, tunables: &[(String, u64)], rotational: bool) -> Option<Box<dyn Replayed>> {
    let scheduler = REPLAYED.into_iter().find(|scheduler| name.starts_with(scheduler))?;
    let info = SCHEDULERS.iter().find(|info| info.name == scheduler)?;
    let known = |(name, _): &&(String, u64)| info.parameters.iter().any(|tunable| tunable.name == name);
    let tunables: Vec<_> = tunables.iter().filter(known).cloned().collect();
    let device = Device { sectors: u64::MAX, rotational, nr_requests: 1024, queues: 1 };
    Some(match scheduler {
        "mq-deadline" => Box::new(mq_deadline::oracle::model(&tunables)),
        "kyber" => Box::new(kyber::oracle::model(&tunables)),
        _ => Box::new(bfq::oracle::model(&tunables, &device)),
    })
}

#[expect(clippy::print_stderr, reason = "a skipped test must say so, and how well a scheduler does is worth knowing")]
fn say(what: &str) {
    eprintln!("{what}");
}

/// A capture, of a scheduler that has some tunables changed.
fn captured(folder: &Path, name: &str, changes: &[(&str, u64)]) -> Capture {
    let mut capture = Capture::read(folder, name);
    capture.tunables.retain(|(name, _)| changes.iter().all(|(changed, _)| name != changed));
    capture.tunables.extend(changes.iter().map(|&(name, value)| (name.to_owned(), value)));
    capture
}

fn findings(capture: &Capture, name: &str) -> Option<Findings> {
    // When jiffies begin shows only in logs of raised weights and in those of kyber: else what agrees best is taken.
    let ticks = capture.tick_ns.map_or_else(|| (0..JIFFY_NS).step_by(PHASE_NS).collect(), |tick_ns| vec![tick_ns]);
    let mut best: Option<Findings> = None;
    for tick_ns in ticks {
        let mut model = model(name, &capture.tunables, capture.rotational)?;
        let ticks = model.tick(tick_ns);
        let findings = replay(&mut *model, capture);
        if best.as_ref().is_none_or(|best| best.equal < findings.equal) {
            best = Some(findings);
        }
        if !ticks {
            break;
        }
    }
    best
}

/// A capture of a clock that runs while requests are plugged.
fn without_plugs(mut capture: Capture) -> Capture {
    capture.events.iter_mut().for_each(|event| event.clock = None);
    capture
}

/// A capture in which the kernel does not tell how far it raised weights, and so on which side of a tick it was.
fn without_weights(mut capture: Capture) -> Capture {
    for event in &mut capture.events {
        if let What::Dispatch { raised, .. } = &mut event.what {
            *raised = None;
        }
    }
    capture
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { format!("{:.2}", 100.0 * share(part, whole)) }
}

fn of(part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { format!("{part} of {whole}") }
}

/// Replays a capture, says how the scheduler fares, and wants it to decide as the kernel did.
fn check(folder: &Path, name: &str) {
    let capture = captured(folder, name, &[]);
    let Some(found) = findings(&capture, name) else {
        return say(&format!("skipped: {name} is of a scheduler that is not replayed"));
    };
    let Findings { decisions, equal, choices, equal_choices, nothing, equal_nothing, .. } = found;
    let Findings { raised, equal_raised, jiffy_apart, depths, equal_depths, own_depths, .. } = found;
    let less = |capture| percent(findings(&capture, name).expect("it is replayed").equal, decisions);
    let less = if raised == 0 {
        [String::new(), String::new()]
    } else {
        [less(without_plugs(captured(folder, name, &[]))), less(without_weights(captured(folder, name, &[])))]
    };
    let told = [
        name.to_owned(),
        decisions.to_string(),
        percent(equal, decisions),
        percent(equal_choices, choices),
        percent(equal_nothing, nothing),
        of(equal_raised, raised),
        if jiffy_apart > 0 { jiffy_apart.to_string() } else { String::new() },
        of(equal_depths, depths),
    ];
    let told = format!("| {} |", told.into_iter().chain(less).collect::<Vec<_>>().join(" | "));
    say(&told);
    assert!(decisions >= 1000, "a short capture: {told}");
    assert!(share(equal, decisions) >= 0.97, "{told}");
    assert!(share(equal_nothing, nothing) >= 0.97, "{told}");
    assert!(share(equal_raised, raised) >= 0.99, "{told}");
    assert!(equal_depths == depths && own_depths == depths, "{told}");
}

fn excerpts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Names of the captures in a folder.
fn captures(folder: &Path) -> Vec<String> {
    let Ok(entries) = read_dir(folder) else {
        say(&format!("skipped: {} is missing", folder.display()));
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let suffix = ".insert-dispatch-complete.csv.zst";
    let mut names: Vec<_> = names.filter_map(|name| Some(name.strip_suffix(suffix)?.to_owned())).collect();
    names.sort();
    names
}

#[test]
fn decides_as_the_kernel_did() {
    let names = captures(&excerpts());
    assert!(REPLAYED.iter().all(|scheduler| names.iter().any(|name| name.starts_with(scheduler))), "{names:?}");
    for name in names {
        check(&excerpts(), &name);
    }
}

#[test]
fn decides_as_the_kernel_did_in_every_capture() {
    let Some(root) = std::env::var_os("SSDLAB_TRACES") else {
        return say("skipped: SSDLAB_TRACES does not name the directory of real traces");
    };
    let folder = PathBuf::from(root).join("scheduler-oracle-linux6.18");
    for folder in [folder.join("loaded"), folder] {
        for name in captures(&folder) {
            check(&folder, &name);
        }
    }
}

#[test]
fn a_scheduler_with_other_tunables_is_told_from_the_kernel() {
    let agreed = |name: &str, change: (&str, u64)| {
        let found = findings(&captured(&excerpts(), name, &[change]), name).unwrap();
        share(found.equal, found.decisions)
    };
    for (name, change) in [
        ("mq-deadline", ("fifo_batch", 4)),
        ("mq-deadline-1-ioprio", ("prio_aging_expire", 100)),
        ("bfq-b-ioprio", ("slice_idle", 0)),
        ("bfq-e-equal-lowlat1", ("low_latency", 0)),
    ] {
        let agreed = agreed(name, change);
        assert!(agreed < 0.95, "{name} with {change:?}: {agreed:.4}");
    }
}

/// With the kernel's own clock the model takes all decisions as well. Where it raised a weight at another time, that is the
/// jiffy before or after. Without the clock of a plug some decisions differ: in bfq-g, two processors read the clock at
/// different times, and one turn of four seconds in which 2,888 requests go is charged 10,735 sectors instead of 8.
#[test]
fn what_a_model_cannot_know_is_a_jiffy_and_the_clock_of_a_plug() {
    let name = "bfq-e-equal-lowlat1";
    let found = findings(&captured(&excerpts(), name, &[]), name).unwrap();
    assert_eq!((found.equal, found.equal_raised), (found.decisions, found.raised));
    assert!((1..found.raised / 100).contains(&found.jiffy_apart), "{found:?}");
    let name = "bfq-g-cooperate";
    let found = findings(&captured(&excerpts(), name, &[]), name).unwrap();
    let less = findings(&without_plugs(captured(&excerpts(), name, &[])), name).unwrap();
    assert_eq!(found.equal, found.decisions);
    assert!(less.equal < less.decisions, "{less:?}");
}

/// A capture of a scheduler of this crate: both directions always wait, twenty requests are at the device.
fn own_capture(elevator: &mut dyn Replayed) -> Capture {
    let mut events = Vec::new();
    let mut requests = Requests::default();
    let mut rng = Rng::named(3, "capture");
    let (mut now, mut at_device) = (0, VecDeque::new());
    for _ in 0..8000 {
        now += 1 + rng.below(100_000);
        while let Some(time) = elevator.timer_ns().filter(|&time| time <= now) {
            elevator.on_timer(time);
        }
        while requests.len() < 120 {
            let direction = Direction::BOTH[rng.below(2) as usize];
            let (start, pid) = (8 * rng.below(1 << 20), 1 + rng.below(3) as u32);
            let (flags, priority) = (Flags::SYNC, Priority::default());
            let bio = Bio { start, sectors: 8, direction, flags, pid, priority, owner: 0 };
            let id = requests.allocate(bio, 1, 0, now);
            elevator.insert(&requests[id], &requests, now);
            events.push(Event::new(now, What::Insert { bio, cpu: 0 }));
        }
        let id = elevator.dispatch(0, &requests, now, false).expect("nobody is idled for");
        let rq = &requests[id];
        let what = What::Dispatch { start: rq.start, direction: rq.direction, raised: None };
        events.push(Event::new(now, what));
        at_device.push_back(id);
        if at_device.len() > 20 {
            let ended = requests.free(at_device.pop_front().unwrap());
            elevator.completed(ended, now);
            events.push(Event::new(now, What::Complete { start: ended.start, direction: ended.direction }));
        }
    }
    let (tunables, weights, fired) = (Vec::new(), Vec::new(), Vec::new());
    Capture { events, tunables, weights, rotational: false, depth: usize::MAX, fired, tick_ns: Some(0) }
}

fn own_model(name: &str) -> Box<dyn Replayed> {
    let mut model = model(name, &[], false).unwrap();
    model.tick(0);
    model
}

/// A race of two processors: an insertion is told before a decision that did not know of it. If the newcomer is nearer,
/// the scheduler would have taken it; from the next decision on it agrees again.
#[test]
fn a_race_costs_one_decision() {
    let mut capture = own_capture(&mut *own_model("bfq"));
    let events = &mut capture.events;
    let is = |event: &Event, insert: bool| match event.what {
        What::Insert { .. } => insert,
        What::Dispatch { .. } => !insert,
        _ => false,
    };
    let decisions: Vec<usize> = (0..events.len()).filter(|&at| is(&events[at], false)).collect();
    let mut races = 0;
    for &at in decisions.iter().skip(40).step_by(10) {
        let inserted = (at + 1..events.len()).find(|&later| is(&events[later], true)).expect("a request follows");
        let now = events[at].now;
        events[at..=inserted].rotate_right(1);
        events[at].now = now;
        races += 1;
    }
    let findings = replay(&mut *own_model("bfq"), &capture);
    assert!((8000 - races..8000).contains(&findings.equal), "{} of 8000", findings.equal);
    assert!(findings.equal >= 7950, "{} of 8000", findings.equal);
}

#[test]
fn a_scheduler_agrees_with_itself() {
    for name in REPLAYED {
        let capture = own_capture(&mut *own_model(name));
        let findings = replay(&mut *own_model(name), &capture);
        assert_eq!((findings.decisions, findings.equal), (8000, 8000), "{name}");
        assert_eq!(findings.choices, findings.equal_choices, "{name}");
    }
}
