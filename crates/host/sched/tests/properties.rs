//! Properties of every registered scheduler in both frames, for arbitrary input.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ssdlab_core::Unit;
use ssdlab_sched::{
    Bio, BlockLayer, BlockLayerKind, Direction, Dispatched, Flags, NoMerges, Operation, Options, Priority,
    PriorityClass, SCHEDULERS, SchedulerInfo, Submitted,
};

const DEVICE_SECTORS: u64 = 1 << 14;

/// Input event.
#[derive(Clone, Debug)]
enum Event {
    Submit(Bio),
    /// The device completes one of its requests, with this index modulo their number.
    Complete(usize),
    Plug(u32),
    Unplug(u32),
}

fn bios() -> impl Strategy<Value = Bio> {
    // Few aligned addresses, so that merges occur.
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
    (0..DEVICE_SECTORS / 8 - 8, 1..8u32, any::<bool>(), flags, 0..4u32, class, 0..8u8).prop_map(
        |(unit, units, read, flags, pid, class, level)| {
            let ordered = flags.any(Flags::FLUSH | Flags::FUA | Flags::BARRIER | Flags::DISCARD);
            let direction = if read && !ordered { Direction::Read } else { Direction::Write };
            let sectors = if flags == Flags::FLUSH { 0 } else { 8 * units };
            // A third of the addresses are close together.
            let unit = if unit % 3 == 0 { unit % 64 } else { unit };
            Bio { start: 8 * unit, sectors, direction, flags, pid, priority: Priority { class, level }, owner: 0 }
        },
    )
}

/// Generates events, each with its delay after the previous one in microseconds.
fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![
        10 => bios().prop_map(Event::Submit),
        5 => any::<usize>().prop_map(Event::Complete),
        1 => (0..4u32).prop_map(Event::Plug),
        1 => (0..4u32).prop_map(Event::Unplug),
    ];
    prop::collection::vec((prop_oneof![3 => 0..200u64, 1 => 0..20_000u64], event), 1..250)
}

fn options() -> impl Strategy<Value = (&'static SchedulerInfo, Options)> {
    let scheduler = prop::sample::select(SCHEDULERS.to_vec());
    let merges = prop::sample::select(vec![NoMerges::All, NoMerges::LastOnly, NoMerges::None]);
    let sizes = prop_oneof![Just(1024u32), 8..80u32];
    (scheduler, any::<bool>(), (1..8u32, 1..4u16), 3..40u32, sizes, merges, any::<[bool; 4]>(), any::<u64>()).prop_map(
        |(
            info,
            legacy,
            (slots, queues),
            nr_requests,
            max_sectors,
            no_merges,
            [volatile_cache, fua, plug, throttles],
            switches,
        )| {
            let base = if legacy { Options::legacy } else { Options::modern }(info.name, DEVICE_SECTORS);
            // Random switches; regions of 1 MiB, so that the small device has several.
            let tunables = info.parameters.iter().enumerate().filter_map(|(bit, tunable)| match tunable.name {
                "region_size" => Some((tunable.name.to_owned(), 2048)),
                name => (tunable.unit == Unit::Switch).then(|| (name.to_owned(), switches >> bit & 1)),
            });
            let tunables = tunables.collect();
            let max_sectors = max_sectors.max(64);
            let wbt_lat_ns = u64::from(throttles) * 1_000_000;
            let options = Options {
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
            };
            (info, options)
        },
    )
}

/// A block layer with a device under test control.
struct World {
    layer: BlockLayer,
    info: &'static SchedulerInfo,
    options: Options,
    now: u64,
    at_device: Vec<Dispatched>,
    log: Vec<Dispatched>,
    ended: BTreeMap<u32, u64>,
    submitted: BTreeMap<u32, Bio>,
    asleep: Vec<u32>,
}

impl World {
    fn new(info: &'static SchedulerInfo, options: Options) -> Self {
        let layer = BlockLayer::new(options.clone()).unwrap();
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
            assert!(self.slots_in_use().iter().all(|&used| used <= self.options.slots));
        }
        let left = self.layer.left();
        assert_eq!(left.in_flight, self.at_device.len());
        // Except for barriers and plugs, a work-conserving scheduler leaves no slot free while a request waits.
        let plugged = self.options.kind == BlockLayerKind::SingleQueue && self.options.plug;
        if self.info.role.work_conserving && !plugged && left.queued > 0 && left.ahead == 0 {
            assert!(
                self.slots_in_use().contains(&self.options.slots) || self.has_active_barrier(),
                "{}: idle with {left}",
                self.info.name
            );
        }
    }

    /// Returns the slots in use of each hardware queue.
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
    fn advance(&mut self, until: u64) {
        while let Some(time) = self.layer.timer_ns().filter(|&time| time <= until) {
            self.now = self.now.max(time);
            self.layer.on_timer(self.now);
            self.pull();
            assert!(self.layer.timer_ns().is_none_or(|next| next > self.now), "an expired timer is still due");
        }
        self.now = until;
    }

    fn complete(&mut self, which: usize) {
        if self.at_device.is_empty() {
            return;
        }
        let done = self.at_device.remove(which % self.at_device.len());
        let mut ended = Vec::new();
        self.layer.completed(done.id, self.now, &mut ended);
        // Merging does not change bios.
        for bio in ended {
            assert_eq!(self.submitted[&bio.owner], bio);
            *self.ended.entry(bio.owner).or_default() += 1;
        }
        self.pull();
    }

    fn apply(&mut self, delay: u64, event: &Event, owner: u32) {
        self.advance(self.now + 1000 * delay);
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
        for pid in 0..4 {
            self.layer.unplug(pid, self.now);
            self.pull();
        }
        let mut steps = 0;
        while self.ended.len() < self.submitted.len() {
            steps += 1;
            assert!(steps < 10_000, "{}: no progress: {}", self.info.name, self.layer.left());
            if self.at_device.is_empty() {
                let time = self.layer.timer_ns();
                let time = time.unwrap_or_else(|| panic!("{}: stuck: {}", self.info.name, self.layer.left()));
                self.advance(time.max(self.now));
            } else {
                self.advance(self.now + 50_000);
                self.complete(0);
            }
        }
    }
}

fn run(info: &'static SchedulerInfo, options: &Options, events: &[(u64, Event)]) -> World {
    let mut world = World::new(info, options.clone());
    for (owner, (delay, event)) in events.iter().enumerate() {
        world.apply(*delay, event, owner as u32);
    }
    world.drain();
    world
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(400))]

    #[test]
    fn everything_is_served_exactly_once((info, options) in options(), events in events()) {
        let world = run(info, &options, &events);
        prop_assert!(world.ended.values().all(|&times| times == 1));
        prop_assert!(world.asleep.is_empty());
        prop_assert_eq!(world.layer.left(), Default::default());
        let moved = |direction| -> u64 {
            world.submitted.values().filter(|bio| bio.direction == direction).map(|bio| u64::from(bio.sectors)).sum()
        };
        let counters = world.layer.counters();
        prop_assert_eq!(counters.dispatched_read_sectors, moved(Direction::Read));
        prop_assert_eq!(counters.dispatched_write_sectors, moved(Direction::Write));
        prop_assert_eq!(counters.bios, world.submitted.len() as u64);
        if options.no_merges == NoMerges::None {
            prop_assert_eq!(counters.back_merges + counters.front_merges + counters.request_merges, 0);
        }
    }

    #[test]
    fn equal_input_gives_equal_dispatches((info, options) in options(), events in events()) {
        let (first, second) = (run(info, &options, &events), run(info, &options, &events));
        prop_assert_eq!(first.log, second.log);
    }

    /// Without a scheduler and throttling, hardware queues behave as independent layers.
    #[test]
    fn hardware_queues_are_independent((_, options) in options(), events in events(), queues in 2..4_u16) {
        let info = SCHEDULERS.get("none").unwrap();
        let Options { slots, nr_requests, max_sectors, no_merges, volatile_cache, fua, .. } = options;
        let base = Options::modern(info.name, DEVICE_SECTORS);
        let alone = Options { slots, nr_requests, max_sectors, no_merges, volatile_cache, fua, ..base };
        let mut whole = World::new(info, Options { queues, ..alone.clone() });
        let mut parts: Vec<World> = (0..queues).map(|_| World::new(info, alone.clone())).collect();
        let queue = |pid: u32| (pid % u32::from(queues)) as usize;
        // Completes the same request in both: the one of equal age in its queue.
        let complete = |whole: &mut World, parts: &mut [World], which: usize| {
            let Some(which) = which.checked_rem(whole.at_device.len()) else { return };
            let own = queue(whole.at_device[which].pid);
            let older = whole.at_device[..which].iter().filter(|rq| queue(rq.pid) == own).count();
            whole.complete(which);
            parts[own].complete(older);
        };
        for (owner, (delay, event)) in events.iter().enumerate() {
            let (now, owner) = (whole.now + 1000 * delay, owner as u32);
            whole.advance(now);
            parts.iter_mut().for_each(|part| part.advance(now));
            match event {
                Event::Submit(Bio { pid, .. }) | Event::Plug(pid) | Event::Unplug(pid) => {
                    whole.apply(0, event, owner);
                    parts[queue(*pid)].apply(0, event, owner);
                }
                Event::Complete(which) => complete(&mut whole, &mut parts, *which),
            }
        }
        for pid in 0..4 {
            whole.apply(0, &Event::Unplug(pid), 0);
            parts[queue(pid)].apply(0, &Event::Unplug(pid), 0);
        }
        while !whole.at_device.is_empty() {
            complete(&mut whole, &mut parts, 0);
        }
        let summary = |rq: &Dispatched| (rq.operation, rq.start, rq.sectors, rq.arrived);
        for (number, part) in parts.iter().enumerate() {
            let own = whole.log.iter().filter(|rq| queue(rq.pid) == number);
            prop_assert_eq!(own.map(summary).collect::<Vec<_>>(), part.log.iter().map(summary).collect::<Vec<_>>());
        }
        let total = |count: fn(&World) -> u64| parts.iter().map(count).sum::<u64>();
        prop_assert_eq!(whole.ended.len() as u64, total(|part| part.ended.len() as u64));
        prop_assert_eq!(whole.layer.counters().bios_waited, total(|part| part.layer.counters().bios_waited));
        prop_assert_eq!(whole.layer.counters().requests, total(|part| part.layer.counters().requests));
    }

    #[test]
    fn regions_and_kinds_do_not_merge((_, options) in options(), events in events()) {
        let info = SCHEDULERS.get("pardispatcher").unwrap();
        let tunables = vec![("region_size".to_owned(), 2048)];
        let world = run(info, &Options { scheduler: info.name.to_owned(), tunables, ..options }, &events);
        for dispatched in world.log.iter().filter(|dispatched| dispatched.sectors > 56) {
            // Longer than any bio, so merged: all its bios begin in the request's region.
            let last = dispatched.start + u64::from(dispatched.sectors) - 1;
            prop_assert!(last - dispatched.start / 2048 * 2048 < 2048 + 56);
        }
    }
}

/// Schedulers with `bounded_wait` dispatch an old request although newer, preferred ones keep arriving.
#[test]
fn waits_are_bounded() {
    for info in SCHEDULERS.iter().filter(|info| info.role.bounded_wait) {
        let base = if info.role.kind == BlockLayerKind::SingleQueue { Options::legacy } else { Options::modern };
        let options = Options { slots: 1, plug: false, no_merges: NoMerges::None, ..base(info.name, DEVICE_SECTORS) };
        let mut world = World::new(info, options);
        let bio = |start, direction, pid| {
            let (flags, priority) = (Flags::NONE, Priority::default());
            Event::Submit(Bio { start, sectors: 8, direction, flags, pid, priority, owner: 0 })
        };
        // The device is busy with a read; a write at its end waits.
        world.apply(0, &bio(8000, Direction::Read, 1), 0);
        world.apply(0, &bio(16_000, Direction::Write, 2), 1);
        let mut rounds = 0;
        while !world.ended.contains_key(&1) {
            rounds += 1;
            assert!(rounds < 100_000, "{}: a write starves", info.name);
            // Two more reads of another process per completion, while requests are free.
            for k in 0..2 {
                if world.asleep.is_empty() {
                    world.apply(100, &bio(8 * (rounds % 900), Direction::Read, 1), 2 * rounds as u32 + k);
                }
            }
            world.advance(world.now + 100_000);
            world.complete(0);
        }
    }
}
