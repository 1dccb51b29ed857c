//! Pacing: a token bucket limits the rate at which the write buffer accepts pages.

use crate::setup::drive::Pace;

/// A token bucket, full at time 0.
#[derive(Debug)]
pub(super) struct TokenBucket {
    interval_ns: u64,
    /// Time in which an empty bucket fills.
    fill_ns: u64,
    /// Time at which the bucket is full again if no token is taken until then.
    full_ns: u64,
}

impl TokenBucket {
    pub fn new(pace: Pace) -> Self {
        let interval_ns = pace.interval.0;
        Self { interval_ns, fill_ns: interval_ns * u64::from(pace.burst), full_ns: 0 }
    }

    /// Takes a token; returns false if the bucket has none.
    pub fn take(&mut self, now_ns: u64) -> bool {
        let has_token = self.next_ns() <= now_ns;
        if has_token {
            self.full_ns = self.full_ns.max(now_ns) + self.interval_ns;
        }
        has_token
    }

    /// Returns the time from which the bucket has a token; 0 if it has had a token since time 0.
    pub fn next_ns(&self) -> u64 {
        (self.full_ns + self.interval_ns).saturating_sub(self.fill_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Nanos;

    #[test]
    fn tokens_come_at_their_interval_and_gather_up_to_the_burst() {
        let mut bucket = TokenBucket::new(Pace { interval: Nanos(10), burst: 3 });
        let taken = |bucket: &mut TokenBucket, now_ns| (0..5).filter(|_| bucket.take(now_ns)).count();
        assert_eq!(taken(&mut bucket, 0), 3);
        assert_eq!(bucket.next_ns(), 10);
        assert_eq!((taken(&mut bucket, 9), taken(&mut bucket, 10), taken(&mut bucket, 19)), (0, 1, 0));
        // The bucket never holds more than three tokens, however long it is unused.
        assert_eq!(taken(&mut bucket, 1_000), 3);
        assert_eq!((taken(&mut bucket, 1_025), bucket.next_ns()), (2, 1_030));
    }
}
