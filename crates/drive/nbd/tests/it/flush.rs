//! Goal: writes acknowledged before a flush (on any connection) and writes with FUA survive a power loss.
//!
//! Method: an export with a volatile cache in front of durable bytes.

use std::sync::{Arc, Mutex};

use ssdlab_nbd::{Entry, Errno, Export, ExportResult, Extent, Host, ReplyTime, Security, Zeroing};

use crate::peer::{Peer, request};

const BYTES: usize = 4096;

struct Volatile {
    cache: Mutex<Vec<u8>>,
    durable: Mutex<Vec<u8>>,
}

impl Volatile {
    fn new() -> Self {
        Self { cache: Mutex::new(vec![0; BYTES]), durable: Mutex::new(vec![0; BYTES]) }
    }

    fn store(&self, offset: u64, data: &[u8], fua: bool) -> ExportResult {
        let range = offset as usize..offset as usize + data.len();
        self.cache.lock().unwrap()[range.clone()].copy_from_slice(data);
        if fua {
            self.durable.lock().unwrap()[range].copy_from_slice(data);
        }
        Ok(ReplyTime::Now)
    }

    fn cut_power(&self) {
        *self.cache.lock().unwrap() = self.durable.lock().unwrap().clone();
    }
}

impl Export for Volatile {
    fn size(&self) -> u64 {
        BYTES as u64
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> ExportResult {
        buffer.copy_from_slice(&self.cache.lock().unwrap()[offset as usize..][..buffer.len()]);
        Ok(ReplyTime::Now)
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> ExportResult {
        self.store(offset, data, fua)
    }

    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> ExportResult {
        self.store(offset, &vec![0; bytes as usize], fua)
    }

    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> ExportResult {
        self.store(offset, &vec![0; bytes as usize], how.fua)
    }

    fn flush(&self) -> ExportResult {
        *self.durable.lock().unwrap() = self.cache.lock().unwrap().clone();
        Ok(ReplyTime::Now)
    }

    fn cache(&self, _: u64, _: u64) -> ExportResult {
        Ok(ReplyTime::Now)
    }

    fn extent(&self, _: u64, bytes: u64) -> Result<Extent, Errno> {
        Ok(Extent { bytes, hole: false, zero: false })
    }
}

fn read(peer: &mut Peer) -> Vec<u8> {
    peer.send(&request(0, 0, 1, 0, 4));
    assert_eq!(peer.simple_reply(), (0, 1));
    peer.take(4)
}

#[test]
fn a_flush_covers_answered_writes_of_all_connections() {
    let export = Arc::new(Volatile::new());
    let host = Arc::new(Host::new(vec![Entry::new("disk", export.clone())], Security::Plain));
    let mut peers = [0, 1].map(|_| {
        let mut peer = Peer::new(host.clone());
        peer.answer_greeting(3);
        peer.go("disk");
        peer
    });
    let [first, second] = &mut peers;
    let write = |flags, offset, data: &[u8]| [request(flags, 1, 2, offset, data.len() as u32), data.to_vec()].concat();
    first.send(&write(0, 0, b"a"));
    assert_eq!(first.simple_reply(), (0, 2));
    second.send(&request(0, 3, 3, 0, 0));
    assert_eq!(second.simple_reply(), (0, 3));
    first.send(&write(0, 1, b"b"));
    first.send(&write(1, 2, b"c"));
    assert_eq!((first.simple_reply(), first.simple_reply()), ((0, 2), (0, 2)));
    assert_eq!(read(second), b"abc\0", "connections see each other's writes");
    export.cut_power();
    assert_eq!(read(first), b"a\0c\0", "only flushed writes and writes with FUA must survive");
}
