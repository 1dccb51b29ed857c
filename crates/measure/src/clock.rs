//! Elapsed time and processor time of one thread.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// What something took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Elapsed time in nanoseconds.
    pub elapsed_ns: u64,
    /// Processor time of the thread in nanoseconds.
    pub cpu_ns: u64,
}

impl std::ops::AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        self.elapsed_ns += other.elapsed_ns;
        self.cpu_ns += other.cpu_ns;
    }
}

fn cpu_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Processor time of all threads of this process so far, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    cpu_ns(ClockId::ProcessCPUTime)
}

/// Both clocks of the calling thread.
pub(crate) struct Stopwatch {
    began: Instant,
    cpu_ns: u64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { began: Instant::now(), cpu_ns: cpu_ns(ClockId::ThreadCPUTime) }
    }

    /// The time since the start or the last lap.
    pub fn lap(&mut self) -> Time {
        let now = Self::start();
        let time = Time {
            elapsed_ns: (now.began - self.began).as_nanos() as u64,
            cpu_ns: now.cpu_ns.saturating_sub(self.cpu_ns),
        };
        *self = now;
        time
    }
}
