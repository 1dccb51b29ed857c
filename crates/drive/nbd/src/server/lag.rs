//! Measures the lag of replies: the delay between the due time set by an export and the time of sending.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Replies whose due time was set by an export: their number, and the sum and maximum of their lags.
#[derive(Debug, Default)]
pub struct Lag {
    replies: AtomicU64,
    total_ns: AtomicU64,
    most_ns: AtomicU64,
}

impl Lag {
    /// Returns the number of replies with a due time.
    pub fn replies(&self) -> u64 {
        self.replies.load(Relaxed)
    }

    /// Returns the sum of the lags of all counted replies.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.total_ns.load(Relaxed))
    }

    /// Returns the longest lag of a reply.
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
