//! Shards that threads share: the lock of each shard, the threads that wait for changes, and the pages in flight.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::Transitions;
use crate::shard::{Frame, Shard};
use crate::sync::{Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Shard that is shared by threads.
///
/// The counter of hits in the uncompressed pool comes first, next to the lock. A hit changes the counter and the lock,
/// so both should share a cache line.
#[repr(C, align(128))]
pub struct SharedShard {
    /// Number of hits in the uncompressed pool. Atomic, because threads that count hits share the lock.
    pub raw_hits: AtomicU64,
    state: RwLock<Shard>,
    /// Gate for waiting threads. A waiting thread locks the gate before it unlocks the shard, so that no change is
    /// missed in between.
    gate: Mutex<()>,
    changed: Condvar,
    index: usize,
    worker_queue: Arc<WorkerQueue>,
}

impl SharedShard {
    pub fn new(shard: Shard, index: usize, worker_queue: Arc<WorkerQueue>) -> Self {
        Self {
            raw_hits: AtomicU64::new(0),
            state: RwLock::new(shard),
            gate: Mutex::default(),
            changed: Condvar::default(),
            index,
            worker_queue,
        }
    }

    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, Shard> {
        self.state.read()
    }

    /// Takes the shard's lock. Releasing the lock notifies waiting threads, and wakes workers if few frames are free.
    pub fn lock(&self) -> ShardGuard<'_> {
        ShardGuard { shared: self, state: Some(self.state.write()), wakes_workers: true }
    }

    /// Takes the shard's lock without waking workers on release. Workers use this method: otherwise workers would wake
    /// each other forever while no page is evictable.
    pub fn lock_as_worker(&self) -> ShardGuard<'_> {
        ShardGuard { shared: self, state: Some(self.state.write()), wakes_workers: false }
    }
}

pub struct ShardGuard<'a> {
    shared: &'a SharedShard,
    state: Option<RwLockWriteGuard<'a, Shard>>,
    wakes_workers: bool,
}

impl ShardGuard<'_> {
    /// Waits until another thread makes progress. The caller must hold no frame or job of the shard, because the other
    /// threads might all wait for that frame or job.
    pub fn wait(mut self) {
        self.counts.waits += 1;
        let notify = self.progress && self.waiting;
        (self.progress, self.waiting) = (false, true);
        let gate = self.shared.gate.lock();
        self.state = None;
        if notify {
            self.shared.changed.notify_all();
        }
        drop(self.shared.changed.wait(gate));
    }
}

impl Deref for ShardGuard<'_> {
    type Target = Shard;
    fn deref(&self) -> &Shard {
        self.state.as_ref().expect("the lock is held until the guard is dropped")
    }
}

impl DerefMut for ShardGuard<'_> {
    fn deref_mut(&mut self) -> &mut Shard {
        self.state.as_mut().expect("the lock is held until the guard is dropped")
    }
}

impl Drop for ShardGuard<'_> {
    fn drop(&mut self) {
        let Some(mut state) = self.state.take() else { return };
        debug_assert!(state.total_bytes() <= state.budget_bytes(), "the shard exceeds its budget");
        let notify = state.progress && state.waiting;
        if notify {
            state.waiting = false;
        }
        state.progress = false;
        let wake_worker = self.wakes_workers && !state.queued && state.short_of_frames();
        state.queued |= wake_worker;
        drop(state);
        if notify {
            let _gate = self.shared.gate.lock();
            self.shared.changed.notify_all();
        }
        if wake_worker {
            self.shared.worker_queue.push(self.shared.index);
        }
    }
}

/// Queue from which workers take shards that are short of frames.
#[derive(Default)]
pub struct WorkerQueue {
    queue: Mutex<Queue>,
    ready: Condvar,
}

#[derive(Default)]
struct Queue {
    shards: VecDeque<usize>,
    stopped: bool,
}

impl WorkerQueue {
    fn push(&self, shard: usize) {
        self.queue.lock().shards.push_back(shard);
        self.ready.notify_one();
    }

    /// Waits for the next shard; returns `None` when the workers must exit.
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

    pub fn stop(&self) {
        self.queue.lock().stopped = true;
        self.ready.notify_all();
    }
}

/// Page in flight, owned by the thread that brings it in. If the owner drops this value before the page is
/// uncompressed, the page is absent again.
pub struct Flight<'a> {
    shard: &'a SharedShard,
    slot: Option<u32>,
    /// Frame that receives the page; `None` if the page has no frame.
    pub frame: Option<Frame>,
}

impl<'a> Flight<'a> {
    pub fn new(shard: &'a SharedShard, slot: u32, frame: Option<Frame>) -> Self {
        Self { shard, slot: Some(slot), frame }
    }

    /// Returns the bytes of the page's frame, which no other thread can see yet.
    pub fn bytes(&mut self) -> Option<&mut [u8]> {
        self.frame.as_mut().and_then(Arc::get_mut)
    }

    /// Puts the page in flight into the uncompressed pool.
    pub fn land(mut self, dirty: bool, count: impl FnOnce(&mut Transitions)) {
        let mut state = self.shard.lock();
        count(&mut state.counts);
        if let (Some(slot), Some(frame)) = (self.slot.take(), self.frame.take()) {
            state.land(slot, frame, dirty);
        }
    }

    /// Cancels the fetch of a page: its state changes from in flight to absent.
    pub fn abort(mut self, count: impl FnOnce(&mut Transitions)) {
        count(&mut self.clear().counts);
    }

    fn clear(&mut self) -> ShardGuard<'a> {
        let mut state = self.shard.lock();
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
