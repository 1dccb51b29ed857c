//! Mutex whose holder can let waiting threads go first.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A mutex. As with any mutex, a new thread may overtake waiting threads; only [`FairMutex::let_others`] is fair.
pub struct FairMutex<T> {
    /// Number of calls to [`FairMutex::lock`].
    requested: AtomicU64,
    inner: Mutex<Inner<T>>,
    /// Notified when a thread acquires the mutex while another thread waits in [`Self::let_others`].
    acquired: Condvar,
}

pub struct Inner<T> {
    value: T,
    /// Number of times that the mutex was acquired.
    acquired: u64,
    /// Number of threads that wait in [`FairMutex::let_others`].
    waiting: usize,
}

pub type FairGuard<'a, T> = MutexGuard<'a, Inner<T>>;

impl<T> FairMutex<T> {
    pub fn new(value: T) -> Self {
        let inner = Inner { value, acquired: 0, waiting: 0 };
        Self { requested: AtomicU64::new(0), inner: Mutex::new(inner), acquired: Condvar::new() }
    }

    pub fn lock(&self) -> FairGuard<'_, T> {
        self.requested.fetch_add(1, SeqCst);
        let mut guard = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        guard.acquired += 1;
        if guard.waiting > 0 {
            self.acquired.notify_all();
        }
        guard
    }

    /// Releases the mutex, lets every thread that is waiting for it now acquire it once, and then acquires it again.
    pub fn let_others<'a>(&'a self, mut guard: FairGuard<'a, T>) -> FairGuard<'a, T> {
        let requested = self.requested();
        guard.waiting += 1;
        let guard = self.acquired.wait_while(guard, |inner| inner.acquired < requested);
        let mut guard = guard.unwrap_or_else(PoisonError::into_inner);
        guard.waiting -= 1;
        guard
    }

    /// Returns the number of calls to [`FairMutex::lock`] so far, including calls that have returned.
    pub fn requested(&self) -> u64 {
        self.requested.load(SeqCst)
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
