//! `none`: no scheduler (block/blk-mq.c and block/blk-mq-sched.c of Linux 6).
//!
//! Requests go to the device in arrival order and wait only while the device is busy. A bio merges with one of the
//! eight latest waiting requests. Each hardware queue serves one CPU, so it has one software queue.

use super::lists::Fifo;
use super::{IoScheduler, MergeIndex, SchedulerInfo, SchedulerRules};
use crate::bio::Bio;
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "none",
    help: "no scheduler: first come, first served; Linux 6",
    source: "Linux 6, block/blk-mq-sched.c",
    parameters: &[],
    role: SchedulerRules {
        merge_index: MergeIndex::Latest,
        by_queue: true,
        work_conserving: true,
        ..SchedulerRules::new(BlockLayerKind::MultiQueue, &|_, device| Ok(Box::new(NoScheduler::new(device.queues))))
    },
};

/// Number of most recent requests that a bio may merge with (`blk_bio_list_merge`).
pub(super) const CHECKED: usize = 8;

#[derive(Debug)]
struct NoScheduler {
    queues: Vec<Fifo>,
}

impl NoScheduler {
    fn new(queues: u16) -> Self {
        Self { queues: (0..queues).map(|_| Fifo::default()).collect() }
    }
}

impl IoScheduler for NoScheduler {
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        self.queues[usize::from(rq.cpu)].push(rq, u64::MAX);
        false
    }

    fn dispatch(&mut self, queue: u16, _requests: &Requests, _now: u64, _force: bool) -> Option<RequestId> {
        let queue = &mut self.queues[usize::from(queue)];
        let id = queue.head()?;
        queue.remove(id);
        Some(id)
    }

    fn passes(&self) -> bool {
        true
    }

    fn pass(&mut self, _rq: &Request) -> bool {
        true
    }

    fn completed(&mut self, _rq: &Request, _now: u64) {}

    fn latest(&self, queue: u16, _bio: &Bio) -> Vec<RequestId> {
        self.queues[usize::from(queue)].newest(CHECKED).collect()
    }

    fn merged(&mut self, _survivor: &Request, absorbed: &Request, _requests: &Requests) {
        self.queues[usize::from(absorbed.cpu)].remove(absorbed.id);
    }
}
