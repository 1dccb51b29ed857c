//! Threads that begin together, or not at all: those that wait for one another would wait for ever for one that the system
//! did not give.

use std::sync::{Arc, RwLock};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// The system does not give so many threads.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no {0} threads; ask for fewer, or raise its limit of processes")]
pub struct TooMany(pub usize);

/// Starts threads, each with the work that `work` makes for its number.
pub(crate) fn together<'scope, T: Send + 'scope, F: FnOnce() -> T + Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    threads: usize,
    work: impl Fn(usize) -> F,
) -> Result<Vec<ScopedJoinHandle<'scope, Option<T>>>, TooMany> {
    let begin = Arc::new(RwLock::new(true));
    // None begins while it is held.
    let mut held = begin.write().expect("nobody panics with it");
    let start = |number: usize| {
        let (work, begin) = (work(number), Arc::clone(&begin));
        let begins = move || *begin.read().expect("nobody panics with it");
        Builder::new().spawn_scoped(scope, move || begins().then(work))
    };
    let started = (0..threads).map(start).collect::<Result<_, _>>();
    *held = started.is_ok();
    started.map_err(|_| TooMany(threads))
}

/// What a thread that has begun returns; its panic is that of the caller.
pub(crate) fn result<T>(thread: ScopedJoinHandle<'_, Option<T>>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).expect("it has begun")
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn each_thread_has_its_number() {
        let barrier = Barrier::new(4);
        let found = thread::scope(|scope| {
            let work = |number: usize| {
                let barrier = &barrier;
                move || {
                    barrier.wait();
                    number
                }
            };
            let threads = together(scope, 4, work).expect("four threads");
            threads.into_iter().map(result).collect::<Vec<_>>()
        });
        assert_eq!(found, [0, 1, 2, 3]);
    }
}
