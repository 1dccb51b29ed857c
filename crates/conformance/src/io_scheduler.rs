//! Checks for I/O schedulers, in a block layer that gets random bios, completions and plugs.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use proptest::prelude::*;
use ssdlab_core::{Info, Unit};
use ssdlab_sched::{
    Bio, BlockLayer, BlockLayerKind, Direction, Dispatched, Flags, NoMerges, Operation, Options, Priority,
    PriorityClass, SCHEDULERS, SchedulerInfo, SchedulerRules, Submitted,
};

use crate::case::{Check, Checked, Verdict, World, check, check_limits};
use crate::parameters::{Limit, limits};

/// Number of sectors of the device.
pub const DEVICE_SECTORS: u64 = 1 << 14;

/// Number of processes that submit bios.
const PROCESSES: u32 = 4;

/// All checks of I/O schedulers, with their names.
pub const CHECKS: &[Check<&'static SchedulerInfo>] = io_scheduler_checks!([table]);

/// Input event of a block layer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// A process submits a bio.
    Submit(Bio),
    /// The device completes one of its outstanding requests. The index of the request is this number modulo the number
    /// of outstanding requests.
    Complete(usize),
    /// A process starts to plug (hold back) its requests.
    Plug(u32),
    /// A process releases the requests that it held back.
    Unplug(u32),
}

/// An input event, and its delay in microseconds after the previous event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Delayed(pub u64, pub Event);

impl Display for Delayed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(delay_us, event) = self;
        write!(f, "after {delay_us} us: ")?;
        match event {
            Event::Submit(Bio { start, sectors, direction, flags, pid, priority, .. }) => {
                let Priority { class, level } = priority;
                write!(f, "process {pid} submits {direction:?} of {sectors} sectors at {start}")?;
                write!(f, ", {flags:?}, {class:?} {level}")
            }
            Event::Complete(which) => {
                write!(f, "the device completes its outstanding request at index {which} (modulo their number)")
            }
            Event::Plug(pid) => write!(f, "process {pid} plugs"),
            Event::Unplug(pid) => write!(f, "process {pid} unplugs"),
        }
    }
}

/// A block layer with the scheduler under test.
#[derive(Clone, Debug)]
struct Layer(Options);

impl Display for Layer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Options { kind, queues, slots, nr_requests, max_sectors, no_merges, plug, tunables, .. } = &self.0;
        write!(f, "block layer: {kind:?}, queues: {queues}, slots: {slots}, nr_requests: {nr_requests}, ")?;
        write!(f, "max_sectors: {max_sectors}, no_merges: {no_merges:?}, plug: {plug}, parameters: {tunables:?}")
    }
}

/// Generates random bios. Only a few aligned addresses are used, which makes merges frequent.
fn bios() -> impl Strategy<Value = Bio> {
    let flags = prop_oneof![
        8 => Just(Flags::NONE),
        4 => Just(Flags::BACKGROUND),
        6 => Just(Flags::SYNC),
        3 => Just(Flags::SYNC | Flags::UNPLUG),
        2 => Just(Flags::SYNC | Flags::NOIDLE),
        1 => Just(Flags::META),
        1 => Just(Flags::FUA),
        1 => Just(Flags::FLUSH),
        1 => Just(Flags::BARRIER),
        1 => Just(Flags::DISCARD),
    ];
    let class = prop_oneof![
        8 => Just(PriorityClass::BestEffort),
        1 => Just(PriorityClass::RealTime),
        1 => Just(PriorityClass::Idle),
    ];
    (0..DEVICE_SECTORS / 8 - 8, 1..8u32, any::<bool>(), flags, 0..PROCESSES, class, 0..8u8).prop_map(
        |(unit, units, read, flags, pid, class, level)| {
            let ordered = flags.any(Flags::FLUSH | Flags::FUA | Flags::BARRIER | Flags::DISCARD);
            let direction = if read && !ordered { Direction::Read } else { Direction::Write };
            let sectors = if flags == Flags::FLUSH { 0 } else { 8 * units };
            // Maps a third of the addresses into a small range.
            let unit = if unit % 3 == 0 { unit % 64 } else { unit };
            Bio { start: 8 * unit, sectors, direction, flags, pid, priority: Priority { class, level }, owner: 0 }
        },
    )
}

/// Generates up to `most` random events.
pub fn events(most: usize) -> impl Strategy<Value = Vec<Delayed>> {
    let event = prop_oneof![
        10 => bios().prop_map(Event::Submit),
        5 => any::<usize>().prop_map(Event::Complete),
        1 => (0..PROCESSES).prop_map(Event::Plug),
        1 => (0..PROCESSES).prop_map(Event::Unplug),
    ];
    let delay_us = prop_oneof![3 => 0..200u64, 1 => 0..20_000u64];
    prop::collection::vec((delay_us, event).prop_map(|(delay_us, event)| Delayed(delay_us, event)), 1..most)
}

/// Generates random options for a block layer with the scheduler.
pub fn options(info: &'static SchedulerInfo) -> impl Strategy<Value = Options> {
    let merges = prop::sample::select(vec![NoMerges::All, NoMerges::LastOnly, NoMerges::None]);
    let sizes = prop_oneof![Just(1024u32), 8..80u32];
    let limits = ((1..8u32, 1..4u16), 3..40u32, sizes, merges);
    (any::<bool>(), limits, any::<[bool; 4]>(), any::<u64>()).prop_map(
        move |(legacy, limits, [volatile_cache, fua, plug, throttles], switches)| {
            let ((slots, queues), nr_requests, max_sectors, no_merges) = limits;
            let base = if legacy { Options::legacy } else { Options::modern }(info.name, DEVICE_SECTORS);
            // Sets each on/off parameter at random. Sets `region_size` to 1 MiB, because the device is small.
            let tunables = info.parameters.iter().enumerate().filter_map(|(bit, tunable)| match tunable.name {
                "region_size" => Some((tunable.name.to_owned(), 2048)),
                name => (tunable.unit == Unit::Switch).then(|| (name.to_owned(), switches >> bit & 1)),
            });
            let tunables = tunables.collect();
            let max_sectors = max_sectors.max(64);
            let wbt_lat_ns = u64::from(throttles) * 1_000_000;
            Options {
                queues: if legacy { 1 } else { queues },
                slots,
                nr_requests,
                max_sectors,
                no_merges,
                volatile_cache,
                fua,
                plug,
                tunables,
                wbt_lat_ns,
                ..base
            }
        },
    )
}

/// The host above a block layer and the device below it. Panics if a rule is broken.
pub struct Host {
    /// Block layer under test.
    pub layer: BlockLayer,
    info: &'static SchedulerInfo,
    options: Options,
    /// Current time in nanoseconds.
    pub now: u64,
    /// Requests that the device is processing.
    pub at_device: Vec<Dispatched>,
    /// All requests that the device has received so far.
    pub log: Vec<Dispatched>,
    /// Number of completions of each bio, keyed by owner number.
    pub ended: BTreeMap<u32, u64>,
    /// Submitted bios, keyed by owner number.
    pub submitted: BTreeMap<u32, Bio>,
    /// Owner numbers of blocked submissions, which wait until the block layer wakes them.
    pub asleep: Vec<u32>,
}

impl Host {
    /// Creates an idle block layer.
    ///
    /// # Panics
    /// Panics if the block layer rejects the options.
    pub fn new(info: &'static SchedulerInfo, options: Options) -> Self {
        let layer = BlockLayer::new(options.clone()).unwrap_or_else(|error| panic!("{error}"));
        Self {
            layer,
            info,
            options,
            now: 0,
            at_device: Vec::new(),
            log: Vec::new(),
            ended: BTreeMap::new(),
            submitted: BTreeMap::new(),
            asleep: Vec::new(),
        }
    }

    fn pull(&mut self) {
        while let Some(bio) = self.layer.woken() {
            let position = self.asleep.iter().position(|&owner| owner == bio.owner);
            self.asleep.swap_remove(position.expect("only sleeping owners are woken"));
        }
        while let Some(dispatched) = self.layer.next(self.now) {
            assert!(dispatched.sectors <= self.options.max_sectors, "request too large: {dispatched:?}");
            assert_eq!(dispatched.sectors == 0, dispatched.operation == Operation::Flush, "{dispatched:?}");
            self.at_device.push(dispatched);
            self.log.push(dispatched);
            assert!(
                self.slots_in_use().iter().all(|&used| used <= self.options.slots),
                "more requests in flight than device slots"
            );
        }
        let left = self.layer.left();
        assert_eq!(left.in_flight, self.at_device.len(), "number of requests in flight");
        // Without barriers and plugs, a work-conserving scheduler leaves no device slot free while a request waits.
        let plugged = self.options.kind == BlockLayerKind::SingleQueue && self.options.plug;
        if self.info.role.work_conserving && !plugged && left.queued > 0 && left.ahead == 0 {
            assert!(
                self.slots_in_use().contains(&self.options.slots) || self.has_active_barrier(),
                "{}: a slot is idle although requests wait: {left}",
                self.info.name
            );
        }
    }

    /// Returns the number of slots in use in each hardware queue.
    fn slots_in_use(&self) -> Vec<u32> {
        let mut used = vec![0; usize::from(self.options.queues)];
        for dispatched in &self.at_device {
            used[dispatched.pid as usize % usize::from(self.options.queues)] += 1;
        }
        used
    }

    fn has_active_barrier(&self) -> bool {
        self.options.kind == BlockLayerKind::SingleQueue && self.at_device.len() == 1
    }

    /// Advances time to `until` and fires due timers.
    pub fn advance(&mut self, until: u64) {
        while let Some(time) = self.layer.timer_ns().filter(|&time| time <= until) {
            self.now = self.now.max(time);
            self.layer.on_timer(self.now);
            self.pull();
            assert!(self.layer.timer_ns().is_none_or(|next| next > self.now), "an expired timer was not removed");
        }
        self.now = until;
    }

    /// Completes one of the requests at the device: the one with the index `which` modulo their number.
    pub fn complete(&mut self, which: usize) {
        if self.at_device.is_empty() {
            return;
        }
        let done = self.at_device.remove(which % self.at_device.len());
        let mut ended = Vec::new();
        self.layer.completed(done.id, self.now, &mut ended);
        // Checks that the block layer returns each bio as it was submitted, even after a merge.
        for bio in ended {
            assert_eq!(self.submitted[&bio.owner], bio);
            *self.ended.entry(bio.owner).or_default() += 1;
        }
        self.pull();
    }

    /// Applies an event; a submitted bio gets the owner number `owner`.
    pub fn apply(&mut self, delay_us: u64, event: &Event, owner: u32) {
        self.advance(self.now + 1000 * delay_us);
        match event {
            Event::Submit(bio) => {
                let bio = Bio { owner, ..*bio };
                self.submitted.insert(owner, bio);
                match self.layer.submit(bio, self.now) {
                    Submitted::Accepted => {}
                    Submitted::MustWait => self.asleep.push(owner),
                    Submitted::Ended => {
                        self.ended.insert(owner, 1);
                    }
                }
                self.pull();
            }
            Event::Complete(which) => self.complete(*which),
            Event::Plug(pid) => self.layer.plug(*pid),
            Event::Unplug(pid) => {
                self.layer.unplug(*pid, self.now);
                self.pull();
            }
        }
    }

    /// Runs until all submitted bios have completed.
    fn drain(&mut self) {
        for pid in 0..PROCESSES {
            self.layer.unplug(pid, self.now);
            self.pull();
        }
        let mut steps = 0;
        while self.ended.len() < self.submitted.len() {
            steps += 1;
            assert!(steps < 10_000, "{}: requests never complete: {}", self.info.name, self.layer.left());
            if self.at_device.is_empty() {
                let time = self.layer.timer_ns();
                let time = time.unwrap_or_else(|| {
                    panic!("{}: no event is due, but requests wait: {}", self.info.name, self.layer.left())
                });
                self.advance(time.max(self.now));
            } else {
                self.advance(self.now + 50_000);
                self.complete(0);
            }
        }
    }

    /// Applies all events, then completes all bios.
    pub fn run(info: &'static SchedulerInfo, options: &Options, events: &[Delayed]) -> Self {
        let mut host = Self::new(info, options.clone());
        for (owner, Delayed(delay_us, event)) in (0..).zip(events) {
            host.apply(*delay_us, event, owner);
        }
        host.drain();
        host
    }

    /// Compares the counters of the block layer with the submitted bios.
    ///
    /// # Panics
    /// Panics if a bio was not completed exactly once, or a counter is wrong.
    pub fn check_counts(&self) {
        let moved = |direction| -> u64 {
            let bios = self.submitted.values().filter(|bio| bio.direction == direction);
            bios.map(|bio| u64::from(bio.sectors)).sum()
        };
        let counters = self.layer.counters();
        assert_eq!(counters.dispatched_read_sectors, moved(Direction::Read), "sectors read");
        assert_eq!(counters.dispatched_write_sectors, moved(Direction::Write), "sectors written");
        assert_eq!(counters.bios, self.submitted.len() as u64, "bios");
        if self.options.no_merges == NoMerges::None {
            assert_eq!(counters.back_merges + counters.front_merges + counters.request_merges, 0, "merges");
        }
    }
}

/// Returns the scheduler if it is registered, because the block layer finds schedulers by name. Otherwise registers a
/// copy under another name, so that the scheduler's crate can still register the original name.
fn known(info: &'static SchedulerInfo) -> &'static SchedulerInfo {
    if SCHEDULERS.contains(&info) {
        return info;
    }
    let name = format!("{}-under-test", info.name);
    if let Some(known) = SCHEDULERS.find(&name) {
        return known;
    }
    let &Info { help, source, parameters, ref role, .. } = info;
    let role = SchedulerRules { ..*role };
    let copy = Box::leak(Box::new(SchedulerInfo { name: name.leak(), help, source, parameters, role }));
    // Another test may have registered the copy in the meantime.
    SCHEDULERS.register(copy).map_or_else(
        |taken| known(SCHEDULERS.find(taken.name).expect("register() rejects only names that are already registered")),
        |()| copy,
    )
}

fn with_host(
    info: &'static SchedulerInfo,
    name: &'static str,
    cases: u32,
    holds: impl Fn(&'static SchedulerInfo, &Options, &[Delayed]) -> Result<(), String>,
) -> Checked {
    let component = format!("I/O scheduler {}", info.name);
    let info = known(info);
    let worlds =
        (options(info), events(100)).prop_map(|(options, operations)| World { device: Layer(options), operations });
    check(component, name, cases, worlds, |layer, events| holds(info, &layer.0, events))
}

/// Checks that every bio is completed exactly once, the device limits are respected, and no request is stuck.
pub fn every_request_is_served_once(info: &'static SchedulerInfo) -> Checked {
    with_host(info, "every_request_is_served_once", 60, |info, options, events| {
        let host = Host::run(info, options, events);
        let left = host.layer.left();
        match host.ended.iter().find(|(_, times)| **times != 1) {
            Some((owner, times)) => {
                Err(format!("the bio of event {} was completed {times} times instead of once", owner + 1))
            }
            None if !host.asleep.is_empty() || left != Default::default() => {
                Err(format!("all bios were completed, but the block layer still holds {left}"))
            }
            None => Ok(()),
        }
    })
}

/// Checks that the block layer's counts of sectors, bios and merges agree with the submitted bios.
pub fn counts_add_up(info: &'static SchedulerInfo) -> Checked {
    with_host(info, "counts_add_up", 40, |info, options, events| {
        Host::run(info, options, events).check_counts();
        Ok(())
    })
}

/// Checks that identical events lead to identical dispatches.
pub fn equal_runs_are_equal(info: &'static SchedulerInfo) -> Checked {
    with_host(info, "equal_runs_are_equal", 40, |info, options, events| {
        let [one, two] = [(); 2].map(|()| Host::run(info, options, events).log);
        match (1..).zip(one.iter().zip(&two)).find(|(_, (one, two))| one != two) {
            Some((number, (one, two))) => {
                Err(format!("request {number} is {one:?} in the first run, but {two:?} in the second"))
            }
            None => Ok(()),
        }
    })
}

/// Checks that a scheduler with `bounded_wait` dispatches an old write while reads of another process keep arriving.
pub fn waits_are_bounded(info: &'static SchedulerInfo) -> Checked {
    if !info.role.bounded_wait {
        return Ok(Verdict::Skipped("the scheduler declares bounded_wait: false"));
    }
    with_host(info, "waits_are_bounded", 1, |info, _, _| {
        let base = if info.role.kind == BlockLayerKind::SingleQueue { Options::legacy } else { Options::modern };
        let options = Options { slots: 1, plug: false, no_merges: NoMerges::None, ..base(info.name, DEVICE_SECTORS) };
        let mut host = Host::new(info, options);
        let bio = |start, direction, pid| {
            let (flags, priority) = (Flags::NONE, Priority::default());
            Event::Submit(Bio { start, sectors: 8, direction, flags, pid, priority, owner: 0 })
        };
        // A write at the end of the device waits while the device serves a read.
        host.apply(0, &bio(8000, Direction::Read, 1), 0);
        host.apply(0, &bio(16_000, Direction::Write, 2), 1);
        let mut rounds = 0;
        while !host.ended.contains_key(&1) {
            rounds += 1;
            if rounds == 100_000 {
                return Err("a write is never dispatched while reads keep arriving".to_owned());
            }
            // After each completion, another process submits two more reads, unless a process is waiting for a free
            // request.
            for k in 0..2 {
                if host.asleep.is_empty() {
                    host.apply(100, &bio(8 * (rounds % 900), Direction::Read, 1), 2 * rounds as u32 + k);
                }
            }
            host.advance(host.now + 100_000);
            host.complete(0);
        }
        Ok(())
    })
}

/// Sets each parameter to its smallest and then to its largest value, and checks that every bio is completed. Skips
/// values that the block layer rejects.
pub fn parameters_work_at_their_limits(info: &'static SchedulerInfo) -> Checked {
    check_limits(limits(info.parameters), |Limit { at, value }| {
        let tunables = vec![(info.parameters[at].name.to_owned(), value)];
        with_host(info, "parameters_work_at_their_limits", 4, |info, options, events| {
            let options = Options { tunables: tunables.clone(), ..options.clone() };
            if BlockLayer::new(options.clone()).is_ok() {
                Host::run(info, &options, events);
            }
            Ok(())
        })
    })
}
