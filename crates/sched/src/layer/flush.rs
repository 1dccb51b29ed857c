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

    fn write_data(&mut self, sequence: Sequence) {
        self.flushes.data.push_back(sequence);
        self.ahead.push_front(sequence.id);
    }

    fn await_flush(&mut self, sequence: Sequence, now: u64) {
        if self.flushes.pending.is_empty() {
            self.flushes.pending_since = now;
        }
        self.flushes.pending.push(sequence);
        let waits_for_company = self.flush_timer().is_some_and(|time| now < time);
        if !waits_for_company {
            self.issue_flush(now);
        }
    }

    /// When a flush stops waiting for company.
    pub(super) fn flush_timer(&self) -> Option<u64> {
        let Flushes { pending, flush, data, pending_since, .. } = &self.flushes;
        let waits = !pending.is_empty() && flush.is_none() && !data.is_empty();
        waits.then_some(pending_since + PENDING_NS)
    }

    /// Issues a flush for all that wait for one, unless one is on its way.
    pub(super) fn issue_flush(&mut self, now: u64) {
        if self.flushes.flush.is_none() && !self.flushes.pending.is_empty() {
            self.flushes.running = std::mem::take(&mut self.flushes.pending);
            let id = self.new_flush(now);
            self.ahead.push_front(id);
        }
    }

    fn new_flush(&mut self, now: u64) -> RequestId {
        let (direction, priority) = (Direction::Write, Priority::default());
        let bio = Bio { start: 0, sectors: 0, direction, flags: Flags::FLUSH, pid: 0, priority, owner: 0 };
        let id = self.requests.allocate(bio, 0, now);
        self.flushes.flush = Some(id);
        id
    }

    /// If `id` is a step of a sequence, begins the next step.
    pub(super) fn step_done(&mut self, id: RequestId, now: u64, ended: &mut Vec<Bio>) -> bool {
        if self.flushes.barrier.is_some() {
            self.barrier_step_done(id, now, ended);
            return true;
        }
        if self.flushes.is_flush(id) {
            self.requests.free(id);
            self.flushes.flush = None;
            for mut sequence in std::mem::take(&mut self.flushes.running) {
                // The flush before the data comes first; once that is done, the next one is the last step.
                let before = std::mem::take(&mut sequence.steps.before);
                if before && sequence.steps.data {
                    self.write_data(sequence);
                } else {
                    self.end(sequence.id, now, ended);
                }
            }
        } else if let Some(position) = self.flushes.data.iter().position(|sequence| sequence.id == id) {
            let sequence = self.flushes.data.remove(position).expect("it was just found");
            if sequence.steps.after {
                self.await_flush(sequence, now);
            } else {
                self.end(id, now, ended);
            }
        } else {
            return false;
        }
        if self.flush_timer().is_none_or(|time| time <= now) {
            self.issue_flush(now);
        }
        true
    }

    /// What a barrier at the head of the queue lets pass; `None` if there is no barrier.
    pub(super) fn barrier_turn(&mut self, now: u64) -> Option<Option<RequestId>> {
        if self.flushes.barrier.is_none() {
            let &id = self.ahead.front()?;
            let bio = self.requests[id].bios[0];
            let steps = self.steps(&bio)?;
            if self.in_flight > 0 {
                return Some(None);
            }
            self.ahead.pop_front();
            self.flushes.barrier = Some(Barrier { sequence: Sequence { id, steps }, busy: false });
        }
        let barrier = self.flushes.barrier.as_mut()?;
        if std::mem::replace(&mut barrier.busy, true) {
            return Some(None);
        }
        let Sequence { id, steps } = barrier.sequence;
        Some(Some(if !steps.before && steps.data { id } else { self.new_flush(now) }))
    }

    fn barrier_step_done(&mut self, id: RequestId, now: u64, ended: &mut Vec<Bio>) {
        let mut barrier = self.flushes.barrier.take().expect("its step has ended");
        barrier.busy = false;
        if self.flushes.is_flush(id) {
            self.requests.free(id);
            self.flushes.flush = None;
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
            self.flushes.barrier = Some(barrier);
        }
    }
}
