//! A completion time that is not known yet: the link between a request and the simulated drive that completes it.

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The end that waits for the time.
pub struct DeferredReply(Arc<Link>);

/// The end that tells it. Dropped without a word, it tells the present.
pub struct Completer(Arc<Link>);

struct Link(Mutex<State>);

enum State {
    /// Neither end has spoken.
    Open,
    Told(Instant),
    Awaited(Box<dyn FnOnce(Instant) + Send>),
    Over,
}

/// Both ends of a new link.
pub fn deferred_reply() -> (Completer, DeferredReply) {
    let link = Arc::new(Link(Mutex::new(State::Open)));
    (Completer(Arc::clone(&link)), DeferredReply(link))
}

/// A time that is told once all of these are: the latest.
pub fn latest(mut all: Vec<DeferredReply>) -> DeferredReply {
    if all.len() == 1
        && let Some(only) = all.pop()
    {
        return only;
    }
    let (completer, reply) = deferred_reply();
    // The link is told when the last of them has let go of it.
    let latest = Arc::new(Latest { at: Mutex::new(None), completer: Some(completer) });
    for one in all {
        let latest = Arc::clone(&latest);
        one.then(move |at| {
            let mut known = latest.at.lock().unwrap_or_else(PoisonError::into_inner);
            *known = (*known).max(Some(at));
        });
    }
    reply
}

struct Latest {
    at: Mutex<Option<Instant>>,
    completer: Option<Completer>,
}

impl Drop for Latest {
    fn drop(&mut self) {
        let at = self.at.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let (Some(completer), &mut Some(at)) = (self.completer.take(), at) {
            completer.complete(at);
        }
    }
}

impl Link {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complete(&self, at: Instant) {
        let mut state = self.lock();
        match mem::replace(&mut *state, State::Over) {
            State::Open => *state = State::Told(at),
            State::Awaited(then) => {
                drop(state);
                then(at);
            }
            done @ (State::Told(_) | State::Over) => *state = done,
        }
    }
}

impl DeferredReply {
    /// Calls `then` with the time, on the thread of whoever comes second.
    pub fn then(self, then: impl FnOnce(Instant) + Send + 'static) {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, State::Over) {
            State::Told(at) => {
                drop(state);
                then(at);
            }
            _ => *state = State::Awaited(Box::new(then)),
        }
    }
}

impl Completer {
    /// The reply may leave at this time.
    pub fn complete(self, at: Instant) {
        self.0.complete(at);
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        self.0.complete(Instant::now());
    }
}

impl fmt::Debug for DeferredReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DeferredReply")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_time_comes_through_whoever_is_first() {
        let at = Instant::now();
        for told_first in [true, false] {
            let (sender, receiver) = mpsc::channel();
            let then = move |at| sender.send(at).expect("somebody listens");
            let (completer, waiting) = deferred_reply();
            if told_first {
                completer.complete(at);
                waiting.then(then);
            } else {
                waiting.then(then);
                completer.complete(at);
            }
            assert_eq!(receiver.recv(), Ok(at));
        }
    }

    #[test]
    fn of_several_times_the_latest_is_told_once_all_are_known() {
        let now = Instant::now();
        let (sender, receiver) = mpsc::channel();
        let (completers, waiting): (Vec<_>, Vec<_>) = (0..3).map(|_| deferred_reply()).unzip();
        latest(waiting).then(move |at| sender.send(at).expect("somebody listens"));
        for (completer, seconds) in completers.into_iter().zip([1, 3, 2]) {
            assert!(receiver.try_recv().is_err(), "some are not told");
            completer.complete(now + std::time::Duration::from_secs(seconds));
        }
        assert_eq!(receiver.recv(), Ok(now + std::time::Duration::from_secs(3)));
    }

    #[test]
    fn nobody_waits_for_a_teller_that_is_gone() {
        let (sender, receiver) = mpsc::channel();
        let (completer, waiting) = deferred_reply();
        waiting.then(move |at| sender.send(at).expect("somebody listens"));
        drop(completer);
        assert!(receiver.recv().is_ok());
    }
}
