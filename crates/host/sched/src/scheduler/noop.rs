//! `noop`: one queue, first in, first out (block/noop-iosched.c of Linux 2.6.32).
//!
//! Back merges are possible with any waiting request, found by hash; front merges only with the request merged last.
//! Requests coalesce with their neighbours in the queue.

use super::lists::Fifo;
use super::{IoScheduler, SchedulerInfo, SchedulerRules};
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "noop",
    help: "first in, first out, with merges; Linux 2.6.32",
    source: "Linux 2.6.32, block/noop-iosched.c",
    parameters: &[],
    role: SchedulerRules {
        work_conserving: true,
        sorted_drain: true,
        ..SchedulerRules::new(BlockLayerKind::SingleQueue, &|_, _| Ok(Box::new(Noop::default())))
    },
};

#[derive(Debug, Default)]
struct Noop {
    queue: Fifo,
}

impl IoScheduler for Noop {
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        self.queue.push(rq, u64::MAX);
        false
    }

    fn dispatch(&mut self, _queue: u16, _requests: &Requests, _now: u64, _force: bool) -> Option<RequestId> {
        let id = self.queue.head()?;
        self.queue.remove(id);
        Some(id)
    }

    fn completed(&mut self, _rq: &Request, _now: u64) {}

    fn former(&self, rq: &Request) -> Option<RequestId> {
        self.queue.before(rq.id)
    }

    fn latter(&self, rq: &Request) -> Option<RequestId> {
        self.queue.after(rq.id)
    }

    fn merged(&mut self, _survivor: &Request, absorbed: &Request, _requests: &Requests) {
        self.queue.remove(absorbed.id);
    }
}
