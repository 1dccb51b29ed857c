//! Runs work on several threads. All threads start or none, because a missing thread would block the others forever.

use std::panic::resume_unwind;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Builder};
use std::time::Duration;

/// Interval at which the caller's `go_on` is called.
const POLL: Duration = Duration::from_millis(50);

/// The system could not start this many threads.
#[derive(Debug, thiserror::Error)]
#[error("the system cannot start {0} threads; use fewer threads")]
pub struct TooMany(pub usize);

/// Runs `threads` threads and returns their results. `work` receives the index of a thread and returns the closure that
/// the thread runs. Once all threads have been started, calls `begin`. Then calls `go_on` periodically until all
/// threads have ended, and sets `stop` once `go_on` returns false.
pub(crate) fn run<T: Send, F: FnOnce() -> T + Send>(
    threads: usize,
    work: impl Fn(usize) -> F,
    begin: impl FnOnce(),
    stop: &AtomicBool,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<T>, TooMany> {
    let all_started = RwLock::new(true);
    thread::scope(|scope| {
        let (ended, ends) = channel::<()>();
        // Threads wait for this lock until all threads have been started.
        let mut gate = all_started.write().expect("no holder of the lock panics");
        let start = |index: usize| {
            let (work, ended, all_started) = (work(index), ended.clone(), &all_started);
            let may_run = move || *all_started.read().expect("no holder of the lock panics");
            Builder::new().spawn_scoped(scope, move || {
                let _ended = ended;
                may_run().then(work)
            })
        };
        let started = (0..threads).map(start).collect::<Result<Vec<_>, _>>();
        *gate = started.is_ok();
        drop((gate, ended));
        let workers = started.map_err(|_| TooMany(threads))?;
        begin();
        // The channel is closed once all threads have dropped their senders.
        while ends.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
            if !go_on() {
                stop.store(true, Relaxed);
            }
        }
        let results = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok(results.map(|result| result.expect("all threads were started")).collect())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn each_thread_has_its_number() {
        let barrier = Barrier::new(4);
        let work = |number: usize| {
            let barrier = &barrier;
            move || {
                barrier.wait();
                number
            }
        };
        let numbers = run(4, work, || (), &AtomicBool::new(false), &mut || true).expect("the threads start");
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
}
