//! Socket of a connection, plain or encrypted.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{self, RecvFlags, SendFlags, Shutdown};
use rustls::{ServerConfig, ServerConnection};

use super::budget::Account;

/// Time for which a thread polls a socket before it sleeps. Between polls, it yields the processor. The next request of
/// a busy client often arrives sooner than a thread could fall asleep and be woken.
const PATIENCE: Duration = Duration::from_micros(20);

struct Socket(OwnedFd);

impl Socket {
    fn set_timeouts(&self, timeout: Duration) -> io::Result<()> {
        set_socket_timeout(&self.0, Timeout::Recv, Some(timeout))?;
        Ok(set_socket_timeout(&self.0, Timeout::Send, Some(timeout))?)
    }

    /// Receives bytes into `space`; returns 0 at the end of the connection.
    fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            match net::recv(&self.0, &mut *space, RecvFlags::DONTWAIT) {
                Err(Errno::AGAIN) if began.elapsed() >= PATIENCE => break,
                Err(Errno::AGAIN) => thread::yield_now(),
                received => return Ok(received?.0),
            }
        }
        let mut socket = self;
        socket.read(space)
    }

    /// Shuts down one or both directions of the socket; a failure means that the client has disconnected.
    fn shutdown(&self, how: Shutdown) {
        let _ = net::shutdown(&self.0, how);
    }
}

impl Read for &Socket {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        Ok(net::recv(&self.0, space, RecvFlags::empty())?.0)
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(net::send(&self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection, used by one receiving and one sending thread, which may be the same.
pub(super) struct Wire {
    socket: Socket,
    tls: OnceLock<Mutex<ServerConnection>>,
    /// Memory account of the connection; empty during the negotiation.
    account: OnceLock<Arc<Account>>,
    /// Function to call when the connection is closed.
    closing: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Wire {
    pub fn new(socket: impl Into<OwnedFd>) -> Self {
        let socket = Socket(socket.into());
        Self { socket, tls: OnceLock::new(), account: OnceLock::new(), closing: OnceLock::new() }
    }

    /// Sets a deadline after which receiving and sending fail, until [`Self::admit`] is called.
    pub fn limit(&self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.set_timeouts(left)
    }

    /// Ends the time limit of the negotiation. From now on, after every period of `stall` without progress, the server
    /// checks whether other clients are waiting for this client's memory.
    pub fn admit(&self, account: &Arc<Account>, stall: Duration) -> io::Result<()> {
        let _ = self.account.set(Arc::clone(account));
        self.socket.set_timeouts(stall)
    }

    /// Performs a socket operation and repeats it after each timeout. Gives up after the first timeout during the
    /// negotiation, or if `may_end` is true and other clients wait for this client's memory.
    fn patiently<T>(&self, may_end: bool, mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match (operation(), self.account.get()) {
                (Err(error), Some(account))
                    if error.kind() == io::ErrorKind::WouldBlock && !(may_end && account.is_in_the_way()) => {}
                (done, _) => return done,
            }
        }
    }

    pub fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(mut tls) = self.tls() else {
            while !bytes.is_empty() {
                let sent = self.patiently(true, || (&self.socket).write(bytes))?;
                bytes = &bytes[sent..];
            }
            return Ok(());
        };
        while !bytes.is_empty() {
            let taken = tls.writer().write(bytes)?;
            bytes = &bytes[taken..];
            self.send_records(&mut tls)?;
        }
        Ok(())
    }

    /// Performs the TLS handshake; all later data are encrypted.
    pub fn start_tls(&self, config: Arc<ServerConfig>, deadline: Instant) -> io::Result<()> {
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            self.limit(deadline)?;
            if tls.wants_write() {
                tls.write_tls(&mut &self.socket)?;
            } else if tls.read_tls(&mut &self.socket)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            } else if let Err(error) = tls.process_new_packets() {
                // Tries to send the TLS alert about the failure; ignores an error, because the client may have
                // disconnected.
                let _ = self.send_records(&mut tls);
                return Err(io::Error::other(error));
            }
        }
        self.send_records(&mut tls)?;
        let _ = self.tls.set(Mutex::new(tls));
        Ok(())
    }

    /// Sends the TLS message that ends an encrypted connection.
    pub fn end_tls(&self) -> io::Result<()> {
        let Some(mut tls) = self.tls() else { return Ok(()) };
        tls.send_close_notify();
        self.send_records(&mut tls)
    }

    pub fn stop_reading(&self) {
        self.socket.shutdown(Shutdown::Read);
    }

    /// Closes the connection and wakes threads that are receiving, sending or waiting for a reply to become due.
    pub fn close(&self) {
        self.socket.shutdown(Shutdown::Both);
        if let Some(account) = self.account.get() {
            account.close();
        }
        if let Some(closing) = self.closing.get() {
            closing();
        }
    }

    pub fn when_closed(&self, closing: impl Fn() + Send + Sync + 'static) {
        // This cannot fail, because only the single sender sets the function.
        let _ = self.closing.set(Box::new(closing));
    }

    fn tls(&self) -> Option<MutexGuard<'_, ServerConnection>> {
        Some(self.tls.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn send_records(&self, tls: &mut ServerConnection) -> io::Result<()> {
        while tls.wants_write() {
            self.patiently(true, || tls.write_tls(&mut &self.socket))?;
        }
        Ok(())
    }
}

pub(super) struct Receiver {
    wire: Arc<Wire>,
    /// Received encrypted bytes; the bytes before `start` are already decrypted.
    records: Vec<u8>,
    start: usize,
}

impl Receiver {
    pub fn new(wire: &Arc<Wire>) -> Self {
        Self { wire: Arc::clone(wire), records: Vec::new(), start: 0 }
    }

    /// Receives bytes into `space`; returns 0 at the end of the connection. `holds_room` is true while memory for a
    /// long request is reserved for the client.
    pub fn receive(&mut self, space: &mut [u8], holds_room: bool) -> io::Result<usize> {
        let wire = &self.wire;
        if wire.tls.get().is_none() {
            return wire.patiently(holds_room, || wire.socket.receive(space));
        }
        loop {
            if let Some(bytes) = self.decrypt(space)? {
                return Ok(bytes);
            }
            // Releases the lock here, so that replies can be sent meanwhile.
            self.records.resize(16 << 10, 0);
            let wire = &self.wire;
            let bytes = wire.patiently(holds_room, || wire.socket.receive(&mut self.records))?;
            self.records.truncate(bytes);
            self.start = 0;
            if bytes == 0 {
                return Ok(0);
            }
        }
    }

    /// Decrypts received bytes; `None` if more bytes are needed.
    fn decrypt(&mut self, space: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(mut tls) = self.wire.tls() else { return Ok(None) };
        loop {
            match tls.reader().read(space) {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) if self.start == self.records.len() => return Ok(None),
                Err(_) => {}
            }
            let mut rest = &self.records[self.start..];
            self.start += tls.read_tls(&mut rest)?;
            tls.process_new_packets().map_err(io::Error::other)?;
            self.wire.send_records(&mut tls)?;
        }
    }
}
