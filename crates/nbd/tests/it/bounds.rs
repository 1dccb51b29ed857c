//! What one client may take from others: memory and places.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ssdlab_nbd::{Done, Errno, Export, Extent, Leave, Memory, Options, Zeroing, deferred_reply};

use crate::peer::{choice, option, request};
use crate::server::{Running, connect, wait_for, works};

const MIB: usize = 1 << 20;

/// Memory whose replies are timed, and due at once.
struct Timed(Memory);

impl Export for Timed {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Done {
        self.0.read(offset, buffer)?;
        let (completer, reply) = deferred_reply();
        completer.complete(Instant::now());
        Ok(Leave::When(reply))
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Done {
        self.0.write(offset, data, fua)
    }

    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> Done {
        self.0.trim(offset, bytes, fua)
    }

    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> Done {
        self.0.write_zeroes(offset, bytes, how)
    }

    fn flush(&self) -> Done {
        self.0.flush()
    }

    fn cache(&self, offset: u64, bytes: u64) -> Done {
        self.0.cache(offset, bytes)
    }

    fn extent(&self, offset: u64, bytes: u64) -> Result<Extent, Errno> {
        self.0.extent(offset, bytes)
    }
}

/// A server of 64 MiB whose replies are timed, with 160 MiB for messages: 32 handshakes have 512 KiB each, 8 clients
/// have 8 MiB each of their own, and 80 MiB are for all.
fn timed() -> Running {
    let stall = Duration::from_millis(50);
    let options = Options { memory: 160 * MIB, connections: 8, handshakes: 32, stall, ..Options::default() };
    Running::new(Arc::new(Timed(Memory::new(64 << 20))), options)
}

/// Clients that ask for so many replies of `bytes` and take none. Each says so in requests that fit into a socket.
fn silent(server: &Running, clients: usize, bytes: usize, requests: usize) -> Vec<UnixStream> {
    let ask = |_| {
        let mut client = connect(&server.path);
        client.write_all(&request(0, 0, 1, 0, bytes as u32).repeat(requests)).unwrap();
        client
    };
    (0..clients).map(ask).collect()
}

/// Goal: clients that take no replies do not make the server hold more than it may, and another client is served.
/// Method: seven ask for 256 MiB each in replies of 64 KiB, 1 MiB and more; without a bound for all the server would hold
/// 64 MiB and more of each.
#[test]
fn clients_that_take_no_replies_hold_no_more_memory_than_all_may_have() {
    for bytes in [64 << 10, MIB, 3 * MIB, 32 * MIB] {
        let server = timed();
        let clients = silent(&server, 7, bytes, (256 * MIB / bytes).min(2000));
        let mut good = connect(&server.path);
        wait_for(|| server.handle.memory().held >= 40 * MIB);
        for _ in 0..20 {
            write(&mut good, MIB);
            read(&mut good, MIB);
        }
        let most = server.handle.memory().most;
        assert!(most <= 160 * MIB, "{most} bytes for replies of {bytes}");
        drop(clients);
        wait_for(|| server.handle.connections() == 1);
        // The good client and the server's buffers for it: 8 MiB at most.
        let held = server.handle.memory().held;
        assert!(held <= 8 * MIB, "{held} bytes are held for nobody");
        server.handle.stop();
        server.handle.stop();
        server.ended().unwrap();
    }
}

/// Goal: a long request is served although others hold all memory for long ones. Method: as many clients as fill it ask
/// for 32 MiB and take nothing, or begin to send 32 MiB and stop.
#[test]
fn clients_that_stand_still_keep_no_memory_that_another_needs() {
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

/// Goal: a client that waits for nobody keeps its connection, however long it says nothing. Method: it is silent for
/// longer than clients that are in the way may be.
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

/// Goal: connections that say nothing use up no places. Method: three times as many as there are handshakes, all within
/// the time in which they may negotiate; then a client comes. The latest are still there, the oldest are closed.
#[test]
fn silent_connections_keep_nobody_out() {
    let options =
        Options { connections: 2, handshakes: 4, negotiation: Duration::from_secs(600), ..Options::default() };
    let server = Running::new(Arc::new(Memory::new(1 << 20)), options);
    let mut silent: Vec<_> = (0..12).map(|_| UnixStream::connect(&server.path).unwrap()).collect();
    for client in &mut silent[..8] {
        // A greeting, and then the end.
        assert!(client.read_to_end(&mut Vec::new()).unwrap() <= 18);
    }
    let mut client = connect(&server.path);
    works(&mut client);
    // Three of the last four are left, as the client took the place of one.
    let late = &mut silent[9];
    late.read_exact(&mut [0; 18]).unwrap();
    late.write_all(&go()).unwrap();
    late.read_exact(&mut [0; 32 + 20]).unwrap();
    works(late);
    // Now both places of clients are taken.
    let mut third = UnixStream::connect(&server.path).unwrap();
    assert_eq!(third.read(&mut [0; 18]).unwrap(), 0, "no greeting");
    let unlucky = &mut silent[10];
    unlucky.read_exact(&mut [0; 18]).unwrap();
    unlucky.write_all(&go()).unwrap();
    assert_eq!(unlucky.read(&mut [0; 1]).unwrap(), 0, "there is no place for it");
    server.handle.stop();
    server.handle.stop();
    server.ended().unwrap();
}

/// Chooses the export, after the greeting.
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
