//! The socket of one connection, plain or encrypted.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, RecvFlags};
use rustls::{ServerConfig, ServerConnection};

use super::budget::Account;

/// So long a socket is asked before its thread sleeps until something comes; between, others have the processor. The
/// next request of a busy client is under way, and putting a thread to sleep and waking it takes both sides as long as
/// that.
const PATIENCE: Duration = Duration::from_micros(20);

/// A stream of either family.
pub(super) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    fn set_timeouts(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Unix(socket) => {
                socket.set_read_timeout(Some(timeout)).and_then(|()| socket.set_write_timeout(Some(timeout)))
            }
            Self::Tcp(socket) => {
                socket.set_read_timeout(Some(timeout)).and_then(|()| socket.set_write_timeout(Some(timeout)))
            }
        }
    }

    /// Receives at most what fits into `space`; nothing at the end of the connection.
    fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            match net::recv(self, &mut *space, RecvFlags::DONTWAIT) {
                Err(Errno::AGAIN) if began.elapsed() >= PATIENCE => break,
                Err(Errno::AGAIN) => thread::yield_now(),
                received => return Ok(received?.0),
            }
        }
        let mut socket = self;
        socket.read(space)
    }

    /// Fails only if the client was faster.
    fn shutdown(&self, how: Shutdown) {
        let _ = match self {
            Self::Unix(socket) => socket.shutdown(how),
            Self::Tcp(socket) => socket.shutdown(how),
        };
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => (&*socket).read(space),
            Socket::Tcp(socket) => (&*socket).read(space),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => (&*socket).write(bytes),
            Socket::Tcp(socket) => (&*socket).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection; one thread receives and one sends, perhaps the same.
pub(super) struct Wire {
    socket: Socket,
    tls: OnceLock<Mutex<ServerConnection>>,
    /// Memory of a client; none while it negotiates.
    account: OnceLock<Arc<Account>>,
    /// Called when the connection is ended.
    closing: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Wire {
    pub fn new(socket: Socket) -> Self {
        Self { socket, tls: OnceLock::new(), account: OnceLock::new(), closing: OnceLock::new() }
    }

    /// Receiving and sending fail after `deadline`, until [`Self::admit`].
    pub fn limit(&self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.set_timeouts(left)
    }

    /// The client has negotiated, and may take its time; every `stall` it is asked whether others wait for its memory.
    pub fn admit(&self, account: &Arc<Account>, stall: Duration) -> io::Result<()> {
        let _ = self.account.set(Arc::clone(account));
        self.socket.set_timeouts(stall)
    }

    /// Repeats what timed out, unless the client still negotiates, or is in the way and `may_end` says so.
    fn patiently<T>(&self, may_end: bool, mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            let done = operation();
            match (&done, self.account.get()) {
                (Err(error), Some(account))
                    if error.kind() == io::ErrorKind::WouldBlock && !(may_end && account.is_in_the_way()) => {}
                _ => return done,
            }
        }
    }

    /// Sends all of `bytes`.
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

    /// From now on all is encrypted.
    pub fn start_tls(&self, config: Arc<ServerConfig>, deadline: Instant) -> io::Result<()> {
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            self.limit(deadline)?;
            if tls.wants_write() {
                tls.write_tls(&mut &self.socket)?;
            } else if tls.read_tls(&mut &self.socket)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            } else if let Err(error) = tls.process_new_packets() {
                // The client is told why, if it still listens.
                let _ = self.send_records(&mut tls);
                return Err(io::Error::other(error));
            }
        }
        self.send_records(&mut tls)?;
        let _ = self.tls.set(Mutex::new(tls));
        Ok(())
    }

    /// Tells an encrypted client that no more will come.
    pub fn end_tls(&self) -> io::Result<()> {
        let Some(mut tls) = self.tls() else { return Ok(()) };
        tls.send_close_notify();
        self.send_records(&mut tls)
    }

    /// What was received until now is the last.
    pub fn stop_reading(&self) {
        self.socket.shutdown(Shutdown::Read);
    }

    /// Ends the connection; who receives or sends is woken, and who waits for the time of a reply.
    pub fn close(&self) {
        self.socket.shutdown(Shutdown::Both);
        if let Some(account) = self.account.get() {
            account.close();
        }
        if let Some(closing) = self.closing.get() {
            closing();
        }
    }

    /// Calls this, too, when the connection is ended.
    pub fn when_closed(&self, closing: impl Fn() + Send + Sync + 'static) {
        // There is one sender.
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

/// Receives from a wire.
pub(super) struct Receiver {
    wire: Arc<Wire>,
    /// Encrypted bytes that were received; those before `start` are decrypted.
    records: Vec<u8>,
    start: usize,
}

impl Receiver {
    pub fn new(wire: &Arc<Wire>) -> Self {
        Self { wire: Arc::clone(wire), records: Vec::new(), start: 0 }
    }

    /// Receives at most what fits into `space`; nothing at the end of the connection. `holds_room` is true while the
    /// client holds memory for what it is to send.
    pub fn receive(&mut self, space: &mut [u8], holds_room: bool) -> io::Result<usize> {
        let wire = &self.wire;
        if wire.tls.get().is_none() {
            return wire.patiently(holds_room, || wire.socket.receive(space));
        }
        loop {
            if let Some(bytes) = self.decrypt(space)? {
                return Ok(bytes);
            }
            // Without the lock, so that replies can be sent meanwhile.
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

    /// Decrypts what was received; `None` if more is needed.
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
