//! Reads captures of live kernels.
//!
//! | file | contents |
//! |---|---|
//! | `NAME.insert-dispatch-complete.csv.zst` | the kernel's events of request insertion, issue, completion and merges |
//! | `NAME.setup.txt` (optional) | tunables and device |
//! | `NAME.kyber-events.csv.zst` (optional) | depths set by kyber |
//! | `NAME.bfq-log.csv.zst` (optional) | log that bfq writes under its lock |
//!
//! The columns of the first file are `time_ns,event,op,sector,bytes,pid,cpu` and, if priorities matter, `rwbs,ioprio`.
//! `event` is I(nserted), D(ispatched), C(ompleted), M (back merge of a bio) or F (front merge). `op` is R(ead),
//! W(rite) or F(lush); flushes bypass the scheduler. An excerpt is the beginning of a complete capture, without the log
//! lines that are not read here.

#![cfg(test)]

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, read_to_string};
use std::path::Path;

use crate::bio::{Bio, Direction, Flags, Priority, PriorityClass};

/// Type of an event and the data that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Insertion of a request through the software queue of a CPU.
    Insert { bio: Bio, cpu: u16 },
    /// Merge of a bio at the back or front of a request.
    Merge { bio: Bio, front: bool },
    /// Choice of a request by the scheduler. `raised` is the weight-raising state of the request's queue in BFQ, if
    /// logged.
    Dispatch { start: u64, direction: Direction, raised: Option<Raised> },
    /// The scheduler was asked for a request but dispatched none.
    Nothing,
    /// Completion of a request.
    Complete { start: u64, direction: Direction },
    /// Change of a tunable.
    Tune { name: String, value: u64 },
    /// The kernel changed the queue depth of a kyber domain.
    Depth { direction: Direction, depth: u32 },
}

/// Weight-raising state of the in-service queue when one of its requests is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raised {
    /// Factor by which the weight is multiplied; 1 if not raised.
    pub coefficient: u64,
    /// Time from the start of the weight raising to `asked`, the time of the kernel's log entry.
    pub lasted_ns: u64,
    /// Maximum duration of the weight raising.
    pub most_ns: u64,
    pub asked: u64,
}

/// Event of the captured kernel, with its time, clock and task.
#[derive(Clone, Debug)]
pub struct Event {
    pub now: u64,
    /// Kernel clock at the event if it differs from the event's time: the clock is stopped while requests are plugged.
    pub clock: Option<u64>,
    /// Process and CPU that caused the event; zeros if unknown.
    task: (u64, u64),
    pub what: What,
}

impl Event {
    pub fn new(now: u64, what: What) -> Self {
        Self { now, clock: None, task: (0, 0), what }
    }
}

/// Events of a captured kernel, and the kernel's settings.
#[derive(Debug)]
pub struct Capture {
    pub events: Vec<Event>,
    /// Tunables of the kernel that differ from their defaults.
    pub tunables: Vec<(String, u64)>,
    /// Weights of cgroups, in the order in which their processes start.
    pub weights: Vec<u64>,
    pub rotational: bool,
    /// Device queue depth. Without a log, the times at which requests were chosen are inferred from this depth;
    /// `usize::MAX` if it is not needed.
    pub depth: usize,
    /// Times at which the kernel's timers fired, if logged.
    pub fired: Vec<u64>,
    /// Time of one timer tick of the captured kernel, if known. Every tick begins a jiffy.
    pub tick_ns: Option<u64>,
}

/// Duration of a jiffy in the captured kernels.
pub const JIFFY_NS: u64 = 4_000_000;
/// Kernel uptime at the start of a capture; any large whole number of jiffies works.
const UP_NS: u64 = 100_000_000_000;
/// Maximum time between a task's insertion of a request and a dispatch that still counts as part of the same plug.
const PLUG_NS: u64 = 200_000;
/// Maximum time from the kernel's completion event until bfq processes it.
const COMPLETION_NS: u64 = 100_000;

fn unpack(path: &Path) -> String {
    let text = zstd::decode_all(File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    String::from_utf8(text.unwrap()).unwrap()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number"))
}

/// Parses a priority class and level such as `be4`; anything else is the default priority.
fn priority(text: &str) -> Priority {
    let classes = [("rt", PriorityClass::RealTime), ("be", PriorityClass::BestEffort), ("idle", PriorityClass::Idle)];
    let known = classes.iter().find_map(|&(name, class)| Some((class, text.strip_prefix(name)?)));
    known.map_or_else(Priority::default, |(class, level)| Priority { class, level: number(level) as u8 })
}

fn events(text: &str) -> Vec<Event> {
    // For each CPU, the task that last inserted a request, and the time of that insertion.
    let mut plugs: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    rows.filter(|fields| fields[2] != "F")
        .map(|fields| {
            let direction = if fields[2] == "R" { Direction::Read } else { Direction::Write };
            let (start, sectors) = (number(fields[3]), (number(fields[4]) / 512) as u32);
            // Without flags in the capture, all requests count as synchronous.
            let sync = fields.get(7).is_none_or(|rwbs| rwbs.contains('S'));
            let flags = if sync { Flags::SYNC } else { Flags::NONE };
            let priority = fields.get(8).map_or_else(Priority::default, |text| priority(text));
            let bio = Bio { start, sectors, direction, flags, pid: number(fields[5]) as u32, priority, owner: 0 };
            let what = match fields[1] {
                "I" => What::Insert { bio, cpu: number(fields[6]) as u16 },
                "D" => What::Dispatch { start, direction, raised: None },
                "C" => What::Complete { start, direction },
                "M" => What::Merge { bio, front: false },
                "F" => What::Merge { bio, front: true },
                other => panic!("unknown event {other}"),
            };
            let (now, pid, cpu) = (UP_NS + number(fields[0]), number(fields[5]), number(fields[6]));
            if let What::Insert { .. } = what {
                plugs.insert(cpu, (pid, now));
            }
            // Completions are handled in interrupts, so they never belong to a plug.
            let in_task = !matches!(what, What::Complete { .. });
            let plug = plugs.get(&cpu).filter(|(task, since)| in_task && *task == pid && now - since < PLUG_NS);
            Event { now, clock: plug.map(|&(_, since)| since), task: (pid, cpu), what }
        })
        .collect()
}

/// Adds the events of kyber's log. Returns the times at which its timer fired, if known.
fn kyber(text: &str, events: &mut Vec<Event>) -> Vec<u64> {
    let mut fired = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let now = UP_NS + number(fields[0]);
        let what = match (fields[1], fields[2]) {
            ("adjust", "READ") => What::Depth { direction: Direction::Read, depth: number(fields[3]) as u32 },
            ("adjust", "WRITE") => What::Depth { direction: Direction::Write, depth: number(fields[3]) as u32 },
            ("tunable", name) => What::Tune { name: name.to_owned(), value: number(fields[3]) },
            ("latency", _) => {
                // A timer expiry may log several lines, a few microseconds apart; they count as one expiry.
                if fired.last().is_none_or(|last| last + JIFFY_NS / 2 < now) {
                    fired.push(now);
                }
                continue;
            }
            _ => continue,
        };
        events.push(Event::new(now, what));
    }
    fired
}

/// Derives the phase of the jiffies from bfq's log. If a queue's logged raising time grows by one jiffy between two
/// lines, a timer tick lies between the lines. Returns the middle of the interval that is consistent with all such
/// pairs of lines.
fn bfq_tick(text: &str) -> Option<u64> {
    let mut latest: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut left: Option<(u64, u64)> = None;
    for line in text.lines().skip(1) {
        let Some((head, rest)) = line.split_once(" raising period dur ") else { continue };
        let (now, queue) = (UP_NS + number(head.split(',').next()?), head.rsplit(',').next()?);
        let raised_ns = 1_000_000 * number(rest.split('/').next()?);
        let Some((before, was_ns)) = latest.insert(queue, (now, raised_ns)) else { continue };
        if raised_ns != was_ns + JIFFY_NS || now - before > JIFFY_NS / 4 {
            continue;
        }
        let (from, to) = left.unwrap_or((before, now));
        // Shifts the times of this pair of lines by whole jiffies, so that all pairs refer to the same tick.
        let since = (before - from + JIFFY_NS / 2) / JIFFY_NS * JIFFY_NS;
        let both = (from.max(before - since), to.min(now - since));
        // Ignores a pair of log lines that contradicts the earlier pairs, because the kernel may process a tick late.
        left = Some(both).filter(|(from, to)| from < to).or(Some((from, to)));
    }
    left.map(|(from, to)| (from + to) / 2 % JIFFY_NS)
}

/// Time at which bfq chose a request, the clock of the task that chose it, and the raised weight of the queue if it was
/// in service.
type Served = (u64, Option<u64>, Option<Raised>);

/// Times at which requests were inserted, by process and CPU.
#[derive(Default)]
struct Plugs(BTreeMap<(u64, u64), Vec<u64>>);

impl Plugs {
    fn of(events: &[Event]) -> Self {
        let mut plugs = Self::default();
        for event in events.iter().filter(|event| matches!(event.what, What::Insert { .. })) {
            plugs.0.entry(event.task).or_default().push(event.now);
        }
        plugs
    }

    /// Returns the clock of a task that dispatches while its plug is being flushed. The clock stopped at the task's
    /// last insertion, so it may be behind the clock of another CPU.
    fn clock(&self, task: (u64, u64), now: u64) -> Option<u64> {
        let inserted = self.0.get(&task)?;
        let since = *inserted[..inserted.partition_point(|&time| time <= now)].last()?;
        (now - since < PLUG_NS).then_some(since)
    }
}

/// Parses the part of a log line after the queue name, which reports a raised weight.
fn raised(text: &str, asked: u64) -> Option<Raised> {
    let (lasted, rest) = text.strip_prefix(" raising period dur ")?.split_once('/')?;
    let (most, rest) = rest.split_once(" msec, old coeff ")?;
    let ns = |ms: &str| 1_000_000 * number(ms);
    let coefficient = number(rest.split(',').next()?);
    Some(Raised { coefficient, lasted_ns: ns(lasted), most_ns: ns(most), asked })
}

/// Replaces the times of insertions and dispatches with the times in bfq's log. Replaces the time of a completion only
/// if the completion ends the service of a queue. Adds the weight-raising state to dispatches, and adds an event for
/// each call in which bfq dispatched nothing.
fn bfq(text: &str, events: &mut Vec<Event>) {
    let plugs = Plugs::of(events);
    // Times of insertions, by process and CPU.
    let mut added: BTreeMap<(u64, u64), VecDeque<u64>> = BTreeMap::new();
    // Requests that bfq logged as chosen, by queue and request size; `latest` is the queue and size of the latest one.
    let mut served: BTreeMap<(String, u64), VecDeque<Served>> = BTreeMap::new();
    let mut latest = (String::new(), 0);
    // Times at which bfq ended the service of a queue, by process and CPU.
    let mut expired: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    let mut nothing = Vec::new();
    let mut in_service = "";
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.splitn(4, ',').collect();
        let (now, pid, cpu, message) = (UP_NS + number(fields[0]), number(fields[1]), number(fields[2]), fields[3]);
        if message.contains("add_request") {
            added.entry((pid, cpu)).or_default().push_back(now);
        } else if let Some((queue, sectors)) = message.split_once(" bfqq_served ") {
            latest = (queue.to_owned(), number(sectors.trim_end_matches(" secs")));
            let not_raised = Raised { coefficient: 1, lasted_ns: 0, most_ns: 0, asked: now };
            let choice = (now, plugs.clock((pid, cpu), now), (queue == in_service).then_some(not_raised));
            served.entry(latest.clone()).or_default().push_back(choice);
        } else if let Some(queue) = message.split_once(" set_in_service_queue").map(|(queue, _)| queue) {
            in_service = queue;
        } else if let Some(weight) = message.strip_prefix(&latest.0).and_then(|rest| raised(rest, now)) {
            if let Some(choice) = served.get_mut(&latest).and_then(VecDeque::back_mut) {
                choice.2 = Some(weight);
            }
        } else if message.contains(" expire (") {
            expired.entry((pid, cpu)).or_default().push(now);
        } else if message.contains("no queue returned") {
            nothing.push(Event { now, clock: plugs.clock((pid, cpu), now), task: (pid, cpu), what: What::Nothing });
        }
    }
    let mut owners: BTreeMap<(u64, Direction), VecDeque<(Bio, u64)>> = BTreeMap::new();
    for event in events.iter_mut() {
        match &mut event.what {
            What::Insert { bio, cpu } => {
                let times = added.get_mut(&(u64::from(bio.pid), u64::from(*cpu)));
                event.now = times.and_then(VecDeque::pop_front).unwrap_or(event.now);
                owners.entry((bio.start, bio.direction)).or_default().push_back((*bio, event.now));
            }
            What::Dispatch { start, direction, raised } => {
                let Some((bio, since)) = owners.get_mut(&(*start, *direction)).and_then(VecDeque::pop_front) else {
                    continue;
                };
                let (pid, sectors) = (bio.pid, u64::from(bio.sectors));
                let kinds: Vec<_> = if bio.is_sync() {
                    vec![(format!("bfq{pid}S"), sectors), ("bfqSHARED-S".to_owned(), sectors)]
                } else {
                    let queues = ["bfq0A".to_owned(), format!("bfq{pid}A")];
                    queues.into_iter().flat_map(|queue| [(queue.clone(), sectors), (queue, 3 * sectors)]).collect()
                };
                // Finds the choice in bfq's log that led to this dispatch. It is the first choice since the request's
                // insertion that has the same queue and size and is not yet assigned.
                let choices = kinds.into_iter().filter_map(|kind| {
                    let times = served.get_mut(&kind)?;
                    while times.front().is_some_and(|&(time, ..)| time < since) {
                        times.pop_front();
                    }
                    times.front().filter(|&&(time, ..)| time <= event.now).map(|&(time, ..)| (time, kind.clone()))
                });
                if let Some((_, kind)) = choices.min()
                    && let Some((time, clock, weight)) = served.get_mut(&kind).and_then(VecDeque::pop_front)
                {
                    *raised = weight;
                    (event.now, event.clock) = (time, clock);
                }
            }
            What::Complete { .. } => {
                let times = expired.get(&event.task).map_or(&[][..], Vec::as_slice);
                let next = times.get(times.partition_point(|&time| time < event.now));
                event.now = next.copied().filter(|time| time - event.now < COMPLETION_NS).unwrap_or(event.now);
            }
            _ => {}
        }
    }
    events.append(&mut nothing);
}

/// Returns the value of `name=` in a settings string.
fn setting<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("{name}="))?;
    rest.split([',', '\n', ' ']).next()
}

/// Parses the weight from a line such as `...; echo 100 > blkio.bfq.weight`.
fn group_weight(line: &str) -> Option<u64> {
    let weight = line.strip_suffix(" > blkio.bfq.weight")?;
    weight.rsplit(' ').next().map(number)
}

impl Capture {
    /// Reads the capture `name` from a folder.
    pub fn read(folder: &Path, name: &str) -> Self {
        let beside = |kind: &str| Some(folder.join(format!("{name}.{kind}"))).filter(|path| path.exists());
        let mut events = events(&unpack(&folder.join(format!("{name}.insert-dispatch-complete.csv.zst"))));
        let mut fired = Vec::new();
        if let Some(path) = beside("kyber-events.csv.zst") {
            fired = kyber(&unpack(&path), &mut events);
        }
        let log = beside("bfq-log.csv.zst");
        let mut tick_ns = fired.iter().map(|time| time % JIFFY_NS).min();
        if let Some(path) = &log {
            let text = unpack(path);
            tick_ns = bfq_tick(&text);
            bfq(&text, &mut events);
        }
        events.sort_by_key(|event| event.now);
        let setup = beside("setup.txt").map(|path| read_to_string(path).unwrap()).unwrap_or_default();
        let tunables = setup.lines().find_map(|line| line.strip_prefix("iosched/*: ")).unwrap_or_default();
        let tunables = tunables.split(", ").filter_map(|pair| pair.split_once('='));
        let depth = setup.split_once("device depth (driver tags): ").map(|(_, rest)| rest.lines().next().unwrap());
        Self {
            events,
            tunables: tunables.map(|(name, value)| (name.to_owned(), number(value))).collect(),
            weights: setup.lines().filter_map(group_weight).collect(),
            rotational: setting(&setup, "rotational") == Some("1"),
            depth: depth.filter(|_| log.is_none()).map_or(usize::MAX, |depth| number(depth) as usize),
            tick_ns,
            fired,
        }
    }
}
