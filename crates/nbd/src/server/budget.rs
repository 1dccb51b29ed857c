//! Memory that the messages of all connections may take together.
//!
//! ```text
//! whole = handshakes + OWN for each client + common
//! ```
//! A client's own part holds its buffers, requests that move at most [`SHORT`] bytes, and [`QUEUED`] bytes of replies
//! that wait. It is there whatever others do, so short requests never wait for memory. Beyond that a client takes from
//! the common part: its fair share, or, while it holds nothing else, what one long request needs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{io, mem};

use super::Options;
use crate::buffer::{FIRST, KEPT};

/// Bytes that a request may move in the client's own part: as payload, or as reply.
pub(super) const SHORT: usize = 1 << 20;

/// Bytes of waiting replies in a client's own part.
const QUEUED: usize = 2 * SHORT;

/// A client's own part: buffers for input, output, a read with holes and a batch of replies, and replies that wait.
const OWN: usize = 4 * KEPT + QUEUED;

/// Buffers of a handshake.
const HANDSHAKE: usize = 2 * FIRST;

/// Memory that messages take, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Now.
    pub held: usize,
    /// At most until now.
    pub most: usize,
}

/// The memory of a server.
pub(super) struct Budget {
    /// Clients at a time.
    pub clients: usize,
    /// Bytes that clients share.
    common: usize,
    state: Mutex<State>,
    /// Some of the common part was given back, or a connection ended.
    freed: Condvar,
}

#[derive(Default)]
struct State {
    accounts: usize,
    /// Bytes of the common part that are taken.
    taken: usize,
    /// Threads that wait for room.
    waiting: usize,
    /// Clients that hold nothing and wait for others to give back some of the common part.
    blocked: usize,
    memory: MemoryUse,
}

impl Budget {
    pub fn new(options: &Options) -> Self {
        // At most half of all is set aside for clients that may never come.
        let clients = options.connections.min(options.memory / 2 / OWN).max(1);
        let set_aside = clients * OWN + options.handshakes * HANDSHAKE;
        let common = options.memory.saturating_sub(set_aside);
        Self { clients, common, state: Mutex::default(), freed: Condvar::new() }
    }

    pub fn memory(&self) -> MemoryUse {
        self.lock().memory
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memory of one connection.
pub(super) struct Account {
    budget: Arc<Budget>,
    /// Bytes of its rooms; changed with the state of the budget locked.
    held: AtomicUsize,
    /// Nobody waits for room any more.
    closed: AtomicBool,
}

impl Account {
    pub fn new(budget: &Arc<Budget>) -> Arc<Self> {
        budget.lock().accounts += 1;
        let (held, closed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(Self { budget: Arc::clone(budget), held, closed })
    }

    /// Waits for room for a long request that moves `bytes`: they are copied once on their way.
    pub fn long_room(self: &Arc<Self>, bytes: usize) -> io::Result<Room> {
        self.room((2 * bytes).min(self.budget.common))
    }

    /// Waits for room for so many bytes.
    ///
    /// # Errors
    /// If the connection is closed meanwhile.
    pub fn room(self: &Arc<Self>, bytes: usize) -> io::Result<Room> {
        let Budget { common, freed, .. } = &*self.budget;
        let mut state = self.budget.lock();
        loop {
            if self.closed.load(SeqCst) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let held = self.held.load(SeqCst);
            let after = beyond_own(held + bytes);
            let more = after - beyond_own(held);
            let is_fair = held == 0 || after <= common / state.accounts;
            if more == 0 || (is_fair && state.taken + more <= *common) {
                self.held.store(held + bytes, SeqCst);
                state.taken += more;
                return Ok(Room { account: Arc::clone(self), bytes });
            }
            let is_blocked = held == 0;
            state.blocked += usize::from(is_blocked);
            state.waiting += 1;
            state = freed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            state.blocked -= usize::from(is_blocked);
        }
    }

    /// Returns true if others wait for what this connection holds of the common part.
    pub fn is_in_the_way(&self) -> bool {
        let state = self.budget.lock();
        state.blocked > 0 && beyond_own(self.held.load(SeqCst)) > 0
    }

    /// Fails whoever waits for room here.
    pub fn close(&self) {
        // With the lock, so that nobody is about to wait.
        let state = self.budget.lock();
        self.closed.store(true, SeqCst);
        drop(state);
        self.budget.freed.notify_all();
    }

    /// Counts memory that took `before` bytes and takes `after` bytes now.
    pub fn count(&self, before: usize, after: usize) {
        let memory = &mut self.budget.lock().memory;
        memory.held = memory.held + after - before;
        memory.most = memory.most.max(memory.held);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.budget.lock().accounts -= 1;
        self.budget.freed.notify_all();
    }
}

fn beyond_own(held: usize) -> usize {
    held.saturating_sub(QUEUED)
}

/// Room for bytes of one connection, given back when it is dropped.
pub(super) struct Room {
    account: Arc<Account>,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        let Account { budget, held, .. } = &*self.account;
        let mut state = budget.lock();
        let before = held.load(SeqCst);
        held.store(before - self.bytes, SeqCst);
        state.taken -= beyond_own(before) - beyond_own(before - self.bytes);
        // Waking nobody is a system call, too.
        if state.waiting > 0 {
            budget.freed.notify_all();
        }
    }
}

/// Bytes that are counted as memory of their connection.
pub(super) struct Counted {
    account: Arc<Account>,
    bytes: usize,
}

impl Counted {
    pub fn new(account: &Arc<Account>) -> Self {
        Self { account: Arc::clone(account), bytes: 0 }
    }

    /// There are so many bytes now.
    pub fn set(&mut self, bytes: usize) {
        let before = mem::replace(&mut self.bytes, bytes);
        if before != bytes {
            self.account.count(before, bytes);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const MIB: usize = 1 << 20;

    /// Four clients have 8 MiB each of their own: 4 buffers of 1.5 MiB and 2 MiB of replies. 64 MiB are left in common.
    fn budget() -> Arc<Budget> {
        let options = Options { connections: 4, handshakes: 0, memory: 96 * MIB, ..Options::default() };
        Arc::new(Budget::new(&options))
    }

    /// Goal: whatever others hold, a client's own part is there. Method: one takes all that it can get, by hand:
    /// 2 MiB of its own, and alone all 64 MiB in common.
    #[test]
    fn a_client_has_its_own_part_whatever_others_hold() {
        let budget = budget();
        let greedy = Account::new(&budget);
        let rooms: Vec<_> = (0..66).map(|_| greedy.room(MIB).expect("it is open")).collect();
        assert_eq!(budget.lock().taken, 64 * MIB);
        let other = Account::new(&budget);
        let own = [other.room(MIB), other.room(MIB)];
        assert!(own.iter().all(Result::is_ok) && !greedy.is_in_the_way());
        drop((rooms, own));
        assert_eq!(budget.lock().taken, 0);
    }

    /// Goal: who holds nothing is let in first, and is told from who only wants more. Method: both wait.
    #[test]
    fn a_long_request_waits_until_others_give_back_what_they_hold() {
        let budget = budget();
        let (first, second) = (Account::new(&budget), Account::new(&budget));
        let held = first.long_room(32 * MIB).expect("it is open");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| second.long_room(32 * MIB).is_ok());
            while !first.is_in_the_way() {
                thread::yield_now();
            }
            assert!(!second.is_in_the_way(), "it holds nothing");
            drop(held);
            assert!(waiting.join().expect("no panic"));
        });
        assert_eq!(budget.lock().blocked, 0);
    }

    #[test]
    fn nobody_waits_for_room_in_a_closed_connection() {
        let budget = budget();
        let (first, second) = (Account::new(&budget), Account::new(&budget));
        let _held = first.long_room(32 * MIB).expect("it is open");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| second.long_room(32 * MIB).is_err());
            while !first.is_in_the_way() {
                thread::yield_now();
            }
            second.close();
            assert!(waiting.join().expect("no panic"));
        });
    }
}
