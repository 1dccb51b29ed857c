//! Bursts of queue creations: many queues created in a short time usually belong to one task that needs throughput
//! rather than low latency.

use super::Bfq;
use crate::MS;

/// Number of created queues at which a burst becomes large.
const LARGE: u32 = 8;
/// Maximum time between the creation of two consecutive queues of a burst.
pub(super) const INTERVAL_NS: i64 = 180 * MS as i64;
/// Time for which a queue that was just split from a shared queue does not count as new.
const SPLIT_NS: u64 = 10 * MS;

/// The current burst of queue creations.
#[derive(Debug)]
pub(super) struct Burst {
    /// Number of queues created in the current burst.
    size: u32,
    pub is_large: bool,
    /// Queues of the current burst; empty while the burst is large.
    members: Vec<usize>,
    latest: i64,
}

impl Default for Burst {
    fn default() -> Self {
        Self { size: 0, is_large: false, members: Vec::new(), latest: -2 * INTERVAL_NS }
    }
}

impl Bfq {
    pub(super) fn leave_burst(&mut self, queue: usize) {
        self.burst.members.retain(|&member| member != queue);
        let q = &mut self.queues[queue];
        (q.in_burst, q.in_large_burst) = (false, false);
    }

    pub(super) fn rejoin_burst(&mut self, queue: usize) {
        self.queues[queue].in_burst = true;
        self.burst.members.push(queue);
    }

    /// Adds a newly created queue to the current burst, or starts a new burst with it.
    pub(super) fn detect_burst(&mut self, queue: usize) {
        let q = &self.queues[queue];
        if !q.just_created || (self.burst.size == 0 && self.busy_queues() > 0) {
            return;
        }
        if q.in_burst || q.in_large_burst || q.split + self.clock.jiffies.whole_up(SPLIT_NS) as i64 >= self.clock.jiffy
        {
            return;
        }
        if self.burst.latest + INTERVAL_NS < self.clock.jiffy {
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
        self.burst.latest = self.clock.jiffy;
    }
}
