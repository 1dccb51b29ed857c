//! A simulated drive in real time: a thread that requests a page waits until the drive would complete the request.
//!
//! The waiting threads themselves run the drive. Each waiting thread advances the simulation to the present, then
//! checks if its own request is complete. If a thread waits too long, because it slept too long or the simulation was
//! slow, the excess is counted as lateness.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use ssdlab_core::Nanos;
use ssdlab_sim::{LiveDrive, SimError};
use ssdlab_trace::{Op, Request};

use crate::clock::Wait;

/// Simulated drive that runs in real time.
pub struct SimulatedDrive {
    running: Mutex<Running>,
    began: Instant,
    wait: Wait,
    late_ns: AtomicU64,
}

struct Running {
    drive: Box<dyn LiveDrive>,
    /// Arrival time of the latest request, in nanoseconds. Arrival times are unique and identify requests.
    latest_ns: u64,
    done: Vec<(Request, Nanos)>,
    /// Completion times of completed requests, keyed by arrival time. Each waiting thread removes the entry of its
    /// request.
    complete: FxHashMap<u64, u64>,
}

impl SimulatedDrive {
    /// Creates a drive whose clock starts now.
    pub fn new(drive: Box<dyn LiveDrive>, wait: Wait) -> Self {
        let running = Running { drive, latest_ns: 0, done: Vec::new(), complete: FxHashMap::default() };
        Self { running: Mutex::new(running), began: Instant::now(), wait, late_ns: AtomicU64::new(0) }
    }

    /// Returns the total lateness in nanoseconds: time that threads waited after their requests had completed.
    pub fn late_ns(&self) -> u64 {
        self.late_ns.load(Relaxed)
    }

    /// Submits a request and returns when the drive has completed it.
    pub fn serve(&self, op: Op, offset: u64, bytes: u32) -> Result<(), SimError> {
        let mut running = self.lock();
        let arrival_ns = self.now_ns().max(running.latest_ns + 1);
        running.latest_ns = arrival_ns;
        running.drive.submit(Request { time_ns: arrival_ns, offset, bytes, op, flags: 0, stream: 0 })?;
        loop {
            let now_ns = self.now_ns();
            let Running { drive, done, complete, .. } = &mut *running;
            let next = drive.advance(Nanos(now_ns), done)?;
            complete.extend(done.drain(..).map(|(request, done)| (request.time_ns, done.0)));
            if let Some(done_ns) = complete.remove(&arrival_ns) {
                self.late_ns.fetch_add(now_ns.saturating_sub(done_ns), Relaxed);
                return Ok(());
            }
            drop(running);
            self.wait.since(self.began, Duration::from_nanos(next.map_or(now_ns, |next| next.0)));
            running = self.lock();
        }
    }

    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
