//! `none`: no scheduler (block/blk-mq.c and block/blk-mq-sched.c of Linux 6).
//!
//! Requests go to the device as they come; only what finds it busy waits, in order. A bio is merged with one of the
//! eight latest that wait. The kernel keeps a queue for each processor; here there is one.

use super::lists::Fifo;
use super::{Elevator, MergeIndex, SchedulerInfo};
use crate::bio::Bio;
use crate::layer::Frame;
use crate::request::{Request, RequestId, Requests};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "none",
    help: "no scheduler: as they come; Linux 6",
    frame: Frame::Modern,
    merge_index: MergeIndex::Latest,
    work_conserving: true,
    sorted_drain: false,
    bounded_wait: true,
    by_process: false,
    by_sync: false,
    tunables: &[],
    build: |_, _| Ok(Box::new(NoScheduler::default())),
};

/// Requests that a bio may be merged with (`blk_bio_list_merge`).
pub(super) const CHECKED: usize = 8;

#[derive(Debug, Default)]
struct NoScheduler {
    queue: Fifo,
}

impl Elevator for NoScheduler {
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        self.queue.push(rq, u64::MAX);
        false
    }

    fn dispatch(&mut self, _requests: &Requests, _now: u64, _force: bool) -> Option<RequestId> {
        let id = self.queue.head()?;
        self.queue.remove(id);
        Some(id)
    }

    fn passes(&self) -> bool {
        true
    }

    fn pass(&mut self, _rq: &Request) -> bool {
        true
    }

    fn completed(&mut self, _rq: &Request, _now: u64) {}

    fn latest(&self, _bio: &Bio) -> Vec<RequestId> {
        self.queue.newest(CHECKED).collect()
    }

    fn merged(&mut self, _survivor: &Request, absorbed: &Request, _requests: &Requests) {
        self.queue.remove(absorbed.id);
    }
}
