//! Pacing: limits the rate at which the write buffer accepts pages.

use ssdlab_nand::backend::parallel::NEVER;

use crate::setup::drive::Pace;

/// Limit on the rate at which the write buffer accepts pages.
#[derive(Debug)]
pub(super) enum Pacer {
    Tokens(TokenBucket),
    Credits(Credits),
}

impl Pacer {
    pub fn new(pace: Pace) -> Self {
        match pace {
            Pace::Tokens { interval, burst } => Self::Tokens(TokenBucket::new(interval.0, burst)),
            Pace::Credits { initial } => {
                Self::Credits(Credits { left: initial.into(), copied_pages: 0, is_collecting: false })
            }
        }
    }

    /// Returns true if a page may enter the buffer now; if so, takes a token or a credit for the page.
    pub fn take(&mut self, now_ns: u64) -> bool {
        match self {
            Self::Tokens(bucket) => bucket.take(now_ns),
            Self::Credits(credits) => credits.take(),
        }
    }

    /// Returns the earliest time at which the token bucket has a token. With credits, which do not depend on time,
    /// returns [`NEVER`].
    pub fn next_ns(&self) -> u64 {
        match self {
            Self::Tokens(bucket) => bucket.next_ns(),
            Self::Credits(_) => NEVER,
        }
    }
}

/// Page credits. Garbage collection earns one credit for each invalid page of its victims.
#[derive(Debug)]
pub(super) struct Credits {
    left: u64,
    /// Number of pages copied out of victims that have not been erased yet.
    copied_pages: u64,
    /// True while background garbage collection is working on any plane. Otherwise, pages need no credit.
    is_collecting: bool,
}

impl Credits {
    fn take(&mut self) -> bool {
        let may_enter = self.left > 0 || !self.is_collecting;
        self.left = self.left.saturating_sub(1);
        may_enter
    }

    /// Adds credits for the pages that collection has freed. `pages` is negative if collection has only copied pages.
    /// These copies are subtracted from the credits for the next erased block.
    pub fn give(&mut self, pages: i64) {
        let freed = pages - self.copied_pages as i64;
        self.left += freed.max(0) as u64;
        self.copied_pages = (-freed).max(0) as u64;
    }

    pub fn set_collecting(&mut self, is_collecting: bool) {
        self.is_collecting = is_collecting;
    }
}

/// A token bucket, full at time 0.
#[derive(Debug)]
pub(super) struct TokenBucket {
    interval_ns: u64,
    /// Time to fill an empty token bucket.
    fill_ns: u64,
    /// Time at which the bucket is full again if no token is taken until then.
    full_ns: u64,
}

impl TokenBucket {
    fn new(interval_ns: u64, burst: u32) -> Self {
        Self { interval_ns, fill_ns: interval_ns * u64::from(burst), full_ns: 0 }
    }

    /// Takes a token; returns false if the bucket has none.
    fn take(&mut self, now_ns: u64) -> bool {
        let has_token = self.next_ns() <= now_ns;
        if has_token {
            self.full_ns = self.full_ns.max(now_ns) + self.interval_ns;
        }
        has_token
    }

    /// Returns the earliest time at which the bucket has a token; 0 if the bucket has always had one.
    fn next_ns(&self) -> u64 {
        (self.full_ns + self.interval_ns).saturating_sub(self.fill_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_accumulate_at_their_interval_up_to_the_burst() {
        let mut bucket = TokenBucket::new(10, 3);
        let taken = |bucket: &mut TokenBucket, now_ns| (0..5).filter(|_| bucket.take(now_ns)).count();
        assert_eq!(taken(&mut bucket, 0), 3);
        assert_eq!(bucket.next_ns(), 10);
        assert_eq!((taken(&mut bucket, 9), taken(&mut bucket, 10), taken(&mut bucket, 19)), (0, 1, 0));
        // The bucket never holds more than three tokens, however long it is unused.
        assert_eq!(taken(&mut bucket, 1_000), 3);
        assert_eq!((taken(&mut bucket, 1_025), bucket.next_ns()), (2, 1_030));
    }

    #[test]
    fn pages_need_credits_while_collection_works() {
        let mut credits = Credits { left: 2, copied_pages: 0, is_collecting: true };
        assert_eq!([credits.take(), credits.take(), credits.take()], [true, true, false]);
        // A victim of eight pages with seven valid pages, copied in two steps.
        credits.give(-4);
        assert!(!credits.take());
        credits.give(8 - 3);
        assert_eq!([credits.take(), credits.take()], [true, false]);
        // While nothing is collected, each accepted page uses up a credit, but pages are also accepted without credits.
        credits.give(2);
        credits.set_collecting(false);
        assert!((0..5).all(|_| credits.take()));
        credits.set_collecting(true);
        assert!(!credits.take());
    }
}
