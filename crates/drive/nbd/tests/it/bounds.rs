//! Tests of the limits on memory and connections per client.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ssdlab_nbd::{Errno, Export, ExportResult, Extent, Memory, Options, ReplyTime, Zeroing, deferred_reply};

use crate::peer::{choice, option, request};
use crate::server::{Running, connect, wait_for, works};

const MIB: usize = 1 << 20;

/// Memory export that determines reply times; all replies are due immediately.
struct Timed(Memory);

impl Export for Timed {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> ExportResult {
        self.0.read(offset, buffer)?;
        let (completer, reply) = deferred_reply();
        completer.complete(Instant::now());
        Ok(ReplyTime::Deferred(reply))
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> ExportResult {
        self.0.write(offset, data, fua)
    }

    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> ExportResult {
        self.0.trim(offset, bytes, fua)
    }

    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> ExportResult {
        self.0.write_zeroes(offset, bytes, how)
    }

    fn flush(&self) -> ExportResult {
        self.0.flush()
    }

    fn cache(&self, offset: u64, bytes: u64) -> ExportResult {
        self.0.cache(offset, bytes)
    }

    fn extent(&self, offset: u64, bytes: u64) -> Result<Extent, Errno> {
        self.0.extent(offset, bytes)
    }
}

/// Starts a server with an export of 64 MiB, timed replies and 160 MiB for messages: 512 KiB for each of 32 handshakes,
/// 8 MiB for each of 8 clients, and a common part of 80 MiB.
fn timed() -> Running {
    // So long that a client whose thread waits for a busy processor does not count as stalled.
    let stall = Duration::from_secs(1);
    let options = Options { memory: 160 * MIB, connections: 8, handshakes: 32, stall, ..Options::default() };
    Running::new(Arc::new(Timed(Memory::new(64 << 20))), options)
}

/// Creates clients that request many replies of `bytes` bytes each but never read them. Their requests fit into the
/// socket buffer.
fn silent(server: &Running, clients: usize, bytes: usize, requests: usize) -> Vec<UnixStream> {
    let ask = |_| {
        let mut client = connect(&server.path);
        client.write_all(&request(0, 0, 1, 0, bytes as u32).repeat(requests)).unwrap();
        client
    };
    (0..clients).map(ask).collect()
}

/// Goal: clients that read no replies do not exceed the memory limit, and another client is served. Method: seven
/// clients request 256 MiB each, in replies of 64 KiB, 1 MiB and more. Without a common limit, the server would hold
/// over 64 MiB for each client.
#[test]
fn unread_replies_stay_within_the_memory_limit() {
    for bytes in [64 << 10, MIB, 3 * MIB, 32 * MIB] {
        let server = timed();
        let clients = silent(&server, 7, bytes, (256 * MIB / bytes).min(2000));
        let mut good = connect(&server.path);
        // The server soon disconnects the stalled clients: only the maximum is certain to last until this thread runs.
        wait_for(|| server.handle.memory().most >= 40 * MIB);
        for _ in 0..20 {
            write(&mut good, MIB);
            read(&mut good, MIB);
        }
        let most = server.handle.memory().most;
        assert!(most <= 160 * MIB, "the server used {most} bytes for replies of {bytes} bytes");
        drop(clients);
        wait_for(|| server.handle.connections() == 1);
        // The remaining memory belongs to the well-behaved client: at most 8 MiB.
        let held = server.handle.memory().held;
        assert!(held <= 8 * MIB, "{held} bytes are still held for disconnected clients");
        server.handle.stop();
        server.handle.stop();
        server.ended().unwrap();
    }
}

/// Goal: a long request is served although stalled clients hold all memory for long requests. Method: several clients
/// request 32 MiB and read nothing, or begin to send 32 MiB and stop.
#[test]
fn stalled_clients_lose_memory_that_others_need() {
    let server = timed();
    let unread = silent(&server, 2, 32 * MIB, 1);
    let unsent: Vec<_> = (0..3)
        .map(|_| {
            let mut client = connect(&server.path);
            client.write_all(&[request(0, 1, 1, 0, 32 << 20), vec![1; 1000]].concat()).unwrap();
            client
        })
        .collect();
    let mut good = connect(&server.path);
    for _ in 0..3 {
        read(&mut good, 32 * MIB);
        write(&mut good, 32 * MIB);
    }
    let most = server.handle.memory().most;
    assert!(most <= 160 * MIB, "{most} bytes");
    drop((unread, unsent));
    server.handle.stop();
    server.handle.stop();
    server.ended().unwrap();
}

/// Goal: an idle client stays connected. Method: the client is silent for longer than the stall limit while other
/// clients wait.
#[test]
fn an_idle_client_stays_connected() {
    let server = timed();
    let mut idle = connect(&server.path);
    read(&mut idle, 32 * MIB);
    let unread = silent(&server, 2, 32 * MIB, 1);
    let mut good = connect(&server.path);
    read(&mut good, 32 * MIB);
    read(&mut idle, MIB);
    drop(unread);
    server.handle.stop();
    server.handle.stop();
    server.ended().unwrap();
}

/// Goal: silent connections do not prevent other clients from connecting. Method: opens three times the limit of
/// handshakes within the negotiation time, then connects a client. The newest connections must stay open, and the
/// oldest must be closed.
#[test]
fn silent_connections_do_not_keep_clients_out() {
    let options =
        Options { connections: 2, handshakes: 4, negotiation: Duration::from_secs(600), ..Options::default() };
    let server = Running::new(Arc::new(Memory::new(1 << 20)), options);
    let mut silent: Vec<_> = (0..12).map(|_| UnixStream::connect(&server.path).unwrap()).collect();
    for client in &mut silent[..8] {
        // The server sends a greeting, then closes the connection.
        assert!(client.read_to_end(&mut Vec::new()).unwrap() <= 18);
    }
    let mut client = connect(&server.path);
    works(&mut client);
    // Three of the last four connections are still open, because the client replaced one.
    let late = &mut silent[9];
    late.read_exact(&mut [0; 18]).unwrap();
    late.write_all(&go()).unwrap();
    late.read_exact(&mut [0; 32 + 20]).unwrap();
    works(late);
    // The limit of two clients is reached.
    let mut third = UnixStream::connect(&server.path).unwrap();
    assert_eq!(third.read(&mut [0; 18]).unwrap(), 0, "no greeting");
    let unlucky = &mut silent[10];
    unlucky.read_exact(&mut [0; 18]).unwrap();
    unlucky.write_all(&go()).unwrap();
    assert_eq!(unlucky.read(&mut [0; 1]).unwrap(), 0, "the connection must be closed, because the limit is reached");
    server.handle.stop();
    server.handle.stop();
    server.ended().unwrap();
}

/// Returns the messages that select the export after the greeting.
fn go() -> Vec<u8> {
    [&[0, 0, 0, 3], &option(7, &choice("disk", &[]))[..]].concat()
}

fn write(client: &mut UnixStream, bytes: usize) {
    client.write_all(&[request(0, 1, 1, 0, bytes as u32), vec![7; bytes]].concat()).unwrap();
    client.read_exact(&mut [0; 16]).unwrap();
}

fn read(client: &mut UnixStream, bytes: usize) {
    client.write_all(&request(0, 0, 2, 0, bytes as u32)).unwrap();
    client.read_exact(&mut vec![0; 16 + bytes]).unwrap();
}
