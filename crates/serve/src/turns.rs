//! A lock whose holder can let others go first.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A value that one thread uses at a time. As with any mutex, a thread that comes may overtake others that wait; only
/// [`Turns::let_others`] is fair.
pub struct Turns<T> {
    /// Turns asked for.
    asked: AtomicU64,
    inner: Mutex<Inner<T>>,
    /// A turn was taken, and somebody waits for that.
    taken: Condvar,
}

pub struct Inner<T> {
    value: T,
    /// Turns taken.
    taken: u64,
    /// Threads that let others go first.
    waiting: usize,
}

/// The turn of a thread, which ends when this is dropped.
pub type Turn<'a, T> = MutexGuard<'a, Inner<T>>;

impl<T> Turns<T> {
    pub fn new(value: T) -> Self {
        let inner = Inner { value, taken: 0, waiting: 0 };
        Self { asked: AtomicU64::new(0), inner: Mutex::new(inner), taken: Condvar::new() }
    }

    /// Waits for a turn.
    pub fn take(&self) -> Turn<'_, T> {
        self.asked.fetch_add(1, SeqCst);
        let mut turn = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        turn.taken += 1;
        if turn.waiting > 0 {
            self.taken.notify_all();
        }
        turn
    }

    /// Goes on after as many turns of others as are being waited for now.
    pub fn let_others<'a>(&'a self, mut turn: Turn<'a, T>) -> Turn<'a, T> {
        let asked = self.asked();
        while turn.taken < asked {
            turn.waiting += 1;
            turn = self.taken.wait(turn).unwrap_or_else(PoisonError::into_inner);
            turn.waiting -= 1;
        }
        turn
    }

    /// Turns that were asked for until now, those that were taken among them.
    pub fn asked(&self) -> u64 {
        self.asked.load(SeqCst)
    }
}

impl<T> Deref for Inner<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Inner<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}
