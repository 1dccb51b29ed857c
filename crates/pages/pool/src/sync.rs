//! Locks and threads of the standard library or, in tests, of shuttle, which explores interleavings.
//!
//! A panic does not poison a lock. No lock is held while callers' code runs, so a panic under a lock is a bug in this
//! crate. The other threads must continue even after such a panic.

#[cfg(feature = "shuttle")]
use shuttle::{sync as imp, thread as imp_thread};
#[cfg(not(feature = "shuttle"))]
use std::{sync as imp, thread as imp_thread};

pub use imp::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
pub use imp_thread::{JoinHandle, spawn};
use std::sync::PoisonError;

/// A mutex without poisoning.
#[derive(Default)]
pub struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A readers-writer lock without poisoning.
pub struct RwLock<T>(imp::RwLock<T>);

impl<T> RwLock<T> {
    pub fn new(value: T) -> Self {
        Self(imp::RwLock::new(value))
    }

    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A condition variable for [`Mutex`].
#[derive(Default)]
pub struct Condvar(imp::Condvar);

impl Condvar {
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
