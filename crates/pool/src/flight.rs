//! A shard under its lock, waiting for it to change, and pages on their way into it.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::Transitions;
use crate::shard::{Frame, Shard};
use crate::sync::{Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A shard that threads share.
///
/// The counter comes first, beside the word of the lock: a hit changes both, in one line of the cache.
#[repr(C, align(128))]
pub struct SharedShard {
    /// Reads that found the page raw under the shared lock.
    pub raw_hits: AtomicU64,
    state: RwLock<Shard>,
    /// Those who wait lock this before they unlock the shard, so that no change can slip through in between.
    gate: Mutex<()>,
    changed: Condvar,
    index: usize,
    calls: Arc<Calls>,
}

impl SharedShard {
    pub fn new(shard: Shard, index: usize, calls: Arc<Calls>) -> Self {
        Self {
            raw_hits: AtomicU64::new(0),
            state: RwLock::new(shard),
            gate: Mutex::default(),
            changed: Condvar::default(),
            index,
            calls,
        }
    }

    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, Shard> {
        self.state.read()
    }

    /// Takes the lock. When it is given back, those who wait are told, and workers are called if frames run short.
    pub fn hold(&self) -> Held<'_> {
        Held { shared: self, state: Some(self.state.write()), calls: true }
    }

    /// As [`SharedShard::hold`], but calls no workers: for these themselves, who would call for ever if nothing can be
    /// done.
    pub fn hold_as_worker(&self) -> Held<'_> {
        Held { shared: self, state: Some(self.state.write()), calls: false }
    }
}

/// The lock of a shard, taken.
pub struct Held<'a> {
    shared: &'a SharedShard,
    state: Option<RwLockWriteGuard<'a, Shard>>,
    calls: bool,
}

impl Held<'_> {
    /// Waits until something ends that others may wait for. The caller must hold neither frame nor job of the shard, as
    /// that may be what everyone waits for.
    pub fn wait(mut self) {
        self.counts.waits += 1;
        let tell = self.progress && self.waiting;
        (self.progress, self.waiting) = (false, true);
        let gate = self.shared.gate.lock();
        self.state = None;
        if tell {
            self.shared.changed.notify_all();
        }
        drop(self.shared.changed.wait(gate));
    }
}

impl Deref for Held<'_> {
    type Target = Shard;
    fn deref(&self) -> &Shard {
        self.state.as_ref().expect("the lock is held until the end")
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Shard {
        self.state.as_mut().expect("the lock is held until the end")
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let Some(mut state) = self.state.take() else { return };
        debug_assert!(state.total_bytes() <= state.budget_bytes(), "every step keeps to the budget");
        let tell = state.progress && state.waiting;
        if tell {
            state.waiting = false;
        }
        state.progress = false;
        let call = self.calls && !state.called && state.short_of_frames();
        state.called |= call;
        drop(state);
        if tell {
            let _gate = self.shared.gate.lock();
            self.shared.changed.notify_all();
        }
        if call {
            self.shared.calls.call(self.shared.index);
        }
    }
}

/// Shards that run short of frames, for workers.
#[derive(Default)]
pub struct Calls {
    queue: Mutex<Queue>,
    ready: Condvar,
}

#[derive(Default)]
struct Queue {
    shards: VecDeque<usize>,
    stopped: bool,
}

impl Calls {
    fn call(&self, shard: usize) {
        self.queue.lock().shards.push_back(shard);
        self.ready.notify_one();
    }

    /// The next shard, or `None` when the workers shall end.
    pub fn next(&self) -> Option<usize> {
        let mut queue = self.queue.lock();
        loop {
            if queue.stopped {
                return None;
            }
            if let Some(shard) = queue.shards.pop_front() {
                return Some(shard);
            }
            queue = self.ready.wait(queue);
        }
    }

    /// Ends all workers.
    pub fn stop(&self) {
        self.queue.lock().stopped = true;
        self.ready.notify_all();
    }
}

/// A page in flight, which is this thread's alone to bring. Dropped on the way, by an error or a panic, it is absent.
pub struct Flight<'a> {
    shard: &'a SharedShard,
    slot: Option<u32>,
    /// Where it shall be.
    pub frame: Option<Frame>,
}

impl<'a> Flight<'a> {
    pub fn new(shard: &'a SharedShard, slot: u32, frame: Option<Frame>) -> Self {
        Self { shard, slot: Some(slot), frame }
    }

    /// The page's bytes, which nobody else sees yet.
    pub fn bytes(&mut self) -> Option<&mut [u8]> {
        self.frame.as_mut().and_then(Arc::get_mut)
    }

    /// The page is there.
    pub fn land(mut self, dirty: bool, count: impl FnOnce(&mut Transitions)) {
        let mut state = self.shard.hold();
        count(&mut state.counts);
        if let (Some(slot), Some(frame)) = (self.slot.take(), self.frame.take()) {
            state.land(slot, frame, dirty);
        }
    }

    /// The page will not come.
    pub fn abort(mut self, count: impl FnOnce(&mut Transitions)) {
        count(&mut self.clear().counts);
    }

    fn clear(&mut self) -> Held<'a> {
        let mut state = self.shard.hold();
        if let Some(frame) = self.frame.take() {
            state.return_frame(frame);
        }
        if let Some(slot) = self.slot.take() {
            state.abort(slot);
        }
        state
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.slot.is_some() {
            drop(self.clear());
        }
    }
}
