//! How far a server is behind the times that its exports give.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Replies that had to wait for their time, and by how much they left late.
#[derive(Debug, Default)]
pub struct Lag {
    replies: AtomicU64,
    total_ns: AtomicU64,
    most_ns: AtomicU64,
}

impl Lag {
    /// How many replies had a time to leave at.
    pub fn replies(&self) -> u64 {
        self.replies.load(Relaxed)
    }

    /// The sum of their delays.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.total_ns.load(Relaxed))
    }

    /// The longest delay.
    pub fn most(&self) -> Duration {
        Duration::from_nanos(self.most_ns.load(Relaxed))
    }

    pub(super) fn record(&self, late: Duration) {
        let late_ns = late.as_nanos() as u64;
        self.replies.fetch_add(1, Relaxed);
        self.total_ns.fetch_add(late_ns, Relaxed);
        self.most_ns.fetch_max(late_ns, Relaxed);
    }
}
