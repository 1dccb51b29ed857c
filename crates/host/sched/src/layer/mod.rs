//! The block layer: the path from a bio to the device, without the scheduling policy.

mod flush;
mod hardware;
mod limits;
mod merge;
mod options;
mod plugs;
mod queue;
mod report;
mod wbt;

use std::collections::VecDeque;

use crate::bio::{Bio, Direction, Flags};
use crate::request::{Request, RequestId, Requests};
use crate::scheduler::{Device, IoScheduler, SCHEDULERS, SchedulerInfo, build_scheduler};
use crate::tunable::TunableError;
use flush::Steps;
use hardware::{HardwareQueue, HardwareQueues};
use limits::Limits;
use merge::Ends;
use plugs::{Plug, Plugs};
use wbt::Throttle;

pub use options::{BlockLayerKind, NoMerges, Options};
pub use report::{BlockCounters, Dispatched, Left, Operation, Submitted};
pub use wbt::ThrottleCounters;

/// The block layer of one device, with its scheduler.
///
/// After each call, the caller must call [`BlockLayer::next`] until it returns `None`. Time never decreases between
/// calls.
#[derive(Debug)]
pub struct BlockLayer {
    options: Options,
    info: &'static SchedulerInfo,
    scheduler: Box<dyn IoScheduler>,
    requests: Requests,
    ends: Ends,
    /// Number of requests in the scheduler, including `lone`.
    queued: usize,
    /// The only waiting request and its arrival time, while the layer holds this request back from the scheduler.
    lone: Option<(RequestId, u64)>,
    /// True if the layer may keep a lone request in `lone` instead of inserting it into the scheduler.
    passes: bool,
    queues: HardwareQueues,
    /// Hardware queue that runs next.
    turn: u16,
    /// Request chosen in advance while the device is full.
    chosen: Option<RequestId>,
    /// End sector of the request that was chosen last.
    boundary: u64,
    /// Number of asynchronous bios that wait for a request or are throttled.
    async_waiting: usize,
    woken: VecDeque<Bio>,
    /// Requests that were merged into others and must be freed.
    freed_by_merge: Vec<RequestId>,
    /// Deadline for unplugging a plugged queue.
    unplug_at: Option<u64>,
    /// Plugs of tasks (multi-queue layer).
    plugs: Plugs,
    /// Number of requests in the plugs of tasks.
    plugged: usize,
    wbt: Option<Box<Throttle>>,
    /// Direction of the request dispatched last.
    last_direction: Option<Direction>,
    counters: BlockCounters,
}

impl BlockLayer {
    /// Creates an idle block layer.
    pub fn new(options: Options) -> Result<Self, TunableError> {
        let info = SCHEDULERS.get(&options.scheduler)?;
        let Options { device_sectors: sectors, rotational, nr_requests, slots, volatile_cache, wbt_lat_ns, .. } =
            options;
        let throttles = options.kind == BlockLayerKind::MultiQueue && wbt_lat_ns > 0;
        let queues = if options.kind == BlockLayerKind::MultiQueue { options.queues.max(1) } else { 1 };
        let scheduler = build_scheduler(info, &options.tunables, &Device { sectors, rotational, nr_requests, queues })?;
        Ok(Self {
            info,
            passes: options.kind == BlockLayerKind::MultiQueue && scheduler.passes(),
            scheduler,
            requests: Requests::default(),
            ends: Ends::new(nr_requests),
            queued: 0,
            lone: None,
            queues: HardwareQueues::new(queues, || Limits::new(options.kind, nr_requests)),
            turn: 0,
            chosen: None,
            boundary: 0,
            async_waiting: 0,
            woken: VecDeque::new(),
            freed_by_merge: Vec::new(),
            unplug_at: None,
            plugs: Plugs::default(),
            plugged: 0,
            wbt: throttles.then(|| Box::new(Throttle::new(wbt_lat_ns, slots, volatile_cache))),
            last_direction: None,
            counters: BlockCounters::default(),
            options,
        })
    }

    /// Submits a bio to the block layer.
    #[inline(always)]
    pub fn submit(&mut self, bio: Bio, now: u64) -> Submitted {
        self.counters.bios += 1;
        let steps = self.steps(&bio);
        if steps.is_some_and(|steps| steps.is_nothing()) {
            return Submitted::Ended;
        }
        if steps.is_none() && self.merge(&bio) {
            self.give_back_merged(now);
            self.bio_says_unplug(&bio);
            return Submitted::Accepted;
        }
        if (self.wbt.is_some() && self.holds_back(&bio, now)) || !self.enter_or_wait(&bio, steps, now) {
            self.unplug(bio.pid, now);
            return Submitted::MustWait;
        }
        Submitted::Accepted
    }

    /// True if writeback throttling holds the bio back.
    #[inline(never)]
    fn holds_back(&mut self, bio: &Bio, now: u64) -> bool {
        let held_back = self.wbt.as_mut().is_some_and(|wbt| !wbt.admits(bio, now));
        self.async_waiting += usize::from(held_back && !bio.is_sync());
        held_back
    }

    /// Allocates a request for a bio and returns true. If no request is free, or if other bios of the same type
    /// (synchronous or asynchronous) are already waiting, queues the bio and returns false.
    #[inline(always)]
    fn enter_or_wait(&mut self, bio: &Bio, steps: Option<Steps>, now: u64) -> bool {
        let queue = self.queue_of(bio.pid);
        let kind = usize::from(bio.is_sync());
        let own = &mut self.queues[queue];
        if !own.waiting[kind].is_empty() || !own.take_request(bio, &*self.scheduler, &self.options, now) {
            own.waiting[kind].push_back(*bio);
            self.counters.bios_waited += 1;
            self.async_waiting += usize::from(!bio.is_sync());
            return false;
        }
        self.enter(queue, bio, steps, now);
        true
    }

    /// True if asynchronous bios wait for a request or are throttled.
    #[inline]
    pub fn async_bios_wait(&self) -> bool {
        self.async_waiting > 0
    }

    /// Records that a writer waits for dirty pages; writeback throttling then raises its limit.
    pub fn dirty_wait(&mut self, now: u64) {
        if let Some(wbt) = &mut self.wbt {
            wbt.dirty_wait_ns = Some(now);
        }
    }

    /// Queues requests for the bios that writeback throttling has released.
    #[inline(never)]
    fn let_throttled_go(&mut self, now: u64) {
        while let Some(bio) = self.wbt.as_mut().and_then(|wbt| wbt.granted.pop_front()) {
            self.async_waiting -= usize::from(!bio.is_sync());
            if self.enter_or_wait(&bio, self.steps(&bio), now) {
                self.woken.push_back(bio);
            }
        }
    }

    /// Allocates and queues the request for a bio; the caller has already counted the request in the limits.
    #[inline(always)]
    fn enter(&mut self, queue: u16, bio: &Bio, steps: Option<Steps>, now: u64) {
        let id = self.requests.allocate(*bio, self.options.segments(bio.sectors), queue, now);
        self.counters.requests += 1;
        if let Some(wbt) = &mut self.wbt {
            wbt.made(id, bio);
        }
        match (self.options.kind, steps) {
            (BlockLayerKind::SingleQueue, None) => {
                let is_idle = self.queued == 0 && self.queues[0].ahead.is_empty();
                if self.options.plug && is_idle && self.unplug_at.is_none() {
                    self.unplug_at = Some(now + self.options.unplug_delay);
                    self.counters.plugs += 1;
                }
                self.insert(id, now);
                // Flushes count as in flight but not towards the request limit, so the subtraction saturates at 0.
                let waiting = self.queues[0].limits.total().saturating_sub(self.queues[0].in_flight);
                if waiting >= self.options.unplug_threshold && self.unplug_queue() {
                    self.counters.unplugs_threshold += 1;
                }
                self.bio_says_unplug(bio);
            }
            (BlockLayerKind::SingleQueue, Some(_)) => {
                // A barrier first moves all of the scheduler's requests into the dispatch list, then unplugs the queue.
                while let Some(id) = self.pull(0, now, true) {
                    let ahead = self.queues[0].ahead.len();
                    let position = if self.info.role.sorted_drain { self.sorted_position(id) } else { ahead };
                    self.queues[0].ahead.insert(position, id);
                }
                self.queues[0].ahead.push_back(id);
                if self.unplug_queue() {
                    self.counters.unplugs_bio += 1;
                }
            }
            (BlockLayerKind::MultiQueue, Some(steps)) => self.begin_flush(id, steps, now),
            (BlockLayerKind::MultiQueue, None) => match self.plugs.get_mut(bio.pid) {
                None => self.insert(id, now),
                Some(plug) => {
                    let large =
                        plug.last().is_some_and(|&last| self.requests[last].sectors >= self.options.plug_sectors);
                    let is_full = large || plug.len() >= self.options.plug_requests;
                    let full = is_full.then(|| plug.split_off(0));
                    plug.push(id);
                    self.plugged += 1;
                    if let Some(mut full) = full {
                        self.counters.unplugs_threshold += 1;
                        self.insert_all(&mut full, now);
                    }
                }
            },
        }
    }

    /// Returns the position at which to insert a request into the dispatch list. The list is in elevator order:
    /// requests at or beyond the device's current sector come first, then those before it, each group in ascending
    /// order. A request never passes a barrier or a request of another type.
    fn sorted_position(&self, id: RequestId) -> usize {
        let rq = &self.requests[id];
        let alike = |other: &Request| {
            let discards = [rq, other].map(|rq| rq.flags.any(Flags::DISCARD));
            rq.direction == other.direction && discards[0] == discards[1] && self.steps(&other.bios[0]).is_none()
        };
        let rank = |rq: &Request| (rq.start < self.boundary, rq.start);
        let ahead = &self.queues[0].ahead;
        let passed = ahead.iter().rev().map(|&other| &self.requests[other]);
        ahead.len() - passed.take_while(|other| alike(other) && rank(rq) < rank(other)).count()
    }

    /// True if [`BlockLayer::next`] may return or choose a request now.
    #[inline]
    pub fn has_work(&self) -> bool {
        let may_do = |queue: &HardwareQueue| {
            let waits =
                self.queued > 0 || !queue.ahead.is_empty() || self.chosen.is_some() || queue.flushes.barrier.is_some();
            waits && (queue.in_flight < self.options.slots || self.options.kind == BlockLayerKind::SingleQueue)
        };
        if self.queues.has_others() {
            self.queues.iter().any(|queue| queue.runs && may_do(queue))
        } else {
            may_do(&self.queues[0])
        }
    }

    /// Returns the next request for the device, if a request waits and the device has a free slot.
    ///
    /// The single-queue layer chooses a request even while the device is full, so the scheduler decides one request
    /// ahead. blk-mq reserves a device slot before it asks the scheduler.
    #[inline(always)]
    pub fn next(&mut self, now: u64) -> Option<Dispatched> {
        let id = if self.queues.has_others() {
            let id = self.take_turns(now)?;
            self.home(id).in_flight += 1;
            id
        } else {
            let id = self.take(now)?;
            self.queues[0].in_flight += 1;
            id
        };
        let dispatched = self.describe(id);
        if let Some(wbt) = &mut self.wbt {
            wbt.issued(id, dispatched.operation, now);
        }
        Some(dispatched)
    }

    /// Returns the next request of the only hardware queue.
    #[inline(always)]
    fn take(&mut self, now: u64) -> Option<RequestId> {
        let full = self.queues[0].in_flight >= self.options.slots;
        if self.unplug_at.is_some() || (full && self.options.kind == BlockLayerKind::MultiQueue) {
            return None;
        }
        if self.chosen.is_none() {
            self.chosen = self.choose(now);
        }
        if full { None } else { self.chosen.take() }
    }

    #[inline(always)]
    fn choose(&mut self, now: u64) -> Option<RequestId> {
        if self.options.kind == BlockLayerKind::SingleQueue
            && let Some(turn) = self.barrier_turn(now)
        {
            return turn;
        }
        let id = match self.queues[0].ahead.pop_front() {
            Some(id) => id,
            None => self.pull(0, now, false)?,
        };
        self.boundary = self.requests[id].end();
        Some(id)
    }

    #[inline]
    fn describe(&mut self, id: RequestId) -> Dispatched {
        let rq = &self.requests[id];
        let sectors = u64::from(rq.sectors);
        // A request without sectors is always a flush.
        let operation = if rq.sectors == 0 {
            self.counters.dispatched_flushes += 1;
            Operation::Flush
        } else if rq.direction == Direction::Read {
            self.counters.dispatched_reads += 1;
            self.counters.dispatched_read_sectors += sectors;
            Operation::Read
        } else {
            self.counters.dispatched_writes += 1;
            self.counters.dispatched_write_sectors += sectors;
            let through = self.options.volatile_cache && self.options.fua && rq.flags.any(Flags::FUA | Flags::BARRIER);
            match rq {
                _ if rq.flags.any(Flags::DISCARD) => Operation::Discard,
                _ if through => Operation::WriteThrough,
                _ => Operation::Write,
            }
        };
        if operation != Operation::Flush && self.last_direction.replace(rq.direction).is_some_and(|d| d != rq.direction)
        {
            self.counters.direction_changes += 1;
        }
        Dispatched { id, operation, start: rq.start, sectors: rq.sectors, arrived: rq.arrived, pid: rq.pid }
    }

    /// Completes a request of the device; appends its completed bios to `ended`.
    #[inline(always)]
    pub fn completed(&mut self, id: RequestId, now: u64, ended: &mut Vec<Bio>) {
        let Request { cpu: queue, in_elevator, .. } = self.requests[id];
        self.queues[queue].in_flight -= 1;
        if self.queues.has_others() {
            self.run_after(queue);
        }
        if let Some(wbt) = &mut self.wbt {
            wbt.completed(id, now);
        }
        // A request that comes from the scheduler is never a step of a flush sequence.
        if in_elevator || !self.step_done(id, now, ended) {
            self.end(id, now, ended);
        }
        if self.options.kind == BlockLayerKind::SingleQueue && self.unplug_queue() {
            self.counters.unplugs_completion += 1;
        }
    }

    /// Ends a completed request, and hands its resources to a waiting bio if there is one.
    #[inline]
    fn end(&mut self, id: RequestId, now: u64, ended: &mut Vec<Bio>) {
        let rq = self.requests.free(id);
        if rq.in_elevator {
            self.scheduler.completed(rq, now);
        }
        // A request usually has a single bio. Pushing it is cheaper than `extend_from_slice`.
        rq.bios.iter().for_each(|&bio| ended.push(bio));
        self.give_back(id, now);
    }

    /// Stops counting a freed request, whose contents are still readable, towards the request limits and writeback
    /// throttling.
    #[inline(always)]
    fn give_back(&mut self, id: RequestId, now: u64) {
        let rq = &self.requests[id];
        let (queue, sync) = (rq.cpu, rq.is_sync());
        if let Some(wbt) = &mut self.wbt {
            wbt.ended(id, rq.direction, now);
        }
        self.pass_on(queue, sync, now);
        // Bios that wait for a request are served before throttled bios.
        if self.wbt.is_some() {
            self.let_throttled_go(now);
        }
    }

    /// Gives a freed request to a waiting bio, or returns it to the free requests of its queue.
    #[inline(always)]
    fn pass_on(&mut self, queue: u16, sync: bool, now: u64) {
        let own = &mut self.queues[queue];
        if !own.limits.give_back(sync) || own.waiting.iter().all(VecDeque::is_empty) {
            return;
        }
        // In the multi-queue layer, synchronous and asynchronous bios share one pool of requests.
        let kinds = if self.options.kind == BlockLayerKind::MultiQueue { &[true, false][..] } else { &[sync] };
        for &kind in kinds {
            let kind = usize::from(kind);
            let Some(&bio) = own.waiting[kind].front() else { continue };
            if self.options.kind == BlockLayerKind::SingleQueue {
                own.limits.make_batcher(bio.pid, now);
            }
            if own.take_request(&bio, &*self.scheduler, &self.options, now) {
                own.waiting[kind].pop_front();
                self.async_waiting -= usize::from(!bio.is_sync());
                self.woken.push_back(bio);
                self.enter(queue, &bio, self.steps(&bio), now);
                return;
            }
        }
    }

    #[inline(always)]
    fn give_back_merged(&mut self, now: u64) {
        while let Some(id) = self.freed_by_merge.pop() {
            self.give_back_one_merged(id, now);
        }
    }

    #[inline(never)]
    fn give_back_one_merged(&mut self, id: RequestId, now: u64) {
        self.requests.free(id);
        self.give_back(id, now);
    }

    /// Returns the next bio that was waiting and has now been given a request; its submitting process can continue.
    #[inline]
    pub fn woken(&mut self) -> Option<Bio> {
        self.woken.pop_front()
    }

    /// Starts a plug for task `pid` (multi-queue layer; 2.6.32 plugs queues, not tasks).
    #[inline]
    pub fn plug(&mut self, pid: u32) {
        if self.options.kind == BlockLayerKind::MultiQueue && self.plugs.open(pid) {
            self.counters.plugs += 1;
        }
    }

    /// Flushes the plug of task `pid` and unplugs the queue. Called when the task has finished submitting or goes to
    /// sleep.
    #[inline]
    pub fn unplug(&mut self, pid: u32, now: u64) {
        // Closes the plug first. Otherwise, bios of this task that now get a request would enter the plug.
        if let Some(mut plug) = self.plugs.close(pid) {
            self.counters.unplugs_task += 1;
            self.insert_all(&mut plug, now);
            self.plugs.reuse(plug);
        }
        if self.unplug_queue() {
            self.counters.unplugs_task += 1;
        }
    }

    /// Inserts the requests of a plug into the scheduler, in order.
    #[inline(always)]
    fn insert_all(&mut self, plug: &mut Plug, now: u64) {
        self.plugged -= plug.len();
        for &id in &*plug {
            if !self.insert_merge(id) {
                self.insert(id, now);
            }
        }
        plug.clear();
        self.give_back_merged(now);
    }

    /// Returns true if the queue was plugged.
    fn unplug_queue(&mut self) -> bool {
        self.unplug_at.take().is_some()
    }

    fn bio_says_unplug(&mut self, bio: &Bio) {
        if bio.flags.any(Flags::UNPLUG) && self.unplug_queue() {
            self.counters.unplugs_bio += 1;
        }
    }

    /// Returns the time at which [`BlockLayer::on_timer`] must be called next, if any.
    pub fn timer_ns(&self) -> Option<u64> {
        let throttle = self.wbt.as_ref().and_then(|wbt| wbt.timer_ns);
        let flush = if self.queues.has_others() {
            self.queues.iter().filter_map(|queue| queue.flushes.timer_ns()).min()
        } else {
            self.queues[0].flushes.timer_ns()
        };
        [self.unplug_at, flush, self.scheduler.timer_ns(), throttle].into_iter().flatten().min()
    }

    /// Handles all timers of the layer that have expired at `now`.
    pub fn on_timer(&mut self, now: u64) {
        let due = |time: Option<u64>| time.is_some_and(|time| time <= now);
        if due(self.unplug_at) && self.unplug_queue() {
            self.counters.unplugs_timer += 1;
        }
        if due(self.scheduler.timer_ns()) {
            self.scheduler.on_timer(now);
            self.run_all();
            if self.unplug_queue() {
                self.counters.unplugs_scheduler += 1;
            }
        }
        for queue in 0..self.queues.len() {
            if due(self.queues[queue].flushes.timer_ns()) {
                self.issue_flush(queue, now);
            }
        }
        if let Some(wbt) = self.wbt.as_mut().filter(|wbt| due(wbt.timer_ns)) {
            wbt.on_timer(now);
            self.let_throttled_go(now);
        }
    }

    /// True if background writers should hold back (single-queue layer).
    pub fn is_congested(&self, sync: bool) -> bool {
        self.queues[0].limits.is_congested(sync)
    }

    /// Returns the counters of the block layer.
    pub fn counters(&self) -> BlockCounters {
        self.counters
    }

    /// Returns the counters of writeback throttling; `None` if it is off.
    pub fn throttle_counters(&self) -> Option<ThrottleCounters> {
        self.wbt.as_ref().map(|wbt| wbt.counters)
    }

    /// Returns the work that is still pending in the block layer.
    pub fn left(&self) -> Left {
        let of_queues = |count: fn(&HardwareQueue) -> usize| -> usize { self.queues.iter().map(count).sum() };
        Left {
            waiting_bios: of_queues(|queue| queue.waiting.iter().map(VecDeque::len).sum())
                + self.wbt.as_ref().map_or(0, |wbt| wbt.waiting()),
            plugged: self.plugged,
            queued: self.queued,
            ahead: of_queues(|queue| queue.ahead.len() + queue.flushes.held()) + usize::from(self.chosen.is_some()),
            in_flight: of_queues(|queue| queue.in_flight as usize),
        }
    }
}
