//! Flushes, FUA and barriers, which bypass the scheduler.
//!
//! Multi-queue layer (block/blk-flush.c): a request has up to three steps: flush, data, flush. Flushes are shared: one
//! flush is at the device at a time, and the next flush serves all requests that arrived in the meantime. Other
//! requests are not ordered. While the device writes the data of a request with flush steps, the next flush is delayed
//! for up to five seconds so that more requests can join it.
//!
//! Single-queue layer (block/blk-barrier.c, `QUEUE_ORDERED_DRAIN_FLUSH`): a barrier waits for all earlier requests to
//! complete. Then its flush, data and second flush run alone, in this order; later requests wait.

use std::collections::VecDeque;

use super::{BlockLayer, BlockLayerKind};
use crate::MS;
use crate::bio::{Bio, Direction, Flags, Priority};
use crate::request::RequestId;

/// Maximum time for which a flush is delayed so that more requests can join it (`FLUSH_PENDING_TIMEOUT`).
const PENDING_NS: u64 = 5_000 * MS;

/// Remaining steps of a bio that requires ordering or durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    before: bool,
    data: bool,
    after: bool,
}

impl Steps {
    pub fn is_nothing(self) -> bool {
        !(self.before || self.data || self.after)
    }
}

/// A request with its remaining steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    id: RequestId,
    steps: Steps,
}

/// Requests that need flushes, by state.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    /// Requests waiting for the next flush.
    pending: Vec<Sequence>,
    pending_since: u64,
    /// Requests that the current flush serves.
    running: Vec<Sequence>,
    /// The flush that is at the device, if any.
    flush: Option<RequestId>,
    /// Requests whose data is being written.
    data: VecDeque<Sequence>,
    /// The barrier that is being processed, if any.
    pub barrier: Option<Sequence>,
    /// True if the barrier's current step is at the device.
    barrier_busy: bool,
}

impl Flushes {
    pub fn is_flush(&self, id: RequestId) -> bool {
        self.flush == Some(id)
    }

    /// Returns the deadline for issuing a delayed flush; `None` if no flush is delayed.
    pub fn timer_ns(&self) -> Option<u64> {
        let waits = !self.pending.is_empty() && self.flush.is_none() && !self.data.is_empty();
        waits.then_some(self.pending_since + PENDING_NS)
    }

    /// Returns the number of requests waiting for a flush or barrier step.
    pub fn held(&self) -> usize {
        self.pending.len() + self.running.len() + usize::from(self.barrier.is_some() && !self.barrier_busy)
    }
}

impl BlockLayer {
    /// Returns the steps that a bio with a flush, FUA or barrier flag requires; `None` for an ordinary bio.
    pub(super) fn steps(&self, bio: &Bio) -> Option<Steps> {
        let demands = |flags| bio.flags.any(flags);
        if !demands(Flags::FLUSH | Flags::FUA | Flags::BARRIER) {
            return None;
        }
        let cache = self.options.volatile_cache;
        let data = bio.sectors > 0;
        if self.options.kind == BlockLayerKind::SingleQueue {
            // Linux 2.6.32 only supports barriers, so flush and FUA are treated as barriers too.
            return Some(Steps { before: cache, data, after: cache && data });
        }
        let steps = Steps {
            before: cache && demands(Flags::FLUSH | Flags::BARRIER),
            data,
            after: cache && data && demands(Flags::FUA | Flags::BARRIER) && !self.options.fua,
        };
        // A request that has data and needs no separate flush is treated as an ordinary request.
        (steps.before || steps.after || !data).then_some(steps)
    }

    /// Starts the first step of a request that needs flushes or FUA.
    pub(super) fn begin_flush(&mut self, id: RequestId, steps: Steps, now: u64) {
        let sequence = Sequence { id, steps };
        if steps.before { self.await_flush(sequence, now) } else { self.write_data(sequence) }
    }

    /// Puts a request at the head of the dispatch list, bypassing the scheduler.
    fn bypass(&mut self, id: RequestId) {
        let queue = self.home(id);
        queue.ahead.push_front(id);
        queue.runs = true;
    }

    fn write_data(&mut self, sequence: Sequence) {
        self.home(sequence.id).flushes.data.push_back(sequence);
        self.bypass(sequence.id);
    }

    fn await_flush(&mut self, sequence: Sequence, now: u64) {
        let flushes = &mut self.home(sequence.id).flushes;
        if flushes.pending.is_empty() {
            flushes.pending_since = now;
        }
        flushes.pending.push(sequence);
        if flushes.timer_ns().is_none_or(|time| time <= now) {
            self.issue_flush(self.requests[sequence.id].cpu, now);
        }
    }

    /// Issues a flush for all pending requests of a hardware queue, unless one is at the device.
    pub(super) fn issue_flush(&mut self, queue: u16, now: u64) {
        let flushes = &mut self.queues[queue].flushes;
        if flushes.flush.is_none() && !flushes.pending.is_empty() {
            flushes.running = std::mem::take(&mut flushes.pending);
            let id = self.new_flush(queue, now);
            self.bypass(id);
        }
    }

    fn new_flush(&mut self, queue: u16, now: u64) -> RequestId {
        let (direction, priority, pid) = (Direction::Write, Priority::default(), u32::from(queue));
        let bio = Bio { start: 0, sectors: 0, direction, flags: Flags::FLUSH, pid, priority, owner: 0 };
        let id = self.requests.allocate(bio, 0, queue, now);
        self.queues[queue].flushes.flush = Some(id);
        id
    }

    /// If `id` was a step of a flush sequence, starts the next step and returns true. Otherwise returns false.
    pub(super) fn step_done(&mut self, id: RequestId, now: u64, ended: &mut Vec<Bio>) -> bool {
        let queue = self.requests[id].cpu;
        let flushes = &mut self.queues[queue].flushes;
        if flushes.barrier.is_some() {
            self.barrier_step_done(id, now, ended);
            return true;
        }
        if flushes.is_flush(id) {
            flushes.flush = None;
            self.requests.free(id);
            for mut sequence in std::mem::take(&mut self.queues[queue].flushes.running) {
                // If this flush preceded the data, the data is written next. Otherwise the request is complete.
                let before = std::mem::take(&mut sequence.steps.before);
                if before && sequence.steps.data {
                    self.write_data(sequence);
                } else {
                    self.end(sequence.id, now, ended);
                }
            }
        } else if let Some(position) = flushes.data.iter().position(|sequence| sequence.id == id) {
            let sequence = flushes.data.remove(position).expect("`position` is valid");
            if sequence.steps.after {
                self.await_flush(sequence, now);
            } else {
                self.end(id, now, ended);
            }
        } else {
            return false;
        }
        if self.queues[queue].flushes.timer_ns().is_none_or(|time| time <= now) {
            self.issue_flush(queue, now);
        }
        true
    }

    /// Returns the next step of the barrier at the head of the queue. `Some(None)` means that no step may start yet;
    /// `None` means that there is no barrier.
    pub(super) fn barrier_turn(&mut self, now: u64) -> Option<Option<RequestId>> {
        if self.queues[0].flushes.barrier.is_none() {
            let &id = self.queues[0].ahead.front()?;
            let bio = self.requests[id].bios[0];
            let steps = self.steps(&bio)?;
            let queue = &mut self.queues[0];
            if queue.in_flight > 0 {
                return Some(None);
            }
            queue.ahead.pop_front();
            queue.flushes.barrier = Some(Sequence { id, steps });
        }
        let flushes = &mut self.queues[0].flushes;
        let Sequence { id, steps } = flushes.barrier?;
        if std::mem::replace(&mut flushes.barrier_busy, true) {
            return Some(None);
        }
        Some(Some(if !steps.before && steps.data { id } else { self.new_flush(0, now) }))
    }

    fn barrier_step_done(&mut self, id: RequestId, now: u64, ended: &mut Vec<Bio>) {
        let flushes = &mut self.queues[0].flushes;
        let mut barrier = flushes.barrier.take().expect("a barrier must be in progress");
        flushes.barrier_busy = false;
        if flushes.is_flush(id) {
            flushes.flush = None;
            self.requests.free(id);
        }
        let steps = &mut barrier.steps;
        // Clears the step just completed, which is the first remaining one in the order flush, data, second flush.
        if steps.before {
            steps.before = false;
        } else if steps.data {
            steps.data = false;
        } else {
            steps.after = false;
        }
        if steps.is_nothing() {
            self.end(barrier.id, now, ended);
        } else {
            self.queues[0].flushes.barrier = Some(barrier);
        }
    }
}
