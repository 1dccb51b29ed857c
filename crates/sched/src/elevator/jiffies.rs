//! The coarse clock of the kernel.

/// A clock that ticks. Where it does not matter, each nanosecond is a tick: how long a jiffy is (1 to 10 ms), and when
/// one begins, differs from machine to machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jiffies {
    tick_ns: u64,
    phase_ns: u64,
}

impl Jiffies {
    pub const EXACT: Self = Self { tick_ns: 1, phase_ns: 0 };

    /// A clock that ticks `phase_ns` after every multiple of `tick_ns`.
    pub const fn new(tick_ns: u64, phase_ns: u64) -> Self {
        Self { tick_ns, phase_ns }
    }

    /// When it ticked last; the beginning of time counts as a tick.
    pub const fn last(self, now: u64) -> u64 {
        now.saturating_sub((now + self.tick_ns - self.phase_ns) % self.tick_ns)
    }

    /// When a timer fires that is set `now` to go off after `delay_ns`: with the first tick then.
    pub const fn timer(self, now: u64, delay_ns: u64) -> u64 {
        self.last(now + delay_ns + self.tick_ns - 1)
    }

    /// Whole ticks of a duration.
    pub const fn whole(self, ns: u64) -> u64 {
        ns - ns % self.tick_ns
    }

    /// As many ticks as it takes to last that long.
    pub const fn whole_up(self, ns: u64) -> u64 {
        self.whole(ns + self.tick_ns - 1)
    }

    /// So many ticks.
    pub const fn ticks(self, count: u64) -> i64 {
        (count * self.tick_ns) as i64
    }
}
