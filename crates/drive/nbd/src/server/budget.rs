//! Memory limit for the messages of all NBD connections.
//!
//! ```text
//! whole = handshakes + OWN for each client + common
//! ```
//! Each client has a reserved part of the memory. It holds the client's buffers, requests that move at most [`SHORT`]
//! bytes, and [`QUEUED`] bytes of waiting replies, so short requests never wait for memory. In addition, a client may
//! use its fair share of the common part. A client that holds no other memory may use the memory of one long request.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::options::Options;
use crate::buffer::{FIRST, KEPT};

/// Largest payload or reply, in bytes, that fits in the memory reserved for a client.
pub(super) const SHORT: usize = 1 << 20;

/// Part of each client's reserved memory that is set aside for waiting replies, in bytes.
const QUEUED: usize = 2 * SHORT;

/// Memory reserved for each client, in bytes: four buffers (input, output, a read with holes, a batch of replies) and
/// the waiting replies.
const OWN: usize = 4 * KEPT + QUEUED;

/// Size in bytes of a connection's buffers during the handshake.
const HANDSHAKE: usize = 2 * FIRST;

/// Memory that the messages of all connections use, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Number of bytes currently in use.
    pub held: usize,
    /// Peak number of bytes in use.
    pub most: usize,
}

/// Memory that the connections of a server share.
pub(super) struct Budget {
    /// Maximum number of connected clients.
    pub clients: usize,
    /// Size in bytes of the memory that all clients share.
    common: usize,
    state: Mutex<BudgetState>,
    /// Notified when a connection frees common memory or ends.
    freed: Condvar,
}

#[derive(Default)]
struct BudgetState {
    accounts: usize,
    /// Number of bytes of the common memory in use.
    taken: usize,
    /// Number of threads waiting for memory.
    waiting: usize,
    /// Number of clients that wait for common memory and hold none themselves.
    blocked: usize,
    memory: MemoryUse,
}

impl Budget {
    pub fn new(options: &Options) -> Self {
        // Reserves at most half of the memory for individual clients, because some clients may never connect.
        let clients = options.connections.min(options.memory / 2 / OWN).max(1);
        let set_aside = clients * OWN + options.handshakes * HANDSHAKE;
        let common = options.memory.saturating_sub(set_aside);
        Self { clients, common, state: Mutex::default(), freed: Condvar::new() }
    }

    pub fn memory(&self) -> MemoryUse {
        self.lock().memory
    }

    fn lock(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory reserved for one connection.
pub(super) struct Account {
    budget: Arc<Budget>,
    /// Number of bytes reserved; changed only while the budget is locked.
    held: AtomicUsize,
    /// True once the connection is closed; waiting for memory then fails.
    closed: AtomicBool,
}

impl Account {
    pub fn new(budget: &Arc<Budget>) -> Arc<Self> {
        budget.lock().accounts += 1;
        let (held, closed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(Self { budget: Arc::clone(budget), held, closed })
    }

    /// Waits until memory for a long request of `bytes` bytes can be reserved. Reserves twice `bytes`, because the data
    /// is copied once.
    pub fn long_room(self: &Arc<Self>, bytes: usize) -> io::Result<Room> {
        self.room((2 * bytes).min(self.budget.common))
    }

    /// Waits until `bytes` bytes of memory can be reserved. Fails if the connection is closed meanwhile.
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

    /// True if the connection holds common memory that other clients are waiting for.
    pub fn is_in_the_way(&self) -> bool {
        let state = self.budget.lock();
        state.blocked > 0 && beyond_own(self.held.load(SeqCst)) > 0
    }

    /// Marks the connection as closed. Threads of this connection that wait for memory get an error.
    pub fn close(&self) {
        // Locks the budget, so that no thread can check the flag before it changes and then miss the signal.
        let state = self.budget.lock();
        self.closed.store(true, SeqCst);
        drop(state);
        self.budget.freed.notify_all();
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

/// Memory reserved for a connection; freed on drop.
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
        // Signals only if a thread waits, because every signal costs a system call.
        if state.waiting > 0 {
            budget.freed.notify_all();
        }
    }
}

/// Counts the memory that one part of a connection uses, such as its sender. Subtracts this memory from the count on
/// drop.
pub(super) struct Counted {
    account: Arc<Account>,
    bytes: usize,
}

impl Counted {
    pub fn new(account: &Arc<Account>) -> Self {
        Self { account: Arc::clone(account), bytes: 0 }
    }

    /// Sets the number of bytes that this owner uses.
    pub fn set(&mut self, bytes: usize) {
        if bytes != self.bytes {
            let memory = &mut self.account.budget.lock().memory;
            memory.held = memory.held + bytes - self.bytes;
            memory.most = memory.most.max(memory.held);
            self.bytes = bytes;
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

    /// Creates a budget for four clients with 8 MiB each (4 buffers of 1.5 MiB and 2 MiB of replies) and a common part
    /// of 64 MiB.
    fn budget() -> Arc<Budget> {
        let options = Options { connections: 4, handshakes: 0, memory: 96 * MIB, ..Options::default() };
        Arc::new(Budget::new(&options))
    }

    /// Goal: the memory reserved for a client is always available to it. Method: another client takes its own 2 MiB and
    /// the whole common part of 64 MiB; then the first client takes its memory.
    #[test]
    fn a_clients_own_part_is_reserved() {
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

    /// Goal: while a client waits for common memory, the client that holds this memory is reported as being in the way;
    /// the waiting client is not. Method: one client holds 32 MiB, and another client waits for as much.
    #[test]
    fn a_long_request_waits_for_common_memory() {
        let budget = budget();
        let (first, second) = (Account::new(&budget), Account::new(&budget));
        let held = first.long_room(32 * MIB).expect("it is open");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| second.long_room(32 * MIB).is_ok());
            while !first.is_in_the_way() {
                thread::yield_now();
            }
            assert!(!second.is_in_the_way(), "a client without common memory is not in the way");
            drop(held);
            assert!(waiting.join().expect("no panic"));
        });
        assert_eq!(budget.lock().blocked, 0);
    }

    #[test]
    fn closing_a_connection_ends_its_waiting() {
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
