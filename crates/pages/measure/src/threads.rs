//! Starts threads and waits for them. All threads start or none, because a missing thread would block the others
//! forever.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, RwLock};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Interval at which the caller's `go_on` is called.
const POLL: Duration = Duration::from_millis(50);

/// The system could not start this many threads.
#[derive(Debug, thiserror::Error)]
#[error("the system cannot start {0} threads; use fewer threads")]
pub struct TooMany(pub usize);

/// Starts `threads` threads. `work` receives the index of a thread and returns the closure that the thread runs.
pub(crate) fn together<'scope, T: Send + 'scope, F: FnOnce() -> T + Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    threads: usize,
    work: impl Fn(usize) -> F,
) -> Result<Vec<ScopedJoinHandle<'scope, Option<T>>>, TooMany> {
    let all_started = Arc::new(RwLock::new(true));
    // Threads wait for this lock until all threads have been started.
    let mut gate = all_started.write().expect("no holder of the lock panics");
    let start = |index: usize| {
        let (work, all_started) = (work(index), Arc::clone(&all_started));
        let may_run = move || *all_started.read().expect("no holder of the lock panics");
        Builder::new().spawn_scoped(scope, move || may_run().then(work))
    };
    let started = (0..threads).map(start).collect::<Result<_, _>>();
    *gate = started.is_ok();
    started.map_err(|_| TooMany(threads))
}

/// Waits until all senders of the channel `ends` are dropped. Calls `go_on` periodically and sets `stop` once `go_on`
/// returns false.
pub(crate) fn until_ended(ends: &Receiver<()>, stop: &AtomicBool, go_on: &mut dyn FnMut() -> bool) {
    while ends.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        if !go_on() {
            stop.store(true, Relaxed);
        }
    }
}

/// Joins a thread of [`together`] and returns its result, or resumes its panic.
pub(crate) fn result<T>(thread: ScopedJoinHandle<'_, Option<T>>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).expect("all threads were started")
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn each_thread_has_its_number() {
        let barrier = Barrier::new(4);
        let numbers = thread::scope(|scope| {
            let work = |number: usize| {
                let barrier = &barrier;
                move || {
                    barrier.wait();
                    number
                }
            };
            let threads = together(scope, 4, work).expect("the threads start");
            threads.into_iter().map(result).collect::<Vec<_>>()
        });
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
}
