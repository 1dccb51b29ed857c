//! NBD server: accepts connections within limits, serves them on threads and shuts down.

mod budget;
mod connection;
mod error;
mod lag;
mod listener;
mod options;
mod sender;
mod tls;
mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

pub use budget::MemoryUse;
pub use error::ServerError;
pub use lag::Lag;
pub use listener::Address;
pub use options::Options;
pub use tls::{Tls, TlsError};

use budget::{Account, Budget};
use listener::Listener;
use wire::Wire;

use crate::session::{Entry, Host, Security};

/// Time that clients have to react to `ESHUTDOWN`.
const LINGER: Duration = Duration::from_millis(200);

/// Delay before accepting again after an error, such as a lack of file descriptors.
const RETRY: Duration = Duration::from_millis(50);

/// The way in which a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Requests in flight were finished and all exports flushed.
    Graceful,
    /// The server stopped without finishing or flushing, as in a power loss.
    AtOnce,
}

struct Shared {
    host: Arc<Host>,
    options: Options,
    listeners: Vec<Listener>,
    table: Arc<ConnectionTable>,
    budget: Arc<Budget>,
    at_once: AtomicBool,
    /// Number of connections closed by force at shutdown, because they did not end in time.
    cut_off: AtomicUsize,
    lag: Lag,
}

/// Open connections by number, oldest first.
type Connections = BTreeMap<u64, Connection>;

struct Connection {
    wire: Arc<Wire>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Handshake,
    /// The client of this connection has chosen an export.
    Client,
    /// The connection is closed; its thread is about to end.
    Closed,
}

fn count(connections: &Connections, stage: Stage) -> usize {
    connections.values().filter(|connection| connection.stage == stage).count()
}

/// Bound sockets; a [`Server`] is created from them once its exports are ready.
pub struct Sockets(Vec<Listener>);

impl Sockets {
    /// Binds sockets to addresses.
    pub fn bind(addresses: &[Address]) -> Result<Self, ServerError> {
        Ok(Self(addresses.iter().map(Listener::bind).collect::<Result<_, _>>()?))
    }
}

/// An NBD server; [`Server::run`] serves its clients.
pub struct Server {
    shared: Arc<Shared>,
}

/// Handle that stops a server from any thread.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Server {
    /// Creates a server that offers the exports `entries`. Panics if [`Host::new`] panics for these entries.
    pub fn new(sockets: Sockets, entries: Vec<Entry>, options: Options) -> Self {
        let security = match &options.tls {
            None => Security::Plain,
            Some(tls) if tls.required => Security::Forced,
            Some(_) => Security::Selective,
        };
        let host = Arc::new(Host::new(entries, security));
        let budget = Arc::new(Budget::new(&options));
        let shared = Shared {
            host,
            options,
            listeners: sockets.0,
            table: Arc::default(),
            budget,
            at_once: AtomicBool::new(false),
            cut_off: AtomicUsize::new(0),
            lag: Lag::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns a handle that stops the server.
    pub fn handle(&self) -> Handle {
        Handle { shared: Arc::clone(&self.shared) }
    }

    /// Returns the address of each socket, with the actual port instead of port 0.
    pub fn addresses(&self) -> Vec<Address> {
        self.shared.listeners.iter().map(Listener::address).collect()
    }

    /// Serves clients until [`Handle::stop`] is called. Fails if the system cannot start a thread for a socket, or an
    /// export cannot be flushed when the server ends.
    pub fn run(self) -> Result<Ending, ServerError> {
        let handle = self.handle();
        let mut served = Ok(());
        thread::scope(|scope| {
            let Some((own, others)) = self.shared.listeners.split_first() else { return };
            let shared = &self.shared;
            let accept = |listener| thread::Builder::new().spawn_scoped(scope, move || shared.accept(listener));
            served = others.iter().try_for_each(|listener| accept(listener).map(drop));
            match served {
                Ok(()) => shared.accept(own),
                Err(_) => handle.stop(),
            }
        });
        // Sockets are removed here, because handles may outlive the server.
        self.shared.listeners.iter().for_each(Listener::remove);
        self.shared.drain();
        served.map_err(|_| ServerError::Thread)?;
        if self.shared.at_once.load(Ordering::SeqCst) {
            return Ok(Ending::AtOnce);
        }
        for Entry { name, export, .. } in &self.shared.host.entries {
            export.finish().map_err(|errno| ServerError::Flush { name: name.clone(), errno })?;
        }
        Ok(Ending::Graceful)
    }
}

impl Handle {
    /// Stops the server: it refuses further clients, finishes requests in flight, flushes and ends. A second call ends
    /// the server immediately.
    pub fn stop(&self) {
        if !self.shared.host.is_stopping() {
            self.shared.host.stop();
            self.shared.listeners.iter().for_each(Listener::close);
            return;
        }
        let open = self.shared.table.lock();
        self.shared.at_once.store(true, Ordering::SeqCst);
        open.values().for_each(|connection| connection.wire.close());
        self.shared.table.ended.notify_all();
    }

    /// Returns statistics on the lag of replies: how late they are sent relative to the due times set by exports.
    pub fn lag(&self) -> &Lag {
        &self.shared.lag
    }

    /// Returns the number of connections that the server closed at its end, because their clients had not received all
    /// replies within [`Options::stop`].
    pub fn cut_off(&self) -> usize {
        self.shared.cut_off.load(Ordering::SeqCst)
    }

    /// Returns the memory that requests and replies use.
    pub fn memory(&self) -> MemoryUse {
        self.shared.budget.memory()
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.table.lock().len()
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &Listener) {
        while !self.host.is_stopping() {
            match listener.accept() {
                Ok(wire) => self.admit(Arc::new(wire)),
                Err(_) if self.host.is_stopping() => {}
                Err(_) => thread::sleep(RETRY),
            }
        }
    }

    /// Serves a connection on a separate thread, unless there are too many clients.
    fn admit(self: &Arc<Self>, wire: Arc<Wire>) {
        let mut connections = self.table.lock();
        if count(&connections, Stage::Client) >= self.budget.clients {
            return;
        }
        // Closes the oldest handshake, because silent connections must not prevent other clients from connecting.
        if count(&connections, Stage::Handshake) >= self.options.handshakes
            && let Some(oldest) = connections.values_mut().find(|own| own.stage == Stage::Handshake)
        {
            oldest.stage = Stage::Closed;
            oldest.wire.close();
        }
        let id = connections.last_key_value().map_or(0, |(newest, _)| newest + 1);
        connections.insert(id, Connection { wire: Arc::clone(&wire), stage: Stage::Handshake });
        drop(connections);
        let guard = ConnectionGuard { table: Arc::clone(&self.table), budget: Arc::clone(&self.budget), id };
        let shared = Arc::clone(self);
        // If no thread is available, dropping the closure closes the connection.
        let _ = thread::Builder::new().name(format!("nbd {id}")).spawn(move || {
            // Drops the guard last, because dropping it reports the end of the connection. Before that, this thread
            // must release the exports, so that another process can open their files once the server has ended.
            let guard = guard;
            // Ignores the error: it has ended the connection, so it cannot be reported to the client.
            let _ = connection::serve(&wire, &shared, &guard);
            wire.close();
            drop(shared);
        });
    }

    /// Ends all connections of the server.
    fn drain(&self) {
        self.wait(LINGER);
        self.table.lock().values().for_each(|connection| connection.wire.stop_reading());
        self.wait(self.options.stop);
        let late = self.table.lock();
        late.values().for_each(|connection| connection.wire.close());
        self.cut_off.store(late.len(), Ordering::SeqCst);
        drop(late);
        self.wait(self.options.stop);
    }

    /// Waits until all connections have ended, for at most `most`. Does not wait if the server must stop immediately.
    fn wait(&self, most: Duration) {
        let goes_on = |open: &mut Connections| !open.is_empty() && !self.at_once.load(Ordering::SeqCst);
        let _ = self.table.ended.wait_timeout_while(self.table.lock(), most, goes_on);
    }
}

#[derive(Default)]
struct ConnectionTable {
    connections: Mutex<Connections>,
    /// Signals that a connection has ended.
    ended: Condvar,
}

impl ConnectionTable {
    /// Locks the table; a panic cannot leave it inconsistent.
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Entry of a connection in the table; removed when its thread ends, even if the export panics.
struct ConnectionGuard {
    table: Arc<ConnectionTable>,
    budget: Arc<Budget>,
    id: u64,
}

impl ConnectionGuard {
    /// Returns the memory account of a connection that chose an export; `None` if there are too many clients.
    fn take(&self) -> Option<Arc<Account>> {
        let mut connections = self.table.lock();
        if count(&connections, Stage::Client) >= self.budget.clients {
            return None;
        }
        let connection = connections.get_mut(&self.id).filter(|own| own.stage == Stage::Handshake)?;
        connection.stage = Stage::Client;
        Some(Account::new(&self.budget))
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let connection = self.table.lock().remove(&self.id);
        if let Some(Connection { wire, .. }) = connection {
            wire.close();
        }
        self.table.ended.notify_all();
    }
}
