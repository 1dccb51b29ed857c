//! Completion time of a request. It is set later, when the simulated drive completes the request.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Receiver of a completion time that is set later.
pub struct DeferredReply(Arc<Mutex<LinkState>>);

/// Sender of a completion time. If it is dropped unused, it sends the current time.
pub struct Completer(Arc<Mutex<LinkState>>);

enum LinkState {
    /// The completion time is not known yet, and no callback waits for it.
    Open,
    Completed(Instant),
    Awaited(Box<dyn FnOnce(Instant) + Send>),
    Closed,
}

/// Creates a connected pair of sender and receiver.
pub fn deferred_reply() -> (Completer, DeferredReply) {
    let link = Arc::new(Mutex::new(LinkState::Open));
    (Completer(Arc::clone(&link)), DeferredReply(link))
}

/// Returns a reply that completes once all replies in `all` have completed. Its completion time is the latest
/// completion time in `all`.
pub fn latest(mut all: Vec<DeferredReply>) -> DeferredReply {
    if all.len() == 1
        && let Some(only) = all.pop()
    {
        return only;
    }
    let (completer, reply) = deferred_reply();
    // Each callback holds a reference to `latest`. The reply completes when the last reference is dropped.
    let latest = Arc::new(Latest { at: Mutex::new(None), completer: Some(completer) });
    for part in all {
        let latest = Arc::clone(&latest);
        part.then(move |at| {
            let mut max = latest.at.lock().unwrap_or_else(PoisonError::into_inner);
            *max = (*max).max(Some(at));
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

impl DeferredReply {
    /// Calls `then` with the completion time: immediately if the time is known, otherwise on the thread that completes
    /// the reply.
    pub fn then(self, then: impl FnOnce(Instant) + Send + 'static) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match mem::replace(&mut *state, LinkState::Closed) {
            LinkState::Completed(at) => {
                drop(state);
                then(at);
            }
            _ => *state = LinkState::Awaited(Box::new(then)),
        }
    }
}

impl Completer {
    /// Sets the time at which the reply may be sent.
    pub fn complete(self, at: Instant) {
        self.set(at);
    }

    /// Sets the completion time, unless it is set already.
    fn set(&self, at: Instant) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match mem::replace(&mut *state, LinkState::Closed) {
            LinkState::Open => *state = LinkState::Completed(at),
            LinkState::Awaited(then) => {
                drop(state);
                then(at);
            }
            done @ (LinkState::Completed(_) | LinkState::Closed) => *state = done,
        }
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        self.set(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn time_and_callback_meet_in_either_order() {
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
    fn latest_completes_once_all_times_are_known() {
        let now = Instant::now();
        let (sender, receiver) = mpsc::channel();
        let (completers, waiting): (Vec<_>, Vec<_>) = (0..3).map(|_| deferred_reply()).unzip();
        latest(waiting).then(move |at| sender.send(at).expect("somebody listens"));
        for (completer, seconds) in completers.into_iter().zip([1, 3, 2]) {
            assert!(receiver.try_recv().is_err(), "some times are unknown");
            completer.complete(now + std::time::Duration::from_secs(seconds));
        }
        assert_eq!(receiver.recv(), Ok(now + std::time::Duration::from_secs(3)));
    }

    #[test]
    fn a_dropped_completer_completes_the_reply() {
        let (sender, receiver) = mpsc::channel();
        let (completer, waiting) = deferred_reply();
        waiting.then(move |at| sender.send(at).expect("somebody listens"));
        drop(completer);
        assert!(receiver.recv().is_ok());
    }
}
