//! Tests of extended headers, which have 64-bit lengths in both directions.

use std::sync::Arc;

use ssdlab_nbd::{BlockSizes, Features, Memory, Next};

use crate::peer::{Chunk, Peer, extended, option, request, u32_of, u64_of};
use crate::probe::Probe;

const READ: u16 = 0;
const WRITE: u16 = 1;
const TRIM: u16 = 4;
const ZEROES: u16 = 6;
const STATUS: u16 = 7;
const PAYLOAD: u16 = 32;
const EINVAL: u32 = 22;

fn peer() -> Peer {
    Peer::extended(Arc::new(Probe::default()))
}

fn done(cookie: u64) -> Chunk {
    Chunk { done: true, kind: 0, cookie, data: vec![] }
}

#[test]
fn a_write_with_the_payload_flag_is_read_back() {
    let mut peer = peer();
    peer.send(&[extended(PAYLOAD, WRITE, 1, 4096, 5), b"hello".to_vec()].concat());
    assert_eq!(peer.extended_chunk(4096), done(1));
    peer.send(&extended(0, READ, 2, 4095, 7));
    let data = [&4095_u64.to_be_bytes()[..], b"\0hello\0"].concat();
    assert_eq!(peer.extended_chunk(4095), Chunk { done: true, kind: 1, cookie: 2, data });
    peer.send(&extended(0, READ, 3, 8192, 4096));
    let data = [&8192_u64.to_be_bytes()[..], &4096_u32.to_be_bytes()].concat();
    assert_eq!(peer.extended_chunk(8192), Chunk { done: true, kind: 2, cookie: 3, data });
}

#[test]
fn ranges_may_exceed_32_bits() {
    let mut peer = Peer::extended(Arc::new(Memory::new(1 << 40)));
    peer.send(&[extended(PAYLOAD, WRITE, 1, 1 << 39, 4), b"data".to_vec()].concat());
    assert_eq!(peer.extended_chunk(1 << 39), done(1));
    peer.send(&extended(0, STATUS, 2, 0, 1 << 40));
    let chunk = peer.extended_chunk(0);
    assert_eq!((chunk.done, chunk.kind), (true, 6));
    assert_eq!((u32_of(&chunk.data[..4]), u32_of(&chunk.data[4..8])), (1, 3));
    let extents: Vec<_> = chunk.data[8..].chunks(16).map(|e| (u64_of(&e[..8]), u64_of(&e[8..]))).collect();
    assert_eq!(extents, [(1 << 39, 3), (64 << 10, 0), ((1 << 39) - (64 << 10), 3)]);
    for command in [TRIM, ZEROES] {
        peer.send(&extended(0, command, 3, 0, 1 << 40));
        assert_eq!(peer.extended_chunk(0), done(3));
    }
    peer.send(&extended(8, STATUS, 2, 0, 1 << 40));
    assert_eq!(peer.extended_chunk(0).data[8..16], (1_u64 << 40).to_be_bytes());
}

#[test]
fn errors_use_the_extended_header_too() {
    let mut peer = peer();
    for (command, offset) in [(READ, 1 << 20), (TRIM, u64::MAX), (3, 1)] {
        peer.send(&extended(0, command, 4, offset, 512));
        assert_eq!(peer.extended_chunk(offset).error().0, EINVAL, "command {command}");
    }
}

#[test]
fn an_unexpected_payload_is_skipped() {
    let mut peer = peer();
    for command in [READ, TRIM, 3, ZEROES, STATUS, 99] {
        peer.send(&[extended(PAYLOAD, command, 4, 0, 600), vec![0x21; 600]].concat());
        assert_eq!(peer.extended_chunk(0).error(), (EINVAL, "this command has no payload".to_owned()));
    }
    peer.send(&extended(0, 3, 5, 0, 0));
    assert_eq!(peer.extended_chunk(0), done(5));
}

#[test]
fn a_write_without_the_flag_has_no_payload_and_is_invalid() {
    let mut peer = peer();
    peer.send(&[extended(0, WRITE, 4, 0, 512), extended(0, 3, 5, 0, 0)].concat());
    assert_eq!(peer.extended_chunk(0).error().0, EINVAL);
    assert_eq!(peer.extended_chunk(0), done(5));
}

#[test]
fn a_payload_longer_than_the_largest_block_ends_the_connection() {
    let sizes = BlockSizes { maximum: 8192, ..BlockSizes::default() };
    for (command, bytes) in [(WRITE, 8193), (WRITE, u64::MAX), (READ, 8193)] {
        let mut peer = Peer::extended(Arc::new(Probe::new(sizes, Features::default())));
        assert_eq!(peer.send(&extended(PAYLOAD, command, 4, 0, bytes)), Next::Close);
        assert!(peer.received.is_empty());
    }
}

#[test]
fn compact_requests_end_the_connection() {
    assert_eq!(peer().send(&[request(0, 3, 1, 0, 0), vec![0; 4]].concat()), Next::Close);
}

#[test]
fn export_name_is_forbidden() {
    let mut peer = Peer::greeted(Arc::new(Probe::default()));
    peer.option_kind(11, &[]);
    assert_eq!(peer.send(&option(1, b"disk")), Next::Close);
    assert!(peer.received.is_empty());
}
