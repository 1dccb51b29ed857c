//! Replies that leave at a given time.

use std::cmp::{Ordering, Reverse};
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

/// Replies that are due are sent together up to so many bytes, and one more, so that hardly more are held than that.
const MOST_AT_ONCE: usize = 1 << 20;

/// Sends the replies of one connection: directly, until the first that has a time to leave at; from then on all go
/// through a thread that waits for their times.
pub(super) struct Sender {
    wire: Arc<Wire>,
    shared: Arc<Shared>,
    account: Arc<Account>,
    timed: Option<(Arc<Queue>, JoinHandle<()>)>,
}

impl Sender {
    pub fn new(wire: &Arc<Wire>, shared: &Arc<Shared>, account: &Arc<Account>) -> Self {
        let (wire, shared, account) = (Arc::clone(wire), Arc::clone(shared), Arc::clone(account));
        Self { wire, shared, account, timed: None }
    }

    /// Sends the output of a session and clears it; `room` is for the one reply of a long request. Waits while too many
    /// replies wait for their time.
    pub fn send(&mut self, output: &mut Output, mut room: Option<Room>) -> io::Result<()> {
        if self.timed.is_none() && output.held().is_empty() {
            if !output.bytes().is_empty() {
                self.wire.send(output.bytes())?;
            }
            output.clear();
            return Ok(());
        }
        if self.timed.is_none() {
            self.timed = Some(self.start()?);
        }
        let (queue, _) = self.timed.as_ref().expect("it was started");
        if !output.bytes().is_empty() {
            let kept = Kept::new(output.bytes().to_vec(), room.take(), &self.account)?;
            let number = queue.keep(kept)?;
            queue.put(Waiting { at: Instant::now(), timed: false, number });
        }
        for Held { reply, bytes } in output.clear() {
            let kept = Kept::new(bytes, room.take(), &self.account)?;
            let number = queue.keep(kept)?;
            let queue = Arc::clone(queue);
            reply.then(move |at| queue.put(Waiting { at, timed: true, number }));
        }
        Ok(())
    }

    /// Waits until all is sent.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some((queue, thread)) = self.timed.take() {
            queue.lock().finished = true;
            queue.changed.notify_one();
            thread.join().map_err(|_| io::Error::other("the sending thread panicked"))?;
        }
        self.wire.end_tls()
    }

    fn start(&self) -> io::Result<(Arc<Queue>, JoinHandle<()>)> {
        let queue = Arc::new(Queue::new(self.shared.options.in_flight));
        let (wire, shared) = (Arc::clone(&self.wire), Arc::clone(&self.shared));
        let closed = Arc::clone(&queue);
        wire.when_closed(move || closed.give_up());
        let thread = {
            let queue = Arc::clone(&queue);
            thread::Builder::new().name("nbd sender".to_owned()).spawn(move || {
                // The system rounds the end of a wait up by this much, 50 us if it is not told otherwise.
                let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
                queue.send_all(&wire, &shared);
            })?
        };
        Ok((queue, thread))
    }
}

/// A connection that failed takes its thread with it; what still waits has nobody to go to.
impl Drop for Sender {
    fn drop(&mut self) {
        if let Some((queue, _)) = &self.timed {
            queue.give_up();
        }
    }
}

/// A reply with the room that it takes until it is sent.
struct Kept {
    bytes: Vec<u8>,
    _room: Room,
    _counted: Counted,
}

impl Kept {
    /// Waits for room unless there is some.
    fn new(bytes: Vec<u8>, room: Option<Room>, account: &Arc<Account>) -> io::Result<Self> {
        let room = room.map_or_else(|| account.room(bytes.len()), Ok)?;
        let mut counted = Counted::new(account);
        counted.set(bytes.len());
        Ok(Self { bytes, _room: room, _counted: counted })
    }
}

struct Waiting {
    at: Instant,
    /// An export gave the time.
    timed: bool,
    /// Replies of one time leave in the order in which they came.
    number: u64,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

struct Queue {
    state: Mutex<State>,
    /// There is something new to do for the thread that sends.
    changed: Condvar,
    /// There is room for more.
    room: Condvar,
    most_replies: usize,
}

#[derive(Default)]
struct State {
    /// Replies that know their time.
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// All replies by their number.
    kept: HashMap<u64, Kept>,
    number: u64,
    finished: bool,
    /// The client is gone, and nothing more is sent.
    broken: bool,
}

impl Queue {
    fn new(most_replies: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), room: Condvar::new(), most_replies }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place for a reply, and keeps it by its number.
    fn keep(&self, reply: Kept) -> io::Result<u64> {
        let mut state = self.lock();
        while !state.broken && state.kept.len() >= self.most_replies {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let number = state.number;
        state.number += 1;
        state.kept.insert(number, reply);
        Ok(number)
    }

    /// The client is gone: nobody waits any more for what would have been sent.
    fn give_up(&self) {
        let mut state = self.lock();
        state.broken = true;
        state.kept.clear();
        drop(state);
        self.changed.notify_one();
        self.room.notify_one();
    }

    /// A reply that is kept knows its time.
    fn put(&self, waiting: Waiting) {
        self.lock().waiting.push(Reverse(waiting));
        self.changed.notify_one();
    }

    /// Sends replies at their times until the queue is finished and empty.
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
                    // Without the lock, as this gives the queue up.
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
