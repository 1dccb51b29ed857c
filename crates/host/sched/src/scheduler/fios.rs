//! `fios`: timeslices of device time, read preference and anticipation for fairness (Park and Shen: FIOS: A Fair,
//! Efficient Flash I/O Scheduler, FAST 2012).
//!
//! In each epoch every process has a timeslice of device time. Requests of all processes with time left are issued in
//! parallel, oldest first. A write waits while a read can be issued or is at the device. The epoch ends when no process
//! with time left has a request waiting. However, if the last request of a process with time left has just completed,
//! the scheduler first waits up to `antic_expire` for the next request of this process.
//!
//! Implemented from memory of the paper; only the abstract could be checked. Simplifications: costs are linear with
//! fixed coefficients (see the tunables) instead of calibrated; overlapping requests do not share their cost; an
//! overrun is subtracted from the next slice.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::FxHashMap;
use ssdlab_core::{Parameter, Settings};

use super::cost::{ANTIC_EXPIRE, Awaited, CostModel, READ_BASE, READ_SECTOR, WRITE_BASE, WRITE_SECTOR};
use super::{IoScheduler, SchedulerInfo, SchedulerRules};
use crate::bio::{Bio, Direction};
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "fios",
    help: "device-time slices per process, with parallel dispatch and read preference (FAST 2012)",
    source: "Park and Shen, FAST 2012",
    parameters: &[
        Parameter::ms(
            "slice_ms",
            20,
            1,
            "Device time granted to each process per epoch; the default is ssdlab's choice.",
        ),
        Parameter::switch("read_preference", true, "True to serve waiting reads before writes."),
        ANTIC_EXPIRE,
        READ_BASE,
        READ_SECTOR,
        WRITE_BASE,
        WRITE_SECTOR,
    ],
    role: SchedulerRules {
        bounded_wait: false,
        by_process: true,
        ..SchedulerRules::new(BlockLayerKind::SingleQueue, &|settings, _| Ok(Box::new(Fios::new(settings))))
    },
};

#[derive(Debug, Default)]
struct Task {
    queues: [VecDeque<RequestId>; 2],
    /// Device time that the process has left in this epoch; negative after an overrun.
    left: i64,
    /// Epoch for which the device time `left` was granted.
    epoch: u64,
    in_flight: u32,
}

#[derive(Debug, Default)]
struct Fios {
    tasks: FxHashMap<u32, Task>,
    /// For each direction (read or write), the oldest request of every process that has device time left.
    ready: [BTreeSet<(RequestId, u32)>; 2],
    /// For each direction (read or write), the oldest request of every process that has used up its device time.
    spent: [BTreeSet<(RequestId, u32)>; 2],
    awaited: Awaited,
    epoch: u64,
    reads_at_device: u32,
    slice: i64,
    read_preference: bool,
    antic_expire: u64,
    cost: CostModel,
}

impl Fios {
    fn new(settings: &Settings) -> Self {
        Self {
            epoch: 1,
            slice: i64::try_from(settings.ns("slice_ms")).expect("slice_ms must be at most one hour"),
            read_preference: settings.is_set("read_preference"),
            antic_expire: settings.ns("antic_expire"),
            cost: CostModel::new(settings),
            ..Self::default()
        }
    }

    /// Gives a process its timeslice for the current epoch, unless the process has already received it.
    fn refill(&mut self, pid: u32) -> &mut Task {
        let task = self.tasks.entry(pid).or_default();
        // An overrun carries over to later epochs, but unused time does not. Every epoch that the process skipped also
        // reduces its overrun.
        let missed = i64::try_from(self.epoch - task.epoch).expect("the number of missed epochs must fit i64");
        if missed > 0 {
            task.left = self.slice.saturating_mul(missed).saturating_add(task.left).min(self.slice);
            task.epoch = self.epoch;
        }
        task
    }

    /// Puts the oldest read and the oldest write of a process into `ready` if the process has time left, otherwise into
    /// `spent`.
    fn file(&mut self, pid: u32) {
        let task = self.refill(pid);
        let (has_time, firsts) = (task.left > 0, [task.queues[0].front().copied(), task.queues[1].front().copied()]);
        for (direction, first) in firsts.into_iter().enumerate() {
            if let Some(first) = first {
                let entry = (first, pid);
                self.ready[direction].remove(&entry);
                self.spent[direction].remove(&entry);
                let lists = if has_time { &mut self.ready } else { &mut self.spent };
                lists[direction].insert(entry);
            }
        }
    }

    fn nothing_ready(&self) -> bool {
        self.ready.iter().all(BTreeSet::is_empty)
    }

    /// Advances to the next epoch in which some process has both waiting requests and device time.
    fn next_epoch(&mut self) {
        while self.nothing_ready() && self.spent.iter().any(|list| !list.is_empty()) {
            self.epoch += 1;
            let pids: BTreeSet<u32> = self.spent.iter().flatten().map(|&(_, pid)| pid).collect();
            pids.into_iter().for_each(|pid| self.file(pid));
        }
    }
}

impl IoScheduler for Fios {
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        let queue = &mut self.refill(rq.pid).queues[rq.direction as usize];
        queue.push_back(rq.id);
        if queue.len() == 1 {
            self.file(rq.pid);
        }
        self.awaited.remove(rq.pid)
    }

    fn dispatch(&mut self, _queue: u16, requests: &Requests, _now: u64, force: bool) -> Option<RequestId> {
        if self.nothing_ready() {
            if !self.awaited.is_empty() && !force {
                return None;
            }
            self.next_epoch();
        }
        let [read, write] = [&self.ready[0], &self.ready[1]].map(|list| list.first().copied());
        let (pid, direction) = match (read, write) {
            (Some((id, pid)), other) if self.read_preference || other.is_none_or(|(write, _)| id < write) => {
                (pid, Direction::Read)
            }
            (_, Some((_, pid))) if force || !self.read_preference || self.reads_at_device == 0 => {
                (pid, Direction::Write)
            }
            _ => return None,
        };
        let task = self.tasks.get_mut(&pid)?;
        let id = task.queues[direction as usize].pop_front()?;
        task.left -= i64::try_from(self.cost.of(&requests[id])).expect("the cost of a request must fit i64");
        task.in_flight += 1;
        self.ready[direction as usize].remove(&(id, pid));
        self.reads_at_device += u32::from(direction == Direction::Read);
        self.file(pid);
        Some(id)
    }

    fn completed(&mut self, rq: &Request, now: u64) {
        self.reads_at_device -= u32::from(rq.direction == Direction::Read);
        let task = self.refill(rq.pid);
        task.in_flight -= 1;
        let idle = task.in_flight == 0 && task.queues.iter().all(VecDeque::is_empty);
        if rq.is_sync() && idle && task.left > 0 && self.antic_expire > 0 {
            self.awaited.insert(rq.pid, now + self.antic_expire);
        }
    }

    fn allow_merge(&self, rq: &Request, bio: &Bio) -> bool {
        rq.pid == bio.pid
    }

    fn timer_ns(&self) -> Option<u64> {
        self.awaited.timer()
    }

    fn on_timer(&mut self, now: u64) {
        while self.awaited.pop_due(now).is_some() {}
    }
}
