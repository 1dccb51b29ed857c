//! What a kernel was seen to do: a capture, read from its files.
//!
//! `NAME.insert-dispatch-complete.csv.zst` has the kernel's events `block_rq_insert`, `block_rq_issue`,
//! `block_rq_complete` and those of merges: `time_ns,event,op,sector,bytes,pid,cpu` and, where priorities matter,
//! `rwbs,ioprio`. `event` is I(nserted), D(ispatched), C(ompleted), M (a bio merged at the back) or F (at the front);
//! `op` is R(ead), W(rite) or F(lush), which goes around schedulers. Beside it lie, where there are any,
//! `NAME.setup.txt` with tunables and the device, `NAME.kyber-events.csv.zst` with the depths that kyber sets, and
//! `NAME.bfq-log.csv.zst` with the log that bfq writes under its lock. Excerpts begin as whole captures do, and leave
//! out lines of logs that are not read here.

#![cfg(test)]

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, read_to_string};
use std::path::Path;

use crate::bio::{Bio, Direction, Flags, Priority, PriorityClass};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A request came to the scheduler through the software queue of a processor.
    Insert { bio: Bio, cpu: u16 },
    /// A bio became part of a request, behind or in front of it.
    Merge { bio: Bio, front: bool },
    /// A request was chosen; how far the weight of its queue was raised, if the kernel tells.
    Dispatch { start: u64, direction: Direction, raised: Option<Raised> },
    /// The scheduler was asked and gave nothing.
    Nothing,
    /// A request ended.
    Complete { start: u64, direction: Direction },
    /// A tunable was set.
    Tune { name: String, value: u64 },
    /// The kernel set the depth of a domain.
    Depth { direction: Direction, depth: u32 },
}

/// How far the weight of the queue in service is raised when a request of it is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raised {
    /// What its weight is multiplied by; 1 if it is not raised.
    pub coefficient: u64,
    /// How long it was raised when it was asked, and for how long at most.
    pub lasted_ns: u64,
    pub most_ns: u64,
    pub asked: u64,
}

/// A thing that happened and when.
#[derive(Clone, Debug)]
pub struct Event {
    pub now: u64,
    /// What the kernel's clock says then if it is another time: while requests are plugged, it stands still.
    pub clock: Option<u64>,
    /// Process and processor at work; zeros if unknown.
    task: (u64, u64),
    pub what: What,
}

impl Event {
    pub fn new(now: u64, what: What) -> Self {
        Self { now, clock: None, task: (0, 0), what }
    }
}

/// What a kernel was seen to do, and with which settings.
#[derive(Debug)]
pub struct Capture {
    pub events: Vec<Event>,
    /// Tunables; those that are not named have their defaults.
    pub tunables: Vec<(String, u64)>,
    /// Weights of groups (cgroups), in the order in which their processes begin.
    pub weights: Vec<u64>,
    pub rotational: bool,
    /// Requests that the device takes at a time, which tells when choices were made where nothing else does.
    pub depth: usize,
    /// When timers fired, and when jiffies, of 4 ms, begin, as far as is known.
    pub fired: Vec<u64>,
    pub tick_ns: Option<u64>,
}

/// How long a jiffy of the kernels captured is.
pub const JIFFY_NS: u64 = 4_000_000;
/// The kernel had been up for long when a capture began, in whole jiffies: its first request is no start of time.
const UP_NS: u64 = 100_000_000_000;
/// A task dispatches from the plug with which it inserted so soon before.
const PLUG_NS: u64 = 200_000;
/// bfq learns of a completion so soon after the kernel's event.
const COMPLETION_NS: u64 = 100_000;

fn unpack(path: &Path) -> String {
    let text = zstd::decode_all(File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    String::from_utf8(text.unwrap()).unwrap()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number"))
}

/// A class and a level, such as `be4`; without a class the process has what processes have.
fn priority(text: &str) -> Priority {
    let classes = [("rt", PriorityClass::RealTime), ("be", PriorityClass::BestEffort), ("idle", PriorityClass::Idle)];
    let known = classes.iter().find_map(|&(name, class)| Some((class, text.strip_prefix(name)?)));
    known.map_or_else(Priority::default, |(class, level)| Priority { class, level: number(level) as u8 })
}

fn events(text: &str) -> Vec<Event> {
    // By processor: the task that inserted a request last, and when.
    let mut plugs: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    rows.filter(|fields| fields[2] != "F")
        .map(|fields| {
            let direction = if fields[2] == "R" { Direction::Read } else { Direction::Write };
            let (start, sectors) = (number(fields[3]), (number(fields[4]) / 512) as u32);
            // Without flags all is taken to be synchronous.
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
            // Whatever ends, ends in an interrupt.
            let asked = !matches!(what, What::Complete { .. });
            let plug = plugs.get(&cpu).filter(|(task, since)| asked && *task == pid && now - since < PLUG_NS);
            Event { now, clock: plug.map(|&(_, since)| since), task: (pid, cpu), what }
        })
        .collect()
}

/// Adds what kyber told. Returns when its timer fired, as far as is known.
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
                // What one timer tells takes some microseconds.
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

/// When jiffies begin, if bfq tells it: between two lines in which the time of a raised weight differs by one, amid
/// what all such pairs leave.
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
        // The pair as if it had come when the first one did.
        let since = (before - from + JIFFY_NS / 2) / JIFFY_NS * JIFFY_NS;
        let both = (from.max(before - since), to.min(now - since));
        // A tick may be late.
        left = Some(both).filter(|(from, to)| from < to).or(Some((from, to)));
    }
    left.map(|(from, to)| (from + to) / 2 % JIFFY_NS)
}

/// When a request was chosen, the clock of the task that chose it, and how far the weight of its queue was raised if that
/// was in service.
type Served = (u64, Option<u64>, Option<Raised>);

/// Times at which tasks inserted requests, by process and processor.
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

    /// The clock of a task that asks for a request while its plug is flushed. It stands still since the insertion, and may
    /// lag behind the clock of another processor.
    fn clock(&self, task: (u64, u64), now: u64) -> Option<u64> {
        let inserted = self.0.get(&task)?;
        let since = *inserted[..inserted.partition_point(|&time| time <= now)].last()?;
        (now - since < PLUG_NS).then_some(since)
    }
}

/// What follows the name of a queue in a line that tells how far its weight is raised.
fn raised(text: &str, asked: u64) -> Option<Raised> {
    let (lasted, rest) = text.strip_prefix(" raising period dur ")?.split_once('/')?;
    let (most, rest) = rest.split_once(" msec, old coeff ")?;
    let ns = |ms: &str| 1_000_000 * number(ms);
    let coefficient = number(rest.split(',').next()?);
    Some(Raised { coefficient, lasted_ns: ns(lasted), most_ns: ns(most), asked })
}

/// Moves insertions, dispatches and completions that end a turn to when bfq says that it did them. Adds how far weights
/// were raised then, and when it gave nothing.
fn bfq(text: &str, events: &mut Vec<Event>) {
    // By process and processor: when requests were added. By queue and sectors: when requests were chosen. The queue in
    // service, and the one that was served last.
    let plugs = Plugs::of(events);
    let mut added: BTreeMap<(u64, u64), VecDeque<u64>> = BTreeMap::new();
    let mut served: BTreeMap<(String, u64), VecDeque<Served>> = BTreeMap::new();
    let mut expired: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    let mut nothing = Vec::new();
    let mut in_service = "";
    let mut latest = (String::new(), 0);
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.splitn(4, ',').collect();
        let (now, pid, cpu, message) = (UP_NS + number(fields[0]), number(fields[1]), number(fields[2]), fields[3]);
        if message.contains("add_request") {
            added.entry((pid, cpu)).or_default().push_back(now);
        } else if let Some((queue, sectors)) = message.split_once(" bfqq_served ") {
            latest = (queue.to_owned(), number(sectors.trim_end_matches(" secs")));
            let not = Raised { coefficient: 1, lasted_ns: 0, most_ns: 0, asked: now };
            let choice = (now, plugs.clock((pid, cpu), now), (queue == in_service).then_some(not));
            served.entry(latest.clone()).or_default().push_back(choice);
        } else if let Some(queue) = message.split_once(" set_in_service_queue").map(|(queue, _)| queue) {
            in_service = queue;
        } else if let Some(told) = message.strip_prefix(&latest.0).and_then(|rest| raised(rest, now)) {
            if let Some(choice) = served.get_mut(&latest).and_then(VecDeque::back_mut) {
                choice.2 = Some(told);
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
                // The earliest choice of such a request since it was added that no other dispatch followed.
                let choices = kinds.into_iter().filter_map(|kind| {
                    let times = served.get_mut(&kind)?;
                    while times.front().is_some_and(|&(time, ..)| time < since) {
                        times.pop_front();
                    }
                    times.front().filter(|&&(time, ..)| time <= event.now).map(|&(time, ..)| (time, kind.clone()))
                });
                if let Some((_, kind)) = choices.min()
                    && let Some((time, clock, told)) = served.get_mut(&kind).and_then(VecDeque::pop_front)
                {
                    *raised = told;
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

/// The value of `name=` in a text of settings.
fn setting<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("{name}="))?;
    rest.split([',', '\n', ' ']).next()
}

/// The weight in `...; echo 100 > blkio.bfq.weight`.
fn group_weight(line: &str) -> Option<u64> {
    let weight = line.strip_suffix(" > blkio.bfq.weight")?;
    weight.rsplit(' ').next().map(number)
}

impl Capture {
    /// The capture of so many requests at the device at most that is called `name` in a folder.
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
