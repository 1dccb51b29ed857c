//! Tests of replies whose time the export determines.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ssdlab_nbd::{Ending, Errno, Export, ExportResult, Extent, Memory, Options, ReplyTime, Zeroing, deferred_reply};

use crate::peer::{request, u64_of};
use crate::server::{Running, connect, wait_for};

/// Memory export whose requests take 1 ms per byte of their offset; writes complete immediately.
struct Slow {
    memory: Memory,
    began: Mutex<Vec<Instant>>,
}

impl Slow {
    fn new() -> Self {
        Self { memory: Memory::new(1 << 20), began: Mutex::default() }
    }

    fn leave(&self, offset: u64) -> ExportResult {
        let now = Instant::now();
        self.began.lock().unwrap().push(now);
        let (completer, reply) = deferred_reply();
        completer.complete(now + Duration::from_millis(offset));
        Ok(ReplyTime::Deferred(reply))
    }
}

impl Export for Slow {
    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> ExportResult {
        self.memory.read(offset, buffer)?;
        self.leave(offset)
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> ExportResult {
        self.memory.write(offset, data, fua)
    }

    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> ExportResult {
        self.memory.trim(offset, bytes, fua)?;
        self.leave(offset)
    }

    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> ExportResult {
        self.memory.write_zeroes(offset, bytes, how)
    }

    fn flush(&self) -> ExportResult {
        self.memory.flush()
    }

    fn cache(&self, offset: u64, bytes: u64) -> ExportResult {
        self.memory.cache(offset, bytes)
    }

    fn extent(&self, offset: u64, bytes: u64) -> Result<Extent, Errno> {
        self.memory.extent(offset, bytes)
    }
}

/// Receives replies with `bytes` bytes of data each; returns their cookies.
fn cookies(client: &mut impl Read, replies: usize, bytes: usize) -> Vec<u64> {
    let mut take = || {
        let mut reply = vec![0; 16 + bytes];
        client.read_exact(&mut reply).unwrap();
        assert_eq!(reply[4..8], [0; 4]);
        u64_of(&reply[8..16])
    };
    (0..replies).map(|_| take()).collect()
}

#[test]
fn replies_are_sent_in_order_of_time_and_never_early() {
    let export = Arc::new(Slow::new());
    let server = Running::new(export.clone(), Options::default());
    let mut client = connect(&server.path);
    let trims: Vec<u8> = [250, 50, 150, 200, 100].iter().flat_map(|at| request(0, 4, *at, *at, 1)).collect();
    client.write_all(&trims).unwrap();
    for expected in [50, 100, 150, 200, 250] {
        assert_eq!(cookies(&mut client, 1, 0), [expected]);
        let began = export.began.lock().unwrap()[0];
        assert!(began.elapsed() >= Duration::from_millis(expected));
    }
    let lag = server.handle.lag();
    assert_eq!(lag.replies(), 5);
    assert!(lag.total() >= lag.most() && lag.total() <= 5 * lag.most());
    server.stop();
}

#[test]
fn replies_without_a_time_overtake_waiting_ones() {
    let server = Running::new(Arc::new(Slow::new()), Options::default());
    let mut client = connect(&server.path);
    client.write_all(&[request(0, 4, 1, 600, 1), request(0, 3, 2, 0, 0), request(0, 4, 3, 300, 1)].concat()).unwrap();
    assert_eq!(cookies(&mut client, 3, 0), [2, 3, 1]);
    assert_eq!(server.handle.lag().replies(), 2, "the flush had no reply time");
    server.stop();
}

#[test]
fn replies_with_equal_times_keep_request_order() {
    let server = Running::new(Arc::new(Slow::new()), Options { in_flight: 3, ..Options::default() });
    let mut client = connect(&server.path);
    let reads: Vec<u8> = (0..1000).flat_map(|cookie| request(0, 0, cookie, 0, 512)).collect();
    client.write_all(&reads).unwrap();
    assert_eq!(cookies(&mut client, 1000, 512), (0..1000).collect::<Vec<_>>());
    server.stop();
}

#[test]
fn the_number_of_waiting_replies_is_limited() {
    let export = Arc::new(Slow::new());
    let server = Running::new(export.clone(), Options { in_flight: 4, ..Options::default() });
    let mut client = connect(&server.path);
    // The replies are due in 15 minutes. Four may wait; the fifth exceeds the limit. Each of these five is sent once the
    // previous one has been decoded, because the server decodes all the requests that have arrived together.
    for cookie in 0..12 {
        client.write_all(&request(0, 4, cookie, 900_000, 1)).unwrap();
        wait_for(|| export.began.lock().unwrap().len() > (cookie as usize).min(4));
    }
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(export.began.lock().unwrap().len(), 5);
    server.handle.stop();
    server.handle.stop();
    assert_eq!(server.ended().unwrap(), Ending::AtOnce);
}

#[test]
fn replies_of_a_disconnected_client_are_dropped() {
    let export = Arc::new(Slow::new());
    let server = Running::new(export.clone(), Options::default());
    let mut client = connect(&server.path);
    // A disconnection with unread replies resets the connection. Another reply is due in 15 minutes.
    client.write_all(&[request(0, 4, 1, 900_000, 1), request(0, 3, 2, 0, 0)].concat()).unwrap();
    wait_for(|| !export.began.lock().unwrap().is_empty());
    std::thread::sleep(Duration::from_millis(20));
    drop(client);
    wait_for(|| server.handle.connections() == 0);
    // Only the server and this test hold the export.
    server.handle.stop();
    server.ended().unwrap();
    wait_for(|| Arc::strong_count(&export) == 1);
}

#[test]
fn a_graceful_stop_sends_waiting_replies() {
    let server = Running::new(Arc::new(Slow::new()), Options::default());
    let mut client = connect(&server.path);
    client.write_all(&[request(0, 4, 1, 500, 1), request(0, 3, 2, 0, 0)].concat()).unwrap();
    assert_eq!(cookies(&mut client, 1, 0), [2]);
    server.handle.stop();
    assert_eq!(cookies(&mut client, 1, 0), [1]);
    server.ended().unwrap();
}

/// Checks that a reply due long after the time limit of a graceful stop neither delays the stop nor keeps the export
/// open.
#[test]
fn a_reply_due_later_ends_with_its_connection() {
    let export = Arc::new(Slow::new());
    let stop = Duration::from_millis(300);
    let server = Running::new(Arc::clone(&export) as _, Options { stop, ..Options::default() });
    let mut client = connect(&server.path);
    client.write_all(&[request(0, 4, 1, 600_000, 1), request(0, 3, 2, 0, 0)].concat()).unwrap();
    assert_eq!(cookies(&mut client, 1, 0), [2]);
    let (handle, began) = (server.handle.clone(), Instant::now());
    handle.stop();
    assert_eq!((server.ended().unwrap(), handle.cut_off()), (Ending::Graceful, 1));
    assert_eq!(handle.connections(), 0, "after {:?}", began.elapsed());
    drop(handle);
    wait_for(|| Arc::strong_count(&export) == 1);
}
