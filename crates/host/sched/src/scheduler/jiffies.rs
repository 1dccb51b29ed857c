//! Clock that advances in ticks, like the kernel's jiffies.

/// A clock that advances in ticks. Jiffies last 1 to 10 ms and start at a different phase on each machine. By default,
/// a tick lasts one nanosecond, for models that do not depend on jiffies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jiffies {
    tick_ns: u64,
    phase_ns: u64,
}

impl Default for Jiffies {
    fn default() -> Self {
        Self::new(1, 0)
    }
}

impl Jiffies {
    /// Creates a clock that ticks `phase_ns` after every multiple of `tick_ns`.
    pub const fn new(tick_ns: u64, phase_ns: u64) -> Self {
        Self { tick_ns, phase_ns }
    }

    /// Returns the time of the latest tick; time 0 counts as a tick.
    pub const fn last(self, now: u64) -> u64 {
        now.saturating_sub((now + self.tick_ns - self.phase_ns) % self.tick_ns)
    }

    /// Returns the time at which a timer set at `now` for `delay_ns` fires: the first tick at or after the end of the
    /// delay.
    pub const fn timer(self, now: u64, delay_ns: u64) -> u64 {
        self.last(now + delay_ns + self.tick_ns - 1)
    }

    /// Rounds a duration down to whole ticks.
    pub const fn whole(self, ns: u64) -> u64 {
        ns - ns % self.tick_ns
    }

    /// Rounds a duration up to whole ticks.
    pub const fn whole_up(self, ns: u64) -> u64 {
        self.whole(ns + self.tick_ns - 1)
    }

    /// Returns the duration of `count` ticks in nanoseconds.
    pub const fn ticks(self, count: u64) -> i64 {
        (count * self.tick_ns) as i64
    }
}
