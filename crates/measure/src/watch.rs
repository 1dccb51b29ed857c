//! Waiting for threads whose caller may want to stop them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Time between two questions whether to go on.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until every sender to `ends` is dropped; sets `stop` once `go_on` says so.
pub(crate) fn until_ended(ends: &Receiver<()>, stop: &AtomicBool, go_on: &mut dyn FnMut() -> bool) {
    while ends.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if !go_on() {
            stop.store(true, Relaxed);
        }
    }
}
