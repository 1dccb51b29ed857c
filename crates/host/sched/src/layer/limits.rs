//! Request limits: a bio waits if no request is free (`get_request` of block/blk-core.c in 2.6.32; tags of
//! block/blk-mq-tag.c).

use std::collections::BTreeMap;

use super::BlockLayerKind;
use crate::MS;

/// Number of requests that a batcher may take from a full queue.
const BATCH_REQUESTS: u32 = 32;
/// Time after which a process is no longer a batcher: HZ / 50.
const BATCH_NS: u64 = 20 * MS;

/// A process that may temporarily take requests from a full queue, so that it need not sleep before each request.
#[derive(Clone, Copy, Debug)]
struct Batcher {
    left: u32,
    since: u64,
}

/// Counts and limits of requests in use.
#[derive(Debug)]
pub(super) struct Limits {
    kind: BlockLayerKind,
    nr_requests: u32,
    /// Number of requests in use: asynchronous requests at index 0, synchronous requests at index 1.
    used: [u32; 2],
    full: [bool; 2],
    congested: [bool; 2],
    batchers: BTreeMap<u32, Batcher>,
}

impl Limits {
    pub fn new(kind: BlockLayerKind, nr_requests: u32) -> Self {
        Self { kind, nr_requests, used: [0; 2], full: [false; 2], congested: [false; 2], batchers: BTreeMap::new() }
    }

    /// Takes a request if fewer than `depth` are in use (multi-queue layer).
    pub fn take(&mut self, sync: bool, depth: u32) -> bool {
        let granted = self.total() < depth.min(self.nr_requests);
        self.used[usize::from(sync)] += u32::from(granted);
        granted
    }

    /// Takes a request for process `pid` if one is available (single-queue layer). With `must`, the scheduler lets the
    /// process exceed the soft limit, up to the hard limit of 1.5 times `nr_requests`.
    pub fn take_legacy(&mut self, pid: u32, sync: bool, must: bool, now: u64) -> bool {
        let granted = self.grants(pid, usize::from(sync), must, now);
        self.used[usize::from(sync)] += u32::from(granted);
        granted
    }

    fn grants(&mut self, pid: u32, kind: usize, must: bool, now: u64) -> bool {
        if self.used[kind] + 1 >= self.congestion_on() {
            if self.used[kind] + 1 >= self.nr_requests {
                if !self.full[kind] {
                    // The process that fills up the queue becomes a batcher, so it may take another batch of requests.
                    self.make_batcher(pid, now);
                    self.full[kind] = true;
                } else if !must && !self.is_batcher(pid, now) {
                    return false;
                }
            }
            self.congested[kind] = true;
        }
        if self.used[kind] >= 3 * self.nr_requests / 2 {
            return false;
        }
        // Only requests taken from a full queue count towards the process's batch.
        if self.used[kind] + 1 >= self.nr_requests
            && self.is_batcher(pid, now)
            && let Some(batcher) = self.batchers.get_mut(&pid)
        {
            batcher.left -= 1;
        }
        true
    }

    /// Makes `pid` a batcher, because it filled the queue or slept while waiting for a request.
    pub fn make_batcher(&mut self, pid: u32, now: u64) {
        if !self.is_batcher(pid, now) {
            self.batchers.insert(pid, Batcher { left: BATCH_REQUESTS, since: now });
        }
    }

    /// True if the process has batch requests left, and either has not used any of them or became a batcher in the last
    /// 20 ms.
    fn is_batcher(&self, pid: u32, now: u64) -> bool {
        self.batchers.get(&pid).is_some_and(|b| b.left == BATCH_REQUESTS || (b.left > 0 && now < b.since + BATCH_NS))
    }

    /// Puts a request back into the pool. Returns true if a waiting bio of the same type (synchronous or asynchronous)
    /// may try again to get a request.
    pub fn give_back(&mut self, sync: bool) -> bool {
        let kind = usize::from(sync);
        self.used[kind] -= 1;
        if self.kind == BlockLayerKind::MultiQueue {
            return true;
        }
        if self.used[kind] < self.congestion_off() {
            self.congested[kind] = false;
        }
        let room = self.used[kind] < self.nr_requests;
        if room {
            self.full[kind] = false;
        }
        room
    }

    pub fn total(&self) -> u32 {
        self.used[0] + self.used[1]
    }

    /// True if background writers should hold back, because too many requests are in use.
    pub fn is_congested(&self, sync: bool) -> bool {
        self.congested[usize::from(sync)]
    }

    /// Returns the number of requests in use at which congestion begins, for example 113 of 128.
    fn congestion_on(&self) -> u32 {
        (self.nr_requests - self.nr_requests / 8 + 1).min(self.nr_requests)
    }

    /// Returns the number of requests in use below which congestion ends, for example 103 of 128.
    fn congestion_off(&self) -> u32 {
        (self.nr_requests - self.nr_requests / 8 - self.nr_requests / 16).saturating_sub(1).max(1)
    }
}
