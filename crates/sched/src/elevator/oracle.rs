//! Decisions of a live kernel, replayed: how many of them a scheduler takes as well.
//!
//! A capture is what the kernel's events `block_rq_insert`, `block_rq_issue` and `block_rq_complete` said of one device
//! with default tunables and without merges: `<scheduler>.insert-dispatch-complete.csv.zst`, with the columns
//! `time_ns,event,op,sector,bytes,pid,cpu`; `event` is I(nserted), D(ispatched) or C(ompleted), `op` R(ead) or W(rite).
//! All captures in the folder `scheduler-oracle-linux6.18` of the directory named by `SSDLAB_TRACES` are replayed.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;
use std::fs::{File, read_dir};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use ssdlab_core::Rng;

use super::{Elevator, bfq_lite, kyber, mq_deadline};
use crate::bio::{Bio, Direction, Flags, Priority};
use crate::request::{RequestId, Requests};

/// A scheduler that can be told what the kernel did.
pub(super) trait Replayed: Elevator {
    /// What it would dispatch now.
    fn propose(&mut self, requests: &Requests, now: u64) -> Option<RequestId>;

    /// Continues as if it had chosen `id`, which waits.
    fn follow(&mut self, id: RequestId, requests: &Requests, now: u64);
}

/// A line of a capture.
struct Event {
    now: u64,
    what: char,
    bio: Bio,
}

fn parse(text: &str) -> impl Iterator<Item = Event> {
    text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |field: usize| fields[field].parse::<u64>().unwrap_or_else(|_| panic!("not a number in {line}"));
        let direction = if fields[2] == "R" { Direction::Read } else { Direction::Write };
        let (start, sectors, pid) = (number(3), (number(4) / 512) as u32, number(5) as u32);
        let (flags, priority) = (Flags::SYNC, Priority::default());
        let bio = Bio { start, sectors, direction, flags, pid, priority, owner: 0 };
        Event { now: number(0), what: fields[1].chars().next().unwrap_or(' '), bio }
    })
}

/// What a capture shows, and how a scheduler fares on it.
#[derive(Debug, Default)]
struct Findings {
    decisions: u64,
    /// Decisions that the scheduler takes as well.
    equal: u64,
    /// Dispatches of the oldest request of their direction.
    heads: u64,
    /// Lengths of runs of reads, and of writes, while requests of the other direction wait, with their numbers.
    runs: [BTreeMap<u64, u64>; 2],
}

impl Findings {
    fn share(&self, decisions: u64) -> f64 {
        decisions as f64 / self.decisions as f64
    }

    /// The share of runs that are not longer than `most`.
    fn runs_within(&self, direction: Direction, most: u64) -> f64 {
        let runs = &self.runs[direction as usize];
        runs.range(..=most).map(|(_, count)| count).sum::<u64>() as f64 / runs.values().sum::<u64>() as f64
    }

    fn longest_run(&self, direction: Direction) -> u64 {
        self.runs[direction as usize].last_key_value().map_or(0, |(&length, _)| length)
    }
}

/// Lets timers fire that are due.
fn fire(model: &mut dyn Replayed, now: u64) {
    while let Some(time) = model.timer_ns().filter(|&time| time <= now) {
        model.on_timer(time);
    }
}

fn replay(model: &mut dyn Replayed, text: &str) -> Findings {
    let mut findings = Findings::default();
    let mut requests = Requests::default();
    // By sector and direction: where two requests are alike, the older one goes first.
    let mut alike: FxHashMap<(u64, Direction), VecDeque<RequestId>> = FxHashMap::default();
    let mut at_device = alike.clone();
    let mut waiting = [BTreeSet::new(), BTreeSet::new()];
    let (mut run, mut last) = (0, Direction::Read);
    for Event { now, what, bio } in parse(text) {
        fire(model, now);
        let key = (bio.start, bio.direction);
        let direction = bio.direction as usize;
        match what {
            'I' => {
                let id = requests.allocate(bio, 1, now);
                model.insert(&requests[id], &requests, now);
                alike.entry(key).or_default().push_back(id);
                waiting[direction].insert(id);
            }
            'D' => {
                // What was inserted before the capture began is unknown.
                let Some(id) = alike.get_mut(&key).and_then(VecDeque::pop_front) else { continue };
                findings.decisions += 1;
                findings.equal += u64::from(model.propose(&requests, now) == Some(id));
                findings.heads += u64::from(waiting[direction].first() == Some(&id));
                model.follow(id, &requests, now);
                waiting[direction].remove(&id);
                at_device.entry(key).or_default().push_back(id);
                if bio.direction != last && run > 0 {
                    *findings.runs[last as usize].entry(run).or_default() += 1;
                    run = 0;
                }
                last = bio.direction;
                run = if waiting[last.other() as usize].is_empty() { 0 } else { run + 1 };
            }
            'C' => {
                if let Some(id) = at_device.get_mut(&key).and_then(VecDeque::pop_front) {
                    model.completed(requests.free(id), now);
                }
            }
            other => panic!("unknown event {other}"),
        }
    }
    findings
}

/// The scheduler of a capture, with its defaults.
fn model(scheduler: &str) -> Option<Box<dyn Replayed>> {
    match scheduler {
        "mq-deadline" => Some(Box::new(mq_deadline::oracle::model(&[]))),
        "kyber" => Some(Box::new(kyber::oracle::model())),
        "bfq" => Some(Box::new(bfq_lite::oracle::model())),
        _ => None,
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test must say so, and how well a scheduler does is worth knowing")]
fn say(what: &str) {
    eprintln!("{what}");
}

/// Replays a capture and holds what is known of its scheduler against it.
fn check(scheduler: &str, path: &Path) {
    let Some(mut model) = model(scheduler) else {
        return say(&format!("skipped: {} is of a scheduler that is not replayed", path.display()));
    };
    let text = String::from_utf8(zstd::decode_all(File::open(path).unwrap()).unwrap()).unwrap();
    let findings = replay(&mut *model, &text);
    let percent = |decisions| 100.0 * findings.share(decisions);
    let [reads, writes] = Direction::BOTH.map(|direction| findings.longest_run(direction));
    let told = format!(
        "{scheduler}: {:.2} % of {} decisions are the kernel's; {:.2} % of its dispatches are the oldest of their \
         direction; its longest runs while the other direction waits: {reads} reads, {writes} writes",
        percent(findings.equal),
        findings.decisions,
        percent(findings.heads),
    );
    say(&told);
    assert!(findings.decisions >= 7000, "a short capture: {told}");
    match scheduler {
        // The rest are races of two processors between a decision and its event.
        "mq-deadline" => assert!(findings.share(findings.equal) >= 0.985, "{told}"),
        "kyber" => {
            assert!(findings.share(findings.heads) >= 0.99, "{told}");
            for (direction, most) in [(Direction::Read, 16), (Direction::Write, 8)] {
                assert!(findings.runs_within(direction, most) >= 0.99, "runs of {direction:?}: {told}");
            }
        }
        // BFQ as a whole is not modelled; how near bfq-lite comes is told only.
        _ => {}
    }
}

fn excerpt() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mq-deadline.csv.zst")
}

#[test]
fn decides_as_the_kernel_did() {
    check("mq-deadline", &excerpt());
}

#[test]
fn decides_as_the_kernel_did_in_every_capture() {
    let Some(root) = std::env::var_os("SSDLAB_TRACES") else {
        return say("skipped: SSDLAB_TRACES does not name the directory of real traces");
    };
    let folder = PathBuf::from(root).join("scheduler-oracle-linux6.18");
    let Ok(entries) = read_dir(&folder) else {
        return say(&format!("skipped: {} is missing", folder.display()));
    };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.unwrap().file_name().into_string().ok()).collect();
    names.sort();
    for name in names {
        if let Some(scheduler) = name.strip_suffix(".insert-dispatch-complete.csv.zst") {
            check(scheduler, &folder.join(&name));
        }
    }
}

#[test]
fn a_scheduler_with_other_tunables_is_told_from_the_kernel() {
    let text = String::from_utf8(zstd::decode_all(File::open(excerpt()).unwrap()).unwrap()).unwrap();
    let findings = replay(&mut mq_deadline::oracle::model(&[("fifo_batch".to_owned(), 4)]), &text);
    assert!(findings.share(findings.equal) < 0.95, "{:.4}", findings.share(findings.equal));
}

/// A capture of a scheduler of this crate: both directions always wait, twenty requests are at the device.
fn own_capture(elevator: &mut dyn Replayed) -> String {
    let mut text = String::from("time_ns,event,op,sector,bytes,pid,cpu\n");
    let mut requests = Requests::default();
    let mut rng = Rng::named(3, "capture");
    let (mut now, mut at_device) = (0, VecDeque::new());
    let mut note = |what: char, bio: &Bio, now: u64| {
        let op = if bio.direction == Direction::Read { 'R' } else { 'W' };
        writeln!(text, "{now},{what},{op},{},{},{},0", bio.start, 512 * bio.sectors, bio.pid).unwrap();
    };
    for _ in 0..8000 {
        now += 1 + rng.below(100_000);
        fire(elevator, now);
        while requests.len() < 120 {
            let direction = Direction::BOTH[rng.below(2) as usize];
            let (start, pid) = (8 * rng.below(1 << 20), 1 + rng.below(3) as u32);
            let (flags, priority) = (Flags::SYNC, Priority::default());
            let bio = Bio { start, sectors: 8, direction, flags, pid, priority, owner: 0 };
            let id = requests.allocate(bio, 1, now);
            elevator.insert(&requests[id], &requests, now);
            note('I', &bio, now);
        }
        let id = elevator.dispatch(&requests, now, false).expect("nobody is idled for");
        note('D', &requests[id].bios[0], now);
        at_device.push_back(id);
        if at_device.len() > 20 {
            let ended = requests.free(at_device.pop_front().unwrap());
            elevator.completed(ended, now);
            note('C', &ended.bios[0], now);
        }
    }
    text
}

/// A race of two processors: an insertion is told before a decision that did not know of it. If the newcomer is nearer, the
/// scheduler would have taken it; from the next decision on it agrees again.
#[test]
fn a_race_costs_one_decision() {
    let text = own_capture(&mut *model("bfq").unwrap());
    let mut lines: Vec<&str> = text.lines().collect();
    let is = |line: &str, what: &str| line.split(',').nth(1) == Some(what);
    let decisions: Vec<usize> = (1..lines.len()).filter(|&at| is(lines[at], "D")).collect();
    let mut races = 0;
    for &at in decisions.iter().skip(40).step_by(10) {
        let inserted = (at + 1..lines.len()).find(|&later| is(lines[later], "I")).expect("a request follows");
        lines[at..=inserted].rotate_right(1);
        races += 1;
    }
    let findings = replay(&mut *model("bfq").unwrap(), &lines.join("\n"));
    assert!((8000 - races..8000).contains(&findings.equal), "{} of 8000", findings.equal);
    assert!(findings.equal >= 7950, "{} of 8000", findings.equal);
}

#[test]
fn a_scheduler_agrees_with_itself() {
    for name in ["mq-deadline", "kyber", "bfq"] {
        let text = own_capture(&mut *model(name).unwrap());
        let findings = replay(&mut *model(name).unwrap(), &text);
        assert_eq!((findings.decisions, findings.equal), (8000, 8000), "{name}");
        if name == "kyber" {
            assert_eq!(findings.heads, 8000);
            assert_eq!(Direction::BOTH.map(|direction| findings.longest_run(direction)), [16, 8]);
            assert_eq!(findings.runs_within(Direction::Read, 16), 1.0);
        }
    }
}
