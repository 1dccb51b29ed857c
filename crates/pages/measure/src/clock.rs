//! Elapsed time and processor time of one thread.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

ssdlab_core::counters! {
    /// Elapsed time and processor time of measured work.
    pub struct Time {
        elapsed_ns: "ns", "Elapsed time.";
        cpu_ns: "ns", "Processor time of the thread.";
    }
}

/// Ways to wait for a given duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Spins: exact to the microsecond, but keeps a processor busy.
    Busy,
    /// Sleeps, like a thread that waits for a real drive. The wait is slightly longer than requested.
    Sleep,
}

impl Wait {
    /// Waits until `time` has passed since `began`.
    pub(crate) fn since(self, began: Instant, time: Duration) {
        match self {
            Self::Sleep => sleep(time.saturating_sub(began.elapsed())),
            Self::Busy => {
                while began.elapsed() < time {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// Sleeps for `time` with a timer slack of 1 ns. If the system does not allow this, each sleep may take 50 us longer,
/// which is the default slack.
fn sleep(time: Duration) {
    thread_local! {
        static SLACK_SET: Cell<bool> = const { Cell::new(false) };
    }
    if !SLACK_SET.replace(true) {
        let _ = set_current_timer_slack(NonZeroU64::new(1));
    }
    thread::sleep(time);
}

fn cpu_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the processor time that all threads of this process have used so far, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    cpu_ns(ClockId::ProcessCPUTime)
}

/// Returns the processor time that the calling thread has used so far, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    cpu_ns(ClockId::ThreadCPUTime)
}

/// Elapsed time and processor time of the calling thread.
pub(crate) struct Stopwatch {
    began: Instant,
    cpu_ns: u64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { began: Instant::now(), cpu_ns: thread_cpu_ns() }
    }

    /// Returns the time since the previous call or, in the first call, since the start.
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
