//! Writeback throttling: small cases derived by hand from block/blk-wbt.c, and comparison with a simple reference model.

use proptest::prelude::*;
use ssdlab_sched::{
    Bio, BlockLayer, Direction, Dispatched, Flags, NoMerges, Operation, Options, Priority, Submitted, ThrottleCounters,
};

const MS: u64 = 1_000_000;
const TARGET: u64 = 2 * MS;
const SECTORS: u64 = 1 << 20;

fn bio(owner: u32, direction: Direction, flags: Flags) -> Bio {
    let priority = Priority::default();
    Bio { start: 64 * u64::from(owner), sectors: 8, direction, flags, pid: 1, priority, owner }
}

fn options(slots: u32, volatile_cache: bool) -> Options {
    let no_merges = NoMerges::None;
    Options {
        slots,
        nr_requests: 256,
        volatile_cache,
        no_merges,
        wbt_lat_ns: TARGET,
        ..Options::modern("none", SECTORS)
    }
}

fn read(layer: &mut BlockLayer, now: u64) -> Dispatched {
    assert_eq!(layer.submit(bio(999, Direction::Read, Flags::NONE), now), Submitted::Accepted);
    layer.next(now).unwrap()
}

/// Submits 40 writes; returns the number accepted at once.
fn accepted(layer: &mut BlockLayer, flags: Flags, now: u64) -> usize {
    let write = |&owner: &u32| layer.submit(bio(owner, Direction::Write, flags), now) == Submitted::Accepted;
    (0..40).filter(write).count()
}

#[test]
fn limits_depend_on_the_kind_of_write() {
    let after = |flags, ms| {
        let mut layer = BlockLayer::new(options(32, false)).unwrap();
        let id = read(&mut layer, 0).id;
        layer.completed(id, MS, &mut Vec::new());
        accepted(&mut layer, flags, ms * MS)
    };
    // Depth 16 on a device of 32: half for writes, a quarter in the background and within 100 ms after a read.
    assert_eq!(after(Flags::BACKGROUND, 1000), 4);
    assert_eq!(after(Flags::NONE, 100), 4);
    assert_eq!(after(Flags::NONE, 101), 8);
    assert_eq!(after(Flags::DISCARD, 101), 4);
    assert_eq!(after(Flags::META | Flags::BACKGROUND, 1), 16);
    // First writes of fsync, then O_DIRECT writes.
    assert_eq!(after(Flags::SYNC | Flags::NOIDLE, 1), 16);
    assert_eq!(after(Flags::SYNC, 1), 40);
}

#[test]
fn a_wait_for_dirty_pages_raises_the_limit_for_a_second() {
    for (ms, expected) in [(999, 16), (1000, 4)] {
        let mut layer = BlockLayer::new(options(32, false)).unwrap();
        layer.dirty_wait(0);
        assert_eq!(accepted(&mut layer, Flags::BACKGROUND, ms * MS), expected);
    }
}

#[test]
fn waiting_writes_are_released_in_order() {
    for (volatile_cache, expected) in [(false, [&[4][..], &[5], &[6], &[7]]), (true, [&[], &[], &[], &[4, 5, 6, 7]])] {
        let mut layer = BlockLayer::new(options(32, volatile_cache)).unwrap();
        assert_eq!(accepted(&mut layer, Flags::BACKGROUND, 0), 4);
        let written: Vec<Dispatched> = std::iter::from_fn(|| layer.next(0)).collect();
        assert_eq!(layer.left().waiting_bios, 36);
        assert!(layer.async_bios_wait());
        for (write, woken) in written.iter().zip(expected) {
            layer.completed(write.id, MS, &mut Vec::new());
            assert_eq!(std::iter::from_fn(|| layer.woken()).map(|bio| bio.owner).collect::<Vec<_>>(), woken);
        }
        let waited = ThrottleCounters { held_back: 36, held_back_ns: 4 * MS, ..Default::default() };
        assert_eq!(layer.throttle_counters(), Some(waited));
        // Reads overtake waiting writes.
        assert_eq!(layer.submit(bio(999, Direction::Read, Flags::NONE), 2 * MS), Submitted::Accepted);
    }
}

#[test]
fn a_read_that_does_not_end_lowers_the_depth() {
    let mut layer = BlockLayer::new(options(32, false)).unwrap();
    read(&mut layer, 0);
    assert_eq!(accepted(&mut layer, Flags::SYNC | Flags::NOIDLE, 99 * MS), 16);
    // The window began with the writes; steps 1 and 2 follow after 100 ms and another 72.7 ms.
    assert_eq!(layer.timer_ns(), Some(199 * MS));
    layer.on_timer(199 * MS);
    assert_eq!(layer.timer_ns(), Some(199 * MS + 72_727_272));
    layer.on_timer(199 * MS + 72_727_272);
    assert_eq!(layer.throttle_counters().unwrap().steps_down, 2);
    // Waiting writes are released at depth 4 once enough of the sixteen have completed.
    let writes: Vec<Dispatched> = std::iter::from_fn(|| layer.next(0)).collect();
    let woken: Vec<usize> = writes
        .iter()
        .map(|write| {
            layer.completed(write.id, 300 * MS, &mut Vec::new());
            std::iter::from_fn(|| layer.woken()).count()
        })
        .collect();
    // The threshold for release is the normal limit at depth 4, which is 2. With one in flight, three more may start.
    assert_eq!(woken, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0]);
}

#[test]
fn the_single_queue_layer_never_throttles() {
    let layer = BlockLayer::new(Options { wbt_lat_ns: TARGET, ..Options::legacy("noop", SECTORS) }).unwrap();
    assert_eq!(layer.throttle_counters(), None);
}

/// Reference model: recomputes everything from event lists at each step.
#[derive(Debug, Default)]
struct Reference {
    device: u32,
    volatile_cache: bool,
    step: i32,
    at_top: bool,
    unknown: u32,
    /// Writes and discards in flight, by owner.
    in_flight: [Vec<u32>; 2],
    waiting: [Vec<(Bio, u64)>; 2],
    /// Requests at the device: owner, true for a read, dispatch time.
    at_device: Vec<(u32, bool, u64)>,
    /// Owner of the watched read.
    watched: Option<u32>,
    /// Completions in the current window: true for a read, latency.
    ended: Vec<(bool, u64)>,
    reads_seen: Vec<u64>,
    dirty_waits: Vec<u64>,
    /// Start and end of the current window.
    window: Option<(u64, u64)>,
    counters: ThrottleCounters,
}

impl Reference {
    fn depth(&self) -> u32 {
        let mut depth = self.device.min(16);
        if self.device == 1 {
            return if self.step > 0 { 1 } else { 2 };
        }
        for _ in 0..self.step {
            depth = 1 + (depth - 1) / 2;
        }
        for _ in self.step..0 {
            depth = 1 + 2 * (depth - 1);
        }
        if self.step < 0 { depth.min(self.device * 3 / 4) } else { depth }
    }

    /// True if the latest doubling reached the highest depth.
    fn is_at_top(&self) -> bool {
        let above = |step: i32| 1.0 + (f64::from(self.device.min(16)) - 1.0) * 2_f64.powi(-step);
        match self.device {
            1 => self.step <= 0,
            device => self.step < 0 && above(self.step) > f64::from(device * 3 / 4),
        }
    }

    fn normal(&self) -> u32 {
        let depth = self.depth();
        if depth <= 2 { depth } else { (f64::from(depth) / 2.0).ceil() as u32 }
    }

    fn background(&self) -> u32 {
        let depth = self.depth();
        if depth <= 2 { 1 } else { (f64::from(depth) / 4.0).ceil() as u32 }
    }

    fn dirty_wait(&self, now: u64) -> bool {
        self.dirty_waits.iter().any(|&time| now - time < 1000 * MS)
    }

    fn limit(&self, bio: &Bio, now: u64) -> u32 {
        let urgent = bio.flags.any(Flags::SYNC) || bio.flags.any(Flags::META);
        let near = self.reads_seen.iter().any(|&time| now - time < 100 * MS);
        match () {
            () if bio.flags.any(Flags::DISCARD) => self.background(),
            () if urgent || self.dirty_wait(now) => self.depth(),
            () if bio.flags.any(Flags::BACKGROUND) || near => self.background(),
            () => self.normal(),
        }
    }

    fn admit(&mut self, class: usize, bio: &Bio, now: u64) -> bool {
        let admitted = (self.in_flight[class].len() as u32) < self.limit(bio, now);
        if admitted {
            self.in_flight[class].push(bio.owner);
            self.window = self.window.or_else(|| Some((now, now + self.window_ns())));
        }
        admitted
    }

    fn window_ns(&self) -> u64 {
        let root = (256.0 * f64::from(self.step.max(0) + 1)).sqrt().floor();
        if self.step > 0 { (1.6e9 / root).floor() as u64 } else { 100 * MS }
    }

    fn submit(&mut self, bio: Bio, now: u64) -> bool {
        if bio.direction == Direction::Read {
            self.reads_seen.push(now);
            return true;
        }
        let discard = bio.flags.any(Flags::DISCARD);
        if !discard && bio.flags.any(Flags::SYNC) && !bio.flags.any(Flags::NOIDLE) {
            return true;
        }
        let class = usize::from(discard);
        let admitted = self.waiting[class].is_empty() && self.admit(class, &bio, now);
        if !admitted {
            self.waiting[class].push((bio, now));
            self.counters.held_back += 1;
        }
        admitted
    }

    fn issue(&mut self, owner: u32, is_read: bool, now: u64) {
        self.at_device.push((owner, is_read, now));
        if is_read && self.watched.is_none() {
            self.watched = Some(owner);
        }
    }

    /// Completes a request; returns the owners released by it.
    fn complete(&mut self, owner: u32, now: u64) -> Vec<u32> {
        let position = self.at_device.iter().position(|&(at, ..)| at == owner).unwrap();
        let (_, is_read, since) = self.at_device.remove(position);
        if self.window.is_some() {
            self.ended.push((is_read, now - since));
        }
        if is_read {
            self.reads_seen.push(now);
        }
        if self.watched == Some(owner) {
            self.watched = None;
        }
        let Some(class) = (0..2).find(|&class| self.in_flight[class].contains(&owner)) else { return Vec::new() };
        self.in_flight[class].retain(|&other| other != owner);
        let left = self.in_flight[class].len() as i64;
        let limit = match class {
            1 => self.background(),
            _ if self.volatile_cache && !self.dirty_wait(now) => 0,
            _ => self.normal(),
        };
        let room = i64::from(limit) - left;
        let enough = left == 0 || (room > 0 && room >= i64::from(self.background() / 2));
        if enough { self.wake(class, now) } else { Vec::new() }
    }

    fn wake(&mut self, class: usize, now: u64) -> Vec<u32> {
        let mut woken = Vec::new();
        while let Some((bio, since)) = self.waiting[class].first().copied() {
            if !self.admit(class, &bio, now) {
                break;
            }
            self.waiting[class].remove(0);
            self.counters.held_back_ns += now - since;
            woken.push(bio.owner);
        }
        woken
    }

    fn end_window(&mut self, now: u64) -> Vec<u32> {
        let (began, end) = self.window.take().unwrap();
        assert_eq!(end, now);
        let busy = self.in_flight.iter().any(|class| !class.is_empty());
        let ended =
            |read: bool| self.ended.iter().filter(move |&&(is_read, _)| is_read == read).map(|completion| completion.1);
        let fastest = ended(true).min();
        let writes = ended(false).count();
        let pending =
            self.watched.map_or(0, |owner| now - self.at_device.iter().find(|request| request.0 == owner).unwrap().2);
        let (mut up, mut down) = (false, false);
        if pending > end - began || (pending > TARGET && fastest.is_none()) {
            down = true;
        } else if let Some(fastest) = fastest.filter(|_| writes >= 3) {
            (up, down) = (fastest <= TARGET, fastest > TARGET);
        } else if writes > 0 || busy || self.dirty_wait(now) {
            up = true;
        } else {
            self.unknown += 1;
            if self.unknown >= 5 {
                up = self.step > 0;
                if self.step < 0 && self.depth() > 1 {
                    self.step += 1;
                    self.at_top = false;
                    self.unknown = 0;
                    self.counters.steps_down += 1;
                }
            }
        }
        let mut woken = Vec::new();
        if up && !self.at_top {
            self.step -= 1;
            self.at_top = self.is_at_top();
            self.unknown = 0;
            self.counters.steps_up += 1;
            woken = self.wake(0, now);
            woken.extend(self.wake(1, now));
        }
        if down && self.depth() > 1 {
            self.step = if self.step < 0 { 0 } else { self.step + 1 };
            self.at_top = false;
            self.unknown = 0;
            self.counters.steps_down += 1;
        }
        self.ended.clear();
        if self.step != 0 || busy || !woken.is_empty() {
            self.window = Some((now, now + self.window_ns()));
        }
        woken
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Submit(Direction, Flags),
    Complete(usize),
    DirtyWait,
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let write = prop_oneof![
        6 => Just(Flags::BACKGROUND),
        3 => Just(Flags::NONE),
        1 => Just(Flags::META),
        1 => Just(Flags::SYNC | Flags::NOIDLE),
        1 => Just(Flags::SYNC),
        2 => Just(Flags::DISCARD),
    ];
    let event = prop_oneof![
        3 => Just(Event::Submit(Direction::Read, Flags::NONE)),
        9 => write.prop_map(|flags| Event::Submit(Direction::Write, flags)),
        10 => any::<usize>().prop_map(Event::Complete),
    ];
    let event = prop_oneof![60 => event, 1 => Just(Event::DirtyWait)];
    let delay = prop_oneof![8 => 0..1500_u64, 4 => 1500..20_000_u64, 1 => 20_000..800_000_u64];
    prop::collection::vec((delay, event), 1..400)
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(400))]

    #[test]
    fn matches_the_reference_model(
        slots in prop_oneof![1..4_u32, 4..64_u32],
        volatile_cache in any::<bool>(),
        events in events(),
    ) {
        let mut layer = BlockLayer::new(options(slots, volatile_cache)).unwrap();
        let mut reference = Reference { device: slots, volatile_cache, ..Reference::default() };
        let (mut now, mut at_device) = (0_u64, Vec::new());
        for (owner, (delay, event)) in events.into_iter().enumerate() {
            let then = now + 1000 * delay;
            // Windows that end before the event come first.
            while let Some(time) = layer.timer_ns().filter(|&time| time <= then) {
                prop_assert_eq!(reference.window.map(|window| window.1), Some(time));
                now = time;
                layer.on_timer(now);
                let woken = reference.end_window(now);
                prop_assert_eq!(std::iter::from_fn(|| layer.woken()).map(|bio| bio.owner).collect::<Vec<_>>(), woken);
                pull(&mut layer, &mut reference, &mut at_device, now);
            }
            now = then;
            match event {
                Event::Submit(direction, flags) => {
                    let bio = bio(owner as u32, direction, flags);
                    let admitted = reference.submit(bio, now);
                    prop_assert_eq!(layer.submit(bio, now) == Submitted::Accepted, admitted);
                }
                Event::Complete(which) if !at_device.is_empty() => {
                    let done: Dispatched = at_device.swap_remove(which % at_device.len());
                    let mut ended = Vec::new();
                    layer.completed(done.id, now, &mut ended);
                    let woken = reference.complete(ended[0].owner, now);
                    prop_assert_eq!(std::iter::from_fn(|| layer.woken()).map(|bio| bio.owner).collect::<Vec<_>>(), woken);
                }
                Event::Complete(_) => {}
                Event::DirtyWait => {
                    layer.dirty_wait(now);
                    reference.dirty_waits.push(now);
                }
            }
            pull(&mut layer, &mut reference, &mut at_device, now);
            prop_assert_eq!(layer.throttle_counters(), Some(reference.counters));
            prop_assert_eq!(layer.timer_ns(), reference.window.map(|window| window.1));
            prop_assert_eq!(layer.left().waiting_bios, reference.waiting.iter().map(Vec::len).sum::<usize>());
            // If bios of a class wait, other bios of the class are in flight, and their completion will release the
            // waiting bios.
            for class in 0..2 {
                prop_assert!(reference.waiting[class].is_empty() || !reference.in_flight[class].is_empty());
            }
        }
    }
}

/// Dispatches all possible requests; the first sector of a request identifies its bio's owner.
fn pull(layer: &mut BlockLayer, reference: &mut Reference, at_device: &mut Vec<Dispatched>, now: u64) {
    while let Some(dispatched) = layer.next(now) {
        reference.issue((dispatched.start / 64) as u32, dispatched.operation == Operation::Read, now);
        at_device.push(dispatched);
    }
}
