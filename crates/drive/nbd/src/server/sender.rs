//! Sends replies: immediately, or at a time that the export determined.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::Shared;
use super::budget::{Account, Counted, Room};
use super::wire::Wire;
use crate::buffer::Buffer;
use crate::session::{Held, Output};

/// Batch size in bytes: due replies are added to a batch until it reaches this size.
const MOST_AT_ONCE: usize = 1 << 20;

/// Sends the replies of one connection. The caller's thread sends them directly until an export first determines the
/// time of a reply. From then on, a separate thread sends every reply when it is due.
pub(super) struct Sender {
    wire: Arc<Wire>,
    shared: Arc<Shared>,
    account: Arc<Account>,
    timed: Option<(Arc<ReplyQueue>, JoinHandle<()>)>,
}

impl Sender {
    pub fn new(wire: &Arc<Wire>, shared: &Arc<Shared>, account: &Arc<Account>) -> Self {
        let (wire, shared, account) = (Arc::clone(wire), Arc::clone(shared), Arc::clone(account));
        Self { wire, shared, account, timed: None }
    }

    /// Sends the output of a session and clears it. For a long request, `room` is the memory reserved for its reply,
    /// and the output contains only this reply. Blocks while the queue of waiting replies is full.
    pub fn send(&mut self, output: &mut Output, mut room: Option<Room>) -> io::Result<()> {
        if self.timed.is_none() && output.held().is_empty() {
            self.wire.send(output.bytes())?;
            output.clear();
            return Ok(());
        }
        if self.timed.is_none() {
            self.timed = Some(self.start()?);
        }
        let (queue, _) = self.timed.as_ref().expect("the thread was started");
        let mut keep = |bytes| queue.keep(QueuedReply::new(bytes, room.take(), &self.account)?);
        if !output.bytes().is_empty() {
            let number = keep(output.bytes().to_vec())?;
            queue.put(ScheduledReply { at: Instant::now(), number, timed: false });
        }
        for Held { reply, bytes } in output.clear() {
            let number = keep(bytes)?;
            let queue = Arc::clone(queue);
            reply.then(move |at| queue.put(ScheduledReply { at, number, timed: true }));
        }
        Ok(())
    }

    /// Waits until all replies of the connection are sent.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some((queue, thread)) = self.timed.take() {
            queue.lock().finished = true;
            queue.changed.notify_one();
            thread.join().map_err(|_| io::Error::other("the sending thread panicked"))?;
        }
        self.wire.end_tls()
    }

    fn start(&self) -> io::Result<(Arc<ReplyQueue>, JoinHandle<()>)> {
        let (changed, room, most_replies) = (Condvar::new(), Condvar::new(), self.shared.options.in_flight);
        let queue = Arc::new(ReplyQueue { state: Mutex::default(), changed, room, most_replies });
        let (wire, shared) = (Arc::clone(&self.wire), Arc::clone(&self.shared));
        let (closed, sent) = (Arc::clone(&queue), Arc::clone(&queue));
        wire.when_closed(move || closed.give_up());
        let thread = thread::Builder::new().name("nbd sender".to_owned()).spawn(move || {
            // Linux delays wake-ups by up to the timer slack, by default 50 us.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            sent.send_all(&wire, &shared);
        })?;
        Ok((queue, thread))
    }
}

/// When the sender is dropped, for example after a failed connection, ends its thread and drops the waiting replies.
impl Drop for Sender {
    fn drop(&mut self) {
        if let Some((queue, _)) = &self.timed {
            queue.give_up();
        }
    }
}

/// A queued reply and the memory reserved for it.
struct QueuedReply {
    bytes: Vec<u8>,
    _room: Room,
    _counted: Counted,
}

impl QueuedReply {
    /// Waits for memory for the reply, unless `room` already provides the memory.
    fn new(bytes: Vec<u8>, room: Option<Room>, account: &Arc<Account>) -> io::Result<Self> {
        let room = room.map_or_else(|| account.room(bytes.len()), Ok)?;
        let mut counted = Counted::new(account);
        counted.set(bytes.len());
        Ok(Self { bytes, _room: room, _counted: counted })
    }
}

/// Replies are sent in the order of the fields: by time, then by number.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ScheduledReply {
    at: Instant,
    number: u64,
    /// True if the export set the time of the reply; false if the reply may be sent at once.
    timed: bool,
}

struct ReplyQueue {
    state: Mutex<ReplyQueueState>,
    /// Signals to the sending thread that the queue has changed.
    changed: Condvar,
    /// Signals that a reply was sent, so that the queue has space for another.
    room: Condvar,
    most_replies: usize,
}

#[derive(Default)]
struct ReplyQueueState {
    /// Replies whose time is known, earliest first.
    waiting: BinaryHeap<Reverse<ScheduledReply>>,
    /// All queued replies by number.
    kept: HashMap<u64, QueuedReply>,
    number: u64,
    finished: bool,
    /// True if the client has disconnected and no more replies are sent.
    broken: bool,
}

impl ReplyQueue {
    fn lock(&self) -> MutexGuard<'_, ReplyQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the queue has space for a reply, stores it and returns its number.
    fn keep(&self, reply: QueuedReply) -> io::Result<u64> {
        let is_full = |state: &mut ReplyQueueState| !state.broken && state.kept.len() >= self.most_replies;
        let mut state = self.room.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        if state.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let number = state.number;
        state.number += 1;
        state.kept.insert(number, reply);
        Ok(number)
    }

    /// Drops all replies, because the client has disconnected.
    fn give_up(&self) {
        let mut state = self.lock();
        state.broken = true;
        state.kept.clear();
        drop(state);
        self.changed.notify_one();
        self.room.notify_one();
    }

    /// Schedules a stored reply: the sending thread sends it when it is due.
    fn put(&self, waiting: ScheduledReply) {
        self.lock().waiting.push(Reverse(waiting));
        self.changed.notify_one();
    }

    /// Sends each reply when it is due. Returns once no more replies can be added and the queue is empty.
    fn send_all(&self, wire: &Wire, shared: &Shared) {
        let mut batch = Buffer::default();
        let mut leaving = Vec::new();
        let mut state = self.lock();
        while !state.broken {
            let now = Instant::now();
            while batch.len() < MOST_AT_ONCE
                && let Some(Reverse(first)) = state.waiting.peek()
                && first.at <= now
            {
                let Some(Reverse(first)) = state.waiting.pop() else { break };
                let Some(kept) = state.kept.remove(&first.number) else { continue };
                batch.extend(&kept.bytes);
                leaving.push(kept);
                if first.timed {
                    shared.lag.record(now - first.at);
                }
            }
            if !batch.is_empty() {
                drop(state);
                self.room.notify_one();
                let sent = wire.send(batch.as_slice());
                batch.clear();
                leaving.clear();
                if sent.is_err() {
                    // Closing the connection locks the queue, so the queue must be unlocked here.
                    wire.close();
                }
                state = self.lock();
            } else if let Some(Reverse(first)) = state.waiting.peek() {
                let left = first.at - now;
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            } else if state.finished && state.kept.is_empty() {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
