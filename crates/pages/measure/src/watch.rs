//! Waits for threads to end, and lets the caller cancel their work.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Interval at which the caller's `go_on` is called.
const POLL: Duration = Duration::from_millis(50);

/// Waits until all senders of the channel `ends` are dropped. Calls `go_on` periodically and sets `stop` once `go_on`
/// returns false.
pub(crate) fn until_ended(ends: &Receiver<()>, stop: &AtomicBool, go_on: &mut dyn FnMut() -> bool) {
    while ends.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        if !go_on() {
            stop.store(true, Relaxed);
        }
    }
}
