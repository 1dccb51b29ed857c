//! Sockets around sessions: who may connect, how many, how long, and how it ends.

mod budget;
mod connection;
mod lag;
mod listener;
mod sender;
mod tls;
mod wire;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use budget::MemoryUse;
pub use lag::Lag;
pub use listener::Address;
pub use tls::{Tls, TlsError};

use budget::{Account, Budget};
use listener::Listener;
use wire::Wire;

use crate::export::Errno;
use crate::session::{Entry, Host, Security};

/// Clients have so long to react to `ESHUTDOWN` before they are disconnected.
const LINGER: Duration = Duration::from_millis(200);

/// A listener that cannot accept, for want of file descriptors say, tries again after so long.
const RETRY: Duration = Duration::from_millis(50);

/// Limits of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clients at a time, fewer where `memory` is not enough; further connections are closed on accept.
    pub connections: usize,
    /// Connections at a time that have not chosen an export; a further one takes the place of the oldest.
    pub handshakes: usize,
    /// Bytes that requests and replies of all connections may take together; 160 MiB at least, so that the longest
    /// request has room.
    pub memory: usize,
    /// Requests of one connection whose replies wait for their time; further ones wait in the socket.
    pub in_flight: usize,
    /// A client must have chosen an export by then.
    pub negotiation: Duration,
    /// A client that holds memory for which others wait is disconnected when no byte moves for so long.
    pub stall: Duration,
    /// A graceful stop waits so long for clients to take their replies.
    pub stop: Duration,
    /// Certificates, if connections may be encrypted.
    pub tls: Option<Tls>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 64,
            handshakes: 64,
            memory: 1 << 30,
            in_flight: 1024,
            negotiation: Duration::from_secs(30),
            stall: Duration::from_secs(1),
            stop: Duration::from_secs(10),
            tls: None,
        }
    }
}

/// Why a server cannot start or did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The path of the socket is too long for the system.
    #[error(
        "{}: the path of a socket has at most {most} bytes, this one has {bytes}; choose a shorter one",
        path.display()
    )]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Its length.
        bytes: usize,
        /// The longest one.
        most: usize,
    },
    /// A server answers at that path.
    #[error("{}: another server listens there; stop it, or choose another path", .0.display())]
    Live(PathBuf),
    /// Something else has that name.
    #[error("{}: exists and is no socket; remove it, or choose another path", .0.display())]
    NoSocket(PathBuf),
    /// The socket could not be made.
    #[error("{}: {error}; is the directory there and writable?", path.display())]
    Unix {
        /// The path.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The port could not be used.
    #[error("{address}: {error}; choose another port or address")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// There is no thread for one of the sockets.
    #[error("the system gives no more threads; raise its limit of processes, or end some")]
    Thread,
    /// The last flush failed.
    #[error("export {name:?} could not be flushed at the end: {errno}")]
    Flush {
        /// Name of the export.
        name: String,
        /// Its error.
        errno: Errno,
    },
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Requests in flight were finished and all exports flushed.
    Graceful,
    /// Nothing was waited for or flushed, as at a loss of power.
    AtOnce,
}

/// What the threads of a server share.
struct Shared {
    host: Arc<Host>,
    options: Options,
    listeners: Vec<Listener>,
    seats: Arc<Seats>,
    budget: Arc<Budget>,
    at_once: AtomicBool,
    /// Connections closed because they had not ended in time.
    cut_off: AtomicUsize,
    lag: Lag,
}

/// Connections by their number, oldest first.
#[derive(Default)]
struct Connections {
    open: BTreeMap<u64, Connection>,
    next: u64,
}

struct Connection {
    wire: Arc<Wire>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Handshake,
    /// It has chosen an export.
    Client,
    /// It was closed, and its thread is about to end.
    Closed,
}

impl Connections {
    fn count(&self, stage: Stage) -> usize {
        self.open.values().filter(|connection| connection.stage == stage).count()
    }

    fn close_oldest_handshake(&mut self) {
        if let Some(oldest) = self.open.values_mut().find(|connection| connection.stage == Stage::Handshake) {
            oldest.stage = Stage::Closed;
            oldest.wire.close();
        }
    }
}

/// Sockets that clients can connect to; a [`Server`] is made of them once its exports are there.
pub struct Sockets(Vec<Listener>);

impl Sockets {
    /// Binds them.
    ///
    /// # Errors
    /// If an address cannot be used.
    pub fn bind(addresses: &[Address]) -> Result<Self, ServerError> {
        Ok(Self(addresses.iter().map(Listener::bind).collect::<Result<_, _>>()?))
    }
}

/// A server; clients that have connected are served by [`Server::run`].
pub struct Server {
    shared: Arc<Shared>,
}

/// Stops a server, from any thread.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Server {
    /// A server of these exports.
    ///
    /// # Panics
    /// As [`Host::new`].
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
            seats: Arc::default(),
            budget,
            at_once: AtomicBool::new(false),
            cut_off: AtomicUsize::new(0),
            lag: Lag::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A handle to stop it.
    pub fn handle(&self) -> Handle {
        Handle { shared: Arc::clone(&self.shared) }
    }

    /// The address of each socket, with the port that the system chose for port 0.
    pub fn addresses(&self) -> Vec<Address> {
        self.shared.listeners.iter().map(Listener::address).collect()
    }

    /// Serves until [`Handle::stop`] is called.
    ///
    /// # Errors
    /// If there is no thread for a socket, or an export cannot be flushed at the end.
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
        // Handles may outlive the server; the file does not.
        self.shared.listeners.iter().for_each(Listener::remove);
        self.shared.drain();
        served.map_err(|_| ServerError::Thread)?;
        if self.shared.at_once.load(Ordering::SeqCst) {
            return Ok(Ending::AtOnce);
        }
        for Entry { name, export, .. } in self.shared.host.entries() {
            export.finish().map_err(|errno| ServerError::Flush { name: name.clone(), errno })?;
        }
        Ok(Ending::Graceful)
    }
}

impl Handle {
    /// Stops the server: it accepts nobody any more, finishes what is in flight, flushes and ends. Called again, it
    /// ends at once.
    pub fn stop(&self) {
        if !self.shared.host.is_stopping() {
            self.shared.host.stop();
            self.shared.listeners.iter().for_each(Listener::close);
            return;
        }
        let open = self.shared.seats.open();
        self.shared.at_once.store(true, Ordering::SeqCst);
        open.open.values().for_each(|connection| connection.wire.close());
        self.shared.seats.ended.notify_all();
    }

    /// How far replies were behind the times that exports gave.
    pub fn lag(&self) -> &Lag {
        &self.shared.lag
    }

    /// Connections that were closed at the end because their clients had not taken all replies within
    /// [`Options::stop`].
    pub fn cut_off(&self) -> usize {
        self.shared.cut_off.load(Ordering::SeqCst)
    }

    /// Memory of the requests and replies of clients.
    pub fn memory(&self) -> MemoryUse {
        self.shared.budget.memory()
    }

    /// Connections that are open now.
    pub fn connections(&self) -> usize {
        self.shared.seats.open().open.len()
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

    /// Serves a connection by a thread of its own, if there is room for one more client.
    fn admit(self: &Arc<Self>, wire: Arc<Wire>) {
        let mut connections = self.seats.open();
        if connections.count(Stage::Client) >= self.budget.clients {
            return;
        }
        // Whoever says nothing keeps nobody out.
        if connections.count(Stage::Handshake) >= self.options.handshakes {
            connections.close_oldest_handshake();
        }
        let id = connections.next;
        connections.next += 1;
        connections.open.insert(id, Connection { wire: Arc::clone(&wire), stage: Stage::Handshake });
        drop(connections);
        let seat = Seat { seats: Arc::clone(&self.seats), budget: Arc::clone(&self.budget), id };
        let shared = Arc::clone(self);
        // If no thread can be had, the seat is dropped with the closure, and the connection with it.
        let _ = thread::Builder::new().name(format!("nbd {id}")).spawn(move || {
            // Given up last: once it is, nobody but the server holds the exports, which others may open then.
            let seat = seat;
            // An error means that the client is gone or late, and there is nobody to tell.
            let _ = connection::serve(&wire, &shared, &seat);
            wire.close();
            drop(shared);
        });
    }

    /// Ends the connections.
    fn drain(&self) {
        self.wait(LINGER);
        self.seats.open().open.values().for_each(|connection| connection.wire.stop_reading());
        self.wait(self.options.stop);
        let late = self.seats.open();
        late.open.values().for_each(|connection| connection.wire.close());
        self.cut_off.store(late.open.len(), Ordering::SeqCst);
        drop(late);
        self.wait(self.options.stop);
    }

    /// Waits until all connections have ended, but not longer than `most`, nor if the end shall be at once.
    fn wait(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut connections = self.seats.open();
        while !connections.open.is_empty() && !self.at_once.load(Ordering::SeqCst) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            connections = self.seats.ended.wait_timeout(connections, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Connections that are open.
#[derive(Default)]
struct Seats {
    connections: Mutex<Connections>,
    /// One ended.
    ended: Condvar,
}

impl Seats {
    /// Nothing panics with this lock held that could leave the table wrong.
    fn open(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a connection among those that are open; given up when its thread ends, also by a panic of an export.
struct Seat {
    seats: Arc<Seats>,
    budget: Arc<Budget>,
    id: u64,
}

impl Seat {
    /// The connection has chosen an export: the memory of a client, if there is room for one more.
    fn take(&self) -> Option<Arc<Account>> {
        let mut connections = self.seats.open();
        if connections.count(Stage::Client) >= self.budget.clients {
            return None;
        }
        let connection = connections.open.get_mut(&self.id).filter(|own| own.stage == Stage::Handshake)?;
        connection.stage = Stage::Client;
        Some(Account::new(&self.budget))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let connection = self.seats.open().open.remove(&self.id);
        if let Some(Connection { wire, .. }) = connection {
            wire.close();
        }
        self.seats.ended.notify_all();
    }
}
