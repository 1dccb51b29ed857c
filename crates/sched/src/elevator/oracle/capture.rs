//! What a kernel was seen to do: a capture, read from its files.
//!
//! `NAME.insert-dispatch-complete.csv.zst` has the kernel's events `block_rq_insert`, `block_rq_issue`,
//! `block_rq_complete` and those of merges: `time_ns,event,op,sector,bytes,pid,cpu` and, where priorities matter,
//! `rwbs,ioprio`. `event` is I(nserted), D(ispatched), C(ompleted), M (a bio merged at the back) or F (at the front);
//! `op` is R(ead), W(rite) or F(lush), which goes around schedulers. Beside it lie, where there are any,
//! `NAME.setup.txt` with tunables and the device, `NAME.kyber-events.csv.zst` with the depths that kyber sets, and
//! `NAME.bfq-log.csv.zst` with the log that bfq writes under its lock. Excerpts begin as whole captures do, and leave out
//! lines of logs that are not read here.

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
    /// A request was chosen.
    Dispatch { start: u64, direction: Direction },
    /// The scheduler was asked and gave nothing.
    Nothing,
    /// A request ended.
    Complete { start: u64, direction: Direction },
    /// A tunable was set.
    Tune { name: String, value: u64 },
    /// The kernel set the depth of a domain.
    Depth { direction: Direction, depth: u32 },
}

/// A thing that happened and when.
#[derive(Clone, Debug)]
pub struct Event {
    pub now: u64,
    pub what: What,
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
                "D" => What::Dispatch { start, direction },
                "C" => What::Complete { start, direction },
                "M" => What::Merge { bio, front: false },
                "F" => What::Merge { bio, front: true },
                other => panic!("unknown event {other}"),
            };
            Event { now: number(fields[0]), what }
        })
        .collect()
}

/// Adds what kyber told. Returns when its timer fired, as far as is known.
fn kyber(text: &str, events: &mut Vec<Event>) -> Vec<u64> {
    let mut fired = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let now = number(fields[0]);
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
        events.push(Event { now, what });
    }
    fired
}

/// When a jiffy begins, if bfq tells it: between two lines in which the time of a raised weight differs by one.
fn bfq_tick(text: &str) -> Option<u64> {
    let mut latest: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut narrowest: Option<(u64, u64)> = None;
    for line in text.lines().skip(1) {
        let Some((head, rest)) = line.split_once(" raising period dur ") else { continue };
        let (now, queue) = (number(head.split(',').next()?), head.rsplit(',').next()?);
        let raised_ns = 1_000_000 * number(rest.split('/').next()?);
        let Some((before, was_ns)) = latest.insert(queue, (now, raised_ns)) else { continue };
        let apart = now - before;
        if raised_ns == was_ns + JIFFY_NS && narrowest.is_none_or(|(least, _)| apart < least) {
            narrowest = Some((apart, now % JIFFY_NS));
        }
    }
    narrowest.map(|(_, tick_ns)| tick_ns)
}

/// Moves insertions and dispatches to when bfq says that it did them, and adds when it gave nothing.
fn bfq(text: &str, events: &mut Vec<Event>) {
    // By process and processor: when requests were added. By queue and sectors: when requests were chosen.
    let mut added: BTreeMap<(u64, u64), VecDeque<u64>> = BTreeMap::new();
    let mut served: BTreeMap<(String, u64), VecDeque<u64>> = BTreeMap::new();
    let mut nothing = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.splitn(4, ',').collect();
        let (now, pid, cpu, message) = (number(fields[0]), number(fields[1]), number(fields[2]), fields[3]);
        if message.contains("add_request") {
            added.entry((pid, cpu)).or_default().push_back(now);
        } else if let Some((queue, sectors)) = message.split_once(" bfqq_served ") {
            let sectors = number(sectors.trim_end_matches(" secs"));
            served.entry((queue.to_owned(), sectors)).or_default().push_back(now);
        } else if message.contains("no queue returned") {
            nothing.push(Event { now, what: What::Nothing });
        }
    }
    let mut owners: BTreeMap<(u64, Direction), VecDeque<(Bio, u64)>> = BTreeMap::new();
    for event in events.iter_mut() {
        match &event.what {
            What::Insert { bio, cpu } => {
                let times = added.get_mut(&(u64::from(bio.pid), u64::from(*cpu)));
                event.now = times.and_then(VecDeque::pop_front).unwrap_or(event.now);
                owners.entry((bio.start, bio.direction)).or_default().push_back((*bio, event.now));
            }
            What::Dispatch { start, direction } => {
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
                    while times.front().is_some_and(|&time| time < since) {
                        times.pop_front();
                    }
                    times.front().filter(|&&time| time <= event.now).map(|&time| (time, kind.clone()))
                });
                if let Some((time, kind)) = choices.min() {
                    served.get_mut(&kind).map(VecDeque::pop_front);
                    event.now = time;
                }
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
