//! `flashfq`: start-time fair queueing for flash (Shen and Park: FlashFQ: A Fair Queueing I/O Scheduler for Flash-Based
//! SSDs, USENIX ATC 2013).
//!
//! Each process has a queue. A request's start tag is the finish tag of its predecessor or the virtual time of its
//! arrival, if later. The request with the lowest start tag is dispatched first. Two additions make this fair on flash:
//!
//! - *Throttled dispatch*: a request waits while it is ahead of the slowest active process by more than `throttle_ms`
//!   of virtual time.
//! - *Anticipation*: a process whose last request has just completed stays active for `antic_expire`, so that other
//!   processes do not run ahead during its think time.
//!
//! Implemented from memory of the paper; only its abstract and introduction could be checked. Simplifications: costs
//! are linear with fixed coefficients (see the tunables) instead of calibrated; virtual time is the start tag of the
//! request dispatched last; weights 1 to 8 come from I/O priorities.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::FxHashMap;
use ssdlab_core::{Parameter, Settings};

use super::cost::{ANTIC_EXPIRE, Awaited, CostModel, READ_BASE, READ_SECTOR, WRITE_BASE, WRITE_SECTOR};
use super::{IoScheduler, SchedulerInfo, SchedulerRules};
use crate::bio::Bio;
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "flashfq",
    help: "start-time fair queueing with throttled dispatch and anticipation (ATC 2013)",
    source: "Shen and Park, USENIX ATC 2013",
    parameters: &[
        Parameter::ms(
            "throttle_ms",
            20,
            0,
            "Maximum virtual time by which a process may lead the slowest one; the default is ssdlab's choice.",
        ),
        ANTIC_EXPIRE,
        READ_BASE,
        READ_SECTOR,
        WRITE_BASE,
        WRITE_SECTOR,
    ],
    role: SchedulerRules {
        by_process: true,
        ..SchedulerRules::new(BlockLayerKind::SingleQueue, &|settings, _| Ok(Box::new(FlashFq::new(settings))))
    },
};

#[derive(Debug, Default)]
struct Task {
    /// Waiting requests of the process, each with the virtual time of its arrival.
    queue: VecDeque<(RequestId, u64)>,
    /// Finish tag of the process's latest dispatched request.
    finish: u64,
    in_flight: u32,
    /// True if the next request of the process is anticipated.
    awaited: bool,
}

/// Entry of an active process in `due` or `lagging`.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The process is in `due`, by the start tag of its first request.
    Due(u64),
    /// The process is in `lagging`, by its finish tag. It has no waiting request, but one of its requests is at the
    /// device or is anticipated.
    Lagging(u64),
}

impl Task {
    /// Returns the key of the process in `due` or `lagging`; `None` if the process is in neither set.
    fn place(&self) -> Option<Place> {
        match self.queue.front() {
            Some(&(_, arrived)) => Some(Place::Due(arrived.max(self.finish))),
            None => (self.in_flight > 0 || self.awaited).then_some(Place::Lagging(self.finish)),
        }
    }
}

#[derive(Debug, Default)]
struct FlashFq {
    tasks: FxHashMap<u32, Task>,
    due: BTreeSet<(u64, u32)>,
    lagging: BTreeSet<(u64, u32)>,
    awaited: Awaited,
    in_flight: u32,
    time: u64,
    throttle: u64,
    antic_expire: u64,
    cost: CostModel,
}

impl FlashFq {
    fn new(settings: &Settings) -> Self {
        Self {
            throttle: settings.ns("throttle_ms"),
            antic_expire: settings.ns("antic_expire"),
            cost: CostModel::new(settings),
            ..Self::default()
        }
    }

    /// Changes the state of a process and updates its list entry.
    fn change(&mut self, pid: u32, change: impl FnOnce(&mut Task)) {
        let task = self.tasks.entry(pid).or_default();
        match task.place() {
            Some(Place::Due(start)) => _ = self.due.remove(&(start, pid)),
            Some(Place::Lagging(finish)) => _ = self.lagging.remove(&(finish, pid)),
            None => {}
        }
        change(task);
        match task.place() {
            Some(Place::Due(start)) => _ = self.due.insert((start, pid)),
            Some(Place::Lagging(finish)) => _ = self.lagging.insert((finish, pid)),
            None => {}
        }
    }
}

impl IoScheduler for FlashFq {
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        let entry = (rq.id, self.time);
        self.change(rq.pid, |task| {
            task.queue.push_back(entry);
            task.awaited = false;
        });
        self.awaited.remove(rq.pid)
    }

    fn dispatch(&mut self, _queue: u16, requests: &Requests, _now: u64, force: bool) -> Option<RequestId> {
        let &(start, pid) = self.due.first()?;
        // All other processes with waiting requests have later start tags, so the slowest process is either `pid` or in
        // `lagging`.
        if !force && self.lagging.first().is_some_and(|&(slowest, _)| start > slowest + self.throttle) {
            return None;
        }
        let id = self.tasks[&pid].queue.front()?.0;
        let rq = &requests[id];
        let finish = start + self.cost.of(rq).div_ceil(u64::from(8 - rq.priority.level.min(7)));
        self.time = self.time.max(start);
        self.in_flight += 1;
        self.change(pid, |task| {
            task.queue.pop_front();
            task.finish = finish;
            task.in_flight += 1;
        });
        Some(id)
    }

    fn completed(&mut self, rq: &Request, now: u64) {
        self.in_flight -= 1;
        let antic_expire = self.antic_expire;
        self.change(rq.pid, |task| {
            task.in_flight -= 1;
            task.awaited = rq.is_sync() && task.in_flight == 0 && task.queue.is_empty() && antic_expire > 0;
        });
        let task = &self.tasks[&rq.pid];
        if task.awaited {
            self.awaited.insert(rq.pid, now + antic_expire);
        }
        if self.in_flight == 0 && self.due.is_empty() {
            // A process that arrives at an idle device starts at the virtual time reached by the processes served
            // before.
            self.time = self.time.max(task.finish);
        }
    }

    fn allow_merge(&self, rq: &Request, bio: &Bio) -> bool {
        rq.pid == bio.pid
    }

    fn timer_ns(&self) -> Option<u64> {
        self.awaited.timer()
    }

    fn on_timer(&mut self, now: u64) {
        while let Some(pid) = self.awaited.pop_due(now) {
            self.change(pid, |task| task.awaited = false);
        }
    }
}
