//! Writeback throttling: small situations worked out from block/blk-wbt.c by hand, and a twin that is slow and obvious.

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

/// How many of 40 writes go on.
fn accepted(layer: &mut BlockLayer, flags: Flags, now: u64) -> usize {
    let write = |&owner: &u32| layer.submit(bio(owner, Direction::Write, flags), now) == Submitted::Accepted;
    (0..40).filter(write).count()
}

#[test]
fn limits_depend_on_who_writes() {
    let after = |flags, ms| {
        let mut layer = BlockLayer::new(options(32, false)).unwrap();
        let id = read(&mut layer, 0).id;
        layer.completed(id, MS, &mut Vec::new());
        accepted(&mut layer, flags, ms * MS)
    };
    // Depth 16 of a device of 32: half for writes, a quarter in the background and within 100 ms of the end of a read.
    assert_eq!(after(Flags::BACKGROUND, 1000), 4);
    assert_eq!(after(Flags::NONE, 100), 4);
    assert_eq!(after(Flags::NONE, 101), 8);
    assert_eq!(after(Flags::DISCARD, 101), 4);
    assert_eq!(after(Flags::META | Flags::BACKGROUND, 1), 16);
    // Of fsync, and O_DIRECT.
    assert_eq!(after(Flags::SYNC | Flags::NOIDLE, 1), 16);
    assert_eq!(after(Flags::SYNC, 1), 40);
}

#[test]
fn writers_that_wait_for_dirty_pages_raise_the_limit_for_a_second() {
    for (ms, expected) in [(999, 16), (1000, 4)] {
        let mut layer = BlockLayer::new(options(32, false)).unwrap();
        layer.dirty_wait(0);
        assert_eq!(accepted(&mut layer, Flags::BACKGROUND, ms * MS), expected);
    }
}

#[test]
fn writes_go_on_in_order_when_others_end_or_the_drives_cache_has_none_left() {
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
        // A read passes them all.
        assert_eq!(layer.submit(bio(999, Direction::Read, Flags::NONE), 2 * MS), Submitted::Accepted);
    }
}

#[test]
fn a_read_that_does_not_end_lowers_the_depth() {
    let mut layer = BlockLayer::new(options(32, false)).unwrap();
    read(&mut layer, 0);
    assert_eq!(accepted(&mut layer, Flags::SYNC | Flags::NOIDLE, 99 * MS), 16);
    // The window began with the writes; steps 1 and 2 follow each other in 100 ms and 72.7 ms.
    assert_eq!(layer.timer_ns(), Some(199 * MS));
    layer.on_timer(199 * MS);
    assert_eq!(layer.timer_ns(), Some(199 * MS + 72_727_272));
    layer.on_timer(199 * MS + 72_727_272);
    assert_eq!(layer.throttle_counters().unwrap().steps_down, 2);
    // Depth 4: twelve of sixteen have to end before one that waits can go on; there is room for half the background's.
    let writes: Vec<Dispatched> = std::iter::from_fn(|| layer.next(0)).collect();
    let woken: Vec<usize> = writes
        .iter()
        .map(|write| {
            layer.completed(write.id, 300 * MS, &mut Vec::new());
            std::iter::from_fn(|| layer.woken()).count()
        })
        .collect();
    // Limit of waking: 2 are normal at depth 4. With one in flight four may be, and so three go on.
    assert_eq!(woken, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0]);
}

#[test]
fn the_legacy_frame_never_throttles() {
    let layer = BlockLayer::new(Options { wbt_lat_ns: TARGET, ..Options::legacy("noop", SECTORS) }).unwrap();
    assert_eq!(layer.throttle_counters(), None);
}

/// What the kernel keeps of a request, and throttling done by recounting everything each time.
#[derive(Debug, Default)]
struct Twin {
    device: u32,
    volatile_cache: bool,
    step: i32,
    at_top: bool,
    unknown: u32,
    /// Writes and discards without those that wait, by owner.
    in_flight: [Vec<u32>; 2],
    waiting: [Vec<(Bio, u64)>; 2],
    /// Requests at the device: owner, whether a read, since when.
    at_device: Vec<(u32, bool, u64)>,
    /// The read that is watched.
    watched: Option<u32>,
    /// Requests that ended at the device in the present window: whether reads, and how long they were there.
    ended: Vec<(bool, u64)>,
    reads_seen: Vec<u64>,
    dirty_waits: Vec<u64>,
    /// Beginning and end of the present window.
    window: Option<(u64, u64)>,
    counters: ThrottleCounters,
}

impl Twin {
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

    /// Whether the step up that led here met the highest depth.
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

    fn go_on(&mut self, line: usize, bio: &Bio, now: u64) -> bool {
        let goes = (self.in_flight[line].len() as u32) < self.limit(bio, now);
        if goes {
            self.in_flight[line].push(bio.owner);
            self.window = self.window.or_else(|| Some((now, now + self.window_ns())));
        }
        goes
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
        let line = usize::from(discard);
        let goes = self.waiting[line].is_empty() && self.go_on(line, &bio, now);
        if !goes {
            self.waiting[line].push((bio, now));
            self.counters.held_back += 1;
        }
        goes
    }

    fn issue(&mut self, owner: u32, is_read: bool, now: u64) {
        self.at_device.push((owner, is_read, now));
        if is_read && self.watched.is_none() {
            self.watched = Some(owner);
        }
    }

    /// Owners that go on when a request has ended.
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
        let Some(line) = (0..2).find(|&line| self.in_flight[line].contains(&owner)) else { return Vec::new() };
        self.in_flight[line].retain(|&other| other != owner);
        let left = self.in_flight[line].len() as i64;
        let limit = match line {
            1 => self.background(),
            _ if self.volatile_cache && !self.dirty_wait(now) => 0,
            _ => self.normal(),
        };
        let room = i64::from(limit) - left;
        let enough = left == 0 || (room > 0 && room >= i64::from(self.background() / 2));
        if enough { self.wake(line, now) } else { Vec::new() }
    }

    fn wake(&mut self, line: usize, now: u64) -> Vec<u32> {
        let mut woken = Vec::new();
        while let Some((bio, since)) = self.waiting[line].first().copied() {
            if !self.go_on(line, &bio, now) {
                break;
            }
            self.waiting[line].remove(0);
            self.counters.held_back_ns += now - since;
            woken.push(bio.owner);
        }
        woken
    }

    fn end_window(&mut self, now: u64) -> Vec<u32> {
        let (began, end) = self.window.take().unwrap();
        assert_eq!(end, now);
        let busy = self.in_flight.iter().any(|line| !line.is_empty());
        let ended = |read: bool| self.ended.iter().filter(move |&&(is_read, _)| is_read == read).map(|one| one.1);
        let fastest = ended(true).min();
        let writes = ended(false).count();
        let pending = self.watched.map_or(0, |owner| now - self.at_device.iter().find(|one| one.0 == owner).unwrap().2);
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
    fn it_does_as_a_twin_that_recounts_everything(
        slots in prop_oneof![1..4_u32, 4..64_u32],
        volatile_cache in any::<bool>(),
        events in events(),
    ) {
        let mut layer = BlockLayer::new(options(slots, volatile_cache)).unwrap();
        let mut twin = Twin { device: slots, volatile_cache, ..Twin::default() };
        let (mut now, mut at_device) = (0_u64, Vec::new());
        for (owner, (delay, event)) in events.into_iter().enumerate() {
            let then = now + 1000 * delay;
            // Windows end; then something happens.
            while let Some(time) = layer.timer_ns().filter(|&time| time <= then) {
                prop_assert_eq!(twin.window.map(|window| window.1), Some(time));
                now = time;
                layer.on_timer(now);
                let woken = twin.end_window(now);
                prop_assert_eq!(std::iter::from_fn(|| layer.woken()).map(|bio| bio.owner).collect::<Vec<_>>(), woken);
                pull(&mut layer, &mut twin, &mut at_device, now);
            }
            now = then;
            match event {
                Event::Submit(direction, flags) => {
                    let bio = bio(owner as u32, direction, flags);
                    let goes = twin.submit(bio, now);
                    prop_assert_eq!(layer.submit(bio, now) == Submitted::Accepted, goes);
                }
                Event::Complete(which) if !at_device.is_empty() => {
                    let done: Dispatched = at_device.swap_remove(which % at_device.len());
                    let mut ended = Vec::new();
                    layer.completed(done.id, now, &mut ended);
                    let woken = twin.complete(ended[0].owner, now);
                    prop_assert_eq!(std::iter::from_fn(|| layer.woken()).map(|bio| bio.owner).collect::<Vec<_>>(), woken);
                }
                Event::Complete(_) => {}
                Event::DirtyWait => {
                    layer.dirty_wait(now);
                    twin.dirty_waits.push(now);
                }
            }
            pull(&mut layer, &mut twin, &mut at_device, now);
            prop_assert_eq!(layer.throttle_counters(), Some(twin.counters));
            prop_assert_eq!(layer.timer_ns(), twin.window.map(|window| window.1));
            prop_assert_eq!(layer.left().waiting_bios, twin.waiting.iter().map(Vec::len).sum::<usize>());
            // Nobody waits for ever.
            for line in 0..2 {
                prop_assert!(twin.waiting[line].is_empty() || !twin.in_flight[line].is_empty());
            }
        }
    }
}

/// Requests are named by where they begin, which tells the owner of their only bio.
fn pull(layer: &mut BlockLayer, twin: &mut Twin, at_device: &mut Vec<Dispatched>, now: u64) {
    while let Some(dispatched) = layer.next(now) {
        twin.issue((dispatched.start / 64) as u32, dispatched.operation == Operation::Read, now);
        at_device.push(dispatched);
    }
}
