//! Hardware queues of the multi-queue layer (block/blk-mq.c and block/blk-mq-sched.c of Linux 6).
//!
//! Each hardware queue has its own device slots, requests, dispatch list and flushes. There is one CPU per queue;
//! process p runs on CPU p mod n, so all its bios go to one queue.
//!
//! A queue runs when it receives or completes a request: it takes the next request from its dispatch list or, if that
//! list is empty, from the scheduler. A scheduler that holds the requests of all queues may return a request of another
//! queue. If that other queue has no free slot, the request waits in its dispatch list, and the running queue stops.
//! Running queues take turns, one request each.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::flush::Flushes;
use super::limits::Limits;
use super::{BlockLayer, BlockLayerKind, Options};
use crate::bio::Bio;
use crate::request::RequestId;
use crate::scheduler::IoScheduler;

/// A hardware queue; the single-queue layer has exactly one.
#[derive(Debug)]
pub(super) struct HardwareQueue {
    /// Dispatch list: requests that have left the scheduler.
    pub ahead: VecDeque<RequestId>,
    pub in_flight: u32,
    pub limits: Limits,
    /// Bios that wait for a free request: asynchronous bios at index 0, synchronous bios at index 1.
    pub waiting: [VecDeque<Bio>; 2],
    pub flushes: Flushes,
    /// True if the queue is due to run; used only if there are several queues.
    pub runs: bool,
}

impl HardwareQueue {
    pub fn new(limits: Limits) -> Self {
        Self {
            ahead: VecDeque::new(),
            in_flight: 0,
            limits,
            waiting: Default::default(),
            flushes: Flushes::default(),
            runs: false,
        }
    }

    /// Reserves a request for a bio; returns false if none is available.
    #[inline(always)]
    pub fn take_request(&mut self, bio: &Bio, scheduler: &dyn IoScheduler, options: &Options, now: u64) -> bool {
        match options.kind {
            BlockLayerKind::MultiQueue => self.limits.take(bio.is_sync(), scheduler.depth(bio, options.nr_requests)),
            BlockLayerKind::SingleQueue => {
                self.limits.take_legacy(bio.pid, bio.is_sync(), scheduler.must_queue(bio), now)
            }
        }
    }
}

/// Hardware queues of a device. The first queue is stored inline, because usually it is the only one.
#[derive(Debug)]
pub(super) struct HardwareQueues {
    first: HardwareQueue,
    others: Vec<HardwareQueue>,
}

impl HardwareQueues {
    /// Creates `number` hardware queues, each with its own request limits.
    pub fn new(number: u16, limits: impl Fn() -> Limits) -> Self {
        let queue = |_| HardwareQueue::new(limits());
        Self { first: queue(0), others: (1..number).map(queue).collect() }
    }

    #[inline(always)]
    pub fn len(&self) -> u16 {
        self.others.len() as u16 + 1
    }

    #[inline(always)]
    pub fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &HardwareQueue> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut HardwareQueue> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

impl Index<u16> for HardwareQueues {
    type Output = HardwareQueue;
    #[inline(always)]
    fn index(&self, queue: u16) -> &HardwareQueue {
        if queue == 0 { &self.first } else { &self.others[usize::from(queue) - 1] }
    }
}

impl IndexMut<u16> for HardwareQueues {
    #[inline(always)]
    fn index_mut(&mut self, queue: u16) -> &mut HardwareQueue {
        if queue == 0 { &mut self.first } else { &mut self.others[usize::from(queue) - 1] }
    }
}

impl BlockLayer {
    #[inline(always)]
    pub(super) fn queue_of(&self, pid: u32) -> u16 {
        // Avoids the division if there is only one queue.
        if self.queues.has_others() { (pid % u32::from(self.queues.len())) as u16 } else { 0 }
    }

    #[inline(always)]
    pub(super) fn home(&mut self, id: RequestId) -> &mut HardwareQueue {
        &mut self.queues[self.requests[id].cpu]
    }

    pub(super) fn run_all(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.runs = true);
    }

    /// Marks the queues that are due to run after a completion: all queues if the scheduler dispatches separately for
    /// each hardware queue, because it may have refused to serve the other queues; otherwise only the request's queue.
    #[inline(never)]
    pub(super) fn run_after(&mut self, queue: u16) {
        if self.info.role.by_queue { self.run_all() } else { self.queues[queue].runs = true }
    }

    /// Returns the next request from one of the queues that are due to run.
    #[inline(never)]
    pub(super) fn take_turns(&mut self, now: u64) -> Option<RequestId> {
        for _ in 0..self.queues.len() {
            let queue = self.turn;
            self.turn = (queue + 1) % self.queues.len();
            if self.queues[queue].runs {
                let id = self.run(queue, now);
                if id.is_some() {
                    return id;
                }
                self.queues[queue].runs = false;
            }
        }
        None
    }

    fn run(&mut self, queue: u16, now: u64) -> Option<RequestId> {
        let runs = &mut self.queues[queue];
        if runs.in_flight >= self.options.slots {
            return None;
        }
        if let Some(id) = runs.ahead.pop_front() {
            return Some(id);
        }
        let id = self.pull(queue, now, false)?;
        let own = &mut self.queues[self.requests[id].cpu];
        if own.in_flight >= self.options.slots {
            own.ahead.push_back(id);
            return None;
        }
        Some(id)
    }
}
