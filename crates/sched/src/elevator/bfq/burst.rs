//! Bursts: many queues that are created at once serve one task, for which throughput counts, not latency.

use super::Bfq;
use crate::MS;

/// So many queues are a large burst.
const LARGE: u32 = 8;
/// A queue created later than that after the last one does not belong to its burst.
pub(super) const INTERVAL_NS: u64 = 180 * MS;
/// A queue that has just left a shared one is not new.
const SPLIT_NS: u64 = 10 * MS;

/// The burst under way.
#[derive(Debug)]
pub(super) struct Burst {
    /// Queues created in it, and those that are still known by name.
    size: u32,
    pub is_large: bool,
    members: Vec<usize>,
    latest: i64,
}

impl Burst {
    pub fn new(jiffy: i64) -> Self {
        Self { size: 0, is_large: false, members: Vec::new(), latest: jiffy - 2 * INTERVAL_NS as i64 }
    }
}

impl Bfq {
    pub(super) fn leave_burst(&mut self, queue: usize) {
        self.burst.members.retain(|&member| member != queue);
        let q = &mut self.queues[queue];
        (q.in_burst, q.in_large_burst) = (false, false);
    }

    /// A queue of the burst is back after it was shared.
    pub(super) fn rejoin_burst(&mut self, queue: usize) {
        self.queues[queue].in_burst = true;
        self.burst.members.push(queue);
    }

    /// A queue has been created, while no other was active or in a burst.
    pub(super) fn look_for_burst(&mut self, queue: usize) {
        let q = &self.queues[queue];
        if !q.just_created || (self.burst.size == 0 && self.busy_queues() > 0) {
            return;
        }
        if q.in_burst || q.in_large_burst || q.split + self.jiffies.whole_up(SPLIT_NS) as i64 >= self.jiffy {
            return;
        }
        if self.burst.latest + (INTERVAL_NS as i64) < self.jiffy {
            self.burst.is_large = false;
            for member in std::mem::take(&mut self.burst.members) {
                self.queues[member].in_burst = false;
            }
            self.burst.size = 0;
            if self.busy_queues() == 0 {
                self.burst.size = 1;
                self.rejoin_burst(queue);
            }
        } else if self.burst.is_large {
            self.queues[queue].in_large_burst = true;
        } else {
            self.burst.size += 1;
            if self.burst.size == LARGE {
                self.burst.is_large = true;
                self.queues[queue].in_large_burst = true;
                for member in std::mem::take(&mut self.burst.members) {
                    (self.queues[member].in_burst, self.queues[member].in_large_burst) = (false, true);
                }
            } else {
                self.rejoin_burst(queue);
            }
        }
        self.burst.latest = self.jiffy;
    }
}
