//! Writeback throttling (block/blk-wbt.c of Linux 6, depths from block/blk-rq-qos.c). It limits write-back and discards
//! in flight: more strictly while reads are slow, less strictly while there are no reads.
//!
//! Latencies are evaluated in windows of 100 ms; each window begins with a write. If a window has at least three writes
//! and even its fastest read exceeded the target, the depth is halved and the next windows are shorter. The depth is
//! doubled if the fastest read met the target, or if there were only writes. The limit depends on the kind of write:
//!
//! | kind | maximum in flight |
//! |---|---|
//! | `SYNC`, metadata, or any write within a second after a writer waited for dirty pages | the depth |
//! | other | half; a quarter within 100 ms of a read |
//! | background write-back, discards | a quarter |
//!
//! `SYNC` writes without `NOIDLE` count as `O_DIRECT` and are never throttled. Writes of kswapd are treated like other
//! writes. The device's depth is its number of slots, as for SCSI. For NVMe, Linux uses `nr_requests`, which equals the
//! number of slots if there is no scheduler.

use std::collections::VecDeque;

use ssdlab_core::counters;

use super::Operation;
use crate::MS;
use crate::bio::{Bio, Direction, Flags};
use crate::request::RequestId;

/// Depth limit at step 0 (`RWB_DEF_DEPTH`).
const DEFAULT_DEPTH: u32 = 16;
/// Duration of a window at step 0 and below (`RWB_WINDOW_NSEC`).
const WINDOW_NS: u64 = 100 * MS;
/// Minimum number of writes in a window for evaluating its reads (`RWB_MIN_WRITE_SAMPLES`).
const WRITE_SAMPLES: u32 = 3;
/// After this many consecutive inconclusive windows, the depth moves one step towards the default (`RWB_UNKNOWN_BUMP`).
const UNKNOWN_WINDOWS: u32 = 5;
/// Time after the submission or completion of a read during which a lower limit on writes applies.
const NEAR_NS: u64 = 100 * MS;
/// Time after a writer had to wait for dirty pages during which the limit on writes is raised.
const DIRTY_WAIT_NS: u64 = 1_000 * MS;

counters! {
    /// Counters of writeback throttling.
    pub struct ThrottleCounters {
        held_back: "bios", "Writes and discards that waited because the limit on writes in flight was reached.";
        held_back_ns: "ns", "Total time that throttled bios waited; counted when they are released.";
        steps_down: "events", "Times the write limit was lowered: reads were slow, or an earlier raise was undone.";
        steps_up: "events", "Times the write limit was raised: reads were fast or absent, or an earlier cut was undone.";
    }
}

/// Depth that limits writes in flight (`struct rq_depth`).
#[derive(Clone, Copy, Debug, Default)]
struct Depth {
    /// Queue depth of the device, in requests.
    device: u32,
    /// Number of halvings of the depth relative to the default; negative for doublings.
    step: i32,
    /// Current depth limit, in writes.
    limit: u32,
    /// True if the latest doubling brought the depth to its maximum.
    is_highest: bool,
}

impl Depth {
    fn new(device: u32) -> Self {
        Self { device, step: 0, limit: Self::at(device, 0).0, is_highest: false }
    }

    /// Returns the depth limit after `step` halvings, or `-step` doublings if `step` is negative, and true if this is
    /// the maximum depth (`rq_depth_calc_max_depth`).
    fn at(device: u32, step: i32) -> (u32, bool) {
        if device == 1 {
            // Allows a depth of two, so that another request is ready as soon as the device completes one.
            return if step > 0 { (1, false) } else { (2, true) };
        }
        let above_one = DEFAULT_DEPTH.min(device) - 1;
        if step >= 0 {
            return (1 + (above_one >> step.min(31)), false);
        }
        let (depth, highest) = (1 + (above_one << -step), 3 * device / 4);
        (depth.min(highest), depth > highest)
    }

    fn set(&mut self, step: i32) {
        self.step = step;
        (self.limit, self.is_highest) = Self::at(self.device, step);
    }

    /// Returns the limit on normal (not background) writes when there were no recent reads.
    fn normal(&self) -> u32 {
        if self.limit <= 2 { self.limit } else { self.limit.div_ceil(2) }
    }

    fn background(&self) -> u32 {
        if self.limit <= 2 { 1 } else { self.limit.div_ceil(4) }
    }

    /// Returns the duration of the next window: 100 ms / sqrt(step + 1), with the root rounded down to a multiple of
    /// 1/16.
    fn window_ns(&self) -> u64 {
        match u64::try_from(self.step) {
            Ok(step @ 1..) => (WINDOW_NS << 4) / ((step + 1) << 8).isqrt(),
            _ => WINDOW_NS,
        }
    }
}

/// Classes of throttled bios; the bios in flight are counted separately for each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Writes,
    Discards,
}

/// Returns the throttling class of a bio; `None` if the bio is not throttled (`wbt_should_throttle`).
fn class(bio: &Bio) -> Option<Class> {
    let direct = bio.flags.any(Flags::SYNC) && !bio.flags.any(Flags::NOIDLE);
    match bio.direction {
        Direction::Read => None,
        Direction::Write if bio.flags.any(Flags::DISCARD) => Some(Class::Discards),
        Direction::Write => (!direct).then_some(Class::Writes),
    }
}

/// Throttling state of a request.
#[derive(Clone, Copy, Debug, Default)]
struct Tracked {
    class: Option<Class>,
    /// Direction of the bio and time of its dispatch.
    issued: Option<(Direction, u64)>,
}

/// Statistics of the requests completed in a window.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    fastest_read_ns: Option<u64>,
    writes: u32,
}

/// Result of evaluating the latencies of a window (`latency_exceeded` in the kernel).
enum Verdict {
    Slow,
    Fast,
    OnlyWrites,
    Unknown,
}

/// Writeback throttling of one device. Methods are not inlined, because most block layers run without throttling.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    /// Latency target of reads in nanoseconds.
    target_ns: u64,
    /// True if the device caches writes. Waiting writes are then usually released only once no write is in flight.
    volatile_cache: bool,
    depth: Depth,
    in_flight: [u32; 2],
    /// Throttled bios by class, each with the time when it began to wait.
    waiting: [VecDeque<(Bio, u64)>; 2],
    /// Released bios, which already count as in flight.
    pub granted: VecDeque<Bio>,
    /// Throttling state of each request, indexed by the request's slot.
    requests: Vec<Tracked>,
    window: Window,
    /// Time at which the current window ends.
    pub timer_ns: Option<u64>,
    /// Duration of the latest window in nanoseconds.
    window_ns: u64,
    /// Number of consecutive inconclusive windows.
    unknown: u32,
    /// Read at the device whose latency is being measured, and its dispatch time.
    watched: Option<(RequestId, u64)>,
    /// Time of the latest submission or completion of a read.
    read_ns: Option<u64>,
    /// Most recent time at which a writer had to wait for dirty pages (`wb_recent_wait`).
    pub dirty_wait_ns: Option<u64>,
    pub counters: ThrottleCounters,
}

impl Throttle {
    pub fn new(target_ns: u64, device_depth: u32, volatile_cache: bool) -> Self {
        Self { target_ns, volatile_cache, depth: Depth::new(device_depth), window_ns: WINDOW_NS, ..Self::default() }
    }

    /// True if a bio may proceed; otherwise it waits until it is in `granted` (`wbt_wait`).
    pub fn admits(&mut self, bio: &Bio, now: u64) -> bool {
        let Some(class) = class(bio) else {
            if bio.direction == Direction::Read {
                self.read_ns = Some(now);
            }
            return true;
        };
        let admitted = self.waiting[class as usize].is_empty() && self.take(bio, class, now);
        if !admitted {
            self.counters.held_back += 1;
            self.waiting[class as usize].push_back((*bio, now));
        }
        admitted
    }

    pub fn waiting(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Counts a bio as in flight and returns true if the limit of its class allows it; otherwise returns false
    /// (`get_limit`).
    fn take(&mut self, bio: &Bio, class: Class, now: u64) -> bool {
        let limit = if class == Class::Discards {
            self.depth.background()
        } else if bio.flags.any(Flags::SYNC | Flags::META) || self.has_dirty_wait(now) {
            self.depth.limit
        } else if bio.flags.any(Flags::BACKGROUND) || is_within(self.read_ns, NEAR_NS, now) {
            self.depth.background()
        } else {
            self.depth.normal()
        };
        let in_flight = &mut self.in_flight[class as usize];
        let taken = *in_flight < limit;
        *in_flight += u32::from(taken);
        if taken && self.timer_ns.is_none() {
            self.begin_window(now);
        }
        taken
    }

    fn has_dirty_wait(&self, now: u64) -> bool {
        is_within(self.dirty_wait_ns, DIRTY_WAIT_NS, now)
    }

    fn tracked(&mut self, id: RequestId) -> &mut Tracked {
        if self.requests.len() <= id.slot() {
            self.requests.resize(id.slot() + 1, Tracked::default());
        }
        &mut self.requests[id.slot()]
    }

    /// Records the allocation of a request for a bio.
    #[inline(never)]
    pub fn made(&mut self, id: RequestId, bio: &Bio) {
        self.tracked(id).class = class(bio);
    }

    /// Records the dispatch of a request (`wbt_issue`).
    #[inline(never)]
    pub fn issued(&mut self, id: RequestId, operation: Operation, now: u64) {
        let direction = match operation {
            Operation::Flush => return,
            Operation::Read => Direction::Read,
            Operation::Write | Operation::WriteThrough | Operation::Discard => Direction::Write,
        };
        self.tracked(id).issued = Some((direction, now));
        if direction == Direction::Read {
            self.watched.get_or_insert((id, now));
        }
    }

    /// Records the completion of a request by the device (`blk_stat_add`).
    #[inline(never)]
    pub fn completed(&mut self, id: RequestId, now: u64) {
        let Some((direction, issued)) = self.tracked(id).issued.take() else { return };
        if self.timer_ns.is_none() {
            return;
        }
        match direction {
            Direction::Read => {
                let fastest = self.window.fastest_read_ns.get_or_insert(now - issued);
                *fastest = (now - issued).min(*fastest);
            }
            Direction::Write => self.window.writes += 1,
        }
    }

    /// Records that a request was freed after completion or a merge (`wbt_done`).
    #[inline(never)]
    pub fn ended(&mut self, id: RequestId, direction: Direction, now: u64) {
        if direction == Direction::Read {
            self.watched = self.watched.filter(|&(watched, _)| watched != id);
            self.read_ns = Some(now);
        }
        if let Some(class) = self.tracked(id).class.take() {
            self.give_back(class, now);
        }
    }

    /// Counts one bio of the class as no longer in flight. Releases waiting bios if the count is now far enough below
    /// the limit (`wbt_rqw_done`).
    fn give_back(&mut self, class: Class, now: u64) {
        self.in_flight[class as usize] -= 1;
        let in_flight = self.in_flight[class as usize];
        let limit = match class {
            Class::Discards => self.depth.background(),
            Class::Writes if self.volatile_cache && !self.has_dirty_wait(now) => 0,
            Class::Writes => self.depth.normal(),
        };
        let room = limit.saturating_sub(in_flight);
        if in_flight == 0 || (room > 0 && room >= self.depth.background() / 2) {
            self.wake(class, now);
        }
    }

    /// Releases waiting bios of the class in order, as long as the limits allow.
    fn wake(&mut self, class: Class, now: u64) {
        while let Some(&(bio, since)) = self.waiting[class as usize].front() {
            if !self.take(&bio, class, now) {
                return;
            }
            self.waiting[class as usize].pop_front();
            self.counters.held_back_ns += now - since;
            self.granted.push_back(bio);
        }
    }

    fn begin_window(&mut self, now: u64) {
        self.window_ns = self.depth.window_ns();
        self.timer_ns = Some(now + self.window_ns);
    }

    /// Evaluates the window that has ended (`wb_timer_fn`).
    pub fn on_timer(&mut self, now: u64) {
        self.timer_ns = None;
        let in_flight: u32 = self.in_flight.iter().sum();
        match self.verdict(now) {
            Verdict::Slow => self.lower(true),
            Verdict::Fast | Verdict::OnlyWrites => self.raise(now),
            Verdict::Unknown => {
                self.unknown += 1;
                if self.unknown >= UNKNOWN_WINDOWS {
                    match self.depth.step {
                        1.. => self.raise(now),
                        0 => {}
                        _ => self.lower(false),
                    }
                }
            }
        }
        self.window = Window::default();
        if self.depth.step != 0 || in_flight > 0 {
            self.begin_window(now);
        }
    }

    fn verdict(&self, now: u64) -> Verdict {
        let Window { fastest_read_ns, writes } = self.window;
        // Also considers a read that is still at the device, because it may take longer than the window.
        let pending_ns = self.watched.map_or(0, |(_, issued)| now - issued);
        if pending_ns > self.window_ns || (pending_ns > self.target_ns && fastest_read_ns.is_none()) {
            return Verdict::Slow;
        }
        match fastest_read_ns {
            Some(fastest_ns) if writes >= WRITE_SAMPLES && fastest_ns > self.target_ns => Verdict::Slow,
            Some(_) if writes >= WRITE_SAMPLES => Verdict::Fast,
            _ if writes > 0 || self.has_dirty_wait(now) || self.in_flight != [0; 2] => Verdict::OnlyWrites,
            _ => Verdict::Unknown,
        }
    }

    /// Doubles the depth, unless it is at its maximum.
    fn raise(&mut self, now: u64) {
        if !self.depth.is_highest {
            self.depth.set(self.depth.step - 1);
            self.unknown = 0;
            self.counters.steps_up += 1;
            for class in [Class::Writes, Class::Discards] {
                self.wake(class, now);
            }
        }
    }

    /// Halves the depth, unless it is 1. With `hard`, a depth above the default drops to the default.
    fn lower(&mut self, hard: bool) {
        if self.depth.limit > 1 {
            let step = self.depth.step;
            self.depth.set(if hard { step.max(-1) + 1 } else { step + 1 });
            self.depth.is_highest = false;
            self.unknown = 0;
            self.counters.steps_down += 1;
        }
    }
}

/// True if `then` is known and lies less than `span_ns` before `now`.
fn is_within(then: Option<u64>, span_ns: u64, now: u64) -> bool {
    then.is_some_and(|then| now < then + span_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bio::Priority;
    use crate::request::Requests;

    /// Expected depths, and limits of normal and background writes, derived by hand from `rq_depth_calc_max_depth` and
    /// `calc_wb_limits`.
    #[test]
    fn depths_halve_and_double() {
        let depths = |device, steps: std::ops::RangeInclusive<i32>| {
            steps
                .map(|step| {
                    let mut depth = Depth::new(device);
                    depth.set(step);
                    (step, depth.limit, depth.normal(), depth.background(), depth.is_highest)
                })
                .collect::<Vec<_>>()
        };
        let ncq = [
            (-1, 24, 12, 6, true),
            (0, 16, 8, 4, false),
            (1, 8, 4, 2, false),
            (2, 4, 2, 1, false),
            (3, 2, 2, 1, false),
            (4, 1, 1, 1, false),
            (5, 1, 1, 1, false),
        ];
        assert_eq!(depths(32, -1..=5), ncq);
        // The maximum is 3/4 of the device's depth, which may be lower than the default depth.
        assert_eq!(depths(8, -1..=0), [(-1, 6, 3, 2, true), (0, 8, 4, 2, false)]);
        let nvme = [(-6, 768, 384, 192, true), (-5, 481, 241, 121, false), (-4, 241, 121, 61, false)];
        assert_eq!(depths(1024, -6..=-4), nvme);
        assert_eq!(depths(1, -1..=1), [(-1, 2, 2, 1, true), (0, 2, 2, 1, true), (1, 1, 1, 1, false)]);
    }

    #[test]
    fn windows_shrink_with_each_step() {
        let window = |step| {
            let mut depth = Depth::new(32);
            depth.set(step);
            depth.window_ns()
        };
        // Windows last 1.6 s divided by 22, 27 and 32, the integer square roots of 512, 768 and 1024.
        assert_eq!([-1, 0, 1, 2, 3].map(window), [100_000_000, 100_000_000, 72_727_272, 59_259_259, 50_000_000]);
    }

    /// Each row has the latencies in ms of the reads in a window, the number of writes, the step after the window, and
    /// the duration of the next window (if any).
    #[test]
    fn steps_follow_the_fastest_read() {
        let table: [(&[u64], u32, i32, Option<u64>); 18] = [
            // With only writes, the depth rises to the maximum for a device of depth 32.
            (&[], 1, -1, Some(100_000_000)),
            (&[], 1, -1, Some(100_000_000)),
            // A slow read resets a raised depth to the default at once. At step 0, the next window begins with a write.
            (&[3], 3, 0, None),
            (&[9, 3], 3, 1, Some(72_727_272)),
            (&[3], 3, 2, Some(59_259_259)),
            // Only the fastest read of the window counts. A latency equal to the target is fast enough.
            (&[3, 2], 3, 1, Some(72_727_272)),
            (&[3], 3, 2, Some(59_259_259)),
            // With fewer than three writes, slow reads do not count.
            (&[3], 2, 1, Some(72_727_272)),
            // A window without writes is inconclusive. After five such windows, the scale step moves back by one
            // towards 0.
            (&[3], 0, 1, Some(72_727_272)),
            (&[], 0, 1, Some(72_727_272)),
            (&[], 0, 1, Some(72_727_272)),
            (&[], 0, 1, Some(72_727_272)),
            (&[], 0, 0, None),
            // The depth never falls below 1.
            (&[3], 3, 1, Some(72_727_272)),
            (&[3], 3, 2, Some(59_259_259)),
            (&[3], 3, 3, Some(50_000_000)),
            (&[3], 3, 4, Some(45_714_285)),
            (&[3], 3, 4, Some(45_714_285)),
        ];
        let mut throttle = Throttle::new(2 * MS, 32, false);
        let mut requests = Requests::default();
        let mut now = 0;
        for (row, (reads, writes, step, window_ns)) in table.into_iter().enumerate() {
            let reads = reads.iter().map(|&ms| (Direction::Read, Operation::Read, ms * MS));
            let writes = (0..writes).map(|_| (Direction::Write, Operation::Write, MS));
            for (direction, operation, ns) in writes.chain(reads) {
                let (flags, priority) = (Flags::NONE, Priority::default());
                let bio = Bio { start: 0, sectors: 8, direction, flags, pid: 0, priority, owner: 0 };
                assert!(throttle.admits(&bio, now));
                let id = requests.allocate(bio, 1, 0, now);
                throttle.made(id, &bio);
                throttle.issued(id, operation, now);
                now += ns;
                throttle.completed(id, now);
                throttle.ended(id, direction, now);
                requests.free(id);
            }
            now = throttle.timer_ns.expect("a window is open");
            throttle.on_timer(now);
            let next = throttle.timer_ns.map(|time| time - now);
            assert_eq!((throttle.depth.step, next), (step, window_ns), "row {row}");
        }
        assert_eq!(throttle.counters.steps_down, 8);
        assert_eq!(throttle.counters.steps_up, 4);
    }
}
