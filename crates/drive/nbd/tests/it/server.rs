//! Tests of connection limits, and of clients that disconnect, stall or send garbage; other clients must not be
//! affected.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ssdlab_nbd::{Address, Ending, Entry, Export, Handle, Memory, Options, Server, ServerError, Sockets};

use crate::peer::{choice, option, request};
use crate::probe::Probe;

static SOCKETS: AtomicU32 = AtomicU32::new(0);

/// Returns a unique path for the socket of a test.
pub fn socket_path() -> PathBuf {
    let number = SOCKETS.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("ssdlab-nbd-{}-{number}.sock", std::process::id()))
}

/// A server that runs on a separate thread.
pub struct Running {
    pub handle: Handle,
    pub path: PathBuf,
    thread: JoinHandle<Result<Ending, ServerError>>,
}

impl Running {
    pub fn new(export: Arc<dyn Export>, options: Options) -> Self {
        let path = socket_path();
        let sockets = Sockets::bind(&[Address::Unix(path.clone())]).unwrap();
        let server = Server::new(sockets, vec![Entry::new("disk", export)], options);
        Self { handle: server.handle(), path, thread: thread::spawn(|| server.run()) }
    }

    /// Waits for the end of the server; returns how the server ended.
    pub fn ended(self) -> Result<Ending, ServerError> {
        self.thread.join().unwrap()
    }

    pub fn stop(self) {
        self.handle.stop();
        assert_eq!(self.ended().unwrap(), Ending::Graceful);
    }
}

/// Negotiates simple replies.
pub fn negotiate(stream: &mut (impl Read + Write)) {
    stream.write_all(&[&[0, 0, 0, 3], &option(7, &choice("disk", &[]))[..]].concat()).unwrap();
    // Greeting, information of 12 bytes and acknowledgement.
    stream.read_exact(&mut [0; 18 + 32 + 20]).unwrap();
}

/// Connects a client and negotiates simple replies.
pub fn connect(path: &Path) -> UnixStream {
    let mut client = UnixStream::connect(path).unwrap();
    negotiate(&mut client);
    client
}

/// Checks that a server works: writes bytes and reads them back.
pub fn works(client: &mut (impl Read + Write)) {
    client.write_all(&[request(0, 1, 1, 4096, 4), b"well".to_vec(), request(0, 0, 2, 4096, 4)].concat()).unwrap();
    let mut replies = [0; 36];
    client.read_exact(&mut replies).unwrap();
    assert_eq!(replies[32..], *b"well");
}

/// Waits for a condition that another thread fulfils.
pub fn wait_for(what: impl Fn() -> bool) {
    for _ in 0..12_000 {
        if what() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("the condition was not fulfilled within a minute");
}

#[test]
fn both_families_serve_the_same_export() {
    let path = socket_path();
    let addresses = [Address::Unix(path.clone()), Address::Tcp("127.0.0.1:0".parse().unwrap())];
    let entries = vec![Entry::new("disk", Arc::new(Memory::new(1 << 20)))];
    let server = Server::new(Sockets::bind(&addresses).unwrap(), entries, Options::default());
    let Address::Tcp(address) = server.addresses()[1] else { panic!("the second is a port") };
    let handle = server.handle();
    let thread = thread::spawn(|| server.run());
    let mut unix = connect(&path);
    unix.write_all(&[request(0, 1, 1, 0, 4), b"unix".to_vec()].concat()).unwrap();
    unix.read_exact(&mut [0; 16]).unwrap();
    let mut tcp = TcpStream::connect(address).unwrap();
    negotiate(&mut tcp);
    tcp.write_all(&request(0, 0, 2, 0, 4)).unwrap();
    let mut reply = [0; 20];
    tcp.read_exact(&mut reply).unwrap();
    assert_eq!(reply[16..], *b"unix");
    handle.stop();
    assert_eq!(thread.join().unwrap().unwrap(), Ending::Graceful);
}

#[test]
fn connections_beyond_the_limit_are_closed_until_others_end() {
    let server = Running::new(Arc::new(Probe::default()), Options { connections: 2, ..Options::default() });
    let (first, mut second) = (connect(&server.path), connect(&server.path));
    let mut third = UnixStream::connect(&server.path).unwrap();
    assert_eq!(third.read(&mut [0; 18]).unwrap(), 0, "no greeting");
    drop(first);
    wait_for(|| server.handle.connections() == 1);
    works(&mut connect(&server.path));
    works(&mut second);
    server.stop();
}

#[test]
fn a_client_that_does_not_negotiate_in_time_is_disconnected() {
    let options = Options { negotiation: Duration::from_millis(300), ..Options::default() };
    let server = Running::new(Arc::new(Probe::default()), options);
    let mut quick = connect(&server.path);
    let mut silent = UnixStream::connect(&server.path).unwrap();
    // Each byte arrives in time, but the whole message does not.
    let mut slow = UnixStream::connect(&server.path).unwrap();
    let dripping = thread::spawn(move || {
        option(99, &[0; 60_000]).iter().find_map(|byte| {
            thread::sleep(Duration::from_millis(20));
            slow.write_all(&[*byte]).err()
        })
    });
    silent.read_exact(&mut [0; 18]).unwrap();
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(dripping.join().unwrap().unwrap().kind(), ErrorKind::BrokenPipe);
    wait_for(|| server.handle.connections() == 1);
    works(&mut quick);
    server.stop();
}

#[test]
fn clients_that_die_stall_or_lie_do_not_affect_others() {
    let server = Running::new(Arc::new(Probe::default()), Options::default());
    let mut good = connect(&server.path);
    // Disconnects within a header, within a payload, and with replies in transit.
    for bytes in
        [vec![0x25], [request(0, 1, 1, 0, 4096), vec![1; 100]].concat(), request(0, 0, 1, 0, 65_536).repeat(99)]
    {
        let mut dying = connect(&server.path);
        dying.write_all(&bytes).unwrap();
        drop(dying);
        works(&mut good);
    }
    // Sends garbage before and after negotiating.
    let mut garbage = UnixStream::connect(&server.path).unwrap();
    let _ = garbage.write_all(&[0xff; 100_000]);
    let mut liar = connect(&server.path);
    let _ = liar.write_all(&[0xff; 100_000]);
    // Announces a payload without sending it; does not receive replies.
    let mut silent = connect(&server.path);
    silent.write_all(&request(0, 1, 1, 0, 32 << 20)).unwrap();
    let mut stalled = connect(&server.path);
    stalled.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let reads = request(0, 0, 1, 0, 1 << 20).repeat(64);
    while stalled.write(&reads).is_ok() {}
    works(&mut good);
    works(&mut connect(&server.path));
    wait_for(|| server.handle.connections() == 3);
    drop((silent, stalled));
    wait_for(|| server.handle.connections() == 1);
    server.stop();
}

#[test]
fn a_client_that_half_closes_gets_its_replies() {
    let server = Running::new(Arc::new(Probe::default()), Options::default());
    let mut client = connect(&server.path);
    client.write_all(&[request(0, 0, 1, 0, 65_536).repeat(20), request(0, 2, 2, 0, 0)].concat()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut replies = Vec::new();
    client.read_to_end(&mut replies).unwrap();
    assert_eq!(replies.len(), 20 * (16 + 65_536));
    server.stop();
}

/// Checks that a panic in the export ends only the connection that caused it.
#[test]
fn a_panicking_export_ends_only_its_connection() {
    struct Buggy(Memory);
    impl Export for Buggy {
        fn size(&self) -> u64 {
            self.0.size()
        }
        fn read(&self, offset: u64, buffer: &mut [u8]) -> ssdlab_nbd::ExportResult {
            self.0.read(offset, buffer)
        }
        fn write(&self, offset: u64, data: &[u8], fua: bool) -> ssdlab_nbd::ExportResult {
            self.0.write(offset, data, fua)
        }
        fn trim(&self, _: u64, _: u64, _: bool) -> ssdlab_nbd::ExportResult {
            panic!("a bug, on purpose")
        }
        fn write_zeroes(&self, offset: u64, bytes: u64, how: ssdlab_nbd::Zeroing) -> ssdlab_nbd::ExportResult {
            self.0.write_zeroes(offset, bytes, how)
        }
        fn flush(&self) -> ssdlab_nbd::ExportResult {
            self.0.flush()
        }
        fn cache(&self, offset: u64, bytes: u64) -> ssdlab_nbd::ExportResult {
            self.0.cache(offset, bytes)
        }
        fn extent(&self, offset: u64, bytes: u64) -> Result<ssdlab_nbd::Extent, ssdlab_nbd::Errno> {
            self.0.extent(offset, bytes)
        }
    }
    let server = Running::new(Arc::new(Buggy(Memory::new(1 << 20))), Options::default());
    let mut good = connect(&server.path);
    let mut unlucky = connect(&server.path);
    unlucky.write_all(&request(0, 4, 1, 0, 512)).unwrap();
    assert_eq!(unlucky.read(&mut [0; 16]).unwrap(), 0);
    works(&mut good);
    server.stop();
}
