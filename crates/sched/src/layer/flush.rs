//! Flushes, FUA and barriers. They go around the scheduler.
//!
//! Modern frame (block/blk-flush.c): a request passes through up to three steps, flush, data, flush. Those that wait
//! for a flush share it: one flush is at the device at a time, and the next one serves all that have come meanwhile.
//! Nothing is ordered against other requests. While data of such requests are at the device a flush waits for company,
//! but no more than five seconds.
//!
//! Legacy frame (block/blk-barrier.c, `QUEUE_ORDERED_DRAIN_FLUSH`): a barrier waits until all before it has ended, then
//! flush, data and flush follow one another alone, and what came later waits.

use std::collections::VecDeque;

use super::{BlockLayer, Frame};
use crate::MS;
use crate::bio::{Bio, Direction, Flags, Priority};
use crate::request::RequestId;

/// How long a flush may wait for company (`FLUSH_PENDING_TIMEOUT`).
const PENDING_NS: u64 = 5_000 * MS;

/// What is to be done for a bio that demands order or durability.
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

/// A request whose data is written between flushes.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    id: RequestId,
    steps: Steps,
}

/// A barrier at work.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    sequence: Sequence,
    /// Whether its present step is at the device.
    busy: bool,
}

/// Requests between flushes.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    /// Waiting for the next flush.
    pending: Vec<Sequence>,
    pending_since: u64,
    /// Served by the flush that has been issued.
    running: Vec<Sequence>,
    /// That flush.
    flush: Option<RequestId>,
    /// Whose data is being written.
    data: VecDeque<Sequence>,
    barrier: Option<Barrier>,
}

impl Flushes {
    pub fn is_flush(&self, id: RequestId) -> bool {
        self.flush == Some(id)
    }

    /// Whether a barrier is at work.
    pub fn has_barrier(&self) -> bool {
        self.barrier.is_some()
    }

    /// When a flush stops waiting for company.
    pub fn timer_ns(&self) -> Option<u64> {
        let waits = !self.pending.is_empty() && self.flush.is_none() && !self.data.is_empty();
        waits.then_some(self.pending_since + PENDING_NS)
    }

    /// Requests that wait for a flush.
    pub fn held(&self) -> usize {
        self.pending.len() + self.running.len() + usize::from(self.barrier.is_some_and(|barrier| !barrier.busy))
    }
}

impl BlockLayer {
    /// The steps for a bio that is not an ordinary one.
    pub(super) fn steps(&self, bio: &Bio) -> Option<Steps> {
        let demands = |flags| bio.flags.any(flags);
        if !demands(Flags::FLUSH | Flags::FUA | Flags::BARRIER) {
            return None;
        }
        let cache = self.options.volatile_cache;
        let data = bio.sectors > 0;
        if self.options.frame == Frame::Legacy {
            // 2.6.32 knows barriers only.
            return Some(Steps { before: cache, data, after: cache && data });
        }
        let steps = Steps {
            before: cache && demands(Flags::FLUSH | Flags::BARRIER),
            data,
            after: cache && data && demands(Flags::FUA | Flags::BARRIER) && !self.options.fua,
        };
        // Data that needs no flush around it is an ordinary request.
        (steps.before || steps.after || !data).then_some(steps)
    }

    /// Lets a request begin its steps.
    pub(super) fn begin_flush(&mut self, id: RequestId, steps: Steps, now: u64) {
        let sequence = Sequence { id, steps };
        if steps.before { self.await_flush(sequence, now) } else { self.write_data(sequence) }
    }

    /// A request goes around the scheduler.
    fn go_ahead(&mut self, id: RequestId) {
        let queue = self.home(id);
        queue.ahead.push_front(id);
        queue.runs = true;
    }

    fn write_data(&mut self, sequence: Sequence) {
        self.home(sequence.id).flushes.data.push_back(sequence);
        self.go_ahead(sequence.id);
    }

    fn await_flush(&mut self, sequence: Sequence, now: u64) {
        let flushes = &mut self.home(sequence.id).flushes;
        if flushes.pending.is_empty() {
            flushes.pending_since = now;
        }
        flushes.pending.push(sequence);
        let waits_for_company = flushes.timer_ns().is_some_and(|time| now < time);
        if !waits_for_company {
            self.issue_flush(self.requests[sequence.id].cpu, now);
        }
    }

    /// Issues a flush for all of a hardware queue that wait for one, unless one is on its way.
    pub(super) fn issue_flush(&mut self, queue: u16, now: u64) {
        let flushes = &mut self.queues[queue].flushes;
        if flushes.flush.is_none() && !flushes.pending.is_empty() {
            flushes.running = std::mem::take(&mut flushes.pending);
            let id = self.new_flush(queue, now);
            self.go_ahead(id);
        }
    }

    fn new_flush(&mut self, queue: u16, now: u64) -> RequestId {
        let (direction, priority, pid) = (Direction::Write, Priority::default(), u32::from(queue));
        let bio = Bio { start: 0, sectors: 0, direction, flags: Flags::FLUSH, pid, priority, owner: 0 };
        let id = self.requests.allocate(bio, 0, queue, now);
        self.queues[queue].flushes.flush = Some(id);
        id
    }

    /// If `id` is a step of a sequence, begins the next step.
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
                // The flush before the data comes first; once that is done, the next one is the last step.
                let before = std::mem::take(&mut sequence.steps.before);
                if before && sequence.steps.data {
                    self.write_data(sequence);
                } else {
                    self.end(sequence.id, now, ended);
                }
            }
        } else if let Some(position) = flushes.data.iter().position(|sequence| sequence.id == id) {
            let sequence = flushes.data.remove(position).expect("it was just found");
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

    /// What a barrier at the head of the queue lets pass; `None` if there is no barrier.
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
            queue.flushes.barrier = Some(Barrier { sequence: Sequence { id, steps }, busy: false });
        }
        let barrier = self.queues[0].flushes.barrier.as_mut()?;
        if std::mem::replace(&mut barrier.busy, true) {
            return Some(None);
        }
        let Sequence { id, steps } = barrier.sequence;
        Some(Some(if !steps.before && steps.data { id } else { self.new_flush(0, now) }))
    }

    fn barrier_step_done(&mut self, id: RequestId, now: u64, ended: &mut Vec<Bio>) {
        let flushes = &mut self.queues[0].flushes;
        let mut barrier = flushes.barrier.take().expect("its step has ended");
        barrier.busy = false;
        if flushes.is_flush(id) {
            flushes.flush = None;
            self.requests.free(id);
        }
        let steps = &mut barrier.sequence.steps;
        // Steps are done in this order.
        if steps.before {
            steps.before = false;
        } else if steps.data {
            steps.data = false;
        } else {
            steps.after = false;
        }
        if steps.is_nothing() {
            self.end(barrier.sequence.id, now, ended);
        } else {
            self.queues[0].flushes.barrier = Some(barrier);
        }
    }
}
